"""Install the packages of a lock file into a folder of its own: ``install.py LOCK FOLDER``.

Called by CMake while the package is installed. Distributions refuse ``pip install`` into their own Python (PEP 668); a
folder of ours that an environment hook puts on the path is not theirs. Every file is checked against its hash.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

STAMP = ".lock"
"""File in the folder that says which lock it holds."""

MODULES = (
    "bokeh", "casadi", "cffi", "clarabel", "distributed", "gymnasium", "mcap", "mujoco", "numba", "pyarrow",
    "pygeomag", "pymap3d", "pymavlink", "rosbags", "trimesh", "viser", "websockets",
)  # fmt: skip
"""Imported once with the NumPy that is there: some refuse one that their metadata allow."""


def fail(what: str, remedy: str) -> int:
    """Say what is wrong and what mends it."""
    print(f"error: rotor_vendor: {what}\n       mend it with:  {remedy}", file=sys.stderr)
    return 1


def environment(**more: str) -> dict[str, str]:
    """Environment of pip: the user's (proxies, mirrors), without settings that contradict a folder as target."""
    return {**os.environ, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", **more}


def main(lock: Path, folder: Path) -> int:
    """Fill the folder, or leave it as it was."""
    stamp = hashlib.sha256(lock.read_bytes()).hexdigest()
    if (folder / STAMP).is_file() and (folder / STAMP).read_text() == stamp:
        return 0
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode:
        return fail(f"{sys.executable} has no pip.", "sudo apt-get install -y python3-pip")
    fresh = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    print(f"rotor_vendor: installing {lock.name} into {folder}", flush=True)
    words = ["install", "--quiet", "--disable-pip-version-check", "--no-warn-script-location"]
    words += [
        "--root-user-action",
        "ignore",
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
    ]
    words += ["--target", str(fresh), "--requirement", str(lock)]
    if subprocess.run([*pip, *words], env=environment(), check=False).returncode:
        shutil.rmtree(fresh, ignore_errors=True)
        return fail(
            "pip could not install the packages (its words are above). Without network or behind a proxy, set what "
            "pip needs (https_proxy, PIP_INDEX_URL).",
            "colcon build --packages-select rotor_vendor",
        )
    check = [sys.executable, "-c", "".join(f"import {module}\n" for module in MODULES)]
    if subprocess.run(check, env=environment(PYTHONPATH=str(fresh)), check=False).returncode:
        shutil.rmtree(fresh, ignore_errors=True)
        return fail(
            "what was installed cannot be imported with this NumPy (the words of Python are above).",
            "rosdep install --from-paths src --ignore-src -y && colcon build --packages-select rotor_vendor",
        )
    (fresh / STAMP).write_text(stamp)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
