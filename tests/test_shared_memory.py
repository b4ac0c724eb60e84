"""Shared memory of nodes that were killed is given back; that of living ones and of others stays."""

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from rotor.graph import shared_memory
from rotor.graph.shared_memory import YOUNG, remove_dead

NODE = """
import rclpy, time
rclpy.init()
node = rclpy.create_node("x")
print("ready", flush=True)
time.sleep(60.0)
"""


def mapped_by(pid):
    """Files of shared memory that a process has mapped."""
    text = Path(f"/proc/{pid}/maps").read_text()
    return {name for name in os.listdir("/dev/shm") if f"/dev/shm/{name}" in text}


def test_what_a_killed_node_leaves_is_removed(tmp_path):
    env = {**os.environ, "ROS_LOG_DIR": str(tmp_path)}
    dies, lives = (  # in domains of their own: who has found another one has its files mapped, too
        subprocess.Popen(
            [sys.executable, "-c", NODE],
            env=env | {"ROS_DOMAIN_ID": domain}, stdout=subprocess.PIPE, text=True,
        )
        for domain in ("92", "93")
    )  # fmt: skip
    try:
        for process in (dies, lives):
            assert process.stdout.readline() == "ready\n"
        time.sleep(YOUNG)
        left, kept = mapped_by(dies.pid), mapped_by(lives.pid)
        own = {name for name in left - kept if name.startswith("fastrtps_")}
        assert own and kept
        dies.kill()
        dies.wait()
        assert own <= set(os.listdir("/dev/shm"))  # nobody else gives them back
        removed = set(remove_dead())
        there = set(os.listdir("/dev/shm"))
        assert own <= removed and not own & there
        assert kept <= there
    finally:
        for process in (dies, lives):
            process.kill()
            process.wait()


@pytest.mark.parametrize("state", ["locked", "young", "foreign", "dead"])
def test_only_what_is_proved_dead_goes(tmp_path, monkeypatch, state):
    names = ["fastrtps_0123456789abcdef", "fastrtps_0123456789abcdef_el", "other"]
    for name in names:
        (tmp_path / name).write_bytes(b"x")
        if state != "young":
            os.utime(tmp_path / name, (1e9, 1e9))
    if state == "foreign":
        monkeypatch.setattr(shared_memory.os, "getuid", lambda: 12345)
    with (tmp_path / names[1]).open() as lock:
        if state == "locked":
            fcntl.flock(lock, fcntl.LOCK_EX)
        removed = remove_dead(tmp_path)
    assert removed == (names[:2] if state == "dead" else [])
    assert (tmp_path / "other").exists()
