"""What can be read off a world at any time: cables, stops, solver work."""

from __future__ import annotations

import numpy as np

from rotor_sim.joint_drive import JointDrive
from rotor_sim.model import layout as at
from rotor_sim.model.forest import Forest


class Readings:
    """The part of an engine that only looks; see :class:`rotor_sim.engine.Engine`."""

    ints: np.ndarray
    world: at.World
    forest: Forest
    joints: JointDrive
    n_cables: int

    @property
    def taut(self) -> np.ndarray:
        """Which cables pull, (n_cables,) bool."""
        return self.world.cable_int[: self.n_cables, at.TAUT] != 0

    @property
    def alive(self) -> np.ndarray:
        """Which cables are not cut, (n_cables,) bool."""
        return self.world.cable_int[: self.n_cables, at.ALIVE] != 0

    @property
    def tensions(self) -> np.ndarray:
        """Tensions, (n_cables,) N; zero for slack cables."""
        return self.world.cables[: self.n_cables, at.TENSION_0]

    @property
    def distances(self) -> np.ndarray:
        """Distances between the attachment points, (n_cables,) m."""
        return self.world.cables[: self.n_cables, at.DISTANCE]

    @property
    def directions(self) -> np.ndarray:
        """Unit vectors from end a to end b in W, (n_cables, 3)."""
        return self.world.cables[: self.n_cables, at.XI : at.XI + 3]

    @property
    def stop_efforts(self) -> np.ndarray:
        """Efforts of the stops on their joints, (n_joints,) N m or N; zero where a joint is off its stops."""
        efforts = np.zeros(len(self.joints))
        for row, cable in zip(
            self.world.cables[self.n_cables :], self.world.cable_int[self.n_cables :], strict=True
        ):
            i = self.forest.joints[cable[at.STOP_JOINT]]
            efforts[i] -= cable[at.STOP_SIDE] * row[at.TENSION_0]
        return efforts

    @property
    def touching(self) -> np.ndarray:
        """Which contacts touched at the end of the last step, (n_contacts,) bool."""
        return self.world.contact_int[:, at.TOUCHES] != 0

    @property
    def contact_forces(self) -> np.ndarray:
        """Normal forces of all contacts at the end of the last step, (n_contacts,) N; zero where apart."""
        return self.world.contacts[:, at.NORMAL_FORCE]

    @property
    def contact_energy(self) -> float:
        """Energy in the springs of all contacts, J (K.6)."""
        c = self.world.contacts
        stretch = np.sum(c[:, at.STRETCH : at.STRETCH + 3] ** 2, axis=1)
        normal = c[:, at.NORMAL_STIFFNESS] @ c[:, at.DEPTH] ** 2
        return 0.5 * float(normal + c[:, at.TANGENT_STIFFNESS] @ stretch)

    @property
    def solver_work(self) -> tuple[int, int]:
        """Steps tried (one per step, more where events are located) and pivots, since the state was made."""
        return int(self.ints[at.TRIALS]), int(self.ints[at.EXCHANGES])

    @property
    def were_redundant(self) -> bool:
        """Whether taut cables were ever dependent, so that tensions are those of smallest norm."""
        return bool(self.ints[at.REDUNDANT])
