"""Rotor discs as markers: a disc in the plane of the blade tips, and the path of the tips with flapping magnified."""

from __future__ import annotations

import numpy as np
from transforms3d.quaternions import mat2quat, quat2mat
from visualization_msgs.msg import Marker

from rotor_core.config.model import Model
from rotor_core.messages.convert import WORLD_FRAME, set_quaternion, set_vector
from rotor_core.state import Pose
from rotor_sim.ros.markers.bodies import marker, point
from rotor_sim.shapes.scene import Scene
from rotor_sim.shapes.shapes import DISC_COLOUR, Colour

PATH_COLOUR: Colour = (0.90, 0.35, 0.10, 1.0)

MAGNIFIED = 10.0
"""Flap angles of the drawn path over true ones; those of the disc are true."""

POINTS = 48
SHORT = 0.25
"""Thrust arrows over those of small rotors: a helicopter lifts ten kilograms."""
THICKNESS = 0.004
"""Of the disc, m."""


class DiscMarkers:
    """Markers of the main rotors of a scenario.

    Attributes:
        vehicles: rows of the helicopters.
    """

    def __init__(self, model: Model) -> None:
        self.vehicles = [i for i, v in enumerate(model.vehicles) if v.helicopter is not None]
        self._hubs = [f"{model.vehicles[row].name}/hub" for row in self.vehicles]
        self._rotors = [model.vehicles[row].helicopter.main_rotor for row in self.vehicles]
        self._discs, self._paths = [], []
        for i, rotor in enumerate(self._rotors):
            size = 2.0 * rotor.radius_m
            disc = (size, size, THICKNESS)
            self._discs.append(marker(WORLD_FRAME, "disc", i, Marker.CYLINDER, DISC_COLOUR, disc))
            line = (0.01, 0.0, 0.0)
            self._paths.append(
                marker(WORLD_FRAME, "tip_path_x10", i, Marker.LINE_STRIP, PATH_COLOUR, line)
            )

    def _frame(self, scene: Scene, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Place of hub i and attitude of its fuselage in W."""
        hub = scene.bodies.index(self._hubs[i])
        poses = Pose(scene.poses)
        return poses.position[hub], quat2mat(poses.attitude[self.vehicles[i]])

    def _normal(self, scene: Scene, i: int) -> np.ndarray:
        """Normal of disc i in the frame of the fuselage."""
        _, cosine, sine, _ = scene.discs[i]
        # up at the tail leans ahead; up a quarter turn after the tail leans away from that side
        normal = np.array([cosine, self._rotors[i].sense * sine, 1.0])
        return normal / np.linalg.norm(normal)

    def thrust(self, scene: Scene, vehicle: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Hub, direction and drawn size of the thrust of the helicopter in a row of vehicles."""
        i = self.vehicles.index(vehicle)
        p, R = self._frame(scene, i)
        return p, R @ self._normal(scene, i), SHORT * float(scene.discs[i, 3])

    def markers(self, scene: Scene) -> list[Marker]:
        """Discs and paths of a scene."""
        for i, rotor in enumerate(self._rotors):
            coning, cosine, sine, _ = scene.discs[i]
            p, R = self._frame(scene, i)
            z = R @ self._normal(scene, i)
            x = R[:, 0] - (R[:, 0] @ z) * z
            x /= np.linalg.norm(x)
            centre = p + rotor.radius_m * np.sin(coning) * z
            disc, line = self._discs[i], self._paths[i]
            set_vector(disc.pose.position, centre)
            set_quaternion(
                disc.pose.orientation, mat2quat(np.stack([x, np.cross(z, x), z], axis=1))
            )
            psi = np.linspace(0.0, 2.0 * np.pi, POINTS + 1)
            flap = coning + cosine * np.cos(psi) + sine * np.sin(psi)
            r = rotor.radius_m
            ring = np.stack(
                [-r * np.cos(psi), -rotor.sense * r * np.sin(psi), r * np.sin(MAGNIFIED * flap)],
                axis=1,
            )
            line.points = [point(p + R @ tip) for tip in ring]
        return [*self._discs, *self._paths]
