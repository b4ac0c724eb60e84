"""Processes of a run: every combination that a user can ask for, without starting any."""

import importlib.util
import itertools
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rotor.graph.plan import GraphOptions, NodePlan, ProgramPlan, graph_plan
from rotor.graph.processes import check, command_line, interpreter, missing_module
from rotor.graph.remaps import load_remaps
from rotor_core.config.loader import load_scenario, scenario_from_tree
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError
from rotor_recordings.formats.topics import recorded_topics

SCENARIO = load_scenario("slalom")


def plan(**options):
    return graph_plan(GraphOptions("slalom", **options), SCENARIO)


CHOICES = {
    "controller": ("node", "external"),
    "planner": ("node", "external"),
    "bag": (None, Path("/tmp/bag")),
    "recorder": ("ours", "ros2bag"),
    "rviz": ("", "overview.rviz"),
    "foxglove": (False, True),
    "namespace": ("", "/lab2"),
    "paused": (False, True),
    "pacing": ("", "lockstep", "realtime"),
}


@pytest.mark.parametrize("seed", [None, 0, 2**40])
def test_every_combination(seed):
    for values in itertools.product(*CHOICES.values()):
        options = dict(zip(CHOICES, values, strict=True))
        processes = plan(seed=seed, **options)
        assert next(iter(processes)) == "simulator"
        assert ("controller" in processes) == (options["controller"] == "node")
        assert ("planner" in processes) == (options["planner"] == "node")
        assert ("recorder" in processes) == (options["bag"] is not None)
        assert ("rviz" in processes) == bool(options["rviz"])
        assert ("foxglove" in processes) == options["foxglove"]
        simulator = processes["simulator"]
        assert simulator.parameters["seed"] == (-1 if seed is None else seed)
        assert simulator.parameters["pacing"] == options["pacing"]
        # who waits for a recorder must have one that reports
        ours = options["bag"] is not None and options["recorder"] == "ours"
        assert simulator.parameters["wait_for_recorder"] == ours
        for name, process in processes.items():
            if isinstance(process, NodePlan) and process.package.startswith("rotor_"):
                assert process.namespace == options["namespace"]
                assert "use_sim_time" not in process.parameters
            if name in ("rviz", "foxglove"):
                assert process.parameters["use_sim_time"] is True
                clock = dict(process.remaps).get("/clock")
                assert clock == ("/lab2/clock" if options["namespace"] else None)


def test_the_recorder_waits_for_the_nodes_that_are_there():
    both = plan(bag=Path("b"))["recorder"].parameters["wait_for"]
    assert both.split() == ["simulator", "planner", "controller", "visualizer"]
    alone = plan(bag=Path("b"), controller="external", planner="external")["recorder"]
    assert alone.parameters["wait_for"].split() == ["simulator", "visualizer"]
    bare = plan(bag=Path("b"), visualizer=False)["recorder"]
    assert bare.parameters["wait_for"].split() == ["simulator", "planner", "controller"]


def test_a_foreign_recorder_gets_every_topic_under_its_real_name():
    remaps = (("quad1/odom", "/dragonfly1/odom"),)
    recorder = plan(bag=Path("b"), recorder="ros2bag", namespace="/lab2", remaps=remaps)["recorder"]
    assert isinstance(recorder, ProgramPlan)
    data = recorder.command[recorder.command.index("--custom-data") + 1]
    key, value = data.split("=")  # as `ros2 bag record` does: a second sign would cut it
    assert key == "scenario"
    assert scenario_from_tree(parse_tree(value, "bag"), SCENARIO.name) == SCENARIO
    topics = recorder.command[recorder.command.index("--topics") + 1 :]
    assert len(topics) == len(recorded_topics(SCENARIO))
    assert all(t.startswith("/") for t in topics)
    assert {"/dragonfly1/odom", "/lab2/quad2/odom", "/diagnostics", "/lab2/clock"} <= set(topics)


def test_rviz_finds_a_namespaced_world():
    """The topics of the configurations are absolute: each is moved with the world."""
    remaps = dict(plan(rviz="overview.rviz", namespace="/lab2")["rviz"].remaps)
    for name in ("/clock", "/tf", "/rotor/markers_static", "/payload/path", "/goal_pose"):
        assert remaps[name] == f"/lab2{name}"


def test_our_controller_does_not_wait_in_vain():
    external = load_scenario("external_controller")
    with pytest.raises(ConfigError, match=r"command_input: wrench.*Choose external"):
        graph_plan(GraphOptions("external_controller"), external)
    assert "controller" not in graph_plan(
        GraphOptions("external_controller", controller="external"), external
    )


@pytest.mark.parametrize(
    "numbers",
    [
        {"duration": -5.0},
        {"duration": float("nan")},
        {"duration": float("inf")},
        {"seed": 10**20},
        {"real_time_factor": 1e3},
    ],
)
def test_numbers_that_no_run_has_are_refused(numbers):
    """A launch with `duration:=-5` flew on for ever; a seed of more than 64 bits ended the nodes with a trace."""
    with pytest.raises(ConfigError, match=f"{next(iter(numbers))}: must be 0 to"):
        plan(**numbers)


