"""Merging of welded bodies against the paper's table and against a plain sum over mass points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transforms3d.quaternions import quat2mat
from worlds import DRAGONFLY, TRIANGLE, quaternion, started, state

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ModelError
from rotor_dynamics.model.body import Body
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
    from rotor_dynamics.engine import Engine

    with pytest.raises(ModelError, match="two points of one rigid body"):
        Engine(System((quad, quad), (Cable(0, 1, 1.0),), (Weld(0, 1, np.ones(3)),)))
