"""One figure of a paper beside ours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Row:
    """A checked quantity.

    Attributes:
        test: name of the acceptance test, such as LG-A9.
        what: the quantity in words.
        ours, theirs: values, numbers or arrays of the same shape.
        tolerance: largest difference of any entry that passes.
        factor: instead of a tolerance: ours passes between theirs over the factor and times it.
        at_most: instead of both: ours passes where no entry is above theirs.
    """

    test: str
    what: str
    ours: np.ndarray | float
    theirs: np.ndarray | float
    tolerance: float = 0.0
    factor: float = 0.0
    at_most: bool = False

    @property
    def difference(self) -> float:
        """Largest difference of an entry."""
        return float(np.max(np.abs(np.asarray(self.ours) - np.asarray(self.theirs))))

    @property
    def passes(self) -> bool:
        """True if our value agrees with the reference within the bound."""
        if self.at_most:
            return bool(np.all(np.asarray(self.ours) <= np.asarray(self.theirs)))
        if self.factor:
            ratio = np.asarray(self.ours) / np.asarray(self.theirs)
            return bool(np.all((ratio < self.factor) & (ratio > 1.0 / self.factor)))
        return self.difference <= self.tolerance

    @property
    def bound(self) -> str:
        """Allowed difference, in words."""
        if self.at_most:
            return "at most"
        return f"factor {self.factor:g}" if self.factor else f"{self.tolerance:.3g}"


def _text(value: np.ndarray | float) -> str:
    return ", ".join(f"{v:.9g}" for v in np.ravel(value))


def markdown(rows: list[Row]) -> str:
    """Rows as a table."""
    lines = [
        "| test | quantity | ours | reference | difference | allowed | |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.test} | {r.what} | {_text(r.ours)} | {_text(r.theirs)} | {r.difference:.1e} | {r.bound} | "
        f"{'ok' if r.passes else '**differs**'} |"
        for r in rows
    ]  # fmt: skip
    return "\n".join(lines)
