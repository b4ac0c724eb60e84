"""Replay an open-loop case.

A JSON file with a system, its initial state and inputs as functions of time.

The result is a NumPy archive (``t, x, q, v, w, tension, taut``, for arms
``theta, dtheta``) sampled at the rate of the case,
and a JSON list of events.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rotor_core.config.yaml.structure import suggestion
from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.errors import ConfigError, ModelError
from rotor_core.math.rotations import rotation_matrices
from rotor_core.state import FULL_STATE, State
from rotor_dynamics.engine import Engine
from rotor_dynamics.hybrid.events import Event
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable, Ring
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import Rotor, System, Weld

CHANNELS = 4

PLAIN = ("name", "title", "g", "t_end", "rate_hz", "inputs", "theta0", "dtheta0")
"""Keys of a case that hold no entries."""

ENTRIES = {
    "bodies": ("name", "m", "J", "com"),
    "init": ("x", "q", "v", "w"),
    "cables": ("quad", "payload", "rho", "l", "release_t"),
    "ropes": ("path", "l", "stiffness", "damping"),
    "welds": ("parent", "child", "pos", "quat"),
    "rotors": ("body", "axis", "inertia", "speed"),
    "joints": ("parent", "child", "axis", "origin", "torque"),
}
"""Lists of a case, and the keys of their entries."""

STEP, TOLERANCE = 1e-3, 1e-11
"""Fixed step, s; tolerance of adaptive steps (m, rad and their rates)."""


@dataclass(frozen=True)
class CaseRun:
    """Samples and events of a replayed case; arrays as in the module docstring."""

    samples: dict[str, np.ndarray]
    events: list[Event]


def load_case(path: Path) -> dict:
    """Read a case file.

    Raises:
        ConfigError: unreadable, not JSON, or it needs a feature that is not supported; the text
            names it.
    """
    try:
        case = json.loads(path.read_text())
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}). Give the path of a case file."
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not valid JSON ({error}).") from error
    if not isinstance(case, dict):
        raise ConfigError(f"{path}: must hold a JSON object, got {type(case).__name__}.")
    for key in ("bodies", "init", "t_end"):
        if key not in case:
            raise ConfigError(f"{path}: key {key!r} is missing.")
    _check_keys(case, path)
    t_end = case["t_end"]
    if not (isinstance(t_end, (int, float)) and np.isfinite(t_end) and t_end > 0.0):
        raise ConfigError(f"{path}: t_end: must be > 0 s, got {t_end!r}.")
    return case


def _check_keys(case: dict, path: Path) -> None:
    """Refuse what would be ignored: a case without it is another one.

    Raises:
        ConfigError: unknown keys, or lists that are none.
    """
    _check_known(case, (*PLAIN, *ENTRIES), str(path))
    for key, known in ENTRIES.items():
        entries = case.get(key, [])
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            raise ConfigError(f"{path}: {key}: must be a list of objects.")
        for i, entry in enumerate(entries):
            _check_known(entry, known, f"{path}: {key}[{i}]")


def _check_known(given: dict, known: Sequence[str], place: str) -> None:
    for key in given:
        if key not in known:
            raise ConfigError(
                f"{place}: key {key!r} means nothing to replay{suggestion(key, sorted(known))}"
            )


def system_from_case(case: dict) -> System:
    """The mechanical system of a case."""
    bodies = tuple(
        Body(
            b.get("name", f"body{i}"),
            b["m"],
            None if b.get("J") is None else np.array(b["J"], float),
            np.array(b.get("com", (0.0, 0.0, 0.0)), float),
        )
        for i, b in enumerate(case["bodies"])
    )
    cables = tuple(
        Cable(a=c["quad"], b=c["payload"], length=c["l"], r_b=np.array(c["rho"], float))
        for c in case.get("cables", [])
    )
    cables += tuple(_rope(rope) for rope in case.get("ropes", []))
    welds = tuple(
        Weld(w["parent"], w["child"], np.array(w["pos"], float), np.array(w["quat"], float))
        for w in case.get("welds", [])
    )
    inputs = tuple(sorted(int(i) for i in case.get("inputs", {})))
    rotors = tuple(
        Rotor(r["body"], np.array(r["axis"], float), inertia=float(r["inertia"]))
        for r in case.get("rotors", [])
    )
    joints = tuple(
        Joint(
            j["parent"],
            j["child"],
            np.array(j["axis"], float) / np.linalg.norm(j["axis"]),
            np.array(j["origin"], float),
            name=f"joint{i + 1}",
        )
        for i, j in enumerate(case.get("joints", []))
    )
    return System(bodies, cables, welds, inputs, float(case.get("g", 9.81)), rotors, joints=joints)


def _rope(rope: dict) -> Cable:
    """A cable that runs through points, winds or stretches."""
    path = [
        Ring(
            WORLD if p["body"] < 0 else int(p["body"]),
            np.array(p.get("r", (0.0, 0.0, 0.0)), float),
        )
        for p in rope["path"]
    ]
    first, *through, last = path
    winds = isinstance(rope["l"], dict)
    length = rope["l"]["bias"] if winds else rope["l"]
    stiffness, damping = float(rope.get("stiffness", 0.0)), float(rope.get("damping", 0.0))
    return Cable(
        first.body, last.body, float(length), first.point, last.point, tuple(through), stiffness, damping, winds=winds
    )  # fmt: skip


def initial_states(case: dict) -> np.ndarray:
    """Initial states, (n_bodies, 13): position, quaternion, velocity, body rate."""
    return np.array([np.concatenate([s["x"], s["q"], s["v"], s["w"]]) for s in case["init"]], float)


def initial_joints(case: dict) -> np.ndarray:
    """Initial angles and rates of the joints, (n_joints, 2)."""
    n = len(case.get("joints", []))
    return np.array([case.get(key, [0.0] * n) for key in ("theta0", "dtheta0")], float).T


def check_signals(case: dict, path: Path) -> None:
    """Refuse inputs, rotor speeds and joint torques that could not be evaluated.

    Raises:
        ConfigError: unknown type, knots out of order, or numbers that are not finite.
    """
    for body, signal in case.get("inputs", {}).items():
        _check_signal(signal, CHANNELS, f"{path}: inputs[{body!r}]")
    for i, rotor in enumerate(case.get("rotors", [])):
        _check_signal(rotor["speed"], 1, f"{path}: rotors[{i}].speed")
    for i, rope in enumerate(case.get("ropes", [])):
        if isinstance(rope["l"], dict):
            _check_signal(rope["l"], 1, f"{path}: ropes[{i}].l", ("sinusoid",))
    for i, joint in enumerate(case.get("joints", [])):
        if "torque" in joint:
            _check_signal(joint["torque"], 1, f"{path}: joints[{i}].torque")


def _check_signal(
    signal: dict, channels: int, place: str, kinds: Sequence[str] = ("pwc", "sinusoid")
) -> None:
    kind = signal.get("type")
    if kind not in kinds:
        raise ConfigError(f"{place}.type: must be {' or '.join(kinds)}, got {kind!r}.")
    if kind == "pwc":
        knots = np.array(signal["knots"], float)
        if knots.ndim != 2 or knots.shape[1] != 1 + channels or not np.isfinite(knots).all():
            raise ConfigError(f"{place}.knots: must be rows of {1 + channels} finite numbers.")
        if np.any(np.diff(knots[:, 0]) <= 0.0):
            raise ConfigError(f"{place}.knots: times must increase.")
    else:
        for key in ("bias", "amp", "freq_hz", "phase"):
            values = np.atleast_1d(np.array(signal[key], float))
            if values.shape != (channels,) or not np.isfinite(values).all():
                raise ConfigError(f"{place}.{key}: must be {channels} finite numbers.")


def replay(case: dict, *, step: float | None = None) -> CaseRun:
    """Integrate a case, cut exactly at input knots, releases and sample times.

    Args:
        case: as from :func:`load_case`.
        step: of rkmk4, s. Default 1 ms; but cases with joints, whose light links may swing fast, are
            replayed by the adaptive dopri5 with the tolerance :data:`TOLERANCE`.

    Returns:
        The samples and the events.
    """
    t_end, rate = float(case["t_end"]), float(case.get("rate_hz", 50))
    samples = np.arange(int(np.floor(t_end * rate + 1e-9)) + 1) / rate
    adaptive = step is None and bool(case.get("joints"))
    step = STEP if step is None else step
    world = _Replay(case, step, "dopri5" if adaptive else "rkmk4")
    steps = np.arange(1, int(np.ceil(t_end / step - 1e-9)) + 1) * step
    due: dict[float, set[str]] = {}
    for reason, times in (
        ("step", steps),
        ("sample", samples),
        ("knot", world.knots),
        ("release", [r[0] for r in world.releases]),
    ):
        for time in times:
            due.setdefault(float(np.clip(time, 0.0, t_end)), set()).add(reason)
    rows: list[dict[str, np.ndarray]] = []
    pending: set[str] = set()
    stops = sorted(due)
    for time, after in zip(stops, [*stops[1:], np.inf], strict=True):
        pending |= due[time]
        if after - time <= SAME_TIME:
            continue  # closer than rounding: one stop
        world.advance(time, pending)
        if "sample" in pending:
            rows.append(_sample(world.engine, time))
        pending = set()
    return CaseRun({key: np.array([r[key] for r in rows]) for key in rows[0]}, world.take_events())


def _held(knots: np.ndarray, time: float) -> np.ndarray:
    """Values of a piecewise constant signal at ``time``."""
    row = int(np.searchsorted(knots[:, 0], time + SAME_TIME, side="right")) - 1
    return knots[max(row, 0), 1:]


def _means(signals: list[dict], time: float) -> np.ndarray:
    """Mean values of scalar signals at ``time``, (n,)."""
    return np.array(
        [
            _held(np.array(s["knots"], float), time)[0]
            if s["type"] == "pwc"
            else float(np.ravel(s["bias"])[0])
            for s in signals
        ]
    )


def _oscillation(signal: dict) -> tuple[float, float, float]:
    """Amplitude, frequency in Hz and phase of a scalar signal; zeros where it is piecewise constant."""
    amplitude, frequency, phase = (
        float(np.ravel(signal.get(key, 0.0))[0]) for key in ("amp", "freq_hz", "phase")
    )
    return amplitude, frequency, phase


_NO_TORQUE = {"type": "pwc", "knots": [[0.0, 0.0]]}


class _Replay:
    """The world of a case: its engine, and what changes it from outside."""

    def __init__(self, case: dict, step: float, integrator: str) -> None:
        self.case, self._integrator = case, integrator
        self._full = system_from_case(case)
        self.signals = [case["inputs"][str(i)] for i in self._full.inputs]
        self.speeds = [r["speed"] for r in case.get("rotors", [])]
        self.torques = [j.get("torque", _NO_TORQUE) for j in case.get("joints", [])]
        self.knots = sorted(
            {
                float(k[0])
                for s in (*self.signals, *self.speeds, *self.torques)
                if s["type"] == "pwc"
                for k in s["knots"]
            }
        )
        self._knot_arrays = [np.array(s.get("knots", []), float) for s in self.signals]
        self.releases = sorted(
            (float(item["release_t"]), what, k)
            for what, key in (("cable", "cables"), ("weld", "welds"))
            for k, item in enumerate(case.get(key, []))
            if item.get("release_t") is not None
        )
        self._left = list(self.releases)
        self._open_welds: set[int] = set()
        self._cut: set[int] = set()
        self._events: list[Event] = []
        self._step = step
        self.engine = self._engine(initial_states(case), initial_joints(case), 0.0)

    def _engine(self, states: np.ndarray, joints: np.ndarray, time: float) -> Engine:
        """An engine of the system as it is now, with its inputs acting from the start."""
        welds = tuple(w for i, w in enumerate(self._full.welds) if i not in self._open_welds)
        engine = Engine(
            replace(self._full, welds=welds),
            step=self._step,
            time=time,
            integrator=self._integrator,
            tolerance=TOLERANCE,
        )
        engine.remove_cables(self._cut)
        for i, s in enumerate(self.signals):
            if s["type"] == "sinusoid":
                engine.set_sinusoid(i, s["bias"], s["amp"], s["freq_hz"], s["phase"])
        for k, rope in enumerate(
            self.case.get("ropes", []), start=len(self.case.get("cables", []))
        ):
            if isinstance(rope["l"], dict):
                bias = float(np.ravel(rope["l"]["bias"])[0])
                engine.winches.oscillate(k, bias, *_oscillation(rope["l"]))
        engine.wrenches[:] = self._values(engine, time)
        self._prescribe_speeds(engine, time)
        for i, torque in enumerate(self.torques):
            engine.joints.oscillate(i, *_oscillation(torque))
        engine.joints.write_efforts(_means(self.torques, time))
        engine.set_state(states, joints=joints, time=time)
        return engine

    def _prescribe_speeds(self, engine: Engine, time: float) -> None:
        for i, (s, mean) in enumerate(zip(self.speeds, _means(self.speeds, time), strict=True)):
            engine.rotors.prescribe(i, float(mean), *_oscillation(s))

    def _values(self, engine: Engine, time: float) -> np.ndarray:
        values = engine.wrenches.copy()
        for i, knots in enumerate(self._knot_arrays):
            if len(knots):
                values[i] = _held(knots, time)
        return values

    def advance(self, time: float, reasons: set[str]) -> None:
        """Integrate to ``time`` and make the changes that are due there."""
        if time > self.engine.time:
            self.engine.run_until(time)
        if "knot" in reasons:
            self.engine.set_wrenches(self._values(self.engine, time))
            self.engine.rotors.act(_means(self.speeds, time))
            self.engine.joints.act(_means(self.torques, time))
        while self._left and self._left[0][0] <= time + SAME_TIME:
            _, what, k = self._left.pop(0)
            if what == "cable":
                self.engine.cut(k)
                self._cut.add(k)
                continue
            self._events += self.engine.take_events()
            self._events.append(Event(time=time, type="release", cables=()))
            self._open_welds.add(k)
            joints = np.stack([self.engine.joints.angles, self.engine.joints.rates], axis=1)
            self.engine = self._engine(self.engine.update_kinematics()[:, FULL_STATE], joints, time)

    def take_events(self) -> list[Event]:
        """All events so far, in order."""
        self._events += self.engine.take_events()
        return self._events


def _sample(engine: Engine, time: float) -> dict[str, np.ndarray]:
    m = State(engine.update_kinematics())
    com = np.array([b.com for b in engine.system.bodies])
    R = rotation_matrices(m.attitude)
    swing = np.cross(m.body_rate, com)
    joints = {"theta": engine.joints.angles, "dtheta": engine.joints.rates}
    return (joints if len(engine.joints) else {}) | {
        "t": np.array(time),
        "x": m.position + np.einsum("nij,nj->ni", R, com),
        "q": m.attitude.copy(),
        "v": m.velocity + np.einsum("nij,nj->ni", R, swing),
        "w": m.body_rate.copy(),
        "tension": engine.tensions.copy(),
        "taut": engine.taut.copy(),
    }


def write_result(run: CaseRun, out: Path) -> Path:
    """Write samples to ``out`` (.npz) and events beside it (.json).

    Returns the path of the events.
    """
    events_path = out.with_suffix(".json")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("wb") as file:
            np.savez(file, **run.samples)  # type: ignore[arg-type]
        events_path.write_text(json.dumps([event_record(e) for e in run.events], indent=1) + "\n")
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written ({error.strerror}).") from error
    return events_path


def event_record(event: Event) -> dict:
    """An event as plain data."""
    return {
        "t": event.time,
        "type": event.type,
        "cables": list(event.cables),
        "cause": event.cause,
        "at_length": list(event.at_length),
        "impulse": list(event.impulses),
        "d_dot_pre": list(event.closing_speeds),
        "d_dot_post": list(event.closing_speeds_after),
        "tension_before": list(event.tensions_before),
        "tension_after": list(event.tensions_after),
    }


def run_case(path: Path, out: Path, *, step: float | None = None) -> tuple[CaseRun, Path]:
    """Replay the case at ``path`` and write the result to ``out``.

    Raises:
        ConfigError: the file is not a case that this engine can run.
        ModelError: the case describes a system that cannot be built.
    """
    if out.suffix != ".npz":
        raise ConfigError(f"--out {out}: must end in .npz; the events go beside it as .json.")
    case = load_case(path)
    try:
        check_signals(case, path)
        result = replay(case, step=step)
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        MemoryError,
    ) as error:
        raise ConfigError(
            f"{path}: is not a complete case ({type(error).__name__}: {error})."
        ) from error
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    return result, write_result(result, out)
