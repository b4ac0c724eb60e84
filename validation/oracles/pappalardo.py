"""A delivery quadcopter as five bodies: redundant Cardan coordinates with multipliers, and a minimal model.

Source: Pappalardo, Del Giudice, Baldassarre Oliva, Stieven, Naddeo, "Computer-Aided Design, Multibody
Dynamic Modeling, and Motion Control Analysis of a Quadcopter System for Delivery Applications", Machines
11(4):464 (2023). Numbers in parentheses are its equations, with theta_dot as last factor of (17), local
vectors inside (27), and thrust at the hubs and gravity on every body, which (44) lacks. The minimal
model is not in the paper: it is the frame as a gyrostat whose inertia turns with the propellers.

Body 0 is the frame B, bodies 1 to 4 are the propellers; the payload is part of the frame. The origin of
every body is its mass centre, its axes are principal. Propeller k turns about z of B at hub k, positive
counter-clockwise seen from above. State ``y = [q, q_dot]``, (60,), with ``q = 5 x [p (3), phi, theta, psi]``
and Cardan angles ``R = Rx(phi) Ry(theta) Rz(psi)``, singular at theta = +-90 degrees. W has z up. SI units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy import ndarray as Array
from scipy.integrate import solve_ivp
from scipy.linalg import solve_triangular

Pair = tuple[Array, Array]
Rate = Callable[[float, Array], Array]
SpeedLaw = Callable[[float], Pair]  # signed joint speeds and their rates at t, (4,)
Torque = Callable[[float], Array]  # motor torques at t, (4,), N m
Drive = Literal["axial", "printed"]  # one row per propeller, or the three of (37)

EZ, K = np.array([0.0, 0.0, 1.0]), np.arange(4)  # z, joints
SQUARE = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])
RANK_TOLERANCE = 1e-10  # singular values of the stacked rows: 24 near one, the others near 1e-16
DEPENDENT = np.arange(6, 30).reshape(4, 6)[:, :5].ravel()  # all of a propeller but its psi
RELATIVE, ABSOLUTE = 1e-11, 1e-12  # errors per step


@dataclass(frozen=True)
class Drone:
    """Masses and inertias of Table 2; rotor coefficients (1)-(7) for two blades at 15 degrees Celsius.

    Attributes:
        masses, inertias: of frame and propellers, kg (5,), and principal, in body axes, kg m2 (5, 3).
        hubs: in B, in the plane of its origin, with zero sum, (4, 3), m.
        thrust_coefficient, drag_ratio: thrust per squared joint speed, N s2; drag torque per thrust, m.
        gravity: m/s2, along -z of W.
        force_W: external force on the frame at its mass centre, (3,), N.
    """

    masses: Array
    inertias: Array
    hubs: Array = field(default_factory=lambda: 0.4974 * np.sqrt(0.5) * SQUARE)
    thrust_coefficient: float = 2.23413e-4
    drag_ratio: float = 0.0381107
    gravity: float = 9.81
    force_W: Array = field(default_factory=lambda: np.zeros(3))

    @classmethod
    def table_2(cls, *, payload: float = 2.0, blades: Literal["two", "many"] = "two") -> Drone:
        """Payload as a point at the frame's origin; many blades have the mean of I_xx and I_yy."""
        propeller = np.array([9.8e-6, 8.6e-4, 8.6e-4])
        if blades == "many":
            propeller[:2] = propeller[:2].mean()
        inertias = np.vstack([[0.27, 0.26, 0.42], np.tile(propeller, (4, 1))])
        return cls(np.array([8.0 + payload, *4 * [5.6e-3]]), inertias)


@dataclass(frozen=True)
class Flight:
    """An instant: p_WB, v_WB, omega_B (3,), R_WB (3, 3), joint angles and speeds (4,)."""

    p_WB: Array
    R_WB: Array
    v_WB: Array
    omega_B: Array
    angles: Array
    speeds: Array


class Kinematics(NamedTuple):
    """Of every body: R, R_dot, R_ddot less its angle_ddot; G, ``G_dot angle_dot``, body rate.

    relative_W, (4, 3): angular velocity of the propellers relative to the frame.
    """

    R: Array
    R_dot: Array
    R_bias: Array
    G: Array
    G_bias: Array
    omega: Array
    relative_W: Array


def wind_force(speed: float) -> float:
    """Drag of the frame in wind, N: ``C_s S rho v^2 / 2`` with C_s = 1, S = 0.06, rho = 1.22, (64)."""
    return 0.5 * 0.06 * 1.22 * speed**2


