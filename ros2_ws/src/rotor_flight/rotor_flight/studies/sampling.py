"""Numbers for all flights: drawn at random, spread by Latin hypercube or Sobol points, or a grid (SciPy)."""

from __future__ import annotations

import inspect
import itertools
import warnings

import numpy as np
from scipy import stats
from scipy.stats import qmc

from rotor_core.errors import ConfigError
from rotor_flight.studies.study import MOST_FLIGHTS, Distribution, Study, Variable

SEED = "rng" if "rng" in inspect.signature(qmc.Sobol).parameters else "seed"
"""SciPy's keyword for the seed of a sample: "rng" since 1.15."""

INNER = 1e-12
"""Quantiles are taken this far inside 0..1, so that none is infinite."""


def sample(study: Study) -> np.ndarray:
    """The numbers of all flights, (n_flights, n_variables).

    Raises:
        ConfigError: an unknown distribution, parameters it refuses, or a grid that is too large.
    """
    if study.method == "grid":
        return _grid(study)
    n, d = study.flights, len(study.vary)
    if d == 0:
        return np.zeros((n, 0))
    match study.method:
        case "random":
            unit = np.random.default_rng(study.seed).random((n, d))
        case "latin_hypercube":
            unit = qmc.LatinHypercube(d, **{SEED: study.seed}).random(n)
        case _:
            with warnings.catch_warnings():  # balanced only for powers of two: said by notes()
                warnings.simplefilter("ignore", UserWarning)
                unit = qmc.Sobol(d, **{SEED: study.seed}).random(n)
    return np.stack([quantiles(v, unit[:, i]) for i, v in enumerate(study.vary)], axis=1)


def notes(study: Study) -> list[str]:
    """Remarks for the user on the sample of a study."""
    n = study.flights
    if study.method == "sobol" and n & (n - 1):
        near = 2 ** round(np.log2(n))
        return [
            f"Sobol points are balanced for powers of two: {n} flights are only nearly balanced, {near} would be."
        ]
    return []


def quantiles(variable: Variable, unit: np.ndarray) -> np.ndarray:
    """Numbers of a variable at probabilities ``unit`` in 0..1."""
    if variable.values:
        index = np.minimum((unit * len(variable.values)).astype(int), len(variable.values) - 1)
        return np.array(variable.values)[index]
    if variable.between is not None:
        low, high = variable.between
        return low + (high - low) * unit
    assert variable.distribution is not None
    return _inverse(variable.label, variable.distribution, unit)


def _inverse(label: str, wanted: Distribution, unit: np.ndarray) -> np.ndarray:
    kind = getattr(stats, wanted.name, None)
    if not isinstance(kind, stats.rv_continuous):
        raise ConfigError(
            f"{label}: scipy.stats has no continuous distribution {wanted.name!r}. Use norm, uniform, triang, "
            "lognorm, truncnorm, beta, gamma, weibull_min or another."
        )
    try:
        frozen = kind(*wanted.shape, loc=wanted.loc, scale=wanted.scale)
        low = 0.0 if wanted.low is None else float(frozen.cdf(wanted.low))
        high = 1.0 if wanted.high is None else float(frozen.cdf(wanted.high))
    except TypeError as error:
        needed = kind.shapes or "none"
        raise ConfigError(
            f"{label}: {wanted.name} takes the shape parameters {needed}, got {list(wanted.shape)}."
        ) from error
    if not low < high:
        raise ConfigError(
            f"{label}: no part of {wanted.name} lies between low {wanted.low} and high {wanted.high}."
        )
    out = np.asarray(frozen.ppf(np.clip(low + (high - low) * unit, INNER, 1.0 - INNER)), float)
    if not np.isfinite(out).all():
        raise ConfigError(f"{label}: {wanted.name} refuses its parameters {list(wanted.shape)}.")
    return out


def _grid(study: Study) -> np.ndarray:
    axes = []
    for variable in study.vary:
        if variable.values:
            axes.append(np.array(variable.values))
        else:  # ends included for intervals; equal shares for distributions, which may have no ends
            n = study.flights
            unit = np.linspace(0.0, 1.0, n) if variable.between else (np.arange(n) + 0.5) / n
            axes.append(quantiles(variable, unit))
    count = int(np.prod([float(len(a)) for a in axes]))
    if count > MOST_FLIGHTS:
        raise ConfigError(
            f"method: the grid must have at most {MOST_FLIGHTS} flights, got {count}."
        )
    return np.array(list(itertools.product(*axes)), float).reshape(count, len(axes))
