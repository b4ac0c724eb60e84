"""Derivative of a flight with one number, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.errors import UnknownNameError
from rotor_core.state import State
from rotor_dynamics.sensitivities.event_changes import EventChanges
from rotor_flight.flight import Flight


class StateChange:
    """Derivative of the state of a body over time.

    Args:
        states: of the body, (N, 13).
        change: their derivative, (N, 13).
    """

    def __init__(self, states: np.ndarray, change: np.ndarray) -> None:
        self._q, self._change = State(states).attitude, State(change)

    @property
    def position(self) -> np.ndarray:
        """Of the position in W, (N, 3) m per unit."""
        return self._change.position

    @property
    def rotation(self) -> np.ndarray:
        """Of the attitude: rotation vector in body axes, (N, 3) rad per unit (D.16)."""
        w, v = self._q[:, :1], self._q[:, 1:]
        dw, dv = self._change.attitude[:, :1], self._change.attitude[:, 1:]
        return 2.0 * (w * dv - dw * v - np.cross(v, dv))

    @property
    def velocity(self) -> np.ndarray:
        """Of the velocity in W, (N, 3) m/s per unit."""
        return self._change.velocity

    @property
    def body_rate(self) -> np.ndarray:
        """Of the body rate in body axes, (N, 3) rad/s per unit."""
        return self._change.body_rate


@dataclass(frozen=True, repr=False)
class FlightChange:
    """Derivative of a flight with one number of its scenario; rows are those of the flight.

    Attributes:
        flight: the flight itself.
        states, references, commands, tensions, joints, joint_references, efforts, masses: derivatives of its arrays.
        events: derivatives of its events.
        number: as the scenario has it.
        scenario_with: the scenario with another number.
    """

    flight: Flight
    states: np.ndarray
    references: np.ndarray
    commands: np.ndarray
    tensions: np.ndarray
    joints: np.ndarray
    joint_references: np.ndarray
    efforts: np.ndarray
    masses: np.ndarray
    events: EventChanges
    number: float
    scenario_with: Callable[[float], Scenario]

    def __repr__(self) -> str:
        return f"FlightChange(at {self.number:g}, of {self.flight!r})"

    @property
    def event_times(self) -> np.ndarray:
        """Of the times of the events, (n_events,) s per unit; NaN where none is known."""
        return self.events.times

    def __getitem__(self, entity: str) -> StateChange:
        """Of the states of an entity.

        Raises:
            UnknownNameError: there is no such entity.
        """
        names = self.flight.names
        if entity not in names:
            raise UnknownNameError(f"there is no entity {entity!r}; known: {', '.join(names)}")
        row = names.index(entity)
        return StateChange(self.flight.states[:, row], self.states[:, row])

    def tension(self, cable: str) -> np.ndarray:
        """Of the tension of a cable, (N,) N per unit; see :meth:`Flight.tension`."""
        return replace(self.flight, tensions=self.tensions).tension(cable)

    def moved(self, by: float) -> Flight:
        """The flight as it would be, to first order, with the number changed by ``by``.

        What has no derivative is NaN: figures of events that only the flight told, ``asked`` and ``extra``.
        """
        flight = self.flight
        states = flight.states + by * self.states
        attitude = State(states).attitude
        attitude /= np.linalg.norm(attitude, axis=-1, keepdims=True)
        return replace(
            flight,
            scenario=self.scenario_with(self.number + by),
            states=states,
            references=flight.references + by * self.references,
            commands=flight.commands + by * self.commands,
            tensions=flight.tensions + by * self.tensions,
            joints=flight.joints + by * self.joints,
            joint_references=flight.joint_references + by * self.joint_references,
            efforts=flight.efforts + by * self.efforts,
            masses=flight.masses + by * self.masses,
            events=self.events.moved(by),
            extra=_unknown(flight.extra),
            asked=_unknown(flight.asked),
        )


def _unknown(summary: Any) -> Any:
    """A summary with NaN for every number in it."""
    if isinstance(summary, dict):
        return {key: _unknown(value) for key, value in summary.items()}
    if isinstance(summary, (list, tuple)):
        return type(summary)(_unknown(value) for value in summary)
    if isinstance(summary, np.ndarray):
        return np.full(summary.shape, np.nan)
    return np.nan if isinstance(summary, (int, float, np.number)) else summary
