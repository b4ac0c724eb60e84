"""Jumps of articulated vehicles whose rotors jump in speed (R.9)."""

from __future__ import annotations

from rotor_core.kernels.link import FLOAT, WORLD, linked
from rotor_core.math.vec3 import add, get3, put3, sub
from rotor_dynamics import memory
from rotor_dynamics.forces.rotors import sum_rotors
from rotor_dynamics.kinematics.trees import move_links
from rotor_dynamics.motion.articulated import tree_motion


@linked(*WORLD, FLOAT, part="joints")
def kick_trees(ints, floats, t):
    """Let roots and joints jump by what rotors take that jump in speed; SPEED_DOT of all rotors holds the jumps.

    Accelerations are linear in the moments on the bodies: what the jumps do as rates for a second, less what happens
    without, is what they do at once.
    """
    world = memory.views(ints, floats)
    with_jumps, without = world.slopes[memory.COMBINED], world.slopes[memory.CORRECTION]
    sum_rotors(world)
    tree_motion(ints, floats, memory.START, memory.COMBINED, t)
    for k in range(world.head[memory.N_ROTORS]):
        world.rotors[k, memory.SPEED_DOT] = 0.0
    sum_rotors(world)
    tree_motion(ints, floats, memory.START, memory.CORRECTION, t)
    state = world.states[memory.START]
    for tree in range(world.head[memory.N_TREES]):
        b = world.tree_int[tree, memory.ROOT]
        if b < 0:
            continue
        dv = sub(get3(with_jumps[b], memory.D_V), get3(without[b], memory.D_V))
        turn = sub(get3(with_jumps[b], memory.D_OMEGA), get3(without[b], memory.D_OMEGA))
        put3(state[b], memory.V, add(get3(state[b], memory.V), dv))
        put3(state[b], memory.OMEGA, add(get3(state[b], memory.OMEGA), turn))
    for j in range(world.head[memory.N_JOINTS]):
        row = world.joint_int[j, memory.JOINT_ROW]
        state[row, memory.V] += with_jumps[row, memory.D_V] - without[row, memory.D_V]
    move_links(ints, floats, memory.START)
