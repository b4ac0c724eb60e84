"""One controller per vehicle: three processes that know only themselves and the payload."""

import sys
from pathlib import Path

import graph
import numpy as np
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile

from rotor.graph.plan import ProgramPlan
from rotor_core.config.loader import load_scenario
from rotor_core.messages.convert import vector_from
from rotor_flight.fly import fly

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
