"""Parts of a recorded flight, to be predicted from their first states and compared at some instants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.signal import savgol_filter

from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.errors import ConfigError
from rotor_core.state import State, continuous
from rotor_flight.flight import Commands, Flight
from rotor_flight.replayed import Replayer

SMOOTH_S = 0.11
"""States are smoothed by a moving cubic over this: noise of a state at the start grows over a window."""

POINTS = 4
"""Instants of a window at which prediction and recording are compared."""


@dataclass(frozen=True)
class Windows:
    """Parts of a flight.

    Attributes:
        scenario: nominal, without what the simulator had been told apart from it.
        flight: what was recorded, smoothed.
        rows: first rows of the windows, (W,).
        checks: rows after the first at which to compare, (POINTS,).
        rougher: smoothed half as much; None where nothing is smoothed.
    """

    scenario: Scenario
    flight: Flight
    rows: np.ndarray
    checks: np.ndarray
    rougher: Flight | None = None

    def halves(self) -> tuple[Windows, Windows]:
        """Every other window to fit, the rest to check."""
        return replace(self, rows=self.rows[::2]), replace(self, rows=self.rows[1::2])

    def smoothed_less(self) -> Windows | None:
        """The same windows of what is smoothed half as much."""
        if self.rougher is None:
            return None
        return replace(self, flight=self.rougher, rougher=None)

    def each(self) -> Iterator[Window]:
        """One after the other."""
        flight, commands = self.flight, self.flight.all_commands
        for row in self.rows:
            start = float(flight.time[row])
            yield Window(
                commands, start, start - float(flight.time[0]), flight.states[row],
                flight.joints[row] if flight.joints.size else None, flight.time[row + self.checks] - start,
                State(flight.states).position[row + self.checks],
            )  # fmt: skip


@dataclass(frozen=True)
class Window:
    """Part of a flight, to be predicted from its first state.

    Attributes:
        commands: of the whole flight.
        start: s.
        elapsed: since the start of the flight, s.
        states: of all entities at the start, as they are told, (n, 13).
        joints: of arms, (n_joints, 2), or None.
        instants: at which to compare, since the start, (POINTS,) s.
        told: positions then, (POINTS, n, 3) m.
    """

    commands: Commands
    start: float
    elapsed: float
    states: np.ndarray
    joints: np.ndarray | None
    instants: np.ndarray
    told: np.ndarray

    def looks(self, period: float) -> np.ndarray:
        """Control periods up to each instant, (POINTS,)."""
        return np.ceil(self.instants / period - 0.5 - SAME_TIME).astype(int)

    def held(self, latency: float, period: float) -> tuple[np.ndarray, np.ndarray]:
        """Means of the held commands over every control period: wrenches, (n, n_vehicles, 4), and efforts."""
        times = self.start - latency + period * np.arange(self.looks(period)[-1])
        commands = self.commands
        first = np.maximum(np.searchsorted(commands.time, times + SAME_TIME, side="right") - 1, 0)
        later = np.minimum(first + 1, len(commands.time) - 1)
        share = np.clip((times + period - commands.time[later]) / period, 0.0, 1.0)
        share = np.where(later > first, share, 0.0)

        def mean(rows: np.ndarray) -> np.ndarray:
            by = share.reshape(-1, *(1,) * (rows.ndim - 1))
            return (1.0 - by) * rows[first] + by * rows[later]

        return mean(commands.wrenches), mean(commands.efforts)

    def arguments(self, replayer: Replayer, latency: float, known: dict[bytes, tuple]) -> tuple:
        """Of :func:`rotor_flight.replayed.replay_world`, from its start.

        Raises:
            RotorError: the plant cannot begin so.
        """
        replayer.begin(self.start, self.states, self.joints, known)
        held, efforts = self.held(latency, replayer.period)
        since = self.elapsed + replayer.period * np.arange(len(held))
        return replayer.arguments(held, efforts, since, self.looks(replayer.period))


def smoothed(flight: Flight, length: float = SMOOTH_S) -> np.ndarray:
    """States by a moving cubic over ``length`` s, (N, n, 13); quaternions of unit length."""
    step = float(np.median(np.diff(flight.time)))
    samples = max(5, round(length / step) | 1)
    if len(flight.time) < samples or np.isnan(flight.states).any():
        return flight.states
    states = flight.states.copy()
    State(states).attitude[:] = continuous(State(states).attitude)
    out = np.asarray(savgol_filter(states, samples, 3, axis=0))
    State(out).attitude[:] /= np.linalg.norm(State(out).attitude, axis=2, keepdims=True)
    return out


def make_windows(
    flight: Flight,
    scenario: Scenario,
    horizon: float,
    start: float = 0.0,
    *,
    is_exact: bool = False,
) -> Windows:
    """Cut a flight into windows that follow each other.

    ``is_exact``: its states are the truth, and stay as they are.

    Raises:
        ConfigError: it is too short, or its states or commands are not known throughout.
    """
    if np.isnan(flight.states).any():
        raise ConfigError("the recording must hold all states at all times for identification.")
    if any(c.mass_kg_per_m for c in scenario.model.cables):
        raise ConfigError(
            "identification: heavy cables are not supported, because windows would begin with them at rest."
        )
    step = float(np.median(np.diff(flight.time)))
    length = round(horizon / step)
    if length < 1:
        raise ConfigError(
            f"--horizon {horizon:g}: must be at least one row of the recording, {step:g} s."
        )
    begin = int(np.searchsorted(flight.time - flight.time[0], start))
    begin = max(begin, int(np.searchsorted(flight.time, flight.all_commands.time[0])) + length)
    rows = np.arange(begin, len(flight.time) - length, length)
    if len(rows) < 6:
        raise ConfigError(
            f"--horizon {horizon:g}: the recording has {len(rows)} windows of that length, at least 6 are needed."
        )
    checks = np.unique(np.rint(np.linspace(1, POINTS, POINTS) / POINTS * length).astype(int))
    if is_exact:
        return Windows(scenario, flight, rows, checks)
    clean, rougher = (
        Flight(**{**vars(flight), "states": smoothed(flight, length)})
        for length in (SMOOTH_S, 0.5 * SMOOTH_S)
    )
    return Windows(scenario, clean, rows, checks, rougher)
