"""Write a flight as a bag: the topics of our recorder, from arrays, without ROS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys.store import Typestore

from rotor_core import reference as columns
from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.loader import dump_scenario, plant_model
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import leave_from_b
from rotor_core.config.yaml.units import NANOSECONDS_PER_SECOND, nanoseconds
from rotor_core.errors import ConfigError
from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.state import Pose, State, V
from rotor_dynamics.hybrid.events import EVENT_NAMES, Event
from rotor_flight.flight import Flight
from rotor_recordings.formats.bags import ASKED, FIGURES, LIMITED
from rotor_recordings.formats.message_store import (
    STORAGE_VERSION,
    add_checksums,
    message_store,
    offered_qos,
)
from rotor_recordings.formats.message_table import MessageTable
from rotor_recordings.formats.topics import REFERENCE_PARTS, SHAPE, TEAM_COMMAND, Topic
from rotor_sim.estimation.told_errors import ToldErrors
from rotor_sim.plant.heavy_cables import heavy_counts, heavy_names, shape_topic
from rotor_sim.shapes.body_poses import BodyPoses
from rotor_sim.shapes.cable_ways import drawn_path, laid

ALL_VALID, FOLLOWED = 511, 287
"""Masks of references (rotor_msgs/Reference): everything; of vehicles neither attitude nor rates."""

WORLD = "world"
SWASHPLATE = 3

AT_ONCE = 2000
"""Rows whose messages are in memory at once."""

Entries = tuple[str, np.ndarray, np.ndarray]
"""Topic, times (n,) ns, and serialized messages (n, size)."""


def write_bag(flight: Flight, path: Path) -> None:
    """Write a flight; :func:`rotor_recordings.formats.bag_flights.read_flight` reads it back.

    Ground truth as it is, and as odometry where sensing is ideal (what a controller had); commands, references, cables,
    events, joints; the figures of :attr:`Flight.extra`, with the end of a mission. What is NaN is left out.

    Raises:
        ConfigError: the folder exists.
    """
    if path.exists():
        raise ConfigError(
            f"{path}: exists already. Name a new folder, so that nothing is overwritten."
        )
    topics = {t.name: t for t in _topics(flight)}
    store = message_store(t.type for t in topics.values())
    writer = Writer(path, version=STORAGE_VERSION, storage_plugin=StoragePlugin.MCAP)
    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    with writer:
        add_checksums(writer)
        writer.set_custom_data("scenario", dump_scenario(flight.scenario))
        kept = {LIMITED: flight.limited}
        if flight.asked is not None:
            kept[ASKED] = flight.asked.tolist()
        writer.set_custom_data(FIGURES, json.dumps(flight.extra | kept, default=str))
        connections = {
            name: writer.add_connection(
                f"/{name}", topic.type, typestore=store, offered_qos_profiles=[offered_qos(topic)]
            )
            for name, topic in topics.items()
        }
        for entries in _Messages(flight, store).parts():
            times = np.concatenate([stamps for _, stamps, _ in entries])
            places = [
                (e, i) for e, (_, stamps, _) in enumerate(entries) for i in range(len(stamps))
            ]
            for k in np.argsort(times, kind="stable").tolist():
                (name, stamps, messages), i = entries[places[k][0]], places[k][1]
                writer.write(connections[name], int(stamps[i]), messages[i].data)


def _state_topics(scenario: Scenario) -> tuple[str, ...]:
    """Topics of states; what an imperfect sensor saw is not known to a flight, and the truth is no odometry then."""
    if scenario.sensing.is_ideal and ToldErrors.of(scenario) is None:
        return "ground_truth", "odom"
    return ("ground_truth",)


def _topics(flight: Flight) -> list[Topic]:
    odometry, model = "nav_msgs/msg/Odometry", flight.scenario.model
    out = [
        Topic(f"{e.name}/{kind}", odometry)
        for e in model.entities
        for kind in _state_topics(flight.scenario)
    ]
    out += [
        Topic(TEAM_COMMAND, "rotor_msgs/msg/TeamCommand"),
        Topic("rotor/events", "rotor_msgs/msg/HybridEvent"),
    ]
    planned = flight.all_references()
    out += [Topic(f"{name}/reference", "rotor_msgs/msg/Reference") for name in planned]
    if model.cables:
        out.append(Topic("cables", "rotor_msgs/msg/CableStates"))
    if flight.masses.size:
        out += [Topic(shape_topic(name), SHAPE) for name in heavy_names(model)]
    out += [
        Topic(f"{v.name}/joint_states", "sensor_msgs/msg/JointState")
        for v in model.vehicles
        if v.moving_joints
    ]
    if flight.joint_references.size:
        kind = "trajectory_msgs/msg/JointTrajectory"
        out += [Topic(f"{v.name}/joint_reference", kind) for v in model.vehicles if v.moving_joints]
    return out


class _Bodies:
    """Poses of bodies in some rows of a flight."""

    def __init__(self, flight: Flight, rows: np.ndarray) -> None:
        self._flight, self._rows = flight, rows
        self._entities = {e.name: i for i, e in enumerate(flight.scenario.model.entities)}

    def _poses(self, body: str) -> np.ndarray:
        if body in self._entities:
            return self._flight.states[self._rows, self._entities[body]]
        return self._of_parts[body]

    @cached_property
    def _of_parts(self) -> dict[str, np.ndarray]:
        """Poses of links, and of the masses of heavy cables, (n, 7)."""
        flight, bodies = self._flight, BodyPoses(self._flight.scenario)
        joints = flight.joints if flight.joints.size else np.zeros((len(flight.time), 0, 2))
        masses = flight.masses if flight.masses.size else [None] * len(flight.time)
        poses = [bodies.at(flight.states[i], joints[i], masses[i]).copy() for i in self._rows]
        placed = np.reshape(poses, (len(poses), len(bodies.names), V))
        return dict(zip(bodies.names, placed.swapaxes(0, 1), strict=True))

    def path(self, cable: CableAttachment, name: str) -> np.ndarray:
        """The points of :func:`drawn_path` in W, (n, m, 3)."""
        path = drawn_path(cable, name)
        out = np.empty((len(self._rows), len(path), 3))
        for k, (body, point) in enumerate(path):
            out[:, k] = point
            if body != WORLD and len(out):
                pose = Pose(self._poses(body)[:, :V])
                out[:, k] = pose.position + rotation_from(pose.attitude).apply(point)
        return out


def _span(paths: np.ndarray, cable: CableAttachment, from_b: bool) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the ways of a cable, (n,) m, and unit vectors in which it leaves its vehicle, (n, 3).

    Args:
        paths: points as of :func:`drawn_path` in W, (n, m, 3).
        cable: which one.
        from_b: its vehicle is at its end b.
    """
    # a way over pegs has as many points as it lies on
    by_row = cable.cylinders and len(paths)
    ways = [laid(path, cable)[None] for path in paths] if by_row else [paths]
    lengths, directions = zip(*(_lengths(way, from_b) for way in ways), strict=True)
    return np.concatenate(lengths), np.concatenate(directions)


