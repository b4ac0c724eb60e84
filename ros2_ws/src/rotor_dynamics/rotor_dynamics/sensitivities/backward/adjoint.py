"""A flight under given commands, and the derivative of one number of it with everything before, backward.

Forward the engine flies, and what pieces of the flight hand on to each other is noted. Backward every smooth piece is
its tape (:mod:`rotor_dynamics.sensitivities.backward.tapes`) run in reverse; a piece with an event, or one that no
tape covers, is taken with derivatives forward (:mod:`rotor_dynamics.sensitivities.propagation`), multiplied from the
left. Long flights are noted in stretches, each flown again from its start when the way back has come to it.

Source: reverse differentiation with checkpoints (Griewank and Walther, Evaluating Derivatives, SIAM 2008, ch. 3, 12).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from rotor_core.errors import ContractError
from rotor_core.kernels.jit import unwritten
from rotor_core.kernels.reverse import NO_CODE, Before, Sweep
from rotor_dynamics import memory
from rotor_dynamics.engine import Engine, counting_rows
from rotor_dynamics.integrators.classical import classical
from rotor_dynamics.integrators.methods import method
from rotor_dynamics.integrators.trial import DEFAULT
from rotor_dynamics.model.system import System
from rotor_dynamics.sensitivities.backward import tapes
from rotor_dynamics.sensitivities.backward.commands import Commands
from rotor_dynamics.sensitivities.backward.stretches import WORTH_A_TAPE, Stretch
from rotor_dynamics.sensitivities.backward.tape_codes import Image, Key, TapeCodes
from rotor_dynamics.sensitivities.backward.way_back import WayBack
from rotor_dynamics.sensitivities.coordinates import Coordinates, Seed, indices, parts_lags
from rotor_dynamics.sensitivities.propagation import Doubt, check_differentiable


class Decisions(Protocol):
    """Decisions on the commands of every period, by the reading at its start, on the way back.

    Its code is as of :func:`rotor_core.kernels.reverse.compile_backward`: rows and held numbers are its own; GIVEN is
    the command of the period, the reading (states of the members, tensions, joints in the order of
    :attr:`AdjointFlights.joints_read`), and what else it was given.

    Attributes:
        rows, numbers: what it remembered before every period, (N, n), and what stays.
        with_row, with_numbers: derivatives with them, changed.
        more, with_more: what else it was given, (N, n_more), and derivatives with it, written.
        with_commands: derivatives with the commands by themselves, (N, n_commands).
    """

    rows: np.ndarray
    numbers: np.ndarray
    with_row: np.ndarray
    with_numbers: np.ndarray
    more: np.ndarray
    with_more: np.ndarray
    with_commands: np.ndarray

    def address(self) -> int:
        """Of code that may be right for any period."""
        ...

    def another(self, period: int, tried: set[int], given: np.ndarray) -> int:
        """Of other code than was ``tried``, where that was not right; ``given``: GIVEN of the period."""
        ...


STRETCH = 20_000
"""Pieces of a stretch: some tens of megabytes."""


@dataclass(frozen=True)
class Gradient:
    """Derivative of one number of a flight.

    Attributes:
        start: with the coordinates of the start (:class:`~rotor_dynamics.sensitivities.coordinates.Coordinates`): of
            every body place, rotation vector (body axes), velocity and body rate (D.16), then angle and rate of every
            free joint, then what lags, (n,).
        commands: with the commands of all periods, (N, n_commands).
        seeds: with what was asked besides, (n_seeds,).
        states: with the states that were read, by whom was asked and by those who decided, (N + 1, n_members, 13).
        doubt: first place where the derivative may not exist; None: nothing is known.
        forward: pieces of the flight that were differentiated forward.
    """

    start: np.ndarray
    commands: np.ndarray
    seeds: np.ndarray
    states: np.ndarray
    doubt: Doubt | None
    forward: int


def start_engine(
    system: System,
    states: np.ndarray,
    *,
    joints: np.ndarray | None = None,
    wrenches: np.ndarray | None = None,
    prepare: Callable[[Engine], None] | None = None,
    wind: Sequence[float] = (0.0, 0.0, 0.0),
    step: float = 1e-3,
    integrator: str = DEFAULT,
    tolerance: float = 1e-10,
) -> Engine:
    """Engine at the start of flights under commands.

    Args:
        system: anything.
        states: of the members, (n_members, 13).
        joints: angles and rates, (n_joints, 2); default zero.
        wrenches: that act, (n_inputs, 4); default none.
        prepare: called with the engine before its state is set: start rotors, hold arms.
        wind: steady velocity of the air, (3,) m/s in W.
        step: s.
        integrator, tolerance: as for :class:`~rotor_dynamics.engine.Engine`.

    Raises:
        ContractError: another integrator, rotors with inertia and without a lag, or kernels that are not compiled.
        ModelError: the state cannot be.
    """
    check_differentiable()
    if method(integrator)[1].step is not classical:
        raise ContractError(
            f"adjoint: knows the integrators rkmk4, erk4m and cf4, got {integrator!r}."
        )
    engine = Engine(
        system, step=step, integrator=integrator, tolerance=tolerance, log_rows=counting_rows(system)
    )  # fmt: skip
    world = engine.world
    lag, inertia = world.rotors[:, memory.LAG_RATE], world.rotors[:, memory.AXIAL_INERTIA]
    if np.any((lag == 0.0) & (inertia != 0.0)):
        raise ContractError(
            "adjoint: rotors with inertia need a lag, because their speed cannot jump."
        )
    world.bodies[:, memory.WIND : memory.WIND + 3] = wind
    if wrenches is not None:
        world.inputs[:, :4] = wrenches
    if prepare is not None:
        prepare(engine)
    engine.set_state(states, joints=joints)
    engine.take_events()
    engine.count_events()
    return engine


class AdjointFlights:
    """A world that is flown again and again from one state under commands, with derivatives backward.

    One thread at a time: flights share what was recorded and compiled.

    Args:
        system: anything.
        states: of the members at the start, (n_members, 13).
        steps: of a period in which commands are held.
        moves_air: whether the velocity of the air is commanded, too.
        begins: how else they begin, as for :func:`start_engine`.

    Attributes:
        engine: the world at the start.
        commands: what the numbers of a command are, by name.
        moves_air, air: whether the velocity of the air is one of them, and where.
        coordinates: of the start.

    Raises:
        ContractError: fewer than one step, a force that cannot be told as a list of operations, and as
            :func:`start_engine`.
        ModelError: the state cannot be.
    """

    def __init__(
        self,
        system: System,
        states: np.ndarray,
        *,
        steps: int,
        moves_air: bool = False,
        **begins: Any,
    ) -> None:
        if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 1:
            raise ContractError(f"adjoint: steps must be a whole number >= 1, got {steps!r}.")
        self.steps = int(steps)
        engine = start_engine(system, states, **begins)
        commands = Commands(engine, moves_air=moves_air)
        self.commands, self.air, self.moves_air = commands.names, commands.air, moves_air
        self._structure = tapes.Structure(
            engine.member_body, engine.member_pose, commands, engine.n_cables, len(system.joints)
        )
        self._begin(engine)
        # the last row is the ground, which stays
        moving = indices(engine, engine.world.states[memory.START, :-1]).tolist()
        self._codes, self._sweep = TapeCodes(self._structure, self._start, moving), Sweep()

    def _begin(self, engine: Engine) -> None:
        """Flights begin as this engine stands."""
        self.engine = engine
        self.coordinates = Coordinates(engine)
        self.coordinates.begin_lags(engine.world)
        self._start_seeds = self.coordinates.seeds()
        lags = self.coordinates.lags
        own = zip(lags, self._start_seeds[len(self._start_seeds) - len(lags) :], strict=True)
        self._lasting = self._structure.commands.lasting(engine, own)
        self._start = Image(0, engine.ints.copy(), engine.floats.copy())

    def fits(self, engine: Engine) -> bool:
        """True if an engine of :func:`start_engine` stands as flights begin, but for numbers."""
        own = self._start.ints
        same = own.shape == engine.ints.shape and np.array_equal(own, engine.ints)
        return same and np.array_equal(self.engine.member_pose, engine.member_pose)

    def begin(self, engine: Engine) -> None:
        """From here on flights begin as another engine stands, which :meth:`fits`."""
        if engine is self.engine:
            return
        if not self.fits(engine):
            raise ContractError(
                "adjoint: a world that begins otherwise (which cables are taut, what is welded where) needs flights of "
                "its own."
            )
        self._begin(engine)

    @property
    def joints_read(self) -> np.ndarray:
        """Joints in the order of a reading, as the user counts them, (n_joints,)."""
        return self.engine.world.joint_int[:, memory.JOINT_NUMBER]

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of what is told at every node: states of the members, tensions, angles and rates of joints."""
        return self._structure.shapes

    def fly(self, commands: np.ndarray) -> AdjointFlight:
        """Fly from the start.

        Args:
            commands: of all periods, (N, n_commands).

        Raises:
            ContractError: commands of the wrong shape, or not finite.
            SolverError: the integration cannot go on.
        """
        commands = np.array(commands, float)
        if commands.ndim != 2 or commands.shape[1] != len(self.commands) or not len(commands):
            raise ContractError(
                f"adjoint: commands must have the shape (periods, {len(self.commands)}), got {commands.shape}."
            )
        if not np.isfinite(commands).all():
            raise ContractError("adjoint: commands must be finite.")
        return AdjointFlight(self, commands)

    def _fail(self, status: int, ints: np.ndarray, floats: np.ndarray) -> None:
        """Let the engine tell why this world cannot go on."""
        engine = self.engine
        try:
            engine.ints[:], engine.floats[:] = ints, floats
            engine._fail(status)
        finally:
            engine.ints[:], engine.floats[:] = self._start.ints, self._start.floats


