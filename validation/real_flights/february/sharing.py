"""How cables shared the force: what the program of the law answers for what was logged, against what it answered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_control.allocation.separation import CableProgram
from rotor_recordings.crazyflies.grid import STEP
from validation.real_flights.february.law import GAINS, RADIUS
from validation.real_flights.february.logs import LENGTH, Flown

BEGIN, EVERY = 3.0, 20
"""From when on, s, and every how many samples the program is asked."""


class Programs:
    """The programs on board of a team: with the plan, and of those who know none.

    Args:
        n: vehicles of the team.
    """

    def __init__(self, n: int) -> None:
        gains, lengths = GAINS[n], np.full(n, LENGTH)
        self._with_plan, self._without = (
            CableProgram(lengths, radius=RADIUS, lean=gains.plane_lean, plan=weight)
            for weight in (gains.plan_weight, 0.0)
        )

    def share(
        self, k: int, force: np.ndarray, plan: np.ndarray, places: np.ndarray, *, knows: bool
    ) -> np.ndarray:
        """Force of the cable of vehicle k as its own program answers, (3,) N."""
        program = self._with_plan if knows else self._without
        return program.share(force, plan, places)[k]


@dataclass(frozen=True)
class Sharing:
    """Logged forces of the cables less what explains them, root of the mean square over vehicles and time, N.

    Attributes:
        equal: every cable pulls with its share of the force.
        at_once: the program answers at once.
        later: it takes its time.
    """

    equal: float
    at_once: float
    later: float


def explain(flown: Flown) -> Sharing:
    """Ask the program on paper, for places and forces of the log."""
    n = len(flown.vehicles)
    programs = Programs(n)
    rows = np.arange(np.searchsorted(flown.time, BEGIN), len(flown.time), EVERY)
    late = round(flown.program_s / STEP)
    left: dict[int, list[float]] = {0: [], late: []}
    for lag, squares in left.items():
        for row in rows:
            asked = row - lag
            places = flown.position[asked] - flown.payload[asked]
            for k in range(n):
                knows = bool(flown.planned_force[asked, k].any())
                force = flown.payload_force[asked, k]
                found = programs.share(k, force, flown.plan[asked], places, knows=knows)
                squares.append(float(np.sum((found - flown.cable_force[row, k]) ** 2)))
    equal = flown.cable_force[rows] - flown.payload_force[rows] / n
    return Sharing(
        float(np.sqrt(np.mean(np.sum(equal**2, axis=2)))),
        float(np.sqrt(np.mean(left[0]))), float(np.sqrt(np.mean(left[late]))),
    )  # fmt: skip
