"""Derivatives of whole flights under their law, with any number of the scenario."""

from __future__ import annotations

import time as wall
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from rotor_core.config.parameters import Variations
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError, ContractError, UnknownNameError
from rotor_core.kernels.jit import kernel_without_gil
from rotor_core.numbers.duals import DIRECTIONS, duals
from rotor_core.numbers.packing import Packed, numbers_in
from rotor_core.plans.plan import Plan
from rotor_dynamics.hanging import masses_of
from rotor_dynamics.hybrid.events import Event
from rotor_dynamics.hybrid.stepper import LOG_FULL, OK
from rotor_dynamics.sensitivities.event_changes import EventChanges
from rotor_dynamics.sensitivities.propagation import (
    Doubt,
    check_differentiable,
    doubt_of,
    logged,
)
from rotor_flight.compiled.flights import Call, can_compile, fly_world, periods_of, stretches
from rotor_flight.compiled.rows import Rows, flight_of
from rotor_flight.flight import Flight
from rotor_flight.fly import LONGEST, fly, whole_duration
from rotor_flight.loop import ClosedLoop
from rotor_flight.sensitivities.changes import FlightChange
from rotor_flight.sensitivities.companions import Companions
from rotor_flight.sensitivities.settings import FOURTH, SHARE, with_neighbours

KINK = 1e-5
"""Two differences of a cost along one direction that differ by more, relative to the larger, meet a kink."""


@kernel_without_gil
def fly_duals(arguments):
    """:func:`rotor_flight.compiled.flights.fly_world` with derivatives."""
    return fly_world(*duals(arguments))


@dataclass(frozen=True)
class Sensitivities:
    """A flight and its derivatives.

    Attributes:
        flight: as flown.
        parameters: places in the scenario.
        changes: derivative of the flight with each.
        doubt: where they may not exist, because an event hangs by a thread; None: nothing is known.
    """

    flight: Flight
    parameters: tuple[str, ...]
    changes: tuple[FlightChange, ...]
    doubt: Doubt | None = None

    def __getitem__(self, parameter: str) -> FlightChange:
        """Derivative of the flight with a parameter.

        Raises:
            UnknownNameError: it was not asked for.
        """
        if parameter not in self.parameters:
            known = ", ".join(self.parameters)
            raise UnknownNameError(f"there is no derivative with {parameter!r}; known: {known}")
        return self.changes[self.parameters.index(parameter)]

    def gradient(self, cost: Callable[[Flight], float]) -> np.ndarray:
        """Derivative of a cost of the flight with every parameter, (n_parameters,); see :meth:`jacobian`."""
        return self.jacobian(cost)

    def jacobian(self, read: Callable[[Flight], Any]) -> np.ndarray:
        """Derivative of what is read of the flight with every parameter, (n_parameters, ...).

        What reads is differenced along the exact change of the flight and of its scenario: it may be any function of
        NumPy.

        Args:
            read: number or array of a flight, smooth where it is.

        Raises:
            ContractError: what is read is not finite, or has a kink here.
        """
        return np.array(
            [_slope(read, c, p) for p, c in zip(self.parameters, self.changes, strict=True)]
        )


