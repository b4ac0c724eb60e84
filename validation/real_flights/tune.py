"""Find the law of a group: gains and delays with which our controller flies its references as they were flown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from rotor_recordings.crazyflies.grid import make_grid
from rotor_recordings.crazyflies.logs import read_crazyflie_team
from rotor_recordings.crazyflies.team_model import fit_team
from validation.real_flights.follow import Law, follow, law_numbers, path_error

LOST = 0.4
"""Error that a lost flight counts, and cap on the error of every flight, m."""

SPREAD = 0.35
"""Of the first simplex, in the logarithm of every number."""


def tune(paths: Sequence[Path], start: Law, evaluations: int) -> tuple[Law, float]:
    """The law with the smallest mean error over some flights, and that error, m.

    Nelder and Mead's simplex over the logarithms: the error has corners where flights are lost.
    """
    flights = []
    for path in paths:
        team = read_crazyflie_team(path)
        grid = make_grid(team)
        flights.append((team, grid, fit_team(team, grid)))

    def error(logarithms: np.ndarray) -> float:
        law = Law(*(law_numbers(start) * np.exp(logarithms)))
        found = [path_error(g, follow(t, g, m, law)) for t, g, m in flights]
        return float(np.mean(np.minimum(found, LOST)))

    n = len(law_numbers(start))
    simplex = np.vstack([np.zeros(n), SPREAD * np.diag((-1.0) ** np.arange(1, n + 1))])
    options = {"initial_simplex": simplex, "maxfev": evaluations, "xatol": 0.02, "fatol": 5e-4}
    found = minimize(error, np.zeros(n), method="Nelder-Mead", options=options)
    return Law(*(law_numbers(start) * np.exp(found.x))), float(found.fun)
