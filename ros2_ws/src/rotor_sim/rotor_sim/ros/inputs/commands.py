"""Inputs from outside: team commands, commands of single vehicles, external wrenches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rotor_msgs.msg import Swashplate, TeamCommand
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from transforms3d.quaternions import quat2mat

from rotor_core.command import LARGEST_COMMAND
from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.errors import ConfigError, ContractError
from rotor_core.messages.convert import frame_of, vector_from
from rotor_core.messages.joint_command import joint_command_from, joint_efforts_from
from rotor_core.messages.team_wire import Heading, TeamCommandWire
from rotor_core.ros import qos
from rotor_core.state import State
from rotor_core.vehicles.rotors import RotorSet, rotor_set
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.simulation import Simulation

try:
    from actuator_msgs.msg import Actuators
except ImportError:
    Actuators = None  # not among the wheels; released for every supported distribution

Own = Callable[[int, np.ndarray, Time], None]
"""Takes the command of one vehicle: its number, the command, the stamp of what it answers."""

LARGEST_PUSH = 1e5
"""The same of external wrenches, N, N m: ten tonnes. What more does to a small body no message may hold."""

EXTERNAL_TIMEOUT = 0.5
"""An external wrench acts, and a winch winds at its rate, for this simulation time after its last message, s."""


def _problem(
    message: WrenchStamped, frames: tuple[str, ...], largest: float = LARGEST_COMMAND
) -> str:
    """Reason to refuse a message, or an empty text."""
    if message.header.frame_id not in ("", *frames):
        return f"frame must be {' or '.join(frames)}, got {message.header.frame_id!r}"
    numbers = [*vector_from(message.wrench.force), *vector_from(message.wrench.torque)]
    if not np.isfinite(numbers).all() or np.abs(numbers).max() > largest:
        return f"must be finite and below {largest:g}, got {[float(n) for n in numbers]}"
    return ""


def subscribe_team_commands(
    entities: Entities,
    vehicles: list[str],
    joints: list[int],
    helicopters: list[str],
    accept: Callable[[Heading, np.ndarray, np.ndarray, np.ndarray], None],
    reject: Callable[[str], None],
) -> None:
    """``rotor/team_command``: ``accept`` gets heading, wrenches (n, 4), efforts of all joints, and what was limited."""
    wire = TeamCommandWire(vehicles, joints, helicopters)

    def callback(data: bytes) -> None:
        try:
            heading, wrenches, efforts = wire.read(data)
        except ContractError as error:
            reject(str(error))
            return
        accept(heading, wrenches, efforts, wire.limited(data))

    entities.subscribe(TeamCommand, "rotor/team_command", callback, qos.TEAM, raw=True)


def subscribe_wrenches(
    entities: Entities,
    vehicles: list[str],
    accept: Own,
    reject: Callable[[str], None],
) -> None:
    """``<vehicle>/cmd/wrench``: thrust is force.z, moments are the torque, in the body frame.

    ``accept`` gets the index of the vehicle, its wrench (4,) and the stamp.
    """
    for index, name in enumerate(vehicles):

        def callback(message: WrenchStamped, index: int = index, name: str = name) -> None:
            problem = _problem(message, (frame_of(name),))
            force = message.wrench.force
            if not problem and (force.x or force.y):
                problem = f"rotors push along z: force.x and force.y must be 0, got {force.x:g}, {force.y:g}"
            if problem:
                reject(f"cmd/wrench of {name!r}: {problem}.")
                return
            torque = vector_from(message.wrench.torque)
            accept(index, np.array([message.wrench.force.z, *torque]), message.header.stamp)

        entities.subscribe(WrenchStamped, f"{name}/cmd/wrench", callback, qos.COMMAND)


def subscribe_swashplates(
    entities: Entities,
    vehicles: list[str],
    accept: Own,
    reject: Callable[[str], None],
) -> None:
    """``<vehicle>/cmd/swashplate``: angles and tail force of a helicopter.

    ``accept`` gets the index of the vehicle, the four numbers and the stamp.
    """
    for index, name in enumerate(vehicles):

        def callback(message: Swashplate, index: int = index, name: str = name) -> None:
            numbers = np.array(
                [message.collective, message.lateral_cyclic, message.longitudinal_cyclic, message.tail_force]
            )  # fmt: skip
            if not np.isfinite(numbers).all() or np.abs(numbers).max() > LARGEST_COMMAND:
                reject(
                    f"cmd/swashplate of {name!r}: must be finite and below {LARGEST_COMMAND:g}, got {numbers.tolist()}."
                )
                return
            accept(index, numbers, message.header.stamp)

        entities.subscribe(Swashplate, f"{name}/cmd/swashplate", callback, qos.COMMAND)


def subscribe_efforts(
    entities: Entities,
    vehicle: str,
    joints: list[str],
    accept: Callable[[np.ndarray], None],
    reject: Callable[[str], None],
) -> None:
    """Efforts of joints; ``accept`` gets one per joint of the vehicle, NaN: it stays.

    ``<vehicle>/cmd/joint_efforts``: all, in the order of its joint states. ``<vehicle>/cmd/joints``: by their names.
    """

    def callback(message: Float64MultiArray) -> None:
        try:
            efforts = joint_efforts_from(message, len(joints))
        except ContractError as error:
            reject(f"cmd/joint_efforts of {vehicle!r}: {error}")
            return
        accept(efforts)

    def by_name(message: JointState) -> None:
        try:
            efforts = joint_command_from(message, vehicle, joints).efforts
        except ContractError as error:
            reject(f"cmd/joints of {vehicle!r}: {error}")
            return
        if efforts is not None:
            accept(efforts)

    entities.subscribe(Float64MultiArray, f"{vehicle}/cmd/joint_efforts", callback, qos.COMMAND)
    entities.subscribe(JointState, f"{vehicle}/cmd/joints", by_name, qos.COMMAND)


class WinchOrders:
    """``<cable>/cmd/rate``, m/s, positive pays out, and of drums ``cmd/torque``, N m, positive reels in.

    A winch stops when messages stop, unless somebody else has asked for something since.
    """

    def __init__(
        self, entities: Entities, simulation: Simulation, reject: Callable[[str], None]
    ) -> None:
        self._simulation = simulation
        self._since: dict[int, tuple[float, int]] = {}
        """Time of the last message, s, and the number of that order, per cable."""
        winches = simulation.winches
        model = simulation.scenario.model
        for k, (name, cable) in enumerate(zip(model.cable_names, model.cables, strict=True)):
            if cable.winch is None:
                continue
            orders = {"rate": lambda k, value: winches.ask(k, rate=value)}
            if cable.winch.drum is not None:
                orders["torque"] = winches.turn
            for what, order in orders.items():
                self._subscribe(entities, k, f"{name}/cmd/{what}", order, reject)

    def _subscribe(
        self,
        entities: Entities,
        k: int,
        topic: str,
        order: Callable[[int, float], None],
        reject: Callable[[str], None],
    ) -> None:
        def callback(message: Float64) -> None:
            try:
                order(k, message.data)
            except ContractError as error:
                name, what = topic.split("/", 1)
                reject(f"{what} of {name!r}: {error}")
                return
            self._since[k] = self._simulation.time, int(self._simulation.winches.orders[k])

        entities.subscribe(Float64, topic, callback, qos.COMMAND)

    def apply(self) -> None:
        """Stop the winches that have heard nothing for long."""
        winches = self._simulation.winches
        for k, (since, order) in list(self._since.items()):
            if winches.orders[k] != order:
                del self._since[k]
            elif self._simulation.time - since >= EXTERNAL_TIMEOUT - SAME_TIME:
                winches.ask(k, rate=0.0)
                del self._since[k]

    def take_over(self, old: WinchOrders, cables: dict[int, int]) -> None:
        """Go on where those of another world stood; ``cables``: numbers here and there."""
        orders, before = self._simulation.winches.orders, old._simulation.winches.orders
        for k, j in cables.items():
            if j in old._since and before[j] == old._since[j][1]:
                self._since[k] = old._since[j][0], int(orders[k])

    def clear(self) -> None:
        """Stop what they drive, after a reset or another state: whoever sent them must ask again."""
        winches = self._simulation.winches
        for k, (_, order) in self._since.items():
            if winches.orders[k] == order and not winches.are_idle:
                winches.ask(k, rate=0.0)
        self._since.clear()


def subscribe_motor_speeds(
    entities: Entities,
    simulation: Simulation,
    accept: Own,
    reject: Callable[[str], None],
) -> None:
    """``<vehicle>/cmd/motor_speed``: ``velocity`` holds the speeds of all rotors, rad/s.

    Raises:
        ConfigError: actuator_msgs is not installed.
    """
    if Actuators is None:
        raise ConfigError(
            "command_input: motor_speed needs the package actuator_msgs. Install "
            "ros-<distro>-actuator-msgs, or use command_input: wrench."
        )
    for index, vehicle in enumerate(simulation.scenario.model.vehicles):
        rotors = rotor_set(vehicle.rotors)

        def callback(
            message: object, index: int = index, name: str = vehicle.name, rotors: RotorSet = rotors
        ) -> None:
            speeds = np.array(message.velocity)  # type: ignore[attr-defined]
            good = speeds.shape == (rotors.count,) and np.isfinite(speeds).all()
            if not good or (speeds < 0.0).any() or (speeds > LARGEST_COMMAND).any():
                reject(
                    f"cmd/motor_speed of {name!r}: velocity must hold {rotors.count} finite speeds >= 0 rad/s, "
                    f"got {speeds.tolist()}."
                )
                return
            wrench = rotors.mixing @ rotors.thrusts_at(speeds)
            accept(index, wrench, message.header.stamp)  # type: ignore[attr-defined]

        entities.subscribe(Actuators, f"{vehicle.name}/cmd/motor_speed", callback, qos.COMMAND)


class ExternalWrenches:
    """``<entity>/wrench_external``: both vectors in world or body axes, acting at the base link."""

    def __init__(
        self, entities: Entities, simulation: Simulation, reject: Callable[[str], None]
    ) -> None:
        self._simulation = simulation
        self._latest: dict[str, tuple[WrenchStamped, float]] = {}
        self._acting: set[str] = set()
        self._applied: dict[str, WrenchStamped] = {}
        for name in simulation.names:

            def callback(message: WrenchStamped, name: str = name) -> None:
                problem = _problem(message, ("world", frame_of(name)), LARGEST_PUSH)
                turns = vector_from(message.wrench.torque).any()
                if not problem and turns and not simulation.takes_moments(name):
                    problem = "a point mass (without inertia_kg_m2) takes no torque"
                if problem:
                    reject(f"wrench_external of {name!r}: {problem}.")
                else:
                    self._latest[name] = (message, simulation.time)

            entities.subscribe(WrenchStamped, f"{name}/wrench_external", callback, qos.COMMAND)

    def apply(self) -> None:
        """Bring the simulation up to date: body-frame wrenches turn with the body, old ones end."""
        acting = set()
        simulation = self._simulation
        for name, (message, since) in list(self._latest.items()):
            if simulation.time - since >= EXTERNAL_TIMEOUT - SAME_TIME:
                del self._latest[name]
                continue
            acting.add(name)
            turns = message.header.frame_id == frame_of(name)
            if self._applied.get(name) is message and not turns:
                continue
            self._applied[name] = message
            force, torque = vector_from(message.wrench.force), vector_from(message.wrench.torque)
            if turns:
                R = quat2mat(State(simulation.motion).attitude[simulation.names.index(name)])
                force, torque = R @ force, R @ torque
            if not simulation.takes_moments(name):  # any more: it was let go of
                torque = np.zeros(3)
            simulation.push(name, force, torque)
        for name in self._acting - acting:
            simulation.push(name, np.zeros(3), np.zeros(3))
            del self._applied[name]
        self._acting = acting

    def clear(self) -> None:
        """Forget all, after a reset or another state: nothing pushes any more."""
        for name in self._acting:
            self._simulation.push(name, np.zeros(3), np.zeros(3))
        self._latest.clear()
        self._acting.clear()
        self._applied.clear()
