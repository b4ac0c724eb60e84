"""Whole flights under their law, differentiated backward: one number of a flight with everything that it depends on.

The plant is taken back piece by piece (:mod:`rotor_dynamics.sensitivities.backward.adjoint`), and at the start of every
period the law: from derivatives with its commands to those with what it saw, with its gains, its plan and what it
remembers. A gradient costs some flights, however many numbers are asked for. Equation (D.18).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from rotor_core.config.loader import scenario_of
from rotor_core.config.parameters import Variations
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError, ContractError
from rotor_core.plans.plan import Plan
from rotor_dynamics.engine import Engine
from rotor_dynamics.hybrid.stepper import OK
from rotor_dynamics.kinematics.members import slope_with_poses
from rotor_dynamics.sensitivities.backward.adjoint import AdjointFlight, AdjointFlights
from rotor_dynamics.sensitivities.coordinates import sparse
from rotor_dynamics.sensitivities.propagation import Doubt
from rotor_flight.compiled.flights import periods_of
from rotor_flight.fly import LONGEST, fly, whole_duration
from rotor_flight.sensitivities.backward.begun import Begun
from rotor_flight.sensitivities.backward.deciding import fly_noted
from rotor_flight.sensitivities.backward.law_back import LawBack, MoreIsNoted
from rotor_flight.sensitivities.backward.law_tapes import Given, LawTapes
from rotor_flight.sensitivities.flights import checked_places
from rotor_flight.sensitivities.settings import ROUNDING, SEARCHED, slopes_with
from rotor_sim.simulation import START_TIME


@dataclass(frozen=True)
class LoopGradient:
    """Derivative of one number of a flight.

    Attributes:
        parameters: with the numbers at the places that were asked for, (n_parameters,).
        plans: with the coefficients of the plan of every team, as :attr:`rotor_core.plans.plan.Plan.coefficients`.
        air: with the velocity of the air in every period, (N, 3), or (N, 0) where it is steady.
        start: with the coordinates of the start, as of :class:`~rotor_dynamics.sensitivities.coordinates.Coordinates`,
            but for what lags, which the first commands find as they want it.
        doubt: first place where it may not exist; None: nothing is known.
    """

    parameters: np.ndarray
    plans: dict[str, np.ndarray]
    air: np.ndarray
    start: np.ndarray
    doubt: Doubt | None


class LoopFunction:
    """Flights of a scenario under its law, as a function of its numbers, for derivatives backward.

    For teams of multirotors, arms and helicopters under laws of the suite, with true states, in air that is the same
    everywhere: steady, with gusts, turbulent. What was recorded of one flight serves the next.

    Args:
        scenario: what flies, or the name or path of it.
        duration: s; default the trajectory and the scenario's ``settle_s``.
        plans: in place of the scenario's trajectory.

    Raises:
        ConfigError: there is no such scenario.
        ContractError: a flight that is differentiated forward only.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path,
        duration: float | None = None,
        *,
        plans: dict[str, Plan] | None = None,
    ) -> None:
        self.scenario, self._plans = scenario_of(scenario), plans
        begun = Begun(self.scenario, plans)
        loop = begun.loop
        total = (
            whole_duration(self.scenario, loop.plans, loop.arms) if duration is None else duration
        )
        if not 0.0 < total <= LONGEST:
            raise ConfigError(f"duration: must be > 0 s and at most {LONGEST:g} s, got {total:g}.")
        self.periods = periods_of(loop, total)
        n_vehicles, n_teams = loop.simulation.n_vehicles, len(loop.controller.teams)
        n_commands = (begun.turns or 4 * n_vehicles) + begun.n_joints + 4 * begun.n_shafts
        form = Given(
            len(loop.simulation.names), begun.n_joints, begun.n_shafts, n_teams, n_commands
        )
        self._tapes = LawTapes(begun.block, form)
        states = np.asarray(begun.plant["states"])[: form.n_seen]
        since, wanted = begun.given(1)
        parts = states, loop.simulation.engine.joints.states[begun.joints], since, wanted
        self._tapes.record(begun.block.numbers, np.concatenate([np.ravel(part) for part in parts]))
        self._flights: AdjointFlights | None = None

    def _flights_from(self, engine: Engine, begun: Begun, commands: np.ndarray) -> AdjointFlights:
        """Flights that begin as an engine stands: those there are, if it differs from theirs in numbers alone."""
        flights = self._flights
        if (
            flights is None
            or not flights.fits(engine)
            or flights.moves_air != begun.plant["moves_air"]
        ):
            flights = self._flights = AdjointFlights(**begun.plant_after(commands))
        flights.begin(engine)
        return flights

    def __call__(
        self, scenario: Scenario | None = None, plans: dict[str, Plan] | None = None
    ) -> LoopFlight:
        """Fly, or fly what differs from the scenario in numbers.

        Raises:
            ContractError: it differs otherwise.
            SolverError: the integration cannot go on.
        """
        scenario = scenario or self.scenario
        return LoopFlight(self, scenario, plans or self._plans)


