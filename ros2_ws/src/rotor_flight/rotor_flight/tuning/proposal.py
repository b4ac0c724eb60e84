"""Proposal of gains: poles of every loop placed, bandwidths chosen so that the whole closed loop decays fastest.

Each loop is a double integrator, whose poles two gains place anywhere: ``k = omega^2`` and ``d = 2 zeta omega`` per
unit of mass or inertia. Loops inside others (attitude, cable, position) must be faster; how much is found by a search
over their bandwidths with the linear closed loop (:mod:`rotor_flight.tuning.closed_loop`), which must also bear other
gains and more delay. Equations (C.41), (C.42), docs/theory/control.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from rotor_core.config.controllers import (
    CableTeamControl,
    PointMassControl,
    QuadrotorControl,
    RigidTeamControl,
)
from rotor_core.config.model import Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.errors import ConfigError
from rotor_core.vehicles.rotors import rotor_set
from rotor_flight.tuning.closed_loop import CHANNELS, LinearLoop, Margins

DAMPING = {"attitude": 0.8, "cable": 0.85, "position": 0.95}
"""Damping of the loops by themselves, of what is critical."""

LEAST_DAMPING = 0.45
"""Damping that no mode of the whole loop should fall below."""

PHASE = 0.25
"""Fastest loop times the time from a state to its command's effect, rad."""

STEP = np.radians(20.0)
"""Attitude error that the rotors should be able to answer in full."""

YAW = 0.5
"""Bandwidth about the vertical over that of roll and pitch: rotors have little moment there."""

INTEGRAL = 0.1
"""Largest integral gain over the product of those of position and velocity, with which a loop is at its edge."""

TRIED = ((1.5, 0), (0.67, 0), (1.0, 1))
"""Factors of all commands, and further periods of delay, that the closed loop must bear."""


@dataclass(frozen=True)
class Design:
    """Bandwidths of the loops, rad/s, and what the closed loop makes of them.

    Attributes:
        scenario: with the gains.
        poles: 1/s, the slowest first.
        margins: by the name of the loop.
        delay_margin: further delay of all commands that it bears, s.
    """

    scenario: Scenario
    poles: np.ndarray
    margins: dict[str, Margins]
    delay_margin: float

    @property
    def decay(self) -> float:
        """Slowest decay, 1/s; negative: it grows."""
        return float(-self.poles[0].real)

    @property
    def damping(self) -> float:
        """Least damping of a mode, of what is critical."""
        return least_damping(self.poles)


def least_damping(poles: np.ndarray) -> float:
    """Least damping of a mode, of what is critical; poles in 1/s."""
    return float(min(-p.real / abs(p) for p in poles))


def design_of(loop: LinearLoop, scenario: Scenario) -> Design:
    """Closed loop with the gains of a scenario."""
    K = loop.gains(scenario)
    margins = {name: loop.margins(K, channels) for name, channels in CHANNELS.items()}
    return Design(scenario, loop.modes(K), margins, loop.delay_margin(K))


def propose(loop: LinearLoop, scenario: Scenario) -> Design:
    """Gains for a scenario.

    Raises:
        ConfigError: the scenario's law has no such gains.
    """
    start = _start(loop, scenario)
    fastest = start[0]

    def cost(logs: np.ndarray) -> float:
        if logs[0] > np.log(fastest) + 1e-9:
            return 1e3 * (1.0 + logs[0] - np.log(fastest))
        K = loop.gains(with_bandwidths(scenario, np.exp(logs)))
        poles = loop.modes(K)
        worst = -poles[0].real
        damping = least_damping(poles)
        shaky = 0.0
        for scale, delay in TRIED:
            there = -loop.modes(K, scale=scale, delay=delay)[0].real
            shaky += max(0.0, 0.3 * worst - there)
        return float(-worst + 20.0 * max(0.0, LEAST_DAMPING - damping) + 5.0 * shaky)

    options = {"xatol": 1e-2, "fatol": 1e-2, "maxiter": 300}
    best = minimize(cost, np.log(start), method="Nelder-Mead", options=options)
    return design_of(loop, _rounded(with_bandwidths(scenario, np.exp(best.x)), 3))


def _start(loop: LinearLoop, scenario: Scenario) -> np.ndarray:
    """Bandwidths to begin with, rad/s, the fastest loop first: each a third of the one inside."""
    wait = loop.period * (loop.every + loop.delay) + loop.lag
    authority = min(_authority(v) for v in scenario.model.vehicles)
    fastest = min(PHASE / wait, authority)
    control = scenario.controller
    if isinstance(control, QuadrotorControl):
        return fastest * np.array([1.0, 1.0 / 4.0])
    if isinstance(control, RigidTeamControl):
        return min(fastest, 8.0) * np.array([1.0, 1.0 / 4.0])
    if isinstance(control, PointMassControl):
        return fastest * np.array([1.0, 1.0 / 4.0, 1.0 / 12.0])
    if isinstance(control, CableTeamControl):
        return fastest * np.array([1.0, 1.0 / 4.0, 1.0 / 12.0, 1.0 / 6.0])
    raise ConfigError(
        f"tune: knows the gains of quadrotor, point_mass, cable_team and rigid_team, not of {control.type}."
    )


