"""Paths from bags: ROS 2 (MCAP, SQLite) and ROS 1, by the types of the topics, without ROS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader
from rosbags.interfaces import Connection
from rosbags.typesys import Stores, get_typestore
from ruamel.yaml import YAML, YAMLError

from rotor_core.config.yaml.structure import word
from rotor_core.config.yaml.units import NANOSECONDS_PER_SECOND
from rotor_core.errors import ConfigError, RotorError
from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.state import State
from rotor_dynamics.hybrid.events import EVENT_NAMES, PARTS
from rotor_recordings.formats.message_table import MessageTable, Rows, tables
from rotor_recordings.formats.own_topics import LABORATORY, TOPICS, OwnTopics
from rotor_recordings.formats.topics import TEAM_COMMAND, TEAM_STATE
from rotor_recordings.motion.derivatives import has_wrong_velocities, without_velocities
from rotor_recordings.motion.epochs import Clockwork, Epoch, newest_epoch
from rotor_recordings.motion.recording import CableRows, Recording, ends_of_cables
from rotor_recordings.motion.track import LEAST, NANO, Samples, Track, ordered

Row = tuple[str, np.ndarray, str, np.ndarray]
"""Body, stamps of messages (n,) ns, frame, and states (n, 13); NaN where a message does not say."""

_Part = tuple[np.ndarray, np.ndarray, np.ndarray, str, np.ndarray]
"""Places in the bag (n,), stamps and times of reception (n,) ns, frame, and states (n, 13)."""

FIGURES = "figures"
"""Custom data of a bag: further figures of a flight, such as how its mission ended."""

ASKED = "asked_of_rotors"
"""Among them: what controllers asked of rotors, as of :attr:`rotor_flight.flight.Flight.asked`."""

LIMITED = "limited"
"""Among them: control periods with limited commands, as of :attr:`rotor_flight.flight.Flight.limited`."""

GENERIC = frozenset(
    "vicon mocap vrpn_mocap vrpn optitrack natnet qualisys pose poses point odom odometry ground_truth tf world "
    "base_link body root".split()
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
        clock: ``header``: the stamps of messages (of reception, where all of a topic are zero), or ``receive``.
        wanted: paths of what should be (references, setpoints) in place of what is.

    Raises:
        ConfigError: it is not a bag, or holds no topic with poses.
    """
    rows: dict[tuple[str, str, str], list[_Part]] = {}
    children: set[str] = set()
    with opened(path) as reader:
        known = [
            c for c in reader.connections if _reader_of(c.msgtype) and is_wanted(c.topic) == wanted
        ]
        types = sorted({c.msgtype for c in reader.connections})
        for heard in tables(reader, known):
            topic, message = heard.connection.topic, heard.table.first
            read = _reader_of(heard.connection.msgtype)
            assert read is not None
            for transform in getattr(message, "transforms", ()):
                children.add(transform.child_frame_id.strip("/"))
            for body, stamps, frame, numbers in read(heard.table, topic):
                # one TF topic shows many pairs of frames
                parent = frame.strip("/") if hasattr(message, "transforms") else ""
                part = heard.order, stamps, heard.received, frame, numbers
                rows.setdefault((body, topic, parent), []).append(part)
        kind = "ROS 2 bag" if reader.is2 else "ROS 1 bag"
        since, notes = _newest_flight(path, reader) if clock == "header" else (None, ())
        cables = _cables(reader, clock, since)
    shown = [
        (body, topic, found)
        for (body, topic, parent), found in rows.items()
        # what is seen from a body that moves itself is no path
        if parent not in children and _count(found, since) >= LEAST
    ]
    tracks, mixed = [], []
    for body, topic, found in shown:
        try:
            tracks.append(_track(body, topic, found, clock, since))
        except ConfigError as error:  # of two flights; others may be whole
            mixed.append(error)
    if mixed and not tracks:
        raise mixed[0]
    notes += tuple(f"{path}: left out: {error}" for error in mixed)
    for i, track in enumerate(tracks):
        if has_wrong_velocities(track):
            tracks[i] = without_velocities(track)
            notes += (
                f"{path}: {track.source}: velocities of {track.body} are not the derivative of its places (zeros, or "
                "in other axes?); they count as not recorded",
            )
    if not tracks:
        raise ConfigError(
            f"{path}: holds no topic with poses of something that moves; its types are {', '.join(types)}."
        )
    return Recording(str(path), kind, tuple(tracks), custom_data(path, "scenario"), cables, notes)


def _newest_flight(path: Path, reader: AnyReader) -> tuple[int | None, tuple[str, ...]]:
    """Stamp, ns, at which the newest flight in a recording of ours begins, and what is to be said of it."""
    told = ("rotor_msgs/msg/TeamCommand", "rotor_msgs/msg/TeamState")
    if not any(c.msgtype in told for c in reader.connections):
        return None, ()
    epoch = epoch_of(reader, topics_of_flight(path, reader.connections))
    if not epoch.before:
        return None, ()
    return epoch.since, (
        f"{path}: what was flown before the reset at {epoch.since * NANO:.3f} s is left out",
    )


