"""What becomes of commands: wrenches that act as they are, or rotors that follow."""

from __future__ import annotations

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.rotors import RotorSet, rotor_limits, rotor_set
from rotor_sim.engine import Engine


def _thrust_gains(scenario: Scenario) -> dict[str | None, float]:
    return {c.entity: c.thrust_gain for c in scenario.plant if c.thrust_gain is not None}


def start_internal_rotors(engine: Engine, scenario: Scenario, time: float) -> None:
    """Let the internal rotors of all entities turn as the scenario says, counted from ``time``."""
    stored = [r for e in scenario.model.entities for r in e.internal_rotors]
    first = len(engine.system.rotors) - len(stored)
    for i, r in enumerate(stored):
        phase = r.phase_rad - 2.0 * np.pi * r.frequency_hz * time
        engine.rotors.prescribe(first + i, r.speed_rad_s, r.amplitude_rad_s, r.frequency_hz, phase)


class WrenchActuators:
    """Thrust and moment of every vehicle act at once, scaled by its thrust gain, within its rotors' limits."""

    def __init__(self, scenario: Scenario) -> None:
        vehicles, gains = scenario.model.vehicles, _thrust_gains(scenario)
        self._sets = [rotor_set(v.rotors, thrust_gain=gains.get(v.name, 1.0)) for v in vehicles]
        self._gain = np.array([[gains.get(v.name, 1.0)] for v in vehicles]).reshape(-1, 1)
        self._limits = rotor_limits(self._sets) if scenario.actuation.limits else None
        self.applied = np.zeros((len(vehicles), 4))

    def reset(self) -> None:
        """Nothing acts."""
        self.applied[:] = 0.0

    def command(self, engine: Engine, wrenches: np.ndarray) -> None:
        """Take up commands, (n_vehicles, 4)."""
        np.multiply(self._gain, wrenches, out=self.applied)
        if self._limits:
            self._limits.apply(self.applied)
        engine.hold(self.applied)

    def speeds(self, engine: Engine) -> list[np.ndarray]:
        """Speeds that would give the acting wrenches, rad/s."""
        return [s.speeds(w) for s, w in zip(self._sets, self.applied, strict=True)]


class RotorActuators:
    """Commands become speeds of rotors (A.2), which follow with their lag.

    What a command asks beyond the rotors is limited first (A.3). The first command after a reset
    finds its rotors at speed: a vehicle starts in the air.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._sets: list[RotorSet] = [rotor_set(v.rotors) for v in scenario.model.vehicles]
        self._limits = rotor_limits(self._sets) if scenario.actuation.limits else None
        self.applied = np.zeros((len(self._sets), 4))
        self._ends = np.cumsum([s.count for s in self._sets])
        self._turning = False

    def reset(self) -> None:
        """Rotors wait for a first command."""
        self.applied[:] = 0.0
        self._turning = False

    def command(self, engine: Engine, wrenches: np.ndarray) -> None:
        """Take up commands, (n_vehicles, 4)."""
        self.applied[:] = wrenches
        if self._limits:
            self._limits.apply(self.applied)
        speeds = engine.rotors.targets
        wanted = [s.speeds(w) for s, w in zip(self._sets, self.applied, strict=True)]
        if wanted:
            speeds[: self._ends[-1]] = np.concatenate(wanted)
        if self._turning:
            engine.rotors.command(speeds)
        else:
            engine.rotors.start(speeds)
            self._turning = True

    def speeds(self, engine: Engine) -> list[np.ndarray]:
        """True speeds, rad/s."""
        return np.split(engine.rotors.speeds[: self._ends[-1]], self._ends[:-1])
