"""Replay an open-loop case.

A JSON file with a system, its initial state and inputs as functions of time.

The result is a NumPy archive (``t, x, q, v, w, tension, taut``, for arms
``theta, dtheta``) sampled at the rate of the case,
and a JSON list of events.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.errors import ConfigError, ContractError, ModelError
from rotor_core.math import so3
from rotor_core.math.rotations import rotation_matrices
from rotor_core.state import FULL_STATE, State
from rotor_dynamics.engine import Engine
from rotor_dynamics.hybrid.events import Event
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable, Ring
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import Rotor, System, Weld
from rotor_recordings.predict.case_format import CHANNELS, OSCILLATION, implausible, load_case

STEP = 1e-3
"""Longest step, s."""

TOLERANCES = {"dopri5": 1e-12, "rkmk4": 1e-11}
"""Of adaptive steps (m, rad and their rates), and of the errors at which a fixed step is cut."""


@dataclass(frozen=True)
class CaseRun:
    """Samples and events of a replayed case, arrays as in the module docstring; notes on what was hardly meant."""

    samples: dict[str, np.ndarray]
    events: list[Event]
    notes: tuple[str, ...] = ()


def _middles(case: dict) -> np.ndarray:
    """Centres of mass in the frames of the bodies, (n, 3).

    The frame of a link stands at its joint. Bodies without joints and rigid links have theirs at the centre of mass,
    whatever ``com``.
    """
    pairs = [*case.get("joints", []), *case.get("welds", [])]
    held = {pair[key] for pair in pairs for key in ("parent", "child")}
    out = np.zeros((len(case["bodies"]), 3))
    for i, body in enumerate(case["bodies"]):
        if i in held and body.get("com") is not None:
            out[i] = body["com"]
    return out


def _pushes(case: dict) -> tuple[tuple[int, ...], list[dict]]:
    """Bodies with inputs, and their signals.

    Thrust acts at the centre of mass, inputs of an engine at the origin of the frame: a body whose centre of mass is
    elsewhere has a second input, the moment of its thrust.
    """
    bodies, signals = [], []
    middles = _middles(case)
    for key in sorted(case.get("inputs", {}), key=int):
        bodies.append(int(key))
        signals.append(case["inputs"][key])
        x, y, _ = middles[int(key)]
        if x or y:
            bodies.append(int(key))
            signals.append(_moment_of_thrust(signals[-1], y, -x))
    return tuple(bodies), signals


def _moment_of_thrust(signal: dict, about_x: float, about_y: float) -> dict:
    """The input of a thrust with levers about two axes, without the thrust."""

    def turned(row: Sequence[float]) -> list[float]:
        return [0.0, about_x * row[0], about_y * row[0], 0.0]

    if signal["type"] == "pwc":
        return {"type": "pwc", "knots": [[k[0], *turned(k[1:])] for k in signal["knots"]]}
    bias, amp, frequency, phase = (_channels(signal, k) for k in OSCILLATION)
    return {
        "type": "sinusoid", "bias": turned(bias), "amp": turned(amp),
        "freq_hz": [frequency[0]] * CHANNELS, "phase": [phase[0]] * CHANNELS,
    }  # fmt: skip


def _channels(signal: dict, key: str) -> np.ndarray:
    """Numbers of a sinusoid for all channels of an input, (4,)."""
    return np.broadcast_to(np.array(signal[key], float), (CHANNELS,))


def system_from_case(case: dict) -> System:
    """The mechanical system of a case."""
    middles = _middles(case)
    bodies = tuple(
        Body(
            b.get("name") or f"body{i}",
            b["m"],
            None if b.get("J") is None else np.array(b["J"], float),
            middles[i],
        )
        for i, b in enumerate(case["bodies"])
    )
    at_middle = {WORLD: np.zeros(3), **dict(enumerate(middles))}
    cables = tuple(
        Cable(
            c["quad"], c["payload"], c["l"],
            at_middle[c["quad"]], at_middle[c["payload"]] + np.array(c["rho"], float),
        )
        for c in case.get("cables", [])
    )  # fmt: skip
    cables += tuple(_rope(rope, at_middle) for rope in case.get("ropes", []))
    welds = tuple(
        Weld(w["parent"], w["child"], np.array(w["pos"], float), np.array(w["quat"], float))
        for w in case.get("welds", [])
    )
    rotors = tuple(
        Rotor(r["body"], _direction(r["axis"]), inertia=float(r["inertia"]))
        for r in case.get("rotors", [])
    )
    joints = tuple(
        Joint(
            j["parent"],
            j["child"],
            _direction(j["axis"]),
            np.array(j["origin"], float),
            name=f"joint{i + 1}",
        )
        for i, j in enumerate(case.get("joints", []))
    )
    inputs, _ = _pushes(case)
    return System(bodies, cables, welds, inputs, float(case.get("g", 9.81)), rotors, joints=joints)


def _direction(axis: Sequence[float]) -> np.ndarray:
    """Unit vector along an axis of any length, (3,): files hold rounded numbers.

    Raises:
        ConfigError: it has none.
    """
    vector = np.array(axis, float)
    length = float(np.linalg.norm(vector))
    if not 0.0 < length < np.inf:
        raise ConfigError(f"axis: must be three numbers that are not all zero, got {axis}.")
    return vector / length


def _rope(rope: dict, middles: Mapping[int, np.ndarray]) -> Cable:
    """A cable that runs through points, winds or stretches; its points are given from the centres of mass."""
    path = [
        Ring(p["body"], middles[p["body"]] + np.array(p.get("r", (0.0, 0.0, 0.0)), float))
        for p in rope["path"]
    ]
    first, *through, last = path
    winds = isinstance(rope["l"], dict)
    length = np.ravel(rope["l"]["bias"])[0] if winds else rope["l"]
    stiffness, damping = float(rope.get("stiffness", 0.0)), float(rope.get("damping", 0.0))
    return Cable(
        first.body, last.body, float(length), first.point, last.point, tuple(through), stiffness, damping, winds=winds
    )  # fmt: skip


def initial_states(case: dict) -> np.ndarray:
    """Initial states of the frames of all bodies, (n_bodies, 13): position, quaternion, velocity, body rate.

    A case gives those of centres of mass. Point masses do not turn.
    """
    states = np.array(
        [np.concatenate([s["x"], s["q"], s["v"], s["w"]]) for s in case["init"]], float
    )
    for row, body in zip(states, case["bodies"], strict=True):
        if body.get("J") is None:
            State(row).attitude[:], State(row).body_rate[:] = so3.IDENTITY, 0.0
    for joint in case.get("joints", []):  # links are where their joints say
        State(states[joint["child"]]).attitude[:] = so3.IDENTITY
    away, moves = _from_frames(states, _middles(case))
    State(states).position[:] -= away
    State(states).velocity[:] -= moves
    return states


def _from_frames(states: np.ndarray, middles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where centres of mass are from the origins of frames, and how they move from there, (n, 3) each, in W."""
    R = rotation_matrices(State(states).attitude)
    swing = np.cross(State(states).body_rate, middles)
    return np.einsum("nij,nj->ni", R, middles), np.einsum("nij,nj->ni", R, swing)


