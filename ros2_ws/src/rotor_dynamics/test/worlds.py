"""Systems and states for the tests of the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation

from rotor_dynamics.engine import Engine
from rotor_dynamics.hybrid.events import Event
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, System
from validation.oracles.kkt import (
    OracleBody,
    OracleCable,
    applied_forces,
    distance_rows,
    mass_matrix,
    rotation,
)

DRAGONFLY = np.diag([0.601e-3, 0.589e-3, 1.076e-3])
TRIANGLE = np.diag([0.00625019392, 0.00625019392, 0.01245978846])
TRI_C = np.array([(-0.1540, -0.267, 0.01125), (0.3083, 0.0, 0.01125), (-0.1540, 0.267, 0.01125)])
BOX = np.diag([0.0145, 0.0145, 0.0186])
BOX4 = np.array(
    [
        (0.3048, -0.3048, 0.2286),
        (0.3048, 0.3048, 0.2286),
        (-0.3048, 0.3048, 0.2286),
        (-0.3048, -0.3048, 0.2286),
    ]
)


def quaternion(*wxyz: float) -> np.ndarray:
    q = np.array(wxyz, float)
    return q / np.linalg.norm(q)


def state(x=(0, 0, 0), q=(1, 0, 0, 0), v=(0, 0, 0), w=(0, 0, 0)) -> np.ndarray:
    return np.concatenate([x, q, v, w]).astype(float)


def team(
    n: int, rho: np.ndarray, lengths: np.ndarray, *, mass=0.278, inertia=TRIANGLE, vehicle_mass=0.25
) -> System:
    """Payload (body 0) and n Dragonflies on cables."""
    bodies = (
        Body("payload", mass, inertia),
        *(Body(f"quad{i + 1}", vehicle_mass, DRAGONFLY) for i in range(n)),
    )
    cables = tuple(Cable(i + 1, 0, float(lengths[i]), r_b=rho[i]) for i in range(n))
    return System(bodies, cables, (), tuple(range(1, n + 1)))


GROUND = OracleBody(1e12, 1e12 * np.eye(3))
"""Stands for the world in the dense oracle: so heavy that it moves by rounding only."""


def oracle(system: System) -> tuple[list[OracleBody], list[OracleCable]]:
    """The same system for the dense oracle; cables to the world end on a :data:`GROUND` body behind the others."""
    ground = len(system.bodies)
    bodies = [OracleBody(b.mass, b.inertia_B) for b in system.bodies]
    cables = [
        OracleCable(
            ground if c.a == WORLD else c.a,
            np.asarray(c.r_a),
            ground if c.b == WORLD else c.b,
            np.asarray(c.r_b),
            c.length,
        )
        for c in system.cables
    ]
    return bodies, cables


def random_team(rng: np.random.Generator, n: int, taut: np.ndarray) -> tuple[System, np.ndarray]:
    """A team in a random state.

    Cables in ``taut`` are at their length, the others shorter than theirs.
    """
    rho = rng.uniform(-0.4, 0.4, (n, 3))
    A = rng.normal(size=(3, 3))
    inertia = 0.01 * (A @ A.T + np.eye(3))
    load = state(
        rng.normal(size=3), quaternion(*rng.normal(size=4)), rng.normal(size=3), rng.normal(size=3)
    )
    states = [load]
    probe = team(n, rho, np.ones(n), inertia=inertia)
    for _ in range(n):
        direction = rng.normal(size=3)
        states.append(
            state(
                load[:3] + rng.uniform(0.6, 1.4) * direction / np.linalg.norm(direction),
                quaternion(*rng.normal(size=4)),
                rng.normal(size=3),
                rng.normal(size=3),
            )
        )
    states = np.array(states)
    _, cables = oracle(probe)
    gaps, _, _ = distance_rows(states, cables)
    lengths = 1.0 + gaps + np.where(taut, 0.0, rng.uniform(0.05, 0.3, n))
    return team(n, rho, lengths, inertia=inertia), states


def at_rest_along(system: System, states: np.ndarray, taut: np.ndarray) -> np.ndarray:
    """Velocities projected (mass-weighted) so that the taut cables keep their length."""
    bodies, cables = oracle(system)
    M = mass_matrix(bodies)
    _, D, _ = distance_rows(states, cables)
    D = D[np.flatnonzero(taut)]
    out = states.copy()
    if len(D):
        u = states[:, 7:13].ravel()
        W = np.linalg.solve(M, D.T)
        out[:, 7:13] = (u - W @ np.linalg.solve(D @ W, D @ u)).reshape(-1, 6)
    return out


def started(
    system: System, states: np.ndarray, wrenches: np.ndarray | None = None, **options
) -> Engine:
    """An engine whose inputs act from the very start."""
    engine = Engine(system, **options)
    if wrenches is not None:
        engine.world.inputs[:, :4] = wrenches
    engine.set_state(states)
    return engine


@dataclass(frozen=True)
class RandomWorld:
    """A system, its start, and what happens on the way.

    Attributes:
        system: bodies and cables; every rigid body has an input.
        states: start, (n, 13).
        wrenches: time s and held wrenches (n_inputs, 4), in order; the first at 0.
        cuts: time s and cable, in order.
    """

    system: System
    states: np.ndarray
    wrenches: tuple[tuple[float, np.ndarray], ...]
    cuts: tuple[tuple[float, int], ...] = ()


def random_inertia(rng: np.random.Generator, mass: float) -> np.ndarray:
    """Full inertia of three perpendicular rods of random lengths in a random attitude."""
    squares = rng.uniform(0.05, 0.3, 3) ** 2
    axes, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return mass * axes @ np.diag(squares.sum() - squares) @ axes.T


def random_joins(rng: np.random.Generator, n: int, n_cables: int) -> list[tuple[int, int]]:
    """Ends of cables: a star on body 0, a chain hanging from the world, or any net of both."""
    shape = rng.choice(["star", "chain", "net"])
    if shape == "star":
        joins = [(i, 0) for i in range(1, n)]
    elif shape == "chain":
        joins = [(i - 1, i) for i in range(n)]  # WORLD is -1
    else:
        joins = [(int(rng.integers(-1, i)), i) for i in range(1, n)]
    while len(joins) < n_cables:
        a, b = rng.choice(n + 1, 2, replace=False) - 1
        joins.append((int(a), int(b)))
    return joins[:n_cables]


def random_world(
    seed: int,
    *,
    gravity: float = 9.81,
    driven: bool = True,
    anchors: bool = True,
    taut: float = 0.5,
    speed: float = 1.0,
    seconds: float = 0.3,
) -> RandomWorld:
    """2 to 6 bodies on 1 to 12 cables.

    No more cables on a body than it has ways to move, so that the taut ones stay independent.

    Args:
        driven: whether there are inputs, their jumps, and cuts.
        anchors: whether cables may end in the world.
        taut: part of the cables that start at their length, with any closing speed.
        speed: scale of the velocities, m/s and rad/s.
        seconds: time over which inputs jump and cables are cut.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    rigid = rng.random(n) < 0.7
    masses = rng.uniform(0.1, 0.8, n)
    bodies = tuple(
        Body(f"body{i}", m, random_inertia(rng, m) if r else None)
        for i, (m, r) in enumerate(zip(masses, rigid, strict=True))
    )
    states = np.array(
        [
            state(
                rng.uniform(-1, 1, 3),
                quaternion(*rng.normal(size=4)) if r else (1, 0, 0, 0),
                rng.normal(0, speed, 3),
                rng.normal(0, speed, 3) if r else (0, 0, 0),
            )
            for r in rigid
        ]
    )
    free = [6 if r else 3 for r in rigid] + [1000]  # WORLD, at -1, takes any number
    pairs: dict[frozenset[int], int] = {}
    cables: list[Cable] = []
    for a, b in random_joins(rng, n, int(rng.integers(1, 13))):
        pair = frozenset((a, b))
        both_points = all(end == WORLD or not rigid[end] for end in pair)
        if (WORLD in pair and not anchors) or min(free[a], free[b]) < 1:
            continue
        if pair in pairs and (pairs[pair] > 3 or (both_points and WORLD not in pair)):
            continue
        pairs[pair] = pairs.get(pair, 0) + 1
        free[a], free[b] = free[a] - 1, free[b] - 1
        r = [
            rng.uniform(-1, 1, 3) + (0, 0, 1)
            if end == WORLD
            else (rng.uniform(-0.3, 0.3, 3) if rigid[end] else np.zeros(3))
            for end in (a, b)
        ]
        probe = Cable(a, b, 1.0, *r)
        length = distance(probe, states) + (0.0 if rng.random() < taut else rng.uniform(0.005, 0.1))
        cables.append(replace(probe, length=length))
    inputs = tuple(int(i) for i in np.flatnonzero(rigid))
    system = System(bodies, tuple(cables), (), inputs, gravity)
    wrenches = [(0.0, np.zeros((len(inputs), 4)))]
    cuts = []
    if driven:
        for time in (0.0, *np.sort(rng.uniform(0, seconds, 2))):
            held = rng.normal(0, 0.02, (len(inputs), 4))
            held[:, 0] = masses[rigid] * rng.uniform(0.0, 25.0, len(inputs))
            wrenches.append((time, held))
        del wrenches[0]
        if len(cables) > 1 and rng.random() < 0.5:
            cuts = [(float(rng.uniform(0, seconds)), int(rng.integers(len(cables))))]
    return RandomWorld(system, states, tuple(wrenches), tuple(cuts))


