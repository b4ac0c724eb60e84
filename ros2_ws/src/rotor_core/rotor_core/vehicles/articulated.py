"""An articulated vehicle as controllers and planners see it: rigid-body quantities at a posture."""

from __future__ import annotations

import numpy as np
from transforms3d.quaternions import mat2quat, quat2mat

from rotor_core.config.model import Vehicle
from rotor_core.config.vehicles.arm import BASE
from rotor_core.config.vehicles.body import inertia_matrix, merged_mass
from rotor_core.config.yaml.units import wxyz_from_rpy_deg
from rotor_core.errors import ContractError
from rotor_core.vehicles import tree_columns
from rotor_core.vehicles.recursions import (
    inverse_dynamics,
    mass_matrix,
    place_links,
    point_jacobian,
)


class ArticulatedVehicle:
    """Rigid-body quantities of a vehicle with an arm.

    Velocities are u = (velocity of the base frame, rate of the base, joint rates), the first two in
    the axes of the base; forces are their duals. Links on fixed joints are part of what they are
    fixed to. :meth:`place` sets the posture of everything else.

    Args:
        vehicle: its nominal description.

    Attributes:
        joints: names of the moving joints, in the order of angles and efforts.
        n: their number.
        mass: of everything, kg.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        moving = vehicle.moving_joints
        self.joints = [j.name for j in moving]
        self.n = len(moving)
        self._links = np.zeros((self.n + 1, tree_columns.LINK))
        self._tree = np.zeros((self.n + 1, 2), np.int64)
        self._work = np.zeros((self.n + 1, tree_columns.WORK))
        self._frames: dict[str, tuple[int, np.ndarray, np.ndarray]] = {}
        self._describe(vehicle)
        self.mass = float(self._links[:, tree_columns.MASS].sum())
        self._theta: np.ndarray | None = None
        self.place(np.array([j.initial for j in moving]))

    def _describe(self, vehicle: Vehicle) -> None:
        base = (vehicle.mass_kg, np.array(vehicle.com_m), inertia_matrix(vehicle.inertia_kg_m2))
        parts: list[list[tuple]] = [[(*base, np.eye(3), np.zeros(3))]] + [[] for _ in range(self.n)]
        self._frames[BASE] = (0, np.eye(3), np.zeros(3))
        links = {link.name: link for link in vehicle.links}
        for joint in vehicle.joints:
            row, R, p = self._frames[joint.parent]
            p = p + R @ np.array(joint.position_m)
            R = R @ quat2mat(wxyz_from_rpy_deg(joint.rpy_deg))
            if joint.type != "fixed":
                parent, row = row, self.joints.index(joint.name) + 1
                link = self._links[row]
                (
                    link[tree_columns.POINT : tree_columns.POINT + 3],
                    link[tree_columns.TURN : tree_columns.TURN + 4],
                ) = p, mat2quat(R)
                axis = np.array(joint.axis)
                link[tree_columns.AXIS : tree_columns.AXIS + 3] = axis / np.linalg.norm(axis)
                link[tree_columns.ARMATURE] = joint.armature
                kind = tree_columns.REVOLUTE if joint.type == "revolute" else tree_columns.PRISMATIC
                self._tree[row] = parent, kind
                R, p = np.eye(3), np.zeros(3)
            self._frames[joint.child] = (row, R, p)
            child = links[joint.child]
            J = np.zeros((3, 3))
            if child.inertia_kg_m2 is not None:
                J = inertia_matrix(child.inertia_kg_m2)
            parts[row].append((child.mass_kg, np.array(child.com_m), J, R, p))
        for row, together in enumerate(parts):
            _merge(self._links[row], together)

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """Links and tree, for the kernels of :mod:`rotor_core.vehicles.recursions`."""
        return self._links, self._tree

    def frame(self, link: str) -> tuple[int, np.ndarray, np.ndarray]:
        """Row that moves a link, and the pose of the link there (3, 3), (3,).

        Raises:
            ContractError: there is no such link.
        """
        if link not in self._frames:
            raise ContractError(f"there is no link {link!r}; known: {', '.join(self._frames)}.")
        return self._frames[link]

    def place(self, theta: np.ndarray) -> None:
        """Set the posture, (n,) rad or m (J.1).

        Raises:
            ContractError: wrong shape or not finite.
        """
        self._check("posture", theta, self.n)
        if self._theta is None or not np.array_equal(theta, self._theta):
            self._theta = np.array(theta, float)
            place_links(self._links, self._tree, self._theta, self._work)

    def _check(self, what: str, values: np.ndarray, n: int) -> None:
        if np.shape(values) != (n,) or not np.isfinite(values).all():
            raise ContractError(f"{what}: must be {n} finite numbers, got {values}.")

    def mass_matrix(self) -> np.ndarray:
        """M over u, (6 + n, 6 + n) (J.4)."""
        M = np.zeros((6 + self.n, 6 + self.n))
        mass_matrix(self._links, self._tree, self._work, M)
        return M

    def inverse_dynamics(
        self, u: np.ndarray, u_dot: np.ndarray, gravity_B: np.ndarray
    ) -> np.ndarray:
        """Forces that give ``u_dot``, (6 + n,) (J.2), (J.3).

        Args:
            u, u_dot: (6 + n,).
            gravity_B: its acceleration in the axes of the base, (3,) m/s^2.

        Raises:
            ContractError: wrong shapes or not finite.
        """
        for what, values, n in (
            ("velocities", u, 6 + self.n),
            ("accelerations", u_dot, 6 + self.n),
            ("gravity", gravity_B, 3),
        ):
            self._check(what, values, n)
        out = np.zeros(6 + self.n)
        inverse_dynamics(self._links, self._tree, u, u_dot, gravity_B, self._work, out)
        return out

    def bias(self, u: np.ndarray, gravity_B: np.ndarray) -> np.ndarray:
        """Forces that only hold the motion: Coriolis, centrifugal and weight, (6 + n,)."""
        return self.inverse_dynamics(u, np.zeros(6 + self.n), gravity_B)

    def pose(self, link: str, point: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Attitude (3, 3) of a link in the base frame, and a point of it there, (3,) m; default its origin."""
        row, R, p = self.frame(link)
        own = self._work[row, tree_columns.ROTATION : tree_columns.ROTATION + 9].reshape(3, 3)
        place = self._work[row, tree_columns.PLACE : tree_columns.PLACE + 3]
        return own @ R, place + own @ (p + R @ (np.zeros(3) if point is None else point))

    def jacobian(self, link: str, point: np.ndarray | None = None) -> np.ndarray:
        """J of a point of a link: velocity and rate of the link in the axes of the base are J u, (6, 6 + n) (J.6)."""
        row, R, p = self.frame(link)
        J = np.zeros((6, 6 + self.n))
        place = p + R @ (np.zeros(3) if point is None else np.asarray(point, float))
        point_jacobian(self._links, self._tree, self._work, np.int64(row), place, J)
        return J

    def composite(self) -> tuple[np.ndarray, np.ndarray]:
        """Centre of mass (3,) and inertia about it (3, 3) of everything at this posture, in the base frame."""
        M = self.mass_matrix()
        c = _first_moment(M) / self.mass
        return c, M[3:6, 3:6] - self.mass * (c @ c * np.eye(3) - np.outer(c, c))


def _first_moment(M: np.ndarray) -> np.ndarray:
    """First moment m c out of the coupling block, which is -m [c]x."""
    block = -M[:3, 3:6]
    return np.array([block[2, 1], block[0, 2], block[1, 0]])


def _merge(row: np.ndarray, parts: list[tuple]) -> None:
    """Mass properties of rigidly joined parts, as one row of the table of links."""
    mass, com, J = merged_mass(
        np.array([m for m, *_ in parts]),
        np.array([p + R @ com for _, com, _, R, p in parts]),
        np.array([R @ own @ R.T for _, _, own, R, _ in parts]),
    )
    row[tree_columns.MASS], row[tree_columns.COM : tree_columns.COM + 3] = mass, com
    row[tree_columns.INERTIA : tree_columns.INERTIA + 9] = J.ravel()
