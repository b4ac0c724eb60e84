"""Power drawn by the rotors: torque, current and power of every motor, charge of every battery.

Taken every now and then from the speeds of the rotors, whose rates are means over that time. Equations
(R.14), (R.16), (R.17), (R.20), docs/theory/rotors_and_air.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import copysign, inf, nan, sqrt

import numpy as np

from rotor_core.config.model import Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.kernels.jit import constants, inlined, kernel
from rotor_core.vehicles.rotors import rotor_set
from rotor_sim.actuation.modes import Actuators
from rotor_sim.plant.system import thrust_gain

SECONDS_PER_HOUR = 3600.0

PERIOD = 0.01
"""Motors and batteries are looked at this often, s, or once per control period."""

ROUNDING = 1e-9

(
    DRAG, INERTIA, SPEED_PER_VOLT, RESISTANCE, IDLE_CURRENT, MOST_POWER, HAS_BATTERY, EMPTY, FULL, BATTERY_RESISTANCE,
    CAPACITY, ASSUMED,
) = constants(*range(12))  # fmt: skip
"""Columns of the settings of a train; ``MOST_POWER`` is inf and ``ASSUMED`` 0 where there is none."""
SETTINGS = 12

ENERGY, SAG, BATTERY_CURRENT, CHARGE, STEADY_CURRENT, HAS_RUN = constants(*range(6))
"""Columns of the state of a train."""
STATE = 6

SPEED, TORQUE, CURRENT, VOLTAGE, POWER = constants(*range(5))
"""Columns of the state of a motor."""
MOTOR_STATE = 5


@inlined
def open_circuit(settings, state):
    """Voltage of a battery without load, V."""
    span = settings[FULL] - settings[EMPTY]
    return state[SAG] * (settings[EMPTY] + span * state[CHARGE])


@kernel
def loaded(settings, state):
    """Voltage of a battery under its load, V (R.17)."""
    lost = settings[BATTERY_RESISTANCE] * state[BATTERY_CURRENT]
    return max(open_circuit(settings, state) - lost, 0.0)


@kernel
def run_train(speeds, period, torque_factors, settings, state, motors):
    """Take up the speeds (n,) rad/s of the rotors after ``period`` s.

    Args:
        torque_factors: of the air on the rotors over those at rest, (n,).
        settings, state, motors: of a train, (12,), (6,) and (>= n, 5); the last two are updated.
    """
    with_battery = settings[HAS_BATTERY] != 0.0
    per_volt, resistance = settings[SPEED_PER_VOLT], settings[RESISTANCE]
    steady, total = -inf, 0.0
    for k in range(speeds.shape[0]):
        motor, speed = motors[k], speeds[k]
        rate = 0.0
        if period > 0.0 and state[HAS_RUN] != 0.0:
            rate = (speed - motor[SPEED]) / period
        drag = torque_factors[k] * settings[DRAG] * speed * abs(speed)
        torque = drag + settings[INERTIA] * rate
        idle = settings[IDLE_CURRENT] if abs(speed) > 0.0 else 0.0
        # speed follows with its lag, whatever that takes: at the shaft no more than this is counted
        counted = torque
        if abs(torque * speed) > settings[MOST_POWER]:
            counted = copysign(settings[MOST_POWER] / speed, torque)
        current = counted * per_volt + idle
        if resistance != 0.0 and with_battery:  # no more flows than that through the motor
            most = open_circuit(settings, state) / resistance
            current = min(max(current, -most), most)
        steady = max(steady, drag * per_volt + idle)
        voltage = speed / per_volt + resistance * current
        power = voltage * current
        motor[SPEED], motor[TORQUE], motor[CURRENT] = speed, torque, current
        motor[VOLTAGE], motor[POWER] = voltage, power
        total += power
    state[STEADY_CURRENT], state[HAS_RUN] = steady, 1.0
    state[ENERGY] += total * period
    if with_battery:
        # the current I with I (U - R I) = P; at most that of the largest power, U/2R
        U, R = open_circuit(settings, state), settings[BATTERY_RESISTANCE]
        square = U * U - 4.0 * R * total
        if not U > 0.0:
            state[BATTERY_CURRENT] = 0.0
        elif square > 0.0:  # also without resistance
            state[BATTERY_CURRENT] = 2.0 * total / (U + sqrt(square))
        else:
            state[BATTERY_CURRENT] = U / (2.0 * R)
        used = state[BATTERY_CURRENT] * period / SECONDS_PER_HOUR
        state[CHARGE] = min(max(state[CHARGE] - used / settings[CAPACITY], 0.0), 1.0)


@kernel
def pace_of(speeds, before, settings, state):
    """Speed that motors reach over the one they are told, where they get a share of the voltage (R.20).

    Args:
        speeds: of all rotors, (n,) rad/s; told apart by their mean.
        before: the pace that they were reached with.
        settings, state: of a train.
    """
    if settings[HAS_BATTERY] == 0.0 or settings[ASSUMED] == 0.0:
        return 1.0
    total = 0.0
    for k in range(speeds.shape[0]):
        total += speeds[k]
    told = total / speeds.shape[0] / before if before > 0.0 else 0.0
    if told <= 0.0:
        return before
    k, R = settings[SPEED_PER_VOLT], settings[RESISTANCE]
    idle, square = R * settings[IDLE_CURRENT], R * k * settings[DRAG]
    needed = idle + told / k + square * told * told
    left = needed * loaded(settings, state) / settings[ASSUMED] - idle
    if left <= 0.0:
        return 0.0
    reached = 2.0 * left / (1.0 / k + sqrt(1.0 / (k * k) + 4.0 * square * left))
    return reached / told


@kernel
def fastest_of(settings, state):
    """Speed beyond which the voltage or the power of a motor ends, rad/s."""
    most = inf
    if settings[MOST_POWER] < inf and settings[DRAG] > 0.0:
        most = (settings[MOST_POWER] / settings[DRAG]) ** (1.0 / 3.0)
    if settings[HAS_BATTERY] != 0.0:
        if state[CHARGE] <= 0.0:
            return 0.0
        left = loaded(settings, state) - settings[RESISTANCE] * state[STEADY_CURRENT]
        most = min(most, max(left, 0.0) * settings[SPEED_PER_VOLT])
    return most


@kernel
def tell_batteries(settings, state, out):
    """Write charge and voltage, V, of the battery of every train, (n, 2); NaN without one."""
    for i in range(out.shape[0]):
        has = settings[i, HAS_BATTERY] != 0.0
        out[i, 0] = state[i, CHARGE] if has else nan
        out[i, 1] = loaded(settings[i], state[i]) if has else nan


@kernel
def supply(
    t, speeds, torque_factors, first, vehicles, settings, state, motors, looked_at, fastest, pace
):
    """Take up the speeds of all rotors at time ``t``, where they are looked at again, and say what trains admit.

    Args:
        t: s.
        speeds, torque_factors: of all rotors of all vehicles, (n_rotors,).
        first: rotor of each vehicle, and the number of all, (n_vehicles + 1,).
        vehicles: rows of those with trains, (n,).
        settings, state, motors: of the trains.
        looked_at: when that was done last, (1,) s, updated; -inf: never.
        fastest, pace: of every vehicle, (n_vehicles,), written where there is a train; see
            :class:`rotor_sim.actuation.modes.Actuators`.
    """
    begins = looked_at[0] == -inf
    since = 0.0 if begins else t - looked_at[0]
    if not begins and since < PERIOD - ROUNDING:
        return
    looked_at[0] = t
    for i in range(vehicles.shape[0]):
        v = vehicles[i]
        own, factors = speeds[first[v] : first[v + 1]], torque_factors[first[v] : first[v + 1]]
        run_train(own, since, factors, settings[i], state[i], motors[i])
        fastest[v] = fastest_of(settings[i], state[i])
        pace[v] = pace_of(own, pace[v], settings[i], state[i])


class PowerSupply:
    """Motors and batteries of all vehicles that have them, for :func:`supply`.

    Args:
        vehicles: with ``rotors.motor``, by their row among all vehicles.
        gains: of the thrust of each in reality.
        spins_up: whether changes of speed take torque; not where wrenches act at once.
        has_propellers: whether propellers are bodies, which have the inertia that turns.

    Attributes:
        vehicles: rows of those with trains, (n,).
        settings, state, motors: of every train, (n, 12), (n, 6) and (n, most motors, 5).
        looked_at: when speeds were taken up last, (1,) s; -inf: never.
        trains: by the row of their vehicle.
    """

    def __init__(
        self, vehicles: Mapping[int, Vehicle], gains: Mapping[int, float], *, spins_up: bool = True,
        has_propellers: bool = False,
    ) -> None:  # fmt: skip
        self.vehicles = np.array(list(vehicles), np.int64)
        self.settings = np.array(
            [_settings_of(v, gains[i], spins_up, has_propellers) for i, v in vehicles.items()]
        ).reshape(-1, SETTINGS)
        counts = [len(v.rotors.spins) for v in vehicles.values()]
        self.state = np.zeros((len(vehicles), STATE))
        self.motors = np.zeros((len(vehicles), max(counts, default=0), MOTOR_STATE))
        self.looked_at = np.full(1, -inf)
        self._charges = np.array(
            [v.battery.charge if v.battery else 0.0 for v in vehicles.values()]
        )
        self.trains = {
            row: PowerTrain(v.name, self, i, n)
            for i, ((row, v), n) in enumerate(zip(vehicles.items(), counts, strict=True))
        }
        self.reset()

    @classmethod
    def of(cls, scenario: Scenario) -> PowerSupply:
        """Motors and batteries of a scenario."""
        vehicles = {
            i: v for i, v in enumerate(scenario.model.vehicles) if v.rotors.motor is not None
        }
        gains = {i: thrust_gain(scenario, v.name) for i, v in vehicles.items()}
        actuation = scenario.actuation
        return cls(
            vehicles,
            gains,
            spins_up=actuation.mode != "wrench",
            has_propellers=actuation.has_propellers,
        )

    def reset(self) -> None:
        """Fresh batteries, motors at rest."""
        self.state[:] = self.motors[:] = 0.0
        self.state[:, SAG], self.state[:, CHARGE] = 1.0, self._charges
        self.looked_at[:] = -inf

    def run(self, time: float, speeds: np.ndarray, actuators: Actuators) -> None:
        """Take up the speeds of all rotors at ``time``, (n_rotors,); actuators get what motors and batteries admit."""
        supply(time, speeds, *self.arguments(actuators))

    def batteries(self, state: np.ndarray) -> dict[str, tuple[float, float]]:
        """Charge and voltage of every vehicle in a state of the trains, (n, 6); NaN without a battery."""
        found = np.empty((len(state), 2))
        tell_batteries(self.settings, state, found)
        return {
            train.name: (charge, voltage)
            for train, (charge, voltage) in zip(self.trains.values(), found.tolist(), strict=True)
        }

    def figures(self) -> dict[str, dict[str, float]]:
        """Energy taken, W h, and charge of every vehicle, as plain data."""
        return {
            train.name: {"energy_wh": train.energy / SECONDS_PER_HOUR, "charge": train.charge}
            for train in self.trains.values()
        }

    def arguments(self, actuators: Actuators) -> tuple[np.ndarray, ...]:
        """Of :func:`supply`, after the time and the speeds."""
        air, first = actuators.rotor_air, actuators.first_rotors
        factors = np.ones(first[-1]) if air is None else air.torque_factors
        return (
            factors, first, self.vehicles, self.settings, self.state, self.motors, self.looked_at, actuators.fastest,
            actuators.pace,
        )  # fmt: skip


class PowerTrain:
    """Motors and battery of one vehicle.

    Args:
        name: of the vehicle.
        of: all trains.
        row: among these.
        n: number of motors.
    """

    def __init__(self, name: str, of: PowerSupply, row: int, n: int) -> None:
        self.name, self._of, self._row, self._n = name, of, row, n

    @property
    def _settings(self) -> np.ndarray:
        return self._of.settings[self._row]

    @property
    def _state(self) -> np.ndarray:
        return self._of.state[self._row]

    def _motors(self, column: int) -> np.ndarray:
        return self._of.motors[self._row, : self._n, column]

    @property
    def capacity_ah(self) -> float:
        """Of the battery when it is full, A h."""
        return float(self._settings[CAPACITY])

    @property
    def torque(self) -> np.ndarray:
        """Of every motor at its propeller, (n,) N m."""
        return self._motors(TORQUE)

    @property
    def current(self) -> np.ndarray:
        """That every motor takes, (n,) A."""
        return self._motors(CURRENT)

    @property
    def voltage(self) -> np.ndarray:
        """At every motor, (n,) V."""
        return self._motors(VOLTAGE)

    @property
    def power(self) -> np.ndarray:
        """That every motor takes, (n,) W."""
        return self._motors(POWER)

    @property
    def energy(self) -> float:
        """Taken since the start, J."""
        return float(self._state[ENERGY])

    @property
    def _has_battery(self) -> bool:
        return bool(self._settings[HAS_BATTERY])

    @property
    def battery_voltage(self) -> float:
        """Voltage of the battery under its load, V (R.17); NaN without one."""
        return float(loaded(self._settings, self._state)) if self._has_battery else np.nan

    @property
    def battery_current(self) -> float:
        """That the battery gives, A; NaN without one."""
        return float(self._state[BATTERY_CURRENT]) if self._has_battery else np.nan

    @property
    def charge(self) -> float:
        """Of the battery, 0..1; NaN without one."""
        return float(self._state[CHARGE]) if self._has_battery else np.nan

    @charge.setter
    def charge(self, share: float) -> None:
        self._state[CHARGE] = share

    @property
    def sag(self) -> float:
        """Voltage of the battery over what it should be."""
        return float(self._state[SAG])

    @sag.setter
    def sag(self, factor: float) -> None:
        self._state[SAG] = factor

    def run(self, speeds: np.ndarray, period: float) -> None:
        """Take up the speeds (n,) rad/s of the rotors in air at rest after ``period`` s."""
        run_train(
            speeds,
            period,
            np.ones(self._n),
            self._settings,
            self._state,
            self._of.motors[self._row],
        )

    def pace(self, speeds: np.ndarray, before: float) -> float:
        """See :func:`pace_of`."""
        return float(pace_of(speeds, before, self._settings, self._state))

    @property
    def fastest(self) -> float:
        """Speed beyond which the voltage or the power of a motor ends, rad/s."""
        return float(fastest_of(self._settings, self._state))


def _settings_of(vehicle: Vehicle, gain: float, spins_up: bool, has_propellers: bool) -> np.ndarray:
    motor, battery, rotors = vehicle.rotors.motor, vehicle.battery, rotor_set(vehicle.rotors)
    assert motor is not None
    out = np.zeros(SETTINGS)
    out[DRAG] = gain * rotors.thrust_per_speed2 * vehicle.rotors.torque_per_thrust_m
    propeller = vehicle.rotors.propeller if has_propellers else None
    turning = vehicle.rotors.inertia_kg_m2 if propeller is None else propeller.inertia_kg_m2[2]
    out[INERTIA] = turning if spins_up else 0.0
    out[SPEED_PER_VOLT], out[RESISTANCE] = motor.speed_per_volt, motor.resistance_ohm
    out[IDLE_CURRENT] = motor.idle_current_a
    out[MOST_POWER] = inf if motor.max_power_w is None else motor.max_power_w
    if battery is not None:
        out[HAS_BATTERY], out[BATTERY_RESISTANCE] = 1.0, battery.resistance_ohm
        out[EMPTY], out[FULL] = battery.voltage_v
        out[CAPACITY], out[ASSUMED] = battery.capacity_ah, battery.assumed_v or 0.0
    return out
