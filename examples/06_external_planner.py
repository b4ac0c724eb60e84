"""Your own planner in place of ours: ./rotor up hover --planner external, and ./rotor python on this file."""

import signal

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rotor_msgs.msg import PolynomialTrajectory, TeamState

ENTITY, GOAL, DURATION = "quad1", np.array([0.6, -0.4, 0.5]), 3.0
REST_TO_REST = [0, 0, 0, 10, -15, 6]  # quintic in normalised time
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Planner(Node):
    def __init__(self):
        super().__init__("my_planner")
        self.epoch = -1
        self.plans = self.create_publisher(PolynomialTrajectory, "/rotor/plan", LATCHED)
        self.create_subscription(TeamState, "/rotor/team_state", self.on_state, 10)

    def on_state(self, message):
        if message.epoch > self.epoch:  # a new run, or a reset: plan from where we are
            self.epoch = message.epoch
            p = next(b for b in message.bodies if b.name == ENTITY).pose.position
            c = np.pad(np.outer(GOAL, REST_TO_REST), ((0, 4), (0, 0)))  # x y z r p y phase; powers
            c[:3, 0] = p.x, p.y, p.z
            plan = PolynomialTrajectory(header=message.header, entity=ENTITY, epoch=self.epoch)
            plan.degree, plan.durations, plan.coefficients = 5, [DURATION], c.ravel().tolist()
            self.plans.publish(plan)


signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is rclpy's: it ends spin between messages
rclpy.init()
try:
    rclpy.spin(Planner())
except Exception:
    if rclpy.ok():  # otherwise it was Ctrl-C
        raise
