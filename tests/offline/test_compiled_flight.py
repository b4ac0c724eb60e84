"""A flight in one compiled call, and a flight that is saved in the middle: the same bits as in one go."""

from __future__ import annotations

import hashlib
import io
import pickle
from dataclasses import replace

import numpy as np
import pytest

from rotor.cli import main
from rotor_core.config.catalog import shipped
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.schema import Actuation, Change, MotorFault, PlantChange, Timing, WindTo
from rotor_core.config.sensing import (
    Imu,
    KalmanEstimator,
    Noise,
    Outage,
    Sensing,
)
from rotor_core.config.trajectories import HoverPlan
from rotor_core.errors import ConfigError, SolverError
from rotor_core.plans.plan import Plan
from rotor_core.saved.file import version
from rotor_flight import checkpoint as resume
from rotor_flight.checkpoint import load, save
from rotor_flight.compiled import ahead
from rotor_flight.compiled import flights as compiled_flights
from rotor_flight.compiled.flights import can_compile, fly_compiled
from rotor_flight.compiled.rows import Rows
from rotor_flight.fly import fly
from rotor_flight.loop import ClosedLoop
from rotor_planning.trajectories.from_config import make_plans

COMPILED = (
    "hover", "dragonfly_point_mass", "three_crazyflies_point_mass", "three_dragonflies_triangular_rigid",
    "heterogeneous_triangular_1m", "collision_triangular", "six_dragonflies_box", "hexacopter_wind",
    "three_dragonflies_motion_capture", "arm_coupled", "arm_uncoupled", "arm_slung_load", "kremer_tracking",
    "tethered_quadrotor", "x500_hover", "running_cable", "sixteen_dragonflies_four_boxes", "fiori_quadrotor_1",
    "gyrostat_g1", "pendulum_on_peg", "helicopter_circle", "helicopter_slung_load",
)  # fmt: skip
"""One of each law, with events, with limits that act, with noise and delay, with arms, with compliant contact; several
teams, helicopters, and none."""

SET_DOWN = """
schema: 1
description: three vehicles set their load down, drag it along and lift it
model:
  vehicles: [{use: dragonfly}, {use: dragonfly}, {use: dragonfly}]
  payloads: [{use: triangular}]
  attachments: [{type: mechanism, use: triangular_1m}]
initial: [{entity: payload, position_m: [0, 0, 0.4]}]
environment: {contact: {%s}}
controller: {use: cable_team}
trajectory: {type: waypoints, waypoints_m: [[0, 0, 0.4], [0, 0, %s], [0.3, 0, %s], [0.3, 0, 0.4]], speed_m_s: 0.6}
"""

ARRAYS = (
    "time", "states", "references", "commands", "tensions", "taut", "joints", "joint_references", "efforts",
)  # fmt: skip


def step_by_step(scenario, duration=None):
    """With Python between the steps."""
    return fly(scenario, duration=duration, loop=ClosedLoop(scenario))


def test_a_flight_takes_the_compiled_call_where_it_can(monkeypatch):
    """Long ones tell of their progress; one that the engine gives up is flown again to say why."""
    monkeypatch.setattr(compiled_flights, "AT_ONCE", 100)
    told, loop = [], ClosedLoop.period
    monkeypatch.setattr(ClosedLoop, "period", lambda *_, **__: pytest.fail("step by step"))
    flight = fly(load_scenario("slalom"), duration=2.0, progress=lambda *x: told.append(x))
    assert len(flight.time) == 401 and [round(t, 6) for t, _ in told] == [0.5, 1.0, 1.5, 2.0, 2.0]
    monkeypatch.setattr(ClosedLoop, "period", loop)
    monkeypatch.setattr(compiled_flights, "fly_world", lambda *_: (1, 0))
    again = fly(load_scenario("slalom"), duration=2.0)
    np.testing.assert_array_equal(flight.states, again.states)


