"""Rollouts of a recorded flight: many short predictions from its states, fed with its commands, and what they miss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import savgol_filter

from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError, RotorError
from rotor_core.state import State, States
from rotor_flight.flight import Flight
from rotor_sim.period import Decision, control_period
from rotor_sim.simulation import Simulation

SMOOTH_S = 0.11
"""States are smoothed by a moving cubic over this: noise of a state at the start grows over a window."""

POINTS = 4
"""Instants of a window at which prediction and recording are compared."""

LOST = 1.0
"""Error of a prediction that cannot go on, at every point that it misses, m."""


@dataclass(frozen=True)
class Windows:
    """Parts of a flight.

    Attributes:
        scenario: nominal, without what the simulator had been told apart from it.
        flight: what was recorded, smoothed.
        rows: first rows of the windows, (W,).
        checks: rows after the first at which to compare, (POINTS,).
    """

    scenario: Scenario
    flight: Flight
    rows: np.ndarray
    checks: np.ndarray

    def halves(self) -> tuple[Windows, Windows]:
        """Every other window to fit, the rest to check."""
        return (
            Windows(self.scenario, self.flight, self.rows[::2], self.checks),
            Windows(self.scenario, self.flight, self.rows[1::2], self.checks),
        )


def smoothed(flight: Flight) -> np.ndarray:
    """States by a moving cubic, (N, n, 13); quaternions of unit length."""
    step = float(np.median(np.diff(flight.time)))
    samples = max(5, round(SMOOTH_S / step) | 1)
    if len(flight.time) < samples or np.isnan(flight.states).any():
        return flight.states
    states = flight.states.copy()
    flips = np.cumprod(
        np.where(
            (State(states).attitude[1:] * State(states).attitude[:-1]).sum(axis=2) < 0.0, -1.0, 1.0
        ),
        axis=0,
    )
    State(states).attitude[1:] *= flips[:, :, None]
    out = np.asarray(savgol_filter(states, samples, 3, axis=0))
    State(out).attitude[:] /= np.linalg.norm(State(out).attitude, axis=2, keepdims=True)
    return out


def make_windows(flight: Flight, scenario: Scenario, horizon: float, start: float = 0.0) -> Windows:
    """Cut a flight into windows that follow each other.

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
    begin = int(np.searchsorted(flight.time - flight.time[0], start))
    begin = max(begin, int(np.searchsorted(flight.time, flight.all_commands.time[0])) + length)
    rows = np.arange(begin, len(flight.time) - length, length)
    if len(rows) < 6:
        raise ConfigError(
            f"--horizon {horizon:g}: the recording has {len(rows)} windows of that length, at least 6 are needed."
        )
    checks = np.unique(np.rint(np.linspace(1, POINTS, POINTS) / POINTS * length).astype(int))
    clean = Flight(**{**vars(flight), "states": smoothed(flight)})
    return Windows(scenario, clean, rows, checks)


def prediction_residuals(windows: Windows, scenario: Scenario, latency: float) -> np.ndarray:
    """Recorded minus predicted positions, (W, POINTS, n_entities, 3) m.

    Commands act ``latency`` s after their stamps: over a control period the mean of what is held then.
    """
    flight, commands = windows.flight, windows.flight.all_commands
    simulation = Simulation(scenario)
    period = scenario.time.control_s
    entities = len(simulation.names)
    out = np.zeros((len(windows.rows), len(windows.checks), entities, 3))

    def held(_: States) -> Decision:
        return _held(commands, simulation.time - latency, period)

    for w, row in enumerate(windows.rows):
        start = float(flight.time[row])
        try:
            simulation.reset(time=start, elapsed=start - float(flight.time[0]))
            joints = flight.joints[row] if flight.joints.size else None
            told = flight.states[row]
            true = simulation.told_errors.undo(told) if simulation.told_errors else told
            states = dict(zip(simulation.names, true, strict=True))
            simulation.set_states(states, project=True, joints=joints)
            for c, check in enumerate(windows.checks):
                end = float(flight.time[row + check])
                while simulation.time < end - 0.5 * period:
                    control_period(simulation, held)
                out[w, c] = (
                    State(flight.states).position[row + check] - State(simulation.motion).position
                )
        except RotorError:
            out[w][out[w] == 0.0] = LOST
    return out


def _held(commands, t: float, period: float) -> tuple[np.ndarray, np.ndarray | None]:
    """Mean of the held commands from ``t`` to ``t + period``: wrenches and efforts."""
    first = max(0, commands.at(t))
    later = min(first + 1, len(commands.time) - 1)
    share = (
        np.clip((t + period - commands.time[later]) / period, 0.0, 1.0) if later > first else 0.0
    )
    efforts = None
    if commands.efforts.shape[1]:
        efforts = (1.0 - share) * commands.efforts[first] + share * commands.efforts[later]
    return (1.0 - share) * commands.wrenches[first] + share * commands.wrenches[later], efforts
