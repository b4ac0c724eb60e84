"""Energy balance of a step, and an estimate of its error that costs next to nothing.

**Balance.** Work is a further component of the state: its rate is the power of all forces but gravity
and taut constraints, which have a potential or do none; :mod:`rotor_dynamics.motion` sums it up. What the
energy of the bodies changes beyond that work is error, of the order of the method (E.1).

**Error.** The last stage of the classical method and its end belong to the same time, but their states
differ by terms of fourth order; the difference of their slopes is what an embedded formula of third order
would leave (Hairer, Norsett and Wanner 1993, section II.4). Differences of slopes over those of places are
the square of a frequency; with it they are of the order of the true error, and for linear oscillations
equal to it (E.2).
Equations: docs/theory/error_control.md.
"""

from __future__ import annotations

from math import inf, isfinite, sqrt

from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLAG, WORLD, linked
from rotor_core.math import so3
from rotor_core.math.vec3 import dot, get3, sub
from rotor_core.numbers.lanes import choose, possibly
from rotor_dynamics import memory
from rotor_dynamics.motion.free import body_momentum

(LAST_STAGE,) = constants(3)
"""Slope of the last stage of the classical method; its state is in the row STAGE."""

SHARE = 0.1
"""Error of a step of a linear oscillation over step, difference of slopes and angle (E.2)."""

UNDERRATED = 5.0
"""Estimates count this many times: in random worlds the largest of a flight was 0.17 to 4.4 times the true error."""

REFERENCE_STEP, REFERENCES_PER_SECOND = 1e-3, 1e3
"""Step that the tolerance speaks of, s, and its inverse."""

NEGLIGIBLE = 0.01
"""Estimates below this share of the allowed one are not looked at, unless they are the largest so far."""

SEEN = 1e-14
"""Distances and angles above rounding, m and rad."""

TINY = 1e-300
"""Divides in place of zero where the quotient is not taken."""

LEAST_RATE = 1e-12
"""Rates of error that are rounding, m/s^2 and rad/s^2."""

ROUNDING = 1e-14
"""Shares of velocities and of the energy that are rounding."""

METRE, SPEED = 1.0, 1.0
"""Fall and speed of all bodies that make the scale of energies, m and m/s."""


@inlined
def energy_of(world, which_state):
    """Kinetic and potential energy of all bodies in a state, and the scale that its errors refer to, J."""
    state = world.states[which_state]
    gravity = world.scalars[memory.GRAVITY]
    kinetic, height, mass_of_all = 0.0, 0.0, 0.0
    for b in range(world.head[memory.N_BODIES] + world.head[memory.N_JOINTS]):
        body, s = world.bodies[b], state[b]
        v, mass = get3(s, memory.V), body[memory.MASS]
        kinetic += mass * dot(v, v)
        height += mass * s[memory.P + 2]
        mass_of_all += mass
        if world.body_int[b, memory.ROTATES] != memory.TURNLESS:
            omega = get3(s, memory.OMEGA)
            kinetic += dot(omega, body_momentum(world, b, omega))
    for j in range(world.head[memory.N_JOINTS]):
        rate = state[world.joint_int[j, memory.JOINT_ROW], memory.V]
        kinetic += world.joints[j, memory.ARMATURE] * rate * rate
    kinetic *= 0.5
    scale = kinetic + (METRE * abs(gravity) + 0.5 * SPEED * SPEED) * mass_of_all
    return kinetic + gravity * height, scale


@inlined
def audit_end(world):
    """Power, and where constraints may do work the energy, at the end of the trial step; False if not finite."""
    scalars = world.scalars
    scalars[memory.POWER_END] = scalars[memory.POWER_NOW]
    check = scalars[memory.POWER_NOW]
    if world.head[memory.N_CONSTRAINTS] != 0:
        energy, scale = energy_of(world, memory.END)
        scalars[memory.ENERGY_END] = energy
        scalars[memory.ENERGY_SCALE] = scale
        check += energy
    return isfinite(check)


