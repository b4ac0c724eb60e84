"""Your own controller: ./rotor up external_controller --controller external, and ./rotor python on this file."""

import signal

import numpy as np
import rclpy
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rotor_msgs.msg import Reference
from transforms3d.quaternions import quat2mat

MASS, INERTIA, GRAVITY = 0.25, np.diag([0.000601, 0.000589, 0.001076]), 9.81
KP, KV, KR, KW = 6.0, 4.0, 0.25, 0.025


def array(message):
    return np.array([message.x, message.y, message.z])


class Controller(Node):
    def __init__(self):
        super().__init__("my_controller")
        self.reference = None
        self.create_subscription(Reference, "/quad1/reference", self.on_reference, 1)
        self.create_subscription(Odometry, "/quad1/odom", self.on_odometry, 10)
        self.commands = self.create_publisher(WrenchStamped, "/quad1/cmd/wrench", 1)

    def on_reference(self, message):
        self.reference = message

    def on_odometry(self, message):
        if self.reference is None:
            return
        pose, twist, want = message.pose.pose, message.twist.twist, self.reference
        q = pose.orientation
        R = quat2mat([q.w, q.x, q.y, q.z])
        p, v, omega = array(pose.position), R @ array(twist.linear), array(twist.angular)
        force = KP * (array(want.position) - p) + KV * (array(want.velocity) - v)
        force = MASS * (force + array(want.acceleration) + [0, 0, GRAVITY])
        z = force / np.linalg.norm(force)
        y = np.cross(z, [np.cos(want.yaw), np.sin(want.yaw), 0.0])
        y /= np.linalg.norm(y)
        E = np.column_stack([np.cross(y, z), y, z]).T @ R
        error = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
        moment = -KR * error - KW * omega + np.cross(omega, INERTIA @ omega)
        answer = WrenchStamped(header=message.header)
        answer.header.frame_id = "quad1/base_link"
        answer.wrench.force.z = float(force @ R[:, 2])
        answer.wrench.torque.x, answer.wrench.torque.y, answer.wrench.torque.z = moment.tolist()
        self.commands.publish(answer)


signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is rclpy's: it ends spin between messages
rclpy.init()
try:
    rclpy.spin(Controller())
except Exception:
    if rclpy.ok():  # otherwise it was Ctrl-C
        raise
