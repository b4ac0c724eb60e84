"""The air at the rotors of multirotors: their wakes, and what moving air and surfaces make of their thrust.

Looked at once per control period, like the wind, and held. Theory: docs/theory/air.md.
"""

from __future__ import annotations

import numpy as np

from rotor_core.config.air.wakes import Wakes
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.inflow import Inflow
from rotor_core.state import MOTION, State
from rotor_core.vehicles.rotors import rotor_set
from rotor_dynamics.engine import Engine
from rotor_sim.environment.inflow import air_factors, induced_velocities
from rotor_sim.environment.rotor_motion import make_jets, place_rotors, split
from rotor_sim.environment.surfaces import Surfaces
from rotor_sim.environment.wakes import OWNED_BY_NOBODY, wake_velocities
from rotor_sim.plant.system import thrust_gain

TINY = 1e-300
"""Divides in place of the thrust over squared speed of rotors that give none."""


class RotorAir:
    """Wakes and inflow of all rotors of a scenario, vehicle by vehicle.

    Args:
        scenario: its ``environment`` (wakes, effects of surfaces) and the ``inflow`` of its rotors.
        names: of all bodies, entities first.

    Attributes:
        wind: velocity of the air at every body without wakes, (n_bodies, 3) m/s; written by the simulation.
        air: the same with wakes, at the last look.
        thrust_factors, torque_factors: of every rotor, over those in air at rest, (n_rotors,).
    """

    def __init__(self, scenario: Scenario, names: list[str]) -> None:
        vehicles = scenario.model.vehicles
        self._wakes = scenario.environment.wakes
        self._density = scenario.environment.air.density
        counts = [len(v.rotors.spins) for v in vehicles]
        self._vehicle = np.repeat(np.arange(len(vehicles)), counts)
        self._hubs_B = np.concatenate([v.rotors.positions for v in vehicles])
        self._axes_B = np.concatenate([v.rotors.axes for v in vehicles])
        radii = np.repeat([v.rotors.radius_m for v in vehicles], counts)
        self._radii, self._areas = radii, np.pi * radii**2
        gains = [
            rotor_set(v.rotors, thrust_gain=thrust_gain(scenario, v.name)).thrust_per_speed2
            for v in vehicles
        ]
        blades = []
        for vehicle, count, gain in zip(vehicles, counts, gains, strict=True):
            rotors, radius = vehicle.rotors, vehicle.rotors.radius_m
            # without a radius the rotor is not looked at
            disc = self._density * np.pi * radius**4 if radius else np.inf
            thrust = gain / disc
            torque = thrust * rotors.torque_per_thrust_m / radius if radius else 0.0
            blown = self._wakes or scenario.environment.ceiling_effect
            inflow = rotors.inflow or (Inflow() if blown else None)
            slope = inflow.solidity * inflow.lift_slope if inflow else 0.0
            blades += [(radius, thrust, torque, slope)] * count
        ground = scenario.environment.ground_effect and scenario.actuation.mode == "wrench"
        self._surfaces = Surfaces(scenario.environment, radii, ground=ground)
        self._blades = np.array(blades, float).reshape(-1, 4)
        self._per_speed2 = np.repeat(gains, counts)
        of = {v.name: i for i, v in enumerate(vehicles)}
        self._owners = np.array([of.get(n.partition("/")[0], OWNED_BY_NOBODY) for n in names])
        n = len(self._vehicle)
        self._place_owners = np.concatenate([self._owners, self._vehicle])
        self._hubs, self._axes, self._speeds = np.zeros((3, n, 3))
        self._climbs, self._across, self._induced = np.zeros((3, n))
        self._jets, self._places = np.zeros((n, 8)), np.zeros((len(names) + n, 3))
        self.thrust_factors, self.torque_factors = np.ones(n), np.ones(n)
        self.wind = np.zeros((len(names), 3))
        self.air = self.wind.copy()
        self._load()

    def _load(self) -> None:
        """Load the kernels now: in real time the first period could not wait for them."""
        n = len(self._vehicle)
        motion = np.zeros((len(self._owners), int(MOTION)))
        State(motion).attitude[:, 0] = 1.0
        self._see(motion, np.ones(n))
        self.reset()

    def reset(self) -> None:
        """Still air."""
        self.thrust_factors[:] = self.torque_factors[:] = 1.0
        self.wind = np.zeros_like(self.wind)
        self.air = self.wind

    @classmethod
    def of(cls, scenario: Scenario, names: list[str]) -> RotorAir | None:
        """That of a scenario; None where rotors neither make wakes nor feel air or surfaces."""
        return cls(scenario, names) if scenario.rotors_feel_air else None

    def thrusts(self, speeds: np.ndarray) -> np.ndarray:
        """Thrusts in air at rest, (n_rotors,) N, of rotors at speeds (n_rotors,) rad/s."""
        return self._per_speed2 * speeds * np.abs(speeds)

    def look(self, engine: Engine, thrusts: np.ndarray) -> None:
        """Make wakes of the thrusts that rotors give in air at rest, (n_rotors,) N, and let everything feel them.

        Sets the wind of ``engine``.
        """
        self._see(engine.motion, thrusts)
        engine.set_wind(self.air)

    def _see(self, motion: np.ndarray, thrusts: np.ndarray) -> None:
        """:meth:`look` at the motion of all bodies."""
        own = self._vehicle
        hubs, axes, speeds = self._hubs, self._axes, self._speeds
        place_rotors(motion, own, self._hubs_B, self._axes_B, hubs, axes, speeds)
        self.air, at_hubs = self.wind, self.wind[own]
        if self._wakes:
            self.air, at_hubs = self._with_wakes(self._wakes, motion, thrusts, at_hubs)
        split(speeds, at_hubs, axes, self._climbs, self._across)
        turns = np.sqrt(np.maximum(thrusts, 0.0) / np.maximum(self._per_speed2, TINY))
        self._surfaces.look(hubs, axes)
        air_factors(
            self._blades, turns, self._climbs, self._across, self._surfaces.easing, self.thrust_factors,
            self.torque_factors,
        )  # fmt: skip
        self.thrust_factors *= self._surfaces.lift

    def _with_wakes(
        self, keys: Wakes, motion: np.ndarray, thrusts: np.ndarray, wind: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Velocity of the air with wakes at all bodies and all hubs; ``wind``: that at the hubs without, m/s."""
        hubs, climbs, across = self._hubs, self._climbs, self._across
        split(self._speeds, wind, self._axes, climbs, across)
        induced_velocities(
            keys.strength * thrusts, self._areas, climbs, across, self._density, self._induced
        )
        order = np.argsort(hubs[:, 0], kind="stable")
        make_jets(
            order, hubs, self._axes, self._speeds, wind, self._radii, self._induced, self._jets
        )
        bodies = len(self._owners)
        places, out = self._places, np.empty_like(self._places)
        places[:bodies], places[bodies:] = State(motion).position, hubs
        wake_velocities(
            self._jets, self._vehicle[order], keys.spreading, keys.reach_m, places, self._place_owners, out
        )  # fmt: skip
        return self.wind + out[:bodies], wind + out[bodies:]
