"""Replay an open-loop case.

A JSON file with a system, its initial state and inputs as functions of time.

The result is a NumPy archive (``t, x, q, v, w, tension, taut``) sampled at the rate of the case,
and a JSON list of events.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rotor_core.interface.errors import ConfigError, ModelError
from rotor_sim.engine import Engine
from rotor_sim.events import Event
from rotor_sim.model import layout as at
from rotor_sim.model.body import Body
from rotor_sim.model.system import Cable, System, Weld

CHANNELS = 4


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
    except ValueError as error:
        raise ConfigError(f"{path}: is not valid JSON ({error}).") from error
    if not isinstance(case, dict):
        raise ConfigError(f"{path}: must hold a JSON object, got {type(case).__name__}.")
    for key in ("bodies", "init", "t_end"):
        if key not in case:
            raise ConfigError(f"{path}: key {key!r} is missing.")
    for key, what in (("joints", "joints of articulated bodies"), ("rotors", "internal rotors")):
        if case.get(key):
            raise ConfigError(
                f"{path}: {key}: {what} are not supported by this version of the engine."
            )
    return case


def system_from_case(case: dict) -> System:
    """The mechanical system of a case."""
    bodies = tuple(
        Body(
            b.get("name", f"body{i}"),
            b["m"],
            None if b.get("J") is None else np.array(b["J"], float),
        )
        for i, b in enumerate(case["bodies"])
    )
    cables = tuple(
        Cable(a=c["quad"], b=c["payload"], length=c["l"], r_b=np.array(c["rho"], float))
        for c in case.get("cables", [])
    )
    welds = tuple(
        Weld(w["parent"], w["child"], np.array(w["pos"], float), np.array(w["quat"], float))
        for w in case.get("welds", [])
    )
    inputs = tuple(sorted(int(i) for i in case.get("inputs", {})))
    return System(bodies, cables, welds, inputs, float(case.get("g", 9.81)))


def initial_states(case: dict) -> np.ndarray:
    """Initial states, (n_bodies, 13): position, quaternion, velocity, body rate."""
    return np.array([np.concatenate([s["x"], s["q"], s["v"], s["w"]]) for s in case["init"]], float)


def replay(case: dict, *, step: float = 1e-3) -> CaseRun:
    """Integrate a case with fixed steps, cut exactly at input knots, releases and sample times.

    Args:
        case: as from :func:`load_case`.
        step: longest step, s.

    Returns:
        The samples and the events.
    """
    system = system_from_case(case)
    signals = [case["inputs"][str(i)] for i in system.inputs]
    t_end = float(case["t_end"])
    rate = float(case.get("rate_hz", 50))
    n_samples = int(np.floor(t_end * rate + 1e-9)) + 1
    sample_times = np.arange(n_samples) / rate
    releases = [
        (float(c["release_t"]), "cable", k)
        for k, c in enumerate(case.get("cables", []))
        if c.get("release_t") is not None
    ]
    releases += [
        (float(w["release_t"]), "weld", k)
        for k, w in enumerate(case.get("welds", []))
        if w.get("release_t") is not None
    ]
    knots = {float(k[0]) for s in signals if s["type"] == "pwc" for k in s["knots"]}
    n_steps = int(np.ceil(t_end / step - 1e-9))
    stops = np.unique(
        np.concatenate(
            [
                np.arange(1, n_steps + 1) * step,
                sample_times,
                sorted(knots),
                [r[0] for r in releases],
                [t_end],
            ]
        ).clip(0.0, t_end)
    )
    # stops closer than rounding of each other are one; the sample time itself is kept
    keep = np.concatenate([np.diff(stops) > 1e-12, [True]])
    stops = stops[keep]

    engine = _start(system, signals, initial_states(case), 0.0, step)
    events: list[Event] = []
    gone: list[int] = []
    rows = [_sample(engine, 0.0)]
    for time in stops[stops > 0.0]:
        engine.run_until(float(time))
        if _is_among(time, knots):
            _hold(engine, signals, time)
        for when, what, k in releases:
            if abs(when - time) > 1e-12:
                continue
            if what == "cable":
                engine.cut(k)
            else:
                events += engine.take_events()
                engine = _let_go(engine, case, k, gone, signals)
                events.append(Event(time=float(time), type="release", cables=()))
        if _is_among(time, sample_times):
            rows.append(_sample(engine, float(time)))
    events += engine.take_events()
    samples = {key: np.array([r[key] for r in rows]) for key in rows[0]}
    return CaseRun(samples, events)


def _is_among(time: float, times: object) -> bool:
    return bool(np.min(np.abs(np.asarray(list(times), float) - time), initial=np.inf) <= 1e-12)  # type: ignore[call-overload]


def _start(
    system: System, signals: list[dict], states: np.ndarray, time: float, step: float
) -> Engine:
    engine = Engine(system, step=step, time=time)
    for i, signal in enumerate(signals):
        if signal["type"] == "sinusoid":
            engine.set_sinusoid(
                i, signal["bias"], signal["amp"], signal["freq_hz"], signal["phase"]
            )
    engine.world.inputs[:, at.BIAS : at.BIAS + CHANNELS] = _values(engine, signals, time)
    engine.set_state(states, time=time)
    return engine


def _values(engine: Engine, signals: list[dict], time: float) -> np.ndarray:
    values = engine.world.inputs[:, at.BIAS : at.BIAS + CHANNELS].copy()
    for i, signal in enumerate(signals):
        if signal["type"] == "pwc":
            knots = np.array(signal["knots"], float)
            values[i] = knots[
                max(int(np.searchsorted(knots[:, 0], time + 1e-12, side="right")) - 1, 0), 1:
            ]
    return values


def _hold(engine: Engine, signals: list[dict], time: float) -> None:
    engine.set_wrenches(_values(engine, signals, time))


def _let_go(engine: Engine, case: dict, weld: int, gone: list[int], signals: list[dict]) -> Engine:
    """Rebuild the world without a rigid link; every body goes on with the motion it had."""
    gone.append(weld)
    full = system_from_case(case)
    system = System(
        full.bodies,
        full.cables,
        tuple(w for i, w in enumerate(full.welds) if i not in gone),
        full.inputs,
        full.gravity,
    )
    states = engine.measure()[:, : at.STATE]
    after = Engine(system, step=engine.step_length, time=engine.time)
    after.world.cable_int[:, at.ALIVE] = engine.world.cable_int[:, at.ALIVE]
    for i, signal in enumerate(signals):
        if signal["type"] == "sinusoid":
            after.set_sinusoid(i, signal["bias"], signal["amp"], signal["freq_hz"], signal["phase"])
    after.world.inputs[:, at.BIAS : at.BIAS + CHANNELS] = _values(after, signals, engine.time)
    after.set_state(states, time=engine.time)
    return after


def _sample(engine: Engine, time: float) -> dict[str, np.ndarray]:
    m = engine.measure()
    return {
        "t": np.array(time),
        "x": m[:, at.P : at.P + 3].copy(),
        "q": m[:, at.Q : at.Q + 4].copy(),
        "v": m[:, at.V : at.V + 3].copy(),
        "w": m[:, at.OMEGA : at.OMEGA + 3].copy(),
        "tension": engine.tensions.copy(),
        "taut": engine.taut.copy(),
    }


def write_result(run: CaseRun, out: Path) -> Path:
    """Write samples to ``out`` (.npz) and events beside it (.json).

    Returns the path of the events.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("wb") as file:
        np.savez(file, **run.samples)  # type: ignore[arg-type]
    events_path = out.with_suffix(".json")
    events_path.write_text(json.dumps([event_record(e) for e in run.events], indent=1))
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


def run_case(path: Path, out: Path, *, step: float = 1e-3) -> tuple[CaseRun, Path]:
    """Replay the case at ``path`` and write the result to ``out``.

    Raises:
        ConfigError: the file is not a case that this engine can run.
        ModelError: the case describes a system that cannot be built.
    """
    case = load_case(path)
    try:
        result = replay(case, step=step)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ConfigError(
            f"{path}: is not a complete case ({type(error).__name__}: {error})."
        ) from error
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    return result, write_result(result, out)
