"""On-board state estimation from motion capture and inertial units.

Let z be the position that a frame of motion capture shows, captured at t_c, and r = z - p(t_c) its
distance from what the estimate was then. Frames that come ``T`` apart correct

    p(t_c) += a r,   v(t_c) += b r / T,   a = 1 - s^2,   b = (1 - s)^2,   s = exp(-w T),

the critically damped alpha-beta filter of bandwidth w; T is the time since the last frame in which
the body was seen, so that a gap weighs the next frame more. Corrections at t_c are carried to the
present, so latency costs no stability. In between, bodies with an inertial unit integrate its
specific force, turned into the world, and gravity; the others go on at constant velocity. For
frames that come fast against 1/w the transfer from the true position p to the estimates is

    without a unit:  p: w (2 s + w) / (s + w)^2,   v: w^2 s / (s + w)^2   (a delay of 2/w in v),
    with a unit:     1 and s; what motion capture adds passes as above, what the unit adds to the
                     acceleration passes 1 / (s + w)^2 to p and (s + 2 w) / (s + w)^2 to v
                     (a constant bias: b/w^2 in p, 2 b/w in v).

Attitudes: the gyroscope is integrated, and corrected by 1 - exp(-w_a T) of what a frame shows (first
order, w_a / (s + w_a)); rates are those of the gyroscope, bias included. Bodies without one use the
alpha-beta filter about the body axes, rates as states.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from rotor_core.math.rotation_vectors import rotation_from, wxyz_from
from rotor_core.state import Pose, State
from rotor_testbed.imu import Reading
from rotor_testbed.settings import OnboardSettings

REMEMBERED = 0.5
"""Estimates this old are forgotten, s; frames older than that are too late to use."""


@dataclass
class _Moment:
    """Positions (n, 3) m and attitudes (n) as estimated at a time, s."""

    time: float
    p: np.ndarray
    R: Rotation


class Estimator:
    """Estimated states of n bodies.

    Args:
        states: at time 0, as learned while everything stood, (n, 13).
        has_imu: which bodies have an inertial unit, (n,).
        settings: bandwidths.
        gravity: m/s^2.

    Attributes:
        states: estimates at the present, (n, 13).
    """

    def __init__(
        self, states: np.ndarray, has_imu: np.ndarray, settings: OnboardSettings, gravity: float
    ) -> None:
        self.states = states.copy()
        self._has_imu = np.asarray(has_imu, bool)
        self._g = np.array([0.0, 0.0, -gravity])
        with_unit = self._has_imu
        self._w = np.where(
            with_unit, settings.vehicle_bandwidth_rad_s, settings.payload_bandwidth_rad_s
        )
        self._w_attitude = np.where(
            with_unit,
            settings.vehicle_attitude_bandwidth_rad_s,
            settings.payload_attitude_bandwidth_rad_s,
        )
        self._last_seen = np.zeros(len(states))
        self._past: deque[_Moment] = deque()
        self._R = rotation_from(State(states).attitude)
        self._remember(0.0)

    def _remember(self, time: float) -> None:
        self._past.append(_Moment(time, State(self.states).position.copy(), self._R))
        while self._past[0].time < time - REMEMBERED:
            self._past.popleft()

    def predict(self, now: float, reading: Reading) -> None:
        """Go on to ``now``, s; the reading is of the time since the last call.

        It has rows for all bodies; those of bodies without an inertial unit are not used.
        """
        x, dt = self.states, now - self._past[-1].time
        unit = self._has_imu[:, None]
        rate = np.where(unit, reading.mean_rate, State(x).body_rate)
        middle = self._R * Rotation.from_rotvec(0.5 * dt * rate)
        force = middle.apply(reading.specific_force) + self._g
        acceleration = np.where(unit, force, 0.0)
        State(x).position[:] += dt * State(x).velocity + 0.5 * dt * dt * acceleration
        State(x).velocity[:] += dt * acceleration
        State(x).body_rate[:] = np.where(unit, reading.rate, State(x).body_rate)
        self._R = self._R * Rotation.from_rotvec(dt * rate)
        self._write_attitudes()
        self._remember(now)

    def correct(self, captured: float, seen: np.ndarray, poses: np.ndarray) -> None:
        """Take up a frame.

        Args:
            captured: s, not after the present.
            seen: which bodies, (n,).
            poses: of the bodies in the world, (n, 7); rows of bodies not seen are not used.
        """
        gap = captured - self._last_seen
        use = seen & (gap > 0.0)
        if captured < self._past[0].time or not use.any():
            return
        self._last_seen[use] = captured
        then = self._at(captured)
        poses = np.where(use[:, None], poses, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        r = np.where(use[:, None], Pose(poses).position - then.p, 0.0)
        turn = (then.R.inv() * rotation_from(Pose(poses).attitude)).as_rotvec()
        turn[~use] = 0.0
        gap = np.where(use, gap, 1.0)
        near, rest = _alpha_beta(self._w, gap)
        near_a, rest_a = _alpha_beta(self._w_attitude, gap)
        slow = 1.0 - np.exp(-self._w_attitude * gap)[:, None]
        unit = self._has_imu[:, None]
        shift, push = near * r, rest * r
        tilt = np.where(unit, slow, near_a) * turn
        spin = np.where(unit, 0.0, rest_a) * turn
        for moment in self._past:
            since = moment.time - captured
            if since >= 0.0:
                moment.p += shift + since * push
                moment.R = moment.R * Rotation.from_rotvec(tilt + since * spin)
        x = self.states
        State(x).position[:], self._R = self._past[-1].p, self._past[-1].R
        State(x).velocity[:] += push
        State(x).body_rate[:] += spin
        self._write_attitudes()

    def _at(self, time: float) -> _Moment:
        """The estimate of a time between two moments that are remembered."""
        later = next((m for m in self._past if m.time >= time), self._past[-1])
        if later is self._past[0]:
            return later
        earlier = [m for m in self._past if m.time < later.time][-1]
        share = (time - earlier.time) / (later.time - earlier.time)
        turned = (earlier.R.inv() * later.R).as_rotvec()
        p = earlier.p + share * (later.p - earlier.p)
        return _Moment(time, p, earlier.R * Rotation.from_rotvec(share * turned))

    def _write_attitudes(self) -> None:
        State(self.states).attitude[:] = wxyz_from(self._R)


def _alpha_beta(bandwidth: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corrections of position and of velocity (1/s) per distance, (n, 1) each."""
    s = np.exp(-bandwidth * gap)
    return (1.0 - s * s)[:, None], ((1.0 - s) ** 2 / gap)[:, None]
