"""Time-out of commands: the wrench applied to a vehicle when commands stop arriving.

Hold, then nothing (or nothing at once). Simulation time, no clock.
"""

from __future__ import annotations

import numpy as np

from rotor_core.config.model import Model
from rotor_core.config.schema import Scenario
from rotor_core.vehicles.rotors import rotor_set

FRESH, HELD, ZEROED = "fresh", "held", "zeroed"


def idle_wrenches(model: Model) -> np.ndarray:
    """Wrenches of vehicles whose rotors turn at their slowest, (n_vehicles, 4) N and N m."""
    sets = [rotor_set(v.rotors) for v in model.vehicles]
    rows = [r.mixing @ np.full(r.count, r.thrust_limits[0]) for r in sets]
    return np.reshape(rows, (-1, 4))


class CommandWatch:
    """Latest wrench of every vehicle and how old it is.

    Args:
        n_vehicles: how many.
        timeout: age after which a command is stale, s.
        policy: ``hold`` keeps the last wrench until ``zero_after`` s beyond the time-out; ``zero``
            drops it at once.
        zero_after: s.
        idle: what is applied then, (n_vehicles, 4): rotors at their slowest. Those that stand still already
            go on standing.
    """

    def __init__(
        self,
        n_vehicles: int,
        *,
        timeout: float,
        policy: str,
        zero_after: float,
        idle: np.ndarray | None = None,
    ) -> None:
        self.timeout, self.policy, self.zero_after = timeout, policy, zero_after
        self._idle = np.zeros((n_vehicles, 4)) if idle is None else idle
        self._wrenches = np.zeros((n_vehicles, 4))
        self._since = np.full(n_vehicles, -np.inf)
        self.states = [ZEROED] * n_vehicles
        self._all_heard = self._are_fresh = False

    @classmethod
    def of(cls, scenario: Scenario) -> CommandWatch:
        """The watch over all vehicles of a scenario."""
        timing = scenario.time
        return cls(
            len(scenario.model.vehicles),
            timeout=timing.command_timeout_s,
            policy=timing.timeout_policy,
            zero_after=timing.timeout_zero_s,
            idle=idle_wrenches(scenario.model),
        )

    def reset(self) -> None:
        """Forget all commands."""
        self._wrenches[:] = 0.0
        self._since[:] = -np.inf
        self.states = [ZEROED] * len(self.states)
        self._all_heard = self._are_fresh = False

    def accept(self, vehicle: int, wrench: np.ndarray, time: float) -> None:
        """A valid command (4,) of simulation time ``time`` has come."""
        self._wrenches[vehicle] = wrench
        self._since[vehicle] = time

    def accept_all(self, wrenches: np.ndarray, time: float) -> None:
        """Valid commands of all vehicles, (n_vehicles, 4), of simulation time ``time`` have come."""
        self._wrenches[:] = wrenches
        self._since[:] = time

    def heard(self) -> bool:
        """True if every vehicle has been commanded since the last reset."""
        if not self._all_heard:
            self._all_heard = bool(np.all(np.isfinite(self._since)))
        return self._all_heard

    def wrenches(self, time: float) -> tuple[np.ndarray, list[tuple[int, str]]]:
        """Wrenches to apply at ``time`` (n, 4), and the vehicles whose state changed, with their new state."""
        out = self._wrenches.copy()
        if time - self._since.min(initial=np.inf) <= self.timeout and self._are_fresh:
            return out, []
        changes = []
        for i, since in enumerate(self._since):
            age = time - since
            if age <= self.timeout:
                state = FRESH
            elif self.policy == "hold" and age <= self.timeout + self.zero_after:
                state = HELD
            else:
                state = ZEROED
                out[i] = self._idle[i] if out[i].any() else 0.0
            if state != self.states[i]:
                self.states[i] = state
                changes.append((i, state))
        self._are_fresh = all(state == FRESH for state in self.states)
        return out, changes
