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

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLAG, FLOAT, INT, WORLD, linked
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

EDGE = 1e-3
"""Width about the edges of a face in which it still carries, in the smallest half size: equal boxes are flush."""

ON_EDGE = 1e-12
"""A ball whose centre is this close to a box is inside it, m: the direction outwards is that of a face."""


@inlined
def component(a, axis):
    """Component of a vector along axis 1, 2 or 3."""
    return a[0] if axis == 1 else (a[1] if axis == 2 else a[2])


@inlined
def margin(half):
    """Width about the edges of a face in which it still carries, m."""
    return EDGE * min(half[0], half[1], half[2])


@inlined
def face_towards(half, p, centre):
    """Face of a box that a point p inside belongs to, of a body with its centre of mass at ``centre``.

    That beyond which the centre is farthest; where it is inside too, the one to which p is nearest. 1, 2, 3 along the
    axes, negative on the other side.
    """
    face, most, nearest, least = 3, 0.0, 3, component(half, 3) - abs(component(p, 3))
    for axis in range(1, 4):
        beyond = abs(component(centre, axis)) - component(half, axis)
        if beyond > most:
            face, most = axis, beyond
        depth = component(half, axis) - abs(component(p, axis))
        if depth < least:
            nearest, least = axis, depth
    if most == 0.0:
        return nearest if component(p, nearest) >= 0.0 else -nearest
    return face if component(centre, face) >= 0.0 else -face


@inlined
def entered(half, begin, p):
    """Face of a box through which a probe has come on the straight way from ``begin`` to p, or NO_FACE.

    Where it may have been any of several (flush with an edge) it is the one towards which it moved most.
    """
    edge = margin(half)
    face, most = NO_FACE, 0.0
    for axis in range(1, 4):
        at, reach = component(begin, axis), component(half, axis)
        side = 1.0 if at >= 0.0 else -1.0
        start, now = side * at, side * component(p, axis)
        if start < reach - edge or now >= reach or start - now <= most:
            continue
        share = max((start - reach) / (start - now), 0.0)
        on_it = True
        for other in range(1, 4):
            a, b = component(begin, other), component(p, other)
            if other != axis and abs(a + share * (b - a)) > component(half, other) + edge:
                on_it = False
        if on_it:
            face, most = (axis if at >= 0.0 else -axis), start - now
    return face


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
    axis, edge = abs(face), margin(half)
    return (
        (axis == 1 or abs(p[0]) <= half[0] + edge)
        and (axis == 2 or abs(p[1]) <= half[1] + edge)
        and (axis == 3 or abs(p[2]) <= half[2] + edge)
    )


@inlined
def clamped(value, most):
    """The nearest number between -most and most."""
    return copysign(min(abs(value), most), value)


@inlined
def penetration(contact, ci, p, centre):
    """Depth of a probe at p in the axes of the surface, outward normal, and face (0 where apart) (K.1).

    ``centre``: of mass of the probe's body, in these axes.
    """
    half = get3(contact, memory.HALF_SIZE)
    radius = contact[memory.PROBE_RADIUS]
    depth, normal, face = -1.0, (0.0, 0.0, 1.0), NO_FACE
    if ci[memory.IS_BOX] == 0:
        depth = radius - (p[2] - half[2])
        face = TOP if depth > 0.0 else NO_FACE
    else:
        face = ci[memory.FACE]
        known = ci[memory.TOUCHES] != 0 and face != NO_FACE and face != OUTSIDE
        if not (known and over_face(half, p, face)):
            face = NO_FACE
            nearest = (clamped(p[0], half[0]), clamped(p[1], half[1]), clamped(p[2], half[2]))
            out = sub(p, nearest)
            apart = norm(out)
            if ci[memory.PLACED] != 0:
                face = entered(half, get3(contact, memory.CAME_FROM), p)
            if face == NO_FACE and apart <= ON_EDGE:
                face = face_towards(half, p, centre)
            elif face == NO_FACE and apart < radius:
                depth = radius - apart
                normal = scale(1.0 / apart, out)
                return depth, normal, OUTSIDE
        if face != NO_FACE:
            normal = face_normal(face)
            depth = radius + half[abs(face) - 1] - dot(normal, p)
            if depth <= 0.0:
                face = NO_FACE
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
def places_on_surface(world, state, contact, ci):
    """Place of a probe, and of the centre of mass of its body, in the axes of the surface."""
    a, b = ci[memory.PROBE_BODY], ci[memory.SURFACE_BODY]
    R_B, turn = get9(world.bodies[b], memory.ROTATION), get9(contact, memory.SURFACE_TURN)
    arm = apply(get9(world.bodies[a], memory.ROTATION), get3(contact, memory.PROBE))
    apart = sub(add(get3(state[a], memory.P), arm), get3(state[b], memory.P))
    from_b = apply_transposed(R_B, apart)
    p = apply_transposed(turn, sub(from_b, get3(contact, memory.SURFACE_PLACE)))
    return p, sub(p, apply_transposed(turn, apply_transposed(R_B, arm)))


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
    p, centre_of_mass = places_on_surface(world, state, contact, ci)
    depth, normal, face = penetration(contact, ci, p, centre_of_mass)
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


