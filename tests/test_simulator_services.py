"""The simulator as a managed node: lifecycle, play, pause, step, reset, set state, and simulation_interfaces."""

import importlib.util
import os
import subprocess
import sys
import time as wall
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from lifecycle_msgs.msg import State as LifecycleState
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from rotor_msgs.msg import BodyState, TeamCommand, TeamState
from rotor_msgs.srv import SetState, Step
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from rotor.verbs.put import state_at
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import dump_scenario, load_scenario
from rotor_core.messages.convert import seconds_from_stamp, state_from_body
from rotor_core.ros import qos
from rotor_recordings.formats.bag_flights import read_flight
from rotor_sim.ros.session import BEHIND, Session

DEEP = QoSProfile(depth=1000)
STANDARD = pytest.mark.skipif(
    importlib.util.find_spec("simulation_interfaces") is None,
    reason="simulation_interfaces is not installed",
)


def lifecycle(bench, transition):
    request = ChangeState.Request()
    request.transition.id = transition
    return bench.call(ChangeState, "/simulator/change_state", request).success


def lifecycle_state(bench):
    return bench.call(GetState, "/simulator/get_state", GetState.Request()).current_state.id


def parameter(name, value):
    kinds = {
        str: ("string_value", ParameterType.PARAMETER_STRING),
        float: ("double_value", ParameterType.PARAMETER_DOUBLE),
    }
    field, kind = kinds[type(value)]
    return Parameter(name=name, value=ParameterValue(type=kind, **{field: value}))


def set_parameter(bench, node, name, value):
    request = SetParameters.Request(parameters=[parameter(name, value)])
    return bench.call(SetParameters, f"/{node}/set_parameters", request).results[0]


def trigger(bench, name):
    return bench.call(Trigger, f"/simulator/{name}", Trigger.Request())


def team(bench, scenario, *, start_trajectory=True, **parameters):
    """All three nodes, and what is heard of the states."""
    states = bench.collect(TeamState, "/rotor/team_state", DEEP)
    bench.start("simulator", scenario=scenario, **parameters)
    bench.start("planner", scenario=scenario, start_trajectory=start_trajectory)
    bench.start("controller", scenario=scenario)
    bench.until(lambda: bool(states), "first state")
    return states


def test_lifecycle(tmp_path):
    """Configure, activate, stand, drop, again with another scenario: topics come and go with the world."""
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", DEEP)
        bench.start("simulator", scenario="no_such", autostart=False, wait_for_commands=False)
        assert lifecycle_state(bench) == LifecycleState.PRIMARY_STATE_UNCONFIGURED
        assert bench.node.count_publishers("/clock") == 0
        assert not lifecycle(bench, Transition.TRANSITION_CONFIGURE)  # and says why
        log = tmp_path / "log" / "simulator.log"
        bench.until(lambda: "'no_such': no shipped scenario" in log.read_text(), "the reason")
        assert set_parameter(bench, "simulator", "scenario", "hover").successful
        assert lifecycle(bench, Transition.TRANSITION_CONFIGURE)
        bench.until(lambda: bench.node.count_publishers("/clock") == 1, "topics")
        refused = set_parameter(bench, "simulator", "scenario", "slalom")
        assert not refused.successful and "clean up first" in refused.reason
        assert not states
        assert lifecycle(bench, Transition.TRANSITION_ACTIVATE)
        bench.until(lambda: len(states) > 20, "states")
        assert lifecycle(bench, Transition.TRANSITION_DEACTIVATE)
        bench.until_silent(states)
        n = len(states)
        assert lifecycle(bench, Transition.TRANSITION_ACTIVATE)
        bench.until(lambda: states[-1].step > states[n - 1].step + 10, "going on where it stood")
        assert lifecycle(bench, Transition.TRANSITION_DEACTIVATE)
        assert lifecycle(bench, Transition.TRANSITION_CLEANUP)
        bench.until(lambda: bench.node.count_publishers("/rotor/team_state") == 0, "topics gone")
        assert set_parameter(bench, "simulator", "scenario", "two_dragonflies_bar").successful
        assert lifecycle(bench, Transition.TRANSITION_CONFIGURE)
        assert lifecycle(bench, Transition.TRANSITION_ACTIVATE)
        bench.until(lambda: len(states[-1].bodies) == 3 and states[-1].step > 5, "the other world")
        assert lifecycle(bench, Transition.TRANSITION_ACTIVE_SHUTDOWN)
        bench.until(lambda: not bench.group.children["simulator"].running, "the end")
        assert bench.group.children["simulator"].process.returncode == 0


