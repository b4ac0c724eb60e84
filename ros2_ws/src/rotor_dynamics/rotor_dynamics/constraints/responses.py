"""Response of a tree to a unit pull of a cable: M^-1 D^T, with the factors of the last recursion.

One sweep inwards and one outwards per cable; nothing is factorised again. Equation (T.12).
"""

from __future__ import annotations

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.link import FLOAT, INT, ROWS, WORLD, linked
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    get3,
    get9,
    put3,
    scale,
    sub,
)
from rotor_dynamics import memory
from rotor_dynamics.kinematics.spatial import add3
from rotor_dynamics.kinematics.trees import articulated_row
from rotor_dynamics.motion.articulated import solve_root

IMMOVABLE_SHARE = 1e-11
"""A cable that gives less than this share of what its ends would give if they were free cannot be shortened."""


@inlined
def touches(world, k, tree):
    """True if cable (or stop) k ends on a tree."""
    return (
        world.constraint_int[k, memory.TREE_A] == tree
        or world.constraint_int[k, memory.TREE_B] == tree
    )


@inlined
def end_wrench(world, k, side):
    """Let end ``side`` (0: a, 1: b) of cable k push with one newton the way that makes it longer."""
    b = world.constraint_int[k, memory.BODY_A + side]
    c = world.constraints[k]
    sign = -1.0 if side == 0 else 1.0
    body = world.articulated[articulated_row(world, b)]
    add3(body, memory.P_A_FORCE, scale(-sign, get3(c, memory.XI)))
    if world.constraint_int[k, memory.HAS_ARM_A + side] != 0:
        arm = get3(c, memory.ARM_A + 3 * side)
        add3(
            body,
            memory.P_A_MOMENT,
            scale(-sign, apply(get9(world.bodies[b], memory.ROTATION), arm)),
        )


@inlined
def sweep_in(world, tree, k):
    """Carry the pushes to the root; what each joint feels goes to its EFFORT."""
    first, end = world.tree_int[tree, memory.FIRST_JOINT], world.tree_int[tree, memory.END_JOINT]
    for back in range(end - first):
        j = end - 1 - back
        ji = world.joint_int[j]
        joint = world.joints[j]
        body = world.articulated[ji[memory.LINK_BODY]]
        moment, force = get3(body, memory.P_A_MOMENT), get3(body, memory.P_A_FORCE)
        if ji[memory.DRIVEN] == 0:
            effort = -dot(get3(joint, memory.S), moment) - dot(get3(joint, memory.S + 3), force)
            if world.constraint_int[k, memory.STOP_JOINT] == j:
                effort += float(world.constraint_int[k, memory.STOP_SIDE])
            if world.constraint_int[k, memory.DRUM_JOINT] == j + 1:
                effort -= 1.0  # what its drum gives, a cable needs not be longer (W.12)
            joint[memory.DRIVE] = effort
            effort *= joint[memory.D_INV]
            moment = add(moment, scale(effort, get3(joint, memory.U)))
            force = add(force, scale(effort, get3(joint, memory.U + 3)))
        parent = world.articulated[ji[memory.PARENT_BODY]]
        add3(parent, memory.P_A_MOMENT, add(moment, cross(get3(joint, memory.LEVER), force)))
        add3(parent, memory.P_A_FORCE, force)


@inlined
def write_response(world, k, b, linear, alpha):
    """Keep what body b does: acceleration in W, angular acceleration in the body."""
    r = world.responses[k, b - world.head[memory.N_FREE]]
    put3(r, 0, linear)
    put3(r, 3, apply_transposed(get9(world.bodies[b], memory.ROTATION), alpha))


@inlined
def sweep_out(world, tree, k):
    """Accelerations of root, joints and links."""
    b = world.tree_int[tree, memory.ROOT]
    body = world.articulated[tree]
    alpha, linear = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if b >= 0:
        alpha, linear = solve_root(
            body, get3(body, memory.P_A_MOMENT), get3(body, memory.P_A_FORCE)
        )
        write_response(world, k, b, linear, alpha)
    put3(body, memory.ALPHA, alpha)
    put3(body, memory.ACCEL, linear)
    for j in range(
        world.tree_int[tree, memory.FIRST_JOINT], world.tree_int[tree, memory.END_JOINT]
    ):
        ji = world.joint_int[j]
        joint = world.joints[j]
        parent = world.articulated[ji[memory.PARENT_BODY]]
        body = world.articulated[ji[memory.LINK_BODY]]
        alpha = get3(parent, memory.ALPHA)
        linear = add(get3(parent, memory.ACCEL), cross(alpha, get3(joint, memory.LEVER)))
        acceleration = 0.0
        if ji[memory.DRIVEN] == 0:
            acceleration = joint[memory.DRIVE] - dot(get3(joint, memory.U), alpha)
            acceleration -= dot(get3(joint, memory.U + 3), linear)
            acceleration *= joint[memory.D_INV]
            alpha = add(alpha, scale(acceleration, get3(joint, memory.S)))
            linear = add(linear, scale(acceleration, get3(joint, memory.S + 3)))
        put3(body, memory.ALPHA, alpha)
        put3(body, memory.ACCEL, linear)
        world.responses[k, ji[memory.JOINT_ROW] - world.head[memory.N_FREE], 0] = acceleration
        write_response(world, k, ji[memory.LINK_ROW], linear, alpha)


