"""A program on another machine that asks a simulator for resets, one after the other, and prints what it was answered."""

import json
import re
import sys
import time

import rclpy
from std_srvs.srv import Trigger

rclpy.init()
node = rclpy.create_node("distant_caller")
client = node.create_client(Trigger, "/simulator/reset")
end = time.monotonic() + float(sys.argv[2])
while not client.service_is_ready() and time.monotonic() < end:
    rclpy.spin_once(node, timeout_sec=0.1)
epochs, waits = [], []
for _ in range(int(sys.argv[1])):
    print("asks", flush=True)
    began = time.monotonic()
    future = client.call_async(Trigger.Request())
    while not future.done() and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    if not future.done():
        break
    waits.append(round(time.monotonic() - began, 2))
    epochs.append(int(re.search(r"epoch (\d+)", future.result().message)[1]))
print(json.dumps({"epochs": epochs, "waits": waits}))
