"""Flights that begin in the middle of a scenario: what happened before is neither told again nor forgotten."""

from dataclasses import replace

import numpy as np
import pytest

from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.schema import Change
from rotor_core.errors import ConfigError
from rotor_flight.checkpoint import load, save
from rotor_flight.fly import fly
from rotor_recordings.formats.bag_flights import read_flight
from rotor_recordings.formats.bag_writer import write_bag
from rotor_recordings.formats.flights import recording_of
from rotor_recordings.predict.predict import predict

GUST = """
schema: 1
description: a gust and a weak motor, one after the other
model: {vehicles: [{use: hexacopter, name: hexa}]}
initial: [{entity: hexa, position_m: [2.0, 0.0, 5.0]}]
environment: {wind: {gusts: [{start_s: 1.5, peak_m_s: [0, 6, 0], duration_s: 1.0}]}}
actuation: rotors
controller: {use: quadrotor}
changes: [{at_s: 0.4, motor: {vehicle: hexa, rotor: 2, thrust_gain: 0.9}}]
trajectory: {use: circle_10s}
"""


def in_two(scenario, folder, first, second):
    """The second part of a flight that was saved after the first."""
    fly(scenario, duration=first, checkpoint=lambda loop: save(loop, folder / "saved"))
    loop = load(folder / "saved")
    flight = fly(scenario, loop=loop, duration=second)
    loop.controller.close()
    return flight


def test_events_of_the_first_part_are_not_those_of_the_second(tmp_path):
    scenario = load_scenario("collision_point_mass")
    whole = fly(scenario, duration=4.0)
    rest = in_two(scenario, tmp_path, 2.0, 2.0)
    assert any(e.type == "snap" and e.time < 3.0 for e in whole.events)
    assert rest.begun == pytest.approx(2.0)
    late = [e for e in whole.events if e.time >= rest.time[0]]
    assert [(e.type, e.time) for e in rest.events] == [(e.type, e.time) for e in late]
    assert not [e for e in rest.past if e.type == "snap"]


def test_a_cable_that_was_cut_before_stays_cut(tmp_path):
    """It is not slack, in the flight, in its bag, and in comparisons; nobody counts the cut again."""
    scenario = load_scenario("six_dragonflies_box")
    scenario = replace(scenario, changes=(Change(at_s=0.5, cut=1),))
    rest = in_two(scenario, tmp_path, 1.0, 0.5)
    write_bag(rest, tmp_path / "bag")
    for flight in (rest, read_flight(tmp_path / "bag")):
        assert flight.is_cut[:, 0].all() and not flight.is_cut[:, 1:].any()
        assert not flight.slack.any()
        assert flight.summary()["events"].get("cut", 0) == 0
        assert flight.begun == pytest.approx(1.0)
        ends = recording_of(flight, "it").cables.ends
        assert ends[0] < 1.6e9 < ends[1:].min()  # at 1.5 s, in ns; never


def test_a_replay_knows_when_its_scenario_began(tmp_path):
    """A gust and a fault come when they came: the recorded commands fly the recorded path."""
    scenario = scenario_from_text(GUST, "gust")
    rest = in_two(scenario, tmp_path, 1.0, 2.0)
    write_bag(rest, tmp_path / "bag")
    record = read_flight(tmp_path / "bag")
    assert record.begun == pytest.approx(1.0)
    for at, near in (
        (0.0, 0.1),
        (0.5, 1e-6),
    ):  # where rotors lagged is told by half a second of commands
        predicted = predict(record, at).flight
        apart = predicted.states[:, 0, :3] - record.states[-len(predicted.time) :, 0, :3]
        assert np.abs(apart).max() < near  # the gust alone moves it by a metre
    blowing = GUST.replace("wind: {", "wind: {turbulence: {wind_at_6m_m_s: 5.0}, ")
    record = replace(record, scenario=scenario_from_text(blowing, "blowing"))
    with pytest.raises(ConfigError, match=r"begins 1\.000 s after"):
        predict(record)


RIGID = """
schema: 1
model:
  vehicles:
    - {use: dragonfly, name: drone}
  payloads:
    - {name: parcel, mass_kg: 0.01, inertia_kg_m2: [1.0e-6, 1.0e-6, 1.0e-6], shape: {type: sphere, radius_m: 0.02}}
    - {name: plate, mass_kg: 0.01, inertia_kg_m2: [1.0e-6, 1.0e-6, 1.0e-6], shape: {type: sphere, radius_m: 0.01}}
  attachments:
    - {type: rigid_link, parent: drone, child: parcel, position_m: [0.0, 0.0, 0.1]}
    - {type: rigid_link, parent: drone, child: plate, position_m: [0.0, 0.0, -0.02]}
initial:
  - {entity: drone, position_m: [0.0, 0.0, 1.0]}
controller: {use: rigid_team}
trajectory: {type: hover, duration_s: 1.0}
settle_s: 0.0
changes:
  - {at_s: 0.5, release: parcel}
"""


@pytest.mark.parametrize("cut", [0.3, 0.55])
def test_rigid_links_that_let_go_are_saved(tmp_path, cut):
    """What passes through each other after a release was lost, or ended in a trace, where a flight was saved before."""
    scenario = scenario_from_text(RIGID)
    whole = fly(scenario)
    saved = tmp_path / "saved"
    fly(scenario, duration=cut, checkpoint=lambda loop: save(loop, saved))
    rest = fly(scenario, loop=load(saved))
    wanted = [(e.type, e.bodies) for e in whole.events if e.cause == "passes_through"]
    assert {kind for kind, _ in wanted} == {"touch", "leave"}
    found = [(e.type, e.bodies) for e in rest.events if e.cause == "passes_through"]
    assert found == wanted
    np.testing.assert_array_equal(rest.states[-1], whole.states[-1])
