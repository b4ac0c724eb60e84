"""Accelerations and tensions.

The engine against a dense KKT solve, golden vectors, and closed forms.
"""

import numpy as np
import pytest
from transforms3d.quaternions import quat2mat
from worlds import (
    BOX,
    BOX4,
    DRAGONFLY,
    TRI_C,
    at_rest_along,
    oracle,
    quaternion,
    random_team,
    started,
    state,
    team,
)

from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, System
from validation.oracles import kkt, rotortm


def full_wrenches(system, wrenches):
    out = np.zeros((len(system.bodies), 4))
    out[list(system.inputs)] = wrenches
    return out


@pytest.mark.parametrize("n", range(1, 7))
def test_accelerations_agree_with_kkt_and_complement_each_other(n):
    """RT-A2.

    200 random states over n = 1..6 with random taut sets; tolerance of rounding in a system of
    condition ~1e4.
    """
    rng = np.random.default_rng(n)
    for _ in range(34):
        taut = rng.random(n) < 0.7
        system, states = random_team(rng, n, taut)
        states = at_rest_along(system, states, taut)
        wrenches = rng.uniform([0, -0.05, -0.05, -0.02], [6, 0.05, 0.05, 0.02], (n, 4))
        engine = started(system, states, wrenches)
        bodies, cables = oracle(system)
        acceleration, tension, d_ddot = kkt.accelerations(
            bodies, cables, engine.taut, states, full_wrenches(system, wrenches)
        )
        scale = 1.0 + np.max(np.abs(acceleration))
        assert np.max(np.abs(engine.motion[:, 13:19] - acceleration)) < 1e-9 * scale
        assert np.max(np.abs(engine.tensions - tension)) < 1e-9 * scale
        # H.2: pull or let go, for every cable that was at its length
        assert np.all(tension >= 0.0)
        assert np.all(d_ddot[taut] <= 1e-9 * scale)
        assert not np.any(engine.taut & ~taut)


def test_golden_point_mass_taut():
    """G1."""
    xi = np.array([0.6, 0.0, -0.8])
    bodies = (Body("quad", 0.25, DRAGONFLY), Body("load", 0.07))
    system = System(bodies, (Cable(0, 1, 0.5),), (), (0,))
    x = np.array([0.0, 0.0, 1.0])
    q = np.array([np.cos(0.1), np.sin(0.1), 0, 0])
    states = np.array(
        [state(x, q, (0, -0.1, 0), (0.1, -0.2, 0.3)), state(x + 0.5 * xi, v=(0.4, 0.1, 0.3))]
    )
    engine = started(system, states, np.array([[3.5, 0.01, 0.02, 0.005]]))
    assert engine.taut[0]
    assert engine.tensions[0] == pytest.approx(0.6320095, rel=1e-6)
    np.testing.assert_allclose(engine.motion[1, 13:16], (-5.4172245, 0, -2.5870340), atol=1e-6)
    np.testing.assert_allclose(
        engine.motion[0, 13:16], (1.5168229, -2.7813706, 1.8885016), atol=1e-6
    )
    np.testing.assert_allclose(
        engine.motion[0, 16:19], (16.6875541, 33.9800509, 4.6466171), rtol=1e-6
    )
    u = 3.5 * kkt.rotation(q)[:, 2]
    xi_dot = (np.array([0.4, 0.1, 0.3]) - np.array([0, -0.1, 0])) / 0.5
    load, vehicle, tension = rotortm.point_mass_taut(0.25, 0.07, 0.5, xi, xi_dot, u)
    np.testing.assert_allclose(engine.motion[1, 13:16], load, atol=1e-12)
    np.testing.assert_allclose(engine.motion[0, 13:16], vehicle, atol=1e-12)
    assert engine.tensions[0] == pytest.approx(tension, rel=1e-12)


def test_golden_three_robots_third_slack():
    """G2."""
    xis = np.array([(0.6, 0, -0.8), (0, -0.6, -0.8), (0, 0, -1)])
    distance = np.array([1.0, 1.0, 0.9])
    q_L = quaternion(0.9950042, 0, 0.0998334, 0)
    q_L = np.array([np.cos(0.1), 0, np.sin(0.1), 0])
    R = kkt.rotation(q_L)
    v_L, Omega = np.array([0.2, -0.1, 0.3]), np.array([0.5, -0.4, 0.3])
    rows = [state((0, 0, 0), q_L, v_L, Omega)]
    for k in range(3):
        attach, attach_v = R @ TRI_C[k], v_L + R @ np.cross(Omega, TRI_C[k])
        rows.append(
            state(
                attach - distance[k] * xis[k],
                (np.cos(0.05 * (k + 1)), np.sin(0.05 * (k + 1)), 0, 0),
                attach_v - distance[k] * np.cross((0.2, 0.5, -0.3), xis[k]),
            )
        )
    wrenches = np.array([(3.4, 0.01, 0, 0), (3.6, 0, 0.02, 0), (2.6, 0, 0, 0.01)])
    engine = started(team(3, TRI_C, np.ones(3)), np.array(rows), wrenches)
    np.testing.assert_array_equal(engine.taut, [True, True, False])
    np.testing.assert_allclose(
        engine.motion[0, 13:16], (-1.7423237, 1.4484482, -5.5556374), rtol=1e-6
    )
    np.testing.assert_allclose(
        engine.motion[0, 16:19], (-23.5334946, -13.8590711, -2.9585168), rtol=1e-6
    )
    np.testing.assert_allclose(engine.tensions, (0.8072767, 0.6711143, 0), rtol=1e-6)
    np.testing.assert_allclose(
        engine.motion[1, 13:16], (1.9374640, -1.3577345, 1.1387713), rtol=1e-6
    )
    np.testing.assert_allclose(engine.motion[2, 13:16], (0, -4.4715128, 2.1553929), atol=3e-6)
    np.testing.assert_allclose(engine.motion[3, 13:16], (0, -3.0734101, 0.1254995), atol=3e-6)


