"""Differential dynamic programming over the exact derivatives of a world, with bounds on the inputs.

Every period is linearized (:class:`rotor_dynamics.sensitivities.shooting.Shooting`), costs are sums of squares
(Gauss and Newton), inputs stay within bounds (Tassa, Mansard and Todorov, ICRA 2014), and what must hold at nodes is
brought there by an augmented Lagrangian (Howell, Jackson and Manchester, IROS 2019: ALTRO). Because every iterate is a
flight of the world, it goes through snaps as the world does. Equations (P.20)-(P.23), docs/theory/planning.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rotor_core.errors import ContractError, SolverError
from rotor_dynamics.sensitivities.shooting import Periods, Shooting
from rotor_flight.optimal.inputs import Inputs

World = tuple[np.ndarray, np.ndarray]
"""Integers and numbers of a world."""

STEPS = tuple(0.5**i for i in range(11))
"""Shares of a step that the line search tries."""

SMALLEST_SHARE = 1e-4
"""Of the decrease that a quadratic model promises: less is no progress."""

LARGEST_CHANGE = 0.2
"""Of the length of a leg in one step."""

FALLS = 0.1
"""Share of a violation that a round must leave at most, or its penalty grows."""

STIFFEST = 1e6
"""Largest penalty: beyond, rounding decides."""

MIN_DAMPING, MAX_DAMPING, FACTOR = 1e-8, 1e8, 4.0
"""Regularization of the inputs' Hessian, relative to its diagonal."""

CONVERGED = 1e-4
"""A round ends below this relative decrease."""

TIGHTER = 5.0
"""Factor of the penalties from round to round."""


class Term:
    """Part of a cost at a node: half the square of its residual; or a constraint, where it is one."""

    is_constraint: bool = False
    """True if it must be zero, or not positive."""
    is_inequality: bool = False
    """True if it may be negative."""

    def residual(self, node: Node) -> np.ndarray:
        """Residual, (r,); of an inequality it must not be positive."""
        raise NotImplementedError

    def slopes(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """Its derivatives with coordinates (r, n) and inputs (r, m) of the period that begins here."""
        raise NotImplementedError


@dataclass
class Node:
    """A node of a trajectory, as terms see it.

    Attributes:
        number: from 0; the last one has no inputs.
        shooting: the world.
        state: of the bodies, (n_bodies, 13).
        inputs: of the period that begins here, (m,); zero at the end.
        tensions: at the end of that period, (n_cables,) N.
        pulls: their derivatives with coordinates (and lengths of legs) and inputs, where they are known.
        length: of that period, s.
        winches: length and rate of each, (n_winches, 2) m and m/s.
    """

    number: int
    shooting: Shooting
    state: np.ndarray
    inputs: np.ndarray
    tensions: np.ndarray
    pulls: tuple[np.ndarray, np.ndarray] | None = None
    length: float = 0.0
    winches: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))


@dataclass
class Multiplier:
    """A constraint at a node with its multiplier and penalty."""

    term: Term
    value: np.ndarray | None = None
    penalty: float = 1.0
    violation: float = np.inf


@dataclass(frozen=True)
class Trajectory:
    """A flight of the world under inputs.

    Attributes:
        nodes: worlds at the starts of all periods, and at the end.
        inputs: (N, m).
        lengths: of a period of every leg, (n_legs,) s.
    """

    nodes: list[World]
    inputs: np.ndarray
    lengths: np.ndarray


@dataclass
class Solution:
    """Result of an optimization.

    Attributes:
        trajectory: the best flight.
        gains: feedback ``u = inputs + gains (x - nodes)``, (N, m, n), without lengths of legs.
        cost: without penalties.
        violation: largest of all constraints.
        iterations: of all rounds.
        doubted: periods in which an event hung by a thread at the end.
    """

    trajectory: Trajectory
    gains: np.ndarray
    cost: float
    violation: float
    iterations: int
    doubted: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))


