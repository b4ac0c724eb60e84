"""Write a flight as a bag: the topics of our recorder, from arrays, without ROS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from transforms3d.quaternions import quat2mat

from rotor_core import reference as columns
from rotor_core.config.loader import dump_scenario
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import leave_from_b, teams
from rotor_core.config.yaml.units import NANOSECONDS_PER_SECOND, nanoseconds
from rotor_core.errors import ConfigError
from rotor_core.state import Pose, State
from rotor_dynamics.hybrid.events import EVENT_NAMES
from rotor_flight.flight import Flight
from rotor_recordings.formats.message_store import STORAGE_VERSION, message_store, offered_qos
from rotor_recordings.formats.topics import SHAPE, TEAM_COMMAND, Topic
from rotor_sim.estimation.told_errors import ToldErrors
from rotor_sim.plant.heavy_cables import heavy_counts, heavy_names, shape_topic
from rotor_sim.shapes.body_poses import BodyPoses
from rotor_sim.shapes.cable_ways import drawn_path, laid

ALL_VALID = 511
WORLD = "world"
SWASHPLATE = 3

Entry = tuple[int, str, Any]
"""Time ns, topic, message."""


def write_bag(flight: Flight, path: Path) -> None:
    """Write a flight; :func:`rotor_recordings.formats.bag_flights.read_flight` reads it back.

    Ground truth as it is, and as odometry where sensing is ideal (what a controller had); commands, references, cables,
    events, joints. What is NaN is left out.

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
        writer.set_custom_data("scenario", dump_scenario(flight.scenario))
        connections = {
            name: writer.add_connection(
                f"/{name}", topic.type, typestore=store, offered_qos_profiles=[offered_qos(topic)]
            )
            for name, topic in topics.items()
        }
        messages = sorted(_Messages(flight, store.types).all(), key=lambda entry: entry[0])
        for stamp, name, message in messages:
            writer.write(connections[name], stamp, store.serialize_cdr(message, topics[name].type))


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
    out += [Topic(f"{t.entity}/reference", "rotor_msgs/msg/Reference") for t in teams(model)]
    if model.cables:
        out.append(Topic("cables", "rotor_msgs/msg/CableStates"))
    if flight.masses.size:
        out += [Topic(shape_topic(name), SHAPE) for name in heavy_names(model)]
    out += [
        Topic(f"{v.name}/joint_states", "sensor_msgs/msg/JointState")
        for v in model.vehicles
        if v.moving_joints
    ]
    return out


