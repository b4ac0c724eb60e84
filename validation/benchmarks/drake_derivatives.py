"""Drake's derivatives of a smooth step: three vehicles and a plate on springs, as its scalar type AutoDiffXd has them.

Drake knows no ropes; springs with damping stand in their place. Run it with a Python that has Drake (`pip install
drake`); it needs nothing else and prints microseconds of a step, what all derivatives cost in such steps, and their
directions and its version as JSON.

    python validation/benchmarks/drake_derivatives.py
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from pydrake.autodiffutils import AutoDiffXd, InitializeAutoDiff
from pydrake.math import RigidTransform
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import LinearSpringDamper, RotationalInertia, SpatialInertia
from pydrake.systems.analysis import (
    ApplySimulatorConfig,
    Simulator,
    Simulator_,
    SimulatorConfig,
)

PLACES = ((0.3, 0.0), (-0.3, 0.3), (-0.3, -0.3))
STEP, STEPS, REPEATS = 1e-3, 100, 7
PLATE, VEHICLE = (0.28, (6e-3, 6e-3, 12e-3)), (0.25, (6e-4, 6e-4, 1.1e-3))
STIFFNESS, DAMPING = 1e4, 2.0


def inertia(mass: float, moments: tuple[float, float, float]) -> SpatialInertia:
    """Of a body about its centre of mass."""
    return SpatialInertia.MakeFromCentralInertia(mass, np.zeros(3), RotationalInertia(*moments))


def team() -> MultibodyPlant:
    """A plate under three vehicles."""
    plant = MultibodyPlant(time_step=0.0)
    plate = plant.AddRigidBody("plate", inertia(*PLATE))
    for i, (x, y) in enumerate(PLACES):
        vehicle = plant.AddRigidBody(f"vehicle{i}", inertia(*VEHICLE))
        plant.AddForceElement(
            LinearSpringDamper(vehicle, np.zeros(3), plate, np.array([x, y, 0.0]), 1.0, STIFFNESS, DAMPING)
        )  # fmt: skip
    plant.Finalize()
    return plant


def start(plant: MultibodyPlant) -> np.ndarray:
    """State at rest with taut springs, moving aside."""
    context = plant.CreateDefaultContext()
    for i, (x, y) in enumerate(PLACES):
        body = plant.GetBodyByName(f"vehicle{i}")
        plant.SetFreeBodyPose(context, body, RigidTransform([x, y, 1.0]))
    velocities = np.zeros(plant.num_velocities())
    velocities[3::6] = 0.3
    plant.SetVelocities(context, velocities)
    return plant.GetPositionsAndVelocities(context)


def stepping(simulator: Any, state: np.ndarray) -> Callable[[], None]:
    """Take steps of fixed length from a state."""
    config = SimulatorConfig(
        integration_scheme="runge_kutta3", max_step_size=STEP, use_error_control=False
    )
    ApplySimulatorConfig(config, simulator)

    def task() -> None:
        context = simulator.get_mutable_context()
        context.SetTime(0.0)
        context.SetContinuousState(state)
        simulator.Initialize()
        simulator.AdvanceTo(STEP * STEPS)

    return task


def per_step(task: Callable[[], None]) -> float:
    """CPU time of a step, s."""
    task()
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        task()
        times.append(time.process_time() - began)
    return float(np.median(times)) / STEPS


def main() -> None:
    """Measure and print."""
    plant = team()
    state = start(plant)
    plain = per_step(stepping(Simulator(plant), state))
    varied = per_step(
        stepping(Simulator_[AutoDiffXd](plant.ToAutoDiffXd()), InitializeAutoDiff(state))
    )
    print(
        json.dumps(
            {
                "version": version("drake"),
                "step_us": 1e6 * plain,
                "derivatives_in_steps": varied / plain,
                "directions": len(state),
            }
        )
    )


if __name__ == "__main__":
    main()