class LoopFlight:
    """One flight; see :class:`LoopFunction`.

    Attributes:
        time: of the start and the ends of all periods, (N + 1,) s.
        states: of all members then, (N + 1, n_members, 13).
        tensions: of all cables then, (N + 1, n_cables) N.
        joints: angles and rates of all joints then, (N + 1, n_joints, 2).
        commands: of all periods as the engine takes them, (N, n_commands): wrenches (of helicopters the force of the
            tail) or speeds of rotors; efforts of arms; torques of engines of helicopters, and angles of swashplates.
    """

    def __init__(
        self, function: LoopFunction, scenario: Scenario, plans: dict[str, Plan] | None
    ) -> None:
        self._function, self._scenario, self._plans = function, scenario, plans
        self._fly()

    def _fly(self) -> None:
        """Fly under the law, then under its commands, which notes what the way back needs."""
        begun = self._begun = Begun(self._scenario, self._plans)
        tapes, n = self._function._tapes, self._function.periods
        if not begun.block.has_form_of(tapes.block):
            raise ContractError("backward: a law of another form needs a function of its own.")
        self._since, self._wanted = begun.given(n)
        self._air = begun.air(n)
        self.time = begun.loop.simulation.times(0, n + 1) - START_TIME
        self.commands = np.zeros((n, tapes.given.n_commands))
        self._kept = np.zeros((n, len(tapes.noted)))
        self._under_law()
        self._engine = begun.engine(self.commands[0])
        self._flights = self._function._flights_from(self._engine, begun, self.commands[0])
        self._lay_out(self._flights)
        self._under_commands()

    def _under_law(self) -> None:
        begun, tapes = self._begun, self._function._tapes
        engine, joints = begun.loop.simulation.engine, begun.loop.simulation.engine.joints
        numbers = begun.block.numbers.copy()
        world = (
            engine.ints.copy(), engine.floats.copy(), engine.member_body, engine.member_pose, engine.motion.copy(),
        )  # fmt: skip
        rows = joints.rows(np.ones(len(joints), bool))[begun.joints]
        arms = rows, joints.limits[: begun.n_joints], np.zeros((len(rows), 2))
        air = self._air, np.array(engine.topology.rows, np.int64)
        status = fly_noted(
            world, arms, begun.block.tree(numbers), self._since, self._wanted, air, begun.plant["steps"], numbers,
            tapes.noted, self.commands, self._kept,
        )  # fmt: skip
        if status != OK:
            seconds = len(self.commands) * self._scenario.time.control_s
            fly(self._scenario, duration=seconds, plans=self._plans)  # says why
            raise ContractError("backward: the flight ends early with derivatives alone.")

    def _under_commands(self) -> None:
        commands = np.zeros((len(self.commands), len(self._flights.commands)))
        commands[:, self._function._tapes.commands_at] = self.commands
        commands[:, self._flights.air] = self._air
        self._flight: AdjointFlight = self._flights.fly(commands)
        self.states, self.tensions = self._flight.states, self._flight.tensions
        self.joints = self._flight.joints

    def _lay_out(self, flights: AdjointFlights) -> None:
        """Tell the tapes of the law where its commands and what it sees are in what pieces are given."""
        tapes, begun = self._function._tapes, self._begun
        form, system = tapes.given, self._engine.system
        n_inputs, n_told = 4 * len(system.inputs), sum(map(prod, flights.shapes))
        own = begun.turns or 4 * begun.loop.simulation.n_vehicles
        motors = n_inputs + len(system.rotors)
        swash = motors + len(system.joints) + np.arange(3 * begun.n_shafts)
        tapes.commands_at = np.concatenate(
            [(n_inputs if begun.turns else 0) + np.arange(own), motors + begun.joints, swash]
        )
        reading, more = len(flights.commands), len(flights.commands) + n_told
        places = np.argsort(flights.joints_read)[begun.joints]
        joints = more - 2 * len(system.joints) + 2 * places[:, None] + np.arange(2)
        tapes.inputs_at = np.concatenate(
            [
                reading + np.arange(form.edges[0]),
                joints.ravel(),
                more + np.arange(form.edges[3] - form.edges[1]),
            ]
        )

    def gradient(
        self,
        states: np.ndarray | None = None,
        *,
        tensions: np.ndarray | None = None,
        joints: np.ndarray | None = None,
        commands: np.ndarray | None = None,
        parameters: Sequence[str] = (),
    ) -> LoopGradient:
        """Derivative of one number of the flight.

        Args:
            states, tensions, joints, commands: its derivatives with what the flight tells, of these shapes; or zero.
            parameters: places of numbers, as of :meth:`Scenario.changed`: masses, lengths, gains, starts, waypoints.

        Raises:
            ConfigError: there is no such place, or no number there.
            ContractError: wrong shapes, or there is no derivative.
            SolverError: the integration cannot go on with derivatives.
        """
        tapes, n = self._function._tapes, len(self.commands)
        told = np.zeros(self.commands.shape) if commands is None else np.asarray(commands, float)
        if told.shape != self.commands.shape:
            raise ContractError(
                f"backward: commands must have the shape {self.commands.shape}, got {told.shape}."
            )
        asked = self._settings(parameters)
        seeds = [sparse(slopes[0]) for slopes in asked]
        more = np.hstack([self._since, self._wanted.reshape(n, -1)])
        while True:
            self._flights.begin(self._engine)
            with_commands = np.zeros((n, len(self._flights.commands)))
            with_commands[:, tapes.commands_at] = told
            law = LawBack(tapes, self._begun.block.numbers, self._kept, more, with_commands)
            try:
                found = self._flight.gradient(
                    states, tensions=tensions, joints=joints, seeds=seeds, decisions=law
                )
                break
            except MoreIsNoted:
                self._fly()
        with_law = law.at_the_start()
        since, wanted = np.split(law.with_more, [self._since.shape[1]], axis=1)
        poses = self._engine.member_pose
        with_air = found.commands[:, self._flights.air]
        own = np.array(
            [
                with_law @ a + np.sum(since * b) + np.sum(wanted * c.reshape(wanted.shape)) + np.sum(with_air * d)
                + slope_with_poses(self.states, found.states, poses, moved)
                for _, a, b, c, d, moved in asked
            ]
        )  # fmt: skip
        loop = self._begun.loop
        plans = {
            team.entity: with_law[self._begun.block.at(packed[1][1])]
            for team, packed in zip(loop.controller.teams, self._begun.law[0], strict=True)
        }
        free = len(found.start) - len(self._flights.coordinates.lags)
        own += found.seeds
        return LoopGradient(own.reshape(-1), plans, with_air, found.start[:free], found.doubt)

    def _settings(self, parameters: Sequence[str]) -> list[list[np.ndarray]]:
        """Derivatives with the numbers at places.

        Of the memory of the engine, the law, times, wishes for joints, the air, and poses of members in their bodies.
        """
        if not len(parameters):
            return []
        variations = Variations(self._scenario, list(checked_places(parameters)))

        def settings(begun: Begun, engine: Engine, air: np.ndarray) -> tuple[np.ndarray, ...]:
            given = begun.given(len(self.commands))
            return engine.floats, begun.block.numbers, *given, air, engine.member_pose, engine.ints

        def varied(place: str, number: float) -> tuple[np.ndarray, ...]:
            begun = Begun(variations.changed(place, number), self._plans)
            return settings(begun, begun.engine(self.commands[0]), begun.air(len(self.commands)))

        middle, asked = settings(self._begun, self._engine, self._air), []
        rounding = SEARCHED if self._engine.presses else ROUNDING
        for place in parameters:
            at = variations.value(place)
            asked.append(slopes_with(place, at, lambda x, p=place: varied(p, x), middle, rounding))
        return asked
