"""PX4, ArduPilot and Betaflight in the loop against scripted peers, written from the published protocols."""

import json
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from rotor_adapters.ardupilot.link import ArduPilotLink
from rotor_adapters.betaflight.link import BETAFLIGHT_X, MOTORS, STATE, STICKS
from rotor_adapters.frames import SEEN, swap_attitude, swap_body, swap_world, write_seen
from rotor_adapters.sitl.motors import QUAD_X, Motors
from rotor_adapters.sitl.senses import Sample
from rotor_control.controller import make_controller
from rotor_core.config.loader import load_scenario, load_vehicle, scenario_from_text
from rotor_core.errors import ConfigError, ContractError
from rotor_core.state import State
from rotor_core.vehicles.rotors import rotor_set
from rotor_core.warnings import notes
from rotor_flight.fly import fly
from rotor_sim.simulation import Simulation
from rotor_testbed.coverage import refuse_uncovered
from validation.autopilots.peers import free_port, peers, place_of, team, vehicle_keys, x500

TCP, UDP = socket.SOCK_STREAM, socket.SOCK_DGRAM
HOVER = [1.0, 0.5, -2.5]
"""Place to hold: north, east, down."""

HELD = 7
"""Samples before the flight: of boot and arming, and the one that is answered armed."""


def px4(port, more="", patience=1.0):
    return (
        f"{{type: px4, port: {port}, odometry_hz: 250, patience_s: {patience}, boot_s: 20 {more}}}"
    )


def fly_px4_as_planned(tmp_path, seconds, **keys):
    """Until the first answer PX4 gets samples by the wall: on a busy machine more of them, and the flight is another."""
    for _ in range(10):
        flight, told = fly_px4(tmp_path, seconds, **keys)
        if told["counts"]["HIL_SENSOR"] == round(seconds / 0.004) + 1 + HELD:
            return flight, told
    raise AssertionError("ten times the first answer came too late")


def fly_px4(tmp_path, seconds=4.0, more="", common=None, patience=1.0, **keys):
    port = free_port(TCP)
    scenario = x500(px4(port, more, patience))
    one = {
        "port": port,
        "vehicle": vehicle_keys(scenario, 0),
        "place": HOVER,
        "boot": 3,
        "arm_after": 6,
        "ki": 0.5,
    }
    with peers("px4", [one | keys], tmp_path, **(common or {})) as told:
        flight = fly(scenario, duration=seconds)
    return flight, told["peers"][0]


def fly_ardupilot(tmp_path, seconds=4.0, **keys):
    port = free_port(UDP)
    scenario = x500(f"{{type: ardupilot, port: {port}, patience_s: 2.0, boot_s: 20}}")
    one = {
        "port": port,
        "vehicle": vehicle_keys(scenario, 0),
        "place": HOVER,
        "arm_after": 6,
        "ki": 0.5,
    }
    frames = round(seconds / 0.004) + 8
    with peers("ardupilot", [one | keys], tmp_path, frames=frames) as told:
        flight = fly(scenario, duration=seconds)
    return flight, told["peers"][0]


def one_of_three_alike(scenario, keys, tmp_path, seconds):
    """A flight of a team under PX4 that has the same bits three times."""
    flights = {}  # by the samples that each PX4 got before it answered, which a busy machine makes more
    for _ in range(10):
        with peers("px4", keys, tmp_path) as told:
            flight = fly(scenario, duration=seconds)
        alike = flights.setdefault(tuple(p["counts"]["HIL_SENSOR"] for p in told["peers"]), [])
        alike.append(flight)
        np.testing.assert_array_equal(flight.states, alike[0].states)
        if len(alike) == 3:
            return flight
    raise AssertionError("no three of ten flights began alike")


def is_there(flight, far=0.1):
    """The pilot holds its place: only with every axis, sign, rotor and clock right."""
    end = flight.states[-1, 0]
    np.testing.assert_allclose(end[:3], (HOVER[1], HOVER[0], -HOVER[2]), atol=far)
    assert np.linalg.norm(end[7:10]) < 0.1
    # heading north: the body's x along y
    assert np.hypot(end[3] - np.sqrt(0.5), end[6] - np.sqrt(0.5)) < 0.1


# --- frames and motors -----------------------------------------------------------------------------


