"""Pieces of a period of a world as lists of operations that can be run backward.

A smooth step of one world does the same operations as one of another with the same cables taut and the same points in
contact; what kernels decide by numbers is noted with the operations (:mod:`rotor_core.numbers.tape`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, nan
from typing import Any, NamedTuple

import numpy as np

from rotor_core.kernels.as_python import AsPython
from rotor_core.kernels.jit import constants, inlined
from rotor_core.math import small_angle
from rotor_core.numbers.tape import FUNCTIONS, INPUT, NotOnTape, Tape
from rotor_dynamics import memory
from rotor_dynamics.hybrid.impact import INPUT_CHANGED
from rotor_dynamics.hybrid.stepper import accept, run
from rotor_dynamics.integrators.audit import audit_end
from rotor_dynamics.integrators.trial import advance
from rotor_dynamics.kinematics.members import put_member
from rotor_dynamics.sensitivities.backward.commands import Commands, write_commands

READING, COMMAND, CHANGE, STEP = constants(*range(4))
"""Pieces: members are read; inputs are written; their change is taken up; a step, or a part of one that was cut."""

GIVEN = "given"
"""Begins keys of inputs that are no numbers of the memory."""

PYTHON = AsPython(FUNCTIONS, {(small_angle.__name__, "THREE_TERMS_BELOW"): -inf})
"""Kernels as Python. Six terms of a series do where three do, and need not be chosen anew at every speed."""


@inlined
def smooth_step(ints, floats, share):
    """A share of what is left of a fixed step of the classical method, as the stepper takes it if nothing happens."""
    world = memory.views(ints, floats)
    scalars = world.scalars
    scalars[memory.SPEEDS_AT] = nan
    t = scalars[memory.TIME]
    t_end = (
        scalars[memory.ORIGIN] + (scalars[memory.STEP_NUMBER] + 1.0) * scalars[memory.STEP_LENGTH]
    )
    h = share * (t_end - t)
    advance(ints, floats, t, h)
    audit_end(world)
    accept(ints, floats, world, t, h, t + h, floats[0:0], world.states[0:0])


@inlined
def read_members(world, member_body, member_pose, states, tensions, joints):
    """States of all members, tensions of cables, angles and rates of joints (in the order of the memory)."""
    for m in range(member_body.shape[0]):
        put_member(world.states[memory.START, member_body[m]], member_pose[m], states[m])
    for k in range(tensions.shape[0]):
        tensions[k] = world.constraints[k, memory.TENSION_0]
    for j in range(joints.shape[0]):
        row = world.joint_int[j, memory.JOINT_ROW]
        joints[j, 0] = world.states[memory.START, row, memory.P]
        joints[j, 1] = world.states[memory.START, row, memory.V]


class Structure(NamedTuple):
    """Parts of a world that have no derivative.

    Attributes:
        member_body, member_pose: bodies and poses of its members.
        commands: what is commanded.
        n_cables, n_joints: whose tensions and angles are read.
    """

    member_body: np.ndarray
    member_pose: np.ndarray
    commands: Commands
    n_cables: int
    n_joints: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of a reading: states of members, tensions, angles and rates of joints."""
        return (len(self.member_body), int(memory.STATE)), (self.n_cables,), (self.n_joints, 2)


class Recording(NamedTuple):
    """A piece.

    Attributes:
        tape: what it does.
        written: operand of every number of the memory that it writes.
        told: operands of what is read, of READING.
    """

    tape: Tape
    written: dict[int, int | float]
    told: tuple[int | float, ...]

    def reads(self, outputs: Iterable[int | float]) -> set[Any]:
        """Keys of the inputs that outputs and the conditions of the tape depend on."""
        numbers = {o for o in outputs if type(o) is int} | set(self.tape.conditions)
        operations = self.tape.operations
        needed = (operations[at] for at in self.tape.needed_for(numbers))
        return {operation.key for operation in needed if operation.name == INPUT}


def record(
    piece: int, ints: np.ndarray, floats: np.ndarray, structure: Structure, share: float = 1.0
) -> Recording | None:
    """Record a piece of a world as it stands; None if it cannot be told as a list of operations.

    Args:
        piece: which.
        ints, floats: the world, left as it is.
        structure: of it.
        share: of what is left of a step, that STEP takes.
    """
    tape = Tape()
    before = [tape.input(i, x) for i, x in enumerate(floats.tolist())]
    cells = np.empty(len(floats), object)
    cells[:] = before
    ints, told = ints.copy(), ()
    ints[memory.N_MEETINGS] = ints[memory.PRESSED] = 0  # in a smooth piece nothing presses
    world = memory.world_of(ints, cells)
    world.bodies[:, memory.CONTACT_PUSH : memory.CONTACT_PUSH + 6] = 0.0
    before = cells.copy()
    try:
        if piece == READING:
            read = [np.empty(shape, object) for shape in structure.shapes]
            PYTHON(read_members)(world, structure.member_body, structure.member_pose, *read)
            told = tuple(_operands(np.concatenate([part.ravel() for part in read])))
        elif piece == COMMAND:
            given = np.empty(len(structure.commands.names), object)
            given[:] = [tape.input((GIVEN, j), 0.0) for j in range(len(given))]
            parts = structure.commands.split(given)
            PYTHON(write_commands)(ints, cells, *parts, structure.commands.commanded)
        elif piece == CHANGE:
            ints[memory.WHAT] = INPUT_CHANGED
            PYTHON(run)(ints, cells, 0)
        else:
            PYTHON(smooth_step)(ints, cells, tape.input((GIVEN, 0), share))
    except NotOnTape:
        return None
    written = np.flatnonzero([x is not y for x, y in zip(cells, before, strict=True)])
    operands = _operands(cells[written])
    return Recording(tape, dict(zip(written.tolist(), operands, strict=True)), told)


def _operands(numbers: Iterable[Any]) -> list[int | float]:
    return [x.at if hasattr(x, "at") else float(x) for x in numbers]


def places_of(recordings: Sequence[Recording], known: set[int]) -> tuple[list[int], list[int]]:
    """Numbers of the memory that pieces hand on to each other, and those that they only read.

    Args:
        recordings: of the pieces.
        known: of the first kind anyway.
    """
    written = known.union(*(r.written for r in recordings))
    rows, read = set(known), set()
    while True:
        for r in recordings:
            outputs = [o for at, o in r.written.items() if at in rows]
            read |= {key for key in r.reads([*outputs, *r.told]) if type(key) is int}
        if read & written <= rows:
            return sorted(rows), sorted(read - rows)
        rows |= read & written
