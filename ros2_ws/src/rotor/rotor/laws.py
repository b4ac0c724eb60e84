"""Control laws of users: a function becomes a law that scenarios name."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from rotor_control.controller import refuse_arm
from rotor_core.command import Wrench
from rotor_core.config.controllers import CONTROL_LAWS
from rotor_core.config.model import Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team
from rotor_core.errors import ConfigError, ContractError
from rotor_core.reference import Reference
from rotor_core.registry import Kind
from rotor_core.state import State

Law = Callable[[State, Reference, Vehicle, Any], Wrench]


_PLACES: dict[str, tuple[str, str]] = {}
"""Module and name of the functions that are laws."""


class FunctionLaw:
    """A function of one vehicle as the law of its team."""

    def __init__(self, function: Law, gains: Any, scenario: Scenario, team: Team) -> None:
        if team.payload is not None:
            raise ConfigError(
                f"controller.type: {scenario.controller.type!r} flies single vehicles, but {team.entity!r} is "
                f"carried by {len(team.vehicles)} vehicles. Use a law for teams, or fly a scenario without payload."
            )
        refuse_arm(scenario, scenario.model.vehicles[scenario.model.index(team.vehicles[0])])
        self.team = team
        self._function, self._gains = function, gains
        self._row = scenario.model.index(team.vehicles[0])
        self._vehicle = scenario.model.vehicles[self._row]

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the command (1, 4) of the vehicle."""
        state = State(states[self._row].copy())  # a law may calculate in place
        wrench = self._function(state, Reference(reference.copy()), self._vehicle, self._gains)
        if not isinstance(wrench, Wrench):
            raise ContractError(
                f"control law of {self._vehicle.name!r}: must return a rotor.Wrench, got {type(wrench).__name__}."
            )
        array = wrench.array
        if not np.isfinite(array).all():  # limits would make an infinite thrust the largest
            raise ContractError(
                f"control law of {self._vehicle.name!r}: thrust and moment must be finite, got {array.tolist()}."
            )
        out[0] = array

    def reset(self) -> None:
        """Nothing to forget."""


def control_law(name: str, *, gains: type) -> Callable[[Law], Law]:
    """Register a function of one vehicle as a control law.

    The function gets the measured state, the reference, the vehicle and the gains, and returns a
    :class:`~rotor_core.command.Wrench`. A scenario names it as ``controller: {type: NAME, ...gains}``.

    Args:
        name: of the law.
        gains: frozen dataclass; its fields are the keys of the scenario.

    Raises:
        ConfigError: the name is taken, or ``gains`` is not a dataclass.
    """
    if not (isinstance(gains, type) and dataclasses.is_dataclass(gains)):
        raise ConfigError(f"control law {name!r}: gains must be a dataclass, got {gains!r}.")
    hints = typing.get_type_hints(gains)
    fields: list[tuple[str, Any, Any]] = [("type", str, dataclasses.field())]
    for f in dataclasses.fields(gains):
        copy = dataclasses.field(
            default=f.default, default_factory=f.default_factory, metadata=f.metadata
        )
        fields.append((f.name, hints[f.name], copy))
    config = dataclasses.make_dataclass(f"{gains.__name__}Control", fields, frozen=True)
    config.__doc__ = gains.__doc__

    def register(function: Law) -> Law:
        def make(scenario: Scenario, team: Team) -> FunctionLaw:
            given = scenario.controller
            if not isinstance(given, config):
                raise ConfigError(
                    f"controller.type: {name!r} was registered again after this scenario was loaded. Load it again."
                )
            values = {f.name: getattr(given, f.name) for f in dataclasses.fields(gains)}
            return FunctionLaw(function, gains(**values), scenario, team)

        place = function.__module__, function.__qualname__
        # a cell of a notebook that is run again
        again = place[0] == "__main__" and _PLACES.get(name) == place
        CONTROL_LAWS.register(name, Kind(config, make), origin=place[0], again=again)
        _PLACES[name] = place
        return function

    return register
