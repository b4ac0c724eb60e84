"""Yardsticks of physics: what a hybrid engine must keep, measured on this one.

The same quantities as other engines are judged by: an inelastic snap, a taut pendulum, a tumbling
body, a team that circles for a minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rotor_core.config.loader import load_scenario
from rotor_core.config.trajectories import CirclePlan
from rotor_core.math.rotations import rotation_matrices
from rotor_core.state import State
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, System
from rotor_flight.fly import fly

VEHICLE, LOAD, LENGTH, GRAVITY = 0.25, 0.07, 0.5, 9.81
STEP = 1e-3
PHASES = 16
REBOUND = "MuJoCo: 0.01 to 24 % of it comes back"
ORIGINAL_LENGTH, ORIGINAL_EVENTS = "RotorTM's original: 1 mm", "RotorTM's original: some"


@dataclass(frozen=True)
class Yardstick:
    """A measured figure and what it must stay below."""

    what: str
    value: float
    limit: float
    others: str = ""

    @property
    def holds(self) -> bool:
        """True if the value stays below the limit."""
        return self.value < self.limit


def _row(x=(0.0, 0.0, 0.0), v=(0.0, 0.0, 0.0)) -> np.ndarray:
    return np.array([*x, 1.0, 0.0, 0.0, 0.0, *v, 0.0, 0.0, 0.0])


def snap(sideways: float) -> dict[str, float]:
    """Two masses in free fall part at 2 m/s on a slack cable; worst of 16 phases of the step.

    Exact: the closing speed is gone after the snap, momentum in space and the angular momentum of
    the relative motion are what they were.
    """
    worst = {"closing": 0.0, "overshoot": 0.0, "momentum": 0.0, "angular": 0.0, "energy": 0.0}
    reduced = VEHICLE * LOAD / (VEHICLE + LOAD)
    for phase in range(PHASES):
        start = LENGTH - 0.1 - (phase + 0.5) / PHASES * 2.0 * STEP
        system = System((Body("a", VEHICLE), Body("b", LOAD)), (Cable(0, 1, LENGTH),))
        engine = Engine(system, step=STEP)
        engine.set_state(np.array([_row(v=(0, 0, 0.5)), _row((0, 0, -start), (sideways, 0, -1.5))]))
        before = engine.motion.copy()
        apart = before[1] - before[0]
        spin = np.linalg.norm(np.cross(apart[:3], State(apart).velocity))
        momentum = VEHICLE * State(before).velocity[0] + LOAD * State(before).velocity[1]
        for _ in range(200):
            engine.run(1)
            m = engine.update_kinematics()
            apart = m[1] - m[0]
            distance = float(np.linalg.norm(apart[:3]))
            worst["overshoot"] = max(worst["overshoot"], distance - LENGTH)
            if engine.taut[0]:
                closing = abs(float(apart[:3] @ State(apart).velocity)) / distance
                worst["closing"] = max(worst["closing"], closing)
            fallen = momentum - [0, 0, (VEHICLE + LOAD) * GRAVITY * engine.time]
            change = VEHICLE * State(m).velocity[0] + LOAD * State(m).velocity[1] - fallen
            worst["momentum"] = max(
                worst["momentum"], float(np.abs(change).max() / np.abs(momentum).max())
            )
            if sideways:
                now = np.linalg.norm(np.cross(apart[:3], State(apart).velocity))
                worst["angular"] = max(worst["angular"], abs(float(now / spin) - 1.0))
        event = engine.take_events()[0]
        worst["closing"] = max(worst["closing"], event.closing_speeds_after[0])
        exact = -0.5 * reduced * event.closing_speeds[0] ** 2
        worst["energy"] = max(worst["energy"], abs(event.energy_change / exact - 1.0))
    return worst


def pendulum() -> dict[str, float]:
    """A point mass on a taut cable, released at 60 degrees, for 60 s: energy over its swing, and length."""
    engine = Engine(System((Body("bob", LOAD),), (Cable(WORLD, 0, LENGTH),)), step=STEP)
    angle = np.radians(60.0)
    engine.set_state(np.array([_row((LENGTH * np.sin(angle), 0.0, -LENGTH * np.cos(angle)))]))
    swing = GRAVITY * LENGTH * (1.0 - np.cos(angle))
    first = -GRAVITY * LENGTH * np.cos(angle)
    energy = length = 0.0
    for _ in range(6000):
        engine.run(10)
        m = engine.update_kinematics()[0]
        energy = max(
            energy,
            abs(0.5 * State(m).velocity @ State(m).velocity + GRAVITY * m[2] - first) / swing,
        )
        length = max(length, abs(float(np.linalg.norm(State(m).position)) - LENGTH))
    return {"energy": energy, "length": length, "events": float(len(engine.take_events()))}


def tumbling() -> float:
    """A free asymmetric body turns for 60 s: largest relative change of its kinetic energy."""
    J = np.array([0.601e-3, 0.589e-3, 1.076e-3])
    engine = Engine(System((Body("quad", VEHICLE, np.diag(J)),), gravity=0.0), step=STEP)
    state = _row()
    State(state).body_rate[:] = (1.0, 2.0, -1.5)
    engine.set_state(state[None])
    first, worst = float(J @ State(state).body_rate ** 2), 0.0
    for _ in range(600):
        engine.run(100)
        worst = max(
            worst, abs(float(J @ State(engine.update_kinematics()).body_rate[0] ** 2) / first - 1.0)
        )
    return worst


def circling() -> dict[str, float]:
    """Three vehicles circle with a payload for 60 s in closed loop: cable lengths, and impacts that should not be."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    assert isinstance(scenario.trajectory, CirclePlan)
    scenario = replace(scenario, trajectory=replace(scenario.trajectory, cruise_s=60.0))
    flight = fly(scenario, duration=60.0)
    model, worst = scenario.model, 0.0
    names = [e.name for e in model.entities]
    for cable in model.cables:
        ends = []
        for name, point in ((cable.a, cable.a_point_m), (cable.b, cable.b_point_m)):
            rows = flight.states[:, names.index(name)]
            ends.append(
                State(rows).position + rotation_matrices(State(rows).attitude) @ np.array(point)
            )
        lengths = np.linalg.norm(ends[1] - ends[0], axis=1)
        worst = max(worst, float(np.max(np.abs(lengths - cable.length_m))))
    return {"length": worst, "events": float(len(flight.events))}


