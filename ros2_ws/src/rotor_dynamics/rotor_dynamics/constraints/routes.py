"""Cables that run through rings, that winches wind, and that stretch: geometry and pulls.

A route is a path of points on bodies. Its length is the sum of the distances between neighbours; what that
owes to the motion of a body is the grip on it. A cable that does not stretch is a unilateral constraint like
a line between two points (:mod:`rotor_dynamics.constraints.unilateral`), with l a function of time. An
elastic one pulls with a known tension before the others are solved for. Equations (W.n), docs/theory/routes.md.
"""

from __future__ import annotations

from math import cos, sin, sqrt

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLAG, FLOAT, INT, ROWS, WORLD, linked
from rotor_core.math import so3
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
from rotor_dynamics.constraints.polyhedra import lay_polyhedron
from rotor_dynamics.constraints.polyhedron_changes import turn_polyhedron
from rotor_dynamics.constraints.responses import (
    IMMOVABLE_SHARE,
    along,
    clear_pushes,
    pull_tree,
    sweep_in,
    sweep_out,
    touches,
)
from rotor_dynamics.constraints.sheave_rows import begin_row, lay_row, next_contact, relink
from rotor_dynamics.constraints.sheaves import (
    NEVER,
    begin_sheaves,
    lies_on,
    move_pin,
    over,
    turn_over,
)
from rotor_dynamics.kinematics.spatial import add3
from rotor_dynamics.kinematics.trees import articulated_row

PART = "routed, winding and elastic cables"

(SAME_ROWS,) = constants(0)

COINCIDENT = 1e-12
"""Distance of neighbouring points, m, under which the part between them has no direction and does not pull."""


@inlined
def cable_routes(world):
    """Number of routes that are cables; capstans stand behind them."""
    return world.head[memory.N_ROUTES] - world.head[memory.N_CAPSTANS]


@inlined
def drum_of(world, r):
    """Joint that is the drum of route r, or -1."""
    return world.constraint_int[world.route_int[r, memory.ROUTE_CONSTRAINT], memory.DRUM_JOINT] - 1


@inlined
def given_rate(world, r):
    """Rate at which a winch without a drum makes route r longer, m/s: work is done with it."""
    return 0.0 if drum_of(world, r) >= 0 else world.routes[r, memory.LENGTH_RATE]


@inlined
def turn_drum(world, r, state, slope):
    """Length that the drum of route r gives, its rate and free acceleration (W.12)."""
    drum = drum_of(world, r)
    if drum >= 0:
        row, route = world.joint_int[drum, memory.JOINT_ROW], world.routes[r]
        length = route[memory.WOUND_LENGTH] + state[row, memory.P]
        world.constraints[world.route_int[r, memory.ROUTE_CONSTRAINT], memory.LENGTH] = length
        route[memory.LENGTH_RATE] = state[row, memory.V]
        route[memory.LENGTH_ACCELERATION] = slope[row, memory.D_V]


@inlined
def wind(world, r, t):
    """Length of route r at time t, its rate and acceleration (W.3); of a drum they are part of the state."""
    if drum_of(world, r) >= 0:
        return
    route = world.routes[r]
    s = t - route[memory.WINDS_FROM]
    acceleration = route[memory.WOUND_ACCELERATION]
    rate = route[memory.WOUND_RATE] + s * acceleration
    length = route[memory.WOUND_LENGTH] + s * (route[memory.WOUND_RATE] + 0.5 * s * acceleration)
    wave, w = route[memory.WAVE], route[memory.WAVE_FREQUENCY]
    if counts(wave):
        angle = w * t + route[memory.WAVE_PHASE]
        length += wave * sin(angle)
        rate += w * wave * cos(angle)
        acceleration -= w * w * wave * sin(angle)
    world.constraints[world.route_int[r, memory.ROUTE_CONSTRAINT], memory.LENGTH] = length
    route[memory.LENGTH_RATE] = rate
    route[memory.LENGTH_ACCELERATION] = acceleration


