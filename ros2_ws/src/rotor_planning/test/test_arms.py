"""Minimum-jerk moves of bases and joints, joint plans, and reaching by inverse kinematics."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rotor_core.config.loader import load_scenario
from rotor_core.config.trajectories import JointMove, JointMoves, Move, MovesPlan, ReachMove
from rotor_core.config.vehicles.arm import BASE, Link, PrismaticJoint, RevoluteJoint
from rotor_core.errors import ContractError
from rotor_core.plans.joint_plan import JointPlan
from rotor_core.plans.plan import hold
from rotor_core.reference import ACCELERATION, ATTITUDE, JERK, POSITION, VELOCITY, YAW_ANGLE
from rotor_planning.arms.inverse_kinematics import TOLERANCE, InverseKinematics
from rotor_planning.arms.plans import arm_plan
from rotor_planning.trajectories.moves import coordinate, moves_plan

ROUNDING = 1e-10
"""Quintics in Bernstein form, turned into powers: coefficients up to 15 of values of a few units."""

SHIPPED = load_scenario("arm_coupled").model.vehicles[0]
VEHICLE = replace(SHIPPED, joints=tuple(replace(j, rate_rad_s=None, limits_rad=(-3.0, 3.0)) for j in SHIPPED.joints))  # fmt: skip
HAND = np.array([0.44, 0.0, 0.0])


def minimum_jerk(t, begin, end, a, b):
    """Value, rate and acceleration of the move in closed form."""
    T = end - begin
    s = np.clip((t - begin) / T, 0.0, 1.0)
    d = b - a
    return np.array(
        [
            a + d * (10 * s**3 - 15 * s**4 + 6 * s**5),
            d / T * 30 * s**2 * (1 - s) ** 2,
            d / T**2 * 60 * s * (1 - s) * (1 - 2 * s),
        ]
    )


def sequence(t, start, moves):
    """The same of several moves one after the other."""
    value = np.array([start, 0.0, 0.0])
    for begin, end, goal in moves:
        if t > begin:
            value = minimum_jerk(t, begin, end, value[0] if t <= end else start, goal)
        start = goal
    return value


def random_moves(rng, n, end=10.0):
    """n moves that follow each other, some at once."""
    times = np.sort(rng.uniform(0.0, end, 2 * n))
    times[2::2] = np.where(rng.random(n - 1) < 0.3, times[1:-1:2], times[2::2])
    return [(float(a), float(b), float(rng.normal(0, 2))) for a, b in times.reshape(n, 2)]


# --- one coordinate -------------------------------------------------------------------------------


@given(
    st.floats(-5, 5), st.floats(-5, 5), st.floats(0, 5), st.floats(0.1, 10), st.floats(-0.5, 1.5)
)
@settings(max_examples=100, deadline=None)
def test_a_move_is_the_quintic_of_least_jerk(a, b, begin, duration, where):
    end = begin + duration
    curve = coordinate(a, [(begin, end, b)], end + 1.0)
    t = float(np.clip(begin + where * duration, 0.0, end + 1.0))
    found = [float(curve(t)), float(curve.derivative()(t)), float(curve.derivative(2)(t))]
    expected = minimum_jerk(t, begin, end, a, b)
    np.testing.assert_allclose(found, expected, atol=ROUNDING * 60.0 / min(duration, 1.0) ** 2)


def test_peak_rate_and_ends_of_a_move():
    curve = coordinate(1.0, [(2.0, 5.0, 3.0)], 6.0)
    rate, bend = curve.derivative(), curve.derivative(2)
    fine = np.linspace(0.0, 6.0, 6001)
    assert rate(fine).max() == pytest.approx(1.875 * 2.0 / 3.0, rel=1e-12)
    assert bend(fine).max() == pytest.approx(10.0 / np.sqrt(3.0) * 2.0 / 9.0, rel=1e-6)
    assert np.all(np.diff(curve(fine)) > -1e-14)  # never turns back: what holds at the ends holds between  # fmt: skip
    for t in (2.0, 5.0):
        for f, before in ((rate, rate(t - 1e-9)), (bend, bend(t - 1e-9))):
            np.testing.assert_allclose((f(t), before), 0.0, atol=1e-7)


# --- moves of a base ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_moves_of_several_axes_are_independent(seed):
    """At random times, of overlapping moves of position and heading: closed forms, to the acceleration."""
    rng = np.random.default_rng(seed)
    own = {axis: random_moves(rng, int(rng.integers(1, 4))) for axis in ("x", "y", "z", "yaw")}
    moves = [
        Move(axis, begin, end, to_deg=float(np.degrees(v))) if axis == "yaw" else Move(axis, begin, end, to_m=v)
        for axis, three in own.items()
        for begin, end, v in three
    ]  # fmt: skip
    start, heading = rng.normal(size=3), float(rng.normal())
    plan = moves_plan(MovesPlan("moves", tuple(moves), 12.0), start, heading)
    assert plan.duration == pytest.approx(12.0)
    for t in rng.uniform(0.0, 12.0, 100):
        row = plan.sample(t)
        for i, axis in enumerate("xyz"):
            expected = sequence(t, start[i], own[axis])
            shortest = min(b - a for a, b, _ in own[axis])
            found = row[[POSITION + i, VELOCITY + i, ACCELERATION + i]]
            np.testing.assert_allclose(found, expected, atol=1e-9 / min(shortest, 1.0) ** 2)
        shortest = min(b - a for a, b, _ in own["yaw"])
        np.testing.assert_allclose(
            row[YAW_ANGLE:], sequence(t, heading, own["yaw"]), atol=1e-9 / min(shortest, 1.0) ** 2
        )


def test_moves_are_continuous_to_the_acceleration_and_rest_outside():
    rng = np.random.default_rng(2)
    moves = [Move(a, b, e, to_m=v) for a in "xyz" for b, e, v in random_moves(rng, 3)]
    plan = moves_plan(MovesPlan("moves", tuple(moves), 1.0), np.zeros(3), 0.0)
    assert plan.duration == pytest.approx(max(m.to_s for m in moves))  # a move may end after the duration  # fmt: skip
    for t in np.cumsum(plan.durations)[:-1]:
        before, after = plan.sample(t - 1e-9), plan.sample(t + 1e-9)
        np.testing.assert_allclose(before[:JERK], after[:JERK], atol=1e-5)  # jerk up to 1e3 over 2e-9 s  # fmt: skip
    for t in (-1.0, plan.duration + 1.0):
        np.testing.assert_array_equal(plan.sample(t)[VELOCITY:ATTITUDE], 0.0)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: Move("x", 2.0, 1.0, to_m=1.0), "to_s must be after from_s, got 2 and 1"),
        (lambda: Move("x", 0.0, 1.0, to_deg=1.0), "axis x needs to_m alone"),
        (lambda: Move("yaw", 0.0, 1.0, to_m=1.0), "axis yaw needs to_deg alone"),
        (lambda: JointMove("j", 0.0, 1.0), "joint 'j' needs either to_deg or to_m"),
        (lambda: ReachMove("l", (0, 0, 0), 1.0, 1.0), "to_s must be after from_s"),
        (
            lambda: MovesPlan(
                "moves", (Move("x", 0.0, 2.0, to_m=1.0), Move("x", 1.0, 3.0, to_m=0.0)), 4.0
            ),
            "moves of x: must follow each other, but one begins at 1 s before 2 s",
        ),
        (
            lambda: JointMoves(
                "am1", (JointMove("a", 0.0, 2.0, to_m=1.0), JointMove("a", 1.9, 3.0, to_m=0.0))
            ),
            "moves of a: must follow each other",
        ),
    ],
)
def test_moves_that_cannot_be_are_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()


# --- joint plans ----------------------------------------------------------------------------------


def monomial(p, order, s):
    """Derivative of s^p."""
    return float(np.prod(np.arange(p, p - order, -1))) * s ** max(p - order, 0)


@pytest.mark.parametrize("seed", range(10))
def test_joint_plans_against_hermite_equations(seed):
    """Every piece takes up angle, rate and acceleration at both ends: six equations for six coefficients."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    times, points = np.cumsum(rng.uniform(0.2, 2.0, m)), rng.normal(size=(m, 3, n))
    plan = JointPlan(times, points)
    assert plan.duration == times[-1]
    for t in rng.uniform(times[0], times[-1], 20):
        k = int(np.searchsorted(times, t)) - 1
        rows, right = [], []
        for x, point in ((times[k], points[k]), (times[k + 1], points[k + 1])):
            for order in range(3):
                rows.append([monomial(p, order, x - times[k]) for p in range(6)])
                right.append(point[order])
        c = np.linalg.solve(np.array(rows, float), np.array(right))
        s = t - times[k]
        expected = [sum(monomial(p, order, s) * c[p] for p in range(6)) for order in range(3)]
        np.testing.assert_allclose(plan.sample(t).T, expected, atol=1e-8)  # 0.2 s pieces: condition 1e5  # fmt: skip


