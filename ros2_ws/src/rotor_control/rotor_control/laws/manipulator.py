"""Control of a vehicle with an arm: coupled, uncoupled, and by computed torque.

Errors are wanted minus actual. u, M and bias as in
:class:`~rotor_core.vehicles.articulated.ArticulatedVehicle`. Equations (J.7)-(J.12),
docs/theory/manipulators.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rotor_control.laws.attitude import desired_rotation, rotation_error
from rotor_control.laws.limits import clamp_norm, limit_tilt
from rotor_control.laws.position import integrate
from rotor_core.config.controllers import ManipulatorControl
from rotor_core.config.model import Vehicle
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLOATS, ROWS, WHOLE_ROWS, linked
from rotor_core.math import so3
from rotor_core.math.factor import eliminate
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    column,
    cross,
    dot,
    get3,
    get9,
    put3,
    scale,
    sub,
    times,
)
from rotor_core.reference import (
    ACCELERATION,
    ANGULAR_ACCELERATION,
    ATTITUDE,
    BODY_RATE,
    POSITION,
    VELOCITY,
    YAW_ANGLE,
    YAW_RATE,
)
from rotor_core.state import OMEGA, P, Q, V
from rotor_core.vehicles import tree_columns
from rotor_core.vehicles.articulated import ArticulatedVehicle
from rotor_core.vehicles.recursions import inverse_dynamics, mass_matrix, place_links

COUPLED, UNCOUPLED, COMPUTED_TORQUE = constants(0, 1, 2)
LAWS = {"coupled": COUPLED, "uncoupled": UNCOUPLED, "computed_torque": COMPUTED_TORQUE}

ANGLE, RATE, WANTED_ACCELERATION = constants(0, 1, 2)
"""Columns of a reference of joints."""

LAW, MASS, GRAVITY, PERIOD, ERROR_LIMIT, FEEDFORWARD, COS_MAX_TILT, GAIN_FACTOR, LITERAL = (
    constants(*range(9))
)
POSITION_GAIN, VELOCITY_GAIN, INTEGRAL_GAIN, ATTITUDE_GAIN, RATE_GAIN, INERTIA = constants(
    9, 12, 15, 18, 21, 24
)
SETTINGS = 33
"""Columns of the settings of a vehicle with an arm."""

JOINT_GAIN, JOINT_RATE_GAIN, JOINT_INTEGRAL, EFFORT_LIMIT, SERVO = constants(*range(5))
MOTOR = 5
"""Columns of the row of a joint: gains, largest effort, inertia that the uncoupled law sees."""

U, U_DOT, OUT, BIAS, STILL, PUSH = constants(*range(6))
VECTORS = 6
"""Rows of the scratch of a law, over u."""

JOINT_INTEGRAL_LIMIT = 0.1
"""Largest integral of the error of a joint, rad s or m s: anti-windup."""

BETWEEN = {"literal": 4.0, "corrected": 1.0, "corrected_x4": 4.0}
"""Factor on the attitude gains in each reading (J.11)."""


@inlined
def base_acceleration(state, reference, settings, memory):
    """Wanted acceleration of the base frame in W (J.7)."""
    error = sub(get3(reference, POSITION), get3(state, P))
    error = clamp_norm(error, settings[ERROR_LIMIT])
    slip = sub(get3(reference, VELOCITY), get3(state, V))
    integral = integrate(memory, error, settings[PERIOD])
    wanted = add(
        times(get3(settings, POSITION_GAIN), error), times(get3(settings, VELOCITY_GAIN), slip)
    )
    wanted = add(wanted, times(get3(settings, INTEGRAL_GAIN), integral))
    if settings[FEEDFORWARD] != 0.0:
        wanted = add(wanted, get3(reference, ACCELERATION))
    return wanted


@inlined
def joint_accelerations(joints, wanted, settings, motors, memory, saturated, out):
    """Write the wanted accelerations of the joints (J.8) into ``out`` from 6 on.

    Integrals of their errors are limited, and held while their motors can do no more that way.
    """
    for i in range(motors.shape[0]):
        angle = wanted[i, ANGLE] - joints[i, 0]
        rate = wanted[i, RATE] - joints[i, 1]
        if not saturated[i] * angle > 0.0:
            grown = memory[3 + i] + angle * settings[PERIOD]
            memory[3 + i] = min(max(grown, -JOINT_INTEGRAL_LIMIT), JOINT_INTEGRAL_LIMIT)
        value = motors[i, JOINT_GAIN] * angle + motors[i, JOINT_RATE_GAIN] * rate
        value += motors[i, JOINT_INTEGRAL] * memory[3 + i]
        if settings[FEEDFORWARD] != 0.0:
            value += wanted[i, WANTED_ACCELERATION]
        out[6 + i] = value


@inlined
def turn(R, omega, force, reference, settings):
    """Wanted angular acceleration that turns the thrust into ``force`` and keeps the heading (J.9)."""
    R_des = desired_rotation(force, reference[YAW_ANGLE])
    error = rotation_error(R, R_des)
    heading = scale(reference[YAW_RATE], (R[6], R[7], R[8]))  # about the vertical, in base axes
    return add(
        times(get3(settings, ATTITUDE_GAIN), error),
        times(get3(settings, RATE_GAIN), sub(heading, omega)),
    )


@inlined
def solve_free(M, bias, u_dot, thrust, efforts, last, rows, x):
    """Accelerations of the base's place and, up to ``last``, of joints whose forces are given, into ``x``."""
    n = 3 + last
    for i in range(n):
        row = i if i < 3 else i + 3
        push = (thrust if i == 2 else 0.0) if i < 3 else efforts[i - 3]
        push -= bias[row]
        for j in range(n):
            rows[i, j] = M[row, j if j < 3 else j + 3]
        for j in range(3, M.shape[0]):
            if j < 6 or j >= 6 + last:
                push -= M[row, j] * u_dot[j]
        x[i] = push
    eliminate(rows, np.int64(0), n, x)
    for i in range(n):
        u_dot[i if i < 3 else i + 3] = x[i]


