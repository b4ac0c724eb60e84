"""Files of an optimized flight: its figures, inputs and gains, and the plan as a scenario that can be flown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rotor_core.state import State
from rotor_flight.optimal.ddp import Solution
from rotor_flight.optimal.planning import Planning, Report
from rotor_flight.reports.folder import write_json


def figures(
    planning: Planning, solution: Solution, report: Report, seconds: float
) -> dict[str, Any]:
    """Figures of a solution as plain data; keys carry their units."""
    slack = report.tensions[1:] <= 0.0
    misses = report.misses
    return {
        "duration_s": round(planning.duration(solution), 4),
        "cost": round(solution.cost, 6),
        "violation": float(f"{solution.violation:.2g}"),
        "periods_with_a_slack_cable": int(slack.any(axis=1).sum()) if slack.size else 0,
        "tension_max_n": round(float(report.tensions.max(initial=0.0)), 3),
        "clearance_m": None if np.isinf(report.clearance) else round(report.clearance, 4),
        "periods_doubted": int(solution.doubted.sum()),
        "miss_with_feedback_m": float(f"{report.undisturbed:.2g}"),
        "disturbed_flights": len(misses),
        "disturbed_miss_median_m": float(f"{np.median(misses):.2g}") if len(misses) else None,
        "disturbed_miss_max_m": float(f"{misses.max():.2g}") if len(misses) else None,
        "disturbed_within": report.within,
        "iterations": solution.iterations,
        "seconds": round(seconds, 1),
    }


def write(
    planning: Planning,
    solution: Solution,
    report: Report,
    found: dict[str, Any],
    folder: Path,
    name: str,
) -> list[Path]:
    """Write ``summary.json``, ``solution.npz`` and ``trajectory.yaml`` (type ``timed``) into a folder."""
    summary, numbers, plan = (
        folder / "summary.json",
        folder / "solution.npz",
        folder / "trajectory.yaml",
    )
    write_json(summary, {"task": name, "scenario": planning.scenario.name, **found})
    feedback = planning.regulated(solution)
    np.savez(
        numbers, time=report.times, states=report.states, tensions=report.tensions, inputs=solution.trajectory.inputs,
        gains=feedback.gains, mixing=planning.rotors.mixing,
    )  # fmt: skip
    entity = planning.task.entity
    row = [e.name for e in planning.scenario.model.entities].index(entity)
    places = State(report.states[:, row]).position
    points = [
        [round(float(x), 6) for x in (t, *p)] for t, p in zip(report.times, places, strict=True)
    ]
    text = f"# {entity} in the optimized flight {name!r}; `trajectory:` of a scenario\n"
    text += "schema: 1\ntype: timed\npoints:\n"
    text += "".join(f"- [{', '.join(map(str, point))}]\n" for point in points)
    plan.write_text(text)
    return [summary, numbers, plan]
