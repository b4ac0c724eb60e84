"""Sampling of plans: derivatives, attitude kinematics, rest outside."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core import reference as columns
from rotor_core.errors import ContractError
from rotor_core.plans.plan import AXES, Plan, hold
from rotor_core.plans.registry import KEPT, PlanQueue


def random_plan(seed):
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=(1, AXES, 6)) * 0.5
    return Plan(
        np.array([rng.uniform(1.0, 3.0)]),
        coefficients,
        rng.uniform(0.2, 1.0),
        rng.uniform(-0.4, 0.4, 3),
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 0.9))
def test_derivatives_equal_differences(seed, fraction):
    plan, h = random_plan(seed), 1e-5
    t = fraction * plan.duration
    before, now, after = (plan.sample(t + s * h) for s in (-1, 0, 1))
    scale = 1.0 + np.max(np.abs(now))
    for column in (columns.POSITION, columns.VELOCITY, columns.ACCELERATION, columns.JERK):
        slope = (after[column : column + 3] - before[column : column + 3]) / (2 * h)
        np.testing.assert_allclose(slope, now[column + 3 : column + 6], atol=1e-5 * scale)
    for column in (columns.YAW_ANGLE, columns.YAW_RATE):
        assert (after[column] - before[column]) / (2 * h) == pytest.approx(
            now[column + 1], abs=1e-5 * scale
        )
    # body rate: q_dot = q (0, omega) / 2
    q, q_dot = (
        now[columns.ATTITUDE : columns.ATTITUDE + 4],
        (after - before)[columns.ATTITUDE : columns.ATTITUDE + 4] / (2 * h),
    )
    w, x, y, z = q
    L = np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
    np.testing.assert_allclose(
        2.0 * L.T @ q_dot, now[columns.BODY_RATE : columns.BODY_RATE + 3], atol=1e-6 * scale
    )
    slope = (after - before)[columns.BODY_RATE : columns.BODY_RATE + 3] / (2 * h)
    np.testing.assert_allclose(
        slope,
        now[columns.ANGULAR_ACCELERATION : columns.ANGULAR_ACCELERATION + 3],
        atol=1e-4 * scale,
    )


def test_rests_before_and_after():
    plan = random_plan(3)
    for t, inside in ((-1.0, 0.0), (plan.duration + 1.0, plan.duration)):
        outside = plan.sample(t)
        np.testing.assert_allclose(outside[:3], plan.sample(inside)[:3], atol=1e-12)
        np.testing.assert_array_equal(outside[columns.VELOCITY : columns.ATTITUDE], 0.0)
        np.testing.assert_array_equal(outside[columns.BODY_RATE : columns.YAW_ANGLE], 0.0)


def test_hold_has_the_angles_asked_for():
    reference = hold(np.array([1.0, 2.0, 3.0]), 0.3, roll=0.1, pitch=-0.2).sample(0.5)
    from rotor_core.config.yaml.units import rpy_from_wxyz

    np.testing.assert_allclose(reference[:3], (1, 2, 3))
    np.testing.assert_allclose(
        rpy_from_wxyz(reference[columns.ATTITUDE : columns.ATTITUDE + 4]),
        (0.1, -0.2, 0.3),
        atol=1e-14,
    )


@pytest.mark.parametrize(
    "durations, shape, match",
    [
        ([1.0], (1, 6, 3), "shape"),
        ([0.0], (1, 7, 3), "durations > 0"),
        ([], (0, 7, 3), "at least one"),
        ([np.inf], (1, 7, 3), "finite"),
    ],
)
def test_bad_plans_are_refused(durations, shape, match):
    with pytest.raises(ContractError, match=match):
        Plan(np.array(durations), np.zeros(shape))


def test_a_queue_of_plans_in_any_order():
    """The newest request replaces plans that would have begun later; the running plan is never dropped."""
    second = 1_000_000_000

    def at(x):
        return hold(np.array([x, 0.0, 0.0]), 0.0)

    queue = PlanQueue()
    queue.add(1 * second, at(1.0))
    queue.add(20 * second, at(2.0))
    assert queue.at(25 * second)[0] == 2.0  # looking ahead changes nothing
    queue.add(10 * second, at(3.0))
    for sec, x in ((5, 1.0), (11, 3.0), (30, 3.0)):
        assert queue.sample(sec * second)[0] == x
    queue.clear()
    for i in range(3 * KEPT):
        queue.add((i + 1) * second, at(float(i)))
    assert queue.sample(1 * second)[0] == 0.0


def test_plans_that_have_ended_take_no_room():
    """A controller that heard them one by one lost the plan that was flown, and followed one of the future."""
    second, queue = 10**9, PlanQueue()
    for sec, x in ((1, 1.0), (2, 2.0), *((1000 + k, 3.0) for k in range(3 * KEPT))):
        queue.add(sec * second, hold(np.array([x, 0.0, 0.0]), 0.0), now=10 * second)
    assert queue.sample(10 * second)[0] == 2.0
