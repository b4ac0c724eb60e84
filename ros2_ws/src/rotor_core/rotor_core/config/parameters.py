"""Parameters of a scenario: find a number by its dotted place, and put another one there."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rotor_core.config.initial import initial_states
from rotor_core.config.schema import PlantChange, Scenario
from rotor_core.config.yaml.tree import Tree, parse_tree, plain, tree_of
from rotor_core.errors import ConfigError
from rotor_core.state import State

AXES = {2: ("x", "y"), 3: ("x", "y", "z"), 4: ("w", "x", "y", "z")}
"""Names of components by the length of a list; quaternions have w first."""
NAMES = ("name", "entity")
"""Keys by which entries of lists are called; what changes a cable is called ``cable1`` and so on."""


def prepared(
    document: dict[str, Any],
    scenario: Scenario,
    places: list[str],
    *,
    asked: Sequence[str] = (),
) -> dict[str, Any]:
    """The scenario with the entries written out that ``places`` name and that are only implied.

    ``plant.*`` and ``initial.*`` need no entry in the scenario: the plant is as the model, and the
    state at the start is what the scenario computes. What the loader has computed from a place is left out, so that
    it is computed anew, but for places that are ``asked`` for at other times.

    Raises:
        ConfigError: there is no such entry, or one that is read once, with its file.
    """
    document = copy.deepcopy(document)
    for place in places:
        section, name, key = [*place.split("."), "", ""][:3]
        if not name:  # the whole list
            continue
        if section == "plant":
            _imply_plant(document, scenario, name, key)
        elif section == "initial":
            _imply_start(document, scenario, name, key)
        elif place.endswith(".urdf"):
            raise ConfigError(
                f"{place}: a URDF is read with the file of the scenario, which holds its numbers then. Change these, "
                "or write a scenario with the other urdf."
            )
        elif place == "environment.wind.field_file":
            document["environment"]["wind"].pop(
                "field_sha256", None
            )  # it was that of the other file
    if any(p.startswith("environment.air") or ".rotors.propeller" in p for p in places):
        _forget_thrusts(document, scenario, [*places, *asked])
    return document


def _forget_thrusts(document: dict[str, Any], scenario: Scenario, places: list[str]) -> None:
    """Leave out thrust and torque of rotors that their propellers and the air give, but for those asked for."""
    vehicles = document["model"]["vehicles"]
    for vehicle, written in zip(scenario.model.vehicles, vehicles, strict=True):
        rotors, propeller = vehicle.rotors, vehicle.rotors.propeller
        if propeller is None:
            continue
        given = {
            "thrust_n_per_rpm2": propeller.thrust_n_per_rpm2(scenario.environment.air.density),
            "torque_per_thrust_m": propeller.torque_per_thrust_m,
        }
        for key, value in given.items():
            asked = any(place.endswith(f".{key}") for place in places)
            if getattr(rotors, key) == value and not asked:
                written["rotors"].pop(key, None)


def _imply_plant(document: dict[str, Any], scenario: Scenario, name: str, key: str) -> None:
    model = scenario.model
    rows = {e.name: i for i, e in enumerate(model.entities)}
    cables = {f"cable{k + 1}": k for k in range(len(model.cables))}
    if name in rows:
        about: dict[str, Any] = {"entity": name}
        body = model.entities[rows[name]]
        implied = {
            "mass_kg": body.mass_kg, "thrust_gain": 1.0, "thrust_gain_per_s": 0.0, "velocity_gain": 1.0,
            "attitude_bias_rad": [0.0, 0.0, 0.0],
        }  # fmt: skip
        if body.inertia_kg_m2 is not None:
            implied["inertia_kg_m2"] = np.array(body.inertia_kg_m2).tolist()
    elif name in cables:
        about, k = {"cable": cables[name] + 1}, cables[name]
        implied = {"length_m": model.cables[k].length_m}
    else:
        raise ConfigError(
            f"plant.{name}.{key}: plant has no entry {name!r}; it has {', '.join([*rows, *cables])}."
        )
    known = [f.name for f in dataclasses.fields(PlantChange) if f.name not in ("entity", "cable")]
    if key not in known:
        raise ConfigError(
            f"plant.{name}.{key}: plant.{name} has no {key!r}; it has {', '.join(known)}."
        )
    entry = _entry(document, "plant", name, about)
    if key in implied and entry.get(key) is None:
        entry[key] = implied[key]


def _imply_start(document: dict[str, Any], scenario: Scenario, name: str, key: str) -> None:
    names = [e.name for e in scenario.model.entities]
    if name not in names:
        raise ConfigError(
            f"initial.{name}: initial has no entry {name!r}; it has {', '.join(names)}."
        )
    entry = _entry(document, "initial", name, {"entity": name})
    state = State(initial_states(scenario)[names.index(name)])
    implied = {
        "position_m": state.position, "velocity_m_s": state.velocity, "rate_rad_s": state.body_rate,
        "quaternion_wxyz": state.attitude,
    }  # fmt: skip
    # what is given without a position is where it is computed to be, and only moves otherwise
    named = implied if key == "position_m" else {key} & set(implied)
    if entry.get("rpy_deg") is not None:
        named = set(named) - {"quaternion_wxyz"}
    for what in named:
        if entry.get(what) is None:
            entry[what] = implied[what].tolist()


def _entry(
    document: dict[str, Any], section: str, name: str, about: dict[str, Any]
) -> dict[str, Any]:
    """The entry of a name in a list of the scenario, of several what they say together; made where there is none."""
    entries = document[section] = document.get(section) or []
    own = [entry for entry in entries if name in _names(entry)]
    for other in own[1:]:
        own[0].update({key: value for key, value in other.items() if value is not None})
        entries.remove(other)
    if own:
        return own[0]
    entries.append(about)
    return about


class Variations:
    """Scenarios that differ from one in numbers; it is written out once.

    Args:
        scenario: the one.
        places: of what will differ, dotted.

    Raises:
        ConfigError: there is no such entry.
    """

    def __init__(self, scenario: Scenario, places: list[str]) -> None:
        from rotor_core.config.loader import dump_scenario  # it imports the schema

        written = plain(parse_tree(dump_scenario(scenario), "scenario"))
        self._name, self._scenario, self._written = scenario.name, scenario, written
        # each by itself: an entry that is implied by one place would keep its number where another one changes
        self._documents = {place: prepared(written, scenario, [place]) for place in places}

    def value(self, place: str) -> float:
        """The number at a place.

        Raises:
            ConfigError: there is no such place, or no number there.
        """
        return read(self._documents[place], place)

    def changed(self, place: str, value: Any) -> Scenario:
        """The scenario with another value at a place, checked like a file.

        Raises:
            ConfigError: there is no such place, or the value does not fit.
        """
        return self._made(self._documents[place], {place: value})

    def together(self, values: Mapping[str, Any]) -> Scenario:
        """The scenario with other values at several places, whose order does not matter: what one implies is held.

        Raises:
            ConfigError: there is no such place, or the values do not fit.
        """
        return self._made(prepared(self._written, self._scenario, list(values)), values)

    def _made(self, document: dict[str, Any], values: Mapping[str, Any]) -> Scenario:
        from rotor_core.config.loader import scenario_from_tree  # it imports the schema

        document = copy.deepcopy(document)
        for place, value in values.items():
            holder, key = _holder(document, place)
            value = value.item() if isinstance(value, np.generic) else value
            holder[key] = list(value) if isinstance(value, tuple) else value
        return scenario_from_tree(tree_of(document, Tree(None, ", ".join(values), 0)), self._name)


def changed(scenario: Scenario, place: str, value: Any) -> Scenario:
    """The scenario with another value at a dotted place; see :meth:`Variations.changed`."""
    return Variations(scenario, [place]).changed(place, value)


def read(document: dict[str, Any], place: str) -> float:
    """The number at a place.

    Raises:
        ConfigError: there is no such place, or no number there; the text lists what is there.
    """
    holder, key = _holder(document, place)
    value = holder[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"{place}: must be a number, got {_kinds(value)}.")
    return float(value)


def write(document: dict[str, Any], place: str, value: float) -> None:
    """Put a number at a place where there is one; whole numbers stay whole."""
    holder, key = _holder(document, place)
    whole = isinstance(holder[key], int) and float(value).is_integer()
    holder[key] = int(value) if whole else float(value)


def _holder(document: dict[str, Any], place: str) -> tuple[Any, Any]:
    """Mapping or list that holds the last part of a place, and its key there."""
    here: Any = document
    parts = place.split(".")
    for i, part in enumerate(parts):
        key = _key(here, part, ".".join(parts[:i]), place)
        if i == len(parts) - 1:
            return here, key
        here = here[key]
    raise ConfigError("a place in the scenario must not be empty.")


def _key(here: Any, part: str, so_far: str, place: str) -> Any:
    where = so_far or "the scenario"
    if isinstance(here, dict):
        if part in here and here[part] is not None:
            return part
        raise ConfigError(f"{place}: {where} has no {part!r}; it has {', '.join(here)}.")
    if not isinstance(here, list):
        raise ConfigError(f"{place}: {where} is {_kinds(here)}, which has no entries.")
    for i, entry in enumerate(here):
        if isinstance(entry, dict) and part in _names(entry):
            return i
    if part.isdigit() and 1 <= int(part) <= len(here):
        return int(part) - 1
    axes = AXES.get(len(here), ()) if not isinstance(here[0] if here else {}, (dict, list)) else ()
    if part in axes:
        return axes.index(part)
    known = [*axes, *([*_names(e), str(i + 1)][0] for i, e in enumerate(here))]
    raise ConfigError(f"{place}: {where} has no entry {part!r}; it has {', '.join(known)}.")


def _names(entry: Any) -> list[str]:
    if not isinstance(entry, dict):
        return []
    cable = entry.get("cable")
    found = [entry[k] for k in NAMES if entry.get(k)]
    return [*found, f"cable{cable}"] if cable else found


def _kinds(value: Any) -> str:
    if isinstance(value, dict):
        return f"a group of {', '.join(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return repr(value)
