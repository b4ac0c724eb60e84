"""A world that takes over from another one of other entities: nobody heals, and nothing is whole again."""

from dataclasses import replace

import numpy as np
import pytest

from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.schema import Change, InitialState
from rotor_core.errors import ConfigError
from rotor_sim.simulation import Simulation
from rotor_sim.spawning import read_entity, with_entity, without_entity
from rotor_sim.succession import take_over

WORLD = """
schema: 1
description: two loads on winches in gusts, one of them to be cut; a drone whose motor and battery weaken; a free box
model:
  vehicles: [{use: delivery_drone, name: drone}, {use: dragonfly, name: quad}]
  payloads:
    - {name: load, mass_kg: 0.05}
    - {name: box, mass_kg: 0.1, inertia_kg_m2: [1.0e-4, 1.0e-4, 1.0e-4]}
    - {name: weight, mass_kg: 0.3, drag: {linear_n_s_per_m: [0.1, 0.1, 0.1]}}
  attachments:
    - {type: cable, a: quad, b: load, length_m: 0.5}
    - {type: cable, a: world, b: weight, length_m: 1.0, winch: {lengths_m: [0.2, 3.0], rate_m_s: 0.5, acceleration_m_s2: 0.8}}
initial: [{entity: drone, position_m: [0, 0, 50]}, {entity: load, position_m: [4, 0, 50]}, {entity: box, position_m: [8, 0, 50]}, {entity: weight, position_m: [0, 0, -1]}]
actuation: rotors
controller: {type: open_loop, commands: [{vehicle: drone, speeds_rpm: [2500, 2500, 2500, 2500]}, {vehicle: quad, speeds_rpm: [4000, 4000, 4000, 4000]}]}
environment: {wind: {gusts: [{start_s: 0.9, peak_m_s: [1, 0, 0], duration_s: 1.0}]}}
changes:
  - {at_s: 0.2, motor: {vehicle: drone, rotor: 2, thrust_gain: 0.8}}
  - {at_s: 0.4, battery: {vehicle: drone, voltage_factor: 0.7}}
trajectory: {type: hover, duration_s: 10.0}
"""


def flown(text=WORLD, seconds=0.7):
    """A simulation some time into its flight, on constant commands."""
    simulation = Simulation(scenario_from_text(text))
    go_on(simulation, seconds)
    return simulation


def go_on(simulation, seconds):
    wrenches = np.zeros((simulation.n_vehicles, 4))
    wrenches[:, 0] = [v.total_mass * 9.7 for v in simulation.scenario.model.vehicles]
    for _ in range(round(seconds / simulation.scenario.time.control_s)):
        simulation.step(wrenches)
    return simulation


def spawned(scenario):
    entity = replace(read_entity("payloads/box", scenario.environment.air), name="crate")
    return with_entity(scenario, entity, InitialState(entity="crate", position_m=(30.0, 0.0, 3.0)))


def test_faults_batteries_winches_cuts_and_time_go_on():
    """The world with a crate more flies on like the one without: the crate is far away from everything."""
    old = flown()
    old.winches.ask(1, length=2.0)
    go_on(old, 0.2)
    old.engine.cut(0)
    go_on(old, 0.1)
    assert old.actuators.health.min() == 0.8 and old.power[0].sag == 0.7
    new = Simulation(spawned(old.scenario))
    take_over(new, old)
    assert new.take_events() == []
    assert new.elapsed == pytest.approx(old.elapsed, abs=1e-12)
    np.testing.assert_array_equal(new.actuators.health, old.actuators.health)
    assert (new.power[0].sag, new.power[0].charge) == (old.power[0].sag, old.power[0].charge)
    np.testing.assert_array_equal(new.engine.is_cut, [True, False])
    rows = [new.names.index(name) for name in old.names]
    np.testing.assert_allclose(new.motion[rows, :13], old.motion[:, :13], atol=1e-14)
    for simulation in (new, old):
        go_on(simulation, 0.5)
    for name in old.names:
        np.testing.assert_allclose(
            new.state[name].position, old.state[name].position, atol=1e-9, err_msg=name
        )
    assert new.engine.winches.length(1) == pytest.approx(old.engine.winches.length(1), abs=1e-12)
    np.testing.assert_array_equal(new.actuators.health, old.actuators.health)
    go_on(new, 3.0)
    assert new.engine.winches.length(1) == pytest.approx(2.0, abs=1e-9)


