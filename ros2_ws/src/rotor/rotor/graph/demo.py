"""`./rotor demo`.

A team carries a payload through a slalom as separate processes over DDS, and shows what came out.
"""

from __future__ import annotations

import os
from pathlib import Path

from rotor.graph.plan import GraphOptions, graph_plan
from rotor.graph.run import progress_printer, refuse_occupied_domain, run_graph
from rotor.verb import conclude, print_notes
from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError
from rotor_flight.fly import flight_duration, fly
from rotor_flight.reports.folder import new_folder, write_scenario
from rotor_flight.reports.table import format_table, summary_rows
from rotor_flight.warm import warm
from rotor_recordings.formats.bag_flights import read_flight
from rotor_viewer.export.plots import write_flight

SLOWER = 1.05
"""Time of a mission in the graph over that without ROS, at most: its orders take some periods."""


def demo(
    name: str,
    *,
    out: str | None = None,
    seed: int | None = None,
    pacing: str = "",
    duration: float | None = None,
) -> int:
    """Fly a scenario in real ROS 2, record it, and write the result folder.

    Args:
        name: shipped scenario or path.
        out: result folder; default ``results/NAME-DATE``.
        seed, pacing: replace the scenario's.
        duration: simulated time, s; default the trajectory and its settling time, or what the mission takes without ROS
            and a little more.

    Returns:
        Exit code: that of the verdict, or 130 after an interruption (the folder then holds what was flown).
    """
    scenario = load_scenario(name, seed=seed, pacing=pacing or None)
    print_notes(scenario)
    total = _duration(scenario) if duration is None else duration
    if total <= 0.0:
        raise ConfigError(f"--duration: must be > 0 s, got {total:g}.")
    warm(scenario)
    refuse_occupied_domain()
    folder = new_folder(out, f"demo-{scenario.name}")
    write_scenario(folder, scenario)
    print(
        f"{scenario.description}\n{total:.1f} s, {scenario.time.pacing}; ROS domain "
        f"{os.environ.get('ROS_DOMAIN_ID', '0')}; results in {folder}"
    )
    options = GraphOptions(
        name,
        bag=(folder / "bag").resolve(),
        seed=seed,
        pacing=pacing,
        duration=total,
        linger=True,
    )
    plans = graph_plan(options, scenario)
    try:
        finished = run_graph(
            plans, folder, on_progress=progress_printer(total, scenario.time.control_s)
        )
    except KeyboardInterrupt:
        finished = False
    print()
    return _conclude(folder, finished)


def _duration(scenario: Scenario) -> float:
    """How long a scenario is flown, s."""
    if scenario.mission is None:
        return flight_duration(scenario)
    print("flying the mission without ROS first, to know how long it takes ...")
    flight = fly(scenario)
    return SLOWER * float(flight.time[-1] - flight.time[0])


def _conclude(folder: Path, finished: bool) -> int:
    try:
        flight = read_flight(folder / "bag")
    except ConfigError:
        if finished:
            raise
        print(f"stopped before anything was flown; logs are in {folder / 'log'}")
        return 130
    if not finished and flight.time[-1] == flight.time[0]:
        print(f"stopped before anything was flown; logs are in {folder / 'log'}")
        return 130
    summary = write_flight(folder, flight)
    print(format_table(summary_rows(summary)))
    print(
        f"{folder}/: bag, summary.json, scenario.yaml, path_3d.png, path.png, errors.png"
        + (", tensions.png" if flight.tensions.shape[1] else "")
    )
    code = conclude(summary)
    return code if finished else 130
