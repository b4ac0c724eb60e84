"""What users hand over by Python: names count, shapes are looked at, nothing that is handed out changes later."""

from __future__ import annotations

import copy
import importlib.util
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import rotor
from rotor import trajectories
from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError, ContractError, RotorError
from rotor_core.plans.plan import Plan, hold
from rotor_core.reference import REFERENCE, Reference
from rotor_flight.fly import fly
from rotor_flight.loop import ClosedLoop
from rotor_sim.simulation import Simulation

TEAM = "three_dragonflies_triangular_1m"
ARM = "arm_coupled"


@pytest.fixture
def team():
    """Controller, measured states and a reference of a team."""
    states = rotor.Simulation(TEAM).sense()
    hover = rotor.trajectories.hover(states["payload"].position.copy()).at(0.0)
    return rotor.make_controller(TEAM), states, hover


def test_states_and_commands_go_by_their_names(team):
    controller, states, hover = team
    wrenches = controller(states, hover).wrenches
    names = ["quad3", "payload", "quad1", "quad2"]
    turned = rotor.States(names, np.array([states[name].array for name in names]))
    controller.reset()
    np.testing.assert_array_equal(controller(turned, hover).wrenches, wrenches)
    with pytest.raises(
        RotorError, match=r"'payload' is missing; there are 'quad1', 'quad2', 'quad3'\."
    ):
        controller(rotor.States(states.names[:3], states.array[:3]), hover)
    simulation, other = rotor.Simulation(TEAM), rotor.Simulation(TEAM)
    pulls = np.array([[1.0, 0, 0, 0], [2.0, 0, 0, 0], [3.0, 0, 0, 0]])
    simulation.step(rotor.Command(("quad1", "quad2", "quad3"), pulls))
    other.step(rotor.Command(("quad3", "quad2", "quad1"), pulls[::-1]))
    np.testing.assert_array_equal(simulation.state.array, other.state.array)
    with pytest.raises(RotorError, match="'quad1', 'quad2', 'quad3' is missing"):
        simulation.step(rotor.Command(("a", "b", "c"), pulls))
    four = rotor.Command(("quad1", "quad2", "quad3", "quad4"), np.ones((4, 4)))
    with pytest.raises(ContractError, match="only quad1, quad2, quad3 fly here"):
        simulation.step(four)


def test_efforts_are_not_guessed_from_names():
    simulation = rotor.Simulation(ARM)
    command = rotor.Command(("am1",), np.zeros((1, 4)), np.zeros(2))
    simulation.step(command)
    two = rotor.Command(("b", "a"), np.zeros((2, 4)), np.zeros(2))
    with pytest.raises(ContractError, match="vehicles must be in the order a, b, got b, a"):
        two.of(("a", "b"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda s: s[:2],
            r"of the shape \(4, 13 or more\), .*quad3, payload; got the shape \(2, 19\)",
        ),
        (lambda s: s[:, :7], r"13 or more\), .*got the shape \(4, 7\)"),
        (lambda s: s[0], r"got the shape \(19,\)"),
        (lambda s: "states", "must be numbers"),
        (lambda s: np.where(s == s[0, 2], np.nan, s), r"must be finite"),
    ],
)
def test_a_controller_looks_at_the_shape_of_states(team, change, words):
    """Kernels would read memory beyond them."""
    controller, states, hover = team
    with pytest.raises(ContractError, match=words):
        controller(change(states.array.copy()), hover)


def test_a_reference_that_is_none_does_not_stay_in_a_controller(team):
    controller, states, hover = team
    before = controller(states, hover).wrenches
    controller.reset()
    for wrong in (
        rotor.Reference(np.full(int(REFERENCE), np.nan)),
        np.zeros(28),
        rotor.trajectories.hover([0, 0, 1]),
    ):
        with pytest.raises(ContractError, match=r"must be (finite|a rotor\.Reference)"):
            controller(states, wrong)
    np.testing.assert_array_equal(controller(states, hover).wrenches, before)