@pytest.mark.parametrize("name", COMPILED)
def test_the_same_bits_as_step_by_step(name):
    scenario = load_scenario(name)
    whole = step_by_step(scenario, 3.0)
    loop = ClosedLoop(scenario)
    assert can_compile(loop)
    compiled = fly_compiled(loop, 3.0)
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(whole, array), getattr(compiled, array), array)
    assert whole.events == compiled.events and whole.limited == compiled.limited


@pytest.mark.parametrize(
    ("name", "share"),
    [("three_dragonflies_triangular_1m", 1.5), ("dragonfly_point_mass", 3.0)],
)
def test_sums_that_are_held_at_the_limits_are_flown_alike(name, share):
    """A load that is heavier than its law believes, far from its goal: rotors are at their limits for a while."""
    scenario = load_scenario(name)
    heavy = share * scenario.model.payloads[0].mass_kg
    scenario = scenario.changed("controller.integral_per_s3", [1.0, 1.0, 2.5])
    scenario = scenario.changed("plant.payload.mass_kg", heavy)
    goal = list(np.array(loop_start(scenario)) + [0.5, 0.0, 3.0])
    scenario = scenario.changed("trajectory", {"type": "hover", "position_m": goal})
    whole, loop = step_by_step(scenario, 4.0), ClosedLoop(scenario)
    compiled = fly_compiled(loop, 4.0)
    assert whole.limited == compiled.limited > 20
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(whole, array), getattr(compiled, array), array)


def loop_start(scenario):
    """Where the payload begins, m."""
    return ClosedLoop(scenario).simulation.state["payload"].position.tolist()


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("name", ["slalom", "three_dragonflies_motion_capture"])
def test_cables_that_are_cut_are_flown_alike(name, every, monkeypatch):
    """At the start, where a call ends, in the period after another cut, and after the end; with noise and delay."""
    monkeypatch.setattr(compiled_flights, "AT_ONCE", 100)
    cuts = Change(0.0, cut=1), Change(0.5, cut=2), Change(0.505, cut=3), Change(1.2, cut=2)
    scenario = replace(load_scenario(name), changes=cuts)
    whole, loop = step_by_step(scenario, 1.2), ClosedLoop(scenario)
    assert can_compile(loop)
    compiled = fly_compiled(loop, 1.2, every)
    rows = np.unique([*range(0, len(whole.time), every), len(whole.time) - 1])
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(whole, array)[rows], getattr(compiled, array), array)
    assert whole.events == compiled.events and whole.limited == compiled.limited
    assert [e.type for e in whole.events] == ["cut"] * 3


def test_what_is_gripped_and_let_go_is_flown_alike():
    """Between grip and release the world is another one."""
    scenario = load_scenario("pick_and_place")
    whole, loop = step_by_step(scenario, 16.0), ClosedLoop(scenario)
    assert can_compile(loop)
    compiled = fly_compiled(loop, 16.0)
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(whole, array), getattr(compiled, array), array)
    assert whole.events == compiled.events
    assert {"attach", "cut", "release"} <= {e.type for e in whole.events}


def test_what_is_out_of_reach_is_said_at_its_time():
    """A grip that fails ends a flight in compiled calls as it does step by step."""
    scenario = load_scenario("pick_and_place")
    grip = replace(scenario.changes[0], at_s=2.0)
    with pytest.raises(SolverError, match=r"attach at 2\.000 s: 'parcel' is .* more than within_m"):
        fly(replace(scenario, changes=(grip,)), duration=3.0)


@pytest.mark.parametrize("law", ["", "law: rigid", "law: rigid, restitution: 0.4"])
def test_a_load_that_is_set_down_is_flown_alike(law):
    """Through contact of both kinds: states, cables, and what begins and ceases to touch, with its names."""
    scenario = scenario_from_text(SET_DOWN % (law, -0.05, -0.05))
    duration = 8.0
    whole, loop = step_by_step(scenario, duration), ClosedLoop(scenario)
    assert can_compile(loop)
    compiled = fly_compiled(loop, duration)
    assert compiled is not None
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(whole, array), getattr(compiled, array), array)
    assert whole.events == compiled.events
    assert {"touch", "leave", "slack", "snap"} <= {event.type for event in whole.events}


