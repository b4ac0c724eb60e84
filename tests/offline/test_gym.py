"""Environments for learning: Gymnasium's own checks, single and vectorised alike, and something is learned."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import rotor_flight.gym  # noqa: F401
from rotor_core.config.catalog import locate
from rotor_core.config.teams import cable_spans
from rotor_core.errors import ConfigError, ContractError
from rotor_core.state import State
from rotor_flight.gym.worlds import Task, Worlds
from rotor_sim.simulation import Simulation

SCENARIOS = (
    "hover", "dragonfly_point_mass", "three_dragonflies_triangular_1m", "three_dragonflies_triangular_rigid",
)  # fmt: skip


@pytest.mark.parametrize("name", SCENARIOS)
def test_gymnasium_accepts_it(name):
    """Warnings are errors here."""
    env = gymnasium.make("rotor/Team-v0", scenario=name)
    check_env(env.unwrapped)


def test_single_and_vectorised_worlds_are_the_same_bits():
    """World i of a vector with seed s is the environment with seed s + i, through resets too."""
    n, steps = 3, 160  # longer than an episode of 100 periods
    vector = gymnasium.make_vec("rotor/Team-v0", num_envs=n, scenario="hover", limit_s=2.0)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    singles = [gymnasium.make("rotor/Team-v0", scenario="hover", limit_s=2.0) for _ in range(n)]
    seen, _ = vector.reset(seed=7)
    for i, env in enumerate(singles):
        np.testing.assert_array_equal(env.reset(seed=7 + i)[0], seen[i])
    random = np.random.default_rng(0)
    over = np.zeros(n, bool)
    ended = 0
    for _ in range(steps):
        actions = random.uniform(-0.1, 0.1, (n, 4)).astype(np.float32)
        seen, rewards, failed, late, _ = vector.step(actions)
        for i, env in enumerate(singles):
            if over[i]:
                expected, reward, ends, out = env.reset()[0], 0.0, False, False
            else:
                expected, reward, ends, out, _ = env.step(actions[i])
            np.testing.assert_array_equal(expected, seen[i])
            assert (reward, ends, out) == (rewards[i], failed[i], late[i])
        over = failed | late
        ended += int(over.sum())
    assert ended >= n


def test_actions_and_seeds_of_another_shape_are_refused():
    """A list of one seed had reached one world of three; an action of three numbers was NumPy's error."""
    vector = gymnasium.make_vec("rotor/Team-v0", num_envs=3, scenario="hover")
    with pytest.raises(ContractError, match="one number or 3 of them, got 1"):
        vector.reset(seed=[1])
    vector.reset(seed=np.int64(5))  # type: ignore[arg-type]
    for env in (vector, gymnasium.make("rotor/Team-v0", scenario="hover").unwrapped):
        env.reset(seed=0)
        with pytest.raises(ContractError, match="action: must have the shape"):
            env.step(np.zeros(3, np.float32))


def test_hovering_at_the_goal_is_best():
    env = gymnasium.make(
        "rotor/Team-v0", scenario="three_dragonflies_triangular_1m", spread_m=0.0, speed_m_s=0.0, tilt_deg=0.0
    )  # fmt: skip
    env.reset(seed=0)
    total, steps = 0.0, 0
    over = False
    while not over:
        _, reward, failed, over, info = env.step(np.zeros(12, np.float32))
        assert not failed
        total, steps = total + reward, steps + 1
    assert info["distance_m"] < 1e-6 and total == pytest.approx(steps, rel=1e-6)


def test_a_fall_ends_the_episode():
    env = gymnasium.make("rotor/Team-v0", scenario="hover", limit_s=60.0)
    env.reset(seed=0)
    for _ in range(200):
        seen, reward, failed, over, info = env.step(np.array([-1.0, 0.0, 0.0, 0.0], np.float32))
        assert np.isfinite(seen).all() and np.isfinite(reward)
        if failed:
            break
    assert failed and not over and info["distance_m"] > 3.0


@pytest.mark.parametrize(
    "name", ["arm_coupled", "helicopter_hover", "sixteen_dragonflies_four_boxes"]
)
def test_scenarios_that_cannot_be_learned_are_refused(name):
    with pytest.raises(ConfigError, match="one team of multirotors"):
        gymnasium.make("rotor/Team-v0", scenario=name)


CUT_OFF = "changes: [{at_s: 0.2, cut: 1}]\n"
WEAK = "plant: [{entity: quad1, thrust_gain: 0.8}, {entity: payload, mass_kg: 0.09}]\n"


