"""Pictures and films of a flight by Matplotlib: no browser, no screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from scipy.spatial.transform import Rotation

from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.state import Pose, State
from rotor_flight.flight import Flight
from rotor_sim.shapes.body_poses import BodyPoses
from rotor_sim.shapes.shapes import (
    SLACK_COLOUR,
    TAUT_COLOUR,
    THRUST_COLOUR,
    THRUST_SCALE,
    cable_points,
    scenario_shapes,
)
from rotor_viewer.snapshots.snapshot import Snapshot
from rotor_viewer.snapshots.sources import RecordedFlight, planned_names

RING = np.linspace(0.0, 2.0 * np.pi, 25)
MARGIN = 0.3
"""Around everything that is drawn, m."""

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


def draw_film(flight: Flight, rate: float, path: Path) -> None:
    """Write a GIF of the whole flight."""
    rate = min(rate, FASTEST)
    drawing = _Drawing(flight)
    film = FuncAnimation(drawing.figure, drawing.draw, frames=film_rows(flight, rate).tolist())  # type: ignore[arg-type]
    film.save(path, writer=PillowWriter(fps=rate), dpi=80)
    plt.close(drawing.figure)


def film_rows(flight: Flight, rate: float) -> np.ndarray:
    """Rows of a flight at a rate of pictures, Hz."""
    times = flight.time - flight.time[0]
    if rate * times[-1] > len(times):
        return np.arange(len(times))
    wanted = np.arange(0.0, times[-1] + 1e-9, 1.0 / rate)
    return np.clip(np.searchsorted(times, wanted - 1e-9), 0, len(times) - 1)


class _Drawing:
    """A figure that is drawn anew for every row of a flight."""

    def __init__(self, flight: Flight) -> None:
        self._source, self._flight = RecordedFlight(flight), flight
        scenario = flight.scenario
        self._model, self._poses = scenario.model, BodyPoses(scenario)
        self._outlines = [
            (shape.body, points, shape.colour[:3])
            for shape in scenario_shapes(scenario)
            if shape.body != "world" and (points := _outline(shape)) is not None
        ]
        names = [e.name for e in self._model.entities]
        self._planned = [names.index(n) for n in planned_names(scenario)]
        places = State(flight.states).position.reshape(-1, 3)
        places = places[np.isfinite(places).all(axis=1)]
        self._low, self._high = places.min(axis=0) - MARGIN, places.max(axis=0) + MARGIN
        self.figure = plt.figure(figsize=(8, 6))
        self._axes: Any = self.figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d")

    def draw(self, row: int) -> list[Any]:
        """Draw a row."""
        axes, picture = self._axes, self._source.at(row)
        axes.clear()
        poses = self._poses.at(picture.states, picture.joints)
        turned = rotation_from(Pose(poses).attitude)
        rows = {name: i for i, name in enumerate(self._poses.names)}
        for body, points, colour in self._outlines:
            i = rows[body]
            for line in points:
                axes.plot(
                    *(Pose(poses).position[i] + turned[i].apply(line)).T,
                    color=colour,
                    linewidth=1.2,
                )
        self._draw_cables(picture, poses, turned, rows)
        for i in range(len(self._model.vehicles)):
            if picture.thrusts[i] > 0.0:
                tip = Pose(poses).position[i] + turned[i].apply(
                    [0.0, 0.0, THRUST_SCALE * picture.thrusts[i]]
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
        axes.set_box_aspect(self._high - self._low)
        axes.set(xlabel="x / m", ylabel="y / m", zlabel="z / m")
        axes.set_title(f"{self._flight.scenario.name}   {picture.time:.2f} s", y=0.94)
        return []

    def _draw_cables(
        self, picture: Snapshot, poses: np.ndarray, turned: Rotation, rows: dict[str, int]
    ) -> None:
        for k, cable in enumerate(self._model.cables):
            if len(picture.cut) and picture.cut[k]:
                continue
            a, b = (
                np.array(point)
                if name == "world"
                else Pose(poses).position[rows[name]] + turned[rows[name]].apply(point)
                for name, point in ((cable.a, cable.a_point_m), (cable.b, cable.b_point_m))
            )
            taut = bool(picture.taut[k])
            line = cable_points(a, b, 0.0 if taut else cable.length_m)
            colour = (TAUT_COLOUR if taut else SLACK_COLOUR)[:3]
            self._axes.plot(*line.T, color=colour, linewidth=1.2)


def _outline(shape: Any) -> list[np.ndarray] | None:
    """Lines in the frame of the body: edges of boxes and meshes, rings of round things."""
    if shape.kind == "text":
        return None
    turn, centre = Rotation.from_euler("xyz", shape.rpy), np.array(shape.position)
    half = 0.5 * np.array(shape.size)
    if shape.kind == "mesh":
        return [triangle[[0, 1, 2, 0]] for triangle in shape.triangles]
    if shape.kind == "box":
        square = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1)]) * half[:2]
        lines = [np.column_stack([square, np.full(5, z)]) for z in (-half[2], half[2])]
    else:
        ring = np.column_stack(
            [half[0] * np.cos(RING), half[1] * np.sin(RING), np.zeros(len(RING))]
        )
        lines = [ring]
        if shape.kind == "sphere":
            lines += [ring[:, [0, 2, 1]], ring[:, [2, 0, 1]]]
    return [centre + turn.apply(line) for line in lines]
