"""Changes of plain data (as YAML and JSON hold it) at random places."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from fuzz import nasty

Place = tuple[Any, Any]
"""A container and a key or index in it."""

MILD = 0.5
"""Part of the inputs with one mild change: what must mostly be accepted."""

LARGEST = 1e300
"""Whole numbers beyond this have no float."""

CHANGES = [
    "delete",
    "replace",
    "scale",
    "scale",
    "repeat",
    "swap",
    "copy",
    "rename",
    "graft",
    "graft",
    "graft",
    "wrap",
    "cut",
]


def places(data: Any) -> list[Place]:
    """Every place of a tree."""
    out: list[Place] = []
    waiting = [data]
    while waiting:
        container = waiting.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for key in keys:
            out.append((container, key))
            if isinstance(container[key], (dict, list)):
                waiting.append(container[key])
    return out


class Vocabulary:
    """Keys of good data, and the values that stood there."""

    def __init__(self, samples: list[Any]) -> None:
        self.values: dict[str, list[Any]] = {}
        for sample in samples:
            for container, key in places(sample):
                if isinstance(container, dict):
                    self.values.setdefault(str(key), []).append(container[key])
        self.keys = sorted(self.values)

    def value(self, rng: np.random.Generator, key: str) -> Any:
        """A copy of a value that stood at this key."""
        return copy.deepcopy(nasty.pick(rng, self.values[key]))


def changed(rng: np.random.Generator, data: Any, words: Vocabulary, *, most: int = 3) -> Any:
    """A copy with one to ``most`` changes."""
    out = copy.deepcopy(data)
    if rng.random() < MILD:
        _nudge(rng, places(out), words)
        return out
    for _ in range(int(rng.integers(1, most + 1))):
        known = places(out)
        if known:
            _change(rng, known, words)
    return out


def _change(rng: np.random.Generator, known: list[Place], words: Vocabulary) -> None:
    container, key = nasty.pick(rng, known)
    here = container[key]
    match nasty.pick(rng, CHANGES):
        case "delete":
            del container[key]
        case "replace":
            container[key] = nasty.value(rng)
        case "scale":
            container[key] = _scaled(rng, here)
        case "repeat" if isinstance(container, list):
            container.insert(int(rng.integers(len(container) + 1)), copy.deepcopy(here))
        case "swap":
            other, at = nasty.pick(rng, known)
            there = copy.deepcopy(other[at])
            other[at], container[key] = copy.deepcopy(here), there
        case "copy":
            other, at = nasty.pick(rng, known)
            other[at] = copy.deepcopy(here)
        case "rename" if isinstance(container, dict):
            container[_misspelt(rng, str(key), words)] = container.pop(key)
        case "graft":
            _graft(rng, container, key, words)
        case "wrap":
            container[key] = [here] if rng.random() < 0.5 else {str(key): here}
        case "cut" if isinstance(here, list) and here:
            container[key] = here[: int(rng.integers(len(here)))]


def _nudge(rng: np.random.Generator, known: list[Place], words: Vocabulary) -> None:
    """Numbers a little different, or what stood at this key elsewhere."""
    for _ in range(int(rng.integers(1, 6))):
        container, key = nasty.pick(rng, known)
        here = container[key]
        if isinstance(here, float):
            container[key] = here * float(rng.choice([0.5, 0.9, 0.99, 1.01, 1.1, 2.0, 5.0]))
        elif isinstance(key, str) and key in words.values and rng.random() < 0.2:
            container[key] = words.value(rng, key)


def _scaled(rng: np.random.Generator, here: Any) -> Any:
    """A number of another size or sign; of a list all of them."""
    if isinstance(here, list):
        return [_scaled(rng, child) for child in here]
    if isinstance(here, bool) or not isinstance(here, (int, float)) or abs(here) > LARGEST:
        return nasty.scalar(rng)
    factor = nasty.pick(
        rng,
        [0.0, -1.0, 0.1, 0.5, 0.9, 1.1, 2.0, 10.0, 1e3, 1e-3, 1e6, 1e-6, 1e9, 1e-9, 1e30, 1e300],
    )
    return (
        type(here)(here * factor) if isinstance(here, int) and abs(factor) < 1e9 else here * factor
    )


def _misspelt(rng: np.random.Generator, key: str, words: Vocabulary) -> str:
    if rng.random() < 0.5:
        return nasty.pick(rng, words.keys)
    at = int(rng.integers(len(key) + 1))
    return key[:at] + nasty.pick(rng, ["", "_", "x", "\u200b", "\x00"]) + key[at + 1 :]


def _graft(rng: np.random.Generator, container: Any, key: Any, words: Vocabulary) -> None:
    """Insert a value that stood at this key elsewhere, or a key or value of others."""
    if isinstance(container, dict) and rng.random() < 0.5:
        other = nasty.pick(rng, words.keys)
        container[other] = words.value(rng, other)
    elif isinstance(key, str) and key in words.values:
        container[key] = words.value(rng, key)
    else:
        container[key] = words.value(rng, nasty.pick(rng, words.keys))
