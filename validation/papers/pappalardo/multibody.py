"""The drone as bodies: the paper's equations, the minimal form, and the engine's propellers on joints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from transforms3d.quaternions import mat2quat, quat2mat

from rotor_core.config.schema import Actuation, Scenario
from rotor_core.state import State
from rotor_core.vehicles.rotors import rotor_set
from rotor_dynamics.engine import Engine
from rotor_sim.plant.system import system_from_scenario
from validation.oracles import pappalardo as oracle
from validation.papers.pappalardo.flights import delivery
from validation.papers.rows import Row


def tumbling(mode: str, *, true_blades: bool) -> tuple[Scenario, Engine, oracle.Drone]:
    """The loaded drone with propellers as bodies, and the oracle of the same numbers."""
    scenario = replace(
        delivery(),
        mission=None,
        actuation=Actuation(mode),
        environment=replace(delivery().environment, contact=None),
    )  # type: ignore[arg-type]
    vehicle = scenario.model.vehicles[0]
    rotors, propeller = vehicle.rotors, vehicle.rotors.propeller
    assert propeller is not None
    rotors = replace(rotors, propeller=replace(propeller, true_blades=true_blades))
    model = replace(scenario.model, vehicles=(replace(vehicle, rotors=rotors),))
    scenario = replace(scenario, model=model)
    step = 2.5e-4 if true_blades else 1e-3
    engine = Engine(system_from_scenario(scenario), step=step)
    table = oracle.Drone.table_2(blades="two" if true_blades else "many")
    table = replace(
        table, hubs=rotors.positions, thrust_coefficient=rotor_set(rotors).thrust_per_speed2,
        drag_ratio=rotors.torque_per_thrust_m,
    )  # fmt: skip
    return scenario, engine, table


SPEEDS = np.array([330.0, -300.0, 310.0, -340.0])
SPEED_RATES = np.array([20.0, -10.0, 15.0, 30.0])
"""Of four propellers, rad/s and rad/s^2, signed."""


def start_of_tumble() -> oracle.Flight:
    """Leaning, moving, turning."""
    tilt = quat2mat(np.array([0.9, 0.2, -0.3, 0.24]) / np.linalg.norm([0.9, 0.2, -0.3, 0.24]))
    return oracle.Flight(
        np.array([0.0, 0.0, 1.0]),
        tilt,
        np.array([0.3, -0.2, 0.1]),
        np.array([0.7, -0.5, 0.9]),
        np.zeros(4),
        SPEEDS,
    )


def law(t: float) -> tuple[np.ndarray, np.ndarray]:
    """Speeds of the propellers and their rates."""
    return SPEEDS + SPEED_RATES * t, SPEED_RATES


def place_tumble(engine: Engine, flight: oracle.Flight) -> None:
    """Put a world of propellers into the state of the oracle."""
    n = len(engine.system.bodies)
    states = np.zeros((n, 13))
    states[:, 3] = 1.0
    for row in states[:2]:  # drone and parcel, which sits in its middle
        State(row).position[:], State(row).attitude[:] = flight.p_WB, mat2quat(flight.R_WB)
        State(row).velocity[:], row[10:] = flight.v_WB, flight.omega_B
    for i in np.flatnonzero(engine.joints.is_driven):
        engine.joints.hold(int(i), 0.0)
    engine.set_state(states, joints=np.zeros((4, 2)))


def multibody() -> Iterator[str | Row]:
    """DD-B2 to B8: the paper's equations, the minimal form, and the engine's propellers."""
    yield (
        "One tumbling second with four different speed laws: the paper's 30 coordinates with multipliers, "
        "a minimal gyrostat (both in "
        "`oracles/pappalardo.py`), and the tree engine with propellers as bodies on driven joints."
    )
    start = start_of_tumble()
    for true_blades, bound in ((False, 1e-9), (True, 5e-9)):
        name = "two blades" if true_blades else "many blades"
        _, engine, table = tumbling("propellers", true_blades=true_blades)
        place_tumble(engine, start)
        for i in range(4):
            engine.joints.prescribe(i, np.array([0.0, SPEEDS[i], 0.5 * SPEED_RATES[i]]))
        engine.run(round(1.0 / engine.step_length))
        end = oracle.integrate_minimal(table, start, law, np.array([0.0, 1.0]))[-1]
        motion = engine.update_kinematics()[0]
        yield Row(
            "DD-B3",
            f"position, engine against minimal, {name}, m",
            State(motion).position,
            end.p_WB,
            bound,
        )
        R = quat2mat(State(motion).attitude).ravel()
        yield Row("DD-B3", f"attitude, {name}", R, end.R_WB.ravel(), bound)
        torques = oracle.newton_euler_torques(table, end, SPEED_RATES)
        yield Row(
            "DD-B4", f"motor torques, {name}, N m", engine.joints.driving_efforts, torques, 1e-7
        )
    _, _, table = tumbling("propellers", true_blades=False)
    path = oracle.integrate_dae(table, start, law, np.array([0.0, 1.0]))
    dae = oracle.flight_from(path[-1])
    end = oracle.integrate_minimal(table, start, law, np.array([0.0, 1.0]))[-1]
    yield Row(
        "DD-B3", "position, the paper's coordinates against minimal, m", dae.p_WB, end.p_WB, 2.5e-11
    )
    y = oracle.coordinates(start, table)
    kinematics = oracle.kinematics(y)
    rank = np.linalg.matrix_rank(oracle.constraint_jacobian(kinematics, table, "printed"))
    yield Row("DD-B2", "rank of the 32 rows", float(rank), 24.0)
    joints = law(0.0)
    few = oracle.accelerations(y, table, joints, "axial")[0]
    many = oracle.accelerations(y, table, joints, "printed")[0]
    yield Row("DD-B2", "accelerations, 32 rows against 24", many, few, 1e-10)
