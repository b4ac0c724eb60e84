"""Numbers written into ready bytes are what rclpy reads, and the other way round, for every message that we freeze."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped, WrenchStamped
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from rotor_msgs.msg import (
    ActuatorCommand,
    BodyState,
    CableState,
    CableStates,
    Reference,
    TeamCommand,
    TeamState,
)
from sensor_msgs.msg import Imu
from tf2_msgs.msg import TFMessage

from rotor_core.errors import ContractError
from rotor_core.messages.cdr import FrozenMessage, doubles_of, stamp_in
from rotor_core.messages.team_wire import FARTHEST, Heading, TeamCommandWire, TeamStateWire

ANY = st.floats(allow_nan=True, allow_infinity=True, width=64)
NAMES = st.lists(
    st.text("abcdefghij_0123456789", min_size=1, max_size=9), min_size=1, max_size=5, unique=True
)


def leaves(message, prefix=""):
    """Every number of a message with its path, by rclpy's own reflection."""
    for name, kind in message.get_fields_and_field_types().items():
        value, path = getattr(message, name), f"{prefix}.{name}" if prefix else name
        if isinstance(value, (list, tuple)) or (hasattr(value, "__len__") and "string" not in kind):
            for i, item in enumerate(value):
                if hasattr(item, "get_fields_and_field_types"):
                    yield from leaves(item, f"{path}[{i}]")
                elif not isinstance(item, str):
                    yield f"{path}[{i}]", item
        elif hasattr(value, "get_fields_and_field_types"):
            yield from leaves(value, path)
        elif not isinstance(value, str):
            yield path, value


def samples(names):
    """One message of every frozen kind, with texts of many lengths (they move everything behind them)."""
    first = names[0]
    odometry = Odometry(child_frame_id=f"{first}/base_link")
    odometry.header.frame_id = "world"
    imu = Imu()
    imu.header.frame_id = first
    wrench = WrenchStamped()
    wrench.header.frame_id = first
    return [
        odometry,
        imu,
        wrench,
        TFMessage(transforms=[TransformStamped(child_frame_id=n) for n in names]),
        TeamState(
            bodies=[BodyState(name=n, rotor_speeds=[0.0] * i) for i, n in enumerate(names)],
            cables=[CableState(name=n) for n in names],
        ),
        TeamCommand(commands=[ActuatorCommand(name=n) for n in names]),
        CableStates(cables=[CableState(name=n) for n in names]),
        Reference(entity=first),
    ]


