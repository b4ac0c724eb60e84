"""The world as standard topics: clock, team state, odometry, TF, cables, events.

Every stamp is simulation time of the state it belongs to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock
from rotor_msgs.msg import CableState, CableStates, HybridEvent, TeamState
from tf2_msgs.msg import TFMessage

from rotor_core.config.sensing import Noise
from rotor_core.config.teams import attachment_points, leave_from_b, teams
from rotor_core.config.yaml.units import nanoseconds
from rotor_core.math.rotations import body_axes, cross_matrix
from rotor_core.messages.cdr import FrozenMessage, quaternion_paths, vector_paths
from rotor_core.messages.convert import (
    WORLD_FRAME,
    frame_of,
    nanoseconds_from_stamp,
    set_vector,
    stamp_from_nanoseconds,
)
from rotor_core.messages.team_wire import Heading, TeamStateWire, cable_paths
from rotor_core.ros import qos
from rotor_core.ros.frozen_topic import FrozenTopic, FrozenTopics, Sender
from rotor_core.state import FULL_STATE, State
from rotor_dynamics.hybrid.events import EVENT_NAMES, Event
from rotor_sim.ros.topics.arms import ArmPublisher
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.sensing.suite import sensors_of
from rotor_sim.simulation import START_TIME, Simulation

START_NS = nanoseconds(START_TIME)

EVENT_CODES = {name: code for code, name in EVENT_NAMES.items()}


class SimTime:
    """Stamps: graph time is simulation time plus an offset, which a reset changes."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.offset_ns = 0
        self._made_at, self._made_offset, self._made = math.nan, 0, Time()

    @property
    def seconds(self) -> float:
        """Time of the graph now, s, as stamps have it."""
        return self._simulation.time + 1e-9 * self.offset_ns

    def stamp(self, time: float | None = None) -> Time:
        """Stamp of a simulation time, default the present; not to be written to."""
        if time is None:
            time = self._simulation.time
        if time != self._made_at or self.offset_ns != self._made_offset:
            self._made_at, self._made_offset = time, self.offset_ns
            # what was captured before a reset of the time alone is of the first instant after it
            self._made = stamp_from_nanoseconds(max(nanoseconds(time) + self.offset_ns, START_NS))
        return self._made


ODOMETRY_PATHS = [
    *vector_paths("pose.pose.position"), *quaternion_paths("pose.pose.orientation"),
    *vector_paths("twist.twist.linear"), *vector_paths("twist.twist.angular"),
]  # fmt: skip


COVARIANCES = [f"{of}.covariance[{i}]" for of in ("pose", "twist") for i in range(36)]
VELOCITY_COVARIANCES = [f"twist.covariance[{6 * i + j}]" for i in range(3) for j in range(3)]


def _odometry(child: str, noise: Noise | None) -> Odometry:
    """Message of an entity; the covariances are those of the noise. With estimators, those of vehicles change."""
    message = Odometry(child_frame_id=child)
    message.header.frame_id = WORLD_FRAME
    if noise is not None:
        for at, position, rotation in (
            (message.pose, noise.position_m, noise.attitude_rad),
            (message.twist, noise.velocity_m_s, noise.rate_rad_s),
        ):
            at.covariance = np.diag(np.repeat([position, rotation], 3) ** 2).ravel()
    return message


def _velocity_covariances(velocities: np.ndarray, noise: Noise) -> np.ndarray:
    """Covariances of noisy velocities in the child frame, (n, 3, 3), which noise of the attitude turns (F.6).

    Args:
        velocities: in the child frame, (n, 3) m/s.
        noise: of the measurements.
    """
    turns = cross_matrix(velocities)
    spread = noise.velocity_m_s**2 * np.eye(3)
    return spread + noise.attitude_rad**2 * turns @ turns.transpose(0, 2, 1)


def _odometry_rows(motion: np.ndarray) -> np.ndarray:
    """States (n, 13) with the velocity in the child frame; ours is in the world."""
    rows = motion[:, FULL_STATE].copy()
    State(rows).velocity[:] = body_axes(State(motion).attitude, State(motion).velocity)
    return rows


