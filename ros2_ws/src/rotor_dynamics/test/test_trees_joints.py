"""Single joints against closed forms: springs, dampers, friction, motor lag, prescribed motion, stops."""

from dataclasses import replace

import numpy as np
import pytest
from trees import (
    Maximal,
    X,
    Y,
    Z,
    at_rest,
    centres,
    energy,
    joint_state,
    momenta,
    planted,
    random_start,
    random_tree,
    vehicle,
)
from worlds import quaternion, random_inertia, state

from rotor_core.errors import ContractError, ModelError
from rotor_dynamics.actuation.joints import quintic
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import System
from validation.oracles import kkt

INERTIA = 0.5 * 0.3**2 + 0.02
"""About the axis, of a rod of 0.5 kg whose centre of mass is 0.3 m away."""

STEP_ERROR = 1e-10
"""RK4 at 1 ms, motions of 10 rad/s over 1 s: (0.01)^4 / 120 times the phase of 10 rad."""


def rod(axis=Z, **options):
    """A rod on the ground, along x."""
    body = Body("rod", 0.5, np.diag([0.001, 0.02, 0.02]), 0.3 * X)
    return System((body,), joints=(Joint(WORLD, 0, axis, name="axle", **options),))


def slider(axis=X, **options):
    """A mass of 2 kg on a rail on the ground."""
    body = Body("mass", 2.0, 0.01 * np.eye(3))
    rail = Joint(WORLD, 0, axis, q=quaternion(1, 0, 0, 0), kind="prismatic", name="rail", **options)
    return System((body,), joints=(rail,))


def oscillation(t, x0, v0, w2, c):
    """Of ``x_ddot = -w2 x - 2 c x_dot``, underdamped: x and its rate."""
    w = np.sqrt(w2 - c * c)
    b = (v0 + c * x0) / w
    fading, C, S = np.exp(-c * t), np.cos(w * t), np.sin(w * t)
    return fading * (x0 * C + b * S), fading * ((b * w - c * x0) * C - (x0 * w + c * b) * S)


@pytest.mark.parametrize("armature", [0.0, 0.03])
def test_a_sprung_and_damped_hinge_is_an_oscillator(armature):
    """On a vertical axis, so that gravity does nothing."""
    system = rod(stiffness=8.0, damping=0.2, rest=0.4, armature=armature)
    engine = planted(system, at_rest(1), np.array([[1.2, -3.0]]))
    J = INERTIA + armature
    for _ in range(10):
        engine.run(100)
        x, v = oscillation(engine.time, 0.8, -3.0, 8.0 / J, 0.1 / J)
        assert engine.joints.angles[0] == pytest.approx(0.4 + x, abs=100 * STEP_ERROR)
        assert engine.joints.rates[0] == pytest.approx(v, abs=1000 * STEP_ERROR)


def test_a_sprung_and_damped_slider_hangs_on_its_spring():
    """On an inclined rail: gravity along it shifts the middle; the armature is not weighed."""
    axis = np.array([0.6, 0.0, 0.8])
    system = slider(axis, stiffness=150.0, damping=3.0, rest=0.1, armature=0.5)
    engine = planted(system, at_rest(1), np.array([[0.2, 1.0]]))
    middle = 0.1 - 2.0 * 9.81 * 0.8 / 150.0
    for _ in range(10):
        engine.run(100)
        x, v = oscillation(engine.time, 0.2 - middle, 1.0, 150.0 / 2.5, 1.5 / 2.5)
        assert engine.joints.angles[0] == pytest.approx(middle + x, abs=STEP_ERROR)
        assert engine.joints.rates[0] == pytest.approx(v, abs=10 * STEP_ERROR)
        place = engine.update_kinematics()[0, :3]
        np.testing.assert_allclose(place, axis * engine.joints.angles[0], atol=1e-15)


