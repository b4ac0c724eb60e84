"""Processes of a run, as plain data.

`./rotor up` turns the plan into child processes, the launch file turns it into actions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

from ruamel.yaml import YAML

from rotor.arguments import NAMESPACE
from rotor.graph.adapters import ADAPTERS
from rotor_core.config.loader import dump_scenario
from rotor_core.config.mission import LONGEST
from rotor_core.config.schema import FASTEST, Scenario
from rotor_core.errors import ConfigError
from rotor_recordings.formats.own_topics import TOPICS, OwnTopics
from rotor_recordings.formats.topics import recorded_topics

LARGEST_SEED = 2**63 - 1
"""Of parameters of nodes, which are 64 bits wide."""

PLANTS = ("simulator", "laboratory")
"""Plants that can be flown; every graph has exactly one of them."""

STOP_ORDER = ("recorder", *PLANTS, "controller", "planner")
"""The recorder first, while what it has not read yet is still in the queues of living publishers."""

MAY_END = (*PLANTS, "visualizer", "rviz", "foxglove_bridge")
"""Processes that may end by themselves: the plant when its time is over, a viewer when it is closed."""

RVIZ_CONFIGS = ("overview", "tuning", "wide")
"""Shipped configurations."""

GOAL_TOPICS = (
    "goal_pose", "rotor/goal/update", "rotor/goal/feedback", "rotor/goal/get_interactive_markers"
)  # fmt: skip
"""Topics on which RViz and the planner exchange goals."""


LOG_LEVELS = ("debug", "info", "warn", "error", "fatal")


@dataclass(frozen=True)
class NodePlan:
    """A node to run: what ``launch_ros.actions.Node`` needs to know.

    Attributes:
        name: label for messages, and name of the node.
        package, executable: where it is installed.
        parameters: ROS parameters.
        remaps: pairs (from, to).
        arguments: of its own, before the ROS arguments.
        namespace: e.g. ``/lab2``; empty: the root.
        log_level: empty: as it is.
        needs: modules that its Python must have.
        remedy: what to do where one is missing.
    """

    name: str
    package: str
    executable: str
    parameters: dict[str, object] = field(default_factory=dict)
    remaps: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    namespace: str = ""
    log_level: str = ""
    needs: tuple[str, ...] = ()
    remedy: str = ""

    @property
    def logger(self) -> str:
        """Name of its logger: the namespace, with dots."""
        return f"{self.namespace}/{self.name}".strip("/").replace("/", ".")


@dataclass(frozen=True)
class ProgramPlan:
    """A program that is not installed as a node: its command line."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class GraphOptions:
    """Options of a run; every field is an argument of the launch file and of `./rotor up`.

    Attributes:
        scenario: shipped name or path.
        plant: ``simulator``, or ``laboratory``: a hall in MuJoCo in its place (docs/laboratory.md).
        controller, planner: ``node``, or ``external`` to leave it to the user; ``px4`` or ``crazyswarm``
            in place of the controller answer to setpoints of those autopilots.
        bag: folder to record into; None: no recorder.
        recorder: ``ours``, or ``ros2bag`` for the recorder of a distribution.
        report: our recorder reports on its bag when it is closed.
        seed: of the random streams; None: the scenario's.
        autopilot: in the loop in place of the scenario's controller; empty: none.
        pacing: ``lockstep``, ``realtime`` or empty for the scenario's.
        real_time_factor: 0: the scenario's.
        duration: the simulator ends after this simulated time, s; 0: never.
        linger: the simulator stays at its end until it is stopped.
        paused: it begins paused.
        visualizer: draw markers and paths, in a process of its own.
        rviz: configuration to open RViz with, as path; empty: no RViz.
        foxglove: run foxglove_bridge on the loopback interface.
        namespace: of all topics but /diagnostics.
        remaps: pairs (ours, theirs).
        log_level: of our nodes.
        resume: folder of saved nodes to go on from; empty: none.
        save_on_exit: folder into which simulator, planner and controller save themselves when they are ended.

    Raises:
        ConfigError: a value that is not allowed.
    """

    scenario: str
    plant: str = "simulator"
    controller: str = "node"
    planner: str = "node"
    bag: Path | None = None
    recorder: str = "ours"
    report: bool = False
    seed: int | None = None
    autopilot: str = ""
    pacing: str = ""
    real_time_factor: float = 0.0
    duration: float = 0.0
    linger: bool = False
    paused: bool = False
    visualizer: bool = True
    rviz: str = ""
    foxglove: bool = False
    namespace: str = ""
    remaps: tuple[tuple[str, str], ...] = ()
    log_level: str = ""
    resume: str = ""
    save_on_exit: str = ""

    def __post_init__(self) -> None:
        for name, value, known in (
            ("plant", self.plant, PLANTS),
            ("controller", self.controller, ("node", "external", *ADAPTERS)),
            ("planner", self.planner, ("node", "external")),
            ("recorder", self.recorder, ("ours", "ros2bag")),
            ("pacing", self.pacing, ("", "lockstep", "realtime")),
            ("log_level", self.log_level, ("", *LOG_LEVELS)),
        ):
            if value not in known:
                choices = ", ".join(repr(k) for k in known)
                raise ConfigError(f"{name}: must be one of {choices}, got {value!r}.")
        if self.namespace and not NAMESPACE.match(self.namespace):
            raise ConfigError(
                f"namespace: must look like /lab2, got {self.namespace!r}. Leave it out for the root."
            )


