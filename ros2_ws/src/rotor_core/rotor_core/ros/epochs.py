"""Epoch that a node follows when it hears states: the newest, or an older one once only older states arrive."""

from __future__ import annotations

RESTART = 10
"""So many older states in a row, and none of the present epoch: the simulator was started anew, or the present
epoch was none of its own. One publisher's states come in order, so what a reset made void never comes so often."""


class Epochs:
    """The present epoch of a node.

    Attributes:
        now: the present epoch; -1 before the first state.
    """

    def __init__(self) -> None:
        self.now = -1
        self._older = 0
        self._step = 0

    def admits(self, epoch: int) -> bool:
        """True if a state counts. If it then :meth:`starts` an epoch, the node must :meth:`begin` it."""
        self._older = self._older + 1 if epoch < self.now else 0
        return self._older in (0, RESTART)

    def starts(self, epoch: int, step: int) -> bool:
        """Take up a state that counts; True if it is the first that is heard of its epoch.

        An earlier step of the present epoch is, too: steps of one simulator never go back, so another one has been
        started, or a recording begins again.
        """
        before, self._step = self._step, step
        return epoch != self.now or step < before

    def begin(self, epoch: int) -> None:
        """From now on this epoch counts."""
        self.now, self._older = epoch, 0
