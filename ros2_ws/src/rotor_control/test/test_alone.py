"""Vehicles that fly alone: of cable teams, with cargo beside them; vehicles on cables that lean; states that are no numbers."""

from dataclasses import replace

import numpy as np
import pytest

from rotor_control.controller import make_controller
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.errors import ContractError
from rotor_core.math.rotations import rotation_matrices
from rotor_core.plans.plan import hold
from rotor_core.state import State
from rotor_flight.fly import fly
from rotor_flight.loop import ClosedLoop
from rotor_sim.simulation import START_TIME


def alone(name, error, **gains):
    """Command of the first vehicle of a team which flies alone, ``error`` (3,) m from its place."""
    scenario = load_scenario(name)
    if gains:
        scenario = replace(scenario, controller=replace(scenario.controller, **gains))
    controller = make_controller(scenario)
    states = initial_states(scenario)[:, :13].copy()
    for k in range(len(scenario.model.vehicles)):
        place = states[k, :3] + (np.asarray(error) if k == 0 else 0.0)
        controller.follow(len(controller.teams) + k, hold(place, 0.0), 0.0)
    controller.references[:] = np.nan
    for _ in range(200):
        command = controller.decide(states, controller.references)[0].copy()
    return command


@pytest.mark.parametrize(
    "name", ["three_dragonflies_predictive", "three_dragonflies_triangular_1m"]
)
def test_who_flies_alone_is_held_in_its_place(name):
    """Whatever law its team has; under predictive control it had no feedback of its place."""
    climbs = alone(name, (0.0, 0.0, 0.4))[0] - alone(name, (0.0, 0.0, 0.0))[0]
    own = load_scenario(name).model.vehicles[0]
    assert climbs == pytest.approx(own.mass_kg * own.gains.position_per_s2[2] * 0.4, rel=1e-9)


def test_the_integral_of_a_payload_moves_no_vehicle_that_flies_alone():
    error = (0.3, 0.0, 0.1)
    without = alone("three_dragonflies_triangular_1m", error, integral_per_s3=(0.0, 0.0, 0.0))
    with_it = alone("three_dragonflies_triangular_1m", error, integral_per_s3=(25.0, 25.0, 70.0))
    np.testing.assert_array_equal(without, with_it)


@pytest.mark.parametrize("name", ["three_dragonflies_triangular_1m", "three_crazyflies_point_mass"])
def test_vehicles_on_cables_do_not_turn_over(name):
    """Told to stop while their load rises at 4 m/s they cannot pull it down: they fall with it, within their limit.

    They had turned over, up to 158 degrees, and lost it.
    """
    scenario = load_scenario(name)
    loop = ClosedLoop(scenario)
    simulation = loop.simulation
    states = simulation.motion[:, :13].copy()
    State(states).velocity[:, 2] = 4.0
    simulation.reset(states)
    entity = loop.controller.teams[0].entity
    start = State(states).position[simulation.names.index(entity)].copy()
    loop.send(entity, hold(start, 0.0))
    most, error = 0.0, 0.0
    n = len(scenario.model.vehicles)
    while simulation.time < START_TIME + 4.0:
        loop.period()
        upright = rotation_matrices(State(simulation.motion).attitude[:n])[:, 2, 2]
        most = max(most, float(np.degrees(np.arccos(np.clip(upright, -1.0, 1.0)).max())))
    error = np.linalg.norm(
        State(simulation.motion).position[simulation.names.index(entity)] - start
    )
    assert most < scenario.model.vehicles[0].max_tilt_deg + 10.0
    assert error < 0.5


def test_a_state_that_is_no_number_is_refused():
    """It would stay in the integrals for ever; the next good one is answered as if nothing had been."""
    scenario = load_scenario("quadrotor_circle")
    controller, fresh = make_controller(scenario), make_controller(scenario)
    states = initial_states(scenario)
    reference = hold(np.zeros(3), 0.0).at(0.0)
    bad = states.copy()
    bad[0, 1] = np.nan
    with pytest.raises(ContractError, match="controller: state 1 of 1 must be finite"):
        controller(bad, reference)
    np.testing.assert_array_equal(
        controller(states, reference).wrenches, fresh(states, reference).wrenches
    )


CARGO = """
schema: 1
model:
  vehicles: [{use: x500, name: drone}]
  payloads: [{name: parcel, mass_kg: 0.4, inertia_kg_m2: [1.0e-3, 1.0e-3, 1.0e-3]}]
  attachments: [{type: rigid_link, parent: drone, child: parcel, position_m: [%s, %s, -0.1]}]
controller: {use: quadrotor}
initial: [{entity: drone, position_m: [0, 0, 1]}]
trajectory: {type: hover, duration_s: 8.0, position_m: [0, 0, 1]}
"""


@pytest.mark.parametrize(("x", "y"), [(0.03, 0.0), (0.1, 0.05), (0.0, -0.05)])
def test_cargo_to_one_side_pulls_nobody_away(x, y):
    """The law balances its weight; it had let the drone drift by up to 351 mm and stay there."""
    flight = fly(scenario_from_text(CARGO % (x, y)))
    assert flight.position_error()[-1].max() < 1e-4
    assert flight["drone"].tilt[-1] < 1e-4
