"""Whatever a user may add is registered in one way, from their own package as well."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rotor_core.errors import ConfigError
from rotor_core.registry import Registry

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "tests" / "data" / "plugin"
"""A package as pip would have put it onto the path: a module and its metadata."""

SCENARIO = """
schema: 1
model: {vehicles: [{use: dragonfly}]}
controller: {type: stiff, stiffness_per_s2: 6.0}
trajectory: {type: above, height_m: 0.5}
"""


def run(*words, cwd, path=PLUGIN):
    env = {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


def test_another_package_adds_a_verb(tmp_path):
    out = run("-m", "rotor.cli", "greet", "you", cwd=tmp_path)
    assert (out.returncode, out.stdout) == (0, "hello you\n"), out.stderr
    assert "Say hello." in run("-m", "rotor.cli", "--help", cwd=tmp_path).stdout


def test_another_package_adds_law_trajectory_metric_and_format(tmp_path):
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    program = (
        "import rotor\n"
        "from rotor_flight.studies.metrics import METRICS\n"
        "flight = rotor.fly('scenario.yaml')\n"
        "print(round(flight['quad1'].position[-1][2], 3), round(METRICS['highest_m'](flight), 3))\n"
        "flight.save('flight.rows')\n"
        "print(METRICS.origin('highest_m'), METRICS.origin('snaps') == '')\n"
    )
    out = run("-c", program, cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    heights, origin = out.stdout.splitlines()[-2:]
    end, highest = map(float, heights.split())
    assert abs(end - 0.5) < 0.005 and abs(highest - 0.5) < 0.005  # critically damped
    assert origin == "example-plugin True"
    assert (tmp_path / "flight.rows").read_text().endswith("rows\n")


def test_keys_of_another_package_are_checked_like_ours(tmp_path):
    (tmp_path / "scenario.yaml").write_text(
        SCENARIO.replace("stiffness_per_s2: 6.0", "pull_per_s2: 6.0")
    )
    out = run("-m", "rotor.cli", "fly", "scenario.yaml", cwd=tmp_path)
    assert out.returncode == 2
    assert "scenario.yaml:4: controller.pull_per_s2: unknown key" in out.stderr


def test_a_package_that_cannot_be_loaded_is_named(tmp_path):
    info = tmp_path / "path" / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rotor.verbs]\nbroken = broken_module:VERB\n")
    out = run("-m", "rotor.cli", "scenarios", cwd=tmp_path, path=tmp_path / "path")
    assert out.returncode == 2 and "Traceback" not in out.stderr
    assert "verb 'broken' of broken: cannot be loaded from broken_module:VERB" in out.stderr


def test_names_are_unique_and_misspelled_ones_get_a_suggestion():
    table: Registry[int] = Registry("rotor.test_numbers", "number", "Numbers of a test.")
    table.register("one", 1)
    table.register("two", 2)
    assert list(table) == ["one", "two"] and table["two"] == 2 and len(table) == 2
    with pytest.raises(ConfigError, match="number 'one': is registered twice"):
        table.register("one", 3)
    with pytest.raises(ConfigError, match="did you mean 'two'"):
        table["tow"]


def test_page_of_the_face_is_current():
    import importlib.util

    script = ROOT / "docs" / "scripts" / "make_api_page.py"
    spec = importlib.util.spec_from_file_location("make_api_page", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text() == module.page(), "./rotor python docs/scripts/make_api_page.py"
