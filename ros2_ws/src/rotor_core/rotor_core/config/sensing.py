"""The sensing part of a scenario: what controllers measure, and the sensors on board with their errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from rotor_core.config.extensions import SENSORS
from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.structure import bounded


@dataclass(frozen=True)
class Outage:
    """No measurement of an entity arrives for a while: controllers see the last one.

    ``from_s``: time of the scenario.
    ``lost: position``: of its position and velocity, while attitude and rates go on (motion capture or
    satellites are gone, the inertial unit is not); ``all``: of everything.
    """

    entity: str
    from_s: float = bounded(ge=0.0)
    duration_s: float = bounded(gt=0.0)
    lost: Literal["position", "all"] = "position"


@dataclass(frozen=True)
class Noise:
    """Standard deviations of the feedback noise, per component.

    The true state is untouched (RotorTM eqs 75, 76).
    """

    position_m: float = bounded(0.0, ge=0.0)
    velocity_m_s: float = bounded(0.0, ge=0.0)
    attitude_rad: float = bounded(0.0, ge=0.0)
    rate_rad_s: float = bounded(0.0, ge=0.0)

    @property
    def is_zero(self) -> bool:
        """True if there is no noise, so that measurements equal the truth."""
        return self == Noise()


@dataclass(frozen=True)
class InertialErrors:
    """Errors of an inertial unit, per axis: noise, biases that wander, and saturation.

    A sample has noise of the ``density`` times the square root of the rate. Biases begin with ``bias`` and walk by
    ``walk`` times the square root of the time; what is beyond ``limit`` is told as the limit.
    """

    accelerometer_bias_m_s2: Vector = (0.0, 0.0, 0.0)
    gyroscope_bias_rad_s: Vector = (0.0, 0.0, 0.0)
    accelerometer_density_m_s2_sqrt_hz: float = bounded(0.0, ge=0.0)
    gyroscope_density_rad_s_sqrt_hz: float = bounded(0.0, ge=0.0)
    accelerometer_walk_m_s3_sqrt_hz: float = bounded(0.0, ge=0.0)
    gyroscope_walk_rad_s2_sqrt_hz: float = bounded(0.0, ge=0.0)
    accelerometer_limit_m_s2: float | None = bounded(None, gt=0.0)
    gyroscope_limit_rad_s: float | None = bounded(None, gt=0.0)


NO_ERRORS = InertialErrors()


@dataclass(frozen=True)
class Imu(InertialErrors):
    """Inertial unit of every vehicle at its base link, with its errors.

    ``noise``: standard deviations per sample, at any rate, beside that of the ``density``.
    """

    rate_hz: float = bounded(100.0, gt=0.0, le=1000.0)
    accelerometer_noise_m_s2: float = bounded(0.0, ge=0.0)
    gyroscope_noise_rad_s: float = bounded(0.0, ge=0.0)


@dataclass(frozen=True)
class MagnetometerErrors:
    """Magnetometer, of the field at the origin of the world: noise per sample, bias in body axes."""

    rate_hz: float = bounded(50.0, gt=0.0, le=1000.0)
    noise_t: float = bounded(0.0, ge=0.0)
    bias_t: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class PressureErrors:
    """Sensor of a pressure: noise per sample, constant bias."""

    rate_hz: float = bounded(25.0, gt=0.0, le=1000.0)
    noise_pa: float = bounded(0.0, ge=0.0)
    bias_pa: float = 0.0


@dataclass(frozen=True)
class GpsErrors:
    """Satellite navigation: standard deviations per sample and axis, and the age of what it tells."""

    rate_hz: float = bounded(5.0, gt=0.0, le=100.0)
    delay_s: float = bounded(0.0, ge=0.0, le=2.0)
    horizontal_m: float = bounded(0.0, ge=0.0)
    vertical_m: float = bounded(0.0, ge=0.0)
    velocity_m_s: float = bounded(0.0, ge=0.0)


@dataclass(frozen=True)
class LoadCell:
    """Load cell at end a of every cable: standard deviation per sample and component, constant bias of the tension."""

    rate_hz: float = bounded(100.0, gt=0.0, le=1000.0)
    noise_n: float = bounded(0.0, ge=0.0)
    bias_n: float = 0.0


@dataclass(frozen=True)
class KalmanEstimator:
    """Extended Kalman filter on board of every vehicle: controllers get its estimate of the vehicle's state.

    Positions are those of the measured states, with their rate, delay and dropouts; accelerometers and gyroscopes have
    the errors of ``imu``. The filter believes that positions deviate by ``position_m`` and inertial units by the
    densities, upwards by that of ``vertical``. ``accelerometer: thrust``: only its axis of thrust is used, as small
    vehicles do in flight. It knows of no cable: see docs/theory/estimation.md.
    """

    type: Literal["kalman"]
    position_m: float = bounded(0.01, gt=0.0)
    accelerometer_density_m_s2_sqrt_hz: float = bounded(0.016, gt=0.0)
    vertical_density_m_s2_sqrt_hz: float = bounded(0.032, gt=0.0)
    gyroscope_density_rad_s_sqrt_hz: float = bounded(0.0032, gt=0.0)
    accelerometer: Literal["thrust", "all"] = "thrust"


@dataclass(frozen=True)
class Sensing:
    """Measurements for controllers: noise, rate, delay and dropouts of the state; sensors on board.

    ``rate_hz``: of state samples; left out: one per control period, which is the most. ``delay_s``: from sample to
    arrival, in steps of the control period. A dropout begins at a sample of an entity with
    ``dropout_probability`` and swallows its samples for ``dropout_s`` (0: this one only);
    ``outages`` are dropouts at given times. ``estimator``: what vehicles make of that on board.
    ``sensors``: more of them on board, by ``type``.
    """

    noise: Noise = field(default_factory=Noise)
    rate_hz: float | None = bounded(None, gt=0.0, le=10000.0)
    delay_s: float = bounded(0.0, ge=0.0, le=1.0)
    dropout_probability: float = bounded(0.0, ge=0.0, le=1.0)
    dropout_s: float = bounded(0.0, ge=0.0)
    outages: tuple[Outage, ...] = ()
    estimator: KalmanEstimator | None = None
    imu: Imu = field(default_factory=Imu)
    load_cell: LoadCell = field(default_factory=LoadCell)
    sensors: tuple[Annotated[Any, SENSORS], ...] = ()

    @property
    def is_ideal(self) -> bool:
        """True if measured states equal the true ones in every control period, without delay or dropouts."""
        return (
            self.noise.is_zero
            and self.rate_hz is None
            and self.delay_s == 0.0
            and self.dropout_probability == 0.0
            and not self.outages
            and self.estimator is None
        )
