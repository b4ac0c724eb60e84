"""Least squares over rollouts: estimates, confidence intervals, and a check on windows that were held back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import t as student

from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError
from rotor_recordings.identify.parameters import LATENCY, Parameter, with_values
from rotor_recordings.identify.rollouts import Windows, prediction_residuals

DIFFERENCE = 1e-2
"""Finite differences over the scale of a parameter."""

CONFIDENCE = 0.95
WORST_CONDITION = 1e6
"""Of the scaled normal equations; beyond it the flight does not tell the parameters apart."""

MOST = 30
"""Evaluations of the residuals, each with its Jacobian."""


@dataclass(frozen=True)
class Estimate:
    """One parameter: value and interval of :data:`CONFIDENCE`."""

    parameter: Parameter
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Identified:
    """Parameters identified from a flight.

    Attributes:
        estimates: in the order of the parameters.
        scenario: the nominal one with the estimates (but the latency) put in.
        fit_before, fit_after: root mean square of the predictions' errors over the fitted windows, m.
        check_before, check_after: the same over windows that were held back, m.
    """

    estimates: tuple[Estimate, ...]
    scenario: Scenario
    fit_before: float
    fit_after: float
    check_before: float
    check_after: float


def identify(windows: Windows, parameters: list[Parameter]) -> Identified:
    """Estimate parameters from every other window of a flight.

    The intervals allow for residuals that belong together: those of one window share its first state, so windows, not
    residuals, count (Liang and Zeger 1986; Student's t with their number less that of the parameters).

    Raises:
        ConfigError: there are too few windows, or they do not tell the parameters apart.
    """
    fit, check = windows.halves()
    n, free = len(parameters), len(fit.rows) - len(parameters)
    if free < 3:
        raise ConfigError(
            f"{len(fit.rows)} windows cannot determine {n} parameters. Fly longer, use a shorter --horizon, or fit "
            "fewer parameters."
        )
    scales = np.array([p.scale for p in parameters])
    nominal = np.array([p.nominal for p in parameters])

    def residuals(x: np.ndarray, of: Windows = fit) -> np.ndarray:
        values = nominal + scales * (x - 1.0)
        return prediction_residuals(of, *_applied(windows.scenario, parameters, values)).ravel()

    # from 1, not from 0: steps of finite differences are relative
    low = 1.0 + np.array([(p.low - p.nominal) / p.scale for p in parameters])
    high = 1.0 + np.array([(p.high - p.nominal) / p.scale for p in parameters])
    start = np.clip(np.ones(n), low + 1e-6, high - 1e-6)
    solution = least_squares(
        residuals, start, bounds=(low, high), diff_step=DIFFERENCE, x_scale=1.0, loss="soft_l1", f_scale=0.05,
        max_nfev=MOST,
    )  # fmt: skip
    J = solution.jac
    singular = np.linalg.svd(J, compute_uv=False)
    if singular[-1] * WORST_CONDITION < singular[0]:
        weakest = np.linalg.svd(J)[2][-1]
        mixed = ", ".join(parameters[i].name for i in np.argsort(-np.abs(weakest))[:2])
        raise ConfigError(
            f"the flight does not tell these apart: {mixed}. Leave one out, or fly a livelier manoeuvre."
        )
    covariance = _clustered(J, solution.fun, len(fit.rows))
    half = student.ppf(0.5 + 0.5 * CONFIDENCE, free) * np.sqrt(np.diag(covariance)) * scales
    values = nominal + scales * (solution.x - 1.0)
    estimates = tuple(
        Estimate(p, float(v), float(v - h), float(v + h))
        for p, v, h in zip(parameters, values, half, strict=True)
    )
    kept = [p for p in parameters if p.name != LATENCY]
    found = with_values(
        windows.scenario,
        kept,
        np.array([e.value for e in estimates if e.parameter.name != LATENCY]),
    )

    def size(x: np.ndarray, of: Windows) -> float:
        return float(np.sqrt(3.0 * np.mean(np.square(residuals(x, of)))))

    return Identified(
        estimates,
        found,
        size(start, fit),
        size(solution.x, fit),
        size(start, check),
        size(solution.x, check),
    )


def _applied(
    scenario: Scenario, parameters: list[Parameter], values: np.ndarray
) -> tuple[Scenario, float]:
    latency = next(
        (float(v) for p, v in zip(parameters, values, strict=True) if p.name == LATENCY), 0.0
    )
    return with_values(scenario, parameters, values), latency


def _clustered(J: np.ndarray, residuals: np.ndarray, windows: int) -> np.ndarray:
    """Covariance of the solution when residuals of one window belong together."""
    bread = np.linalg.inv(J.T @ J)
    parts = np.einsum(
        "wri,wr->wi", J.reshape(windows, -1, J.shape[1]), residuals.reshape(windows, -1)
    )
    meat = parts.T @ parts * windows / max(1, windows - J.shape[1])
    return bread @ meat @ bread