def _lengths(ways: np.ndarray, from_b: bool) -> tuple[np.ndarray, np.ndarray]:
    """The same of ways with equally many points, (n, m, 3)."""
    parts = np.diff(ways, axis=1)
    if from_b:
        parts = -parts[:, ::-1]
    spans = np.linalg.norm(parts, axis=2)
    down = np.tile([0.0, 0.0, -1.0], (len(ways), 1))
    first = np.divide(parts[:, 0], spans[:, :1], out=down, where=spans[:, :1] > 0.0)
    return spans.sum(axis=1), first


class _Messages:
    """Messages of a flight; ``store``: definitions of their types."""

    def __init__(self, flight: Flight, store: Typestore) -> None:
        self._flight, self._model, self._store = flight, flight.scenario.model, store
        self._from_b = leave_from_b(self._model)
        self._stamps = np.array([nanoseconds(float(t)) for t in flight.time], np.int64)

    def parts(self) -> Iterator[list[Entries]]:
        """Messages of the flight, part by part; in each of every topic, and of one time in this order."""
        events = sorted(self._flight.all_events, key=lambda event: event.time)
        told = 0
        for first in range(0, len(self._stamps), AT_ONCE):
            rows = np.arange(len(self._stamps))[first : first + AT_ONCE]
            entries = [
                *self._bodies(rows),
                *self._commands(rows),
                *self._references(rows),
                *self._cables(rows),
                *self._joints(rows),
                *self._joint_references(rows),
                *self._shapes(rows),
            ]
            end = self._stamps[first + AT_ONCE] if first + AT_ONCE < len(self._stamps) else np.inf
            while told < len(events) and nanoseconds(events[told].time) < end:
                entries.append(self._event(events[told]))
                told += 1
            yield entries

    def _make(self, kind: str, *values: Any) -> Any:
        return self._store.types[kind](*values)

    def _header(self, stamp: int = 0, frame: str = WORLD) -> Any:
        time = self._make("builtin_interfaces/msg/Time", *divmod(stamp, NANOSECONDS_PER_SECOND))
        return self._make("std_msgs/msg/Header", time, frame)

    def _vector(self, kind: str = "Vector3") -> Any:
        return self._make(f"geometry_msgs/msg/{kind}", 0.0, 0.0, 0.0)

    def _pose(self) -> Any:
        upright = self._make("geometry_msgs/msg/Quaternion", 0.0, 0.0, 0.0, 1.0)
        return self._make("geometry_msgs/msg/Pose", self._vector("Point"), upright)

    def _table(self, message: Any, rows: np.ndarray) -> MessageTable:
        """Copies of a message for these rows of the flight, with their stamps."""
        table = MessageTable.like(self._store, message, len(rows))
        table.set_stamps(self._stamps[rows])
        return table

    def _bodies(self, rows: np.ndarray) -> Iterator[Entries]:
        zeros = np.zeros(36)
        for entity, states in zip(
            self._model.entities, self._flight.states.swapaxes(0, 1), strict=True
        ):
            known = rows[~np.isnan(states[rows]).any(axis=1)]
            state = State(states[known])
            message = self._make(
                "nav_msgs/msg/Odometry", self._header(), f"{entity.name}/base_link",
                self._make("geometry_msgs/msg/PoseWithCovariance", self._pose(), zeros),
                self._make(
                    "geometry_msgs/msg/TwistWithCovariance",
                    self._make("geometry_msgs/msg/Twist", self._vector(), self._vector()), zeros,
                ),
            )  # fmt: skip
            table = self._table(message, known)
            table.set_vector("pose.pose.position", state.position)
            table.set_vector("pose.pose.orientation", state.attitude, "wxyz")
            in_body = rotation_from(state.attitude).inv().apply(state.velocity)
            table.set_vector("twist.twist.linear", in_body)  # the twist is in the child frame
            table.set_vector("twist.twist.angular", state.body_rate)
            for topic in _state_topics(self._flight.scenario):
                yield f"{entity.name}/{topic}", self._stamps[known], table.data

    def _commands(self, rows: np.ndarray) -> Iterator[Entries]:
        flight, first = self._flight, 0
        rows = rows[~np.isnan(flight.commands[rows]).any(axis=(1, 2))]
        commands, of_joints = [], []
        for vehicle in self._model.vehicles:
            mode = SWASHPLATE if vehicle.helicopter else 0
            n = len(vehicle.moving_joints) if flight.efforts.size else 0
            of_joints.append(slice(first, first + n))
            first += n
            commands.append(
                self._make(
                    "rotor_msgs/msg/ActuatorCommand", vehicle.name, mode, 0.0, self._vector(), np.zeros(0),
                    np.zeros(n), False, np.zeros(4),
                )
            )  # fmt: skip
        message = self._make("rotor_msgs/msg/TeamCommand", self._header(), 0, 0, commands)
        table = self._table(message, rows)
        table["step"] = rows + round(flight.begun / flight.scenario.time.control_s)
        for k, vehicle in enumerate(self._model.vehicles):
            at, numbers = f"commands[{k}]", flight.commands[rows, k]
            if vehicle.helicopter:
                table[f"{at}.swashplate"] = numbers
            else:
                table[f"{at}.thrust"] = numbers[:, 0]
                table.set_vector(f"{at}.moment", numbers[:, 1:])
            if flight.efforts.size:
                table[f"{at}.joint_efforts"] = flight.efforts[rows, of_joints[k]]
        yield TEAM_COMMAND, self._stamps[rows], table.data

    def _references(self, rows: np.ndarray) -> Iterator[Entries]:
        vehicles = {v.name for v in self._model.vehicles}
        for entity, wanted in self._flight.all_references().items():
            known = rows[~np.isnan(wanted[rows]).any(axis=1)]
            numbers = wanted[known]
            message = self._store.types["rotor_msgs/msg/Reference"](
                header=self._header(),
                entity=entity,
                valid=FOLLOWED if entity in vehicles else ALL_VALID,
                orientation=self._pose().orientation,
                yaw=0.0,
                yaw_rate=0.0,
                **{name: self._vector() for name in columns.REFERENCE_VECTORS},
            )
            table = self._table(message, known)
            for name, k in columns.REFERENCE_VECTORS.items():
                table.set_vector(name, numbers[:, k : k + 3])
            attitudes = numbers[:, columns.ATTITUDE : columns.ATTITUDE + 4]
            table.set_vector("orientation", attitudes, "wxyz")
            table["yaw"], table["yaw_rate"] = numbers[:, [columns.YAW_ANGLE, columns.YAW_RATE]].T
            yield f"{entity}/reference", self._stamps[known], table.data

    def _shapes(self, rows: np.ndarray) -> Iterator[Entries]:
        first = 0
        for name, count in heavy_counts(self._model) if self._flight.masses.size else ():
            places = self._flight.masses[rows, first : first + count]
            first += count
            message = self._make(SHAPE, self._header(), [self._pose() for _ in range(count)])
            table = self._table(message, rows)
            for k in range(count):
                table.set_vector(f"poses[{k}].position", places[:, k])
            yield shape_topic(name), self._stamps[rows], table.data

    def _cables(self, rows: np.ndarray) -> Iterator[Entries]:
        flight, cables = self._flight, self._model.cables
        if not cables:
            return
        rows = rows[np.isfinite(flight.states[rows]).all(axis=(1, 2))]
        kind = "rotor_msgs/msg/CableState"
        states = [
            self._make(kind, name, False, 0.0, cable.length_m, 0.0, self._vector())
            for name, cable in zip(
                self._model.cable_names, plant_model(flight.scenario).cables, strict=True
            )
        ]
        message = self._make("rotor_msgs/msg/CableStates", self._header(), states)
        table = self._table(message, rows)
        bodies = _Bodies(flight, rows)
        for k, (name, cable) in enumerate(zip(self._model.cable_names, cables, strict=True)):
            at, taut = f"cables[{k}]", flight.taut[rows, k]
            table[f"{at}.taut"], table[f"{at}.tension"] = taut, flight.tensions[rows, k]
            distances, directions = _span(bodies.path(cable, name), cable, self._from_b[k])
            table[f"{at}.distance"] = distances
            table.set_vector(f"{at}.direction", directions)
            if cable.winch is not None:  # what it has left shows where it pulls
                table[f"{at}.rest_length"] = np.where(taut, distances, np.nan)
        yield "cables", self._stamps[rows], table.data

    def _joints(self, rows: np.ndarray) -> Iterator[Entries]:
        first = 0
        for vehicle in self._model.vehicles:
            names = [j.name for j in vehicle.moving_joints]
            if names and self._flight.joints.size:
                joints = self._flight.joints[rows, first : first + len(names)]
                first += len(names)
                zeros = np.zeros(len(names))
                message = self._make(
                    "sensor_msgs/msg/JointState",
                    self._header(frame=""),
                    names,
                    zeros,
                    zeros,
                    np.zeros(0),
                )
                table = self._table(message, rows)
                table["position"], table["velocity"] = joints[..., 0], joints[..., 1]
                yield f"{vehicle.name}/joint_states", self._stamps[rows], table.data

    def _joint_references(self, rows: np.ndarray) -> Iterator[Entries]:
        """Trajectories of the one point that is wanted at the time of each row."""
        first = 0
        for vehicle in self._model.vehicles if self._flight.joint_references.size else ():
            if not (names := [j.name for j in vehicle.moving_joints]):
                continue
            wanted = self._flight.joint_references[rows, first : first + len(names)]
            first += len(names)
            zeros = np.zeros(len(names))
            now = self._make("builtin_interfaces/msg/Duration", 0, 0)
            point = self._make(
                "trajectory_msgs/msg/JointTrajectoryPoint", zeros, zeros, zeros, np.zeros(0), now
            )
            message = self._make(
                "trajectory_msgs/msg/JointTrajectory", self._header(frame=""), names, [point]
            )
            table = self._table(message, rows)
            for k, part in enumerate(REFERENCE_PARTS):
                table[f"points[0].{part}"] = wanted[..., k]
            yield f"{vehicle.name}/joint_reference", self._stamps[rows], table.data

    def _event(self, event: Event) -> Entries:
        codes = {name: code for code, name in EVENT_NAMES.items()}
        joints = self._model.joint_names

        def names(indices: tuple[int, ...]) -> list[str]:
            return [self._model.cable_names[k] for k in indices]

        message = self._make(
            "rotor_msgs/msg/HybridEvent", self._header(nanoseconds(event.time)), codes[event.type], event.cause,
            names(event.cables), names(event.at_length), np.array(event.impulses, float),
            np.array(event.closing_speeds, float), np.array(event.closing_speeds_after, float),
            [joints[k] for k in event.joints], list(event.bodies), np.array(event.place, float),
        )  # fmt: skip
        raw = self._store.serialize_cdr(message, message.__msgtype__)
        return (
            "rotor/events",
            # a bag begins with its flight, though what stands there came before
            np.array([max(nanoseconds(event.time), int(self._stamps[0]))]),
            np.frombuffer(raw, np.uint8)[None],
        )
