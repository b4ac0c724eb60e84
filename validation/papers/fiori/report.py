"""Fiori 2019 (gyrostats and quadrotors over Lie groups): its systems, methods and figures, and what they should be.

Source: S. Fiori, Mathematics 7(10), 935, doi 10.3390/math7100935. The paper shows its results as
curves only; reference values are independent solutions (other methods at other steps agree with
them to the digits given). Errata: docs/theory/fiori_errata.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import Scenario
from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.state import FULL_STATE, State
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import Rotor, System
from rotor_sim.simulation import START_TIME, Simulation
from validation.oracles.gyrostat import four_bodies, symmetric_gyrostat
from validation.papers.rows import Row

GYROSTATS = {
    "g1": {
        60: ((0.0200990927, 0.0266166084, 0.0146322383), (0.0975855068, 0.1999121753, 0.2618939598)),
        300: ((0.0283316241, 0.0277812615, 0.0228557262), (-0.4766212430, -0.0509240759, -0.0463147884)),
        600: ((-0.0220597660, -0.0221793654, -0.0278585816), (-0.5659528713, 0.0290276831, 0.0866451123)),
    },
    "g2": {
        60: ((0.21257560, 0.14069647, 0.14819495), (-0.25324906, 0.88996100, -0.36297462)),
        300: ((0.08624626, -0.47914712, 0.08897703), (0.76855311, -0.12077222, -0.22945229)),
        600: ((-0.22579880, -0.44719094, 0.04042573), (-0.76764624, -0.43706021, 0.54739878)),
    },
    "g3": {
        60: ((0.0204527285, 0.0272863392, 0.0150106976), (0.0796673903, 0.1913587261, 0.2504277516)),
        300: ((0.0285930417, 0.0282904435, 0.0231894347), (-0.5092557076, -0.0624386552, -0.0651812861)),
        600: ((-0.0221718216, -0.0224453693, -0.0280852574), (-0.4934570776, 0.0824510268, 0.1296108765)),
    },
}  # fmt: skip
"""Body rate and diagonal of R by case and time."""

FORCING_PERIOD = 2.0 * np.pi * 20.0

CLOSED_FORM_ERRORS = {
    "euler": {0.03125: 0.297, 0.015625: 0.137},
    "erk4m": {0.125: 9.48e-6, 0.0625: 6.05e-7, 0.03125: 4.40e-8, 0.015625: 3.73e-9},
    "rkmk4": {0.125: 8.58e-6, 0.0625: 4.94e-7, 0.03125: 2.97e-8, 0.015625: 1.82e-9},
    "cf4": {0.125: 1.01e-5, 0.0625: 5.78e-7, 0.03125: 3.47e-8, 0.015625: 2.12e-9},
}
"""Attitude error of the closed-form gyrostat at t = 20, rad, by method and step."""

DRIFTS = {
    ("euler", 0.01): (5.8e-2, 0.66),
    ("euler", 0.001): (3.6e-3, 0.040),
    ("erk4m", 0.05): (1.3e-7, -2.1e-7),
    ("erk4m", 0.01): (1.0e-9, -7.8e-11),
    ("rkmk4", 0.05): (2.1e-8, -2.1e-7),
    ("rkmk4", 0.01): (1.7e-11, -7.8e-11),
}
"""Relative drift of the momentum in space and of energy after 100 time units."""

QUADROTORS = {
    (1, "half"): ((0.0, 0.0, 3.005669834), (0.0, 0.0, 0.003182066)),
    (1, "printed"): ((0.0, 0.0, 3.005669834), (0.0, 0.0, 0.003182066)),
    (2, "printed"): ((6.1e-6, -3.380229321, 2.590629293), (1.2e-5, -4.227349800, -0.802257478)),
    (3, "printed"): ((3.380229321, -6.1e-6, 2.590629293), (4.227349800, -1.2e-5, -0.802257478)),
    (4, "printed"): ((3.336561682, 3.336561682, 2.183637283), (4.113698489, 4.113698489, -1.581257409)),
    (2, "half"): ((3.1e-6, -1.706701517, 2.901148926), (6.0e-6, -2.157131951, -0.200690516)),
    (3, "half"): ((1.706701517, -3.1e-6, 2.901148926), (2.157131951, -6.0e-6, -0.200690516)),
    (4, "half"): ((1.701152386, 1.701152386, 2.797137457), (2.142565884, 2.142565884, -0.402880868)),
    (2, "os4"): ((4.3e-6, -2.404921094, 2.789687909), (8.4e-6, -3.028953044, -0.406922203)),
    (4, "os4"): ((2.389321203, 2.389321203, 2.583284161), (2.988120119, 2.988120119, -0.806104772)),
}  # fmt: skip
"""Position and velocity at 3 s by forward Euler at 1 ms, by experiment and thrust variant."""

EXACT_QUADROTORS = {
    (2, "printed"): (-3.386051443, 2.589489620),
    (2, "half"): (-1.709674983, 2.900861002),
}
"""y and z at 3 s of the exact solution."""


def gyrostat(case: str, method: str, step: float) -> Simulation:
    """The shipped scenario of a case, by another method or step."""
    scenario = load_scenario(f"gyrostat_{case}")
    time = replace(scenario.time, integrator=method, step_s=step, control_s=step)
    return Simulation(replace(scenario, time=time))


def run_to(simulation: Simulation, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Body rate and rotation matrix of the only body at t from the start."""
    steps = round((START_TIME + t - simulation.time) / simulation.scenario.time.step_s)
    simulation.engine.run(steps)
    state = simulation.engine.update_kinematics()[0]
    return State(state).body_rate.copy(), matrix(State(state).attitude)