def test_what_autopilots_see_is_the_swapped_motion():
    rng = np.random.default_rng(1)
    states = rng.normal(size=(5, 19))
    states[:, 3:7] /= np.linalg.norm(states[:, 3:7], axis=1)[:, None]
    seen = np.zeros((2, SEEN))
    write_seen(states, states, 0.0, np.array([1, 4]), 9.81, seen)
    from transforms3d.quaternions import quat2mat

    for row, s in zip(seen, states[[1, 4]], strict=True):
        force = quat2mat(s[3:7]).T @ (s[13:16] + (0, 0, 9.81))
        np.testing.assert_allclose(row[0:3], swap_body(force), atol=1e-14)
        np.testing.assert_allclose(row[3:6], swap_body(s[10:13]), atol=0)
        np.testing.assert_allclose(row[6:9], swap_world(s[0:3]), atol=0)
        np.testing.assert_allclose(row[9:12], swap_world(s[7:10]), atol=0)
        np.testing.assert_allclose(row[12:16], swap_attitude(s[3:7]), atol=1e-15)


def test_motors_are_found_by_place_and_spin():
    """Moments by hand: in front-left-up, more thrust behind turns the nose down about +y."""
    vehicle = load_vehicle("x500")
    motors, out = Motors(vehicle, (QUAD_X,)), np.zeros(4)
    moments = []
    for m in range(4):  # front right, rear left, front left, rear right
        motors.wrench([0.5 + 0.1 * (k == m) for k in range(4)], out)
        moments.append(np.sign(out[1:]))
    np.testing.assert_array_equal(moments, [(-1, -1, -1), (1, 1, -1), (1, -1, 1), (-1, 1, 1)])
    motors.wrench([1.0] * 4, out)
    assert out[0] == pytest.approx(4 * rotor_set(vehicle.rotors).thrust_limits[1])
    motors.wrench([0.0, -0.1, 0.0, 0.0], out)
    np.testing.assert_array_equal(out, 0.0)
    # Betaflight numbers the same rotors another way: rear right, front right, rear left, front left
    Motors(vehicle, (BETAFLIGHT_X,)).wrench([0.9, 0.5, 0.5, 0.5], out)
    np.testing.assert_array_equal(np.sign(out[1:]), (-1, 1, 1))


def test_rotors_that_turn_the_other_way_are_refused():
    dragonfly = load_vehicle("dragonfly")
    with pytest.raises(ConfigError, match=r"dragonfly: rotors.*first_spin: cw"):
        Motors(dragonfly, (QUAD_X,))
    told = replace(dragonfly, rotors=replace(dragonfly.rotors, motors=(3, 2, 6, 1)))
    assert Motors(told, (QUAD_X,)).most == 6
    for wrong in ("[1, 1, 2, 3]", "[1, 2, 3]", "[1, 2, 3, 4, 5]"):
        with pytest.raises(ConfigError, match="motors: must be 4 different numbers"):
            scenario_from_text(
                "schema: 1\ndescription: x\ncontroller: {type: px4}\nmodel: {vehicles: [{use: dragonfly, rotors: "
                "{layout: x, arm_m: 0.1, speed_rpm: [0, 9000], thrust_n_per_rpm2: 1.0e-8, torque_per_thrust_m: 0.01, "
                f"motors: {wrong}}}}}]}}",
                "x",
            )


# --- PX4 -------------------------------------------------------------------------------------------


def test_px4_takes_off_and_holds_its_place_the_same_in_three_runs(tmp_path):
    flights = [fly_px4_as_planned(tmp_path, 8.0) for _ in range(3)]
    is_there(flights[0][0])
    for flight, _ in flights[1:]:
        np.testing.assert_array_equal(flight.states, flights[0][0].states)
        np.testing.assert_array_equal(flight.commands, flights[0][0].commands)
    told = flights[0][1]
    assert sorted(told["periods"]) == [0, 4000]
    samples = 2001 + HELD
    assert told["counts"]["HIL_SENSOR"] == samples and told["counts"]["ODOMETRY"] == samples
    assert told["groups"]["imu"] == samples
    assert told["groups"]["magnetometer"] == pytest.approx(8.0 * 50.0, abs=4)
    assert told["groups"]["barometer"] == pytest.approx(8.0 * 25.0, abs=4)
    assert "pitot" not in told["groups"]
    assert told["counts"]["HIL_GPS"] == pytest.approx(8.0 * 5.0, abs=2)
    assert told["counts"]["HIL_STATE_QUATERNION"] == pytest.approx(8.0 * 200.0, rel=0.01)
    assert told["counts"]["HEARTBEAT"] == pytest.approx(8, abs=2)
    # by hand at 47.397742 N, 8.545594 E, 0 m: 1 m north is 8.99e-6 deg, 0.5 m east 6.63e-6 deg
    assert told["truth"][0] == pytest.approx(473977420 + 90, abs=12)
    assert told["truth"][1] == pytest.approx(85455940 + 66, abs=14)
    assert told["truth"][2] == pytest.approx(2500, abs=100)
    rates = State(flights[0][0].states[-5:, 0]).body_rate * [1.0, -1.0, -1.0]
    # single precision; gyroscopes are off by some mrad/s
    assert np.abs(rates - told["truth"][7:10]).max(axis=1).min() < 1e-6
    assert told["sensor"][2] == pytest.approx(-9.81, abs=0.3)
    assert told["sensor"][6] == pytest.approx(1013.25 - 0.30, abs=0.06)  # 12 Pa a metre
    assert told["sensor"][7] == pytest.approx(2.5, abs=0.6)


