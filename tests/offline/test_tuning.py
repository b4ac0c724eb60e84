"""Tuning: the linear closed loop against the simulator, margins against flights, proposals against what is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rotor.cli import main
from rotor_control.controller import make_controller
from rotor_core.config.catalog import shipped
from rotor_core.config.controllers import CableTeamControl
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.sensing import KalmanEstimator, Sensing
from rotor_core.errors import ConfigError
from rotor_core.plans.plan import hold
from rotor_core.state import State
from rotor_dynamics.sensitivities.linearization import ERRORS
from rotor_flight.fly import fly
from rotor_flight.tuning.closed_loop import LinearLoop
from rotor_flight.tuning.proposal import (
    DAMPING,
    design_of,
    propose,
    with_bandwidths,
)
from rotor_sim.simulation import Simulation

TEAMS = [
    "quadrotor_circle",
    "dragonfly_point_mass",
    "three_crazyflies_point_mass",
    "three_dragonflies_triangular_1m",
    "three_dragonflies_triangular_rigid",
]
SMALL = 1e-5


def simulated(loop, periods, by, sensing):
    """Position of what is planned over time, after all has been moved along x from where it should be."""
    simulation = Simulation(replace(loop.scenario, sensing=sensing))
    controller = make_controller(loop.scenario)
    row = loop.scenario.model.index(controller.teams[0].entity)
    start = loop.states.copy()
    home = State(start).position[row].copy()
    controller.follow(0, hold(home), 0.0)
    State(start).position[:, 0] += by
    simulation.reset(start)
    out = []
    for _ in range(periods):
        out.append(State(simulation.motion).position[row] - home)
        simulation.act(controller.decide(simulation.sense().array, controller.references))
        simulation.step()
    return np.array(out)


@pytest.mark.parametrize(
    ("name", "sensing", "every", "delay"),
    [
        *((name, Sensing(), 1, 0) for name in TEAMS),
        ("quadrotor_circle", Sensing(delay_s=0.0125), 1, 3),
        ("quadrotor_circle", Sensing(delay_s=0.015), 1, 3),
        ("quadrotor_circle", Sensing(rate_hz=50.0), 4, 0),
        ("three_dragonflies_triangular_1m", Sensing(rate_hz=100.0, delay_s=0.006), 2, 2),
        ("three_dragonflies_triangular_1m", Sensing(rate_hz=40.0, delay_s=0.005), 5, 1),
    ],
)
def test_the_linear_loop_moves_as_the_simulator(name, sensing, every, delay):
    """To the second order in the displacement: SMALL times what it is. At the start there was time to measure."""
    scenario = load_scenario(name) if isinstance(name, str) else name
    loop = LinearLoop(replace(scenario, sensing=sensing))
    assert (loop.every, loop.delay) == (every, delay)
    K = loop.gains(loop.scenario)
    F = loop.transition(K)
    kept, basis = loop._kept, loop._basis
    error = np.zeros((len(kept) // ERRORS, ERRORS))
    error[:, 0] = SMALL
    x = np.zeros(len(F))
    x[: basis.shape[1]] = basis.T @ error.ravel()[kept]
    known = K.states @ x[: K.states.shape[1]]
    before = len(loop._phi) + len(K.growth)  # sums begin with nothing
    x[before:] = np.tile(known, (len(F) - before) // len(known))
    np.testing.assert_allclose(basis @ x[: basis.shape[1]], error.ravel()[kept], atol=1e-12)
    entity = make_controller(loop.scenario).teams[0].entity
    group = next(i for i, g in enumerate(loop._groups) if entity in g)
    row = int(np.cumsum(kept)[ERRORS * group]) - 1
    linear = []
    for _ in range(200 // every):
        linear.append((basis @ x[: basis.shape[1]])[row])
        x = F @ x
    ahead, behind = (simulated(loop, 200, by, sensing)[:, 0] for by in (SMALL, -SMALL))
    there = 0.5 * (ahead - behind)
    np.testing.assert_allclose(there[::every], linear, atol=1e-3 * SMALL)


@pytest.mark.parametrize(
    "name",
    [
        "three_dragonflies_triangular_1m",
        "dragonfly_point_mass",
        "three_dragonflies_triangular_rigid",
    ],
)
def test_sums_of_errors_are_part_of_the_loop(name):
    """They were left out: gains whose sums let it grow were called stable."""
    scenario = load_scenario(name)
    control = replace(scenario.controller, integral_per_s3=(1.0, 0.8, 0.0))
    scenario = replace(scenario, controller=control)
    test_the_linear_loop_moves_as_the_simulator(scenario, Sensing(), 1, 0)
    K = LinearLoop(scenario).gains(scenario)
    assert K.sums.shape[1] == len(K.growth) == 2


def test_sums_of_errors_that_let_a_load_grow_are_told():
    """The position of a point mass by itself: s^3 + k_v s^2 + k_p s + k_i is at its edge where k_i = k_v k_p."""
    scenario = load_scenario("dragonfly_point_mass")
    control = scenario.controller
    for share, stable in ((0.1, True), (1.5, False)):
        sums = tuple(
            share * k * d
            for k, d in zip(control.position_per_s2, control.velocity_per_s, strict=True)
        )
        tried = replace(scenario, controller=replace(control, integral_per_s3=sums))
        loop = LinearLoop(tried)
        assert (design_of(loop, tried).decay > 0.0) == stable
        proposed = propose(loop, tried)
        assert proposed.decay > 0.2
        given = proposed.scenario.controller
        edge = np.multiply(given.position_per_s2, given.velocity_per_s)
        assert (
            np.all(np.array(given.integral_per_s3) <= 0.11 * edge)
            and min(given.integral_per_s3) > 0.0
        )


def test_the_delay_margin_is_where_flights_begin_to_swing():
    """Just inside a displaced vehicle comes to rest, just outside it does not."""
    scenario = load_scenario("quadrotor_circle")
    loop = LinearLoop(scenario)
    margin = loop.delay_margin(loop.gains(scenario))
    assert margin > loop.period
    speeds = []
    for delay in (margin, margin + loop.period):
        delayed = replace(
            loop.scenario, sensing=Sensing(delay_s=delay),
            initial=load_scenario("crazyflie_hover").initial[:0],
        )  # fmt: skip
        flight = fly(replace(delayed, settle_s=6.0, trajectory=scenario.trajectory))
        speed = np.linalg.norm(flight["quad1"].body_rate, axis=1)
        speeds.append(speed[-400:].max())
    assert speeds[1] > 20.0 * speeds[0]


def test_poles_of_the_inner_loop_are_where_they_were_placed():
    """Attitude far faster than position: two poles per axis at omega and damping, but for sampling."""
    scenario = with_bandwidths(load_scenario("quadrotor_circle"), np.array([20.0, 0.2]))
    fine = replace(scenario, time=replace(scenario.time, control_s=0.001, step_s=0.001))
    loop = LinearLoop(fine)
    fast = [p for p in loop.modes(loop.gains(fine)) if abs(p) > 15.0 and abs(p.imag) > 1.0]
    assert len(fast) == 4
    for pole in fast:
        assert abs(pole) == pytest.approx(20.0, rel=0.03)
        assert -pole.real / abs(pole) == pytest.approx(DAMPING["attitude"], rel=0.03)


@pytest.mark.parametrize("name", TEAMS)
def test_proposed_gains_are_better_and_fly(name):
    scenario = load_scenario(name)
    loop = LinearLoop(scenario)
    before, after = design_of(loop, scenario), propose(loop, scenario)
    assert after.decay >= before.decay and after.damping > 0.25
    assert all(m.highest > 1.5 and m.lowest < 0.67 for m in after.margins.values())
    assert after.delay_margin >= loop.period
    old, new = fly(scenario), fly(after.scenario)
    assert new.verdict().kind == "flown"
    entity = next(iter(old.summary()["teams"]))
    rmse = [f.summary()["teams"][entity]["position_rmse_m"] for f in (old, new)]
    assert rmse[1] < rmse[0]


def test_a_payload_that_the_gains_were_not_made_for():
    """Ten times its inertia: the shipped gains swing for long, the proposed ones do not."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    payload = scenario.model.payloads[0]
    heavy = replace(payload, inertia_kg_m2=tuple(10.0 * x for x in payload.inertia_kg_m2))
    scenario = replace(scenario, model=replace(scenario.model, payloads=(heavy,)))
    loop = LinearLoop(scenario)
    before, after = design_of(loop, scenario), propose(loop, scenario)
    assert after.decay > before.decay and after.damping > before.damping


