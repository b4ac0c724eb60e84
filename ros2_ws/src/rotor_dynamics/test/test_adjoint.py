"""Derivatives backward: they are those forward, multiplied from the left; closed forms; what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from rigid_worlds import GROUND, ball, ball_body, box, box_body
from rigid_worlds import state as rigid_state
from tree_worlds import random_scene
from varied_worlds import Family
from worlds import begun, state, team

from rotor_core.errors import ContractError, SolverError
from rotor_core.kernels.jit import COMPILED, kernel
from rotor_core.numbers.duals import duals, empty_duals
from rotor_dynamics import memory
from rotor_dynamics.forces.blades import momentum_inflow
from rotor_dynamics.kinematics.members import members_of_bodies, slope_with_poses
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable
from rotor_dynamics.model.contact import Contact, ContactLaw, Probe, Surface
from rotor_dynamics.model.solid import RigidContact
from rotor_dynamics.model.system import Drag, Rotor, System
from rotor_dynamics.sensitivities.backward import adjoint, pieces, stretches, way_back
from rotor_dynamics.sensitivities.coordinates import indices
from rotor_dynamics.sensitivities.propagation import Variations

if not COMPILED:
    pytest.skip("derivatives are of compiled kernels", allow_module_level=True)

from rotor_dynamics.sensitivities.backward.adjoint import AdjointFlights

G, STEP = 9.81, 1e-3
TRIANGLE = np.array([(-0.15, -0.27, 0.01), (0.31, 0.0, 0.01), (-0.15, 0.27, 0.01)])


def hanging(n=3, length=1.0, wide=0.0):
    """A payload under n vehicles on taut cables, at rest."""
    system = team(n, TRIANGLE[:n], np.full(n, length))
    states = [state()]
    for r in TRIANGLE[:n]:
        out = np.array([*r[:2], 0.0]) * wide / np.linalg.norm(r[:2])
        out[2] = np.sqrt(length**2 - out @ out)
        states.append(state(r + out))
    return system, np.array(states)


def hover(system):
    wrench = np.zeros((len(system.inputs), 4))
    wrench[:, 0] = sum(b.mass for b in system.bodies) * G / len(wrench)
    return wrench


def flights_of(system, states, steps=5, **options):
    return AdjointFlights(system, states, steps=steps, wrenches=hover(system), **options)


def commands(rng, system, n, spread=0.02):
    held = hover(system).ravel()
    return held + rng.normal(size=(n, len(held))) * spread * np.tile([1.0, 0.01, 0.01, 0.01], len(system.inputs))  # fmt: skip


def told_by(flight, weights):
    """The number whose derivatives the weights are."""
    return float(np.sum(flight.states * weights))


def check_differences(number, asked, told, places):
    """Derivatives of a number with some commands against central differences at their best step."""
    for k, j in places:
        slopes = []
        for h in (1e-2, 1e-3, 1e-4, 1e-5):
            ends = []
            for sign in (1.0, -1.0):
                changed = asked.copy()
                changed[k, j] += sign * h * max(1.0, 0.1 * abs(asked[k, j]))
                ends.append(number(changed))
            slopes.append((ends[0] - ends[1]) / (2.0 * h * max(1.0, 0.1 * abs(asked[k, j]))))
        size = max(np.abs(told.commands[:, j]).max(), 1e-6)  # of some motors nothing depends
        off = min(abs(s - told.commands[k, j]) for s in slopes)
        assert off < 1e-6 * size, (k, j, off / size, told.doubt)


def moved(seed, engine, other):
    """A seed of the memory of one engine, for another with the same tables elsewhere."""
    where, amounts = seed
    out = np.array(where)
    for name in memory.World._fields:
        here, there = getattr(engine.world, name), getattr(other.world, name)
        if here.dtype != float or not here.size or here.shape != there.shape:
            continue
        first, to = indices(engine, here.ravel())[0], indices(other, there.ravel())[0]
        inside = (where >= first) & (where < first + here.size)
        out[inside] = where[inside] - first + to
    return out, amounts


@pytest.mark.parametrize("number", range(12))
def test_backward_is_forward_multiplied_from_the_left(number):
    """Random worlds through snaps and slack, every number of them moves: w (J s) = (w J) s, to rounding of the flight."""
    family = Family(number)
    engine, n_steps = begun(family.at(0.0)), 240
    engine.take_events()
    seed = family.seed()
    assert seed is not None
    wrenches = family.middle.wrenches[0][1]
    flights = AdjointFlights(
        family.middle.system, family.middle.states, steps=20, wrenches=wrenches
    )
    flight = flights.fly(np.tile(wrenches.ravel(), (n_steps // 20, 1)))
    weights = np.zeros(flight.states.shape)
    weights[-1] = np.random.default_rng(number).normal(size=weights.shape[1:])
    weights[-1, [b.inertia_B is None for b in family.middle.system.bodies], 3:7] = 0.0
    weights[-1, [b.inertia_B is None for b in family.middle.system.bodies], 10:] = 0.0
    told = flight.gradient(weights, seeds=[moved(seed, engine, flights.engine)])
    changes = Variations(engine, [seed])
    changes.run(n_steps)
    n = engine.topology.n_bodies
    change, order = changes.changes()[0].start[:n], engine.member_body
    np.testing.assert_allclose(
        flight.states[-1], changes.value.start[:n][order], rtol=1e-9, atol=1e-9
    )
    forward = float(np.sum(change[order] * weights[-1]))
    size = np.abs(change[order] * weights[-1]).sum()
    backward = told.seeds[0] + told.commands.sum(axis=0) @ family._input.ravel()
    assert abs(backward - forward) < 1e-8 * size, (told.forward, changes.doubt)
    assert (told.doubt is None) == (changes.doubt is None)


def test_events_are_few_and_tapes_do_the_rest():
    """A vehicle pushed to its payload, caught again: pieces with tapes and without, against central differences."""
    system, states = hanging()
    flights, rng = flights_of(system, states), np.random.default_rng(3)
    asked = commands(rng, system, 120)
    asked[20:30, 4] *= -0.6
    flight = flights.fly(asked)
    slack = np.any(flight.tensions == 0.0, axis=1)
    assert slack.any() and not slack[-1]
    weights = rng.normal(size=flight.states.shape) * (rng.random(121) < 0.2)[:, None, None]
    pulls = 0.1 * rng.normal(size=flight.tensions.shape)
    told = flight.gradient(weights, tensions=pulls)
    assert 0 < told.forward < 0.2 * len(flight._stretch.pieces.smooth)

    def number(commands):
        other = flights.fly(commands)
        return told_by(other, weights) + float(np.sum(other.tensions * pulls))

    check_differences(number, asked, told, [(0, 0), (22, 4), (27, 4), (70, 9), (119, 3)])


def test_a_fall_in_closed_form():
    """Height of a pushed body at the end of N periods: by a thrust h^2 (N - k - 1/2) / m, by gravity -T^2 / 2."""
    system = System((Body("stone", 0.4, np.diag([1e-3, 2e-3, 3e-3])),), (), (), (0,))
    flights = AdjointFlights(system, state()[None], steps=4, wrenches=np.zeros((1, 4)))
    asked = np.zeros((50, 4))
    asked[:, 0] = 3.0
    flight = flights.fly(asked)
    weights = np.zeros(flight.states.shape)
    weights[-1, 0, 2] = 1.0
    gravity = np.array([int(memory.GRAVITY)]), np.ones(1)
    told, h = flight.gradient(weights, seeds=[gravity]), 4 * STEP
    expected = h**2 * (50 - np.arange(50) - 0.5) / 0.4
    np.testing.assert_allclose(told.commands[:, 0], expected, rtol=1e-11)
    np.testing.assert_allclose(told.seeds, [-0.5 * (50 * h) ** 2], rtol=1e-11)
    np.testing.assert_allclose(told.start[[2, 8]], [1.0, 50 * h], rtol=1e-11)


def test_a_snap_keeps_momentum_and_the_gradient_knows():
    """Two stones are torn apart, pulled together and fly on: the derivative of their momentum is their masses."""
    bodies = Body("a", 0.3, None), Body("b", 0.7, None)
    system = System(bodies, (Cable(0, 1, 1.0),), (), ())
    states = np.array([state((0, 0, 0), v=(-1, 0.2, 0)), state((0.9, 0.1, 0), v=(1.5, 0, 0.3))])
    flights = AdjointFlights(system, states, steps=10)
    flight = flights.fly(np.zeros((40, 0)))
    assert flight.tensions[0, 0] == 0.0
    weights = np.zeros(flight.states.shape)
    weights[-1, :, 7] = 0.3, 0.7
    told = flight.gradient(weights)
    assert told.forward > 0  # the snap
    start = told.start.reshape(2, 12)
    np.testing.assert_allclose(start[:, 6], [0.3, 0.7], rtol=1e-11)
    np.testing.assert_allclose(start[:, :3], 0.0, atol=1e-11)


def test_stretches_tell_what_one_flight_tells(monkeypatch):
    system, states = hanging()
    rng = np.random.default_rng(5)
    asked = commands(rng, system, 60)
    asked[10:20, 4] *= -0.3
    whole = flights_of(system, states).fly(asked)
    weights = rng.normal(size=whole.states.shape)
    first = whole.gradient(weights)
    monkeypatch.setattr(adjoint, "STRETCH", 90)
    parts = flights_of(system, states).fly(asked)
    assert len(parts._edges) == 6 + 1 + (60 % 11 > 0) - 1
    np.testing.assert_array_equal(parts.states, whole.states)
    second = parts.gradient(weights)
    np.testing.assert_allclose(second.commands, first.commands, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(second.start, first.start, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(parts.gradient(weights).commands, second.commands)


def test_a_bounce_among_steps_that_are_cut():
    """A probe that bounces off stiff ground: what is taken forward is cut as it was flown."""
    law = ContactLaw(2e4, 0.5, 0.0, 0.0)
    surface = Surface(WORLD, np.zeros(3), half_size=np.array([5.0, 5.0, 1.0]), is_box=False)
    corners = [(0.1 * x, 0.1 * y, -0.05) for x in (1, -1) for y in (1, -1)]
    contacts = tuple(Contact(Probe(0, np.array(p)), surface, law) for p in corners)
    body = Body("crate", 0.4, np.diag([1e-3, 2e-3, 3e-3]))
    system = System((body,), (), (), (0,), contacts=contacts)
    start = state((0, 0, 0.2), v=(0.5, 0.2, 0.0), w=(1.0, 2.0, 0.0))[None]
    flights = AdjointFlights(system, start, steps=5, wrenches=np.zeros((1, 4)))
    rng = np.random.default_rng(12)
    asked = 1e-3 * rng.normal(size=(120, 4))
    flight = flights.fly(asked)
    assert np.any(flight._stretch.pieces.shares < 1.0)
    weights = np.zeros(flight.states.shape)
    weights[-1] = rng.normal(size=weights.shape[1:])
    told = flight.gradient(weights)
    assert told.forward > 0 and told.doubt is None
    places = [(0, 0), (3, 2), (20, 1)]
    check_differences(lambda c: told_by(flights.fly(c), weights), asked, told, places)


def thrown(kind, seed):
    """A box or a ball that is thrown on the ground, and bounces, slides, tips over and rolls there."""
    random = np.random.default_rng(seed)
    law = RigidContact(friction=random.uniform(0.2, 0.8), restitution=0.3)
    q, w = random.normal(size=4), 2.0 * random.normal(size=3)
    start = rigid_state(
        (0, 0, 0.35), q / np.linalg.norm(q), v=random.normal(size=3) * [1, 1, 0.5], w=w
    )
    body, solid = (ball_body(), ball(0)) if kind == "ball" else (box_body(), box(0))
    system = System((body,), inputs=(0,), solids=(GROUND, solid), rigid=law)
    return AdjointFlights(system, start[None], steps=5, wrenches=np.zeros((1, 4)))


def forward_of(flights, weights, n_periods, size=1e3):
    """Derivatives of weighted states with the start, forward; as large as iterations of contact want them."""
    seeds = flights.coordinates.seeds()
    changes = Variations(flights.engine, [(where, size * np.asarray(a)) for where, a in seeds])
    told, done = np.zeros(len(seeds)), 0
    for k in range(n_periods + 1):
        if np.any(weights[k]):
            changes.run(flights.steps * (k - done))
            done = k
            n = flights.engine.topology.n_bodies
            told += [np.sum(weights[k] * world.start[:n]) / size for world in changes.changes()]
    return told, changes.doubt


@pytest.mark.parametrize(("kind", "limit"), [("ball", 1e-9), ("box", 1e-7)])
def test_rigid_contact_is_taken_forward_and_multiplied(kind, limit):
    """Impacts, sliding, rolling, stops; boxes rattle, whose impulses are searched for along several ways."""
    pressed = 0
    for seed in range(5):
        flights = thrown(kind, seed)
        flight = flights.fly(np.zeros((120, 4)))
        random, weights = np.random.default_rng(seed), np.zeros(flight.states.shape)
        weights[60], weights[-1] = random.normal(size=(2, 1, 13))
        told = flight.gradient(weights)
        forward, doubt = forward_of(flights, weights, 120)
        np.testing.assert_allclose(told.start, forward, rtol=0, atol=limit * np.abs(forward).max())
        assert (told.doubt is None) == (doubt is None)
        pressed += told.forward
    assert pressed > 500


def test_iterations_of_contact_come_to_rest_with_their_derivatives(monkeypatch):
    """Attitudes are varied as attitudes: points of a body that is stretched cannot all rest, and no sweep ends."""
    unsettled = []

    def counted(head, *others):
        before = head[memory.UNSETTLED]
        status = pieces.take_duals(head, *others)
        unsettled.append(head[memory.UNSETTLED] > before)
        return status

    monkeypatch.setattr(way_back, "take_duals", counted)
    for seed in (0, 1):
        flights = thrown("box", seed)
        flight = flights.fly(np.zeros((200, 4)))
        flight.gradient(np.ones(flight.states.shape))
    # of passes: a box that rattles has instants at which rounding decides
    assert len(unsettled) > 2000 and np.mean(unsettled) < 0.01


def test_a_bounce_in_closed_form_backward():
    """Height after a bounce: z = e u (t - T) - g (t - T)^2 / 2, u^2 = v^2 + 2 g z0, T = (v + u) / g."""
    e, z, v, t = 0.6, 0.5, -0.3, 0.5
    system = System(
        (ball_body(),), inputs=(0,), solids=(GROUND, ball(0)), rigid=RigidContact(restitution=e)
    )
    start = rigid_state((0, 0, 0.1 + z), v=(0, 0, v))[None]
    flights = AdjointFlights(system, start, steps=5, wrenches=np.zeros((1, 4)))
    flight = flights.fly(np.zeros((round(t / 5e-3), 4)))
    weights = np.zeros(flight.states.shape)
    weights[-1, 0, 2] = 1.0
    told = flight.gradient(weights)
    u = np.sqrt(v * v + 2.0 * G * z)
    T = (v + u) / G
    rises = [
        e * u_dot * (t - T) - e * u * T_dot + G * (t - T) * T_dot
        for u_dot, T_dot in ((G / u, 1.0 / u), (v / u, (1.0 + v / u) / G))
    ]
    np.testing.assert_allclose(told.start[[2, 8]], rises, rtol=0, atol=1e-10)
    assert told.doubt is None and told.forward < 10


def test_what_contact_has_found_at_the_start_is_no_seed():
    """It is searched for anew: whatever its derivatives are said to be, nothing depends on them."""
    flights = thrown("box", 0)
    flight = flights.fly(np.zeros((120, 4)))
    weights = np.zeros(flight.states.shape)
    weights[-1] = np.random.default_rng(1).normal(size=(1, 13))
    world = flights.engine.world
    pushes = indices(
        flights.engine, world.bodies[:1, memory.CONTACT_PUSH : memory.CONTACT_PUSH + 6]
    )
    warm = indices(flights.engine, world.meetings[:, memory.WARM_FORCES : memory.WARM_FORCES + 12])
    seeds = [(pushes, np.full(len(pushes), 100.0)), (warm, np.full(len(warm), 100.0))]
    told = flight.gradient(weights, seeds=seeds)
    assert told.forward > 0 and np.abs(told.seeds).max() < 1e-12


def test_poses_of_members_against_differences():
    """Members at any places and attitudes in bodies that move as they do: (M.3) differentiated with the poses."""
    rng = np.random.default_rng(4)
    owner, n = np.array([0, 0, 1], np.int64), 5
    bodies, poses, changes = (
        rng.normal(size=(n, 2, 13)),
        rng.normal(size=(3, 7)),
        rng.normal(size=(3, 7)),
    )
    bodies[..., 3:7] /= np.linalg.norm(bodies[..., 3:7], axis=-1, keepdims=True)
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    along = np.sum(poses[:, 3:] * changes[:, 3:], axis=1, keepdims=True)
    changes[:, 3:] -= along * poses[:, 3:]  # attitudes stay of length one

    def members(poses):
        out = np.zeros((n, 3, 13))
        for states, row in zip(bodies, out, strict=True):
            members_of_bodies(states, owner, poses, row)
        return out

    weights, h = rng.normal(size=(n, 3, 13)), 1e-6
    differences = np.sum(weights * (members(poses + h * changes) - members(poses - h * changes)))
    told = slope_with_poses(members(poses), weights, poses, changes)
    assert told == pytest.approx(differences / (2.0 * h), rel=1e-8)


def test_stretches_are_shorter_where_bodies_press_each_other(monkeypatch):
    """Every piece in contact keeps a world: few are kept at a time, and derivatives are the same."""
    flights = thrown("box", 1)
    whole = flights.fly(np.zeros((120, 4)))
    weights = np.zeros(whole.states.shape)
    weights[-1] = np.random.default_rng(1).normal(size=(1, 13))
    first = whole.gradient(weights)
    monkeypatch.setattr(stretches, "MOST_KEPT", 2_000_000)
    parts = flights.fly(np.zeros((120, 4)))
    assert len(whole._edges) == 2 and len(parts._edges) > 4
    np.testing.assert_array_equal(parts.states, whole.states)
    second = parts.gradient(weights)
    np.testing.assert_allclose(second.start, first.start, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(second.commands, first.commands, rtol=1e-12, atol=1e-12)


def test_a_seed_may_name_a_number_twice():
    system, states = hanging(2)
    flights = flights_of(system, states)
    rng = np.random.default_rng(14)
    asked = commands(rng, system, 40)
    asked[10:14, 4] *= -0.6  # through a piece that is taken forward
    flight = flights.fly(asked)
    weights = rng.normal(size=flight.states.shape)
    (length,) = indices(flights.engine, flights.engine.world.constraints[1, memory.LENGTH :][:1])
    once, twice = np.array([length]), np.array([length, length])
    told = flight.gradient(weights, seeds=[(once, np.ones(1)), (twice, np.array([0.25, 0.75]))])
    assert told.forward > 0
    np.testing.assert_allclose(told.seeds[1], told.seeds[0], rtol=1e-12)


@pytest.mark.parametrize("integrator", ["erk4m", "cf4"])
def test_other_methods_of_the_classical_tableau(integrator):
    system, states = hanging(2)
    flights, rng = flights_of(system, states, integrator=integrator), np.random.default_rng(4)
    asked = commands(rng, system, 30, 0.1)
    flight = flights.fly(asked)
    weights = np.zeros(flight.states.shape)
    weights[-1] = rng.normal(size=weights.shape[1:])
    told = flight.gradient(weights)
    assert told.forward == 0
    places = [(0, 0), (12, 3), (29, 5)]
    check_differences(lambda c: told_by(flights.fly(c), weights), asked, told, places)


def test_without_tapes_the_same(monkeypatch):
    """Every piece by derivatives forward: another algorithm for the same numbers."""
    system, states = hanging(2)
    rng = np.random.default_rng(6)
    asked = commands(rng, system, 20)
    flight = flights_of(system, states).fly(asked)
    weights = rng.normal(size=flight.states.shape)
    told = flight.gradient(weights)
    monkeypatch.setattr(stretches.Stretch, "addresses", lambda self: np.zeros(len(self.pieces.smooth), np.int64))  # fmt: skip
    monkeypatch.setattr(adjoint.TapeCodes, "another", lambda self, key, tried: 0 if key[0] > 1 else self.address(key))  # fmt: skip
    forward = flights_of(system, states).fly(asked).gradient(weights)
    assert forward.forward == 20 * 6 and told.forward == 0
    np.testing.assert_allclose(told.commands, forward.commands, rtol=1e-11, atol=1e-12)


def spinning(rate, step=STEP):
    """A stone that turns fast, with drag and rotors that lag."""
    body = Body("stone", 0.4, np.diag([1e-3, 2e-3, 3e-3]))
    rotors = tuple(Rotor(0, spin=s, thrust=1e-6, torque=2e-8, lag=0.05) for s in (1.0, -1.0))
    drag = Drag(0, linear=np.array([0.02, 0.02, 0.01]))
    system = System((body,), (), (), (), rotors=rotors, drags=(drag,))
    states = state(v=(1, 2, 3), w=(0.3, rate, 0.2))[None]
    return AdjointFlights(
        system, states, steps=5, step=step, prepare=lambda e: e.rotors.start(np.full(2, 400.0))
    )


def test_steps_that_error_control_cuts_are_taken_backward_too():
    """Most steps of a fast turn at a long step are cut; against central differences."""
    flights, rng = spinning(90.0, 2e-3), np.random.default_rng(7)
    asked = 400.0 + 20.0 * rng.normal(size=(80, 2))
    flight = flights.fly(asked)
    assert np.mean(flight._stretch.pieces.shares < 1.0) > 0.3
    weights = np.zeros(flight.states.shape)
    weights[-1, 0] = rng.normal(size=13)
    told = flight.gradient(weights)
    assert told.forward < 10
    places = [(0, 0), (40, 1), (79, 0)]
    check_differences(lambda c: told_by(flights.fly(c), weights), asked, told, places)


def test_what_is_decided_otherwise_gets_another_tape():
    """A turn that becomes faster than the series of small angles bear: one more tape, none of the old is followed."""
    body = Body("stone", 0.4, np.diag([2e-3, 2e-3, 3e-3]))
    flights = AdjointFlights(
        System((body,), (), (), (0,)), state(w=(0.0, 0.0, 60.0))[None], steps=5, step=5e-3, wrenches=np.zeros((1, 4)),
        tolerance=np.inf,
    )  # fmt: skip
    asked = np.zeros((60, 4))
    asked[:, 3] = 0.1  # from 60 to 110 rad/s; the switch is at 80
    flight = flights.fly(asked)
    assert flight.states[-1, 0, 12] > 100.0
    weights = np.zeros(flight.states.shape)
    weights[-1, 0, 12] = 1.0
    told = flight.gradient(weights)
    kinds = [len(r) for (kind, _), r in flights._codes._recordings.items() if kind == 3]
    assert max(kinds) == 2
    np.testing.assert_allclose(told.commands[:, 3], 5 * 5e-3 / 3e-3, rtol=1e-10)
    assert flight.gradient(weights).forward == 0  # now that there are both


@pytest.mark.parametrize("seed", [1, 4, 9])
def test_trees_with_stops_and_cables(seed):
    """Joints with motors, friction and stops, cables on links: against central differences of commands."""
    system, states, joints = random_scene(seed, stops=True)
    flights = AdjointFlights(system, states, joints=joints, steps=5)
    rng = np.random.default_rng(seed)
    n = len(flights.commands)
    asked = 0.05 * rng.normal(size=(40, n))
    flight = flights.fly(asked)
    weights, turns = rng.normal(size=flight.states.shape), rng.normal(size=flight.joints.shape)
    told = flight.gradient(weights, joints=turns)

    def number(commands):
        other = flights.fly(commands)
        return told_by(other, weights) + float(np.sum(other.joints * turns))

    assert flights.commands[-1].startswith("j")
    places = [(0, n - 1), (11, n - 1), (30, 4 if n > 5 else 0)]
    check_differences(number, asked, told, places)


@kernel
def inflow_duals(rows):
    numbers = duals(rows)
    numbers[3] = momentum_inflow(numbers[0], numbers[1], numbers[2], 0.3 * numbers[2] + 0.5)


@pytest.mark.parametrize("descent", [-3.0, 0.5, 4.0, 9.0, 15.0, 30.0])
def test_induced_velocity_has_derivatives_in_every_state_of_a_rotor(descent):
    """Climb, hover, the measured curve, its seams and the windmill, whose root is found by halving."""
    for thrust in (3.0, 11.0, 24.0):
        at = np.array([thrust, 2.3, -descent])
        rows = empty_duals((4,))
        rows[:3, 0] = at
        rows[:3, 1:4] = np.eye(3)
        inflow_duals(rows)
        for j, e in enumerate(np.eye(3)):
            h = 1e-6 * abs(at[j])
            ends = [
                momentum_inflow(*(at + s * h * e), 0.3 * (at + s * h * e)[2] + 0.5) for s in (1, -1)
            ]
            slope = (ends[0] - ends[1]) / (2.0 * h)
            assert abs(rows[3, 1 + j] - slope) < 1e-6 * max(1.0, abs(slope)), (thrust, j)


def test_what_is_refused():
    system, states = hanging()
    with pytest.raises(ContractError, match="steps must be a whole number >= 1"):
        AdjointFlights(system, states, steps=0)
    with pytest.raises(
        ContractError, match="knows the integrators rkmk4, erk4m and cf4, got 'splitting'"
    ):
        AdjointFlights(system, states, steps=1, integrator="splitting")
    flights = flights_of(system, states)
    for commands_, text in (
        (np.zeros((3, 11)), r"shape \(periods, 12\), got \(3, 11\)"),
        (np.zeros((0, 12)), "shape"),
        (np.full((2, 12), np.nan), "must be finite"),
    ):
        with pytest.raises(ContractError, match=text):
            flights.fly(commands_)
    flight = flights.fly(np.tile(hover(system).ravel(), (4, 1)))
    with pytest.raises(ContractError, match=r"states must have the shape \(5, 4, 13\)"):
        flight.gradient(np.zeros((4, 4, 13)))
    with pytest.raises(SolverError, match="moves too fast to be followed"):
        flights.fly(np.full((300, 12), 1e9))


def test_a_number_that_is_zero_is_refused_as_a_seed():
    """What a tape leaves out with it is not told as zero."""
    body = Body("stone", 0.4, np.diag([1e-3, 2e-3, 3e-3]))
    rotor = Rotor(0, thrust=1e-6, lag=0.05)
    system = System((body,), (), (), (), rotors=(rotor,))
    flights = AdjointFlights(system, state()[None], steps=5, prepare=lambda e: e.rotors.start(np.full(1, 400.0)))  # fmt: skip
    flight, world = flights.fly(np.full((4, 1), 400.0)), flights.engine.world
    weights = np.ones(flight.states.shape)
    amplitude = indices(flights.engine, world.rotors[0, int(memory.SPEED_AMPLITUDE) :][:1])
    with pytest.raises(ContractError, match="varies a number that is zero"):
        flight.gradient(weights, seeds=[(amplitude, np.ones(1))])
    bias = indices(flights.engine, world.rotors[0, int(memory.PER_SPEED2) + 2 :][:1])
    assert flight.gradient(weights, seeds=[(bias, np.ones(1))]).seeds[0] > 0.0
