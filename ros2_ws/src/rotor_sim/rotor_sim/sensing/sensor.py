"""Description of a sensor that users may add: its keys, its topics, its samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rotor_core.config.model import Model
from rotor_core.registry import Kind

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Channel:
    """A topic of a sensor.

    Attributes:
        topic: relative name, such as ``quad1/imu``.
        body: whose frame the header names: an entity, ``vehicle/link`` or ``world``.
        message: type, such as ``sensor_msgs/msg/Imu``; it has a header.
        fields: that a sample fills, in its order, such as ``angular_velocity.x``.
        constants: fields with fixed values.
    """

    topic: str
    body: str
    message: str
    fields: tuple[str, ...]
    constants: Mapping[str, float] = field(default_factory=dict)


class Sensor(Protocol):
    """A sensor at work in one simulation."""

    def sense(self) -> np.ndarray:
        """One sample of every channel, (n_channels, n_fields)."""
        ...

    def reset(self) -> None:
        """Begin the random stream again."""
        ...


@dataclass(frozen=True)
class SensorKind(Kind):
    """A kind of sensor.

    Attributes:
        config: frozen dataclass of its keys, with ``type`` and ``rate_hz``; ``body``, where there is one, must name an
            entity or ``vehicle/link``.
        make: called with (keys, simulation, seed); returns a :class:`Sensor`. The seed is a
            :class:`numpy.random.SeedSequence` of its own.
        channels: called with (keys, model); its topics.
    """

    channels: Callable[[Any, Model], Sequence[Channel]]