@inlined
def clear_pushes(world, tree):
    """Nothing pushes the bodies of a tree."""
    n_trees = world.head[memory.N_TREES]
    first, end = world.tree_int[tree, memory.FIRST_JOINT], world.tree_int[tree, memory.END_JOINT]
    for i in range(6):
        world.articulated[tree, memory.P_A_MOMENT + i] = 0.0
    for j in range(first, end):
        for i in range(6):
            world.articulated[n_trees + j, memory.P_A_MOMENT + i] = 0.0


@inlined
def respond(world, tree, k):
    """Response of one tree to one cable."""
    clear_pushes(world, tree)
    if world.constraint_int[k, memory.STOP_JOINT] < 0:
        for side in range(2):
            if world.constraint_int[k, memory.TREE_A + side] == tree:
                end_wrench(world, k, side)
    sweep_in(world, tree, k)
    sweep_out(world, tree, k)


@inlined
def along(world, k, e, tree):
    """Response of the length of cable k to a unit pull of cable e, through a tree that both touch."""
    stop = world.constraint_int[k, memory.STOP_JOINT]
    first = world.head[memory.N_FREE]
    if stop >= 0:
        row = world.joint_int[stop, memory.JOINT_ROW]
        return world.responses[e, row - first, 0] * world.constraint_int[k, memory.STOP_SIDE]
    c = world.constraints[k]
    value = 0.0
    for side in range(2):
        if world.constraint_int[k, memory.TREE_A + side] == tree:
            r = world.responses[e, world.constraint_int[k, memory.BODY_A + side] - first]
            part = dot(get3(c, memory.XI), get3(r, 0))
            if world.constraint_int[k, memory.HAS_ARM_A + side] != 0:
                part += dot(get3(c, memory.ARM_A + 3 * side), get3(r, 3))
            value += part if side == 1 else -part
    return value


@linked(*WORLD, INT, part="joints")
def assemble_trees(ints, floats, n):
    """Add what trees contribute to A over the n listed cables (lower triangle)."""
    world = memory.views(ints, floats)
    for i in range(n):
        k = world.order[0, i]
        for side in range(2):
            tree = world.constraint_int[k, memory.TREE_A + side]
            if tree >= 0 and not (side == 1 and tree == world.constraint_int[k, memory.TREE_A]):
                respond(world, tree, k)
                for j in range(i + 1):
                    if touches(world, world.order[0, j], tree):
                        world.matrix[i, j] += along(world, world.order[0, j], k, tree)
    check_movable(world, n)


@inlined
def check_movable(world, n):
    """Notice cables that no pull can shorten: only driven joints decide their length.

    Their entry of A would be rounding. It is replaced by that of a free end, and the run stops.
    """
    for i in range(n):
        k = world.order[0, i]
        row = world.constraint_int[k]
        if row[memory.STOP_JOINT] >= 0 or (row[memory.TREE_A] < 0 and row[memory.TREE_B] < 0):
            continue
        free = 0.0
        for side in range(2):
            mass = world.bodies[row[memory.BODY_A + side], memory.MASS]
            if mass > 0.0:
                free += 1.0 / mass
        if world.matrix[i, i] < IMMOVABLE_SHARE * free:
            world.matrix[i, i] = free
            world.head[memory.IMMOVABLE] = k + 1


@inlined
def pull_row(world, k, b, amount, target, linear, angular):
    """Let one row of a tree follow the pull."""
    r = world.responses[k, b - world.head[memory.N_FREE]]
    put3(target[b], linear, sub(get3(target[b], linear), scale(amount, get3(r, 0))))
    put3(target[b], angular, sub(get3(target[b], angular), scale(amount, get3(r, 3))))


@inlined
def pull_tree(world, tree, k, amount, target, linear, angular):
    """Let all rows of a tree follow the pull."""
    root = world.tree_int[tree, memory.ROOT]
    if root >= 0:
        pull_row(world, k, root, amount, target, linear, angular)
    for j in range(
        world.tree_int[tree, memory.FIRST_JOINT], world.tree_int[tree, memory.END_JOINT]
    ):
        row = world.joint_int[j, memory.JOINT_ROW]
        target[row, linear] -= amount * world.responses[k, row - world.head[memory.N_FREE], 0]
        pull_row(world, k, world.joint_int[j, memory.LINK_ROW], amount, target, linear, angular)


@linked(*WORLD, INT, FLOAT, ROWS, INT, INT, part="joints")
def pull_trees(ints, floats, k, amount, target, linear, angular):
    """Add ``-M^-1 D_k^T amount`` for the trees that cable k touches; see ``pull``."""
    world = memory.views(ints, floats)
    for side in range(2):
        tree = world.constraint_int[k, memory.TREE_A + side]
        if tree >= 0 and not (side == 1 and tree == world.constraint_int[k, memory.TREE_A]):
            pull_tree(world, tree, k, amount, target, linear, angular)
