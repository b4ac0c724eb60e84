"""A network that loses, delays, reorders and doubles packets, and that is cut: answers come once, flights keep their bits."""

import json
import subprocess
import sys
import time
from pathlib import Path

import graph
from rotor_msgs.msg import TeamState

from rotor.graph.plan import NodePlan, ProgramPlan
from rotor.graph.processes import ProcessGroup, command_line
from rotor.graph.run import environment
from rotor_core.ros import qos
from rotor_core.ros.loopback import PROFILES, RANGE

HERE = Path(__file__).parent
SCENARIO = "dragonfly_point_mass"
BAD = {"loss": 0.05, "duplicate": 0.1, "reorder": 0.2, "delay": 0.005, "jitter": 0.01}
RESETS = 20
CUT = 4.0
"""Shorter than Fast DDS takes to give a silent participant up (20 s), s."""


def node(name, package, **parameters):
    return NodePlan(name, package, name, {"scenario": SCENARIO, **parameters})


def far_reaching(folder, monkeypatch):
    """Environment of nodes that talk with other machines."""
    for name in PROFILES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(RANGE, "SUBNET")
    return environment(folder)


def test_every_call_is_answered_once(bad_cable, tmp_path, monkeypatch):
    """Each reset raises the epoch by one: what was done twice or not at all would show. The cable is cut in between."""
    env = far_reaching(tmp_path, monkeypatch)
    with ProcessGroup(tmp_path / "log", env, ()) as group:
        command = command_line(node("simulator", "rotor_sim", pacing="lockstep"))
        group.start(ProgramPlan("simulator", bad_cable.command_here(*command)))
        bad_cable.be(**BAD)
        words = bad_cable.command_there(
            sys.executable, str(HERE / "distant_caller.py"), str(RESETS), "150"
        )
        caller = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(RESETS // 2):
            assert caller.stdout.readline() == "asks\n"
        bad_cable.be(loss=1.0)
        time.sleep(CUT)
        bad_cable.be(**BAD)
        told = json.loads(caller.communicate(timeout=200.0)[0].splitlines()[-1])
        assert group.ended() == []
    assert told["epochs"] == list(range(1, RESETS + 1)), told
    assert max(told["waits"]) > CUT - 1.0  # the call that the cut caught
    counts = bad_cable.counts()
    assert min(counts["lost"], counts["doubled"], counts["overtaken"]) > 10, counts


def flown_locally(folder, seconds, last):
    with graph.bench(folder) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        for name, own in (("planner", {}), ("controller", {}), ("simulator", {"pacing": "lockstep", "duration_s": seconds, "linger": True, "paused": True})):  # fmt: skip
            bench.start(name, scenario=SCENARIO, **own)
        bench.until(lambda: bool(states), "the first state")
        from std_srvs.srv import Trigger

        assert bench.call(Trigger, "/simulator/play", Trigger.Request()).success
        bench.until(lambda: states[-1].step >= last, "the flight")
        return {state.step: repr(state.bodies) for state in states}


def test_a_lockstep_flight_over_a_bad_network_has_the_same_bits(bad_cable, tmp_path, monkeypatch):
    """The controller on another machine: slower, but every period waits for its command."""
    seconds, last = 0.12, 23
    (tmp_path / "local").mkdir()
    local = flown_locally(tmp_path / "local", seconds, last)
    env = far_reaching(tmp_path, monkeypatch)
    with ProcessGroup(tmp_path / "log", env, ()) as group:
        bad_cable.be(**BAD)
        simulator = node(
            "simulator", "rotor_sim", pacing="lockstep", duration_s=seconds, linger=True
        )
        collector = (sys.executable, str(HERE / "state_collector.py"), str(last), "150")
        watch = subprocess.Popen(
            bad_cable.command_here(*collector), env=env, stdout=subprocess.PIPE, text=True
        )
        assert watch.stdout.readline() == "ready\n"
        group.start(ProgramPlan("simulator", bad_cable.command_here(*command_line(simulator))))
        # the first state is told again until it is answered
        assert watch.stdout.readline() == "heard\n"
        planner, controller = node("planner", "rotor_planning"), node("controller", "rotor_control")
        group.start(ProgramPlan("planner", bad_cable.command_here(*command_line(planner))))
        group.start(ProgramPlan("controller", bad_cable.command_there(*command_line(controller))))
        lines = watch.communicate(timeout=200.0)[0].splitlines()
        distant = {int(step): bodies for step, _, bodies in (line.partition(" ") for line in lines)}
        assert group.ended() == [], [c.last_words() for c in group.children.values()]
    assert set(distant) == set(local) == set(range(last + 1))
    assert [step for step in local if distant[step] != local[step]] == []
    assert bad_cable.counts()["lost"] > 5
