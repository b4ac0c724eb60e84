"""Every topic, type, QoS, frame and rate that docs/graph.md promises (ecosystem page, 2.3), with real processes over DDS."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from nav_msgs.msg import Odometry, Path
from rclpy.qos import (
    DurabilityPolicy,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
    qos_profile_sensor_data,
)
from rosgraph_msgs.msg import Clock
from rotor_msgs.msg import CableStates, Reference, Scene, TeamState
from sensor_msgs.msg import Imu, Range
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from transforms3d.quaternions import quat2mat
from visualization_msgs.msg import Marker, MarkerArray

from rotor_core.config.loader import dump_scenario, load_scenario
from rotor_core.config.sensing import Noise, Sensing
from rotor_core.errors import ConfigError, ContractError
from rotor_core.messages.convert import seconds_from_stamp, vector_from, wxyz_from
from rotor_core.ros import qos
from rotor_sim.ros.topics.sensors import SensorPublisher, message_of, topic_of
from rotor_sim.ros.topics.world import SimTime
from rotor_sim.sensing.sensor import Channel
from rotor_sim.simulation import Simulation

SCENARIO = "three_dragonflies_triangular_1m"
VEHICLES, ENTITIES = ("quad1", "quad2", "quad3"), ("quad1", "quad2", "quad3", "payload")
R, B, V, L = (
    ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT, DurabilityPolicy.VOLATILE, DurabilityPolicy.TRANSIENT_LOCAL,
)  # fmt: skip

OUT = {
    "/clock": ("rosgraph_msgs/msg/Clock", R, V, "simulator"),
    "/tf": ("tf2_msgs/msg/TFMessage", R, V, "simulator"),
    "/tf_static": ("tf2_msgs/msg/TFMessage", R, L, "simulator"),
    "/cables": ("rotor_msgs/msg/CableStates", R, V, "simulator"),
    "/rotor/team_state": ("rotor_msgs/msg/TeamState", R, V, "simulator"),
    "/rotor/team_command": ("rotor_msgs/msg/TeamCommand", R, V, "controller"),
    "/rotor/plan": ("rotor_msgs/msg/PolynomialTrajectory", R, L, "planner"),
    "/rotor/events": ("rotor_msgs/msg/HybridEvent", R, V, "simulator"),
    "/rotor/scene": ("rotor_msgs/msg/Scene", R, V, "simulator"),
    "/rotor/markers": ("visualization_msgs/msg/MarkerArray", R, V, "visualizer"),
    "/rotor/markers_static": ("visualization_msgs/msg/MarkerArray", R, L, "visualizer"),
    "/rotor/markers_plan": ("visualization_msgs/msg/MarkerArray", R, L, "planner"),
    "/diagnostics": ("diagnostic_msgs/msg/DiagnosticArray", R, V, "simulator"),
    "/payload/path": ("nav_msgs/msg/Path", R, L, "visualizer"),
    "/payload/path_reference": ("nav_msgs/msg/Path", R, L, "planner"),
    "/payload/reference": ("rotor_msgs/msg/Reference", R, V, "planner"),
    "/payload/reference_pose": ("geometry_msgs/msg/PoseStamped", R, V, "planner"),
    **{f"/{e}/{k}": ("nav_msgs/msg/Odometry", R, V, "simulator") for e in ENTITIES for k in ("odom", "ground_truth")},
    **{f"/{v}/imu": ("sensor_msgs/msg/Imu", B, V, "simulator") for v in VEHICLES},
    **{f"/{v}/motor_speed": ("actuator_msgs/msg/Actuators", B, V, "simulator") for v in VEHICLES},
    **{f"/cable{k}/load_cell": ("geometry_msgs/msg/WrenchStamped", B, V, "simulator") for k in (1, 2, 3)},
}  # fmt: skip
"""Topic: type, reliability, durability, node."""

IN = {
    **{f"/{e}/wrench_external": ("geometry_msgs/msg/WrenchStamped", "simulator") for e in ENTITIES},
    "/rotor/team_command": ("rotor_msgs/msg/TeamCommand", "simulator"),
    "/payload/cmd/trajectory": ("trajectory_msgs/msg/MultiDOFJointTrajectory", "planner"),
    "/goal_pose": ("geometry_msgs/msg/PoseStamped", "planner"),
    "/payload/goal_pose": ("geometry_msgs/msg/PoseStamped", "planner"),
    "/rotor/goal/feedback": ("visualization_msgs/msg/InteractiveMarkerFeedback", "planner"),
}

RATES = {
    "/clock": (Clock, 250.0), "/tf": (TFMessage, 100.0), "/cables": (CableStates, 100.0),
    "/payload/odom": (Odometry, 100.0),
    "/quad3/ground_truth": (Odometry, 100.0), "/quad1/imu": (Imu, 100.0), "/cable2/load_cell": (WrenchStamped, 100.0),
    "/payload/reference": (Reference, 100.0), "/payload/reference_pose": (PoseStamped, 100.0), "/payload/path": (Path, 1.0),
    "/rotor/markers": (MarkerArray, 25.0), "/rotor/team_state": (TeamState, 200.0),
}  # fmt: skip
"""Topic: class, messages per second of simulation.

