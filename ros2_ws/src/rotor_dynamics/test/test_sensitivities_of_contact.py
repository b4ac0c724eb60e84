"""Derivatives through rigid contact: closed forms of bounces and stops, rest, differences, what is doubted."""

import numpy as np
import pytest
from rigid_worlds import (
    CUBE,
    GROUND,
    G,
    ball,
    ball_body,
    box,
    box_body,
    made,
    state,
)
from varied_worlds import state_of, varied

from rotor_core.kernels.jit import COMPILED
from rotor_dynamics import memory
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD
from rotor_dynamics.model.contact import Contact, Probe, Surface, natural_law
from rotor_dynamics.model.solid import RigidContact
from rotor_dynamics.model.system import System

pytestmark = pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels")


def of_velocities(engine, body=0):
    """Seeds: the velocity of a body along x, y, z."""
    first = memory.V
    return [(engine.world.start[body, first + k : first + k + 1], [1.0]) for k in range(3)]


def changes_of(changes, body=0):
    """Derivatives of the state of a body, (n_directions, 13)."""
    return np.array([world.start[body] for world in changes.changes()])


def test_a_bounce_has_the_derivative_of_its_closed_form():
    """Dropped from z with v: height at t after one bounce is e u (t - T) - g (t - T)^2 / 2, with u the speed at time T."""
    e, z, v, t = 0.6, 0.5, -0.3, 0.5
    law = RigidContact(friction=0.4, restitution=e)
    engine = made([ball_body()], [GROUND, ball(0)], [state((0, 0, 0.1 + z), v=(0, 0, v))], law)
    changes = varied(
        engine,
        of_velocities(engine)[2],
        (engine.world.start[0, memory.P + 2 : memory.P + 3], [1.0]),
    )
    changes.run(round(t / 1e-3))
    u = np.sqrt(v * v + 2.0 * G * z)
    T = (v + u) / G
    for change, (u_dot, T_dot) in zip(
        changes_of(changes), ((v / u, (1.0 + v / u) / G), (G / u, 1.0 / u)), strict=True
    ):
        rises = e * u_dot * (t - T) - e * u * T_dot + G * (t - T) * T_dot
        assert change[memory.P + 2] == pytest.approx(rises, abs=1e-10)
        assert change[memory.V + 2] == pytest.approx(e * u_dot + G * T_dot, abs=1e-10)
    assert changes.doubt is None


def test_a_box_that_slides_and_stops_rests_with_its_derivatives():
    """It stops after v^2 / (2 mu g): one m/s more carries it v / (mu g) farther, and it rests there."""
    mu, v = 0.5, 2.0
    law = RigidContact(friction=mu)
    engine = made([box_body()], [GROUND, box(0)], [state((0, 0, 0.05), v=(v, 0, 0))], law)
    changes = varied(engine, *of_velocities(engine)[:1])
    changes.run(600)
    (change,) = changes_of(changes)
    # the law of a step is of first order where sliding ends inside it
    assert change[memory.P] == pytest.approx(v / (mu * G), abs=5e-4)
    # rounds end when a thousandth of derivatives rests as well as values do (SEEN, SETTLED)
    np.testing.assert_allclose(change[memory.V :], 0.0, atol=1e-7)
    np.testing.assert_allclose(change[memory.P + 1 : memory.V], 0.0, atol=1e-9)


@pytest.mark.parametrize("speed", [0.0, 1e-3])
@pytest.mark.parametrize(
    ("kind", "friction", "stays"), [("box", 0.0, 1.0), ("ball", 0.0, 1.0), ("ball", 0.5, 5.0 / 7.0)]
)
def test_what_stands_without_friction_would_slide(kind, friction, stays, speed):
    """A small speed stays where nothing rubs, and 5/7 of it in a ball that comes to roll; also at rest, where nothing
    tells friction that is zero from friction that holds but its bound."""
    body, solid, height = (
        (box_body(), box(0), 0.05) if kind == "box" else (ball_body(), ball(0), 0.1)
    )
    rows = [state((0, 0, height), v=(speed, 0, 0))]
    engine = made([body], [GROUND, solid], rows, RigidContact(friction=friction))
    changes = varied(engine, *of_velocities(engine)[:1])
    changes.run(200)
    (change,) = changes_of(changes)
    assert change[memory.V] == pytest.approx(stays, abs=1e-9)
    assert change[memory.P] == pytest.approx(0.2 * stays, abs=1e-9)


def thrown(kind, seed, change=0.0):
    """A box or ball thrown on the ground."""
    random = np.random.default_rng(seed)
    law = RigidContact(
        friction=random.uniform(0.2, 0.8), restitution=random.choice([0.0, 0.3, 0.6])
    )
    q = random.normal(size=4)
    at, w = 0.05 * random.normal(size=2), 2.0 * random.normal(size=3)
    v = random.normal(size=3) * [1.0, 1.0, 0.5]
    rows = np.array([state((*at, 0.35), q / np.linalg.norm(q), v=v, w=w)])
    bodies = [ball_body()] if kind == "ball" else [box_body()]
    solids = [GROUND, ball(0) if kind == "ball" else box(0)]
    rows[0, 7:10] += change
    return made(bodies, solids, rows, law)


