"""`pip install .`: a wheel of what needs no ROS, which flies elsewhere."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def built(source, folder, **options):
    """The wheel of a folder with the sources."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    out = subprocess.run(
        [*command, "--wheel-dir", str(folder), str(source)],
        capture_output=True, text=True, check=False, **options,
    )  # fmt: skip
    assert out.returncode == 0, out.stderr
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(ROOT, tmp_path_factory.mktemp("wheel"))


def test_it_is_the_same_to_the_byte_wherever_and_whenever_it_is_built(wheel, tmp_path):
    """Another folder, other times and rights of files, another time zone, another order of hashes."""
    copy = tmp_path / "elsewhere" / "sources"
    left_out = shutil.ignore_patterns(".ros", ".git", "build", "install", "log", "results", "my", "__pycache__", "*.egg-info")  # fmt: skip
    shutil.copytree(ROOT, copy, ignore=left_out)
    for k, path in enumerate(sorted(copy.rglob("*"))):
        if path.is_file():
            path.chmod(0o600 if k % 2 else 0o664)
        os.utime(path, (1.5e9 + 977 * k, 1.5e9 + 977 * k))
    env = {**os.environ, "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "7", "LC_ALL": "C"}
    env.pop("SOURCE_DATE_EPOCH", None)
    again = built(copy, tmp_path, env=env, umask=0o077)
    assert again.name == wheel.name
    assert (
        hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(wheel.read_bytes()).digest()
    )


def test_wheel_holds_the_packages_and_their_data(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for package in (ROOT / "ros2_ws" / "src").glob("*/setup.py"):
        assert f"{package.parent.name}/__init__.py" in names
    assert "rotor/share/config/scenarios/slalom.yaml" in names
    assert "rotor/share/rotor_msgs/msg/TeamState.msg" in names
    for evidence in ("validation/", "tests/", "docs/", "ros2_ws/"):
        assert not [n for n in names if n.startswith(evidence)]


def test_it_flies_elsewhere(wheel, tmp_path):
    """The packages of the wheel alone, in another folder, without ROS, configuration and repository."""
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    hidden = {"rclpy", "rotor_msgs", "ament_index_python", "validation"}
    program = (
        "import importlib.abc, sys\n"
        f"HIDDEN = {hidden!r}\n"
        "class Hide(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in HIDDEN:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hide())\n"
        "import rotor\n"
        f"assert rotor.__file__.startswith({str(site)!r}), rotor.__file__\n"
        "flight = rotor.fly('slalom', duration=1.0)\n"
        "print(flight['payload'].position[-1].tolist())\n"
        "flight.save('flight.mcap')\n"
        "print(len(rotor.scenarios()))\n"
    )
    gone = ("PYTHONPATH", "AMENT_PREFIX_PATH", "ROTOR_CONFIG_DIR", "COLCON_PREFIX_PATH")
    env = {k: v for k, v in os.environ.items() if k not in gone}
    env |= {"PYTHONPATH": str(site), "ROTOR_UNCOMPILED": "1"}
    out = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert out.returncode == 0, out.stderr
    position, count = out.stdout.splitlines()
    assert len(eval(position)) == 3 and int(count) >= 57
    assert (tmp_path / "flight.mcap").stat().st_size > 1000
