"""All power series and their switches: the only file where a small angle is special."""

from __future__ import annotations

from math import cos, sin, sqrt, tan

from rotor_core.kernels.jit import inlined
from rotor_core.numbers.lanes import certainly, choose

THREE_TERMS_BELOW = 1e-4
"""Squared half angle, rad^2, under which three terms do: truncation below 1e-20."""

SERIES_BELOW = 0.04
"""Squared half angle, rad^2, under which the series are used (six terms.

Truncation below 1e-17).
"""


# Series by Horner's rule; reciprocals, because a division costs ten multiplications
C1, C2, C3, C4, C5 = -1.0 / 2.0, -1.0 / 12.0, -1.0 / 30.0, -1.0 / 56.0, -1.0 / 90.0
S1, S2, S3, S4, S5 = -1.0 / 6.0, -1.0 / 20.0, -1.0 / 42.0, -1.0 / 72.0, -1.0 / 110.0


@inlined
def three_terms(x):
    """:func:`cos_sinc` by three terms beyond the first."""
    c = (1.0 + C1 * x) + (x * x) * (C1 * C2 + (C1 * C2 * C3) * x)
    k = (1.0 + S1 * x) + (x * x) * (S1 * S2 + (S1 * S2 * S3) * x)
    return c, k


@inlined
def five_terms(x):
    """:func:`cos_sinc` by five terms beyond the first."""
    c = 1.0 + C1 * x * (1.0 + C2 * x * (1.0 + C3 * x * (1.0 + C4 * x * (1.0 + C5 * x))))
    k = 1.0 + S1 * x * (1.0 + S2 * x * (1.0 + S3 * x * (1.0 + S4 * x * (1.0 + S5 * x))))
    return c, k


@inlined
def cos_sinc(squared):
    """Return ``(cos(s), sin(s)/s)`` for ``squared = s**2 >= 0``, exact to rounding on both sides of the switches."""
    least, little = squared < THREE_TERMS_BELOW, squared < SERIES_BELOW
    few = three_terms(squared)
    if certainly(least):
        return few
    more = five_terms(squared)
    if certainly(little):
        return choose(least, few[0], more[0]), choose(least, few[1], more[1])
    s = sqrt(max(squared, THREE_TERMS_BELOW))  # of lanes that take it
    c, k = choose(little, more[0], cos(s)), choose(little, more[1], sin(s) / s)
    return choose(least, few[0], c), choose(least, few[1], k)


@inlined
def cot_defect(squared):
    """``(1 - s cot(s)) / (4 s^2)`` for ``squared = s**2``, s < pi.

    The factor of [u, [u, w]] in the inverse of dexp, |u| = 2 s.
    """
    if squared < SERIES_BELOW:
        x = 4.0 * squared
        return 1.0 / 12.0 + x * (
            1.0 / 720.0
            + x
            * (
                1.0 / 30240.0
                + x * (1.0 / 1209600.0 + x * (1.0 / 47900160.0 + x * 691.0 / 1307674368000.0))
            )
        )
    s = sqrt(squared)
    return (1.0 - s / tan(s)) / (4.0 * squared)
