"""The law ``predictive`` of a team with a payload on cables: optimal over a horizon, solved again and again.

One step of differential dynamic programming over the nominal world at every solution (real-time iteration: Diehl,
Bock and Schloeder 2005), begun from the last one; its feedback acts in between. Beyond the horizon the cost is that of
the regulator about hover. Equations (C.49), (P.20), (P.21), docs/theory/control.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_control.team_laws import TeamLaw
from rotor_core.config.controllers import PredictiveControl
from rotor_core.config.initial import initial_states, upright
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team
from rotor_core.errors import ConfigError, RotorError
from rotor_core.plans.plan import Plan
from rotor_core.reference import Reference
from rotor_core.state import FULL_STATE, STATE, State, blended
from rotor_dynamics.model.system import System
from rotor_dynamics.sensitivities.shooting import Shooting
from rotor_flight.optimal.ddp import Node, Problem, Term, World, backward, search
from rotor_flight.optimal.fitting import fit_to_cables
from rotor_flight.optimal.inputs import inputs_of
from rotor_flight.optimal.regulator import cost_to_go
from rotor_flight.optimal.terms import (
    ClearanceTerm,
    Excess,
    InputTerm,
    StatesTerm,
    TensionTerm,
    clearance_term,
)
from rotor_sim.plant.system import system_from_scenario

DAMPING = 1e-6
"""Of the inputs' Hessian, relative to its diagonal."""

SHARES = (1.0, 0.5, 0.2, 0.05)
"""Shares of a step that are tried, while none costs less: far from the reference the first may be too long."""