def yardsticks() -> Iterator[Yardstick]:
    """All of them, with their limits and what is known of others."""
    for name, sideways in (("", 0.0), (", oblique", 0.3)):
        s = snap(sideways)
        what = f"snap at 2 m/s{name}"
        yield Yardstick(f"{what}: closing speed left, m/s", s["closing"], 1e-12, REBOUND)
        yield Yardstick(f"{what}: overshoot, m", s["overshoot"], 1e-9, "MuJoCo: 1 to 2 mm")
        yield Yardstick(f"{what}: momentum, relative", s["momentum"], 1e-12)
        yield Yardstick(f"{what}: energy of the jump, relative", s["energy"], 1e-12)
        if sideways:
            yield Yardstick(f"{what}: angular momentum, relative", s["angular"], 1e-9)
    p = pendulum()
    yield Yardstick(
        "pendulum, 60 s: energy over swing energy", p["energy"], 1e-8, "MuJoCo tendon: 0.05 %"
    )
    yield Yardstick("pendulum, 60 s: length, m", p["length"], 1e-12, "MuJoCo tendon: 0.02 mm")
    yield Yardstick("pendulum, 60 s: events", p["events"], 0.5)
    yield Yardstick("tumbling, 60 s: energy, relative", tumbling(), 1e-12)
    c = circling()
    yield Yardstick("three cables circling, 60 s: length, m", c["length"], 1e-10, ORIGINAL_LENGTH)
    yield Yardstick("three cables circling, 60 s: false impacts", c["events"], 0.5, ORIGINAL_EVENTS)