class Problem:
    """Cost, constraints and dynamics that are minimized over.

    Args:
        shooting: the world.
        terms: at every node, N + 1 lists; constraints among them.
        inputs: thrusts of rotors and accelerations of winches, within their bounds.
        legs: leg of every period, (N,); periods of a leg last equally long.
        shortest: least length of a period of every leg, (n_legs,) s.
        haste: cost of a second of the flight; 0: lengths stay as they are.
    """

    def __init__(
        self,
        shooting: Shooting,
        terms: Sequence[Sequence[Term]],
        inputs: Inputs,
        *,
        legs: np.ndarray | None = None,
        shortest: np.ndarray | None = None,
        haste: float = 0.0,
    ) -> None:
        self.shooting, self.inputs = shooting, inputs
        self.legs = np.zeros(len(terms) - 1, int) if legs is None else legs
        self.n_legs = int(self.legs.max()) + 1
        self.shortest = np.full(self.n_legs, 1e-3) if shortest is None else shortest
        self.haste = haste
        self.n_all = shooting.n + self.n_legs
        """Coordinates of the state and lengths of legs."""
        self.costs = [[t for t in at if not t.is_constraint] for at in terms]
        self.constraints = [[Multiplier(t) for t in at if t.is_constraint] for at in terms]

    def fly(
        self, choose: Callable[[int, World], np.ndarray], lengths: np.ndarray
    ) -> Trajectory | None:
        """Flight under a policy with periods of these lengths; None where the engine cannot go on."""
        nodes, inputs = [self.shooting.start], np.empty((len(self.legs), len(self.inputs.lower)))
        steps = self.steps(lengths)
        for k in range(len(self.legs)):
            inputs[k] = np.clip(choose(k, nodes[k]), self.inputs.lower, self.inputs.upper)
            try:
                nodes.append(
                    self.shooting.period(
                        *nodes[k], self.inputs.of_world(inputs[k]), float(steps[k])
                    )
                )
            except SolverError:
                return None
        return Trajectory(nodes, inputs, lengths)

    def steps(self, lengths: np.ndarray) -> np.ndarray:
        """Length of the steps of every period, (N,) s."""
        return lengths[self.legs] / self.shooting.steps

    def node(self, trajectory: Trajectory, k: int, periods: Periods | None = None) -> Node:
        """A node as terms see it."""
        last = k == len(trajectory.inputs)
        floats = trajectory.nodes[k][1]
        inputs = np.zeros(len(self.inputs.lower)) if last else trajectory.inputs[k]
        after = trajectory.nodes[k if last else k + 1][1]
        pulls = None
        if periods is not None and not last:
            along = np.zeros((len(periods.F[k]), self.n_legs))
            along[:, self.legs[k]] = periods.F[k] / self.shooting.steps
            pulls = np.hstack([periods.C[k], along]), periods.D[k] @ self.inputs.mixing
        return Node(
            k, self.shooting, self.shooting.state(floats), inputs, self.shooting.tensions(after), pulls,
            0.0 if last else float(trajectory.lengths[self.legs[k]]), self.shooting.winding(floats),
        )  # fmt: skip

    def cost(self, trajectory: Trajectory) -> tuple[float, float]:
        """Cost with penalties, and without."""
        plain = self.haste * float(trajectory.lengths[self.legs].sum())
        penalties = 0.0
        for k in range(len(trajectory.nodes)):
            node = self.node(trajectory, k)
            plain += sum(0.5 * float(np.sum(t.residual(node) ** 2)) for t in self.costs[k])
            penalties += sum(
                0.5 * float(np.sum(_penalized(c, c.term.residual(node))[0] ** 2))
                for c in self.constraints[k]
            )
        return plain + penalties, plain

    def violation(self, trajectory: Trajectory) -> float:
        """Largest violation of a constraint."""
        worst = 0.0
        for k, constraints in enumerate(self.constraints):
            node = self.node(trajectory, k)
            for c in constraints:
                r = c.term.residual(node)
                worst = max(
                    worst, float(np.max(r if c.term.is_inequality else np.abs(r), initial=0.0))
                )
        return worst

    def tighten(self, trajectory: Trajectory, factor: float) -> None:
        """Multipliers of the next round (P.23)."""
        for k, constraints in enumerate(self.constraints):
            node = self.node(trajectory, k)
            for c in constraints:
                r = c.term.residual(node)
                value = c.penalty * r + (0.0 if c.value is None else c.value)
                c.value = np.maximum(value, 0.0) if c.term.is_inequality else value
                violation = float(np.max(r if c.term.is_inequality else np.abs(r), initial=0.0))
                if violation > FALLS * c.violation:  # multipliers alone do not bring it down
                    c.penalty = min(c.penalty * factor, STIFFEST)
                c.violation = violation


