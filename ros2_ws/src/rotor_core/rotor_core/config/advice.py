"""What in a scenario is possible but cannot be meant, or not be real: said, not refused."""

from __future__ import annotations

from rotor_core.config.schema import Scenario


def notes(scenario: Scenario) -> list[str]:
    """Notes for people, one per line."""
    out = []
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
