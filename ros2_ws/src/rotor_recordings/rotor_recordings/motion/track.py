"""The path of a body as something recorded it: poses with stamps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from rotor_core.errors import ConfigError
from rotor_core.math.rotation_vectors import rotation_from, wxyz_from

NANO = 1e-9
GAP = 0.1
"""Poses farther apart than this are not interpolated between, s."""

LONGEST = 1e7
"""Nobody records for longer, s (116 days): stamps that go over more are of two clocks."""

LEAST = 10
"""A path has at least this many poses."""


@dataclass(frozen=True)
class Samples:
    """Motion of a body at given times; NaN where it is unknown.

    Attributes:
        positions: (N, 3) m.
        attitudes: body to the frame of the recording, quaternions w first, (N, 4); None: not recorded.
        velocities: of the body in that frame, (N, 3) m/s; None: not recorded.
        rates: angular velocity in the body's axes, (N, 3) rad/s; None: not recorded.
    """

    positions: np.ndarray
    attitudes: np.ndarray | None = None
    velocities: np.ndarray | None = None
    rates: np.ndarray | None = None

    @property
    def rotations(self) -> Rotation:
        """Attitudes; only where all of them are known."""
        assert self.attitudes is not None
        return rotation_from(self.attitudes)

    def at(self, rows: np.ndarray) -> Samples:
        """The rows of an index or mask."""
        return Samples(*(None if v is None else v[rows] for v in self._columns()))  # pyright: ignore[reportArgumentType]

    def _columns(self) -> tuple[np.ndarray | None, ...]:
        return self.positions, self.attitudes, self.velocities, self.rates


def known_in(samples: Samples) -> np.ndarray:
    """True where the position is known, (N,) bool."""
    return np.asarray(np.isfinite(samples.positions).all(axis=1))


@dataclass(frozen=True)
class Track:
    """Recorded motion of one body, in the order of time.

    Attributes:
        body: its name.
        source: topic, or column of the file.
        stamps: ns, (N,), increasing.
        samples: at the stamps; positions and attitudes are known everywhere.
        frame: name of the frame of the recording.

    Raises:
        ConfigError: too few poses, or an attitude that is not a rotation.
    """

    body: str
    source: str
    stamps: np.ndarray
    samples: Samples
    frame: str = ""

    def __post_init__(self) -> None:
        if len(self.stamps) < LEAST:
            raise ConfigError(
                f"{self.source}: holds {len(self.stamps)} poses of {self.body}, at least {LEAST} are needed."
            )
        if self.samples.attitudes is not None:
            norms = np.linalg.norm(self.samples.attitudes, axis=1)
            if norms.min() < 0.9 or norms.max() > 1.1:
                worst = norms[np.argmax(np.abs(norms - 1.0))]
                raise ConfigError(
                    f"{self.source}: an attitude of {self.body} is not a unit quaternion (norm {worst:.3g})."
                )

    def seconds(self, origin: int) -> np.ndarray:
        """Times since ``origin`` (ns), (N,) s."""
        return (self.stamps - origin) * NANO

    @property
    def rate_hz(self) -> float:
        """Poses per second, by the median of their distances."""
        return float(1.0 / (np.median(np.diff(self.stamps)) * NANO))


def ordered(body: str, source: str, stamps: np.ndarray, samples: Samples, frame: str = "") -> Track:
    """A track from poses in any order.

    Of poses with one stamp the first counts; dropouts (NaN, or quaternions of zeros) are left out.

    Raises:
        ConfigError: the stamps are of several clocks.
    """
    stamps = np.asarray(stamps, np.int64)
    known = np.isfinite(samples.positions).all(axis=1)
    if samples.attitudes is not None:
        known &= np.isfinite(samples.attitudes).all(axis=1) & samples.attitudes.any(axis=1)
    _, first = np.unique(stamps[known], return_index=True)
    kept = np.flatnonzero(known)[first]
    if len(kept) and (stamps[kept[-1]] - stamps[kept[0]]) * NANO > LONGEST:
        raise ConfigError(
            f"{source}: the stamps of {body} go from {stamps[kept[0]] * NANO:.6g} to {stamps[kept[-1]] * NANO:.6g} s, "
            "as if of two clocks. Leave out those of one, or use the times of reception (--clock receive)."
        )
    return Track(body, source, stamps[kept], samples.at(kept), frame)


def resampled(track: Track, stamps: np.ndarray) -> Samples:
    """Motion at other times: the straight line in position, the geodesic in attitude.

    A line leaves out at most ``a dt^2 / 8``, 0.1 mm for 10 m/s^2 at 100 Hz. What is outside the track or in a gap
    longer than :data:`GAP` is NaN.
    """
    origin = int(track.stamps[0])
    inside = np.clip(stamps, track.stamps[0], track.stamps[-1])
    t, at = track.seconds(origin), (inside - origin) * NANO
    next_one = np.clip(np.searchsorted(track.stamps, inside), 1, len(t) - 1)
    recorded = np.isin(inside, track.stamps)
    gaps = track.stamps[next_one] - track.stamps[next_one - 1]
    known = (stamps == inside) & ((gaps <= round(GAP / NANO)) | recorded)

    def line(values: np.ndarray | None) -> np.ndarray | None:
        if values is None:
            return None
        out = np.stack([np.interp(at, t, column) for column in values.T], axis=1)
        return np.where(known[:, None], out, np.nan)

    positions = line(track.samples.positions)
    assert positions is not None
    attitudes = None
    if track.samples.attitudes is not None:
        turned = wxyz_from(Slerp(t, track.samples.rotations)(at))
        attitudes = np.where(known[:, None], turned, np.nan)
    return Samples(positions, attitudes, line(track.samples.velocities), line(track.samples.rates))
