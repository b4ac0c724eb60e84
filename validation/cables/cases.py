"""Systems with a closed form: what they are, and how they move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable, Ring, Sheave
from rotor_dynamics.model.system import System
from validation.cables.involute import G, on_peg

TOP = np.array([0.0, 0.0, 0.0])
ASIDE = np.array([0.3, 0.0, 0.0])


@dataclass(frozen=True)
class Case:
    """Point masses on one cable.

    Attributes:
        name: in the table.
        masses: kg.
        places: at the start, (n, 3) m, at rest.
        path: points of the cable: a mass by its number, a place in the world, or a peg or pulley.
        length: of the cable, m.
        until: time at which places are compared, s.
        truth: places then, (n, 3) m.
        tension: at that time, N.
        stiffness, damping: of an elastic cable, N/m and N s/m.
        work: of friction until then, J.
    """

    name: str
    masses: tuple[float, ...]
    places: np.ndarray
    path: tuple[int | np.ndarray | Sheave, ...]
    length: float
    until: float
    truth: np.ndarray
    tension: float
    stiffness: float = 0.0
    damping: float = 0.0
    work: float = 0.0

    def engine(self) -> Engine:
        """The case in this engine, at its start."""
        points: list[Any] = [
            p
            if isinstance(p, Sheave)
            else Ring(p, np.zeros(3))
            if isinstance(p, int)
            else Ring(WORLD, np.asarray(p))
            for p in self.path
        ]
        first, *through, last = points
        cable = Cable(
            first.body, last.body, self.length, first.point, last.point, tuple(through), self.stiffness, self.damping
        )  # fmt: skip
        system = System(tuple(Body(f"m{i}", m) for i, m in enumerate(self.masses)), (cable,))
        engine = Engine(system)
        rows = np.zeros((len(self.masses), 13))
        rows[:, :3], rows[:, 3] = self.places, 1.0
        engine.set_state(rows)
        return engine


def atwood() -> Case:
    """Two weights over a small pulley: a = (m2 - m1) g / (m1 + m2)."""
    m1, m2, t = 0.3, 0.5, 0.5
    a = (m2 - m1) * G / (m1 + m2)
    start = np.array([[0, 0, -1.2], [0, 0, -0.8]])
    truth = start + 0.5 * a * t * t * np.array([[0, 0, 1], [0, 0, -1]])
    return Case(
        "Atwood", (m1, m2), start, (0, TOP, 1), 2.0, t, truth, 2.0 * m1 * m2 * G / (m1 + m2)
    )


def tackle() -> Case:
    """A load on four parts of a cable: (M + 16 m) a = (4 m - M) g."""
    load, weight, t = 1.5, 0.4, 0.8
    a = (4.0 * weight - load) * G / (load + 16.0 * weight)
    start = np.array([[0, 0, -1.0], [0.3, 0, -0.3]])
    truth = start + 0.5 * a * t * t * np.array([[0, 0, 1], [0, 0, -4.0]])
    path = (TOP, 0, TOP, 0, TOP, ASIDE, 1)
    return Case(
        "block and tackle, four parts",
        (load, weight),
        start,
        path,
        4.6,
        t,
        truth,
        load * (G + a) / 4.0,
    )


def pendulum() -> Case:
    """A mass swings below a ring, and lifts another one over it: independent solution of the two equations."""
    m1, m2, t, length = 0.5, 0.45, 1.0, 2.0

    def slope(
        _: float, y: np.ndarray
    ) -> list[float]:  # r, its rate, angle, its rate; the other mass hangs
        r, r_dot, angle, spin = y
        r_ddot = (m1 * (r * spin**2 + G * np.cos(angle)) - m2 * G) / (m1 + m2)
        return [r_dot, r_ddot, spin, -(2.0 * r_dot * spin + G * np.sin(angle)) / r]

    y = solve_ivp(slope, (0.0, t), [1.0, 0.0, 0.7, 0.0], method="DOP853", rtol=1e-13, atol=1e-14).y[
        :, -1
    ]
    r, angle = y[0], y[2]
    start = np.array([[np.sin(0.7), 0, -np.cos(0.7)], [0, 0, -1.0]])
    truth = np.array([[r * np.sin(angle), 0, -r * np.cos(angle)], [0, 0, -(length - r)]])
    tension = m2 * (G + slope(0.0, y)[1])
    return Case("swinging Atwood", (m1, m2), start, (0, TOP, 1), length, t, truth, tension)


def pulley() -> Case:
    """Two weights over a pulley of 0.3 m: that of the Atwood machine, half a turn of the cable lies on it."""
    case, radius = atwood(), 0.15
    aside = radius * np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    wheel = Sheave(WORLD, TOP, np.array([0.0, 1.0, 0.0]), radius, turn=1)
    return replace(
        case, name="Atwood, pulley of 0.3 m", places=case.places + aside, truth=case.truth + aside,
        path=(0, wheel, 1), length=case.length + np.pi * radius,
    )  # fmt: skip


def peg() -> Case:
    """A pendulum of 1 m from 50 degrees, a peg of 0.2 m halfway: independent solution of the involute."""
    mass, angle, drop, radius, t = 0.5, np.radians(50.0), 0.4, 0.1, 1.0
    (bob,), _ = on_peg(angle, 1.0, drop, radius, [t])
    wheel = Sheave(WORLD, np.array([0.0, 0.0, -drop]), np.array([0.0, 1.0, 0.0]), radius)
    start = np.array([[np.sin(angle), 0.0, -np.cos(angle)]])
    truth = np.array([[bob.place[0], 0.0, bob.place[1]]])
    return Case(
        "pendulum on a peg", (mass,), start, (TOP, wheel, 0), 1.0, t, truth, mass * bob.tension
    )


def snap(stiffness: float) -> Case:
    """A mass falls 0.2 m into an elastic cable; at its lowest point T = m g (1 + sqrt(1 + 2 k h / (m g)))."""
    m, h, length = 0.5, 0.2, 1.0
    w, v = np.sqrt(stiffness / m), np.sqrt(2.0 * G * h)
    t = np.sqrt(2.0 * h / G) + (np.pi - np.arctan(v * w / G)) / w
    peak = m * G * (1.0 + np.sqrt(1.0 + 2.0 * stiffness * h / (m * G)))
    start = np.array([[0, 0, h - length]])
    truth = np.array([[0, 0, -length - peak / stiffness]])
    name = f"snap of {stiffness:g} N/m"
    return Case(name, (m,), start, (TOP, 0), length, float(t), truth, float(peak), stiffness)


def capstan() -> Case:
    """Two weights over a rough pulley that does not turn: T after over T before is e^(mu pi)."""
    case, friction = pulley(), 0.15
    light, heavy = case.masses
    ratio = np.exp(friction * np.pi)
    tension = 2.0 * light * heavy * G / (light * ratio + heavy)
    a = tension / light - G
    start, t = case.places, case.until
    truth = start + 0.5 * a * t * t * np.array([[0, 0, 1], [0, 0, -1]])
    wheel = replace(case.path[1], friction=friction)  # type: ignore[type-var]
    work = -tension * (ratio - 1.0) * 0.5 * a * t * t
    return replace(
        case, name="Atwood, rough pulley", path=(0, wheel, 1), truth=truth, tension=tension, work=work
    )  # fmt: skip


def two_pulleys() -> Case:
    """Two weights over two pulleys of 0.3 m, half a metre apart: that of the Atwood machine."""
    case, radius = atwood(), 0.15
    middles = np.array([[-0.25, 0.0, 0.0], [0.25, 0.0, 0.0]])
    aside = middles + radius * np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    wheels = tuple(Sheave(WORLD, x, np.array([0.0, 1.0, 0.0]), radius, turn=1) for x in middles)
    return replace(
        case, name="Atwood, two pulleys", places=case.places + aside, truth=case.truth + aside,
        path=(0, *wheels, 1), length=case.length + np.pi * radius + 0.5,
    )  # fmt: skip


CASES: tuple[Callable[[], Case], ...] = (
    atwood, tackle, pendulum, pulley, two_pulleys, capstan, peg, lambda: snap(200.0), lambda: snap(1e4),
)  # fmt: skip
