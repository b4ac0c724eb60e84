"""Kremer et al. 2022 (aerial manipulators): the figures of the paper and of independent solutions beside ours.

Source: P. Kremer, J. L. Sanchez-Lopez, H. Voos, J. Intell. Robot. Syst. 105:74, 2022. Its flights are
curves without numbers; the reference values are those of other engines (Pinocchio, MuJoCo, PyBullet)
on the same systems, and closed forms. What is wrong in print: docs/theory/kremer_errata.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from transforms3d.quaternions import quat2mat

from rotor_core.config.loader import load_scenario
from rotor_core.state import FULL_STATE, State
from rotor_core.vehicles.articulated import ArticulatedVehicle
from rotor_dynamics.engine import Engine
from rotor_flight.fly import fly
from validation.oracles.kremer import QUATERNION
from validation.papers.kremer.flights import computed_torque, errors_of, pitch_hold, tracking
from validation.papers.kremer.vehicles import GRAVITY, chain, oracle, started, system_of, vehicle
from validation.papers.rows import Row

FROZEN_POSE = np.array([0.9, 0.1, -0.3, 0.2])
FROZEN = {
    1: {
        "angles": (0.6,), "rates": (0.7,),
        "bias": (41.832963166624, 4.564922287967, 54.531413895959, 0.263893091447, -5.579929049398, 0.325949670866,
                 -4.943190627472),
        "weight": (41.924842105263, 4.337052631579, 54.213157894737, 0.236878189390, -5.485826069379, 0.255680285756,
                   -4.886899753590),
        "inertia": (7.0, 7.0, 7.0, 0.627754467616, 0.800288247340, 1.123004779723, 0.253824),
    },
    2: {
        "angles": (0.6, -0.9), "rates": (0.7, -1.1),
        "bias": (45.072521740965, 4.815870491211, 58.877949851286, 0.225314635349, -7.004942112131, 0.379280713118,
                 -6.044247832771, -1.000827957384),
        "weight": (45.278829473684, 4.684016842105, 58.550210526316, 0.245332617449, -6.931793090217, 0.364819556390,
                   -5.997468037585, -0.965916051289),
        "inertia": (7.56, 7.56, 7.56, 0.584324394447, 0.871621413657, 1.238239019210, 0.328028078089, 0.041576),
    },
}  # fmt: skip
"""State vectors of section 7.1 of the specification: bias, weight and diagonal of M, by number of links."""

PAPER_COST = {0: 2.0, 1: 11.0, 2: 66.0, 3: 731.0}
PINOCCHIO_COST = {0: 0.71, 1: 1.10, 2: 1.49, 3: 1.82, 6: 2.86, 10: 4.18, 20: 7.51}
"""Forward dynamics by number of links, us: the paper on a Ryzen 1600X, Pinocchio's aba on a shared machine."""


def rigid_body() -> Iterator[Row]:
    """AM-T3 and AM-T1: frozen vectors; and the engine's accelerations by them."""
    q = FROZEN_POSE / np.linalg.norm(FROZEN_POSE)
    R = quat2mat(q)
    for n, data in FROZEN.items():
        v = vehicle(n)
        model = ArticulatedVehicle(v)
        model.place(np.array(data["angles"]))
        u = np.array([0.3, -0.2, 0.1, 0.5, -0.4, 0.2, *data["rates"]])
        gravity = R.T @ [0.0, 0.0, -GRAVITY]
        bias = model.bias(u, gravity)
        M = model.mass_matrix()
        name = f"{n} link{'s' * (n > 1)}"
        yield Row("AM-T3", f"bias, {name}", bias, np.array(data["bias"]), 1e-10)
        weight = model.bias(np.zeros(6 + n), gravity)
        yield Row("AM-T3", f"weight, {name}", weight, np.array(data["weight"]), 1e-10)
        yield Row("AM-T3", f"diagonal of M, {name}", np.diag(M), np.array(data["inertia"]), 1e-10)
        engine = Engine(system_of(v))
        states = np.zeros((n + 1, 13))
        State(states).attitude[:] = q
        State(states).velocity[0], State(states).body_rate[0] = R @ u[:3], u[3:6]
        engine.set_state(states, joints=np.stack([data["angles"], data["rates"]], axis=1))
        motion = engine.update_kinematics()[0]
        ours = np.concatenate(
            [
                R.T @ State(motion).acceleration - np.cross(u[3:6], u[:3]),
                State(motion).angular_acceleration,
                engine.joints.accelerations,
            ]
        )
        yield Row("AM-T1", f"accelerations, {name}", ours, np.linalg.solve(M, -bias), 1e-10)


