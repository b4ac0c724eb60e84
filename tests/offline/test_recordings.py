"""Paths from bags, Vicon CSV and TUM files; files made here with other writers than our own."""

import sqlite3
import struct
import zipfile

import numpy as np
import pytest
from foreign_bags import MAKE, POSE, Make, store, write1, write2
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_types_from_msg
from scipy.linalg import expm

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError
from rotor_flight.fly import fly
from rotor_recordings.formats.bag_writer import write_bag
from rotor_recordings.formats.bags import body_of_topic, read_bag
from rotor_recordings.formats.flights import open_flight
from rotor_recordings.formats.open import open_recording
from rotor_recordings.formats.tum import read_tum, write_tum
from rotor_recordings.formats.vicon_csv import read_vicon_csv
from rotor_recordings.motion.recording import CableRows, Recording
from rotor_recordings.motion.track import Samples, Track, ordered, resampled

EPOCH = 1_700_000_000_123_456_789
"""Not a whole number of anything: a float of it would be off by up to 120 ns."""

N = 40
STAMPS = [EPOCH + 10_000_000 * i for i in range(N)]
LATENCY = 3_000_000

# public definitions of IMRCLab/motion_capture_tracking and MOCAP4ROS2-Project/mocap4r2_msgs
POSITIONS = np.array([[0.1 * i, np.sin(0.2 * i), 1.0 + 0.01 * i] for i in range(N)])


def turns(n=N):
    """Quaternions w first of a turn about a fixed axis, half-angle formula."""
    axis = np.array([0.6, 0.0, 0.8])
    angle = 0.05 * np.arange(n)
    return np.column_stack([np.cos(angle / 2), np.sin(angle / 2)[:, None] * axis])


