"""From states of the members a user named to those of the merged bodies that are integrated."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import sqrt

import numpy as np
from transforms3d.quaternions import qinverse, qmult, quat2mat

from rotor_core.errors import ContractError, ModelError
from rotor_dynamics import memory
from rotor_dynamics.actuation.joints import JointDrive
from rotor_dynamics.model.cable import INITIAL_GAP, Cable
from rotor_dynamics.model.route import path_of
from rotor_dynamics.model.system import Group, System
from rotor_dynamics.model.topology import Topology

UNIT = 1e-6
"""Quaternions may miss unit length by this much, members the place of their rigid link, m and so on."""


def checked_states(system: System, states: np.ndarray) -> np.ndarray:
    """States of all members (n, 13) with unit quaternions.

    Raises:
        ContractError: wrong shape, not finite, or a quaternion not of length 1.
    """
    states = np.asarray(states, float)
    n = len(system.bodies)
    if states.ndim != 2 or states.shape[0] != n or states.shape[1] < memory.STATE:
        raise ContractError(
            f"state: must have the shape ({n}, {memory.STATE}), got {states.shape}."
        )
    states = states[:, : memory.STATE].copy()
    for i in np.flatnonzero(~np.isfinite(states).all(axis=1)):
        raise ContractError(
            f"state of {system.bodies[i].name!r}: must be finite, got {states[i].tolist()}."
        )
    for body, state in zip(system.bodies, states, strict=True):
        q = state[memory.Q : memory.Q + 4]
        length = sqrt(q.dot(q))
        if abs(length - 1.0) > UNIT:
            raise ContractError(
                f"state of {body.name!r}: quaternion must have length 1, got {length:.9g}."
            )
        q /= length
    return states


def place(
    system: System,
    groups: Sequence[Group],
    topology: Topology,
    world: memory.World,
    states: np.ndarray,
    leaders: Collection[int] = (),
) -> None:
    """Write the states of the merged bodies.

    A group follows its first member among ``leaders`` if there is one, else its first member that
    has an attitude.
    """

    def rotates(member: int) -> bool:
        return system.bodies[member].inertia_B is not None

    for g, group in zip(topology.rows, groups, strict=True):
        if g >= topology.n_bodies:
            continue  # links follow from their joints
        led = [i for i, m in enumerate(group.members) if m in leaders and rotates(m)]
        able = [i for i, m in enumerate(group.members) if rotates(m)]
        i = (led or able or [0])[0]
        member, place = states[group.members[i]], group.places[i]
        if place.q[0] == 1.0 and not place.p.any():  # most have one member
            world.start[g, : memory.STATE] = member
            continue
        q = qmult(member[memory.Q : memory.Q + 4], qinverse(place.q))
        omega = quat2mat(place.q) @ member[memory.OMEGA :]
        R = quat2mat(q)
        world.start[g, memory.Q : memory.Q + 4], world.start[g, memory.OMEGA :] = q, omega
        world.start[g, memory.P : memory.P + 3] = member[memory.P : memory.P + 3] - R @ place.p
        world.start[g, memory.V : memory.V + 3] = member[memory.V : memory.V + 3] - R @ np.cross(
            omega, place.p
        )


def check_welds(
    system: System,
    groups: Sequence[Group],
    topology: Topology,
    motion: np.ndarray,
    states: np.ndarray,
) -> None:
    """Refuse ``states`` (n, 13) that miss what the rigid links prescribe, ``motion`` (n, >= 13); parts follow.

    Raises:
        ModelError: naming the first body that does.
    """
    parts = {weld.child for weld in system.welds if weld.follows}
    for g, group in zip(topology.rows, groups, strict=True):
        for member in group.members[1:] if g < topology.n_bodies else ():
            if member in parts:
                continue
            got, wanted = motion[member, : memory.STATE], states[member]
            difference = got - wanted
            turn = slice(memory.Q, memory.Q + 4)
            if got[turn] @ wanted[turn] < 0.0:
                difference[turn] = got[turn] + wanted[turn]  # the same attitude
            if system.bodies[member].inertia_B is None:
                difference[turn] = difference[memory.OMEGA :] = 0.0  # a point has none
            miss = float(np.max(np.abs(difference)))
            if miss > UNIT:
                raise ModelError(
                    f"rigid link to {system.bodies[member].name!r}: its state misses the link by "
                    f"{miss:.3g}. Give the state that the link prescribes."
                )


def gap_of(world: memory.World, k: int) -> float:
    """Distance minus length of a cable in the state of a world; how far a joint is beyond its stop."""
    c, number = world.constraints[k], world.constraint_int[k]
    if number[memory.STOP_JOINT] >= 0:
        angle = world.start[world.joint_int[number[memory.STOP_JOINT], memory.JOINT_ROW], memory.P]
        return float(number[memory.STOP_SIDE] * angle - c[memory.LENGTH])
    if number[memory.ROUTED]:  # a capstan: 0
        return float(c[memory.GAP])  # of the measurement when the state was set
    points = []
    for body, point in path_of(world, k):
        row = world.start[body]
        points.append(row[memory.P : memory.P + 3] + quat2mat(row[memory.Q : memory.Q + 4]) @ point)
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum() - c[memory.LENGTH])


def mark_taut(world: memory.World, cables: Sequence[Cable], joints: JointDrive) -> None:
    """Mark cables at their length, and joints at their stops.

    Raises:
        ModelError: a cable would have to be longer than it is, or a joint is beyond a stop.
    """
    for k, number in enumerate(world.constraint_int):
        gap = gap_of(world, k)
        if number[memory.ALIVE] == memory.JOINS and abs(gap) > INITIAL_GAP:
            raise ModelError(
                f"cable{k + 1}: is a rod of {world.constraints[k, memory.LENGTH]:g} m, but the points it joins are "
                f"{world.constraints[k, memory.LENGTH] + gap:.9g} m apart. Move the bodies."
            )
        if number[memory.ALIVE] == memory.HOLDS and gap > INITIAL_GAP:
            if k < len(cables):
                length = world.constraints[k, memory.LENGTH]
                raise ModelError(
                    f"cable{k + 1}: the points it joins are {length + gap:.9g} m apart, but it is only {length:g} m "
                    "long. "
                    "Move the bodies together or use a longer cable."
                )
            i = int(world.joint_int[number[memory.STOP_JOINT], memory.JOINT_NUMBER])
            stop = number[memory.STOP_SIDE] * world.constraints[k, memory.LENGTH]
            raise ModelError(
                f"joint {joints.names[i]!r}: its state {joints.angles[i]:.6g} is beyond its stop at {stop:.6g}. "
                "Start it between its stops."
            )
        able = number[memory.ALIVE] in (memory.HOLDS, memory.JOINS)
        number[memory.TAUT] = int(able and abs(gap) <= INITIAL_GAP)
        number[memory.SLIDES] = 0
