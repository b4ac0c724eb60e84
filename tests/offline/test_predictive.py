"""Model-predictive control of teams: against the geometric law, with wrong masses, and where measurements do not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rotor_core._jit import COMPILED
from rotor_core.config.controllers import PredictiveControl
from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError
from rotor_core.state import State
from rotor_flight.fly import fly
from rotor_flight.loop import ClosedLoop

pytestmark = pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels")


def predictive(scenario, **keys):
    return replace(scenario, controller=PredictiveControl("predictive", **keys))


def error_of(flight):
    return float(np.sqrt(np.mean(np.sum(flight.position_error() ** 2, axis=1))))


@pytest.mark.parametrize("name", ["three_dragonflies_triangular_1m", "four_dragonflies_box"])
def test_a_team_is_nearer_to_its_reference_than_under_the_law_of_the_scenario(name):
    scenario = load_scenario(name)
    loop = ClosedLoop(predictive(scenario))
    flight = fly(loop.simulation.scenario, duration=4.0, loop=loop)
    assert loop.controller.laws[0].failures == 0
    assert error_of(flight) < 0.7 * error_of(fly(scenario, duration=4.0))
    assert flight.verdict().kind != "lost"


@pytest.mark.parametrize("share", [0.8, 1.2])
def test_wrong_masses(share):
    """The payload of the plant is a fifth lighter or heavier: a third of the error of the geometric law."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    mass = share * scenario.model.payloads[0].mass_kg
    scenario = scenario.changed("plant.payload.mass_kg", mass)
    assert error_of(fly(predictive(scenario), duration=4.0)) < 0.5 * error_of(
        fly(scenario, duration=4.0)
    )


def test_imperfect_sensing_and_cables_of_other_lengths():
    """Noise, delay and a cable that is 5 mm longer than the law thinks: measurements do not fit its model."""
    scenario = load_scenario("three_dragonflies_motion_capture").changed(
        "plant.cable2.length_m", 1.005
    )
    loop = ClosedLoop(predictive(scenario))
    flight = fly(loop.simulation.scenario, duration=3.0, loop=loop)
    assert loop.controller.laws[0].failures == 0
    assert error_of(flight) < 0.1


def test_rotors_stay_within_their_limits():
    """Commands need no limiting: bounds are part of the programme."""
    scenario = predictive(load_scenario("three_dragonflies_triangular_1m"))
    far = scenario.changed("trajectory", {"type": "step_pose", "position_m": [3.0, 0.0, 0.5]})
    flight = fly(far, duration=2.0)
    thrusts = (
        np.linalg.pinv(scenario.model.vehicles[0].rotors.mixing) @ flight.commands.reshape(-1, 4).T
    )
    low, high = scenario.model.vehicles[0].rotors.speed_rpm
    per = scenario.model.vehicles[0].rotors.thrust_n_per_rpm2
    assert thrusts.min() >= per * low**2 - 1e-9 and thrusts.max() <= per * high**2 + 1e-9
    assert flight.limited == 0
    assert State(flight.states[-1]).position[3, 0] > State(flight.states[0]).position[3, 0] + 0.5


def test_what_it_cannot_fly_is_told():
    for name in ("hover", "three_dragonflies_triangular_rigid", "three_crazyflies_point_mass"):
        with pytest.raises(ConfigError, match="predictive flies one team"):
            ClosedLoop(predictive(load_scenario(name)))
