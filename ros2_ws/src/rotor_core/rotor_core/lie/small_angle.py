"""All power series and their switches: the only file where a small angle is special."""

from __future__ import annotations

from math import cos, sin, sqrt

from rotor_core._jit import kernel

SERIES_BELOW = 0.04
"""Squared half angle, rad^2, under which the series are used (six terms.

Truncation below 1e-17).
"""


@kernel
def cos_sinc(squared):
    """Return ``(cos(s), sin(s)/s)`` for ``squared = s**2 >= 0``, exact to rounding on both sides of the switch."""
    if squared < SERIES_BELOW:
        c = 1.0 - squared / 2.0 * (
            1.0
            - squared
            / 12.0
            * (1.0 - squared / 30.0 * (1.0 - squared / 56.0 * (1.0 - squared / 90.0)))
        )
        k = 1.0 - squared / 6.0 * (
            1.0
            - squared
            / 20.0
            * (1.0 - squared / 42.0 * (1.0 - squared / 72.0 * (1.0 - squared / 110.0)))
        )
        return c, k
    s = sqrt(squared)
    return cos(s), sin(s) / s