@inlined
def move_pins(world, r, state, slope):
    """Place, velocity and free acceleration of all points of route r, in W."""
    for p in range(world.route_int[r, memory.FIRST_PIN], world.route_int[r, memory.END_PIN]):
        move_pin(world, p, state, slope)


@inlined
def hold(world, p, direction, shift):
    """Point p makes a route longer in this direction: add that to the grip on its body (W.2), ``shift`` rows behind."""
    grip = world.grips[world.pin_int[p, memory.PIN_GRIP] + shift]
    b = world.grip_int[world.pin_int[p, memory.PIN_GRIP], memory.GRIP_BODY]
    R = get9(world.bodies[b], memory.ROTATION)
    arm = cross(get3(world.pins[p], memory.PIN_POINT), apply_transposed(R, direction))
    put3(grip, memory.GRIP_LINEAR, add(get3(grip, memory.GRIP_LINEAR), direction))
    put3(grip, memory.GRIP_ANGULAR, add(get3(grip, memory.GRIP_ANGULAR), arm))


@inlined
def clear_grips(world, r):
    """Route r owes nothing to any body."""
    for g in range(world.route_int[r, memory.FIRST_GRIP], world.route_int[r, memory.END_GRIP]):
        put3(world.grips[g], memory.GRIP_LINEAR, (0.0, 0.0, 0.0))
        put3(world.grips[g], memory.GRIP_ANGULAR, (0.0, 0.0, 0.0))


@inlined
def respond_grips(world, r):
    """Turning of the bodies that route r grips for its pull."""
    for g in range(world.route_int[r, memory.FIRST_GRIP], world.route_int[r, memory.END_GRIP]):
        grip = world.grips[g]
        J_inverse = get9(world.bodies[world.grip_int[g, memory.GRIP_BODY]], memory.INV_INERTIA)
        put3(grip, memory.GRIP_RESPONSE, apply(J_inverse, get3(grip, memory.GRIP_ANGULAR)))


@inlined
def way_over(world, i, p, state, slope):
    """Way from point p over sheave i: length, rate, free acceleration, directions in which it comes and goes on."""
    b = world.sheave_int[i, memory.POLYHEDRON_AT] - 1
    if b >= 0:
        row = world.polyhedra[b]
        comes, goes = get3(row, memory.COMES), get3(row, memory.GOES)
        return (
            row[memory.WAY_LENGTH],
            row[memory.WAY_RATE],
            row[memory.WAY_FREE],
            comes,
            goes,
        )
    length, rate, free, comes, goes, _, _, _ = over(world, i, p, state, slope)
    return length, rate, free, comes, goes


@inlined
def turn_sheave(ints, floats, world, i):
    """The cable begins to lie on sheave i, or ceases to, or lies on it in another way."""
    if world.sheave_int[i, memory.POLYHEDRON_AT] != 0:
        turn_polyhedron(ints, floats, i)
        return
    turn_over(world, i)
    if world.pin_int[world.sheave_int[i, memory.SHEAVE_PIN], memory.IN_ROW] != 0:
        relink(world, i)