@pytest.mark.parametrize("seed", range(6))
def test_a_load_is_set_down_on_rigid_ground(seed):
    """Slowly or fast, dragged along, bouncing: more than half of such flights had ended with an error."""
    random = np.random.default_rng(seed)
    law = f"law: rigid, friction_static: {random.uniform(0.1, 1.0):.3f}, restitution: {random.choice([0.0, 0.3, 0.7])}"
    scenario = scenario_from_text(SET_DOWN % (law, *2 * [-random.uniform(0.0, 0.25)]))
    flight = fly(scenario)
    payload = flight["payload"]
    assert flight.extra["integration"]["energy_error_share"] < 1e-6
    thickness = 2.0 * payload.position[:, 2].min()  # it has lain there, and lies on nothing lower
    assert thickness > 0.0
    assert payload.position[-1, 2] == pytest.approx(0.4, abs=0.05)


@pytest.mark.parametrize("limits", [False, True])
def test_rotors_with_a_lag_and_moving_air_are_flown_alike(limits, monkeypatch):
    """A team on cables with spinning rotors through gusts and turbulence, in calls of a fifth of a second."""
    monkeypatch.setattr(compiled_flights, "AT_ONCE", 40)
    scenario = load_scenario("three_dragonflies_triangular_1m")
    wind = load_scenario("hexacopter_wind").environment.wind
    model = scenario.model
    vehicles = tuple(
        replace(v, rotors=replace(v.rotors, drag_n_s2_per_m=1e-5, lag_s=0.03))
        for v in model.vehicles
    )
    scenario = replace(
        scenario,
        model=replace(model, vehicles=vehicles),
        actuation=Actuation("rotors", limits=limits),
        environment=replace(scenario.environment, wind=wind),
    )
    whole, compiled = step_by_step(scenario, 3.0), fly_compiled(ClosedLoop(scenario), 3.0)
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(whole, array), getattr(compiled, array), array)
    assert whole.events == compiled.events and whole.limited == compiled.limited


WORN = """
schema: 1
description: a drone whose thrust drifts, whose motor weakens and whose battery sags carries a parcel through gusts
model:
  vehicles: [{use: delivery_drone, name: drone, drag: {quadratic_n_s2_per_m2: [0.04, 0.04, 0.04]}%s}]
%sinitial: [{entity: drone, position_m: [0, 0, 3]}]
environment: {wind: {gusts: [{start_s: 0.5, duration_s: 1, peak_m_s: [0, 6, 0]}]}}
actuation: rotors
controller: {use: %s}
changes: [{at_s: 1, motor: {vehicle: drone, rotor: 2, thrust_gain: 0.9}}, {at_s: 1.5, battery: {vehicle: drone, voltage_factor: 0.7}}]
plant: [{entity: drone, thrust_gain_per_s: -0.01}]
trajectory: {type: waypoints, waypoints_m: [[0, 0, 3], [1, 0, 3]], speed_m_s: 1}
"""


PARCEL = """  payloads: [{use: six_pack, name: parcel}]
  attachments: [{type: rigid_link, parent: drone, child: parcel, position_m: [0, 0, 0]}]
"""


@pytest.mark.parametrize(("law", "parcel"), [("cascaded_pid", PARCEL), ("quadrotor", "")])
@pytest.mark.parametrize(
    "battery",
    [
        "",
        ", battery: {voltage_v: [38.4, 50.4], capacity_ah: 10, resistance_ohm: 0.02, assumed_v: 50.4}",
    ],
)
def test_motors_and_batteries_are_flown_alike(law, parcel, battery, monkeypatch):
    """What they admit, what they take, and faults of both, in calls of a fifth of a second."""
    scenario = scenario_from_text(WORN % (battery, parcel, law))
    monkeypatch.setattr(compiled_flights, "AT_ONCE", round(0.2 / scenario.time.control_s))
    whole, loop = step_by_step(scenario, 2.5), ClosedLoop(scenario)
    assert can_compile(loop)
    compiled = fly_compiled(loop, 2.5)
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(whole, array), getattr(compiled, array), array)
    assert whole.extra["power"] == compiled.extra["power"]
    assert 0.9 < compiled.extra["power"]["drone"]["charge"] < 1.0
    unworn = fly(replace(scenario, changes=(), plant=()), duration=2.5)
    assert np.abs(whole.commands - unworn.commands).max() > 0.1


