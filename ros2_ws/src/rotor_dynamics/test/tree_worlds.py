"""Random worlds of trees, bodies and points on cables, and how to hang a cable between two of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from trees import Maximal, joint_state, planted, random_start, random_tree
from worlds import random_inertia

from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.system import Cable, System
from validation.oracles.kkt import rotation


def anchor(motion: np.ndarray, body: int, r: np.ndarray) -> np.ndarray:
    """Position of a point of a body (or of the world)."""
    if body == WORLD:
        return np.asarray(r, float)
    return motion[body, :3] + rotation(motion[body, 3:7]) @ r


def distances(system: System, motion: np.ndarray) -> np.ndarray:
    """Between the ends of all cables, from the motion of the members alone."""
    return np.array(
        [
            np.linalg.norm(anchor(motion, c.b, c.r_b) - anchor(motion, c.a, c.r_a))
            for c in system.cables
        ]
    )


def drape(system: System, states: np.ndarray, joints: np.ndarray, cable: Cable) -> Cable:
    """The cable with the length at which it is straight in this state."""
    bare = replace(system, cables=())
    motion = planted(bare, states, joints).motion
    (length,) = distances(replace(bare, cables=(cable,)), motion)
    return replace(cable, length=float(length))


def random_scene(
    seed: int, *, gravity: float = 9.81, anchors: bool = True, stops: bool = False
) -> tuple[System, np.ndarray, np.ndarray]:
    """Two trees, a point and a body on up to five cables, of which two in three start at their length.

    Dependent cables are left out: their matrix stays well conditioned.

    Args:
        seed: of everything.
        gravity: m/s^2.
        anchors: whether the second tree is on the ground and cables may end in the world.
        stops: whether every other joint starts between stops.
    """
    rng = np.random.default_rng(seed)
    halves = [
        random_tree(rng, int(rng.integers(1, 5)), on_ground=k == 1 and anchors) for k in range(2)
    ]
    first = len(halves[0].bodies)
    second = [
        replace(j, parent=j.parent + first if j.parent != WORLD else WORLD, child=j.child + first)
        for j in halves[1].joints
    ]
    bodies = [*halves[0].bodies, *halves[1].bodies]
    point = len(bodies)
    bodies += [Body("point", 0.3), Body("box", 0.6, random_inertia(rng, 0.6))]
    joints = [
        replace(j, name=f"j{i}", friction=float(rng.choice([0.0, 0.2])))
        for i, j in enumerate((*halves[0].joints, *second))
    ]
    bodies = [replace(b, name=f"b{i}") for i, b in enumerate(bodies)]
    system = System(tuple(bodies), gravity=gravity, joints=tuple(joints))
    states, start = random_start(rng, system, 1.0)
    states[point, 3:7], states[point, 10:] = (1.0, 0.0, 0.0, 0.0), 0.0
    if stops:
        joints = [
            replace(j, lower=a - rng.uniform(0.01, 0.3), upper=a + rng.uniform(0.01, 0.3))
            if i % 2
            else j
            for i, (j, a) in enumerate(zip(joints, start[:, 0], strict=True))
        ]
        system = replace(system, joints=tuple(joints))
    bare = planted(system, states, start)
    dense = Maximal(system, bare.motion, joint_state(bare))
    cables: list[Cable] = []
    gradients: list[np.ndarray] = []
    for _ in range(int(rng.integers(2, 6))):
        a, b = (int(i) for i in rng.choice(len(bodies) + anchors, 2, replace=False) - anchors)
        r_a, r_b = (
            np.zeros(3) if i == point else rng.uniform(-0.3, 0.3, 3) + (0, 0, 2.0 * (i == WORLD))
            for i in (a, b)
        )
        cable = drape(system, states, start, Cable(a, b, 1.0, r_a, r_b))
        rows = [*gradients, dense.cable(cable)[0]]
        A = np.array(rows) @ np.array([dense.respond(row) for row in rows]).T
        if np.linalg.eigvalsh(A)[0] < 0.05:
            continue
        gradients = rows
        slack = 0.0 if rng.random() < 2 / 3 else rng.uniform(0.01, 0.1)
        cables.append(replace(cable, length=cable.length + slack))
    return replace(system, cables=tuple(cables)), states, start
