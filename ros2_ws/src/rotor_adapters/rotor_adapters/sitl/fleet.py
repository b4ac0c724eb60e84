"""All autopilots of one flight: they are started together and asked at the same time, whatever teams they fly in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotor_adapters.sitl.hold import Hold

if TYPE_CHECKING:
    from rotor_adapters.sitl.law import SitlLaw
    from rotor_adapters.sitl.senses import Sample


class Fleet:
    """Laws of the teams of one flight, in their order.

    Attributes:
        laws: one or more; each is of this fleet.
    """

    def __init__(self, law: SitlLaw) -> None:
        self.laws = [law]

    def add(self, law: SitlLaw) -> None:
        """Take in the law of another team; none of their links may be open yet."""
        self.laws.append(law)
        for each in self.laws:  # several share the cores with us
            for link in each.links:
                link.spin_s = 0.0

    def start(self, states: np.ndarray) -> bool:
        """Hold all vehicles until all their autopilots are ready; False if everything should end meanwhile.

        Raises:
            ConfigError: somebody else listens there, or the autopilots do not come in time.
        """
        first = self.laws[0]
        try:
            for law in self.laws:
                law.open()
            names = [name for law in self.laws for name in law.team.vehicles]
            links = [link for law in self.laws for link in law.links]
            hold = Hold(first.control, names, links, first.period)
            if not hold.until_ready(states, self.sample, first.is_stopped):
                return False
        except BaseException:
            for law in self.laws:
                law.close()
            raise
        for law in self.laws:
            law.begin()
        return True

    def sample(self, states: np.ndarray, k: int) -> Sequence[Sample]:
        """Samples of all vehicles in period k, in the order of laws and of their vehicles."""
        return [sample for law in self.laws for sample in law.senses.sample(states, k)]

    def ask(self, states: np.ndarray) -> None:
        """Let all autopilots know of the states of this period; each law waits for the answers of its own."""
        for law in self.laws:
            law.ask(states)
