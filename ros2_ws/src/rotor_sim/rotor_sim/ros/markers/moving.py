"""Moving RViz markers other than bodies: cables, thrusts, external wrenches, tensions as text."""

from __future__ import annotations

import time as wall
from itertools import pairwise

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from rotor_core.config.schema import Scenario
from rotor_core.math.rotations import rotation_matrices
from rotor_core.messages.convert import WORLD_FRAME, set_vector
from rotor_core.ros import qos
from rotor_core.state import Pose
from rotor_sim.ros.markers.bodies import body_markers, colour, marker, point
from rotor_sim.ros.markers.discs import DiscMarkers
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.shapes.cable_ways import cable_points, drawn_length, drawn_path, laid
from rotor_sim.shapes.scene import CUT, Scene
from rotor_sim.shapes.shapes import (
    SLACK_COLOUR,
    TAUT_COLOUR,
    THRUST_COLOUR,
    Colour,
    thrust_scale,
)

WRENCH_COLOUR: Colour = (0.80, 0.10, 0.60, 0.9)

TEXT_HEIGHT = 0.06
"""Of capital letters, m."""

LETTER_WIDTH = 0.3
"""Over their height; where it is 0 rviz2 spaces words as letters of 1 m would need."""

REPEAT_BODIES = 2.0
"""Bodies are latched, and repeated: rviz2 drops them at a jump of time and does not subscribe anew, s of wall time."""

SHORTEST_ARROW = 1e-3
"""RViz complains of arrows without length, m."""


class MarkerPublisher:
    """Publishers of the markers of one scenario."""

    def __init__(self, entities: Entities, scenario: Scenario) -> None:
        self._static = entities.publisher(MarkerArray, "rotor/markers_static", qos.LATCHED)
        self._moving = entities.publisher(MarkerArray, "rotor/markers", qos.COMMAND)
        self._model = model = scenario.model
        self._thrusts = [_arrow("thrust", i, THRUST_COLOUR) for i in range(len(model.vehicles))]
        self._scale = thrust_scale(scenario)
        line = (0.008, 0.0, 0.0)
        self._discs = DiscMarkers(model)
        self._cables = marker(WORLD_FRAME, "cable", 0, Marker.LINE_LIST, TAUT_COLOUR, line)
        height = (LETTER_WIDTH * TEXT_HEIGHT, 0.0, TEXT_HEIGHT)
        self._texts = [
            marker(WORLD_FRAME, "text", k, Marker.TEXT_VIEW_FACING, TAUT_COLOUR, height)
            for k in range(len(model.cables))
        ]
        self._cable_keys = model.cables
        self._lengths = [drawn_length(c) for c in model.cables]
        self._paths = [
            drawn_path(c, n) for c, n in zip(model.cables, model.cable_names, strict=True)
        ]
        self._pushed: dict[int, Marker] = {}
        self._bodies = body_markers(scenario)
        self._publish_bodies()

    def _publish_bodies(self) -> None:
        self._static.publish(self._bodies)
        self._repeated = wall.perf_counter()

    def clear(self) -> None:
        """Make viewers forget everything that moves, after a reset."""
        self._pushed.clear()
        self._moving.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))

    def publish(self, stamp: Time, scene: Scene) -> None:
        """Publish a scene, if anybody looks."""
        if self._moving.get_subscription_count() == 0:
            return
        if wall.perf_counter() - self._repeated > REPEAT_BODIES:
            self._publish_bodies()
        # the ground is one more body, at rest in the world
        places = np.concatenate([Pose(scene.poses).position, np.zeros((1, 3))])
        rotations = np.concatenate([rotation_matrices(Pose(scene.poses).attitude), np.eye(3)[None]])
        ups = rotations[: len(self._thrusts), :, 2]
        for i, arrow in enumerate(self._thrusts):
            p, up, reach = places[i], ups[i], self._scale * scene.thrusts[i]
            if i in self._discs.vehicles:
                p, up, thrust = self._discs.thrust(scene, i)
                reach = self._scale * thrust
            set_vector(arrow.points[0], p)
            set_vector(arrow.points[1], p + max(reach, SHORTEST_ARROW) * up)
        markers = [*self._thrusts, *self._discs.markers(scene), *self._wrenches(scene)]
        if self._texts:
            rows = {name: i for i, name in enumerate(scene.bodies)}
            paths = []
            for path in self._paths:
                at = [rows.get(name, len(rows)) for name, _ in path]
                points = np.array([point for _, point in path])
                paths.append(places[at] + np.einsum("eij,ej->ei", rotations[at], points))
            self._draw_cables(paths, scene)
            markers += [self._cables, *self._texts]
        for m in markers:
            m.header.stamp = stamp
        self._moving.publish(MarkerArray(markers=markers))

    def _wrenches(self, scene: Scene) -> list[Marker]:
        acting = {int(i): scene.pushes[i] for i in np.flatnonzero(scene.pushes.any(axis=1))}
        gone = [m for m in self._pushed if m not in acting]
        out = [Marker(ns="wrench", id=m, action=Marker.DELETE) for m in gone]
        for m in gone:
            del self._pushed[m]
        for member, force in acting.items():
            arrow = self._pushed.setdefault(member, _arrow("wrench", member, WRENCH_COLOUR))
            end = Pose(scene.poses).position[member]
            reach = self._scale * force
            if np.linalg.norm(reach) < SHORTEST_ARROW:
                reach = np.array([0.0, 0.0, SHORTEST_ARROW])
            set_vector(arrow.points[0], end - reach)
            set_vector(arrow.points[1], end)
            out.append(arrow)
        return out

    def _draw_cables(self, paths: list[np.ndarray], scene: Scene) -> None:
        alive, taut = scene.taut != CUT, scene.taut > 0.0
        self._cables.points, self._cables.colors = [], []
        for k, text in enumerate(self._texts):
            set_vector(text.pose.position, paths[k].mean(axis=0) + [0.0, 0.0, 0.05])
            text.text = f"{scene.tensions[k]:.2f} N" if alive[k] else "cut"
            if not alive[k]:
                continue
            rgba = colour(TAUT_COLOUR if taut[k] else SLACK_COLOUR)
            for a, b in pairwise(
                cable_points(laid(paths[k], self._cable_keys[k]), self._lengths[k])
            ):
                self._cables.points += [point(a), point(b)]
                self._cables.colors += [rgba, rgba]
        self._cables.action = Marker.ADD if self._cables.points else Marker.DELETE


def _arrow(namespace: str, identity: int, rgba: Colour) -> Marker:
    out = marker(WORLD_FRAME, namespace, identity, Marker.ARROW, rgba, (0.015, 0.03, 0.04))
    out.points = [Point(), Point()]
    return out
