"""Unloading of the six-pack: driven rollers push it through a sprung door onto a conveyor.

The planar study of Pappalardo et al. 2023, section 6.2 and Fig 28, as bodies, a joint and contacts of the
engine. The paper gives the spring of the door and the number of rollers; every other number is a choice
and stands in :class:`Crate`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotor_core.math.polyhedron import CORNERS
from rotor_core.state import State
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.contact import Contact, Probe, Surface, effective_mass, natural_law
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import System

PACK, DOOR = 0, 1

ROUND = 0.005
"""Radius of the edges of pack and door, m."""

RATE = 400.0
"""Natural frequency of the lightest mass on one contact, rad/s: stiff enough for a thin door."""


@dataclass(frozen=True)
class Crate:
    """Lengths in m from the middle of the floor of the crate, x outwards through the door, z up.

    Attributes:
        pack_mass, pack_size: six cans of 0.33 l.
        door_mass, door_size: hangs from a hinge along its upper edge.
        door_spring: N m/rad; the only number of the paper here.
        roller_radius, roller_x, roller_speed: four rollers, whose surface moves at this speed, m/s.
        conveyor_drop, conveyor_speed: the belt outside, lower than the rollers.
        static, dynamic: friction, as that of the paper's skids.
    """

    pack_mass: float = 2.0
    pack_size: tuple[float, float, float] = (0.20, 0.13, 0.12)
    door_mass: float = 0.05
    door_size: tuple[float, float, float] = (0.01, 0.12, 0.13)
    door_spring: float = 0.043
    door_damping: float = 0.005
    door_x: float = 0.115
    roller_radius: float = 0.015
    roller_x: tuple[float, ...] = (-0.08, -0.025, 0.03, 0.085)
    roller_speed: float = 0.10
    conveyor_drop: float = 0.01
    conveyor_speed: float = 0.10
    static: float = 0.5
    dynamic: float = 0.3

    @property
    def hinge(self) -> np.ndarray:
        """Position of the door hinge, (3,)."""
        return np.array([self.door_x, 0.0, self.door_size[2] + 0.002])


def _box(mass: float, size: tuple[float, float, float]) -> np.ndarray:
    """Inertia of a uniform box about its middle."""
    x, y, z = size
    return mass / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])


def unloading_system(crate: Crate) -> System:
    """Pack, door and everything that they touch."""
    pack = Body("pack", crate.pack_mass, _box(crate.pack_mass, crate.pack_size))
    down = np.array([0.0, 0.0, -0.5 * crate.door_size[2]])
    door = Body("door", crate.door_mass, _box(crate.door_mass, crate.door_size), down)
    hinge = Joint(
        WORLD, DOOR, np.array([0.0, -1.0, 0.0]), crate.hinge, lower=0.0, upper=np.radians(110.0),
        stiffness=crate.door_spring, damping=crate.door_damping, name="door",
    )  # fmt: skip
    half = 0.5 * np.array(crate.pack_size)
    # planar: probes stand in from the sides, so that each is over the faces that it may meet; edges are round
    inside = np.array([1.0, 0.7, 1.0])
    corners = [Probe(PACK, inside * (half - ROUND) * corner, ROUND) for corner in CORNERS]
    pack_box = Surface(PACK, np.zeros(3), half_size=half)
    door_box = Surface(DOOR, down, half_size=0.5 * np.array(crate.door_size))
    tip = down - [0.0, 0.0, 0.5 * crate.door_size[2] - ROUND]
    edges = [Probe(DOOR, tip + [0.0, y, 0.0], ROUND) for y in (-0.04, 0.04)]
    spin = np.array([0.0, crate.roller_speed / crate.roller_radius, 0.0])
    rollers = [
        Probe(WORLD, np.array([x, y, -crate.roller_radius]), crate.roller_radius, spin)
        for x in crate.roller_x
        for y in (-0.3 * crate.pack_size[1], 0.3 * crate.pack_size[1])
    ]
    begin, length, thick = crate.door_x + 0.01, 1.0, 0.05
    conveyor = Surface(
        WORLD,
        np.array([begin + 0.5 * length, 0.0, -crate.conveyor_drop - 0.5 * thick]),
        half_size=0.5 * np.array([length, 0.3, thick]),
        belt_speed=np.array([crate.conveyor_speed, 0.0, 0.0]),
    )
    back = Surface(WORLD, np.array([-0.11, 0.0, 0.1]), half_size=np.array([0.005, 0.1, 0.1]))
    r = crate.roller_radius
    pulley = Probe(
        WORLD,
        np.array([begin, 0.0, -crate.conveyor_drop - r]),
        r,
        np.array([0.0, crate.conveyor_speed / r, 0.0]),
    )
    pairs = [(roller, pack_box) for roller in rollers] + [(pulley, pack_box)]
    pairs += [(corner, surface) for corner in corners for surface in (conveyor, back, door_box)]
    pairs += [(edge, pack_box) for edge in edges]
    bodies = (pack, door)

    def lightest(probe: Probe, surface: Surface) -> float:
        masses = []
        for index, point in ((probe.body, probe.point), (surface.body, half)):
            if index == DOOR:  # on its hinge: the point farthest from it feels the least
                inertia = door.inertia_B[1, 1] + door.mass * down[2] ** 2  # type: ignore[index]
                masses.append(inertia / crate.door_size[2] ** 2)
            elif index == PACK:
                masses.append(effective_mass(pack, point))
        return 1.0 / sum(1.0 / m for m in masses)

    contacts = tuple(
        Contact(p, s, natural_law(lightest(p, s), RATE, static=crate.static, dynamic=crate.dynamic))
        for p, s in pairs
    )
    return System(bodies, joints=(hinge,), contacts=contacts)


@dataclass(frozen=True)
class Unloading:
    """Curves of Fig 28: time s, position of the pack x, z m, its angle about y rad, that of the door rad, speed m/s."""

    time: np.ndarray
    x: np.ndarray
    z: np.ndarray
    angle: np.ndarray
    door: np.ndarray
    speed: np.ndarray

    @property
    def out_after(self) -> float:
        """Time at which the whole pack has passed the door, s; infinite where it does not."""
        passed = np.flatnonzero(self.door < np.radians(1.0))
        opened = np.flatnonzero(self.door > np.radians(5.0))
        after = passed[passed > opened[-1]] if len(opened) else np.array([], int)
        return float(self.time[after[0]]) if len(after) else float("inf")


def unload(crate: Crate | None = None, *, duration: float = 4.0, step: float = 2.5e-4) -> Unloading:
    """Let the rollers run, from a pack that stands on them at rest."""
    crate = crate or Crate()
    engine = Engine(unloading_system(crate), step=step)
    states = np.zeros((2, 13))
    states[:, 3] = 1.0
    State(states).position[PACK] = -0.005, 0.0, 0.5 * crate.pack_size[2]
    engine.set_state(states, joints=np.zeros((1, 2)))
    every = max(1, round(0.005 / step))
    rows = []
    for _ in range(round(duration / (every * step)) + 1):
        m = engine.update_kinematics()[PACK]
        angle = 2.0 * np.arctan2(m[5], m[3])
        rows.append((engine.time, m[0], m[2], angle, engine.joints.angles[0], m[7]))
        engine.run(every)
    return Unloading(*np.array(rows).T)
