"""Demand on rotors on /diagnostics: one value per vehicle, the numbers of ``RotorLimits.asked``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

_KEY = "asked "


def asked_text(vehicle: str, asked: np.ndarray) -> tuple[str, str]:
    """Key and text of what was asked of a vehicle."""
    return _KEY + vehicle, " ".join(f"{x:.9g}" for x in asked)


def asked_from(values: Mapping[str, str], vehicle: str) -> list[float] | None:
    """Numbers of a vehicle among the values of a status; None: it tells nothing of it."""
    text = values.get(_KEY + vehicle)
    return None if text is None else [float(x) for x in text.split()]
