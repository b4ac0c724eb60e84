"""A flight of Crazyflies on one clock: everything every 10 ms, velocities and accelerations by moving cubics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import savgol_filter

from rotor_core.errors import ConfigError
from rotor_core.state import continuous
from rotor_recordings.compare.payload_balance import acceleration, balanced_tensions
from rotor_recordings.crazyflies.logs import CrazyflieTeam

STEP = 0.01
"""s; the logs come every 9.9 ms."""

BEGIN, REST = 0.35, 0.05
"""Left out at the start (there is a gap of up to 120 ms) and at the end, s."""

VELOCITY_SAMPLES = {"vehicle": 11, "payload": 25}
"""Of the cubics that velocities come from."""

FORMATION_SAMPLES = 101
"""Set-points of cable forces are smoothed over so many: what is left is the formation that was wanted."""

GRAVITY = 9.81


@dataclass(frozen=True)
class Grid:
    """Arrays over time; vehicles in the order of the team.

    Attributes:
        time: (N,) s.
        positions, velocities, accelerations: of the vehicles, (N, n, 3).
        attitudes: w first, (N, n, 4); rates: body axes, (N, n, 3).
        commands: thrust and moments as asked, (N, n, 4).
        payload, payload_velocity, payload_acceleration: (N, 3).
        reference, reference_velocity, reference_acceleration: of the payload, (N, 3).
        formation: internal forces that the wanted cable forces hold, (N, n, 3) N; their sum is zero.
        directions: unit vectors from payload to vehicles, (N, n, 3).
        tensions: from the balance of the payload, (N, n) N per kg of it; NaN where undetermined.
    """

    time: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray
    attitudes: np.ndarray
    rates: np.ndarray
    commands: np.ndarray
    payload: np.ndarray
    payload_velocity: np.ndarray
    payload_acceleration: np.ndarray
    reference: np.ndarray
    reference_velocity: np.ndarray
    reference_acceleration: np.ndarray
    formation: np.ndarray
    directions: np.ndarray
    tensions: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Median distances of the vehicles from the payload, (n,) m."""
        return np.median(np.linalg.norm(self.positions - self.payload[:, None], axis=2), axis=0)


def make_grid(team: CrazyflieTeam) -> Grid:
    """Sample all logs of a flight on one clock.

    Raises:
        ConfigError: they have too little time in common.
    """
    logs = list(team.vehicles.values())
    begin, end = max(float(log.time[0]) for log in logs), min(float(log.time[-1]) for log in logs)
    time = np.arange(BEGIN, end - REST, STEP)
    if begin > end - REST or len(time) < FORMATION_SAMPLES:
        raise ConfigError(
            f"{team.path}: its vehicles must have {BEGIN + STEP * FORMATION_SAMPLES + REST:.1f} s from 0 on in common, "
            f"got {begin:.1f} to {end:.1f} s."
        )

    def line(at: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.stack([np.interp(time, at, column) for column in values.T], axis=1)

    def together(name: str) -> np.ndarray:
        return np.stack([line(log.time, getattr(log, name)) for log in logs], axis=1)

    positions = together("position")
    attitudes = np.stack([line(log.time, continuous(log.attitude)) for log in logs], axis=1)
    attitudes /= np.linalg.norm(attitudes, axis=2, keepdims=True)
    rows = [np.searchsorted(log.time, time, side="right") - 1 for log in logs]
    commands = np.stack([log.command[r] for log, r in zip(logs, rows, strict=True)], axis=1)
    payload = line(*team.payload_fixes())
    last = logs[-1]
    reference_velocity = line(last.time, last.reference_velocity)
    forces = np.stack(
        [
            uniform_filter1d(
                line(log.time, log.cable_forces), FORMATION_SAMPLES, axis=0, mode="nearest"
            )
            for log in logs
        ],
        axis=1,
    )
    arms = positions - payload[:, None]
    directions = arms / np.linalg.norm(arms, axis=2, keepdims=True)
    payload_acceleration = acceleration(payload, STEP)

    def rate(values: np.ndarray, samples: int, degree: int = 3) -> np.ndarray:
        return np.asarray(savgol_filter(values, samples, degree, deriv=1, delta=STEP, axis=0))

    return Grid(
        time=time,
        positions=positions,
        velocities=rate(positions, VELOCITY_SAMPLES["vehicle"]),
        accelerations=np.stack(
            [acceleration(positions[:, i], STEP) for i in range(len(logs))], axis=1
        ),
        attitudes=attitudes,
        rates=together("rate"),
        commands=commands,
        payload=payload,
        payload_velocity=rate(payload, VELOCITY_SAMPLES["payload"]),
        payload_acceleration=payload_acceleration,
        reference=line(last.time, last.reference),
        reference_velocity=reference_velocity,
        reference_acceleration=rate(reference_velocity, 15, 2),
        formation=forces - forces.mean(axis=1, keepdims=True),
        directions=directions,
        tensions=balanced_tensions(payload_acceleration, directions, 1.0, GRAVITY),
    )
