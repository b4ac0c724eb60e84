"""Nothing of a running graph listens to other machines, unless the user says so."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from rotor_msgs.msg import TeamState
from sockets import Socket, sockets_of, those_that_are_read

from rotor.graph.plan import NodePlan, ProgramPlan
from rotor.graph.processes import ProcessGroup, command_line
from rotor.graph.run import environment
from rotor_core.config.catalog import config_directory
from rotor_core.extras import OWN_WHEELS
from rotor_core.ros import qos
from rotor_core.ros.loopback import PROFILES, WISH, keep_to_loopback

SCENARIO = "dragonfly_point_mass"
RANGE, PEERS = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    """As in the shell of a user who has set nothing."""
    for name in (RANGE, WISH, PEERS, *PROFILES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")


# --- what the user may say ------------------------------------------------------------------------


def test_nodes_keep_to_this_machine_by_default(tmp_path):
    env = environment(tmp_path)
    assert env[RANGE] == "SYSTEM_DEFAULT"  # the profile says the rest
    for name, file in PROFILES.items():
        assert Path(env[name]).name == file and Path(env[name]).is_file()


def test_the_profiles_of_both_versions_of_fast_dds_say_the_same():
    """Fast DDS 3 has other names for what concerns heartbeats and their answers."""
    second, third = ((config_directory() / "security" / f).read_text() for f in PROFILES.values())
    second, third = (text[text.index("<dds") :] for text in (second, third))
    renamed = second.replace("heartbeatPeriod", "heartbeat_period")
    renamed = renamed.replace("nackSupressionDuration", "nack_supression_duration")
    assert renamed == third != second


def test_other_middlewares_keep_their_range():
    env = {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}
    keep_to_loopback(env)
    assert env == {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp", RANGE: "LOCALHOST"}


@pytest.mark.parametrize(
    "said",
    [{RANGE: "SUBNET"}, {RANGE: "OFF"}, {PEERS: "192.0.2.7"}]
    + [{name: value} for name in PROFILES for value in ("mine.xml", "")],
)
def test_what_the_user_says_is_left_alone(said):
    env = dict(said)
    keep_to_loopback(env)
    assert env == {RANGE: "LOCALHOST"} | said


SOURCED = {"ROS_DISTRO": "jazzy"}


def test_the_default_of_a_distribution_is_not_what_the_user_says():
    """A sourced distribution sets SUBNET by itself; ROTOR_DISCOVERY_RANGE says what is meant."""
    env = {**SOURCED, RANGE: "SUBNET"}
    keep_to_loopback(env)
    assert (
        env[RANGE] == "SYSTEM_DEFAULT" and Path(env[next(iter(PROFILES))]).name in PROFILES.values()
    )
    for said in ({WISH: "SUBNET", RANGE: "SUBNET"}, {WISH: "SUBNET"}, {WISH: "OFF"}):
        env = {**SOURCED, **said}
        keep_to_loopback(env)
        assert env == {**SOURCED, **said, RANGE: said[WISH]}
    env = {**SOURCED, OWN_WHEELS: "1", RANGE: "SUBNET"}  # wheels set nothing: somebody said it
    keep_to_loopback(env)
    assert env[RANGE] == "SUBNET"


# --- sockets --------------------------------------------------------------------------------------


def reachable(process: int) -> list[Socket]:
    """Sockets of a process that another machine could reach: TCP listeners, and UDP sockets that are read."""
    away = [s for s in sockets_of(process) if not s.is_on_loopback]
    datagrams = [s for s in away if s.kind.startswith("udp")]
    return [s for s in away if s.takes_connections] + those_that_are_read(datagrams, process)


def test_nodes_and_the_live_viewer_wait_on_the_loopback_interface_only(tmp_path):
    """Real processes: no listener of TCP but the viewer's, no datagram from elsewhere is read."""
    with graph.bench(tmp_path) as bench:
        bag = tmp_path / "bag"
        bench.start("simulator", scenario=SCENARIO)
        bench.start("recorder", scenario=SCENARIO, bag=str(bag), wait_for="simulator planner")
        for name in ("planner", "controller"):
            bench.start(name, scenario=SCENARIO)
        command = (sys.executable, "-m", "rotor.cli", "view", SCENARIO, "--live")
        bench.group.start(ProgramPlan("viewer", (*command, "--port", "8240")))
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        viewer = bench.group.children["viewer"]
        bench.until(lambda: "Ctrl-C ends it" in viewer.log.read_text(), "the viewer")
        bench.until(lambda: states and states[-1].step > 10, "a flight")
        for name, child in bench.group.children.items():
            found = sockets_of(child.process.pid)
            waiting = [s for s in found if s.is_on_loopback and s.kind == "udp"]
            assert those_that_are_read(waiting, child.process.pid), (name, found)
            assert reachable(child.process.pid) == [], (name, found)
            listeners = [s for s in found if s.takes_connections]
            assert len(listeners) == (name == "viewer"), (name, listeners)


# --- another machine ------------------------------------------------------------------------------


def spy(command: tuple[str, ...], env: dict[str, str], patience: float) -> dict:
    """Findings of a node that is started by a command."""
    run = subprocess.run(command + (str(patience),), env=env, capture_output=True, text=True, timeout=60.0)  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("reach", [None, "SUBNET"])
def test_another_machine_gets_in_only_where_the_user_says_so(
    reach, machines, tmp_path, monkeypatch
):
    """It knows our address and asks there, which LOCALHOST alone answers.

    SUBNET shows that the experiment would see it. A program on this machine that has set nothing sees both.
    """
    if reach:
        monkeypatch.setenv(RANGE, reach)
    program = (sys.executable, str(Path(__file__).with_name("network_spy.py")))
    curious = {**os.environ, RANGE: "SUBNET", "ROS_LOG_DIR": str(tmp_path / "spy")}
    with ProcessGroup(tmp_path / "log", environment(tmp_path), ()) as group:
        plan = NodePlan("simulator", "rotor_sim", "simulator", {"scenario": SCENARIO})
        group.start(ProgramPlan("simulator", machines.command_here(*command_line(plan))))
        beside = spy(machines.command_here(*program), curious, graph.PATIENCE)
        assert beside["states"] and beside["paused"]
        # what takes a second where it is let in has this long where it is not; two rounds of announcements
        began = time.monotonic()
        patience = graph.PATIENCE if reach else 7.0
        afar = spy(machines.command_there(*program), curious | {PEERS: machines.address}, patience)
        if reach:
            assert afar["states"] and afar["paused"]
        else:
            assert afar == {"nodes": [], "states": 0, "paused": False}
            assert time.monotonic() - began >= patience
        assert group.ended() == []
