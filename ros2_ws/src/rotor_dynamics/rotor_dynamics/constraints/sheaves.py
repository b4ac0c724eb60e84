"""Pulleys with a size, and pegs, edges and balls around which a cable wraps: its way over a cylinder.

A sheave is a cylinder of a body, of radius zero an edge. Between the neighbours of a sheave on its path a taut cable is
straight, or lies on the cylinder for an angle; unrolled it is straight in both cases. It begins to lie on a peg, and
ceases to, where that angle is zero, at a located time. On a ball it lies as on a cylinder across its plane.
Equations (W.9)-(W.11), (W.20), docs/theory/routes.md.
"""

from __future__ import annotations

from math import acos, atan2, nan, pi, sqrt

from rotor_core.kernels.jit import inlined
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
from rotor_dynamics import memory

NEVER = -1.0
"""Measure of a change that is not near, rad."""

WHOLE_TURN = 2.0 * pi

IN_LINE = 1e-9
"""Sine of an angle below which two directions lie in one line."""

OPPOSITE = -0.9998
"""Cosine of the angle between the ends of a cable on a ball (within 0.02 rad of opposite each other) at which it slips
over to the other side of it."""

TANGENT = 1e-11
"""A cable leaves a peg where its straight line has passed by this much, rad: at a tangent rounding would make it come
and go."""

PAST = 0.3
"""A line that is farther past an edge than this has not come to it in a step: it is on the other side, rad."""


@inlined
def local(world, i, place, state):
    """A place in W in the axes of sheave i."""
    b = world.sheave_int[i, memory.SHEAVE_BODY]
    R = get9(world.bodies[b], memory.ROTATION)
    r = apply_transposed(R, sub(place, get3(state[b], memory.P)))
    axes = get9(world.sheaves[i], memory.SHEAVE_AXES)
    return apply_transposed(axes, sub(r, get3(world.sheaves[i], memory.SHEAVE_CENTRE)))


@inlined
def face(world, i, first, state):
    """Lay the axis of a ball across the plane of its middle and the points before and behind it (W.20).

    Where the three are in one line the plane of before stays: there the cable is not on it, or about to slip over it.
    """
    sheave, b = world.sheaves[i], world.sheave_int[i, memory.SHEAVE_BODY]
    R, place = get9(world.bodies[b], memory.ROTATION), get3(state[b], memory.P)
    centre = get3(sheave, memory.SHEAVE_CENTRE)
    p = sub(apply_transposed(R, sub(get3(world.pins[first], memory.PIN_PLACE), place)), centre)
    q = sub(apply_transposed(R, sub(get3(world.pins[first + 3], memory.PIN_PLACE), place)), centre)
    normal, d = cross(p, q), sqrt(dot(p, p))
    size = sqrt(dot(normal, normal))
    if size <= IN_LINE * d * sqrt(dot(q, q)):
        return
    z, x = scale(1.0 / size, normal), scale(1.0 / d, p)
    y = cross(z, x)
    put9(sheave, memory.SHEAVE_AXES, (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]))


@inlined
def across(p, p_dot, free_p, q, q_dot, free_q, radius):
    """Part of the second derivative of the way over a ball from motion across its plane (W.20).

    Not a number where the cable is about to slip over the ball.
    """
    d_p, d_q = sqrt(p[0] * p[0] + p[1] * p[1]), sqrt(q[0] * q[0] + q[1] * q[1])
    a, b = p_dot[2] / d_p, q_dot[2] / d_q
    sine = (p[0] * q[1] - p[1] * q[0]) / (d_p * d_q)
    cosine = (p[0] * q[0] + p[1] * q[1]) / (d_p * d_q)
    if cosine < OPPOSITE:
        return nan
    on_it = radius * ((a * a + b * b) * cosine - 2.0 * a * b) / sine
    return free_p * a * a + free_q * b * b + on_it


@inlined
def turned_aside(p, w_p, q, w_q, go):
    """Rate at which the direction in which a cable goes on from a ball turns out of its plane (W.20)."""
    area = p[0] * q[1] - p[1] * q[0]
    a, b = (go[0] * q[1] - go[1] * q[0]) / area, (p[0] * go[1] - p[1] * go[0]) / area
    return a * w_p + b * w_q


