"""Rotor blades: forces of the air station by station, induced velocity, pitch links.

The air does to every station of a blade what its angle of attack asks for; the thrust of all blades of a
disc drives the velocity that the disc induces, a state of its own beside the azimuth of the rotor. Equations
(B.n), docs/theory/helicopter.md.
"""

from __future__ import annotations

from math import atan2, cos, exp, sin, sqrt

from rotor_core.kernels.jit import inlined, kernel
from rotor_core.kernels.link import FLOAT, INT, WORLD, linked
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    get3,
    get9,
    scale,
    sub,
)
from rotor_core.numbers.derivatives import without_derivatives
from rotor_dynamics import memory
from rotor_dynamics.kinematics.spatial import add3

NEWTON_STEPS = 50
HALVINGS = 60
NEWTON_TOLERANCE = 1e-14
"""Of the induced velocity, relative."""


TURBULENT = 0.1
"""Half width of the seam between momentum theory and the measured curve, in the measure of :func:`wake_measure`."""

WINDMILL_BELOW = -1.5
"""Speed along the axis over that of hover at which descents without a tail wind belong to the windmill."""


@inlined
def polished(square, along, across, v):
    """A root that was found by its value, after a step of Newton's method: with it come its derivatives."""
    v = without_derivatives(v)
    through = along + v
    flow = across * across + through * through
    slope = 2.0 * v * (flow + v * through)
    return v - (v * v * flow - square * square) / slope if slope != 0.0 else v


@inlined
def halved(square, along, across, high):
    """A root of ``v sqrt(across^2 + (along + v)^2) = square`` between zero and ``high``, by halving."""
    low = 0.0
    for _ in range(HALVINGS):
        v = 0.5 * (low + high)
        through = along + v
        if v * v * (across * across + through * through) > square * square:
            high = v
        else:
            low = v
    return polished(square, along, across, high)


@inlined
def helicopter_branch(square, along, across):
    """Largest root of ``v sqrt(across^2 + (along + v)^2) = square``: hover, climb, forward flight.

    Newton's method from above on the square of the equation; halving where that finds no way down.
    """
    high = sqrt(square) + max(-along, 0.0)
    for _ in range(NEWTON_STEPS):
        through = along + high
        flow = across * across + through * through
        slope = 2.0 * high * (flow + high * through)
        change = (high * high * flow - square * square) / slope if slope > 0.0 else high
        if change >= high:
            break
        high -= change
        if abs(change) <= NEWTON_TOLERANCE * high:
            return high
    return halved(square, along, across, high)


@inlined
def windmill_branch(square, along, across):
    """Smallest root of the same equation, where a rotor brakes what flows up through it; -1 where that has ended.

    It ends where the left side is largest, ``4 v = -3 along - sqrt(along^2 - 8 across^2)``. With more wind
    across than that there is one root.
    """
    inside = along * along - 8.0 * across * across
    if inside <= 0.0:
        return helicopter_branch(square, along, across)
    high = 0.25 * (-3.0 * along - sqrt(inside))
    through = along + high
    if high * high * (across * across + through * through) < square * square:
        return -1.0
    return halved(square, along, across, high)


@inlined
def wake_measure(x, y):
    """Below 1 where rotors fly in their own wake: speeds along and across the axis over that of hover (B.18)."""
    return 1.5 * y * y + (2.0 * x + 3.0) * (2.0 * x + 3.0)


