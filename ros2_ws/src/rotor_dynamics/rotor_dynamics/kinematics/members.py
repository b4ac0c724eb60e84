"""From merged bodies to the members a user named: state and acceleration of each."""

from __future__ import annotations

from rotor_core.kernels.jit import kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import add, apply, apply_transposed, cross, get3, put3
from rotor_core.state import ALPHA, A
from rotor_dynamics import memory


@kernel
def member_motion(ints, floats, member_body, member_pose, out):
    """State and acceleration of every member from those of the merged bodies (M.3)."""
    world = memory.views(ints, floats)
    for m in range(member_body.shape[0]):
        b = member_body[m]
        s = world.states[memory.START, b]
        d = world.slopes[memory.FIRST_SLOPE, b]
        p = get3(member_pose[m], 0)
        q_GM = so3.get4(member_pose[m], 3)
        q = so3.get4(s, memory.Q)
        omega = get3(s, memory.OMEGA)
        alpha = get3(d, memory.D_OMEGA)
        R = so3.matrix(q)
        R_GM = so3.matrix(q_GM)
        swing = cross(omega, p)
        put3(out[m], memory.P, add(get3(s, memory.P), apply(R, p)))
        so3.put4(out[m], memory.Q, so3.product(q, q_GM))
        put3(out[m], memory.V, add(get3(s, memory.V), apply(R, swing)))
        put3(out[m], memory.OMEGA, apply_transposed(R_GM, omega))
        put3(
            out[m],
            A,
            add(get3(d, memory.D_V), apply(R, add(cross(alpha, p), cross(omega, swing)))),
        )
        put3(out[m], ALPHA, apply_transposed(R_GM, alpha))