def epoch_of(reader: AnyReader, topics: OwnTopics) -> Epoch:
    """The newest epoch in a bag, by its team commands or, where these are not recorded, its team states.

    Raises:
        ConfigError: time was set back: stamps stand twice.
    """
    for wanted in (TEAM_COMMAND, TEAM_STATE):
        own = [c for c in reader.connections if topics.name_of(c.topic) == wanted]
        told = [
            (heard.table["epoch"], heard.table.stamps(), heard.table["step"])
            for heard in tables(reader, own)
        ]
        if told:
            return newest_epoch(told)
    return Epoch()


def _count(found: list[_Part], since: int | None) -> int:
    """How many poses are known; after a jump of the state, at how many stamps."""
    known = [stamps[_is_known(n) & _is_after(stamps, since)] for _, stamps, *_, n in found]
    stamps = np.concatenate(known)
    return len(stamps) if since is None else len(np.unique(stamps))


def _is_after(stamps: np.ndarray, since: int | None) -> np.ndarray:
    return np.ones(len(stamps), bool) if since is None else stamps >= since


def custom_data(path: Path, key: str) -> str:
    """A text that our recorder has put into a bag; empty: it has none."""
    folder = path if path.is_dir() else path.parent
    try:
        metadata = YAML(typ="safe", pure=True).load((folder / "metadata.yaml").read_text())
        return str(
            (metadata["rosbag2_bagfile_information"].get("custom_data") or {}).get(key) or ""
        )
    except (OSError, YAMLError, KeyError, TypeError, AttributeError, UnicodeDecodeError):
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


def _is_known(numbers: np.ndarray) -> np.ndarray:
    """True where a row is a pose, and not a dropout, (n,)."""
    attitudes = State(numbers).attitude
    turned = np.isnan(attitudes).all(1) | np.isfinite(attitudes).all(1) & attitudes.any(1)
    return np.asarray(np.isfinite(State(numbers).position).all(1) & turned)


def topics_of_flight(path: Path, connections: Iterable[Connection]) -> OwnTopics:
    """Topics of a flight in a bag: as its recorder says, else where states are.

    Raises:
        ConfigError: several worlds are in it, and nobody says which one counts.
    """
    text = custom_data(path, TOPICS)
    if text:
        try:
            return OwnTopics.of_text(text)
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(
                f"{path}: custom data {TOPICS} cannot be read ({error}). Record it again."
            ) from error
    found = set()
    for connection in connections:
        words = connection.topic.strip("/").split("/")
        if words[-1] == "ground_truth" and connection.msgtype == "nav_msgs/msg/Odometry":
            above = words[:-2]
            found.add(
                "".join(f"/{w}" for w in (above[:-1] if above[-1:] == [LABORATORY] else above))
            )
    if len(found) > 1:
        raise ConfigError(
            f"{path}: holds flights of several namespaces ({', '.join(sorted(n or '/' for n in found))}), which cannot "
            "be told apart. Record each by itself: ./rotor up --namespace NS --record."
        )
    return OwnTopics(found.pop() if found else "")


def _cables(reader: AnyReader, clock: str, since: int | None) -> CableRows | None:
    found = [c for c in reader.connections if c.msgtype == "rotor_msgs/msg/CableStates"]
    names: tuple[str, ...] = ()
    rows = Rows()
    for heard in tables(reader, found):
        here = tuple(c.name for c in heard.table.first.cables)
        names = names or here
        if here == names:  # not of another team
            stamps = heard.received if clock == "receive" else heard.table.stamps()
            kept = _is_after(stamps, since)
            rows.add(stamps[kept], cable_rows(heard.table)[kept])
    if len(rows.stamps) < 2:
        return None
    numbers = rows.at(rows.stamps, (len(names), 2))
    cuts = [cut for cut in _cuts(reader, names, clock) if since is None or cut[0] >= since]
    ends = ends_of_cables(cuts, len(names))
    return CableRows(rows.stamps, numbers[..., 0], numbers[..., 1] == 1.0, names, ends)


def _cuts(reader: AnyReader, names: tuple[str, ...], clock: str) -> list[tuple[int, int]]:
    """When which cables were cut or broke: ns and number."""
    out = []
    told = [c for c in reader.connections if c.msgtype == "rotor_msgs/msg/HybridEvent"]
    for connection, received, raw in reader.messages(told) if told else ():
        message: Any = reader.deserialize(raw, connection.msgtype)
        if EVENT_NAMES.get(message.type) in PARTS:
            stamp = message.header.stamp
            at = stamp.sec * NANOSECONDS_PER_SECOND + stamp.nanosec
            at = received if clock == "receive" else at
            out += [(at, names.index(name)) for name in message.cables if name in names]
    return out


