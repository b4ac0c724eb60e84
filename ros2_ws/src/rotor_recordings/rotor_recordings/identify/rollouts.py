"""Rollouts of a recorded flight: many short predictions from its states, fed with its commands, and what they miss."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.errors import RotorError
from rotor_core.state import State, States
from rotor_flight.replayed import WRITTEN, Replayer, remembered, replay_world
from rotor_recordings.identify.windows import Windows
from rotor_sim.period import Decision, control_period
from rotor_sim.simulation import Simulation

LOST = 1.0
"""Error of a prediction that cannot go on, at every point that it misses, m; none counts for more."""


def prediction_residuals(windows: Windows, scenario: Scenario, latency: float) -> np.ndarray:
    """Recorded minus predicted positions, (W, POINTS, n_entities, 3) m.

    Commands act ``latency`` s after their stamps: over a control period the mean of what is held then.
    """
    replayer = Replayer(scenario)
    if not replayer.is_possible:
        return stepped_residuals(windows, scenario, latency)
    out = all_lost(windows, scenario)
    for w, window in enumerate(windows.each()):
        with suppress(RotorError):
            arguments = window.arguments(replayer, latency, {})
            replay_world(*arguments)  # where it ends early, what is missed stays lost
            missed = window.told - arguments[-WRITTEN]
            out[w] = np.where(np.isfinite(missed), np.clip(missed, -LOST, LOST), LOST)
    return out


def all_lost(windows: Windows, scenario: Scenario) -> np.ndarray:
    """Residuals of windows that cannot be flown, (W, POINTS, n_entities, 3) m."""
    entities = len(scenario.model.entities)
    return np.full((len(windows.rows), len(windows.checks), entities, 3), LOST)


def stepped_residuals(windows: Windows, scenario: Scenario, latency: float) -> np.ndarray:
    """:func:`prediction_residuals` of what has Python between its steps."""
    simulation, period = Simulation(scenario), scenario.time.control_s
    memory = remembered(scenario, simulation.actuators, simulation.engine)
    out = all_lost(windows, scenario)
    for w, window in enumerate(windows.each()):
        past = window.past(memory, period)
        held, efforts = window.held(latency, period, past)
        before, held = np.split(held, [past])
        efforts_before, efforts = np.split(efforts, [past])
        steps = iter(zip(held, efforts if efforts.shape[1] else [None] * len(held), strict=True))

        def next_held(_: States, steps: Iterator = steps) -> Decision:
            return next(steps)

        try:
            simulation.reset(time=window.start, elapsed=window.elapsed)
            told = window.states
            true = (
                simulation.measurement.errors.undo(told) if simulation.measurement.errors else told
            )
            states = dict(zip(simulation.names, true, strict=True))
            simulation.set_states(states, project=True, joints=window.joints)
            if past:
                times = window.start + period * np.arange(-past, 0)
                simulation.recall(times, before, efforts_before)
            done = 0
            for c, look in enumerate(window.looks(period)):
                for _ in range(look - done):
                    control_period(simulation, next_held)
                done = look
                out[w, c] = window.told[c] - State(simulation.motion).position
        except RotorError:
            continue
    return out
