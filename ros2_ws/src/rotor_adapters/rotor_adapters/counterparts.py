"""Common parts of laws that are programs of others."""

from __future__ import annotations

import sys

from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team
from rotor_core.errors import ConfigError


def tell(text: str) -> None:
    """Print a line for people."""
    print(text, file=sys.stderr, flush=True)


def check_multirotors(scenario: Scenario, team: Team, most: int | None = None) -> None:
    """Check that a team consists of multirotors without arms, of at most ``most`` rotors.

    Raises:
        ConfigError: with the first other vehicle.
    """
    for name in team.vehicles:
        vehicle = scenario.model.vehicles[scenario.model.index(name)]
        too_many = most is not None and len(vehicle.rotors.spins) > most
        if vehicle.helicopter or vehicle.moving_joints or too_many:
            kind = "multirotors" if most is None else f"multirotors of at most {most} rotors,"
            raise ConfigError(
                f"controller.type: {scenario.controller.type} flies {kind} without arms; {name!r} is another vehicle."
            )
