"""A program that hears the states of a simulator and prints the bodies of every step with all their digits.

Says when it listens, and when it has heard the first one.
"""

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
told = False
while time.monotonic() < end and not (states and states[-1].step >= int(sys.argv[1])):
    rclpy.spin_once(node, timeout_sec=0.1)
    if states and not told:
        print("heard", flush=True)
        told = True
for state in states:
    print(state.step, repr(state.bodies))
