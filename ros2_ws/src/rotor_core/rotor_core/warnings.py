"""Warnings about scenarios that are possible but implausible or unrealistic. They are reported, not refused."""

from __future__ import annotations

from math import pi

from rotor_core.config.model import Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.vehicles.hover import hover


def notes(scenario: Scenario) -> list[str]:
    """Notes for people, one per line."""
    out = [note for v in scenario.model.vehicles for note in _hover_notes(scenario, v)]
    for vehicle in scenario.model.vehicles:
        propeller = vehicle.rotors.propeller
        if propeller is None:
            continue
        axial, most = propeller.inertia_kg_m2[2], propeller.largest_axial_inertia
        if axial > most > 0.0:
            out.append(
                f"{vehicle.name}: rotors.propeller.inertia_kg_m2: {axial:g} kg m^2 about the axis is more than "
                f"{propeller.mass_kg:g} kg within {0.5 * propeller.diameter_m:g} m can have ({most:.3g})."
            )
    return out


def _hover_notes(scenario: Scenario, vehicle: Vehicle) -> list[str]:
    """Notes on controls and power that a helicopter with its load would need to hover and does not have."""
    environment, helicopter = scenario.environment, vehicle.helicopter
    if helicopter is None or not environment.gravity_m_s2 > 0.0:
        return []
    model = scenario.model
    hung = [c.b if c.a == vehicle.name else c.a for c in model.cables if vehicle.name in (c.a, c.b)]
    hung += [link.child for link in model.cargo if link.parent == vehicle.name]
    mass = vehicle.total_mass + sum(p.mass_kg for p in model.payloads if p.name in hung)
    gravity = environment.gravity_m_s2
    need = hover(helicopter, mass * gravity, gravity, environment.air.density)
    rotor, tail = helicopter.main_rotor, helicopter.tail_rotor
    degrees = need.collective * 180.0 / pi
    power = need.torque * rotor.speed_rad_s
    return [
        f"{vehicle.name}: {key}: hover needs about {value:.3g} {unit}, the range is {low:.4g} to {high:.4g} "
        "(./rotor trim gives the exact value)."
        for key, value, (low, high), unit in (
            ("helicopter.main_rotor.collective_deg", degrees, rotor.collective_deg, "deg"),
            ("helicopter.tail_rotor.force_n", need.tail_force, tail.force_n, "N"),
            ("helicopter.engine.power_w", power, (0.0, helicopter.engine.power_w), "W"),
        )
        if not low <= value <= high
    ]