def test_what_was_attached_stays_and_what_was_released_is_free():
    old = flown()
    old.attach("drone", "box")
    go_on(old, 0.1)
    new = Simulation(spawned(old.scenario))
    take_over(new, old)
    apart = old.state["box"].position - old.state["drone"].position
    go_on(new, 0.3)
    turned = new.state["box"].position - new.state["drone"].position
    assert np.linalg.norm(turned) == pytest.approx(np.linalg.norm(apart), abs=1e-9)
    new.release("box")
    third = Simulation(spawned_again(new.scenario))
    take_over(third, new)
    go_on(third, 0.5)
    fallen = third.state["box"].position - third.state["drone"].position
    assert np.linalg.norm(fallen) > np.linalg.norm(apart) + 0.1


def spawned_again(scenario):
    entity = replace(read_entity("payloads/box", scenario.environment.air), name="other")
    return with_entity(scenario, entity, InitialState(entity="other", position_m=(40.0, 0.0, 3.0)))


def test_an_entity_that_goes_takes_its_cables_and_leaves_the_rest():
    old = flown()
    new = Simulation(without_entity(old.scenario, "load"))
    take_over(new, old)
    assert new.engine.n_cables == 1 and new.engine.winches.length(0) == 1.0
    np.testing.assert_allclose(new.state["quad"].position, old.state["quad"].position, atol=1e-14)
    changed = replace(old.scenario, changes=(Change(5.0, cut=2),))
    with pytest.raises(ConfigError, match="`changes` names cables by their number"):
        without_entity(changed, "load")
    # a mission wound the cable that had got the number
    delivery = load_scenario("winch_delivery")
    with pytest.raises(ConfigError, match="`mission` names cables by their number"):
        without_entity(delivery, "parcel")


def test_a_drum_turns_on_and_who_was_weakened_by_hand_stays_weak():
    """No brake falls in: the drum keeps its rate, and nothing snaps."""
    drum = "acceleration_m_s2: 0.8, drum: {radius_m: 0.05, inertia_kg_m2: 1.0e-3, torque_n_m: 0.5}}"
    text = WORLD.replace("acceleration_m_s2: 0.8}", drum)
    old = flown(text.split("changes:")[0] + "trajectory: {type: hover, duration_s: 10.0}\n")
    old.weaken("quad", 1, 0.5)
    old.winches.ask(1, length=2.0)
    go_on(old, 0.8)
    new = Simulation(spawned(old.scenario))
    take_over(new, old)
    for simulation in (new, old):
        go_on(simulation, 0.3)
    mine, theirs = new.engine.winches, old.engine.winches
    assert theirs.rate(1) > 0.4
    assert mine.rate(1) == pytest.approx(theirs.rate(1), abs=1e-6)
    assert mine.length(1) == pytest.approx(theirs.length(1), abs=1e-6)
    assert not any(1 in event.cables for event in new.take_events())
    assert not new.actuators.are_free
    np.testing.assert_array_equal(new.actuators.health, old.actuators.health)


def test_the_rotors_inside_a_gyrostat_do_not_begin_their_signal_anew():
    """A prescribed speed of a rotor is a function of the time of the scenario."""
    old = Simulation(load_scenario("gyrostat_g2"))
    for _ in range(40):
        old.step()
    new = Simulation(old.scenario)
    new.reset(elapsed=old.elapsed)
    before, after = old.engine.rotors.speeds, new.engine.rotors.speeds
    assert np.abs(before - Simulation(old.scenario).engine.rotors.speeds).max() > 1.0
    np.testing.assert_allclose(after, before, rtol=1e-12)
    take_over(new, old)
    for simulation in (new, old):
        for _ in range(40):
            simulation.step()
    np.testing.assert_allclose(new.motion[:, :13], old.motion[:, :13], atol=1e-12)


