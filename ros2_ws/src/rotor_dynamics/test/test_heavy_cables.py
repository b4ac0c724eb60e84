"""Rods and heavy cables: closed forms of chains, an independent solution, balance, convergence."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, minimize_scalar, root
from scipy.special import j0, jn_zeros
from transforms3d.quaternions import quat2mat
from trees import planted
from worlds import random_inertia, started, state

from rotor_core.errors import ContractError, ModelError
from rotor_core.state import State
from rotor_dynamics import memory
from rotor_dynamics.batch import Batch
from rotor_dynamics.hanging import hanging, lay_strands
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable, Ring
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.strand import Strand, divided
from rotor_dynamics.model.system import System
from rotor_dynamics.reconfigure import attached
from rotor_dynamics.sensitivities.linearization import linearize

G = 9.81
LENGTH, DENSITY = 2.0, 0.05
"""Of the chains of these tests, m and kg/m."""

ORIGIN = np.zeros(3)


def strung(bodies, cable, segments, *, mass=DENSITY * LENGTH, drag=0.0, gravity=G, bending=0.0):
    """A system of ``bodies`` and one heavy cable."""
    n = len(bodies)
    masses, pieces = divided(cable, "cable1", mass, segments, n)
    numbers = tuple(range(n, n + segments))
    strand = Strand(0, numbers, tuple(range(1, segments + 1)), drag, bending=bending)
    return System((*bodies, *masses), pieces, strands=(strand,), gravity=gravity)


def chain(segments, end=None, **options):
    """A heavy cable from the origin to a point of the world, or with a free end: its last piece is left out."""
    cable = Cable(WORLD, WORLD, LENGTH, ORIGIN, ORIGIN if end is None else np.array(end, float))
    system = strung((), cable, segments, **options)
    if end is not None:
        return system
    return System(system.bodies, system.cables[:-1], gravity=system.gravity)


def at_rest(n):
    out = np.zeros((n, 13))
    out[:, 3] = 1.0
    return out


def laid(system, floor=-np.inf):
    """States of a system at rest, its entities at the origin."""
    states = at_rest(len(system.bodies))
    lay_strands(system, states, floor)
    return states


def piece_lengths(engine):
    return engine.world.constraints[:, memory.DISTANCE]


# --- rods -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.3, 2.0, 3.0])
def test_a_rod_pulls_and_pushes(angle):
    """A pendulum on a rod, also above its pivot, against the equation of its angle."""
    length, rate = 0.7, 1.3
    place = [length * np.sin(angle), 0.0, -length * np.cos(angle)]
    speed = rate * length * np.array([np.cos(angle), 0.0, np.sin(angle)])
    system = System((Body("bob", 0.4),), (Cable(WORLD, 0, length, rod=True),))
    engine = started(system, state(place, v=speed)[None])
    engine.run(1500)
    exact = solve_ivp(
        lambda t, y: [y[1], -G / length * np.sin(y[0])], (0.0, 1.5), [angle, rate],
        method="DOP853", rtol=1e-12, atol=1e-13,
    ).y[:, -1]  # fmt: skip
    motion = engine.update_kinematics()[0]
    np.testing.assert_allclose(
        motion[:3], [length * np.sin(exact[0]), 0.0, -length * np.cos(exact[0])], atol=2e-9
    )
    tension = 0.4 * (G * np.cos(exact[0]) + length * exact[1] ** 2)
    assert engine.tensions[0] == pytest.approx(tension, abs=1e-8)
    assert engine.take_events() == []
    if angle == 3.0:  # it pushed on the way
        assert 0.4 * (G * np.cos(angle) + length * rate**2) < 0.0


def test_a_rod_takes_speeds_of_both_signs_out_when_a_state_is_set():
    """Impulses along it, equal and opposite: the centre of mass goes on, the distance stays."""
    for sign in (1.0, -1.0):
        bodies = (Body("a", 1.0), Body("b", 3.0))
        system = System(bodies, (Cable(0, 1, 1.0, rod=True),), gravity=0.0)
        states = np.array([state(v=[0, 0.5, 0]), state([1, 0, 0], v=[sign * 2.0, 0, 0])])
        engine = started(system, states)
        engine.run(0)
        v = State(engine.update_kinematics()).velocity
        np.testing.assert_allclose(v, [[sign * 1.5, 0.5, 0.0], [sign * 1.5, 0.0, 0.0]], atol=1e-14)
        assert engine.tensions[0] == pytest.approx(0.75 * 0.5**2, abs=1e-12)
        assert [e.type for e in engine.take_events()] == ["snap"]


def test_a_rod_must_have_its_length():
    system = System((Body("bob", 1.0),), (Cable(WORLD, 0, 1.0, rod=True),))
    with pytest.raises(ModelError, match=r"rod of 1 m, but the points it joins are 0\.9 m"):
        started(system, state([0.0, 0.0, -0.9])[None])


def test_a_snap_beside_rods_pulls_through_them():
    """A cable that goes taut stops all that hangs on rods with it: as one impact on a straight row, by momentum."""
    bodies = (Body("a", 1.0), Body("b", 2.0), Body("c", 3.0))
    cables = (Cable(WORLD, 0, 1.0), Cable(0, 1, 0.5, rod=True), Cable(1, 2, 0.5, rod=True))
    fall = 0.2
    states = np.array([state([0, 0, -1.0 + fall - 0.5 * i]) for i in range(3)])
    engine = started(System(bodies, cables), states)
    engine.run(400)
    (snap,) = [e for e in engine.take_events() if e.type == "snap"]
    speed = np.sqrt(2.0 * G * fall)
    assert snap.time == pytest.approx(np.sqrt(2.0 * fall / G), abs=1e-12)
    assert snap.impulses == pytest.approx([6.0 * speed, 5.0 * speed, 3.0 * speed], rel=1e-9)
    np.testing.assert_allclose(engine.tensions, [6.0 * G, 5.0 * G, 3.0 * G], rtol=1e-9)


def test_a_rod_on_a_link_of_a_tree():
    """A link on a pin and a bob on a rod below it: the double pendulum, against its equations."""
    link, bob, arm, rod = 0.8, 0.5, 0.6, 0.4
    inertia = np.diag([1e-3, link * arm**2 / 12.0, 1e-3])
    bodies = (Body("link", link, inertia, np.array([0.0, 0.0, -0.5 * arm])), Body("bob", bob))
    joint = Joint(WORLD, 0, np.array([0.0, -1.0, 0.0]))  # positive angles lead to x
    cables = (Cable(0, 1, rod, np.array([0.0, 0.0, -arm]), rod=True),)
    angles, lengths = np.array([0.7, 2.6]), np.array([arm, rod])
    ends = np.cumsum(
        lengths[:, None] * np.stack([np.sin(angles), 0 * angles, -np.cos(angles)], 1), 0
    )
    states = np.array([state(), state(ends[1])])
    engine = planted(System(bodies, cables, joints=(joint,)), states, np.array([[angles[0], 0.0]]))
    engine.run(1000)
    about = link * arm**2 / 3.0

    def slope(t, y):
        a, w = y[:2], y[2:]
        coupling, turn = bob * arm * rod * np.cos(a[0] - a[1]), np.sin(a[0] - a[1])
        M = np.array([[about + bob * arm**2, coupling], [coupling, bob * rod**2]])
        f = -G * np.sin(a) * [(0.5 * link + bob) * arm, bob * rod]
        f += bob * arm * rod * turn * np.array([-(w[1] ** 2), w[0] ** 2])
        return np.concatenate([w, np.linalg.solve(M, f)])

    exact = solve_ivp(
        slope, (0.0, 1.0), [*angles, 0.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-13
    ).y[:, -1]
    assert engine.joints.angles[0] == pytest.approx(exact[0], abs=1e-8)
    tip = arm * np.array([np.sin(exact[0]), 0.0, -np.cos(exact[0])])
    tip += rod * np.array([np.sin(exact[1]), 0.0, -np.cos(exact[1])])
    np.testing.assert_allclose(engine.update_kinematics()[1, :3], tip, atol=1e-8)
    assert engine.distances[0] == pytest.approx(rod, abs=1e-12)


# --- shapes at rest -------------------------------------------------------------------------------


def catenary(span, length):
    """Parameter of the catenary of a length over a level span, m."""
    return brentq(lambda a: 2.0 * a * np.sinh(0.5 * span / a) - length, 0.05 * span, 1e3 * span)


def test_a_cable_at_rest_converges_to_the_catenary():
    """Sag and tensions, with the square of the parts; nothing moves within a second."""
    span = 1.2
    a = catenary(span, LENGTH)
    sag, horizontal = a * (np.cosh(0.5 * span / a) - 1.0), DENSITY * G * a
    top = horizontal * np.cosh(0.5 * span / a)
    errors = []
    for n in (11, 21, 41):
        system = chain(n, [span, 0.0, 0.0])
        states = laid(system)
        engine = started(system, states)
        engine.run(1000)
        drift = np.abs(engine.update_kinematics()[:, :3] - states[:, :3]).max()
        assert drift < 1e-12
        assert engine.tensions_at_b[0] == pytest.approx(engine.tensions[0], rel=1e-9)
        assert engine.tensions[0] * np.cos(np.arcsin(-engine.directions[0, 2])) == pytest.approx(
            engine.tensions_at_b[0] * np.hypot(*engine.directions_at_b[0, :2]), rel=1e-9
        )
        errors.append([abs(states[:, 2].min() + sag) / sag, abs(engine.tensions[0] / top - 1.0)])
    ratios = np.array(errors)[:-1] / np.array(errors)[1:]
    expected = np.array([[(21 / 11) ** 2], [(41 / 21) ** 2]])
    np.testing.assert_allclose(ratios, np.broadcast_to(expected, (2, 2)), rtol=0.1)
    assert np.max(errors[1]) < 3e-3


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 30), st.integers(0, 2**32 - 1), st.just(0.0) | st.floats(1e-3, 1.0))
@example(20, 0, 0.0)
def test_shapes_join_their_ends_with_pieces_of_their_lengths(n, seed, share):
    """Wherever the ends are, also one below the other, on the floor, or in one place."""
    rng = np.random.default_rng(seed)
    lengths = np.array([0.5, *[1.0] * (n - 1), 0.5]) / n
    way = rng.normal(size=3) if seed % 3 else np.array([0.0, 0.0, 1.0 if seed % 2 else -1.0])
    end = share * way / np.linalg.norm(way)
    floor = min(end[2], 0.0) - rng.choice([1e9, 0.05, 0.0])
    places = hanging(ORIGIN, end, lengths, 0.1, floor)
    pieces = np.diff(np.vstack([ORIGIN, places, end]), axis=0)
    np.testing.assert_allclose(np.linalg.norm(pieces, axis=1), lengths, atol=2e-10)
    assert places[:, 2].min() >= floor - 1e-11


def test_a_cable_that_does_not_reach_is_refused():
    with pytest.raises(ModelError, match="3 m apart, but it is only 2 m long"):
        hanging(ORIGIN, np.array([3.0, 0.0, 0.0]), np.full(4, 0.5), 1.0)
    with pytest.raises(ModelError, match=r"cable1: its ends are 2\.5 m"):
        laid(chain(4, [2.5, 0.0, 0.0]))
    with pytest.raises(ModelError, match="runs through no rings"):
        divided(Cable(WORLD, WORLD, 1.0, through=(Ring(WORLD, ORIGIN),)), "cable1", 1.0, 3, 0)
    with pytest.raises(ModelError, match="segments >= 1 and a mass > 0"):
        divided(Cable(WORLD, WORLD, 1.0), "cable1", 0.0, 3, 0)


# --- vibrations -----------------------------------------------------------------------------------


def frequencies(engine, count):
    """Of the swinging about a state at rest, lowest first, rad/s, each once (they come in pairs)."""
    found = np.linalg.eigvals(linearize(engine).state)
    swings = np.sort(found.imag[(found.imag > 0.5) & (np.abs(found.real) < 1e-4)])
    return swings[::2][:count]


def test_frequencies_of_a_hanging_chain():
    """j_n sqrt(g / L) / 2, j_n the zeros of the Bessel function J0 (Daniel Bernoulli 1733), with the square of the parts."""
    exact = 0.5 * jn_zeros(0, 3) * np.sqrt(G / LENGTH)
    errors = []
    for n in (10, 20, 40):
        system = chain(n)
        states = at_rest(n)
        states[:, 2] = -(np.arange(n) + 0.5) * LENGTH / n
        errors.append(np.abs(frequencies(started(system, states), 3) / exact - 1.0))
    ratios = np.array(errors)[:-1] / np.array(errors)[1:]
    np.testing.assert_allclose(ratios, 4.0, rtol=0.15)
    assert errors[1].max() < 0.01


def test_a_mode_swings_with_its_frequency():
    """The first mode, flown: after half a period it is on the other side."""
    n = 20
    omega = frequencies(started(chain(n), straight_down(n)), 1)[0]
    x = (np.arange(n) + 0.5) / n
    swing = 1e-4 * j0(jn_zeros(0, 1)[0] * np.sqrt(1.0 - x))
    pieces = np.diff(np.append(0.0, swing))
    lengths = np.array([0.5, *[1.0] * (n - 1)]) * LENGTH / n
    states = at_rest(n)
    states[:, 0] = swing
    states[:, 2] = -np.cumsum(np.sqrt(lengths**2 - pieces**2))
    engine = started(chain(n), states)
    half = np.pi / omega
    engine.run(round(half / 1e-3))
    back = engine.update_kinematics()[:, 0]
    # the shape is that of the continuous chain: other modes have a share of the order of the error, 1/n^2
    assert np.abs(back + swing).max() < 0.02 * np.abs(swing).max()


def straight_down(n):
    states = at_rest(n)
    states[:, 2] = -(np.arange(n) + 0.5) * LENGTH / n
    return states


def whirling(n, omega, guess):
    """Places of a chain that turns about the vertical as a rigid body, in the plane that turns with it, (n, 2)."""
    lengths = np.array([0.5, *[1.0] * (n - 1)]) * LENGTH / n
    mass = DENSITY * LENGTH / n

    def places(angles):
        return np.cumsum(lengths[:, None] * np.stack([np.sin(angles), -np.cos(angles)], axis=1), 0)

    def imbalance(angles):
        r = places(angles)[:, 0]
        pull = np.cumsum(mass * omega**2 * r[::-1])[::-1]
        weight = mass * G * np.arange(n, 0, -1)
        return pull * np.cos(angles) - weight * np.sin(angles)

    found = root(imbalance, guess, tol=1e-13)
    assert found.success
    return places(found.x)


def test_a_whirling_chain():
    """Steady turning with one node: it stays what it is, and its radius converges to the continuous chain's."""
    omega = 1.1 * 0.5 * jn_zeros(0, 2)[1] * np.sqrt(G / LENGTH)

    def slope(s, y):  # y: radius, horizontal and vertical pull of what is below; s from the top
        size = np.hypot(y[1], y[2])
        return [y[1] / size, -DENSITY * omega**2 * y[0], -DENSITY * G]

    rest = 1e-7  # the end itself has no direction: a little above it the pull is that of the rest

    def from_the_end(radius):
        start = [radius, DENSITY * rest * omega**2 * radius, DENSITY * rest * G]
        return solve_ivp(
            slope,
            (LENGTH - rest, 0.0),
            start,
            method="DOP853",
            rtol=1e-11,
            atol=1e-14,
            dense_output=True,
        )

    tried = np.linspace(0.05, 0.6, 40)
    tops = [from_the_end(r).y[0, -1] for r in tried]
    (at,) = np.flatnonzero(np.diff(np.sign(tops)))
    whole = from_the_end(brentq(lambda r: from_the_end(r).y[0, -1], tried[at], tried[at + 1])).sol
    shape = whole(np.linspace(0.02, 0.99, 200) * LENGTH)[0]
    assert np.count_nonzero(np.diff(np.sign(shape))) == 1  # one node
    errors = []
    for n in (20, 40, 80):
        middle = (np.arange(n) + 0.5) * LENGTH / n
        tangent = whole(middle - 0.25 * LENGTH / n)[1:]
        places = whirling(n, omega, np.arctan2(tangent[0], tangent[1]))
        errors.append(np.abs(places[:, 0] - whole(middle)[0]).max())
        states = at_rest(n)
        states[:, [0, 2]] = places
        states[:, 8] = omega * places[:, 0]
        if n == 20:
            engine = started(chain(n), states)
            steps = 700
            engine.run(steps)
            turned = omega * steps * 1e-3
            expected = np.stack(
                [places[:, 0] * np.cos(turned), places[:, 0] * np.sin(turned), places[:, 1]], axis=1
            )
            np.testing.assert_allclose(engine.update_kinematics()[:, :3], expected, atol=2e-7)
    assert errors[0] / errors[1] > 3.3 and errors[1] / errors[2] > 3.3
    assert errors[0] < 0.02 * np.abs(shape).max()


