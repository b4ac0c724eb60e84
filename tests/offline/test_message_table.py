"""Messages by columns say what rosbags says message by message."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_typestore

from rotor_recordings.formats.message_store import STORAGE_VERSION, message_store
from rotor_recordings.formats.message_table import AT_ONCE, MessageTable, Rows, tables

COMMAND = "rotor_msgs/msg/TeamCommand"
numbers = st.floats(allow_nan=True, allow_infinity=True)


def made(store, stamp, vehicles, values):
    """A command whose lists and texts depend on what is asked, and whose numbers are ``values`` in turn."""
    types = store.types
    take = iter(values)
    time = types["builtin_interfaces/msg/Time"](*divmod(stamp, 10**9))
    commands = [
        types["rotor_msgs/msg/ActuatorCommand"](
            name, len(name) % 4, next(take),
            types["geometry_msgs/msg/Vector3"](next(take), next(take), next(take)), np.zeros(0),
            np.array([next(take) for _ in range(joints)]), joints > 1, np.array([next(take) for _ in range(4)]),
        )
        for name, joints in vehicles
    ]  # fmt: skip
    header = types["std_msgs/msg/Header"](time, "world")
    return types[COMMAND](header, 7, stamp // 1000, commands)


vehicle = st.tuples(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9), st.integers(0, 3)
)
shapes = st.lists(st.lists(vehicle, max_size=3), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(
    shapes, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**31 - 1)), max_size=40),
    st.lists(numbers, min_size=36, max_size=36), st.booleans(),
)  # fmt: skip
def test_columns_are_what_rosbags_reads(tmp_path_factory, shapes, sequence, values, little):
    store = message_store([COMMAND])
    sent = [
        made(store, second * 10**9 + i, shapes[which % len(shapes)], np.roll(values, i).tolist())
        for i, (which, second) in enumerate(sequence)
    ]
    path = tmp_path_factory.mktemp("bag") / "bag"
    with Writer(path, version=STORAGE_VERSION, storage_plugin=StoragePlugin.MCAP) as writer:
        topic = writer.add_connection("/c", COMMAND, typestore=store)
        for i, message in enumerate(sent):
            writer.write(topic, i, store.serialize_cdr(message, COMMAND, little_endian=little))
    seen = []
    with AnyReader([path]) as reader:
        for heard in tables(reader, reader.connections):
            table = heard.table
            np.testing.assert_array_equal(heard.received, heard.order)
            for row, k in enumerate(heard.order.tolist()):
                seen.append(k)
                message = sent[k]
                stamp = message.header.stamp
                assert table.stamps()[row] == stamp.sec * 10**9 + stamp.nanosec
                assert table["step"][row] == message.step
                assert [c.name for c in table.first.commands] == [c.name for c in message.commands]
                for j, c in enumerate(message.commands):
                    at = f"commands[{j}]"
                    assert table[f"{at}.mode"][row] == c.mode
                    found = [table[f"{at}.thrust"][row], *table.vector(f"{at}.moment")[row]]
                    wanted = [c.thrust, c.moment.x, c.moment.y, c.moment.z]
                    np.testing.assert_array_equal(found, wanted)
                    for name in ("joint_efforts", "swashplate", "rotor_speeds"):
                        np.testing.assert_array_equal(table[f"{at}.{name}"][row], getattr(c, name))
    assert sorted(seen) == list(range(len(sent)))


@settings(max_examples=60, deadline=None)
@given(st.lists(vehicle, max_size=3), st.integers(0, 5), st.data())
def test_what_is_set_is_what_rosbags_reads(vehicles, n, data):
    store = message_store([COMMAND])
    table = MessageTable.like(store, made(store, 0, vehicles, np.zeros(99)), n)
    rows = st.lists(numbers, min_size=n, max_size=n)
    stamps = np.array(
        data.draw(st.lists(st.integers(0, 2**31 * 10**9 - 1), min_size=n, max_size=n)), np.int64
    )
    table.set_stamps(stamps)
    wanted = {}
    for j, (_, joints) in enumerate(vehicles):
        wanted[j] = np.array([data.draw(rows) for _ in range(4 + joints)]).reshape(4 + joints, n)
        table[f"commands[{j}].thrust"] = wanted[j][0]
        table.set_vector(f"commands[{j}].moment", wanted[j][1:4].T)
        table[f"commands[{j}].joint_efforts"] = wanted[j][4:].T
    for row in range(n):
        message = store.deserialize_cdr(table.data[row].tobytes(), COMMAND)
        assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == stamps[row]
        assert message.header.frame_id == "world" and message.epoch == 7
        for j, c in enumerate(message.commands):
            found = [c.thrust, c.moment.x, c.moment.y, c.moment.z, *c.joint_efforts]
            np.testing.assert_array_equal(found, wanted[j][:, row])


def test_many_messages_come_in_parts_and_in_their_order(tmp_path):
    """More than are read at once, of two topics, one of them with two shapes in turn."""
    store, kind = get_typestore(Stores.ROS2_JAZZY), "sensor_msgs/msg/JointState"
    header = store.types["std_msgs/msg/Header"](
        store.types["builtin_interfaces/msg/Time"](0, 0), ""
    )
    n = 2 * AT_ONCE + 3
    with Writer(
        tmp_path / "bag", version=STORAGE_VERSION, storage_plugin=StoragePlugin.MCAP
    ) as writer:
        a, b = (writer.add_connection(name, kind, typestore=store) for name in ("/a", "/b"))
        for i in range(n):
            names = ["x", "y"] if i % 2 else ["z"]
            angles = np.full(len(names), float(i))
            message = store.types[kind](header, names, angles, angles, np.zeros(0))
            writer.write(a, i, store.serialize_cdr(message, kind))
            writer.write(
                b, i, store.serialize_cdr(store.types[kind](header, [], *[np.zeros(0)] * 3), kind)
            )
    angles, empty = np.full(n, -1.0), 0
    with AnyReader([tmp_path / "bag"]) as reader:
        for heard in tables(reader, reader.connections):
            assert len(heard.table) <= AT_ONCE
            assert (np.diff(heard.order) > 0).all()
            if heard.connection.topic == "/b":
                assert heard.table["position"].shape == (len(heard.table), 0)
                empty += len(heard.table)
                continue
            assert heard.table["position"].shape[1] == len(heard.table.first.name)
            angles[heard.received] = heard.table["position"][:, -1]
    np.testing.assert_array_equal(angles, np.arange(n))
    assert empty == n


def test_messages_that_do_not_decode_are_refused(tmp_path):
    store = message_store([COMMAND])
    raw = bytes(store.serialize_cdr(made(store, 0, [("a", 1)], np.zeros(9)), COMMAND))
    for name, cut in (("short", raw[:40]), ("long", raw + bytes(8)), ("no header", raw[:3])):
        with Writer(
            tmp_path / name, version=STORAGE_VERSION, storage_plugin=StoragePlugin.MCAP
        ) as writer:
            topic = writer.add_connection("/c", COMMAND, typestore=store)
            writer.write(topic, 0, raw)
            writer.write(topic, 1, cut)
        with (
            AnyReader([tmp_path / name]) as reader,
            pytest.raises(SerdeError),
        ):
            list(tables(reader, reader.connections))


def test_of_two_rows_with_one_stamp_the_later_counts():
    rows = Rows()
    assert not rows and rows.at(np.array([3]), (2,)).tolist() == [
        [pytest.approx(np.nan, nan_ok=True)] * 2
    ]
    rows.add(np.array([5, 1], np.int64), np.array([[1.0], [2.0]]))
    rows.add(np.array([5, 9], np.int64), np.array([[3.0], [4.0]]))
    assert rows.stamps.tolist() == [1, 5, 9]
    np.testing.assert_array_equal(
        rows.at(np.array([9, 5, 7, 1]), (1,))[:, 0], [4.0, 3.0, np.nan, 2.0]
    )
