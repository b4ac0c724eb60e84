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
from rotor_core.kernels.several import entries, put_entries
from rotor_core.kernels.tables import abreast, number_abreast
from rotor_core.math import so3
from rotor_core.math.vec3 import add, get3, put3, scale, sub
from rotor_dynamics import memory
from rotor_dynamics.constraints.spokes import find_slope_abreast
from rotor_dynamics.constraints.unilateral import EVERYTHING, TAUT_ONLY, evaluate, find_slope
from rotor_dynamics.integrators.methods import Method

MUNTHE_KAAS, TRANSPORTED, COMMUTATOR_FREE = constants(0, 1, 2)
"""Variants: how attitudes move."""

SIXTH = 1.0 / 6.0
"""A division costs ten multiplications."""


@inlined
def displace(s, d, y, h, rotates):
    """Write the state ``s`` (+) h times the slope ``d`` of a body into ``y``: addition in R^3, exponential on SO(3)."""
    put3(y, memory.P, add(get3(s, memory.P), scale(h, get3(d, memory.D_P))))
    put3(y, memory.V, add(get3(s, memory.V), scale(h, get3(d, memory.D_V))))
    if rotates:
        half = scale(0.5 * h, get3(d, memory.D_THETA))
        so3.put4(y, memory.Q, so3.turned(so3.get4(s, memory.Q), half))
        put3(y, memory.OMEGA, add(get3(s, memory.OMEGA), scale(h, get3(d, memory.D_OMEGA))))


@inlined
def displaced(world, h, slope, target):
    """Displace all bodies from the start of the step by h times ``slope`` into ``target``."""
    for b in range(world.head[memory.N_BODIES]):
        rotates = world.body_int[b, memory.ROTATES] != memory.TURNLESS
        displace(world.states[memory.START, b], slope[b], target[b], h, rotates)


@inlined
def displaced_abreast(world, h, which_slope, which_state):
    """:func:`displaced` with rows of ``slopes`` and ``states``, several bodies at once."""
    wide, n, width = abreast(world), world.head[memory.N_BODIES], number_abreast(world)
    for i in range(0, n, width):
        b = min(i, n - width)
        s, d = wide.states[memory.START, b], wide.slopes[which_slope, b]
        displace(s, d, wide.states[which_state, b], h, True)


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
    k1, k2, k3, k4 = world.slopes[0], world.slopes[1], world.slopes[2], world.slopes[3]
    combined, width = world.slopes[memory.COMBINED], number_abreast(world)
    for b in range(world.head[memory.N_BODIES]):
        for j in range(0, memory.SLOPE, width):
            i = min(j, memory.SLOPE - width)
            ends = entries(k1[b], i) + entries(k4[b], i)
            middle = entries(k2[b], i) + entries(k3[b], i)
            put_entries(combined[b], i, SIXTH * ends + 2.0 * SIXTH * middle)


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
def rate_at_start(s, before, variant, c):
    """Rate of the rotation vector since the start of the step, of a body in the state ``s`` of a stage.

    Args:
        s: its row.
        before: row of the slope that led there.
        variant: of the method.
        c: time from the start, s.
    """
    theta = scale(c, get3(before, memory.D_THETA))
    if variant == TRANSPORTED:
        return so3.transported(theta, get3(s, memory.OMEGA))
    return so3.dexp_inverse(theta, get3(s, memory.OMEGA))


@inlined
def pull_back(world, variant, stage, c):
    """Turn the attitude slopes of a stage into rates at the start of the step."""
    for b in range(world.head[memory.N_BODIES]):
        if world.body_int[b, memory.ROTATES] != memory.TURNLESS:
            s, before = world.states[memory.STAGE, b], world.slopes[stage - 1, b]
            put3(world.slopes[stage, b], memory.D_THETA, rate_at_start(s, before, variant, c))


@inlined
def pull_back_abreast(world, stage, c):
    """:func:`pull_back` of rkmk4, several bodies at once."""
    wide, n, width = abreast(world), world.head[memory.N_BODIES], number_abreast(world)
    for i in range(0, n, width):
        b = min(i, n - width)
        s, before = wide.states[memory.STAGE, b], wide.slopes[stage - 1, b]
        put3(wide.slopes[stage, b], memory.D_THETA, rate_at_start(s, before, MUNTHE_KAAS, c))


@inlined
def note_work(world, h):
    """Work of the step, by the weights of the method."""
    ends = world.scalars[memory.POWER] + world.scalars[memory.POWER + 3]
    middle = world.scalars[memory.POWER + 1] + world.scalars[memory.POWER + 2]
    world.scalars[memory.STEP_WORK] = h * SIXTH * (ends + 2.0 * middle)


@inlined
def begin_stage(world, stage, h):
    """Time of stage 1 to 4 from the start of the step, the slope by which bodies are displaced, their row of states."""
    if stage == 4:
        combine(world)
        return h, memory.COMBINED, memory.END
    return h if stage == 3 else 0.5 * h, np.int64(stage - 1), memory.STAGE


@linked(*WORLD, FLOAT, FLOAT)
def classical(ints, floats, t, h):
    """A trial step by rkmk4, erk4m or cf4."""
    world = memory.views(ints, floats)
    variant = world.head[memory.VARIANT]
    for stage in range(1, 5):
        last = stage == 4
        c, slope, target = begin_stage(world, stage, h)
        displaced(world, c, world.slopes[slope], world.states[target])
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


@linked(*WORLD, FLOAT, FLOAT)
def rkmk4_abreast(ints, floats, t, h):
    """A trial step by rkmk4 of bodies that are moved abreast (:mod:`rotor_dynamics.motion.abreast`)."""
    world = memory.views(ints, floats)
    for stage in range(1, 5):
        last = stage == 4
        c, slope, target = begin_stage(world, stage, h)
        displaced_abreast(world, c, slope, target)
        if last:
            normalize(world)
        slope = memory.LAST_SLOPE if last else np.int64(stage)
        what = EVERYTHING if last else TAUT_ONLY
        find_slope_abreast(ints, floats, target, slope, t + c, what)
        if not last:
            world.scalars[memory.POWER + stage] = world.scalars[memory.POWER_NOW]
            pull_back_abreast(world, stage, c)
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
    classical, 4, "Runge-Kutta-Munthe-Kaas", "Munthe-Kaas 1999; the default", MUNTHE_KAAS, controlled=True,
    abreast=rkmk4_abreast,
)  # fmt: skip
CF4 = Method(
    classical, 4, "commutator-free", "Celledoni, Marthinsen and Owren 2003", COMMUTATOR_FREE, controlled=True
)  # fmt: skip
