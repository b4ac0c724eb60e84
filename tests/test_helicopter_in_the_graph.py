"""A helicopter over DDS: flown in lockstep as without ROS, its rotor as topics and frames, its swashplate commanded by others."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from diagnostic_msgs.msg import DiagnosticArray
from rotor_msgs.msg import RotorState, Swashplate
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import quat2mat
from visualization_msgs.msg import Marker, MarkerArray

from rotor_core.config.loader import dump_scenario, load_scenario
from rotor_core.config.vehicles.rotor_tree import rotor_tree
from rotor_core.messages.convert import seconds_from_stamp, vector_from, wxyz_from
from rotor_core.ros import qos
from rotor_flight.fly import fly
from rotor_recordings.formats.bag_flights import read_flight

NAME = "helicopter_slung_load"


@pytest.fixture
def bench(tmp_path):
    with graph.bench(tmp_path) as bench:
        yield bench


def _finished(status: list) -> bool:
    return bool(status) and status[-1].status[0].message == "finished"


def test_lockstep_equals_the_run_without_ros_and_the_rotor_is_told(tmp_path):
    with graph.bench(tmp_path) as bench:
        log = (tmp_path / "log").joinpath
        status = bench.collect(DiagnosticArray, "/diagnostics", qos.STATE)
        joints = bench.collect(JointState, "/heli1/joint_states", qos.STATE)
        rotors = bench.collect(RotorState, "/heli1/main_rotor", qos.SENSOR)
        frames = bench.collect(TFMessage, "/tf", qos.TF)
        moving = bench.collect(MarkerArray, "/rotor/markers", qos.STATE)
        still = bench.collect(MarkerArray, "/rotor/markers_static", qos.LATCHED)
        bench.start("simulator", scenario=NAME, pacing="lockstep", duration_s=1.0, linger=True)
        bench.start("visualizer", scenario=NAME)
        bench.start("recorder", scenario=NAME, bag=str(tmp_path / "bag"))
        bench.start("planner", scenario=NAME)
        bench.until(lambda: "recording" in log("recorder.log").read_text(), "recorder")
        bench.start("controller", scenario=NAME)
        bench.until(lambda: _finished(status), "end of the run", 60.0)
        bench.until(lambda: bool(moving) and bool(still), "pictures")
        bench.spin(0.5)

    over_dds = read_flight(tmp_path / "bag")
    alone = fly(load_scenario(NAME), duration=1.0)
    index = {round(t * 1e6): i for i, t in enumerate(alone.time)}
    stamps = [round(t * 1e6) for t in over_dds.time]
    rows = np.array([(i, index[t]) for i, t in enumerate(stamps) if t in index])
    assert len(rows) > 20  # topics and control periods meet every 20 ms
    np.testing.assert_allclose(
        over_dds.states[rows[:, 0]], alone.states[rows[:, 1]], atol=1e-9, rtol=0
    )
    known = ~np.isnan(over_dds.commands[rows[:, 0], 0, 0])
    np.testing.assert_allclose(
        over_dds.commands[rows[known, 0]], alone.commands[rows[known, 1]], atol=1e-9, rtol=0
    )

    rotor = load_scenario(NAME).model.vehicles[0].helicopter.main_rotor
    links, tree = rotor_tree(rotor)
    assert joints[0].name == [f"heli1/{j.name}" for j in tree]
    told = rotors[-1]
    assert told.speed == pytest.approx(167.0, abs=3.0)  # the governor catches up with the load
    assert told.thrust == pytest.approx(9.7 * 9.81, rel=0.1)
    assert told.engine_power == pytest.approx(told.engine_torque * told.speed)
    assert told.inflow == pytest.approx(4.5, abs=0.3)
    assert 0.0 <= told.azimuth < 2.0 * np.pi
    assert [len(a) for a in (told.pitch, told.flap, told.lag)] == [2, 2, 2]
    assert np.mean(told.flap) == pytest.approx(0.029, abs=0.004)

    # every hinge is where TF has it
    angles = {
        seconds_from_stamp(m.header.stamp): dict(zip(m.name, m.position, strict=True))
        for m in joints
    }
    compared = 0
    for message in frames:
        own = {t.child_frame_id: t for t in message.transforms}
        stamp = seconds_from_stamp(message.transforms[0].header.stamp)
        if stamp not in angles:
            continue
        for joint in tree:
            t = own[f"heli1/{joint.child}"]
            parent = "base_link" if joint.parent == "base_link" else joint.parent
            assert t.header.frame_id == f"heli1/{parent}"
            turned = axangle2mat(joint.axis, angles[stamp][f"heli1/{joint.name}"])
            at_zero = axangle2mat([0, 0, 1], np.radians(joint.rpy_deg[2]))
            R = quat2mat(wxyz_from(t.transform.rotation))
            np.testing.assert_allclose(R, at_zero @ turned, atol=1e-9)
            np.testing.assert_allclose(
                vector_from(t.transform.translation), joint.position_m, atol=1e-9
            )
        compared += 1
    assert compared > 20

    drawn = {(m.header.frame_id, m.type) for message in still for m in message.markers}
    assert {("heli1/blade1", Marker.CUBE), ("heli1/blade2", Marker.CUBE)} <= drawn
    spaces = {m.ns for message in moving for m in message.markers}
    assert {"disc", "tip_path_x10", "thrust", "cable"} <= spaces
    assert len(links) == 7


def test_a_swashplate_commanded_by_somebody_else_flies_and_nonsense_is_refused(bench, tmp_path):
    scenario = replace(load_scenario("helicopter_hover"), command_input="swashplate")
    path = tmp_path / "mine.yaml"
    path.write_text(dump_scenario(scenario))
    rotors = bench.collect(RotorState, "/heli1/main_rotor", qos.SENSOR)
    publisher = bench.node.create_publisher(Swashplate, "/heli1/cmd/swashplate", qos.COMMAND)
    bench.start("simulator", scenario=str(path), pacing="lockstep", duration_s=0.0)
    bench.until(lambda: publisher.get_subscription_count() > 0, "the simulator")

    def send(collective: float) -> bool:
        publisher.publish(
            Swashplate(
                collective=collective,
                lateral_cyclic=0.0075,
                longitudinal_cyclic=-0.0006,
                tail_force=6.92,
            )
        )
        return bool(rotors) and seconds_from_stamp(rotors[-1].header.stamp) > 1.15

    bench.until(lambda: send(0.105), "flight")
    last = rotors[-1]
    assert (last.collective, last.lateral_cyclic) == pytest.approx((0.105, 0.0075), abs=1e-12)
    assert last.longitudinal_cyclic == pytest.approx(-0.0006, abs=1e-12)
    assert last.tail_force == pytest.approx(6.92, abs=1e-12)
    publisher.publish(Swashplate(collective=float("nan")))
    log = tmp_path / "log" / "simulator.log"
    bench.until(lambda: "cmd/swashplate of 'heli1': must be finite" in log.read_text(), "a refusal")