def matrix(q):
    """Rotation of a unit quaternion, entry by entry."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def poses(topic, positions=POSITIONS, stamps=STAMPS, frame="world"):
    q = turns(len(positions))
    return [
        (topic, POSE, s + LATENCY, MAKE.pose_stamped(s, p, a, frame))
        for s, p, a in zip(stamps, positions, q, strict=True)
    ]


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("plugin", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_poses_of_ros2_bags(tmp_path, plugin, compress):
    path = write2(tmp_path / "bag", poses("/vrpn_mocap/quad1/pose"), plugin, compress)
    recording = open_recording(str(path))
    assert recording.kind == "ROS 2 bag" and recording.bodies == ["quad1"]
    track = recording.track("quad1")
    assert track.stamps.tolist() == STAMPS and track.frame == "world"
    np.testing.assert_array_equal(track.samples.positions, POSITIONS)
    np.testing.assert_array_equal(track.samples.attitudes, turns())
    assert track.samples.velocities is None and track.samples.rates is None
    assert recording.scenario == "" and recording.cables is None


def test_ros1_bag_of_vicon_bridge(tmp_path):
    make = Make(store(Stores.ROS1_NOETIC))
    entries = [
        ("/vicon/quad1/base", "geometry_msgs/msg/TransformStamped", s + LATENCY, make.transform(s, "/world", "vicon/quad1/base", p, q))
        for s, p, q in zip(STAMPS, POSITIONS, turns(), strict=True)
    ]  # fmt: skip
    entries += [
        ("/quad2/odom", "nav_msgs/msg/Odometry", s, make.odometry(s, "quad2", p, q, (0, 0, 0), (0, 0, 0)))
        for s, p, q in zip(STAMPS, POSITIONS, turns(), strict=True)
    ]  # fmt: skip
    recording = open_recording(str(write1(tmp_path / "old.bag", entries)))
    assert recording.kind == "ROS 1 bag" and set(recording.bodies) == {"quad1", "quad2"}
    track = recording.track("quad1")
    assert track.stamps.tolist() == STAMPS
    np.testing.assert_array_equal(track.samples.positions, POSITIONS)
    np.testing.assert_array_equal(track.samples.attitudes, turns())


def test_the_twist_of_odometry_is_in_the_child_frame(tmp_path):
    """A body that flies along its own x axis while it looks elsewhere."""
    entries = []
    for s, p, q in zip(STAMPS, POSITIONS, turns(), strict=True):
        message = MAKE.odometry(s, "quad1/base_link", p, q, (2.0, 0.0, 0.0), (0.1, 0.2, 0.3))
        entries.append(("/quad1/odom", "nav_msgs/msg/Odometry", s, message))
    track = read_bag(write2(tmp_path / "bag", entries)).track("quad1")
    forward = np.array([2.0 * matrix(q)[:, 0] for q in turns()])
    np.testing.assert_allclose(track.samples.velocities, forward, atol=1e-14)
    np.testing.assert_array_equal(track.samples.rates, np.tile([0.1, 0.2, 0.3], (N, 1)))


def test_many_bodies_in_one_message(tmp_path):
    """TF, NamedPoseArray and RigidBodies: names come from the message."""
    entries = []
    for s, p, q in zip(STAMPS, POSITIONS, turns(), strict=True):
        transforms = [
            MAKE.transform(s, "world", "cf1", p, q),
            MAKE.transform(s, "world", "payload/base_link", p + 1.0, q),
            MAKE.transform(s, "payload/base_link", "payload/hook", (9, 9, 9)),
        ]
        entries.append(
            ("/tf", "tf2_msgs/msg/TFMessage", s, MAKE("tf2_msgs/msg/TFMessage", transforms))
        )
        prefix = "motion_capture_tracking_interfaces/msg/NamedPose"
        named = [MAKE(prefix, "cf1", MAKE.pose(p, q)), MAKE(prefix, "cf2", MAKE.pose(p + 2.0, q))]
        entries.append(
            ("/poses", f"{prefix}Array", s, MAKE(f"{prefix}Array", MAKE.header(s), named))
        )
        body = MAKE(
            "mocap4r2_msgs/msg/RigidBody",
            MAKE.header(0),
            7,
            "drone.drone",
            [],
            MAKE.pose(p + 3.0, q),
        )
        rigid = MAKE("mocap4r2_msgs/msg/RigidBodies", MAKE.header(s, "vicon_world"), 7, [body])
        entries.append(("/rigid_bodies", "mocap4r2_msgs/msg/RigidBodies", s, rigid))
    static = MAKE("tf2_msgs/msg/TFMessage", [MAKE.transform(1, "world", "table", (5, 5, 5))])
    entries += [("/tf_static", "tf2_msgs/msg/TFMessage", s, static) for s in STAMPS]
    recording = read_bag(write2(tmp_path / "bag", sorted(entries, key=lambda e: e[2])))
    assert set(recording.bodies) == {"cf1", "payload", "cf2", "drone.drone"}
    for body, source, shift in (
        ("cf1", "/tf", 0.0), ("payload", "/tf", 1.0), ("cf1", "/poses", 0.0), ("cf2", "/poses", 2.0),
        ("drone.drone", "/rigid_bodies", 3.0),
    ):  # fmt: skip
        track = recording.track(body, source)
        assert track.stamps.tolist() == STAMPS
        np.testing.assert_array_equal(track.samples.positions, POSITIONS + shift)
    assert recording.track("cf1").source == "/poses"  # motion capture goes before TF
    assert recording.track("drone.drone").frame == "vicon_world"


def test_parts_of_a_body_in_tf_are_not_the_body(tmp_path):
    """`motion_capture_tracking` names frames `cf1`; a camera on it is `cf1/camera`, with an own stamp."""
    entries = []
    for s, p in zip(STAMPS, POSITIONS, strict=True):
        for late, parent, child, where in (
            (0, "world", "cf1", p),
            (5_000_000, "cf1", "cf1/camera", (0.03, 0, 0)),
        ):
            message = MAKE(
                "tf2_msgs/msg/TFMessage", [MAKE.transform(s + late, parent, child, where)]
            )
            entries.append(("/tf", "tf2_msgs/msg/TFMessage", s + late, message))
    track = read_bag(write2(tmp_path / "bag", entries)).track("cf1")
    assert track.stamps.tolist() == STAMPS
    np.testing.assert_array_equal(track.samples.positions, POSITIONS)


def test_a_chain_of_frames_is_not_one_path(tmp_path):
    """REP 105: map -> odom -> base_link; neither transform alone is the path, the mixture is nothing at all."""
    entries = []
    for s, p in zip(STAMPS, POSITIONS, strict=True):
        for late, parent, child, where in (
            (0, "map", "odom", (4, 0, 0)),
            (5_000_000, "odom", "base_link", p),
        ):
            message = MAKE(
                "tf2_msgs/msg/TFMessage", [MAKE.transform(s + late, parent, child, where)]
            )
            entries.append(("/tf", "tf2_msgs/msg/TFMessage", s + late, message))
    path = write2(tmp_path / "bag", entries)
    try:
        tracks = read_bag(path).tracks
    except ConfigError:
        return  # to refuse is as good
    for track in tracks:
        assert len(track.stamps) == N


def test_points_have_no_attitude(tmp_path):
    kind = "geometry_msgs/msg/PointStamped"
    entries = [
        ("/payload/position", kind, s, MAKE(kind, MAKE.header(s), MAKE.point(p)))
        for s, p in zip(STAMPS, POSITIONS, strict=True)
    ]
    (track,) = read_bag(write2(tmp_path / "bag", entries)).tracks
    assert track.samples.attitudes is None
    np.testing.assert_array_equal(track.samples.positions, POSITIONS)


def test_poses_with_covariance(tmp_path):
    kind = "geometry_msgs/msg/PoseWithCovarianceStamped"
    entries = [
        (
            "/quad1/pose", kind, s,
            MAKE(kind, MAKE.header(s), MAKE("geometry_msgs/msg/PoseWithCovariance", MAKE.pose(p, q), np.zeros(36))),
        )
        for s, p, q in zip(STAMPS, POSITIONS, turns(), strict=True)
    ]  # fmt: skip
    track = read_bag(write2(tmp_path / "bag", entries)).track("quad1")
    np.testing.assert_array_equal(track.samples.attitudes, turns())


def test_zero_stamps_and_the_clock_of_reception(tmp_path):
    late = [s + LATENCY for s in STAMPS]
    stamped = write2(tmp_path / "stamped", poses("/mocap/quad1/pose"))
    assert read_bag(stamped, "receive").track("quad1").stamps.tolist() == late
    bare = [
        ("/mocap/quad1/pose", POSE, r, MAKE.pose_stamped(0, p))
        for r, p in zip(late, POSITIONS, strict=True)
    ]
    for clock in ("header", "receive"):
        track = read_bag(write2(tmp_path / clock, bare), clock).track("quad1")
        assert track.stamps.tolist() == late


def test_single_messages_without_a_stamp_are_left_out(tmp_path):
    """A node on simulation time stamps 0 until it hears a clock; with times of reception for these a track had two."""
    entries = [
        ("/mocap/quad1/pose", POSE, s + LATENCY, MAKE.pose_stamped(0 if i < 3 else s, p))
        for i, (s, p) in enumerate(zip(STAMPS, POSITIONS, strict=True))
    ]
    track = read_bag(write2(tmp_path / "bag", entries)).track("quad1")
    assert track.stamps.tolist() == list(STAMPS[3:])
    np.testing.assert_array_equal(track.samples.positions, POSITIONS[3:])


def test_stamps_of_two_clocks_are_refused(tmp_path):
    entries = poses("/mocap/quad1/pose", stamps=[*STAMPS[:-1], STAMPS[-1] + 4 * 10**16])
    with pytest.raises(ConfigError, match="as if of two clocks"):
        read_bag(write2(tmp_path / "bag", entries))


def test_messages_out_of_order_and_twice(tmp_path):
    order = np.random.default_rng(3).permutation(N)
    entries = [poses("/quad1/pose")[i] for i in order]
    entries = [(t, k, EPOCH + j, m) for j, (t, k, _, m) in enumerate(entries + entries[:5])]
    track = read_bag(write2(tmp_path / "bag", entries)).track("quad1")
    assert track.stamps.tolist() == STAMPS
    np.testing.assert_array_equal(track.samples.positions, POSITIONS)


def test_what_is_wanted_is_no_path(tmp_path):
    entries = poses("/quad1/pose")
    for topic in ("/quad1/reference", "/quad1/goal_pose", "/quad1/setpoint/pose", "/quad1/cmd/pose", "/payload/desired/odom"):  # fmt: skip
        entries += poses(topic, POSITIONS + 7.0)
    recording = read_bag(write2(tmp_path / "bag", sorted(entries, key=lambda e: e[2])))
    assert [(t.body, t.source) for t in recording.tracks] == [("quad1", "/quad1/pose")]
    only = write2(tmp_path / "wanted", poses("/quad1/reference"))
    with pytest.raises(ConfigError, match=r"no topic with poses .* geometry_msgs/msg/PoseStamped"):
        read_bag(only)


@pytest.mark.parametrize(
    "topic, body",
    [
        ("/vicon/quad1/quad1", "quad1"), ("/vicon/quad1/base", "quad1"), ("/vrpn_mocap/quad1/pose", "quad1"),
        ("/mocap/payload/pose", "payload"), ("/quad1/odom", "quad1"), ("/quad1/ground_truth", "quad1"),
        ("/natnet/quad1/pose", "quad1"), ("quad1/pose", "quad1"), ("/optitrack/quad_2/odometry", "quad_2"),
        ("/lab/quad1/odom", "quad1"),
    ],
)  # fmt: skip
def test_names_of_bodies_from_topics(topic, body):
    assert body_of_topic(topic) == body


@pytest.mark.parametrize("topic", ["/quad1/vicon/pose", "/quad1/vicon/odom"])
def test_names_of_bodies_before_the_system(topic):
    assert body_of_topic(topic) == "quad1"


def test_names_are_refused_with_those_there_are(tmp_path):
    recording = read_bag(write2(tmp_path / "bag", poses("/mocap/quad1/pose")))
    with pytest.raises(ConfigError, match="holds no path of quad7; it holds quad1"):
        recording.track("quad7")
    with pytest.raises(ConfigError, match=r"quad1 is not in /odom; it is in /mocap/quad1/pose"):
        recording.track("quad1", "/odom")


def test_the_truth_of_the_laboratory_comes_last():
    stamps = np.arange(20) * 10**7
    tracks = tuple(
        Track("quad1", source, stamps, Samples(np.zeros((20, 3))))
        for source in ("/laboratory/quad1/ground_truth", "/quad1/estimate", "/mocap/quad1/pose")
    )
    assert Recording("x", "y", tracks).track("quad1").source == "/mocap/quad1/pose"
    assert Recording("x", "y", tracks[:2]).track("quad1").source == "/quad1/estimate"


def test_the_best_source(tmp_path):
    entries = poses("/quad1/odom") + poses("/mocap/quad1/pose") + poses("/quad1/ground_truth")
    recording = read_bag(write2(tmp_path / "bag", sorted(entries, key=lambda e: e[2])))
    assert recording.track("quad1").source == "/quad1/ground_truth"
    assert recording.track("quad1", "/quad1/odom").source == "/quad1/odom"


def test_dropouts_of_a_driver_are_left_out(tmp_path):
    """Drivers publish zeros or NaN for a body they do not see."""
    entries = poses("/vicon/quad1/quad1")
    entries[5] = (*entries[5][:3], MAKE.pose_stamped(STAMPS[5], (0, 0, 0), (0, 0, 0, 0)))
    nan = float("nan")
    entries[9] = (*entries[9][:3], MAKE.pose_stamped(STAMPS[9], (nan, nan, nan), (nan,) * 4))
    track = read_bag(write2(tmp_path / "bag", entries)).track("quad1")
    assert track.stamps.tolist() == [s for i, s in enumerate(STAMPS) if i not in (5, 9)]


def test_a_body_that_was_hardly_seen_does_not_hide_the_others(tmp_path):
    entries = poses("/vicon/quad1/quad1")
    for i, s in enumerate(STAMPS):
        seen = i < 3
        message = MAKE.pose_stamped(s, (1, 1, 1), (1, 0, 0, 0) if seen else (0, 0, 0, 0))
        entries.append(("/vicon/wand/wand", POSE, s + LATENCY, message))
    recording = read_bag(write2(tmp_path / "bag", sorted(entries, key=lambda e: e[2])))
    assert recording.bodies == ["quad1"]


def test_attitudes_that_are_none(tmp_path):
    entries = [
        ("/quad1/pose", POSE, s, MAKE.pose_stamped(s, (0, 0, 1), (2, 0, 0, 0))) for s in STAMPS
    ]
    with pytest.raises(ConfigError, match=r"attitude of quad1 is not a unit quaternion \(norm 2\)"):
        read_bag(write2(tmp_path / "bag", entries))


# -- files that are not recordings ------------------------------------------------------------------------------------


def test_single_files_and_folders(tmp_path):
    bag = write2(tmp_path / "bag", poses("/quad1/pose"))
    (file,) = bag.glob("*.mcap")
    bare = tmp_path / "bare.mcap"
    bare.write_bytes(file.read_bytes())
    assert open_recording(str(bare)).track("quad1").stamps.tolist() == STAMPS
    assert (
        open_recording(str(tmp_path)).track("quad1").stamps.tolist() == STAMPS
    )  # the one bag in it
    (bag / "metadata.yaml").unlink()
    with pytest.raises(ConfigError, match="was cut off while it was recorded"):
        open_recording(str(bag))
    with pytest.raises(ConfigError, match="there is no such file or folder"):
        open_recording(str(tmp_path / "nothing"))
    with pytest.raises(ConfigError, match=r"is not a known kind of recording\. Give a ROS 2 bag"):
        open_recording(__file__)


def test_a_single_database_file(tmp_path):
    bag = write2(tmp_path / "bag", poses("/quad1/pose"), StoragePlugin.SQLITE3)
    (file,) = bag.glob("*.db3")
    bare = tmp_path / "bare.db3"
    bare.write_bytes(file.read_bytes())
    try:
        assert open_recording(str(bare)).track("quad1").stamps.tolist() == STAMPS
    except ConfigError as error:  # older files hold no definitions
        assert "bare.db3" in str(error)


@pytest.mark.parametrize(
    "name", ["a.bag", "a.mcap", "a.db3", "a.csv", "a.tum", "a.txt", "a.npz"]
)  # fmt: skip
@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\0" * 200, b"hello\n" * 30, bytes(range(256)) * 4, b"SQLite format 3\0" + b"\1" * 500, b"\x89MCAP0\r\n", b"#ROSBAG V2.0\n"]
)  # fmt: skip
def test_files_that_are_something_else(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=name):
        open_recording(str(path))


@pytest.mark.parametrize("metadata", ["", "{", "[]", "rosbag2_bagfile_information: 3", "rosbag2_bagfile_information:\n  version: 99\n", "a: b: c"])  # fmt: skip
def test_broken_metadata(tmp_path, metadata):
    bag = write2(tmp_path / "bag", poses("/quad1/pose"))
    (bag / "metadata.yaml").write_text(metadata)
    with pytest.raises(ConfigError, match="bag"):
        open_recording(str(bag))
    with pytest.raises(ConfigError, match="bag"):
        open_flight(str(bag))


def check_bytes(path, file, data):
    """A file is read or refused, whatever it holds; returns what else was raised."""
    file.write_bytes(data)
    try:
        with np.errstate(all="ignore"):  # numbers of any size
            assert open_recording(str(path)).tracks
    except ConfigError as error:
        assert str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


DAMAGES = ["mcap", "mcap zstd", "db3", "bag"]


def damaged_bag(tmp_path, kind):
    if kind == "bag":
        make = Make(store(Stores.ROS1_NOETIC))
        path = write1(
            tmp_path / "a.bag",
            [("/quad1/pose", POSE, s, make.pose_stamped(s, p)) for s, p in zip(STAMPS, POSITIONS, strict=True)],
        )  # fmt: skip
        return path, path
    plugin = StoragePlugin.SQLITE3 if kind == "db3" else StoragePlugin.MCAP
    path = write2(tmp_path / "bag", poses("/quad1/pose"), plugin, kind.endswith("zstd"))
    (file,) = [*path.glob("*.mcap"), *path.glob("*.db3")]
    return path, file


@pytest.mark.parametrize("kind", DAMAGES)
def test_truncated_bags(tmp_path, kind):
    path, file = damaged_bag(tmp_path, kind)
    whole = file.read_bytes()
    lengths = sorted(
        {int(x) for x in np.linspace(0, len(whole) - 1, 45)}
        | {len(whole) - k for k in range(1, 12)}
    )
    assert {check_bytes(path, file, whole[:n]) for n in lengths} == {""}


@pytest.mark.parametrize(
    "kind",
    DAMAGES,
)
def test_bags_with_wrong_bytes(tmp_path, kind):
    """A hundred bags with eight bytes wrong each; seed 11."""
    path, file = damaged_bag(tmp_path, kind)
    whole, rng, found = np.frombuffer(file.read_bytes(), np.uint8), np.random.default_rng(11), set()
    for _ in range(100):
        data = whole.copy()
        data[rng.integers(len(data), size=8)] = rng.integers(256, size=8)
        found.add(check_bytes(path, file, data.tobytes()))
    assert found == {""}


def test_errors_of_paths_name_the_file(tmp_path):
    """Of two recordings that are compared the user must know which."""
    entries = [
        ("/quad1/pose", POSE, s, MAKE.pose_stamped(s, (0, 0, 1), (2, 0, 0, 0))) for s in STAMPS
    ]
    with pytest.raises(ConfigError, match="real_one"):
        open_recording(str(write2(tmp_path / "real_one", entries)))


def test_database_without_tables(tmp_path):
    path, file = damaged_bag(tmp_path, "db3")
    file.unlink()
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE other (id INTEGER)")
    database.close()
    with pytest.raises(ConfigError, match="bag"):
        open_recording(str(path))
    file.unlink()
    with pytest.raises(ConfigError, match="bag"):
        open_recording(str(path))


# -- tracks -------------------------------------------------------------------------------------------------------


def test_a_line_between_poses_leaves_out_a_dt2_over_8():
    """x = a t^2 / 2 at 100 Hz: the chord is off by at most a dt^2 / 8, in the middle exactly by that."""
    a, dt = 10.0, 0.01
    t = dt * np.arange(101)
    stamps = np.rint(1e9 * t).astype(np.int64)
    track = Track("b", "s", stamps, Samples(np.column_stack([0.5 * a * t**2, t, 0 * t])))
    fine = np.arange(0, stamps[-1] + 1, 10**6 // 2)
    error = resampled(track, fine).positions[:, 0] - 0.5 * a * (1e-9 * fine) ** 2
    assert 0.0 - 1e-12 <= error.min() and error.max() == pytest.approx(a * dt**2 / 8, rel=1e-9)


def test_attitudes_turn_along_the_geodesic():
    t = 0.02 * np.arange(50)
    axis, rate = np.array([2.0, -1.0, 2.0]) / 3.0, 3.0

    def attitude(s):
        return np.column_stack([np.cos(rate * s / 2), np.sin(rate * s / 2)[:, None] * axis])

    flipped = (
        attitude(t) * np.where(np.arange(50) % 2, -1.0, 1.0)[:, None]
    )  # q and -q are one attitude
    track = Track("b", "s", np.rint(1e9 * t).astype(np.int64), Samples(np.zeros((50, 3)), flipped))
    at = np.arange(0, 980_000_000, 1_234_567)
    found = resampled(track, at).attitudes
    overlap = np.abs((found * attitude(1e-9 * at)).sum(axis=1))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-12)


def test_gaps_and_ends_are_unknown():
    stamps = (
        np.concatenate([np.arange(20), 40 + np.arange(20)]) * 10**7 + EPOCH
    )  # 0.21 s are missing
    track = Track(
        "b", "s", stamps, Samples(np.tile(1.0, (40, 3)), np.tile([1.0, 0, 0, 0], (40, 1)))
    )
    at = np.arange(-5, 66) * 10**7 + EPOCH
    out = resampled(track, at)
    expected = np.isin(at, stamps)
    for values in (out.positions, out.attitudes):
        np.testing.assert_array_equal(np.isfinite(values).all(axis=1), expected)


def test_a_track_of_10_hz_has_no_gaps():
    stamps = np.arange(60) * 10**8
    track = Track("b", "s", stamps, Samples(np.zeros((60, 3))))
    assert np.isfinite(resampled(track, stamps[:-1] + 5 * 10**7).positions).all()


def test_at_its_own_stamps_a_track_is_itself():
    rng = np.random.default_rng(5)
    stamps = EPOCH + np.cumsum(rng.integers(1, 3 * 10**8, 50))
    values = rng.normal(size=(50, 3))
    out = resampled(Track("b", "s", stamps, Samples(values, None, 2 * values)), stamps)
    np.testing.assert_array_equal(out.positions, values)
    np.testing.assert_array_equal(out.velocities, 2 * values)


def test_short_tracks_are_none():
    with pytest.raises(ConfigError, match="holds 9 poses of b, at least 10 are needed"):
        Track("b", "s", np.arange(9), Samples(np.zeros((9, 3))))


def test_the_first_of_equal_stamps_counts():
    stamps = np.repeat(np.arange(12), 2) * 10**7
    track = ordered("b", "s", stamps, Samples(np.arange(72.0).reshape(24, 3)))
    assert track.stamps.tolist() == (np.arange(12) * 10**7).tolist()
    np.testing.assert_array_equal(track.samples.positions[:, 0], 6.0 * np.arange(12))


def test_cable_rows_nearest_in_time():
    rows = CableRows(
        np.array([0, 10, 30]), np.array([[0.0], [1.0], [3.0]]), np.array([[False], [True], [True]])
    )
    tensions, taut = rows.nearest(np.array([-7, 4, 6, 19, 21, 99]))
    assert tensions[:, 0].tolist() == [0, 0, 1, 1, 3, 3]
    assert taut[:, 0].tolist() == [False, False, True, True, True, True]


CABLES = {
    "rotor_msgs/msg/CableState": "string name\nbool taut\nfloat64 tension\nfloat64 rest_length\nfloat64 distance\ngeometry_msgs/Vector3 direction\n",
    "rotor_msgs/msg/CableStates": "std_msgs/Header header\nCableState[] cables\n",
}


def test_cables_keep_to_the_clock_of_the_paths(tmp_path):
    types = store()
    found = {}
    for name, text in CABLES.items():
        found.update(get_types_from_msg(text, name))
    types.register(found)
    make = Make(types)
    with Writer2(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        pose = writer.add_connection("/quad1/pose", POSE, typestore=types)
        cable = writer.add_connection("/cables", "rotor_msgs/msg/CableStates", typestore=types)
        for i, s in enumerate(STAMPS):
            state = make(
                "rotor_msgs/msg/CableState",
                "cable1",
                True,
                float(i),
                1.0,
                1.0,
                make.point((0, 0, -1), "Vector3"),
            )
            message = make("rotor_msgs/msg/CableStates", make.header(s), [state])
            late = s + 10**9
            writer.write(pose, late, types.serialize_cdr(make.pose_stamped(s, POSITIONS[i]), POSE))
            writer.write(cable, late, types.serialize_cdr(message, "rotor_msgs/msg/CableStates"))
    recording = read_bag(tmp_path / "bag", "receive")
    stamps = recording.track("quad1").stamps
    np.testing.assert_array_equal(recording.cables.nearest(stamps)[0][:, 0], np.arange(N))


# -- TUM files ----------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(first=st.integers(0, 4 * 10**18), step=st.integers(1, 10**9), seed=st.integers(0, 99))
def test_tum_round_trip_to_the_nanosecond(tmp_path_factory, first, step, seed):
    rng = np.random.default_rng(seed)
    stamps = first + step * np.arange(12)
    q = rng.normal(size=(12, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    path = tmp_path_factory.mktemp("tum") / "quad1.tum"
    samples = Samples(rng.normal(size=(12, 3)), q)
    write_tum(path, Track("quad1", "s", stamps, samples))
    (back,) = read_tum(path).tracks
    assert back.body == "quad1" and back.stamps.tolist() == stamps.tolist()
    # nine decimals are written
    np.testing.assert_allclose(back.samples.positions, samples.positions, atol=0.51e-9)
    np.testing.assert_allclose(back.samples.attitudes, q, atol=0.51e-9)


def test_tum_round_trip_before_zero(tmp_path):
    stamps = (np.arange(20) - 10) * 10**8
    write_tum(tmp_path / "a.tum", Track("a", "s", stamps, Samples(np.zeros((20, 3)))))
    assert read_tum(tmp_path / "a.tum").tracks[0].stamps.tolist() == stamps.tolist()


TUM = [f"{1700000000 + i}.{100000001 + i} {i} 0 1 0 0 0 1" for i in range(12)]


def test_tum_with_comments_and_blank_lines(tmp_path):
    path = tmp_path / "flight.gt.txt"
    path.write_text("# timestamp tx ty tz qx qy qz qw\n\n" + "\n  # more\n".join(TUM) + " # end\n")
    recording = open_recording(str(path))
    assert recording.kind == "TUM file" and recording.bodies == ["flight"]
    assert recording.tracks[0].stamps[:2].tolist() == [1700000000100000001, 1700000001100000002]
    assert recording.tracks[0].samples.attitudes[0].tolist() == [1, 0, 0, 0]
    assert recording.tracks[0].samples.positions[3].tolist() == [3, 0, 1]


@pytest.mark.parametrize("bad", ["1.0 2 3", "a 0 0 0 0 0 0 1", "1.0 0 0 x 0 0 0 1", "nan 0 0 0 0 0 0 1", "inf 0 0 0 0 0 0 1", "1.0,0,0,0,0,0,0,1", "1 2 3 4 5 6 7 8 9"])  # fmt: skip
def test_bad_lines_of_tum_files(tmp_path, bad):
    path = tmp_path / "a.tum"
    path.write_text("\n".join(["# head", *TUM, bad]) + "\n")
    with pytest.raises(ConfigError, match=r"a\.tum:14: a line must hold timestamp tx ty tz"):
        open_recording(str(path))


def test_a_stamp_that_is_no_time(tmp_path):
    path = tmp_path / "a.tum"
    path.write_text("\n".join([*TUM, "1e30 0 0 0 0 0 0 1"]) + "\n")
    with pytest.raises(ConfigError, match=r"a\.tum"):
        open_recording(str(path))


def test_a_byte_order_mark_in_a_tum_file(tmp_path):
    path = tmp_path / "a.tum"
    path.write_text("\ufeff" + "\n".join(TUM), encoding="utf-8")
    try:
        assert len(open_recording(str(path)).tracks[0].stamps) == 12
    except ConfigError as error:
        assert "a.tum:1:" in str(error)


# -- Vicon CSV ----------------------------------------------------------------------------------------------------


def vicon(section="Segments", names=",,quad1:quad1,,,,,,", columns="Frame,Sub Frame,RX,RY,RZ,RW,TX,TY,TZ",
          units=",,,,,,mm,mm,mm", rows=(), rate="200", end="\n"):  # fmt: skip
    return end.join([section, rate, names, columns, units, *rows]) + end


def vicon_file(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "trial.csv"
    path.write_bytes(text.encode(encoding))
    return path


QUATERNION_ROWS = [
    f"{101 + i},0,{q[1]:.9f},{q[2]:.9f},{q[3]:.9f},{q[0]:.9f},{1000 * p[0]:.6f},{1000 * p[1]:.6f},{1000 * p[2]:.6f}"
    for i, (p, q) in enumerate(zip(POSITIONS, turns(), strict=True))
]


@pytest.mark.parametrize("section", ["Segments", "Objects", "\ufeffSegments"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_segments_with_quaternions(tmp_path, section, end):
    """Frames begin where the trial was cut; the scalar is the last of four."""
    path = vicon_file(tmp_path, vicon(section, rows=QUATERNION_ROWS, end=end))
    recording = open_recording(str(path))
    assert recording.kind == "Vicon CSV" and recording.bodies == ["quad1"]
    track = recording.track("quad1")
    assert track.stamps.tolist() == [(101 + i) * 5_000_000 for i in range(N)]
    np.testing.assert_allclose(track.samples.positions, POSITIONS, atol=1e-9)
    np.testing.assert_allclose(track.samples.attitudes, turns(), atol=1e-9)


def hat(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def about(axis, angle):
    return expm(angle * hat(np.eye(3)[axis]))


MEANINGS = {
    "rotvec": lambda r: expm(hat(r)),
    # turns about the fixed axes, x first: the last acts from the left
    "euler-fixed-xyz": lambda r: about(2, r[2]) @ about(1, r[1]) @ about(0, r[0]),
    # turns about axes that turn along, x first: the last acts from the right
    "euler-moving-xyz": lambda r: about(0, r[0]) @ about(1, r[1]) @ about(2, r[2]),
}


@pytest.mark.parametrize("unit", ["deg", "rad"])
@pytest.mark.parametrize("meaning", list(MEANINGS))
def test_three_rotation_columns(tmp_path, meaning, unit):
    angles = np.random.default_rng(7).uniform(-1.2, 1.2, (20, 3))
    written = np.degrees(angles) if unit == "deg" else angles
    rows = [f"{i},0,{r[0]:.12f},{r[1]:.12f},{r[2]:.12f},1,2,3" for i, r in enumerate(written, 1)]
    text = vicon(
        names=",,payload:payload", columns="Frame,Sub Frame,RX,RY,RZ,TX,TY,TZ",
        units=f",,{unit},{unit},{unit},mm,mm,mm", rows=rows,
    )  # fmt: skip
    path = vicon_file(tmp_path, text)
    track = open_recording(str(path), rotation=meaning).track("payload")
    for q, r in zip(track.samples.attitudes, angles, strict=True):
        np.testing.assert_allclose(matrix(q), MEANINGS[meaning](r), atol=1e-11)
    with pytest.raises(
        ConfigError,
        match=r"trial\.csv:4: payload:payload: RX, RY, RZ .* --rotation rotvec or euler",
    ):
        open_recording(str(path))


def test_global_angle_of_tracker(tmp_path):
    """The line that Vicon Tracker writes above its objects; public loaders match `Global Angle (.*):(.*)`."""
    rows = [f"{i},0,0,0,0.1,{i},0,1000,0,0,0.2,{i},500,1000" for i in range(1, 21)]
    text = vicon(
        "Objects", ",,Global Angle quad1:quad1,,,,,,Global Angle payload:payload,,,,,",
        "Frame,Sub Frame" + ",RX,RY,RZ,TX,TY,TZ" * 2, ",," + ",".join(["rad,rad,rad,mm,mm,mm"] * 2), rows,
    )  # fmt: skip
    recording = open_recording(str(vicon_file(tmp_path, text)), rotation="rotvec")
    assert recording.bodies == ["quad1", "payload"]


def test_markers_dropouts_and_other_sections(tmp_path):
    """As Nexus writes a trial: devices first, then trajectories, then segments; blank fields where nothing was seen."""
    devices = ["Devices", "1000", ",,Force Plate,,", "Frame,Sub Frame,Fx,Fy,Fz", ",,N,N,N", "1,0,0.1,0.2,0.3", "1,1,a,b,c", ""]  # fmt: skip
    rows = [f"{i},0,{i},2,3," + (",," if i % 4 == 0 else f"{10 * i},20,30") for i in range(1, 41)]
    text = "\n".join(devices) + "\n" + vicon(
        "Trajectories", ",,quad1:nose,,,quad1:tail,,", "Frame,Sub Frame,X,Y,Z,X,Y,Z", ",,mm,mm,mm,cm,cm,cm",
        [*rows, ""], rate="100",
    ) + vicon(rows=QUATERNION_ROWS)  # fmt: skip
    recording = open_recording(str(vicon_file(tmp_path, text)))
    assert recording.bodies == ["nose", "tail", "quad1"]
    nose, tail = recording.track("nose"), recording.track("tail")
    assert nose.samples.attitudes is None
    assert nose.stamps.tolist() == [10_000_000 * i for i in range(1, 41)]
    np.testing.assert_allclose(nose.samples.positions[:, 0], 1e-3 * np.arange(1, 41), atol=1e-15)
    seen = np.array([i for i in range(1, 41) if i % 4])
    assert tail.stamps.tolist() == (10_000_000 * seen).tolist()
    np.testing.assert_allclose(
        tail.samples.positions, [[0.1 * i, 0.2, 0.3] for i in seen], atol=1e-14
    )
    assert len(recording.track("quad1").stamps) == N


def test_dropouts_of_segments(tmp_path):
    rows = [r if i % 5 else f"{101 + i},0,,,,,,," for i, r in enumerate(QUATERNION_ROWS)]
    track = open_recording(str(vicon_file(tmp_path, vicon(rows=rows)))).track("quad1")
    assert len(track.stamps) == N - 8
    assert np.isfinite(track.samples.positions).all() and np.isfinite(track.samples.attitudes).all()


def test_ghost_markers_do_not_hide_the_others(tmp_path):
    """Unlabelled trajectories of a few frames are in nearly every export."""
    rows = [f"{i},0,{i},2,3," + ("7,7,7" if i in (5, 6) else ",,") for i in range(1, 41)]
    text = vicon(
        "Trajectories",
        ",,quad1:nose,,,*12,,",
        "Frame,Sub Frame,X,Y,Z,X,Y,Z",
        ",,mm,mm,mm,mm,mm,mm",
        rows,
    )
    assert open_recording(str(vicon_file(tmp_path, text))).track("nose").stamps.size == 40


def test_one_label_on_two_subjects(tmp_path):
    rows = [f"{i},0,{i},2,3,{10 * i},20,30" for i in range(1, 41)]
    text = vicon(
        "Trajectories",
        ",,quad1:m1,,,quad2:m1,,",
        "Frame,Sub Frame,X,Y,Z,X,Y,Z",
        ",,mm,mm,mm,mm,mm,mm",
        rows,
    )
    assert len(set(open_recording(str(vicon_file(tmp_path, text))).bodies)) == 2


def changed(**changes):
    return vicon(**({"rows": QUATERNION_ROWS} | changes))


@pytest.mark.parametrize(
    "text, message",
    [
        (changed(rows=[*QUATERNION_ROWS[:3], "104,0,0,0,0,1,1,2,abc"]), r"trial\.csv:9: must be a number, got 'abc'"),
        (changed(rows=[*QUATERNION_ROWS[:3], "x,0,0,0,0,1,1,2,3"]), r"trial\.csv:9: must be a number, got 'x'"),
        (changed(rate="fast"), r"trial\.csv:2: must be a number, got 'fast'"),
        (changed(rate="0"), r"trial\.csv:2: the rate must be > 0 Hz, got 0"),
        (changed(rate=""), r"trial\.csv:2: the rate must be > 0 Hz"),
        (changed(units=",,,,,,mm,inch,mm"), r"trial\.csv:4: quad1:quad1: the unit of TY must be one of mm, cm, m, got 'inch'"),
        (changed(units=""), r"the unit of TX must be one of mm, cm, m, got ''"),
        (changed(columns="Time,Sub Frame,RX,RY,RZ,RW,TX,TY,TZ"), r"trial\.csv:4: the first column must be Frame"),
        (changed(rows=[]), r"trial\.csv:1: the section Segments ends before its first frame"),
        (changed(rows=QUATERNION_ROWS[:4]), "no path of at least 10 poses"),
        (changed(section="Joints"), r"trial\.csv: holds no section named Segments, Objects, Trajectories"),
        ("time,x,y,z\n1,2,3,4\n", "holds no section named"),
        (changed(rows=[r.replace(",", ";") for r in QUATERNION_ROWS]), r"trial\.csv:4: the first column"),
    ],
)  # fmt: skip
def test_bad_vicon_files(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        open_recording(str(vicon_file(tmp_path, text)))


@pytest.mark.parametrize("blank", [2, 3, 4, 5])
def test_blank_heads_of_vicon_files(tmp_path, blank):
    lines = changed().split("\n")
    lines[blank - 1] = ""
    path = vicon_file(tmp_path, "\n".join(lines))
    try:
        open_recording(str(path))
    except ConfigError as error:
        assert "trial.csv" in str(error)


def test_a_csv_that_is_none(tmp_path):
    with pytest.raises(ConfigError, match=r"trial\.csv"):
        open_recording(str(vicon_file(tmp_path, "x" * 200_000)))


def test_exports_with_semicolons(tmp_path):
    """As spreadsheets and Tracker of German systems write it: read, or refused with the reason."""
    try:
        text = changed(section="Segments,,,,,,,,").replace(",", ";")
        assert read_vicon_csv(vicon_file(tmp_path, text)).tracks
    except ConfigError as error:
        text = str(error).rpartition("trial.csv")[2]
        assert "semicolon" in text or "comma" in text


def test_frames_of_odd_rates(tmp_path):
    """120 Hz: stamps are whole nanoseconds nearest to the frame, also after hours."""
    rows = [f"{10**6 + i}," + r.split(",", 1)[1] for i, r in enumerate(QUATERNION_ROWS)]
    track = read_vicon_csv(vicon_file(tmp_path, changed(rows=rows, rate="120"))).track("quad1")
    exact = [round((10**6 + i) * 10**9 / 120) for i in range(N)]
    assert np.abs(track.stamps - np.array(exact)).max() <= 1


# --- found by fuzzing guided by coverage (tests/fuzz/guided.py) -----------------------------------------


def test_a_csv_that_names_more_subjects_than_it_has_columns(tmp_path):
    text = "Segments\n100\n,,quad:quad,,,,,\nFrame,Sub\n\n" + "1,0\n" * 5
    with pytest.raises(ConfigError, match=r"trial\.csv"):
        read_vicon_csv(vicon_file(tmp_path, text))


def npz(tmp_path, header):
    """An archive with one array that has this header."""
    path = tmp_path / "team.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("cf1/t.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    return path


@pytest.mark.parametrize(
    "header",
    [b"{'descr': '<f8', 'shape': (\n", b"{'descr': f'{x}', 'fortran_order': False, 'shape': (1,)}\n", b"\xe6\n", b""],
)  # fmt: skip
def test_an_npz_with_a_broken_header(tmp_path, header):
    """Readers of NumPy fail in many ways; none is a stack trace or shows the inside of one."""
    with pytest.raises(
        ConfigError, match=r"team\.npz: cannot be read as arrays of numbers"
    ) as caught:
        open_flight(str(npz(tmp_path, header)))
    assert "0x" not in str(caught.value) and len(str(caught.value)) < 1000


def test_an_npz_of_words(tmp_path):
    np.savez(tmp_path / "team.npz", **{"cf1/t": np.array(["a", "b"])})
    with pytest.raises(ConfigError, match=r"team\.npz: cannot be read as arrays of numbers"):
        open_flight(str(tmp_path / "team.npz"))


def crazyflie():
    """Arrays of one vehicle, and of what it carries."""
    t = np.arange(0.0, 2.0, 0.01)
    three = {k: np.ones((len(t), 3)) for k in ("pos", "gyro", "payload_pos", "payload_pos_ref", "payload_vel_ref", "rpy", "torque_cmd")}  # fmt: skip
    return {"t": t, "thrust_cmd": np.ones(len(t))} | three


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: a | {"payload_pos": a["payload_pos"][:-5]}, r"cf1/payload_pos: must be finite numbers of the shape \(200, 3\), got \(195, 3\)"),
        (lambda a: a | {"pos": a["pos"][:, :2]}, r"cf1/pos: must be"),
        (lambda a: a | {"gyro": a["gyro"] * np.nan}, r"cf1/gyro: must be finite"),
        (lambda a: a | {"t": a["t"][::-1]}, "cf1/t: must be times"),
        (lambda a: {k: v[:50] for k, v in a.items()}, "cf1/t: must last 1 s"),
        (lambda a: a | {"t": np.float64(1.0)}, "cf1/t: must be times"),
        (lambda a: {k: v for k, v in a.items() if k != "torque_cmd"}, "no torque_cmd"),
        (lambda a: a | {"quat_wxyz": np.zeros((200, 4))}, "a quaternion of length 0"),
    ],
)  # fmt: skip
def test_logs_of_crazyflies_whose_arrays_do_not_fit(tmp_path, change, said):
    np.savez(tmp_path / "team.npz", **{f"cf1/{k}": v for k, v in change(crazyflie()).items()})
    with pytest.raises(ConfigError, match=said):
        open_flight(str(tmp_path / "team.npz"))


def test_an_mcap_with_a_broken_letter_in_its_metadata(tmp_path):
    """What our recorder put beside the messages is not there then; the paths are."""
    bag = tmp_path / "bag"
    write_bag(fly(load_scenario("dragonfly_point_mass"), duration=0.3), bag)
    (file,) = bag.glob("*.mcap")
    data = file.read_bytes()
    at = data.index(b"serialized_metadata")
    file.write_bytes(data[:at] + b"\xe6" + data[at + 1 :])
    alone = tmp_path / "alone.mcap"
    alone.write_bytes(file.read_bytes())
    assert open_recording(str(alone)).tracks


def test_logs_of_crazyflies_that_have_no_time_in_common(tmp_path):
    late = crazyflie() | {"t": crazyflie()["t"] + 10.0}
    arrays = {f"{v}/{k}": a for v, own in (("cf1", crazyflie()), ("cf2", late)) for k, a in own.items()}  # fmt: skip
    np.savez(tmp_path / "team.npz", **arrays)
    with pytest.raises(
        ConfigError, match=r"team\.npz: its vehicles must have 1\.. s from 0 on in common"
    ):
        open_flight(str(tmp_path / "team.npz"))
