"""Checks of a mission against the model: its steps and guards must refer to what exists."""

from __future__ import annotations

from rotor_core.config.checks.winches import check_winding
from rotor_core.config.mission import (
    AttachStep,
    Condition,
    HookStep,
    Land,
    Mission,
    ReleaseStep,
    Slacken,
    Tighten,
    WaitUntil,
    Wind,
)
from rotor_core.config.model import Model
from rotor_core.config.teams import teams
from rotor_core.config.vehicles.arm import link_name
from rotor_core.errors import ConfigError

NO_GROUND = "there is no ground to land on. Give the scenario `environment: {contact: {}}`."


def check_mission(
    model: Model, mission: Mission, place: str = "", *, has_ground: bool = True
) -> None:
    """Refuse steps about entities that nobody plans; ``place`` begins the message.

    Raises:
        ConfigError: naming step and entity.
    """
    found = teams(model)
    entities = [team.entity for team in found]
    if not entities:
        raise ConfigError(f"{place}mission: there is no vehicle to fly it. Add model.vehicles.")
    on_cables = [team.entity for team in found if team.cables]
    singles = [v for team in found if team.cables for v in team.vehicles]
    rigid = [team.payload for team in found if team.rigid]
    payloads = [p.name for p in model.payloads if p.name not in rigid]
    everyone = [e.name for e in model.entities]
    known: list[tuple[str, str, list[str]]] = []
    gone: set[str] = set()
    for i, step in enumerate(mission.steps):
        where = f"mission.steps[{i}] ({step.type})"
        if isinstance(step, Wind):
            check_winding(model, step, f"{place}{where}")
            cable = model.cables[step.cable - 1]
            if cable.through or cable.around:
                raise ConfigError(
                    f"{place}{where}: cable {step.cable} runs through rings or around things, and what hangs on it "
                    "does not move by as much as is wound. Wind it by `changes`, or by its topics."
                )
            owner = next((t.entity for t in found if step.cable - 1 in t.cables), None)
            if owner in gone:
                raise ConfigError(
                    f"{place}{where}: cable {step.cable} is cut when an earlier step releases {owner!r}. Wind it "
                    "before."
                )
            continue
        if isinstance(step, (AttachStep, HookStep, ReleaseStep)):
            known.append((f"{where}.payload", step.payload, payloads))
            if isinstance(step, ReleaseStep) and step.payload in on_cables:
                gone.add(step.payload)
            if isinstance(step, AttachStep):
                links = [link_name(v.name, k.name) for v in model.vehicles for k in v.links]
                known.append((f"{where}.to", step.to, everyone + links))
            if isinstance(step, HookStep):
                known.append(
                    (f"{where}.to", step.to, [name for name in everyone if name != step.payload])
                )
            continue
        if isinstance(step, Land) and not has_ground:
            raise ConfigError(f"{place}{where}: {NO_GROUND}")
        name = step.entity or entities[0]
        if name in gone:
            raise ConfigError(
                f"{place}{where}: {name!r} has been released before. Name a vehicle: {', '.join(singles)}."
            )
        if isinstance(step, (Tighten, Slacken)):
            known.append((f"{where}.entity", name, on_cables))
        else:
            known.append((f"{where}.entity", name, entities + singles))
        if isinstance(step, WaitUntil):
            known.append((f"{where}.condition.entity", step.condition.entity or name, everyone))
            _check_condition(model, step.condition, name, f"{place}{where}.condition")
    for i, guard in enumerate(mission.guards):
        if guard.do == "land" and not has_ground:
            raise ConfigError(f"{place}mission.guards[{i}]: {NO_GROUND}")
        where = f"mission.guards[{i}].when.entity"
        known.append((where, guard.when.entity or entities[0], everyone))
        _check_condition(model, guard.when, entities[0], f"{place}mission.guards[{i}].when")
    for where, name, names in known:
        if name not in names:
            text = ", ".join(names) or "none"
            raise ConfigError(f"{place}{where}: cannot be {name!r}. Possible: {text}.")


def _check_condition(model: Model, condition: Condition, entity: str, where: str) -> None:
    """Refuse conditions that can never hold."""
    name = condition.entity or entity
    batteries = [v.name for v in model.vehicles if v.battery is not None]
    asks = condition.battery_below is not None or condition.battery_below_v is not None
    if asks and name not in batteries:
        text = ", ".join(batteries) or "none"
        raise ConfigError(f"{where}: {name!r} has no battery. With one: {text}.")
    turned = {name for link in model.rigid_links for name in (link.parent, link.child)}
    points = {p.name for p in model.payloads if p.inertia_kg_m2 is None} - turned
    if condition.tilt_above_deg is not None and name in points:
        vehicles = ", ".join(v.name for v in model.vehicles)
        raise ConfigError(
            f"{where}: {name!r} is a point mass, which never tilts. Name a vehicle (entity): {vehicles}."
        )
    if (condition.taut or condition.slack) and not any(name in (c.a, c.b) for c in model.cables):
        what = "taut" if condition.taut else "slack"
        raise ConfigError(f"{where}: {name!r} has no cables that could be {what}.")
    has_error = condition.error_below_m is not None or condition.error_above_m is not None
    found = teams(model)
    planned = [t.entity for t in found] + [v for t in found if t.cables for v in t.vehicles]
    if has_error and name in {e.name for e in model.entities} - set(planned):
        raise ConfigError(
            f"{where}: {name!r} follows no plan from which it could be off. With one: {', '.join(planned)}."
        )