def test_joints_have_their_shapes():
    simulation, controller = rotor.Simulation(ARM), rotor.make_controller(ARM)
    states = simulation.sense()
    at = rotor.trajectories.hover(states["am1"].position).at(0.0)
    joints, wanted = simulation.joint_states, np.zeros((2, 3))
    controller(states, at, joints, wanted)
    for wrong in (
        (joints[:1], wanted),
        (joints, wanted[:1]),
        (joints, wanted[:, :2]),
        (joints * np.nan, wanted),
    ):
        with pytest.raises(
            ContractError, match=r"controller: joint.*must (have the shape|be finite)"
        ):
            controller(states, at, *wrong)
    for efforts in (np.array([1.0]), np.zeros(3), np.zeros((2, 1))):
        with pytest.raises(ContractError, match=r"efforts: must have the shape \(2,\)"):
            simulation.act(np.zeros((1, 4)), efforts)
    for angles in ([[0.3, 0.0]], [0.3, 0.9]):
        with pytest.raises(ContractError, match=r"joints: must have the shape \(2, 2\)"):
            simulation.set_states({}, project=False, joints=np.array(angles))


@pytest.mark.parametrize("name", [TEAM, "three_dragonflies_motion_capture"])
def test_states_that_were_handed_out_stay(name):
    simulation = rotor.Simulation(name)
    true, seen = simulation.state, simulation.sense()
    before = true.array.copy(), seen.array.copy()
    true.array[0, 0] += 0.0
    for _ in range(20):
        simulation.step(np.zeros((3, 4)))
        simulation.sense()
    np.testing.assert_array_equal(true.array, before[0])
    np.testing.assert_array_equal(seen.array, before[1])
    simulation.state.array[:] = 7.0
    assert not np.any(simulation.state.position == 7.0)


def test_a_law_that_calculates_in_place_flies_and_is_recorded_alike():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Gains:
        stiffness: float = 4.0

    def wrench(error, velocity, vehicle, gains):
        force = vehicle.total_mass * (9.81 - gains.stiffness * error[2] - 3.0 * velocity[2])
        return rotor.Wrench(force, np.zeros(3))

    @rotor.control_law("test_pure", gains=Gains)
    def pure(state, reference, vehicle, gains):
        return wrench(state.position - reference.position, state.velocity, vehicle, gains)

    @rotor.control_law("test_in_place", gains=Gains)
    def in_place(state, reference, vehicle, gains):
        error = state.position
        error -= reference.position
        return wrench(error, state.velocity, vehicle, gains)

    text = Path(shipped_file("hover")).read_text()
    one, other = (
        rotor.fly(scenario_with_law(text, name), duration=1.0)
        for name in ("test_pure", "test_in_place")
    )
    np.testing.assert_array_equal(one.states, other.states)
    np.testing.assert_array_equal(one.references, other.references)


def test_laws_of_packages_may_write_into_what_they_get():
    """A law that is a class of its own writes into state and reference: neither the flight nor its errors change."""
    loops = [ClosedLoop(load_scenario("quadrotor_circle")) for _ in range(2)]
    law = loops[1].controller.laws[0]

    def careless(states, reference, out):
        law(states, reference, out)
        reference[:] = 0.0

    loops[1].controller._only = careless
    one, other = (fly(loop.simulation.scenario, duration=1.0, loop=loop) for loop in loops)
    np.testing.assert_array_equal(one.states, other.states)
    np.testing.assert_array_equal(one.references, other.references)