def matrix(wxyz: np.ndarray) -> np.ndarray:
    """Rotation matrix of a quaternion."""
    return rotation_from(wxyz).as_matrix()


def angle(A: np.ndarray, B: np.ndarray) -> float:
    """Rotation angle between two attitudes."""
    return float(Rotation.from_matrix(A.T @ B).magnitude())


def quadrotor(experiment: int, variant: str, method: str = "euler") -> Simulation:
    """The shipped scenario of an experiment in one of the three readings of its thrust.

    ``half``: thrust b/2 Omega^2, as shipped; ``os4``: b Omega^2, with the paper's speeds about 2155
    rpm; ``printed``: thrust b/2 but moments of b, so twice the arm.
    """
    scenario = load_scenario(f"fiori_quadrotor_{experiment}")
    vehicle = scenario.model.vehicles[0]
    rotors = vehicle.rotors
    controller = scenario.controller
    if variant == "printed":
        rotors = replace(rotors, arm_m=2.0 * rotors.arm_m)
    if variant == "os4":
        rotors = replace(
            rotors,
            thrust_n_per_rpm2=2.0 * rotors.thrust_n_per_rpm2,
            torque_per_thrust_m=0.5 * rotors.torque_per_thrust_m,
        )
        command = controller.commands[0]  # type: ignore[union-attr]
        speeds = tuple(n - 3048.0 + 2155.0 for n in command.speeds_rpm)
        controller = replace(controller, commands=(replace(command, speeds_rpm=speeds),))  # type: ignore[type-var]
    model = replace(scenario.model, vehicles=(replace(vehicle, rotors=rotors),))
    time = replace(scenario.time, integrator=method)
    return Simulation(replace(scenario, model=model, time=time, controller=controller))


def fly_open_loop(simulation: Simulation, duration: float) -> np.ndarray:
    """State at the end of a flight with the constant commands of the scenario, (13,)."""
    from rotor_control.controller import make_controller

    scenario: Scenario = simulation.scenario
    controller = make_controller(scenario)
    simulation.act(controller.decide(simulation.motion, controller.references))
    simulation.engine.run(round(duration / scenario.time.step_s))
    return simulation.engine.update_kinematics()[0, FULL_STATE].copy()


