"""Nodes that hear anything: they live on, ignore what they cannot use, count it, and fly."""

import contextlib
import time

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from fuzz import budget
from fuzz.flying_team import FlyingTeam
from fuzz.message_values import draw
from fuzz.verdicts import ACCEPTED, Tally
from rclpy.serialization import serialize_message

SCENARIOS = ["two_dragonflies_bar", "arm_slung_load", "delivery"]
"""By the seed: a team with cables, an arm, batteries and a mission."""

NEEDED = {
    "/rotor/team_command",
    "/rotor/team_state",
    "/rotor/plan",
    "/rotor/goal/feedback",
    "/goal_pose",
    "/rotor/recording",
    "/rotor/scene",
}
BURSTS = 10
FLOOD, FLOOD_SECONDS = 10000, 1.5


@pytest.mark.timeout(budget.TIME_LIMIT)
def test_whatever_nodes_hear_they_fly_on(tmp_path):
    tally = Tally("messages")
    numbers = budget.numbers("messages")
    size = max(1, len(numbers) // BURSTS)
    scenario = SCENARIOS[budget.SEED % len(SCENARIOS)]
    with graph.bench(tmp_path) as bench:
        team = FlyingTeam(bench, scenario, tmp_path)
        bench.start("visualizer", scenario=scenario)
        bench.until(lambda: set(team.topics()) >= NEEDED, "everybody to be known")
        bench.spin(1.0)
        topics = team.topics()
        team.listen(topics)
        names = sorted(topics)
        publishers = {
            t: bench.node.create_publisher(kind, t, profile)
            for t, (kind, profile) in topics.items()
        }
        bench.spin(0.3)
        for first in range(0, len(numbers), size):
            burst = numbers[first : first + size]
            sent = []
            for number in burst:
                rng = budget.stream("messages", number)
                topic = names[int(rng.integers(len(names)))]
                message = draw(rng, topics[topic][0], team.good.get(topic), team.words)
                sent.append((number, topic))
                publish(publishers[topic], message)
                bench.executor.spin_once(timeout_sec=0.0)
            team.pause(0.2)
            try:
                team.check()
            except AssertionError as error:
                tally.fail(burst[0], f"{error}; {team.trace()} after {sent}")
                break
            tally.count(ACCEPTED, len(burst))
        else:
            flood(bench, team, topics, publishers)
            team.check()
            bench.spin(1.2)
            assert team.count("rejected_commands") > 0
    tally.close()


def publish(publisher, message):
    """Bytes that the middleware of the publisher refuses reach nobody."""
    with contextlib.suppress(RuntimeError):
        publisher.publish(message)


def flood(bench, team, topics, publishers):
    """Ten thousand messages as fast as they go out: invalid commands, and pushes that are not finite."""
    rng = budget.stream("messages", -1 % 2**32)
    for topic in ("/rotor/team_command", f"/{team.vehicle}/wrench_external"):
        data = [draw(rng, topics[topic][0], team.good.get(topic), team.words) for _ in range(50)]
        data = [m if isinstance(m, bytes) else serialize_message(m) for m in data]
        end = time.monotonic() + FLOOD_SECONDS
        for k in range(FLOOD):
            publish(publishers[topic], data[k % len(data)])
            if time.monotonic() > end:
                break
