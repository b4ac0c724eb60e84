"""Main rotors of helicopters as topics: ``<vehicle>/main_rotor``."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from rotor_msgs.msg import RotorState

from rotor_core.messages.convert import frame_of
from rotor_core.ros import qos
from rotor_core.ros.frozen_topic import FrozenTopic
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.shapes.tip_path import by_hinge
from rotor_sim.simulation import Simulation

SCALARS = (
    "azimuth", "speed", "thrust", "torque", "engine_torque", "engine_power", "inflow", "collective", "lateral_cyclic",
    "longitudinal_cyclic", "tail_force",
)  # fmt: skip
HINGES = ("pitch", "flap", "lag")


class RotorTopics:
    """Publishers of all main rotors of one simulated world."""

    def __init__(self, entities: Entities, simulation: Simulation) -> None:
        self._simulation = simulation
        self._topics = []
        for head in simulation.helicopters.heads:
            name, rotor = simulation.names[head.vehicle], head.helicopter.main_rotor
            message = RotorState()
            message.header.frame_id = frame_of(name)
            paths = list(SCALARS)
            for hinge in HINGES:
                n = rotor.blades if rotor.hinge(hinge) else 0
                setattr(message, hinge, [0.0] * n)
                paths += [f"{hinge}[{b}]" for b in range(n)]
            publisher = entities.publisher(RotorState, f"{name}/main_rotor", qos.SENSOR)
            self._topics.append(FrozenTopic(publisher, message, paths))

    def publish(self, stamp: Time) -> None:
        """Publish what all rotors do now."""
        for i, topic in enumerate(self._topics):
            topic.send(stamp, self._numbers(i))

    def _numbers(self, i: int) -> np.ndarray:
        simulation = self._simulation
        engine, heads = simulation.engine, simulation.helicopters
        head, swash = heads.heads[i], engine.swash
        rotor = head.helicopter.main_rotor
        joints = engine.joints.states[head.joints]
        azimuth, speed = joints[0]
        torque = heads.torques[i]
        blades = by_hinge(rotor, joints)
        angles = [blades[hinge][:, 0] for hinge in HINGES if hinge in blades]
        scalars = [
            azimuth % (2.0 * np.pi), speed, swash.thrusts[i], swash.torques[i], torque, torque * speed,
            swash.inflow[i], *heads.command_of(i, swash.angles[i]), heads.tail_force(engine, i),
        ]  # fmt: skip
        return np.concatenate([scalars, *angles])
