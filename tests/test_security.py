"""The policy for SROS2 against the nodes as they run; enforced where this Fast DDS can do it."""

import importlib.util
import json
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph

from rotor.graph.plan import NodePlan, ProgramPlan
from rotor.graph.processes import ProcessGroup, command_line
from rotor.graph.run import environment

ROOT = Path(__file__).parents[1]
POLICY = ROOT / "config" / "security" / "policy.xml"
NODES = ("simulator", "visualizer", "controller", "planner")
SCENARIOS = (
    "slalom",
    "pick_and_place",
    "helicopter_slung_load",
    "delivery",
    "winch_delivery",
    "tethered_quadrotor",
)
"""Together, with one that has every sensor, they have all that the policy names."""

SENSED = """
schema: 1
description: every sensor, and a drum
model:
  vehicles: [{use: dragonfly}]
  payloads: [{use: point_mass, name: load}]
  attachments:
    - type: cable
      a: quad1
      b: load
      length_m: 0.5
      winch: {lengths_m: [0.3, 4.0], drum: {radius_m: 0.02, inertia_kg_m2: 1.0e-5, torque_n_m: 0.2}}
controller: {use: point_mass}
environment: {origin: {latitude_deg: 47.0, longitude_deg: 8.0, year: 2026}}
sensing:
  sensors:
    - {type: gps, body: quad1}
    - {type: rangefinder, body: quad1, farthest_m: 8.0}
    - {type: barometer, body: quad1}
    - {type: magnetometer, body: quad1}
"""

DOES = ("publish", "subscribe", "reply", "request")
ACTION = (("reply", "send_goal"), ("reply", "cancel_goal"), ("reply", "get_result"), ("publish", "feedback"), ("publish", "status"))  # fmt: skip
"""Interfaces that executing an action consists of."""

IN_PASSING = {"/diagnostics"}
"""Published only while kernels are compiled."""

OPTIONAL = ("simulation_interfaces", "actuator_msgs")
"""Packages without which some of what the policy names is not there."""


def rules(node: str) -> dict[str, set[str]]:
    """Permissions of a node in the policy, as patterns of absolute names."""
    profile = ET.parse(POLICY).find(f"enclaves/enclave[@path='/rotor/{node}']/profiles/profile")
    assert profile is not None and profile.attrib == {"ns": "/", "node": node}
    allowed: dict[str, set[str]] = {does: set() for does in DOES}
    for block in profile:
        ((does, verdict),) = block.attrib.items()
        assert verdict == "ALLOW"  # everything else is denied
        for item in block:
            name = item.text.replace("~", node)
            if does == "execute":
                for part, what in ACTION:
                    allowed[part].add(f"/{name}/_action/{what}")
            elif does != "call":
                allowed[does].add(f"/{name}")
    return allowed


def may(does: str, name: str) -> set[str]:
    """Nodes that are allowed to do something."""
    return {n for n in NODES if any(fnmatchcase(name, p) for p in rules(n)[does])}


# --- the policy -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("does", "name", "who"),
    [
        ("publish", "/clock", {"simulator"}),
        ("publish", "/tf", {"simulator"}),
        ("publish", "/rotor/team_state", {"simulator"}),
        ("publish", "/quad1/odom", {"simulator"}),
        ("publish", "/rotor/markers", {"visualizer"}),
        ("subscribe", "/rotor/scene", {"visualizer"}),
        ("publish", "/rotor/team_command", {"controller"}),
        ("publish", "/rotor/plan", {"planner"}),
        ("subscribe", "/rotor/team_command", {"simulator"}),
        ("request", "/simulator/cut_cable", {"planner"}),
        ("request", "/simulator/set_state", set()),
        ("publish", "/quad1/cmd/wrench", set()),
        ("subscribe", "/quad1/cmd/wrench", set()),  # commands of teams only
    ],
)
def test_who_may_do_what(does, name, who):
    assert may(does, name) == who


def test_the_operator_looks_and_asks_but_is_nobody_else():
    """It hears everything and calls every service; it states no motion, no command and no plan."""
    allowed = rules("operator")
    assert allowed["subscribe"] == {"/*"}
    for name in ("/clock", "/tf", "/rotor/team_state", "/rotor/team_command", "/rotor/plan"):
        assert not any(fnmatchcase(name, p) for p in allowed["publish"])
    assert not any(fnmatchcase("/simulator/pause", p) for p in allowed["reply"])


def test_no_node_has_a_blank_cheque():
    for node in NODES:
        for does, patterns in rules(node).items():
            assert not {"/*", "/*/*"} & patterns, (node, does)


def doings(bench: graph.Bench) -> dict[str, dict[str, set[str]]]:
    """Names that the running nodes publish, subscribe to, serve and ask for."""
    node = bench.node
    ask = dict(
        zip(
            DOES,
            (
                node.get_publisher_names_and_types_by_node,
                node.get_subscriber_names_and_types_by_node,
                node.get_service_names_and_types_by_node,
                node.get_client_names_and_types_by_node,
            ),
            strict=True,
        )
    )
    known = set(node.get_node_names())
    return {
        n: {does: {name for name, _ in ask[does](n, "/")} if n in known else set() for does in DOES}
        for n in NODES
    }