def _torque_free(J: np.ndarray, h: np.ndarray, w0: np.ndarray, method: str, step: float) -> Engine:
    rotors = tuple(Rotor(0, axis, inertia=1.0) for axis in np.eye(3))
    engine = Engine(
        System((Body("gyrostat", 1.0, np.diag(J)),), rotors=rotors, gravity=0.0),
        step=step, integrator=method,
    )  # fmt: skip
    for i in range(3):
        engine.rotors.prescribe(i, float(h[i]), 0.0, 0.0, 0.0)
    engine.set_state(np.concatenate([np.zeros(3), [1.0, 0, 0, 0], np.zeros(3), w0])[None])
    return engine


def closed_form_rows() -> Iterator[Row]:
    """LG-A3: errors of the symmetric gyrostat at t = 20 beside those of independent code."""
    w0 = np.array([0.3, -0.2, 0.4])
    _, R = symmetric_gyrostat(500.0, 1000.0, 250.0, w0, 20.0)
    for method, errors in CLOSED_FORM_ERRORS.items():
        for step, theirs in errors.items():
            engine = _torque_free(
                np.array([500.0, 500, 1000]), np.array([0.0, 0, 250]), w0, method, step
            )
            engine.run(round(20.0 / step))
            ours = angle(matrix(State(engine.update_kinematics()).attitude[0]), R)
            what = f"attitude error, {method}, T = {step:g}"
            yield Row("LG-A3", what, np.array(ours), np.array(theirs), factor=1.2)


def drift_rows() -> Iterator[Row]:
    """LG-A4, LG-A5: drift of momentum and energy of an asymmetric gyrostat."""
    J, h = np.array([400.0, 500, 1000]), np.array([200.0, 200, 250])
    w0 = np.array([0.3, -0.2, 0.4])
    for (method, step), (momentum, energy) in DRIFTS.items():
        engine = _torque_free(J, h, w0, method, step)
        engine.run(round(100.0 / step))
        state = engine.update_kinematics()[0]
        before, after = J * w0 + h, matrix(State(state).attitude) @ (J * State(state).body_rate + h)
        drift = float(np.linalg.norm(after - before) / np.linalg.norm(before))
        change = float((J @ State(state).body_rate ** 2) / (J @ w0**2) - 1.0)
        # below 1e-10 the rounding of 10^4 steps, some 1e-12, shows in two printed digits
        factor = 1.2 if momentum > 1e-10 else 1.5
        by = f"{method}, T = {step:g}"
        yield Row(
            "LG-A4", f"momentum drift, {by}", np.array(drift), np.array(momentum), 0.0, factor
        )
        yield Row("LG-A5", f"energy change, {by}", np.array(change), np.array(energy), 0.0, 1.2)


def redundancy_rows() -> Iterator[Row]:
    """LG-A7: the reduced gyrostat against platform and rotors as four bodies, to t = 20."""
    for case, b in (("g1", 0.5), ("g2", 4.5)):
        w, R = run_to(gyrostat(case, "rkmk4", 0.01), 20.0)
        w4, R4 = four_bodies(
            np.array([478.0, 478, 978]),
            10.0,
            6.0,
            lambda t, b=b: np.array([20.0, 20, 25 * (1 + b * np.cos(t / 20))]),
            lambda t, b=b: np.array([0.0, 0, -25 * b / 20 * np.sin(t / 20)]),
            20.0,
            lambda w: -w - w**3 - np.array([0.0, 0, 200.0 * w[2]]),
        )
        yield Row("LG-A7", f"body rate, {case}, against four bodies", w, w4, 1e-9)
        yield Row("LG-A7", f"attitude, {case}, against four bodies", R, R4, 1e-9)


def table_rows() -> Iterator[Row]:
    """LG-A9: body rates and attitudes of the three gyrostats at T = 0.01 by the paper's method."""
    for case, table in GYROSTATS.items():
        simulation = gyrostat(case, "erk4m", 0.01)
        for t, (w_ref, diagonal) in table.items():
            w, R = run_to(simulation, t)
            tolerance = 1e-6 if case == "g2" else 1e-9
            yield Row("LG-A9", f"body rate, {case}, t = {t}", w, np.array(w_ref), tolerance)
            what = f"diagonal of R, {case}, t = {t}"
            yield Row("LG-A9", what, np.diag(R), np.array(diagonal), tolerance)


