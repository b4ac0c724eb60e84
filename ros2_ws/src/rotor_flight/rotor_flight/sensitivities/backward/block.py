"""All numbers of nested tuples of arrays in one array, in which the same tuples can be laid out again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rotor_core.numbers.packing import owner_of


class Block:
    """Layout of the numbers in nested tuples: arrays of float64, those that share memory once, and single floats.

    Args:
        tree: nested tuples of arrays and numbers.

    Attributes:
        numbers: those of the tree, (n,).
    """

    def __init__(self, tree: Any) -> None:
        self._tree = tree
        self._owners: dict[int, tuple[np.ndarray, int]] = {}
        parts: list[np.ndarray] = []
        self._n = 0
        self._find(tree, parts)
        self.numbers = np.concatenate([np.zeros(0), *parts])

    def _find(self, tree: Any, parts: list[np.ndarray]) -> None:
        if isinstance(tree, tuple):
            for part in tree:
                self._find(part, parts)
        elif isinstance(tree, np.ndarray) and tree.dtype == np.float64:
            owner = owner_of(tree)
            if id(owner) not in self._owners:
                self._owners[id(owner)] = owner, self._n
                parts.append(owner.ravel())
                self._n += owner.size

    def at(self, array: np.ndarray) -> np.ndarray:
        """Numbers of the block that an array of the tree is, of its shape."""
        owner, first = self._owners[id(owner_of(array))]
        begin = (array.ctypes.data - owner.ctypes.data) // array.itemsize
        return first + begin + np.arange(array.size).reshape(array.shape)

    def has_form_of(self, other: Block) -> bool:
        """True if the tuples differ from those of another in numbers alone."""
        mine, theirs = (list(_switches(block._tree)) for block in (self, other))
        return len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))

    def tree(self, numbers: np.ndarray) -> Any:
        """The nested tuples with views of other numbers, (n,), of any type."""
        return self._laid(self._tree, numbers)

    def _laid(self, tree: Any, numbers: np.ndarray) -> Any:
        if isinstance(tree, tuple):
            return tuple(self._laid(part, numbers) for part in tree)
        if isinstance(tree, np.ndarray) and tree.dtype == np.float64:
            if tree.size == 0:
                return np.zeros(tree.shape, numbers.dtype)
            if not tree.flags.c_contiguous:
                raise ValueError(f"Block: arrays must be contiguous, got strides {tree.strides}.")
            at = self.at(tree)
            return numbers[at.flat[0] : at.flat[-1] + 1].reshape(tree.shape)
        return tree


def _switches(tree: Any) -> Iterator[np.ndarray]:
    """What is no number in nested tuples, and shapes of the arrays of numbers."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from _switches(part)
    elif isinstance(tree, np.ndarray) and tree.dtype == np.float64:
        yield np.array(tree.shape)
    else:
        yield np.asarray(tree)