Endpoints are announced in the order in which they are made. The markers are the simulator's last
publisher and the team state is our last subscription: who hears both, hears everything else too.
"""


SENSORS = ("/quad1/imu", "/cable2/load_cell")
"""Offered as best effort."""


def stamp_of(message):
    if isinstance(message, Clock):
        return seconds_from_stamp(message.clock)
    if isinstance(message, TFMessage):
        return seconds_from_stamp(message.transforms[0].header.stamp)
    if isinstance(message, MarkerArray):
        return seconds_from_stamp(message.markers[0].header.stamp)
    return seconds_from_stamp(message.header.stamp)


@pytest.fixture(scope="module")
def flight(tmp_path_factory):
    """One slow flight of 2.5 s: what the graph looks like, and everything that was heard."""
    with graph.bench(tmp_path_factory.mktemp("topics")) as bench:
        deep = {name: QoSProfile(depth=1000) for name in RATES}
        for name in SENSORS:
            deep[name] = QoSProfile(depth=1000, reliability=B)
        odom = {e: bench.collect(Odometry, f"/{e}/odom", deep["/tf"]) for e in ENTITIES}
        heard = {
            "/tf_static": bench.collect(TFMessage, "/tf_static", qos.TF_STATIC),
            "/payload/path_reference": bench.collect(Path, "/payload/path_reference", qos.LATCHED),
        }
        heard |= {n: bench.collect(kind, n, deep[n]) for n, (kind, _) in RATES.items()}
        heard["odom"] = odom
        bench.start(
            "simulator",
            scenario=SCENARIO,
            paused=True,
            duration_s=2.5,
            linger=True,
            pacing="realtime",
            real_time_factor=0.25,  # odometry keeps ten messages: 0.4 s for a busy machine to read them
        )
        for name in ("visualizer", "planner", "controller"):
            bench.start(name, scenario=SCENARIO)
        node = bench.node

        def known(infos):  # endpoints are discovered before the names of their nodes
            return bool(infos) and all("UNKNOWN" not in i.node_name for i in infos)

        bench.until(
            lambda: all(known(node.get_publishers_info_by_topic(n)) for n in OUT), "publishers"
        )
        bench.until(
            lambda: all(known(node.get_subscriptions_info_by_topic(n)) for n in IN), "subscribers"
        )
        seen = {n: node.get_publishers_info_by_topic(n) for n in OUT}
        asked = {n: node.get_subscriptions_info_by_topic(n) for n in IN}
        bench.until(
            lambda: all(
                heard[n] for n in ("/rotor/markers", "/rotor/team_state", "/payload/reference")
            ),
            "everything",
        )
        bench.spin(1.0)
        standing = {n: len(m) for n, m in heard.items() if isinstance(m, list)}
        assert bench.call(Trigger, "/simulator/play", Trigger.Request()).success
        bench.until(lambda: heard["/clock"] and stamp_of(heard["/clock"][-1]) > 3.499, "end", 60.0)
        bench.spin(0.5)
        yield seen, asked, heard, standing


@pytest.mark.parametrize("topic", list(OUT))
def test_published(flight, topic):
    """One publisher, of this type, reliable and latched as written."""
    kind, reliability, durability, node = OUT[topic]
    found = flight[0][topic]
    if topic == "/diagnostics":  # others tell of their health there too
        found = [info for info in found if info.node_name == node]
    (info,) = found
    assert info.topic_type == kind and info.node_name == node
    assert info.qos_profile.reliability is reliability
    assert info.qos_profile.durability is durability


@pytest.mark.parametrize("topic", list(IN))
def test_subscribed(flight, topic):
    kind, node = IN[topic]
    infos = [i for i in flight[1][topic] if i.node_name == node]
    assert len(infos) == 1 and infos[0].topic_type == kind


def test_foreign_subscribers_match():
    """Best-effort estimates and the clock of rclpy listen to what we offer; sensors are offered as sensor data."""
    from rclpy.qos import QoSCompatibility

    clock = QoSProfile(depth=1, reliability=B)
    for ours in (qos.STATE, qos.TF, qos.TEAM, qos.COMMAND):
        assert qos_check_compatible(ours, clock)[0] != QoSCompatibility.ERROR
        assert qos_check_compatible(ours, qos_profile_sensor_data)[0] != QoSCompatibility.ERROR
    assert qos_check_compatible(qos.SENSOR, qos_profile_sensor_data)[0] != QoSCompatibility.ERROR


@pytest.mark.parametrize("topic", list(RATES))
def test_rates(flight, topic):
    """Slow flight and deep queues: the stamps are exactly those of the schedule, none missing, none doubled."""
    stamps = np.array(sorted({round(stamp_of(m), 9) for m in flight[2][topic]}))
    stamps = stamps[(stamps > 1.0 + 1e-6) & (stamps < 3.5 - 1e-6)]
    period = 1.0 / RATES[topic][1]
    expected = np.arange(1, round(2.5 / period) + 1) * period
    expected = 1.0 + expected[expected < 2.5 - 1e-6]
    if topic == "/payload/path":
        expected = expected[:2]
    np.testing.assert_allclose(stamps, expected, atol=1e-9)


def test_the_clock_starts_at_one_second_and_never_goes_back(flight):
    stamps = [stamp_of(m) for m in flight[2]["/clock"]]
    assert stamps[0] == 1.0 and np.all(np.diff(stamps) >= 0.0)


def test_tf_is_one_tree_and_equals_odometry(flight):
    """Every frame has one parent, the root is world, static frames are latched, and TF is the odometry to the bit."""
    _, _, heard, _ = flight
    parents = {}
    for message in [*heard["/tf"], *heard["/tf_static"]]:
        for t in message.transforms:
            assert not t.header.frame_id.startswith("/") and not t.child_frame_id.startswith("/")
            assert parents.setdefault(t.child_frame_id, t.header.frame_id) == t.header.frame_id
    for frame in parents:
        root, steps = frame, 0
        while root in parents:
            root, steps = parents[root], steps + 1
            assert steps < 10
        assert root == "world"
    static = {t.child_frame_id for m in heard["/tf_static"] for t in m.transforms}
    assert static == {
        "map",
        *(f"{v}/rotor_{k}" for v in VEHICLES for k in (1, 2, 3, 4)),
        *(f"{v}/cable_anchor" for v in VEHICLES),
        *(f"payload/attach_{k}" for k in (1, 2, 3)),
    }
    assert set(parents) - static == {f"{e}/base_link" for e in ENTITIES}
    tf = {}
    for message in heard["/tf"]:
        for t in message.transforms:
            p, q = t.transform.translation, t.transform.rotation
            tf[t.child_frame_id, stamp_of(message)] = (p.x, p.y, p.z, q.x, q.y, q.z, q.w)
    compared = 0
    for entity, messages in heard["odom"].items():
        for m in messages:
            assert m.header.frame_id == "world" and m.child_frame_id == f"{entity}/base_link"
            p, q = m.pose.pose.position, m.pose.pose.orientation
            key = (m.child_frame_id, stamp_of(m))
            if key in tf:
                assert tf[key] == (p.x, p.y, p.z, q.x, q.y, q.z, q.w)
                compared += 1
    assert compared > 4 * 200


def test_twist_is_in_the_child_frame(flight):
    """The derivative of the positions, turned into the body, is the linear twist; that of the attitudes the angular."""
    checked = 0
    for messages in flight[2]["odom"].values():
        rows = {round(stamp_of(m), 6): m for m in messages}
        for t in sorted(rows)[20:-20:17]:
            a, m, b = (rows.get(round(t + d, 6)) for d in (-0.01, 0.0, 0.01))
            if a is None or b is None:
                continue
            pa, pb = (vector_from(x.pose.pose.position) for x in (a, b))
            R = quat2mat(wxyz_from(m.pose.pose.orientation))
            v = R.T @ (pb - pa) / 0.02
            np.testing.assert_allclose(vector_from(m.twist.twist.linear), v, atol=2e-3)
            Ra, Rb = (quat2mat(wxyz_from(x.pose.pose.orientation)) for x in (a, b))
            S = (Ra.T @ Rb - Rb.T @ Ra) / 0.04
            omega = np.array([S[2, 1], S[0, 2], S[1, 0]])
            np.testing.assert_allclose(vector_from(m.twist.twist.angular), omega, atol=2e-2)
            checked += 1
    assert checked > 30


def test_sensors_have_their_frames_and_agree_with_the_cables(flight):
    _, _, heard, _ = flight
    assert {m.header.frame_id for m in heard["/quad1/imu"]} == {"quad1/base_link"}
    assert all(m.orientation_covariance[0] == -1.0 for m in heard["/quad1/imu"])
    cells = {round(stamp_of(m), 6): m for m in heard["/cable2/load_cell"]}
    assert {m.header.frame_id for m in cells.values()} == {"quad2/base_link"}
    for message in heard["/cables"]:
        cell = cells.get(round(stamp_of(message), 6))
        if cell is not None and stamp_of(message) > 1.001:  # at first before, then with the command
            force = vector_from(cell.wrench.force)
            assert np.linalg.norm(force) == pytest.approx(message.cables[1].tension, abs=1e-9)


def test_the_planned_path_is_latched_and_bounded(flight):
    (path,) = flight[2]["/payload/path_reference"][-1:]
    assert path.header.frame_id == "world" and 2 <= len(path.poses) <= 200
    flown = flight[2]["/payload/path"][-1]
    assert 2 <= len(flown.poses) <= 300


def test_everything_is_shown_while_time_stands(flight):
    """A latecomer to a paused simulation sees it; TF does not repeat a stamp to those who have it."""
    standing = flight[3]
    for topic in ("/clock", "/rotor/team_state", "/payload/odom", "/cables", "/rotor/markers"):
        assert standing[topic] >= 3, topic
    assert 1 <= standing["/tf"] <= 4


RANGEFINDER = """
schema: 1
model: {vehicles: [{use: dragonfly}]}
controller: {type: quadrotor}
initial: [{entity: quad1, position_m: [0.0, 0.0, 1.5]}]
environment: {ground_m: 0.0}
sensing: {sensors: [{type: rangefinder, body: quad1, farthest_m: 10.0}]}
"""


def test_sensors_whose_numbers_are_no_doubles_are_told(tmp_path):
    """The range of `sensor_msgs/Range` is a float32."""
    path = tmp_path / "range.yaml"
    path.write_text(RANGEFINDER)
    with graph.bench(tmp_path) as bench:
        heard = bench.collect(Range, "/quad1/rangefinder", qos.SENSOR)
        for name in ("simulator", "planner", "controller"):
            bench.start(name, scenario=str(path))
        bench.until(lambda: len(heard) > 5, "ranges")
    assert heard[-1].range == pytest.approx(1.5, abs=0.1)
    assert heard[-1].header.frame_id == "quad1/rangefinder"


def nobody_hears():
    """A publisher of a topic to which nobody listens."""
    handle = SimpleNamespace(publish_raw=lambda _: None, get_subscription_count=lambda: 0)
    return SimpleNamespace(handle=handle)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"message": "sensor_msgs/msg/Warmth"}, "no message 'sensor_msgs/msg/Warmth'"),
        ({"fields": ("warmth",)}, "Temperature has no number 'warmth'"),
        ({"constants": {"spread": 1.0}}, "Temperature has no number 'spread'"),
    ],
)
def test_sensor_topics_that_cannot_be_are_named(keys, words):
    """What a package declares wrongly is said with its topic, not as a defect of ours."""
    channel = Channel("quad1/air", "quad1", "sensor_msgs/msg/Temperature", ("temperature",))
    channel = replace(channel, **keys)
    with pytest.raises(ConfigError, match=f"sensor topic 'quad1/air': .*{words}"):
        topic_of(channel, nobody_hears(), message_of(channel))


@pytest.mark.parametrize(
    "sample", [np.zeros(1), np.zeros((1, 2)), np.full((1, 6), None), np.full((1, 6), "warm"), None]
)
def test_samples_of_another_shape_name_their_sensor(sample):
    """What a sensor of a package gives is looked at before it is published."""
    entities = SimpleNamespace(publisher=lambda *_: nobody_hears())
    simulation = Simulation("hover")
    time = SimTime(simulation)
    publisher = SensorPublisher(entities, simulation, time)
    (name, *_) = publisher.rates
    publisher.sample(name, time.stamp())
    simulation.sensors[0].sense = lambda: sample
    with pytest.raises(ContractError, match=r"sensor of 'quad1/imu': .*of the shape \(1, \d+\)"):
        publisher.sample(name, time.stamp())


def test_no_stamp_is_before_the_first_instant():
    """Of a sample that was taken long before a reset of the time alone: negative seconds ended the simulator."""
    simulation = Simulation("hover")
    time = SimTime(simulation)
    time.offset_ns = -2 * 10**9
    assert (time.stamp(1.5).sec, time.stamp(1.5).nanosec) == (1, 0)
    assert (time.stamp(3.25).sec, time.stamp(3.25).nanosec) == (1, 25 * 10**7)


def test_after_a_reset_the_visualizer_begins_anew(tmp_path):
    """What was drawn is deleted, and the path holds no pose of the flight before."""
    with graph.bench(tmp_path) as bench:
        markers = bench.collect(MarkerArray, "/rotor/markers", QoSProfile(depth=1000))
        paths = bench.collect(Path, "/quad1/path", qos.LATCHED)
        for name in ("visualizer", "planner", "controller"):
            bench.start(name, scenario="hover")
        bench.start("simulator", scenario="hover", pacing="realtime")
        bench.until(lambda: bool(paths) and len(paths[-1].poses) > 10, "a path")
        assert bench.call(Trigger, "/simulator/reset", Trigger.Request()).success
        deleted = Marker.DELETEALL
        bench.until(lambda: any(m.markers[0].action == deleted for m in markers), "deletion")
        bench.until(lambda: len(paths[-1].poses) < 10, "a new path")


def fly_four_seconds(bench, path, ready=lambda: True):
    """Fly a scenario in lockstep once its states, and what is ``ready``, have been heard; returns the states."""
    states = bench.collect(TeamState, "/rotor/team_state", QoSProfile(depth=1000))
    for name in ("planner", "controller"):
        bench.start(name, scenario=str(path))
    bench.start(
        "simulator", scenario=str(path), pacing="lockstep", duration_s=4.0, linger=True, paused=True
    )
    bench.until(lambda: bool(states) and ready(), "everything")
    assert bench.call(Trigger, "/simulator/play", Trigger.Request()).success
    bench.until(lambda: states and stamp_of(states[-1]) > 4.99, "flight")
    bench.spin(0.3)
    return states


TOLD = """
schema: 1
description: what controllers are told is not the truth
model: {vehicles: [{use: dragonfly}]}
controller: {use: quadrotor}
trajectory: {use: circle_6s}
seed: 2
"""


@pytest.mark.parametrize(
    "more",
    [
        "plant: [{entity: quad1, velocity_gain: 0.7, attitude_bias_rad: [0.05, 0.0, 0.0]}]\n",
        "sensing: {noise: {position_m: 0.01}, estimator: {type: kalman}, imu: {accelerometer_density_m_s2_sqrt_hz: 0.016,"
        " gyroscope_density_rad_s_sqrt_hz: 0.0032}}\n",
        "sensing: {noise: {velocity_m_s: 0.01, attitude_rad: 0.02}}\n",
    ],
    ids=["errors of the plant", "an estimator", "noise"],
)
def test_odometry_is_what_controllers_are_told(tmp_path, more):
    """Not the truth, as often as that; with an estimator, or noise, its covariances are those of its errors."""
    path = tmp_path / "told.yaml"
    path.write_text(TOLD + more)
    deep = QoSProfile(depth=1000)
    with graph.bench(tmp_path) as bench:
        odom, truth = (
            bench.collect(Odometry, f"/quad1/{n}", deep) for n in ("odom", "ground_truth")
        )
        fly_four_seconds(bench, path)

    def rows(messages):
        return {
            round(stamp_of(m), 4): np.array([getattr(m.twist.twist.linear, axis) for axis in "xyz"])
            for m in messages
        }

    told, true = rows(odom), rows(truth)
    assert all(round(t, 2) == t for t in told)  # 100 Hz, not at every control period
    common = sorted(set(told) & set(true))[150:]
    assert len(common) > 200
    told, true = (np.array([of[t] for t in common]) for of in (told, true))
    covariances = {
        round(stamp_of(m), 4): np.reshape(m.twist.covariance, (6, 6))[:3, :3] for m in odom
    }
    covariance = np.reshape(odom[-1].twist.covariance, (6, 6))
    if "plant" in more:  # the attitude is told wrongly, too: lengths are those in any axes
        shares = np.linalg.norm(told, axis=1) / np.linalg.norm(true, axis=1)
        np.testing.assert_allclose(shares, 0.7, atol=1e-9)
        assert not covariance.any()
        return
    if "noise: {velocity" in more:
        # normalized squares of three numbers: 3 on average, 0.17 the deviation of the mean of 200
        off = [
            (t - s) @ np.linalg.solve(covariances[c], t - s)
            for c, t, s in zip(common, told, true, strict=True)
        ]
        assert np.mean(off) == pytest.approx(3.0, abs=0.7)
        return
    deviations = np.sqrt(np.diag(covariance)[:3])
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-15)
    assert (np.linalg.eigvalsh(covariance) > 0.0).all()
    errors = np.sqrt(np.mean((told - true) ** 2, axis=0))
    # correlated over some tenths of a second: two seconds tell a deviation to a factor of two
    assert (errors < 2.5 * deviations).all() and (errors > 0.2 * deviations).all()


def test_imperfect_sensing_reaches_the_graph(tmp_path):
    """Noise, delay, rate and dropouts of ``sensing``: stamps are those of the samples, arrivals are late, some are lost."""
    scenario = replace(
        load_scenario("hover"),
        sensing=Sensing(
            Noise(position_m=0.002), rate_hz=50.0, delay_s=0.03, dropout_probability=0.2
        ),
        seed=3,
    )
    path = tmp_path / "mocap.yaml"
    path.write_text(dump_scenario(scenario))
    deep = QoSProfile(depth=1000)
    with graph.bench(tmp_path) as bench:
        odom = bench.collect(Odometry, "/quad1/odom", deep)
        truth = bench.collect(Odometry, "/quad1/ground_truth", deep)
        scenes = bench.collect(Scene, "/rotor/scene", deep)
        states = fly_four_seconds(bench, path, lambda: bool(scenes))
    stamps = np.array(sorted({round(stamp_of(m), 6) for m in odom}))[1:]
    assert np.allclose(
        np.round((stamps - 1.0) * 50.0), (stamps - 1.0) * 50.0
    )  # sampled every 20 ms
    share = len(stamps) / (50.0 * 3.9)
    assert 0.6 < share < 0.95  # a fifth is lost: 195 samples, 5 deviations are 0.14
    true = {round(stamp_of(m), 6): vector_from(m.pose.pose.position) for m in truth}
    errors = np.array(
        [
            vector_from(m.pose.pose.position) - true[round(stamp_of(m), 6)]
            for m in odom
            if round(stamp_of(m), 6) in true
        ]
    )
    assert len(errors) > 50
    assert errors.std() == pytest.approx(0.002, rel=0.2)
    assert odom[-1].pose.covariance[0] == pytest.approx(0.002**2)
    # a controller's state at t holds the newest sample that is 30 ms old; of odometry a slow reader
    # may miss some (200 are kept), so a state whose sample is not among ours tells nothing
    stamp_at = {tuple(vector_from(m.pose.pose.position)): round(stamp_of(m), 6) for m in odom}
    arrived = np.array(sorted(stamp_at.values()))
    held = []
    for state in states:
        due = arrived[arrived <= stamp_of(state) - 0.03 + 1e-6]
        sample = stamp_at.get(tuple(vector_from(state.bodies[0].pose.position)))
        if sample is not None and len(due) and stamp_of(state) > 1.1:
            held.append(sample == due[-1])
    assert len(held) > 500 and all(held)


MEASURED = """
schema: 1
model:
  vehicles: [{use: dragonfly}]
  payloads: [{name: load, mass_kg: 0.05}]
  attachments: [{type: cable, a: load, b: quad1, length_m: 0.5, b_point_m: [0.0, 0.0, -0.02]}]
