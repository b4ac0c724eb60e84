"""Messages to arrays and back, without a running graph: round trips, and malformed messages refused by name."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rotor_msgs", reason="needs the built messages")

from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message
from rotor_msgs.msg import ActuatorCommand, PolynomialTrajectory, TeamCommand, TeamState

from rotor_core.errors import ContractError
from rotor_core.messages import convert
from rotor_core.messages.team_wire import Heading, TeamStateWire
from rotor_core.plans.plan import AXES, Plan
from rotor_core.reference import REFERENCE

NAMES = ["quad1", "quad2"]
finite = st.floats(-1e6, 1e6)


@settings(deadline=None)
@given(st.floats(0.0, 1e9), st.integers(0, 10**12))
def test_stamps_are_exact_to_the_nanosecond(seconds, offset):
    stamp = convert.stamp_from_seconds(seconds, offset_ns=offset)
    assert 0 <= stamp.nanosec < 10**9
    assert stamp.sec * 10**9 + stamp.nanosec - offset == round(seconds * 1e9)


def test_distances_of_stamps_do_not_depend_on_when():
    for start in (1, 17, 10**9):
        a, b = Time(sec=start, nanosec=999_999_999), Time(sec=start + 1, nanosec=4_999_999)
        assert convert.seconds_between(a, b) == 0.005
        assert convert.seconds_between(b, a) == -0.005


@settings(deadline=None)
@given(st.lists(st.lists(finite, min_size=4, max_size=4), min_size=2, max_size=2))
def test_commands_round_trip(rows):
    state = TeamState(epoch=3, step=7)
    message = convert.team_command(state, NAMES, np.array(rows))
    assert (message.epoch, message.step) == (3, 7)
    np.testing.assert_array_equal(convert.wrenches_from_command(message, NAMES), rows)
    message.commands.reverse()
    np.testing.assert_array_equal(convert.wrenches_from_command(message, NAMES), rows)


def test_states_round_trip_in_any_order():
    rng = np.random.default_rng(0)
    motion = rng.normal(size=(2, 19))
    heading = Heading(Time(sec=1), 0, 0)
    data = TeamStateWire(NAMES, []).write(heading, motion, np.zeros(0, bool), np.zeros((0, 6)))
    bodies = list(deserialize_message(data, TeamState).bodies)
    for order in (bodies, bodies[::-1]):
        out = convert.states_from_team(TeamState(bodies=order), NAMES, np.zeros((2, 13)))
        np.testing.assert_array_equal(out, motion[:, :13])
    with pytest.raises(ContractError, match="has no body 'quad3'; it has quad1, quad2"):
        convert.states_from_team(TeamState(bodies=bodies), [*NAMES, "quad3"], np.zeros((3, 13)))


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(0, 7), st.integers(0, 2**32 - 1))
def test_plans_round_trip(segments, degree, seed):
    rng = np.random.default_rng(seed)
    plan = Plan(
        rng.uniform(0.1, 2.0, segments),
        rng.normal(size=(segments, AXES, degree + 1)),
        0.5,
        rng.normal(size=3),
    )
    again = convert.plan_from_message(convert.plan_message("payload", plan, Time(sec=1), 2))
    for name in ("durations", "coefficients", "rotation"):
        np.testing.assert_array_equal(getattr(again, name), getattr(plan, name))
    assert again.radius == plan.radius


def test_references_round_trip():
    reference = np.random.default_rng(1).normal(size=REFERENCE)
    reference[-1] = 0.0  # yaw acceleration is not in the message
    again = convert.reference_from_message(convert.reference_message("payload", reference, Time()))
    np.testing.assert_array_equal(again, reference)


def wrench(name="quad1", **fields):
    return ActuatorCommand(name=name, **fields)


@pytest.mark.parametrize(
    "commands, message",
    [
        ([], "no command for quad1, quad2"),
        ([wrench()], "no command for quad2"),
        ([wrench(), wrench()], "'quad1' is commanded twice"),
        ([wrench("drone"), wrench("quad2")], "no vehicle 'drone'; known: quad1, quad2"),
        ([wrench(mode=ActuatorCommand.ROTOR_SPEED), wrench("quad2")], "mode must be WRENCH"),
        (
            [wrench(thrust=float("nan")), wrench("quad2")],
            "'quad1': thrust and moment must be finite",
        ),
        ([wrench(thrust=float("inf")), wrench("quad2")], "must be finite"),
    ],
)
def test_malformed_commands_are_refused(commands, message):
    with pytest.raises(ContractError, match=message):
        convert.wrenches_from_command(TeamCommand(commands=commands), NAMES)


@pytest.mark.parametrize(
    "fields, message",
    [
        (
            {"durations": [1.0], "degree": 2, "coefficients": [0.0] * 20},
            "need 21 coefficients, got 20",
        ),
        ({"durations": [], "degree": 0, "coefficients": []}, "at least one segment"),
        ({"durations": [1.0], "degree": 0, "coefficients": [float("nan")] * 7}, "must be finite"),
        ({"durations": [-1.0], "degree": 0, "coefficients": [0.0] * 7}, "durations > 0"),
        ({"durations": [1.0], "degree": 2**31, "coefficients": [0.0] * 7}, "coefficients"),
    ],
)
def test_malformed_plans_are_refused(fields, message):
    with pytest.raises(ContractError, match=message):
        convert.plan_from_message(PolynomialTrajectory(entity="payload", **fields))
