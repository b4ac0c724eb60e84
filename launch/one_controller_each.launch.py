"""A team whose vehicles each have a controller in a namespace of its own.

``ros2 launch rotor_bringup one_controller_each.launch.py scenario:=three_dragonflies_decentralised``. Simulator and
planner as in sim.launch.py; the controllers are examples/12_one_controller_each.py, one process per vehicle.
"""

from __future__ import annotations

import sys
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import DeclareLaunchArgument, EmitEvent, ExecuteProcess, OpaqueFunction
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from rotor.graph.plan import GraphOptions, graph_plan
from rotor_core.config.loader import load_scenario

PROGRAM = Path(__file__).resolve().parents[1] / "examples" / "12_one_controller_each.py"


def _actions(context: LaunchContext) -> list[Action]:
    name = LaunchConfiguration("scenario").perform(context)
    duration = float(LaunchConfiguration("duration").perform(context))
    scenario = load_scenario(name)
    options = GraphOptions(name, controller="external", duration=duration)
    nodes: list[Action] = []
    for plan in graph_plan(options, scenario).values():
        ends = [EmitEvent(event=Shutdown(reason="the simulator ended"))]
        nodes.append(
            Node(
                package=plan.package,
                executable=plan.executable,
                name=plan.name,
                parameters=[plan.parameters],
                output="screen",
                on_exit=ends if plan.name == "simulator" else None,
            )
        )
    for vehicle in scenario.model.vehicles:
        words = [sys.executable, str(PROGRAM), name, vehicle.name]
        words += ["--ros-args", "-r", f"__ns:=/{vehicle.name}"]
        nodes.append(ExecuteProcess(cmd=words, name=f"{vehicle.name}_controller", output="screen"))
    return nodes


def generate_launch_description() -> LaunchDescription:
    """Arguments, and everything else once their values are known."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "scenario",
                default_value="three_dragonflies_decentralised",
                description="A scenario with one team and command_input: wrench.",
            ),
            DeclareLaunchArgument(
                "duration",
                default_value="0",
                description="End after this simulated time, s; 0: never.",
            ),
            OpaqueFunction(function=_actions),
        ]
    )
