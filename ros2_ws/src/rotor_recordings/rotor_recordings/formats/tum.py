"""TUM files: ``timestamp tx ty tz qx qy qz qw`` per line, as `evo` reads and writes them."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np

from rotor_core.errors import ConfigError
from rotor_recordings.motion.recording import Recording
from rotor_recordings.motion.track import Samples, Track, ordered

COLUMNS = 8


def read_tum(path: Path) -> Recording:
    """The one path of a TUM file; its body is the name of the file.

    Raises:
        ConfigError: a line that is not a pose, with its number.
    """
    stamps: list[int] = []
    rows: list[list[float]] = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            if len(words) != COLUMNS:
                raise ValueError(f"{len(words)} numbers")
            stamp = int(Decimal(words[0]).scaleb(9))  # a float of an epoch loses nanoseconds
            if abs(stamp) >= 2**63:
                raise ValueError("stamp beyond the year 2262")
            stamps.append(stamp)
            rows.append([float(w) for w in words[1:]])
        except (ValueError, OverflowError, InvalidOperation) as error:
            raise ConfigError(
                f"{path}:{number}: a line must hold timestamp tx ty tz qx qy qz qw, got {line.strip()[:60]!r} "
                f"({error})."
            ) from error
    values = np.array(rows).reshape(-1, COLUMNS - 1)
    body = path.stem.split(".")[0]
    track = ordered(
        body, path.name, np.array(stamps), Samples(values[:, :3], values[:, [6, 3, 4, 5]])
    )
    return Recording(str(path), "TUM file", (track,))


def write_tum(path: Path, track: Track) -> None:
    """Write a path; where no attitude is known it is the identity.

    Stamps are written as decimals of the whole nanoseconds, never as rounded floats.
    """
    samples = track.samples
    attitudes = samples.attitudes
    if attitudes is None:
        attitudes = np.tile([1.0, 0.0, 0.0, 0.0], (len(track.stamps), 1))
    with path.open("w") as file:
        for stamp, p, q in zip(track.stamps.tolist(), samples.positions, attitudes, strict=True):
            numbers = " ".join(f"{v:.9f}" for v in (*p, *q[1:], q[0]))
            sign, whole = "-" * (stamp < 0), abs(stamp)
            file.write(f"{sign}{whole // 10**9}.{whole % 10**9:09d} {numbers}\n")