def test_friction_dissipates_and_stops():
    """``sinh(rate / s)`` fades like ``exp(-F t / (J s))``: straight down first, then ever slower."""
    friction, slow = 0.3, 0.4
    system = rod(friction=friction, friction_speed=slow)
    engine = planted(system, at_rest(1), np.array([[0.0, 5.0]]))
    before = energy(engine)
    for _ in range(60):
        engine.run(50)
        fading = np.exp(-friction * engine.time / (INERTIA * slow))
        expected = slow * np.arcsinh(np.sinh(5.0 / slow) * fading)
        assert engine.joints.rates[0] == pytest.approx(expected, abs=1e-8)  # h F / (J s) = 1e-2
        after = energy(engine)
        assert after <= before
        before = after
    assert 0.0 <= engine.joints.rates[0] < 1e-9


def test_friction_holds_a_load_but_for_a_creep():
    """A load under the friction limit: ``tanh(rate / s)`` is their ratio."""
    system = slider(Z, friction=30.0, friction_speed=0.01)
    engine = planted(system, at_rest(1), np.zeros((1, 2)), step=2e-4)
    engine.run(500)
    assert engine.joints.rates[0] == pytest.approx(-0.01 * np.arctanh(2 * 9.81 / 30), rel=1e-9)


def test_the_effort_of_a_motor_follows_commands_with_its_lag_and_within_its_limit():
    system = rod(lag=0.08, effort_limit=2.0)
    engine = planted(system, at_rest(1), np.zeros((1, 2)))
    engine.joints.act(np.array([1.5]))
    engine.run(100)
    T, t = 0.08, 0.1
    left = np.exp(-t / T)
    assert engine.joints.efforts[0] == pytest.approx(1.5 * (1 - left), abs=1e-14)
    rate = 1.5 * (t - T * (1 - left)) / INERTIA
    assert engine.joints.rates[0] == pytest.approx(rate, abs=STEP_ERROR)
    angle = 1.5 * (0.5 * t * t - T * t + T * T * (1 - left)) / INERTIA
    assert engine.joints.angles[0] == pytest.approx(angle, abs=STEP_ERROR)
    engine.joints.act(np.array([-50.0]))  # more than it can, from where it is
    start = 1.5 * (1 - left)
    engine.run(250)
    left = np.exp(-0.25 / T)
    assert engine.joints.efforts[0] == pytest.approx(-2.0 + (start + 2.0) * left, abs=1e-14)
    rate += (-2.0 * 0.25 + (start + 2.0) * T * (1 - left)) / INERTIA
    assert engine.joints.rates[0] == pytest.approx(rate, abs=STEP_ERROR)


def test_without_lag_the_effort_is_the_command_at_once():
    engine = planted(rod(), at_rest(1), np.zeros((1, 2)))
    engine.joints.act(np.array([0.7]))
    assert engine.joints.efforts[0] == 0.7
    assert engine.joints.accelerations[0] == pytest.approx(0.7 / INERTIA, rel=1e-14)


# --- driven joints --------------------------------------------------------------------------------


def test_a_driven_joint_on_a_recorded_motion_moves_the_base_as_the_motor_did():
    """Motion of a torque-driven run, put in as a quintic per 2 ms: no reaction of its own may appear."""
    system = vehicle("V2", lag=0.05, damping=0.2, armature=0.02)
    follower = replace(system, joints=tuple(replace(j, driven=True) for j in system.joints))
    states = at_rest(3)
    states[0] = state(Z, quaternion(0.9, 0.1, -0.3, 0.2), (0.3, -0.2, 0.1), (0.5, -0.4, 0.2))
    joints = np.array([[0.6, 0.7], [-0.9, -1.1]])
    wrench = np.array([[70.0, 0.5, -0.3, 0.2]])
    led = planted(system, states, joints, wrenches=wrench)
    led.joints.act(np.array([6.0, -2.0]))
    following = planted(follower, states, joints, wrenches=wrench)
    for _ in range(200):
        start = np.array([led.joints.angles, led.joints.rates, led.joints.accelerations]).T
        led.run(2)
        end = np.array([led.joints.angles, led.joints.rates, led.joints.accelerations]).T
        for i in range(2):
            c = quintic(tuple(start[i]), end[i, 0], 0.002)
            c += ending(end[i, 1], end[i, 2], 0.002)
            following.joints.prescribe(i, c)
            if following.time == 0.0:
                assert following.joints.accelerations[i] == pytest.approx(start[i, 2], rel=1e-12)
        if following.time == 0.0:
            following.set_state(states)  # rates of links are those of the prescribed motion
            np.testing.assert_allclose(
                following.motion[0, 13:], led_start(system, states, joints, wrench), rtol=1e-9
            )
        following.run(2)
    # a quintic over 2 ms misses by (2 ms)^6 of the sixth derivative: rounding; the step errs by 1e-11
    np.testing.assert_allclose(
        following.update_kinematics()[:, :13], led.update_kinematics()[:, :13], atol=1e-9
    )