def test_what_rclpy_cannot_answer_is_refused(tmp_path):
    """Transitions that the state does not have, and parameters of no type, end no node."""
    with graph.bench(tmp_path) as bench:
        states = team(bench, "hover")
        for transition in (Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_CONFIGURE, 99):
            assert not lifecycle(bench, transition)
        nonsense = Parameter(name="seed", value=ParameterValue(type=255))
        for node in ("simulator", "controller", "planner"):
            request = SetParameters.Request(parameters=[nonsense])
            assert not bench.call(SetParameters, f"/{node}/set_parameters", request).results
        step = states[-1].step
        bench.until(lambda: states[-1].step > step + 50, "flight")


def test_odometry_and_tf_of_a_pause_have_one_stamp(tmp_path):
    """A look-up at the stamp of odometry that is repeated while time stands succeeds, wherever it stands."""
    with graph.bench(tmp_path) as bench:
        odometry = bench.collect(Odometry, "/quad1/odom", qos.STATE)
        transforms = bench.collect(TFMessage, "/tf", DEEP)
        states = team(bench, "hover", paused=True)
        parities = set()
        while parities != {0, 1}:  # TF is due every second control period
            assert trigger(bench, "play").success
            bench.spin(0.1)
            assert trigger(bench, "pause").success
            parities.add(bench.standing(states).step % 2)
            odometry.clear()
            bench.until(lambda: odometry, "odometry while time stands")
            at = odometry[-1].header.stamp
            bench.until(
                lambda at=at: transforms[-1].transforms[0].header.stamp == at, "TF of that instant"
            )
        count = len(transforms)
        bench.spin(1.0)
        assert len(transforms) == count  # once: listeners would call more of the same redundant


def test_play_pause_step_stop(tmp_path):
    with graph.bench(tmp_path) as bench:
        clocks = bench.collect(Clock, "/clock", DEEP)
        odometry = bench.collect(Odometry, "/quad1/odom", DEEP)
        states = team(bench, "hover", paused=True)
        bench.until(lambda: len(states) > 5, "standing states")
        assert {s.step for s in states} == {0} and {
            seconds_from_stamp(c.clock) for c in clocks
        } == {1.0}
        assert "paused already" in trigger(bench, "pause").message
        # steps: done when the answer comes, the clock and the odometry of every step are out
        before = len(clocks)
        answer = bench.call(Step, "/simulator/step", Step.Request(steps=7))
        assert answer.success and seconds_from_stamp(answer.time) == pytest.approx(1.035, abs=1e-9)

        def heard():
            return {round(seconds_from_stamp(c.clock), 6) for c in clocks[before:]}

        bench.until(
            lambda: {1.004, 1.008, 1.012, 1.032, 1.035} <= heard(), "the clock of the steps"
        )
        bench.until(
            lambda: any(abs(seconds_from_stamp(o.header.stamp) - 1.035) < 1e-9 for o in odometry),
            "odometry of the last step",
        )
        bench.until(lambda: states[-1].step == 7, "the state of the last step")
        assert bench.standing(states).step == 7
        refused = bench.call(Step, "/simulator/step", Step.Request(steps=0))
        assert not refused.success and "at least 1" in refused.message
        assert trigger(bench, "play").success
        bench.until(lambda: states[-1].step > 60, "playing")
        refused = bench.call(Step, "/simulator/step", Step.Request(steps=1))
        assert not refused.success and "needs a paused simulation; it is playing" in refused.message
        assert trigger(bench, "pause").success
        step = bench.standing(states).step
        bench.spin(0.4)
        assert states[-1].step == step
        assert trigger(bench, "stop").success  # resets and waits
        bench.until(lambda: states[-1].epoch == 1, "the reset")
        bench.spin(0.3)
        assert states[-1].step == 0
        assert trigger(bench, "play").success
        bench.until(lambda: states[-1].epoch == 1 and states[-1].step > 20, "playing again")


def test_a_world_dropped_and_made_again_is_flown(tmp_path):
    """Controller and planner live on through reset, clean-up and configure: a new epoch each time."""
    with graph.bench(tmp_path) as bench:
        states = team(bench, "hover")
        bench.until(lambda: states[-1].step > 30, "flight")
        assert trigger(bench, "reset").success
        bench.until(lambda: states[-1].epoch == 1 and states[-1].step > 30, "flight")
        assert lifecycle(bench, Transition.TRANSITION_DEACTIVATE)
        assert lifecycle(bench, Transition.TRANSITION_CLEANUP)
        assert lifecycle(bench, Transition.TRANSITION_CONFIGURE)
        assert lifecycle(bench, Transition.TRANSITION_ACTIVATE)
        bench.until(lambda: states[-1].epoch == 2 and states[-1].step > 30, "the new world")


