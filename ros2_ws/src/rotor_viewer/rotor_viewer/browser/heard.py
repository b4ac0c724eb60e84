"""Inputs from pages: Viser hands on whatever a page sends, so every value is looked at before it is used."""

from __future__ import annotations

from typing import Any

import numpy as np


def chosen(choice: Any) -> str:
    """Value of a drop-down list or a group of buttons; the first option where a page set none of them."""
    options = tuple(choice.options)
    return choice.value if choice.value in options else options[0]


def number(value: Any, low: float, high: float) -> float:
    """A number between limits; ``low`` where it is none."""
    try:
        heard = float(value)
    except (TypeError, ValueError, OverflowError):
        return low
    return float(np.clip(heard, low, high)) if np.isfinite(heard) else low


def place(value: Any) -> np.ndarray | None:
    """A position (3,) m; None where it is none."""
    try:
        heard = np.array(value, float)
    except (TypeError, ValueError, OverflowError):
        return None
    return heard if heard.shape == (3,) and np.isfinite(heard).all() else None
