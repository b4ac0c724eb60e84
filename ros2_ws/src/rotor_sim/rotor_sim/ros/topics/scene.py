"""Scene that the visualizer draws, as a topic: nothing is computed while nobody listens."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from rotor_msgs.msg import Scene as SceneMessage

from rotor_core.messages.cdr import FrozenMessage
from rotor_core.messages.convert import WORLD_FRAME
from rotor_core.ros import qos
from rotor_sim.ros.markers.scene import TABLES
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.shapes.scene import CUT, Scene
from rotor_sim.shapes.tip_path import tip_path
from rotor_sim.simulation import Simulation


def scene_of(simulation: Simulation) -> Scene:
    """The present instant."""
    engine = simulation.engine
    pushes = np.zeros((len(simulation.body_names), 3))
    for member, (force, _) in simulation.externals.items():
        pushes[member] = force
    heads = simulation.helicopters.heads
    discs = np.zeros((len(heads), 4))
    for i, head in enumerate(heads):
        path = tip_path(head.helicopter.main_rotor, engine.joints.states[head.joints])
        discs[i] = path.coning, path.cosine, path.sine, engine.swash.thrusts[i]
    return Scene(
        tuple(simulation.body_names),
        engine.motion[:, :7],
        pushes,
        simulation.applied[:, 0],
        engine.tensions,
        np.where(engine.is_cut, CUT, engine.taut.astype(float)),
        discs,
    )


class SceneTopic:
    """``rotor/scene``."""

    def __init__(self, entities: Entities, simulation: Simulation) -> None:
        self._simulation = simulation
        self._publisher = entities.publisher(SceneMessage, "rotor/scene", qos.COMMAND)
        scene = scene_of(simulation)
        message = SceneMessage(bodies=list(scene.bodies))
        message.header.frame_id = WORLD_FRAME
        paths = []
        for name in TABLES:
            n = getattr(scene, name).size
            setattr(message, name, [0.0] * n)
            paths += [f"{name}[{i}]" for i in range(n)]
        self._frame = FrozenMessage(message)
        self._at = self._frame.index(*paths)

    def publish(self, stamp: Time, epoch: int) -> None:
        """Publish the present instant to whoever listens."""
        if self._publisher.get_subscription_count() == 0:
            return
        scene = scene_of(self._simulation)
        self._frame.put_stamp(stamp)
        self._frame.put("epoch", epoch)
        self._frame.doubles[self._at] = np.concatenate(
            [getattr(scene, name).ravel() for name in TABLES]
        )
        self._publisher.publish(self._frame.data())
