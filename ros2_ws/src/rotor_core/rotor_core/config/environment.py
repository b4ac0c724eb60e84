"""The environment part of a scenario: gravity, moving air, the ground."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from rotor_core.config.air.wakes import Wakes
from rotor_core.config.air.wind import Wind
from rotor_core.config.obstacles.obstacle import Obstacle
from rotor_core.config.yaml.structure import EntryError, bounded

FREEZING, FREEZING_DENSITY, LAPSE, PRESSURE_EXPONENT = 273.0, 1.293, 0.0065, 5.2561
"""K, kg/m^3, K/m: the paper's rounded numbers, within 0.1 % of the standard atmosphere that barometers feel."""


@dataclass(frozen=True)
class Air:
    """Height above the sea and temperature there: the density that propellers given by their geometry work in."""

    altitude_m: float = bounded(0.0, ge=-500.0, le=11000.0)
    temperature_c: float = bounded(15.0, ge=-80.0, le=60.0)

    @property
    def density(self) -> float:
        """Density, kg/m^3 (R.15). Source: Pappalardo et al. 2023, eqs 3, 4, the pressure from sea level."""
        kelvin = FREEZING + self.temperature_c
        pressure = (kelvin / (kelvin + LAPSE * self.altitude_m)) ** PRESSURE_EXPONENT
        return FREEZING_DENSITY * FREEZING / kelvin * pressure


RIGID = "rigid"
"""Law of contact between bodies that do not give way."""


@dataclass(frozen=True)
class Contact:
    """Vehicles and payloads touch the ground, obstacles that are boxes or gates, and each other's boxes.

    Friction goes from ``friction_static`` to ``friction_dynamic`` about ``stiction_speed_m_s``.
    ``stiffness_n_per_m`` is that of one point of contact; left out, it suits the smallest mass that
    it can meet. ``dissipation_s_per_m``: what comes with speed v bounces back with about
    v / (1 + dissipation v).

    ``law: rigid``: bodies do not give way, and all shapes touch all others, obstacles of every shape too. Impacts are
    located in time; what comes with v bounces back with ``restitution`` times v. Friction is Coulomb's with
    ``friction_static`` alone. Not for vehicles with arms, spinning propellers or rotor blades. Heavy cables keep the
    compliant law.
    """

    FORMER: ClassVar = {"obstacles": "environment.obstacles"}

    friction_static: float = bounded(0.5, ge=0.0, le=5.0)
    friction_dynamic: float = bounded(0.3, ge=0.0, le=5.0)
    stiction_speed_m_s: float = bounded(0.05, gt=0.0)
    stiffness_n_per_m: float | None = bounded(None, gt=0.0)
    dissipation_s_per_m: float = bounded(3.0, ge=0.0, le=100.0)
    law: Literal["compliant", "rigid"] = "compliant"
    restitution: float = bounded(0.0, ge=0.0, le=1.0)

    def __post_init__(self) -> None:
        if self.law != RIGID and self.restitution:
            raise EntryError(
                ("restitution",),
                "belongs to law: rigid; bodies that give way have dissipation_s_per_m.",
            )
        for key in (
            "friction_dynamic",
            "stiction_speed_m_s",
            "stiffness_n_per_m",
            "dissipation_s_per_m",
        ):
            default = type(self).__dataclass_fields__[key].default
            if self.law == RIGID and getattr(self, key) != default:
                raise EntryError(
                    (key,),
                    "belongs to law: compliant; rigid contact has friction_static and restitution alone.",
                )
        if self.law == RIGID:
            return
        if self.friction_dynamic > self.friction_static:
            raise ValueError(
                "friction_dynamic must be at most friction_static, got "
                f"{self.friction_dynamic:g} and {self.friction_static:g}."
            )


@dataclass(frozen=True)
class Origin:
    """Place of the origin of the world on the earth (WGS 84), ``air.altitude_m`` above the sea.

    ``year``: with decimals, for the magnetic field (World Magnetic Model 2025).
    """

    latitude_deg: float = bounded(47.397742, ge=-89.9, le=89.9)
    longitude_deg: float = bounded(8.545594, ge=-180.0, le=180.0)
    year: float = bounded(2026.0, ge=2025.0, lt=2030.0)


@dataclass(frozen=True)
class Environment:
    """The world outside the vehicles.

    ``ground_effect``: rotors (``radius_m`` > 0) push harder near the ground at ``ground_m``; ``ceiling_effect``: and
    under obstacles. ``wakes``: the air that rotors push down reaches everything below them, payloads, cables and the
    rotors of others. ``contact``: the ground there carries, and so do obstacles that are boxes or gates; left
    out, everything passes through everything, which events of type ``touch`` tell.
    """

    gravity_m_s2: float = bounded(9.81, ge=0.0)
    air: Air = field(default_factory=Air)
    origin: Origin = field(default_factory=Origin)
    wind: Wind = field(default_factory=Wind)
    wakes: Wakes | None = None
    ground_effect: bool = False
    ceiling_effect: bool = False
    ground_m: float = 0.0
    contact: Contact | None = None
    obstacles: tuple[Obstacle, ...] = ()

    def __post_init__(self) -> None:
        if self.wind.obstacle_wakes and not self.obstacles:
            raise EntryError(
                ("wind", "obstacle_wakes"), "there are no obstacles. Leave it out, or give some."
            )
        if self.ceiling_effect and not self.obstacles:
            raise EntryError(
                ("ceiling_effect",), "there are no obstacles. Leave it out, or give some."
            )
        names = [o.name for o in self.obstacles]
        for i, name in enumerate(names):
            if name in names[:i]:
                raise EntryError(("obstacles", i, "name"), f"{name!r} appears twice.")