@inlined
def follow(world, r, first, shift, state, slope):
    """Length of route r from point ``first`` to its end, its rate and free acceleration; adds to the grips (W.1).

    Grips ``shift`` rows behind those of the route. Notes the direction in which the cable leaves its end a, and the
    next change at its sheaves.
    """
    row = world.route_int[r]
    c = world.constraints[row[memory.ROUTE_CONSTRAINT]]
    length, rate, free = 0.0, 0.0, 0.0
    after = first
    while after < row[memory.END_PIN] - 1:
        p, after = after, after + 1
        if world.pin_int[p, memory.IN_ROW] != 0:
            after = next_contact(world, p)
        i = world.pin_int[after, memory.PIN_SHEAVE] - 1
        if i >= 0 and world.pin_int[p, memory.IN_ROW] == 0:
            after = p + 3
            wraps = lies_on(world, i, p, state, slope)
            if not wraps:
                c[memory.NEXT_TURN] = max(
                    c[memory.NEXT_TURN], world.sheaves[i, memory.CHANGE_ANGLE]
                )
            if wraps:
                part, part_rate, part_free, comes, goes = way_over(world, i, p, state, slope)
                c[memory.NEXT_TURN] = max(
                    c[memory.NEXT_TURN], world.sheaves[i, memory.CHANGE_ANGLE]
                )
                length, rate, free = length + part, rate + part_rate, free + part_free
                hold(world, p, scale(-1.0, comes), shift)
                hold(world, p + 1, comes, shift)
                hold(world, p + 2, scale(-1.0, goes), shift)
                hold(world, after, goes, shift)
                if p == row[memory.FIRST_PIN]:
                    put3(c, memory.XI, comes)
                continue
        here, there = world.pins[p], world.pins[after]
        D = sub(get3(there, memory.PIN_PLACE), get3(here, memory.PIN_PLACE))
        d = sqrt(dot(D, D))
        if d <= COINCIDENT:
            continue
        xi = scale(1.0 / d, D)
        hold(world, after, xi, shift)
        hold(world, p, scale(-1.0, xi), shift)
        if p == row[memory.FIRST_PIN]:
            put3(c, memory.XI, xi)
        length += d
        if world.pin_int[p, memory.IN_ROW] != 0:
            rate += world.pins[p, memory.PART_RATE]
            free += world.pins[p, memory.PART_FREE]
            if i >= 0:
                length += world.sheaves[i, memory.ARC]
                after += 1
            continue
        D_dot = sub(get3(there, memory.PIN_SPEED), get3(here, memory.PIN_SPEED))
        D_ddot = sub(get3(there, memory.PIN_ACCELERATION), get3(here, memory.PIN_ACCELERATION))
        part = dot(xi, D_dot)
        rate += part
        free += dot(xi, D_ddot) + (dot(D_dot, D_dot) - part * part) / d
    return length, rate, free


@inlined
def measure(ints, floats, world, r, which_state, which_slope):
    """Gap, rate, free acceleration and grips of route r (W.1), (W.2)."""
    state, slope = world.states[which_state], world.slopes[which_slope]
    c = world.constraints[world.route_int[r, memory.ROUTE_CONSTRAINT]]
    clear_grips(world, r)
    turn_drum(world, r, state, slope)
    move_pins(world, r, state, slope)
    c[memory.NEXT_TURN] = NEVER
    if world.head[memory.N_WAYS] != 0:
        for p in range(world.route_int[r, memory.FIRST_PIN], world.route_int[r, memory.END_PIN]):
            if world.pin_int[p, memory.IN_ROW] == 1:
                lay_row(ints, floats, p, which_state, which_slope)
    if world.head[memory.N_POLYHEDRA] != 0:
        for i in range(world.head[memory.N_SHEAVES]):
            if (
                world.sheave_int[i, memory.POLYHEDRON_AT] != 0
                and world.sheave_int[i, memory.SHEAVE_ROUTE] == r
            ):
                lay_polyhedron(ints, floats, i, which_state, which_slope)
    length, rate, free = follow(
        world, r, world.route_int[r, memory.FIRST_PIN], SAME_ROWS, state, slope
    )
    respond_grips(world, r)
    route = world.routes[r]
    c[memory.DISTANCE] = length
    c[memory.GAP] = length - c[memory.LENGTH]
    c[memory.RATE] = rate - route[memory.LENGTH_RATE]
    c[memory.FREE] = free - route[memory.LENGTH_ACCELERATION]


@inlined
def law(world, r):
    """Tension of an elastic cable while it is stretched (W.5), from its gap and rate."""
    c = world.constraints[world.route_int[r, memory.ROUTE_CONSTRAINT]]
    route = world.routes[r]
    return (
        route[memory.CABLE_STIFFNESS] * c[memory.GAP] + route[memory.CABLE_DAMPING] * c[memory.RATE]
    )