class _Messages:
    """Messages of a flight; ``types`` as of a store of rosbags."""

    def __init__(self, flight: Flight, types: dict[str, Any]) -> None:
        self._flight, self._model, self._types = flight, flight.scenario.model, types
        self._from_b = leave_from_b(self._model)
        self._states = _state_topics(flight.scenario)
        self._poses = BodyPoses(flight.scenario)
        self._stamps = [nanoseconds(float(t)) for t in flight.time]

    def all(self) -> Iterator[Entry]:
        for i, stamp in enumerate(self._stamps):
            yield from self._bodies(i, stamp)
            yield from self._commands(i, stamp)
            yield from self._references(i, stamp)
            if self._model.cables and np.isfinite(self._flight.states[i]).all():
                yield stamp, "cables", self._cables(i, stamp)
            yield from self._joints(i, stamp)
            yield from self._shapes(i, stamp)
        for event in self._flight.events:
            stamp = nanoseconds(event.time)
            yield stamp, "rotor/events", self._event(event, stamp)

    def _make(self, kind: str, *values: Any) -> Any:
        return self._types[kind](*values)

    def _header(self, stamp: int, frame: str = WORLD) -> Any:
        time = self._make("builtin_interfaces/msg/Time", *divmod(stamp, NANOSECONDS_PER_SECOND))
        return self._make("std_msgs/msg/Header", time, frame)

    def _vector(self, values: np.ndarray, kind: str = "Vector3") -> Any:
        return self._make(f"geometry_msgs/msg/{kind}", *values.tolist())

    def _quaternion(self, q: np.ndarray) -> Any:
        w, x, y, z = q.tolist()
        return self._make("geometry_msgs/msg/Quaternion", x, y, z, w)

    def _bodies(self, i: int, stamp: int) -> Iterator[Entry]:
        zeros = np.zeros(36)
        for entity, state in zip(self._model.entities, self._flight.states[i], strict=True):
            if np.isnan(state).any():
                continue
            pose = self._make(
                "geometry_msgs/msg/Pose",
                self._vector(State(state).position, "Point"),
                self._quaternion(State(state).attitude),
            )
            linear = (
                quat2mat(State(state).attitude).T @ State(state).velocity
            )  # the twist is in the child frame
            twist = self._make(
                "geometry_msgs/msg/Twist",
                self._vector(linear),
                self._vector(State(state).body_rate),
            )
            message = self._make(
                "nav_msgs/msg/Odometry", self._header(stamp), f"{entity.name}/base_link",
                self._make("geometry_msgs/msg/PoseWithCovariance", pose, zeros),
                self._make("geometry_msgs/msg/TwistWithCovariance", twist, zeros),
            )  # fmt: skip
            for topic in self._states:
                yield stamp, f"{entity.name}/{topic}", message

    def _commands(self, i: int, stamp: int) -> Iterator[Entry]:
        row = self._flight.commands[i]
        if np.isnan(row).any():
            return
        efforts = self._flight.efforts[i] if self._flight.efforts.size else None
        commands, first = [], 0
        for vehicle, command in zip(self._model.vehicles, row, strict=True):
            swashplate, joints = vehicle.helicopter is not None, len(vehicle.moving_joints)
            mode, numbers = (SWASHPLATE, np.zeros(4)) if swashplate else (0, command)
            own = np.zeros(0) if efforts is None else efforts[first : first + joints].copy()
            first += joints
            commands.append(
                self._make(
                    "rotor_msgs/msg/ActuatorCommand", vehicle.name, mode, float(numbers[0]), self._vector(numbers[1:]),
                    np.zeros(0), own, command if swashplate else np.zeros(4),
                )
            )  # fmt: skip
        yield (
            stamp,
            TEAM_COMMAND,
            self._make("rotor_msgs/msg/TeamCommand", self._header(stamp), 0, i, commands),
        )

    def _references(self, i: int, stamp: int) -> Iterator[Entry]:
        for team, row in zip(teams(self._model), self._flight.references[i], strict=True):
            if np.isnan(row).any():
                continue
            vectors = {
                name: self._vector(row[k : k + 3]) for name, k in columns.REFERENCE_VECTORS.items()
            }
            message = self._types["rotor_msgs/msg/Reference"](
                header=self._header(stamp),
                entity=team.entity,
                valid=ALL_VALID,
                orientation=self._quaternion(row[columns.ATTITUDE : columns.ATTITUDE + 4]),
                yaw=float(row[columns.YAW_ANGLE]),
                yaw_rate=float(row[columns.YAW_RATE]),
                **vectors,
            )
            yield stamp, f"{team.entity}/reference", message

    def _shapes(self, i: int, stamp: int) -> Iterator[Entry]:
        if not self._flight.masses.size:
            return
        upright, first = self._quaternion(np.array([1.0, 0.0, 0.0, 0.0])), 0
        for name, count in heavy_counts(self._model):
            places = self._flight.masses[i, first : first + count]
            first += count
            poses = [
                self._make("geometry_msgs/msg/Pose", self._vector(place, "Point"), upright)
                for place in places
            ]
            yield stamp, shape_topic(name), self._make(SHAPE, self._header(stamp), poses)

    def _cables(self, i: int, stamp: int) -> Any:
        flight, rows = self._flight, []
        joints = flight.joints[i] if flight.joints.size else np.zeros((0, 2))
        masses = flight.masses[i] if flight.masses.size else None
        placed = self._poses.at(flight.states[i], joints, masses)
        poses = dict(zip(self._poses.names, placed, strict=True))

        def end(entity: str, point: np.ndarray) -> np.ndarray:
            if entity == WORLD:
                return point
            return Pose(poses[entity]).position + quat2mat(Pose(poses[entity]).attitude) @ point

        for k, (name, cable) in enumerate(
            zip(self._model.cable_names, self._model.cables, strict=True)
        ):
            points = np.array([end(entity, point) for entity, point in drawn_path(cable, name)])
            parts = np.diff(laid(points, cable), axis=0)
            if self._from_b[k]:
                parts = -parts[::-1]
            spans = np.linalg.norm(parts, axis=1)
            distance = float(spans.sum())
            direction = parts[0] / spans[0] if spans[0] > 0.0 else np.array([0.0, 0.0, -1.0])
            length = cable.length_m
            if cable.winch is not None:  # what it has left shows where it pulls
                length = distance if flight.taut[i, k] else np.nan
            rows.append(
                self._make(
                    "rotor_msgs/msg/CableState", name, bool(flight.taut[i, k]), float(flight.tensions[i, k]),
                    length, distance, self._vector(direction),
                )
            )  # fmt: skip
        return self._make("rotor_msgs/msg/CableStates", self._header(stamp), rows)

    def _joints(self, i: int, stamp: int) -> Iterator[Entry]:
        first = 0
        for vehicle in self._model.vehicles:
            names = [j.name for j in vehicle.moving_joints]
            if names and self._flight.joints.size:
                rows = self._flight.joints[i, first : first + len(names)]
                first += len(names)
                yield stamp, f"{vehicle.name}/joint_states", self._make(
                    "sensor_msgs/msg/JointState", self._header(stamp, ""), names, rows[:, 0].copy(),
                    rows[:, 1].copy(), np.zeros(0),
                )  # fmt: skip

    def _event(self, event: Any, stamp: int) -> Any:
        codes = {name: code for code, name in EVENT_NAMES.items()}
        joints = self._model.joint_names

        def names(indices: tuple[int, ...]) -> list[str]:
            return [self._model.cable_names[k] for k in indices]

        return self._make(
            "rotor_msgs/msg/HybridEvent", self._header(stamp), codes[event.type], event.cause, names(event.cables),
            names(event.at_length), np.array(event.impulses, float), np.array(event.closing_speeds, float),
            [joints[k] for k in event.joints], list(event.bodies), np.array(event.place, float),
        )  # fmt: skip
