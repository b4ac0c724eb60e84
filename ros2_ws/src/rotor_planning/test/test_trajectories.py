"""Trajectories against golden vectors G10, G11, optimality conditions, and the limits that they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core.config.catalog import shipped
from rotor_core.config.loader import load_scenario
from rotor_core.config.trajectories import HoverPlan, StepPosePlan
from rotor_core.errors import ContractError
from rotor_core.plans.plan import PHASE
from rotor_core.reference import ACCELERATION, JERK, POSITION, VELOCITY
from rotor_planning.trajectories.from_config import make_plans, plan_from_config
from rotor_planning.trajectories.plans import circle, figure_eight, line, rotation, waypoints
from rotor_planning.trajectories.polynomial import integral_cost, minimum_derivative
from rotor_planning.trajectories.timing import line_times, line_times_rotortm, waypoint_times

SLALOM = np.array([(0, 0, 0), (0.5, -0.5, 0.25), (1, 0, 0.5), (1.5, -0.5, 0.75), (2, 0, 1)], float)


def slalom_times(speed, acceleration):
    return waypoint_times(np.linalg.norm(np.diff(SLALOM, axis=0), axis=1), speed, acceleration)


def test_circle():
    """G10."""
    plan = circle(np.zeros(3), 1.0, 10.0, 10.0)
    at2, at22, at26 = plan.sample(2.0), plan.sample(22.0), plan.sample(26.0)
    np.testing.assert_allclose(at2[:2], (-0.0006332, 0.0355808), atol=1e-7)
    np.testing.assert_allclose(
        at2[ACCELERATION : ACCELERATION + 2], (-0.0071750, 0.0826320), atol=1e-7
    )
    np.testing.assert_allclose(
        at22[ACCELERATION : ACCELERATION + 2], (-0.1390646, 0.1099459), atol=1e-7
    )
    np.testing.assert_allclose(at26[:2], (-0.6909830, -0.9510565), atol=1e-7)
    np.testing.assert_allclose(at26[VELOCITY:JERK], 0.0, atol=1e-12)
    # phases at 2 s (on the way up) and 22 s (on the way down, 4 s before the end of its ramp)
    s = np.polynomial.Polynomial(plan.coefficients[0, PHASE])
    assert s(0.25) == pytest.approx(0.035588, abs=1e-6)
    assert s.deriv()(0.25) / 8 == pytest.approx(0.065041, abs=1e-6)
    down = np.polynomial.Polynomial(plan.coefficients[2, PHASE])
    assert down(0.5) == pytest.approx(10.917034, abs=1e-6)
    assert down.deriv(2)(0.5) / 64 == pytest.approx(-0.147262, abs=1e-6)


@pytest.mark.parametrize(
    "limits, total, cost, peak_speed, peak_acceleration",
    [((2, 5), 20.053, 8.731498e-2, 0.2733, 0.1431), ((3, 10), 13.096, 1.723201, 0.4184, 0.3354)],
)
def test_minimum_snap_slalom(limits, total, cost, peak_speed, peak_acceleration):
    """G11."""
    times = slalom_times(*limits)
    assert times.sum() == pytest.approx(total, abs=1e-3)
    pieces = minimum_derivative(SLALOM, times, derivative=4)
    assert integral_cost(pieces, times, 4) == pytest.approx(cost, rel=1e-6)
    plan = waypoints(SLALOM[0], SLALOM[1:], speed=limits[0], acceleration=limits[1])
    samples = np.array([plan.sample(t) for t in np.linspace(0, plan.duration, 4001)])
    assert np.linalg.norm(samples[:, VELOCITY : VELOCITY + 3], axis=1).max() == pytest.approx(
        peak_speed, abs=1e-4
    )
    assert np.linalg.norm(
        samples[:, ACCELERATION : ACCELERATION + 3], axis=1
    ).max() == pytest.approx(peak_acceleration, abs=1e-4)
    np.testing.assert_allclose(plan.sample(plan.duration / 2)[:3], (1, 0, 0.5), atol=1e-9)
    np.testing.assert_allclose(
        plan.sample(plan.duration / 8)[:3], (0.0747069, -0.1137543, 0.0373535), atol=1e-7
    )


def test_relaxed_and_higher_orders():
    """G11: the original's relaxed problem, and k = 6."""
    for limits, relaxed, sixth in (
        ((2, 5), 2.194227e-2, 3.460209e-1),
        ((3, 10), 4.330406e-1, 37.53969),
    ):
        times = slalom_times(*limits)
        assert integral_cost(
            minimum_derivative(SLALOM, times, derivative=4, degree=6, continuity=2, rest=2),
            times,
            4,
        ) == pytest.approx(relaxed, rel=1e-6)
        assert integral_cost(
            minimum_derivative(SLALOM, times, derivative=6), times, 6
        ) == pytest.approx(sixth, rel=1e-5)
    plan = waypoints(SLALOM[0], SLALOM[1:], degree=6, continuity=2, rest=2)
    np.testing.assert_allclose(
        plan.sample(plan.duration / 8)[:3], (0.0999595, -0.1344907, 0.0499798), atol=1e-7
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 6), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_minimiser_of_any_order(k, m, seed):
    """RT-A17 without corridor.

    Through the points, smooth to order 2k-2, at rest at the ends, and nothing nearby is cheaper.
    """
    rng = np.random.default_rng(seed)
    points = np.cumsum(rng.uniform(-1, 1, (m + 1, 3)), axis=0)
    times = rng.uniform(0.7, 2.0, m)
    pieces = minimum_derivative(points, times, derivative=k)
    np.testing.assert_array_equal(pieces, minimum_derivative(points, times, derivative=k))
    polynomials = [
        [np.polynomial.Polynomial(pieces[i, axis]) for axis in range(3)] for i in range(m)
    ]
    for axis in range(3):
        for i in range(m):
            assert polynomials[i][axis](0.0) == pytest.approx(points[i, axis], abs=1e-7)
            assert polynomials[i][axis](1.0) == pytest.approx(points[i + 1, axis], abs=1e-7)
        for order in range(1, k):
            assert abs(polynomials[0][axis].deriv(order)(0.0)) < 1e-6
            assert abs(polynomials[-1][axis].deriv(order)(1.0)) < 1e-6
        for i in range(m - 1):
            for order in range(1, 2 * k - 1):
                left = polynomials[i][axis].deriv(order)(1.0) / times[i] ** order
                right = polynomials[i + 1][axis].deriv(order)(0.0) / times[i + 1] ** order
                assert left == pytest.approx(right, abs=1e-5 * (1.0 + abs(left)))


