"""Running a node.

Start, spin with a time limit, stop on SIGINT and SIGTERM, tell a user what is wrong without a
trace.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import signal
import sys
from collections.abc import Callable, Iterator, Sequence

import rclpy
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String

from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError, RotorError
from rotor_core.ros import qos
from rotor_core.ros.answers import answer_surely

try:
    from rclpy.experimental import EventsExecutor
except ImportError:  # before rclpy 7.1.4
    EventsExecutor = None

SPIN_LIMIT = 0.25
"""Longest wait for work, s: a signal is noticed at the latest then."""

STDERR = 2

LEAVING = 10.0
"""Longest time that a node takes to go, s: what waits for its subscribers has 4 s."""

OTHER_WORLD = "the simulator has gone into another world"

REFUSED_EVERY = 1.0
"""Least time between two lines about worlds that are refused, s."""


class Flag:
    """A flag that a signal handler may set, also in the middle of itself.

    An Event may not be: a second signal then waits for the lock that the first has taken, for ever.
    """

    def __init__(self) -> None:
        self.is_set = False

    def set(self, *_: object) -> None:
        """Raise it; arguments are those of a signal handler."""
        self.is_set = True

    def clear(self) -> None:
        """Take it down."""
        self.is_set = False


_stop, _new_world = Flag(), Flag()
_failures: list[RotorError] = []
"""Why the node ends."""
_world: list[tuple[str, Scenario]] = []
"""The world that the simulator tells of, as text too; empty: the one that the parameters name."""


def is_running() -> bool:
    """True while no signal and no other world has come and nobody has shut the context down."""
    return not _stop.is_set and not _new_world.is_set


def end_with(error: RotorError) -> None:
    """The node cannot go on; :func:`run` tells why in one line. What leaves a callback is a trace of rclpy's."""
    _failures.append(error)
    _stop.set()


def declare(node: Node, name: str, default: object, description: str) -> object:
    """Declare a read-only parameter with a description and return its value."""
    descriptor = ParameterDescriptor(description=description, read_only=True)
    return node.declare_parameter(name, default, descriptor).value


def declare_live(
    node: Node,
    name: str,
    default: object,
    description: str,
    limits: tuple[float, float] | None = None,
) -> object:
    """Declare a parameter that may change while the node runs, with a range for its numbers."""
    descriptor = ParameterDescriptor(description=description)
    if limits is not None:
        low, high = limits
        descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
    return node.declare_parameter(name, default, descriptor).value


def declare_scenario(node: Node, *, live: bool = False) -> None:
    """Declare the parameters ``scenario``, ``seed``, ``autopilot``; ``live`` ones may change between runs."""
    how = declare_live if live else declare
    how(node, "scenario", "slalom", "shipped name or path of a scenario")
    how(node, "seed", -1, "seed of the random streams; negative: as the scenario says")
    how(node, "autopilot", "", "autopilot in the loop in place of the scenario's controller")


def named_scenario(node: Node) -> Scenario:
    """Load what the parameters of :func:`declare_scenario` name.

    Raises:
        ConfigError: there is none, or it is wrong.
    """
    name = str(node.get_parameter("scenario").value)
    seed = int(node.get_parameter("seed").value)
    autopilot = str(node.get_parameter("autopilot").value)
    return load_scenario(name, seed=seed if seed >= 0 else None, autopilot=autopilot or None)


def scenario_parameter(node: Node) -> Scenario:
    """Declare the parameters that name a scenario and load it."""
    declare_scenario(node)
    return named_scenario(node)


def followed_scenario(node: Node) -> Scenario:
    """The same, of a node that follows the simulator into other worlds.

    :func:`run` makes it anew when the simulator tells of one on ``rotor/world``.
    """
    declare_scenario(node)
    text, scenario = _world[0] if _world else ("", named_scenario(node))

    def hear(message: String) -> None:
        if message.data == text:
            return
        try:
            told = scenario_from_text(message.data, "rotor/world")
        except ConfigError as error:
            reason = f"refused: rotor/world: {error}"
            node.get_logger().warning(reason, throttle_duration_sec=REFUSED_EVERY)
            return
        _world[:] = [(message.data, told)]
        _new_world.set()

    node.create_subscription(String, "rotor/world", hear, qos.LATCHED)
    return scenario


