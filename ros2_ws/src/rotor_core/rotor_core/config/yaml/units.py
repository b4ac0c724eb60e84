"""Conversions at the edge.

Files and command lines speak degrees, rpm and roll-pitch-yaw; the core speaks SI and quaternions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from transforms3d.euler import euler2quat, quat2euler

NANOSECONDS_PER_SECOND = 1_000_000_000

SAME_TIME = 1e-9
"""Times closer than this are the same, s: stamps are whole nanoseconds."""


def rad_from_deg(degrees: float) -> float:
    """Radians from degrees."""
    return math.radians(degrees)


def rad_s_from_rpm(rpm: float) -> float:
    """Radians per second from revolutions per minute."""
    return rpm * 2.0 * math.pi / 60.0


def revolutions_per_s_from_rpm(rpm: float) -> float:
    """Revolutions per second from revolutions per minute."""
    return rpm / 60.0


def wxyz_from_rpy_deg(rpy: Sequence[float]) -> np.ndarray:
    """Quaternion (w, x, y, z) of fixed-axis roll, pitch, yaw in degrees, (4,)."""
    return np.array(euler2quat(*(math.radians(a) for a in rpy), axes="sxyz"))


def rpy_from_wxyz(q: Sequence[float]) -> np.ndarray:
    """Fixed-axis roll, pitch, yaw in radians of a quaternion (w, x, y, z), (3,)."""
    return np.array(quat2euler(q, axes="sxyz"))


def nanoseconds(seconds: float) -> int:
    """Nearest integer nanosecond of a time in seconds."""
    return round(seconds * NANOSECONDS_PER_SECOND)


def steps_of(rate: float, step: float) -> int:
    """Steps of the period that is nearest to that of a rate (1/s), at least one; ``step`` in s."""
    return max(1, round(1.0 / (rate * step)))
