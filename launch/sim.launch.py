"""A scenario as ROS 2 nodes: ``ros2 launch rotor_bringup sim.launch.py scenario:=slalom rviz:=true``.

Wiring only. Which processes there are, with which parameters and names, is computed by
``rotor.graph.plan``, which `./rotor up` uses too.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from rotor.graph.adapters import ADAPTERS
from rotor.graph.launching import launch_actions, number_of
from rotor.graph.plan import LOG_LEVELS, RVIZ_CONFIGS, GraphOptions, NodePlan, graph_plan
from rotor.graph.processes import missing_module
from rotor.graph.remaps import load_remaps
from rotor_core.config.catalog import rviz_configuration
from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError

YES_NO = ["true", "false"]
ARGUMENTS = (
    ("scenario", "slalom", "What to fly: a shipped name (config/scenarios) or the path of a YAML file.", None),
    (
        "controller", "node", "node: ours; external: start your own; others: answer to setpoints of that autopilot.",
        ["node", "external", *ADAPTERS],
    ),
    ("autopilot", "", "In the loop in place of the scenario's controller: px4, ardupilot, betaflight.", None),
    ("planner", "node", "node: ours; external: start your own.", ["node", "external"]),
    ("visualizer", "true", "Draw markers and paths, in a process of its own at idle priority.", YES_NO),
    ("rviz", "false", "Open RViz.", YES_NO),
    ("rviz_config", "overview", f"Shipped configuration ({', '.join(RVIZ_CONFIGS)}) or a path.", None),
    ("record", "false", "Record a bag (MCAP).", YES_NO),
    ("report", "true", "Write report.html into the folder of the bag when it is closed.", YES_NO),
    ("bag", "", "Folder of the bag, which must not exist; empty: a new one named by scenario and date.", None),
    ("seed", "", "Seed of noise and dropouts; empty: the scenario's.", None),
    ("pacing", "scenario", "realtime, or lockstep with the controller.", ["scenario", "realtime", "lockstep"]),
    ("real_time_factor", "0", "Simulated over wall time with pacing realtime; 0: the scenario's.", None),
    ("duration", "0", "End after this simulated time, s; 0: never.", None),
    ("paused", "false", "Begin paused: ros2 service call /simulator/play std_srvs/srv/Trigger", YES_NO),
    ("namespace", "", "Namespace of all topics, such as /lab2; empty: the root.", None),
    ("names", "", "Topic names of another suite: rotortm (config/remaps), or a path.", None),
    ("foxglove", "false", "Run foxglove_bridge on 127.0.0.1.", YES_NO),
    ("log_level", "info", "Of our nodes.", list(LOG_LEVELS)),
    ("resume", "", "Folder of saved nodes to go on from (./rotor save), with scenario:=FOLDER/scenario.yaml.", None),
    ("save_on_exit", "", "Folder into which simulator, planner and controller save themselves at their end.", None),
)  # fmt: skip
"""Name, default, description, choices."""


def _options(values: dict[str, str]) -> GraphOptions:
    scenario = load_scenario(values["scenario"], autopilot=values["autopilot"] or None)
    for argument, needs in (("bag", "record"), ("rviz_config", "rviz")):
        unset = next(default for name, default, *_ in ARGUMENTS if name == argument)
        if values[argument] != unset and values[needs] != "true":
            raise ConfigError(
                f"{argument}: counts for nothing without {needs}:=true. Add it, or leave {argument} out."
            )
    bag = None
    if values["record"] == "true":
        fresh = f"rotor-{scenario.name}-{datetime.now():%Y%m%d-%H%M%S}"
        bag = Path(values["bag"] or fresh).absolute()
    return GraphOptions(
        values["scenario"],
        controller=values["controller"],
        planner=values["planner"],
        bag=bag,
        report=values["report"] == "true",
        autopilot=values["autopilot"],
        seed=number_of(int, "seed", values["seed"]) if values["seed"] else None,
        pacing="" if values["pacing"] == "scenario" else values["pacing"],
        real_time_factor=number_of(float, "real_time_factor", values["real_time_factor"]),
        duration=number_of(float, "duration", values["duration"]),
        paused=values["paused"] == "true",
        visualizer=values["visualizer"] == "true",
        rviz=str(rviz_configuration(values["rviz_config"])) if values["rviz"] == "true" else "",
        foxglove=values["foxglove"] == "true",
        namespace=values["namespace"],
        remaps=tuple(load_remaps(values["names"], scenario.model, values["namespace"])),
        log_level=values["log_level"],
        resume=values["resume"],
        save_on_exit=values["save_on_exit"],
    )


def _actions(context: LaunchContext) -> list[Action]:
    values = {name: LaunchConfiguration(name).perform(context) for name, *_ in ARGUMENTS}
    options = _options(values)
    scenario = load_scenario(options.scenario, autopilot=options.autopilot or None)
    plans = graph_plan(options, scenario)
    recorder = plans.get("recorder")
    if isinstance(recorder, NodePlan) and missing_module(recorder):
        plans = graph_plan(replace(options, recorder="ros2bag"), scenario)
    return launch_actions(plans.values(), context)


def generate_launch_description() -> LaunchDescription:
    """Arguments, and everything else once their values are known."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text, choices=choices)
        for name, default, text, choices in ARGUMENTS
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_actions)])
