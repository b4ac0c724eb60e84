"""A cable as a user describes it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

INITIAL_GAP = 1e-9
"""A cable this close to its length when the state is set counts as taut; longer is an error, m."""


@dataclass(frozen=True)
class Cable:
    """A unilateral massless cable from a point of body a to a point of body b.

    Attributes:
        a, b: body indices, or WORLD. The direction xi and the tension are counted from a to b.
        length: unstretched length, m.
        r_a, r_b: attachment points in the frames of the bodies (for WORLD: world coordinates), (3,) m.
        through: rings that it runs through on its way, without friction: body and point as of an end.
        stiffness, damping: of an elastic cable, N/m and N s/m; without stiffness it does not stretch.
        breaking_load: tension at which an elastic cable breaks, N.
        winds: a winch may change its length (:class:`rotor_dynamics.actuation.winches.WinchDrive`).
        rod: it does not become shorter either: a massless rod with ball joints at its ends.
    """

    a: int
    b: int
    length: float
    r_a: np.ndarray = field(default_factory=lambda: np.zeros(3))
    r_b: np.ndarray = field(default_factory=lambda: np.zeros(3))
    through: tuple[tuple[int, np.ndarray], ...] = ()
    stiffness: float = 0.0
    damping: float = 0.0
    breaking_load: float = np.inf
    winds: bool = False
    rod: bool = False

    @property
    def path(self) -> tuple[tuple[int, np.ndarray], ...]:
        """Bodies and points from end to end."""
        return (self.a, self.r_a), *self.through, (self.b, self.r_b)

    @property
    def is_line(self) -> bool:
        """True if it is a line of one length between two points."""
        return not (self.through or self.stiffness or self.winds)
