"""Compile kernels before they are needed, with a line that says so. Two processes share the work."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rotor_core.config.counterparts.counterpart import Counterpart
from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import Scenario
from rotor_core.errors import RotorError
from rotor_core.kernels.jit import COMPILED, WHY_UNCOMPILED, marker
from rotor_core.kernels.link import resolve_all
from rotor_core.state import FULL_STATE
from rotor_flight.child import end_with

STEPS = 2
"""Steps of a world after which whatever it uses is compiled."""

EVERY_LAW = ("slalom", "hover", "dragonfly_point_mass", "three_dragonflies_triangular_rigid")
"""Scenarios with each law of a team."""

ARM = "arm_coupled"
"""And one with an arm."""


def warm_engine(scenario: Scenario | None = None) -> None:
    """Compile what the engine needs for a scenario; default a team with cables."""
    from rotor_sim.simulation import Simulation

    simulation = Simulation(scenario or load_scenario("slalom"))
    simulation.engine.prepare_events()
    for _ in range(STEPS):
        simulation.step(np.zeros((simulation.n_vehicles, 4)))


def warm_derivatives() -> None:
    """Compile what derivatives of a team on cables need: the simulator's service linearize must not wait for it."""
    from rotor_dynamics.sensitivities.linearization import linearize, linearize_steps
    from rotor_sim.simulation import Simulation

    engine = Simulation(load_scenario("slalom")).engine
    linearize(engine)
    linearize_steps(engine, 1)


def warm_laws(scenarios: Sequence[Scenario] = ()) -> None:
    """Compile trajectories, control laws and sensors of scenarios; default one of every kind of team."""
    from rotor_control.controller import make_controller
    from rotor_core.config.initial import initial_states
    from rotor_planning.trajectories.from_config import make_plans
    from rotor_sim.sensing.pose import PoseSensor

    if not scenarios:
        scenarios = [load_scenario(name) for name in EVERY_LAW]
        scenarios += [
            replace(s, controller=replace(s.controller, feedforward="nominal"))  # type: ignore[call-arg]
            for s in scenarios
            if hasattr(s.controller, "feedforward")
        ]
        scenarios.append(load_scenario(ARM))
    for scenario in scenarios:
        if isinstance(scenario.controller, Counterpart):
            continue  # what others have written runs in flights alone
        controller = make_controller(scenario)
        states = np.zeros((len(scenario.model.entities), 19))
        states[:, FULL_STATE] = initial_states(scenario)
        for i, plan in enumerate(make_plans(scenario).values()):
            controller.follow(i, plan, 0.0)
        joints = np.zeros((len(controller.efforts), 2))
        controller.decide(states, controller.references, joints)
        names = [e.name for e in scenario.model.entities]
        PoseSensor(scenario.sensing, scenario.time.control_s, 0, names).sense(states, 0.0)


def part(name: str, parent: int) -> None:
    """Compile a part in a process of its own, ``engine`` or ``laws``: of the scenario on standard input, or all."""
    end_with(parent)
    given = sys.stdin.buffer.read()
    scenario = pickle.loads(given) if given else None
    try:
        if name == "laws":
            warm_laws([scenario] if scenario else ())
            return
        warm_engine(scenario)
    except RotorError:
        if scenario is None:
            raise
        return  # whoever flies it meets the same error, and says it in one line
    if scenario is None:
        resolve_all()
        warm_derivatives()


def _in_processes(scenario: Scenario | None) -> bool:
    """Compile both parts beside each other; whether all went well.

    In processes of their own, because a compiler that is interrupted may crash: they are killed instead. A signal of
    the terminal does not reach them.
    """
    code = "import sys; from rotor_flight.warm import part; part(sys.argv[1], int(sys.argv[2]))"
    given = b"" if scenario is None else pickle.dumps(scenario)
    children: list[subprocess.Popen] = []
    try:
        for name in ("engine", "laws"):
            command = [sys.executable, "-c", code, name, str(os.getpid())]
            child = subprocess.Popen(command, start_new_session=True, stdin=subprocess.PIPE)
            children.append(child)
            assert child.stdin is not None
            child.stdin.write(given)
            child.stdin.close()
        return all([child.wait() == 0 for child in children])
    finally:
        for child in children:
            child.kill()
            child.wait()


def kernels_of(scenario: Scenario) -> str:
    """A name for the kernels that a scenario uses: the same for all that use the same."""
    model = scenario.model
    words = {
        f"{type(scenario.controller).__name__} {getattr(scenario.controller, 'feedforward', '')}",
        f"{type(scenario.trajectory).__name__}",
        f"{scenario.time.integrator} {scenario.actuation.mode} {bool(scenario.mission)}",
        f"{scenario.sensing.is_ideal} {scenario.sensing.estimator is None}"
        f" {scenario.environment.wind.is_calm} {scenario.rotors_feel_air}",
        *(a.type for a in model.attachments),
        *(p.shape.type for p in model.payloads),
        *(f"force {type(f).__name__}" for f in scenario.forces),
    }
    for v in model.vehicles:
        words.add(
            f"{bool(v.joints)} {bool(v.helicopter)} {bool(v.feet_m)} {bool(v.urdf)} {v.drag is None}"
            f" {bool(v.rotors.inflow)}"
        )
    words.add(f"{len(model.attachments) > 8} {scenario.environment.contact is None}")
    return hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest()[:12]


def warm(scenario: Scenario | None = None) -> float:
    """Compile what a scenario uses and is not in the cache; without one, everything. Returns the seconds it took.

    Raises:
        RotorError: it cannot be compiled, and what was wrong stands on the terminal; or there is no place to keep it.
    """
    if not COMPILED:
        print(f"kernels run uncompiled, some hundred times slower ({WHY_UNCOMPILED})", flush=True)
        return 0.0
    done = marker() if scenario is None else marker(f"of-{kernels_of(scenario)}")
    if done.exists() or marker().exists():
        return 0.0
    try:
        done.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RotorError(
            f"compiled kernels cannot be kept in {done.parent} ({error.strerror}). "
            "Let ROTOR_CACHE_DIR name a folder that can be written."
        ) from error
    what = "all kernels" if scenario is None else "kernels"
    print(f"compiling {what}, once for these sources (up to a minute) ...", end="", flush=True)
    began = time.perf_counter()
    if not _in_processes(scenario):
        raise RotorError("the kernels could not be compiled; what was wrong stands above.")
    done.touch()
    took = time.perf_counter() - began
    print(f" done in {took:.1f} s", flush=True)
    return took