@inlined
def needed(M, bias, u_dot, out):
    """Forces that accelerations take: ``out = M u_dot + bias``."""
    for i in range(M.shape[0]):
        value = bias[i]
        for j in range(M.shape[0]):
            value += M[i, j] * u_dot[j]
        out[i] = value


@inlined
def limit_efforts(motors, asked, efforts):
    """Write what the motors can do of the efforts that are asked from 6 on; True if that is less."""
    is_less = False
    for i in range(motors.shape[0]):
        most = motors[i, EFFORT_LIMIT]
        efforts[i] = min(max(asked[6 + i], -most), most)
        is_less = is_less or efforts[i] != asked[6 + i]
    return is_less


@linked(
    FLOATS, ROWS, FLOATS, ROWS, ROWS, WHOLE_ROWS, FLOATS, ROWS, FLOATS, FLOATS, ROWS, ROWS, ROWS, ROWS, FLOATS, FLOATS,
    part="the law of arms",
)  # fmt: skip
def arm_command(
    state, joints, reference, wanted, links, tree, settings, motors, memory, saturated, work, M, rows, vectors,
    out, efforts,
):  # fmt: skip
    """Thrust and moment of a vehicle with an arm, and the efforts of its joints.

    Args:
        state: of the base, (>= 13,).
        joints: angles and rates, (n, 2).
        reference: of the base, (28,).
        wanted: angles, rates and accelerations of the joints, (n, 3).
        links, tree: of :mod:`rotor_core.vehicles.recursions`.
        settings, motors: (SETTINGS,) and (n, MOTOR).
        memory: integrals of the errors of position and joints, (3 + n,) m s, rad s.
        saturated: which way motors can do no more, (n,): -1, 0, 1.
        work, M, rows, vectors: scratch: of the recursions, (6 + n, 6 + n) twice, (VECTORS, 6 + n).
        out, efforts: written, (4,) and (n,).
    """
    R = so3.matrix(so3.get4(state, Q))
    omega = get3(state, OMEGA)
    velocity = apply_transposed(R, get3(state, V))
    u, u_dot, force = vectors[U], vectors[U_DOT], vectors[OUT]
    put3(u, 0, velocity)
    put3(u, 3, omega)
    for i in range(motors.shape[0]):
        u[6 + i] = joints[i, 1]
        vectors[PUSH, i] = joints[i, 0]
    place_links(links, tree, vectors[PUSH], work)
    gravity = apply_transposed(R, (0.0, 0.0, -settings[GRAVITY]))
    put3(vectors[STILL], 0, gravity)
    gravity_B = vectors[STILL, 0:3]
    a = base_acceleration(state, reference, settings, memory)
    joint_accelerations(joints, wanted, settings, motors, memory, saturated, u_dot)
    law = settings[LAW]
    if law == UNCOUPLED:
        for i in range(motors.shape[0]):
            force[6 + i] = motors[i, SERVO] * u_dot[6 + i]
        push = scale(settings[MASS], add(a, (0.0, 0.0, settings[GRAVITY])))
        push = limit_tilt(push, settings[COS_MAX_TILT], settings[MASS])
        alpha = turn(R, omega, push, reference, settings)
        J = get9(settings, INERTIA)
        out[0] = dot(push, column(R, 2))
        put3(out, 1, add(apply(J, alpha), cross(omega, apply(J, omega))))
        limit_efforts(motors, force, efforts)
    elif law == COMPUTED_TORQUE:
        w, x, y, z = so3.get4(state, Q)
        difference = so3.product((w, -x, -y, -z), so3.get4(reference, ATTITUDE))
        side = 1.0 if difference[0] >= 0.0 else -1.0
        R_des = so3.matrix(difference)
        rate = sub(apply(R_des, get3(reference, BODY_RATE)), omega)
        error = (side * difference[1], side * difference[2], side * difference[3])
        alpha = add(
            times(get3(settings, ATTITUDE_GAIN), error), times(get3(settings, RATE_GAIN), rate)
        )
        alpha = scale(settings[GAIN_FACTOR], alpha)
        if settings[FEEDFORWARD] != 0.0:
            alpha = add(alpha, apply(R_des, get3(reference, ANGULAR_ACCELERATION)))
        own = a
        if settings[LITERAL] == 0.0:
            own = apply_transposed(R, a)  # (J.11)
        put3(u_dot, 0, sub(own, cross(omega, velocity)))
        put3(u_dot, 3, alpha)
        inverse_dynamics(links, tree, u, u_dot, gravity_B, work, force)
        out[0] = force[2]
        put3(out, 1, get3(force, 3))
        limit_efforts(motors, force, efforts)
    else:
        put3(u_dot, 0, sub(apply_transposed(R, a), cross(omega, velocity)))
        put3(u_dot, 3, (0.0, 0.0, 0.0))
        inverse_dynamics(links, tree, u, u_dot, gravity_B, work, force)
        push = limit_tilt(apply(R, get3(force, 0)), settings[COS_MAX_TILT], settings[MASS])
        put3(u_dot, 3, turn(R, omega, push, reference, settings))
        # what the base cannot do (a force across its thrust) must not be asked of the joints (J.10)
        bias = vectors[BIAS]
        mass_matrix(links, tree, work, M)
        for i in range(u.shape[0]):
            force[i] = 0.0
        inverse_dynamics(links, tree, u, force, gravity_B, work, bias)
        thrust = dot(push, column(R, 2))
        none, all_joints = np.int64(0), motors.shape[0]
        solve_free(M, bias, u_dot, thrust, efforts, none, rows, vectors[PUSH])
        needed(M, bias, u_dot, force)
        if limit_efforts(motors, force, efforts):
            # the moment must be that of what the motors can do
            solve_free(M, bias, u_dot, thrust, efforts, all_joints, rows, vectors[PUSH])
            needed(M, bias, u_dot, force)
        out[0] = thrust
        put3(out, 1, get3(force, 3))
    for i in range(motors.shape[0]):
        at_limit = abs(efforts[i]) >= motors[i, EFFORT_LIMIT] and efforts[i] != 0.0
        saturated[i] = (1.0 if efforts[i] > 0.0 else -1.0) if at_limit else 0.0


