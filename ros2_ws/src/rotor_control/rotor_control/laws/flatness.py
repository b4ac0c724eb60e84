"""Nominal motion of cables and vehicles, from samples of the reference around now.

A team with a payload on cables is differentially flat (Sreenath and Kumar 2013): the motion of the
payload and the shares of its wrench give the direction of every cable, and so the force and the
attitude of every vehicle. Rates follow from seven samples of the plan around now: the polynomial
through them is differentiated, which needs no closed forms of the fourth to sixth derivative.
Equations (C.19)-(C.22), docs/theory/control.md.
"""

from __future__ import annotations

import numpy as np

from rotor_control.allocation.tension import distribute
from rotor_control.gains import CABLE_LENGTH, CENTRE, GRAVITY, LOAD_INERTIA, LOAD_MASS, MASS, POINT
from rotor_control.laws.attitude import desired_rotation
from rotor_core.kernels.jit import constants, kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import (
    add,
    apply,
    cross,
    get3,
    get9,
    norm,
    put3,
    put9,
    scale,
    sub,
    transposed_product,
)
from rotor_core.plans.plan import Plan
from rotor_core.reference import (
    ACCELERATION,
    ANGULAR_ACCELERATION,
    ATTITUDE,
    BODY_RATE,
    REFERENCE,
    VELOCITY,
    YAW_ANGLE,
)

CABLE_RATE, CABLE_ACCELERATION, NOMINAL_RATE, NOMINAL_ACCELERATION = constants(0, 3, 6, 9)
AHEAD = 12
"""Columns of the feed-forward of one vehicle.

Angular rate and acceleration of its cable in W; body rate and its derivative, in the nominal body
axes.
"""

STRUCTURE_VELOCITY, STRUCTURE_ACCELERATION = constants(0, 3)
"""The same row of a rigidly linked team: velocity and acceleration of its centre of mass, then body rates."""