@pytest.mark.parametrize(
    "faults",
    [{"late_every": 7}, {"duplicate_every": 5}, {"garbage_every": 11}, {"split": True}],
    ids=lambda f: next(iter(f)),
)
def test_px4_late_doubled_broken_and_split_messages_change_nothing(tmp_path, faults):
    # seconds of the wall: a busy machine is no fault
    clean, _ = fly_px4_as_planned(tmp_path, 1.0, patience=20.0)
    disturbed, _ = fly_px4_as_planned(tmp_path, 1.0, patience=20.0, faults=faults)
    np.testing.assert_array_equal(disturbed.states, clean.states)


def test_px4_that_is_slow_before_the_flight_flies_the_same(tmp_path):
    """On a busy machine its answers come periods late: it gets no sample between them, whose integrals would differ."""
    clean, _ = fly_px4_as_planned(tmp_path, 1.0, patience=20.0)
    slow, _ = fly_px4_as_planned(tmp_path, 1.0, patience=20.0, faults={"slow_at": [5, 6, 7]})
    np.testing.assert_array_equal(slow.states, clean.states)


def test_px4_goes_and_comes_back_in_flight(tmp_path, capfd):
    """It takes off, ends, and starts again: the vehicle falls meanwhile, and flies after."""
    flight, told = fly_px4(tmp_path, 12.0, faults={"quit_after": 1200}, again_after_s=0.2)
    said = capfd.readouterr().err
    assert "quad1: PX4 is gone, at t = 4.7" in said
    assert "quad1: PX4 answers again, at t = " in said
    assert told["starts"] == 2
    lost = (flight.commands[:, 0] == 0.0).all(axis=1)[1:]
    assert 20 < np.count_nonzero(lost) < 1000
    is_there(flight, far=0.3)
    assert len(flight.time) == 3001


def test_px4_that_is_silent_is_told_once_and_heard_again(tmp_path, capfd):
    flight, _ = fly_px4(
        tmp_path, 6.0, ", start: answering", faults={"silent_after": 500, "silent_until": 600}
    )
    said = capfd.readouterr().err
    assert said.count("has not answered for 1 s") == 1
    assert "answers again" in said
    lost = (flight.commands[10:, 0] == 0.0).all(axis=1)
    assert 90 < np.count_nonzero(lost) < 110


def test_px4_that_talks_without_answering_is_lost_in_time(tmp_path, capfd):
    """Heartbeats alone, 20 a second: every one had given it its patience anew, and the flight hung."""
    began = time.monotonic()
    flight, _ = fly_px4(tmp_path, 3.0, ", start: answering", faults={"chatty_after": 500})
    assert "has not answered for 1 s" in capfd.readouterr().err
    assert (flight.commands[-1, 0] == 0.0).all() and time.monotonic() - began < 120.0


def test_px4_slower_than_a_period_is_heard_again(tmp_path, capfd):
    """Each of its answers takes longer than a period: once lost, none came in time for the sample of the period."""
    faults = {"slow_s": 0.006, "stands_at": 60, "stands_s": 1.5}
    flight, _ = fly_px4(tmp_path, 1.6, faults=faults, patience=0.5)
    said = capfd.readouterr().err
    assert said.count("has not answered for 0.5 s") >= 1 and "answers again" in said
    assert (flight.commands[-5:, 0] > 0.0).any(axis=1).all()


def test_the_first_sample_of_a_flight_is_not_of_a_fall(tmp_path):
    """Rotors are at speed with the first command: what was held is not let go for a sample."""
    felt = []
    scenario = x500(f"{{type: ardupilot, port: {(port := free_port(UDP))}, boot_s: 20}}")
    law = make_controller(scenario).laws[0]
    link = law.links[0]
    ask = link.ask
    link.ask = lambda sample: (felt.append(sample.seen[2]), ask(sample))
    keys = {"port": port, "vehicle": vehicle_keys(scenario, 0), "place": HOVER, "arm_after": 3}
    with peers("ardupilot", [keys], tmp_path, frames=8):
        falling = np.zeros((1, 19))
        falling[:, 3], falling[:, 15] = 1.0, -9.81
        out = np.zeros((1, 4))
        for _ in range(4):
            law(falling, np.zeros((1, 1)), out)
    law.close()
    assert felt[-3:] == [0.0] * 3 and len(felt) > 6
    np.testing.assert_allclose(felt[:-3], -9.81, atol=1e-9)  # held, and the first of the flight


