"""Sensors on board as topics: inertial units, load cells, motor speeds."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import Imu

from rotor_core.ros import qos
from rotor_core.ros.cdr import FrozenMessage, vector_paths
from rotor_core.ros.convert import WORLD_FRAME, frame_of
from rotor_sim.ros.command_inputs import Actuators
from rotor_sim.ros.entities import Entities
from rotor_sim.ros.publishers import SimTime
from rotor_sim.simulation import Simulation

NO_ESTIMATE = -1.0
"""First element of a covariance that says "there is no estimate" (sensor_msgs/Imu)."""


class SensorPublisher:
    """Publishers of all sensors on board of one simulated world."""

    def __init__(self, entities: Entities, simulation: Simulation, time: SimTime) -> None:
        self._simulation, self._time = simulation, time
        model, sensing = simulation.scenario.model, simulation.scenario.sensing
        vehicles = [v.name for v in model.vehicles]
        self._imus = [entities.publisher(Imu, f"{n}/imu", qos.SENSOR) for n in vehicles]
        self._imu_frames = []
        for name in vehicles:
            message = Imu()
            message.header.frame_id = frame_of(name)
            message.orientation.w = 1.0
            message.orientation_covariance[0] = NO_ESTIMATE
            variance = sensing.imu.gyroscope_noise_rad_s**2
            message.angular_velocity_covariance = np.diag([variance] * 3).ravel()
            variance = sensing.imu.accelerometer_noise_m_s2**2
            message.linear_acceleration_covariance = np.diag([variance] * 3).ravel()
            self._imu_frames.append(FrozenMessage(message))
        self._imu_at = [
            f.index(*vector_paths("linear_acceleration"), *vector_paths("angular_velocity"))
            for f in self._imu_frames
        ]
        self._cells = [
            entities.publisher(WrenchStamped, f"{n}/load_cell", qos.SENSOR)
            for n in model.cable_names
        ]
        self._cell_frames = []
        for cable in model.cables:
            message = WrenchStamped()
            message.header.frame_id = WORLD_FRAME if cable.a == WORLD_FRAME else frame_of(cable.a)
            self._cell_frames.append(FrozenMessage(message))
        self._cell_at = [f.index(*vector_paths("wrench.force")) for f in self._cell_frames]
        self._speeds: list = []
        if Actuators is not None:
            self._rotors = simulation.rotor_sets
            self._speeds = [
                entities.publisher(Actuators, f"{n}/motor_speed", qos.SENSOR) for n in vehicles
            ]
            frames = []
            for name in vehicles:
                message = Actuators(velocity=[0.0] * 4)
                message.header.frame_id = frame_of(name)
                frames.append(FrozenMessage(message))
            self._speed_frames = frames
            paths = [f"velocity[{k}]" for k in range(4)]
            self._speed_at = [f.index(*paths) for f in frames]

    def imu(self) -> None:
        """Publish one sample of every inertial unit."""
        stamp = self._time.stamp()
        for publisher, frame, at, sample in zip(
            self._imus, self._imu_frames, self._imu_at, self._simulation.imu(), strict=True
        ):
            frame.put_stamp(stamp)
            frame.doubles[at] = sample
            publisher.publish(frame.data())

    def load_cells(self) -> None:
        """Publish one sample of every load cell: the force of the cable on its end a."""
        if not self._cells:
            return
        stamp = self._time.stamp()
        for publisher, frame, at, force in zip(
            self._cells,
            self._cell_frames,
            self._cell_at,
            self._simulation.load_cells(),
            strict=True,
        ):
            frame.put_stamp(stamp)
            frame.doubles[at] = force
            publisher.publish(frame.data())

    def motor_speeds(self) -> None:
        """Publish the rotor speeds that give the acting wrenches."""
        if not self._speeds:
            return
        stamp = self._time.stamp()
        for i, publisher in enumerate(self._speeds):
            frame = self._speed_frames[i]
            frame.put_stamp(stamp)
            frame.doubles[self._speed_at[i]] = self._rotors[i].speeds(self._simulation.applied[i])
            publisher.publish(frame.data())
