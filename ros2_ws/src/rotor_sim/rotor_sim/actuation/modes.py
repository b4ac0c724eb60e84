"""Actuation modes: wrenches that act directly, rotors with a lag, or propellers as bodies that are turned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from math import sqrt

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.kernels.jit import kernel
from rotor_core.vehicles.rotors import (
    RotorSet,
    rotor_limits,
    rotor_set,
    rotor_speeds,
    rotor_thrusts,
)
from rotor_dynamics.engine import Engine
from rotor_sim.environment.rotor_air import THRUST, TORQUE, RotorAir
from rotor_sim.plant.system import thrust_gain, thrust_gain_rate


def start_internal_rotors(engine: Engine, scenario: Scenario, time: float) -> None:
    """Let the internal rotors of all entities turn as the scenario says, counted from ``time``."""
    stored = [r for e in scenario.model.entities for r in e.internal_rotors]
    first = len(engine.system.rotors) - len(stored)
    for i, r in enumerate(stored):
        phase = r.phase_rad - 2.0 * np.pi * r.frequency_hz * time
        engine.rotors.prescribe(first + i, r.speed_rad_s, r.amplitude_rad_s, r.frequency_hz, phase)


@kernel
def age_rotors(elapsed, rates, drifted):
    """Write thrust over what it was at the start, (n_vehicles,), after ``elapsed`` s at its ``rates``, 1/s (R.21)."""
    for v in range(rates.shape[0]):
        drifted[v] = max(1.0 + rates[v] * elapsed, 0.0)


@kernel
def bound_speeds(speeds, first, pace, drifted, health, fastest):
    """Bring wanted speeds of rotors, rad/s, down to those that faults, age and power admit, in place.

    Args:
        speeds: of all rotors of all vehicles, (>= n_rotors,).
        first: rotor of each vehicle, and the number of all, (n_vehicles + 1,).
        pace, drifted, fastest: of every vehicle, (n_vehicles,); health: of every rotor; see :class:`Actuators`.
    """
    for v in range(pace.shape[0]):
        share = pace[v] * sqrt(drifted[v])
        for k in range(first[v], first[v + 1]):
            speeds[k] = min(speeds[k] * share * sqrt(health[k]), fastest[v])


@kernel
def thrusts_at(speeds, per_speed2, out):
    """Thrusts in air at rest, (n_rotors,) N, of rotors at speeds (n_rotors,) rad/s."""
    for k in range(speeds.shape[0]):
        out[k] = per_speed2[k] * speeds[k] * abs(speeds[k])


@kernel
def give_in_air(thrusts, factors, counts, mixing, torques, wrenches):
    """Write the wrenches (n_vehicles, 4) that rotors give whose thrusts in air at rest are known.

    Args:
        thrusts: (n_rotors,) N.
        factors: of :class:`RotorAir`, (2, n_rotors).
        counts: rotors of each vehicle.
        mixing: wrench of unit thrusts of each, (n_vehicles, 4, most rotors).
        torques: drag torque of unit thrusts, in body axes, (n_vehicles, most rotors, 3) m.
    """
    row = 0
    for v in range(counts.shape[0]):
        for channel in range(4):
            wrenches[v, channel] = 0.0
        for k in range(counts[v]):
            given = thrusts[row] * factors[THRUST, row]
            more = thrusts[row] * factors[TORQUE, row] - given
            for channel in range(4):  # as if drag followed the thrust
                wrenches[v, channel] += mixing[v, channel, k] * given
            for axis in range(3):
                wrenches[v, 1 + axis] += torques[v, k, axis] * more
            row += 1


class Actuators(ABC):
    """Common base of all kinds of actuators.

    Attributes:
        layouts: rotors of all vehicles, for kernels.
        limits: of the rotors; None: they have none.
        applied: wrenches after limits, (n_vehicles, 4).
        first_rotors: rotor of each vehicle among all, and the number of all, (n_vehicles + 1,).
        health: of every rotor of all vehicles, thrust that it gives over what it should, (n_rotors,).
        fastest: speed that the power of each vehicle admits, (n_vehicles,) rad/s.
        pace: speed that motors reach over the one they are told, by their batteries, (n_vehicles,).
        gain_rates: of the thrust of each vehicle, (n_vehicles,) 1/s.
        drifted: thrust over what it was at the start, (n_vehicles,).
        begun: whether there has been a command of each vehicle since the last reset, (n_vehicles,) bool.
        rotor_air: the air at the rotors; None: it changes nothing.
        thrusts: what rotors would give in air at rest, as of the last look at the air, (n_rotors,) N.
    """

    rotor_air: RotorAir | None = None

    def __init__(self, scenario: Scenario, sets: list[RotorSet]) -> None:
        self.sets = sets
        self.layouts = rotor_limits(sets, can_stop=scenario.motors_can_stop)
        self.limits = self.layouts if scenario.actuation.limits else None
        self.applied = np.zeros((len(sets), 4))
        self.per_speed2 = np.array([s.thrust_per_speed2 for s in sets])
        self.first_rotors = np.concatenate([[0], np.cumsum(self.layouts.counts)]).astype(np.int64)
        self.health = np.ones(self.first_rotors[-1])
        self.thrusts = np.zeros(self.first_rotors[-1])
        self.fastest = np.full(len(sets), np.inf)
        self.pace = np.ones(len(sets))
        self.begun = np.zeros(len(sets), bool)
        vehicles = scenario.model.vehicles
        self.gain_rates = np.array([thrust_gain_rate(scenario, v.name) for v in vehicles])
        self.drifted = np.ones(len(sets))
        self.drifts = bool(self.gain_rates.any())
        self._is_always_bounded = self.drifts or any(v.rotors.motor is not None for v in vehicles)
        self._is_bounded = self._is_always_bounded

    @property
    def is_running(self) -> bool:
        """True if there has been a command since the last reset."""
        return bool(self.begun.any())

    @property
    def are_free(self) -> bool:
        """Neither faults nor power nor age bound the speeds."""
        return not self._is_bounded

    def age(self, elapsed: float) -> None:
        """Let thrust gains drift to what they are after ``elapsed`` s of the scenario (R.21)."""
        age_rotors(elapsed, self.gain_rates, self.drifted)

    def weaken(self, vehicle: int, rotor: int, gain: float) -> None:
        """Let a rotor of a vehicle (rows) give ``gain`` of the thrust that it should."""
        self.health[self.first_rotors[vehicle] + rotor] = gain
        self._is_bounded = True

    def take_over(self, other: Actuators, mine: list[int], theirs: list[int]) -> None:
        """Let the same vehicles in another world go on, by their rows here and there."""
        for name in ("applied", "begun", "pace", "fastest"):
            getattr(self, name)[mine] = getattr(other, name)[theirs]

    def reset(self) -> None:
        """Nothing acts, everything is well."""
        self.applied[:] = 0.0
        self.health[:] = 1.0
        self.fastest[:] = np.inf
        self.pace[:] = self.drifted[:] = 1.0
        self._is_bounded = self._is_always_bounded
        self.begun[:] = False

    def _apply(self, wrenches: np.ndarray) -> None:
        """Keep what limits leave of a command, (n_vehicles, 4)."""
        self.applied[:] = wrenches
        if self.limits:
            self.limits.apply(self.applied)

    def split(self, of_rotors: np.ndarray) -> list[np.ndarray]:
        """Numbers of all rotors, (n_rotors,), by vehicles."""
        return [of_rotors[a:b] for a, b in pairwise(self.first_rotors)]

    def bounds(self) -> tuple[np.ndarray, ...]:
        """Of :func:`bound_speeds`, after the speeds."""
        return self.first_rotors, self.pace, self.drifted, self.health, self.fastest

    def _wanted(self, wrenches: np.ndarray, speeds: np.ndarray) -> None:
        """Write what a command asks of rotors, (>= n_rotors,), as far as limits, faults and power admit (A.2, A.3)."""
        self._apply(wrenches)
        layouts = self.layouts
        rotor_speeds(layouts.unmixing, layouts.counts, self.per_speed2, self.applied, speeds)
        if self._is_bounded:
            bound_speeds(speeds, *self.bounds())

    def renew(self, engine: Engine) -> None:  # noqa: B027 (most have nothing to do)
        """Go on in an engine that was made anew, whose rotors give what they do in air at rest."""

    @abstractmethod
    def act(self, engine: Engine, wrenches: np.ndarray) -> None:
        """Take up commands, (n_vehicles, 4)."""

    def recall(  # noqa: B027 (most have nothing to do)
        self, engine: Engine, times: np.ndarray, wrenches: np.ndarray
    ) -> None:
        """Let rotors that lag turn as commands before now have left them, (m,) s and (m, n_vehicles, 4)."""

    @abstractmethod
    def speeds(self, engine: Engine) -> list[np.ndarray]:
        """Speeds of the rotors of every vehicle, rad/s."""


class WrenchActuators(Actuators):
    """Thrust and moment of every vehicle act at once, scaled by its thrust gain, within its rotors' limits.

    Attributes:
        gain: thrust gains, (n_vehicles, 1).
    """

    def __init__(self, scenario: Scenario) -> None:
        vehicles = scenario.model.vehicles
        gains = [thrust_gain(scenario, v.name) for v in vehicles]
        sets = [rotor_set(v.rotors, thrust_gain=k) for v, k in zip(vehicles, gains, strict=True)]
        super().__init__(scenario, sets)
        self.gain = np.array(gains).reshape(-1, 1)
        self._turning = np.zeros((len(sets), 4))
        """What the rotors would give in air at rest."""
        most = self.layouts.unmixing.shape[1]
        self.mixing, self.torques = np.zeros((len(sets), 4, most)), np.zeros((len(sets), most, 3))
        """As :func:`give_in_air` takes them."""
        for i, (s, v) in enumerate(zip(sets, vehicles, strict=True)):
            self.mixing[i, :, : s.count], self.torques[i, : s.count] = s.mixing, v.rotors.torques

    def take_over(self, other: Actuators, mine: list[int], theirs: list[int]) -> None:
        """See :class:`Actuators`."""
        super().take_over(other, mine, theirs)
        if isinstance(other, WrenchActuators):
            self._turning[mine] = other._turning[theirs]

    def reset(self) -> None:
        """Nothing acts, nothing turns."""
        super().reset()
        self._turning[:] = 0.0

    def act(self, engine: Engine, wrenches: np.ndarray) -> None:
        """Take up commands, (n_vehicles, 4)."""
        self._apply(self.gain * wrenches)
        if self._is_bounded:
            self._bound()
        self._turning[:] = self.applied
        if self.rotor_air is not None:
            self._feel(self.rotor_air, engine)
        engine.hold(self.applied)
        self.begun[:] = True

    def _bound(self) -> None:
        """Limit the wrenches to what faults and power leave of them."""
        for i, (s, health) in enumerate(zip(self.sets, self.split(self.health), strict=True)):
            given = health * self.drifted[i] * self.pace[i] ** 2
            if np.any(given != 1.0) or self.fastest[i] < np.inf:
                most = s.thrust_per_speed2 * self.fastest[i] ** 2
                thrusts = np.minimum(given * (s.unmixing @ self.applied[i]), most)
                self.applied[i] = s.mixing @ thrusts

    def _feel(self, air: RotorAir, engine: Engine) -> None:
        """Let rotors give what they give in the air that moves through them."""
        counts = self.layouts.counts
        rotor_thrusts(self.layouts.unmixing, counts, self.applied, self.thrusts)
        air.look(engine, self.thrusts)
        give_in_air(self.thrusts, air.factors, counts, self.mixing, self.torques, self.applied)

    def speeds(self, engine: Engine) -> list[np.ndarray]:
        """Speeds that would give the acting wrenches in air at rest, rad/s."""
        return [s.speeds(w) for s, w in zip(self.sets, self._turning, strict=True)]


class RotorActuators(Actuators):
    """Commands become speeds of rotors (A.2), which follow with their lag.

    What a command asks beyond the rotors is limited first (A.3). The first command after a reset
    finds its rotors at speed: a vehicle starts in the air.
    """

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario, [rotor_set(v.rotors) for v in scenario.model.vehicles])

    def act(self, engine: Engine, wrenches: np.ndarray) -> None:
        """Take up commands, (n_vehicles, 4)."""
        speeds = self._asked(engine, wrenches)
        if not self.begun.all():
            begin = np.arange(len(speeds)) < self.first_rotors[-1]
            begin[: self.first_rotors[-1]] = np.repeat(~self.begun, np.diff(self.first_rotors))
            engine.rotors.start(speeds, only=begin)
        if self.begun.any():
            engine.rotors.act(speeds)
        self.begun[:] = True
        if self.rotor_air is not None:
            now = engine.rotors.speeds[: self.first_rotors[-1]]
            thrusts_at(now, self.rotor_air.per_speed2, self.thrusts)
            self.rotor_air.look(engine, self.thrusts)
            self.renew(engine)

    def _asked(self, engine: Engine, wrenches: np.ndarray) -> np.ndarray:
        """Speeds of all rotors that commands ask for, (n_rotors,) rad/s; those of others stay."""
        speeds = engine.rotors.targets
        self._wanted(wrenches, speeds)
        return speeds

    def recall(self, engine: Engine, times: np.ndarray, wrenches: np.ndarray) -> None:
        """See :class:`Actuators`."""
        if engine.rotors.all_lag and len(times):  # others react to a command at once
            engine.rotors.recall(times, np.array([self._asked(engine, w) for w in wrenches]))
            self.begun[:] = True

    def renew(self, engine: Engine) -> None:
        """Let the rotors of an engine give what the air at the last look leaves them."""
        if self.rotor_air is not None:
            engine.rotors.scale(self.rotor_air.factors)

    def speeds(self, engine: Engine) -> list[np.ndarray]:
        """True speeds, rad/s."""
        return self.split(engine.rotors.speeds[: self.first_rotors[-1]])


class PropellerActuators(Actuators):
    """Commands become speeds of propellers that are bodies on joints, which come last among all joints.

    ``driven``: they turn at these speeds, with their lag. Otherwise motors turn them: a torque, held for a
    control period, for the drag of the air and for the way to the wanted speed (R.18).
    """

    def __init__(self, scenario: Scenario) -> None:
        vehicles = scenario.model.vehicles
        super().__init__(scenario, [rotor_set(v.rotors) for v in vehicles])
        self._first = sum(len(v.moving_joints) for v in vehicles)
        self._spins = [v.rotors.spins for v in vehicles]
        self._lags = [v.rotors.lag_s for v in vehicles]
        self._driven = scenario.actuation.mode == "propellers"
        gains = [thrust_gain(scenario, v.name) for v in vehicles]
        self._drag = [
            k * s.thrust_per_speed2 * v.rotors.torque_per_thrust_m
            for k, s, v in zip(gains, self.sets, vehicles, strict=True)
        ]
        h = scenario.time.control_s
        self._gains = [
            v.rotors.propeller.inertia_kg_m2[2] * (1.0 - np.exp(-h / v.rotors.lag_s)) / h
            for v in vehicles
            if v.rotors.propeller
        ]

    def act(self, engine: Engine, wrenches: np.ndarray) -> None:
        """Take up commands, (n_vehicles, 4)."""
        first, told = self._first, np.zeros(self.first_rotors[-1])
        self._wanted(wrenches, told)
        efforts, commanded = np.zeros(len(engine.joints)), np.zeros(len(engine.joints), bool)
        for i, (wanted, spins) in enumerate(zip(self.split(told), self._spins, strict=True)):
            rates = spins * wanted
            own = slice(first, first + len(rates))
            if self._driven:
                engine.joints.turn(first, rates, self._lags[i] if self.begun[i] else 0.0)
            else:
                if not self.begun[i]:
                    engine.joints.set_rates(first, rates)
                now = engine.joints.rates[own]
                drag = self._drag[i] * now * np.abs(now)
                efforts[own] = drag + self._gains[i] * (rates - now)
                commanded[own] = True
            first += len(rates)
        if not self._driven:
            engine.joints.act(efforts, only=commanded)
        self.begun[:] = True

    def speeds(self, engine: Engine) -> list[np.ndarray]:
        """True speeds, rad/s."""
        ends = self._first + np.cumsum([len(s) for s in self._spins])
        return [
            spins * engine.joints.rates[end - len(spins) : end]
            for spins, end in zip(self._spins, ends, strict=True)
        ]


KINDS = {
    "wrench": WrenchActuators,
    "rotors": RotorActuators,
    "propellers": PropellerActuators,
    "motors": PropellerActuators,
}
"""Actuators by the mode of the scenario."""
