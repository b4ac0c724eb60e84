"""The public face: reset, noise, limits, pushes; and the same source uncompiled."""

import copy
import gc
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from rotor_core.config.air.wind import Turbulence, Wind
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.model import DragCoefficients
from rotor_core.config.schema import PlantChange
from rotor_core.config.sensing import Noise, Sensing
from rotor_core.errors import ContractError, ModelError
from rotor_sim.actuation.timeout import FRESH, HELD, ZEROED, CommandWatch
from rotor_sim.schedule import Schedule
from rotor_sim.simulation import START_TIME, Simulation


def hover_wrenches(simulation):
    model = simulation.scenario.model
    mass = sum(e.mass_kg for e in model.entities)
    return np.column_stack(
        [
            np.full(len(model.vehicles), mass * 9.81 / len(model.vehicles)),
            np.zeros((len(model.vehicles), 3)),
        ]
    )


def test_reset_repeats_bits():
    scenario = replace(
        load_scenario("slalom"), sensing=Sensing(Noise(1e-3, 1e-3, 1e-3, 1e-3)), seed=7
    )
    simulation = Simulation(scenario)

    def story():
        out = []
        for _ in range(20):
            out.append(simulation.sense().array.copy())
            simulation.step(hover_wrenches(simulation))
        return np.array(out)

    first = story()
    simulation.reset()
    assert simulation.time == START_TIME
    np.testing.assert_array_equal(first, story())
    other = Simulation(scenario, seed=8)
    assert not np.array_equal(first[0], other.sense().array)


def test_noise_has_the_declared_covariance_and_leaves_the_truth_alone():
    """RT-A16.

    20000 samples; the standard error of a deviation is then 0.5 %, the bound of 5 % is ten of them.
    """
    noise = Noise(position_m=1e-3, velocity_m_s=2e-3, attitude_rad=3e-3, rate_rad_s=4e-3)
    simulation = Simulation(replace(load_scenario("hover"), sensing=Sensing(noise)))
    truth = simulation.motion.copy()
    sensor = simulation.measurement.pose_sensor
    times = simulation.time + simulation.scenario.time.control_s * np.arange(20_000)
    samples = np.array([sensor.sense(simulation.motion, t)[0].copy() for t in times])
    np.testing.assert_array_equal(simulation.motion, truth)
    np.testing.assert_allclose(np.linalg.norm(samples[:, 3:7], axis=1), 1.0, atol=1e-14)
    for columns, deviation in ((slice(0, 3), 1e-3), (slice(7, 10), 2e-3), (slice(10, 13), 4e-3)):
        np.testing.assert_allclose(
            np.std(samples[:, columns] - truth[0, columns], axis=0), deviation, rtol=0.05
        )
    np.testing.assert_allclose(np.std(2.0 * samples[:, 4:7], axis=0), 3e-3, rtol=0.05)
    correlation = np.corrcoef(samples[:, [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12]].T) - np.eye(12)
    assert np.max(np.abs(correlation)) < 0.05


def test_commands_beyond_the_rotors_are_limited():
    simulation = Simulation(load_scenario("hover"))
    simulation.act(np.array([[100.0, 0, 0, 0]]))
    assert simulation.applied[0, 0] == pytest.approx(4.240, abs=1e-3)  # table 4.1 of the vehicle
    simulation.act(np.array([[-5.0, 0, 0, 0]]))
    assert simulation.applied[0, 0] == pytest.approx(0.477, abs=1e-3)
    with pytest.raises(ContractError, match="finite"):
        simulation.act(np.array([[np.nan, 0, 0, 0]]))
    assert simulation.applied[0, 0] == pytest.approx(0.477, abs=1e-3)


def test_plant_differs_from_the_model():
    scenario = load_scenario("dragonfly_point_mass")
    changes = (
        PlantChange(entity="payload", mass_kg=0.1),
        PlantChange(cable=1, length_m=0.6),
        PlantChange(entity="quad1", thrust_gain=0.9),
    )
    simulation = Simulation(replace(scenario, plant=changes))
    simulation.act(np.array([[3.5, 0, 0, 0]]))
    assert simulation.motion[0, 2] == pytest.approx(0.6)
    assert simulation.applied[0, 0] == pytest.approx(3.15)
    assert simulation.engine.tensions[0] == pytest.approx(0.1 / 0.35 * 3.15, rel=1e-12)
    assert scenario.model.payloads[0].mass_kg == 0.07