def ending(rate, acceleration, T):
    """Coefficients that make a quintic to rest end with this rate and acceleration instead."""
    v, a = rate, acceleration
    return np.array(
        [0, 0, 0, (-8 * v + a * T) / (2 * T**2), (14 * v - 2 * a * T) / (2 * T**3), (-6 * v + a * T) / (2 * T**4)]
    )  # fmt: skip


def led_start(system, states, joints, wrench):
    """Acceleration of the base at the start, all efforts of motors still zero."""
    return Maximal(system, planted(system, states, joints).motion, joints, None, wrench).solve()[0][
        0
    ]


def test_a_driven_joint_moves_from_its_present_motion_to_rest():
    """The quintic of minimum jerk, and nothing jumps; a base that it turns keeps both momenta to order 4."""
    system = vehicle("V2")
    system = replace(
        system, gravity=0.0, joints=tuple(replace(j, driven=True) for j in system.joints)
    )
    errors = []
    for step in (0.004, 0.002):
        engine = planted(system, at_rest(3), np.zeros((2, 2)), step=step)
        engine.joints.move(0, 1.0, 0.5)
        s = 0.3 / 0.5
        engine.run(round(0.3 / step))
        assert engine.joints.angles[0] == pytest.approx(10 * s**3 - 15 * s**4 + 6 * s**5, abs=1e-14)
        before = joint_state(engine)
        engine.joints.move(0, -0.2, 0.4)
        np.testing.assert_allclose(joint_state(engine), before, atol=1e-14)
        engine.run(round(0.9 / step))
        np.testing.assert_allclose(joint_state(engine), [[-0.2, 0], [0, 0]], atol=1e-14)
        assert abs(engine.update_kinematics()[0, 5]) > 0.01
        errors.append(np.max(np.abs(momenta(system, engine.update_kinematics()))))
    assert errors[1] < 1e-8
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.1)


def test_moving_a_driven_joint_that_oscillates_does_not_make_it_jump():
    """``move`` starts from the present motion, of which the oscillation is a part."""
    engine = Engine(replace(rod(), joints=(replace(rod().joints[0], driven=True),)))
    engine.joints.oscillate(0, 0.2, 1.0, 0.5)
    engine.set_state(at_rest(1))
    engine.run(100)
    before = joint_state(engine)
    engine.joints.move(0, 1.0, 1.0)
    np.testing.assert_allclose(joint_state(engine), before, atol=1e-12)


def test_a_trial_of_another_state_has_driven_joints_where_they_are():
    engine = Engine(replace(rod(), joints=(replace(rod().joints[0], driven=True),)))
    engine.set_state(at_rest(1))
    engine.joints.prescribe(0, np.array([0.7]))
    other = engine.trial(engine.update_kinematics(), [0], engine.joints.states)
    np.testing.assert_allclose(other.update_kinematics()[0, :7], engine.motion[0, :7], atol=1e-15)


def test_only_driven_joints_take_a_motion():
    engine = planted(rod(), at_rest(1), np.zeros((1, 2)))
    with pytest.raises(ContractError, match="not driven"):
        engine.joints.prescribe(0, np.array([0.1]))


# --- stops ----------------------------------------------------------------------------------------


def kinds(engine):
    return [(e.type, e.joints) for e in engine.take_events()]


