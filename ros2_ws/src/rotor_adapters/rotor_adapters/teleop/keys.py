"""Wrenches by keyboard and gamepad: which key and which stick does what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

STEPS = np.array([0.1, 0.1, 0.1, 0.01, 0.01, 0.01])
"""Increment of the wrench per key press: N along x, y, z of the world, N m about them."""

MORE, LESS, NOTHING = "123456", "qwerty", " 0"
"""Keys of fx, fy, fz, tx, ty, tz."""

STICKS = (1, 0, 4, 3)
"""Axes of a gamepad: left stick forward and left (x, y), right stick forward (z) and left (about z)."""

LARGEST = np.array([2.0, 2.0, 2.0, 0.0, 0.0, 0.1])
"""Wrench at full deflection of the sticks, N along x, y, z of the world, N m about them."""

HELP = (
    f"keys {' '.join(MORE)} push more, {' '.join(LESS)} less: fx fy fz (0.1 N), tx ty tz (0.01 N m); "
    "space: nothing; Ctrl-C ends"
)


class WrenchKeys:
    """A wrench that keys change, (6,) N and N m in world axes."""

    def __init__(self) -> None:
        self.wrench = np.zeros(6)

    def press(self, key: str) -> bool:
        """Take a key; whether it means anything."""
        if key in MORE:
            self.wrench[MORE.index(key)] += STEPS[MORE.index(key)]
        elif key in LESS:
            self.wrench[LESS.index(key)] -= STEPS[LESS.index(key)]
        elif key in NOTHING:
            self.wrench[:] = 0.0
        else:
            return False
        self.wrench = np.round(self.wrench, 6)
        return True


def wrench_from_sticks(axes: Sequence[float]) -> np.ndarray:
    """Wrench (6,) of a gamepad; axes that it lacks give nothing, and what is not finite neither."""
    values = [float(axes[i]) if i < len(axes) and np.isfinite(axes[i]) else 0.0 for i in STICKS]
    x, y, z, yaw = np.clip(values, -1.0, 1.0)
    return LARGEST * np.array([x, y, z, 0.0, 0.0, yaw])
