"""Power drawn by the rotors: torque, current and power of every motor, charge of every battery.

Taken every now and then from the speeds of the rotors, whose rates are means over that time. Equations
(R.14), (R.16), (R.17), (R.20), docs/theory/rotors_and_air.md.
"""

from __future__ import annotations

import numpy as np

from rotor_core.config.model import Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.vehicles.rotors import rotor_set
from rotor_sim.actuation.modes import Actuators
from rotor_sim.plant.system import thrust_gain

SECONDS_PER_HOUR = 3600.0


class PowerTrain:
    """Motors and battery of one vehicle.

    Args:
        vehicle: with ``rotors.motor``.
        thrust_gain: of the vehicle in reality.
        spins_up: whether changes of speed take torque; not where wrenches act at once.

    Attributes:
        torque: of every motor at its propeller, (n,) N m.
        current, voltage, power: that every motor takes, (n,) A, V, W.
        battery_voltage, battery_current: V, A; NaN without a battery.
        charge: 0..1; NaN without a battery.
        energy: taken since the start, J.
        sag: voltage of the battery over what it should be.
    """

    def __init__(
        self, vehicle: Vehicle, thrust_gain: float = 1.0, *, spins_up: bool = True
    ) -> None:
        motor = vehicle.rotors.motor
        assert motor is not None
        self.name, self._motor, self._battery = vehicle.name, motor, vehicle.battery
        rotors = rotor_set(vehicle.rotors)
        self._drag = thrust_gain * rotors.thrust_per_speed2 * vehicle.rotors.torque_per_thrust_m
        self._inertia = vehicle.rotors.inertia_kg_m2 if spins_up else 0.0
        self._n = rotors.count
        self.reset()

    def reset(self) -> None:
        """A fresh battery, motors at rest."""
        n = self._n
        self.torque, self.current = np.zeros(n), np.zeros(n)
        self.voltage, self.power = np.zeros(n), np.zeros(n)
        self.energy, self.sag = 0.0, 1.0
        self.battery_current = 0.0 if self._battery else np.nan
        self.charge = self._battery.charge if self._battery else np.nan
        self._speeds: np.ndarray | None = None
        self._steady_current = 0.0

    @property
    def battery_voltage(self) -> float:
        """Voltage of the battery under its load, V (R.17); NaN without one."""
        if self._battery is None:
            return np.nan
        return max(self._open_circuit - self._battery.resistance_ohm * self.battery_current, 0.0)

    @property
    def _open_circuit(self) -> float:
        """Voltage of the battery without load, V."""
        assert self._battery is not None
        empty, full = self._battery.voltage_v
        return self.sag * (empty + (full - empty) * self.charge)

    def run(self, speeds: np.ndarray, period: float, torques: np.ndarray | float = 1.0) -> None:
        """Take up the speeds (n,) rad/s of the rotors after ``period`` s.

        ``torques``: of the air on the rotors over those at rest, (n,).
        """
        before = speeds if self._speeds is None else self._speeds
        rates = (speeds - before) / period if period > 0.0 else np.zeros(self._n)
        self._speeds = speeds.copy()
        drag = torques * self._drag * speeds * np.abs(speeds)
        self.torque = drag + self._inertia * rates
        motor = self._motor
        idle = motor.idle_current_a * (np.abs(speeds) > 0.0)
        self.current = self.torque * motor.speed_per_volt + idle
        if (
            motor.resistance_ohm and self._battery is not None
        ):  # no more flows than that through the motor
            most = self._open_circuit / motor.resistance_ohm
            self.current = np.clip(self.current, -most, most)
        self._steady_current = float((drag * motor.speed_per_volt + idle).max())
        self.voltage = speeds / motor.speed_per_volt + motor.resistance_ohm * self.current
        self.power = self.voltage * self.current
        if (
            motor.max_power_w is not None
        ):  # speed follows with its lag, whatever that takes: no more than this is counted
            self.power = np.clip(self.power, -motor.max_power_w, motor.max_power_w)
        total = float(self.power.sum())
        self.energy += total * period
        if self._battery is not None:
            # the current I with I (U - R I) = P; at most that of the largest power, U/2R
            U, R = self._open_circuit, self._battery.resistance_ohm
            if R > 0.0:
                root = np.sqrt(max(U * U - 4.0 * R * total, 0.0))
                self.battery_current = (U - root) / (2.0 * R)
            else:
                self.battery_current = total / U if U > 0.0 else 0.0
            used = self.battery_current * period / SECONDS_PER_HOUR
            self.charge = float(np.clip(self.charge - used / self._battery.capacity_ah, 0.0, 1.0))

    def pace(self, speeds: np.ndarray, before: float) -> float:
        """Speed that motors reach over the one they are told, where they get a share of the voltage (R.20).

        Args:
            speeds: of all rotors, (n,) rad/s; told apart by their mean.
            before: the pace that they were reached with.
        """
        battery, motor = self._battery, self._motor
        if battery is None or battery.assumed_v is None:
            return 1.0
        told = float(speeds.mean()) / before if before > 0.0 else 0.0
        if told <= 0.0:
            return before
        k, R = motor.speed_per_volt, motor.resistance_ohm
        idle, square = R * motor.idle_current_a, R * k * self._drag
        needed = idle + told / k + square * told**2
        left = needed * self.battery_voltage / battery.assumed_v - idle
        if left <= 0.0:
            return 0.0
        reached = 2.0 * left / (1.0 / k + np.sqrt(1.0 / k**2 + 4.0 * square * left))
        return float(reached / told)

    @property
    def fastest(self) -> float:
        """Speed beyond which the voltage or the power of a motor ends, rad/s."""
        most = np.inf
        if self._motor.max_power_w is not None and self._drag > 0.0:
            most = (self._motor.max_power_w / self._drag) ** (1.0 / 3.0)
        if self._battery is not None:
            if self.charge <= 0.0:
                return 0.0
            left = self.battery_voltage - self._motor.resistance_ohm * self._steady_current
            most = min(most, max(left, 0.0) * self._motor.speed_per_volt)
        return most


PERIOD = 0.01
"""Motors and batteries are looked at this often, s, or once per control period."""

ROUNDING = 1e-9


class PowerSupply:
    """Motors and batteries of all vehicles that have them.

    Attributes:
        trains: by the row of their vehicle.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.trains = {
            i: PowerTrain(
                v, thrust_gain(scenario, v.name), spins_up=scenario.actuation.mode != "wrench"
            )
            for i, v in enumerate(scenario.model.vehicles)
            if v.rotors.motor is not None
        }
        self._looked_at: float | None = None

    def reset(self) -> None:
        """Fresh batteries, motors at rest."""
        self._looked_at = None
        for train in self.trains.values():
            train.reset()

    def run(self, time: float, speeds: list[np.ndarray], actuators: Actuators) -> None:
        """Take up the speeds of all rotors at ``time``; actuators get what motors and batteries admit."""
        since = 0.0 if self._looked_at is None else time - self._looked_at
        if self._looked_at is not None and since < PERIOD - ROUNDING:
            return
        self._looked_at = time
        ends = np.cumsum([len(s) for s in speeds])
        air = actuators.rotor_air
        for i, train in self.trains.items():
            own = slice(ends[i] - len(speeds[i]), ends[i])
            train.run(speeds[i], since, 1.0 if air is None else air.torque_factors[own])
            actuators.fastest[i] = train.fastest
            actuators.pace[i] = train.pace(speeds[i], actuators.pace[i])
