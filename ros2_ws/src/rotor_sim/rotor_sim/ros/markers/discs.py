"""Rotor discs as markers: a disc in the plane of the blade tips, and the path of the tips with flapping magnified."""

from __future__ import annotations

import numpy as np
from transforms3d.quaternions import mat2quat, quat2mat
from visualization_msgs.msg import Marker

from rotor_core.messages.convert import WORLD_FRAME, set_quaternion, set_vector
from rotor_core.state import State
from rotor_sim.ros.markers.bodies import marker, point
from rotor_sim.shapes.shapes import DISC_COLOUR, Colour
from rotor_sim.shapes.tip_path import TipPath, tip_path
from rotor_sim.simulation import Simulation

PATH_COLOUR: Colour = (0.90, 0.35, 0.10, 1.0)

MAGNIFIED = 10.0
"""Flap angles of the drawn path over true ones; those of the disc are true."""

POINTS = 48
SHORT = 0.25
"""Thrust arrows over those of small rotors: a helicopter lifts ten kilograms."""
THICKNESS = 0.004
"""Of the disc, m."""


class DiscMarkers:
    """Markers of the main rotors of one world.

    Attributes:
        vehicles: rows of the helicopters.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        heads = simulation.helicopters
        self.vehicles = heads.vehicles
        self._hubs = [
            simulation.body_names.index(f"{simulation.names[row]}/hub") for row in heads.vehicles
        ]
        self._discs, self._paths = [], []
        for i, head in enumerate(heads.heads):
            size = 2.0 * head.helicopter.main_rotor.radius_m
            disc = (size, size, THICKNESS)
            self._discs.append(marker(WORLD_FRAME, "disc", i, Marker.CYLINDER, DISC_COLOUR, disc))
            line = (0.01, 0.0, 0.0)
            self._paths.append(
                marker(WORLD_FRAME, "tip_path_x10", i, Marker.LINE_STRIP, PATH_COLOUR, line)
            )

    def _frame(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Place of hub i and attitude of its fuselage in W."""
        motion = self._simulation.engine.motion
        return State(motion).position[self._hubs[i]], quat2mat(
            State(motion).attitude[self.vehicles[i]]
        )

    def _plane(self, i: int) -> tuple[TipPath, np.ndarray]:
        """Path of the tips of disc i, and its normal in the frame of the fuselage."""
        head = self._simulation.helicopters.heads[i]
        rotor = head.helicopter.main_rotor
        path = tip_path(rotor, self._simulation.engine.joints.states[head.joints])
        # up at the tail leans ahead; up a quarter turn after the tail leans away from that side
        normal = np.array([path.cosine, rotor.sense * path.sine, 1.0])
        return path, normal / np.linalg.norm(normal)

    def thrust(self, vehicle: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Hub, direction and drawn size of the thrust of the helicopter in a row of vehicles."""
        i = self.vehicles.index(vehicle)
        p, R = self._frame(i)
        _, normal = self._plane(i)
        return p, R @ normal, SHORT * float(self._simulation.engine.swash.thrusts[i])

    def markers(self) -> list[Marker]:
        """Discs and paths as they are now."""
        for i, head in enumerate(self._simulation.helicopters.heads):
            rotor = head.helicopter.main_rotor
            path, normal = self._plane(i)
            p, R = self._frame(i)
            z = R @ normal
            x = R[:, 0] - (R[:, 0] @ z) * z
            x /= np.linalg.norm(x)
            centre = p + rotor.radius_m * np.sin(path.coning) * z
            disc, line = self._discs[i], self._paths[i]
            set_vector(disc.pose.position, centre)
            set_quaternion(
                disc.pose.orientation, mat2quat(np.stack([x, np.cross(z, x), z], axis=1))
            )
            psi = np.linspace(0.0, 2.0 * np.pi, POINTS + 1)
            flap = path.coning + path.cosine * np.cos(psi) + path.sine * np.sin(psi)
            r = rotor.radius_m
            ring = np.stack(
                [-r * np.cos(psi), -rotor.sense * r * np.sin(psi), r * np.sin(MAGNIFIED * flap)],
                axis=1,
            )
            line.points = [point(p + R @ tip) for tip in ring]
        return [*self._discs, *self._paths]
