"""References of a flight from topics of a bag that say where something should be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rotor_core.config.teams import teams
from rotor_core.errors import ConfigError
from rotor_core.reference import Reference
from rotor_flight.flight import Flight
from rotor_recordings.formats.bags import is_wanted, read_bag
from rotor_recordings.motion.derivatives import moving_cubic
from rotor_recordings.motion.names import bag_in, existing
from rotor_recordings.motion.track import GAP, NANO, Samples, Track, resampled

VELOCITY_WINDOW = 0.11
"""Of the cubic from which velocities of references without any are taken, s."""


def add_references(flight: Flight, name: str, topics: Mapping[str, str]) -> list[str]:
    """Fill in references that a flight does not have, from the bag that it comes from.

    Args:
        flight: its references are written where nothing is known.
        name: of the bag.
        topics: topic by entity; default: what has the name of the entity and of a reference or setpoint.

    Returns:
        What was used, one text per entity.

    Raises:
        ConfigError: an entity that nothing is planned for, or a topic that is not there.
    """
    path = bag_in(existing(name, "a bag"), "the folder of a bag")
    planned = [team.entity for team in teams(flight.scenario.model)]
    for entity in topics:
        if entity not in planned:
            raise ConfigError(
                f"--reference: nothing is planned for {entity!r}; planned: {', '.join(planned)}."
            )
    missing = [
        i for i, e in enumerate(planned) if e in topics or np.isnan(flight.references[:, i]).all()
    ]
    if not missing:
        return []
    every = _tracks(path)
    used = []
    for i in missing:
        entity = planned[i]
        found = [t for t in every if t.source == topics.get(entity, t.source)]
        if entity in topics and not found:
            known = ", ".join(sorted({t.source for t in every})) or "none"
            raise ConfigError(
                f"--reference {entity}={topics[entity]}: is not a topic with poses of {name}; there are {known}."
            )
        if entity not in topics:
            found = [t for t in found if entity in t.source.split("/") and is_wanted(t.source)]
        if found:
            _fill(flight, i, found[0])
            rate = _slow_rate(found[0])
            how = "" if rate is None else f" (at {rate:.3g} Hz: each place holds until the next)"
            used.append(f"{entity}: {found[0].source}{how}")
    return used


def _tracks(path: Path) -> list[Track]:
    """All paths of a bag, of what is and of what should be."""
    out: list[Track] = []
    for wanted in (True, False):
        try:
            out += read_bag(path, wanted=wanted).tracks
        except ConfigError:  # it holds none of these
            continue
    return out


def _slow_rate(track: Track) -> float | None:
    """Rate of references that come more rarely than a gap of a recording lasts, Hz: those are set and held."""
    steps = np.diff(track.stamps)
    usual = float(np.median(steps)) * NANO if len(steps) else 0.0
    return 1.0 / usual if usual > GAP else None


def _held(track: Track, stamps: np.ndarray) -> Samples:
    """The newest place and attitude at every time, at rest; NaN before the first."""
    row = np.searchsorted(track.stamps, stamps, side="right") - 1
    columns = (track.samples.positions, track.samples.attitudes)
    known = (row >= 0)[:, None]
    held = (None if c is None else np.where(known, c[np.maximum(row, 0)], np.nan) for c in columns)
    positions, attitudes = held
    assert positions is not None
    return Samples(positions, attitudes, np.zeros_like(positions))


def _fill(flight: Flight, team: int, track: Track) -> None:
    """Write a path into the references of a team."""
    stamps = np.rint(flight.time / NANO).astype(np.int64)
    samples = resampled(track, stamps) if _slow_rate(track) is None else _held(track, stamps)
    reference = Reference(flight.references[:, team])
    flight.references[:, team] = 0.0
    reference.position[:] = samples.positions
    turned = samples.attitudes is not None
    reference.attitude[:] = samples.attitudes if turned else [1.0, 0.0, 0.0, 0.0]
    step = float(np.median(np.diff(flight.time)))
    velocities = samples.velocities
    if velocities is None:
        velocities = moving_cubic(samples.positions, step, VELOCITY_WINDOW, 1)
    reference.velocity[:] = velocities
    flight.references[~np.isfinite(samples.positions).all(axis=1), team] = np.nan
