"""Rotors with blades: elements of a system that the air acts on station by station. Equations (B.n)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rotor_core.errors import ModelError
from rotor_dynamics import memory
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.joint import Joint

LAWS = {"held": memory.HELD, "relaxed": memory.RELAXED, "filtered": memory.FILTERED}


@dataclass(frozen=True)
class Disc:
    """Rotor disc: the induced velocity and the swashplate that the blades of one rotor share.

    Attributes:
        joint: index of the revolute joint that the rotor turns on; the disc pushes along its axis.
        turns: +1, or -1 where the disc pushes against the axis.
        area: m^2.
        density: of the air, kg/m^3.
        law: of the induced velocity: ``held`` constant, ``relaxed`` (B.5) with ``lag`` s, or ``filtered``
            (B.6): a ``delay`` s and a filter of second order (rad/s, 1).
        swash_lag: time constant of the angles of the swashplate, s; 0 follows commands at once.
    """

    joint: int
    area: float
    turns: float = 1.0
    density: float = 1.225
    law: str = "relaxed"
    lag: float = 0.04
    delay: float = 0.0376
    frequency: float = 25.0
    damping: float = 0.7
    swash_lag: float = 0.0


@dataclass(frozen=True)
class Blade:
    """A blade along x of the frame of a body, its leading edge along y (where the disc turns +1) or -y.

    Attributes:
        body: index.
        disc: index.
        stations: place along x m, length m, chord m, twist rad, lift slope 1/rad, drag coefficient, (n, 6).
        phase: ahead of the azimuth of the rotor, rad.
        pitch_joint: index of the joint that the pitch link drives, or -1.
        link_stiffness, link_damping: of the pitch link, N m/rad and N m s/rad.
        feather_inertia: about x, kg m^2, for the feed-forward of the pitch link (B.8).
        section: angle of attack rad, lift and drag coefficient, (n, 3), in place of slopes; none: linear.
    """

    body: int
    disc: int
    stations: np.ndarray
    phase: float = 0.0
    pitch_joint: int = -1
    link_stiffness: float = 0.0
    link_damping: float = 0.0
    feather_inertia: float = 0.0
    section: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))


@dataclass(frozen=True)
class Surface:
    """A fin or tailplane: a lifting surface at a point of a body (B.9).

    Attributes:
        body: index.
        p: where it is, in the frame of the body, (3,) m.
        q: turns its axes to those of the body (z is its normal), w first, (4,).
        area: m^2.
        slope: of its lift, 1/rad.
        density: of the air, kg/m^3.
        disc: index of the disc in whose wake it is, or -1.
        wake_share: of the induced velocity there.
    """

    body: int
    p: np.ndarray
    q: np.ndarray
    area: float
    slope: float
    density: float = 1.225
    disc: int = -1
    wake_share: float = 0.0


def gauss_stations(
    root: float, tip: float, count: int, chord: float, twist: tuple[float, float], slope: float,
    drag: float, origin: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """Stations of a blade at the nodes of Gauss and Legendre; see :class:`Blade`.

    Args:
        root, tip: from the axis of the rotor, m.
        count: of stations.
        chord: m.
        twist: at root and tip, linear between, rad.
        slope, drag: lift slope and drag coefficient.
        origin: of the frame of the body, from the axis of the rotor, m.
    """
    nodes, weights = np.polynomial.legendre.leggauss(count)
    r = 0.5 * (tip + root) + 0.5 * (tip - root) * nodes
    share = (r - root) / (tip - root)
    ones = np.ones(count)
    return np.stack(
        [r - origin, 0.5 * (tip - root) * weights, chord * ones,
         twist[0] + share * (twist[1] - twist[0]), slope * ones, drag * ones], axis=1,
    )  # fmt: skip


def check_blades(
    discs: Sequence[Disc], blades: Sequence[Blade], surfaces: Sequence[Surface],
    bodies: Sequence[Body], joints: Sequence[Joint],
) -> None:  # fmt: skip
    """Refuse rotors that cannot be.

    Raises:
        ModelError: an invalid index, or a number out of range.
    """
    for i, d in enumerate(discs):
        if not 0 <= d.joint < len(joints) or joints[d.joint].kind != "revolute":
            raise ModelError(f"disc {i}: joint must be a revolute joint, got {d.joint}.")
        if d.law not in LAWS:
            raise ModelError(f"disc {i}: law must be one of {', '.join(LAWS)}, got {d.law!r}.")
        numbers = (d.area, d.density, d.lag, d.frequency)
        if not (np.isfinite(numbers).all() and min(numbers) > 0.0 and abs(d.turns) == 1.0):
            raise ModelError(
                f"disc {i}: area, density, lag and frequency must be > 0, got {numbers}."
            )
        if not (min(d.delay, d.damping, d.swash_lag) >= 0.0):
            raise ModelError(f"disc {i}: delay, damping and swash_lag must be >= 0.")
    for i, b in enumerate(blades):
        moved = [j.child for j in joints]
        if not 0 <= b.body < len(bodies) or b.body not in moved:
            raise ModelError(f"blade {i}: body must be moved by a joint, got {b.body}.")
        if not 0 <= b.disc < len(discs) or not -1 <= b.pitch_joint < len(joints):
            raise ModelError(f"blade {i}: there is no disc {b.disc} or joint {b.pitch_joint}.")
        if np.shape(b.stations)[1:] != (6,) or not np.isfinite(b.stations).all():
            raise ModelError(f"blade {i}: stations must be finite, (n, 6).")
        angles = b.section[:, 0]
        if len(angles) == 1 or np.any(np.diff(angles) <= 0.0) or not np.isfinite(b.section).all():
            raise ModelError(f"blade {i}: angles of attack of its section must increase.")
    for i, s in enumerate(surfaces):
        if not 0 <= s.body < len(bodies) or not -1 <= s.disc < len(discs):
            raise ModelError(f"surface {i}: there is no body {s.body} or disc {s.disc}.")


def fill_blades(
    world: memory.World, discs: Sequence[Disc], blades: Sequence[Blade], rows: np.ndarray,
    joints: Sequence[int],
) -> None:  # fmt: skip
    """Write discs, blades, stations and sections.

    Args:
        world: views.
        discs, blades: of the system.
        rows: row of every body, (n,).
        joints: the user's joints in the order of the world.
    """
    first_station = first_point = 0
    for i, d in enumerate(discs):
        row = world.discs[i]
        row[memory.TWICE_MASS_FLOW], row[memory.INFLOW_LAG] = 2.0 * d.density * d.area, d.lag
        row[memory.INFLOW_DELAY], row[memory.FILTER_FREQUENCY] = d.delay, d.frequency
        row[memory.FILTER_DAMPING], row[memory.TURNS] = d.damping, d.turns
        row[memory.SWASH_LAG_RATE] = 1.0 / d.swash_lag if d.swash_lag else 0.0
        world.disc_int[i] = joints.index(d.joint), LAWS[d.law], 0, 0
    for i, b in enumerate(blades):
        row = world.blades[i]
        row[memory.BLADE_PHASE], row[memory.LINK_STIFFNESS] = b.phase, b.link_stiffness
        row[memory.LINK_DAMPING], row[memory.FEATHER_INERTIA] = b.link_damping, b.feather_inertia
        end_station, end_point = first_station + len(b.stations), first_point + len(b.section)
        pitch = joints.index(b.pitch_joint) if b.pitch_joint >= 0 else -1
        world.blade_int[i] = (
            rows[b.body], b.disc, pitch, first_station, end_station, first_point, end_point,
        )  # fmt: skip
        x, length, chord, twist, slope, drag = b.stations.T
        load = 0.5 * discs[b.disc].density * length * chord
        world.stations[first_station:end_station] = np.stack([x, load, twist, slope, drag], axis=1)
        world.sections[first_point:end_point] = b.section
        first_station, first_point = end_station, end_point
