"""Other simulators on the same systems, where they are installed (``pip install mujoco pin``).

MuJoCo holds cables as tendons with a stiff upper limit. Pinocchio has no cables: what is timed is the
free motion of all bodies, four evaluations of its articulated-body algorithm, which bounds an RK4 step
from below.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from rotor_core.state import State
from validation.speed.systems import CASES, GRAVITY, INERTIA, MASS, TORQUE, Case, hubs, states
from validation.speed.timing import medians


def installed(name: str) -> bool:
    """True if a peer can be imported; one that is installed but raises ImportError counts as absent."""
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def _vehicle(i: int, state: np.ndarray, case: Case) -> tuple[str, str]:
    positions, spins = hubs()
    sites = "".join(
        f'<site name="r{i}_{k}" pos="{p[0]} {p[1]} {p[2]}"/>' for k, p in enumerate(positions)
    )
    motors = "".join(
        f'<motor site="r{i}_{k}" gear="0 0 1 0 0 {-s * TORQUE}"/>' for k, s in enumerate(spins)
    )
    x, y, z = State(state).position
    a, b, c = INERTIA
    body = (
        f'<body name="q{i}" pos="{x} {y} {z}"><freejoint/>'
        f'<inertial pos="0 0 0" mass="{MASS}" diaginertia="{a} {b} {c}"/><site name="c{i}"/>{sites}</body>'
    )
    return body, motors


def mjcf(case: Case, step: float, integrator: str) -> str:
    """A case for MuJoCo: cables are spatial tendons with an upper limit, as stiff as the step allows."""
    rows = states(case)
    bodies, motors, tendons = "", "", ""
    first = 1 if case.points else 0
    if case.points:
        a, b, c = case.inertia
        sites = "".join(
            f'<site name="p{i}" pos="{p[0]} {p[1]} {p[2]}"/>' for i, p in enumerate(case.points)
        )
        bodies += (
            '<body name="payload"><freejoint/>'
            f'<inertial pos="0 0 0" mass="{case.mass}" diaginertia="{a} {b} {c}"/>{sites}</body>'
        )
    for i in range(case.vehicles):
        body, motor = _vehicle(i, rows[first + i], case)
        bodies, motors = bodies + body, motors + motor
        if case.points:
            tendons += (
                f'<spatial limited="true" range="0 {case.length}" solreflimit="{2 * step} 1" '
                'solimplimit="0.99 0.9999 0.001">'
                f'<site site="c{i}"/><site site="p{i}"/></spatial>'
            )
    return (
        f'<mujoco><compiler autolimits="false"/><option timestep="{step}" integrator="{integrator}" '
        f'gravity="0 0 -{GRAVITY}"/><worldbody>{bodies}</worldbody><tendon>{tendons}</tendon>'
        f"<actuator>{motors}</actuator></mujoco>"
    )


class _MujocoWorld:
    def __init__(self, case: Case, step: float, integrator: str) -> None:
        import mujoco  # pyright: ignore[reportMissingImports]

        self._mujoco: Any = mujoco
        self._model = self._mujoco.MjModel.from_xml_string(mjcf(case, step, integrator))
        self._data = self._mujoco.MjData(self._model)
        for i, s in enumerate(states(case)):
            self._data.qvel[6 * i : 6 * i + 6] = np.concatenate(
                [State(s).velocity, State(s).body_rate]
            )
        self._data.ctrl[:] = case.hover_speed**2 * 1e-6
        self._n = len(states(case))

    def run(self, steps: int) -> None:
        """Integrate, in a loop in C."""
        self._mujoco.mj_step(self._model, self._data, steps)

    @property
    def positions(self) -> np.ndarray:
        """Of all bodies, (n, 3) m."""
        return self._data.qpos.reshape(self._n, 7)[:, :3].copy()


def mujoco_world(case: Case, step: float, integrator: str) -> _MujocoWorld:
    """The case in MuJoCo, with rotors that push as at hover speed and no drag."""
    return _MujocoWorld(case, step, integrator)


class _PinocchioWorld:
    def __init__(self, case: Case) -> None:
        pinocchio: Any = importlib.import_module("pinocchio")  # compiled: it has no types
        self._aba = pinocchio.aba
        self._model = model = pinocchio.Model()
        if case.points:
            inertia = pinocchio.Inertia(case.mass, np.zeros(3), np.diag(case.inertia))
            self._add(pinocchio, inertia, "payload")
        for i in range(case.vehicles):
            inertia = pinocchio.Inertia(MASS, np.zeros(3), np.diag(INERTIA))
            self._add(pinocchio, inertia, f"quad{i + 1}")
        self._data = model.createData()
        self._q = pinocchio.neutral(model)
        self._v, self._tau = np.full(model.nv, 0.1), np.zeros(model.nv)

    def _add(self, pinocchio: Any, inertia: Any, name: str) -> None:
        joint = self._model.addJoint(
            0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), name
        )
        self._model.appendBodyToJoint(joint, inertia, pinocchio.SE3.Identity())

    def run(self, steps: int) -> None:
        """Four evaluations per step, from Python."""
        for _ in range(4 * steps):
            self._aba(self._model, self._data, self._q, self._v, self._tau)


def peer_times(steps: int, rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds per step of 1 ms by peer and case; empty where none is installed."""
    worlds = {}
    if installed("mujoco"):
        for kind in ("RK4", "Euler"):
            worlds[f"MuJoCo {kind}"] = lambda case, kind=kind: mujoco_world(case, 1e-3, kind)
    if installed("pinocchio"):
        worlds["Pinocchio, 4 x aba"] = _PinocchioWorld
    out = {}
    for peer, make in worlds.items():

        def task(case: Case, make=make) -> Callable[[], None]:
            world = make(case)
            return lambda: world.run(steps)

        seconds = medians({n: lambda c=c, task=task: task(c) for n, c in CASES.items()}, rounds)
        out[peer] = {name: value / steps * 1e6 for name, value in seconds.items()}
    return out
