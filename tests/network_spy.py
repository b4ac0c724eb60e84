"""A node that looks at a ROS domain and prints what it finds, as JSON. A program of its own: it may be on another machine.

It looks until it has heard the simulator or its patience is over, and asks it to pause.
"""

import json
import sys
import time

import rclpy
from rotor_msgs.msg import TeamState
from std_srvs.srv import Trigger

from rotor_core.ros import qos

rclpy.init()
node = rclpy.create_node("spy")
states: list[TeamState] = []
node.create_subscription(TeamState, "/rotor/team_state", states.append, qos.TEAM)
client = node.create_client(Trigger, "/simulator/pause")
end = time.monotonic() + float(sys.argv[1])
asked, again = None, 0.0
while time.monotonic() < end and not (states and asked and asked.done()):
    rclpy.spin_once(node, timeout_sec=0.1)
    if time.monotonic() > again and client.service_is_ready():
        asked, again = (
            client.call_async(Trigger.Request()),
            time.monotonic() + 3.0,
        )  # it may be lost
nodes = sorted(name for name in node.get_node_names() if name != "spy")
paused = asked is not None and asked.done() and asked.result().success
print(json.dumps({"nodes": nodes, "states": len(states), "paused": paused}))
