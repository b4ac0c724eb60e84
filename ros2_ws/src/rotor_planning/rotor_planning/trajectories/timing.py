"""Duration of the legs of a trajectory."""

from __future__ import annotations

import numpy as np

QUINTIC = (0.0, 0.0, 0.0, 10.0, -15.0, 6.0)
"""Coefficients of the quintic from rest at 0 to rest at 1, in normalised time."""

QUINTIC_PEAK_SPEED = 1.875
"""Peak speed of a quintic from rest to rest, in distance over time."""

QUINTIC_PEAK_ACCELERATION = 10.0 / np.sqrt(3.0)
"""Peak acceleration of a quintic from rest to rest, in distance over squared time."""


SNAP_PEAK_ACCELERATION = 84.0 / 5.0**1.5
"""Peak acceleration of the polynomial of degree 7 from rest to rest, in distance over squared time."""


def waypoint_times(distances: np.ndarray, speed: float, acceleration: float) -> np.ndarray:
    """Segment times of the minimum-derivative planner, s (RotorTM's allocation), no shorter than from rest to rest.

    About twice the time at ``speed``. Legs that are short for the limits would have a time in proportion to their
    length, and any acceleration: they get that of a minimum-snap leg with ``acceleration`` as its peak.
    """
    d = np.asarray(distances, float)
    times = (
        3.0 * (2.0 * d / speed) * (1.0 + 6.5 * (speed / acceleration) * np.exp(-2.0 * d / speed))
    )
    return np.maximum(times, np.sqrt(SNAP_PEAK_ACCELERATION * d / acceleration))


def line_times(distances: np.ndarray, speed: float, acceleration: float) -> np.ndarray:
    """Shortest times of quintic legs within peak speed and peak acceleration, s.

    Continuous in the distance.
    """
    d = np.asarray(distances, float)
    return np.maximum(
        QUINTIC_PEAK_SPEED * d / speed, np.sqrt(QUINTIC_PEAK_ACCELERATION * d / acceleration)
    )


def line_times_rotortm(distances: np.ndarray) -> np.ndarray:
    """Times of the original's lines, s: 5 d up to 1 m, 10 sqrt(d) beyond (a jump at 1 m)."""
    d = np.asarray(distances, float)
    return np.where(d <= 1.0, 5.0 * d, 10.0 * np.sqrt(d))