@kernel
def momentum_inflow(thrust, twice_mass_flow, along, across):
    """Induced velocity that a disc asks for (B.5), (B.18), m/s; zero where it does not push upwards.

    Momentum theory, ``v sqrt(across^2 + (along + v)^2) = thrust / (2 rho A)``: its largest root from climb
    to slow descent and in forward flight, its smallest in fast descent, where the rotor is a windmill. In
    between, where a rotor flies in its own wake and there is no such theory, the curve that Johnson fitted
    to measurements (Helicopter Theory, 1980, chapter 3), which meets both. Glauert 1926.

    Args:
        thrust: along the axis of the disc, N.
        twice_mass_flow: twice the density of the air times the area of the disc, kg/m.
        along, across: velocity of the disc against the air along its axis and across it, m/s.
    """
    if thrust <= 0.0:
        return 0.0
    square = thrust / twice_mass_flow
    hover = sqrt(square)
    x, y = along / hover, across / hover
    measure = wake_measure(x, y)
    fitted = hover * x * (0.373 * x * x + 0.598 * y * y - 1.991)
    if measure <= 1.0 - TURBULENT:
        return fitted
    if x < WINDMILL_BELOW:
        v = windmill_branch(square, along, across)
        if v < 0.0:
            return fitted
    else:
        v = helicopter_branch(square, along, across)
    share = (measure - 1.0 + TURBULENT) / (2.0 * TURBULENT)
    return v if share >= 1.0 else fitted + share * (v - fitted)


@inlined
def inflow_state(world, state, d):
    """Induced velocity of disc d in a state, m/s."""
    disc = world.disc_int[d]
    y = state[world.joint_int[disc[memory.AZIMUTH_JOINT], memory.JOINT_ROW]]
    column = memory.P if disc[memory.INFLOW_LAW] == memory.FILTERED else memory.V
    return y[column + memory.INFLOW_COLUMN]


@inlined
def disc_axis(world, d):
    """Axis of disc d in W, the way it pushes."""
    turn = get3(world.joints[world.disc_int[d, memory.AZIMUTH_JOINT]], memory.S)
    return scale(world.discs[d, memory.TURNS], turn)


@inlined
def begin_discs(world, state):
    """Induced velocities of a state to where everybody finds them; sums begin at zero."""
    for d in range(world.head[memory.N_DISCS]):
        disc = world.discs[d]
        disc[memory.INFLOW] = inflow_state(world, state, d)
        disc[memory.THRUST] = 0.0
        disc[memory.AIR_TORQUE] = 0.0
        disc[memory.AIR_POWER] = 0.0


@inlined
def swash_angles(disc, t):
    """Collective, cosine and sine angle of the swashplate at time t (B.7)."""
    fading = 0.0
    if disc[memory.SWASH_LAG_RATE] > 0.0:
        fading = exp(-disc[memory.SWASH_LAG_RATE] * (t - disc[memory.SWASH_SINCE]))
    return add(get3(disc, memory.SWASH), scale(fading, get3(disc, memory.SWASH_OFFSET)))


@inlined
def link_effort(world, state, b, t):
    """Effort of the pitch link of blade b (B.8)."""
    blade, number = world.blades[b], world.blade_int[b]
    disc = number[memory.BLADE_DISC]
    azimuth = state[world.joint_int[world.disc_int[disc, memory.AZIMUTH_JOINT], memory.JOINT_ROW]]
    pitch = state[world.joint_int[number[memory.PITCH_JOINT], memory.JOINT_ROW]]
    psi, rate = azimuth[memory.P] + blade[memory.BLADE_PHASE], azimuth[memory.V]
    collective, cosine, sine = swash_angles(world.discs[disc], t)
    c, s = cos(psi), sin(psi)
    cyclic = cosine * c + sine * s
    error = collective + cyclic - pitch[memory.P]
    error_rate = rate * (sine * c - cosine * s) - pitch[memory.V]
    ahead = (
        blade[memory.FEATHER_INERTIA] * rate * rate * collective
    )  # theta'' + Omega^2 theta of the command
    return blade[memory.LINK_STIFFNESS] * error + blade[memory.LINK_DAMPING] * error_rate + ahead


