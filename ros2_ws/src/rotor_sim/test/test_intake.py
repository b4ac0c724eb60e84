"""Commands that count: the newest that was heard in this epoch."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped

from rotor_core.config.loader import load_scenario
from rotor_core.messages.team_wire import Heading, TeamCommandWire
from rotor_sim.ros.inputs.intake import CommandIntake
from rotor_sim.simulation import Simulation

NOW = Time(sec=1)


@pytest.fixture
def world():
    """An intake without a graph: callbacks by their topics."""
    heard = {}
    simulation = Simulation(load_scenario("hover"))
    node = SimpleNamespace(count_publishers=lambda topic: 2, resolve_topic_name=lambda topic: topic)
    entities = SimpleNamespace(
        node=node,
        subscribe=lambda kind, topic, callback, profile, raw=False: heard.__setitem__(topic, callback)
    )  # fmt: skip
    health = SimpleNamespace(
        counts=dict.fromkeys(("rejected_commands", "stale_commands"), 0), answered=lambda: None
    )
    logger = SimpleNamespace(warning=lambda *_, **__: None)
    intake = CommandIntake(
        entities, simulation, SimpleNamespace(stamp=lambda: NOW, seconds=1.0), health, logger,
        np.zeros(1, np.int64),
    )  # fmt: skip
    return intake, heard["rotor/team_command"], simulation


def test_an_older_answer_does_not_replace_a_newer_one(world):
    intake, hear, simulation = world
    wire = TeamCommandWire(["quad1"])

    def answer(step, thrust, epoch=3):
        hear(wire.write(Heading(NOW, epoch, step), np.array([[thrust, 0.0, 0.0, 0.0]])))

    intake.begin(3, 7)
    answer(7, 2.0)
    assert intake.is_answered
    for step, epoch in ((6, 3), (0, 3), (8, 3), (7, 2)):
        answer(step, 0.5, epoch)
    assert intake.is_answered
    simulation.act(*intake.decision())
    assert simulation.applied[0, 0] == pytest.approx(2.0)
    answer(7, 2.0)
    assert not intake.contradicted
    answer(7, 1.5)  # said again: the newest counts, and somebody hears of it
    simulation.act(*intake.decision())
    assert simulation.applied[0, 0] == pytest.approx(1.5)
    assert intake.contradicted


def test_stamps_of_another_clock_are_told_of():
    """Commands act all the same; a stamp of the state, an older one, and none at all are as they should be."""
    told, heard = [], {}
    simulation = Simulation(load_scenario("hover").changed("command_input", "wrench"))
    node = SimpleNamespace(count_publishers=lambda topic: 1, resolve_topic_name=lambda topic: topic)
    entities = SimpleNamespace(
        node=node,
        subscribe=lambda kind, topic, callback, profile, raw=False: heard.__setitem__(
            topic, callback
        ),
    )
    logger = SimpleNamespace(warning=lambda text, **_: told.append(text))
    health = SimpleNamespace(counts={"rejected_commands": 0}, answered=lambda: None)
    time = SimpleNamespace(stamp=lambda: NOW, seconds=1.0)
    intake = CommandIntake(entities, simulation, time, health, logger, np.zeros(1, np.int64))
    intake.begin(0, 0)
    message = WrenchStamped()
    message.wrench.force.z = 0.3
    for stamp in (NOW, Time(nanosec=500_000_000), Time()):
        message.header.stamp = stamp
        heard["quad1/cmd/wrench"](message)
    assert told == []
    message.header.stamp = Time(sec=1_790_000_000)
    heard["quad1/cmd/wrench"](message)
    (text,) = told
    assert "1790000000.000 s is ahead of the simulation, 1.000 s" in text and "use_sim_time" in text
    assert intake.is_answered


def test_who_answered_before_a_save_has_to_come_again(world):
    """A state that was answered while it stood is not answered where it is taken up; what acts goes on."""
    intake, hear, _ = world
    wire = TeamCommandWire(["quad1"])
    intake.begin(3, 7)
    hear(wire.write(Heading(NOW, 3, 7), np.array([[2.0, 0.0, 0.0, 0.0]])))
    assert intake.is_answered
    intake.forget_answers()
    assert intake.heard and not intake.is_answered
    assert intake.decision()[0][0, 0] == 2.0


@pytest.mark.parametrize(
    ("asked", "turns"),
    [((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)), ((0.0, 1306.0, 1306.0, 2500.0), (576.0, 1306.0, 1306.0, 1717.4))],
)  # fmt: skip
def test_motors_are_limited_one_by_one_and_can_be_off(asked, turns):
    """What one cannot turn, no other does in its place; all at zero are motors that are off."""
    actuators = pytest.importorskip("actuator_msgs.msg").Actuators
    from rotor_sim.ros.inputs.commands import subscribe_motor_speeds

    heard, accepted = {}, []
    simulation = Simulation(load_scenario("hover"))
    entities = SimpleNamespace(
        subscribe=lambda kind, topic, callback, profile: heard.__setitem__(topic, callback)
    )
    subscribe_motor_speeds(
        entities, simulation, lambda vehicle, wrench, stamp: accepted.append(wrench), print
    )
    heard["quad1/cmd/motor_speed"](actuators(velocity=list(asked)))
    simulation.act(accepted[0][None])
    np.testing.assert_allclose(simulation.rotor_speeds()[0], turns, rtol=1e-3)
