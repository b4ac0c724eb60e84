"""Arms and rotors with blades as topics: joint states, the frames of links, and the description that RViz draws."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from rotor_core.config.vehicles.arm import link_name
from rotor_core.config.vehicles.rotor_tree import rotor_tree
from rotor_core.config.vehicles.urdf_export import scenario_urdf
from rotor_core.math.rotations import body_axes
from rotor_core.messages.convert import frame_of
from rotor_core.ros import qos
from rotor_core.ros.frozen_topic import FrozenTopic
from rotor_core.state import State
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.simulation import Simulation


class ArmPublisher:
    """``<vehicle>/joint_states`` and ``robot_description``.

    Attributes:
        frames: parent and child frame of every joint, vehicle by vehicle.
    """

    def __init__(self, entities: Entities, simulation: Simulation) -> None:
        self._simulation = simulation
        self.frames: list[tuple[str, str]] = []
        bodies = simulation.body_names
        rows: list[tuple[int, int]] = []
        self._states: list[tuple[FrozenTopic, slice]] = []
        first = 0
        vehicles = simulation.scenario.model.vehicles
        heads = iter(simulation.helicopters.joints)
        for vehicle in vehicles:
            joints, moving = vehicle.joints, vehicle.moving_joints
            own = slice(first, first + len(moving))
            first = own.stop
            if vehicle.helicopter is not None:
                _, joints = rotor_tree(vehicle.helicopter.main_rotor)
                moving, own = joints, next(heads)
            for joint in joints:
                pair = link_name(vehicle.name, joint.parent), link_name(vehicle.name, joint.child)
                self.frames.append((frame_of(pair[0]), frame_of(pair[1])))
                rows.append((bodies.index(pair[0]), bodies.index(pair[1])))
            if not moving:
                continue
            n = len(moving)
            message = JointState(name=[f"{vehicle.name}/{j.name}" for j in moving])
            message.position, message.velocity, message.effort = [[0.0] * n] * 3
            paths = [
                f"{what}[{i}]" for what in ("position", "velocity", "effort") for i in range(n)
            ]
            publisher = entities.publisher(JointState, f"{vehicle.name}/joint_states", qos.RECORDED)
            self._states.append((FrozenTopic(publisher, message, paths), own))
        self._rows = np.array(rows, int).reshape(-1, 2)
        self._description = entities.publisher(String, "robot_description", qos.LATCHED)

    def describe(self) -> None:
        """Publish the description of the whole scenario."""
        self._description.publish(String(data=scenario_urdf(self._simulation.scenario)))

    def joint_states(self, stamp: Time) -> None:
        """Publish angles, rates and efforts of all arms and rotors with blades."""
        if not self._states:
            return
        joints = self._simulation.engine.joints
        table = np.stack([joints.angles, joints.rates, joints.told_efforts])
        for topic, own in self._states:
            topic.send(stamp, table[:, own].ravel())

    def poses(self) -> np.ndarray:
        """Position and attitude (w first) of every link in its parent, (n, 7)."""
        motion = self._simulation.engine.motion
        parents, children = motion[self._rows[:, 0]], motion[self._rows[:, 1]]
        out = np.empty((len(self._rows), 7))
        out[:, :3] = body_axes(State(parents).attitude, children[:, :3] - parents[:, :3])
        w, v = parents[:, 3], -parents[:, 4:7]
        a, u = children[:, 3], children[:, 4:7]
        out[:, 3] = w * a - np.einsum("ni,ni->n", v, u)
        out[:, 4:7] = w[:, None] * u + a[:, None] * v + np.cross(v, u)
        return out
