"""Recorded topics of a scenario.

Names, types, and the quality of service that their publishers offer.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace

from rotor_core.config.schema import Scenario
from rotor_core.config.teams import teams
from rotor_sim.plant.heavy_cables import heavy_names, shape_topic
from rotor_sim.sensing.suite import sensors_of

SHAPE = "geometry_msgs/msg/PoseArray"
"""Type of the shapes of heavy cables."""

COMMANDS = {
    "wrench": "geometry_msgs/msg/WrenchStamped",
    "motor_speed": "actuator_msgs/msg/Actuators",
    "swashplate": "rotor_msgs/msg/Swashplate",
}
"""Types of the commands of single vehicles, by ``command_input``."""

TEAM_STATE, TEAM_COMMAND = "rotor/team_state", "rotor/team_command"

JOINT_EFFORTS, JOINTS = "cmd/joint_efforts", "cmd/joints"
"""Names of efforts of joints under that of their vehicle: of all in their order, or by their names."""

REFERENCE_PARTS = ("positions", "velocities", "accelerations")
"""Fields of a point of a JointTrajectory, in the order of a joint's reference in a flight."""

DIAGNOSTICS = "/diagnostics"
"""On which everybody tells, drivers and other worlds too."""


@dataclass(frozen=True)
class Topic:
    """A recorded topic.

    Attributes:
        name: relative to the namespace of the nodes, or absolute.
        type: e.g. ``nav_msgs/msg/Odometry``.
        latched: transient local.
        depth: of a latched topic, how many messages a late subscriber gets (as in rotor_core/ros/qos.py).
        best_effort: sensor data.
        source: the node that publishes it; empty: whoever wants to.
        stamp_at: where the stamp begins in the serialized message (after the encapsulation and, for
            lists, their length); None: it has none.
    """

    name: str
    type: str
    latched: bool = False
    best_effort: bool = False
    source: str = "simulator"
    stamp_at: int | None = 4
    depth: int = 1


def laboratory_topics(scenario: Scenario) -> list[Topic]:
    """Topics of a flight in the laboratory: what a real hall gives, and the truth apart."""
    pose, transform = "geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/TransformStamped"
    here, common = "laboratory", {t.name: t for t in recorded_topics(scenario)}
    out = [replace(common[name], source=here) for name in ("clock", "/diagnostics")]
    out += [common[TEAM_COMMAND], common["rotor/plan"]]
    for name in (e.name for e in scenario.model.entities):
        out += [
            Topic(f"vrpn_mocap/{name}/pose", pose, best_effort=True, source=here),
            Topic(f"vicon/{name}/{name}", transform, source=here),
            Topic(f"laboratory/{name}/ground_truth", "nav_msgs/msg/Odometry", source=here),
        ]
    return [*out, replace(common[TEAM_STATE], source=here)]


def command_topic(vehicle: str, command_input: str, kind: str) -> Topic:
    """Commands of a vehicle that somebody else's controller sends.

    Waited for as the simulator waits; recorded at the simulated time at which they come, because stamps may be missing.
    """
    return Topic(f"{vehicle}/cmd/{command_input}", kind, source="simulator", stamp_at=None)


def _orders(scenario: Scenario) -> list[Topic]:
    """What anybody may tell the simulator beside commands; like these recorded at the time at which it comes."""
    model, number = scenario.model, "std_msgs/msg/Float64"
    out = [(f"{e.name}/wrench_external", "geometry_msgs/msg/WrenchStamped") for e in model.entities]
    for name, cable in zip(model.cable_names, model.cables, strict=True):
        if cable.winch is not None:
            out.append((f"{name}/cmd/rate", number))
            if cable.winch.drum is not None:
                out.append((f"{name}/cmd/torque", number))
    for vehicle in model.vehicles:
        if vehicle.moving_joints and scenario.command_input != "team":
            out.append((f"{vehicle.name}/{JOINT_EFFORTS}", "std_msgs/msg/Float64MultiArray"))
        if vehicle.moving_joints:
            out.append((f"{vehicle.name}/{JOINTS}", "sensor_msgs/msg/JointState"))
    return [Topic(name, kind, source="", stamp_at=None) for name, kind in out]