def test_the_plant_is_that_of_the_scenario(tmp_path):
    """Rotors that give less than they should, against the simulation; what changes on the way is refused."""
    text = locate("scenarios", "dragonfly_point_mass").read_text()
    assert "plant:" not in text and "changes:" not in text
    (tmp_path / "weak.yaml").write_text(text + WEAK)
    (tmp_path / "cut.yaml").write_text(text + CUT_OFF)
    task = Task(str(tmp_path / "weak.yaml"), spread_m=0.0, speed_m_s=0.0, tilt_deg=0.0)
    worlds, simulation = Worlds(task, 1), Simulation(tmp_path / "weak.yaml")
    worlds.restart(0, np.random.default_rng(0))
    hover = worlds._hover.copy()
    for _ in range(20):
        worlds.step(np.zeros((1, 1, 4)))
        for _ in range(round(task.period_s / simulation.scenario.time.control_s)):
            simulation.step(hover)
    assert simulation.state["quad1"].velocity[2] < -0.3  # it sinks
    np.testing.assert_allclose(worlds.states[0], simulation.state.array[:, :13], rtol=0, atol=1e-12)
    with pytest.raises(ConfigError, match="leave out changes"):
        Worlds(Task(str(tmp_path / "cut.yaml")), 1)


SPINNING = """
schema: 1
description: a vehicle with a flywheel
model: {vehicles: [{use: dragonfly, internal_rotors: [{axis: [0, 0, 1], inertia_kg_m2: 2.0e-5, speed_rad_s: 800}]}]}
controller: {use: quadrotor}
trajectory: {type: hover}
time: {integrator: %s}
"""


@pytest.mark.parametrize("integrator", ["rkmk4", "euler"])
def test_internal_rotors_turn_and_the_integrator_is_that_of_the_scenario(integrator, tmp_path):
    """A flywheel that stood still would lean the vehicle by radians; Euler's steps miss by millimetres."""
    (tmp_path / "flywheel.yaml").write_text(SPINNING % integrator)
    task = Task(str(tmp_path / "flywheel.yaml"), spread_m=0.0, speed_m_s=0.0, tilt_deg=0.0)
    worlds, simulation = Worlds(task, 1), Simulation(tmp_path / "flywheel.yaml")
    worlds.restart(0, np.random.default_rng(0))
    random = np.random.default_rng(1)
    for _ in range(20):
        actions = random.uniform(-0.3, 0.3, (1, 1, 4))
        worlds.step(actions)
        for _ in range(round(task.period_s / simulation.scenario.time.control_s)):
            simulation.step(worlds._hover + worlds._scale * actions[0])
    assert np.abs(simulation.state["quad1"].body_rate).max() > 0.1
    np.testing.assert_allclose(worlds.states[0], simulation.state.array[:, :13], rtol=0, atol=1e-10)


def test_cables_that_worlds_cannot_have_are_refused(tmp_path):
    text = locate("scenarios", "tethered_quadrotor").read_text()
    assert "mass_kg_per_m" in text
    still = "\n".join(line for line in text.splitlines() if "wind" not in line)
    (tmp_path / "heavy.yaml").write_text(still)
    with pytest.raises(ConfigError, match="cables without mass"):
        Worlds(Task(str(tmp_path / "heavy.yaml")), 1)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"period_s": 1e-5},
            r"whole number of steps of hover \(0.001 s\), got 1e-05; the nearest is 0.001",
        ),
        ({"period_s": 0.0213}, "the nearest is 0.021"),
        ({"limit_s": 0.001}, "limit_s: must be at least period_s"),
    ],
)
def test_periods_are_whole_steps(wrong, words):
    with pytest.raises(ConfigError, match=words):
        Worlds(Task("hover", **wrong), 1)


def test_something_is_learned(capsys, monkeypatch):
    """Twenty rounds of the example: from falling at once to returns above those of doing nothing.

    Without any feedback a start that leans and moves ends after about 90 of 250 periods (return 37).
    """
    example = Path(__file__).parents[2] / "examples" / "11_learn_to_hover.py"
    monkeypatch.setattr(sys, "argv", [str(example), "20"])
    runpy.run_path(str(example))
    out = capsys.readouterr().out
    assert float(out.split("mean return ")[-1].split()[0].rstrip(";")) > 60.0


