"""A world without anything that takes or gives energy but impacts, and what becomes of it in a flight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core.errors import SolverError
from rotor_core.state import FULL_STATE, State
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.system import WORLD, System
from validation.oracles.kkt import rotation


@dataclass(frozen=True)
class World:
    """Bodies on cables, in a state, under forces that are constant in W (which have a potential).

    Attributes:
        name: what it is, for tables.
        system: without inputs, rotors or drag.
        states: of its bodies, (n, 13).
        pushes: body, force in W (3,) N, moment in W (3,) N m (zero).
    """

    name: str
    system: System
    states: np.ndarray
    pushes: tuple[tuple[int, np.ndarray, np.ndarray], ...] = ()


@dataclass
class Outcome:
    """What became of a flight.

    Attributes:
        flown: s.
        failure: why it was given up; empty if it was not.
        overlength: largest distance of the ends of a cable over its length, m.
        gain: largest rise of the energy over its lowest value before, as a share of the scale.
        events: number of them.
        substeps: that error control added.
    """

    flown: float = 0.0
    failure: str = ""
    overlength: float = 0.0
    gain: float = 0.0
    events: int = 0
    substeps: int = 0


def at_rest(position: np.ndarray) -> np.ndarray:
    """State of an upright body at rest, (13,)."""
    row = np.zeros(13)
    State(row).position[:] = position
    State(row).attitude[0] = 1.0
    return row


def energy(world: World, states: np.ndarray) -> float:
    """Kinetic energy, and potential energy of gravity and of the pushes, J."""
    total = 0.0
    for body, row in zip(world.system.bodies, states, strict=True):
        s = State(row)
        total += 0.5 * body.mass * float(s.velocity @ s.velocity)
        total += body.mass * world.system.gravity * float(s.position[2])
        if body.inertia_B is not None:
            total += 0.5 * float(s.body_rate @ body.inertia_B @ s.body_rate)
    position = State(states).position
    return total - sum(float(force @ position[body]) for body, force, _ in world.pushes)


def scale(world: World) -> float:
    """Energy that counts as one: what all bodies have at the start and gain in a fall of a metre, J."""
    kinetic = energy(world, world.states) - energy(world, _still(world.states))
    weight = sum(body.mass for body in world.system.bodies) * world.system.gravity
    return kinetic + weight


def _still(states: np.ndarray) -> np.ndarray:
    still = states.copy()
    State(still).velocity[:] = 0.0
    State(still).body_rate[:] = 0.0
    return still


def overlength(world: World, states: np.ndarray, alive: np.ndarray) -> float:
    """Largest distance of the ends of an uncut cable over its length, m; negative where all are slack."""
    worst, s = -np.inf, State(states)
    for k, cable in enumerate(world.system.cables):
        ends = [
            np.asarray(r) if b == WORLD else s.position[b] + rotation(s.attitude[b]) @ r
            for b, r in ((cable.a, cable.r_a), (cable.b, cable.r_b))
        ]
        if alive[k]:
            worst = max(worst, float(np.linalg.norm(ends[1] - ends[0])) - cable.length)
    return worst


def flown(world: World, seconds: float, step: float, **options: object) -> Outcome:
    """Fly a world and watch lengths and energy at the end of every step."""
    engine = Engine(world.system, step=step, **options)  # type: ignore[arg-type]
    outcome = Outcome()
    try:
        engine.set_state(world.states)
        if world.pushes:
            engine.set_external(list(world.pushes))
        one = scale(world)
        lowest = energy(world, engine.update_kinematics()[:, FULL_STATE])
        for _ in range(round(seconds / step)):
            engine.run(1)
            states = engine.update_kinematics()[:, FULL_STATE]
            now = energy(world, states)
            outcome.gain = max(outcome.gain, (now - lowest) / one)
            lowest = min(lowest, now)
            outcome.overlength = max(outcome.overlength, overlength(world, states, engine.alive))
    except SolverError as error:
        outcome.failure = str(error)
    outcome.flown, outcome.events = engine.time, len(engine.take_events())
    outcome.substeps = engine.accuracy.substeps
    return outcome
