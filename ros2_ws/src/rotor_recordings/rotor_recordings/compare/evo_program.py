"""Evaluation by `evo`, called as a program (it is under the GPL, so nothing here imports it)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from rotor_core.errors import RotorError
from rotor_recordings.formats.tum import write_tum
from rotor_recordings.motion.track import Track

PATIENCE = 120.0
"""A call may take this long, s."""

MEASURES = {
    "ape_m": ("evo_ape", ()),
    "ape_deg": ("evo_ape", ("-r", "angle_deg")),
    "rpe_1s_m": ("evo_rpe", ("--delta", "{second}", "--delta_unit", "f", "--all_pairs")),
}
"""Name of a measure, program, options; {second}: poses per second."""


def evo_statistics(sim: Track, real: Track, *, with_attitude: bool) -> dict[str, dict[str, float]]:
    """Statistics of evo's errors between two tracks with the same stamps, in the same frame.

    Returns:
        By measure of :data:`MEASURES`: rmse, mean, median, std, min, max, sse. Empty: evo is not installed.

    Raises:
        RotorError: evo fails.
    """
    out: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tum(folder / "sim.tum", sim)
        write_tum(folder / "real.tum", real)
        for measure, (program, options) in MEASURES.items():
            found = shutil.which(
                program,
                path=os.pathsep.join(
                    (str(Path(sys.executable).parent), os.environ.get("PATH", ""))
                ),
            )
            if found is None:
                return {}
            second = max(1, round(sim.rate_hz))
            too_short = "{second}" in options and len(sim.stamps) <= second
            if too_short or (measure == "ape_deg" and not with_attitude):
                continue
            wanted = [o.format(second=second) for o in options]
            out[measure] = _run(folder, found, measure, wanted)
    return out


def _run(folder: Path, program: str, measure: str, options: list[str]) -> dict[str, float]:
    results = folder / f"{measure}.zip"
    command = [
        program,
        "tum",
        "real.tum",
        "sim.tum",
        *options,
        "--save_results",
        str(results),
        "--no_warnings",
    ]
    # a home of its own: evo writes settings and logs there
    environment = os.environ | {
        "HOME": str(folder),
        "MPLBACKEND": "Agg",
        "XDG_CONFIG_HOME": str(folder),
    }
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise RotorError(f"{' '.join(command)}: did not end within {PATIENCE:g} s.") from error
    if done.returncode != 0 or not results.exists():
        raise RotorError(
            f"{' '.join(command)}: failed: {(done.stderr or done.stdout).strip()[-400:]}"
        )
    with zipfile.ZipFile(results) as archive:
        return json.loads(archive.read("stats.json"))
