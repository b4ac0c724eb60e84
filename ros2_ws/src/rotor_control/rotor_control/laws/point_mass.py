"""One vehicle with a cable-suspended point mass (RotorTM eqs 61-68, eq 63 with its sign corrected, E-P1).

Equations (C.6)-(C.9), docs/theory/control.md.
"""

from __future__ import annotations

from rotor_control.gains import CABLE_LENGTH, LOAD_MASS, MASS
from rotor_control.laws.position import commanded_acceleration
from rotor_control.laws.steering import SMALLEST_DISTANCE, cable_steering, thrust_and_moment
from rotor_core.kernels.link import FLOATS, INTS, ROWS, linked
from rotor_core.math.vec3 import add, cross, dot, get3, norm, put3, scale, sub
from rotor_core.state import P, V


@linked(ROWS, FLOATS, ROWS, FLOATS, INTS, FLOATS, ROWS, ROWS, ROWS)
def point_mass_command(states, reference, vehicles, load, who, memory, mu, ahead, out):
    """Thrust and moment of the vehicle.

    Arguments as :func:`rotor_control.laws.quadrotor.quadrotor_command`, ``who`` is (vehicle, load),
    ``ahead`` as in :func:`rotor_control.laws.steering.cable_steering`; ``mu`` (1, 3) gets the force on the
    load that goes with it.
    """
    v = vehicles[0]
    s = states[who[0]]
    z = states[who[1]]
    m, m_L = v[MASS], load[LOAD_MASS]
    D = sub(get3(z, P), get3(s, P))
    d = norm(D)  # the measured distance: the same law steers while the cable is slack
    l = v[CABLE_LENGTH]
    xi, xi_dot = (0.0, 0.0, -1.0), (0.0, 0.0, 0.0)
    if d > SMALLEST_DISTANCE:
        xi = scale(1.0 / d, D)
        # as in the paper, eq 8: the part along xi is zero for a taut cable, and only |xi_dot|^2 in
        # (C.6) would see it
        xi_dot = scale(1.0 / d, sub(get3(z, V), get3(s, V)))
    omega = cross(xi, xi_dot)
    a_cmd = commanded_acceleration(reference, get3(z, P), get3(z, V), load, memory)
    put3(mu[0], 0, scale(m_L, a_cmd))
    F_des = add(scale(m + m_L, a_cmd), scale(m * l * dot(xi_dot, xi_dot), xi))  # (C.6)
    size = max(norm(F_des), 1e-9)
    xi_des = scale(-1.0 / size, F_des)  # (C.7)
    steer = cable_steering(xi, xi_dot, omega, xi_des, v, ahead, 0)
    F = sub(scale(dot(xi, F_des), xi), scale(m * l, cross(xi, steer)))  # (C.8)
    thrust_and_moment(F, s, v, reference, ahead, 0, out)