def test_a_cheaper_curve_would_break_a_condition():
    """Second algorithm.

    Minimise the same cost over the values of all derivatives at the inner points (Hermite pieces).
    """
    import scipy.optimize

    times, k = slalom_times(2, 5), 3
    best = integral_cost(minimum_derivative(SLALOM, times, derivative=k), times, k)
    inner = len(SLALOM) - 2

    def cost(free):
        v, a = np.zeros((2, len(SLALOM), 3))
        v[1:-1], a[1:-1] = free.reshape(2, inner, 3)
        total = 0.0
        for i, T in enumerate(times):
            pieces = np.zeros((1, 3, 6))
            for axis in range(3):
                A = np.array(
                    [
                        [1, 0, 0, 0, 0, 0],
                        [0, 1, 0, 0, 0, 0],
                        [0, 0, 2, 0, 0, 0],
                        [1] * 6,
                        [0, 1, 2, 3, 4, 5],
                        [0, 0, 2, 6, 12, 20],
                    ],
                    float,
                )
                b = [
                    SLALOM[i, axis],
                    v[i, axis] * T,
                    a[i, axis] * T * T,
                    SLALOM[i + 1, axis],
                    v[i + 1, axis] * T,
                    a[i + 1, axis] * T * T,
                ]
                pieces[0, axis] = np.linalg.solve(A, b)
            total += integral_cost(pieces, times[i : i + 1], k)
        return total

    found = scipy.optimize.minimize(
        cost, np.zeros(2 * inner * 3), method="BFGS", options={"gtol": 1e-10}
    ).fun
    assert best == pytest.approx(found, rel=1e-6)


@given(st.floats(0.01, 20.0), st.floats(0.1, 5.0), st.floats(0.1, 10.0))
def test_lines_keep_their_limits_and_times_are_continuous(distance, speed, acceleration):
    plan = line(np.zeros(3), np.array([[distance, 0, 0]]), speed=speed, acceleration=acceleration)
    samples = np.array([plan.sample(t) for t in np.linspace(0, plan.duration, 201)])
    assert np.max(np.abs(samples[:, VELOCITY])) <= speed * (1 + 1e-9)
    assert np.max(np.abs(samples[:, ACCELERATION])) <= acceleration * (1 + 1e-9)
    assert samples[-1, POSITION] == pytest.approx(distance)
    near = line_times(np.array([distance * 0.999999, distance * 1.000001]), speed, acceleration)
    assert near[1] / near[0] - 1.0 < 1e-5  # a change of 2e-6 in distance


def test_original_line_times():
    np.testing.assert_allclose(line_times_rotortm(np.array([0.5, 1.0, 4.0])), (2.5, 5.0, 20.0))


@pytest.mark.parametrize("name", shipped("scenarios"))
def test_shipped_plans_are_smooth(name):
    """RT-A13.

    V, a, jerk equal differences of what they are derivatives of, for every shipped scenario.
    """
    for plan in make_plans(load_scenario(name)).values():
        h = 1e-4
        knots = np.cumsum(plan.durations)
        for t in np.linspace(0.01, plan.duration - 0.01, 60):
            if np.min(np.abs(knots - t)) < 2 * h:
                continue
            before, now, after = (plan.sample(t + s * h) for s in (-1, 0, 1))
            for column in (POSITION, VELOCITY, ACCELERATION):
                np.testing.assert_allclose(
                    (after - before)[column : column + 3] / (2 * h),
                    now[column + 3 : column + 6],
                    atol=1e-4,
                )


