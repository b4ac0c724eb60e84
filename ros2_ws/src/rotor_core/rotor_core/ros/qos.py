"""Quality of service, by name."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _reliable(depth: int, durability: DurabilityPolicy = DurabilityPolicy.VOLATILE) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=durability,
    )


STATE = _reliable(10)
"""Clock, diagnostics, and what is for people."""

RECORDED = _reliable(200)
"""Odometry, joints and cables at the rate of topics: a recorder that gets no core for two seconds loses nothing."""

TEAM = _reliable(1000)
"""Team states and commands: every one counts, also for a recorder that has to wait for 0.2 s."""

COMMAND = _reliable(1)
"""Inputs of vehicles: only the newest counts."""

LATCHED = _reliable(1, DurabilityPolicy.TRANSIENT_LOCAL)
"""Paths and the like: a late subscriber gets the last one."""

TRAJECTORIES = _reliable(8, DurabilityPolicy.TRANSIENT_LOCAL)
"""Joint trajectories that are heard: several that are sent together, also by who latches one."""

PLAN = _reliable(200, DurabilityPolicy.TRANSIENT_LOCAL)
"""Plans of all entities, for late subscribers too: room for many before an entity's is lost."""

EVENT = _reliable(1000)
"""Hybrid events come in bursts."""

SERVICE = _reliable(200)
"""Requests to a simulator, and their answers: they wait while it goes into another world (ROS keeps ten)."""

TF = _reliable(100)
"""As tf2_ros publishes /tf."""

TF_STATIC = LATCHED
"""As tf2_ros publishes /tf_static."""

SENSOR = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=5, reliability=ReliabilityPolicy.BEST_EFFORT
)
"""Sensor data, as rmw names it."""
