"""Accelerations of articulated bodies by the articulated-body recursion.

Everything is in the axes of W at the centres of mass, so that going from link to link is a shift
and no rotation. Cost grows linearly with the number of links. Featherstone, Rigid Body Dynamics
Algorithms, 2008, chapter 7. Accelerations are classical ones, less gravity on the way. Equations
(T.n) are numbered in docs/theory/trees.md.
"""

from __future__ import annotations

from math import exp, sin, tanh

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.link import FLOAT, INT, WORLD, linked
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    get3,
    get9,
    put3,
    put9,
    scale,
    sub,
)
from rotor_core.numbers.derivatives import counts
from rotor_dynamics import memory
from rotor_dynamics.forces.blades import begin_discs, blade_forces
from rotor_dynamics.forces.rotors import take_joint_speeds
from rotor_dynamics.kinematics.spatial import (
    add3,
    add6,
    get6,
    less,
    put6,
    shifted,
    symmetric_apply,
    symmetric_inverse,
    symmetric_less,
    times_symmetric,
    turned_inertia,
)
from rotor_dynamics.kinematics.trees import articulated_row, drive, driven_motion, move_trees
from rotor_dynamics.motion.free import body_momentum, body_wrench


@inlined
def motor_effort(joint, t):
    """Effort of the motor of a joint at time t (T.8)."""
    effort = joint[memory.EFFORT_BIAS]
    if (
        joint[memory.EFFORT_LAG_RATE] != 0.0
    ):  # not the offset: where it is zero, its derivatives need not be
        effort += joint[memory.EFFORT_OFFSET] * exp(
            -(t - joint[memory.EFFORT_SINCE]) * joint[memory.EFFORT_LAG_RATE]
        )
    if counts(joint[memory.EFFORT_AMPLITUDE]):
        effort += joint[memory.EFFORT_AMPLITUDE] * sin(
            joint[memory.EFFORT_FREQUENCY] * t + joint[memory.EFFORT_PHASE]
        )
    return effort


@inlined
def passive_effort(joint, angle, rate):
    """Spring, damping and friction of a joint (T.7)."""
    effort = joint[memory.STIFFNESS] * (joint[memory.REST] - angle) - joint[memory.DAMPING] * rate
    if counts(joint[memory.FRICTION]):
        effort -= joint[memory.FRICTION] * tanh(rate / joint[memory.FRICTION_SPEED])
    return effort


@inlined
def lay_inertia(world, state, b, body, has_rotors, has_drags):
    """Inertia of a rigid body and the forces on it, as the start of the recursion (T.4)."""
    source = world.bodies[b]
    R = get9(source, memory.ROTATION)
    omega = get3(state[b], memory.OMEGA)
    force, moment, spin = body_wrench(world, state, b, R, has_rotors, has_drags)
    J = get9(source, memory.INERTIA)
    put6(body, memory.I_A, turned_inertia(R, J))
    for i in range(9):
        body[memory.H_A + i] = 0.0
    mass = source[memory.MASS]
    put6(body, memory.M_A, (mass, 0.0, 0.0, mass, 0.0, mass))
    put3(body, memory.P_A_MOMENT, apply(R, sub(cross(omega, add(apply(J, omega), spin)), moment)))
    put3(body, memory.P_A_FORCE, scale(-1.0, apply(R, force)))


@inlined
def push_from_outside(world):
    """External wrenches on trees (T.5)."""
    for k in range(world.head[memory.N_ACTING]):
        b = world.external_body[k]
        if b >= world.head[memory.N_FREE]:
            e = world.externals[k]
            body = world.articulated[articulated_row(world, b)]
            force = get3(e, memory.FORCE_W)
            arm = apply(get9(world.bodies[b], memory.ROTATION), get3(e, memory.POINT))
            moment = add(get3(e, memory.MOMENT_W), cross(arm, force))
            put3(body, memory.P_A_MOMENT, sub(get3(body, memory.P_A_MOMENT), moment))
            put3(body, memory.P_A_FORCE, sub(get3(body, memory.P_A_FORCE), force))


