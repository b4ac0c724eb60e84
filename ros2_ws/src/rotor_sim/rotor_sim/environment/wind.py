"""Moving air: steady wind and its profile, gusts, fronts, turbulence, recorded fields.

Sampled once per control period and held. Equations (V.1), (U.1), (U.2), docs/theory/air.md. Sources: MIL-F-8785C,
Flying qualities of piloted airplanes, 1980, section 3.7.3 (gusts); Stull, An introduction to boundary layer
meteorology, 1988, chapter 9 (profiles).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from rotor_core.config.air.wind import Front, Profile, Wind
from rotor_core.config.obstacles.obstacle import Obstacle
from rotor_sim.environment.dryden import DrydenProcess
from rotor_sim.environment.frozen_turbulence import FrozenField
from rotor_sim.environment.half_cosine import half_cosine
from rotor_sim.environment.obstacle_wakes import WakesOfObstacles
from rotor_sim.environment.wind_grid import WindGrid


def profile_share(profile: Profile, height: np.ndarray) -> np.ndarray:
    """Steady wind at heights above the ground, m, over that at the profile's own height (U.1)."""
    if profile.law == "power":
        return (np.maximum(height, 0.0) / profile.height_m) ** profile.exponent
    above = np.log(np.maximum(height / profile.roughness_m, 1.0))
    return above / np.log(profile.height_m / profile.roughness_m)


def front_share(front: Front, t: float, places: np.ndarray) -> np.ndarray:
    """Share of the change of a front that places (n, 3) m have felt t s from the start (U.2)."""
    travel = np.array(front.travel_m_s)
    speed = np.linalg.norm(travel)
    behind = speed * (t - front.start_s) - places @ (travel / speed)
    return half_cosine(behind / front.width_m)


class WindField:
    """Velocity of the air over time and space.

    Turbulence of :class:`DrydenProcess` lies along the steady wind: u along it, v across to its left, w up.

    Args:
        wind: what moves it.
        period: between samples, s.
        seed: of random streams and fields.
        ground: height of the ground, m.
        obstacles: behind which the wind is weaker, if it asks for that.

    Raises:
        ConfigError: the file of a recorded field holds none.
    """

    def __init__(
        self,
        wind: Wind,
        period: float,
        seed: int,
        ground: float = 0.0,
        obstacles: Sequence[Obstacle] = (),
    ) -> None:
        self._wind, self._ground = wind, ground
        self._steady = np.array(wind.steady_m_s)
        self._process = wind.turbulence and DrydenProcess(wind.turbulence, period, seed)
        frozen = wind.frozen_turbulence
        self._frozen = frozen and FrozenField(frozen, self._steady, seed)
        lee = wind.obstacle_wakes
        self._lee = lee and WakesOfObstacles(lee, obstacles, self._steady)
        self._is_shaped = bool(wind.profile or wind.obstacle_wakes)
        self._grid = WindGrid(wind.field_file, wind.field_sha256) if wind.field_file else None
        x, y = self._steady[:2]
        level = np.hypot(x, y)
        c, s = (x / level, y / level) if level > 0.0 else (1.0, 0.0)
        self._along = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        self.is_uniform = wind.is_uniform
        """Whether it is the same everywhere."""

    def reset(self) -> None:
        """Repeat the random stream."""
        if self._process:
            self._process.reset()

    def take_over(self, other: WindField) -> None:
        """Let the turbulence go on from that of the same wind in another world."""
        if self._process and other._process:
            self._process = copy.deepcopy(other._process)

    def sample(self, t: float) -> np.ndarray:
        """Wind that is the same everywhere at t s from the start, in W, (3,) m/s; call it once per period, in order."""
        out = self.smooth(t)
        if self._process:
            out += self._along @ self._process.sample()
        return out

    def smooth(self, t: float) -> np.ndarray:
        """The same without turbulence, of which nothing is drawn."""
        out = np.zeros(3) if self._is_shaped else self._steady.copy()
        for gust in self._wind.gusts:
            s = (t - gust.start_s) / gust.duration_s
            if 0.0 < s < 1.0:
                out += 0.5 * (1.0 - np.cos(2.0 * np.pi * s)) * np.array(gust.peak_m_s)  # (V.1)
        return out

    def local(self, t: float, places: np.ndarray) -> np.ndarray:
        """Wind that differs from place to place, at places (n, 3) m and t s from the start, (n, 3) m/s."""
        out = np.zeros((len(places), 3))
        if self._is_shaped:
            share = np.ones(len(places))
            if self._wind.profile:
                share *= profile_share(self._wind.profile, places[:, 2] - self._ground)
            if self._lee:
                share *= self._lee.share(places)
            out += share[:, None] * self._steady
        for front in self._wind.fronts:
            out += front_share(front, t, places)[:, None] * np.array(front.change_m_s)
        if self._frozen:
            out += self._frozen.at(t, places)
        if self._grid:
            out += self._grid.at(t, places)
        return out


def wind_samples(wind: Wind, period: float, seeds: Sequence[int], n_periods: int) -> np.ndarray:
    """Velocities of uniform air for many worlds, (n_worlds, n_periods, 3) m/s: one stream per seed.

    What :meth:`rotor_dynamics.batch.Batch.rollout` takes; the same that single worlds with these seeds see.

    Raises:
        ValueError: the wind is not the same everywhere.
    """
    if not wind.is_uniform:
        raise ValueError(
            "wind_samples: the wind differs from place to place; fly single worlds (rotor.fly, rotor.Study) instead."
        )
    out = np.empty((len(seeds), n_periods, 3))
    for world, seed in zip(out, seeds, strict=True):
        field = WindField(wind, period, seed)
        for i in range(n_periods):
            world[i] = field.sample(i * period)
    return out