def _penalized(constraint: Multiplier, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residual of the augmented Lagrangian whose half square is minimized, and where it acts (P.22)."""
    root = np.sqrt(constraint.penalty)
    shifted = r if constraint.value is None else r + constraint.value / constraint.penalty
    acts = shifted > 0.0 if constraint.term.is_inequality else np.ones(len(r), bool)
    return root * np.where(acts, shifted, 0.0), root * acts


def _expansion(problem: Problem, node: Node) -> tuple[np.ndarray, ...]:
    """Gradient and Gauss-Newton Hessian of the cost at a node (P.20)."""
    n, m = problem.n_all, len(problem.inputs.lower)
    lx, lu = np.zeros(n), np.zeros(m)
    lxx, luu, lux = np.zeros((n, n)), np.zeros((m, m)), np.zeros((m, n))
    if problem.haste and node.number < len(problem.legs):  # half the square of sqrt(2 haste h)
        at = problem.shooting.n + problem.legs[node.number]
        lx[at] += problem.haste
        lxx[at, at] += 0.5 * problem.haste / node.length
    parts = [(t, None) for t in problem.costs[node.number]]
    parts += [(c.term, c) for c in problem.constraints[node.number]]
    for term, constraint in parts:
        r, scale = term.residual(node), None
        if constraint is not None:
            r, scale = _penalized(constraint, r)
            if not scale.any():
                continue
        jx, ju = term.slopes(node)
        if scale is not None:
            jx, ju = scale[:, None] * jx, scale[:, None] * ju
        known = jx.shape[1]  # lengths of legs come last, and few terms know them
        lx[:known] += jx.T @ r
        lu += ju.T @ r
        lxx[:known, :known] += jx.T @ jx
        luu += ju.T @ ju
        lux[:, :known] += ju.T @ jx
    return lx, lu, lxx, luu, lux


def bounded_step(
    H: np.ndarray, g: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minimum of ``g x + x H x / 2`` within bounds about zero, and which of its entries are free.

    By projected Newton steps (Bertsekas 1982; Tassa 2014).
    """
    x = trial = np.clip(np.zeros(len(g)), lower, upper)
    free = np.ones(len(g), bool)
    for _ in range(50):
        slope = g + H @ x
        held = ((x <= lower) & (slope > 0.0)) | ((x >= upper) & (slope < 0.0))
        free = ~held
        if not free.any() or np.abs(slope[free]).max() < 1e-10 * (1.0 + np.abs(g).max()):
            break
        step = np.zeros(len(g))
        step[free] = -np.linalg.solve(H[np.ix_(free, free)], slope[free])
        for share in STEPS:
            trial = np.clip(x + share * step, lower, upper)
            value = g @ trial + 0.5 * trial @ H @ trial
            if value <= g @ x + 0.5 * x @ H @ x + 0.1 * slope @ (trial - x):
                break
        if np.abs(trial - x).max() < 1e-14:
            break
        x = trial
    return x, free


def _policy(
    H: np.ndarray, g: np.ndarray, Hx: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minimum of ``g u + u H u / 2`` within bounds about zero, and how it moves with x, where g moves by ``Hx x``.

    Raises:
        LinAlgError: there is none.
    """
    both = np.linalg.solve(H, np.column_stack([g, Hx]))
    step, K = -both[:, 0], -both[:, 1:]
    if (step > lower).all() and (step < upper).all():
        return step, K
    step, free = bounded_step(H, g, lower, upper)
    K = np.zeros(Hx.shape)
    if free.any():
        K[free] = -np.linalg.solve(H[np.ix_(free, free)], Hx[free])
    return step, K


def backward(
    problem: Problem, trajectory: Trajectory, periods: Periods, damping: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float] | None:
    """Steps and feedback of all periods, changes of lengths, and the decrease they promise (P.21).

    None where the damping is too small.
    """
    count, n, m = len(trajectory.inputs), problem.n_all, len(problem.inputs.lower)
    n_states = problem.shooting.n
    k_all, K_all, promise = np.zeros((count, m)), np.zeros((count, m, n)), 0.0
    lx, _, lxx, _, _ = _expansion(problem, problem.node(trajectory, count))
    Vx, Vxx = lx, lxx
    for k in reversed(range(count)):
        lx, lu, lxx, luu, lux = _expansion(problem, problem.node(trajectory, k, periods))
        A, B = np.eye(n), np.zeros((n, m))
        A[:n_states, :n_states], B[:n_states] = periods.A[k], periods.B[k] @ problem.inputs.mixing
        A[:n_states, n_states + problem.legs[k]] = periods.E[k] / problem.shooting.steps
        VA = Vxx @ A
        Qx, Qu = lx + A.T @ Vx, lu + B.T @ Vx
        Qxx, Quu, Qux = lxx + A.T @ VA, luu + B.T @ Vxx @ B, lux + B.T @ VA
        damped = Quu + damping * np.diag(np.maximum(np.diag(Quu), 1e-9))
        lower, upper = (
            problem.inputs.lower - trajectory.inputs[k],
            problem.inputs.upper - trajectory.inputs[k],
        )
        try:
            step, K = _policy(damped, Qu, Qux, lower, upper)
        except np.linalg.LinAlgError:
            return None
        k_all[k], K_all[k] = step, K
        promise -= float(Qu @ step + 0.5 * step @ Quu @ step)
        Vx = Qx + K.T @ (Quu @ step + Qu) + Qux.T @ step
        Vxx = Qxx + K.T @ (Quu @ K + Qux) + Qux.T @ K
        Vxx = 0.5 * (Vxx + Vxx.T)
        if not np.isfinite(Vxx).all():
            return None
    change = np.zeros(problem.n_legs)
    if problem.haste:
        g, H = Vx[n_states:], Vxx[n_states:, n_states:]
        H = H + damping * np.diag(np.maximum(np.diag(H), 1e-9))
        room = problem.shortest - trajectory.lengths
        try:
            change, _ = bounded_step(H, g, np.maximum(room, -LARGEST_CHANGE * trajectory.lengths),
                                     LARGEST_CHANGE * trajectory.lengths)  # fmt: skip
        except np.linalg.LinAlgError:
            return None
        promise -= float(g @ change + 0.5 * change @ Vxx[n_states:, n_states:] @ change)
    return k_all, K_all, change, promise


def optimize(
    problem: Problem,
    guess: Callable[[int, World], np.ndarray],
    lengths: np.ndarray,
    *,
    iterations: int = 100,
    rounds: int = 8,
    tolerance: float = 1e-3,
    report: Callable[[int, float, float, float], None] | None = None,
) -> Solution:
    """Minimize from a first guess.

    Args:
        problem: cost, constraints, bounds.
        guess: policy of the first flight: period and world to inputs.
        lengths: of a period of every leg at first, (n_legs,) s.
        iterations: at most, in every round.
        rounds: of the augmented Lagrangian, at most.
        tolerance: of all constraints.
        report: called with iteration, cost, violation and damping.

    Raises:
        SolverError: the engine cannot follow the first guess.
        ContractError: things overlap on it.
    """
    count = len(problem.legs)
    trajectory = problem.fly(guess, lengths)
    if trajectory is None:
        raise SolverError(
            "optimize: the engine cannot follow the first guess.", time=0.0, state=np.zeros(0)
        )
    if not np.isfinite(problem.cost(trajectory)[0]):
        raise ContractError(
            "optimize: things overlap on the first guess, from where no direction leads out. Begin along a trajectory "
            "that keeps clear (guess: trajectory, clearance_m of the scenario's), or more slowly (duration_s)."
        )
    gains = np.zeros((count, len(problem.inputs.lower), problem.n_all))
    done, damping = 0, 1e-6
    periods: Periods | None = None
    for round_ in range(rounds):
        total = new_total = problem.cost(trajectory)[0]
        for _ in range(iterations):
            periods = problem.shooting.linearize(
                trajectory.nodes[:-1],
                problem.inputs.of_world(trajectory.inputs),
                problem.steps(trajectory.lengths),
            )
            accepted = False
            while damping < MAX_DAMPING:
                found = backward(problem, trajectory, periods, damping)
                if found is None:
                    damping = max(damping * FACTOR, 1e-6)
                    continue
                steps, gains_now, change, promise = found
                if promise <= CONVERGED * max(abs(total), 1e-9) * 1e-3:
                    gains = gains_now
                    break
                better = search(problem, trajectory, steps, gains_now, change, total, promise)
                if better is not None:
                    trajectory, new_total = better
                    accepted, gains = True, gains_now
                    damping = max(damping / FACTOR, MIN_DAMPING)
                    break
                damping = max(damping * FACTOR, 1e-6)
            done += 1
            if not accepted:
                break
            decrease, total = total - new_total, new_total
            if report is not None:
                report(done, total, problem.violation(trajectory), damping)
            if decrease < CONVERGED * max(abs(total), 1e-9):
                break
        damping = min(damping, 1.0)
        if problem.violation(trajectory) <= tolerance:
            break
        if round_ < rounds - 1:
            problem.tighten(trajectory, TIGHTER)
    doubted = np.zeros(0, bool) if periods is None else periods.doubted
    _, plain = problem.cost(trajectory)
    gains = gains[:, :, : problem.shooting.n]
    return Solution(trajectory, gains, plain, problem.violation(trajectory), done, doubted)


def search(
    problem: Problem,
    trajectory: Trajectory,
    steps: np.ndarray,
    gains: np.ndarray,
    change: np.ndarray,
    total: float,
    promise: float,
    shares: Sequence[float] = STEPS,
) -> tuple[Trajectory, float] | None:
    """First trial along the steps of :func:`backward` that decreases the cost as promised, and its cost.

    Args:
        problem: cost and bounds.
        trajectory: from where.
        steps, gains, change, promise: as of :func:`backward`; of a promise of zero any decrease is enough.
        total: cost there.
        shares: of the steps, to be tried in this order.
    """
    for share in shares:

        def policy(k: int, world: World, share: float = share) -> np.ndarray:
            apart = problem.shooting.difference(world[1], trajectory.nodes[k][1])
            return (
                trajectory.inputs[k]
                + share * steps[k]
                + gains[k] @ np.append(apart, share * change)
            )

        trial = problem.fly(
            policy, np.maximum(trajectory.lengths + share * change, problem.shortest)
        )
        if trial is None:
            continue
        value, _ = problem.cost(trial)
        if np.isfinite(value) and total - value > SMALLEST_SHARE * share * promise:
            return trial, value
    return None
