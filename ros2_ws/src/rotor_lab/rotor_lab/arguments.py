"""Types of command line arguments."""

from __future__ import annotations

import argparse
import math


def positive_number(text: str) -> float:
    """Argument type: finite and > 0."""
    value = float(text)
    if not (value > 0.0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"must be > 0 and finite, got {text}")
    return value


def finite_number(text: str) -> float:
    """Argument type: a number that is one."""
    value = float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be finite, got {text}")
    return value
