"""Everything the simulator tells the graph.

Clock, team state, odometry, TF, cables, events, markers.
"""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from rotor_msgs.msg import BodyState, CableState, CableStates, HybridEvent, TeamState
from tf2_msgs.msg import TFMessage
from transforms3d.quaternions import quat2mat
from visualization_msgs.msg import MarkerArray

from rotor_core.config.teams import attachment_points, teams
from rotor_core.ros import qos
from rotor_core.ros.convert import (
    WORLD_FRAME,
    frame_of,
    set_body,
    set_quaternion,
    set_vector,
    stamp_from_seconds,
)
from rotor_sim.events import Event
from rotor_sim.ros.markers import MarkerMaker
from rotor_sim.simulation import Simulation

EVENT_CODES = {
    "snap": HybridEvent.SNAP, "slack": HybridEvent.SLACK, "settle": HybridEvent.SETTLE, "cut": HybridEvent.CUT,
    "release": HybridEvent.RELEASE,
}  # fmt: skip


def cable_names(simulation: Simulation) -> list[str]:
    """Names of the cables: cable1..n."""
    return [f"cable{k + 1}" for k in range(len(simulation.scenario.model.cables))]


class WorldPublisher:
    """Publishers of one simulated world.

    Every stamp is simulation time of the state it belongs to.
    """

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self.simulation = simulation
        self.offset_ns = 0
        """Time of the graph minus time of the simulation: a reset sets back the latter only."""
        self._cable_names = cable_names(simulation)
        self._clock = node.create_publisher(Clock, "/clock", qos.STATE)
        self._team = node.create_publisher(TeamState, "/rotor/team_state", qos.TEAM)
        self._tf = node.create_publisher(TFMessage, "/tf", qos.TF)
        self._tf_static = node.create_publisher(TFMessage, "/tf_static", qos.TF_STATIC)
        self._cables = node.create_publisher(CableStates, "/cables", qos.STATE)
        self._events = node.create_publisher(HybridEvent, "/rotor/events", qos.EVENT)
        self._markers = node.create_publisher(MarkerArray, "/rotor/markers", qos.COMMAND)
        self._diagnostics = node.create_publisher(DiagnosticArray, "/diagnostics", qos.STATE)
        self._odom = [
            node.create_publisher(Odometry, f"/{n}/odom", qos.STATE) for n in simulation.names
        ]
        self._truth = [
            node.create_publisher(Odometry, f"/{n}/ground_truth", qos.STATE)
            for n in simulation.names
        ]
        self._marker_maker = MarkerMaker(simulation.scenario)
        self._transforms = TFMessage(
            transforms=[_transform(WORLD_FRAME, frame_of(n)) for n in simulation.names]
        )
        self._state = TeamState(
            bodies=[BodyState(name=n) for n in simulation.names],
            cables=[CableState(name=n) for n in self._cable_names],
        )
        self._state.header.frame_id = WORLD_FRAME
        self._cable_states = CableStates()
        self._cable_states.header.frame_id = WORLD_FRAME
        self._odometry = [Odometry(child_frame_id=frame_of(n)) for n in simulation.names]
        for message in self._odometry:
            message.header.frame_id = WORLD_FRAME
        self.publish_static()

    def stamp(self, time: float | None = None) -> Time:
        """Stamp of a simulation time, default the present."""
        time = self.simulation.time if time is None else time
        return stamp_from_seconds(time, offset_ns=self.offset_ns)

    def publish_static(self) -> None:
        """Frames that never move: the map, rotor hubs, attachment points."""
        transforms = [_transform(WORLD_FRAME, "map")]
        model = self.simulation.scenario.model
        for vehicle in model.vehicles:
            first = 0.0 if vehicle.rotors.layout == "plus" else np.pi / 4.0
            for k in range(4):
                angle = first + k * np.pi / 2.0
                hub = vehicle.rotors.arm_m * np.array([np.cos(angle), np.sin(angle), 0.0])
                transforms.append(
                    _transform(frame_of(vehicle.name), f"{vehicle.name}/rotor_{k + 1}", hub)
                )
        for team in teams(model):
            if team.payload is None:
                continue
            for i, point in enumerate(attachment_points(model, team)):
                transforms.append(
                    _transform(frame_of(team.payload), f"{team.payload}/attach_{i + 1}", point)
                )
        for transform in transforms:
            transform.header.stamp = self.stamp()
        self._tf_static.publish(TFMessage(transforms=transforms))

    def clock(self) -> None:
        """Publish /clock."""
        self._clock.publish(Clock(clock=self.stamp()))

    def team_state(self, measured: np.ndarray, epoch: int, step: int) -> None:
        """Publish what controllers get.

        ``measured`` (n, 19) at the start of control period ``step``.
        """
        message = self._state
        message.header.stamp = self.stamp()
        message.epoch, message.step = epoch, step
        for body, row in zip(message.bodies, measured, strict=True):
            set_body(body, row)
        self._fill_cables(message.cables)
        self._team.publish(message)

    def _fill_cables(self, cables: list[CableState]) -> None:
        engine = self.simulation.engine
        for k, cable in enumerate(cables):
            cable.taut = bool(engine.taut[k])
            cable.tension = float(engine.tensions[k])
            cable.rest_length = self.simulation.scenario.model.cables[k].length_m
            cable.distance = float(engine.distances[k])
            set_vector(cable.direction, engine.directions[k])

    def topics(self, measured: np.ndarray | None) -> None:
        """Publish odometry (measured, where there is a measurement, and true), TF, cable states."""
        stamp = self.stamp()
        motion = self.simulation.motion
        same = measured is motion
        for i, row in enumerate(motion):
            transform = self._transforms.transforms[i]
            transform.header.stamp = stamp
            set_vector(transform.transform.translation, row[0:3])
            set_quaternion(transform.transform.rotation, row[3:7])
            message = _fill_odometry(self._odometry[i], stamp, row)
            self._truth[i].publish(message)
            if measured is not None:
                own = message if same else _fill_odometry(message, stamp, measured[i])
                self._odom[i].publish(own)
        self._tf.publish(self._transforms)
        if self._cable_names:
            self._cable_states.header.stamp = stamp
            self._cable_states.cables = self._state.cables
            self._fill_cables(self._state.cables)
            self._cables.publish(self._cable_states)

    def events(self, events: list[Event]) -> None:
        """Publish hybrid events."""
        for event in events:
            message = HybridEvent(type=EVENT_CODES[event.type], cause=event.cause)
            message.header.stamp = self.stamp(event.time)
            message.header.frame_id = WORLD_FRAME
            message.cables = [self._cable_names[k] for k in event.cables]
            message.at_length = [self._cable_names[k] for k in event.at_length]
            message.impulses = list(event.impulses)
            message.closing_speeds = list(event.closing_speeds)
            self._events.publish(message)

    def markers(self) -> None:
        """Publish the marker array."""
        simulation, engine = self.simulation, self.simulation.engine
        model = simulation.scenario.model
        ends = np.zeros((len(model.cables), 2, 3))
        for k, cable in enumerate(model.cables):
            for side, (name, point) in enumerate(
                ((cable.a, cable.a_point_m), (cable.b, cable.b_point_m))
            ):
                if name == "world":
                    ends[k, side] = point
                    continue
                row = simulation.motion[simulation.names.index(name)]
                ends[k, side] = row[0:3] + quat2mat(row[3:7]) @ np.array(point)
        stamp = self.stamp()
        array = self._marker_maker.update(
            stamp,
            simulation.motion,
            simulation.applied[:, 0],
            ends,
            engine.taut,
            engine.tensions,
            engine.alive,
        )
        self._markers.publish(array)

    def diagnostics(self, level: bytes, message: str, values: dict[str, object]) -> None:
        """Publish one status of the simulator."""
        status = DiagnosticStatus(
            level=level, name="rotor: simulator", message=message, hardware_id="simulation"
        )
        status.values = [KeyValue(key=k, value=str(v)) for k, v in values.items()]
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.stamp()
        self._diagnostics.publish(array)


def _transform(parent: str, child: str, translation: np.ndarray | None = None) -> TransformStamped:
    out = TransformStamped(child_frame_id=child)
    out.header.frame_id = parent
    out.transform.rotation.w = 1.0
    if translation is not None:
        set_vector(out.transform.translation, translation)
    return out


def _fill_odometry(message: Odometry, stamp: object, row: np.ndarray) -> Odometry:
    """Pose in the world, twist in the child frame."""
    message.header.stamp = stamp
    set_vector(message.pose.pose.position, row[0:3])
    set_quaternion(message.pose.pose.orientation, row[3:7])
    set_vector(message.twist.twist.linear, quat2mat(row[3:7]).T @ row[7:10])
    set_vector(message.twist.twist.angular, row[10:13])
    return message
