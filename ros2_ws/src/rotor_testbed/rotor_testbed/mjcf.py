"""The reality of a scenario as a MuJoCo model.

Bodies are free (point masses slide along x, y and z), rotors are actuators at sites, cables are
spatial tendons with an upper limit on their length: they pull at their limit and are slack below.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rotor_core.config.model import Vehicle
from rotor_core.config.schema import Scenario
from rotor_testbed.reality import Reality
from rotor_testbed.settings import LaboratorySettings

CABLE_TIME_STEPS = 4.0
"""Time constant of the limit of a cable, in steps; MuJoCo admits 2 and more."""

CABLE_IMPEDANCE = (0.9995, 0.9999, 1e-4)
"""Least and greatest impedance of the limit, and the stretch between them, m."""

POINT_INERTIA = 1e-6
"""MuJoCo wants one of every body, kg m^2; a point mass cannot turn."""


def _text(values: Sequence[float] | np.ndarray) -> str:
    return " ".join(f"{float(v):.17g}" for v in values)


def _vehicle(
    i: int, vehicle: Vehicle, gain: float, settings: LaboratorySettings
) -> tuple[str, str]:
    """Sites of the rotors of a vehicle, and their actuators: thrust (N) in, with the lag of the motor."""
    rotors = vehicle.rotors
    sites, motors = "", ""
    lag = settings.motor_lag_s
    dynamics = f'dyntype="filter" dynprm="{lag}"' if lag > 0.0 else ""
    for k, (hub, axis, spin) in enumerate(
        zip(rotors.positions, rotors.axes, rotors.spins, strict=True)
    ):
        sites += f'<site name="r{i}_{k}" pos="{_text(hub)}" zaxis="{_text(axis)}"/>'
        # the air turns a rotor's vehicle against its spin
        gear = _text([0.0, 0.0, 1.0, 0.0, 0.0, -spin * rotors.torque_per_thrust_m])
        motors += f'<general site="r{i}_{k}" gear="{gear}" gainprm="{gain:.17g}" {dynamics}/>'
    return sites, motors


def _inertial(mass: float, inertia: np.ndarray) -> str:
    J = inertia if inertia.any() else POINT_INERTIA * np.eye(3)
    six = _text([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])
    return f'<inertial pos="0 0 0" mass="{mass:.17g}" fullinertia="{six}"/>'


def _cable_sites(scenario: Scenario) -> dict[str, str]:
    """Sites at the ends of all cables, by the name of the body (or ``world``) that they sit on."""
    sites: dict[str, str] = {}
    for k, cable in enumerate(scenario.model.cables):
        for end, name, point in (("a", cable.a, cable.a_point_m), ("b", cable.b, cable.b_point_m)):
            site = f'<site name="c{k}_{end}" pos="{_text(point)}"/>'
            sites[name] = sites.get(name, "") + site
    return sites


def mjcf(scenario: Scenario, reality: Reality, settings: LaboratorySettings) -> str:
    """The model file, with bodies in the order of ``model.entities``."""
    cable_sites = _cable_sites(scenario)
    bodies, motors = cable_sites.get("world", ""), ""
    for i, entity in enumerate(scenario.model.entities):
        sites = cable_sites.get(entity.name, "")
        if isinstance(entity, Vehicle):
            hubs, own = _vehicle(i, entity, float(reality.thrust_gains[i]), settings)
            sites, motors = sites + hubs, motors + own
        axes = ("1 0 0", "0 1 0", "0 0 1")
        slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in axes)
        joints = slides if entity.inertia_kg_m2 is None else "<freejoint/>"
        inertial = _inertial(reality.masses[i], reality.inertias[i])
        bodies += f'<body name="{entity.name}">{joints}{inertial}{sites}</body>'
    time_constant = CABLE_TIME_STEPS * settings.step_s
    tendons = "".join(
        f'<spatial limited="true" range="0 {length:.17g}" solreflimit="{time_constant} 1" '
        f'solimplimit="{_text(CABLE_IMPEDANCE)}"><site site="c{k}_a"/><site site="c{k}_b"/></spatial>'
        for k, length in enumerate(reality.lengths)
    )
    return (
        '<mujoco><compiler autolimits="false" angle="radian"/>'
        f'<option timestep="{settings.step_s}" integrator="RK4" '
        f'gravity="0 0 {-scenario.environment.gravity_m_s2}"/>'
        f"<worldbody>{bodies}</worldbody><tendon>{tendons}</tendon><actuator>{motors}</actuator></mujoco>"
    )
