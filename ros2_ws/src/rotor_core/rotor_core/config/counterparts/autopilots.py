"""Autopilots in the loop: the firmware that will fly, running beside the simulator."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar, Literal

from rotor_core.config.counterparts.counterpart import Counterpart
from rotor_core.config.sensing import (
    GpsErrors,
    InertialErrors,
    MagnetometerErrors,
    PressureErrors,
)
from rotor_core.config.yaml.structure import EntryError, bounded

STANDARD_GRAVITY = 9.80665
"""Unit g of limits of accelerometers, m/s^2."""

USUAL_IMU = InertialErrors(
    accelerometer_density_m_s2_sqrt_hz=2e-3,
    gyroscope_density_rad_s_sqrt_hz=1e-4,
    accelerometer_walk_m_s3_sqrt_hz=3e-4,
    gyroscope_walk_rad_s2_sqrt_hz=2e-6,
    accelerometer_limit_m_s2=16.0 * STANDARD_GRAVITY,
    gyroscope_limit_rad_s=34.9,
)
"""Of the size that data sheets of small inertial units have: 16 g, 2000 deg/s."""

USUAL_MAGNETOMETER = MagnetometerErrors(noise_t=2e-7)
USUAL_BAROMETER = PressureErrors(noise_pa=1.0)
USUAL_GPS = GpsErrors(delay_s=0.1, horizontal_m=0.1, vertical_m=0.15, velocity_m_s=0.05)


@dataclass(frozen=True)
class OnBoard:
    """Sensors of every vehicle for its autopilot, with errors as of usual units.

    ``gps: null``: none, as in a hall. ``pitot: null``: none, as on most multirotors; it feels the steady wind, and is
    refused in gusts and turbulence.
    """

    imu: InertialErrors = USUAL_IMU
    magnetometer: MagnetometerErrors | None = USUAL_MAGNETOMETER
    barometer: PressureErrors | None = USUAL_BAROMETER
    gps: GpsErrors | None = USUAL_GPS
    pitot: PressureErrors | None = None


@dataclass(frozen=True)
class Autopilot(Counterpart):
    """Common keys of autopilots in the loop; each vehicle has one, the first is ``instance``.

    ``listen``: address on which it is waited for; 0.0.0.0 lets other machines in. ``start``: vehicles are held where
    they begin until their autopilots are ``armed``, or only until they are ``answering``. ``boot_s``: of wall time for
    that. ``patience_s``: of wall time for an answer in flight; then the rotors stop until there is one again.
    """

    SLOWEST: ClassVar[float]
    """Longest control period that its own loops are made for, s."""

    instance: int = bounded(0, ge=0, le=250)
    listen: str = "127.0.0.1"
    start: Literal["armed", "answering"] = "armed"
    boot_s: float = bounded(120.0, gt=0.0, le=86400.0)
    patience_s: float = bounded(10.0, gt=0.0, le=86400.0)


@dataclass(frozen=True)
class Px4Control(Autopilot):
    """PX4 over the simulator link of MAVLink: it connects to TCP port ``port`` + instance, in lockstep.

    ``odometry_hz``: rate of motion capture (ODOMETRY), which PX4 can fly by in a hall; 0: none.
    """

    SLOWEST: ClassVar[float] = 0.004

    type: Literal["px4"] = "px4"
    port: int = bounded(4560, ge=1024, le=65535)
    odometry_hz: float = bounded(0.0, ge=0.0, le=250.0)
    on_board: OnBoard = OnBoard()


@dataclass(frozen=True)
class ArduPilotControl(Autopilot):
    """ArduPilot SITL over its JSON link: it sends to UDP port ``port`` + 10 per instance, in lockstep.

    ``pwm_us``: pulses of no and of full throttle. Its own sensors have their errors in its parameters (SIM_*).
    """

    SLOWEST: ClassVar[float] = 0.00125

    type: Literal["ardupilot"] = "ardupilot"
    port: int = bounded(9002, ge=1024, le=65535)
    pwm_us: tuple[float, float] = bounded((1000.0, 2000.0), ge=500.0, le=2500.0)

    def __post_init__(self) -> None:
        if not self.pwm_us[0] < self.pwm_us[1]:
            raise EntryError(("pwm_us",), f"must be [none, full], got {list(self.pwm_us)}.")


@dataclass(frozen=True)
class Sticks:
    """Channels of a remote control from a time on: pulses of roll, pitch, throttle, yaw, then of switches."""

    channels_us: tuple[int, ...] = bounded(ge=800, le=2200)
    from_s: float = bounded(0.0, ge=0.0)


@dataclass(frozen=True)
class BetaflightControl(Autopilot):
    """Betaflight SITL over its UDP packets: motors on ``port``, states to the next one, sticks to the one after.

    It is not in lockstep: it flies by the clock of the wall, and so does the simulation. All ports count 10 per
    instance, though the firmware itself has fixed ones. ``answer_s``: wait for motors per state; then the last
    ones are held. ``sticks``: of the remote control, in the order of time, from the first state that it is sent,
    while the vehicle is still held; empty: somebody else sends them. ``bridge: legacy``: versions up to 4.5, and
    builds without its Gazebo bridge.
    """

    SLOWEST: ClassVar[float] = 0.002

    type: Literal["betaflight"] = "betaflight"
    host: str = "127.0.0.1"
    port: int = bounded(9002, ge=1024, le=65535)
    answer_s: float = bounded(0.005, gt=0.0, le=1.0)
    sticks: tuple[Sticks, ...] = ()
    bridge: Literal["gazebo", "legacy"] = "gazebo"
    on_board: OnBoard = OnBoard()

    def __post_init__(self) -> None:
        times = [s.from_s for s in self.sticks]
        for k, (a, b) in enumerate(itertools.pairwise(times)):
            if not a < b:
                raise EntryError(("sticks", k + 1, "from_s"), f"must grow, got {b:g} after {a:g}.")
