"""Outcome of a flight: flying, landed, or lost, with the time and cause of the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rotor_core.state import State
from rotor_flight.flight import Flight

MAX_TILT = np.radians(75.0)
"""A vehicle that tilts further is lost."""

MAX_ERROR = 5.0
"""An entity farther from its reference is lost, m."""

HARD = 1.5
"""Feet that come down faster than this break, m/s."""

SLOW = 0.3
"""Speed below which a vehicle stands or hovers at the end, m/s."""


@dataclass(frozen=True)
class Outcome:
    """``kind``, and ``text``: for "lost" the first limit that was exceeded, and when."""

    kind: Literal["flying", "landed", "lost"]
    text: str


def outcome(flight: Flight) -> Outcome:
    """Outcome of the flight of all vehicles of a scenario."""
    if lost := loss(flight):
        when, text = lost
        return Outcome("lost", f"{when - flight.time[0]:.2f} s after the start: {text}")
    vehicles = len(flight.scenario.model.vehicles)
    speed = float(np.linalg.norm(State(flight.states).velocity[-1, :vehicles], axis=1).max())
    if speed > SLOW:
        return Outcome("lost", f"at the end a vehicle still moves at {speed:.2f} m/s")
    if not flight.commands[-1].any():
        return Outcome("landed", f"motors off, touched down at {_fastest_touch(flight):.2f} m/s")
    error = np.linalg.norm(flight.position_error()[-1])
    where = "alone" if np.isnan(error) else f"at rest within {error:.3f} m of its reference"
    return Outcome("flying", where)


def loss(flight: Flight) -> tuple[float, str] | None:
    """Time and text of the first loss of the flight; None if it was never lost, wherever it was at its end."""
    found = [lost for lost in (_tilt(flight), _error(flight), _touchdown(flight)) if lost]
    return min(found) if found else None


def _tilt(flight: Flight) -> tuple[float, str] | None:
    vehicles = flight.scenario.model.vehicles
    q = State(flight.states).attitude[:, : len(vehicles)]
    tilt = np.arccos(np.clip(1.0 - 2.0 * (q[:, :, 1] ** 2 + q[:, :, 2] ** 2), -1.0, 1.0))
    over = np.argwhere(tilt > MAX_TILT)
    if not len(over):
        return None
    i, k = over[0]
    return float(flight.time[i]), f"{vehicles[k].name} tilted beyond {np.degrees(MAX_TILT):.0f} deg"


def _error(flight: Flight) -> tuple[float, str] | None:
    errors = np.stack(
        [
            np.linalg.norm(flight.position_error(i), axis=1)
            for i in range(flight.references.shape[1])
        ]
    )
    flown = flight.commands.any(axis=(1, 2))  # without motors nobody follows
    over = np.argwhere((errors > MAX_ERROR) & flown)
    if not len(over):
        return None
    when = min(int(i) for _, i in over)
    return float(flight.time[when]), f"more than {MAX_ERROR:g} m away from the reference"


def _touch_speeds(flight: Flight) -> list[tuple[float, str, float]]:
    """Time, vehicle and speed downwards shortly before every touch of a vehicle with the ground."""
    names = [v.name for v in flight.scenario.model.vehicles]
    found = []
    for event in flight.events:
        if event.type == "touch" and event.bodies[1] == "world" and event.bodies[0] in names:
            row = names.index(event.bodies[0])
            i = int(np.searchsorted(flight.time, event.time))
            before = slice(max(i - 20, 0), i + 1)
            found.append((event.time, names[row], float(-flight.states[before, row, 9].min())))
    return found


def _touchdown(flight: Flight) -> tuple[float, str] | None:
    hard = [
        (t, f"{name} hit the ground at {v:.2f} m/s")
        for t, name, v in _touch_speeds(flight)
        if v > HARD
    ]
    return min(hard) if hard else None


def _fastest_touch(flight: Flight) -> float:
    return max((v for _, _, v in _touch_speeds(flight)), default=0.0)
