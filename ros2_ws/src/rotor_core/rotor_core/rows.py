"""Declaration of one row of memory: its fields in order, with shape, unit and meaning.

A field is declared once, by assignment in the file of its row::

    body = Row("body", "One body that is integrated.")
    INV_MASS = body("1/kg", "inverse of the mass")
    INERTIA = body("kg m^2", "about the centre of mass", shape=(3, 3))
    BODY = body.width

The value of a field is its first column. Kernels read it as an integer constant; the page
``docs/memory.md`` and the sizes of all tables follow from the same declaration.
"""

from __future__ import annotations

from math import prod

import numpy as np


class Field(np.int64):
    """First column of a field, an integer that kernels index with.

    Attributes:
        extent: shape of the field inside its row; ``()`` is one number.
        unit: physical unit, empty for counts, indices and ratios.
        meaning: one line for readers.
        group: heading under which the field stands.
    """

    extent: tuple[int, ...]
    unit: str
    meaning: str
    group: str

    @property
    def width(self) -> int:
        """Columns that the field takes."""
        return prod(self.extent)


class Row:
    """Fields of one row, declared in their order in memory.

    Args:
        name: of the row, for the documentation.
        meaning: one sentence.
    """

    def __init__(self, name: str, meaning: str) -> None:
        self.name, self.meaning = name, meaning
        self.fields: list[Field] = []
        self._group = ""
        self._width = 0

    def group(self, title: str) -> None:
        """Begin a group of fields."""
        self._group = title

    def __call__(self, unit: str, meaning: str, *, shape: tuple[int, ...] = ()) -> Field:
        """Declare the next field."""
        field = Field(self._width)
        field.extent, field.unit, field.meaning, field.group = shape, unit, meaning, self._group
        self.fields.append(field)
        self._width += field.width
        return field

    @property
    def width(self) -> np.int64:
        """Columns of the row so far: of the whole row where the last field has been declared."""
        return np.int64(self._width)
