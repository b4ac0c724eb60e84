"""Several rates over one step counter.

Who is due at which step. Integers only, so nothing drifts.
"""

from __future__ import annotations

from dataclasses import dataclass

from rotor_core.config.yaml.units import steps_of


@dataclass(frozen=True)
class Schedule:
    """Periods in steps, by name; everything is due at step 0."""

    periods: dict[str, int]

    @classmethod
    def from_rates(cls, step: float, rates: dict[str, float]) -> Schedule:
        """Periods nearest to the wanted rates (1/s), at least one step each; ``step`` in s."""
        return cls({name: steps_of(rate, step) for name, rate in rates.items()})

    def due(self, step: int) -> set[str]:
        """Names that are due at this step."""
        return {name for name, period in self.periods.items() if step % period == 0}

    def next_after(self, step: int) -> int:
        """First step after this one at which anything is due."""
        return min((step // period + 1) * period for period in self.periods.values())
