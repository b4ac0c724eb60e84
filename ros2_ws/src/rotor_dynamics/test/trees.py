"""Articulated systems for tests, and what judges them: all bodies free, held together by constraints.

The engine has one coordinate per joint and goes from link to link. :class:`Maximal` has six per body and
solves one dense system for accelerations, joint reactions and tensions together; agreement is
agreement of two formulations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from worlds import random_inertia, state

from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import Cable, System
from validation.oracles import kkt
from validation.oracles.kkt import OracleBody, rotation, skew
from validation.oracles.kremer import BASE, Link, QuaternionLagrange

X, Y, Z = np.eye(3)
BASE_INERTIA = np.diag([0.48, 0.48, 0.95])
LINK_INERTIA = np.diag([0.595e-3, 3.824e-3, 3.7e-3])


def serial_arm(
    n: int, mass: float, com: float, length: float, *, nu: float = 1.0, normalised: bool = False
) -> QuaternionLagrange:
    """A planar arm below a base of 6 kg: axes along y, links along x."""
    links = tuple(
        Link(
            j - 1 if j else BASE,
            np.array([length, 0.0, 0.0]) if j else np.array([0.0, 0.0, -0.1]),
            Y, mass, com * X, LINK_INERTIA,
        )
        for j in range(n)
    )  # fmt: skip
    return QuaternionLagrange(6.0, BASE_INERTIA, links, nu, normalised=normalised)


ARMS = {
    "V1": (1, 1.0, 0.5, 1.0),
    "V2": (2, 0.78, 0.22, 0.44),
    "V3": (3, 0.78, 0.22, 0.44),
}
"""Links, mass, centre of mass and length: the vehicles of the paper and one with a third link."""


def system_of(model: QuaternionLagrange, **changes: Any) -> System:
    """The same vehicle for the engine; body and joint i + 1 and i are link i."""
    bodies = [Body("base", model.base_mass, model.base_inertia)]
    bodies += [Body(f"l{i}", k.mass, k.inertia, k.com) for i, k in enumerate(model.links)]
    joints = tuple(
        Joint(k.parent + 1, i + 1, k.axis, k.origin, name=f"j{i}", **changes)
        for i, k in enumerate(model.links)
    )
    return System(tuple(bodies), (), (), (0,), model.gravity, joints=joints)


def vehicle(name: str, **changes: Any) -> System:
    """One of :data:`ARMS` for the engine."""
    return system_of(serial_arm(*ARMS[name]), **changes)


def unit(rng: np.random.Generator, n: int = 3) -> np.ndarray:
    v = rng.normal(size=n)
    return v / np.linalg.norm(v)


def random_tree(
    rng: np.random.Generator,
    n: int,
    *,
    kinds: Sequence[str] = ("revolute", "prismatic"),
    chain: bool = False,
    on_ground: bool = False,
    passive: bool = True,
    gravity: float = 9.81,
) -> System:
    """A tree of n joints: full inertias, centres of mass and mounts anywhere.

    Args:
        kinds: of joints, drawn from.
        chain: every link carries the next.
        on_ground: the first joint is on the ground, and there is no base.
        passive: whether joints have armature, damping and springs.
    """
    masses = rng.uniform(0.2, 1.5, n + 1) * np.where(np.arange(n + 1) == 0, 4.0, 1.0)
    bodies = [
        Body(f"b{i}", m, random_inertia(rng, m), rng.uniform(-0.2, 0.2, 3))
        for i, m in enumerate(masses)
    ]
    joints = []
    for child in range(1, n + 1):
        coefficients = rng.uniform(0.0, (0.02, 0.3, 3.0, 1.0)) if passive else np.zeros(4)
        joints.append(
            Joint(
                child - 1 if chain else int(rng.integers(0, child)),
                child,
                unit(rng),
                rng.uniform(-0.4, 0.4, 3),
                unit(rng, 4),
                rng.choice(kinds),
                armature=coefficients[0],
                damping=coefficients[1],
                stiffness=coefficients[2],
                rest=coefficients[3],
                name=f"j{child}",
            )
        )
    if on_ground:  # the base is not there, and what it carried is on the ground
        joints = [replace(j, parent=j.parent - 1, child=j.child - 1) for j in joints]
        bodies = bodies[1:]
    return System(
        tuple(bodies), (), (), () if on_ground else (0,), gravity, joints=tuple(joints)
    )  # WORLD is -1


def random_start(
    rng: np.random.Generator, system: System, speed: float = 1.5
) -> tuple[np.ndarray, np.ndarray]:
    """States of all members, of which only those without a joint count, and of the joints, (n_joints, 2)."""
    rows = [
        state(rng.uniform(-1, 1, 3), unit(rng, 4), rng.normal(0, speed, 3), rng.normal(0, speed, 3))
        for _ in system.bodies
    ]
    n = len(system.joints)
    slides = np.array([j.kind == "prismatic" for j in system.joints])
    angles = rng.uniform(-np.pi, np.pi, n) * np.where(slides, 0.1, 1.0)
    return np.array(rows), np.column_stack([angles, rng.normal(0, speed, n)])


def at_rest(n: int) -> np.ndarray:
    """States of n members at the origin; links follow from their joints anyway."""
    return np.tile(state(), (n, 1))


def planted(
    system: System,
    states: np.ndarray,
    joints: np.ndarray,
    *,
    wrenches: np.ndarray | None = None,
    efforts: np.ndarray | None = None,
    **options,
) -> Engine:
    """An engine whose inputs and efforts act from the very start."""
    engine = Engine(system, **options)
    if wrenches is not None:
        engine.world.inputs[:, :4] = wrenches
    if efforts is not None:
        engine.joints.write_efforts(np.asarray(efforts, float))
    engine.set_state(states, joints=np.asarray(joints, float))
    return engine


def joint_state(engine: Engine) -> np.ndarray:
    return np.column_stack([engine.joints.angles, engine.joints.rates])


def whole_state(engine: Engine) -> np.ndarray:
    """Everything that moves, as one vector; quaternions of equal attitudes agree up to their sign."""
    rows = engine.update_kinematics()[:, :13].copy()
    rows[:, 3:7] *= np.sign(rows[:, 3:4] + 1e-300)
    return np.concatenate([rows.ravel(), joint_state(engine).ravel()])


def centres(system: System, motion: np.ndarray) -> np.ndarray:
    """States with positions and velocities of the centres of mass instead of the frames."""
    out = motion[:, :13].copy()
    for row, body in zip(out, system.bodies, strict=True):
        R = rotation(row[3:7])
        row[:3] += R @ body.com
        row[7:10] += R @ np.cross(row[10:13], body.com)
    return out


def masses_of(system: System) -> list[OracleBody]:
    return [OracleBody(b.mass, b.inertia_B) for b in system.bodies]


def momenta(system: System, motion: np.ndarray) -> np.ndarray:
    """Linear momentum, and angular momentum about the centre of mass of everything, (6,)."""
    rows = centres(system, motion)
    both = kkt.momenta(masses_of(system), rows)
    mass = np.array([b.mass for b in system.bodies])
    both[3:] -= np.cross(mass @ rows[:, :3] / mass.sum(), both[:3])
    return both


def energy(engine: Engine) -> float:
    """Of bodies, armatures and springs, J."""
    system, joints = engine.system, joint_state(engine)
    value = kkt.total_energy(
        masses_of(system), centres(system, engine.update_kinematics()), system.gravity
    )
    for j, (angle, rate) in zip(system.joints, joints, strict=True):
        value += 0.5 * j.armature * rate**2 + 0.5 * j.stiffness * (angle - j.rest) ** 2
    return value


def passive_effort(joint: Joint, angle: float, rate: float) -> float:
    """Spring, damping, friction."""
    dry = joint.friction * np.tanh(rate / joint.friction_speed)
    return joint.stiffness * (joint.rest - angle) - joint.damping * rate - dry


@dataclass
class Maximal:
    """Dense equations of one state: ``M a + D^T f = F`` and ``D a + bias = 0``; a at centres of mass, in W.

    Attributes:
        system, motion, joints: what and where, (n, >= 13) at the frames, (n_joints, 2).
        efforts: of the motors, (n_joints,).
        wrenches: of the inputs, (n_inputs, 4).
        driven: accelerations of driven joints, (n_joints,).
        pushes: body, force and moment in W at its centre of mass.

    After construction ``drift`` tells how much the velocities break the joints.
    """

    system: System
    motion: np.ndarray
    joints: np.ndarray
    efforts: np.ndarray | None = None
    wrenches: np.ndarray | None = None
    driven: np.ndarray | None = None
    pushes: Sequence[tuple[int, np.ndarray, np.ndarray]] = ()

    def __post_init__(self) -> None:
        system, n = self.system, len(self.system.bodies)
        self.rows = centres(system, self.motion)
        self.R = [rotation(row[3:7]) for row in self.rows]
        self.omega = [R @ row[10:13] for R, row in zip(self.R, self.rows, strict=True)]
        self.u = np.concatenate(
            [[*s[7:10], *w] for s, w in zip(self.rows, self.omega, strict=True)]
        )
        self.M, self.F = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
        for i, body in enumerate(system.bodies):
            J = np.zeros((3, 3)) if body.inertia_B is None else body.inertia_B
            J = self.R[i] @ J @ self.R[i].T
            if body.inertia_B is None and not any(i == j.child for j in system.joints):
                J = np.eye(3)  # of a free point: nothing acts on it
            self.M[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = body.mass * np.eye(3)
            self.M[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = J
            self.F[6 * i + 2] = -body.mass * system.gravity
            self.F[6 * i + 3 : 6 * i + 6] = -np.cross(self.omega[i], J @ self.omega[i])
        for i, wrench in zip(
            system.inputs, [] if self.wrenches is None else self.wrenches, strict=False
        ):
            force = self.R[i][:, 2] * wrench[0]
            self.F[6 * i : 6 * i + 3] += force
            arm = -self.R[i] @ system.bodies[i].com  # thrust acts at the origin of the frame
            self.F[6 * i + 3 : 6 * i + 6] += self.R[i] @ wrench[1:] + np.cross(arm, force)
        for i, force, moment in self.pushes:
            self.F[6 * i : 6 * i + 6] += np.concatenate([force, moment])
        self.axes = [self._axis(j) for j in system.joints]
        found = [self._joint(i) for i in range(len(system.joints))]
        self.D = np.vstack([np.zeros((0, 6 * n)), *(D for D, _ in found)])
        self.bias = np.concatenate([np.zeros(0), *(b for _, b in found)])
        prescribed = [np.arange(len(b)) == 5 for _, b in found]  # the sixth row, of driven joints
        rates = [p * rate for p, (_, rate) in zip(prescribed, self.joints, strict=True)]
        self.drift = self.D @ self.u - np.concatenate([np.zeros(0), *rates])
        self.rates = np.array([c @ self.u for c, _ in self.axes])

    def point(self, body: int, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position of a point of a body frame, its Jacobian, and its acceleration at rest of all a."""
        J = np.zeros((3, len(self.u)))
        if body == WORLD:
            return np.asarray(r, float), J, np.zeros(3)
        arm = self.R[body] @ (r - self.system.bodies[body].com)
        J[:, 6 * body : 6 * body + 3] = np.eye(3)
        J[:, 6 * body + 3 : 6 * body + 6] = -skew(arm)
        w = self.omega[body]
        return self.rows[body, :3] + arm, J, np.cross(w, np.cross(w, arm))

    def turning(self, body: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Attitude, Jacobian of the angular velocity, angular velocity."""
        J = np.zeros((3, len(self.u)))
        if body == WORLD:
            return np.eye(3), J, np.zeros(3)
        J[:, 6 * body + 3 : 6 * body + 6] = np.eye(3)
        return self.R[body], J, self.omega[body]

    def _axis(self, joint: Joint) -> tuple[np.ndarray, float]:
        """Row c and bias with ``acceleration of the joint = c a + bias``."""
        R, J_P, _ = self.turning(joint.parent)
        axis = R @ rotation(joint.q) @ joint.axis
        if joint.kind == "revolute":
            return axis @ (self.turning(joint.child)[1] - J_P), 0.0
        x_C, J_C, b_C = self.point(joint.child, np.zeros(3))
        _, J, b = self.point(joint.parent, self._in_parent(joint, x_C))
        return axis @ (J_C - J), float(axis @ (b_C - b))

    def _in_parent(self, joint: Joint, x: np.ndarray) -> np.ndarray:
        if joint.parent == WORLD:
            return x
        origin = self.point(joint.parent, np.zeros(3))[0]
        return self.R[joint.parent].T @ (x - origin)

    def _joint(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Constraint rows of a joint; its armature and efforts are added to the system."""
        joint = self.system.joints[i]
        c, c_bias = self.axes[i]
        effort = passive_effort(joint, *self.joints[i])
        effort += 0.0 if self.efforts is None else self.efforts[i]
        if joint.driven:
            effort = 0.0
        else:
            self.M += joint.armature * np.outer(c, c)
        self.F += (effort - (0.0 if joint.driven else joint.armature * c_bias)) * c
        R, J_P, w = self.turning(joint.parent)
        _, J_C, w_C = self.turning(joint.child)
        axis = R @ rotation(joint.q) @ joint.axis
        across = np.linalg.svd(axis[None])[2][1:]  # two directions fixed in the parent
        x_C, P_C, b_C = self.point(joint.child, np.zeros(3))
        x, P, b = self.point(joint.parent, joint.p)
        if joint.kind == "revolute":
            rows = [P_C - P, across @ (J_C - J_P)]
            bias = [b_C - b, np.cross(w, across) @ (w_C - w)]
        else:
            d, d_dot = x_C - x, (P_C - P) @ self.u
            rows = [J_C - J_P, across @ (P_C - P) + np.cross(across, d) @ J_P]
            turned = np.cross(w, across)
            bias = [
                np.zeros(3),
                across @ (b_C - b) + 2.0 * turned @ d_dot + np.cross(w, turned) @ d,
            ]
        if joint.driven:
            rows.append(c[None])
            bias.append(np.array([c_bias - (0.0 if self.driven is None else self.driven[i])]))
        return np.vstack(rows), np.concatenate(bias)

    def cable(self, cable: Cable) -> tuple[np.ndarray, float]:
        """Row and bias of the second derivative of a distance."""
        (x_a, J_a, b_a), (x_b, J_b, b_b) = (
            self.point(cable.a, cable.r_a), self.point(cable.b, cable.r_b)
        )  # fmt: skip
        apart, J = x_b - x_a, J_b - J_a
        d = float(np.linalg.norm(apart))
        xi, rate = apart / d, J @ self.u
        return xi @ J, float(xi @ (b_b - b_a) + (rate @ rate - (xi @ rate) ** 2) / d)

    def solve(
        self, taut: Sequence[int] | np.ndarray = ()
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Accelerations of the frames, (n, 6) as the engine gives them; of the joints; tensions of ``taut``."""
        found = [self.cable(self.system.cables[k]) for k in taut]
        D = np.vstack([self.D, *(row[None] for row, _ in found)])
        bias = np.concatenate([self.bias, [b for _, b in found]])
        a, forces = self._saddle(D, self.F, -bias)
        out = np.zeros((len(self.R), 6))
        for i in range(len(self.R)):
            _, J, b = self.point(i, np.zeros(3))
            out[i, :3], out[i, 3:] = J @ a + b, self.R[i].T @ a[6 * i + 3 : 6 * i + 6]
        joints = np.array([c @ a + b for c, b in self.axes])
        return out, joints, forces[len(self.D) :]

    def respond(self, force: np.ndarray) -> np.ndarray:
        """Accelerations by a generalised force alone."""
        return self._saddle(self.D, force, np.zeros(len(self.D)))[0]

    def free(self) -> np.ndarray:
        """Accelerations at which no cable pulls."""
        return self._saddle(self.D, self.F, -self.bias)[0]

    def jump(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Velocities u after impulses that take the rates ``rows @ u`` out; and these impulses."""
        D = np.vstack([self.D, rows])
        right = np.concatenate([-self.drift, -rows @ self.u])
        change, impulses = self._saddle(D, np.zeros(len(self.u)), right)
        return self.u + change, impulses[len(self.D) :]

    def _saddle(
        self, D: np.ndarray, F: np.ndarray, right: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        m = len(D)
        K = np.block([[self.M, D.T], [D, np.zeros((m, m))]])
        solution = np.linalg.solve(K, np.concatenate([F, right]))
        return solution[: len(F)], solution[len(F) :]