def energy_and_momentum(engine: Engine) -> tuple[float, np.ndarray]:
    """Total energy, J, and linear momentum, kg m/s."""
    energy, momentum = 0.0, np.zeros(3)
    for body, s in zip(
        engine.system.bodies, engine.update_kinematics()[:, FULL_STATE], strict=True
    ):
        R = quat2mat(State(s).attitude)
        velocity = State(s).velocity + R @ np.cross(State(s).body_rate, body.com)
        J = np.zeros((3, 3)) if body.inertia_B is None else body.inertia_B
        height = (State(s).position + R @ body.com)[2]
        energy += (
            0.5 * body.mass * velocity @ velocity
            + 0.5 * State(s).body_rate @ J @ State(s).body_rate
        )
        energy += body.mass * GRAVITY * height
        momentum += body.mass * velocity
    return float(energy), momentum


def free_fall() -> Iterator[Row]:
    """AM-T6: V2 falls and tumbles for 2 s at 1 ms."""
    v = vehicle(2)
    engine = Engine(system_of(v))
    states = np.zeros((3, 13))
    State(states).attitude[:] = FROZEN_POSE / np.linalg.norm(FROZEN_POSE)
    State(states).body_rate[0] = (1.5, -1.0, 2.0)
    engine.set_state(states, joints=np.array([[0.6, 2.0], [-0.9, -3.0]]))
    energy, momentum = energy_and_momentum(engine)
    engine.run(2000)
    after, pushed = energy_and_momentum(engine)
    mass = sum(b.mass for b in engine.system.bodies)
    yield Row("AM-T6", "energy after 2 s, J", np.array(after), np.array(energy), 1e-7)
    fall = momentum - [0.0, 0.0, mass * GRAVITY * 2.0]
    yield Row("AM-T6", "momentum after 2 s, kg m/s", pushed, fall, 1e-8)


def flip_command(t: float) -> tuple[float, np.ndarray]:
    """Thrust, N, and moment, N m, of the backflip (7.6)."""
    pitch = -4.0 if t < 0.6 else (4.0 if 1.2 <= t < 1.8 else 0.0)
    return 70.0, np.array([0.0, pitch, 0.0])


def flip(step: float) -> tuple[Engine, float, float]:
    """The backflip of V1: the engine at its end, how far it turned (deg), its fastest rate (rad/s)."""
    engine = started(vehicle(1), np.array([1.0, 0.0, 0.0, 0.0]), np.array([np.pi / 4]), step=step)
    turned, fastest = 0.0, 0.0
    for i in range(round(2.0 / step)):
        thrust, moment = flip_command((i + 0.5) * step)
        engine.set_wrenches(np.array([[thrust, *moment]]))
        engine.run(1)
        rate = float(engine.update_kinematics()[0, 11])
        turned += rate * step
        fastest = max(fastest, abs(rate))
    return engine, abs(np.degrees(turned)), fastest


