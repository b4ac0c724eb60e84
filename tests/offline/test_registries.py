"""All that a user can add is registered in one way, from their own package as well."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
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


def run(*words, cwd, path=PLUGIN, compiled=False):
    """Run Python beside another package; uncompiled, because its forces would have the whole engine compiled again."""
    env = {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    env["ROTOR_UNCOMPILED"] = "" if compiled else "1"
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


PLANT = """
schema: 1
model:
  vehicles: [{use: dragonfly}]
  payloads: [{use: triangular}]
  attachments: [{type: bridle, vehicle: quad1, length_m: 0.5, width_m: 0.4}]
initial:  # cables just taut: 0.5^2 = 0.458257569^2 + 0.2^2
  - {entity: payload, position_m: [0.0, 0.0, 0.0]}
  - {entity: quad1, position_m: [0.0, 0.0, 0.458257569]}
controller: {type: open_loop, commands: [{vehicle: quad1, speeds_rpm: [0.0, 0.0, 0.0, 0.0]}]}
trajectory: {type: hover, duration_s: 1.0}
forces:
  - {type: spring, body: quad1, anchor_m: [0.0, 0.0, 1.0], stiffness_n_per_m: 40.0, damping_n_s_per_m: 0.3}
  - {type: buoyancy, body: payload, volume_m3: 0.01}
sensing: {sensors: [{type: altimeter, body: payload}]}
time: {integrator: twin, step_s: 0.001}
"""


def test_another_package_adds_force_sensor_attachment_integrator_and_adapter(tmp_path):
    """Parts of the plant: the engine compiles a formula of somebody else into its step, and is right about it."""
    (tmp_path / "scenario.yaml").write_text(PLANT)
    program = (
        "import numpy as np, rotor\n"
        "from rotor_core.registry import REGISTRIES\n"
        "from rotor.graph.adapters import ADAPTERS\n"
        "simulation = rotor.Simulation('scenario.yaml')\n"
        "print(len(simulation.scenario.model.cables), list(ADAPTERS)[-1])\n"
        "for _ in range(40):\n"
        "    simulation.step(np.zeros((1, 4)))\n"
        "motion = simulation.state['quad1']\n"
        "mass = simulation.scenario.model.vehicles[0].mass_kg\n"
        "tensions, directions = simulation.engine.tensions, simulation.engine.directions\n"
        "assert tensions.min() > 0.1\n"
        "cables = (tensions[:, None] * directions).sum(axis=0)\n"
        "spring = 40.0 * (np.array([0.0, 0.0, 1.0]) - motion.position) - 0.3 * motion.velocity\n"
        "wanted = (spring + cables) / mass - [0.0, 0.0, 9.81]\n"
        "print(float(np.abs(motion.acceleration - wanted).max()), float(np.linalg.norm(spring)))\n"
        "height = simulation.state['payload'].position[2]\n"
        "print(float(simulation.sensors[2].sense()[0, 0] - 101325.0 + 12.0 * height))\n"
    )
    out = run("-c", program, cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    cables, errors, pressure = (line.split() for line in out.stdout.splitlines()[-3:])
    assert cables == ["2", "example"]
    assert (
        float(errors[0]) < 1e-10 and float(errors[1]) > 1.0
    )  # Newton's law, with a spring that pulls
    assert abs(float(pressure[0])) < 1e-9


def test_a_formula_of_another_package_compiles_into_the_engine(tmp_path):
    """The chain of conditions over all formulas, compiled."""
    program = (
        "import numpy as np\n"
        "from rotor_core.kernels.jit import COMPILED, kernel\n"
        "from rotor_core.config.extensions import FORCES\n"
        "from rotor_dynamics.forces.element import Motion\n"
        "from rotor_dynamics.forces.registered import formula\n"
        "assert COMPILED and list(FORCES) == ['buoyancy', 'shape_drag', 'spring']\n"
        "@kernel\n"
        "def evaluate(code, parameters, out):\n"
        "    turn = (0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)\n"
        "    motion = Motion((1.0, 2.0, 3.0), turn, (0.1, 0.2, 0.3), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 1.0)\n"
        "    force, moment = formula(code, parameters, motion)\n"
        "    for i in range(3):\n"
        "        out[i], out[3 + i] = force[i], moment[i]\n"
        "parameters = np.array([0.5, 0.0, 1.0, 40.0, 0.3] + [0.0] * 11)\n"
        "for code in (0, 2, 3):\n"
        "    out = np.zeros(6)\n"
        "    evaluate(np.int64(code), parameters, out)\n"
        "    print(*out[:3])\n"
    )
    (tmp_path / "program.py").write_text(program)
    out = run("program.py", cwd=tmp_path, compiled=True)
    assert out.returncode == 0, out.stderr
    rows = np.array([[float(x) for x in line.split()] for line in out.stdout.splitlines()])
    np.testing.assert_allclose(rows[0], [0.0, 0.0, 0.5])  # buoyancy lifts by its first number
    # 40 N/m times (-0.5, -2, -2) less 0.3 N s/m times the velocity, turned by a quarter about z
    np.testing.assert_allclose(rows[1], [-80.06, 20.03, -80.09], rtol=1e-12)
    assert not rows[2].any()  # no force has this number


def test_errors_of_an_attachment_of_another_package_have_their_place(tmp_path):
    text = PLANT.replace("  payloads: [{use: triangular}]\n", "")
    (tmp_path / "scenario.yaml").write_text(text)
    out = run("-m", "rotor.cli", "fly", "scenario.yaml", cwd=tmp_path)
    assert out.returncode == 2
    assert "scenario.yaml:5: model.attachments[0]: needs a payload" in out.stderr


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


@pytest.mark.parametrize("name", ["make_api_page", "make_scenario_page"])
def test_generated_pages_are_current(name):
    import importlib.util

    script = ROOT / "docs" / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text() == module.page(), f"./rotor python docs/scripts/{name}.py"
