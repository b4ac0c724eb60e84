"""The rigid transform between the frames of two recordings, and where markers sit on bodies.

Model: ``p_sim = R (p_real + R_real b) + t`` for every body and time; ``b`` is the body's origin in the axes of its
markers. Least squares over ``R``, ``t`` and, where asked, ``b``; what the motion does not determine is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from rotor_core.errors import ConfigError
from rotor_core.math.rotation_vectors import wxyz_from
from rotor_recordings.motion.track import Samples, known_in

KINDS = ("rigid", "yaw", "translation", "none")
"""Turn and shift; turn about the vertical and shift; shift; leave as it is."""

LEAST_SPREAD = 0.05
"""Positions must spread by this about the axes that a turn is found from (root of the mean square), m."""

LARGEST_SIGMA = np.radians(1.0)
"""A turn that is less certain than this (one standard deviation) is refused, rad."""

LARGEST_MARKER_SIGMA = 0.005
"""The same of a marker's place, m."""

STRETCHES = 20
"""Of a flight, that count as independent in the certainty of a marker."""

LEAST_EXCITED = 1e-9
"""Smallest eigenvalue of the normal equations per pose with which markers and frame can be told apart, m^2."""

MOST = 2000
"""Poses of a body that a fit looks at."""


@dataclass(frozen=True)
class Alignment:
    """From the frame of the real recording to that of the simulated one.

    Attributes:
        kind: one of :data:`KINDS`.
        rotation, translation: of the frame, m.
        markers: origin of a body in the axes of its markers, by body, (3,) m.
        turns: attitude of a body relative to its markers, by body.
        sigma_deg: standard deviation of the turn; NaN where none was sought.
    """

    kind: str = "none"
    rotation: Rotation = field(default_factory=Rotation.identity)
    translation: np.ndarray = field(default_factory=lambda: np.zeros(3))
    markers: dict[str, np.ndarray] = field(default_factory=dict)
    turns: dict[str, Rotation] = field(default_factory=dict)
    sigma_deg: float = float("nan")

    def applied(self, body: str, real: Samples) -> Samples:
        """Motion of the body in the frame of the simulation."""
        positions, attitudes = real.positions, None
        known = known_in(real)
        marker, turn = self.markers.get(body), self.turns.get(body, Rotation.identity())
        rates = real.rates
        if real.attitudes is not None:
            rotations = real.at(known).rotations
            if marker is not None:
                positions = positions.copy()
                positions[known] += rotations.apply(marker)
            attitudes = np.full((len(positions), 4), np.nan)
            attitudes[known] = wxyz_from(self.rotation * rotations * turn)
            rates = None if rates is None else rates @ turn.as_matrix()
        velocities = (
            None if real.velocities is None else real.velocities @ self.rotation.as_matrix().T
        )
        return Samples(
            positions @ self.rotation.as_matrix().T + self.translation, attitudes, velocities, rates
        )


def align(
    pairs: dict[str, tuple[Samples, Samples]],
    kind: str,
    *,
    markers: dict[str, np.ndarray] | None = None,
    fitted: Sequence[str] = (),
    certain: bool = True,
) -> Alignment:
    """Find the transform.

    Args:
        pairs: by body (simulated, real) at the same times; NaN where one is unknown.
        kind: one of :data:`KINDS`.
        markers: places that are known, by body, (3,) m.
        fitted: bodies whose marker is to be found.
        certain: refuse a turn that is not certain; False for a trial on the way to a clock.

    Raises:
        ConfigError: the motion does not determine the turn, or the place of a marker.
    """
    given = dict(markers or {})
    known = {body: _known(*pair) for body, pair in pairs.items()}
    if not any(len(s.positions) for s, _ in known.values()):
        raise ConfigError(
            f"no pose of {', '.join(pairs)} is known in both recordings at the same time. Correct "
            "--time-offset, --from or --to."
        )
    for body in (*given, *fitted):
        if body not in pairs:
            raise ConfigError(
                f"marker of {body}: there is no such body; known: {', '.join(pairs)}."
            )
        if pairs[body][1].attitudes is None:
            raise ConfigError(
                f"marker of {body}: the real recording has no attitude of it, so the direction of the marker is "
                "unknown. "
                "Leave it out, or record a rigid body of at least three markers."
            )
    for body in fitted:
        given.pop(body, None)
    found = _frames(known, kind, given, certain)
    if fitted:
        found = _with_markers(known, found, given, list(fitted))
    # the attitude of a marker cluster is a convention of whoever named it: only asked for is it taken out
    turns = {
        body: _turn(known[body], found.rotation)
        for body in fitted
        if known[body][0].attitudes is not None
    }
    return Alignment(
        kind, found.rotation, found.translation, {**given, **found.markers}, turns, found.sigma_deg
    )


