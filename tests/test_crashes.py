"""Nodes that are killed while they fly and record: what is lost, what is left, what comes back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import domain_coordinator
import numpy as np
import pytest
from graph import bench
from mcap.reader import make_reader
from nav_msgs.msg import Odometry
from power_loss import after_power_loss

from rotor.graph.plan import ProgramPlan
from rotor_core.ros import qos
from rotor_recordings.formats.bag_flights import read_flight
from rotor_recordings.live.recover import recover

SCENARIO = "dragonfly_point_mass"


def last_stamp(bag: Path) -> float:
    """Time of the last message of a bag, s, by another library."""
    with next(bag.glob("*.mcap")).open("rb") as file:
        return max(m.log_time for _, _, m in make_reader(file).iter_messages()) * 1e-9


def flying(b, bag: Path) -> list:
    """Start all nodes, recording in real time; returns the odometry that comes in."""
    seen = b.collect(Odometry, "/payload/ground_truth", qos.STATE)
    b.start("simulator", scenario=SCENARIO, pacing="realtime", wait_for_recorder=True)
    b.start("recorder", scenario=SCENARIO, bag=str(bag), wait_for="simulator planner controller")
    b.start("planner", scenario=SCENARIO)
    b.start("controller", scenario=SCENARIO)
    b.until(lambda: len(seen) > 250, "two and a half seconds of flight")
    return seen


def kill(b, name: str) -> None:
    child = b.group.children[name]
    child.stopped = True  # wanted
    os.killpg(child.process.pid, signal.SIGKILL)
    child.process.wait()


def stamp(message: Odometry) -> float:
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def test_a_killed_recorder_loses_less_than_a_second(tmp_path):
    bag = tmp_path / "bag"
    with bench(tmp_path) as b:
        seen = flying(b, bag)
        b.spin(0.3)
        kill(b, "recorder")
        when = stamp(seen[-1])
        count = len(seen)
        b.until(lambda: len(seen) > count + 50, "the flight goes on without its recorder")
    found = recover(bag)
    assert found.kept is not None
    assert when - last_stamp(bag) < 1.0
    flight = read_flight(bag)
    gaps = np.diff(flight.time)
    assert flight.time[0] < 1.1 and gaps.max() < 1.5 * np.median(gaps)  # whole up to there


@pytest.mark.parametrize("victim", ["simulator", "controller"])
def test_other_nodes_that_are_killed_cost_nothing_of_the_bag(tmp_path, victim):
    bag = tmp_path / "bag"
    with bench(tmp_path) as b:
        seen = flying(b, bag)
        kill(b, victim)
        when = stamp(seen[-1])
        b.spin(0.5)
        assert all(c.running for n, c in b.group.children.items() if n != victim)
    assert (bag / "metadata.yaml").exists()  # closed by itself
    assert last_stamp(bag) >= when - 0.05


@pytest.fixture
def domain():
    with domain_coordinator.domain_id() as number:
        yield {**os.environ, "ROS_DOMAIN_ID": str(number)}


PROGRAM = """
import sys
from rotor.cli import main
sys.exit(main(["up", {scenario!r}, "--record", "--duration", "60", "--out", {out!r}]))
"""


def test_a_killed_parent_leaves_a_whole_bag_and_no_process(tmp_path, domain):
    """SIGKILL of `./rotor up` itself: its nodes notice, close what is open and end."""
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(scenario=SCENARIO, out=str(out))],
        env=domain,
        stdout=subprocess.DEVNULL,
    )
    file = out / "bag" / "bag.mcap"
    end = time.monotonic() + 60.0
    while not (file.exists() and file.stat().st_size > 50_000):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)
    process.kill()
    process.wait()
    end = time.monotonic() + 20.0
    while not (out / "bag" / "metadata.yaml").exists() or _mentioning(str(out)):
        assert time.monotonic() < end, _mentioning(str(out))
        time.sleep(0.1)
    assert read_flight(out / "bag").time[-1] > 1.2


def test_nothing_flies_on_when_a_node_of_a_run_is_gone(tmp_path, domain):
    """The end of a controller is seen within a third of a second; time stands while the bag is closed."""
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(scenario=SCENARIO, out=str(out))],
        env=domain, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    file, end = out / "bag" / "bag.mcap", time.monotonic() + 60.0
    while not (file.exists() and file.stat().st_size > 50_000):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)
    (controller,) = [
        p
        for p in _mentioning(str(out))
        if b"/controller " in _words(p) or b"/controller\0" in _words(p)
    ]
    os.kill(int(controller), signal.SIGKILL)
    _, said = process.communicate(timeout=60.0)
    assert process.returncode == 2 and "the controller was killed (SIGKILL)" in said
    flight = read_flight(out / "bag")
    commanded = flight.all_commands.time[-1]
    assert (
        flight.time[-1] - commanded < 2.0
    )  # a third of a second, and what a busy machine adds; it was 5 s and more


def _words(process: str) -> bytes:
    try:
        return (Path("/proc") / process / "cmdline").read_bytes()
    except OSError:
        return b""


def _mentioning(text: str) -> list[str]:
    """Processes whose environment or arguments name a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if text.encode() in line:
                found.append(entry.name)
    return found


