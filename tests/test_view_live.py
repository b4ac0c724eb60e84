"""The viewer on the running graph, and bags played into it: real processes over DDS."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from rotor_msgs.msg import TeamState
from rotor_msgs.srv import CutCable
from std_srvs.srv import Trigger

from rotor.graph.plan import NodePlan
from rotor_core.config.loader import load_scenario
from rotor_core.ros import qos
from rotor_flight.fly import fly
from rotor_recordings.formats.bag_flights import read_flight


def test_the_viewer_shows_the_graph_and_asks_the_planner(tmp_path, monkeypatch):
    """States, thrusts and references come over DDS; a goal that is let go is flown to."""
    from rotor_viewer.ros.graph_source import GraphSource

    name = "dragonfly_point_mass"
    with graph.bench(tmp_path) as bench:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(bench.node.context.get_domain_id()))
        source = GraphSource(load_scenario(name))
        try:
            for node in ("simulator", "planner", "controller"):
                bench.start(node, scenario=name)

            def look():
                source.advance(0.0)
                return source.picture()

            bench.until(lambda: look() is not None, "the first state")
            bench.until(lambda: np.isfinite(look().goals).all(), "a reference")
            bench.until(lambda: look().thrusts[0] > 0.0, "a command")
            bench.until(lambda: look().time > 1.0, "time that goes on")
            picture = look()
            assert picture.states.shape == (2, 13) and picture.taut.shape == (1,)
            target = picture.states[1, :3] + [0.3, 0.2, 0.1]
            assert "asked the planner" in source.goal("payload", target)
            bench.until(lambda: np.linalg.norm(look().states[1, :3] - target) < 0.05, "the goal")
            assert not look().cut.any()
            cut = CutCable.Request(cable="cable1")
            assert bench.call(CutCable, "/simulator/cut_cable", cut).success
            bench.until(lambda: look().cut.tolist() == [True], "a cable that is gone")
        finally:
            source.close()


def test_the_viewer_says_when_another_scenario_flies_or_nobody(tmp_path, monkeypatch):
    """Another scenario ended it with a stack trace; after the end it said `playing` for ever, from a backlog."""
    from rotor_viewer.ros.graph_source import GraphSource

    with graph.bench(tmp_path) as bench:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(bench.node.context.get_domain_id()))
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        bench.start("simulator", scenario="hover", pacing="lockstep", linger=True)
        for node in ("planner", "controller"):
            bench.start(node, scenario="hover")
        for name in ("dragonfly_point_mass", "hover"):
            source = GraphSource(load_scenario(name))
            try:

                def look(source=source):
                    source.advance(0.0)
                    return source.picture()

                if name != "hover":
                    bench.until(lambda look=look, s=source: look() is None and s.remark, "a remark")
                    assert source.remark == "the graph flies quad1, not this scenario: view that"
                    continue
                bench.until(lambda look=look: look() is not None, "a state")
                assert bench.call(Trigger, "/simulator/pause", Trigger.Request()).success
                bench.until(
                    lambda look=look, s=source: look() and s.remark == "paused", "that time stands"
                )
                assert bench.call(Trigger, "/simulator/play", Trigger.Request()).success
                bench.until(lambda look=look, s=source: look() and not s.remark, "that it passes")
                bench.until(lambda: len(states) > 200, "a flight that nobody looks at")
                for child in bench.group.children.values():
                    child.process.send_signal(signal.SIGTERM)
                bench.spin(0.5)
                look()
                last = look().time  # what there was when they ended, not what waits since
                stamp = states[-1].header.stamp
                assert last == pytest.approx(stamp.sec + 1e-9 * stamp.nanosec, abs=0.5)
                # a simulator that ends last tells the state that nobody answers again until then: `paused` before
                bench.until(
                    lambda look=look, s=source: look() and "no state for" in s.remark, "a remark"
                )
                assert look().time == last
            finally:
                source.close()


def test_a_recorded_plan_is_played_into_the_graph(tmp_path):
    """A bag recorded with a planner; then the same plan from the bag, without one: the same flight."""
    name = "hover"
    flown = fly(
        load_scenario("slalom"), duration=0.1
    )  # kernels are warm before anything has to be in time
    assert len(flown.time)
    bag = tmp_path / "bag"
    with graph.bench(tmp_path / "first") as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        bench.start(
            "simulator",
            scenario=name,
            pacing="lockstep",
            duration_s=2.0,
            linger=True,
            wait_for_recorder=True,
        )
        bench.start("recorder", scenario=name, bag=str(bag), wait_for="simulator planner")
        bench.start("planner", scenario=name)
        bench.until(lambda: bool(states), "a state")
        bench.start("controller", scenario=name)
        bench.until(lambda: states and states[-1].step >= 395, "the end")
    first = read_flight(bag)
    again = tmp_path / "again"
    with graph.bench(tmp_path / "second") as bench:
        states = bench.collect(TeamState, "/rotor/team_state", qos.TEAM)
        bench.start(
            "simulator",
            scenario=name,
            pacing="lockstep",
            duration_s=2.0,
            linger=True,
            wait_for_recorder=True,
        )
        bench.start("recorder", scenario=name, bag=str(again), wait_for="simulator controller")
        bench.start("controller", scenario=name)
        bench.group.start(
            NodePlan(
                "player", "rotor_adapters", "player", {"bag": str(bag), "topics": "/rotor/plan"}
            )
        )
        bench.until(lambda: states and states[-1].step >= 395, "the end")
    second = read_flight(again)
    # ground truth keeps ten messages: a busy recorder loses some, so that those of the same times are compared
    times = [np.round(flight.time, 6) for flight in (first, second)]
    common, i, j = np.intersect1d(*times, return_indices=True)
    assert len(common) > 20 and common[-1] - common[0] > 1.5
    assert np.allclose(first.states[i], second.states[j], atol=1e-9)


def test_an_unknown_topic_is_refused(tmp_path, capfd):
    from rotor.cli import main
    from rotor_recordings.formats.bag_writer import write_bag

    write_bag(fly(load_scenario("hover"), duration=0.2), tmp_path / "bag")
    before = dict(os.environ)
    try:
        assert main(["play", str(tmp_path / "bag"), "--topics", "/no/such"]) != 0
    finally:
        os.environ.clear()
        os.environ.update(before)
    assert "holds no topic /no/such" in capfd.readouterr().err
    assert Path(tmp_path / "bag").exists()
