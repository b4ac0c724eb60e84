"""The loop that flew in February 2024, closed again: its law, its estimator, our plant; nothing is fitted to a path.

From the hover of a flight come the gains of its thrusts and the starting values of the law's integrals; all
else is the same for all flights of as many vehicles. Parts can be replaced one at a time, which tells their share of
the miss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation

from rotor_core.config.air.wakes import Wakes
from rotor_core.config.model import DragCoefficients
from rotor_core.config.schema import Scenario
from rotor_core.config.sensing import KalmanEstimator, Sensing
from rotor_core.config.vehicles.inflow import Inflow
from rotor_core.errors import RotorError
from rotor_core.math.rotation_vectors import rotation_from, wxyz_from
from rotor_core.state import State, States
from rotor_recordings.crazyflies.grid import STEP, make_grid
from rotor_recordings.crazyflies.logs import PAYLOAD_MASS, read_crazyflie_team
from rotor_recordings.crazyflies.team_model import fit_team, team_scenario
from rotor_sim.period import Decision, control_period
from rotor_sim.simulation import Simulation
from validation.real_flights.february.law import (
    GAINS,
    UP,
    Gains,
    Memory,
    identify,
    moments,
    vehicle_force,
)
from validation.real_flights.february.logs import LENGTH, Flown, Hover, hover, read_flown
from validation.real_flights.follow import distance

PERIOD = 0.005
"""Of control, s; 2 ms on board."""

MOTOR_LAG = 0.03
"""First order, s; assumed."""

CAPTURE_DELAY, CAPTURE_RATE = 0.01, 100.0
"""Of motion capture, s and Hz; assumed."""

ESTIMATOR = KalmanEstimator(
    "kalman",
    position_m=0.01,
    accelerometer_density_m_s2_sqrt_hz=0.016,
    vertical_density_m_s2_sqrt_hz=0.8,
    gyroscope_density_rad_s_sqrt_hz=0.0032,
)
"""Densities of the published filter (0.5 m/s^2 and 0.1 rad/s each millisecond). Upwards the logged estimates have no
bias, though thrust is more than weight, for a reason that the logs do not show: positions are followed at once."""

ROTOR_RADIUS = 0.0235
"""Of the propellers 47-17, m."""

PAYLOAD_DRAG = (3.6e-4,) * 3
"""Of a ball of 20 mm radius with a coefficient of 0.47, N s^2/m^2; the shape of the real payload is not told."""

SHARING_SMOOTHED = 0.1
"""Standard deviation of the window over which the logged sharing among cables is smoothed, s."""


@dataclass(frozen=True)
class Variant:
    """What is replaced in the loop.

    Attributes:
        estimated: "all"; "attitude" or "velocity": only this is the estimator's; "none".
        biases: with attitudes that are not estimated: constant ones as in the hover.
        feedforward: of the planned rates of the cables.
        thrust_gains: of the hover; else 1.
        memory: integrals as at the start of the log; else 0.
        inflow: thrust depends on the air that moves through the rotors.
        wakes: rotors push jets of air down, on the payload and on each other; with inflow only.
        drag: of the payload.
    """

    estimated: str = "all"
    biases: bool = False
    feedforward: bool = True
    thrust_gains: bool = True
    memory: bool = True
    inflow: bool = True
    wakes: bool = True
    drag: bool = True


def scenario_of(path: Path, balance: Hover, variant: Variant) -> Scenario:
    """Plant and sensors of a flight."""
    team = read_crazyflie_team(path)
    model = fit_team(team, make_grid(team))
    gains = balance.gain if variant.thrust_gains else np.ones(len(balance.gain))
    scenario = team_scenario(
        team, model, lag=MOTOR_LAG, period=PERIOD,
        gain=dict(zip(team.vehicles, gains.tolist(), strict=True)),
    )  # fmt: skip
    sensing = Sensing(
        rate_hz=CAPTURE_RATE,
        delay_s=CAPTURE_DELAY,
        estimator=None if variant.estimated == "none" else ESTIMATOR,
    )
    return _in_air(replace(scenario, sensing=sensing), variant)


def _in_air(scenario: Scenario, variant: Variant) -> Scenario:
    """The scenario with what moves the air in it; blades and jets are those of the defaults."""
    model = scenario.model
    inflow = Inflow() if variant.inflow else None
    vehicles = tuple(
        replace(v, rotors=replace(v.rotors, radius_m=ROTOR_RADIUS, inflow=inflow))
        for v in model.vehicles
    )
    drag = DragCoefficients(quadratic_n_s2_per_m2=PAYLOAD_DRAG) if variant.drag else None
    load = replace(model.payloads[0], drag=drag)
    wakes = Wakes() if variant.wakes and variant.inflow else None
    return replace(
        scenario,
        model=replace(model, vehicles=vehicles, payloads=(load,)),
        environment=replace(scenario.environment, wakes=wakes),
    )


class Law:
    """The law on board of all vehicles, with its memory."""

    def __init__(self, flown: Flown, gains: Gains, memory: Memory, integral_y: float) -> None:
        n = len(flown.vehicles)
        self._flown, self._gains = flown, gains
        self._integral = np.array(gains.integral)
        self._integral[1] = integral_y
        self._payload, self._direction = memory.payload.copy(), memory.direction.copy()
        self._attitude = np.zeros((n, 3))
        sharing = flown.cable_force - flown.payload_force / n
        self._sharing = gaussian_filter1d(sharing, SHARING_SMOOTHED / STEP, axis=0, mode="nearest")
        self.feedforward = True

    def command(self, row: int, told: State, n: int) -> np.ndarray:
        """Thrusts and moments (n, 4) at a row of the log for states as told."""
        flown, gains = self._flown, self._gains
        gap = told.position[n] - told.position[:n]
        direction = gap / np.linalg.norm(gap, axis=1, keepdims=True)
        rate = (told.velocity[n] - told.velocity[:n]) / LENGTH
        error = flown.reference[row] - told.position[n]
        self._payload += PERIOD * error
        acceleration = (
            UP + gains.position * error
            + gains.velocity * (flown.reference_velocity[row] - told.velocity[n])
            + self._integral * self._payload
        )  # fmt: skip
        cable = self._sharing[row] + PAYLOAD_MASS * acceleration / n
        planned = flown.planned_rate[row] if self.feedforward else np.zeros((n, 3))
        wanted = -cable / np.linalg.norm(cable, axis=1, keepdims=True)
        self._direction += PERIOD * np.cross(wanted, direction)
        force = vehicle_force(cable, direction, rate, planned, self._direction, gains)
        turn, turned = moments(told.attitude[:n], force, told.body_rate[:n], self._attitude, gains)
        self._attitude += PERIOD * turned
        return np.hstack([np.linalg.norm(force, axis=1, keepdims=True), turn])


def fly_flown(path: Path, variant: Variant | None = None) -> tuple[Flown, np.ndarray]:
    """Fly the references of a flight again.

    Args:
        path: of the recording.
        variant: what is replaced; None: nothing.

    Returns:
        The recorded flight, and the path of the simulated payload as motion capture tells it, (T, 3) m; NaN where lost.
    """
    variant = variant or Variant()
    flown = read_flown(path)
    balance, found, n = hover(flown), identify(flown), len(flown.vehicles)
    simulation = Simulation(scenario_of(path, balance, variant))
    memory = found.memory if variant.memory else Memory(np.zeros((n, 3)), np.zeros((n, 3)))
    law = Law(flown, GAINS[n], memory, found.integral_y)
    law.feedforward = variant.feedforward
    lean = _tilts(balance.told, balance.needed)
    _start(simulation, flown, lean)
    out = np.full((len(flown.time), 3), np.nan)
    row = 0

    def decide(measured: States) -> Decision:
        told = State(measured.array.copy())
        true = simulation.motion
        if variant.estimated == "none":  # attitude and rates are measured on board, without delay
            told.attitude[:n], told.body_rate[:n] = (
                State(true).attitude[:n],
                State(true).body_rate[:n],
            )
        elif variant.estimated == "attitude":
            told.velocity[:n], told.position[:n] = (
                State(true).velocity[:n],
                State(true).position[:n],
            )
        elif variant.estimated == "velocity":
            told.attitude[:n] = State(true).attitude[:n]
        if variant.biases and variant.estimated in ("none", "velocity"):
            told.attitude[:n] = wxyz_from(rotation_from(told.attitude[:n]) * lean.inv())
        return law.command(row, told, n), None

    try:
        for row in range(len(flown.time)):
            out[row] = State(simulation.motion).position[n]
            for _ in range(round(STEP / PERIOD)):
                control_period(simulation, decide)
    except RotorError:
        pass
    return flown, out


def _tilts(told: np.ndarray, needed: np.ndarray) -> Rotation:
    """Rotations in body axes, almost those of W, from the axes of thrust as told to those that are needed."""
    true = needed / np.linalg.norm(needed, axis=1, keepdims=True)
    return Rotation.from_rotvec(np.cross(told, true))


def _start(simulation: Simulation, flown: Flown, lean: Rotation) -> None:
    """Put the team into the hover of the log: vehicles lean as the balance of forces says."""
    states = {}
    lengths = flown.lengths
    attitudes = wxyz_from(rotation_from(flown.attitude[0]) * lean)
    for i, name in enumerate(flown.vehicles):
        position = flown.payload[0] - lengths[i] * flown.direction[0, i]
        states[name] = np.concatenate([position, attitudes[i], np.zeros(6)])
    states["payload"] = np.concatenate([flown.payload[0], [1.0, 0.0, 0.0, 0.0], np.zeros(6)])
    simulation.set_states(states, project=True)


def miss(flown: Flown, path: np.ndarray) -> float:
    """Distance of a path from the recorded one once it has settled, root of the mean square, m."""
    return distance(flown.time, flown.payload, path)
