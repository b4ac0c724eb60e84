"""Write docs/scenario.md, every key of a scenario file, from the schema and the tables of kinds.

./rotor python docs/scripts/make_scenario_page.py
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from pathlib import Path
from typing import Any

from rotor_core.config.schema import Scenario
from rotor_core.registry import Registry

PAGE = Path(__file__).resolve().parents[1] / "scenario.md"
NUMBERS = {float: "number", int: "whole number", bool: "true or false", str: "text"}
LIMITS = (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))
HAND_MADE = {"schema", "name", "description"}
"""Keys that every file begins with; their meaning is in the text above the tables."""


def kind_of(hint: Any, found: list[tuple[str, Any]], place: str) -> str:
    """A type in words; what it consists of is added to ``found`` with its place in the file."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        table = next(a for a in arguments[1:] if isinstance(a, Registry))
        if arguments[0] is str:
            return "one of " + ", ".join(f"`{name}`" for name in table if not table.origin(name))
        own = [name for name in table if not table.origin(name)]
        found += [(f"{place}, `type: {name}`", table[name].config) for name in own]
        return "by `type`: " + ", ".join(f"`{name}`" for name in own)
    if origin is typing.Literal:
        return "one of " + ", ".join(f"`{a}`" for a in arguments)
    if origin in (typing.Union, types.UnionType):
        parts = [a for a in arguments if a is not type(None)]
        if all(dataclasses.is_dataclass(p) for p in parts) and len(parts) > 1:
            found += [(f"{place}, `type: {_type_name(p)}`", p) for p in parts]
            return "by `type`: " + ", ".join(f"`{_type_name(p)}`" for p in parts)
        words = list(dict.fromkeys(kind_of(p, found, place) for p in parts))
        return " or ".join(words)
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            inner = kind_of(arguments[0], found, f"{place}[]")
            return f"list, {inner}" if inner.startswith("by") else f"list of {inner}"
        inner = dict.fromkeys(kind_of(a, found, place) for a in arguments)
        return f"{len(arguments)} x {', '.join(inner)}"
    if dataclasses.is_dataclass(hint):
        found.append((place, hint))
        return "mapping"
    return NUMBERS.get(hint, str(hint))


def _type_name(cls: Any) -> str:
    return typing.get_args(typing.get_type_hints(cls)["type"])[0]


def default_of(field: dataclasses.Field) -> str:
    """Default of a key in words."""
    if field.default is not dataclasses.MISSING:
        if field.default is None or field.default in ("", ()):
            return "-"
        if dataclasses.is_dataclass(field.default):
            return "none"
        value = list(field.default) if isinstance(field.default, tuple) else field.default
        return f"`{str(value).lower() if isinstance(value, bool) else value}`"
    if field.default_factory is not dataclasses.MISSING:
        return "-"
    return "**needed**"


def limits_of(field: dataclasses.Field) -> str:
    """Range of a key."""
    return ", ".join(
        f"{sign} {field.metadata[key]:g}"
        for key, sign in LIMITS
        if field.metadata.get(key) is not None
    )


def meaning_of(cls: type) -> str:
    """Docstring of a dataclass as Markdown."""
    text = inspect.getdoc(cls) or ""
    text = re.sub(r":class:`~?[\w.]*?(\w+)`", r"`\1`", text)
    return text.replace("``", "`")


def section(place: str, cls: type, found: list[tuple[str, Any]]) -> str:
    """Heading, meaning and keys of one mapping of the file."""
    hints = typing.get_type_hints(cls, include_extras=True)
    lines = ["| key | value | range | default |", "|---|---|---|---|"]
    for field in dataclasses.fields(cls):
        if field.name == "type" or (cls is Scenario and field.name in HAND_MADE):
            continue
        words = kind_of(hints[field.name], found, f"{place}.{field.name}" if place else field.name)
        lines.append(f"| `{field.name}` | {words} | {limits_of(field)} | {default_of(field)} |")
    table = "\n".join(lines) if len(lines) > 2 else "No keys but `type`."
    title = re.sub(r"`", "", place) or "The file"
    return f"## {title}\n\n{meaning_of(cls)}\n\n{table}"


def page() -> str:
    """Text of the page."""
    parts = [
        "# Keys of a scenario file",
        "Made by `./rotor python docs/scripts/make_scenario_page.py` from the schema and the tables of laws, "
        "trajectories, forces, sensors and attachments. What other packages register is checked in the same way. "
        "Examples with their story: [config/README.md](../config/README.md). Every file begins with `schema: 1`; "
        "`name` is that of the file where it is left out, `description` is one line for lists. Units are in the names. "
        "`use: NAME` lays the keys beside it over a shipped file of that kind.",
    ]
    queue: list[tuple[str, Any]] = [("", Scenario)]
    seen: dict[Any, str] = {}
    while queue:
        place, cls = queue.pop(0)
        if cls in seen:
            continue
        seen[cls] = place
        found: list[tuple[str, Any]] = []
        parts.append(section(place, cls, found))
        queue = found + queue  # what belongs together stands together
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(PAGE)
