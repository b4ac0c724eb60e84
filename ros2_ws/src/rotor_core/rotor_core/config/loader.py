"""Load scenarios.

Read YAML, pull in what ``use`` names, expand attachment mechanisms, check what spans several keys.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import numpy as np
from ruamel.yaml import YAML

from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.catalog import locate
from rotor_core.config.checks.cables import check_cables
from rotor_core.config.checks.references import check_references
from rotor_core.config.counterparts.with_autopilot import with_autopilot
from rotor_core.config.environment import Air
from rotor_core.config.extensions import ATTACHMENTS
from rotor_core.config.mission import Mission
from rotor_core.config.model import Model, Payload, Vehicle
from rotor_core.config.obstacles.files import with_obstacle_files
from rotor_core.config.obstacles.pegs import with_pegs
from rotor_core.config.schema import Scenario, Timing
from rotor_core.config.trajectories import TRAJECTORIES, Plan
from rotor_core.config.vehicles.propulsion import Propeller
from rotor_core.config.vehicles.urdf import read_urdf
from rotor_core.config.yaml.files import locate_file, waypoints_from_table
from rotor_core.config.yaml.structure import (
    build,
    check_schema,
    convert,
    mapping_of,
    suggestion,
)
from rotor_core.config.yaml.tree import Tree, parse_tree, read_tree, tree_of
from rotor_core.errors import ConfigError, Mistakes

WITH_PATH = ("library", "planned")
"""Types of controllers whose ``path`` names a file."""

MAX_USE_DEPTH = 8


def load_scenario(
    name: str | Path,
    *,
    seed: int | None = None,
    pacing: str | None = None,
    autopilot: str | None = None,
) -> Scenario:
    """Load a scenario by shipped name or path.

    Args:
        name: e.g. ``"three_dragonflies_triangular_1m"`` or ``"my/scenario.yaml"``.
        seed, pacing: replace the values of the file.
        autopilot: flies in place of the controller of the file; see
            :func:`rotor_core.config.counterparts.with_autopilot.with_autopilot`.

    Raises:
        ConfigError: with file, line, value, limit and remedy.
    """
    path = locate("scenarios", str(name))
    tree = read_tree(path)
    scenario = scenario_from_tree(tree, path.stem)
    if seed is not None:
        scenario = replace(scenario, seed=checked_seed(seed))
    if pacing is not None:
        known = get_args(get_type_hints(Timing)["pacing"])
        if pacing not in known:
            raise ConfigError(f"pacing: must be {' or '.join(known)}, got {pacing!r}.")
        scenario = replace(scenario, time=replace(scenario.time, pacing=pacing))
    return with_autopilot(scenario, autopilot) if autopilot else scenario


def scenario_of(what: Scenario | str | Path) -> Scenario:
    """A scenario itself, or the one of a shipped name or path.

    Raises:
        ConfigError: it is neither, or cannot be loaded.
    """
    if isinstance(what, Scenario):
        return what
    if not isinstance(what, (str, Path)):
        raise ConfigError(
            f"scenario: must be a Scenario, or the name or path of one, got {type(what).__name__}."
        )
    return load_scenario(what)


def checked_seed(seed: int) -> int:
    """A seed of random streams.

    Raises:
        ConfigError: it is none.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ConfigError(f"seed: must be a whole number >= 0, got {seed!r}.")
    return int(seed)


def scenario_heading(name: str) -> tuple[str, str]:
    """Group and description of a shipped scenario, read without the vehicles and payloads that it names.

    Raises:
        ConfigError: the file cannot be read.
    """
    keys = read_tree(locate("scenarios", name)).value
    if not isinstance(keys, dict) or "description" not in keys:
        scenario = load_scenario(name)
        return scenario.group, scenario.description
    return tuple(str(keys[k].value) if k in keys else "" for k in ("group", "description"))  # type: ignore[return-value]


def load_vehicle(name: str) -> Vehicle:
    """A shipped vehicle, or one of a path; it is called like its file.

    Raises:
        ConfigError: with file, line, value, limit and remedy.
    """
    path = locate("vehicles", name)
    return vehicle_from_tree(read_tree(path), path.stem, Air())