class Packed(NamedTuple):
    """Arguments of :func:`arm_command` after those of the moment."""

    links: np.ndarray
    tree: np.ndarray
    settings: np.ndarray
    motors: np.ndarray
    memory: np.ndarray
    saturated: np.ndarray
    work: np.ndarray
    M: np.ndarray
    rows: np.ndarray
    vectors: np.ndarray


class ManipulatorLaw:
    """The law of one vehicle with an arm.

    Args:
        vehicle: nominal.
        control: law and gains.
        gravity: m/s^2.
        period: of control, s.

    Attributes:
        memory: integrals of the errors of position and joints, (3 + n,) m s, rad s.
        packed: what the kernel takes.
    """

    def __init__(
        self, vehicle: Vehicle, control: ManipulatorControl, gravity: float, period: float
    ) -> None:
        self.model = ArticulatedVehicle(vehicle)
        self.control = control
        moving = vehicle.moving_joints
        n = len(moving)
        self.memory = np.zeros(3 + n)
        centre, inertia = self.model.composite()
        rigid = inertia + self.model.mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        settings = np.zeros(SETTINGS)
        settings[[LAW, MASS, GRAVITY, PERIOD]] = LAWS[control.law], self.model.mass, gravity, period
        settings[[ERROR_LIMIT, FEEDFORWARD]] = control.error_limit_m, control.feedforward
        settings[COS_MAX_TILT] = np.cos(rad_from_deg(vehicle.max_tilt_deg))
        settings[GAIN_FACTOR] = BETWEEN[control.reading]
        settings[LITERAL] = control.reading == "literal"
        for at, gains in (
            (POSITION_GAIN, control.position_per_s2),
            (VELOCITY_GAIN, control.velocity_per_s),
            (INTEGRAL_GAIN, control.integral_per_s3),
            (ATTITUDE_GAIN, control.attitude_per_s2),
            (RATE_GAIN, control.rate_per_s),
        ):
            settings[at : at + 3] = gains
        settings[INERTIA : INERTIA + 9] = rigid.ravel()
        motors = np.zeros((n, MOTOR))
        motors[:, JOINT_GAIN : JOINT_RATE_GAIN + 1] = np.array([j.gains for j in moving]).reshape(
            -1, 2
        )
        motors[:, JOINT_INTEGRAL] = [j.integral_per_s3 for j in moving]
        motors[:, EFFORT_LIMIT] = [np.inf if j.effort is None else j.effort for j in moving]
        motors[:, SERVO] = np.diag(self.model.mass_matrix())[6:]
        links, tree = self.model.tables
        square, work = np.zeros((6 + n, 6 + n)), np.zeros((n + 1, tree_columns.WORK))
        self.packed = Packed(
            links, tree, settings, motors, self.memory, np.zeros(n), work, square, square.copy(),
            np.zeros((VECTORS, 6 + n)),
        )  # fmt: skip

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
        out, efforts = np.zeros(4), np.zeros(len(joints))
        self.command(state, joints, reference, wanted, out, efforts)
        return out, efforts

    def command(
        self,
        state: np.ndarray,
        joints: np.ndarray,
        reference: np.ndarray,
        wanted: np.ndarray,
        out: np.ndarray,
        efforts: np.ndarray,
    ) -> None:
        """The same, written into ``out`` and ``efforts``."""
        arm_command(state, joints, reference, wanted, *self.packed, out, efforts)
