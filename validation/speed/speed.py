"""Time per step against the compiled kernel, in a batch, and with events."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

import numpy as np

from rotor_core.config.loader import load_scenario
from rotor_core.state import State
from rotor_dynamics.batch import Batch
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, System
from rotor_flight.fly import fly
from rotor_flight.loop import ClosedLoop
from validation.speed.cpp import CppWorld, build
from validation.speed.systems import CASES, STEP, Case, engine, states, system
from validation.speed.timing import medians, wall_median

ROUNDS, STEPS = 11, 2000
WORLDS, PERIODS, PERIOD_STEPS = 1024, 40, 5
FLIGHT, FLIGHTS = 20.0, 5
CALLS = 20000
AGREEMENT = 1e-10
"""Positions of engine and compiled kernel after 500 steps differ by less, m: two orders above what they do."""


def step_times() -> dict[str, dict[str, float]]:
    """Microseconds per step by case: engine in one call, with a call per step, and the compiled kernel."""
    library = build()
    tasks: dict[str, Callable] = {}

    def rollout(case: Case, calls: int) -> Callable:
        def make() -> Callable[[], None]:
            world = engine(case)
            world.run(5)

            def task() -> None:
                for _ in range(calls):
                    world.run(STEPS // calls)

            return task

        return make

    def compiled(case: Case) -> Callable:
        def make() -> Callable[[], None]:
            world = CppWorld(library, case)
            return lambda: world.run(STEPS)

        return make

    for name, case in CASES.items():
        ours, theirs = engine(case), CppWorld(library, case)
        ours.run(500)
        theirs.run(500)
        apart = float(np.max(np.abs(ours.update_kinematics()[:, :3] - theirs.positions)))
        if apart > AGREEMENT:
            raise AssertionError(f"{name}: engine and compiled kernel are {apart:.3g} m apart.")
        tasks |= {f"{name} rotor": rollout(case, 1), f"{name} call": rollout(case, STEPS)}
        tasks[f"{name} cpp"] = compiled(case)
    seconds = medians(tasks, ROUNDS)
    us = {name: value / STEPS * 1e6 for name, value in seconds.items()}
    return {
        name: {
            "rotor_us": us[f"{name} rotor"],
            "cpp_us": us[f"{name} cpp"],
            "ratio": us[f"{name} rotor"] / us[f"{name} cpp"],
            "one_call_us": us[f"{name} call"],
            "call_extra_us": us[f"{name} call"] - us[f"{name} rotor"],
        }
        for name in CASES
    }


def call_costs() -> dict[str, float]:
    """CPU microseconds of a Python call that integrates nothing, and of one of an empty C function by ctypes."""
    empty = ctypes.CDLL(None).labs
    empty.argtypes, empty.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long], ctypes.c_long
    places = ctypes.c_void_p(8), ctypes.c_void_p(16)

    def calls(make: Callable[[], Callable]) -> Callable:
        def fresh() -> Callable[[], None]:
            call = make()

            def task() -> None:
                for _ in range(CALLS):
                    call()

            return task

        return fresh

    def nothing() -> Callable:
        run = engine(CASES["free"]).run
        return lambda: run(0)

    seconds = medians(
        {"engine": calls(nothing), "ctypes": calls(lambda: lambda: empty(*places, 1))}, ROUNDS
    )
    return {f"{name}_us": 1e6 * t / CALLS for name, t in seconds.items()}


def hovering(case: Case, n: int) -> Batch:
    """``n`` worlds of a case, no two alike, with their rotors at the speed of hover."""
    world_states = np.tile(states(case), (n, 1, 1))
    world_states[:, 0, 7] += np.linspace(-0.05, 0.05, n)

    def at_hover(world: Engine, _: int) -> None:
        world.rotors.start(np.full(4 * case.vehicles, case.hover_speed))

    return Batch(system(case), world_states, prepare=at_hover)


def simd_rates() -> dict[str, float]:
    """A smooth stretch of case (c) on one core: microseconds per step and world, of worlds side by side and of C++."""
    case, library = CASES["c"], build()
    n = max(WORLDS // 8, 8)
    speeds = np.full((1, 4 * case.vehicles), 1.005 * case.hover_speed)

    def rollout(together: bool) -> Callable:
        def make() -> Callable[[], None]:
            batch = hovering(case, n)
            go = {"rotor_speeds": speeds, "threads": 1, "side_by_side": together}
            batch.rollout(np.zeros((1, 0, 4)), steps=5, **go)

            def task() -> None:
                out = batch.rollout(np.zeros((1, 0, 4)), steps=STEPS // 10, **go).require()
                if together and out.shared < 1.0:
                    raise AssertionError(f"only {out.shared:.3f} of the steps were side by side.")

            return task

        return make

    def compiled() -> Callable[[], None]:
        world = CppWorld(library, case)
        return lambda: world.run(n * STEPS // 10)

    tasks = {"lanes": rollout(True), "single": rollout(False), "cpp": compiled}
    us = {k: 1e6 * t / (n * STEPS // 10) for k, t in medians(tasks, ROUNDS).items()}
    return {
        "lanes_us": us["lanes"],
        "single_us": us["single"],
        "cpp_us": us["cpp"],
        "times_cpp": us["cpp"] / us["lanes"],
    }


def batch_rates() -> dict[str, float]:
    """Steps of case (c) per second of wall time, by number of threads."""
    case = CASES["c"]
    speeds = np.full((PERIODS, 4 * case.vehicles), 1.005 * case.hover_speed)

    def make(threads: int) -> Callable:
        def fresh() -> Callable[[], None]:
            batch = hovering(case, WORLDS)
            batch.rollout(np.zeros((1, 0, 4)), steps=1, rotor_speeds=speeds[:1], threads=threads)
            return lambda: (
                batch.rollout(
                    np.zeros((PERIODS, 0, 4)),
                    steps=PERIOD_STEPS,
                    rotor_speeds=speeds,
                    every=PERIODS,
                    threads=threads,
                ).require()
                and None
            )

        return fresh

    counts = sorted({1, os.cpu_count() or 1})
    done = WORLDS * PERIODS * PERIOD_STEPS
    return {str(n): done / wall_median(make(n), 5) for n in counts}


def closed_loop_rates() -> dict[str, float]:
    """Simulated over CPU time of flights of the slalom: as :func:`rotor_flight.fly.fly` flies it, and step by step."""
    scenario = load_scenario("slalom")

    def make(**options: Callable) -> Callable:
        def fresh() -> Callable[[], None]:
            given = {name: option() for name, option in options.items()}
            return lambda: fly(scenario, duration=FLIGHT, **given) and None

        return fresh

    make()()()  # compiled before the first round
    tasks = {"fly": make(), "step_by_step": make(loop=lambda: ClosedLoop(scenario))}
    return {name: FLIGHT / seconds for name, seconds in medians(tasks, FLIGHTS).items()}


def _bouncing(length: float) -> System:
    """A point mass on a cable to the world."""
    return System((Body("load", 0.1),), (Cable(WORLD, 0, length),))


def event_cost() -> dict[str, float]:
    """CPU microseconds per step of a mass that snaps ten times a second, and of one that never does."""
    snaps: list[float] = []

    def make(length: float) -> Callable:
        def fresh() -> Callable[[], None]:
            world = Engine(_bouncing(length), step=STEP)
            row = np.zeros((1, 13))
            row[0, 2], row[0, 3] = 0.2, 1.0
            world.set_state(row)
            kicks = STEPS // 100
            rest = row.copy()

            def task() -> None:
                for _ in range(kicks):
                    State(rest).velocity[0] = (0.3, 0.0, 6.0)  # reaches 0.5 m after 51 ms
                    world.set_state(rest)
                    world.run(100)
                if length < 1.0:
                    snaps.append(
                        sum(e.type == "snap" for e in world.take_events()) / (STEPS * STEP)
                    )

            return task

        return fresh

    seconds = medians({"snapping": make(0.5), "smooth": make(50.0)}, ROUNDS)
    out = {name: value / STEPS * 1e6 for name, value in seconds.items()}
    return {
        **out,
        "ratio": out["snapping"] / out["smooth"],
        "snaps_per_second": float(np.median(snaps)),
    }
