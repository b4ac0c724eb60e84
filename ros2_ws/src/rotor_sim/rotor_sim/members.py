"""From merged bodies to the members a user named: state and acceleration of each."""

from __future__ import annotations

from rotor_core._jit import constants, kernel
from rotor_core.lie import so3
from rotor_core.lie.vec3 import add, apply, apply_transposed, cross, get3, put3
from rotor_sim.model import layout as at

ACCELERATION, ALPHA, MOTION = constants(13, 16, 19)
"""Columns of a member's motion behind its state: a_WM (3), alpha_M (3)."""


@kernel
def member_motion(ints, floats, member_body, member_pose, out):
    """State and acceleration of every member from those of the merged bodies (M.3)."""
    world = at.views(ints, floats)
    for m in range(member_body.shape[0]):
        b = member_body[m]
        s = world.states[at.START, b]
        d = world.slopes[at.FIRST_SLOPE, b]
        p = get3(member_pose[m], 0)
        q_GM = so3.get4(member_pose[m], 3)
        q = so3.get4(s, at.Q)
        omega = get3(s, at.OMEGA)
        alpha = get3(d, at.D_OMEGA)
        R = so3.matrix(q)
        R_GM = so3.matrix(q_GM)
        swing = cross(omega, p)
        put3(out[m], at.P, add(get3(s, at.P), apply(R, p)))
        so3.put4(out[m], at.Q, so3.product(q, q_GM))
        put3(out[m], at.V, add(get3(s, at.V), apply(R, swing)))
        put3(out[m], at.OMEGA, apply_transposed(R_GM, omega))
        put3(
            out[m],
            ACCELERATION,
            add(get3(d, at.D_V), apply(R, add(cross(alpha, p), cross(omega, swing)))),
        )
        put3(out[m], ALPHA, apply_transposed(R_GM, alpha))