def periodicity_rows() -> Iterator[Row]:
    """LG-A10: G1 settles to the period of its forcing."""
    period = FORCING_PERIOD
    simulation = gyrostat("g1", "rkmk4", period / 12566)
    rates = [run_to(simulation, n * period)[0] for n in (6, 7)]
    yield Row("LG-A10", "body rate, g1, one period apart (6, 7)", rates[0], rates[1], 1e-12)


def quadrotor_rows() -> Iterator[Row]:
    """LG-A11: the four experiments by forward Euler in all readings, and exact solutions."""
    for (experiment, variant), (position, velocity) in QUADROTORS.items():
        end = fly_open_loop(quadrotor(experiment, variant), 3.0)
        for what, ours, theirs in (
            ("position", State(end).position, position),
            ("velocity", State(end).velocity, velocity),
        ):
            theirs = np.array(theirs)
            # side effects of yaw are printed with two digits only: half a unit of the last is 5e-7
            exact = np.abs(theirs) > 1e-4
            name = f"{what}, experiment {experiment}, {variant}"
            yield Row("LG-A11", name, ours[exact], theirs[exact], 1e-8)
            if not exact.all() and np.any(theirs[~exact]):
                yield Row("LG-A11", f"{name} (yaw)", ours[~exact], theirs[~exact], 5e-7)
    for (experiment, variant), exact in EXACT_QUADROTORS.items():
        end = fly_open_loop(quadrotor(experiment, variant, "rkmk4"), 3.0)
        what = f"y, z of experiment {experiment}, {variant}, rkmk4 against exact"
        yield Row("LG-A11", what, end[1:3], np.array(exact), 2e-9)


def curves() -> Figure:
    """Curves of the paper's figures 4, 5 and 6 to 10: entries of R over time, and the flights."""
    figure, axes = plt.subplots(2, 3, figsize=(11.0, 6.0), layout="constrained")
    for ax, case in zip(axes[0], GYROSTATS, strict=True):
        simulation = gyrostat(case, "erk4m", 0.01)
        times = np.linspace(0.0, 600.0, 1201)
        rotations = np.array([run_to(simulation, t)[1] for t in times])
        for i in range(3):
            ax.plot(times, rotations[:, i, i], lw=0.8, label=f"R{i + 1}{i + 1}")
        ax.set(title=f"gyrostat {case.upper()}", xlabel="time (the paper's minutes)")
    axes[0, 0].legend(loc="lower left", fontsize=8)
    flights = {}
    for experiment in (1, 2, 3, 4):
        simulation = quadrotor(experiment, "printed")
        fly_open_loop(simulation, 0.0)
        rows = []
        for _ in range(300):
            simulation.engine.run(10)
            rows.append(simulation.engine.update_kinematics()[0, :3].copy())
        flights[experiment] = np.array(rows)
    times = 0.01 * np.arange(1, 301)
    for ax, column, name in zip(axes[1], range(3), "xyz", strict=True):
        for experiment, track in flights.items():
            ax.plot(times, track[:, column], lw=1.0, label=f"experiment {experiment}")
        ax.set(title=f"quadrotor, {name} (m), thrust as printed", xlabel="time (s)")
    axes[1, 0].legend(fontsize=8)
    return figure


SECTIONS: dict[str, Callable[[], Iterator[Row]]] = {
    "Closed form": closed_form_rows,
    "Momentum and energy": drift_rows,
    "Four bodies": redundancy_rows,
    "Gyrostats G1 to G3": table_rows,
    "Periodic motion": periodicity_rows,
    "Quadrotor experiments": quadrotor_rows,
}
"""Reproduced results, in the order of the report."""

TITLE = "Fiori 2019: gyrostats and quadrotors over Lie groups"
NOTE = """Reference values are independent solutions: the paper prints curves only. Maps (LG-A1), orders
(LG-A2), degenerate cases (LG-A8) and signs (LG-A12, LG-A13) are tests. What the paper has wrong:
docs/theory/fiori_errata.md."""
FIGURES = {"curves": curves}
