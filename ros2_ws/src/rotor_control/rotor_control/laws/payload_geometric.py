"""Vehicles with a point mass on cables, with integrals of payload, cables and attitude, as they fly it on board.

The law for one vehicle of :mod:`rotor_control.laws.cable_team` for a point mass, run by every vehicle for itself: each
has integrals of its own. Between both functions forces are shared (:mod:`rotor_control.allocation.separation`).
Equations (C.43), (C.47), (C.48), docs/theory/control.md.
"""

from __future__ import annotations

from rotor_control.allocation.tension import TENSION, distribute
from rotor_control.gains import COS_MAX_TILT, GRAVITY, HELD, LOAD_MASS, MASS, PERIOD
from rotor_control.laws.attitude import rotation_error
from rotor_control.laws.limits import limit_tilt
from rotor_control.laws.position import acceleration_from_errors, integrate_unless_held
from rotor_control.laws.steering import (
    cable_steering,
    direction_and_rate,
    pulling_force,
    thrust_and_moment,
    wanted_direction,
)
from rotor_core.kernels.jit import constants
from rotor_core.kernels.link import FLOATS, INTS, ROWS, linked
from rotor_core.math import so3
from rotor_core.math.vec3 import add, cross, get3, norm, put3, scale, sub, times
from rotor_core.reference import ACCELERATION, POSITION, VELOCITY
from rotor_core.state import P, Q, V

OF_PAYLOAD, OF_CABLE, OF_ATTITUDE = constants(0, 3, 6)
MEMORY = 9
"""Columns of the integrals of one vehicle: of the payload's position, its cable's direction, its attitude."""

CABLE_INTEGRAL, ATTITUDE_INTEGRAL, FEEDS_FORWARD, WHOLE_THRUST = constants(0, 1, 4, 5)
MOST_TURNED = 0.2
"""No component of the integral of the attitude's error exceeds this, rad s."""

SETTINGS = 6
"""Columns of what the law has beside the gains of payload and vehicles."""


@linked(ROWS, FLOATS, FLOATS, INTS, TENSION, FLOATS, ROWS, ROWS, ROWS)
def wanted_forces(states, reference, load, who, tension, settings, memory, planned, wanted):
    """Force on the payload that each vehicle wants, and those of the cables in a plan that leans them outwards.

    Args:
        states: of all entities, (N, >= 13).
        reference: (28,), of the payload.
        load: (LOAD,) parameters of the payload.
        who: rows in ``states``: n vehicles, then the payload, (n + 1,).
        tension: of :class:`rotor_control.allocation.tension.Tension`.
        settings: (SETTINGS,).
        memory: integrals, (n, MEMORY), updated.
        planned: forces of the cables for the reference, (n, 3) N in W, written.
        wanted: (n, 3) N in W, written.
    """
    n = memory.shape[0]
    z = states[who[n]]
    e_x, e_v = (
        sub(get3(reference, POSITION), get3(z, P)),
        sub(get3(reference, VELOCITY), get3(z, V)),
    )
    ahead = scale(settings[FEEDS_FORWARD], get3(reference, ACCELERATION))
    for k in range(n):
        a = acceleration_from_errors(e_x, e_v, ahead, load, memory[k])
        put3(wanted[k], 0, scale(load[LOAD_MASS], a))  # (C.43)
    F = scale(load[LOAD_MASS], add(get3(reference, ACCELERATION), (0.0, 0.0, load[GRAVITY])))
    level = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    distribute(F, (0.0, 0.0, 0.0), level, tension, planned)


@linked(ROWS, FLOATS, ROWS, FLOATS, INTS, FLOATS, ROWS, ROWS, ROWS, ROWS, ROWS)
def pull_with_integrals(
    states, reference, vehicles, load, who, settings, wanted, mu, memory, ahead, out
):
    """Thrusts and moments with which the cables pull with ``mu`` (n, 3) in W.

    Arguments as :func:`wanted_forces`; ``vehicles``: (n, VEHICLE); ``ahead``: (n, 12) of
    :mod:`rotor_control.laws.flatness`, or (0, 12); ``out``: (n, 4), written.
    """
    n = vehicles.shape[0]
    z = states[who[n]]
    period = load[PERIOD]
    for k in range(n):
        v = vehicles[k]
        s = states[who[k]]
        D, D_dot = sub(get3(z, P), get3(s, P)), sub(get3(z, V), get3(s, V))
        xi, xi_dot = direction_and_rate(D, D_dot)
        omega = cross(xi, xi_dot)
        share = get3(mu[k], 0)
        xi_des = wanted_direction(share)
        a = (0.0, 0.0, load[GRAVITY])
        if settings[FEEDS_FORWARD] > 0.0:
            a = add(get3(reference, ACCELERATION), a)
        summed = integrate_unless_held(
            memory[k, OF_CABLE : OF_CABLE + 3], cross(xi_des, xi), period, load[HELD]
        )
        steer = cable_steering(xi, xi_dot, omega, xi_des, v, ahead, k)
        steer = add(steer, scale(settings[CABLE_INTEGRAL], summed))
        force = pulling_force(xi, omega, share, a, steer, v)  # (C.47)
        R_des = thrust_and_moment(force, s, v, reference, ahead, k, out)
        if settings[WHOLE_THRUST] > 0.0:
            out[k, 0] = norm(limit_tilt(force, v[COS_MAX_TILT], v[MASS]))
        error = rotation_error(so3.matrix(so3.get4(s, Q)), R_des)
        turned = integrate_unless_held(
            memory[k, OF_ATTITUDE : OF_ATTITUDE + 3], error, period, load[HELD]
        )
        for i in range(3):
            memory[k, OF_ATTITUDE + i] = min(max(turned[i], -MOST_TURNED), MOST_TURNED)
        turned = get3(memory[k], OF_ATTITUDE)
        moment = add(get3(out[k], 1), times(get3(settings, ATTITUDE_INTEGRAL), turned))  # (C.48)
        put3(out[k], 1, moment)
