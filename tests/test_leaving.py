"""A node that hangs while it goes is ended, also where the middleware holds the interpreter."""

import subprocess
import sys
import time

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

HANGS = """
import ctypes, sys
from rclpy.node import Node
from rotor_core.ros import node

node.LEAVING = 1.0

class Stuck(Node):
    def destroy_node(self):
        ctypes.PyDLL(None).sleep(int(sys.argv[1]))  # in C, with the GIL: as Fast DDS hangs in a participant's end
        super().destroy_node()

sys.exit(node.run(lambda: Stuck("stuck"), [], lambda *_: None))
"""


@pytest.mark.parametrize(("seconds", "code"), [(0, 0), (600, 1)])
def test_a_node_that_cannot_go_is_ended(seconds, code):
    """With a code that tells, and the place where it stood; one that goes in time ends as ever."""
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", HANGS, str(seconds)], capture_output=True, text=True, timeout=60.0
    )
    assert ended.returncode == code, ended.stderr
    assert ("destroy_node" in ended.stderr) == bool(code)
    assert time.monotonic() - began < 60.0
