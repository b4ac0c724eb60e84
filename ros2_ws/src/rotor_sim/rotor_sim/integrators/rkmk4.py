"""Runge-Kutta-Munthe-Kaas method of order four on R^3 x SO(3) for every body.

Source: Munthe-Kaas, High order Runge-Kutta methods on manifolds, 1999. Positions and velocities
take the classical RK4 step; attitudes are q_0 exp(theta) with theta integrated by the same tableau
through the inverse of dexp (L.3), so that no step leaves the group. Attitudes are normalised once
per step against rounding.
"""

from __future__ import annotations

from rotor_core._jit import kernel
from rotor_core.lie import so3
from rotor_core.lie.vec3 import add, get3, put3, scale
from rotor_sim.dynamics.constraints import EVERYTHING, TAUT_ONLY, evaluate
from rotor_sim.model import layout as at


@kernel
def displaced(world, h, slope, target):
    """Write start (+) h * slope into ``target``: addition in R^3, exponential on SO(3)."""
    for b in range(world.head[at.N_BODIES]):
        s = world.start[b]
        d = slope[b]
        y = target[b]
        put3(y, at.P, add(get3(s, at.P), scale(h, get3(d, at.D_P))))
        put3(y, at.V, add(get3(s, at.V), scale(h, get3(d, at.D_V))))
        if world.bodies[b, at.ROTATES] != 0.0:
            q = so3.product(so3.get4(s, at.Q), so3.exp(scale(h, get3(d, at.D_THETA))))
            so3.put4(y, at.Q, so3.normalized(q))
            put3(y, at.OMEGA, add(get3(s, at.OMEGA), scale(h, get3(d, at.D_OMEGA))))


@kernel
def advance(world, t, h):
    """One trial step of length h from ``world.start`` (its slope is slope 0) to ``world.end`` (its slope is the last).

    The taut set stays fixed. The end is projected onto the taut constraints. Writes per taut cable
    the tension at the end (TENSION), at the middle (TENSION_MID) and the smallest over all stages
    (TENSION_MIN).
    """
    n_cables = world.head[at.N_CABLES]
    first = world.slopes[at.FIRST_SLOPE]
    combined = world.slopes[1]
    world.head[at.INCONSISTENT] = 0
    for k in range(n_cables):
        world.cables[k, at.TENSION_MIN] = world.cables[k, at.TENSION_0]
    for stage in range(1, 5):
        c = h if stage >= 3 else 0.5 * h
        if stage < 4:
            previous = world.slopes[stage - 1]
            target = world.stage
            displaced(world, c, previous, target)
        else:
            previous = combined
            for b in range(world.head[at.N_BODIES]):
                for i in range(at.SLOPE):
                    combined[b, i] = (
                        first[b, i]
                        + 2.0 * (world.slopes[1, b, i] + world.slopes[2, b, i])
                        + world.slopes[3, b, i]
                    ) / 6.0
            target = world.end
            displaced(world, h, combined, target)
        slope = world.slopes[stage]
        evaluate(world, target, slope, t + c, EVERYTHING if stage == 4 else TAUT_ONLY)
        if stage < 4:
            for b in range(world.head[at.N_BODIES]):
                if world.bodies[b, at.ROTATES] != 0.0:
                    theta = scale(c, get3(previous[b], at.D_THETA))
                    put3(slope[b], at.D_THETA, so3.dexp_inverse(theta, get3(slope[b], at.D_THETA)))
        for k in range(n_cables):
            cable = world.cables[k]
            cable[at.TENSION_MIN] = min(cable[at.TENSION_MIN], cable[at.TENSION])
            if stage == 2:
                cable[at.TENSION_MID] = cable[at.TENSION]
