"""Shape of a heavy cable that hangs at rest between two points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from transforms3d.quaternions import quat2mat

from rotor_core.errors import ModelError
from rotor_core.state import State
from rotor_dynamics.model.cable import INITIAL_GAP
from rotor_dynamics.model.strand import Strand
from rotor_dynamics.model.system import WORLD, System

STRAIGHT = 1e-9
"""A cable whose ends are that near to its length apart, in that length, is laid straight."""

TURNS = (1e-9, 1e-6)
"""Shares of the weight of the cable below which a piece may be shorter than it is, when a shape at rest is looked for:
the first leaves pieces their length to rounding, the second is found more easily."""

MISS = 1e-10
"""A shape at rest was found if its pieces join its ends within this share of its length."""

ROUNDS = 6
"""Times that masses are laid on the floor until none is below."""

LOOKS = (200, 5000)
"""Shapes that a search for lengths tries: some 50 are enough for most; after the first number, one over the floor is
looked for, the last way."""

RAISED = 0.01
"""Height over the floor from which a shape that touches it is looked for, in lengths of the cable."""

CLOSE = 1e-12
"""Pieces of a shape may miss their length by this, m; steps of a search that are smaller than this share of the places
end it: it converges with the square."""

SETTLED = 1e-15
"""A search for lengths ends where no place changes the sum of their squares by more, m."""


def hanging(
    start: np.ndarray, end: np.ndarray, lengths: np.ndarray, weight: float, floor: float = -np.inf
) -> np.ndarray:
    """Places of the masses between the pieces of a heavy cable at rest, (n - 1, 3) m; (S.2).

    Every mass is in balance: the tensions of one piece and the next differ by its weight. The tension of the first
    piece is found so that the pieces end where they should. Where no balance is (what lies on the floor, or hangs in a
    loop with one end straight below the other) the pieces keep their lengths in a bend to the side.

    Args:
        start, end: of the cable, (3,) m in W.
        lengths: of its pieces, (n,) m.
        weight: of every mass, N.
        floor: lowest height of a mass, m.

    Raises:
        ModelError: the ends are farther apart than the cable is long, or no shape was found.
    """
    chord, length = end - start, float(lengths.sum())
    apart = float(np.linalg.norm(chord))
    if apart > length + INITIAL_GAP:
        raise ModelError(f"its ends are {apart:.9g} m apart, but it is only {length:g} m long.")
    if apart >= length * (1.0 - STRAIGHT):
        return straight(start, end, lengths)
    places = _in_balance(start, end, lengths, weight or 1.0)  # without gravity any shape rests
    places[:, 2] = np.maximum(places[:, 2], floor)
    if np.abs(_excess(places, start, end, lengths)).max() <= CLOSE:
        return places
    return _closed(_bent(places, start, end, lengths), start, end, lengths, floor)


def _in_balance(
    start: np.ndarray, end: np.ndarray, lengths: np.ndarray, weight: float
) -> np.ndarray:
    """The shape in balance; lightly loaded pieces may be too short."""
    chord, length = end - start, float(lengths.sum())
    rising = weight * np.arange(len(lengths))[:, None] * [0.0, 0.0, 1.0]
    total = weight * len(lengths)

    def parts(first: np.ndarray, turn: float) -> np.ndarray:
        tensions = first + rising
        sizes = np.sqrt(np.sum(tensions**2, axis=1) + (turn * total) ** 2)
        return lengths[:, None] * tensions / sizes[:, None]

    across = np.linalg.norm(chord[:2])
    aside = chord[:2] if across > 0.01 * length else np.array([0.01 * length, 0.0])
    guess = total * np.array([*aside / length, 0.5 * chord[2] / length - 0.5])
    first, turn = guess, TURNS[-1]
    for turn in TURNS:
        first = scipy.optimize.root(
            lambda x, t=turn: parts(x, t).sum(axis=0) - chord, guess, tol=1e-14
        ).x
        if np.linalg.norm(parts(first, turn).sum(axis=0) - chord) <= MISS * length:
            break
    return start + np.cumsum(parts(first, turn), axis=0)[:-1]


def _pieces(places: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    return np.diff(np.vstack([start, places, end]), axis=0)


def _excess(
    places: np.ndarray, start: np.ndarray, end: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """How much longer the pieces are than they should be, (n,) m, to first order."""
    return 0.5 * (np.sum(_pieces(places, start, end) ** 2, axis=1) - lengths**2) / lengths


def _slopes(along: np.ndarray) -> np.ndarray:
    """How pieces get longer with the places between them, (n, 3 (n - 1)): along rows of ``along``, (n, 3)."""
    n = len(along) - 1
    out = np.zeros((n + 1, n, 3))
    rows = np.arange(n)
    out[rows, rows], out[rows + 1, rows] = along[:-1], -along[1:]
    return out.reshape(n + 1, -1)


def _bent(
    places: np.ndarray, start: np.ndarray, end: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Short pieces lengthened by a bend to the side: half of them lead out, half back."""
    chord = end - start
    side = np.array([-chord[1], chord[0], 0.0])
    side = side / np.linalg.norm(side) if np.linalg.norm(side) > 0.0 else np.array([0.0, 1.0, 0.0])
    missing = lengths**2 - np.sum(_pieces(places, start, end) ** 2, axis=1)
    steps = np.sqrt(np.maximum(missing, 0.0))
    back = np.cumsum(steps) > 0.5 * steps.sum()
    offset = np.cumsum(np.where(back, -steps, steps))[:-1]
    return places + offset[:, None] * side