@pytest.mark.parametrize("kind", ["px4", "crazyswarm"])
def test_adapters_stand_in_the_place_of_the_controller(kind):
    scenario = load_scenario("external_controller")
    options = GraphOptions("external_controller", controller=kind)
    adapter = graph_plan(options, scenario)["controller"]
    assert (adapter.package, adapter.executable) == ("rotor_adapters", f"{kind}_adapter")
    with pytest.raises(ConfigError, match=f"{kind} sends wrenches of single vehicles"):
        plan(controller=kind)
    if importlib.util.find_spec(adapter.needs[0]) is None:
        with pytest.raises(
            ConfigError, match=rf"{kind}_adapter: needs the package .*_(msgs|interfaces), which is"
        ):
            check([adapter])


# --- what must be there before the first process starts ----------------------------------------------


def installed(tmp_path, monkeypatch, python="#!/usr/bin/env sh"):
    """A prefix with the node of a package, whose first line names a Python."""
    prefix = tmp_path / "prefix"
    (prefix / "lib" / "mine").mkdir(parents=True)
    (prefix / "share" / "ament_index" / "resource_index" / "packages").mkdir(parents=True)
    (prefix / "share" / "ament_index" / "resource_index" / "packages" / "mine").touch()
    node = prefix / "lib" / "mine" / "node"
    node.write_text(f"{python}\n")
    node.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{prefix}:{os.environ['AMENT_PREFIX_PATH']}")
    return node


def test_everything_that_is_missing_is_said_before(tmp_path, monkeypatch):
    node = installed(tmp_path, monkeypatch, f"#!{sys.executable}")
    whole = NodePlan("mine", "mine", "node", needs=("json", "numpy"))
    check([whole])
    with pytest.raises(ConfigError, match=r"mine: needs the package nobodys_module, .* Get it\."):
        check([replace(whole, needs=("json", "nobodys_module"), remedy="Get it.")])
    with pytest.raises(ConfigError, match="rviz: the package rviz_of_nobody is not installed"):
        check([whole, NodePlan("rviz", "rviz_of_nobody", "rviz2")])
    with pytest.raises(ConfigError, match="recorder: there is no program 'ros3'"):
        check([ProgramPlan("recorder", ("ros3", "bag"))])
    node.chmod(0o644)
    with pytest.raises(ConfigError, match=r"node is missing.*colcon build --packages-select mine"):
        check([whole])


def test_modules_are_looked_for_in_the_python_of_the_node(tmp_path, monkeypatch):
    """Ours has json; the one that would run the node has nothing."""
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')  # no site-packages
    other.chmod(0o755)
    installed(tmp_path, monkeypatch, f"#!{other}")
    mine = NodePlan("mine", "mine", "node")
    assert interpreter(mine) == str(other)
    assert missing_module(replace(mine, needs=("json",))) == ""
    assert missing_module(replace(mine, needs=("json", "numpy"))) == "numpy"


def test_binaries_have_no_python(tmp_path, monkeypatch):
    installed(tmp_path, monkeypatch, "\x7fELF")
    assert interpreter(NodePlan("mine", "mine", "node")) == ""


def test_viewers_only_listen_on_the_loopback():
    assert plan(foxglove=True)["foxglove"].parameters["address"] == "127.0.0.1"


def test_command_lines():
    """Texts stay texts, booleans become YAML's, remaps and namespaces stand where rcl looks for them."""
    node = plan(namespace="/lab2", remaps=(("quad1/odom", "/x"),), log_level="debug")["controller"]
    words = command_line(node)
    assert words[0].endswith("/lib/rotor_control/controller") and words[1] == "--ros-args"
    pairs = list(itertools.pairwise(words))
    assert ("-r", "__ns:=/lab2") in pairs and ("-r", "quad1/odom:=/x") in pairs
    assert ("-p", "scenario:='slalom'") in pairs and ("-p", "seed:=-1") in pairs
    assert ("--log-level", "lab2.controller:=debug") in pairs
    assert ("-p", "paused:=true") in list(
        itertools.pairwise(command_line(plan(paused=True)["simulator"]))
    )
    quoted = command_line(
        NodePlan("controller", "rotor_control", "controller", {"scenario": "it's.yaml"})
    )
    assert "scenario:='it''s.yaml'" in quoted
    absent = NodePlan("rviz", "package_that_nobody_has", "rviz2")
    with pytest.raises(ConfigError, match="package_that_nobody_has is not installed here"):
        command_line(absent)


@pytest.mark.parametrize(
    "options, words",
    [
        (
            {"controller": "mine"},
            "controller: must be one of 'node', 'external', 'px4', 'crazyswarm', got 'mine'",
        ),
        ({"pacing": "fast"}, "pacing: must be one of"),
        ({"log_level": "loud"}, "log_level: must be one of"),
        ({"namespace": "lab 2"}, "namespace: must look like /lab2, got 'lab 2'"),
        ({"namespace": "lab2"}, "namespace: must look like /lab2"),
    ],
)
def test_mistakes(options, words):
    with pytest.raises(ConfigError, match=re.escape(words)):
        plan(**options)


