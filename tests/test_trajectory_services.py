"""Services of the planner that start trajectories, and its preview, over DDS."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from geometry_msgs.msg import Point, WrenchStamped
from nav_msgs.msg import Odometry
from rotor_msgs.msg import PolynomialTrajectory, Reference, TeamCommand, TrajectoryStatus
from rotor_msgs.srv import Circle, Hover, Land, Line, Preview, RotatePayload, StepPose, Waypoints
from std_srvs.srv import Trigger

from rotor_core.messages.convert import (
    plan_from_message,
    plan_message,
    seconds_between,
    seconds_from_stamp,
    stamp_from_seconds,
    vector_from,
    wxyz_from,
)
from rotor_core.plans.plan import hold
from rotor_core.plans.registry import KEPT
from rotor_core.ros import qos


@pytest.fixture
def bench(tmp_path):
    """Simulator, planner and controller of a team at hover."""
    with graph.bench(tmp_path) as bench:
        scenario = "three_dragonflies_triangular_1m"
        bench.start("simulator", scenario=scenario, duration_s=0.0, linger=True)
        bench.start("planner", scenario=scenario, start_trajectory=False)
        bench.start("controller", scenario=scenario)
        yield bench


def asked(bench, kind, name, **fields):
    return bench.call(kind, f"/planner/{name}", kind.Request(**fields))


def test_every_kind_of_trajectory(bench):
    """Each service makes the plan it promises; what cannot be flown is said, and changes nothing."""
    plans = bench.collect(PolynomialTrajectory, "/rotor/plan", qos.PLAN)
    references = bench.collect(Reference, "/payload/reference", qos.COMMAND)
    bench.until(lambda: bool(references and plans), "references")

    def newest(answer, n):
        assert answer.success, answer.message
        bench.until(lambda: len(plans) == n, "the plan")
        return plan_from_message(plans[-1])

    first = len(plans)
    step = asked(
        bench, StepPose, "step_pose",
        position_m=Point(x=0.1, y=-0.1, z=0.3), rpy_deg=[5.0, -4.0, 30.0],
    )  # fmt: skip
    row = newest(step, first + 1).sample(0.0)
    np.testing.assert_allclose(row[:3], (0.1, -0.1, 0.3))
    assert np.degrees(row[25]) == pytest.approx(30.0)

    turn = asked(
        bench, RotatePayload, "rotate_payload",
        amplitude_deg=[0.0, 10.0, 20.0], period_s=4.0, turns=2,
    )  # fmt: skip
    plan = newest(turn, first + 2)
    assert plan.duration == pytest.approx(8.0 + 2.0)  # ramps of half a period each
    rows = np.array([plan.sample(t) for t in np.linspace(0.0, plan.duration, 500)])
    np.testing.assert_allclose(rows[:, :3] - rows[0, :3], 0.0, atol=1e-12)
    assert np.degrees(np.ptp(rows[:, 25])) == pytest.approx(40.0, abs=0.1)

    busy = asked(bench, StepPose, "step_pose", position_m=Point(z=1.0))
    assert not busy.success and "call hover first" in busy.message
    newest(asked(bench, Hover, "hover", here=True), first + 3)

    points = [Point(x=0.5, y=-0.5, z=0.5), Point(x=1.0, y=0.0, z=0.5), Point(x=1.5, y=-0.5, z=0.5)]
    while True:  # the turn brakes first
        narrow = asked(
            bench, Waypoints, "waypoints",
            waypoints_m=points, corridor_m=1e-6, corridor_checks=200, degree=9,
        )  # fmt: skip
        if "runs for another" not in narrow.message:
            break
    assert not narrow.success and "no curve fits into a corridor" in narrow.message
    wide = asked(
        bench, Waypoints, "waypoints", waypoints_m=points, corridor_m=0.05, degree=11, continuity=4
    )
    assert newest(wide, first + 4).coefficients.shape[2] == 12
    wrong = asked(bench, Waypoints, "waypoints", waypoints_m=points, degree=200)
    assert not wrong.success

    high = asked(bench, Land, "land", height_m=50.0)
    assert not high.success and "must not be above the present height" in high.message
    plan = newest(asked(bench, Land, "land", height_m=-0.2), first + 5)
    np.testing.assert_allclose(plan.sample(plan.duration)[2], -0.2)
    assert plan.sample(0.5 * plan.duration)[9 - 4] < 0.0  # downwards


def test_whatever_is_asked_the_planner_lives_on(bench):
    """Requests that nobody can mean are refused with the reason, and change nothing."""
    plans = bench.collect(PolynomialTrajectory, "/rotor/plan", qos.PLAN)
    bench.until(lambda: bool(plans), "the plan")
    three = [Point(x=1.0), Point(x=1.0, y=1.0), Point(y=1.0)]
    far = [Point(x=1e308), Point(x=-1e308)]
    for kind, name, fields, words in (
        (RotatePayload, "rotate_payload", {"amplitude_deg": [0.0, 5.0, 0.0], "period_s": 1e300}, ""),
        (RotatePayload, "rotate_payload", {"amplitude_deg": [0.0, 500.0, 0.0], "period_s": 5.0}, "within 60 deg"),
        (RotatePayload, "rotate_payload", {"period_s": 1e-6}, "at least 0.1 s"),
        (Line, "line", {"waypoints_m": three, "speed_m_s": 1e-300}, ""),
        (Land, "land", {"height_m": -0.5, "speed_m_s": 1e-300}, ""),
        (Land, "land", {"height_m": float("nan")}, "present height"),
        (Circle, "circle", {"radius_m": 1.0, "period_s": 5.0, "cruise_s": 1e300}, ""),
        (Circle, "circle", {"radius_m": 1e300, "period_s": 5.0}, "must stay within 1e+06 m"),
        (Waypoints, "waypoints", {"waypoints_m": three, "rest": 8}, "rest must be below"),
        (Waypoints, "waypoints", {"waypoints_m": far}, ""),
        (StepPose, "step_pose", {"position_m": Point(x=1e300)}, "must stay within 1e+06 m"),
        (StepPose, "step_pose", {"rpy_deg": [0.0, 90.0, 0.0]}, "within 60 deg"),
        (Preview, "preview", {"period_s": 1e-9, "count": 65535}, "count: must be at most 1000"),
    ):  # fmt: skip
        answer = asked(bench, kind, name, **fields)
        assert not answer.success and words in answer.message and answer.message, (name, fields)
    assert len(plans) == 1
    assert asked(bench, Hover, "hover", here=True).success


def test_preview_is_the_plan(bench):
    """Samples from the service equal those of the plan that the planner has published."""
    plans = bench.collect(PolynomialTrajectory, "/rotor/plan", qos.PLAN)
    references = bench.collect(Reference, "/payload/reference", qos.COMMAND)
    bench.until(lambda: bool(references and plans), "references")
    turn = asked(
        bench, RotatePayload, "rotate_payload", amplitude_deg=[8.0, 0.0, 0.0], period_s=5.0
    )
    assert turn.success
    n = len(plans)
    bench.until(lambda: len(plans) > n - 1 and plans[-1].rotation[0] > 0.0, "the plan")
    preview = asked(bench, Preview, "preview", start_s=0.5, period_s=0.05, count=40)
    assert preview.success and len(preview.references) == 40
    plan, start = plan_from_message(plans[-1]), plans[-1].header.stamp
    for reference in preview.references:
        row = plan.sample(seconds_between(start, reference.header.stamp))
        np.testing.assert_allclose(vector_from(reference.position), row[:3], atol=1e-12)
        np.testing.assert_allclose(wxyz_from(reference.orientation), row[15:19], atol=1e-9)
    stamps = [seconds_from_stamp(r.header.stamp) for r in preview.references]
    np.testing.assert_allclose(np.diff(stamps), 0.05, atol=2e-9)
    unknown = asked(bench, Preview, "preview", entity="quad9", period_s=0.1, count=1)
    assert not unknown.success and "known: payload" in unknown.message
    wrong = asked(bench, Preview, "preview", period_s=0.0, count=1)
    assert not wrong.success and "period_s must be above 0" in wrong.message


def test_what_cables_do_to_the_payload(bench):
    """Attachment points move with the payload, the wrench of the cables holds its weight, and the status says what flies."""
    attach = bench.collect(Odometry, "/quad2/attach", qos.STATE)
    wrenches = bench.collect(WrenchStamped, "/payload/wrench_cables", qos.STATE)
    odometry = bench.collect(Odometry, "/payload/ground_truth", qos.STATE)
    status = bench.collect(TrajectoryStatus, "/payload/trajectory_status", qos.STATE)
    bench.until(lambda: min(map(len, (attach, wrenches, odometry, status))) > 50, "topics")
    at = {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in odometry}
    found = [
        (m, at[key]) for m in attach if (key := (m.header.stamp.sec, m.header.stamp.nanosec)) in at
    ]
    assert found
    for point, payload in found:
        there = vector_from(payload.pose.pose.position) + (0.3083, 0.0, 0.01125)  # level
        np.testing.assert_allclose(vector_from(point.pose.pose.position), there, atol=1e-3)
        assert point.child_frame_id == "payload/attach_2"
    np.testing.assert_allclose(
        vector_from(wrenches[-1].wrench.force), (0, 0, 0.278 * 9.81), atol=1e-2
    )
    np.testing.assert_allclose(vector_from(wrenches[-1].wrench.torque), 0.0, atol=1e-2)
    assert status[-1].kind == "scenario" and not status[-1].running
    turn = asked(
        bench, RotatePayload, "rotate_payload", amplitude_deg=[0.0, 5.0, 0.0], period_s=2.0
    )
    assert turn.success
    bench.until(lambda: status[-1].kind == "rotate_payload" and status[-1].running, "the turn")
    assert status[-1].duration == pytest.approx(3.0)
    bench.until(lambda: not status[-1].running and status[-1].elapsed > 3.0, "its end")


def test_where_nothing_is_planned_requests_are_refused(tmp_path):
    """A gyrostat has no trajectory; the planner lives on."""
    with graph.bench(tmp_path) as bench:
        bench.start("planner", scenario="gyrostat_g1")
        for kind, name, fields in (
            (Hover, "hover", {"here": True}),
            (Preview, "preview", {"period_s": 0.1, "count": 1}),
        ):
            answer = bench.call(kind, f"/planner/{name}", kind.Request(**fields))
            assert not answer.success and "nothing is planned" in answer.message


def test_a_controller_that_comes_late_follows_what_runs_now(tmp_path):
    """However many plans wait: those that have ended take no room."""
    with graph.bench(tmp_path) as bench:
        planner = bench.node.create_publisher(PolynomialTrajectory, "/rotor/plan", qos.PLAN)
        there, here = np.array([3.0, 0.0, 0.0]), np.zeros(3)
        plans = [(0.1, there), (0.2, here), *((1000.0 + k, there) for k in range(KEPT - 1))]
        for start, place in plans:  # simulation time begins at one second
            planner.publish(plan_message("quad1", hold(place, 0.0), stamp_from_seconds(start), 0))
        truth = bench.collect(Odometry, "/quad1/ground_truth", qos.STATE)
        bench.start("simulator", scenario="hover", pacing="lockstep", paused=True)
        bench.start("controller", scenario="hover")
        commands = bench.collect(TeamCommand, "/rotor/team_command", qos.TEAM)
        bench.until(lambda: bool(commands), "an answer")
        bench.spin(1.0)  # on a busy machine the plans of the past come slowly
        assert bench.call(Trigger, "/simulator/play", Trigger.Request()).success
        bench.until(
            lambda: truth and seconds_from_stamp(truth[-1].header.stamp) > 2.0, "a second of flight"
        )
        assert abs(truth[-1].pose.pose.position.x) < 0.01


def test_who_comes_after_many_plans_of_one_entity_hears_those_of_all(tmp_path):
    """A marker that is dragged over the scene leaves the plans of others where latecomers find them."""
    with graph.bench(tmp_path) as bench:
        bench.start("simulator", scenario="running_cable", linger=True)
        bench.start("planner", scenario="running_cable", start_trajectory=False)
        references = bench.collect(Reference, "/right/reference", qos.COMMAND)
        bench.until(lambda: bool(references), "references")
        for _ in range(qos.PLAN.depth + 1):
            answer = asked(bench, Hover, "hover", entity="left", here=True)
            assert answer.success, answer.message
        late = bench.collect(PolynomialTrajectory, "/rotor/plan", qos.PLAN)
        bench.until(lambda: len(late) >= qos.PLAN.depth, "as many as are kept")
        assert {m.entity for m in late} == {"left", "right"}
        of_right = [m for m in late if m.entity == "right"]
        assert len({seconds_from_stamp(m.header.stamp) for m in of_right}) == 1
