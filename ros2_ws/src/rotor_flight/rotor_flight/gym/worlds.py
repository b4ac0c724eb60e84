"""Many copies of a team that somebody learns to fly: the task behind the Gymnasium environments.

The planned entity (the payload, or a vehicle alone) is to be brought to where the scenario starts it, and
held there. Actions are thrusts and moments of all vehicles, scaled; observations are the states of all
bodies as seen from where each would rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rotor_control.controller import make_controller
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import load_scenario
from rotor_core.config.teams import teams
from rotor_core.config.vehicles.outline import standing_height
from rotor_core.config.yaml.units import SAME_TIME, rpy_from_wxyz
from rotor_core.errors import ConfigError, ContractError
from rotor_core.math.rotations import rotation_matrices
from rotor_core.plans.plan import hold
from rotor_core.state import FULL_STATE, State
from rotor_core.vehicles.rotors import rotor_limits, rotor_set
from rotor_dynamics.batch import Batch
from rotor_dynamics.sensitivities.linearization import Transition
from rotor_sim.actuation.modes import start_internal_rotors
from rotor_sim.plant.system import system_from_scenario, thrust_gain

SOLID, POINT = 18, 6
"""Numbers of an observation for a body with and without attitude: position, velocity, rotation matrix, rates."""


FARTHEST = 1000.0
"""Observations end here, m, m/s, rad/s: a world that is lost may go anywhere."""


@dataclass(frozen=True)
class Task:
    """Learning task: scenario, timing, initial spread, and scale of the actions.

    Attributes:
        scenario: shipped name or path: one team of multirotors, its trajectory is not used.
        period_s: of an action.
        limit_s: of an episode.
        spread_m, speed_m_s: the team starts up to this far from its goal in each axis, moving up to this fast.
        tilt_deg: vehicles lean up to this much at the start, unless they are rigidly linked.
        lost_m: an episode ends where the planned entity is farther from its goal.
        share: of the hover thrust, and of the largest moment, that an action of 1 adds.

    Raises:
        ConfigError: a number that none of these can be.
    """

    scenario: str = "hover"
    period_s: float = 0.02
    limit_s: float = 5.0
    spread_m: float = 0.5
    speed_m_s: float = 0.3
    tilt_deg: float = 10.0
    lost_m: float = 3.0
    share: float = 0.5

    def __post_init__(self) -> None:
        may_be_zero = ("spread_m", "speed_m_s", "tilt_deg")
        for name in ("period_s", "limit_s", "lost_m", "share", *may_be_zero):
            value, sign = getattr(self, name), ">=" if name in may_be_zero else ">"
            number = isinstance(value, (int, float)) and np.isfinite(value)
            if not (number and (value > 0.0 or (value == 0.0 and name in may_be_zero))):
                raise ConfigError(f"{name}: must be a finite number {sign} 0, got {value!r}.")


class Worlds:
    """``count`` worlds of a task, stepped together.

    Raises:
        ConfigError: the scenario is not suitable for this.
    """

    def __init__(self, task: Task, count: int) -> None:
        self.task, self.count = task, count
        self.scenario = scenario = load_scenario(task.scenario)
        model, found = scenario.model, teams(scenario.model)
        if len(found) != 1 or any(v.moving_joints or v.helicopter for v in model.vehicles):
            raise ConfigError(
                f"{task.scenario}: an environment needs one team of multirotors without arms."
            )
        if not scenario.environment.wind.is_calm or scenario.rotors_feel_air:
            raise ConfigError(
                f"{task.scenario}: environments for learning have still air; leave out environment.wind, "
                "wakes, ground_effect (with wrenches) and ceiling_effect, and inflow of rotors."
            )
        if any(
            c.thrust_gain_per_s or c.attitude_bias_rad or c.velocity_gain for c in scenario.plant
        ):
            raise ConfigError(
                f"{task.scenario}: environments for learning have constant plants whose states are seen as they are; "
                "leave out thrust_gain_per_s, attitude_bias_rad and velocity_gain of plant."
            )
        if scenario.changes:
            raise ConfigError(
                f"{task.scenario}: environments for learning stay as they begin; leave out changes."
            )
        if any(c.mass_kg_per_m or (c.winch and c.winch.drum) for c in model.cables):
            raise ConfigError(
                f"{task.scenario}: environments for learning have cables without mass, and no drums; leave out "
                "mass_kg_per_m and drum of cables."
            )
        if any("world" in (c.a, c.b) for c in model.cables):
            raise ConfigError(
                f"{task.scenario}: episodes begin a bit aside with everything, which cables to the world do not allow. "
                "Leave these out."
            )
        step = scenario.time.step_s
        self.steps, self.periods = round(task.period_s / step), round(task.limit_s / task.period_s)
        if self.steps < 1 or abs(self.steps * step - task.period_s) > SAME_TIME:
            raise ConfigError(
                f"period_s: must be a whole number of steps of {task.scenario} ({step:g} s), got {task.period_s:g}; "
                f"the nearest is {max(self.steps, 1) * step:g}."
            )
        if self.periods < 1:
            raise ConfigError(
                f"limit_s: must be at least period_s ({task.period_s:g} s), got {task.limit_s:g}."
            )
        self.goal = initial_states(scenario)
        self._planned = model.index(found[0].entity)
        self.vehicles = len(model.vehicles)
        self._leans = not found[0].rigid
        self._solid = np.array([e.inertia_kg_m2 is not None for e in model.entities])
        sets = [rotor_set(v.rotors) for v in model.vehicles]
        gains = [thrust_gain(scenario, v.name) for v in model.vehicles]
        self._gain = np.array(gains)[:, None]
        real = [
            rotor_set(v.rotors, thrust_gain=k) for v, k in zip(model.vehicles, gains, strict=True)
        ]
        self._limits = rotor_limits(real * count)
        controller = make_controller(scenario)
        planned = State(self.goal[self._planned])
        yaw = float(rpy_from_wxyz(planned.attitude)[2])
        controller.follow(0, hold(planned.position, yaw), 0.0)
        self._hover = controller.decide(self.goal, controller.references).copy()
        if self._leans:  # moments would answer the attitudes of the start, again and again
            self._hover[:, 1:] = 0.0
        largest = [np.abs(s.mixing[1:]).sum(axis=1) * s.thrust_limits[1] / 2.0 for s in sets]
        self._scale = task.share * np.column_stack([self._hover[:, 0], np.array(largest)])
        tiled = np.tile(self.goal[:, FULL_STATE], (count, 1, 1))
        system = system_from_scenario(scenario)
        if len(system.bodies) != len(model.entities):
            raise ConfigError(
                f"{task.scenario}: environments for learning know vehicles and payloads alone; leave out wheels of "
                "cables, and actuation propellers and motors."
            )
        ground = scenario.environment.ground_m
        self._floor = np.array([ground + standing_height(model, e.name) for e in model.entities])
        self._held = [
            (k, np.array(point))
            for c in model.cables
            for end, point in ((c.a, c.a_point_m), (c.b, c.b_point_m))
            for k in [model.index(end)]
            if k < self.vehicles and any(point)
        ]
        self.batch = Batch(
            system,
            tiled,
            wrenches=self._gain * self._hover,
            prepare=lambda engine, _: start_internal_rotors(engine, scenario, engine.time),
            step=scenario.time.step_s,
            integrator=scenario.time.integrator,
            tolerance=scenario.time.tolerance,
        )
        self.states = tiled
        self.age = np.zeros(count, np.int64)
        self.width = int(np.where(self._solid, SOLID, POINT).sum())

    def restart(self, world: int, random: np.random.Generator) -> None:
        """Begin an episode of one world."""
        task = self.task
        states = self.goal[:, FULL_STATE].copy()
        State(states).position[:] += random.uniform(-task.spread_m, task.spread_m, 3)
        State(states).velocity[:] += random.uniform(-task.speed_m_s, task.speed_m_s, 3)
        for k in range(self.vehicles if self._leans else 0):
            State(states).attitude[k] = _leaning(np.radians(task.tilt_deg), random)
        for k, point in self._held if self._leans else ():  # its cable stays where it was
            turns = rotation_matrices(
                State(np.stack([self.goal[k, FULL_STATE], states[k]])).attitude
            )
            State(states).position[k] += (turns[0] - turns[1]) @ point
        if self.scenario.environment.contact is not None:  # nobody begins below the ground
            sunk = float(np.max(self._floor - State(states).position[:, 2]))
            State(states).position[:, 2] += max(sunk, 0.0)
        self.batch.restart(world, states)
        self.states[world] = states
        self.age[world] = 0

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Let actions (count, n_vehicles, 4), within -1..1, act for a period.

        Returns:
            (rewards (count,), whether the task failed, whether the time is over).

        Raises:
            ContractError: actions that are not finite; nothing is flown then.
        """
        actions = np.asarray(actions, float)
        if not np.isfinite(actions).all():
            world = int(np.argmax(~np.isfinite(actions).all(axis=(1, 2))))
            raise ContractError(
                f"action of world {world}: must be finite numbers, got {actions[world].ravel().tolist()}. The policy "
                "has diverged."
            )
        actions = np.clip(actions, -1.0, 1.0)
        wrenches = self._gain * (self._hover + self._scale * actions)
        self._limits.apply(wrenches.reshape(-1, 4))
        out = self.batch.rollout(wrenches[:, None], steps=self.steps)
        self.states = out.motion[:, 0, :, FULL_STATE]
        self.age += 1
        apart = np.linalg.norm(self._error, axis=1)
        speed = np.linalg.norm(State(self.states).velocity[:, self._planned], axis=1)
        effort = np.mean(actions**2, axis=(1, 2))
        failed = (apart > self.task.lost_m) | self._tumbled
        failed[list(out.failures)] = True
        # between 0 and 1 in a period, so that living longer is never worse
        rewards = 1.0 / (1.0 + apart + 0.2 * speed + 0.02 * effort)
        return np.where(failed, 0.0, rewards), failed, self.age >= self.periods

    def transition(self, world: int) -> Transition:
        """Derivatives of the next period of one world about the action that acts: errors of its state, and its action.

        Inputs are those of an action, in its units; they are not limited. See
        :func:`rotor_dynamics.sensitivities.linearization.linearize_steps`.

        Raises:
            SolverError: the integration cannot go on.
        """
        found = self.batch.transition(world, self.steps)
        scale = (self._gain * self._scale).ravel()
        return replace(found, input=found.input * scale, tension_input=found.tension_input * scale)

    @property
    def _error(self) -> np.ndarray:
        return (
            State(self.states).position[:, self._planned] - State(self.goal).position[self._planned]
        )

    @property
    def distances(self) -> np.ndarray:
        """Of the planned entity from its goal, (count,) m."""
        return np.linalg.norm(self._error, axis=1)

    @property
    def _tumbled(self) -> np.ndarray:
        return np.any(State(self.states[:, : self.vehicles]).tilt > 0.5 * np.pi, axis=1)

    def observe(self) -> np.ndarray:
        """States as seen from the goal, (count, width), single precision."""
        parts = []
        for b in range(self.states.shape[1]):
            s = self.states[:, b]
            parts += [State(s).position - State(self.goal).position[b], State(s).velocity]
            if self._solid[b]:
                parts += [rotation_matrices(State(s).attitude).reshape(-1, 9), State(s).body_rate]
        seen = np.nan_to_num(np.concatenate(parts, axis=1), nan=0.0)
        return np.clip(seen, -FARTHEST, FARTHEST).astype(np.float32)


def _leaning(largest: float, random: np.random.Generator) -> np.ndarray:
    """A quaternion that leans by up to ``largest`` rad to any side."""
    angle, side = largest * np.sqrt(random.random()) / 2.0, random.uniform(0.0, 2.0 * np.pi)
    return np.array(
        [np.cos(angle), np.sin(angle) * np.cos(side), np.sin(angle) * np.sin(side), 0.0]
    )
