"""Report of a study: figures, distributions, sensitivities, and the worst flights as scenarios to fly again."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import jinja2
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from tabulate import tabulate

from rotor_core.config.loader import dump_scenario
from rotor_core.errors import ConfigError
from rotor_flight.reports.folder import write_json
from rotor_flight.reports.html_page import html_page
from rotor_flight.studies.chunk import ABOUT, FINER
from rotor_flight.studies.run import Sweep
from rotor_flight.studies.sensitivity import by_chance, first_order, rank_correlation
from rotor_sim.judging.verdict import Verdict

QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)
SHOWN = 0.005
"""Shares of the variance below this have no sign in the picture."""

MARKDOWN: dict = {"tablefmt": "github", "disable_numparse": True}
"""Style of tables."""


def write_report(sweep: Sweep) -> dict:
    """Write summary.json, report.md, report.html, the plots and worst/; returns the summary."""
    study, folder = sweep.job.loaded.study, sweep.folder
    columns = {name: sweep.table[name].to_numpy() for name in sweep.table.column_names}
    varied = [v.label for v in study.vary]
    measured = [n for n in columns if n not in varied and n not in ABOUT]
    spread = {
        name: dict(zip(map(str, QUANTILES), _quantiles(columns[name]), strict=True))
        | {"mean": _mean(columns[name])}
        for name in measured
    }
    decides = {
        metric: {
            name: {
                "first_order": first_order(columns[name], columns[metric]),
                "rank_correlation": rank_correlation(columns[name], columns[metric]),
            }
            for name in varied
        }
        for metric in measured
    }
    failed = int(sum(bool(f) for f in columns["failure"]))
    summary = {
        "scenario": sweep.job.loaded.name,
        "flights": sweep.table.num_rows,
        "failed": failed,
        "verdicts": dict(Counter(Verdict.kind_of(v) for v in columns["verdict"])),
        "wall_time_s": sweep.wall_time,
        "step_s": sweep.job.scenario(0, [float(columns[v][0]) for v in varied]).time.step_s,
        "step_error_max_m": float(np.nanmax(sweep.step_errors))
        if _any(sweep.step_errors)
        else None,
        "step_error_flights": len(sweep.step_errors),
        "metrics": spread,
        "sensitivity": decides,
        "sensitivity_by_chance": by_chance(sweep.table.num_rows),
    }
    summary["worst"] = _write_worst(sweep, columns, varied, measured)
    write_json(folder / "summary.json", summary)
    _draw(folder, columns, varied, measured, decides)
    text = _text(sweep, summary, varied, measured)
    (folder / "report.md").write_text(text)
    (folder / "report.html").write_text(html_page(f"Study of {summary['scenario']}", text, folder))
    return summary


def shown_metrics(columns: dict[str, np.ndarray], measured: list[str]) -> list[str]:
    """Metrics worth a picture: those that differ between flights, and of several with the same values the first."""
    shown: list[str] = []
    for metric in measured:
        values = columns[metric]
        known = values[np.isfinite(values)]
        if not len(known) or known.min() == known.max():
            continue
        if not any(np.array_equal(values, columns[other], equal_nan=True) for other in shown):
            shown.append(metric)
    return shown


def _any(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).any())


def _quantiles(values: np.ndarray) -> list[float]:
    known = values[np.isfinite(values)]
    return [float(np.quantile(known, q)) if len(known) else float("nan") for q in QUANTILES]


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _write_worst(
    sweep: Sweep, columns: dict[str, np.ndarray], varied: list[str], measured: list[str]
) -> list[dict]:
    """Scenarios of the worst flights: those that failed, then those with the worst numbers of the metric."""
    study = sweep.job.loaded.study
    metric = study.worst if study.worst in columns else measured[0] if measured else ""
    if not metric or not study.keep:
        return []
    if study.worst and metric != study.worst:
        print(
            f"note: worst: no function gave {study.worst!r}; by {metric} instead", file=sys.stderr
        )
    failed = np.array([bool(f) for f in columns["failure"]])
    smallest = study.worst_is == "smallest" or (study.worst_is is None and "_min" in metric)
    numbers = -columns[metric] if smallest else columns[metric]
    badness = np.where(failed, np.inf, np.nan_to_num(numbers, nan=-np.inf))
    out = []
    folder = sweep.folder / "worst"
    folder.mkdir(exist_ok=True)
    for row in np.argsort(-badness, kind="stable")[: study.keep]:
        number = int(columns["flight"][row])
        try:
            scenario = sweep.job.scenario(number, [float(columns[v][row]) for v in varied])
        except ConfigError:
            continue  # drawn, and impossible: there is nothing to fly again
        name = f"flight_{number:08d}"
        drawn = ", ".join(f"{v} {columns[v][row]:.6g}" for v in varied)
        scenario = replace(scenario, name=name, description=f"Flight {number} of a study: {drawn}")
        (folder / f"{name}.yaml").write_text(dump_scenario(scenario))
        out.append(
            {"flight": number, metric: float(columns[metric][row]), "file": f"worst/{name}.yaml"}
        )
    return out


def _draw(
    folder: Path,
    columns: dict[str, np.ndarray],
    varied: list[str],
    measured: list[str],
    decides: dict[str, dict[str, dict[str, float]]],
) -> None:
    shown = shown_metrics(columns, measured)
    rows = -(-len(shown) // 3)
    figure, axes = plt.subplots(
        max(rows, 1), 3, figsize=(9.0, 2.4 * max(rows, 1)), squeeze=False, layout="constrained"
    )
    for i, ax in enumerate(axes.ravel()):
        ax.set_visible(i < len(shown))
    for ax, metric in zip(axes.ravel(), shown, strict=False):
        values = columns[metric]
        ax.hist(values[np.isfinite(values)], bins=min(50, max(10, round(np.sqrt(len(values))))))
        ax.set_xlabel(metric, fontsize=8)
        ax.set_ylabel("flights", fontsize=8)
        ax.tick_params(labelsize=7)
    figure.savefig(folder / "distributions.png", dpi=120)
    plt.close(figure)
    if not varied or not shown:
        return
    table = np.array([[decides[m][v]["first_order"] for v in varied] for m in shown])
    signs = np.array([[decides[m][v]["rank_correlation"] for v in varied] for m in shown])
    size = (2.5 + 0.8 * len(varied), 1.2 + 0.4 * len(shown))
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    ax.imshow(np.nan_to_num(table), cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    ax.set_xticks(range(len(varied)), varied, rotation=40, ha="right", fontsize=8)
    ax.set_yticks(range(len(shown)), shown, fontsize=8)
    for i, j in np.ndindex(table.shape):
        if np.isfinite(table[i, j]):
            small = table[i, j] < SHOWN or not np.isfinite(signs[i, j])
            sign = "" if small else "+" if signs[i, j] > 0.0 else "-"
            colour = "white" if table[i, j] > 0.6 else "black"
            ax.text(
                j, i, f"{sign}{table[i, j]:.2f}", ha="center", va="center", fontsize=7, color=colour
            )
    ax.set_title("share of the variance due to one number alone; sign: grows or falls", fontsize=8)
    figure.savefig(folder / "sensitivity.png", dpi=120)
    plt.close(figure)


TEXT = jinja2.Template(
    """# Study of {{ summary.scenario }}
{% if study.description %}
{{ study.description }}
{% endif %}
{{ summary.flights }} flights ({{ study.method }}), {{ summary.failed }} ended early; \
{{ "%.1f" % wall_time }} s ({{ "%.0f" % rate }} flights a second).
{% if summary.step_error_max_m is not none %}
Step {{ "%g" % (1e3 * summary.step_s) }} ms: {{ summary.step_error_flights }} flights flown again with steps \
{{ finer }} times shorter differ by at most {{ "%.1e" % summary.step_error_max_m }} m at any time.
{% endif %}
{{ figures }}