def _slope(read: Callable[[Flight], Any], change: FlightChange, parameter: str) -> np.ndarray:
    """Derivative of what is read along the change of a flight, by differences of fourth order with two steps."""
    arrays = (change.states, change.commands, change.tensions, change.joints, change.references)
    largest = max((np.nanmax(np.abs(a)) for a in arrays if a.size), default=0.0)
    middle = np.asarray(read(change.flight), float)
    longest = SHARE * (abs(change.number) or 1.0)  # what is read may be the number itself
    longest = min(longest, 1e-3 / largest) if largest > 0.0 else longest
    found, bends = [], []
    for step in (longest, 0.5 * longest):
        points, flights = with_neighbours(
            lambda points, step=step: (points, [change.moved(k * step) for _, k in points])
        )
        ends = [np.asarray(read(flight), float) - middle for flight in flights]
        found.append(sum(w * end for (w, _), end in zip(points, ends, strict=True)) / step)
        bend = ends[0] + ends[1] if points is FOURTH else ends[1] - 2.0 * ends[0]
        bends.append(np.max(np.abs(bend), initial=0.0) / step)
    if not all(np.isfinite(a).all() for a in (middle, *found)):
        raise ContractError(
            f"gradient with {parameter}: what is read must be finite near the flight. Events that only the flight "
            "told, such as a body that passes through another, and summaries (asked, extra) have no derivative."
        )
    apart = float(np.max(np.abs(found[0] - found[1]), initial=0.0))
    noise = KINK * np.max(np.abs(found), initial=0.0)
    noise += 1e-9 * np.max(np.abs(middle), initial=0.0) / step
    # the bend of what is smooth halves with the step, that of a kink stays
    if apart > noise or (bends[1] > noise and bends[1] > 0.75 * bends[0]):
        raise ContractError(
            f"gradient with {parameter}: what is read has a kink at this flight (slopes with two steps differ by "
            f"{apart:.3g}). Read something smooth, such as a mean in the place of a maximum."
        )
    return found[1]


def checked_places(parameters: Sequence[str]) -> tuple[str, ...]:
    """Places of numbers in a scenario.

    Raises:
        ContractError: it is no list of such.
    """
    places = (
        ()
        if isinstance(parameters, str) or not isinstance(parameters, Iterable)
        else tuple(parameters)
    )
    if not places or any(not isinstance(p, str) for p in places):
        raise ContractError(
            f"sensitivities: parameters must be a list of places, got {parameters!r}."
        )
    return places


def sensitivities(
    scenario: Scenario,
    parameters: Sequence[str],
    duration: float | None = None,
    *,
    plans: dict[str, Plan] | None = None,
    every: int = 1,
) -> Sensitivities:
    """Fly a scenario, with the derivatives of everything recorded.

    Args:
        scenario: what flies; one that :func:`rotor_flight.compiled.flights.can_compile`.
        parameters: places of numbers, as of :meth:`Scenario.changed`: masses, lengths, gains, starts, waypoints.
        duration: s; default the trajectory and the scenario's ``settle_s``. It stays, whatever is varied.
        plans: in place of the scenario's trajectory.
        every: control periods per row.

    Raises:
        ConfigError: there is no such place, or no number there, or the duration cannot be.
        ContractError: the flight has Python between its steps, or nothing to differentiate.
        SolverError: the integration cannot go on.
    """
    parameters = checked_places(parameters)
    if duration is not None and not isinstance(duration, Real):
        raise ContractError(
            f"sensitivities: duration must be a number of seconds, got {duration!r}."
        )
    began = wall.perf_counter()
    loop = _loop(scenario, plans)
    total = whole_duration(scenario, loop.plans, loop.arms) if duration is None else duration
    if not 0.0 < total <= LONGEST:
        raise ConfigError(f"duration: must be > 0 s and at most {LONGEST:g} s, got {total:g}.")
    periods = periods_of(loop, total)

    def begin(varied: Scenario) -> Call:
        return Call(_loop(varied, plans), periods, every)

    variations = Variations(scenario, list(parameters))
    changes: list[FlightChange] = []
    flight, doubt = None, None
    for first in range(0, len(parameters), DIRECTIONS):
        places = parameters[first : first + DIRECTIONS]
        companions = [Companions(variations, place, begin) for place in places]
        flown = _fly(begin(scenario), periods, companions)
        if flown is None:
            fly(scenario, duration=float(total), plans=plans)  # says why
            raise ContractError("sensitivities: the flight ends early with derivatives alone.")
        doubt = doubt or flown.doubt
        flown.loop.simulation.note_touching(flown.rows.touching)
        told = flight_of(flown.loop, flown.rows, wall.perf_counter() - began, flown.limited)
        flight = flight or told
        for k, (place, companion) in enumerate(zip(places, companions, strict=True), start=1):
            changes.append(
                _change(flight, flown, k, companion.number, partial(variations.changed, place))
            )
    assert flight is not None
    return Sensitivities(flight, tuple(parameters), tuple(changes), doubt)