@inlined
def respond_route(world, r, tree):
    """Response of one tree to a unit pull of route r."""
    clear_pushes(world, tree)
    row = world.route_int[r]
    for g in range(row[memory.FIRST_GRIP], row[memory.END_GRIP]):
        if world.grip_int[g, memory.GRIP_TREE] != tree:
            continue
        b = world.grip_int[g, memory.GRIP_BODY]
        body, R = (
            world.articulated[articulated_row(world, b)],
            get9(world.bodies[b], memory.ROTATION),
        )
        add3(body, memory.P_A_FORCE, scale(-1.0, get3(world.grips[g], memory.GRIP_LINEAR)))
        moment = apply(R, get3(world.grips[g], memory.GRIP_ANGULAR))
        add3(body, memory.P_A_MOMENT, scale(-1.0, moment))
    k = row[memory.ROUTE_CONSTRAINT]
    sweep_in(world, tree, k)
    sweep_out(world, tree, k)


@inlined
def along_route(world, r, e, tree):
    """Response of the length of route r to a unit pull of constraint e, through a tree."""
    row = world.route_int[r]
    value = 0.0
    for g in range(row[memory.FIRST_GRIP], row[memory.END_GRIP]):
        if world.grip_int[g, memory.GRIP_TREE] == tree:
            b = world.grip_int[g, memory.GRIP_BODY]
            moved = world.responses[e, b - world.head[memory.N_FREE]]
            value += dot(get3(world.grips[g], memory.GRIP_LINEAR), get3(moved, 0))
            value += dot(get3(world.grips[g], memory.GRIP_ANGULAR), get3(moved, 3))
            drum = drum_of(world, r)
            if drum >= 0 and world.joint_int[drum, memory.LINK_ROW] == b:
                value -= world.responses[
                    e, world.joint_int[drum, memory.JOINT_ROW] - world.head[memory.N_FREE], 0
                ]
    return value


@inlined
def couple_free(world, i, g, n):
    """Contribution of the body of grip g (of the i-th listed constraint, a route) to A."""
    b = world.grip_int[g, memory.GRIP_BODY]
    linear = scale(world.bodies[b, memory.INV_MASS], get3(world.grips[g], memory.GRIP_LINEAR))
    turned = get3(world.grips[g], memory.GRIP_RESPONSE)
    for j in range(n):
        e = world.order[0, j]
        c, ends = world.constraints[e], world.constraint_int[e]
        value = 0.0
        if ends[memory.ROUTED] != 0:
            if j > i:
                continue  # that route counts this pair
            other = world.route_int[ends[memory.ROUTED] - 1]
            for h in range(other[memory.FIRST_GRIP], other[memory.END_GRIP]):
                if world.grip_int[h, memory.GRIP_BODY] == b:
                    value += dot(linear, get3(world.grips[h], memory.GRIP_LINEAR))
                    value += dot(turned, get3(world.grips[h], memory.GRIP_ANGULAR))
        else:
            if ends[memory.BODY_A] == b:
                value -= dot(linear, get3(c, memory.XI)) + dot(turned, get3(c, memory.ARM_A))
            if ends[memory.BODY_B] == b:
                value += dot(linear, get3(c, memory.XI)) + dot(turned, get3(c, memory.ARM_B))
        world.matrix[max(i, j), min(i, j)] += value


@inlined
def couple_tree(world, i, tree, n):
    """Contribution of a tree to A with the i-th listed constraint, a route."""
    k = world.order[0, i]
    respond_route(world, world.constraint_int[k, memory.ROUTED] - 1, tree)
    for j in range(n):
        e = world.order[0, j]
        r = world.constraint_int[e, memory.ROUTED] - 1
        if r >= 0:
            if j <= i:
                world.matrix[i, j] += along_route(world, r, k, tree)
        elif touches(world, e, tree):
            world.matrix[max(i, j), min(i, j)] += along(world, e, k, tree)


