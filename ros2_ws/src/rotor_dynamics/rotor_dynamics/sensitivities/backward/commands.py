"""Commands that are held for a period: of everything that is commanded, as numbers in a row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rotor_core.kernels.jit import inlined
from rotor_dynamics import memory
from rotor_dynamics.actuation.joints import command_efforts
from rotor_dynamics.actuation.swashplates import command_swash
from rotor_dynamics.engine import Engine
from rotor_dynamics.hybrid.impact import INPUT_CHANGED
from rotor_dynamics.sensitivities.coordinates import Lag, Seed
from rotor_dynamics.sensitivities.inputs import inputs_of
from rotor_dynamics.side_by_side.periods import apply_inputs


class Commanded(NamedTuple):
    """Receivers of commands.

    Attributes:
        motors, limits: rows of the joints that motors turn, and their largest efforts, (n_motors,).
        winches: rows of the routes that wind by themselves, (n_winches,).
    """

    motors: np.ndarray
    limits: np.ndarray
    winches: np.ndarray


@inlined
def write_commands(ints, floats, wrenches, speeds, efforts, angles, windings, air, commanded):
    """Inputs of a period into the memory; a change of inputs takes them up.

    Args:
        ints, floats: the world.
        wrenches, speeds: of all inputs (n, 4) and rotors (n,).
        efforts: of all motors, (n,).
        angles: of all swashplates, (n, 3).
        windings: accelerations of winches, (n,) (W.3).
        air: its velocity at all bodies, (3,) m/s in W, or none: as it was.
        commanded: what they go to.
    """
    world = memory.views(ints, floats)
    t = world.scalars[memory.TIME]
    apply_inputs(world, wrenches, speeds, air)
    if efforts.shape[0] > 0:
        command_efforts(world.joints, commanded.motors, t, efforts, commanded.limits, False)
    if angles.shape[0] > 0:
        command_swash(world.discs, t, angles, False)
    for i in range(windings.shape[0]):
        row = world.routes[commanded.winches[i]]
        s = t - row[memory.WINDS_FROM]
        rate = row[memory.WOUND_RATE] + s * row[memory.WOUND_ACCELERATION]
        row[memory.WOUND_LENGTH] += 0.5 * s * (row[memory.WOUND_RATE] + rate)
        row[memory.WOUND_RATE] = rate
        row[memory.WOUND_ACCELERATION] = windings[i]
        row[memory.WINDS_FROM] = t
    world.head[memory.WHAT] = INPUT_CHANGED


class Commands:
    """The numbers of a command.

    Args:
        engine: the world.
        moves_air: whether the velocity of the air, the same everywhere, is one of them.

    Attributes:
        names: of all numbers: ``quad1.thrust`` (N), ``quad1.moment_x`` (N m), ..., ``rotor1`` (rad/s), joints (N m or
            N), ``disc1.collective`` (rad), ..., ``cable1`` of winches (m/s^2), ``air_x`` (m/s), ...
        commanded: what they go to.
        air: where the air is among them.
    """

    def __init__(self, engine: Engine, *, moves_air: bool = False) -> None:
        motors = ~engine.joints.is_driven
        winches = [k for k in engine.winches.cables if k not in engine.winches.drums]
        self.names = [*inputs_of(engine).names, *(f"cable{k + 1}" for k in winches)]
        self.air = slice(len(self.names), len(self.names) + 3 * moves_air)
        self.names += ["air_x", "air_y", "air_z"] if moves_air else []
        rows = engine.joints.rows(motors) if len(engine.joints) else np.zeros(0, np.int64)
        limits = engine.joints.limits[motors] if len(engine.joints) else np.zeros(0)
        routes = engine.world.constraint_int[winches, memory.ROUTED] - 1
        self.commanded = Commanded(rows, limits, np.array(routes, np.int64))
        n = len(engine.system.inputs)
        self._edges = np.cumsum(
            [4 * n, len(engine.system.rotors), len(rows), 3 * len(engine.swash), len(winches)]
        )

    def lasting(self, engine: Engine, lags: Iterable[tuple[tuple[Lag, int], Seed]]) -> list[Seed]:
        """Derivative of the memory at the start with every command that has acted for long: with what lags, or none.

        Args:
            engine: at the start.
            lags: what lags, with the derivative of the memory with it.
        """
        nothing = np.zeros(0, np.int64), np.zeros(0)
        seeds: list[Seed] = [nothing] * len(self.names)
        wrenches, rotors, motors, *_ = self._edges
        places = {
            "rotors": {int(row): wrenches + i for i, row in enumerate(engine.rotors.order)},
            "joints": {int(row): rotors + i for i, row in enumerate(self.commanded.motors)},
        }
        for (lag, row), seed in lags:
            if lag.table == "discs":
                column = next(i for i in range(3) if lag.bias == memory.SWASH + i)
                seeds[motors + 3 * row + column] = seed
            elif row in places[lag.table]:  # a driven joint has no motor
                seeds[places[lag.table][row]] = seed
        return seeds

    def split(self, commands: np.ndarray) -> tuple[np.ndarray, ...]:
        """Commands (..., n) by what they go to: (..., n_inputs, 4), rotors, motors, (..., n_discs, 3), winches, air."""
        wrenches, speeds, efforts, angles, *others = np.split(commands, self._edges, axis=-1)
        start = commands.shape[:-1]
        parts = (
            wrenches.reshape(*start, -1, 4), speeds, efforts, angles.reshape(*start, -1, 3), *others,
        )  # fmt: skip
        return tuple(np.ascontiguousarray(part) for part in parts)
