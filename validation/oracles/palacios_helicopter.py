"""A miniature helicopter with 13 degrees of freedom as a floating tree: fuselage, hub, two blades of three hinges.

Source: Palacios Uyaguari, Olguin Diaz, as for :mod:`validation.oracles.palacios`, section IV, which has the
topology and no numbers. Mass, inertia, radius and hub height are those of the MIT X-Cell .60 (V. Gavrilets,
"Dynamic Model for a Miniature Aerobatic Helicopter", Handbook of UAVs, 2015, as public code quotes it), and so
are, not yet checked, chord and flap inertia; the rest is our choice. Springs, dampers, armature and air are
left to the caller. SI units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy import ndarray as Array

from validation.oracles.palacios import BASE, EX, EY, EZ, NOTHING, STILL, Body, Link, Tree

Hinge = Literal["pitch", "flap", "lag"]
Order = tuple[Hinge, Hinge, Hinge]
ORDERS: tuple[Order, ...] = (
    ("pitch", "flap", "lag"),
    ("flap", "pitch", "lag"),
    ("flap", "lag", "pitch"),
)
"""From the hub outwards. The paper lists pitch, flap, lag; real heads differ."""


@dataclass(frozen=True)
class Helicopter:
    """Numbers of a two-blade helicopter; the blades are flat uniform bars from the lag hinge to the tip.

    Attributes:
        mass: of everything, kg.
        inertia: of the fuselage about its centre of mass, principal, (3,) kg m2.
        hub_mass: kg.
        hub_inertia: principal, (3,) kg m2.
        hub_height: above the centre of mass of everything, m.
        radius, lag_hinge: of tip and hinge from the mast, m.
        chord: m.
        flap_inertia: of a blade about the mast, kg m2.
    """

    mass: float = 8.2
    inertia: tuple[float, float, float] = (0.18, 0.34, 0.28)
    hub_mass: float = 0.10
    hub_inertia: tuple[float, float, float] = (1e-4, 1e-4, 2e-4)
    hub_height: float = 0.235
    radius: float = 0.775
    lag_hinge: float = 0.055
    chord: float = 0.058
    flap_inertia: float = 0.038

    @property
    def blade(self) -> Body:
        """In blade axes with their origin at the lag hinge, x outboard."""
        length = self.radius - self.lag_hinge
        mass = 3.0 * self.flap_inertia * length / (self.radius**3 - self.lag_hinge**3)
        Ixx, Iyy = mass * self.chord**2 / 12.0, mass * length**2 / 12.0
        return Body(mass, 0.5 * length * EX, np.diag([Ixx, Iyy, Ixx + Iyy]))

    def tree(self, order: Order = ORDERS[0], sense: Literal[-1, 1] = -1) -> Tree:
        """Fuselage, hub, and three links per blade, of which the last has the mass: 8 bodies, 7 joints.

        B is FLU with its origin at the centre of mass of everything while the blades are in their plane.
        Joints: azimuth about ``sense z``, then the three hinges of the reference blade, which points
        forward at zero azimuth (psi of flapping theory, from the tail, is half a turn more), and those of
        the secondary blade opposite. Blade axes: x outboard, z up, leading edge along ``sense y``;
        positive pitch is nose up, flap up, lag aft. Pitch and flap hinges meet on the mast, except that
        a pitch hinge outside of the lag hinge begins there.

        Args:
            order: hinges from the hub outwards; lag is not the first.
            sense: -1 turns clockwise seen from above, +1 counter-clockwise.
        """
        if sorted(order) != ["flap", "lag", "pitch"] or order[0] == "lag":
            raise ValueError(f"order: must be flap, lag and pitch, lag not first, got {order}.")
        hub_B = self.hub_height * EZ
        mass = self.mass - self.hub_mass - 2.0 * self.blade.mass
        fuselage = Body(mass, (mass - self.mass) / mass * hub_B, np.diag(self.inertia))
        rotating = Body(self.hub_mass, STILL, np.diag(self.hub_inertia))
        hub = Link(BASE, sense * EZ, hub_B, np.eye(3), rotating)
        nose, tail = np.eye(3), np.diag([-1.0, -1.0, 1.0])
        links = (hub, *self._hinges(order, sense, 0, nose), *self._hinges(order, sense, 3, tail))
        return Tree(fuselage, links)

    def _hinges(self, order: Order, sense: int, last: int, R_HA: Array) -> Sequence[Link]:
        """Links of a blade whose axes A are turned by R_HA against the hub, behind ``last`` links."""
        axes = {"pitch": sense * EX, "flap": -EY, "lag": -sense * EZ}
        links, parent, turn = [], 0, R_HA
        for i, hinge in enumerate(order):
            outwards = order[i + 1 : i + 2] == ("lag",)  # its axis has to pass through this origin
            offset = turn @ (self.lag_hinge * EX) if outwards else STILL
            body = self.blade if i == 2 else NOTHING
            links.append(Link(parent, turn @ axes[hinge], offset, turn, body))
            parent, turn = last + i + 1, np.eye(3)
        return links