def _as_value(scenario: Scenario) -> str:
    """A scenario as custom data of a bag, as our recorder keeps it: readable where its file is not.

    As JSON, which is YAML: `ros2 bag record` cuts a value at the next equals sign, and only strings can hold one.
    """
    tree = YAML(typ="safe").load(dump_scenario(scenario))
    return json.dumps(tree).replace("=", "\\u003d")


def _recorder(options: GraphOptions, scenario: Scenario, ours: NodePlan) -> NodePlan | ProgramPlan:
    if options.recorder == "ours":
        return ours
    theirs = dict(options.remaps)
    names = [theirs.get(t.name, t.name) for t in recorded_topics(scenario)]
    topics = [n if n.startswith("/") else f"{options.namespace}/{n}" for n in names]
    ours_of = {t.name: n for t, n in zip(recorded_topics(scenario), topics, strict=True)}
    told = OwnTopics.of_names(options.namespace, ours_of).text()
    command = ["ros2", "bag", "record", "-s", "mcap", "-o", str(options.bag)]
    if not options.namespace:
        command.append("--use-sim-time")  # it knows no clock but /clock
    command += ["--storage-preset-profile", "zstd_fast"]
    command += ["--custom-data", f"scenario={_as_value(scenario)}"]
    command += [f"{TOPICS}={told}"] if told else []
    command += ["--topics", *topics]
    return ProgramPlan("recorder", tuple(command))


