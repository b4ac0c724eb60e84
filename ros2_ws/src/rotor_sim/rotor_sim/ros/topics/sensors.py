"""Sensors on board as topics: inertial units, load cells, motors and batteries."""

from __future__ import annotations

import functools
import importlib

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.publisher import Publisher
from rotor_msgs.msg import MotorState
from sensor_msgs.msg import BatteryState

from rotor_core.errors import ConfigError, ContractError
from rotor_core.messages.convert import WORLD_FRAME, frame_of
from rotor_core.ros import qos
from rotor_core.ros.frozen_topic import FrozenTopic, FrozenTopics
from rotor_sim.ros.inputs.commands import Actuators
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.ros.topics.world import SimTime
from rotor_sim.sensing.sensor import Channel, Delayed
from rotor_sim.sensing.suite import sensors_of
from rotor_sim.simulation import Simulation


def message_of(channel: Channel) -> object:
    """Message of a channel with all that never changes.

    Raises:
        ConfigError: there is no such message, or it has no such field.
    """
    package, _, name = channel.message.split("/")
    kind = getattr(importlib.import_module(f"{package}.msg"), name, None)
    if kind is None:
        raise ConfigError(
            f"sensor topic {channel.topic!r}: there is no message {channel.message!r}."
        )
    message = kind()
    frame = WORLD_FRAME if channel.body == WORLD_FRAME else frame_of(channel.body)
    message.header.frame_id = frame if channel.mount is None else channel.topic
    for path, value in channel.constants.items():
        *parents, last = path.split(".")
        field, _, index = last.partition("[")
        try:
            owner = functools.reduce(getattr, parents, message)
            if index:
                getattr(owner, field)[int(index[:-1])] = value
            else:
                setattr(owner, field, value)
        except (AttributeError, IndexError):
            raise ConfigError(_no_field(channel, path)) from None
    return message


def topic_of(channel: Channel, publisher: Publisher, message: object) -> FrozenTopic:
    """Topic of a channel, whose fields a sample fills.

    Raises:
        ConfigError: the message has no such field.
    """
    try:
        return FrozenTopic(publisher, message, channel.fields)
    except KeyError as error:
        raise ConfigError(_no_field(channel, str(error.args[0]))) from None


def _no_field(channel: Channel, path: str) -> str:
    return f"sensor topic {channel.topic!r}: {channel.message} has no number {path!r}."


class SensorPublisher:
    """Publishers of all sensors on board of one simulated world."""

    def __init__(self, entities: Entities, simulation: Simulation, time: SimTime) -> None:
        self._simulation, self._time = simulation, time
        model = simulation.scenario.model
        self.rates: dict[str, float] = {}
        """Samples per second of every sensor on board, by the name to :meth:`sample` it with."""
        self._channels: dict[str, tuple[int, FrozenTopics, str, tuple[int, int], bool]] = {}
        """Number, topics, the last of their names, the shape of a sample, and whether it comes late."""
        for i, (kind, keys) in enumerate(sensors_of(simulation.scenario)):
            topics = []
            for channel in kind.channels(keys, model):
                message = message_of(channel)
                publisher = entities.publisher(type(message), channel.topic, qos.SENSOR)
                topics.append(topic_of(channel, publisher, message))
            if topics:
                self.rates[f"sensor {i}"] = keys.rate_hz
                shape = len(topics), len(channel.fields)
                late = isinstance(simulation.sensors[i], Delayed)
                self._channels[f"sensor {i}"] = (
                    i, FrozenTopics(topics), channel.topic, shape, late
                )  # fmt: skip
        self._speeds: list[FrozenTopic] = []
        for vehicle in model.vehicles if Actuators is not None else ():
            n = len(vehicle.rotors.spins)
            if not n:  # a helicopter
                continue
            publisher = entities.publisher(Actuators, f"{vehicle.name}/motor_speed", qos.SENSOR)
            message = Actuators(velocity=[0.0] * n)
            message.header.frame_id = frame_of(vehicle.name)
            paths = [f"velocity[{k}]" for k in range(n)]
            self._speeds.append(FrozenTopic(publisher, message, paths))

        self._power = []
        for i, power in simulation.power.items():
            motors = entities.publisher(MotorState, f"{power.name}/motors", qos.SENSOR)
            battery = None
            if model.vehicles[i].battery is not None:
                battery = entities.publisher(BatteryState, f"{power.name}/battery", qos.SENSOR)
            self._power.append((i, motors, battery))

    def sample(self, name: str, stamp: Time) -> None:
        """Publish one sample of a sensor on board.

        Raises:
            ContractError: a sensor of another package gives something else than its channels and fields.
        """
        i, topics, topic, shape, late = self._channels[name]
        sensor = self._simulation.sensors[i]
        values = np.asarray(sensor.sense())
        if values.shape != shape or values.dtype.kind not in "fiub":
            raise ContractError(
                f"sensor of {topic!r}: sense() must give numbers of the shape {shape}, a row per channel and a "
                f"number per field; got {values.dtype} of {values.shape}."
            )
        # what comes late tells when it was measured
        if late:
            stamp = self._time.stamp(sensor.captured)  # type: ignore[attr-defined]
        topics.send(stamp, values)

    def motor_speeds(self, stamp: Time) -> None:
        """Publish rotor speeds: the true ones, or those that give the acting wrenches."""
        if self._speeds:
            speeds = [s for s in self._simulation.rotor_speeds() if len(s)]
            for topic, sample in zip(self._speeds, speeds, strict=True):
                topic.send(stamp, sample)

    def motors(self, stamp: Time) -> None:
        """Publish what motors and batteries give and take, at the instants at which they are looked at."""
        looked_at = self._simulation.supply.looked_at[0]
        if -np.inf < looked_at != self._simulation.time:
            return  # figures of another instant would get the stamp of this one
        for i, motors, battery in self._power:
            power = self._simulation.power[i]
            speeds = self._simulation.rotor_speeds()[i]
            state = MotorState(
                speeds=speeds.tolist(), torques=power.torque.tolist(), currents=power.current.tolist(),
                voltages=power.voltage.tolist(), powers=power.power.tolist(), energy=power.energy,
            )  # fmt: skip
            state.header.stamp, state.header.frame_id = stamp, frame_of(power.name)
            motors.publish(state)
            if battery is None:
                continue
            told = BatteryState(  # what nobody measures is no number
                voltage=power.battery_voltage, current=-power.battery_current, percentage=power.charge,
                charge=power.charge * power.capacity_ah, capacity=power.capacity_ah,
                design_capacity=power.capacity_ah, temperature=float("nan"), present=True,
                power_supply_technology=BatteryState.POWER_SUPPLY_TECHNOLOGY_LIPO,
                power_supply_status=BatteryState.POWER_SUPPLY_STATUS_DISCHARGING,
            )  # fmt: skip
            told.header.stamp, told.header.frame_id = stamp, frame_of(power.name)
            battery.publish(told)