def test_a_joint_plan_rests_outside():
    points = np.random.default_rng(0).normal(size=(3, 3, 2))
    plan = JointPlan(np.array([1.0, 2.0, 4.0]), points)
    for t, k in ((0.0, 0), (1.0, 0), (4.0, -1), (9.0, -1)):
        np.testing.assert_array_equal(plan.sample(t), np.column_stack([points[k, 0], np.zeros((2, 2))]))  # fmt: skip
    rest = np.zeros((2, 3, 1))
    rest[1, 0] = -3.0
    np.testing.assert_allclose(JointPlan(np.array([0.0, 2.0]), rest).fastest(), 1.875 / 2.0 * 3.0)
    one = JointPlan(np.zeros(1), points[:1])
    np.testing.assert_array_equal(one.sample(3.0)[:, 0], points[0, 0])
    np.testing.assert_array_equal(one.fastest(), 0.0)
    assert JointPlan(np.zeros(1), np.zeros((1, 3, 0))).sample(0.0).shape == (0, 3)


@pytest.mark.parametrize(
    "times, points, text",
    [
        (
            [0.0, 1.0],
            np.zeros((1, 3, 2)),
            r"points: must have the shape \(2, 3, n\), got \(1, 3, 2\)",
        ),
        ([], np.zeros((0, 3, 2)), "needs"),
        ([0.0, 0.0], np.zeros((2, 3, 2)), "times must increase"),
        ([0.0, 1.0], np.full((2, 3, 1), np.nan), "must be finite"),
        ([0.0, np.inf], np.zeros((2, 3, 1)), "must be finite"),
    ],
)
def test_joint_plans_that_cannot_be_are_refused(times, points, text):
    with pytest.raises(ContractError, match=text):
        JointPlan(np.array(times), points)


