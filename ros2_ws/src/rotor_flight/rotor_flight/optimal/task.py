"""Tasks of optimization as files: which scenario, where to, what must hold on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rotor_core.config.catalog import locate
from rotor_core.config.loader import load_scenario_beside
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.structure import bounded, build
from rotor_core.config.yaml.tree import read_tree
from rotor_core.errors import ConfigError

SCHEMA = 1


@dataclass(frozen=True)
class Goal:
    """State that an entity must have at a share of the flight.

    ``at``: share of the periods, 1 is the end. Components of ``position_m`` and ``velocity_m_s`` may be left free by
    ``free``, axes such as ``yz``.
    """

    entity: str
    at: float = bounded(gt=0.0, le=1.0)
    position_m: Vector | None = None
    velocity_m_s: Vector | None = None
    free: str = ""

    def __post_init__(self) -> None:
        if self.position_m is None and self.velocity_m_s is None:
            raise ValueError("a goal needs position_m or velocity_m_s.")
        if set(self.free) - set("xyz") or len(self.free) == 3:
            raise ValueError(
                f"free must name at most two of the axes x, y and z, got {self.free!r}."
            )


@dataclass(frozen=True)
class Weights:
    """Weights of what is merely undesirable, next to a second of a fastest flight (``haste_per_s``).

    ``thrust_per_n2_s``, ``winch_s3_per_m2``: of squares of thrusts about hover and of accelerations of winches, per
    second; ``rate_s``, ``tilt_per_s``: of squares of body rates, and of tilts and turns away from the headings of the
    start; ``energy_per_j``: of a joule at the shafts of the rotors, drag torque times speed.
    """

    thrust_per_n2_s: float = bounded(0.01, ge=0.0)
    rate_s: float = bounded(0.001, ge=0.0)
    tilt_per_s: float = bounded(0.0, ge=0.0)
    winch_s3_per_m2: float = bounded(0.01, ge=0.0)
    energy_per_j: float = bounded(0.0, ge=0.0)


@dataclass(frozen=True)
class Disturbance:
    """Starts from which the plan is flown with its feedback: standard deviations of the whole team's start."""

    flights: int = bounded(100, ge=0, le=10000)
    position_m: float = bounded(0.03, ge=0.0)
    velocity_m_s: float = bounded(0.05, ge=0.0)
    within_m: float = bounded(0.2, gt=0.0)
    seed: int = bounded(0, ge=0)


@dataclass(frozen=True)
class Task:
    """Task that ``./rotor optimize`` reads.

    Attributes:
        scenario: shipped name or path (from the file of the task); its start, model, obstacles and limits count.
        goals: on the way, in the order of their times.
        rest_at: entity and place where everything ends at rest, in the formation of the start.
        duration_s: of the flight; of a fastest one the first guess.
        periods: control periods, in each of which thrusts of rotors are held.
        steps: of the integrator in each.
        guess: where the solver begins: ``follow``, a flight through the goals of the entity, stabilized about hover;
            ``stops``, the same with a rest at every goal and straight lines between;
            ``trajectory``, one along the scenario's trajectory, which knows its obstacles; or ``hover``, which leaves
            it free.
        fastest: the flight is to be as short as it can; every stretch between goals gets its own time.
        haste_per_s: cost of a second of a fastest flight.
        clearance_m: vehicles, payload and taut cables keep this distance from obstacles and each other.
        tension_n: least and largest tension of every cable; left out: cables may be slack.
        reserve: share of the range of every rotor's thrust that the plan leaves to feedback, at both ends.
        tolerance: of goals (m, m/s), clearances (m) and tensions (share of the weight of all).
        iterations, rounds: at most, of the solver.
    """

    schema: int
    scenario: str
    description: str = ""
    goals: tuple[Goal, ...] = ()
    rest_at: Vector | None = None
    entity: str = "payload"
    duration_s: float = bounded(3.0, gt=0.0, le=1000.0)
    periods: int = bounded(60, ge=2, le=2000)
    steps: int = bounded(10, ge=1, le=1000)
    guess: Literal["follow", "stops", "trajectory", "hover"] = "follow"
    fastest: bool = False
    haste_per_s: float = bounded(1.0, gt=0.0)
    clearance_m: float | None = bounded(None, ge=0.0)
    tension_n: tuple[float, float] | None = None
    weights: Weights = field(default_factory=Weights)
    disturbed: Disturbance = field(default_factory=Disturbance)
    reserve: float = bounded(0.1, ge=0.0, lt=0.5)
    tolerance: float = bounded(2e-3, gt=0.0)
    iterations: int = bounded(80, ge=1, le=10000)
    rounds: int = bounded(10, ge=1, le=100)

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise ValueError(f"schema must be {SCHEMA}, got {self.schema}.")
        times = [g.at for g in self.goals]
        if times != sorted(times):
            raise ValueError("goals must be in the order of their times (at).")
        self._check_goals()
        if not self.goals and self.rest_at is None:
            raise ValueError("a task needs goals, or rest_at.")
        if self.tension_n is not None and not 0.0 <= self.tension_n[0] < self.tension_n[1]:
            raise ValueError(f"tension_n must be [least, most], got {list(self.tension_n)}.")

    def node(self, goal: Goal) -> int:
        """Control period at whose end a goal holds: the nearest."""
        return max(1, round(goal.at * self.periods))

    def _check_goals(self) -> None:
        """Refuse goals of one entity that want different things at one time."""
        wanted: dict[tuple[str, int, str, int], tuple[float, str]] = {}
        goals = [(f"goals[{i}]", goal) for i, goal in enumerate(self.goals)]
        if self.rest_at is not None:
            goals.append(("rest_at", Goal(self.entity, 1.0, self.rest_at, (0.0, 0.0, 0.0))))
        for place, goal in goals:
            held = [axis for axis, name in enumerate("xyz") if name not in goal.free]
            for key, vector in (
                ("position_m", goal.position_m),
                ("velocity_m_s", goal.velocity_m_s),
            ):
                for axis, value in enumerate(vector or ()):
                    if axis not in held:
                        continue
                    known, other = wanted.setdefault(
                        (goal.entity, self.node(goal), key, axis), (value, place)
                    )
                    if known != value:
                        raise ValueError(
                            f"{other} and {place} want {known:g} and {value:g} of {key}[{axis}] of {goal.entity!r} "
                            f"at the end of the same period ({self.node(goal)} of {self.periods}). Change one, or give "
                            "more periods."
                        )


def load_task(name: str) -> tuple[Task, Scenario, str]:
    """A task of the folder ``config/tasks``, or a file: itself, its scenario, and its name.

    Raises:
        ConfigError: with file, line, value, limit and remedy.
    """
    path = locate("tasks", name)
    task = build(Task, read_tree(path))
    scenario = load_scenario_beside(path, task.scenario)
    known = [e.name for e in scenario.model.entities]
    for entity in [*(g.entity for g in task.goals), *([task.entity] if task.rest_at else [])]:
        if entity not in known:
            raise ConfigError(
                f"{path}: there is no entity {entity!r} in {scenario.name}; it has {', '.join(known)}."
            )
    return task, scenario, path.stem
