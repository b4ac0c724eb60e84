"""Parts of a recorded flight, to be predicted from their first states and compared at some instants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.errors import ConfigError
from rotor_core.state import State
from rotor_flight.flight import Commands, Flight
from rotor_flight.replayed import Replayer
from rotor_recordings.identify.noise import CHANGES, moved, noise_of

POINTS = 100
"""Instants of a window at which prediction and recording are compared, at most: all tell of its start."""


GAP = 1.5
"""Rows farther apart than so many usual steps have a gap between them: nobody knows what was commanded there."""


@dataclass(frozen=True)
class Windows:
    """Parts of a flight.

    Attributes:
        scenario: nominal, without what the simulator had been told apart from it.
        flight: what was recorded.
        rows: first rows of the windows, (W,).
        checks: rows after the first at which to compare, (POINTS,).
        noise: standard deviations of the told states, (n, 12); see :mod:`rotor_recordings.identify.noise`.
        changes: of the first states from those that were told, (W, n, 12).
    """

    scenario: Scenario
    flight: Flight
    rows: np.ndarray
    checks: np.ndarray
    noise: np.ndarray
    changes: np.ndarray

    def halves(self) -> tuple[Windows, Windows]:
        """Every other window to fit, the rest to check."""
        return self.some(slice(0, None, 2)), self.some(slice(1, None, 2))

    def some(self, which: slice) -> Windows:
        """Some of them."""
        return replace(self, rows=self.rows[which], changes=self.changes[which])

    def begun_at(self, changes: np.ndarray) -> Windows:
        """The same windows from first states that differ from those that were told, by (W, n, 12)."""
        return replace(self, changes=changes)

    def each(self) -> Iterator[Window]:
        """One after the other."""
        flight, commands = self.flight, self.flight.all_commands
        for row, change in zip(self.rows, self.changes, strict=True):
            start = float(flight.time[row])
            yield Window(
                commands, start, start - float(flight.time[0]) + flight.begun, moved(flight.states[row], change),
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

    def held(self, latency: float, period: float, past: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Means of the held commands over every control period: wrenches, (n, n_vehicles, 4), and efforts.

        ``past``: with so many periods before the start.
        """
        times = self.start - latency + period * np.arange(-past, self.looks(period)[-1])
        commands = self.commands
        first = np.maximum(np.searchsorted(commands.time, times + SAME_TIME, side="right") - 1, 0)
        later = np.minimum(first + 1, len(commands.time) - 1)
        share = np.clip((times + period - commands.time[later]) / period, 0.0, 1.0)
        share = np.where(later > first, share, 0.0)

        def mean(rows: np.ndarray) -> np.ndarray:
            by = share.reshape(-1, *(1,) * (rows.ndim - 1))
            return (1.0 - by) * rows[first] + by * rows[later]

        return mean(commands.wrenches), mean(commands.efforts)

    def past(self, memory: int, period: float) -> int:
        """Control periods before the start, of ``memory`` that motors remember, whose commands are known."""
        return max(0, min(memory, int((self.start - self.commands.time[0]) / period)))

    def arguments(self, replayer: Replayer, latency: float, known: dict[bytes, tuple]) -> tuple:
        """Of :func:`rotor_flight.replayed.replay_world`, from its start.

        Raises:
            RotorError: the plant cannot begin so.
        """
        replayer.begin(self.start, self.states, self.joints, known)
        past = self.past(replayer.memory, replayer.period)
        held, efforts = self.held(latency, replayer.period, past)
        looks = self.looks(replayer.period)
        return replayer.arguments(held, efforts, self.elapsed, past, looks)


def make_windows(
    flight: Flight,
    scenario: Scenario,
    horizon: float,
    start: float = 0.0,
    *,
    is_exact: bool = False,
) -> Windows:
    """Cut a flight into windows that follow each other; none goes over a gap of the recording.

    ``is_exact``: its states are the truth.

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
    gaps = np.flatnonzero(np.diff(flight.time) > GAP * step)
    rows = rows[np.searchsorted(gaps, rows) == np.searchsorted(gaps, rows + length)]
    if len(rows) < 6:
        without = f" without the {len(gaps)} gaps" if len(gaps) else ""
        raise ConfigError(
            f"--horizon {horizon:g}: the recording has {len(rows)} windows of that length{without}, at least 6 are "
            "needed."
        )
    checks = np.unique(np.rint(np.linspace(1, POINTS, POINTS) / POINTS * length).astype(int))
    entities = flight.states.shape[1]
    noise = np.zeros((entities, CHANGES)) if is_exact else noise_of(flight.states)
    return Windows(scenario, flight, rows, checks, noise, np.zeros((len(rows), entities, CHANGES)))
