"""Snapshot of one instant for a viewer, from a simulation, a recording, or the graph of nodes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.state import Pose


@dataclass
class Snapshot:
    """One instant.

    Attributes:
        time: s.
        states: of all entities, (n, 13).
        joints: angles and rates of the arms' joints, vehicle by vehicle, (n_joints, 2).
        tensions: of the cables, (n_cables,) N; NaN: unknown.
        taut: (n_cables,).
        thrusts: of the vehicles, (n_vehicles,) N.
        goals: wanted places of the teams' entities, (n_teams, 3) m; NaN: none.
        discs: tilt of the discs of helicopters in the frame of the fuselage: coning, and flap of the tips over the
            tail and a quarter turn further, (n_vehicles, 3) rad; NaN: no disc, or unknown.
        cut: cables that are gone, (n_cables,).
        masses: places of the masses of heavy cables, (n_masses, 3) m; none: unknown.
    """

    time: float
    states: np.ndarray
    joints: np.ndarray
    tensions: np.ndarray
    taut: np.ndarray
    thrusts: np.ndarray
    goals: np.ndarray
    discs: np.ndarray
    cut: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    masses: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))


def known_rotations(poses: np.ndarray) -> Rotation:
    """Rotations of bodies, upright where a pose (n, 7) is not known: who draws leaves these out."""
    attitudes = Pose(poses).attitude.copy()
    attitudes[~np.isfinite(attitudes).all(axis=1)] = (1.0, 0.0, 0.0, 0.0)
    return rotation_from(attitudes)
