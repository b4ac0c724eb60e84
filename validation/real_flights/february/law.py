"""The law that flew in February 2024: its configuration, and what its logs give away of every part of it.

It is ``payload_geometric`` (docs/theory/control.md (C.43)-(C.48)) and runs on board of each vehicle by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_recordings.crazyflies.grid import GRAVITY, STEP
from rotor_recordings.crazyflies.logs import PAYLOAD_MASS
from validation.real_flights.february.logs import LENGTH, MASS, Flown

UP = np.array([0.0, 0.0, GRAVITY])


@dataclass(frozen=True)
class Gains:
    """Of teams of one size, from the configuration files of those days (IMRCLab/col-trans, 2024-02-22).

    Attributes:
        position, velocity, integral: of the payload, 1/s^2, 1/s, (3,) 1/s^3.
        direction, rate, direction_integral: of the cables, 1/s^2, 1/s, 1/s^3.
        attitude: about x and y, N m/rad.
        plane_lean, plan_weight: of the program that shares the force, 1/N^2 and 1.
    """

    position: float
    velocity: float
    integral: tuple[float, float, float]
    direction: float
    rate: float
    direction_integral: float
    attitude: float
    plane_lean: float
    plan_weight: float


GAINS = {
    2: Gains(18.0, 16.0, (5.0, 5.0, 11.0), 19.0, 14.0, 1.0, 7.6e-3, 10.0, 20.0),
    3: Gains(18.0, 15.0, (5.0, 12.0, 14.0), 10.0, 8.0, 1.2, 8.0e-3, 100.0, 100.0),
}
YAW, TURNING, YAW_TURNING, ATTITUDE_INTEGRAL = 1e-2, 1.15e-3, 2e-3, 0.03
"""Gains of attitude of all teams: N m/rad about z, N m s/rad about x and y, about z, N m/(rad s)."""

MARGIN = 2
"""Samples before and after a stop at which integrals are read."""

RADIUS = 0.15
"""Of the ball about each vehicle that stays on its side of the planes, m."""


def across(vectors: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The part of vectors across unit directions, (..., 3)."""
    return vectors - np.sum(vectors * direction, axis=-1, keepdims=True) * direction


def wanted_direction(cable_force: np.ndarray) -> np.ndarray:
    """From vehicle to payload, (..., 3)."""
    return -cable_force / np.linalg.norm(cable_force, axis=-1, keepdims=True)


@dataclass(frozen=True)
class Memory:
    """Integrals of each vehicle at the start of the log, which are not logged but follow from it, (n, 3).

    Those of a vehicle whose law begins anew on the way are zero from then on (see :func:`restarts`).
    """

    payload: np.ndarray
    direction: np.ndarray


@dataclass(frozen=True)
class Identified:
    """What reproduces the logged force on the payload and on the vehicles.

    Attributes:
        payload: position, velocity and integral gains of the payload, (n, 3 axes, 3).
        cable: direction, rate, planned rate and integral gains of the cables, (n, 4).
        payload_residual, vehicle_residual: what they leave, root of the mean square, (n,) N.
        memory: at the start of the log, with the gains of :data:`GAINS`.
        integral_y: integral gain along y that fits best; it differs among flights of three.
    """

    payload: np.ndarray
    cable: np.ndarray
    payload_residual: np.ndarray
    vehicle_residual: np.ndarray
    memory: Memory
    integral_y: float


