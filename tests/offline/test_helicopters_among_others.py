"""Helicopters and the rest of the suite: structure changes, missions, other vehicles, limits, mistakes in files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rotor_control.controller import make_controller
from rotor_core.config.attachments.cable import CableAttachment, Drum, Winch
from rotor_core.config.catalog import config_directory
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import load_scenario, scenario_from_tree
from rotor_core.config.model import Model, Payload
from rotor_core.config.schema import Actuation, Change, Grip, InitialState, PlantChange, Scenario
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError, ModelError
from rotor_core.warnings import notes
from rotor_flight.fly import fly
from rotor_sim.analysis.trim import trim
from rotor_sim.simulation import Simulation

VEHICLE = (config_directory() / "vehicles" / "xcell60.yaml").read_text()
SCENARIO = """schema: 1
model:
  vehicles:
    - name: heli1
{vehicle}
controller: {{use: helicopter}}
time: {{step_s: 0.0004, control_s: 0.004}}
"""


def written(change: tuple[str, str] = ("", ""), extra: str = "") -> Scenario:
    """A hover of the shipped helicopter, written out, with one text in place of another."""
    lines = [line for line in VEHICLE.splitlines() if not line.startswith(("schema", "#"))]
    text = SCENARIO.format(vehicle="\n".join("      " + line for line in lines)) + extra
    assert change[0] in text
    return scenario_from_tree(parse_tree(text.replace(*change), "mine.yaml"))


def test_attaching_in_flight_changes_nothing_but_what_is_attached():
    box = Payload("box", 0.2, (1e-3, 1e-3, 1e-3))
    scenario = load_scenario("helicopter_hover")
    start = InitialState("box", (0.0, 0.0, 1.3))
    grip = Change(0.1, attach=Grip("box", "heli1", (0.0, 0.0, -0.2), 0.3))
    scenario = replace(
        scenario, model=Model(scenario.model.vehicles, (box,)), changes=(grip,),
        initial=(*scenario.initial, start),
    )  # fmt: skip
    simulation = Simulation(scenario)
    command = np.array([[0.0959, 0.0076, -0.0006, 6.92]])
    for _ in range(25):
        simulation.step(command)
    before = simulation.engine.joints.rates
    simulation.act(command)
    after = simulation.engine.joints.rates
    assert [e.type for e in simulation.take_events()] == ["attach"]
    # the box falls at 1 m/s and is stopped by 8.2 kg: 2.4 cm/s, and what that shakes the blades by
    np.testing.assert_allclose(after, before, atol=1.0)
    flight = fly(scenario, duration=3.0)
    assert np.abs(flight.states[-1, 0, :3] - [0.0, 0.0, 1.5]).max() < 0.3


def test_a_load_can_be_attached_after_its_cable_has_been_cut():
    scenario = load_scenario("helicopter_slung_load")
    changes = (
        Change(0.2, cut=1),
        Change(0.3, attach=Grip("load", "heli1", (0.0, 0.0, -2.1), 0.5)),
    )
    flight = fly(replace(scenario, changes=changes), duration=0.8)
    assert [e.type for e in flight.events] == ["cut", "attach"]


def test_motors_of_an_arm_with_a_lag_work_beside_a_helicopter():
    heli, arm = load_scenario("helicopter_hover"), load_scenario("pick_and_place")
    both = replace(
        heli, model=Model((arm.model.vehicles[0], *heli.model.vehicles)), initial=(), changes=()
    )
    lag = arm.model.vehicles[0].moving_joints[0].lag_s
    found = []
    for scenario in (
        replace(
            arm,
            model=Model(arm.model.vehicles[:1]),
            initial=(),
            changes=(),
            arms=(),
            time=heli.time,
        ),
        both,
    ):
        simulation = Simulation(scenario)
        rest = np.zeros((simulation.n_vehicles, 4))
        simulation.act(rest, np.zeros(2))  # the first command finds motors at their efforts
        for _ in range(5):
            simulation.act(rest, np.array([0.1, 0.0]))
            simulation.engine.run(scenario.time.steps_per_control)
        found.append(simulation.engine.joints.efforts[0])
    assert found[0] == pytest.approx(0.1 * (1.0 - np.exp(-0.02 / lag)), rel=1e-6)
    assert found[1] == pytest.approx(found[0], rel=1e-9)


def test_a_multirotor_flies_beside_a_helicopter_and_a_team_is_refused():
    heli, quad = load_scenario("helicopter_hover"), load_scenario("hover")
    both = replace(
        heli, model=Model((*heli.model.vehicles, *quad.model.vehicles)),
        initial=(*heli.initial, InitialState("quad1", (3.0, 0.0, 1.0))),
        trajectory=replace(heli.trajectory, position_m=None),
    )  # fmt: skip
    flight = fly(both, duration=2.0)
    assert np.abs(flight.states[-1, 1, :3] - [3.0, 0.0, 1.0]).max() < 0.01
    assert np.abs(flight.states[-1, 0, :3] - [0.0, 0.0, 1.5]).max() < 0.02
    with pytest.raises(ConfigError, match="cannot fly 'payload'"):
        make_controller(replace(load_scenario("slalom"), controller=heli.controller))


def test_a_helicopter_of_a_team_may_fly_alone():
    """A mission lets the load go and hovers: the law of helicopters, not of multirotors, flies on."""
    text = (config_directory() / "scenarios" / "helicopter_slung_load.yaml").read_text()
    head = text[: text.index("trajectory:")]
    mission = """mission:
  steps:
    - {type: hover, duration_s: 1.0}
    - {type: release, payload: load}
    - {type: hover, entity: heli1, duration_s: 3.0}