def test_another_scenario_by_its_life_is_followed(tmp_path):
    """Controller and planner stayed in the old world, and flew a vehicle of the same name by its gains."""
    with graph.bench(tmp_path) as bench:
        states = team(bench, "hover")
        bench.until(lambda: states[-1].step > 30, "flight")
        for name in ("quadrotor_circle", "hover"):
            assert lifecycle(bench, Transition.TRANSITION_DEACTIVATE)
            assert lifecycle(bench, Transition.TRANSITION_CLEANUP)
            assert set_parameter(bench, "simulator", "scenario", name).successful
            assert lifecycle(bench, Transition.TRANSITION_CONFIGURE)
            before = states[-1].epoch
            assert lifecycle(bench, Transition.TRANSITION_ACTIVATE)
            bench.until(
                lambda before=before: states[-1].epoch > before and states[-1].step > 600,
                f"flight of {name}",
                patience=60.0,
            )
            initial = initial_states(load_scenario(name))[0]
            position = states[-1].bodies[0].pose.position
            assert abs(position.z - initial[2]) < 0.1, position
            away = np.hypot(position.x - initial[0], position.y - initial[1])
            assert (away > 0.05) == (name == "quadrotor_circle"), position


def test_put_elsewhere_before_the_start(tmp_path):
    """Stop, set state, play: the plan begins where the vehicle was put, and an old push is over."""
    from geometry_msgs.msg import WrenchStamped

    with graph.bench(tmp_path) as bench:
        push = bench.node.create_publisher(WrenchStamped, "/quad1/wrench_external", qos.COMMAND)
        states = team(bench, "hover")
        bench.until(lambda: push.get_subscription_count() > 0 and states[-1].step > 30, "flight")
        message = WrenchStamped()
        message.wrench.force.x = 0.5
        push.publish(message)
        bench.until(lambda: states[-1].bodies[0].twist.linear.x > 0.05, "the push")
        assert trigger(bench, "stop").success
        body = BodyState(name="quad1")
        body.pose.position.x, body.pose.position.z, body.pose.orientation.w = 3.0, 1.0, 1.0
        assert bench.call(SetState, "/simulator/set_state", SetState.Request(bodies=[body])).success
        assert trigger(bench, "play").success
        # what was sent before the stop may still arrive: it shows the vehicle where it had been
        bench.until(
            lambda: states[-1].bodies[0].pose.position.x > 2.0 and states[-1].step > 150, "flight"
        )
        p = states[-1].bodies[0].pose.position
        assert (p.x, p.y, p.z) == pytest.approx((3.0, 0.0, 1.0), abs=0.01)


@pytest.mark.parametrize("waits", [False, True])
def test_stepping_without_a_controller_gives_up(tmp_path, waits):
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", DEEP)
        bench.start("simulator", scenario="hover", paused=True, wait_for_commands=waits)
        bench.until(lambda: bool(states), "state")
        answer = bench.call(Step, "/simulator/step", Step.Request(steps=3))
        assert not answer.success and "no command for step 0 within 2 s" in answer.message
        if not waits:
            assert trigger(bench, "play").success  # and it is not stuck: without waiting it falls
            bench.until(lambda: states[-1].bodies[0].pose.position.z < -0.5, "fall")


def test_steps_are_answered_where_they_end_early(tmp_path):
    """While a recorder is waited for, and at the second end of a flight that lingers."""
    with graph.bench(tmp_path) as bench:
        states = team(
            bench, "hover", paused=True, wait_for_recorder=True, linger=True, duration_s=0.1
        )
        commands = bench.collect(TeamCommand, "/rotor/team_command", qos.TEAM)
        bench.until(lambda: bool(commands), "a controller that answers")

        def steps():
            return bench.call(Step, "/simulator/step", Step.Request(steps=100))

        held = steps()
        assert not held.success and "waits for the recorder" in held.message
        recorder = bench.node.create_publisher(Bool, "/rotor/recording", qos.LATCHED)
        recorder.publish(Bool(data=True))
        bench.until(lambda: recorder.get_subscription_count() > 0, "the simulator hears it")
        bench.spin(0.5)
        for _ in range(2):
            over = steps()
            assert not over.success and "duration is over" in over.message
            bench.until(lambda: states[-1].step == 19, "the last state that is answered")
            assert trigger(bench, "reset").success
            bench.until(lambda: states[-1].step == 0, "the start")


