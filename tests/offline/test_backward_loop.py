"""Whole flights under their law, differentiated backward: against derivatives forward, and against differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rotor
from rotor_core.config.loader import scenario_from_text
from rotor_core.config.parameters import Variations
from rotor_core.errors import ContractError
from rotor_core.kernels.jit import COMPILED
from rotor_core.plans.plan import Plan
from rotor_dynamics.sensitivities.backward import adjoint
from rotor_flight.sensitivities.backward.loop import LoopFunction

pytestmark = pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels")

SAME = 1e-7
"""Two unlike algorithms; relative to the largest derivative that the tape adds up (gains matter a millionth of masses)."""


def random_cost(flight, n_entities, seed=0):
    """Weights of states in the middle and at the end, of tensions and of commands in the middle."""
    rng = np.random.default_rng(seed)
    states, tensions, commands = (
        np.zeros(x.shape) for x in (flight.states, flight.tensions, flight.commands)
    )
    middle = len(states) // 2
    states[-1, :n_entities] = rng.normal(size=states[-1, :n_entities].shape)
    states[middle, :n_entities, 7:10] = rng.normal(size=(n_entities, 3))
    tensions[middle] = rng.normal(size=tensions[middle].shape)
    commands[middle] = rng.normal(size=commands[middle].shape)
    return states, tensions, commands


def rotor_team():
    """Three vehicles whose rotors follow with a lag, and a plate."""
    return rotor.load_scenario("three_dragonflies_triangular_1m").changed("actuation", "rotors")


DROPPED = """
schema: 1
description: A box under four vehicles falls on the ground, and is lifted.
group: payloads on cables
model:
  vehicles: [{use: dragonfly}, {use: dragonfly}, {use: dragonfly}, {use: dragonfly}]
  payloads: [{use: box}]
  attachments: [{type: mechanism, use: box4_0-5m}]
initial: [{entity: payload, position_m: [0.0, 0.0, 0.29], rpy_deg: [3.0, 5.0, 0.0], velocity_m_s: [0.1, 0.0, -0.6]}]
environment: {contact: {law: rigid, friction_static: 0.5, restitution: 0.2}}
controller: {use: cable_team}
trajectory: {type: hover, duration_s: 5.0}
"""


WINDY = """
schema: 1
description: A vehicle with drag in air that moves.
group: one vehicle
model:
  vehicles: [{use: crazyflie, name: quad1, drag: {linear_n_s_per_m: [0.05, 0.05, 0.02]}}]
environment: {wind: {steady_m_s: [1.0, -0.5, 0.2]}}
controller: {use: quadrotor}
trajectory: {use: circle_10s}
"""


GUSTY = """
schema: 1
description: Three vehicles with drag carry a ball that has some, in gusts and turbulence.
group: payloads on cables
model:
  vehicles:
    - {use: dragonfly, drag: {linear_n_s_per_m: [0.05, 0.05, 0.02]}}
    - {use: dragonfly, drag: {linear_n_s_per_m: [0.05, 0.05, 0.02]}}
    - {use: dragonfly, drag: {linear_n_s_per_m: [0.05, 0.05, 0.02]}}
  payloads: [{use: point_mass, mass_kg: 0.2, drag: {quadratic_n_s2_per_m2: [0.02, 0.02, 0.02]}}]
  attachments: [{type: mechanism, use: point3_0-5m}]
environment:
  wind:
    steady_m_s: [1.0, -0.5, 0.1]
    gusts: [{start_s: 0.2, duration_s: 0.5, peak_m_s: [1.0, 2.0, 0.5]}]
    turbulence: {wind_at_6m_m_s: 5.0}
