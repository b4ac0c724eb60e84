"""Write docs/results/cables.md: this engine, MuJoCo's tendons and Newton's on :mod:`validation.cables.cases`.

./rotor python -m validation.cables.report
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rotor_core.state import State
from rotor_dynamics.model.cable import Sheave
from validation.cables.cases import CASES, TOP, Case, G
from validation.speed.peers import installed
from validation.speed.timing import medians

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results" / "cables.md"
STEP = 1e-3
ROUNDS, STEPS = 7, 300
COMPLIANCE = 1e-5
"""Of cables of Newton that do not stretch, m/N: that of its examples."""

HEAD = """# Cables through rings, over pulleys, around pegs, and elastic ones

Point masses on one cable whose motion has a closed form (of the swinging Atwood machine and the peg: DOP853 at 1e-13),
at steps of 1 ms. Made by `./rotor python -m validation.cables.report`; systems: `validation/cables/cases.py`;
theory: [routes](../theory/routes.md).

MuJoCo {mujoco}: spatial tendons through sites and around cylinders, RK4, without damping. A cable that
does not stretch is a limit of the length, as stiff as the step allows (`solreflimit` of two steps, as in
[the engine's page](engine.md)); an elastic one is `stiffness` with `springlength 0 l`. It knows no friction of tendons,
and no two cylinders without a site between them.

Newton {newton}: routed tendons (`add_tendon`, experimental there) over pinholes and rollers, XPBD with ten iterations
on the CPU, in single precision; a cable that does not stretch has the compliance of its examples, 1e-5 m/N (a stiffer
one sticks in the rings, a softer one stretches). It is made for thousands of worlds on a GPU, so its time per step of
one world says little; it tells no tension.

| case | | error of places, m | of the tension, N | of the energy, J | us a step |
|---|---|---|---|---|---|
"""

TAIL = """
The energy of MuJoCo's limit is that of a damped spring; of its elastic tendon it is kept up to the step in which
the spring begins to pull, which no step of a fixed length meets. This engine locates that instant. Timings are
medians of {rounds} runs in turn on whatever machine made the page.
"""


def ours(case: Case) -> tuple[float, float, float]:
    """Errors of places, tension and energy."""
    engine = case.engine()
    engine.run(int(case.until / STEP))
    if case.until > engine.time:
        engine.run_until(case.until)
    places = State(engine.update_kinematics()).position
    miss = float(np.abs(places - case.truth).max())
    return miss, abs(float(engine.tensions[0]) - case.tension), abs(engine.accuracy.energy_error_j)


def mjcf(case: Case) -> str:
    """The case for MuJoCo."""
    bodies, sites, path = "", "", ""
    for i, (mass, place) in enumerate(zip(case.masses, case.places, strict=True)):
        slides = "".join(f'<joint type="slide" axis="{a}"/>' for a in ("1 0 0", "0 1 0", "0 0 1"))
        bodies += (
            f'<body pos="{place[0]:.17g} {place[1]:.17g} {place[2]:.17g}">{slides}'
            f'<inertial pos="0 0 0" mass="{mass}" diaginertia="1e-6 1e-6 1e-6"/><site name="m{i}"/></body>'
        )
    for k, point in enumerate(case.path):
        if isinstance(point, Sheave):
            x, y, z = point.centre
            # it wraps on the side of a site above, as a pulley, or beside, as a peg that is met from +x
            side = (x, y, z + 2.0 * point.radius) if point.turn else (x + 2.0 * point.radius, y, z)
            sites += f'<geom name="g{k}" type="cylinder" size="{point.radius} 0.1" pos="{x} {y} {z}" euler="90 0 0"/>'
            sites += f'<site name="s{k}" pos="{side[0]} {side[1]} {side[2]}"/>'
            path += f'<geom geom="g{k}" sidesite="s{k}"/>'
            continue
        name = f"m{point}" if isinstance(point, int) else f"w{k}"
        if not isinstance(point, int):
            sites += f'<site name="{name}" pos="{point[0]} {point[1]} {point[2]}"/>'
        path += f'<site site="{name}"/>'
    kind = (
        f'stiffness="{case.stiffness}" damping="{case.damping}" springlength="0 {case.length}"'
        if case.stiffness
        else f'limited="true" range="0 {case.length}" solreflimit="{2 * STEP} 1" solimplimit="0.99 0.9999 0.001"'
    )
    return (
        f'<mujoco><compiler autolimits="false"/><option timestep="{STEP}" integrator="RK4" gravity="0 0 -{G}"/>'
        f"<worldbody>{sites}{bodies}</worldbody><tendon><spatial {kind}>{path}</spatial></tendon></mujoco>"
    )


class _Mujoco:
    """The case in MuJoCo, at its start."""

    def __init__(self, case: Case) -> None:
        mujoco: Any = importlib.import_module("mujoco")
        self._case, self._step = case, mujoco.mj_step
        self.model = mujoco.MjModel.from_xml_string(mjcf(case))
        self.data = mujoco.MjData(self.model)
        self._forward = mujoco.mj_forward
        mujoco.mj_forward(self.model, self.data)

    def run(self, n: int) -> None:
        """Steps."""
        for _ in range(n):
            self._step(self.model, self.data)

    @property
    def places(self) -> np.ndarray:
        """Places of the masses, (n, 3) m."""
        return self._case.places + self.data.qpos.reshape(-1, 3)

    @property
    def tension(self) -> float:
        """Of the tendon, N."""
        if self._case.stiffness:
            return self._case.stiffness * max(
                float(self.data.ten_length[0]) - self._case.length, 0.0
            )
        return float(self.data.efc_force[0]) if self.data.nefc else 0.0

    @property
    def energy(self) -> float:
        """Kinetic, of heights and of the spring, J."""
        case, speeds = self._case, self.data.qvel.reshape(-1, 3)
        masses = np.array(case.masses)
        total = 0.5 * masses @ np.sum(speeds**2, axis=1) + G * masses @ self.places[:, 2]
        stretch = max(float(self.data.ten_length[0]) - case.length, 0.0)
        return float(total + 0.5 * case.stiffness * stretch**2)


def theirs(case: Case) -> tuple[float, float, float]:
    """The same of MuJoCo; the last part of a step by a shorter one."""
    world = _Mujoco(case)
    begin = world.energy
    n = int(case.until / STEP)
    world.run(n)
    left = case.until - n * STEP
    if left > 0.0:
        world.model.opt.timestep = left
        world.run(1)
    world._forward(world.model, world.data)
    miss = float(np.abs(world.places - case.truth).max())
    return miss, abs(world.tension - case.tension), abs(world.energy - begin)


class _Newton:
    """The case in Newton on the CPU, at its start."""

    def __init__(self, case: Case) -> None:
        newton: Any = importlib.import_module("newton")
        wp: Any = importlib.import_module("warp")
        wp.config.quiet = True
        kinds = newton.TendonGuideType
        builder = newton.ModelBuilder(up_axis=newton.Axis.Z, gravity=wp.vec3(0.0, 0.0, -G))
        for mass, place in zip(case.masses, case.places, strict=True):
            pose = wp.transform(wp.vec3(*place), wp.quat_identity())
            builder.add_body(
                xform=pose, mass=mass, inertia=wp.mat33(np.eye(3) * 1e-3), lock_inertia=True
            )
        guides, last = [], len(case.path) - 1
        for i, point in enumerate(case.path):
            compliance = 1.0 / case.stiffness if case.stiffness else COMPLIANCE
            stretch = {"compliance": compliance} if i else {}
            if isinstance(point, Sheave):
                guide = newton.TendonGuide(
                    body=-1, guide_type=kinds.ROLLER, radius=point.radius,
                    orientation=point.turn or 1, mu=point.friction,
                    dynamic=point.turn == 0, offset=tuple(point.centre), axis=tuple(point.axis), **stretch,
                )  # fmt: skip
            else:
                body = point if isinstance(point, int) else -1
                offset = (0.0, 0.0, 0.0) if isinstance(point, int) else tuple(point)
                kind = kinds.ANCHOR if i in (0, last) else kinds.PINHOLE
                guide = newton.TendonGuide(body=body, guide_type=kind, offset=offset, **stretch)
            guides.append(guide)
        if case.stiffness:
            guides[-1] = replace(guides[-1], rest_length=case.length)
        builder.add_tendon(guides)
        self._case = case
        self._model = builder.finalize(device="cpu")
        self._solver = newton.solvers.SolverXPBD(self._model, iterations=10)
        self._now, self._next = self._model.state(), self._model.state()
        self._control = self._model.control()

    def run(self, n: int, step: float = STEP) -> None:
        """Steps."""
        for _ in range(n):
            self._now.clear_forces()
            self._solver.step(self._now, self._next, self._control, None, step)
            self._now, self._next = self._next, self._now

    @property
    def places(self) -> np.ndarray:
        """Places of the masses, (n, 3) m."""
        return self._now.body_q.numpy().astype(float)[:, :3]

    @property
    def energy(self) -> float:
        """Kinetic, of heights and of the spring, J."""
        masses, places = np.array(self._case.masses), self.places
        speeds = self._now.body_qd.numpy().astype(float)[:, :3]
        total = 0.5 * masses @ np.sum(speeds**2, axis=1) + G * masses @ places[:, 2]
        if self._case.stiffness:
            stretch = max(float(np.linalg.norm(places[0] - TOP)) - self._case.length, 0.0)
            total += 0.5 * self._case.stiffness * stretch**2
        return float(total)


def newton_errors(case: Case) -> tuple[float, float, float]:
    """Errors of Newton; it tells no tension."""
    world = _Newton(case)
    begin = world.energy
    n = int(case.until / STEP)
    world.run(n)
    if case.until - n * STEP > 1e-9:
        world.run(1, case.until - n * STEP)
    lost = case.work - (world.energy - begin)
    return float(np.abs(world.places - case.truth).max()), np.nan, abs(lost)


def times(case: Case, peers: Sequence[str]) -> dict[str, float]:
    """Microseconds a step, from the start."""

    def mine() -> object:
        engine = case.engine()
        engine.run(1)
        return lambda: engine.run(STEPS)

    def mujoco() -> object:
        world = _Mujoco(case)
        world.run(1)
        return lambda: world.run(STEPS)

    def newton() -> object:
        world = _Newton(case)
        world.run(1)
        return lambda: world.run(STEPS)

    every = {"rotor": mine, "MuJoCo": mujoco, "Newton": newton}
    tasks = {name: every[name] for name in ("rotor", *peers)}
    return {name: 1e6 * t / STEPS for name, t in medians(tasks, ROUNDS).items()}  # type: ignore[arg-type]


def _row(case: str, name: str, found: tuple[float, float, float], spent: dict[str, float]) -> str:
    miss, tension, energy = (f"{x:.1e}" if np.isfinite(x) else "-" for x in found)
    return f"| {case} | {name} | {miss} | {tension} | {energy} | {spent[name]:.2f} |\n"


def main() -> None:
    """Run all cases and write the page."""
    if not (installed("mujoco") and installed("newton")):
        raise SystemExit(
            "error: needs MuJoCo and Newton. Install them (pip install mujoco newton warp-lang) and run this again."
        )
    text = HEAD.format(mujoco=version("mujoco"), newton=version("newton"))
    for make in CASES:
        case = make()
        sheaves = [isinstance(p, Sheave) for p in case.path]
        rough = any(isinstance(p, Sheave) and p.friction for p in case.path)
        alone = rough or (True, True) in pairwise(sheaves)  # what MuJoCo does not know
        peers = ["Newton"] if alone else ["MuJoCo", "Newton"]
        spent = times(case, peers)
        text += _row(case.name, "rotor", ours(case), spent)
        if not alone:
            text += _row("", "MuJoCo", theirs(case), spent)
        text += _row("", "Newton", newton_errors(case), spent)
    text += TAIL.format(rounds=ROUNDS)
    PAGE.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
