"""Systems and states for the tests of the engine."""

from __future__ import annotations

import numpy as np

from rotor_sim.engine import Engine
from rotor_sim.model.body import Body
from rotor_sim.model.system import Cable, System
from rotor_sim.oracles.kkt import OracleBody, OracleCable, distance_rows, mass_matrix

DRAGONFLY = np.diag([0.601e-3, 0.589e-3, 1.076e-3])
TRIANGLE = np.diag([0.00625019392, 0.00625019392, 0.01245978846])
TRI_C = np.array([(-0.1540, -0.267, 0.01125), (0.3083, 0.0, 0.01125), (-0.1540, 0.267, 0.01125)])
BOX = np.diag([0.0145, 0.0145, 0.0186])
BOX4 = np.array(
    [
        (0.3048, -0.3048, 0.2286),
        (0.3048, 0.3048, 0.2286),
        (-0.3048, 0.3048, 0.2286),
        (-0.3048, -0.3048, 0.2286),
    ]
)


def quaternion(*wxyz: float) -> np.ndarray:
    q = np.array(wxyz, float)
    return q / np.linalg.norm(q)


def state(x=(0, 0, 0), q=(1, 0, 0, 0), v=(0, 0, 0), w=(0, 0, 0)) -> np.ndarray:
    return np.concatenate([x, q, v, w]).astype(float)


def team(
    n: int, rho: np.ndarray, lengths: np.ndarray, *, mass=0.278, inertia=TRIANGLE, vehicle_mass=0.25
) -> System:
    """Payload (body 0) and n Dragonflies on cables."""
    bodies = (
        Body("payload", mass, inertia),
        *(Body(f"quad{i + 1}", vehicle_mass, DRAGONFLY) for i in range(n)),
    )
    cables = tuple(Cable(i + 1, 0, float(lengths[i]), r_b=rho[i]) for i in range(n))
    return System(bodies, cables, (), tuple(range(1, n + 1)))


def oracle(system: System) -> tuple[list[OracleBody], list[OracleCable]]:
    return (
        [OracleBody(b.mass, b.inertia_B) for b in system.bodies],
        [
            OracleCable(c.a, np.asarray(c.r_a), c.b, np.asarray(c.r_b), c.length)
            for c in system.cables
        ],
    )


def random_team(rng: np.random.Generator, n: int, taut: np.ndarray) -> tuple[System, np.ndarray]:
    """A team in a random state.

    Cables in ``taut`` are at their length, the others shorter than theirs.
    """
    rho = rng.uniform(-0.4, 0.4, (n, 3))
    A = rng.normal(size=(3, 3))
    inertia = 0.01 * (A @ A.T + np.eye(3))
    load = state(
        rng.normal(size=3), quaternion(*rng.normal(size=4)), rng.normal(size=3), rng.normal(size=3)
    )
    states = [load]
    probe = team(n, rho, np.ones(n), inertia=inertia)
    for _ in range(n):
        direction = rng.normal(size=3)
        states.append(
            state(
                load[:3] + rng.uniform(0.6, 1.4) * direction / np.linalg.norm(direction),
                quaternion(*rng.normal(size=4)),
                rng.normal(size=3),
                rng.normal(size=3),
            )
        )
    states = np.array(states)
    _, cables = oracle(probe)
    gaps, _, _ = distance_rows(states, cables)
    lengths = 1.0 + gaps + np.where(taut, 0.0, rng.uniform(0.05, 0.3, n))
    return team(n, rho, lengths, inertia=inertia), states


def at_rest_along(system: System, states: np.ndarray, taut: np.ndarray) -> np.ndarray:
    """Velocities projected (mass-weighted) so that the taut cables keep their length."""
    bodies, cables = oracle(system)
    M = mass_matrix(bodies)
    _, D, _ = distance_rows(states, cables)
    D = D[np.flatnonzero(taut)]
    out = states.copy()
    if len(D):
        u = states[:, 7:13].ravel()
        W = np.linalg.solve(M, D.T)
        out[:, 7:13] = (u - W @ np.linalg.solve(D @ W, D @ u)).reshape(-1, 6)
    return out


def started(
    system: System, states: np.ndarray, wrenches: np.ndarray | None = None, **options
) -> Engine:
    """An engine whose inputs act from the very start."""
    engine = Engine(system, **options)
    if wrenches is not None:
        engine.world.inputs[:, :4] = wrenches
    engine.set_state(states)
    return engine