@inlined
def section_of(world, b, station, alpha):
    """Lift and drag coefficient at an angle of attack (B.3)."""
    first, end = world.blade_int[b, memory.FIRST_POINT], world.blade_int[b, memory.END_POINT]
    if first == end:
        return station[memory.LIFT_SLOPE] * alpha, station[memory.DRAG_COEFFICIENT]
    low, high = first, end - 1
    while high - low > 1:
        middle = (low + high) // 2
        if world.sections[middle, memory.SECTION_ANGLE] <= alpha:
            low = middle
        else:
            high = middle
    p, q = world.sections[low], world.sections[high]
    share = (alpha - p[memory.SECTION_ANGLE]) / (q[memory.SECTION_ANGLE] - p[memory.SECTION_ANGLE])
    share = min(max(share, 0.0), 1.0)
    lift = p[memory.SECTION_LIFT] + share * (q[memory.SECTION_LIFT] - p[memory.SECTION_LIFT])
    return lift, p[memory.SECTION_DRAG] + share * (q[memory.SECTION_DRAG] - p[memory.SECTION_DRAG])


@inlined
def blow(world, state, b):
    """Forces of the air on blade b (B.2)-(B.4): onto its link, and into the sums of its disc."""
    number = world.blade_int[b]
    link, d = number[memory.BLADE_ROW], number[memory.BLADE_DISC]
    joint = link - world.head[memory.N_BODIES]
    disc = world.discs[d]
    turns = disc[memory.TURNS]
    R = get9(world.bodies[link], memory.ROTATION)
    axis = disc_axis(world, d)
    air = sub(get3(world.bodies[link], memory.WIND), scale(disc[memory.INFLOW], axis))
    air = apply_transposed(R, air)
    v = apply_transposed(R, get3(state[link], memory.V))
    omega = get3(state[link], memory.OMEGA)
    com = get3(world.joints[joint], memory.TO_COM)
    force_y, force_z, turn_y, turn_z, power = 0.0, 0.0, 0.0, 0.0, 0.0
    v_y = v[1] + omega[0] * com[2]  # of the line of the stations, r = (x, 0, 0) - com
    v_z = v[2] - omega[0] * com[1]
    for k in range(number[memory.FIRST_STATION], number[memory.END_STATION]):
        station = world.stations[k]
        x = station[memory.STATION_X] - com[0]
        w_y, w_z = v_y + omega[2] * x, v_z - omega[1] * x
        u_t, u_p = turns * (w_y - air[1]), w_z - air[2]
        square = u_t * u_t + u_p * u_p
        speed = sqrt(square)
        lift, drag = section_of(world, b, station, station[memory.TWIST] + atan2(-u_p, u_t))
        q = station[memory.STATION_LOAD] * speed
        f_z = q * (lift * u_t - drag * u_p)
        f_y = turns * q * (-lift * u_p - drag * u_t)
        force_y += f_y
        force_z += f_z
        turn_y -= x * f_z
        turn_z += x * f_y
        power += f_y * w_y + f_z * w_z
    # the line of the stations lies -com across the centre of mass
    moment = (-com[1] * force_z + com[2] * force_y, turn_y, turn_z)
    force_W, moment_W = apply(R, (0.0, force_y, force_z)), apply(R, moment)
    body = world.articulated[world.head[memory.N_TREES] + joint]
    add3(body, memory.P_A_FORCE, scale(-1.0, force_W))
    add3(body, memory.P_A_MOMENT, scale(-1.0, moment_W))
    azimuth = world.disc_int[d, memory.AZIMUTH_JOINT]
    hub_link = world.joint_int[azimuth, memory.LINK_ROW]
    to_com = apply(
        get9(world.bodies[hub_link], memory.ROTATION), get3(world.joints[azimuth], memory.TO_COM)
    )
    arm = add(sub(get3(state[link], memory.P), get3(state[hub_link], memory.P)), to_com)
    disc[memory.THRUST] += dot(axis, force_W)
    disc[memory.AIR_TORQUE] -= turns * dot(axis, add(moment_W, cross(arm, force_W)))
    disc[memory.AIR_POWER] += power


