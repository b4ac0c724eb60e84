"""Wakes of rotors: jets of air that widen, lean and merge, and their velocity anywhere.

Each jet has a Gaussian profile whose momentum is the thrust of its rotor at every distance. Jets merge by their
momentum (Reichardt 1943), so that of several is the sum of their thrusts. Equations (Q.1)-(Q.4), docs/theory/air.md.
That the flow below whole quadrotors is such a jet has been measured: Bauersfeld, Muller, Ziegler, Coletti and
Scaramuzza, Robotics meets fluid dynamics, IEEE Robotics and Automation Letters 2025.
"""

from __future__ import annotations

from math import exp, sqrt

from rotor_core.kernels.jit import inlined, kernel
from rotor_core.math.vec3 import add, dot, get3, put3, scale, sub

WIDE = 3.0
"""Widths from the axis beyond which a jet is not looked at: its speed is a ten-thousandth there."""

OWNED_BY_NOBODY = -1


@inlined
def momentum(jet, way, spreading, reach):
    """Squared velocity of a jet at ``way`` from its hub (Q.1), (Q.2), m^2/s^2; zero above and beyond its reach.

    Columns of a jet: hub (3), direction (3), radius, induced velocity.
    """
    along = dot(way, get3(jet, 3))
    if along <= 0.0 or along > reach:
        return 0.0
    radius = jet[6]
    width = radius + spreading * along
    squared = dot(way, way) - along * along
    if squared > WIDE * WIDE * width * width:
        return 0.0
    grown = 0.5 * (1.0 + along / sqrt(radius * radius + along * along))
    speed = 2.0 * jet[7] * radius / width * grown * exp(-squared / (width * width))
    return speed * speed


@kernel
def wake_velocities(jets, owners, spreading, reach, places, place_owners, out):
    """Velocities that jets make at places, into ``out`` (n, 3) m/s (Q.3).

    Args:
        jets: sorted by the first coordinate of the hub; hub, m, direction, radius, m, induced velocity, m/s; (m, 8).
        owners: vehicle of each, (m,).
        spreading, reach: see :class:`rotor_core.config.air.wakes.Wakes`.
        places: (n, 3) m.
        place_owners: vehicle whose jets do not count at each, or -1, (n,).
    """
    n, largest = jets.shape[0], 0.0
    for k in range(n):
        jet = jets[k]
        sideways = WIDE * (jet[6] + spreading * reach) + reach * abs(jet[3])
        largest = max(largest, sideways)
    for i in range(places.shape[0]):
        place = get3(places[i], 0)
        low, high = 0, n  # the first jet that is near enough in x
        while low < high:
            middle = (low + high) // 2
            if jets[middle, 0] < place[0] - largest:
                low = middle + 1
            else:
                high = middle
        total = (0.0, 0.0, 0.0)
        for k in range(low, n):
            if jets[k, 0] > place[0] + largest:
                break
            if owners[k] != place_owners[i]:
                part = momentum(jets[k], sub(place, get3(jets[k], 0)), spreading, reach)
                total = add(total, scale(part, get3(jets[k], 3)))
        size = sqrt(sqrt(dot(total, total)))
        put3(out[i], 0, scale(1.0 / size, total) if size > 0.0 else total)