def test_external_wrench_loads_the_cable():
    """A force on a hanging load and the cable to the world share it: T = m g + F (E-R8)."""
    system = System(
        (Body("load", 0.5, DRAGONFLY),), (Cable(WORLD, 0, 1.0, r_a=np.array([0.3, 0.2, 2.0])),)
    )
    engine = started(system, np.array([state((0.3, 0.2, 1.0))]))
    assert engine.tensions[0] == pytest.approx(0.5 * 9.81, rel=1e-12)
    engine.set_external([(0, np.array([0, 0, -2.0]), np.array([0, 0, 0.01]))])
    assert engine.tensions[0] == pytest.approx(0.5 * 9.81 + 2.0, rel=1e-12)
    assert engine.update_kinematics()[0, 18] == pytest.approx(0.01 / DRAGONFLY[2, 2], rel=1e-12)


def test_two_cables_between_the_same_points_share_the_load():
    """Dependent rows: the pulls of smallest norm are equal, and the load does not fall."""
    cable = Cable(WORLD, 0, 1.0, r_a=np.array([0.0, 0.0, 1.0]))
    system = System((Body("load", 0.4),), (cable, cable))
    engine = started(system, np.array([state()]))
    np.testing.assert_allclose(engine.tensions, 0.2 * 9.81, rtol=1e-9)
    engine.run(1000)
    assert np.max(np.abs(engine.update_kinematics()[0, :3])) < 1e-12
    assert engine.were_redundant


@pytest.mark.parametrize("yaw", [0.0, 0.05, 0.21, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("push", [(0.5, 0.25, 0.0), (0.3, 0.0, 0.0)])
def test_a_box_on_four_equal_cables_swings_and_turns(push, yaw):
    """A singular configuration: parallel cables are dependent, and turning makes them contradict each other.

    One after another lets go at speeds near rounding. No error, no energy from nowhere, and lengths to
    the gap at which dependent cables count as equal (1e-11 m) over the pivots that are left (1e-2).
    """
    cables = tuple(Cable(WORLD, 0, 1.0, r_a=r + [0.0, 0.0, 1.0], r_b=r) for r in BOX4)
    engine = started(
        System((Body("box", 0.3, BOX),), cables), np.array([state(v=push, w=(0, 0, yaw))])
    )

    def energy(m):
        return 0.15 * m[7:10] @ m[7:10] + 0.5 * m[10:13] @ BOX @ m[10:13] + 0.3 * 9.81 * m[2]

    before, longest = energy(engine.motion[0]), -1.0
    for _ in range(3000):
        engine.run(1)
        m = engine.update_kinematics()[0]
        ends = m[:3] + BOX4 @ quat2mat(m[3:7]).T
        longest = max(longest, np.max(np.linalg.norm(ends - BOX4 - [0, 0, 1.0], axis=1)) - 1.0)
        after = energy(m)
        assert after - before < 1e-9
        before = after
    assert longest < 1e-9
    assert all(e.energy_change < 1e-12 for e in engine.take_events())


def test_payload_above_the_vehicle_is_free_at_once():
    """RT-A7: a cable cannot push; the load above the vehicle falls freely instead of balancing."""
    system = System(
        (Body("quad", 0.25, DRAGONFLY), Body("load", 0.07)), (Cable(0, 1, 0.5),), (), (0,)
    )
    engine = started(
        system,
        np.array([state((0, 0, 1.0)), state((0, 0, 1.5))]),
        np.array([[0.25 * 9.81, 0, 0, 0]]),
    )
    assert not engine.taut[0]
    np.testing.assert_allclose(engine.motion[1, 13:16], (0, 0, -9.81), atol=1e-12)
    engine.run(100)
    assert engine.update_kinematics()[1, 2] == pytest.approx(1.5 - 0.5 * 9.81 * 0.1**2, abs=1e-12)