def test_betaflight_that_cannot_be_reached_is_refused():
    """A port that was none ended in a stack trace, a host that is none in silence."""
    sticks = "sticks: [{channels_us: [1500]}]"
    for keys, words in (
        ("port: 65534", "up to 65536|to 65536"),
        ("host: no.such.host.invalid", "no.such.host.invalid: is not known"),
        ("host: 192.168..5", "192.168..5: is not known"),
    ):
        with pytest.raises(ConfigError, match=words):
            fly(x500(f"{{type: betaflight, {keys}, {sticks}}}"), duration=0.1)


def test_px4_that_asks_for_nan_is_told_and_not_heard(tmp_path, capfd):
    clean, _ = fly_px4_as_planned(tmp_path, 1.0)
    flight, _ = fly_px4_as_planned(tmp_path, 1.0, faults={"nan_at": 100})
    assert "throttles that are not finite" in capfd.readouterr().err
    np.testing.assert_array_equal(flight.states, clean.states)


def test_px4_without_lockstep_flies_by_the_wall(tmp_path, capfd):
    began = time.monotonic()
    flight, _ = fly_px4(tmp_path, 3.0, lockstep=False)
    assert "not built for lockstep" in capfd.readouterr().err
    assert time.monotonic() - began > 2.5
    assert np.isfinite(flight.states).all() and flight.states[-1, 0, 2] > 0.2


def test_px4_without_lockstep_that_falls_silent_is_lost(tmp_path, capfd):
    """What it said last does not count for ever."""
    flight, _ = fly_px4(tmp_path, 3.0, lockstep=False, faults={"silent_after": 200})
    assert "has not answered for 1 s" in capfd.readouterr().err
    assert (flight.commands[-1, 0] == 0.0).all() and flight.commands[150, 0, 0] > 1.0


def test_two_vehicles_with_a_payload_make_a_step_and_snap(tmp_path):
    """From the ground with slack cables: they lift it with a snap, and bring it a metre away."""
    port, load = free_port(TCP, 2), 1.0
    length = 1.5
    scenario = team(
        2, px4(port, patience=20.0), load, length=length,
        text="""
environment: {contact: {}}
initial:
  - {entity: payload, position_m: [0, 0, 0.1]}
  - {entity: quad1, position_m: [1.2, 0, 0.6]}
  - {entity: quad2, position_m: [-1.2, 0, 0.6]}
""",
    )  # fmt: skip
    keys = []
    for row, east in enumerate((1.2, -1.2)):
        up = [0.0, east, -2.5]
        keys.append(
            {"port": port + row, "vehicle": vehicle_keys(scenario, row, load / 2), "place": up, "ki": 0.5,
             "steps": [[6.0, [1.0, east, -2.5]]]}
        )  # fmt: skip
    flight = one_of_three_alike(scenario, keys, tmp_path, 14.0)
    assert {"snap", "touch"} <= {e.type for e in flight.events} or "snap" in {
        e.type for e in flight.events
    }
    payload = flight.states[-1, 2]
    np.testing.assert_allclose(payload[:2], (0.0, 1.0), atol=0.15)
    assert payload[2] == pytest.approx(2.5 - length - 0.1, abs=0.25)


def test_six_vehicles_with_a_payload_are_the_same_in_three_runs(tmp_path):
    port, load = free_port(TCP, 6), 3.0
    scenario = team(6, px4(port, patience=20.0), load)
    keys = [
        {"port": port + row, "vehicle": vehicle_keys(scenario, row, load / 6), "place": place_of(scenario, row),
         "boot": 2, "arm_after": 4 + row, "ki": 0.5}
        for row in range(6)
    ]  # fmt: skip
    flight = one_of_three_alike(scenario, keys, tmp_path, 4.0)
    moved = flight.states[-1, :, :3] - flight.states[0, :, :3]
    assert np.abs(moved).max() < 0.05


def test_clocks_do_not_drift(tmp_path):
    """Counted, not measured: to the microsecond after 10,000 periods."""
    flight, told = fly_px4(tmp_path, 40.0, ", start: answering", boot=0, arm_after=10**9)
    assert flight.elapsed[-1] == pytest.approx(40.0, abs=1e-9)
    # from the first sample, of the vehicle that is held (more of them on a busy machine), to that of the last decision
    held = told["n"] - 10_001
    assert told["clock_us"] == 40_000_000 + 4000 * held and 1 <= held < 100
    assert sorted(told["periods"]) == [0, 4000]


