"""Report of one flight: a folder with a page, figures and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rotor.verb import conclude
from rotor_flight.reports.folder import new_folder
from rotor_flight.reports.table import format_table, summary_rows

if TYPE_CHECKING:
    from rotor_core.config.schema import Scenario
    from rotor_flight.flight import Flight


def report(
    recording: str,
    out: str | None,
    *,
    scenario: Scenario | None = None,
    topics: Mapping[str, str] | None = None,
) -> int:
    """Report on a recording; print its table and verdict.

    Args:
        recording: a bag, a result folder or a flight.
        out: result folder; default ``results/report-DATE``.
        scenario: what flew; default what the recording says.
        topics: references by entity, of recordings without plans.

    Returns:
        Exit code of the verdict.

    Raises:
        ConfigError: the recording cannot be read, or the folder exists.
    """
    from rotor_recordings.formats.flights import open_flight
    from rotor_recordings.formats.references import add_references

    flight = open_flight(recording, scenario)
    used = [] if recording.endswith(".npz") else add_references(flight, recording, topics or {})
    return _write(flight, new_folder(out, "report"), [("reference", text) for text in used], "")


def report_into(folder: Path, bag: Path, also: str) -> int:
    """Report on a bag of ours into a folder that is there; ``also`` names what else it holds."""
    from rotor_recordings.formats.bag_flights import read_flight

    return _write(read_flight(bag), folder, [], also)


def _write(flight: Flight, folder: Path, more: list[tuple[str, str]], also: str) -> int:
    from rotor_recordings.report.report import write_report
    from rotor_viewer.export.plots import draw_flight

    summary = write_report(flight, folder)
    draw_flight(flight, folder)
    print(format_table(summary_rows(summary) + more))
    print(f"{folder}/: report.html, {also}summary.json, plots")
    return conclude(summary)
