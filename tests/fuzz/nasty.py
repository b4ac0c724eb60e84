"""Values that nobody expects: numbers, texts, names of files."""

from __future__ import annotations

from typing import Any

import numpy as np

INFINITY, NAN = float("inf"), float("nan")
NUMBERS = [
    0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, 1e3, 5e-324, 2.2250738585072014e-308, -5e-324, 1e-12, 1e12, 1e38, 1e150, -1e150, 1e308,
    1.7976931348623157e308, INFINITY, -INFINITY, NAN, 3.141592653589793, 90.0, 180.0, 360.0, 2**31 - 1.0, 2**53 + 1.0,
]  # fmt: skip
INTEGERS = [
    0, 1, -1, 2, 3, 7, 255, 256, 1000, 65535, 65536, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63),
    2**64, 10**30, -(10**30), 10**400,
]  # fmt: skip
TEXTS = [
    "", " ", "a", "quad1", "payload", "quad99", "world", "W", "base_link", "payload/base_link", "é", "日本", "\u202etxt.exe", "\ufeff",
    "\x00", "a\x00b", "\ud800", "\x1b[31mred", "a\nb", "a\u2028b", "\x85", "x" * 5000, "nan", "inf", "1e400", "0x1F", "true", "null",
    "%s%n{0}", "{}", "../../x", "/", "'", '"', "\\", "quad1 ", "QUAD1", "a/b/c", "~", "$HOME", "-", "--", "\u0660\u0661",
]  # fmt: skip
FILES = [
    "", ".", "..", "/", "/etc/passwd", "../../../../etc/passwd", "/etc/shadow", "/dev/null", "/dev/zero", "/proc/self/mem",
    "/proc/self/environ", "/nonexistent/x.yaml", "~/x.yaml", "~nosuchuser/x.yaml", "~nosuchuser", "x" * 300 + ".yaml", "a/" * 3000,
    "a\x00b.yaml", "\ud800.yaml", "a/\ud800", "hover.yaml", "hover/", "./hover", "hover\n", " hover", "HOVER", "../scenarios/hover.yaml",
    "\u202eover", "%00", "file:///etc/passwd", "http://localhost/x.yaml", "|id", "$(id)", "a" * 100000,
]  # fmt: skip


def pick(rng: np.random.Generator, choices: list) -> Any:
    """One of them (choices of NumPy would turn them into arrays)."""
    return choices[int(rng.integers(len(choices)))]


def number(rng: np.random.Generator) -> float:
    """An unexpected number, or one of any size."""
    if rng.random() < 0.7:
        return pick(rng, NUMBERS)
    return float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-20.0, 20.0))


def text(rng: np.random.Generator) -> str:
    """An unexpected text, or one of any characters."""
    if rng.random() < 0.8:
        return pick(rng, TEXTS)
    return "".join(chr(int(c)) for c in rng.integers(0, 0x2100, int(rng.integers(12))))


def scalar(rng: np.random.Generator) -> Any:
    """Anything that is neither a list nor a mapping."""
    kind = rng.random()
    if kind < 0.4:
        return number(rng)
    if kind < 0.6:
        return pick(rng, INTEGERS)
    if kind < 0.9:
        return text(rng)
    return pick(rng, [None, True, False])


def value(rng: np.random.Generator, depth: int = 2) -> Any:
    """A scalar, or lists and mappings of some."""
    kind = rng.random()
    if depth == 0 or kind < 0.7:
        return scalar(rng)
    n = int(rng.integers(5))
    if kind < 0.9:
        return [value(rng, depth - 1) for _ in range(n)]
    return {text(rng): value(rng, depth - 1) for _ in range(n)}
