"""Autopilots in the loop as nodes over DDS, against scripted peers over TCP and UDP."""

import socket
import subprocess
import time
from pathlib import Path

import graph
import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from test_graph import simulator_status

from rotor_core.config.loader import load_scenario
from rotor_core.ros import qos
from rotor_flight.fly import fly
from rotor_recordings.formats.bag_flights import read_flight
from validation.autopilots.peers import free_port, peers, vehicle_keys

ROOT = Path(__file__).parents[1]

SCENARIO = """
schema: 1
description: One X500 on the ground, under PX4.
model: {{vehicles: [{{use: x500}}]}}
initial: [{{entity: quad1, position_m: [0, 0, 0.073]}}]
environment: {{contact: {{}}}}
actuation: rotors
controller: {controller}
time: {{step_s: 0.001, control_s: 0.004}}
sensing: {{sensors: [{{type: gps, body: quad1}}, {{type: barometer, body: quad1}}]}}
"""


def keys_of(scenario, port):
    return {
        "port": port, "vehicle": vehicle_keys(scenario, 0), "place": [1.0, 0.5, -2.5], "boot": 2, "arm_after": 4,
        "ki": 0.5,
    }  # fmt: skip


def flown_in_the_graph(tmp_path, path, seconds, pacing="lockstep"):
    """The bag of a flight, with all nodes."""
    with graph.bench(tmp_path) as bench:
        log = (tmp_path / "log").joinpath
        status = bench.collect(DiagnosticArray, "/diagnostics", qos.STATE)
        bench.start("simulator", scenario=str(path), pacing=pacing, duration_s=seconds, linger=True)
        bench.start("recorder", scenario=str(path), bag=str(tmp_path / "bag"))
        bench.start("planner", scenario=str(path))
        bench.until(lambda: "recording" in log("recorder.log").read_text(), "recorder")
        bench.start("controller", scenario=str(path))
        bench.until(
            lambda: bool(status) and simulator_status(status)[-1][0].message == "finished",
            "end",
            60.0,
        )
    return read_flight(tmp_path / "bag")


def common_rows(over_dds, alone):
    """Rows of the same instants."""
    index = {round(t * 1e6): i for i, t in enumerate(alone.time)}
    both = [(i, round(t * 1e6)) for i, t in enumerate(over_dds.time)]
    return np.array([(i, index[t]) for i, t in both if t in index])


@pytest.mark.parametrize("pacing", ["lockstep", "realtime"])
def test_a_flight_over_dds_equals_the_one_without_ros(tmp_path, pacing):
    """PX4 in the controller node: the same states as by `fly`, and a bag with what its sensors measure.

    In real time, too: the simulator waits for every answer, and for the wall.
    """
    began = time.monotonic()
    port, seconds = free_port(socket.SOCK_STREAM), 2.0
    path = tmp_path / "px4.yaml"
    path.write_text(SCENARIO.format(controller=f"{{type: px4, port: {port}, odometry_hz: 250}}"))
    scenario = load_scenario(path)
    with peers("px4", [keys_of(scenario, port)], tmp_path) as told:
        over_dds = flown_in_the_graph(tmp_path, path, seconds, pacing)
    assert pacing == "lockstep" or time.monotonic() - began > seconds
    assert "quad1: PX4 answers, armed" in (tmp_path / "log" / "controller.log").read_text()
    assert told["peers"][0]["n"] >= 500
    # one that has no core as it starts is asked once more before the flight: then its clock is a period ahead in it
    for last in (False, False, True):
        with peers("px4", [keys_of(scenario, port)], tmp_path):
            alone = fly(scenario, duration=seconds)
        # topics come every 10 ms, decisions every 4 ms: every 20 ms both
        rows = common_rows(over_dds, alone)
        assert len(rows) >= 0.5 * seconds * 50  # odometry keeps ten messages for slow readers
        pair = over_dds.states[rows[:, 0]], alone.states[rows[:, 1]]
        if last or np.abs(pair[0] - pair[1]).max() < 1e-9:
            break
    np.testing.assert_allclose(*pair, atol=1e-9, rtol=0)
    assert np.isnan(over_dds.references).all() and np.isnan(alone.references).all()

    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    seen = {}
    with next((tmp_path / "bag").glob("*.mcap")).open("rb") as stream:
        for _, channel, _, message in make_reader(
            stream, decoder_factories=[DecoderFactory()]
        ).iter_decoded_messages():
            seen[channel.topic] = message
    assert abs(seen["/quad1/gps/fix"].latitude - 47.397742) < 1e-4
    assert seen["/quad1/gps/fix"].status.status == 0
    assert abs(seen["/quad1/barometer"].fluid_pressure - 101325.0) < 100.0


def test_a_controller_that_waits_for_its_autopilot_ends_when_told(tmp_path):
    """Ctrl-C while nobody connects: no trace, no code."""
    port = free_port(socket.SOCK_DGRAM)
    path = tmp_path / "ardupilot.yaml"
    path.write_text(SCENARIO.format(controller=f"{{type: ardupilot, port: {port}}}"))
    with graph.bench(tmp_path) as bench:
        log = (tmp_path / "log").joinpath
        bench.start("simulator", scenario=str(path), pacing="lockstep")
        bench.start("planner", scenario=str(path))
        bench.start("controller", scenario=str(path))
        bench.until(
            lambda: "waiting for ArduPilot" in log("controller.log").read_text(), "controller"
        )
        controller = bench.group.children["controller"].process
    assert controller.returncode == 0
    assert "Traceback" not in log("controller.log").read_text()


def test_a_library_over_dds_equals_the_flight_without_ros(tmp_path):
    """The example in C in the controller node, in a process of its own."""
    header = ROOT / "ros2_ws/src/rotor_adapters/rotor_adapters/library"
    command = [
        "cc",
        "-O2",
        "-shared",
        "-fPIC",
        "-I",
        str(header),
        str(ROOT / "examples/library/cascaded_pid.c"),
    ]
    subprocess.run([*command, "-lm", "-o", str(tmp_path / "cascaded_pid.so")], check=True)
    path = tmp_path / "library.yaml"
    path.write_text(
        "schema: 1\ndescription: x\nmodel: {vehicles: [{use: dragonfly}]}\n"
        "controller: {type: library, path: cascaded_pid.so}\ntrajectory: {use: circle_10s}\n"
    )
    scenario, seconds = load_scenario(path), 1.5
    over_dds = flown_in_the_graph(tmp_path, path, seconds)
    alone = fly(scenario, duration=seconds)
    rows = common_rows(over_dds, alone)
    assert len(rows) >= 0.5 * seconds * 100  # odometry keeps ten messages for slow readers
    np.testing.assert_allclose(
        over_dds.states[rows[:, 0]], alone.states[rows[:, 1]], atol=1e-9, rtol=0
    )


def test_a_port_that_is_taken_is_told_in_one_line(tmp_path):
    """Found in a callback of the controller, from which nothing but a trace of rclpy would come."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        path = tmp_path / "taken.yaml"
        path.write_text(SCENARIO.format(controller=f"{{type: ardupilot, port: {port}}}"))
        with graph.bench(tmp_path) as bench:
            for name in ("simulator", "planner", "controller"):
                bench.start(name, scenario=str(path))
            child = bench.group.children["controller"]
            child.stopped = True  # wanted
            assert child.process.wait(60.0) == 2
            lines = child.log.read_text().splitlines()
    (line,) = [t for t in lines if "in use" in t]
    assert line.startswith(f"error: controller: UDP 127.0.0.1:{port}: Address already in use.")
    assert not [t for t in lines if "FATAL" in t or "File " in t]
