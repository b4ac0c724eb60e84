"""A helicopter in hover by closed forms: blade elements and momentum theory of a rotor in axial flow.

Thrust, torque and phase are good to a per cent or two, mean angles of blades to ten: where controllers begin, and
where a simulation starts. Equations (B.10)-(B.14), (B.17),
docs/theory/helicopter.md. Source: Padfield, Helicopter Flight Dynamics, 2007, chapter 3; Johnson, Helicopter
Theory, 1980, chapters 2 and 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core.config.vehicles.helicopter import Helicopter, MainRotor
from rotor_core.config.yaml.units import rad_from_deg

LEAST_GRAVITY = 1.0
"""Rotors are prepared for at least this, m/s^2: none hovers without weight."""


@dataclass(frozen=True)
class Hover:
    """Trim of a helicopter in hover.

    Attributes:
        collective: rad.
        inflow: velocity that the rotor induces, m/s.
        thrust, torque: of the main rotor, N and N m (against the rotation).
        coning, lag: mean angles of the blades, rad.
        tail_force: to the left, N.
        roll: attitude, positive to the right, rad.
        lateral_tilt: of the disc to the right, rad.
        hub_moment: moment about the centre of mass over tilt of the disc, N m/rad.
        phase, gain: tilt of the disc lags the swashplate by this angle and is this times it (B.14).
        coupling: of the two tilts through the swashplate: what one needs across over what it needs along.
        cyclic_per_tilt: angle of the swashplate over the tilt that it keeps up, along.
        flap_time: time constant of the flapping, s.
        thrust_slope: thrust over collective when the inflow has followed, N/rad.
        leans_back, leans_aside: tilt of the disc over the airspeed across it, away from it and down on the advancing
            side, rad s/m.
    """

    collective: float
    inflow: float
    thrust: float
    torque: float
    coning: float
    lag: float
    tail_force: float
    roll: float
    lateral_tilt: float
    hub_moment: float
    phase: float
    gain: float
    coupling: float
    cyclic_per_tilt: float
    flap_time: float
    thrust_slope: float
    leans_back: float
    leans_aside: float


def flap_frequency(rotor: MainRotor) -> float:
    """Of a blade about its flap hinge, per revolution (B.11)."""
    flap = rotor.hinge("flap")
    inertia, speed2 = rotor.flap_inertia, rotor.speed_rad_s**2
    stiffness = flap.stiffness_n_m_per_rad if flap else 0.0
    offset = flap.offset_m if flap else 0.0
    return float(np.sqrt(1.0 + (stiffness / speed2 + offset * _static_moment(rotor)) / inertia))


def _static_moment(rotor: MainRotor) -> float:
    """Mass of a blade times the distance of its centre from the flap hinge, kg m."""
    flap = rotor.hinge("flap")
    offset = flap.offset_m if flap else 0.0
    return rotor.blade.mass_kg * (rotor.blade.com_m - offset)


def hub_stiffness(rotor: MainRotor) -> float:
    """Moment of the hub over tilt of the disc, N m/rad (B.13)."""
    extra = flap_frequency(rotor) ** 2 - 1.0
    return 0.5 * rotor.blades * rotor.flap_inertia * rotor.speed_rad_s**2 * extra


def lock_number(rotor: MainRotor, density: float) -> float:
    """Air over inertia, of a blade (B.11)."""
    load = density * rotor.section_slope * rotor.chord_m * rotor.radius_m**4
    return load / rotor.flap_inertia


def flap_moments(rotor: MainRotor, density: float) -> tuple[float, float]:
    """Damping of the flapping, and moment of the cyclic, over inertia and speed (B.14): gamma/8 without offset."""
    flap = rotor.hinge("flap")
    e = (flap.offset_m if flap else 0.0) / rotor.radius_m
    eighth = lock_number(rotor, density) / 8.0
    damping = 1.0 - 8.0 * e / 3.0 + 2.0 * e**2 - e**4 / 3.0
    return eighth * damping, eighth * (1.0 - 4.0 * e / 3.0 + e**4 / 3.0)


def inflow_lag(rotor: MainRotor, inflow: float) -> float:
    """Time constant of the induced velocity about hover, s (B.5). Source: Gavrilets 2015."""
    return 0.849 * rotor.radius_m / (4.0 * inflow)


def hover(helicopter: Helicopter, weight: float, gravity: float, density: float) -> Hover:
    """Hover with a ``weight`` N in air of ``density`` kg/m^3.

    ``gravity`` m/s^2 is what the blades feel.
    """
    rotor, tail = helicopter.main_rotor, helicopter.tail_rotor
    tip = rotor.speed_rad_s * rotor.radius_m
    sigma, a = rotor.solidity, rotor.section_slope
    unit = density * rotor.area * tip**2
    c_t = weight / unit
    inflow_ratio = np.sqrt(c_t / 2.0)
    at_three_quarters = 6.0 * c_t / (sigma * a) + 1.5 * inflow_ratio  # (B.10)
    share = (0.75 * rotor.radius_m - rotor.root_m) / (rotor.radius_m - rotor.root_m)
    slope_of_twist = rotor.twist_deg[1] - rotor.twist_deg[0]
    twist = rotor.twist_deg[0] + share * slope_of_twist
    more = rad_from_deg(slope_of_twist) * 0.05 * rotor.radius_m / (rotor.radius_m - rotor.root_m)
    c_q = c_t * inflow_ratio + sigma * rotor.section_drag / 8.0
    torque = c_q * unit * rotor.radius_m
    nu2, gamma = flap_frequency(rotor) ** 2, lock_number(rotor, density)
    inertia, speed2 = rotor.flap_inertia, rotor.speed_rad_s**2
    coning = gamma / nu2 * ((at_three_quarters + more) / 8.0 - inflow_ratio / 6.0)  # at 0.8 R
    coning -= gravity * _static_moment(rotor) / (inertia * speed2 * nu2)  # (B.11)
    damping, forcing = flap_moments(rotor, density)
    stiffness = hub_stiffness(rotor) + weight * rotor.hub_m[2]
    force = -rotor.sense * torque / -tail.position_m[0]
    tilt = force * tail.position_m[2] / stiffness  # (B.13)
    slope = c_t_slope(sigma, a, float(inflow_ratio)) * unit
    return Hover(
        collective=float(at_three_quarters - rad_from_deg(twist)),
        inflow=float(inflow_ratio * tip),
        thrust=weight,
        torque=float(torque),
        coning=float(coning),
        lag=_lag(rotor, float(torque)),
        tail_force=float(force),
        roll=float(np.arcsin(np.clip((force - weight * tilt) / weight, -1.0, 1.0))),
        lateral_tilt=float(tilt),
        hub_moment=float(stiffness),
        phase=float(np.arctan2(damping, nu2 - 1.0)),
        gain=float(forcing / np.hypot(damping, nu2 - 1.0)),
        coupling=float((nu2 - 1.0) / damping),
        cyclic_per_tilt=float(damping / forcing),
        flap_time=2.0 / (damping * rotor.speed_rad_s),
        thrust_slope=slope,
        leans_back=float(2.0 * (4.0 / 3.0 * at_three_quarters - inflow_ratio) / tip),
        leans_aside=float(4.0 / 3.0 * coning / tip),
    )


def c_t_slope(sigma: float, slope: float, inflow_ratio: float) -> float:
    """Derivative of the thrust coefficient by the collective, with the inflow that goes with it (B.12)."""
    quick = sigma * slope / 6.0
    return quick / (1.0 + sigma * slope / (16.0 * inflow_ratio))


def _lag(rotor: MainRotor, torque: float) -> float:
    """Mean angle back of a blade that its share of the torque holds against the centrifugal force, rad."""
    hinge = rotor.hinge("lag")
    if hinge is None or not (hinge.offset_m or hinge.stiffness_n_m_per_rad):
        return 0.0
    pull = rotor.blade.mass_kg * (rotor.blade.com_m - hinge.offset_m)
    stiffness = hinge.offset_m * pull * rotor.speed_rad_s**2 + hinge.stiffness_n_m_per_rad
    arm = 0.75 * rotor.radius_m
    return torque / rotor.blades * (arm - hinge.offset_m) / arm / stiffness
