"""Control of a vehicle with an arm: coupled, uncoupled, and by computed torque.

Errors are wanted minus actual. u, M and bias as in
:class:`~rotor_core.vehicles.articulated.ArticulatedVehicle`. Equations (J.7)-(J.12),
docs/theory/manipulators.md.
"""

from __future__ import annotations

import numpy as np
from transforms3d.quaternions import qconjugate, qmult, quat2mat

from rotor_control.gains import INTEGRAL_LIMIT
from rotor_control.laws.attitude import desired_rotation, rotation_error
from rotor_core import reference as ref
from rotor_core.config.controllers import ManipulatorControl
from rotor_core.config.model import Vehicle
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.state import State
from rotor_core.vehicles.articulated import ArticulatedVehicle

ANGLE, RATE, ACCELERATION = 0, 1, 2
"""Columns of a reference of joints."""

JOINT_INTEGRAL_LIMIT = 0.1
"""Largest integral of the error of a joint, rad s or m s: anti-windup."""

BETWEEN = {"literal": 4.0, "corrected": 1.0, "corrected_x4": 4.0}
"""Factor on the attitude gains in each reading (J.11)."""


class ManipulatorLaw:
    """The law of one vehicle with an arm.

    Args:
        vehicle: nominal.
        control: law and gains.
        gravity: m/s^2.
        period: of control, s.

    Attributes:
        memory: integrals of the errors of position and joints, (3 + n,) m s, rad s.
    """

    def __init__(
        self, vehicle: Vehicle, control: ManipulatorControl, gravity: float, period: float
    ) -> None:
        self.model = ArticulatedVehicle(vehicle)
        self.control = control
        self._period = period
        moving = vehicle.moving_joints
        self.memory = np.zeros(3 + len(moving))
        self._weight = np.array([0.0, 0.0, -gravity])
        self._integrals = np.array([j.integral_per_s3 for j in moving])
        self._joint_gains = np.array([j.gains for j in moving]).reshape(-1, 2)
        self._saturated = np.zeros(len(moving))
        self._limits = np.array([np.inf if j.effort is None else j.effort for j in moving])
        self._tilt = np.cos(rad_from_deg(vehicle.max_tilt_deg))
        self._laws = {
            "coupled": self._coupled,
            "uncoupled": self._uncoupled,
            "computed_torque": self._computed_torque,
        }
        centre, inertia = self.model.composite()
        self._rigid = inertia + self.model.mass * (
            centre @ centre * np.eye(3) - np.outer(centre, centre)
        )
        self._servos = np.diag(self.model.mass_matrix())[6:].copy()

    def __call__(
        self, state: np.ndarray, joints: np.ndarray, reference: np.ndarray, wanted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Thrust and moment (4,), and efforts of the joints (n,).

        Args:
            state: of the base, (>= 13,).
            joints: angles and rates, (n, 2).
            reference: of the base, (28,).
            wanted: angles, rates and accelerations of the joints, (n, 3).
        """
        R = quat2mat(State(state).attitude)
        u = np.concatenate([R.T @ State(state).velocity, State(state).body_rate, joints[:, 1]])
        self.model.place(joints[:, 0])
        wrench, efforts = self._laws[self.control.law](state, R, u, joints, reference, wanted)
        limited = np.clip(efforts, -self._limits, self._limits)
        self._saturated = np.sign(efforts) * (np.abs(efforts) >= self._limits)
        return wrench, limited

    def _base_acceleration(self, state: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Wanted acceleration of the base frame in W (J.7)."""
        c = self.control
        error = reference[ref.POSITION : ref.POSITION + 3] - State(state).position
        far = np.linalg.norm(error)
        if far > c.error_limit_m:
            error = error * (c.error_limit_m / far)
        slip = reference[ref.VELOCITY : ref.VELOCITY + 3] - State(state).velocity
        self.memory[:3] += error * self._period
        integral = np.clip(self.memory[:3], -INTEGRAL_LIMIT, INTEGRAL_LIMIT, out=self.memory[:3])
        wanted = np.array(c.position_per_s2) * error + np.array(c.velocity_per_s) * slip
        wanted += np.array(c.integral_per_s3) * integral
        if c.feedforward:
            wanted += reference[ref.ACCELERATION : ref.ACCELERATION + 3]
        return wanted

    def _integrated(self, angle: np.ndarray) -> np.ndarray:
        """Integrals of the errors of the joints: limited, and held while their motors can do no more that way."""
        own = self.memory[3:]
        own += np.where(self._saturated * angle > 0.0, 0.0, angle * self._period)
        return np.clip(own, -JOINT_INTEGRAL_LIMIT, JOINT_INTEGRAL_LIMIT, out=own)

    def _joint_acceleration(self, joints: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Wanted accelerations of the joints (J.8)."""
        angle = wanted[:, ANGLE] - joints[:, 0]
        rate = wanted[:, RATE] - joints[:, 1]
        out = self._joint_gains[:, 0] * angle + self._joint_gains[:, 1] * rate
        out += self._integrals * self._integrated(angle)
        return out + wanted[:, ACCELERATION] if self.control.feedforward else out

    def _turn(
        self, R: np.ndarray, omega: np.ndarray, force: np.ndarray, reference: np.ndarray
    ) -> np.ndarray:
        """Wanted angular acceleration that turns the thrust into ``force`` and keeps the heading (J.9)."""
        c = self.control
        R_des = desired_rotation(self._tilted(force), reference[ref.YAW_ANGLE])
        error = np.array(rotation_error(tuple(R.ravel()), R_des))
        rate = reference[ref.YAW_RATE] * R[2] - omega  # about the vertical, in the axes of the base
        return np.array(c.attitude_per_s2) * error + np.array(c.rate_per_s) * rate

    def _tilted(self, force: np.ndarray) -> tuple[float, float, float]:
        """The force, leaning at most as far as the vehicle may."""
        size = max(float(np.linalg.norm(force)), 1e-9)
        if force[2] < self._tilt * size:
            side = np.hypot(force[0], force[1])
            lean = np.sqrt(1.0 - self._tilt**2)
            force = np.array([*(force[:2] * (lean / max(side, 1e-9))), self._tilt])
        return float(force[0]), float(force[1]), float(force[2])

    def _coupled(self, state, R, u, joints, reference, wanted):  # type: ignore[no-untyped-def]
        a = self._base_acceleration(state, reference)
        u_dot = np.zeros(len(u))
        u_dot[:3] = R.T @ a - np.cross(u[3:6], u[:3])
        u_dot[6:] = self._joint_acceleration(joints, wanted)
        gravity = R.T @ self._weight
        force = R @ self.model.inverse_dynamics(u, u_dot, gravity)[:3]
        u_dot[3:6] = self._turn(R, u[3:6], force, reference)
        # what the base cannot do (a force across its thrust) must not be asked of the joints (J.10)
        M, bias = self.model.mass_matrix(), self.model.bias(u, gravity)
        thrust = float(force @ R[:, 2])
        push = np.array([0.0, 0.0, thrust]) - bias[:3] - M[:3, 3:] @ u_dot[3:]
        u_dot[:3] = np.linalg.solve(M[:3, :3], push)
        out = M @ u_dot + bias
        efforts = np.clip(out[6:], -self._limits, self._limits)
        if not np.array_equal(
            efforts, out[6:]
        ):  # the moment must be that of what the motors can do
            free = [0, 1, 2, *range(6, len(u))]
            push = np.array([0.0, 0.0, thrust, *efforts]) - bias[free] - M[free, 3:6] @ u_dot[3:6]
            u_dot[free] = np.linalg.solve(M[np.ix_(free, free)], push)
            out = M @ u_dot + bias
        return np.array([thrust, *out[3:6]]), efforts

    def _uncoupled(self, state, R, u, joints, reference, wanted):  # type: ignore[no-untyped-def]
        force = self.model.mass * (self._base_acceleration(state, reference) - self._weight)
        alpha = self._turn(R, u[3:6], force, reference)
        moment = self._rigid @ alpha + np.cross(u[3:6], self._rigid @ u[3:6])
        efforts = self._servos * self._joint_acceleration(joints, wanted)
        return np.array([force @ R[:, 2], *moment]), efforts

    def _computed_torque(self, state, R, u, joints, reference, wanted):  # type: ignore[no-untyped-def]
        c = self.control
        difference = qmult(
            qconjugate(State(state).attitude), reference[ref.ATTITUDE : ref.ATTITUDE + 4]
        )
        turn = difference[1:] * (1.0 if difference[0] >= 0.0 else -1.0)
        R_des = quat2mat(difference)
        rate = R_des @ reference[ref.BODY_RATE : ref.BODY_RATE + 3] - u[3:6]
        alpha = np.array(c.attitude_per_s2) * turn + np.array(c.rate_per_s) * rate
        alpha *= BETWEEN[c.reading]
        if c.feedforward:
            alpha += R_des @ reference[ref.ANGULAR_ACCELERATION : ref.ANGULAR_ACCELERATION + 3]
        a = self._base_acceleration(state, reference)
        own = a if c.reading == "literal" else R.T @ a  # (J.11)
        u_dot = np.concatenate(
            [own - np.cross(u[3:6], u[:3]), alpha, self._joint_acceleration(joints, wanted)]
        )
        out = self.model.inverse_dynamics(u, u_dot, R.T @ self._weight)
        return out[2:6].copy(), out[6:]