# --- plans of arms --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_arm_plans_are_the_moves_of_their_joints(seed):
    rng = np.random.default_rng(seed)
    own = [random_moves(rng, 2), random_moves(rng, 3)]
    own = [[(a, b, float(np.clip(v, -3, 3))) for a, b, v in moves] for moves in own]
    moves = tuple(
        JointMove(f"joint{i + 1}", a, b, to_deg=float(np.degrees(v))) for i, o in enumerate(own) for a, b, v in o
    )  # fmt: skip
    plan = arm_plan(VEHICLE, JointMoves("am1", moves), None)
    starts = [j.initial for j in VEHICLE.moving_joints]
    shortest = min(b - a for o in own for a, b, _ in o)
    for t in rng.uniform(0.0, 12.0, 50):
        expected = [sequence(t, s, o) for s, o in zip(starts, own, strict=True)]
        np.testing.assert_allclose(plan.sample(t), expected, atol=1e-9 / min(shortest, 1.0) ** 2)


def test_reaches_begin_where_moves_left_and_end_at_the_target():
    base = hold((0.2, -0.1, 2.0), 0.7)
    target = np.array([0.2, -0.1, 2.0]) + Rotation.from_euler("z", 0.7).apply([0.4, 0.0, -0.5])
    moves = JointMoves(
        "am1",
        (JointMove("joint1", 0.0, 1.0, to_deg=80.0),),
        (ReachMove("link2", tuple(target), 1.5, 3.0, tuple(HAND)),),
    )
    plan = arm_plan(VEHICLE, moves, base)
    np.testing.assert_allclose(plan.sample(1.25)[:, 0], [np.radians(80.0), VEHICLE.joints[1].initial], atol=1e-12)  # fmt: skip
    np.testing.assert_allclose(
        InverseKinematics(VEHICLE, "link2", HAND).place(plan.sample(4.0)[:, 0]),
        [0.4, 0, -0.5],
        atol=TOLERANCE,
    )
    peak = plan.sample(2.25)  # half way in time is half way in angle, at 1.875 times the mean rate
    away = plan.sample(4.0)[:, 0] - plan.sample(1.25)[:, 0]
    np.testing.assert_allclose(peak[:, 1], 1.875 * away / 1.5, atol=1e-9)


