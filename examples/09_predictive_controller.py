"""Predictive control: ./rotor up dragonfly_point_mass --controller external, and ./rotor python on this file."""

import signal
import time

import numpy as np
import rclpy
from geometry_msgs.msg import Vector3
from point_mass_mpc import DT, STEPS, Optimiser
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rotor_msgs.msg import ActuatorCommand, PolynomialTrajectory, TeamCommand, TeamState
from transforms3d.quaternions import quat2mat

from rotor_core.messages.convert import plan_from_message, seconds_between, vector_from, wxyz_from

INERTIA, KR, KW = np.diag([0.000601, 0.000589, 0.001076]), 0.25, 0.025
EVERY = 4  # states between two optimisations: 50 Hz
LATCHED = QoSProfile(depth=200, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Controller(Node):
    def __init__(self):
        super().__init__("predictive_controller")
        self.optimise, self.plan = Optimiser(), None
        self.force = self.optimise([0] * 8 + [-1, 0, 0, 0], np.zeros((STEPS + 1, 6)))  # warm up
        self.create_subscription(PolynomialTrajectory, "/rotor/plan", self.on_plan, LATCHED)
        self.create_subscription(TeamState, "/rotor/team_state", self.on_state, 1)
        self.commands = self.create_publisher(TeamCommand, "/rotor/team_command", 10)

    def on_plan(self, message):
        self.plan = (message.header.stamp, plan_from_message(message))

    def on_state(self, message):
        if self.plan is None:
            return
        quad, load = (next(b for b in message.bodies if b.name == n) for n in ("quad1", "payload"))
        if message.step == 0:  # a new run, or a reset
            self.optimise.reset()
        if message.step % EVERY == 0:
            began = time.perf_counter()
            self.force = self.optimise(self.cable(quad, load), self.preview(message.header.stamp))
            took = f"optimised in {1e3 * (time.perf_counter() - began):.1f} ms"
            self.get_logger().info(took, throttle_duration_sec=2.0)
        answer = TeamCommand(header=message.header, epoch=message.epoch, step=message.step)
        answer.commands = [attitude(quad, self.force)]
        self.commands.publish(answer)

    def cable(self, quad, load):
        p, v = vector_from(load.pose.position), vector_from(load.twist.linear)
        along = p - vector_from(quad.pose.position)
        length = np.linalg.norm(along)
        swing = np.cross(along, v - vector_from(quad.twist.linear)) / length**2
        return np.concatenate([p, v, along / length, swing])

    def preview(self, stamp):
        times = seconds_between(self.plan[0], stamp) + DT * np.arange(STEPS + 1)
        return np.array([self.plan[1].sample(t)[:6] for t in times])


def attitude(quad, force):
    R, omega = quat2mat(wxyz_from(quad.pose.orientation)), vector_from(quad.twist.angular)
    z = force / np.linalg.norm(force)
    y = np.cross(z, [1.0, 0.0, 0.0])
    y /= np.linalg.norm(y)
    E = np.column_stack([np.cross(y, z), y, z]).T @ R
    error = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
    m = -KR * error - KW * omega + np.cross(omega, INERTIA @ omega)
    moment = Vector3(x=m[0], y=m[1], z=m[2])
    return ActuatorCommand(name="quad1", thrust=float(force @ R[:, 2]), moment=moment)


signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is rclpy's: it ends spin between messages
rclpy.init()
try:
    rclpy.spin(Controller())
except Exception:
    if rclpy.ok():  # otherwise it was Ctrl-C
        raise
