"""`./rotor fly`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rotor.verb import (
    VERBS,
    Verb,
    add_autopilot,
    add_print_config,
    add_run_arguments,
    conclude,
    print_config,
    print_notes,
)

if TYPE_CHECKING:  # the command line answers `--help` without NumPy
    from rotor_core.config.schema import Scenario
    from rotor_flight.loop import ClosedLoop


def _fly(options: argparse.Namespace) -> int:
    from rotor_core.config.loader import load_scenario

    if options.print_config:
        return print_config(options.scenario, options.seed, autopilot=options.autopilot)
    scenario = load_scenario(options.scenario, seed=options.seed, autopilot=options.autopilot)
    print_notes(scenario)
    return fly_and_write(options, scenario, None)


def fly_and_write(options: argparse.Namespace, scenario: Scenario, loop: ClosedLoop | None) -> int:
    """Fly a scenario, or go on with a loop; write what the options ask for; print the table."""
    from rotor_core.errors import ConfigError
    from rotor_flight.checkpoint import check_place, save
    from rotor_flight.fly import fly
    from rotor_flight.reports.folder import new_folder, write_scenario
    from rotor_flight.reports.table import format_table, summary_rows
    from rotor_flight.warm import warm

    for option in ("save", "out"):
        if getattr(options, option) == "":
            raise ConfigError(f"--{option}: must not be empty. Is a variable of the shell not set?")
    kept = Path(options.save) if options.save else None
    if kept is not None:
        check_place(scenario, kept)
    warm(scenario)
    wanted = options.out or options.record
    if wanted:  # what is missing is said before anything is made
        from rotor_viewer.export.plots import write_flight
    folder = new_folder(options.out, f"fly-{scenario.name}") if wanted else None

    def progress(flown: float, total: float) -> None:
        if sys.stdout.isatty():
            print(f"\r{flown:7.1f} / {total:.1f} s", end="", flush=True)

    flight = fly(
        scenario,
        duration=options.duration,
        progress=progress,
        loop=loop,
        checkpoint=None if kept is None else lambda loop: save(loop, kept),
    )
    if sys.stdout.isatty():
        print("\r", end="")
    summary = flight.summary()
    if folder is not None:
        write_scenario(folder, scenario)
        summary = write_flight(folder, flight)  # pyright: ignore[reportPossiblyUnboundVariable]
    if folder is not None and options.record:
        from rotor_recordings.formats.bag_writer import write_bag

        write_bag(flight, folder / "bag")
    print(format_table(summary_rows(summary)))
    if folder is not None:
        print(f"{folder}/: {'bag, ' if options.record else ''}summary.json, scenario.yaml, plots")
    if loop is None and kept is None and summary["verdict"]["kind"] != "lost":
        _note_what_never_was(scenario, summary["flight_time_s"])
    if kept is not None:
        print(f"{kept}: the flight at its end. Resume it: ./rotor resume {kept}")
    return conclude(summary)


def _note_what_never_was(scenario: Scenario, flown: float) -> None:
    from rotor_core.config.yaml.units import SAME_TIME

    last = flown - scenario.time.control_s  # changes wait for the start of a control period
    times = {
        ("changes", "at_s"): [change.at_s for change in scenario.changes],
        ("environment.wind.gusts", "start_s"): [g.start_s for g in scenario.environment.wind.gusts],
        ("sensing.outages", "from_s"): [outage.from_s for outage in scenario.sensing.outages],
    }
    for (place, key), begins in times.items():
        end = last if place == "changes" else flown
        if late := [at for at in begins if at > end + SAME_TIME]:
            print(
                f"note: {place}: {len(late)} of {len(begins)} come after the end of this flight of {flown:.4g} s "
                f"(the first {key}: {min(late):g}): not happened. Give a longer --duration.",
                file=sys.stderr,
            )


def add_results(sub: argparse.ArgumentParser) -> None:
    """Add the options that say what is written."""
    sub.add_argument("--record", action="store_true", help="write a bag into the result folder")
    sub.add_argument(
        "--save", metavar="FILE", help="save the flight at its end, to resume it later"
    )


def _arguments(sub: argparse.ArgumentParser) -> None:
    add_run_arguments(sub)
    add_autopilot(sub)
    add_results(sub)
    add_print_config(sub)


VERBS.register(
    "fly",
    Verb(
        "Close the loop without ROS, as fast as the machine can.",
        "./rotor fly four_dragonflies_box --out /tmp/box",
        _arguments,
        _fly,
    ),
)
