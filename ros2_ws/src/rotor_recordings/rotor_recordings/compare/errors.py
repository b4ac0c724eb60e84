"""Errors between two motions of one body: position, attitude, rate, and the spectrum of the residual."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.signal import welch

from rotor_flight.flight import largest, rms
from rotor_recordings.compare.runs import longest
from rotor_recordings.motion.derivatives import angular_velocity
from rotor_recordings.motion.track import NANO, Samples, known_in

SEGMENT = 256
"""Shortest segment of the spectrum (Welch), samples, where there are so many."""

SLOWEST, PARTS = 10.0, 4
"""Segments last this long, s, where there is so much, and longer where that makes so many parts of the stretch."""

NOTHING = 1e-9
"""A residual of this size has no frequency, m."""


@dataclass(frozen=True)
class BodyErrors:
    """Simulated minus real motion of one body, NaN where one is unknown.

    Attributes:
        body: its name.
        time: since the start of the simulated recording, (N,) s.
        sim, real: positions in the frame of the simulation, (N, 3) m.
        attitude: error as rotation vector in the body's axes (real to simulated), (N, 3) rad; None: not recorded.
        rate: error of the angular velocity in the body's axes, (N, 3) rad/s; None: not recorded.
    """

    body: str
    time: np.ndarray
    sim: np.ndarray
    real: np.ndarray
    attitude: np.ndarray | None = None
    rate: np.ndarray | None = None

    @property
    def position(self) -> np.ndarray:
        """Simulated minus real position, (N, 3) m."""
        return self.sim - self.real

    @property
    def step(self) -> float:
        """Time between two rows, s."""
        return float(np.median(np.diff(self.time)))

    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies, Hz, and density of the position error's power, summed over the axes, m^2/Hz.

        Of the longest stretch without gaps.
        """
        error = self.position[longest(np.isfinite(self.position).all(axis=1))]
        if len(error) < 16:
            return np.zeros(0), np.zeros(0)
        longest_wanted = max(SEGMENT, SLOWEST / self.step, len(error) / PARTS)
        size = min(round(longest_wanted), len(error))
        frequency, density = welch(error, 1.0 / self.step, nperseg=size, axis=0)
        return frequency, density.sum(axis=1)

    def figures(self) -> dict:
        """Numbers of the report; keys carry their units."""
        distance = np.linalg.norm(self.position, axis=1)
        known = self.time[np.isfinite(distance)]
        out: dict = {
            "poses": len(known),
            "from_s": float(known[0]) if len(known) else None,
            "to_s": float(known[-1]) if len(known) else None,
            "position_rmse_m": rms(distance),
            "position_rmse_xyz_m": [rms(self.position[:, i]) for i in range(3)],
            "position_mean_xyz_m": _mean(self.position),
            "position_error_max_m": largest(distance),
            "attitude_rmse_deg": None,
            "attitude_error_max_deg": None,
            "attitude_mean_deg": None,
            "rate_rmse_deg_s": None,
            "dominant_frequency_hz": None,
            "frequency_step_hz": None,
        }
        frequency, density = self.spectrum()
        if len(density) > 1 and largest(distance) > NOTHING:
            out["dominant_frequency_hz"] = float(frequency[1 + np.argmax(density[1:])])
            out["frequency_step_hz"] = float(frequency[1])  # slower than this it cannot name any
        if self.attitude is not None and np.isfinite(self.attitude).any():
            angle = np.degrees(np.linalg.norm(self.attitude, axis=1))
            out["attitude_rmse_deg"], out["attitude_error_max_deg"] = rms(angle), largest(angle)
            out["attitude_mean_deg"] = np.degrees(_mean(self.attitude)).tolist()
        if self.rate is not None and np.isfinite(self.rate).any():
            out["rate_rmse_deg_s"] = float(np.degrees(rms(np.linalg.norm(self.rate, axis=1))))
        return out


def _mean(values: np.ndarray) -> list[float]:
    """Mean of the rows that are known; NaN where there is none."""
    known = values[np.isfinite(values).all(axis=1)]
    return known.mean(axis=0).tolist() if len(known) else [float("nan")] * values.shape[1]


def body_errors(
    body: str, stamps: np.ndarray, sim: Samples, real: Samples, origin: int | None = None
) -> BodyErrors:
    """Errors of a body at common stamps (ns), both motions in the frame of the simulation.

    Times count from ``origin`` (ns); None: from the first stamp.
    """
    known = known_in(sim) & known_in(real)
    attitude = rate = None
    if sim.attitudes is not None and real.attitudes is not None:
        attitude = np.full((len(stamps), 3), np.nan)
        turned = real.at(known).rotations.inv() * sim.at(known).rotations
        attitude[known] = turned.as_rotvec()
        if sim.rates is None or real.rates is None:  # else one would be filtered and the other not
            sim, real = replace(sim, rates=None), replace(real, rates=None)
        a, b = (angular_velocity(s, stamps) for s in (sim, real))
        rate = np.where(known[:, None], a - b, np.nan)
    nan = np.where(known, 0.0, np.nan)[:, None]
    time = (stamps - (stamps[0] if origin is None else origin)) * NANO
    return BodyErrors(body, time, sim.positions + nan, real.positions + nan, attitude, rate)
