"""Derivatives through snaps: closed forms, differences at their best step, and what mechanics keeps."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import expm
from varied_worlds import CENTRAL, Family, ended, state_of, varied
from worlds import begun, started, state

from rotor_core.errors import ContractError
from rotor_core.kernels.jit import COMPILED
from rotor_core.math.polyhedron import CORNERS, Polyhedron
from rotor_dynamics import memory
from rotor_dynamics.hybrid.impact import INPUT_CHANGED
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable, Ring, Sheave
from rotor_dynamics.model.system import System
from rotor_dynamics.sensitivities.coordinates import ERRORS, Coordinates, indices, sparse
from rotor_dynamics.sensitivities.linearization import lags_begun, linearize, linearize_steps
from rotor_dynamics.sensitivities.propagation import Variations

pytestmark = pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels")

G = 9.81
MOST_EVENTS = 20


# --- differences ----------------------------------------------------------------------------------


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_against_differences_on_random_worlds_with_up_to_twenty_events(first):
    """Every number of the world moves at once: to 1e-6, of which differences at their best step mostly reach 1e-10.

    Differences count where the story is the same on both sides. In one world of 200 even the first impact is not.
    """
    compared = 0
    for seed in range(first, first + 20):
        family = Family(seed)
        engine = begun(family.at(0.0))
        engine.take_events()
        direction = family.seed()
        if direction is None:
            continue
        changes, n_steps, n_events = Variations(engine, [direction]), 0, 0
        while n_steps < 300 and n_events < MOST_EVENTS:
            engine.run(10)
            n_steps, n_events = n_steps + 10, n_events + len(engine.take_events())
        changes.run(n_steps)
        n = engine.topology.n_bodies
        np.testing.assert_allclose(changes.value.start[:n], state_of(engine), rtol=0, atol=1e-11)
        told = changes.changes()[0].start[:n]
        _, whole = ended(family.at(0.0), n_steps)
        best = np.inf
        for step in (1e-4, 1e-5, 1e-6, 1e-7):
            ends = [ended(family.at(k * step), n_steps) for k in (1, -1, 2, -2)]
            if all(what == whole for _, what in ends):
                x = [s for s, _ in ends]
                slope = (8.0 * (x[0] - x[1]) - (x[2] - x[3])) / (12.0 * step)
                best = min(best, np.abs(slope - told).max() / np.abs(told).max())
        assert best < 1e-6, (seed, best, n_events, changes.doubt)
        compared += 1
    assert compared >= 19


def check_change_by_gravity(swings, n_steps, kinds, step=1e-4):
    """Derivative of the last state by gravity, against a central difference of flights of these events.

    ``swings``: an engine for a gravity. Its error: step^2 times the third derivative, and rounding over the step.
    """
    engine = swings(G)
    gravity = engine.world.scalars[memory.GRAVITY : memory.GRAVITY + 1]
    changes = varied(engine, (gravity, [1.0]))
    changes.run(n_steps)
    ends = []
    for sign in (1, -1):
        engine = swings(G + sign * step)
        engine.run(n_steps)
        assert [(e.type, e.cause) for e in engine.take_events()] == kinds
        ends.append(state_of(engine)[0])
    slope = (ends[0] - ends[1]) / (2.0 * step)
    np.testing.assert_allclose(changes.changes()[0].start[0], slope, atol=1e-8)
    assert changes.doubt is None


def test_through_the_touch_of_a_ball():
    """A weight swings into a ball, across its plane: the turning plane included."""

    def swings(gravity):
        ball = Sheave(WORLD, np.zeros(3), np.array([0.0, 1.0, 0.0]), 0.3, ball=True)
        cable = Cable(WORLD, 0, 1.2, r_a=np.array([0.0, 0.0, 0.5]), through=(ball,))
        angle = np.radians(50.0)
        place = np.array([1.2 * np.sin(angle), 0.0, 0.5 - 1.2 * np.cos(angle)])
        start = np.array([state(place, v=(0.0, 0.9, 0.0))])
        return started(System((Body("m", 0.7),), (cable,), gravity=gravity), start)

    check_change_by_gravity(swings, 700, [("touch", "wraps")])


def test_over_the_edges_of_a_box():
    """A weight swings against a bar, obliquely: its cable bends over an edge of it, and comes off again."""
    anchor, place = np.array([-0.1, 0.2, 0.6]), np.array([-1.2, 0.0, -0.3])
    across = np.cross(place - anchor, [0.0, 0.0, 1.0])
    length = float(np.linalg.norm(place - anchor))

    def swings(gravity):
        half, centre = np.array([0.03, 0.6, 0.05]), np.array([0.03, 0.05, -0.05])
        bar = Sheave(
            WORLD,
            centre,
            np.array([0.0, 1.0, 0.0]),
            0.0,
            polyhedron=Polyhedron.around(half * CORNERS),
        )
        cable = Cable(WORLD, 0, length, r_a=anchor, through=(bar,))
        start = np.array([state(place, v=0.3 * across / np.linalg.norm(across))])
        return started(System((Body("m", 0.4),), (cable,), gravity=gravity), start)

    check_change_by_gravity(swings, 1600, [("touch", "wraps"), ("leave", "wraps")])


# --- closed forms ---------------------------------------------------------------------------------


def differenced(function, x, direction, step=1e-3):
    """Derivative of a closed form, by a difference of sixth order."""
    ends = [
        weight * (function(x + k * step * direction) - function(x - k * step * direction))
        for weight, k in CENTRAL
    ]
    return sum(ends) / step


def thrown(z=0.0, v=6.0, length=1.0, mass=0.7):
    """A mass thrown straight up from z below the end of its cable, which stops it at its length."""
    system = System((Body("load", mass),), (Cable(WORLD, 0, length),))
    return started(system, np.array([state((0, 0, z), v=(0, 0, v))]))


def test_a_snap_that_stops_a_throw():
    """z = l - g (T - t*)^2 / 2 after it stopped at t*, where v t* - g t*^2 / 2 = l - z0."""
    z0, v, length, T = 0.1, 6.0, 1.0, 0.6
    engine = thrown(z0, v, length)
    start, limit = engine.world.start[0], engine.world.constraints[0]
    one = np.ones(1)
    gravity = engine.world.scalars[memory.GRAVITY : memory.GRAVITY + 1]
    changes = varied(
        engine,
        (start[memory.P + 2 : memory.P + 3], one),
        (start[memory.V + 2 : memory.V + 3], one),
        (limit[memory.LENGTH : memory.LENGTH + 1], one),
        (gravity, one),
    )
    changes.run(round(T / engine.step_length))
    at = (v - np.sqrt(v * v - 2.0 * G * (length - z0))) / G
    closing = v - G * at
    moves = np.array([-1.0, -at, 1.0, 0.5 * at * at]) / closing  # of t*
    true_z = G * (T - at) * moves + [0.0, 0.0, 1.0, -0.5 * (T - at) ** 2]
    true_v = G * moves - [0.0, 0.0, 0.0, T - at]
    ends = np.array([c.start[0, [memory.P + 2, memory.V + 2]] for c in changes.changes()])
    np.testing.assert_allclose(ends, np.array([true_z, true_v]).T, rtol=0, atol=2e-11)
    assert changes.doubt is None
    logged = changes.changes()
    np.testing.assert_allclose(
        [c.log[0, memory.EVENT_TIME] for c in logged], moves, rtol=0, atol=1e-12
    )


def test_a_pendulum_that_snaps_keeps_what_is_across_the_cable():
    """Sideways speed u under an end at height h: the angle of the snap moves as that of the parabola does."""
    system = System((Body("load", 0.5),), (Cable(WORLD, 0, 1.0, r_a=np.zeros(3)),), gravity=0.0)
    x, u, w = 0.2, 1.5, -0.8
    engine = started(system, np.array([state((x, 0, -0.3), v=(u, 0, w))]))
    n_steps = 700
    T = n_steps * engine.step_length

    def end(x, u, w, z=-0.3):
        """Straight to the circle, then on it with the speed across."""
        a, b, c = u * u + w * w, x * u + z * w, x * x + z * z - 1.0
        t = (-b + np.sqrt(b * b - a * c)) / a
        px, pz = x + u * t, z + w * t
        angle, across = np.arctan2(px, pz), u * pz - w * px
        angle = angle + across * (T - t)
        return np.array([np.sin(angle), np.cos(angle)])

    start = engine.world.start[0]
    one = np.ones(1)
    changes = varied(
        engine,
        *((start[c : c + 1], one) for c in (memory.P, memory.V, memory.V + 2)),
    )
    changes.run(n_steps)
    found = np.array([c.start[0, [memory.P, memory.P + 2]] for c in changes.changes()]).T
    true = np.array([differenced(lambda y: end(*y), np.array([x, u, w]), e) for e in np.eye(3)]).T
    np.testing.assert_allclose(found, true, rtol=0, atol=1e-11)


def test_atwood_with_a_snap():
    """Two weights fall on a slack rope over a ring until it is out: they go on as one, with their momentum along it."""
    m1, m2, v, slack, T = 0.3, 0.5, 1.0, 0.2, 0.5
    rope = Cable(0, 1, 2.0 + slack, through=(Ring(WORLD, np.zeros(3)),))
    system = System((Body("one", m1), Body("other", m2)), (rope,))
    engine = started(system, np.array([state((0, 0, -1.2), v=(0, 0, -v)), state((0, 0, -0.8))]))
    speed = engine.world.start[0, memory.V + 2 : memory.V + 3]
    inverse = engine.world.bodies[1, memory.INV_MASS : memory.INV_MASS + 1]
    changes = varied(
        engine,
        (speed, [1.0]),
        (inverse, [-1.0 / m2**2]),
    )
    changes.run(round(T / engine.step_length))

    def end(v, m2):
        t = (np.sqrt(v * v + 4.0 * G * slack) - v) / (2.0 * G)  # v t + g t^2 = slack
        z1, z2 = -1.2 - v * t - 0.5 * G * t * t, -0.8 - 0.5 * G * t * t
        w1, w2 = -v - G * t, -G * t
        impulse = -(w1 + w2) / (1.0 / m1 + 1.0 / m2)
        w1, w2 = w1 + impulse / m1, w2 + impulse / m2
        a, s = (m2 - m1) * G / (m1 + m2), T - t
        return np.array([z1 + w1 * s + 0.5 * a * s * s, z2 + w2 * s - 0.5 * a * s * s])

    np.testing.assert_allclose(
        changes.value.start[:2, memory.P + 2], end(v, m2), rtol=0, atol=1e-11
    )
    true = [differenced(lambda x: end(*x), np.array([v, m2]), e) for e in np.diag([-1.0, 1.0])]
    found = [c.start[:2, memory.P + 2] for c in changes.changes()]
    np.testing.assert_allclose(found, true, rtol=0, atol=1e-10)


# --- what mechanics keeps -------------------------------------------------------------------------


def double_pendulum(step=1e-3):
    """Two points on cables, one below the other, swinging in space."""
    system = System((Body("a", 0.4), Body("b", 0.7)), (Cable(WORLD, 0, 0.8), Cable(0, 1, 0.6)))
    down = np.array([[0.48, 0.0, -0.64], [0.48, 0.36, -1.12]])
    v = np.array([[0.4, 0.9, 0.3], [0.0, 0.4, 0.3]])
    v[1] += v[0]
    states = np.array([state(p, v=w) for p, w in zip(down, v, strict=True)])
    return started(system, states, step=step)


def kept_directions(engine):
    """Directions in which the taut cables of points let the state change, (n, 2, 6): place and velocity."""
    x, v = (engine.world.start[:2, c : c + 3] for c in (memory.P, memory.V))
    d, w = np.array([x[0], x[1] - x[0]]), np.array([v[0], v[1] - v[0]])
    rows = np.zeros((4, 12))
    for k in range(2):
        for sign, body in ((1.0, k), (-1.0, k - 1)):
            if body >= 0:
                place, rate = 6 * body, 6 * body + 3
                rows[k, place : place + 3] = sign * d[k]
                rows[2 + k, place : place + 3] = sign * w[k]
                rows[2 + k, rate : rate + 3] = sign * d[k]
    _, _, vt = np.linalg.svd(rows)
    return vt[4:].reshape(-1, 2, 6)


def moved(engine, n_steps):
    """Directions that cables allow, before and after some steps, (n, 2, 6), and the state after them, (2, 6)."""
    before = kept_directions(engine)
    seeds = []
    for direction in before:
        d = np.zeros_like(engine.world.start)
        d[:2, memory.P : memory.P + 3], d[:2, memory.V : memory.V + 3] = (
            direction[:, :3],
            direction[:, 3:],
        )
        where, values = sparse(d.ravel())
        seeds.append((indices(engine, engine.world.start)[where], values))
    changes = Variations(engine, seeds)
    changes.run(n_steps)
    columns = [*range(memory.P, memory.P + 3), *range(memory.V, memory.V + 3)]
    after = np.array([c.start[:2][:, columns] for c in changes.changes()])
    return before, after, changes.value.start[:2][:, columns]


MASSES = np.array([0.4, 0.7])


def test_the_flow_of_a_double_pendulum_is_symplectic():
    """sum m (dx dv' - dv dx') of any two changes stays; the fourth-order method misses it by h^4."""
    before, after, _ = moved(double_pendulum(), 800)

    def form(x):
        product = np.einsum("b,ibk,jbk->ij", MASSES, x[..., :3], x[..., 3:])
        return product - product.T

    assert np.abs(form(before)).max() > 0.1
    np.testing.assert_allclose(form(after), form(before), rtol=0, atol=1e-9)


def test_energy_changes_as_it_did_at_the_start():
    """The derivative of a constant of the motion with any change of the start is constant: to h^4, as the constant."""
    misses = [energy_miss(h) for h in (2e-3, 1e-3)]
    assert misses[1] < 1e-8 and 12.0 < misses[0] / misses[1] < 20.0


def energy_miss(step):
    """Largest change of the derivatives of the energy in 0.8 s."""
    engine = double_pendulum(step)
    columns = [*range(memory.P, memory.P + 3), *range(memory.V, memory.V + 3)]
    start = engine.world.start[:2][:, columns].copy()
    before, after, end = moved(engine, round(0.8 / step))

    def slope(x, d):
        return np.einsum("b,ib->i", MASSES * G, d[..., 2]) + np.einsum(
            "b,bk,ibk->i", MASSES, x[:, 3:], d[..., 3:]
        )

    assert np.abs(slope(start, before)).max() > 0.5
    return np.abs(slope(end, after) - slope(start, before)).max()


# --- where there is no derivative -----------------------------------------------------------------


def test_a_throw_that_just_reaches_its_length_is_doubted():
    """The apex 1e-12 m over the length and 1e-12 m below; 1e-3 m over it is nothing to doubt."""
    for over, why in ((1e-12, "grazes"), (-1e-12, "nearly"), (1e-3, None)):
        v = np.sqrt(2.0 * G * (1.0 + over))
        engine = thrown(0.0, v, 1.0)
        changes = varied(engine, (engine.world.start[0, memory.V + 2 : memory.V + 3], [1.0]))
        changes.run(700)
        if why is None:
            assert changes.doubt is None
        else:
            assert why in str(changes.doubt) and changes.doubt.time == pytest.approx(
                v / G, abs=1e-3
            )


def test_two_snaps_at_once_are_doubted():
    """A box thrown up straight comes to the end of two cables at once: which is first decides how it turns."""
    inertia = np.diag([0.01, 0.012, 0.015])
    for tilt, doubted in ((0.0, True), (0.01, False)):
        cables = [
            Cable(WORLD, 0, 1.0, r_a=np.array([x, 0, 0]), r_b=np.array([x, 0, 0]))
            for x in (-0.2, 0.2)
        ]
        q = (np.cos(tilt / 2), 0, np.sin(tilt / 2), 0)
        engine = started(
            System((Body("box", 0.5, inertia),), tuple(cables)),
            np.array([state((0, 0, 0.2), q, v=(0, 0, 5.0))]),
        )
        changes = varied(engine, (engine.world.start[0, memory.V + 2 : memory.V + 3], [1.0]))
        changes.run(250)
        assert (changes.doubt is not None) == doubted
        assert not doubted or "together" in changes.doubt.why


def test_at_least_one_step_is_asked_for():
    engine = started(System((Body("a", 1.0, np.eye(3)),), ()), np.array([state()]))
    with pytest.raises(ContractError, match="at least one step"):
        linearize_steps(engine, 0)


# --- linear maps of a world -----------------------------------------------------------------------


def exponential_miss(step):
    """Of one step with the inputs: from ``expm`` of the linearization at its start."""
    engine = begun(Family(3).at(0.0), step=step)
    engine.run(round(0.04 / step))
    over_step, around = linearize_steps(engine, 1), linearize(engine)
    n, n_inputs = around.input.shape
    assert over_step.inputs == around.inputs and ERRORS * len(around.bodies) == n
    both = np.block([[around.state, around.input], [np.zeros((n_inputs, n + n_inputs))]])
    return np.abs(over_step.input - expm(both * step)[:n, n:]).max() / step


def test_steps_follow_the_matrix_exponential_of_the_linearization():
    """Over ever shorter steps the motion that A is about changes ever less."""
    misses = [exponential_miss(h) for h in (1e-3, 5e-4, 2.5e-4)]
    assert misses[0] < 0.01
    assert all(1.7 < a / b < 2.3 for a, b in pairwise(misses))


def test_coordinates_are_read_as_they_are_sown():
    engine = begun(Family(5).at(0.0))
    with lags_begun(engine):
        coordinates = Coordinates(engine)
        changes = Variations(engine, coordinates.seeds(), what=0)
    assert int(INPUT_CHANGED) != 0
    np.testing.assert_allclose(
        changes.jacobian(coordinates.read), np.eye(coordinates.n), rtol=0, atol=1e-15
    )
