"""Forward kinematics of trees: poses and motion of their links.

Links are written to the rows behind the joints, so that cables, drag and messages find them like any
other body. Equations (T.n) are numbered in docs/theory/trees.md.
"""

from __future__ import annotations

from math import cos, exp, sin

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.link import INT, WORLD, linked
from rotor_core.math import so3
from rotor_core.math.vec3 import add, apply, apply_transposed, cross, get3, get9, put3, put9, scale
from rotor_core.numbers.derivatives import counts
from rotor_dynamics import memory


@inlined
def articulated_row(world, b):
    """Row of a root or link in the table of articulated bodies, from its row among the bodies."""
    if b < world.head[memory.N_BODIES]:
        return b - world.head[memory.N_FREE]
    return world.head[memory.N_TREES] + b - world.head[memory.N_BODIES]


@inlined
def driven_motion(joint, t):
    """Angle, rate and acceleration of a driven joint at time t (T.9)."""
    s = t - joint[memory.EFFORT_SINCE]
    holds = s > joint[memory.HOLDS_AFTER]
    if holds:
        s = joint[memory.HOLDS_AFTER]
    angle, rate, twice = 0.0, 0.0, 0.0
    for back in range(6):
        twice = twice * s + rate
        rate = rate * s + angle
        angle = angle * s + joint[memory.COEFFICIENTS + 5 - back]
    if holds:
        rate, twice = 0.0, 0.0
    acceleration = 2.0 * twice
    offset, lag_rate = joint[memory.EFFORT_OFFSET], joint[memory.EFFORT_LAG_RATE]
    if lag_rate != 0.0:  # a motor that comes to its speed with a lag
        fading = exp(-lag_rate * (t - joint[memory.EFFORT_SINCE]))
        angle += offset / lag_rate * (1.0 - fading)
        rate += offset * fading
        acceleration -= offset * lag_rate * fading
    amplitude = joint[memory.EFFORT_AMPLITUDE]
    if counts(amplitude):
        w = joint[memory.EFFORT_FREQUENCY]
        wave = amplitude * sin(w * t + joint[memory.EFFORT_PHASE])
        angle += wave
        rate += w * amplitude * cos(w * t + joint[memory.EFFORT_PHASE])
        acceleration -= w * w * wave
    return angle, rate, acceleration


@inlined
def move_link(world, state, j):
    """Pose, velocity and centripetal accelerations of the link of joint j from its parent (T.2), (T.3)."""
    ji = world.joint_int[j]
    joint = world.joints[j]
    parent, link = ji[memory.PARENT_ROW], ji[memory.LINK_ROW]
    p, y = state[parent], state[link]
    angle, rate = state[ji[memory.JOINT_ROW], memory.P], state[ji[memory.JOINT_ROW], memory.V]
    axis = get3(joint, memory.JOINT_AXIS)
    q = so3.product(so3.get4(p, memory.Q), so3.get4(joint, memory.JOINT_TURN))
    turns = ji[memory.JOINT_KIND] == memory.REVOLUTE
    if turns:
        half = 0.5 * angle
        s = sin(half)
        q = so3.product(q, (cos(half), s * axis[0], s * axis[1], s * axis[2]))
    R = so3.matrix(q)
    so3.put4(y, memory.Q, q)
    put9(world.bodies[link], memory.ROTATION, R)
    omega_P = get3(world.articulated[ji[memory.PARENT_BODY]], memory.TURN_RATE)
    to_joint = apply(get9(world.bodies[parent], memory.ROTATION), get3(joint, memory.JOINT_POINT))
    to_com = apply(R, get3(joint, memory.TO_COM))
    axis_W = apply(R, axis)
    omega = omega_P
    if turns:
        push = cross(axis_W, to_com)
        spin = scale(rate, axis_W)
        omega = add(omega_P, spin)
        angular = cross(omega_P, spin)
        centripetal = add(
            add(cross(omega_P, cross(omega_P, to_joint)), cross(angular, to_com)),
            cross(omega, cross(omega, to_com)),
        )
        put3(joint, memory.S, axis_W)
        put3(joint, memory.S + 3, push)
        put3(joint, memory.CENTRIPETAL, angular)
        lever = add(to_joint, to_com)
    else:
        push = axis_W
        lever = add(add(to_joint, scale(angle, axis_W)), to_com)
        centripetal = add(
            cross(omega_P, cross(omega_P, lever)), scale(2.0 * rate, cross(omega_P, axis_W))
        )
        put3(joint, memory.S, (0.0, 0.0, 0.0))
        put3(joint, memory.S + 3, axis_W)
        put3(joint, memory.CENTRIPETAL, (0.0, 0.0, 0.0))
    put3(joint, memory.CENTRIPETAL + 3, centripetal)
    put3(joint, memory.LEVER, lever)
    put3(world.articulated[ji[memory.LINK_BODY]], memory.TURN_RATE, omega)
    put3(y, memory.P, add(get3(p, memory.P), lever))
    put3(y, memory.V, add(get3(p, memory.V), add(cross(omega_P, lever), scale(rate, push))))
    put3(y, memory.OMEGA, apply_transposed(R, omega))


@inlined
def move_trees(world, state):
    """Bring all links up to date with roots and joints (T.1)."""
    for tree in range(world.head[memory.N_TREES]):
        b = world.tree_int[tree, memory.ROOT]
        if b >= 0:
            R = so3.matrix(so3.get4(state[b], memory.Q))
            put9(world.bodies[b], memory.ROTATION, R)
            put3(world.articulated[tree], memory.TURN_RATE, apply(R, get3(state[b], memory.OMEGA)))
    for j in range(world.head[memory.N_JOINTS]):
        move_link(world, state, j)


@inlined
def drive(world, state, t):
    """Put driven joints where they are at time t."""
    for j in range(world.head[memory.N_JOINTS]):
        if world.joint_int[j, memory.DRIVEN] != 0:
            y = state[world.joint_int[j, memory.JOINT_ROW]]
            angle, rate, _ = driven_motion(world.joints[j], t)
            y[memory.P] = angle
            y[memory.V] = rate


@linked(*WORLD, INT, part="joints")
def move_links(ints, floats, which_state):
    """Bring driven joints and all links up to date with the time of the world, roots and joints."""
    world = memory.views(ints, floats)
    drive(world, world.states[which_state], world.scalars[memory.TIME])
    move_trees(world, world.states[which_state])


@linked(*WORLD, INT, INT, part="joints")
def settle_trees(ints, floats, which_state, which_slope):
    """After a projection: links where roots and joints are now, and slopes of positions again the velocities."""
    world = memory.views(ints, floats)
    state, slope = world.states[which_state], world.slopes[which_slope]
    move_trees(world, state)
    for b in range(world.head[memory.N_FREE], world.head[memory.N_BODIES]):
        put3(slope[b], memory.D_P, get3(state[b], memory.V))
        put3(slope[b], memory.D_THETA, get3(state[b], memory.OMEGA))
