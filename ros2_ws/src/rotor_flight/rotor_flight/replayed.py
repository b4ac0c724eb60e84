"""A plant flown again with recorded commands, in one compiled call, with or without derivatives.

From any state, for as long as is asked: what predictions of short parts of a flight need thousands of times.
"""

from __future__ import annotations

import hashlib
from math import ceil, log2

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.kernels.jit import COMPILED, inlined, kernel_without_gil
from rotor_core.numbers.duals import duals
from rotor_core.state import FULL_STATE
from rotor_dynamics import projection
from rotor_dynamics.compiled_world import hold_efforts, put_time, time_of
from rotor_dynamics.engine import Engine, counting_rows
from rotor_dynamics.hybrid.stepper import OK, run
from rotor_dynamics.kinematics.members import member_motion
from rotor_flight.compiled.plant import acts_simply, hold_commands, limit_to_plant, plant_arguments
from rotor_sim.actuation.modes import KINDS, Actuators
from rotor_sim.estimation.told_errors import ToldErrors
from rotor_sim.plant.system import system_from_scenario


@inlined
def note_places(ints, floats, member_body, member_pose, motion, places):
    """Write where the first members are, (n, 3) m."""
    member_motion(ints, floats, member_body, member_pose, motion)
    for b in range(places.shape[0]):
        for axis in range(3):
            places[b, axis] = motion[b, axis]


@kernel_without_gil
def replay_world(
    ints, floats, member_body, member_pose, motion, held, efforts, times, past, gains, plant_limits, rotors, drift,
    of_joints, most_effort, command, steps, looks, places,
):  # fmt: skip
    """Hold commands for a period each, and note where things are; returns the status of the engine.

    Args:
        motion: of all members, (n, 19).
        held, efforts: commands, (periods, n_vehicles, 4) and (periods, n_joints).
        times: at which they act, from the start, (periods,) s.
        past: periods before the start, in which only motors come to what they are asked for.
        gains, plant_limits, rotors: as of :func:`rotor_flight.compiled.plant.plant_arguments`.
        drift: what is left of the thrust in every period, (periods, n_vehicles).
        of_joints, most_effort: rows of the joints of arms, and limits of their efforts.
        command: room, (n_vehicles, 4).
        steps: in a period.
        looks: after how many periods to note places, in order; -1 behind the last.
        places: written, (n_looks, n_entities, 3) m; what is not reached stays as it is.
    """
    look, begins = 0, time_of(floats)
    while looks[look] == 0:
        note_places(ints, floats, member_body, member_pose, motion, places[look])
        look += 1
    for i in range(held.shape[0]):
        for k in range(command.shape[0]):
            for channel in range(4):
                command[k, channel] = held[i, k, channel]
        limit_to_plant(command, gains, plant_limits)
        for k in range(command.shape[0]):
            for channel in range(4):
                command[k, channel] *= drift[i, k]
        if i <= past:
            put_time(ints, floats, begins + times[i])
        if efforts.shape[1] > 0:
            hold_efforts(ints, floats, of_joints, efforts[i], most_effort, i == 0)
        hold_commands(ints, floats, command, plant_limits, rotors, i == 0)
        if i < past:
            continue
        status = run(ints, floats, 0)
        if status == OK:
            status = run(ints, floats, steps)
        if status != OK:
            return status
        while looks[look] == i + 1 - past:
            note_places(ints, floats, member_body, member_pose, motion, places[look])
            look += 1
    return OK


@kernel_without_gil
def replay_duals(arguments):
    """:func:`replay_world` with derivatives."""
    return replay_world(*duals(arguments))


REMEMBERED = 7.0
"""Time constants after which a thousandth is left of what motors were asked for before."""

MOST_REMEMBERED = 512
"""Periods, at most."""

WRITTEN = 1
"""Last arguments of :func:`replay_world`, which are written."""


def remembered(scenario: Scenario, actuators: Actuators, engine: Engine) -> int:
    """Control periods over which motors remember what they were asked for: of what came before, a thousandth is left.

    A power of two, so that a lag that is a little other has the same.
    """
    vehicles, lags = scenario.model.vehicles, [0.0]
    if not acts_simply(actuators, engine):
        return 0
    lags += [j.lag_s for v in vehicles for j in v.moving_joints]
    if scenario.actuation.mode == "rotors":
        rotors = [v.rotors.lag_s for v in vehicles]
        if not all(rotors):
            return 0  # what follows at once has no memory, and would react to what came before
        lags += rotors
    periods = REMEMBERED * max(lags) / scenario.time.control_s
    return min(2 ** ceil(log2(periods)), MOST_REMEMBERED) if periods > 0.0 else 0


