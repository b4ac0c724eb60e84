"""Gains that may change in flight: where each lies in the packed parameters of the control laws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_control import gains as g
from rotor_control.controller import Controller
from rotor_control.team_laws import TeamLaw
from rotor_core.config.controllers import CableTeamControl, PointMassControl, RigidTeamControl
from rotor_core.config.schema import Scenario

HEADROOM = 10.0
"""A gain may grow to this many times its initial value."""

LARGEST_FROM_ZERO = 100.0
"""Upper limit of a gain that begins at zero."""


@dataclass(frozen=True)
class Tunable:
    """One gain: writing it takes effect at the next control period.

    Attributes:
        value: initial value, in the units of the scenario.
        limits: smallest and largest value.
    """

    value: float
    limits: tuple[float, float]
    _rows: list[np.ndarray]
    _column: int
    _scale: float

    def set(self, value: float) -> None:
        """Use ``value`` from now on; the caller keeps it within the limits."""
        for row in self._rows:
            row[self._column] = value * self._scale


def _add(
    out: dict[str, Tunable], name: str, row: np.ndarray, column: int, scale: np.ndarray
) -> None:
    for i, axis in enumerate("xyz"):
        if known := out.get(f"{name}.{axis}"):  # of the same vehicle, where it flies alone
            known._rows.append(row)
            continue
        value = float(row[column + i] / scale[i])
        limit = HEADROOM * value if value > 0.0 else LARGEST_FROM_ZERO
        out[f"{name}.{axis}"] = Tunable(value, (0.0, limit), [row], column + i, float(scale[i]))


def _gains_of(law: TeamLaw, scenario: Scenario, out: dict[str, Tunable]) -> None:
    one, entity, control = np.ones(3), law.team.entity, scenario.controller
    _add(out, f"{entity}.position_per_s2", law.load, g.LOAD_POSITION_GAIN, one)
    _add(out, f"{entity}.velocity_per_s", law.load, g.LOAD_VELOCITY_GAIN, one)
    carries = law.team.payload is not None
    if carries and isinstance(control, (PointMassControl, CableTeamControl, RigidTeamControl)):
        _add(out, f"{entity}.integral_per_s3", law.load, g.LOAD_INTEGRAL_GAIN, one)
    if carries and isinstance(control, (CableTeamControl, RigidTeamControl)):
        attitude, rate = (
            ("attitude_n_m", "rate_n_m_s")
            if isinstance(control, CableTeamControl)
            else ("attitude_per_s2", "rate_per_s")
        )
        _add(out, f"{entity}.{attitude}", law.load, g.LOAD_ATTITUDE_GAIN, law.gain_scale)
        _add(out, f"{entity}.{rate}", law.load, g.LOAD_RATE_GAIN, law.gain_scale)
    for name, row in zip(law.team.vehicles, law.vehicles, strict=False):
        _add(out, f"{name}.attitude_n_m", row, g.ATTITUDE_GAIN, one)
        _add(out, f"{name}.rate_n_m_s", row, g.RATE_GAIN, one)
        if carries:
            _add(out, f"{name}.cable_direction_per_s2", row, g.DIRECTION_GAIN, one)
            _add(out, f"{name}.cable_rate_per_s", row, g.CABLE_RATE_GAIN, one)


def tunable_gains(scenario: Scenario, controller: Controller) -> dict[str, Tunable]:
    """Gains by name, such as ``payload.position_per_s2.x`` or ``quad1.attitude_n_m.z``."""
    out: dict[str, Tunable] = {}
    for law in controller.laws:
        if isinstance(law, TeamLaw) and law.uses_gains:  # open loop has none
            _gains_of(law, scenario, out)
    for law in (
        controller.single_laws
    ):  # of vehicles that fly alone; gains of no team's law are offered by themselves
        if out and isinstance(law, TeamLaw):
            _gains_of(law, scenario, out)
    return out
