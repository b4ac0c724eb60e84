"""Helicopters: a rotor with articulated blades, a tail rotor, fins, an engine with its governor."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np

from rotor_core.config.vehicles.body import Vector, check_inertia, check_name
from rotor_core.config.yaml.structure import bounded
from rotor_core.config.yaml.units import rad_from_deg

PITCH_LINK_FREQUENCY = 10.0
"""Of a blade on its pitch link, per revolution, where no stiffness is given."""

LARGEST_TWIST_DEG = 45.0
SMALL_ANGLE_DEG = 5.0
"""Angle of attack in hover, about."""

SHORTEST_TAIL = 0.05
"""Distance of the tail rotor behind the origin, m."""

PITCH_LINK_DAMPING = 0.1
"""Of the same, over critical."""


@dataclass(frozen=True)
class Hinge:
    """One hinge of a blade, ``offset_m`` from the axis of the rotor, with its spring and damper.

    ``pitch`` turns the leading edge up, ``flap`` the tip up, ``lag`` the blade back.
    """

    type: Literal["pitch", "flap", "lag"]
    offset_m: float = bounded(0.0, ge=0.0)
    stiffness_n_m_per_rad: float = bounded(0.0, ge=0.0)
    damping_n_m_s_per_rad: float = bounded(0.0, ge=0.0)


@dataclass(frozen=True)
class BladeMass:
    """Mass of a blade beyond its last hinge: ``com_m`` from the axis of the rotor; inertia about the centre of mass.

    Axes: x outboard, z up. The inertia about x is also that of feathering.
    """

    mass_kg: float = bounded(gt=0.0)
    com_m: float = bounded(ge=0.0)
    inertia_kg_m2: Vector = bounded(gt=0.0)

    def __post_init__(self) -> None:
        check_inertia(self.inertia_kg_m2)


@dataclass(frozen=True)
class HubMass:
    """Mass of everything that turns with the rotor, without the blades."""

    mass_kg: float = bounded(gt=0.0)
    inertia_kg_m2: Vector = bounded(gt=0.0)


@dataclass(frozen=True)
class PitchLink:
    """Pitch link, which holds a blade at the angle of the swashplate.

    Left out: natural frequency of ten per revolution, damping ratio 0.1.
    """

    stiffness_n_m_per_rad: float = bounded(gt=0.0)
    damping_n_m_s_per_rad: float = bounded(ge=0.0)


@dataclass(frozen=True)
class Inflow:
    """Velocity that the rotor induces, from momentum theory (B.5), (B.6).

    ``relaxed``: comes to it with the time constant ``lag_s`` (left out: that of hover); ``filtered``: after
    ``delay_s`` and a filter of second order, the loop of Palacios and Olguin-Diaz, which is not always
    stable.
    """

    law: Literal["relaxed", "filtered"] = "relaxed"
    lag_s: float | None = bounded(None, gt=0.0)
    delay_s: float = bounded(0.0376, ge=0.0, le=0.2)
    bandwidth_rad_s: float = bounded(25.0, gt=0.0)
    damping: float = bounded(0.7, gt=0.0)


@dataclass(frozen=True)
class MainRotor:
    """A rotor with hinged blades; ``hinges`` from the hub outwards.

    Blades reach from ``root_m`` to ``radius_m``; ``twist_deg`` at both ends, linear between. Sections:
    ``lift_slope_per_rad`` and ``drag_coefficient``, or a ``section_table`` of angle of attack (deg), lift
    and drag coefficient. ``armature_kg_m2``: inertia of engine and gear about the shaft, which does not
    turn with the hub. ``collective_deg`` and ``cyclic_deg``: what the swashplate can do;
    ``swash_lag_s``: how fast.
    """

    hub_m: Vector
    turns: Literal["ccw", "cw"]
    speed_rad_s: float = bounded(gt=0.0)
    radius_m: float = bounded(gt=0.0)
    root_m: float = bounded(ge=0.0)
    chord_m: float = bounded(gt=0.0)
    hinges: tuple[Hinge, ...]  # pyright: ignore[reportGeneralTypeIssues]
    blade: BladeMass  # pyright: ignore[reportGeneralTypeIssues]
    hub: HubMass  # pyright: ignore[reportGeneralTypeIssues]
    blades: int = bounded(2, ge=2, le=8)
    lift_slope_per_rad: float = bounded(5.5, gt=0.0)
    drag_coefficient: float = bounded(0.02, ge=0.0)
    section_table: tuple[Vector, ...] = ()
    twist_deg: tuple[float, float] = (0.0, 0.0)
    stations: int = bounded(12, ge=3, le=64)
    armature_kg_m2: float = bounded(0.0, ge=0.0)
    pitch_link: PitchLink | None = None
    inflow: Inflow = field(default_factory=Inflow)
    collective_deg: tuple[float, float] = (-10.0, 16.0)
    cyclic_deg: float = bounded(8.0, gt=0.0, le=30.0)
    swash_lag_s: float = bounded(0.0, ge=0.0, le=1.0)

    def __post_init__(self) -> None:
        kinds = [h.type for h in self.hinges]
        if "pitch" not in kinds or len(set(kinds)) < len(kinds):
            raise ValueError(f"hinges must be pitch and at most one flap and one lag, got {kinds}.")
        offsets = [h.offset_m for h in self.hinges]
        if offsets != sorted(offsets) or offsets[-1] > self.root_m:
            raise ValueError(
                f"hinges must go from the hub outwards, none beyond root_m {self.root_m:g}, got offsets {offsets}."
            )
        if not self.root_m < self.radius_m:
            raise ValueError(
                f"root_m must be below radius_m {self.radius_m:g}, got {self.root_m:g}."
            )
        angles = [row[0] for row in self.section_table]
        if len(angles) == 1 or any(b <= a for a, b in pairwise(angles)):
            raise ValueError(f"section_table needs two or more increasing angles, got {angles}.")
        last = self.hinges[-1].offset_m
        if not last < self.blade.com_m < self.radius_m:
            raise ValueError(
                f"blade.com_m must be between the last hinge at {last:g} m and radius_m {self.radius_m:g} m (it counts "
                f"from the shaft), got {self.blade.com_m:g}."
            )
        if not self.hub_m[2] > 0.0:
            raise ValueError(f"hub_m must be above the origin, got {list(self.hub_m)}.")
        if any(abs(angle) > LARGEST_TWIST_DEG for angle in self.twist_deg):
            raise ValueError(f"twist_deg must be within 45 deg, got {list(self.twist_deg)}.")
        if any(row[2] < 0.0 for row in self.section_table):
            raise ValueError("section_table: drag coefficients must be >= 0.")
        if self.section_table and (angles[0] > -180.0 or angles[-1] < 180.0):
            raise ValueError(
                f"section_table must cover angles of attack from -180 to 180 deg, got {angles[0]:g} to {angles[-1]:g}."
            )
        if self.section_table and not self.section_slope > 0.0:
            raise ValueError("section_table must lift more at 5 deg than at -5 deg.")
        if not self.collective_deg[0] < self.collective_deg[1]:
            raise ValueError(
                f"collective_deg must be [smallest, largest], got {list(self.collective_deg)}."
            )

    @property
    def sense(self) -> float:
        """+1 where it turns counter-clockwise seen from above, else -1."""
        return 1.0 if self.turns == "ccw" else -1.0

    @property
    def section_slope(self) -> float:
        """Lift slope about zero, of the table where there is one, 1/rad."""
        if not self.section_table:
            return self.lift_slope_per_rad
        alpha, lift, _ = np.array(self.section_table).T
        low, high = np.interp([-SMALL_ANGLE_DEG, SMALL_ANGLE_DEG], alpha, lift)
        return float((high - low) / rad_from_deg(2.0 * SMALL_ANGLE_DEG))

    @property
    def section_drag(self) -> float:
        """Drag coefficient at a small angle, of the table where there is one."""
        if not self.section_table:
            return self.drag_coefficient
        alpha, _, drag = np.array(self.section_table).T
        return float(np.interp(SMALL_ANGLE_DEG, alpha, drag))

    @property
    def area(self) -> float:
        """Of the disc, m^2."""
        return float(np.pi) * self.radius_m**2

    @property
    def solidity(self) -> float:
        """Blade area over disc area."""
        return self.blades * self.chord_m / (float(np.pi) * self.radius_m)

    @property
    def link(self) -> PitchLink:
        """The pitch link, or the one that suits where none is given."""
        if self.pitch_link is not None:
            return self.pitch_link
        inertia = self.blade.inertia_kg_m2[0]
        w = PITCH_LINK_FREQUENCY * self.speed_rad_s
        return PitchLink(inertia * w * w, 2.0 * PITCH_LINK_DAMPING * inertia * w)

    @property
    def rates(self) -> dict[str, float]:
        """Settling rates of pitch links and inflow, 1/s, by the configuration key that sets them."""
        inertia, link = self.blade.inertia_kg_m2[0], self.link
        out = {
            "pitch_link.stiffness_n_m_per_rad": (link.stiffness_n_m_per_rad / inertia) ** 0.5,
            "pitch_link.damping_n_m_s_per_rad": link.damping_n_m_s_per_rad / inertia,
        }
        if self.inflow.law == "filtered":
            out["inflow.bandwidth_rad_s"] = self.inflow.bandwidth_rad_s
        elif self.inflow.lag_s is not None:
            out["inflow.lag_s"] = 1.0 / self.inflow.lag_s
        return out

    def hinge(self, kind: str) -> Hinge | None:
        """The hinge of a kind, if there is one."""
        return next((h for h in self.hinges if h.type == kind), None)

    @property
    def flap_inertia(self) -> float:
        """Of a blade about the flap hinge (the axis of the rotor where there is none), kg m^2."""
        flap = self.hinge("flap")
        out = self.blade.com_m - (flap.offset_m if flap else 0.0)
        return self.blade.inertia_kg_m2[1] + self.blade.mass_kg * out**2

    @property
    def rotating_mass(self) -> float:
        """Of hub and blades, kg."""
        return self.hub.mass_kg + self.blades * self.blade.mass_kg

    @property
    def collective_limits(self) -> tuple[float, float]:
        """Smallest and largest collective angle, rad."""
        low, high = self.collective_deg
        return rad_from_deg(low), rad_from_deg(high)


@dataclass(frozen=True)
class TailRotor:
    """A force to the left or right at ``position_m``, within ``force_n`` (to the left)."""

    position_m: Vector
    force_n: tuple[float, float] = (-50.0, 50.0)

    def __post_init__(self) -> None:
        if not self.force_n[0] < self.force_n[1]:
            raise ValueError(f"force_n must be [smallest, largest], got {list(self.force_n)}.")
        if not self.position_m[0] < -SHORTEST_TAIL:
            raise ValueError(
                f"position_m must be at least {SHORTEST_TAIL:g} m behind the origin, got {list(self.position_m)}."
            )


@dataclass(frozen=True)
class LiftingSurface:
    """A fin or tailplane: ``normal`` across it, ``wake_share`` of the induced velocity reaches it (B.9)."""

    name: str
    position_m: Vector
    normal: Vector
    area_m2: float = bounded(gt=0.0)
    lift_slope_per_rad: float = bounded(gt=0.0)
    wake_share: float = bounded(0.0, ge=0.0, le=2.0)

    def __post_init__(self) -> None:
        check_name(self.name)
        if not np.linalg.norm(self.normal) > 0.0:
            raise ValueError(f"normal must not be zero, got {list(self.normal)}.")


@dataclass(frozen=True)
class Engine:
    """Largest power, and the governor that holds the speed of the rotor: N m s and N m per rad of error."""

    power_w: float = bounded(gt=0.0)
    proportional_n_m_s: float = bounded(0.12, ge=0.0)
    integral_n_m: float = bounded(0.24, ge=0.0)


@dataclass(frozen=True)
class Helicopter:
    """Components of a helicopter. Mass and inertia of the vehicle are then those of its fuselage."""

    main_rotor: MainRotor
    tail_rotor: TailRotor
    engine: Engine
    surfaces: tuple[LiftingSurface, ...] = ()

    def __post_init__(self) -> None:
        names = [s.name for s in self.surfaces]
        doubles = {n for n in names if names.count(n) > 1}
        if doubles:
            raise ValueError(f"surfaces: names must be unique, {sorted(doubles)} appear twice.")

    def centre_of_mass(self, mass: float, com: Vector) -> np.ndarray:
        """Of fuselage (its mass, and where its own centre is) and rotor with blades that do not flap, (3,) m."""
        rotor = self.main_rotor
        whole = mass * np.array(com) + rotor.rotating_mass * np.array(rotor.hub_m)
        return whole / (mass + rotor.rotating_mass)
