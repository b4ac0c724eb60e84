"""Vehicle model from a flight: thrust gain and lag, cable lengths, payload mass; and a scenario made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.signal import lfilter, savgol_filter

from rotor_core.config.loader import scenario_from_tree
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.tree import Tree, tree_of
from rotor_core.errors import ConfigError
from rotor_core.math.rotation_vectors import rotation_from
from rotor_recordings.crazyflies.grid import GRAVITY, STEP, Grid
from rotor_recordings.crazyflies.logs import PAYLOAD_MASS, CrazyflieTeam

SETTLED = 2.5
"""Flights are looked at from here on, s: one vehicle cuts its thrust when the trajectory starts."""

LAGS = np.arange(0.0, 0.16, 0.01)
"""Of the thrust that are tried, s: motor, mixer and log together."""

SMOOTH = 25
"""Samples of the cubic that makes thrust as smooth as the accelerations that it is compared with."""

GAINS = (0.5, 1.5)
"""A thrust gain outside these is not a measurement."""

INERTIA = (16.57e-6, 16.66e-6, 29.26e-6)
"""Of the bare vehicle, kg m^2, as its own simulator has it."""


@dataclass(frozen=True)
class VehicleFit:
    """One vehicle in one flight.

    Attributes:
        gain: thrust that acted over thrust that was asked for.
        gain_sigma: scatter of the gain over the flight (half a second each), of its mean.
        lag: first-order lag of the thrust that fits best, s.
        length: of the cable, m.
        moments: mean moments asked for in flight, which hold its trim, (3,) N m.
        residual: of the vertical force after the fit, root of the mean square, N.
    """

    gain: float
    gain_sigma: float
    lag: float
    length: float
    moments: np.ndarray
    residual: float


@dataclass(frozen=True)
class TeamModel:
    """All vehicles of a flight, and the payload.

    Attributes:
        vehicles: by name.
        payload_mass: what the balance of forces says of it, kg, where attitudes were free of bias.
        payload_sigma: its standard deviation over the vehicles, kg.
    """

    vehicles: dict[str, VehicleFit]
    payload_mass: float
    payload_sigma: float

    @property
    def gain(self) -> float:
        """Mean thrust gain of the team."""
        return float(np.mean([v.gain for v in self.vehicles.values()]))


def lagged(values: np.ndarray, lag: float) -> np.ndarray:
    """A series through a first-order lag, from rest at its first value."""
    share = STEP / (lag + STEP)
    return lfilter([share], [1.0, share - 1.0], values, zi=[values[0] * (1.0 - share)])[0]


def fit_team(team: CrazyflieTeam, grid: Grid) -> TeamModel:
    """Fit the model of a team to one of its flights.

    ``k T R e_z - m_p t d = m (a + g e_z)`` along the vertical: gain ``k`` and lag of the thrust ``T``, with the tension
    ``t`` per kg from the balance of the payload and its nominal mass. The payload's mass itself would have to come
    from the horizontal part, where an attitude bias of a few degrees is as large; it is estimated with that bias free.
    """
    rows = grid.time > SETTLED
    fits, masses = {}, []
    for i, (name, log) in enumerate(team.vehicles.items()):
        R = rotation_from(grid.attitudes[:, i]).as_matrix()
        need = team.mass * (grid.accelerations[:, i] + [0.0, 0.0, GRAVITY])
        cable = (
            -grid.tensions[:, i, None] * grid.directions[:, i]
        )  # on the vehicle, per kg of the payload
        known = rows & np.isfinite(need).all(axis=1) & np.isfinite(cable).all(axis=1)
        if not known.any():
            raise ConfigError(f"{team.path}: there is no data of {name} after {SETTLED:g} s.")
        best: tuple[float, float, np.ndarray] | None = None
        for lag in LAGS:
            thrust = np.asarray(
                savgol_filter(lagged(grid.commands[:, i, 0], float(lag)), SMOOTH, 3)
            )
            lift = (thrust * R[:, 2, 2])[known]
            wanted = (need[:, 2] - PAYLOAD_MASS * cable[:, 2])[known]
            gain = float(lift @ wanted / (lift @ lift))
            misfit = float(np.sqrt(np.mean((wanted - gain * lift) ** 2)))
            if best is None or misfit < best[0]:
                best = misfit, float(lag), wanted / lift
        assert best is not None
        misfit, lag, ratios = best
        pieces = np.array([np.median(p) for p in np.array_split(ratios, max(2, len(ratios) // 50))])
        gain = float(np.clip(np.median(ratios), *GAINS))
        moments = np.median(log.command[:, 1:], axis=0)
        sigma = float(pieces.std() / np.sqrt(len(pieces)))
        fits[name] = VehicleFit(gain, sigma, lag, float(grid.lengths[i]), moments, misfit)
        masses.append(_payload_mass(grid.commands[:, i, 0], lag, R, need, cable, known))
    return TeamModel(fits, float(np.mean(masses)), float(np.std(masses)))


def _payload_mass(
    thrust: np.ndarray,
    lag: float,
    R: np.ndarray,
    need: np.ndarray,
    cable: np.ndarray,
    known: np.ndarray,
) -> float:
    """Mass with which the cable's force fits best, while gain and two angles of attitude bias are free, kg."""
    smooth = np.asarray(savgol_filter(lagged(thrust, lag), SMOOTH, 3))[:, None]
    columns = np.stack(
        [smooth * R[:, :, 2], smooth * R[:, :, 0], smooth * R[:, :, 1], cable], axis=2
    )
    found = np.linalg.lstsq(columns[known].reshape(-1, 4), need[known].reshape(-1), rcond=None)[0]
    return float(found[3])


