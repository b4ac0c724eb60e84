"""Palacios Uyaguari and Olguin-Diaz (helicopter with 13 degrees of freedom): what it claims, run on the engine.

Source: V. D. Palacios Uyaguari, E. Olguin Diaz, Non-inertial modeling and efficient simulation of a miniature
R/C helicopter using the Body Decomposition Approach, about 2012. The paper has the topology and no number: data
are those of the MIT X-Cell .60 (Gavrilets 2015), reference values an independent calculation with them, closed
forms of rotor theory, and the recursion of the paper itself. What is wrong in print: docs/theory/palacios_errata.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from transforms3d.euler import quat2euler

from rotor_core.state import State
from rotor_core.vehicles.hover import hover
from rotor_dynamics.engine import Engine
from rotor_sim.analysis.rotor_stand import RotorStand
from rotor_sim.analysis.trim import trim
from rotor_sim.analysis.trim_report import harmonics
from rotor_sim.plant.system import system_from_scenario
from validation.oracles.palacios import base_of_twist, sweep
from validation.oracles.palacios_helicopter import Helicopter
from validation.oracles.palacios_lagrange import ExplicitLagrange
from validation.papers.palacios.flights import (
    DENSITY,
    FLAP,
    GRAVITY,
    OMEGA,
    ORDERS,
    PITCH,
    drift,
    hold_attitude,
    hovering,
    powers,
    scenario_of,
    vehicle,
)
from validation.papers.rows import Row

TITLE = "Palacios and Olguin-Diaz: a helicopter with 13 degrees of freedom"
NOTE = (
    "The paper has a method and a topology, no numbers and no plots. Data: MIT X-Cell .60; reference: an "
    "independent calculation with the same data, closed forms, or the paper's own recursion. Errata: "
    "docs/theory/palacios_errata.md."
)

DEGREE = np.radians(1.0)

HOVER = {  # collective, tail force, roll, inflow, thrust, torque, mean flap, mean lag
    "flap-pitch-lag": (0.09506, 6.9216, 0.07836, 4.1650, 80.195, 6.2986, 0.02481, 0.02756),
    "pitch-flap-lag": (0.09502, 6.9215, 0.07828, 4.1650, 80.196, 6.2985, 0.02520, 0.02780),
}
NAMES = (
    "collective, rad",
    "tail force, N",
    "roll, rad",
    "inflow, m/s",
    "thrust, N",
    "torque, N m",
    "flap, rad",
    "lag, rad",
)
BOUNDS = (1e-4, 0.01, np.radians(0.05), 0.005, 0.01, 0.02, 1e-4, 1e-4)


def hover_trim() -> Iterator[str | Row]:
    """HE-T10, T15: hover."""
    for order, reference in HOVER.items():
        found = hovering(order)
        loads = {k.split(".")[1]: v for k, v in found.loads.items()}
        ours = (
            loads["pitch_mean_rad"], found.commands[0, 3], quat2euler(State(found.states).attitude[0])[0],
            loads["inflow_m_s"], loads["thrust_n"], loads["torque_n_m"], loads["flap_mean_rad"],
            loads["lag_mean_rad"],
        )  # fmt: skip
        for name, value, theirs, bound in zip(NAMES, ours, reference, BOUNDS, strict=True):
            yield Row("HE-T10", f"{order}: {name}", value, theirs, bound)
        yield Row("HE-T10", f"{order}: residual", found.residual, 1e-6, at_most=True)
        mirrored = hovering(order, "ccw")
        mirror = np.array([1.0, -1.0, 1.0, -1.0])
        yield Row(
            "HE-T15", f"{order}: commands of the mirror image", mirrored.commands[0],
            mirror * found.commands[0], 1e-6,
        )  # fmt: skip
    at_rest = _closed_forms()
    found = hovering("flap-pitch-lag")
    yield (
        "Closed forms of (B.10)-(B.14) beside the trimmed flight: a per cent apart, because a hinged blade is not a "
        "disc."
    )
    for name, value, closed in (
        ("collective, rad", found.loads["heli1.pitch_mean_rad"], at_rest.collective),
        ("torque, N m", found.loads["heli1.torque_n_m"], at_rest.torque),
        ("inflow, m/s", found.loads["heli1.inflow_m_s"], at_rest.inflow),
    ):
        yield Row("closed form", name, value, closed, 0.01 * closed)


def _closed_forms():
    one = vehicle()
    assert one.helicopter is not None
    return hover(one.helicopter, one.total_mass * GRAVITY, GRAVITY, DENSITY)


def flapping() -> Iterator[str | Row]:
    """HE-T7, T9: response of the disc to the swashplate, thrust of a stiff rotor."""
    for stiffness, phase, gain, coning in ((0.0, 90.0, 1.0, 0.0238), (54.0, 83.73, 0.9940, 0.0227)):
        for turns in ("cw", "ccw"):
            flap = FLAP if stiffness else type(FLAP)("flap")
            rig = RotorStand(
                vehicle(hinges=(flap, PITCH), turns=turns),
                collective=0.0959,
                sine=DEGREE,
                inflow=4.17,
            )
            rig.turn(30)
            mean, cosine, sine = harmonics(rig.angles("flap"))
            behind = np.degrees(np.arctan2(sine, cosine)) % 360.0 - 90.0
            label = f"K = {stiffness:g} N m/rad, {turns}"
            yield Row("HE-T7", f"{label}: disc behind the swashplate, deg", behind, phase, 0.1)
            yield Row(
                "HE-T7", f"{label}: tilt over cyclic", np.hypot(cosine, sine) / DEGREE, gain, 2e-3
            )
            yield Row("HE-T7", f"{label}: coning, rad", mean, coning, 1e-4)
    rig = RotorStand(vehicle(hinges=(PITCH,)), collective=0.0951, inflow=4.165)
    thrust, torque = rig.mean()
    yield Row("HE-T9", "thrust of a stiff rotor, N", thrust, 79.344, 0.01)
    yield Row("HE-T9", "the same against the closed form, N", thrust, 79.19, 0.4)
    yield Row("HE-T9", "torque of a stiff rotor, N m", torque, 6.2810, 1e-3)


def in_vacuo() -> Iterator[str | Row]:
    """HE-T6: energy and momentum in a tumble of half a second without air."""
    yield (
        "Half a second of tumbling at 167 rad/s; asked for is 1e-9 of the energy and 1e-7 of the angular momentum at "
        "360 steps per turn."
    )
    lines = ["| K, N m/rad | steps per turn | energy | angular momentum |", "|---|---|---|---|"]
    rows = []
    for stiffness in (0.0, 54.0):
        found = {n: drift(stiffness, n) for n in (90, 180, 360, 720)}
        lines += [f"| {stiffness:g} | {n} | {e:.1e} | {m:.1e} |" for n, (e, m) in found.items()]
        energy, momentum = found[360]
        rows.append(
            Row(
                "HE-T6",
                f"K = {stiffness:g}: energy, 360 steps per turn",
                energy,
                1e-9,
                at_most=True,
            )
        )
        rows.append(
            Row("HE-T6", f"K = {stiffness:g}: angular momentum", momentum, 1e-7, at_most=True)
        )
        ratio = found[180][0] / found[360][0]
        rows.append(
            Row(
                "HE-T6",
                f"K = {stiffness:g}: energy, half the step",
                ratio,
                16.0,
                0.15 * 16.0,
            )
        )
    yield "\n".join(lines)
    yield from rows


def power_balance() -> Iterator[str | Row]:
    """HE-T12: power in hover."""
    found = powers()
    lines = [
        "| | W |",
        "|---|---|",
        *(f"| {name} | {value:.5f} |" for name, value in found.items()),
    ]
    yield "\n".join(lines)
    yield Row(
        "HE-T12",
        "sum of all over shaft power",
        abs(sum(found.values())) / found["shaft"],
        1e-6,
        at_most=True,
    )
    yield Row("HE-T12", "shaft power, W", found["shaft"], 1052.0, 0.5)


def attitude_hold() -> Iterator[str | Row]:
    """HE-T14, T16: attitude hold."""
    flight = hold_attitude()
    table = {
        0.5: (-1.32, 0.33, 2.27),
        1.0: (0.26, 0.47, 0.99),
        2.0: (-0.04, 0.18, 0.14),
        3.0: (-0.04, 0.09, 0.04),
    }
    for when, errors in table.items():
        ours = flight.errors[np.searchsorted(flight.time, when)]
        yield Row(
            "HE-T14", f"errors of roll, pitch, yaw at {when:g} s, deg", ours, np.array(errors), 0.12
        )
    last = np.abs(flight.errors[np.searchsorted(flight.time, 3.0), :2])
    yield Row("HE-T14", "roll and pitch at 3 s, deg", last, np.full(2, 0.2), at_most=True)
    yield Row("HE-3", "height, largest, m", np.abs(flight.height).max(), 0.015, at_most=True)
    # the reference began with blades 0.4 % below their command: less lift, less torque
    slowest = np.abs(flight.speed - OMEGA).max()
    yield Row("HE-3", "speed of the rotor, largest error, rad/s", slowest, 0.04, 0.03)
    yield Row(
        "HE-T16",
        "damped period of roll over that of the simple model",
        roll_period() / simple_period(),
        1.0,
        0.25,
    )


def roll_period() -> float:
    """Damped period of roll in the attitude hold, s: twice the time between the first two turning points."""
    flight = hold_attitude()
    smooth = np.convolve(
        flight.errors[:, 0], np.ones(60) / 60.0, mode="valid"
    )  # half a turn of vibration
    slopes = np.sign(np.diff(smooth))
    turning = np.flatnonzero(np.diff(slopes) != 0.0)
    first = turning[smooth[turning] < -0.5][0]
    second = turning[(turning > first) & (smooth[turning] > 0.0)][0]
    return 2.0 * float(flight.time[second] - flight.time[first])


def simple_period() -> float:
    """The same by the model of Gavrilets: a disc that tilts with one lag under a rigid fuselage (L0), s."""
    one, at_rest = vehicle(), _closed_forms()
    stiffness = at_rest.hub_moment / np.ravel(one.inertia_kg_m2)[0]
    rate = 1.0 / at_rest.flap_time
    roots = np.roots([1.0, rate, stiffness, stiffness * rate * 0.15])
    return 2.0 * np.pi / float(np.abs(roots.imag).max())


def _microseconds(call: Callable[[], object], count: int, repeats: int = 5) -> float:
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - began) / count)
    return 1e6 * best


def cost() -> Iterator[str | Row]:
    """Cost of one evaluation of the equations of motion."""
    tree = Helicopter().tree()
    rng = np.random.default_rng(1)
    q, rates = (
        rng.uniform(-0.2, 0.2, 7),
        np.concatenate([rng.normal(size=6), rng.normal(0.0, 20.0, 7)]),
    )
    base = base_of_twist(np.eye(3), rates[:6])
    lagrange = ExplicitLagrange(tree)
    x, x_dot = np.concatenate([np.zeros(6), q]), rates
    engine = Engine(system_from_scenario(scenario_of(vehicle())), step=2.0 * np.pi / OMEGA / 90.0)
    states = np.zeros((len(engine.system.bodies), 13))
    states[:, 3] = 1.0
    joints = np.zeros((7, 2))
    joints[0, 1] = OMEGA
    engine.swash.write_inflow(np.array([4.17]))
    engine.set_state(states, joints=joints)
    ours = _microseconds(lambda: engine.run(1000), 1) / 1000.0
    recursion = _microseconds(lambda: sweep(tree, base, q, rates[6:]).bias(), 20)
    explicit = _microseconds(lambda: lagrange.bias(x, x_dot), 5)
    yield (
        "| | µs |\n|---|---|\n"
        f"| one step of the engine: four evaluations with 12 stations per blade, inflow, events | {ours:.1f} |\n"
        f"| recursion of the paper in NumPy: mass matrix and bias | {recursion:.0f} |\n"
        f"| explicit Lagrangian form (Christoffel symbols by complex steps) in NumPy | {explicit:.0f} |\n\n"
        f"The paper claims that its recursion is cheaper, without a figure: {explicit / recursion:.1f} times here, in "
        "one language. Times are of the machine that made this page; tests do not look at them."
    )


def forward_flight() -> Iterator[str | Row]:
    """Steady flight at growing speed: power and attitude (no reference values; the shape is the known one)."""
    lines = [
        "| speed, m/s | power, W | collective, deg | pitch (nose down), deg | inflow, m/s |",
        "|---|---|---|---|---|",
    ]
    for speed in (0.0, 5.0, 10.0, 15.0, 20.0):
        found = trim(scenario_of(vehicle()), (speed, 0.0, 0.0))
        pitch = np.degrees(quat2euler(State(found.states).attitude[0])[1])
        lines.append(
            f"| {speed:g} | {found.loads['heli1.power_w']:.0f} | {np.degrees(found.commands[0, 0]):.2f} | "
            f"{pitch:.2f} | {found.loads['heli1.inflow_m_s']:.2f} |"
        )
    yield "\n".join(lines)


def flights() -> Figure:
    """Attitude hold, and flapping over one turn in hover."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 3.8))
    flight = hold_attitude()
    for i, name in enumerate(("roll", "pitch", "yaw")):
        left.plot(flight.time, flight.errors[:, i], label=name, lw=1.0)
    left.set(xlabel="t, s", ylabel="error, deg", title="Attitude hold from 5, -4, 3 deg")
    left.legend()
    left.grid(alpha=0.3)
    for order in ORDERS:
        found = hovering(order)
        loads = {k.split(".")[1]: v for k, v in found.loads.items()}
        psi = np.linspace(0.0, 2.0 * np.pi, 181)
        flap = (
            loads["flap_mean_rad"]
            + loads["flap_cosine_rad"] * np.cos(psi)
            + loads["flap_sine_rad"] * np.sin(psi)
        )
        right.plot(np.degrees(psi), np.degrees(flap), label=order)
    right.set(
        xlabel="azimuth from the tail, deg",
        ylabel="flap angle, deg",
        title="Hover: mean and first harmonic",
    )
    right.legend()
    right.grid(alpha=0.3)
    figure.tight_layout()
    return figure


SECTIONS = {
    "Hover trim": hover_trim,
    "Flapping and thrust on a stand": flapping,
    "In vacuo": in_vacuo,
    "Power balance": power_balance,
    "Attitude hold": attitude_hold,
    "Forward flight": forward_flight,
    "Cost": cost,
}
FIGURES = {"flights": flights}
