"""Coverage-guided fuzzing of files that people give us: what reaches new code of the readers is changed further.

Blind changes (the tests beside this) seldom pass two mistakes in one place. Needs Atheris, by hand and in a shell with
time; it ends at its first failure and leaves the input in the folder.

    ./rotor python -m pip install atheris
    ./rotor python tests/fuzz/guided.py csv FOLDER --seconds 600
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import atheris

with atheris.instrument_imports(
    include=["rotor_core.config", "rotor_recordings", "mcap", "ruamel"]
):
    from rotor_core.config.loader import scenario_from_tree
    from rotor_core.config.vehicles.urdf import read_urdf
    from rotor_core.config.yaml.tree import parse_tree
    from rotor_core.errors import RotorError
    from rotor_recordings.formats import bag_flights, bags, pose_flights, tum, vicon_csv
    from rotor_recordings.formats.flights import open_flight
    from rotor_recordings.formats.open import open_recording

import numpy as np
from fuzz.verdicts import check_line

ROOT = Path(__file__).parents[2]
READERS = bag_flights, bags, pose_flights, tum, vicon_csv
"""Imported above, so that they are followed; they are called through others."""

SAMPLES = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT / "tests")!r})
from fuzz.samples import make_samples
for name, data in make_samples(Path(sys.argv[1])).items():
    (Path(sys.argv[1]) / name).write_bytes(data)
"""
"""Writes good recordings into a folder."""

LARGEST_MB, LONGEST_S = 4000, 20
"""What one input may take."""


def _scenario(path: Path) -> None:
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:  # refused where a file is read
        return
    scenario_from_tree(parse_tree(text, path.name))


def _recording(path: Path) -> None:
    for track in open_recording(str(path)).tracks:
        assert (np.diff(track.stamps) > 0).all(), "stamps do not go on"


def _flight(path: Path) -> None:
    assert (np.diff(open_flight(str(path)).time) > 0).all(), "times do not go on"


BORDERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "yaml": ("fuzz.yaml", _scenario),
    "urdf": ("fuzz.urdf", read_urdf),
    "csv": ("trial.csv", _recording),
    "tum": ("quad1.tum", _recording),
    "npz": ("team.npz", _flight),
    "mcap": ("bag.mcap", _recording),
    "mcap-flight": ("bag.mcap", _flight),
}
"""Name of the file, and what reads it."""


def seeds(border: str, corpus: Path) -> None:
    """Put good files of a border into a folder."""
    corpus.mkdir(parents=True, exist_ok=True)
    name = BORDERS[border][0]
    if border in ("yaml", "urdf"):
        folders = [ROOT / "config/scenarios"] if border == "yaml" else [ROOT / "config", ROOT / "tests", ROOT / "ros2_ws/src"]  # fmt: skip
        found = {p.name: p.read_bytes() for f in folders for p in f.rglob(f"*.{border}")}
    else:
        with tempfile.TemporaryDirectory() as folder:
            # in a process of its own: kernels do not compile from modules that are followed
            subprocess.run([sys.executable, "-c", SAMPLES, folder], check=True)
            suffix = Path(name).suffix
            found = {p.name: p.read_bytes() for p in Path(folder).rglob(f"*{suffix}")}
    for file, data in found.items():
        (corpus / file).write_bytes(data)


def main() -> None:
    """Fuzz one border."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("border", choices=sorted(BORDERS))
    parser.add_argument("folder", type=Path, help="of inputs that reach new code, and of a failure")
    parser.add_argument("--seconds", type=int, default=600)
    given = parser.parse_args()
    name, read = BORDERS[given.border]
    given.folder.mkdir(parents=True, exist_ok=True)
    corpus = given.folder.resolve() / given.border
    seeds(given.border, corpus)
    work = Path(tempfile.mkdtemp())
    os.chdir(work)

    def attempt(data: bytes) -> None:
        (work / name).write_bytes(data)
        try:
            with np.errstate(all="ignore"):
                read(work / name)
        except RotorError as error:
            for line in (str(error), *error.lines):
                check_line(line)

    options = [
        str(corpus),
        f"-max_total_time={given.seconds}",
        f"-artifact_prefix={given.folder.resolve()}/{given.border}-",
        f"-timeout={LONGEST_S}",
        f"-rss_limit_mb={LARGEST_MB}",
    ]
    atheris.Setup([sys.argv[0], *options], attempt)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
