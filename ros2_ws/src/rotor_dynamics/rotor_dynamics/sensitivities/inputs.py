"""Inputs of a world: everything that is commanded, with the derivative of its memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rotor_dynamics import memory
from rotor_dynamics.engine import Engine
from rotor_dynamics.sensitivities.coordinates import Seed, indices, seed_of

CHANNELS = ("thrust", "moment_x", "moment_y", "moment_z")
SWASH = ("collective", "cosine", "sine")

STEPS = {"speeds": 1.0, "efforts": 1e-3, "swash": 1e-3}
"""Half steps of the differences of commands that are written through lags, rad/s, N m, rad."""


@dataclass(frozen=True)
class Inputs:
    """Inputs of a world in the order: wrenches, rotor speeds, efforts of motors, swashplates.

    Attributes:
        names: such as ``quad1.thrust``, ``rotor1``, ``elbow`` and ``disc1.collective``.
        seeds: derivatives of the memory with each.
    """

    names: list[str]
    seeds: list[Seed]


def inputs_of(engine: Engine) -> Inputs:
    """Inputs of a world about what is commanded now."""
    names, seeds = [], []
    system, world = engine.system, engine.world
    for k, source in enumerate(system.inputs):
        row = world.inputs[k]
        for c, channel in enumerate(CHANNELS):
            names.append(f"{system.bodies[source].name}.{channel}")
            seeds.append((indices(engine, row[memory.BIAS + c : memory.BIAS + c + 1]), np.ones(1)))

    def vary(
        n: int, name: Callable[[int], str], write: Callable[[np.ndarray], None], step: float
    ) -> None:
        for i in range(n):
            names.append(name(i))
            seeds.append(seed_of(engine, lambda by, i=i: write(by * np.eye(n)[i]), step))

    if len(system.rotors):
        now = engine.rotors.targets
        vary(
            len(now),
            lambda i: f"rotor{i + 1}",
            lambda by: engine.rotors.act(now + by),
            STEPS["speeds"],
        )
    motors = np.flatnonzero(~engine.joints.is_driven)
    if len(motors):
        asked = world.joints[
            engine.joints.rows(np.ones(len(engine.joints), bool)), memory.EFFORT_BIAS
        ]
        place = np.eye(len(asked))[motors]
        vary(
            len(motors),
            lambda i: engine.joints.names[motors[i]],
            lambda by: engine.joints.write_efforts(asked + by @ place),
            STEPS["efforts"],
        )
        bound = np.abs(asked[motors]) >= engine.joints.limits[motors]
        for i in np.flatnonzero(bound):  # what is asked of them beyond that changes nothing
            seeds[len(seeds) - len(motors) + i] = np.zeros(0, np.int64), np.zeros(0)
    if len(engine.swash):
        angles = world.discs[:, memory.SWASH : memory.SWASH + 3].copy()
        vary(
            angles.size,
            lambda i: f"disc{i // 3 + 1}.{SWASH[i % 3]}",
            lambda by: engine.swash.write(angles + by.reshape(angles.shape)),
            STEPS["swash"],
        )
    return Inputs(names, seeds)
