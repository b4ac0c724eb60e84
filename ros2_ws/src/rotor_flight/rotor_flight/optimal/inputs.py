"""Inputs of optimization: thrusts of the rotors of all vehicles of a scenario, and accelerations of its winches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag
from transforms3d.quaternions import quat2mat

from rotor_control.allocation.tension import Tension
from rotor_core.config.initial import initial_states
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import attachment_points, teams
from rotor_core.state import State
from rotor_core.vehicles.rotors import RotorSet, rotor_set
from rotor_dynamics.model.system import merge_welds
from rotor_sim.plant.system import system_from_scenario


@dataclass(frozen=True)
class Inputs:
    """Thrusts of all rotors, vehicle by vehicle, then accelerations of winches (W.3).

    Attributes:
        n_rotors: how many of the inputs are thrusts.
        mixing: to the wrenches of all vehicles and the accelerations, (4 n_vehicles + n_winches, m).
        lower, upper: limits, (m,) N and m/s^2.
        hover: what vehicles weigh and, under vertical cables, hold; on rigid links equal shares, without a moment;
            winches at rest, (m,).
        power: of a rotor at its shaft over its thrust to the power 3/2, (n_rotors,) W/N^1.5: drag torque times speed.
    """

    n_rotors: int
    mixing: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    hover: np.ndarray
    power: np.ndarray

    @property
    def n_winches(self) -> int:
        """Number of the inputs that are accelerations."""
        return len(self.hover) - self.n_rotors

    def of_world(self, inputs: np.ndarray) -> np.ndarray:
        """Inputs of the world that is shot: wrenches and accelerations, (..., 4 n_vehicles + n_winches)."""
        return inputs @ self.mixing.T

    def wrenches(self, inputs: np.ndarray) -> np.ndarray:
        """Wrenches of all vehicles, (..., n_vehicles, 4)."""
        of_rotors = self.mixing[: len(self.mixing) - self.n_winches, : self.n_rotors]
        return (inputs[..., : self.n_rotors] @ of_rotors.T).reshape(*inputs.shape[:-1], -1, 4)


def inputs_of(scenario: Scenario, *, winds: bool = True) -> Inputs:
    """Rotors of the vehicles of a scenario, and its winches unless somebody else winds them."""
    model = scenario.model
    sets = [rotor_set(v.rotors) for v in model.vehicles]
    counts = [s.count for s in sets]
    winches = [c.winch for c in model.cables if c.winch is not None and winds]
    strongest = np.array([w.acceleration_m_s2 for w in winches])
    limits = np.array([s.thrust_limits for s in sets])
    shares = np.repeat(_loads(scenario) / np.array(counts), counts)
    _balance(scenario, sets, shares)
    power = [np.abs(s.mixing[3]) / np.sqrt(s.thrust_per_speed2) for s in sets]
    return Inputs(
        sum(counts),
        block_diag(*(s.mixing for s in sets), np.eye(len(strongest))),
        np.append(np.repeat(limits[:, 0], counts), -strongest),
        np.append(np.repeat(limits[:, 1], counts), strongest),
        np.append(shares, np.zeros(len(strongest))),
        np.concatenate(power),
    )


def _loads(scenario: Scenario) -> np.ndarray:
    """Load of every vehicle while all rests, (n_vehicles,) N: payloads as their hooks share them (C.12).

    Equal shares of everything where something hangs on no vehicle itself.
    """
    model, gravity = scenario.model, scenario.environment.gravity_m_s2
    loads = np.array([v.mass_kg for v in model.vehicles]) * gravity
    for team in teams(model):
        if team.payload is None:
            continue
        rows = [model.index(name) for name in team.vehicles]
        weight = model.entities[model.index(team.payload)].mass_kg * gravity
        if team.rigid:
            loads[rows] = (loads[rows].sum() + weight) / len(rows)
        else:
            points = attachment_points(model, team)
            np.add.at(loads, rows, Tension(points, weight).at_rest(weight))
    whole = sum(e.mass_kg for e in model.entities) * gravity
    if not np.isclose(loads.sum(), whole, rtol=1e-9):  # cargo, or what hangs on what hangs
        return np.full(len(loads), whole / len(loads))
    return loads


def _balance(scenario: Scenario, sets: list[RotorSet], thrusts: np.ndarray) -> None:
    """Bring thrusts of vehicles that are not their own centres of mass to the smallest ones without a moment.

    Of bodies as they stand in the start; what cables pull beside a centre is left out.

    Args:
        scenario: whose vehicles are the first members.
        sets: their rotors.
        thrusts: changed, (n_rotors,) N.
    """
    counts = [s.count for s in sets]
    first = np.cumsum([0, *counts])
    attitudes = State(initial_states(scenario)).attitude
    for group in merge_welds(system_from_scenario(scenario)):
        at_centre = len(group.members) == 1 and not group.places[0].p.any()
        maps, columns, up = [], [], np.zeros(3)
        for member, place in zip(group.members, group.places, strict=True):
            if member >= len(sets) or at_centre:
                continue
            R, s = quat2mat(place.q), sets[member]
            forces = np.outer(R[:, 2], s.mixing[0])
            maps.append(np.vstack([forces, np.cross(place.p, forces.T).T + R @ s.mixing[1:]]))
            columns += range(first[member], first[member + 1])
            up = R @ quat2mat(attitudes[member]).T[:, 2]
        if maps:
            wanted = np.append(thrusts[columns].sum() * up, np.zeros(3))
            thrusts[columns] = np.linalg.lstsq(np.hstack(maps), wanted, rcond=None)[0]
