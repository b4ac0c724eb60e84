"""Write docs/results/contact.md: rigid contact of this engine, MuJoCo and Newton where the motion is known.

./rotor python -m validation.contact.report
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rotor_core.math.polyhedron import CORNERS
from rotor_core.state import State
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.solid import RigidContact, Solid
from rotor_dynamics.model.system import System
from validation.speed.peers import installed
from validation.speed.timing import medians

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results" / "contact.md"
STEP, G = 1e-3, 9.81
ROUNDS = 3
SIZES = (2, 4, 8, 16, 32, 100)
"""Numbers of bodies that fly apart from each other."""

HEAD = """# Rigid contact

Cubes of 0.2 m and 1 kg on the ground and a ball, at steps of 1 ms. Theory: [rigid contact](../theory/rigid_contact.md).
Made by `./rotor python -m validation.contact.report`.

MuJoCo {mujoco}: RK4, pyramidal cones, contacts as stiff as the step allows (`solref` of two steps), `impratio` 10,
tolerance 1e-12. Newton {newton}: XPBD with ten iterations on the CPU, in single precision; it is made for thousands of
worlds on a GPU, so its time per step of one world says little. What is called error is the largest distance from where
the motion should be.

| case | | error, m | energy that appears, J | us a step |
|---|---|---|---|---|
"""

TAIL = """
Energy that appears: the most that the energy rises above the least it had. Timings are medians of {rounds} runs in turn
on whatever machine made the page.

## Bodies that do not touch

Cubes that fly in a row, 1 m apart, at 3 m/s: what looking for contacts costs, us a step.

| bodies | without solids | with solids | share |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Case:
    """Bodies that start and where they should be in the end.

    Attributes:
        name: for the table.
        half: half sizes of cubes, or radius of a ball, m.
        starts: states, (n, 13).
        truth: places in the end, (n, 3) m.
        until: duration, s.
        friction: coefficient.
        is_ball: balls in place of cubes.
    """

    name: str
    half: float
    starts: np.ndarray
    truth: np.ndarray
    until: float
    friction: float = 0.5
    is_ball: bool = False

    @property
    def inertia(self) -> float:
        """About every axis, kg m^2."""
        return (0.4 if self.is_ball else 2.0 / 3.0) * self.half**2

    def engine(self) -> Engine:
        """The case in this engine."""
        n = len(self.starts)
        bodies = tuple(Body(f"b{i}", 1.0, self.inertia * np.eye(3)) for i in range(n))
        points = np.zeros((1, 3)) if self.is_ball else self.half * CORNERS
        ball = self.half if self.is_ball else 0.0
        solids = [Solid(i, points, ball=ball) for i in range(n)]
        ground = Solid(WORLD, np.zeros((1, 3)), is_ground=True)
        engine = Engine(
            System(bodies, solids=(*solids, ground), rigid=RigidContact(self.friction)), step=STEP
        )
        engine.set_state(self.starts)
        return engine

    def mjcf(self) -> str:
        """The case for MuJoCo."""
        kind = "sphere" if self.is_ball else "box"
        size = f"{self.half}" if self.is_ball else f"{self.half} {self.half} {self.half}"
        geom = f'friction="{self.friction} 0 0" solref="{2 * STEP} 1" condim="3"'
        bodies = "".join(
            f'<body pos="{row[0]} {row[1]} {row[2]}" quat="{row[3]} {row[4]} {row[5]} {row[6]}"><freejoint/>'
            f'<inertial pos="0 0 0" mass="1" diaginertia="{self.inertia} {self.inertia} {self.inertia}"/>'
            f'<geom type="{kind}" size="{size}" {geom}/></body>'
            for row in self.starts
        )
        return (
            f'<mujoco><option timestep="{STEP}" integrator="RK4" gravity="0 0 -{G}" impratio="10" tolerance="1e-12"/>'
            f'<worldbody><geom type="plane" size="20 20 1" {geom}/>{bodies}</worldbody></mujoco>'
        )


