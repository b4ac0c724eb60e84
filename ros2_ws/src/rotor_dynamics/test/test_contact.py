"""Contact: energy, rest, Coulomb's limits, rolling, belts, stacks, impacts of bodies in free space, cables."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from transforms3d.quaternions import quat2mat

from rotor_core.config.vehicles.outline import EDGE_MIDDLES
from rotor_core.errors import ContractError, ModelError
from rotor_core.math.polyhedron import CORNERS
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.contact import (
    Contact,
    ContactLaw,
    Probe,
    Surface,
    effective_mass,
    natural_law,
)
from rotor_dynamics.model.system import Cable, System

G = 9.81
SIZE = np.array([0.3, 0.2, 0.1])
MASS = 2.0
STATIC, DYNAMIC = 0.5, 0.3


def box_body(name="box", mass=MASS, size=SIZE):
    x, y, z = size
    return Body(name, mass, mass / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y]))


def slope(angle=0.0, belt=0.0):
    q = np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])
    return Surface(WORLD, np.zeros(3), q, is_box=False, belt_speed=np.array([belt, 0.0, 0.0]))


def corner_contacts(body, surface, index=0, size=SIZE):
    out = []
    for corner in CORNERS:
        point = 0.5 * size * corner
        law = natural_law(effective_mass(body, point), static=STATIC, dynamic=DYNAMIC)
        out.append(Contact(Probe(index, point), surface, law))
    return tuple(out)


def box_world(surface, **system):
    body = box_body()
    return Engine(System((body,), contacts=corner_contacts(body, surface), **system), step=1e-3)


def states(*rows):
    out = np.zeros((len(rows), 13))
    out[:, 3] = 1.0
    for row, values in zip(out, rows, strict=True):
        for column, value in values.items():
            row[column : column + len(value)] = value
    return out


def energy(engine):
    """Kinetic energy, height and the springs of contacts, J."""
    total = engine.contact_energy
    for body, row in zip(engine.system.bodies, engine.update_kinematics(), strict=True):
        v, w = row[7:10], row[10:13]
        total += body.mass * (0.5 * v @ v + engine.system.gravity * row[2])
        if body.inertia_B is not None:
            total += 0.5 * w @ body.inertia_B @ w
    return total


@settings(max_examples=12, deadline=None)
@given(
    st.tuples(*[st.floats(-2.0, 2.0)] * 2, st.floats(-3.0, 0.0)),
    st.tuples(*[st.floats(-6.0, 6.0)] * 3),
    st.floats(0.0, 0.4),
)
def test_a_thrown_box_never_gains_energy_and_comes_to_rest(v, w, angle):
    """Never above what it began with, and no step gains more than a kink inside it costs RK4: h^3, 1e-6 of the energy."""
    engine = box_world(slope(angle))
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    q = np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])
    engine.set_state(states({0: 0.25 * normal, 3: q, 7: v, 10: w}))
    before = first = energy(engine)
    for _ in range(1500):
        engine.run(1)
        now = energy(engine)
        assert now <= before + 1e-6 * first
        assert now <= first * (1.0 + 1e-9)
        before = now
    assert np.isfinite(engine.update_kinematics()).all()


def test_a_box_that_stands_does_not_drift_in_a_minute():
    """Below 1 mm is asked; friction with anchors holds it to rounding, on a slope too."""
    for angle in (0.0, np.radians(20.0)):
        engine = box_world(slope(angle))
        normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
        q = np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])
        engine.set_state(states({0: 0.0501 * normal, 3: q}))
        engine.run(3000)
        there = engine.update_kinematics()[0, :7].copy()
        engine.run(60000)
        np.testing.assert_allclose(engine.update_kinematics()[0, :7], there, atol=1e-9)
        assert np.abs(engine.motion[0, 7:13]).max() < 1e-9
        weight = engine.contact_forces.sum()
        assert weight == pytest.approx(MASS * G * np.cos(angle), rel=1e-6)


@pytest.mark.parametrize(("share", "holds"), [(0.97, True), (1.03, False)])
def test_static_friction_holds_up_to_its_limit(share, holds):
    """A slowly growing push along the ground, up to a share of mu_s m g."""
    engine = box_world(slope())
    engine.set_state(states({0: (0.0, 0.0, 0.0496)}))
    for i in range(200):
        push = np.array([share * STATIC * MASS * G * i / 199, 0.0, 0.0])
        engine.set_external([(0, push, np.zeros(3))])
        engine.run(20)
    engine.run(1000)
    assert bool(abs(engine.update_kinematics()[0, 0]) < 5e-3) is holds


def test_what_slides_accelerates_as_dynamic_friction_says():
    angle = np.radians(35.0)
    engine = box_world(slope(angle))
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    q = np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])
    engine.set_state(states({0: 0.0496 * normal, 3: q}))
    engine.run(1000)
    first = np.linalg.norm(engine.update_kinematics()[0, 7:10])
    engine.run(500)
    second = np.linalg.norm(engine.update_kinematics()[0, 7:10])
    wanted = G * (np.sin(angle) - DYNAMIC * np.cos(angle))
    assert (second - first) / 0.5 == pytest.approx(wanted, rel=1e-5)


def test_a_belt_takes_a_box_with_it():
    """It slides first, and then goes with the belt, for good."""
    engine = box_world(slope(belt=2.0))
    engine.set_state(states({0: (0.0, 0.0, 0.0495)}))
    engine.run(300)  # it settles on its corners, and slides
    first = engine.update_kinematics()[0, 7]
    assert 0.0 < first < 2.0
    engine.run(2000)
    before = engine.update_kinematics()[0, 0]
    engine.run(10000)
    # the friction spring holds a standing offset, so only the speed counts
    assert (engine.update_kinematics()[0, 0] - before) / 10.0 == pytest.approx(2.0, rel=1e-6)


def ball_world(angle, radius=0.1, spin=0.0, friction=STATIC):
    J = 0.4 * MASS * radius**2
    body = Body("ball", MASS, np.diag([J, J, J]))
    law = natural_law(effective_mass(body, np.zeros(3)), static=friction, dynamic=friction)
    probe = Probe(0, np.zeros(3), radius, np.array([0.0, spin, 0.0]))
    engine = Engine(System((body,), contacts=(Contact(probe, slope(angle), law),)), step=1e-3)
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    sag = MASS * G * np.cos(angle) / law.stiffness
    engine.set_state(states({0: (radius - sag) * normal}))
    return engine


def test_a_ball_rolls_without_slipping():
    """g sin / (1 + 2/5), and v = omega r."""
    angle = np.radians(15.0)
    engine = ball_world(angle)
    engine.run(1000)
    first = np.linalg.norm(engine.update_kinematics()[0, 7:10])
    engine.run(1000)
    v, w = engine.update_kinematics()[0, 7:10], engine.motion[0, 10:13]
    assert np.linalg.norm(v) - first == pytest.approx(G * np.sin(angle) / 1.4, rel=1e-4)
    assert np.linalg.norm(w) * 0.1 == pytest.approx(np.linalg.norm(v), rel=1e-3)


def test_what_bounces_loses_what_the_law_says():
    """Quasi-static impact of Hunt and Crossley without gravity: e from -e + ln terms (implicit), K.2.

    For f = k d (1 + c d_dot) the relative speeds before and after fulfil
    ln|(1 + c v) / (1 - c e v)| = c v (1 + e)  (Hunt and Crossley 1975, integrated once).
    """
    body = Body("point", 1.0)
    c, v = 0.4, 1.2
    law = ContactLaw(1e4, c, 0.0, 0.0)
    contact = Contact(Probe(0, np.zeros(3)), slope(), law)
    engine = Engine(System((body,), gravity=0.0, contacts=(contact,)), step=1e-4)
    engine.set_state(states({0: (0.0, 0.0, 0.001), 7: (0.0, 0.0, -v)}))
    engine.run(2000)
    e = engine.update_kinematics()[0, 9] / v
    assert 0.0 < e < 1.0
    assert np.log((1.0 + c * v) / (1.0 - c * e * v)) == pytest.approx(c * v * (1.0 + e), rel=1e-3)


def test_bodies_that_collide_in_free_space_keep_their_momenta():
    """Probe against box, both free: linear and angular momentum to rounding."""
    one, two = box_body("one"), box_body("two", mass=0.7)
    surface = Surface(1, np.zeros(3), half_size=0.5 * SIZE)
    system = System((one, two), gravity=0.0, contacts=corner_contacts(one, surface))
    engine = Engine(system, step=1e-3)
    start = states(
        {0: (0.0, 0.0, 0.0), 7: (1.0, 0.0, 0.0), 10: (0.5, 1.0, -0.4)},
        {0: (0.33, 0.05, 0.02), 7: (-1.0, 0.1, 0.0)},
    )
    engine.set_state(start)

    def momenta():
        P, L = np.zeros(3), np.zeros(3)
        for body, row in zip(system.bodies, engine.update_kinematics(), strict=True):
            R = quat2mat(row[3:7])
            P += body.mass * row[7:10]
            L += np.cross(row[:3], body.mass * row[7:10]) + R @ (body.inertia_B @ row[10:13])
        return P, L

    before = momenta()
    touched = False
    for _ in range(400):
        engine.run(1)
        touched |= bool(engine.touching.any())
    assert touched
    np.testing.assert_allclose(momenta()[0], before[0], atol=1e-12)
    # the attitude of the classical method keeps angular momentum to its own order, h^4
    np.testing.assert_allclose(momenta()[1], before[1], atol=1e-8)


def test_boxes_stand_on_each_other():
    lower, upper = box_body("lower"), box_body("upper", mass=1.0)
    top = Surface(0, np.zeros(3), half_size=0.5 * SIZE)
    contacts = corner_contacts(lower, slope(), 0)
    for corner in CORNERS:  # well inside the faces below
        point = 0.45 * SIZE * corner * [1, 1, 1.0 / 0.9]
        mass = 1.0 / (1.0 / effective_mass(upper, point) + 1.0 / effective_mass(lower, point))
        contacts += (Contact(Probe(1, point), top, natural_law(mass)),)
    engine = Engine(System((lower, upper), contacts=contacts), step=1e-3)
    engine.set_state(states({0: (0.0, 0.0, 0.05)}, {0: (0.0, 0.0, 0.17)}))
    engine.run(4000)
    there = engine.update_kinematics()[:, :3].copy()
    engine.run(10000)
    np.testing.assert_allclose(engine.update_kinematics()[:, :3], there, atol=1e-9)
    assert engine.contact_forces[:8].sum() == pytest.approx(3.0 * G, rel=1e-6)
    assert engine.contact_forces[8:].sum() == pytest.approx(1.0 * G, rel=1e-6)


def test_half_the_step_changes_a_landing_little():
    """Touching is not located: first order there, so the difference halves at least when the step does."""

    def landed(step):
        body = box_body()
        system = System((body,), contacts=corner_contacts(body, slope()))
        engine = Engine(system, step=step)
        engine.set_state(states({0: (0.0, 0.0, 0.3), 7: (1.0, 0.3, 0.0), 10: (1.0, 2.0, 0.5)}))
        engine.run(round(0.5 / step))
        return engine.update_kinematics()[0, :3].copy()

    finest = landed(3.125e-5)
    coarse, fine = landed(1e-3), landed(2.5e-4)
    assert np.abs(coarse - finest).max() < 5e-3
    assert np.abs(fine - finest).max() < 0.5 * np.abs(coarse - finest).max() + 1e-6


def test_a_payload_on_the_ground_lets_its_cable_go_slack():
    """A weight is let down on a cable of the world until it stands, with tension and normal force sharing its weight."""
    body = box_body()
    contacts = corner_contacts(body, slope())
    hook = Cable(WORLD, 0, 0.5, np.array([0.0, 0.0, 0.549]), np.zeros(3))
    engine = Engine(System((body,), cables=(hook,), contacts=contacts), step=1e-3)
    engine.set_state(states({0: (0.0, 0.0, 0.049)}))
    assert engine.taut[0]
    engine.run(3000)
    forces = engine.contact_forces.sum() + engine.tensions[0]
    assert forces == pytest.approx(MASS * G, rel=1e-6)
    assert 0.0 < engine.tensions[0] < MASS * G


def test_impossible_contacts_are_refused():
    body = box_body()
    probe, surface = Probe(0, np.zeros(3)), slope()
    with pytest.raises(ModelError, match="stiffness must be > 0"):
        ContactLaw(0.0)
    with pytest.raises(ModelError, match="static friction must be at least"):
        ContactLaw(1.0, static=0.1, dynamic=0.2)
    law = ContactLaw(100.0)
    for contact, text in (
        (Contact(Probe(3, np.zeros(3)), surface, law), "body index must be"),
        (
            Contact(probe, Surface(0, np.zeros(3), half_size=np.ones(3)), law),
            "must belong to different bodies",
        ),
        (Contact(probe, Surface(WORLD, np.zeros(3)), law), "half sizes > 0"),
        (Contact(Probe(0, np.array([np.nan, 0, 0])), surface, law), "must be finite"),
    ):
        with pytest.raises(ModelError, match=text):
            System((body,), contacts=(contact,))
    with pytest.raises(ContractError, match="does not support contacts"):
        Engine(System((body,), contacts=(Contact(probe, surface, law),)), integrator="splitting")


def test_a_ball_turns_along_with_what_it_lies_on():
    """A ball pressed on a large body that turns: rigid turning of both slips nowhere, so the ball keeps the rate."""
    radius, J = 0.1, 0.004
    ball = Body("ball", 1.0, np.diag([J, J, J]))
    large = Body("large", 1e6, 1e6 * np.eye(3))
    law = natural_law(effective_mass(ball, np.zeros(3), radius))
    surface = Surface(1, np.zeros(3), half_size=np.array([5.0, 5.0, 1.0]))
    contact = Contact(Probe(0, np.zeros(3), radius), surface, law)
    engine = Engine(System((ball, large), gravity=0.0, contacts=(contact,)), step=1e-3)
    rate, height = 0.5, 1.0 + radius - 20.0 / law.stiffness
    engine.set_state(
        states(
            {0: (0.0, 0.0, height), 7: (rate * height, 0.0, 0.0), 10: (0.0, rate, 0.0)},
            {10: (0.0, rate, 0.0)},
        )
    )
    for _ in range(100):
        down = quat2mat(engine.update_kinematics()[1, 3:7]) @ [0.0, 0.0, -20.0]
        engine.set_external([(0, down, np.zeros(3))])
        engine.run(1)
    # what is left is the centripetal force, m w^2 r of 0.3 N, that the pressing push does not know
    assert engine.update_kinematics()[0, 11] == pytest.approx(rate, rel=0.02)


def test_a_ball_that_comes_through_a_side_leaves_through_it():
    """Elastic, fast and soft, so that its centre gets inside: it comes back with the speed it had."""
    ball = Body("ball", 1.0, 1e-3 * np.eye(3))
    cube = Surface(WORLD, np.zeros(3), half_size=np.full(3, 0.5))
    law = natural_law(effective_mass(ball, np.zeros(3)), dissipation=0.0, static=0.0, dynamic=0.0)
    contact = Contact(Probe(0, np.zeros(3), 0.05), cube, law)
    engine = Engine(System((ball,), gravity=0.0, contacts=(contact,)), step=1e-4)
    engine.set_state(states({0: (0.6, 0.1, 0.2), 7: (-8.0, 0.0, 0.0)}))
    engine.run(1000)
    np.testing.assert_allclose(engine.update_kinematics()[0, 7:10], [8.0, 0.0, 0.0], atol=0.05)


def stack(count):
    """Equal boxes, each with corners and middles of its edges against the ground and all others."""
    bodies = tuple(box_body(f"box{i}", mass=1.0) for i in range(count))
    contacts = [c for i, body in enumerate(bodies) for c in corner_contacts(body, slope(), i)]
    for i, body in enumerate(bodies):
        for j in range(count):
            for point in 0.5 * SIZE * np.vstack([CORNERS, EDGE_MIDDLES]) if i != j else ():
                law = natural_law(0.5 * effective_mass(body, point))
                surface = Surface(j, np.zeros(3), half_size=0.5 * SIZE)
                contacts.append(Contact(Probe(i, point), surface, law))
    return Engine(System(bodies, contacts=tuple(contacts)), step=1e-3)


@pytest.mark.parametrize(
    "way", ["flush", "dropped", "offset", "turned 3", "turned 45", "turned 90"]
)
def test_five_equal_boxes_stand_for_a_minute(way):
    """Whatever lies over whatever: corners flush with edges, edges across edges. At the end nothing moves any more."""
    rng, n = np.random.default_rng(0), 5
    engine, begin = stack(n), states(*[{}] * n)
    begin[:, 2] = SIZE[2] * (np.arange(n) + 0.5)
    if way == "dropped":
        begin[:, 2] += 0.002 * np.arange(n)
    if way == "offset":
        begin[:, :2] = rng.uniform(-0.02, 0.02, (n, 2))
    if way.startswith("turned"):
        angle = np.radians(float(way.split()[1])) * np.arange(n)
        begin[:, 3], begin[:, 6] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    engine.set_state(begin)
    engine.run(60_000)
    end = engine.update_kinematics()
    np.testing.assert_allclose(end[:, 2], begin[:, 2], atol=0.03)  # soft contacts sink in
    assert (np.diff(end[:, 2]) > 0.08).all()
    assert np.abs(end[:, :2] - begin[:, :2]).max() < 0.05
    assert np.abs(end[:, 7:13]).max() < 1e-3
    weight = engine.contact_forces[: 8 * n].sum()
    assert weight == pytest.approx(n * G, rel=1e-3)


@pytest.mark.parametrize("sag", [1e-3, 2e-4, 5e-5, 1e-9])
@pytest.mark.parametrize("creep", [1e-3, 1e-6, 0.0])
def test_a_stack_that_creeps_stands_after_a_state_was_set(sag, creep):
    """Flush boxes that are in each other a little and slide a little: they belong to the faces they stand on."""
    engine, begin = stack(2), states({}, {})
    begin[:, 2] = SIZE[2] * np.array([0.5, 1.5]) - sag * np.array([1.0, 2.0])
    begin[1, 7:9] = -creep, creep
    engine.set_state(begin)
    engine.run(1000)
    again = engine.update_kinematics()[:, :13].copy()
    again[1, 7:9] -= creep
    engine.set_state(again)
    engine.run(1000)
    heights = engine.update_kinematics()[:, 2]
    assert heights[1] - heights[0] > 0.09


@pytest.mark.parametrize("seed", range(20))
def test_boxes_thrown_at_each_other_never_gain_energy(seed):
    """Corners, edges, faces, the ground: within rounding of the energy at the start."""
    rng = np.random.default_rng(seed)
    engine, begin = stack(2), states({}, {})
    begin[:, 3:7] = rng.normal(size=(2, 4))
    begin[:, 3:7] /= np.linalg.norm(begin[:, 3:7], axis=1, keepdims=True)
    begin[:, :3] = rng.uniform(-0.15, 0.15, (2, 3)) + [[0.0, 0.0, 0.35], [0.0, 0.0, 0.9]]
    begin[:, 7:10], begin[:, 10:] = rng.uniform(-5, 5, (2, 3)), rng.uniform(-10, 10, (2, 3))
    engine.set_state(begin)

    def energy():
        total = engine.contact_energy
        for body, m in zip(engine.system.bodies, engine.update_kinematics(), strict=True):
            total += body.mass * (0.5 * m[7:10] @ m[7:10] + G * m[2])
            total += 0.5 * m[10:13] @ body.inertia_B @ m[10:13]
        return total

    first = least = energy()
    touched = False
    for _ in range(300):
        engine.run(5)
        now = energy()
        assert now - least < 1e-9 * first
        least = min(least, now)
        touched |= bool(engine.touching.any())
    assert touched and least < first


def plate(thickness=0.02):
    ball = Body("ball", 1.0, 1e-3 * np.eye(3))
    surface = Surface(WORLD, np.zeros(3), half_size=np.array([2.0, 2.0, 0.5 * thickness]))
    return ball, surface


@settings(max_examples=100, deadline=None)
@example(speed=0.5, side=1.0, across=0.0, height=0.02, stiff=300.0)
@given(
    speed=st.floats(0.5, 300.0),
    side=st.sampled_from([1.0, -1.0]),
    across=st.floats(-0.3, 0.3),
    height=st.floats(1e-6, 0.5),
    stiff=st.floats(20.0, 300.0),
)
def test_nothing_goes_through_a_plate_unseen(speed, side, across, height, stiff):
    """A point that meets a plate of 20 mm, by hundreds of its thickness per step, comes back on its own side."""
    ball, surface = plate()
    law = natural_law(1.0, stiff, static=0.0, dynamic=0.0, dissipation=0.0)
    contact = Contact(Probe(0, np.zeros(3)), surface, law)
    engine = Engine(System((ball,), gravity=0.0, contacts=(contact,)), step=1e-3)
    begin = {
        0: (0.0, 0.0, side * (0.01 + height)),
        7: (across * min(speed, 2.0), 0.0, -side * speed),
    }
    engine.set_state(states(begin))
    seen = False
    for _ in range(round(1e3 * (height / speed + np.pi / stiff)) + 20):
        engine.run(1)
        seen |= bool(engine.touching[0])
    end = engine.update_kinematics()[0]
    assert seen
    # where it touches and leaves is not located: Simpson's rule misses a ramp that begins within a step by
    # h^2 / 24 of its slope at most, (w h)^2 / 24 of the speed, twice
    missed = (stiff * 1e-3) ** 2 / 12.0 + 1e-9
    assert side * end[2] > 0.01 and side * end[9] == pytest.approx(speed, rel=missed)


def test_a_plate_that_comes_takes_the_ball_with_it():
    """The plate moves at 40 m/s and the ball stands: the same from the other side."""
    ball, _ = plate()
    size = np.array([2.0, 2.0, 0.02])
    slab = box_body("slab", mass=1e3, size=size)
    surface = Surface(1, np.zeros(3), half_size=0.5 * size)
    law = natural_law(1.0, 100.0, static=0.0, dynamic=0.0, dissipation=0.0)
    contact = Contact(Probe(0, np.zeros(3)), surface, law)
    engine = Engine(System((ball, slab), gravity=0.0, contacts=(contact,)), step=1e-3)
    engine.set_state(states({0: (0.1, 0.0, 0.5)}, {7: (0.0, 0.0, 40.0)}))
    engine.run(100)
    speeds = engine.update_kinematics()[:, 9]
    assert speeds[0] == pytest.approx(2.0 * 40.0 * 1e3 / 1001.0, rel=1e-2)
    momentum = speeds @ [1.0, 1e3]
    assert momentum == pytest.approx(40.0 * 1e3, rel=1e-12)


def test_past_the_edge_of_a_plate_nothing_happens():
    ball, surface = plate()
    contact = Contact(Probe(0, np.zeros(3)), surface, natural_law(1.0))
    engine = Engine(System((ball,), gravity=0.0, contacts=(contact,)), step=1e-3)
    engine.set_state(states({0: (2.001, 0.0, 0.05), 7: (0.0, 0.0, -20.0)}))
    engine.run(100)
    assert engine.update_kinematics()[0, 9] == -20.0


def test_a_probe_slides_off_a_face_and_is_free():
    """It leaves over the edge: no side of the box pulls or pushes it after that."""
    ball, surface = plate()
    contact = Contact(Probe(0, np.zeros(3)), surface, natural_law(1.0, static=0.0, dynamic=0.0))
    engine = Engine(System((ball,), contacts=(contact,)), step=1e-3)
    engine.set_state(states({0: (1.9, 0.0, 0.01), 7: (1.0, 0.0, 0.0)}))
    engine.run(1000)
    x, z, v = engine.update_kinematics()[0, [0, 2, 7]]
    assert x == pytest.approx(2.9, abs=1e-9) and v == pytest.approx(1.0, abs=1e-12) and z < -3.0