def test_parameters_change_together_or_not_at_all(tmp_path):
    with graph.bench(tmp_path) as bench:
        team(bench, "hover")
        request = SetParametersAtomically.Request(
            parameters=[
                parameter("real_time_factor", 5.0),
                parameter("pacing", "lockstep"),
            ]
        )
        name = "/simulator/set_parameters_atomically"
        answer = bench.call(SetParametersAtomically, name, request)
        assert not answer.result.successful and "configure" in answer.result.reason
        seen = []
        bench.node.create_subscription(Clock, "/clock", lambda m: seen.append(m), DEEP)
        bench.spin(0.5)
        seen.clear()
        begin = wall.monotonic()
        bench.spin(2.0)
        flown = seconds_from_stamp(seen[-1].clock) - seconds_from_stamp(seen[0].clock)
        # 5 would be asked for; a machine that is late makes it less, and one above 1 by what waited in the queue
        assert flown < 2.0 * (wall.monotonic() - begin)


def test_commands_that_wait_behind_other_messages_are_heard():
    """A simulator that is always late takes as much of its queue as brings newer commands."""

    class Executor:
        def __init__(self, queue):
            self.queue, self.taken = queue, 0

        def spin_once(self, timeout_sec):
            assert timeout_sec == 0.0
            self.taken += 1
            if self.queue and (step := self.queue.pop(0)) is not None:
                intake.lag = 1000 - step

    intake = SimpleNamespace(lag=100)
    session = SimpleNamespace(vehicles=["one"], _intake=intake)
    executor = Executor([s for step in range(901, 1000) for s in (None, step)])
    Session._hear(session, executor)  # type: ignore[arg-type]
    assert intake.lag <= BEHIND
    quick = Executor([None])
    Session._hear(session, quick)  # type: ignore[arg-type]
    assert quick.taken == 1
    intake.lag = 50  # nobody answers any more
    silent = Executor([])
    Session._hear(session, silent)  # type: ignore[arg-type]
    assert silent.taken == 1 + 2 * BEHIND


def test_dropping_the_world_answers_who_still_waits(tmp_path):
    """Clean-up while steps are under way, by service and by action: an answer, no crash, and a new world afterwards."""
    with graph.bench(tmp_path) as bench:
        states = team(bench, "hover", paused=True)
        client = bench.node.create_client(Step, "/simulator/step")
        bench.until(client.service_is_ready, "service")
        assert trigger(bench, "pause").success
        bench.spin(0.5)
        for _ in range(2):
            future = client.call_async(Step.Request(steps=1_000_000))
            step = states[-1].step
            bench.until(lambda step=step: states[-1].step > step + 10, "stepping")
            assert lifecycle(bench, Transition.TRANSITION_DEACTIVATE)
            assert lifecycle(bench, Transition.TRANSITION_CLEANUP)
            bench.until(future.done, "answer")
            assert not future.result().success and "deactivated" in future.result().message
            assert lifecycle(bench, Transition.TRANSITION_CONFIGURE)
            assert lifecycle(bench, Transition.TRANSITION_ACTIVATE)
            bench.until(lambda: states[-1].step == 0, "the new world")
            bench.until(client.service_is_ready, "service")
        if importlib.util.find_spec("simulation_interfaces") is None:
            return
        from rclpy.action import ActionClient
        from simulation_interfaces.action import SimulateSteps

        action = ActionClient(bench.node, SimulateSteps, "/simulator/simulate_steps")
        bench.until(action.server_is_ready, "action server")
        action.send_goal_async(SimulateSteps.Goal(steps=1_000_000))
        bench.until(lambda: states[-1].step > 10, "stepping")
        assert lifecycle(bench, Transition.TRANSITION_DEACTIVATE)
        assert lifecycle(bench, Transition.TRANSITION_CLEANUP)
        bench.spin(0.5)
        assert lifecycle(bench, Transition.TRANSITION_CONFIGURE)
        assert bench.group.children["simulator"].running