@inlined
def inward_pass(world, state, j, t):
    """Inward step: what the parent of joint j feels of everything beyond it (T.6)."""
    ji = world.joint_int[j]
    joint = world.joints[j]
    body = world.articulated[ji[memory.LINK_BODY]]
    turn, push = get3(joint, memory.S), get3(joint, memory.S + 3)
    turning, coupling, moving = (
        get6(body, memory.I_A),
        get9(body, memory.H_A),
        get6(body, memory.M_A),
    )
    moment, force = get3(body, memory.P_A_MOMENT), get3(body, memory.P_A_FORCE)
    angular, linear = get3(joint, memory.CENTRIPETAL), get3(joint, memory.CENTRIPETAL + 3)
    moment_of = add(symmetric_apply(turning, turn), apply(coupling, push))
    force_of = add(apply_transposed(coupling, turn), symmetric_apply(moving, push))
    put3(joint, memory.U, moment_of)
    put3(joint, memory.U + 3, force_of)
    y = state[ji[memory.JOINT_ROW]]
    if ji[memory.DRIVEN] != 0:
        _, _, acceleration = driven_motion(joint, t)
        joint[memory.DRIVE] = acceleration
        angular = add(angular, scale(acceleration, turn))
        linear = add(linear, scale(acceleration, push))
    else:
        inverse = 1.0 / (dot(turn, moment_of) + dot(push, force_of) + joint[memory.ARMATURE])
        effort = motor_effort(joint, t) + passive_effort(joint, y[memory.P], y[memory.V])
        effort += joint[memory.PITCH_EFFORT] - dot(turn, moment) - dot(push, force)
        joint[memory.D_INV] = inverse
        joint[memory.DRIVE] = effort
        turning = symmetric_less(turning, inverse, moment_of)
        coupling = less(coupling, inverse, moment_of, force_of)
        moving = symmetric_less(moving, inverse, force_of)
        effort *= inverse
        moment = add(moment, scale(effort, moment_of))
        force = add(force, scale(effort, force_of))
    moment = add(moment, add(symmetric_apply(turning, angular), apply(coupling, linear)))
    force = add(force, add(apply_transposed(coupling, angular), symmetric_apply(moving, linear)))
    lever = get3(joint, memory.LEVER)
    parent = world.articulated[ji[memory.PARENT_BODY]]
    turning, coupling = shifted(turning, coupling, moving, lever)
    add6(parent, memory.I_A, turning)
    for i in range(9):
        parent[memory.H_A + i] += coupling[i]
    add6(parent, memory.M_A, moving)
    add3(parent, memory.P_A_MOMENT, add(moment, cross(lever, force)))
    add3(parent, memory.P_A_FORCE, force)


@inlined
def solve_root(body, moment, force):
    """Accelerations of a root under a bias, by its inverted blocks (T.10)."""
    coupling = get9(body, memory.H_A)
    alpha = symmetric_apply(get6(body, memory.I_A), sub(apply(coupling, force), moment))
    linear = add(symmetric_apply(get6(body, memory.M_A), force), apply_transposed(coupling, alpha))
    return alpha, scale(-1.0, linear)


@inlined
def invert_root(body):
    """Replace the blocks of the articulated inertia of a root by what :func:`solve_root` needs (T.10)."""
    moving = symmetric_inverse(get6(body, memory.M_A))
    coupling = get9(body, memory.H_A)
    through = times_symmetric(coupling, moving)
    turning = get6(body, memory.I_A)
    x, y, z = get3(through, 0), get3(through, 3), get3(through, 6)
    a, b, c = get3(coupling, 0), get3(coupling, 3), get3(coupling, 6)
    rest = (
        turning[0] - dot(x, a),
        turning[1] - dot(x, b),
        turning[2] - dot(x, c),
        turning[3] - dot(y, b),
        turning[4] - dot(y, c),
        turning[5] - dot(z, c),
    )
    put6(body, memory.I_A, symmetric_inverse(rest))
    put9(body, memory.H_A, through)
    put6(body, memory.M_A, moving)


