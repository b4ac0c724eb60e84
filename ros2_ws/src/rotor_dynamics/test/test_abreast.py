"""Bodies that are moved abreast move as they do one after the other, and as an independent oracle says."""

from dataclasses import replace

import numpy as np
import pytest
from worlds import Dense, RandomWorld, at_rest_along, distance, gaps, size, state

from rotor_core.numbers.lanes import WIDTH
from rotor_dynamics import memory
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, Drag, Rotor, System

SECONDS = 0.3
"""Long enough for snaps and for cables that let go: up to 250 events."""


def random_team(seed: int, *, slack: float = 0.3) -> RandomWorld:
    """A payload, a body or a point, on cables of 3 to 8 vehicles; rotors, drags, places of cables differ.

    Args:
        seed: of the random numbers.
        slack: part of the cables that start slack.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    hub = 0 if rng.random() < 0.7 else n  # the payload comes first or last
    vehicles = [i for i in range(n + 1) if i != hub]
    point, arms, spinning = rng.random(3) < (0.3, 0.3, 0.5)
    bodies, states = [], []
    for i in range(n + 1):
        rigid = i != hub or not point
        inertia = np.diag(rng.uniform(0.5e-3, 0.9e-3, 3)) * (10.0 if i == hub else 1.0)
        bodies.append(Body(f"body{i}", rng.uniform(0.2, 0.4), inertia if rigid else None))
        q = rng.normal(size=4) if rigid else np.array([1.0, 0.0, 0.0, 0.0])
        x = 0.2 * rng.normal(size=3) if i == hub else rng.normal(size=3) + (0.0, 0.0, 1.5)
        w = rng.normal(size=3) if rigid else np.zeros(3)
        states.append(state(x, q / np.linalg.norm(q), rng.normal(size=3), w))
    cables = []
    for i in vehicles:
        r_a = rng.uniform(-0.05, 0.05, 3) if arms else np.zeros(3)
        r_b = np.zeros(3) if point else rng.uniform(-0.3, 0.3, 3)
        probe = Cable(i, hub, 1.0, r_a, r_b)
        more = rng.uniform(0.005, 0.1) if rng.random() < slack else 0.0
        cables.append(replace(probe, length=distance(probe, np.array(states)) + more))
    rotors = [
        Rotor(i, hub=np.array(p), spin=spin, thrust=1e-6, torque=2e-8, inertia=1e-5 * spinning, lag=lag)
        for i, lag in zip(vehicles, rng.choice([0.05, 0.03], n), strict=True)
        for p, spin in (((0.1, 0.1, 0.0), 1.0), ((-0.1, 0.1, 0.0), -1.0))
    ]  # fmt: skip
    drags = [Drag(i, rng.uniform(0.0, 0.3, 3)) for i in vehicles if rng.random() < 0.8]
    held = rng.normal(0, 0.01, (n, 4))
    held[:, 0] = rng.uniform(0.0, 8.0, n)
    system = System(
        tuple(bodies), tuple(cables), (), tuple(vehicles), rotors=tuple(rotors), drags=tuple(drags)
    )
    return RandomWorld(system, np.array(states), ((0.0, held),))


def at_rest_on_cables(world: RandomWorld) -> RandomWorld:
    """The same without an impact at the start, which a last bit could turn into another."""
    taut = np.abs(gaps(world, world.states)) < 1e-12
    return replace(world, states=at_rest_along(world.system, world.states, taut))


def flying(world: RandomWorld, *, abreast: bool = True, **options) -> Engine:
    """An engine at the start of a world."""
    engine = Engine(world.system, **options)
    assert engine.ints[memory.ABREAST] == 1
    assert engine.ints[memory.SPOKES] == int(len(world.system.cables) >= WIDTH)
    engine.ints[memory.ABREAST] *= abreast
    engine.world.inputs[:, :4] = world.wrenches[0][1]
    n = len(world.system.rotors)
    engine.rotors.start(np.full(n, 500.0))
    engine.set_state(world.states)
    engine.rotors.act(np.linspace(400.0, 900.0, n))
    return engine


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("step", [1e-3, 5e-3])
def test_they_move_as_one_after_the_other(seed, step):
    """Through snaps and releases, pushes and a cut: the same events, motion, tensions and work, to the bit.

    So a batch, whose worlds move body after body in the lanes of a register, has the bits of single worlds.
    """
    world = at_rest_on_cables(random_team(seed))
    engines = [flying(world, abreast=how, step=step) for how in (True, False)]
    for engine in engines:
        third = round(SECONDS / 3.0 / step)
        engine.run(third)
        engine.set_external([(1, np.array([0.3, -0.2, 0.1]), np.array([0.0, 0.01, 0.02]))])
        engine.run(third)
        engine.cut(seed % len(world.system.cables))
        engine.run(third)
        engine.update_kinematics()
    mine, theirs = engines
    assert mine.take_events() == theirs.take_events()
    np.testing.assert_array_equal(mine.motion, theirs.motion)
    np.testing.assert_array_equal(mine.tensions, theirs.tensions)
    assert mine.world.scalars[memory.WORK] == theirs.world.scalars[memory.WORK]


@pytest.mark.parametrize("seed", range(60))
def test_accelerations_and_tensions_are_those_of_an_independent_oracle(seed):
    """At the end of steps, of teams without rotors and drags, some of whose cables are slack."""
    world = random_team(seed)
    world = at_rest_on_cables(replace(world, system=replace(world.system, rotors=(), drags=())))
    engine = flying(world)
    for _ in range(20):
        engine.run(5)
        engine.update_kinematics()
        states, taut = engine.motion[:, :13], engine.taut
        dense = Dense(world, states, world.wrenches[0][1])
        T = np.zeros(len(taut))
        A = dense.A[np.ix_(taut, taut)]
        T[taut] = np.linalg.solve(A, dense.free[taut])
        # tensions are those of the state before its correction: 1e-6, as in test_random_worlds
        np.testing.assert_allclose(engine.tensions, T, atol=1e-6 * size(T))
        a = (dense.minv @ (dense.force - dense.D.T @ T)).reshape(-1, 6)[: dense.n]
        np.testing.assert_allclose(engine.motion[:, 13:19], a, atol=1e-6 * size(a))


def bodies(n: int, inertia: np.ndarray) -> tuple[Body, ...]:
    """``n`` bodies alike."""
    return tuple(Body(f"body{i}", 0.5, inertia) for i in range(n))


ROUND, SKEW = (
    np.diag([1e-3, 1e-3, 2e-3]),
    np.array([[1e-3, 1e-4, 0], [1e-4, 1e-3, 0], [0, 0, 2e-3]]),
)


@pytest.mark.parametrize(
    ("system", "abreast", "spokes"),
    [
        (System(bodies(4, ROUND), ()), 1, 0),
        (System(bodies(3, ROUND), ()), 0, 0),
        (System(bodies(4, SKEW), ()), 0, 0),
        (System(bodies(4, ROUND), (), drags=(Drag(0, np.ones(3)), Drag(0, np.ones(3)))), 0, 0),
        (System(bodies(4, ROUND), (), drags=(Drag(0, quadratic=np.ones(3)),)), 0, 0),
        (System(bodies(4, ROUND), (), rotors=(Rotor(0, radius=0.1),)), 0, 0),
        (System(bodies(5, ROUND), tuple(Cable(i, 0, 1.0) for i in (1, 2, 3, 4))), 1, 1),
        (System(bodies(5, ROUND), tuple(Cable(i, 0, 1.0) for i in (1, 2, 4, 3))), 1, 0),
        (System(bodies(4, ROUND), tuple(Cable(i, WORLD, 1.0) for i in range(4))), 1, 1),
        (System(bodies(10, ROUND), tuple(Cable(i, 0, 1.0) for i in range(1, 10))), 1, 0),
        (System(bodies(5, ROUND), (Cable(1, 0, 1.0, np.ones(3)), *(Cable(i, 0, 1.0) for i in (2, 3, 4)))), 1, 0),
    ],
)  # fmt: skip
def test_only_what_is_alike_is_moved_abreast(system, abreast, spokes):
    engine = Engine(system)
    assert (engine.ints[memory.ABREAST], engine.ints[memory.SPOKES]) == (abreast, spokes)


@pytest.mark.parametrize("integrator", ["erk4m", "cf4", "dopri5", "splitting"])
def test_other_methods_move_one_after_the_other(integrator):
    assert Engine(System(bodies(4, ROUND), ()), integrator=integrator).ints[memory.ABREAST] == 0
