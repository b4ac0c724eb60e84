"""`./rotor compare SIM REAL`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rotor.arguments import finite_number, pairs
from rotor.verb import VERBS, Verb
from rotor_core.errors import ConfigError

if TYPE_CHECKING:  # the command line answers `--help` without NumPy
    import numpy as np

LIMITS = {
    "max-position-rmse": ("position_rmse_m", "m"),
    "max-position-error": ("position_error_max_m", "m"),
    "max-attitude-rmse": ("attitude_rmse_deg", "deg"),
    "max-rate-rmse": ("rate_rmse_deg_s", "deg/s"),
}
"""Options that set a limit: figure of a body, unit."""


def _compare(options: argparse.Namespace) -> int:
    from rotor_flight.reports.folder import new_folder
    from rotor_flight.reports.table import format_table
    from rotor_recordings.compare.comparison import CompareOptions, compare
    from rotor_recordings.compare.page import rows_of, write_report
    from rotor_recordings.formats.open import open_recording

    wanted = CompareOptions(
        bodies=pairs("--body", options.body),
        sim_topics=pairs("--sim-topic", options.sim_topic),
        real_topics=pairs("--real-topic", options.real_topic),
        offset=options.time_offset,
        align=options.align,
        markers={body: _vector(f"--marker {body}", text) for body, text in pairs("--marker", options.marker).items()},
        fit_markers=tuple(options.fit_marker),
        start=options.start,
        end=options.end,
        evo=not options.no_evo,
    )  # fmt: skip
    sim, real = (
        open_recording(n, clock=options.clock, rotation=options.rotation)
        for n in (options.sim, options.real)
    )
    comparison = compare(sim, real, wanted)
    folder = new_folder(options.out, "compare")
    summary = write_report(comparison, folder)
    print(format_table(rows_of(summary)))
    for note in comparison.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"{folder}/: report.html, summary.json, errors.csv")
    over = _over(summary["bodies"], summary["points"], options)
    for line in over:
        print(f"above its limit: {line}")
    return int(bool(over))


def _over(bodies: dict, points: list[str], options: argparse.Namespace) -> list[str]:
    """Figures above the requested limits, in words; a figure that could not be measured counts as above its limit.

    ``points`` have no attitude.
    """
    out = []
    for name, (figure, unit) in LIMITS.items():
        limit = getattr(options, name.replace("-", "_"))
        if limit is None:
            continue
        values = {body: f[figure] for body, f in bodies.items() if f[figure] is not None}
        if not values:
            out.append(f"--{name}: no body has that figure")
        else:
            unknown = [body for body in bodies if body not in {*values, *points}]
            out += [f"{body}: {figure} is not known in both recordings" for body in unknown]
        out += [
            f"{b}: {figure} {v:.4g} {unit} (limit {limit:g})"
            for b, v in values.items()
            if not v <= limit
        ]
    return out


def _vector(option: str, text: str) -> np.ndarray:
    import numpy as np

    try:
        values = np.array([float(v) for v in text.split(",")])
    except ValueError as error:
        raise ConfigError(f"{option}: must be three numbers X,Y,Z in m, got {text!r}.") from error
    if values.shape != (3,) or not np.isfinite(values).all():
        raise ConfigError(f"{option}: must be three numbers X,Y,Z in m, got {text!r}.")
    return values


def _arguments(sub: argparse.ArgumentParser) -> None:
    kinds = "ROS 2 or ROS 1 bag, Vicon CSV, TUM file, or logs of Crazyflies (.npz)"
    sub.add_argument("sim", help=f"simulated: {kinds}")
    sub.add_argument("real", help=f"real: {kinds}")
    sub.add_argument("--out", metavar="DIR", help="result folder; must be new or empty")
    sub.add_argument(
        "--body",
        action="append",
        default=[],
        metavar="SIM=REAL",
        help="pair of bodies whose names differ; only such pairs are compared",
    )
    sub.add_argument(
        "--sim-topic",
        action="append",
        default=[],
        metavar="BODY=TOPIC",
        help="topic of a body in SIM (default: ground truth, then motion capture, odometry, TF)",
    )
    sub.add_argument(
        "--real-topic", action="append", default=[], metavar="BODY=TOPIC", help="the same for REAL"
    )
    sub.add_argument(
        "--clock",
        choices=["header", "receive"],
        default="header",
        help="times of a bag: from the headers of its messages (default) or of their reception",
    )
    sub.add_argument(
        "--rotation",
        choices=["rotvec", "euler-fixed-xyz", "euler-moving-xyz"],
        default="",
        help="meaning of RX, RY, RZ in a Vicon CSV",
    )
    sub.add_argument(
        "--time-offset",
        type=finite_number,
        metavar="S",
        help="to add to the stamps of REAL (default: found by correlation)",
    )
    sub.add_argument(
        "--align",
        choices=["rigid", "yaw", "translation", "none"],
        default="rigid",
        help="alignment of the frame of REAL with that of SIM (default: rigid)",
    )
    sub.add_argument(
        "--marker",
        action="append",
        default=[],
        metavar="BODY=X,Y,Z",
        help="origin of a body in the axes of its markers, m",
    )
    sub.add_argument(
        "--fit-marker",
        action="append",
        default=[],
        metavar="BODY",
        help="find it (and the turn of the markers) from the motion",
    )
    sub.add_argument(
        "--from",
        dest="start",
        type=finite_number,
        metavar="S",
        help="begin, since the start of SIM",
    )
    sub.add_argument(
        "--to", dest="end", type=finite_number, metavar="S", help="end, since the start of SIM"
    )
    sub.add_argument("--no-evo", action="store_true", help="do not call evo")
    for name, (_, unit) in LIMITS.items():
        sub.add_argument(
            f"--{name}",
            type=finite_number,
            metavar=unit.upper().replace("/", "_"),
            help=f"exit with 1 if a body is above it, {unit}",
        )


VERBS.register(
    "compare",
    Verb(
        "Compare a simulated flight with a real one, or any two recordings.",
        "./rotor compare results/demo/bag vicon_trial.csv --rotation rotvec --out /tmp/compared",
        _arguments,
        _compare,
        ("compare", "evo"),
    ),
)