NODES = 7
CENTRE_NODE = constants(NODES // 2)[0]
SPACING = 0.02
"""Time between the samples of a plan, s.

A motion at 3 rad/s is followed to (3 x 0.06)^7 / 7!, rounding of second derivatives is 1e-16 / 0.02^2.
"""

ROUNDS = 3
"""Of :func:`structure_ahead`; more do not help, because seven samples can be differentiated six times."""

XI, MU, POINT_ACCELERATION, ROTATION = constants(0, 3, 6, 9)
NODE = 18
"""Columns of scratch per sample."""


def differentiation_matrix(n: int, spacing: float) -> np.ndarray:
    """Derivatives at n equally spaced samples, of the polynomial through them, (n, n)."""
    x = np.arange(n) - (n - 1) / 2
    powers = np.vander(x, increasing=True)
    slopes = np.zeros((n, n))
    slopes[:, 1:] = powers[:, :-1] * np.arange(1, n)
    return np.linalg.solve(powers.T, slopes.T).T / spacing


class Preview:
    """References around now, and the arrays that nominal motions are computed in.

    Attributes:
        nodes: sampled references, (NODES, 28).
        first, second: differentiation matrices, (NODES, NODES).
        scratch: (NODES, NODE).
    """

    def __init__(self) -> None:
        self.nodes = np.zeros((NODES, REFERENCE))
        self.first = differentiation_matrix(NODES, SPACING)
        self.second = self.first @ self.first
        self.scratch = np.zeros((NODES, NODE))

    def look(self, plan: Plan, t: float) -> None:
        """Sample ``plan`` around time ``t`` after its start."""
        plan.around(t, SPACING, self.nodes)


@kernel
def turning(scratch, first, second, out):
    """Body rate and its derivative of the attitudes in ``scratch``, at the middle one (C.21)."""
    R = get9(scratch[CENTRE_NODE], ROTATION)
    for which in range(2):
        D = first if which == 0 else second
        a = b = c = d = e = f = g = h = i = 0.0
        for j in range(NODES):
            weight = D[CENTRE_NODE, j]
            S = get9(scratch[j], ROTATION)
            a += weight * S[0]
            b += weight * S[1]
            c += weight * S[2]
            d += weight * S[3]
            e += weight * S[4]
            f += weight * S[5]
            g += weight * S[6]
            h += weight * S[7]
            i += weight * S[8]
        E = transposed_product(R, (a, b, c, d, e, f, g, h, i))
        skew = (0.5 * (E[7] - E[5]), 0.5 * (E[2] - E[6]), 0.5 * (E[3] - E[1]))
        put3(out, NOMINAL_RATE if which == 0 else NOMINAL_ACCELERATION, skew)


@kernel
def slope(scratch, at, D, node):
    """Derivative of a vector in ``scratch`` at a node."""
    x = y = z = 0.0
    for j in range(NODES):
        weight = D[node, j]
        x += weight * scratch[j, at]
        y += weight * scratch[j, at + 1]
        z += weight * scratch[j, at + 2]
    return x, y, z


@kernel
def wanted_wrench(reference, load):
    """Force in W and moment in payload axes that the payload's nominal motion needs, and its attitude (C.19)."""
    R = so3.matrix(so3.get4(reference, ATTITUDE))
    omega = get3(reference, BODY_RATE)
    J = get9(load, LOAD_INERTIA)
    F = scale(load[LOAD_MASS], add(get3(reference, ACCELERATION), (0.0, 0.0, load[GRAVITY])))
    M = add(apply(J, get3(reference, ANGULAR_ACCELERATION)), cross(omega, apply(J, omega)))
    return F, M, R


@kernel
def cables_ahead(nodes, first, second, vehicles, load, tension, mu, scratch, ahead):
    """Nominal motion of cables and vehicles (C.19)-(C.21).

    Args:
        nodes: references around now, (NODES, 28).
        first, second: differentiation matrices.
        vehicles, load: parameters.
        tension: of :class:`rotor_control.allocation.tension.Tension`.
        mu: scratch, (n, 3).
        scratch: (NODES, NODE).
        ahead: (n, AHEAD), written.
    """
    for k in range(vehicles.shape[0]):
        v = vehicles[k]
        rho = get3(v, POINT)
        for i in range(NODES):
            row = nodes[i]
            F, M, R = wanted_wrench(row, load)
            distribute(F, M, R, tension, mu)
            share = get3(mu[k], 0)
            omega = get3(row, BODY_RATE)
            swing = add(
                cross(get3(row, ANGULAR_ACCELERATION), rho), cross(omega, cross(omega, rho))
            )
            size = norm(share)
            put3(scratch[i], XI, scale(-1.0 / size, share) if size > 1e-9 else (0.0, 0.0, -1.0))
            put3(scratch[i], MU, share)
            put3(scratch[i], POINT_ACCELERATION, add(get3(row, ACCELERATION), apply(R, swing)))
        for i in range(NODES):
            xi_dd = slope(scratch, XI, second, i)
            a = sub(get3(scratch[i], POINT_ACCELERATION), scale(v[CABLE_LENGTH], xi_dd))
            thrust = add(scale(v[MASS], add(a, (0.0, 0.0, load[GRAVITY]))), get3(scratch[i], MU))
            put9(scratch[i], ROTATION, desired_rotation(thrust, nodes[i, YAW_ANGLE]))  # (C.20)
        xi = get3(scratch[CENTRE_NODE], XI)
        put3(ahead[k], CABLE_RATE, cross(xi, slope(scratch, XI, first, CENTRE_NODE)))
        put3(ahead[k], CABLE_ACCELERATION, cross(xi, slope(scratch, XI, second, CENTRE_NODE)))
        turning(scratch, first, second, ahead[k])


@kernel
def structure_ahead(nodes, first, second, load, scratch, ahead):
    """Nominal motion of a rigidly linked team (C.22): it tilts, so its centre of mass moves about the payload.

    ``ahead`` (1, AHEAD) gets velocity and acceleration of the centre of mass, body rate and its
    derivative. The tilt follows from the acceleration of the centre, and that from the tilt: each
    round divides the error by g over the distance to the centre and the squared rate of the motion.
    """
    centre = get3(load, CENTRE)
    for i in range(NODES):
        put3(scratch[i], POINT_ACCELERATION, get3(nodes[i], ACCELERATION))
    for _ in range(ROUNDS):
        for i in range(NODES):
            specific = add(get3(scratch[i], POINT_ACCELERATION), (0.0, 0.0, load[GRAVITY]))
            R = desired_rotation(scale(load[LOAD_MASS], specific), nodes[i, YAW_ANGLE])
            put9(scratch[i], ROTATION, R)
            put3(scratch[i], XI, apply(R, centre))
        for i in range(NODES):
            swing = slope(scratch, XI, second, i)
            put3(scratch[i], POINT_ACCELERATION, add(get3(nodes[i], ACCELERATION), swing))
    now = nodes[CENTRE_NODE]
    v = add(get3(now, VELOCITY), slope(scratch, XI, first, CENTRE_NODE))
    put3(ahead[0], STRUCTURE_VELOCITY, v)
    put3(ahead[0], STRUCTURE_ACCELERATION, get3(scratch[CENTRE_NODE], POINT_ACCELERATION))
    turning(scratch, first, second, ahead[0])
