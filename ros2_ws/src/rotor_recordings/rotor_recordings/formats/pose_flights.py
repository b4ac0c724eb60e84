"""Flights from bags of real halls: poses from motion capture or estimators, commands as they were sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.config.teams import teams
from rotor_core.config.yaml.structure import word
from rotor_core.errors import ConfigError
from rotor_core.reference import REFERENCE
from rotor_core.state import State
from rotor_flight.flight import Commands, Flight
from rotor_recordings.formats.bags import opened, read_bag
from rotor_recordings.motion.derivatives import angular_velocity, moving_cubic
from rotor_recordings.motion.track import NANO, resampled

STEP = 0.01
"""Rows of the flight, s."""

FIXED = ("world", "map", "odom")
"""Frames that do not turn with a vehicle."""

VELOCITY_WINDOW = 0.11
"""Of the cubic from which velocities are taken, s: 0.3 mm of noise at 100 Hz become 1 cm/s."""


def flight_of_poses(path: Path, scenario: Scenario) -> Flight:
    """A flight whose states are recorded poses and their derivatives, every 10 ms, in the frame of the recording.

    Commands are those of ``TeamCommand``, or of ``<vehicle>/cmd/wrench``; references are unknown.

    Raises:
        ConfigError: an entity has no path, or a body no attitude.
    """
    recording = read_bag(path)
    entities = scenario.model.entities
    tracks = [recording.track(e.name) for e in entities]
    begin, end = max(int(t.stamps[0]) for t in tracks), min(int(t.stamps[-1]) for t in tracks)
    stamps = np.arange(begin, end, round(STEP / NANO))
    if len(stamps) < 2:
        raise ConfigError(
            f"{path}: the paths of {', '.join(e.name for e in entities)} do not overlap in time."
        )
    states = np.full((len(stamps), len(entities), 13), np.nan)
    for i, (entity, track) in enumerate(zip(entities, tracks, strict=True)):
        samples = resampled(track, stamps)
        State(states).position[:, i] = samples.positions
        if samples.attitudes is None and entity.inertia_kg_m2 is not None:
            raise ConfigError(
                f"{path}: {track.source} holds no attitude of {entity.name}, which is a rigid body."
            )
        point = samples.attitudes is None
        State(states).attitude[:, i] = [1.0, 0.0, 0.0, 0.0] if point else samples.attitudes
        velocity = moving_cubic(samples.positions, STEP, VELOCITY_WINDOW, 1)
        State(states).velocity[:, i] = (
            velocity if samples.velocities is None else samples.velocities
        )
        State(states).body_rate[:, i] = 0.0 if point else angular_velocity(samples, stamps)
    known = np.flatnonzero(np.isfinite(states).all(axis=(1, 2)))
    if not len(known):
        raise ConfigError(
            f"{path}: holds no time at which all of {', '.join(e.name for e in entities)} are known."
        )
    kept = slice(int(known[0]), int(known[-1]) + 1)
    n, cables, vehicles = (
        kept.stop - kept.start,
        len(scenario.model.cables),
        len(scenario.model.vehicles),
    )
    flight = Flight(
        scenario, stamps[kept] * NANO, states[kept], np.full((n, len(teams(scenario.model)), REFERENCE), np.nan),
        np.full((n, vehicles, 4), np.nan), np.full((n, cables), np.nan), np.ones((n, cables), bool),
    )  # fmt: skip
    flight.sent = _commands(path, scenario)
    return flight


def _commands(path: Path, scenario: Scenario) -> Commands:
    """All commands of a bag; each vehicle's last one counts until its next."""
    names = [v.name for v in scenario.model.vehicles]
    held = np.full((len(names), 4), np.nan)
    times: list[float] = []
    rows: list[np.ndarray] = []
    with opened(path) as reader:
        topics = {f"{name}/cmd/wrench": i for i, name in enumerate(names)}
        wanted = [
            c
            for c in reader.connections
            if c.msgtype.endswith("/TeamCommand")
            or (
                c.msgtype.endswith("/WrenchStamped") and "/".join(c.topic.split("/")[-3:]) in topics
            )
        ]
        for connection, received, raw in reader.messages(wanted) if wanted else ():
            message: Any = reader.deserialize(raw, connection.msgtype)
            stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec or received
            if connection.msgtype.endswith("/TeamCommand"):
                for c in message.commands:
                    if c.name in names:
                        held[names.index(c.name)] = c.thrust, c.moment.x, c.moment.y, c.moment.z
            else:
                force, torque = message.wrench.force, message.wrench.torque
                i = topics["/".join(connection.topic.split("/")[-3:])]
                if (frame := message.header.frame_id) in FIXED:
                    raise ConfigError(
                        f"{path}: {connection.topic} holds wrenches in the axes of {word(frame)!r}; those of the "
                        f"vehicle are needed (frame_id {names[i]}/base_link)."
                    )
                held[i] = force.z, torque.x, torque.y, torque.z
            if np.isfinite(held).all():
                times.append(stamp * NANO)
                rows.append(held.copy())
    order = np.argsort(times, kind="stable")
    wrenches = np.array(rows).reshape(-1, len(names), 4)[order]
    return Commands(np.array(times)[order], wrenches, np.zeros((len(times), 0)))