def ended(kind, seed, n_steps, change):
    """State after a throw, and what happened in it."""
    engine = thrown(kind, seed, change)
    engine.run(n_steps)
    return state_of(engine), [e.type for e in engine.take_events()]


@pytest.mark.parametrize(("kind", "n_steps", "limit"), [("ball", 300, 1e-8), ("box", 340, 1e-5)])
def test_against_differences_on_random_throws(kind, n_steps, limit):
    """All ways to throw: impacts, sliding, rolling, stops. Differences count where the story is the same.

    Where a box rattles, up to 16 events, differences reach 1e-6 at their best step; else some 1e-9.
    """
    compared = 0
    for seed in range(20):
        engine = thrown(kind, seed)
        changes = varied(engine, *of_velocities(engine))
        changes.run(n_steps)
        told = np.array([w.start[: engine.topology.n_bodies] for w in changes.changes()])
        _, whole = ended(kind, seed, n_steps, 0.0)
        best = np.inf
        for step in (1e-5, 1e-6, 1e-7):
            ends = [
                [ended(kind, seed, n_steps, sign * step * np.eye(3)[k]) for sign in (1, -1)]
                for k in range(3)
            ]
            if all(what == whole for pair in ends for _, what in pair):
                slopes = np.array([(one - two) / (2.0 * step) for (one, _), (two, _) in ends])
                best = min(best, np.abs(slopes - told).max() / max(1.0, np.abs(told).max()))
        if np.isfinite(best):
            assert best < limit, (seed, best)
            compared += 1
    assert compared >= 17


def test_what_rests_has_no_velocity_whatever_it_was_thrown_with():
    """Boxes that have come to rest: velocities and height do not depend on the throw any more."""
    rested = 0
    for seed in range(12):
        engine = thrown("box", seed)
        changes = varied(engine, *of_velocities(engine))
        changes.run(1500)
        at_rest = np.abs(changes.value.start[0, memory.V :]).max() < 1e-9
        if not at_rest:
            continue
        told = changes_of(changes)
        size = max(1.0, np.abs(told).max())
        np.testing.assert_allclose(told[:, memory.V :], 0.0, atol=1e-6 * size)
        np.testing.assert_allclose(told[:, memory.P + 2], 0.0, atol=1e-8 * size)
        rested += 1
    assert rested >= 8


def test_the_momentum_of_two_boxes_that_collide_depends_on_no_impact():
    """Whatever impulses do, and friction: a change of one velocity stays in the sum of momenta, to rounding."""
    hit = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        q = random.normal(size=(2, 4))
        q /= np.linalg.norm(q, axis=1)[:, None]
        rows = [
            state((0, 0, 0), q[0], w=random.normal(size=3)),
            state((0.5, 0.05, 0.02), q[1], v=(-2.0, 0, 0), w=random.normal(size=3)),
        ]
        bodies = [box_body("a", 1.0), box_body("b", 0.7, CUBE)]
        law = RigidContact(friction=0.4, restitution=0.3)
        engine = made(bodies, [box(0), box(1, CUBE)], rows, law, gravity=0.0)
        changes = varied(engine, *of_velocities(engine, 1))
        changes.run(400)
        first, second = changes_of(changes, 0), changes_of(changes, 1)
        of_a, of_b = first[:, memory.V : memory.V + 3], second[:, memory.V : memory.V + 3]
        size = max(1.0, np.abs(first).max())
        np.testing.assert_allclose(of_a + 0.7 * of_b, 0.7 * np.eye(3), atol=1e-12 * size)
        hit += np.abs(of_a).max() > 0.01
    assert hit >= 8


def test_a_box_that_falls_flat_is_doubted():
    """Which corner is first decides how it turns; one that falls on a corner is not."""
    for tilt, doubted in ((0.0, True), (0.02, False)):
        q = (np.cos(tilt), np.sin(tilt) * 0.6, np.sin(tilt) * 0.8, 0.0)
        engine = made([box_body()], [GROUND, box(0)], [state((0, 0, 0.2), q)])
        changes = varied(engine, *of_velocities(engine))
        changes.run(180)
        assert (changes.doubt is not None) == doubted
        assert not doubted or "at several points at once" in str(changes.doubt)


@pytest.mark.parametrize(
    ("height", "static", "doubted"), [(0.02, 0.5, True), (0.02, 0.0, False), (-1e-4, 0.5, False)]
)
def test_compliant_contact_that_begins_with_friction_is_doubted(height, static, doubted):
    """Its anchor is where the step ends that meets it; frictionless contact, and one that is there already, have none."""
    body, dynamic = ball_body(), 0.6 * static
    law = natural_law(body.mass, static=static, dynamic=dynamic)
    contact = Contact(Probe(0, np.zeros(3)), Surface(WORLD, np.zeros(3), is_box=False), law)
    engine = Engine(System((body,), contacts=(contact,)), step=1e-3)
    engine.set_state(np.array([state((0.0, 0.0, height), v=(0.3, 0.0, 0.0))]))
    engine.run(1)
    changes = varied(engine, (engine.world.start[0, memory.V : memory.V + 1], [1.0]))
    changes.run(100)
    assert (changes.doubt is not None) == doubted
    assert not doubted or "contact with friction begins" in str(changes.doubt)