def make_executor() -> Executor:
    """The executor of all our nodes.

    Always spun with a time limit, so that signals are noticed (docs/adr/0005).

    Raises:
        RotorError: this rclpy has none that is fast enough and awaits services.
    """
    if EventsExecutor is None:
        raise RotorError(
            "rclpy: has no EventsExecutor. Update ROS 2 (Jazzy: rclpy 7.1.4 or newer)."
        )
    return EventsExecutor()


def guard_services(node: Node) -> None:
    """Let services send their answers until they are heard, and rclpy's own refuse what ends in an error of theirs.

    A transition that the present state does not have, or a parameter of an invalid type, would end the node. Those of
    rclpy are for parameters and lifecycle.
    """
    for service in node.services:
        answer_surely(node, service)
        if not getattr(service.callback, "__module__", "").startswith("rclpy."):
            continue

        def guarded(
            request: object,
            response: object,
            answer: Callable = service.callback,
            name: str = service.srv_name,
        ) -> object:
            try:
                return answer(request, response)
            except Exception as error:
                what = str(error).splitlines()[0]
                node.get_logger().warning(f"refused: {name}: {type(error).__name__}: {what}")
                return response

        service.callback = guarded


def spin(node: Node, executor: Executor) -> None:
    """Serve callbacks until the node is told to stop."""
    while is_running():
        executor.spin_once(timeout_sec=SPIN_LIMIT)


@contextlib.contextmanager
def _participant_kept() -> Iterator[None]:
    """The process stays in the graph while its node is replaced by another one.

    The last node of a context takes its DDS participant along. All others would have to find the next one anew, which
    takes seconds, and Fast DDS 2.14 hangs where it hears of endpoints at that instant
    (docs/adr/0040-one-participant.md).
    """
    no_service = Parameter("start_type_description_service", value=False)
    hidden = Node(
        "_between_worlds", use_global_arguments=False, enable_rosout=False, start_parameter_services=False,
        parameter_overrides=[no_service],
    )  # fmt: skip
    try:
        yield
    finally:
        hidden.destroy_node()


def run(
    make: Callable[[], Node],
    args: Sequence[str] | None = None,
    main: Callable[[Node, Executor], None] = spin,
) -> int:
    """Create a node and run it to its end.

    A node with a method ``leave(executor, why)`` may answer who still waits for it before it goes.

    Args:
        make: constructor of the node.
        args: command line.
        main: what to do; it must return soon after :func:`is_running` turns false. The context is
            still alive then, so a last report can go out.

    Returns:
        Exit code: 0 after a normal end or a signal, 2 for a user's mistake.
    """
    _stop.clear()
    _failures.clear()
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except (RuntimeError, UnicodeEncodeError) as error:  # of rcl: RCLError
        what = str(error).splitlines()[0]
        print(f"error: arguments of the node: {what}", file=sys.stderr, flush=True)
        return 2
    # heard once, because to ask the context each time costs as much as a message
    rclpy.get_default_context().on_shutdown(_stop.set)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop.set)
    node = None
    try:
        node = make()
        while True:
            gc.collect()
            gc.freeze()  # what stays for good is not looked through again and again
            guard_services(node)
            executor = make_executor()
            executor.add_node(node)
            main(node, executor)
            if (leave := getattr(node, "leave", None)) is not None:
                leave(executor, OTHER_WORLD if _new_world.is_set else "the node was ended")
            if _failures:
                raise _failures[0]
            if _stop.is_set and (keeper := getattr(node, "keeper", None)) is not None:
                keeper.on_exit()
            if not _new_world.is_set:
                break
            executor.shutdown()
            with _participant_kept():
                node.destroy_node()
                node = None
                gc.unfreeze()
                gc.collect()  # what still holds the old node would keep its name
                _new_world.clear()
                node = make()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except (RotorError, ParameterException) as error:
        for line in error.lines if isinstance(error, RotorError) else [str(error)]:
            print(f"error: {line}", file=sys.stderr, flush=True)
        return 2
    finally:
        # from C, because whoever hangs may hold the GIL; to the real standard error, because a caller may replace it
        faulthandler.dump_traceback_later(LEAVING, exit=True, file=STDERR)
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
        faulthandler.cancel_dump_traceback_later()
    return 0
