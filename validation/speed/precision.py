"""Error against cost on case (c): this engine, and MuJoCo where it is installed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from validation.speed.cpp import CppWorld, build
from validation.speed.peers import mujoco_world
from validation.speed.systems import CASES, engine
from validation.speed.timing import medians

HORIZON = 2.0
COMMAND = 1.005
REFERENCE_STEP = 1e-5


@dataclass(frozen=True)
class Point:
    """One solver at one step: largest position error, m, and CPU microseconds per simulated second and per step."""

    solver: str
    step: float
    error_m: float
    us_per_second: float
    us_per_step: float


def work_precision(*, peers: bool) -> list[Point]:
    """Errors after two seconds against the compiled kernel at 10 microseconds (no drag, rotors at constant speed)."""
    case = CASES["c"]
    exact = CppWorld(build(), case, drag=False, command=1.0)
    exact.run(round(HORIZON / REFERENCE_STEP), REFERENCE_STEP)
    worlds = {}
    for method in ("rkmk4", "cf4", "erk4m", "splitting", "euler"):
        for step in (0.5e-3, 1e-3, 2e-3, 5e-3, 10e-3):
            worlds[method, step] = lambda method=method, step=step: engine(
                case, drag=False, command=1.0, step=step, integrator=method
            )
    if peers:
        for kind in ("RK4", "Euler"):
            for step in (0.1e-3, 0.5e-3, 1e-3, 2e-3):
                worlds[f"MuJoCo {kind}", step] = lambda kind=kind, step=step: mujoco_world(
                    case, step, kind
                )
    out = []
    for (name, step), make in worlds.items():
        steps = round(HORIZON / step)
        done = []

        def task(make=make, steps=steps, done=done):
            world = make()

            def run() -> None:
                world.run(steps)
                done.append(world)

            return run

        seconds = medians({"one": task}, 3)["one"]
        world = done[-1]
        positions = (
            world.positions if hasattr(world, "positions") else world.update_kinematics()[:, :3]
        )
        error = float(np.max(np.abs(positions - exact.positions)))
        out.append(Point(name, step, error, seconds / HORIZON * 1e6, seconds / steps * 1e6))
    return out
