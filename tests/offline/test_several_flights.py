"""Recordings over a reset: the last flight counts, and what cannot be told apart is refused."""

from dataclasses import replace

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import StoragePlugin, Writer

from rotor_core.config.loader import dump_scenario, load_scenario
from rotor_core.config.schema import Change
from rotor_core.errors import ConfigError
from rotor_flight.fly import fly
from rotor_flight.warm import warm
from rotor_recordings.compare.comparison import CompareOptions, compare
from rotor_recordings.formats.bag_flights import read_flight
from rotor_recordings.formats.bag_writer import write_bag
from rotor_recordings.formats.message_store import message_store
from rotor_recordings.formats.open import open_recording
from rotor_recordings.motion.derivatives import has_wrong_velocities
from rotor_recordings.motion.epochs import Clockwork, newest_epoch
from rotor_recordings.motion.track import Samples, Track
from rotor_recordings.predict.predict import predict

TURNED = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""To axes a quarter turn away."""

SCENARIO = "three_dragonflies_triangular_1m"


@pytest.fixture(scope="module")
def bags(tmp_path_factory):
    """A flight whose first cable is cut, and one on which nothing happens; their bags."""
    warm()
    scenario = load_scenario(SCENARIO)
    flights = [
        fly(replace(scenario, changes=(Change(at_s=0.5, cut=1),)), duration=1.0),
        fly(scenario, duration=2.0),
    ]
    folders = [tmp_path_factory.mktemp(name) / "bag" for name in ("cut", "whole")]
    for flight, folder in zip(flights, folders, strict=True):
        write_bag(flight, folder)
    return flights, folders


def joined(folders, out, *, shift, epoch):
    """One bag of both, the stamps of the second ``shift`` ns later, its messages of another epoch, quad2 limited."""
    scenario = load_scenario(SCENARIO)
    with Writer(out, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        writer.set_custom_data("scenario", dump_scenario(scenario))
        known = {}
        for k, folder in enumerate(folders):
            with AnyReader([folder]) as reader:
                store = message_store(c.msgtype for c in reader.connections)
                for connection, received, raw in reader.messages():
                    kind = connection.msgtype
                    if connection.topic not in known:
                        known[connection.topic] = writer.add_connection(
                            connection.topic, kind, typestore=store
                        )
                    message = store.deserialize_cdr(raw, kind)
                    if k:
                        stamp = message.header.stamp
                        ns = stamp.sec * 10**9 + stamp.nanosec + shift
                        stamp.sec, stamp.nanosec = divmod(ns, 10**9)
                        if hasattr(message, "epoch"):
                            message.epoch = epoch
                            for command in message.commands:
                                command.limited = command.name == "quad2"
                    data = store.serialize_cdr(message, kind)
                    for _ in range(
                        1 + ("team_command" in connection.topic)
                    ):  # a state is answered twice
                        writer.write(known[connection.topic], received + 2_000_000_000 * k, data)
    return out


def test_the_flight_after_a_reset_counts(bags, tmp_path):
    """Cables that were cut before it are whole, and a prediction from its middle is the flight itself."""
    flights, folders = bags
    bag = joined(folders, tmp_path / "bag", shift=1_000_000_001, epoch=3)
    flight = read_flight(bag)
    assert flight.extra["resets"] == 1 and flight.summary()["resets"] == 1
    assert len(flight.time) == len(flights[1].time) and not flight.events and not flight.past
    np.testing.assert_allclose(flight.states, flights[1].states, rtol=0, atol=1e-14)
    assert flight.time[0] == pytest.approx(flights[1].time[0] + 1.0, abs=1e-8)
    np.testing.assert_array_equal(flight.commands[:-1], flights[1].commands[:-1])
    assert flight.asked[:, 3].tolist() == [0.0, len(flights[1].all_commands.time), 0.0]
    prediction = predict(flight, 0.8)
    ends = prediction.flight.states[-1], flight.states[len(flight.time) - 1]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


def test_comparisons_are_of_the_flight_after_a_reset_and_say_so(bags, tmp_path):
    _, folders = bags
    bag = joined(folders, tmp_path / "bag", shift=1_000_000_001, epoch=1)
    options = CompareOptions(align="none", evo=False)
    result = compare(open_recording(str(bag)), open_recording(str(folders[1])), options)
    assert max(b.figures()["position_error_max_m"] for b in result.bodies.values()) < 1e-6
    assert result.clock.seconds == pytest.approx(1.0, abs=1e-4)
    assert any("before the reset at" in note for note in result.notes)
    assert not np.isnan(result.cables["cable1"].sim.tensions).all()


@pytest.mark.parametrize(("epoch", "words"), [(1, "set back"), (0, "two flights")])
def test_flights_on_the_same_stamps_are_refused(bags, tmp_path, epoch, words):
    """Their rows were spliced into a flight that never flew; without epochs of the simulator, the stamps show it."""
    _, folders = bags
    long = tmp_path / "bag"
    joined(folders[::-1], long, shift=0, epoch=epoch)
    for read in (read_flight, open_recording):
        with pytest.raises(ConfigError, match=words):
            read(long if read is read_flight else str(long))


@pytest.mark.parametrize("what", ["zeros", "world"])
def test_velocities_that_do_not_fit_the_places_count_as_not_recorded(tmp_path, what):
    """Of bridges that leave the twist empty, or write it in the axes of the world."""
    warm()
    flight = fly(load_scenario("quadrotor_circle"), duration=4.0)
    write_bag(flight, tmp_path / "own")
    with (
        AnyReader([tmp_path / "own"]) as reader,
        Writer(tmp_path / "theirs", version=9, storage_plugin=StoragePlugin.MCAP) as writer,
    ):
        own = [c for c in reader.connections if c.topic == "/quad1/odom"]
        store = message_store(c.msgtype for c in own)
        topic = writer.add_connection("/quad1/odom", own[0].msgtype, typestore=store)
        for i, (connection, received, raw) in enumerate(reader.messages(own)):
            message = store.deserialize_cdr(raw, connection.msgtype)
            twist, (x, y, z) = message.twist.twist, flight["quad1"].velocity[i] @ TURNED
            twist.linear.x, twist.linear.y, twist.linear.z = (
                (x, y, z) if what == "world" else (0.0, 0.0, 0.0)
            )
            if what == "zeros":
                twist.angular.x = twist.angular.y = twist.angular.z = 0.0
            writer.write(topic, received, store.serialize_cdr(message, connection.msgtype))
    theirs = open_recording(str(tmp_path / "theirs"))
    assert theirs.tracks[0].samples.velocities is None
    assert (theirs.tracks[0].samples.rates is None) == (what == "zeros")
    assert "count as not recorded" in theirs.notes[0]
    result = compare(
        open_recording(str(tmp_path / "own")), theirs, CompareOptions(align="none", evo=False)
    )
    assert result.bodies["quad1"].figures()["rate_rmse_deg_s"] < 1e-6
    assert not open_recording(str(tmp_path / "own")).notes


def moving(n, *, speed=1.0, noise=0.0, seed=0):
    """A circle with its own velocities, every 10 ms."""
    t = 0.01 * np.arange(n)
    p = np.column_stack([np.cos(speed * t), np.sin(speed * t), np.ones(n)])
    v = speed * np.column_stack([-p[:, 1], p[:, 0], np.zeros(n)])
    p = p + noise * np.random.default_rng(seed).normal(size=p.shape)
    return (1e7 * np.arange(n)).astype(np.int64), p, v


@pytest.mark.parametrize(
    "how", ["noisy hover", "slow and noisy", "outlier", "swap", "unknown at first", "late"]
)
def test_velocities_that_are_right_stay(how):
    """Noise, single errors of places and delays are none of the velocities."""
    stamps, p, v = moving(2000)
    if how == "noisy hover":
        stamps, p, v = moving(2000, speed=0.0, noise=0.01)
    elif how == "slow and noisy":
        stamps, p, v = moving(2000, speed=0.05, noise=0.02)
    elif how == "outlier":
        p[700] += 3.0
    elif how == "swap":
        p[700:] += 0.1
    elif how == "unknown at first":
        v[0] = np.nan
    else:
        stamps, p, v = moving(2000, speed=4.0)
        v = np.roll(v, 15, axis=0)
    assert not has_wrong_velocities(Track("quad1", "/quad1/odom", stamps, Samples(p, velocities=v)))
    zeros = Samples(moving(2000)[1], velocities=np.zeros((2000, 3)))
    assert has_wrong_velocities(Track("quad1", "/quad1/odom", stamps, zeros))


def told(*epochs):
    """Epochs, stamps and control periods of answers."""
    return [tuple(np.array(column) for column in zip(*rows, strict=True)) for rows in epochs]


def test_an_epoch_in_which_no_time_passed_is_no_flight():
    """A state that was set at the end is answered, too, with the control period at which it stands."""
    flown = [(0, 10 * k, k) for k in range(5)]
    found = newest_epoch(told(flown, [(1, 41, 4), (1, 41, 4)]))
    assert found.number == 0 and not found.before
    found = newest_epoch(told(flown, [(1, 41, 4), (1, 51, 5)]))
    assert (found.number, found.since) == (1, 41)


def test_single_messages_of_another_time_are_no_flight():
    clockwork, stamps = Clockwork(), 10**9 * np.arange(100)
    stamps[7] = 0
    assert np.flatnonzero(~clockwork.see("/pose", stamps)).tolist() == [7]
    with pytest.raises(ConfigError, match="two flights"):
        clockwork.see("/pose", 10**9 * np.arange(50))
