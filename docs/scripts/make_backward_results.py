"""Measure derivatives backward; write docs/results/backward.md.

    ./rotor python docs/scripts/make_backward_results.py

Takes about three minutes; nothing else should run.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import numpy as np

import rotor
from rotor_core.kernels.jit import cache_directory, kernel
from rotor_core.math.polyhedron import CORNERS
from rotor_dynamics.engine import Engine
from rotor_dynamics.hybrid.stepper import run
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.solid import Solid
from rotor_dynamics.model.system import System
from rotor_dynamics.sensitivities.backward.adjoint import AdjointFlights
from rotor_dynamics.sensitivities.backward.commands import write_commands
from rotor_flight.sensitivities.backward.loop import LoopFunction
from rotor_flight.sensitivities.commanded import CommandFunction
from validation.speed.systems import CASES, states, system
from validation.speed.timing import Maker, medians

PAGE = Path(__file__).resolve().parents[1] / "results" / "backward.md"
SECONDS, STEPS, REPEATS = 2.0, 5, 9
PERIODS = 400
SPREAD = 1e-3
"""Of commands at random, relative."""


@kernel
def fly_alone(ints, floats, steps, commands, commanded):
    """The flight of all periods, without a note."""
    wrenches, speeds, efforts, angles, windings, air = commands
    for k in range(wrenches.shape[0]):
        write_commands(
            ints, floats, wrenches[k], speeds[k], efforts[k], angles[k], windings[k], air[k], commanded
        )  # fmt: skip
        run(ints, floats, 0)
        run(ints, floats, steps)


def row(label: str, flights: AdjointFlights, commands: np.ndarray) -> str:
    """Cost of a flight, and of its gradient."""
    structure, start = flights._structure, flights._start
    parts = structure.commands.split(commands)

    def bare() -> None:
        ints, floats = start.ints.copy(), start.floats.copy()
        fly_alone(ints, floats, flights.steps, parts, structure.commands.commanded)

    began = time.perf_counter()
    flight = flights.fly(commands)
    weights = np.zeros(flight.states.shape)
    weights[-1] = 1.0
    told = flight.gradient(weights)
    first = time.perf_counter() - began
    tasks: dict[str, Maker] = {
        "alone": lambda: bare,
        "noted": lambda: lambda: flights.fly(commands) and None,
        "back": lambda: lambda: flight.gradient(weights) and None,
    }
    alone, noted, back = medians(tasks, REPEATS).values()
    return (
        f"| {label} | {commands.size} | {1e3 * alone:.2f} | {1e3 * noted:.2f} | {1e3 * back:.2f} | "
        f"{(noted + back) / alone:.1f} | {told.forward} | {first:.1f} |"
    )


def cases() -> list[str]:
    """Rows of the systems of the speed benchmark."""
    rows, rng = [], np.random.default_rng(0)
    for case in CASES.values():
        hover = np.full(4 * case.vehicles, case.hover_speed)

        def start(engine: Engine, hover: np.ndarray = hover) -> None:
            engine.rotors.start(hover)

        flights = AdjointFlights(system(case), states(case), steps=STEPS, prepare=start)
        commands = hover * (1.0 + SPREAD * rng.normal(size=(PERIODS, len(hover))))
        rows.append(row(case.label, flights, commands))
    return rows


def scenarios() -> list[str]:
    """Rows of scenarios, under the commands of their law or held ones."""
    rows = []
    for name in ("slalom", "collision_triangular"):
        function = CommandFunction(name)
        n = round(SECONDS / function.period)
        commands = rotor.fly(name, duration=SECONDS).commands[:n].reshape(n, -1)
        rows.append(row(f"`{name}`, commands of its law", function.flights, commands))
    rng = np.random.default_rng(1)
    for name in ("arm_coupled", "winch_delivery"):
        function = CommandFunction(name)
        held = np.zeros(len(function.commands))
        bodies = function.flights.engine.system.bodies
        held[0] = sum(body.mass for body in bodies) * 9.81
        n = round(SECONDS / function.period)
        commands = held + SPREAD * rng.normal(size=(n, len(held)))
        rows.append(row(f"`{name}`, weight held", function.flights, commands))
    return rows


def thrown() -> list[str]:
    """Row of a box in rigid contact with the ground for most of its flight: its pieces are differentiated forward."""
    size = np.array([0.3, 0.2, 0.1])
    inertia = np.diag(size @ size - size**2) / 12.0
    solids = (
        Solid(WORLD, np.zeros((1, 3)), is_ground=True),
        Solid(0, 0.5 * size * CORNERS),
    )
    box = System((Body("box", 1.0, inertia),), inputs=(0,), solids=solids)
    start = np.array([[0.0, 0.0, 0.2, 1.0, 0.0, 0.0, 0.0, 1.0, 0.3, 0.0, 0.5, 1.0, 0.2]])
    flights = AdjointFlights(box, start, steps=STEPS, wrenches=np.zeros((1, 4)))
    commands = SPREAD * np.random.default_rng(2).normal(size=(PERIODS, 4))
    return [row("box thrown on the ground, rigid contact", flights, commands)]


LOOPS = ("quadrotor_circle", "slalom", "six_dragonflies_box", "arm_coupled", "helicopter_climb")
LOOP_SECONDS = 10.0


def loops() -> list[str]:
    """Rows of flights under their law."""
    rows = []
    for name in LOOPS:
        function = LoopFunction(name, LOOP_SECONDS)
        flight = function()
        weights = np.zeros(flight.states.shape)
        weights[-1] = 1.0
        began = time.perf_counter()
        found = flight.gradient(weights)
        first = time.perf_counter() - began
        numbers = len(flight._begun.block.numbers) + len(found.start)
        tasks: dict[str, Maker] = {
            "alone": lambda flight=flight: flight._under_law,
            "noted": lambda flight=flight: flight._under_commands,
            "back": lambda flight=flight, weights=weights: (
                lambda: flight.gradient(weights) and None
            ),
        }
        alone, noted, back = medians(tasks, REPEATS).values()
        rows.append(
            f"| `{name}` | {numbers} | {1e3 * alone:.1f} | {1e3 * noted:.1f} | {1e3 * back:.1f} | "
            f"{(noted + back) / alone:.1f} | {first:.1f} |"
        )
    return rows


def main() -> None:
    """Measure and write."""
    shutil.rmtree(cache_directory() / "reverse", ignore_errors=True)  # the first time is measured
    rows, closed = cases() + scenarios() + thrown(), loops()
    PAGE.write_text(
        f"""# Derivatives backward: cost

