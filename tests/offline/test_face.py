"""`import rotor`: names, and what is said where something is wrong or missing."""

import os
import subprocess
import sys

import numpy as np
import pytest

import rotor
from rotor_core.extras import LAUNCHER, OF_EVERY_ENVIRONMENT, OWN_WHEELS

HIDE = """
import importlib.abc, sys
class Hide(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hide())
"""


def without(hidden, program, cwd, wheels=False):
    """Run a program where some packages are missing; ``wheels``: in the environment of `./rotor`, whose Python says so."""
    if not wheels:
        program = f"import os; os.environ.pop({OWN_WHEELS!r}, None)\n{program}"
    env = {k: v for k, v in os.environ.items() if k not in (LAUNCHER, "AMENT_PREFIX_PATH")}
    return subprocess.run(
        [sys.executable, "-c", HIDE.format(hidden=set(hidden)) + program],
        cwd=cwd, env={**env, "ROTOR_UNCOMPILED": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", rotor.PLACES)
def test_every_name_is_there(name):
    assert getattr(rotor, name) is not None
    assert name in dir(rotor)


def test_importing_the_face_imports_nothing_else(tmp_path):
    program = (
        "import rotor, sys; print([m for m in sys.modules if m.startswith(('numpy', 'rotor_'))])"
    )
    assert without((), program, tmp_path).stdout == "[]\n"


@pytest.mark.parametrize(
    "program, package, extra",
    [
        ("rotor.fly('hover', duration=0.1).save('f.mcap')", "rosbags", "recordings"),
        ("rotor.open_flight('.')", "rosbags", "recordings"),
        ("rotor.view('hover')", "viser", "view"),
        ("rotor.Study('hover', {}, ['snaps']).run(1, workers=0)", "pyarrow", "studies"),
    ],
)
def test_a_missing_extra_is_named(program, package, extra, tmp_path):
    program = (
        f"import rotor\ntry:\n    {program}\nexcept rotor.ConfigError as error:\n    print(error)\n"
    )
    out = without((package,), program, tmp_path)
    assert out.returncode == 0, out.stderr
    assert f"needs the package {package}" in out.stdout and f"'.[{extra}]'" in out.stdout
    out = without((package,), program, tmp_path, wheels=True)
    advice = "rm -rf .ros" if extra in OF_EVERY_ENVIRONMENT else f"./rotor setup {extra}\n"
    assert advice in out.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words, missing",
    [
        (["view", "hover"], "viser"),
        (["sweep", "payload_mass"], "pyarrow"),
        (["fly", "hover", "--duration", "0.1", "--out", "there"], "matplotlib"),
        (["up", "hover"], "ament_index_python"),
    ],
)
def test_a_command_without_its_package_is_one_line(words, missing, tmp_path):
    program = f"from rotor.cli import main; sys.exit(main({words!r}))"
    out = without((missing, "rclpy") if words[0] == "up" else (missing,), program, tmp_path)
    assert out.returncode == 2 and "Traceback" not in out.stderr
    assert missing in out.stderr or "needs ROS 2" in out.stderr
    assert not list(tmp_path.iterdir())


def test_flying_needs_no_plots(tmp_path):
    program = "from rotor.cli import main; sys.exit(main(['fly', 'hover', '--duration', '0.1']))"
    out = without(("matplotlib", "rosbags", "viser", "rclpy"), program, tmp_path)
    assert out.returncode == 0 and "flight time" in out.stdout, out.stderr


@pytest.mark.parametrize(
    "change, text",
    [
        (("plant.paylod.mass_kg", 0.3), "plant has no entry 'paylod'; it has quad1, quad2, quad3, payload, cable1"),
        (("plant.payload.mas_kg", 0.3), "plant.payload has no 'mas_kg'; it has mass_kg, inertia_kg_m2"),
        (("initial.nobody.position_m.x", 0.3), "initial has no entry 'nobody'; it has quad1"),
        (("initial.payload.position_m.w", 0.3), "has no entry 'w'; it has x, y, z"),
        (("plant.payload.mass_kg", -1.0), "must be > 0"),
    ],
)  # fmt: skip
def test_places_that_do_not_exist_are_answered(change, text):
    scenario = rotor.load_scenario("three_dragonflies_triangular_1m")
    with pytest.raises(rotor.ConfigError, match=text.replace(".", r"\.")):
        scenario.changed(*change)


def test_components_of_vectors_have_their_own_names():
    scenario = rotor.load_scenario("three_dragonflies_triangular_1m")
    moved = scenario.changed("initial.payload.position_m.z", 0.7)
    assert rotor.initial_states(moved)["payload"].position[2] == 0.7
    turned = scenario.changed("initial.payload.quaternion_wxyz.w", 1.0)
    assert rotor.initial_states(turned)["payload"].attitude[0] == 1.0


def test_wrong_plans_durations_and_names_are_refused():
    plan = rotor.trajectories.hover(np.zeros(3))
    with pytest.raises(rotor.ConfigError, match=r"plans: must name \['quad1'\]"):
        rotor.fly("hover", plans={"quad3": plan})
    with pytest.raises(rotor.ConfigError, match="duration: must be a number > 0 s"):
        rotor.fly("hover", duration=-1.0)
    sim = rotor.Simulation("hover")
    with pytest.raises(rotor.RotorError, match="there is no entity 'quad9'; known: quad1"):
        sim.state["quad9"]
    with pytest.raises(rotor.RotorError, match="there is no entity 'quad9'"):
        sim.push("quad9", np.zeros(3), np.zeros(3))


def test_one_vehicle_takes_a_wrench():
    one, other = rotor.Simulation("hover"), rotor.Simulation("hover")
    one.step(rotor.Wrench(2.6, (0.0, 1e-4, 0.0)))
    other.step(np.array([[2.6, 0.0, 1e-4, 0.0]]))
    np.testing.assert_array_equal(one.motion, other.motion)


def test_by_hand_is_the_same_as_one_call():
    """The loop of the face gives the bits of `fly`."""
    flight = rotor.fly("quadrotor_circle", duration=1.0)
    scenario = flight.scenario
    sim, controller = rotor.Simulation(scenario), rotor.make_controller(scenario)
    from rotor_planning.trajectories.from_config import make_plans

    ((name, plan),) = make_plans(scenario).items()
    for i in range(len(flight.time) - 1):
        np.testing.assert_array_equal(sim.state[name].position, flight[name].position[i])
        sim.step(controller(sim.sense(), plan.at(sim.time - 1.0)))


def test_plan_through_samples_passes_them_smoothly():
    t = np.array([0.0, 0.7, 1.5, 2.0, 3.1])
    points = np.array([[0, 0, 0], [1, 0, 0.5], [1, 2, 0], [0, 1, 1], [0, 0, 1.0]])
    plan = rotor.Plan.from_samples(t, points, yaw=np.linspace(0.0, 1.0, 5))
    for k, when in enumerate(t):
        np.testing.assert_allclose(plan.at(when).position, points[k], atol=1e-12)
    for order in ("velocity", "acceleration", "jerk", "snap"):  # across a knot
        before, after = (getattr(plan.at(0.7 + s), order) for s in (-1e-9, 1e-9))
        np.testing.assert_allclose(before, after, atol=1e-5)
    for end in (0.0, t[-1]):
        assert np.abs(plan.at(end).velocity).max() < 1e-11
        assert np.abs(plan.at(end).acceleration).max() < 1e-10
    with pytest.raises(rotor.ContractError, match="times must increase"):
        rotor.Plan.from_samples(t[::-1], points)


@pytest.mark.parametrize("ramp", [10.0, 1.0, 0.5, 0.1])
def test_a_figure_eight_with_a_short_ramp_is_no_faster(ramp):
    """Its largest speed is that at the crossing, sqrt(w^2/4 + h^2) 2 pi / T: ramps stay on the curve."""
    plan = rotor.trajectories.figure_eight(np.zeros(3), 2.0, 1.0, 20.0, ramp=ramp)
    rows = np.array([plan.sample(t) for t in np.linspace(0.0, plan.duration, 4001)])
    x, y = rows[:, 0], rows[:, 1]
    # of the curve: y = h x / (w/2) sqrt(1 - (2x/w)^2) / 2 ... squared, without the phase
    np.testing.assert_allclose(y**2, x**2 * (1.0 - x**2), atol=5e-4)
    fastest = np.linalg.norm(rows[:, 3:6], axis=1).max()
    assert fastest == pytest.approx(np.sqrt(2.0) * 2.0 * np.pi / 20.0, rel=3e-3)


def test_figure_eight_is_a_lemniscate_from_rest_to_rest():
    """y^2 = h^2 (x/w)^2 (1 - 4 x^2 / w^2) with full width w and height h: Gerono's curve."""
    w, h = 2.0, 1.0
    plan = rotor.trajectories.figure_eight(np.array([0.0, 0.0, 1.0]), w, h, 6.0, turns=2)
    assert plan.duration == pytest.approx(2 * 6.0 + 3.0)
    path = np.array([plan.at(t).position for t in np.linspace(0.0, plan.duration, 700)])
    x, y = path[:, 0], path[:, 1]
    np.testing.assert_allclose(
        y**2, 4.0 * h**2 * (x / w) ** 2 * (1.0 - 4.0 * x**2 / w**2), atol=1e-6
    )
    assert np.abs(path[:, 2] - 1.0).max() < 1e-12 and x.max() == pytest.approx(w / 2, abs=1e-3)
    for end in (0.0, plan.duration):
        assert np.abs(plan.at(end).velocity).max() < 1e-9
