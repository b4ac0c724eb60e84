"""Emulated motion capture and state estimation: when and which states controllers get to see.

Samples are taken at the starts of control periods, get noise, may be lost, and arrive later. Between
arrivals the last one is held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rotor_core.config.schema import Sensing
from rotor_sim.sensing.noise import NoisySensor

TIME_ROUNDING = 1e-9
"""A sample that would arrive this much after the start of a control period counts as in time, s."""


TURNING = [3, 4, 5, 6, 10, 11, 12]
"""Columns of a motion that an inertial unit knows for long: attitude and body rate."""


class Sample(NamedTuple):
    """Measured states on their way, of which entities at all, and of which position and velocity too."""

    captured: float
    motion: np.ndarray
    heard: np.ndarray
    placed: np.ndarray


class PoseSensor:
    """Measured states of all entities, called once per control period.

    Args:
        sensing: what is wrong with the measurement.
        period: control period, s.
        seed: of the random streams of noise and dropouts.
        names: of all entities, for outages.

    Attributes:
        fresh: entities of which a sample arrived at the last call, (n,) bool.
        captured: when the held states were sampled, (n,) s of simulation time.
    """

    def __init__(
        self, sensing: Sensing, period: float, seed: int, names: Sequence[str] = ()
    ) -> None:
        self._sensing = sensing
        noise, dropouts = (np.random.SeedSequence(seed, spawn_key=key) for key in ((0,), (0, 1)))
        self._noise = NoisySensor(sensing.noise, noise)
        self._dropout_seed = dropouts
        wanted = 1.0 if sensing.rate_hz is None else 1.0 / (sensing.rate_hz * period)
        self._every = max(wanted, 1.0)
        self._outages = [
            (names.index(o.entity), o.from_s, o.from_s + o.duration_s, o.lost == "all")
            for o in sensing.outages
        ]
        self.reset()

    def reset(self) -> None:
        """Forget what is on its way; repeat the random streams."""
        self._noise.reset()
        self._random = np.random.default_rng(self._dropout_seed)
        self._on_their_way: deque[Sample] = deque()
        self._calls = 0
        self._samples = 0
        self._begin = 0.0
        self._held: np.ndarray | None = None
        self._silent_until = np.zeros(0)
        self.fresh = np.zeros(0, bool)
        self.captured = np.zeros(0)

    def sense(self, motion: np.ndarray, time: float) -> np.ndarray:
        """Motion that controllers receive at ``time``, from the true ``motion`` (n, >= 13).

        The first call gives a sample of that instant without delay or dropout: before the start there
        was time to measure.
        """
        if self._sensing.is_ideal:
            return motion
        first = self._held is None
        if first:
            n = len(motion)
            self._silent_until, self.captured = np.full(n, -np.inf), np.full(n, time)
            self._held = self._noise.sense(motion).copy()
            self.fresh = np.ones(n, bool)
            self._samples = 1
            self._begin = time
        elif self._calls >= self._samples * self._every - TIME_ROUNDING:
            self._samples += 1
            self._sample(motion, time)
        self._calls += 1
        if not first:
            self._deliver(time)
        assert self._held is not None
        return self._held

    def _sample(self, motion: np.ndarray, time: float) -> None:
        measured = self._noise.sense(motion).copy()
        heard = np.ones(len(motion), bool)
        if self._sensing.dropout_probability > 0.0:
            heard = time >= self._silent_until - TIME_ROUNDING
            begins = self._random.random(len(motion)) < self._sensing.dropout_probability
            self._silent_until[heard & begins] = time + self._sensing.dropout_s
            heard &= ~begins
        since = time - self._begin + TIME_ROUNDING
        placed = heard.copy()
        for row, begins_at, ends_at, everything in self._outages:
            if begins_at <= since < ends_at:
                placed[row] = False
                heard[row] &= not everything
        self._on_their_way.append(Sample(time, measured, heard, placed))

    def _deliver(self, time: float) -> None:
        assert self._held is not None
        self.fresh = np.zeros(len(self._held), bool)
        while self._on_their_way:
            sample = self._on_their_way[0]
            if sample.captured + self._sensing.delay_s > time + TIME_ROUNDING:
                break
            self._on_their_way.popleft()
            self._held[sample.placed] = sample.motion[sample.placed]
            for row in np.flatnonzero(sample.heard & ~sample.placed):
                self._held[row, TURNING] = sample.motion[row, TURNING]
            self.captured[sample.heard] = sample.captured
            self.fresh |= sample.heard
