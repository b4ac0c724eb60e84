"""Helicopters and their motions, for tests of and against body decomposition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from validation.oracles.palacios import Sweep, Tree, base_of_angles, base_of_twist, sweep
from validation.oracles.palacios_helicopter import ORDERS, Helicopter

ROUNDING = 1e-12
"""Relative, of forces in, forces out (HE-T1 asks for 1e-10)."""

SOLVED = 1e-10
"""Relative (HE-T1), of accelerations: mass matrices of condition up to 2e5."""

STATES = 17
"""Per order of hinges and sense of rotation, of which there are six."""

HELICOPTERS = pytest.mark.parametrize(
    "tree",
    [Helicopter().tree(order, sense) for order in ORDERS for sense in (-1, 1)],
    ids=["-".join(order) + sense for order in ORDERS for sense in (" cw", " ccw")],
)


def size(values: np.ndarray) -> float:
    return max(1.0, float(np.max(np.abs(values))))


def close(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * size(expected))


def drawn(
    seed: int, n: int = 7, count: int = STATES
) -> Iterator[tuple[np.random.Generator, np.ndarray, np.ndarray]]:
    """Coordinates and rates: any azimuth, hinges up to 30 degrees, joints at 20 rad/s."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        x = np.concatenate(
            [rng.normal(size=3), rng.uniform(-1.2, 1.2, 3), rng.uniform(-0.5, 0.5, n)]
        )
        x[[3, 5, 6]] = rng.uniform(-np.pi, np.pi, 3)
        yield rng, x, np.concatenate([rng.normal(0.0, 2.0, 6), rng.normal(0.0, 20.0, n)])


def in_angles(tree: Tree, x: np.ndarray, x_dot: np.ndarray) -> Sweep:
    return sweep(tree, base_of_angles(x[3:6], x_dot[:6]), x[6:], x_dot[6:])


def in_twists(tree: Tree, x: np.ndarray, x_dot: np.ndarray) -> Sweep:
    """The same motion with the twist of the base as velocity."""
    base = base_of_angles(x[3:6], x_dot[:6])
    return sweep(tree, base_of_twist(base.R_WB, base.J @ base.velocities), x[6:], x_dot[6:])
