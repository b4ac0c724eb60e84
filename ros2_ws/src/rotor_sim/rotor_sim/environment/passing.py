"""Bodies and cables that pass through each other, because nothing holds them apart, as events with place and time."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from rotor_core.clearance.clearances import Change, Clearances, Meeting
from rotor_core.config.mission import ReleaseStep
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.outline import linked_places
from rotor_core.state import STATE
from rotor_dynamics.hanging import masses_of
from rotor_dynamics.hybrid.events import PASSES_THROUGH, Event
from rotor_dynamics.model.body import WORLD

if TYPE_CHECKING:
    from rotor_sim.simulation import Simulation


BLOCK = 64
"""Control periods that are looked at together."""


class PassingEvents:
    """Pairs of a scenario that overlapped at the last look; see :class:`rotor_core.clearance.clearances.Clearances`.

    States are gathered and looked at together, which costs a tenth of looking at each. When and where pairs met is
    found one in a control period, or few: eight at once would make a period in real time late.

    Attributes:
        is_given_all: whether somebody else keeps the states, and gives them to :meth:`take` in the end.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._parted: tuple[tuple[str, ...], ...] = ()  # plain: it is saved with a flight
        self._clearances = Clearances(scenario, margins=False)
        self.is_given_all = False
        self._cables = scenario.model.cable_names
        self._n = len(scenario.model.entities)
        masses = sum(c.segments for c in scenario.model.cables if c.mass_kg_per_m)
        self._times = np.zeros(BLOCK)
        self._states = np.zeros((BLOCK, self._n + masses, int(STATE)))
        self._taut = np.zeros((BLOCK, len(self._cables)), bool)
        self._joints = np.zeros((BLOCK, len(scenario.model.joint_names), 2))
        self.reset()

    @cached_property
    def _linked(self) -> tuple[tuple[str, ...], ...]:
        """Entities that rigid links join at the start, two by two."""
        model = self._scenario.model
        names = [entity.name for entity in model.entities]
        pairs = combinations(names, 2)
        return tuple(pair for pair in pairs if pair[1] in linked_places(model, pair[0]))

    @cached_property
    def _may_part(self) -> bool:
        """True if the scenario releases something."""
        mission = self._scenario.mission.steps if self._scenario.mission else ()
        releases = any(c.release is not None for c in self._scenario.changes)
        return releases or any(isinstance(step, ReleaseStep) for step in mission)

    @property
    def watches(self) -> bool:
        """True if states are to be looked at one by one."""
        pairs = self._clearances.pairs or (self._linked and self._may_part)
        return bool(pairs) and not self.is_given_all

    def reset(self) -> None:
        """Begin anew."""
        if self._parted:
            self._parted = ()
            self._clearances = Clearances(self._scenario, margins=False)
        self._clearances.reset()
        self._told: set[tuple[str, str]] = set()
        self._kept = 0
        self._waiting: list[Change] = []
        self._found: list[Event] = []
        self._links: list[tuple[float, list[set[str]]]] = []

    def look(self, simulation: Simulation) -> list[Event]:
        """Keep the state in which a control period begins; events, some time after a block of them is full."""
        engine, i = simulation.engine, self._kept
        self._times[i] = engine.time
        self._states[i, : self._n] = engine.motion[: self._n, :STATE]
        if len(self._states[i]) > self._n:
            self._states[i, self._n :] = engine.motion[masses_of(engine.system), :STATE]
        self._taut[i] = engine.taut
        if self._joints.shape[1]:
            self._joints[i] = simulation.joint_states
        self._kept += 1
        if self._kept == BLOCK:
            self._gather()
        if not (self._waiting or self._found):
            return []
        return self._events_of(-(-len(self._waiting) // BLOCK))  # so that none waits for long

    def flush(self) -> list[Event]:
        """Events that have begun or ceased in the states that are kept."""
        self._gather()
        return self._all_events()

    def _gather(self) -> None:
        kept, self._kept = slice(0, self._kept), 0
        self._waiting += self._clearances.changes(
            self._times[kept], self._states[kept], self._taut[kept], self._joints[kept]
        )

    def relink(self, simulation: Simulation) -> None:
        """From now on rigid links are as they are now; what they join does not pass through each other."""
        parts = _linked_parts(simulation)
        self._links.append((simulation.time, parts))
        apart = {pair for pair in self._linked if not any({*pair} <= part for part in parts)}
        if not apart <= {*self._parted}:
            self._gather()
            self._found = self._all_events()  # of pairs by their numbers until now
            self._parted = tuple(sorted(apart.union(self._parted)))
            before, pairs = self._clearances, frozenset(map(frozenset, self._parted))
            self._clearances = Clearances(self._scenario, margins=False, parted=pairs)
            self._clearances.go_on_after(before)

    def _are_joined(self, meeting: Meeting) -> bool:
        links = [parts for since, parts in self._links if since <= meeting.time]
        entities = {name.partition("/")[0] for name in meeting.names}
        of_one = len(entities) < len(meeting.names)  # a vehicle and its arm
        return bool(links) and not of_one and any(entities <= part for part in links[-1])

    def take(
        self, time: np.ndarray, states: np.ndarray, taut: np.ndarray, joints: np.ndarray
    ) -> list[Event]:
        """The same for a row of states: of the entities and then the masses of heavy cables, (N, n, 13), and joints."""
        self._waiting += self._clearances.changes(time, states, taut, joints)
        return self._all_events()

    def _all_events(self) -> list[Event]:
        return self._events_of(len(self._waiting))

    def _events_of(self, due: int) -> list[Event]:
        """Events of the first changes that wait, in the order of time."""
        found = [self._clearances.meeting(change) for change in self._waiting[:due]]
        del self._waiting[:due]
        events, self._found = self._found, []
        for meeting in sorted(found, key=lambda m: m.time):
            if meeting.begins and self._are_joined(meeting):
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


def _linked_parts(simulation: Simulation) -> list[set[str]]:
    """Entities that rigid links join now, also by an arm, part by part."""
    names, parts = simulation.body_names, []
    for weld in simulation.engine.system.welds:
        ends = {
            "world" if i == WORLD else names[i].partition("/")[0] for i in (weld.parent, weld.child)
        }
        touched = [part for part in parts if part & ends]
        parts = [part for part in parts if not part & ends] + [ends.union(*touched)]
    return parts