def restarts(flown: Flown, identified: Identified) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Vehicles whose law began anew: name, integrals of the payload (3,) m s just before and just after."""
    gains, found = GAINS[len(flown.vehicles)], []
    integral = np.array(gains.integral)
    integral[1] = identified.integral_y
    for i in np.flatnonzero(flown.begins):
        error = flown.reference[:, i] - flown.payload_told[:, i]
        rate = flown.reference_velocity[:, i] - flown.payload_velocity_told[:, i]
        wanted = flown.payload_force[:, i] / PAYLOAD_MASS - UP
        held = (wanted - gains.position * error - gains.velocity * rate) / integral
        before, after = flown.stopped[:, i].argmax() - MARGIN, flown.begins[i] + MARGIN
        found.append((flown.vehicles[i], held[before], held[after]))
    return found


def held(flown: Flown, memory: Memory, row: int) -> Memory:
    """Integrals just before a row, from those at the start of the log; no law begins anew before it."""
    error = flown.reference - flown.payload_told
    of_cables, _ = _cable_errors(flown)
    return Memory(
        memory.payload + STEP * error[:row].sum(axis=0),
        memory.direction + STEP * of_cables[:row].sum(axis=0),
    )


def _cable_errors(flown: Flown) -> tuple[np.ndarray, np.ndarray]:
    """What the integrals of the cables sum, (T, n, 3), zero where no force was wanted; where one was, (T, n)."""
    wanted = wanted_direction(np.where(flown.cable_force == 0.0, 1e-12, flown.cable_force))
    known = np.linalg.norm(flown.cable_force, axis=2) > 1e-6
    return np.where(known[..., None], np.cross(wanted, flown.direction), 0.0), known


def identify(flown: Flown) -> Identified:
    """Least squares of the law's own terms against what it gave out."""
    n, T = len(flown.vehicles), len(flown.time)
    gains = GAINS[n]
    error = flown.reference - flown.payload_told
    error_rate = flown.reference_velocity - flown.payload_velocity_told
    summed = np.cumsum(error, axis=0) * STEP
    late = flown.time > 2.6
    payload, payload_left = np.zeros((n, 3, 3)), np.zeros((n, 3))
    start = np.zeros((n, 3))
    for i in range(n):
        for k in range(3):
            wanted = flown.payload_force[:, i, k] / PAYLOAD_MASS - UP[k]
            columns = np.stack(
                [error[:, i, k], error_rate[:, i, k], summed[:, i, k], np.ones(T)], axis=1
            )
            found = np.linalg.lstsq(columns[late], wanted[late], rcond=None)[0]
            payload[i, k] = found[:3]
            payload_left[i, k] = PAYLOAD_MASS * np.std((columns @ found - wanted)[late])
    integral = np.array(gains.integral)
    if n == 3:
        integral[1] = np.median(payload[:, 1, 2])
    for i in range(n):
        rest = (
            flown.payload_force[:, i] / PAYLOAD_MASS - UP - gains.position * error[:, i]
            - gains.velocity * error_rate[:, i] - integral * summed[:, i]
        )  # fmt: skip
        start[i] = np.median(rest[: flown.begins[i] or T], axis=0) / integral
    cable, left, direction = _identify_cables(flown, gains, late)
    return Identified(
        payload, cable, np.sqrt(np.mean(payload_left**2, axis=1)), left, Memory(start, direction), float(integral[1]),
    )  # fmt: skip


def _identify_cables(
    flown: Flown, gains: Gains, late: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(flown.vehicles)
    q, w = flown.direction, np.cross(flown.direction, flown.direction_rate)
    wanted = wanted_direction(np.where(flown.cable_force == 0.0, 1e-12, flown.cable_force))
    error, known = _cable_errors(flown)
    summed = np.cumsum(error, axis=0) * STEP
    planned = across(np.cross(wanted, flown.planned_rate), q)
    # across the cable u - m g e_z is -m l q x turn; its cross product with q gives back what of the turn is across
    turn = np.cross(q, across(flown.vehicle_force - MASS * UP, q)) / (MASS * LENGTH)
    cable, left, start = np.zeros((n, 4)), np.zeros(n), np.zeros((n, 3))
    for i in range(n):
        rows = late & known[:, i]
        axes = [across(np.broadcast_to(e, q[:, i].shape), q[:, i]) for e in np.eye(3)]
        terms = [
            across(error[:, i], q[:, i]),
            w[:, i],
            -planned[:, i],
            across(summed[:, i], q[:, i]),
        ]
        columns = np.stack([t[rows].ravel() for t in [*terms, *axes]], axis=1)
        found = np.linalg.lstsq(columns, turn[rows, i].ravel(), rcond=None)[0]
        cable[i] = found[:4]
        left[i] = MASS * LENGTH * np.std(columns @ found - turn[rows, i].ravel())
        known_gains = [gains.direction, gains.rate, gains.rate, gains.direction_integral]
        rest = turn[:, i] - sum(g * t for g, t in zip(known_gains, terms, strict=True))
        first = known[:, i] & (np.arange(len(q)) < (flown.begins[i] or len(q)))
        basis = np.stack(axes, axis=2)[first].reshape(-1, 3)
        start[i] = np.linalg.lstsq(
            np.vstack([basis, 1e-3 * np.eye(3)]), np.append(rest[first].ravel(), np.zeros(3)), rcond=None,
        )[0] / gains.direction_integral  # fmt: skip
    return cable, left, start
