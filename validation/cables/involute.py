"""A pendulum that wraps around a peg below its pivot: an independent solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

G = 9.81


@dataclass(frozen=True)
class Bob:
    """Where it is, (x, z) m from the pivot, and the tension over its mass, N/kg."""

    place: np.ndarray
    tension: float


def on_peg(
    angle: float, length: float, drop: float, radius: float, times: Sequence[float]
) -> tuple[list[Bob], list[float]]:
    """Motion from rest at ``angle`` (rad) on the side of +x, by DOP853 at 1e-13.

    theta is the direction of the free part, from the vertical. Before the peg it is a pendulum of the whole length. On
    the peg the bob follows an involute: its speed is the free length l times theta_dot, and l changes by the radius
    per angle, so ``l theta_ddot = -l' theta_dot^2 - g sin(theta)``.

    Args:
        angle: at the start, rad.
        length, drop, radius: of the cable, of the middle of the peg below the pivot, of the peg, m.
        times: increasing, s.

    Returns:
        The bob at these times, and the instants in which the cable begins or ceases to lie on the peg, s.
    """
    touch = np.arcsin(radius / drop)  # there the line is a radius beside the axis
    straight = np.sqrt(drop**2 - radius**2)

    def free(theta: float) -> tuple[float, np.ndarray]:
        """Free length, and the place of the bob."""
        along = np.array([np.sin(theta), -np.cos(theta)])
        if theta >= touch:
            return length, length * along
        rest = length - straight - radius * (touch - theta)
        meets = np.array([0.0, -drop]) + radius * np.array([np.cos(theta), np.sin(theta)])
        return rest, meets + rest * along

    def slope(_: float, y: np.ndarray) -> list[float]:
        theta, rate = y
        change = 0.0 if theta >= touch else radius
        return [rate, (-change * rate * rate - G * np.sin(theta)) / free(theta)[0]]

    def crossing(_: float, y: np.ndarray) -> float:
        return y[0] - touch

    crossing.terminal = True  # type: ignore[attr-defined]
    t, y = 0.0, np.array([angle, 0.0])
    bobs, changes = [], []
    for until in times:
        while t < until:
            found = solve_ivp(
                slope, (t, until), y, method="DOP853", rtol=1e-13, atol=1e-14, events=crossing
            )
            t, y = float(found.t[-1]), found.y[:, -1]
            if found.status == 1:
                changes.append(t)
                ratio = length / (
                    length - straight
                )  # the bob keeps its speed, the free part turns faster
                y = np.array(
                    [touch + 1e-15, y[1] / ratio] if y[1] > 0 else [touch - 1e-15, y[1] * ratio]
                )
        rest, place = free(y[0])
        bobs.append(Bob(place, rest * y[1] ** 2 + G * float(np.cos(y[0]))))
    return bobs, changes