@inlined
def within(half, p, edge):
    """True if p is in a box that is wider by ``edge`` everywhere."""
    return (
        abs(p[0]) <= half[0] + edge and abs(p[1]) <= half[1] + edge and abs(p[2]) <= half[2] + edge
    )


@linked(*WORLD, FLOAT, part="contacts and forces")
def note_places(ints, floats, t):
    """A state was set: where the probes are, so that the first step knows through which face they come.

    Those that are in a box already belong to a face of it (K.1).
    """
    world = memory.views(ints, floats)
    state = world.states[memory.START]
    turn_free_bodies(world, state)
    for k in range(world.head[memory.N_CONTACTS]):
        ci, contact = world.contact_int[k], world.contacts[k]
        p, centre = places_on_surface(world, state, contact, ci)
        half = get3(contact, memory.HALF_SIZE)
        put3(contact, memory.CAME_FROM, p)
        ci[memory.PLACED] = 1
        if ci[memory.IS_BOX] != 0 and within(half, p, margin(half)):
            ci[memory.TOUCHES], ci[memory.FACE] = 1, face_towards(half, p, centre)
            put3(contact, memory.ANCHOR, p)
            put3(contact, memory.TRAVEL_RATE, (0.0, 0.0, 0.0))
            contact[memory.ANCHORED_AT] = t


@inlined
def crosses(half, begin, p):
    """True if the straight way from ``begin`` to p leads through a box, and ends behind it."""
    first, last = 0.0, 1.0
    for axis in range(1, 4):
        at, way, reach = (
            component(begin, axis),
            component(p, axis) - component(begin, axis),
            component(half, axis),
        )
        if way == 0.0:
            if abs(at) >= reach:
                return False
            continue
        one, other = (-reach - at) / way, (reach - at) / way
        first, last = max(first, min(one, other)), min(last, max(one, other))
    return first < last < 1.0


@linked(*WORLD, returns=FLAG, part="contacts and forces")
def passed_through(ints, floats):
    """True if a probe went through a whole box within the trial step: its end says nothing of that (K.8)."""
    world = memory.views(ints, floats)
    state = world.states[memory.END]
    turn_free_bodies(world, state)
    for k in range(world.head[memory.N_CONTACTS]):
        ci = world.contact_int[k]
        if (
            ci[memory.CAN_TOUCH] * ci[memory.IS_BOX] * ci[memory.PLACED] == 0
            or ci[memory.TOUCHES] != 0
        ):
            continue
        contact = world.contacts[k]
        p, _ = places_on_surface(world, state, contact, ci)
        if crosses(get3(contact, memory.HALF_SIZE), get3(contact, memory.CAME_FROM), p):
            return True
    return False


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
        ci[memory.PLACED] = 1
        put3(contact, memory.CAME_FROM, p)
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
        elif longest == 0.0:  # it holds nothing yet, whatever small change comes
            stretch = scale(0.0, stretch)
        ci[memory.TOUCHES], ci[memory.FACE] = 1, face
        put3(contact, memory.STRETCH, stretch)
        put3(contact, memory.ANCHOR, sub(p, stretch))
        put3(contact, memory.TRAVEL_RATE, travel)
        contact[memory.ANCHORED_AT] = t