class AdjointFlight:
    """One flight under commands; see :meth:`AdjointFlights.fly`.

    Attributes:
        states: of all members at the start and the end of every period, (N + 1, n_members, 13).
        tensions: likewise, (N + 1, n_cables) N.
        joints: angles and rates of all joints, (N + 1, n_joints, 2).
    """

    def __init__(self, flights: AdjointFlights, commands: np.ndarray) -> None:
        self._flights, self._commands = flights, commands
        n = len(commands)
        self.states, self.tensions, self._joints = (
            unwritten((n + 1, *shape)) for shape in flights._structure.shapes
        )
        self._edges, self._begins = [0], [flights._start]
        """Periods at which stretches begin, and the end; the worlds there."""
        while self._edges[-1] < n:
            self._note(len(self._edges) - 1)
            self._edges.append(self._edges[-1] + len(self._stretch.commands))
            self._begins.append(self._stretch.end)

    @property
    def joints(self) -> np.ndarray:
        """See the class."""
        return self._joints[:, np.argsort(self._flights.joints_read)]

    def _note(self, number: int) -> None:
        """Fly a stretch, and note it."""
        flights, first = self._flights, self._edges[number]
        end = min(first + max(1, STRETCH // (flights.steps + 3)), len(self._commands))
        nodes = slice(first, end + 1)
        readings = self.states[nodes], self.tensions[nodes], self._joints[nodes]
        self._stretch = Stretch(
            flights._codes, flights._structure, self._begins[number], flights.steps, self._commands[first:end],
            readings, flights._fail,
        )  # fmt: skip
        self._number = number

    def gradient(
        self,
        states: np.ndarray | None = None,
        *,
        tensions: np.ndarray | None = None,
        joints: np.ndarray | None = None,
        seeds: Sequence[Seed] = (),
        decisions: Decisions | None = None,
    ) -> Gradient:
        """Derivative of one number of the flight with its start, its commands, and what else is asked.

        Args:
            states, tensions, joints: its derivatives with :attr:`states`, :attr:`tensions` and :attr:`joints`, of their
                shapes; default zero.
            seeds: derivatives of the memory at the start with what else is asked, such as a mass.
            decisions: of who decided the commands; default: they are given, whatever happens.

        Raises:
            ContractError: wrong shapes, a seed that parts the lags of rotors, one of a number that is zero, and with it
                what it is a factor of, or a derivative that is not finite.
            SolverError: the integration cannot go on with derivatives.
        """
        flights = self._flights
        if parts_lags(flights.engine, seeds):
            raise ContractError(
                "adjoint: a seed varies the lags of rotors that share one, and not all alike. Let them differ in the "
                "last digit, or vary all."
            )
        told = self._told(states, tensions, joints)
        way = WayBack(flights._start, seeds)
        slopes = np.zeros((len(told), self._commands.shape[1] + told.shape[1]))
        for number in reversed(range(len(self._edges) - 1)):
            first, end = self._edges[number : number + 2]
            if self._number != number:
                self._note(number)
            part = told[first : end + 1].copy()
            if number > 0:
                part[0] = 0.0  # told with the end of the stretch before
            slopes[first : end + 1] += self._go_back(way, part, first, decisions)
        commands, read = (
            slopes[:-1, : self._commands.shape[1]],
            slopes[:, self._commands.shape[1] :],
        )
        left_out = flights._codes.left_out()
        if any(left_out.intersection(where.tolist()) for where, _ in way.seeds):
            raise ContractError(
                "adjoint: a seed varies a number that is zero, and with it what it is a factor of, which was left out. "
                "Begin with a number that is not zero, or ask rotor.sensitivities."
            )
        start, asked = way.along_seeds(flights._start_seeds), way.with_asked()
        if not all(np.isfinite(part).all() for part in (start, commands, asked)):
            raise ContractError(
                f"adjoint: there is no derivative: it is not finite ({way.doubt or 'no event is doubted'})."
            )
        states = read[:, : self.states[0].size].reshape(self.states.shape)
        return Gradient(start, commands, asked, states, way.doubt, way.forward)

    def _told(self, *given: np.ndarray | None) -> np.ndarray:
        """Derivatives with all readings, (N + 1, n_told)."""
        parts = []
        for name, told in zip(("states", "tensions", "joints"), given, strict=True):
            there = getattr(self, name)
            told = np.zeros(there.shape) if told is None else np.asarray(told, float)
            if told.shape != there.shape:
                raise ContractError(
                    f"adjoint: {name} must have the shape {there.shape}, got {told.shape}."
                )
            if name == "joints":
                told = told[:, self._flights.joints_read]
            parts.append(told.reshape(len(told), -1))
        return np.concatenate(parts, axis=1)

    def _go_back(
        self, way: WayBack, told: np.ndarray, first: int, decisions: Decisions | None
    ) -> np.ndarray:
        """Through the stretch that is noted; derivatives with its commands and readings, (N + 1, n_commands + n_told).

        Args:
            way: after it, changed.
            told: derivatives with its readings, (N + 1, n_told).
            first: period at which it begins.
            decisions: of who decided the commands.
        """
        n, n_commands = self._stretch.commands.shape
        end, n_read = first + n, n_commands + told.shape[1]
        more = np.zeros((n, 0)) if decisions is None else decisions.more[first:end]
        slopes = np.zeros((n + 1, n_read + more.shape[1]))
        slopes[:, n_commands:n_read] = told
        if decisions is not None:
            slopes[:n, :n_commands] = decisions.with_commands[first:end]
        there = np.concatenate(
            [np.reshape(part[first : end + 1], (n + 1, -1)) for part in (self.states, self.tensions, self._joints)],
            axis=1,
        )  # fmt: skip
        leg = partial(
            self._leg, way, missed=Counter[Key](), slopes=slopes, given=(there, more), first=first, decisions=decisions
        )  # fmt: skip
        piece = len(self._stretch.pieces.smooth) - 1
        while piece >= 0:
            piece = leg(piece)
        if decisions is not None:
            decisions.with_more[first:end] = slopes[:n, n_read:]
        return slopes[:, :n_read]

    def _before(self, decisions: Decisions, first: int, width: int) -> Before:
        """Who decides, before the reading at the start of every period of the stretch."""
        n = len(self._stretch.pieces.kinds)
        addresses, rows, at = np.zeros((3, n), np.int64)
        beginnings = self._stretch.beginnings()
        addresses[beginnings] = decisions.address()
        rows[beginnings] = first + np.arange(len(beginnings))
        at[beginnings] = width * np.arange(len(beginnings))
        of_it = (decisions.rows, decisions.numbers), (decisions.with_row, decisions.with_numbers)
        return Before(addresses, rows, at, *of_it)

    def _leg(
        self,
        way: WayBack,
        piece: int,
        missed: Counter[Key],
        slopes: np.ndarray,
        given: tuple[np.ndarray, np.ndarray],
        first: int,
        decisions: Decisions | None,
    ) -> int:
        """Back from a piece with the tapes that there are (D.17); the next piece, once one more is there, or -1.

        Args:
            way: changed.
            piece: the last of those to be gone through.
            missed: smooth pieces for which no tape was right, by their key; changed.
            slopes: derivatives with commands, readings and what else was given, (N + 1, width), changed.
            given: readings, and what else.
            first: period at which the stretch begins.
            decisions: of who decided the commands.
        """
        flights, codes = self._flights, self._flights._codes
        self._stretch.record()
        if not np.array_equal(codes.cells, self._stretch.cells):
            self._note(self._number)  # a tape reads what was not noted
        stretch = self._stretch
        addresses = stretch.addresses()
        way.lay_out(codes.cells)
        numbers, given_at = stretch.given(*given)
        with_given = np.zeros(len(numbers))
        with_given[: slopes.size] = slopes.ravel()
        at_held = codes.held
        held, with_held = flights._start.floats[at_held], np.zeros(len(at_held))
        before, begins, at_begin = None, -1, NO_CODE
        if decisions is not None:
            before = self._before(decisions, first, slopes.shape[1])
            if first == 0:  # the first commands find what lags as they want it
                begins, at_begin = 0, int(addresses[0])
                addresses[0] = NO_CODE
        stopped, tried = -1, set[int]()
        asked, wrong = -1, set[int]()
        while True:
            piece = flights._sweep(
                piece, addresses, given_at, (stretch.pieces.rows, held, numbers), (way.along, with_held, with_given),
                before,
            )  # fmt: skip
            if piece < 0:
                break
            if piece == begins:
                with_given[: len(flights.commands)] += way.along_seeds(flights._lasting)
                addresses[piece], begins = at_begin, -1
                continue
            if (
                decisions is not None
                and before is not None
                and before.addresses[piece] != NO_CODE != addresses[piece]
            ):
                node, begin = int(before.rows[piece]), int(before.given_at[piece])
                if piece != asked:
                    asked, wrong = piece, {int(before.addresses[piece])}
                other = decisions.another(node, wrong, numbers[begin : begin + slopes.shape[1]])
                wrong.add(other)
                until = before.addresses[: piece + 1]
                until[until != NO_CODE] = other  # likely right for what came before, too
                continue
            key, is_smooth = stretch.key(piece), bool(stretch.pieces.smooth[piece])
            tried = tried if piece == stopped else {int(addresses[piece])}
            stopped = piece
            other = codes.another(key, tried) if is_smooth else NO_CODE
            if other != NO_CODE:  # likely right for what came before, too
                addresses[: piece + 1][stretch.like(piece)] = other
                continue
            image, share = stretch.image(piece), float(stretch.pieces.shares[piece])
            way.take_forward(image, key[0] == tapes.STEP, share, codes.kept, flights._fail)
            piece -= 1
            missed[key] += int(is_smooth)
            if missed[key] >= WORTH_A_TAPE and codes.takes_more(key):
                missed[key] = 0
                codes.record(key[0], image, share)
                break
        way.with_memory[at_held] += with_held
        slopes[:] = with_given[: slopes.size].reshape(slopes.shape)
        return piece