@inlined
def check_route_movable(world, i, r):
    """Notice a route that no pull can shorten, as :func:`rotor_dynamics.constraints.responses.check_movable` does."""
    row = world.route_int[r]
    free, on_trees = 0.0, False
    for g in range(row[memory.FIRST_GRIP], row[memory.END_GRIP]):
        linear = get3(world.grips[g], memory.GRIP_LINEAR)
        mass = world.bodies[world.grip_int[g, memory.GRIP_BODY], memory.MASS]
        on_trees = on_trees or world.grip_int[g, memory.GRIP_TREE] >= 0
        if mass > 0.0:
            free += dot(linear, linear) / mass
    if on_trees and world.matrix[i, i] < IMMOVABLE_SHARE * free:
        world.matrix[i, i] = free
        world.head[memory.IMMOVABLE] = row[memory.ROUTE_CONSTRAINT] + 1


@linked(*WORLD, INT, part=PART)
def assemble_routes(ints, floats, n):
    """Add what routes contribute to A over the n listed constraints (lower triangle), (W.4)."""
    world = memory.views(ints, floats)
    for i in range(n):
        r = world.constraint_int[world.order[0, i], memory.ROUTED] - 1
        if r < 0:
            continue
        for g in range(world.route_int[r, memory.FIRST_GRIP], world.route_int[r, memory.END_GRIP]):
            tree = world.grip_int[g, memory.GRIP_TREE]
            if tree < 0:
                couple_free(world, i, g, n)
            elif world.grip_int[g, memory.GRIP_LEADS] != 0:
                couple_tree(world, i, tree, n)
        check_route_movable(world, i, r)


@linked(*WORLD, INT, FLOAT, ROWS, INT, INT, part=PART)
def pull_route(ints, floats, k, amount, target, linear, angular):
    """Add ``-M^-1 D_k^T amount`` for a route; see :func:`rotor_dynamics.constraints.unilateral.pull`."""
    world = memory.views(ints, floats)
    row = world.route_int[world.constraint_int[k, memory.ROUTED] - 1]
    for g in range(row[memory.FIRST_GRIP], row[memory.END_GRIP]):
        tree = world.grip_int[g, memory.GRIP_TREE]
        if tree < 0:
            b = world.grip_int[g, memory.GRIP_BODY]
            push = scale(
                amount * world.bodies[b, memory.INV_MASS], get3(world.grips[g], memory.GRIP_LINEAR)
            )
            turn = scale(amount, get3(world.grips[g], memory.GRIP_RESPONSE))
            put3(target[b], linear, sub(get3(target[b], linear), push))
            put3(target[b], angular, sub(get3(target[b], angular), turn))
        elif world.grip_int[g, memory.GRIP_LEADS] != 0:
            pull_tree(world, tree, k, amount, target, linear, angular)


@inlined
def stretch_measures(world, r):
    """Tension of an elastic cable; of a slack one the gap that its guard looks at (W.6)."""
    k = world.route_int[r, memory.ROUTE_CONSTRAINT]
    c = world.constraints[k]
    tension = law(world, r)
    if world.constraint_int[k, memory.STRETCHED] == 0:
        if c[memory.GAP] > 0.0:
            c[memory.GAP] = min(c[memory.GAP], tension / world.routes[r, memory.CABLE_STIFFNESS])
        tension = 0.0
    c[memory.TENSION] = tension


