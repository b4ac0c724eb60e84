"""Inverse kinematics of an arm by least squares within its stops. Equation (J.12), docs/theory/manipulators.md.

A trust-region method that keeps the bounds (Branch, Coleman and Li 1999), of SciPy.
"""

from __future__ import annotations

import numpy as np
import scipy

from rotor_core.config.model import Vehicle
from rotor_core.errors import ContractError
from rotor_core.vehicles.articulated import ArticulatedVehicle

ROUNDING = 1e-15
"""A search goes on to rounding."""

TOLERANCE = 1e-6
"""A point is reached when it is this close, m."""

STEPS = 200
"""Of one search."""

STARTS = 8
"""Postures from which the search begins anew where it is stuck."""


class InverseKinematics:
    """Inverse kinematics: joint positions of a vehicle at which a point of a link is at a target.

    Args:
        vehicle: nominal.
        link: whose point reaches.
        point: in the frame of the link, (3,) m.
    """

    def __init__(self, vehicle: Vehicle, link: str, point: np.ndarray | None = None) -> None:
        self.vehicle, self.link = vehicle, link
        self.point = np.zeros(3) if point is None else np.asarray(point, float)
        self.model = ArticulatedVehicle(vehicle)
        moving = vehicle.moving_joints
        limits = [j.limits or (-np.inf, np.inf) for j in moving]
        self.lower, self.upper = np.array(limits, float).reshape(-1, 2).T
        drawn = [
            j.limits or ((-1.0, 1.0) if j.type == "prismatic" else (-np.pi, np.pi)) for j in moving
        ]
        self.drawn = np.array(drawn, float).reshape(-1, 2).T
        """Smallest and largest angles from which a search may begin anew, (2, n)."""
        self._carries = np.any(self.model.jacobian(link)[:, 6:] != 0.0, axis=0)
        """True for joints that carry the link, (n,) bool; the others stay."""

    def place(self, theta: np.ndarray) -> np.ndarray:
        """The point in the frame of the base, (3,) m."""
        self.model.place(theta)
        return self.model.pose(self.link, self.point)[1]

    def joints(self, target: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Angles (n,) at which the point is at ``target`` (3,) in the frame of the base.

        Coordinates that the arm cannot move at all (across the plane of a planar arm) must fit.

        Args:
            target: m.
            start: posture from which the search begins; the solution found is one near it.

        Raises:
            ContractError: the target is out of reach; the text says by how much.
        """
        target = np.asarray(target, float)
        random = np.random.default_rng(0)  # the same answer every time
        best, missed = start, np.inf
        for attempt in range(STARTS):
            theta = np.clip(start, self.lower, self.upper)
            if attempt:
                theta = np.where(self._carries, random.uniform(*self.drawn), theta)
            theta, apart = self._search(theta, target)
            if apart < missed:
                best, missed = theta, apart
            if missed < TOLERANCE:
                return best
        raise ContractError(
            f"{self.vehicle.name!r}: {self.link!r} cannot reach {np.round(target, 4).tolist()} in the frame of the "
            f"base; the nearest it comes is {missed:.4g} m away. Move the base."
        )

    def _search(self, theta: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float]:
        """Posture near ``theta`` at which the point is as near to the target as the stops allow, and how near, m."""
        moved = theta.copy()

        def misses(carrying: np.ndarray) -> np.ndarray:
            moved[self._carries] = carrying
            return self.place(moved) - target

        def jacobian(carrying: np.ndarray) -> np.ndarray:
            moved[self._carries] = carrying
            self.model.place(moved)
            return self.model.jacobian(self.link, self.point)[:3, 6:][:, self._carries].copy()

        if not self._carries.any():
            return theta, float(np.linalg.norm(self.place(theta) - target))
        lower, upper = self.lower[self._carries], self.upper[self._carries]
        inside = np.clip(
            theta[self._carries], np.nextafter(lower, upper), np.nextafter(upper, lower)
        )
        found = scipy.optimize.least_squares(
            misses, inside, jacobian, bounds=(lower, upper), xtol=ROUNDING, ftol=ROUNDING, gtol=ROUNDING,
            max_nfev=STEPS,
        )  # fmt: skip
        moved[self._carries] = found.x
        return moved, float(np.linalg.norm(found.fun))