def test_a_point_mass_takes_no_moment_unless_it_is_fixed_to_something():
    """It was accepted, and did nothing."""
    simulation = Simulation(load_scenario("dragonfly_point_mass"))
    moment = np.array([0.0, 0.0, 0.01])
    with pytest.raises(ContractError, match="'payload' is a point mass"):
        simulation.push("payload", np.zeros(3), moment)
    simulation.push("payload", np.ones(3), np.zeros(3))
    simulation.attach("quad1", "payload")
    simulation.push("payload", np.zeros(3), moment)


def test_push_acts_until_it_is_taken_back():
    simulation = Simulation(load_scenario("hover"))
    wrench = hover_wrenches(simulation)
    simulation.push("quad1", np.array([0.5, 0, 0]), np.zeros(3))
    simulation.step(wrench)
    assert simulation.motion[0, 7] == pytest.approx(0.5 / 0.25 * 0.005, rel=1e-9)
    simulation.push("quad1", np.zeros(3), np.zeros(3))
    speed = simulation.motion[0, 7]
    simulation.step(wrench)
    assert simulation.motion[0, 7] == pytest.approx(speed, rel=1e-12)


def test_uncompiled_source_gives_the_same_flight():
    """The kernels as plain Python, in a process without Numba.

    A snap and its aftermath to rounding.
    """
    program = """
import json, numpy as np
from rotor_core.kernels.jit import COMPILED
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_sim.simulation import Simulation
s = Simulation(load_scenario("collision_point_mass"))
for _ in range(23):
    s.step(np.array([[3.0, 1e-3, -2e-3, 5e-4]]))
print(json.dumps({"compiled": COMPILED, "motion": s.motion.tolist(), "events": [(e.time, e.type) for e in s.take_events()]}))
"""
    results = []
    for flag in ("0", "1"):
        out = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "ROTOR_UNCOMPILED": flag},
            check=True,
            capture_output=True,
            text=True,
        )
        results.append(json.loads(out.stdout))
    compiled, plain = results
    assert compiled["compiled"] and not plain["compiled"]
    assert (
        [kind for _, kind in compiled["events"]]
        == [kind for _, kind in plain["events"]]
        == ["snap"]
    )
    assert compiled["events"][0][0] == pytest.approx(plain["events"][0][0], abs=1e-13)
    np.testing.assert_allclose(compiled["motion"], plain["motion"], atol=1e-11)


def test_command_watch_holds_then_drops():
    watch = CommandWatch(2, timeout=0.1, policy="hold", zero_after=0.5)
    assert not watch.heard()
    wrench = np.array([3.0, 0, 0, 0])
    watch.accept(0, wrench, 1.0)
    watch.accept(1, wrench, 1.3)
    assert watch.heard()
    out, changes = watch.wrenches(1.35)
    assert out[:, 0].tolist() == [3.0, 3.0]
    assert changes == [(0, HELD), (1, FRESH)]
    out, changes = watch.wrenches(1.65)
    assert out[:, 0].tolist() == [0.0, 3.0] and changes == [(0, ZEROED), (1, HELD)]
    watch.accept_all(np.tile(wrench, (2, 1)), 1.7)
    assert watch.wrenches(1.75)[1] == [(0, FRESH), (1, FRESH)]
    assert watch.wrenches(1.78)[1] == []
    assert watch.wrenches(1.85)[1] == [(0, HELD), (1, HELD)]
    watch.reset()
    assert not watch.heard() and watch.wrenches(1.9)[0].tolist() == [[0.0] * 4] * 2
    drop = CommandWatch(1, timeout=0.1, policy="zero", zero_after=0.5)
    drop.accept(0, wrench, 1.0)
    assert drop.wrenches(1.05)[0][0, 0] == 3.0
    assert drop.wrenches(1.15)[0][0, 0] == 0.0