def _states(*rows: dict[int, list[float]]) -> np.ndarray:
    out = np.zeros((len(rows), 13))
    out[:, 3] = 1.0
    for row, values in zip(out, rows, strict=True):
        for column, value in values.items():
            row[column : column + len(value)] = value
    return out


def cases() -> list[Case]:
    """Stacks that stand, a cube that slides to a stop, a ball that slides until it rolls."""
    out = []
    for name, offset in (
        ("stack of five, flush", 0.0),
        ("stack of five, every other 3 cm beside", 0.03),
    ):
        starts = _states(*({0: [offset * (i % 2), 0.0, 0.1 + 0.2 * i]} for i in range(5)))
        out.append(Case(name, 0.1, starts, starts[:, :3], 10.0))
    mu, v = 0.3, 2.0
    way = v * v / (2.0 * mu * G)
    slides = _states({0: [0.0, 0.0, 0.1], 7: [v, 0.0, 0.0]})
    out.append(Case("cube slides to a stop", 0.1, slides, np.array([[way, 0.0, 0.1]]), 1.5, mu))
    until = 1.0
    begins = 2.0 * v / (7.0 * mu * G)  # to roll
    at = v * begins - 0.5 * mu * G * begins**2 + 5.0 / 7.0 * v * (until - begins)
    rolls = _states({0: [0.0, 0.0, 0.1], 7: [v, 0.0, 0.0]})
    out.append(
        Case("ball slides until it rolls", 0.1, rolls, np.array([[at, 0.0, 0.1]]), until, mu, True)
    )
    return out


def _energy(case: Case, rows: np.ndarray) -> float:
    v, w = State(rows).velocity, State(rows).body_rate
    heights = State(rows).position[:, 2].sum()
    return float(0.5 * np.sum(v**2) + 0.5 * case.inertia * np.sum(w**2) + G * heights)


def _follow(case: Case, step: Callable[[], np.ndarray]) -> tuple[float, float]:
    """Error in the end, and energy that appears."""
    rows = case.starts
    least, risen = _energy(case, rows), 0.0
    for _ in range(round(case.until / STEP)):
        rows = step()
        now = _energy(case, rows)
        risen, least = max(risen, now - least), min(least, now)
    return float(np.abs(State(rows).position - case.truth).max()), risen


def ours(case: Case) -> tuple[float, float]:
    """Error and energy of this engine."""
    engine = case.engine()

    def step() -> np.ndarray:
        engine.run(1)
        return engine.update_kinematics()

    return _follow(case, step)


class _Mujoco:
    """The case in MuJoCo, at its start."""

    def __init__(self, case: Case) -> None:
        mujoco: Any = importlib.import_module("mujoco")
        self._step = mujoco.mj_step
        self.model = mujoco.MjModel.from_xml_string(case.mjcf())
        self.data = mujoco.MjData(self.model)
        self.data.qvel.reshape(-1, 6)[:, :3] = State(case.starts).velocity
        mujoco.mj_forward(self.model, self.data)

    def run(self, n: int) -> np.ndarray:
        """Steps; the states."""
        for _ in range(n):
            self._step(self.model, self.data)
        return np.hstack([self.data.qpos.reshape(-1, 7), self.data.qvel.reshape(-1, 6)])