def backflip() -> Iterator[Row]:
    """AM-T14: through the pole of Euler angles, beside the paper's formulation at 480 Hz."""
    engine, turned, fastest = flip(1.0 / 480.0)
    yield Row("AM-T14", "turned, deg", np.array(turned), np.array(311.0), 0.5)
    yield Row("AM-T14", "fastest rate, rad/s", np.array(fastest), np.array(4.9), 0.05)
    paper = oracle(vehicle(1))
    z = np.zeros(16)
    z[3], z[7] = 1.0, np.pi / 4
    dt, worst = 1.0 / 480.0, 0.0
    for i in range(960):
        thrust, moment = flip_command((i + 0.5) * dt)
        force = np.array([0.0, 0.0, thrust, *moment, 0.0])
        z = paper.rk4_step(z, force, dt)
        worst = max(worst, abs(float(np.linalg.norm(z[QUATERNION])) - 1.0))
    ours = np.concatenate([engine.update_kinematics()[0, :7], engine.joints.angles])
    ours[QUATERNION] *= np.sign(ours[QUATERNION] @ z[QUATERNION])
    yield Row("AM-T14", "state at 2 s by both", ours, z[:8], 1e-5)
    yield Row(
        "AM-T14", "unity error of the paper's form", np.array(worst), np.array(4.3e-7), 0.1e-7
    )


