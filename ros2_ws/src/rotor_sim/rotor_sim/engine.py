"""The compiled engine behind named Python.

Build a world, set its state and inputs, run steps, read states and events.

This is the only place where the flat arrays of :mod:`rotor_sim.model.layout` meet Python objects.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core._jit import constants, kernel
from rotor_core.interface.errors import ContractError, ModelError, SolverError
from rotor_core.lie import so3
from rotor_core.lie.vec3 import add, apply, apply_transposed, cross, get3, put3
from rotor_sim.events import Event, event_from_row
from rotor_sim.hybrid import impact, stepper
from rotor_sim.model import layout as at
from rotor_sim.model.assembly import assemble
from rotor_sim.model.system import System
from rotor_sim.placement import checked_states, place
from rotor_sim.projection import INITIAL_GAP

ACCELERATION, ALPHA, MOTION = constants(13, 16, 19)
"""Columns of a member's motion behind its state: a_WM (3), alpha_M (3)."""


(ANY,) = constants(0)
"""A cable index that does not matter."""


@kernel
def member_motion(ints, floats, member_body, member_pose, out):
    """State and acceleration of every member from those of the merged bodies (M.3)."""
    world = at.views(ints, floats)
    for m in range(member_body.shape[0]):
        b = member_body[m]
        s = world.start[b]
        d = world.slopes[at.FIRST_SLOPE, b]
        p = get3(member_pose[m], 0)
        q_GM = so3.get4(member_pose[m], 3)
        q = so3.get4(s, at.Q)
        omega = get3(s, at.OMEGA)
        alpha = get3(d, at.D_OMEGA)
        R = so3.matrix(q)
        R_GM = so3.matrix(q_GM)
        swing = cross(omega, p)
        put3(out[m], at.P, add(get3(s, at.P), apply(R, p)))
        so3.put4(out[m], at.Q, so3.product(q, q_GM))
        put3(out[m], at.V, add(get3(s, at.V), apply(R, swing)))
        put3(out[m], at.OMEGA, apply_transposed(R_GM, omega))
        put3(
            out[m],
            ACCELERATION,
            add(get3(d, at.D_V), apply(R, add(cross(alpha, p), cross(omega, swing)))),
        )
        put3(out[m], ALPHA, apply_transposed(R_GM, alpha))