controller: {use: point_mass_team}
trajectory: {use: circle_10s}
"""


def scenario_of(name):
    if name == "rigid contact":
        return scenario_from_text(DROPPED)
    if name == "gusts":
        return scenario_from_text(GUSTY)
    if name == "wind":
        return scenario_from_text(WINDY)
    return rotor_team() if name == "rotors" else rotor.load_scenario(name)


CASES = {
    "slalom": ("controller.position_per_s2.x", "plant.payload.mass_kg", "model.payloads.payload.mass_kg"),
    "rotors": ("plant.quad2.mass_kg", "controller.position_per_s2.z", "initial.payload.velocity_m_s.y"),
    "collision_point_mass": ("plant.payload.mass_kg", "controller.position_per_s2.x"),
    "four_dragonflies_box": ("plant.payload.mass_kg", "controller.velocity_per_s.x"),
    "quadrotor_circle": ("plant.quad1.mass_kg", "initial.quad1.velocity_m_s.x"),
    "arm_uncoupled": ("plant.am1.mass_kg", "controller.position_per_s2.x"),
    "three_dragonflies_triangular_rigid": ("plant.payload.mass_kg", "plant.quad2.mass_kg"),
    "wind": ("plant.quad1.mass_kg", "model.vehicles.quad1.drag.linear_n_s_per_m.x"),
    "gusts": (
        "environment.wind.gusts.1.peak_m_s.y", "environment.wind.turbulence.wind_at_6m_m_s", "plant.payload.mass_kg",
        "controller.position_per_s2.x",
    ),
    "helicopter_pirouette": ("plant.heli1.mass_kg", "controller.velocity_per_s.x", "initial.heli1.velocity_m_s.y"),
    "rigid contact": ("plant.payload.mass_kg", "controller.position_per_s2.x", "initial.payload.velocity_m_s.x"),
}  # fmt: skip
"""Scenarios (a team, rotors with a lag, a snap, cables side by side, one vehicle, an arm, wind, gusts, a
helicopter in wind, a load that hits the ground), and numbers of them."""


@pytest.mark.parametrize("name", CASES)
def test_all_numbers_of_a_flight_against_derivatives_forward(name):
    scenario, places = scenario_of(name), CASES[name]
    seconds, close, same = 1.2, 1e-12, SAME
    if name == "rigid contact":
        # its iterations end at some 1e-11 m/s, and a thousand times that of derivatives
        seconds, close, same = 0.5, 1e-10, 1e-6
    flight = LoopFunction(scenario, seconds)()
    forward = rotor.sensitivities(scenario, places, duration=seconds)
    n = forward.flight.states.shape[1]
    np.testing.assert_allclose(flight.states[:, :n], forward.flight.states, rtol=0, atol=close)
    states, _, commands = random_cost(flight, n)
    as_wrenches = name != "rotors" and not name.startswith("helicopter")
    if not as_wrenches:  # what is told of a flight is something else
        commands[:] = 0.0
    efforts = flight.joints.shape[1]
    # a flight tells tensions once commands act, these here are from before that: see the next test
    found = flight.gradient(states, commands=commands, parameters=places)
    assert (found.doubt is None) == (forward.doubt is None) == (name != "rigid contact")
    for k, place in enumerate(places):
        change = forward[place]
        parts = [np.sum(states[:, :n] * change.states)]
        if as_wrenches:
            told = commands[:, : commands.shape[1] - efforts]
            parts.append(np.sum(told * change.commands[:-1].reshape(told.shape)))
            parts.append(np.sum(commands[:, commands.shape[1] - efforts :] * change.efforts[:-1]))
        size = max(np.abs(states[:, :n] * change.states).max(), *map(abs, parts))
        assert abs(found.parameters[k] - sum(parts)) < same * size, place


def test_coefficients_of_plans_against_differences():
    """Hundreds of numbers at once, at the cost of none: those of the plan that the team follows."""
    rng = np.random.default_rng(3)
    positions = np.cumsum(0.1 * rng.normal(size=(5, 3)), axis=0) + (0.0, 0.0, 1.5)
    positions[0] = 0.0, 0.0, 1.5
    plan = Plan.from_samples(np.linspace(0.0, 1.5, 5), positions)
    scenario = rotor.load_scenario("three_dragonflies_triangular_1m").changed(
        "initial.payload.position_m", [0.0, 0.0, 1.5]
    )
    function = LoopFunction(scenario, 1.5, plans={"payload": plan})
    flight = function()
    states, tensions, commands = random_cost(flight, 4)
    found = flight.gradient(states, tensions=tensions, commands=commands)
    assert len(function._tapes) >= len(plan.durations)  # a segment is a way to decide

    def cost(coefficients):
        moved = function(plans={"payload": replace(plan, coefficients=coefficients)})
        return (
            np.sum(moved.states * states)
            + np.sum(moved.tensions * tensions)
            + np.sum(moved.commands * commands)
        )

    for at in ((0, 0, 3), (1, 2, 1), (2, 1, 2), (3, 6, 0), (3, 0, 5)):
        slopes = []
        for h in (1e-3, 1e-4, 1e-5):
            ends = []
            for sign in (1.0, -1.0):
                coefficients = plan.coefficients.copy()
                coefficients[at] += sign * h
                ends.append(cost(coefficients))
            slopes.append((ends[0] - ends[1]) / (2.0 * h))
        told = found.plans["payload"][at]
        largest = np.abs(found.plans["payload"]).max()
        assert min(abs(s - told) for s in slopes) < 1e-7 * max(abs(told), 0.01 * largest), at


def test_the_mass_of_a_load_that_stands_at_the_start():
    """Forces that hold it are searched for, and rounded: that is no other way to begin. Forward, backward, differences."""
    text = DROPPED.replace("0.29], rpy_deg: [3.0, 5.0, 0.0]", "0.2286]").replace("-0.6", "0.0")
    scenario, place, seconds = scenario_from_text(text), "plant.payload.mass_kg", 0.1
    function = LoopFunction(scenario, seconds)
    flight = function()
    weights = np.zeros(flight.states.shape)
    weights[-1, :5] = np.random.default_rng(2).normal(size=(5, 13))
    backward = flight.gradient(weights, parameters=[place]).parameters[0]
    forward = rotor.sensitivities(scenario, [place], duration=seconds)[place].states
    told = np.sum(weights * forward)
    assert abs(backward - told) < 1e-6 * np.abs(weights * forward).max()
    at, off = 0.3, []
    for h in (1e-3, 1e-4):
        up, down = (function(scenario.changed(place, at + sign * h)).states for sign in (1, -1))
        off.append(abs(np.sum(weights * (up - down)) / (2.0 * h) - told))
    assert min(off) < 1e-6 * np.abs(weights * forward).max(), off


def test_torques_and_swashplates_of_a_helicopter_against_differences():
    """What its engine and its swashplate are told, by gains, masses and the speed at the start."""
    scenario = rotor.load_scenario("helicopter_climb")
    function = LoopFunction(scenario, 0.6)
    flight = function()
    weights = np.random.default_rng(5).normal(size=flight.commands.shape)
    places = "plant.heli1.mass_kg", "controller.velocity_per_s.x", "initial.heli1.velocity_m_s.z"
    found = flight.gradient(commands=weights, parameters=places)
    variations = Variations(scenario, list(places))
    for k, place in enumerate(places):
        at, off = variations.value(place), []
        for h in (1e-3, 1e-4, 1e-5):
            up, down = (
                function(variations.changed(place, at + sign * h)).commands for sign in (1.0, -1.0)
            )
            off.append(abs(np.sum(weights * (up - down)) / (2.0 * h) - found.parameters[k]))
        assert min(off) < 1e-6 * abs(found.parameters[k]), (place, off, found.parameters[k])


def test_a_flight_in_stretches_has_the_same_derivatives(monkeypatch):
    """What the law remembers goes from stretch to stretch."""
    scenario = rotor.load_scenario("slalom")
    places = ("controller.position_per_s2.x", "plant.payload.mass_kg")

    def gradient():
        flight = LoopFunction(scenario, 1.0)()
        states, tensions, commands = random_cost(flight, 4)
        return flight.gradient(states, tensions=tensions, commands=commands, parameters=places)

    whole = gradient()
    monkeypatch.setattr(adjoint, "STRETCH", 300)
    parts = gradient()
    np.testing.assert_allclose(parts.parameters, whole.parameters, rtol=1e-12)
    np.testing.assert_allclose(parts.start, whole.start, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        parts.plans["payload"], whole.plans["payload"], rtol=1e-9, atol=1e-12
    )


def test_rotors_at_their_limits_are_other_ways_to_decide():
    """Against derivatives forward: commands on a limit move along it."""
    scenario = rotor.load_scenario("quadrotor_circle").changed(
        "initial.quad1.velocity_m_s", [3.0, 0.0, -2.0]
    )
    place = "plant.quad1.mass_kg"
    function = LoopFunction(scenario, 0.6)
    flight = function()
    forward = rotor.sensitivities(scenario, [place], duration=0.6)
    assert forward.flight.limited > 0
    states, _, _ = random_cost(flight, 1)
    found = flight.gradient(states, parameters=[place])
    assert len(function._tapes) > 1
    want = np.sum(states * forward[place].states)
    assert abs(found.parameters[0] - want) < SAME * abs(want)


def test_the_next_flight_uses_what_was_recorded():
    function = LoopFunction("slalom", 0.5)
    flight = function()
    states, _, _ = random_cost(flight, 4)
    flight.gradient(states)
    tapes, flights = len(function._tapes), function._flights
    other = function(rotor.load_scenario("slalom").changed("plant.payload.mass_kg", 0.3))
    assert not np.array_equal(other.states, flight.states)
    theirs = other.gradient(states, parameters=["plant.payload.mass_kg"])
    assert (len(function._tapes), function._flights) == (tapes, flights)
    fresh = LoopFunction(rotor.load_scenario("slalom").changed("plant.payload.mass_kg", 0.3), 0.5)()
    own = fresh.gradient(states, parameters=["plant.payload.mass_kg"])
    np.testing.assert_allclose(theirs.parameters, own.parameters, rtol=1e-12)
    again = flight.gradient(states)  # the first one, after the other
    np.testing.assert_allclose(
        again.start, LoopFunction("slalom", 0.5)().gradient(states).start, rtol=1e-12
    )


def test_the_next_flight_may_have_other_air():
    gusty = scenario_of("gusts")
    still = gusty.changed("environment.wind", {})
    function = LoopFunction(gusty, 0.4)
    for scenario, columns in ((gusty, 3), (still, 0), (gusty, 3)):
        flight = function(scenario)
        weights = np.zeros(flight.states.shape)
        weights[-1, 3, 0] = 1.0
        found = flight.gradient(weights)
        assert found.air.shape == (len(flight.commands), columns)
        fresh = LoopFunction(scenario, 0.4)().gradient(weights)
        np.testing.assert_allclose(found.start, fresh.start, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        ("delivery", "Python between its steps"),
        ("three_dragonflies_motion_capture", "imperfect sensing"),
        ("pendulum_on_peg", "no law"),
        ("fiori_quadrotor_1", "rkmk4, erk4m and cf4"),
    ],
)
def test_what_goes_forward_only_is_refused_by_name(scenario, says):
    with pytest.raises(ContractError, match=says):
        LoopFunction(scenario, 0.5)()


def test_helicopters_beside_rotors_that_turn_are_refused():
    scenario = rotor.load_scenario("helicopter_hover").changed("actuation", "rotors")
    with pytest.raises(ContractError, match="helicopters beside rotors that turn"):
        LoopFunction(scenario, 0.5)


def test_a_rotor_inside_a_body_is_refused_in_words():
    """It turns beside wrenches, is no command, and its speed cannot jump."""
    inside = "internal_rotors: [{axis: [0.0, 0.0, 1.0], inertia_kg_m2: 1.0e-6, speed_rad_s: 20.0}],"
    text = WINDY.replace("name: quad1,", f"name: quad1, {inside}")
    with pytest.raises(ContractError, match="rotors with inertia need a lag"):
        LoopFunction(scenario_from_text(text), 0.2)()


def test_wrong_shapes_are_refused():
    rigid = LoopFunction("three_dragonflies_triangular_rigid", 0.2)()
    with pytest.raises(ContractError, match="commands must have the shape"):
        rigid.gradient(commands=np.zeros(3))
    with pytest.raises(ContractError, match="must be a list of places"):
        rigid.gradient(parameters="plant.payload.mass_kg")
