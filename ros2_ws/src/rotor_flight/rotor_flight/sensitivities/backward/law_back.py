"""The law of a flight on the way back."""

from __future__ import annotations

import numpy as np

from rotor_flight.sensitivities.backward.law_tapes import LawTapes


class MoreIsNoted(Exception):
    """The law remembers more than was noted on the way."""


class LawBack:
    """The law on the way back: :class:`rotor_dynamics.sensitivities.backward.adjoint.Decisions`.

    Args:
        tapes: of the law.
        numbers: of the law at the start, (n,).
        rows: what it remembered before every period, (N, n_noted).
        more: times since the start of the plans, then what was wanted of joints, (N, n_more).
        with_commands: derivatives with the commands of the plant, (N, n).
    """

    def __init__(
        self,
        tapes: LawTapes,
        numbers: np.ndarray,
        rows: np.ndarray,
        more: np.ndarray,
        with_commands: np.ndarray,
    ) -> None:
        self._tapes, self.numbers, self.rows, self.more = tapes, numbers, rows, more
        self.with_commands = with_commands
        self.with_row, self.with_numbers = np.zeros(len(tapes.noted)), np.zeros(len(numbers))
        self.with_more = np.zeros(more.shape)
        self._known = tapes.addresses

    def address(self) -> int:
        """See :class:`~rotor_dynamics.sensitivities.backward.adjoint.Decisions`."""
        return self._known[0]

    def another(self, period: int, tried: set[int], given: np.ndarray) -> int:
        """See :class:`~rotor_dynamics.sensitivities.backward.adjoint.Decisions`."""
        for address in self._known:
            if address not in tried:
                return address
        tapes, numbers = self._tapes, self.numbers.copy()
        n_noted = len(tapes.noted)
        numbers[tapes.noted] = self.rows[period]
        tapes.record(numbers, given[tapes.inputs_at])
        if len(tapes.noted) != n_noted:
            raise MoreIsNoted
        self._known.append(tapes.addresses[-1])
        return self._known[-1]

    def at_the_start(self) -> np.ndarray:
        """Derivative with the numbers of the law at the start, (n,)."""
        out = self.with_numbers.copy()
        out[self._tapes.noted] += self.with_row
        return out
