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
    """Argument type: a finite number."""
    value = float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be finite, got {text}")
    return value


def seed(text: str) -> int:
    """Argument type: a whole number that fits a ROS parameter."""
    value = int(text)
    if not 0 <= value < 2**63:
        raise argparse.ArgumentTypeError(f"must be >= 0 and below 2^63, got {text}")
    return value
