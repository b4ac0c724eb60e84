"""Contact: compliant normal force and dry friction between a probe of one body and a surface of another.

A probe is a point, or a ball about it that may spin (a roller); a surface is a box, or everything
below its top (the ground), and may carry a belt. The normal force is that of Hunt and Crossley (K.2).
Friction is a spring and damper between the surface and an anchor that gives way where the force would
exceed Coulomb's (K.3)-(K.5), so that what stands still stays: anchors move at the end of a step only,
as the taut set does, and forces are functions of the state in between. Equations (K.n),
docs/theory/contact.md.
"""

from __future__ import annotations

from math import copysign, exp, sqrt

from rotor_core._jit import constants, inlined
from rotor_core._link import FLOAT, INT, WORLD, linked
from rotor_core.math import so3
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    get3,
    get9,
    norm,
    put3,
    put9,
    scale,
    sub,
)
from rotor_dynamics import memory
from rotor_dynamics.kinematics.trees import drive, move_trees

NO_FACE, TOP, OUTSIDE = constants(0, 3, 4)
"""Faces of no contact, of the ground, and of a ball whose centre is outside a box."""

ON_EDGE = 1e-12
"""A ball whose centre is this close to a box is inside it, m: the direction outwards is that of a face."""


@inlined
def face_below(half, p):
    """Face of a box that a point p inside is nearest to: 1, 2, 3 along the axes, negative on the other side."""
    best, face = half[0] - abs(p[0]), 1
    if half[1] - abs(p[1]) < best:
        best, face = half[1] - abs(p[1]), 2
    if half[2] - abs(p[2]) < best:
        face = 3
    along = p[face - 1]
    return face if along >= 0.0 else -face


@inlined
def face_normal(face):
    """Outward normal of a face."""
    side = 1.0 if face > 0 else -1.0
    axis = abs(face)
    return (
        side if axis == 1 else 0.0,
        side if axis == 2 else 0.0,
        side if axis == 3 else 0.0,
    )


@inlined
def over_face(half, p, face):
    """True if a point is within the sides of a face, so that it stays on it."""
    axis = abs(face)
    return (
        (axis == 1 or abs(p[0]) <= half[0])
        and (axis == 2 or abs(p[1]) <= half[1])
        and (axis == 3 or abs(p[2]) <= half[2])
    )


@inlined
def clamped(value, most):
    """The nearest number between -most and most."""
    return copysign(min(abs(value), most), value)


@inlined
def penetration(contact, ci, p):
    """Depth of a probe at p in the axes of the surface, outward normal, and face (0 where apart) (K.1)."""
    half = get3(contact, memory.HALF_SIZE)
    radius = contact[memory.PROBE_RADIUS]
    depth, normal, face = -1.0, (0.0, 0.0, 1.0), NO_FACE
    if ci[memory.IS_BOX] == 0:
        depth = radius - (p[2] - half[2])
        face = TOP if depth > 0.0 else NO_FACE
    else:
        nearest = (clamped(p[0], half[0]), clamped(p[1], half[1]), clamped(p[2], half[2]))
        out = sub(p, nearest)
        apart = norm(out)
        if apart > ON_EDGE:
            depth = radius - apart
            if depth > 0.0:
                normal = scale(1.0 / apart, out)
                face = OUTSIDE
        else:
            face = ci[memory.FACE]
            known = ci[memory.TOUCHES] != 0 and face != NO_FACE and face != OUTSIDE
            if not known or not over_face(half, p, face):
                face = face_below(half, p)
            normal = face_normal(face)
            depth = radius + half[abs(face) - 1] - dot(normal, p)
    return depth, normal, face


@inlined
def tangential(a, normal):
    """Part of a vector across the normal."""
    return sub(a, scale(dot(a, normal), normal))


@inlined
def friction_limit(contact, speed, normal_force):
    """Largest friction at a sliding speed (K.4)."""
    ratio = speed / contact[memory.STICTION_SPEED]
    most = contact[memory.STATIC] - contact[memory.DYNAMIC]
    return (contact[memory.DYNAMIC] + most * exp(-ratio * ratio)) * normal_force


@inlined
def point_velocity(state, row, R, r_W):
    """Velocity in W of a point of a body, r_W from its centre of mass."""
    omega = apply(R, get3(state[row], memory.OMEGA))
    return add(get3(state[row], memory.V), cross(omega, r_W))


