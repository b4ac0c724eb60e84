"""Settings by which the stand-in laboratory differs from the nominal model: frozen numbers with their units."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from rotor_core.config.vehicles.body import Vector
from rotor_core.errors import ConfigError

SIGNED = ("clock_offset_s",)
"""Numbers that may be negative."""


def _check(settings: object, place: str, positive: tuple[str, ...] = ()) -> None:
    """Refuse numbers that cannot be.

    Raises:
        ConfigError: one is not finite, negative, zero where it must be ``positive``, or a
            probability beyond 1.
    """
    for entry in fields(settings):  # type: ignore[arg-type]
        name, value = entry.name, getattr(settings, entry.name)
        if not isinstance(value, float | int):
            continue
        low = -np.inf if name in SIGNED else 0.0
        high = 1.0 if name.endswith("_probability") else np.inf
        fits = np.isfinite(value) and low <= value <= high and (value > 0 or name not in positive)
        if not fits:
            limit = "above 0" if name in positive else f"in [{low:g}, {high:g}]"
            raise ConfigError(
                f"{place}.{name}: must be finite and {limit}, got {value}. Correct it, or leave it out."
            )


@dataclass(frozen=True)
class MocapSettings:
    """A motion-capture hall.

    All cameras take a frame at once; it arrives ``latency_s`` later. A body is missing in a frame
    with ``dropout_probability``, and with ``burst_probability`` a burst begins that hides it for
    ``burst_s``. Noise is white, standard deviation per axis. ``world_position_m`` and
    ``world_rpy_deg`` (fixed axes): pose of the mocap frame in the world. A cluster of markers sits
    off its body frame by an offset and a rotation with these standard deviations per axis, drawn
    once from the seed. The clock of the hall shows ``clock_offset_s`` more than that of the graph.
    """

    rate_hz: float = 100.0
    latency_s: float = 0.012
    position_noise_m: float = 0.0003
    attitude_noise_deg: float = 0.2
    dropout_probability: float = 0.01
    burst_probability: float = 0.0005
    burst_s: float = 0.08
    world_position_m: Vector = (0.42, -0.31, 0.015)
    world_rpy_deg: Vector = (0.4, -0.3, 25.0)
    marker_offset_m: float = 0.015
    marker_rotation_deg: float = 2.0
    clock_offset_s: float = 0.137

    def __post_init__(self) -> None:
        _check(self, "mocap", ("rate_hz",))


@dataclass(frozen=True)
class OnboardSettings:
    """The inertial unit of every vehicle, and the bandwidths of the estimators (estimator.py).

    Noise: standard deviation of the mean over one control period, per axis; biases are constant,
    drawn once per vehicle with these standard deviations. ``vehicle_...``: of bodies with an
    inertial unit; ``payload_...``: of those without.
    """

    gyroscope_noise_rad_s: float = 0.01
    gyroscope_bias_rad_s: float = 0.002
    accelerometer_noise_m_s2: float = 0.1
    accelerometer_bias_m_s2: float = 0.03
    vehicle_bandwidth_rad_s: float = 12.0
    vehicle_attitude_bandwidth_rad_s: float = 3.0
    payload_bandwidth_rad_s: float = 40.0
    payload_attitude_bandwidth_rad_s: float = 25.0

    def __post_init__(self) -> None:
        bandwidths = tuple(f.name for f in fields(self) if f.name.endswith("bandwidth_rad_s"))
        _check(self, "onboard", bandwidths)


@dataclass(frozen=True)
class LaboratorySettings:
    """The plant of the laboratory, its motion capture and its vehicles' estimators.

    Defaults are plausible for a hall with Crazyflies or Dragonflies. Errors are relative standard
    deviations (``length_error_m`` absolute), drawn once per entity or cable from the seed; an
    inertia is scaled as a whole.

    ``thrust_gain`` is the true thrust of all rotors over the commanded one, ``thrust_gain_spread``
    its standard deviation among vehicles. ``motor_lag_s``: time constant of each rotor's thrust.
    ``command_latency_s``: from a command to the motors. Drag is linear, a force per mass and speed.
    """

    step_s: float = 0.0005
    motor_lag_s: float = 0.04
    command_latency_s: float = 0.01
    thrust_gain: float = 0.97
    thrust_gain_spread: float = 0.01
    mass_error: float = 0.01
    inertia_error: float = 0.03
    length_error_m: float = 0.002
    vehicle_drag_per_s: float = 0.25
    payload_drag_per_s: float = 0.1
    mocap: MocapSettings = field(default_factory=MocapSettings)
    onboard: OnboardSettings = field(default_factory=OnboardSettings)

    def __post_init__(self) -> None:
        _check(self, "laboratory", ("step_s", "thrust_gain"))


PERFECT_MOCAP = MocapSettings(
    latency_s=0.0,
    position_noise_m=0.0,
    attitude_noise_deg=0.0,
    dropout_probability=0.0,
    burst_probability=0.0,
    world_position_m=(0.0, 0.0, 0.0),
    world_rpy_deg=(0.0, 0.0, 0.0),
    marker_offset_m=0.0,
    marker_rotation_deg=0.0,
    clock_offset_s=0.0,
)
"""Poses of the bodies as they are, at once."""

PERFECT = LaboratorySettings(
    motor_lag_s=0.0,
    command_latency_s=0.0,
    thrust_gain=1.0,
    thrust_gain_spread=0.0,
    mass_error=0.0,
    inertia_error=0.0,
    length_error_m=0.0,
    vehicle_drag_per_s=0.0,
    payload_drag_per_s=0.0,
    mocap=PERFECT_MOCAP,
    onboard=OnboardSettings(0.0, 0.0, 0.0, 0.0),
)
"""The nominal model: what is left are another solver and the filters of the estimators."""