@inlined
def book(world):
    """The end of the audited trial step becomes the start of the next."""
    scalars = world.scalars
    scalars[memory.WORK] += scalars[memory.STEP_WORK]
    scalars[memory.ENERGY] = scalars[memory.ENERGY_END]
    scalars[memory.POWER] = scalars[memory.POWER_END]


@linked(*WORLD)
def open_books(ints, floats):
    """A state was set: nothing has happened yet."""
    world = memory.views(ints, floats)
    scalars = world.scalars
    scalars[memory.WORK] = scalars[memory.LOST] = scalars[memory.TAKEN] = 0.0
    scalars[memory.WOUND] = 0.0
    scalars[memory.LARGEST_SQUARED] = 0.0
    world.head[memory.SUBSTEPS] = world.head[memory.UNSETTLED] = 0
    scalars[memory.ENERGY] = energy_of(world, memory.START)[0]
    scalars[memory.OPENING_ENERGY] = scalars[memory.ENERGY]
    scalars[memory.POWER] = scalars[memory.POWER_NOW]


@inlined
def jump(world, by_inputs):
    """After a change at the start of a step: its power anew, and what impacts took by their impulses.

    With ``by_inputs`` what else the energy jumps by is work of the inputs (prescribed joints that jump);
    otherwise it is error (E.3).
    """
    scalars = world.scalars
    scalars[memory.LOST] += scalars[memory.TAKEN]
    energy = energy_of(world, memory.START)[0]
    if by_inputs:
        scalars[memory.WORK] += energy - scalars[memory.ENERGY] + scalars[memory.TAKEN]
    else:
        scalars[memory.WORK] += scalars[memory.WOUND]
    scalars[memory.TAKEN] = scalars[memory.WOUND] = 0.0
    scalars[memory.ENERGY] = energy
    scalars[memory.POWER] = scalars[memory.POWER_NOW]


@linked(*WORLD, FLAG)
def book_jump(ints, floats, by_inputs):
    """:func:`jump`."""
    jump(memory.views(ints, floats), by_inputs)


@inlined
def energy_at_start(world):
    """Energy, and its scale, of the state at the start."""
    energy, scale = energy_of(world, memory.START)
    world.scalars[memory.ENERGY], world.scalars[memory.ENERGY_SCALE] = energy, scale


@linked(*WORLD)
def note_energy(ints, floats):
    """:func:`energy_at_start`."""
    energy_at_start(memory.views(ints, floats))


@inlined
def displacement(a, b, part):
    """Distance (part 0) or angle (part 1) between two states of a body; small angles only."""
    if part == 0:
        d = sub(get3(a, memory.P), get3(b, memory.P))
        return sqrt(dot(d, d))
    w, x, y, z = so3.get4(a, memory.Q)
    _, x, y, z = so3.product((w, -x, -y, -z), so3.get4(b, memory.Q))
    return 2.0 * sqrt(x * x + y * y + z * z)


@inlined
def oscillation(squared, apart, moved, h):
    """Square of the error in units of SHARE per second, from the differences of slope, speed and place (E.2).

    Slope over place is the square of a frequency; with it slope and speed make an amplitude, whatever the phase.
    """
    turned = h * h * sqrt(squared) / moved
    return min(turned, 1.0) * (squared + min(turned, 1.0) * apart / (h * h))