# --- an independent solution ----------------------------------------------------------------------


def test_against_another_solver():
    """A load on a heavy cable, by Lagrange's equations of the angles of its pieces and DOP853: 1e-8 m after 1 s."""
    n, load = 4, 0.7
    lengths = np.array([0.5, *[1.0] * (n - 1), 0.5]) * LENGTH / n
    masses = np.array([*[DENSITY * LENGTH / n] * n, load])
    below = np.cumsum(masses[::-1])[::-1]
    shared = np.minimum(below[:, None], below) * np.outer(lengths, lengths)
    angles, rates = np.array([0.9, 0.4, -0.3, 0.2, 0.6]), np.array([0.5, -1.0, 0.8, 0.0, 1.5])

    def slope(t, y):
        a, w = y[: n + 1], y[n + 1 :]
        apart = a[:, None] - a
        f = -below * G * lengths * np.sin(a) - (shared * np.sin(apart)) @ w**2
        return np.concatenate([w, np.linalg.solve(shared * np.cos(apart), f)])

    def moved(y):
        a, w = y[: n + 1], y[n + 1 :]
        along = lengths[:, None] * np.stack([np.sin(a), 0 * a, -np.cos(a)], axis=1)
        across = (lengths * w)[:, None] * np.stack([np.cos(a), 0 * a, np.sin(a)], axis=1)
        return np.roll(np.cumsum(along, axis=0), 1, axis=0), np.roll(
            np.cumsum(across, axis=0), 1, axis=0
        )

    begin = np.concatenate([angles, rates])
    exact = solve_ivp(slope, (0.0, 1.0), begin, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    system = strung((Body("load", load),), Cable(WORLD, 0, LENGTH), n)
    states = at_rest(n + 1)
    states[:, :3], states[:, 7:10] = moved(begin)
    engine = started(system, states)
    engine.run(1000)
    places, speeds = moved(exact)
    motion = engine.update_kinematics()
    np.testing.assert_allclose(motion[:, :3], places, atol=1e-8)
    np.testing.assert_allclose(motion[:, 7:10], speeds, atol=1e-6)


def test_energy_and_momentum_of_a_free_cable():
    """Two bodies on a heavy cable in space: linear and angular momentum, energy, and their books."""
    rng = np.random.default_rng(3)
    bodies = (Body("a", 0.6, random_inertia(rng, 0.6)), Body("b", 0.3, random_inertia(rng, 0.3)))
    cable = Cable(0, 1, LENGTH, np.array([0.05, 0.02, -0.1]), np.array([-0.03, 0.0, 0.04]))
    system = strung(bodies, cable, 20, gravity=0.0)
    states = at_rest(22)
    states[1, :3] = [0.9, 0.4, -0.7]
    states[0, 7:] = [0.4, 0.0, 0.3, 1.0, -2.0, 0.5]
    lay_strands(system, states)
    engine = started(system, states)
    engine.run(0)

    def books():
        m = engine.update_kinematics()
        s = State(m[:, :13])
        masses = np.array([b.mass for b in system.bodies])
        linear = masses @ s.velocity
        angular = np.cross(s.position, masses[:, None] * s.velocity).sum(axis=0)
        energy = 0.5 * masses @ np.sum(s.velocity**2, axis=1)
        for i, body in enumerate(bodies):
            R = quat2mat(s.attitude[i])
            angular += R @ body.inertia_B @ s.body_rate[i]
            energy += 0.5 * s.body_rate[i] @ body.inertia_B @ s.body_rate[i]
        return linear, angular, energy

    before = books()
    engine.run(3000)
    after = books()
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(b, a, atol=1e-9)
    np.testing.assert_allclose(piece_lengths(engine), [c.length for c in system.cables], atol=1e-11)
    assert engine.lengths[0] == pytest.approx(LENGTH, abs=1e-12)
    assert engine.take_events() == []
    assert engine.accuracy.energy_error_share < 1e-9


def test_a_cable_without_much_mass_is_a_cable():
    """A taut heavy cable of 1e-6 of the load swings as the massless one, to the order of that share."""
    bodies = (Body("load", 1.0),)
    place = np.array([0.6, 0.0, -np.sqrt(LENGTH**2 - 0.36)])
    light = started(System(bodies, (Cable(WORLD, 0, LENGTH),)), state(place)[None])
    system = strung(bodies, Cable(WORLD, 0, LENGTH), 3, mass=1e-6)
    states = at_rest(4)
    states[0, :3] = place
    lay_strands(system, states)
    heavy = started(system, states)
    for engine in (light, heavy):
        engine.run(1000)
    difference = heavy.update_kinematics()[0, :3] - light.update_kinematics()[0, :3]
    assert np.abs(difference).max() < 3e-6
    assert heavy.tensions[0] == pytest.approx(light.tensions[0], rel=1e-5)


# --- air ------------------------------------------------------------------------------------------


def test_air_pushes_across_a_cable_and_not_along():
    """The whole force at one instant, at an angle to the air, and in wind of the same speed none."""
    drag, n, speed = 0.01, 10, np.array([1.2, 0.0, -0.7])
    bodies = (Body("a", 1.0), Body("b", 1.0))
    system = strung(bodies, Cable(0, 1, LENGTH), n, drag=drag, gravity=0.0)
    states = at_rest(n + 2)
    along = np.array([0.6, 0.0, 0.8])
    states[1, :3] = LENGTH * along
    states[:, 7:10] = speed
    lay_strands(system, states)
    masses = np.array([b.mass for b in system.bodies])
    for wind, air in ((np.zeros(3), speed), (speed, np.zeros(3))):
        engine = started(system, states)
        engine.set_wind(np.tile(wind, (n + 2, 1)))
        engine.run(0)
        across = air - (air @ along) * along
        force = -n * drag * np.linalg.norm(across) * across
        got = masses @ engine.update_kinematics()[:, 13:16]
        np.testing.assert_allclose(got, force, atol=1e-12)


def test_a_pendulum_in_air_loses_the_energy_that_the_air_takes():
    """The books of work against what is lost."""
    bodies = (Body("load", 0.05),)
    hung = strung(bodies, Cable(WORLD, 0, LENGTH), 12, drag=0.02)
    states = at_rest(13)
    states[0, :3] = [1.2, 0.0, -np.sqrt(LENGTH**2 - 1.44)]
    lay_strands(hung, states)
    engine = started(hung, states)

    def energy():
        m = engine.update_kinematics()
        masses = np.array([b.mass for b in hung.bodies])
        return masses @ (0.5 * np.sum(m[:, 7:10] ** 2, axis=1) + G * m[:, 2])

    engine.run(0)
    before = energy()
    engine.run(2000)
    work = float(engine.world.scalars[memory.WORK])
    assert work < -0.1 * abs(before)
    assert energy() - before == pytest.approx(work, rel=1e-8)


# --- structure ------------------------------------------------------------------------------------


def test_what_users_see_is_one_cable():
    """Lengths, distances and events are those of the whole; cutting lets end a go."""
    system = chain(6, [1.0, 0.0, 0.0])
    engine = started(system, laid(system))
    engine.run(10)
    assert engine.n_cables == 1 and len(engine.tensions) == 1 and engine.taut.tolist() == [True]
    assert engine.lengths[0] == pytest.approx(LENGTH)
    engine.cut(0)
    engine.run(200)
    (event,) = engine.take_events()
    assert event.type == "cut" and event.cables == (0,) and len(event.tensions_after) == 1
    assert not engine.alive[0] and engine.tensions[0] == 0.0 and engine.tensions_at_b[0] > 0.0
    tail = engine.update_kinematics()[0, :3]
    assert tail[2] < -0.1  # the loose end falls


def test_a_batch_of_heavy_cables_is_each_alone():
    system = chain(5, [1.2, 0.0, 0.3])
    states = laid(system)
    batch = Batch(system, np.stack([states] * 3))
    alone = started(system, states)
    whole = batch.rollout(np.zeros((3, 20, 0, 4)), steps=5)
    for _ in range(20):
        alone.run(5)
    for w in range(3):
        # inputs are taken up at every period there, which measures once more what was known
        np.testing.assert_allclose(
            whole.motion[w, -1], alone.update_kinematics(), rtol=0, atol=1e-13
        )


@pytest.mark.parametrize("integrator", ["splitting", "erk4m", "cf4", "dopri5"])
def test_integrators_that_cannot_say_so(integrator):
    system = chain(5, [1.2, 0.0, 0.3])
    try:
        engine = started(system, laid(system), integrator=integrator)
    except ContractError as error:
        assert "does not support" in str(error)
        return
    engine.run(100)
    drift = engine.update_kinematics()[:, :3] - laid(system)[:, :3]
    assert np.abs(drift).max() < 1e-9


# --- bending --------------------------------------------------------------------------------------


def beam_frequency(segments, n, tension, bending, density, length):
    """Frequency of the n-th mode of a stretched beam with pinned ends, from a flight that begins in its shape, rad/s."""
    mass = density * length
    weight = Body("weight", tension / G)
    cable = Cable(WORLD, 0, length)
    system = strung((weight,), cable, segments, mass=mass, bending=bending)
    along = (np.arange(segments) + 0.5) / segments
    shape = np.sin(n * np.pi * along)
    states = at_rest(segments + 1)
    amplitude = 1e-5 * length / n
    nodes = np.concatenate([[0.0], amplitude * shape, [0.0]])
    parts = length / segments * np.concatenate([[0.5], np.ones(segments - 1), [0.5]])
    down = np.cumsum(np.sqrt(parts**2 - np.diff(nodes) ** 2))
    states[1:, 0], states[1:, 2] = nodes[1:-1], -down[:-1]
    states[0, 2] = -down[-1]
    wave = (n * np.pi / length) ** 2
    wanted = np.sqrt(wave * (tension + bending * wave) / density)
    step = 0.1 / wanted
    engine = started(system, states, step=step, tolerance=1.0)
    seen = []
    for _ in range(400):
        engine.run(1)
        seen.append(engine.update_kinematics()[1 : segments + 1, 0] @ shape)
    times = step * np.arange(1, 401)

    def left(w):
        basis = np.column_stack([np.cos(w * times), np.sin(w * times)])
        return float(np.linalg.lstsq(basis, np.array(seen), rcond=None)[1][0])

    return minimize_scalar(
        left, bounds=(0.9 * wanted, 1.1 * wanted), method="bounded", options={"xatol": 1e-6}
    ).x, wanted


@pytest.mark.parametrize("n", [1, 2, 3])
def test_frequencies_of_a_stretched_beam(n):
    """Halving the parts quarters the error; the weight of the cable is a ten-thousandth of its tension."""
    errors = []
    for segments in (8, 16):
        found, wanted = beam_frequency(segments, n, 10.0, 0.5, 1e-3, 0.5)
        errors.append(abs(found / wanted - 1.0))
    assert errors[1] < 0.012 * n
    assert 2.8 < errors[0] / errors[1] < 5.5


def test_bending_forces_are_the_slope_of_their_energy():
    """On masses and on the bodies at both ends: a tumbling bar and a plate on a stiff cable in space keep all they have."""
    rng = np.random.default_rng(3)
    bodies = (
        Body("bar", 0.5, random_inertia(rng, 0.5)),
        Body("plate", 0.3, random_inertia(rng, 0.3)),
    )
    cable = Cable(0, 1, 0.6, np.array([0.1, 0.0, 0.05]), np.array([-0.05, 0.02, 0.0]))
    system = strung(bodies, cable, 6, mass=0.12, gravity=0.0, bending=0.02)
    states = at_rest(8)
    states[0, 10:], states[1, 10:] = (0.5, -1.0, 0.3), (-0.4, 0.2, 0.8)
    states[1, :3] = (0.4, 0.1, -0.35)
    lay_strands(system, states, -np.inf)
    states[2:, 7:10] = 0.1 * rng.normal(size=(6, 3))
    engine = started(system, states)
    masses = np.array([b.mass for b in system.bodies])

    def kept(motion):
        spin = np.zeros(3)
        for body, row in zip(system.bodies, motion, strict=True):
            spin += body.mass * np.cross(row[:3], row[7:10])
            if body.inertia_B is not None:
                spin += quat2mat(row[3:7]) @ body.inertia_B @ row[10:13]
        return np.concatenate([masses @ motion[:, 7:10], spin])

    def energy(motion):
        """Kinetic, and of the bends (S.5), from places alone."""
        total = 0.0
        for body, row in zip(system.bodies, motion, strict=True):
            total += 0.5 * body.mass * row[7:10] @ row[7:10]
            if body.inertia_B is not None:
                total += 0.5 * row[10:13] @ body.inertia_B @ row[10:13]
        ends = [
            motion[b, :3] + quat2mat(motion[b, 3:7]) @ r
            for b, r in ((0, cable.r_a), (1, cable.r_b))
        ]
        nodes = np.array([ends[0], *motion[2:, :3], ends[1]])
        parts = np.diff(nodes, axis=0)
        lengths = np.linalg.norm(parts, axis=1)
        u = parts / lengths[:, None]
        return total + sum(
            0.02 / (0.5 * (lengths[i] + lengths[i + 1])) * (1.0 - u[i] @ u[i + 1]) for i in range(6)
        )

    engine.run(1)
    before, work = kept(engine.update_kinematics()), energy(engine.update_kinematics())
    engine.run(500)
    motion = engine.update_kinematics()
    np.testing.assert_allclose(kept(motion), before, atol=1e-10)
    assert energy(motion) == pytest.approx(work, abs=1e-8)
    assert abs(engine.accuracy.energy_error_j) < 1e-8


@pytest.mark.parametrize("bending", [0.0, 1e-3])
def test_a_capture_beside_a_heavy_cable_keeps_the_momentum(bending):
    """Also where the cable resists being bent, whose forces have no part in the blow."""
    bodies = (Body("a", 1.0, 0.01 * np.eye(3)), Body("b", 2.0, 0.02 * np.eye(3)))
    system = strung(bodies, Cable(WORLD, 0, LENGTH), 4, bending=bending)
    states = at_rest(len(system.bodies))
    states[2:, 2] = -LENGTH * (np.arange(4) + 0.5) / 4
    states[0, 2], states[1, :3], states[1, 8] = -LENGTH, (0.5, 0.0, -LENGTH), 1.0
    engine = started(system, states)
    system, after, _ = attached(engine, 0, 1)
    masses = np.array([b.mass for b in system.bodies])
    before = engine.motion[:, 7:10]
    assert masses @ after[:, 7:10] == pytest.approx(masses @ before, abs=1e-12)
    assert after[0, 8] > 0.1