time: {step_s: 0.0004, control_s: 0.004}
settle_s: 0.0
"""
    flight = fly(scenario_from_tree(parse_tree(head + mission, "mine.yaml")))
    summary = flight.summary()
    assert summary["mission"]["status"] == "succeeded"
    assert summary["verdict"]["kind"] == "flown"
    assert np.abs(flight.states[-1, 0, :3] - [0.0, 0.0, 2.6]).max() < 0.5


def test_a_cable_may_be_written_either_way_round():
    scenario = load_scenario("helicopter_slung_load")
    cable = scenario.model.cables[0]
    turned = CableAttachment("cable", "load", "heli1", 2.0, b_point_m=cable.a_point_m)
    other = replace(scenario, model=replace(scenario.model, attachments=(turned,)))
    np.testing.assert_array_equal(initial_states(other), initial_states(scenario))
    a, b = fly(scenario, duration=0.5), fly(other, duration=0.5)
    np.testing.assert_allclose(b.states, a.states, atol=1e-9)


def test_a_load_that_has_been_cut_is_forgotten():
    scenario = load_scenario("helicopter_slung_load")
    still = replace(load_scenario("helicopter_hover").trajectory, position_m=(0.0, 0.0, 0.5))
    flight = fly(replace(scenario, trajectory=still, changes=(Change(2.0, cut=1),)), duration=8.0)
    assert np.abs(flight.states[-1, 0, :3] - [0.0, 0.0, 2.6]).max() < 0.1


def test_nothing_commanded_stops_the_engine_and_the_tail():
    simulation = Simulation(load_scenario("helicopter_hover"))
    for _ in range(25):
        simulation.step(np.zeros((1, 4)))
    assert simulation.helicopters.torques[0] == 0.0
    assert simulation.engine.joints.efforts[0] == 0.0
    assert simulation.engine.joints.rates[0] < 167.0
    # blades that swing forward shake the fuselage; the torque of the engine alone would give 2.2 rad/s by now
    assert abs(simulation.motion[0, 12]) < 0.5


def test_without_gravity_it_flies_all_the_same():
    scenario = load_scenario("helicopter_hover")
    weightless = replace(scenario.environment, gravity_m_s2=0.0)
    assert np.isfinite(fly(replace(scenario, environment=weightless), duration=0.5).states).all()


def test_commands_that_act_are_the_limited_ones():
    simulation = Simulation(load_scenario("helicopter_hover"))
    simulation.act(np.array([[0.6, 0.0, 0.0, 107.0]]))
    np.testing.assert_allclose(simulation.applied, [[np.radians(16.0), 0.0, 0.0, 20.0]])


def test_a_state_set_at_another_time_takes_lag_and_history_along():
    scenario = written(("    turns: cw", "    swash_lag_s: 0.05\n          turns: cw"))
    engine = Simulation(scenario).engine
    engine.swash.act(np.array([[0.1, 0.0, 0.0]]))
    engine.run(10)
    before = engine.swash.angles
    links = engine.update_kinematics()[:, :13].copy()
    engine.set_state(links, joints=engine.joints.states, time=0.25)
    np.testing.assert_allclose(engine.swash.angles, before, atol=1e-12)


@pytest.mark.parametrize("step", [0.0004, 0.00005])
def test_the_delay_of_the_inflow_is_that_of_the_file_at_any_step(step):
    """The ring of samples is as long as the delay at short steps too."""
    found = []
    for control in (0.0004, step):
        scenario = written(
            ("armature", "inflow: {law: filtered, delay_s: 0.2}\n          armature")
        )
        time = replace(scenario.time, step_s=control, control_s=0.0004)
        simulation = Simulation(replace(scenario, time=time))
        for i in range(600):
            collective = 0.0959 if i < 50 else 0.12
            simulation.step(np.array([[collective, 0.0076, -0.0006, 6.92]]))
        found.append(simulation.engine.swash.inflow[0])
    assert found[1] == pytest.approx(found[0], abs=2e-3)


def test_trim_counts_every_moment_once_and_knows_the_gain_of_the_plant():
    hover = load_scenario("hover")
    leaning = replace(
        hover.model.vehicles[0],
        com_m=(0.0, 0.01, 0.0),
        drag=load_scenario("hexacopter_wind").model.vehicles[0].drag,
    )
    scenario = replace(hover, model=Model((leaning,)))
    for mode in ("wrench", "rotors"):
        found = trim(replace(scenario, actuation=Actuation(mode)), (2.0, 0.0, 0.0))  # type: ignore[arg-type]
        assert found.exists and found.residual < 1e-8
        simulation = Simulation(replace(scenario, actuation=Actuation(mode)))  # type: ignore[arg-type]
        simulation.reset(found.states)
        simulation.act(found.commands)
        assert np.abs(simulation.engine.update_kinematics()[0, 13:19]).max() < 1e-6
    weak = replace(hover, plant=(PlantChange("quad1", thrust_gain=0.8),))
    assert trim(weak).commands[0, 0] == pytest.approx(0.25 * 9.81 / 0.8, rel=1e-9)
    with pytest.raises(ModelError, match="by its arm or to the"):
        trim(load_scenario("arm_slung_load"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("flap, stiff", "flop, stiff"), r"hinges\[0\].type: must be one of pitch, flap, lag"),
        (("- {type: pitch}", "- {type: lag}"), "hinges must be pitch and at most one flap and one lag"),
        (("offset_m: 0.055", "offset_m: 0.2"), "none beyond root_m 0.055"),
        (("root_m: 0.055", "root_m: 0.9"), "root_m must be below radius_m 0.775"),
        (("com_m: 0.415", "com_m: 0.9"), "blade.com_m must be between the last hinge at 0.055 m and radius_m 0.775"),
        (("com_m: [0.0, 0.0, -0.0137347377]", "com_m: [0.3, 0.0, 0.0]"), r"must be its origin within 0.005 m, got \[0.28"),
        (("hub_m: [0.0, 0.0, 0.235]", "hub_m: [0.0, 0.0, -0.2]"), "hub_m must be above the origin"),
        (("power_w: 2000.0", "power_w: -1.0"), r"engine.power_w: must be > 0, got -1"),
        (("force_n: [-20.0, 20.0]", "force_n: [20.0, -20.0]"), r"force_n must be \[smallest, largest\]"),
        (("[-0.91, 0.0, 0.08], force", "[0.91, 0.0, 0.08], force"), "at least 0.05 m behind the origin"),
        (("name: tailplane", "name: fin"), r"\['fin'\] appear twice"),
        (("turns: cw", "turns: left"), "turns: must be one of ccw, cw"),
        (("step_s: 0.0004", "step_s: 0.0005"), "at most 0.000418 s, got 0.0005"),
        (("speed_rad_s: 167.0", "speed_rad_s: 720.0"), "step_s: 9e-05, control_s: 0.0009"),
        (("armature", "pitch_link: {stiffness_n_m_per_rad: 1.0e5, damping_n_m_s_per_rad: 0.01}\n          armature"),
         r"pitch_link.stiffness_n_m_per_rad of 'heli1': it settles at 4.497e\+04 1/s, but steps of 0.0004 s can follow 5000 1/s at most"),
        (("armature", "inflow: {law: relaxed, lag_s: 1.0e-5}\n          armature"), r"inflow.lag_s of 'heli1': it settles at 1e\+05"),
        (("drag_coefficient: 0.024", "section_table: [[-10, -1, 0.02], [10, 1, 0.02]]"), "from -180 to 180 deg, got -10 to 10"),
    ],
)  # fmt: skip
def test_mistakes_name_place_value_and_limit(change, words):
    with pytest.raises(ConfigError, match=words) as error:
        written(change)
    assert str(error.value).startswith("mine.yaml:")


def test_what_cannot_hover_is_said():
    assert notes(written()) == []
    weak = notes(written(("power_w: 2000.0", "power_w: 500.0")))
    assert len(weak) == 1 and "engine.power_w: hover needs about 1.05e+03 W" in str(weak[0])
    flat = notes(written(("turns: cw", "collective_deg: [-5, 1]\n          turns: cw")))
    assert len(flat) == 1 and "collective_deg: hover needs about 5.49 deg" in str(flat[0])


def test_rotors_without_flap_hinge_are_refused_by_the_controller():
    stiff = written(("      - {type: flap, stiffness_n_m_per_rad: 54.0}", "#"))
    with pytest.raises(ConfigError, match="needs a flap hinge"):
        make_controller(stiff)


def test_an_engine_failure_can_be_written():
    scenario = written(
        extra="changes: [{at_s: 1, motor: {vehicle: heli1, rotor: 1, thrust_gain: 0.0}}]\n"
    )
    assert scenario.changes[0].motor is not None
    with pytest.raises(ConfigError, match=r"must be 1\.\.1, got 2"):
        written(extra="changes: [{at_s: 1, motor: {vehicle: heli1, rotor: 2, thrust_gain: 0.0}}]\n")


def test_a_helicopter_begins_in_hover_whatever_else_turns_in_its_world():
    """The drum of a winch is a joint, too, behind those of rotors: each blade began with the state of its neighbour."""
    scenario = load_scenario("helicopter_slung_load")
    drum = Drum(radius_m=0.05, inertia_kg_m2=1e-4, torque_n_m=20.0)
    cable = scenario.model.cables[0]
    winched = replace(cable, winch=Winch(lengths_m=(0.3, 20.0), drum=drum))
    model = replace(scenario.model, attachments=(winched,))
    plain, with_drum = Simulation(scenario), Simulation(replace(scenario, model=model))
    n = len(plain.engine.joints.states)
    assert with_drum.engine.joints.names[n:] == ["cable1/drum"]
    np.testing.assert_array_equal(with_drum.engine.joints.states[:n], plain.engine.joints.states)
    assert with_drum.engine.joints.states[n].tolist() == [0.0, 0.0]