def vehicle_from_tree(tree: Tree, name: str, air: Air) -> Vehicle:
    """A vehicle from a YAML tree; ``name`` where it has none, propellers in this air.

    Raises:
        ConfigError: with file, line, value, limit and remedy.
    """
    fields = _described(tree, "vehicles", name)
    if "urdf" in fields and "links" not in fields:
        fields = _with_urdf(fields, name)
    return build(Vehicle, tree.with_value(_with_propeller(fields, air, name)))


def payload_from_tree(tree: Tree, name: str) -> Payload:
    """A payload from a YAML tree; ``name`` where it has none.

    Raises:
        ConfigError: with file, line, value, limit and remedy.
    """
    return build(Payload, tree.with_value(_described(tree, "payloads", name)))


def _described(tree: Tree, folder: str, name: str) -> dict[str, Tree]:
    """Fields of a file that describes one entity; ``name`` where it has none."""
    check_schema(tree)
    fields = dict(_used(tree, folder, name).value)
    fields.pop("schema", None)
    fields.setdefault("name", tree.with_value(name))
    return fields


def scenario_from_text(text: str, name: str = "scenario") -> Scenario:
    """A scenario from YAML; ``name`` where it has none.

    Raises:
        ConfigError: with line, value, limit and remedy.
    """
    return scenario_from_tree(parse_tree(text, name), name)


def load_trajectory(name: str) -> Plan:
    """A shipped trajectory, or one of a path.

    Raises:
        ConfigError: with file, line, value, limit and remedy.
    """
    tree = read_tree(locate("trajectories", name))
    check_schema(tree)
    fields = dict(_with_waypoints(_used(tree, "trajectories", name)).value)
    fields.pop("schema")
    return convert(Annotated[Plan, TRAJECTORIES], tree.with_value(fields), "trajectory")


def mission_from_text(text: str) -> Mission:
    """A mission from YAML, as under the key ``mission`` of a scenario.

    Raises:
        ConfigError: with line, value, limit and remedy.
    """
    return build(Mission, parse_tree(text, "mission"), "mission")


def scenario_from_tree(tree: Tree, name: str = "scenario") -> Scenario:
    """Build a scenario from a YAML tree; see :func:`load_scenario`."""
    root = mapping_of(tree, "the file")
    check_schema(tree)
    mistakes, wrong = Mistakes(), set[str]()
    resolvers: dict[str, Callable[[Tree], Tree]] = {
        "model": lambda tree: _resolve_model(tree, _air(root)),
        "controller": lambda tree: _with_path(_used(tree, "controllers", "controller")),
        "trajectory": lambda tree: _with_waypoints(_used(tree, "trajectories", "trajectory")),
        "environment": lambda tree: _with_wind_file(with_obstacle_files(tree)),
    }
    for key, resolve in resolvers.items():
        if key not in root:
            continue
        wrong.add(key)
        with mistakes.kept():
            root[key] = resolve(root[key])
            wrong.discard(key)
    if "trajectory" in root and "mission" in root:
        text = "mission: must not be given together with a trajectory. Remove one of them."
        mistakes.add(ConfigError(f"{root['mission'].place}: {text}"))
    root.setdefault("name", tree.with_value(name))
    whole = build(Scenario, tree.with_value(root), mistakes=mistakes, wrong=wrong)
    scenario = with_pegs(whole, tree)
    check_references(scenario, tree)
    if scenario.model.cables:
        from rotor_core.config.initial import initial_states  # it needs plant_model

        check_cables(scenario, initial_states(scenario), tree)
    return scenario


def load_scenario_beside(file: Path, name: str) -> Scenario:
    """Scenario that a file names: a path from where the file lies, or as of :func:`load_scenario`.

    Raises:
        ConfigError: there is no such scenario, or it is wrong.
    """
    beside = file.parent / name
    is_there = name.endswith((".yaml", ".yml")) and beside.exists()
    return load_scenario(str(beside) if is_there else name)


def dump_scenario(scenario: Scenario) -> str:
    """The resolved scenario as YAML; loading it gives the same scenario."""
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 120
    stream = io.StringIO()
    values = _plain(scenario)
    if scenario.mission is not None:
        del values["trajectory"]
    yaml.dump(values, stream)
    return stream.getvalue()


