"""The loop that flew in February 2024, closed again: its law, its estimator, our plant; nothing is fitted to a path.

From the hover of a flight come the gains of its thrusts and its state at the end of the hover, integrals of the law
included; all else is the same for all flights of as many vehicles. Parts can be replaced one at a time, which tells
their share of the miss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation

from rotor_control.gains import LOAD_INTEGRAL_GAIN
from rotor_control.laws.flatness import AHEAD, CABLE_RATE
from rotor_control.laws.payload_geometric import OF_CABLE, OF_PAYLOAD
from rotor_control.payload_geometric import PayloadGeometricLaw
from rotor_core.config.model import Model
from rotor_core.config.schema import Scenario
from rotor_core.config.sensing import Sensing
from rotor_core.config.teams import teams
from rotor_core.errors import RotorError
from rotor_core.math.rotation_vectors import rotation_from, wxyz_from
from rotor_core.reference import REFERENCE, Reference
from rotor_core.state import State, States
from rotor_recordings.crazyflies.grid import STEP, make_grid
from rotor_recordings.crazyflies.logs import read_crazyflie_team
from rotor_recordings.crazyflies.team_model import fit_team, team_scenario
from rotor_sim.period import Decision, control_period
from rotor_sim.simulation import Simulation
from validation.real_flights.air import in_air
from validation.real_flights.february.law import (
    ATTITUDE_INTEGRAL,
    GAINS,
    RADIUS,
    TURNING,
    YAW,
    YAW_TURNING,
    Gains,
    Identified,
    Memory,
    held,
    identify,
    wanted_direction,
)
from validation.real_flights.february.logs import LENGTH, Flown, Hover, hover, read_flown
from validation.real_flights.february.sharing import Programs
from validation.real_flights.follow import distance
from validation.real_flights.on_board import ESTIMATOR

PERIOD = 0.005
"""Of control, s; 2 ms on board."""

MOTOR_LAG = 0.03
"""First order, s; assumed."""

THRUST_GAIN_PER_S = -0.0013
"""Drift of all thrust gains, 1/s: the median over all vehicles and flights of what the balance of forces tells."""

CAPTURE_DELAY, CAPTURE_RATE = 0.01, 100.0
"""Of motion capture, s and Hz; assumed."""

BEFORE = 20
"""Samples before the start from which velocities at the start are found."""

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
        thrust_gain_per_s: their drift.
        memory: integrals as the law had them; else 0.
        stops: motors stop where they were told to in the log, and the law of their vehicle begins anew.
        logged: what is taken from the log: "attitude" and "velocity" of the vehicles and "payload" (its place and
            velocity) as told, "thrust" as asked.
        logged_sharing: how cables share the force is taken from the log (smoothed), not from the program.
        inflow: thrust depends on the air that moves through the rotors.
        wakes: rotors push jets of air down, on the payload and on each other; with inflow only.
        drag: of the payload.
        fitted: three numbers of each vehicle: the change of its thrust gain, as a share, and rotations about the x
            and y axes of its body by which the attitudes that its law is told are turned, rad. Empty: none.
    """

    estimated: str = "all"
    biases: bool = False
    feedforward: bool = True
    thrust_gains: bool = True
    thrust_gain_per_s: float = THRUST_GAIN_PER_S
    memory: bool = True
    stops: bool = True
    logged: tuple[str, ...] = ()
    logged_sharing: bool = False
    inflow: bool = True
    wakes: bool = True
    drag: bool = True
    fitted: tuple[tuple[float, float, float], ...] = ()


def scenario_of(path: Path, program_s: float, balance: Hover, variant: Variant) -> Scenario:
    """Plant and sensors of a flight whose program on board takes ``program_s``."""
    team = read_crazyflie_team(path)
    model = fit_team(team, make_grid(team))
    gains = balance.gain if variant.thrust_gains else np.ones(len(balance.gain))
    if variant.fitted:
        gains = gains * (1.0 + np.array(variant.fitted)[:, 0])
    own = GAINS[len(team.vehicles)]
    scenario = team_scenario(
        team, model, lag=MOTOR_LAG, period=PERIOD, control=_control(own, program_s),
        gain=dict(zip(team.vehicles, gains.tolist(), strict=True)),
    )  # fmt: skip
    plant = tuple(
        replace(change, thrust_gain_per_s=variant.thrust_gain_per_s) for change in scenario.plant
    )
    scenario = replace(scenario, model=_with_gains(scenario.model, own), plant=plant)
    sensing = Sensing(
        rate_hz=CAPTURE_RATE,
        delay_s=CAPTURE_DELAY,
        estimator=None if variant.estimated == "none" else ESTIMATOR,
    )
    scenario = replace(scenario, sensing=sensing)
    return in_air(scenario, inflow=variant.inflow, wakes=variant.wakes, drag=variant.drag)