class WorldPublisher:
    """Publishers of one simulated world."""

    def __init__(
        self, entities: Entities, simulation: Simulation, time: SimTime, *, publish_map: bool
    ) -> None:
        self.simulation, self._time = simulation, time
        self._publish_map = publish_map
        scenario, names = simulation.scenario, simulation.names
        self._cable_names = scenario.model.cable_names
        self._clock = Sender(entities.publisher(Clock, "clock", qos.STATE))
        self._clock_frame = FrozenMessage(Clock())
        self._team = Sender(entities.publisher(TeamState, "rotor/team_state", qos.TEAM))
        self._tf = Sender(entities.publisher(TFMessage, "tf", qos.TF))
        self._tf_static = entities.publisher(TFMessage, "tf_static", qos.TF_STATIC)
        self._events = entities.publisher(HybridEvent, "rotor/events", qos.EVENT)

        def odometry(kind: str, noise: Noise | None) -> list[FrozenTopic]:
            return [
                FrozenTopic(
                    entities.publisher(Odometry, f"{n}/{kind}", qos.RECORDED),
                    _odometry(frame_of(n), noise),
                    ODOMETRY_PATHS,
                )
                for n in names
            ]

        self._odom = odometry("odom", scenario.sensing.noise)
        self._covariance_at = self._odom[0].frozen.index(*COVARIANCES)
        self._velocity_covariance_at = self._odom[0].frozen.index(*VELOCITY_COVARIANCES)
        truth = odometry("ground_truth", None)
        self._sent_at = -1
        """Stamp of the newest truth, ns."""
        self._copies = 2 if simulation.measurement.is_true else 1
        """Odometry is what controllers are told: where that is the truth, both are one."""
        self._truth = FrozenTopics([*truth, *self._odom] if self._copies == 2 else truth)
        self._truth_alone = FrozenTopics(truth)
        self.shown = np.zeros(len(names), np.int64)
        """Stamp of the newest odometry of every entity, ns: what its controllers answer."""
        counts = [len(getattr(e, "moving_joints", ())) for e in scenario.model.entities]
        self._has_joints = any(counts)
        self._team_wire = TeamStateWire(names, self._cable_names, counts)
        self._cable_numbers = np.zeros((len(self._cable_names), 6))
        self._from_b = leave_from_b(scenario.model)
        self._arms = ArmPublisher(entities, simulation)
        self._freeze_transforms(names)
        if self._cable_names:
            self._cables = Sender(entities.publisher(CableStates, "cables", qos.RECORDED))
            message = CableStates(cables=[CableState(name=n) for n in self._cable_names])
            message.header.frame_id = WORLD_FRAME
            self._cable_frame = FrozenMessage(message)
            self._cable_at = np.array(
                [
                    self._cable_frame.index(*cable_paths(f"cables[{k}]"))
                    for k in range(len(self._cable_names))
                ]
            )
            self._taut_at = [
                self._cable_frame.offset(f"cables[{k}].taut") for k in range(len(self._cable_names))
            ]
        self._tf_listeners = 0
        self._tf_time = -math.inf
        self.publish_static()

    def _freeze_transforms(self, names: list[str]) -> None:
        links = self._arms.frames
        self._tf_frame = FrozenMessage(
            TFMessage(
                transforms=[_transform(WORLD_FRAME, frame_of(n)) for n in names]
                + [_transform(parent, child) for parent, child in links]
            )
        )
        paths = [f"transforms[{i}]" for i in range(len(names) + len(links))]
        self._tf_stamps = [f"{p}.header.stamp.sec" for p in paths]
        self._tf_at = np.array(
            [
                self._tf_frame.index(
                    *vector_paths(f"{p}.transform.translation"),
                    *quaternion_paths(f"{p}.transform.rotation"),
                )
                for p in paths
            ]
        )

    def publish_static(self) -> None:
        """Frames that never move: the map, rotor hubs, attachment points."""
        transforms = [_transform(WORLD_FRAME, "map")] if self._publish_map else []
        model = self.simulation.scenario.model
        for vehicle in model.vehicles:
            transforms += [
                _transform(frame_of(vehicle.name), f"{vehicle.name}/rotor_{k + 1}", hub)
                for k, hub in enumerate(vehicle.rotors.positions)
            ]
        for team in teams(model):
            if team.payload is None:
                continue
            for i, point in enumerate(attachment_points(model, team)):
                transforms.append(
                    _transform(frame_of(team.payload), f"{team.payload}/attach_{i + 1}", point)
                )
        anchors: dict[str, object] = {}
        for cable, from_b in zip(model.cables, leave_from_b(model), strict=True):
            entity, point = (cable.b, cable.b_point_m) if from_b else (cable.a, cable.a_point_m)
            if entity != WORLD_FRAME:
                anchors.setdefault(entity, point)  # of several cables the first
        transforms += [_transform(frame_of(n), f"{n}/cable_anchor", p) for n, p in anchors.items()]
        for kind, keys in sensors_of(self.simulation.scenario):
            transforms += [
                _transform(frame_of(channel.body), channel.topic, *channel.mount)
                for channel in kind.channels(keys, model)
                if channel.mount is not None
            ]
        for transform in transforms:
            transform.header.stamp = self._time.stamp()
        self._arms.describe()
        self._tf_static.publish(TFMessage(transforms=transforms))

    def clock(self, time: float | None = None) -> None:
        """Publish the clock at a simulation time, s, default the present."""
        if not self._clock.listeners():
            return
        self._clock_frame.put_stamp(self._time.stamp(time), "clock.sec")
        self._clock.send(self._clock_frame.data())

    def team_state(self, measured: np.ndarray, epoch: int, step: int) -> None:
        """Publish what controllers get: ``measured`` (n, 19) at the start of control period ``step``."""
        self._refresh_cables()
        heading = Heading(self._time.stamp(), epoch, step)
        self._team.send(
            self._team_wire.write(
                heading,
                measured,
                self.simulation.engine.taut,
                self._cable_numbers,
                self.simulation.joint_states if self._has_joints else None,
            )
        )

    def _refresh_cables(self) -> None:
        self.simulation.engine.show_cables(self._from_b, self._cable_numbers)

    def motion(self, stamp: Time, *, odometry: bool = True) -> None:
        """Publish the truth and, unless somebody else shows it, odometry where that is the truth.

        What has been published with the odometry of this instant is not published again without it.
        """
        before, self._sent_at = self._sent_at, nanoseconds_from_stamp(stamp)
        if odometry and self._copies == 2:
            self.shown[:] = self._sent_at
        elif not odometry and before == self._sent_at:
            return
        topics, copies = (self._truth, self._copies) if odometry else (self._truth_alone, 1)
        if topics.are_heard():
            rows = _odometry_rows(self.simulation.motion)
            topics.send(stamp, np.concatenate([rows] * copies))

    def joints(self, stamp: Time) -> None:
        """Publish angles, rates and efforts of all joints."""
        self._arms.joint_states(stamp)

    def cables(self, stamp: Time) -> None:
        """Publish the states of cables."""
        if not self._cable_names or not self._cables.listeners():
            return
        self._refresh_cables()
        frame = self._cable_frame
        frame.put_stamp(stamp)
        frame.doubles[self._cable_at] = self._cable_numbers
        frame.octets[self._taut_at] = self.simulation.engine.taut
        self._cables.send(frame.data())

    def measured(self, measured: np.ndarray, which: np.ndarray | None) -> None:
        """Publish held samples (of ``which`` entities, default all) with the stamps at which they were taken.

        What estimators on board tell is of now.
        """
        captured, on_board = (
            self.simulation.measurement.pose_sensor.captured.copy(),
            self.simulation.measurement.on_board,
        )
        if on_board is not None:
            captured[: self.simulation.n_vehicles] = self.simulation.time
            for topic, covariances in zip(self._odom, on_board.covariances(), strict=False):
                topic.frozen.doubles[self._covariance_at] = covariances.ravel()
        rows, noise = _odometry_rows(measured), self.simulation.scenario.sensing.noise
        spreads = _velocity_covariances(State(rows).velocity, noise)
        estimated = self.simulation.n_vehicles if on_board is not None else 0
        for i, (topic, row) in enumerate(zip(self._odom, rows, strict=True)):
            if which is None or which[i]:
                if i >= estimated:
                    topic.frozen.doubles[self._velocity_covariance_at] = spreads[i].ravel()
                stamp = self._time.stamp(captured[i])
                self.shown[i] = nanoseconds_from_stamp(stamp)
                topic.send(stamp, row)

    def transforms(self, stamp: Time) -> None:
        """Publish the true TF."""
        self._tf_listeners, self._tf_time = self._tf.listeners(), self.simulation.time
        if not self._tf_listeners:
            return
        for path in self._tf_stamps:
            self._tf_frame.put_stamp(stamp, path)
        poses = self.simulation.motion[:, :7]
        if self._arms.frames:
            poses = np.concatenate([poses, self._arms.poses()])
        self._tf_frame.doubles[self._tf_at] = poses
        self._tf.send(self._tf_frame.data())

    def transforms_while_time_stands(self) -> None:
        """TF of the instant at which time stands, once, and again if somebody new listens.

        Once, because odometry of this instant is published too, and TF is due less often; not more often, because
        listeners would call it redundant.
        """
        heard = self._tf_time == self.simulation.time
        if not heard or self._tf.listeners() > self._tf_listeners:
            self.transforms(self._time.stamp())

    def events(self, events: list[Event]) -> None:
        """Publish hybrid events."""
        for event in events:
            message = HybridEvent(type=EVENT_CODES[event.type], cause=event.cause)
            message.header.stamp = self._time.stamp(event.time)
            message.header.frame_id = WORLD_FRAME
            message.cables = [self._cable_names[k] for k in event.cables]
            message.at_length = [self._cable_names[k] for k in event.at_length]
            message.impulses = list(event.impulses)
            message.closing_speeds = list(event.closing_speeds)
            message.closing_speeds_after = list(event.closing_speeds_after)
            message.joints = [self.simulation.engine.joints.names[i] for i in event.joints]
            message.bodies = list(event.bodies)
            message.place = list(event.place)
            self._events.publish(message)


def _transform(
    parent: str,
    child: str,
    translation: object = None,
    wxyz: Sequence[float] = (1.0, 0.0, 0.0, 0.0),
) -> TransformStamped:
    out = TransformStamped(child_frame_id=child)
    out.header.frame_id = parent
    turn = out.transform.rotation
    turn.w, turn.x, turn.y, turn.z = (float(v) for v in wxyz)
    if translation is not None:
        set_vector(out.transform.translation, translation)  # type: ignore[arg-type]
    return out