def _plain(value: Any) -> Any:
    """Dataclasses as dictionaries, without None where that is what a key that is left out means."""
    if dataclasses.is_dataclass(value):
        given = {f: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {
            f.name: _plain(v) for f, v in given.items() if v is not None or f.default is not None
        }
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def _list(tree: Tree, what: str) -> list[Tree]:
    if not isinstance(tree.value, list):
        raise ConfigError(f"{tree.place}: {what}: must be a list.")
    return list(tree.value)


def _used(tree: Tree, folder: str, what: str, depth: int = 0) -> Tree:
    """Lay the keys of a mapping over the file that its key ``use`` names."""
    own = mapping_of(tree, what, is_named=True)
    use = own.pop("use", None)
    if use is None:
        return tree
    if not isinstance(use.value, str):
        raise ConfigError(
            f"{use.place}: {what}.use: must be the name of a file in config/{folder}."
        )
    if depth >= MAX_USE_DEPTH:
        raise ConfigError(
            f"{use.place}: {what}.use: files refer to each other more than {MAX_USE_DEPTH} deep."
        )
    base_tree = read_tree(locate(folder, use.value, place=f"{use.place}: {what}.use: "))
    mapping_of(base_tree, use.value)
    check_schema(base_tree)
    base = dict(_used(base_tree, folder, what, depth + 1).value)
    base.pop("schema", None)
    return tree.with_value({**base, **own})


def _with_waypoints(tree: Tree) -> Tree:
    """A trajectory with the points of its ``waypoints_file`` in place of that key."""
    fields = mapping_of(tree, "trajectory")
    if "waypoints_file" not in fields:
        return tree
    if "waypoints_m" in fields:
        place = fields["waypoints_file"].place
        raise ConfigError(f"{place}: trajectory: give waypoints_m or waypoints_file, not both.")
    fields["waypoints_m"] = waypoints_from_table(fields.pop("waypoints_file"))
    return tree.with_value(fields)


def _with_wind_file(environment: Tree) -> Tree:
    """An environment whose ``wind.field_file`` is a whole path, with what tells that file from another."""
    fields = mapping_of(environment, "environment")
    wind = fields.get("wind")
    if wind is None or not isinstance(wind.value, dict) or "field_file" not in wind.value:
        return environment
    name = wind.value["field_file"]
    path = locate_file(name, "environment.wind.field_file", "scenarios").resolve()
    whole = {**wind.value, "field_file": name.with_value(str(path))}
    if "field_sha256" not in whole and path.is_file():  # else whoever reads it says what is wrong
        whole["field_sha256"] = name.with_value(sha256(path.read_bytes()).hexdigest())
    fields["wind"] = wind.with_value(whole)
    return environment.with_value(fields)


def _air(root: dict[str, Tree]) -> Air:
    """The air of a scenario that is not built yet; a standard one where it is wrong, which ``environment`` tells."""
    try:
        environment = root.get("environment")
        if environment is None or "air" not in mapping_of(environment, "environment"):
            return Air()
        return build(Air, environment.value["air"], "environment.air")
    except ConfigError:
        return Air()


def _with_propeller(vehicle: dict[str, Tree], air: Air, what: str) -> dict[str, Tree]:
    """A vehicle with the thrust and torque of its propellers in that air, where they are left out."""
    rotors = vehicle.get("rotors")
    if rotors is None or "propeller" not in mapping_of(rotors, f"{what}.rotors"):
        return vehicle
    propeller = build(Propeller, rotors.value["propeller"], f"{what}.rotors.propeller")
    own = {
        "thrust_n_per_rpm2": rotors.with_value(propeller.thrust_n_per_rpm2(air.density)),
        "torque_per_thrust_m": rotors.with_value(propeller.torque_per_thrust_m),
    }
    return {**vehicle, "rotors": rotors.with_value({**own, **rotors.value})}


def _with_path(tree: Tree) -> Tree:
    """A controller whose ``path`` has been found, beside its file or in the working directory."""
    keys = tree.value if isinstance(tree.value, dict) else {}
    if "type" not in keys or keys["type"].value not in WITH_PATH or "path" not in keys:
        return tree
    path = keys["path"].with_value(str(locate_file(keys["path"], "path", "controllers").absolute()))
    return tree.with_value({**keys, "path": path})


def _resolve_model(tree: Tree, air: Air) -> Tree:
    model, mistakes = mapping_of(tree, "model"), Mistakes()
    names: dict[str, list[str]] = {}
    for key, prefix in (("vehicles", "quad"), ("payloads", "payload")):
        if key not in model:
            continue
        entries = _list(model[key], f"model.{key}")
        resolved = []
        for i, entry in enumerate(entries):
            what = f"model.{key}[{i}]"
            default = prefix if key == "payloads" and len(entries) == 1 else f"{prefix}{i + 1}"
            with mistakes.kept():
                entry = _used(entry, key, what)
                fields = mapping_of(entry, what)
                fields.setdefault("name", entry.with_value(default))
                if key == "vehicles" and "urdf" in fields and "links" not in fields:
                    fields = _with_urdf(fields, what)
                if key == "vehicles":
                    fields = _with_propeller(fields, air, what)
                resolved.append(entry.with_value(fields))
        names[key] = [str(e.value["name"].value) for e in resolved]
        model[key] = model[key].with_value(resolved)
    mistakes.tell()  # attachments ask how many vehicles there are
    if "attachments" in model:
        items: list[Tree] = []
        for i, item in enumerate(_list(model["attachments"], "model.attachments")):
            with mistakes.kept():
                items += _expand(item, f"model.attachments[{i}]", names)
        model["attachments"] = model["attachments"].with_value(items)
    mistakes.tell()
    return tree.with_value(model)


def _with_urdf(fields: dict[str, Tree], what: str) -> dict[str, Tree]:
    """Lay the keys of a vehicle over what its URDF says; joints are joined by their names."""
    described = read_urdf(locate_file(fields["urdf"], "urdf", "urdf"))
    joints = described["joints"]
    if "joints" in fields:
        own: dict[str, Tree] = {}
        for k, joint in enumerate(_list(fields["joints"], f"{what}.joints")):
            place = f"{what}.joints[{k}]"
            name = mapping_of(joint, place).get("name")
            if name is None or not isinstance(name.value, str):
                raise ConfigError(
                    f"{joint.place}: {place}.name: must be the name of a joint of the URDF."
                )
            if name.value in own:
                raise ConfigError(f"{joint.place}: {place}.name: {name.value!r} appears twice.")
            own[name.value] = joint
        merged = []
        for joint in joints.value:
            extra = own.pop(joint.value["name"].value, None)
            merged.append(joint.with_value({**joint.value, **extra.value}) if extra else joint)
        for name, joint in own.items():
            names = [j.value["name"].value for j in joints.value]
            raise ConfigError(
                f"{joint.place}: {what}.joints: the URDF has no joint {name!r}{suggestion(name, names)}"
            )
        joints = joints.with_value(merged)
    return {**described, **fields, "joints": joints}


def _expand(item: Tree, what: str, names: dict[str, list[str]]) -> list[Tree]:
    """Cables and rigid links that an attachment of another kind consists of."""
    kind = mapping_of(item, what).get("type")
    if kind is None or not isinstance(kind.value, str) or kind.value not in ATTACHMENTS:
        return [item]  # refused where all is built
    if kind.value in ("cable", "rigid_link"):
        return [item]
    keys = convert(Annotated[object, ATTACHMENTS], item, what)
    try:
        parts = ATTACHMENTS[kind.value].maker(
            keys, names.get("vehicles", []), names.get("payloads", [])
        )
    except ValueError as error:
        raise ConfigError(f"{item.place}: {what}: {error}") from error
    return [tree_of(dataclasses.asdict(part), item) for part in parts]


def plant_model(scenario: Scenario) -> Model:
    """The model as it is in reality.

    The nominal one with the changes of ``plant`` (lengths, masses, inertias).
    """
    model = scenario.model
    vehicles, payloads, attachments = (
        list(model.vehicles),
        list(model.payloads),
        list(model.attachments),
    )
    cable_places = [i for i, a in enumerate(attachments) if isinstance(a, CableAttachment)]
    for change in scenario.plant:
        values = {
            k: getattr(change, k)
            for k in ("mass_kg", "inertia_kg_m2")
            if getattr(change, k) is not None
        }
        vehicles = [replace(v, **values) if v.name == change.entity else v for v in vehicles]
        payloads = [replace(p, **values) if p.name == change.entity else p for p in payloads]
        if change.cable is not None and change.length_m is not None:
            place = cable_places[change.cable - 1]
            attachments[place] = replace(attachments[place], length_m=change.length_m)
    return Model(tuple(vehicles), tuple(payloads), tuple(attachments))
