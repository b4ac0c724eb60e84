"""The systems that are timed: a free quadrotor, three with a plate, six with a box.

Vehicles of RotorTM's size; rotors follow with a lag, bodies have linear drag, as in the compiled
kernel beside this file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core.state import State
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import Cable, Drag, Rotor, System

GRAVITY = 9.81
MASS, INERTIA, ARM = 0.25, (0.601e-3, 0.589e-3, 1.076e-3), 0.1075
THRUST, TORQUE, LAG = 1e-6, 0.016, 0.05
"""Thrust over speed squared, N s^2; drag torque over thrust, m; time constant of the speed, s."""
DRAG = (0.02, 0.02, 0.006)
STEP = 1e-3


@dataclass(frozen=True)
class Case:
    """A payload on cables under a team, or nothing.

    Attributes:
        label: in words.
        mass, inertia: of the payload.
        points: where the cables hold it, (n, 3).
        length: of the cables.
    """

    label: str
    mass: float = 0.0
    inertia: tuple[float, float, float] = (0.0, 0.0, 0.0)
    points: tuple[tuple[float, float, float], ...] = ()
    length: float = 0.0

    @property
    def vehicles(self) -> int:
        """Number of vehicles."""
        return max(1, len(self.points))

    @property
    def hover_speed(self) -> float:
        """Rotor speed at which everything hangs in balance, rad/s."""
        share = self.mass / len(self.points) if self.points else 0.0
        return float(np.sqrt((MASS + share) * GRAVITY / 4.0 / THRUST))


def _box(x: float, z: float, mass: float) -> tuple[float, float, float]:
    return mass / 12 * (x * x + z * z), mass / 12 * (x * x + z * z), mass / 12 * 2 * x * x


CASES = {
    "free": Case("free quadrotor"),
    "c": Case(
        "3 quadrotors, plate, 3 taut cables",
        0.278,
        (0.00625019392, 0.00625019392, 0.01245978846),
        ((-0.154, -0.267, 0.01125), (0.3083, 0.0, 0.01125), (-0.154, 0.267, 0.01125)),
        1.0,
    ),
    "d": Case(
        "6 quadrotors, box, 6 taut cables",
        0.25,
        _box(0.6096, 0.4572, 0.25),
        tuple(
            (0.3048 * x, 0.3048 * y, 0.2286)
            for x, y in ((1, -1), (1, 1), (-1, 1), (-1, -1), (1, 0), (-1, 0))
        ),
        0.5,
    ),
}


def hubs() -> tuple[np.ndarray, np.ndarray]:
    """Hubs (4, 3) and spins (4,) of an x layout, counter-clockwise from ahead left."""
    angles = np.pi / 4.0 + np.arange(4) * np.pi / 2.0
    positions = ARM * np.stack([np.cos(angles), np.sin(angles), np.zeros(4)], axis=1)
    return positions, np.array([1.0, -1.0, 1.0, -1.0])


def system(case: Case, *, drag: bool = True, lag: float = LAG) -> System:
    """Payload first, then vehicles."""
    vehicles = tuple(Body(f"quad{i + 1}", MASS, np.diag(INERTIA)) for i in range(case.vehicles))
    payload = (Body("payload", case.mass, np.diag(case.inertia)),) if case.points else ()
    first = len(payload)
    rotors = tuple(
        Rotor(first + i, hub=hub, spin=spin, thrust=THRUST, torque=TORQUE * THRUST, lag=lag)
        for i in range(case.vehicles)
        for hub, spin in zip(*hubs(), strict=True)
    )
    return System(
        payload + vehicles,
        tuple(Cable(first + i, 0, case.length, r_b=np.array(p)) for i, p in enumerate(case.points)),
        rotors=rotors,
        drags=tuple(Drag(first + i, np.array(DRAG)) for i in range(case.vehicles) if drag),
        gravity=GRAVITY,
    )


def states(case: Case) -> np.ndarray:
    """A payload pushed sideways under vehicles at rest that turn slowly; a free vehicle that tumbles."""
    n = len(case.points)
    out = np.zeros((n + 1 if n else 1, 13))
    out[:, 3] = 1.0
    if not n:
        State(out).velocity[0], State(out).body_rate[0] = (0.1, -0.2, 0.1), (0.1, 0.2, -0.1)
        return out
    out[0, 7] = 0.3
    for i, point in enumerate(case.points):
        out[i + 1, :3] = np.array(point) + [0.0, 0.0, case.length]
        State(out).body_rate[i + 1] = (0.1, -0.05 * i, 0.08)
    return out


def engine(case: Case, *, drag: bool = True, command: float = 1.005, **options) -> Engine:
    """An engine whose rotors turn at hover speed and are commanded ``command`` times that."""
    out = Engine(system(case, drag=drag), **options)
    n = 4 * case.vehicles
    out.rotors.start(np.full(n, case.hover_speed))
    out.set_state(states(case))
    out.rotors.act(np.full(n, command * case.hover_speed))
    return out
