"""A scenario, simulated.

Reset, measure, step. The story of a run without ROS and the heart of the simulator node.
"""

from __future__ import annotations

import numpy as np

from rotor_core.config.initial import initial_states
from rotor_core.config.schema import Scenario
from rotor_core.interface.errors import ContractError
from rotor_core.lie.batch import rotation_matrices
from rotor_sim import projection
from rotor_sim.actuators import RotorActuators, WrenchActuators, start_internal_rotors
from rotor_sim.engine import Engine
from rotor_sim.events import Event
from rotor_sim.model.from_scenario import system_from_scenario
from rotor_sim.sensors.imu import ImuSensor
from rotor_sim.sensors.load_cell import LoadCellSensor
from rotor_sim.sensors.pose import PoseSensor
from rotor_sim.wind import WindField

START_TIME = 1.0
"""Simulation time of the initial state, s: a stamp of zero means "no time yet" in ROS."""

FARTHEST = 1e6
"""Positions, velocities and rates beyond this cannot be set, m, m/s, rad/s."""

LINK_TOLERANCE = 1e-6
"""States set for rigidly linked entities may miss each other by this much, m."""


class Simulation:
    """One world of a scenario.

    States are arrays over ``scenario.model.entities``, commands over its vehicles.

    Args:
        scenario: what to simulate (its ``plant``, not only its ``model``).
        seed: of the random streams; default the scenario's.

    Raises:
        ModelError: the scenario describes a system that cannot be built.
    """

    def __init__(self, scenario: Scenario, *, seed: int | None = None) -> None:
        self.scenario = scenario
        self.seed = scenario.seed if seed is None else seed
        self.names = [e.name for e in scenario.model.entities]
        self.n_vehicles = len(scenario.model.vehicles)
        self._actuators = (
            RotorActuators(scenario)
            if scenario.actuation.mode == "rotors"
            else WrenchActuators(scenario)
        )
        environment = scenario.environment
        self._wind = (
            None
            if environment.wind.is_calm
            else WindField(environment.wind, scenario.time.control_s, self.seed)
        )
        self.externals: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        """Force and moment in W that push an entity (its row), N and N m."""
        sensing = scenario.sensing
        self.pose_sensor = PoseSensor(sensing, scenario.time.control_s, self.seed)
        self._imu = ImuSensor(sensing.imu, scenario.environment.gravity_m_s2, self.seed)
        self._load_cell = LoadCellSensor(sensing.load_cell, self.seed)
        self._cable_ends = np.array(
            [self.names.index(c.a) if c.a in self.names else -1 for c in scenario.model.cables], int
        )
        self.engine = self._new_engine(START_TIME)
        self.reset()

    def _new_engine(self, time: float) -> Engine:
        timing = self.scenario.time
        engine = Engine(
            system_from_scenario(self.scenario),
            step=timing.step_s,
            time=time,
            integrator=timing.integrator,
            tolerance=timing.tolerance,
        )
        start_internal_rotors(engine, self.scenario, time)
        return engine

    def reset(self, states: np.ndarray | None = None, *, time: float = START_TIME) -> np.ndarray:
        """Start again from ``states`` (n, 13), default the scenario's.

        Uncuts cables, repeats the random streams.

        Returns:
            The motion of all entities, (n, 19).
        """
        self.engine = self._new_engine(time)
        self._begin = time
        self.externals.clear()
        for stream in (self.pose_sensor, self._imu, self._load_cell, self._actuators):
            stream.reset()
        if self._wind:
            self._wind.reset()
        self.engine.set_state(
            initial_states(self.scenario) if states is None else states, time=time
        )
        return self.engine.motion

    def set_states(self, states: dict[str, np.ndarray], *, project: bool) -> float:
        """Put entities elsewhere; time goes on.

        Args:
            states: by entity, (13,). Entities on rigid links with them follow, all others stay.
            project: move everything to the nearest state that the cables allow, instead of
                refusing one that they forbid.

        Returns:
            How far the projection moved an entity at most, m.

        Raises:
            ContractError: an unknown entity, a state that is none, or one that a cable or rigid link
                forbids; nothing is changed then.
            SolverError: there are no cable tensions in this state; nothing is changed then.
        """
        wanted = self.motion[:, :13].copy()
        for name, state in states.items():
            if name not in self.names:
                raise ContractError(
                    f"there is no entity {name!r}; known are {', '.join(self.names)}."
                )
            if np.isfinite(state).all() and np.abs(state).max() > FARTHEST:
                raise ContractError(
                    f"state of {name!r}: must stay within {FARTHEST:g} m, m/s and rad/s, got "
                    f"{np.abs(state).max():g}."
                )
            wanted[self.names.index(name)] = state
        leaders = [self.names.index(name) for name in states]
        trial = self.engine.trial(wanted, leaders)
        asked = trial.measure().copy()
        self._check_links(asked, {m: wanted[m] for m in leaders})
        if project:
            projection.project(trial.world)
        elif forbidden := projection.violation(trial.world):
            raise ContractError(f"{forbidden}. Ask for projection, or give a state that fits.")
        there = trial.measure()[:, :13].copy()
        trial.set_state(there)  # what it cannot do must not touch the running world
        self.engine.set_state(there)
        self.pose_sensor.reset()  # what was on its way belongs to another state
        return float(np.max(np.linalg.norm(there[:, :3] - asked[:, :3], axis=1)))

    def _check_links(self, got: np.ndarray, wanted: dict[int, np.ndarray]) -> None:
        for member, state in wanted.items():
            apart = float(np.linalg.norm(got[member, :3] - state[:3]))
            if apart > LINK_TOLERANCE:
                raise ContractError(
                    f"rigid link of {self.names[member]!r}: it would be {apart:.6g} m from where the "
                    "link holds it. Set the state of one entity of a rigidly linked team."
                )

    @property
    def time(self) -> float:
        """Simulation time, s."""
        return self.engine.time

    @property
    def motion(self) -> np.ndarray:
        """True state and acceleration of all entities, (n, 19)."""
        return self.engine.motion

    def measure(self) -> np.ndarray:
        """What controllers see, (n, 19); call it once at the start of every control period."""
        return self.pose_sensor.measure(self.engine.motion, self.time)

    def imu(self) -> np.ndarray:
        """One sample of every vehicle's inertial unit: specific force, body rate (n_vehicles, 6)."""
        return self._imu.measure(self.engine.motion[: self.n_vehicles])

    def load_cells(self) -> np.ndarray:
        """One sample of every load cell.

        Force on end a in the axes of its body (of the world where a is the world), (n_cables, 3) N.
        """
        rotations = np.concatenate([rotation_matrices(self.engine.motion[:, 3:7]), np.eye(3)[None]])
        directions = np.einsum("kji,kj->ki", rotations[self._cable_ends], self.engine.directions)
        return self._load_cell.measure(self.engine.tensions, directions)

    def command(self, wrenches: np.ndarray) -> None:
        """Hold thrust and moment of all vehicles, (n_vehicles, 4) N and N m.

        Rotor limits apply where the scenario says.

        Raises:
            ContractError: wrong shape or not finite; the old command stays.
        """
        self.engine.check_wrenches(wrenches)
        if self._wind:
            air = self._wind.sample(self.time - self._begin)
            self.engine.set_wind(np.tile(air, (len(self.names), 1)))
        self._actuators.command(self.engine, wrenches)

    @property
    def applied(self) -> np.ndarray:
        """Wrenches that act after gains and rotor limits (with rotors: that are asked of them), (n_vehicles, 4)."""
        return self._actuators.applied

    def rotor_speeds(self) -> list[np.ndarray]:
        """Speeds of the rotors of every vehicle, rad/s: true ones, or those that give the acting wrench."""
        return self._actuators.speeds(self.engine)

    def push(self, entity: str, force: np.ndarray, moment: np.ndarray) -> None:
        """Let an external wrench act on an entity until it is replaced.

        Force and moment in W, (3,) N and N m.
        """
        member = self.names.index(entity)
        if np.any(force) or np.any(moment):
            self.externals[member] = (np.asarray(force, float), np.asarray(moment, float))
        else:
            self.externals.pop(member, None)
        self.engine.set_external([(m, f, tau) for m, (f, tau) in self.externals.items()])

    def step(self, wrenches: np.ndarray | None = None) -> np.ndarray:
        """Hold ``wrenches`` for one control period and integrate it.

        Returns:
            The motion at its end, (n, 19).

        Raises:
            SolverError: the integration cannot go on; the last good state is attached.
        """
        if wrenches is not None:
            self.command(wrenches)
        self.engine.run(self.scenario.time.steps_per_control)
        return self.engine.measure()

    def take_events(self) -> list[Event]:
        """Hybrid events since the last call."""
        return self.engine.take_events()
