"""Families of random worlds: every number of one world moves with a parameter, its taut cables stay at their length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from transforms3d.quaternions import axangle2quat, qmult
from worlds import RandomWorld, begun, distance, random_world

from rotor_dynamics.engine import Engine
from rotor_dynamics.hybrid.events import Event
from rotor_dynamics.model.body import WORLD
from rotor_dynamics.sensitivities.coordinates import Seed, difference, indices, sparse
from rotor_dynamics.sensitivities.propagation import Variations

CENTRAL = ((0.75, 1), (-0.15, 2), (1.0 / 60.0, 3))
"""Weights and places of the difference of sixth order."""


class Family:
    """The random world of a seed, moved by a parameter: masses, inertias, lengths, points, states, inputs."""

    def __init__(self, seed: int) -> None:
        self.middle = random_world(seed)
        system = self.middle.system
        rng = np.random.default_rng(10_000 + seed)
        n = len(system.bodies)
        self._mass, self._inertia = 0.1 * rng.normal(size=(2, n))
        self._state = rng.normal(size=(n, 12)) * np.repeat([0.1, 0.1, 1.0, 1.0], 3)
        self._input = 0.1 * rng.normal(size=self.middle.wrenches[0][1].shape)
        self._length = 0.01 * rng.normal(size=len(system.cables))
        self._points = 0.05 * rng.normal(size=(len(system.cables), 2, 3))

    def at(self, by: float) -> RandomWorld:
        """The world moved by ``by``."""
        world, system = self.middle, self.middle.system
        bodies, states = [], world.states.copy()
        for i, body in enumerate(system.bodies):
            J = body.inertia_B
            mass = body.mass * (1.0 + by * self._mass[i])
            states[i, :3] += by * self._state[i, :3]
            states[i, 7:10] += by * self._state[i, 6:9]
            if J is not None:
                J = J * (1.0 + by * self._mass[i]) + by * self._inertia[i] * 0.1 * np.trace(
                    J
                ) * np.eye(3)
                axis = self._state[i, 3:6]
                angle = by * np.linalg.norm(axis)
                states[i, 3:7] = qmult(states[i, 3:7], axangle2quat(axis, angle))
                states[i, 10:13] += by * self._state[i, 9:12]
            bodies.append(replace(body, mass=mass, inertia_B=J))
        cables = []
        for k, cable in enumerate(system.cables):
            moved = [
                np.asarray(r)
                + by * self._points[k, side] * (end == WORLD or bodies[end].inertia_B is not None)
                for side, (end, r) in enumerate(((cable.a, cable.r_a), (cable.b, cable.r_b)))
            ]
            slack = cable.length - distance(cable, world.states)
            other = replace(cable, r_a=moved[0], r_b=moved[1])
            length = (
                distance(other, states) if slack < 1e-12 else cable.length + by * self._length[k]
            )
            cables.append(replace(other, length=length))
        wrenches = ((0.0, world.wrenches[0][1] + by * self._input),)
        system = replace(system, bodies=tuple(bodies), cables=tuple(cables))
        return RandomWorld(system, states, wrenches)

    def seed(self, step: float = 1e-3) -> Seed | None:
        """Derivative of the memory of the engine at its start; None where its first impact is another one nearby."""
        first = story(begun(self.at(0.0)).take_events())
        total = 0.0
        for weight, place in CENTRAL:
            ends = [begun(self.at(sign * place * step)) for sign in (1.0, -1.0)]
            if any(story(e.take_events()) != first for e in ends):
                return None
            total = total + weight * difference(ends[0].floats, ends[1].floats) / step
        return sparse(np.asarray(total))


def story(events: list[Event]) -> list[tuple]:
    """What happened to which cables, in order."""
    return [(e.type, e.cables) for e in events]


def state_of(engine: Engine) -> np.ndarray:
    """States of merged bodies."""
    return engine.world.start[: engine.topology.n_bodies].copy()


def ended(world: RandomWorld, n_steps: int) -> tuple[np.ndarray, list[tuple]]:
    """State after some steps, and what happened on the way."""
    engine = begun(world)
    engine.take_events()
    engine.run(n_steps)
    return state_of(engine), story(engine.take_events())


def varied(engine, *parts):
    """The engine with one direction per part: (view of a table, derivative)."""
    return Variations(engine, [(indices(engine, part), np.ravel(d)) for part, d in parts])