class Replayer:
    """The plant of a scenario, begun anew as often as one likes.

    Args:
        scenario: one that :meth:`is_possible`.

    Attributes:
        engine: its world.
        period: of its commands, s.
        memory: periods that its motors remember.
    """

    def __init__(self, scenario: Scenario) -> None:
        timing, system = scenario.time, system_from_scenario(scenario)
        self.period, self._steps = timing.control_s, timing.steps_per_control
        self.engine = Engine(
            system, step=timing.step_s, integrator=timing.integrator, tolerance=timing.tolerance,
            log_rows=counting_rows(system),
        )  # fmt: skip
        self.engine.count_events()
        self._blank = self.engine.ints.copy(), self.engine.floats.copy()
        self._actuators = KINDS[scenario.actuation.mode](scenario)
        self.memory = remembered(scenario, self._actuators, self.engine)
        self._told = ToldErrors.of(scenario)
        arms = [j.initial for v in scenario.model.vehicles for j in v.moving_joints]
        self._angles = np.array([(angle, 0.0) for angle in arms]).reshape(-1, 2)
        self._scenario, self._n_entities = scenario, len(scenario.model.entities)

    @property
    def is_possible(self) -> bool:
        """True if it flies what :func:`rotor_sim.period.control_period` would with the same commands."""
        scenario, model, engine = self._scenario, self._scenario.model, self.engine
        return (
            COMPILED
            and acts_simply(self._actuators, engine)
            and not scenario.rotors_feel_air
            and not scenario.changes
            and scenario.environment.wind.is_calm
            and not any(v.helicopter or v.rotors.motor for v in model.vehicles)
            and not any(c.winch for c in model.cables)
            and not any(e.internal_rotors for e in model.entities)
            and not engine.system.strands
            and len(engine.joints) == len(self._angles)
            and not engine.joints.is_driven.any()
        )

    def begin(
        self, time: float, states: np.ndarray, joints: np.ndarray | None, known: dict[bytes, tuple]
    ) -> None:
        """Put everything where a flight has it, or as near as the cables allow.

        As :meth:`Simulation.reset` and :meth:`Simulation.set_states` do, but that members on rigid links follow the
        first one, wherever they are told to be.

        Args:
            time: s.
            states: of all entities, (n, 13), as they are told.
            joints: angles and rates of arms, (n_joints, 2); None: as the scenario begins.
            known: what earlier calls found, by what they began with; of any replayers of worlds of one build.

        Raises:
            ContractError: there is no such state near.
            ModelError: solids overlap.
            SolverError: there are no tensions of cables there.
        """
        engine, told, n = self.engine, self._told, len(states)
        every = np.zeros((len(engine.system.bodies), 13))
        every[:, 3] = 1.0  # links follow
        every[:n] = told.undo(states) if told else states
        engine.ints[:], engine.floats[:] = self._blank
        angles = self._angles if joints is None else joints
        engine.lead(every, range(n), angles)
        key = hashlib.blake2b(engine.floats, digest_size=16)
        key.update(engine.ints)
        key.update(np.float64(time))
        if (found := known.get(key.digest())) is None:
            projection.project(engine.world)
            there = engine.update_kinematics()[:, FULL_STATE].copy()
            engine.set_state(there, joints=angles, time=time)
            engine.take_events()
            found = known[key.digest()] = engine.ints.copy(), engine.floats.copy()
        engine.ints[:], engine.floats[:] = found

    def arguments(
        self, held: np.ndarray, efforts: np.ndarray, elapsed: float, past: int, looks: np.ndarray
    ) -> tuple:
        """Arguments of :func:`replay_world`, from the state as it is.

        Args:
            held: commands, (periods, n_vehicles, 4).
            efforts: of the joints, (periods, n_joints).
            elapsed: time of the scenario at the start, s.
            past: so many of the periods come before it.
            looks: after how many periods from the start to note places, in order.
        """
        times = self.period * np.arange(-past, len(held) - past)
        engine, actuators = self.engine, self._actuators
        drift = np.ones((len(held), len(actuators.sets)))
        for row, t in zip(drift, times if actuators.drifts else (), strict=False):
            actuators.age(elapsed + t)
            row[:] = actuators.drifted
        every = np.full(len(engine.joints), True)
        return (
            engine.ints, engine.floats, engine.member_body, engine.member_pose, engine.motion, held, efforts,
            times, past, *plant_arguments(actuators, engine), drift, engine.joints.rows(every), engine.joints.limits,
            np.zeros(held.shape[1:]), self._steps, np.append(looks, -1),
            np.full((len(looks), self._n_entities, 3), np.nan),
        )  # fmt: skip
