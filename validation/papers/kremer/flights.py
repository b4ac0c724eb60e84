"""Controlled flights of Kremer et al. 2022: the reference flight AM-1, and being held at a pitch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
from transforms3d.euler import euler2quat

from rotor_control.laws.manipulator import ManipulatorLaw
from rotor_core import reference as ref
from rotor_core.config.controllers import ManipulatorControl
from rotor_core.config.loader import load_scenario
from rotor_core.config.model import Vehicle
from rotor_core.config.yaml.units import rpy_from_wxyz
from rotor_core.state import State
from rotor_flight.flight import Flight, rms
from rotor_flight.fly import fly
from validation.papers.kremer.vehicles import GRAVITY, started, vehicle
from validation.papers.rows import Row

TRACKING = {
    "z": 0.0132,
    "roll": 0.0096,
    "pitch": 0.0168,
    "yaw": 0.0028,
    "theta1": 0.0342,
    "theta2": 0.0168,
}
"""RMS errors of the reference flight AM-1 in the literal reading, m and rad."""

CORRECTED = {"roll": 0.046, "pitch": 0.043, "yaw": 0.017}
Reading = Literal["literal", "corrected", "corrected_x4"]
READINGS: tuple[Reading, ...] = ("literal", "corrected", "corrected_x4")
HOLDS: dict[Reading, dict[float, float]] = {
    "literal": {10.0: 0.0070, 15.0: 0.0186, 20.0: 0.0358, 30.0: 0.0886},
    "corrected": {10.0: 0.0076, 15.0: 0.0204, 20.0: 0.0403, 30.0: 0.1088},
}
"""Height error of V2 held at a pitch (deg), ideal actuators, m."""


def tracking(
    reading: Reading = "literal", lags: tuple[float, float] = (0.1, 0.05), *, limits: bool = True
) -> Flight:
    """The flight AM-1, with other time constants of rotors and joints (s), within the limits of the rotors or not."""
    scenario = load_scenario("kremer_tracking")
    own = scenario.model.vehicles[0]
    joints = tuple(replace(j, lag_s=lags[1]) for j in own.joints)
    own = replace(own, rotors=replace(own.rotors, lag_s=lags[0]), joints=joints)
    assert isinstance(scenario.controller, ManipulatorControl)
    return fly(
        replace(
            scenario,
            model=replace(scenario.model, vehicles=(own,)),
            controller=replace(scenario.controller, reading=reading),
            actuation=replace(scenario.actuation, limits=limits),
        )
    )


def errors_of(flight: Flight) -> dict[str, np.ndarray]:
    """Wanted minus actual height, attitude and joints over time."""
    wanted = flight.references[:, 0]
    turn = np.array([rpy_from_wxyz(q) for q in State(flight.states).attitude[:, 0]])
    aim = np.array([rpy_from_wxyz(q) for q in wanted[:, ref.ATTITUDE : ref.ATTITUDE + 4]])
    joints = flight.joint_references[:, :, 0] - flight.joints[:, :, 0]
    out = {"z": wanted[:, ref.POSITION + 2] - flight.states[:, 0, 2]}
    out |= {name: aim[:, i] - turn[:, i] for i, name in enumerate(("roll", "pitch", "yaw"))}
    return out | {f"theta{i + 1}": joints[:, i] for i in range(joints.shape[1])}


def computed_torque() -> Iterator[Row]:
    """AM-T11: the flight AM-1 in the readings of the specification."""
    flight = tracking()
    errors = errors_of(flight)
    for name, theirs in TRACKING.items():
        what = f"RMS error of {name}, literal"
        yield Row("AM-T11", what, np.array(rms(errors[name])), np.array(theirs), factor=1.1)
    held = (flight.time - 1.0 > 9.5) & (flight.time - 1.0 <= 10.0)
    yield Row(
        "AM-T11",
        "z error while pitched, m",
        np.array(np.mean(errors["z"][held])),
        np.array(0.0239),
        0.002,
    )
    errors = errors_of(tracking("corrected"))
    for name, theirs in CORRECTED.items():
        what = f"RMS error of {name}, corrected"
        yield Row("AM-T11", what, np.array(rms(errors[name])), np.array(theirs), factor=1.1)
    # at lags of 0.2 s joint 2 is marginal (K_v = T K_p), so what remains depends on every detail
    for reading in READINGS:
        pitch = errors_of(tracking(reading, (0.2, 0.2), limits=False))["pitch"]
        lost = np.array(float(np.max(np.abs(pitch)) > 1.0))
        what = f"{reading} with lags 0.2 s is lost (1: yes)"
        yield Row("AM-T11", what, lost, np.array(float(reading != "corrected")), 0.0)
        if reading == "corrected":
            what = "RMS error of pitch, corrected, lags 0.2 s (marginal)"
            yield Row("AM-T11", what, np.array(rms(pitch)), np.array(0.089), factor=2.0)


def held(v: Vehicle, reading: Reading, pitch_deg: float, seconds: float = 8.0) -> float:
    """Height error after being held at a pitch, ideal actuators, m."""
    control = load_scenario("kremer_tracking").controller
    assert isinstance(control, ManipulatorControl)
    period = 1.0 / 240.0
    law = ManipulatorLaw(v, replace(control, reading=reading), GRAVITY, period)
    reference = np.zeros(ref.REFERENCE)
    reference[ref.ATTITUDE : ref.ATTITUDE + 4] = euler2quat(0.0, np.radians(pitch_deg), 0.0)
    angles = np.array([j.initial for j in v.moving_joints])
    wanted = np.stack([angles, 0.0 * angles, 0.0 * angles], axis=1)
    engine = started(v, np.array([1.0, 0.0, 0.0, 0.0]), angles, step=period / 4)
    for _ in range(round(seconds / period)):
        joints = np.stack([engine.joints.angles, engine.joints.rates], axis=1)
        wrench, efforts = law(engine.update_kinematics()[0], joints, reference, wanted)
        engine.joints.write_efforts(efforts)
        engine.set_wrenches(wrench[None])
        engine.run(4)
    return -float(engine.update_kinematics()[0, 2])


def pitch_hold() -> Iterator[Row]:
    """AM-T12: without arm by a closed form, with the arm beside another engine."""
    bare = replace(vehicle(2), links=(), joints=())
    for angle in (10.0, 20.0, 30.0):
        a = np.radians(angle)
        closed_forms: dict[Reading, float] = {
            "literal": GRAVITY * np.sin(a) ** 2 / (30.0 * np.cos(a)),
            "corrected": GRAVITY * np.tan(a) ** 2 / 30.0,
        }
        for reading, closed in closed_forms.items():
            found = held(bare, reading, angle)
            yield Row(
                "AM-T12",
                f"z error at {angle:g} deg, no arm, {reading}",
                np.array(found),
                np.array(closed),
                1e-4,
            )
    for reading, table in HOLDS.items():
        for angle, theirs in table.items():
            found = held(vehicle(2), reading, angle)
            yield Row(
                "AM-T12",
                f"z error at {angle:g} deg, V2, {reading}",
                np.array(found),
                np.array(theirs),
                5e-4,
            )