def test_what_cannot_be_tuned_is_refused():
    for name, words in (
        ("helicopter_hover", "without arms and helicopters"),
        ("arm_coupled", "without arms and helicopters"),
        ("gyrostat_g1", "teams of multirotors"),
    ):
        with pytest.raises(ConfigError, match=words):
            LinearLoop(load_scenario(name))
    point = load_scenario("dragonfly_point_mass")
    shaped = point.changed("controller", {"use": "payload_geometric"})
    with pytest.raises(ConfigError, match="payload_geometric"):
        LinearLoop(shaped)
    estimated = Sensing(estimator=KalmanEstimator(type="kalman"))
    with pytest.raises(ConfigError, match=r"sensing\.estimator"):
        LinearLoop(replace(load_scenario("quadrotor_circle"), sensing=estimated))


def test_the_command_writes_a_scenario_that_loads(tmp_path, capsys):
    out = tmp_path / "tuned.yaml"
    assert main(["tune", "quadrotor_circle", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "least damping" in text and "delay margin" in text and str(out) in text
    tuned = load_scenario(str(out))
    assert (
        tuned.model.vehicles[0].gains != load_scenario("quadrotor_circle").model.vehicles[0].gains
    )
    assert main(["tune", "quadrotor_circle", "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err


CARRIERS = [
    name
    for name in shipped("scenarios")
    if isinstance(load_scenario(name).controller, CableTeamControl)
]


@pytest.mark.parametrize("name", CARRIERS)
def test_shipped_teams_come_back_from_small_errors(name):
    """With the gains of the paper a bar on two cables turned away by e in 4 s; flights from rest do not show it.

    What is left of it rolls about its hooks, undamped at 27.6 rad/s: a period of control makes 0.008 1/s of that.
    """
    loop = LinearLoop(load_scenario(name))
    assert loop.modes(loop.gains(loop.scenario))[0].real < 0.02


def test_a_bar_that_nobody_can_turn_about_its_hooks_has_margins():
    """Poles at zero that no gain moves are left out: they made every margin NaN."""
    text = """
schema: 1
model:
  vehicles: [{use: dragonfly}, {use: dragonfly}]
  payloads: [{name: bar, mass_kg: 0.2, inertia_kg_m2: [0.0001, 0.015, 0.015], shape: {type: box, size_m: [1.0, 0.05, 0.05]}}]
  attachments:
    - {type: cable, a: quad1, b: bar, b_point_m: [0.5, 0, 0], length_m: 1.0}
    - {type: cable, a: quad2, b: bar, b_point_m: [-0.5, 0, 0], length_m: 1.0}
controller: {use: cable_team}
trajectory: {use: line}
"""
    scenario = scenario_from_text(text)
    loop = LinearLoop(scenario)
    before, after = design_of(loop, scenario), propose(loop, scenario)
    assert (
        loop._basis.shape[1] == loop._basis.shape[0] - 2 * 2 - 2
    )  # two taut cables, and the bar about its axis
    for design in (before, after):
        assert design.decay > 0.3
        assert all(m.lowest < 1.0 < m.highest for m in design.margins.values())
    assert after.damping > before.damping
