"""Pieces of a flight under given commands: flown, with what they hand on; or with derivatives forward."""

from __future__ import annotations

from math import inf, nan
from typing import NamedTuple

import numpy as np

from rotor_core.kernels.jit import constants, inlined, kernel_without_gil, unwritten
from rotor_core.numbers.duals import duals
from rotor_dynamics import memory
from rotor_dynamics.hybrid.stepper import OK, run, run_to
from rotor_dynamics.sensitivities.backward.commands import write_commands
from rotor_dynamics.sensitivities.backward.tapes import CHANGE, COMMAND, READING, STEP, read_members
from rotor_dynamics.sensitivities.propagation import run_duals

MOST_PARTS = 100
"""Of a step that error control cuts; one in more parts is differentiated forward."""

FULL = np.int64(-1)
"""In the place of a status: no room for the next piece."""

MIXER, MIXED = constants(8191, 2**48 - 1)
"""Two sets of decisions have one number by chance once in 1e14."""


@inlined
def mixed(found, table, first, end):
    """A number for what was found before and whole numbers of a table, from one column to another."""
    for i in range(table.shape[0]):
        for column in range(first, end):
            found = (found * MIXER + table[i, column]) & MIXED
    return found


@inlined
def decided(world):
    """A number for all that was decided before: which cables are taut and lie on what, which points touch."""
    found = mixed(0, world.constraint_int, memory.ALIVE, memory.ALIVE + 1)
    for column in (memory.TAUT, memory.STRETCHED, memory.SLIDES):
        found = mixed(found, world.constraint_int, column, column + 1)
    found = mixed(found, world.contact_int, memory.TOUCHES, memory.CONTACT_INT)
    found = mixed(found, world.sheave_int, memory.SIDE, memory.LIES_ON + 1)
    found = mixed(found, world.polyhedron_int, memory.N_BENDS, memory.CHANGE_RULE)
    return mixed(found, world.disc_int, memory.NEWEST, memory.SAMPLES + 1)


@inlined
def happened(world, events, pressed, before):
    """True if there has been an event in a piece, other cables pull, or bodies press each other, before or after it."""
    head = world.head
    presses = head[memory.PRESSED] + pressed != 0
    return presses or head[memory.N_EVENTS] != events or decided(world) != before


@inlined
def run_part(ints, floats, share):
    """Integrate a share of what is left of a fixed step, without error control; 1: to its end, which is counted."""
    world = memory.views(ints, floats)
    head, scalars = world.head, world.scalars
    scalars[memory.SPEEDS_AT] = nan
    controlled, proposed = head[memory.CONTROLLED], scalars[memory.NEXT_STEP]
    head[memory.CONTROLLED], scalars[memory.NEXT_STEP] = 0, inf
    t = scalars[memory.TIME]
    end = scalars[memory.ORIGIN] + (head[memory.STEP] + 1) * scalars[memory.STEP_LENGTH]
    if share < 1.0:
        end = t + share * (end - t)
    status = run_to(ints, floats, end, floats[0:0], world.states[0:0])
    head[memory.CONTROLLED], scalars[memory.NEXT_STEP] = controlled, proposed
    if status == OK and share >= 1.0:
        head[memory.STEP] += 1
    return status


@inlined
def note(world, floats, cells, i, pieces):
    """Note what is handed on, before piece i."""
    world.scalars[memory.STEP_NUMBER] = 1.0 * world.head[memory.STEP]
    for c in range(cells.shape[0]):
        pieces.rows[i, c] = floats[cells[c]]
    pieces.decisions[i] = decided(world)
    pieces.smooth[i] = 1
    pieces.shares[i] = 1.0


class Pieces(NamedTuple):
    """Pieces of a flight in the order of time.

    Attributes:
        rows: numbers that are handed on to each, (n_pieces, n_cells).
        decisions: a number for what was decided before each.
        smooth: 1 where nothing happened.
        kinds: READING, COMMAND, CHANGE or STEP.
        nodes: of a reading the number of the period that it ends, plus one; of others that of their period.
        shares: of what is left of a step, that a piece of one takes.
    """

    rows: np.ndarray
    decisions: np.ndarray
    smooth: np.ndarray
    kinds: np.ndarray
    nodes: np.ndarray
    shares: np.ndarray

    @classmethod
    def room(cls, n: int, n_cells: int) -> Pieces:
        """For so many pieces."""
        decisions, kinds, nodes = np.zeros((3, n), np.int64)
        return cls(
            unwritten((n, n_cells)), decisions, np.zeros(n, np.int8), kinds, nodes, unwritten(n)
        )

    def first(self, n: int) -> Pieces:
        """The first n pieces."""
        return Pieces(*(part[:n] for part in self))

    def with_room(self) -> Pieces:
        """The same with twice the room."""
        return Pieces(*(np.concatenate([part, part]) for part in self))


