"""Which rows of a table of actuators two worlds share."""

from __future__ import annotations

Rows = list[int] | slice

ALL = slice(None)
"""Every one, in the same order."""
