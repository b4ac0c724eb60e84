"""Worlds that change: a scenario with one entity more, or without one of its entities."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.catalog import locate, shipped
from rotor_core.config.environment import Air
from rotor_core.config.loader import (
    dump_scenario,
    payload_from_tree,
    scenario_from_text,
    vehicle_from_tree,
)
from rotor_core.config.mission import Wind
from rotor_core.config.model import Model, Payload, Vehicle
from rotor_core.config.schema import InitialState, Scenario
from rotor_core.config.vehicles.urdf import body_from_urdf
from rotor_core.config.yaml.structure import build
from rotor_core.config.yaml.tree import Tree, parse_tree, read_tree
from rotor_core.errors import ConfigError

KINDS: tuple[Literal["vehicles", "payloads"], ...] = ("vehicles", "payloads")
"""Folders of what is shipped; in front of the name of a file in them: ``vehicles/dragonfly``."""

OF_VEHICLES = ("rotors", "urdf", "helicopter", "gains")
"""Keys that make a description one of a vehicle."""


def spawnables() -> list[str]:
    """Names of all that is shipped: ``vehicles/dragonfly``, ``payloads/box``."""
    return [f"{kind}/{name}" for kind in KINDS for name in shipped(kind)]


def read_entity(name: str, air: Air) -> Vehicle | Payload:
    """A shipped vehicle or payload, or one of a file.

    Args:
        name: as of :func:`spawnables`; or path or ``file://`` address of a YAML file or a robot description.
        air: of the world it comes into.

    Raises:
        ConfigError: there is no such thing, or it is wrong.
    """
    kind, _, rest = name.partition("/")
    if kind in KINDS and not rest.endswith((".yaml", ".yml", ".urdf")):
        return _entity(read_tree(locate(kind, rest)), rest, air)
    path = Path(name.removeprefix("file://"))
    if path.suffix == ".urdf":
        try:
            return entity_from_text(path.read_text(encoding="utf-8"), air, path.stem)
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{name}: cannot be read ({error}). Check the path.") from error
    if path.suffix not in (".yaml", ".yml"):
        raise ConfigError(
            f"{name!r}: must be a shipped name (such as {spawnables()[0]}), or a file .yaml or .urdf."
        )
    return _entity(read_tree(locate("vehicles", str(path))), path.stem, air)


def entity_from_text(text: str, air: Air, name: str = "") -> Vehicle | Payload:
    """A vehicle or payload from YAML, or a rigid body from a robot description of one link.

    Raises:
        ConfigError: it is wrong.
    """
    if text.lstrip().startswith("<"):
        own, fields = body_from_urdf(text, "resource_string")
        name = own or name
        return build(Payload, fields.with_value({"name": fields.with_value(name), **fields.value}))
    return _entity(parse_tree(text, "resource_string"), name, air)


def _entity(tree: Tree, name: str, air: Air) -> Vehicle | Payload:
    is_vehicle = isinstance(tree.value, dict) and any(k in tree.value for k in OF_VEHICLES)
    return vehicle_from_tree(tree, name, air) if is_vehicle else payload_from_tree(tree, name)


def with_entity(scenario: Scenario, entity: Vehicle | Payload, start: InitialState) -> Scenario:
    """A scenario with one entity more, which nothing is attached to.

    Raises:
        ConfigError: the scenario cannot have it.
    """
    model = scenario.model
    if isinstance(entity, Vehicle):
        model = replace(model, vehicles=(*model.vehicles, entity))
    else:
        model = replace(model, payloads=(*model.payloads, entity))
    return _checked(scenario, model, (*scenario.initial, start))


def without_entity(scenario: Scenario, name: str) -> Scenario:
    """A scenario without an entity and all that joins it to others.

    Raises:
        ConfigError: the scenario cannot be without it.
    """
    old = scenario.model
    attachments = tuple(
        item
        for item in old.attachments
        if name
        not in (
            [name for name, _ in item.path]
            if isinstance(item, CableAttachment)
            else (item.parent, item.child)
        )
    )
    numbered = {
        "plant": any(c.cable for c in scenario.plant),
        "changes": any(c.cut is not None or c.wind is not None for c in scenario.changes),
        "mission": any(
            isinstance(s, Wind) for s in (scenario.mission.steps if scenario.mission else ())
        ),
    }
    if len(attachments) < len(old.attachments) and any(numbered.values()):
        key = next(key for key, names in numbered.items() if names)
        raise ConfigError(
            f"{name}: cannot be deleted: its cable would go, and `{key}` names cables by their number. Leave that out "
            "of the scenario."
        )
    try:
        model = Model(
            tuple(v for v in old.vehicles if v.name != name),
            tuple(p for p in old.payloads if p.name != name),
            attachments,
        )
    except ValueError as error:
        raise ConfigError(f"{name}: cannot be deleted: {error}") from error
    initial = tuple(i for i in scenario.initial if i.entity != name)
    return _checked(scenario, model, initial)


def _checked(scenario: Scenario, model: Model, initial: tuple[InitialState, ...]) -> Scenario:
    """The scenario with another model, as if read from a file, so that everything is checked."""
    try:
        changed = replace(scenario, model=model, initial=initial)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    return scenario_from_text(dump_scenario(changed), scenario.name)