def initial_joints(case: dict) -> np.ndarray:
    """Initial angles and rates of the joints, (n_joints, 2)."""
    n = len(case.get("joints", []))
    return np.array([case.get(key, [0.0] * n) for key in ("theta0", "dtheta0")], float).T


def replay(case: dict, *, step: float | None = None) -> CaseRun:
    """Integrate a case, cut exactly at input knots, releases and sample times.

    Args:
        case: as from :func:`load_case`.
        step: of rkmk4, s. Default: the adaptive dopri5 with the tolerance :data:`TOLERANCES`, in steps of at most
            1 ms. Light bodies that turn fast, and inputs of tens of hertz, ask for more than rkmk4 at 1 ms gives.

    Returns:
        The samples and the events.
    """
    notes = tuple(implausible(case))
    t_end, rate = float(case["t_end"]), float(case.get("rate_hz", 50))
    samples = np.arange(int(np.floor(t_end * rate + 1e-9)) + 1) / rate
    integrator = "dopri5" if step is None else "rkmk4"
    step = STEP if step is None else step
    world = _Replay(case, step, integrator)
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
            rows.append(world.sample(time))
        pending = set()
    columns = {key: np.array([r[key] for r in rows]) for key in rows[0]}
    return CaseRun(columns, world.take_events(), notes)


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
    amplitude, frequency, phase = (float(np.ravel(signal.get(k, 0.0))[0]) for k in OSCILLATION[1:])
    return amplitude, frequency, phase


