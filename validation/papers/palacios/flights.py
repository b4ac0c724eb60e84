"""Flights and balances of the helicopter of Palacios and Olguin-Diaz, with the numbers of the MIT X-Cell .60."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from transforms3d.euler import euler2quat, quat2euler
from transforms3d.quaternions import quat2mat

from rotor_core.config.environment import Air
from rotor_core.config.loader import load_scenario
from rotor_core.config.model import Model, Vehicle
from rotor_core.config.schema import Scenario, Timing
from rotor_core.config.vehicles.helicopter import Hinge
from rotor_core.state import State
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.system import System
from rotor_sim.analysis.trim import Trim, trim
from rotor_sim.plant.system import system_from_scenario

OMEGA = 167.0
DENSITY, GRAVITY = 1.225, 9.81
STANDARD = Air(temperature_c=273.0 * 1.293 / DENSITY - 273.0)
FLAP, PITCH = Hinge("flap", stiffness_n_m_per_rad=54.0), Hinge("pitch")
LAG = Hinge("lag", 0.055, damping_n_m_s_per_rad=1.0)
ORDERS = {"flap-pitch-lag": (FLAP, PITCH, LAG), "pitch-flap-lag": (PITCH, FLAP, LAG)}

ATTITUDE_GAIN, HEADING_GAIN, HEADING_RATE_GAIN = 0.15, 2.0, 1.5
HEIGHT_GAIN, GOVERNOR_GAIN = 0.03, 0.05
POWERS = ("shaft", "air", "pitch links", "lag dampers", "tail rotor")

START = (5.0, -4.0, 3.0)
"""Errors of roll, pitch and yaw at the start of the attitude hold, deg."""


def vehicle(**rotor: object) -> Vehicle:
    """The shipped helicopter with some fields of its main rotor changed."""
    shipped = load_scenario("helicopter_hover").model.vehicles[0]
    assert shipped.helicopter is not None
    changed = replace(shipped.helicopter.main_rotor, **rotor)  # type: ignore[arg-type]
    return replace(shipped, helicopter=replace(shipped.helicopter, main_rotor=changed))


def scenario_of(flown: Vehicle, per_turn: int = 180) -> Scenario:
    """One helicopter in air of 1.225 kg/m^3, controlled at every step."""
    shipped = load_scenario("helicopter_hover")
    step = 2.0 * np.pi / OMEGA / per_turn
    return replace(
        shipped, model=Model((flown,)), initial=(), time=Timing(step_s=step, control_s=step),
        environment=replace(shipped.environment, air=STANDARD),
    )  # fmt: skip


@cache
def hovering(order: str, turns: str = "cw") -> Trim:
    """Hover of a rotor with its hinges in an order."""
    return trim(scenario_of(vehicle(hinges=ORDERS[order], turns=turns)))


def put(engine: Engine, found: Trim, states: np.ndarray) -> None:
    """Put a world into the state of a trim, with its commands acting; ``states`` of the helicopter (13,)."""
    _, lateral, longitudinal, tail = found.commands[0]
    engine.swash.write(
        np.array([[found.commands[0, 0], lateral, -longitudinal]]), at_once=True
    )  # a clockwise rotor
    engine.swash.write_inflow(found.inflow)
    efforts = np.zeros(len(engine.joints))
    efforts[0] = found.engine_torques[0]
    engine.joints.write_efforts(efforts, at_once=True)
    engine.wrenches[0, 3] = tail
    bodies = np.zeros((len(engine.system.bodies), 13))
    bodies[:, 3] = 1.0
    bodies[0] = states
    engine.set_state(bodies, joints=found.joints, time=0.0)


@dataclass(frozen=True)
class Hold:
    """A flight with attitude hold.

    Attributes:
        time: (n,) s.
        errors: of roll, pitch, yaw, (n, 3) deg.
        height: above the start, (n,) m.
        speed: of the rotor, (n,) rad/s.
    """

    time: np.ndarray
    errors: np.ndarray
    height: np.ndarray
    speed: np.ndarray


@cache
def hold_attitude(duration: float = 3.2, per_turn: int = 120) -> Hold:
    """HE-3: attitude through the swashplate, height, heading and speed of the rotor, at every step.

    Its law is written down here as the specification has it, without the controller that ships.
    """
    scenario = scenario_of(vehicle(), per_turn)
    found = trim(scenario)
    engine = Engine(system_from_scenario(scenario), step=scenario.time.step_s)
    level = np.array(quat2euler(State(found.states).attitude[0]))
    begin = found.states[0].copy()
    State(begin).attitude[:] = euler2quat(*(level + np.radians(START)))
    put(engine, found, begin)
    helicopter = scenario.model.vehicles[0].helicopter
    assert helicopter is not None
    arm = -helicopter.tail_rotor.position_m[0]
    collective, cosine, sine = engine.swash.angles[0]
    efforts = np.zeros(len(engine.joints))
    n = round(duration / scenario.time.step_s)
    errors, height, speed = np.empty((n, 3)), np.empty(n), np.empty(n)
    for i in range(n):
        state, rate = engine.motion[0], float(engine.joints.rates[0])
        error = np.array(quat2euler(State(state).attitude)) - level
        z = state[2] - found.states[0, 2]
        errors[i], height[i], speed[i] = np.degrees(error), z, rate
        efforts[0] = found.engine_torques[0] - GOVERNOR_GAIN * (rate - OMEGA)
        engine.joints.write_efforts(efforts, at_once=True)
        moment = HEADING_GAIN * error[2] + HEADING_RATE_GAIN * state[12]
        engine.wrenches[0, 3] = found.commands[0, 3] + moment / arm
        angles = (
            collective - HEIGHT_GAIN * (z + state[9]), cosine - ATTITUDE_GAIN * error[0],
            sine + ATTITUDE_GAIN * error[1],
        )  # fmt: skip
        engine.swash.act(np.array([angles]), at_once=True)
        engine.run(1)
        engine.update_kinematics()
    return Hold(np.arange(n) * scenario.time.step_s, errors, height, speed)


def vacuum(stiffness: float) -> System:
    """The helicopter without air, dampers, armature and pitch links: springs alone."""
    flap = replace(FLAP, stiffness_n_m_per_rad=stiffness)
    lag = replace(LAG, damping_n_m_s_per_rad=0.0)
    bare = vehicle(
        hinges=(PITCH, flap, lag), armature_kg_m2=0.0, lift_slope_per_rad=1e-12,
        drag_coefficient=0.0,
    )  # fmt: skip
    assert bare.helicopter is not None
    bare = replace(bare, drag=None, helicopter=replace(bare.helicopter, surfaces=()))
    system = system_from_scenario(scenario_of(bare))
    return replace(system, blades=tuple(replace(b, pitch_joint=-1) for b in system.blades))


def conserved(engine: Engine, stiffness: float) -> tuple[np.ndarray, np.ndarray]:
    """Energy (1,) J, and angular momentum about the common centre of mass (3,) N m s, from the bodies one by one."""
    momentum = []
    mass, centre, energy = 0.0, np.zeros(3), 0.0
    for body, row in zip(engine.system.bodies, engine.update_kinematics(), strict=True):
        if body.mass == 0.0 or body.inertia_B is None:
            continue
        R = quat2mat(State(row).attitude)
        p, v = (
            State(row).position + R @ body.com,
            State(row).velocity + R @ np.cross(State(row).body_rate, body.com),
        )
        spin = R @ body.inertia_B @ State(row).body_rate
        energy += 0.5 * body.mass * v @ v + 0.5 * (R @ State(row).body_rate) @ spin
        energy += GRAVITY * body.mass * p[2]
        mass, centre = mass + body.mass, centre + body.mass * p
        momentum.append((p, body.mass * v, spin))
    flaps = [
        a
        for a, n in zip(engine.joints.angles, engine.joints.names, strict=True)
        if n.endswith("flap")
    ]
    energy += 0.5 * stiffness * float(np.sum(np.square(flaps)))
    turning = [np.cross(p - centre / mass, m) + spin for p, m, spin in momentum]
    return np.array([energy]), np.sum(turning, axis=0)


def drift(stiffness: float, per_turn: int, duration: float = 0.5) -> tuple[float, float]:
    """Relative change of energy and angular momentum in a tumble without air (HE-6)."""
    engine = Engine(vacuum(stiffness), step=2.0 * np.pi / OMEGA / per_turn)
    states = np.zeros((len(engine.system.bodies), 13))
    states[:, 3] = 1.0
    states[0, 7:] = 0.5, -0.3, 0.2, 0.4, -0.2, 0.5
    hinges = [(0.1, 1.0), (0.05, 2.0), (0.03, -1.0), (0.12, -1.0), (-0.02, 3.0), (0.01, 0.5)]
    engine.set_state(states, joints=np.array([(0.7, OMEGA), *hinges]))
    before = conserved(engine, stiffness)
    engine.run(round(duration * OMEGA / (2.0 * np.pi) * per_turn))
    after = conserved(engine, stiffness)
    energy, momentum = (
        float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in zip(after, before, strict=True)
    )
    return energy, momentum


def powers() -> dict[str, float]:
    """Mean powers in hover over one turn, W: shaft, air, pitch links, lag dampers, tail rotor (HE-T12)."""
    found = hovering("flap-pitch-lag")
    scenario = scenario_of(vehicle())
    engine = Engine(system_from_scenario(scenario), step=scenario.time.step_s)
    put(engine, found, found.states[0])
    names = engine.joints.names
    pitches = [i for i, n in enumerate(names) if n.endswith("pitch")]
    lags = [i for i, n in enumerate(names) if n.endswith("lag")]
    helicopter = scenario.model.vehicles[0].helicopter
    assert helicopter is not None
    sums: dict[str, float] = dict.fromkeys(POWERS, 0.0)
    steps = round(2.0 * np.pi / OMEGA / scenario.time.step_s)
    for _ in range(steps):
        rates, body = engine.joints.rates, engine.update_kinematics()[0]
        links = engine.pitch_link_moments[pitches]
        at_tail = quat2mat(State(body).attitude).T @ State(body).velocity + np.cross(
            State(body).body_rate, helicopter.tail_rotor.position_m
        )
        for name, power in (
            ("shaft", found.engine_torques[0] * rates[0]), ("air", engine.swash.air_powers[0]),
            ("pitch links", links @ rates[pitches]),
            ("lag dampers", -LAG.damping_n_m_s_per_rad * rates[lags] @ rates[lags]),
            ("tail rotor", found.commands[0, 3] * at_tail[1]),
        ):  # fmt: skip
            sums[name] += float(power) / steps
        engine.run(1)
    return sums
