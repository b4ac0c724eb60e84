"""Changes that a scenario makes during the flight: grips, cuts, faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.schema import Change, Grip, Scenario
from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.errors import SolverError
from rotor_core.state import FULL_STATE, State

if TYPE_CHECKING:
    from rotor_sim.simulation import Simulation


class ComingChanges:
    """Changes that are still to come after ``elapsed`` seconds, in the order of time.

    Attributes:
        past: those before, in the order of time.
    """

    def __init__(self, changes: Iterable[Change], elapsed: float) -> None:
        ordered = sorted(changes, key=lambda change: change.at_s)
        self.past = [c for c in ordered if c.at_s < elapsed - SAME_TIME]
        self._coming = ordered[len(self.past) :]
        self._next = 0

    @property
    def made(self) -> list[Change]:
        """Those that are past, or have been made since."""
        return [*self.past, *self._coming[: self._next]]

    def skip(self, made: list[Change], elapsed: float) -> None:
        """Leave out those that are due now and have been made by somebody else."""
        while self._next < len(self._coming):
            change = self._coming[self._next]
            if change.at_s > elapsed + SAME_TIME or change not in made:
                return
            self._next += 1

    def places(self, elapsed: np.ndarray) -> list[int]:
        """Places among ascending times, (n,) s after the beginning, at which something will be due, each once."""
        found = np.searchsorted(elapsed + SAME_TIME, [c.at_s for c in self._coming[self._next :]])
        return [int(i) for i in np.unique(found) if i < len(elapsed)]

    def is_due(self, elapsed: float) -> bool:
        """True if :meth:`due` would give something now."""
        i = self._next
        return i < len(self._coming) and self._coming[i].at_s <= elapsed + SAME_TIME

    def due(self, elapsed: float) -> Iterator[Change]:
        """Changes that are due ``elapsed`` seconds after the beginning, each once."""
        while self.is_due(elapsed):
            self._next += 1
            yield self._coming[self._next - 1]


class Changes:
    """Changes that a scenario makes while it is flown, faults among them.

    Args:
        scenario: says what, and when.
        elapsed: time of the scenario that has passed, s.
    """

    def __init__(self, scenario: Scenario, elapsed: float) -> None:
        self._faults, self._others = (
            ComingChanges([c for c in scenario.changes if c.is_fault is wanted], elapsed)
            for wanted in (True, False)
        )

    def catch_up(self, simulation: Simulation) -> None:
        """Cut and weaken what was cut and weakened before now."""
        for change in self._others.past:
            if change.cut is not None:
                simulation.engine.cut(change.cut - 1)
        for fault in self._faults.past:
            _weaken(simulation, fault)
        self.begin_faults(simulation)

    def leave_out_made(self, other: Changes, elapsed: float) -> None:
        """Make nothing that another world at this time has made."""
        self._others.skip(other._others.made, elapsed)
        self._faults.skip(other._faults.made, elapsed)

    def periods(self, simulation: Simulation, count: int) -> list[int]:
        """Those of so many control periods since the last reset that begin with a change, for loops of their own."""
        return self._others.places(simulation.elapsed_at(0, count))

    def fault_periods(self, simulation: Simulation, count: int) -> list[int]:
        """Those that begin with a fault."""
        return self._faults.places(simulation.elapsed_at(0, count))

    def are_due(self, elapsed: float) -> bool:
        """True if :meth:`make` would change something now."""
        return self._others.is_due(elapsed)

    def begin_faults(self, simulation: Simulation) -> None:
        """Weaken motors and batteries as the scenario says by now, before the command of the period acts."""
        for fault in self._faults.due(simulation.elapsed):
            _weaken(simulation, fault)

    def make(self, simulation: Simulation) -> None:
        """Attach, release, cut or wind what the scenario changes now, once the command of the period acts.

        Raises:
            SolverError: what is to be attached is out of reach.
        """
        due = list(self._others.due(simulation.elapsed))
        for change in due:
            _make(simulation, change)
        if due:  # what is seen of this instant is what it leaves behind
            simulation.engine.update_kinematics()


def _make(simulation: Simulation, change: Change) -> None:
    if change.cut is not None:
        simulation.engine.cut(change.cut - 1)
    if (wanted := change.wind) is not None:
        k, winches = wanted.cable - 1, simulation.winches
        if wanted.profile:
            winches.follow(k, wanted.profile, simulation.time)
        elif wanted.torque_n_m is not None:
            winches.turn(k, wanted.torque_n_m)
        else:
            winches.ask(k, length=wanted.length_m, rate=wanted.rate_m_s)
    if change.release is not None:
        simulation.release(change.release)
    if change.attach is not None:
        _grip(simulation, change.attach)


def _weaken(simulation: Simulation, change: Change) -> None:
    """Weaken motors and batteries as a change says."""
    if (fault := change.motor) is not None:
        simulation.weaken(fault.vehicle, fault.rotor - 1, fault.thrust_gain)
    if change.battery is not None:
        train = simulation.power[simulation.vehicle(change.battery.vehicle)]
        train.sag = change.battery.voltage_factor


def _grip(simulation: Simulation, grip: Grip) -> None:
    a, b = simulation.body(grip.to), simulation.body(grip.entity)
    m = simulation.engine.update_kinematics()
    hand = State(m).position[a] + quat2mat(State(m).attitude[a]) @ np.array(grip.point_m)
    apart = float(np.linalg.norm(State(m).position[b] - hand))
    if apart > grip.within_m:
        raise SolverError(
            f"attach at {simulation.elapsed:.3f} s: {grip.entity!r} is {apart:.3g} m from the grip of "
            f"{grip.to!r}, more than within_m ({grip.within_m:g} m). Bring them together first.",
            time=simulation.time,
            state=m[:, FULL_STATE].copy(),
        )
    simulation.attach(grip.to, grip.entity)
