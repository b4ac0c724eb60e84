"""Steady flight: the helicopter against the specification and a held one (HE-T10, T11, T15), and everything else."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from held_helicopter import HeldHelicopter
from rotor_rigs import FLAP, LAG, OMEGA, PITCH, flying, xcell
from transforms3d.euler import euler2quat, quat2euler
from transforms3d.quaternions import quat2mat

from rotor_core.config.air.wind import Wind
from rotor_core.config.attachments.cable import CableAttachment, Drum, Winch
from rotor_core.config.environment import Air
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.model import DragCoefficients, Model, Payload
from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError, ModelError
from rotor_core.vehicles.hover import hover
from rotor_dynamics import memory
from rotor_dynamics.engine import Engine
from rotor_sim.analysis.trim import Trim, trim
from rotor_sim.plant.system import system_from_scenario
from rotor_sim.simulation import Simulation

ORDERS = {"flap-pitch-lag": (FLAP, PITCH, LAG), "pitch-flap-lag": (PITCH, FLAP, LAG)}
TABLE = {  # specification 7.6: collective, cosine, sine, tail force, roll, inflow, thrust, torque, mean flap, mean lag
    "flap-pitch-lag": (0.09506, 0.00754, 0.00054, 6.9216, 0.07836, 4.1650, 80.195, 6.2986, 0.02481, 0.02756),
    "pitch-flap-lag": (0.09502, 0.00763, 0.00046, 6.9215, 0.07828, 4.1650, 80.196, 6.2985, 0.02520, 0.02780),
}  # fmt: skip
TOLERANCE = (1e-4, 1e-4, 1e-4, 0.01, np.radians(0.05), 0.005, 0.01, 0.02, 1e-4, 1e-4)
"""HE-T10 for collective, torque and roll; the others to the digits of the table, whose march is coarser than ours."""


@cache
def hovering(order: str, turns: str = "cw") -> Trim:
    return trim(flying(xcell(hinges=ORDERS[order], turns=turns)))


def _row(found: Trim) -> tuple[float, ...]:
    loads = {k.removeprefix("heli1."): v for k, v in found.loads.items()}
    roll = quat2euler(found.states[0, 3:7])[0]
    names = ("pitch_mean_rad", "pitch_cosine_rad", "pitch_sine_rad")
    after = ("inflow_m_s", "thrust_n", "torque_n_m", "flap_mean_rad", "lag_mean_rad")
    return (*(loads[n] for n in names), found.commands[0, 3], roll, *(loads[n] for n in after))


@pytest.mark.parametrize("order", ORDERS)
def test_he_t10_hover_trim_is_that_of_the_specification(order):
    found = hovering(order)
    assert found.exists and found.residual < 1e-6
    np.testing.assert_array_less(np.abs(np.subtract(_row(found), TABLE[order])), TOLERANCE)


@pytest.mark.parametrize("order", ORDERS)
def test_he_t10_a_held_fuselage_that_is_pitched_by_decree_needs_the_same(order):
    """Two algorithms: periodic free flight with pitch links, and reactions of six joints averaged over a turn."""
    held = HeldHelicopter(xcell(hinges=ORDERS[order])).trim(
        np.array([0.0959, 0.0076, 0, 6.92, 0.0785, 0])
    )
    assert held.residual < 1e-6
    row = _row(hovering(order))
    np.testing.assert_allclose(held.unknowns[0], row[0], atol=2e-6)
    np.testing.assert_allclose(
        held.unknowns[1:3], row[1:3], atol=5e-5
    )  # the fuselage shakes in free flight
    np.testing.assert_allclose(
        [held.unknowns[3], held.torque, held.thrust], [row[3], row[7], row[6]], rtol=2e-5
    )
    assert held.unknowns[4] == pytest.approx(row[4], abs=1e-4)


def test_he_t11_free_flight_from_the_held_trim_drifts_as_the_specification_says():
    vehicle = xcell()
    held = HeldHelicopter(vehicle).trim(np.array([0.0959, 0.0076, 0, 6.92, 0.0785, 0]))
    x = held.unknowns
    engine = Engine(system_from_scenario(flying(vehicle)), step=2.0 * np.pi / OMEGA / 180)
    engine.swash.write(x[None, :3], at_once=True)
    engine.swash.write_inflow(np.array([held.inflow]))
    efforts = np.zeros(7)
    efforts[0] = held.torque
    engine.joints.write_efforts(efforts, at_once=True)
    engine.world.inputs[0, memory.BIAS + 3] = x[3]
    states = np.zeros((len(engine.system.bodies), 13))
    states[:, 3] = 1.0
    states[0, 3:7] = euler2quat(x[4], x[5], 0.0)
    engine.set_state(states, joints=held.joints[6:], time=0.0)
    engine.run(round(0.3 * OMEGA / (2.0 * np.pi) * 180))
    end = engine.update_kinematics()[0]
    roll, pitch, yaw = np.degrees(np.subtract(quat2euler(end[3:7]), (x[4], x[5], 0.0)))
    for got, expected in (
        (end[9], -0.0167), (end[2], -0.0028), (pitch, 0.066), (yaw, -0.021),
        (engine.joints.rates[0] - OMEGA, 0.045),
    ):  # fmt: skip
        assert got == pytest.approx(expected, rel=0.5)
    assert abs(roll) < 0.003  # 4.490 to 4.488 in the table: two units of its last digit
    assert np.hypot(end[7], end[8]) < 0.0025


@pytest.mark.parametrize("order", ORDERS)
def test_he_t15_a_rotor_that_turns_the_other_way_hovers_as_the_mirror_image(order):
    one, other = hovering(order), hovering(order, "ccw")
    mirror = np.array([1.0, -1.0, 1.0, -1.0])
    np.testing.assert_allclose(other.commands[0], mirror * one.commands[0], atol=1e-6)
    np.testing.assert_allclose(other.joints, one.joints, atol=1e-6)
    np.testing.assert_allclose(other.states[0, 3:7], one.states[0, 3:7] * (1, -1, 1, -1), atol=1e-6)
    for key, value in one.loads.items():
        assert other.loads[key] == pytest.approx(value, abs=1e-5), key


def test_set_b_hovers_as_its_closed_forms_say():
    """In the air and gravity of its source."""
    vehicle = load_scenario("helicopter_square").model.vehicles[0]
    assert vehicle.helicopter is not None
    at_rest = hover(vehicle.helicopter, vehicle.total_mass * 9.781, 9.781, 1.292)
    assert at_rest.inflow == pytest.approx(4.86, abs=0.005)
    assert at_rest.collective == pytest.approx(0.1026, abs=1e-4)
    assert at_rest.torque == pytest.approx(4.25, abs=0.005)
    assert np.degrees(at_rest.phase) == pytest.approx(77.5, abs=0.05)
    assert at_rest.tail_force == pytest.approx(4.11, abs=0.005)
    assert np.degrees(at_rest.roll) == pytest.approx(2.19, abs=0.01)
    cold = Air(temperature_c=273.0 * 1.293 / 1.292 - 273.0)
    found = trim(flying(vehicle, step=2.0 * np.pi / 193.73 / 180, air=cold, gravity_m_s2=9.781))
    assert found.exists
    assert found.loads["heli1.pitch_mean_rad"] == pytest.approx(at_rest.collective, rel=0.02)
    assert found.loads["heli1.torque_n_m"] == pytest.approx(at_rest.torque, rel=0.01)
    assert np.degrees(quat2euler(found.states[0, 3:7])[0]) == pytest.approx(2.19, abs=0.1)


def test_power_in_climb_pays_for_the_height_that_is_gained():
    """Shaft power is the integral of blade forces: the ideal part is T (V + v), the profile part stays."""
    level, climbing = hovering("flap-pitch-lag"), trim(flying(xcell()), (0.0, 0.0, 2.0))
    assert climbing.exists
    ideal = [
        f.loads["heli1.thrust_n"] * (f.loads["heli1.inflow_m_s"] + v)
        for f, v in ((level, 0.0), (climbing, 2.0))
    ]
    shaft = [f.loads["heli1.power_w"] for f in (level, climbing)]
    assert shaft[1] - shaft[0] == pytest.approx(ideal[1] - ideal[0], rel=0.15)
    momentum = climbing.loads["heli1.thrust_n"] / (2 * 1.225 * np.pi * 0.775**2)
    v = climbing.loads["heli1.inflow_m_s"]
    assert v * (v + 2.0) == pytest.approx(momentum, rel=1e-3)


def test_descent_goes_through_autorotation():
    """At 8 m/s theory of the windmill brake leaves 420 W of the 1052 W of hover; beyond 12 m/s the air turns the rotor."""
    scenario = load_scenario("helicopter_hover")
    found = {v: trim(scenario, (0.0, 0.0, -v)) for v in (0.0, 8.0, 15.0)}
    assert all(t.exists for t in found.values())
    rotor = scenario.model.vehicles[0].helicopter.main_rotor  # type: ignore[union-attr]
    power = {v: t.loads["heli1.power_w"] for v, t in found.items()}
    speed = {v: t.loads["heli1.rotor_speed_rad_s"] for v, t in found.items()}
    hover, loads = found[0.0].loads, found[8.0].loads
    profile = power[0.0] - hover["heli1.thrust_n"] * hover["heli1.inflow_m_s"]
    brake = profile + loads["heli1.thrust_n"] * (loads["heli1.inflow_m_s"] - 8.0)
    assert power[8.0] == pytest.approx(420.0, rel=0.02)
    assert power[8.0] == pytest.approx(
        brake, rel=0.1
    )  # profile power changes with the blades' angle
    assert speed[8.0] == rotor.speed_rad_s
    assert power[15.0] == 0.0 and 1.01 < speed[15.0] / rotor.speed_rad_s < 1.1


def test_trim_in_the_simulation_stays_where_it_is():
    """Commands of the trim, flown by the simulator with its governor: nothing moves for a second."""
    scenario = replace(load_scenario("helicopter_hover"), initial=())
    found = trim(scenario)
    simulation = Simulation(scenario)
    _begin_simulation(simulation, found)
    for _ in range(100):
        simulation.step(found.commands)
    assert np.abs(simulation.motion[0, :3] - found.states[0, :3]).max() < 0.01
    assert np.abs(simulation.motion[0, 10:13]).max() < 0.02


def _begin_simulation(simulation: Simulation, found: Trim) -> None:
    simulation.engine.swash.write_inflow(found.inflow)
    links = np.zeros((len(simulation.engine.system.bodies) - 1, 13))
    links[:, 3] = 1.0
    simulation.engine.set_state(np.vstack([found.states, links]), joints=found.joints)


def _with_load(mass: float) -> Scenario:
    scenario = flying(xcell())
    cable = CableAttachment("cable", "heli1", "load", 2.0, (0.0, 0.0, -0.1))
    return replace(
        scenario, model=Model(scenario.model.vehicles, (Payload("load", mass),), (cable,))
    )


def test_a_load_on_a_cable_hangs_below_its_helicopter():
    found = trim(_with_load(1.5))
    assert found.exists
    assert found.loads["cable1.tension_n"] == pytest.approx(1.5 * 9.81, rel=1e-4)
    assert found.loads["heli1.thrust_n"] == pytest.approx(9.7 * 9.81, rel=0.005)
    assert found.states[1, 2] == pytest.approx(found.states[0, 2] - 2.1, abs=0.01)


@pytest.mark.parametrize(
    ("scenario", "velocity", "words"),
    [
        (lambda: _with_load(30.0), (0, 0, 0), "power|collective"),
        (lambda: flying(xcell()), (0, 0, 60.0), "power|collective"),
        (lambda: flying(xcell(collective_deg=(-2.0, 3.0))), (0, 0, 0), r"collective of 0\.09\d+ rad, its range is -0\.03491 to 0\.05236"),
        (lambda: load_scenario("hexacopter_wind"), (60.0, 0, 0), "of its rotors, each can give"),
    ],
)  # fmt: skip
def test_a_flight_that_is_impossible_has_a_reason(scenario, velocity, words):
    found = trim(scenario(), velocity)
    assert not found.exists
    assert re.search(words, found.reason), found.reason


def test_a_motor_that_is_too_weak_for_its_arm_is_named():
    """Statics of the arm as it begins: masses of the links at their levers. It was told as an acceleration that stays."""
    scenario = load_scenario("arm_coupled")
    vehicle = scenario.model.vehicles[0]
    held = trim(scenario)
    assert held.reason == ""
    needed = abs(held.efforts[0])
    for share, words in (
        (1.01, ""),
        (0.6, "'am1' would need {:.4g} N m of the motor of joint 'joint1', which gives "),
    ):
        joint = replace(vehicle.joints[0], effort_n_m=share * needed)
        weaker = replace(vehicle, joints=(joint, *vehicle.joints[1:]))
        model = replace(scenario.model, vehicles=(weaker, *scenario.model.vehicles[1:]))
        found = trim(replace(scenario, model=model))
        assert found.reason.startswith(words.format(needed)) and bool(found.reason) == bool(words)
        np.testing.assert_allclose(found.efforts, held.efforts, rtol=1e-9)


def test_other_vehicles_are_trimmed_too():
    level = trim(load_scenario("hover"))
    np.testing.assert_allclose(level.commands, [[0.25 * 9.81, 0, 0, 0]], atol=1e-9)
    windy = load_scenario("hexacopter_wind")
    found = trim(windy)
    assert found.exists and found.residual < 1e-8
    team = trim(load_scenario("three_dragonflies_triangular_1m"))
    model = load_scenario("three_dragonflies_triangular_1m").model
    weight = 9.81 * sum(e.mass_kg for e in model.entities)
    assert team.commands[:, 0].sum() == pytest.approx(weight, rel=1e-9)
    arm = trim(load_scenario("arm_coupled"))
    assert arm.exists and len(arm.efforts) == 2
    rigid = trim(load_scenario("three_dragonflies_triangular_rigid"))
    assert rigid.exists


def test_vehicles_are_above_their_load_whichever_way_round_the_cable_is_written():
    scenario = load_scenario("dragonfly_point_mass")
    cable = scenario.model.cables[0]
    turned = replace(
        cable, a=cable.b, b=cable.a, a_point_m=cable.b_point_m, b_point_m=cable.a_point_m
    )
    other = replace(scenario, model=replace(scenario.model, attachments=(turned,)))
    one, two = trim(scenario), trim(other)
    assert one.exists and two.exists, two.reason
    np.testing.assert_allclose(two.commands, one.commands, atol=1e-9)
    np.testing.assert_allclose(two.states, one.states, atol=1e-9)


def test_bad_velocities_and_rotors_without_a_common_period_are_refused():
    with pytest.raises(ContractError, match="3 finite numbers"):
        trim(load_scenario("hover"), (np.nan, 0.0, 0.0))
    one = xcell()
    other = replace(xcell(speed_rad_s=150.0), name="heli2")
    with pytest.raises(ModelError, match="one speed"):
        trim(replace(flying(one), model=Model((one, other))))


def test_a_team_on_cables_is_found_in_wind_as_in_flight_through_calm_air():
    """Only what moves against the air matters: 1 m/s of wind, and 1 m/s against it."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    model = scenario.model
    drag = DragCoefficients(linear_n_s_per_m=(0.05, 0.05, 0.05))
    payloads = tuple(replace(p, drag=drag) for p in model.payloads)
    scenario = replace(scenario, model=replace(model, payloads=payloads))
    windy = replace(scenario.environment, wind=Wind(steady_m_s=(1.0, 0.0, 0.0)))
    still, moving = trim(replace(scenario, environment=windy)), trim(scenario, (-1.0, 0.0, 0.0))
    assert still.exists and moving.exists
    np.testing.assert_allclose(still.commands, moving.commands, atol=1e-7)
    weight, push = trim(scenario).commands[:, 0].sum(), 0.05
    assert still.commands[:, 0].sum() == pytest.approx(np.hypot(weight, push), rel=1e-7)


