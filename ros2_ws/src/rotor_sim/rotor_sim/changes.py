"""What a scenario changes during the flight: grips, cuts, faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.schema import Change, Grip
from rotor_core.interface.errors import SolverError

if TYPE_CHECKING:
    from rotor_sim.simulation import Simulation

SAME_TIME = 1e-9
"""Changes due this much after now are made now, s."""


class Schedule:
    """Changes that are still to come after ``elapsed`` seconds, in the order of time."""

    def __init__(self, changes: Iterable[Change], elapsed: float) -> None:
        coming = [c for c in changes if c.at_s >= elapsed]
        self._coming = sorted(coming, key=lambda change: change.at_s)

    def due(self, elapsed: float) -> Iterator[Change]:
        """Take out what is due ``elapsed`` seconds after the beginning."""
        while self._coming and self._coming[0].at_s <= elapsed + SAME_TIME:
            yield self._coming.pop(0)


def make_change(simulation: Simulation, change: Change) -> None:
    """Attach, release, cut or weaken what a change says.

    Raises:
        SolverError: what is to be attached is out of reach.
    """
    if change.cut is not None:
        simulation.engine.cut(change.cut - 1)
    if change.release is not None:
        simulation.release(change.release)
    if change.attach is not None:
        _grip(simulation, change.attach)
    if (fault := change.motor) is not None:
        simulation.weaken(fault.vehicle, fault.rotor - 1, fault.thrust_gain)
    if change.battery is not None:
        train = simulation.power[simulation.vehicle(change.battery.vehicle)]
        train.sag = change.battery.voltage_factor


def _grip(simulation: Simulation, grip: Grip) -> None:
    a, b = simulation.body(grip.to), simulation.body(grip.entity)
    m = simulation.engine.measure()
    hand = m[a, :3] + quat2mat(m[a, 3:7]) @ np.array(grip.point_m)
    apart = float(np.linalg.norm(m[b, :3] - hand))
    if apart > grip.within_m:
        raise SolverError(
            f"attach at t = {simulation.time:.3f} s: {grip.entity!r} is {apart:.3g} m from the grip of {grip.to!r}, "
            f"more than within_m ({grip.within_m:g} m). Bring them together first.",
            time=simulation.time,
            state=m[:, :13].copy(),
        )
    simulation.attach(grip.to, grip.entity)