def _control(gains: Gains, program_s: float) -> dict[str, Any]:
    return {
        "type": "payload_geometric",
        "position_per_s2": [gains.position] * 3,
        "velocity_per_s": [gains.velocity] * 3,
        "integral_per_s3": list(gains.integral),
        "cable_integral_per_s3": gains.direction_integral,
        "attitude_integral_n_m_per_s": [ATTITUDE_INTEGRAL] * 3,
        "radius_m": RADIUS,
        "plane_lean_per_n2": gains.plane_lean,
        "plan_weight": gains.plan_weight,
        "program_period_s": program_s,
        "acceleration_feedforward": False,
        "whole_thrust": True,
    }


def _with_gains(model: Model, gains: Gains) -> Model:
    """The vehicles with the gains of their attitude and of their cables."""
    own = {
        "attitude_n_m": (gains.attitude, gains.attitude, YAW),
        "rate_n_m_s": (TURNING, TURNING, YAW_TURNING),
        "cable_direction_per_s2": (gains.direction,) * 3,
        "cable_rate_per_s": (gains.rate,) * 3,
    }
    vehicles = tuple(replace(v, gains=replace(v.gains, **own)) for v in model.vehicles)
    return replace(model, vehicles=vehicles)


def _as_on_board(scenario: Scenario) -> Scenario:
    """The scenario as the law believes it: all cables of the same length."""
    cables = tuple(replace(a, length_m=LENGTH) for a in scenario.model.attachments)  # type: ignore[call-arg]
    return replace(scenario, model=replace(scenario.model, attachments=cables))


class FlownLaw(PayloadGeometricLaw):
    """The law on board of all vehicles with the plans that each of them knew, from a row of the log to the next.

    Args:
        scenario: as the law believes it.
        flown: the flight from its start on.
        found: of the whole flight.
        memory: integrals at the start.
        variant: what is replaced.

    Attributes:
        row: of ``flown``.
    """

    def __init__(
        self, scenario: Scenario, flown: Flown, found: Identified, memory: Memory, variant: Variant
    ) -> None:
        super().__init__(scenario, teams(scenario.model)[0])
        n = len(flown.vehicles)
        self.row, self._flown, self._variant = 0, flown, variant
        self.load[LOAD_INTEGRAL_GAIN + 1] = found.integral_y
        self.ahead = np.zeros((n, AHEAD))
        if variant.memory:
            self.memory[:, OF_PAYLOAD : OF_PAYLOAD + 3] = memory.payload
            self.memory[:, OF_CABLE : OF_CABLE + 3] = memory.direction
        sharing = flown.cable_force - flown.payload_force / n
        self._sharing = gaussian_filter1d(sharing, SHARING_SMOOTHED / STEP, axis=0, mode="nearest")
        self._programs = Programs(n)

    def share(self, states: np.ndarray, forces: np.ndarray) -> None:
        """Write the forces of the cables (n, 3) N: of the programs on board, or as logged."""
        if self._variant.logged_sharing:
            forces[:] = self._sharing[self.row] + self.wanted / len(forces)
            return
        places = self.places(states)
        plan = self._flown.plan[self.row]
        for k, knows in enumerate(self._flown.planned_force[self.row].any(axis=1)):
            forces[k] = self._programs.share(k, self.wanted[k], plan, places, knows=bool(knows))

    def command(self, told: State) -> np.ndarray:
        """Thrusts and moments (n, 4) for states as told."""
        flown, out = self._flown, np.zeros((len(self.forces), 4))
        reference = Reference(np.zeros(REFERENCE))
        reference.position[:] = flown.reference[self.row, 0]
        reference.velocity[:] = flown.reference_velocity[self.row, 0]
        if self._variant.feedforward:
            wanted = wanted_direction(np.where(self.forces == 0.0, 1e-12, self.forces))
            rates = np.cross(wanted, flown.planned_rate[self.row])
            self.ahead[:, CABLE_RATE : CABLE_RATE + 3] = rates
        self(told.array, reference.array, out)
        if self._variant.stops:
            stopped = flown.stopped[self.row]
            out[stopped], self.memory[stopped] = 0.0, 0.0
        return out


