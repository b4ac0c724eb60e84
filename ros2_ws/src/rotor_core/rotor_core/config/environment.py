"""The environment part of a scenario: gravity, moving air, the ground."""

from __future__ import annotations

from dataclasses import dataclass, field

from rotor_core.config.body import Vector
from rotor_core.config.structure import bounded


@dataclass(frozen=True)
class Gust:
    """One gust of the form (1 - cos): from zero to ``peak_m_s`` and back (MIL-F-8785C)."""

    start_s: float = bounded(ge=0.0)
    duration_s: float = bounded(gt=0.0)
    peak_m_s: Vector = bounded()


@dataclass(frozen=True)
class Turbulence:
    """Dryden turbulence of low altitudes (MIL-F-8785C): one field, felt by all.

    ``wind_at_6m_m_s`` sets the strength, ``altitude_m`` the lengths, ``airspeed_m_s`` how fast the
    frozen field goes by.
    """

    wind_at_6m_m_s: float = bounded(gt=0.0, le=60.0)
    altitude_m: float = bounded(6.0, ge=1.0, le=300.0)
    airspeed_m_s: float = bounded(5.0, gt=0.0)


@dataclass(frozen=True)
class Wind:
    """Moving air: a steady part, gusts and turbulence. Bodies feel it through their drag."""

    steady_m_s: Vector = (0.0, 0.0, 0.0)
    gusts: tuple[Gust, ...] = ()
    turbulence: Turbulence | None = None

    @property
    def is_calm(self) -> bool:
        """Whether the air rests."""
        return self == Wind()


@dataclass(frozen=True)
class Environment:
    """The world outside the vehicles.

    ``ground_effect``: rotors (``actuation: rotors``, ``radius_m`` > 0) push harder near the ground
    at ``ground_m``.
    """

    gravity_m_s2: float = bounded(9.81, ge=0.0)
    wind: Wind = field(default_factory=Wind)
    ground_effect: bool = False
    ground_m: float = 0.0
