"""Sensors on board as topics: inertial units, load cells, motors and batteries."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rotor_msgs.msg import MotorState
from sensor_msgs.msg import BatteryState, Imu

from rotor_core.config import schema
from rotor_core.messages.cdr import vector_paths
from rotor_core.messages.convert import WORLD_FRAME, frame_of
from rotor_core.ros import qos
from rotor_sim.ros.inputs.commands import Actuators
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.ros.topics.frozen_topic import FrozenTopic
from rotor_sim.ros.topics.world import SimTime
from rotor_sim.simulation import Simulation

NO_ESTIMATE = -1.0
"""First element of a covariance that says "there is no estimate" (sensor_msgs/Imu)."""

IMU_PATHS = [*vector_paths("linear_acceleration"), *vector_paths("angular_velocity")]
CELL_PATHS = vector_paths("wrench.force")


def _imu(vehicle: str, imu: schema.Imu) -> Imu:
    """Message of an inertial unit; the covariances are those of the noise."""
    message = Imu()
    message.header.frame_id = frame_of(vehicle)
    message.orientation.w = 1.0
    message.orientation_covariance[0] = NO_ESTIMATE
    for field, deviation in (
        ("angular_velocity_covariance", imu.gyroscope_noise_rad_s),
        ("linear_acceleration_covariance", imu.accelerometer_noise_m_s2),
    ):
        setattr(message, field, (deviation**2 * np.eye(3)).ravel())
    return message


class SensorPublisher:
    """Publishers of all sensors on board of one simulated world."""

    def __init__(self, entities: Entities, simulation: Simulation, time: SimTime) -> None:
        self._simulation, self._time = simulation, time
        model, sensing = simulation.scenario.model, simulation.scenario.sensing
        self._imus, self._cells, self._speeds = [], [], []
        for vehicle in model.vehicles:
            publisher = entities.publisher(Imu, f"{vehicle.name}/imu", qos.SENSOR)
            message = _imu(vehicle.name, sensing.imu)
            self._imus.append(FrozenTopic(publisher, message, IMU_PATHS))
        for name, cable in zip(model.cable_names, model.cables, strict=True):
            publisher = entities.publisher(WrenchStamped, f"{name}/load_cell", qos.SENSOR)
            message = WrenchStamped()
            message.header.frame_id = WORLD_FRAME if cable.a == WORLD_FRAME else frame_of(cable.a)
            self._cells.append(FrozenTopic(publisher, message, CELL_PATHS))
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

    def imu(self) -> None:
        """Publish one sample of every inertial unit."""
        self._send(self._imus, self._simulation.imu())

    def load_cells(self) -> None:
        """Publish one sample of every load cell: the force of the cable on its end a."""
        if self._cells:
            self._send(self._cells, self._simulation.load_cells())

    def motor_speeds(self) -> None:
        """Publish rotor speeds: the true ones, or those that give the acting wrenches."""
        if self._speeds:
            self._send(self._speeds, [s for s in self._simulation.rotor_speeds() if len(s)])

    def motors(self) -> None:
        """Publish what motors and batteries give and take."""
        stamp = self._time.stamp()
        for i, motors, battery in self._power:
            power = self._simulation.power[i]
            speeds = self._simulation.rotor_speeds()[i]
            state = MotorState(
                speeds=speeds.tolist(), torques=power.torque.tolist(), currents=power.current.tolist(),
                voltages=power.voltage.tolist(), powers=power.power.tolist(), energy=power.energy,
            )  # fmt: skip
            state.header.stamp = stamp
            motors.publish(state)
            if battery is None:
                continue
            told = BatteryState(
                voltage=power.battery_voltage, current=-power.battery_current, percentage=power.charge,
                present=True, power_supply_technology=BatteryState.POWER_SUPPLY_TECHNOLOGY_LIPO,
                power_supply_status=BatteryState.POWER_SUPPLY_STATUS_DISCHARGING,
            )  # fmt: skip
            told.header.stamp = stamp
            battery.publish(told)

    def _send(self, topics: list[FrozenTopic], samples: np.ndarray) -> None:
        stamp = self._time.stamp()
        for topic, sample in zip(topics, samples, strict=True):
            topic.send(stamp, sample)
