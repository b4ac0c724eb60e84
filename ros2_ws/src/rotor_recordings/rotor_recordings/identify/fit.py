"""Least squares over rollouts: estimates, confidence intervals, and a check on windows that were held back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import t as student

from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError
from rotor_recordings.identify.parameters import LATENCY, Parameter, applied, with_values
from rotor_recordings.identify.rollouts import prediction_residuals
from rotor_recordings.identify.slopes import has_slopes, prediction_slopes
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
    """Residuals of windows over parameters in their scales: 1 is the nominal value, and steps are relative to that."""

    def __init__(self, windows: Windows, parameters: list[Parameter]) -> None:
        self.windows, self.parameters = windows, parameters
        self.scales = np.array([p.scale for p in parameters])
        self.nominal = np.array([p.nominal for p in parameters])
        self.low = 1.0 + np.array([(p.low - p.nominal) / p.scale for p in parameters])
        self.high = 1.0 + np.array([(p.high - p.nominal) / p.scale for p in parameters])
        self._last: tuple[bytes, np.ndarray] | None = None
        self.start = np.clip(np.ones(len(parameters)), self.low + 1e-6, self.high - 1e-6)

    def values(self, x: np.ndarray) -> np.ndarray:
        return self.nominal + self.scales * (x - 1.0)

    def residuals(self, x: np.ndarray, of: Windows | None = None) -> np.ndarray:
        there = applied(self.windows.scenario, self.parameters, self.values(x))
        return prediction_residuals(of or self.windows, *there).ravel()

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """Jacobian of the residuals; the last one is remembered."""
        if self._last is None or self._last[0] != x.tobytes():
            exact = prediction_slopes(self.windows, self.parameters, self.values(x))
            self._last = x.tobytes(), exact.reshape(-1, len(x)) * self.scales
        return self._last[1].copy()

    def solve(self, most: int):
        """Least squares with at most so many evaluations; with one the result holds the slopes at the start."""
        return least_squares(
            self.residuals, self.start, self.slopes if has_slopes(self.windows.scenario) else "2-point",
            bounds=(self.low, self.high), diff_step=DIFFERENCE, x_scale="jac", loss="soft_l1", f_scale=0.05,
            max_nfev=most, ftol=COST,
        )  # fmt: skip


def _untold(J: np.ndarray, parameters: list[Parameter]) -> tuple[int, str] | None:
    """The parameter that a flight with these slopes tells least, and why; None: it tells all."""
    sizes = np.sqrt(np.mean(J**2, axis=0))
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

    The intervals allow for residuals that belong together: those of one window share its first state, so windows, not
    residuals, count (Liang and Zeger 1986; Student's t with their number less that of the parameters). Smoothing of the
    states flattens fast motion, alike in all windows, and noise of first states pulls estimates one way (errors in
    variables): intervals are wider by what half the smoothing changes, and by what as much noise again does.

    Raises:
        ConfigError: there are too few windows, or they tell none of the parameters.
    """
    fit, check = windows.halves()
    kept, untold = list(parameters), []
    problem = _Problem(fit, list(kept))
    J, solution = problem.solve(1).jac, None
    while solution is None:
        while found := _untold(J, kept):
            row, reason = found
            untold.append(Untold(kept.pop(row), reason))
            if not kept:
                names = ", ".join(p.name for p in parameters)
                raise ConfigError(f"the flight tells none of {names}. Fly a livelier manoeuvre.")
            J = np.delete(J, row, axis=1)
        if len(fit.rows) - len(kept) < 3:
            raise ConfigError(
                f"{len(fit.rows)} windows cannot determine {len(kept)} parameters. Fly longer, use a shorter "
                "--horizon, or fit fewer parameters."
            )
        if len(kept) < len(problem.parameters):
            problem = _Problem(fit, list(kept))
        solution = problem.solve(MOST)
        J = solution.jac
        if _untold(J, kept):  # only there is it seen
            solution = None
    covariance = _clustered(J, solution.fun, len(fit.rows))
    quantile = student.ppf(0.5 + 0.5 * CONFIDENCE, len(fit.rows) - len(kept))
    half = quantile * np.sqrt(np.diag(covariance)) * problem.scales
    for windows_of_other in fit.variants():
        other = _Problem(windows_of_other, list(kept))
        other.start = np.clip(solution.x, other.low + 1e-6, other.high - 1e-6)
        half += np.abs(other.solve(MOST).x - solution.x) * problem.scales
    estimates = tuple(
        Estimate(p, float(v), float(v - h), float(v + h))
        for p, v, h in zip(kept, problem.values(solution.x), half, strict=True)
    )
    lasting = [e for e in estimates if e.parameter.name != LATENCY]
    scenario = with_values(
        windows.scenario, [e.parameter for e in lasting], np.array([e.value for e in lasting])
    )

    def size(x: np.ndarray, of: Windows) -> float:
        return float(np.sqrt(3.0 * np.mean(np.square(problem.residuals(x, of)))))

    return Identified(
        estimates, tuple(untold), scenario, size(problem.start, fit), size(solution.x, fit),
        size(problem.start, check), size(solution.x, check),
    )  # fmt: skip


def _clustered(J: np.ndarray, residuals: np.ndarray, windows: int) -> np.ndarray:
    """Covariance of the solution when residuals of one window belong together."""
    bread = np.linalg.inv(J.T @ J)
    parts = np.einsum(
        "wri,wr->wi", J.reshape(windows, -1, J.shape[1]), residuals.reshape(windows, -1)
    )
    meat = parts.T @ parts * windows / max(1, windows - J.shape[1])
    return bread @ meat @ bread
