"""Derivatives of what a flight begins with: how a number of the scenario enters the arrays of its compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import numpy as np

from rotor_core.errors import ConfigError, ContractError
from rotor_core.numbers.packing import numbers_in
from rotor_dynamics.sensitivities.coordinates import difference

SHARE = 1e-3
"""Step of the differences over the number; of zero, the step itself."""

Taken = TypeVar("Taken")

Points = tuple[tuple[float, int], ...]
"""Weights and places, in steps, of a difference from the middle."""

FOURTH: Points = ((2.0 / 3.0, 1), (-2.0 / 3.0, -1), (-1.0 / 12.0, 2), (1.0 / 12.0, -2))
"""Of fourth order: a rational function keeps 1e-11 of its slope."""

ABOVE: Points = ((4.0, 1), (-3.0, 2), (4.0 / 3.0, 3), (-0.25, 4))
BELOW: Points = tuple((-weight, -k) for weight, k in ABOVE)
"""Of fourth order too, to one side: for numbers at the end of what is allowed, such as a drag of zero."""

FORWARD: Points = ((1.0, 1),)
"""Of first order, exact for what is linear from here on."""


SMOOTH = 2.5, 20.0
"""Means of two neighbours from the middle, those of two steps over those of one: 4 of a parabola, 16 of a fourth power;
1 where the middle is a jump, 2 where it is a kink."""

ROUNDING = 1e-12, 1e-9
"""Of such means: over the number (and one), and over the change by one step."""

SEARCHED = 1e-7, 1e-7
"""The same where bodies press each other: forces are found to 2e-11 m/s in a step of 1 ms (N.9), accelerations to 2e-8.

A flight does not depend on it: at its start the search begins anew.
"""


BINOMIAL = {1: -4.0, 2: 6.0, 3: -4.0, 4: 1.0}
"""Weights of a fourth difference from the middle."""

SMALL_FOURTH = 1e-6
"""Fourth differences of a smooth function over its change by one step."""


class OtherSwitches(ContractError):
    """A flight near a number begins otherwise than at it: there is no derivative."""


def slopes_of(
    settings: Callable[[float], Any],
    middle: Any,
    at: float,
    step: float,
    points: Points,
    rounding: tuple[float, float] = ROUNDING,
) -> list[np.ndarray]:
    """Derivatives of all arrays of float64 in nested tuples with a number, in their order.

    Args:
        settings: nested tuples of arrays that a number leads to.
        middle: those at ``at``; not changed by later calls of ``settings``.
        rounding: of the numbers, over them and over their changes.

    Raises:
        OtherSwitches: integers, truths or shapes differ near ``at``, or numbers jump there; its text is where.
    """
    numbers, switches = list(numbers_in(middle)), _switches(middle)
    apart: dict[int, list[np.ndarray]] = {}
    for _, k in points:
        tree = settings(at + k * step)
        there = list(numbers_in(tree))
        alike = all(a.shape == b.shape for a, b in zip(numbers, there, strict=True))
        if not alike or not all(map(np.array_equal, switches, _switches(tree))):
            raise OtherSwitches(f"{at + k * step:g}")
        apart[k] = [difference(array, here) for array, here in zip(there, numbers, strict=True)]
    slopes = _combined(apart, {k: weight / step for weight, k in points})
    if points is FORWARD:
        return slopes
    changes = [step * slope for slope in slopes]
    if points is FOURTH:
        near, far = (_combined(apart, {k: 0.5, -k: 0.5}) for k in (1, 2))
        smooth = all(map(partial(_is_smooth, rounding), numbers, changes, near, far))
    else:
        fourth = _combined(apart, {k: BINOMIAL[abs(k)] for k in apart})
        smooth = all(map(partial(_has_no_leap, rounding), numbers, changes, fourth))
    if not smooth:
        raise OtherSwitches(f"{at:g}")
    return slopes


def _combined(apart: dict[int, list[np.ndarray]], weights: dict[int, float]) -> list[np.ndarray]:
    """Weighted sums of differences from the middle, by their places in steps."""
    arrays = zip(*(apart[k] for k in weights), strict=True)
    return [
        np.add.reduce([w * a for w, a in zip(weights.values(), group, strict=True)])
        for group in arrays
    ]


def _is_smooth(
    rounding: tuple[float, float], here: np.ndarray, change: np.ndarray, near: np.ndarray, far: np.ndarray
) -> bool:  # fmt: skip
    """Whether means of neighbours go from the middle as those of a smooth function do; ``change`` over one step."""
    noise = rounding[0] * (1.0 + np.abs(here)) + rounding[1] * np.abs(change)
    near, far = np.abs(near), np.abs(far)
    leaps = (SMOOTH[0] * near > far + noise) | (far > SMOOTH[1] * near + noise)
    return not np.any(leaps & np.isfinite(here))


def _has_no_leap(
    rounding: tuple[float, float], here: np.ndarray, change: np.ndarray, fourth: np.ndarray
) -> bool:
    """Whether fourth differences to one side are as small as those of a smooth function; a leap stays in them."""
    noise = rounding[0] * (1.0 + np.abs(here)) + SMALL_FOURTH * np.abs(change)
    return not np.any((np.abs(fourth) > noise) & np.isfinite(here))


def with_neighbours(take: Callable[[Points], Taken]) -> Taken:
    """Values of neighbours to both sides, or to that on which there are scenarios.

    Raises:
        ConfigError: that of both sides, where there are none on either.
    """
    try:
        return take(FOURTH)
    except ConfigError:
        for points in (ABOVE, BELOW):
            with suppress(ConfigError):
                return take(points)
        raise


def slopes_with(
    place: str,
    at: float,
    settings: Callable[[float], Any],
    middle: Any,
    rounding: tuple[float, float] = ROUNDING,
) -> list[np.ndarray]:
    """Derivatives of all arrays of float64 in nested tuples with the number at a place, in their order.

    Args:
        place: as of :meth:`Scenario.changed`.
        at: the number there.
        settings: nested tuples of arrays that another number leads to.
        middle: those that the scenario itself leads to.
        rounding: of their numbers.

    Raises:
        ConfigError: its neighbours are no scenarios.
        ContractError: its neighbours begin otherwise, such as with a cable that is not taut there.
    """
    step = SHARE * (abs(at) or 1.0)
    try:
        return with_neighbours(
            lambda points: slopes_of(settings, middle, at, step, points, rounding)
        )
    except OtherSwitches as error:
        raise ContractError(
            f"{place}: no derivative at {at:g}, because at {error} something that decides is otherwise: which cables "
            "are taut at the start, which samples are on their way, in which period a move begins or ends, whether a "
            "part is there at all. Take a number beside it, such as a start with slack cables."
        ) from error


def _switches(tree: Any) -> list[np.ndarray]:
    """Copies of what is no number: integers and truths."""
    if isinstance(tree, tuple):
        return [array for part in tree for array in _switches(part)]
    if isinstance(tree, np.ndarray):
        return [] if tree.dtype == np.float64 else [tree.copy()]
    return [np.array(tree)] if isinstance(tree, (bool, int, np.integer)) else []
