"""A program that hears the states of a simulator and prints the bodies of every step with all their digits."""

import sys
import time

import rclpy
from rotor_msgs.msg import TeamState

from rotor_core.ros import qos

rclpy.init()
node = rclpy.create_node("state_collector")
states: list[TeamState] = []
node.create_subscription(TeamState, "/rotor/team_state", states.append, qos.TEAM)
print("ready", flush=True)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end and not (states and states[-1].step >= int(sys.argv[1])):
    rclpy.spin_once(node, timeout_sec=0.1)
for state in states:
    print(state.step, repr(state.bodies))