def test_set_state(tmp_path):
    """Refused with the violated constraint while it is not projected; afterwards a new epoch, and it flies on from there."""
    with graph.bench(tmp_path) as bench:
        transforms = bench.collect(TFMessage, "/tf", DEEP)
        states = team(bench, "three_dragonflies_triangular_1m", start_trajectory=False)
        bench.until(lambda: states[-1].step > 30 and transforms, "flight")
        payload = BodyState(name="payload")
        payload.pose.orientation.w = 1.0
        payload.pose.position.z = -0.6
        request = SetState.Request(bodies=[payload])
        answer = bench.call(SetState, "/simulator/set_state", request)
        assert (
            not answer.success
            and "pause or stop the simulation first; it is playing" in answer.message
        )
        assert trigger(bench, "pause").success
        answer = bench.call(SetState, "/simulator/set_state", request)
        assert not answer.success and "cable1: the points it joins are" in answer.message
        request.project = True
        bench.spin(0.3)
        old = transforms[-1].transforms[3].header.stamp
        answer = bench.call(SetState, "/simulator/set_state", request)
        assert answer.success and 0.1 < answer.largest_shift < 0.6
        bench.until(lambda: states[-1].epoch == 1, "the new epoch")
        placed = states[-1]

        def shown():  # with a newer stamp, or TF would ignore it
            t = transforms[-1].transforms[3]
            new = seconds_from_stamp(t.header.stamp) > seconds_from_stamp(old)
            return new and t.transform.translation.z == placed.bodies[3].pose.position.z

        bench.until(shown, "TF of the new state")
        assert all(c.distance <= c.rest_length + 1e-9 for c in placed.cables)
        broken = BodyState(name="payload")
        broken.pose.position.x = float("nan")
        broken.pose.orientation.w = 1.0
        answer = bench.call(SetState, "/simulator/set_state", SetState.Request(bodies=[broken]))
        assert (
            not answer.success
            and "state of 'payload'[0]: must be finite, got nan" in answer.message
        )
        twice = bench.call(SetState, "/simulator/set_state", SetState.Request(bodies=[payload] * 2))
        assert not twice.success and twice.message == "bodies: payload: given twice"
        unknown = SetState.Request(bodies=[BodyState(name="parcel")])
        assert "no entity 'parcel'" in bench.call(SetState, "/simulator/set_state", unknown).message
        assert trigger(bench, "play").success
        bench.until(lambda: states[-1].step > placed.step + 200, "flying on")
        assert abs(states[-1].bodies[3].pose.position.z - placed.bodies[3].pose.position.z) < 0.3


def test_use_sim_time_given_by_mistake(tmp_path):
    """The one who makes /clock does not wait for it."""
    with graph.bench(tmp_path) as bench:
        states = team(bench, "hover", use_sim_time=True)
        bench.until(lambda: states[-1].step > 150, "flight", 15.0)


def test_the_real_time_factor_changes_while_it_runs(tmp_path):
    import time

    with graph.bench(tmp_path) as bench:
        states = team(bench, "hover")
        bench.until(lambda: states[-1].step > 20, "flight")

        def speed(factor):
            """Mean since it was asked for: what got no core for a while catches up."""
            began, step = time.monotonic(), states[-1].step
            assert set_parameter(bench, "simulator", "real_time_factor", factor).successful
            bench.spin(2.0)
            return (states[-1].step - step) * 0.005 / (time.monotonic() - began)

        # never faster than asked for, however busy the machine; and faster than before where asked for
        speed(0.1)  # reads the states of the time before
        assert speed(0.1) < 0.15
        assert 0.15 < speed(1.0) < 1.15
        # from a period that would last a minute
        assert set_parameter(bench, "simulator", "real_time_factor", 0.0001).successful
        bench.spin(1.0)
        assert set_parameter(bench, "simulator", "real_time_factor", 1.0).successful
        step = states[-1].step
        bench.until(lambda: states[-1].step > step + 20, "time that goes on")
        refused = set_parameter(bench, "simulator", "real_time_factor", 1000.0)
        assert not refused.successful and "out of range" in refused.reason


def test_gains_are_live_and_ranged(tmp_path):
    """Too little position gain lets a push carry the vehicle away; set back, it returns."""
    from geometry_msgs.msg import WrenchStamped

    with graph.bench(tmp_path) as bench:
        states = team(bench, "hover")
        bench.until(lambda: states[-1].step > 20, "flight")
        name = "quad1.position_per_s2.x"
        described = bench.call(
            DescribeParameters,
            "/controller/describe_parameters",
            DescribeParameters.Request(names=[name]),
        ).descriptors[0]
        (limits,) = described.floating_point_range
        value = bench.call(
            GetParameters, "/controller/get_parameters", GetParameters.Request(names=[name])
        ).values[0]
        gain = load_scenario("hover").model.vehicles[0].gains.position_per_s2[0]
        assert value.double_value == gain and (limits.from_value, limits.to_value) == (
            0.0,
            10.0 * gain,
        )
        assert not set_parameter(bench, "controller", name, -1.0).successful
        assert not set_parameter(bench, "controller", name, float("nan")).successful
        push = bench.node.create_publisher(WrenchStamped, "/quad1/wrench_external", qos.COMMAND)
        message = WrenchStamped()
        message.header.frame_id = "world"
        message.wrench.force.x = 0.25 * 0.3 * gain  # rests 0.3 m off with the usual gain
        bench.node.create_timer(0.1, lambda: push.publish(message))

        def rests(at):
            """For a second of the world it has been nowhere else."""
            seen = [s.bodies[0].pose.position.x for s in states[-200:]]
            return len(seen) == 200 and np.abs(np.array(seen) - at).max() < 0.02

        bench.until(lambda: rests(0.3), "a place 0.3 m off")
        assert set_parameter(bench, "controller", name, 3.0 * gain).successful
        bench.until(lambda: rests(0.1), "a place a third as far")


