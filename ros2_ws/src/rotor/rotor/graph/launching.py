"""The plan of a run as actions of ``launch``: what the launch files have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from launch import LaunchContext
from launch.action import Action
from launch.actions import EmitEvent, ExecuteProcess, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.events.process import ProcessExited
from launch_ros.actions import Node

from rotor.graph.plan import MAY_END, PLANTS, NodePlan, ProgramPlan
from rotor.graph.processes import check, follow_parent, how_ended, remedy
from rotor_core.errors import ConfigError, RotorError
from rotor_sim.judging.verdict import EXIT_CODES

BAG_CLOSE = "60"
"""A recorder has this long after SIGINT to close its bag and report on it, s."""


def number_of(kind: type, name: str, text: str) -> int | float:
    """The number that a launch argument is.

    Raises:
        ConfigError: it is none.
    """
    try:
        return kind(text)
    except ValueError as error:
        what = "a whole number" if kind is int else "a number"
        raise ConfigError(f"{name}: must be {what}, got {text!r}.") from error


def _options(name: str, context: LaunchContext) -> dict[str, object]:
    """What every process has: it ends with `ros2 launch`, also if that is killed."""
    options: dict[str, object] = {"output": "screen"}
    if name == "recorder":
        options["sigterm_timeout"] = BAG_CLOSE
    if "launch-prefix" not in context.launch_configurations:  # the user's own goes first
        options["prefix"] = " ".join(follow_parent())
    return options


def _action(plan: NodePlan | ProgramPlan, context: LaunchContext) -> Action:
    if isinstance(plan, ProgramPlan):
        return ExecuteProcess(
            cmd=list(plan.command), name=plan.name, **_options(plan.name, context)
        )
    return Node(
        package=plan.package,
        executable=plan.executable,
        name=plan.name,
        exec_name=plan.name,  # or messages would be headed by the name of the prefix
        namespace=plan.namespace or None,
        parameters=[plan.parameters] if plan.parameters else None,
        remappings=list(plan.remaps),
        arguments=list(plan.arguments),
        ros_arguments=["--log-level", f"{plan.logger}:={plan.log_level}"] if plan.log_level else [],
        **_options(plan.name, context),
    )


def _ended(name: str, event: ProcessExited, context: LaunchContext) -> Action | None:
    """End everything with the plant; let `ros2 launch` fail with whatever failed.

    Launch has no exit code to set: an exception in a handler makes it stop what runs and return 1.
    """
    code = event.returncode
    if context.is_shutdown:  # it was told to end; a signal is no failure then
        failed = code > 0 and name not in ("rviz", "foxglove_bridge")
    else:
        failed = code != 0 or name not in MAY_END
    if failed and name in PLANTS and code in EXIT_CODES.values():
        raise RotorError("the flight was not flown; its verdict stands above")
    if failed:
        raise RotorError(
            f"the {name} {how_ended(code)}; what it said stands above.{remedy(name, code)}"
        )
    if name in PLANTS and not context.is_shutdown:
        return EmitEvent(event=Shutdown(reason=f"the {name} ended"))
    return None


def launch_actions(plans: Iterable[NodePlan | ProgramPlan], context: LaunchContext) -> list[Action]:
    """Actions that start the processes of a run and end them together.

    Raises:
        ConfigError: something is not installed; nothing has been started then.
    """
    plans = list(plans)
    check(plans)
    actions: Mapping[str, Action] = {plan.name: _action(plan, context) for plan in plans}
    handlers = [
        RegisterEventHandler(
            OnProcessExit(
                target_action=action,
                on_exit=lambda event, context, name=name: _ended(name, event, context),
            )
        )
        for name, action in actions.items()
    ]
    return [*handlers, *actions.values()]