@kernel_without_gil
def fly_pieces(
    ints, floats, saved_ints, saved_floats, place, end, piece, steps, commands, commanded, cells, member_body,
    member_pose, pieces, states, tensions, joints,
):  # fmt: skip
    """Fly until a piece is not smooth, which is flown too, or there is no more room.

    Args:
        ints, floats: the world, changed.
        saved_ints, saved_floats: work.
        place, end: of a reading, and for every period a command, its change, steps and a reading; end is excluded.
        piece: number of the next: steps that error control cuts are several.
        steps: of a period.
        commands: of all periods, as :meth:`Commands.split` gives them.
        commanded: what they go to.
        cells: numbers of the memory that are noted before every piece, (n_cells,).
        member_body, member_pose: of the members that are read.
        pieces: written.
        states, tensions, joints: at the readings, (N + 1, ...), written.

    Returns:
        The next place, the next piece, and a status, or FULL: there must be more room for pieces first.
    """
    world = memory.views(ints, floats)
    head = world.head
    wrenches, speeds, efforts, angles, windings, air = commands
    while place < end and piece < pieces.smooth.shape[0]:
        note(world, floats, cells, piece, pieces)
        period = (place - 1) // (steps + 3)
        within = (place - 1) % (steps + 3)
        pieces.nodes[piece] = period
        if place == 0 or within == steps + 2:
            pieces.kinds[piece] = READING
            n = period + 1
            pieces.nodes[piece] = n
            read_members(world, member_body, member_pose, states[n], tensions[n], joints[n])
        elif within == 0:
            pieces.kinds[piece] = COMMAND
            write_commands(
                ints, floats, wrenches[period], speeds[period], efforts[period], angles[period], windings[period],
                air[period], commanded,
            )  # fmt: skip
        elif within == 1:
            pieces.kinds[piece] = CHANGE
            events, pressed = head[memory.N_EVENTS], head[memory.PRESSED]
            status = run(ints, floats, 0)
            if status != OK:
                return place, piece, status
            if happened(world, events, pressed, pieces.decisions[piece]):
                pieces.smooth[piece] = 0
        else:
            pieces.kinds[piece] = STEP
            # parts may not touch what the whole does: in a world of hulls they are one piece
            may_be_cut = world.scalars[memory.NEXT_STEP] < inf and head[memory.N_MEETINGS] == 0
            if may_be_cut:
                copy(ints, saved_ints)
                copy(floats, saved_floats)
            events, pressed = head[memory.N_EVENTS], head[memory.PRESSED]
            trials, parts = head[memory.TRIALS], head[memory.SUBSTEPS]
            status = run(ints, floats, 1)
            if status != OK:
                return place, piece, status
            parts = head[memory.SUBSTEPS] - parts + 1
            if happened(world, events, pressed, pieces.decisions[piece]):
                pieces.smooth[piece] = 0
            elif may_be_cut and 1 < parts <= MOST_PARTS:
                if piece + parts > pieces.smooth.shape[0]:
                    copy(saved_ints, ints)
                    copy(saved_floats, floats)
                    return place, piece, FULL
                proposed = world.scalars[memory.NEXT_STEP]
                copy(saved_ints, ints)
                copy(saved_floats, floats)
                for left in range(parts, 0, -1):
                    note(world, floats, cells, piece, pieces)
                    pieces.kinds[piece], pieces.nodes[piece] = STEP, period
                    pieces.shares[piece] = 1.0 / left
                    status = run_part(ints, floats, pieces.shares[piece])
                    if status != OK:
                        return place, piece, status
                    piece += 1
                world.scalars[memory.NEXT_STEP] = proposed
                head[memory.SUBSTEPS] += parts - 1
                piece -= 1
            elif head[memory.TRIALS] != trials + 1:
                pieces.smooth[piece] = 0
        place += 1
        piece += 1
        if pieces.smooth[piece - 1] == 0:
            return place, piece, OK
    return place, piece, OK if place == end else FULL


@inlined
def copy(a, b):
    """All numbers of one array into another."""
    for i in range(a.shape[0]):
        b[i] = a[i]


@kernel_without_gil
def take_duals(head, rows, is_step, share):
    """A world with derivatives takes up its inputs and, if told so, a step, or a share of what is left of one."""
    status = run_duals(head, rows, 0)
    if status == OK and is_step:
        status = run_part(head, duals(rows), share) if share < 1.0 else run_duals(head, rows, 1)
    return status


@kernel_without_gil
def multiply_left(cells, along, rows, n, out):
    """Derivatives ``along`` with numbers of the memory times those of the first n directions."""
    for d in range(n):
        out[d] = 0.0
        for c in range(cells.shape[0]):
            if along[c] != 0.0:  # what nothing depends on may have no derivative
                out[d] += along[c] * rows[cells[c], 1 + d]
