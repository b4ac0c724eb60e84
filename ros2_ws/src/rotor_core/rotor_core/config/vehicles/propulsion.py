"""Propellers, motors and batteries: what a rotor is made of.

Thrust and torque from geometry: Pappalardo et al., Machines 11(4) 464, 2023, eqs 1, 2, 5-7, 59.
Equations (R.11)-(R.17), docs/theory/rotors_and_air.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atan, pi

from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.structure import bounded
from rotor_core.config.yaml.units import rad_s_from_rpm, revolutions_per_s_from_rpm


@dataclass(frozen=True)
class Propeller:
    """Geometry from which thrust and torque follow; mass and inertia, where propellers are bodies of their own.

    ``pitch_m``: advance per revolution. ``lift_slope`` (per rad), ``zero_lift_angle_rad``,
    ``profile_drag`` and ``oswald`` are those of the blade section, ``downwash``, ``correction`` and
    ``mean_radius`` the factors eps, lambda and zeta of the handbook formulas. ``inertia_kg_m2``: along
    the blade (x), across it, about the axis. ``true_blades``: these are felt twice per turn, which
    needs steps of 0.3 ms; otherwise the mean of the first two counts.
    """

    diameter_m: float = bounded(gt=0.0)
    pitch_m: float = bounded(gt=0.0)
    blades: int = bounded(2, ge=1, le=8)
    aspect_ratio: float = bounded(5.0, gt=0.0)
    downwash: float = bounded(0.85, gt=0.0)
    correction: float = bounded(0.75, gt=0.0)
    mean_radius: float = bounded(0.5, gt=0.0)
    oswald: float = bounded(0.83, gt=0.0)
    profile_drag: float = bounded(0.015, ge=0.0)
    zero_lift_angle_rad: float = 0.0
    lift_slope: float = bounded(6.11, gt=0.0)
    mass_kg: float = bounded(0.0, ge=0.0)
    inertia_kg_m2: Vector = bounded((0.0, 0.0, 0.0), ge=0.0)
    true_blades: bool = False

    def __post_init__(self) -> None:
        if not self.thrust_coefficient > 0.0:
            raise ValueError(
                "pitch_m: the blades have no lift at this pitch; zero_lift_angle_rad must be below "
                f"{self._angle + self.zero_lift_angle_rad:.4g} rad."
            )

    @property
    def _angle(self) -> float:
        """Angle of attack of the blades, rad."""
        return (
            self.downwash * atan(self.pitch_m / (pi * self.diameter_m)) - self.zero_lift_angle_rad
        )

    @property
    def thrust_coefficient(self) -> float:
        """C_T, thrust over density, speed (rev/s) squared and diameter^4 (R.12)."""
        A, K = self.aspect_ratio, self.lift_slope
        scale = 0.25 * pi**3 * self.correction * self.mean_radius**2 * self.blades
        return scale * K * self._angle / (pi * A + K)

    @property
    def drag_coefficient(self) -> float:
        """C_d of the blades (R.13)."""
        A, K = self.aspect_ratio, self.lift_slope
        return self.profile_drag + pi * A * K**2 / self.oswald * self._angle**2 / (pi * A + K) ** 2

    @property
    def torque_coefficient(self) -> float:
        """C_M, torque over density, speed (rev/s) squared and diameter^5 (R.13)."""
        scale = pi**2 * self.correction * self.mean_radius**2 * self.blades**2
        return scale * self.drag_coefficient / (8.0 * self.aspect_ratio)

    @property
    def torque_per_thrust_m(self) -> float:
        """Drag torque over thrust, m."""
        return self.torque_coefficient * self.diameter_m / self.thrust_coefficient

    def thrust_n_per_rpm2(self, density: float) -> float:
        """Thrust over speed squared in air of a density, kg/m^3 (R.11)."""
        turns = revolutions_per_s_from_rpm(1.0)
        return density * self.thrust_coefficient * turns**2 * self.diameter_m**4

    @property
    def largest_axial_inertia(self) -> float:
        """No propeller of this mass and diameter has more about its axis: m r^2, kg m^2."""
        return self.mass_kg * (0.5 * self.diameter_m) ** 2

    @property
    def mean_inertia(self) -> Vector:
        """Mean inertia over a turn, kg m^2: what the inertia of a vehicle contains."""
        along, across, axial = self.inertia_kg_m2
        return 0.5 * (along + across), 0.5 * (along + across), axial

    @property
    def body_inertia(self) -> Vector:
        """Inertia of the propeller as a body, kg m^2."""
        return self.inertia_kg_m2 if self.true_blades else self.mean_inertia


@dataclass(frozen=True)
class Motor:
    """A brushless motor behind a gear or belt: speed per voltage, losses, limits.

    ``gear_ratio``: turns of the motor per turn of the propeller.
    """

    kv_rpm_per_v: float = bounded(gt=0.0)
    resistance_ohm: float = bounded(0.0, ge=0.0)
    idle_current_a: float = bounded(0.0, ge=0.0)
    max_power_w: float | None = bounded(None, gt=0.0)
    gear_ratio: float = bounded(1.0, gt=0.0)

    @property
    def speed_per_volt(self) -> float:
        """Speed of the propeller over the voltage without load, rad/s/V (R.14)."""
        return rad_s_from_rpm(self.kv_rpm_per_v) / self.gear_ratio


@dataclass(frozen=True)
class Battery:
    """One battery per vehicle: voltage ``[empty, full]`` linear in its charge, less what its resistance takes.

    ``assumed_v``: motors get the share of the voltage that would give the commanded speed if the battery had this:
    thrust falls with the battery, as on small vehicles without controlled speeds. Left out: speeds are controlled.
    """

    voltage_v: tuple[float, float] = bounded(gt=0.0)
    capacity_ah: float = bounded(gt=0.0)
    resistance_ohm: float = bounded(0.0, ge=0.0)
    charge: float = bounded(1.0, ge=0.0, le=1.0)
    assumed_v: float | None = bounded(None, gt=0.0)

    def __post_init__(self) -> None:
        if self.voltage_v[0] > self.voltage_v[1]:
            raise ValueError(f"voltage_v must be [empty, full], got {list(self.voltage_v)}.")