def _authority(vehicle: Vehicle) -> float:
    """Attitude bandwidth at which rotors can answer an error of :data:`STEP` from the middle of their range, rad/s."""
    rotors = rotor_set(vehicle.rotors)
    low, high = rotors.thrust_limits
    spare = 0.5 * (high - low)
    found = []
    for axis in (1, 2):
        moment = 1.0 / np.abs(rotors.unmixing[:, axis]).max() * spare
        inertia = inertia_matrix(vehicle.inertia_kg_m2)[axis - 1, axis - 1]
        found.append(np.sqrt(moment / (inertia * STEP)))
    return float(min(found))


def with_bandwidths(scenario: Scenario, omega: np.ndarray) -> Scenario:
    """A scenario with gains that place the poles of its loops at these bandwidths, rad/s.

    Of a quadrotor: attitude, position; of a rigid team the same of its structure; of a point mass: attitude, cables,
    position; of a payload on cables its attitude too.
    """
    control = scenario.controller
    if isinstance(control, RigidTeamControl):  # its vehicles follow no attitude of their own
        stiff, slow = np.array([1.0, 1.0, YAW]) * omega[0], np.full(3, omega[1])
        turned = replace(
            control, attitude_per_s2=_vector(stiff**2), rate_per_s=_vector(2.0 * DAMPING["attitude"] * stiff),
            **_position(slow), **_integral(slow, control),
        )  # fmt: skip
        return replace(scenario, controller=turned)
    vehicles = []
    for vehicle in scenario.model.vehicles:
        J = np.diag(inertia_matrix(vehicle.inertia_kg_m2))
        own = np.array([1.0, 1.0, YAW]) * omega[0]
        gains = replace(
            vehicle.gains,
            attitude_n_m=_vector(J * own**2),
            rate_n_m_s=_vector(2.0 * DAMPING["attitude"] * J * own),
        )
        if isinstance(control, QuadrotorControl):
            gains = replace(gains, **_position(np.full(3, omega[1])))
        else:
            cable = np.full(3, omega[1])
            gains = replace(
                gains,
                cable_direction_per_s2=_vector(cable**2),
                cable_rate_per_s=_vector(2.0 * DAMPING["cable"] * cable),
            )
        vehicles.append(replace(vehicle, gains=gains))
    model = replace(scenario.model, vehicles=tuple(vehicles))
    if isinstance(control, QuadrotorControl):
        return replace(scenario, model=model)
    slow = np.full(3, omega[2])
    changed = {**_position(slow), **_integral(slow, control)}
    if isinstance(control, CableTeamControl):
        payload = next(p for p in model.payloads if p.inertia_kg_m2 is not None)
        J = np.diag(inertia_matrix(payload.inertia_kg_m2))
        changed |= {
            "attitude_n_m": _vector(J * omega[3] ** 2),
            "rate_n_m_s": _vector(2.0 * DAMPING["position"] * J * omega[3]),
        }
    return replace(scenario, model=model, controller=replace(control, **changed))  # type: ignore[type-var]


def _position(omega: np.ndarray) -> dict:
    return {
        "position_per_s2": _vector(omega**2),
        "velocity_per_s": _vector(2.0 * DAMPING["position"] * omega),
    }


def _integral(omega: np.ndarray, control: object) -> dict:
    """The integral gain of a position, which is asked for and not proposed, as far as the other gains bear it."""
    asked = getattr(control, "integral_per_s3", None)
    if asked is None:
        return {}
    edge = 2.0 * DAMPING["position"] * omega**3
    return {"integral_per_s3": _vector(np.minimum(asked, INTEGRAL * edge))}


def _vector(values: np.ndarray) -> tuple[float, float, float]:
    return tuple(float(v) for v in values)  # type: ignore[return-value]


GAINS = (
    "position_per_s2", "velocity_per_s", "integral_per_s3", "attitude_n_m", "rate_n_m_s", "attitude_per_s2",
    "rate_per_s", "cable_direction_per_s2", "cable_rate_per_s",
)  # fmt: skip
"""Keys that are proposed."""


def gains_of(scenario: Scenario) -> dict[str, tuple[float, ...]]:
    """Gains of vehicles (one entry for those that are alike) and of the controller, by place."""
    alike = {v.gains: v.name for v in reversed(scenario.model.vehicles)}
    owners = [(name, gains) for gains, name in reversed(alike.items())]
    return {
        f"{name}: {key}": getattr(gains, key)
        for name, gains in [*owners, ("controller", scenario.controller)]
        for key in GAINS
        if hasattr(gains, key)
    }


def _rounded(scenario: Scenario, digits: int) -> Scenario:
    """Gains to so many digits: nobody means more."""

    def short(value: object) -> object:
        if isinstance(value, tuple) and all(isinstance(v, float) for v in value):
            return tuple(float(f"{v:.{digits}g}") for v in value)
        return value

    vehicles = tuple(
        replace(v, gains=replace(v.gains, **{k: short(x) for k, x in vars(v.gains).items()}))
        for v in scenario.model.vehicles
    )
    control = {k: short(x) for k, x in vars(scenario.controller).items() if k in GAINS}
    return replace(
        scenario,
        model=replace(scenario.model, vehicles=vehicles),
        controller=replace(scenario.controller, **control),  # type: ignore[type-var]
    )