@dataclass(frozen=True)
class EndTerm(Term):
    """Cost beyond the horizon: half the square of ``root (x - target)``.

    Attributes:
        root: (n, n).
        target: states of the bodies there, (n_bodies, 13).
    """

    root: np.ndarray
    target: np.ndarray

    def residual(self, node: Node) -> np.ndarray:
        """Weighted deviation of the whole state."""
        return self.root @ node.shooting.between(node.state, self.target)

    def slopes(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """With all coordinates, to first order in the deviation."""
        return self.root, np.zeros((len(self.root), len(node.inputs)))


class PredictiveLaw(TeamLaw):
    """Model-predictive control of all vehicles of a scenario and their payload.

    Attributes:
        failures: solutions that could not be made so far; the last good one goes on.
    """

    uses_gains = False

    def __init__(self, scenario: Scenario, team: Team) -> None:
        super().__init__(scenario, team)
        control = scenario.controller
        assert isinstance(control, PredictiveControl)
        model = scenario.model
        payload = team.payload and model.entities[model.index(team.payload)]
        others = len(team.vehicles) != len(model.vehicles)
        if team.rigid or others or not payload or payload.inertia_kg_m2 is None:
            raise ConfigError(
                "controller.type: predictive flies one team with a rigid payload on cables, and "
                f"{team.entity!r} is not one. Rigidly linked teams need rigid_team, point masses point_mass, single "
                "vehicles quadrotor."
            )
        self._control, self._rotors = control, inputs_of(scenario)
        nominal = replace(scenario, plant=(), changes=())
        self._system: System = system_from_scenario(nominal)
        states = initial_states(nominal)[:, FULL_STATE].copy()
        step = control.period_s / control.steps
        hover = self._rotors.wrenches(self._rotors.hover)
        self._world = Shooting(self._system, states, hover, step=step, steps=control.steps)
        self._world.check_plain("controller.type: predictive")
        if self._world.winches:
            raise ConfigError(
                "controller.type: predictive predicts cables of fixed lengths, and a winch winds "
                f"{model.cable_names[self._world.winches[0]]}. Leave the winch out, or fly the team with cable_team."
            )
        self._payload = model.index(str(team.payload))
        places = State(states).position
        attitudes = State(states).attitude
        self._formation = (places - places[self._payload]) @ quat2mat(attitudes[self._payload])
        """Places in the axes of the payload (C.49)."""
        self._attitudes = np.array([upright(q) for q in attitudes])
        """Of the start, level: vehicles keep their headings."""
        self._every = max(1, round(control.solve_s / scenario.time.control_s))
        self._period = scenario.time.control_s
        effort = np.sqrt(control.period_s * control.thrust)
        self._effort = InputTerm(self._rotors.hover, np.full(len(self._rotors.hover), effort))
        self._weight, self._end = self._state_weight(), self._end_cost()
        cables = [c for c in self._system.cables if min(c.a, c.b) >= 0]
        self._cables = (
            np.array([(c.a, c.b) for c in cables], np.int64),
            np.array([(c.r_a, c.r_b) for c in cables], float),
            np.array([c.length for c in cables], float),
        )
        self._distances = self._clearance(nominal)
        self._plan: tuple[Plan, float] | None = None
        self.reset()

    def reset(self) -> None:
        """Forget the last solution."""
        self.memory[:] = 0.0
        self._count, self.failures = 0, 0
        n, m = self._control.periods, len(self._rotors.hover)
        # the last solution, as arrays: a flight that is saved keeps them
        self._is_solved, self._age = False, 0.0
        self._nodes = np.zeros((n + 1, len(self._world.start[1])))
        self._inputs = np.zeros((n, m))
        self._gains = np.zeros((n, m, self._world.n))

    def follow(self, plan: Plan, t: float) -> None:
        """Remember the plan and the time in it."""
        self._plan = plan, t

    def forget_plan(self) -> None:
        """Hold what is referred to."""
        self._plan = None

    def _end_cost(self) -> np.ndarray:
        """Root of the cost of the regulator about hover."""
        world, rotors = self._world, self._rotors
        about = world.linearize([world.start], rotors.wrenches(rotors.hover)[None], threads=1)
        A, B = about.A[0], about.B[0] @ rotors.mixing
        c = self._control
        weight = np.zeros(world.n)
        for i, (body, axis) in enumerate(zip(world.bodies, world.axes, strict=True)):
            if body == world.row_of(self._payload):
                weight[i] = (c.place, c.attitude, c.velocity, c.rate)[axis // 3]
            else:
                weight[i] = (c.formation, 0.1 * c.attitude, 0.1 * c.velocity, c.vehicle_rate)[
                    axis // 3
                ]
        share = c.period_s
        value = cost_to_go(A, B, share * np.diag(weight), share * c.thrust * np.eye(B.shape[1]))
        values, vectors = np.linalg.eigh(0.5 * (value + value.T))
        return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T

    def _clearance(self, nominal: Scenario) -> ClearanceTerm | None:
        """Distances that are to be kept; None where none are asked for."""
        least = self._control.clearance_m
        if least is None:
            return None
        return clearance_term(nominal, self._world, least, watched=0.0, overlapping=0.0)

    def _problem(self, reference: np.ndarray) -> Problem:
        """Cost over the horizon from now on."""
        c, world, rotors = self._control, self._world, self._rotors
        terms: list[list[Term]] = []
        wanted = Reference(reference)
        for k in range(c.periods + 1):
            if self._plan is not None:
                plan, t = self._plan
                wanted = Reference(plan.sample(t + k * c.period_s))
            at: list[Term] = []
            if k < c.periods:
                at.append(self._effort)
                if c.tension_n is not None:
                    at.append(Excess(TensionTerm(*c.tension_n), c.period_s * c.tension))
            if k > 0:
                target = self._moved(wanted)
                if self._distances is not None:
                    at.append(Excess(self._distances, c.period_s * c.clearance))
                if k < c.periods:
                    at.append(StatesTerm(target, self._weight, np.flatnonzero(self._weight)))
                else:
                    at.append(EndTerm(self._end, target))
            terms.append(at)
        return Problem(world, terms, rotors)

    def _state_weight(self) -> np.ndarray:
        """Roots of the weights of all coordinates at a node, (n,)."""
        c, world = self._control, self._world
        of_payload = c.place, c.attitude, c.velocity, c.rate
        of_vehicle = c.formation, 0.0, 0.0, c.vehicle_rate
        payload = world.row_of(self._payload)
        kinds = [
            (of_payload if body == payload else of_vehicle)[axis // 3]
            for body, axis in zip(world.bodies, world.axes, strict=True)
        ]
        return np.sqrt(c.period_s * np.array(kinds))

    def _moved(self, wanted: Reference) -> np.ndarray:
        """States of the bodies where the formation of the start is carried along by the payload, (n_bodies, 13)."""
        R = quat2mat(wanted.attitude)
        states = np.zeros((len(self._formation), int(STATE)))
        moved = State(states)
        moved.position[:] = wanted.position + self._formation @ R.T
        moved.attitude[:] = self._attitudes
        moved.velocity[:] = wanted.velocity + np.cross(wanted.body_rate, self._formation) @ R.T
        moved.attitude[self._payload] = wanted.attitude
        moved.body_rate[self._payload] = wanted.body_rate
        return self._world.ordered(states)

    def _fitted(self, states: np.ndarray) -> np.ndarray:
        """Measured states with vehicles put onto the spheres of their nominal cables where these are taut."""
        out = states[:, FULL_STATE].copy()
        fit_to_cables(out, *self._cables)
        return out

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the commands (n, 4) of the team."""
        fitted = self._fitted(states)
        if self._count % self._every == 0:
            self._solve(fitted, reference)
        out[:] = self._rotors.wrenches(self._act(fitted))[self.rows[: len(out)]]
        self._count += 1
        self._age += self._period

    def _act(self, fitted: np.ndarray) -> np.ndarray:
        """Thrusts of the solution, with its feedback about where it wants to be now."""
        if not self._is_solved:
            return self._rotors.hover
        c, world = self._control, self._world
        k = min(int(self._age / c.period_s + 1e-9), c.periods - 1)
        share = min(max(self._age / c.period_s - k, 0.0), 1.0)
        wanted = blended(world.state(self._nodes[k]), world.state(self._nodes[k + 1]), share)
        thrusts = self._inputs[k] + self._gains[k] @ world.between(world.ordered(fitted), wanted)
        return np.clip(thrusts, self._rotors.lower, self._rotors.upper)

    def _solve(self, fitted: np.ndarray, reference: np.ndarray) -> None:
        """One step from the last solution."""
        world, rotors, c = self._world, self._rotors, self._control
        try:
            world.begin(fitted, rotors.wrenches(self._act(fitted)))
            problem = self._problem(reference)
            ahead = int(self._age / c.period_s + 0.5)

            def before(k: int, now: World) -> np.ndarray:
                i = k + ahead
                if not self._is_solved or i >= c.periods:
                    return rotors.hover
                return self._inputs[i] + self._gains[i] @ world.difference(now[1], self._nodes[i])

            lengths = np.array([c.period_s])
            guess = problem.fly(before, lengths)
            if guess is None:
                raise RotorError("the guess cannot be flown")
            periods = world.linearize(guess.nodes[:-1], rotors.wrenches(guess.inputs), threads=1)
            found = backward(problem, guess, periods, DAMPING)
            if found is None:
                raise RotorError("no step")
            steps, gains, change, _ = found
            better = search(
                problem, guess, steps, gains, change, problem.cost(guess)[0], 0.0, SHARES
            )
            solution = better[0] if better else guess
            self._nodes[:] = [floats for _, floats in solution.nodes]
            self._inputs[:], self._gains[:] = solution.inputs, gains[:, :, : world.n]
            self._is_solved, self._age = True, 0.0
            if self._distances is not None:
                self._distances.forget()
        except RotorError as error:
            if not self.failures:
                print(f"predictive: no solution ({error}); the last one goes on", file=sys.stderr)
            self.failures += 1
