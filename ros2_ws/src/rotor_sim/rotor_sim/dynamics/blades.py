"""Rotor blades: forces of the air station by station, induced velocity, pitch links.

The air does to every station of a blade what its angle of attack asks for; the thrust of all blades of a
disc drives the velocity that the disc induces, a state of its own beside the azimuth of the rotor. Equations
(B.n), docs/theory/helicopter.md.
"""

from __future__ import annotations

from math import atan2, cos, exp, sin, sqrt

from rotor_core._jit import inlined, kernel
from rotor_core.lie.vec3 import (
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
from rotor_sim.dynamics.spatial import add3
from rotor_sim.model import layout as at

NEWTON_STEPS = 50
HALVINGS = 60
NEWTON_TOLERANCE = 1e-14
"""Of the induced velocity, relative."""


@kernel
def momentum_inflow(thrust, twice_mass_flow, along, across):
    """Induced velocity that momentum theory gives a disc (B.5), m/s.

    The largest root of ``v sqrt(across^2 + (along + v)^2) = thrust / (2 rho A)``: the branch of hover, climb
    and forward flight, continued into descents until it ends and the windmill's is left. Zero where the disc
    does not push upwards. Newton's method from above on the square of the equation; halving where that finds
    no way down. Glauert 1926.

    Args:
        thrust: along the axis of the disc, N.
        twice_mass_flow: twice the density of the air times the area of the disc, kg/m.
        along, across: velocity of the disc against the air along its axis and across it, m/s.
    """
    if thrust <= 0.0:
        return 0.0
    square = thrust / twice_mass_flow
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
    low = 0.0
    for _ in range(HALVINGS):
        v = 0.5 * (low + high)
        through = along + v
        if v * v * (across * across + through * through) > square * square:
            high = v
        else:
            low = v
    return high


@inlined
def inflow_state(world, state, d):
    """Induced velocity of disc d in a state, m/s."""
    disc = world.disc_int[d]
    y = state[world.joint_int[disc[at.AZIMUTH_JOINT], at.JOINT_ROW]]
    column = at.P if disc[at.INFLOW_LAW] == at.FILTERED else at.V
    return y[column + at.INFLOW_COLUMN]


@inlined
def disc_axis(world, d):
    """Axis of disc d in W, the way it pushes."""
    turn = get3(world.joints[world.disc_int[d, at.AZIMUTH_JOINT]], at.SCREW)
    return scale(world.discs[d, at.TURNS], turn)


@inlined
def begin_discs(world, state):
    """Induced velocities of a state to where everybody finds them; sums begin at zero."""
    for d in range(world.head[at.N_DISCS]):
        disc = world.discs[d]
        disc[at.INFLOW] = inflow_state(world, state, d)
        disc[at.THRUST] = 0.0
        disc[at.AIR_TORQUE] = 0.0
        disc[at.AIR_POWER] = 0.0


@inlined
def swash_angles(disc, t):
    """Collective, cosine and sine angle of the swashplate at time t (B.7)."""
    fading = 0.0
    if disc[at.SWASH_LAG_RATE] > 0.0:
        fading = exp(-disc[at.SWASH_LAG_RATE] * (t - disc[at.SWASH_SINCE]))
    return add(get3(disc, at.SWASH), scale(fading, get3(disc, at.SWASH_OFFSET)))


@inlined
def link_effort(world, state, b, t):
    """Effort of the pitch link of blade b (B.8)."""
    blade, number = world.blades[b], world.blade_int[b]
    disc = number[at.BLADE_DISC]
    azimuth = state[world.joint_int[world.disc_int[disc, at.AZIMUTH_JOINT], at.JOINT_ROW]]
    pitch = state[world.joint_int[number[at.PITCH_JOINT], at.JOINT_ROW]]
    psi, rate = azimuth[at.P] + blade[at.BLADE_PHASE], azimuth[at.V]
    collective, cosine, sine = swash_angles(world.discs[disc], t)
    c, s = cos(psi), sin(psi)
    cyclic = cosine * c + sine * s
    error = collective + cyclic - pitch[at.P]
    error_rate = rate * (sine * c - cosine * s) - pitch[at.V]
    ahead = (
        blade[at.FEATHER_INERTIA] * rate * rate * collective
    )  # theta'' + Omega^2 theta of the command
    return blade[at.LINK_STIFFNESS] * error + blade[at.LINK_DAMPING] * error_rate + ahead


@inlined
def section_of(world, b, station, alpha):
    """Lift and drag coefficient at an angle of attack (B.3)."""
    first, end = world.blade_int[b, at.FIRST_POINT], world.blade_int[b, at.END_POINT]
    if first == end:
        return station[at.LIFT_SLOPE] * alpha, station[at.DRAG_COEFFICIENT]
    low, high = first, end - 1
    while high - low > 1:
        middle = (low + high) // 2
        if world.sections[middle, at.SECTION_ANGLE] <= alpha:
            low = middle
        else:
            high = middle
    p, q = world.sections[low], world.sections[high]
    share = (alpha - p[at.SECTION_ANGLE]) / (q[at.SECTION_ANGLE] - p[at.SECTION_ANGLE])
    share = min(max(share, 0.0), 1.0)
    lift = p[at.SECTION_LIFT] + share * (q[at.SECTION_LIFT] - p[at.SECTION_LIFT])
    return lift, p[at.SECTION_DRAG] + share * (q[at.SECTION_DRAG] - p[at.SECTION_DRAG])


@inlined
def blow(world, state, b):
    """Forces of the air on blade b (B.2)-(B.4): onto its link, and into the sums of its disc."""
    number = world.blade_int[b]
    link, d = number[at.BLADE_ROW], number[at.BLADE_DISC]
    joint = link - world.head[at.N_BODIES]
    disc = world.discs[d]
    turns = disc[at.TURNS]
    R = get9(world.bodies[link], at.ROTATION)
    axis = disc_axis(world, d)
    air = sub(get3(world.bodies[link], at.WIND), scale(disc[at.INFLOW], axis))
    air = apply_transposed(R, air)
    v = apply_transposed(R, get3(state[link], at.V))
    omega = get3(state[link], at.OMEGA)
    com = get3(world.joints[joint], at.TO_COM)
    force_y, force_z, turn_y, turn_z, power = 0.0, 0.0, 0.0, 0.0, 0.0
    v_y = v[1] + omega[0] * com[2]  # of the line of the stations, r = (x, 0, 0) - com
    v_z = v[2] - omega[0] * com[1]
    for k in range(number[at.FIRST_STATION], number[at.END_STATION]):
        station = world.stations[k]
        x = station[at.STATION_X] - com[0]
        w_y, w_z = v_y + omega[2] * x, v_z - omega[1] * x
        u_t, u_p = turns * (w_y - air[1]), w_z - air[2]
        square = u_t * u_t + u_p * u_p
        speed = sqrt(square)
        lift, drag = section_of(world, b, station, station[at.TWIST] + atan2(-u_p, u_t))
        q = station[at.STATION_LOAD] * speed
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
    body = world.articulated[world.head[at.N_TREES] + joint]
    add3(body, at.BIAS_FORCE, scale(-1.0, force_W))
    add3(body, at.BIAS_MOMENT, scale(-1.0, moment_W))
    azimuth = world.disc_int[d, at.AZIMUTH_JOINT]
    hub_link = world.joint_int[azimuth, at.LINK_ROW]
    to_com = apply(
        get9(world.bodies[hub_link], at.ROTATION), get3(world.joints[azimuth], at.TO_COM)
    )
    arm = add(sub(get3(state[link], at.P), get3(state[hub_link], at.P)), to_com)
    disc[at.THRUST] += dot(axis, force_W)
    disc[at.AIR_TORQUE] -= turns * dot(axis, add(moment_W, cross(arm, force_W)))
    disc[at.AIR_POWER] += power


@inlined
def delayed_target(world, d, t):
    """What momentum theory asked for a delay ago, between accepted steps (B.6)."""
    number, disc = world.disc_int[d], world.discs[d]
    history = world.histories[d]
    n, newest = number[at.SAMPLES], number[at.NEWEST]
    when = t - disc[at.INFLOW_DELAY]
    later = history[newest]
    if n == 0 or when >= t:
        return disc[at.INFLOW_TARGET]
    if when >= later[0]:  # between the last sample and now
        share = (when - later[0]) / (t - later[0])
        return later[1] + share * (disc[at.INFLOW_TARGET] - later[1])
    for back in range(1, n):
        sample = history[(newest - back) % at.HISTORY]
        if sample[0] <= when:
            share = (when - sample[0]) / (later[0] - sample[0])
            return sample[1] + share * (later[1] - sample[1])
        later = sample
    return later[1]


@inlined
def induce(world, state, slope, d, t):
    """How the induced velocity of disc d changes (B.5), (B.6)."""
    disc, number = world.discs[d], world.disc_int[d]
    joint = world.joint_int[number[at.AZIMUTH_JOINT]]
    row, hub = joint[at.JOINT_ROW], joint[at.LINK_ROW]
    through = sub(get3(state[hub], at.V), get3(world.bodies[hub], at.WIND))
    along = dot(through, disc_axis(world, d))
    across = sqrt(max(dot(through, through) - along * along, 0.0))
    target = momentum_inflow(disc[at.THRUST], disc[at.TWICE_MASS_FLOW], along, across)
    disc[at.INFLOW_TARGET] = target
    column = at.INFLOW_COLUMN
    second = state[row, at.V + column]
    change = 0.0
    if number[at.INFLOW_LAW] == at.RELAXED:
        change = (target - second) / disc[at.INFLOW_LAG]
    elif number[at.INFLOW_LAW] == at.FILTERED:
        w = disc[at.FILTER_FREQUENCY]
        wanted = delayed_target(world, d, t)
        change = w * (w * (wanted - disc[at.INFLOW]) - 2.0 * disc[at.FILTER_DAMPING] * second)
    slope[row, at.D_P + column] = second
    slope[row, at.D_V + column] = change


@kernel
def blade_forces(ints, floats, which_state, which_slope, t):
    """Air and pitch links of all blades, and slopes of the induced velocities."""
    world = at.views(ints, floats)
    state, slope = world.states[which_state], world.slopes[which_slope]
    for b in range(world.head[at.N_BLADES]):
        blow(world, state, b)
        joint = world.blade_int[b, at.PITCH_JOINT]
        if joint >= 0:
            world.joints[joint, at.PITCH_EFFORT] = link_effort(world, state, b, t)
    for d in range(world.head[at.N_DISCS]):
        induce(world, state, slope, d, t)


@inlined
def remember_inflow(world, t):
    """At the end of an accepted step: what momentum theory asks for now, for delayed loops."""
    for d in range(world.head[at.N_DISCS]):
        number = world.disc_int[d]
        last = world.histories[d, number[at.NEWEST], 0]
        enough = t - last >= world.discs[d, at.INFLOW_DELAY] / at.SAMPLES_PER_DELAY
        if number[at.INFLOW_LAW] == at.FILTERED and enough:
            newest = (number[at.NEWEST] + 1) % at.HISTORY
            number[at.NEWEST] = newest
            number[at.SAMPLES] = min(number[at.SAMPLES] + 1, at.HISTORY)
            world.histories[d, newest, 0] = t
            world.histories[d, newest, 1] = world.discs[d, at.INFLOW_TARGET]