def test_headings_go_the_short_way_round():
    t = np.linspace(0.0, 8.0, 33)
    turns = np.column_stack([np.sin(t), np.cos(t) - 1.0, 0.0 * t])
    whole, cut = (
        rotor.Plan.from_samples(t, turns, yaw=yaw) for yaw in (t, np.arctan2(np.sin(t), np.cos(t)))
    )
    np.testing.assert_allclose(cut.coefficients, whole.coefficients, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.set_states({"quad1": 0.5}, project=False), r"shape \(13,\), got \(\)"),
        (lambda s: s.set_states({"quad1": s.motion[0]}, project=False), r"got \(19,\)"),
        (lambda s: s.set_states({"quad1": "up"}, project=False), "must be numbers"),
        (lambda s: s.set_states({"quad1": np.full(13, np.nan)}, project=False), "must be finite"),
        (lambda s: s.set_states(s.motion, project=True), "must be named"),
        (lambda s: s.reset(np.zeros(13)), r"states: must have the shape \(4, n\)"),
        (lambda s: s.reset(np.zeros((4, 7))), r"shape \(4, 13 or more\)"),
        (lambda s: s.reset(time=np.nan), "time: must be finite"),
        (lambda s: s.reset(elapsed=np.inf), "elapsed: must be finite"),
        (lambda s: s.weaken("quad1", 1.5, 0.5), r"counted from 0, got 1\.5"),
        (lambda s: s.believe([1, 0, 0, 0]), "must be named"),
    ],
)
def test_a_simulation_looks_at_what_it_is_given(call, words):
    simulation = rotor.Simulation(TEAM)
    before = simulation.motion.copy()
    with pytest.raises(ContractError, match=words):
        call(simulation)
    np.testing.assert_array_equal(simulation.motion, before)
    assert simulation.time == 1.0


def test_a_simulation_begins_with_states_by_name():
    simulation = rotor.Simulation(TEAM)
    first = simulation.motion.copy()
    for _ in range(5):
        simulation.step(np.ones((3, 4)))
    states = rotor.initial_states(TEAM)
    names = list(reversed(states.names))
    np.testing.assert_array_equal(simulation.reset(rotor.States(names, states.of(names))), first)


def test_sensitivities_look_at_what_they_are_given():
    place = ["plant.payload.mass_kg"]
    for wrong in ({"quad7": None}, [3]):
        with pytest.raises(ConfigError, match=r"plans: must name \['payload'\]"):
            rotor.sensitivities("collision_triangular", place, plans=wrong)
    found = rotor.sensitivities(
        "collision_triangular", (p for p in place), duration=np.float32(0.25)
    )
    assert found.parameters == tuple(place)


def shipped_file(name: str) -> Path:
    from rotor_core.config.catalog import locate

    return locate("scenarios", name)


def scenario_with_law(text: str, name: str):
    import re

    from rotor_core.config.loader import scenario_from_text

    changed, n = re.subn(r"controller: .*", f"controller: {{type: {name}}}", text)
    assert n == 1
    return scenario_from_text(changed)


def test_rotors_are_weakened_within_what_there_is():
    simulation = rotor.Simulation("hover")
    simulation.weaken("quad1", 3, 0.5)
    for rotor_, gain, words in (
        (0, -1.0, "0 to 2"),
        (0, float("nan"), "0 to 2"),
        (4, 0.5, "has 4 rotors"),
        (-1, 0.5, "has 4"),
    ):
        with pytest.raises(ContractError, match=words):
            simulation.weaken("quad1", rotor_, gain)
    with pytest.raises(ContractError, match="'payload' is no vehicle"):
        rotor.Simulation(TEAM).weaken("payload", 0, 0.5)


