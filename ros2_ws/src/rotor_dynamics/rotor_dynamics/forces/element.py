"""Description of a force that users may add: its keys, its numbers, its compiled formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rotor_core.config.environment import Environment

Vector = tuple[float, float, float]


class Motion(NamedTuple):
    """Motion of a member at one instant, as a formula sees it.

    Attributes:
        position: of the origin of its frame, in W, m.
        attitude: rotation matrix member to W, row by row, 9 numbers.
        velocity: of the origin, in W, m/s.
        body_rate: in the axes of the member, rad/s.
        airspeed: velocity of the origin relative to the air, in the axes of the member, m/s.
        time: s; a flight begins at 1 s.
    """

    position: Vector
    attitude: tuple[float, ...]
    velocity: Vector
    body_rate: Vector
    airspeed: Vector
    time: float


@dataclass(frozen=True)
class ForceElement:
    """A kind of force on a body.

    Attributes:
        config: frozen dataclass of its keys, with ``type`` and ``body``: an entity, or ``vehicle/link``.
        parameters: turns the keys into the numbers of the formula, at most
            :data:`rotor_dynamics.memory.PARAMETERS`; called with (keys, environment of the scenario).
        formula: ``formula(parameters, motion)`` returns the force, N, and the moment about the origin of the member,
            N m, both in its axes, as tuples; a :func:`rotor_core.kernels.jit.kernel`. It must be smooth: integrators do
            not look for its corners.
    """

    config: type
    parameters: Callable[[Any, Environment], Sequence[float]]
    formula: Callable[..., tuple[Vector, Vector]]
