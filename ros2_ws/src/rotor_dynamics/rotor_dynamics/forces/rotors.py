"""Spinning rotors: speed, thrust and drag torque, stored momentum, drag, nearness of the ground.

A rotor's speed is a given function of time between changes of its command: a signal, or the exact
response of a first-order motor. It needs no state of its own, and commands may change at any time.
Equations (R.n), docs/theory/rotors_and_air.md.
"""

from __future__ import annotations

from math import cos, exp, sin

from rotor_core.kernels.jit import inlined
from rotor_core.math.vec3 import add, apply, apply_transposed, cross, dot, get3, put3, scale, sub
from rotor_core.numbers.derivatives import counts
from rotor_core.numbers.lanes import certainly, possibly
from rotor_dynamics import memory

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
def sum_rotors(world):
    """Effect of the rotors of every body by their speeds alone: wrench (R.1); stored momentum and its rate (R.2)."""
    for b in range(world.head[memory.N_BODIES] + world.head[memory.N_JOINTS]):
        force, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        spin, spin_dot = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for k in range(world.body_int[b, memory.FIRST_ROTOR], world.body_int[b, memory.END_ROTOR]):
            rotor = world.rotors[k]
            square = rotor[memory.SPEED] * abs(rotor[memory.SPEED])  # turned backwards, it pulls
            force = add(force, scale(square, get3(rotor, memory.PER_SPEED2)))
            moment = add(moment, scale(square, get3(rotor, memory.PER_SPEED2 + 3)))
            if possibly(counts(rotor[memory.AXIAL_INERTIA])):
                along = scale(rotor[memory.AXIAL_INERTIA], get3(rotor, memory.AXIS))
                spin = add(spin, scale(rotor[memory.SPEED], along))
                spin_dot = add(spin_dot, scale(rotor[memory.SPEED_DOT], along))
        body = world.bodies[b]
        put3(body, memory.ROTOR_WRENCH, force)
        put3(body, memory.ROTOR_WRENCH + 3, moment)
        put3(body, memory.SPIN, spin)
        put3(body, memory.SPIN_DOT, spin_dot)


@inlined
def set_speeds(world, t):
    """Speeds of all rotors at time t (R.5); their rates go where the body sums them up."""
    if certainly(world.scalars[memory.SPEEDS_AT] == t):
        return  # two stages of a step are at the same time
    world.scalars[memory.SPEEDS_AT] = t
    fading = 1.0
    for k in range(world.head[memory.N_ROTORS]):
        rotor = world.rotors[k]
        speed = rotor[memory.SPEED_BIAS]
        speed_dot = 0.0
        if possibly(counts(rotor[memory.SPEED_AMPLITUDE])):
            angle = rotor[memory.SPEED_FREQUENCY] * t + rotor[memory.SPEED_PHASE]
            speed += rotor[memory.SPEED_AMPLITUDE] * sin(angle)
            speed_dot += rotor[memory.SPEED_AMPLITUDE] * rotor[memory.SPEED_FREQUENCY] * cos(angle)
        if possibly(rotor[memory.LAG_RATE] != 0.0):
            if world.rotor_int[k, memory.SAME_LAG] == 0:  # all are commanded at the same time
                fading = exp(-rotor[memory.LAG_RATE] * (t - rotor[memory.SINCE]))
            speed += rotor[memory.SPEED_OFFSET] * fading
            speed_dot -= rotor[memory.LAG_RATE] * rotor[memory.SPEED_OFFSET] * fading
        rotor[memory.SPEED] = speed
        rotor[memory.SPEED_DOT] = speed_dot
    sum_rotors(world)


@inlined
def take_joint_speeds(world, state):
    """Speeds of the rotors that turn with a joint (R.10)."""
    any_turns = False
    for k in range(world.head[memory.N_ROTORS]):
        joint = world.rotor_int[k, memory.TURNS_WITH]
        if joint != 0:
            row = world.joint_int[abs(joint) - 1, memory.JOINT_ROW]
            rate = state[row, memory.V]
            world.rotors[k, memory.SPEED] = rate if joint > 0 else -rate
            any_turns = True
    if any_turns:
        sum_rotors(world)


@inlined
def extra_wrench(world, state, b, R, k):
    """Wrench of ground effect and rotor drag on rotor k, in body axes: force and moment (R.4), (R.6)."""
    rotor = world.rotors[k]
    hub = get3(rotor, memory.HUB)
    axis = get3(rotor, memory.AXIS)
    speed = rotor[memory.SPEED]
    force = (0.0, 0.0, 0.0)
    if possibly(rotor[memory.RADIUS] > 0.0):
        height = state[b, memory.P + 2] + apply(R, hub)[2] - world.scalars[memory.GROUND]
        more = ground_factor(height, rotor[memory.RADIUS]) - 1.0
        force = scale(more * speed * abs(speed), get3(rotor, memory.PER_SPEED2))
    if possibly(counts(rotor[memory.ROTOR_DRAG])):
        wind = get3(world.bodies[b], memory.WIND)
        air = add(
            apply_transposed(R, sub(get3(state[b], memory.V), wind)),
            cross(get3(state[b], memory.OMEGA), hub),
        )
        across = sub(air, scale(dot(air, axis), axis))
        force = add(force, scale(-rotor[memory.ROTOR_DRAG] * abs(speed), across))
    return force, cross(hub, force)


@inlined
def air_wrench(world, state, b, R):
    """Force and moment that the air adds to those of the rotors of body b (R.4), (R.6), in body axes."""
    force = (0.0, 0.0, 0.0)
    moment = (0.0, 0.0, 0.0)
    for k in range(world.body_int[b, memory.FIRST_ROTOR], world.body_int[b, memory.END_ROTOR]):
        if world.rotor_int[k, memory.FELT] != 0:
            more_force, more_moment = extra_wrench(world, state, b, R, k)
            force = add(force, more_force)
            moment = add(moment, more_moment)
    return force, moment