def fly_flown(
    path: Path, variant: Variant | None = None, watch: Callable[[State, State], None] | None = None
) -> tuple[Flown, np.ndarray]:
    """Fly the references of a flight again, from the end of its hover.

    Args:
        path: of the recording.
        variant: what is replaced; None: nothing.
        watch: called with the states that the law is told and the true ones, once per control period.

    Returns:
        The recorded flight, and the path of the simulated payload as motion capture tells it, (T, 3) m; NaN in the
        hover and where lost.
    """
    variant = variant or Variant()
    whole = read_flown(path)
    balance, found, n = hover(whole), identify(whole), len(whole.vehicles)
    scenario = scenario_of(path, whole.program_s, balance, variant)
    simulation = Simulation(scenario)
    flown, memory = whole.since(whole.first), held(whole, found.memory, whole.first)
    law = FlownLaw(_as_on_board(scenario), flown, found, memory, variant)
    lean = _tilts(balance.told, balance.needed)
    _start(simulation, whole, lean)
    biases = Rotation.from_rotvec([[x, y, 0.0] for _, x, y in variant.fitted] or np.zeros((n, 3)))
    out = np.full((len(whole.time), 3), np.nan)

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
        if variant.fitted:
            told.attitude[:n] = wxyz_from(rotation_from(told.attitude[:n]) * biases)
        _replay(told, flown, law.row, variant)
        if watch is not None:
            watch(told, State(true))
        asked = law.command(told)
        if "thrust" in variant.logged:
            asked[:, 0] = flown.thrust[law.row]
        return asked, None

    try:
        for row in range(len(flown.time)):
            law.row = row
            out[whole.first + row] = State(simulation.motion).position[n]
            for _ in range(round(STEP / PERIOD)):
                control_period(simulation, decide)
    except RotorError:
        pass
    return whole, out


def _replay(told: State, flown: Flown, row: int, variant: Variant) -> None:
    """Put what was logged in the place of what is told."""
    n = len(flown.vehicles)
    if "attitude" in variant.logged:
        told.attitude[:n] = flown.attitude[row]
    if "velocity" in variant.logged:
        told.velocity[:n] = flown.velocity[row]
    if "payload" in variant.logged:
        told.position[n], told.velocity[n] = flown.payload[row], flown.payload_velocity[row]


def _tilts(told: np.ndarray, needed: np.ndarray) -> Rotation:
    """Rotations in body axes, almost those of W, from the axes of thrust as told to those that are needed."""
    true = needed / np.linalg.norm(needed, axis=1, keepdims=True)
    return Rotation.from_rotvec(np.cross(told, true))


def _start(simulation: Simulation, flown: Flown, lean: Rotation) -> None:
    """Put the team where the hover of the log ends: vehicles lean as forces need it and believe what they told."""
    row, states = flown.first, {}
    attitudes = wxyz_from(rotation_from(flown.attitude[row]) * lean)
    velocities, lengths = _velocities(flown, flown.position, row), flown.lengths
    for i, name in enumerate(flown.vehicles):
        position = flown.payload[row] - lengths[i] * flown.direction[row, i]
        states[name] = np.concatenate([position, attitudes[i], velocities[i], np.zeros(3)])
    moving = _velocities(flown, flown.payload, row)
    states["payload"] = np.concatenate(
        [flown.payload[row], [1.0, 0.0, 0.0, 0.0], moving, np.zeros(3)]
    )
    simulation.set_states(states, project=True)
    if simulation.scenario.sensing.estimator:
        simulation.believe(dict(zip(flown.vehicles, flown.attitude[row], strict=True)))


def _velocities(flown: Flown, positions: np.ndarray, row: int) -> np.ndarray:
    """At a row, of the parabolas through positions (T, ...) of a fifth of a second before it."""
    rows = slice(row - BEFORE, row + 1)
    flat = positions[rows].reshape(BEFORE + 1, -1)
    return np.polyfit(flown.time[rows] - flown.time[row], flat, 2)[1].reshape(positions.shape[1:])


def miss(flown: Flown, path: np.ndarray) -> float:
    """Distance of a path from the recorded one once it has settled, root of the mean square, m."""
    return distance(flown.time, flown.payload, path)
