"""Format of a case file: keys, kinds, ranges and what belongs together. Anything else is refused with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rotor_core.config.yaml.structure import bounded, build, convert, describe, suggestion
from rotor_core.config.yaml.tree import Tree, tree_of
from rotor_core.errors import ConfigError

CHANNELS = 4
"""Of an input: thrust, and moments about the axes of the body."""

OSCILLATION = ("bias", "amp", "freq_hz", "phase")
"""Keys of a sinusoid."""

ROUNDED = 1e-6
"""Principal values of an inertia are given to within this share."""

LONGEST, MOST_SAMPLES = 86400.0, 10_000_000
"""Duration of a case, s, and how many samples it may ask for."""

Vector = tuple[float, float, float]
Numbers = float | tuple[float, ...]


@dataclass(frozen=True)
class Constant:
    """Piecewise constant: knots of a time and values that hold from there on."""

    type: Literal["pwc"]
    knots: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Sinusoid:
    """``bias + amp sin(2 pi freq_hz t + phase)``; one number, or one for each channel."""

    type: Literal["sinusoid"]
    bias: Numbers
    amp: Numbers
    freq_hz: Numbers
    phase: Numbers


Signal = Constant | Sinusoid


@dataclass(frozen=True)
class BodyEntry:
    """A body; without ``J`` a point mass."""

    m: float = bounded(ge=0.0)
    J: tuple[Vector, Vector, Vector] | None = None
    com: Vector | None = None
    name: str = ""


@dataclass(frozen=True)
class InitEntry:
    """Initial state of a body."""

    x: Vector
    q: tuple[float, float, float, float]
    v: Vector
    w: Vector


@dataclass(frozen=True)
class CableEntry:
    """A cable between two bodies; -1 is the world."""

    quad: int = bounded(ge=-1)
    payload: int = bounded(ge=-1)
    rho: Vector = bounded()
    l: float = bounded(gt=0.0)
    release_t: float | None = bounded(None, ge=0.0)


@dataclass(frozen=True)
class PathPoint:
    """A point of a rope; -1 is the world."""

    body: int = bounded(ge=-1)
    r: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class RopeEntry:
    """A rope of given length."""

    path: tuple[PathPoint, ...]
    l: float = bounded(gt=0.0)
    stiffness: float = bounded(0.0, ge=0.0)
    damping: float = bounded(0.0, ge=0.0)


@dataclass(frozen=True)
class WoundEntry:
    """A rope on a winch."""

    path: tuple[PathPoint, ...]
    l: Sinusoid
    stiffness: float = bounded(0.0, ge=0.0)
    damping: float = bounded(0.0, ge=0.0)


@dataclass(frozen=True)
class WeldEntry:
    """A rigid link."""

    parent: int = bounded(ge=0)
    child: int = bounded(ge=0)
    pos: Vector = bounded()
    quat: tuple[float, float, float, float] = bounded()
    release_t: float | None = bounded(None, ge=0.0)


@dataclass(frozen=True)
class RotorEntry:
    """A spinning rotor of a gyrostat."""

    body: int = bounded(ge=0)
    axis: Vector = bounded()
    inertia: float = bounded(ge=0.0)
    speed: Signal = bounded()


@dataclass(frozen=True)
class JointEntry:
    """A joint of an arm."""

    parent: int = bounded(ge=0)
    child: int = bounded(ge=0)
    axis: Vector = bounded()
    origin: Vector = bounded()
    torque: Signal | None = None


ENTRIES: dict[str, type] = {
    "bodies": BodyEntry,
    "init": InitEntry,
    "cables": CableEntry,
    "ropes": RopeEntry,
    "welds": WeldEntry,
    "rotors": RotorEntry,
    "joints": JointEntry,
}
"""Lists of a case, and what their entries hold."""


@dataclass(frozen=True)
class Rest:
    """Keys that hold no list of entries."""

    t_end: float = bounded(gt=0.0, le=LONGEST)
    name: str = ""
    title: str = ""
    g: float = 9.81
    rate_hz: float = bounded(50.0, gt=0.0)
    theta0: tuple[float, ...] = ()
    dtheta0: tuple[float, ...] = ()


BODIES_OF = {
    "cables": ("quad", "payload"),
    "welds": ("parent", "child"),
    "rotors": ("body",),
    "joints": ("parent", "child"),
}
"""Keys that hold the number of a body."""


class _Value(Tree):
    """A value of a JSON file, which keeps no lines."""

    @property
    def place(self) -> str:
        return self.file


def load_case(path: Path) -> dict:
    """Read a case file.

    Raises:
        ConfigError: unreadable, not JSON, or a key or value that a case cannot have; the text names it.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict:
        found: dict = {}
        for key, value in pairs:
            if key in found:
                raise ConfigError(f"{path}: key {key!r} appears twice. Remove one.")
            found[key] = value
        return found

    try:
        case = json.loads(path.read_text(), object_pairs_hook=once)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}). Give the path of a case file."
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not valid JSON ({error}).") from error
    if not isinstance(case, dict):
        raise ConfigError(f"{path}: must hold a JSON object, got {type(case).__name__}.")
    check_case(case, str(path))
    return case


