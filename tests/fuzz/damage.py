"""Bytes that were lost, turned or added on the way: files of any format."""

from __future__ import annotations

import numpy as np

DAMAGES = [
    "cut",
    "flip",
    "flip",
    "flips",
    "delete",
    "insert",
    "repeat",
    "swap",
    "zero",
    "ones",
    "number",
]


def damaged(rng: np.random.Generator, data: bytes, *, most: int = 3) -> bytes:
    """A copy with one to ``most`` damages."""
    for _ in range(int(rng.integers(1, most + 1))):
        data = _damage(rng, data)
    return data


def _damage(rng: np.random.Generator, data: bytes) -> bytes:
    if not data:
        return rng.bytes(int(rng.integers(40)))
    a, b = (int(x) for x in rng.integers(len(data), size=2))
    n = int(rng.integers(1, 40))
    match DAMAGES[int(rng.integers(len(DAMAGES)))]:
        case "cut":
            return data[:a]
        case "flip":
            return data[:a] + bytes([data[a] ^ (1 << int(rng.integers(8)))]) + data[a + 1 :]
        case "flips":
            out = np.frombuffer(data, np.uint8).copy()
            at = rng.integers(len(out), size=max(1, len(out) // 200))
            out[at] ^= rng.integers(1, 256, len(at)).astype(np.uint8)
            return out.tobytes()
        case "delete":
            return data[:a] + data[a + n :]
        case "insert":
            return data[:a] + rng.bytes(n) + data[a:]
        case "repeat":
            return data[:b] + data[a : a + 20 * n] + data[b:]
        case "swap":
            low, high = min(a, b), max(a, b)
            return (
                data[:low]
                + data[high : high + n]
                + data[low + n : high]
                + data[low : low + n]
                + data[high + n :]
            )
        case "zero":
            return data[:a] + bytes(len(data[a : a + 8])) + data[a + 8 :]
        case "ones":
            return data[:a] + b"\xff" * len(data[a : a + 8]) + data[a + 8 :]
        case _:
            size = int(rng.choice([1, 2, 4, 8]))
            whole = int(rng.integers(0, 2**63)) >> int(rng.integers(63))
            number = whole.to_bytes(8, "little")[:size]
            return data[:a] + number + data[a + size :]