def recorded_topics(scenario: Scenario) -> list[Topic]:
    """Topics of a scenario, in a fixed order."""
    model = scenario.model
    markers = "visualization_msgs/msg/MarkerArray"
    out = [
        Topic("clock", "rosgraph_msgs/msg/Clock"),
        Topic("tf", "tf2_msgs/msg/TFMessage", stamp_at=8),
        Topic("tf_static", "tf2_msgs/msg/TFMessage", latched=True, stamp_at=8),
        Topic(TEAM_COMMAND, "rotor_msgs/msg/TeamCommand", source="controller"),
        Topic(
            "rotor/plan",
            "rotor_msgs/msg/PolynomialTrajectory",
            latched=True,
            source="planner",
            depth=200,
        ),
        Topic("rotor/events", "rotor_msgs/msg/HybridEvent"),
        Topic("rotor/markers", markers, source="visualizer", stamp_at=8),
        Topic("rotor/markers_static", markers, latched=True, source="visualizer", stamp_at=8),
        Topic("rotor/markers_plan", markers, latched=True, source="planner", stamp_at=8),
        Topic(DIAGNOSTICS, "diagnostic_msgs/msg/DiagnosticArray"),
    ]
    for entity in model.entities:
        out += [
            Topic(f"{entity.name}/{kind}", "nav_msgs/msg/Odometry")
            for kind in ("odom", "ground_truth")
        ]
    for vehicle in model.vehicles:
        if vehicle.helicopter is not None:
            kind = "rotor_msgs/msg/RotorState"
            out.append(Topic(f"{vehicle.name}/main_rotor", kind, best_effort=True))
        elif importlib.util.find_spec("actuator_msgs") is not None:
            kind = "actuator_msgs/msg/Actuators"
            out.append(Topic(f"{vehicle.name}/motor_speed", kind, best_effort=True))
        if vehicle.rotors.motor is not None:
            out.append(
                Topic(f"{vehicle.name}/motors", "rotor_msgs/msg/MotorState", best_effort=True)
            )
        if vehicle.battery is not None:
            kind = "sensor_msgs/msg/BatteryState"
            out.append(Topic(f"{vehicle.name}/battery", kind, best_effort=True))
        if kind := COMMANDS.get(scenario.command_input):
            out.append(command_topic(vehicle.name, scenario.command_input, kind))
    out.append(Topic("robot_description", "std_msgs/msg/String", latched=True, stamp_at=None))
    for vehicle in model.vehicles:
        kind, plan = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"
        if vehicle.moving_joints or vehicle.helicopter is not None:
            out.append(Topic(f"{vehicle.name}/joint_states", kind))
        if vehicle.moving_joints:
            out += [
                Topic(f"{vehicle.name}/joint_trajectory", plan, latched=True, source="planner"),
                Topic(f"{vehicle.name}/joint_reference", plan, source="controller"),
            ]
    if scenario.mission is not None:
        kind = "diagnostic_msgs/msg/DiagnosticStatus"
        out.append(Topic("rotor/mission", kind, latched=True, source="planner", stamp_at=None))
    path = "nav_msgs/msg/Path"
    for team in teams(model):
        name = team.entity
        out += [
            Topic(f"{name}/reference", "rotor_msgs/msg/Reference", source="planner"),
            Topic(f"{name}/reference_pose", "geometry_msgs/msg/PoseStamped", source="planner"),
            Topic(f"{name}/path", path, latched=True, source="visualizer"),
            Topic(f"{name}/path_reference", path, latched=True, source="planner"),
        ]
    if model.cables:
        out.append(Topic("cables", "rotor_msgs/msg/CableStates"))
        out.append(Topic("rotor/scene", "rotor_msgs/msg/Scene"))  # which cables were cut before
        out += [Topic(shape_topic(name), SHAPE) for name in heavy_names(model)]
    for sensor, keys in sensors_of(scenario):
        out += [Topic(c.topic, c.message, best_effort=True) for c in sensor.channels(keys, model)]
    out += _orders(scenario)
    # the last: whoever hears it is known to the simulator with all its earlier subscriptions
    out.append(Topic(TEAM_STATE, "rotor_msgs/msg/TeamState"))
    return out
