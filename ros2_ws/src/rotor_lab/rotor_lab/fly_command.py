"""`./rotor fly` and `./rotor resume`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rotor_lab.arguments import positive_number

if TYPE_CHECKING:  # the command line answers `--help` without NumPy
    from rotor_core.config.schema import Scenario
    from rotor_lab.closed_loop import ClosedLoop


def _fly(options: argparse.Namespace) -> int:
    from rotor_core.config.advice import notes
    from rotor_core.config.loader import dump_scenario, load_scenario

    scenario = load_scenario(options.scenario, seed=options.seed)
    if options.print_config:
        print(dump_scenario(scenario), end="")
        return 0
    for note in notes(scenario):
        print(f"note: {note}", file=sys.stderr)
    return _fly_and_write(options, scenario, None)


def _resume(options: argparse.Namespace) -> int:
    from rotor_lab.resume import load
    from rotor_sim.simulation import START_TIME

    loop = load(Path(options.file))
    scenario = loop.simulation.scenario
    print(f"{scenario.name}: goes on {loop.simulation.time - START_TIME:.3f} s after its start")
    return _fly_and_write(options, scenario, loop)


def _fly_and_write(options: argparse.Namespace, scenario: Scenario, loop: ClosedLoop | None) -> int:
    from rotor_lab.fly import fly
    from rotor_lab.report import format_table, summary_rows
    from rotor_lab.results import new_folder, write_flight, write_scenario
    from rotor_lab.resume import check_place, save
    from rotor_lab.warm import warm

    kept = Path(options.save) if options.save else None
    if kept is not None:
        check_place(scenario, kept)
    warm()
    wanted = options.out or options.record
    folder = new_folder(options.out, f"fly-{scenario.name}") if wanted else None

    def progress(flown: float, total: float) -> None:
        if sys.stdout.isatty():
            print(f"\r{flown:7.1f} / {total:.1f} s", end="", flush=True)

    flight = fly(
        scenario,
        duration=options.duration,
        progress=progress,
        loop=loop,
        put_away=None if kept is None else lambda loop: save(loop, kept),
    )
    if sys.stdout.isatty():
        print("\r", end="")
    summary = flight.summary()
    if folder is not None:
        write_scenario(folder, scenario)
        summary = write_flight(folder, flight)
    if folder is not None and options.record:
        from rotor_lab.recordings.bag_writer import write_bag

        write_bag(flight, folder / "bag")
    print(format_table(summary_rows(summary)))
    if folder is not None:
        print(f"{folder}/: {'bag, ' if options.record else ''}summary.json, scenario.yaml, plots")
    if kept is not None:
        print(f"{kept}: the flight at its end; go on with ./rotor resume {kept}")
    return int(summary.get("mission", {}).get("status") in ("failed", "unfinished"))


def _add_results(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--record", action="store_true", help="write a bag into the result folder")
    sub.add_argument(
        "--save", metavar="FILE", help="put the flight away at its end, to go on later"
    )


def add_fly_commands(
    add: Callable[..., argparse.ArgumentParser],
    common: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the commands to a parser; ``add`` and ``common`` as in :func:`rotor_lab.cli.parser`."""
    sub = add(
        "fly",
        _fly,
        "Close the loop without ROS, as fast as the machine can.",
        "./rotor fly four_dragonflies_box --out /tmp/box",
    )
    common(sub)
    _add_results(sub)
    sub.add_argument(
        "--print-config", action="store_true", help="print the resolved scenario and stop"
    )
    sub = add(
        "resume",
        _resume,
        "Go on with a flight that was put away by --save, with the same bits.",
        "./rotor resume /tmp/half.flight --out /tmp/rest",
    )
    sub.add_argument("file", help="what --save has written")
    sub.add_argument(
        "--duration", type=positive_number, metavar="S", help="simulated time from there"
    )
    sub.add_argument("--out", metavar="DIR", help="result folder; must be new or empty")
    _add_results(sub)
