"""How /diagnostics tells what was asked of rotors: one value per vehicle, the numbers of ``RotorLimits.asked``."""

from __future__ import annotations

ASKED = "asked "
"""What the key of such a value begins with; the name of the vehicle follows."""
