"""Gains that change in flight: they are those of the scenario, in its units, and they act."""

from dataclasses import replace

import numpy as np
import pytest

from rotor_control.controller import make_controller
from rotor_control.tuning import tunable_gains
from rotor_core.config import load_scenario
from rotor_core.config.initial import initial_states
from rotor_core.plans.plan import hold
from rotor_core.state import State

SCENARIOS = (
    "hover",
    "dragonfly_point_mass",
    "three_dragonflies_triangular_1m",
    "three_dragonflies_triangular_rigid",
    "sixteen_dragonflies_four_boxes",
)


def disturbed(scenario):
    """States that make every error differ from zero, and references at the start."""
    states = initial_states(scenario)
    random = np.random.default_rng(0)
    references = [
        hold(states[scenario.model.index(law.team.entity), :3], 0.0).sample(0.0)
        for law in make_controller(scenario).laws
    ]
    states[:, 0:3] += 0.05 * random.normal(size=(len(states), 3))
    states[:, 3:7] += 0.05 * random.normal(size=(len(states), 4))
    states[:, 3:7] /= np.linalg.norm(states[:, 3:7], axis=1, keepdims=True)
    states[:, 7:13] += 0.1 * random.normal(size=(len(states), 6))
    return states, np.array(references)


ATTITUDE = ("attitude_n_m", "attitude_per_s2")
"""Keys of the attitude gain of laws: as moments, or as accelerations."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_initial_values_are_those_of_the_scenario(name):
    scenario = load_scenario(name)
    gains = tunable_gains(scenario, make_controller(scenario))
    payloads = [p.name for p in scenario.model.payloads]
    for vehicle in scenario.model.vehicles:
        if f"{vehicle.name}.attitude_n_m.x" in gains:
            assert gains[f"{vehicle.name}.attitude_n_m.y"].value == vehicle.gains.attitude_n_m[1]
            assert gains[f"{vehicle.name}.rate_n_m_s.z"].value == vehicle.gains.rate_n_m_s[2]
    for payload in payloads:
        for i, axis in enumerate("xyz"):
            wanted = scenario.controller.position_per_s2[i]
            assert gains[f"{payload}.position_per_s2.{axis}"].value == wanted
            for attitude in ATTITUDE:
                if hasattr(scenario.controller, attitude):
                    value = gains[f"{payload}.{attitude}.{axis}"].value
                    wanted = getattr(scenario.controller, attitude)[i]
                    assert value == pytest.approx(wanted, rel=1e-12)
    for gain in gains.values():
        assert gain.limits[0] <= gain.value <= gain.limits[1] and gain.limits[1] > 0.0


@pytest.mark.parametrize("name", SCENARIOS[:4])
def test_a_changed_gain_acts_like_one_in_the_file(name):
    """Set in flight against built from a changed scenario: the same command to the bit."""
    scenario = replace(
        load_scenario(name), actuation=replace(load_scenario(name).actuation, limits=False)
    )
    states, references = disturbed(scenario)
    vehicle = scenario.model.vehicles[0]
    changed = replace(vehicle, gains=replace(vehicle.gains, attitude_n_m=(0.3, 0.1, 0.2)))
    model = replace(scenario.model, vehicles=(changed, *scenario.model.vehicles[1:]))
    built = replace(scenario, model=model)
    attitudes = [k for k in ATTITUDE if hasattr(scenario.controller, k)]
    if hasattr(scenario.controller, "position_per_s2"):
        control = replace(scenario.controller, position_per_s2=(3.0, 4.0, 5.0))
        for key in attitudes:
            control = replace(control, **{key: (0.7, 0.8, 0.9)})
        built = replace(built, controller=control)
    expected = make_controller(built).decide(states, references).copy()
    controller = make_controller(scenario)
    before = controller.decide(states, references).copy()
    controller.reset()
    gains = tunable_gains(scenario, controller)
    wanted = dict(
        zip((f"{vehicle.name}.attitude_n_m.{a}" for a in "xyz"), (0.3, 0.1, 0.2), strict=True)
    )
    found = [("position_per_s2", (3.0, 4.0, 5.0)), *((k, (0.7, 0.8, 0.9)) for k in attitudes)]
    for kind, values in found:
        wanted |= dict(zip((f"payload.{kind}.{a}" for a in "xyz"), values, strict=True))
    for key, value in wanted.items():
        if key in gains:
            gains[key].set(value)
    got = controller.decide(states, references)
    np.testing.assert_array_equal(got, expected)
    assert not np.array_equal(got, before)


def test_gains_act_on_a_vehicle_that_flies_alone():
    """Its law has parameters of its own, which nobody wrote."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    controller = make_controller(scenario)
    gains = tunable_gains(scenario, controller)
    states = initial_states(scenario)
    State(states).attitude[0] = [np.cos(0.05), np.sin(0.05), 0.0, 0.0]
    name = scenario.model.vehicles[0].name
    alone = len(controller.teams) + list(controller.singles).index(name)
    plan = hold(State(states).position[0], 0.0)

    def command():
        controller.reset()
        controller.follow(0, hold(State(states).position[-1], 0.0), 0.0)
        controller.follow(alone, plan, 0.0)
        return controller.decide(states, controller.references)[0].copy()

    before = command()
    gains[f"{name}.attitude_n_m.x"].set(2.0 * gains[f"{name}.attitude_n_m.x"].value)
    assert command()[1] == pytest.approx(2.0 * before[1])
    State(states).position[0] += [0.0, 0.0, -0.1]
    low = command()[0]
    key = f"{name}.position_per_s2.z"
    gains[key].set(2.0 * gains[key].value)
    assert command()[0] > low + 1e-3