def check_case(case: dict, place: str) -> None:
    """Refuse what would be ignored or cannot be meant: a case without it is another one.

    Args:
        case: plain data.
        place: of the file, for messages.

    Raises:
        ConfigError: names place, value, limit and remedy.
    """
    plain = Rest.__dataclass_fields__
    known = [*plain, "inputs", *ENTRIES]
    for key in case:
        if key not in known:
            raise ConfigError(
                f"{place}: key {key!r} means nothing to replay{suggestion(key, sorted(known))}"
            )
    for key in ("bodies", "init", "t_end"):
        if key not in case:
            raise ConfigError(f"{place}: key {key!r} is missing.")
    root = tree_of(case, _Value(None, place, 0))
    build(Rest, root.with_value({k: v for k, v in root.value.items() if k in plain}))
    for key, kind in ENTRIES.items():
        if key in case:
            _check_list(root.value[key], key, kind)
    if "inputs" in case:
        convert(dict[str, Signal], root.value["inputs"], "inputs")
    _check_numbers(case, place)
    _check_signals(case, place)


def implausible(case: dict) -> Iterator[str]:
    """Notes on what is computed as it stands, and was hardly meant."""
    links = [*case.get("welds", []), *case.get("joints", [])]
    held = {link[end] for link in links for end in ("parent", "child")}
    for i, body in enumerate(case["bodies"]):
        if body.get("J") is not None:
            small, middle, large = np.linalg.eigvalsh(body["J"])
            if large > (small + middle) * (1.0 + ROUNDED):
                yield (
                    f"bodies[{i}].J belongs to no rigid body: its largest principal value {large:.4g} exceeds the sum "
                    f"of the other two, {small + middle:.4g}."
                )
        elif i not in held and np.any(_moments(case.get("inputs", {}).get(str(i)))):
            yield f"inputs[{i}]: moments do nothing, because bodies[{i}] is a point mass (no J)."


def _moments(signal: dict | None) -> np.ndarray:
    """Numbers of a signal that act about axes."""
    if signal is None:
        return np.zeros(0)
    if signal["type"] == "pwc":
        return np.array(signal["knots"], float)[:, 2:]
    # one number is that of all channels
    return np.array([np.broadcast_to(signal[key], CHANNELS) for key in ("bias", "amp")], float)[
        :, 1:
    ]


def _check_list(tree: Tree, key: str, kind: type) -> None:
    if not isinstance(tree.value, list):
        raise ConfigError(f"{tree.place}: {key}: must be a list, got {describe(tree.value)}.")
    for i, entry in enumerate(tree.value):
        winds = key == "ropes" and isinstance(entry.at("l").value, dict)
        build(WoundEntry if winds else kind, entry, f"{key}[{i}]")


