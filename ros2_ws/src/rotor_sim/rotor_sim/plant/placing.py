"""States of all bodies from those of the entities: links behind their joints, heavy cables between their ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError, ModelError
from rotor_core.state import FULL_STATE, STATE, State
from rotor_dynamics import projection
from rotor_dynamics.engine import Engine
from rotor_dynamics.hanging import ends_of, hang_down, lay_strands
from rotor_sim.plant.heavy_cables import lowest

LINK_TOLERANCE = 1e-6
"""States set for rigidly linked entities may miss each other by this much, m."""


def with_links(engine: Engine, entities: np.ndarray) -> np.ndarray:
    """States of all bodies (n_bodies, 13) from those of the entities; links follow from their joints."""
    others = np.zeros((len(engine.system.bodies) - len(entities), int(STATE)))
    State(others).attitude[:, 0] = 1.0
    return np.vstack([entities[:, FULL_STATE], others])


def with_masses(
    engine: Engine, scenario: Scenario, states: np.ndarray, before: np.ndarray | None = None
) -> np.ndarray:
    """States of all bodies with heavy cables at rest between their ends.

    Args:
        engine: of these bodies.
        scenario: says where the ground is.
        states: of all bodies, (n_bodies, 13); those of the masses are written.
        before: the same before something was put elsewhere: cables whose ends stay are left as they are there.

    Raises:
        ModelError: a cable is shorter than its ends are apart.
    """
    system, laid = engine.system, []
    for strand in system.strands:
        rows = list(strand.bodies)
        if before is not None:
            states[rows] = before[rows]
            now, then = (ends_of(system, strand, s) for s in (states, before))
            stays = [np.array_equal(a, b) for a, b in zip(now, then, strict=True)]
            cut = bool(engine.is_cut[strand.cable])
            if stays[1] and (cut or stays[0]):
                continue
            if cut:
                hang_down(system, strand, states)
                continue
        laid.append(strand)
    lay_strands(system, states, lowest(scenario), only=laid)
    return states


def placed_at_start(
    engine: Engine, scenario: Scenario, entities: np.ndarray, joints: np.ndarray
) -> np.ndarray:
    """States of all bodies (n_bodies, 13) at the beginning of a flight.

    Raises:
        ModelError: a heavy cable is shorter than its ends are apart.
    """
    states = with_links(engine, entities)
    if not engine.system.strands:
        return states
    placed = engine.place(states, joints)[:, FULL_STATE].copy()  # links may hold ends
    placed[: len(entities)] = entities  # where a rigid link may forbid it, which is to be said
    return with_masses(engine, scenario, placed)


def put(
    engine: Engine,
    scenario: Scenario,
    entities: np.ndarray,
    moved: list[int],
    joints: np.ndarray,
    *,
    held: Sequence[int],
    project: bool,
) -> float:
    """Put entities of a running world elsewhere.

    Args:
        engine: the world.
        scenario: of it.
        entities: states of all entities, (n, 13).
        moved: rows of those that were put elsewhere; what is rigidly linked to them follows.
        joints: angles and rates of all joints, (n_joints, 2).
        held: driven joints that stay there.
        project: move everything to the nearest state that the cables allow, instead of refusing one that they forbid.

    Returns:
        How far the projection moved an entity at most, m.

    Raises:
        ContractError: a state that a cable or rigid link forbids; nothing is changed then.
        SolverError: there are no cable tensions in this state; nothing is changed then.
    """
    n = len(entities)
    trial = engine.trial(with_links(engine, entities), moved, joints)
    asked = trial.update_kinematics()[:n].copy()
    _check_links(scenario, asked, entities, moved)
    if project:
        projection.project(trial.world)
    elif forbidden := projection.violation(trial.world):
        raise ContractError(f"{forbidden}. Ask for projection, or give a state that fits.")
    there = trial.update_kinematics()[:, FULL_STATE].copy()
    if engine.system.strands:
        before = engine.update_kinematics()[:, FULL_STATE]
        try:
            there = with_masses(engine, scenario, there, before)
        except ModelError as error:
            raise ContractError(str(error)) from error
    trial.set_state(there, joints=joints)  # what it cannot do must not touch the running world
    for i in held:
        engine.joints.hold(i, joints[i, 0])
    engine.set_state(there, joints=joints)
    distances = State(there[:n]).position - State(asked).position
    return float(np.max(np.linalg.norm(distances, axis=1)))


def _check_links(
    scenario: Scenario, got: np.ndarray, wanted: np.ndarray, members: list[int]
) -> None:
    for member in members:
        apart = State(got).position[member] - State(wanted).position[member]
        distance = float(np.linalg.norm(apart))
        if distance > LINK_TOLERANCE:
            raise ContractError(
                f"rigid link of {scenario.model.entities[member].name!r}: it would be {distance:.6g} m from where the "
                "link holds it. Set the state of one entity of a rigidly linked team."
            )
