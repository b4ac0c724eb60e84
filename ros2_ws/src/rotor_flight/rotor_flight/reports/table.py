"""The figures of a flight as a table for people."""

from __future__ import annotations

from math import isnan

from tabulate import DataRow, Line, TableFormat, tabulate

from rotor_sim.lateness import CAUSES, MANY, REMEDIES


def _number(value: float | None, unit: str, digits: int = 4) -> str:
    return "-" if value is None else f"{value:.{digits}f} {unit}".rstrip()


def summary_rows(summary: dict) -> list[tuple[str, str]]:
    """Rows (what, value) of a summary as made by :meth:`Flight.summary`."""
    rows = [
        ("scenario", f"{summary['scenario']} (seed {summary['seed']})"),
        ("flight time", _number(summary["flight_time_s"], "s", 2)),
    ]
    for entity, figures in summary["teams"].items():
        if isnan(figures["position_rmse_m"]):  # nobody was told where it should be
            continue
        xyz = ", ".join(f"{1e3 * v:.1f}" for v in figures["position_rmse_xyz_m"])
        planned = figures.get("planned_s")
        when = "" if planned is None else " from {:.2f} to {:.2f} s".format(*planned)
        rows.append(
            (
                f"{entity}: position RMSE{when}",
                f"{1e3 * figures['position_rmse_m']:.1f} mm (x y z: {xyz})",
            )
        )
        rows.append(
            (f"{entity}: largest position error", f"{1e3 * figures['position_error_max_m']:.1f} mm")
        )
        if figures["attitude_rmse_deg"] is not None:
            rows.append(
                (f"{entity}: attitude RMSE", _number(figures["attitude_rmse_deg"], "deg", 3))
            )
    if summary["tension_min_n"] is not None:
        low, high = summary["tension_min_n"], summary["tension_max_n"]
        slackens = any(t > 0.0 for t in (summary["slack_s"] or {}).values())
        rows.append(("tension", f"{low:.3f} .. {high:.3f} N{' while taut' * slackens}"))
    if summary["slack_s"] is None:
        rows.append(("tension, slack", "not recorded"))
    elif summary["slack_s"]:
        times = [f"{cable} {t:.2f} s" for cable, t in summary["slack_s"].items() if t > 0.0]
        rows.append(("slack", ", ".join(times) or "never"))
    for margin in summary.get("margins", ()):
        what, far = " to ".join(margin["between"]), margin["distance_m"]
        near = f"{far:.3f} m" if far > 0.0 else "touched"
        rows.append((f"margin: {what}", f"{near} at {margin['at_s']:.2f} s"))
    units = summary["joint_units"]
    rows += [
        (f"{name}: RMSE", _number(e, units[name], 4)) for name, e in summary["joints_rmse"].items()
    ]
    if "mission" in summary:
        mission = summary["mission"]
        rows.append(("mission", f"{mission['status']}: {mission['message']}"))
    for name, power in summary.get("power", {}).items():
        left = (
            "" if power["charge"] != power["charge"] else f", {100.0 * power['charge']:.1f} % left"
        )
        rows.append((f"{name}: energy", f"{power['energy_wh']:.2f} Wh{left}"))
    events = summary["events"]
    rows.append(("events", ", ".join(f"{count} {kind}" for kind, count in events.items())))
    if summary["real_time_factor"] is not None:
        rows.append(("real-time factor", _number(summary["real_time_factor"], "", 3)))
    for key, label in (
        ("missed_deadlines", "missed deadlines"),
        ("stale_commands", "stale commands"),
        ("rejected_commands", "rejected commands"),
    ):
        if key in summary:
            of = (
                f" of {summary['control_periods']}"
                if key == "missed_deadlines" and "control_periods" in summary
                else ""
            )
            why = ", ".join(
                f"{summary[cause]} {words}"
                for cause, words in CAUSES.items()
                if key == "missed_deadlines" and summary.get(cause)
            )
            rows.append((label, f"{summary[key]}{of}{f' ({why})' if why else ''}"))
            if (
                key == "missed_deadlines"
                and why
                and summary[key] > MANY * summary["control_periods"]
            ):
                most = max(CAUSES, key=lambda cause: summary.get(cause, 0))
                rows.append(("", REMEDIES[most]))
    if resets := summary.get("resets"):
        after = "a reset" if resets == 1 else f"{resets} resets"
        rows.append(("recorded before", f"what was flown before {after}; it is left out"))
    if summary.get("missing_rows"):
        rows.append(("not recorded", f"{summary['missing_rows']} instants between the others"))
    if summary.get("limited_periods"):
        rows.append(
            ("commands beyond rotor limits", f"{summary['limited_periods']} control periods")
        )
    if integration := summary.get("integration"):
        rows.append(("integration", _accuracy(integration)))
    if summary.get("redundant_cables"):
        rows.append(("taut cables", "redundant at times: tensions of smallest norm"))
    return rows


def _accuracy(integration: dict) -> str:
    """Largest estimated error, substeps, energy balance and what contact left open, in a line."""
    parts = []
    if (rate := integration["error_rate_max"]) is not None:
        of = f" ({body})" if (body := integration["error_body"]) else ""
        if (
            "/blade" in body
        ):  # docs/theory/error_control.md: the shortest motion of a blade is a choice
            of = f" ({body}; for blades the step is as it is given)"
        parts.append(f"estimated error up to {rate:.1e} m/s or rad/s per s{of}")
    parts.append(f"{integration['substeps']} substeps")
    if (share := integration["energy_error_share"]) is not None:
        parts.append(f"energy balanced to {abs(share):.1e}")
    if unsettled := integration.get("unsettled"):
        parts.append(f"forces of contact not found to rounding in {unsettled} steps")
    return ", ".join(parts)


RULED = TableFormat(
    lineabove=Line("", "-", "---", ""), linebelowheader=None, linebetweenrows=None,
    linebelow=Line("", "-", "---", ""), headerrow=None, datarow=DataRow("", "   ", ""), padding=0,
    with_header_hide=None,
)  # fmt: skip


def format_columns(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Aligned columns with their names."""
    text = tabulate(rows, headers=names, tablefmt="simple", disable_numparse=True)
    return "\n".join(line.rstrip() for line in text.splitlines())


def format_table(rows: list[tuple[str, str]]) -> str:
    """Two aligned columns between rules."""
    text = tabulate(rows, tablefmt=RULED, disable_numparse=True)
    return "\n".join(line.rstrip() for line in text.splitlines())