def _check_numbers(case: dict, place: str) -> None:
    """How many there are of what, and which bodies are meant."""
    asked = case["t_end"] * case.get("rate_hz", 50.0)
    if asked > MOST_SAMPLES:
        raise ConfigError(
            f"{place}: t_end and rate_hz: ask for {asked:.3g} samples, more than {MOST_SAMPLES:g}. Lower rate_hz."
        )
    n = len(case["bodies"])
    if n == 0:
        raise ConfigError(f"{place}: bodies: must hold at least one body.")
    if len(case["init"]) != n:
        raise ConfigError(
            f"{place}: init: must hold {n} states, one for each body, got {len(case['init'])}."
        )
    links = {joint["child"] for joint in case.get("joints", [])}  # where they are, their joints say
    for i, state in enumerate(case["init"]):
        if i in links:
            continue
        length = float(np.linalg.norm(state["q"]))
        if abs(length - 1.0) > 1e-6:
            raise ConfigError(f"{place}: init[{i}].q: must have length 1, got {length:g}.")
    for i, weld in enumerate(case.get("welds", [])):
        length = float(np.linalg.norm(weld.get("quat", [1.0])))
        if abs(length - 1.0) > 1e-6:
            raise ConfigError(f"{place}: welds[{i}].quat: must have length 1, got {length:g}.")
    for key, names in BODIES_OF.items():
        for i, entry in enumerate(case.get(key, [])):
            for name in names:
                _check_body(entry[name], n, f"{place}: {key}[{i}].{name}")
    for i, rope in enumerate(case.get("ropes", [])):
        if len(rope["path"]) < 2:
            raise ConfigError(
                f"{place}: ropes[{i}].path: must hold at least two points, got {len(rope['path'])}."
            )
        for j, point in enumerate(rope["path"]):
            _check_body(point["body"], n, f"{place}: ropes[{i}].path[{j}].body")
    for key in case.get("inputs", {}):
        if key not in map(str, range(n)):
            raise ConfigError(
                f"{place}: inputs: key {key!r} is no body; must be the number of one, 0 to {n - 1}."
            )
    joints = case.get("joints", [])
    for i, joint in enumerate(joints):
        if not np.linalg.norm(joint["axis"]) > 0.0:
            raise ConfigError(f"{place}: joints[{i}].axis: must have a length above 0.")
    for key in ("theta0", "dtheta0"):
        given = len(case.get(key, []))
        if given != len(joints):
            raise ConfigError(
                f"{place}: {key}: must hold {len(joints)} numbers, one for each joint, got {given}."
            )


def _check_body(number: int, n: int, where: str) -> None:
    if number >= n:
        raise ConfigError(f"{where}: must be the number of a body, below {n}, got {number}.")


def _check_signals(case: dict, place: str) -> None:
    for body, signal in case.get("inputs", {}).items():
        _check_signal(signal, CHANNELS, f"{place}: inputs[{body!r}]")
    for i, rotor in enumerate(case.get("rotors", [])):
        _check_signal(rotor["speed"], 1, f"{place}: rotors[{i}].speed")
    for i, joint in enumerate(case.get("joints", [])):
        if joint.get("torque") is not None:
            _check_signal(joint["torque"], 1, f"{place}: joints[{i}].torque")
    for i, rope in enumerate(case.get("ropes", [])):
        if not isinstance(rope["l"], dict):
            continue
        where = f"{place}: ropes[{i}].l"
        _check_signal(rope["l"], 1, where)
        bias, amp = (float(np.ravel(rope["l"][key])[0]) for key in ("bias", "amp"))
        if not bias > abs(amp):
            raise ConfigError(
                f"{where}: must stay above 0 m: a bias above {abs(amp):g}, got {bias:g}."
            )


def _check_signal(signal: dict, channels: int, where: str) -> None:
    if signal["type"] == "pwc":
        knots = signal["knots"]
        if not knots or any(len(knot) != 1 + channels for knot in knots):
            raise ConfigError(
                f"{where}.knots: must be rows of {1 + channels} numbers: a time and {channels} values."
            )
        if np.any(np.diff([knot[0] for knot in knots]) <= 0.0):
            raise ConfigError(f"{where}.knots: times must increase.")
        return
    for key in OSCILLATION:
        values = signal[key]
        if isinstance(values, list) and len(values) not in {1, channels}:
            raise ConfigError(f"{where}.{key}: must be {channels} numbers, got {len(values)}.")