@pytest.mark.parametrize(
    "name", ["helicopter_slung_load", "arm_coupled", "hexacopter_wind", "delivery"]
)
def test_what_lags_and_what_is_induced_goes_on(name):
    """On the same commands the world with a box far away flies like the one without, from the first period on.

    Induced velocities began as in hover (0.4 m/s off with a load), efforts of motors and speeds of rotors at the command.
    """
    scenario = load_scenario(name)
    old = Simulation(scenario)
    rng = np.random.default_rng(3)
    every = scenario.time.control_s
    weight = np.array([[v.total_mass * 9.81, 0.0, 0.0, 0.0] for v in scenario.model.vehicles])
    n_joints = sum(len(v.moving_joints) for v in scenario.model.vehicles)
    commands = [
        (weight * (1.0 + 0.1 * rng.normal()), 0.2 * rng.normal(size=n_joints))
        for _ in range(round(0.6 / every))
    ]
    half = len(commands) // 2
    worlds = [old]
    for k, (wrenches, efforts) in enumerate(commands):
        if k == half:
            new = Simulation(spawned(scenario))
            take_over(new, old)
            worlds.append(new)
        for world in worlds:
            world.act(wrenches, efforts)
            world.step()
        for world in worlds[1:]:
            rows = [world.names.index(n) for n in old.names]
            apart = world.motion[rows, :13] - old.motion[:, :13]
            assert np.abs(apart).max() < 1e-9, k - half
    np.testing.assert_allclose(new.engine.joints.efforts, old.engine.joints.efforts, atol=1e-9)
    np.testing.assert_allclose(new.engine.swash.inflow, old.engine.swash.inflow, atol=1e-9)
    speeds = [np.concatenate(world.rotor_speeds()) for world in worlds]
    np.testing.assert_allclose(speeds[1], speeds[0], rtol=1e-9)


def test_a_vehicle_that_comes_begins_at_speed_and_those_there_go_on():
    """Its rotors, not those of the others, are at speed with the first command."""
    old = go_on(Simulation(load_scenario("hexacopter_wind")), 0.1)
    entity = replace(old.scenario.model.vehicles[0], name="late")
    place = InitialState(entity="late", position_m=(30.0, 0.0, 60.0))
    new = Simulation(with_entity(old.scenario, entity, place))
    take_over(new, old)
    np.testing.assert_array_equal(new.actuators.begun, [True, False])
    go_on(new, 0.2), go_on(old, 0.2)
    rows = [new.names.index(n) for n in old.names]
    np.testing.assert_allclose(new.motion[rows, :13], old.motion[:, :13], atol=1e-9)
    assert abs(60.0 - new.state["late"].position[2]) < 0.03  # with rotors from rest it fell 0.09 m


BATTERY = (
    "battery: {voltage_v: [9.0, 12.6], capacity_ah: 0.05, resistance_ohm: 0.05, assumed_v: 12.0}"
)
ROTORS = (
    "rotors: {layout: plus, arm_m: 0.1075, speed_rpm: [5500.0, 16400.0], thrust_n_per_rpm2: 6.57e-9, "
    "torque_per_thrust_m: 0.012, lag_s: 0.03, radius_m: 0.06, motor: {kv_rpm_per_v: 2000.0, resistance_ohm: 0.1}}"
)
DRUM = (
    "winch: {lengths_m: [0.3, 4.0], drum: {radius_m: 0.02, inertia_kg_m2: 1.0e-5, torque_n_m: 0.2}}"
)
PROFILE = (
    "changes: [{at_s: 0.1, wind: {cable: 1, profile: [[0, 0], [0.5, 0.3], [1.5, 0.3], [2, 0]]}}]"
)
SLUNG = """
schema: 1
model:
  vehicles: [{{use: dragonfly{vehicle}}}]
  payloads: [{{name: load, mass_kg: 0.076}}]
  attachments: [{{type: cable, a: quad1, b: load, length_m: 0.5{cable}}}]
controller: {{use: point_mass}}
{more}
"""


