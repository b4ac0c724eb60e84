"""The flights of the RotorTM paper: systems, paths, laws and noise, many at a time on all cores."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from tqdm import tqdm

from rotor_core.config.loader import load_scenario, load_trajectory
from rotor_core.config.schema import Actuation, Scenario
from rotor_core.config.sensing import Noise, Sensing
from rotor_core.plans.plan import Plan
from rotor_core.reference import ACCELERATION
from rotor_flight.fly import fly
from rotor_planning.trajectories.from_config import make_plans

SYSTEMS = {
    "single cable": "dragonfly_point_mass",
    "multi cable": "three_dragonflies_triangular_1m",
    "rigid links": "three_dragonflies_triangular_rigid",
}
PATHS = ("slalom_13s", "slalom_20s", "circle_6s", "circle_10s")
LAWS = ("paper", "nominal")
NOISE = 1e-3
"""Standard deviation of every component of the feedback (eqs 75, 76)."""

SEEDS = 50


@dataclass(frozen=True)
class Experiment:
    """One flight: whole trajectory from rest on it, commands held for 10 ms, no rotor limits.

    Attributes:
        scenario, path: names of shipped files.
        law: ``paper``, or ``nominal`` with the same gains and the feed-forward of the nominal motion.
        seed: of the noise; None: none.
    """

    scenario: str
    path: str
    law: str = "paper"
    seed: int | None = None

    @property
    def settings(self) -> Scenario:
        """The scenario as flown."""
        scenario = load_scenario(self.scenario)
        sensing = scenario.sensing
        if self.seed is not None:
            sensing = Sensing(Noise(NOISE, NOISE, NOISE, NOISE))
        return replace(
            scenario,
            trajectory=load_trajectory(self.path),
            controller=replace(scenario.controller, feedforward=self.law),  # type: ignore[call-arg]
            sensing=sensing,
            settle_s=0.0,
            time=replace(scenario.time, control_s=0.01),
            actuation=Actuation(limits=False),
            seed=self.seed or 0,
        )


def errors_of(experiment: Experiment) -> np.ndarray:
    """RMS of the errors of the payload: x, y, z, their norm in m; angle from the reference in deg."""
    figures = fly(experiment.settings).summary()["teams"]["payload"]
    degrees = figures["attitude_rmse_deg"]
    return np.array(
        [
            *figures["position_rmse_xyz_m"],
            figures["position_rmse_m"],
            np.nan if degrees is None else degrees,
        ]
    )


def all_errors(experiments: Iterable[Experiment]) -> dict[Experiment, np.ndarray]:
    """:func:`errors_of` of many flights, on all cores."""
    experiments = list(experiments)
    cores = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(cores) as pool:
        found = tqdm(
            pool.map(errors_of, experiments, chunksize=4), total=len(experiments), unit="flight", leave=False,
            disable=None,
        )  # fmt: skip
        return dict(zip(experiments, found, strict=True))


class WrongRampDown(Plan):
    """A circle whose wanted acceleration has the original's sign error while it slows down (E-R1)."""

    def sample(self, t: float, out: np.ndarray | None = None) -> np.ndarray:
        """The true reference, with the tangential acceleration of the last segment turned round."""
        out = super().sample(t, out)
        if self.duration - self.durations[-1] < t < self.duration:
            along = out[3:6] / max(float(np.linalg.norm(out[3:6])), 1e-12)
            tangential = out[ACCELERATION : ACCELERATION + 3] @ along
            out[ACCELERATION : ACCELERATION + 3] -= 2.0 * tangential * along
        return out


def with_wrong_ramp_down(experiment: Experiment) -> np.ndarray:
    """Per-axis errors (3,) m of a circle flown with the original's error E-R1."""
    scenario = experiment.settings
    plans = {
        name: WrongRampDown(p.durations, p.coefficients, p.radius, p.rotation)
        for name, p in make_plans(scenario).items()
    }
    flight = fly(scenario, plans=plans)  # type: ignore[arg-type]
    return np.array(flight.summary()["teams"]["payload"]["position_rmse_xyz_m"])
