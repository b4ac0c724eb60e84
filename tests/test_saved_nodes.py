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

from rotor_core.config.loader import load_scenario
from rotor_core.ros import qos

NODES = ("planner", "controller", "simulator")
UNTOLD = 600.0
"""Duration of a flight that is put away, s: however late a busy machine hears of that, it comes before the end."""

MORE = 150
"""Control periods that are flown after it, where nothing is said."""

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
    tmp_path.mkdir()
    with graph.bench(tmp_path) as bench:
        states = start(bench, scenario, seconds, **parameters)
        bench.until(lambda: step_of(states) >= last, "the flight", 120.0)
    return bits(states)


def flown_on(tmp_path, folder, control_s, at, more=MORE):
    """The states of periods after the one at which a flight was put away."""
    last = at + more
    return flown(
        tmp_path, str(folder / "scenario.yaml"), (last + 1) * control_s, last, resume=str(folder)
    )


def agrees_with_unbroken(tmp_path, scenario, folder, first):
    """A flight that was put away goes on where it stood, and has the bits of one without a break."""
    control_s, at = load_scenario(scenario).time.control_s, max(first)
    rest = flown_on(tmp_path / "rest", folder, control_s, at)
    last = at + MORE
    unbroken = flown(tmp_path / "whole", scenario, (last + 1) * control_s, last)
    # a signal in the middle of a period is heeded at its end, when the next state has not been sent
    assert min(rest) in (at, at + 1) and max(rest) == max(unbroken)
    assert set(first) | set(rest) == set(unbroken)
    for step, state in [*first.items(), *rest.items()]:
        assert same(state, unbroken[step]), f"step {step} has other bits"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_flight_that_was_put_away_goes_on_with_the_same_bits(tmp_path, scenario):
    folder = tmp_path / "saved"
    with graph.bench(tmp_path) as bench:
        states = start(bench, scenario, UNTOLD)
        bench.until(lambda: step_of(states) > 80, "the beginning of a flight", 120.0)
        assert bench.call(Trigger, "/simulator/pause", Trigger.Request()).success
        for name in NODES:
            answer = bench.call(Save, f"/{name}/save", Save.Request(folder=str(folder)))
            assert answer.success, answer.message
            assert answer.message == str(folder / f"{name}.saved")
        bench.standing(states)
        first = bits(states)
    agrees_with_unbroken(tmp_path, scenario, folder, first)


def test_nodes_that_are_ended_save_themselves(tmp_path):
    """SIGTERM to all at once, in the middle of a lockstep flight; each knows enough for the others to go on."""
    scenario = "three_dragonflies_motion_capture"
    folder = tmp_path / "saved"
    with graph.bench(tmp_path) as bench:
        states = start(bench, scenario, UNTOLD, save_on_exit=str(folder))
        bench.until(lambda: step_of(states) > 100, "the beginning of a flight")
        for child in bench.group.children.values():
            child.stopped = True  # wanted
            os.kill(child.process.pid, signal.SIGTERM)
        for child in bench.group.children.values():
            assert child.process.wait(20.0) == 0, child.last_words()
            assert "saved: " in child.log.read_text()
        bench.until_silent(states)
        first = bits(states)
    assert sorted(p.name for p in folder.iterdir()) == ["controller.saved", "planner.saved", "scenario.yaml", "simulator.saved"]  # fmt: skip
    agrees_with_unbroken(tmp_path, scenario, folder, first)


def test_what_was_asked_for_meanwhile_is_taken_up_too(tmp_path):
    """A trajectory of a service: two flights from the same files are the same, and follow it."""
    scenario, folder = "hover", tmp_path / "saved"
    with graph.bench(tmp_path) as bench:
        states = start(bench, scenario, UNTOLD)
        bench.until(lambda: step_of(states) > 20, "flight")
        request = Circle.Request(radius_m=0.5, period_s=2.0, cruise_s=4.0)
        assert bench.call(Circle, "/planner/circle", request).success
        assert bench.call(Trigger, "/simulator/pause", Trigger.Request()).success
        for name in NODES:
            assert bench.call(Save, f"/{name}/save", Save.Request(folder=str(folder))).success
        at = bench.standing(states).step
    once, again = (
        flown_on(tmp_path / name, folder, load_scenario(scenario).time.control_s, at, more=500)
        for name in ("one", "two")
    )
    assert min(once) == at and set(once) == set(again)
    assert all(same(once[step], again[step]) for step in once)
    end, began = (once[step].bodies[0].pose.position for step in (max(once), at))
    assert (
        abs(end.x - began.x) + abs(end.y - began.y) > 1e-3
    )  # it begins to circle; hovering it moves by micrometres


def test_a_flight_that_is_over_is_not_taken_up(tmp_path):
    folder = tmp_path / "saved"
    with graph.bench(tmp_path) as bench:
        states = start(bench, "hover", 0.1)
        bench.until(lambda: step_of(states) >= 19, "the flight")
        bench.until_silent(states)
        for name in NODES:
            assert bench.call(Save, f"/{name}/save", Save.Request(folder=str(folder))).success
    (tmp_path / "rest").mkdir()
    with graph.bench(tmp_path / "rest") as bench:
        bench.start(
            "simulator", scenario=str(folder / "scenario.yaml"), duration_s=0.1, resume=str(folder)
        )
        child = bench.group.children["simulator"]
        assert child.process.wait(60.0) == 2
        assert "error: resume: the saved flight is over: 0.1 s of duration_s 0.1" in (
            child.log.read_text()
        )


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
