"""A motion-capture hall: late, noisy poses of marker clusters in a frame and on a clock of its own."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.math.rotation_vectors import rotation_from, wxyz_from
from rotor_core.state import Pose
from rotor_testbed.settings import MocapSettings


@dataclass(frozen=True)
class Frame:
    """Motion-capture frame of one instant.

    Attributes:
        captured, arrives: time of the laboratory, s.
        seen: which bodies, (n,).
        poses: of the marker clusters K in the mocap frame M, position p_MK (m) and quaternion q_MK
            (w first), (n, 7); NaN where a body was not seen.
    """

    captured: float
    arrives: float
    seen: np.ndarray
    poses: np.ndarray


class Mocap:
    """Poses of ``n`` bodies, the same for the same seed.

    With world W, mocap frame M, body B and marker cluster K: a frame holds
    ``T_MK = inv(T_WM) T_WB T_BK``, then noise: white in the position along the axes of M, and a
    small rotation in the axes of K.

    Attributes:
        p_WM, R_WM: pose of the mocap frame in the world.
        p_BK, R_BK: poses of the clusters in the bodies, (n, 3) m and n rotations.
    """

    def __init__(self, n: int, settings: MocapSettings, seed: int | np.random.SeedSequence) -> None:
        self.settings = settings
        sequence = (
            seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        )
        fixed, self._noise, self._luck = map(np.random.default_rng, sequence.spawn(3))
        self.p_WM = np.array(settings.world_position_m, float)
        self.R_WM = Rotation.from_euler("xyz", settings.world_rpy_deg, degrees=True)
        self.p_BK = settings.marker_offset_m * fixed.standard_normal((n, 3))
        angles = np.radians(settings.marker_rotation_deg) * fixed.standard_normal((n, 3))
        self.R_BK = Rotation.from_rotvec(angles)
        self._hidden_until = np.full(n, -np.inf)
        self._under_way: deque[Frame] = deque()
        self._taken = 0

    @property
    def next_capture(self) -> float:
        """Time at which the next frame is due, s."""
        return self._taken / self.settings.rate_hz

    def capture(self, now: float, poses: np.ndarray) -> None:
        """Take a frame of the true poses (n, 7) in the world at time ``now``, s."""
        settings, n = self.settings, len(poses)
        self._taken += 1
        R_WB = rotation_from(Pose(poses).attitude)
        p_WK, R_WK = Pose(poses).position + R_WB.apply(self.p_BK), R_WB * self.R_BK
        wobble = np.radians(settings.attitude_noise_deg) * self._noise.standard_normal((n, 3))
        shift = settings.position_noise_m * self._noise.standard_normal((n, 3))
        out = np.empty((n, 7))
        out[:, :3] = self.R_WM.inv().apply(p_WK - self.p_WM) + shift
        out[:, 3:] = wxyz_from(self.R_WM.inv() * R_WK * Rotation.from_rotvec(wobble))
        seen = self._seen(now, n)
        out[~seen] = np.nan
        self._under_way.append(Frame(now, now + settings.latency_s, seen, out))

    def _seen(self, now: float, n: int) -> np.ndarray:
        """True where a body is neither in a burst nor lost for this one frame, (n,)."""
        alone, bursts = self._luck.random((2, n))  # as many numbers per frame, whatever happens
        begins = (bursts < self.settings.burst_probability) & (now >= self._hidden_until)
        self._hidden_until[begins] = now + self.settings.burst_s - SAME_TIME
        return (now >= self._hidden_until) & (alone >= self.settings.dropout_probability)

    def arrived(self, now: float) -> list[Frame]:
        """Frames that have arrived by now and have not been taken yet, in order."""
        out = []
        while self._under_way and self._under_way[0].arrives <= now + SAME_TIME:
            out.append(self._under_way.popleft())
        return out

    def clock(self, t: float) -> float:
        """Reading of the hall's clock at time ``t``, s."""
        return t + self.settings.clock_offset_s

    def body_poses(self, frame: Frame) -> np.ndarray:
        """Poses of the bodies in the world, (n, 7), as who knows all transforms computes them."""
        out = np.full_like(frame.poses, np.nan)
        seen = frame.seen
        if seen.any():
            R_MK = rotation_from(Pose(frame.poses).attitude[seen])
            R_BK = Rotation.from_quat(self.R_BK.as_quat()[seen])
            R_WB = self.R_WM * R_MK * R_BK.inv()
            p_WK = self.p_WM + self.R_WM.apply(Pose(frame.poses).position[seen])
            out[seen, :3] = p_WK - R_WB.apply(self.p_BK[seen])
            out[seen, 3:] = wxyz_from(R_WB)
        return out