def test_a_step_without_a_command_holds_the_last_one_in_new_air():
    """Gusts and batteries go on: the same bits as with the command given again."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    load = replace(
        scenario.model.payloads[0], drag=DragCoefficients(quadratic_n_s2_per_m2=(0.1, 0.1, 0.1))
    )
    wind = Wind(steady_m_s=(3.0, 0.0, 0.0), turbulence=Turbulence(4.0, 2.0))
    scenario = replace(
        scenario,
        model=replace(scenario.model, payloads=(load,)),
        environment=replace(scenario.environment, wind=wind),
    )
    ours, again, calm = (Simulation(s) for s in (scenario, scenario, load_scenario(scenario.name)))
    command = hover_wrenches(ours)
    for simulation in (ours, again, calm):
        simulation.step(command)
    for _ in range(40):
        ours.step()
        again.step(command)
        calm.step()
    np.testing.assert_array_equal(ours.motion, again.motion)
    assert np.abs(ours.motion[3, :3] - calm.motion[3, :3]).max() > 1e-3


def test_schedule_counts_steps():
    schedule = Schedule.from_rates(1e-3, {"clock": 250.0, "topics": 100.0, "markers": 25.0})
    assert schedule.periods == {"clock": 4, "topics": 10, "markers": 40}
    seen, step = {"clock": 0, "topics": 0, "markers": 0}, 0
    while step < 1000:
        for name in schedule.due(step):
            seen[name] += 1
        step = schedule.next_after(step)
    assert seen == {"clock": 250, "topics": 100, "markers": 25}


STACKED = """
schema: 1
description: a payload on a payload, and a cable of somebody else
model:
  payloads:
    - {use: point_mass, name: upper, inertia_kg_m2: [1.0e-3, 1.0e-3, 1.0e-3]}
    - {use: point_mass, name: lower, inertia_kg_m2: [1.0e-3, 1.0e-3, 1.0e-3]}
    - {use: point_mass, name: other}
  attachments:
    - {type: rigid_link, parent: lower, child: upper, position_m: [0.1, 0, 0]}
    - {type: cable, a: other, b: world, b_point_m: [0, 0, 3], length_m: 1.0%s}
initial: [{entity: other, position_m: [0, 0, 2]}, {entity: %s, position_m: [3, 0, 5], velocity_m_s: [1, 0, 0]}]
controller: {type: open_loop}
trajectory: {type: hover, duration_s: 1.0}
"""


@pytest.mark.parametrize("heavy", ["", ", mass_kg_per_m: 0.1, segments: 4"])
def test_linked_payloads_begin_where_they_are_told(heavy):
    """What hung on a link stood at the origin, and a heavy cable anywhere put both there, whatever `initial` said."""
    found = Simulation(scenario_from_text(STACKED % (heavy, "lower"))).motion
    np.testing.assert_allclose(found[:2, :3], [[3.1, 0, 5], [3, 0, 5]])
    np.testing.assert_allclose(found[:2, 7:10], [[1, 0, 0], [1, 0, 0]])
    with pytest.raises(ModelError, match="misses the link"):
        Simulation(scenario_from_text(STACKED % (heavy, "upper")))


ROTORS = (
    "rotors: {layout: plus, arm_m: 0.1075, speed_rpm: [5500.0, 16400.0], thrust_n_per_rpm2: 6.57e-9, "
    "torque_per_thrust_m: 0.012, lag_s: 0.03, radius_m: 0.06}"
)


@pytest.mark.parametrize(
    "more",
    [
        "changes: [{at_s: 0.05, cut: 1}]",
        "changes: [{at_s: 0.05, wind: {cable: 1, length_m: 0.6}}]",
        "environment: {wakes: {}, wind: {steady_m_s: [5, 0, 0]}}",
    ],
)
def test_steps_before_the_first_command_change_what_the_scenario_changes(more):
    """As steps with rotors that stand do."""
    text = f"""
schema: 1
model:
  vehicles: [{{use: dragonfly, {ROTORS}, drag: {{linear_n_s_per_m: [0.1, 0.1, 0.1]}}}}]
  payloads: [{{name: load, mass_kg: 0.076}}]
  attachments: [{{type: cable, a: quad1, b: load, length_m: 0.5, winch: {{lengths_m: [0.3, 4.0]}}}}]
