"""Record of a compiled flight, and the flight that it makes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rotor_core.kernels.jit import inlined
from rotor_core.reference import REFERENCE
from rotor_core.state import STATE
from rotor_dynamics.hanging import masses_of
from rotor_flight.flight import SAME_TIME, Flight, parted
from rotor_flight.loop import ClosedLoop


class Rows(NamedTuple):
    """Record of a compiled flight, a row per recorded period; see :class:`rotor_flight.flight.Flight`."""

    times: np.ndarray
    states: np.ndarray
    references: np.ndarray
    commands: np.ndarray
    tensions: np.ndarray
    taut: np.ndarray
    touching: np.ndarray
    """Of compliant contacts, in every period."""
    joints: np.ndarray
    wanted: np.ndarray
    efforts: np.ndarray
    seen_taut: np.ndarray
    """Whether cables were taut before anybody decided; no rows where no mission wants to know."""
    trains: np.ndarray
    """Motors and batteries then, as of :class:`rotor_sim.actuation.power.PowerSupply`."""

    @classmethod
    def of(cls, loop: ClosedLoop, periods: int, every: int) -> Rows:
        """Empty rows for a flight of so many periods."""
        simulation, n_joints, n_teams = loop.simulation, loop.arms.n, len(loop.controller.teams)
        rows = periods // every + 1 + (periods % every > 0)
        n_recorded = max(
            [len(simulation.names), *(r + 1 for r in masses_of(simulation.engine.system))]
        )
        n_cables, asked = simulation.engine.n_cables, 0 if loop.pilot is None else rows
        return cls(
            np.empty(rows), np.empty((rows, n_recorded, STATE)), np.empty((rows, n_teams, REFERENCE)),
            np.empty((rows, simulation.n_vehicles, 4)), np.zeros((rows, n_cables)), np.zeros((rows, n_cables), bool),
            np.zeros((periods, len(simulation.engine.system.contacts)), bool),
            np.empty((rows, n_joints, 2)), np.empty((rows, n_joints, 3)), np.empty((rows, n_joints)),
            np.zeros((asked, n_cables), bool), np.empty((asked, *simulation.supply.state.shape)),
        )  # fmt: skip

    def until(self, row: int) -> Rows:
        """The rows before one."""
        return Rows(*(array[:row] for array in self))


@inlined
def copy_into(row, values):
    """Write the first of ``values`` (m, k) into a row (n, k)."""
    for b in range(row.shape[0]):
        for j in range(row.shape[1]):
            row[b, j] = values[b, j]


def flight_of(loop: ClosedLoop, rows: Rows, wall_time: float, limited: int) -> Flight:
    """The flight whose rows have been written, with what the loop knows besides."""
    simulation, engine = loop.simulation, loop.simulation.engine
    heavy, n_entities = masses_of(engine.system), len(simulation.names)
    seen = np.concatenate([rows.states[:, :n_entities], rows.states[:, heavy]], axis=1)
    extra = {"redundant_cables": engine.were_redundant, "integration": engine.accuracy.figures()}
    if simulation.power:
        extra["power"] = simulation.supply.figures()
    passed = simulation.passing.take(rows.times, seen, rows.taut, rows.joints)
    start = float(rows.times[0])
    past, events = parted([*simulation.take_events(), *passed], start)
    begun = start - (simulation.time - simulation.elapsed)
    return Flight(
        scenario=simulation.scenario,
        time=rows.times,
        states=rows.states[:, :n_entities],
        references=rows.references,
        commands=rows.commands,
        tensions=rows.tensions,
        taut=rows.taut,
        events=events,
        wall_time=wall_time,
        limited=limited,
        extra=extra,
        joints=rows.joints,
        joint_references=rows.wanted,
        efforts=rows.efforts,
        masses=rows.states[:, heavy, :3],
        asked=loop.controller.limits.asked,
        past=past,
        begun=begun if begun > SAME_TIME else 0.0,
    )