@given(NAMES, st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_every_number_is_where_it_is_written(names, seed):
    random = np.random.default_rng(seed)
    for message in samples(names):
        frozen = FrozenMessage(message)
        written = {}
        for path, value in leaves(message):
            if isinstance(value, bool):
                written[path] = bool(random.integers(2))
            elif isinstance(value, int) and not isinstance(value, np.floating):
                written[path] = int(random.integers(0, 2**31)) % (
                    256 if path.endswith("mode") else 2**31
                )
            else:
                written[path] = float(random.normal())
            frozen.put(path, written[path])
        back = dict(leaves(deserialize_message(frozen.data(), type(message))))
        assert back == written
        assert frozen.fits(serialize_message(deserialize_message(frozen.data(), type(message))))


@given(NAMES, st.data())
@settings(max_examples=40, deadline=None)
def test_team_state_round_trip(names, data):
    """Bytes to rclpy's message and back to the same numbers, NaN and infinities included; but no such states."""
    motion = data.draw(arrays(float, (len(names), 19), elements=ANY))
    cables = data.draw(arrays(float, (2, 6), elements=ANY))
    heading = Heading(
        Time(sec=data.draw(st.integers(-9, 2**31 - 1)), nanosec=999_999_999), 7, 2**40
    )
    wire = TeamStateWire(names, ["cable1", "cable2"])
    sent = wire.write(heading, motion, np.array([True, False]), cables)
    message = deserialize_message(sent, TeamState)
    body, row = message.bodies[-1], motion[-1]
    np.testing.assert_array_equal([body.pose.position.z, body.pose.orientation.w], row[[2, 3]])
    np.testing.assert_array_equal([body.pose.orientation.z, body.twist.linear.x], row[[6, 7]])
    np.testing.assert_array_equal([body.acceleration.angular.z], row[[18]])
    assert [c.taut for c in message.cables] == [True, False]
    np.testing.assert_array_equal([message.cables[1].direction.z], cables[1, [5]])
    out = np.zeros((len(names), 13))
    for bytes_ in (sent, serialize_message(message)):
        if (np.abs(motion[:, :13]) < FARTHEST).all():
            assert wire.read(bytes_, out) == heading
            np.testing.assert_array_equal(out, motion[:, :13])
        else:
            with pytest.raises(
                ContractError, match="TeamState: every number must be finite and below 1e"
            ):
                wire.read(bytes_, out)
            assert not out.any(), "nothing is written"


def test_other_shapes_go_through_rclpy():
    """Bodies in another order, bodies that nobody asked for: read all the same; a missing one is named."""
    wire = TeamStateWire(["quad1", "payload"], [])
    out = np.zeros((2, 13))
    message = TeamState(
        bodies=[BodyState(name="payload"), BodyState(name="x"), BodyState(name="quad1")]
    )
    message.bodies[0].pose.position.x, message.bodies[2].pose.position.x = 3.0, 1.0
    wire.read(serialize_message(message), out)
    assert out[:, 0].tolist() == [1.0, 3.0]
    with pytest.raises(ContractError, match="has no body 'quad1'"):
        wire.read(serialize_message(TeamState(bodies=[BodyState(name="payload")])), out)


def test_commands():
    wire = TeamCommandWire(["quad1", "quad2"])
    wrenches = np.arange(8.0).reshape(2, 4)
    heading = Heading(Time(sec=3, nanosec=5), 1, 4)
    assert wire.read(wire.write(heading, wrenches))[0] == heading
    np.testing.assert_array_equal(wire.read(wire.write(heading, wrenches))[1], wrenches)
    swapped = TeamCommand(
        commands=[
            ActuatorCommand(name="quad2", thrust=2.0),
            ActuatorCommand(name="quad1", thrust=1.0),
        ]
    )
    assert wire.read(serialize_message(swapped))[1][:, 0].tolist() == [1.0, 2.0]
    for bad, words in (
        (ActuatorCommand(name="quad2", mode=ActuatorCommand.ROTOR_SPEED), "mode must be WRENCH"),
        (ActuatorCommand(name="quad2", thrust=float("nan")), "must be finite"),
        (ActuatorCommand(name="quad1"), "commanded twice"),
        (ActuatorCommand(name="quad7"), "there is no vehicle 'quad7'"),
    ):
        message = TeamCommand(commands=[ActuatorCommand(name="quad1"), bad])
        with pytest.raises(ContractError, match=words):
            wire.read(serialize_message(message))


def test_who_was_limited_is_told_with_the_command():
    """In our own bytes, and in those of somebody who names the vehicles in another order."""
    wire, heading = TeamCommandWire(["quad1", "quad2"]), Heading(Time(sec=3), 1, 7)
    data = wire.write(heading, np.ones((2, 4)), limited=np.array([False, True]))
    assert wire.limited(data).tolist() == [False, True]
    message = deserialize_message(data, TeamCommand)
    assert [c.limited for c in message.commands] == [False, True]
    message.commands = message.commands[::-1]
    assert wire.limited(serialize_message(message)).tolist() == [False, True]
    assert wire.limited(wire.write(heading, np.ones((2, 4)))).tolist() == [False, False]


@pytest.mark.parametrize("wire", [TeamCommandWire(["quad1"]), TeamStateWire(["quad1"], ["cable1"])])
@pytest.mark.parametrize(
    "data", [b"\0\1\0\0", b"\0\1\0\0" + b"\xff" * 60, bytes(range(50)), b"\7" * 400]
)
def test_bytes_that_are_no_message_are_refused(wire, data):
    """No node ends because of such bytes, whoever publishes them."""
    with pytest.raises(
        ContractError, match=r"bytes are not a message of this type|no command for|has no body"
    ):
        wire.read(data, *([np.zeros((1, 13))] if isinstance(wire, TeamStateWire) else []))


def test_big_endian_is_left_to_rclpy():
    """A stamp is read in either byte order; the fast path takes little-endian only."""
    wire = TeamCommandWire(["quad1"])
    data = bytearray(wire.write(Heading(Time(sec=1, nanosec=2), 0, 0), np.zeros((1, 4))))
    data[1] = 0
    assert not wire.frozen.fits(bytes(data))
    assert stamp_in(bytes([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2])) == Time(sec=1, nanosec=2)
    assert doubles_of(bytes(data)).size == (len(data) - 4) // 8
