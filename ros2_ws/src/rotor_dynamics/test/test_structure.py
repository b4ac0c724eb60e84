"""Bodies attached and released while everything moves: momenta, energy, and what goes on as it was (T.14)."""

from dataclasses import replace

import numpy as np
import pytest
from trees import centres, joint_state, masses_of, planted, random_tree, unit
from worlds import random_inertia, state

from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import Change, Grip
from rotor_core.errors import ContractError, SolverError
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import Cable, Rotor, System, Weld
from rotor_dynamics.reconfigure import attached, rebuilt, released
from rotor_sim.simulation import START_TIME, Simulation
from validation.oracles import kkt
from validation.oracles.kkt import rotation, skew

ROUNDING = 1e-12
"""Relative to the largest momentum (or energy) of one body: sums in double precision, and one solve."""

SEEDS = range(20)


def drawn(seed):
    """A vehicle with an arm, two free bodies and a point mass, all in motion; the last three can be captured."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    tree = random_tree(rng, n, passive=True, gravity=9.81)
    free = [
        Body("box", 0.6, random_inertia(rng, 0.6), rng.uniform(-0.1, 0.1, 3)),
        Body("ball", 0.3, random_inertia(rng, 0.3)),
        Body("point", 0.2),
    ]
    system = replace(tree, bodies=(*tree.bodies, *free))
    rows = [
        state(rng.uniform(-1, 1, 3), unit(rng, 4), rng.normal(0, 1.5, 3), rng.normal(0, 1.5, 3))
        for _ in system.bodies
    ]
    rows[-1][3:7], rows[-1][10:] = (1.0, 0.0, 0.0, 0.0), 0.0
    slides = np.array([j.kind == "prismatic" for j in system.joints])
    angles = rng.uniform(-np.pi, np.pi, n) * np.where(slides, 0.1, 1.0)
    joints = np.column_stack([angles, rng.normal(0, 1.5, n)])
    return rng, planted(system, np.array(rows), joints)


def capture(engine, parent, child):
    """The world after it."""
    return rebuilt(engine, *attached(engine, parent, child), after=engine)


def let_go(engine, child):
    return rebuilt(engine, released(engine.system, child), engine.update_kinematics()[:, :13].copy(), joint_state(engine), after=engine)  # fmt: skip


def momenta(engine):
    """Linear, and angular about the origin of W; motors turn without momentum of their own. (6,)."""
    return kkt.momenta(masses_of(engine.system), centres(engine.system, engine.update_kinematics()))


def kinetic_energy(engine):
    """Of bodies and motors."""
    rows = centres(engine.system, engine.update_kinematics())
    motors = sum(0.5 * j.armature * r**2 for j, r in zip(engine.system.joints, engine.joints.rates, strict=True))  # fmt: skip
    return kkt.total_energy(masses_of(engine.system), rows, 0.0) + motors


def twists(engine):
    """Velocities of all centres of mass and angular velocities in W, then rates of joints; with their masses."""
    rows, bodies = centres(engine.system, engine.update_kinematics()), engine.system.bodies
    joints = engine.system.joints
    u = np.concatenate([*([*r[7:10], *(rotation(r[3:7]) @ r[10:13])] for r in rows), engine.joints.rates])  # fmt: skip
    M = np.zeros((len(u), len(u)))
    for i, (r, body) in enumerate(zip(rows, bodies, strict=True)):
        R, J = rotation(r[3:7]), np.zeros((3, 3)) if body.inertia_B is None else body.inertia_B
        M[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = body.mass * np.eye(3)
        M[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = R @ J @ R.T
    for i, joint in enumerate(joints):
        M[6 * len(bodies) + i, 6 * len(bodies) + i] = joint.armature
    return u, M


def allowed(engine):
    """Columns G: motions of all bodies that joints and rigid links allow, by walking the tree from its roots."""
    system, motion = engine.system, engine.update_kinematics()
    nb, nj = len(system.bodies), len(system.joints)
    frames: dict[int, np.ndarray] = {}  # velocity of the frame and angular velocity in W, per coordinate  # fmt: skip
    held = {x.child: x for x in (*system.joints, *system.welds)}
    roots = [i for i in range(nb) if i not in held]
    size = 6 * len(roots) + nj
    for k, i in enumerate(roots):
        frames[i] = np.zeros((6, size))
        frames[i][:, 6 * k : 6 * k + 6] = np.eye(6)
    while len(frames) < nb:
        for i, link in held.items():
            if i in frames or link.parent not in frames:
                continue
            up = frames[link.parent]
            arm = motion[i, :3] - motion[link.parent, :3]
            own = up.copy()
            own[:3] -= skew(arm) @ up[3:]
            if isinstance(link, Joint):
                axis = rotation(motion[link.parent, 3:7]) @ rotation(link.q) @ link.axis
                column = 6 * len(roots) + system.joints.index(link)
                own[3 if link.kind == "revolute" else 0 :, column][:3] += axis
            frames[i] = own
    G = np.zeros((6 * nb + nj, size))
    for i, body in enumerate(system.bodies):
        G[6 * i : 6 * i + 6] = frames[i]
        G[6 * i : 6 * i + 3] -= skew(rotation(motion[i, 3:7]) @ body.com) @ frames[i][3:]
    G[6 * nb :, 6 * len(roots) :] = np.eye(nj)
    return G


def targets(engine, rng):
    """A body that catches (any of the arm, or a free one) and one that is caught."""
    n = len(engine.system.bodies)
    child = int(rng.integers(n - 3, n))
    parent = int(rng.choice([i for i in range(n - 1) if i != child]))
    return parent, child


# --- captures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_capture_keeps_both_momenta(seed):
    rng, engine = drawn(seed)
    before = momenta(engine)
    after = capture(engine, *targets(engine, rng))
    assert np.abs(momenta(after) - before).max() < ROUNDING * max(1.0, np.abs(before).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_capture_is_the_nearest_allowed_motion_in_kinetic_energy(seed):
    """``G (G^T M G)^-1 G^T M v``; the energy that is lost is that of the motion that is lost."""
    rng, engine = drawn(seed)
    v, M = twists(engine)
    lost = kinetic_energy(engine)
    after = capture(engine, *targets(engine, rng))
    G = allowed(after)  # the spin of a free point has no mass: least squares
    expected = G @ np.linalg.lstsq(G.T @ M @ G, G.T @ M @ v, rcond=1e-13)[0]
    found, _ = twists(after)
    heavy = np.flatnonzero(np.diag(M))  # the spin of a point mass means nothing
    scale = np.abs(v).max()
    assert np.abs(found - expected)[heavy].max() < 1e-10 * scale  # condition of G^T M G: 1e3 to 1e5
    lost -= kinetic_energy(after)
    assert lost >= 0.0
    change = v - expected
    assert lost == pytest.approx(0.5 * change @ M @ change, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_capture_moves_nothing_and_a_release_changes_nothing(seed):
    rng, engine = drawn(seed)
    parent, child = targets(engine, rng)
    poses = engine.update_kinematics()[:, :7].copy()
    poses *= np.where(np.arange(7) >= 3, np.sign(poses[:, 3:4]), 1.0)
    held = capture(engine, parent, child)
    now = held.update_kinematics()[:, :7] * np.where(
        np.arange(7) >= 3, np.sign(held.motion[:, 3:4]), 1.0
    )
    whole = [i for i in range(len(poses)) if engine.system.bodies[i].inertia_B is not None]
    np.testing.assert_allclose(now[:, :3], poses[:, :3], atol=ROUNDING)
    np.testing.assert_allclose(now[whole], poses[whole], atol=ROUNDING)
    np.testing.assert_allclose(held.joints.angles, engine.joints.angles, atol=0.0)
    held.run(50)
    before = held.update_kinematics()[:, :13].copy()
    free = let_go(held, child)
    np.testing.assert_allclose(free.update_kinematics()[whole, :13], before[whole], atol=ROUNDING * np.abs(before).max())  # fmt: skip
    np.testing.assert_array_equal(free.joints.rates, held.joints.rates)
    assert free.time == held.time and free.system.welds == engine.system.welds


def test_two_bodies_that_meet_head_on():
    """Closed form: common velocity, and the angular momentum about the common centre of mass."""
    J = np.diag([0.02, 0.03, 0.04])
    system = System((Body("a", 2.0, J), Body("b", 1.0, J)), gravity=0.0)
    engine = Engine(system)
    engine.set_state(np.array([state(v=(1, 0, 0)), state((0, 0.3, 0), v=(-1, 0, 0))]))
    after = capture(engine, 0, 1).update_kinematics()
    reduced = 2.0 / 3.0
    rate = -reduced * 0.3 * -2.0 / (0.08 + reduced * 0.3**2)  # slip of b is -2 m/s along x, 0.3 m along y  # fmt: skip
    np.testing.assert_allclose(after[:, 12], rate, rtol=1e-13)
    centre = (2.0 * after[0, 7:10] + after[1, 7:10]) / 3.0
    np.testing.assert_allclose(centre, (1.0 / 3.0, 0.0, 0.0), atol=1e-14)


def test_capture_by_the_hand_of_an_arm_on_a_free_base():
    """The base feels it through the arm: with a locked elbow as one body, with a free one less."""
    J = np.diag([0.1, 0.1, 0.1])
    bodies = (
        Body("base", 4.0, J),
        Body("arm", 0.5, 0.02 * np.eye(3), np.array([0.25, 0, 0])),
        Body("box", 0.5, 0.001 * np.eye(3)),
    )
    states = np.array([state(), state(), state((0.5, 0, 0), v=(0, 0, -1))])
    hinge = System(bodies, joints=(Joint(0, 1, np.array([0.0, 1.0, 0.0])),), gravity=0.0)
    engine = planted(hinge, states, np.zeros((1, 2)))
    free = capture(engine, 1, 2)
    locked = Engine(System(bodies, welds=(Weld(0, 1, np.zeros(3)),), gravity=0.0))
    locked.set_state(states)
    locked = capture(locked, 0, 2)
    assert abs(free.motion[0, 11]) < 1e-12  # the hinge is at the centre of mass of the base: no moment  # fmt: skip
    assert locked.motion[0, 11] > 0.3
    assert free.joints.rates[0] > locked.motion[0, 11]  # lowers the arm: positive about y
    for world in (free, locked):
        np.testing.assert_allclose(momenta(world), momenta(engine), atol=1e-15 + ROUNDING)


def test_a_second_capture_and_a_release_in_between():
    _, engine = drawn(3)
    n = len(engine.system.bodies)
    one = capture(engine, 1, n - 3)
    both = capture(one, n - 3, n - 2)  # a body that is held can catch another
    np.testing.assert_allclose(momenta(both), momenta(engine), atol=ROUNDING * np.abs(momenta(engine)).max())  # fmt: skip
    back = let_go(both, n - 3)  # goes away with what it caught
    assert {(w.parent, w.child) for w in back.system.welds} == {(n - 3, n - 2)}
    back.run(20)
    apart = back.update_kinematics()[n - 2, :3] - back.motion[n - 3, :3]
    start = both.motion[n - 2, :3] - both.motion[n - 3, :3]
    assert np.linalg.norm(apart) == pytest.approx(np.linalg.norm(start), rel=1e-12)


def test_a_taut_cable_takes_part_after_the_capture():
    """The line of a caught parcel stays, and pulls: never longer than it is, and momentum goes to the ground."""
    J = np.diag([0.1, 0.1, 0.1])
    system = System(
        (Body("hand", 3.0, J), Body("box", 0.5, 0.01 * J)),
        (Cable(WORLD, 1, 1.0, np.array([0, 0, 1.0])),),
    )
    engine = Engine(system)
    engine.set_state(np.array([state((0.2, 0, 0), v=(0, 0, -1)), state()]))
    after = capture(engine, 0, 1)
    after.update_kinematics()
    assert after.taut[0] and abs(after.motion[1, 9]) < 1e-12
    for _ in range(100):
        after.run(1)
        assert np.linalg.norm(after.update_kinematics()[1, :3] - [0, 0, 1]) < 1.0 + 1e-9


# --- what goes on ---------------------------------------------------------------------------------


def flown(steps, change):
    """A vehicle on rotors with lag, its arm with lagging motors and a driven joint, a cut and a whole cable.

    ``change``: what happens in the middle, to a box that moves along with the base anyway.
    """
    rng = np.random.default_rng(5)
    J = np.diag([0.1, 0.12, 0.2])
    link = 0.01 * np.eye(3)
    bodies = (
        Body("base", 3.0, J),
        Body("l1", 0.4, link, np.array([0.2, 0, 0])),
        Body("l2", 0.2, link),
        Body("bob", 0.3),
        Body("box", 1e-9, 1e-12 * np.eye(3)),
    )
    rotors = tuple(
        Rotor(0, spin=s, hub=h, thrust=1e-5, torque=2e-7, inertia=1e-5, lag=0.1)
        for s, h in ((1.0, np.array([0.2, 0, 0])), (-1.0, np.array([-0.2, 0, 0])))
    )
    joints = (
        Joint(0, 1, np.array([0.0, 1.0, 0.0]), lag=0.2, damping=0.1, name="elbow"),
        Joint(1, 2, np.array([0.0, 0.0, 1.0]), np.array([0.4, 0, 0]), driven=True, name="wrist"),
    )
    cables = (Cable(0, 3, 0.5), Cable(WORLD, 3, 5.0))
    system = System(bodies, cables, (), (0,), rotors=rotors, joints=joints)
    engine = Engine(system)
    spin = np.array([0.1, -0.2, 0.3])
    place = np.array([0.1, 0.1, 0.1])
    rows = [
        state(w=spin),
        state(),
        state(),
        state((0, 0, -0.5)),
        state(place, v=np.cross(spin, place), w=spin),
    ]
    engine.set_state(np.array(rows), joints=np.zeros((2, 2)))
    engine.rotors.start(np.array([1000.0, 1000.0]))
    engine.rotors.act(np.array([1300.0, 1290.0]))
    engine.set_wrenches(np.array([[5.0, 0.1, 0.2, -0.1]]))
    engine.set_sinusoid(0, np.array([5.0, 0, 0, 0]), np.array([1.0, 0.1, 0, 0]), np.full(4, 2.0), np.zeros(4))  # fmt: skip
    engine.joints.act(np.array([1.5, 0.0]))
    engine.joints.prescribe(1, np.array([0.0, 0.0, 0.5, 0.1]), 1.0)
    engine.set_wind(np.tile(rng.normal(size=3), (5, 1)))
    engine.cut(1)
    engine = change(engine)
    engine.run(steps)
    return engine


def test_motion_goes_on_through_a_capture_and_release():
    """A box of no weight that moves along with the base anyway: everything else goes on as without.

    1e-9 kg of it pull at 3 kg: differences of 1e-9 m at most, from what it weighs.
    """
    plain = flown(300, lambda engine: engine)
    through = flown(300, lambda engine: let_go(capture(engine, 0, 4), 4))
    for a, b in (
        (plain.update_kinematics()[:4], through.update_kinematics()[:4]),
        (joint_state(plain), joint_state(through)),
    ):
        np.testing.assert_allclose(b, a, atol=1e-7)  # tensions and accelerations included
    np.testing.assert_allclose(through.rotors.speeds, plain.rotors.speeds, rtol=1e-12)
    np.testing.assert_array_equal(through.rotors.targets, plain.rotors.targets)
    np.testing.assert_allclose(through.joints.efforts, plain.joints.efforts, rtol=1e-12)
    np.testing.assert_array_equal(through.taut, plain.taut)
    assert through.time == pytest.approx(plain.time, abs=1e-15)
    assert not through.world.constraint_int[1, 0] or not through.taut[1]


def latched(cut):
    """A load on a cable of 0.5 m below a vehicle that hovers: latched after 0.1 s, let go after 0.2 s."""
    bodies = (Body("base", 3.0, np.diag([0.02, 0.02, 0.03])), Body("load", 0.5))
    system = System(bodies, (Cable(0, 1, 0.5),), (), (0,))
    engine = Engine(system)
    engine.set_state(np.array([state(), state((0, 0, -0.5))]))
    engine.set_wrenches(np.array([[3.5 * 9.81, 0.0, 0.0, 0.0]]))
    for when, change in (
        ("before", lambda e: e),
        ("held", lambda e: capture(e, 0, 1)),
        ("after", lambda e: let_go(e, 1)),
    ):
        engine = change(engine)
        if cut == when:
            engine.cut(0)
        engine.run(100)
        assert engine.is_cut[0] == (
            cut in ("before", "held", "after")[: ("before", "held", "after").index(when) + 1]
        )
    return engine


def test_a_cable_to_a_load_that_was_latched_holds_again():
    engine = latched(None)
    assert engine.alive[0] and engine.taut[0] and engine.tensions[0] == pytest.approx(0.5 * 9.81)
    assert not [e for e in engine.take_events() if e.type == "cut"]


@pytest.mark.parametrize("cut", ["before", "held", "after"])
def test_a_cut_cable_does_not_hold_again(cut):
    engine = latched(cut)
    assert engine.is_cut[0] and engine.tensions[0] == 0.0
    assert engine.distances[0] > 0.52
    assert capture(engine, 0, 1).is_cut[0] and let_go(capture(engine, 0, 1), 1).is_cut[0]


def test_a_parcel_on_a_driven_joint_at_rest_is_held():
    """A joint whose motion is prescribed, and which rests, is rigid in a capture."""
    J = np.diag([0.1, 0.1, 0.1])
    bodies = (
        Body("base", 4.0, J),
        Body("arm", 0.5, 0.02 * np.eye(3)),
        Body("box", 0.5, 0.001 * np.eye(3)),
    )
    joint = Joint(0, 1, np.array([0.0, 1.0, 0.0]), driven=True)
    engine = Engine(System(bodies, joints=(joint,), gravity=0.0))
    engine.set_state(np.array([state(), state(), state((0.5, 0, 0), v=(0, 0, -1))]), joints=np.zeros((1, 2)))  # fmt: skip
    after = capture(engine, 1, 2)
    np.testing.assert_allclose(momenta(after), momenta(engine), atol=ROUNDING)
    assert after.joints.rates[0] == 0.0 and after.motion[0, 11] > 0.3


# --- refusals, and scenarios ----------------------------------------------------------------------


def test_what_cannot_be_attached_or_released_is_refused():
    _, engine = drawn(1)
    n = len(engine.system.bodies)
    for parent, child in ((0, 1), (n - 1, 0), (n - 1, n - 1)):
        with pytest.raises(ContractError, match="it is held already"):
            attached(engine, parent, child)
    with pytest.raises(ContractError, match="release 'box': nothing holds it"):
        released(engine.system, n - 3)


def test_a_simulation_attaches_and_releases_by_name():
    simulation = Simulation(load_scenario("pick_and_place"))
    with pytest.raises(
        ContractError, match="no body 'am1/hand'; known: am1, parcel, am1/link1, am1/link2"
    ):
        simulation.attach("am1/hand", "parcel")
    before = momenta(simulation.engine)
    simulation.attach("am1/link2", "parcel")
    np.testing.assert_allclose(momenta(simulation.engine), before, atol=ROUNDING)
    with pytest.raises(ContractError, match="attach 'parcel': it is held already"):
        simulation.attach("am1", "parcel")
    simulation.release("parcel")
    with pytest.raises(ContractError, match="nothing holds it"):
        simulation.release("parcel")
    assert [(e.type, e.bodies) for e in simulation.take_events() if e.bodies] == [
        ("attach", ("am1/link2", "parcel")), ("release", ("parcel",)),
    ]  # fmt: skip
    simulation.reset()
    simulation.attach("am1", "parcel")  # a reset lets go of everything


def test_a_grip_out_of_reach_stops_the_run():
    scenario = load_scenario("pick_and_place")
    grip = Change(0.0, attach=Grip("parcel", "am1/link2", (0.47, 0.0, 0.0), 0.05))
    simulation = Simulation(replace(scenario, changes=(grip,)))
    with pytest.raises(
        SolverError, match=r"attach at 0\.000 s: 'parcel' is .* more than within_m \(0.05 m\)"
    ):
        simulation.act(np.array([[70.0, 0.0, 0.0, 0.0]]))


def test_changes_happen_at_their_times_in_order():
    scenario = load_scenario("pick_and_place")
    changes = (
        Change(0.03, release="parcel"),
        Change(0.01, attach=Grip("parcel", "am1/link2", within_m=5.0)),
        Change(0.02, cut=1),
    )
    simulation = Simulation(replace(scenario, changes=changes))
    for _ in range(8):
        simulation.step(np.array([[70.0, 0.0, 0.0, 0.0]]))
    found = [(e.type, round(e.time - START_TIME, 9)) for e in simulation.take_events()]
    assert [x for x in found if x[0] in ("attach", "cut", "release")] == [
        ("attach", 0.01), ("cut", 0.02), ("release", 0.03),
    ]  # fmt: skip
