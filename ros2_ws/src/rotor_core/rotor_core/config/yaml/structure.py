"""From a YAML tree to frozen dataclasses.

Unknown keys, wrong types, ranges and missing values are refused with their place.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import types
import typing
from collections.abc import Callable, Collection
from typing import Any

from rotor_core.config.yaml.tree import Tree
from rotor_core.errors import ConfigError, Mistakes
from rotor_core.registry import Registry

LONGEST_WORD = 200
"""Characters of a name that messages repeat as they are."""


class EntryError(ValueError):
    """A value inside a block does not fit the others; ``keys`` lead from the block to it, entries from 0."""

    def __init__(self, keys: tuple[str | int, ...], text: str) -> None:
        super().__init__(text)
        self.keys = keys


SCHEMA = 1
"""Version of the files that this version reads."""


def bounded(
    default: Any = dataclasses.MISSING,
    *,
    gt: float | None = None,
    ge: float | None = None,
    le: float | None = None,
    lt: float | None = None,
) -> Any:
    """A number (or tuple of numbers) field with limits that the loader checks.

    > gt, >= ge, <= le, < lt.
    """
    return dataclasses.field(default=default, metadata={"gt": gt, "ge": ge, "le": le, "lt": lt})


def build(
    cls: type,
    tree: Tree,
    path: str = "",
    *,
    mistakes: Mistakes | None = None,
    wrong: Collection[str] = (),
) -> Any:
    """Make a ``cls`` from a mapping.

    Args:
        cls: a dataclass.
        tree: the mapping.
        path: of the keys that lead to it.
        mistakes: found before, to be told together with those found here.
        wrong: keys that these are about, which are not looked at.

    Raises:
        ConfigError: with file, line, the dotted path of the key, what is required and what was
            found; of all keys that are wrong.
    """
    if isinstance(tree.value, str) and hasattr(cls, "SHORTHAND"):
        tree = tree.with_value({cls.SHORTHAND: tree})
    if not isinstance(tree.value, dict):
        raise ConfigError(
            f"{tree.place}: {path or 'the file'}: must be a mapping of keys, got {describe(tree.value)}."
        )
    hints, fields = _fields(cls)
    mistakes, values = mistakes or Mistakes(), {}
    for key, child in tree.value.items():
        if mistakes.are_many:
            break
        where = _join(path, key)
        try:
            if key not in fields:
                raise ConfigError(
                    f"{child.place}: {where}: unknown key {describe(key)}"
                    f"{_former(cls, key) or suggestion(key, list(fields))}"
                )
            if key not in wrong:
                values[key] = convert(hints[key], child, where)
                _check_range(values[key], fields[key], child, where)
        except ConfigError as error:
            mistakes.add(error)
    if not mistakes.are_many:
        misspelt = {_nearest(key, list(fields)) for key in tree.value if key not in fields}
        for name, field in fields.items():
            has_default = field.default is not dataclasses.MISSING
            has_default = has_default or field.default_factory is not dataclasses.MISSING
            if not (has_default or name in tree.value or name in misspelt):
                mistakes.add(ConfigError(f"{tree.place}: {_join(path, name)}: is missing."))
    mistakes.tell()
    try:
        return cls(**values)
    except EntryError as error:
        keys = "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in error.keys)
        where = f"{path}{keys}".lstrip(".")
        raise ConfigError(f"{tree.at(*error.keys).place}: {where}: {error}") from error
    except ValueError as error:
        raise ConfigError(f"{tree.place}: {path or 'the file'}: {error}") from error


def convert(hint: Any, tree: Tree, path: str) -> Any:
    """Convert one value to the type ``hint``; see :func:`build`."""
    value = tree.value
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        for extra in arguments[1:]:
            if isinstance(extra, Registry):
                if arguments[0] is str:
                    return _convert_name(extra, tree, path)
                return _build_by_type(extra, lambda kind: kind.config, tree, path)
        return convert(arguments[0], tree, path)
    if origin in (typing.Union, types.UnionType):
        return _convert_union(arguments, tree, path)
    if origin is typing.Literal:
        if value in arguments and isinstance(value, type(arguments[0])):
            return value
        choices = ", ".join(str(a) for a in arguments)
        raise ConfigError(
            f"{tree.place}: {path}: must be one of {choices}; got "
            f"{describe(value)}{suggestion(value, list(arguments))}"
        )
    if origin is tuple:
        return _convert_tuple(arguments, tree, path)
    if origin is dict:
        if not isinstance(value, dict):
            raise ConfigError(f"{tree.place}: {path}: must be a mapping, got {describe(value)}.")
        keys = list(value)
        found = _convert_all([(arguments[1], value[k], _join(path, k)) for k in keys])
        return dict(zip(keys, found, strict=True))
    if dataclasses.is_dataclass(hint):
        return build(typing.cast(type, hint), tree, path)
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # a whole number of hundreds of digits
            number = math.inf
        if not math.isfinite(number):
            raise ConfigError(
                f"{tree.place}: {path}: must be a finite number, got {describe(value)}."
            )
        return number
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if hint in (bool, str) and isinstance(value, hint):
        return value
    names = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
    raise ConfigError(
        f"{tree.place}: {path}: must be {names.get(hint, hint)}, got {describe(value)}."
    )


@functools.cache
def _fields(cls: type) -> tuple[dict[str, Any], dict[str, dataclasses.Field]]:
    """Types and fields of a dataclass; kept, because annotations are texts that are compiled."""
    return typing.get_type_hints(cls, include_extras=True), {
        f.name: f for f in dataclasses.fields(cls) if f.init
    }


def _convert_union(arguments: tuple, tree: Tree, path: str) -> Any:
    if tree.value is None and type(None) in arguments:
        return None
    choices = [a for a in arguments if a is not type(None)]
    if len(choices) == 1:
        return convert(choices[0], tree, path)
    if all(dataclasses.is_dataclass(c) for c in choices):
        table = {typing.get_args(_fields(c)[0]["type"])[0]: c for c in choices}
        return _build_by_type(table, lambda kind: kind, tree, path)
    # a number or a list of numbers
    listed = isinstance(tree.value, list)
    nested = listed and tree.value and isinstance(tree.value[0].value, list)
    for choice in choices:
        is_tuple = typing.get_origin(choice) is tuple
        holds_tuples = is_tuple and typing.get_origin(typing.get_args(choice)[0]) is tuple
        if is_tuple == listed and bool(holds_tuples) == bool(nested):
            return convert(choice, tree, path)
    return convert(choices[0], tree, path)


def _convert_name(table: Registry | dict[str, type], tree: Tree, path: str) -> str:
    if isinstance(tree.value, str) and tree.value in table:
        return tree.value
    raise ConfigError(
        f"{tree.place}: {path}: must be one of {', '.join(table)}; got "
        f"{describe(tree.value)}{suggestion(tree.value, list(table))}"
    )


def _build_by_type(
    table: Registry | dict[str, type], config_of: Callable[[Any], type], tree: Tree, path: str
) -> Any:
    if not isinstance(tree.value, dict):
        raise ConfigError(
            f"{tree.place}: {path}: must be a mapping with a key 'type', got {describe(tree.value)}."
        )
    if "type" not in tree.value:
        raise ConfigError(
            f"{tree.place}: {path}.type: is missing; it must be one of {', '.join(table)}."
        )
    name = _convert_name(table, tree.value["type"], f"{path}.type")
    return build(config_of(table[name]), tree, path)


def _convert_tuple(arguments: tuple, tree: Tree, path: str) -> tuple:
    if not isinstance(tree.value, list):
        raise ConfigError(f"{tree.place}: {path}: must be a list, got {describe(tree.value)}.")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return _convert_all(
            [(arguments[0], child, f"{path}[{i}]") for i, child in enumerate(tree.value)]
        )
    if len(tree.value) != len(arguments):
        raise ConfigError(
            f"{tree.place}: {path}: must have {len(arguments)} entries, got {len(tree.value)}."
        )
    return _convert_all(
        [
            (a, child, f"{path}[{i}]")
            for i, (a, child) in enumerate(zip(arguments, tree.value, strict=True))
        ]
    )


def _convert_all(parts: list[tuple[Any, Tree, str]]) -> tuple:
    """Convert values; what is wrong with any of them is told together."""
    try:
        return tuple(convert(*part) for part in parts)
    except ConfigError:
        mistakes = Mistakes()
        for part in parts:
            if mistakes.are_many:
                break
            with mistakes.kept():
                convert(*part)
        mistakes.tell()
        raise


def _check_range(value: Any, field: dataclasses.Field, tree: Tree, path: str) -> None:
    limits = field.metadata
    numbers = value if isinstance(value, tuple) else (value,)
    for i, number in enumerate(numbers):
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            continue
        for key, sign, holds in (
            ("gt", ">", lambda a, b: a > b),
            ("ge", ">=", lambda a, b: a >= b),
            ("lt", "<", lambda a, b: a < b),
            ("le", "<=", lambda a, b: a <= b),
        ):
            limit = limits.get(key)
            if limit is not None and not holds(number, limit):
                where = f"{path}[{i}]" if isinstance(value, tuple) else path
                place = tree.value[i].place if isinstance(value, tuple) else tree.place
                raise ConfigError(f"{place}: {where}: must be {sign} {limit:g}, got {number:g}.")


def mapping_of(tree: Tree, what: str, *, is_named: bool = False) -> dict[str, Tree]:
    """Keys and values of a mapping, copied; ``is_named``: a file may give them, by ``use``.

    Raises:
        ConfigError: it is something else.
    """
    if isinstance(tree.value, dict):
        return dict(tree.value)
    hint = ""
    if is_named and isinstance(tree.value, str):
        hint = f" Write `{{use: {tree.value}}}` for the shipped one."
    raise ConfigError(
        f"{tree.place}: {what}: must be a mapping of keys, got {describe(tree.value)}.{hint}"
    )


def check_schema(tree: Tree) -> None:
    """Refuse a file without the ``schema`` that this version reads."""
    schema = mapping_of(tree, "the file").get("schema")
    if schema is None:
        raise ConfigError(
            f"{tree.place}: schema: is missing. Start the file with `schema: {SCHEMA}`."
        )
    if schema.value != SCHEMA or type(schema.value) is not int:
        raise ConfigError(
            f"{schema.place}: schema: must be {SCHEMA}, got {describe(schema.value)}."
        )


def _former(cls: type, key: str) -> str:
    """End of a message for a key that has another name now, from the ``FORMER`` of a dataclass."""
    now = getattr(cls, "FORMER", {}).get(key)
    return f"; it is called {now} now." if now else ""


def suggestion(word: Any, known: list) -> str:
    """End of a message: ``; did you mean ...?`` for the nearest known word, else the known ones."""
    words = [str(k) for k in known]
    if near := _nearest(word, words):
        return f'; did you mean "{near}"?'
    return f". Known: {', '.join(words) or 'none'}."


def _nearest(word: Any, words: list[str]) -> str:
    """The word that was probably meant, or an empty text."""
    longer = [k for k in words if k.startswith(f"{word}_")]  # a key without its unit
    near = longer or difflib.get_close_matches(str(word), words, n=1, cutoff=0.6)
    return near[0] if near else ""


def word(text: str) -> str:
    """A foreign name for messages: as it is, or quoted and short where it cannot be printed on one line."""
    return text if text.isprintable() and len(text) <= LONGEST_WORD else describe(text)


def _join(path: str, key: str) -> str:
    return f"{path}.{word(key)}" if path else word(key)


def describe(value: Any) -> str:
    """Description of a value for messages: its kind, or the value itself, quoted and shortened."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
