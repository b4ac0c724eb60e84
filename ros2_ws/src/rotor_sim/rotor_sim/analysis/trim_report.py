"""Loads of a steady flight, and which limits of the vehicles it would break."""

from __future__ import annotations

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.vehicles.rotors import THRUST_TOLERANCE, rotor_set
from rotor_sim.actuation.helicopter import COLLECTIVE, LATERAL, LONGITUDINAL, TAIL
from rotor_sim.analysis.trim_state import SteadyWorld


def harmonics(values: np.ndarray) -> tuple[float, float, float]:
    """Mean, cosine and sine part of the first harmonic of equally spaced values over one turn from the tail on."""
    psi = 2.0 * np.pi * np.arange(len(values)) / len(values)
    cosine = 2.0 * float(np.mean(values * np.cos(psi)))
    return float(np.mean(values)), cosine, 2.0 * float(np.mean(values * np.sin(psi)))


def loads_of(world: SteadyWorld, x: np.ndarray, torques: np.ndarray) -> dict[str, float]:
    """Means over one period of what the vehicles bear, by name with unit; ``torques`` of the engines, (n,) N m."""
    world.begin(x)
    engine, heads = world.engine, world.heads
    rows: list[np.ndarray] = []
    angles: list[np.ndarray] = []
    tensions: list[np.ndarray] = []
    for _ in range(world.steps):
        swash = engine.swash
        rows.append(np.stack([swash.thrusts, swash.torques, swash.inflow, swash.air_powers]))
        angles.append(engine.joints.angles)
        tensions.append(engine.tensions.copy())
        engine.run(1)
    air, blades, pulls = np.array(rows), np.array(angles), np.array(tensions)
    out: dict[str, float] = {}
    for i, head in enumerate(heads.heads):
        name = world.scenario.model.vehicles[head.vehicle].name
        for what, series in zip(
            ("thrust_n", "torque_n_m", "inflow_m_s", "air_power_w"), air[:, :, i].T, strict=True
        ):
            out[f"{name}.{what}"] = float(np.mean(series))
        out[f"{name}.thrust_peak_to_peak_n"] = float(np.ptp(air[:, 0, i]))
        rotor = head.helicopter.main_rotor
        out[f"{name}.rotor_speed_rad_s"] = rotor.speed_rad_s
        out[f"{name}.power_w"] = float(torques[i]) * rotor.speed_rad_s
        for k, hinge in enumerate(rotor.hinges):
            mean, cosine, sine = harmonics(blades[:, head.joints.start + 1 + k])
            for part, value in (("mean", mean), ("cosine", cosine), ("sine", sine)):
                out[f"{name}.{hinge.type}_{part}_rad"] = value
    for k, name in enumerate(world.scenario.model.cable_names):
        out[f"{name}.tension_n"] = float(np.mean(pulls[:, k]))
    return out


def beyond_limits(
    scenario: Scenario,
    commands: np.ndarray,
    torques: np.ndarray,
    efforts: np.ndarray,
    tensions: dict[str, float],
) -> str:
    """The first limit that a steady flight would break, in words; empty if none."""
    helicopters = [v for v in scenario.model.vehicles if v.helicopter is not None]
    for vehicle, torque in zip(helicopters, torques, strict=True):
        command = commands[scenario.model.index(vehicle.name)]
        assert vehicle.helicopter is not None
        rotor, tail = vehicle.helicopter.main_rotor, vehicle.helicopter.tail_rotor
        low, high = rotor.collective_limits
        tilt = float(np.hypot(command[LATERAL], command[LONGITUDINAL]))
        power = torque * rotor.speed_rad_s
        for what, value, least, most, unit in (
            ("collective", command[COLLECTIVE], low, high, "rad"),
            ("tilt of the swashplate", tilt, 0.0, rad_from_deg(rotor.cyclic_deg), "rad"),
            ("tail force", command[TAIL], *tail.force_n, "N"),
            ("power", power, 0.0, vehicle.helicopter.engine.power_w, "W"),
        ):
            if not least <= value <= most:
                return (
                    f"{vehicle.name!r} would need a {what} of {value:.4g} {unit}, its range is {least:.4g} to "
                    f"{most:.4g}"
                )
    for i, vehicle in enumerate(scenario.model.vehicles):
        rotors = rotor_set(vehicle.rotors)
        if vehicle.helicopter is not None or not scenario.actuation.limits:
            continue
        # as commanded: the gain of the plant comes behind the limits
        thrusts = rotors.unmixing @ commands[i]
        low, high = rotors.thrust_limits
        if thrusts.max() > high + THRUST_TOLERANCE or thrusts.min() < low - THRUST_TOLERANCE:
            least, most = f"{thrusts.min():.4g}", f"{thrusts.max():.4g}"
            needed = most if least == most else f"{least} to {most}"
            return f"{vehicle.name!r} would need {needed} N of its rotors, each can give {low:.4g} to {high:.4g}"
    joints = [(v, j) for v in scenario.model.vehicles for j in v.moving_joints]
    for (vehicle, joint), effort in zip(joints, efforts, strict=True):
        if joint.effort is not None and abs(effort) > joint.effort:
            unit = "N" if joint.type == "prismatic" else "N m"
            return (
                f"{vehicle.name!r} would need {abs(effort):.4g} {unit} of the motor of joint {joint.name!r}, which "
                f"gives {joint.effort:.4g}"
            )
    for name, tension in tensions.items():
        if not tension > 0.0:
            return f"{name} would be slack"
    return ""
