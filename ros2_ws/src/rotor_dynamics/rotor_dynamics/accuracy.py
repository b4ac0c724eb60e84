"""Accuracy of the integration of a world since its state was set."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import isfinite, nan

import numpy as np

from rotor_dynamics import memory
from rotor_dynamics.integrators.audit import SHARE, note_energy


@dataclass(frozen=True)
class Accuracy:
    """Figures of error control; docs/theory/error_control.md.

    Attributes:
        substeps: steps that were added because the estimated error was too large.
        error_rate_max: largest estimated error of a step, of a velocity or body rate, per second: m/s^2 or rad/s^2;
            NaN where the integrator tells none.
        error_body: whose; empty if there was none.
        error_time_s: when.
        energy_error_j: change of the energy of all bodies that neither the work of forces nor impacts explain; NaN
            where the integrator keeps no account.
        energy_error_share: the same over the scale of the energy: kinetic, and that of all bodies at 1 m/s and in a
            fall of 1 m.
        unsettled: steps in which forces of rigid contact were not found to rounding; what is left is below what the
            sweeps of a step could do.
    """

    substeps: int
    error_rate_max: float
    error_body: str
    error_time_s: float
    energy_error_j: float
    energy_error_share: float
    unsettled: int = 0

    def after(self, earlier: Accuracy | None) -> Accuracy:
        """Both together, of a flight whose world was rebuilt between them."""
        if earlier is None:
            return self
        worse = self if self.error_rate_max >= earlier.error_rate_max else earlier
        return replace(
            worse,
            substeps=self.substeps + earlier.substeps,
            energy_error_j=self.energy_error_j + earlier.energy_error_j,
            energy_error_share=self.energy_error_share + earlier.energy_error_share,
            unsettled=self.unsettled + earlier.unsettled,
        )

    def figures(self) -> dict[str, object]:
        """As plain data; None for what is unknown."""
        return {
            key: None if isinstance(value, float) and not isfinite(value) else value
            for key, value in asdict(self).items()
        }


def accuracy_of(ints: np.ndarray, floats: np.ndarray, world: memory.World) -> tuple[Accuracy, int]:
    """That of a world, without the name of the body; and the row of that body, or -1."""
    note_energy(ints, floats)
    scalars, head = world.scalars, world.head
    largest = SHARE * float(np.sqrt(scalars[memory.LARGEST_SQUARED]))
    gained = float(scalars[memory.ENERGY] - scalars[memory.OPENING_ENERGY])
    error = gained - float(scalars[memory.WORK]) + float(scalars[memory.LOST])
    known = bool(head[memory.ESTIMATED])
    found = Accuracy(
        int(head[memory.SUBSTEPS]),
        largest if known else nan,
        "",
        float(scalars[memory.LARGEST_ERROR_AT]) if largest > 0.0 else nan,
        error,
        error / float(scalars[memory.ENERGY_SCALE]),
        int(head[memory.UNSETTLED]),
    )
    return found, int(scalars[memory.LARGEST_BODY]) if largest > 0.0 else -1
