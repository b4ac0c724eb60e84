"""Names that other suites use for our topics: files of config/remaps."""

from __future__ import annotations

import re

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from rotor_core.config.catalog import locate
from rotor_core.config.model import Model
from rotor_core.errors import ConfigError

PLACEHOLDER = re.compile(r"\{(\w+)\}")
KNOWN = ("vehicle", "i", "payload")


def load_remaps(name: str, model: Model, namespace: str = "") -> list[tuple[str, str]]:
    """Pairs (ours, theirs) for every vehicle and payload of a model.

    Args:
        name: shipped file of config/remaps, or path; empty: none.
        model: whose entities stand for the placeholders.
        namespace: of the nodes; before absolute names of theirs, so that two worlds stay apart.

    Raises:
        ConfigError: there is no such file, or it is not a map of names.
    """
    if not name:
        return []
    path = locate("remaps", name)
    try:
        content = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except (YAMLError, OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    pairs = content.get("remaps") if isinstance(content, dict) else None
    if not isinstance(pairs, dict) or not all(
        isinstance(k, str) and isinstance(v, str) for k, v in pairs.items()
    ):
        raise ConfigError(f"{path}: must hold a map `remaps` from our names to theirs.")
    out = []
    for ours, theirs in pairs.items():
        unknown = [p for p in PLACEHOLDER.findall(ours + theirs) if p not in KNOWN]
        if unknown:
            known = ", ".join(f"{{{k}}}" for k in KNOWN)
            raise ConfigError(
                f"{path}: remaps: unknown {{{unknown[0]}}} in {ours!r}; known: {known}."
            )
        kinds = {"vehicle": model.vehicles, "payload": model.payloads}
        asked = [kind for kind in kinds if f"{{{kind}}}" in ours]
        if len(asked) > 1:
            raise ConfigError(f"{path}: remaps: {ours!r}: is of vehicles and payloads at once.")
        before = namespace if theirs.startswith("/") else ""
        for i, entity in enumerate(kinds[asked[0]] if asked else (None,), start=1):
            words = {kind: entity.name for kind in asked if entity is not None} | {"i": i}
            try:
                pair = ours.format(**words), before + theirs.format(**words)
            except (KeyError, ValueError, IndexError) as error:
                raise ConfigError(
                    f"{path}: remaps: {ours!r}: {theirs!r}: names stand in braces, those of theirs in ours ({error})."
                ) from error
            out.append(pair)
    taken: dict[str, str] = {}
    for ours, theirs in out:
        both = {ours, taken.get(theirs, ours)}
        if len(both) > 1 and not all(
            name.endswith("goal_pose") for name in both
        ):  # goals may come on one
            raise ConfigError(
                f"{path}: remaps: {taken[theirs]} and {ours} would both be {theirs}. Tell them apart by {{vehicle}}, "
                "{payload} or {i}, the number of either."
            )
        taken[theirs] = ours
    return out
