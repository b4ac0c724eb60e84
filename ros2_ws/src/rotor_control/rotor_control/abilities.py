"""Further abilities of control laws, which the controller looks for; a law of another package may have them too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Clocked(Protocol):
    """A law that is told the time.

    Attributes:
        time: of the flight at the next call, s.
    """

    time: float


@runtime_checkable
class Joining(Protocol):
    """A law that waits for others, together with the same laws of other teams."""

    def join(self, other: Any) -> None:
        """Wait together with the law of the first team."""
        ...


@runtime_checkable
class Waiting(Protocol):
    """A law that waits for others.

    Attributes:
        is_stopped: asked during waits if everything should end.
    """

    is_stopped: Callable[[], bool]


@runtime_checkable
class Closable(Protocol):
    """A law that holds processes or connections."""

    def close(self) -> None:
        """Let go of them."""
        ...
