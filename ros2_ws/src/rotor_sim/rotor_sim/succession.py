"""A world that goes on where another one of other entities stood: what both have keeps what has happened to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rotor_core.state import FULL_STATE
from rotor_dynamics.model.system import System
from rotor_dynamics.reconfigure import keep_contacts
from rotor_sim.shared import shared
from rotor_sim.simulation import Simulation

CABLE = re.compile(r"cable[1-9][0-9]*")
"""First part of the names of what a cable brings along: drums, wheels, masses."""


def take_over(new: Simulation, old: Simulation) -> dict[int, int]:
    """Let a new world go on where ``old`` stands.

    Entities of both keep their states, grips, faults and batteries; their rotors, motors and swashplates go on. Cables
    of both are as long as they were, cut if they were cut, and their winches do what they were asked for. Errors of
    sensors, what is on its way from them, and estimates on board go on. The clock and
    the time of the scenario go on: its changes until then are not made again, and its wind blows on. Entities that only
    the new one has begin as its scenario says. Pushes end.

    Returns:
        Numbers of the cables of both, from 0: here and in ``old``.

    Raises:
        ContractError: the new world does not allow this state.
    """
    new.reset(time=old.time, elapsed=old.elapsed)
    new.changes.leave_out_made(old.changes, new.elapsed)
    if new.wind_field and old.wind_field:
        new.wind_field.take_over(old.wind_field)
    cables = _cables_of_both(new, old)
    _keep_faults(new, old)
    _keep_actuators(new, old, cables)
    for k, j in cables.items():
        if old.engine.is_cut[j]:
            new.engine.cut(k)
    system = _with_grips(new, old, cables)
    states = new.engine.motion[:, FULL_STATE].copy()
    bodies = _names_now(old.body_names, cables)
    same_bodies = shared(new.body_names, bodies)
    states[same_bodies[0]] = old.engine.motion[same_bodies[1], FULL_STATE]
    joints = new.engine.joints.states.copy()
    mine, theirs = shared(new.engine.joints.names, _names_now(old.engine.joints.names, cables))
    joints[mine] = old.engine.joints.states[theirs]
    new.engine.winches.wind_as(old.engine.winches, cables)
    new.winches.take_over(old.winches, cables)
    same_cables = old.scenario.model.cables == new.scenario.model.cables
    new.restart_as(system, states, joints, after=old.engine if same_cables else None)
    new.blow_as(old, *same_bodies)
    new.sense_as(old, *shared(new.names, old.names))
    keep_contacts(new.engine, new.body_names, old.engine, bodies)
    new.take_events()  # of putting it together
    return cables


def _names_now(names: Sequence[str], cables: dict[int, int]) -> list[str]:
    """Names of bodies or joints of the old world as they are in the new one, whose cables have other numbers.

    Of cables that are gone it is one that nothing has.
    """
    numbers = {f"cable{j + 1}": f"cable{k + 1}" for k, j in cables.items()}

    def now(name: str) -> str:
        cable, slash, part = name.partition("/")
        if not slash or not CABLE.fullmatch(cable):
            return name
        return f"{numbers.get(cable, '')}/{part}"

    return [now(name) for name in names]


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
    names = _names_now(old.body_names, cables)
    welds = [
        replace(w, parent=new.body_names.index(a), child=new.body_names.index(b))
        for w in before.welds
        for a, b in [(names[w.parent], names[w.child])]
        if a in new.body_names and b in new.body_names
    ]
    welds += [w for w in system.welds if new.body_names[w.child] not in names]
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


def _keep_actuators(new: Simulation, old: Simulation, cables: dict[int, int]) -> None:
    """Wrenches that act, speeds of rotors, efforts of joints, swashplates, inflows, and what holds them there.

    Rotors of other vehicles are at speed with their first command. So are the joints of all arms, and the swashplates
    of all helicopters, where there are others among them.
    """
    mine, theirs = shared(new.names[: new.n_vehicles], old.names[: old.n_vehicles])
    new.actuators.take_over(old.actuators, mine, theirs)
    new.engine.wrenches[mine] = old.engine.wrenches[theirs]
    new.supply.looked_at[:] = old.supply.looked_at
    if new.rotor_air and old.rotor_air:
        turning = [
            [
                (name, k)
                for name, s in zip(world.names, world.actuators.sets, strict=False)
                for k in range(s.count)
            ]
            for world in (new, old)
        ]
        here, there = shared(*turning)
        new.rotor_air.factors[:, here] = old.rotor_air.factors[:, there]
    if len(mine) == new.n_vehicles:
        new.hold_as(old, theirs)
    new.engine.rotors.take_over(old.engine.rotors, *shared(_rotors(new), _rotors(old)))
    joints = new.engine.joints, old.engine.joints
    joints[0].take_over(joints[1], *shared(joints[0].names, _names_now(joints[1].names, cables)))
    new.take_motors(old)
    flown = [[s.names[v] for v in s.helicopters.vehicles] for s in (new, old)]
    new.helicopters.take_over(old.helicopters, *shared(*flown))
    new.engine.swash.take_over(old.engine.swash, *shared(*flown))


def _rotors(simulation: Simulation) -> list[tuple[str, int]]:
    """All rotors of the engine in order: what has them and their number in it; internal ones count below zero."""
    model = simulation.scenario.model
    turning = [(v.name, k) for v in model.vehicles for k in range(v.rotors.count)]
    stored = [(e.name, -1 - k) for e in model.entities for k in range(len(e.internal_rotors))]
    count = len(simulation.engine.system.rotors)
    return stored if count == len(stored) else [*turning, *stored]
