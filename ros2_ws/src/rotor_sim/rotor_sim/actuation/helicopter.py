"""Helicopters of a scenario: their commands become swashplate angles and tail force, a governor turns the rotor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.helicopter import Helicopter
from rotor_core.config.vehicles.rotor_tree import rotor_tree
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.vehicles.hover import LEAST_GRAVITY, Hover, hover
from rotor_dynamics.engine import Engine

SLOWEST_RATIO = 0.1
"""The engine gives no more torque than at this share of its speed."""

COLLECTIVE, LATERAL, LONGITUDINAL, TAIL = range(4)
"""Columns of the command of a helicopter: angles that lift, roll right, push the nose down, rad; N to the left."""


@dataclass(frozen=True)
class Head:
    """One helicopter: its row among the vehicles, its joints among all joints, and how it hovers."""

    vehicle: int
    helicopter: Helicopter
    joints: slice
    at_rest: Hover


class Helicopters:
    """All helicopters of one world; row i is disc i.

    Args:
        scenario: whose helicopters.
        arm_joints: how many joints arms have, which come first.

    Attributes:
        vehicles: rows of the helicopters among all vehicles.
        joints: of each, among all joints.
        torques: of the engines, as of the last command, (n,) N m.
        health: power that each engine gives over what it should, (n,).
    """

    def __init__(self, scenario: Scenario, arm_joints: int) -> None:
        environment = scenario.environment
        first_joint = arm_joints  # then those of propellers, then ours
        if scenario.actuation.has_propellers:
            first_joint += sum(len(v.rotors.spins) for v in scenario.model.vehicles)
        self._period = scenario.time.control_s
        self.heads: list[Head] = []
        for i, vehicle in enumerate(scenario.model.vehicles):
            if vehicle.helicopter is None:
                continue
            _, joints = rotor_tree(vehicle.helicopter.main_rotor)
            own = slice(first_joint, first_joint + len(joints))
            gravity = environment.gravity_m_s2
            weight = vehicle.total_mass * max(gravity, LEAST_GRAVITY)
            at_rest = hover(vehicle.helicopter, weight, gravity, environment.air.density)
            self.heads.append(Head(i, vehicle.helicopter, own, at_rest))
            first_joint = own.stop
        self.vehicles = [head.vehicle for head in self.heads]
        self.joints = [head.joints for head in self.heads]
        self.torques = np.zeros(len(self.heads))
        self.health = np.ones(len(self.heads))
        self._sums = np.zeros(len(self.heads))
        self._is_running = False

    def __len__(self) -> int:
        return len(self.heads)

    def weaken(self, vehicle: int, gain: float) -> None:
        """Let the engine of a vehicle (row) give ``gain`` of its power."""
        self.health[self.vehicles.index(vehicle)] = gain

    def reset(self) -> None:
        """Rotors turn at their speed and hover."""
        self._sums[:] = [head.at_rest.torque for head in self.heads]
        self.health[:] = 1.0
        self.torques[:] = self._sums
        self._is_running = False

    def joint_states(self, count: int) -> np.ndarray:
        """Angles and rates of the last ``count`` joints of the world at the start, (count, 2): as in hover."""
        states = []
        for head in self.heads:
            rotor, at_rest = head.helicopter.main_rotor, head.at_rest
            angles = {"pitch": at_rest.collective, "flap": at_rest.coning, "lag": at_rest.lag}
            states.append((0.0, rotor.speed_rad_s))
            states += [(angles[h.type], 0.0) for _ in range(rotor.blades) for h in rotor.hinges]
        rest = np.zeros((count - len(states), 2))
        return np.vstack([rest, *[np.array(states).reshape(-1, 2)]])

    def start(self, engine: Engine) -> None:
        """Swashplates and induced velocities as in hover, before the engine takes up a state."""
        if self.heads:
            angles = [(head.at_rest.collective, 0.0, 0.0) for head in self.heads]
            engine.swash.write(np.array(angles), at_once=True)
            engine.swash.write_inflow(np.array([head.at_rest.inflow for head in self.heads]))

    def limited(self, commands: np.ndarray) -> np.ndarray:
        """Commands (n_vehicles, 4), those of helicopters within what swashplates and tails can do."""
        if not self.heads:
            return commands
        out = commands.copy()
        for head in self.heads:
            rotor, tail = head.helicopter.main_rotor, head.helicopter.tail_rotor
            collective, lateral, longitudinal, force = commands[head.vehicle]
            most = rad_from_deg(rotor.cyclic_deg)
            tilt = hypot(lateral, longitudinal)
            share = most / tilt if tilt > most else 1.0
            low, high = rotor.collective_limits
            least, largest = tail.force_n
            out[head.vehicle] = (
                min(max(collective, low), high), share * lateral, share * longitudinal, min(max(force, least), largest),
            )  # fmt: skip
        return out

    def act(self, engine: Engine, commands: np.ndarray) -> None:
        """Take up limited commands (n_vehicles, 4); the governor acts."""
        angles = np.empty((len(self.heads), 3))
        efforts, engines = np.zeros(len(engine.joints)), np.zeros(len(engine.joints), bool)
        for i, head in enumerate(self.heads):
            command = commands[head.vehicle]
            angles[i] = self.swash(i, command)
            engine.wrenches[head.vehicle] = 0.0
            engine.wrenches[head.vehicle, TAIL] = command[TAIL]
            efforts[head.joints.start] = (
                self._govern(i, head, engine) if command.any() else self._stop(i)
            )
            engines[head.joints.start] = True
        engine.joints.write_efforts(efforts, only=engines)
        engine.swash.act(angles, at_once=not self._is_running)
        self._is_running = True

    def swash(self, i: int, command: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
        """Collective, cosine and sine angle of the swashplate of helicopter i for its command (B.7), rad."""
        sense = self.heads[i].helicopter.main_rotor.sense
        return command[COLLECTIVE], -sense * command[LATERAL], -command[LONGITUDINAL]

    def command_of(self, i: int, angles: np.ndarray) -> tuple[float, float, float]:
        """Collective, lateral and longitudinal angle of helicopter i from those of its swashplate, rad."""
        sense = self.heads[i].helicopter.main_rotor.sense
        return angles[0], -sense * angles[1], -angles[2]

    def tail_force(self, engine: Engine, i: int) -> float:
        """Force of the tail rotor of helicopter i to the left, N."""
        return float(engine.wrenches[self.heads[i].vehicle, TAIL])

    def _stop(self, i: int) -> float:
        """A command of exactly nothing stops the engine, as it stops the rotors of others."""
        self._sums[i] = self.torques[i] = 0.0
        return 0.0

    def _govern(self, i: int, head: Head, engine: Engine) -> float:
        """Torque of the engine: a proportional and an integral part, within its power (B.15)."""
        rotor, motor = head.helicopter.main_rotor, head.helicopter.engine
        speed = float(engine.joints.rates[head.joints.start])
        error = rotor.speed_rad_s - speed
        most = self.health[i] * motor.power_w / max(speed, SLOWEST_RATIO * rotor.speed_rad_s)
        wanted = self._sums[i] + motor.proportional_n_m_s * error
        torque = min(max(wanted, 0.0), most)
        if torque == wanted or error * (wanted - torque) < 0.0:
            self._sums[i] += motor.integral_n_m * error * self._period
        self.torques[i] = torque
        return torque