MISSIONS = (
    ("winch_delivery", 250), ("deck_landing", 250), ("courtyard", 37), ("lift_and_set_down", 250),
    ("delivery_fault_battery", 250), ("hauled_over_ridge", 40),
)  # fmt: skip
"""With orders of all kinds, motors off, vehicles that fly alone, a guard, faults; the last one winds without a mission."""


@pytest.mark.parametrize(("name", "longest"), MISSIONS)
def test_missions_are_flown_ahead_alike(name, longest, monkeypatch):
    """Until they are over: states, commands, events, what the mission said and when, and batteries."""
    monkeypatch.setattr(ahead, "LONGEST", longest)
    scenario, skipped, fly_ahead = load_scenario(name), [], ahead.Ahead.fly

    def counted(self, first, last):
        end = fly_ahead(self, first, last)
        skipped.append(end - first)
        return end

    monkeypatch.setattr(ahead.Ahead, "fly", counted)
    quick, whole = fly(scenario), step_by_step(scenario)
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(whole, array), getattr(quick, array), array)
    assert whole.events == quick.events and whole.limited == quick.limited
    assert whole.extra == quick.extra
    flown = (
        0.0 if name == "lift_and_set_down" else 0.2
    )  # feed-forward of the nominal motion is no matter of kernels
    assert sum(skipped) >= flown * len(whole.time)
    assert len(skipped) + sum(skipped) == len(whole.time)


WINDS = """
schema: 1
description: a cable is cut while a mission winds it, and the mission goes on
model:
  vehicles: [{use: dragonfly}]
  payloads: [{use: point_mass}]
  attachments:
    - {type: cable, a: quad1, b: payload, length_m: 0.5, winch: {lengths_m: [0.3, 3.0], rate_m_s: 0.5, acceleration_m_s2: 0.5}}
initial: [{entity: payload, position_m: [0, 0, 4]}]
environment: {contact: {}}
controller: {use: point_mass}
changes: [{at_s: 1.5, cut: 1}]
mission:
  steps: [{type: hover, duration_s: 1.0}, {type: wind, cable: 1, length_m: 2.0}, {type: hover, entity: quad1, duration_s: 1.0}]
"""


def test_a_mission_winds_what_is_left_of_a_cable():
    """It looks at lengths while they change: nothing is flown ahead then."""
    scenario = scenario_from_text(WINDS)
    quick, whole = fly(scenario), step_by_step(scenario)
    np.testing.assert_array_equal(quick.states, whole.states)
    assert quick.extra == whole.extra and quick.extra["mission"]["status"] == "succeeded"


@pytest.mark.parametrize("mode", ["wrench", "rotors"])
def test_faults_and_cuts_of_one_instant_act_together(mode):
    """Whatever the control period, from the row of that instant on; before the first command, too."""
    scenario = replace(
        load_scenario("dragonfly_point_mass"),
        actuation=Actuation(mode),
        time=Timing(control_s=0.05),
    )
    for at, first in ((0.5, 10), (0.0, 0)):
        changes = (
            (Change(at, motor=MotorFault("quad1", 1, 0.5)),),
            (Change(at, cut=1),),
        )
        plain = fly(scenario, duration=1.0).states
        for change in changes:
            flown = fly(replace(scenario, changes=change), duration=1.0).states
            apart = np.abs(flown - plain).max(axis=(1, 2))
            assert apart[: first + 1].max() < 1e-12
            assert apart[first + 1] > 1e-3, (at, change)


