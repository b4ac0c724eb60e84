"""The air at the rotors of multirotors: their wakes, and what moving air and surfaces make of their thrust.

Looked at once per control period, like the wind, and held. Theory: docs/theory/air.md.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.inflow import Inflow
from rotor_core.kernels.jit import constants, inlined
from rotor_core.kernels.link import FLOATS, INTS, ROWS, TABLES, linked
from rotor_core.state import MOTION, P, State
from rotor_core.vehicles.rotors import rotor_set
from rotor_dynamics.engine import Engine
from rotor_sim.environment.inflow import air_factors, induced_velocities
from rotor_sim.environment.rotor_motion import make_jets, place_rotors, split
from rotor_sim.environment.surfaces import Ceilings, lift_of_ground
from rotor_sim.environment.wakes import OWNED_BY_NOBODY, wake_velocities
from rotor_sim.plant.system import thrust_gain

TINY = 1e-300
"""Divides in place of the thrust over squared speed of rotors that give none."""

HAS_WAKES, STRENGTH, SPREADING, REACH, DENSITY, HAS_GROUND, GROUND = constants(*range(7))
SETTINGS = 7
"""Whether there are wakes, and what they are (:class:`rotor_core.config.air.wakes.Wakes`); density of the air, kg/m^3;
whether the ground lifts rotors, and its height, m."""

RADIUS, AREA, PER_SPEED2 = constants(0, 1, 2)
"""Rows of what rotors are: m, m^2, N s^2/rad^2."""

HUBS, AXES, SPEEDS, AIR = constants(*range(4))
"""Places and axes of rotors, their velocities and those of the air there, all in W."""

CLIMBS, ACROSS, INDUCED, TURNS, EASING, LIFT = constants(*range(6))
"""Rows of how the air moves through rotors: see :func:`rotor_sim.environment.inflow.air_factors`."""

THRUST, TORQUE = constants(0, 1)
"""Rows of what rotors give over what they give in air at rest."""


@inlined
def sort_along(hubs, order):
    """Sort rows of rotors by the first coordinates of their hubs, by insertion; equal ones by their number.

    ``order``: of the last time, which is near.
    """
    for i in range(1, order.shape[0]):
        k, j = order[i], i
        while j > 0 and (
            hubs[order[j - 1], 0] > hubs[k, 0]
            or (not hubs[order[j - 1], 0] < hubs[k, 0] and order[j - 1] > k)
        ):
            order[j] = order[j - 1]
            j -= 1
        order[j] = k


@linked(
    ROWS, FLOATS, ROWS, FLOATS, INTS, ROWS, ROWS, ROWS, ROWS, INTS, TABLES, ROWS, INTS, INTS, ROWS, ROWS, ROWS,
    ROWS, ROWS, part="the air at rotors",
)  # fmt: skip
def look_at_air(
    motion, thrusts, wind, settings, vehicle, hubs_B, axes_B, rotors, blades, place_owners, moves, flows, order, owners,
    jets, places, blown, air, factors,
):  # fmt: skip
    """The air at all bodies and what rotors give in it, written into ``air`` and ``factors``.

    Args:
        motion: of all bodies, (n_bodies, 19).
        thrusts: that rotors give in air at rest, (n,) N.
        wind: velocity of the air at all bodies without wakes, (n_bodies, 3) m/s.
        settings: (SETTINGS,).
        vehicle, hubs_B, axes_B: row of the body of each rotor, (n,); place and axis there, (n, 3).
        rotors, blades: (3, n); as :func:`rotor_sim.environment.inflow.air_factors` takes them, (n, 4).
        place_owners: vehicle of all bodies and rotors, whose wakes they do not feel, (n_bodies + n,).
        moves, flows, owners, jets, places, blown: room, (4, n, 3), (6, n), (n,), (n, 8), twice (n_bodies + n, 3);
            ``flows`` has the easing of ceilings.
        order: of the rotors along x at the last look.
        air, factors: written, (n_bodies, 3) m/s and (2, n).
    """
    n_bodies = air.shape[0]
    hubs, axes, speeds, at_hubs = moves[HUBS], moves[AXES], moves[SPEEDS], moves[AIR]
    climbs, across, induced, turns = flows[CLIMBS], flows[ACROSS], flows[INDUCED], flows[TURNS]
    place_rotors(motion, vehicle, hubs_B, axes_B, hubs, axes, speeds)
    for b in range(n_bodies):
        for i in range(3):
            air[b, i] = wind[b, i]
    for k in range(vehicle.shape[0]):
        for i in range(3):
            at_hubs[k, i] = wind[vehicle[k], i]
    if settings[HAS_WAKES] != 0.0:
        split(speeds, at_hubs, axes, climbs, across)
        for k in range(vehicle.shape[0]):
            turns[k] = settings[STRENGTH] * thrusts[k]
        induced_velocities(turns, rotors[AREA], climbs, across, settings[DENSITY], induced)
        sort_along(hubs, order)
        make_jets(order, hubs, axes, speeds, at_hubs, rotors[RADIUS], induced, jets)
        for k in range(vehicle.shape[0]):
            owners[k] = vehicle[order[k]]
            for i in range(3):
                places[n_bodies + k, i] = hubs[k, i]
        for b in range(n_bodies):
            for i in range(3):
                places[b, i] = motion[b, P + i]
        wake_velocities(
            jets, owners, settings[SPREADING], settings[REACH], places, place_owners, blown
        )
        for i in range(3):
            for b in range(n_bodies):
                air[b, i] += blown[b, i]
            for k in range(vehicle.shape[0]):
                at_hubs[k, i] += blown[n_bodies + k, i]
    split(speeds, at_hubs, axes, climbs, across)
    for k in range(vehicle.shape[0]):
        turns[k] = 0.0
        if thrusts[k] > 0.0:
            turns[k] = sqrt(thrusts[k] / max(rotors[PER_SPEED2, k], TINY))
    if settings[HAS_GROUND] != 0.0:
        lift_of_ground(hubs, settings[GROUND], rotors[RADIUS], flows[LIFT])
    air_factors(blades, turns, climbs, across, flows[EASING], factors[THRUST], factors[TORQUE])
    for k in range(vehicle.shape[0]):
        factors[THRUST, k] *= flows[LIFT, k]


class RotorAir:
    """Wakes and inflow of all rotors of a scenario, vehicle by vehicle.

    Args:
        scenario: its ``environment`` (wakes, effects of surfaces) and the ``inflow`` of its rotors.
        names: of all bodies, entities first.

    Attributes:
        wind: velocity of the air at every body without wakes, (n_bodies, 3) m/s; written by the simulation.
        air: the same with wakes, at the last look.
        factors: thrust and torque of every rotor over those in air at rest, (2, n_rotors).
        per_speed2: thrust over squared speed of every rotor in air at rest, (n_rotors,) N s^2/rad^2.
        has_ceilings: whether obstacles above rotors are looked for, which compiled flights do not.
    """

    def __init__(self, scenario: Scenario, names: list[str]) -> None:
        vehicles, environment = scenario.model.vehicles, scenario.environment
        wakes, density = environment.wakes, environment.air.density
        counts = [len(v.rotors.spins) for v in vehicles]
        vehicle = np.repeat(np.arange(len(vehicles)), counts)
        radii = np.repeat([v.rotors.radius_m for v in vehicles], counts)
        gains = [
            rotor_set(v.rotors, thrust_gain=thrust_gain(scenario, v.name)).thrust_per_speed2
            for v in vehicles
        ]
        blades = []
        for v, count, gain in zip(vehicles, counts, gains, strict=True):
            rotors, radius = v.rotors, v.rotors.radius_m
            # without a radius the rotor is not looked at
            disc = density * np.pi * radius**4 if radius else np.inf
            thrust = gain / disc
            torque = thrust * rotors.torque_per_thrust_m / radius if radius else 0.0
            blown = wakes or environment.ceiling_effect
            inflow = rotors.inflow or (Inflow() if blown else None)
            slope = inflow.solidity * inflow.lift_slope if inflow else 0.0
            blades += [(radius, thrust, torque, slope)] * count
        of = {v.name: i for i, v in enumerate(vehicles)}
        owners = [of.get(name.partition("/")[0], OWNED_BY_NOBODY) for name in names]
        n, n_places = len(vehicle), len(names) + len(vehicle)
        settings = np.zeros(SETTINGS)
        settings[DENSITY] = density
        if wakes:
            settings[HAS_WAKES : REACH + 1] = True, wakes.strength, wakes.spreading, wakes.reach_m
        if (
            environment.ground_effect and scenario.actuation.mode == "wrench"
        ):  # else the engine sees to it
            settings[[HAS_GROUND, GROUND]] = True, environment.ground_m
        self.per_speed2 = np.repeat(gains, counts).astype(float)
        self.has_ceilings = environment.ceiling_effect
        self._ceilings = Ceilings(environment.obstacles, radii) if self.has_ceilings else None
        self._rotors = (
            settings, vehicle, np.concatenate([v.rotors.positions for v in vehicles]),
            np.concatenate([v.rotors.axes for v in vehicles]),
            np.array([radii, np.pi * radii**2, self.per_speed2]), np.array(blades, float).reshape(-1, 4),
            np.array([*owners, *vehicle]),
        )  # fmt: skip
        self._moves, self._flows, self._order = np.zeros((4, n, 3)), np.ones((6, n)), np.arange(n)
        self._room = np.zeros(n, np.int64), np.zeros((n, 8)), *np.zeros((2, n_places, 3))
        self.wind, self.air = np.zeros((2, len(names), 3))
        self.factors = np.ones((2, n))
        self._load()

    def _load(self) -> None:
        """Load the kernels now: in real time the first period could not wait for them."""
        motion = np.zeros((len(self.wind), int(MOTION)))
        State(motion).attitude[:, 0] = 1.0
        self._look(motion, np.ones(len(self.per_speed2)))
        self.reset()

    def reset(self) -> None:
        """Still air."""
        self.factors[:] = self._flows[EASING:] = 1.0
        self._order[:] = np.arange(len(self._order))
        self.wind[:] = self.air[:] = 0.0

    @classmethod
    def of(cls, scenario: Scenario, names: list[str]) -> RotorAir | None:
        """That of a scenario; None where rotors neither make wakes nor feel air or surfaces."""
        return cls(scenario, names) if scenario.rotors_feel_air else None

    @property
    def thrust_factors(self) -> np.ndarray:
        """Thrust of every rotor over that in air at rest, (n_rotors,)."""
        return self.factors[THRUST]

    @property
    def torque_factors(self) -> np.ndarray:
        """Drag torque of every rotor over that in air at rest, (n_rotors,)."""
        return self.factors[TORQUE]

    @property
    def packed(self) -> tuple[np.ndarray, ...]:
        """Arguments of :func:`look_at_air` after motion and thrusts."""
        return (
            self.wind, *self._rotors, self._moves, self._flows, self._order, *self._room, self.air, self.factors,
        )  # fmt: skip

    def look(self, engine: Engine, thrusts: np.ndarray) -> None:
        """Make wakes of the thrusts that rotors give in air at rest, (n_rotors,) N, and let everything feel them.

        Sets the wind of ``engine``.
        """
        self._look(engine.motion, thrusts)
        engine.set_wind(self.air)

    def _look(self, motion: np.ndarray, thrusts: np.ndarray) -> None:
        """:meth:`look` at the motion of all bodies."""
        if self._ceilings is not None:
            _, vehicle, hubs_B, axes_B, *_ = self._rotors
            hubs, axes, speeds, _ = self._moves
            place_rotors(motion, vehicle, hubs_B, axes_B, hubs, axes, speeds)
            self._ceilings.look(hubs, axes, self._flows[EASING])
        look_at_air(motion, thrusts, *self.packed)