Written by `docs/scripts/make_backward_results.py`. How: [theory](../theory/sensitivities.md#backward); use:
[how to](../how-to/optimize.md#derivatives-for-your-own-methods).

Derivative of one number of a flight of {SECONDS:.0f} s with every command, CPU of one core, medians of {REPEATS}.
*Alone*: the flight, in one compiled call. *Noted*: with what its pieces hand on. *Backward*: the gradient. *Forward*:
pieces with an event, or without a tape, that were differentiated forward. *First time*: with recording and compiling;
code is kept on disk.

| world | commands | alone, ms | noted, ms | backward, ms | both over alone | pieces forward | first time, s |
|---|---|---|---|---|---|---|---|
{chr(10).join(rows)}

Forward differentiation would cost 0.3 to 0.5 flights per command, central differences two. While bodies press each
other pieces are differentiated forward; what going backward gains there is that many commands cost what few do.

## Under a law

Derivative of one number of a flight of {LOOP_SECONDS:.0f} s with every number of its law and its plan, and the start.
*Alone*: the flight under its law. *Noted*: once more under the commands that it gave, which is the gradient's own cost.

| scenario | numbers | alone, ms | noted, ms | backward, ms | both over alone | first time, s |
|---|---|---|---|---|---|---|
{chr(10).join(closed)}
"""
    )


if __name__ == "__main__":
    main()
