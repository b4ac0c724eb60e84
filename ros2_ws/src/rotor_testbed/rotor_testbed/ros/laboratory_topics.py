"""Topics of the laboratory: estimated states, motion capture in its drivers' dialects, ground truth apart."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TransformStamped
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from rotor_msgs.msg import TeamState

from rotor_core.config.schema import Scenario
from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.messages.convert import (
    WORLD_FRAME,
    frame_of,
    set_quaternion,
    set_vector,
    stamp_from_seconds,
)
from rotor_core.messages.team_wire import MOTION, Heading, TeamStateWire
from rotor_core.ros import qos
from rotor_core.state import FULL_STATE, Pose, State
from rotor_testbed.cable_view import cable_view
from rotor_testbed.hall import Testbed
from rotor_testbed.mocap import Frame

try:
    from motion_capture_tracking_interfaces.msg import NamedPose, NamedPoseArray
except ImportError:  # then there is no /poses
    NamedPoseArray = None

START_TIME = 1.0
"""Simulation time at the start, s."""

EPOCH = 0
"""A laboratory is never reset."""

FLUSH = 2.0
"""Reliable subscribers get this long to take what still waits at the end, s."""


class LaboratoryTopics:
    """All publishers.

    Args:
        node: whose they are.
        scenario: names and nominal lengths.
        hall: what is shown.
        mocap_frame: frame that poses of motion capture are given in.
        stamp_arrival: whether motion capture is stamped on arrival, as most drivers do, instead of
            at capture; by the clock of the hall either way.
    """

    def __init__(
        self,
        node: Node,
        scenario: Scenario,
        hall: Testbed,
        *,
        mocap_frame: str,
        stamp_arrival: bool,
    ) -> None:
        self._model, self._hall = scenario.model, hall
        self._frame, self._stamp_arrival = mocap_frame, stamp_arrival
        self._every = max(1, round(1.0 / scenario.time.topics_hz / scenario.time.control_s))
        names = hall.names
        self._wire = TeamStateWire(names, scenario.model.cable_names)
        self._motion = np.zeros((len(names), MOTION))
        self._cables = np.zeros((len(scenario.model.cables), 6))
        self._cables[:, 1] = [c.length_m for c in scenario.model.cables]
        make = node.create_publisher
        self._team = make(TeamState, "rotor/team_state", qos.TEAM)
        self._clock = make(Clock, "clock", qos.STATE)
        self._truth = [make(Odometry, f"laboratory/{n}/ground_truth", qos.RECORDED) for n in names]
        self._vrpn = [make(PoseStamped, f"vrpn_mocap/{n}/pose", qos.SENSOR) for n in names]
        self._vicon = [make(TransformStamped, f"vicon/{n}/{n}", qos.RECORDED) for n in names]
        self._poses = NamedPoseArray and make(NamedPoseArray, "poses", qos.STATE)

    @property
    def stamp(self) -> Time:
        """Of the present."""
        return stamp_from_seconds(START_TIME + self._hall.time)

    def standing(self) -> None:
        """Show the present once more, for those who have just come."""
        self._clock.publish(Clock(clock=self.stamp))
        self._team_state()
        self._ground_truth()

    def present(self) -> None:
        """Show the present, and what motion capture has brought."""
        self._clock.publish(Clock(clock=self.stamp))
        self._team_state()
        if self._hall.period % self._every == 0:
            self._ground_truth()
        for frame in self._hall.take_frames():
            self._mocap(frame)

    def _team_state(self) -> None:
        """Estimates; accelerations are not estimated: zero. Tensions are those of perfect load cells."""
        hall = self._hall
        self._motion[:, FULL_STATE] = hall.estimates
        self._cables[:, 0] = hall.plant.tensions
        self._cables[:, 2:] = cable_view(self._model, hall.estimates)
        heading = Heading(self.stamp, EPOCH, hall.period)
        data = self._wire.write(heading, self._motion, self._cables[:, 0] > 0.0, self._cables)
        self._team.publish(data)

    def _ground_truth(self) -> None:
        stamp = self.stamp
        for name, publisher, state in zip(
            self._hall.names, self._truth, self._hall.truth, strict=True
        ):
            message = Odometry(child_frame_id=frame_of(name))
            message.header.stamp, message.header.frame_id = stamp, WORLD_FRAME
            set_vector(message.pose.pose.position, State(state).position)
            set_quaternion(message.pose.pose.orientation, State(state).attitude)
            # twists of odometry are in the child frame
            velocity_B = rotation_from(State(state).attitude).inv().apply(State(state).velocity)
            set_vector(message.twist.twist.linear, velocity_B)
            set_vector(message.twist.twist.angular, State(state).body_rate)
            publisher.publish(message)

    def _mocap(self, frame: Frame) -> None:
        shown = frame.arrives if self._stamp_arrival else frame.captured
        stamp = stamp_from_seconds(START_TIME + self._hall.mocap.clock(shown))
        together = NamedPoseArray and NamedPoseArray()
        for i in np.flatnonzero(frame.seen):
            name, pose = self._hall.names[i], frame.poses[i]
            single = PoseStamped()
            single.header.stamp, single.header.frame_id = stamp, self._frame
            set_vector(single.pose.position, Pose(pose).position)
            set_quaternion(single.pose.orientation, pose[3:])
            self._vrpn[i].publish(single)
            transform = TransformStamped(
                header=single.header, child_frame_id=f"vicon/{name}/{name}"
            )
            set_vector(transform.transform.translation, Pose(pose).position)
            set_quaternion(transform.transform.rotation, pose[3:])
            self._vicon[i].publish(transform)
            if together is not None:
                together.header = single.header
                together.poses.append(NamedPose(name=name, pose=single.pose))
        if self._poses and together is not None and together.poses:
            self._poses.publish(together)

    def flush(self) -> None:
        """Wait until reliable subscribers have the states and the truth."""
        for publisher in (self._team, *self._truth):
            if publisher.get_subscription_count() > 0:
                publisher.wait_for_all_acked(Duration(seconds=FLUSH))
