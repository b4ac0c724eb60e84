"""The launcher refuses what cannot work, at once, in one message with the command that mends it, leaving nothing behind."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rotor_core.ros.loopback import RANGE, keep_to_loopback

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


# --- what is the user's -----------------------------------------------------------------------------

STAND_IN = """#!/bin/sh
# a Python that builds nothing and tells how it was called
case "$*" in
  *colcon*)
    echo "$*" >>"$LOG"
    mkdir -p "$ROTOR_UNDER_TEST/.ros/workspace/install" "$ROTOR_UNDER_TEST/.ros/underlay"
    touch "$ROTOR_UNDER_TEST/.ros/workspace/install/setup.bash" "$ROTOR_UNDER_TEST/.ros/underlay/setup.bash" ;;
  *rotor.cli*) env >"$LOG.env" ;;
esac
"""


def prepared(folder, environment, **variables):
    """A clone whose environment is complete, with a stand-in for its Python; returns the lines of colcon."""
    clone(folder)
    for name in (
        "ros2_ws/src/rotor_msgs",
        "ros2_ws/src/rotor_vendor",
        "ros2_ws/src/rotor_sim",
        "ros2_standins",
    ):
        (folder / name).mkdir(parents=True)
        (folder / name / "package.xml").touch()
    ready = folder / ".ros" / environment(folder)
    (ready / "bin").mkdir(parents=True)
    (ready / ".complete").touch()
    (ready / "setup.bash").touch()
    (ready / "bin" / "python").write_text(STAND_IN)
    (ready / "bin" / "python").chmod(0o755)
    for part in ("build", "install"):
        (folder / "ros2_ws" / part / "rotor_sim").mkdir(parents=True)
        (folder / "ros2_ws" / part / "rotor_sim" / "mine").touch()
    log = folder.parent / "colcon.log"
    out = launch(folder, LOG=str(log), ROTOR_UNDER_TEST=str(folder), **variables)
    assert out.returncode == 0, out.stderr
    told = dict(
        line.split("=", 1) for line in Path(f"{log}.env").read_text().splitlines() if "=" in line
    )
    return log.read_text().splitlines(), told


def of_wheels(folder):
    """Name of the environment of wheels, as the launcher finds it."""
    text = str(folder).encode() + b"".join(
        (folder / "tools" / n).read_bytes() for n in ("requirements.lock", "finish.py")
    )
    return f"env-{hashlib.sha256(text).hexdigest()[:12]}"


def of_jazzy(folder):
    return "env-jazzy"


JAZZY = {
    "ROS_DISTRO": "jazzy",
    "AMENT_PREFIX_PATH": "/opt/ros/jazzy",
    "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
}


@pytest.mark.parametrize("environment, variables", [(of_wheels, {}), (of_jazzy, JAZZY)])
def test_builds_of_the_user_are_left_alone(tmp_path, environment, variables):
    """It builds into a place of its own, and never removes what `colcon build` made in ros2_ws."""
    folder = tmp_path / "clone"
    calls, _ = prepared(folder, environment, **variables)
    workspace = calls[-1]
    assert f"--base-paths {folder}/ros2_ws/src" in workspace
    for part in ("build", "install"):
        assert f"--{part}-base {folder}/.ros/workspace/{part}" in workspace
        assert (folder / "ros2_ws" / part / "rotor_sim" / "mine").exists()
    # an environment of wheels has what a distribution lacks
    assert ("-DROTOR_VENDOR=OFF" in workspace) == (environment is of_wheels)


@pytest.mark.parametrize(
    "environment, variables, found",
    [
        (of_wheels, {}, "SYSTEM_DEFAULT"),
        (of_wheels, {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}, "SUBNET"),
        (of_jazzy, JAZZY, "SYSTEM_DEFAULT"),
        (of_jazzy, JAZZY | {"ROTOR_DISCOVERY_RANGE": "SUBNET"}, "SUBNET"),
        (of_jazzy, JAZZY | {"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}, "OFF"),
    ],
)
def test_the_default_of_a_distribution_is_no_wish(tmp_path, environment, variables, found):
    """The rule of rotor_core/ros/loopback.py, in the launcher."""
    _, told = prepared(tmp_path / "clone", environment, **variables)
    assert told["ROS_AUTOMATIC_DISCOVERY_RANGE"] == found
    assert ("FASTRTPS_DEFAULT_PROFILES_FILE" in told) == (found == "SYSTEM_DEFAULT")
    python = {RANGE: variables[RANGE]} if RANGE in variables else {}
    python |= {k: v for k, v in variables.items() if k in ("ROS_DISTRO", "ROTOR_DISCOVERY_RANGE")}
    keep_to_loopback(python)
    assert python[RANGE] == found


@pytest.mark.parametrize("after", [0.0, 0.1, 0.2, 0.4])
def test_an_early_ctrl_c_leaves_no_trace_back(tmp_path, after):
    """While Python imports the command line, which is most of the first second."""
    start = re.search(r"exec \"\$PYTHON\" -c '([^']+)'", (ROOT / "rotor").read_text())[1]
    handler, rest = start.split("SIG_DFL); ")
    process = subprocess.Popen(
        [sys.executable, "-c", f"{handler}SIG_DFL); print(flush=True); {rest}", "fly", "hover", "--duration", "3600"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdout.readline()  # from here on a signal leaves no trace back
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in out + err
