"""`./rotor up`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from rotor.arguments import add_namespace, positive_number
from rotor.graph.adapters import ADAPTERS
from rotor.verb import VERBS, Verb, add_autopilot, add_run_arguments, print_notes


def _up(options: argparse.Namespace) -> int:
    from rotor.graph.plan import GraphOptions, graph_plan
    from rotor.graph.processes import check
    from rotor.graph.remaps import load_remaps
    from rotor.graph.run import progress_printer, refuse_occupied_domain, run_graph
    from rotor_core.config.catalog import rviz_configuration
    from rotor_core.config.loader import load_scenario
    from rotor_core.extras import ensure
    from rotor_flight.reports.folder import new_folder, write_scenario
    from rotor_flight.warm import warm

    if options.plant == "laboratory":
        ensure("testbed")
    if options.record:
        ensure("compare")
    scenario = load_scenario(
        options.scenario,
        seed=options.seed,
        pacing=options.pacing or None,
        autopilot=options.autopilot,
    )
    if scenario.controller.type == "px4":
        ensure("px4")
    print_notes(scenario)
    wanted = GraphOptions(
        options.scenario,
        plant=options.plant,
        controller=options.controller,
        planner=options.planner,
        seed=options.seed,
        autopilot=options.autopilot or "",
        pacing=options.pacing,
        duration=options.duration or 0.0,
        linger=True,
        paused=options.paused,
        real_time_factor=options.real_time_factor,
        namespace=options.namespace,
        visualizer=not options.no_visualizer,
        rviz=str(rviz_configuration(options.rviz)) if options.rviz else "",
        foxglove=options.foxglove,
        remaps=tuple(load_remaps(options.names, scenario.model, options.namespace)),
        log_level=options.log_level,
        resume=options.resume or "",
        save_on_exit=options.save_on_exit or "",
    )
    # what is not installed is said before anything is written
    check(
        graph_plan(replace(wanted, bag=Path("bag") if options.record else None), scenario).values()
    )
    warm(scenario)
    refuse_occupied_domain(options.namespace)
    folder = new_folder(options.out, f"up-{scenario.name}")
    write_scenario(folder, scenario)
    if options.record:
        wanted = replace(wanted, bag=(folder / "bag").resolve())
    plans = graph_plan(wanted, scenario)
    print(f"{scenario.description}\nlogs in {folder / 'log'}; Ctrl-C ends it")
    told: dict[str, str] = {}
    show = progress_printer(options.duration or 0.0, scenario.time.control_s)

    def on_progress(values: dict[str, str], text: str) -> None:
        told.update(values)
        show(values, text)

    run_graph(plans, folder, on_progress=on_progress)
    print()
    if (folder / "bag").exists() and "verdict" in told:
        from rotor.report import report_into

        found = report_into(folder, folder / "bag", "bag, scenario.yaml, log, ")
        seen = int(told.get("exit_code", 0))
        if seen and not found:  # a bag may lack what the simulator knew
            print(f"the simulator says: {told['verdict']}")
        return found or seen
    print(f"{folder}/: " + ("bag, " if (folder / "bag").exists() else "") + "scenario.yaml, log")
    if options.plant == "laboratory" and int(told.get("step", "0")) > 0:
        print(
            "flown in the laboratory: compare it with a simulated flight (docs/how-to/compare.md)"
        )
        return 0
    print(told.get("verdict", "nothing was flown"))
    return int(told.get("exit_code", 0))


def _arguments(sub: argparse.ArgumentParser) -> None:
    add_run_arguments(sub)
    add_autopilot(sub)
    sub.add_argument(
        "--pacing", choices=["realtime", "lockstep"], default="", help="default: the scenario's"
    )
    sub.add_argument("--record", action="store_true", help="record a bag into the result folder")
    sub.add_argument(
        "--controller",
        choices=["node", "external", *ADAPTERS],
        default="node",
        help="external: start your own controller; others: answer to the setpoints of that autopilot",
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
        help="laboratory: a hall with motion capture, simulated in MuJoCo, in place of the simulator",
    )
    sub.add_argument("--paused", action="store_true", help="begin paused; ~/play starts it")
    sub.add_argument(
        "--rviz",
        nargs="?",
        const="overview",
        default="",
        metavar="CONFIG",
        help="open RViz with overview (default), wide (large vehicles), tuning or a file",
    )
    sub.add_argument(
        "--no-visualizer",
        action="store_true",
        help="no markers and paths (a process of its own draws them, at idle priority)",
    )
    sub.add_argument(
        "--real-time-factor",
        type=positive_number,
        default=0.0,
        metavar="F",
        help="simulated over wall time (default: the scenario's)",
    )
    add_namespace(sub, "of all topics, such as /lab2")
    sub.add_argument("--resume", metavar="DIR", help="go on from saved nodes (./rotor save)")
    sub.add_argument(
        "--save-on-exit",
        metavar="DIR",
        help="at Ctrl-C or SIGTERM save simulator, planner and controller",
    )
    sub.add_argument("--foxglove", action="store_true", help="run foxglove_bridge on 127.0.0.1")
    sub.add_argument(
        "--names", default="", metavar="REMAPS", help="names of another suite: rotortm, or a file"
    )
    sub.add_argument(
        "--log-level", choices=["debug", "info", "warn", "error"], default="", help="of our nodes"
    )


VERBS.register(
    "up",
    Verb(
        "Run the ROS 2 nodes of a scenario until Ctrl-C.",
        "./rotor up hover --record",
        _arguments,
        _up,
    ),
)