def _known(sim: Samples, real: Samples) -> tuple[Samples, Samples]:
    rows = np.flatnonzero(known_in(sim) & known_in(real))
    rows = rows[:: max(1, len(rows) // MOST)]
    return sim.at(rows), real.at(rows)


def _bodies(
    known: dict[str, tuple[Samples, Samples]], markers: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """All positions (simulated, real) of the bodies' origins."""
    sim = np.concatenate([s.positions for s, _ in known.values()])
    real = np.concatenate(
        [
            r.positions + (r.rotations.apply(markers[b]) if b in markers else 0.0)
            for b, (_, r) in known.items()
        ]
    )
    return sim, real


def _frames(
    known: dict[str, tuple[Samples, Samples]],
    kind: str,
    markers: dict[str, np.ndarray],
    certain: bool,
) -> Alignment:
    sim, real = _bodies(known, markers)
    if kind == "none":
        return Alignment()
    centre_sim, centre_real = sim.mean(axis=0), real.mean(axis=0)
    a, b = sim - centre_sim, real - centre_real
    rotation, sigma = Rotation.identity(), float("nan")
    if kind == "yaw":
        spread = float(np.sqrt((b[:, :2] ** 2).sum(axis=1).mean()))
        if spread < LEAST_SPREAD:
            raise ConfigError(
                f"--align yaw: the positions spread by {1e3 * spread:.0f} mm about the vertical, "
                f"{1e3 * LEAST_SPREAD:.0f} mm "
                "are needed to find a heading. Use --align translation or --align none."
            )
        turn = np.arctan2(
            (b[:, 0] * a[:, 1] - b[:, 1] * a[:, 0]).sum(), (b[:, :2] * a[:, :2]).sum()
        )
        rotation = Rotation.from_euler("z", float(turn))
        arms = np.array([spread])
    elif kind == "rigid":
        values, vectors = np.linalg.eigh(b.T @ b / len(b))
        arms = np.sqrt([values[0] + values[1], values[0] + values[2], values[1] + values[2]])
        if arms[0] < LEAST_SPREAD:
            axis = ", ".join(f"{v:.2f}" for v in vectors[:, 2])
            raise ConfigError(
                f"--align rigid: all positions lie within {1e3 * arms[0]:.0f} mm of one line (direction {axis}), "
                "so the turn "
                f"about it is not determined ({1e3 * LEAST_SPREAD:.0f} mm are needed). Use --align yaw, "
                "translation or none."
            )
        rotation = Rotation.align_vectors(a, b)[0]
    else:
        arms = np.array([])
    residual = a - rotation.apply(b)
    if len(arms):
        # the error of a model is no white noise: one independent value per body and second, as a cautious guess
        n = max(4.0, len(b) / 100.0)
        sigma = float(np.sqrt((residual**2).mean() / n) / arms.min())
        if certain and sigma > LARGEST_SIGMA:
            raise ConfigError(
                f"--align {kind}: the turn is uncertain by {np.degrees(sigma):.1f} deg (residual "
                f"{1e3 * np.sqrt((residual**2).sum(axis=1).mean()):.0f} mm over arms of {1e3 * arms.min():.0f} "
                "mm), at most "
                f"{np.degrees(LARGEST_SIGMA):.0f} deg is allowed. Use --align yaw, translation or none."
            )
    return Alignment(
        kind, rotation, centre_sim - rotation.apply(centre_real), sigma_deg=float(np.degrees(sigma))
    )


def _with_markers(
    known: dict[str, tuple[Samples, Samples]],
    start: Alignment,
    given: dict[str, np.ndarray],
    fitted: list[str],
) -> Alignment:
    """Frames and markers together, from the frames alone."""
    sim, _ = _bodies(known, given)
    turning = {"rigid": 3, "yaw": 1}.get(start.kind, 0)
    shifting = 0 if start.kind == "none" else 3

    def unpacked(x: np.ndarray) -> Alignment:
        vector = x[:3] if turning == 3 else np.array([0.0, 0.0, x[0]]) if turning else np.zeros(3)
        shift = x[turning : turning + 3] if shifting else np.zeros(3)
        places = x[turning + shifting :].reshape(-1, 3)
        return Alignment(
            start.kind, Rotation.from_rotvec(vector) * start.rotation, shift + start.translation,
            dict(zip(fitted, places, strict=True)),
        )  # fmt: skip

    def residuals(x: np.ndarray) -> np.ndarray:
        now = unpacked(x)
        _, real = _bodies(known, {**given, **now.markers})
        return (sim - now.rotation.apply(real) - now.translation).ravel()

    solution = least_squares(residuals, np.zeros(turning + shifting + 3 * len(fitted)))
    normal = solution.jac.T @ solution.jac
    values = np.linalg.eigvalsh(normal / len(sim))
    sigma = np.full(len(solution.x), np.inf)
    if values[0] >= LEAST_EXCITED:
        # errors of a simulation vary slowly: whole stretches of a flight are what is independent, not poses
        groups = [
            np.arange(len(s.positions)) * STRETCHES // len(s.positions) for s, _ in known.values()
        ]
        stretch = np.repeat(np.concatenate(groups), 3)
        scores = np.zeros((STRETCHES, len(solution.x)))
        np.add.at(scores, stretch, solution.jac * solution.fun[:, None])
        inverse = np.linalg.inv(normal)
        sigma = np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))
    for body, s in zip(fitted, sigma[turning + shifting :].reshape(-1, 3), strict=True):
        if s.max() > LARGEST_MARKER_SIGMA:
            raise ConfigError(
                f"--fit-marker {body}: its attitude changes too little to tell the marker from the frame (uncertain by "
                f"{1e3 * min(s.max(), 9.999):.0f} mm, at most {1e3 * LARGEST_MARKER_SIGMA:.0f} mm is allowed). "
                "Give it: --marker "
                f"{body}=X,Y,Z, or fly a manoeuvre that tilts and turns it."
            )
    found = unpacked(solution.x)
    turned = float(np.degrees(sigma[:turning].max())) if turning else float("nan")
    return Alignment(start.kind, found.rotation, found.translation, found.markers, sigma_deg=turned)


def _turn(pair: tuple[Samples, Samples], rotation: Rotation) -> Rotation:
    """Mean attitude of the body in the axes of its markers."""
    sim, real = pair
    return ((rotation * real.rotations).inv() * sim.rotations).mean()
