"""A flight under its law at its start: the plant, and the law with all of its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError
from rotor_core.plans.plan import Plan
from rotor_dynamics.engine import Engine
from rotor_dynamics.sensitivities.backward.adjoint import start_engine
from rotor_dynamics.sensitivities.propagation import check_differentiable
from rotor_flight.compiled.flights import can_compile
from rotor_flight.compiled.plant import acts_simply, helicopter_arguments, plant_arguments
from rotor_flight.compiled.teams import packed_teams
from rotor_flight.loop import ClosedLoop
from rotor_flight.sensitivities.backward.block import Block
from rotor_flight.sensitivities.commanded import plant_of
from rotor_sim.actuation.modes import RotorActuators
from rotor_sim.simulation import START_TIME


class Begun:
    """A scenario at its start.

    Args:
        scenario: what flies.
        plans: in place of its trajectory.

    Attributes:
        loop: that would fly it.
        plant: arguments of :class:`~rotor_dynamics.sensitivities.backward.adjoint.AdjointFlights`.
        law: arguments of :func:`rotor_flight.sensitivities.backward.deciding.decided_numbers`.
        block: its numbers.
        n_joints, turns: joints of its arms; rotors that turn, where they are what is commanded.
        n_shafts: main rotors of helicopters.
        joints: those that the law sees, of arms and shafts, among all.

    Raises:
        ContractError: a flight that is differentiated forward only.
    """

    def __init__(self, scenario: Scenario, plans: dict[str, Plan] | None) -> None:
        self.loop = loop = ClosedLoop(scenario, plans)
        check_differentiable()
        simulation = loop.simulation
        why = [
            (not can_compile(loop), "Python between its steps"),
            (not scenario.sensing.is_ideal, "imperfect sensing"),
            (not loop.controller.laws, "no law"),
            (not acts_simply(simulation.actuators, simulation.engine), "rotors that something bounds"),
            (bool(len(simulation.supply.trains)), "batteries"),
            (self._commands_speeds and len(simulation.helicopters) > 0, "helicopters beside rotors that turn"),
        ]  # fmt: skip
        for there, what in why:
            if there:
                raise ContractError(
                    f"backward: {scenario.name!r} has {what}; it is differentiated forward only "
                    "(rotor.sensitivities)."
                )
        self.plant = plant_of(simulation, "backward", tells_air=True)
        engine = simulation.engine
        engine.set_wind(np.tile(self.plant["wind"], (len(engine.system.bodies), 1)))
        engine.count_events()
        self.law = self._law()
        self.block = Block(self.law)
        self.n_joints = loop.arms.n
        # rotors inside bodies, which nobody commands, may turn beside wrenches
        self.turns = len(engine.system.rotors) if self._commands_speeds else 0
        shafts = [own.start for own in simulation.helicopters.joints]
        self.n_shafts, self.joints = len(shafts), np.array([*range(loop.arms.n), *shafts], int)

    @property
    def _commands_speeds(self) -> bool:
        """True if rotors turn as they are told, in place of wrenches that act."""
        return isinstance(self.loop.simulation.actuators, RotorActuators)

    def _law(self) -> tuple:
        """Arguments of :func:`rotor_flight.sensitivities.backward.deciding.decided_numbers`."""
        loop = self.loop
        controller, simulation = loop.controller, loop.simulation
        plans, _ = loop.following(np.array([START_TIME]))
        loop.note_lengths()
        limits = controller.limits
        gains, bounds, rotors = plant_arguments(simulation.actuators, simulation.engine)
        return (
            packed_teams(loop, plans),  # type: ignore[arg-type]
            controller.references,
            controller.efforts,
            np.zeros((simulation.n_vehicles, 4)),
            (controller.limits_on, limits.unmixing, limits.counts, limits.thrusts, limits.asked),
            (np.ascontiguousarray(gains), bounds, rotors),
            helicopter_arguments(simulation.helicopters, simulation.engine),
        )

    def given(self, periods: int) -> tuple[np.ndarray, np.ndarray]:
        """Times since the start of the plans, (periods, n_teams) s; wishes for joints, (periods, n_joints, 3)."""
        times = self.loop.simulation.times(0, periods)
        return self.loop.following(times)[1], self.loop.arms.sample(times - START_TIME)

    def air(self, periods: int) -> np.ndarray:
        """Velocity of the air in every period, (periods, 3) m/s in W, or (periods, 0) where it is steady; ask once."""
        moves = self.plant["moves_air"]
        return self.loop.simulation.wind_ahead(0, periods) if moves else np.zeros((periods, 0))

    def plant_after(self, commands: np.ndarray) -> dict[str, Any]:
        """The plant at the start, whose rotors and motors have been commanded so for long."""

        def prepare(other: Engine) -> None:
            self.plant["prepare"](other)
            if self.turns:
                other.rotors.start(commands[: self.turns])
            wrenches = self.turns or 4 * self.loop.simulation.n_vehicles
            if self.n_joints:
                every = np.zeros(len(other.joints))
                arms = np.arange(len(other.joints)) < self.n_joints
                every[arms] = commands[wrenches : wrenches + self.n_joints]
                other.joints.write_efforts(every, at_once=True, only=arms)
            if self.n_shafts:
                other.swash.write(commands[-3 * self.n_shafts :].reshape(-1, 3), at_once=True)

        return {**self.plant, "prepare": prepare}

    def engine(self, commands: np.ndarray) -> Engine:
        """Engine of :meth:`plant_after`."""
        plant = self.plant_after(commands)
        del plant["steps"], plant["moves_air"]
        return start_engine(**plant)