@inlined
def delayed_target(world, d, t):
    """Induced velocity by momentum theory one delay earlier, interpolated between accepted steps (B.6)."""
    number, disc = world.disc_int[d], world.discs[d]
    history = world.histories[d]
    n, newest = number[memory.SAMPLES], number[memory.NEWEST]
    when = t - disc[memory.INFLOW_DELAY]
    later = history[newest]
    if n == 0 or when >= t:
        return disc[memory.INFLOW_TARGET]
    if when >= later[0]:  # between the last sample and now
        share = (when - later[0]) / (t - later[0])
        return later[1] + share * (disc[memory.INFLOW_TARGET] - later[1])
    for back in range(1, n):
        sample = history[(newest - back) % memory.HISTORY]
        if sample[0] <= when:
            share = (when - sample[0]) / (later[0] - sample[0])
            return sample[1] + share * (later[1] - sample[1])
        later = sample
    return later[1]


@inlined
def induce(world, state, slope, d, t):
    """Write the rate of change of the induced velocity of disc d (B.5), (B.6)."""
    disc, number = world.discs[d], world.disc_int[d]
    joint = world.joint_int[number[memory.AZIMUTH_JOINT]]
    row, hub = joint[memory.JOINT_ROW], joint[memory.LINK_ROW]
    through = sub(get3(state[hub], memory.V), get3(world.bodies[hub], memory.WIND))
    along = dot(through, disc_axis(world, d))
    across = sqrt(max(dot(through, through) - along * along, 0.0))
    target = momentum_inflow(disc[memory.THRUST], disc[memory.TWICE_MASS_FLOW], along, across)
    disc[memory.INFLOW_TARGET] = target
    column = memory.INFLOW_COLUMN
    second = state[row, memory.V + column]
    change = 0.0
    if number[memory.INFLOW_LAW] == memory.RELAXED:
        change = (target - second) / disc[memory.INFLOW_LAG]
    elif number[memory.INFLOW_LAW] == memory.FILTERED:
        w = disc[memory.FILTER_FREQUENCY]
        wanted = delayed_target(world, d, t)
        change = w * (
            w * (wanted - disc[memory.INFLOW]) - 2.0 * disc[memory.FILTER_DAMPING] * second
        )
    slope[row, memory.D_P + column] = second
    slope[row, memory.D_V + column] = change


@linked(*WORLD, INT, INT, FLOAT, part="rotor blades")
def blade_forces(ints, floats, which_state, which_slope, t):
    """Air and pitch links of all blades, and slopes of the induced velocities."""
    world = memory.views(ints, floats)
    state, slope = world.states[which_state], world.slopes[which_slope]
    for b in range(world.head[memory.N_BLADES]):
        blow(world, state, b)
        joint = world.blade_int[b, memory.PITCH_JOINT]
        if joint >= 0:
            world.joints[joint, memory.PITCH_EFFORT] = link_effort(world, state, b, t)
    for d in range(world.head[memory.N_DISCS]):
        induce(world, state, slope, d, t)


@linked(*WORLD, FLOAT, part="rotor blades")
def remember_inflow(ints, floats, t):
    """At the end of an accepted step: what momentum theory asks for now, for delayed loops."""
    world = memory.views(ints, floats)
    for d in range(world.head[memory.N_DISCS]):
        number = world.disc_int[d]
        last = world.histories[d, number[memory.NEWEST], 0]
        enough = t - last >= world.discs[d, memory.INFLOW_DELAY] / memory.SAMPLES_PER_DELAY
        if number[memory.INFLOW_LAW] == memory.FILTERED and enough:
            newest = (number[memory.NEWEST] + 1) % memory.HISTORY
            number[memory.NEWEST] = newest
            number[memory.SAMPLES] = min(number[memory.SAMPLES] + 1, memory.HISTORY)
            world.histories[d, newest, 0] = t
            world.histories[d, newest, 1] = world.discs[d, memory.INFLOW_TARGET]