def test_a_reach_that_another_move_leads_away_is_refused():
    """The arm is at the target already, so the reach moves nothing: a joint that turns meanwhile ended 0.68 m off."""
    target = tuple(InverseKinematics(VEHICLE, "link2", HAND).place(np.array([1.0, 0.5])))
    there = ReachMove("link2", target, 1.0, 3.0, tuple(HAND))
    again = ReachMove("link2", target, 5.0, 6.0, tuple(HAND))
    turns = (JointMove("joint1", 4.0, 5.5, to_deg=120.0),)
    with pytest.raises(
        ContractError, match=r"from 5 to 6 s of 'am1' would end .* m from its target"
    ):
        arm_plan(VEHICLE, JointMoves("am1", turns, (there, again)), None)
    late = (JointMove("joint1", 6.0, 7.5, to_deg=120.0),)
    arm_plan(VEHICLE, JointMoves("am1", late, (there, again)), None)


@pytest.mark.parametrize(
    "moves, reaches, text",
    [
        (
            (JointMove("elbow", 0.0, 1.0, to_deg=1.0),),
            (),
            "no joint 'elbow'; known: joint1, joint2",
        ),
        (
            (JointMove("joint1", 0.0, 1.0, to_deg=175.0),),
            (),
            r"'joint1' cannot go to 3.054, its stops are \[-3.0, 3.0\]",
        ),
        (
            (),
            (ReachMove("hand", (0.3, 0, 0), 0.0, 1.0),),
            "no link 'hand'; known: base_link, link1, link2",
        ),
        ((), (ReachMove("link2", (3.0, 0, 0), 0.0, 1.0),), "cannot reach .* m away. Move the base"),
        (
            (JointMove("joint1", 0.0, 2.0, to_deg=0.0),),
            (ReachMove("link2", (0.0, 0.0, -0.54), 1.0, 3.0),),
            "joint1: must follow each other",
        ),
    ],
)
def test_arm_plans_that_cannot_be_are_refused(moves, reaches, text):
    with pytest.raises((ContractError, ValueError), match=text):
        arm_plan(VEHICLE, JointMoves("am1", moves, reaches), None)


def test_too_fast_a_move_is_refused():
    slow = replace(VEHICLE, joints=tuple(replace(j, rate_rad_s=2.0) for j in VEHICLE.joints))
    turn = np.degrees(VEHICLE.joints[0].initial + 1.0)  # 1 rad: 1.875 / T
    arm_plan(slow, JointMoves("am1", (JointMove("joint1", 0.0, 0.94, to_deg=turn),)), None)
    with pytest.raises(
        ContractError, match=r"would have to move at 2.02, but its largest rate is 2. Give it more"
    ):
        arm_plan(slow, JointMoves("am1", (JointMove("joint1", 0.0, 0.93, to_deg=turn),)), None)


# --- reaching -------------------------------------------------------------------------------------


