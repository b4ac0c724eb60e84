"""Wrench of all cables on a payload, their attachment points as odometry, shapes of heavy ones."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, PoseArray, WrenchStamped
from nav_msgs.msg import Odometry

from rotor_core.config.teams import Team, attachment_points, teams
from rotor_core.math.rotations import rotation_matrices
from rotor_core.messages.cdr import vector_paths
from rotor_core.messages.convert import WORLD_FRAME, frame_of
from rotor_core.ros import qos
from rotor_core.ros.frozen_topic import FrozenTopic
from rotor_core.state import State
from rotor_sim.plant.heavy_cables import heavy_names, shape_topic
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.ros.topics.world import ODOMETRY_PATHS
from rotor_sim.simulation import Simulation


class _Team:
    """One payload on cables: rows, points and topics."""

    def __init__(self, entities: Entities, simulation: Simulation, team: Team) -> None:
        model, payload = simulation.scenario.model, team.payload or ""
        self.row = model.index(payload)
        self.points = attachment_points(model, team)
        self.cables = list(team.cables)
        starts = [model.cables[k].a == v for k, v in zip(team.cables, team.vehicles, strict=True)]
        self.signs = np.where(starts, 1.0, -1.0)
        """Directions are from end a to end b: +1 where the vehicle is at end a."""
        self.topics = []
        for i, vehicle in enumerate(team.vehicles):
            message = Odometry(child_frame_id=f"{payload}/attach_{i + 1}")
            message.header.frame_id = WORLD_FRAME
            publisher = entities.publisher(Odometry, f"{vehicle}/attach", qos.STATE)
            self.topics.append(FrozenTopic(publisher, message, ODOMETRY_PATHS))
        wrench = WrenchStamped()
        wrench.header.frame_id = frame_of(payload)
        publisher = entities.publisher(WrenchStamped, f"{payload}/wrench_cables", qos.STATE)
        wrenches = [*vector_paths("wrench.force"), *vector_paths("wrench.torque")]
        self.topics.append(FrozenTopic(publisher, wrench, wrenches))


def _shape(entities: Entities, name: str, masses: int) -> FrozenTopic:
    """Topic of a heavy cable: places of its masses from end a to end b."""
    message = PoseArray(poses=[Pose() for _ in range(masses)])
    message.header.frame_id = WORLD_FRAME
    publisher = entities.publisher(PoseArray, shape_topic(name), qos.RECORDED)
    paths = [p for i in range(masses) for p in vector_paths(f"poses[{i}].position")]
    return FrozenTopic(publisher, message, paths)


class CableTopics:
    """``<vehicle>/attach``, ``<payload>/wrench_cables``, ``<cable>/shape``; nothing is computed if nobody listens."""

    def __init__(self, entities: Entities, simulation: Simulation) -> None:
        self._simulation = simulation
        self._teams = [
            _Team(entities, simulation, team)
            for team in teams(simulation.scenario.model)
            if team.payload is not None and team.cables
        ]
        system = simulation.engine.system
        names = heavy_names(simulation.scenario.model)
        self._shapes = [
            (list(strand.bodies), _shape(entities, name, len(strand.bodies)))
            for name, strand in zip(names, system.strands, strict=True)
        ]

    def publish(self, stamp: Time) -> None:
        """Publish to whoever listens."""
        engine = self._simulation.engine
        for masses, topic in self._shapes:
            topic.send(stamp, engine.motion[masses, :3].ravel())
        for team in self._teams:
            if not any(topic.sender.listeners() for topic in team.topics):
                continue
            z = self._simulation.motion[team.row]
            R = rotation_matrices(State(z).attitude[None])[0]
            arms = team.points @ R.T
            places = State(z).position + arms
            speeds = (State(z).velocity @ R) + np.cross(State(z).body_rate, team.points)
            for topic, place, speed in zip(team.topics[:-1], places, speeds, strict=True):
                topic.send(
                    stamp, np.concatenate([place, State(z).attitude, speed, State(z).body_rate])
                )
            tensions = np.where(
                team.signs > 0.0, engine.tensions_at_b[team.cables], engine.tensions[team.cables]
            )
            pulls = -tensions * team.signs
            ends = np.where(
                team.signs[:, None] > 0.0,
                engine.directions_at_b[team.cables],
                engine.directions[team.cables],
            )
            forces = pulls[:, None] * ends
            force, torque = forces.sum(axis=0), np.cross(arms, forces).sum(axis=0)
            team.topics[-1].send(stamp, np.append(R.T @ force, R.T @ torque))
