"""A scenario, simulated.

Reset, measure, step. The story of a run without ROS and the heart of the simulator node.
"""

from __future__ import annotations

import numpy as np

from rotor_core.config.initial import initial_states
from rotor_core.config.schema import Scenario
from rotor_core.rotors import limit_wrenches, rotor_set
from rotor_sim.engine import Engine
from rotor_sim.events import Event
from rotor_sim.model.from_scenario import system_from_scenario
from rotor_sim.sensors.noise import NoisySensor

START_TIME = 1.0
"""Simulation time of the initial state, s: a stamp of zero means "no time yet" in ROS."""


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
        gains = {c.entity: c.thrust_gain for c in scenario.plant if c.thrust_gain is not None}
        sets = [
            rotor_set(v.rotors, thrust_gain=gains.get(v.name, 1.0)) for v in scenario.model.vehicles
        ]
        self._gain = np.array([[gains.get(v.name, 1.0)] for v in scenario.model.vehicles])
        self._unmixing = np.array([s.unmixing for s in sets])
        self._limits = np.array([s.thrust_limits for s in sets])
        self._externals: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        sensor_seed = np.random.SeedSequence(self.seed, spawn_key=(0,))
        self._sensor = NoisySensor(scenario.sensing.noise, sensor_seed)
        self.engine = Engine(
            system_from_scenario(scenario), step=scenario.time.step_s, time=START_TIME
        )
        self.applied = np.zeros((self.n_vehicles, 4))
        """Wrenches that act, after gains and rotor limits, (n_vehicles, 4)."""
        self.reset()

    def reset(self, states: np.ndarray | None = None, *, time: float = START_TIME) -> np.ndarray:
        """Start again from ``states`` (n, 13), default the scenario's.

        Uncuts cables, repeats the random streams.

        Returns:
            The motion of all entities, (n, 19).
        """
        self.engine = Engine(
            system_from_scenario(self.scenario), step=self.scenario.time.step_s, time=time
        )
        self._externals.clear()
        self._sensor.reset()
        self.applied[:] = 0.0
        self.engine.set_state(
            initial_states(self.scenario) if states is None else states, time=time
        )
        return self.engine.motion

    @property
    def time(self) -> float:
        """Simulation time, s."""
        return self.engine.time

    @property
    def motion(self) -> np.ndarray:
        """True state and acceleration of all entities, (n, 19)."""
        return self.engine.motion

    def measure(self) -> np.ndarray:
        """What controllers see, (n, 19): one sample of the sensors."""
        return self._sensor.measure(self.engine.motion)

    def command(self, wrenches: np.ndarray) -> None:
        """Hold thrust and moment of all vehicles, (n_vehicles, 4) N and N m.

        Rotor limits apply where the scenario says.

        Raises:
            ContractError: wrong shape or not finite; the old command stays.
        """
        self.engine.check_wrenches(wrenches)
        np.multiply(self._gain, wrenches, out=self.applied)
        if self.scenario.actuation.limits:
            limit_wrenches(self._unmixing, self._limits, self.applied)
        self.engine.hold(self.applied)

    def push(self, entity: str, force: np.ndarray, moment: np.ndarray) -> None:
        """Let an external wrench act on an entity until it is replaced.

        Force and moment in W, (3,) N and N m.
        """
        member = self.names.index(entity)
        if np.any(force) or np.any(moment):
            self._externals[member] = (np.asarray(force, float), np.asarray(moment, float))
        else:
            self._externals.pop(member, None)
        self.engine.set_external([(m, f, tau) for m, (f, tau) in self._externals.items()])

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