def test_the_policy_is_what_the_nodes_do(tmp_path):
    """In scenarios that have everything: nothing is missing, and nothing is allowed in vain."""
    used: dict[str, dict[str, set[str]]] = {n: {does: set() for does in DOES} for n in NODES}
    (tmp_path / "sensed.yaml").write_text(SENSED)
    for scenario in (*SCENARIOS, "sensed"):
        what = str(tmp_path / "sensed.yaml") if scenario == "sensed" else scenario
        with graph.bench(tmp_path / scenario) as bench:
            for name in NODES:
                bench.start(name, scenario=what)
            bench.until(lambda b=bench: all(d["publish"] for d in doings(b).values()), "the nodes")
            before, found = None, doings(bench)
            while found != before:  # endpoints become known one by one
                bench.spin(2.0)
                before, found = found, doings(bench)
        for name in NODES:
            for does, names in found[name].items():
                allowed = rules(name)[does]
                missing = {n for n in names if not any(fnmatchcase(n, p) for p in allowed)}
                assert not missing, (scenario, name, does)
                used[name][does] |= names
    if all(importlib.util.find_spec(package) for package in OPTIONAL):
        for name in NODES:
            for does, patterns in rules(name).items():
                names = used[name][does]
                idle = {
                    p for p in patterns if not any(fnmatchcase(n, p) for n in names)
                } - IN_PASSING
                assert not idle, (name, does)


# --- enforced -------------------------------------------------------------------------------------


def secured(env: dict[str, str], keystore: Path) -> dict[str, str]:
    return env | {
        "ROS_SECURITY_ENABLE": "true",
        "ROS_SECURITY_STRATEGY": "Enforce",
        "ROS_SECURITY_KEYSTORE": str(keystore),
    }


def plan_in_enclave(name: str) -> ProgramPlan:
    plan = NodePlan(name, graph.PACKAGES[name], name, {"scenario": "hover"})
    return ProgramPlan(name, (*command_line(plan), "--enclave", f"/rotor/{name}"))


@pytest.fixture(scope="module")
def refusal_without_keys(tmp_path_factory) -> str:
    """Output of the simulator in an enclave that holds no keys."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "keystore" / "enclaves" / "rotor" / "simulator").mkdir(parents=True)
    env = secured(environment(folder), folder / "keystore")
    with ProcessGroup(folder / "log", env, ()) as group:
        child = group.start(plan_in_enclave("simulator"))
        end = time.monotonic() + graph.PATIENCE
        while child.running:
            assert time.monotonic() < end, "it runs unprotected"
            time.sleep(0.1)
        assert child.process.returncode != 0
        return child.log.read_text()


def test_nothing_runs_unprotected_when_protection_is_asked_for(refusal_without_keys):
    """Without keys or without the plugins the node ends with the reason."""
    said = ("security libraries", "security files")
    assert any(words in refusal_without_keys for words in said), refusal_without_keys


def test_strangers_see_nothing_and_command_nothing(refusal_without_keys, tmp_path):
    """Three nodes under Enforce fly; an operator sees and commands them; who has no keys, or other keys, does not."""
    if "security libraries" in refusal_without_keys:
        pytest.skip("this Fast DDS is built without its security plugins (SECURITY=OFF)")
    if shutil.which("ros2") is None or subprocess.run(("ros2", "security", "-h"), capture_output=True).returncode:  # fmt: skip
        pytest.skip("needs `ros2 security` (package sros2) to make keys")

    import domain_coordinator

    with domain_coordinator.domain_id() as domain:
        env = environment(tmp_path) | {"ROS_DOMAIN_ID": str(domain)}
        for store in ("ours", "theirs"):
            make_keystore(tmp_path / store, env)
        with ProcessGroup(tmp_path / "log", secured(env, tmp_path / "ours"), ()) as group:
            for name in NODES:
                group.start(plan_in_enclave(name))
            operator = {"ROS_SECURITY_ENCLAVE_OVERRIDE": "/rotor/operator"}
            found = spy(secured(env, tmp_path / "ours") | operator, graph.PATIENCE)
            assert found["states"] and found["paused"]
            for stranger in (env, secured(env, tmp_path / "theirs") | operator):
                found = spy(stranger, 7.0)  # two rounds of announcements
                assert found == {"nodes": [], "states": 0, "paused": False}
            assert group.ended() == []


def make_keystore(folder: Path, env: dict[str, str]) -> None:
    """As docs/how-to/secure.md says."""
    calls = [("create_keystore", str(folder))]
    for name in (*NODES, "operator"):
        calls.append(("create_enclave", str(folder), f"/rotor/{name}"))
        calls.append(("create_permission", str(folder), f"/rotor/{name}", str(POLICY)))
    for call in calls:
        subprocess.run(("ros2", "security", *call), check=True, capture_output=True, env=env)


def spy(env: dict[str, str], patience: float) -> dict:
    program = Path(__file__).with_name("network_spy.py")
    run = subprocess.run(
        (sys.executable, str(program), str(patience)), env=env, capture_output=True, text=True, timeout=90.0
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])
