"""Steps of `./rotor replay`: run a case, predict a recording, compare the two."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError, RotorError
from rotor_dynamics.hybrid.events import Event
from rotor_flight.flight import Flight
from rotor_flight.reports.folder import new_folder, write_json, write_scenario
from rotor_flight.reports.table import format_table
from rotor_flight.warm import warm
from rotor_recordings.compare.comparison import CompareOptions, compare
from rotor_recordings.compare.page import rows_of, write_report
from rotor_recordings.formats.bag_writer import write_bag
from rotor_recordings.formats.flights import open_flight, recording_of
from rotor_recordings.motion.track import LEAST
from rotor_recordings.predict.predict import predict
from rotor_recordings.predict.windows import predict_windows

EVERY = 0.25
"""Windows of prediction begin this far apart, s."""


def replay_case(options: argparse.Namespace) -> int:
    """Replay an open-loop case."""
    from rotor_recordings.predict.case import run_case

    began = time.perf_counter()
    if options.out is None:
        raise ConfigError(
            "--out: is missing. Name a file for the samples of the case: --out FILE.npz."
        )
    out = Path(options.out)
    warm(load_scenario("slalom"))  # bodies and cables, which is what cases are made of
    run, events = run_case(Path(options.recording), out, step=options.step)
    for text in run.notes:
        print(f"note: {text}", file=sys.stderr)
    text = _counted(run.events) or "no events"
    print(
        f"{len(run.samples['t'])} samples to t = {run.samples['t'][-1]:g} s, {text}, "
        f"{time.perf_counter() - began:.1f} s of wall time"
    )
    print(f"{out}, {events}")
    return 0


def replay_recording(options: argparse.Namespace) -> int:
    """Predict a recorded flight, and put prediction and recording side by side."""
    scenario = load_scenario(options.scenario) if options.scenario else None
    record = open_flight(options.recording, scenario)
    warm(record.scenario)
    if options.windows:
        return _windows(record, options)
    prediction = predict(record, options.at, options.duration, options.feed)
    if prediction.ended and len(prediction.flight.time) < LEAST:
        raise RotorError(f"the prediction ended {prediction.ended}")
    folder = new_folder(options.out, f"replay-{record.scenario.name}")
    wanted = CompareOptions(offset=0.0, align="none", evo=False)
    comparison = compare(
        recording_of(prediction.flight, "prediction"),
        recording_of(record, options.recording),
        wanted,
    )
    summary = write_report(comparison, folder)
    write_scenario(folder, record.scenario)
    write_bag(prediction.flight, folder / "bag")
    rows = [
        ("begins", f"{options.at:g} s after the start, fed with the recorded {options.feed}"),
        ("moved to fit the cables", f"{1e3 * prediction.shift:.3g} mm at most"),
        *rows_of(summary)[4:],
    ]
    for name, flight in (("prediction", prediction.flight), ("recording", record)):
        rows += [(f"events of the {name}", _events(flight, prediction.flight.time))]
    if prediction.ended:
        rows.append(("the prediction ended early", prediction.ended))
    print(format_table(rows))
    print(
        f"{folder}/: report.html, summary.json, errors.csv, scenario.yaml, bag (of the prediction)"
    )
    return 0


def _windows(record: Flight, options: argparse.Namespace) -> int:
    """A table of prediction errors over several horizons."""
    folder = new_folder(options.out, f"replay-{record.scenario.name}")
    rows, out = [], {}
    names = [e.name for e in record.scenario.model.entities]
    for horizon in options.windows:
        found = predict_windows(record, horizon, EVERY, options.feed, options.at)
        if not len(found.starts):
            raise ConfigError(
                f"--windows {horizon:g}: the recording is shorter than that after --at {options.at:g}, or holds no "
                "state of every entity at both ends of a window."
            )
        for i, name in enumerate(names):
            figures = found.figures(i)
            out.setdefault(name, []).append(figures)
            text = f"median {1e3 * figures['median_m']:.2f} mm, 90 % below {1e3 * figures['p90_m']:.2f} mm"
            lost = f", {figures['lost']} lost" if figures["lost"] else ""
            rows.append(
                (f"{name}: after {horizon:g} s", f"{text} ({figures['windows']} windows{lost})")
            )
    write_json(folder / "windows.json", out)
    print(format_table(rows))
    print(f"{folder}/: windows.json")
    return 0


def _events(flight: Flight, time: np.ndarray) -> str:
    """Snaps, slack and so on between two times."""
    return _counted([e for e in flight.events if time[0] <= e.time <= time[-1]]) or "none"


def _counted(events: Sequence[Event]) -> str:
    counts = Counter(event.type for event in events)
    return ", ".join(f"{n} {kind}" for kind, n in counts.items())
