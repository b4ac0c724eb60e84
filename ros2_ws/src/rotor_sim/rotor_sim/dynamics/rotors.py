"""Spinning rotors: speed, thrust and drag torque, stored momentum, drag, nearness of the ground.

A rotor's speed is a given function of time between changes of its command: a signal, or the exact
response of a first-order motor. It needs no state of its own, and commands may change at any time.
Equations (R.n), docs/theory/rotors_and_air.md.
"""

from __future__ import annotations

from math import cos, exp, sin

from rotor_core._jit import inlined
from rotor_core.lie.vec3 import add, apply, apply_transposed, cross, dot, get3, scale, sub
from rotor_sim.model import layout as at

CLOSEST = 0.5
"""Heights below this many radii count as this one: the ground effect formula fails there."""


@inlined
def ground_factor(height, radius):
    """Thrust near the ground over thrust far from it (R.6).

    Source: Cheeseman and Bennett, The effect of the ground on a helicopter rotor in forward flight,
    1955, without forward speed.
    """
    ratio = radius / (4.0 * max(height, CLOSEST * radius))
    return 1.0 / (1.0 - ratio * ratio)


@inlined
def set_speeds(world, t):
    """Speeds of all rotors at time t (R.5); their rates go where the body sums them up."""
    if world.scalars[at.SPEEDS_AT] == t:
        return  # two stages of a step are at the same time
    world.scalars[at.SPEEDS_AT] = t
    fading = 1.0
    for k in range(world.head[at.N_ROTORS]):
        rotor = world.rotors[k]
        speed = rotor[at.SPEED_BIAS]
        speed_dot = 0.0
        if rotor[at.SPEED_AMPLITUDE] != 0.0:
            angle = rotor[at.SPEED_FREQUENCY] * t + rotor[at.SPEED_PHASE]
            speed += rotor[at.SPEED_AMPLITUDE] * sin(angle)
            speed_dot += rotor[at.SPEED_AMPLITUDE] * rotor[at.SPEED_FREQUENCY] * cos(angle)
        if rotor[at.LAG_RATE] != 0.0:
            if world.rotor_int[k, at.SAME_LAG] == 0:  # all are commanded at the same time
                fading = exp(-rotor[at.LAG_RATE] * (t - rotor[at.SINCE]))
            speed += rotor[at.SPEED_OFFSET] * fading
            speed_dot -= rotor[at.LAG_RATE] * rotor[at.SPEED_OFFSET] * fading
        rotor[at.SPEED] = speed
        rotor[at.SPEED_DOT] = speed_dot


@inlined
def take_joint_speeds(world, state):
    """Speeds of the rotors that turn with a joint (R.10)."""
    for k in range(world.head[at.N_ROTORS]):
        joint = world.rotor_int[k, at.TURNS_WITH]
        if joint != 0:
            row = world.joint_int[abs(joint) - 1, at.JOINT_ROW]
            rate = state[row, at.V]
            world.rotors[k, at.SPEED] = rate if joint > 0 else -rate


@inlined
def stored_spin(world, b):
    """Momentum of the rotors of body b and its rate, in body axes (R.2), from their speeds."""
    spin = (0.0, 0.0, 0.0)
    spin_dot = (0.0, 0.0, 0.0)
    for k in range(world.body_int[b, at.FIRST_ROTOR], world.body_int[b, at.END_ROTOR]):
        rotor = world.rotors[k]
        if rotor[at.AXIAL_INERTIA] != 0.0:
            along = scale(rotor[at.AXIAL_INERTIA], get3(rotor, at.AXIS))
            spin = add(spin, scale(rotor[at.SPEED], along))
            spin_dot = add(spin_dot, scale(rotor[at.SPEED_DOT], along))
    return spin, spin_dot


@inlined
def extra_wrench(world, state, b, R, k):
    """What ground and airspeed add to the wrench of rotor k, in body axes: force and moment (R.4), (R.6)."""
    rotor = world.rotors[k]
    hub = get3(rotor, at.HUB)
    axis = get3(rotor, at.AXIS)
    speed = rotor[at.SPEED]
    force = (0.0, 0.0, 0.0)
    if rotor[at.RADIUS] > 0.0:
        height = state[b, at.P + 2] + apply(R, hub)[2] - world.scalars[at.GROUND]
        more = ground_factor(height, rotor[at.RADIUS]) - 1.0
        force = scale(more * speed * abs(speed), get3(rotor, at.PER_SPEED2))
    if rotor[at.ROTOR_DRAG] != 0.0:
        wind = get3(world.bodies[b], at.WIND)
        air = add(
            apply_transposed(R, sub(get3(state[b], at.V), wind)),
            cross(get3(state[b], at.OMEGA), hub),
        )
        across = sub(air, scale(dot(air, axis), axis))
        force = add(force, scale(-rotor[at.ROTOR_DRAG] * abs(speed), across))
    return force, cross(hub, force)


@inlined
def rotor_wrench(world, state, b, R):
    """Force and moment of the rotors of body b about its centre of mass, in body axes (R.1)."""
    across = (0.0, 0.0)
    lift = 0.0
    moment = (0.0, 0.0, 0.0)
    for k in range(world.body_int[b, at.FIRST_ROTOR], world.body_int[b, at.END_ROTOR]):
        rotor = world.rotors[k]
        kind = world.rotor_int[k, at.KIND]
        square = rotor[at.SPEED] * abs(rotor[at.SPEED])  # turned backwards, it pulls
        lift += square * rotor[at.PER_SPEED2 + 2]
        moment = add(moment, scale(square, get3(rotor, at.PER_SPEED2 + 3)))
        if kind != at.UPRIGHT:
            x, y = rotor[at.PER_SPEED2], rotor[at.PER_SPEED2 + 1]
            across = (across[0] + square * x, across[1] + square * y)
            if kind == at.FELT:
                more_force, more_moment = extra_wrench(world, state, b, R, k)
                across = (across[0] + more_force[0], across[1] + more_force[1])
                lift += more_force[2]
                moment = add(moment, more_moment)
    return (across[0], across[1], lift), moment
