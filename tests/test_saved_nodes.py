"""Running nodes that are put away and taken up again: the continued flight has the bits of the unbroken one."""

import os
import signal
import subprocess
import sys

import graph
import pytest
from rotor_msgs.msg import TeamState
from rotor_msgs.srv import Circle, Save
from std_srvs.srv import Trigger

from rotor_core.ros import qos

NODES = ("planner", "controller", "simulator")
BEGIN = 1.0
"""Time of the graph at the start of a flight, s."""

SCENARIOS = [
    "three_dragonflies_motion_capture",  # noise, dropouts, delay; cables; integrals of the law
    "arm_slung_load",
    "hexacopter_wind",  # turbulence; inflow
]


def start(bench, scenario, seconds, **parameters):
    """Start a graph that stands until the states of this test's own reader have come, and play."""
    states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
    for name in NODES:
        own = {}
        if name == "simulator":
            own = {"pacing": "lockstep", "duration_s": seconds, "linger": True, "paused": True}
        bench.start(name, scenario=scenario, **own, **parameters)
    bench.until(lambda: bool(states), "the first state", 60.0)
    # a short flight is over before a service has been found
    for kind, name in ((Trigger, "/simulator/pause"), (Circle, "/planner/circle")):
        bench.ready(kind, name)
    assert bench.call(Trigger, "/simulator/play", Trigger.Request()).success
    return states


def step_of(states):
    return states[-1].step if states else -1


def same(a, b):
    """Two messages with the same numbers, to the last digit."""
    return repr(a) == repr(b)


def bits(states):
    """Every state by its step; states that come again while time stands are the same."""
    found = {}
    for state in states:
        assert same(found.setdefault(state.step, state), state)
    return found


def flown(tmp_path, scenario, seconds, last, **parameters):
    """States of a flight from where it begins to its end."""
    with graph.bench(tmp_path) as bench:
        states = start(bench, scenario, seconds, **parameters)
        bench.until(lambda: step_of(states) >= last, "the flight", 120.0)
    return bits(states)


