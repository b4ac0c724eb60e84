"""Reasons why an integration could not go on, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rotor_dynamics import memory
from rotor_dynamics.hybrid import stepper


def failure_text(
    status: int, t: float, bad: Sequence[str], taut: Iterable[int], tolerance: float
) -> str:
    """Message for a status of the stepper at t s; ``bad``: the bodies that are not finite."""
    if status == stepper.NOT_FINITE:
        return (
            f"step after t = {t:.6f} s: the state of {', '.join(bad)} is no longer "
            f"finite. Reduce the step or the inputs."
        )
    if status == stepper.TOO_MANY_EVENTS:
        return (
            f"event search after t = {t:.6f} s: the log of {memory.MAX_EVENTS} rows is full in one "
            f"step. Likely chatter: reduce the step."
        )
    if status == stepper.CONTRADICTION:
        return (
            f"cables at t = {t:.6f} s: those at their length ({[int(k) for k in taut]}) are redundant "
            f"and contradict each other. Use fewer cables, or lengths that agree."
        )
    if status == stepper.DRIVEN_CABLE:
        return (
            f"cables at t = {t:.6f} s: one of those at their length ({[int(k) for k in taut]}) is held by driven "
            f"joints alone and would have to break. Use a longer cable, or joints in mode torque."
        )
    if status == stepper.TOO_SMALL:
        return (
            f"step after t = {t:.6f} s: the tolerance {tolerance:g} asks for steps below "
            f"{stepper.SMALLEST_STEP:g} s. Raise the tolerance."
        )
    return (
        f"event search after t = {t:.6f} s: a change of the taut set could not be "
        f"located. Reduce the step."
    )
