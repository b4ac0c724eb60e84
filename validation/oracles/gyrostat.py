"""Gyrostats by other means: a closed form, and platform and rotors as separate bodies with constraint forces."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from validation.oracles.kkt import skew


def symmetric_gyrostat(
    jx: float, jz: float, h3: float, w0: np.ndarray, t: float
) -> tuple[np.ndarray, np.ndarray]:
    """Body rate and rotation matrix at t of a torque-free gyrostat with Jx = Jy and h = (0, 0, h3), from R = I.

    ``w = Rz(lam t) w0``, ``R = expm(t hat(w0 + lam e3)) Rz(-lam t)``, ``lam = ((Jz - Jx) w3 + h3) / Jx``.
    """
    lam = ((jz - jx) * w0[2] + h3) / jx
    turn = Rotation.from_rotvec([0.0, 0.0, lam * t])
    whole = Rotation.from_rotvec(t * (np.asarray(w0) + [0.0, 0.0, lam]))
    return turn.apply(w0), (whole * turn.inv()).as_matrix()


def four_bodies(
    platform: np.ndarray,
    axial: float,
    transverse: float,
    speeds,
    speeds_dot,
    t_end: float,
    torque=lambda w: np.zeros(3),
    w0: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Platform and three rotors about x, y, z, each a body of its own, joined by constraint torques.

    Nine velocity constraints (rotor a turns relative to the platform at the given speed about axis
    a, and not across it) with nine multipliers in one saddle-point system; SciPy's DOP853 at 1e-11.

    Args:
        platform: its inertia without rotors, (3,) principal values about x, y, z.
        axial, transverse: inertias of every rotor.
        speeds, speeds_dot: functions of time, (3,).
        t_end: s.
        torque: on the platform, function of its body rate.
        w0: initial body rate, default zero.

    Returns:
        Body rate and rotation matrix of the platform at the end.
    """
    # everything in platform axes; rotors are symmetric, so their inertia is constant there
    inertias = [np.diag(platform)]
    for a in range(3):
        inertias.append(np.diag([axial if i == a else transverse for i in range(3)]))
    M = np.zeros((12, 12))
    for k, inertia in enumerate(inertias):
        M[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = inertia
    D = np.zeros((9, 12))
    for a in range(3):
        D[3 * a : 3 * a + 3, 0:3] = -np.eye(3)
        D[3 * a : 3 * a + 3, 3 * a + 3 : 3 * a + 6] = np.eye(3)
    saddle = np.block([[M, -D.T], [D, np.zeros((9, 9))]])

    def rate(t, y):
        w, R = y[:3], y[3:].reshape(3, 3)
        relative = np.diag(speeds(t))
        right = np.zeros(21)
        right[0:3] = torque(w) - np.cross(w, inertias[0] @ w)
        for a in range(3):
            whole = w + relative[a]
            # rates of change in platform axes: d(J w)/dt = torque - w x J w
            right[3 * a + 3 : 3 * a + 6] = -np.cross(w, inertias[a + 1] @ whole)
            right[12 + 3 * a + a] = speeds_dot(t)[a]
        return np.concatenate([np.linalg.solve(saddle, right)[:3], (R @ skew(w)).ravel()])

    start = np.concatenate([np.zeros(3) if w0 is None else w0, np.eye(3).ravel()])
    end = solve_ivp(rate, (0.0, t_end), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return end[:3], end[3:].reshape(3, 3)