def spatial(seed, limits=None):
    """An arm of six joints, one of them a slide, that reaches in all directions."""
    rng = np.random.default_rng(seed)
    links, joints, parent = [], [], BASE
    for i in range(6):
        axis = rng.normal(size=3)
        joints.append(
            (PrismaticJoint if i == 3 else RevoluteJoint)(
                f"j{i}", parent, f"l{i}",
                tuple(rng.uniform(-0.3, 0.3, 3)), tuple(rng.uniform(-170, 170, 3)), tuple(axis),
                **({"limits_m": (-0.3, 0.3)} if i == 3 else {"limits_rad": limits}),
            )
        )  # fmt: skip
        links.append(Link(f"l{i}", 0.1))
        parent = f"l{i}"
    return replace(VEHICLE, links=tuple(links), joints=tuple(joints))


ARMS = [
    InverseKinematics(spatial(seed, limits), "l5", np.array([0.1, 0.2, -0.1])) for seed, limits in ((0, None), (1, (-2.0, 2.5)))
]  # fmt: skip
PLANAR = InverseKinematics(VEHICLE, "link2", HAND)


def drawn_posture(reach, rng):
    """Away from stops and from where the arm is stretched: there the search may run out of steps."""
    while True:
        lower, upper = reach.drawn
        middle, half = (upper + lower) / 2.0, (upper - lower) / 2.0
        theta = middle + 0.9 * half * rng.uniform(-1, 1, len(half))
        reach.place(theta)
        spread = np.linalg.svd(reach.model.jacobian(reach.link, reach.point)[:3, 6:])[1]
        if spread[1 if reach is PLANAR else 2] > 0.1:
            return theta


def check_reach(reach, there, start):
    """Within the stops, to 1e-6 m, and the same every time."""
    target = reach.place(there).copy()
    found = reach.joints(target, start)
    assert np.linalg.norm(reach.place(found) - target) < TOLERANCE
    assert np.all(found >= reach.lower) and np.all(found <= reach.upper)
    np.testing.assert_array_equal(reach.joints(target, start), found)
    np.testing.assert_array_equal(InverseKinematics(reach.vehicle, reach.link, reach.point).joints(target, start), found)  # fmt: skip


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_a_planar_arm_reaches_what_it_can(seed):
    rng = np.random.default_rng(seed)
    check_reach(PLANAR, drawn_posture(PLANAR, rng), drawn_posture(PLANAR, rng))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("reach", ARMS, ids=["free", "stops"])
def test_spatial_arms_reach_what_they_can(reach, seed):
    """From anywhere without stops, else from nearby."""
    rng = np.random.default_rng(seed)
    there, start = drawn_posture(reach, rng), drawn_posture(reach, rng)
    check_reach(reach, there, start if reach is ARMS[0] else there + 0.1 * (start - there))


def test_a_solution_near_the_start_is_taken():
    for reach in (*ARMS, PLANAR):
        start = 0.3 * reach.drawn[1] + 0.7 * reach.drawn[0]
        there = start + 0.01
        found = reach.joints(reach.place(there).copy(), start)
        assert np.abs(found - start).max() < 0.1
        np.testing.assert_array_equal(reach.joints(reach.place(start).copy(), start), start)


@pytest.mark.parametrize("target", [(1.5, 0.0, -0.1), (0.0, 0.0, -2.0), (-0.9, 0.0, 0.9)])
def test_out_of_reach_is_refused_with_the_distance(target):
    """The planar arm, stretched, covers a circle of 0.88 m about its mount 0.1 m below the base."""
    free = replace(VEHICLE, joints=tuple(replace(j, limits_rad=None) for j in VEHICLE.joints))
    missing = np.linalg.norm(np.array(target) + [0, 0, 0.1]) - 0.88
    with pytest.raises(ContractError, match="'link2' cannot reach") as refused:
        InverseKinematics(free, "link2", HAND).joints(np.array(target), np.array([0.5, -0.5]))
    found = float(str(refused.value).split("comes is ")[1].split(" m")[0])
    assert found == pytest.approx(missing, abs=1e-3)


def test_a_planar_arm_cannot_leave_its_plane():
    inside = np.array([0.4, 0.0, -0.5])
    PLANAR.joints(inside, np.array([0.5, -0.5]))
    with pytest.raises(ContractError, match=r"nearest it comes is 0.05 m away"):
        PLANAR.joints(inside + [0.0, 0.05, 0.0], np.array([0.5, -0.5]))
