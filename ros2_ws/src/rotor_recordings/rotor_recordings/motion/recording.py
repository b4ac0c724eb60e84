"""Recorded paths in a file or a bag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from rotor_core.errors import ConfigError
from rotor_recordings.motion.track import GAP, NANO, Track

RANKS = (
    "ground_truth",
    "mocap",
    "vicon",
    "vrpn",
    "optitrack",
    "poses",
    "rigid_bodies",
    "odom",
    "tf",
)
"""Of several paths of a body the one counts whose source holds the earliest of these words."""


NEVER = np.iinfo(np.int64).max
"""Stamp of what does not happen."""


def ends_of_cables(cut: list[tuple[int, int]], n: int) -> np.ndarray:
    """Stamps at which cables end, (n,), from those of single ones: ns and number."""
    ends = np.full(n, NEVER, np.int64)
    for stamp, k in cut:
        if 0 <= k < n:
            ends[k] = min(ends[k], stamp)
    return ends


@dataclass(frozen=True)
class CableRows:
    """Cables as a simulator reports them.

    Attributes:
        stamps: ns, (N,).
        tensions: (N, n_cables) N.
        taut: (N, n_cables).
        names: of the cables; empty: in the order of the scenario.
        ends: ns at which each was cut or broke, (n_cables,); never: the largest number. Empty: nobody knows.
    """

    stamps: np.ndarray
    tensions: np.ndarray
    taut: np.ndarray
    names: tuple[str, ...] = ()
    ends: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    def whole(self, stamps: np.ndarray) -> np.ndarray:
        """True where a cable is neither cut nor broken, (n, n_cables)."""
        if not len(self.ends):
            return np.ones((len(stamps), self.tensions.shape[1]), bool)
        return np.asarray(stamps)[:, None] < self.ends

    def nearest(self, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tensions and flags of the rows nearest in time; NaN and taut where none is within :data:`GAP`."""
        i = np.clip(np.searchsorted(self.stamps, stamps), 1, len(self.stamps) - 1)
        i -= stamps - self.stamps[i - 1] < self.stamps[i] - stamps
        far = np.abs(self.stamps[i] - stamps) > round(GAP / NANO)
        return np.where(far[:, None], np.nan, self.tensions[i]), self.taut[i] | far[:, None]


@dataclass(frozen=True)
class Recording:
    """Paths of bodies.

    Attributes:
        path: as the user wrote it.
        kind: for messages: ``ROS 2 bag``, ``ROS 1 bag``, ``Vicon CSV``, ``TUM file``.
        tracks: in the order of the file; several per body where several topics show it.
        scenario: YAML of the scenario where a recording of this suite holds it.
        cables: what it says of cables; None: nothing.
        notes: what of it is left out, in words.
    """

    path: str
    kind: str
    tracks: tuple[Track, ...]
    scenario: str = ""
    cables: CableRows | None = None
    notes: tuple[str, ...] = ()

    @property
    def bodies(self) -> list[str]:
        """Names, in the order of the file."""
        return list(dict.fromkeys(t.body for t in self.tracks))

    def track(self, body: str, source: str = "") -> Track:
        """The path of a body, from ``source``, or from the best source there is.

        Raises:
            ConfigError: the recording holds none.
        """
        found = [t for t in self.tracks if t.body == body]
        if not found:
            raise ConfigError(
                f"{self.path}: holds no path of {body}; it holds {', '.join(self.bodies)}."
            )
        if source:
            named = [t for t in found if t.source == source]
            if not named:
                sources = ", ".join(t.source for t in found)
                raise ConfigError(f"{self.path}: {body} is not in {source}; it is in {sources}.")
            return named[0]
        return min(found, key=_rank)

    def alike(self, chosen: Iterable[Track]) -> tuple[str, ...]:
        """Notes on tracks that were chosen although others of the same body are as good."""
        out = []
        for track in chosen:
            others = [
                t.source
                for t in self.tracks
                if t.body == track.body and t is not track and _rank(t) == _rank(track)
            ]
            if others:
                out.append(
                    f"{self.path}: {track.body} is taken from {track.source}; it is in {', '.join(others)}, too"
                )
        return tuple(out)


def _rank(track: Track) -> int:
    """Place among the sources of a body; the truth of a laboratory is what a comparison must not see."""
    if "laboratory/" in track.source:
        return len(RANKS) + 1
    return next((i for i, word in enumerate(RANKS) if word in track.source), len(RANKS))
