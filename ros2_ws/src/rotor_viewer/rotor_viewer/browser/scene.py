"""A scenario in the browser: handles that are made once and moved by their poses."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import trimesh
import viser
from scipy.spatial.transform import Rotation
from transforms3d.euler import euler2quat

from rotor_core.config.schema import Scenario
from rotor_core.config.teams import teams
from rotor_core.math.rotations import rotation_to
from rotor_core.reference import Reference
from rotor_core.state import Pose
from rotor_flight.flight import Flight
from rotor_sim.shapes.body_poses import BodyPoses
from rotor_sim.shapes.cable_ways import SAG_POINTS, cable_points, drawn_length, drawn_path, laid
from rotor_sim.shapes.shapes import (
    DISC_COLOUR,
    SLACK_COLOUR,
    TAUT_COLOUR,
    THRUST_COLOUR,
    Colour,
    Shape,
    arm_shapes,
    scenario_shapes,
    thrust_scale,
)
from rotor_viewer.browser.world import World
from rotor_viewer.snapshots.snapshot import Snapshot, known_rotations

CABLE_RADIUS = 0.004
"""Of a drawn cable, m."""

HIDDEN = (0.0, 0.0, -1000.0)
"""Position of hidden objects: recordings keep poses, and not much else."""

TRAIL_COLOUR: Colour = (0.95, 0.45, 0.10, 1.0)
GOAL_COLOUR: Colour = (0.10, 0.65, 0.30, 0.6)
PATH_COLOUR: Colour = (0.35, 0.35, 0.40, 1.0)

TAUT_AT_NIGHT: Colour = (0.85, 0.87, 0.90, 1.0)

CHORD = 1e-3
"""Largest distance of a drawn path from the flown one, in its extent: every piece costs a browser time."""

UNIT_ARROW = 0.5
"""Length of the arrow that thrusts scale, m."""


def rgb(colour: Colour) -> tuple[int, int, int]:
    """0..255."""
    return tuple(round(255 * c) for c in colour[:3])  # type: ignore[return-value]


def side_of(triangles: np.ndarray) -> Literal["front", "double"]:
    """Which sides of a mesh are drawn, (n, 3, 3) m: of a closed one those outside.

    Its backs cast the shadow then. Faces that are seen would throw it on themselves, in stripes.
    """
    mesh = trimesh.Trimesh(**trimesh.triangles.to_kwargs(triangles))
    return "front" if mesh.is_volume else "double"


class Scene:
    """All that is drawn of a scenario.

    Args:
        server: of the page.
        scenario: what is drawn.
        root: name below which all nodes are.
        has_labels: whether names stand beside what flies; pictures that a program asks for show them too large.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        scenario: Scenario,
        root: str = "/rotor",
        *,
        has_labels: bool = True,
    ) -> None:
        self._server, self._scenario, self._root = server, scenario, root
        model = scenario.model
        self._poses = BodyPoses(scenario)
        scene = server.scene
        grounded = scenario.environment.contact is not None
        self._world = World(server, root, scenario.environment.ground_m if grounded else 0.0)
        self._frames = [
            scene.add_frame(self._node(name), show_axes=False) for name in self._poses.names
        ]
        counts: dict[str, int] = {}
        for shape in [
            *scenario_shapes(scenario),
            *(s for v in model.vehicles for s in arm_shapes(v)),
        ]:
            if shape.group == "ground":  # the world has one
                continue
            if shape.kind == "text" and not has_labels:
                continue
            number = counts[shape.body] = counts.get(shape.body, 0) + 1
            place = root if shape.body == "world" else self._node(shape.body)
            self._add(shape, f"{place}/{shape.group}_{number}")
        rows = {name: i for i, name in enumerate(self._poses.names)}
        self._paths = [
            [(rows.get(name, -1), point) for name, point in drawn_path(c, n)]
            for c, n in zip(model.cables, model.cable_names, strict=True)
        ]
        self._cables = [
            self._cable(k, len(laid(np.zeros((len(path), 3)), c)) - 1)
            for k, (path, c) in enumerate(zip(self._paths, model.cables, strict=True))
        ]
        self._arrows = [self._arrow(v.name) for v in model.vehicles]
        self._arrow_scale = thrust_scale(scenario)
        self._discs = [
            self._disc(v.name, v.helicopter.main_rotor.radius_m) if v.helicopter else None
            for v in model.vehicles
        ]
        self._goals = [
            scene.add_icosphere(
                f"{root}/goals/{t.entity}", 0.03, rgb(GOAL_COLOUR), opacity=0.6, position=HIDDEN
            )
            for t in teams(model)
        ]

    def _node(self, body: str) -> str:
        """Name of a body's frame; a slash would hang a link below its vehicle, and its pose is in the world."""
        return f"{self._root}/bodies/{body.replace('/', '.')}"

    def _add(self, shape: Shape, name: str) -> None:
        scene = self._server.scene
        opacity = shape.colour[3] if shape.colour[3] < 1.0 else None
        common: dict[str, Any] = {
            "color": rgb(shape.colour), "opacity": opacity, "position": shape.position,
            "wxyz": euler2quat(*shape.rpy),
        }  # fmt: skip
        if shape.kind == "box":
            scene.add_box(name, dimensions=shape.size, **common)
        elif shape.kind == "cylinder":
            scene.add_cylinder(name, 0.5 * shape.size[0], shape.size[2], **common)
        elif shape.kind == "sphere":
            scene.add_icosphere(name, 0.5 * shape.size[0], **common)
        elif shape.kind == "mesh":
            points = shape.triangles.reshape(-1, 3)
            faces = np.arange(len(points)).reshape(-1, 3)
            scene.add_mesh_simple(
                name, points, faces, flat_shading=True, side=side_of(shape.triangles), **common
            )
        else:
            scene.add_label(name, shape.text, position=shape.position, font_screen_scale=0.7)

    def _cable(self, k: int, parts: int) -> tuple[list[Any], list[Any]]:
        """Pieces of 1 m for a taut cable (one for every part of its path) and a slack one that is not heavy."""
        bends = 0 if self._scenario.model.cables[k].mass_kg_per_m else SAG_POINTS
        add, name = self._server.scene.add_cylinder, f"{self._root}/cables/cable{k + 1}"

        def pieces(what: str, colour: Colour, count: int) -> list[Any]:
            return [
                add(
                    f"{name}/{what}{i}", CABLE_RADIUS, 1.0, rgb(colour), radial_segments=8, position=HIDDEN
                )
                for i in range(count)
            ]  # fmt: skip

        return pieces("taut", TAUT_COLOUR, parts), pieces("slack", SLACK_COLOUR, parts * bends)

    def _arrow(self, name: str) -> Any:
        return self._server.scene.add_cylinder(
            f"{self._root}/thrusts/{name}", 0.006, UNIT_ARROW, rgb(THRUST_COLOUR), opacity=0.8, position=HIDDEN,
            radial_segments=8,
        )  # fmt: skip

    def _disc(self, name: str, radius: float) -> Any:
        return self._server.scene.add_cylinder(
            f"{self._root}/discs/{name}",
            radius,
            0.004,
            rgb(DISC_COLOUR),
            opacity=DISC_COLOUR[3],
            position=HIDDEN,
        )

    def show(self, picture: Snapshot) -> None:
        """Move everything to where it is."""
        poses = self._poses.at(picture.states, picture.joints, picture.masses)
        with self._server.atomic():
            n = len(self._scenario.model.entities)
            known = np.array([bool(np.isfinite(pose).all()) for pose in poses])
            if known[:n].any():
                self._world.follow(Pose(poses).position[:n][known[:n]].mean(axis=0))
            turned = known_rotations(poses)
            poses = np.where(known[:, None], poses, (*HIDDEN, 1.0, 0.0, 0.0, 0.0))
            for frame, pose in zip(self._frames, poses, strict=True):
                frame.position, frame.wxyz = Pose(pose).position, Pose(pose).attitude
            for k, path in enumerate(self._paths):
                points = [
                    r if row < 0 else Pose(poses).position[row] + turned[row].apply(r)
                    for row, r in path
                ]
                gone = bool(len(picture.cut) and picture.cut[k])
                gone |= not all(row < 0 or known[row] for row, _ in path)
                self._show_cable(k, np.array(points), bool(picture.taut[k]), gone)
            for i, arrow in enumerate(self._arrows):
                up = turned[i].apply([0.0, 0.0, 1.0])
                reach = self._arrow_scale * float(picture.thrusts[i]) * known[i]
                self._show_arrow(arrow, Pose(poses).position[i], up, reach)
            self._show_discs(picture, poses, turned)
            for goal, place in zip(self._goals, picture.goals, strict=True):
                goal.position = HIDDEN if np.isnan(place).any() else place

    def _show_cable(self, k: int, path: np.ndarray, taut: bool, cut: bool) -> None:
        whole, pieces = self._cables[k]
        taut = taut or not pieces
        cable = self._scenario.model.cables[k]
        length, path = drawn_length(cable), laid(path, cable)
        line = cable_points(path, length if not taut else 0.0)
        if len(line) == len(path) and not taut:  # as long as it is, but without tension
            parts = [np.linspace(a, b, SAG_POINTS + 1)[1:] for a, b in pairwise(path)]
            line = np.concatenate([path[:1], *parts])
        for handle in (*whole, *pieces):
            handle.position = HIDDEN
        if cut:
            return
        for handle, (start, end) in zip(whole if taut else pieces, pairwise(line), strict=True):
            handle.position, handle.wxyz = (start + end) / 2.0, rotation_to(end - start)
            handle.scale = (1.0, 1.0, max(float(np.linalg.norm(end - start)), 1e-6))

    def _show_arrow(self, arrow: Any, foot: np.ndarray, up: np.ndarray, reach: float) -> None:
        """As long as the thrust is large."""
        if not reach > 1e-3:
            arrow.position = HIDDEN
            return
        arrow.scale = (1.0, 1.0, reach / UNIT_ARROW)
        arrow.position, arrow.wxyz = foot + 0.5 * reach * up, rotation_to(up)

    def _show_discs(self, picture: Snapshot, poses: np.ndarray, turned: Rotation) -> None:
        for i, (vehicle, disc) in enumerate(
            zip(self._scenario.model.vehicles, self._discs, strict=True)
        ):
            if disc is None or vehicle.helicopter is None:
                continue
            rotor, (coning, cosine, sine) = (
                vehicle.helicopter.main_rotor,
                np.nan_to_num(picture.discs[i]),
            )
            normal = turned[i].apply(np.array([cosine, rotor.sense * sine, 1.0]))
            hub = Pose(poses).position[i] + turned[i].apply(np.array(rotor.hub_m))
            # far away with its vehicle, where that is hidden
            disc.position = hub + rotor.radius_m * np.sin(coning) * normal
            disc.wxyz = rotation_to(normal)

    def draw_path(self, name: str, points: np.ndarray, colour: Colour = PATH_COLOUR) -> None:
        """A line through points (n, 3) that stays."""
        known = points[np.isfinite(points).all(axis=1)]
        if len(known) > 1:
            known = known[corners(known, CHORD * float(np.ptp(known, axis=0).max()))]
            segments = np.stack([known[:-1], known[1:]], axis=1)
            self._server.scene.add_line_segments(
                f"{self._root}/paths/{name}", segments, rgb(colour), thickness=0.006
            )

    def see(self, distance: float) -> None:
        """Let a camera see so far, m, without haze."""
        self._world.reach(distance)

    def darken(self, dark: bool) -> None:
        """Night, in which taut cables are light; or day."""
        self._world.show(dark=dark)
        for taut, _ in self._cables:
            for piece in taut:
                piece.color = rgb(TAUT_AT_NIGHT if dark else TAUT_COLOUR)

    def remove_path(self, name: str) -> None:
        """Take the line of this name away, where there is one."""
        self._server.scene.remove_by_name(f"{self._root}/paths/{name}")

    def draw_paths(self, flight: Flight) -> None:
        """Paths of a recorded flight: of all that is planned, and where it should have been."""
        for k, team in enumerate(teams(flight.scenario.model)):
            self.draw_path(team.entity, flight[team.entity].position, TRAIL_COLOUR)
            wanted = Reference(flight.references[:, k]).position
            self.draw_path(f"{team.entity}_reference", wanted)

    def remove(self) -> None:
        """Take everything out of the page."""
        self._server.scene.remove_by_name(self._root)


def corners(path: np.ndarray, tolerance: float) -> np.ndarray:
    """Rows of a path (n, 3) whose polygon passes all of its points within a tolerance, m.

    Source: D. Douglas and T. Peucker, "Algorithms for the reduction of the number of points required to
    represent a digitized line or its caricature", Cartographica 10 (1973).
    """
    kept, parts = {0, len(path) - 1}, [(0, len(path) - 1)]
    while parts:
        first, last = parts.pop()
        chord, offsets = path[last] - path[first], path[first + 1 : last] - path[first]
        if not len(offsets):
            continue
        share = np.clip(offsets @ chord / max(float(chord @ chord), 1e-300), 0.0, 1.0)
        distances = np.linalg.norm(offsets - share[:, None] * chord, axis=1)
        worst = int(distances.argmax())
        if distances[worst] > tolerance:
            middle = first + 1 + worst
            kept.add(middle)
            parts += [(first, middle), (middle, last)]
    return np.array(sorted(kept))