def test_a_joint_meets_its_stop_on_time_stays_and_leaves_when_pulled_away():
    """At a constant rate, so that the time of the touch is known; pressed on, the stop bears the effort."""
    for side in (1.0, -1.0):
        engine = planted(rod(lower=-0.5, upper=0.5), at_rest(1), np.array([[0.0, side * 3.0]]))
        engine.run(200)
        touch = engine.take_events()[0]  # behind it: that nothing presses
        assert (touch.type, touch.joints) == ("touch", (0,))
        assert touch.time == pytest.approx(0.5 / 3.0, abs=1e-13)
        np.testing.assert_allclose(joint_state(engine), [[side * 0.5, 0.0]], atol=1e-14)
        engine.joints.act(np.array([side * 2.0]))
        engine.run(100)
        assert engine.stop_efforts[0] == pytest.approx(-2.0 * side, rel=1e-12)
        np.testing.assert_allclose(joint_state(engine), [[side * 0.5, 0.0]], atol=1e-14)
        engine.joints.act(np.array([-side * 1.0]))
        assert kinds(engine) == [("leave", (0,))]
        assert engine.stop_efforts[0] == 0.0
        engine.run(100)
        left = side * (0.5 - 0.5 * 0.1**2 / INERTIA)
        assert engine.joints.angles[0] == pytest.approx(left, abs=1e-12)


def test_a_pendulum_rests_on_its_stop_with_its_weight():
    """Lower stop: a positive effort holds it up; then a motor lifts it."""
    system = rod(axis=-Y, lower=0.3)
    engine = planted(system, at_rest(1), np.array([[1.0, 0.0]]))
    for _ in range(600):
        engine.run(1)
        assert engine.joints.angles[0] > 0.3 - 1e-9
    weight = 0.5 * 9.81 * 0.3 * np.cos(0.3)
    assert kinds(engine)[0] == ("touch", (0,))
    assert engine.stop_efforts[0] == pytest.approx(weight, rel=1e-12)
    engine.joints.act(np.array([0.4 * weight]))
    assert engine.stop_efforts[0] == pytest.approx(0.6 * weight, rel=1e-12)
    engine.joints.act(np.array([1.1 * weight]))
    assert ("leave", (0,)) in kinds(engine)
    engine.run(10)
    assert engine.joints.rates[0] > 0.0


@pytest.mark.parametrize("seed", range(12))
def test_a_touch_takes_exactly_the_velocity_of_its_joint(seed):
    """On a free base: momenta stay, no energy appears, and every velocity is that of the dense impulse."""
    rng = np.random.default_rng(seed)
    system = random_tree(rng, 4, gravity=0.0, passive=seed % 2 == 0)
    states, joints = random_start(rng, system)
    angle, rate = joints[1]
    ends = {"lower": angle - 0.05, "upper": angle + 2.0}
    if rate > 0.0:
        ends = {"lower": angle - 2.0, "upper": angle + 0.05}
    stopped = list(system.joints)
    stopped[1] = replace(stopped[1], **ends)
    system = replace(system, joints=tuple(stopped))
    engine = planted(system, states, joints)
    before, events = (0.0, states, joints), []
    while not events:
        assert engine.time < 2.0
        before = engine.time, engine.update_kinematics()[:, :13].copy(), joint_state(engine)
        engine.run(1)
        events = engine.take_events()
    assert events[0].type == "touch" and events[0].joints == (1,)
    twin = planted(system, before[1], before[2], time=before[0])
    twin.run_until(events[0].time - 1e-9)
    rows, angles, e_before = twin.update_kinematics().copy(), joint_state(twin), energy(twin)
    twin.run_until(events[0].time + 1e-9)
    assert kinds(twin)[0] == ("touch", (1,))
    dense = Maximal(system, rows, angles)
    u, _ = dense.jump(dense.axes[1][0][None])
    found = centres(system, twin.update_kinematics())
    for i, row in enumerate(found):
        after = np.concatenate([row[7:10], kkt.rotation(row[3:7]) @ row[10:13]])
        # 2 ns of accelerations up to 1e2 m/s^2
        np.testing.assert_allclose(after, u[6 * i : 6 * i + 6], atol=2e-7)
    scale = np.max(np.abs(momenta(system, rows)))
    difference = momenta(system, twin.motion) - momenta(system, rows)
    assert np.max(np.abs(difference)) < 1e-12 * max(1.0, scale)
    impact = events[0]
    assert sum(e.energy_change for e in events) <= 0.0
    assert impact.cables == () and energy(twin) < e_before


