"""Closed loop of a scenario at rest as a linear map from one control period to the next, with its modes and margins.

The plant is linearized (:mod:`rotor_dynamics.sensitivities.linearization`), the law differentiated, commands are held
for a control period; sensing delay and rotor lag are states. Errors that cables forbid are left out. Equations
(C.38)-(C.40), docs/theory/control.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag, expm, null_space, orth
from scipy.optimize import brentq
from transforms3d.quaternions import axangle2quat, qmult, quat2mat

from rotor_control.controller import Controller, make_controller
from rotor_control.team_laws import TeamLaw
from rotor_core.config.controllers import PayloadGeometricControl
from rotor_core.config.environment import Environment
from rotor_core.config.schema import Actuation, Scenario
from rotor_core.config.sensing import Sensing
from rotor_core.config.teams import cable_spans, teams
from rotor_core.errors import ConfigError
from rotor_core.plans.plan import hold
from rotor_core.state import FULL_STATE, State
from rotor_dynamics.sensitivities.linearization import ERRORS, OMEGA, THETA, V, linearize
from rotor_sim.simulation import Simulation

ROUNDING = 1e-9
"""Of a control period: what is a whole number of them but for rounding is one."""

DIFFERENCE = 1e-6
"""Half step of differences of the law."""

RANK = 1e-9
"""Directions that inputs change by less than this share of what they change most are not theirs."""

SMALLEST = 1e-9
"""Sums of errors that move commands by less, N per m s or N m per m s, have no gain."""

REST = 1e-3
"""The start counts as rest if nothing accelerates by more, m/s^2 and rad/s^2."""

PATIENCE = 20.0
"""A start that is no rest is flown this long until it is one, s."""

STRONGEST, WEAKEST = 20.0, 0.05
"""Range in which gain margins are looked for."""

DELAYS = (*range(1, 17), *range(20, 65, 4))
"""Further periods of delay that are tried: long ones in steps, because each makes the loop larger."""

CHANNELS = {"thrust": (0,), "roll and pitch": (1, 2), "yaw": (3,)}
"""Loops that margins are given of: components of the command."""


@dataclass(frozen=True)
class Margins:
    """Factors of one loop's gain between which the closed loop stays stable.

    Attributes:
        lowest, highest: factors; 0 or infinity where none was found within the range looked at.
    """

    lowest: float
    highest: float


class Feedback(NamedTuple):
    """A linear law with sums of errors s: commands ``u = states z + sums s``, where s grows by ``growth z`` a period.

    Attributes:
        states: (4 n_vehicles, n).
        sums: (4 n_vehicles, n_sums); those that no command depends on are left out.
        growth: (n_sums, n).
    """

    states: np.ndarray
    sums: np.ndarray
    growth: np.ndarray


class LinearLoop:
    """Plant of a scenario at rest, for any gains.

    Args:
        scenario: teams of multirotors; ``initial`` is left out.

    Attributes:
        period: of control, s.
        delay: of sensing, in whole periods.
        every: periods per sample; a rate that is no whole number of them counts as the next slower one.
        scenario: nominal, at rest.
        states: of all entities at rest, (n, 13).

    Raises:
        ConfigError: helicopters, arms, or gains that bring it to no rest.
    """

    def __init__(self, scenario: Scenario) -> None:
        model = scenario.model
        if any(v.helicopter or v.moving_joints for v in model.vehicles) or not model.vehicles:
            raise ConfigError("tune: knows teams of multirotors, without arms and helicopters.")
        if scenario.rotors_feel_air:
            raise ConfigError(
                "tune: knows rotors in air at rest; leave out environment.wakes, ground_effect (with wrenches) and "
                "ceiling_effect, and inflow of rotors."
            )
        if scenario.sensing.estimator is not None:
            raise ConfigError(
                "tune: does not know sensing.estimator. Leave it out, and fly what is proposed with it."
            )
        if isinstance(scenario.controller, PayloadGeometricControl):
            raise ConfigError("tune: does not know the gains of payload_geometric. Use point_mass.")
        lags = [v.rotors.lag_s for v in model.vehicles]
        self.lag = max(lags) if scenario.actuation.mode != "wrench" else 0.0
        self.period = scenario.time.control_s
        # a sample acts from the next period on
        self.delay = ceil(scenario.sensing.delay_s / self.period - ROUNDING)
        rate = scenario.sensing.rate_hz
        self.every = 1 if rate is None else max(1, ceil(1.0 / (rate * self.period) - ROUNDING))
        self.scenario = _at_rest(scenario)
        self._names = [e.name for e in model.entities]
        simulation = Simulation(self.scenario)
        controller = self._controller(self.scenario, simulation.motion)
        self.states = _settled(simulation, controller)
        found = linearize(simulation.engine)
        self._groups = [name.split("+") for name in found.bodies]
        kept = self._moving_errors()
        poses = self._slopes(partial(cable_spans, self.scenario.model))[:, kept]
        speeds = self._as_speeds(poses, kept)
        both = np.vstack([poses, speeds])
        basis = null_space(both) if len(both) else np.eye(int(kept.sum()))
        A, B = found.state[np.ix_(kept, kept)], found.input[kept]
        basis = basis @ _reached(basis.T @ A @ basis, basis.T @ B)
        self._kept, self._basis = kept, basis
        A, B = basis.T @ A @ basis, basis.T @ B
        n, m = B.shape
        if self.lag > 0.0:
            A = np.block([[A, B], [np.zeros((m, n)), -np.eye(m) / self.lag]])
            B = np.vstack([np.zeros((n, m)), np.eye(m) / self.lag])
        n = len(A)
        both = expm(self.period * np.block([[A, B], [np.zeros((m, n + m))]]))
        self._phi, self._gamma = both[:n, :n], both[:n, n:]

    def _controller(self, scenario: Scenario, states: np.ndarray) -> Controller:
        controller = make_controller(replace(scenario, actuation=Actuation(limits=False)))
        for i, team in enumerate(teams(scenario.model)):
            state = states[scenario.model.index(team.entity)]
            controller.follow(i, hold(State(state).position), 0.0)
        return controller

    def _moving_errors(self) -> np.ndarray:
        """Errors that exist: point masses do not turn, (12 n,)."""
        entities = {e.name: e for e in self.scenario.model.entities}
        kept = np.ones((len(self._groups), ERRORS), bool)
        for b, group in enumerate(self._groups):
            if len(group) == 1 and entities[group[0]].inertia_kg_m2 is None:
                kept[b, THETA:V] = kept[b, OMEGA:] = False
        return kept.ravel()

    def _as_speeds(self, poses: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Rows over poses as rows over speeds."""
        every = np.zeros((len(poses), len(kept)))
        every[:, kept] = poses
        every = every.reshape(len(poses), len(self._groups), ERRORS)
        moved = np.zeros_like(every)
        moved[:, :, V:] = every[:, :, :V]
        return moved.reshape(len(poses), len(kept))[:, kept]

    def _moved(self, b: int, column: int, h: float) -> np.ndarray:
        """States of all entities with one error of one group."""
        states = self.states.copy()
        rows = [self._names.index(name) for name in self._groups[b]]
        entities = self.scenario.model.entities
        masses = np.array([entities[r].mass_kg for r in rows])
        centre = masses @ State(states[rows]).position / masses.sum()
        axes = quat2mat(State(states[rows[0]]).attitude)
        axis = axes[:, column % 3]  # of the first member, in W
        unit = np.eye(3)[column % 3]
        for r in rows:
            state = State(states[r])
            arm = state.position - centre
            if column < THETA:
                state.position[:] += h * unit
            elif column < V:
                turn = axangle2quat(axis, h)
                state.position[:] = centre + quat2mat(turn) @ arm
                state.attitude[:] = qmult(turn, state.attitude)
            elif column < OMEGA:
                state.velocity[:] += h * unit
            else:
                state.velocity[:] += h * np.cross(axis, arm)
                state.body_rate[:] += h * quat2mat(state.attitude).T @ axis
        return states

    def _slopes(self, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Derivatives by all errors of a function of the states, (n, 12 n_groups)."""
        h, columns = DIFFERENCE, []
        for b in range(len(self._groups)):
            for column in range(ERRORS):
                ahead, behind = of(self._moved(b, column, h)), of(self._moved(b, column, -h))
                columns.append((ahead - behind) / (2.0 * h))
        return np.array(columns).T

    def gains(self, scenario: Scenario) -> Feedback:
        """The law of a scenario, differentiated by the errors that are left and by its sums."""
        controller = self._controller(_at_rest(scenario), self.states)
        memories = [law.memory for law in controller.laws if isinstance(law, TeamLaw)]

        def decided(states: np.ndarray, summed: int = 0, by: float = 0.0) -> np.ndarray:
            """Commands, and what the sums are afterwards; one of them was moved before."""
            for law in controller.laws:
                law.reset()
            if by:
                memories[summed // 3][summed % 3] = by
            commands = controller.decide(states, controller.references)
            return np.concatenate([np.ravel(commands), *memories])

        slopes = self._slopes(decided)[:, self._kept] @ self._basis
        m, h = 4 * len(scenario.model.vehicles), DIFFERENCE
        by_sums = [
            (decided(self.states, i, h) - decided(self.states, i, -h))[:m]
            for i in range(len(slopes) - m)
        ]
        sums = np.array(by_sums).reshape(-1, m).T / (2.0 * h)
        counts = np.abs(sums).max(axis=0, initial=0.0) > SMALLEST
        return Feedback(slopes[:m], sums[:, counts], slopes[m:][counts])

    def transition(
        self, K: Feedback, *, scale: np.ndarray | float = 1.0, delay: int = 0
    ) -> np.ndarray:
        """Map of the state from one sample to the next: over :attr:`every` control periods (C.39).

        Behind the state of the plant come the sums of the law, then commands on their way.

        Args:
            K: as of :meth:`gains`.
            scale: factors of the commands, (4 n_vehicles,).
            delay: further periods of delay.
        """
        plant, (m, errors), q = len(self._phi), K.states.shape, len(K.growth)
        n, factors = plant + q, np.reshape(scale, (-1, 1))
        feedback = np.zeros((m, n))
        feedback[:, :errors], feedback[:, plant:] = factors * K.states, factors * K.sums
        alone = block_diag(self._phi, np.eye(q))  # nobody commands anything
        summing = np.array(alone)
        summing[plant:, :errors] = self.every * K.growth
        gamma = np.vstack([self._gamma, np.zeros((q, m))])
        wait = self.delay + delay
        if wait == 0 and self.every == 1:
            return summing + gamma @ feedback
        kept = max(wait, 1)  # commands on their way, the latest first; or the one that is held
        size = n + kept * m
        acts = np.zeros((m, size))
        acts[:, -m:] = np.eye(m)
        later = np.zeros((size, size))
        later[:n, :n], later[n : n + m, n : n + m] = alone, np.eye(m)
        later[n + m :, n : size - m] = np.eye(size - n - m)
        sampled = later.copy()
        sampled[n : n + m, : n + m] = 0.0
        sampled[n : n + m, :n], sampled[:n, :n] = feedback, summing
        at_once = np.zeros((m, size))
        at_once[:, :n] = feedback
        later[:n] += gamma @ acts
        sampled[:n] += gamma @ (acts if wait else at_once)
        return np.linalg.matrix_power(later, self.every - 1) @ sampled

    def modes(self, K: Feedback, **options: object) -> np.ndarray:
        """Poles of the closed loop, 1/s, the slowest first."""
        eigenvalues = np.linalg.eigvals(self.transition(K, **options))  # type: ignore[arg-type]
        known = eigenvalues[np.abs(eigenvalues) > 1e-12]
        poles = np.log(known.astype(complex)) / (self.period * self.every)
        return poles[np.argsort(-poles.real)]

    def _is_stable(self, K: Feedback, **options: object) -> bool:
        return bool(self.modes(K, **options)[0].real < 0.0)

    def margins(self, K: Feedback, channels: tuple[int, ...]) -> Margins:
        """Margins of one loop: the same components of the commands of all vehicles together."""

        def growth(log_factor: float) -> float:
            scale = np.ones((len(K.states) // 4, 4))
            scale[:, list(channels)] = np.exp(log_factor)
            return float(self.modes(K, scale=scale.ravel())[0].real)

        if growth(0.0) >= 0.0:
            return Margins(float("nan"), float("nan"))

        def edge(end: float, none: float) -> float:
            grid = np.linspace(0.0, np.log(end), 40)
            for near, far in itertools.pairwise(grid):
                if growth(far) >= 0.0:
                    edge_at: float = brentq(growth, near, far, xtol=1e-3)  # pyright: ignore[reportAssignmentType, reportCallIssue]
                    return float(np.exp(edge_at))
            return none

        return Margins(edge(WEAKEST, 0.0), edge(STRONGEST, np.inf))

    def delay_margin(self, K: Feedback) -> float:
        """Longest further delay of all commands, in whole periods, with which the closed loop is stable, s."""
        last = 0
        for delay in DELAYS:
            if not self._is_stable(K, delay=delay):
                while last + 1 < delay and self._is_stable(K, delay=last + 1):
                    last += 1
                break
            last = delay
        return last * self.period


def _reached(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Basis of the errors that inputs can change, (n, r): a bar on two cables turns about their hooks by itself."""
    basis = orth(B, rcond=RANK)
    while True:
        further = orth(np.hstack([basis, A @ basis / max(np.abs(A).max(), 1.0)]), rcond=RANK)
        if further.shape[1] in (basis.shape[1], len(A)):
            return further if further.shape[1] < len(A) else np.eye(len(A))
        basis = further


def _settled(simulation: Simulation, controller: Controller) -> np.ndarray:
    """States of all entities at rest, (n, 13): those of the start, or where its law brings them.

    Raises:
        ConfigError: it comes to no rest.
    """
    period, begin = simulation.scenario.time.control_s, simulation.motion[:, FULL_STATE].copy()
    worst = np.inf
    for _ in range(round(PATIENCE / period)):
        states = simulation.motion[:, FULL_STATE].copy()
        simulation.act(controller.decide(states, controller.references))
        simulation.step()
        moving = np.abs(simulation.motion[:, 7:19])
        worst = float(np.delete(moving, np.s_[3:6], axis=1).max())
        if worst < REST:
            still = begin if np.allclose(states, begin, atol=1e-6) else states
            State(still).velocity[:], State(still).body_rate[:] = 0.0, 0.0
            return still
    raise ConfigError(
        f"tune: with its own gains the scenario comes to no rest in {PATIENCE:g} s (something still accelerates by "
        f"{worst:.3g}). Leave `initial` out, or begin with gains that are stable."
    )


def _at_rest(scenario: Scenario) -> Scenario:
    """The nominal model of a scenario at rest, with ideal sensors and actuators."""
    return replace(
        scenario, plant=(), initial=(), sensing=Sensing(), actuation=Actuation(limits=False), mission=None,
        changes=(), environment=Environment(gravity_m_s2=scenario.environment.gravity_m_s2), forces=(),
    )  # fmt: skip