def test_derivatives_of_a_period():
    """With the action, as differences of the batch say; the world goes on as if nobody had asked."""
    worlds = Worlds(Task("three_dragonflies_triangular_1m"), 2)
    random = np.random.default_rng(5)
    for w in range(2):
        worlds.restart(w, random)
    actions = 0.1 * random.normal(size=(2, 3, 4))
    for _ in range(20):
        worlds.step(actions)
    ints, floats = worlds.batch.ints.copy(), worlds.batch.floats.copy()
    found = worlds.transition(1)
    np.testing.assert_array_equal(worlds.batch.floats, floats)
    ends = []
    step = 1e-5
    for sign in (1.0, -1.0):
        worlds.batch.ints[:], worlds.batch.floats[:] = ints, floats
        moved = actions.copy()
        moved[1, 0, 0] += sign * step
        worlds.step(moved)
        ends.append(State(worlds.states[1]))
    slope = (ends[0].position - ends[1].position) / (2.0 * step)
    told = found.input[:, 0].reshape(-1, 12)[:, :3]
    np.testing.assert_allclose(told, slope, rtol=0, atol=1e-6 * np.abs(slope).max())
    vector = gymnasium.make_vec("rotor/Team-v0", num_envs=2, scenario="hover")
    vector.reset(seed=1)
    single = gymnasium.make("rotor/Team-v0", scenario="hover")
    single.reset(seed=2)
    np.testing.assert_array_equal(
        vector.unwrapped.transition(1).input, single.unwrapped.transition().input
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_actions_that_are_not_finite_are_refused_and_nothing_is_flown(bad):
    worlds = Worlds(Task("hover"), 3)
    before, actions = worlds.states.copy(), np.zeros((3, 1, 4))
    actions[1, 0, 2] = bad
    with pytest.raises(ContractError, match="action of world 1: must be finite"):
        worlds.step(actions)
    np.testing.assert_array_equal(worlds.states, before)


@pytest.mark.parametrize(
    "wrong", [{"period_s": 0}, {"limit_s": np.nan}, {"limit_s": -1}, {"spread_m": -0.1}, {"share": "x"}]
)  # fmt: skip
def test_tasks_that_cannot_be_are_refused(wrong):
    with pytest.raises(ConfigError, match=f"{next(iter(wrong))}: must be a finite number"):
        Task("hover", **wrong)


@pytest.mark.parametrize("scenario", ["four_dragonflies_box_spread", "three_crazyflies_point_mass"])
def test_an_action_of_zero_turns_nobody_over(scenario):
    """It held the moments with which the law answers a level start of a formation that leans: a spin."""
    still = {"spread_m": 0.0, "speed_m_s": 0.0, "tilt_deg": 0.0, "limit_s": 1.0}
    env = gymnasium.make("rotor/Team-v0", scenario=scenario, **still)
    env.reset(seed=0)
    worlds = env.unwrapped._worlds
    for _ in range(10):  # of 20 ms
        env.step(np.zeros(env.action_space.shape))
    assert np.abs(State(worlds.states[0]).body_rate[: worlds.vehicles]).max() < 2.0


def test_hover_looks_where_the_vehicle_looks(tmp_path):
    """A start turned by 90 degrees got the moment that turns it to north, for ever."""
    path = tmp_path / "turned.yaml"
    path.write_text(
        "schema: 1\ndescription: turned\nmodel: {vehicles: [{use: hummingbird}]}\n"
        "initial: [{entity: quad1, position_m: [0, 0, 2], rpy_deg: [0, 0, 90]}]\n"
        "controller: {use: quadrotor}\ntrajectory: {type: hover, duration_s: 5.0}\n"
    )
    still = {"spread_m": 0.0, "speed_m_s": 0.0, "tilt_deg": 0.0, "limit_s": 1.0}
    env = gymnasium.make("rotor/Team-v0", scenario=str(path), **still)
    start, _ = env.reset(seed=0)
    for _ in range(20):
        seen, *_ = env.step(np.zeros(env.action_space.shape))
    np.testing.assert_allclose(seen, start, atol=1e-6)


ASIDE = """
schema: 1
model:
  vehicles: [{use: dragonfly}]
  payloads: [{name: load, mass_kg: 0.05}]
  attachments: [{type: cable, a: quad1, b: load, length_m: 0.5, a_point_m: [0.05, 0.0, -0.05]}]
controller: {use: point_mass}
"""


def test_leaning_vehicles_keep_their_cables(tmp_path):
    """A cable beside the centre was too short for one start in six, which ended the training."""
    (tmp_path / "aside.yaml").write_text(ASIDE)
    worlds = Worlds(Task(str(tmp_path / "aside.yaml"), tilt_deg=20.0), 1)
    for seed in range(50):
        worlds.restart(0, np.random.default_rng(seed))
        spans = cable_spans(worlds.scenario.model, worlds.states[0])
        assert spans[0] == pytest.approx(
            cable_spans(worlds.scenario.model, worlds.goal)[0], abs=1e-12
        )


def test_nobody_begins_below_the_ground():
    worlds = Worlds(Task("x500_hover", spread_m=0.5), 1)
    assert worlds.scenario.environment.contact is not None
    heights = []
    for seed in range(60):
        worlds.restart(0, np.random.default_rng(seed))
        heights.append(worlds.states[0, 0, 2])
    assert min(heights) >= worlds._floor[0] - 1e-12 and max(heights) > worlds._floor[0] + 0.1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("a: quad1, b: load", "a: world, b: load", "cables to the world"),
        ("controller:", "actuation: propellers\ncontroller:", "vehicles and payloads alone"),
    ],
)
def test_what_worlds_cannot_shift_or_do_not_know_is_refused(tmp_path, old, new, words):
    text = ASIDE.replace("use: dragonfly", "use: delivery_drone, name: quad1").replace(
        ", a_point_m: [0.05, 0.0, -0.05]", ""
    )
    if "world" in new:
        text = ASIDE.replace(
            "b: load, length_m", "b: load, b_point_m: [0, 0, 0], length_m"
        ).replace(", a_point_m: [0.05, 0.0, -0.05]", "")
        text += "initial: [{entity: load, position_m: [0, 0, -0.4]}]\n"
    (tmp_path / "w.yaml").write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match=words):
        Worlds(Task(str(tmp_path / "w.yaml")), 1)
