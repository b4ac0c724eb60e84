"""Numbers that users hand over, as arrays of the shape that is wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

from rotor_core.errors import ContractError


def numbers(name: str, value: Any, *shape: int | None) -> np.ndarray:
    """A copy of what was given, as an array of floats.

    Args:
        name: what it is, for the message.
        value: array, or nested sequences of numbers.
        shape: wanted; None: any length.

    Raises:
        ContractError: something else than numbers, another shape, or a number that is not finite, with its place.
    """
    try:
        if np.iscomplexobj(value):
            raise TypeError("complex")
        array = np.array(value, float, order="C")
    except (TypeError, ValueError) as error:
        raise ContractError(f"{name}: must be numbers, got {value!r}.") from error
    if array.ndim != len(shape) or any(
        n not in (None, m) for n, m in zip(shape, array.shape, strict=True)
    ):
        wanted = ", ".join("n" if n is None else str(n) for n in shape) + "," * (len(shape) == 1)
        raise ContractError(f"{name}: must have the shape ({wanted}), got {array.shape}.")
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        place = "".join(f"[{i}]" for i in wrong[0])
        raise ContractError(f"{name}{place}: must be finite, got {array[tuple(wrong[0])]}.")
    return array


def increasing(name: str, value: Any) -> np.ndarray:
    """Times, (n,) s, each later than the one before.

    Raises:
        ContractError: as of :func:`numbers`, or one is not later.
    """
    times = numbers(name, value, None)
    wrong = np.flatnonzero(np.diff(times) <= 0.0)
    if len(wrong):
        i = int(wrong[0])
        raise ContractError(
            f"{name}[{i + 1}]: times must increase, got {times[i + 1]:g} s after {times[i]:g} s."
        )
    return times