def ends(cable: Cable, states: np.ndarray) -> list[np.ndarray]:
    """Attachment points of the cable, in W."""
    return [
        np.asarray(r, float) if i == WORLD else states[i, :3] + rotation(states[i, 3:7]) @ r
        for i, r in ((cable.a, cable.r_a), (cable.b, cable.r_b))
    ]


def distance(cable: Cable, states: np.ndarray) -> float:
    a, b = ends(cable, states)
    return float(np.linalg.norm(b - a))


def begun(world: RandomWorld, **options) -> Engine:
    """An engine at the start of a random world."""
    return started(world.system, world.states, world.wrenches[0][1], **options)


def knots(world: RandomWorld, until: float) -> list[float]:
    """Times at which something happens from outside, and the end."""
    times = {t for t, _ in (*world.wrenches[1:], *world.cuts) if t < until}
    return sorted(times | {until})


def act(world: RandomWorld, engine: Engine) -> None:
    """Do what happens from outside at the time of the engine."""
    for t, held in world.wrenches[1:]:
        if t == engine.time:
            engine.set_wrenches(held)
    for t, k in world.cuts:
        if t == engine.time:
            engine.cut(k)


def play(
    world: RandomWorld,
    engine: Engine,
    until: float,
    each: Callable[[Engine], None] | None = None,
) -> Engine:
    """Run to ``until`` in steps of the engine's length, and through what happens from outside.

    ``each(engine)`` is called after every step.
    """
    for knot in knots(world, until):
        n = int(np.ceil((knot - engine.time) / engine.step_length - 1e-9))
        for time in np.linspace(engine.time, knot, n + 1)[1:]:
            engine.run_until(float(time))
            if each:
                each(engine)
        act(world, engine)
    engine.update_kinematics()
    return engine


