"""Cables as two recordings show them: lengths from positions, tensions, and the times in which they were slack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.model import Model
from rotor_recordings.compare.payload_balance import acceleration, balanced_tensions
from rotor_recordings.compare.runs import runs
from rotor_recordings.motion.track import Samples

SLACK_GAP = 0.010
"""A cable whose ends are nearer than its median length by more than this is slack, m: several times mocap noise."""

BRIEF = 0.03
"""Shorter times of slack are noise, s."""


@dataclass(frozen=True)
class CableMotion:
    """One cable in one recording.

    Attributes:
        distances: between its ends, (N,) m; NaN where an end is unknown.
        tensions: (N,) N; NaN where unknown.
        slack: (N,) bool.
        tension_from: ``recorded``, ``balance of the payload`` or empty.
    """

    distances: np.ndarray
    tensions: np.ndarray
    slack: np.ndarray
    tension_from: str = ""

    def figures(self, time: np.ndarray) -> dict:
        """Numbers of the report."""
        known, pulling = (
            self.distances[np.isfinite(self.distances)],
            self.tensions[np.isfinite(self.tensions)],
        )
        return {
            "length_median_m": float(np.median(known)) if len(known) else None,
            "length_std_m": float(np.std(known[known > np.median(known) - SLACK_GAP]))
            if len(known)
            else None,
            "tension_median_n": float(np.median(pulling)) if len(pulling) else None,
            "tension_from": self.tension_from,
            "slack_intervals_s": intervals(time, self.slack),
        }


@dataclass(frozen=True)
class CableComparison:
    """A cable in both recordings."""

    name: str
    rest_length: float
    sim: CableMotion
    real: CableMotion
    time: np.ndarray = field(repr=False, default_factory=lambda: np.zeros(0))

    def figures(self) -> dict:
        """Numbers of the report; keys carry their units."""
        error = self.sim.tensions - self.real.tensions
        known = error[np.isfinite(error)]
        return {
            "rest_length_m": self.rest_length,
            "sim": self.sim.figures(self.time),
            "real": self.real.figures(self.time),
            "tension_rmse_n": float(np.sqrt((known**2).mean())) if len(known) else None,
        }


def cable_motions(
    model: Model, gravity: float, bodies: dict[str, Samples], step: float,
    recorded: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = MappingProxyType({}),
) -> dict[str, CableMotion]:  # fmt: skip
    """Motions of the cables whose two ends are known, by name; of lines of one length only.

    Those that run through rings, wind or stretch are left out: their ends do not tell whether they are slack.

    Args:
        model: whose cables.
        gravity: m/s^2.
        bodies: motion by entity, every ``step`` s.
        step: s.
        recorded: tensions (N,) N, whether it is taut and whether it is whole (N,) as recorded, by cable; empty: not
            recorded. What is cut has no length.
    """
    out: dict[str, CableMotion] = {}
    ends = {
        name: (_end(c.a, c.a_point_m, bodies), _end(c.b, c.b_point_m, bodies))
        for name, c in _named(model)
    }
    tensions = {} if recorded else _balanced(model, gravity, bodies, ends, step)
    for name, _ in _named(model):
        a, b = ends[name]
        if a is None or b is None:
            continue
        distances = np.linalg.norm(a - b, axis=1)
        if name in recorded:
            tension, taut, whole = recorded[name]
            slack, source = ~taut & whole, "recorded"
            distances = np.where(whole, distances, np.nan)
        else:
            tension = tensions.get(name, np.full(len(distances), np.nan))
            slack = slack_rows(distances, step)
            source = "balance of the payload" if name in tensions else ""
        out[name] = CableMotion(distances, tension, slack, source)
    return out


def _named(model: Model) -> list[tuple[str, CableAttachment]]:
    pairs = zip(model.cable_names, model.cables, strict=True)
    return [(name, cable) for name, cable in pairs if cable.is_line]


def _end(entity: str, point: tuple[float, ...], bodies: dict[str, Samples]) -> np.ndarray | None:
    """Path of an attachment point, (N, 3) m; None: it cannot be known."""
    if entity == "world":
        n = len(next(iter(bodies.values())).positions)
        return np.tile(np.array(point, float), (n, 1))
    if entity not in bodies:
        return None
    samples = bodies[entity]
    if not any(point):
        return samples.positions
    if samples.attitudes is None:
        return None
    known = np.isfinite(samples.attitudes).all(axis=1)
    out = np.full_like(samples.positions, np.nan)
    out[known] = samples.positions[known] + samples.at(known).rotations.apply(
        np.array(point, float)
    )
    return out


def _balanced(
    model: Model, gravity: float, bodies: dict[str, Samples], ends: dict, step: float
) -> dict[str, np.ndarray]:
    """Tensions of cables at point masses that hang on nothing else, by name."""
    out: dict[str, np.ndarray] = {}
    for payload in model.payloads:
        on = [(n, c) for n, c in _named(model) if payload.name in (c.a, c.b)]
        if len(on) < sum(payload.name in [name for name, _ in c.path] for c in model.cables):
            continue  # others pull at it, too
        if payload.inertia_kg_m2 is not None or payload.name not in bodies or not 1 <= len(on) <= 3:
            continue
        if any(e is None for n, _ in on for e in ends[n]):
            continue
        arms = []
        for name, cable in on:
            a, b = ends[name]
            arm = a - b if cable.b == payload.name else b - a
            arms.append(arm / np.linalg.norm(arm, axis=1, keepdims=True))
        acc = acceleration(bodies[payload.name].positions, step)
        tensions = balanced_tensions(acc, np.stack(arms, axis=1), payload.mass_kg, gravity)
        out |= {name: tensions[:, i] for i, (name, _) in enumerate(on)}
    return out


def slack_rows(distances: np.ndarray, step: float) -> np.ndarray:
    """True where the ends of a cable are closer than their usual distance for longer than noise lasts, (N,) bool."""
    if not np.isfinite(distances).any():
        return np.zeros(len(distances), bool)
    out = distances < np.nanmedian(distances) - SLACK_GAP
    for begin, end in runs(out):
        if (end - begin) * step < BRIEF:
            out[begin:end] = False
    return out


def intervals(time: np.ndarray, flags: np.ndarray) -> list[list[float]]:
    """Times (from, to) in which the flags are set, s."""
    return [[float(time[b]), float(time[e - 1])] for b, e in runs(flags)]
