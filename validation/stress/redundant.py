"""Bodies on more cables than they have ways to move: level plates, slings, nets, from the world and from vehicles."""

from __future__ import annotations

import numpy as np

from rotor_core.state import State
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, System
from validation.stress.flight import World, at_rest

UNEQUAL = (0.0, 1e-6, 1e-3)
"""Largest differences of the lengths of cables that should be equal, m."""

HEIGHT = 10.0
"""Of the anchors, m."""


def redundant_world(seed: int) -> World:
    """A plate or box of about 2 kg on 4 to 16 redundant cables that swings and yaws a little.

    By turns hung from the world, from one vehicle and from several; cables parallel or to one apex per
    anchor; lengths equal, or unequal by 1 um or 1 mm.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 17))
    hung = ("world", "one vehicle", "vehicles")[seed % 3]
    unequal = UNEQUAL[(seed // 3) % 3]
    sling = bool(rng.random() < 0.4)
    mass, radius, length = 2.0, 0.5, float(rng.uniform(0.8, 2.0))
    size = np.array([1.0, 1.0, rng.choice([0.05, 0.6])])
    inertia = mass / 12.0 * np.diag((size**2).sum() - size**2)
    angles = 2.0 * np.pi * (np.arange(n) + 0.5) / n
    corners = np.column_stack(
        [radius * np.cos(angles), radius * np.sin(angles), np.full(n, size[2] / 2.0)]
    )
    tops = np.zeros((n, 3)) if sling else corners.copy()
    tops[:, 2] = corners[0, 2] + (
        np.sqrt(length**2 - radius**2 * sling) if length > radius else 0.4
    )
    carriers = {"world": 0, "one vehicle": 1, "vehicles": n if not sling else 1}[hung]
    bodies = [Body("load", mass, inertia)]
    states = [at_rest(np.zeros(3))]
    pushes = []
    lengths = np.linalg.norm(tops - corners, axis=1)
    cables = []
    total = mass + 5.0 * carriers
    for i in range(carriers):
        centre = tops[i] if carriers == n else np.array([0.0, 0.0, tops[0, 2]])
        bodies.append(Body(f"vehicle{i + 1}", 5.0, np.diag([0.1, 0.1, 0.15])))
        states.append(at_rest(centre))
        pushes.append((i + 1, np.array([0.0, 0.0, total * 9.81 / carriers]), np.zeros(3)))
    for k in range(n):
        extra = unequal * rng.random()
        if carriers == 0:
            cables.append(Cable(WORLD, 0, lengths[k] + extra, tops[k], corners[k]))
        else:
            of = k if carriers == n else 0
            cables.append(
                Cable(
                    of + 1,
                    0,
                    lengths[k] + extra,
                    tops[k] - State(states[of + 1]).position,
                    corners[k],
                )
            )
    rows = np.array(states)
    State(rows).velocity[0] = rng.normal(0.0, 0.3, 3) * (1.0, 1.0, 0.0)
    State(rows).body_rate[0] = rng.normal(0.0, 0.2, 3) * (0.1, 0.1, 1.0)
    return World(
        f"{hung}, {n} cables{', sling' if sling else ''}, unequal {unequal:g} m",
        System(tuple(bodies), tuple(cables)),
        rows,
        tuple(pushes),
    )
