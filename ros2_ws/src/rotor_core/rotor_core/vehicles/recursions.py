"""Kinematics, inverse dynamics and mass matrix of a floating tree, for controllers and planners.

Recursive Newton-Euler and composite-rigid-body algorithms (Featherstone, Rigid Body Dynamics
Algorithms, 2008, chapters 5 and 6), in the axes of the base frame. Velocities are u = (velocity of
the base frame and its rate, both in its axes, joint rates), forces are their duals. The simulator's
articulated-body recursion shares no code with this. Equations (J.n): docs/theory/manipulators.md.
"""

from __future__ import annotations

from math import cos, sin

from rotor_core.kernels.jit import kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    get3,
    get9,
    product,
    put3,
    put9,
    scale,
    sub,
)
from rotor_core.vehicles import tree_columns


@kernel
def place_links(links, tree, theta, work):
    """Attitude, origin and axis of every link in the base frame (J.1)."""
    put9(work[0], tree_columns.ROTATION, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    put3(work[0], tree_columns.PLACE, (0.0, 0.0, 0.0))
    for i in range(1, links.shape[0]):
        link, w, parent = links[i], work[i], work[tree[i, tree_columns.PARENT]]
        R = get9(parent, tree_columns.ROTATION)
        axis = get3(link, tree_columns.AXIS)
        angle = theta[i - 1]
        q = so3.get4(link, tree_columns.TURN)
        lever = apply(R, get3(link, tree_columns.POINT))
        if tree[i, tree_columns.KIND] == tree_columns.REVOLUTE:
            s = sin(0.5 * angle)
            q = so3.product(q, (cos(0.5 * angle), s * axis[0], s * axis[1], s * axis[2]))
        turn = so3.matrix(q)
        own = product(R, turn)
        line = apply(own, axis)
        if tree[i, tree_columns.KIND] == tree_columns.PRISMATIC:
            lever = add(lever, scale(angle, line))
        put9(w, tree_columns.ROTATION, own)
        put3(w, tree_columns.LINE, line)
        put3(w, tree_columns.LEVER, lever)
        put3(w, tree_columns.PLACE, add(get3(parent, tree_columns.PLACE), lever))


@kernel
def inverse_dynamics(links, tree, u, u_dot, gravity, work, out):
    """Forces that give ``u_dot``: recursive Newton-Euler (J.2), (J.3); :func:`place_links` comes first.

    Args:
        links, tree: tables of the vehicle.
        u, u_dot: (6 + n,), velocities and their derivatives.
        gravity: its acceleration in the axes of the base, (3,).
        work: scratch.
        out: (6 + n,): force and moment on the base frame, efforts of the joints.
    """
    omega = get3(u, 3)
    base = work[0]
    put3(base, tree_columns.OMEGA, omega)
    put3(base, tree_columns.ALPHA, get3(u_dot, 3))
    put3(
        base,
        tree_columns.ACCELERATION,
        add(sub(get3(u_dot, 0), get3(gravity, 0)), cross(omega, get3(u, 0))),
    )
    n = links.shape[0]
    for i in range(1, n):
        w, parent = work[i], work[tree[i, tree_columns.PARENT]]
        rate, acceleration = u[5 + i], u_dot[5 + i]
        line, lever = get3(w, tree_columns.LINE), get3(w, tree_columns.LEVER)
        omega = get3(parent, tree_columns.OMEGA)
        alpha = get3(parent, tree_columns.ALPHA)
        a = add(
            get3(parent, tree_columns.ACCELERATION),
            add(cross(alpha, lever), cross(omega, cross(omega, lever))),
        )
        coriolis = cross(omega, scale(rate, line))
        if tree[i, tree_columns.KIND] == tree_columns.REVOLUTE:
            alpha = add(alpha, add(scale(acceleration, line), coriolis))
            omega = add(omega, scale(rate, line))
        else:
            a = add(a, add(scale(acceleration, line), scale(2.0, coriolis)))
        put3(w, tree_columns.OMEGA, omega)
        put3(w, tree_columns.ALPHA, alpha)
        put3(w, tree_columns.ACCELERATION, a)
    for i in range(n):
        w = work[i]
        R, omega, alpha = (
            get9(w, tree_columns.ROTATION),
            get3(w, tree_columns.OMEGA),
            get3(w, tree_columns.ALPHA),
        )
        c = apply(R, get3(links[i], tree_columns.COM))
        J = get9(links[i], tree_columns.INERTIA)
        a = add(
            get3(w, tree_columns.ACCELERATION), add(cross(alpha, c), cross(omega, cross(omega, c)))
        )
        force = scale(links[i, tree_columns.MASS], a)
        momentum = apply(R, apply(J, apply_transposed(R, omega)))
        moment = add(apply(R, apply(J, apply_transposed(R, alpha))), cross(omega, momentum))
        put3(w, tree_columns.FORCE, force)
        put3(w, tree_columns.MOMENT, add(moment, cross(c, force)))
    for back in range(1, n):
        i = n - back
        w, parent = work[i], work[tree[i, tree_columns.PARENT]]
        force, moment = get3(w, tree_columns.FORCE), get3(w, tree_columns.MOMENT)
        line = get3(w, tree_columns.LINE)
        effort = (
            dot(line, moment)
            if tree[i, tree_columns.KIND] == tree_columns.REVOLUTE
            else dot(line, force)
        )
        out[5 + i] = effort + links[i, tree_columns.ARMATURE] * u_dot[5 + i]
        put3(parent, tree_columns.FORCE, add(get3(parent, tree_columns.FORCE), force))
        put3(
            parent,
            tree_columns.MOMENT,
            add(
                get3(parent, tree_columns.MOMENT),
                add(moment, cross(get3(w, tree_columns.LEVER), force)),
            ),
        )
    put3(out, 0, get3(base, tree_columns.FORCE))
    put3(out, 3, get3(base, tree_columns.MOMENT))


@kernel
def mass_matrix(links, tree, work, M):
    """Composite-rigid-body algorithm (J.4): M (6 + n, 6 + n), written; :func:`place_links` comes first."""
    n = links.shape[0]
    for i in range(n):
        w = work[i]
        R = get9(w, tree_columns.ROTATION)
        m = links[i, tree_columns.MASS]
        c = apply(R, get3(links[i], tree_columns.COM))
        w[tree_columns.TOTAL_MASS] = m
        put3(w, tree_columns.FIRST_MOMENT, scale(m, c))
        J = get9(links[i], tree_columns.INERTIA)
        for column in range(3):
            e = (1.0 * (column == 0), 1.0 * (column == 1), 1.0 * (column == 2))
            turned = apply(R, apply(J, apply_transposed(R, e)))
            put3(
                w,
                tree_columns.TOTAL_INERTIA + 3 * column,
                add(turned, scale(m, cross(c, cross(e, c)))),
            )
    for row in range(6 + n - 1):
        for column in range(6 + n - 1):
            M[row, column] = 0.0
    for back in range(1, n):
        i = n - back
        w = work[i]
        line, lever = get3(w, tree_columns.LINE), get3(w, tree_columns.LEVER)
        m, h = w[tree_columns.TOTAL_MASS], get3(w, tree_columns.FIRST_MOMENT)
        if tree[i, tree_columns.KIND] == tree_columns.REVOLUTE:
            force = cross(line, h)
            moment = apply(get9(w, tree_columns.TOTAL_INERTIA), line)
            M[5 + i, 5 + i] = dot(line, moment) + links[i, tree_columns.ARMATURE]
        else:
            force = scale(m, line)
            moment = cross(h, line)
            M[5 + i, 5 + i] = dot(line, force) + links[i, tree_columns.ARMATURE]
        j = i
        while j > 0:
            moment = add(moment, cross(get3(work[j], tree_columns.LEVER), force))
            j = tree[j, tree_columns.PARENT]
            if j > 0:
                line_j = get3(work[j], tree_columns.LINE)
                value = (
                    dot(line_j, moment)
                    if tree[j, tree_columns.KIND] == tree_columns.REVOLUTE
                    else dot(line_j, force)
                )
                M[5 + i, 5 + j] = value
                M[5 + j, 5 + i] = value
        for axis in range(3):
            M[axis, 5 + i] = force[axis]
            M[5 + i, axis] = force[axis]
            M[3 + axis, 5 + i] = moment[axis]
            M[5 + i, 3 + axis] = moment[axis]
        parent = work[tree[i, tree_columns.PARENT]]
        parent[tree_columns.TOTAL_MASS] += m
        put3(
            parent,
            tree_columns.FIRST_MOMENT,
            add(get3(parent, tree_columns.FIRST_MOMENT), add(h, scale(m, lever))),
        )
        for column in range(3):
            e = (1.0 * (column == 0), 1.0 * (column == 1), 1.0 * (column == 2))
            swept = cross(e, lever)
            # inertia about the parent's origin: r x (e x (h + m r)) + h x (e x r) on top (J.5)
            more = add(cross(lever, cross(e, add(h, scale(m, lever)))), cross(h, swept))
            own = get3(w, tree_columns.TOTAL_INERTIA + 3 * column)
            o = tree_columns.TOTAL_INERTIA + 3 * column
            put3(parent, o, add(get3(parent, o), add(own, more)))
    base = work[0]
    m, h = base[tree_columns.TOTAL_MASS], get3(base, tree_columns.FIRST_MOMENT)
    for axis in range(3):
        e = (1.0 * (axis == 0), 1.0 * (axis == 1), 1.0 * (axis == 2))
        M[axis, axis] = m
        turning = cross(e, h)  # force of a unit angular acceleration
        for row in range(3):
            M[row, 3 + axis] = turning[row]
            M[3 + axis, row] = turning[row]
            M[3 + row, 3 + axis] = base[tree_columns.TOTAL_INERTIA + 3 * axis + row]


@kernel
def point_jacobian(links, tree, work, link, point, J):
    """Velocity of a point of a link in the axes of the base, and its rate, as J u (J.6).

    Args:
        links, tree, work: tables; :func:`place_links` comes first.
        link: row.
        point: in the frame of the link, (3,) m.
        J: (6, 6 + n), written.
    """
    place = add(
        get3(work[link], tree_columns.PLACE),
        apply(get9(work[link], tree_columns.ROTATION), get3(point, 0)),
    )
    for row in range(6):
        for column in range(5 + links.shape[0]):
            J[row, column] = 0.0
    for axis in range(3):
        e = (1.0 * (axis == 0), 1.0 * (axis == 1), 1.0 * (axis == 2))
        J[axis, axis] = 1.0
        J[3 + axis, 3 + axis] = 1.0
        swept = cross(e, place)
        for row in range(3):
            J[row, 3 + axis] = swept[row]
    i = link
    while i > 0:
        line = get3(work[i], tree_columns.LINE)
        turns = tree[i, tree_columns.KIND] == tree_columns.REVOLUTE
        linear = cross(line, sub(place, get3(work[i], tree_columns.PLACE))) if turns else line
        for row in range(3):
            J[row, 5 + i] = linear[row]
            J[3 + row, 5 + i] = line[row] if turns else 0.0
        i = tree[i, tree_columns.PARENT]
