"""Compile all kernels once, with a line that says so. Two processes share the work."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace

import numpy as np

from rotor_core._jit import ALL_COMPILED, COMPILED, WHY_UNCOMPILED, cache_directory
from rotor_core.state import FULL_STATE


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


def warm() -> float:
    """Compile whatever is not in the cache; returns the seconds it took."""
    if not COMPILED:
        print(f"kernels run uncompiled, some hundred times slower ({WHY_UNCOMPILED})", flush=True)
        return 0.0
    marker = cache_directory() / ALL_COMPILED
    if marker.exists():
        return 0.0
    print("compiling kernels, once for these sources (about a minute) ...", end="", flush=True)
    began = time.perf_counter()
    helper = subprocess.Popen(
        [sys.executable, "-c", "from rotor_flight.warm import warm_laws; warm_laws()"]
    )
    warm_engine()
    if helper.wait() != 0:
        warm_laws()
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    took = time.perf_counter() - began
    print(f" done in {took:.1f} s", flush=True)
    return took
