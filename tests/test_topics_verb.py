"""`./rotor topics` beside a running graph."""

from __future__ import annotations

import re

import graph
import pytest
from rotor_msgs.msg import CableStates
from ruamel.yaml import YAML

from rotor.graph.topics import text_of
from rotor_core.ros import qos


def test_topics_are_listed_printed_and_measured(tmp_path, capfd, monkeypatch):
    """In the process of the test, which is in the domain of its nodes."""
    from rotor.graph import topics
    from rotor_core.errors import RotorError

    with graph.bench(tmp_path) as bench:
        for name in ("simulator", "planner", "controller"):
            bench.start(name, scenario="dragonfly_point_mass")
        monkeypatch.setenv("ROS_DOMAIN_ID", str(bench.node.context.get_domain_id()))
        heard = bench.collect(CableStates, "cables", qos.STATE)
        bench.until(lambda: len(heard) > 5, "cables")
        assert topics.list_topics() == 0
        listed = capfd.readouterr().out
        assert re.search(r"^/cables +rotor_msgs/msg/CableStates +1 to \d", listed, re.M)
        assert topics.echo("cables", 2) == 0
        first, second = (YAML(typ="safe").load(t) for t in capfd.readouterr().out.split("---")[:2])
        assert first["cables"][0]["name"] == "cable1" and first["cables"][0]["taut"] is True
        assert second["header"]["stamp"] != first["header"]["stamp"]
        assert topics.rate("/quad1/odom", 3.2) == 0
        hz = [float(line.split()[0]) for line in capfd.readouterr().out.splitlines()]
        assert len(hz) >= 2 and 80.0 < hz[-1] < 120.0
        with pytest.raises(
            RotorError, match=r"/cabels: nobody publishes it; did you mean \"/cables\""
        ):
            topics.echo("/cabels", 1)


def test_messages_are_yaml():
    from geometry_msgs.msg import PoseStamped
    from rotor_msgs.msg import CableState

    message = CableStates(cables=[CableState(name="a: b", tension=1.5), CableState(name="c")])
    read = YAML(typ="safe").load(text_of(message))
    assert [c["name"] for c in read["cables"]] == ["a: b", "c"] and read["cables"][0][
        "tension"
    ] == 1.5
    pose = PoseStamped()
    pose.pose.position.x = 0.1
    assert YAML(typ="safe").load(text_of(pose))["pose"]["position"]["x"] == 0.1