def unity_error() -> Iterator[Row]:
    """AM-T8, AM-T9: explicit Euler, as in the paper, leaves |q| - 1 = dt^2 omega^2 / 8, and is of order one."""
    v, ends = vehicle(1), []
    for rate in (240, 960):
        paper = oracle(v)
        z = np.zeros(16)
        z[3], z[7] = 1.0, np.pi / 4
        dt, worst, peak = 1.0 / rate, 0.0, 0.0
        for i in range(rate // 2):
            wave = np.sin(4.0 * np.pi * i * dt)
            force = np.array([0.0, 0.0, 68.7, 0.5 * wave, 1.0 * wave, 0.2, -2.0 + wave])
            z = paper.euler_step(z, force, dt)
            peak = max(peak, float(2.0 * np.linalg.norm(z[11:15])))
            worst = max(worst, abs(float(np.linalg.norm(z[QUATERNION])) - 1.0))
        if rate == 240:
            ratio = worst / (dt**2 * peak**2 / 8.0)
            yield Row(
                "AM-T8", "unity error over dt^2 omega^2 / 8", np.array(ratio), np.array(1.0), 0.05
            )
        ends.append(z[:8])
    engine = started(v, np.array([1.0, 0.0, 0.0, 0.0]), np.array([np.pi / 4]))
    engine.set_sinusoid(
        0, [68.7, 0.0, 0.0, 0.2], [0.0, 0.5, 1.0, 0.0], np.full(4, 2.0), np.zeros(4)
    )
    engine.joints.oscillate(0, 1.0, 2.0, 0.0)
    engine.joints.act(np.array([-2.0]))
    engine.run(500)
    true = np.concatenate([engine.update_kinematics()[0, :7], engine.joints.angles])
    errors = [np.linalg.norm(end - true) for end in ends]
    ratio = errors[0] / errors[1]
    yield Row("AM-T9", "error of Euler at 240 Hz over 960 Hz", np.array(ratio), np.array(4.0), 0.4)


def forward_dynamics_us(n: int, rounds: int = 5, steps: int = 2000) -> float:
    """Time of one evaluation inside an RK4 step of a vehicle with n links, us (CPU time, best round)."""
    engine = started(chain(n), np.array([1.0, 0.0, 0.0, 0.0]), 0.3 * (-1.0) ** np.arange(n))
    engine.run(10)
    best = np.inf
    for _ in range(rounds):
        began = process_time()
        engine.run(steps)
        best = min(best, (process_time() - began) / (4 * steps))
    return 1e6 * float(best)


def cost() -> Iterator[Row]:
    """AM-T15: linear in the number of links, and under 4 us where the paper reports 731."""
    counts = np.array([3, 6, 10, 20])
    times = np.array([forward_dynamics_us(int(n)) for n in counts])
    exponent = np.polyfit(np.log(counts), np.log(times), 1)[0]
    yield Row(
        "AM-T15", "exponent of the cost, 3 to 20 links", np.array(exponent), np.array(1.0), 0.3
    )
    what = "forward dynamics of 3 links, us (Pinocchio 1.8, paper 731)"
    yield Row("AM-T15", what, np.array(times[0]), np.array(2.0), 2.0)


def curves() -> Figure:
    """The tracked flight, knowing and not knowing the arm, the backflip, and cost over links."""
    figure, axes = plt.subplots(2, 3, figsize=(14.0, 7.0), constrained_layout=True)
    flight = tracking()
    t = flight.time - 1.0
    axes[0, 0].plot(t, flight.references[:, 0, 2], "k--", lw=0.8, label="wanted")
    axes[0, 0].plot(t, flight.states[:, 0, 2], label="flown")
    axes[0, 0].set(title="height, computed torque", xlabel="t, s", ylabel="m")
    axes[0, 0].legend()
    errors = errors_of(flight)
    for name in ("roll", "pitch", "yaw"):
        axes[0, 1].plot(t, np.degrees(errors[name]), label=name)
    axes[0, 1].set(title="attitude error", xlabel="t, s", ylabel="deg")
    axes[0, 1].legend()
    for i in range(2):
        axes[0, 2].plot(t, np.degrees(flight.joint_references[:, i, 0]), "k--", lw=0.8)
        axes[0, 2].plot(t, np.degrees(flight.joints[:, i, 0]), label=f"theta{i + 1}")
    axes[0, 2].set(title="joints", xlabel="t, s", ylabel="deg")
    axes[0, 2].legend()
    for name in ("arm_coupled", "arm_uncoupled"):
        hover = fly(load_scenario(name))
        axes[1, 0].plot(hover.time - 1.0, 100.0 * hover.position_error()[:, 0], label=name)
    axes[1, 0].set(title="hover with a fast arm: error of x", xlabel="t, s", ylabel="cm")
    axes[1, 0].legend()
    step = 1.0 / 480.0
    engine = started(vehicle(1), np.array([1.0, 0.0, 0.0, 0.0]), np.array([np.pi / 4]), step=step)
    rates = []
    for i in range(960):
        thrust, moment = flip_command((i + 0.5) * step)
        engine.set_wrenches(np.array([[thrust, *moment]]))
        engine.run(1)
        rates.append(engine.update_kinematics()[0, 11])
    axes[1, 1].plot(step * np.arange(1, 961), np.degrees(np.cumsum(rates) * step))
    axes[1, 1].set(title="backflip: turned about y", xlabel="t, s", ylabel="deg")
    counts = sorted(PINOCCHIO_COST)
    axes[1, 2].loglog(
        [n + 6 for n in PAPER_COST], list(PAPER_COST.values()), "s-", label="paper (closed form)"
    )
    axes[1, 2].loglog(
        [n + 6 for n in counts], [PINOCCHIO_COST[n] for n in counts], "o-", label="Pinocchio"
    )
    axes[1, 2].loglog(
        [n + 6 for n in counts], [forward_dynamics_us(n) for n in counts], "^-", label="ours"
    )
    axes[1, 2].set(title="forward dynamics", xlabel="degrees of freedom", ylabel="us")
    axes[1, 2].legend()
    return figure


TITLE = "Kremer, Sanchez-Lopez and Voos 2022, beside ours"
NOTE = (
    "The paper shows its flights as curves only; reference values are those of other engines on the same systems, and "
    "closed forms. Times depend on the machine."
)
SECTIONS = {
    "rigid-body quantities": rigid_body,
    "free fall": free_fall,
    "backflip": backflip,
    "unity error": unity_error,
    "computed torque": computed_torque,
    "held at a pitch": pitch_hold,
    "cost": cost,
}
FIGURES = {"curves": curves}
