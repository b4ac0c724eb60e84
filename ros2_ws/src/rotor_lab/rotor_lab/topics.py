"""What is recorded of a scenario.

Topics, types, and whether a late subscriber gets the last message.
"""

from __future__ import annotations

from dataclasses import dataclass

from rotor_core.config.schema import Scenario
from rotor_core.config.teams import teams


@dataclass(frozen=True)
class Topic:
    """A recorded topic.

    Attributes:
        name: absolute name.
        type: e.g. ``nav_msgs/msg/Odometry``.
        latched: transient local.
        stamp_at: where the stamp begins in the serialized message (after the encapsulation and, for
            lists, their length).
    """

    name: str
    type: str
    latched: bool = False
    stamp_at: int = 4


def recorded_topics(scenario: Scenario) -> list[Topic]:
    """Topics of a scenario, in a fixed order."""
    out = [
        Topic("/clock", "rosgraph_msgs/msg/Clock"),
        Topic("/tf", "tf2_msgs/msg/TFMessage", stamp_at=8),
        Topic("/tf_static", "tf2_msgs/msg/TFMessage", latched=True, stamp_at=8),
        Topic("/rotor/team_state", "rotor_msgs/msg/TeamState"),
        Topic("/rotor/team_command", "rotor_msgs/msg/TeamCommand"),
        Topic("/rotor/plan", "rotor_msgs/msg/PolynomialTrajectory", latched=True),
        Topic("/rotor/events", "rotor_msgs/msg/HybridEvent"),
        Topic("/rotor/markers", "visualization_msgs/msg/MarkerArray", stamp_at=8),
        Topic("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"),
    ]
    for entity in scenario.model.entities:
        out += [
            Topic(f"/{entity.name}/{kind}", "nav_msgs/msg/Odometry")
            for kind in ("odom", "ground_truth")
        ]
    out += [
        Topic(f"/{team.entity}/reference", "rotor_msgs/msg/Reference")
        for team in teams(scenario.model)
    ]
    if scenario.model.cables:
        out.append(Topic("/cables", "rotor_msgs/msg/CableStates"))
    return out
