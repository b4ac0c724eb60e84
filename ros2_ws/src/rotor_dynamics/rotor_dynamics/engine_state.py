"""Quantities that can be read from a world at any time: cables, stops, contacts, solver work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rotor_dynamics import memory
from rotor_dynamics.accuracy import Accuracy, accuracy_of
from rotor_dynamics.actuation.joints import JointDrive
from rotor_dynamics.model.cable import INITIAL_GAP
from rotor_dynamics.model.system import CUT_LENGTH, System
from rotor_dynamics.model.topology import Topology

INITIAL_RATE = 1e-9
"""Rates of gaps below this count as none where a state is given, m/s."""


class EngineState:
    """The part of an engine that only looks; see :class:`rotor_dynamics.engine.Engine`."""

    ints: np.ndarray
    floats: np.ndarray
    world: memory.World
    topology: Topology
    joints: JointDrive
    system: System
    n_cables: int
    names_of: Callable[[int], list[str]]
    laid: np.ndarray
    """Constraints that could pull when this world was laid out: others are between two parts of one body."""
    earlier_accuracy: Accuracy | None = None
    """Of the worlds that this one goes on from."""

    @property
    def taut(self) -> np.ndarray:
        """True for taut cables (elastic ones: that pull; heavy ones: that pull at end a), (n_cables,) bool."""
        rows = self.world.constraint_int[: self.n_cables]
        return (rows[:, memory.TAUT] | rows[:, memory.STRETCHED]) != 0

    @property
    def alive(self) -> np.ndarray:
        """True for cables that can pull: not cut, nor between two parts of one body, (n_cables,) bool."""
        return self.world.constraint_int[: self.n_cables, memory.ALIVE] != 0

    @property
    def is_at_length(self) -> np.ndarray:
        """True for inextensible cables whose ends are, and stay, as far apart as they are long, (n_cables,) bool."""
        holds = self.world.constraint_int[: self.n_cables, memory.ALIVE] == memory.HOLDS
        rows = self.world.constraints[: self.n_cables]
        stays = np.abs(rows[:, memory.RATE]) <= INITIAL_RATE
        return holds & (np.abs(rows[:, memory.GAP]) <= INITIAL_GAP) & stays

    @property
    def is_cut(self) -> np.ndarray:
        """True for cables that have been cut, (n_cables,) bool."""
        return self.cut_constraints[: self.n_cables]

    @property
    def cut_constraints(self) -> np.ndarray:
        """The same of all constraints, with the pieces of heavy cables and the stops, (n_constraints,) bool."""
        cut = self.laid & (self.world.constraint_int[:, memory.ALIVE] == 0)
        for k, cable in enumerate(self.system.cables):
            cut[k] |= cable.length >= CUT_LENGTH
        return cut

    @property
    def presses(self) -> bool:
        """True while bodies in rigid contact may press each other."""
        return bool(self.world.head[memory.PRESSED])

    @property
    def tensions(self) -> np.ndarray:
        """Tensions, (n_cables,) N; zero for slack cables, at the ends a of heavy ones."""
        return self.world.constraints[: self.n_cables, memory.TENSION_0]

    @property
    def tensions_at_b(self) -> np.ndarray:
        """Tensions at the ends b, (n_cables,) N: others than at a only of heavy cables and where they rub (W.13)."""
        out = self.tensions.copy()
        for strand in self.system.strands:
            out[strand.cable] = self.world.constraints[strand.chain[-1], memory.TENSION_0]
        for capstan in self.world.route_int[len(self.world.route_int) - self._n_capstans :]:
            k = self.world.route_int[capstan[memory.RUBBED_BY] - 1, memory.ROUTE_CONSTRAINT]
            out[k] += self.world.constraints[capstan[memory.ROUTE_CONSTRAINT], memory.TENSION_0]
        return out

    def _along(self, column: int) -> np.ndarray:
        """A length of all cables, that of heavy ones summed over their pieces."""
        found = self.world.constraints[: self.n_cables, column]
        if self.system.strands:
            found = found.copy()
            for strand in self.system.strands:
                found[strand.cable] = self.world.constraints[list(strand.chain), column].sum()
        return found

    @property
    def distances(self) -> np.ndarray:
        """Distances between the attachment points, along the path, (n_cables,) m."""
        return self._along(memory.DISTANCE)

    @property
    def lengths(self) -> np.ndarray:
        """Unstretched lengths, which winches change, (n_cables,) m."""
        return self._along(memory.LENGTH)

    @property
    def directions(self) -> np.ndarray:
        """Unit vectors in which the cables leave their ends a, in W, (n_cables, 3)."""
        return self.world.constraints[: self.n_cables, memory.XI : memory.XI + 3]

    @property
    def directions_at_b(self) -> np.ndarray:
        """Unit vectors in which the cables come to their ends b, in W, (n_cables, 3).

        Others than at their ends a only beyond rings and on heavy cables.
        """
        out = self.directions.copy()
        for strand in self.system.strands:
            out[strand.cable] = self.world.constraints[strand.chain[-1], memory.XI : memory.XI + 3]
        for route in self.world.route_int[: len(self.world.route_int) - self._n_capstans]:
            k, last = route[memory.ROUTE_CONSTRAINT], route[memory.END_PIN] - 1
            if last - route[memory.FIRST_PIN] > 1:
                places = self.world.pins[:, memory.PIN_PLACE : memory.PIN_PLACE + 3]
                part = places[last] - places[self._contact_before(last)]
                out[k] = part / max(float(np.linalg.norm(part)), np.finfo(float).tiny)
        return out

    def show_cables(self, from_b: np.ndarray, out: np.ndarray) -> None:
        """Write tension, length, distance and direction of all cables into ``out``, (n_cables, 6).

        The direction is that in which a cable leaves its end a, or its end b where ``from_b``, (n_cables,) bool.
        """
        out[:, 0], out[:, 1], out[:, 2] = self.tensions, self.lengths, self.distances
        is_straight = not (self.system.strands or len(self.world.routes))
        at_b = self.directions if is_straight else self.directions_at_b
        np.copyto(out[:, 3:], self.directions)
        np.negative(at_b, out=out[:, 3:], where=from_b[:, None])

    def _contact_before(self, p: int) -> int:
        """The point of a path before its point p to which it is straight: not on a peg on which it does not lie."""
        pins, q = self.world.pin_int, p - 1
        if pins[q, memory.IN_ROW] == 2:
            while pins[q, memory.IN_ROW] != 1:
                q -= 1
            while pins[q, memory.NEXT_PIN] != p:
                q = pins[q, memory.NEXT_PIN] + 1
            return int(q)
        sheave = pins[q - 1, memory.PIN_SHEAVE]
        lies = not sheave or self.world.sheave_int[sheave - 1, memory.LIES_ON]
        return q if lies else p - 3

    @property
    def first_stop(self) -> int:
        """Row of constraints behind all cables and their pieces."""
        return len(self.system.cables)

    @property
    def _n_capstans(self) -> int:
        return int(self.world.head[memory.N_CAPSTANS])

    @property
    def _stops(self) -> slice:
        """Rows of constraints that are stops of joints."""
        return slice(self.first_stop, len(self.world.constraints) - self._n_capstans)

    @property
    def slides(self) -> np.ndarray:
        """Ways in which cables slide over the places where they rub, cable by cable along their paths, (n_capstans,).

        +1 towards end b, -1 towards end a, 0 where they stick or are slack.
        """
        return self.world.constraint_int[
            len(self.world.constraint_int) - self._n_capstans :, memory.SLIDES
        ]

    @property
    def stop_efforts(self) -> np.ndarray:
        """Efforts of the stops on their joints, (n_joints,) N m or N; zero where a joint is off its stops."""
        efforts = np.zeros(len(self.joints))
        for row, cable in zip(
            self.world.constraints[self._stops],
            self.world.constraint_int[self._stops],
            strict=True,
        ):
            i = self.topology.joints[cable[memory.STOP_JOINT]]
            efforts[i] -= cable[memory.STOP_SIDE] * row[memory.TENSION_0]
        return efforts

    @property
    def touching(self) -> np.ndarray:
        """True for contacts that touched at the end of the last step, (n_contacts,) bool."""
        return self.world.contact_int[:, memory.TOUCHES] != 0

    @property
    def contact_forces(self) -> np.ndarray:
        """Normal forces of all contacts at the end of the last step, (n_contacts,) N; zero where apart."""
        return self.world.contacts[:, memory.NORMAL_FORCE]

    @property
    def contact_energy(self) -> float:
        """Energy in the springs of all contacts, J (K.6)."""
        c = self.world.contacts
        stretch = np.sum(c[:, memory.STRETCH : memory.STRETCH + 3] ** 2, axis=1)
        normal = c[:, memory.NORMAL_STIFFNESS] @ c[:, memory.DEPTH] ** 2
        return 0.5 * float(normal + c[:, memory.TANGENT_STIFFNESS] @ stretch)

    @property
    def wrenches(self) -> np.ndarray:
        """Wrenches of all inputs without their sinusoids, (n_inputs, 4) N and N m, in memory.

        What is written here before :meth:`rotor_dynamics.engine.Engine.set_state` acts from the start.
        """
        return self.world.inputs[:, memory.BIAS : memory.BIAS + 4]

    @property
    def pitch_link_moments(self) -> np.ndarray:
        """Moments of the pitch links on the joints of blades, (n_joints,) N m; zero elsewhere."""
        moments = np.zeros(len(self.joints))
        moments[self.world.joint_int[:, memory.JOINT_NUMBER]] = self.world.joints[
            :, memory.PITCH_EFFORT
        ]
        return moments

    @property
    def solver_work(self) -> tuple[int, int]:
        """Steps tried (one per step, more where events are located) and pivots, since the state was made."""
        return int(self.ints[memory.TRIALS]), int(self.ints[memory.EXCHANGES])

    @property
    def accuracy(self) -> Accuracy:
        """Estimated errors, substeps and energy balance since the state was set."""
        found, row = accuracy_of(self.ints, self.floats, self.world)
        if row >= 0:
            found = replace(found, error_body=", ".join(self.names_of(row)))
        return found.after(self.earlier_accuracy)

    @property
    def steps(self) -> int:
        """Fixed steps since the state was set."""
        return int(self.ints[memory.STEP])

    @property
    def were_redundant(self) -> bool:
        """True if taut cables were ever linearly dependent, so that tensions are those of smallest norm."""
        return bool(self.ints[memory.REDUNDANT])
