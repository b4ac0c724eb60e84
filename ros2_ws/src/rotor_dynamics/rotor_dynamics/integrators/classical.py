"""Methods of the classical Runge-Kutta tableau on R^3 x SO(3), which differ in how attitudes move; and Euler.

Positions and velocities take the classical RK4 step. Attitudes:

- rkmk4: q_0 exp(theta), theta integrated by the same tableau through the inverse of dexp (L.3).
  Munthe-Kaas, High order Runge-Kutta methods on manifolds, 1999.
- erk4m: slopes are carried back to the start by parallel transport instead (L.4), which costs an
  order. Fiori, Mathematics 7(10) 935, 2019, eq 112.
- cf4: products of two exponentials, no brackets (L.5). Celledoni, Marthinsen and Owren,
  Commutator-free Lie group methods, 2003.

No step leaves the group. Attitudes are normalised once per step against rounding.
"""

from __future__ import annotations

import numpy as np

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLAG, FLOAT, WORLD, linked
from rotor_core.math import so3
from rotor_core.math.vec3 import add, get3, put3, scale, sub
from rotor_dynamics import memory
from rotor_dynamics.constraints.unilateral import EVERYTHING, TAUT_ONLY, evaluate, find_slope
from rotor_dynamics.integrators.methods import Method

MUNTHE_KAAS, TRANSPORTED, COMMUTATOR_FREE = constants(0, 1, 2)
"""Variants: how attitudes move."""

SIXTH = 1.0 / 6.0
"""A division costs ten multiplications."""


@inlined
def displaced(world, h, slope, target):
    """Write start (+) h * slope into ``target``: addition in R^3, exponential on SO(3)."""
    for b in range(world.head[memory.N_BODIES]):
        s = world.states[memory.START, b]
        d = slope[b]
        y = target[b]
        put3(y, memory.P, add(get3(s, memory.P), scale(h, get3(d, memory.D_P))))
        put3(y, memory.V, add(get3(s, memory.V), scale(h, get3(d, memory.D_V))))
        if world.body_int[b, memory.ROTATES] != memory.TURNLESS:
            q = so3.product(
                so3.get4(s, memory.Q), so3.exp_of_half(scale(0.5 * h, get3(d, memory.D_THETA)))
            )
            so3.put4(y, memory.Q, q)
            put3(y, memory.OMEGA, add(get3(s, memory.OMEGA), scale(h, get3(d, memory.D_OMEGA))))


@inlined
def normalize(world):
    """Unit quaternions at the end of the step."""
    for b in range(world.head[memory.N_BODIES]):
        y = world.states[memory.END, b]
        so3.put4(y, memory.Q, so3.renormalized(so3.get4(y, memory.Q)))


@inlined
def note_tensions(world, is_middle):
    """Keep the smallest tension of the step so far, and the one in its middle."""
    for k in range(world.head[memory.N_CONSTRAINTS]):
        cable = world.constraints[k]
        cable[memory.TENSION_MIN] = min(cable[memory.TENSION_MIN], cable[memory.TENSION])
        if is_middle:
            cable[memory.TENSION_MID] = cable[memory.TENSION]


@inlined
def combine(world):
    """The mean of the four slopes that RK4 steps with."""
    combined = world.slopes[memory.COMBINED]
    for b in range(world.head[memory.N_BODIES]):
        for i in range(memory.SLOPE):
            ends = world.slopes[0, b, i] + world.slopes[3, b, i]
            middle = world.slopes[1, b, i] + world.slopes[2, b, i]
            combined[b, i] = SIXTH * ends + 2.0 * SIXTH * middle


@linked(*WORLD, FLOAT, FLAG, part="the integrator cf4")
def two_exponentials(ints, floats, h, last):
    """Attitudes of the last two displacements of the commutator-free method (L.5)."""
    world = memory.views(ints, floats)
    for b in range(world.head[memory.N_BODIES]):
        if world.body_int[b, memory.ROTATES] == memory.TURNLESS:
            continue
        k1 = get3(world.slopes[0, b], memory.D_THETA)
        k3 = get3(world.slopes[2, b], memory.D_THETA)
        first = scale(0.5, k1)
        second = sub(k3, first)
        if last:
            k4 = get3(world.slopes[3, b], memory.D_THETA)
            middle = scale(1.0 / 6.0, add(get3(world.slopes[1, b], memory.D_THETA), k3))
            first = add(middle, sub(scale(0.25, k1), scale(1.0 / 12.0, k4)))
            second = add(middle, sub(scale(0.25, k4), scale(1.0 / 12.0, k1)))
        q = so3.product(so3.get4(world.states[memory.START, b], memory.Q), so3.exp(scale(h, first)))
        q = so3.product(q, so3.exp(scale(h, second)))
        so3.put4(world.states[memory.END if last else memory.STAGE, b], memory.Q, q)


