"""Gymnasium environments over the batch engine: one world, or many at once."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Space
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rotor_core.errors import ContractError
from rotor_dynamics.sensitivities.linearization import Transition
from rotor_flight.gym.worlds import FARTHEST, Task, Worlds


def _spaces(worlds: Worlds) -> tuple[Box, Box]:
    observation = Box(-FARTHEST, FARTHEST, (worlds.width,), np.float32)
    return observation, Box(-1.0, 1.0, (4 * worlds.vehicles,), np.float32)


def _of_shape(action: Any, space: Space) -> np.ndarray:
    """An action as an array of the space's shape."""
    wanted = np.asarray(action)
    if wanted.shape != space.shape:
        raise ContractError(f"action: must have the shape {space.shape}, got {wanted.shape}.")
    return wanted


class TeamEnv(gymnasium.Env):
    """One world of a :class:`~rotor_flight.gym.worlds.Task`, whose fields are the arguments.

    Observation: for every body position and velocity from its goal in W, and for solid ones the rotation
    matrix by rows and the body rates. Action: for every vehicle thrust and moments, scaled.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  (as Gymnasium writes it)

    def __init__(self, render_mode: None = None, **task: Any) -> None:
        self.render_mode = render_mode
        self._worlds = Worlds(Task(**task), 1)
        self.observation_space, self.action_space = _spaces(self._worlds)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed, options=options)
        self._worlds.restart(0, self.np_random)
        return self._worlds.observe()[0], self._info()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Let an action act for a period."""
        wanted = _of_shape(action, self.action_space)
        rewards, failed, over = self._worlds.step(np.reshape(wanted, (1, -1, 4)))
        return (
            self._worlds.observe()[0],
            float(rewards[0]),
            bool(failed[0]),
            bool(over[0]),
            self._info(),
        )

    def transition(self) -> Transition:
        """Derivatives of the next period; see :meth:`rotor_flight.gym.worlds.Worlds.transition`."""
        return self._worlds.transition(0)

    def _info(self) -> dict[str, Any]:
        return {"distance_m": float(self._worlds.distances[0])}


class TeamVectorEnv(VectorEnv):
    """``num_envs`` worlds of :class:`TeamEnv`, stepped in one call on all cores.

    A world whose episode is over begins anew at its next step, which has no reward
    (``AutoresetMode.NEXT_STEP``).
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int = 1, render_mode: None = None, **task: Any) -> None:
        self.num_envs, self.render_mode = num_envs, render_mode
        self._worlds = Worlds(Task(**task), num_envs)
        self.single_observation_space, self.single_action_space = _spaces(self._worlds)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._random = [np.random.default_rng() for _ in range(num_envs)]
        self._over = np.zeros(num_envs, bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all episodes; world i gets ``seed + i``."""
        if seed is not None:
            seeds = (
                [int(seed) + i for i in range(self.num_envs)]
                if isinstance(seed, Integral)
                else list(seed)
            )
            if len(seeds) != self.num_envs:
                raise ContractError(
                    f"reset: seed must be one number or {self.num_envs} of them, got {len(seeds)}."
                )
            for i, own in enumerate(seeds):
                if own is not None:  # as gymnasium.Env makes it from a seed
                    self._random[i] = np_random(own)[0]
        for i in range(self.num_envs):
            self._worlds.restart(i, self._random[i])
        self._over[:] = False
        return self._worlds.observe(), self._info()

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Let actions act for a period."""
        anew = self._over
        wanted = _of_shape(actions, self.action_space)
        rewards, failed, over = self._worlds.step(np.reshape(wanted, (self.num_envs, -1, 4)))
        for i in np.flatnonzero(anew):
            self._worlds.restart(int(i), self._random[i])
        rewards, failed, over = (
            np.where(anew, 0.0, rewards),
            failed & ~anew,
            over & ~anew,
        )
        self._over = failed | over
        return self._worlds.observe(), rewards, failed, over, self._info()

    def transition(self, world: int) -> Transition:
        """Derivatives of the next period of a world; see :meth:`rotor_flight.gym.worlds.Worlds.transition`."""
        return self._worlds.transition(world)

    def _info(self) -> dict[str, Any]:
        known = np.ones(self.num_envs, bool)
        return {"distance_m": self._worlds.distances, "_distance_m": known}
