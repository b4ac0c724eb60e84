"""Flights of the delivery drone: from hover (steps, release, wind), DD-1, and with faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from rotor_control.controller import make_controller
from rotor_control.laws.cascaded_pid import ERROR_SUM, LIFT, STARTED, CascadedPidLaw
from rotor_core.config.air.wind import Wind
from rotor_core.config.controllers import CascadedPidControl, Pid
from rotor_core.config.loader import load_scenario
from rotor_core.config.mission import Land, Mission
from rotor_core.config.model import DragCoefficients
from rotor_core.config.schema import Actuation, Scenario
from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.plans.plan import Plan, hold
from rotor_core.reference import YAW_ANGLE
from rotor_core.state import FULL_STATE, State
from rotor_flight.flight import Flight
from rotor_flight.fly import fly
from rotor_sim.judging.verdict import Verdict
from rotor_sim.simulation import Simulation

HEIGHT = 5.0
"""Flights from hover begin here, m."""

WIND_DRAG = 0.0366
"""Force of the wind over its speed squared, along every axis, N s^2/m^2 (64)."""

FAULTS = ("motor", "gust", "heavy", "battery", "lost_pose")
"""Scenarios ``delivery_fault_...``."""


def delivery(*, per_rotor: bool = True, windy: bool = False) -> Scenario:
    """The shipped delivery.

    ``per_rotor``: variant A of the lift loop (newtons per rotor); else B (newtons in all).
    """
    scenario = load_scenario("delivery")
    control = scenario.controller
    assert isinstance(control, CascadedPidControl)
    if not per_rotor:
        lift = Pid(*(0.25 * k for k in (control.lift.p, control.lift.i, control.lift.d)))
        scenario = replace(scenario, controller=replace(control, lift=lift))
    if windy:
        drone = scenario.model.vehicles[0]
        drag = DragCoefficients(quadratic_n_s2_per_m2=(WIND_DRAG,) * 3)
        model = replace(scenario.model, vehicles=(replace(drone, drag=drag),))
        scenario = replace(scenario, model=model)
    return scenario


@dataclass(frozen=True)
class HoverFlight:
    """Time s, states (n, 13) and rotor thrusts (n, 4) N of a drone that hovered at time 0."""

    time: np.ndarray
    states: np.ndarray
    thrusts: np.ndarray

    @property
    def height(self) -> np.ndarray:
        """Over where it hovered, (n,) m."""
        return self.states[:, 2] - HEIGHT


def from_hover(
    scenario: Scenario,
    duration: float,
    *,
    plan: Plan | None = None,
    begin: Callable[[Simulation], None] | None = None,
) -> HoverFlight:
    """Fly from a settled hover, with wrenches that act at once.

    Args:
        scenario: of the drone with its parcel.
        duration: s.
        plan: default: stay.
        begin: what happens at time 0.
    """
    scenario = replace(scenario, mission=None, changes=(), actuation=Actuation("wrench"))
    simulation, controller = Simulation(scenario), make_controller(scenario)
    law = controller.laws[0]
    assert isinstance(law, CascadedPidLaw)
    control = scenario.controller
    assert isinstance(control, CascadedPidControl)
    start = simulation.motion[:, FULL_STATE].copy()
    State(start).position[:] = 0.0, 0.0, HEIGHT
    simulation.reset(start)
    mass = sum(e.mass_kg for e in scenario.model.entities)
    weight = mass * scenario.environment.gravity_m_s2
    law.memory[:, STARTED] = 1.0
    law.memory[LIFT, ERROR_SUM] = weight / 4.0 / control.lift.i
    plan = plan or hold(State(start).position[0], 0.0)
    if begin is not None:
        begin(simulation)
    n = round(duration / scenario.time.control_s)
    states, thrusts = np.empty((n + 1, 13)), np.empty((n + 1, 4))
    for i in range(n + 1):
        controller.follow(0, plan, i * scenario.time.control_s)
        command = controller.decide(simulation.sense().array, controller.references)
        states[i], thrusts[i] = simulation.motion[0, FULL_STATE], law.thrusts
        simulation.step(command)
    return HoverFlight(scenario.time.control_s * np.arange(n + 1), states, thrusts)


@dataclass(frozen=True)
class Step:
    """Answer to a step of 1: overshoot, time from 10 to 90 %, time after which it stays within 2 %, s."""

    overshoot: float
    rise: float
    settle: float


def step_of(time: np.ndarray, y: np.ndarray) -> Step:
    """Figures of a step response."""
    rise = time[np.argmax(y > 0.9)] - time[np.argmax(y > 0.1)]
    outside = np.flatnonzero(np.abs(y - 1.0) > 0.02)
    return Step(float(y.max() - 1.0), float(rise), float(time[outside[-1]]))


def altitude_step(*, per_rotor: bool, anti_windup: bool = False) -> HoverFlight:
    """1 m up at once."""
    goal = hold(np.array([0.0, 0.0, HEIGHT + 1.0]), 0.0)
    scenario = delivery(per_rotor=per_rotor)
    control = scenario.controller
    assert isinstance(control, CascadedPidControl)
    scenario = replace(scenario, controller=replace(control, anti_windup=anti_windup))
    return from_hover(scenario, 20.0, plan=goal)


def release(*, per_rotor: bool) -> HoverFlight:
    """The parcel is let go in hover."""
    return from_hover(delivery(per_rotor=per_rotor), 15.0, begin=lambda s: s.release("parcel"))


def wind_step(speed: float = 10.0, duration: float = 40.0) -> HoverFlight:
    """Wind along x from time 0 on."""
    scenario = delivery(windy=True)
    wind = Wind(steady_m_s=(speed, 0.0, 0.0))
    scenario = replace(scenario, environment=replace(scenario.environment, wind=wind))
    return from_hover(scenario, duration)


@cache
def dd1(*, per_rotor: bool = True) -> Flight:
    """DD-1 up to the landing: the mission of the shipped delivery without what comes after."""
    scenario = delivery(per_rotor=per_rotor)
    assert scenario.mission is not None
    steps = scenario.mission.steps
    last = next(i for i, s in enumerate(steps) if isinstance(s, Land))
    return fly(replace(scenario, mission=Mission(steps[: last + 1]), settle_s=0.0))


@dataclass(frozen=True)
class Errors:
    """RMS errors of x, y, z, m, and of phi, theta, psi, rad; and the largest tilt, rad."""

    position: np.ndarray
    angles: np.ndarray
    tilt: float


def cardan(attitudes: np.ndarray) -> np.ndarray:
    """Cardan angles X-Y-Z (C.27) of attitudes (n, 4), (n, 3) rad."""
    return rotation_from(attitudes).as_euler("XYZ")


def errors(flight: Flight) -> Errors:
    """As Table 7 has them, from take-off to landing: tilts against what the law wanted of them.

    The law is asked once more, for every state of the flight, because wanted tilts are not recorded.
    """
    controller = make_controller(flight.scenario)
    law = controller.laws[0]
    assert isinstance(law, CascadedPidLaw)
    out, wanted = np.zeros((1, 4)), np.zeros((len(flight.time), 3))
    flying = flight.commands[:, 0].any(axis=1)
    for i in np.flatnonzero(flying):
        law(flight.states[i], flight.references[i, 0], out)
        wanted[i, :2] = law.tilts
    wanted[:, 2] = flight.references[:, 0, YAW_ANGLE]
    angles = cardan(State(flight.states).attitude[:, 0])
    e = (wanted - angles)[flying]
    p = flight.position_error()
    return Errors(
        np.sqrt(np.mean(p**2, axis=0)),
        np.sqrt(np.mean(e**2, axis=0)),
        float(np.linalg.norm(angles[flying][:, :2], axis=1).max()),
    )


def rotor_rpm(flight: Flight) -> np.ndarray:
    """Commanded speeds of the rotors, (n, 4) rpm."""
    rotors = flight.scenario.model.vehicles[0].rotors
    thrusts = np.linalg.solve(rotors.mixing, flight.commands[:, 0].T).T
    return np.sqrt(np.maximum(thrusts, 0.0) / rotors.thrust_n_per_rpm2)


def with_fault(name: str) -> tuple[Flight, Verdict]:
    """Fly one of :data:`FAULTS`."""
    flight = fly(load_scenario(f"delivery_fault_{name}"))
    return flight, flight.verdict()


def hover_speed(mass: float, thrust_per_rpm2: float, gravity: float = 9.81) -> float:
    """Speed at which four rotors carry a mass, rpm."""
    return float(np.sqrt(mass * gravity / 4.0 / thrust_per_rpm2))
