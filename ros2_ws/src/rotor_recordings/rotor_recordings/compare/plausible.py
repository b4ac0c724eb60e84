"""Doubts about recordings that are compared: slow poses, millimetres, frozen trackers, other quaternions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from rotor_core.errors import ConfigError
from rotor_recordings.compare.errors import BodyErrors
from rotor_recordings.compare.runs import runs
from rotor_recordings.motion.track import GAP, NANO, Track

MILLIMETRES = (300.0, 3000.0)
"""Ratio of the extents of one motion in two recordings from which on the larger counts as given in millimetres."""

FROZEN, MOVING = 0.5, 0.1
"""Poses that are equal for so long, s, after a speed of this, m/s, are those of a tracker that has lost its body."""

DRIFT, EXPLAINED = 0.01, 0.5
"""Clocks that drift apart by more than this, s, are told of where that explains so much that less than half is left."""

TURNED = 90.0
"""Error of half of the attitudes from which on they are doubted, deg."""


def check_tracks(pairs: Mapping[str, tuple[Track, Track]]) -> tuple[str, ...]:
    """Refuse tracks that a comparison would only fail on, in other words; notes on bodies whose poses come too seldom.

    Raises:
        ConfigError: those of all bodies do, or one of two tracks is in millimetres.
    """
    slow = {}
    for body, pair in pairs.items():
        for track in pair:
            if is_slow(track):
                slow[body] = (
                    f"{track.source}: poses of {track.body} come at {track.rate_hz:.3g} Hz, at least {1.0 / GAP:g} Hz "
                    f"are needed: what is farther apart than {GAP:g} s counts as a drop-out."
                )
        small, large = sorted(pair, key=_extent)
        if MILLIMETRES[0] * _extent(small) < _extent(large) < MILLIMETRES[1] * _extent(small):
            raise ConfigError(
                f"{large.source}: {large.body} moves over {_extent(large):.4g} m, but over {_extent(small):.3g} m in "
                f"{small.source}. Positions must be in metres, these look like millimetres."
            )
    if len(slow) == len(pairs):
        raise ConfigError(next(iter(slow.values())))
    return tuple(slow.values())


def is_slow(track: Track) -> bool:
    """True if poses come so seldom that all of it is gaps."""
    return track.rate_hz * GAP < 1.0 - 1e-6


def frozen(pairs: Iterable[tuple[Track, Track]]) -> tuple[str, ...]:
    """Notes on tracks that stop dead, and go on to tell the same place."""
    out = []
    for track in (t for pair in pairs for t in pair):
        steps, times = np.diff(track.samples.positions, axis=0), track.seconds(track.stamps[0])
        for first, last in runs(np.all(steps == 0.0, axis=1)):
            lasts = times[last] - times[first]
            if lasts < FROZEN or first == 0:
                continue
            before = np.linalg.norm(steps[first - 1]) / (times[first] - times[first - 1])
            if before > MOVING:
                out.append(
                    f"{track.source}: all poses of {track.body} are the same for {lasts:.3g} s from "
                    f"{track.stamps[first] * NANO:.9g} s on, right after {before:.2g} m/s: a tracker that lost it?"
                )
    return tuple(out)


def drifts(errors: Mapping[str, BodyErrors]) -> tuple[str, ...]:
    """A note on clocks that do not run alike: errors that are mostly places of another time, more and more so.

    What is left of the errors without ``(a + b t) v``, by least squares over all bodies.
    """
    columns, left = [], []
    for body in errors.values():
        velocity = np.gradient(body.sim, body.step, axis=0)
        known = np.isfinite(velocity).all(axis=1) & np.isfinite(body.position).all(axis=1)
        v, t = velocity[known].ravel(), np.repeat(body.time[known], 3)
        columns.append(np.column_stack([v, t * v]))
        left.append(body.position[known].ravel())
    A, e = np.concatenate(columns), np.concatenate(left)
    if not len(e):
        return ()
    drifting, fixed = (np.linalg.lstsq(part, e, rcond=None)[0] for part in (A, A[:, :1]))
    rate = drifting[1]
    with_drift, without = np.linalg.norm(e - A @ drifting), np.linalg.norm(e - A[:, :1] @ fixed)
    span = max(np.ptp(body.time) for body in errors.values())
    if abs(rate) * span < DRIFT or with_drift > EXPLAINED * without:
        return ()
    return (
        f"the clocks of the two drift apart by about {1e3 * abs(rate):.2g} ms per second, which makes most of the "
        "errors: compare shorter parts (--from, --to)",
    )


def turned(
    errors: Mapping[str, BodyErrors], sources: Mapping[str, tuple[str, str]]
) -> tuple[str, ...]:
    """Notes on attitudes that have nothing to do with each other."""
    out = []
    for body, found in errors.items():
        if found.attitude is None or not np.isfinite(found.attitude).any():
            continue
        middle = np.degrees(np.nanmedian(np.linalg.norm(found.attitude, axis=1)))
        if middle > TURNED:
            out.append(
                f"half of the attitudes of {body} differ by more than {middle:.0f} deg: is the order of quaternions in "
                f"{sources[body][1]} x, y, z, w?"
            )
    return tuple(out)


def _extent(track: Track) -> float:
    """Size of the box of all places, m."""
    return float(np.linalg.norm(np.ptp(track.samples.positions, axis=0)))
