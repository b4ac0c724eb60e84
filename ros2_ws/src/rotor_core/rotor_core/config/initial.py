"""Initial states of all entities.

What the scenario says, and for the rest what the attachments suggest.
"""

from __future__ import annotations

import numpy as np
from transforms3d.euler import euler2quat
from transforms3d.quaternions import qmult, quat2mat

from rotor_core.config.attachments.rigid_link import RigidLink
from rotor_core.config.controllers import PointMassControl
from rotor_core.config.loader import plant_model
from rotor_core.config.schema import InitialState, Scenario
from rotor_core.config.teams import teams
from rotor_core.config.yaml.units import rad_from_deg, rpy_from_wxyz, wxyz_from_rpy_deg
from rotor_core.state import State


def upright(attitude: np.ndarray) -> np.ndarray:
    """The level attitude with the heading of another one, w first, (4,)."""
    return np.array(euler2quat(0.0, 0.0, rpy_from_wxyz(attitude)[2]))


def initial_states(scenario: Scenario) -> np.ndarray:
    """States of all entities in the order of ``model.entities``, (n, 13).

    Entities without a position in ``initial``: payloads at the origin, level, at rest; rigidly linked
    ones and cargo where their link holds them; vehicles on cables straight above the attachment point (around
    a point mass: leaning as its controller wants them), one cable length away, with its heading, moving with it;
    free vehicles at the origin, 1 m apart along y (helicopters three radii). What ``initial`` says of them counts.
    """
    model = plant_model(scenario)
    entities = [e.name for e in model.entities]
    states = np.zeros((len(entities), 13))
    states[:, 3] = 1.0
    done: set[str] = set()
    entries = {entry.entity: entry for entry in scenario.initial}

    def settle(name: str) -> None:
        """Its row holds what is computed: let what is given count."""
        if name in entries:
            _overwrite(State(states[entities.index(name)]), entries[name])
        done.add(name)

    for entry in scenario.initial:
        if entry.position_m is not None:
            settle(entry.entity)
    cargo = [link for link in model.cargo if link.child not in done]
    payloads = {p.name for p in model.payloads}
    held = [
        link.child
        for link in model.rigid_links
        if link.parent in payloads | done and link.child in payloads - done and link not in cargo
    ]
    for name in payloads - set(held) - done:
        settle(name)

    def follow(link: RigidLink) -> None:
        parent, child = states[entities.index(link.parent)], states[entities.index(link.child)]
        R, offset, q = (
            quat2mat(State(parent).attitude),
            np.array(link.position_m),
            wxyz_from_rpy_deg(link.rpy_deg),
        )
        State(child).position[:] = State(parent).position + R @ offset
        State(child).attitude[:] = qmult(State(parent).attitude, q)
        State(child).velocity[:] = State(parent).velocity + R @ np.cross(
            State(parent).body_rate, offset
        )
        State(child).body_rate[:] = quat2mat(q).T @ State(parent).body_rate
        settle(link.child)

    links = [link for link in model.rigid_links if link.child not in done and link not in cargo]
    while links:  # from bodies that stand outwards
        known = [link for link in links if link.parent in done] or links
        for link in known:
            follow(link)
        links = [link for link in links if link not in known]
    leans = _leans(scenario)
    for cable in model.cables:
        if cable.through:
            continue  # where it leads nobody can guess
        upper, lower = (cable.a, cable.a_point_m), (cable.b, cable.b_point_m)
        if cable.a in done:
            upper, lower = lower, upper
        if upper[0] not in entities or upper[0] in done or lower[0] not in done:
            continue
        load, vehicle = states[entities.index(lower[0])], states[entities.index(upper[0])]
        R, offset = quat2mat(State(load).attitude), np.array(lower[1])
        along = leans.get(upper[0], np.array([0.0, 0.0, 1.0]))
        State(vehicle).attitude[:] = upright(State(load).attitude)
        if upper[0] in entries:  # the hook is where the given attitude puts it
            _overwrite(State(vehicle), entries[upper[0]])
        State(vehicle).position[:] = (
            State(load).position
            + R @ offset
            + cable.length_m * along
            - quat2mat(State(vehicle).attitude) @ np.array(upper[1])
        )
        State(vehicle).velocity[:] = State(load).velocity + R @ np.cross(
            State(load).body_rate, offset
        )
        settle(upper[0])
    free = [v.name for v in model.vehicles if v.name not in done]
    spacing = max([1.0, *(3.0 * v.span for v in model.vehicles if v.helicopter)])
    for i, name in enumerate(free):
        State(states[entities.index(name)]).position[:] = (0.0, i * spacing, 0.0)
        settle(name)
    for link in cargo:
        follow(link)
    return states


def _overwrite(state: State, entry: InitialState) -> None:
    """Let what an entry gives take the place of what is computed."""
    if entry.position_m is not None:
        state.position[:] = entry.position_m
    if entry.velocity_m_s is not None:
        state.velocity[:] = entry.velocity_m_s
    if entry.rate_rad_s is not None:
        state.body_rate[:] = entry.rate_rad_s
    if entry.rpy_deg is not None:
        state.attitude[:] = wxyz_from_rpy_deg(entry.rpy_deg)
    elif entry.quaternion_wxyz is not None:
        state.attitude[:] = np.array(entry.quaternion_wxyz) / np.linalg.norm(entry.quaternion_wxyz)


def _leans(scenario: Scenario) -> dict[str, np.ndarray]:
    """Directions (3,) from a shared point mass to its vehicles, by vehicle."""
    control, out = scenario.controller, {}
    if not isinstance(control, PointMassControl):
        return out
    for team in teams(scenario.model):
        if team.payload and len(team.cables) > 1:
            spread = rad_from_deg(control.spread_deg)
            leaning = control.outward(len(team.vehicles)) * np.sin(spread) + [
                0.0,
                0.0,
                np.cos(spread),
            ]
            out |= dict(zip(team.vehicles, leaning, strict=True))
    return out
