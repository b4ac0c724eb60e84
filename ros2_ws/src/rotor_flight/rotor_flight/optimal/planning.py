"""From a task to a flight: what is minimized, the solution, and how it flies from disturbed starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from rotor_core.config.initial import upright
from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError, SolverError
from rotor_core.plans.plan import AXES, Plan, hold
from rotor_core.state import STATE, P, Q, State, V
from rotor_dynamics.sensitivities.shooting import Periods, Shooting
from rotor_flight.optimal.ddp import Problem, Solution, Term, Trajectory, World, optimize
from rotor_flight.optimal.inputs import inputs_of
from rotor_flight.optimal.regulator import cost_to_go, feedback
from rotor_flight.optimal.task import Task
from rotor_flight.optimal.terms import (
    ClearanceTerm,
    EnergyTerm,
    InputTerm,
    StateTerm,
    TensionTerm,
    WinchTerm,
    clearance_term,
)
from rotor_planning.trajectories.from_config import make_plans
from rotor_planning.trajectories.polynomial import minimum_derivative
from rotor_sim.simulation import Simulation

GOAL = {0: 5.0, 3: 2.0, 6: 2.0, 9: 1.0}
"""Weights of what must be met at goals, by coordinates: a metre counts more than a metre per second."""

FOLLOW = (20.0, 2.0, 5.0, 0.1)
"""Weights of place, attitude, velocity and body rate in the regulator of the first guess, over a squared newton."""

WIND = (9.0, 6.0)
"""Gains of the winches of the first guess, of lengths and rates, 1/s^2 and 1/s: at 3 rad/s, without overshoot."""

END = 10.0
"""Weight of the state at the end over that on the way."""

FINEST = 1e-3
"""Steps in which a solution is flown again, s."""

LOOKS = 2
"""Steps of this flight between two looks at clearances and tensions."""

MISSING = 0.1
"""Share of a clearance that may be missing between the ends of periods, at which alone it is asked for."""

BEYOND = 0.02
"""Share of the weight by which tensions may be beyond their bounds there."""


@dataclass(frozen=True)
class Report:
    """Flights of a solution with its feedback.

    Attributes:
        misses: of the entity from its goal at the end, of every disturbed flight, (n,) m; infinite where it was lost.
        undisturbed: the same from the start that was planned for, m.
        clearance: smallest distance of what must stay apart on the planned flight, also between the ends of periods, m;
            infinite where nothing must.
        states: of entities on the planned flight at the ends of periods, (N + 1, n_entities, 13).
        times: of these, (N + 1,) s.
        tensions: (N + 1, n_cables) N.
        within: share of the disturbed flights that end near the goal.
        winches: length and rate of each, (N + 1, n_winches, 2) m and m/s.
        pulls: smallest and largest tension of all cables, also between the ends of periods, N.
        shortfalls: what the planned flight misses between the ends of periods, in words.
    """

    misses: np.ndarray
    undisturbed: float
    clearance: float
    states: np.ndarray
    times: np.ndarray
    tensions: np.ndarray
    within: float
    winches: np.ndarray
    pulls: tuple[float, float]
    shortfalls: tuple[str, ...]


def _check_known(scenario: Scenario) -> None:
    """Refuse what the shot world would leave out in silence.

    Raises:
        ContractError: moving air, or what a scenario changes on the way.
    """
    if not scenario.environment.wind.is_calm or scenario.rotors_feel_air:
        raise ContractError(
            "optimize: knows no moving air (environment.wind, wakes, ground and ceiling effect, inflow of rotors)."
        )
    if scenario.changes:
        raise ContractError(
            "optimize: knows nothing of what a scenario changes on the way (changes)."
        )


class Planning:
    """A task made ready to be solved.

    Args:
        task: what is wanted.
        scenario: what flies.

    Raises:
        ContractError: the scenario has joints, contact, wind, changes or other things that are not shot.
    """

    def __init__(self, task: Task, scenario: Scenario) -> None:
        _check_known(scenario)
        self.task, self.scenario = task, scenario
        # as the law `planned` knows it; what flies it may differ
        nominal = replace(scenario, plant=())
        simulation = Simulation(nominal)
        self.inputs = inputs_of(nominal)
        self.hover = self.inputs.hover
        self.mass = sum(e.mass_kg for e in scenario.model.entities)
        self.states = simulation.engine.motion[:, : int(STATE)].copy()
        self._system = simulation.engine.system
        step = task.duration_s / task.periods / task.steps
        self.shooting = self.shoot(step, task.steps)
        self.shooting.check_entities(len(scenario.model.entities), "optimize")
        self.legs, self.nodes_of_goals = self._legs()
        self.clearances = self._clearances()

    def shoot(self, step: float, steps: int, states: np.ndarray | None = None) -> Shooting:
        """The world of the task with these steps, from its start or other states of the members."""
        wrenches = self.inputs.wrenches(self.hover)
        return Shooting(
            self._system,
            self.states if states is None else states,
            wrenches,
            step=step,
            steps=steps,
        )

    def _legs(self) -> tuple[np.ndarray, list[int]]:
        task = self.task
        nodes = [task.node(g) for g in task.goals]
        legs = np.zeros(task.periods, int)
        if task.fastest:
            for cut in sorted({n for n in nodes if n < task.periods}):
                legs[cut:] += 1
        return legs, nodes

    def _row(self, entity: str) -> int:
        return self.shooting.row_of(self.scenario.model.index(entity))

    def _term(
        self, entity: str, first: int, target: np.ndarray, weight: np.ndarray, must: bool = False
    ) -> StateTerm:
        """About the state of an entity, which may be a part of its body; see :class:`StateTerm`."""
        pose = self.shooting.pose_of(self.scenario.model.index(entity))
        return StateTerm(self._row(entity), first, target, weight, must, pose)

    def _place(self, entity: str, state: np.ndarray) -> np.ndarray:
        """Of an entity, (3,) m, in states of bodies."""
        return State(self.shooting.members(state)[self.scenario.model.index(entity)]).position

    def _clearances(self) -> ClearanceTerm | None:
        if self.task.clearance_m is None:
            return None
        return clearance_term(self.scenario, self.shooting, self.task.clearance_m)

    def problem(self, haste: float | None = None) -> Problem:
        """The problem: cost, and constraints; ``haste``: cost of a second, default that of the task."""
        task, count = self.task, self.task.periods
        terms: list[list[Term]] = [[] for _ in range(count + 1)]
        root = np.sqrt(task.duration_s / count)
        one = np.ones(3)
        vehicles = [v.name for v in self.scenario.model.vehicles]
        weights = task.weights
        n_rotors, n_legs = self.inputs.n_rotors, int(self.legs.max()) + 1
        by_input = np.full(len(self.hover), weights.thrust_per_n2_s)
        by_input[n_rotors:] = weights.winch_s3_per_m2
        effort = InputTerm(self.hover, root * np.sqrt(by_input))
        for k in range(count):
            terms[k].append(effort)
            if weights.energy_per_j:
                leg = int(self.legs[k])
                terms[k].append(EnergyTerm(self.inputs.power, weights.energy_per_j, leg, n_legs))
            for name in vehicles:
                if weights.rate_s:
                    rate = root * np.sqrt(weights.rate_s) * one
                    terms[k].append(self._term(name, 9, np.zeros(3), rate))
                if weights.tilt_per_s:
                    tilt = root * np.sqrt(weights.tilt_per_s) * one
                    level = upright(State(self.states).attitude[vehicles.index(name)])
                    terms[k].append(self._term(name, 3, level, tilt))
            if task.tension_n is not None:
                weight = self.mass * self.scenario.environment.gravity_m_s2
                terms[k].append(TensionTerm(*task.tension_n, scale=weight))
        within = self._within_winches()
        for k in range(1, count + 1):
            if self.clearances is not None:
                terms[k].append(self.clearances)
            terms[k] += within
        for goal, node in zip(task.goals, self.nodes_of_goals, strict=True):
            kept = np.array([axis not in goal.free for axis in "xyz"], float)
            for first, wanted in ((0, goal.position_m), (6, goal.velocity_m_s)):
                if wanted is not None:
                    weight = GOAL[first] * kept
                    terms[node].append(
                        self._term(goal.entity, first, np.array(wanted), weight, True)
                    )
        if task.rest_at is not None:
            terms[count] += self._rest()
        kept = task.reserve * (self.inputs.upper - self.inputs.lower)
        inputs = replace(
            self.inputs, lower=self.inputs.lower + kept, upper=self.inputs.upper - kept
        )
        return Problem(
            self.shooting, terms, inputs, legs=self.legs,
            shortest=np.full(self.legs.max() + 1, FINEST),
            haste=(task.haste_per_s if task.fastest else 0.0) if haste is None else haste,
        )  # fmt: skip

    def _within_winches(self) -> list[Term]:
        """Limits of the winches."""
        winches = [c.winch for c in self.scenario.model.cables if c.winch is not None]
        if not winches:
            return []
        least, most = np.array([w.lengths_m for w in winches]).T
        return [WinchTerm(least, most, np.array([w.rate_m_s for w in winches]))]

    def _rest(self) -> list[Term]:
        """Everything at rest in the formation of the start, moved to ``rest_at``."""
        start = self.shooting.state(self.shooting.start[1]).copy()
        moved = np.array(self.task.rest_at) - self._place(self.task.entity, start)
        one = np.ones(3)
        nothing = np.zeros(self.inputs.n_winches)
        terms: list[Term] = [WinchTerm(nothing, nothing, nothing)] if len(nothing) else []
        for b in range(len(start)):
            place = start[b, P : P + 3] + moved
            terms.append(StateTerm(b, 0, place, GOAL[0] * one, True))
            terms.append(StateTerm(b, 6, np.zeros(3), GOAL[6] * one, True))
            if b in self.shooting.turning:
                attitude = start[b, Q : Q + 4].copy()
                terms.append(StateTerm(b, 3, attitude, GOAL[3] * one, True))
                terms.append(StateTerm(b, 9, np.zeros(3), GOAL[9] * one, True))
        return terms

    def solve(self, report: Callable[[int, float, float, float], None] | None = None) -> Solution:
        """Minimize from a hover.

        Raises:
            SolverError: the engine cannot follow the hover.
        """
        task = self.task
        lengths = np.full(self.legs.max() + 1, task.duration_s / task.periods)
        problem = self.problem()
        policy = self._follow() if task.guess != "hover" else lambda k, world: self.hover
        if task.fastest:  # first any flight that does what must be done, then a fast one
            calm = optimize(
                self.problem(haste=0.0), policy, lengths, iterations=task.iterations, rounds=task.rounds,
                tolerance=task.tolerance, report=report,
            )  # fmt: skip
            policy = self._feedback(calm, self.shooting)
        return optimize(
            problem, policy, lengths, iterations=task.iterations, rounds=task.rounds, tolerance=task.tolerance,
            report=report,
        )  # fmt: skip

    def _feedback(self, solution: Solution, world: Shooting) -> Callable[[int, World], np.ndarray]:
        """Policy of a solution: its inputs, and the regulator of least squares about its nodes."""
        planned = solution.trajectory

        def policy(k: int, now: World) -> np.ndarray:
            return planned.inputs[k] + solution.gains[k] @ world.difference(
                now[1], planned.nodes[k][1]
            )

        return policy

    def regulated(self, solution: Solution) -> Solution:
        """The solution with other gains: those of a regulator about it, without its constraints and bounds.

        It acts with the rotors on the motion of the bodies; winches wind as planned.
        """
        planned, world = solution.trajectory, self.shooting
        steps = planned.lengths[self.legs] / world.steps
        wrenches = self.inputs.of_world(planned.inputs)
        about = world.linearize(planned.nodes[:-1], wrenches, steps)
        weight, R = self._regulator()
        value, gains = END * weight, np.zeros_like(solution.gains)
        for k in reversed(range(len(gains))):
            A, B = self._moving(about, k)
            K = feedback(A, B, value, R)
            gains[k, : len(K), : len(A)] = K
            value = weight + A.T @ value @ (A + B @ K)
            value = 0.5 * (value + value.T)
        return replace(solution, gains=gains)

    def _regulator(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the motion of the bodies and of thrusts."""
        wanted = [FOLLOW[axis // 3] for axis in self.shooting.axes]
        return np.diag(wanted), np.eye(self.inputs.n_rotors)

    def _moving(self, about: Periods, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Linear map of a period, of the motion of the bodies with itself and with the thrusts."""
        n, B = self.shooting.n_moving, about.B[k] @ self.inputs.mixing
        return about.A[k][:n, :n], B[:n, : self.inputs.n_rotors]

    def hold_gains(self) -> np.ndarray:
        """Gains of the regulator that holds the start, (n_rotors, n_moving)."""
        about = self.shooting.linearize(
            [self.shooting.start], self.inputs.of_world(self.hover)[None]
        )
        A, B = self._moving(about, 0)
        weight, R = self._regulator()
        return feedback(A, B, cost_to_go(A, B, weight, R), R)

    def _follow(self) -> Callable[[int, World], np.ndarray]:
        """Policy that moves the formation of the start through the goals of the entity.

        The regulator of least squares about the hover (SciPy's discrete Riccati equation) over one period. Where
        winches wind all cables, they move a payload up and down, and the vehicles keep their height.
        """
        task, world = self.task, self.shooting
        K = self.hold_gains()
        start = world.state(world.start[1]).copy()
        row = self._row(task.entity)
        here = self._place(task.entity, start)
        plan = self._guessed_plan(here)
        pace = plan.duration / task.duration_s
        moved = start.copy()
        hung = row not in [self._row(v.name) for v in self.scenario.model.vehicles]
        winds = hung and 0 < self.inputs.n_winches == len(self.scenario.model.cables)
        wound = world.winding(world.start[1])[:, 0]

        def policy(k: int, now: World) -> np.ndarray:
            reference = plan.at(plan.duration * k / task.periods)
            by, at = reference.position - here, pace * reference.velocity
            moved[:] = start
            moved[:, P : P + 3] += by
            moved[:, V : V + 3] += at
            out = self.hover.copy()
            if winds:
                others = np.arange(len(moved)) != row
                moved[others, P + 2] -= by[2]
                moved[others, V + 2] -= at[2]
                lengths, rates = world.winding(now[1]).T
                out[len(K) :] = WIND[0] * (wound - by[2] - lengths) - WIND[1] * (at[2] + rates)
            out[: len(K)] += K @ world.between(world.state(now[1]), moved)
            return out

        return policy

    def _guessed_plan(self, here: np.ndarray) -> Plan:
        """Of the entity: the scenario's trajectory, or a smooth path through its goals at their times."""
        task = self.task
        if task.guess == "trajectory":
            return make_plans(self.scenario)[task.entity]
        goals = [g for g in task.goals if g.entity == task.entity and g.position_m and not g.free]
        at = [(g.at, g.position_m) for g in goals]
        if task.rest_at is not None:
            at.append((1.0, task.rest_at))
        if not at:
            return hold(here)
        times = task.duration_s * np.diff([0.0, *(share for share, _ in at)])
        places = np.array([here, *(place for _, place in at)])
        if task.guess == "stops":
            legs = [
                minimum_derivative(places[i : i + 2], times[i : i + 1], derivative=4)
                for i in range(len(times))
            ]
            pieces = np.concatenate(legs)
        else:
            pieces = minimum_derivative(places, times, derivative=4)
        coefficients = np.zeros((len(times), AXES, pieces.shape[2]))
        coefficients[:, :3] = pieces
        return Plan(times, coefficients)

    def duration(self, solution: Solution) -> float:
        """Of a solution, s."""
        return float(solution.trajectory.lengths[self.legs].sum())

    def fly(self, solution: Solution, states: np.ndarray | None = None) -> Trajectory | None:
        """Fly a solution with its feedback in steps of a millisecond, from its start or from other states."""
        lengths = solution.trajectory.lengths
        steps = max(1, round(float(lengths.max()) / FINEST))
        world = self.shoot(float(lengths[0]) / steps, steps, states)
        nothing = [[] for _ in range(self.task.periods + 1)]
        problem = Problem(world, nothing, self.inputs, legs=self.legs)
        return problem.fly(self._feedback(solution, world), lengths)

    def judge(self, solution: Solution) -> Report:
        """Fly a solution with its feedback, from its start and from disturbed ones."""
        solution = self.regulated(solution)
        task, rng = self.task, np.random.default_rng(self.task.disturbed.seed)
        entity, goal, kept = self._last_goal(solution)

        def miss(flown: Trajectory | None) -> float:
            if flown is None:
                return np.inf
            end = self._place(entity, self.shooting.state(flown.nodes[-1][1]))
            return float(np.linalg.norm(kept * (end - goal)))

        whole = self.fly(solution)
        misses = []
        for _ in range(task.disturbed.flights):
            states = self.states.copy()
            State(states).position[:] += rng.normal(0.0, task.disturbed.position_m, 3)
            State(states).velocity[:] += rng.normal(0.0, task.disturbed.velocity_m_s, 3)
            misses.append(miss(self.fly(solution, states)))
        flown = whole or solution.trajectory
        states = np.array([self._entities(floats) for _, floats in flown.nodes])
        times = np.append(0.0, np.cumsum(flown.lengths[self.legs]))
        clearance, pulls = self._closest(solution)
        tensions = np.array([self.shooting.tensions(floats) for _, floats in flown.nodes])
        within = float(np.mean(np.array(misses) < task.disturbed.within_m)) if misses else 1.0
        winches = np.array([self.shooting.winding(floats) for _, floats in flown.nodes])
        return Report(
            np.array(misses), miss(whole), clearance, states, times, tensions, within, winches, pulls,
            self._shortfalls(clearance, pulls),
        )  # fmt: skip

    def _last_goal(self, solution: Solution) -> tuple[str, np.ndarray, np.ndarray]:
        """Who is to be where at the end, (3,) m, and 1 for the axes that count; where the plan ends, if nobody says."""
        task, free = self.task, ""
        entity, place = task.entity, task.rest_at
        if place is None:
            last = [goal for goal in task.goals if goal.at == 1.0] or [task.goals[-1]]
            entity, free = last[-1].entity, last[-1].free
            place = last[-1].position_m if last[-1].at == 1.0 else None
        if place is None:
            end = self.shooting.state(solution.trajectory.nodes[-1][1])
            place = self._place(entity, end)
        return entity, np.array(place), np.array([axis not in free for axis in "xyz"], float)

    def _worlds(self, solution: Solution) -> Iterator[np.ndarray]:
        """The planned flight with its feedback, every few steps, to where the engine can go on."""
        lengths = solution.trajectory.lengths
        looks = max(1, round(float(lengths.max()) / (LOOKS * FINEST)))
        world = self.shoot(float(lengths[0]) / (looks * LOOKS), LOOKS)
        policy, node = self._feedback(solution, world), world.start
        for k, leg in enumerate(self.legs):
            asked = np.clip(policy(k, node), self.inputs.lower, self.inputs.upper)
            for _ in range(looks):
                try:
                    node = world.period(
                        *node, self.inputs.of_world(asked), float(lengths[leg]) / (looks * LOOKS)
                    )
                except SolverError:
                    return
                yield node[1]

    def _closest(self, solution: Solution) -> tuple[float, tuple[float, float]]:
        """Smallest distance of what must stay apart, m, and smallest and largest tension, N, all along the flight."""
        clearance, least, most = np.inf, np.inf, 0.0
        for floats in self._worlds(solution):
            if self.clearances is not None:
                clearance = min(
                    [clearance, *self.clearances.distances(self.shooting.state(floats))]
                )
            pulls = self.shooting.tensions(floats)
            least, most = min(least, pulls.min(initial=np.inf)), max(most, pulls.max(initial=0.0))
        return clearance, (float(least), float(most))

    def _shortfalls(self, clearance: float, pulls: tuple[float, float]) -> tuple[str, ...]:
        """What is missed between the ends of periods, in words."""
        task, found = self.task, []
        weight = self.mass * self.scenario.environment.gravity_m_s2
        if task.clearance_m is not None and clearance < (1.0 - MISSING) * task.clearance_m:
            found.append(f"the clearance is {clearance:.3g} m of {task.clearance_m:g}")
        if task.tension_n is not None:
            (least, most), (low, high) = pulls, task.tension_n
            if least < low - BEYOND * weight:
                found.append(f"a tension is {least:.3g} N of at least {low:g}")
            if most > high + BEYOND * weight:
                found.append(f"a tension is {most:.3g} N of at most {high:g}")
        return tuple(found)

    def _entities(self, floats: np.ndarray) -> np.ndarray:
        """States of all entities, (n_entities, 13)."""
        return self.shooting.members(self.shooting.state(floats))
