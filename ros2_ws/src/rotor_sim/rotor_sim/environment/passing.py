"""What passes through each other, because nothing holds it apart, as events with place and time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rotor_core.clearance.clearances import Clearances, Meeting
from rotor_core.config.schema import Scenario
from rotor_core.state import STATE
from rotor_dynamics.hanging import masses_of
from rotor_dynamics.hybrid.events import Event
from rotor_dynamics.model.body import WORLD
from rotor_sim.judging.judge import PASSES_THROUGH

if TYPE_CHECKING:
    from rotor_sim.simulation import Simulation


class PassingEvents:
    """Pairs of a scenario that overlapped at the last look; see :class:`rotor_core.clearance.clearances.Clearances`."""

    def __init__(self, scenario: Scenario) -> None:
        self._clearances = Clearances(scenario)
        self._cables = scenario.model.cable_names
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._clearances.reset()
        self._told: set[tuple[str, str]] = set()

    def look(self, simulation: Simulation) -> list[Event]:
        """What has begun or ceased since the last look, now that a control period begins."""
        if not self._clearances.pairs:
            return []
        engine, n = simulation.engine, len(simulation.names)
        rows = np.r_[:n, masses_of(engine.system)].astype(int)
        states = engine.motion[None, rows, :STATE]
        return self.take(np.array([engine.time]), states, engine.taut[None], simulation)

    def take(
        self, time: np.ndarray, states: np.ndarray, taut: np.ndarray, simulation: Simulation
    ) -> list[Event]:
        """The same for a row of states, of the entities and then the masses of heavy cables, (N, n, 13)."""
        events = []
        for meeting in self._clearances.see(time, states, taut):
            if meeting.begins and _are_joined(simulation, *meeting.names):
                continue
            if not meeting.begins and meeting.names not in self._told:
                continue
            (self._told.add if meeting.begins else self._told.discard)(meeting.names)
            events.append(self._event(meeting))
        return events

    def _event(self, meeting: Meeting) -> Event:
        cables = tuple(self._cables.index(name) for name in meeting.names if name in self._cables)
        kind = "touch" if meeting.begins else "leave"
        return Event(
            meeting.time, kind, cables, PASSES_THROUGH, bodies=meeting.names, place=meeting.place
        )


def _are_joined(simulation: Simulation, a: str, b: str) -> bool:
    """True if rigid links join two entities now, also by an arm."""
    names = simulation.body_names
    if a not in names or b not in names:
        return False
    reached, found = {a}, True
    welds = [
        tuple("world" if i == WORLD else names[i].partition("/")[0] for i in (w.parent, w.child))
        for w in simulation.engine.system.welds
    ]
    while found:
        found = {y for x in welds if reached & set(x) for y in x} - reached
        reached |= found
    return b in reached
