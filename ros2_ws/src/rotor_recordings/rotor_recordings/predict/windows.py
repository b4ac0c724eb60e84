"""Prediction errors of a flight over short windows: many beginnings, one horizon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core.state import Q, State
from rotor_flight.flight import Flight
from rotor_recordings.predict.predict import Feed, Hook, between, predict


@dataclass(frozen=True)
class Windows:
    """Errors of predictions over one horizon.

    Attributes:
        horizon: s.
        starts: of the windows, s since the start of the recording, (W,).
        errors: distance between prediction and recording at the end of the horizon, (W, n_entities) m; NaN: lost.
        attitudes: angle between them there, (W, n_entities) rad.
    """

    horizon: float
    starts: np.ndarray
    errors: np.ndarray
    attitudes: np.ndarray

    def figures(self, entity: int) -> dict:
        """Numbers of a report; a prediction that was lost counts as infinitely wrong in the median."""
        errors = np.where(np.isnan(self.errors[:, entity]), np.inf, self.errors[:, entity])
        return {
            "horizon_s": self.horizon,
            "windows": len(errors),
            "lost": int(np.isinf(errors).sum()),
            "median_m": float(np.median(errors)),
            "p90_m": float(np.quantile(errors, 0.9, method="higher")),
        }


def predict_windows(
    record: Flight, horizon: float, every: float, feed: Feed = "commands", start: float = 0.0,
    hook: Hook = lambda simulation, t: None,
) -> Windows:  # fmt: skip
    """Predict from states every ``every`` seconds, each for ``horizon`` seconds; not where a state is unknown.

    Raises:
        ConfigError: as :func:`rotor_recordings.predict.predict.predict`.
    """
    times = record.time - record.time[0]
    starts = np.arange(start, times[-1] - horizon, every)
    ends = np.array([starts, starts + horizon])
    rows = np.abs(times[:, None, None] - ends).argmin(axis=0)
    known = np.asarray(np.isfinite(record.states).all(axis=(1, 2)))
    starts = starts[known[rows].all(axis=0)]
    n = record.states.shape[1]
    errors, attitudes = np.full((len(starts), n), np.nan), np.full((len(starts), n), np.nan)
    for i, at in enumerate(starts):
        prediction = predict(record, float(at), horizon, feed, hook)
        if prediction.ended:
            continue
        end = prediction.flight
        there = between(record.time, record.states, float(end.time[-1]), Q)
        errors[i] = np.linalg.norm(State(end.states).position[-1] - State(there).position, axis=1)
        cosine = np.abs((State(end.states).attitude[-1] * State(there).attitude).sum(axis=1))
        attitudes[i] = 2.0 * np.arccos(np.clip(cosine, 0.0, 1.0))
    return Windows(horizon, starts, errors, attitudes)
