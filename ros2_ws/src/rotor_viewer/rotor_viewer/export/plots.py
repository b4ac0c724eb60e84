"""Pictures of a flight: path in space and time, errors, tensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from transforms3d.quaternions import quat2mat

from rotor_core.config.model import Payload, Plate, Sphere
from rotor_core.config.teams import cable_paths, teams
from rotor_core.reference import POSITION
from rotor_core.state import State
from rotor_flight.flight import Flight
from rotor_flight.reports.folder import write_json

REFERENCE_STYLE = {"color": "0.2", "linestyle": (0, (2, 2)), "linewidth": 1.0, "zorder": 3}
COLOURS = plt.rcParams["axes.prop_cycle"].by_key()["color"]
BESIDE: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "fontsize": 8}
"""Legends stand beside the curves, not over them."""

SNAPSHOTS = 6
"""Formations drawn along the path."""


def draw_flight(flight: Flight, folder: Path) -> list[Path]:
    """Write path_3d.png and path.png into ``folder``.

    Also errors.png where anything has a reference, tensions.png with cables, joints.png with arms. Returns their paths.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = {"path_3d": _path_3d(flight), "path": _path(flight)}
    if teams(flight.scenario.model):
        figures["errors"] = _errors(flight)
    if flight.tensions.shape[1]:
        figures["tensions"] = _tensions(flight)
    if flight.joints.size:
        figures["joints"] = _joints(flight)
    out = []
    for name, figure in figures.items():
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=120)
        plt.close(figure)
        out.append(path)
    return out


def write_flight(folder: Path, flight: Flight) -> dict:
    """Write summary.json and the plots of a flight; returns the summary."""
    summary = flight.summary()
    write_json(folder / "summary.json", summary)
    draw_flight(flight, folder)
    return summary


def _entity_rows(flight: Flight) -> tuple[list[str], list[int]]:
    names = [e.name for e in flight.scenario.model.entities]
    return names, [names.index(t.entity) for t in teams(flight.scenario.model)]


def _path_3d(flight: Flight) -> Figure:
    figure = plt.figure(figsize=(8, 6), layout="constrained")
    axes = figure.add_subplot(projection="3d")
    names, planned = _entity_rows(flight)
    model = flight.scenario.model
    for i in range(len(planned)):
        r = flight.references[:, i, POSITION : POSITION + 3]
        axes.plot(*r.T, label="reference" if i == 0 else None, **REFERENCE_STYLE)
    for row in planned or range(len(names)):
        axes.plot(
            *State(flight.states).position[:, row].T, color="C1", linewidth=1.6, label=names[row]
        )
    for j, vehicle in enumerate(model.vehicles):
        row = names.index(vehicle.name)
        if row not in planned:
            axes.plot(
                *State(flight.states).position[:, row].T,
                color="C0",
                alpha=0.5 + 0.1 * (j % 3),
                linewidth=0.8,
                label="vehicles" if j == 0 else None,
            )
    for i in np.linspace(0, len(flight.time) - 1, SNAPSHOTS).astype(int):
        paths = cable_paths(model, flight.states[i])
        for k, cable in enumerate(model.cables):
            if "world" in (cable.a, cable.b):
                continue
            axes.plot(*paths[k].T, color="0.2" if flight.taut[i, k] else "C3", linewidth=0.8)
            axes.scatter(*paths[k][0], color="C0", s=14)
        for payload in model.payloads:
            _draw_payload(axes, payload, flight.states[i, names.index(payload.name)])
    axes.set(xlabel="x, m", ylabel="y, m", zlabel="z, m")
    figure.suptitle(flight.scenario.name.replace("_", " "))
    axes.set_aspect("equal")
    axes.legend(loc="upper left")
    return figure


def _draw_payload(axes: Any, payload: Payload, state: np.ndarray) -> None:
    shape = payload.shape
    if isinstance(shape, Sphere):
        axes.scatter(*State(state).position, color="C1", s=30)
        return
    if isinstance(shape, Plate):
        rings = [np.array([(*corner, 0.0) for corner in (*shape.outline_m, shape.outline_m[0])])]
    else:
        x, y, z = np.array(shape.size_m) / 2.0
        square = np.array([(x, y), (-x, y), (-x, -y), (x, -y), (x, y)])
        rings = [np.column_stack([square, np.full(5, h)]) + shape.offset_m for h in (-z, z)]
    for ring in rings:
        axes.plot(
            *(State(state).position + ring @ quat2mat(State(state).attitude).T).T,
            color="C1",
            linewidth=1.0,
        )


def _path(flight: Flight) -> Figure:
    names, planned = _entity_rows(flight)
    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(8, 6), layout="constrained")
    t = flight.time - flight.time[0]
    for k, axis in enumerate(axes):
        for i, row in enumerate(planned or range(len(names))):
            axis.plot(
                t, flight.states[:, row, k], color=COLOURS[i % len(COLOURS)], label=names[row]
            )
        for i in range(len(planned)):
            axis.plot(
                t,
                flight.references[:, i, POSITION + k],
                label="reference" if i == 0 else None,
                **REFERENCE_STYLE,
            )
        axis.set_ylabel(f"{'xyz'[k]}, m")
        axis.grid(alpha=0.3)
    axes[0].legend(**BESIDE)
    axes[0].set_title("Position and reference" if planned else "Position")
    axes[-1].set_xlabel("time, s")
    return figure


def _errors(flight: Flight) -> Figure:
    names, planned = _entity_rows(flight)
    figure, axes = plt.subplots(2, 1, sharex=True, figsize=(8, 5), layout="constrained")
    t = flight.time - flight.time[0]
    for i, row in enumerate(planned):
        error = flight.position_error(i)
        for k in range(3):
            axes[0].plot(t, 1e3 * error[:, k], label=f"{names[row]} {'xyz'[k]}")
        axes[1].plot(t, np.degrees(flight.attitude_error(i)), label=names[row])
    axes[0].set(ylabel="position error, mm", title="Reference minus flight")
    axes[1].set(ylabel="attitude error, deg", xlabel="time, s")
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.legend(**BESIDE)
    return figure


def _tensions(flight: Flight) -> Figure:
    figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
    t = flight.time - flight.time[0]
    for k, cable in enumerate(flight.scenario.model.cables):
        axes.plot(t, flight.tensions[:, k], label=f"cable {k + 1} ({cable.a})")
    for event in flight.events:
        axes.axvline(
            event.time - flight.time[0],
            color="C3" if event.type == "snap" else "0.6",
            linewidth=0.6,
        )
    axes.set(
        xlabel="time, s",
        ylabel="tension, N",
        title="Cable tensions" + (" (lines: snaps red, slack grey)" if flight.events else ""),
    )
    axes.grid(alpha=0.3)
    axes.legend(**BESIDE)
    return figure


def _joints(flight: Flight) -> Figure:
    names = flight.scenario.model.joint_names
    figure, axes = plt.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
    t = flight.time - flight.time[0]
    for i, name in enumerate(names):
        axes[0].plot(t, flight.joints[:, i, 0], color=f"C{i}", label=name)
        if flight.joint_references.size:
            axes[0].plot(t, flight.joint_references[:, i, 0], **REFERENCE_STYLE)
        if flight.efforts.size:
            axes[1].plot(t, flight.efforts[:, i], color=f"C{i}")
    axes[0].set_ylabel("angle, rad (travel, m)")
    axes[0].legend(**BESIDE)
    axes[1].set(xlabel="time, s", ylabel="commanded effort, N m (N)")
    return figure