def continues(unbroken, first, rest, broken_at):
    """What was flown before and after the break is what was flown without one."""
    assert min(rest) == broken_at and max(rest) == max(unbroken)
    assert set(first) | set(rest) == set(unbroken)
    for step, state in [*first.items(), *rest.items()]:
        assert same(state, unbroken[step]), f"step {step} has other bits"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_flight_that_was_put_away_goes_on_with_the_same_bits(tmp_path, scenario):
    from rotor_core.config.loader import load_scenario

    seconds = 1.6
    last = round(seconds / load_scenario(scenario).time.control_s) - 1
    for name in ("whole", "first", "rest"):
        (tmp_path / name).mkdir()
    unbroken = flown(tmp_path / "whole", scenario, seconds, last)
    folder = tmp_path / "saved"
    with graph.bench(tmp_path / "first") as bench:
        states = start(bench, scenario, seconds)
        bench.until(lambda: step_of(states) > last // 3, "a third of the flight", 120.0)
        assert bench.call(Trigger, "/simulator/pause", Trigger.Request()).success
        for name in NODES:
            answer = bench.call(Save, f"/{name}/save", Save.Request(folder=str(folder)))
            assert answer.success, answer.message
            assert answer.message == str(folder / f"{name}.saved")
        at = step_of(states)
        first = bits(states)
    assert last // 3 < at < last - 10
    rest = flown(
        tmp_path / "rest", str(folder / "scenario.yaml"), seconds, last, resume=str(folder)
    )
    continues(unbroken, first, rest, at)


def test_nodes_that_are_ended_save_themselves(tmp_path):
    """SIGTERM to all at once, in the middle of a lockstep flight; each knows enough for the others to go on."""
    scenario, seconds = "three_dragonflies_motion_capture", 2.0
    last = 399
    for name in ("whole", "first", "rest"):
        (tmp_path / name).mkdir()
    unbroken = flown(tmp_path / "whole", scenario, seconds, last)
    folder = tmp_path / "saved"
    with graph.bench(tmp_path / "first") as bench:
        states = start(bench, scenario, seconds, save_on_exit=str(folder))
        bench.until(lambda: step_of(states) > 100, "a quarter of the flight")
        for child in bench.group.children.values():
            child.stopped = True  # wanted
            os.kill(child.process.pid, signal.SIGTERM)
        for child in bench.group.children.values():
            assert child.process.wait(20.0) == 0, child.last_words()
            assert "saved: " in child.log.read_text()
        bench.spin(0.2)
        first = bits(states)
    assert sorted(p.name for p in folder.iterdir()) == ["controller.saved", "planner.saved", "scenario.yaml", "simulator.saved"]  # fmt: skip
    rest = flown(
        tmp_path / "rest", str(folder / "scenario.yaml"), seconds, last, resume=str(folder)
    )
    assert 100 < min(rest) < last
    continues(unbroken, first, rest, min(rest))


def test_what_was_asked_for_meanwhile_is_taken_up_too(tmp_path):
    """A trajectory of a service: two flights from the same files are the same, and follow it."""
    scenario, seconds, last = "hover", 3.0, 599
    for name in ("first", "one", "two"):
        (tmp_path / name).mkdir()
    folder = tmp_path / "saved"
    with graph.bench(tmp_path / "first") as bench:
        states = start(bench, scenario, seconds)
        bench.until(lambda: step_of(states) > 20, "flight")
        request = Circle.Request(radius_m=0.5, period_s=2.0, cruise_s=4.0)
        assert bench.call(Circle, "/planner/circle", request).success
        assert bench.call(Trigger, "/simulator/pause", Trigger.Request()).success
        for name in NODES:
            assert bench.call(Save, f"/{name}/save", Save.Request(folder=str(folder))).success
        at = step_of(states)
    once, again = (
        flown(tmp_path / name, str(folder / "scenario.yaml"), seconds, last, resume=str(folder))
        for name in ("one", "two")
    )
    assert min(once) == at < last and set(once) == set(again)
    assert all(same(once[step], again[step]) for step in once)
    end, began = (once[step].bodies[0].pose.position for step in (max(once), at))
    assert (
        abs(end.x - began.x) + abs(end.y - began.y) > 1e-3
    )  # it begins to circle; hovering it moves by micrometres


def test_what_cannot_be_saved_or_resumed_is_refused_in_one_line(tmp_path):
    folder = tmp_path / "saved"
    (tmp_path / "file").write_text("")
    with graph.bench(tmp_path) as bench:
        states = start(bench, "delivery", 60.0)
        bench.until(lambda: step_of(states) > 5, "flight", 60.0)
        refused = bench.call(Save, "/planner/save", Save.Request(folder=str(folder)))
        assert not refused.success and "a mission is flown" in refused.message
        for target, words in (
            ("", "folder: must be an absolute path"),
            ("my/half", "folder: must be an absolute path"),
            (str(tmp_path / "file"), "cannot be written"),
            ("/proc/none", "cannot be written"),
        ):
            answer = bench.call(Save, "/simulator/save", Save.Request(folder=target))
            assert not answer.success and words in answer.message and "\n" not in answer.message
        assert bench.call(Save, "/simulator/save", Save.Request(folder=str(folder))).success
    good = (folder / "simulator.saved").read_bytes()
    for name, data, scenario, words in (
        ("cut", good[:-7], folder / "scenario.yaml", "is damaged or incomplete"),
        ("other", good, "hover", "was saved in another scenario"),
        ("none", None, folder / "scenario.yaml", "cannot be read"),
        ("text", b"hello", folder / "scenario.yaml", "is not a saved node"),
    ):
        there = tmp_path / name
        there.mkdir()
        if data is not None:
            (there / "simulator.saved").write_bytes(data)
        command = [
            sys.executable, "-m", "rotor_sim.ros.simulator_node", "--ros-args",
            "-p", f"scenario:={scenario}", "-p", f"resume:={there}",
        ]  # fmt: skip
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert ended.returncode == 2
        (line,) = [t for t in ended.stderr.splitlines() if t.startswith("error: ")]
        assert words in line and "Traceback" not in ended.stderr
