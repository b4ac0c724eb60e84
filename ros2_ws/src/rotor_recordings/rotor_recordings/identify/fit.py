"""Least squares over rollouts: estimates, confidence intervals, and a check on windows that were held back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import norm
from scipy.stats import t as student

from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError
from rotor_recordings.identify.parameters import LATENCY, Parameter, applied, with_values
from rotor_recordings.identify.rollouts import prediction_residuals
from rotor_recordings.identify.slopes import has_slopes, prediction_slopes
from rotor_recordings.identify.starts import Starts
from rotor_recordings.identify.windows import Windows

DIFFERENCE = 1e-2
"""Finite differences over the scale of a parameter, where there are no exact slopes."""

CONFIDENCE = 0.95
WORST_CONDITION = 1e6
"""Of the scaled normal equations; beyond it the flight does not tell the parameters apart."""

NO_EFFECT = 1e-9
"""A parameter that moves predictions by less than this over its scale does nothing, m (rms)."""

MIXED = 0.1
"""Share of the weakest direction from which on a parameter is named with another."""

COST = 1e-6
"""Relative gain of the cost at which a search ends: estimates are then within a hundredth of their intervals."""

LIMIT = 1e-3
"""Nearer than this to an end of the search, over its scale, a parameter has been stopped there."""

MOST = 30
"""Evaluations of the residuals, each with its Jacobian."""

ROBUST = 0.05
"""Predictions that miss by more than this count less than their square, m."""

ROUNDS, SETTLED = 8, 0.05
"""Times that parameters and first states are fitted in turn, at most, and the share of their intervals by which the
parameters move when that ends."""


@dataclass(frozen=True)
class Estimate:
    """One parameter: value and interval of :data:`CONFIDENCE`."""

    parameter: Parameter
    value: float
    low: float
    high: float

    @property
    def is_told(self) -> bool:
        """The interval is narrower than what a search would try at first: the flight says something."""
        narrow = 0.5 * (self.high - self.low) < self.parameter.scale
        return narrow and not self.is_at_limit

    @property
    def is_at_limit(self) -> bool:
        """The search ended where it was not allowed to go on, but for a latency of zero."""
        p = self.parameter
        near = LIMIT * p.scale
        at_zero = p.name == LATENCY and self.value < p.low + near
        return not at_zero and not p.low + near < self.value < p.high - near


@dataclass(frozen=True)
class Untold:
    """A parameter that a flight cannot tell, and why; it stays as it was."""

    parameter: Parameter
    reason: str


@dataclass(frozen=True)
class Identified:
    """Parameters identified from a flight.

    Attributes:
        estimates: in the order of the parameters.
        untold: parameters that were left as they were, because the flight cannot tell them.
        scenario: the nominal one with the estimates (but the latency) put in.
        fit_before, fit_after: root mean square of the predictions' errors over the fitted windows, m.
        check_before, check_after: the same over windows that were held back, m.
    """

    estimates: tuple[Estimate, ...]
    untold: tuple[Untold, ...]
    scenario: Scenario
    fit_before: float
    fit_after: float
    check_before: float
    check_after: float


class _Problem:
    """Residuals of windows over parameters in their scales: 1 is the nominal value, and steps are relative to that.

    Args:
        starts: of the windows, about the first states as they are.
        parameters: to be found.
        values: of the parameters, from which to start.
    """

    def __init__(self, starts: Starts, parameters: list[Parameter], values: np.ndarray) -> None:
        self.starts, self.windows, self.parameters = starts, starts.windows, parameters
        self.scales = np.array([p.scale for p in parameters])
        self.nominal = np.array([p.nominal for p in parameters])
        self.low = 1.0 + np.array([(p.low - p.nominal) / p.scale for p in parameters])
        self.high = 1.0 + np.array([(p.high - p.nominal) / p.scale for p in parameters])
        self._last: tuple[bytes, np.ndarray] | None = None
        first = 1.0 + (values - self.nominal) / self.scales
        self.start = np.clip(first, self.low + 1e-6, self.high - 1e-6)

    def values(self, x: np.ndarray) -> np.ndarray:
        return self.nominal + self.scales * (x - 1.0)

    def missed(self, x: np.ndarray) -> np.ndarray:
        there = applied(self.windows.scenario, self.parameters, self.values(x))
        return prediction_residuals(self.windows, *there)

    def residuals(self, x: np.ndarray) -> np.ndarray:
        return self.starts.residuals(self.missed(x))

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """Jacobian of the residuals; the last one is remembered."""
        if self._last is None or self._last[0] != x.tobytes():
            exact = prediction_slopes(self.windows, self.parameters, self.values(x))
            self._last = x.tobytes(), self.starts.slopes(exact) * self.scales
        return self._last[1].copy()

    def solve(self, most: int):
        """Least squares with at most so many evaluations; with one the result holds the slopes at the start."""
        return least_squares(
            self.residuals, self.start, self.slopes if has_slopes(self.windows.scenario) else "2-point",
            bounds=(self.low, self.high), diff_step=DIFFERENCE, x_scale="jac", loss="soft_l1",
            f_scale=ROBUST / self.starts.unit,
            max_nfev=most, ftol=COST,
        )  # fmt: skip


def _untold(J: np.ndarray, unit: float, parameters: list[Parameter]) -> tuple[int, str] | None:
    """The parameter that a flight with these slopes (in units, m) tells least, and why; None: it tells all."""
    sizes = unit * np.sqrt(np.mean(J**2, axis=0))
    least = int(sizes.argmin())
    if sizes[least] < NO_EFFECT:
        return least, "has no effect on this flight"
    _, singular, directions = np.linalg.svd(J, full_matrices=False)
    if singular[-1] * WORST_CONDITION >= singular[0]:
        return None
    mixed = np.argsort(-np.abs(directions[-1]))
    others = [parameters[i].name for i in mixed[1:] if abs(directions[-1][i]) > MIXED]
    return int(mixed[0]), f"cannot be told apart from {', '.join(others) or 'the others'}"


def identify(windows: Windows, parameters: list[Parameter]) -> Identified:
    """Estimate parameters from every other window of a flight; what it cannot tell is left as it was, and named.

    The first states of the windows are estimated with them, held near what was told by its noise
    (:mod:`rotor_recordings.identify.starts`). Intervals are those of the noise, or of how much the windows differ where
    that is more: what a model leaves out belongs together in a window, so that windows, not residuals, count (Liang and
    Zeger 1986; Student's t with their number less that of the parameters).

    Raises:
        ConfigError: there are too few windows, or they tell none of the parameters.
    """
    fit, check = windows.halves()
    kept, untold = list(parameters), []
    nominal = values = np.array([p.nominal for p in kept])
    first = starts = Starts(fit, *applied(windows.scenario, kept, values))
    rounds = 0
    while True:
        problem, solution, told = _solved(starts, kept, values, untold)
        change = np.abs(problem.values(solution.x) - values[told])
        kept, values = [kept[row] for row in told], problem.values(solution.x)
        half = _half_widths(problem, solution, len(fit.rows))
        there = applied(windows.scenario, kept, values)
        begun = fit.begun_at(starts.best(problem.missed(solution.x)))
        starts = Starts(begun, *there, like=starts if (change <= half).all() else None)
        rounds += 1
        if rounds == ROUNDS or not begun.changes.any() or (change <= SETTLED * half).all():
            break
    estimates = tuple(
        Estimate(p, float(v), float(v - h), float(v + h))
        for p, v, h in zip(kept, values, half, strict=True)
    )
    lasting = [e for e in estimates if e.parameter.name != LATENCY]
    scenario = with_values(
        windows.scenario, [e.parameter for e in lasting], np.array([e.value for e in lasting])
    )
    before = applied(windows.scenario, list(parameters), nominal)
    return Identified(
        estimates, tuple(untold), scenario, _size(first, *before), _size(starts, *there),
        _size(Starts(check, *before), *before), _size(Starts(check, *there), *there),
    )  # fmt: skip


def _solved(starts: Starts, parameters: list[Parameter], values: np.ndarray, untold: list[Untold]):
    """The problem, its solution, and the rows of the parameters that windows tell; the others go to ``untold``.

    Raises:
        ConfigError: there are too few windows, or they tell none of the parameters.
    """
    told, windows = list(range(len(parameters))), len(starts.windows.rows)
    problem = _Problem(starts, parameters, values)
    J = problem.solve(1).jac
    while True:
        while found := _untold(J, starts.unit, problem.parameters):
            row, reason = found
            untold.append(Untold(parameters[told.pop(row)], reason))
            if not told:
                names = ", ".join(u.parameter.name for u in untold)
                raise ConfigError(f"the flight tells none of {names}. Fly a livelier manoeuvre.")
            J = np.delete(J, row, axis=1)
            problem = _Problem(starts, [parameters[row] for row in told], values[told])
        if windows - len(told) < 3:
            raise ConfigError(
                f"{windows} windows cannot determine {len(told)} parameters. Fly longer, use a shorter "
                "--horizon, or fit fewer parameters."
            )
        solution = problem.solve(MOST)
        J = solution.jac
        if not _untold(J, starts.unit, problem.parameters):  # only there is it seen
            return problem, solution, told


def _half_widths(problem: _Problem, solution: Any, windows: int) -> np.ndarray:
    """Half widths of the intervals."""
    J = solution.jac
    by_noise = norm.ppf(0.5 + 0.5 * CONFIDENCE) * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
    quantile = student.ppf(0.5 + 0.5 * CONFIDENCE, windows - J.shape[1])
    by_windows = quantile * np.sqrt(np.diag(_clustered(J, solution.fun, windows)))
    return np.maximum(by_noise, by_windows) * problem.scales


def _size(starts: Starts, scenario: Scenario, latency: float) -> float:
    """Root mean square of the errors of predictions from the best first states, m."""
    windows = starts.windows
    best = starts.best(prediction_residuals(windows, scenario, latency))
    missed = prediction_residuals(windows.begun_at(best), scenario, latency)
    return float(np.sqrt(3.0 * np.mean(np.square(missed))))


def _clustered(J: np.ndarray, residuals: np.ndarray, windows: int) -> np.ndarray:
    """Covariance of the solution when residuals of one window belong together."""
    bread = np.linalg.inv(J.T @ J)
    parts = np.einsum(
        "wri,wr->wi", J.reshape(windows, -1, J.shape[1]), residuals.reshape(windows, -1)
    )
    meat = parts.T @ parts * windows / max(1, windows - J.shape[1])
    return bread @ meat @ bread
