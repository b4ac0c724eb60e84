"""Flights in one call: fly, view, open, compare."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

from rotor_core.config import initial
from rotor_core.config.catalog import shipped
from rotor_core.config.loader import scenario_of
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import teams
from rotor_core.errors import ConfigError
from rotor_core.extras import explained
from rotor_core.kernels.jit import when_compiling
from rotor_core.plans.plan import Plan
from rotor_core.state import States
from rotor_flight import fly as flying
from rotor_flight.flight import Flight

if TYPE_CHECKING:
    from rotor_flight.sensitivities.flights import Sensitivities
    from rotor_recordings.compare.comparison import CompareOptions, Comparison


def scenarios() -> list[str]:
    """Names of the shipped scenarios."""
    return shipped("scenarios")


def initial_states(scenario: Scenario | str | Path) -> States:
    """States of all entities at the start, by name, without a simulation.

    Raises:
        ConfigError: there is no such scenario.
    """
    scenario = scenario_of(scenario)
    names = [e.name for e in scenario.model.entities]
    return States(names, initial.initial_states(scenario))


@functools.cache
def _tell_of_compiling() -> None:
    """Print a line, once, when kernels are compiled that are not in the cache."""
    said: list[bool] = []

    def tell(begins: bool) -> None:
        if begins and not said:
            said.append(True)
            print("compiling kernels, once (up to a minute) ...", file=sys.stderr, flush=True)

    when_compiling(tell)


def _checked(
    scenario: Scenario, duration: float | None, plans: Mapping[str, Plan] | None
) -> dict[str, Plan] | None:
    """The plans of a flight, for all planned entities and no others; the duration is looked at, too."""
    if duration is not None and not (isinstance(duration, Real) and duration > 0.0):
        raise ConfigError(f"duration: must be a number > 0 s, got {duration!r}.")
    if plans is None:
        return None
    planned = [team.entity for team in teams(scenario.model)]
    if not isinstance(plans, Mapping) or sorted(plans) != sorted(planned):
        given = sorted(plans) if isinstance(plans, Mapping) else type(plans).__name__
        raise ConfigError(f"plans: must name {planned} and nothing else, got {given}.")
    for name, plan in plans.items():
        if not isinstance(plan, Plan):
            raise ConfigError(f"plans: {name!r} must be a Plan, got {type(plan).__name__}.")
    return dict(plans)


def fly(
    scenario: Scenario | str | Path,
    *,
    duration: float | None = None,
    plans: Mapping[str, Plan] | None = None,
) -> Flight:
    """Fly a scenario in closed loop, as fast as the machine can.

    Args:
        scenario: or the name or path of one.
        duration: s; default the trajectory and the scenario's ``settle_s``.
        plans: of the planned entities, in place of the scenario's trajectory.

    Raises:
        ConfigError: there is no such scenario, its controller does not fit the model, or the duration or the names of
            plans are wrong.
        SolverError: the integration cannot go on.
    """
    scenario = scenario_of(scenario)
    plans = _checked(scenario, duration, plans)
    _tell_of_compiling()
    return flying.fly(scenario, duration=duration, plans=plans)


def sensitivities(
    scenario: Scenario | str | Path,
    parameters: Sequence[str],
    *,
    duration: float | None = None,
    plans: Mapping[str, Plan] | None = None,
) -> Sensitivities:
    """Fly a scenario with the derivatives of everything recorded, through every event on the way.

    Args:
        scenario: or the name or path of one.
        parameters: places of numbers, as of :meth:`Scenario.changed`: masses, lengths, gains, starts, waypoints.
        duration: s; default the trajectory and the scenario's ``settle_s``. It stays, whatever is varied.
        plans: of the planned entities, in place of the scenario's trajectory.

    Raises:
        ConfigError: there is no such scenario, place, or number, or the duration or the names of plans are wrong.
        ContractError: the scenario has Python between its steps, or begins otherwise nearby.
        SolverError: the integration cannot go on.
    """
    from rotor_flight.sensitivities.flights import sensitivities

    scenario = scenario_of(scenario)
    plans = _checked(scenario, duration, plans)
    _tell_of_compiling()
    return sensitivities(scenario, parameters, duration, plans=plans)


def open_flight(path: str | Path) -> Flight:
    """A recorded flight: a bag, a folder of results, or logs of Crazyflies; needs the extra ``recordings``.

    Raises:
        ConfigError: there is no such recording, or it lacks what a flight needs.
    """
    with explained():
        from rotor_recordings.formats.flights import open_flight

        return open_flight(str(path))


def view(what: Flight | Scenario | str, *, host: str = "127.0.0.1", port: int = 8080) -> int:
    """Show a flight, or a scenario that flies, in the browser until Ctrl-C; needs the extra ``view``.

    Raises:
        ConfigError: there is no such thing.
    """
    with explained():
        from rotor_viewer.browser.serve import serve_source, view
        from rotor_viewer.snapshots.sources import RecordedFlight, RunningFlight

    if isinstance(what, Flight):
        return serve_source(RecordedFlight(what), host, port)
    if isinstance(what, Scenario):
        return serve_source(RunningFlight(what), host, port)
    return view(what, live=False, host=host, port=port, seed=None)


def compare(sim: str | Path, real: str | Path, options: CompareOptions | None = None) -> Comparison:
    """Compare two recordings: clock and frame are found, errors measured; ``summary()`` holds the figures.

    Needs the extra ``recordings``.

    Raises:
        ConfigError: a recording cannot be read, or its motion does not determine what is asked.
    """
    with explained():
        from rotor_recordings.compare.comparison import CompareOptions, compare
        from rotor_recordings.formats.open import open_recording

        first, second = open_recording(str(sim)), open_recording(str(real))
    return compare(first, second, options or CompareOptions())
