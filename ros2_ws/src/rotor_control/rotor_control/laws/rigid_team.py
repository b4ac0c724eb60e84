"""A rigidly linked team flown as one body (RotorTM eq 74, E-P3), with thrust and moment allocation.

Equations (C.15)-(C.18), (C.37), docs/theory/control.md. A_k has the moment r x e3 of a unit thrust, (r_y,
-r_x, 0) (E-R3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from rotor_control.gains import (
    CENTRE,
    LOAD_ATTITUDE_GAIN,
    LOAD_INERTIA,
    LOAD_MASS,
    LOAD_RATE_GAIN,
)
from rotor_control.laws.attitude import desired_rotation, heading_rate, tracking_moment
from rotor_control.laws.flatness import (
    NOMINAL_ACCELERATION,
    NOMINAL_RATE,
    STRUCTURE_ACCELERATION,
    STRUCTURE_VELOCITY,
)
from rotor_control.laws.position import acceleration_from_errors
from rotor_core.kernels.link import FLOATS, INTS, ROWS, linked
from rotor_core.math import so3
from rotor_core.math.vec3 import add, apply, column, cross, dot, get3, get9, scale, sub
from rotor_core.reference import ACCELERATION, POSITION, VELOCITY, YAW_ANGLE, YAW_RATE
from rotor_core.state import OMEGA, P, Q, V
from rotor_core.vehicles.rotors import RotorSet, limit_wrench


def structure_allocation(points: np.ndarray, rotations: np.ndarray) -> np.ndarray:
    """A of RotorTM eq 26: total force along z and moment from the wrenches of n vehicles, (4, 4 n).

    Args:
        points: positions of the vehicles from the common centre of mass, (n, 3) m.
        rotations: their attitudes in the structure (about z), (n, 3, 3).
    """
    blocks = []
    for r, R in zip(points, rotations, strict=True):
        block = np.zeros((4, 4))
        block[0, 0] = R[2, 2]
        block[1:, 0] = np.cross(r, R[:, 2])
        block[1:, 1:] = R
        blocks.append(block)
    return np.hstack(blocks)


def allocation_by_moments(A: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Smallest ``U^T W U`` with ``A U = w``, W the same diagonal for every vehicle (RotorTM eq 74), (C.17).

    Args:
        A: (4, 4 n) of :func:`structure_allocation`.
        weights: of thrust and moments, (4,).

    Returns:
        (4 n, 5): vehicle wrenches from (f, Mx, My, Mz, 1).
    """
    W_inverse = np.diag(1.0 / np.tile(weights, A.shape[1] // 4))
    return np.hstack(
        [W_inverse @ A.T @ np.linalg.inv(A @ W_inverse @ A.T), np.zeros((A.shape[1], 1))]
    )


def allocation_by_rotors(A: np.ndarray, sets: Sequence[RotorSet]) -> np.ndarray:
    """Rotor thrusts as close as possible to the middle of their ranges, in units of those ranges (C.18).

    Mixed teams need this: equal shares would ask the smallest vehicle for more than it has.
    Arguments and result as :func:`allocation_by_moments`, with the rotors of each vehicle.
    """
    mixing = scipy.linalg.block_diag(*(s.mixing for s in sets))
    counts = [s.count for s in sets]
    low = np.repeat([s.thrust_limits[0] for s in sets], counts)
    high = np.repeat([s.thrust_limits[1] for s in sets], counts)
    B, W_inverse, middle = A @ mixing, np.diag((high - low) ** 2), 0.5 * (low + high)
    gain = W_inverse @ B.T @ np.linalg.inv(B @ W_inverse @ B.T)
    return mixing @ np.hstack([gain, (middle - gain @ (B @ middle))[:, None]])


def team_limits(allocation: np.ndarray, sets: Sequence[RotorSet]) -> tuple[np.ndarray, np.ndarray]:
    """Demand of a wrench of the structure on every rotor of its team, and what is left for it (C.37).

    Args:
        allocation: (4 n, 5), as of :func:`allocation_by_moments`.
        sets: rotors of each vehicle.

    Returns:
        Thrusts of all rotors of a unit of (f, Mx, My, Mz), (n_rotors, 4); their limits, less what the allocation asks
        of them for nothing, (n_rotors, 2) N.
    """
    shares = scipy.linalg.block_diag(*(s.unmixing for s in sets)) @ allocation
    limits = np.repeat([s.thrust_limits for s in sets], [s.count for s in sets], axis=0)
    return np.ascontiguousarray(shares[:, :4]), limits - shares[:, 4:]


@linked(ROWS, FLOATS, FLOATS, INTS, ROWS, ROWS, ROWS, FLOATS, ROWS, ROWS)
def rigid_team_command(
    states, reference, load, who, allocation, shares, limits, memory, ahead, out
):
    """Thrusts and moments of the team.

    ``who`` holds the row of the payload, ``allocation`` is (4 n, 5), out is (n, 4). ``shares``, ``limits``: of
    :func:`team_limits`, or (0, 4) and (0, 2): the wrench of the structure is brought within what its rotors can give
    as that of a vehicle is (A.3). Limits of single vehicles would spoil the moment of the structure.

    ``load`` describes the whole structure: mass, inertia about the common centre of mass in payload
    axes. ``ahead``: (1, 12) of :func:`rotor_control.laws.flatness.structure_ahead`, or (0, 12).
    """
    z = states[who[0]]
    R = so3.matrix(so3.get4(z, Q))
    omega = get3(z, OMEGA)
    centre = get3(load, CENTRE)
    v = add(get3(z, V), apply(R, cross(omega, centre)))
    v_des, a_des = get3(reference, VELOCITY), get3(reference, ACCELERATION)
    if ahead.shape[0] > 0:
        v_des, a_des = get3(ahead[0], STRUCTURE_VELOCITY), get3(ahead[0], STRUCTURE_ACCELERATION)
    e_x = sub(get3(reference, POSITION), get3(z, P))
    a_cmd = acceleration_from_errors(e_x, sub(v_des, v), a_des, load, memory)
    F = scale(load[LOAD_MASS], a_cmd)  # (C.15)
    R_des = desired_rotation(F, reference[YAW_ANGLE])
    f = dot(F, column(R, 2))
    rate, acceleration = heading_rate(R_des, reference[YAW_RATE]), (0.0, 0.0, 0.0)
    if ahead.shape[0] > 0:
        rate, acceleration = get3(ahead[0], NOMINAL_RATE), get3(ahead[0], NOMINAL_ACCELERATION)
    M = tracking_moment(
        R, omega, R_des, rate, acceleration,
        get9(load, LOAD_INERTIA), get3(load, LOAD_ATTITUDE_GAIN), get3(load, LOAD_RATE_GAIN),
    )  # fmt: skip
    # the first row holds the wrench of the structure until it is shared
    wrench = out[0]
    wrench[0], wrench[1], wrench[2], wrench[3] = f, M[0], M[1], M[2]
    if shares.shape[0] > 0:
        limit_wrench(shares, shares.shape[0], limits, wrench)
    f, roll, pitch, yaw = wrench[0], wrench[1], wrench[2], wrench[3]
    for k in range(out.shape[0]):
        for i in range(4):
            row = allocation[4 * k + i]
            out[k, i] = (
                row[0] * f + row[1] * roll + row[2] * pitch + row[3] * yaw + row[4]
            )  # (C.16)
