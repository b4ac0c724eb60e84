"""The compiled engine behind named Python.

Build a world, set its state and inputs, run steps, read states and events.

This is the only place where the flat arrays of :mod:`rotor_dynamics.memory` meet Python objects.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import replace
from typing import Any
from weakref import ref

import numpy as np

from rotor_core.errors import ContractError, ModelError, SolverError
from rotor_core.kernels.jit import COMPILED, unwritten
from rotor_core.kernels.link import entry
from rotor_core.state import MOTION
from rotor_dynamics import memory
from rotor_dynamics.actuation.joints import JointDrive
from rotor_dynamics.actuation.rotors import RotorDrive
from rotor_dynamics.actuation.swashplates import SwashDrive
from rotor_dynamics.actuation.winches import WinchDrive
from rotor_dynamics.collisions.looking import find_overlap
from rotor_dynamics.constraints.routes import lay_routes
from rotor_dynamics.constraints.ways import keep_ways, mark_still, note_laid
from rotor_dynamics.engine_state import EngineState
from rotor_dynamics.forces.contact import move_anchors, note_places
from rotor_dynamics.hybrid import impact, stepper
from rotor_dynamics.hybrid.events import Event, events_from_log
from rotor_dynamics.hybrid.failures import failure_text, far_away, lost_way
from rotor_dynamics.initial_conditions import check_welds, checked_states, mark_taut, place
from rotor_dynamics.integrators.audit import open_books
from rotor_dynamics.integrators.methods import method
from rotor_dynamics.kinematics.members import member_motion
from rotor_dynamics.kinematics.trees import move_links
from rotor_dynamics.model.assembly import assemble, fill_principal_axes
from rotor_dynamics.model.solid import CORE_MARGIN
from rotor_dynamics.model.system import CUT_LENGTH, System
from rotor_dynamics.motion.abreast import has_spokes, may_go_abreast

RUN = entry(stepper.run)
LOGGED = int(memory.N_LOGGED)  # a plain integer: it is asked for in every call


def counting_rows(system: System) -> int:
    """Room for events that are counted and not kept."""
    return int(stepper.EVENT_ROWS) + 2 * (len(system.cables) + 2 * len(system.joints))


class Engine(EngineState):
    """One world.

    States and commands are arrays over the members (the bodies the user named), not the merged
    ones.

    Args:
        system: what to simulate.
        step: length of a fixed step, s.
        time: time of the initial state, s.
        max_external: how many external wrenches may act at once; default one per body.
        log_rows: room for events between two calls.
        integrator: a name in :data:`rotor_core.config.extensions.INTEGRATORS`.
        tolerance: of an adaptive integrator, per step, absolute and relative (m, rad, m/s, rad/s); of one with fixed
            steps the error that 1 ms may add to a velocity or body rate (m/s, rad/s), and to the energy relative to
            its scale; steps that miss it are cut. ``inf``: never.

    Raises:
        ModelError: the system cannot be built.
        ContractError: there is no such integrator, or a step or tolerance that cannot be.
    """

    def __init__(
        self,
        system: System,
        *,
        step: float = 1e-3,
        time: float = 0.0,
        max_external: int | None = None,
        log_rows: int = memory.EVENTS,
        integrator: str = "rkmk4",
        tolerance: float = 1e-10,
    ) -> None:
        self.system = system
        if not 0.0 < step < np.inf:
            raise ContractError(f"step: must be a finite number > 0 s, got {step}.")
        if not tolerance > 0.0:
            raise ContractError(f"tolerance: must be above 0, got {tolerance}.")
        code, found = method(integrator)
        self.adaptive = found.adaptive
        """True if the integrator chooses its own steps, and has dense output."""
        self.integrator, self.tolerance = integrator, tolerance
        self.step_length = float(step)
        self.n_cables = system.n_cables
        self._events: list[Event] = []
        self.earlier_accuracy = None
        room = len(system.bodies) if max_external is None else max_external
        built = assemble(system, room, log_rows)
        self.groups, self.topology, self.world = built.groups, built.topology, built.world
        self.member_body, self.member_pose = built.member_body, built.member_pose
        self.ints, self.floats = built.ints, built.floats
        self.laid = self.world.constraint_int[:, memory.ALIVE] != 0
        self.ints[memory.METHOD], self.ints[memory.VARIANT] = code, found.variant
        self.ints[memory.ABREAST] = int(found.abreast is not None and may_go_abreast(self.world))
        self.ints[memory.SPOKES] = int(has_spokes(self.world))
        self.ints[memory.ADAPTIVE] = int(found.adaptive)
        self.ints[memory.ESTIMATED] = int(found.controlled)
        # what blades feel depends on the steps before, and their sections on tables: no estimate is one of their error
        self.ints[memory.CONTROLLED] = int(found.controlled and not system.discs)
        self.ints[memory.KINKED] = int(bool(system.contacts or system.forces or system.solids))
        self.ints[memory.KEEPS_LOG] = 1
        routes = [c for c in system.cables if not c.is_line]
        for what, there in (
            ("joints", system.joints),
            ("contacts", system.contacts),
            ("cables that run through rings, wind or stretch", routes),
            ("rods and heavy cables", [c for c in system.cables if c.rod]),
            ("rigid contact", system.solids),
        ):
            # forces of contact are those of steps whose ends are known to better than the first order
            coarse = found.adaptive or integrator == "euler"
            if there and (found.symplectic or (there is system.solids and coarse)):
                raise ContractError(
                    f"integrator {integrator!r}: does not support {what}. Use rkmk4."
                )
        if found.symplectic:
            fill_principal_axes(self.world)
        restart = _Restart(self)
        self.rotors = RotorDrive(self.ints, self.floats, restart)
        """Speeds of the rotors, commanded or prescribed."""
        joints = system.joints
        self.joints = JointDrive(
            self.world,
            [j.name or f"joint{i + 1}" for i, j in enumerate(joints)],
            np.array([j.effort_limit for j in joints]),
            restart,
        )
        """Efforts and prescribed motions of the joints."""
        self.swash = SwashDrive(self.world, restart)
        """Swashplates and induced velocities of rotors with blades."""
        self.winches = WinchDrive(self.world, [c.winds for c in system.cables], restart)
        """Lengths of cables that wind."""
        self.world.scalars[memory.TIME] = time
        self.world.scalars[memory.TOLERANCE] = tolerance
        self.world.scalars[memory.NEXT_STEP] = step if found.adaptive else np.inf
        self._count_from(time, self.step_length)
        self.motion = np.zeros((len(system.bodies), MOTION))
        """State and acceleration of every member, (n, 19); call :meth:`update_kinematics` to refresh."""

    # --- state ------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Time of the state, s."""
        return self.world.scalars.item(memory.TIME)

    def set_state(
        self,
        states: np.ndarray,
        *,
        joints: np.ndarray | None = None,
        time: float | None = None,
        after: Engine | None = None,
    ) -> None:
        """Set the state of all members, (n, >= 13), and angles and rates of all joints, (n_joints, 2).

        Cables at their length become taut, welded members must agree. Links follow from their root
        and the joints (default: as they are), whatever ``states`` says of them. Cables lie on pulleys and along
        straight lines, but for those of bodies that stay where they are: these lie as they do.

        Args:
            after: a world with the same cables and places, in which they lie so.

        Raises:
            ContractError: wrong shape or not finite.
            ModelError: a cable is longer than it can be, welded members do not fit their rigid
                links, a joint turns no inertia, or solids overlap.
        """
        states = checked_states(self.system, states)
        world = self.world
        places = world.states[memory.START, :, memory.P : memory.Q + 4].copy()
        if joints is not None:
            self.joints.write_state(joints)
        place(self.system, self.groups, self.topology, world, states)
        if time is not None:
            self.rotors.shift(time - self.time)
            self.joints.shift(time - self.time)
            self.swash.shift(time - self.time)
            self.winches.shift(time - self.time)
            world.scalars[memory.TIME] = time
            self._count_from(time, self.step_length)
        self._move_links()
        check_welds(self.system, self.groups, self.topology, self.update_kinematics(), states)
        world.contact_int[:, memory.TOUCHES :] = 0  # friction begins anew
        world.contacts[:, memory.DEPTH :] = 0.0
        if self.system.contacts:
            note_places(self.ints, self.floats, self.time)
        self._begin_touches()
        if two := self.find_overlap():
            raise ModelError(
                f"{two[0]!r} and {two[1]!r} are inside each other, which rigid contact does not allow. Put one of them "
                "elsewhere."
            )
        self.winches.lay_out()
        if len(world.routes):
            if after is not None:
                keep_ways(world, after.world)
                world.route_int[:, memory.WAY] = memory.STAYS
            else:
                mark_still(world, places)
            lay_routes(self.ints, self.floats, True)
            note_laid(world)
        mark_taut(world, self.system.cables, self.joints)
        self._restart(impact.STATE_SET)
        self._check_moved()
        open_books(self.ints, self.floats)
        self.update_kinematics()

    def _check_moved(self) -> None:
        """Refuse joints that move mass, but none that turns about their axis."""
        lost = np.flatnonzero(~np.isfinite(self.joints.accelerations))
        if len(lost) and np.isfinite(self.wrenches).all():
            raise ModelError(
                f"joint {self.joints.names[lost[0]]!r}: what it moves, or what carries it, has no inertia about its "
                "axis. Give its link an inertia, or the joint an armature."
            )

    def _begin_touches(self) -> None:
        """Rigid contact begins anew: nothing presses yet, and everything is looked at."""
        world = self.world
        world.meeting_int[:, memory.IN_TOUCH :] = 0
        world.meetings[:, memory.MEETING_NORMAL :] = 0.0
        world.bodies[:, memory.CONTACT_PUSH : memory.CONTACT_PUSH + 6] = 0.0
        world.scalars[memory.ODOMETER] = world.scalars[memory.NEXT_LOOK] = 0.0
        world.scalars[memory.STRUCK_AT] = np.nan
        self.ints[memory.PRESSED] = self.ints[memory.N_NEAR] = 0

    def trial(self, states: np.ndarray, leaders: Collection[int], joints: np.ndarray) -> Engine:
        """Another engine with the same cables cut, in the state that ``leaders`` (members) and joints give.

        Members on rigid links with them follow; cables may be too long there.

        Raises:
            ContractError: wrong shape or not finite.
        """
        other = Engine(self.system, step=self.step_length, time=self.time)
        other.world.constraint_int[:, memory.ALIVE] = self.world.constraint_int[:, memory.ALIVE]
        other.joints.take_over(self.joints)
        other.swash.take_over(self.swash)
        other.winches.take_over(self.winches)
        other.winches.lay_out()
        other.world.states[memory.START] = self.world.states[memory.START]
        keep_ways(other.world, self.world)
        other.lead(states, leaders, joints)
        return other

    def lead(self, states: np.ndarray, leaders: Collection[int], joints: np.ndarray) -> None:
        """Put the members ``leaders`` and the joints where they are wanted, and on rigid links all others with them.

        Cables may be too long there; :func:`rotor_dynamics.projection.project` and :meth:`set_state` follow.

        Raises:
            ContractError: wrong shape or not finite.
        """
        places = self.world.states[memory.START, :, memory.P : memory.Q + 4].copy()
        self.joints.write_state(joints)
        place(
            self.system, self.groups, self.topology, self.world, checked_states(self.system, states), leaders
        )  # fmt: skip
        self._move_links()
        if len(self.world.routes):
            mark_still(self.world, places)
            lay_routes(self.ints, self.floats, True)

    def place(self, states: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """Forward kinematics alone: motion of all members, (n, 19), for states and angles and rates of joints.

        Nothing is checked, nothing acts; accelerations are those of before.
        """
        if len(joints):
            self.joints.write_state(joints)
        place(self.system, self.groups, self.topology, self.world, states)
        self._move_links()
        return self.update_kinematics()

    def _move_links(self) -> None:
        if self.system.joints:
            move_links(self.ints, self.floats, memory.START)

    def find_overlap(self) -> tuple[str, str] | None:
        """Names of two bodies whose solids overlap by more than a tenth of a millimetre now; None if none do."""
        m = find_overlap(self.ints, self.floats, CORE_MARGIN) if self.system.solids else -1
        if m < 0:
            return None
        one, other = self.world.meeting_int[m, [memory.HULL_ON_A, memory.HULL_ON_B]]
        return self._solid_names[int(one)], self._solid_names[int(other)]

    @property
    def _solid_names(self) -> list[str]:
        """Name of the body of every solid, or of what stands in the world."""
        bodies = self.system.bodies
        return [s.name if s.body < 0 else bodies[s.body].name for s in self.system.solids]

    def deepest_contact(self) -> tuple[tuple[int, int], float] | None:
        """Bodies of the deepest contact now (probe and surface), and its depth, m; None without contacts."""
        if not self.system.contacts:
            return None
        move_anchors(self.ints, self.floats, memory.START, self.time)
        k = int(np.argmax(self.world.contacts[:, memory.DEPTH]))
        contact = self.system.contacts[k]
        pair = contact.probe.body, contact.surface.body
        return pair, float(self.world.contacts[k, memory.DEPTH])

    def update_kinematics(self) -> np.ndarray:
        """Refresh and return :attr:`motion`."""
        member_motion(self.ints, self.floats, self.member_body, self.member_pose, self.motion)
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
        self.wrenches[:] = wrenches
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
        row[memory.BIAS : memory.BIAS + 4] = bias
        row[memory.AMPLITUDE : memory.AMPLITUDE + 4] = amplitude
        row[memory.ANGULAR_FREQUENCY : memory.ANGULAR_FREQUENCY + 4] = (
            2.0 * np.pi * np.asarray(frequency_hz)
        )
        row[memory.PHASE : memory.PHASE + 4] = phase
        self.ints[memory.SINUSOIDS] = 1
        self._restart(impact.INPUT_CHANGED)

    def set_wind(self, wind: np.ndarray) -> None:
        """Velocity of the air at every member in W, (n, 3) m/s; welded members share that of the first.

        Raises:
            ContractError: wrong shape or not finite.
        """
        wind = np.asarray(wind, float)
        if wind.shape != (len(self.system.bodies), 3) or not np.isfinite(wind).all():
            raise ContractError(
                f"wind: must be {len(self.system.bodies)} x 3 finite numbers, got {wind.tolist()}."
            )
        for b, group in zip(self.topology.rows, self.groups, strict=True):
            self.world.bodies[b, memory.WIND : memory.WIND + 3] = wind[group.members[0]]
        self._restart(impact.INPUT_CHANGED)

    def set_external(self, wrenches: list[tuple[int, np.ndarray, np.ndarray]]) -> None:
        """Let external wrenches act.

        (member, force in W (3,) N, moment in W (3,) N m) at the origin of the member's frame.

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
        self.ints[memory.N_ACTING] = len(wrenches)
        for i, (member, force, moment) in enumerate(wrenches):
            world.external_body[i] = self.member_body[member]
            world.externals[i, memory.POINT : memory.POINT + 3] = self.member_pose[member, :3]
            world.externals[i, memory.FORCE_W : memory.FORCE_W + 3] = force
            world.externals[i, memory.MOMENT_W : memory.MOMENT_W + 3] = moment
        self._restart(impact.INPUT_CHANGED)

    def remove_cables(self, cables: Collection[int]) -> None:
        """Take cables away before the state is set: they never acted, and no event tells of them."""
        self.world.constraint_int[sorted(cables), memory.ALIVE] = 0

    def cut(self, k: int) -> None:
        """Cut cable k now; one between two parts of one body does not hold once these are released."""
        if self.world.constraint_int[k, memory.ALIVE]:
            self._restart(impact.CABLE_CUT, k)
        elif not self.is_cut[k]:
            cables = list(self.system.cables)
            cables[k] = replace(cables[k], length=CUT_LENGTH)
            self.system = replace(self.system, cables=tuple(cables))
            self._events.append(Event(self.time, "cut", (k,)))

    def _restart(self, what: int, cable: int = 0) -> None:
        self.ints[memory.WHAT], self.ints[memory.WHICH] = what, cable
        status = RUN(self.ints, self.floats, 0)
        self._empty_log()
        if status:
            self._fail(int(status))

    # --- running ----------------------------------------------------------------------------------

    def prepare_events(self) -> None:
        """Load or compile now what only events call: in real time none of them can wait for that."""
        if COMPILED and self.ints[memory.N_CONSTRAINTS]:
            for kernel in impact.OF_EVENTS:
                kernel.resolve()

    def count_events(self) -> None:
        """From now on events are counted, not kept; :func:`counting_rows` is room enough."""
        self.ints[memory.KEEPS_LOG] = 0

    def run(self, n_steps: int = 1) -> None:
        """Integrate ``n_steps`` fixed steps; events may happen at any time inside.

        Raises:
            SolverError: not finite, or more than 1000 events in one step; the last good state is
                attached.
        """
        status = RUN(self.ints, self.floats, n_steps)
        if status or self.ints.item(LOGGED):
            self._go_on(int(status), n_steps)

    def _go_on(self, status: int, n_steps: int) -> None:
        """Empty the event log, and run on where the steps stopped for that alone."""
        while True:
            self._empty_log()
            if status == stepper.OK:
                return
            if status != stepper.LOG_FULL:
                self._fail(status)
            n_steps -= int(self.ints[memory.STEPS_DONE])
            status = int(RUN(self.ints, self.floats, n_steps))

    def run_until(self, time: float) -> None:
        """Integrate to exactly ``time`` in one step (the caller keeps it short).

        Fixed steps of :meth:`run` count from there.

        Raises:
            ContractError: ``time`` is in the past.
            SolverError: see :meth:`run`.
        """
        if time < self.time:
            raise ContractError(f"run_until: must not be before {self.time} s, got {time} s.")
        if time == self.time:  # what touches would be looked at for ever
            self.run(0)
            return
        self._count_from(time, 0.0)
        self.run(1)
        self._count_from(time, self.step_length)

    def run_dense(self, times: np.ndarray) -> np.ndarray:
        """Integrate to the last of ``times`` by an adaptive integrator and sample its dense output.

        Args:
            times: increasing, none before :attr:`time`, (n,) s.

        Returns:
            States of the members, (n, n_bodies, 13).

        Raises:
            ContractError: the integrator has no dense output, or the times do not fit.
            SolverError: see :meth:`run`.
        """
        times = np.ascontiguousarray(times, float)
        if not self.adaptive:
            raise ContractError(f"run_dense: {self.integrator} has no dense output; use dopri5.")
        if times.ndim != 1 or not len(times) or np.any(np.diff(times) <= 0.0):
            raise ContractError("run_dense: times must be a list of increasing numbers.")
        if not (np.isfinite(times).all() and times[0] >= self.time):
            raise ContractError(
                f"run_dense: times must not be before {self.time} s, got {times[0]}."
            )
        out = np.zeros((len(times), len(self.world.start), memory.STATE))
        out[0] = self.world.start
        later = int(times[0] == self.time)
        status = stepper.OK
        if later < len(times):
            status = stepper.run_dense(self.ints, self.floats, times[later:], out[later:])
        self._empty_log()
        if status:
            self._fail(int(status))
        self._count_from(self.time, self.step_length)
        return self._members(out, times)

    def _members(self, states: np.ndarray, times: np.ndarray) -> np.ndarray:
        """States of members, (n, n_members, 13), from those of merged bodies at ``times``."""
        there, now = self.world.start.copy(), self.time
        members = unwritten((len(states), len(self.system.bodies), memory.STATE))
        for i, row in enumerate(states):
            n = self.topology.n_bodies
            self.world.start[:n] = row[:n]
            self.world.scalars[memory.TIME] = times[i]
            self._move_links()
            members[i] = self.update_kinematics()[:, : memory.STATE]
        self.world.start[:], self.world.scalars[memory.TIME] = there, now
        self._move_links()
        self.update_kinematics()
        return members

    def _count_from(self, origin: float, step: float) -> None:
        """Fixed steps end at ``origin`` plus whole multiples of ``step`` from here on."""
        self.world.scalars[memory.ORIGIN], self.world.scalars[memory.STEP_LENGTH] = origin, step
        self.ints[memory.STEP] = 0

    def _fail(self, status: int) -> None:
        self.update_kinematics()
        names = self.names_of(int(self.ints[memory.BAD_BODY]))
        taut, lost = np.flatnonzero(self.taut), lost_way(self.world)
        text = failure_text(status, self.time, names, taut, self.tolerance, self.adaptive, lost)
        text += far_away(self.motion[:, memory.P : memory.P + 3])
        raise SolverError(text, time=self.time, state=self.motion[:, : memory.STATE].copy())

    def names_of(self, row: int) -> list[str]:
        """Names for a row of the world: the members of a body, or a joint."""
        first = self.topology.n_bodies - len(self.topology.joints)
        if row >= first:
            return [self.joints.names[self.topology.joints[row - first]]]
        group = self.groups[int(np.flatnonzero(self.topology.rows == row)[0])]
        return [self.system.bodies[m].name for m in group.members]

    # --- cables and events ------------------------------------------------------------------------

    def take_events(self) -> list[Event]:
        """Events since the last call, in order."""
        events, self._events = self._events, []
        return events

    def _empty_log(self) -> None:
        n = int(self.ints[memory.N_LOGGED])
        if n == 0:
            return
        self.ints[memory.N_LOGGED] = 0
        self._events += self.events_in(self.world.log[:n])

    def events_in(self, rows: np.ndarray) -> list[Event]:
        """Events that rows of the log tell, (n, EVENT_WIDTH)."""
        return events_from_log(self.world, rows, self.n_cables, self.first_stop, self._solid_names)


class _Restart:
    """Restarts an engine without keeping it alive.

    Parts of an engine that held it would make a circle, and a megabyte would wait for the collector at every reset.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = ref(engine)

    def __call__(self, *args: int) -> None:
        self._alive()._restart(*args)

    def _alive(self) -> Engine:
        alive = self._engine()
        assert alive is not None, "the engine that this is a part of is gone"
        return alive

    def __deepcopy__(self, memo: dict[int, Any]) -> _Restart:
        """That of the copy of the engine, whose parts are copied with it."""
        return _Restart(copy.deepcopy(self._alive(), memo))