def test_a_load_on_a_drum_hangs_as_on_a_cable_of_its_length():
    """The brake holds the drum; it was free, and the load fell."""
    scenario = load_scenario("dragonfly_point_mass")
    drum = Drum(radius_m=0.02, inertia_kg_m2=1e-5, torque_n_m=0.2)
    winch = Winch(lengths_m=(0.3, 4.0), drum=drum)
    cable = replace(scenario.model.cables[0], winch=winch)
    drummed = replace(scenario, model=replace(scenario.model, attachments=(cable,)))
    found, plain = trim(drummed), trim(scenario)
    assert found.exists, found.reason
    np.testing.assert_allclose(found.commands, plain.commands, atol=1e-9)
    np.testing.assert_allclose(found.states, plain.states, atol=1e-9)


@pytest.mark.parametrize("by", [0.03, -0.03])
def test_the_lengths_of_the_plant_hold_the_team(by):
    """A longer cable was flown from where the nominal one ends: slack, so that there was no steady flight."""
    base = load_scenario("three_dragonflies_triangular_1m")
    found = trim(base.changed("plant.cable1.length_m", base.model.cables[0].length_m + by))
    assert found.exists, found.reason
    heights = found.states[: len(base.model.vehicles), 2] - found.states[-1, 2]
    assert heights[0] - heights[1] == pytest.approx(by, abs=0.02)
    weight = sum(e.mass_kg for e in base.model.entities) * 9.81
    assert found.commands[:, 0].sum() == pytest.approx(weight, rel=1e-9)


