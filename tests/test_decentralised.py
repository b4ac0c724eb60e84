"""One controller per vehicle: three processes that know only themselves and the payload."""

import sys
from pathlib import Path

import graph
import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from rotor_msgs.msg import CableStates

from rotor.graph.plan import ProgramPlan
from rotor_core.config.loader import load_scenario
from rotor_core.messages.convert import vector_from
from rotor_core.ros import qos
from rotor_flight.fly import fly
from rotor_sim.simulation import Simulation

EXAMPLE = Path(__file__).parents[1] / "examples" / "12_one_controller_each.py"
NAME = "three_dragonflies_decentralised"
DEEP = QoSProfile(depth=5000)


def time_of(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def test_three_controllers_carry_a_plate(tmp_path):
    """In lockstep they fly the flight of one controller of all, without ROS.

    Odometry carries velocities in the axes of the body: turning them back and forth costs rounding, no more.
    """
    seconds = 3.0
    whole = fly(load_scenario(NAME), duration=seconds)
    with graph.bench(tmp_path) as bench:
        truth = bench.collect(Odometry, "/payload/ground_truth", DEEP)
        for vehicle in ("quad1", "quad2", "quad3"):
            words = (
                sys.executable,
                str(EXAMPLE),
                NAME,
                vehicle,
                "--ros-args",
                "-r",
                f"__ns:=/{vehicle}",
            )
            bench.group.start(ProgramPlan(f"{vehicle}_controller", words))
        bench.start("planner", scenario=NAME)
        bench.start("simulator", scenario=NAME, pacing="lockstep", duration_s=seconds, linger=True)
        end = 1.0 + seconds  # time begins at one second
        bench.until(lambda: truth and time_of(truth[-1]) > end - 1e-6, "the flight")
        names = {f"{n}/{m}" for m, n in bench.node.get_node_names_and_namespaces()}
        assert {"/quad1/controller", "/quad2/controller", "/quad3/controller"} <= names
    row = load_scenario(NAME).model.index("payload")
    p = np.array([vector_from(m.pose.pose.position) for m in truth])
    rows = np.searchsorted(whole.time, np.array([time_of(m) for m in truth]) - 1e-6)
    assert len(np.unique(rows)) > 200
    np.testing.assert_allclose(p, whole.states[rows, row, :3], atol=1e-9)


def test_tensions_are_those_under_the_command_that_acts(tmp_path):
    """In lockstep the newest cable states of an instant follow the answers to it, as in a flight without ROS."""
    scenario = load_scenario(NAME)
    names, period = [v.name for v in scenario.model.vehicles], scenario.time.control_s

    def thrust(ns):
        return 3.2 if round((ns - 10**9) * 1e-9 / period) % 2 == 0 else 4.2

    with graph.bench(tmp_path) as bench:
        for name in names:
            commands = bench.node.create_publisher(
                WrenchStamped, f"/{name}/cmd/wrench", qos.COMMAND
            )

            def answer(message, name=name, commands=commands):
                stamp = message.header.stamp
                wrench = WrenchStamped(header=message.header)
                wrench.header.frame_id = f"{name}/base_link"
                wrench.wrench.force.z = thrust(stamp.sec * 10**9 + stamp.nanosec)
                commands.publish(wrench)

            bench.node.create_subscription(Odometry, f"/{name}/odom", answer, 10)
        told = bench.collect(CableStates, "/cables", qos.RECORDED)
        bench.start("simulator", scenario=NAME, pacing="lockstep", duration_s=0.2)
        simulator = bench.group.children["simulator"]
        simulator.stopped = True  # it ends by itself
        bench.until(lambda: simulator.process.poll() is not None, "the end", 60.0)
    newest = {
        m.header.stamp.sec * 10**9 + m.header.stamp.nanosec: [c.tension for c in m.cables]
        for m in told
    }
    world, seen = Simulation(scenario), 0
    for _ in range(round(0.2 / period) - 1):
        now = round(world.time * 1e9)
        wrenches = np.zeros((len(names), 4))
        wrenches[:, 0] = thrust(now)
        world.act(wrenches)
        world.engine.update_kinematics()
        if now in newest:
            np.testing.assert_allclose(newest[now], world.engine.tensions, atol=1e-6)
            seen += 1
        world.step()
    assert seen > 10
