"""The law ``planned`` of a team: an optimized flight is flown again, with its feedback.

Equation (P.24), docs/theory/planning.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rotor_control.team_laws import TeamLaw
from rotor_core.config.controllers import PlannedControl
from rotor_core.config.initial import initial_states
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team
from rotor_core.errors import ConfigError
from rotor_core.plans.plan import Plan
from rotor_core.reference import Reference
from rotor_core.saved.arrays import read_arrays
from rotor_core.state import FULL_STATE, STATE, State, blended
from rotor_dynamics.sensitivities.shooting import Shooting
from rotor_flight.optimal.inputs import inputs_of
from rotor_sim.plant.system import system_from_scenario

ARRAYS = {"time": 1, "states": 3, "inputs": 2, "gains": 3, "hold_gains": 2}
"""What a file must hold, and in how many dimensions."""

SAME_PLAN = 1e-4
"""Plans are the same if they take as long and go through the same places, to this, s and m."""


@dataclass(frozen=True)
class PlannedFlight:
    """Flight that `./rotor optimize` has found.

    Attributes:
        time: ends of periods, (N + 1,) s from 0.
        states: of all entities then, (N + 1, n_entities, 13).
        inputs: thrusts of all rotors in every period, (N, m) N.
        gains: of the feedback in every period, (N, m, n).
        hold_gains: of the regulator about the start, (m, n).
    """

    time: np.ndarray
    states: np.ndarray
    inputs: np.ndarray
    gains: np.ndarray
    hold_gains: np.ndarray

    @classmethod
    def read(cls, path: str) -> PlannedFlight:
        """From ``solution.npz``.

        Raises:
            ConfigError: it cannot be read, or holds something else.
        """
        try:
            found = read_arrays(Path(path))
            arrays = {name: np.array(found[name], float) for name in ARRAYS}
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(
                f"controller.path: {path} is no solution ({error}). Give a solution.npz of ./rotor optimize --out DIR."
            ) from error
        if not _fit(arrays) or not all(np.isfinite(a).all() for a in arrays.values()):
            raise ConfigError(
                f"controller.path: the arrays of {path} do not fit each other. Make it again: ./rotor optimize."
            )
        return cls(**arrays)

    @property
    def duration(self) -> float:
        """S."""
        return float(self.time[-1])

    def period(self, t: float) -> int:
        """Number of the period at ``t``."""
        k = int(np.searchsorted(self.time, t, side="right")) - 1
        return min(max(k, 0), len(self.inputs) - 1)

    def impulse(self, t: float, after: np.ndarray) -> np.ndarray:
        """Integral of the thrusts up to ``t``, (m,) N s; behind the end they are ``after``."""
        lengths = np.clip(t - self.time[:-1], 0.0, np.diff(self.time))
        return lengths @ self.inputs + max(t - self.duration, 0.0) * after


def _fit(arrays: dict[str, np.ndarray]) -> bool:
    """True if the arrays of a solution have the shapes that they must have, and its times increase from 0."""
    if any(arrays[name].ndim != dimensions for name, dimensions in ARRAYS.items()):
        return False
    time, states, inputs, gains = (arrays[n] for n in ("time", "states", "inputs", "gains"))
    n, m = inputs.shape
    return (
        n > 0
        and time.shape == (n + 1,)
        and states.shape[::2] == (n + 1, int(STATE))
        and gains.shape[:2] == (n, m)
        and arrays["hold_gains"].shape == gains.shape[1:]
        and time[0] == 0.0
        and bool(np.all(np.diff(time) > 0.0))
    )


class PlannedLaw(TeamLaw):
    """Thrusts of an optimized flight and its feedback, for all vehicles of a scenario."""

    uses_gains = False

    def __init__(self, scenario: Scenario, team: Team) -> None:
        super().__init__(scenario, team)
        control = scenario.controller
        assert isinstance(control, PlannedControl)
        model = scenario.model
        if len(team.vehicles) != len(model.vehicles):
            raise ConfigError(
                "controller.type: planned flies one team, to which all vehicles belong; the team of "
                f"{team.entity!r} is not all. Give the others a scenario of their own."
            )
        self._flight = flight = PlannedFlight.read(control.path)
        self._period = scenario.time.control_s
        nominal = replace(scenario, plant=(), changes=())
        self._rotors = rotors = inputs_of(nominal, winds=False)
        states = initial_states(nominal)[:, FULL_STATE].copy()
        hover = rotors.wrenches(rotors.hover)
        self._world = world = Shooting(
            system_from_scenario(nominal), states, hover, step=scenario.time.step_s, steps=1
        )
        world.check_entities(len(model.entities), "controller.type: planned")
        wanted = (rotors.n_rotors, world.n_moving)
        entities = len(model.entities)
        if (
            flight.gains.shape[1:] != wanted
            or flight.hold_gains.shape != wanted
            or flight.states.shape[1] != entities
        ):
            raise ConfigError(
                f"controller.path: {control.path} was made for another team: {flight.states.shape[1]} entities, "
                f"{flight.gains.shape[1]} rotors and {flight.gains.shape[2]} coordinates, where this one has "
                f"{entities}, {wanted[0]} and {wanted[1]}. Optimize this scenario."
            )
        self._entity = model.index(team.entity)
        self._start = flight.states[0]
        self._plan: Plan | None = None
        self._is_own, self._time = False, 0.0

    def reset(self) -> None:
        """Forget the plan."""
        self.memory[:] = 0.0
        self.forget_plan()

    def forget_plan(self) -> None:
        """Hold the formation of the start where the reference is."""
        self._plan, self._is_own, self._time = None, False, 0.0

    def follow(self, plan: Plan, t: float) -> None:
        """Remember the time in the plan, and whether it is the one of the file."""
        if plan is not self._plan:
            self._plan, self._is_own = plan, self._is_plan(plan)
        self._time = t

    def _is_plan(self, plan: Plan) -> bool:
        flight = self._flight
        if abs(plan.duration - flight.duration) > SAME_PLAN:
            return False
        there = [plan.at(min(t, plan.duration)).position for t in flight.time]
        return bool(
            np.abs(State(flight.states[:, self._entity]).position - there).max() < SAME_PLAN
        )

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the commands (n, 4) of the team."""
        flight, rotors, t = self._flight, self._rotors, self._time
        if self._is_own and 0.0 <= t < flight.duration:
            wanted, gains = self._planned(t), flight.gains[flight.period(t)]
            ends = (flight.impulse(x, rotors.hover) for x in (t + self._period, t))
            thrusts = np.subtract(*ends) / self._period
        else:
            wanted, gains, thrusts = (
                self._held(Reference(reference)),
                flight.hold_gains,
                rotors.hover,
            )
        world = self._world
        error = world.between(world.ordered(states), world.ordered(wanted))
        thrusts = np.clip(thrusts + gains @ error, rotors.lower, rotors.upper)
        out[:] = rotors.wrenches(thrusts)[self.rows[: len(out)]]

    def _planned(self, t: float) -> np.ndarray:
        """States of all entities in the plan at ``t``, (n, 13)."""
        flight = self._flight
        k = flight.period(t)
        step = flight.time[k + 1] - flight.time[k]
        share = (t - flight.time[k]) / step
        here, there = flight.states[k], flight.states[k + 1]
        out = blended(here, there, share)
        rest, begin, end = 1.0 - share, State(here), State(there)
        State(out).position[:] = rest * rest * (
            (1.0 + 2.0 * share) * begin.position + share * step * begin.velocity
        ) + share * share * ((1.0 + 2.0 * rest) * end.position - rest * step * end.velocity)
        return out

    def _held(self, wanted: Reference) -> np.ndarray:
        """States of all entities where the formation of the start is where the reference is, (n, 13)."""
        out = self._start.copy()
        State(out).position[:] += wanted.position - State(self._start).position[self._entity]
        State(out).velocity[:] = wanted.velocity
        return out
