"""Bring two recordings onto one clock and into one frame, and say what separates them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import fminbound

from rotor_core.config.loader import scenario_from_tree
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError
from rotor_core.given import numbers
from rotor_recordings.compare.alignment import KINDS, Alignment, align
from rotor_recordings.compare.cables import CableComparison, cable_motions
from rotor_recordings.compare.clock import ClockOffset, clock_offset
from rotor_recordings.compare.errors import BodyErrors, body_errors
from rotor_recordings.compare.evo_program import evo_statistics
from rotor_recordings.compare.plausible import check_tracks, drifts, frozen, is_slow, turned
from rotor_recordings.motion.recording import Recording
from rotor_recordings.motion.track import NANO, Samples, Track, known_in, resampled

REFINED_WITHIN = 0.05
"""The offset is refined within this of that from the speeds, s."""

STATED_WITHIN = 0.25
"""The same in a stated frame: directions tell of time where speeds hardly change, as on a circle."""

CHANGE_OVER = 1.0
"""Time over which positions change by more than noise, s."""

SAME_CLOCK, SAME_FRAME = 1e-3, 1e-3
"""Two simulated flights that seem to be farther apart than this are told of, s and m."""

HALF = 0.5
"""A comparison of less than this share of what was asked for is told of."""

REFINED_ON = 500
"""Poses of a body that it is refined on."""


@dataclass(frozen=True)
class CompareOptions:
    """Options of a comparison; by default everything is found from the recordings.

    Attributes:
        bodies: name in SIM to name in REAL; empty: equal names.
        sim_topics, real_topics: source by body; others: the best there is.
        offset: to add to the stamps of REAL, s; None: by correlation.
        align: see :data:`rotor_recordings.compare.alignment.KINDS`.
        markers: place of a body's origin in the axes of its markers, by body, (3,) m.
        fit_markers: bodies for which it is found.
        start, end: part that counts, s since the start of SIM; None: all.
        evo: call it.

    Raises:
        ConfigError: an option that none of these can be.
        ContractError: a marker that is no place.
    """

    bodies: Mapping[str, str] = field(default_factory=dict)
    sim_topics: Mapping[str, str] = field(default_factory=dict)
    real_topics: Mapping[str, str] = field(default_factory=dict)
    offset: float | None = None
    align: str = "rigid"
    markers: Mapping[str, np.ndarray] = field(default_factory=dict)
    fit_markers: tuple[str, ...] = ()
    start: float | None = None
    end: float | None = None
    evo: bool = True

    def __post_init__(self) -> None:
        if self.align not in KINDS:
            raise ConfigError(f"align: must be one of {', '.join(KINDS)}, got {self.align!r}.")
        for name in ("offset", "start", "end"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float)) and np.isfinite(value)):
                raise ConfigError(f"{name}: must be a finite number of seconds, got {value!r}.")
        for name in ("bodies", "sim_topics", "real_topics", "markers"):
            if not isinstance(getattr(self, name), Mapping):
                raise ConfigError(
                    f"{name}: must be a dictionary by name, got {getattr(self, name)!r}."
                )
        for body, place in self.markers.items():
            numbers(f"markers: {body!r}", place, 3)


@dataclass(frozen=True)
class Comparison:
    """Differences between two recordings.

    Attributes:
        sim, real: the recordings.
        sources: topics or columns that were compared, by body: (simulated, real).
        clock, alignment: how REAL was brought to SIM.
        bodies: errors by body.
        cables: by cable; empty without a scenario.
        evo: statistics of evo by body; empty: it was not called.
        scenario: of SIM or REAL; None: neither holds one.
        notes: what in the recordings is doubtful.
    """

    sim: Recording
    real: Recording
    sources: dict[str, tuple[str, str]]
    clock: ClockOffset
    alignment: Alignment
    bodies: dict[str, BodyErrors]
    cables: dict[str, CableComparison]
    evo: dict[str, dict[str, dict[str, float]]]
    scenario: Scenario | None
    notes: tuple[str, ...] = ()

    def summary(self) -> dict:
        """Figures as plain data; keys carry their units."""
        a = self.alignment
        moved = bool(np.any(a.translation) or a.rotation.magnitude())
        return {
            "sim": {"path": self.sim.path, "kind": self.sim.kind},
            "real": {"path": self.real.path, "kind": self.real.kind},
            "scenario": None if self.scenario is None else self.scenario.name,
            "sources": {body: {"sim": s, "real": r} for body, (s, r) in self.sources.items()},
            "time_offset_s": self.clock.seconds,
            "time_offset_correlation": self.clock.correlation,
            "alignment": {
                "kind": a.kind if moved or a.kind == "none" else f"{a.kind} (found none)",
                "rotation_vector_deg": np.degrees(a.rotation.as_rotvec()).tolist(),
                "translation_m": a.translation.tolist(),
                "sigma_deg": a.sigma_deg,
                "markers_m": {body: m.tolist() for body, m in a.markers.items()},
                "marker_turns_deg": {
                    b: np.degrees(r.as_rotvec()).tolist() for b, r in a.turns.items()
                },
            },
            "bodies": {name: b.figures() for name, b in self.bodies.items()},
            "cables": {name: c.figures() for name, c in self.cables.items()},
            "points": sorted(_points(self.scenario)) if self.scenario else [],
            "evo": self.evo,
            "notes": list(self.notes),
        }


def compare(sim: Recording, real: Recording, options: CompareOptions) -> Comparison:
    """Compare two recordings.

    Raises:
        ConfigError: bodies, clock, frame or markers cannot be found out; the text says which option tells them.
    """
    pairs = _matched(sim, real, options)
    notes = sim.notes + real.notes + _left_out(sim, real, pairs, options)
    for recording, side, given in (
        (sim, 0, options.sim_topics),
        (real, 1, options.real_topics),
    ):
        notes += recording.alike([pair[side] for b, pair in pairs.items() if b not in given])
    notes += check_tracks(pairs) + frozen(pairs.values())
    try:
        clock, alignment, stamps = _aligned(pairs, sim, options)
    except ConfigError as error:
        raise ConfigError(" ".join([str(error), *notes])) from error
    shift = round(clock.seconds / NANO)
    sampled = _sampled(pairs, stamps, shift)
    moved = {b: alignment.applied(b, r) for b, (_, r) in sampled.items()}
    origin = int(next(iter(pairs.values()))[0].stamps[0])
    scenario = _scenario(sim) or _scenario(real)
    points = set() if scenario is None else _points(scenario)
    for body in points & set(sampled):  # point masses have no attitude, whatever their markers have
        s, r = sampled[body]
        sampled[body] = _without_attitudes(s), r
        moved[body] = _without_attitudes(moved[body])
    errors = {b: body_errors(b, stamps, s, moved[b], origin) for b, (s, _) in sampled.items()}
    cables = (
        {}
        if scenario is None
        else _cables(
            scenario,
            sim,
            real,
            {b: s for b, (s, _) in sampled.items()},
            moved,
            stamps,
            shift,
            origin,
        )
    )
    evo: dict[str, dict[str, dict[str, float]]] = {}
    if options.evo:
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # each call is a program
            calls = {
                b: pool.submit(_evo, pairs[b], stamps, s, moved[b]) for b, (s, _) in sampled.items()
            }
        evo = {body: call.result() for body, call in calls.items() if call.result()}
    sources = {b: (s.source, r.source) for b, (s, r) in pairs.items()}
    notes += _short(errors, pairs, options)
    notes += turned(errors, sources) + drifts(errors)
    if not clock.is_refined:
        notes += (
            f"the time offset of {clock.seconds:.3f} s is where the speeds fit best; the positions would fit better "
            "more than 0.05 s beside it. Noise, or another flight? --time-offset SECONDS states it.",
        )
    fitted_clock = options.offset is None and abs(clock.seconds) > SAME_CLOCK
    shift_m = float(np.linalg.norm(alignment.translation))
    fitted = [f"a time offset of {clock.seconds:.3f} s"] if fitted_clock else []
    if shift_m > SAME_FRAME:
        fitted.append(f"a frame that is {1e3 * shift_m:.1f} mm off")
    if sim.scenario and real.scenario and fitted:
        notes += (
            f"both hold the scenario that they fly; {' and '.join(fitted)} {'were' if fitted[1:] else 'was'} fitted, "
            "which hides what is alike in all errors. If one simulator flew both, --time-offset 0 --align none shows "
            "the whole difference.",
        )
    return Comparison(sim, real, sources, clock, alignment, errors, cables, evo, scenario, notes)


def _points(scenario: Scenario) -> set[str]:
    """Names of the point masses of a scenario."""
    return {e.name for e in scenario.model.entities if e.inertia_kg_m2 is None}


def _without_attitudes(samples: Samples) -> Samples:
    """The same motion of a point."""
    return replace(samples, attitudes=None, rates=None)


def _aligned(
    pairs: dict[str, tuple[Track, Track]], sim: Recording, options: CompareOptions
) -> tuple[ClockOffset, Alignment, np.ndarray]:
    """Clock, frame and markers, and the stamps of SIM that both recordings cover."""
    if options.offset is not None:
        clock = ClockOffset(options.offset, float("nan"))
    else:
        clock = clock_offset(list(pairs.values()))
        clock = _refined(clock, pairs, sim, options, dict(options.markers))

    def fit() -> tuple[Alignment, np.ndarray]:
        shift = round(clock.seconds / NANO)
        stamps = _common(pairs, shift, sim, options)
        sampled = _sampled(pairs, stamps, shift)
        return align(
            sampled, options.align, markers=dict(options.markers), fitted=options.fit_markers
        ), stamps

    alignment, stamps = fit()
    if (
        options.fit_markers and options.offset is None
    ):  # a marker off the origin had moved the clock a little
        clock = _refined(clock, pairs, sim, options, alignment.markers)
        alignment, stamps = fit()
    return clock, alignment, stamps


def _sampled(
    pairs: dict[str, tuple[Track, Track]], stamps: np.ndarray, shift: int
) -> dict[str, tuple[Samples, Samples]]:
    return {b: (resampled(s, stamps), resampled(r, stamps - shift)) for b, (s, r) in pairs.items()}


def _refined(
    coarse: ClockOffset,
    pairs: dict[str, tuple[Track, Track]],
    sim: Recording,
    options: CompareOptions,
    markers: dict[str, np.ndarray],
) -> ClockOffset:
    """The offset near a coarse one at which the aligned positions fit best; in a stated frame, what they change by.

    A constant error of position, left in on request, must not be traded for time, and a translation may not be either:
    along an arc the two are nearly the same. A best offset at the end of the search says nothing.
    """
    start = round(coarse.seconds / NANO)
    stamps = _common(pairs, start, sim, options)
    stated = options.align == "none"
    within = STATED_WITHIN if stated else REFINED_WITHIN
    margin = round(2.0 * within / NANO)
    inner = stamps[(stamps >= stamps[0] + margin) & (stamps <= stamps[-1] - margin)]
    stamps = inner[:: max(1, len(inner) // REFINED_ON)]
    if len(stamps) < 10:
        return coarse
    apart = max(1, int(np.searchsorted(stamps, stamps[0] + round(CHANGE_OVER / NANO))))
    apart = min(apart, len(stamps) // 2)

    def misfit(seconds: float) -> float:
        sampled = _sampled(pairs, stamps, start + round(seconds / NANO))
        alignment = align(sampled, options.align, markers=markers, certain=False)
        errors = [s.positions - alignment.applied(b, r).positions for b, (s, r) in sampled.items()]
        if stated:
            errors = [e[apart:] - e[:-apart] for e in errors]
        return float(np.nanmean(np.square(errors)))

    seconds, *_ = fminbound(misfit, -within, within, xtol=1e-5, full_output=True)
    if abs(seconds) > 0.98 * within:
        return replace(coarse, is_refined=False)
    return ClockOffset((start + round(seconds / NANO)) * NANO, coarse.correlation)


def _matched(
    sim: Recording, real: Recording, options: CompareOptions
) -> dict[str, tuple[Track, Track]]:
    """Tracks of the bodies that both have, by their name in SIM."""
    names = dict(options.bodies) or {b: b for b in sim.bodies if b in real.bodies}
    if not names and len(sim.bodies) == len(real.bodies) == 1:
        names = {sim.bodies[0]: real.bodies[0]}
    if not names:
        raise ConfigError(
            f"no body has the same name in both: {sim.path} holds {', '.join(sim.bodies)}; {real.path} holds "
            f"{', '.join(real.bodies)}. Name the pairs: --body SIM=REAL."
        )
    for option, given in (
        ("--sim-topic", options.sim_topics),
        ("--real-topic", options.real_topics),
    ):
        for body in given:
            if body not in names:
                raise ConfigError(
                    f"{option}: must name a body that is compared, by its name in SIM "
                    f"({', '.join(names)}), got {body}."
                )
    return {
        s: (
            sim.track(s, options.sim_topics.get(s, "")),
            real.track(r, options.real_topics.get(s, "")),
        )
        for s, r in names.items()
    }


def _left_out(
    sim: Recording, real: Recording, pairs: dict[str, tuple[Track, Track]], options: CompareOptions
) -> tuple[str, ...]:
    """A note on bodies that only one of the recordings names, unless somebody has said which count."""
    if options.bodies:
        return ()
    used = {r.body for _, r in pairs.values()}
    missing = [b for b in sim.bodies if b not in pairs and b != "world"]
    spare = [b for b in real.bodies if b not in used]
    if not missing:
        return ()
    also = f"; {real.path} also holds {', '.join(spare)}" if spare else ""
    return (
        f"not compared: {', '.join(missing)}, of which {real.path} has no path of that name{also}. Other names: --body "
        "SIM=REAL.",
    )


def _short(
    errors: dict[str, BodyErrors],
    pairs: dict[str, tuple[Track, Track]],
    options: CompareOptions,
) -> tuple[str, ...]:
    """Notes on bodies of which only a small part of what was asked for could be compared."""
    out = []
    for body, found in errors.items():
        if any(is_slow(track) for track in pairs[body]):
            continue  # which is told of
        whole = pairs[body][0].seconds(pairs[body][0].stamps[0])[-1]
        asked = min(whole, np.inf if options.end is None else options.end) - (options.start or 0.0)
        poses = int(np.isfinite(found.position).all(axis=1).sum())
        if (lasts := poses * found.step) < HALF * asked:
            out.append(
                f"{body}: only {lasts:.2f} s of {asked:.2f} s were compared, where both recordings know it"
            )
    return tuple(out)


def _common(
    pairs: dict[str, tuple[Track, Track]], shift: int, sim: Recording, options: CompareOptions
) -> np.ndarray:
    """Stamps (of SIM) at which to compare: at its rate, while both recordings know one of the bodies."""
    first = next(iter(pairs.values()))[0]
    spans = [
        (max(s.stamps[0], r.stamps[0] + shift), min(s.stamps[-1], r.stamps[-1] + shift))
        for s, r in pairs.values()
    ]
    together = [(int(b), int(e)) for b, e in spans if b < e]
    if not together:
        apart = min(int(b - e) for b, e in spans) * NANO
        raise ConfigError(
            f"the recordings do not overlap in time: {sim.path} is {apart:.3f} s away from the other one. Leave "
            "--time-offset out, or correct it."
        )
    start, step = int(first.stamps[0]), int(np.median(np.diff(first.stamps)))
    begin, end = min(b for b, _ in together), max(e for _, e in together)
    begin = begin if options.start is None else max(begin, start + round(options.start / NANO))
    end = end if options.end is None else min(end, start + round(options.end / NANO))
    # every step, so that what is missing is a gap and not a jump
    stamps = start + step * np.arange(-((start - begin) // step), (end - start) // step + 1)
    if len(stamps) < 10:
        raise ConfigError(
            f"only {len(stamps)} poses of {sim.path} lie in the part that is compared. Correct --from or --to."
        )
    return stamps


def _scenario(recording: Recording) -> Scenario | None:
    if not recording.scenario:
        return None
    try:
        return scenario_from_tree(parse_tree(recording.scenario, f"{recording.path}: scenario"))
    except ConfigError:
        return None  # of another version: paths are compared all the same


def _cables(
    scenario: Scenario, sim: Recording, real: Recording, simulated: dict[str, Samples], moved: dict[str, Samples],
    stamps: np.ndarray, shift: int, origin: int,
) -> dict[str, CableComparison]:  # fmt: skip
    step = float(np.median(np.diff(stamps))) * NANO
    gravity = scenario.environment.gravity_m_s2
    motions = []
    for recording, bodies, at in ((sim, simulated, stamps), (real, moved, stamps - shift)):
        rows = recording.cables
        known = {}
        if rows is not None:
            tensions, taut = rows.nearest(at)
            names = rows.names or scenario.model.cable_names
            if len(names) == tensions.shape[1]:  # else they are of another scenario
                whole = rows.whole(at)
                known = {n: (tensions[:, k], taut[:, k], whole[:, k]) for k, n in enumerate(names)}
        motions.append(cable_motions(scenario.model, gravity, bodies, step, known))
    lengths = dict(
        zip(scenario.model.cable_names, (c.length_m for c in scenario.model.cables), strict=True)
    )
    time = (stamps - origin) * NANO
    return {
        name: CableComparison(name, lengths[name], motions[0][name], motions[1][name], time)
        for name in motions[0]
        if name in motions[1]
    }


def _evo(
    pair: tuple[Track, Track], stamps: np.ndarray, sim: Samples, real: Samples
) -> dict[str, dict[str, float]]:
    known = known_in(sim) & known_in(real)
    tracks = [
        Track(t.body, t.source, stamps[known], samples.at(known))
        for t, samples in zip(pair, (sim, real), strict=True)
    ]
    both = sim.attitudes is not None and real.attitudes is not None
    return evo_statistics(*tracks, with_attitude=both)
