"""From merged bodies to the members a user named, and back: state and acceleration of each (M.3)."""

from __future__ import annotations

from rotor_core.kernels.jit import inlined, kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import add, apply, apply_transposed, cross, dot, get3, put3, sub
from rotor_core.state import ALPHA, A
from rotor_dynamics import memory


@inlined
def put_member(s, pose, out):
    """Write the state of a member with its pose in a body whose state is ``s``."""
    p = get3(pose, 0)
    q_GM = so3.get4(pose, 3)
    q = so3.get4(s, memory.Q)
    omega = get3(s, memory.OMEGA)
    R = so3.matrix(q)
    put3(out, memory.P, add(get3(s, memory.P), apply(R, p)))
    so3.put4(out, memory.Q, so3.product(q, q_GM))
    put3(out, memory.V, add(get3(s, memory.V), apply(R, cross(omega, p))))
    put3(out, memory.OMEGA, apply_transposed(so3.matrix(q_GM), omega))


@kernel
def member_motion(ints, floats, member_body, member_pose, out):
    """State and acceleration of every member from those of the merged bodies (M.3)."""
    world = memory.views(ints, floats)
    for m in range(member_body.shape[0]):
        b = member_body[m]
        s = world.states[memory.START, b]
        d = world.slopes[memory.FIRST_SLOPE, b]
        put_member(s, member_pose[m], out[m])
        p = get3(member_pose[m], 0)
        omega = get3(s, memory.OMEGA)
        alpha = get3(d, memory.D_OMEGA)
        swing = cross(omega, p)
        turned = apply(so3.matrix(so3.get4(s, memory.Q)), add(cross(alpha, p), cross(omega, swing)))
        put3(out[m], A, add(get3(d, memory.D_V), turned))
        R_GM = so3.matrix(so3.get4(member_pose[m], 3))
        put3(out[m], ALPHA, apply_transposed(R_GM, alpha))


@kernel
def members_of_bodies(states, member_body, member_pose, out):
    """Write states of all members, (n, 13), of bodies whose states are given, (n_bodies, 13)."""
    for m in range(member_body.shape[0]):
        put_member(states[member_body[m]], member_pose[m], out[m])


@kernel
def bodies_of_members(states, leaders, member_pose, out):
    """Write states of all bodies, (n_bodies, 13), as their ``leaders`` among the members (n, 13) have them."""
    for b in range(leaders.shape[0]):
        s, pose = states[leaders[b]], member_pose[leaders[b]]
        p, q_GM = get3(pose, 0), so3.get4(pose, 3)
        q = so3.product(so3.get4(s, memory.Q), so3.conjugate(q_GM))
        omega = apply(so3.matrix(q_GM), get3(s, memory.OMEGA))
        R = so3.matrix(q)
        put3(out[b], memory.P, sub(get3(s, memory.P), apply(R, p)))
        so3.put4(out[b], memory.Q, q)
        put3(out[b], memory.V, sub(get3(s, memory.V), apply(R, cross(omega, p))))
        put3(out[b], memory.OMEGA, omega)


@kernel
def slope_with_poses(states, weights, member_pose, changes):
    """Derivative of a weighted sum of states of members, while their poses change in bodies that move as they do.

    Args:
        states, weights: at any times, (n, n_members, 13).
        member_pose: (n_members, 7).
        changes: derivative of the poses, (n_members, 7).
    """
    total = 0.0
    for m in range(member_pose.shape[0]):
        q_GM, place = so3.get4(member_pose[m], 3), get3(changes[m], 0)
        back = so3.conjugate(q_GM)
        turn = so3.product(back, so3.get4(changes[m], 3))
        theta = (2.0 * turn[1], 2.0 * turn[2], 2.0 * turn[3])
        R_GM = so3.matrix(q_GM)
        for k in range(states.shape[0]):
            s, w = states[k, m], weights[k, m]
            q, omega = so3.get4(s, memory.Q), get3(s, memory.OMEGA)
            R = so3.matrix(so3.product(q, back))  # of the body
            swing = cross(apply(R_GM, omega), place)
            total += dot(get3(w, memory.P), apply(R, place))
            total += dot(get3(w, memory.V), apply(R, swing))
            total += dot(get3(w, memory.OMEGA), cross(omega, theta))
            turned = so3.product(q, (0.0, turn[1], turn[2], turn[3]))
            for i in range(4):
                total += w[memory.Q + i] * turned[i]
    return total
