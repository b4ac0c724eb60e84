"""A team whose vehicles each have a controller in a namespace of its own.

``ros2 launch rotor_bringup one_controller_each.launch.py scenario:=three_dragonflies_decentralised``. Simulator and
planner as in sim.launch.py; the controllers are examples/12_one_controller_each.py, one process per vehicle.
"""

from __future__ import annotations

from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from rotor.graph.launching import launch_actions, number_of
from rotor.graph.plan import GraphOptions, ProgramPlan, graph_plan
from rotor.graph.processes import interpreter
from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError

PROGRAM = Path(__file__).resolve().parents[1] / "examples" / "12_one_controller_each.py"


def _actions(context: LaunchContext) -> list[Action]:
    name = LaunchConfiguration("scenario").perform(context)
    duration = number_of(float, "duration", LaunchConfiguration("duration").perform(context))
    scenario = load_scenario(name)
    if scenario.command_input != "wrench":
        raise ConfigError(
            f"scenario: {name} takes commands of teams (command_input: {scenario.command_input}), and nobody would"
            " send one. Write command_input: wrench into it."
        )
    options = GraphOptions(name, controller="external", duration=duration)
    nodes = graph_plan(options, scenario)
    plans = list(nodes.values())
    python = interpreter(nodes["simulator"])  # that of the nodes: `ros2` may run in another
    for vehicle in scenario.model.vehicles:
        words = [python, str(PROGRAM), name, vehicle.name]
        words += ["--ros-args", "-r", f"__ns:=/{vehicle.name}"]
        plans.append(ProgramPlan(f"{vehicle.name}_controller", tuple(words)))
    return launch_actions(plans, context)


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