def test_px4_that_does_not_come_is_an_error_that_says_where(tmp_path):
    port = free_port(TCP)
    scenario = x500(f"{{type: px4, port: {port}, boot_s: 0.3}}")
    with pytest.raises(
        ConfigError, match=rf"after boot_s of 0.3 s.*quad1 at TCP 127.0.0.1:{port} was not heard of"
    ):
        fly(scenario, duration=1.0)
    with socket.socket(socket.AF_INET, TCP) as free:  # nobody listens there any more
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))


def test_a_port_that_is_taken_is_told():
    with socket.socket(socket.AF_INET, TCP) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"TCP 127.0.0.1:{port}: Address already in use. Another simulation"
        ):
            fly(x500(f"{{type: px4, port: {port}}}"), duration=1.0)
    for none in ("192.0.2.7", "127.0..1", "ü..x"):
        with pytest.raises(ConfigError, match=f"{none}:4560: .*must be an address of this machine"):
            fly(x500(f"{{type: px4, listen: {none}}}"), duration=1.0)
    with pytest.raises(ConfigError, match="66530: there is no such port"):
        fly(x500("{type: ardupilot, port: 65000, instance: 153}"), duration=1.0)


@pytest.mark.parametrize(
    "controller, text, said",
    [
        ("{type: px4}", "sensing: {rate_hz: 50}", "sensing: noise"),
        (
            "{type: px4}",
            "plant: [{entity: quad1, attitude_bias_rad: [0.2, 0, 0]}]",
            "plant: attitude_bias_rad and velocity_gain",
        ),
        (
            "{type: px4}",
            "mission: {steps: [{type: hover, duration_s: 1}]}",
            "mission: must be left out",
        ),
        (
            "{type: betaflight, sticks: [{channels_us: [1500]}, {channels_us: [1500]}]}",
            "",
            "must grow",
        ),
        ("{type: ardupilot, pwm_us: [2000, 1000]}", "", r"must be \[none, full\]"),
    ],
)
def test_what_an_autopilot_cannot_fly_is_refused(controller, text, said):
    with pytest.raises(ConfigError, match=said):
        make_controller(x500(controller, text))


def test_other_vehicles_are_refused():
    for name in ("helicopter_hover", "arm_coupled"):
        with pytest.raises(ConfigError, match=r"flies multirotors|usual quadrotor"):
            make_controller(load_scenario(name, autopilot="px4"))


def test_an_autopilot_needs_accelerations():
    controller = make_controller(x500("{type: px4}"))
    with pytest.raises(ContractError, match="need 19 columns, got 13"):
        controller.decide(np.zeros((1, 13)), controller.references)


def test_notes_on_lag_and_rate():
    kinds = {n.kind for n in notes(load_scenario("hover", autopilot="ardupilot"))}
    assert "lag" in kinds and "rate" not in kinds
    slow = x500("{type: betaflight}")
    assert "rate" in {n.kind for n in notes(slow)}


def test_with_autopilot_shortens_the_control_period():
    for name, longest in (("px4", 0.004), ("ardupilot", 0.00125), ("betaflight", 0.002)):
        scenario = load_scenario("slalom", autopilot=name)
        assert scenario.controller.type == name
        assert scenario.time.control_s <= longest + 1e-12
    with pytest.raises(ConfigError, match="there is no autopilot 'px5'; did you mean \"px4\""):
        load_scenario("hover", autopilot="px5")
    with pytest.raises(ConfigError, match="Known: ardupilot, betaflight, px4"):
        load_scenario("hover", autopilot="quadrotor")


# --- ArduPilot -------------------------------------------------------------------------------------


def test_ardupilot_takes_off_and_holds_its_place_the_same_in_three_runs(tmp_path):
    flights = [fly_ardupilot(tmp_path, 8.0) for _ in range(3)]
    is_there(flights[0][0])
    for flight, _ in flights[1:]:
        np.testing.assert_array_equal(flight.states, flights[0][0].states)
    told = flights[0][1]
    assert told["steps"] == [4000]
    s = flights[0][0].states[-1, 0]
    np.testing.assert_allclose(told["told"]["position"], swap_world(s[:3]), atol=1e-9)
    np.testing.assert_allclose(told["told"]["quaternion"], swap_attitude(s[3:7]), atol=1e-9)
    roll, pitch, yaw = told["told"]["attitude"]
    assert abs(roll) < 0.01 and abs(pitch) < 0.01 and abs(yaw) < 0.02


