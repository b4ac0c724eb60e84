"""Flights written as bags and read back, and predicted from their own states; truth is the flight itself."""

import json
from dataclasses import replace

import numpy as np
import pytest
from dropping import DROPPED
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Reader, StoragePlugin, Writer

from rotor.cli import main
from rotor.graph.remaps import load_remaps
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.errors import ConfigError
from rotor_core.reference import YAW_ACCELERATION
from rotor_flight.flight import Commands
from rotor_flight.fly import fly
from rotor_flight.warm import warm
from rotor_recordings.compare.comparison import CompareOptions, compare
from rotor_recordings.formats.bag_flights import read_flight
from rotor_recordings.formats.bag_writer import write_bag
from rotor_recordings.formats.bags import custom_data
from rotor_recordings.formats.flights import open_flight, recording_of
from rotor_recordings.formats.message_store import message_store
from rotor_recordings.formats.open import open_recording
from rotor_recordings.formats.own_topics import OwnTopics
from rotor_recordings.predict.predict import predict
from rotor_recordings.predict.windows import predict_windows
from rotor_viewer.snapshots.sources import RecordedFlight

DURATIONS = {
    "hover": 1.0, "dragonfly_point_mass": 3.0, "three_crazyflies_point_mass": 3.0, "collision_point_mass": 2.5,
    "three_dragonflies_triangular_1m": 2.0, "arm_slung_load": 2.2, "arm_coupled": 2.0, "helicopter_circle": 1.0,
    "gyrostat_g1": 3.0, "payload_rotation": 1.0, "four_dragonflies_box_spread": 1.0, "running_cable": 2.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def flown():
    """Flights by the name of their scenario, each flown once."""
    warm()
    kept = {}

    def get(name):
        if name not in kept:
            kept[name] = fly(load_scenario(name), duration=DURATIONS[name])
        return kept[name]

    return get


@pytest.fixture(scope="module")
def bags(flown, tmp_path_factory):
    """Their bags."""
    kept = {}

    def get(name):
        if name not in kept:
            kept[name] = tmp_path_factory.mktemp(name) / "bag"
            write_bag(flown(name), kept[name])
        return kept[name]

    return get


def test_flights_with_winches_are_recorded_and_not_predicted(tmp_path):
    """The length is told where the cable pulls; what the winch was asked for is not in a recording."""
    flight = fly(load_scenario("winch_delivery"), duration=3.0)
    write_bag(flight, tmp_path / "bag")
    with next((tmp_path / "bag").glob("*.mcap")).open("rb") as file:
        messages = make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages(
            ["/cables"]
        )
        lengths = [m.decoded_message.cables[0].rest_length for m in messages]
    assert lengths[0] == pytest.approx(1.5, abs=1e-9) and min(lengths) < 0.9
    with pytest.raises(ConfigError, match="cable1 has a winch"):
        predict(open_flight(str(tmp_path / "bag")), 1.0)


# -- bags ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DURATIONS)
def test_a_flight_comes_back(flown, bags, name):
    """Stamps are whole nanoseconds; velocities are turned into the body and back, which rounds."""
    flight, back = flown(name), read_flight(bags(name))
    assert back.scenario == flight.scenario
    np.testing.assert_allclose(back.time, flight.time, atol=0.6e-9)
    np.testing.assert_array_equal(back.states[..., :7], flight.states[..., :7])
    np.testing.assert_allclose(back.states[..., 7:], flight.states[..., 7:], atol=1e-13)
    np.testing.assert_array_equal(back.commands, flight.commands)
    np.testing.assert_array_equal(back.tensions, flight.tensions)
    np.testing.assert_array_equal(back.taut, flight.taut)
    # the message of a reference has no field for the acceleration of the heading
    carried = [c for c in range(flight.references.shape[2]) if c != YAW_ACCELERATION]
    np.testing.assert_array_equal(back.references[..., carried], flight.references[..., carried])
    if flight.joints.shape[1]:
        np.testing.assert_array_equal(back.joints, flight.joints)
        np.testing.assert_array_equal(back.efforts, flight.efforts)
        np.testing.assert_array_equal(back.joint_references, flight.joint_references)
    assert len(back.events) == len(flight.events)
    for a, b in zip(back.events, flight.events, strict=True):
        assert (a.type, a.cause, a.cables, a.at_length, a.joints, a.bodies) == (
            b.type,
            b.cause,
            b.cables,
            b.at_length,
            b.joints,
            b.bodies,
        )
        assert a.time == pytest.approx(b.time, abs=0.6e-9)
        assert a.impulses == b.impulses and a.closing_speeds == b.closing_speeds
        assert a.closing_speeds_after == b.closing_speeds_after
        assert a.energy_change == b.energy_change
    assert back.limited == flight.limited


def test_instants_that_are_missing_are_counted(flown, tmp_path):
    """Those between others; a last one that comes early is none."""
    rows = [*range(0, 100, 2), 99]
    for name, kept, missing in (("whole", rows, None), ("torn", [*rows[:10], *rows[13:]], 3)):
        write_bag(flown("hover").at(np.array(kept)), tmp_path / name)
        assert read_flight(tmp_path / name).extra.get("missing_rows") == missing


def test_events_are_among_what_comes_back(flown):
    """The case above is not empty."""
    assert {"snap", "slack"} <= {e.type for e in flown("collision_point_mass").events} | {"slack"}
    assert len(flown("collision_point_mass").events) > 0


def test_efforts_come_back(flown, bags):
    flight, back = flown("arm_coupled"), read_flight(bags("arm_coupled"))
    assert np.abs(flight.efforts).max() > 0.1
    np.testing.assert_array_equal(back.all_commands.efforts, flight.efforts)


def test_what_is_unknown_is_left_out(flown, tmp_path):
    """Rows without commands, a reference that was not planned, a state that nobody saw."""
    flight = flown("dragonfly_point_mass")
    holed = replace(
        flight,
        commands=flight.commands.copy(),
        references=flight.references.copy(),
        states=flight.states.copy(),
    )
    holed.commands[:10] = np.nan
    holed.references[20:30] = np.nan
    holed.states[40:50, 1] = np.nan
    write_bag(holed, tmp_path / "bag")
    back = read_flight(tmp_path / "bag")
    rows = np.r_[0:40, 50 : len(flight.time)]  # a row is known when all entities are
    np.testing.assert_allclose(back.time, flight.time[rows], atol=0.6e-9)
    np.testing.assert_array_equal(back.commands, holed.commands[rows])
    np.testing.assert_array_equal(back.references, holed.references[rows])


def test_nothing_is_overwritten(flown, bags):
    with pytest.raises(ConfigError, match=r"exists already\. Name a new folder"):
        write_bag(flown("hover"), bags("hover"))


def test_an_independent_reader_sees_the_flight(flown, bags):
    """`mcap_ros2` decodes by the definitions inside the file; the twist of odometry is in the child frame."""
    flight = flown("three_crazyflies_point_mass")
    (file,) = bags("three_crazyflies_point_mass").glob("*.mcap")
    found = {}
    with file.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        for schema, channel, message, decoded in reader.iter_decoded_messages():
            found.setdefault((channel.topic, schema.name), []).append((message.log_time, decoded))
    names = [e.name for e in flight.scenario.model.entities]
    n = len(flight.time)
    for i, name in enumerate(names):
        rows = found[f"/{name}/odom", "nav_msgs/msg/Odometry"]
        assert len(rows) == n == len(found[f"/{name}/ground_truth", "nav_msgs/msg/Odometry"])
        for k in (0, n // 2, n - 1):
            log_time, m = rows[k]
            stamp = m.header.stamp.sec * 10**9 + m.header.stamp.nanosec
            assert stamp == log_time == round(flight.time[k] * 1e9)
            assert m.header.frame_id == "world" and m.child_frame_id == f"{name}/base_link"
            p, q = m.pose.pose.position, m.pose.pose.orientation
            np.testing.assert_array_equal(
                [p.x, p.y, p.z, q.w, q.x, q.y, q.z], flight.states[k, i, :7]
            )
            w, x, y, z = flight.states[k, i, 3:7]
            R = np.array([
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ])  # fmt: skip
            v, r = m.twist.twist.linear, m.twist.twist.angular
            np.testing.assert_allclose(R @ [v.x, v.y, v.z], flight.states[k, i, 7:10], atol=1e-13)
            np.testing.assert_array_equal([r.x, r.y, r.z], flight.states[k, i, 10:13])
    cables = found["/cables", "rotor_msgs/msg/CableStates"]
    for k in (0, n // 2, n - 1):
        for c, cable in enumerate(cables[k][1].cables):
            assert cable.name == f"cable{c + 1}" and cable.taut == flight.taut[k, c]
            assert cable.tension == flight.tensions[k, c]
            # taut cables are at their length; the unit vector points from the vehicle to the load
            assert cable.distance == pytest.approx(cable.rest_length, abs=1e-9)
            assert cable.direction.z < 0.0
            assert np.linalg.norm(
                [cable.direction.x, cable.direction.y, cable.direction.z]
            ) == pytest.approx(1.0)


def test_a_bag_is_a_recording_too(flown, bags):
    """The same paths by the flight, by its bag and by the single file of the bag."""
    flight = flown("three_crazyflies_point_mass")
    direct = recording_of(flight, "flight")
    bag = open_recording(str(bags("three_crazyflies_point_mass")))
    (file,) = bags("three_crazyflies_point_mass").glob("*.mcap")
    single = open_recording(str(file))
    assert bag.scenario and bag.scenario == direct.scenario == single.scenario
    for one in (bag, single):
        assert set(one.bodies) == set(direct.bodies)
        for body in direct.bodies:
            a, b = direct.track(body), one.track(body)
            assert "ground_truth" in b.source and a.stamps.tolist() == b.stamps.tolist()
            np.testing.assert_array_equal(a.samples.positions, b.samples.positions)
            np.testing.assert_allclose(a.samples.velocities, b.samples.velocities, atol=1e-13)
        np.testing.assert_array_equal(one.cables.tensions, flight.tensions)
    found = compare(direct, bag, CompareOptions(offset=0.0, align="none", evo=False))
    for name, body in found.bodies.items():
        figures = body.figures()
        assert figures["position_rmse_m"] == 0.0
        if name == "payload":  # a point mass
            assert figures["attitude_rmse_deg"] is None
        else:
            assert figures["attitude_rmse_deg"] < 1e-6
    for cable in found.cables.values():
        assert cable.figures()["tension_rmse_n"] == 0.0 and cable.sim.tension_from == "recorded"


def test_tensions_from_the_motion_agree_with_those_of_the_simulator(flown):
    """The balance of the payload finds the tensions of the constraint solver: two algorithms.

    The circle of 10 s begins smoothly; the window of 0.25 s leaves out (w h)^2 / 14 < 1 % of accelerations below
    1 m/s^2, a thousandth of gravity.
    """
    flight = flown("three_crazyflies_point_mass")
    told = recording_of(flight, "sim")
    silent = replace(told, cables=None)
    found = compare(told, silent, CompareOptions(offset=0.0, align="none", evo=False))
    for cable in found.cables.values():
        assert cable.real.tension_from == "balance of the payload"
        known = np.isfinite(cable.real.tensions)
        assert known.sum() > 0.8 * len(known)
        error = np.abs(cable.real.tensions - cable.sim.tensions)[known]
        assert np.median(error) < 2e-3 * np.median(cable.sim.tensions)


def test_bags_that_hold_no_flight(tmp_path, flown, bags):
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    for path in (text, tmp_path / "nothing", tmp_path):
        with pytest.raises(ConfigError, match=str(path)):
            open_flight(str(path))
    # another vehicle's scenario does not fit what was recorded
    with pytest.raises(ConfigError, match="no ground truth of quad2, quad3, payload"):
        read_flight(bags("hover"), load_scenario("three_crazyflies_point_mass"))
    with pytest.raises(ConfigError, match="the path of 'quad1', which the scenario does not have"):
        read_flight(bags("hover"), load_scenario("helicopter_hover"))


@pytest.mark.parametrize(
    "figures",
    [
        "{", "[]", "5", '{"mission": 5}', '{"mission": {"status": "failed"}}', '{"power": []}', '{"power": {"quad1": 3}}',
        '{"power": {"quad1": {"charge": 0.5}}}', '{"integration": "good"}', '{"asked_of_rotors": [[1.0, 2.0]]}',
    ],
)  # fmt: skip
def test_figures_of_a_bag_that_are_none_are_refused(flown, tmp_path, monkeypatch, figures):
    """They are text beside the messages, which anybody may have written."""
    from rotor_recordings.formats import bag_writer

    monkeypatch.setattr(bag_writer.json, "dumps", lambda *_, **__: figures)
    write_bag(flown("hover"), tmp_path / "bag")
    with pytest.raises(ConfigError, match="is not a readable bag"):
        read_flight(tmp_path / "bag")


# -- predictions --------------------------------------------------------------------------------------------------


def rows_of(record, prediction):
    """Rows of the record at the times of the prediction."""
    rows = np.searchsorted(record.time, prediction.time - 1e-6)
    np.testing.assert_allclose(record.time[rows], prediction.time, atol=1e-9)
    return rows


def check_same(record, prediction, tolerance=1e-9):
    assert prediction.ended == ""
    rows = rows_of(record, prediction.flight)
    np.testing.assert_allclose(prediction.flight.states, record.states[rows], atol=tolerance)
    return rows


@pytest.mark.parametrize("at, duration", [(0.0, None), (1.0, None), (0.5, 1.0)])
@pytest.mark.parametrize("name", ["dragonfly_point_mass", "three_crazyflies_point_mass", "three_dragonflies_triangular_1m", "collision_point_mass"])  # fmt: skip
def test_recorded_commands_repeat_the_flight(flown, name, at, duration):
    """Also across snaps: the same steps from the same states."""
    record = flown(name)
    prediction = predict(record, at, duration)
    rows = check_same(record, prediction)
    np.testing.assert_array_equal(prediction.flight.taut, record.taut[rows])
    assert prediction.shift < 1e-9
    begin, end = prediction.flight.time[[0, -1]]
    assert begin == pytest.approx(record.time[0] + at) and end == pytest.approx(
        record.time[-1] if duration is None else begin + duration
    )
    again = [e.type for e in prediction.flight.events]
    assert again == [e.type for e in record.events if begin < e.time <= end]


@pytest.mark.parametrize("name", ["hover", "dragonfly_point_mass", "three_crazyflies_point_mass"])
def test_recorded_references_repeat_the_flight(flown, name):
    """Laws without an integral depend on state and reference only."""
    record = flown(name)
    prediction = predict(record, 0.5, feed="reference")
    rows = check_same(record, prediction)
    np.testing.assert_allclose(prediction.flight.commands, record.commands[rows], atol=1e-8)


@pytest.mark.parametrize("name", ["dragonfly_point_mass", "collision_point_mass"])
def test_a_bag_repeats_the_flight(flown, bags, name):
    """Stamps and turned velocities round; 2 s later that is still below a nanometre but for the clock's 1 ns."""
    record = flown(name)
    check_same(record, predict(open_flight(str(bags(name))), 0.5), 1e-7)


def test_an_arm_repeats_its_flight(flown):
    check_same(flown("arm_coupled"), predict(flown("arm_coupled"), 0.5), 1e-8)


def test_the_bag_of_an_arm_repeats_its_flight(flown, bags):
    record, read = flown("arm_coupled"), open_flight(str(bags("arm_coupled")))
    try:
        prediction = predict(read, 0.5, 0.5)
    except ConfigError:
        return  # to refuse is right as well
    check_same(record, prediction, 1e-6)


def test_a_load_on_an_arm_is_not_moved(flown):
    """The arm has turned since the start; a state of the flight itself fits its cable and stays where it is."""
    record = flown("arm_slung_load")
    assert np.abs(record.joints[200, :, 0] - record.joints[0, :, 0]).max() > 0.01
    prediction = predict(record, 1.0, 0.01)
    assert prediction.shift < 1e-9
    np.testing.assert_allclose(prediction.flight.states[0], record.states[200], atol=1e-9)


def test_references_of_joints_are_fed(flown):
    record = flown("arm_coupled")
    assert np.ptp(record.joint_references[:, :, 0], axis=0).max() > 0.5
    try:
        prediction = predict(record, 0.0, feed="reference")
    except ConfigError:
        return  # to refuse is right as well
    check_same(record, prediction, 1e-6)


def test_nominal_motion_is_fed(flown):
    """From the start, where nothing is hidden."""
    record = flown("four_dragonflies_box_spread")
    try:
        prediction = predict(record, 0.0, feed="reference")
    except ConfigError:
        return
    check_same(record, prediction, 1e-6)


def thinned(record, every):
    """States at every so many control periods, all commands: as a recorder of 100 Hz leaves it."""
    rows = slice(None, None, every)
    return replace(
        record, time=record.time[rows], states=record.states[rows], references=record.references[rows],
        commands=record.commands[rows], tensions=record.tensions[rows], taut=record.taut[rows],
        sent=Commands(record.time, record.commands, np.zeros((len(record.time), 0))),
    )  # fmt: skip


def test_commands_may_be_more_than_states(flown):
    record = flown("dragonfly_point_mass")
    check_same(record, predict(thinned(record, 4), 1.0))


def test_all_commands_hold_until_the_next(flown):
    record = flown("hover")
    holed = replace(record, commands=record.commands.copy())
    holed.commands[5:8] = np.nan
    commands = holed.all_commands
    assert len(commands.time) == len(record.time) - 3
    for k in (5, 6, 7):
        np.testing.assert_array_equal(
            commands.wrenches[commands.at(record.time[k])], record.commands[4]
        )
    assert commands.at(record.time[0] - 1.0) == -1


def test_states_are_moved_onto_their_cables(flown):
    """Mocap sees a payload 4 mm too low: it is put back to the length, and the report says by how much.

    Whatever share each end gets, the two moves together are 4 mm, so the larger is between 2 and 4 mm.
    """
    record = flown("dragonfly_point_mass")
    wrong = replace(record, states=record.states.copy())
    wrong.states[:, 1, 2] -= 0.004
    prediction = predict(wrong, 1.0, 0.2)
    assert 0.002 - 1e-6 <= prediction.shift <= 0.004 + 1e-6
    first = prediction.flight.states[0]
    moved = np.linalg.norm(first[:, :3] - wrong.states[200, :, :3], axis=1)
    assert moved.max() == pytest.approx(prediction.shift, abs=1e-9)
    right = predict(record, 1.0, 0.2).flight.states[0]
    names = [e.name for e in record.scenario.model.entities]

    def length(states):
        return np.linalg.norm(states[names.index("payload"), :3] - states[names.index("quad1"), :3])

    assert length(first) == pytest.approx(length(right), abs=1e-4)


def test_a_nearer_payload_stays_where_it_is(flown):
    """A cable that is not at its length is slack; nothing has to move."""
    record = flown("dragonfly_point_mass")
    near = replace(record, states=record.states.copy())
    near.states[:, 1, 2] += 0.05
    prediction = predict(near, 1.0, 0.05)
    assert prediction.shift == pytest.approx(0.0, abs=1e-12) and not prediction.flight.taut[0].any()


def test_quaternions_are_brought_to_unit_length(flown):
    record = flown("hover")
    long = replace(record, states=record.states.copy())
    long.states[:, 0, 3:7] *= 1.001
    check_same(record, predict(long, 0.25), 1e-12)


@pytest.mark.parametrize("feed, spoil, message", [
    ("commands", "states", "--at 0.5: the recording does not hold the state of every entity"),
    ("commands", "commands", "--feed commands: no command had been recorded at 0.500 s"),
    ("reference", "references", "--feed reference: the recording has no reference of a team at 0.5"),
])  # fmt: skip
def test_what_is_not_recorded_cannot_be_fed(flown, feed, spoil, message):
    record = flown("hover")
    wrong = replace(record, **{spoil: getattr(record, spoil).copy()})
    end = 150 if spoil == "commands" else len(record.time)
    getattr(wrong, spoil)[:end] = np.nan
    with pytest.raises(ConfigError, match=message):
        predict(wrong, 0.5, 0.1, feed)


@pytest.mark.parametrize("at", [99.0, -5.0, float("nan")])
def test_a_beginning_outside_the_recording(flown, at):
    with pytest.raises(ConfigError, match="--at"):
        predict(flown("hover"), at)


BLOWN = """
schema: 1
description: what went before counts
model: {vehicles: [{use: hummingbird, drag: {linear_n_s_per_m: [0.1, 0.1, 0.1]}}]}
controller: {use: quadrotor}
trajectory: {type: figure_eight, width_m: 1.5, height_m: 0.8, period_s: 6.0}
"""


def test_weak_motors_are_weak_in_later_parts_too():
    fault = "changes: [{at_s: 1.0, motor: {vehicle: quad1, rotor: 1, thrust_gain: 0.8}}]\n"
    flight = fly(scenario_from_text(BLOWN + fault), duration=3.0)
    check_same(flight, predict(flight, 2.0, 0.5), 1e-9)


def test_motors_are_where_the_commands_before_have_left_them():
    """With a lag of 50 ms: without, a replay of half a second from the middle was off by 1 to 2 mm."""
    scenario = scenario_from_text(BLOWN + "actuation: {mode: rotors}\n")
    vehicle = scenario.model.vehicles[0]
    slow = replace(vehicle, rotors=replace(vehicle.rotors, lag_s=0.05))
    flight = fly(replace(scenario, model=replace(scenario.model, vehicles=(slow,))), duration=3.0)
    check_same(flight, predict(flight, 2.0, 0.5), 1e-7)  # 2e-9 of what came a second before is left


def test_turbulence_is_replayed_from_the_start_to_the_bit_and_from_nowhere_else():
    air = "environment: {wind: {turbulence: {wind_at_6m_m_s: 8.0, altitude_m: 6.0, airspeed_m_s: 5.0}}}\n"
    flight = fly(scenario_from_text(BLOWN + air), duration=1.0)
    again = predict(flight, 0.0, 1.0).flight
    np.testing.assert_allclose(again.states, flight.states[: len(again.time)], atol=1e-12)
    with pytest.raises(ConfigError, match="turbulence: how it blows depends on all"):
        predict(flight, 0.5, 0.2)


def test_helicopters_begin_at_the_start(flown):
    record = flown("helicopter_circle")
    with pytest.raises(ConfigError, match="blades of a helicopter are not recorded"):
        predict(record, 0.5)
    check_same(record, predict(record), 1e-6)


def test_a_battery_is_as_empty_as_the_commands_before_have_left_it():
    """A drone whose battery ends after five seconds, replayed from the sixth: with a new one it flew on, 44 m off."""
    text = """
schema: 1
description: a battery that ends in flight
model: {vehicles: [{use: delivery_drone, name: drone, battery: {voltage_v: [38.4, 50.4], capacity_ah: 10.0, charge: 0.004}}]}
initial: [{entity: drone, position_m: [0.0, 0.0, 60.0]}]
controller: {use: quadrotor}
trajectory: {type: hover, duration_s: 10.0}
actuation: rotors
"""
    flight = fly(scenario_from_text(text), duration=8.0)
    assert flight["drone"].position[-1, 2] < 30.0
    rows = slice(round(6.0 / flight.scenario.time.control_s), None)
    found = predict(flight, 6.0).flight
    error = found["drone"].position - flight["drone"].position[rows][: len(found.time)]
    # rotors that stand begin at the speed of their command, and slow down within 0.06 s: 0.3 m/s
    assert np.abs(error).max() < 1.0
    with pytest.raises(ConfigError, match="what is left in the batteries is not recorded"):
        predict(flight.at(np.arange(400, 1600)), 2.0)


def test_what_a_mission_lets_go_is_let_go_again():
    """A replay that kept the parcel would miss by metres."""
    flight = fly(scenario_from_text(DROPPED))
    (event,) = [e for e in flight.events if e.type == "release"]
    at = event.time - flight.time[0] - 0.3
    check_same(flight, predict(flight, at, 0.8), 1e-9)
    assert np.ptp(flight["parcel"].position[:, 2]) > 1.0
    with pytest.raises(ConfigError, match=r"release of parcel at .* came before"):
        predict(flight, at + 0.5)


def test_cables_that_may_wrap_around_something_begin_at_the_start():
    flight = fly(load_scenario("pendulum_on_peg"), duration=1.0)
    check_same(flight, predict(flight), 1e-9)
    with pytest.raises(ConfigError, match="how cable1 lies on what it may wrap around"):
        predict(flight, 0.8)


def breaking(when):
    from rotor_core.errors import SolverError

    def hook(simulation, t):
        if t >= when - 1e-9:

            def step(*_, **__):
                raise SolverError("the integration cannot go on")

            simulation.step = step

    return hook


def test_a_lost_prediction_says_when(flown):
    record = flown("hover")
    start = record.time[0] + 0.25
    prediction = predict(record, 0.25, 0.5, hook=breaking(start + 0.2))
    assert prediction.ended.startswith("after 0.200 s: the integration cannot go on")
    assert prediction.flight.time[-1] <= start + 0.2 + 1e-9
    assert np.isfinite(prediction.flight.states).all()
    np.testing.assert_allclose(
        prediction.flight.states, record.states[rows_of(record, prediction.flight)], atol=1e-9
    )


def test_a_prediction_that_is_lost_at_once(flown):
    """The row that is left is the recorded state, not memory that nobody wrote."""
    record = flown("hover")
    prediction = predict(record, 0.25, 0.5, hook=breaking(0.0))
    assert prediction.ended.startswith("after 0.000 s") and len(prediction.flight.time) == 1
    np.testing.assert_allclose(prediction.flight.states[0], record.states[50], atol=1e-12)


def test_windows(flown):
    record = flown("three_crazyflies_point_mass")
    found = predict_windows(record, 0.5, 0.5)
    assert found.starts.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert found.errors.shape == found.attitudes.shape == (5, 4)
    assert found.errors.max() < 1e-9
    # an arc cosine near one: sqrt(2 eps) and a little
    assert found.attitudes.max() < 1e-7
    figures = found.figures(0)
    assert (figures["horizon_s"], figures["windows"], figures["lost"]) == (0.5, 5, 0)


def test_windows_leave_out_what_is_unknown(flown):
    """One drop-out of a camera had refused the whole recording."""
    record = flown("three_crazyflies_point_mass")
    states = record.states.copy()
    states[np.abs(record.time - record.time[0] - 1.0) < 0.05, 2] = np.nan
    found = predict_windows(replace(record, states=states), 0.5, 0.5)
    assert found.starts.tolist() == [
        0.0,
        1.5,
        2.0,
    ]  # without the one that ends there, and that begins there
    assert found.errors.max() < 1e-9


def test_windows_see_an_error(flown):
    """Half a newton missing for the time h: h^2 a / 2 at the end of each window."""
    record = flown("hover")
    weak = replace(record, commands=record.commands.copy())
    weak.commands[:, 0, 0] -= 0.05
    mass = record.scenario.model.vehicles[0].mass_kg
    found = predict_windows(weak, 0.2, 0.25)
    np.testing.assert_allclose(found.errors[:, 0], 0.05 / mass * 0.2**2 / 2, rtol=1e-2)


def test_lost_windows_count(flown):
    record = flown("hover")
    found = predict_windows(record, 0.2, 0.2, hook=breaking(record.time[0] + 0.5))
    lost = np.isnan(found.errors[:, 0])
    # windows that end before 0.5 s go through: those from 0 and 0.2 s
    assert lost.tolist() == [start + 0.2 > 0.5 for start in found.starts]
    figures = found.figures(0)
    assert figures["lost"] == lost.sum() > 1 and figures["median_m"] == float("inf")


def test_windows_that_end_between_rows(flown):
    """States at 100 Hz, commands at 200 Hz, windows of 105 ms: the prediction is exact, the report must say so.

    The line between two rows leaves out a dt^2 / 8 = 25 um at 2 m/s^2 and less here.
    """
    record = thinned(flown("dragonfly_point_mass"), 2)
    found = predict_windows(record, 0.105, 0.25, start=1.0)
    speed = np.linalg.norm(record.states[:, 1, 7:10], axis=1).max()
    assert speed > 0.1  # half a period is 0.25 mm then
    assert found.errors.max() < 5e-5


# -- the command --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("feed", ["commands", "reference"])
def test_the_command(flown, bags, tmp_path, capsys, feed):
    out = tmp_path / "out"
    bag = str(bags("dragonfly_point_mass"))
    assert main(["replay", bag, "--at", "1", "--for", "1", "--feed", feed, "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert f"fed with the recorded {feed}" in text and "moved to fit the cables" in text

    def refuse(word):
        raise AssertionError(word)

    summary = json.loads((out / "summary.json").read_text(), parse_constant=refuse)
    for body in summary["bodies"].values():
        assert body["position_rmse_m"] < 1e-7 and body["poses"] == 201
    again = read_flight(out / "bag")
    assert again.time[[0, -1]] == pytest.approx(
        flown("dragonfly_point_mass").time[0] + np.array([1.0, 2.0])
    )


def test_the_command_over_windows(bags, tmp_path, capsys):
    out = tmp_path / "out"
    assert (
        main(
            [
                "replay",
                str(bags("dragonfly_point_mass")),
                "--windows",
                "0.1",
                "0.5",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    windows = json.loads((out / "windows.json").read_text())
    assert {name: [w["horizon_s"] for w in rows] for name, rows in windows.items()} == {
        "quad1": [0.1, 0.5],
        "payload": [0.1, 0.5],
    }
    assert all(w["median_m"] < 1e-7 and w["lost"] == 0 for rows in windows.values() for w in rows)
    assert "payload: after 0.5 s" in capsys.readouterr().out


@pytest.mark.parametrize("options, message", [
    (["--windows", "50"], "--windows 50: the recording is shorter than that"),
    (["--for", "-1"], ""), (["--scenario", "no_such"], "no_such"),
])  # fmt: skip
def test_mistakes_of_the_command(bags, tmp_path, capsys, options, message):
    arguments = ["replay", str(bags("hover")), "--out", str(tmp_path / "out"), *options]
    try:
        assert main(arguments) == 2
    except SystemExit as stop:  # argparse
        assert stop.code == 2
    assert message in capsys.readouterr().err


def test_files_that_are_no_recordings(tmp_path, capsys):
    assert main(["replay", str(tmp_path / "none"), "--out", str(tmp_path / "o")]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err


def test_the_command_says_why_a_prediction_ended(bags, tmp_path, capsys, monkeypatch):
    import rotor_recordings.predict.run as run

    def early(record, *arguments):
        return predict(record, *arguments, hook=breaking(record.time[0] + 0.02))

    monkeypatch.setattr(run, "predict", early)
    main(["replay", str(bags("hover")), "--for", "0.5", "--out", str(tmp_path / "out")])
    printed = capsys.readouterr()
    assert "the integration cannot go on" in printed.out + printed.err


# -- bags of real halls -------------------------------------------------------------------------------------------


def hall_bag(path, flight, *, commands=True, frame="quad/base_link"):
    """Recording of a hall: poses of all bodies at 100 Hz, wrenches as they were sent."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    T = {name.rpartition("/")[2]: store.types[name] for name in store.types}
    model = flight.scenario.model

    def header(stamp, frame):
        return T["Header"](T["Time"](*divmod(stamp, 10**9)), frame)

    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        poses = [
            writer.add_connection(
                f"/vrpn_mocap/{e.name}/pose", "geometry_msgs/msg/PoseStamped", typestore=store
            )
            for e in model.entities
        ]
        wrenches = [
            writer.add_connection(
                f"/{v.name}/cmd/wrench", "geometry_msgs/msg/WrenchStamped", typestore=store
            )
            for v in model.vehicles
        ]
        for k, t in enumerate(flight.time):
            stamp = round(t * 1e9)
            for i, connection in enumerate(poses if k % 2 == 0 else ()):
                p, (w, x, y, z) = flight.states[k, i, :3], flight.states[k, i, 3:7]
                pose = T["Pose"](T["Point"](*p), T["Quaternion"](x, y, z, w))
                message = T["PoseStamped"](header(stamp, "world"), pose)
                writer.write(connection, stamp, store.serialize_cdr(message, connection.msgtype))
            for i, connection in enumerate(wrenches if commands else ()):
                f, *moment = flight.commands[k, i]
                wrench = T["Wrench"](T["Vector3"](0.0, 0.0, f), T["Vector3"](*moment))
                message = T["WrenchStamped"](header(stamp, frame), wrench)
                writer.write(connection, stamp, store.serialize_cdr(message, connection.msgtype))
    return path


def test_a_bag_of_a_hall_is_replayed(tmp_path, capsys):
    """Poses and wrenches only: velocities from moving cubics (0.11 s) leave a millimetre after half a second."""
    name = "three_dragonflies_triangular_1m"
    flight = fly(load_scenario(name), duration=4.0)
    bag = hall_bag(tmp_path / "bag", flight)
    assert main(["replay", str(bag), "--at", "1"]) == 2
    assert "--scenario NAME" in capsys.readouterr().err
    out = tmp_path / "out"
    assert (
        main(
            ["replay", str(bag), "--scenario", name, "--at", "1", "--for", "0.5", "--out", str(out)]
        )
        == 0
    )
    figures = json.loads((out / "summary.json").read_text())["bodies"]
    assert max(f["position_error_max_m"] for f in figures.values()) < 1e-3
    bare = hall_bag(tmp_path / "bare", flight, commands=False)
    capsys.readouterr()
    assert main(["replay", str(bare), "--scenario", name, "--at", "1"]) == 2
    assert "holds no commands" in capsys.readouterr().err
    turned = hall_bag(tmp_path / "turned", flight, frame="world")
    assert main(["replay", str(turned), "--scenario", name, "--at", "1"]) == 2
    assert "wrenches in the axes of 'world'; those of the vehicle" in capsys.readouterr().err
    # tensions and slack are not what was seen
    assert main(["report", str(bag), "--scenario", name, "--out", str(tmp_path / "report")]) == 0
    told = capsys.readouterr().out
    assert "not recorded" in told and "never" not in told and "nan" not in told


def test_a_measured_state_is_not_the_true_one(tmp_path, capsys):
    """A flight without ROS knows what is true; under an imperfect sensor that is no odometry."""
    bag = tmp_path / "bag"
    write_bag(fly(load_scenario("three_dragonflies_motion_capture"), duration=1.0), bag)
    with AnyReader([bag]) as reader:
        kinds = {c.topic.rsplit("/", 1)[-1] for c in reader.connections}
    assert "ground_truth" in kinds and "odom" not in kinds
    assert main(["identify", str(bag)]) == 2
    assert "holds no odometry" in capsys.readouterr().err


def test_laws_that_look_ahead_are_not_fed_references(flown):
    flight = flown("three_crazyflies_point_mass")
    control = load_scenario("three_dragonflies_predictive").controller
    spoilt = replace(flight, scenario=replace(flight.scenario, controller=control))
    with pytest.raises(ConfigError, match="controller predictive looks ahead along plans"):
        predict(spoilt, 0.0, feed="reference")


BREAKS = """
schema: 1
model:
  vehicles: [{use: dragonfly}]
  payloads: [{name: load, mass_kg: 0.1}]
  attachments:
    - {type: cable, a: quad1, b: load, length_m: 0.5, stiffness_n_per_m: 200.0, damping_n_s_per_m: 1.0, breaking_load_n: 1.5}
initial: [{entity: quad1, position_m: [0, 0, 2.0]}, {entity: load, position_m: [0, 0, 1.9]}]
controller: {use: point_mass}
trajectory: {type: hover, duration_s: 1.0}
"""


def test_what_broke_stays_broken_in_later_parts_and_pictures():
    """The load fell on its cable again, which had broken before; the viewer drew it slack."""
    flight = fly(scenario_from_text(BREAKS), duration=1.2)
    (broke,) = [event for event in flight.events if event.type == "break"]
    at = broke.time - flight.time[0] + 0.05
    found = predict(flight, at, duration=0.4, feed="commands").flight
    check_same(flight, predict(flight, at, duration=0.4, feed="commands"))
    assert not any(event.type == "break" for event in found.events)
    shown = RecordedFlight(flight)
    assert shown.at(0).cut.tolist() == [False]
    assert shown.at(len(flight.time) - 1).cut.tolist() == [True]


def renamed(bag, path, names, more=(), topics=""):
    """A copy of a bag in which topics have other names, with more messages: topic, ns, type and message."""
    store = message_store(["rotor_msgs/msg/TeamCommand", *(kind for _, _, kind, _ in more)])
    with (
        Reader(bag) as reader,
        Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer,
    ):
        writer.set_custom_data("scenario", custom_data(bag, "scenario"))
        if topics:
            writer.set_custom_data("topics", topics)
        into = {
            c.id: writer.add_connection(names(c.topic), c.msgtype, typestore=store)
            for c in reader.connections
        }
        others = {
            (t, k): writer.add_connection(t, k, typestore=store)
            for t, k in {(t, k) for t, _, k, _ in more}
        }
        for connection, stamp, raw in reader.messages():
            writer.write(into[connection.id], stamp, raw)
        for topic, stamp, kind, message in more:
            raw = store.serialize_cdr(message(store.types), kind)
            writer.write(others[topic, kind], stamp, raw)
    return path


@pytest.mark.parametrize("namespace", ["", "/lab2"])
def test_flights_under_other_names_come_back(flown, bags, tmp_path, namespace):
    """As `--names rotortm` and `--namespace` record them: the names say so in the bag; namespaces also show."""
    name = "dragonfly_point_mass"
    model = load_scenario(name).model
    remaps = dict(load_remaps("rotortm", model, namespace))
    theirs = lambda topic: remaps.get(topic[1:], f"{namespace}{topic}")  # noqa: E731
    with Reader(bags(name)) as reader:
        ours = {c.topic[1:]: theirs(c.topic) for c in reader.connections}
    assert len(set(ours) & set(remaps)) > 2
    told = OwnTopics.of_names(namespace, ours).text()
    other = renamed(bags(name), tmp_path / "named", theirs, topics=told)
    found = open_flight(str(other))
    np.testing.assert_allclose(found.states, flown(name).states, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.commands, flown(name).commands, rtol=0, atol=1e-12)
    assert np.isfinite(found.references[:, 0, :3]).all()
    alone = renamed(bags(name), tmp_path / "alone", lambda topic: f"/lab2{topic}")
    np.testing.assert_allclose(open_flight(str(alone)).states, found.states, rtol=0, atol=0)


def status(hardware, values):
    """A report on /diagnostics of a node."""

    def make(types):
        pairs = [types["diagnostic_msgs/msg/KeyValue"](k, v) for k, v in values.items()]
        told = types["diagnostic_msgs/msg/DiagnosticStatus"](
            b"\0"[0], "rotor: simulator", "running", hardware, pairs
        )
        header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](2, 0), "")
        return types["diagnostic_msgs/msg/DiagnosticArray"](header, [told])

    return make


def test_other_worlds_and_drivers_on_diagnostics_do_not_count(bags, tmp_path):
    kind, name = "diagnostic_msgs/msg/DiagnosticArray", "dragonfly_point_mass"
    values = {"real_time_factor": "1.0000", "missed_deadlines": "1"}
    theirs = {"real_time_factor": "0.1000", "missed_deadlines": "777"}
    more = [
        ("/diagnostics", 2 * 10**9, kind, status("/simulator", values)),
        ("/diagnostics", 2 * 10**9 + 1, kind, status("/lab2/simulator", theirs)),
        ("/diagnostics", 2 * 10**9 + 2, kind, status("controller_manager", theirs)),
    ]
    flight = open_flight(str(renamed(bags(name), tmp_path / "bag", lambda topic: topic, more)))
    assert flight.extra["missed_deadlines"] == 1 and flight.extra["real_time_factor"] == 1.0


def test_two_worlds_in_one_bag_are_refused(bags, tmp_path):
    """Their states were one flight, in silence."""
    name = "dragonfly_point_mass"
    store = message_store(["nav_msgs/msg/Odometry"])
    with Reader(bags(name)) as reader, Writer(tmp_path / "two", version=9) as writer:
        writer.set_custom_data("scenario", custom_data(bags(name), "scenario"))
        for connection in reader.connections:
            if connection.msgtype == "nav_msgs/msg/Odometry":
                into = [
                    writer.add_connection(
                        f"{lab}{connection.topic}", connection.msgtype, typestore=store
                    )
                    for lab in ("/lab1", "/lab2")
                ]
                for _, stamp, raw in reader.messages([connection]):
                    for other in into:
                        writer.write(other, stamp, raw)
    with pytest.raises(ConfigError, match=r"several namespaces \(/lab1, /lab2\)"):
        open_flight(str(tmp_path / "two"))


def test_a_recording_that_begins_after_a_cut_says_so(bags, tmp_path):
    """A recorder that came late has no event of it, but the scene; the cable counted as slack all the time."""
    name = "dragonfly_point_mass"
    whole = open_flight(str(bags(name)))
    seconds, nanoseconds = divmod(round(1e9 * whole.time[0]), 10**9)

    def scene(types):
        none = np.zeros(0)
        stamp = types["builtin_interfaces/msg/Time"](seconds, nanoseconds)
        header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="world")
        return types["rotor_msgs/msg/Scene"](
            header=header, epoch=0, bodies=[], poses=none, pushes=none, thrusts=none,
            tensions=np.zeros(1), taut=np.array([-1.0]), discs=none,
        )  # fmt: skip

    more = [("/rotor/scene", seconds * 10**9 + nanoseconds, "rotor_msgs/msg/Scene", scene)]
    flight = open_flight(str(renamed(bags(name), tmp_path / "bag", lambda topic: topic, more)))
    assert not whole.is_cut.any() and flight.is_cut.all()
    assert not flight.slack.any()
    assert flight.summary()["events"].get("cut", 0) == 0