@inlined
def touch(world, state, k, t):
    """Everything about contact k in a state.

    Returns:
        (depth, face, normal in W, force on the probe in W, point of contact in W, place of the probe
        and travel per time of its surface past the other in the axes of the surface, stretch of the
        spring, friction over its limit).
    """
    ci = world.contact_int[k]
    contact = world.contacts[k]
    a, b = ci[memory.PROBE_BODY], ci[memory.SURFACE_BODY]
    R_A, R_B = get9(world.bodies[a], memory.ROTATION), get9(world.bodies[b], memory.ROTATION)
    r_A = apply(R_A, get3(contact, memory.PROBE))
    centre = add(get3(state[a], memory.P), r_A)
    turn = get9(contact, memory.SURFACE_TURN)
    from_b = apply_transposed(R_B, sub(centre, get3(state[b], memory.P)))
    p = apply_transposed(turn, sub(from_b, get3(contact, memory.SURFACE_PLACE)))
    depth, normal, face = penetration(contact, ci, p)
    zero = (0.0, 0.0, 0.0)
    if face == NO_FACE:
        return depth, face, zero, zero, zero, p, zero, zero, 0.0
    normal_W = apply(R_B, apply(turn, normal))
    to_surface = scale(-contact[memory.PROBE_RADIUS], normal_W)
    point = add(centre, to_surface)
    v_centre = point_velocity(state, a, R_A, r_A)
    v_surface = point_velocity(state, b, R_B, sub(centre, get3(state[b], memory.P)))
    spin_W = apply(R_A, add(get3(state[a], memory.OMEGA), get3(contact, memory.PROBE_SPIN)))
    spin_W = sub(spin_W, apply(R_B, get3(state[b], memory.OMEGA)))
    # what runs past without the centre of the probe moving over the surface: rolling, spinning, a belt
    rolling = cross(spin_W, to_surface)
    travel = apply_transposed(turn, apply_transposed(R_B, rolling))
    travel = tangential(sub(travel, get3(contact, memory.BELT_SPEED)), normal)
    slip = apply_transposed(turn, apply_transposed(R_B, sub(v_centre, v_surface)))
    closing = -dot(slip, normal)
    slip = add(tangential(slip, normal), travel)
    push = (
        contact[memory.NORMAL_STIFFNESS] * depth * (1.0 + contact[memory.DISSIPATION] * closing)
    )  # (K.2)
    push = max(push, 0.0)
    stretch = zero
    if ci[memory.TOUCHES] != 0:
        since = t - contact[memory.ANCHORED_AT]
        mean = scale(0.5 * since, add(travel, get3(contact, memory.TRAVEL_RATE)))
        stretch = tangential(add(sub(p, get3(contact, memory.ANCHOR)), mean), normal)
    grip = add(
        scale(contact[memory.TANGENT_STIFFNESS], stretch),
        scale(contact[memory.TANGENT_DAMPING], slip),
    )  # (K.3)
    most = friction_limit(contact, norm(slip), push)
    wanted = norm(grip)
    over = wanted / most if most > 0.0 else 2.0
    if over > 1.0:
        grip = scale(most / wanted, grip) if wanted > 0.0 else zero
    force = apply(R_B, apply(turn, sub(scale(push, normal), grip)))
    return depth, face, normal_W, force, point, p, travel, stretch, most


@inlined
def turn_free_bodies(world, state):
    """Rotations of free bodies; those of trees are kept with their links."""
    for b in range(world.head[memory.N_FREE]):
        put9(world.bodies[b], memory.ROTATION, so3.matrix(so3.get4(state[b], memory.Q)))


@inlined
def begin_wrenches(world, state, t):
    """Rotations of all bodies in a state, and nothing yet in the column OUTER_WRENCH."""
    turn_free_bodies(world, state)
    if world.head[memory.N_JOINTS] != 0:
        drive(world, state, t)
        move_trees(world, state)
    for b in range(world.bodies.shape[0]):
        for i in range(6):
            world.bodies[b, memory.OUTER_WRENCH + i] = 0.0


@inlined
def contact_wrenches(world, state, t):
    """Add what all contacts do to every body in a state to the column OUTER_WRENCH."""
    for k in range(world.head[memory.N_CONTACTS]):
        ci = world.contact_int[k]
        if ci[memory.CAN_TOUCH] == 0:
            continue
        _, face, _, force, point, _, _, _, _ = touch(world, state, k, t)
        if face == NO_FACE:
            continue
        for side in range(2):
            b = ci[memory.PROBE_BODY + side]
            sign = 1.0 if side == 0 else -1.0
            body = world.bodies[b]
            R = get9(body, memory.ROTATION)
            moment = cross(sub(point, get3(state[b], memory.P)), force)
            pushed = add(get3(body, memory.OUTER_WRENCH), scale(sign, apply_transposed(R, force)))
            turned = add(
                get3(body, memory.OUTER_WRENCH + 3), scale(sign, apply_transposed(R, moment))
            )
            put3(body, memory.OUTER_WRENCH, pushed)
            put3(body, memory.OUTER_WRENCH + 3, turned)


@linked(*WORLD, INT, FLOAT, part="contacts and forces")
def move_anchors(ints, floats, which_state, t):
    """At the end of a step: what touches is anchored where its friction can hold it (K.5)."""
    world = memory.views(ints, floats)
    state = world.states[which_state]
    turn_free_bodies(world, state)
    for k in range(world.head[memory.N_CONTACTS]):
        ci = world.contact_int[k]
        contact = world.contacts[k]
        if ci[memory.CAN_TOUCH] == 0:
            continue
        depth, face, normal_W, force, _, p, travel, stretch, most = touch(world, state, k, t)
        contact[memory.DEPTH] = max(depth, 0.0)
        contact[memory.NORMAL_FORCE] = dot(force, normal_W)
        if face == NO_FACE:
            ci[memory.TOUCHES], ci[memory.FACE] = 0, NO_FACE
            put3(contact, memory.STRETCH, (0.0, 0.0, 0.0))
            contact[memory.FRICTION_LIMIT] = 0.0
            continue
        # no longer than friction admitted through the whole step: the spring holds no more than it was given
        longest = min(most, contact[memory.FRICTION_LIMIT]) / contact[memory.TANGENT_STIFFNESS]
        contact[memory.FRICTION_LIMIT] = most
        length = sqrt(dot(stretch, stretch))
        if length > longest:
            stretch = scale(longest / length, stretch)
        ci[memory.TOUCHES], ci[memory.FACE] = 1, face
        put3(contact, memory.STRETCH, stretch)
        put3(contact, memory.ANCHOR, sub(p, stretch))
        put3(contact, memory.TRAVEL_RATE, travel)
        contact[memory.ANCHORED_AT] = t
