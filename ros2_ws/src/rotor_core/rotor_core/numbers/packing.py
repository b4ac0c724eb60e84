"""Arguments of a kernel as duals, and the derivatives in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from rotor_core.numbers.duals import WIDTH, constant_duals, empty_duals


def numbers_in(tree: Any) -> Iterator[np.ndarray]:
    """Arrays of float64 and single floats in nested tuples, in their order."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from numbers_in(part)
    elif isinstance(tree, float) or (isinstance(tree, np.ndarray) and tree.dtype == np.float64):
        yield np.asarray(tree)


def arrays_in(tree: Any) -> Iterator[np.ndarray]:
    """All arrays in nested tuples, in their order."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from arrays_in(part)
    elif isinstance(tree, np.ndarray):
        yield tree


def owner_of(array: np.ndarray) -> np.ndarray:
    """Array whose memory a view shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class Packed:
    """Copies of the arrays in nested tuples, of float64 as duals; those that share memory share it here too.

    Args:
        tree: nested tuples of arrays and numbers.

    Raises:
        ValueError: an array of float64 is not contiguous.

    Attributes:
        tree: the same with the copies, for :data:`rotor_core.numbers.duals.duals`.
        numbers: duals of what :func:`numbers_in` tells, in its order, (..., WIDTH) each.
    """

    def __init__(self, tree: Any) -> None:
        self._duals: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._others: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.numbers: list[np.ndarray] = []
        self.tree = self._copied(tree)

    def _copied(self, tree: Any) -> Any:
        if isinstance(tree, tuple):
            return tuple(self._copied(part) for part in tree)
        if isinstance(tree, float) or (isinstance(tree, np.ndarray) and tree.dtype == np.float64):
            number = np.asarray(tree)
            # kernels on duals would read its rows in another order
            if not number.flags.c_contiguous:
                raise ValueError(
                    f"Packed: arrays must be contiguous, got one with strides {number.strides}."
                )
            owner = owner_of(number)
            if id(owner) not in self._duals:
                self._duals[id(owner)] = owner, constant_duals(owner)
            self.numbers.append(self.of(number))
            return self.numbers[-1]
        if not isinstance(tree, np.ndarray):
            return tree
        return self._others.setdefault(id(tree), (tree, tree.copy()))[1]

    def of(self, array: np.ndarray) -> np.ndarray:
        """Duals of an array of the tree, or of any view of its memory, (..., WIDTH)."""
        owner, rows = self._duals[id(owner_of(array))]
        if array.size == 0:
            return empty_duals(array.shape)
        first = (array.ctypes.data - owner.ctypes.data) // array.itemsize
        strides = [stride * WIDTH for stride in array.strides]
        return as_strided(
            rows.reshape(-1, WIDTH)[first:], (*array.shape, WIDTH), (*strides, array.itemsize)
        )

    def copy_of(self, array: np.ndarray) -> np.ndarray:
        """Copy of an array of the tree that holds no float64."""
        return self._others[id(array)][1]

    def put_back(self) -> None:
        """Values into the arrays that were copied."""
        for owner, rows in self._duals.values():
            owner[...] = rows[..., 0]
        for original, copy in self._others.values():
            original[...] = copy

    def put_into(self, tree: Any, k: int, by: float) -> None:
        """Values, moved by so much of their derivative k, into the arrays of another tree of the same form.

        Its single floats stay.
        """
        for number, there in zip(self.numbers, numbers_in(tree), strict=False):
            there[...] = np.where(
                number[..., k] == 0.0, number[..., 0], number[..., 0] + by * number[..., k]
            )
        for copy, there in zip(_others_in(self.tree), _others_in(tree), strict=False):
            there[...] = copy


def _others_in(tree: Any) -> Iterator[np.ndarray]:
    """Arrays of anything but float64 in nested tuples, in their order."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from _others_in(part)
    elif isinstance(tree, np.ndarray) and tree.dtype != np.float64:
        yield tree
