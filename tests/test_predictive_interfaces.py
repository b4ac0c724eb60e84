"""Interfaces that predictive controllers need, over DDS: forces of cables as commands, derivatives on request."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from geometry_msgs.msg import Vector3, WrenchStamped
from nav_msgs.msg import Odometry
from rotor_msgs.msg import CableCommand, TeamState
from rotor_msgs.srv import Linearize
from std_srvs.srv import Trigger

from rotor_control.controller import make_controller
from rotor_core.config.loader import load_scenario
from rotor_core.messages.convert import vector_from
from rotor_core.ros import qos
from rotor_dynamics.sensitivities.linearization import ERRORS, linearize
from rotor_planning.trajectories.from_config import make_plans
from rotor_sim.simulation import Simulation

TEAM, APART = "three_dragonflies_triangular_1m", "three_crazyflies_apart"
WEIGHT = 0.278 * 9.81


@pytest.fixture
def bench(tmp_path):
    with graph.bench(tmp_path) as bench:
        yield bench


def test_cables_pull_as_somebody_else_says(bench, tmp_path):
    """Forces from a topic lift the payload off its reference; wrong ones are refused; without news the law takes over."""
    states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
    wanted = bench.collect(CableCommand, "/payload/cable_forces", qos.STATE)
    wrenches = bench.collect(WrenchStamped, "/payload/wrench_wanted", qos.STATE)
    odometry = bench.collect(Odometry, "/payload/ground_truth", qos.STATE)
    bench.start("simulator", scenario=TEAM, duration_s=0.0, linger=True)
    bench.start("planner", scenario=TEAM, start_trajectory=False)
    bench.start("controller", scenario=TEAM)
    bench.until(lambda: min(map(len, (wanted, wrenches, states, odometry))) > 20, "forces")
    forces = np.array([vector_from(f) for f in wanted[-1].forces])
    assert wanted[-1].cables == ["cable1", "cable2", "cable3"]
    np.testing.assert_allclose(forces.sum(axis=0), (0, 0, WEIGHT), atol=1e-3)
    np.testing.assert_allclose(vector_from(wrenches[-1].wrench.force), (0, 0, WEIGHT), atol=1e-3)
    np.testing.assert_allclose(vector_from(wrenches[-1].wrench.torque), 0.0, atol=1e-3)

    sender = bench.node.create_publisher(CableCommand, "/payload/cmd/cables", qos.COMMAND)
    bench.until(lambda: sender.get_subscription_count() > 0, "the controller")

    def send(forces, names=("cable3", "cable1", "cable2")):
        message = CableCommand(entity="payload", cables=list(names))
        message.header.frame_id = "world"
        message.header.stamp = states[-1].header.stamp
        message.forces = [Vector3(x=x, y=y, z=z) for x, y, z in forces.tolist()]
        sender.publish(message)
        bench.spin(0.02)

    log = tmp_path / "log" / "controller.log"
    send(forces[:2])  # one is missing
    bench.until(lambda: "needs one force for each of cable1" in log.read_text(), "refusal")
    height = odometry[-1].pose.pose.position.z
    lifting = forces[[2, 0, 1]] * 1.15

    def is_lifted() -> bool:  # also where commands came late, and it fell before
        send(lifting)
        return odometry[-1].pose.pose.position.z > height + 0.05

    bench.until(is_lifted, "a payload that rises", 20.0)
    assert "cables pull as another node commands" in log.read_text()
    bench.until(lambda: "cables pull as the law computes" in log.read_text(), "the law again")
    bench.until(lambda: abs(odometry[-1].pose.pose.position.z - height) < 0.02, "back", 20.0)


def test_a_program_is_told_its_plan(bench):
    """To the law that keeps vehicles apart forces from elsewhere are a goal: their internal part counts 100/101."""
    wanted = bench.collect(CableCommand, "/payload/cable_forces", qos.STATE)
    states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
    bench.start("simulator", scenario=APART, duration_s=0.0, linger=True)
    bench.start("planner", scenario=APART, start_trajectory=False)
    bench.start("controller", scenario=APART)
    bench.until(lambda: min(len(wanted), len(states)) > 20, "forces")
    sender = bench.node.create_publisher(CableCommand, "/payload/cmd/cables", qos.COMMAND)
    bench.until(lambda: sender.get_subscription_count() > 0, "the controller")
    own = np.array([vector_from(f) for f in wanted[-1].forces])
    wider = own * [1.3, 1.3, 1.0]  # cables lean further out, and the payload feels nothing of it

    def leaning():
        message = CableCommand(entity="payload", cables=["cable1", "cable2", "cable3"])
        message.header.frame_id = "world"
        message.header.stamp = states[-1].header.stamp
        message.forces = [Vector3(x=x, y=y, z=z) for x, y, z in wider.tolist()]
        sender.publish(message)
        bench.spin(0.02)
        forces = np.array([vector_from(f) for f in wanted[-1].forces])
        internal = forces - forces.mean(axis=0)
        goal = 100.0 / 101.0 * (wider - wider.mean(axis=0))
        return np.abs(internal - goal).max() < 1e-3 * np.abs(goal).max()

    for _ in range(200):
        if leaning():
            break
    assert leaning()


def hovering():
    """The team at rest with the thrusts that hold it."""
    scenario = load_scenario(TEAM)
    simulation, controller = Simulation(scenario), make_controller(scenario)
    controller.follow(0, make_plans(scenario)["payload"], 0.0)
    simulation.act(controller.decide(simulation.sense().array[:, :13], controller.references))
    return simulation


def test_derivatives_on_request(bench):
    """The service gives what the engine computes for the same state: matrices of the right shape, tensions, taut set."""
    states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
    bench.start("simulator", scenario=TEAM, duration_s=0.0, linger=True)
    bench.start("planner", scenario=TEAM, start_trajectory=False)
    bench.start("controller", scenario=TEAM)
    bench.until(lambda: len(states) > 100 and states[-1].cables[0].taut, "flight")
    assert bench.call(Trigger, "/simulator/pause", Trigger.Request()).success
    answer = bench.call(Linearize, "/simulator/linearize", Linearize.Request())
    assert answer.success, answer.message
    n = len(answer.bodies)
    assert answer.bodies == ["quad1", "quad2", "quad3", "payload"] and all(answer.taut)
    own = linearize(hovering().engine)
    # the team over DDS has been falling for a period or two before its first command: some 1e-3 m/s
    close = {"rtol": 0.01, "atol": 0.05}
    np.testing.assert_allclose(np.reshape(answer.a, (ERRORS * n, ERRORS * n)), own.state, **close)
    np.testing.assert_allclose(np.reshape(answer.b, (ERRORS * n, 12)), own.input, **close)
    np.testing.assert_allclose(np.reshape(answer.c, (3, -1)), own.tension_state, **close)
    np.testing.assert_allclose(np.reshape(answer.d, (3, -1)), own.tension_input, **close)
    np.testing.assert_allclose(answer.tensions, own.tensions, rtol=0.01)
