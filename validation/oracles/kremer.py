"""A flying base with a tree of revolute joints, by Lagrange's equations in redundant quaternion coordinates.

Source: Kremer, Sanchez-Lopez, Voos, "A Hybrid Modelling Approach for Aerial Manipulators", J. Intell.
Robot. Syst. 105:74 (2022). Numbers in parentheses are its equations, with the sign of the lever in
(18), the order of the product in (10), the velocity in (79a) and the partial derivatives in (80)
set right. Nothing is recursive and nothing is differentiated by hand: the mass matrix is a sum over
bodies, and complex steps give its derivatives to rounding. Everything up to the bias is therefore
analytic in its arguments (no modulus, no norm, no conjugate).

Coordinates ``x = [p_WB (3), q_WB (4, w first), theta (n)]``. Body velocity ``u = [v_WB_B (3), omega_B
(3), theta_dot (n)]``, body force ``f_B = [force_B (3), tau_B (3), joint torques (n)]``. The origin of B
is the centre of mass of the base. SI units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from validation.oracles.kkt import skew

Function = Callable[[np.ndarray], "np.ndarray | float"]

COMPLEX_STEP = 1e-30
QUATERNION = slice(3, 7)
"""Attitude among the coordinates."""

BASE = -1


@dataclass(frozen=True)
class Link:
    """A rigid link and the revolute joint that carries it.

    The joint frame is parallel to the parent's frame when the angle is zero.

    Attributes:
        parent: index of an earlier link, or BASE.
        origin: of the joint in the parent's frame, (3,), m.
        axis: of the joint, unit vector in the parent's frame, (3,).
        mass: kg.
        com: centre of mass in the link frame, (3,), m.
        inertia: about the centre of mass, link axes, (3, 3), kg m2.
    """

    parent: int
    origin: np.ndarray
    axis: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray


@dataclass(frozen=True)
class PlacedBody:
    """A body as the base sees it, everything in B; C is its centre of mass.

    Attributes:
        mass: kg.
        inertia_B: about C, in B axes, (3, 3), kg m2.
        p_BC: position of C, (3,), m.
        R_BL: body axes to B axes, (3, 3).
        J_t, J_w: velocity of C and angular velocity, relative to B, per joint rate, (3, n).
    """

    mass: float
    inertia_B: np.ndarray
    p_BC: np.ndarray
    R_BL: np.ndarray
    J_t: np.ndarray
    J_w: np.ndarray


def world_rate_map(q: np.ndarray) -> np.ndarray:
    """E with ``omega_W = 2 E q_dot``, (3, 4), (6)."""
    return np.column_stack([-q[1:], q[0] * np.eye(3) + skew(q[1:])])


def body_rate_map(q: np.ndarray) -> np.ndarray:
    """G with ``omega_B = 2 G q_dot``, (3, 4), (7)."""
    return np.column_stack([-q[1:], q[0] * np.eye(3) - skew(q[1:])])


def axis_rotation(angle: float, axis: np.ndarray) -> np.ndarray:
    """Rotation about a unit vector, (3, 3), A.19."""
    N = skew(axis)
    return np.eye(3) + np.sin(angle) * N + (1.0 - np.cos(angle)) * N @ N


def block_diagonal(*blocks: np.ndarray) -> np.ndarray:
    """Blocks down the diagonal, of any shapes."""
    rows, columns = (sum(block.shape[i] for block in blocks) for i in (0, 1))
    out = np.zeros((rows, columns), np.result_type(*blocks))
    i = j = 0
    for block in blocks:
        out[i : i + block.shape[0], j : j + block.shape[1]] = block
        i, j = i + block.shape[0], j + block.shape[1]
    return out


def slope(function: Function, x: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Derivative of an analytic function at real x along a direction, free of cancellation."""
    return np.imag(function(x + 1j * COMPLEX_STEP * direction)) / COMPLEX_STEP