@inlined
def move_pin(world, p, state, slope):
    """Place, velocity and free acceleration of point p of a route, in W."""
    pin = world.pins[p]
    b = world.grip_int[world.pin_int[p, memory.PIN_GRIP], memory.GRIP_BODY]
    s, d, R = state[b], slope[b], get9(world.bodies[b], memory.ROTATION)
    point, omega = get3(pin, memory.PIN_POINT), get3(s, memory.OMEGA)
    v = cross(omega, point)
    turned = add(cross(get3(d, memory.D_OMEGA), point), cross(omega, v))
    put3(pin, memory.PIN_PLACE, add(get3(s, memory.P), apply(R, point)))
    put3(pin, memory.PIN_SPEED, add(get3(s, memory.V), apply(R, v)))
    put3(pin, memory.PIN_ACCELERATION, add(get3(d, memory.D_V), apply(R, turned)))


@inlined
def seen_from(world, i, pin, state, slope):
    """Place, velocity and free acceleration of a point of the path in the frame of sheave i, along its axes."""
    b = world.sheave_int[i, memory.SHEAVE_BODY]
    s, d, R = state[b], slope[b], get9(world.bodies[b], memory.ROTATION)
    sheave, omega = world.sheaves[i], get3(state[b], memory.OMEGA)
    r = apply_transposed(R, sub(get3(pin, memory.PIN_PLACE), get3(s, memory.P)))
    v = apply_transposed(R, sub(get3(pin, memory.PIN_SPEED), get3(s, memory.V)))
    v = sub(v, cross(omega, r))
    a = apply_transposed(R, sub(get3(pin, memory.PIN_ACCELERATION), get3(d, memory.D_V)))
    turning = add(cross(get3(d, memory.D_OMEGA), r), cross(omega, cross(omega, r)))
    a = sub(a, add(turning, scale(2.0, cross(omega, v))))
    axes = get9(sheave, memory.SHEAVE_AXES)
    return (
        local(world, i, get3(pin, memory.PIN_PLACE), state),
        apply_transposed(axes, v),
        apply_transposed(axes, a),
    )


@inlined
def quarter(x, y, side):
    """A vector of the plane turned by a right angle towards ``side``."""
    return -side * y, side * x


@inlined
def angle_on(p, q, side, lift_p, lift_q, before):
    """Angle for which the cable lies on a cylinder, of all its turns the one nearest to ``before`` (W.9)."""
    turned = side * atan2(p[0] * q[1] - p[1] * q[0], p[0] * q[0] + p[1] * q[1])
    angle = turned - lift_p - lift_q
    return angle + WHOLE_TURN * round((before - angle) / WHOLE_TURN)


@inlined
def passes_within(p, q, reach):
    """True if the straight line from p to q passes the axis between its ends, and within the length of the cylinder."""
    x, y = q[0] - p[0], q[1] - p[1]
    square = x * x + y * y
    if square == 0.0:
        return False
    s = -(p[0] * x + p[1] * y) / square
    return 0.0 < s < 1.0 and abs(p[2] + s * (q[2] - p[2])) <= reach


@inlined
def beside(p, q, side, within):
    """Side on which a straight line passes an edge, from that of before, and its angle: above zero it is past it.

    It changes sides unhindered around the ends of the line, and beyond the ends of the edge.
    """
    angle = angle_on(p, q, side, 0.5 * pi, 0.5 * pi, -0.5 * pi)
    if angle > 0.0 and (not within or angle > PAST):
        return -side, -angle
    if angle < -pi:
        return -side, -WHOLE_TURN - angle
    return side, angle