def test_a_fault_where_wrenches_act_at_once_ends_what_is_flown_ahead():
    """Its bounds are no matter of kernels."""
    fault = Change(0.5, motor=MotorFault("quad1", 1, 0.8))
    scenario = replace(load_scenario("hover"), changes=(fault,))
    quick, whole = fly(scenario, duration=1.5), step_by_step(scenario, 1.5)
    np.testing.assert_array_equal(quick.states, whole.states)
    assert np.ptp(whole.states[:, 0, 2]) > 0.01


def test_states_that_controllers_see_late_are_not_flown_ahead():
    """A mission would be told of true ones."""
    loop = ClosedLoop(load_scenario("delivery_fault_lost_pose"))
    one = ahead.Ahead(loop, Rows.of(loop, 100, 1))
    loop.period()
    assert one.fly(1, 100) == 1


def test_a_mission_that_ends_early_is_flown_ahead_to_its_time():
    """A duration cuts it off; its status is that of then."""
    scenario = load_scenario("delivery")
    quick, whole = fly(scenario, duration=2.5), step_by_step(scenario, 2.5)
    np.testing.assert_array_equal(quick.states, whole.states)
    assert quick.extra == whole.extra and quick.extra["mission"]["status"] == "unfinished"


def test_measurements_with_every_fault_are_flown_alike(monkeypatch):
    """Noise, a rate that is no divisor, delay, dropouts and outages of both kinds, in calls of 35 periods."""
    monkeypatch.setattr(compiled_flights, "AT_ONCE", 35)
    scenario = load_scenario("three_dragonflies_motion_capture")
    sensing = Sensing(
        Noise(1e-3, 1e-2, 1e-3, 1e-2), rate_hz=130.0, delay_s=0.013, dropout_probability=0.05, dropout_s=0.03,
        outages=(Outage("quad1", 0.5, 0.1, "all"), Outage("payload", 0.7, 0.2, "position")),
    )  # fmt: skip
    scenario = replace(scenario, sensing=sensing)
    whole, compiled = step_by_step(scenario, 2.0), fly_compiled(ClosedLoop(scenario), 2.0)
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(whole, array), getattr(compiled, array), array)


ASKEW = (PlantChange(entity="quad1", attitude_bias_rad=(0.02, -0.01, 0.05), velocity_gain=1.1),)
ON_BOARD = KalmanEstimator("kalman", accelerometer="all")
BAD_UNITS = Imu(
    accelerometer_walk_m_s3_sqrt_hz=0.02, gyroscope_density_rad_s_sqrt_hz=0.003, gyroscope_limit_rad_s=2.0,
    accelerometer_bias_m_s2=(0.1, 0.0, -0.05),
)  # fmt: skip


@pytest.mark.parametrize(
    ("sensing", "plant"),
    [
        (Sensing(estimator=ON_BOARD), ()),
        (Sensing(), ASKEW),
        (Sensing(Noise(1e-3, 1e-2), rate_hz=130.0, delay_s=0.013, dropout_probability=0.05, dropout_s=0.03, imu=BAD_UNITS,
                 outages=(Outage("quad1", 0.7, 0.2, "position"),), estimator=ON_BOARD), ASKEW),
    ],
    ids=["estimated", "askew", "both"],
)  # fmt: skip
def test_what_vehicles_believe_is_flown_alike(sensing, plant, monkeypatch):
    """Filters on board, units with errors, what is told askew: in calls of 35 periods, and not without effect."""
    monkeypatch.setattr(compiled_flights, "AT_ONCE", 35)
    ideal = load_scenario("three_dragonflies_motion_capture")
    scenario = replace(ideal, sensing=sensing, plant=plant)
    whole, compiled = step_by_step(scenario, 2.0), fly_compiled(ClosedLoop(scenario), 2.0)
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(whole, array), getattr(compiled, array), array)
    exact = fly(replace(ideal, sensing=Sensing()), duration=2.0)
    assert 1e-7 < abs(exact.states - whole.states)[:, :, :3].max() < 1.0


