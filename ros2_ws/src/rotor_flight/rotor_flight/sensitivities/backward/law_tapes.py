"""Decisions of a law as lists of operations, with their code: forward, then backward (:mod:`rotor_core.numbers.tape`).

A law does the same operations in every period in which it decides the same way by numbers: in which segment of its plan
it is, whether rotors are at their limits. What it remembers from period to period is found from the lists.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from rotor_core.errors import ContractError
from rotor_core.kernels.reverse import GIVEN, HELD, NO_CODE, ROW, Code, Place, compile_backward
from rotor_core.numbers.tape import INPUT, NotOnTape, Tape
from rotor_core.state import STATE
from rotor_dynamics.sensitivities.backward.tapes import PYTHON
from rotor_flight.sensitivities.backward.block import Block
from rotor_flight.sensitivities.backward.deciding import decided_numbers

GIVEN_TO_IT = "given"
"""Begins keys of inputs that are no numbers of the law."""

MOST_TAPES = 100
"""Ways to decide by numbers: segments of plans, and which rotors are at which limit."""


class Decision(NamedTuple):
    """A law that has decided.

    Attributes:
        tape: what it did.
        written: operand of every number of the law that it wrote.
        commands: operands of the commands.
    """

    tape: Tape
    written: dict[int, int | float]
    commands: tuple[int | float, ...]

    def reads(self, outputs: list[int | float]) -> set[int]:
        """Numbers of the law that outputs and the conditions of the tape depend on."""
        needed = self.tape.needed_for(
            {o for o in outputs if type(o) is int} | {*self.tape.conditions}
        )
        keys = (self.tape.operations[at] for at in needed)
        return {o.key for o in keys if o.name == INPUT and isinstance(o.key, int)}


def operands(numbers: Any) -> list[int | float]:
    """Names that a tape has for numbers, some of which are its own."""
    return [x.at if hasattr(x, "at") else float(x) for x in numbers]


class Given(NamedTuple):
    """Numbers that a law is given in a period, in this order.

    Attributes:
        n_seen: states of entities, 13 numbers each.
        n_joints: of arms, with angle and rate.
        n_shafts: of helicopters, likewise.
        n_teams: times since the start of their plans.
        n_commands: that it answers with.
    """

    n_seen: int
    n_joints: int
    n_shafts: int
    n_teams: int
    n_commands: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of states, joints, times, and what is wanted of joints."""
        seen = (self.n_seen, int(STATE)), (self.n_joints + self.n_shafts, 2)
        return *seen, (self.n_teams,), (self.n_joints, 3)

    @property
    def edges(self) -> list[int]:
        """Ends of the four."""
        return np.cumsum([prod(shape) for shape in self.shapes]).tolist()


class LawTapes:
    """All tapes of a law.

    Args:
        block: numbers of the law.
        given: how many numbers it is given.

    Attributes:
        block, given: as given.
        noted: numbers of the law that it remembers from period to period, (n_noted,), sorted.
        inputs_at, commands_at: where code finds what the law is given, and derivatives with its commands.
    """

    def __init__(self, block: Block, given: Given) -> None:
        self.block, self.given = block, given
        self.inputs_at = self.commands_at = np.zeros(0, np.int64)
        self._decisions: list[Decision] = []
        self._codes: list[Code | None] = []
        self.noted = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._decisions)

    def record(self, numbers: np.ndarray, given: np.ndarray) -> None:
        """One more way to decide.

        Args:
            numbers: of the law, (n,).
            given: what it is given, (n_given,), in the order of :class:`Given`.

        Raises:
            ContractError: it cannot be told as a list of operations, or there are too many.
        """
        if len(self) >= MOST_TAPES:
            raise ContractError(
                f"backward: the law decides by numbers in more than {MOST_TAPES} ways, such as by rotors that come to "
                "their limits one by one. Ask rotor.sensitivities, or fly less hard."
            )
        tape = Tape()
        before = [tape.input(i, x) for i, x in enumerate(numbers.tolist())]
        cells, out = np.empty(len(before), object), np.empty(self.given.n_commands, object)
        cells[:] = before
        inputs = np.empty(len(given), object)
        inputs[:] = [tape.input((GIVEN_TO_IT, j), x) for j, x in enumerate(given.tolist())]
        parts = np.split(inputs, self.given.edges[:-1])
        shaped = [part.reshape(shape) for part, shape in zip(parts, self.given.shapes, strict=True)]
        try:
            PYTHON(decided_numbers)(*shaped, self.block.tree(cells), out)
        except NotOnTape as error:
            raise ContractError(
                f"backward: a law of this scenario cannot be told as a list of operations ({error}). "
                "Ask rotor.sensitivities."
            ) from error
        changed = np.flatnonzero([x is not y for x, y in zip(cells, before, strict=True)])
        written = dict(zip(changed.tolist(), operands(cells[changed]), strict=True))
        self._decisions.append(Decision(tape, written, tuple(operands(out))))
        self._lay_out()

    def _lay_out(self) -> None:
        """Find what is remembered: read by a decision, and written by one; code for less is of no use."""
        written = {at for d in self._decisions for at in d.written}
        noted: set[int] = set(self.noted.tolist())
        while True:
            read: set[int] = set()
            for d in self._decisions:
                read |= d.reads([*d.commands, *(o for at, o in d.written.items() if at in noted)])
            if read & written <= noted:
                break
            noted |= read & written
        if len(noted) != len(self.noted):
            self.noted, self._codes = np.array(sorted(noted), np.int64), []
        self._codes += [None] * (len(self._decisions) - len(self._codes))

    @property
    def addresses(self) -> list[int]:
        """Of the code of every way to decide, compiled now if it is not there."""
        return [self._address(i) for i in range(len(self))]

    def _address(self, i: int) -> int:
        code = self._codes[i]
        if code is None:
            decision = self._decisions[i]
            rows = {int(c): Place(ROW, j) for j, c in enumerate(self.noted)}
            reads: dict[Any, Place] = {c: Place(HELD, c) for c in range(len(self.block.numbers))}
            reads |= rows
            reads |= {
                (GIVEN_TO_IT, j): Place(GIVEN, int(at)) for j, at in enumerate(self.inputs_at)
            }
            writes = [(rows[c], o) for c, o in decision.written.items() if c in rows]
            places = [Place(GIVEN, int(at)) for at in self.commands_at]
            writes += list(zip(places, decision.commands, strict=True))
            code = self._codes[i] = compile_backward(decision.tape, reads, writes)
        return code.address or NO_CODE