@inlined
def watch(world, i, p, q):
    """Side and angle of sheave i, and how far it is from the next change (rises through zero), (W.11)."""
    sheave, number = world.sheaves[i], world.sheave_int[i]
    radius = sheave[memory.SHEAVE_RADIUS]
    d_p, d_q = sqrt(p[0] * p[0] + p[1] * p[1]), sqrt(q[0] * q[0] + q[1] * q[1])
    if d_p <= radius or d_q <= radius or d_p == 0.0 or d_q == 0.0:
        sheave[memory.CHANGE_ANGLE] = NEVER
        if number[memory.LIES_ON] != 0:
            route = number[memory.SHEAVE_ROUTE]
            world.head[memory.ARRIVED] = 1 + world.route_int[route, memory.ROUTE_CONSTRAINT]
        return 0.0, 0.0
    lift_p, lift_q = acos(radius / d_p), acos(radius / d_q)
    if number[memory.LIES_ON] != 0:
        side = 1.0 * number[memory.SIDE]
        angle = angle_on(p, q, side, lift_p, lift_q, sheave[memory.WRAP_ANGLE])
        sheave[memory.WRAP_ANGLE] = angle
        sheave[memory.CHANGE_ANGLE] = -angle - TANGENT
        return side, angle
    side = 1.0 if p[0] * q[1] - p[1] * q[0] >= 0.0 else -1.0
    within = passes_within(p, q, sheave[memory.SHEAVE_REACH])
    if radius == 0.0 and number[memory.SIDE] != 0:
        side, angle = beside(p, q, 1.0 * number[memory.SIDE], within)
    else:
        angle = angle_on(p, q, side, lift_p, lift_q, -0.5 * pi)
    sheave[memory.CHANGE_ANGLE] = angle if within else NEVER
    number[memory.SIDE] = int(side)
    sheave[memory.WRAP_ANGLE] = 0.0
    return side, angle


@inlined
def off_the_end(first, last):
    """Distance from the middle of a cylinder of all that lies on it, of contacts at two heights.

    The straight line that a cable becomes which slips off passes the axis between the two: not on the cylinder either.
    """
    return 0.0 if first * last <= 0.0 else min(abs(first), abs(last))


@inlined
def tangent(p, side, radius, forwards):
    """Radial unit vector of the point where a cable from p (backwards: to p) meets a circle, and the free length."""
    d = sqrt(p[0] * p[0] + p[1] * p[1])
    cosine = radius / d
    sine = sqrt(max(1.0 - cosine * cosine, 0.0))
    x, y = p[0] / d, p[1] / d
    across = quarter(x, y, side if forwards else -side)
    return (cosine * x + sine * across[0], cosine * y + sine * across[1]), d * sine


@inlined
def over(world, i, first, state, slope):
    """Way from pin ``first`` over sheave i to the pin behind it, where the cable lies on it.

    Places the two points in which it meets the cylinder, and looks whether they are beyond its ends.

    Returns:
        (length, rate, free acceleration, direction in which it comes, direction in which it goes on, rate and free
        acceleration of what it gives off there, share of its angle on the cylinder by which it bends), directions
        in W (W.10), (W.13).
    """
    sheave = world.sheaves[i]
    b = world.sheave_int[i, memory.SHEAVE_BODY]
    p, p_dot, p_ddot = seen_from(world, i, world.pins[first], state, slope)
    q, q_dot, q_ddot = seen_from(world, i, world.pins[first + 3], state, slope)
    radius, side = sheave[memory.SHEAVE_RADIUS], 1.0 * world.sheave_int[i, memory.SIDE]
    (px, py), free_p = tangent(p, side, radius, True)
    (qx, qy), free_q = tangent(q, side, radius, False)
    come, go = quarter(px, py, side), quarter(qx, qy, side)
    flat = free_p + free_q + radius * sheave[memory.WRAP_ANGLE]
    z, z_dot, z_ddot = q[2] - p[2], q_dot[2] - p_dot[2], q_ddot[2] - p_ddot[2]
    length = sqrt(flat * flat + z * z)
    flat_dot = go[0] * q_dot[0] + go[1] * q_dot[1] - come[0] * p_dot[0] - come[1] * p_dot[1]
    flat_ddot = go[0] * q_ddot[0] + go[1] * q_ddot[1] - come[0] * p_ddot[0] - come[1] * p_ddot[1]
    swing_p, swing_q = px * p_dot[0] + py * p_dot[1], qx * q_dot[0] + qy * q_dot[1]
    flat_ddot += swing_p * swing_p / free_p + swing_q * swing_q / free_q
    rate = (flat * flat_dot + z * z_dot) / length
    free = flat * flat_ddot + z * z_ddot + flat_dot * flat_dot + z_dot * z_dot - rate * rate
    if world.sheave_int[i, memory.BALL] != 0:
        bends = across(p, p_dot, free_p, q, q_dot, free_q, radius)
        if bends != bends:
            route = world.sheave_int[i, memory.SHEAVE_ROUTE]
            world.head[memory.ARRIVED] = 1 + world.route_int[route, memory.ROUTE_CONSTRAINT]
        free += length * bends - z_dot * z_dot
    share, rise = flat / length, z / length
    axes, R = get9(sheave, memory.SHEAVE_AXES), get9(world.bodies[b], memory.ROTATION)
    centre = get3(sheave, memory.SHEAVE_CENTRE)
    on_p = apply(axes, (radius * px, radius * py, p[2] + rise * free_p / share))
    on_q = apply(axes, (radius * qx, radius * qy, q[2] - rise * free_q / share))
    off = off_the_end(p[2] + rise * free_p / share, q[2] - rise * free_q / share)
    off -= sheave[memory.SHEAVE_REACH]
    sheave[memory.CHANGE_ANGLE] = max(sheave[memory.CHANGE_ANGLE], off)
    put3(world.pins[first + 1], memory.PIN_POINT, add(centre, on_p))
    put3(world.pins[first + 2], memory.PIN_POINT, add(centre, on_q))
    comes = apply(R, apply(axes, (share * come[0], share * come[1], rise)))
    goes = apply(R, apply(axes, (share * go[0], share * go[1], rise)))
    place = get3(state[b], memory.P)
    put3(world.pins[first + 1], memory.PIN_PLACE, add(place, apply(R, add(centre, on_p))))
    put3(world.pins[first + 2], memory.PIN_PLACE, add(place, apply(R, add(centre, on_q))))
    slides, turned = (
        go[0] * q_dot[0] + go[1] * q_dot[1],
        go[0] * q_ddot[0] + go[1] * q_ddot[1] + swing_q * swing_q / free_q,
    )
    given = share * slides + rise * q_dot[2]
    given_free = share * turned + rise * q_ddot[2]
    given_free += ((flat_dot - share * rate) * slides + (z_dot - rise * rate) * q_dot[2]) / length
    if world.sheave_int[i, memory.BALL] != 0:
        aside = turned_aside(p, p_dot[2], q, q_dot[2], go)
        given_free += (aside - z_dot / length) * q_dot[2]
    return length, rate, free / length, comes, goes, given, given_free, share


