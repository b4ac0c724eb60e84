"""Report of one flight: verdict, figures, events and linked plots as one HTML file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rotor_core.config.teams import teams
from rotor_core.reference import Reference
from rotor_core.state import State
from rotor_core.vehicles.rotors import rotor_set
from rotor_dynamics.hybrid.events import Event
from rotor_flight.flight import Flight
from rotor_flight.reports.folder import write_json
from rotor_flight.reports.table import summary_rows
from rotor_recordings.linked_plots import COLOURS, LinkedPlots, add_axes, mark, shade

MOST_ROWS = 5000
"""Rows of a longer flight are thinned to about so many; those beside events stay."""

MOST_EVENTS = 500
"""Events that are listed and marked."""

EVENT_COLOURS = {"snap": "#c62828", "slack": "#999999", "cut": "#000000", "break": "#000000"}


def write_report(flight: Flight, folder: Path) -> dict:
    """Write report.html and summary.json of a flight; returns the summary."""
    summary = flight.summary()
    write_json(folder / "summary.json", summary)
    write_page(flight, summary, folder / "report.html")
    return summary


def write_page(flight: Flight, summary: dict, path: Path) -> None:
    """Write the report of a flight as HTML.

    Args:
        flight: what is shown.
        summary: its figures (:meth:`rotor_flight.flight.Flight.summary`).
        path: of the file.
    """
    rows = _rows(flight)
    time = flight.elapsed[rows]
    plots = LinkedPlots(time[0], time[-1])
    _planned(flight, rows, plots)
    _cables(flight, rows, plots)
    _vehicles(flight, rows, plots)
    _joints(flight, rows, plots)
    _map(flight, rows, plots)
    events = [_event(flight, e) for e in flight.events[:MOST_EVENTS]]
    if len(flight.events) > MOST_EVENTS:
        events.append(("", f"and {len(flight.events) - MOST_EVENTS} more", ""))
    verdict = summary["verdict"]
    page = plots.page(
        title=flight.scenario.name.replace("_", " "), text=flight.scenario.description, rows=summary_rows(summary),
        verdict=verdict["words"], good=verdict["exit_code"] == 0, events=events,
    )  # fmt: skip
    path.write_text(page)


def _rows(flight: Flight) -> np.ndarray:
    """Rows that are drawn."""
    n = len(flight.time)
    beside = np.searchsorted(flight.time, [e.time for e in flight.events[:MOST_EVENTS]])
    kept = [np.arange(0, n, max(1, n // MOST_ROWS)), beside - 1, beside, [n - 1]]
    return np.unique(np.clip(np.concatenate(kept).astype(int), 0, n - 1))


def _planned(flight: Flight, rows: np.ndarray, plots: LinkedPlots) -> None:
    """Position, error and attitude error of every planned entity."""
    time = flight.elapsed[rows]
    for i, team in enumerate(teams(flight.scenario.model)):
        entity, name = flight[team.entity], team.entity
        wanted = Reference(flight.references[rows, i]).position
        is_known = bool(np.isfinite(wanted).any())
        path = plots.over_time(f"{name}: position", "m")
        if is_known:
            add_axes(path, time, wanted, "{} reference", line_dash="dashed")
        add_axes(path, time, entity.position[rows], "{}")
        if not is_known:
            continue
        miss = 1e3 * flight.position_error(i)[rows]
        error = plots.over_time(f"{name}: reference minus position", "mm")
        add_axes(error, time, miss, "{}")
        distance = np.linalg.norm(miss, axis=1)
        error.line(time, distance, color="black", legend_label="distance")
        body = flight.scenario.model.entities[flight.scenario.model.index(name)]
        if body.inertia_kg_m2 is not None:
            turn = plots.over_time(f"{name}: angle to the reference attitude", "deg")
            turn.line(time, np.degrees(flight.attitude_error(i)[rows]), color=COLOURS[0])


def _cables(flight: Flight, rows: np.ndarray, plots: LinkedPlots) -> None:
    """Tensions, with slack stretches shaded and events marked."""
    if not np.isfinite(flight.tensions).any():
        return
    time, begin = flight.elapsed, flight.time[0]
    plot = plots.over_time("cables: tension (red: a cable is slack)", "N")
    for k, name in enumerate(flight.scenario.model.cable_names):
        plot.line(time[rows], flight.tensions[rows, k], color=COLOURS[k % 10], legend_label=name)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], flight.slack[:, k], [False]])))
        for first, end in edges.reshape(-1, 2)[:MOST_EVENTS]:
            shade(plot, time[first], time[min(end, len(time) - 1)])
    for event in flight.events[:MOST_EVENTS]:
        if event.type in EVENT_COLOURS:
            mark(plot, event.time - begin, EVENT_COLOURS[event.type])


def _vehicles(flight: Flight, rows: np.ndarray, plots: LinkedPlots) -> None:
    """Tilt, and commanded thrust with what the rotors can give, of every vehicle; of helicopters the collective."""
    vehicles, time = flight.scenario.model.vehicles, flight.elapsed[rows]
    if not vehicles:
        return
    tilt, thrust, collective = plots.over_time("vehicles: tilt", "deg"), None, None
    if np.isfinite(flight.commands).any():
        if not all(v.helicopter for v in vehicles):
            thrust = plots.over_time("vehicles: commanded thrust (dotted: most)", "N")
        if any(v.helicopter for v in vehicles):
            collective = plots.over_time("helicopters: commanded collective", "deg")
    for k, vehicle in enumerate(vehicles):
        colour, angle = COLOURS[k % 10], State(flight.states[rows, k]).tilt
        tilt.line(time, np.degrees(angle), color=colour, legend_label=vehicle.name)
        if collective is not None and vehicle.helicopter:
            pitch = np.degrees(flight.commands[rows, k, 0])
            collective.line(time, pitch, color=colour, legend_label=vehicle.name)
        if thrust is None or vehicle.helicopter:
            continue
        rotors = rotor_set(vehicle.rotors)
        most = float((rotors.mixing @ np.full(rotors.count, rotors.thrust_limits[1]))[0])
        thrust.line(time, flight.commands[rows, k, 0], color=colour, legend_label=vehicle.name)
        thrust.line(time[[0, -1]], [most, most], color=colour, line_dash="dotted")


def _joints(flight: Flight, rows: np.ndarray, plots: LinkedPlots) -> None:
    """Angles of joints and their references."""
    if not flight.joints.size:
        return
    time, plot = flight.elapsed[rows], plots.over_time("joints (dashed: reference)", "rad or m")
    names = flight.scenario.model.joint_names
    for k, name in enumerate(names):
        colour = COLOURS[k % 10]
        plot.line(time, flight.joints[rows, k, 0], color=colour, legend_label=name)
        if flight.joint_references.size:
            wanted = flight.joint_references[rows, k, 0]
            plot.line(time, wanted, color=colour, line_dash="dashed")


def _map(flight: Flight, rows: np.ndarray, plots: LinkedPlots) -> None:
    """Paths of all entities, seen from above."""
    plot = plots.other(
        title="paths from above", height=500, match_aspect=True, x_axis_label="x, m", y_axis_label="y, m"
    )  # fmt: skip
    for i, _ in enumerate(teams(flight.scenario.model)):
        wanted = Reference(flight.references[rows, i]).position
        if np.isfinite(wanted).any():
            style = {"color": "black", "line_dash": "dashed"}
            plot.line(wanted[:, 0], wanted[:, 1], legend_label="reference", **style)
    for k, name in enumerate(flight.names):
        position = flight[name].position[rows]
        plot.line(position[:, 0], position[:, 1], color=COLOURS[k % 10], legend_label=name)


def _event(flight: Flight, event: Event) -> tuple[str, str, str]:
    """Time, type, and who took part."""
    cables = flight.scenario.model.cable_names
    who = [cables[k] for k in event.cables if k < len(cables)]
    return f"{event.time - flight.time[0]:.3f} s", event.type, ", ".join([*who, *event.bodies])