@pytest.mark.parametrize("seed", range(8))
def test_stops_are_never_passed_and_rest_complementary(seed):
    """Random trees under gravity that rattle between their stops: no energy from nowhere either."""
    rng = np.random.default_rng(100 + seed)
    system = random_tree(rng, 5, on_ground=seed % 2 == 0)
    states, joints = random_start(rng, system)
    wide = rng.uniform(0.05, 0.4, (5, 2))
    system = replace(
        system,
        joints=tuple(
            replace(j, lower=a - low, upper=a + high)
            for j, (a, _), (low, high) in zip(system.joints, joints, wide, strict=True)
        ),
    )
    engine = planted(system, states, joints)
    low, high = np.array([(j.lower, j.upper) for j in system.joints]).T
    before = energy(engine)
    for _ in range(500):
        engine.run(1)
        angles, efforts = engine.joints.angles, engine.stop_efforts
        assert np.all(angles < high + 1e-9) and np.all(angles > low - 1e-9)
        on = efforts != 0.0
        assert np.all(np.abs(np.where(efforts < 0, high, low) - angles)[on] < 1e-9)
        assert np.max(np.abs(engine.joints.rates[on]), initial=0.0) < 1e-9
        after = energy(engine)
        assert after < before + 1e-9  # of the integrator
        before = after
    events = engine.take_events()
    assert any(e.type == "touch" for e in events)
    assert all(e.energy_change < 1e-12 for e in events)


def test_a_joint_set_moving_into_its_stop_loses_its_velocity_at_once():
    engine = planted(rod(upper=0.5), at_rest(1), np.array([[0.5, 2.0]]))
    assert kinds(engine) == [("touch", (0,))]
    np.testing.assert_allclose(joint_state(engine), [[0.5, 0.0]], atol=1e-15)
    engine.set_state(at_rest(1), joints=np.array([[0.5, -2.0]]))
    assert kinds(engine) == []
    engine.run(100)
    assert engine.joints.angles[0] == pytest.approx(0.3, abs=1e-12)


def test_a_state_beyond_a_stop_is_refused():
    with pytest.raises(ModelError, match=r"'axle'.*beyond its stop at 0\.5"):
        planted(rod(upper=0.5), at_rest(1), np.array([[0.6, 0.0]]))
    with pytest.raises(ModelError, match=r"'axle'.*beyond its stop at -0\.5"):
        planted(rod(lower=-0.5), at_rest(1), np.array([[-0.6, 0.0]]))


def test_one_joint_on_its_stop_while_another_meets_its_own():
    """The first stays pressed through the impact of the second, or is thrown off: never beyond."""
    rng = np.random.default_rng(2)
    links = tuple(Body(n, 0.5, random_inertia(rng, 0.5), 0.2 * X) for n in "ab")
    joints = (Joint(WORLD, 0, Y, upper=0.0), Joint(0, 1, Y, 0.4 * X, upper=0.6))
    engine = planted(System(links, joints=joints), at_rest(2), np.array([[0.0, 0.0], [0.0, 4.0]]))
    assert engine.stop_efforts[0] < 0.0
    for _ in range(800):
        engine.run(1)
        assert engine.joints.angles[0] < 1e-9 and engine.joints.angles[1] < 0.6 + 1e-9
    assert ("touch", (1,)) in kinds(engine)
    # at the end both rest on their stops: moments of the weights about the two axes
    np.testing.assert_allclose(joint_state(engine), [[0.0, 0.0], [0.6, 0.0]], atol=1e-9)
    outer = 0.5 * 9.81 * 0.2 * np.cos(0.6)
    inner = 0.5 * 9.81 * (0.2 + 0.4) + outer
    np.testing.assert_allclose(engine.stop_efforts, [-inner, -outer], rtol=1e-8)