@inlined
def lies_on(world, i, first, state, slope):
    """True if the cable lies on sheave i, between pins ``first`` and ``first + 3``; the measure of its next change.

    One on a polyhedron has been laid before (:mod:`rotor_dynamics.constraints.polyhedra`).
    """
    if world.sheave_int[i, memory.POLYHEDRON_AT] != 0:
        return world.sheave_int[i, memory.LIES_ON] != 0
    if world.sheave_int[i, memory.BALL] != 0:
        face(world, i, first, state)
    p, _, _ = seen_from(world, i, world.pins[first], state, slope)
    q, _, _ = seen_from(world, i, world.pins[first + 3], state, slope)
    watch(world, i, p, q)
    return world.sheave_int[i, memory.LIES_ON] != 0


@inlined
def places_on(world, i):
    """On how many things of sheave i the cable lies: edges of a polyhedron, or the whole."""
    b = world.sheave_int[i, memory.POLYHEDRON_AT] - 1
    if b >= 0:
        return world.polyhedron_int[b, memory.N_BENDS]
    return world.sheave_int[i, memory.LIES_ON]


@inlined
def begin_sheaves(world):
    """A state is set: cables that are laid anew lie on pulleys, for less than a turn, and not on pegs."""
    for i in range(world.head[memory.N_SHEAVES]):
        number = world.sheave_int[i]
        if world.route_int[number[memory.SHEAVE_ROUTE], memory.WAY] == memory.STAYS:
            continue
        number[memory.LIES_ON] = 1 if number[memory.PULLEY] != 0 else 0
        number[memory.SIDE] = number[memory.PULLEY]
        world.sheaves[i, memory.WRAP_ANGLE] = pi
        number[memory.FRESH] = memory.FROM_START
        b = number[memory.POLYHEDRON_AT] - 1
        if b >= 0:
            world.polyhedron_int[b, memory.N_BENDS] = world.polyhedron_int[b, memory.WAY_LOST] = 0


@inlined
def turn_over(world, i):
    """The cable begins to lie on sheave i, or ceases to."""
    number = world.sheave_int[i]
    number[memory.LIES_ON] = 1 - number[memory.LIES_ON]
    number[memory.FRESH] = memory.FROM_TOUCH
    world.sheaves[i, memory.WRAP_ANGLE] = 0.0
