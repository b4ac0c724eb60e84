"""Inner loops of autopilots that answer to setpoints: attitude, rates, normalised thrust and torque, full states.

Axes are ours; :mod:`rotor_adapters.frames` turns those of an autopilot into them.
"""

from __future__ import annotations

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_control.controller import make_controller
from rotor_control.laws.attitude import tracking_moment
from rotor_core.config.controllers import QuadrotorControl
from rotor_core.config.environment import Environment
from rotor_core.config.model import Model, Vehicle
from rotor_core.config.schema import Actuation, Scenario
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.errors import ContractError
from rotor_core.reference import (
    ACCELERATION,
    ATTITUDE,
    JERK,
    POSITION,
    REFERENCE,
    VELOCITY,
    YAW_ANGLE,
    YAW_RATE,
)
from rotor_core.state import State
from rotor_core.vehicles.rotors import RotorSet, rotor_set

LARGEST = 1.0
"""Normalised thrusts and torques are between -1 and 1."""


def largest_wrench(rotors: RotorSet) -> np.ndarray:
    """Wrench at a normalised command of 1, (4,): the thrust of all rotors at full speed, and moments.

    A moment of the largest size takes the rotors from the middle of their range to its ends.
    """
    low, high = rotors.thrust_limits
    moments = 0.5 * (high - low) * np.abs(rotors.mixing[1:]).sum(axis=1)
    return np.array([high * rotors.count, *moments])


class Autopilot:
    """The inner loops of one vehicle, with its gains.

    Args:
        vehicle: nominal.
        gravity: m/s^2.
    """

    def __init__(self, vehicle: Vehicle, gravity: float) -> None:
        self.vehicle = vehicle
        self.largest = largest_wrench(rotor_set(vehicle.rotors))
        self._inertia = tuple(inertia_matrix(vehicle.inertia_kg_m2).ravel())
        alone = Scenario(
            schema=1,
            model=Model(vehicles=(vehicle,)),
            controller=QuadrotorControl("quadrotor"),
            environment=Environment(gravity_m_s2=gravity),
            actuation=Actuation(limits=False),
        )
        self._position = make_controller(alone)

    def thrust(self, normalised: float) -> float:
        """Thrust in N from a share of the largest.

        Raises:
            ContractError: not between 0 and 1.
        """
        if not 0.0 <= normalised <= LARGEST:
            raise ContractError(f"normalised thrust: must be between 0 and 1, got {normalised:g}.")
        return float(normalised * self.largest[0])

    def moments(self, normalised: np.ndarray) -> np.ndarray:
        """Moments about forward, left, up (3,) N m from shares of the largest.

        Raises:
            ContractError: not between -1 and 1.
        """
        if not (np.abs(normalised) <= LARGEST).all():
            raise ContractError(
                f"normalised torques: must be between -1 and 1, got {normalised.tolist()}."
            )
        return normalised * self.largest[1:]

    def hold_attitude(
        self,
        state: np.ndarray,
        q: np.ndarray,
        thrust: float,
        yaw_rate: float = 0.0,
        rates: np.ndarray | None = None,
    ) -> np.ndarray:
        """Wrench (4,) that turns to an attitude (w first) with a thrust in N.

        ``rates``: of the body that go with it, (3,) rad/s; None: the yaw rate only.
        """
        R = quat2mat(State(state).attitude)
        R_des = quat2mat(q)
        rate = yaw_rate * R_des[2] if rates is None else rates
        return np.array(
            [thrust, *self._moment(R, state, R_des, rate, self.vehicle.gains.attitude_n_m)]
        )

    def hold_rates(self, state: np.ndarray, rates: np.ndarray, thrust: float) -> np.ndarray:
        """Wrench (4,) that turns at body rates (3,) rad/s with a thrust in N."""
        R = quat2mat(State(state).attitude)
        return np.array([thrust, *self._moment(R, state, R, rates, (0.0, 0.0, 0.0))])

    def _moment(
        self, R: np.ndarray, state: np.ndarray, R_des: np.ndarray, rate: np.ndarray, gain: tuple
    ) -> tuple:
        return tracking_moment(
            tuple(R.ravel()), tuple(State(state).body_rate), tuple(R_des.ravel()), tuple(rate), (0.0, 0.0, 0.0),
            self._inertia, tuple(map(float, gain)), tuple(map(float, self.vehicle.gains.rate_n_m_s)),
        )  # fmt: skip

    def follow(self, state: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Wrench (4,) that follows a reference (28,)."""
        return self._position.decide(state[None], reference[None])[0].copy()


def reference_of(
    position: np.ndarray,
    velocity: np.ndarray,
    acceleration: np.ndarray,
    yaw: float,
    yaw_rate: float = 0.0,
    jerk: np.ndarray | None = None,
) -> np.ndarray:
    """A reference (28,) in our axes; what is NaN is not asked for, and counts as zero where it is a rate."""
    out = np.zeros(REFERENCE)
    out[ATTITUDE] = 1.0
    out[POSITION : POSITION + 3] = position
    for column, values in ((VELOCITY, velocity), (ACCELERATION, acceleration), (JERK, jerk)):
        if values is not None:
            out[column : column + 3] = np.nan_to_num(values)
    out[YAW_ANGLE], out[YAW_RATE] = np.nan_to_num(yaw), np.nan_to_num(yaw_rate)
    return out