@inlined
def squared_error(world, h, limit, least):
    """Square of the estimated error of the last trial step, of the velocity or body rate that is worst (E.2).

    In units of SHARE per second. Above ``limit`` it counts relative to the velocity and to what it changes
    by in a millisecond: whirling and whipping bodies, propellers. At most ``least``: not looked at closely.
    Where steps are cut already, every phase of an oscillation is looked at.
    """
    last, end = world.slopes[LAST_STAGE], world.slopes[memory.LAST_SLOPE]
    stage, there = world.states[memory.STAGE], world.states[memory.END]
    thorough = possibly(world.scalars[memory.NEXT_STEP] < inf)
    worst = least
    for b in range(world.head[memory.N_BODIES]):
        for part in range(2 if world.body_int[b, memory.ROTATES] != memory.TURNLESS else 1):
            of_slope = memory.D_OMEGA if part == 1 else memory.D_V
            of_state = memory.OMEGA if part == 1 else memory.V
            da = sub(get3(last[b], of_slope), get3(end[b], of_slope))
            squared = dot(da, da)
            if not (thorough or possibly(squared > worst)):
                continue
            dv = sub(get3(stage[b], of_state), get3(there[b], of_state))
            apart = dot(dv, dv)
            turned = h * h * squared  # over dv^2: angle of the motion in a step, squared
            estimate = choose(turned < apart, squared * turned / max(apart, TINY), squared)
            if thorough or possibly(estimate > worst):
                moved = displacement(stage[b], there[b], part)
                swings = oscillation(squared, apart, max(moved, SEEN), h)
                closer = choose(moved > SEEN, swings, estimate)
                estimate = closer if thorough else choose(estimate > worst, closer, estimate)
            if possibly(estimate > limit):
                v, a = get3(there[b], of_state), get3(end[b], of_slope)
                scale = 1.0 + dot(v, v) + REFERENCE_STEP * REFERENCE_STEP * dot(a, a)
                estimate = choose(estimate > limit, estimate / scale, estimate)
            worse = estimate > worst
            if possibly(worse):
                worst = choose(worse, estimate, worst)
                row = choose(worse, b, world.scalars[memory.WORST_BODY])
                world.scalars[memory.WORST_BODY] = row
    return worst


@inlined
def allowed_rate(world, length):
    """Error per second that steps may have in a fixed step of ``length``, m/s^2 and rad/s^2 (E.4)."""
    coarser = length * REFERENCES_PER_SECOND
    coarser *= coarser
    rate = world.scalars[memory.TOLERANCE] * REFERENCES_PER_SECOND * coarser * coarser
    return max(rate, LEAST_RATE)


@inlined
def excess(world, h, rate):
    """Error of the last trial step over what is allowed: the estimate over ``rate``, or the energy balance (E.5).

    The balance counts where there are constraints, whose work is error. It asks the same at any step.
    """
    scalars = world.scalars
    rate = max(rate, ROUNDING / h)
    limit = rate * (1.0 / (SHARE * UNDERRATED))
    limit *= limit
    least = min(NEGLIGIBLE * NEGLIGIBLE * limit, scalars[memory.LARGEST_SQUARED])
    squared = squared_error(world, h, limit, least)
    scalars[memory.ERROR_SQUARED] = squared
    over = choose(squared > least, max(sqrt(squared / limit), NEGLIGIBLE), NEGLIGIBLE)
    if world.head[memory.N_CONSTRAINTS] != 0:
        size = scalars[memory.ENERGY_SCALE]
        may = scalars[memory.TOLERANCE] * REFERENCES_PER_SECOND * h * size
        gained = scalars[memory.ENERGY_END] - scalars[memory.ENERGY]
        unbalanced = abs(gained - scalars[memory.STEP_WORK])
        counts = unbalanced > over * may  # false where the method keeps no account of work
        if possibly(counts):
            over = choose(counts, max(over, unbalanced / (may + rounding_of_energy(world))), over)
    return over


@inlined
def rounding_of_energy(world):
    """Error of the energy balance that comes from the digits of the energy and of places along taut cables, J."""
    total = world.scalars[memory.ENERGY_SCALE] + abs(world.scalars[memory.ENERGY])
    for k in range(world.head[memory.N_CONSTRAINTS]):
        total += world.constraints[k, memory.TENSION] * world.constraints[k, memory.LENGTH]
    return ROUNDING * total


@inlined
def note_error(world, t):
    """Remember the largest error of the steps that are taken."""
    scalars = world.scalars
    larger = scalars[memory.ERROR_SQUARED] > scalars[memory.LARGEST_SQUARED]
    if possibly(larger):
        error = choose(larger, scalars[memory.ERROR_SQUARED], scalars[memory.LARGEST_SQUARED])
        at = choose(larger, t, scalars[memory.LARGEST_ERROR_AT])
        row = choose(larger, scalars[memory.WORST_BODY], scalars[memory.LARGEST_BODY])
        scalars[memory.LARGEST_SQUARED] = error
        scalars[memory.LARGEST_ERROR_AT] = at
        scalars[memory.LARGEST_BODY] = row