def _closed(
    guess: np.ndarray, start: np.ndarray, end: np.ndarray, lengths: np.ndarray, floor: float
) -> np.ndarray:
    """The shape near a guess whose pieces have their lengths; masses that would be below the floor lie on it.

    Raises:
        ModelError: there is none near it.
    """
    places = guess.copy()
    for _ in range(ROUNDS):
        lies = places[:, 2] <= floor + CLOSE
        places[lies, 2] = floor
        free = np.ones(places.shape, bool)
        free[lies, 2] = False

        found = _solved(places, free, start, end, lengths, LOOKS[0])
        places[free] = found.x
        if np.abs(found.fun).max() > 0.1 * INITIAL_GAP:
            break  # those that lie take too much room
        if places[:, 2].min(initial=np.inf) >= floor - CLOSE:
            return places
    # some hang so low that they cannot lie there either
    lowest = np.full(guess.shape, -np.inf)
    lowest[:, 2] = floor
    raised = np.maximum(guess, lowest + RAISED * lengths.sum())
    free = np.ones(raised.shape, bool)
    found = _solved(raised, free, start, end, lengths, LOOKS[1], lowest.ravel())
    if np.abs(found.fun).max() > 0.1 * INITIAL_GAP:
        raise ModelError(f"no shape at rest was found from {start.tolist()} to {end.tolist()}.")
    return found.x.reshape(-1, 3)


def _solved(
    guess: np.ndarray,
    free: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    lengths: np.ndarray,
    looks: int,
    lowest: np.ndarray | float = -np.inf,
) -> scipy.optimize.OptimizeResult:
    """The least squares of the excess of pieces, in those coordinates of places that are free, from a guess."""

    def at(x: np.ndarray) -> np.ndarray:
        places = guess.copy()
        places[free] = x
        return places

    return scipy.optimize.least_squares(
        lambda x: _excess(at(x), start, end, lengths),
        guess[free],
        lambda x: _slopes(_pieces(at(x), start, end) / lengths[:, None])[:, free.ravel()],
        bounds=(lowest, np.inf),
        xtol=CLOSE,
        ftol=None,
        gtol=SETTLED,
        max_nfev=looks,
    )


def straight(start: np.ndarray, end: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Places of the masses on the straight line between the ends, (n - 1, 3) m; arguments as of :func:`hanging`."""
    return start + np.cumsum(lengths)[:-1, None] / lengths.sum() * (end - start)


def masses_of(system: System) -> list[int]:
    """Indices of the masses of all heavy cables."""
    return [body for strand in system.strands for body in strand.bodies]


def lay_strands(
    system: System,
    states: np.ndarray,
    floor: float = -np.inf,
    *,
    only: Sequence[Strand] | None = None,
    strict: bool = True,
) -> None:
    """Write states of the masses of heavy cables: a shape at rest between their ends, moving with them (S.2).

    Args:
        system: with the cables.
        states: of all its members, (n, >= 13); those of the masses are written.
        floor: lowest height of a cable, m.
        only: which heavy cables; default all.
        strict: False: a cable that is too short is drawn out instead of refused.

    Raises:
        ModelError: a cable is shorter than its ends are apart.
    """
    for strand in system.strands if only is None else only:
        lengths = np.array([system.cables[k].length for k in strand.chain])
        (start, v_start), (end, v_end) = ends_of(system, strand, states)
        weight = system.gravity * system.bodies[strand.bodies[0]].mass
        try:
            places = hanging(start, end, lengths, weight, floor + strand.radius)
        except ModelError as error:
            if strict:
                raise ModelError(f"cable{strand.cable + 1}: {error}") from error
            places = straight(start, end, lengths)
        share = (np.cumsum(lengths)[:-1] / lengths.sum())[:, None]
        guess = v_start + share * (v_end - v_start)
        _write(states, strand, places, guess + _steady(places, guess, start, end, v_start, v_end))


def hang_down(system: System, strand: Strand, states: np.ndarray) -> None:
    """Write states of the masses of a heavy cable that was cut at its end a: straight down from its end b, at rest."""
    lengths = np.array([system.cables[k].length for k in strand.pieces])[::-1]
    _, (end, v_end) = ends_of(system, strand, states)
    places = end - np.cumsum(lengths)[::-1, None] * [0.0, 0.0, 1.0]
    _write(states, strand, places, np.broadcast_to(v_end, places.shape))


def ends_of(
    system: System, strand: Strand, states: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Place and velocity in W, (3,) m and m/s each, of both ends of a heavy cable in states of all members."""
    first, last = system.cables[strand.chain[0]], system.cables[strand.chain[-1]]
    return _point(states, first.a, first.r_a), _point(states, last.b, last.r_b)


def _write(states: np.ndarray, strand: Strand, places: np.ndarray, velocities: np.ndarray) -> None:
    rows = np.zeros((len(places), 13))
    rows[:, 3] = 1.0
    written = State(rows)
    written.position[:], written.velocity[:] = places, velocities
    states[list(strand.bodies), :13] = rows


def _steady(
    places: np.ndarray,
    speeds: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    v_start: np.ndarray,
    v_end: np.ndarray,
) -> np.ndarray:
    """The smallest change of the masses' velocities (n, 3) that leaves pieces their lengths, as far as one can."""
    pieces = _pieces(places, start, end)
    along = pieces / np.linalg.norm(pieces, axis=1, keepdims=True)
    rates = np.sum(along * np.diff(np.vstack([v_start, speeds, v_end]), axis=0), axis=1)
    return np.linalg.lstsq(_slopes(along), -rates, rcond=1e-9)[0].reshape(places.shape)


def _point(states: np.ndarray, body: int, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Place and velocity of a point of a member in W."""
    if body == WORLD:
        return np.asarray(r, float), np.zeros(3)
    state = State(states[body, :13])
    R = quat2mat(state.attitude)
    return state.position + R @ r, state.velocity + R @ np.cross(state.body_rate, r)
