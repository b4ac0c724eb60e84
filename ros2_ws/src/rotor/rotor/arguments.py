"""Types of command line arguments."""

from __future__ import annotations

import argparse
import math
import re

from rotor_core.errors import ConfigError

NAMESPACE = re.compile(r"(/[A-Za-z_][A-Za-z0-9_]*)+\Z")


def namespace(text: str) -> str:
    """Argument type: of nodes, such as ``/lab2``; empty: the root."""
    if text and not NAMESPACE.match(text):
        raise argparse.ArgumentTypeError(
            f"must look like /lab2, got {text!r}. Leave it out for the root"
        )
    return text


def add_namespace(
    sub: argparse.ArgumentParser, help: str = "of the running nodes, such as /lab2"
) -> None:
    """Option ``--namespace``."""
    sub.add_argument("--namespace", default="", type=namespace, metavar="/NS", help=help)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None


def positive_number(text: str) -> float:
    """Argument type: finite and > 0."""
    value = _number(text)
    if not (value > 0.0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"must be > 0 and finite, got {text}")
    return value


def finite_number(text: str) -> float:
    """Argument type: a finite number."""
    value = _number(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be finite, got {text}")
    return value


def positive_whole(text: str) -> int:
    """Argument type: a whole number > 0."""
    value = _whole(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be > 0, got {text}")
    return value


def seed(text: str) -> int:
    """Argument type: a whole number that fits a ROS parameter."""
    value = _whole(text)
    if not 0 <= value < 2**63:
        raise argparse.ArgumentTypeError(f"must be >= 0 and below 2^63, got {text}")
    return value


def pairs(option: str, texts: list[str], form: str = "NAME=VALUE") -> dict[str, str]:
    """Values of an option that may be given several times, by the name before the sign.

    Raises:
        ConfigError: one does not look like ``form``.
    """
    out = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not (key and sign and value):
            raise ConfigError(f"{option}: must look like {form}, got {text!r}.")
        out[key] = value
    return out
