"""Plans through states: they pass through them, and to a goal they begin as the reference moves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core.errors import ContractError
from rotor_core.plans.plan import hold
from rotor_core.reference import (
    ACCELERATION,
    ATTITUDE,
    BODY_RATE,
    JERK,
    POSITION,
    VELOCITY,
    YAW_ANGLE,
    YAW_RATE,
)
from rotor_planning.trajectories import plans as trajectories
from rotor_planning.trajectories.knots import go_to, through_knots
from rotor_planning.trajectories.timing import line_times

SEEDS = st.integers(0, 2**32 - 1)
V3 = slice(VELOCITY, VELOCITY + 3)
A3 = slice(ACCELERATION, ACCELERATION + 3)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_knots_are_met_with_velocity_and_acceleration(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 7))
    times = np.concatenate([[0.0], np.cumsum(random.uniform(0.3, 2.0, n - 1))])
    p, v, a = random.normal(size=(3, n, 3))
    plan = through_knots(times, p, v, a)
    for i, t in enumerate(times):
        for side in (-1e-9, 1e-9):  # continuous: both sides agree
            if 0.0 < t + side < times[-1]:
                row = plan.sample(t + side)
                np.testing.assert_allclose(row[:3], p[i], atol=1e-6)
                np.testing.assert_allclose(row[V3], v[i], atol=1e-5)
                np.testing.assert_allclose(row[A3], a[i], atol=1e-4)


def test_positions_alone_give_the_clamped_cubic_spline():
    """Smooth to the second derivative, at rest at both ends."""
    random = np.random.default_rng(1)
    times, p = np.array([0.0, 1.0, 1.7, 3.0]), random.normal(size=(4, 3))
    plan = through_knots(times, p)
    for t in times[1:-1]:
        before, after = plan.sample(t - 1e-7), plan.sample(t + 1e-7)
        jump = 2e-7 * np.abs([before[JERK : JERK + 3], after[JERK : JERK + 3]]).max()
        np.testing.assert_allclose(before[A3], after[A3], atol=10 * jump)
    np.testing.assert_allclose(plan.sample(0.0)[V3], 0.0, atol=1e-12)
    np.testing.assert_allclose(plan.sample(3.0)[V3], 0.0, atol=1e-9)


def test_headings_take_the_short_way():
    plan = through_knots(np.array([0.0, 1.0]), np.zeros((2, 3)), yaws=np.array([3.0, -3.0]))
    middle = plan.sample(0.5)[YAW_ANGLE]
    assert abs(np.remainder(middle, 2.0 * np.pi) - np.pi) < 1e-9


@pytest.mark.parametrize(
    "times, words",
    [
        ([0.0], "at least 2 points"),
        ([0.0, 1.0, 1.0], r"time_from_start\[2\]: times must increase, got 1 s after 1 s"),
        ([0.5, 1.0], "must begin at 0 s, got 0.5 s"),
        ([0.0, np.nan], r"time_from_start\[1\]: must be finite, got nan"),
    ],
)
def test_knots_that_are_none(times, words):
    with pytest.raises(ContractError, match=words):
        through_knots(np.array(times), np.zeros((len(times), 3)))


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_a_goal_goes_on_from_the_moving_reference(seed):
    random = np.random.default_rng(seed)
    moving = trajectories.circle(np.zeros(3), 0.7, 4.0, 6.0, ramp=1.0, yaw=random.uniform(-3, 3))
    now = moving.sample(random.uniform(0.0, moving.duration))
    goal, yaw = random.normal(size=3), random.uniform(-np.pi, np.pi)
    plan = go_to(now, goal, yaw, speed=1.0, acceleration=2.0)
    start, end = plan.sample(0.0), plan.sample(plan.duration)
    np.testing.assert_allclose(
        start[POSITION : POSITION + 9], now[POSITION : POSITION + 9], atol=1e-9
    )
    np.testing.assert_allclose(start[YAW_RATE], now[YAW_RATE], atol=1e-9)
    np.testing.assert_allclose(end[:3], goal, atol=1e-9)
    np.testing.assert_allclose(end[VELOCITY : VELOCITY + 6], 0.0, atol=1e-8)
    turned = np.remainder(end[YAW_ANGLE] - yaw + np.pi, 2.0 * np.pi) - np.pi
    assert abs(turned) < 1e-9
    rows = np.array([plan.sample(t) for t in np.linspace(0.0, plan.duration, 400)])
    # braking as a cubic in velocity: |v| <= |v0| + 4/27 |a0| T_a, |a| <= |a0| + 1.5 |v0| / T, T = 1.5 |v0| / a_max,
    # T_a = min(T, 1 s)
    v, a = np.linalg.norm(now[V3]), np.linalg.norm(now[A3])
    braking = max(1.5 * v / 2.0, 0.1)
    fastest = max(1.0, v + 4.0 / 27.0 * a * min(braking, 1.0))
    hardest = max(2.0, a + 1.5 * v / braking)
    # two leeways of a percent, and less than one more between the 64 points that are checked
    assert np.linalg.norm(rows[:, V3], axis=1).max() < 1.03 * fastest
    assert np.linalg.norm(rows[:, A3], axis=1).max() < 1.03 * hardest
    # nothing jumps where braking has ended
    steps = np.abs(np.diff(rows[:, A3], axis=0)).max()
    assert steps < 20.0 * hardest * plan.duration / 400 / min(braking, plan.duration)


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_a_goal_goes_on_from_a_payload_that_is_turned(seed):
    """Attitude, body rate and angular acceleration are what they were, and it comes level; also while it moves."""
    random = np.random.default_rng(seed)
    amplitudes, yaw = random.uniform(-1.0, 1.0, 3), random.uniform(-3.0, 3.0)
    turning = trajectories.circle(
        np.zeros(3), 0.5, 5.0, ramp=1.0, yaw=yaw, rotation=amplitudes * random.integers(0, 2, 3)
    )
    now = turning.sample(random.uniform(0.0, turning.duration))
    plan = go_to(now, random.normal(size=3), None, speed=1.0, acceleration=1.0)
    np.testing.assert_allclose(plan.sample(0.0)[:JERK], now[:JERK], atol=1e-9)
    np.testing.assert_allclose(plan.sample(0.0)[ATTITUDE:], now[ATTITUDE:], atol=1e-9)
    end = plan.sample(plan.duration)
    np.testing.assert_allclose(end[ATTITUDE + 1 : ATTITUDE + 3], 0.0, atol=1e-9)
    np.testing.assert_allclose(end[BODY_RATE:YAW_ANGLE], 0.0, atol=1e-8)
    times = np.linspace(0.0, plan.duration, 4001)
    rates = np.array([plan.sample(t)[BODY_RATE : BODY_RATE + 3] for t in times])
    steps = np.abs(np.diff(rates, axis=0)).max()
    hardest = 3.0 * np.abs(now[BODY_RATE:YAW_ANGLE]).max() + 10.0
    assert steps < hardest * plan.duration / 4000  # no rate jumps


def test_braking_from_a_tight_circle_does_not_speed_up():
    """The acceleration of the circle was carried over the whole braking: 3.1 m/s became 7.3, and 19 m of way."""
    circle = trajectories.circle(np.zeros(3), 1.0, 2.0, 20.0, ramp=1.0)
    now = circle.sample(10.0)
    plan = go_to(now, np.array([0.0, 0.0, 0.0]), None, speed=1.0, acceleration=1.0)
    times = np.linspace(0.0, plan.duration, 4001)
    rows = np.array([plan.sample(t) for t in times])
    v, a = np.linalg.norm(now[V3]), np.linalg.norm(now[A3])
    assert v == pytest.approx(np.pi, rel=1e-3) and a == pytest.approx(np.pi**2, rel=1e-3)
    speeds = np.linalg.norm(rows[:, V3], axis=1)
    assert speeds.max() < 1.03 * (v + 4.0 / 27.0 * a)
    assert np.linalg.norm(rows[:, :3], axis=1).max() < 10.0
    # it is one motion: speed and acceleration go on where parts of it meet
    assert np.abs(np.diff(rows[:, V3], axis=0)).max() < 1.1 * a * times[1]
    assert np.abs(np.diff(rows[:, A3], axis=0)).max() < 6.0 * a * times[1]


def test_turning_is_braked_by_itself():
    """A turn ends as soon as it can, however long a way the speed takes to brake."""
    now = hold(np.zeros(3), 0.3).sample(0.0)
    now[VELOCITY], now[YAW_RATE], now[BODY_RATE + 2] = 10.0, 0.5, 0.5
    plan = go_to(now, None, None, speed=1.0, acceleration=2.0)
    turned = plan.sample(plan.duration)[YAW_ANGLE] - 0.3
    # a cubic rate from 0.5 rad/s to 0 in 1.5 * 0.5 / 2 s: half of rate times time
    assert turned == pytest.approx(0.5 * 0.5 * 0.375, rel=1e-9)
    assert plan.duration == pytest.approx(7.5)


def test_from_rest_it_is_the_line():
    """Two ways to one plan: the quintic of :func:`line`, and that through states."""
    there = np.array([1.0, -2.0, 0.5])
    now = hold(np.zeros(3), 0.3).sample(0.0)
    a = go_to(now, there, 0.3, speed=1.0, acceleration=1.0)
    b = trajectories.line(np.zeros(3), there[None], yaw=0.3, speed=1.0, acceleration=1.0)
    assert a.duration == pytest.approx(b.duration, rel=1e-12)
    for t in np.linspace(0.0, a.duration, 20):
        np.testing.assert_allclose(a.sample(t), b.sample(t), atol=1e-10)


@pytest.mark.parametrize(
    "goal, words",
    [
        ([np.nan, 0.0, 0.0], r"goal\[0\]: must be finite"),
        ([0.0, np.inf, 0.0], r"goal\[1\]: must be finite"),
        ([0.0, -1e300, 0.0], "goal: must be within 1e"),
        ([0.0, 1.0], r"goal: must have the shape \(3,\), got \(2,\)"),
    ],
)
def test_a_goal_that_nobody_reaches_is_refused(goal, words):
    """It was slowed down for ever."""
    with pytest.raises(ContractError, match=words):
        go_to(np.zeros(28), np.array(goal), None, speed=1.0, acceleration=1.0)


def test_braking_and_turns_have_limits_of_their_own():
    """A way in a given time brakes as gently as is asked for, and turns as fast as that time wants."""
    reference = hold(np.zeros(3), 0.0).sample(0.0)
    reference[VELOCITY] = 5.0
    plan = go_to(
        reference, np.array([0.0, 0.0, 3.0]), 1.5, speed=np.inf, acceleration=np.inf, braking=2.0,
        turn_rate=np.inf, least_duration=8.0,
    )  # fmt: skip
    assert plan.duration == pytest.approx(8.0)
    still = hold(np.zeros(3), 0.0).sample(0.0)
    for rate, duration in ((np.inf, 1.0), (0.5, 3.0)):
        plan = go_to(
            still, np.zeros(3), 1.5, speed=1.0, acceleration=1.0, turn_rate=rate, least_duration=1.0
        )
        assert plan.duration == pytest.approx(duration)
    brakes = go_to(reference, None, None, speed=np.inf, acceleration=np.inf, braking=2.0)
    a = [np.linalg.norm(brakes.sample(t)[A3]) for t in np.linspace(0.0, brakes.duration, 200)]
    assert max(a) <= 2.0 * 1.001


def test_a_spline_may_begin_in_motion():
    """A reference that moves is not stopped by points without velocities."""
    times, places = (
        np.array([0.0, 1.0, 2.5]),
        np.array([[0.0, 0.0, 1.0], [1.0, 0.2, 1.0], [1.5, 0.5, 1.2]]),
    )
    begin = np.array([1.0, 0.1, -0.2])
    plan = through_knots(times, places, begin=begin)
    np.testing.assert_allclose(plan.at(0.0).velocity, begin, atol=1e-12)
    np.testing.assert_allclose(plan.at(2.5).velocity, 0.0, atol=1e-12)
    for t, place in zip(times, places, strict=True):
        np.testing.assert_allclose(plan.at(t).position, place, atol=1e-12)
    np.testing.assert_allclose(through_knots(times, places).at(0.0).velocity, 0.0, atol=1e-12)


@pytest.mark.parametrize("time", ["x", np.nan, [1.0, 2.0]])
def test_a_reference_is_of_one_time(time):
    with pytest.raises(ContractError, match=r"plan\.at: t"):
        hold(np.zeros(3)).at(time)


@pytest.mark.parametrize("speed", [1.0, 5.0, 8.0])
def test_a_goal_behind_what_moves_takes_no_longer_than_to_brake_and_fly_back(speed):
    """Both motions at once would have to be stretched: 55.7 s at 5 m/s and 1 m/s^2, one after the other 17.9 s."""
    now = hold(np.zeros(3), 0.0).sample(0.0)
    now[VELOCITY] = speed
    plan = go_to(now, np.zeros(3), 1.0, speed=speed, acceleration=1.0)
    halt = 1.5 * speed
    way = 0.5 * speed * halt  # a cubic rate
    assert plan.duration <= halt + line_times(np.array([way]), speed, 1.0)[0] + 1e-9
    rows = np.array([plan.sample(t) for t in np.linspace(0.0, plan.duration, 4001)])
    assert np.abs(rows[:, V3]).max() < 1.03 * speed and np.abs(rows[:, A3]).max() < 1.03
    assert (
        np.abs(np.diff(rows[:, A3], axis=0)).max() < 0.01
    )  # no jump where the one follows the other
    np.testing.assert_allclose(rows[-1, :3], 0.0, atol=1e-9)
    assert rows[-1, YAW_ANGLE] == pytest.approx(1.0)


@pytest.mark.parametrize("pitch", [0.3, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("yaw", [0.0, 2.5])
def test_a_goal_goes_on_from_a_pose_that_is_pitched_far(pitch, yaw):
    """Beyond 90 degrees the angles of a quaternion belong to another heading."""
    now = hold(np.zeros(3), yaw, roll=0.2, pitch=pitch).sample(0.0)
    plan = go_to(now, np.ones(3), None, speed=1.0, acceleration=1.0)
    attitude = plan.sample(0.0)[ATTITUDE : ATTITUDE + 4]
    assert abs(attitude @ now[ATTITUDE : ATTITUDE + 4]) == pytest.approx(1.0, abs=1e-12)
    end = plan.sample(plan.duration)
    assert end[YAW_ANGLE] == pytest.approx(yaw)
    np.testing.assert_allclose(end[ATTITUDE + 1 : ATTITUDE + 3], 0.0, atol=1e-9)
