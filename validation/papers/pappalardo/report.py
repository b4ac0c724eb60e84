"""Pappalardo et al. 2023 (delivery quadcopter): its tables and what can be checked of it, beside ours.

Source: C. M. Pappalardo, M. Del Giudice, E. Baldassarre Oliva, L. Stieven, A. Naddeo, Machines 11(4) 464,
2023. Its flights cannot be repeated, because their references are not given: reference values are those
of the paper's tables, of its equations of motion solved another way, and of independent calculations
with its gains. What is wrong in print: docs/theory/pappalardo_errata.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rotor_control.laws.cascaded_pid import LOOPS
from rotor_core.config.controllers import CascadedPidControl
from rotor_core.config.environment import Air
from rotor_core.config.model import Vehicle
from rotor_core.state import State
from rotor_core.vehicles.rotors import rotor_set
from validation.oracles import pappalardo as oracle
from validation.papers.pappalardo import gain_study as study
from validation.papers.pappalardo.figures import flown
from validation.papers.pappalardo.flights import (
    FAULTS,
    altitude_step,
    cardan,
    dd1,
    delivery,
    errors,
    hover_speed,
    release,
    rotor_rpm,
    step_of,
    wind_step,
    with_fault,
)
from validation.papers.pappalardo.multibody import multibody
from validation.papers.pappalardo.unloading import Crate, unload
from validation.papers.rows import Row

LOADED, CAD, EMPTY = 10.0224, 9.973, 8.0224
"""Masses, kg: with parcel, as the CAD model weighs it, without."""

HOVER = {LOADED: 3167.43, CAD: 3159.62, EMPTY: 2833.83}
"""Speeds in hover, rpm, by the law of thrust in 15 deg C."""

TABLE_2 = """| Table 2 | m, kg | I_xx | I_yy | I_zz, kg m² |
|---|---|---|---|---|
| frame | 8 | 0.27 | 0.26 | 0.42 |
| propeller, each of 4 | 0.0056 | 9.8e-6 | 8.6e-4 | 8.6e-4 |
| payload | 2 | - | - | - |"""

TABLE_7 = ((0.2373, 0.2700, 0.0981), (0.0334, 0.0277, 0.0220))
"""RMS errors of x, y, z, m, and phi, theta, psi, rad, of a flight that the paper does not describe."""


def drone() -> Vehicle:
    """The shipped vehicle in the air of the shipped delivery."""
    return delivery().model.vehicles[0]


def mass_properties() -> Iterator[str | Row]:
    """Table 2."""
    yield TABLE_2
    yield (
        "A vehicle file has the sum of the parts (the paper's own total of 9.973 kg, section 7.1, is that of its CAD "
        "model). The inertia of a propeller is impossible: at most m r² = 4.4e-4 kg m² for 5.6 g within 0.28 m."
    )
    vehicle = drone()
    propeller = vehicle.rotors.propeller
    assert propeller is not None
    yield Row("Table 2", "mass without parcel, kg", vehicle.mass_kg, 8.0 + 4.0 * 0.0056, 1e-12)
    table = oracle.Drone.table_2(payload=0.0, blades="many")
    flight = oracle.Flight(
        np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3), np.zeros(4), np.zeros(4)
    )
    J = oracle.gyrostat_inertia(table, flight.angles, flight.speeds)[0]
    yield Row(
        "Table 2", "inertia of all, kg m^2", np.array(vehicle.inertia_kg_m2), np.diag(J), 1e-8
    )
    largest = propeller.largest_axial_inertia
    axial = propeller.inertia_kg_m2[2]
    yield Row(
        "DD-B15",
        "largest possible I_zz of a propeller is below the given one",
        largest,
        axial,
        at_most=True,
    )


def propulsion() -> Iterator[Row]:
    """DD-B1: coefficients and hover."""
    vehicle = drone()
    propeller, motor = vehicle.rotors.propeller, vehicle.rotors.motor
    assert propeller is not None and motor is not None
    yield Row("DD-B1", "C_T", propeller.thrust_coefficient, 0.0738031, 5e-8)
    yield Row("DD-B1", "C_d", propeller.drag_coefficient, 0.0271997, 5e-8)
    yield Row("DD-B1", "C_M", propeller.torque_coefficient, 0.00503344, 5e-9)
    yield Row("DD-B1", "torque over thrust, m", propeller.torque_per_thrust_m, 0.0381107, 5e-8)
    yield Row("DD-B1", "density, kg/m^3", Air().density, 1.225656, 5e-7)
    per_rpm2 = vehicle.rotors.thrust_n_per_rpm2
    for mass, speed in HOVER.items():
        yield Row("DD-B1", f"hover with {mass:g} kg, rpm", hover_speed(mass, per_rpm2), speed, 5e-3)
    ratio = hover_speed(EMPTY, per_rpm2) / hover_speed(LOADED, per_rpm2)
    yield Row("DD-B1", "speeds, empty over loaded", ratio, np.sqrt(EMPTY / LOADED), 1e-9)
    omega = rotor_set(vehicle.rotors).speeds(np.array([LOADED * 9.81, 0, 0, 0]))[0]
    drag = propeller.torque_per_thrust_m * LOADED * 9.81 / 4.0
    yield Row("DD-B1", "drag torque in hover, N m", drag, 0.93676, 5e-6)
    yield Row("DD-B1", "power of a rotor in hover, W", drag * omega, 310.7, 0.05)
    yield Row("(59)", "voltage in hover without load, V", omega / motor.speed_per_volt, 21.12, 5e-3)


def gains() -> Iterator[str | Row]:
    """DD-B10: poles, margins, and the limit of the heading."""
    scenario = delivery()
    control = scenario.controller
    assert isinstance(control, CascadedPidControl)
    lever = 4.0 * 0.351715
    J = 0.2745
    lines = ["| Table 6 | P | I | D |", "|---|---|---|---|"]
    for name in LOOPS:
        loop = getattr(control, name)
        lines.append(f"| {name.replace('_', ' ')} | {loop.p:g} | {loop.i:g} | {loop.d:g} |")
    yield "\n".join(lines)
    yield "The paper prints the gains of the inner roll loop negative: for angles counted the other way."
    yield (
        "Table 6 with forces per rotor and angles in radians (variant A; B takes the lift loop as newtons "
        "in all). With N = 100 1/s the "
        "tilt loop has a margin of 56 degrees: so much of a heading can stand between the axes of the "
        "angles and those of the moments before it is "
        "unstable, less with the loops around it. Turning the shares by the heading removes that limit."
    )
    for name, mass, share, poles in (
        ("A, loaded", LOADED, 4.0, (-5.42, -0.881 - 0.918j, -0.881 + 0.918j)),
        ("A, empty", EMPTY, 4.0, (-7.26, -0.857 - 0.881j, -0.857 + 0.881j)),
        ("B, loaded", LOADED, 1.0, (-1.085, -0.355 - 1.377j, -0.355 + 1.377j)),
    ):
        ours = study.lift_poles(control, mass, share)
        yield Row("DD-B10", f"lift, {name}: real parts, 1/s", np.real(ours), np.real(poles), 5e-3)
        yield Row("DD-B10", f"lift, {name}: imaginary parts", np.imag(ours), np.imag(poles), 1e-3)
    yaw = study.yaw_poles(control, 0.42898, 0.152444)
    yield Row(
        "DD-B10", "heading: real parts, 1/s", np.real(yaw), np.array([-0.951, -0.951, -0.647]), 1e-3
    )
    cascade = study.cascade_poles(control, J, lever, 100.0)
    wanted = np.array([-91.15, -49.90, -49.90, -8.02, -0.690, -0.225, -0.0802, -0.0255])
    yield Row("DD-B10", "x, N = 100: real parts, 1/s", np.real(cascade), wanted, 1e-2)
    inner = study.margin(study.inner_loop(control, J, lever, 100.0))
    outer = study.margin(study.outer_loop(control, J, lever, 100.0))
    yield Row(
        "DD-B10",
        "tilt: crossover, rad/s, margin, deg",
        np.array(inner),
        np.array([66.9, 56.0]),
        0.06,
    )
    yield Row(
        "DD-B10", "x: crossover, rad/s, margin, deg", np.array(outer), np.array([7.36, 75.1]), 0.06
    )
    both = [
        study.margin(study.inner_loop(control, j, lever, 100.0))[1] for j in (0.274511, 0.264511)
    ]
    yield Row(
        "DD-B10",
        "heading limit of the tilt loops alone (mean of both), deg",
        float(np.mean(both)),
        55.6,
        0.05,
    )
    flown = study.flown_poles(scenario)
    slow = cascade[np.real(cascade) > -10.0]
    nearest = np.array([flown[np.argmin(np.abs(flown - p))] for p in slow])
    yield Row(
        "DD-B10", "slow poles of x as flown: real parts, 1/s", np.real(nearest), np.real(slow), 1e-2
    )
    whole = np.degrees(
        study.limit_of(lambda a: study.cascade_poles(control, J, lever, 100.0, heading=a), 0.1, 1.4)
    )
    most = study.limit_of(
        lambda d: study.cascade_poles(control, J, lever, 100.0, delay=d), 1e-3, 0.5
    )
    yield (
        f"With the position loops around it, a heading of {whole:.1f} degrees is the limit without "
        f"turning; with turning there is none. Rotors may lag by up to "
        f"{1e3 * most:.0f} ms (tilt loop damped by 0.34 at 5 ms, 0.22 at 10 ms)."
    )


def responses() -> Iterator[str | Row]:
    """DD-B11, B12, B16: from hover."""
    yield "From a settled hover, wrenches at once, 1 kHz; anti-windup off for the step, as in the reference."
    for name, per_rotor, wanted in (
        ("A", True, (0.270, 0.658, 4.01)),
        ("B", False, (0.566, 0.754, 9.74)),
    ):
        flight = altitude_step(per_rotor=per_rotor)
        step = step_of(flight.time, flight.height)
        ours = np.array([step.overshoot, step.rise, step.settle])
        yield Row(
            "6", f"1 m up, {name}: overshoot, rise s, settling s", ours, np.array(wanted), 0.01
        )
    held = step_of(*(lambda f: (f.time, f.height))(altitude_step(per_rotor=True, anti_windup=True)))
    yield f"With anti-windup the overshoot of A is {100 * held.overshoot:.1f} %."
    for name, per_rotor, peak, when in (("A", True, 0.1228, 1.052), ("B", False, 0.5893, 1.456)):
        flight = release(per_rotor=per_rotor)
        k = int(flight.height.argmax())
        ours = np.array([flight.height[k], flight.time[k]])
        yield Row(
            "DD-B12", f"parcel released, {name}: rise m, at s", ours, np.array([peak, when]), 1e-3
        )
        jump = (flight.states[1, 9] - flight.states[0, 9]) / flight.time[1]
        yield Row("DD-B12", f"acceleration at once, {name}, m/s^2", jump, 2.4457, 1e-3)
    flight = release(per_rotor=True)
    per_rpm2 = drone().rotors.thrust_n_per_rpm2
    yield Row(
        "DD-B11",
        "speeds after it, rpm",
        np.sqrt(flight.thrusts[-1] / per_rpm2),
        np.full(4, 2833.83),
        5e-3,
    )
    gust = wind_step()
    k = int(np.abs(gust.states[:, 0]).argmax())
    ours = np.array([gust.states[k, 0], gust.time[k]])
    yield Row("DD-B16", "wind of 10 m/s: deviation m, at s", ours, np.array([0.0607, 3.67]), 0.03)
    pitch = cardan(State(gust.states).attitude[-1:])[0, 1]
    yield Row("DD-B16", "pitch in it, rad", pitch, -np.arctan(3.66 / (LOADED * 9.81)), 1e-5)


def mission() -> Iterator[str | Row]:
    """DD-B13: DD-1 with rotors, and Table 7."""
    yield (
        "DD-1: up 5 m, 5 m along x, 5 m along y, 45 degrees, down, with 10 to 15 s each; rotors with a "
        "lag of 5 ms. Table 7 is of a flight that the paper does "
        "not describe: its errors are given beside ours without a verdict."
    )
    flight = dd1()
    found = errors(flight)
    t = flight.time - flight.time[0]
    yield Row(
        "DD-B13", "RMSE of x, y, z, m", found.position, np.array([0.0130, 0.0130, 0.0784]), 8e-4
    )
    yield Row(
        "DD-B13", "RMSE of phi, theta, psi, rad", found.angles, np.array([1e-4, 1e-4, 1.7e-4]), 5e-5
    )
    yield Row("DD-B13", "largest tilt, rad", found.tilt, 0.0307, 3e-4)
    peak = State(flight.states).position[:, 0].max(axis=0)
    yield Row("DD-B13", "peaks of x, y, z, m", peak, np.array([5.0441, 5.0441, 5.0008]), 1e-3)
    x = flight.states[np.searchsorted(t, 20.0), 0, 0]
    yield Row("DD-B13", "x at 20 s, m", x, 2.47823, 1e-4)
    speeds = rotor_rpm(flight)[(t > 14.0) & (t < 60.0)]
    ours = np.array([speeds.min(), speeds.max()])
    yield Row("DD-B13", "rotor speeds from 14 to 60 s, rpm", ours, np.array([3159.2, 3175.7]), 0.5)
    below = t[np.flatnonzero(flight.states[:, 0, 2] > 0.05)[-1]]
    yield Row("DD-B13", "below 0.05 m after, s", below, 73.425, 0.05)
    yield Row("DD-B13", "stands at, m", flight.states[-1, 0, 2], -0.0049159, 5e-5)
    rms = ", ".join(f"{v:.4f}" for v in (*found.position, *found.angles))
    theirs = ", ".join(f"{v:.4f}" for row in TABLE_7 for v in row)
    yield f"Table 7 (x, y, z in m, phi, theta, psi in rad): paper {theirs}; DD-1 {rms}."


def unloading() -> Iterator[str | Row]:
    """Fig 28: the crate, the door, the conveyor."""
    crate = Crate()
    yield (
        "Four driven rollers push the pack through a door on a spring of 0.043 N m/rad (the paper) onto a "
        "conveyor; sizes and speeds are chosen (`Crate`). "
        "Bodies, joint and contacts of the engine."
    )
    found = unload(crate)
    finer = unload(crate, step=1.25e-4)
    yield Row(
        "Fig 28",
        "the pack goes with the conveyor, m/s",
        found.speed[-1],
        crate.conveyor_speed,
        1e-4,
    )
    yield Row("Fig 28", "it stands upright there, rad", found.angle[-1], 0.0, 1e-3)
    bottom = found.z[-1] - 0.5 * crate.pack_size[2]
    yield Row("Fig 28", "on the belt, m", bottom, -crate.conveyor_drop, 1e-3)
    yield Row("Fig 28", "the door closes again, rad", found.door[-1], 0.0, 1e-3)
    yield Row("Fig 28", "out after, s: half the step", found.out_after, finer.out_after, 0.02)
    early = np.searchsorted(found.time, 0.02)
    yield Row(
        "Fig 28",
        "first acceleration is mu g, m/s^2",
        found.speed[early] / found.time[early],
        0.3037 * 9.81,
        0.03,
    )


def faults() -> Iterator[str]:
    """Outcomes of flights with faults."""
    lines = ["| fault | how it ended | largest error, m | mission |", "|---|---|---|---|"]
    for name in FAULTS:
        flight, end = with_fault(name)
        worst = np.nanmax(np.linalg.norm(flight.position_error(), axis=1))
        lines.append(
            f"| {name.replace('_', ' ')} | {end.kind}: {end.text} | {worst:.2f} | "
            f"{flight.extra['mission']['message']} |"
        )
    yield (
        "`./rotor fly delivery_fault_...`: 30 % of one rotor's thrust gone, a gust of 10 m/s, a parcel of 4 "
        "kg instead of 2, half the voltage, no position for 0.5 s."
    )
    yield "\n".join(lines)


def left_out() -> Iterator[str]:
    """Quantities that the paper leaves out."""
    yield (
        "Not in the paper: reference trajectories and phase times, wind history and its generator, limits "
        "of thrust and speed, contact stiffness and where the skids touch, derivative filter, "
        "number of blades, units of the gains, place of the payload, size and speed of crate and rollers, "
        "solver and step. Its tables 2 and 6 can be checked and used; table 7 and its curves "
        "cannot be repeated. Table 8 (hover 19.3 min, tilt 58.9 deg) is from an online estimator; 444 Wh "
        "over the 1242.9 W of four rotors in hover are 21.4 min."
    )


TITLE = "Pappalardo et al. 2023, the delivery quadcopter, beside ours"
NOTE = (
    "References are the paper's tables, its own equations solved another way, and independent calculations "
    "with its gains; its curves have no numbers, and their references are not given."
)
SECTIONS = {
    "parts (Table 2)": mass_properties,
    "propulsion": propulsion,
    "multibody": multibody,
    "gains (Table 6)": gains,
    "responses": responses,
    "mission (Table 7)": mission,
    "unloading": unloading,
    "faults": faults,
    "what the paper leaves out": left_out,
}
FIGURES = {"delivery": flown}
