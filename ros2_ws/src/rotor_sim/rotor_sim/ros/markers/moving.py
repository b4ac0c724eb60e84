"""Moving RViz markers other than bodies: cables, thrusts, external wrenches, tensions as text."""

from __future__ import annotations

import time as wall
from itertools import pairwise

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from rotor_core.math.rotations import rotation_matrices
from rotor_core.messages.convert import WORLD_FRAME, set_vector
from rotor_core.ros import qos
from rotor_core.state import State
from rotor_sim.ros.markers.bodies import body_markers, colour, marker, point
from rotor_sim.ros.markers.discs import DiscMarkers
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.shapes.shapes import (
    SLACK_COLOUR,
    TAUT_COLOUR,
    THRUST_COLOUR,
    THRUST_SCALE,
    Colour,
    cable_points,
)
from rotor_sim.simulation import Simulation

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
    """Publishers of markers of one simulated world."""

    def __init__(self, entities: Entities, simulation: Simulation) -> None:
        self._simulation = simulation
        self._static = entities.publisher(MarkerArray, "rotor/markers_static", qos.LATCHED)
        self._moving = entities.publisher(MarkerArray, "rotor/markers", qos.COMMAND)
        model = simulation.scenario.model
        self._thrusts = [_arrow("thrust", i, THRUST_COLOUR) for i in range(len(model.vehicles))]
        line = (0.008, 0.0, 0.0)
        self._discs = DiscMarkers(simulation)
        self._cables = marker(WORLD_FRAME, "cable", 0, Marker.LINE_LIST, TAUT_COLOUR, line)
        height = (LETTER_WIDTH * TEXT_HEIGHT, 0.0, TEXT_HEIGHT)
        self._texts = [
            marker(WORLD_FRAME, "text", k, Marker.TEXT_VIEW_FACING, TAUT_COLOUR, height)
            for k in range(len(model.cables))
        ]
        self._lengths = [c.length_m for c in simulation.scenario.model.cables]
        self._pushed: dict[int, Marker] = {}
        rows = {body.name: i for i, body in enumerate(simulation.engine.system.bodies)}
        # the ground is one more body, at rest in the world
        self._ends = np.array(
            [[rows.get(n, len(rows)) for n in (c.a, c.b)] for c in model.cables], int
        )
        self._points = np.array([[c.a_point_m, c.b_point_m] for c in model.cables])
        self._bodies = body_markers(simulation.scenario)
        self._publish_bodies()

    def _publish_bodies(self) -> None:
        self._static.publish(self._bodies)
        self._repeated = wall.perf_counter()

    def clear(self) -> None:
        """Make viewers forget everything that moves, after a reset."""
        self._pushed.clear()
        self._moving.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))

    def publish(self, stamp: Time) -> None:
        """Publish the present state, if anybody looks: of all messages these cost most."""
        if self._moving.get_subscription_count() == 0:
            return
        if wall.perf_counter() - self._repeated > REPEAT_BODIES:
            self._publish_bodies()
        simulation = self._simulation
        motion = simulation.engine.motion  # of links too, which cables may hang from
        rotations = np.concatenate([rotation_matrices(State(motion).attitude), np.eye(3)[None]])
        ups = rotations[: len(self._thrusts), :, 2]
        for i, arrow in enumerate(self._thrusts):
            p, up, thrust = State(motion).position[i], ups[i], simulation.applied[i, 0]
            if i in self._discs.vehicles:
                p, up, thrust = self._discs.thrust(i)
            set_vector(arrow.points[0], p)
            set_vector(arrow.points[1], p + max(THRUST_SCALE * thrust, SHORTEST_ARROW) * up)
        markers = [*self._thrusts, *self._discs.markers(), *self._wrenches(motion)]
        if self._texts:
            positions = np.concatenate([State(motion).position, np.zeros((1, 3))])
            turned = np.einsum("keij,kej->kei", rotations[self._ends], self._points)
            self._draw_cables(positions[self._ends] + turned)
            markers += [self._cables, *self._texts]
        for m in markers:
            m.header.stamp = stamp
        self._moving.publish(MarkerArray(markers=markers))

    def _wrenches(self, motion: np.ndarray) -> list[Marker]:
        acting = self._simulation.externals
        gone = [m for m in self._pushed if m not in acting]
        out = [Marker(ns="wrench", id=m, action=Marker.DELETE) for m in gone]
        for m in gone:
            del self._pushed[m]
        for member, (force, _) in acting.items():
            arrow = self._pushed.setdefault(member, _arrow("wrench", member, WRENCH_COLOUR))
            end = State(motion).position[member]
            reach = THRUST_SCALE * force
            if np.linalg.norm(reach) < SHORTEST_ARROW:
                reach = np.array([0.0, 0.0, SHORTEST_ARROW])
            set_vector(arrow.points[0], end - reach)
            set_vector(arrow.points[1], end)
            out.append(arrow)
        return out

    def _draw_cables(self, ends: np.ndarray) -> None:
        engine = self._simulation.engine
        tensions, taut, alive = engine.tensions, engine.taut, engine.alive
        self._cables.points, self._cables.colors = [], []
        for k, text in enumerate(self._texts):
            set_vector(text.pose.position, ends[k].mean(axis=0) + [0.0, 0.0, 0.05])
            text.text = f"{tensions[k]:.2f} N" if alive[k] else "cut"
            if not alive[k]:
                continue
            rgba = colour(TAUT_COLOUR if taut[k] else SLACK_COLOUR)
            for a, b in pairwise(cable_points(ends[k, 0], ends[k, 1], self._lengths[k])):
                self._cables.points += [point(a), point(b)]
                self._cables.colors += [rgba, rgba]
        self._cables.action = Marker.ADD if self._cables.points else Marker.DELETE


def _arrow(namespace: str, identity: int, rgba: Colour) -> Marker:
    out = marker(WORLD_FRAME, namespace, identity, Marker.ARROW, rgba, (0.015, 0.03, 0.04))
    out.points = [Point(), Point()]
    return out