def test_pushes_are_vectors():
    simulation = rotor.Simulation("hover")
    for wrong in (1.0, [1.0, 1.0], [np.nan, 0.0, 0.0]):
        with pytest.raises(ContractError, match="push: force"):
            simulation.push("quad1", wrong, np.zeros(3))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: load_scenario("hover", seed=-1), "seed: must be a whole number >= 0"),
        (lambda: load_scenario("hover", seed="a"), "seed: must be a whole number >= 0"),
        (lambda: load_scenario("hover", pacing="quick"), "pacing: must be realtime or lockstep"),
        (lambda: rotor.Simulation("hover", seed=1.5), "seed: must be a whole number >= 0"),
        (lambda: rotor.fly(None), "must be a Scenario, or the name or path of one, got NoneType"),
        (lambda: rotor.fly("hover", duration="3"), "duration: must be a number > 0 s, got '3'"),
        (lambda: rotor.fly("hover", plans={"quad1": 3}), "plans: 'quad1' must be a Plan, got int"),
        (
            lambda: rotor.Study("hover", {"plant.quad1.mass_kg": 0.07}, ["rmse_mm"]).run(2),
            "must vary as rotor.normal",
        ),
        (lambda: rotor.Study("hover", {}, ["rmse_mm"]).run("4"), "flights must be a whole number"),
        (
            lambda: rotor.Study("hover", {}, ["rmse_mm"]).run(2, workers=-1),
            "workers must be a whole number",
        ),
        (
            lambda: rotor.CompareOptions(align="rigidd"),
            "align: must be one of rigid, yaw, translation, none",
        ),
        (lambda: rotor.CompareOptions(offset=float("nan")), "offset: must be a finite number"),
        (lambda: rotor.CompareOptions(bodies=["quad1"]), "bodies: must be a dictionary"),
        (lambda: load_scenario("hover").changed(3, 1.0), "changed: a place is a text"),
        (lambda: rotor.normal(1.0, -1.0), "normal: the deviation must be > 0"),
        (lambda: rotor.uniform(2.0, 1.0), "uniform: needs finite low < high"),
        (lambda: rotor.choice(), "choice: needs at least one number"),
        (
            lambda: load_scenario("four_dragonflies_box").changed(
                "changes", [{"at_s": 1.0, "release": "payload"}]
            ),
            r"changes\[0\].release: nothing holds 'payload', it hangs on cable 1, 2, 3, 4",
        ),
    ],
)
def test_mistakes_in_calls_are_said(call, words):
    with pytest.raises(ConfigError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: trajectories.rotation(np.zeros(3), [0.3, 0, 0], 4.0, 1.25), "whole turns"),
        (lambda: trajectories.figure_eight(np.zeros(3), 2.0, 1.0, 4.0, 1.25), "whole turns"),
        (lambda: trajectories.hover(np.zeros(3), roll=90.0), "roll must be within half a turn"),
        (
            lambda: trajectories.waypoints(np.zeros(3), [[1.0, 0, 0]], duration=0.0),
            "duration must be > 0 s and finite, got 0.0",
        ),
        (
            lambda: trajectories.waypoints(np.zeros(3), [[1.0, 0, 0]], duration=np.nan),
            "duration must be > 0 s and finite, got nan",
        ),
        (
            lambda: rotor.fly("hover", duration=0.1).gradient("rmse", ["plant.quad1.mass_kg"]),
            "cost must be a function of a Flight",
        ),
    ],
)
def test_mistakes_in_plans_and_costs_are_said(call, words):
    with pytest.raises(ContractError, match=words):
        call()


def test_a_copy_of_a_simulation_is_a_world_of_its_own():
    simulation = rotor.Simulation(TEAM)
    simulation.step(np.zeros((3, 4)))
    for copied in (copy.copy(simulation), copy.deepcopy(simulation)):
        before = simulation.state.array.copy()
        copied.step(np.zeros((3, 4)))
        np.testing.assert_array_equal(simulation.state.array, before)
        assert copied.time > simulation.time
        other = copy.copy(simulation)
        other.step(np.zeros((3, 4)))
        np.testing.assert_array_equal(other.state.array, copied.state.array)


