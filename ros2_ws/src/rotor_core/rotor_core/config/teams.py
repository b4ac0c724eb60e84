"""Teams of vehicles that fly together: the connected parts of a model, each with at most one payload."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.model import Model
from rotor_core.errors import ConfigError
from rotor_core.state import State


@dataclass(frozen=True)
class Team:
    """Vehicles joined to one payload, or one free vehicle.

    Attributes:
        payload: name, or None for a free vehicle.
        vehicles: names, in the order of the attachments.
        cables: indices into ``Model.cables``, one per vehicle, or empty.
        rigid: whether the vehicles are rigidly linked.
    """

    payload: str | None
    vehicles: tuple[str, ...]
    cables: tuple[int, ...] = ()
    rigid: bool = False

    @property
    def entity(self) -> str:
        """The entity whose motion is planned."""
        return self.payload or self.vehicles[0]


def leave_from_b(model: Model) -> np.ndarray:
    """True for cables that are told from their end b, because only that is at a vehicle, (n_cables,)."""
    vehicles = {v.name for v in model.vehicles}
    return np.array([c.b in vehicles and c.a not in vehicles for c in model.cables], bool)


def teams(model: Model) -> tuple[Team, ...]:
    """The teams of a model, in the order of payloads, then of free vehicles, with cargo or without.

    Raises:
        ConfigError: a vehicle is joined to two payloads, or a payload by cables and rigid links at
            once.
    """
    out = []
    taken: set[str] = set()
    vehicle_names = [v.name for v in model.vehicles]
    cargo = {link.child for link in model.cargo}
    for payload in model.payloads:
        if payload.name in cargo:
            continue
        cabled = [
            (c.a, k) if c.b == payload.name else (c.b, k)
            for k, c in enumerate(model.cables)
            if payload.name in (c.a, c.b) and {c.a, c.b} & set(vehicle_names)
        ]
        linked = [
            link.child if link.parent == payload.name else link.parent
            for link in model.rigid_links
            if payload.name in (link.parent, link.child)
        ]
        linked = [name for name in linked if name in vehicle_names]
        if cabled and linked:
            raise ConfigError(
                f"payload {payload.name!r}: is held by cables and rigid links at once; no shipped "
                f"controller flies that."
            )
        members = tuple(name for name, _ in cabled) or tuple(linked)
        for name in members:
            if name in taken or members.count(name) > 1:
                raise ConfigError(
                    f"vehicle {name!r}: is attached twice; a vehicle carries one payload at one point."
                )
        taken |= set(members)
        if members:
            out.append(Team(payload.name, members, tuple(k for _, k in cabled), bool(linked)))
    out += [Team(None, (name,)) for name in vehicle_names if name not in taken]
    return tuple(out)


def attachment_points(model: Model, team: Team) -> np.ndarray:
    """Attachment points of the team on its payload, in the frame of the payload, (n, 3) m."""
    if team.rigid:
        links = {link.child: link.position_m for link in model.rigid_links}
        return np.array([links[v] for v in team.vehicles])
    cables = [model.cables[k] for k in team.cables]
    return np.array([c.b_point_m if c.b == team.payload else c.a_point_m for c in cables]).reshape(
        -1, 3
    )


def cable_paths(model: Model, states: np.ndarray) -> list[np.ndarray]:
    """Points of all cables in W from end to end, (n, 3) m each; NaN where one is at a link of an arm.

    Args:
        model: who is there.
        states: of all entities, (n, 13).
    """
    names = [e.name for e in model.entities]

    def place(name: str, point: tuple[float, float, float]) -> np.ndarray:
        if name == "world":
            return np.array(point)
        if name not in names:
            return np.full(3, np.nan)
        state = State(states[names.index(name)])
        return state.position + quat2mat(state.attitude) @ np.array(point)

    return [np.array([place(name, point) for name, point in c.path]) for c in model.cables]


def cable_spans(model: Model, states: np.ndarray) -> np.ndarray:
    """Distances between the ends of all cables, along their paths, (n_cables,) m.

    NaN where a point is at a link of an arm. Arguments as of :func:`cable_paths`.
    """
    paths = cable_paths(model, states)
    return np.array([np.linalg.norm(np.diff(p, axis=0), axis=1).sum() for p in paths])


def cable_lengths(model: Model, team: Team) -> np.ndarray:
    """Cable lengths of the team, (n,) m."""
    return np.array([model.cables[k].length_m for k in team.cables])