@pytest.mark.parametrize(
    "faults",
    [
        {"lose_reply_every": 97},
        {"send_twice_every": 31},
        {"skip_every": 41},
        {"malformed_every": 50},
        {"other_magic_every": 77},
        {"channels": 32},
    ],
    ids=lambda f: next(iter(f)),
)
def test_ardupilot_lost_doubled_skipped_and_malformed_frames_change_nothing(
    tmp_path, capfd, faults
):
    clean, _ = fly_ardupilot(tmp_path, 1.0)
    capfd.readouterr()
    keys = {"channels": 32} if "channels" in faults else {"faults": faults}
    disturbed, told = fly_ardupilot(tmp_path, 1.0, **keys)
    said = capfd.readouterr().err
    np.testing.assert_array_equal(disturbed.states, clean.states)
    assert ("frames were lost" in said) == ("skip_every" in faults)
    assert ("are no frame of servos" in said) == bool(
        {"malformed_every", "other_magic_every"} & set(faults)
    )
    assert told["steps"] == [4000]


@pytest.fixture
def wired():
    """A link to an ArduPilot in flight, a socket in its place, and what sends frames of these numbers from it."""
    port = free_port(UDP)
    control = load_scenario("x500_hover", autopilot="ardupilot").controller
    link = ArduPilotLink(control, port, 4, 0.001)
    link.open()
    link.in_flight = True
    with socket.socket(socket.AF_INET, UDP) as peer:
        peer.settimeout(5.0)

        def frames(*numbers):
            for n in numbers:
                frame = struct.pack("<HHI16H", 18458, 1000, n, *[1000] * 16)
                peer.sendto(frame, ("127.0.0.1", port))

        yield link, peer, frames
    link.close()


SILENT = Sample(seen=[0.0] * SEEN, inertial=[0.0] * 6)


def stamp_in(peer):
    return json.loads(peer.recv(4096))["timestamp"]


def test_ardupilot_that_waits_long_gets_one_answer(wired):
    """It sends its frame again every second; with an answer for each, all that it said was so many periods old."""
    link, peer, frames = wired
    for first in (0, 1):
        frames(*[first] * 13)
        assert link.answer(5.0) is not None
        link.ask(SILENT)
        stamp_in(peer)
        peer.settimeout(0.2)
        with pytest.raises(TimeoutError):
            peer.recv(4096)
        peer.settimeout(5.0)
    frames(1)  # our answer was lost
    assert link.answer(0.2) is None
    assert stamp_in(peer) == pytest.approx(0.002, abs=1e-12)
    frames(2, 3, 4)  # it had more answers than frames, and is ahead
    assert link.answer(5.0) is not None
    link.ask(SILENT)
    assert stamp_in(peer) == pytest.approx(0.003, abs=1e-12)
    assert link.answer(0.2) is None and not link.lost_frames


def test_time_passes_for_an_ardupilot_that_stands_still(wired):
    """Its clock counted what it was sent: what happened while it was lost was a jump."""
    link, peer, frames = wired
    stamps = []
    for n, lost in enumerate((0, 0, 700, 0)):
        for _ in range(lost):
            link.ask(SILENT)
        frames(n)
        assert link.answer(5.0) is not None
        link.ask(SILENT)
        stamps.append(stamp_in(peer))
    np.testing.assert_allclose(np.diff(stamps), [0.001, 0.701, 0.001], atol=1e-12)


def test_ardupilot_that_starts_again_is_told(tmp_path, capfd):
    flight, _ = fly_ardupilot(tmp_path, 2.0, faults={"restart_at": 300})
    assert "ArduPilot: has started again (frame 299, then 0)" in capfd.readouterr().err
    assert len(flight.time) == 501


def test_three_ardupilots_have_ports_ten_apart(tmp_path):
    port, load = free_port(UDP, 3, 10), 1.5
    scenario = team(3, f"{{type: ardupilot, port: {port}, boot_s: 20}}", load)
    keys = [
        {"port": port + 10 * row, "vehicle": vehicle_keys(scenario, row, load / 3),
         "place": place_of(scenario, row), "ki": 0.5}
        for row in range(3)
    ]  # fmt: skip
    with peers("ardupilot", keys, tmp_path, frames=750):
        flight = fly(scenario, duration=3.0)
    assert np.abs(flight.states[-1, :, :3] - flight.states[0, :, :3]).max() < 0.05


# --- Betaflight ------------------------------------------------------------------------------------


