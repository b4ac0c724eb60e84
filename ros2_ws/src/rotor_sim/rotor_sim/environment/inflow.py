"""Rotors in moving air: thrust and torque over those in hover at the same speed, by momentum and blade elements.

Uniform inflow over the disc, blades of constant chord with the pitch that hover asks for. Equations (I.1)-(I.7),
docs/theory/air.md. Sources: Leishman, Principles of helicopter aerodynamics, 2006: blade elements (eqs 3.21, 5.29),
Glauert's inflow in forward flight (2.118), the fit to measured inflow in the vortex ring state (2.96).
"""

from __future__ import annotations

from math import exp, sqrt

from rotor_core.kernels.jit import inlined, kernel
from rotor_core.numbers.derivatives import has_derivatives

DESCENT = (-1.125, -1.372, -1.718, -0.655)
"""Coefficients of the inflow over that of hover in powers of the rate of climb over it, between -2 and 0 (I.4)."""

WINDMILL = -2.0
"""Rate of climb over the inflow of hover below which the rotor brakes like a windmill."""

BEGINNING = 0.5
"""Rate of descent over the inflow of hover by which the measured inflow has replaced that of momentum theory."""

ROUNDS, ROUNDING, TINY = 60, 1e-14, 1e-300
"""Most trials of a root; what counts as found, relative; divides in place of zero."""

NEAR = 1e-5
"""Half a difference of thrusts that tells a slope, relative: to 1e-10, of which two steps of Newton leave nothing."""

PROFILE = 4.65
"""Growth of the profile power with the advance ratio squared, with spanwise flow (Leishman 2006, eq 5.53)."""


@inlined
def descent_share(x):
    """Inflow over that of hover with the same thrust, in descent at ``x`` times it (I.4), (I.5)."""
    if x <= WINDMILL:
        return -0.5 * x - sqrt(0.25 * x * x - 1.0)
    return 1.0 + x * (DESCENT[0] + x * (DESCENT[1] + x * (DESCENT[2] + x * DESCENT[3])))


@inlined
def glauert(thrust, climb, advance):
    """Induced velocity of momentum theory, the smallest root of (I.2): Newton's method in a bracket."""
    half = 0.5 * thrust
    low, high = 0.0, 2.0 * sqrt(half) + abs(climb)
    fold = climb * climb - 8.0 * advance * advance
    if climb < 0.0 and fold > 0.0:  # it rises, falls and rises again
        top = -0.25 * (3.0 * climb + sqrt(fold))
        through = climb + top
        if top * sqrt(advance * advance + through * through) >= half:
            high = top
        else:
            low = -0.25 * (3.0 * climb - sqrt(fold))
    v = 0.5 * (low + high)
    for _ in range(ROUNDS):
        through = climb + v
        speed = sqrt(advance * advance + through * through)
        value = v * speed - half
        if value > 0.0:
            high = v
        else:
            low = v
        slope = speed + v * through / max(speed, TINY)
        step = v - value / slope if slope > 0.0 else low
        if abs(step - v) <= ROUNDING * high:
            return step
        if not low < step < high:  # also from the root itself, were it not returned
            step = 0.5 * (low + high)
        v = step
    return v


@inlined
def induced(thrust, climb, advance):
    """Induced velocity over the tip speed for a thrust coefficient (I.2)-(I.5).

    ``climb`` and ``advance``: velocity along the axis and across it over the tip speed.
    """
    if thrust <= 0.0:
        return 0.0
    blown = glauert(thrust, climb, advance)
    if climb >= 0.0:
        return blown
    # in descent momentum theory fails (I.3) unless the wake is blown away sideways
    hover = sqrt(0.5 * thrust)
    ratio, descent = advance / hover, -climb / hover
    begun = min(descent / BEGINNING, 1.0)
    share = begun * begun * (3.0 - 2.0 * begun) * exp(-ratio * ratio)
    return share * hover * descent_share(-descent) + (1.0 - share) * blown


@inlined
def loading(pitch, solidity_slope, climb, advance, inflow):
    """Thrust coefficient of the blades (I.1)."""
    lift = pitch / 3.0 * (1.0 + 1.5 * advance * advance) - 0.5 * (climb + inflow)
    return 0.5 * solidity_slope * lift


