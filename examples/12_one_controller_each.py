"""One controller per vehicle, in a process and namespace of its own, that knows only itself and the payload.

The forces on the payload are shared by geometry alone, so every vehicle finds its own part without asking the
others. All of them: ros2 launch launch/one_controller_each.launch.py. One of them, beside
./rotor up three_dragonflies_decentralised --controller external:

    ./rotor python examples/12_one_controller_each.py three_dragonflies_decentralised quad1 --ros-args -r __ns:=/quad1
"""

import sys

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rotor_msgs.msg import PolynomialTrajectory
from transforms3d.quaternions import quat2mat

from rotor_control.controller import make_controller
from rotor_core.config.loader import load_scenario
from rotor_core.messages.convert import plan_from_message, seconds_between, vector_from, wxyz_from
from rotor_core.ros import qos
from rotor_core.ros.node import run


class VehicleController(Node):
    """Topics are relative (odom, cmd/wrench) but for those of the payload and the plan."""

    def __init__(self, name, vehicle):
        super().__init__("controller")
        scenario = load_scenario(name)
        self.controller = make_controller(scenario)
        self.row, self.vehicle = scenario.model.index(vehicle), vehicle
        payload = self.controller.teams[0].entity
        self.payload_row, self.payload = scenario.model.index(payload), payload
        self.states = np.full((len(scenario.model.entities), 13), np.nan)  # others: not known
        self.stamps, self.plan = {}, None
        self.commands = self.create_publisher(WrenchStamped, "cmd/wrench", qos.STATE)
        self.create_subscription(PolynomialTrajectory, "/rotor/plan", self.on_plan, qos.PLAN)
        for topic, row in (("odom", self.row), (f"/{payload}/odom", self.payload_row)):
            self.create_subscription(
                Odometry, topic, lambda m, row=row: self.on_odometry(row, m), qos.STATE
            )

    def on_plan(self, message):
        if message.entity == self.payload:
            self.plan = plan_from_message(message), message.header.stamp

    def on_odometry(self, row, message):
        pose, twist = message.pose.pose, message.twist.twist
        q = wxyz_from(pose.orientation)
        v, omega = quat2mat(q) @ vector_from(twist.linear), vector_from(twist.angular)
        self.states[row] = [*vector_from(pose.position), *q, *v, *omega]
        self.stamps[row] = message.header.stamp
        if self.plan is None or self.stamps.get(self.row) != self.stamps.get(self.payload_row):
            return  # answer when both are of the same time
        plan, start = self.plan
        self.controller.follow(0, plan, seconds_between(start, message.header.stamp))
        out = self.controller.decide(self.states, self.controller.references)[self.row].tolist()
        answer = WrenchStamped(header=message.header)
        answer.header.frame_id = f"{self.vehicle}/base_link"
        answer.wrench.force.z = out[0]
        answer.wrench.torque.x, answer.wrench.torque.y, answer.wrench.torque.z = out[1:]
        self.commands.publish(answer)


if len(sys.argv) < 3:
    sys.exit(f"usage: {sys.argv[0]} SCENARIO VEHICLE [--ros-args -r __ns:=/VEHICLE]")
sys.exit(run(lambda: VehicleController(*sys.argv[1:3]), sys.argv))