def test_recording_onto_a_disk_that_fills_says_so_and_ends_the_run(tmp_path, domain):
    """A limit on the size of files stands for the disk; the bag comes back."""
    out = tmp_path / "out"
    run = subprocess.run(
        ["bash", "-c", 'ulimit -f 200; exec "$@"', "limited",  # blocks of 1024 bytes
         sys.executable, "-c", PROGRAM.format(scenario=SCENARIO, out=str(out))],
        env=domain,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 2, run.stdout + run.stderr
    assert "the recorder ended with code 2" in run.stderr and "rotor recover" in run.stderr
    assert "Traceback" not in run.stderr
    recover(out / "bag")
    assert read_flight(out / "bag").time[-1] > 1.5


def recording_on(disk_delay: float, tmp_path, seconds: float):
    """Fly and record on a disk that keeps only what was synced; when power is lost, what is left and was flown."""
    bag, shadow = tmp_path / "bag", tmp_path / "shadow"
    with bench(tmp_path) as b:
        seen = b.collect(Odometry, "/payload/ground_truth", qos.STATE)
        words = [
            sys.executable,
            str(Path(__file__).parent / "power_loss.py"),
            str(shadow),
            str(tmp_path),
            str(disk_delay),
        ]
        words += [
            "rotor_adapters.recorder.node",
            "--ros-args",
            "-p",
            f"scenario:={SCENARIO}",
            "-p",
            f"bag:={bag}",
        ]
        words += ["-p", "wait_for:=simulator planner controller"]
        b.group.start(ProgramPlan("recorder", tuple(words)))
        b.start("simulator", scenario=SCENARIO, pacing="realtime", wait_for_recorder=True)
        b.start("planner", scenario=SCENARIO)
        b.start("controller", scenario=SCENARIO)
        b.until(lambda: bool(seen) and stamp(seen[-1]) > 1.0 + seconds, "flight", 60.0)
        left = after_power_loss(shadow, bag, tmp_path / "left")
        when = stamp(seen[-1])
        log = b.group.children["recorder"].log
    return left, when, log.read_text()


def test_a_loss_of_power_costs_a_recording_the_last_second(tmp_path):
    """What the disk of the recorder's process holds while it flies, as it would be found by the next boot."""
    left, when, log = recording_on(0.0, tmp_path, 4.0)
    assert "the disk is slow" not in log
    recover(left)
    # the chunk under way holds half a second, its sync and our look at the disk take some of the rest
    assert when - last_stamp(left) < 1.0
    flight = read_flight(left)
    gaps = np.diff(flight.time)
    assert flight.time[0] < 1.1 and gaps.max() < 1.5 * np.median(gaps)


def test_a_slow_disk_is_told_of_and_loses_nothing(tmp_path):
    """Every sync takes two seconds; the bag is whole all the same."""
    _, when, log = recording_on(2.0, tmp_path, 6.0)
    assert "the disk is slow: a loss of power would cost the last" in log
    flight = read_flight(tmp_path / "bag")  # closed by now
    gaps = np.diff(flight.time)
    assert flight.time[-1] >= when - 0.05 and gaps.max() < 1.5 * np.median(gaps)