class _Newton:
    """The case in Newton on the CPU, at its start: XPBD with ten iterations, in single precision."""

    def __init__(self, case: Case) -> None:
        newton: Any = importlib.import_module("newton")
        wp: Any = importlib.import_module("warp")
        wp.config.quiet = True
        builder = newton.ModelBuilder(up_axis=newton.Axis.Z, gravity=wp.vec3(0.0, 0.0, -G))
        shape = newton.ModelBuilder.ShapeConfig()
        volume = 4.0 / 3.0 * np.pi * case.half**3 if case.is_ball else 8.0 * case.half**3
        shape.mu, shape.density = case.friction, 1.0 / volume
        builder.add_ground_plane(cfg=shape)
        for row in case.starts:
            w, x, y, z = State(row).attitude
            body = builder.add_body(xform=wp.transform(wp.vec3(*row[:3]), wp.quat(x, y, z, w)))
            if case.is_ball:
                builder.add_shape_sphere(body, radius=case.half, cfg=shape)
            else:
                builder.add_shape_box(body, hx=case.half, hy=case.half, hz=case.half, cfg=shape)
        self._model = builder.finalize(device="cpu")
        self._solver = newton.solvers.SolverXPBD(self._model, iterations=10)
        self._now, self._next = self._model.state(), self._model.state()
        self._control = self._model.control()
        self._pipeline = newton.CollisionPipeline(self._model)
        self._contacts = self._pipeline.contacts()
        speeds = np.zeros((len(case.starts), 6), np.float32)
        speeds[:, :3] = State(case.starts).velocity
        self._now.body_qd.assign(speeds)

    def run(self, n: int) -> np.ndarray:
        """Steps; the states."""
        for _ in range(n):
            self._now.clear_forces()
            self._pipeline.collide(self._now, self._contacts)
            self._solver.step(self._now, self._next, self._control, self._contacts, STEP)
            self._now, self._next = self._next, self._now
        poses = self._now.body_q.numpy().astype(float)
        return np.hstack([poses[:, :3], poses[:, [6, 3, 4, 5]], self._now.body_qd.numpy()])


PEERS = {"MuJoCo": ("mujoco", _Mujoco), "Newton": ("newton", _Newton)}
"""Other simulators: module and world of a case."""


def theirs(case: Case, name: str) -> tuple[float, float]:
    """The same of another simulator."""
    world = PEERS[name][1](case)
    return _follow(case, lambda: world.run(1))


def times(case: Case, names: list[str]) -> dict[str, float]:
    """Microseconds a step of this engine and of others."""
    n = round(0.5 / STEP)

    def mine() -> Callable[[], Any]:
        engine = case.engine()
        engine.run(50)
        return lambda: engine.run(n)

    def other(name: str) -> Callable[[], Callable[[], Any]]:
        def make() -> Callable[[], Any]:
            world = PEERS[name][1](case)
            world.run(50)
            return lambda: world.run(n)

        return make

    tasks = {"rotor": mine} | {name: other(name) for name in names}
    return {name: 1e6 * t / n for name, t in medians(tasks, ROUNDS).items()}


def looking(n: int) -> dict[str, float]:
    """Microseconds a step of n cubes that fly apart from each other, without and with solids."""
    steps = 2000
    starts = _states(*({0: [1.0 * i, 0.0, 50.0], 7: [3.0, 0.0, 0.0]} for i in range(n)))
    bodies = tuple(Body(f"b{i}", 1.0, 0.01 * np.eye(3)) for i in range(n))
    solids = tuple(Solid(i, 0.1 * CORNERS) for i in range(n))

    def made(solids: tuple[Solid, ...]) -> Callable[[], Callable[[], Any]]:
        def make() -> Callable[[], Any]:
            engine = Engine(System(bodies, solids=solids, gravity=0.0), step=STEP)
            engine.set_state(starts)
            engine.run(1)
            return lambda: engine.run(steps)

        return make

    found = medians({"without": made(()), "with": made(solids)}, ROUNDS)
    return {name: 1e6 * t / steps for name, t in found.items()}


def main() -> None:
    """Run everything and write the page."""
    missing = [module for module, _ in PEERS.values() if not installed(module)]
    if missing:
        raise SystemExit(
            f"error: needs {' and '.join(missing)}. Install them (pip install {' '.join(missing)}) and run this again."
        )
    text = HEAD.format(mujoco=version("mujoco"), newton=version("newton"))
    for case in cases():
        spent = times(case, list(PEERS))
        found = {"rotor": ours(case)} | {name: theirs(case, name) for name in PEERS}
        for name, (miss, risen) in found.items():
            label = case.name if name == "rotor" else ""
            text += f"| {label} | {name} | {miss:.1e} | {risen:.1e} | {spent[name]:.1f} |\n"
    text += TAIL.format(rounds=ROUNDS)
    for n in SIZES:
        spent = looking(n)
        share = spent["with"] / spent["without"]
        text += f"| {n} | {spent['without']:.2f} | {spent['with']:.2f} | {share:.2f} |\n"
    PAGE.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