def test_missions_of_vehicles_that_believe_otherwise_are_not_flown_ahead():
    """A mission hears what controllers hear."""
    scenario = load_scenario("delivery")
    vehicle = scenario.model.vehicles[0].name
    scenario = replace(scenario, plant=(PlantChange(entity=vehicle, velocity_gain=1.1),))
    whole, quick = step_by_step(scenario, 3.0), fly(scenario, duration=3.0)
    np.testing.assert_array_equal(whole.states, quick.states)


STACKED = """
schema: 1
description: three vehicles one above the other, in the wakes of each other, and one near the ground, in gusts
model: {vehicles: [{use: crazyflie}, {use: crazyflie}, {use: crazyflie}, {use: crazyflie}]}
initial:
  - {entity: quad1, position_m: [0, 0, 0.4]}
  - {entity: quad2, position_m: [0.03, 0, 0.8]}
  - {entity: quad3, position_m: [0, 0.02, 1.2]}
  - {entity: quad4, position_m: [2, 0, 0.05]}
environment:
  wakes: {strength: 1.2}
  ground_effect: true
  wind: {steady_m_s: [0.3, 0, 0], gusts: [{start_s: 0.5, duration_s: 1.0, peak_m_s: [0.5, 0.5, 0.2]}]}
actuation: {mode: %s}
controller: {use: quadrotor}
trajectory: {type: circle, radius_m: 0.1, period_s: 3.0, cruise_s: 3.0}
"""


@pytest.mark.parametrize("mode", ["wrench", "rotors"])
def test_wakes_and_the_ground_are_flown_alike(mode, monkeypatch):
    """Vehicles over each other and the ground in gusts, in calls of 35 periods, and not without effect."""
    monkeypatch.setattr(compiled_flights, "AT_ONCE", 35)
    scenario = scenario_from_text(STACKED % mode)
    whole, compiled = step_by_step(scenario, 2.0), fly_compiled(ClosedLoop(scenario), 2.0)
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(whole, array), getattr(compiled, array), array)
    still = fly(scenario.changed("environment.wakes", {"strength": 0.0}), duration=2.0)
    assert np.abs(still.states - whole.states)[:, :, 2].max() > 0.01


BLOWN = """
schema: 1
description: one takes off and lands below another that flies over it, in wind
model: {vehicles: [{use: crazyflie, name: quad}, {use: crazyflie, name: other}]}
initial: [{entity: quad, position_m: [0, 0, 0.02]}, {entity: other, position_m: [0.05, 0, 1.0]}]
environment: {contact: {}, wakes: {strength: 1.2}, ground_effect: true, wind: {steady_m_s: [0.2, 0, 0]}}
actuation: {mode: %s}
controller: {use: quadrotor}
settle_s: 0.5
mission:
  steps:
    - {type: take_off, height_m: 0.5, entity: quad}
    - {type: go_to, entity: other, position_m: [0, 0, 1.2]}
    - {type: land, entity: quad}
"""


@pytest.mark.parametrize("mode", ["wrench", "rotors"])
def test_missions_in_wakes_are_flown_ahead_alike(mode):
    scenario = scenario_from_text(BLOWN % mode)
    whole, quick = step_by_step(scenario), fly(scenario)
    assert quick.extra["mission"]["status"] == "succeeded" and whole.extra == quick.extra
    for array in ("time", "states", "references", "commands"):
        np.testing.assert_array_equal(getattr(whole, array), getattr(quick, array), array)