controller: {use: point_mass}
trajectory: {use: circle_10s}
sensing:
  sensors:
    - {type: rangefinder, body: quad1, position_m: [0.1, 0.0, 0.0], farthest_m: 8.0}
    - {type: gps, body: quad1, rate_hz: 10, delay_s: 0.3}
"""


def test_sensors_and_cables_say_where_and_when(tmp_path):
    """A ray along x of its frame, GPS with the time of its measurement, a cable from its vehicle, here its end b."""
    path = tmp_path / "measured.yaml"
    path.write_text(MEASURED)
    with graph.bench(tmp_path) as bench:
        ranges = bench.collect(Range, "/quad1/rangefinder", qos.SENSOR)
        speeds = bench.collect(TwistStamped, "/quad1/gps/vel", qos.SENSOR)
        truth = bench.collect(Odometry, "/quad1/ground_truth", qos.STATE)
        cables = bench.collect(CableStates, "/cables", qos.STATE)
        static = bench.collect(TFMessage, "/tf_static", qos.TF_STATIC)
        bench.start("simulator", scenario=str(path), pacing="lockstep", duration_s=6.0, linger=True)
        for name in ("planner", "controller"):
            bench.start(name, scenario=str(path))
        bench.until(lambda: speeds and stamp_of(speeds[-1]) > 4.0, "a flight")
    frames = {t.child_frame_id: t for m in static for t in m.transforms}
    assert ranges[-1].header.frame_id == "quad1/rangefinder"
    mount = frames["quad1/rangefinder"]
    assert mount.header.frame_id == "quad1/base_link" and mount.transform.translation.x == 0.1
    q = mount.transform.rotation
    np.testing.assert_allclose(quat2mat([q.w, q.x, q.y, q.z])[:, 0], [0, 0, -1], atol=1e-12)
    assert frames["quad1/cable_anchor"].transform.translation.z == -0.02
    assert cables[-1].cables[0].direction.z < -0.9
    known = {round(stamp_of(m), 6): m for m in truth}
    compared = 0
    for m in speeds:
        there = known.get(round(stamp_of(m), 6))
        if there is None or stamp_of(m) < 1.5:
            continue
        o = there.pose.pose.orientation
        v = there.twist.twist.linear
        expected = quat2mat([o.w, o.x, o.y, o.z]) @ [v.x, v.y, v.z]
        told = m.twist.linear
        np.testing.assert_allclose([told.x, told.y, told.z], expected, atol=1e-9)
        compared += 1
    assert compared > 5