@dataclass
class _Flown:
    """A flight with derivatives in some directions.

    Attributes:
        loop, rows: of the flight.
        packed: arguments of its last call.
        logs: rows of the log of every call, (n_events, EVENT_ROW, WIDTH), with what reads events from such rows.
        changed_at: times of changes of the scenario, s.
        limited: commands beyond the rotors.
        doubt: where derivatives may not exist.
    """

    loop: ClosedLoop
    rows: Rows
    packed: Packed
    logs: list[tuple[Callable[[np.ndarray], list[Event]], np.ndarray]]
    changed_at: list[float]
    limited: int
    doubt: Doubt | None


def _fly(call: Call, periods: int, companions: list[Companions]) -> _Flown | None:
    """Fly with the derivatives by the numbers of companions; None: the integration cannot go on."""
    packed, doubt, limited = None, None, 0
    logs, changed_at = [], []
    for stretch in stretches(call.loop, periods, at_once=periods + 1):
        before, arguments = packed, call.arguments(stretch)
        packed = Packed(arguments)
        if before is not None:
            for row in numbers_in(arguments[-1]):
                packed.of(row)[...] = before.of(row)
        presses = call.loop.simulation.engine.presses
        for k, companion in enumerate(companions, start=1):
            slopes = companion.slopes(stretch, arguments[:-1], presses)
            for number, slope in zip(
                packed.numbers, slopes, strict=False
            ):  # those of the rows follow
                if slope.any():
                    number[..., k] = slope
        status, beyond = fly_duals(packed.tree)
        if status == LOG_FULL:
            raise ContractError(
                "sensitivities: too many events for one call; make the flight shorter."
            )
        if status != OK:
            return None
        limited += int(beyond)
        engine = call.loop.simulation.engine
        logs.append(
            (engine.events_in, logged(packed.copy_of(engine.ints), packed.of(engine.world.log)))
        )
        packed.put_back()
        doubt = doubt or doubt_of(engine.world)
        if stretch.changes:
            for k, companion in enumerate(companions, start=1):
                companion.end(stretch, packed, k)
            changed_at.append(engine.time)
        call.end(stretch)
    assert packed is not None
    return _Flown(call.loop, call.rows, packed, logs, changed_at, limited, doubt)


def _loop(scenario: Scenario, plans: dict[str, Plan] | None) -> ClosedLoop:
    loop = ClosedLoop(scenario, plans)
    check_differentiable()
    if not can_compile(loop):
        raise ContractError(
            f"sensitivities: {scenario.name} has Python between its steps, which has no derivatives: a "
            "mission, winches on the way, driven joints, ceilings, wind in space, faults of vehicles whose "
            "wrenches act at once, or a law of another package. Differentiate the engine itself "
            "(rotor_dynamics.sensitivities)."
        )
    return loop


def _change(
    flight: Flight,
    flown: _Flown,
    k: int,
    number: float,
    scenario_with: Callable[[float], Scenario],
) -> FlightChange:
    def slope(array: np.ndarray) -> np.ndarray:
        return flown.packed.of(array)[..., k].copy()

    n, rows = flight.states.shape[1], flown.rows
    states, heavy = slope(rows.states), masses_of(flown.loop.simulation.engine.system)
    return FlightChange(
        flight=flight,
        states=states[:, :n],
        references=slope(rows.references),
        commands=slope(rows.commands),
        tensions=slope(rows.tensions),
        joints=slope(rows.joints),
        joint_references=slope(rows.wanted),
        efforts=slope(rows.efforts),
        masses=states[:, heavy, :3],
        events=EventChanges(
            flight.events,
            [(read, log[..., 0], log[..., k]) for read, log in flown.logs],
            flown.changed_at,
        ),
        number=number,
        scenario_with=scenario_with,
    )