@pytest.mark.parametrize(
    ("vehicle", "cable", "more"),
    [
        (f", {ROTORS}, {BATTERY}", "", "actuation: rotors\nenvironment: {wakes: {}, wind: {steady_m_s: [3, 0, 0]}}"),
        (f", {ROTORS}, {BATTERY}", "", ""),
        ("", f", {DRUM}", "changes: [{at_s: 0.05, wind: {cable: 1, length_m: 0.6}}]"),
        ("", ", winch: {lengths_m: [0.3, 4.0]}", PROFILE),
        ("", "", "environment: {contact: {}}\ninitial: [{entity: quad1, position_m: [0, 0, 0.545]}, {entity: load, position_m: [0, 0, 0.05]}]"),
    ],
    ids=["batteries in wakes", "batteries", "a drum that its brake holds", "a profile", "a load on the ground"],
)  # fmt: skip
def test_the_same_commands_move_the_same_after_somebody_came(vehicle, cable, more):
    """To rounding: pace of batteries, wakes, travel of drums, profiles, anchors; also without another command."""
    scenario = scenario_from_text(SLUNG.format(vehicle=vehicle, cable=cable, more=more))
    command, old = np.array([[0.32 * 9.81, 5e-4, 0.0, 0.0]]), Simulation(scenario)
    touches = "contact" in more
    for _ in range(40 if touches else 300):
        old.step(command)
    new = Simulation(spawned(scenario))
    take_over(new, old)
    rows = [new.names.index(name) for name in old.names]
    # stiff contact makes accelerations of what rounding leaves of the state that is set
    columns, atol = (13, 1e-8) if touches else (19, 1e-9)
    for told in (None, command, command, *[None] * 20):
        old.step(told)
        new.step(told)
        np.testing.assert_allclose(
            new.motion[rows, :columns], old.motion[:, :columns], rtol=0, atol=atol
        )
    np.testing.assert_allclose(new.engine.lengths, old.engine.lengths, rtol=0, atol=1e-12)


TWICE = """
schema: 1
model:
  vehicles: [{use: dragonfly, name: q1}, {use: dragonfly, name: q2}]
  payloads: [{name: p1, mass_kg: 0.076}, {name: p2, mass_kg: 0.076}]
  attachments:
    - {type: cable, a: q1, b: p1, length_m: 0.5, WHAT}
    - {type: cable, a: q2, b: p2, length_m: 0.5, WHAT}
initial: [{entity: p1, position_m: [0, 0, 0]}, {entity: p2, position_m: [3, 0, 0]}]
controller: {use: point_mass}
"""


