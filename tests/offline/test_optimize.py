"""Optimal flights: closed forms, differences, and the command; through slack and snap."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from rotor.cli import main
from rotor_core.config.catalog import shipped
from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import PlantChange
from rotor_core.errors import ConfigError, ContractError
from rotor_core.kernels.jit import COMPILED
from rotor_core.math.rotation_vectors import rotation_from, wxyz_from
from rotor_core.state import FULL_STATE, State
from rotor_dynamics.sensitivities.backward.adjoint import AdjointFlights
from rotor_dynamics.sensitivities.shooting import Shooting
from rotor_flight.fly import fly
from rotor_flight.optimal.ddp import Node, bounded_step
from rotor_flight.optimal.inputs import inputs_of
from rotor_flight.optimal.planning import Planning
from rotor_flight.optimal.task import Task, Weights, load_task
from rotor_flight.optimal.terms import StateTerm
from rotor_sim.simulation import Simulation

pytestmark = pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels")


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000))
def test_steps_within_bounds_are_those_of_a_solver_for_bounded_least_squares(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    J = rng.normal(size=(n + 2, n))
    r = rng.normal(size=n + 2)
    lower, upper = -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)
    x, free = bounded_step(J.T @ J + 1e-9 * np.eye(n), J.T @ r, lower, upper)
    best = lsq_linear(J, -r, (lower - 1e-12, upper + 1e-12), tol=1e-12)
    assert np.all(x >= lower) and np.all(x <= upper)
    assert 0.5 * np.sum((J @ x + r) ** 2) <= best.cost + 1e-7
    assert np.all(np.isclose(x, lower) | np.isclose(x, upper) | free)


def hovering(name="three_dragonflies_triangular_1m", step=2e-3, steps=5):
    scenario = load_scenario(name)
    engine = Simulation(scenario).engine
    wrenches = np.zeros((len(scenario.model.vehicles), 4))
    wrenches[:, 0] = sum(e.mass_kg for e in scenario.model.entities) * 9.81 / len(wrenches)
    return Shooting(
        engine.system, engine.motion[:, FULL_STATE].copy(), wrenches, step=step, steps=steps
    ), wrenches


def test_periods_against_differences():
    """With inputs and with the length of a step, in a swinging flight."""
    world, hover = hovering()
    rng = np.random.default_rng(3)
    nodes, inputs = [world.start], []
    for _ in range(30):
        wrenches = hover * (1.0 + 0.1 * rng.normal(size=hover.shape))
        wrenches[:, 1:] = 1e-3 * rng.normal(size=(len(hover), 3))
        inputs.append(wrenches)
        nodes.append(world.period(*nodes[-1], wrenches))
    periods = world.linearize(nodes[:-1], np.array(inputs))
    assert not periods.doubted.any()
    for k in (0, 17, 29):
        for j in range(12):
            h = 1e-5
            ends = []
            for sign in (1, -1):
                moved = inputs[k].copy()
                moved.ravel()[j] += sign * h
                ends.append(world.period(*nodes[k], moved)[1])
            slope = world.difference(*ends) / (2.0 * h)
            np.testing.assert_allclose(
                periods.B[k][:, j], slope, rtol=0, atol=1e-6 * np.abs(slope).max()
            )
        ends = [world.period(*nodes[k], inputs[k], 2e-3 + s * 1e-7)[1] for s in (1, -1)]
        slope = world.difference(*ends) / 2e-7
        np.testing.assert_allclose(periods.E[k], slope, rtol=0, atol=1e-6 * np.abs(slope).max())
        slope = (world.tensions(ends[0]) - world.tensions(ends[1])) / 2e-7
        np.testing.assert_allclose(
            periods.F[k], slope, rtol=0, atol=1e-5 * max(np.abs(slope).max(), 1.0)
        )


def winching():
    """A vehicle that winds its payload, with the inputs that keep it in hover."""
    scenario = load_scenario("courtyard")
    engine = Simulation(scenario).engine
    inputs = np.zeros(5)
    inputs[0] = sum(e.mass_kg for e in scenario.model.entities) * 9.81
    states = engine.motion[:, FULL_STATE].copy()
    return Shooting(engine.system, states, inputs[None, :4], step=2e-3, steps=10), inputs


def test_periods_with_a_winch_against_differences():
    """Length and rate are coordinates, the acceleration is an input; a swinging flight that winds."""
    world, hover = winching()
    assert world.n == world.n_moving + 2 == 20
    rng = np.random.default_rng(1)
    nodes, inputs = [world.start], []
    for _ in range(20):
        now = hover.copy()
        now[0] *= 1.0 + 0.1 * rng.normal()
        now[1:4], now[4] = 1e-3 * rng.normal(size=3), 2.0 * rng.normal()
        inputs.append(now)
        nodes.append(world.period(*nodes[-1], now))
    lengths = np.array([world.winding(floats)[0] for _, floats in nodes])
    accelerations = np.array(inputs)[:, 4]
    np.testing.assert_allclose(np.diff(lengths[:, 1]), 0.02 * accelerations, atol=1e-12)
    np.testing.assert_allclose(
        np.diff(lengths[:, 0]), 0.01 * (lengths[1:, 1] + lengths[:-1, 1]), atol=1e-12
    )
    periods, h = world.linearize(nodes[:-1], np.array(inputs)), 1e-6
    for k in (0, 7, 19):
        for j in range(5):
            ends = []
            for sign in (1.0, -1.0):
                changed = inputs[k].copy()
                changed[j] += sign * h * (1.0 if j in (0, 4) else 1e-2)
                ends.append(world.period(*nodes[k], changed)[1])
            slope = world.difference(*ends) / (2.0 * h * (1.0 if j in (0, 4) else 1e-2))
            np.testing.assert_allclose(
                periods.B[k][:, j], slope, atol=1e-6 * max(np.abs(slope).max(), 1.0)
            )
        ends = [world.period(*nodes[k], inputs[k], 2e-3 + s * 1e-7)[1] for s in (1.0, -1.0)]
        slope = world.difference(*ends) / 2e-7
        np.testing.assert_allclose(periods.E[k], slope, atol=1e-6 * np.abs(slope).max())
        column = world.n_moving + 1  # a rate that goes on
        after = periods.A[k][world.n_moving :, column]
        np.testing.assert_allclose(after, [0.02, 1.0], atol=1e-12)


def test_maps_of_periods_are_the_flight():
    """Maps of forty periods in which cables go slack and snap, multiplied: what the way back through the flight gives."""
    world, hover = hovering()
    rng = np.random.default_rng(11)
    inputs = hover * (1.0 + 0.3 * rng.normal(size=(40, *hover.shape)))
    inputs[:, :, 1:] = 3e-3 * rng.normal(size=(40, len(hover), 3))
    inputs[
        5:15, 1, 0
    ] *= -0.3  # one vehicle is pushed towards the payload, and is caught by its cable
    nodes = [world.start]
    for wrenches in inputs:
        nodes.append(world.period(*nodes[-1], wrenches))
    slack = [np.any(world.tensions(floats) <= 0.0) for _, floats in nodes[1:]]
    assert any(slack) and not all(slack)
    row = world.row_of(3)
    place = np.flatnonzero((world.bodies == row) & (world.axes < 3))
    # half the squared distance of the payload from a place at the end, and all its heights on the way
    error = State(world.state(nodes[-1][1])[row]).position - [0.1, 0.2, 0.3]
    costate, periods = np.zeros(world.n), world.linearize(nodes[:-1], inputs)
    costate[place] = error
    chained = np.zeros((40, 12))
    for k in reversed(range(40)):
        chained[k] = periods.B[k].T @ costate
        costate = periods.A[k].T @ costate
        costate[place[2]] += 1.0
    flights = AdjointFlights(
        world.engine.system, world.members(world.state(world.start[1])), steps=world.steps, step=2e-3, wrenches=hover,
    )  # fmt: skip
    flight = flights.fly(inputs.reshape(40, -1))
    weights = np.zeros(flight.states.shape)
    weights[-1, 3, :3] = error
    weights[:-1, 3, 2] += 1.0
    told = flight.gradient(weights)
    np.testing.assert_allclose(told.commands, chained, rtol=0, atol=1e-11 * np.abs(chained).max())
    np.testing.assert_allclose(told.start, costate, rtol=0, atol=1e-11 * np.abs(costate).max())


def test_differences_of_states_are_coordinates():
    world, hover = hovering()
    world_b = world.period(*world.start, hover * 1.05)
    assert not world.difference(world.start[1], world.start[1]).any()
    there = world.difference(world_b[1], world.start[1])
    back = world.difference(world.start[1], world_b[1])
    np.testing.assert_allclose(there, -back, rtol=0, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1e-3, 0.3, 2.0]))
def test_slopes_of_states_about_others_against_differences(seed, size):
    """Rotation vectors of up to two radians and all else, each weighted."""
    world, _ = hovering()
    rng = np.random.default_rng(seed)
    about, weight = world.state(world.start[1]).copy(), rng.uniform(0.0, 2.0, world.n)
    here = moved(about, size * rng.uniform(-1.0, 1.0, (len(about), 12)) / np.sqrt(3.0))
    slopes, h = world.slopes_between(here, about, weight), 1e-6
    for j in range(world.n):
        change = np.zeros((len(about), 12))
        change[world.bodies[j], world.axes[j]] = h
        ends = [weight * world.between(moved(here, s * change), about) for s in (1.0, -1.0)]
        np.testing.assert_allclose((ends[0] - ends[1]) / (2.0 * h), slopes[:, j], atol=1e-8)


def moved(states, change):
    """States of bodies changed by their coordinates (n, 12)."""
    out = states.copy()
    now = State(out)
    now.position[:] += change[:, :3]
    turn = Rotation.from_rotvec(change[:, 3:6])
    turned = rotation_from(now.attitude) * turn
    now.attitude[:] = wxyz_from(turned)
    now.velocity[:] += change[:, 6:9]
    now.body_rate[:] += change[:, 9:]
    return out


def climb(height=3.0):
    """As fast as it can from rest to rest, straight up."""
    return Task(
        1, "hover", rest_at=(0.0, 0.0, height), entity="quad1", duration_s=2.0, periods=40, steps=5, fastest=True,
        haste_per_s=20.0, reserve=0.0, guess="hover", tolerance=1e-3,
    )  # fmt: skip


def test_the_fastest_climb_is_full_thrust_and_then_least_thrust():
    """T = sqrt(2 h (1/a + 1/b)) with the accelerations a up and b down; held inputs switch within a period of it."""
    scenario = load_scenario("hover")
    start = Simulation(scenario).motion[0, 2]
    height = 3.0
    planning = Planning(climb(start + height), scenario)
    solution = planning.solve()
    g = scenario.environment.gravity_m_s2
    a, b = (
        planning.inputs.upper.sum() / planning.mass - g,
        g - planning.inputs.lower.sum() / planning.mass,
    )
    best = np.sqrt(2.0 * height * (1.0 / a + 1.0 / b))
    duration = planning.duration(solution)
    assert solution.violation < 1e-3
    assert best - 2e-3 < duration < 1.02 * best + duration / 40
    thrusts = solution.trajectory.inputs.sum(axis=1)
    switched = round(b / (a + b) * 40)
    assert np.all(thrusts[: switched - 2] > 0.98 * planning.inputs.upper.sum())
    assert np.all(
        thrusts[switched + 2 : -1]
        < planning.inputs.lower.sum() + 0.05 * planning.inputs.upper.sum()
    )


def write_task(folder, **keys):
    task = {
        "schema": 1, "scenario": "dragonfly_point_mass", "duration_s": 2.5, "periods": 50, "rest_at": [2.0, 0.0, 0.0],
        "disturbed": {"flights": 10},
    }  # fmt: skip
    path = folder / "task.yaml"
    path.write_text(json.dumps(task | keys))  # which is YAML, too
    return path


def test_the_command_writes_a_plan_that_flies(tmp_path, capsys):
    path = write_task(tmp_path)
    assert main(["optimize", str(path), "--out", str(tmp_path / "out"), "--json"]) == 0
    told = capsys.readouterr().out
    assert "solved" in told
    found = json.loads((tmp_path / "out/summary.json").read_text())
    assert found["violation"] <= 2e-3 and found["disturbed_within"] == 1.0
    solution = np.load(tmp_path / "out/solution.npz")
    np.testing.assert_allclose(solution["states"][-1, 1, :3], [2.0, 0.0, 0.0], rtol=0, atol=2e-3)
    assert solution["gains"].shape == (50, 4, 18)
    plan = YAML(typ="safe").load(tmp_path / "out/trajectory.yaml")
    keys = {key: value for key, value in plan.items() if key != "schema"}
    flown = fly(load_scenario("dragonfly_point_mass").changed("trajectory", keys), duration=12.0)
    assert np.linalg.norm(flown["payload"].position[-1] - [2.0, 0.0, 0.0]) < 0.05
    # a folder that holds something is not written into
    assert main(["optimize", str(path), "--out", str(tmp_path / "out")]) == 2


RIGID = "three_dragonflies_triangular_rigid"


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0, 3, 6, 9]))
def test_slopes_of_a_part_of_a_body_against_differences(seed, first):
    """Place, attitude, velocity and rate of a member anywhere on a body that turns; what is told is that of the engine."""
    planning = Planning(Task(1, RIGID, rest_at=(1.0, 0.0, 0.0)), load_scenario(RIGID))
    world, rng = planning.shooting, np.random.default_rng(seed)
    state = moved(world.state(world.start[1]).copy(), rng.uniform(-1.0, 1.0, (1, 12)))
    member, wanted = int(rng.integers(4)), rng.normal(size=4 if first == 3 else 3)
    wanted /= np.linalg.norm(wanted)
    weight = rng.uniform(0.5, 2.0, 3)
    term = StateTerm(0, first, wanted, weight, pose=world.pose_of(member))

    def residual(state):
        return term.residual(Node(0, world, state, np.zeros(12), np.zeros(0)))

    world.engine.set_state(world.members(state))
    now = State(world.engine.motion[member])
    apart = {0: now.position, 6: now.velocity, 9: now.body_rate}.get(first)
    if apart is None:
        turn = (rotation_from(wanted).inv() * rotation_from(now.attitude)).as_quat()
        expected = 2.0 * turn[:3] * np.sign(turn[3])
    else:
        expected = apart - wanted
    np.testing.assert_allclose(residual(state), weight * expected, atol=1e-12)
    np.testing.assert_allclose(world.ordered(world.engine.motion), state, atol=1e-12)
    slopes, _ = term.slopes(Node(0, world, state, np.zeros(12), np.zeros(0)))
    for j in range(world.n):
        change = np.zeros((1, 12))
        change[world.bodies[j], world.axes[j]] = 1e-6
        ends = [residual(moved(state, sign * change)) for sign in (1.0, -1.0)]
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-6, slopes[:, j], atol=1e-8)


@pytest.mark.parametrize(
    "name",
    [
        "whippletree",
        "heterogeneous_triangular_1m",
        "three_dragonflies_triangular_rigid",
        "delivery",
    ],
)
def test_what_hovers_holds_the_whole_weight(name):
    """Also where something hangs on no vehicle itself: on what hangs, or in a vehicle."""
    scenario = load_scenario(name)
    inputs = inputs_of(scenario)
    weight = sum(e.mass_kg for e in scenario.model.entities) * scenario.environment.gravity_m_s2
    assert inputs.hover[: inputs.n_rotors].sum() == pytest.approx(weight, rel=1e-9)


def test_less_tilt_is_no_other_heading(tmp_path):
    """A hop with the weight of tilts keeps the heading of the start: it was turned to 0 and back, at 89 degrees."""
    scenario = {
        "schema": 1, "model": {"vehicles": [{"use": "hummingbird"}]}, "controller": {"use": "quadrotor"},
        "initial": [{"entity": "quad1", "rpy_deg": [0.0, 0.0, 150.0]}], "trajectory": {"type": "hover", "yaw_deg": 150.0},
    }  # fmt: skip
    with (tmp_path / "turned.yaml").open("w") as file:
        YAML().dump(scenario, file)
    scenario = load_scenario(str(tmp_path / "turned.yaml"))
    keys = {"duration_s": 3.0, "periods": 40, "weights": Weights(tilt_per_s=1.0)}
    planning = Planning(
        Task(1, "turned", entity="quad1", rest_at=(1.0, 0.5, 0.0), **keys), scenario
    )
    solution = planning.solve()
    assert solution.violation < 1e-3
    states = State(
        np.array([planning.shooting.state(node[1])[0] for node in solution.trajectory.nodes])
    )
    turned = rotation_from(states.attitude).as_euler("ZYX", degrees=True)
    np.testing.assert_allclose(turned[:, 0], 150.0, atol=1.0)
    assert np.abs(turned[:, 1:]).max() < 10.0


@pytest.mark.parametrize("name", [RIGID, "heterogeneous_triangular_rigid", "beside_its_centre"])
def test_a_team_on_rigid_links_hovers_moves_and_repeats_it(name, tmp_path):
    """Its hover turns nothing; the plan, flown again by the simulator and the law `planned`, ends where it must."""
    if name == "beside_its_centre":  # a vehicle whose place is not its centre of mass
        text = "schema: 1\nmodel: {vehicles: [{use: dragonfly, name: quad1, com_m: [0.01, -0.02, 0.03]}]}\n"
        path = tmp_path / "beside.yaml"
        path.write_text(
            text + "controller: {use: quadrotor}\ntrajectory: {type: hover, duration_s: 3.0}\n"
        )
        name, entity = str(path), "quad1"
    else:
        entity = "payload"
    task = write_task(tmp_path, scenario=name, rest_at=[0.6, 0.4, 0.3], entity=entity, reserve=0.02)
    planning = Planning(load_task(str(task))[0], load_scenario(name))
    world, node = planning.shooting, planning.shooting.start
    for _ in range(20):
        node = world.period(*node, planning.inputs.of_world(planning.hover))
    assert np.abs(world.difference(node[1], world.start[1])).max() < 1e-12
    assert main(["optimize", str(task), "--out", str(tmp_path / "out")]) == 0
    solution = np.load(tmp_path / "out" / "solution.npz")
    scenario = load_scenario(tmp_path / "out" / "scenario.yaml")
    flight = fly(scenario, duration=3.5)  # the plan begins after a second
    row = scenario.model.index(entity)
    # states of all members on the way, velocities too; held thrusts of 5 ms steps against those of the plan
    at = np.searchsorted(flight.time, 1.0 + solution["time"][1:] - 1e-9)
    told = State(solution["states"][1:])
    flown = State(flight.states[at])
    assert np.abs(flown.position - told.position).max() < 5e-3
    assert np.abs(flown.velocity - told.velocity).max() < 3e-2
    assert np.abs(flown.body_rate - told.body_rate).max() < 0.2
    assert np.linalg.norm(flown.position[-1, row] - [0.6, 0.4, 0.3]) < 3e-3


POST = """
schema: 1
description: a thin post on the way
model: {vehicles: [{use: dragonfly}], payloads: [{use: point_mass}], attachments: [{type: mechanism, use: point_0-5m}]}
environment: {obstacles: [{name: post, shape: {type: cylinder, radius_m: 0.01, height_m: 0.4}, position_m: [0, 1.0, 0]}]}
controller: {use: point_mass}
trajectory: {use: circle_10s}
"""


def test_what_is_between_the_ends_of_periods_counts(tmp_path, capsys):
    """`solved, clearance 0.05 m` was told of flights through a post, and pulls at the ends alone."""
    (tmp_path / "post.yaml").write_text(POST)
    path = write_task(
        tmp_path, scenario="post.yaml", rest_at=[0.0, 2.0, 0.0], duration_s=1.8, periods=9, clearance_m=0.02,
        tension_n=[0.0, 1.2], rounds=1, disturbed={"flights": 1},
    )  # fmt: skip
    task, scenario, _ = load_task(str(path))
    planning = Planning(task, scenario)
    solution = planning.solve()
    report = planning.judge(solution)
    world = planning.shoot(task.duration_s / 9000, 1)  # by itself, in steps of 0.2 ms
    law, node = planning.regulated(solution), world.start
    load = scenario.model.payloads[0].shape.radius_m
    apart, pulls = [], []
    for k in range(task.periods):
        planned = law.trajectory
        asked = planned.inputs[k] + law.gains[k] @ world.difference(node[1], planned.nodes[k][1])
        asked = np.clip(asked, planning.inputs.lower, planning.inputs.upper)
        for _ in range(1000):
            node = world.period(*node, planning.inputs.of_world(asked))
            x, y, _ = world.state(node[1])[world.row_of(1), :3]
            apart.append(np.hypot(x, y - 1.0) - 0.01 - load)
            pulls.append(world.tensions(node[1])[0])
    assert report.clearance == pytest.approx(
        max(min(apart), -load), abs=2e-3
    )  # no deeper than its core
    assert report.clearance < -0.02
    assert report.pulls[1] == pytest.approx(max(pulls), rel=0.02)
    assert report.tensions.max() < report.pulls[1]
    assert "clearance is -0.0" in report.shortfalls[0]
    # where it ends, it is measured from its goal
    end = State(report.states[-1]).position[1]
    assert report.undisturbed == pytest.approx(np.linalg.norm(end - [0.0, 2.0, 0.0]), abs=5e-3)
    assert main(["optimize", str(path)]) == 1
    assert "give more periods" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("environment: {wind: {steady_m_s: [4.0, 0, 0]}}", "knows no moving air"),
        ("changes: [{at_s: 0.5, cut: 1}]", "changes on the way"),
    ],
)
def test_what_the_planned_world_leaves_out_is_refused(tmp_path, keys, words):
    text = POST.replace(
        "use: dragonfly", "use: dragonfly, drag: {linear_n_s_per_m: [0.1, 0.1, 0.1]}"
    )
    lines = [line for line in text.splitlines() if not line.startswith("environment")]
    (tmp_path / "other.yaml").write_text("\n".join([*lines, keys]))
    task, scenario, _ = load_task(str(write_task(tmp_path, scenario="other.yaml")))
    with pytest.raises(ContractError, match=words):
        Planning(task, scenario)


def test_a_parcel_is_lowered_by_a_winch_with_little_energy(tmp_path):
    """The vehicle stays above the houses; the plan and its winch are flown again; energy is torque times speed."""
    assert main(["optimize", "courtyard", "--out", str(tmp_path / "out")]) == 0
    found = json.loads((tmp_path / "out/summary.json").read_text())
    assert found["violation"] <= 5e-3 and found["disturbed_within"] == 1.0
    scenario = load_scenario(tmp_path / "out" / "scenario.yaml")
    flight = fly(scenario, duration=10.0)
    assert flight.verdict().kind not in ("lost", "crashed")
    vehicle, parcel = (State(flight.states[:, i]).position for i in (0, 1))
    over = np.abs(vehicle[:, 0] - 2.0) < 1.4
    assert vehicle[over, 2].min() > 2.5 and parcel[:, 2].min() < 0.32
    assert np.linalg.norm(parcel[-1] - [-2.0, 0.0, 3.0]) < 0.02
    rotors = scenario.model.vehicles[0].rotors
    k = rotors.thrust_n_per_rpm2 * (60.0 / (2.0 * np.pi)) ** 2
    thrusts = flight.commands[:, 0] @ np.linalg.inv(rotors.mixing).T
    power = (rotors.torque_per_thrust_m * thrusts * np.sqrt(thrusts / k)).sum(axis=1)
    energy = float(np.trapezoid(power, flight.time))
    assert found["energy_j"] == pytest.approx(energy, rel=5e-3)
    # the same time with more of everything: least means that what is undesirable counts, too
    assert found["energy_j"] < 1.02 * 10.0 * power[0]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"rest_at": None}, "needs goals, or rest_at"),
        ({"entity": "box"}, "no entity 'box'"),
        ({"goals": [{"entity": "payload", "at": 0.5}]}, "position_m or velocity_m_s"),
        (
            {"goals": [{"entity": "payload", "at": 0.5, "position_m": [0, 0, 0], "free": "w"}]},
            "free must name",
        ),
        ({"tension_n": [3.0, 1.0]}, "tension_n must be"),
        (
            {
                "goals": [
                    {"entity": "payload", "at": 0.5, "position_m": [0, 0, 0]},
                    {"entity": "payload", "at": 0.5001, "position_m": [1, 0, 0]},
                ]
            },
            r"goals\[0\] and goals\[1\] want 0 and 1 of position_m\[0\] of 'payload' at the end of the same period",
        ),
        (
            {
                "goals": [{"entity": "payload", "at": 1.0, "velocity_m_s": [1, 0, 0]}],
                "rest_at": [0.0, 0.0, 0.0],
            },
            r"goals\[0\] and rest_at want 1 and 0 of velocity_m_s\[0\]",
        ),
        ({"periods": 1}, "periods"),
        ({"scenario": "nowhere"}, "nowhere"),
        ({"speed": 1.0}, "speed"),
    ],
)
def test_tasks_that_cannot_be_are_told(tmp_path, keys, words):
    path = write_task(tmp_path, **keys)
    with pytest.raises(ConfigError, match=words):
        load_task(str(path))


def test_worlds_that_are_not_shot_are_refused(tmp_path, capsys):
    task = climb()
    with pytest.raises(ContractError, match="joints"):
        Planning(task, load_scenario("arm_coupled"))
    cable = "{type: cable, a: quad1, b: payload, length_m: 0.5, mass_kg_per_m: 0.02, segments: 3}"
    (tmp_path / "heavy.yaml").write_text(POST.replace("{type: mechanism, use: point_0-5m}", cable))
    with pytest.raises(ContractError, match="heavy cables"):
        Planning(task, load_scenario(tmp_path / "heavy.yaml"))
    path = write_task(
        tmp_path, scenario="arm_coupled", goals=[], entity="am1", rest_at=[1.0, 0.0, 2.0]
    )
    assert main(["optimize", str(path)]) == 2
    assert f"{path}: scenario arm_coupled: shooting: knows" in capsys.readouterr().err


@pytest.mark.parametrize("name", shipped("tasks"))
def test_shipped_tasks_are_ready(name):
    task, scenario, _ = load_task(name)
    planning = Planning(task, scenario)
    assert len(planning.problem().costs) == task.periods + 1


def test_timed_paths_pass_their_points():
    scenario = load_scenario("hover")
    points = [[0.5 * i, 0.1 * i, 0.02 * i * i, 0.0] for i in range(7)]
    timed = scenario.changed("trajectory", {"type": "timed", "points": points, "relative": True})
    flight = fly(timed)
    start = flight["quad1"].position[0]
    reference = flight.reference("quad1").position
    for t, *place in points[:-1]:
        row = int(np.searchsorted(flight.elapsed, t - 1e-9))
        np.testing.assert_allclose(reference[row], start + place, rtol=0, atol=1e-9)
    for bad in ([[0, 0, 0, 0]], [[i - 1, 0, 0, 0] for i in range(7)], [[0, 0, 0, 0]] * 7):
        with pytest.raises(ConfigError, match="points must"):
            scenario.changed("trajectory", {"type": "timed", "points": bad})


def test_plans_are_of_the_nominal_model():
    """What the law that flies them knows: of a heavier payload half was planned for, and half was not."""
    task, plain = climb(), load_scenario("hover")
    heavier = replace(plain, plant=(PlantChange(entity="quad1", mass_kg=0.3),))
    ours, theirs = (Planning(task, scenario) for scenario in (heavier, plain))
    np.testing.assert_array_equal(ours.shooting.start[1], theirs.shooting.start[1])
    np.testing.assert_array_equal(ours.hover, theirs.hover)