def test_names_of_rotortm():
    """Every vehicle and payload, no two topics under one name, nothing of ours that does not exist."""
    remaps = load_remaps("rotortm", SCENARIO.model)
    ours, theirs = zip(*remaps, strict=True)
    assert len(set(ours)) == len(ours) and len(set(theirs)) == len(theirs)
    table = dict(remaps)
    assert table["quad2/odom"] == "/dragonfly2/odom"
    assert table["quad3/cmd/wrench"] == "/controller_3/dragonfly3/fm_cmd"
    assert table["payload/reference"] == "/payload/des_traj"
    assert table["rotor/markers"] == "/system/marker"
    inputs = {
        f"{v.name}/cmd/{k}" for v in SCENARIO.model.vehicles for k in ("wrench", "motor_speed")
    }
    inputs |= {f"{e.name}/wrench_external" for e in SCENARIO.model.entities}
    services = {f"planner/{n}" for n in ("circle", "line", "waypoints", "step_pose")}
    # published for whoever asks, and not recorded
    aside = {f"{v.name}/attach" for v in SCENARIO.model.vehicles}
    kinds = ("wrench_cables", "wrench_wanted", "cable_forces", "trajectory_status")
    aside |= {f"{p.name}/{k}" for p in SCENARIO.model.payloads for k in kinds}
    assert set(ours) <= {t.name for t in recorded_topics(SCENARIO)} | inputs | services | aside


def test_absolute_names_of_others_get_the_namespace():
    """Two worlds in two namespaces had shared /dragonfly1/ext_wrench and the services of the planner."""
    before, after = (load_remaps("rotortm", SCENARIO.model, ns) for ns in ("", "/lab2"))
    for (ours, theirs), (same, there) in zip(before, after, strict=True):
        assert same == ours
        assert there == (f"/lab2{theirs}" if theirs.startswith("/") else theirs)


@pytest.mark.parametrize(
    "text, words",
    [
        ("remaps: [1, 2]", "must hold a map `remaps`"),
        ("remaps: {a: 1}", "must hold a map `remaps`"),
        ("remaps: {'{robot}/odom': /x}", r"unknown \{robot\} in '\{robot\}/odom'; known"),
        ("remaps: {a: b", "cannot be read"),
    ],
)
def test_files_of_names_that_are_none(tmp_path, text, words):
    path = tmp_path / "names.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        load_remaps(str(path), SCENARIO.model)


def test_no_names_is_no_remap():
    assert load_remaps("", SCENARIO.model) == []
    with pytest.raises(ConfigError, match='did you mean "rotortm"'):
        load_remaps("rotortn", SCENARIO.model)


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ("{vehicle}/cmd/wrench", "/uav/wrench", "quad1/cmd/wrench and quad2/cmd/wrench would both be /uav/wrench"),
        ("{vehicle/odom", "/odom", "names stand in braces"),
        ("quad1/odom", "/{vehicle}/odom", "names stand in braces"),
    ],
)  # fmt: skip
def test_names_that_would_mix_topics_are_refused(tmp_path, ours, theirs, message):
    path = tmp_path / "names.yaml"
    path.write_text(f'schema: 1\nremaps: {{"{ours}": "{theirs}"}}\n')
    model = load_scenario("sixteen_dragonflies_four_boxes").model
    with pytest.raises(ConfigError, match=message):
        load_remaps(str(path), model)


def test_numbers_count_payloads_where_names_are_of_payloads(tmp_path):
    path = tmp_path / "names.yaml"
    path.write_text('schema: 1\nremaps: {"{payload}/odom": "/load{i}/odom"}\n')
    model = load_scenario("sixteen_dragonflies_four_boxes").model
    assert [theirs for _, theirs in load_remaps(str(path), model)] == [
        f"/load{i}/odom" for i in range(1, 5)
    ]


def test_rviz_hears_the_names_of_others_in_a_namespace():
    remaps = (("rotor/markers", "/lab2/system/marker"),)
    told = dict(plan(rviz="overview.rviz", namespace="/lab2", remaps=remaps)["rviz"].remaps)
    assert told["/rotor/markers"] == "/lab2/system/marker"
    assert told["/rotor/markers_static"] == "/lab2/rotor/markers_static"


@pytest.mark.parametrize(
    "more", [{"paused": True}, {"real_time_factor": 2.0}, {"resume": "x"}, {"save_on_exit": "x"}]
)
def test_what_the_laboratory_has_not_is_refused(more):
    with pytest.raises(ConfigError, match=f"{next(iter(more))}: the laboratory has none"):
        plan(plant="laboratory", **more)


def test_the_laboratory_needs_no_options():
    """The default of the real-time factor is that of the scenario."""
    assert "laboratory" in str(plan(plant="laboratory"))


def test_goals_may_come_on_one_topic(tmp_path):
    path = tmp_path / "names.yaml"
    path.write_text('schema: 1\nremaps: {goal_pose: /goal, "{payload}/goal_pose": /goal}\n')
    assert len(load_remaps(str(path), SCENARIO.model)) == 2