def test_what_is_not_installed_is_said_before_anything_flies(monkeypatch):
    """At once, and without the traceback of an import."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"needs the package pyarrow, .*studies") as caught:
        rotor.Study("hover", {}, ["rmse_mm"])
    assert caught.value.__suppress_context__


def test_paths_and_numbers_of_numpy_are_what_they_are():
    path = Path("hover")
    assert tuple(rotor.Simulation(path).names) == rotor.initial_states(path).names
    assert (
        rotor.load_scenario("hover")
        .changed("plant.quad1.mass_kg", np.float32(0.5))
        .plant[0]
        .mass_kg
        == 0.5
    )
    np.testing.assert_array_equal(
        rotor.fly(path, duration=0.1).states, rotor.fly("hover", duration=0.1).states
    )
    simulation, other = rotor.Simulation("hover"), rotor.Simulation("hover")
    simulation.step([[0.5, 0.0, 0.0, 0.0]])
    other.step(np.array([[0.5, 0.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(simulation.state.array, other.state.array)


def test_what_was_flown_and_simulated_is_asked_for_what_there_is():
    """These were errors of NumPy, or values that nobody meant."""
    simulation = rotor.Simulation("hover")
    with pytest.raises(ContractError, match="the gain must be 0 to 2, got 'x'"):
        simulation.weaken("quad1", 0, "x")
    for wrong in (np.array([[10, 0, 0, None]], object), np.array([[10.0 + 1j, 0, 0, 0]])):
        with pytest.raises(ContractError, match=r"wrenches(\[0\]\[3\])?: must be (numbers|finite)"):
            simulation.act(wrong)
    with pytest.raises(ContractError, match="efforts: must have the shape"):
        simulation.act(np.zeros((1, 4)), 1.0)
    flight = rotor.fly("hover", duration=0.1)
    for team in (3, -1, "x"):
        with pytest.raises(ContractError, match="team: must be 0 to 0"):
            flight.position_error(team)


def test_where_a_law_of_somebody_else_fails_is_said():
    """Its traceback says what, not in which flight, nor when; an infinite thrust was flown as the largest."""
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Gains:
        thrust_n: float = 2.0

    @rotor.control_law("test_fails", gains=Gains)
    def fails(state, reference, vehicle, gains):
        if state.position[2] < -0.1:
            raise ZeroDivisionError("gain of zero")
        return rotor.Wrench(gains.thrust_n, np.zeros(3))

    @rotor.control_law("test_endless", gains=Gains)
    def endless(state, reference, vehicle, gains):
        return rotor.Wrench(np.inf, np.zeros(3))

    text = Path(shipped_file("hover")).read_text()
    with pytest.raises(ZeroDivisionError) as caught:
        rotor.fly(scenario_with_law(text, "test_fails"))
    # 0.25 kg fall by 0.1 m under 2 N in 0.332 s; the next command is one of 5 ms
    if hasattr(BaseException, "add_note"):  # since Python 3.11
        assert "'scenario', 0.335 s after its start" in caught.value.__notes__[0]
    with pytest.raises(ContractError, match="thrust and moment must be finite"):
        rotor.fly(scenario_with_law(text, "test_endless"))


# --- what is handed over, and what comes back ------------------------------------------------------


def test_what_a_simulation_returns_does_not_change_later():
    """A list of what steps returned held the last instant as often as there were steps."""
    simulation = Simulation("hover")
    start = simulation.reset()
    kept = start.copy()
    log = [simulation.step(np.array([[4.0, 0.0, 0.0, 0.0]]))[0, 2] for _ in range(3)]
    rows = [simulation.step(np.array([[4.0, 0.0, 0.0, 0.0]]))[0, :3] for _ in range(3)]
    assert log[0] < log[1] < log[2]
    assert rows[0][2] < rows[1][2] < rows[2][2]
    np.testing.assert_array_equal(start, kept)


def test_a_refused_reset_leaves_a_world_that_goes_on():
    """It kept the state that it had refused, and the next step ended in an error of the solver."""
    simulation = Simulation(TEAM)
    begin = simulation.motion.copy()
    far = begin[:, :13].copy()
    far[0, 0] += 5.0  # its cable is a metre long
    simulation.step()
    with pytest.raises(RotorError, match="cable"):
        simulation.reset(far)
    np.testing.assert_array_equal(simulation.motion, begin)
    simulation.step()


def test_what_was_handed_over_may_be_used_again():
    """A push and a plan kept the arrays of their caller, and changed with them."""
    simulation = Simulation("hover")
    force = np.array([0.0, 0.0, 1.0])
    simulation.push("quad1", force, np.zeros(3))
    force[:] = 1e6
    (pushed, _), *_ = simulation.externals.values()
    np.testing.assert_array_equal(pushed, [0.0, 0.0, 1.0])
    coefficients = np.zeros((1, 7, 2))
    plan = Plan(np.ones(1), coefficients)
    coefficients[:] = 9.0
    np.testing.assert_array_equal(plan.sample(0.5)[:3], 0.0)


def test_a_refused_command_leaves_the_old_one():
    """Efforts were looked at when thrusts had been taken up."""
    simulation = Simulation("arm_coupled")
    weight = np.array([[20.0, 0.0, 0.0, 0.0]])
    simulation.act(weight, np.zeros(2))
    before = simulation.applied.copy()
    for efforts in (np.zeros(3), [np.nan, 0.0], ["a", 0.0]):
        with pytest.raises(ContractError, match="efforts"):
            simulation.act(2.0 * weight, efforts)
        simulation.step()
        np.testing.assert_array_equal(simulation.applied, before)


def test_a_reference_after_motors_off_is_flown():
    scenario = load_scenario("hover")
    simulation, controller = Simulation(scenario), rotor.make_controller(scenario)
    there = simulation.state["quad1"].position
    on = controller(simulation.sense(), hold(there).at(0.0))["quad1"].thrust
    off = controller(simulation.sense(), replace(hold(there), motors=False).at(0.0))["quad1"].thrust
    bare = Reference(hold(there).at(0.0).array)
    assert off == 0.0 and on > 1.0
    assert controller(simulation.sense(), bare)["quad1"].thrust == pytest.approx(on)


def test_laws_with_a_clock_hear_the_time_of_a_loop_of_ones_own():
    scenario = load_scenario("hover")
    controller = rotor.make_controller(scenario)
    clock = SimpleNamespace(time=-1.0)
    controller._clocks = [clock]
    simulation = Simulation(scenario)
    heard = []
    for _ in range(3):
        controller(simulation.sense(), hold(np.zeros(3)).at(0.0))
        heard.append(clock.time)
    np.testing.assert_allclose(heard, scenario.time.control_s * np.arange(3))


def test_laws_that_would_let_an_arm_hang_are_refused():
    with pytest.raises(ConfigError, match="needs manipulator"):
        rotor.make_controller(
            replace(load_scenario(ARM), controller=load_scenario("delivery").controller)
        )


def test_parts_of_flights():
    flight = fly(load_scenario("hover"), duration=1.0)
    with pytest.raises(ContractError, match="none of its rows"):
        flight.at(flight.elapsed > 100.0)
    with pytest.raises(ContractError, match="a part"):
        flight.at(flight.elapsed > 0.5).gradient(
            lambda f: f.states[-1, 0, 2], ["plant.quad1.mass_kg"]
        )


def test_studies_take_numbers_of_numpy(tmp_path):
    pytest.importorskip("pyarrow")
    vary = {"plant.quad1.mass_kg": rotor.uniform(np.float64(0.9), np.float32(1.0))}
    study = rotor.Study("hover", vary, np.array(["position_rmse_m"]), seed=np.int64(1), options={"duration_s": np.float64(0.1)})  # fmt: skip
    assert len(study.run(np.int64(2), out=tmp_path / "s", workers=0).table) == 2
    for bad in (
        lambda: rotor.normal("a", 1),
        lambda: rotor.normal(np.nan, 1),
        lambda: rotor.choice([1, 2]),
    ):
        with pytest.raises(ConfigError, match="finite numbers"):
            bad()
