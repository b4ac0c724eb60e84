"""Paths from bags: ROS 2 (MCAP, SQLite) and ROS 1, by the types of the topics, without ROS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from ruamel.yaml import YAML, YAMLError
from transforms3d.quaternions import quat2mat

from rotor_core.config.yaml.structure import word
from rotor_core.errors import ConfigError, RotorError
from rotor_core.state import State
from rotor_recordings.motion.recording import CableRows, Recording
from rotor_recordings.motion.track import LEAST, Samples, Track, ordered

Row = tuple[str, Any, str, np.ndarray]
"""Body, stamp of the message, frame, and 13 numbers as in a state; NaN where a message does not say."""

GENERIC = frozenset(
    "vicon mocap vrpn_mocap vrpn optitrack natnet qualisys pose poses odom odometry ground_truth tf world "
    "base_link root".split()
)
"""Parts of a topic that name no body."""

WANTED = frozenset(
    "reference reference_pose goal goal_pose setpoint desired des_traj cmd command path".split()
)
"""Parts of a topic that shows what is wanted, not what is."""


@contextmanager
def opened(path: Path) -> Iterator[AnyReader]:
    """A bag of either kind; what is wrong with it is a ConfigError.

    Raises:
        ConfigError: it is not a bag, is not closed, or holds a message that does not decode.
    """
    if path.is_dir() and not (path / "metadata.yaml").exists() and any(path.glob("*.mcap")):
        raise ConfigError(
            f"{path}: was cut off while it was recorded. Repair it: ./rotor recover {path}"
        )
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            yield reader
    except RotorError:
        raise
    except Exception as error:  # readers of damaged files fail in many ways
        why = word((str(error).splitlines() or [""])[0])
        hint = (
            f" Where it was cut off or damaged: ./rotor recover {path}"
            if any(path.glob("*.mcap"))
            else ""
        )
        raise ConfigError(
            f"{path}: is not a readable bag ({type(error).__name__}: {why}).{hint}"
        ) from error


def read_bag(path: Path, clock: str = "header", *, wanted: bool = False) -> Recording:
    """All paths of a bag.

    Args:
        path: folder of a ROS 2 bag, or file of a ROS 1 bag.
        clock: ``header``: the stamps of the messages (where they are zero, of their reception), or ``receive``.
        wanted: paths of what should be (references, setpoints) in place of what is.

    Raises:
        ConfigError: it is not a bag, or holds no topic with poses.
    """
    rows: dict[tuple[str, str, str], list[tuple[int, str, np.ndarray]]] = {}
    children: set[str] = set()
    with opened(path) as reader:
        known = [
            c for c in reader.connections if _reader_of(c.msgtype) and is_wanted(c.topic) == wanted
        ]
        types = sorted({c.msgtype for c in reader.connections})
        for connection, received, raw in reader.messages(known) if known else ():
            message = reader.deserialize(raw, connection.msgtype)
            read = _reader_of(connection.msgtype)
            assert read is not None
            for transform in getattr(message, "transforms", ()):
                children.add(transform.child_frame_id.strip("/"))
            for body, stamp, frame, numbers in read(message, connection.topic):
                time = stamp.sec * 10**9 + stamp.nanosec
                time = received if clock == "receive" or time == 0 else time
                # one TF topic shows many pairs of frames
                parent = frame.strip("/") if hasattr(message, "transforms") else ""
                rows.setdefault((body, connection.topic, parent), []).append((time, frame, numbers))
        kind = "ROS 2 bag" if reader.is2 else "ROS 1 bag"
        cables = _cables(reader, clock)
    tracks = tuple(
        _track(body, topic, found)
        for (body, topic, parent), found in rows.items()
        # what is seen from a body that moves itself is no path
        if parent not in children and sum(_is_known(n) for _, _, n in found) >= LEAST
    )
    if not tracks:
        raise ConfigError(
            f"{path}: holds no topic with poses of something that moves; its types are {', '.join(types)}."
        )
    return Recording(str(path), kind, tracks, custom_data(path, "scenario"), cables)


def custom_data(path: Path, key: str) -> str:
    """A text that our recorder has put into a bag; empty: it has none."""
    folder = path if path.is_dir() else path.parent
    try:
        metadata = YAML(typ="safe", pure=True).load((folder / "metadata.yaml").read_text())
        return str(
            (metadata["rosbag2_bagfile_information"].get("custom_data") or {}).get(key) or ""
        )
    except (OSError, YAMLError, KeyError, TypeError):
        return "" if path.is_dir() else _custom_data_of_file(path, key)


def _custom_data_of_file(path: Path, key: str) -> str:
    """The same from a single MCAP file, which holds what else stands in ``metadata.yaml``."""
    try:
        with path.open("rb") as file:
            for record in make_reader(file).iter_metadata():
                if record.name == "rosbag2":
                    metadata = YAML(typ="safe", pure=True).load(
                        record.metadata["serialized_metadata"]
                    )
                    return str((metadata.get("custom_data") or {}).get(key) or "")
    except (
        Exception
    ):  # of a damaged file there is none, and what else is wrong with it is told by its reader
        return ""
    return ""


def _is_known(numbers: np.ndarray) -> bool:
    """True if a row is a pose, and not a dropout."""
    attitude = State(numbers).attitude
    turned = bool(np.isnan(attitude).all()) or bool(np.isfinite(attitude).all() and attitude.any())
    return bool(np.isfinite(numbers[:3]).all()) and turned


def _cables(reader: AnyReader, clock: str) -> CableRows | None:
    found = [c for c in reader.connections if c.msgtype == "rotor_msgs/msg/CableStates"]
    rows: dict[int, tuple[list[float], list[bool]]] = {}
    names: tuple[str, ...] = ()
    for connection, received, raw in reader.messages(found) if found else ():
        message: Any = reader.deserialize(raw, connection.msgtype)
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        if clock == "receive" or stamp == 0:
            stamp = received
        names = names or tuple(c.name for c in message.cables)
        if tuple(c.name for c in message.cables) != names:
            continue  # of another team
        rows[stamp] = [c.tension for c in message.cables], [c.taut for c in message.cables]
    if len(rows) < 2:
        return None
    stamps = sorted(rows)
    return CableRows(
        np.array(stamps, np.int64),
        np.array([rows[s][0] for s in stamps]),
        np.array([rows[s][1] for s in stamps], bool),
        names,
    )


def _track(body: str, topic: str, found: list[tuple[int, str, np.ndarray]]) -> Track:
    values = np.array([numbers for _, _, numbers in found])
    stamps = np.array([time for time, _, _ in found], np.int64)

    def column(start: int, width: int) -> np.ndarray | None:
        part = values[:, start : start + width]
        return None if np.isnan(part).all() else part

    samples = Samples(values[:, :3], column(3, 4), column(7, 3), column(10, 3))
    return ordered(body, topic, stamps, samples, found[0][1])


def is_wanted(topic: str) -> bool:
    """True if a topic shows what should be."""
    return any(part in WANTED for part in topic.split("/"))


def body_of_topic(topic: str) -> str:
    """Name of the body that a topic speaks of: ``/vicon/quad1/base``, ``/quad1/odom``, ``/vrpn_mocap/quad1/pose``."""
    parts = [p for p in topic.split("/") if p]
    if "vicon" in parts[:-1] and parts[parts.index("vicon") + 1] not in GENERIC:
        return parts[parts.index("vicon") + 1]
    named = [p for p in parts if p not in GENERIC]
    return named[-1] if named else topic


def _body(frame: str, topic: str) -> str:
    """The body that a child frame names, such as ``quad1/base_link``; else that of the topic."""
    named = [p for p in frame.split("/") if p and p not in GENERIC]
    return named[0] if named else body_of_topic(topic)


def _numbers(position: Any, q: Any = None) -> np.ndarray:
    out = np.full(13, np.nan)
    out[:3] = position.x, position.y, position.z
    if q is not None:
        State(out).attitude[:] = q.w, q.x, q.y, q.z
    return out


def _pose_stamped(m: Any, topic: str) -> Iterator[Row]:
    yield (
        body_of_topic(topic),
        m.header.stamp,
        m.header.frame_id,
        _numbers(m.pose.position, m.pose.orientation),
    )


def _pose_with_covariance(m: Any, topic: str) -> Iterator[Row]:
    pose = m.pose.pose
    yield (
        body_of_topic(topic),
        m.header.stamp,
        m.header.frame_id,
        _numbers(pose.position, pose.orientation),
    )


def _point_stamped(m: Any, topic: str) -> Iterator[Row]:
    yield body_of_topic(topic), m.header.stamp, m.header.frame_id, _numbers(m.point)


def _transform_stamped(m: Any, topic: str) -> Iterator[Row]:
    numbers = _numbers(m.transform.translation, m.transform.rotation)
    yield _body(m.child_frame_id, topic), m.header.stamp, m.header.frame_id, numbers


def _tf(m: Any, topic: str) -> Iterator[Row]:
    for transform in m.transforms:
        if topic.endswith("tf_static") or "/" in transform.header.frame_id.strip("/"):
            continue  # fixed to a body, or seen from one
        yield from _transform_stamped(transform, topic)


def _odometry(m: Any, topic: str) -> Iterator[Row]:
    out = _numbers(m.pose.pose.position, m.pose.pose.orientation)
    v, w = m.twist.twist.linear, m.twist.twist.angular
    State(out).velocity[:] = quat2mat(State(out).attitude) @ np.array(
        [v.x, v.y, v.z]
    )  # the twist is in the child frame
    State(out).body_rate[:] = w.x, w.y, w.z
    yield _body(m.child_frame_id, topic), m.header.stamp, m.header.frame_id, out


def _named_poses(m: Any, topic: str) -> Iterator[Row]:
    for named in m.poses:
        yield (
            named.name,
            m.header.stamp,
            m.header.frame_id,
            _numbers(named.pose.position, named.pose.orientation),
        )


def _rigid_bodies(m: Any, topic: str) -> Iterator[Row]:
    for body in m.rigidbodies:
        numbers = _numbers(body.pose.position, body.pose.orientation)
        yield body.rigid_body_name, m.header.stamp, m.header.frame_id, numbers


READERS: dict[str, Callable[[Any, str], Iterator[Row]]] = {
    "geometry_msgs/PoseStamped": _pose_stamped,
    "geometry_msgs/PoseWithCovarianceStamped": _pose_with_covariance,
    "geometry_msgs/PointStamped": _point_stamped,
    "geometry_msgs/TransformStamped": _transform_stamped,
    "nav_msgs/Odometry": _odometry,
    "tf2_msgs/TFMessage": _tf,
    "tf/tfMessage": _tf,
    "motion_capture_tracking_interfaces/NamedPoseArray": _named_poses,
    "mocap4r2_msgs/RigidBodies": _rigid_bodies,
}
"""Reader of every message type, by package and name of the type (ROS 1 and ROS 2 differ only in ``/msg/``)."""


def _reader_of(kind: str) -> Callable[[Any, str], Iterator[Row]] | None:
    return READERS.get(kind.replace("/msg/", "/"))
