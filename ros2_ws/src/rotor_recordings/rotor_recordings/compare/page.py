"""The report of a comparison: one HTML file with linked plots, and the figures as JSON and CSV beside it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from rotor_flight.reports.folder import write_json
from rotor_recordings.compare.comparison import Comparison
from rotor_recordings.linked_plots import AXES, COLOURS, HEIGHT, LinkedPlots, add_axes


def write_report(comparison: Comparison, folder: Path) -> dict:
    """Write report.html, summary.json and errors.csv; returns the summary."""
    summary = comparison.summary()
    write_json(folder / "summary.json", summary)
    _write_csv(comparison, folder / "errors.csv")
    (folder / "report.html").write_text(_page(comparison, summary))
    return summary


def _write_csv(comparison: Comparison, path: Path) -> None:
    columns: dict[str, np.ndarray] = {}
    for name, body in comparison.bodies.items():
        columns.setdefault("time_s", body.time)
        for values, what in ((body.sim, "sim"), (body.real, "real"), (body.position, "error")):
            columns |= {f"{name}_{what}_{a}_m": values[:, i] for i, a in enumerate(AXES)}
        if body.attitude is not None:
            columns |= {
                f"{name}_attitude_error_{a}_rad": body.attitude[:, i] for i, a in enumerate(AXES)
            }
    for name, cable in comparison.cables.items():
        for motion, what in ((cable.sim, "sim"), (cable.real, "real")):
            columns |= {
                f"{name}_{what}_distance_m": motion.distances,
                f"{name}_{what}_tension_n": motion.tensions,
            }
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(
            zip(
                *(["" if np.isnan(v) else f"{v:.9g}" for v in c] for c in columns.values()),
                strict=True,
            )
        )


def rows_of(summary: dict) -> list[tuple[str, str]]:
    """Rows (what, value) for people, from a summary."""

    def number(value: float | None, unit: str, scale: float = 1.0, digits: int = 2) -> str:
        return "-" if value is None or value != value else f"{scale * value:.{digits}f} {unit}"

    a = summary["alignment"]
    turn, shift = (
        np.linalg.norm(a["rotation_vector_deg"]),
        ", ".join(f"{v:.3f}" for v in a["translation_m"]),
    )
    sure = summary["time_offset_correlation"]
    how = "as given" if sure != sure else f"correlation of speeds {sure:.3f}"
    rows = [
        ("simulated", f"{summary['sim']['path']} ({summary['sim']['kind']})"),
        ("real", f"{summary['real']['path']} ({summary['real']['kind']})"),
        ("time offset", f"{summary['time_offset_s']:+.4f} s ({how})"),
        ("alignment", f"{a['kind']}: {turn:.2f} deg, ({shift}) m"),
    ]
    for body, place in a["markers_m"].items():
        rows.append(
            (f"{body}: origin in its markers", f"({', '.join(f'{1e3 * v:.1f}' for v in place)}) mm")
        )
    for body, f in summary["bodies"].items():
        xyz = ", ".join(f"{1e3 * v:.1f}" for v in f["position_rmse_xyz_m"])
        if f["poses"]:
            span = f"{f['from_s']:.2f} .. {f['to_s']:.2f} s, {f['poses']} poses"
            rows.append((f"{body}: compared", span))
        rows.append(
            (
                f"{body}: position RMSE",
                f"{number(f['position_rmse_m'], 'mm', 1e3, 1)} (x y z: {xyz})",
            )
        )
        rows.append((f"{body}: largest", number(f["position_error_max_m"], "mm", 1e3, 1)))
        if f["attitude_rmse_deg"] is not None:
            mean = ", ".join(f"{v:.2f}" for v in f["attitude_mean_deg"])
            rows.append(
                (
                    f"{body}: attitude RMSE",
                    f"{number(f['attitude_rmse_deg'], 'deg')} (mean x y z: {mean})",
                )
            )
        if f["rate_rmse_deg_s"] is not None:
            rows.append((f"{body}: rate RMSE", number(f["rate_rmse_deg_s"], "deg/s", 1.0, 1)))
    for name, c in summary["cables"].items():
        lengths = (
            f"{number(c['sim']['length_median_m'], 'm', 1.0, 4)} and "
            f"{number(c['real']['length_median_m'], 'm', 1.0, 4)}"
        )
        rows.append((f"{name}: length", f"{lengths} (rest {c['rest_length_m']:.4f} m)"))
        if c["tension_rmse_n"] is not None:
            rows.append((f"{name}: tension RMSE", number(c["tension_rmse_n"], "N", 1.0, 4)))
        for side in ("sim", "real"):
            spans = c[side]["slack_intervals_s"]
            if spans:
                rows.append(
                    (f"{name}: slack in {side}", ", ".join(f"{b:.2f}..{e:.2f} s" for b, e in spans))
                )
    for body, measures in summary["evo"].items():
        units = {"ape_m": ("mm", 1e3), "ape_deg": ("deg", 1.0), "rpe_1s_m": ("mm", 1e3)}
        for measure, values in measures.items():
            rows.append(
                (
                    f"{body}: evo {measure.rpartition('_')[0]} RMSE",
                    number(values["rmse"], *units[measure]),
                )
            )
    return rows


def _page(comparison: Comparison, summary: dict) -> str:
    time = next(iter(comparison.bodies.values())).time
    plots = LinkedPlots(time[0], time[-1])
    for name, body in comparison.bodies.items():
        path = plots.over_time(f"{name}: position", "m")
        add_axes(path, time, body.real, "{} real", line_dash="dashed")
        add_axes(path, time, body.sim, "{} simulated")
        error = plots.over_time(f"{name}: simulated minus real", "mm")
        add_axes(error, time, 1e3 * body.position, "{}")
        distance = 1e3 * np.linalg.norm(body.position, axis=1)
        error.line(time, distance, color="black", legend_label="distance")
        if body.attitude is not None:
            turn = plots.over_time(f"{name}: attitude error", "deg")
            add_axes(turn, time, np.degrees(body.attitude), "{}")
    if comparison.cables:
        length = plots.over_time("Cables: distance of their ends", "m")
        tension = plots.over_time("Cables: tension", "N")
        for k, (name, cable) in enumerate(comparison.cables.items()):
            for motion, dash, side in (
                (cable.sim, "solid", "simulated"),
                (cable.real, "dashed", "real"),
            ):
                label, style = f"{name} {side}", {"color": COLOURS[k % 10], "line_dash": dash}
                length.line(time, motion.distances, legend_label=label, **style)
                if np.isfinite(motion.tensions).any():
                    tension.line(time, motion.tensions, legend_label=label, **style)
    spectrum = plots.other(
        title="Spectrum of the position error", height=HEIGHT, x_axis_type="log", y_axis_type="log",
        x_axis_label="Hz", y_axis_label="m^2/Hz",
    )  # fmt: skip
    for k, (name, body) in enumerate(comparison.bodies.items()):
        frequency, density = body.spectrum()
        if len(density) > 1:
            known = np.maximum(density[1:], 1e-14)
            spectrum.line(frequency[1:], known, color=COLOURS[k % 10], legend_label=name)
    notes = [("note", text) for text in comparison.notes]
    return plots.page(title="Simulated and real", rows=[*rows_of(summary), *notes])