@inlined
def pull_back(world, variant, stage, c):
    """Turn the attitude slopes of a stage into rates at the start of the step."""
    for b in range(world.head[memory.N_BODIES]):
        if world.body_int[b, memory.ROTATES] != memory.TURNLESS:
            d = world.slopes[stage, b]
            omega = get3(d, memory.D_THETA)
            theta = scale(c, get3(world.slopes[stage - 1, b], memory.D_THETA))
            if variant == TRANSPORTED:
                put3(d, memory.D_THETA, so3.transported(theta, omega))
            else:
                put3(d, memory.D_THETA, so3.dexp_inverse(theta, omega))


@inlined
def note_work(world, h):
    """Work of the step, by the weights of the method."""
    ends = world.scalars[memory.POWER] + world.scalars[memory.POWER + 3]
    middle = world.scalars[memory.POWER + 1] + world.scalars[memory.POWER + 2]
    world.scalars[memory.STEP_WORK] = h * SIXTH * (ends + 2.0 * middle)


@inlined
def begin_stage(world, stage, h):
    """Displace all bodies to where stage 1 to 4 is evaluated; its time from the start, and its row of states."""
    c = h if stage >= 3 else 0.5 * h
    slope, target = np.int64(stage - 1), memory.STAGE
    if stage == 4:
        combine(world)
        slope, target = memory.COMBINED, memory.END
    displaced(world, c, world.slopes[slope], world.states[target])
    return c, target


@linked(*WORLD, FLOAT, FLOAT)
def classical(ints, floats, t, h):
    """A trial step by rkmk4, erk4m or cf4."""
    world = memory.views(ints, floats)
    variant = world.head[memory.VARIANT]
    for stage in range(1, 5):
        last = stage == 4
        c, target = begin_stage(world, stage, h)
        if variant == COMMUTATOR_FREE and stage >= 3:
            two_exponentials(ints, floats, h, last)
        if last:
            normalize(world)
        slope = memory.LAST_SLOPE if last else np.int64(stage)
        find_slope(ints, floats, target, slope, t + c, EVERYTHING if last else TAUT_ONLY)
        if not last:
            world.scalars[memory.POWER + stage] = world.scalars[memory.POWER_NOW]
            if variant != COMMUTATOR_FREE:
                pull_back(world, variant, stage, c)
        note_tensions(world, stage == 2)
    note_work(world, h)


@linked(*WORLD, FLOAT, FLOAT, part="the integrator euler")
def euler(ints, floats, t, h):
    """A trial step by the generalised forward Euler method."""
    world = memory.views(ints, floats)
    displaced(world, h, world.slopes[memory.FIRST_SLOPE], world.states[memory.END])
    normalize(world)
    evaluate(ints, floats, memory.END, memory.LAST_SLOPE, t + h, EVERYTHING)
    for k in range(world.head[memory.N_CONSTRAINTS]):
        cable = world.constraints[k]
        cable[memory.TENSION_MID] = 0.5 * (cable[memory.TENSION_0] + cable[memory.TENSION])
    note_tensions(world, False)
    world.scalars[memory.STEP_WORK] = h * world.scalars[memory.POWER]


EULER = Method(euler, 1, "generalised forward Euler", "Fiori 2019, eqs 105 and 136 (fEulM)")
ERK4M = Method(
    classical, 3, "RK4 with parallel transport", "Fiori 2019, eq 112 (eRK4M); of order 3 on SO(3)", TRANSPORTED
)  # fmt: skip
RKMK4 = Method(
    classical, 4, "Runge-Kutta-Munthe-Kaas", "Munthe-Kaas 1999; the default", MUNTHE_KAAS, controlled=True
)  # fmt: skip
CF4 = Method(
    classical, 4, "commutator-free", "Celledoni, Marthinsen and Owren 2003", COMMUTATOR_FREE, controlled=True
)  # fmt: skip
