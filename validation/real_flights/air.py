"""The air around the Crazyflies of the recordings: inflow and jets of their rotors, drag of the payload."""

from __future__ import annotations

from dataclasses import replace

from rotor_core.config.air.wakes import Wakes
from rotor_core.config.model import DragCoefficients
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.inflow import Inflow

ROTOR_RADIUS = 0.0235
"""Of the propellers 47-17, m."""

PAYLOAD_DRAG = (3.6e-4,) * 3
"""Of a ball of 20 mm radius with a coefficient of 0.47, N s^2/m^2; the shape of the real payload is not told."""


def in_air(
    scenario: Scenario, *, inflow: bool = True, wakes: bool = True, drag: bool = True
) -> Scenario:
    """The scenario with what moves the air in it; blades and jets are those of the defaults.

    Args:
        scenario: a team with one payload.
        inflow: thrust depends on the air that moves through the rotors.
        wakes: rotors push jets of air down, on the payload and on each other; with inflow only.
        drag: of the payload.
    """
    model = scenario.model
    blades = Inflow() if inflow else None
    vehicles = tuple(
        replace(v, rotors=replace(v.rotors, radius_m=ROTOR_RADIUS, inflow=blades))
        for v in model.vehicles
    )
    coefficients = DragCoefficients(quadratic_n_s2_per_m2=PAYLOAD_DRAG) if drag else None
    load = replace(model.payloads[0], drag=coefficients)
    return replace(
        scenario,
        model=replace(model, vehicles=vehicles, payloads=(load,)),
        environment=replace(scenario.environment, wakes=Wakes() if wakes and inflow else None),
    )
