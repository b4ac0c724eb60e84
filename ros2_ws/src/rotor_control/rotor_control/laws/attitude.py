"""Attitude: the desired rotation of a force direction and a heading, and the moment that tracks it.

Sources: RotorTM eqs 66, 67, 70 with its eq 73 corrected (E-P2); Lee, Leok, McClamroch 2010.
Equations (C.1)-(C.3).
"""

from __future__ import annotations

from math import cos, sin

from rotor_core.kernels.jit import kernel
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    column,
    columns,
    cross,
    dot,
    norm,
    scale,
    sub,
    times,
    transposed_product,
)

SMALLEST_FORCE = 1e-6
"""Below this a force has no direction, N; the vehicle then points up."""

SMALLEST_SINE = 1e-3
"""Heading and thrust direction closer to parallel than this use the other heading axis."""


@kernel
def desired_rotation(force, yaw):
    """Rotation R_WB whose z axis is along ``force`` and whose x axis heads towards ``yaw`` (C.1)."""
    length = norm(force)
    b3 = (0.0, 0.0, 1.0)
    if length > SMALLEST_FORCE:
        b3 = scale(1.0 / length, force)
    heading = (cos(yaw), sin(yaw), 0.0)
    side = cross(b3, heading)
    size = norm(side)
    if size < SMALLEST_SINE:
        # thrust along the heading: keep the side axis instead
        side = (-sin(yaw), cos(yaw), 0.0)
        side = sub(side, scale(dot(side, b3), b3))
        size = norm(side)
    b2 = scale(1.0 / size, side)
    return columns(cross(b2, b3), b2, b3)


@kernel
def rotation_error(R, R_des):
    """Half the vee of ``R^T R_des - R_des^T R``: desired minus actual, in the body (C.2)."""
    E = transposed_product(R, R_des)
    return 0.5 * (E[7] - E[5]), 0.5 * (E[2] - E[6]), 0.5 * (E[3] - E[1])


@kernel
def tracking_moment(R, omega_B, R_des, omega_des, alpha_des, inertia, gain_attitude, gain_rate):
    """Moment that makes attitude and rate follow (C.3).

    Args:
        R, omega_B: attitude and body rate.
        R_des, omega_des, alpha_des: desired attitude, and its rate and angular acceleration in its
            own axes.
        inertia: nine entries, body axes.
        gain_attitude, gain_rate: diagonals, N m and N m s.

    Returns:
        tau_B with feed-forward: exact tracking gives zero errors.
    """
    omega_in_B = apply_transposed(R, apply(R_des, omega_des))
    alpha_in_B = apply_transposed(R, apply(R_des, alpha_des))
    feedback = add(
        times(gain_attitude, rotation_error(R, R_des)), times(gain_rate, sub(omega_in_B, omega_B))
    )
    gyroscopic = cross(omega_B, apply(inertia, omega_B))
    transport = apply(inertia, sub(cross(omega_B, omega_in_B), alpha_in_B))
    return add(feedback, sub(gyroscopic, transport))


@kernel
def heading_rate(R_des, yaw_rate):
    """Body rate of a desired attitude that turns with the heading only.

    Yaw rate about the vertical, along its z axis.
    """
    return 0.0, 0.0, yaw_rate * column(R_des, 2)[2]
