"""The launcher refuses what cannot work, at once, in one message with the command that mends it, leaving nothing behind."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CLEAN = {k: os.environ[k] for k in ("HOME", "LANG") if k in os.environ}


def clone(folder):
    """Copy of the files that the launcher reads before it prepares anything."""
    folder.mkdir()
    shutil.copy(ROOT / "rotor", folder)
    shutil.copytree(ROOT / "tools", folder / "tools")
    return folder


def launch(folder, *, path="/usr/local/bin:/usr/bin:/bin", **variables):
    return subprocess.run(
        [str(folder / "rotor"), "doctor"],
        env={**CLEAN, "PATH": path, **variables}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def path_without(folder, *missing):
    """A PATH with everything of the system but some commands."""
    folder.mkdir()
    for source in ("/bin", "/usr/bin"):
        for command in Path(source).iterdir():
            link = folder / command.name
            if command.name not in missing and not link.exists():
                link.symlink_to(command)
    return str(folder)


def assert_refused(out, folder, message, remedy):
    assert out.returncode == 2
    assert message in out.stderr and remedy in out.stderr
    assert out.stderr.count("error:") == 1 and "Traceback" not in out.stderr
    left = {p.name for p in folder.iterdir()} - {"rotor", "tools"}
    assert left <= {".ros"}
    if left:
        assert {p.name for p in (folder / ".ros").iterdir()} <= {"lock"}


def test_a_path_with_a_space(tmp_path):
    folder = clone(tmp_path / "my rotor")
    assert_refused(launch(folder), folder, "has a space in it", "mv ")


@pytest.mark.parametrize("domain", ["abc", "-1", "102", "1.5"])
def test_impossible_domains(tmp_path, domain):
    folder = clone(tmp_path / "clone")
    assert_refused(
        launch(folder, ROS_DOMAIN_ID=domain), folder, f"got '{domain}'", "unset ROS_DOMAIN_ID"
    )


def test_an_old_distribution(tmp_path):
    folder = clone(tmp_path / "clone")
    out = launch(folder, ROS_DISTRO="humble", AMENT_PREFIX_PATH="/opt/ros/humble")
    assert_refused(out, folder, "supported are jazzy", "env -u ROS_DISTRO ./rotor doctor")


@pytest.mark.parametrize(
    "missing, named",
    [(("cmake",), "cmake"), (("make",), "make"), (("g++", "c++", "gcc", "cc"), "g++")],
)
def test_missing_tools(tmp_path, missing, named):
    folder = clone(tmp_path / "clone")
    path = path_without(tmp_path / "bin", *missing)
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip("no system Python to look for")
    out = launch(folder, path=path, ROTOR_PYTHON=os.path.realpath(python))
    assert_refused(
        out,
        folder,
        f"missing to build the message packages: {named}",
        f"apt-get install -y {named}",
    )


def test_an_unsupported_python(tmp_path):
    folder = clone(tmp_path / "clone")
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    assert_refused(
        launch(folder, ROTOR_PYTHON=str(old)),
        folder,
        "is not a Python 3.10 to 3.13",
        "unset ROTOR_PYTHON",
    )


def test_through_a_symbolic_link(tmp_path):
    folder = clone(tmp_path / "clone")
    link = tmp_path / "elsewhere" / "rotor"
    link.parent.mkdir()
    link.symlink_to(folder / "rotor")
    out = subprocess.run(
        [str(link), "doctor"],
        env={**CLEAN, "PATH": "/usr/bin:/bin", "ROS_DOMAIN_ID": "x"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "must be a whole number" in out.stderr
    assert [p.name for p in link.parent.iterdir()] == ["rotor"]