def graph_plan(options: GraphOptions, scenario: Scenario) -> dict[str, NodePlan | ProgramPlan]:
    """The processes of a run, by name, in the order in which they start.

    ``scenario`` is what ``options.scenario`` names.

    Raises:
        ConfigError: a number that cannot be, or our controller cannot give the commands that the scenario takes.
    """
    for name, value, most in (
        ("duration", options.duration, LONGEST),
        ("real_time_factor", options.real_time_factor, FASTEST),
        ("seed", options.seed or 0, LARGEST_SEED),
    ):
        if not 0 <= value <= most:  # also what is no number
            raise ConfigError(f"{name}: must be 0 to {most:g}, got {value}.")
    if options.controller == "node" and scenario.command_input != "team":
        raise ConfigError(
            f"controller: the scenario takes commands of single vehicles (command_input: "
            f"{scenario.command_input}), which our controller does not send. Choose external."
        )
    adapter = ADAPTERS[options.controller] if options.controller in ADAPTERS else None
    if adapter is not None and scenario.command_input != "wrench":
        raise ConfigError(
            f"controller: {options.controller} sends wrenches of single vehicles. Write command_input: wrench into the "
            f"scenario (it says {scenario.command_input})."
        )
    seed = -1 if options.seed is None else options.seed
    common: dict[str, object] = {"scenario": options.scenario, "seed": seed}
    if options.autopilot:
        common["autopilot"] = options.autopilot

    def node(name: str, package: str, **parameters: object) -> NodePlan:
        return NodePlan(
            name, package, name, {**common, **parameters}, options.remaps,
            namespace=options.namespace, log_level=options.log_level,
        )  # fmt: skip

    kept: dict[str, object] = {
        name: str(Path(value).absolute())
        for name, value in (("resume", options.resume), ("save_on_exit", options.save_on_exit))
        if value
    }
    timing: dict[str, object] = {
        "pacing": options.pacing, "duration_s": float(options.duration), "linger": options.linger,
        "wait_for_recorder": options.bag is not None and options.recorder == "ours",
    }  # fmt: skip
    if options.plant == "laboratory":
        idle = {
            "paused": options.paused, "real_time_factor": options.real_time_factor not in (0.0, 1.0),
            "resume": bool(options.resume), "save_on_exit": bool(options.save_on_exit),
        }  # fmt: skip
        for name, given in idle.items():
            if given:
                raise ConfigError(f"{name}: the laboratory has none, as a real hall. Leave it out.")
        if not timing["pacing"]:
            timing["pacing"] = scenario.time.pacing
        simulator = replace(
            node("laboratory", "rotor_testbed", **timing),
            needs=("mujoco",),
            remedy="Install it: ./rotor setup testbed (on a distribution: pip install mujoco).",
        )
    else:
        factor = float(options.real_time_factor)
        simulator = node(
            "simulator",
            "rotor_sim",
            real_time_factor=factor,
            paused=options.paused,
            **timing,
            **kept,
        )
    plan: dict[str, NodePlan | ProgramPlan] = {"simulator": simulator}
    has_visualizer = options.visualizer and options.plant == "simulator"
    if has_visualizer:
        plan["visualizer"] = node("visualizer", "rotor_sim")
    if options.bag is not None:
        sources = [options.plant]
        sources += [n for n in ("planner", "controller") if getattr(options, n) == "node"]
        sources += ["visualizer"] if has_visualizer else []
        ours = replace(
            node(
                "recorder",
                "rotor_adapters",
                bag=str(options.bag),
                report=options.report,
                wait_for=" ".join(sources),
                plant=options.plant,
            ),
            needs=("rosbags",),
            remedy="Build the workspace again: colcon build --packages-select rotor_vendor",
        )
        plan["recorder"] = _recorder(options, scenario, ours)
    # whatever is on simulation time listens to the absolute name
    names = [t.name for t in recorded_topics(scenario) if not t.name.startswith("/")]
    absolute = [f"/{name}" for name in (*names, *GOAL_TOPICS)] if options.namespace else []
    theirs = dict(options.remaps)
    # the first rule that fits counts: names of others first
    clock = tuple((name, theirs.get(name[1:], f"{options.namespace}{name}")) for name in absolute)
    if options.rviz:
        plan["rviz"] = NodePlan(
            "rviz", "rviz2", "rviz2", {"use_sim_time": True}, (*clock, *options.remaps),
            ("-d", options.rviz), options.namespace,
        )  # fmt: skip
    if options.foxglove:
        address = {"address": "127.0.0.1", "use_sim_time": True}
        plan["foxglove"] = NodePlan(
            "foxglove_bridge", "foxglove_bridge", "foxglove_bridge", address, clock
        )
    if options.planner == "node":
        plan["planner"] = node("planner", "rotor_planning", **kept)
    if options.controller == "node":
        plan["controller"] = node("controller", "rotor_control", **kept)
    elif adapter is not None:
        plan["controller"] = replace(
            node(adapter.executable, adapter.package),
            needs=(adapter.messages,),
            remedy="Source a distribution or a workspace that has it; with the wheels: ROTOR_OVERLAY (docs/swap.md).",
        )
    return plan
