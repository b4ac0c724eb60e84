"""A scene as a message."""

from __future__ import annotations

import numpy as np
from rotor_msgs.msg import Scene as SceneMessage

from rotor_sim.shapes.scene import Scene

TABLES = {"poses": 7, "pushes": 3, "thrusts": 1, "tensions": 1, "taut": 1, "discs": 4}
"""Fields of the message that are tables, with their columns, in the order of :class:`Scene`."""


def scene_from(message: SceneMessage) -> Scene:
    """The instant that a message tells of."""
    tables = [
        np.array(getattr(message, name)).reshape((-1, columns) if columns > 1 else -1)
        for name, columns in TABLES.items()
    ]
    return Scene(tuple(message.bodies), *tables)