@linked(*WORLD, INT, INT, FLOAT, part=PART)
def measure_routes(ints, floats, which_state, which_slope, t):
    """Wind and measure all routes in a state; elastic ones pull on the slope, and their power counts (E.1)."""
    world = memory.views(ints, floats)
    slope = world.slopes[which_slope]
    power = 0.0
    for r in range(cable_routes(world)):
        k = world.route_int[r, memory.ROUTE_CONSTRAINT]
        wind(world, r, t)
        if world.constraint_int[k, memory.ALIVE] != memory.STRETCHES:
            continue
        measure(ints, floats, world, r, which_state, which_slope)
        c = world.constraints[k]
        power -= (
            law(world, r)
            * (c[memory.RATE] + given_rate(world, r))
            * (world.constraint_int[k, memory.STRETCHED])
        )
        stretch_measures(world, r)
        if counts(c[memory.TENSION]):
            for g in range(
                world.route_int[r, memory.FIRST_GRIP], world.route_int[r, memory.END_GRIP]
            ):
                if world.grip_int[g, memory.GRIP_LEADS] != 0:
                    respond_route(world, r, world.grip_int[g, memory.GRIP_TREE])
            pull_route(ints, floats, k, c[memory.TENSION], slope, memory.D_V, memory.D_OMEGA)
    for r in range(cable_routes(world)):
        k = world.route_int[r, memory.ROUTE_CONSTRAINT]
        if world.constraint_int[k, memory.ALIVE] != memory.STRETCHES:
            measure(ints, floats, world, r, which_state, which_slope)
    world.scalars[memory.POWER_NOW] += power


@linked(*WORLD, FLAG, part=PART)
def lay_routes(ints, floats, anew):
    """Measure all routes in the start, outside of steps; ``anew``: a state was set: all but those that stay are laid.

    Straight lines that pass through a peg lie on it then, on the side that they pass.
    """
    world = memory.views(ints, floats)
    state = world.states[memory.START]
    for b in range(world.head[memory.N_FREE]):
        put9(world.bodies[b], memory.ROTATION, so3.matrix(so3.get4(state[b], memory.Q)))
    if anew:
        begin_sheaves(world)
        for r in range(cable_routes(world)):
            row = world.route_int[r]
            for p in range(row[memory.FIRST_PIN], row[memory.END_PIN]):
                if row[memory.WAY] != memory.STAYS and world.pin_int[p, memory.IN_ROW] == 1:
                    begin_row(world, p)
    for _ in range(1 + 2 * world.head[memory.N_SHEAVES]):
        turned = False
        for r in range(cable_routes(world)):
            measure(ints, floats, world, r, memory.START, memory.FIRST_SLOPE)
        for i in range(world.head[memory.N_SHEAVES]):
            way = world.route_int[world.sheave_int[i, memory.SHEAVE_ROUTE], memory.WAY]
            if anew and way != memory.STAYS and world.sheaves[i, memory.CHANGE_ANGLE] > 0.0:
                turn_sheave(ints, floats, world, i)
                turned = True
                break
        if not turned:
            break


@linked(*WORLD, INT, part=PART)
def note_winding(ints, floats, n):
    """Power of winches through the n listed cables, which do not stretch, into POWER_NOW."""
    world = memory.views(ints, floats)
    for i in range(n):
        k = world.order[0, i]
        r = world.constraint_int[k, memory.ROUTED] - 1
        if r >= 0:
            rate = given_rate(world, r)
            world.scalars[memory.POWER_NOW] -= world.constraints[k, memory.TENSION] * rate


@linked(*WORLD, INT, INT, INT, part=PART)
def take_route_rates(ints, floats, which_state, which_slope, n):
    """As :func:`rotor_dynamics.constraints.unilateral.take_projected_rates`, for routes."""
    world = memory.views(ints, floats)
    state, slope = world.states[which_state], world.slopes[which_slope]
    for i in range(n):
        r = world.constraint_int[world.order[0, i], memory.ROUTED] - 1
        if r < 0:
            continue
        for g in range(world.route_int[r, memory.FIRST_GRIP], world.route_int[r, memory.END_GRIP]):
            b = world.grip_int[g, memory.GRIP_BODY]
            put3(slope[b], memory.D_P, get3(state[b], memory.V))
            put3(slope[b], memory.D_THETA, get3(state[b], memory.OMEGA))