def gaps(world: RandomWorld, states: np.ndarray) -> np.ndarray:
    """Distances minus lengths, m."""
    return np.array([distance(c, states) - c.length for c in world.system.cables])


class Dense:
    """Mass matrix, gradients of the distances and free acceleration of one state, by the oracle."""

    def __init__(self, world: RandomWorld, states: np.ndarray, wrenches: np.ndarray) -> None:
        bodies, cables = oracle(world.system)
        self.bodies, self.n = bodies, len(bodies)
        rows = states
        self.minv = np.linalg.inv(mass_matrix(bodies))
        if any(WORLD in (c.a, c.b) for c in world.system.cables):
            rows = np.vstack([states, state()])
            self.minv = np.linalg.inv(mass_matrix([*bodies, GROUND]))
            self.minv[6 * self.n :, 6 * self.n :] = 0.0  # the world does not move at all
        held = np.zeros((self.n, 4))
        held[list(world.system.inputs)] = wrenches
        self.force = np.zeros(6 * len(rows))
        self.force[: 6 * self.n] = applied_forces(bodies, states, held, world.system.gravity)
        self.D, self.rates, self.free = np.zeros((0, len(self.force))), np.zeros(0), np.zeros(0)
        if cables:
            _, self.D, bias = distance_rows(rows, cables)
            self.rates = self.D @ rows[:, 7:13].ravel()
            self.free = self.D @ self.minv @ self.force + bias
        self.A = self.D @ self.minv @ self.D.T

    def multipliers(self, listed: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The complementarity problem of the listed cables, as non-negative least squares."""
        z = np.zeros(len(b))
        if len(listed):
            L = np.linalg.cholesky(self.A[np.ix_(listed, listed)])
            z[listed], _ = nnls(L.T, np.linalg.solve(L, b[listed]))
        return z


def heavier(world: RandomWorld, by: float) -> RandomWorld:
    """The same world with all masses and inertias changed by a relative amount, each its own."""
    factors = 1.0 + by * np.random.default_rng(1).normal(size=len(world.system.bodies))
    bodies = tuple(
        Body(b.name, b.mass * f, None if b.inertia_B is None else b.inertia_B * f)
        for b, f in zip(world.system.bodies, factors, strict=True)
    )
    return replace(world, system=replace(world.system, bodies=bodies))


def moved(world: RandomWorld, turn: Rotation, shift: np.ndarray) -> RandomWorld:
    """The world turned and shifted; points keep their attitude, which means nothing."""
    states = world.states.copy()
    states[:, :3], states[:, 7:10] = turn.apply(states[:, :3]) + shift, turn.apply(states[:, 7:10])
    for row, body in zip(states, world.system.bodies, strict=True):
        if body.inertia_B is not None:
            x, y, z, w = (turn * Rotation.from_quat(row[[4, 5, 6, 3]])).as_quat()
            row[3:7] = quaternion(w, x, y, z)
    cables = tuple(
        replace(
            c,
            r_a=turn.apply(c.r_a) + shift if c.a == WORLD else c.r_a,
            r_b=turn.apply(c.r_b) + shift if c.b == WORLD else c.r_b,
        )
        for c in world.system.cables
    )
    return replace(world, system=replace(world.system, cables=cables), states=states)


def renumbered(
    world: RandomWorld, rng: np.random.Generator
) -> tuple[RandomWorld, np.ndarray, np.ndarray]:
    """Bodies and cables in another order, every other cable with its ends exchanged; and those orders."""
    order, row = (rng.permutation(len(x)) for x in (world.system.bodies, world.system.cables))
    place = {int(old): new for new, old in enumerate(order)} | {WORLD: WORLD}
    cables = []
    for k in row:
        c = world.system.cables[k]
        ends = [(place[c.a], c.r_a), (place[c.b], c.r_b)][:: 1 if k % 2 else -1]
        cables.append(Cable(ends[0][0], ends[1][0], c.length, ends[0][1], ends[1][1]))
    inputs = [i for i in order if i in world.system.inputs]
    columns = [world.system.inputs.index(i) for i in inputs]
    bodies = tuple(world.system.bodies[i] for i in order)
    system = System(
        bodies, tuple(cables), (), tuple(place[i] for i in inputs), world.system.gravity
    )
    other = RandomWorld(
        system,
        world.states[order],
        tuple((t, w[columns]) for t, w in world.wrenches),
        tuple((t, int(np.flatnonzero(row == k)[0])) for t, k in world.cuts),
    )
    return other, order, row


def hard(
    events: list[Event], cable: Callable[[int], int] = int
) -> list[tuple[float, str, tuple[int, ...]]]:
    """Snaps at more than 0.02 m/s and cuts; below, rounding decides the course of a cascade."""
    return [
        (e.time, e.type, tuple(sorted(cable(k) for k in e.cables)))
        for e in events
        if e.type == "cut" or max(e.closing_speeds, default=0.0) > 0.02
    ]


def end_of(
    world: RandomWorld, seconds: float = 0.15, step: float = 1e-3
) -> tuple[np.ndarray, list[Event]]:
    """States at the end, and the events on the way."""
    engine = play(world, begun(world, step=step), seconds)
    return engine.motion[:, :13].copy(), engine.take_events()


def held(world: RandomWorld, time: float) -> np.ndarray:
    """Wrenches that act at a time."""
    return [w for t, w in world.wrenches if t <= time][-1]


def size(values: np.ndarray) -> float:
    """Magnitude that tolerances refer to."""
    return 1.0 + np.max(np.abs(values), initial=0.0)
