"""The package that brings what a distribution lacks: it installs what its lock says, or leaves everything as it was."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ros2_ws" / "src" / "rotor_vendor"


def wheel(folder, version):
    """A wheel with one module; returns its hash."""
    folder.mkdir(exist_ok=True)
    path = folder / f"rotor_probe-{version}-py3-none-any.whl"
    info = f"rotor_probe-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("rotor_probe.py", f"VERSION = '{version}'\n")
        file.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: rotor-probe\nVersion: {version}\n"
        )
        file.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def index(tmp_path):
    """Environment of a pip that knows two wheels, and the hash of each."""
    hashes = {v: wheel(tmp_path / "index", v) for v in ("1.0", "2.0")}
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index")}
    return environment, hashes


def lock(path, version, digest):
    path.write_text(f"rotor-probe=={version} \\\n    --hash=sha256:{digest}\n")
    return path


def install(environment, path, folder):
    command = [sys.executable, str(PACKAGE / "install.py"), str(path), str(folder)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def version_in(folder):
    return (folder / "rotor_probe.py").read_text().split("'")[1]


def test_it_installs_what_the_lock_says_and_that_once(tmp_path, index):
    environment, hashes = index
    folder = tmp_path / "site"
    path = lock(tmp_path / "lock", "1.0", hashes["1.0"])
    assert install(environment, path, folder).returncode == 0
    assert version_in(folder) == "1.0"
    (folder / "trace").touch()
    again = install(environment, path, folder)
    assert again.returncode == 0 and again.stdout == "" and (folder / "trace").exists()
    assert install(environment, lock(path, "2.0", hashes["2.0"]), folder).returncode == 0
    assert version_in(folder) == "2.0" and not (folder / "trace").exists()


def test_a_file_that_is_not_what_was_pinned_leaves_everything_as_it_was(tmp_path, index):
    environment, hashes = index
    folder = tmp_path / "site"
    assert (
        install(environment, lock(tmp_path / "lock", "1.0", hashes["1.0"]), folder).returncode == 0
    )
    out = install(environment, lock(tmp_path / "lock", "2.0", hashes["1.0"]), folder)
    assert out.returncode == 1 and "mend it with:  colcon build" in out.stderr
    assert version_in(folder) == "1.0"
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith(".new")] == []


@pytest.mark.parametrize("setting", ["PIP_USER", "PIP_REQUIRE_VIRTUALENV"])
def test_settings_of_the_user_that_contradict_a_folder_do_not_count(tmp_path, index, setting):
    environment, hashes = index
    path = lock(tmp_path / "lock", "1.0", hashes["1.0"])
    out = install({**environment, setting: "1"}, path, tmp_path / "site")
    assert out.returncode == 0, out.stderr


def test_packages_that_do_not_run_here_are_refused(tmp_path, index, monkeypatch):
    environment, hashes = index
    spec = importlib.util.spec_from_file_location("vendor_install", PACKAGE / "install.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "MODULES", ("rotor_probe", "module_of_nobody"))
    monkeypatch.setattr(os, "environ", environment)
    path = lock(tmp_path / "lock", "1.0", hashes["1.0"])
    assert module.main(path, tmp_path / "site") == 1
    assert not (tmp_path / "site").exists()


def test_colcon_builds_it_and_its_hook_puts_it_behind_what_is_there(tmp_path, index):
    """The real build, with a lock of one small package."""
    environment, hashes = index
    shutil.copytree(PACKAGE, tmp_path / "src" / "rotor_vendor")
    lock(tmp_path / "src" / "rotor_vendor" / "requirements.lock", "1.0", hashes["1.0"])
    subprocess.run(
        [sys.executable, "-m", "colcon", "build"],
        cwd=tmp_path, env=environment, check=True, capture_output=True,
    )  # fmt: skip
    ask = "import rotor_probe, os; print(rotor_probe.VERSION, os.environ['PYTHONPATH'].split(os.pathsep)[0])"
    shell = f'source {tmp_path}/install/local_setup.bash && {sys.executable} -c "{ask}"'
    out = subprocess.run(
        ["bash", "-c", shell],
        env={**environment, "PYTHONPATH": "/of/the/user"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert out.stdout.split() == ["1.0", "/of/the/user"]
