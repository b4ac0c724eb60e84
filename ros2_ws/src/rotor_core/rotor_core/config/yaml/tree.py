"""YAML as a tree in which every value knows its file and line.

YAML 1.2: no `on`, `1:30` or sexagesimal surprises.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from rotor_core.errors import ConfigError

MAX_BYTES = 1_000_000
MAX_YAML_BYTES = 400_000
MAX_NODES = 100_000
"""Bounds of a configuration file (the first: of tables and robot descriptions, which are read faster than YAML).

Beyond them it is refused rather than read (alias bombs, wrong files).
"""

LONGEST_NUMBER = 40
"""Messages repeat this many characters of a text that is not a number."""

_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True)
class Tree:
    """A YAML value.

    ``value`` is a dict or list of trees, or a plain scalar; ``file`` and ``line`` say where it
    stands.
    """

    value: Any
    file: str
    line: int

    @property
    def place(self) -> str:
        """``file:line`` for messages; without the line of what stands in no file (0)."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def at(self, *keys: str | int) -> Tree:
        """The value at these keys, and numbers of entries from 0; as far as it goes."""
        found = self
        for key in keys:
            try:
                found = found.value[key]  # pyright: ignore[reportCallIssue]
            except (KeyError, IndexError, TypeError):
                break
        return found

    def with_value(self, value: Any) -> Tree:
        """The same place with another value."""
        return replace(self, value=value)


def read_tree(path: Path) -> Tree:
    """Read one YAML file.

    Raises:
        ConfigError: unreadable, too large, not YAML, empty, duplicate keys.
    """
    try:
        if path.stat().st_size > MAX_YAML_BYTES:
            raise ConfigError(
                f"{path}: is larger than {MAX_YAML_BYTES} bytes. This is not a configuration file."
            )
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}). Check the path.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})."
        ) from error
    return parse_tree(text, str(path))


def parse_tree(text: str, name: str) -> Tree:
    """Parse YAML text.

    ``name`` stands for the file in messages. Raises ConfigError as :func:`read_tree`.
    """
    try:
        node = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise ConfigError(
            f"{name}:{line}: is not valid YAML: {error.problem or error.context}."
        ) from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}:1: is not valid YAML: {str(error).splitlines()[0]}.") from error
    if node is None:
        raise ConfigError(f"{name}:1: is empty. See config/scenarios for examples.")
    return _Builder(name).build(node)


class _Builder:
    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.open: set[int] = set()

    def build(self, node: Any) -> Tree:
        line = node.start_mark.line + 1
        self.count += 1
        if self.count > MAX_NODES:
            raise ConfigError(
                f"{self.name}:{line}: more than {MAX_NODES} values (aliases included). Write a smaller file."
            )
        if id(node) in self.open:
            raise ConfigError(f"{self.name}:{line}: an alias contains itself. Write the value out.")
        self.open.add(id(node))
        try:
            value = self._value(node, line)
        except RecursionError as error:
            raise ConfigError(f"{self.name}:{line}: is nested too deeply.") from error
        self.open.discard(id(node))
        return Tree(value, self.name, line)

    def _value(self, node: Any, line: int) -> Any:
        if isinstance(node, MappingNode):
            out: dict[str, Tree] = {}
            for key_node, value_node in node.value:
                key_line = key_node.start_mark.line + 1
                if not isinstance(key_node, ScalarNode):
                    raise ConfigError(
                        f"{self.name}:{key_line}: a key must be a word, not a list or mapping."
                    )
                if key_node.value in out:
                    raise ConfigError(
                        f"{self.name}:{key_line}: key {key_node.value!r} appears twice. Remove one."
                    )
                # a key's own line is the better place for a message about its value
                out[key_node.value] = replace(self.build(value_node), line=key_line)
            return out
        if isinstance(node, SequenceNode):
            return [self.build(child) for child in node.value]
        return self._scalar(node, line)

    def _scalar(self, node: Any, line: int) -> Any:
        tag, text = str(node.tag).removeprefix(_TAG), node.value
        try:
            if tag == "null":
                return None
            if tag == "bool":
                if text.lower() not in ("true", "false"):  # yes and on are words of YAML 1.1
                    raise ConfigError(f"{self.name}:{line}: write true or false, got {text!r}.")
                return text.lower() == "true"
            if tag == "int":
                return int(text.replace("_", ""), 0)
            if tag == "float":
                return float(
                    text.replace("_", "")
                    .replace(".inf", "inf")
                    .replace(".nan", "nan")
                    .replace(".NaN", "nan")
                )
        except ValueError as error:
            raise ConfigError(
                f"{self.name}:{line}: {text[:LONGEST_NUMBER]!r} is not a number."
            ) from error
        if tag in ("str", "timestamp"):
            return text
        raise ConfigError(
            f"{self.name}:{line}: the tag {node.tag} is not allowed. Write a plain value."
        )


def plain(tree: Tree) -> Any:
    """The value without places."""
    if isinstance(tree.value, dict):
        return {key: plain(child) for key, child in tree.value.items()}
    if isinstance(tree.value, list):
        return [plain(child) for child in tree.value]
    return tree.value


def tree_of(value: Any, at: Tree) -> Tree:
    """A tree of plain data, all of it at the place of ``at``."""
    if isinstance(value, dict):
        return at.with_value({k: tree_of(v, at) for k, v in value.items()})
    if isinstance(value, (list, tuple)):
        return at.with_value([tree_of(v, at) for v in value])
    return at.with_value(value)