controller: {{use: point_mass}}
{more}
"""
    told, untold = (Simulation(scenario_from_text(text)) for _ in range(2))
    for _ in range(60):
        told.step(np.zeros((1, 4)))
        untold.step()
    np.testing.assert_allclose(untold.motion, told.motion, rtol=0, atol=1e-12)
    assert untold.engine.lengths == pytest.approx(told.engine.lengths)
    assert bool(untold.engine.is_cut[0]) == ("cut" in more)
    assert more.startswith("changes") or untold.motion[0, 7] > 0.1


@pytest.mark.parametrize(
    "what",
    [
        "winch: {lengths_m: [0.3, 4.0]}",
        "winch: {lengths_m: [0.3, 4.0], drum: {radius_m: 0.02, inertia_kg_m2: 1.0e-5, torque_n_m: 0.2}}",
    ],
)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_winds_and_turns_by_itself(what, copied):
    """Its winches and rotors act on itself, also when the world it was copied from is gone."""
    text = f"""
schema: 1
model:
  vehicles: [{{use: dragonfly, {ROTORS}}}]
  payloads: [{{name: load, mass_kg: 0.076}}]
  attachments: [{{type: cable, a: quad1, b: load, length_m: 0.5, {what}}}]
controller: {{use: point_mass}}
actuation: rotors
changes: [{{at_s: 0.1, wind: {{cable: 1, length_m: 0.8}}}}]
"""
    command = np.array([[0.32 * 9.81, 5e-4, 0.0, 0.0]])
    first, alone = (Simulation(scenario_from_text(text)) for _ in range(2))
    for _ in range(30):
        first.step(command)
        alone.step(command)
    other = copied(first)
    before = first.motion.copy()
    for _ in range(60):
        other.step(1.01 * command)
        alone.step(1.01 * command)
    np.testing.assert_array_equal(other.motion, alone.motion)
    np.testing.assert_array_equal(first.motion, before)
    del first
    gc.collect()
    other.step(command)
    alone.step(command)
    np.testing.assert_array_equal(other.motion, alone.motion)


def test_driven_joints_go_where_they_are_put():
    text = """
schema: 1
model:
  vehicles:
    - use: dragonfly
      links: [{name: l1, mass_kg: 0.05, com_m: [0, 0, -0.1], inertia_kg_m2: [1.0e-4, 1.0e-4, 1.0e-5]}]
      joints: [{type: revolute, name: j1, parent: base_link, child: l1, axis: [0, 1, 0], mode: driven}]
controller: {type: manipulator}
"""
    simulation = Simulation(scenario_from_text(text))
    simulation.set_states({}, project=False, joints=np.array([[0.7, 0.0]]))
    assert simulation.joint_states[0, 0] == 0.7
    for _ in range(3):
        simulation.step(np.array([[0.3 * 9.81, 0.0, 0.0, 0.0]]))
    assert simulation.joint_states[0].tolist() == [0.7, 0.0]


def test_rigid_contact_tells_once_what_rests():
    """Not again after something far away is attached or released."""
    box = "{{name: {}, mass_kg: 0.2, inertia_kg_m2: [1.0e-3, 1.0e-3, 1.0e-3], shape: {{type: box, size_m: [0.2, 0.2, 0.2]}}}}"
    text = f"""
schema: 1
model: {{vehicles: [{{use: dragonfly}}], payloads: [{box.format("a")}, {box.format("b")}, {box.format("c")}]}}
controller: {{type: quadrotor}}
initial:
  - {{entity: quad1, position_m: [0, 0, 2]}}
  - {{entity: a, position_m: [3, 0, 0.1]}}
  - {{entity: b, position_m: [5, 0, 0.1]}}
  - {{entity: c, position_m: [5, 0, 0.3]}}
environment: {{contact: {{law: rigid}}}}
"""
    simulation, hover = (
        Simulation(scenario_from_text(text)),
        np.array([[0.25 * 9.81, 0.0, 0.0, 0.0]]),
    )
    told = []
    for change in (
        lambda: None,
        lambda: simulation.attach("quad1", "a"),
        lambda: simulation.release("a"),
    ):
        change()
        for _ in range(20):
            simulation.step(hover)
        told.append([event.type for event in simulation.take_events()])
    assert told == [["touch"] * 3, ["attach"], ["release"]]
