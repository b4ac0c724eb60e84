"""A node that hangs while it goes is ended, also where the middleware holds the interpreter."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from rotor.graph.plan import ProgramPlan
from rotor.graph.processes import ProcessGroup

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


def test_an_interruption_between_start_and_registration_leaves_no_process(tmp_path, monkeypatch):
    """A mask of the main thread would not keep the signal out: another thread takes it, and Python interrupts."""
    idle = threading.Event()
    threading.Thread(target=idle.wait, daemon=True).start()

    class Interrupted(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    group = ProcessGroup(tmp_path / "log", dict(os.environ), ())
    with pytest.raises(KeyboardInterrupt), group:
        group.start(ProgramPlan("sleeper", (sys.executable, "-c", "import time; time.sleep(60)")))
    idle.set()
    assert not group.children["sleeper"].running


def test_an_interruption_while_nodes_are_stopped_leaves_none(tmp_path):
    """The second of two is told, and the first one hears nothing of it."""
    with ProcessGroup(tmp_path / "log", dict(os.environ), ("first", "second")) as group:
        for name in ("first", "second"):
            deaf = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print(flush=True); time.sleep(60)"
            group.start(ProgramPlan(name, (sys.executable, "-c", deaf)))
        end = time.monotonic() + 20.0
        while time.monotonic() < end and not all(
            c.log.read_text() for c in group.children.values()
        ):
            time.sleep(0.05)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    assert not any(child.running for child in group.children.values())
