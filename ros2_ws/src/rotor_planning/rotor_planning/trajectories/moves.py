"""Minimum-jerk moves of single coordinates. Equation (P.11)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from rotor_core.config.trajectories import MovesPlan
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.plans.plan import AXES, PITCH, ROLL, YAW, Plan, X, Y, Z

ROWS = {"x": 0, "y": 1, "z": 2, "roll": ROLL, "pitch": PITCH, "yaw": YAW}
DEGREE = 5


def coordinate(
    start: float, moves: Sequence[tuple[float, float, float]], end: float
) -> scipy.interpolate.BPoly:
    """One coordinate over time: rest, and quintics from rest to rest, to the time ``end``.

    Args:
        start: first value.
        moves: (from, to, new value), s, one after the other.
        end: s.
    """
    times, values = [0.0], [start]
    for begin, stop, value in moves:
        if begin > times[-1]:
            times.append(begin)
            values.append(values[-1])
        times.append(stop)
        values.append(value)
    if times[-1] < end:
        times.append(end)
        values.append(values[-1])
    rest = np.zeros((len(times), 3))
    rest[:, 0] = values
    return scipy.interpolate.BPoly.from_derivatives(times, rest)


def moves_plan(config: MovesPlan, start: np.ndarray, yaw: float) -> Plan:
    """Plan of a base that starts at ``start`` (3,) m with heading ``yaw``, level."""
    begin = np.zeros(AXES)
    begin[[X, Y, Z]], begin[YAW] = start, yaw
    end = max([config.duration_s, *(m.to_s for m in config.moves)])
    own: dict[int, list[tuple[float, float, float]]] = {row: [] for row in ROWS.values()}
    for move in config.moves:
        value = move.to_m if move.to_deg is None else rad_from_deg(move.to_deg)
        assert value is not None
        own[ROWS[move.axis]].append((move.from_s, move.to_s, value))
    curves = {row: coordinate(begin[row], moves, end) for row, moves in own.items()}
    knots = np.unique(np.concatenate([c.x for c in curves.values()]))
    durations = np.diff(knots)
    coefficients = np.zeros((len(durations), AXES, DEGREE + 1))
    for row, curve in curves.items():
        pieces = scipy.interpolate.PPoly.from_bernstein_basis(curve)
        for i, (t, duration) in enumerate(zip(knots, durations, strict=False)):
            derivative, scale = pieces, 1.0
            for power in range(DEGREE + 1):  # Taylor coefficients in normalised time
                coefficients[i, row, power] = float(derivative(t)) * scale
                derivative, scale = derivative.derivative(), scale * duration / (power + 1)
    return Plan(durations, coefficients)
