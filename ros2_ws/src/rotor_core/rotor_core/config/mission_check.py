"""Whether the steps of a mission are about what there is."""

from __future__ import annotations

from rotor_core.config.mission import AttachStep, Mission, ReleaseStep, Slacken, Tighten, WaitUntil
from rotor_core.config.model import Model
from rotor_core.config.teams import teams
from rotor_core.interface.errors import ConfigError


def check_mission(model: Model, mission: Mission, place: str = "") -> None:
    """Refuse steps about entities that nobody plans; ``place`` begins the message.

    Raises:
        ConfigError: naming step and entity.
    """
    found = teams(model)
    entities = [team.entity for team in found]
    on_cables = [team.entity for team in found if team.cables]
    singles = [v for team in found if team.cables for v in team.vehicles]
    rigid = [team.payload for team in found if team.rigid]
    payloads = [p.name for p in model.payloads if p.name not in rigid]
    everyone = [e.name for e in model.entities]
    known: list[tuple[str, str, list[str]]] = []
    for i, step in enumerate(mission.steps):
        where = f"mission.steps[{i}] ({step.type})"
        if isinstance(step, (AttachStep, ReleaseStep)):
            known.append((f"{where}.payload", step.payload, payloads))
            continue
        name = step.entity or entities[0]
        if isinstance(step, (Tighten, Slacken)):
            known.append((f"{where}.entity", name, on_cables))
        else:
            known.append((f"{where}.entity", name, entities + singles))
        if isinstance(step, WaitUntil):
            known.append((f"{where}.condition.entity", step.condition.entity or name, everyone))
    for i, guard in enumerate(mission.guards):
        where = f"mission.guards[{i}].when.entity"
        known.append((where, guard.when.entity or entities[0], everyone))
    for where, name, names in known:
        if name not in names:
            text = ", ".join(names) or "none"
            raise ConfigError(f"{place}{where}: cannot be {name!r}. Possible: {text}.")
