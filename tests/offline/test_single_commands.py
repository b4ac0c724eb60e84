"""Commands of single vehicles in recordings: those that the simulator took, as long as they acted."""

from types import SimpleNamespace

import numpy as np
import pytest

from rotor_core.config.loader import load_scenario
from rotor_core.vehicles.rotors import rotor_set
from rotor_recordings.formats.message_store import message_store
from rotor_recordings.formats.message_table import MessageTable
from rotor_recordings.motion.single_commands import SingleCommands
from rotor_sim.actuation.timeout import idle_wrenches

WRENCH, SPEEDS = "geometry_msgs/msg/WrenchStamped", "actuator_msgs/msg/Actuators"


def wrenches(rows, frame="", stamp=0):
    """Messages with thrusts and moments (n, 4)."""
    store = message_store([WRENCH])
    kinds = store.types
    vector = kinds["geometry_msgs/msg/Vector3"]
    header = kinds["std_msgs/msg/Header"](kinds["builtin_interfaces/msg/Time"](stamp, 0), frame)
    blank = kinds["geometry_msgs/msg/Wrench"](vector(0.0, 0.0, 0.0), vector(0.0, 0.0, 0.0))
    table = MessageTable.like(store, kinds[WRENCH](header, blank), len(rows))
    table["wrench.force.z"] = rows[:, 0]
    table.set_vector("wrench.torque", rows[:, 1:])
    return table


def ns(*seconds):
    return np.rint(np.array(seconds) * 1e9).astype(np.int64)


@pytest.mark.parametrize("stamp", [0, 1, 10**9 // 2])
def test_commands_count_from_when_they_came(stamp):
    """Stamps may be empty or those of a wall clock: of a flight with empty ones every row had the last command."""
    heard = SingleCommands(load_scenario("external_controller"))
    rows = np.array([[2.0, 0.1, 0.0, 0.0], [3.0, 0.0, 0.2, 0.0]])
    heard.hear("quad1", ns(1.0, 1.05), wrenches(rows, stamp=stamp))
    got = heard.at(ns(0.99, 1.0, 1.04, 1.05, 1.1))[0][:, 0]
    assert np.isnan(got[0]).all()
    np.testing.assert_array_equal(got[1:], rows[[0, 0, 1, 1]])


def test_commands_end_as_the_time_out_says():
    """Held for 0.1 s, then for 0.5 s more, then rotors at their slowest."""
    scenario = load_scenario("external_controller")
    heard = SingleCommands(scenario)
    heard.hear("quad1", ns(1.0), wrenches(np.array([[2.0, 0.0, 0.0, 0.0]])))
    got = heard.at(ns(1.05, 1.55, 1.65))[0][:, 0]
    np.testing.assert_array_equal(got[:2, 0], 2.0)
    np.testing.assert_array_equal(got[2], idle_wrenches(scenario.model)[0])


@pytest.mark.parametrize(
    "table",
    [
        wrenches(np.array([[np.nan, 0.0, 0.0, 0.0]])),
        wrenches(np.array([[1e12, 0.0, 0.0, 0.0]])),
        wrenches(np.array([[1.0, 0.0, 0.0, 0.0]]), frame="elsewhere"),
    ],
)
def test_refused_commands_do_not_count(table):
    heard = SingleCommands(load_scenario("external_controller"))
    good = wrenches(np.array([[2.0, 0.0, 0.0, 0.0]]), frame="quad1/base_link")
    heard.hear("quad1", ns(1.0), good)
    heard.hear("quad1", ns(1.01), table)
    np.testing.assert_array_equal(heard.at(ns(1.02))[0][0, 0], [2.0, 0.0, 0.0, 0.0])


def test_speeds_of_motors():
    """Those that each motor can turn; messages for another number of rotors, or backwards, are refused."""
    pytest.importorskip("actuator_msgs", reason="their messages are not known")
    store = message_store([SPEEDS])
    kinds = store.types
    header = kinds["std_msgs/msg/Header"](kinds["builtin_interfaces/msg/Time"](0, 0), "")
    scenario = load_scenario("external_controller").changed("command_input", "motor_speed")
    rotors = rotor_set(scenario.model.vehicles[0].rotors)
    heard = SingleCommands(scenario)

    def told(when, *speeds):
        message = kinds[SPEEDS](header, np.zeros(0), np.array(speeds, float), np.zeros(0))
        heard.hear("quad1", ns(when), MessageTable.like(store, message, 1))

    told(1.0, 500.0, 500.0, 500.0, 500.0)
    told(1.01, 500.0, 500.0)
    told(1.02, -500.0, 500.0, 500.0, 500.0)
    wanted = rotors.mixing @ np.clip(
        np.full(4, rotors.thrust_per_speed2 * 500.0**2), *rotors.thrust_limits
    )
    np.testing.assert_allclose(heard.at(ns(1.03))[0][0, 0], wanted)
    told(1.04, 0.0, 0.0, 0.0, 0.0)
    np.testing.assert_array_equal(heard.at(ns(1.05))[0][0, 0], 0.0)


def test_efforts_of_joints_are_held_and_end_with_the_commands_of_their_vehicle():
    """All in their order, or some by their names; what the simulator refuses does not count."""
    heard = SingleCommands(load_scenario("arm_coupled").changed("command_input", "wrench"))
    heard.hear("am1", ns(1.0, 1.1), wrenches(np.tile([74.0, 0.0, 0.0, 0.0], (2, 1))))
    heard.hear_efforts("am1", int(1.02e9), SimpleNamespace(data=[-2.5, -1.25]))
    heard.hear_efforts("am1", int(1.03e9), SimpleNamespace(data=[1.0]))
    heard.hear_efforts("am1", int(1.03e9), SimpleNamespace(data=[np.nan, 0.0]))
    by_name = SimpleNamespace(name=["joint2"], position=[], velocity=[], effort=[0.5])
    heard.hear_efforts("am1", int(1.05e9), by_name)
    efforts = heard.at(ns(1.0, 1.02, 1.04, 1.05, 1.15, 2.0))[1]
    told = [[0.0, 0.0], [-2.5, -1.25], [-2.5, -1.25], [-2.5, 0.5], [-2.5, 0.5], [0.0, 0.0]]
    np.testing.assert_array_equal(efforts, told)


def test_efforts_before_a_late_recording_are_not_known():
    heard = SingleCommands(load_scenario("arm_coupled").changed("command_input", "wrench"))
    heard.hear("am1", ns(20.0), wrenches(np.array([[74.0, 0.0, 0.0, 0.0]])))
    heard.hear_efforts("am1", int(20.02e9), SimpleNamespace(data=[1.0, 2.0]))
    efforts = heard.at(ns(20.0, 20.01, 20.02))[1]
    assert np.isnan(efforts[:2]).all() and efforts[2].tolist() == [1.0, 2.0]
