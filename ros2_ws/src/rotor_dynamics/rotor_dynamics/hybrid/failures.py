"""Reasons why an integration could not go on, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rotor_dynamics import memory
from rotor_dynamics.hybrid import stepper

FAR = 1e4
"""Distance from the origin, m, from which on rounding of places is thought of: lengths are kept to 1e-14 m near it."""


def failure_text(
    status: int,
    t: float,
    bad: Sequence[str],
    taut: Iterable[int],
    tolerance: float,
    adaptive: bool = False,
    lost: int = 0,
) -> str:
    """Message for a status of the stepper at t s; ``bad``: the bodies that are not finite; ``lost``: WAY_LOST."""
    if status == stepper.NOT_FINITE:
        return (
            f"step after t = {t:.6f} s: the state of {', '.join(bad)} is no longer "
            f"finite. Reduce the step or the inputs."
        )
    if status == stepper.TOO_MANY_EVENTS:
        return (
            f"event search after t = {t:.6f} s: more than {memory.MAX_EVENTS} events in one step; cables at their "
            f"length now: {[int(k) for k in taut]}. They rattle without coming to rest: use fewer cables there, or "
            f"a shorter step where inputs excite them."
        )
    if status == stepper.CONTRADICTION:
        return (
            f"cables at t = {t:.6f} s: those at their length ({[int(k) for k in taut]}) are redundant "
            f"and contradict each other. Use fewer cables, or lengths that agree."
        )
    if status == stepper.AT_SHEAVE:
        return f"step after t = {t:.6f} s: {_why_lost(lost)} Cables at their length now: {[int(k) for k in taut]}."
    if status == stepper.BETWEEN_PEGS:
        return (
            f"step after t = {t:.6f} s: the instant at which a cable begins or ceases to lie on a peg is not found: it "
            f"comes over the end of a peg, or to a corner in which several edges meet; cables at their length now: "
            f"{[int(k) for k in taut]}. Make the peg longer, or let the cable run around one of the edges only."
        )
    if status == stepper.ROUGH:
        return (
            f"cables at t = {t:.6f} s: no way in which those at their length ({[int(k) for k in taut]}) stick to what "
            f"they rub on, or slide over it, agrees with the tensions. Use less friction."
        )
    if status == stepper.DRIVEN_CABLE:
        return (
            f"cables at t = {t:.6f} s: one of those at their length ({[int(k) for k in taut]}) is held by driven "
            f"joints alone and would have to break. Use a longer cable, or joints in mode torque."
        )
    if status == stepper.TOO_SMALL and not adaptive:
        return (
            f"step after t = {t:.6f} s: {', '.join(bad)} moves too fast to be followed: {stepper.SHORTEST_SUBSTEP:g} "
            f"of the step still misses the tolerance {tolerance:g} (time.tolerance). It is light against what pulls "
            f"or turns it: give it more mass or inertia, join it rigidly to its neighbour, or raise the tolerance."
        )
    if status == stepper.TOO_SMALL:
        return (
            f"step after t = {t:.6f} s: the tolerance {tolerance:g} asks for steps far below {stepper.CRAWL:g} s. "
            f"Raise the tolerance, take an integrator of fixed steps, or give what moves so fast more mass."
        )
    return (
        f"event search after t = {t:.6f} s: a change of the taut set could not be "
        f"located. Reduce the step."
    )


def far_away(positions: np.ndarray) -> str:
    """Remedy where positions (n, 3) are so far from the origin that rounding decides, m; empty elsewhere."""
    farthest = float(np.abs(positions).max(initial=0.0))
    if not FAR < farthest < np.inf:
        return ""
    return (
        f" Bodies are {farthest:.3g} m from the origin, where places are rounded to {np.spacing(farthest):.1e} m. That "
        "may be all that is wrong: begin nearer to it."
    )


def lost_way(world: memory.World) -> int:
    """Reason why the way of a cable over a box or hull is not known (WAY_LOST), or 0."""
    return int(world.polyhedron_int[:, memory.WAY_LOST].max(initial=0))


def _why_lost(reason: int) -> str:
    """What happened to a cable around something, and what helps."""
    if reason == memory.TOO_MANY_BENDS:
        return (
            f"a cable lies over more than {memory.MOST_BENDS} edges of a box or hull. Simplify the hull, or let the "
            f"cable go round it less often."
        )
    if reason == memory.NO_WAY:
        return (
            "no shortest way of a cable over the edges of a box or hull is found: its ends lie where the faces behind "
            "them are almost edge-on, or the hull has faces that are almost slivers. Simplify the hull, or begin "
            "elsewhere."
        )
    return (
        "an end of a cable, or a ring on its way, has come to the surface of the pulley, peg, box or hull beside it, "
        "or stands opposite the other end on a ball, over which the cable would slip. Stop it before, with a longer "
        "cable, a winch that stops earlier, or contact between the bodies."
    )