@inlined
def surplus(thrust, pitch, solidity_slope, climb, advance, easing):
    """Thrust coefficient that the blades give beyond ``thrust``, in the inflow that ``thrust`` makes."""
    inflow = easing * induced(thrust, climb, advance)
    return loading(pitch, solidity_slope, climb, advance, inflow) - thrust


@inlined
def inflow_and_thrust(pitch, solidity_slope, climb, advance, easing):
    """Inflow and thrust coefficient that momentum and blades agree on; no thrust where the air windmills the blades.

    ``easing``: induced velocity over that of the same thrust far from every surface.
    """
    most = loading(pitch, solidity_slope, climb, advance, 0.0)
    if most <= 0.0:
        return 0.0, 0.0
    # by false position (Illinois): what the blades give less the thrust, which falls as the thrust grows
    low, high = 0.0, most
    at_low = most - low
    at_high = surplus(most, pitch, solidity_slope, climb, advance, easing)
    side = 0
    thrust = high
    for _ in range(ROUNDS):
        thrust = (low * at_high - high * at_low) / (at_high - at_low)
        value = surplus(thrust, pitch, solidity_slope, climb, advance, easing)
        if abs(value) <= ROUNDING * most:
            break
        if value > 0.0:
            low, at_low = thrust, value
            at_high = 0.5 * at_high if side == 1 else at_high
            side = 1
        else:
            high, at_high = thrust, value
            at_low = 0.5 * at_low if side == -1 else at_low
            side = -1
    if has_derivatives(thrust):
        # by Newton's method: the value is found, its derivatives, which lag behind in a bracket, are not
        apart = NEAR * thrust
        rise = surplus(thrust + apart, pitch, solidity_slope, climb, advance, easing)
        rise -= surplus(thrust - apart, pitch, solidity_slope, climb, advance, easing)
        for _ in range(2):
            value = surplus(thrust, pitch, solidity_slope, climb, advance, easing)
            thrust -= 2.0 * apart * value / rise
    return easing * induced(thrust, climb, advance), thrust


@kernel
def air_factors(blades, speeds, climbs, across, easing, thrust_factors, torque_factors):
    """Thrust and torque of rotors in moving air over those in hover at the same speeds (I.1)-(I.6).

    Args:
        blades: of each rotor radius, m, thrust and torque coefficient in hover, solidity times lift slope; (n, 4). A
            solidity of 0: the air through the rotor changes nothing.
        speeds: rad/s, (n,).
        climbs, across: velocity of the hub against the air along the axis of thrust and across it, (n,) m/s.
        easing: induced velocity near surfaces over that of the same thrust far from them (I.7), (n,).
        thrust_factors, torque_factors: written, (n,).
    """
    for k in range(blades.shape[0]):
        thrust_factors[k] = torque_factors[k] = 1.0
        radius, thrust, torque, slope = blades[k, 0], blades[k, 1], blades[k, 2], blades[k, 3]
        tip = abs(speeds[k]) * radius
        if slope == 0.0 or tip == 0.0:
            continue
        # blades that stand still are none: beyond, thrust and torque of a slow rotor would not vanish with its speed
        tip = max(tip, sqrt(climbs[k] * climbs[k] + across[k] * across[k]))
        hover = sqrt(0.5 * thrust)
        pitch = 3.0 * (2.0 * thrust / slope + 0.5 * hover)
        profile = max(torque - hover * thrust, 0.0)
        climb, advance = climbs[k] / tip, across[k] / tip
        inflow, now = inflow_and_thrust(pitch, slope, climb, advance, easing[k])
        power = (climb + inflow) * now + profile * (1.0 + PROFILE * advance * advance)
        thrust_factors[k] = now / thrust
        torque_factors[k] = power / (hover * thrust + profile)


@kernel
def induced_velocities(thrusts, areas, climbs, across, density, out):
    """Induced velocities of rotors of given thrusts, N, and disc areas, m^2, into ``out`` (n,) m/s (I.2)-(I.5)."""
    for k in range(out.shape[0]):
        out[k] = 0.0
        if thrusts[k] > 0.0:
            # with a tip speed of 1 m/s coefficients are velocities
            coefficient = thrusts[k] / (density * areas[k])
            out[k] = induced(coefficient, climbs[k], across[k])
