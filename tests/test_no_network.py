"""After the set-up nothing asks for a network: commands run where there is none but the loopback interface."""

import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

ALONE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
ROTOR = (sys.executable, "-m", "rotor.cli")


@pytest.fixture(scope="module")
def alone():
    """Words in front of a command that leave it without a network."""
    if os.geteuid() != 0 or not (shutil.which("unshare") and shutil.which("ip")):
        pytest.skip("needs root, ip and unshare to make a network namespace")
    if subprocess.run([*ALONE, "true"], capture_output=True).returncode:
        pytest.skip("no network namespaces here")
    return ALONE


def run(alone, folder, *words):
    done = subprocess.run(
        [*alone, *words], cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, f"{words[2:]}: {done.stdout[-1000:]}{done.stderr[-2000:]}"
    return done.stdout


def test_there_is_no_network_in_there(alone, tmp_path):
    """The experiment itself: an address outside cannot even be tried."""
    code = "import socket; socket.create_connection(('192.0.2.1', 80), 1.0)"
    done = subprocess.run([*alone, sys.executable, "-c", code], capture_output=True, text=True)
    assert "Network is unreachable" in done.stderr


def test_commands_need_no_network(alone, tmp_path):
    def rotor(*words):
        return run(alone, tmp_path, *ROTOR, *words)

    rotor("doctor")
    rotor("scenarios")
    rotor("fly", "dragonfly_point_mass", "--duration", "2", "--out", "fly", "--record")
    up = ("--pacing", "lockstep", "--record", "--duration", "2", "--out", "up")
    assert "flown" in rotor("up", "dragonfly_point_mass", *up)
    assert (tmp_path / "up" / "bag" / "metadata.yaml").exists()
    rotor("compare", "fly/bag", "up/bag", "--out", "compared", "--align", "none")
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) >= 2
    for page in pages:
        head = page.read_text(errors="replace").split("<body")[0]
        assert 'src="http' not in head and 'href="http' not in head, page
