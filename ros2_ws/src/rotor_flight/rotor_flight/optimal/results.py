"""Files of an optimized flight: its figures, inputs and gains, and the plan as a scenario that can be flown."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rotor_core.config.controllers import PlannedControl
from rotor_core.config.loader import dump_scenario
from rotor_core.config.schema import Change, WindTo
from rotor_core.config.teams import teams
from rotor_core.config.trajectories import TimedPlan
from rotor_core.errors import ContractError
from rotor_core.state import State
from rotor_flight.optimal.ddp import Solution
from rotor_flight.optimal.planning import Planning, Report
from rotor_flight.reports.folder import write_json


def figures(
    planning: Planning, solution: Solution, report: Report, seconds: float
) -> dict[str, Any]:
    """Figures of a solution as plain data; keys carry their units."""
    slack = report.tensions[1:] <= 0.0
    inputs, planned = planning.inputs, solution.trajectory
    thrusts = np.maximum(planned.inputs[:, : inputs.n_rotors], 0.0)
    energy = float(planned.lengths[planning.legs] @ (thrusts**1.5 @ inputs.power))
    misses = report.misses
    return {
        "duration_s": round(planning.duration(solution), 4),
        "cost": round(solution.cost, 6),
        "violation": float(f"{solution.violation:.2g}"),
        "periods_with_a_slack_cable": int(slack.any(axis=1).sum()) if slack.size else 0,
        "energy_j": round(energy, 3),
        "tension_max_n": round(report.pulls[1], 3),
        "clearance_m": None if np.isinf(report.clearance) else round(report.clearance, 4),
        "periods_doubted": int(solution.doubted.sum()),
        "miss_with_feedback_m": float(f"{report.undisturbed:.2g}"),
        "disturbed_flights": len(misses),
        "disturbed_miss_median_m": float(f"{np.median(misses):.2g}") if len(misses) else None,
        "disturbed_miss_max_m": float(f"{misses.max():.2g}") if len(misses) else None,
        "disturbed_within": report.within,
        "shortfalls": list(report.shortfalls),
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
    """Write figures, numbers and plan into a folder, and a scenario that flies them with ``controller: planned``.

    The scenario is left out where that law cannot fly it: several teams, or a start at which nothing holds them.
    """
    summary, numbers, plan = (
        folder / "summary.json",
        folder / "solution.npz",
        folder / "trajectory.yaml",
    )
    write_json(summary, {"task": name, "scenario": planning.scenario.name, **found})
    thrusts, moving = slice(0, planning.inputs.n_rotors), slice(0, planning.shooting.n_moving)
    arrays = {
        "time": report.times, "states": report.states, "tensions": report.tensions,
        "inputs": solution.trajectory.inputs[:, thrusts],
        "gains": planning.regulated(solution).gains[:, thrusts, moving],
        "mixing": planning.inputs.mixing[: 4 * len(planning.scenario.model.vehicles), thrusts],
        "winches": report.winches,
    }  # fmt: skip
    first, *others = teams(planning.scenario.model)
    with suppress(ContractError):  # nothing holds a team with a slack cable
        arrays["hold_gains"] = planning.hold_gains()
    np.savez(numbers, allow_pickle=False, **arrays)
    entity = planning.task.entity
    text = f"# {entity} in the optimized flight {name!r}; `trajectory:` of a scenario\n"
    text += "schema: 1\ntype: timed\npoints:\n"
    text += "".join(
        f"- [{', '.join(map(str, point))}]\n" for point in _points(planning, report, entity)
    )
    plan.write_text(text)
    if others or "hold_gains" not in arrays:
        return [summary, numbers, plan]
    scenario, whole = folder / "scenario.yaml", str(numbers.resolve())
    again = replace(
        planning.scenario,
        controller=PlannedControl("planned", whole),
        trajectory=TimedPlan("timed", _points(planning, report, first.entity)),
        mission=None,
        changes=_windings(planning, report),
    )
    scenario.write_text(dump_scenario(again).replace(whole, numbers.name))
    return [summary, numbers, plan, scenario]


def _windings(planning: Planning, report: Report) -> tuple[Change, ...]:
    """Orders to the winches, whose rates are linear between the nodes of the flight."""
    return tuple(
        Change(
            0.0,
            wind=WindTo(k + 1, profile=tuple(np.column_stack([report.times, rates]).tolist())),
        )
        for k, rates in zip(planning.shooting.winches, report.winches[:, :, 1].T, strict=True)
    )


def _points(
    planning: Planning, report: Report, entity: str
) -> tuple[tuple[float, float, float, float], ...]:
    """Times and places of an entity in the flight, s and m: to the last digit, for laws that differentiate them."""
    row = [e.name for e in planning.scenario.model.entities].index(entity)
    places = State(report.states[:, row]).position
    rows = np.column_stack([report.times, places]).tolist()
    return tuple((t, x, y, z) for t, x, y, z in rows)
