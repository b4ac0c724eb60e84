"""Formats that a flight can be saved in."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from rotor_flight.flight import Flight


def write_folder(flight: Flight, path: Path) -> None:
    """A rosbag2 folder with MCAP storage."""
    from rotor_recordings.formats.bag_writer import write_bag

    write_bag(flight, path)


def write_mcap(flight: Flight, path: Path) -> None:
    """One MCAP file, whole or not at all."""
    with tempfile.TemporaryDirectory(dir=path.resolve().parent, prefix=".saving-") as folder:
        write_folder(flight, Path(folder) / "bag")
        (written,) = (Path(folder) / "bag").glob("*.mcap")
        shutil.move(written, path)