def gradient(function: Function, x: np.ndarray) -> np.ndarray:
    """Derivatives of an analytic function with respect to every coordinate, which leads, (len(x), ...)."""
    return np.array([slope(function, x, e) for e in np.eye(len(x))])


@dataclass(frozen=True)
class QuaternionLagrange:
    """``M x_ddot + C x_dot + g = f_x + f_c`` (43), and its projection on body velocities.

    M and C depend on nu; C and g, even on the unit sphere, on how R is continued off it. The body
    quantities and the accelerations on the sphere depend on neither.

    Attributes:
        base_mass: kg.
        base_inertia: about the centre of mass, in B, (3, 3), kg m2.
        links: parents before children; n of them.
        nu: inertia of stretching the quaternion, kg m2, positive, arbitrary; makes M regular.
        gravity: m/s2, along -z of W.
        normalised: continue R by E G^T / |q|^2 instead of E G^T.
    """

    base_mass: float
    base_inertia: np.ndarray
    links: tuple[Link, ...] = ()
    nu: float = 1.0
    gravity: float = 9.81
    normalised: bool = False

    def __post_init__(self) -> None:
        for j, link in enumerate(self.links):
            if not BASE <= link.parent < j:
                raise ValueError(
                    f"links[{j}].parent: must be in -1..{j - 1}, got {link.parent}. List parents first."
                )
            if not np.isclose(link.axis @ link.axis, 1.0, rtol=0.0, atol=1e-12):
                raise ValueError(
                    f"links[{j}].axis: must have unit length, got {link.axis}. Divide by it."
                )

    def rotation(self, q: np.ndarray) -> np.ndarray:
        """R_WB, (3, 3), (8)."""
        R = world_rate_map(q) @ body_rate_map(q).T
        return R / (q @ q) if self.normalised else R

    def bodies(self, theta: np.ndarray) -> list[PlacedBody]:
        """Base and links, (9)-(23)."""
        n = len(theta)
        still = np.zeros((3, n))
        base = PlacedBody(self.base_mass, self.base_inertia, np.zeros(3), np.eye(3), still, still)
        placed = [base]
        frames: dict[int, tuple[np.ndarray, np.ndarray]] = {BASE: (np.eye(3), np.zeros(3))}
        chains: dict[int, list[tuple[int, np.ndarray, np.ndarray]]] = {BASE: []}
        for j, link in enumerate(self.links):
            R, p = frames[link.parent]
            p_BJ = p + R @ link.origin
            chains[j] = [*chains[link.parent], (j, R @ link.axis, p_BJ)]
            R_BL = R @ axis_rotation(theta[j], link.axis)  # from the base outwards (10)
            frames[j] = R_BL, p_BJ
            p_BC = p_BJ + R_BL @ link.com
            J_t, J_w = np.zeros((2, 3, n), theta.dtype)
            for k, n_k, p_BJk in chains[j]:
                J_w[:, k] = n_k  # (17)
                J_t[:, k] = skew(n_k) @ (p_BC - p_BJk)  # (18), (21)
            inertia_B = R_BL @ link.inertia @ R_BL.T
            placed.append(PlacedBody(link.mass, inertia_B, p_BC, R_BL, J_t, J_w))
        return placed

    def jacobians(self, x: np.ndarray) -> list[tuple[PlacedBody, np.ndarray]]:
        """Every body with its velocities in W per x_dot, (7, 7 + n).

        The rows are those of C (40), then stretching ``2 q . q_dot`` and omega (41).
        """
        q, G, R_WB = x[QUATERNION], body_rate_map(x[QUATERNION]), self.rotation(x[QUATERNION])
        pairs = []
        for body in self.bodies(x[7:]):
            J = np.zeros((7, len(x)), x.dtype)
            J[:3, :3] = np.eye(3)
            J[:3, QUATERNION] = -2.0 * R_WB @ skew(body.p_BC) @ G
            J[:3, 7:] = R_WB @ body.J_t
            J[3, QUATERNION] = 2.0 * q
            J[4:, QUATERNION] = 2.0 * world_rate_map(q)  # with the row above 2 [q]_R^T, A.16
            J[4:, 7:] = R_WB @ body.J_w
            pairs.append((body, J))
        return pairs

    def mass_matrix(self, x: np.ndarray) -> np.ndarray:
        """M, (7 + n, 7 + n), (44)-(47)."""
        R_WB, M = self.rotation(x[QUATERNION]), np.zeros((len(x), len(x)), x.dtype)
        for body, J in self.jacobians(x):
            J_t, J_s, J_w = J[:3], J[3:4], J[4:]
            inertia_W = R_WB @ body.inertia_B @ R_WB.T
            M += body.mass * J_t.T @ J_t + self.nu * J_s.T @ J_s + J_w.T @ inertia_W @ J_w
        return M

    def kinetic_energy(self, x: np.ndarray, x_dot: np.ndarray) -> float:
        """From the velocities of every body (33), (35) and not from M, J; with the energy of stretching."""
        q, p_dot, q_dot, theta_dot = x[QUATERNION], x_dot[:3], x_dot[QUATERNION], x_dot[7:]
        R_WB = self.rotation(q)
        omega_B, omega_W = 2.0 * body_rate_map(q) @ q_dot, 2.0 * world_rate_map(q) @ q_dot
        energy = 0.0
        for body in self.bodies(x[7:]):
            v_W = p_dot + R_WB @ (body.J_t @ theta_dot - skew(body.p_BC) @ omega_B)
            w_B = R_WB.T @ (omega_W + R_WB @ body.J_w @ theta_dot)
            energy += 0.5 * (body.mass * v_W @ v_W + w_B @ body.inertia_B @ w_B)
            energy += 2.0 * self.nu * (q @ q_dot) ** 2
        return energy

    def potential(self, x: np.ndarray) -> float:
        """Of gravity, zero at z = 0, J, (49)."""
        up_B = self.rotation(x[QUATERNION])[2]
        return self.gravity * sum(b.mass * (x[2] + up_B @ b.p_BC) for b in self.bodies(x[7:]))

    def gravity_forces(self, x: np.ndarray) -> np.ndarray:
        """Slope of the potential, (7 + n,), (50)."""
        return gradient(self.potential, x)

    def coriolis(self, x: np.ndarray, x_dot: np.ndarray) -> np.ndarray:
        """C of Christoffel's symbols, (7 + n, 7 + n), (48); ``M_dot - 2 C`` is skew."""
        moving = [slope(self.mass_matrix, x, e) for e in np.eye(len(x))[3:]]
        M_x = np.concatenate([np.zeros((3, len(x), len(x))), moving])  # the place does not matter
        D = M_x @ x_dot  # D_ij = sum over k of dM_jk/dx_i x_dot_k
        return 0.5 * (np.tensordot(x_dot, M_x, 1) + D.T - D)

    def energy_bias(self, x: np.ndarray, x_dot: np.ndarray) -> np.ndarray:
        """``C x_dot`` from the kinetic energy alone, (7 + n,), (52)."""

        def momentum(x: np.ndarray) -> np.ndarray:
            # central differences of a quadratic are exact, whatever the step
            return np.array(
                [
                    0.5 * (self.kinetic_energy(x, x_dot + e) - self.kinetic_energy(x, x_dot - e))
                    for e in np.eye(len(x))
                ]
            )

        return slope(momentum, x, x_dot) - gradient(lambda y: self.kinetic_energy(y, x_dot), x)

    def T(self, q: np.ndarray) -> np.ndarray:
        """``x_dot = T u``, (7 + n, 6 + n)."""
        return block_diagonal(self.rotation(q), 0.5 * body_rate_map(q).T, np.eye(len(self.links)))

    def T_dot(self, q: np.ndarray, q_dot: np.ndarray) -> np.ndarray:
        """Rate of T, (7 + n, 6 + n)."""
        return slope(self.T, q, q_dot)

    def force_map(self, q: np.ndarray) -> np.ndarray:
        """M_F with ``f_x = M_F f_B`` (66) and, on the unit sphere, ``u = M_F^T x_dot``, (7 + n, 6 + n)."""
        return block_diagonal(self.rotation(q), 2.0 * body_rate_map(q).T, np.eye(len(self.links)))

    def body_mass(self, x: np.ndarray) -> np.ndarray:
        """``T^T M T``, (6 + n, 6 + n)."""
        T = self.T(x[QUATERNION])
        return T.T @ self.mass_matrix(x) @ T

    def body_bias(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """``f_B - body_mass u_dot``, gravity included, (6 + n,): ``T^T (M T_dot u + C x_dot + g)``."""
        T = self.T(x[QUATERNION])
        x_dot = T @ u
        turning = self.mass_matrix(x) @ self.T_dot(x[QUATERNION], x_dot[QUATERNION]) @ u
        return T.T @ (turning + self.coriolis(x, x_dot) @ x_dot + self.gravity_forces(x))

    def body_gravity(self, x: np.ndarray) -> np.ndarray:
        """``T^T g``, (6 + n,)."""
        return self.T(x[QUATERNION]).T @ self.gravity_forces(x)

    def unity_error(self, x: np.ndarray) -> float:
        """Constraint ``phi = |q| - 1`` of (73)-(80)."""
        return float(np.sqrt(x[QUATERNION] @ x[QUATERNION])) - 1.0

    def unity_row(self, x: np.ndarray) -> np.ndarray:
        """A, the gradient of phi, (7 + n,).

        The radial direction is an eigenvector of M, so the projector M^-1/2 (A M^-1/2)^+ of (79) is A^T.
        """
        q = x[QUATERNION]
        return np.concatenate([np.zeros(3), q / np.sqrt(q @ q), np.zeros(len(x) - 7)])

    def velocity(self, x: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
        """x_dot, (7 + n,), (79a): v with a radial part that takes phi to zero in dt."""
        A = self.unity_row(x)
        return v + A * (-A @ v - self.unity_error(x) / dt)

    def acceleration(self, x: np.ndarray, v: np.ndarray, f_B: np.ndarray, dt: float) -> np.ndarray:
        """v_dot, (7 + n,), (79b): free acceleration with a radial part that takes A v to zero in dt.

        Args:
            x: coordinates, (7 + n,).
            v: their velocities, (7 + n,).
            f_B: body force, (6 + n,).
            dt: s; infinity switches the correction off.
        """
        A, q, v_q = self.unity_row(x), x[QUATERNION], v[QUATERNION]
        right = self.force_map(q) @ f_B - self.coriolis(x, v) @ v - self.gravity_forces(x)
        a = np.linalg.solve(self.mass_matrix(x), right)
        curvature = (v_q @ v_q - (A @ v) ** 2) / np.sqrt(q @ q)  # v^T phi_xx v
        return a + A * (-curvature - A @ a - A @ v / dt)

    def rate(self, z: np.ndarray, f_B: np.ndarray, dt: float) -> np.ndarray:
        """Rate of the state ``z = [x, v]``, (14 + 2 n,), (36), (79)."""
        x, v = np.split(z, 2)
        return np.concatenate([self.velocity(x, v, dt), self.acceleration(x, v, f_B, dt)])

    def euler_step(self, z: np.ndarray, f_B: np.ndarray, dt: float) -> np.ndarray:
        """State after dt by the explicit Euler method of the paper; |q| - 1 becomes dt^2 |omega|^2 / 8."""
        return z + dt * self.rate(z, f_B, dt)

    def rk4_step(self, z: np.ndarray, f_B: np.ndarray, dt: float) -> np.ndarray:
        """State after dt by the classical Runge-Kutta method, the body force held."""
        k1 = self.rate(z, f_B, dt)
        k2 = self.rate(z + 0.5 * dt * k1, f_B, dt)
        k3 = self.rate(z + 0.5 * dt * k2, f_B, dt)
        k4 = self.rate(z + dt * k3, f_B, dt)
        return z + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
