"""Emulated motion capture and state estimation: when and which states controllers get to see.

Samples are taken at the starts of control periods, get noise, may be lost, and arrive later. Between
arrivals the last one is held.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from math import ceil, inf
from typing import NamedTuple

import numpy as np

from rotor_core.config.sensing import Sensing
from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLOAT, FLOATS, INTS, ROWS, TABLES, WHOLE_ROWS, linked
from rotor_core.state import OMEGA, Q
from rotor_sim.sensing.noise import DIMENSION, add_noise

TIME_ROUNDING = 1e-9
"""A sample that would arrive this much after the start of a control period counts as in time, s."""

EVERY, DELAY, DROPOUT, SILENCE, IS_NOISY, DEVIATIONS = constants(*range(6))
SETTINGS = 10
"""Columns of the settings: periods per sample, s, probability, s, whether there is noise, four standard deviations."""

ENTITY, FROM, UNTIL, LOSES_ALL = constants(*range(4))
OUTAGE = 4
"""Columns of an outage: row of the entity, s since the scenario began, whether attitude and body rate are lost too."""

CALLS, SAMPLES, OLDEST, WAITING, DRAWN = constants(*range(5))
COUNTS = 5
"""Calls and samples so far; where the oldest sample on its way is, and how many are; random rows used so far."""

SILENT_UNTIL, CAPTURED = constants(0, 1)
"""Rows over entities: end of a dropout, and when the held state was sampled, s."""

LOST, TURNED, PLACED = constants(0, 1, 2)
"""What a sample tells of an entity: nothing, what an inertial unit knows for long, everything."""


@inlined
def copy_rows(rows, out):
    """Write rows (n, m) into ``out``."""
    for b in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            out[b, i] = rows[b, i]


@linked(
    ROWS, FLOAT, FLOATS, ROWS, TABLES, ROWS, INTS, ROWS, ROWS, INTS, FLOATS, TABLES, WHOLE_ROWS,
    part="imperfect sensing",
)  # fmt: skip
def sense_pose(
    motion, time, settings, outages, normals, uniforms, counts, held, clocks, fresh, times, motions, told
):  # fmt: skip
    """Measured states of ``motion`` (n, 19) at ``time``, into ``held``.

    Args:
        motion, time: true motion, and s.
        settings, outages: (SETTINGS,) and (n_outages, OUTAGE).
        normals, uniforms: random numbers of the next samples, (m, n, DIMENSION) and (m, n).
        counts: (COUNTS,).
        held, clocks, fresh: what is seen (n, 19); (2, n) s; what arrived of each, (n,).
        times, motions, told: samples on their way, a ring: (k,) s, (k, n, 19), (k, n).
    """
    n = motion.shape[0]
    if counts[CALLS] == 0:
        # before the start there was time to measure
        if settings[IS_NOISY] != 0.0:
            add_noise(motion, normals[0], settings[DEVIATIONS : DEVIATIONS + 4], held)
        else:
            copy_rows(motion, held)
        for b in range(n):
            clocks[SILENT_UNTIL, b], clocks[CAPTURED, b], fresh[b] = -inf, time, PLACED
        counts[CALLS] = counts[SAMPLES] = counts[DRAWN] = 1
        counts[OLDEST] = 1
        return
    slots = times.shape[0]
    if counts[CALLS] >= counts[SAMPLES] * settings[EVERY] - TIME_ROUNDING:
        drawn = counts[DRAWN]
        # slot 0 keeps when the scenario began
        slot = 1 + (counts[OLDEST] - 1 + counts[WAITING]) % (slots - 1)
        if settings[IS_NOISY] != 0.0:
            add_noise(motion, normals[drawn], settings[DEVIATIONS : DEVIATIONS + 4], motions[slot])
        else:
            copy_rows(motion, motions[slot])
        for b in range(n):
            told[slot, b] = PLACED
            if settings[DROPOUT] > 0.0:
                if time < clocks[SILENT_UNTIL, b] - TIME_ROUNDING:
                    told[slot, b] = LOST
                elif uniforms[drawn, b] < settings[DROPOUT]:
                    clocks[SILENT_UNTIL, b] = time + settings[SILENCE]
                    told[slot, b] = LOST
        since = time - times[0] + TIME_ROUNDING
        for k in range(outages.shape[0]):
            if outages[k, FROM] <= since < outages[k, UNTIL]:
                b = int(outages[k, ENTITY])
                most = LOST if outages[k, LOSES_ALL] != 0.0 else TURNED
                told[slot, b] = min(told[slot, b], most)
        times[slot] = time
        counts[WAITING] += 1
        counts[SAMPLES] += 1
        counts[DRAWN] += 1
    counts[CALLS] += 1
    for b in range(n):
        fresh[b] = 0
    while counts[WAITING] > 0:
        slot = counts[OLDEST]
        if times[slot] + settings[DELAY] > time + TIME_ROUNDING:
            break
        for b in range(n):
            for i in range(motion.shape[1]):
                turns = Q <= i < Q + 4 or OMEGA <= i < OMEGA + 3
                if told[slot, b] == PLACED or (told[slot, b] == TURNED and turns):
                    held[b, i] = motions[slot, b, i]
            if told[slot, b] != LOST:
                clocks[CAPTURED, b], fresh[b] = times[slot], told[slot, b]
        counts[OLDEST] = 1 + slot % (slots - 1)
        counts[WAITING] -= 1


class Packed(NamedTuple):
    """Arguments of :func:`sense_pose` after those of the moment."""

    settings: np.ndarray
    outages: np.ndarray
    normals: np.ndarray
    uniforms: np.ndarray
    counts: np.ndarray
    held: np.ndarray
    clocks: np.ndarray
    fresh: np.ndarray
    times: np.ndarray
    motions: np.ndarray
    told: np.ndarray


class PoseSensor:
    """Measured states of all entities, called once per control period.

    Args:
        sensing: what is wrong with the measurement.
        period: control period, s.
        seed: of the random streams of noise and dropouts.
        names: of all entities, for outages.
    """

    def __init__(
        self, sensing: Sensing, period: float, seed: int, names: Sequence[str] = ()
    ) -> None:
        self._seeds = [np.random.SeedSequence(seed, spawn_key=key) for key in ((0,), (0, 1))]
        wanted = 1.0 if sensing.rate_hz is None else 1.0 / (sensing.rate_hz * period)
        noise, self._is_ideal = sensing.noise, sensing.is_ideal
        self._period = period
        self._settings = np.zeros(SETTINGS)
        self._settings[[EVERY, DELAY]] = max(wanted, 1.0), sensing.delay_s
        self._settings[[DROPOUT, SILENCE]] = sensing.dropout_probability, sensing.dropout_s
        self._settings[IS_NOISY] = not noise.is_zero
        deviations = (noise.position_m, noise.velocity_m_s, noise.attitude_rad, noise.rate_rad_s)
        self._settings[DEVIATIONS : DEVIATIONS + 4] = deviations
        self._outages = np.array(
            [
                (names.index(o.entity), o.from_s, o.from_s + o.duration_s, o.lost == "all")
                for o in sensing.outages
            ],
            float,
        ).reshape(-1, OUTAGE)
        # those on their way, the one that arrives, and that which keeps when the scenario began, for outages
        self._slots = ceil(sensing.delay_s / (period * self._settings[EVERY])) + 3
        self.reset()

    def reset(self, begin: float = 0.0) -> None:
        """Forget what is on its way; repeat the random streams.

        ``begin``: when the scenario began, s of simulation time.
        """
        self._random = [np.random.default_rng(seed) for seed in self._seeds]
        self._begin = begin
        self.forget()

    def forget(self) -> None:
        """Drop what is on its way; errors go on."""
        self._first: float | None = None  # time of the first call
        self._counts = np.zeros(COUNTS, np.int64)
        self._make_room(0, 0)

    def take_over(
        self, other: PoseSensor, motion: np.ndarray, time: float, mine: list[int], theirs: list[int]
    ) -> None:
        """Go on with the measurement of another world with the same errors, at this time.

        Args:
            other: its sensor.
            motion: true motion of all entities now, (n, 19): those that are new have just been seen there.
            time: s.
            mine, theirs: rows of the entities of both, here and there.
        """
        if (self._period, *self._settings) != (other._period, *other._settings):
            return
        self._random, self._first = copy.deepcopy(other._random), other._first
        if other._counts[CALLS] == 0:
            return
        self._make_room(*motion.shape)
        self._counts[:], self._times[:] = other._counts, other._times
        self._held[:], self._fresh[:] = motion, PLACED
        self._clocks[SILENT_UNTIL], self._clocks[CAPTURED] = -inf, time
        for rows, others in ((self._held, other._held), (self._fresh, other._fresh)):
            rows[mine] = others[theirs]
        for rows, others in (
            (self._clocks, other._clocks), (self._motions, other._motions), (self._told, other._told),
        ):  # fmt: skip
            rows[:, mine] = others[:, theirs]

    def _make_room(self, n: int, width: int) -> None:
        self._held, self._clocks = np.zeros((n, width)), np.zeros((2, n))
        self._fresh, self._times = np.zeros(n, np.int64), np.full(self._slots, self._begin)
        self._motions = np.zeros((self._slots, n, width))
        self._told = np.zeros((self._slots, n), np.int64)

    @property
    def fresh(self) -> np.ndarray:
        """Entities of which a sample arrived at the last call, (n,) bool."""
        return self._fresh != LOST

    @property
    def arrived(self) -> np.ndarray:
        """Arrivals of each entity at the last call, (n,): LOST, TURNED or PLACED."""
        return self._fresh

    @property
    def captured(self) -> np.ndarray:
        """Times at which the held states were sampled, (n,) s of simulation time."""
        return self._clocks[CAPTURED]

    def ahead(self, motion: np.ndarray, periods: int) -> Packed:
        """Arguments of :func:`sense_pose` for so many calls, which are made then.

        Args:
            motion: of all entities, for its shape.
            periods: calls.
        """
        if self._counts[CALLS] == 0:
            self._make_room(*motion.shape)
        samples = 0
        for call in range(self._counts[CALLS], self._counts[CALLS] + periods):
            samples += (
                call >= (self._counts[SAMPLES] + samples) * self._settings[EVERY] - TIME_ROUNDING
            )
        self._counts[DRAWN] = 0
        normals, uniforms = np.zeros((0, 0, 0)), np.zeros((0, 0))
        if self._settings[IS_NOISY]:
            normals = self._random[0].standard_normal((samples, len(motion), DIMENSION))
        if self._settings[DROPOUT] > 0.0:
            first = self._counts[CALLS] == 0 and samples > 0  # cannot be lost: nothing is drawn
            uniforms = self._random[1].random((samples - first, len(motion)))
            uniforms = np.concatenate([np.zeros((int(first), len(motion))), uniforms])
        return Packed(
            self._settings, self._outages, normals, uniforms, self._counts, self._held, self._clocks, self._fresh,
            self._times, self._motions, self._told,
        )  # fmt: skip

    def sense(self, motion: np.ndarray, time: float) -> np.ndarray:
        """Motion that controllers receive at ``time``, from the true ``motion`` (n, 19).

        The first call gives a sample of that instant without delay or dropout: before the start there
        was time to measure.
        """
        if self._is_ideal:
            if self._held.shape != motion.shape:
                self._make_room(*motion.shape)
            self._fresh[:], self._clocks[CAPTURED] = PLACED, time
            return motion
        self._skip(time)
        sense_pose(np.ascontiguousarray(motion), time, *self.ahead(motion, 1))
        return self._held

    def _skip(self, time: float) -> None:
        """Count periods in which nobody asked, and the samples in them, of which nobody knows."""
        calls, every = int(self._counts[CALLS]), self._settings[EVERY]
        if self._first is None:  # calls so far were made in order
            self._first = time - calls * self._period
        now = round((time - self._first) / self._period)
        if now > calls:
            before = int((now - 1 + TIME_ROUNDING) // every) + 1
            self._counts[CALLS], self._counts[SAMPLES] = now, max(self._counts[SAMPLES], before)
