"""A piece of work: fly some flights of a study and measure them. What runs on a worker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rotor_core.config.loader import scenario_from_tree
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.tree import Tree, tree_of
from rotor_core.errors import ConfigError, RotorError
from rotor_core.state import State
from rotor_flight.compiled.flights import can_compile, fly_compiled, thinned
from rotor_flight.flight import Flight
from rotor_flight.fly import flight_duration, fly
from rotor_flight.loop import ClosedLoop
from rotor_flight.studies.metrics import ACCURACY, METRICS, measured, metrics_of
from rotor_flight.studies.parameters import varied
from rotor_flight.studies.study import LoadedStudy

FINER = 4
"""The step whose error is asked for is compared with one this much shorter: its own error is 256 times smaller."""

ABOUT = ("flight", "seed", "failure", "verdict")
"""Columns that are neither varied nor measured."""


@dataclass(frozen=True)
class Job:
    """A study as workers get it: with a settled ``document``."""

    loaded: LoadedStudy
    document: dict[str, Any]

    def scenario(self, number: int, numbers: list[float]) -> Scenario:
        """Scenario of flight ``number`` (from 0).

        Raises:
            ConfigError: the numbers make no valid scenario; the text names the flight.
        """
        study = self.loaded.study
        try:
            document = varied(self.document, self.loaded.name, study.vary, numbers)
            tree = tree_of(document, Tree(None, "scenario", 0))
            scenario = scenario_from_tree(tree, self.loaded.name)
        except ConfigError as error:
            drawn = ", ".join(
                f"{v.label} = {x:g}" for v, x in zip(study.vary, numbers, strict=True)
            )
            raise error.within(f"flight {number} ({drawn})") from error
        if study.vary_seed:
            scenario = replace(scenario, seed=scenario.seed + number)
        return scenario


def every_of(scenario: Scenario, record_hz: float | None) -> int:
    """Control periods per recorded row."""
    if record_hz is None:
        return 1
    return max(1, round(1.0 / (record_hz * scenario.time.control_s)))


def flown(scenario: Scenario, duration: float | None, every: int) -> Flight:
    """Fly a scenario as fast as there is a way to; the same bits either way.

    ``duration``: s; default the trajectory and the scenario's ``settle_s``, or until the mission is over.

    Raises:
        RotorError: it cannot be flown, or not to its end.
    """
    loop = ClosedLoop(scenario)
    if can_compile(loop):
        flight = fly_compiled(loop, duration or flight_duration(scenario), every)
        if flight is not None:
            return flight
    return thinned(fly(scenario, duration=duration), every)


def fly_chunk(job: Job, first: int, numbers: np.ndarray) -> list[dict[str, Any]]:
    """Fly flights ``first`` and following, one per row of ``numbers``; one row of results each.

    A flight that cannot go on, or whose numbers make no scenario, is a result too: its metrics are NaN and ``failure``
    says why. How well each was integrated is always told.

    Raises:
        ConfigError: a metric fails: the study is wrong.
    """
    study = job.loaded.study
    metrics = metrics_of(study, job.loaded.functions)
    rows = []
    for k, row in enumerate(numbers.tolist()):
        out: dict[str, Any] = {"flight": first + k, "seed": -1}
        out |= {v.label: x for v, x in zip(study.vary, row, strict=True)}
        rows.append(out)
        try:
            scenario = job.scenario(first + k, row)
        except ConfigError as error:
            out["failure"] = str(error)
            out["verdict"] = f"failed: {error}"
            continue
        out["seed"] = scenario.seed
        try:
            flight = flown(scenario, study.duration_s, every_of(scenario, study.record_hz))
        except ConfigError:
            raise
        except RotorError as error:
            out["failure"] = str(error)
            out["verdict"] = f"failed: {error}"
        else:
            out |= measured(metrics, flight)
            out |= {name: METRICS[name](flight) for name in ACCURACY if name not in out}
            out["failure"] = ""
            out["verdict"] = str(flight.verdict())
    return rows


def step_error(job: Job, number: int, numbers: np.ndarray) -> float:
    """Largest difference of any position between a flight and the same one with finer steps, m; NaN: it failed."""
    study = job.loaded.study
    try:
        scenario = job.scenario(number, numbers.tolist())
    except ConfigError:
        return float("nan")
    duration = study.duration_s
    every = every_of(scenario, study.record_hz)
    finer = replace(scenario, time=replace(scenario.time, step_s=scenario.time.step_s / FINER))
    try:
        coarse, fine = flown(scenario, duration, every), flown(finer, duration, every)
    except RotorError:
        return float("nan")
    n = min(len(coarse.time), len(fine.time))  # missions end when they do
    apart = State(coarse.states[:n]).position - State(fine.states[:n]).position
    return float(np.abs(apart).max())
