"""Pictures of a flight: path in space and time, errors, tensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
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

SHORTEST_AXIS, TICKS, ZOOM = 0.3, 6, 0.85
"""In space: of the longest axis, numbers along it, and what leaves room for its name."""

CUT = {"color": "k", "linestyle": "--"}
OF_CABLES: dict[str, tuple[dict[str, Any], str]] = {
    "snap": ({"color": "C3"}, "snaps red"),
    "slack": ({"color": "0.6"}, "slack grey"),
    "cut": (CUT, "cut dashed"),
    "break": (CUT, "cut dashed"),
}
"""Lines of the events of cables, and what they are called."""


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
    slack, is_cut = flight.slack, flight.is_cut
    for i in np.linspace(0, len(flight.time) - 1, SNAPSHOTS).astype(int):
        paths = cable_paths(model, flight.states[i])
        for k, cable in enumerate(model.cables):
            if "world" in (cable.a, cable.b) or is_cut[i, k]:
                continue
            axes.plot(*paths[k].T, color="C3" if slack[i, k] else "0.2", linewidth=0.8)
            for end, place in ((cable.a, paths[k][0]), (cable.b, paths[k][-1])):
                if any(v.name == end for v in model.vehicles):
                    axes.scatter(*place, color="C0", s=14)
        for payload in model.payloads:
            row = names.index(payload.name)
            label = f"{payload.name}, carried" if i == 0 and row not in planned else None
            _draw_payload(
                axes, payload, flight.states[i, row], "C1" if row in planned else "C2", label
            )
    axes.set(xlabel="x, m", ylabel="y, m", zlabel="z, m")
    figure.suptitle(flight.scenario.name.replace("_", " "))
    _even_out(axes)
    axes.legend(loc="upper left")
    return figure


def _even_out(axes: Any) -> None:
    """One scale for all axes, none of which is so short that its numbers lie upon each other."""
    limits = np.array([axes.get_xlim3d(), axes.get_ylim3d(), axes.get_zlim3d()])
    middle, spans = limits.mean(axis=1), np.ptp(limits, axis=1)
    spans = np.maximum(spans, SHORTEST_AXIS * spans.max())
    ends = np.column_stack([middle - spans / 2.0, middle + spans / 2.0])
    axes.set(xlim=ends[0], ylim=ends[1], zlim=ends[2])
    for axis, share in zip((axes.xaxis, axes.yaxis, axes.zaxis), spans / spans.max(), strict=True):
        axis.set_major_locator(MaxNLocator(max(2, round(TICKS * share))))
    axes.set_box_aspect(spans, zoom=ZOOM)


def _draw_payload(
    axes: Any, payload: Payload, state: np.ndarray, colour: str, label: str | None
) -> None:
    shape = payload.shape
    if isinstance(shape, Sphere):
        axes.scatter(*State(state).position, color=colour, s=30, label=label)
        return
    if isinstance(shape, Plate):
        rings = [np.array([(*corner, 0.0) for corner in (*shape.outline_m, shape.outline_m[0])])]
    else:
        x, y, z = np.array(shape.size_m) / 2.0
        square = np.array([(x, y), (-x, y), (-x, -y), (x, -y), (x, y)])
        rings = [np.column_stack([square, np.full(5, h)]) + shape.offset_m for h in (-z, z)]
    for k, ring in enumerate(rings):
        axes.plot(
            *(State(state).position + ring @ quat2mat(State(state).attitude).T).T,
            color=colour,
            linewidth=1.0,
            label=label if k == 0 else None,
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
    entities = flight.scenario.model.entities
    turning = [i for i, row in enumerate(planned) if entities[row].inertia_kg_m2 is not None]
    figure, axes = plt.subplots(
        2 if turning else 1, 1, sharex=True, figsize=(8, 5 if turning else 3), layout="constrained", squeeze=False
    )  # fmt: skip
    axes = axes[:, 0]
    t = flight.time - flight.time[0]
    for i, row in enumerate(planned):
        error = flight.position_error(i)
        for k in range(3):
            axes[0].plot(t, 1e3 * error[:, k], label=f"{names[row]} {'xyz'[k]}")
        if i in turning:
            axes[1].plot(t, np.degrees(flight.attitude_error(i)), label=names[row])
    axes[0].set(ylabel="position error, mm", title="Reference minus flight")
    if turning:
        axes[1].set(ylabel="attitude error, deg")
    axes[-1].set(xlabel="time, s")
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.legend(**BESIDE)
    return figure


def _tensions(flight: Flight) -> Figure:
    figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
    t = flight.time - flight.time[0]
    for k, cable in enumerate(flight.scenario.model.cables):
        axes.plot(t, flight.tensions[:, k], label=f"cable {k + 1} ({cable.a})")
    seen = []
    for event in flight.events:
        if event.type in OF_CABLES:
            style, name = OF_CABLES[event.type]
            axes.axvline(event.time - flight.time[0], linewidth=0.6, **style)
            seen += [name] if name not in seen else []
    lines = f" (lines: {', '.join(seen)})" if seen else ""
    axes.set(xlabel="time, s", ylabel="tension, N", title=f"Cable tensions{lines}")
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