_NO_TORQUE = {"type": "pwc", "knots": [[0.0, 0.0]]}


class _Replay:
    """The world of a case: its engine, and what changes it from outside."""

    def __init__(self, case: dict, step: float, integrator: str) -> None:
        self.case, self._integrator = case, integrator
        self._full = system_from_case(case)
        self._middles = _middles(case)
        self._points = [b.get("J") is None for b in case["bodies"]]
        _, self.signals = _pushes(case)
        self.speeds = [r["speed"] for r in case.get("rotors", [])]
        self.torques = [j.get("torque") or _NO_TORQUE for j in case.get("joints", [])]
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
        self._let_go(self.engine.is_at_length, 0.0)

    def _engine(self, states: np.ndarray, joints: np.ndarray, time: float) -> Engine:
        """An engine of the system as it is now, with its inputs acting from the start."""
        welds = tuple(w for i, w in enumerate(self._full.welds) if i not in self._open_welds)
        engine = Engine(
            replace(self._full, welds=welds),
            step=self._step,
            time=time,
            integrator=self._integrator,
            tolerance=TOLERANCES[self._integrator],
        )
        engine.remove_cables(self._cut)
        for i, s in enumerate(self.signals):
            if s["type"] == "sinusoid":
                engine.set_sinusoid(i, *(_channels(s, key) for key in OSCILLATION))
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
            taut = self.engine.taut
            self.engine = self._engine(self.engine.update_kinematics()[:, FULL_STATE], joints, time)
            self._let_go(taut, time)

    def _let_go(self, taut: np.ndarray, time: float) -> None:
        """Tell which of the cables at their length pull at nothing: a state that is set is taken up without a word."""
        slack = np.flatnonzero(taut & ~self.engine.taut & self.engine.is_at_length).tolist()
        slack = tuple(k for k in slack if k not in self._cut)
        if slack:
            self._events.append(Event(time=time, type="slack", cables=slack, cause="acceleration"))

    def take_events(self) -> list[Event]:
        """All events so far, in order."""
        self._events += self.engine.take_events()
        return self._events

    def sample(self, time: float) -> dict[str, np.ndarray]:
        """Samples of one instant."""
        engine = self.engine
        m = State(engine.update_kinematics())
        away, moves = _from_frames(m.array, self._middles)
        joints = {"theta": engine.joints.angles, "dtheta": engine.joints.rates}
        attitude, body_rate = m.attitude.copy(), m.body_rate.copy()
        attitude[self._points], body_rate[self._points] = so3.IDENTITY, 0.0
        return (joints if len(engine.joints) else {}) | {
            "t": np.array(time),
            "x": m.position + away,
            "q": attitude,
            "v": m.velocity + moves,
            "w": body_rate,
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
    if out.with_suffix(".json").resolve() == path.resolve():
        raise ConfigError(
            f"--out {out}: the events go beside it as .json, in place of the case itself. Give it another name."
        )
    case = load_case(path)
    try:
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
    except (ModelError, ContractError) as error:
        raise type(error)(f"{path}: {error}") from error
    return result, write_result(result, out)