def test_plant_that_differs_is_flown_alike():
    """Wrong mass, weak rotors (whose limits differ from those the controller knows)."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    scenario = replace(
        scenario,
        plant=(
            PlantChange(entity="payload", mass_kg=0.35),
            PlantChange(entity="quad1", thrust_gain=0.8),
        ),
    )
    whole, compiled = step_by_step(scenario, 4.0), fly_compiled(ClosedLoop(scenario), 4.0)
    np.testing.assert_array_equal(whole.states, compiled.states)


@pytest.mark.parametrize("periods, every", [(100, 1), (100, 7), (101, 50), (3, 10)])
def test_rows_are_those_of_the_whole_flight(periods, every, monkeypatch):
    monkeypatch.setattr(compiled_flights, "AT_ONCE", 30)
    scenario = load_scenario("dragonfly_point_mass")
    duration = periods * scenario.time.control_s
    whole = step_by_step(scenario, duration)
    thinned = fly_compiled(ClosedLoop(scenario), duration, every)
    rows = np.unique([*range(0, periods + 1, every), periods])
    np.testing.assert_array_equal(thinned.time, whole.time[rows])
    np.testing.assert_array_equal(thinned.states, whole.states[rows])
    np.testing.assert_array_equal(thinned.tensions, whole.tensions[rows])


def test_what_needs_python_between_the_steps_is_left_to_it():
    for name in ("hauled_over_ridge", "delivery", "deck_landing", "three_crazyflies_apart"):
        assert not can_compile(ClosedLoop(load_scenario(name))), name


def test_a_plan_with_a_sample_of_its_own_is_asked_for_it():
    """A subclass may turn its reference into another; compiled code would not hear of that."""

    class Higher(Plan):
        def sample(self, t, out=None):
            out = super().sample(t, out)
            out[2] += 0.5
            return out

    scenario = load_scenario("hover")
    (name, plan), *_ = make_plans(scenario).items()
    plans = {name: Higher(plan.durations, plan.coefficients, plan.radius, plan.rotation)}
    assert not can_compile(ClosedLoop(scenario, plans))
    higher, usual = fly(scenario, plans=plans, duration=4.0), fly(scenario, duration=4.0)
    assert higher[name].position[-1, 2] - usual[name].position[-1, 2] > 0.4


# --- save and resume ---------------------------------------------------------------------------------

RESUMED = [n for n in shipped("scenarios") if load_scenario(n).mission is None]


def advance(loop: ClosedLoop, periods: int) -> None:
    for _ in range(periods):
        loop.period()


@pytest.mark.parametrize("name", RESUMED)
def test_a_flight_goes_on_with_the_same_bits(name, tmp_path):
    """Every shipped scenario: sensors with noise and delay, wind, inflow, batteries, contacts, random streams."""
    loop = ClosedLoop(load_scenario(name))
    advance(loop, 40)
    save(loop, tmp_path / "half")
    again = load(tmp_path / "half")
    advance(loop, 80)
    advance(again, 80)
    for one, other in ((loop.simulation.engine, again.simulation.engine),):
        np.testing.assert_array_equal(one.floats, other.floats)
        np.testing.assert_array_equal(one.ints, other.ints)
    for flown in (loop, again):
        flown.period(acts=lambda: False)
    np.testing.assert_array_equal(loop.controller.commands, again.controller.commands)
    assert loop.simulation.take_events() == again.simulation.take_events()


def test_a_flight_goes_on_with_what_it_has_picked_up(tmp_path):
    """Between grip and release the system is another one than at the start."""
    loop = ClosedLoop(load_scenario("pick_and_place"))
    grips = [c.at_s for c in loop.simulation.scenario.changes if c.attach]
    advance(loop, round((grips[0] + 0.5) / loop.simulation.scenario.time.control_s))
    assert len(loop.simulation.engine.system.welds) == 1
    save(loop, tmp_path / "half")
    again = load(tmp_path / "half")
    assert len(again.simulation.engine.system.welds) == 1
    for flown in (loop, again):
        advance(flown, 400)
    np.testing.assert_array_equal(loop.simulation.engine.floats, again.simulation.engine.floats)
    errors = [x.simulation.engine.accuracy.energy_error_j for x in (loop, again)]
    assert errors[0] == errors[1] != 0.0  # that before the grip, too
    assert loop.simulation.take_events() == again.simulation.take_events()


def test_a_flight_goes_on_while_a_winch_winds(tmp_path):
    """What it was asked for, and how far it has come."""
    scenario = load_scenario("winch_delivery")
    wind = Change(0.2, wind=WindTo(1, 1.0))
    loop = ClosedLoop(
        replace(scenario, mission=None, trajectory=HoverPlan("hover", 5.0), changes=(wind,))
    )
    advance(loop, round(0.7 / scenario.time.control_s))
    save(loop, tmp_path / "half")
    again = load(tmp_path / "half")
    for flown in (loop, again):
        advance(flown, round(2.0 / scenario.time.control_s))
    assert loop.simulation.engine.winches.length(0) == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_array_equal(loop.simulation.engine.floats, again.simulation.engine.floats)


def test_a_flight_goes_on_while_a_program_is_asked(tmp_path):
    """The answer that is under way comes when it would have come."""
    scenario = load_scenario("three_crazyflies_apart")
    slow = replace(scenario.controller, program_period_s=0.03)
    loop = ClosedLoop(replace(scenario, controller=slow))
    advance(loop, 45)  # three periods after a question
    save(loop, tmp_path / "half")
    again = load(tmp_path / "half")
    for flown in (loop, again):
        advance(flown, 100)
    np.testing.assert_array_equal(loop.simulation.engine.floats, again.simulation.engine.floats)


def test_two_halves_by_the_command_line_are_the_whole(tmp_path, capsys):
    """Noise and delay of motion capture; the second half begins where the first ends."""
    name, half = "three_dragonflies_motion_capture", str(tmp_path / "half")
    whole = fly(load_scenario(name), duration=2.0)
    assert main(["fly", name, "--duration", "1", "--save", half]) == 0
    loop = load(tmp_path / "half")
    rest = fly(loop.simulation.scenario, loop=loop, duration=1.0)
    n = len(rest.time)
    np.testing.assert_array_equal(rest.time, whole.time[-n:])
    np.testing.assert_array_equal(rest.states, whole.states[-n:])
    np.testing.assert_array_equal(rest.commands, whole.commands[-n:])
    capsys.readouterr()
    assert main(["resume", half, "--duration", "0.1"]) == 0
    assert "resumed 1.000 s after" in capsys.readouterr().out
    assert main(["fly", name, "--duration", "0.1", "--save", half]) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_mission_is_refused_before_it_is_flown(tmp_path, capsys):
    assert main(["fly", "delivery", "--save", str(tmp_path / "x")]) == 2
    assert "mission" in capsys.readouterr().err and not list(tmp_path.iterdir())


def _npz(**arrays) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _file(data: bytes, of: bytes | None = None) -> bytes:
    digest = hashlib.sha256(data).hexdigest().encode()
    return resume.MAGIC + (of or version()) + digest + b"\n" + data


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is not a saved flight"),
        (b"hello", "is not a saved flight"),
        (_file(pickle.dumps([1, 2])), "is not a (saved )?flight"),
        (_file(_npz(head=np.array([object()]))), "is not a (saved )?flight"),
        (_file(_npz(head=np.frombuffer(b"{}", np.uint8))), "is not a (saved )?flight"),
        (_file(_npz(other=np.zeros(3))), "is not a (saved )?flight"),
        (_file(b"garbage"), "is not a (saved )?flight"),
        (_file(pickle.dumps([1, 2]))[:-1], "is damaged or incomplete"),
        (_file(pickle.dumps([1, 2]), b"other\n"), "another version"),
    ],
)  # fmt: skip
def test_files_that_are_no_flights_are_refused(tmp_path, content, text):
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=text):
        load(file)


def test_determinism_and_reset():
    """The same seed, the same bits; reset repeats the run."""
    scenario = load_scenario("three_dragonflies_motion_capture")
    one, other = fly(scenario, duration=1.0), fly(scenario, duration=1.0)
    np.testing.assert_array_equal(one.states, other.states)
    third = fly(replace(scenario, seed=scenario.seed + 1), duration=1.0)
    assert not np.array_equal(one.states, third.states)
