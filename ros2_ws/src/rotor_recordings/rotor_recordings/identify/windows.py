"""Parts of a recorded flight, to be predicted from their first states and compared at some instants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from scipy.signal import savgol_coeffs, savgol_filter
from scipy.stats import chi2

from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.errors import ConfigError
from rotor_core.state import State, continuous
from rotor_flight.flight import Commands, Flight
from rotor_flight.replayed import Replayer

SMOOTH_S = 0.11
"""States are smoothed by a moving cubic over at most this: noise of a state at the start grows over a window."""

DEGREE, SHORTEST = 3, 5
"""Of what smooths: of the polynomial, and samples that it takes at least."""

ORDER = 6
"""Of the differences in which noise is seen: of motion they leave little where it is sampled 20 times a period."""

QUANTITIES = (slice(0, 3), slice(3, 7), slice(7, 10), slice(10, 13))
"""Columns with noise of one kind: position, attitude, velocity, body rate."""

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
        others: the flight smoothed half as much, and with twice the noise; none where nothing is smoothed.
    """

    scenario: Scenario
    flight: Flight
    rows: np.ndarray
    checks: np.ndarray
    others: tuple[Flight, ...] = ()

    def halves(self) -> tuple[Windows, Windows]:
        """Every other window to fit, the rest to check."""
        return replace(self, rows=self.rows[::2]), replace(self, rows=self.rows[1::2])

    def variants(self) -> Iterator[Windows]:
        """The same windows of the other flights."""
        for flight in self.others:
            yield replace(self, flight=flight, others=())

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


def smoothed(flight: Flight) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States by moving cubics as long as their noise asks; by such of half that length; with twice the noise.

    For every entity and quantity the length with the least error that is to be expected: what it takes away of the
    states, and twice the share of the noise that it leaves (Mallows 1973). Noise is what sixth differences are. So
    states without noise stay as they are, and fast motion is flattened by no more than noise would do.

    Returns:
        Three arrays, (N, n, 13); the last has as much noise added as there was (Cook and Stefanski 1994).
    """
    step = float(np.median(np.diff(flight.time)))
    most = max(SHORTEST, round(SMOOTH_S / step) | 1)
    states = flight.states.copy()
    if len(flight.time) < most or np.isnan(flight.states).any():
        return states, states, states
    State(states).attitude[:] = continuous(State(states).attitude)
    out = states.copy(), states.copy(), states.copy()
    random = np.random.default_rng(0)
    for entity in range(states.shape[1]):
        for columns in QUANTITIES:
            values = states[:, entity, columns]
            noise = _noise(values)
            length = _length(values, most, noise)
            more = values + np.sqrt(noise) * random.normal(size=values.shape)
            variants = (values, length), (values, length // 2 | 1), (more, length)
            for smooth, variant in zip(out, variants, strict=True):
                smooth[:, entity, columns] = _cubic(*variant)
    for smooth in out:
        State(smooth).attitude[:] /= np.linalg.norm(State(smooth).attitude, axis=2, keepdims=True)
    return out


def _noise(values: np.ndarray) -> float:
    """Variance of the noise of a quantity, (N, k).

    The median of squares does not see jolts; of normal numbers it is that of chi squared times their variance.
    """
    differences = np.diff(values, n=ORDER, axis=0)
    found = np.median(differences**2, axis=0).mean() / chi2.median(1)
    return float(found / comb(2 * ORDER, ORDER))


def _length(values: np.ndarray, most: int, noise: float) -> int:
    """Samples of the moving cubic for a quantity with noise, (N, k): odd, and 1 for none."""

    def error(length: int) -> float:
        left = 1.0 if length == 1 else savgol_coeffs(length, DEGREE)[length // 2]
        return float(np.mean((values - _cubic(values, length)) ** 2) + 2.0 * left * noise)

    return min((1, *range(SHORTEST, most + 1, 2)), key=error)


def _cubic(values: np.ndarray, length: int) -> np.ndarray:
    if length < SHORTEST:
        return values
    return np.asarray(savgol_filter(values, length, DEGREE, axis=0))


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
    clean, *others = (Flight(**{**vars(flight), "states": s}) for s in smoothed(flight))
    return Windows(scenario, clean, rows, checks, tuple(others))
