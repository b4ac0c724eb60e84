"""Description of a sensor that users may add: its keys, its topics, its samples."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from rotor_core.config.model import Model
from rotor_core.config.vehicles.body import check_name
from rotor_core.extras import explained
from rotor_core.registry import Kind

if TYPE_CHECKING:
    from rotor_sim.sensing.earth import Earth
    from rotor_sim.simulation import Simulation


@dataclass(frozen=True)
class Channel:
    """A topic of a sensor.

    Attributes:
        topic: relative name, such as ``quad1/imu``.
        body: whose frame the header names: an entity, ``vehicle/link`` or ``world``.
        message: type, such as ``sensor_msgs/msg/Imu``; it has a header.
        fields: that a sample fills, in its order, such as ``angular_velocity.x``.
        constants: fields with fixed values.
        mount: of a sensor whose axes are not those of its body: its place there, m, and attitude (w, x, y, z).
            Its header names a frame of its own then, which is called like the topic and is fixed to the body.
    """

    topic: str
    body: str
    message: str
    fields: tuple[str, ...]
    constants: Mapping[str, float] = field(default_factory=dict)
    mount: tuple[Sequence[float], Sequence[float]] | None = None


class Sensor(Protocol):
    """A sensor at work in one simulation."""

    def sense(self) -> np.ndarray:
        """One sample of every channel, (n_channels, n_fields)."""
        ...

    def reset(self) -> None:
        """Begin the random stream again."""
        ...


@runtime_checkable
class Forgetful(Protocol):
    """A sensor with a memory of the states before."""

    def forget(self) -> None:
        """The state has jumped: what is remembered of the one before is void."""
        ...


@runtime_checkable
class Lasting(Protocol):
    """A sensor whose errors go on in another world."""

    def take_over(self, other: Any) -> None:
        """Go on with the errors of the same sensor in another world."""
        ...


@runtime_checkable
class Delayed(Protocol):
    """A sensor whose samples come late.

    Attributes:
        captured: time at which what is told now was measured, s.
    """

    captured: float


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


@dataclass(frozen=True, kw_only=True)
class BodyKeys:
    """Keys of sensors that measure one body."""

    type: str
    body: str
    name: str

    def __post_init__(self) -> None:
        check_name(self.name)


class ResettableModel(Protocol):
    """Samples of one sensor, with a random stream."""

    def reset(self) -> None:
        """Begin the stream again."""
        ...


M = TypeVar("M", bound=ResettableModel)


class BodySensor(ABC, Generic[M]):
    """A model of a sensor at work on one body of a simulation.

    Args:
        keys: of the sensor.
        simulation: whose body.
        seed: of its random stream.
    """

    def __init__(self, keys: Any, simulation: Simulation, seed: np.random.SeedSequence) -> None:
        self.simulation = simulation
        self._row = simulation.body_names.index(keys.body)
        self.model = self.make(keys, seed)
        self.reset()

    @abstractmethod
    def make(self, keys: Any, seed: np.random.SeedSequence) -> M:
        """The model."""

    @abstractmethod
    def sense(self) -> np.ndarray:
        """One sample of every channel."""

    @cached_property
    def earth(self) -> Earth:
        """Magnetic field, gravity and air where the world is."""
        with explained():  # a scenario is read without the packages of the earth
            from rotor_sim.sensing.earth import Earth

        return Earth(self.simulation.scenario.environment)

    @property
    def motion(self) -> np.ndarray:
        """Motion of the body now, (19,)."""
        return self.simulation.engine.motion[self._row]

    def reset(self) -> None:
        """Begin the random stream again."""
        self.model.reset()

    def take_over(self, other: Any) -> None:
        """Go on with the errors of the same sensor in another world."""
        self.model = copy.deepcopy(other.model)