def test_degenerate_goals():
    start = np.array([1.0, 2.0, 3.0])
    for plan in (waypoints(start, start[None]), line(start, np.array([start, start]))):
        np.testing.assert_array_equal(plan.sample(0.5)[:3], start)
    single = waypoints(start, np.array([[1.0, 2.0, 4.0]]))
    np.testing.assert_allclose(single.sample(single.duration)[:3], (1, 2, 4), atol=1e-9)


def test_impossible_requests_are_refused():
    with pytest.raises(ContractError, match="radius > 0"):
        circle(np.zeros(3), -1.0, 10.0, 1.0)
    with pytest.raises(ContractError, match="degree must be at least"):
        minimum_derivative(SLALOM, np.ones(4), derivative=4, degree=3)
    with pytest.raises(ContractError, match="cannot meet rest to order"):
        minimum_derivative(SLALOM[:2], np.ones(1), derivative=4, degree=5)


def test_rotation_in_place_makes_whole_turns():
    """It begins and ends level and at rest, and reaches both amplitudes."""
    plan = rotation(np.array([1.0, 2.0, 3.0]), np.radians([10.0, 0.0, -20.0]), 4.0, 3, yaw=0.5)
    assert plan.duration == pytest.approx(3 * 4.0 + 2.0)
    rows = np.array([plan.sample(t) for t in np.linspace(0.0, plan.duration, 2001)])
    np.testing.assert_allclose(rows[:, :3] - (1.0, 2.0, 3.0), 0.0, atol=1e-12)
    for row in rows[[0, -1]]:
        assert row[25] == pytest.approx(0.5) and np.abs(row[19:25]).max() < 1e-9
    angles = np.degrees(rows[:, 25] - 0.5)
    assert (angles.min(), angles.max()) == (
        pytest.approx(-20, abs=0.01),
        pytest.approx(20, abs=0.01),
    )
    with pytest.raises(ContractError, match="whole turns"):
        rotation(np.zeros(3), np.zeros(3), 4.0, 0)


def test_requests_beyond_what_powers_carry_are_refused():
    with pytest.raises(ContractError, match="the degree at most 15, got 4 and 40"):
        minimum_derivative(SLALOM, np.ones(4), derivative=4, degree=40)
    with pytest.raises(ContractError, match="speed and acceleration must be above 0"):
        line(np.zeros(3), SLALOM, speed=-1.0)


@pytest.mark.parametrize("gap", [0.1, 0.05, 0.01])
def test_a_path_that_swings_far_beyond_its_points_is_refused(gap):
    """A short leg beside a long one: with 1 cm it had reached 442 m at 115 m/s, in silence."""
    points = np.array([[gap, 0.0, 1.0], [gap, 5.0, 1.0]])
    with pytest.raises(ContractError, match=f"leg 1 of 2 is only {gap:g} m long"):
        waypoints(np.array([0.0, 0.0, 1.0]), points)


def test_a_path_with_ordinary_legs_is_flown():
    points = np.array([[1.0, 0.0, 1.0], [1.0, 3.0, 1.0]])
    assert waypoints(np.array([0.0, 0.0, 1.0]), points).duration > 0.0


def test_short_legs_keep_the_acceleration():
    """A time in proportion to the length let a millimetre ask for 64 m/s^2."""
    for length in (1e-4, 1e-3, 1e-2, 0.1, 1.0):
        plan = waypoints(np.zeros(3), [[length, 0.0, 0.0]])
        rows = np.array([plan.sample(t) for t in np.linspace(0.0, plan.duration, 401)])
        assert np.abs(rows[:, ACCELERATION]).max() <= 5.0 * (1.0 + 1e-9)


def test_goals_at_the_start_last_as_long_as_they_were_asked_to():
    plan = waypoints(np.ones(3), [np.ones(3)], duration=20.0)
    assert plan.duration == 20.0


def test_motions_that_never_end_are_refused():
    """Ten million figure eights took all memory before anybody looked at their duration."""
    with pytest.raises(ContractError, match="1 to 1000 whole turns"):
        figure_eight(np.zeros(3), 2.0, 1.0, 4.0, 10**7)
    with pytest.raises(ContractError, match="at most 86400 s"):
        plan_from_config(HoverPlan("hover", 1e12), np.zeros(3))
    with pytest.raises(ContractError, match="within 1e\\+06 m"):
        plan_from_config(StepPosePlan("step_pose", (1e9, 0.0, 0.0)), np.zeros(3))