class Betaflight(threading.Thread):
    """A peer that answers states with throttles; keeps what it was sent."""

    def __init__(self, port, throttle, silent_after=10**9, may_answer=lambda: True):
        super().__init__(daemon=True)
        self.port, self.throttle, self.silent_after = port, throttle, silent_after
        self.states, self.sticks, self.runs, self.may_answer = [], [], True, may_answer
        self.socket = socket.socket(socket.AF_INET, UDP)
        self.socket.bind(("127.0.0.1", port + 1))
        self.remote = socket.socket(socket.AF_INET, UDP)
        self.remote.bind(("127.0.0.1", port + 2))
        self.socket.settimeout(0.05)
        self.remote.setblocking(False)
        self.start()

    def run(self):
        while self.runs:
            try:
                self.states.append(STATE.unpack(self.socket.recv(1000)))
            except TimeoutError:
                continue
            try:
                while True:
                    self.sticks.append(STICKS.unpack(self.remote.recv(1000)))
            except BlockingIOError:
                pass
            n = len(self.states)
            if n % 50 == 0:
                self.socket.sendto(b"rubbish", ("127.0.0.1", self.port))
            if n <= self.silent_after and self.may_answer():
                self.socket.sendto(
                    MOTORS.pack(*[self.throttle if n > 20 else 0.0] * 4), ("127.0.0.1", self.port)
                )
        self.socket.close()
        self.remote.close()


def fly_betaflight(seconds, throttle, more="", **keys):
    port = free_port(UDP, 3)
    peer = Betaflight(port, throttle, **keys)
    scenario = x500(
        f"{{type: betaflight, port: {port}, patience_s: 0.2, boot_s: 10, {more} "
        "sticks: [{channels_us: [1500, 1500, 1000, 1500, 1000]}, "
        "{channels_us: [1500, 1500, 1000, 1500, 2000], from_s: 0.05}]}"
    )
    try:
        return fly(scenario, duration=seconds), peer
    finally:
        peer.runs = False
        peer.join()


@pytest.mark.parametrize("bridge", ["gazebo", "legacy"])
def test_betaflight_packets_and_pace(capfd, bridge):
    """A throttle for a little more than the weight lifts it, in as much time of the wall."""
    vehicle = load_vehicle("x500")
    hover = (
        np.sqrt(vehicle.mass_kg * 9.81 / 4 / rotor_set(vehicle.rotors).thrust_per_speed2) / 1000.0
    )
    began = time.monotonic()
    flight, peer = fly_betaflight(1.5, 1.02 * hover, f"bridge: {bridge},")
    assert time.monotonic() - began > 1.4
    said = capfd.readouterr().err
    assert "is not in lockstep" in said and said.count("no packet of four motors") == 1
    # 4 % more thrust than weight: 0.4 m/s^2 from the ground, whose feet give some of it a push
    assert 0.4 < flight.states[-1, 0, 2] < 0.8
    assert peer.sticks[0][1:6] == (1500, 1500, 1000, 1500, 1000)
    assert peer.sticks[-1][1:6] == (1500, 1500, 1000, 1500, 2000) and peer.sticks[-1][7] == 1500
    t, *rest = peer.states[-1]
    assert t == pytest.approx(len(peer.states) * 0.004)
    force = np.array(rest[3:6])
    np.testing.assert_allclose(force, (0, 0, -9.81 * 1.04), atol=0.3)
    # a busy machine may end before the last packets have been read
    seen = flight.states[np.argmin(np.abs(flight.elapsed - t)), 0]
    np.testing.assert_allclose(rest[10:13], seen[7:10], atol=0.02)
    assert rest[13] == pytest.approx(8.545594, abs=1e-5)
    assert rest[14] == pytest.approx(47.397742, abs=1e-5)
    assert rest[15] == pytest.approx(seen[2], abs=0.01)
    assert rest[16] == pytest.approx(101325.0 - 12.0 * rest[15], abs=1.0)


def test_betaflight_attitude_and_signs_by_hand():
    """Nose up by 20 deg, heading east: what the firmware turns into its own axes (tried with 4.5.1 and 2026.12)."""
    from rotor_adapters.betaflight.link import BetaflightLink
    from rotor_adapters.sitl.senses import Senses

    c, s = np.cos(np.radians(10.0)), np.sin(np.radians(10.0))
    states = np.zeros((1, 19))
    states[0, 3:7] = c, 0.0, -s, 0.0  # about -y: nose up
    states[0, 10:13] = 0.1, 0.2, 0.3
    for bridge, attitude, yaw in (
        ("gazebo", (c, 0.0, s, 0.0), 0.3),
        ("legacy", None, -0.3),
    ):
        scenario = x500(f"{{type: betaflight, bridge: {bridge}}}")
        link = BetaflightLink(scenario.controller, 9, 0.002, scenario.environment)
        rest = link._state(Senses(scenario, [0], None).sample(states, 0)[0])
        # firmware: roll x, pitch -y, yaw z (gazebo) or -z; all of its rates are forward, left, up
        np.testing.assert_allclose(rest[0:3], (0.1, -0.2, yaw), atol=1e-12)
        # firmware: minus all; forward-left-up specific force of a nose that points up is forward
        np.testing.assert_allclose(-np.array(rest[3:6]), (9.81 * np.sin(np.radians(20)), 0, 9.81 * np.cos(np.radians(20))), atol=1e-9)  # fmt: skip
        if attitude is not None:
            np.testing.assert_allclose(rest[6:10], attitude, atol=1e-12)
        else:
            np.testing.assert_allclose(rest[6:10], swap_attitude(states[0, 3:7]), atol=1e-12)