def cable_rows(table: MessageTable) -> np.ndarray:
    """Tensions of ``rotor_msgs/CableStates`` and whether they are taut, (n, n_cables, 2)."""
    n = len(table.first.cables)
    columns = [[table[f"cables[{k}].{of}"] for of in ("tension", "taut")] for k in range(n)]
    return np.reshape(columns, (n, 2, len(table))).transpose(2, 0, 1)


def _track(
    body: str, topic: str, found: list[_Part], clock: str, since: int | None = None
) -> Track:
    """Path of a body by its stamps; of a topic without any, or by another clock, by the times of reception.

    Single messages without a stamp, such as a node sends before it knows the time, are left out.
    """
    order = np.argsort(np.concatenate([part[0] for part in found]))
    stamps, received = (np.concatenate([part[i] for part in found])[order] for i in (1, 2))
    values = np.concatenate([part[4] for part in found])[order]
    if clock == "receive" or not stamps.any():
        stamps = received
    else:
        stamps, values = stamps[stamps != 0], values[stamps != 0]
        kept = Clockwork().see(topic, stamps) & _is_after(stamps, since)
        stamps, values = stamps[kept], values[kept]

    def column(start: int, width: int) -> np.ndarray | None:
        part = values[:, start : start + width]
        return None if np.isnan(part).all() else part

    samples = Samples(values[:, :3], column(3, 4), column(7, 3), column(10, 3))
    return ordered(body, topic, stamps, samples, found[0][3])


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


def _poses(table: MessageTable, position: str, attitude: str = "") -> np.ndarray:
    """States, (n, 13), of which the pose is known."""
    out = np.full((len(table), 13), np.nan)
    State(out).position[:] = table.vector(position)
    if attitude:
        State(out).attitude[:] = table.vector(attitude, "wxyz")
    return out


def _pose_stamped(table: MessageTable, topic: str) -> Iterator[Row]:
    numbers = _poses(table, "pose.position", "pose.orientation")
    yield body_of_topic(topic), table.stamps(), table.first.header.frame_id, numbers


def _pose_with_covariance(table: MessageTable, topic: str) -> Iterator[Row]:
    numbers = _poses(table, "pose.pose.position", "pose.pose.orientation")
    yield body_of_topic(topic), table.stamps(), table.first.header.frame_id, numbers


def _point_stamped(table: MessageTable, topic: str) -> Iterator[Row]:
    numbers = _poses(table, "point")
    yield body_of_topic(topic), table.stamps(), table.first.header.frame_id, numbers


def _transform(table: MessageTable, message: Any, topic: str, at: str = "") -> Row:
    numbers = _poses(table, f"{at}transform.translation", f"{at}transform.rotation")
    body, stamps = _body(message.child_frame_id, topic), table.stamps(f"{at}header.stamp")
    return body, stamps, message.header.frame_id, numbers


def _transform_stamped(table: MessageTable, topic: str) -> Iterator[Row]:
    yield _transform(table, table.first, topic)


def _tf(table: MessageTable, topic: str) -> Iterator[Row]:
    for k, transform in enumerate(table.first.transforms):
        if topic.endswith("tf_static") or "/" in transform.header.frame_id.strip("/"):
            continue  # fixed to a body, or seen from one
        yield _transform(table, transform, topic, f"transforms[{k}].")


def odometry_states(table: MessageTable) -> np.ndarray:
    """States of ``nav_msgs/Odometry``, (n, 13): its twist is in the axes of the body."""
    out = _poses(table, "pose.pose.position", "pose.pose.orientation")
    q = State(out).attitude
    q = np.where(q.any(axis=1, keepdims=True), q, [1.0, 0.0, 0.0, 0.0])  # zeros: a dropout
    State(out).velocity[:] = rotation_from(q).apply(table.vector("twist.twist.linear"))
    State(out).body_rate[:] = table.vector("twist.twist.angular")
    return out


def _odometry(table: MessageTable, topic: str) -> Iterator[Row]:
    first = table.first
    body, numbers = _body(first.child_frame_id, topic), odometry_states(table)
    yield body, table.stamps(), first.header.frame_id, numbers


def _named_poses(table: MessageTable, topic: str) -> Iterator[Row]:
    first = table.first
    for k, named in enumerate(first.poses):
        numbers = _poses(table, f"poses[{k}].pose.position", f"poses[{k}].pose.orientation")
        yield named.name, table.stamps(), first.header.frame_id, numbers


def _rigid_bodies(table: MessageTable, topic: str) -> Iterator[Row]:
    first = table.first
    for k, body in enumerate(first.rigidbodies):
        at = f"rigidbodies[{k}].pose"
        numbers = _poses(table, f"{at}.position", f"{at}.orientation")
        yield body.rigid_body_name, table.stamps(), first.header.frame_id, numbers


READERS: dict[str, Callable[[MessageTable, str], Iterator[Row]]] = {
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


def _reader_of(kind: str) -> Callable[[MessageTable, str], Iterator[Row]] | None:
    return READERS.get(kind.replace("/msg/", "/"))
