"""Cables of a hub: from bodies that follow each other to one other body, measured abreast.

As teams are that carry one payload. The formulas are those of any cable (:mod:`rotor_dynamics.constraints.unilateral`),
on rows that stand for several (:func:`rotor_core.kernels.tables.abreast`); what is seldom (a slack cable, dependent
ones, a large drift) is left to :func:`~rotor_dynamics.constraints.unilateral.constrain`.
"""

from __future__ import annotations

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.link import FLOAT, INT, WORLD, linked
from rotor_core.kernels.several import put_entries
from rotor_core.kernels.tables import abreast, number_abreast
from rotor_core.math.factor import factorize_small, substitute_small, substitute_three_small
from rotor_core.math.vec3 import add, dot, get3, put3, scale, sub
from rotor_dynamics import memory
from rotor_dynamics.constraints.unilateral import (
    GAPS,
    RATES,
    SMALL_DRIFT,
    TAUT_ONLY,
    TENSIONS,
    clear_correction,
    constrain,
    lay_right_sides,
    measure_line,
    mobility,
    move,
    take_projected_rates,
    unpulled_again,
)
from rotor_dynamics.forces.registered import outer_wrenches
from rotor_dynamics.motion.free import move_abreast


@inlined
def measure_spokes(world, which_state, which_slope, n):
    """Geometry of the n cables of a hub in a state, several at once."""
    hub, first = world.constraint_int[0, memory.BODY_B], world.constraint_int[0, memory.BODY_A]
    has_arm_a = world.constraint_int[0, memory.HAS_ARM_A] != 0
    has_arm_b = world.constraint_int[0, memory.HAS_ARM_B] != 0
    state, slope = world.states[which_state], world.slopes[which_slope]
    end_b = world.bodies[hub], state[hub], slope[hub], has_arm_b
    wide, width = abreast(world), number_abreast(world)
    for i in range(0, n, width):
        k = min(i, n - width)
        a = first + k
        end_a = wide.bodies[a], wide.states[which_state, a], wide.slopes[which_slope, a], has_arm_a
        measure_line(wide.constraints[k], end_a, end_b)


@inlined
def couple_spokes(world, n):
    """A of the n cables of a hub: all of them pull at it, and at nothing else together (D.7)."""
    A, wide, width = world.matrix, abreast(world), number_abreast(world)
    inverse_mass = world.bodies[world.constraint_int[0, memory.BODY_B], memory.INV_MASS]
    for j in range(0, n, width):
        first = min(j, n - width)
        others = wide.constraints[first]
        along, response = get3(others, memory.XI), get3(others, memory.INV_ARM_B)
        for i in range(first, n):
            c = world.constraints[i]
            xi = scale(inverse_mass, get3(c, memory.XI))
            coupled = dot(xi, along) + dot(get3(c, memory.ARM_B), response)
            put_entries(A[i], first, coupled)
    for i in range(n):
        A[i, i] = mobility(world, i)


@inlined
def pull_spokes(world, n, amounts, target, linear, angular):
    """:func:`pull` of the n cables of a hub."""
    hub, first = world.constraint_int[0, memory.BODY_B], world.constraint_int[0, memory.BODY_A]
    has_arm_a = world.constraint_int[0, memory.HAS_ARM_A] != 0
    has_arm_b = world.constraint_int[0, memory.HAS_ARM_B] != 0
    inverse_mass = world.bodies[hub, memory.INV_MASS]
    of_hub, turn_of_hub = get3(target[hub], linear), get3(target[hub], angular)
    for k in range(n):
        c, row = world.constraints[k], target[first + k]
        xi, amount = get3(c, memory.XI), amounts[k]
        share = amount * world.bodies[first + k, memory.INV_MASS]
        put3(row, linear, add(get3(row, linear), scale(share, xi)))
        of_hub = sub(of_hub, scale(amount * inverse_mass, xi))
        if has_arm_a:
            turn = scale(amount, get3(c, memory.INV_ARM_A))
            put3(row, angular, add(get3(row, angular), turn))
        if has_arm_b:
            turn_of_hub = sub(turn_of_hub, scale(amount, get3(c, memory.INV_ARM_B)))
    put3(target[hub], linear, of_hub)
    if has_arm_b:
        put3(target[hub], angular, turn_of_hub)


@linked(*WORLD, INT, INT, FLOAT, INT)
def constrain_spokes(ints, floats, which_state, which_slope, t, what):
    """:func:`constrain` for the cables of a hub, several at once while all are taut and none depends on others."""
    world = memory.views(ints, floats)
    n = world.head[memory.N_CONSTRAINTS]
    for k in range(n):
        if world.constraint_int[k, memory.TAUT] == 0:
            constrain(ints, floats, which_state, which_slope, t, what)
            return
        world.order[0, k] = k
    measure_spokes(world, which_state, which_slope, n)
    couple_spokes(world, n)
    if factorize_small(world.matrix, world.factor, n):
        constrain(ints, floats, which_state, which_slope, t, what)
        return
    world.head[memory.DEPENDENT] = 0
    world.head[memory.INCONSISTENT] = 0
    drift, _ = lay_right_sides(world, n)
    tension, gap, rate = world.small[TENSIONS], world.small[GAPS], world.small[RATES]
    if what == TAUT_ONLY:
        substitute_small(world.factor, n, tension)
    else:
        substitute_three_small(world.factor, n, tension, gap, rate)
    for k in range(n):
        world.constraints[k, memory.TENSION] = tension[k]
    state, slope = world.states[which_state], world.slopes[which_slope]
    pull_spokes(world, n, tension, slope, memory.D_V, memory.D_OMEGA)
    if what == TAUT_ONLY:
        return
    clear_correction(world)
    pull_spokes(world, n, gap, world.slopes[memory.CORRECTION], memory.D_P, memory.D_THETA)
    pull_spokes(world, n, rate, state, memory.V, memory.OMEGA)
    move(world, state)
    world.head[memory.COARSE] = 0
    if drift >= SMALL_DRIFT:
        unpulled_again(ints, floats, which_state, which_slope, t)
        constrain(ints, floats, which_state, which_slope, t, what)
        return
    take_projected_rates(world, state, slope, n)


@inlined
def find_slope_abreast(ints, floats, which_state, which_slope, t, what):
    """:func:`rotor_dynamics.constraints.unilateral.find_slope` for bodies that are moved abreast."""
    world = memory.views(ints, floats)
    if world.head[memory.IS_PUSHED] != 0:
        outer_wrenches(ints, floats, which_state, t)
    move_abreast(world, which_state, which_slope, t)
    if world.head[memory.SPOKES] != 0:
        constrain_spokes(ints, floats, which_state, which_slope, t, what)
    elif world.head[memory.N_CONSTRAINTS] != 0:
        constrain(ints, floats, which_state, which_slope, t, what)