def team_scenario(
    team: CrazyflieTeam, model: TeamModel, *, lag: float | None = None, control: dict[str, Any] | None = None,
    steering: tuple[float, float] = (18.0, 7.0), period: float = 0.005, gain: bool | Mapping[str, float] = True,
) -> Scenario:  # fmt: skip
    """A scenario of the team as it flew: its masses, cables, thrust gains and lag.

    Args:
        team: whose flight.
        model: fitted.
        lag: of the rotors, s; None: the median over the vehicles.
        control: gains of the load (position, velocity, integral); None: those of the vehicle file.
        steering: gains of cable direction and rate, 1/s^2 and 1/s.
        period: of control, s.
        gain: whether the plant has the fitted thrust gain, the mean over the vehicles; or the gains by vehicle.
    """
    if isinstance(gain, bool):
        gain = dict.fromkeys(team.vehicles, model.gain) if gain else {}
    lag = float(np.median([v.lag for v in model.vehicles.values()])) if lag is None else lag
    rotors = {
        "layout": "x", "arm_m": 0.046, "speed_rpm": [0.0, 24000.0], "thrust_n_per_rpm2": 3.193e-10,
        "torque_per_thrust_m": 0.006, **({"lag_s": lag} if lag > 0.0 else {}),
    }  # fmt: skip
    own = {
        "position_per_s2": [6.0, 6.0, 10.0], "velocity_per_s": [3.0, 3.0, 6.0], "attitude_n_m": [7e-3, 7e-3, 2e-3],
        "rate_n_m_s": [1.15e-3, 1.15e-3, 1.3e-4], "cable_direction_per_s2": [steering[0]] * 3,
        "cable_rate_per_s": [steering[1]] * 3,
    }  # fmt: skip
    tree = {
        "schema": 1,
        "description": f"Flight {team.name}: {len(team.vehicles)} Crazyflies carry a point mass.",
        "model": {
            "vehicles": [
                {
                    "use": "crazyflie", "name": name, "mass_kg": team.mass, "inertia_kg_m2": list(INERTIA),
                    "rotors": rotors, "gains": own,
                }
                for name in team.vehicles
            ],
            "payloads": [{"name": "payload", "mass_kg": PAYLOAD_MASS, "shape": {"type": "sphere", "radius_m": 0.02}}],
            "attachments": [
                {"type": "cable", "a": name, "b": "payload", "length_m": fit.length}
                for name, fit in model.vehicles.items()
            ],
        },
        "plant": [{"entity": name, "thrust_gain": value} for name, value in gain.items()],
        "controller": {"type": "point_mass", "error_limit_m": 5.0, **(control or _soft())},
        "trajectory": {"use": "hover"},
        "actuation": "rotors" if lag > 0.0 else "wrench",
        "time": {"step_s": 0.001, "control_s": period},
    }  # fmt: skip
    return scenario_from_tree(tree_of(tree, Tree(None, team.name, 0)), name=team.name)


def _soft() -> dict[str, Any]:
    return {"position_per_s2": [4.0, 4.0, 3.0], "velocity_per_s": [3.0, 3.0, 2.5]}
