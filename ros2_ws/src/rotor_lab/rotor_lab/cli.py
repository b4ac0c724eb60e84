"""The command line behind `./rotor`."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rotor_core.interface.errors import ConfigError, RotorError
from rotor_lab.arguments import positive_number
from rotor_lab.compare.command import add_compare_command
from rotor_lab.fly_command import add_fly_commands
from rotor_lab.identify.command import add_identify_command
from rotor_lab.live import add_live_commands
from rotor_lab.prediction.command import add_replay_command
from rotor_lab.recordings.recover_command import add_recover_command
from rotor_lab.sweep.command import add_sweep_command
from rotor_lab.trim_command import add_trim_command
from rotor_lab.view.command import add_view_commands


def _scenarios(_: argparse.Namespace) -> int:
    from rotor_core.config.catalog import config_directory, shipped
    from rotor_core.config.loader import load_scenario

    names = shipped("scenarios")
    width = max(len(n) for n in names)
    for name in names:
        print(f"{name:<{width}}  {load_scenario(name).description}")
    print(f"\nfiles: {config_directory() / 'scenarios'}")
    return 0


def _print_config(name: str, seed: int | None, pacing: str = "") -> int:
    from rotor_core.config.loader import dump_scenario, load_scenario

    print(dump_scenario(load_scenario(name, seed=seed, pacing=pacing or None)), end="")
    return 0


def _demo(options: argparse.Namespace) -> int:
    if options.print_config:
        return _print_config(options.scenario, options.seed, options.pacing)
    from rotor_lab.demo import demo

    return demo(
        options.scenario,
        out=options.out,
        seed=options.seed,
        pacing=options.pacing,
        duration=options.duration,
    )


def _up(options: argparse.Namespace) -> int:
    from rotor_core.config.catalog import rviz_configuration
    from rotor_core.config.loader import load_scenario
    from rotor_lab.graph import GraphOptions, graph_plan
    from rotor_lab.processes import command_line
    from rotor_lab.remaps import load_remaps
    from rotor_lab.results import new_folder, write_scenario
    from rotor_lab.run_graph import progress_printer, refuse_occupied_domain, run_graph
    from rotor_lab.warm import warm

    scenario = load_scenario(options.scenario, seed=options.seed, pacing=options.pacing or None)
    wanted = GraphOptions(
        options.scenario,
        plant=options.plant,
        controller=options.controller,
        planner=options.planner,
        seed=options.seed,
        pacing=options.pacing,
        duration=options.duration or 0.0,
        linger=True,
        paused=options.paused,
        real_time_factor=options.real_time_factor,
        namespace=options.namespace,
        rviz=str(rviz_configuration(options.rviz)) if options.rviz else "",
        foxglove=options.foxglove,
        remaps=tuple(load_remaps(options.names, scenario.model)),
        log_level=options.log_level,
    )
    for plan in graph_plan(wanted, scenario).values():
        command_line(plan)  # what is not installed is said before anything is written
    warm()
    refuse_occupied_domain()
    folder = new_folder(options.out, f"up-{scenario.name}")
    write_scenario(folder, scenario)
    if options.record:
        wanted = replace(wanted, bag=(folder / "bag").resolve())
    plans = graph_plan(wanted, scenario)
    print(f"{scenario.description}\nlogs in {folder / 'log'}; Ctrl-C ends it")
    run_graph(
        plans,
        folder,
        on_progress=progress_printer(options.duration or 0.0, scenario.time.control_s),
    )
    print(f"\n{folder}/: " + ("bag, " if (folder / "bag").exists() else "") + "scenario.yaml, log")
    return 0


def _reproduce(options: argparse.Namespace) -> int:
    from rotor_lab.reproduce.report import reproduce
    from rotor_lab.results import new_folder
    from rotor_lab.warm import warm

    warm()
    folder = new_folder(options.out, f"reproduce-{options.paper}")
    agrees = reproduce(options.paper, folder)
    print(f"{folder}/: report.html, report.md, plots")
    return 0 if agrees else 1


def _bench(options: argparse.Namespace) -> int:
    from rotor_lab.bench.report import bench
    from rotor_lab.warm import warm

    warm()
    bench(Path(options.out) if options.out else None, peers=not options.no_peers)
    return 0


def _urdf(options: argparse.Namespace) -> int:
    from rotor_core.config.loader import load_scenario
    from rotor_core.config.urdf_out import scenario_urdf

    text = scenario_urdf(load_scenario(options.scenario), bodies=True)
    if options.out is None:
        print(text, end="")
        return 0
    try:
        Path(options.out).write_text(text)
    except OSError as error:
        raise ConfigError(f"--out {options.out}: cannot be written ({error.strerror}).") from error
    print(options.out)
    return 0


def _doctor(_: argparse.Namespace) -> int:
    from rotor_lab.doctor import report
    from rotor_lab.report import format_table

    print(format_table(report()))
    return 0


def _warm(_: argparse.Namespace) -> int:
    from rotor_lab.warm import warm

    warm()
    return 0


def seed(text: str) -> int:
    """Argument type: a whole number that fits a ROS parameter."""
    value = int(text)
    if not 0 <= value < 2**63:
        raise argparse.ArgumentTypeError(f"must be >= 0 and below 2^63, got {text}")
    return value


def parser() -> argparse.ArgumentParser:
    """All commands and options."""
    top = argparse.ArgumentParser(
        prog="./rotor",
        description="Simulate aerial vehicles that carry things.",
        epilog="`./rotor COMMAND --help` shows the options of a command. `./rotor test` runs all "
        "tests, `./rotor python FILE` a script in the environment.",
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(
        name: str, run: Callable[[argparse.Namespace], int], text: str, example: str
    ) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text, epilog=f"example: {example}")
        sub.set_defaults(run=run)
        return sub

    def common(sub: argparse.ArgumentParser, scenario: str | None = None) -> None:
        if scenario:
            sub.add_argument(
                "scenario",
                nargs="?",
                default=scenario,
                help=f"shipped name or path (default: {scenario})",
            )
        else:
            sub.add_argument("scenario", help="shipped name (see `./rotor scenarios`) or path")
        sub.add_argument(
            "--seed", type=seed, help="seed of the random streams (default: the scenario's)"
        )
        sub.add_argument("--out", metavar="DIR", help="result folder; must be new or empty")
        sub.add_argument("--duration", type=positive_number, metavar="S", help="simulated time")

    sub = add(
        "demo",
        _demo,
        "Fly a team as ROS 2 nodes, record it and show the result.",
        "./rotor demo --out /tmp/slalom",
    )
    common(sub, "slalom")
    sub.add_argument(
        "--pacing", choices=["realtime", "lockstep"], default="", help="default: the scenario's"
    )
    sub.add_argument(
        "--print-config", action="store_true", help="print the resolved scenario and stop"
    )
    add_fly_commands(add, common)
    sub = add(
        "up", _up, "Run the ROS 2 nodes of a scenario until Ctrl-C.", "./rotor up hover --record"
    )
    common(sub)
    sub.add_argument(
        "--pacing", choices=["realtime", "lockstep"], default="", help="default: the scenario's"
    )
    sub.add_argument("--record", action="store_true", help="record a bag into the result folder")
    sub.add_argument(
        "--controller",
        choices=["node", "external", "px4", "crazyswarm"],
        default="node",
        help="external: start your own controller; px4, crazyswarm: answer to their setpoints",
    )
    sub.add_argument(
        "--planner",
        choices=["node", "external"],
        default="node",
        help="external: start your own planner",
    )
    sub.add_argument(
        "--plant",
        choices=["simulator", "laboratory"],
        default="simulator",
        help="laboratory: a hall with motion capture in MuJoCo in the simulator's place",
    )
    sub.add_argument("--paused", action="store_true", help="begin paused; ~/play lets it go")
    sub.add_argument(
        "--rviz",
        nargs="?",
        const="overview",
        default="",
        metavar="CONFIG",
        help="open RViz with overview (default), wide (large vehicles), tuning or a file",
    )
    sub.add_argument(
        "--real-time-factor",
        type=positive_number,
        default=0.0,
        metavar="F",
        help="simulated over wall time (default: the scenario's)",
    )
    sub.add_argument("--namespace", default="", metavar="/NS", help="of all topics, such as /lab2")
    sub.add_argument("--foxglove", action="store_true", help="run foxglove_bridge on 127.0.0.1")
    sub.add_argument(
        "--names", default="", metavar="REMAPS", help="names of another suite: rotortm, or a file"
    )
    sub.add_argument(
        "--log-level", choices=["debug", "info", "warn", "error"], default="", help="of our nodes"
    )
    add_replay_command(add)
    add_compare_command(add)
    add_identify_command(add)
    add_recover_command(add)
    add_sweep_command(add)
    add_view_commands(add)
    add_live_commands(add)
    add_trim_command(add)
    sub = add(
        "reproduce",
        _reproduce,
        "Run the systems of a paper and put its figures beside ours.",
        "./rotor reproduce rotortm --out /tmp/rotortm",
    )
    sub.add_argument(
        "paper", choices=["fiori", "kremer", "palacios", "pappalardo", "rotortm"], help="whose"
    )
    sub.add_argument("--out", metavar="DIR", help="result folder; must be new or empty")
    sub = add(
        "bench",
        _bench,
        "Time the engine against compiled C++ (and other simulators where installed).",
        "./rotor bench --out bench.json",
    )
    sub.add_argument("--out", metavar="FILE.json", help="figures as JSON, a plot beside it")
    sub.add_argument("--no-peers", action="store_true", help="leave other simulators out")
    sub = add(
        "urdf",
        _urdf,
        "Write a scenario as URDF, for RViz, Pinocchio, MuJoCo and others.",
        "./rotor urdf pick_and_place --out pick.urdf",
    )
    sub.add_argument("scenario", help="shipped name or path")
    sub.add_argument("--out", metavar="FILE.urdf", help="default: print it")
    add("scenarios", _scenarios, "List the shipped scenarios.", "./rotor scenarios")
    add(
        "doctor",
        _doctor,
        "Show versions, middleware, cores and whether the kernels are compiled.",
        "./rotor doctor",
    )
    add("warm", _warm, "Compile the kernels now.", "./rotor warm")
    return top


def _printable(text: str) -> str:
    """A message whose foreign parts cannot steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; a user's mistake is one line on stderr and exit code 2."""
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a parent ignores it
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # end like Ctrl-C: close what is open
    try:
        return int(options.run(options))
    except RotorError as error:
        print(f"error: {_printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
