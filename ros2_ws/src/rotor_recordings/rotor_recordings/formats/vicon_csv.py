"""CSV files that Vicon's programs export: poses of segments and objects, and markers; millimetres.

A section is a line with its name, a line with the rate, the names of the subjects, the names of the columns, the units
and then one line per frame; an empty line ends it. Three rotation columns may be a rotation vector or Euler angles:
the file does not say which, so the user must.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from rotor_core.errors import ConfigError
from rotor_core.math.rotation_vectors import wxyz_from
from rotor_recordings.motion.recording import Recording
from rotor_recordings.motion.track import LEAST, Samples, Track, known_in, ordered

SECTIONS = ("Segments", "Objects", "Trajectories")
"""The others (joints, devices) hold no paths."""

ROTATIONS = ("rotvec", "euler-fixed-xyz", "euler-moving-xyz")
"""Meaning of RX, RY, RZ: rotation vector; turns about the fixed x, y, z axes; turns about the moving x, y, z axes."""

ANGLES_OF = "Global Angle "
"""Text that Tracker writes before the name of an object."""

HEAD = 4000
"""Characters from which the separator is found."""

LENGTHS = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}
ANGLES = {"deg": np.pi / 180.0, "rad": 1.0}


def read_vicon_csv(path: Path, rotation: str = "") -> Recording:
    """Paths of all segments, objects and markers of a file.

    Args:
        path: the file.
        rotation: one of :data:`ROTATIONS`; needed where rotations have three columns.

    Raises:
        ConfigError: no section with paths, a line or unit that cannot be read, or rotations that would have to be
            guessed.
    """
    text = path.read_text(errors="replace")
    comma = max(",;\t", key=text[:HEAD].count)  # spreadsheets of some countries write semicolons
    try:
        rows = list(csv.reader(text.splitlines(), delimiter=comma))
    except csv.Error as error:
        raise ConfigError(f"{path}: cannot be read as CSV ({error}).") from error
    tracks: list[Track] = []
    at = 0
    while at < len(rows):
        name = rows[at][0].strip().lstrip("\ufeff") if rows[at] else ""
        if name in SECTIONS:
            end = next((i for i in range(at + 5, len(rows)) if not any(rows[i])), len(rows))
            tracks += _section(path, rows[at:end], at, rotation)
            at = end
        at += 1
    if not tracks:
        there = any(row and row[0].strip().lstrip("\ufeff") in SECTIONS for row in rows)
        what = (
            f"no path of at least {LEAST} poses"
            if there
            else f"no section named {', '.join(SECTIONS)}"
        )
        raise ConfigError(
            f"{path}: holds {what}. Export the trial as CSV with segments, objects or trajectories."
        )
    return Recording(str(path), "Vicon CSV", tuple(_short_names(tracks)))


def _section(path: Path, rows: list[list[str]], first: int, rotation: str) -> list[Track]:
    if len(rows) < 6:
        raise ConfigError(
            f"{path}:{first + 1}: the section {rows[0][0]} ends before its first frame."
        )
    rate = _number(path, first + 2, rows[1][0] if rows[1] else "")
    if not rate > 0.0:
        raise ConfigError(f"{path}:{first + 2}: the rate must be > 0 Hz, got {rate:g}.")
    columns, units = rows[3], rows[4]
    subjects = _padded(rows[2], len(columns))  # names beyond them have no columns
    if not any(s.strip() for s in subjects) or not any(c.strip() for c in columns):
        raise ConfigError(
            f"{path}:{first + 3}: the section {rows[0][0]} must name its subjects and its columns in two lines."
        )
    data = np.array(
        [
            [_number(path, first + 6 + i, v) for v in _padded(r, len(columns))]
            for i, r in enumerate(rows[5:])
        ]
    )
    if columns[0].strip() != "Frame" or np.isnan(data[:, 0]).any():
        raise ConfigError(
            f"{path}:{first + 4}: the first column must be Frame with a number in every line."
        )
    stamps = np.rint(data[:, 0] * (1e9 / rate)).astype(np.int64)
    starts = [i for i, s in enumerate(subjects) if s.strip()]
    tracks = []
    for start, end in zip(starts, [*starts[1:], len(columns)], strict=True):
        words = {columns[i].strip().rstrip("'"): i for i in range(start, end) if columns[i].strip()}
        where = f"{path}:{first + 4}: {subjects[start].strip()}"
        title = subjects[start].strip().removeprefix(ANGLES_OF).strip()
        samples = _samples(where, data, words, units, rotation)
        if samples is not None and int(known_in(samples).sum()) >= LEAST:  # less is a ghost
            tracks.append(ordered(title, subjects[start].strip(), stamps, samples, "vicon"))
    return tracks


def _samples(
    where: str, data: np.ndarray, words: dict[str, int], units: list[str], rotation: str
) -> Samples | None:
    def taken(names: tuple[str, ...], scales: dict[str, float]) -> np.ndarray:
        scaled = []
        for name in names:
            unit = _padded(units, data.shape[1])[words[name]].strip()
            if unit not in scales:
                raise ConfigError(
                    f"{where}: the unit of {name} must be one of {', '.join(scales)}, got {unit!r}."
                )
            scaled.append(scales[unit] * data[:, words[name]])
        return np.stack(scaled, axis=1)

    for axes in (("TX", "TY", "TZ"), ("X", "Y", "Z")):
        if set(axes) <= set(words):
            positions = taken(axes, LENGTHS)
            break
    else:
        return None
    if not {"RX", "RY", "RZ"} <= set(words):
        return Samples(positions)
    if "RW" in words:
        return Samples(positions, data[:, [words[k] for k in ("RW", "RX", "RY", "RZ")]])
    if rotation not in ROTATIONS:
        raise ConfigError(
            f"{where}: RX, RY, RZ may be a rotation vector or Euler angles; the file does not say which. Add "
            "--rotation "
            f"{' or '.join(ROTATIONS)} as the export was set, or export quaternions."
        )
    angles = taken(("RX", "RY", "RZ"), ANGLES)
    known = np.isfinite(angles).all(axis=1)
    attitudes = np.full((len(angles), 4), np.nan)
    if rotation == "rotvec":
        turned = Rotation.from_rotvec(angles[known])
    else:
        turned = Rotation.from_euler(
            "xyz" if rotation == "euler-fixed-xyz" else "XYZ", angles[known]
        )
    attitudes[known] = wxyz_from(turned)
    return Samples(positions, attitudes)


def _short_names(tracks: list[Track]) -> list[Track]:
    """Bodies by their subject (``quad1:quad1`` is ``quad1``), markers by their name, where that is theirs alone."""
    out = []
    for track in tracks:
        subject, _, part = track.body.partition(":")
        short = part if part and track.samples.attitudes is None else subject
        kind = track.samples.attitudes is None
        rivals = [
            t
            for t in tracks
            if short in t.body.split(":")
            and t.body != track.body
            and (t.samples.attitudes is None) == kind
        ]
        out.append(replace(track, body=track.body if rivals else short))
    return out


def _padded(row: list[str], n: int) -> list[str]:
    return (row + [""] * n)[:n]


def _number(path: Path, line: int, text: str) -> float:
    """A field; empty is a dropout."""
    if not text.strip():
        return float("nan")
    try:
        return float(text)
    except ValueError as error:
        raise ConfigError(f"{path}:{line}: must be a number, got {text!r}.") from error