@pytest.mark.parametrize("mode", ["wrench", "rotors"])
@pytest.mark.parametrize(("mass", "gain", "exists"), [(0.16, 0.9, False), (0.2, 1.1, True)])
def test_limits_are_those_of_commands_whatever_the_plant_makes_of_them(mode, mass, gain, exists):
    """Nominal rotors give 4.24 N: 4.469 N would have to be commanded, or 4.013 N where 4.414 N are weighed."""
    scenario = load_scenario("dragonfly_point_mass").changed("actuation.mode", mode)
    scenario = scenario.changed("model.payloads.payload.mass_kg", mass)
    assert trim(scenario.changed("plant.quad1.thrust_gain", gain)).exists == exists


@pytest.mark.parametrize("wind", [(0.5, 0.0, 0.0), (4.0, -2.0, 0.5)])
def test_a_load_heads_as_the_air_turns_it(wind):
    """Its centre of pressure is beside its axis: at the heading of the start there is no balance of moments."""
    linear, quadratic, place, hook = (
        [0.02, 0.01, 0.0],
        [0.1, 0.05, 0.03],
        [0.02, 0.01, 0.1],
        [0.01, 0.02, 0.05],
    )
    text = f"""
schema: 1
model:
  vehicles: [{{use: hexacopter, name: q}}]
  payloads:
    - name: p
      mass_kg: 0.3
      inertia_kg_m2: [0.002, 0.002, 0.003]
      drag: {{linear_n_s_per_m: {linear}, quadratic_n_s2_per_m2: {quadratic}, center_of_pressure_m: {place}}}
  attachments: [{{type: cable, a: q, b: p, length_m: 1.0, b_point_m: {hook}}}]
environment: {{wind: {{steady_m_s: {list(wind)}}}}}
controller: {{use: point_mass}}
"""
    found = trim(scenario_from_text(text))
    assert found.exists, found.reason
    R = quat2mat(found.states[1, 3:7])
    air = -R.T @ np.array(wind)
    drag = -(np.array(linear) + np.linalg.norm(air) * np.array(quadratic)) * air
    pull = R.T @ [0.0, 0.0, 0.3 * 9.81] - drag
    moment = np.cross(place, drag) + np.cross(hook, pull)
    np.testing.assert_allclose(moment, 0.0, atol=1e-9)
