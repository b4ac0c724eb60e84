"""PX4's face: ``<vehicle>/fmu/in`` and ``<vehicle>/fmu/out``, as its bridge to ROS 2 has them.

In: attitude, rates, thrust and torque, or trajectory setpoints; out: odometry. Needs the package
px4_msgs. Topics: docs/swap.md.
"""

from __future__ import annotations

import sys

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from rotor_adapters.autopilot_node import Adapter
from rotor_adapters.autopilots import Autopilot, reference_of
from rotor_adapters.frames import swap_attitude, swap_body, swap_world, swap_yaw
from rotor_core.config.yaml.units import rpy_from_wxyz
from rotor_core.errors import ConfigError, ContractError
from rotor_core.ros.node import run
from rotor_core.state import State

try:
    from px4_msgs.msg import (
        TrajectorySetpoint,
        VehicleAttitudeSetpoint,
        VehicleOdometry,
        VehicleRatesSetpoint,
        VehicleThrustSetpoint,
        VehicleTorqueSetpoint,
    )
except ImportError:  # said when the node starts
    VehicleOdometry = None

FMU_IN = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=5, reliability=ReliabilityPolicy.BEST_EFFORT
)
FMU_OUT = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=5,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""As the bridge of PX4 has its topics: nodes written for it ask for transient local."""


class Px4Node(Adapter):
    """Vehicles that answer to setpoints of PX4."""

    def __init__(self) -> None:
        if VehicleOdometry is None:
            raise ConfigError(
                "px4_adapter: needs the package px4_msgs. Install ros-<distro>-px4-msgs, or build it in a workspace."
            )
        super().__init__("px4_adapter")
        self._odometry = {}
        self._torques: dict[str, np.ndarray] = {}
        self._thrusts: dict[str, float] = {}
        for name in self.autopilots:
            self._odometry[name] = self.create_publisher(
                VehicleOdometry, f"{name}/fmu/out/vehicle_odometry", FMU_OUT
            )
            for kind, topic, take in (
                (VehicleAttitudeSetpoint, "vehicle_attitude_setpoint", self._on_attitude),
                (VehicleAttitudeSetpoint, "vehicle_attitude_setpoint_v1", self._on_attitude),
                (VehicleRatesSetpoint, "vehicle_rates_setpoint", self._on_rates),
                (VehicleThrustSetpoint, "vehicle_thrust_setpoint", self._on_thrust),
                (VehicleTorqueSetpoint, "vehicle_torque_setpoint", self._on_torque),
                (TrajectorySetpoint, "trajectory_setpoint", self._on_trajectory),
            ):
                self.listen(name, kind, f"fmu/in/{topic}", take, FMU_IN)

    def forget(self) -> None:
        """Forget thrusts and torques too, of which one may come before the other."""
        super().forget()
        self._torques.clear()
        self._thrusts.clear()

    def tell(self, vehicle: str, stamp: Time, state: np.ndarray) -> None:
        """Publish ``vehicle_odometry``: pose and velocity in north-east-down, rates in forward-right-down."""
        message = VehicleOdometry()
        message.timestamp = message.timestamp_sample = stamp.sec * 1_000_000 + stamp.nanosec // 1000
        message.pose_frame = VehicleOdometry.POSE_FRAME_NED
        message.velocity_frame = VehicleOdometry.VELOCITY_FRAME_NED
        message.position = swap_world(State(state).position).astype(np.float32)
        message.q = swap_attitude(State(state).attitude).astype(np.float32)
        message.velocity = swap_world(State(state).velocity).astype(np.float32)
        message.angular_velocity = swap_body(State(state).body_rate).astype(np.float32)
        for unknown in (
            message.position_variance,
            message.velocity_variance,
            message.orientation_variance,
        ):
            unknown[:] = np.full(3, np.nan)  # zero would be certainty
        self._odometry[vehicle].publish(message)

    def _on_attitude(self, name: str, message: VehicleAttitudeSetpoint) -> None:
        q, thrust = np.array(message.q_d, float), -float(message.thrust_body[2])
        yaw_rate = -float(np.nan_to_num(message.yaw_sp_move_rate))

        def act(autopilot: Autopilot, state: np.ndarray) -> np.ndarray:
            size = float(np.linalg.norm(q))
            if not abs(size - 1.0) < 1e-2:
                raise ContractError(f"q_d: must have length 1, got {size:g}.")
            newtons = autopilot.thrust(thrust)
            return autopilot.hold_attitude(state, swap_attitude(q / size), newtons, yaw_rate)

        self.set(name, act)

    def _on_rates(self, name: str, message: VehicleRatesSetpoint) -> None:
        rates = swap_body(np.array([message.roll, message.pitch, message.yaw], float))
        thrust = -float(message.thrust_body[2])

        def act(autopilot: Autopilot, state: np.ndarray) -> np.ndarray:
            if not np.isfinite(rates).all():
                raise ContractError(f"rates: must be finite, got {rates.tolist()}.")
            return autopilot.hold_rates(state, rates, autopilot.thrust(thrust))

        self.set(name, act)

    def _on_torque(self, name: str, message: VehicleTorqueSetpoint) -> None:
        self._torques[name] = swap_body(np.array(message.xyz, float))
        self._push(name)

    def _on_thrust(self, name: str, message: VehicleThrustSetpoint) -> None:
        self._thrusts[name] = -float(message.xyz[2])
        self._push(name)

    def _push(self, name: str) -> None:
        """Thrust and torque come apart, in any order: the newest of both act."""
        thrust = self._thrusts.get(name)
        if thrust is not None:
            torques = self._torques.get(name, np.zeros(3))
            self.set(name, lambda a, _: np.array([a.thrust(thrust), *a.moments(torques)]))

    def _on_trajectory(self, name: str, message: TrajectorySetpoint) -> None:
        parts = [
            swap_world(np.array(part, float))
            for part in (message.position, message.velocity, message.acceleration, message.jerk)
        ]
        yaw, yaw_rate = swap_yaw(float(message.yaw)), -float(message.yawspeed)

        def act(autopilot: Autopilot, state: np.ndarray) -> np.ndarray:
            # NaN: not controlled, which is what being there already, and as fast, comes to; who asks for a place only
            # asks to be at rest there
            free = np.isnan(parts[0])
            if (free & np.isnan(parts[1]) & np.isnan(parts[2])).any():
                raise ContractError(
                    "trajectory_setpoint: every axis needs a position, a velocity or an acceleration; the rest is NaN."
                )
            position = np.where(free, State(state).position, parts[0])
            velocity = np.where(free & np.isnan(parts[1]), State(state).velocity, parts[1])
            heading = float(rpy_from_wxyz(State(state).attitude)[2]) if np.isnan(yaw) else yaw
            reference = reference_of(position, velocity, parts[2], heading, yaw_rate, parts[3])
            if not np.isfinite(reference).all():
                raise ContractError("trajectory_setpoint: numbers must be finite or NaN.")
            return autopilot.follow(state, reference)

        self.set(name, act)


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_adapters px4_adapter``."""
    sys.exit(run(Px4Node, args))


if __name__ == "__main__":
    main()