def skew(v: Array) -> Array:
    """Matrices of the cross product, (..., 3, 3)."""
    out = np.zeros((*v.shape, 3))
    out[..., [2, 0, 1], [1, 2, 0]] = v
    return out - np.swapaxes(out, -1, -2)


def cardan_rotation(angles: Array) -> Array:
    """``Rx(phi) Ry(theta) Rz(psi)``, (n, 3, 3), (11)-(13)."""
    (sf, st, sp), (cf, ct, cp) = np.sin(angles).T, np.cos(angles).T
    rows = [
        [ct * cp, -ct * sp, st],
        [cf * sp + sf * st * cp, cf * cp - sf * st * sp, -sf * ct],
        [sf * sp - cf * st * cp, sf * cp + cf * st * sp, cf * ct],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def rate_map(angles: Array, rates: Array) -> Pair:
    """G with ``omega_B = G angle_dot``, (n, 3, 3), (19)-(20), and ``G_dot angle_dot``, (n, 3)."""
    (_, st, sp), (_, ct, cp), (df, dt, dp) = np.sin(angles).T, np.cos(angles).T, rates.T
    o, i = np.zeros_like(st), np.ones_like(st)
    x = (-st * cp * dt - ct * sp * dp) * df + cp * dp * dt
    y = (st * sp * dt - ct * cp * dp) * df - sp * dp * dt
    G = np.array([[ct * cp, sp, o], [-ct * sp, cp, o], [st, o, i]])
    return np.moveaxis(G, 2, 0), np.column_stack([x, y, ct * dt * df])


def kinematics(y: Array) -> Kinematics:
    """Kinematic quantities that the matrices below need."""
    angles, rates = y.reshape(2, 5, 6)[:, :, 3:]
    R, (G, G_bias) = cardan_rotation(angles), rate_map(angles, rates)
    omega = G @ rates[..., None]
    spin, omega_W = skew(omega[..., 0]), (R @ omega)[..., 0]
    R_bias, relative_W = R @ (skew(G_bias) + spin @ spin), omega_W[1:] - omega_W[0]
    return Kinematics(R, R @ spin, R_bias, G, G_bias, omega[..., 0], relative_W)


def mass_matrix(k: Kinematics, drone: Drone) -> Array:
    """M, (30, 30), (17)."""
    M, bodies = np.zeros((5, 6, 5, 6)), np.arange(5)
    M[bodies, :3, bodies, :3] = drone.masses[:, None, None] * np.eye(3)
    M[bodies, 3:, bodies, 3:] = k.G.transpose(0, 2, 1) @ (drone.inertias[:, :, None] * k.G)
    return M.reshape(30, 30)


def generalised_forces(k: Kinematics, force_W: Array, tau: Array) -> Array:
    """Forces at the mass centres and torques in body axes, (5, 3) each, on q, (30,), (40)-(41)."""
    return np.hstack([force_W, (tau[:, None, :] @ k.G)[:, 0]]).ravel()


def quadratic_velocity(k: Kinematics, drone: Drone) -> Array:
    """Q_v, (30,), (17)-(18)."""
    gyroscopic = (skew(k.omega) @ (drone.inertias * k.omega)[..., None])[..., 0]
    return generalised_forces(k, np.zeros((5, 3)), -gyroscopic - drone.inertias * k.G_bias)


def applied_forces(k: Kinematics, drone: Drone, speed: Array, motor: Array) -> Array:
    """Q_e + Q_u, (30,): gravity, thrust along z of B at the hubs, drag and motor torques, force_W."""
    thrust = drone.thrust_coefficient * speed**2
    force_W, tau = np.outer(-drone.masses * drone.gravity, EZ), np.zeros((5, 3))
    force_W[0] += drone.force_W + k.R[0, :, 2] * thrust.sum()
    tau[0] = thrust @ drone.hubs @ skew(EZ) - motor.sum() * EZ  # a x z = a^T skew(z)
    tau[1:, 2] = motor - np.sign(speed) * drone.drag_ratio * thrust
    return generalised_forces(k, force_W, tau)


def revolute_violation(q: Array, drone: Drone) -> Array:
    """Psi, (20,), (22): place of the hub, then axes x and y of the propeller against z of the frame."""
    p, R = q.reshape(5, 6)[:, :3], cardan_rotation(q.reshape(5, 6)[:, 3:])
    place = p[1:] - p[0] - drone.hubs @ R[0].T
    return np.hstack([place, R[0, :, 2] @ R[1:, :, :2]]).ravel()


def revolute_jacobian(k: Kinematics, drone: Drone) -> Array:
    """Slope of Psi, (20, 30), (26)-(27); i is the propeller, j the frame."""
    C = np.zeros((4, 5, 5, 6))
    C[K, :3, K + 1, :3] = np.eye(3)
    C[:, :3, 0, :3] = -np.eye(3)
    C[:, :3, 0, 3:] = -k.R[0] @ skew(drone.hubs).transpose(0, 2, 1) @ k.G[0]
    slopes = k.R[1:, None] @ skew(np.eye(3)[:2]).transpose(0, 2, 1) @ k.G[1:, None]  # D_i
    C[K, 3:, K + 1, 3:] = k.R[0, :, 2] @ slopes
    C[:, 3:, 0, 3:] = k.R[1:, :, :2].transpose(0, 2, 1) @ (k.R[0] @ skew(EZ).T @ k.G[0])
    return C.reshape(20, 30)


def revolute_right_side(k: Kinematics, drone: Drone) -> Array:
    """Q_d with ``Psi_q q_ddot = Q_d``, (20,), (28)."""
    place = drone.hubs @ k.R_bias[0].T
    axes = k.R[0, :, 2] @ k.R_bias[1:, :, :2] + k.R_bias[0, :, 2] @ k.R[1:, :, :2]
    axes += 2.0 * k.R_dot[0, :, 2] @ k.R_dot[1:, :, :2]
    return np.hstack([place, -axes]).ravel()


def driving_jacobian(k: Kinematics, drive: Drive) -> Array:
    """Slope of the relative angular velocities in W, (12, 30), (37)-(38), or about z of B, (4, 30)."""
    D = np.zeros((4, 3, 5, 6))
    D[K, :, K + 1, 3:] = k.R[1:] @ k.G[1:]
    D[:, :, 0, 3:] = -k.R[0] @ k.G[0]
    rows = D.reshape(4, 3, 30)
    return rows.reshape(12, 30) if drive == "printed" else k.R[0, :, 2] @ rows


def driving_right_side(k: Kinematics, joints: Pair, drive: Drive) -> Array:
    """Of ``Theta_q_dot q_ddot``, (12,), (39), or of ``z . (omega_i - omega_j)' = speed'``, (4,)."""
    z, z_dot, turning = k.R[0, :, 2], k.R_dot[0, :, 2], (k.R @ k.G_bias[..., None])[..., 0]
    right = np.outer(joints[1], z) + np.outer(joints[0], z_dot) - turning[1:] + turning[0]
    return right.ravel() if drive == "printed" else right @ z - k.relative_W @ z_dot


def constraint_jacobian(k: Kinematics, drone: Drone, drive: Drive = "axial") -> Array:
    """Revolute rows, then driving rows: (24, 30), or (32, 30) of the same rank."""
    return np.vstack([revolute_jacobian(k, drone), driving_jacobian(k, drive)])


def constrained(M: Array, Q: Array, C: Array, right: Array, *, redundant: bool = False) -> Pair:
    """Accelerations and multipliers of ``M q_ddot + C^T lam = Q``, ``C q_ddot = right``, (52)-(53).

    Redundant rows have no unique multipliers: least squares then; the accelerations are unique.
    """
    L = np.linalg.cholesky(M)
    weighted = solve_triangular(L, np.column_stack([C.T, Q]), lower=True)
    B, free = weighted[:, :-1], weighted[:, -1]
    gram, excess = B.T @ B, B.T @ free - right
    if redundant:
        lam = np.linalg.lstsq(gram, excess, rcond=RANK_TOLERANCE)[0]
    else:
        lam = np.linalg.solve(gram, excess)
    return solve_triangular(L, free - B @ lam, lower=True, trans=1), lam


def accelerations(y: Array, drone: Drone, joints: Pair, drive: Drive = "axial") -> Pair:
    """Accelerations (30,) and multipliers (24,) or (32,) with joints driven at speeds and their rates."""
    k = kinematics(y)
    Q = quadratic_velocity(k, drone) + applied_forces(k, drone, joints[0], np.zeros(4))
    right = np.hstack([revolute_right_side(k, drone), driving_right_side(k, joints, drive)])
    C = constraint_jacobian(k, drone, drive)
    return constrained(mass_matrix(k, drone), Q, C, right, redundant=drive == "printed")


def torque_accelerations(y: Array, drone: Drone, motor: Array) -> Pair:
    """Accelerations (30,) and multipliers (20,) with free joints and motor torques (4,), N m."""
    k = kinematics(y)
    Q = quadratic_velocity(k, drone) + applied_forces(k, drone, k.relative_W @ k.R[0, :, 2], motor)
    C, right = revolute_jacobian(k, drone), revolute_right_side(k, drone)
    return constrained(mass_matrix(k, drone), Q, C, right)


def motor_torques(y: Array, drone: Drone, joints: Pair, drive: Drive = "axial") -> Array:
    """Joint-axis part of the constraint torques of the frame on the propellers, (4,), N m."""
    k, (_, lam) = kinematics(y), accelerations(y, drone, joints, drive)
    Q = -(lam @ constraint_jacobian(k, drone, drive)).reshape(5, 6)[1:, 3:]
    return np.linalg.solve(k.G[1:].transpose(0, 2, 1), Q[..., None])[:, 2, 0]  # (41) inverted


def coordinates(flight: Flight, drone: Drone) -> Array:
    """State y, (60,), that satisfies every constraint."""
    R, w, hubs_B = flight.R_WB, flight.omega_B, np.vstack([np.zeros(3), drone.hubs])
    phi, psi = np.arctan2(-R[1, 2], R[2, 2]), np.arctan2(-R[0, 1], R[0, 0])
    q, q_dot = y = np.zeros((2, 5, 6))
    q[:, :3], q[:, 3:] = flight.p_WB + hubs_B @ R.T, [phi, np.arcsin(R[0, 2]), psi]
    q_dot[:, :3] = flight.v_WB + np.cross(w, hubs_B) @ R.T
    q_dot[:, 3:] = np.linalg.solve(rate_map(q[:1, 3:], q[:1, 3:])[0][0], w)
    q[1:, 5] += flight.angles  # a turn about z of B adds to psi, the last angle
    q_dot[1:, 5] += flight.speeds
    return y.ravel()


def flight_from(y: Array) -> Flight:
    """Inverse of coordinates; joint angles keep count of turns."""
    k, (q, q_dot) = kinematics(y), y.reshape(2, 5, 6)
    pose = q[0, :3], k.R[0], q_dot[0, :3], k.omega[0]
    return Flight(*pose, q[1:, 5] - q[0, 5], k.relative_W @ k.R[0, :, 2])


def momentum(y: Array, drone: Drone) -> Pair:
    """Total linear momentum, and angular momentum about the origin of W, (3,) each, in W."""
    k, (q, q_dot) = kinematics(y), y.reshape(2, 5, 6)
    linear_W = drone.masses[:, None] * q_dot[:, :3]
    spin_W = (k.R @ (drone.inertias * k.omega)[..., None])[..., 0]
    return linear_W.sum(axis=0), (np.cross(q[:, :3], linear_W) + spin_W).sum(axis=0)


def solve(rate: Rate, start: Array, times: Array) -> Array:
    """States at the times, the first of which is that of the start, by DOP853."""
    span = times[[0, -1]]
    return solve_ivp(rate, span, start, "DOP853", times, rtol=RELATIVE, atol=ABSOLUTE).y.T


def driven_rate(drone: Drone, law: SpeedLaw) -> Rate:
    """Rate of y with driven joints, index 1, axial rows."""
    return lambda t, y: np.hstack([y[30:], accelerations(y, drone, law(t))[0]])


def torque_rate(drone: Drone, motor: Torque) -> Rate:
    """Rate of y with free joints, index 1."""
    return lambda t, y: np.hstack([y[30:], torque_accelerations(y, drone, motor(t))[0]])


def integrate_dae(drone: Drone, start: Flight, law: SpeedLaw, times: Array) -> Array:
    """States y at the times, (n, 60), with driven joints; the law replaces the speeds of the start."""
    y = coordinates(replace(start, speeds=law(times[0])[0]), drone)
    return solve(driven_rate(drone, law), y, times)


def integrate_torque_driven(drone: Drone, start: Flight, motor: Torque, times: Array) -> Array:
    """States y at the times, (n, 60), with free joints and given motor torques."""
    return solve(torque_rate(drone, motor), coordinates(start, drone), times)


def project(y: Array, drone: Drone, speed: Array) -> Array:
    """Coordinate partitioning: pose of the frame and psi of the propellers stay, the rest follows."""
    q, q_dot = y = y.copy().reshape(2, 30)
    for _ in range(2):  # Newton's method from a violation of the order of the integration error
        C = revolute_jacobian(kinematics(y), drone)
        q[DEPENDENT] -= np.linalg.solve(C[:, DEPENDENT], revolute_violation(q, drone))
    C = constraint_jacobian(kinematics(y), drone)
    right = np.concatenate([np.zeros(20), speed]) - C[:, :6] @ q_dot[:6]
    q_dot[6:] = np.linalg.solve(C[:, 6:], right)
    return y.ravel()


def integrate_dae_rk4(
    drone: Drone, start: Flight, law: SpeedLaw, t_end: float, steps: int, *, stabilised: bool
) -> Array:
    """State y at the end by classical Runge-Kutta steps, stabilised by one projection after each."""
    rate, h = driven_rate(drone, law), t_end / steps
    y = coordinates(replace(start, speeds=law(0.0)[0]), drone)
    for t in h * np.arange(steps):
        k1 = rate(t, y)
        k2 = rate(t + 0.5 * h, y + 0.5 * h * k1)
        k3 = rate(t + 0.5 * h, y + 0.5 * h * k2)
        k4 = rate(t + h, y + h * k3)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        if stabilised:
            y = project(y, drone, law(t + h)[0])
    return y


def gyrostat_inertia(drone: Drone, angles: Array, speed: Array) -> Pair:
    """J of the whole vehicle about its mass centre in B, and its rate, (3, 3) each."""
    J, J_dot, spin = np.diag(drone.inertias[0]), np.zeros((3, 3)), skew(EZ)
    for i, u in enumerate(drone.hubs):
        Rz = cardan_rotation(angles[i] * EZ[None])[0]
        turned = Rz @ np.diag(drone.inertias[i + 1]) @ Rz.T
        J = J + turned + drone.masses[i + 1] * (u @ u * np.eye(3) - np.outer(u, u))
        J_dot = J_dot + speed[i] * (spin @ turned - turned @ spin)
    return J, J_dot


def minimal_accelerations(drone: Drone, flight: Flight, speed_dot: Array) -> Pair:
    """Rates of v_WB and omega_B, (3,) each, of the frame alone."""
    w, speed, spin = flight.omega_B, flight.speeds, drone.inertias[1:, 2]
    thrust = drone.thrust_coefficient * speed**2
    force_W = drone.force_W + flight.R_WB[:, 2] * thrust.sum()
    J, J_dot = gyrostat_inertia(drone, flight.angles, speed)
    tau = np.array([drone.hubs[:, 1] @ thrust, -drone.hubs[:, 0] @ thrust, 0.0])
    tau -= EZ * (drone.drag_ratio * np.sign(speed) @ thrust + spin @ speed_dot)  # drag, h_dot
    tau -= np.cross(w, J @ w + spin @ speed * EZ) + J_dot @ w
    return force_W / drone.masses.sum() - drone.gravity * EZ, np.linalg.solve(J, tau)


def newton_euler_torques(drone: Drone, flight: Flight, speed_dot: Array) -> Array:
    """Motor torques by Euler's equation of every propeller about its axis, (4,), N m."""
    w, speed = flight.omega_B, flight.speeds
    _, w_dot = minimal_accelerations(drone, flight, speed_dot)
    c, s = np.cos(flight.angles), np.sin(flight.angles)
    across = (c * w[0] + s * w[1]) * (c * w[1] - s * w[0])  # omega_x omega_y in propeller axes
    Ixx, Iyy, Izz = drone.inertias[1:].T
    drag = drone.drag_ratio * drone.thrust_coefficient * speed * np.abs(speed)
    return Izz * (w_dot[2] + speed_dot) + (Iyy - Ixx) * across + drag


def integrate_minimal(drone: Drone, start: Flight, law: SpeedLaw, times: Array) -> list[Flight]:
    """Flights of the minimal model at the times, attitude as a matrix."""

    def flight(t: float, x: Array) -> Flight:
        return Flight(x[:3], x[3:12].reshape(3, 3), x[12:15], x[15:18], x[18:], law(t)[0])

    def rate(t: float, x: Array) -> Array:
        now = flight(t, x)
        R_dot = now.R_WB @ skew(now.omega_B)
        rates = minimal_accelerations(drone, now, law(t)[1])
        return np.hstack([now.v_WB, R_dot.ravel(), *rates, now.speeds])

    parts = start.p_WB, start.R_WB.ravel(), start.v_WB, start.omega_B, start.angles
    states = solve(rate, np.concatenate(parts), times)
    return [flight(t, x) for t, x in zip(times, states, strict=True)]
