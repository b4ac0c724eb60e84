"""Vehicles are held where they begin until their autopilots are ready."""

from __future__ import annotations

import time as wall
from collections.abc import Callable, Sequence

import numpy as np

from rotor_adapters.counterparts import tell
from rotor_adapters.sitl.link import Link
from rotor_adapters.sitl.pace import Pace
from rotor_adapters.sitl.senses import Sample
from rotor_core.config.counterparts.autopilots import Autopilot
from rotor_core.errors import ConfigError
from rotor_core.state import FULL_STATE, State


class Hold:
    """The time before a flight: no simulated time passes, the clocks of the autopilots go on with the wall.

    Args:
        control: how ready they must be, and how long to wait.
        names: of the vehicles.
        links: to their autopilots.
        period: of control, s.
    """

    def __init__(
        self, control: Autopilot, names: Sequence[str], links: Sequence[Link], period: float
    ) -> None:
        self._control, self._names, self._links = control, names, links
        self._period = period
        self._answers = [0] * len(links)
        self._told = [""] * len(links)

    def until_ready(
        self,
        states: np.ndarray,
        sample: Callable[[np.ndarray, int], Sequence[Sample]],
        is_stopped: Callable[[], bool],
    ) -> bool:
        """Wait with vehicles at rest in ``states`` (N, 19); False if everything should end meanwhile.

        ``sample``: what the vehicles sense in a state, in a period.

        One that is ready gets no more samples until all are: with lockstep it stands still too.

        Raises:
            ConfigError: they are not ready in time.
        """
        held = states.copy()
        State(held).velocity[:] = State(held).body_rate[:] = 0.0
        held[:, FULL_STATE.stop :] = 0.0
        pace, began, k = Pace(self._period), wall.monotonic(), 0
        pace.begin()
        while waiting := self._waiting():
            if is_stopped():
                return False
            if wall.monotonic() - began > self._control.boot_s:
                raise ConfigError(self._missing(waiting))
            pace.keep()
            samples = sample(held, k)
            k += 1
            for i in waiting:
                self._links[i].poll()
                self._links[i].ask(samples[i])
            for i in waiting:
                self._hear(i, is_stopped)
        return True

    def _hear(self, i: int, is_stopped: Callable[[], bool]) -> None:
        """Wait for an answer: for as long as in flight once it answers each, so that no sample is between."""
        link = self._links[i]
        each = link.in_lockstep and link.answers_each
        answer = link.wait(self._control.patience_s if each else self._period, is_stopped)
        if answer is None and each:
            link.answers_each = False  # it may need samples to go on
        self._answers[i] += answer is not None

    def _waiting(self) -> list[int]:
        """Vehicles whose autopilots are not ready; news of all are told."""
        for i in range(len(self._links)):
            self._tell_news(i)
        return [
            i
            for i, link in enumerate(self._links)
            if not self._answers[i] or not (link.armed or self._control.start == "answering")
        ]

    def _tell_news(self, i: int) -> None:
        """Tell of every step on the way, once."""
        link, name = self._links[i], self._names[i]
        for text in link.news:
            tell(f"{name}: {link.kind}: {text}.")
        link.news.clear()
        step = self._step(i)
        if step and step != self._told[i]:
            self._told[i] = step
            needs_arming = self._answers[i] and not link.armed and self._control.start == "armed"
            more = "; arm it, then the flight begins" if needs_arming else ""
            tell(f"{name}: {link.kind} {step}{more}")

    def _step(self, i: int) -> str:
        """How far an autopilot has come; empty: it was not heard of."""
        if not self._links[i].connected:
            return ""
        if not self._answers[i]:
            return "is connected, and starts"
        return "answers, armed" if self._links[i].armed else "answers, not armed"

    def _missing(self, waiting: list[int]) -> str:
        """What has not happened in time, and the remedy."""
        each = ", ".join(
            f"{self._names[i]} at {self._links[i].where} {self._step(i) or 'was not heard of'}"
            for i in waiting
        )
        return (
            f"controller: after boot_s of {self._control.boot_s:g} s the autopilots are not ready: {each}. Start and "
            "arm them, or write start: answering."
        )
