"""Merging of welded bodies against the paper's table and against a plain sum over mass points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transforms3d.quaternions import quat2mat
from worlds import DRAGONFLY, TRIANGLE, quaternion, started, state

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ContractError, ModelError
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import Cable, System, Weld, merge_welds
from rotor_sim.plant.system import system_from_scenario

STRUCTURES = {
    "three_dragonflies_triangular_rigid": (1.028, (0.043847, 0, 0.007077), (0.043717, 0.044389, 0.087685), {(0, 2): -0.000118}),
    "heterogeneous_triangular_rigid": (
        1.978, (0.141246, 0.033746, 0.008337), (0.063728, 0.108529, 0.169738),
        {(0, 1): 0.015703, (0, 2): -0.000381, (1, 2): -0.000091},
    ),
    "two_dragonflies_bar_rigid": (0.604, (0, 0, 0.008030), (0.023313, 0.001199, 0.024255), {}),
    "five_dragonflies_triangular_rigid": (1.528, (0.074362, 0, 0.007935), (0.053832, 0.048495, 0.101673), {(0, 2): -0.000201}),
}  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_of_the_paper(name):
    """RT-A14: mass, centre and inertia of the four structures, to the printed digits."""
    mass, centre, diagonal, products = STRUCTURES[name]
    system = system_from_scenario(load_scenario(name))
    (group,) = merge_welds(system)
    payload = [b.name for b in system.bodies].index("payload")
    place = group.places[group.members.index(payload)]
    R = quat2mat(place.q).T
    J = R @ group.inertia @ R.T
    assert group.mass == pytest.approx(mass, abs=1e-9)
    np.testing.assert_allclose(-R @ place.p, centre, atol=1e-6)
    np.testing.assert_allclose(np.diag(J), diagonal, atol=1e-6)
    for (i, j), value in products.items():
        assert J[i, j] == pytest.approx(value, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_merged_inertia_equals_a_cloud_of_mass_points(seed):
    """Two unlike algorithms: tensors with parallel axes, and a sum over points."""
    rng = np.random.default_rng(seed)
    bodies, welds, cloud, masses = [], [], [], []
    for i in range(3):
        m = rng.uniform(0.1, 1.0, 6)
        points = rng.normal(0, 0.1, (6, 3))
        points -= m @ points / m.sum()
        J = sum(mk * (p @ p * np.eye(3) - np.outer(p, p)) for mk, p in zip(m, points, strict=True))
        bodies.append(Body(f"b{i}", float(m.sum()), J))
        p, q = (
            (np.zeros(3), quaternion(1, 0, 0, 0))
            if i == 0
            else (rng.normal(0, 0.5, 3), quaternion(*rng.normal(size=4)))
        )
        if i:
            welds.append(Weld(0, i, p, q))
        cloud.append(p + points @ quat2mat(q).T)
        masses.append(m)
    (group,) = merge_welds(System(tuple(bodies), (), tuple(welds)))
    points, m = np.vstack(cloud), np.concatenate(masses)
    centre = m @ points / m.sum()
    J = sum(
        mk * (p @ p * np.eye(3) - np.outer(p, p)) for mk, p in zip(m, points - centre, strict=True)
    )
    np.testing.assert_allclose(group.inertia, J, atol=1e-12)
    np.testing.assert_allclose(-group.places[0].p, centre, atol=1e-13)


def test_members_move_as_one():
    """Published motion of every member satisfies the rigid-body relations, accelerations too (differentiated)."""
    weld = Weld(0, 1, np.array([0.3, -0.1, 0.05]), quaternion(0.9, 0.1, -0.2, 0.3))
    system = System((Body("load", 0.3, TRIANGLE), Body("quad", 0.25, DRAGONFLY)), (), (weld,), (1,))
    w = np.array([0.5, -0.3, 0.8])
    load = state(q=quaternion(0.8, 0.2, 0.1, -0.3), w=w)
    R, R_w = quat2mat(load[3:7]), quat2mat(weld.q)
    from transforms3d.quaternions import qmult

    quad = state(R @ weld.p, qmult(load[3:7], weld.q), R @ np.cross(w, weld.p), R_w.T @ w)
    engine = started(system, np.array([load, quad]), np.array([[5.0, 0.01, -0.02, 0.005]]))
    h = 1e-4
    middle = engine.motion.copy()
    engine.step_length = h
    before = middle[:, 7:10]
    engine.run_until(h)
    after = engine.update_kinematics()[:, 7:10]
    np.testing.assert_allclose(
        (after - before) / h, 0.5 * (middle[:, 13:16] + engine.motion[:, 13:16]), atol=1e-5
    )


def test_what_cannot_be_built_is_refused():
    quad = Body("quad", 0.25, DRAGONFLY)
    with pytest.raises(ModelError, match="positive definite"):
        Body("flat", 1.0, np.diag([1.0, 0.0, 1.0]))
    with pytest.raises(ModelError, match="mass must be a finite number"):
        Body("light", 0.0, DRAGONFLY)
    with pytest.raises(ModelError, match="point mass"):
        System((quad, Body("load", 0.1)), (Cable(0, 1, 1.0, r_b=np.array([0.1, 0, 0])),))
    with pytest.raises(ModelError, match="loop"):
        merge_welds(
            System(
                (quad, quad, quad),
                (),
                (Weld(0, 1, np.ones(3)), Weld(1, 2, np.ones(3)), Weld(2, 0, np.ones(3))),
            )
        )
    with pytest.raises(ModelError, match="two points of one rigid body"):
        Engine(System((quad, quad), (Cable(0, 1, 1.0),), (Weld(0, 1, np.ones(3)),)))


@pytest.mark.parametrize("a, b", [(0, 0), (WORLD, WORLD)])
def test_a_cable_that_pulls_at_nothing_is_refused(a, b):
    """A number that was mistyped: such a cable hung there for ever without a word."""
    quad = Body("quad", 0.25, DRAGONFLY)
    with pytest.raises(ModelError, match=r"cable1: begins and ends on .*, and pulls at nothing"):
        System((quad, quad), (Cable(a, b, 1.0, r_b=np.array([0.1, 0.0, 0.0])),))


@pytest.mark.parametrize("inputs", [(-1,), (2,)])
def test_inputs_of_bodies_that_are_none_are_refused(inputs):
    quad = Body("quad", 0.25, DRAGONFLY)
    with pytest.raises(ModelError, match=r"inputs: body index must be 0\.\.1, got"):
        System((quad, quad), inputs=inputs)


@pytest.mark.parametrize("step", [0.0, -1e-3, np.nan, np.inf])
def test_steps_and_tolerances_that_cannot_be_are_refused(step):
    system = System((Body("quad", 0.25, DRAGONFLY),))
    with pytest.raises(ContractError, match="step: must be a finite number > 0 s, got"):
        Engine(system, step=step)
    for tolerance in (0.0, -1.0, np.nan):
        with pytest.raises(ContractError, match="tolerance: must be above 0, got"):
            Engine(system, integrator="dopri5", tolerance=tolerance)


def test_a_joint_that_turns_no_inertia_is_refused():
    """A point mass on the axis has mass, but nothing that turns: the acceleration is 0/0."""
    base, bob = Body("base", 1.0, DRAGONFLY), Body("bob", 0.1)
    system = System((base, bob), joints=(Joint(0, 1, np.array([0.0, 1.0, 0.0]), name="elbow"),))
    states = np.zeros((2, 13))
    states[:, 3] = 1.0
    with pytest.raises(ModelError, match="joint 'elbow': what it moves, or what carries it"):
        Engine(system).set_state(states, joints=np.zeros((1, 2)))


def test_driving_efforts_are_those_without_cables():
    """A weight at the end of a driven arm; not told while a cable pulls: it was the lever of a unit pull."""
    J = np.diag([0.02, 0.02, 0.03])
    arm = Body("arm", 0.2, 0.02 * J, np.array([0.1, 0.0, 0.0]))
    states = np.zeros((3, 13))
    states[:, 3], states[2, :3] = 1.0, (0.2, 0.0, -0.5)
    for length, pulls in ((0.6, False), (0.5, True)):
        engine = Engine(
            System(
                (Body("base", 3.0, J), arm, Body("load", 0.5)),
                (Cable(2, 1, length, r_b=np.array([0.2, 0.0, 0.0])),),
                joints=(
                    Joint(WORLD, 0, np.array([0.0, 0.0, 1.0]), driven=True),
                    Joint(0, 1, np.array([0.0, 1.0, 0.0]), driven=True),
                ),
            )
        )
        engine.set_state(states, joints=np.zeros((2, 2)))
        if pulls:
            with pytest.raises(ContractError, match="not known while a cable pulls"):
                _ = engine.joints.driving_efforts
            assert np.isnan(engine.joints.told_efforts).all()
        else:
            efforts = engine.joints.driving_efforts
            np.testing.assert_allclose(efforts, [0.0, -0.2 * 0.1 * 9.81], atol=1e-12)
            np.testing.assert_array_equal(engine.joints.told_efforts, efforts)