def test_motor_speeds_as_commands(tmp_path):
    """command_input: motor_speed: hover speed lifts nothing and lets nothing fall; nonsense is refused."""
    actuator_msgs = pytest.importorskip(
        "actuator_msgs.msg", reason="actuator_msgs is not installed"
    )
    from dataclasses import replace

    scenario = replace(load_scenario("hover"), command_input="motor_speed")
    path = tmp_path / "motors.yaml"
    path.write_text(dump_scenario(scenario))
    from rotor_core.vehicles.rotors import rotor_set

    vehicle = scenario.model.vehicles[0]
    hover = rotor_set(vehicle.rotors).speeds(np.array([vehicle.mass_kg * 9.81, 0.0, 0.0, 0.0]))
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", DEEP)
        sensor = QoSProfile(depth=10, reliability=qos.SENSOR.reliability)
        speeds = bench.collect(actuator_msgs.Actuators, "/quad1/motor_speed", sensor)
        publisher = bench.node.create_publisher(
            actuator_msgs.Actuators, "/quad1/cmd/motor_speed", qos.COMMAND
        )
        message = actuator_msgs.Actuators(velocity=hover.tolist())
        bench.node.create_timer(0.01, lambda: publisher.publish(message))
        bench.start("simulator", scenario=str(path))

        def is_steady() -> bool:  # a command that came late has cost some height
            climbs = [s.bodies[0].twist.linear.z for s in states[-50:]]
            return len(climbs) == 50 and np.ptp(climbs) < 1e-9

        bench.until(is_steady, "a thrust that is the weight")
        assert list(speeds[-1].velocity) == pytest.approx(hover, rel=1e-9)
        message.velocity = [1.0, 2.0, 3.0]
        log = tmp_path / "log" / "simulator.log"
        bench.until(lambda: "velocity must hold 4 finite speeds" in log.read_text(), "refusal")


# --- simulation_interfaces -------------------------------------------------------------------------