class Engine:
    """One world.

    States and commands are arrays over the members (the bodies the user named), not the merged
    ones.

    Args:
        system: what to simulate.
        step: length of a fixed step, s.
        time: time of the initial state, s.
        max_external: how many external wrenches may act at once; default one per body.
    """

    def __init__(
        self,
        system: System,
        *,
        step: float = 1e-3,
        time: float = 0.0,
        max_external: int | None = None,
    ) -> None:
        self.system = system
        self.step_length = float(step)
        self._origin = float(time)
        self._steps = 0
        self._events: list[Event] = []
        built = assemble(system, len(system.bodies) if max_external is None else max_external)
        self.groups, self.world = built.groups, built.world
        self._member_body, self._member_pose = built.member_body, built.member_pose
        self._ints, self._floats = self._arrays = (built.ints, built.floats)
        self.world.scalars[at.TIME] = self._origin
        self.motion = np.zeros((len(system.bodies), MOTION))
        """State and acceleration of every member, (n, 19); call :meth:`measure` to refresh."""

    # --- state ------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Time of the state, s."""
        return float(self.world.scalars[at.TIME])

    def set_state(self, states: np.ndarray, *, time: float | None = None) -> None:
        """Set the state of all members, (n, >= 13).

        Cables at their length become taut, welded members must agree.

        Raises:
            ContractError: wrong shape or not finite.
            ModelError: a cable is longer than it can be, or welded members do not fit their rigid
                links.
        """
        states = checked_states(self.system, states)
        world = self.world
        place(self.system, self.groups, world, states)
        if time is not None:
            self._origin, self._steps = float(time), 0
            world.scalars[at.TIME] = time
        self._check_welds(states)
        for k in range(len(self.system.cables)):
            gap = self._gap(k)
            if world.cable_int[k, at.ALIVE] and gap > INITIAL_GAP:
                length = self.system.cables[k].length
                raise ModelError(
                    f"cable {k}: the points it joins are {length + gap:.9g} m apart, but it is only {length:g} m long. "
                    "Move the bodies together or use a longer cable."
                )
            world.cable_int[k, at.TAUT] = int(
                bool(world.cable_int[k, at.ALIVE]) and abs(gap) <= INITIAL_GAP
            )
        self._restart(impact.STATE_SET)
        self.measure()

    def _rotates(self, member: int) -> bool:
        return self.system.bodies[member].inertia_B is not None

    def trial(self, states: np.ndarray, leaders: Collection[int]) -> Engine:
        """Another engine with the same cables cut, in the state that ``leaders`` (members) give.

        Members on rigid links with them follow; cables may be too long there.

        Raises:
            ContractError: wrong shape or not finite.
        """
        other = Engine(self.system, step=self.step_length, time=self.time)
        other.world.cable_int[:, at.ALIVE] = self.world.cable_int[:, at.ALIVE]
        place(self.system, other.groups, other.world, checked_states(self.system, states), leaders)
        return other

    def _check_welds(self, states: np.ndarray) -> None:
        member_motion(self._ints, self._floats, self._member_body, self._member_pose, self.motion)
        for group in self.groups:
            for member in group.members[1:]:
                difference = self.motion[member, : at.STATE] - states[member]
                if self.motion[member, at.Q : at.Q + 4] @ states[member, at.Q : at.Q + 4] < 0.0:
                    difference[at.Q : at.Q + 4] = (
                        self.motion[member, at.Q : at.Q + 4] + states[member, at.Q : at.Q + 4]
                    )
                if not self._rotates(member):
                    difference[at.Q : at.Q + 4] = difference[at.OMEGA :] = 0.0  # a point has none
                if np.max(np.abs(difference)) > 1e-6:
                    raise ModelError(
                        f"rigid link to {self.system.bodies[member].name!r}: its state misses the link by "
                        f"{np.max(np.abs(difference)):.3g}. Give the state that the link prescribes."
                    )

    def _gap(self, k: int) -> float:
        world = self.world
        points = []
        for end, r in ((at.BODY_A, at.R_A), (at.BODY_B, at.R_B)):
            row = world.start[world.cable_int[k, end]]
            offset = world.cables[k, r : r + 3]
            points.append(row[at.P : at.P + 3] + quat2mat(row[at.Q : at.Q + 4]) @ offset)
        return float(np.linalg.norm(points[1] - points[0]) - world.cables[k, at.LENGTH])

    def measure(self) -> np.ndarray:
        """Refresh and return :attr:`motion`."""
        member_motion(self._ints, self._floats, self._member_body, self._member_pose, self.motion)
        return self.motion

    # --- inputs -----------------------------------------------------------------------------------

    def set_wrenches(self, wrenches: np.ndarray) -> None:
        """Hold thrust (N, along body z) and moment (N m, body axes) of every input, (n_inputs, 4).

        Raises:
            ContractError: wrong shape, or a value that is not finite (nothing is changed then).
        """
        self.check_wrenches(wrenches)
        self.hold(wrenches)

    def check_wrenches(self, wrenches: np.ndarray) -> None:
        """Refuse wrenches of the wrong shape or not finite; see :meth:`set_wrenches`."""
        shape = (len(self.system.inputs), 4)
        if wrenches.shape != shape:
            raise ContractError(f"wrenches: must have the shape {shape}, got {wrenches.shape}.")
        if not np.isfinite(wrenches).all():
            i, channel = np.argwhere(~np.isfinite(wrenches))[0]
            what = ("thrust", "moment x", "moment y", "moment z")[channel]
            name = self.system.bodies[self.system.inputs[i]].name
            raise ContractError(
                f"command of {name!r}: {what} must be finite, got {wrenches[i, channel]}."
            )

    def hold(self, wrenches: np.ndarray) -> None:
        """Hold wrenches that have been checked."""
        self.world.inputs[:, at.BIAS : at.BIAS + 4] = wrenches
        self._restart(impact.INPUT_CHANGED)

    def set_sinusoid(
        self,
        i: int,
        bias: np.ndarray,
        amplitude: np.ndarray,
        frequency_hz: np.ndarray,
        phase: np.ndarray,
    ) -> None:
        """Make input i ``bias + amplitude sin(2 pi f t + phase)``, four channels each.

        The clock is :attr:`time`.
        """
        row = self.world.inputs[i]
        row[at.BIAS : at.BIAS + 4] = bias
        row[at.AMPLITUDE : at.AMPLITUDE + 4] = amplitude
        row[at.ANGULAR_FREQUENCY : at.ANGULAR_FREQUENCY + 4] = (
            2.0 * np.pi * np.asarray(frequency_hz)
        )
        row[at.PHASE : at.PHASE + 4] = phase
        self._ints[at.SINUSOIDS] = 1
        self._restart(impact.INPUT_CHANGED)

    def set_external(self, wrenches: list[tuple[int, np.ndarray, np.ndarray]]) -> None:
        """Let external wrenches act.

        (member, force in W (3,) N, moment in W (3,) N m) at the member's centre of mass.

        Raises:
            ContractError: more than the engine has room for, or not finite.
        """
        world = self.world
        if len(wrenches) > len(world.externals):
            raise ContractError(
                f"external wrenches: at most {len(world.externals)} at once, got {len(wrenches)}."
            )
        for member, force, moment in wrenches:
            if not (np.all(np.isfinite(force)) and np.all(np.isfinite(moment))):
                raise ContractError(
                    f"external wrench on {self.system.bodies[member].name!r}: must be finite."
                )
        self._ints[at.N_ACTING] = len(wrenches)
        for i, (member, force, moment) in enumerate(wrenches):
            world.external_body[i] = self._member_body[member]
            world.externals[i, at.POINT : at.POINT + 3] = self._member_pose[member, :3]
            world.externals[i, at.FORCE_W : at.FORCE_W + 3] = force
            world.externals[i, at.MOMENT_W : at.MOMENT_W + 3] = moment
        self._restart(impact.INPUT_CHANGED)

    def cut(self, k: int) -> None:
        """Cut cable k now."""
        if self.world.cable_int[k, at.ALIVE]:
            self._restart(impact.CABLE_CUT, constants(k)[0])

    def _restart(self, what: int, k: int = ANY) -> None:
        status = stepper.run(*self._arrays, what, k, 0.0, 0.0, 0, 0)
        self._empty_log()
        if status:
            self._fail(int(status))

    # --- running ----------------------------------------------------------------------------------

    def run(self, n_steps: int = 1) -> None:
        """Integrate ``n_steps`` fixed steps; events may happen at any time inside.

        Raises:
            SolverError: not finite, or more than 1000 events in one step; the last good state is
                attached.
        """
        while n_steps > 0:
            status = stepper.run(
                *self._arrays,
                stepper.NOTHING,
                ANY,
                self._origin,
                self.step_length,
                self._steps,
                n_steps,
            )
            done = int(self._ints[at.STEPS_DONE])
            self._steps += done
            n_steps -= done
            self._empty_log()
            if status and status != stepper.LOG_FULL:
                self._fail(int(status))

    def run_until(self, time: float) -> None:
        """Integrate to exactly ``time`` in one step (the caller keeps it short).

        Fixed steps of :meth:`run` count from there.

        Raises:
            ContractError: ``time`` is in the past.
            SolverError: see :meth:`run`.
        """
        if time < self.time:
            raise ContractError(f"run_until: must not be before {self.time} s, got {time} s.")
        status = stepper.run(*self._arrays, stepper.NOTHING, ANY, time, 0.0, -1, 1)
        self._empty_log()
        if status:
            self._fail(int(status))
        self._origin, self._steps = float(time), 0

    def _fail(self, status: int) -> None:
        self.measure()
        state, t = self.motion[:, : at.STATE].copy(), self.time
        if status == stepper.NOT_FINITE:
            group = self.groups[int(self._ints[at.BAD_BODY])]
            names = [self.system.bodies[m].name for m in group.members]
            text = (
                f"step after t = {t:.6f} s: the state of {', '.join(names)} is no longer "
                f"finite. Reduce the step or the inputs."
            )
        elif status == stepper.TOO_MANY_EVENTS:
            text = (
                f"event search after t = {t:.6f} s: the log of {at.MAX_EVENTS} rows is full in one "
                f"step. Likely chatter: reduce the step."
            )
        elif status == stepper.CONTRADICTION:
            taut = [int(k) for k in np.flatnonzero(self.taut)]
            text = (
                f"cables at t = {t:.6f} s: those at their length ({taut}) are redundant and "
                f"contradict each other. Use fewer cables, or lengths that fit."
            )
        else:
            text = (
                f"event search after t = {t:.6f} s: a change of the taut set could not be "
                f"located. Reduce the step."
            )
        raise SolverError(text, time=t, state=state)

    # --- cables and events ------------------------------------------------------------------------

    @property
    def taut(self) -> np.ndarray:
        """Which cables pull, (n_cables,) bool."""
        return self.world.cable_int[:, at.TAUT] != 0

    @property
    def alive(self) -> np.ndarray:
        """Which cables are not cut, (n_cables,) bool."""
        return self.world.cable_int[:, at.ALIVE] != 0

    @property
    def tensions(self) -> np.ndarray:
        """Tensions, (n_cables,) N; zero for slack cables."""
        return self.world.cables[:, at.TENSION_0]

    @property
    def distances(self) -> np.ndarray:
        """Distances between the attachment points, (n_cables,) m."""
        return self.world.cables[:, at.DISTANCE]

    @property
    def directions(self) -> np.ndarray:
        """Unit vectors from end a to end b in W, (n_cables, 3)."""
        return self.world.cables[:, at.XI : at.XI + 3]

    @property
    def solver_work(self) -> tuple[int, int]:
        """Steps tried (one per step, more where events are located) and pivots, since the state was made."""
        return int(self._ints[at.TRIALS]), int(self._ints[at.EXCHANGES])

    def take_events(self) -> list[Event]:
        """Events since the last call, in order."""
        events, self._events = self._events, []
        return events

    def _empty_log(self) -> None:
        n = int(self._ints[at.N_LOGGED])
        if n == 0:
            return
        self._ints[at.N_LOGGED] = 0
        self._events += [event_from_row(row, len(self.system.cables)) for row in self.world.log[:n]]