def test_vehicles_of_several_teams_are_held_together():
    """Each answers only once the other is fed, as a script that arms all when all are there: it had hung."""
    port, peers = free_port(UDP, 2, 10), []
    for row in range(2):
        fed = lambda row=row: len(peers) == 2 and len(peers[1 - row].states) > 5  # noqa: E731
        peers.append(Betaflight(port + 10 * row, 0.8, may_answer=fed))
    text = (
        "schema: 1\ndescription: two that fly alone\nmodel: {vehicles: [{use: x500}, {use: x500}]}\n"
        "initial: [{entity: quad1, position_m: [0, 0, 3]}, {entity: quad2, position_m: [5, 0, 3]}]\n"
        "time: {step_s: 0.001, control_s: 0.004}\n"
        f"controller: {{type: betaflight, port: {port}, patience_s: 0.5, boot_s: 10}}\n"
    )
    try:
        flight = fly(scenario_from_text(text), duration=0.5)
    finally:
        for peer in peers:
            peer.runs = False
            peer.join()
    assert (flight.commands[-1, :, 0] > 1.0).all()
    assert abs(len(peers[0].states) - len(peers[1].states)) < 5


def test_betaflight_that_falls_silent_is_lost(capfd):
    flight, _ = fly_betaflight(1.5, 0.8, silent_after=150)
    said = capfd.readouterr().err
    assert "Betaflight is gone" in said
    assert (flight.commands[-1, 0] == 0.0).all() and len(flight.time) == 376


def test_betaflight_has_four_motors():
    with pytest.raises(ConfigError, match="holds 4 motors"):
        scenario = x500("{type: betaflight}")
        vehicle = scenario.model.vehicles[0]
        many = replace(vehicle, rotors=replace(vehicle.rotors, motors=(3, 2, 4, 5)))
        make_controller(replace(scenario, model=replace(scenario.model, vehicles=(many,))))


# --- by command ------------------------------------------------------------------------------------


def test_command_line_says_what_is_missing(tmp_path):
    made = tmp_path / "x.yaml"
    port = free_port(TCP)
    made.write_text(
        "schema: 1\ndescription: x\nmodel: {vehicles: [{use: x500}]}\n"
        f"controller: {{type: px4, port: {port}, boot_s: 0.3}}\nactuation: rotors\ntime: {{control_s: 0.004}}\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "rotor.cli", "fly", str(made), "--autopilot", "px4", "--duration", "1"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert f"waiting for PX4: quad1 at TCP 127.0.0.1:{port}" in done.stderr
    assert "was not heard of" in done.stderr and "Traceback" not in done.stderr
    assert struct.calcsize("<18d") == STATE.size == 144


def test_a_motor_that_stands_is_not_turned_by_us():
    """A smallest speed is what our controllers ask for; the one that stood was lifted, and the others changed."""
    scenario = load_scenario("hover", autopilot="ardupilot")
    rotors = rotor_set(scenario.model.vehicles[0].rotors)
    assert rotors.thrust_limits[0] > 0.0
    thrusts = np.array([0.57, 0.57, 0.0, 0.57])
    simulation = Simulation(scenario)
    simulation.act((rotors.mixing @ thrusts)[None])
    np.testing.assert_allclose(rotors.unmixing @ simulation.applied[0], thrusts, atol=1e-12)
    ours = Simulation(load_scenario("hover"))
    ours.act((rotors.mixing @ thrusts)[None])
    assert (rotors.unmixing @ ours.applied[0]).min() >= rotors.thrust_limits[0] - 1e-12


def test_the_laboratory_has_no_sensors_for_them_and_no_other_forces():
    with pytest.raises(ConfigError, match="controller ardupilot"):
        refuse_uncovered(load_scenario("hover", autopilot="ardupilot"))
    plain = scenario_from_text(
        "schema: 1\nmodel: {vehicles: [{use: dragonfly}], payloads: [{name: balloon, mass_kg: 0.05}]}\n"
        "controller: {use: quadrotor}\n"
    )
    refuse_uncovered(plain)
    lifted = plain.changed("forces", [{"type": "buoyancy", "body": "balloon", "volume_m3": 0.02}])
    with pytest.raises(ConfigError, match="forces"):
        refuse_uncovered(lifted)
