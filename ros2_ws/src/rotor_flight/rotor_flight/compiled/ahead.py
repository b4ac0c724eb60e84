"""Flights ahead of a mission: compiled calls between the periods in which somebody decides more than the laws do.

A mission looks at every state, and most of the time only waits. A loop is flown for a while as if it would go on to
wait; then the mission is told of one state after the other. Where it gives an order, the loop goes back to that period
and is flown up to it again: the order finds the world as it would have found it step by step, and the flight has the
same bits.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

import numpy as np

from rotor_control.controller import ArmLaw
from rotor_core.config.yaml.units import nanoseconds
from rotor_core.numbers.packing import arrays_in
from rotor_core.plans.plan import Plan
from rotor_dynamics.hybrid.stepper import OK
from rotor_flight.compiled.flights import Call, Stretch, fly_world, is_flown_by_kernels
from rotor_flight.compiled.rows import Rows
from rotor_flight.loop import ClosedLoop

LONGEST = 250
"""Control periods that are flown ahead at once: what an order in the middle costs again."""


class Ahead:
    """A loop that is flown step by step, and in compiled calls where that gives the same.

    Args:
        loop: at its start.
        rows: of the flight, one per period; written.

    Attributes:
        limited: periods with commands beyond the rotors.
    """

    def __init__(self, loop: ClosedLoop, rows: Rows) -> None:
        self._loop, self._rows, self.limited = loop, rows, 0
        periods = len(rows.times) - 1
        self._call = Call(loop, periods, 1, rows)
        simulation = loop.simulation
        self._changes = np.union1d(
            simulation.changes.periods(simulation, periods),
            simulation.changes.fault_periods(simulation, periods),
        ).astype(int)
        self._sees_all = simulation.measurement.is_true

    def fly(self, first: int, last: int) -> int:
        """Fly on from the start of a period; the period before whose decision the loop is then.

        The first period has to have been flown step by step.

        Args:
            first: the period.
            last: that in which the flight ends, which is not flown.
        """
        end = self._end(first, last)
        if end <= first:
            return first
        simulation, pilot = self._loop.simulation, self._loop.pilot
        stretch = Stretch(first, end, first, False, False)
        wind = copy.deepcopy(simulation.wind_field)
        *world, (*timing, _, drawn, stops), rows = arguments = self._call.arguments(stretch)
        arrays = list(arrays_in(arguments[:-1]))
        start = [array.copy() for array in arrays]

        def fly_to(period: int) -> int | None:
            """Fly from the start to that of a period; commands beyond the rotors, or None: the engine has stopped."""
            if period == first:
                return 0
            status, limited = fly_world(*world, (*timing, period, drawn, stops), rows)
            return limited if status == OK else None

        def put_back() -> None:
            for array, kept in zip(arrays, start, strict=True):
                array[...] = kept
            simulation.wind_field = wind

        def go_back(period: int) -> None:
            put_back()
            self._take_up(first, period, fly_to(period) or 0)
            simulation.wind_ahead(first, period)

        limited = fly_to(end)
        if limited is None:  # step by step it will be found out why
            put_back()
            return first
        for period in range(first, end) if pilot is not None else ():
            if not self._waits(period, partial(go_back, period)):
                return period
        self._take_up(first, end, limited)
        return end

    def _end(self, first: int, last: int) -> int:
        """The period up to which nobody but laws and missions decides, from ``first`` on."""
        loop = self._loop
        simulation = loop.simulation
        if not self._sees_all or first == 0 or loop.is_told:
            return first
        # missions look at lengths of cables: these must not change on the way
        if not (simulation.winches.are_idle and simulation.engine.winches.are_at_rest):
            return first
        if not is_flown_by_kernels(loop):  # asked again: a fault or a brake may have come between
            return first
        end = min(first + LONGEST, last, *self._changes[self._changes >= first][:1])
        if end <= first:
            return first
        plans, since = loop.following(simulation.times(first, end))
        for plan, law in zip(plans, loop.controller.laws, strict=True):
            stands = plan is not None and not plan.motors
            if type(plan) is not Plan or (stands and isinstance(law, ArmLaw)):
                return first
            if stands:
                law.reset()
        return first + len(since)

    def _waits(self, period: int, go_back: Callable[[], None]) -> bool:
        """Tell the mission of a state; False where it did more than to wait: then the loop is there again."""
        loop, rows, simulation = self._loop, self._rows, self._loop.simulation
        pilot = loop.pilot
        assert pilot is not None
        was_over = pilot.is_over
        pilot.before_order = go_back
        states = rows.states[period, : len(simulation.names)].copy()
        pilot.look(
            nanoseconds(rows.times[period]),
            states,
            rows.seen_taut[period].copy(),
            rows.trains[period],
        )
        ordered, pilot.before_order = pilot.before_order is None, None
        if pilot.is_over and not was_over and not ordered:
            go_back()
            ordered = True
        if ordered:
            loop.tell(states)
        return not ordered

    def _take_up(self, first: int, end: int, limited: int) -> None:
        """Take up the events of periods that have been flown, and how many had commands beyond the rotors."""
        simulation = self._loop.simulation
        self.limited += limited
        simulation.engine.run(0)
        simulation.engine.update_kinematics()
        simulation.note_touching(self._rows.touching[first:end], first)
