"""Accelerations of articulated bodies by the articulated-body recursion.

Everything is in the axes of W at the centres of mass, so that going from link to link is a shift
and no rotation. Cost grows linearly with the number of links. Featherstone, Rigid Body Dynamics
Algorithms, 2008, chapter 7. Accelerations are classical ones, less gravity on the way. Equations
(T.n) are numbered in docs/theory/trees.md.
"""

from __future__ import annotations

from math import exp, sin, tanh

from rotor_core._jit import inlined, kernel
from rotor_core.lie.vec3 import (
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
from rotor_sim.dynamics.blades import begin_discs, blade_forces
from rotor_sim.dynamics.links import articulated_row, drive, driven_motion, move_trees
from rotor_sim.dynamics.motion import body_wrench
from rotor_sim.dynamics.rotors import take_joint_speeds
from rotor_sim.dynamics.spatial import (
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
from rotor_sim.model import layout as at


@inlined
def motor_effort(joint, t):
    """Effort of the motor of a joint at time t (T.8)."""
    effort = joint[at.EFFORT_BIAS]
    if joint[at.EFFORT_OFFSET] != 0.0:
        effort += joint[at.EFFORT_OFFSET] * exp(
            -(t - joint[at.EFFORT_SINCE]) * joint[at.EFFORT_LAG_RATE]
        )
    if joint[at.EFFORT_AMPLITUDE] != 0.0:
        effort += joint[at.EFFORT_AMPLITUDE] * sin(
            joint[at.EFFORT_FREQUENCY] * t + joint[at.EFFORT_PHASE]
        )
    return effort


@inlined
def passive_effort(joint, angle, rate):
    """Spring, damping and friction of a joint (T.7)."""
    effort = joint[at.STIFFNESS] * (joint[at.REST] - angle) - joint[at.DAMPING] * rate
    if joint[at.FRICTION] != 0.0:
        effort -= joint[at.FRICTION] * tanh(rate / joint[at.FRICTION_SPEED])
    return effort


@inlined
def lay_inertia(world, state, b, body, has_rotors, has_drags):
    """Inertia of a rigid body and the forces on it, as the start of the recursion (T.4)."""
    source = world.bodies[b]
    R = get9(source, at.ROTATION)
    omega = get3(state[b], at.OMEGA)
    force, moment, spin = body_wrench(world, state, b, R, has_rotors, has_drags)
    J = get9(source, at.INERTIA)
    put6(body, at.TURNING, turned_inertia(R, J))
    for i in range(9):
        body[at.COUPLING + i] = 0.0
    mass = source[at.MASS]
    put6(body, at.MOVING, (mass, 0.0, 0.0, mass, 0.0, mass))
    put3(body, at.BIAS_MOMENT, apply(R, sub(cross(omega, add(apply(J, omega), spin)), moment)))
    put3(body, at.BIAS_FORCE, scale(-1.0, apply(R, force)))


@inlined
def push_from_outside(world):
    """External wrenches on trees (T.5)."""
    for k in range(world.head[at.N_ACTING]):
        b = world.external_body[k]
        if b >= world.head[at.N_FREE]:
            e = world.externals[k]
            body = world.articulated[articulated_row(world, b)]
            force = get3(e, at.FORCE_W)
            arm = apply(get9(world.bodies[b], at.ROTATION), get3(e, at.POINT))
            moment = add(get3(e, at.MOMENT_W), cross(arm, force))
            put3(body, at.BIAS_MOMENT, sub(get3(body, at.BIAS_MOMENT), moment))
            put3(body, at.BIAS_FORCE, sub(get3(body, at.BIAS_FORCE), force))


@inlined
def fold(world, state, j, t):
    """Inward step: what the parent of joint j feels of everything beyond it (T.6)."""
    ji = world.joint_int[j]
    joint = world.joints[j]
    body = world.articulated[ji[at.LINK_BODY]]
    turn, push = get3(joint, at.SCREW), get3(joint, at.SCREW + 3)
    turning, coupling, moving = (
        get6(body, at.TURNING),
        get9(body, at.COUPLING),
        get6(body, at.MOVING),
    )
    moment, force = get3(body, at.BIAS_MOMENT), get3(body, at.BIAS_FORCE)
    angular, linear = get3(joint, at.CENTRIPETAL), get3(joint, at.CENTRIPETAL + 3)
    moment_of = add(symmetric_apply(turning, turn), apply(coupling, push))
    force_of = add(apply_transposed(coupling, turn), symmetric_apply(moving, push))
    put3(joint, at.REACTION, moment_of)
    put3(joint, at.REACTION + 3, force_of)
    y = state[ji[at.JOINT_ROW]]
    if ji[at.DRIVEN] != 0:
        _, _, acceleration = driven_motion(joint, t)
        joint[at.EFFORT] = acceleration
        angular = add(angular, scale(acceleration, turn))
        linear = add(linear, scale(acceleration, push))
    else:
        inverse = 1.0 / (dot(turn, moment_of) + dot(push, force_of) + joint[at.ARMATURE])
        effort = motor_effort(joint, t) + passive_effort(joint, y[at.P], y[at.V])
        effort += joint[at.PITCH_EFFORT] - dot(turn, moment) - dot(push, force)
        joint[at.INV_AXIAL] = inverse
        joint[at.EFFORT] = effort
        turning = symmetric_less(turning, inverse, moment_of)
        coupling = less(coupling, inverse, moment_of, force_of)
        moving = symmetric_less(moving, inverse, force_of)
        effort *= inverse
        moment = add(moment, scale(effort, moment_of))
        force = add(force, scale(effort, force_of))
    moment = add(moment, add(symmetric_apply(turning, angular), apply(coupling, linear)))
    force = add(force, add(apply_transposed(coupling, angular), symmetric_apply(moving, linear)))
    lever = get3(joint, at.LEVER)
    parent = world.articulated[ji[at.PARENT_BODY]]
    turning, coupling = shifted(turning, coupling, moving, lever)
    add6(parent, at.TURNING, turning)
    for i in range(9):
        parent[at.COUPLING + i] += coupling[i]
    add6(parent, at.MOVING, moving)
    add3(parent, at.BIAS_MOMENT, add(moment, cross(lever, force)))
    add3(parent, at.BIAS_FORCE, force)


@inlined
def solve_root(body, moment, force):
    """Accelerations of a root under a bias, by its inverted blocks (T.10)."""
    coupling = get9(body, at.COUPLING)
    alpha = symmetric_apply(get6(body, at.TURNING), sub(apply(coupling, force), moment))
    linear = add(symmetric_apply(get6(body, at.MOVING), force), apply_transposed(coupling, alpha))
    return alpha, scale(-1.0, linear)


@inlined
def invert_root(body):
    """Replace the blocks of the articulated inertia of a root by what :func:`solve_root` needs (T.10)."""
    moving = symmetric_inverse(get6(body, at.MOVING))
    coupling = get9(body, at.COUPLING)
    through = times_symmetric(coupling, moving)
    turning = get6(body, at.TURNING)
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
    put6(body, at.TURNING, symmetric_inverse(rest))
    put9(body, at.COUPLING, through)
    put6(body, at.MOVING, moving)


@inlined
def unfold(world, state, slope, j, gravity):
    """Outward step: acceleration of joint j and its link (T.11)."""
    ji = world.joint_int[j]
    joint = world.joints[j]
    parent = world.articulated[ji[at.PARENT_BODY]]
    body = world.articulated[ji[at.LINK_BODY]]
    turn, push = get3(joint, at.SCREW), get3(joint, at.SCREW + 3)
    alpha = get3(parent, at.ALPHA)
    linear = add(
        add(get3(parent, at.ACCEL), cross(alpha, get3(joint, at.LEVER))),
        get3(joint, at.CENTRIPETAL + 3),
    )
    alpha = add(alpha, get3(joint, at.CENTRIPETAL))
    acceleration = joint[at.EFFORT]
    if ji[at.DRIVEN] == 0:
        acceleration -= dot(get3(joint, at.REACTION), alpha)
        acceleration -= dot(get3(joint, at.REACTION + 3), linear)
        acceleration *= joint[at.INV_AXIAL]
    alpha = add(alpha, scale(acceleration, turn))
    linear = add(linear, scale(acceleration, push))
    put3(body, at.ALPHA, alpha)
    put3(body, at.ACCEL, linear)
    row = ji[at.JOINT_ROW]
    slope[row, at.D_P] = state[row, at.V]
    slope[row, at.D_V] = acceleration
    link = ji[at.LINK_ROW]
    put3(slope[link], at.D_V, sub(linear, (0.0, 0.0, gravity)))
    R = get9(world.bodies[link], at.ROTATION)
    put3(slope[link], at.D_OMEGA, apply_transposed(R, alpha))


@kernel
def tree_motion(ints, floats, which_state, which_slope, t):
    """Slopes of roots, joints and links of all trees without cable forces."""
    world = at.views(ints, floats)
    state = world.states[which_state]
    slope = world.slopes[which_slope]
    gravity = world.scalars[at.GRAVITY]
    n_trees, n_joints = world.head[at.N_TREES], world.head[at.N_JOINTS]
    has_rotors, has_drags = world.head[at.N_ROTORS] != 0, world.head[at.N_DRAGS] != 0
    drive(world, state, t)
    move_trees(world, state)
    if has_rotors:
        take_joint_speeds(world, state)
    if world.head[at.N_DISCS] != 0:
        begin_discs(world, state)
    for tree in range(n_trees):
        b = world.tree_int[tree, at.ROOT]
        if b >= 0:
            lay_inertia(world, state, b, world.articulated[tree], has_rotors, has_drags)
    for j in range(n_joints):
        link = world.joint_int[j, at.LINK_ROW]
        lay_inertia(world, state, link, world.articulated[n_trees + j], has_rotors, has_drags)
    if world.head[at.N_DISCS] != 0:
        blade_forces(ints, floats, which_state, which_slope, t)
    push_from_outside(world)
    for back in range(n_joints):
        fold(world, state, n_joints - 1 - back, t)
    for tree in range(n_trees):
        b = world.tree_int[tree, at.ROOT]
        body = world.articulated[tree]
        if b < 0:
            put3(body, at.ACCEL, (0.0, 0.0, gravity))  # the ground does not fall
            continue
        invert_root(body)
        alpha, linear = solve_root(body, get3(body, at.BIAS_MOMENT), get3(body, at.BIAS_FORCE))
        put3(body, at.ALPHA, alpha)
        put3(body, at.ACCEL, linear)
        d = slope[b]
        put3(d, at.D_P, get3(state[b], at.V))
        put3(d, at.D_THETA, get3(state[b], at.OMEGA))
        put3(d, at.D_V, sub(linear, (0.0, 0.0, gravity)))
        put3(d, at.D_OMEGA, apply_transposed(get9(world.bodies[b], at.ROTATION), alpha))
    for j in range(n_joints):
        unfold(world, state, slope, j, gravity)
