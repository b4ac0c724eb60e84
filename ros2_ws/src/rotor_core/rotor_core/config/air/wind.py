"""Moving air: keys of steady wind and its profile, gusts, fronts, turbulence, recorded fields."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.structure import EntryError, bounded


@dataclass(frozen=True)
class Gust:
    """One gust of the form (1 - cos): from zero to ``peak_m_s`` and back (MIL-F-8785C), everywhere at once."""

    start_s: float = bounded(ge=0.0)
    duration_s: float = bounded(gt=0.0)
    peak_m_s: Vector = bounded()


@dataclass(frozen=True)
class Front:
    """A front that travels: behind it the air moves by ``change_m_s`` more than ahead.

    It is a vertical plane that passes the origin of the world at ``start_s`` and moves by ``travel_m_s`` (level).
    The change takes ``width_m``, of the form (1 - cos).
    """

    start_s: float
    travel_m_s: Vector
    change_m_s: Vector
    width_m: float = bounded(2.0, gt=0.0)

    def __post_init__(self) -> None:
        x, y, z = self.travel_m_s
        if z != 0.0 or x == y == 0.0:
            raise EntryError(
                ("travel_m_s",), f"must be level and not zero, got {list(self.travel_m_s)}."
            )


@dataclass(frozen=True)
class Turbulence:
    """Dryden turbulence of low altitudes (MIL-F-8785C): one field, felt by all alike.

    ``wind_at_6m_m_s`` sets the strength, ``altitude_m`` the lengths, ``airspeed_m_s`` how fast the
    frozen field goes by.
    """

    wind_at_6m_m_s: float = bounded(gt=0.0, le=60.0)
    altitude_m: float = bounded(6.0, ge=1.0, le=300.0)
    airspeed_m_s: float = bounded(5.0, gt=0.0)


@dataclass(frozen=True)
class FrozenTurbulence:
    """Turbulence in space: a random field with Dryden's spectrum in all directions, which the wind carries along.

    Every body feels its own place in it. ``deviation_m_s``: standard deviation of each component. ``length_m``: its
    integral length along the velocity. ``carried_m_s``: velocity of the field, default that of the steady wind.
    ``modes``: waves that make it up.
    """

    deviation_m_s: float = bounded(gt=0.0, le=20.0)
    length_m: float = bounded(gt=0.0, le=1000.0)
    carried_m_s: Vector | None = None
    modes: int = bounded(200, ge=10, le=5000)


@dataclass(frozen=True)
class Profile:
    """Growth of the steady wind with the height above the ground; ``steady_m_s`` is that at ``height_m``.

    ``log``: ln(z / roughness_m), as over a surface of that roughness (0.0002 open sea, 0.03 grass, 0.5 suburbs),
    nothing below it. ``power``: (z / height_m) to ``exponent``.
    """

    law: Literal["log", "power"]
    height_m: float = bounded(10.0, gt=0.0)
    roughness_m: float = bounded(0.03, gt=0.0, le=5.0)
    exponent: float = bounded(0.143, gt=0.0, le=1.0)

    def __post_init__(self) -> None:
        if self.law == "log" and self.height_m <= self.roughness_m:
            raise ValueError(
                f"height_m must be above roughness_m, got {self.height_m:g} and {self.roughness_m:g}."
            )


@dataclass(frozen=True)
class ObstacleWakes:
    """Calm air behind the obstacles of the scenario; not behind meshes and height fields.

    ``drag_coefficient``: of their frontal areas; 1.2 is that of a long cylinder or a plate. ``spreading``: growth of
    the width (standard deviation) over the distance; some 0.38 times the intensity of the turbulence (Niayifar and
    Porte-Agel 2016).
    """

    drag_coefficient: float = bounded(1.2, gt=0.0, le=3.0)
    spreading: float = bounded(0.05, gt=0.0, le=0.5)


@dataclass(frozen=True)
class Wind:
    """Moving air: a steady part, gusts, fronts, turbulence, a recorded field. Bodies feel it through their drag.

    ``profile``: the steady part grows with height. ``obstacle_wakes``: it is weaker behind obstacles.
    ``field_file``: a NumPy archive (.npz) with velocities on a grid, added to the rest: ``x_m``, ``y_m``, ``z_m``
    (increasing), ``velocity_m_s`` of shape (nx, ny, nz, 3), or (nt, nx, ny, nz, 3) with ``time_s`` from the start of
    the flight. Linear in between; beyond its edges, as at them. ``field_sha256``: of the file, in hexadecimal; another
    one is refused. Found when the scenario is read, so that no recording is flown again in another wind.
    """

    steady_m_s: Vector = (0.0, 0.0, 0.0)
    gusts: tuple[Gust, ...] = ()
    turbulence: Turbulence | None = None
    profile: Profile | None = None
    fronts: tuple[Front, ...] = ()
    frozen_turbulence: FrozenTurbulence | None = None
    obstacle_wakes: ObstacleWakes | None = None
    field_file: str | None = None
    field_sha256: str | None = None

    def __post_init__(self) -> None:
        for key, there in (("profile", self.profile), ("obstacle_wakes", self.obstacle_wakes)):
            if there and not any(self.steady_m_s):
                raise EntryError((key,), "has nothing to shape: steady_m_s is zero.")
        if self.field_sha256 is not None:
            if self.field_file is None:
                raise EntryError(("field_sha256",), "needs field_file, whose it is.")
            if not re.fullmatch("[0-9a-f]{64}", self.field_sha256):
                raise EntryError(
                    ("field_sha256",),
                    f"must be 64 hexadecimal digits in lower case, got {self.field_sha256!r}.",
                )

    @property
    def is_calm(self) -> bool:
        """True if the air stands still."""
        return self == Wind()

    @property
    def is_uniform(self) -> bool:
        """True if the air moves alike everywhere."""
        local = (
            self.profile,
            self.fronts,
            self.frozen_turbulence,
            self.obstacle_wakes,
            self.field_file,
        )
        return not any(local)
