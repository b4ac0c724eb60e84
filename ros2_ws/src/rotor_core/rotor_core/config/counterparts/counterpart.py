"""Common keys of controllers that are programs of others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Counterpart:
    """A controller that keeps its own state: it cannot be saved and resumed, nor compiled into our loops."""
