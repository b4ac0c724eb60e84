"""A world that goes on where another one of other entities stood: what both have keeps what has happened to it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from rotor_core.state import FULL_STATE
from rotor_dynamics.model.system import System
from rotor_sim.simulation import Simulation


def take_over(new: Simulation, old: Simulation) -> None:
    """Let a new world go on where ``old`` stands.

    Entities of both keep their states, grips, faults and batteries; their rotors, motors and swashplates go on. Cables
    of both are as long as they were, cut if they were cut, and their winches do what they were asked for. The clock and
    the time of the scenario go on: its changes until then are not made again, and its wind blows on. Entities that only
    the new one has begin as its scenario says. Pushes end, and errors of sensors begin anew.

    Raises:
        ContractError: the new world does not allow this state.
    """
    new.reset(time=old.time, elapsed=old.elapsed)
    if new.wind_field and old.wind_field:
        new.wind_field.take_over(old.wind_field)
    _keep_faults(new, old)
    _keep_actuators(new, old)
    cables = _cables_of_both(new, old)
    for k, j in cables.items():
        if old.engine.is_cut[j]:
            new.engine.cut(k)
    system = _with_grips(new, old, cables)
    states = new.engine.motion[:, FULL_STATE].copy()
    mine, theirs = _shared(new.body_names, old.body_names)
    states[mine] = old.engine.motion[theirs, FULL_STATE]
    joints = new.engine.joints.states.copy()
    mine, theirs = _shared(new.engine.joints.names, old.engine.joints.names)
    joints[mine] = old.engine.joints.states[theirs]
    new.engine.winches.wind_as(old.engine.winches, cables)
    new.winches.take_over(old.winches, cables)
    same_cables = old.scenario.model.cables == new.scenario.model.cables
    new.restart_as(system, states, joints, after=old.engine if same_cables else None)
    new.take_events()  # of putting it together


def _cables_of_both(new: Simulation, old: Simulation) -> dict[int, int]:
    """Numbers of the same cables in both worlds; of several that are alike in their order."""
    left, found = list(enumerate(old.scenario.model.cables)), {}
    for k, cable in enumerate(new.scenario.model.cables):
        for entry in left:
            if entry[1] == cable:
                found[k] = entry[0]
                left.remove(entry)
                break
    return found


def _with_grips(new: Simulation, old: Simulation, cables: dict[int, int]) -> System:
    """The system of the new world with what is attached and released in the old one, and the lengths of its cables."""
    system, before = new.engine.system, old.engine.system
    welds = [
        replace(w, parent=new.body_names.index(a), child=new.body_names.index(b))
        for w in before.welds
        for a, b in [(old.body_names[w.parent], old.body_names[w.child])]
        if a in new.body_names and b in new.body_names
    ]
    welds += [w for w in system.welds if new.body_names[w.child] not in old.body_names]
    lengths = [
        replace(c, length=before.cables[cables[k]].length) if k in cables else c
        for k, c in enumerate(system.cables)
    ]
    return replace(system, welds=tuple(welds), cables=tuple(lengths))


def _keep_faults(new: Simulation, old: Simulation) -> None:
    """Health of rotors and engines, motors and batteries."""
    for name in set(new.names[: new.n_vehicles]) & set(old.names[: old.n_vehicles]):
        here, there = new.vehicle(name), old.vehicle(name)
        health = old.actuators.split(old.actuators.health)[there]
        for rotor in np.flatnonzero(health != 1.0).tolist():
            new.actuators.weaken(here, rotor, float(health[rotor]))
        if here in new.helicopters.vehicles:
            engine = old.helicopters.health[old.helicopters.vehicles.index(there)]
            new.helicopters.weaken(here, float(engine))
        if here in new.power:
            i, j = (
                int(np.flatnonzero(s.supply.vehicles == row)[0])
                for s, row in ((new, here), (old, there))
            )
            new.supply.state[i] = old.supply.state[j]
            new.supply.motors[i, : len(health)] = old.supply.motors[j, : len(health)]


def _keep_actuators(new: Simulation, old: Simulation) -> None:
    """Speeds of rotors, efforts of joints, swashplates, induced velocities, and what holds them there.

    Rotors of other vehicles are at speed with their first command. So are the joints of all arms, and the swashplates
    of all helicopters, where there are others among them.
    """
    mine, theirs = _shared(new.names[: new.n_vehicles], old.names[: old.n_vehicles])
    new.actuators.applied[mine] = old.actuators.applied[theirs]
    new.actuators.begun[mine] = old.actuators.begun[theirs]
    new.engine.rotors.take_over(old.engine.rotors, *_shared(_rotors(new), _rotors(old)))
    joints = new.engine.joints, old.engine.joints
    joints[0].take_over(joints[1], *_shared(joints[0].names, joints[1].names))
    new.take_motors(old)
    flown = [[s.names[v] for v in s.helicopters.vehicles] for s in (new, old)]
    new.helicopters.take_over(old.helicopters, *_shared(*flown))
    new.engine.swash.take_over(old.engine.swash, *_shared(*flown))


def _shared(here: Sequence[Hashable], there: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Places of what both have, in the one and in the other."""
    both = [name for name in here if name in there]
    return [here.index(name) for name in both], [there.index(name) for name in both]


def _rotors(simulation: Simulation) -> list[tuple[str, int]]:
    """All rotors of the engine in order: what has them and their number in it; internal ones count below zero."""
    model = simulation.scenario.model
    turning = [(v.name, k) for v in model.vehicles for k in range(v.rotors.count)]
    stored = [(e.name, -1 - k) for e in model.entities for k in range(len(e.internal_rotors))]
    count = len(simulation.engine.system.rotors)
    return stored if count == len(stored) else [*turning, *stored]
