"""Compile all kernels once, with a line that says so. Two processes share the work."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np

from rotor_core._jit import ALL_COMPILED, COMPILED, WHY_UNCOMPILED, cache_directory
from rotor_core.errors import RotorError
from rotor_core.state import FULL_STATE

POLL = 0.5
"""Between two looks of a compiling process at its parent, s."""


def warm_engine() -> None:
    """Compile the engine."""
    from rotor_core.config.loader import load_scenario
    from rotor_sim.simulation import Simulation

    simulation = Simulation(load_scenario("slalom"))
    simulation.step(np.zeros((simulation.n_vehicles, 4)))


def warm_laws() -> None:
    """Compile trajectories, control laws and sensors."""
    from rotor_control.controller import make_controller
    from rotor_core.config.initial import initial_states
    from rotor_core.config.loader import load_scenario
    from rotor_core.config.schema import Noise
    from rotor_planning.trajectories.from_config import make_plans
    from rotor_sim.sensing.noise import NoisySensor

    names = ("slalom", "hover", "dragonfly_point_mass", "three_dragonflies_triangular_rigid")
    scenarios = [load_scenario(name) for name in names]
    scenarios += [
        replace(s, controller=replace(s.controller, feedforward="nominal"))  # type: ignore[call-arg]
        for s in scenarios
        if hasattr(s.controller, "feedforward")
    ]
    for scenario in scenarios:
        controller = make_controller(scenario)
        states = np.zeros((len(scenario.model.entities), 19))
        states[:, FULL_STATE] = initial_states(scenario)
        for i, plan in enumerate(make_plans(scenario).values()):
            controller.follow(i, plan, 0.0)
        controller.decide(states[:, FULL_STATE], controller.references)  # a slice, as in tests
        controller.decide(states, controller.references)
        controller.decide(np.ascontiguousarray(states[:, FULL_STATE]), controller.references)
        NoisySensor(Noise(position_m=1e-3), 0).sense(states)


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, whatever ended that."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def part(name: str, parent: int) -> None:
    """Compile a part in a process of its own: ``engine`` or ``laws``."""
    _end_with(parent)
    {"engine": warm_engine, "laws": warm_laws}[name]()


def _in_processes() -> bool:
    """Compile all parts beside each other; whether all went well.

    In processes of their own, because a compiler that is interrupted may crash: they are killed instead. A signal of
    the terminal does not reach them.
    """
    code = "import sys; from rotor_flight.warm import part; part(sys.argv[1], int(sys.argv[2]))"
    children: list[subprocess.Popen] = []
    try:
        for name in ("engine", "laws"):
            command = [sys.executable, "-c", code, name, str(os.getpid())]
            children.append(subprocess.Popen(command, start_new_session=True))
        return all([child.wait() == 0 for child in children])
    finally:
        for child in children:
            child.kill()
            child.wait()


def warm() -> float:
    """Compile whatever is not in the cache; returns the seconds it took.

    Raises:
        RotorError: it cannot be compiled; what was wrong stands on the terminal.
    """
    if not COMPILED:
        print(f"kernels run uncompiled, some hundred times slower ({WHY_UNCOMPILED})", flush=True)
        return 0.0
    marker = cache_directory() / ALL_COMPILED
    if marker.exists():
        return 0.0
    print(
        "compiling kernels, once for these sources (one to three minutes) ...", end="", flush=True
    )
    began = time.perf_counter()
    if not _in_processes():
        raise RotorError("the kernels could not be compiled; what was wrong stands above.")
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    took = time.perf_counter() - began
    print(f" done in {took:.1f} s", flush=True)
    return took