@inlined
def outward_pass(world, state, slope, j, gravity):
    """Outward step: acceleration of joint j and its link (T.11)."""
    ji = world.joint_int[j]
    joint = world.joints[j]
    parent = world.articulated[ji[memory.PARENT_BODY]]
    body = world.articulated[ji[memory.LINK_BODY]]
    turn, push = get3(joint, memory.S), get3(joint, memory.S + 3)
    alpha = get3(parent, memory.ALPHA)
    linear = add(
        add(get3(parent, memory.ACCEL), cross(alpha, get3(joint, memory.LEVER))),
        get3(joint, memory.CENTRIPETAL + 3),
    )
    alpha = add(alpha, get3(joint, memory.CENTRIPETAL))
    acceleration = joint[memory.DRIVE]
    if ji[memory.DRIVEN] == 0:
        acceleration -= dot(get3(joint, memory.U), alpha)
        acceleration -= dot(get3(joint, memory.U + 3), linear)
        acceleration *= joint[memory.D_INV]
    alpha = add(alpha, scale(acceleration, turn))
    linear = add(linear, scale(acceleration, push))
    put3(body, memory.ALPHA, alpha)
    put3(body, memory.ACCEL, linear)
    row = ji[memory.JOINT_ROW]
    slope[row, memory.D_P] = state[row, memory.V]
    slope[row, memory.D_V] = acceleration
    link = ji[memory.LINK_ROW]
    put3(slope[link], memory.D_V, sub(linear, (0.0, 0.0, gravity)))
    R = get9(world.bodies[link], memory.ROTATION)
    put3(slope[link], memory.D_OMEGA, apply_transposed(R, alpha))


@linked(*WORLD, INT, INT, FLOAT, part="joints")
def tree_motion(ints, floats, which_state, which_slope, t):
    """Slopes of roots, joints and links of all trees without cable forces."""
    world = memory.views(ints, floats)
    state = world.states[which_state]
    slope = world.slopes[which_slope]
    gravity = world.scalars[memory.GRAVITY]
    n_trees, n_joints = world.head[memory.N_TREES], world.head[memory.N_JOINTS]
    has_rotors, has_drags = world.head[memory.N_ROTORS] != 0, world.head[memory.N_DRAGS] != 0
    drive(world, state, t)
    move_trees(world, state)
    if has_rotors:
        take_joint_speeds(world, state)
    if world.head[memory.N_DISCS] != 0:
        begin_discs(world, state)
    for tree in range(n_trees):
        b = world.tree_int[tree, memory.ROOT]
        if b >= 0:
            lay_inertia(world, state, b, world.articulated[tree], has_rotors, has_drags)
    for j in range(n_joints):
        link = world.joint_int[j, memory.LINK_ROW]
        lay_inertia(world, state, link, world.articulated[n_trees + j], has_rotors, has_drags)
    if world.head[memory.N_DISCS] != 0:
        blade_forces(ints, floats, which_state, which_slope, t)
    push_from_outside(world)
    for back in range(n_joints):
        inward_pass(world, state, n_joints - 1 - back, t)
    for tree in range(n_trees):
        b = world.tree_int[tree, memory.ROOT]
        body = world.articulated[tree]
        if b < 0:
            put3(body, memory.ACCEL, (0.0, 0.0, gravity))  # the ground does not fall
            continue
        invert_root(body)
        alpha, linear = solve_root(
            body, get3(body, memory.P_A_MOMENT), get3(body, memory.P_A_FORCE)
        )
        put3(body, memory.ALPHA, alpha)
        put3(body, memory.ACCEL, linear)
        d = slope[b]
        put3(d, memory.D_P, get3(state[b], memory.V))
        put3(d, memory.D_THETA, get3(state[b], memory.OMEGA))
        put3(d, memory.D_V, sub(linear, (0.0, 0.0, gravity)))
        put3(d, memory.D_OMEGA, apply_transposed(get9(world.bodies[b], memory.ROTATION), alpha))
    for j in range(n_joints):
        outward_pass(world, state, slope, j, gravity)
    world.scalars[memory.POWER_NOW] += motion_power(world, state, slope, world.head[memory.N_FREE])


@inlined
def motion_power(world, state, slope, first):
    """Power of all forces but gravity on the bodies from row ``first`` on, and of drives (E.1).

    From the accelerations, so that whatever acts is in it.
    """
    power = 0.0
    gravity = world.scalars[memory.GRAVITY]
    for b in range(first, world.head[memory.N_BODIES] + world.head[memory.N_JOINTS]):
        body, s, d = world.bodies[b], state[b], slope[b]
        v, a = get3(s, memory.V), get3(d, memory.D_V)
        power += body[memory.MASS] * (v[0] * a[0] + v[1] * a[1] + v[2] * (a[2] + gravity))
        if world.body_int[b, memory.ROTATES] != memory.TURNLESS:
            power += dot(get3(d, memory.D_OMEGA), body_momentum(world, b, get3(s, memory.OMEGA)))
    for j in range(world.head[memory.N_JOINTS]):
        row = world.joint_int[j, memory.JOINT_ROW]
        power += world.joints[j, memory.ARMATURE] * state[row, memory.V] * slope[row, memory.D_V]
    return power
