"""Rotors on a stand and helicopters in free flight, built from the shipped vehicle, for tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rotor_core.config.environment import Air, Environment
from rotor_core.config.loader import load_scenario
from rotor_core.config.model import Model, Vehicle
from rotor_core.config.schema import Scenario, Timing
from rotor_core.config.vehicles.helicopter import Hinge
from rotor_sim.analysis.rotor_stand import RotorStand

OMEGA = 167.0
STANDARD = Air(temperature_c=273.0 * 1.293 / 1.225 - 273.0)
"""Of 1.225 kg/m^3, the density of the specification."""
FLAP, PITCH = Hinge("flap", stiffness_n_m_per_rad=54.0), Hinge("pitch")
LAG = Hinge("lag", 0.055, damping_n_m_s_per_rad=1.0)


def scenario() -> Scenario:
    return load_scenario("helicopter_hover")


def xcell(**rotor: object) -> Vehicle:
    """The shipped helicopter with some fields of its main rotor changed."""
    vehicle = scenario().model.vehicles[0]
    assert vehicle.helicopter is not None
    changed = replace(vehicle.helicopter.main_rotor, **rotor)  # type: ignore[arg-type]
    return replace(vehicle, helicopter=replace(vehicle.helicopter, main_rotor=changed))


def flying(
    vehicle: Vehicle, *, step: float = 2.0 * np.pi / OMEGA / 180.0, **environment: object
) -> Scenario:
    """A scenario with one helicopter that is controlled at every step."""
    environment.setdefault("air", STANDARD)
    return replace(
        scenario(),
        model=Model((vehicle,)),
        initial=(),
        time=Timing(step_s=step, control_s=step),
        environment=Environment(**environment),  # type: ignore[arg-type]
    )


def stand(vehicle: Vehicle, **options: float | None) -> RotorStand:
    """As the specification has it: its collective in hover, and an inflow that is held."""
    return RotorStand(vehicle, **{"collective": 0.0959, "inflow": 4.17, **options})  # type: ignore[arg-type]
