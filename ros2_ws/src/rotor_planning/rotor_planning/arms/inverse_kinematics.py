"""Inverse kinematics of an arm by damped least squares. Equation (J.12), docs/theory/manipulators.md.

Wampler, Manipulator inverse kinematic solutions based on vector formulations and damped least-squares
methods, 1986.
"""

from __future__ import annotations

import numpy as np

from rotor_core.config.model import Vehicle
from rotor_core.errors import ContractError
from rotor_core.vehicles.articulated import ArticulatedVehicle

DAMPING = 1e-3
"""Largest lambda, in units of the reach (m); it falls with the error, so that stretched postures are reached too."""

ROUNDING = 1e-16
"""Added to lambda squared: keeps the matrix regular."""

TOLERANCE = 1e-6
"""A point is reached when it is this close, m."""

STEPS = 200
LARGEST_STEP = 0.2
"""Of one joint in one iteration, rad or m."""

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
            theta, apart = self._descend(theta, target)
            if apart < missed:
                best, missed = theta, apart
            if missed < TOLERANCE:
                return best
        raise ContractError(
            f"{self.vehicle.name!r}: {self.link!r} cannot reach {np.round(target, 4).tolist()} in the frame of the "
            f"base; the nearest it comes is {missed:.4g} m away. Move the base."
        )

    def _descend(self, theta: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float]:
        for _ in range(STEPS):
            error = target - self.place(theta)
            if np.linalg.norm(error) < TOLERANCE:
                break
            J = self.model.jacobian(self.link, self.point)[:3, 6:].copy()
            damping = min(DAMPING, float(np.linalg.norm(error))) ** 2 + ROUNDING
            step = np.zeros(len(theta))
            for _ in range(len(theta)):  # joints at a stop leave the problem, one after the other
                step = J.T @ np.linalg.solve(J @ J.T + damping * np.eye(3), error)
                stuck = ((theta <= self.lower) & (step < 0.0)) | (
                    (theta >= self.upper) & (step > 0.0)
                )
                if not stuck.any():
                    break
                J[:, stuck] = 0.0
            step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), 1e-12))
            theta = np.clip(theta + step, self.lower, self.upper)
        return theta, float(np.linalg.norm(target - self.place(theta)))
