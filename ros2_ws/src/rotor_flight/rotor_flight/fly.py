"""Close the loop without ROS, as fast as the machine can: sense, plan, control, step."""

from __future__ import annotations

import time as wall
from collections.abc import Callable

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError
from rotor_core.plans.plan import Plan
from rotor_core.state import FULL_STATE
from rotor_flight.compiled.ahead import Ahead
from rotor_flight.compiled.flights import can_compile, fly_compiled
from rotor_flight.compiled.rows import Rows, flight_of
from rotor_flight.flight import Flight
from rotor_flight.loop import ClosedLoop
from rotor_planning.arms.plans import JointPlans
from rotor_planning.trajectories.from_config import make_plans
from rotor_sim.simulation import START_TIME

LONGEST = 20000.0
"""Longest flight, s: every control period is kept in memory."""


def whole_duration(scenario: Scenario, plans: dict[str, Plan], arms: JointPlans) -> float:
    """Time of the longest plan (a hover where nothing is planned) plus the settling time of the scenario, s."""
    planned = [plan.duration for plan in plans.values()] + [p.duration for p in arms.plans]
    alone = getattr(scenario.trajectory, "duration_s", None) or 0.0
    return max(planned, default=alone) + scenario.settle_s


def flight_duration(scenario: Scenario) -> float:
    """Time that :func:`fly` flies a scenario by default, s."""
    return whole_duration(scenario, make_plans(scenario), JointPlans(scenario))


def fly(
    scenario: Scenario,
    *,
    duration: float | None = None,
    plans: dict[str, Plan] | None = None,
    progress: Callable[[float, float], None] | None = None,
    loop: ClosedLoop | None = None,
    checkpoint: Callable[[ClosedLoop], object] | None = None,
) -> Flight:
    """Fly a scenario in closed loop, in one compiled call where that can be (:mod:`rotor_flight.compiled`).

    Args:
        scenario: what to fly.
        duration: s; default the trajectory and the scenario's ``settle_s``.
        plans: of the planned entities, in place of the scenario's trajectory.
        progress: called about ten times a second with (flown, total) s.
        loop: goes on from where it is, in place of the start; ``duration`` counts from there.
        checkpoint: called with the loop before its last decision: what is saved then goes on with the same bits.

    Returns:
        The flight, one row per control period, from the start to the end.

    Raises:
        ConfigError: the controller does not fit the model, or the flight is too long to keep.
        SolverError: the integration cannot go on.
    """
    owned, fresh = loop is None, loop is None and checkpoint is None
    begun = 0.0 if loop is None else loop.simulation.time - START_TIME
    loop = loop or ClosedLoop(scenario, plans)
    simulation, controller, pilot, arms = loop.simulation, loop.controller, loop.pilot, loop.arms
    rest = whole_duration(scenario, loop.plans, arms) - begun
    total = rest if duration is None else duration
    if pilot is not None and scenario.mission and duration is None:
        total = scenario.mission.limit_s
    if not total <= LONGEST:
        raise ConfigError(
            f"the flight would last {total:.3g} s, but at most {LONGEST:g} s are allowed. "
            "Shorten the trajectory or settle_s."
        )
    if fresh and can_compile(loop):
        flight = fly_compiled(loop, total, progress=progress)
        if flight is not None:
            return flight
        # step by step it will be found out why
        loop = ClosedLoop(scenario, plans)
        simulation, controller, pilot, arms = (
            loop.simulation,
            loop.controller,
            loop.pilot,
            loop.arms,
        )
    simulation.passing.is_given_all = True  # all rows are kept, and looked at in the end
    n = max(1, round(total / scenario.time.control_s))
    rows, limited, last, i = Rows.of(loop, n, 1), 0, n, 0
    n_recorded = rows.states.shape[1]
    alone: dict[int, np.ndarray] = {}  # references of vehicles that fly alone, by row
    ahead = Ahead(loop, rows) if fresh else None
    began = reported = wall.perf_counter()

    def acts() -> bool:
        nonlocal last
        if pilot is not None and duration is None and last == n and pilot.is_over:
            last = min(n, i + round(scenario.settle_s / scenario.time.control_s))
        return i < last

    def record(command: np.ndarray) -> None:
        nonlocal limited
        engine = simulation.engine
        rows.references[i], rows.efforts[i] = controller.references, controller.efforts
        rows.states[i], rows.commands[i] = engine.motion[:n_recorded, FULL_STATE], command
        if arms.n:  # as the state after what has been changed
            rows.joints[i], rows.wanted[i] = simulation.joint_states, loop.wanted
        if engine.n_cables:
            rows.tensions[i], rows.taut[i] = engine.tensions, engine.taut
        if controller.has_alone:
            alone[i] = controller.alone
        limited += controller.limited > 0

    try:
        while True:
            if ahead is not None:
                i = ahead.fly(i, last)
            rows.times[i] = t = simulation.time
            if i == last and checkpoint is not None:
                checkpoint(loop)
            loop.period(record, acts=acts)
            if progress is not None and wall.perf_counter() - reported > 0.1:
                reported = wall.perf_counter()
                progress(t - START_TIME - begun, total)
            if i == last:
                break
            i += 1
    finally:
        if owned:
            loop.controller.close()
    limited += 0 if ahead is None else ahead.limited
    flight = flight_of(loop, rows.until(last + 1), wall.perf_counter() - began, limited)
    if alone:
        flight.alone = np.full((last + 1, *controller.alone.shape), np.nan)
        flight.alone[list(alone)] = list(alone.values())
    if pilot is not None:
        flight.extra["mission"] = pilot.summary()
    return flight