@pytest.mark.parametrize("what", [DRUM, "mass_kg_per_m: 0.05, segments: 4"])
def test_what_a_cable_brings_along_follows_it_when_it_gets_another_number(what):
    """Of two drums, and of two heavy cables, the first goes: cable 2 is cable 1 then."""
    old = Simulation(scenario_from_text(TWICE.replace("WHAT", what)))
    if what == DRUM:
        old.winches.ask(0, length=0.9)
    command = np.array([[0.32 * 9.81, 0.0, 0.0, 0.0]] * 2)
    for _ in range(300):
        old.step(command)
    new = Simulation(without_entity(old.scenario, "p1"))
    take_over(new, old)
    np.testing.assert_allclose(new.engine.lengths, old.engine.lengths[1:], rtol=0, atol=1e-12)
    np.testing.assert_allclose(new.masses, old.masses[len(old.masses) // 2 :], rtol=0, atol=1e-9)
    assert new.engine.taut[0] == old.engine.taut[1]


def test_what_stands_elsewhere_than_at_the_start_is_not_kicked():
    """A box began on a shelf, and stands under it when somebody comes: what touched at the start is long over."""
    text = """
schema: 1
model:
  vehicles: [{use: dragonfly}]
  payloads: [{name: box, mass_kg: 0.2, inertia_kg_m2: [1.0e-3, 2.0e-3, 1.5e-3], shape: {type: box, size_m: [0.2, 0.2, 0.2]}}]
controller: {type: quadrotor}
initial: [{entity: quad1, position_m: [5, 0, 0.3]}, {entity: box, position_m: [0, 0, 1.124]}]
environment: {contact: {}, obstacles: [{name: shelf, shape: {type: box, size_m: [1, 1, 0.05]}, position_m: [0, 0, 1]}]}
"""
    old, hover = Simulation(scenario_from_text(text)), np.array([[0.25 * 9.81, 0.0, 0.0, 0.0]])
    state = old.motion[1, :13].copy()
    state[2] = 0.0985
    old.set_states({"box": state}, project=False)
    for _ in range(20):
        old.step(hover)
    new = Simulation(spawned(old.scenario))
    take_over(new, old)
    for _ in range(5):
        old.step(hover)
        new.step(hover)
        np.testing.assert_allclose(new.motion[1], old.motion[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("periods", [59, 60, 61])
def test_a_change_at_the_instant_of_somebodys_coming_is_made(periods):
    text = SLUNG.format(vehicle="", cable="", more="changes: [{at_s: 0.3, cut: 1}]")
    old, command = Simulation(scenario_from_text(text)), np.array([[0.32 * 9.81, 0.0, 0.0, 0.0]])
    for _ in range(periods):
        old.step(command)
    new = Simulation(spawned(old.scenario))
    take_over(new, old)
    for _ in range(3):
        old.step(command)
        new.step(command)
    assert old.engine.is_cut[0] and new.engine.is_cut[0]


def test_a_change_that_has_been_made_at_this_instant_is_not_made_again():
    """After the command of a period has acted; the release failed, because nothing held the load any more."""
    text = SLUNG.format(vehicle="", cable="", more="changes: [{at_s: 0.1, cut: 1}]")
    old, command = Simulation(scenario_from_text(text)), np.array([[0.32 * 9.81, 0.0, 0.0, 0.0]])
    for _ in range(20):
        old.step(command)
    old.act(command)
    assert old.engine.is_cut[0]
    new = Simulation(spawned(old.scenario))
    take_over(new, old)
    new.step(command)
    assert [event.type for event in new.take_events()] == []


@pytest.mark.parametrize(
    "wind", ["steady_m_s: [8.0, 0.0, 0.0]", "turbulence: {wind_at_6m_m_s: 10.0}"]
)
@pytest.mark.parametrize("mode", ["wrench", "rotors"])
def test_who_is_there_feels_the_same_air_before_the_next_command(wind, mode):
    """Inertial units, accelerations and airspeeds right after somebody came; those of who came are of the instant."""
    text = f"""
schema: 1
description: a vehicle with drag in the wind
model: {{vehicles: [{{use: hummingbird, drag: {{linear_n_s_per_m: [0.1, 0.1, 0.1]}}}}]}}
environment: {{wind: {{{wind}}}}}
controller: {{use: quadrotor}}
sensing: {{sensors: [{{type: pitot, body: quad1}}]}}
actuation: {mode}
"""
    old = flown(text)
    old.sensors.imu.sense()
    go_on(old, 0.05)
    entity = replace(
        read_entity("vehicles/hummingbird", old.scenario.environment.air), name="other"
    )
    start = InitialState(entity="other", position_m=(0.0, 5.0, 2.0))
    new = Simulation(with_entity(old.scenario, entity, start))
    take_over(new, old)
    np.testing.assert_allclose(new.motion[0], old.motion[0], atol=1e-9)
    np.testing.assert_array_equal(new.air[0], old.air[0])
    np.testing.assert_allclose(new.sensors[2].sense(), old.sensors[2].sense(), atol=1e-9)
    felt, expected = new.sensors.imu.sense(), old.sensors.imu.sense()
    np.testing.assert_allclose(felt[0], expected[0], atol=1e-9)
    assert np.isfinite(felt).all()
