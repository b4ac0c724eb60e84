"""Pictures and films of a flight by Matplotlib: no browser, no screen."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import trimesh
from matplotlib.animation import FuncAnimation, PillowWriter
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from scipy.spatial.transform import Rotation
from tqdm import tqdm

from rotor_core.state import Pose, State
from rotor_flight.flight import Flight
from rotor_sim.shapes.body_poses import BodyPoses
from rotor_sim.shapes.cable_ways import cable_points, drawn_length, drawn_path, laid
from rotor_sim.shapes.shapes import (
    SLACK_COLOUR,
    TAUT_COLOUR,
    THRUST_COLOUR,
    arm_shapes,
    scenario_shapes,
    thrust_scale,
)
from rotor_viewer.snapshots.snapshot import Snapshot, known_rotations
from rotor_viewer.snapshots.sources import RecordedFlight, planned_names

SECTIONS = 24
"""Sides of a drawn cylinder."""

LIGHT, AMBIENT = np.array([0.35, -0.45, 0.82]), 0.45
"""Direction of the light, and the share of brightness without it."""

TICKS, LABEL_PAD = 5, 10.0
"""Of an axis: its steps at most, and points between its numbers and its name."""

MARGIN = 0.3
"""Around the places of all bodies at least, m: larger ones need room for themselves."""

TRAIL = 2.0
"""Span of the trail behind planned entities, s."""

FASTEST = 25.0
"""Pictures of a film per second: viewers show no more."""


def draw_picture(flight: Flight, at: float, path: Path) -> None:
    """Write a PNG of the instant ``at`` seconds after the start."""
    row = int(np.abs(flight.time - flight.time[0] - at).argmin())
    drawing = _Drawing(flight)
    drawing.draw(row)
    drawing.figure.savefig(path, dpi=130)
    plt.close(drawing.figure)


def draw_film(
    flight: Flight, rate: float, path: Path, *, played: float | None = None, dpi: int = 80
) -> None:
    """Write a GIF or WebP of the whole flight.

    Args:
        flight: what is shown.
        rate: pictures per second of the flight.
        path: ends in ``.gif`` or ``.webp``.
        played: pictures per second of the film; default ``rate``, so that it lasts as long as the flight.
        dpi: of a figure of 8 x 6 inches.
    """
    duration = float(flight.time[-1] - flight.time[0])
    rate = min(rate, FASTEST, len(flight.time) / max(duration, 1e-9))
    if path.suffix.lower() == ".gif":  # keeps hundredths of a second
        rate = 100.0 / math.ceil(100.0 / rate - 1e-6)
    drawing = _Drawing(flight)
    rows = tqdm(
        film_rows(flight, rate).tolist(), desc="film", unit="picture", leave=False, disable=None
    )
    film = FuncAnimation(drawing.figure, drawing.draw, frames=rows)  # type: ignore[arg-type]
    # the format keeps hundredths of a second (GIF) or thousandths: the nearest, where Matplotlib cuts off
    unit = 10 if path.suffix.lower() == ".gif" else 1
    shown = unit * max(1, round(1000.0 / (unit * (played or rate))))
    film.save(path, writer=PillowWriter(fps=1000.0 / (shown + 0.5)), dpi=dpi)  # type: ignore[arg-type]
    plt.close(drawing.figure)


def film_rows(flight: Flight, rate: float) -> np.ndarray:
    """Rows of a flight at a rate of pictures, Hz."""
    times = flight.time - flight.time[0]
    if rate * times[-1] > len(times):
        return np.arange(len(times))
    wanted = np.arange(0.0, times[-1] + 1e-9, 1.0 / rate)
    return np.clip(np.searchsorted(times, wanted - 1e-9), 0, len(times) - 1)


def shown_for(flight: Flight, rows: np.ndarray, rate: float) -> np.ndarray:
    """Time for which the picture of each row is shown, s."""
    return np.append(np.diff(flight.time[rows]), 1.0 / rate)


class _Drawing:
    """A figure that is drawn anew for every row of a flight."""

    def __init__(self, flight: Flight) -> None:
        self._source, self._flight = RecordedFlight(flight), flight
        scenario = flight.scenario
        self._model, self._poses = scenario.model, BodyPoses(scenario)
        self._arrow_scale = thrust_scale(scenario)
        shapes = [
            *scenario_shapes(scenario),
            *(s for v in self._model.vehicles for s in arm_shapes(v)),
        ]
        self._solids = [
            (shape.body, triangles, shape.colour)
            for shape in shapes
            if shape.group != "ground" and (triangles := _triangles(shape)) is not None
        ]
        names = [e.name for e in self._model.entities]
        self._planned = [names.index(n) for n in planned_names(scenario)]
        places = State(flight.states).position.reshape(-1, 3)
        anchors = [p for c in self._model.cables for name, p in c.path if name == "world"]
        standing = [t.reshape(-1, 3) for body, t, _ in self._solids if body == "world"]
        places = np.vstack(
            [places, np.reshape(anchors, (-1, 3)), flight.masses.reshape(-1, 3), *standing]
        )
        places = places[np.isfinite(places).all(axis=1)]
        reach = [
            float(np.linalg.norm(t, axis=2).max()) for body, t, _ in self._solids if body != "world"
        ]
        margin = max([MARGIN, *reach])
        self._low, self._high = places.min(axis=0) - margin, places.max(axis=0) + margin
        self.figure = plt.figure(figsize=(8, 6))
        self._axes: Any = self.figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d")

    def draw(self, row: int) -> list[Any]:
        """Draw a row."""
        axes, picture = self._axes, self._source.at(row)
        axes.clear()
        poses = self._poses.at(picture.states, picture.joints, picture.masses)
        turned = known_rotations(poses)
        rows = {name: i for i, name in enumerate(self._poses.names)}
        self._draw_solids(poses, turned, rows)
        self._draw_cables(picture, poses, turned, rows)
        for i in range(len(self._model.vehicles)):
            if picture.thrusts[i] > 0.0 and np.isfinite(poses[i]).all():
                tip = Pose(poses).position[i] + turned[i].apply(
                    [0.0, 0.0, self._arrow_scale * picture.thrusts[i]]
                )
                axes.plot(
                    *np.array([Pose(poses).position[i], tip]).T,
                    color=THRUST_COLOUR[:3],
                    linewidth=2.0,
                )
        since = np.searchsorted(self._flight.time, self._flight.time[row] - TRAIL)
        for i in self._planned:
            axes.plot(
                *State(self._flight.states).position[since : row + 1, i].T,
                color="C1",
                linewidth=1.0,
            )
        axes.plot(*picture.goals.T, "x", color="C2", markersize=5)
        for set_limit, low, high in zip(
            (axes.set_xlim, axes.set_ylim, axes.set_zlim), self._low, self._high, strict=True
        ):
            set_limit(low, high)
        axes.set_box_aspect(self._high - self._low, zoom=0.85)
        axes.locator_params(nbins=TICKS)
        axes.set_xlabel("x, m", labelpad=LABEL_PAD)
        axes.set_ylabel("y, m", labelpad=LABEL_PAD)
        axes.set_zlabel("z, m", labelpad=LABEL_PAD)
        axes.set_title(f"{self._flight.scenario.name}   {picture.time:.2f} s", y=0.94)
        return []

    def _draw_solids(self, poses: np.ndarray, turned: Rotation, rows: dict[str, int]) -> None:
        """All bodies as one collection of shaded triangles, so that the nearer hide the farther."""
        corners, colours = [], []
        for body, triangles, colour in self._solids:
            i = rows.get(body, -1)
            if i >= 0 and not np.isfinite(poses[i]).all():
                continue
            placed, place = triangles, np.zeros(3)
            if i >= 0:  # else it stands in the world
                placed = turned[i].apply(triangles.reshape(-1, 3)).reshape(-1, 3, 3)
                place = Pose(poses).position[i]
            normals = np.cross(placed[:, 1] - placed[:, 0], placed[:, 2] - placed[:, 0])
            normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
            bright = AMBIENT + (1.0 - AMBIENT) * np.abs(normals @ LIGHT)
            shaded = np.ones((len(placed), 4))
            shaded[:, :3] = bright[:, None] * np.array(colour[:3])
            shaded[:, 3] = colour[3]
            corners.append(placed + place)
            colours.append(shaded)
        if corners:
            solids = Poly3DCollection(np.concatenate(corners), facecolors=np.concatenate(colours))
            self._axes.add_collection3d(solids)

    def _draw_cables(
        self, picture: Snapshot, poses: np.ndarray, turned: Rotation, rows: dict[str, int]
    ) -> None:
        for k, cable in enumerate(self._model.cables):
            if len(picture.cut) and picture.cut[k]:
                continue
            path = [
                np.array(point)
                if name == "world"
                else Pose(poses).position[rows[name]] + turned[rows[name]].apply(point)
                for name, point in drawn_path(cable, self._model.cable_names[k])
            ]
            if not np.isfinite(path).all():
                continue
            taut = bool(picture.taut[k])
            line = cable_points(laid(np.array(path), cable), 0.0 if taut else drawn_length(cable))
            colour = (TAUT_COLOUR if taut else SLACK_COLOUR)[:3]
            self._axes.plot(*line.T, color=colour, linewidth=1.2)


def _triangles(shape: Any) -> np.ndarray | None:
    """Surface of a shape in the frame of its body, (n, 3, 3); None for a text."""
    if shape.kind == "text":
        return None
    turn, centre = Rotation.from_euler("xyz", shape.rpy), np.array(shape.position)
    if shape.kind == "mesh":
        points = np.asarray(shape.triangles, float)
    else:
        if shape.kind == "box":
            solid = trimesh.creation.box(extents=shape.size)
        elif shape.kind == "sphere":
            solid = trimesh.creation.icosphere(subdivisions=2, radius=0.5 * shape.size[0])
        else:
            solid = trimesh.creation.cylinder(0.5 * shape.size[0], shape.size[2], sections=SECTIONS)
        points = np.array(solid.triangles)  # theirs cannot be written, which rotations refuse
    return centre + turn.apply(points.reshape(-1, 3)).reshape(-1, 3, 3)
