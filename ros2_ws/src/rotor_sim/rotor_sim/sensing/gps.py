"""Satellite navigation: geodetic place and velocity, late and with noise."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rotor_core.config.model import Model
from rotor_core.config.sensing import GpsErrors
from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.state import State
from rotor_sim.sensing.sensor import BodyKeys, BodySensor, Channel, SensorKind

if TYPE_CHECKING:
    from rotor_sim.sensing.earth import Earth


class GpsModel:
    """Samples of one receiver."""

    def __init__(self, errors: GpsErrors, earth: Earth, seed: np.random.SeedSequence) -> None:
        self.errors, self._earth, self._seed = errors, earth, seed
        self._deviations = np.array([errors.horizontal_m, errors.horizontal_m, errors.vertical_m])
        self.reset()

    def reset(self) -> None:
        """Begin the random stream again, and forget what is on its way."""
        self._random = np.random.default_rng(self._seed)
        self.forget()

    def forget(self) -> None:
        """Forget what is on its way."""
        self._waiting: deque[tuple[float, np.ndarray]] = deque()
        self.captured = float("nan")  # when what was told last was measured, s

    def take(self, time: float, motion: np.ndarray) -> None:
        """Sample a body with the motion (>= 13,) at a time, s."""
        normal = self._random.standard_normal((2, 3))
        state = State(motion)
        place = self._earth.place(state.position + self._deviations * normal[0])
        velocity = state.velocity + self.errors.velocity_m_s * normal[1]
        self._waiting.append((time, np.stack([place, velocity])))

    def told(self, time: float) -> np.ndarray | None:
        """The newest sample that has arrived by a time since the last call; None: no new one.

        (2, 3): latitude and longitude in degrees and height in m; velocity east, north, up in m/s.
        """
        newest = None
        while self._waiting and self._waiting[0][0] + self.errors.delay_s <= time + SAME_TIME:
            self.captured, newest = self._waiting.popleft()
        return newest


@dataclass(frozen=True, kw_only=True)
class Gps(BodyKeys, GpsErrors):
    """Satellite navigation at the ``environment.origin``: topics ``<body>/<name>/fix`` and ``<body>/<name>/vel``.

    Velocities are east, north, up. Samples are as old as ``delay_s``, in whole samples; before the first has arrived,
    the first is told. ``horizontal_m``, ``vertical_m``, ``velocity_m_s``: standard deviations per sample and axis.
    """

    name: str = "gps"


class GpsSensor(BodySensor[GpsModel]):
    """A receiver in a simulation."""

    def make(self, keys: Gps, seed: np.random.SeedSequence) -> GpsModel:
        """Its model."""
        return GpsModel(keys, self.earth, seed)

    def reset(self) -> None:
        """Begin again."""
        super().reset()
        self._last: np.ndarray | None = None

    def forget(self) -> None:
        """The state has jumped: what is on its way is void."""
        self.model.forget()
        self._last = None

    def take_over(self, other: Any) -> None:
        """Go on with its errors, and with what is on its way."""
        super().take_over(other)
        self._last = other._last

    @property
    def captured(self) -> float:
        """Time at which what is told now was measured, s."""
        return self.model.captured

    def sense(self) -> np.ndarray:
        """Place and velocity, (2, 3), as of :meth:`GpsModel.told`."""
        time = self.simulation.time
        self.model.take(time, self.motion)
        told = self.model.told(time if self._last is not None else np.inf)
        if told is not None:
            self._last = told
        assert self._last is not None
        return self._last


def channels(keys: Gps, model: Model) -> list[Channel]:
    """Two topics; the covariance is that of the noise."""
    horizontal, vertical = keys.horizontal_m**2, keys.vertical_m**2
    covariance = {"position_covariance_type": 2}  # the diagonal is known
    covariance |= {
        f"position_covariance[{i}]": v for i, v in ((0, horizontal), (4, horizontal), (8, vertical))
    }
    fix, vel = (f"{keys.body}/{keys.name}/{what}" for what in ("fix", "vel"))
    return [
        Channel(
            fix,
            keys.body,
            "sensor_msgs/msg/NavSatFix",
            ("latitude", "longitude", "altitude"),
            {"status.status": 0, "status.service": 1, **covariance},
        ),
        Channel(
            vel,
            "world",
            "geometry_msgs/msg/TwistStamped",
            ("twist.linear.x", "twist.linear.y", "twist.linear.z"),
        ),
    ]


GPS = SensorKind(Gps, GpsSensor, channels)
