"""Helicopters of a scenario: their commands become swashplate angles and tail force, a governor turns the rotor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.helicopter import Helicopter
from rotor_core.config.vehicles.rotor_tree import rotor_tree
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.kernels.jit import constants, kernel
from rotor_core.vehicles.hover import LEAST_GRAVITY, Hover, hover
from rotor_dynamics.engine import Engine

SLOWEST_RATIO = 0.1
"""The engine gives no more torque than at this share of its speed."""

COLLECTIVE, LATERAL, LONGITUDINAL, TAIL = constants(*range(4))
"""Columns of the command of a helicopter: angles that lift, roll right, push the nose down, rad; N to the left."""

(
    SPEED,
    POWER,
    PROPORTIONAL,
    INTEGRAL,
    LEAST_COLLECTIVE,
    MOST_COLLECTIVE,
    MOST_TILT,
    LEAST_TAIL,
    MOST_TAIL,
    SENSE,
) = constants(*range(10))
"""Columns of the settings of a helicopter: rad/s, W, N m s, N m, rad, N; +1 for a rotor that turns to the left."""

SUM, TORQUE = constants(0, 1)
"""Columns of the memory of a governor, N m: its integral part, and the torque of the engine as of the last command."""


@kernel
def limit_steering(commands, vehicles, settings):
    """Keep the commands (n_vehicles, 4) of helicopters within what their swashplates and tails can do.

    Args:
        vehicles: rows of the helicopters among all vehicles, (n,).
        settings: of the helicopters, (n, 10).
    """
    for i in range(vehicles.shape[0]):
        command, own = commands[vehicles[i]], settings[i]
        lateral, longitudinal = command[LATERAL], command[LONGITUDINAL]
        tilt = sqrt(lateral * lateral + longitudinal * longitudinal)
        share = own[MOST_TILT] / tilt if tilt > own[MOST_TILT] else 1.0
        collective = max(command[COLLECTIVE], own[LEAST_COLLECTIVE])
        command[COLLECTIVE] = min(collective, own[MOST_COLLECTIVE])
        command[LATERAL] = share * lateral
        command[LONGITUDINAL] = share * longitudinal
        command[TAIL] = min(max(command[TAIL], own[LEAST_TAIL]), own[MOST_TAIL])


@kernel
def govern(command, speed, settings, health, period, memory):
    """Torque of the engine, N m: a proportional and an integral part, within its power (B.15).

    A command of exactly nothing stops the engine, as it stops the rotors of others.

    Args:
        command: of the helicopter, (4,).
        speed: of its rotor, rad/s.
        settings: (10,).
        health: power that the engine gives over what it should.
        period: control period, s.
        memory: of the governor, (2,), updated.
    """
    stops = True
    for channel in range(4):
        stops = stops and command[channel] == 0.0
    torque = 0.0
    if stops:
        memory[SUM] = 0.0
    else:
        error = settings[SPEED] - speed
        most = health * settings[POWER] / max(speed, SLOWEST_RATIO * settings[SPEED])
        wanted = memory[SUM] + settings[PROPORTIONAL] * error
        torque = min(max(wanted, 0.0), most)
        if torque == wanted or error * (wanted - torque) < 0.0:
            memory[SUM] += settings[INTEGRAL] * error * period
    memory[TORQUE] = torque
    return torque


@kernel
def swash_angles(command, settings, angles):
    """Write collective, cosine and sine angle of the swashplate, (3,) rad, for a command (4,) (B.7)."""
    angles[0] = command[COLLECTIVE]
    angles[1] = -settings[SENSE] * command[LATERAL]
    angles[2] = -command[LONGITUDINAL]


def _settings(helicopter: Helicopter) -> list[float]:
    rotor, tail, engine = helicopter.main_rotor, helicopter.tail_rotor, helicopter.engine
    return [
        rotor.speed_rad_s, engine.power_w, engine.proportional_n_m_s, engine.integral_n_m,
        *rotor.collective_limits, rad_from_deg(rotor.cyclic_deg), *tail.force_n, rotor.sense,
    ]  # fmt: skip


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
        settings: of each, (n, 10), for :func:`limit_steering` and :func:`govern`.
        memory: of their governors, (n, 2).
        health: power that each engine gives over what it should, (n,).
        period: of commands, s.
    """

    def __init__(self, scenario: Scenario, arm_joints: int) -> None:
        environment = scenario.environment
        first_joint = arm_joints  # then those of propellers, then ours
        if scenario.actuation.has_propellers:
            first_joint += sum(len(v.rotors.spins) for v in scenario.model.vehicles)
        self.period = scenario.time.control_s
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
        self.settings = np.array([_settings(h.helicopter) for h in self.heads]).reshape(-1, 10)
        self.memory = np.zeros((len(self.heads), 2))
        self.health = np.ones(len(self.heads))
        self._is_running = False

    def __len__(self) -> int:
        return len(self.heads)

    def weaken(self, vehicle: int, gain: float) -> None:
        """Let the engine of a vehicle (row) give ``gain`` of its power."""
        self.health[self.vehicles.index(vehicle)] = gain

    def reset(self) -> None:
        """Rotors turn at their speed and hover."""
        for own, head in zip(self.memory, self.heads, strict=True):
            own[:] = head.at_rest.torque
        self.health[:] = 1.0
        self._is_running = False

    def take_over(self, other: Helicopters, mine: list[int], theirs: list[int]) -> None:
        """Let governors of the same helicopters in another world go on, by their numbers here and there."""
        self.memory[mine] = other.memory[theirs]
        self._is_running = other._is_running and len(mine) == len(self)

    def joint_states(self, count: int) -> np.ndarray:
        """Angles and rates of all ``count`` joints of the world at the start, (count, 2): rotors as in hover."""
        out = np.zeros((count, 2))
        for head in self.heads:
            rotor, at_rest = head.helicopter.main_rotor, head.at_rest
            angles = {"pitch": at_rest.collective, "flap": at_rest.coning, "lag": at_rest.lag}
            blades = [(angles[h.type], 0.0) for _ in range(rotor.blades) for h in rotor.hinges]
            out[head.joints] = [(0.0, rotor.speed_rad_s), *blades]
        return out

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
        out = np.array(commands, float)
        limit_steering(out, np.array(self.vehicles), self.settings)
        return out

    def act(self, engine: Engine, commands: np.ndarray) -> None:
        """Take up limited commands (n_vehicles, 4); the governor acts."""
        angles = np.empty((len(self.heads), 3))
        efforts, engines = np.zeros(len(engine.joints)), np.zeros(len(engine.joints), bool)
        for i, head in enumerate(self.heads):
            command, row = commands[head.vehicle], head.joints.start
            swash_angles(command, self.settings[i], angles[i])
            engine.wrenches[head.vehicle] = 0.0
            engine.wrenches[head.vehicle, TAIL] = command[TAIL]
            efforts[row] = govern(
                command, float(engine.joints.rates[row]), self.settings[i], self.health[i], self.period,
                self.memory[i],
            )  # fmt: skip
            engines[row] = True
        engine.joints.write_efforts(efforts, only=engines)
        engine.swash.act(angles, at_once=not self._is_running)
        self._is_running = True

    @property
    def torques(self) -> np.ndarray:
        """Of the engines, as of the last command, (n,) N m."""
        return self.memory[:, TORQUE]

    def swash(self, i: int, command: Sequence[float] | np.ndarray) -> np.ndarray:
        """Collective, cosine and sine angle of the swashplate of helicopter i for its command, (3,) rad."""
        angles = np.zeros(3)
        swash_angles(np.asarray(command, float), self.settings[i], angles)
        return angles

    def command_of(self, i: int, angles: np.ndarray) -> tuple[float, float, float]:
        """Collective, lateral and longitudinal angle of helicopter i from those of its swashplate, rad."""
        sense = self.heads[i].helicopter.main_rotor.sense
        return angles[0], -sense * angles[1], -angles[2]

    def tail_force(self, engine: Engine, i: int) -> float:
        """Force of the tail rotor of helicopter i to the left, N."""
        return float(engine.wrenches[self.heads[i].vehicle, TAIL])