@STANDARD
def test_standard_services(tmp_path):
    from simulation_interfaces.msg import EntityCategory, SimulationState, SimulatorFeatures
    from simulation_interfaces.msg import Result as R
    from simulation_interfaces.srv import (
        GetEntities,
        GetEntitiesStates,
        GetEntityInfo,
        GetEntityState,
        GetSimulationState,
        GetSimulatorFeatures,
        ResetSimulation,
        SetEntityState,
        SetSimulationState,
        StepSimulation,
    )

    with graph.bench(tmp_path) as bench:
        clocks = bench.collect(Clock, "/clock", DEEP)
        states = team(bench, "three_dragonflies_triangular_1m", paused=True)

        def call(kind, name, **fields):
            request = kind.Request()
            for key, value in fields.items():
                target = request
                *path, last = key.split("__")
                for part in path:
                    target = getattr(target, part)
                setattr(target, last, value)
            return bench.call(kind, f"/simulator/{name}", request)

        def change(state):
            return call(SetSimulationState, "set_simulation_state", state__state=state).result

        features = call(GetSimulatorFeatures, "get_simulator_features").features
        assert SimulatorFeatures.STEP_SIMULATION_MULTIPLE in features.features
        assert (
            list(features.spawn_formats) == ["yaml", "urdf"]
            and "three_dragonflies" in features.custom_info
        )
        now = call(GetSimulationState, "get_simulation_state")
        assert now.state.state == SimulationState.STATE_PAUSED and now.result.result == R.RESULT_OK
        assert change(SimulationState.STATE_PAUSED).result == 101
        assert change(9).result == 103
        assert call(StepSimulation, "step_simulation", steps=5).result.result == R.RESULT_OK
        bench.until(lambda: states[-1].step == 5, "five steps")
        assert change(SimulationState.STATE_PLAYING).result == R.RESULT_OK
        refused = call(StepSimulation, "step_simulation", steps=1).result
        assert refused.result == R.RESULT_OPERATION_FAILED and "playing" in refused.error_message
        bench.until(lambda: states[-1].step > 100, "playing")

        names = call(GetEntities, "get_entities").entities
        assert list(names) == ["quad1", "quad2", "quad3", "payload"]
        assert list(call(GetEntities, "get_entities", filters__filter="^quad[12]$").entities) == [
            "quad1",
            "quad2",
        ]
        bad = call(GetEntities, "get_entities", filters__filter="(").result
        assert (
            bad.result == R.RESULT_OPERATION_FAILED
            and "not a regular expression" in bad.error_message
        )
        robots = [EntityCategory(category=EntityCategory.CATEGORY_ROBOT)]
        all_states = call(GetEntitiesStates, "get_entities_states", filters__categories=robots)
        assert len(all_states.states) == 3 == len(all_states.entities)
        info = call(GetEntityInfo, "get_entity_info", entity="payload").info
        assert info.category.category == EntityCategory.CATEGORY_DYNAMIC_OBJECT
        assert (
            call(GetEntityState, "get_entity_state", entity="x").result.result == R.RESULT_NOT_FOUND
        )

        here = call(GetEntityState, "get_entity_state", entity="payload").state
        playing = call(
            SetEntityState, "set_entity_state", entity="payload", state=here, set_pose=True
        )
        assert playing.result.result == R.RESULT_INCORRECT_STATE
        assert change(SimulationState.STATE_PAUSED).result == R.RESULT_OK
        here.pose.position.z += 0.1  # slack: allowed
        up = call(SetEntityState, "set_entity_state", entity="payload", state=here, set_pose=True)
        assert up.result.result == R.RESULT_OK, up.result.error_message
        got = call(GetEntityState, "get_entity_state", entity="payload").state
        assert got.pose.position.z == pytest.approx(here.pose.position.z, abs=1e-12)
        here.pose.position.z -= 1.0  # too far
        down = call(SetEntityState, "set_entity_state", entity="payload", state=here, set_pose=True)
        assert down.result.result == 101 and "cable1" in down.result.error_message
        here.header.frame_id = "moon"
        moon = call(SetEntityState, "set_entity_state", entity="payload", state=here, set_pose=True)
        assert moon.result.result == 101 and "frame must be world" in moon.result.error_message

        odd = call(ResetSimulation, "reset_simulation", scope=8)
        assert odd.result.result == R.RESULT_FEATURE_UNSUPPORTED
        assert "scope 8" in odd.result.error_message

        # reset: state alone lets time go on, time alone keeps the state, both is the beginning
        t = seconds_from_stamp(states[-1].header.stamp)
        assert call(ResetSimulation, "reset_simulation", scope=2).result.result == R.RESULT_OK
        bench.until(lambda: states[-1].step == 0, "state reset")
        assert seconds_from_stamp(states[-1].header.stamp) >= t
        assert change(SimulationState.STATE_PLAYING).result == R.RESULT_OK
        bench.until(lambda: states[-1].step > 60 and states[-1].epoch >= 2, "playing")
        assert change(SimulationState.STATE_PAUSED).result == R.RESULT_OK
        z = bench.standing(states).bodies[0].pose.position
        epoch = states[-1].epoch
        assert call(ResetSimulation, "reset_simulation", scope=1).result.result == R.RESULT_OK
        bench.until(lambda: states[-1].epoch == epoch + 1, "time reset")
        assert seconds_from_stamp(states[-1].header.stamp) == 1.0
        assert states[-1].bodies[0].pose.position == z
        assert call(ResetSimulation, "reset_simulation", scope=0).result.result == R.RESULT_OK
        bench.until(lambda: states[-1].epoch == epoch + 2 and states[-1].step == 0, "all reset")
        assert seconds_from_stamp(clocks[-1].clock) == 1.0
        assert change(SimulationState.STATE_QUITTING).result == R.RESULT_OK
        bench.until(lambda: not bench.group.children["simulator"].running, "the end")
        assert bench.group.children["simulator"].process.returncode == 0


@STANDARD
def test_the_stepping_action(tmp_path):
    """Feedback after every step, cancel in the middle, refusal while it plays."""
    from rclpy.action import ActionClient
    from simulation_interfaces.action import SimulateSteps
    from simulation_interfaces.msg import Result as R

    with graph.bench(tmp_path) as bench:
        states = team(bench, "hover", paused=True)
        client = ActionClient(bench.node, SimulateSteps, "/simulator/simulate_steps")
        bench.until(client.server_is_ready, "action server")
        feedback = []

        def run(steps):
            sent = client.send_goal_async(
                SimulateSteps.Goal(steps=steps),
                feedback_callback=lambda m: feedback.append(
                    (m.feedback.completed_steps, m.feedback.remaining_steps)
                ),
            )
            bench.until(sent.done, "goal")
            return sent.result()

        goal = run(10)
        result = goal.get_result_async()
        bench.until(result.done, "result")
        assert result.result().result.result.result == R.RESULT_OK
        bench.until(lambda: states[-1].step == 10, "ten steps")
        # what was said before the subscription was known to the server is lost
        assert all(a + b == 10 and a > 0 for a, b in feedback)
        feedback.clear()
        goal = run(1_000_000)
        bench.until(lambda: len(feedback) > 5, "feedback")
        done = np.array(feedback)
        assert (done.sum(axis=1) == 1_000_000).all() and (np.diff(done[:, 0]) > 0).all()
        cancel = goal.cancel_goal_async()
        bench.until(cancel.done, "cancel")
        result = goal.get_result_async()
        bench.until(result.done, "result")
        assert "cancelled after" in result.result().result.result.error_message
        for order in (
            "pause",
            "reset",
        ):  # it asked for one step after the other, and these came in between
            feedback.clear()
            goal = run(1_000_000)
            bench.until(lambda: len(feedback) > 5, "feedback")
            refused = bench.call(Step, "/simulator/step", Step.Request(steps=1))
            assert not refused.success and "still to be done" in refused.message
            assert trigger(bench, order).success
            result = goal.get_result_async()
            bench.until(result.done, "result")
            assert "meanwhile" in result.result().result.result.error_message
            step = bench.standing(states).step
            bench.spin(0.3)
            assert states[-1].step == step
        assert trigger(bench, "play").success
        result = run(3).get_result_async()
        bench.until(result.done, "result")
        assert result.result().result.result.result == R.RESULT_OPERATION_FAILED