![distributions](distributions.png)
{% if has_sensitivity %}
![sensitivity](sensitivity.png)

Of a number that decides nothing, as many flights show a share of up to \
{{ "%.2f" % summary.sensitivity_by_chance }} (in one case of twenty more). What numbers do together is in no share.
{% endif %}{% if worst %}
## Worst flights

Fly one again with `./rotor fly FOLDER/worst/FILE.yaml{{ duration }} --out DIR`, or watch it with `./rotor view`.

{{ worst }}
{% endif %}""",
    trim_blocks=True,
)


def _text(sweep: Sweep, summary: dict, varied: list[str], measured: list[str]) -> str:
    columns = {"mean": "mean"} | {str(q): f"{100.0 * q:g} %" for q in QUANTILES}
    rows = [
        [name, *(f"{summary['metrics'][name][key]:.4g}" for key in columns)] for name in measured
    ]
    figures = tabulate(rows, ["metric", *columns.values()], **MARKDOWN)
    worst = ""
    if summary["worst"]:
        key = next(k for k in summary["worst"][0] if k not in ("flight", "file"))
        cells = [[w["flight"], f"{w[key]:.4g}", w["file"]] for w in summary["worst"]]
        worst = tabulate(cells, ["flight", key, "scenario"], **MARKDOWN)
    study = sweep.job.loaded.study
    return TEXT.render(
        summary=summary,
        study=study,
        duration=f" --duration {study.duration_s:g}" if study.duration_s else "",
        wall_time=sweep.wall_time,
        rate=sweep.flown / sweep.wall_time if sweep.wall_time > 0.0 else float("nan"),
        finer=FINER,
        figures=figures,
        has_sensitivity=bool(varied) and (sweep.folder / "sensitivity.png").exists(),
        worst=worst,
    )
