"""A scenario, simulated.

Reset, sense, act, step. The story of a run without ROS and the heart of the simulator node.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from rotor_core.command import Command, Wrench
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import checked_seed, scenario_of
from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError, ModelError, SolverError, UnknownNameError
from rotor_core.given import numbers
from rotor_core.state import FULL_STATE, STATE, State, States
from rotor_dynamics.compiled_world import times_at
from rotor_dynamics.engine import Engine
from rotor_dynamics.hanging import masses_of
from rotor_dynamics.hybrid.events import Event
from rotor_dynamics.model.system import WORLD, System, Weld
from rotor_dynamics.reconfigure import attached, rebuilt, released
from rotor_sim.actuation.helicopter import Helicopters
from rotor_sim.actuation.modes import KINDS, start_internal_rotors
from rotor_sim.actuation.power import PowerSupply, PowerTrain
from rotor_sim.actuation.winches import Winches
from rotor_sim.changes import Changes
from rotor_sim.environment.contact_events import ContactEvents
from rotor_sim.environment.passing import PassingEvents
from rotor_sim.environment.rotor_air import RotorAir
from rotor_sim.environment.wind import WindField
from rotor_sim.estimation.measurement import Measurement
from rotor_sim.plant.placing import placed_at_start, put
from rotor_sim.plant.system import system_from_scenario
from rotor_sim.sensing.suite import Sensors

START_TIME = 1.0
"""Simulation time of the initial state, s: a stamp of zero means "no time yet" in ROS."""

FARTHEST = 1e6
"""Positions, velocities and rates beyond this cannot be set, m, m/s, rad/s."""

MOST_GAIN = 2.0
"""Rotors give at most this much of the thrust that they should."""

INSIDE = 0.02
"""Bodies may begin this deep inside each other, m: what stands sinks in by some millimetres."""


class Watch(Protocol):
    """Looks at a simulation between its physics steps."""

    def next_after(self, step: int) -> int:
        """First step of the period after this one at which it wants to look."""
        ...

    def due(self, step: int) -> None:
        """The state after this step of the period is there to be looked at."""
        ...


class Simulation:
    """One world of a scenario.

    States are arrays over ``scenario.model.entities``, commands over its vehicles.

    Args:
        scenario: what to simulate (its ``plant``, not only its ``model``), or the name or path of one.
        seed: of the random streams; default the scenario's.

    Raises:
        ConfigError: there is no such scenario, or the seed is none.
        ModelError: the scenario describes a system that cannot be built.
    """

    def __init__(self, scenario: Scenario | str | Path, *, seed: int | None = None) -> None:
        scenario = scenario_of(scenario)
        self.scenario = scenario
        self.seed = scenario.seed if seed is None else checked_seed(seed)
        self.names = [e.name for e in scenario.model.entities]
        self.n_vehicles = len(scenario.model.vehicles)
        self.actuators = KINDS[scenario.actuation.mode](scenario)
        """Actuators, which turn commands into wrenches or rotor speeds."""
        self._n_joints = sum(len(v.moving_joints) for v in scenario.model.vehicles)
        self.supply = PowerSupply.of(scenario)
        """Motors and batteries."""
        self.helicopters = Helicopters(scenario, self._n_joints)
        """Rotors of helicopters."""
        self.winches = Winches(scenario.model.cables, scenario.time.control_s)
        """Winches of cables."""
        environment = scenario.environment
        self.wind_field = (
            None
            if environment.wind.is_calm
            else WindField(
                environment.wind,
                scenario.time.control_s,
                self.seed,
                environment.ground_m,
                environment.obstacles,
            )
        )
        self.externals: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        """Force and moment in W that push an entity (its row), N and N m."""
        self.measurement = Measurement(scenario, self.seed)
        """States as controllers see them."""
        self.passing = PassingEvents(scenario)
        """What passes through each other."""
        self._begin = START_TIME  # of the scenario, in the time of the engine
        self.engine = self._new_engine(START_TIME)
        self._arm_joints = np.arange(len(self.engine.joints)) < self._n_joints
        self.body_names = [body.name for body in self.engine.system.bodies]
        """Entities first, then links, propellers and masses of heavy cables; attach and release keep them."""
        self.air = np.zeros((len(self.body_names), 3))
        """Velocity of the air at every body in the control period, (n_bodies, 3) m/s in W."""
        self.rotor_air = RotorAir.of(scenario, self.body_names)
        """Wakes and inflow of the rotors; None: there are none."""
        self.actuators.rotor_air = self.rotor_air
        self.sensors = Sensors(self)
        """Sensors on board: inertial units, load cells and those of ``sensing.sensors``."""
        self.reset()

    def restructure(self, welds: Sequence[Weld], lengths: Sequence[float]) -> None:
        """Make a world anew with other rigid links and lengths of cables; its state is that of no flight yet."""
        system = system_from_scenario(self.scenario)
        cables = tuple(replace(c, length=n) for c, n in zip(system.cables, lengths, strict=True))
        self.engine = self._new_engine(
            self.time, replace(system, welds=tuple(welds), cables=cables)
        )

    def _new_engine(self, time: float, system: System | None = None) -> Engine:
        timing = self.scenario.time
        engine = Engine(
            system_from_scenario(self.scenario) if system is None else system,
            step=timing.step_s,
            time=time,
            integrator=timing.integrator,
            tolerance=timing.tolerance,
        )
        start_internal_rotors(engine, self.scenario, self._begin)
        return engine

    def reset(
        self,
        states: States | np.ndarray | None = None,
        *,
        time: float = START_TIME,
        elapsed: float = 0.0,
    ) -> np.ndarray:
        """Start again from ``states`` (n, 13), default the scenario's.

        Uncuts cables, repeats the random streams. Where cables, rigid links or solids do not allow the states, the
        world begins as the scenario says; where they are no states at all, nothing changes.

        Args:
            states: of all entities, (n, 13 or more).
            time: of the world then, s.
            elapsed: time of the scenario that has passed by then, s; what it cuts or weakens before that is so from the
                start, what it grips, lets go or winds is skipped.

        Returns:
            The motion of all entities, (n, 19), a copy.

        Raises:
            ContractError: states of another shape, or numbers that are not finite.
            ModelError: a state that cables, rigid links or solids do not allow, or bodies too deep inside each other.
            SolverError: there are no cable tensions in this state.
        """
        time, elapsed = (float(numbers(*given)) for given in (("time", time), ("elapsed", elapsed)))
        if states is not None:
            rows = states.of(self.names) if isinstance(states, States) else states
            states = numbers("states", rows, len(self.names), None)
            if states.shape[1] < STATE:
                raise ContractError(
                    f"states: must have the shape ({len(self.names)}, {int(STATE)} or more), got {states.shape}."
                )
        self._begin = time - elapsed
        self.engine = self._new_engine(time)
        self._earlier_steps = 0  # of engines before the last change of structure
        self._events: list[Event] = []
        self._touches = ContactEvents()
        self._motors_on = (
            False  # the first command finds motors at their efforts, as rotors at speed
        )
        self._held = None if self.n_vehicles else np.zeros((0, 4))  # the last command
        self._acted = -np.inf  # when a command acted last
        self._blown_at, self._blown = -np.inf, np.zeros(3)  # when air was sampled last, and what
        self.changes = Changes(self.scenario, elapsed)
        self.externals.clear()
        self.measurement.reset(self._begin)
        for stream in (
            self.sensors,
            self.actuators,
            self.supply,
            self.helicopters,
            self.winches,
            self.passing,
        ):
            stream.reset()
        if self.rotor_air:
            self.rotor_air.reset()
        if self.wind_field:
            self.wind_field.reset()
        initial = initial_states(self.scenario) if states is None else states
        joints = self.helicopters.joint_states(len(self.engine.joints))
        arms = [j.initial for v in self.scenario.model.vehicles for j in v.moving_joints]
        joints[: self._n_joints, 0] = arms  # at rest
        for i in np.flatnonzero(self.engine.joints.is_driven):
            self.engine.joints.hold(int(i), joints[i, 0])
        self.helicopters.start(self.engine)
        self.winches.start(self.engine)
        try:
            self._place(initial, joints, time)
        except (ModelError, ContractError, SolverError):
            if states is not None:  # what is refused is no world to go on with
                self.reset(time=time, elapsed=elapsed)
            raise
        self.changes.catch_up(self)
        self._feel_air()
        self.engine.take_events()
        return self.motion.copy()

    def _place(self, entities: np.ndarray, joints: np.ndarray, time: float) -> None:
        """Begin in a state of all entities and joints.

        Raises:
            ModelError: cables, rigid links or solids do not allow it.
        """
        states = placed_at_start(self.engine, self.scenario, entities, joints)
        self.engine.set_state(states, joints=joints, time=time)
        if deep := self.engine.deepest_contact():
            (a, b), depth = deep
            if depth > INSIDE:
                inside = "the ground or an obstacle" if b == WORLD else repr(self.body_names[b])
                name = "an obstacle" if a == WORLD else repr(self.body_names[a])
                raise ModelError(
                    f"initial: {name} is {depth:.3f} m inside {inside}, at most {INSIDE:g} m is allowed. Put it "
                    "elsewhere (initial: position_m)."
                )

    def set_states(
        self, states: Mapping[str, np.ndarray], *, project: bool, joints: np.ndarray | None = None
    ) -> float:
        """Put entities elsewhere; time goes on.

        Args:
            states: by entity, (13,). Entities on rigid links with them follow, all others stay.
            project: move everything to the nearest state that the cables allow, instead of
                refusing one that they forbid.
            joints: angles and rates of the arms' joints, (n_joints, 2); default as they are. Driven ones stay there.

        Returns:
            How far the projection moved an entity at most, m.

        Raises:
            ContractError: an unknown entity, an invalid state, or one that a cable or rigid link
                forbids; nothing is changed then.
            SolverError: there are no cable tensions in this state; nothing is changed then.
        """
        wanted = self.motion[:, FULL_STATE].copy()
        if not isinstance(states, Mapping):
            raise ContractError(
                f"set_states: states must be named, {{entity: 13 numbers}}, got {type(states).__name__}."
            )
        for name, given in states.items():
            if name not in self.names:
                raise ContractError(f"there is no entity {name!r}; known: {', '.join(self.names)}.")
            state = numbers(f"state of {name!r}", given, int(STATE))
            if np.abs(state).max() > FARTHEST:
                raise ContractError(
                    f"state of {name!r}: must stay within {FARTHEST:g} m, m/s and rad/s, got "
                    f"{np.abs(state).max():g}."
                )
            wanted[self.names.index(name)] = state
        leaders = [self.names.index(name) for name in states]
        every = self.engine.joints.states.copy()
        if joints is not None:
            every[: self._n_joints] = numbers("joints", joints, self._n_joints, 2)
        held = []
        if joints is not None:
            held = np.flatnonzero(self.engine.joints.is_driven[: self._n_joints]).tolist()
        away = put(self.engine, self.scenario, wanted, leaders, every, held=held, project=project)
        self.sensors.forget()
        self.measurement.forget()
        self._feel_air()
        return away

    def __copy__(self) -> Simulation:
        """A world of its own, as :func:`copy.deepcopy` makes it: a shallow copy would move with this one."""
        return copy.deepcopy(self)

    @property
    def time(self) -> float:
        """Simulation time, s."""
        return self.engine.time

    @property
    def motion(self) -> np.ndarray:
        """True state and acceleration of all entities now, (n, 19): a view, which the next step writes over."""
        return self.engine.motion[: len(self.names)]

    @property
    def masses(self) -> np.ndarray:
        """Places of the masses of heavy cables, cable by cable from end a to end b, (n_masses, 3) m."""
        return self.engine.motion[masses_of(self.engine.system), :3]

    @property
    def joint_states(self) -> np.ndarray:
        """Angles and rates of all joints, vehicle by vehicle, (n_joints, 2)."""
        return self.engine.joints.states[: self._n_joints]

    @property
    def state(self) -> States:
        """True states and accelerations of all entities now, by name; a copy."""
        return States(self.names, self.motion.copy())

    def sense(self) -> States:
        """States as controllers see them, by name; a copy.

        One sample per control period, the same if it is asked for again.
        """
        return States(self.names, self.measurement.of(self.motion, self.time))

    def believe(self, attitudes: dict[str, np.ndarray]) -> None:
        """Let estimators on board begin with these attitudes (4,), w first; others begin with the truth.

        For the next estimate after a reset or a new state, which forget it.

        Raises:
            ContractError: vehicles have no estimators (``sensing.estimator``), or something else is named.
        """
        self.measurement.believe(attitudes, self.motion)

    @property
    def power(self) -> dict[int, PowerTrain]:
        """Motors and batteries, by the row of their vehicle."""
        return self.supply.trains

    def weaken(self, vehicle: str, rotor: int, thrust_gain: float) -> None:
        """Let a rotor give this share of its thrust (of a helicopter: its engine of its power).

        Args:
            vehicle: its name.
            rotor: from 0 (in scenarios from 1).
            thrust_gain: 0 to 2.

        Raises:
            UnknownNameError: no entity has this name.
            ContractError: it has no such rotor, or the share is none.
        """
        row = self.vehicle(vehicle)
        if row >= self.n_vehicles:
            raise ContractError(f"weaken: {vehicle!r} is no vehicle.")
        is_number = isinstance(thrust_gain, (int, float, np.number))
        if not (is_number and 0.0 <= thrust_gain <= MOST_GAIN):
            raise ContractError(
                f"weaken: the gain must be 0 to {MOST_GAIN:g}, got {thrust_gain!r}."
            )
        flies_on_blades = row in self.helicopters.vehicles
        count = 1 if flies_on_blades else self.actuators.sets[row].count
        if not isinstance(rotor, (int, np.integer)) or not 0 <= rotor < count:
            raise ContractError(
                f"weaken: {vehicle!r} has {count} rotors, counted from 0, got {rotor!r}."
            )
        if flies_on_blades:
            self.helicopters.weaken(row, thrust_gain)
        else:
            self.actuators.weaken(row, rotor, thrust_gain)

    def vehicle(self, name: str) -> int:
        """Row of an entity.

        Raises:
            UnknownNameError: no entity has this name.
        """
        if name not in self.names:
            raise UnknownNameError(f"there is no entity {name!r}; known: {', '.join(self.names)}.")
        return self.names.index(name)

    def act(
        self, wrenches: np.ndarray | Command | Wrench, efforts: np.ndarray | None = None
    ) -> None:
        """Hold thrust and moment of all vehicles, (n_vehicles, 4) N and N m, and efforts of all joints.

        A :class:`~rotor_core.command.Command` holds both.

        Rotor limits apply where the scenario says. Efforts (n_joints,) stay as they are by default.

        Faults that begin now bound it already. Then what the scenario changes now is attached, released or cut.

        Raises:
            ContractError: wrong shape or not finite; the old command stays.
            SolverError: what is to be attached is out of reach.
        """
        if isinstance(wrenches, Wrench):  # of the only vehicle
            wrenches = np.atleast_2d(wrenches.array)
        if isinstance(wrenches, Command):
            efforts = wrenches.efforts if len(wrenches.efforts) else efforts
            wrenches = wrenches.of(self.names[: self.n_vehicles])
        if not (isinstance(wrenches, np.ndarray) and wrenches.dtype.kind == "f"):
            wrenches = numbers("wrenches", wrenches, self.n_vehicles, 4)
        self.engine.check_wrenches(wrenches)
        acts = efforts is not None and np.size(efforts) + self._n_joints > 0
        if acts:  # before anything is changed
            efforts = numbers("efforts", efforts, self._n_joints)
        self._held, self._acted = np.array(wrenches, float), self.time
        if self.wind_field:
            self._blow(self.wind_field)
        if acts:
            every = np.zeros(len(self.engine.joints))
            every[: self._n_joints] = efforts
            self.engine.joints.write_efforts(
                every, at_once=not self._motors_on, only=self._arm_joints
            )
            self._motors_on = True
        self.changes.begin_faults(self)
        running = self.actuators.is_running
        if self.power and running:
            self.supply.run(self.time, np.concatenate(self.rotor_speeds()), self.actuators)
        if self.actuators.drifts:
            self.actuators.age(self.elapsed)
        wrenches = self.helicopters.limited(wrenches)
        self.actuators.act(self.engine, wrenches)
        if self.rotor_air:
            self.air = self.rotor_air.air
        if len(self.helicopters):
            self.helicopters.act(self.engine, wrenches)
        if self.power and not running:  # the first command finds rotors at speed
            self.supply.run(self.time, np.concatenate(self.rotor_speeds()), self.actuators)
        self._look_and_change()

    def _look_and_change(self) -> None:
        """What touches and passes through at the start of a control period, and what the scenario changes then."""
        if self.engine.system.contacts:
            self._see_touching(self.time, self.engine.touching)
        if self.passing.watches:
            self._events += self.passing.look(self)
        self.changes.make(self)
        if len(self.winches):
            self.winches.act(self.engine)

    def recall(self, times: np.ndarray, wrenches: np.ndarray, efforts: np.ndarray) -> None:
        """Let motors that follow with a lag be where commands before now have left them; nothing moves.

        For states in the middle of a flight, before the first command acts.

        Args:
            times: of the commands, ascending, (m,) s.
            wrenches: (m, n_vehicles, 4) N and N m.
            efforts: of the joints of arms, (m, n_joints).
        """
        joints = self.engine.joints
        for t, own in zip(times, efforts, strict=True):
            if self._n_joints:
                every = np.zeros(len(joints))
                every[: self._n_joints] = own
                joints.write_efforts(
                    every, at_once=not self._motors_on, only=self._arm_joints, time=float(t)
                )
                self._motors_on = True
        self.actuators.recall(self.engine, times, wrenches)

    def hold_as(self, other: Simulation, theirs: list[int]) -> None:
        """Hold what vehicles of another world (rows) were told last."""
        self._held = None if other._held is None else other._held[theirs]
        self._acted = other._acted

    def sense_as(self, other: Simulation, mine: list[int], theirs: list[int]) -> None:
        """Measure on as another world of this time did; rows of the entities of both, here and there."""
        self.sensors.take_over(other.sensors)
        self.measurement.take_over(other.measurement, self.motion, self.time, mine, theirs)

    def take_motors(self, other: Simulation) -> None:
        """Let the motors of arms follow with their lag if they did in another world that had all these arms."""
        arms = {v.name for v in self.scenario.model.vehicles if v.moving_joints}
        self._motors_on = other._motors_on and arms <= set(other.names)

    def _hold_on(self) -> None:
        """Begin a control period without a new command."""
        if self._held is not None:
            self.act(self._held)
            return
        if self.wind_field:
            self._blow(self.wind_field)
        if self.rotor_air:  # rotors stand
            self.rotor_air.look(self.engine, np.zeros_like(self.rotor_air.per_speed2))
            self.air = self.rotor_air.air
        self.changes.begin_faults(self)
        self._look_and_change()

    def _blow(self, wind: WindField) -> None:
        """Let the wind of this control period act on every body where it is."""
        since = self.elapsed
        if self._blown_at != self.time:  # commands of one period share its air
            self._blown_at, self._blown = self.time, wind.sample(since)
        self.air = np.tile(self._blown, (len(self.body_names), 1))
        if not wind.is_uniform:
            self.air += wind.local(since, State(self.engine.motion).position)
        if self.rotor_air:
            self.rotor_air.wind[:] = self.air
        else:
            self.engine.set_wind(self.air)

    def blow_as(self, other: Simulation, mine: Sequence[int], theirs: Sequence[int]) -> None:
        """Let the air of another world blow until the next command; ``mine``, ``theirs``: rows of common bodies."""
        if not (self.wind_field or self.rotor_air):
            return
        self._blown_at, self._blown = other._blown_at, other._blown.copy()
        self._feel_air()
        self.air[mine] = other.air[theirs]
        self.engine.set_wind(self.air)
        self.engine.update_kinematics()  # accelerations are those in this air

    def _feel_air(self) -> None:
        """The air where bodies are put, for sensors that are asked before the next command."""
        self.air = np.zeros((len(self.body_names), 3))
        if wind := self.wind_field:
            self.air += self._blown if self._blown_at > -np.inf else wind.smooth(self.elapsed)
            self.air += wind.local(self.elapsed, State(self.engine.motion).position)

    @property
    def applied(self) -> np.ndarray:
        """Wrenches that act after gains and rotor limits (with rotors: that are asked of them), (n_vehicles, 4).

        A view, which the next command writes over.
        """
        return self.actuators.applied

    def rotor_speeds(self) -> list[np.ndarray]:
        """Speeds of the rotors of every vehicle, rad/s: true ones, or those that give the acting wrench."""
        return self.actuators.speeds(self.engine)

    @property
    def elapsed(self) -> float:
        """Time of the scenario that has passed, s."""
        return self.time - self._begin

    def attach(self, parent: str, child: str) -> None:
        """Fix an entity to a body (an entity, or a link of an arm) where it is now: a plastic capture (T.14).

        Raises:
            ContractError: an unknown body, or the child is held already; nothing is changed then.
        """
        a, b = self.body(parent), self.body(child)
        system, states, joints = attached(self.engine, a, b)
        self._change(system, states, joints, Event(self.time, "attach", (), bodies=(parent, child)))

    def release(self, child: str) -> None:
        """Let go of an entity that is held.

        Raises:
            ContractError: an unknown entity, or nothing holds it; nothing is changed then.
        """
        system = released(self.engine.system, self.body(child))
        states = self.engine.update_kinematics()[:, FULL_STATE].copy()
        event = Event(self.time, "release", (), bodies=(child,))
        self._change(system, states, self.engine.joints.states, event)

    def body(self, name: str) -> int:
        """Row of a body: an entity, or a link of an arm.

        Raises:
            ContractError: no body has this name.
        """
        if name not in self.body_names:
            known = ", ".join(self.body_names)
            raise ContractError(f"there is no body {name!r}; known: {known}.")
        return self.body_names.index(name)

    def _change(self, system: System, states: np.ndarray, joints: np.ndarray, event: Event) -> None:
        before = self.engine
        self.restart_as(system, states, joints, after=before)
        self._events += [*before.take_events(), event]

    def restart_as(
        self, system: System, states: np.ndarray, joints: np.ndarray, *, after: Engine | None
    ) -> None:
        """Go on at this time with the same bodies, connected in another way, in a state.

        Args:
            system: the same bodies, inputs, cables, rotors and joints as the present one.
            states: of all bodies, (n_bodies, 13).
            joints: (n_joints, 2).
            after: a world in which cables lie as they shall lie; None: they are laid anew.

        Raises:
            ContractError: the system does not allow this state.
        """
        other = rebuilt(self.engine, system, states, joints, after=after)
        self._earlier_steps += self.engine.steps
        self.engine = other
        self.actuators.renew(other)
        self.passing.relink(self)
        self._apply_externals()

    def push(self, entity: str, force: np.ndarray, moment: np.ndarray) -> None:
        """Let an external wrench act on an entity until it is replaced.

        Force and moment in W, (3,) N and N m.

        Raises:
            UnknownNameError: no entity has this name.
            ContractError: they are no finite vectors, or a moment for a point mass.
        """
        member = self.vehicle(entity)
        force, moment = numbers("push: force", force, 3), numbers("push: moment", moment, 3)
        if np.any(moment) and not self.takes_moments(entity):
            raise ContractError(
                f"push: {entity!r} is a point mass (it has no inertia_kg_m2), which takes no moment."
            )
        if np.any(force) or np.any(moment):
            self.externals[member] = (force, moment)
        else:
            self.externals.pop(member, None)
        self._apply_externals()

    def takes_moments(self, entity: str) -> bool:
        """False for a point mass that is fixed to nothing."""
        row, bodies = self.names.index(entity), self.engine.member_body
        is_fixed = np.count_nonzero(bodies == bodies[row]) > 1
        return self.scenario.model.entities[row].inertia_kg_m2 is not None or bool(is_fixed)

    def _apply_externals(self) -> None:
        self.engine.set_external([(m, f, tau) for m, (f, tau) in self.externals.items()])

    def step(
        self, command: np.ndarray | Command | Wrench | None = None, *, watch: Watch | None = None
    ) -> np.ndarray:
        """Hold a command for one control period and integrate it; default: what is held already.

        Args:
            command: of all vehicles. Without one the held command acts on in the air of the new period, and what the
                scenario changes is changed; where none came yet, motors stand.
            watch: looks at the state on the way; the run is the same with it, to the bit.

        Returns:
            The motion at its end, (n, 19), a copy.

        Raises:
            SolverError: the integration cannot go on; the last good state is attached.
        """
        if command is not None:
            self.act(command)
        elif self._acted != self.time:
            self._hold_on()
        done, steps = 0, self.scenario.time.steps_per_control
        while done < steps:
            end = steps if watch is None else min(watch.next_after(done), steps)
            self.engine.run(end - done)
            self.engine.update_kinematics()
            done = end
            if watch is not None and done < steps:
                watch.due(done)
        return self.motion.copy()

    def wind_ahead(self, first: int, end: int) -> np.ndarray:
        """Air in control periods ``first`` to ``end``, for loops that act by themselves.

        Call it once for every period, in order; see :meth:`act`.

        Returns:
            (end - first, 3) m/s in W, or (0, 3) where it stands still.
        """
        if not self.wind_field:
            return np.zeros((0, 3))
        since = self.elapsed_at(first, end)
        return np.array([self.wind_field.sample(t) for t in since]).reshape(-1, 3)

    def times(self, first: int, end: int) -> np.ndarray:
        """Simulation time at the starts of control periods ``first`` to ``end`` since the last reset, s."""
        every, out = self.scenario.time.steps_per_control, np.zeros(end - first)
        times_at(self.engine.floats, first * every - self._earlier_steps, every, out)
        return out

    def elapsed_at(self, first: int, end: int) -> np.ndarray:
        """Time of the scenario that has passed at :meth:`times`, s."""
        return self.times(first, end) - self._begin

    def note_touching(self, touching: np.ndarray, first: int = 0) -> None:
        """Take up what a compiled loop has seen of compliant contacts.

        Args:
            touching: in control periods one after the other, once their commands acted, (n_periods, n_contacts) bool.
            first: control period since the last reset with which they begin.
        """
        if not touching.size:
            return
        differs = np.any(touching[1:] != touching[:-1], axis=1)
        times = self.times(first, first + len(touching))
        for i in np.flatnonzero(np.append(True, differs)):
            self._see_touching(float(times[i]), touching[i])

    def _see_touching(self, time: float, touching: np.ndarray) -> None:
        contacts = self.engine.system.contacts
        self._events += self._touches.look(time, touching, contacts, self.body_names)

    def _named(self, event: Event) -> Event:
        """With the names of a cable and of what it begins or ceases to lie on."""
        if event.sheave < 0:
            return event
        model, k = self.scenario.model, event.cables[0]
        laid_on = model.cables[k].cylinders[event.sheave]
        return replace(event, bodies=(model.cable_names[k], laid_on.name))

    def take_events(self, *, complete: bool = True) -> list[Event]:
        """Hybrid events since the last call.

        ``complete``: with what has passed through each other up to now; else that may come some periods later.
        """
        if complete:
            self._events += self.passing.flush()
        found = [self._named(event) for event in self.engine.take_events()]
        events, self._events = [*self._events, *found], []
        return sorted(events, key=lambda event: event.time)