def test_requests_of_both_versions():
    """simulation_interfaces 1.x has no set_pose and set_twist: both count then."""
    from types import SimpleNamespace

    from geometry_msgs.msg import Pose, Twist
    from std_msgs.msg import Header

    from rotor_sim.ros.services.standard import asked_state, select_entities

    pose, twist = Pose(), Twist()
    pose.position.x, pose.orientation.z, pose.orientation.w = 3.0, 1.0, 0.0  # half a turn
    twist.angular.x = 2.0
    state = SimpleNamespace(header=Header(), pose=pose, twist=twist)
    now = np.arange(13.0)
    now[3:7] = [1.0, 0.0, 0.0, 0.0]
    old = asked_state(now, SimpleNamespace(state=state))
    assert old[0] == 3.0 and old[6] == 1.0
    np.testing.assert_allclose(old[10:13], [-2.0, 0.0, 0.0], atol=1e-12)  # world to body axes
    only_twist = asked_state(now, SimpleNamespace(state=state, set_pose=False, set_twist=True))
    assert only_twist[0] == 0.0 and only_twist[10] == 2.0
    nothing = asked_state(now, SimpleNamespace(state=state, set_pose=False, set_twist=False))
    np.testing.assert_array_equal(nothing, now)
    pose.position.y = float("inf")
    assert "must be finite" in asked_state(now, SimpleNamespace(state=state))
    assert select_entities(["quad1", "payload"], "") == ["quad1", "payload"]
    assert select_entities(["quad1", "payload"], "pay|xyz") == ["payload"]


def test_without_the_optional_packages(tmp_path):
    """A machine that has neither simulation_interfaces nor actuator_msgs: plain services, no motor speeds, no complaint."""
    with graph.bench(tmp_path, without=("simulation_interfaces", "actuator_msgs")) as bench:
        states = team(bench, "hover")
        bench.until(lambda: states[-1].step > 20, "flight")
        bench.until(lambda: "/simulator/cut_cable" in bench.services(), "services")
        assert "/simulator/step_simulation" not in bench.services()
        assert bench.node.count_publishers("/quad1/motor_speed") == 0
        bench.until(lambda: bench.node.count_publishers("/quad1/imu") == 1, "what is there")


def test_put_into_a_recorded_state(tmp_path):
    """`./rotor put` brings a running simulator where a recording was; wrong times and silence are one line."""
    words = [sys.executable, "-m", "rotor.cli"]
    with graph.bench(tmp_path) as bench:
        env = {**os.environ, "ROS_DOMAIN_ID": str(bench.node.context.get_domain_id())}
        folder = tmp_path / "demo"
        lockstep = ["--pacing", "lockstep", "--duration", "2", "--out", str(folder)]
        subprocess.run([*words, "demo", "slalom", *lockstep], env=env, check=True, timeout=120)
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        bench.start("simulator", scenario="slalom", duration_s=0.0, linger=True)
        bench.until(lambda: len(states) > 5, "states")
        put = [*words, "put", str(folder / "bag")]
        done = subprocess.run(
            [*put, "--at", "1.5"], env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        wanted = state_at(read_flight(folder / "bag"), 1.5)
        height = wanted[states[-1].bodies[0].name][2]
        bench.until(lambda: abs(states[-1].bodies[0].pose.position.z - height) < 1e-6, "the state")
        for body in states[-1].bodies:
            there = np.array(state_from_body(body))
            np.testing.assert_allclose(there[:3], wanted[body.name][:3], atol=1e-6)
            np.testing.assert_allclose(there[7:10], wanted[body.name][7:10], atol=1e-6)
        late = subprocess.run(
            [*put, "--at", "99"], env=env, capture_output=True, text=True, check=False
        )
        assert late.returncode == 2 and "must be within the recording, 0 to" in late.stderr
        assert "Traceback" not in late.stderr
