"""Features that the laboratory does not cover, refused before it starts."""

from __future__ import annotations

from rotor_core.config.counterparts.counterpart import Counterpart
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError


def refuse_uncovered(scenario: Scenario) -> None:
    """Check that a scenario holds nothing but multirotors, payloads and cables in still air.

    Raises:
        ConfigError: it holds something else; the text names place, value and remedy.
    """
    model, environment = scenario.model, scenario.environment
    findings = {
        "model.attachments: rigid links": bool(model.rigid_links),
        "model.attachments: cables that run through rings, wind, stretch or have mass": not all(
            c.is_line for c in model.cables
        ),
        f"actuation.mode {scenario.actuation.mode} (propellers as bodies)": (
            scenario.actuation.has_propellers
        ),
        "environment.contact (ground and boxes)": environment.contact is not None,
        "environment.wind": not environment.wind.is_calm,
        "environment.ground_effect": environment.ground_effect,
        "environment.ceiling_effect": environment.ceiling_effect,
        "environment.wakes": environment.wakes is not None,
        "changes (attach, release, cut, faults)": bool(scenario.changes),
        "mission": scenario.mission is not None,
        f"command_input {scenario.command_input}": scenario.command_input != "team",
        "forces": bool(scenario.forces),
        f"controller {scenario.controller.type} (it has no sensors for it)": isinstance(
            scenario.controller, Counterpart
        ),
    }
    for vehicle in model.vehicles:
        place = f"model.vehicles {vehicle.name!r}"
        findings |= {
            f"{place}: links and joints": bool(vehicle.links or vehicle.joints),
            f"{place}: a helicopter": vehicle.helicopter is not None,
            f"{place}: inflow of rotors": vehicle.rotors.inflow is not None,
            f"{place}: com_m {list(vehicle.com_m)} off the origin": any(vehicle.com_m),
        }
    for entity in model.entities:
        place = f"{entity.name!r}"
        findings |= {
            f"{place}: internal_rotors": bool(entity.internal_rotors),
            f"{place}: drag (the laboratory has its own)": entity.drag is not None,
        }
    for what, is_there in findings.items():
        if is_there:
            raise ConfigError(
                f"laboratory: {what}: not covered. The laboratory has only free multirotors, payloads and cables in "
                "still air. Remove it, or fly this scenario in the simulator."
            )
