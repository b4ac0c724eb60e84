"""A helicopter of 13 coordinates by body decomposition, against whoever else can do it (HE-T1).

The engine, the recursions of controllers, Pinocchio and MuJoCo (the last two where installed).
"""

from importlib import import_module

import numpy as np
import pytest
from helicopters import HELICOPTERS, ROUNDING, SOLVED, close, drawn, in_twists
from transforms3d.quaternions import mat2quat
from trees import at_rest, planted

from rotor_core.vehicles import tree_columns
from rotor_core.vehicles.recursions import inverse_dynamics, mass_matrix, place_links
from rotor_dynamics.model.body import Body as Member
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import System
from validation.oracles.kkt import skew
from validation.oracles.kremer import block_diagonal
from validation.oracles.palacios import BASE, EZ, Base, Body, sweep


def mounts(tree):
    """Links with their joints as URDF has them, fixed transform first.

    That is the place and attitude of the joint in the parent, and the body in a frame at its joint, not where
    the oracle's link has its frame.
    """
    fixed = {BASE: (np.zeros(3), np.eye(3))}
    for i, link in enumerate(tree.links):
        fixed[i] = link.offset, link.turn
        com = link.offset + link.turn @ link.body.com
        inertia = link.turn @ link.body.inertia @ link.turn.T
        yield link, *fixed[link.parent], Body(link.body.mass, com, inertia)


def tables(tree):
    """For the recursions of controllers."""
    links, kinds = (
        np.zeros((len(tree.links) + 1, tree_columns.LINK)),
        np.zeros((len(tree.links) + 1, 2), np.int64),
    )
    kinds[1:] = [(link.parent + 1, tree_columns.REVOLUTE) for link in tree.links]
    bodies = [tree.base]
    for row, (link, p, R, body) in zip(links[1:], mounts(tree), strict=True):
        (
            row[tree_columns.POINT : tree_columns.POINT + 3],
            row[tree_columns.TURN : tree_columns.TURN + 4],
        ) = p, mat2quat(R)
        row[tree_columns.AXIS : tree_columns.AXIS + 3] = link.axis
        bodies.append(body)
    for row, body in zip(links, bodies, strict=True):
        row[tree_columns.MASS], row[tree_columns.COM : tree_columns.COM + 3] = body.mass, body.com
        row[tree_columns.INERTIA : tree_columns.INERTIA + 9] = body.inertia.ravel()
    return links, kinds


@HELICOPTERS
def test_he_t1_controllers_model(tree):
    """Recursive Newton-Euler and composite bodies: floating base, links without mass."""
    links, kinds = tables(tree)
    work, H, h = np.zeros((len(links), tree_columns.WORK)), np.zeros((13, 13)), np.zeros(13)
    for _, x, x_dot in drawn(2):
        s = in_twists(tree, x, x_dot)
        g_B = s.G[0, :3].copy()
        place_links(links, kinds, x[6:], work)
        inverse_dynamics(links, kinds, s.u, np.zeros(13), g_B, work, h)
        close(h, s.bias(), ROUNDING)
        inverse_dynamics(links, kinds, np.zeros(13), np.zeros(13), g_B, work, h)
        close(h, s.gravity(), ROUNDING)
        mass_matrix(links, kinds, work, H)
        close(H, s.mass_matrix(), ROUNDING)


def system_of(tree):
    """For the engine; member i + 1 and joint i are link i."""

    def member(name, body):
        return Member(name, body.mass, body.inertia if body.mass else None, body.com)

    members, joints = [member("fuselage", tree.base)], []
    for i, (link, p, R, body) in enumerate(mounts(tree)):
        members.append(member(f"l{i}", body))
        joints.append(Joint(link.parent + 1, i + 1, link.axis, p, mat2quat(R), name=f"j{i}"))
    return System(tuple(members), gravity=tree.gravity, joints=tuple(joints))


@HELICOPTERS
def test_he_t1_engine(tree):
    """Accelerations of the articulated-body recursion, by weight, efforts and a wrench on every body with mass."""
    system, massive = system_of(tree), np.array([body.mass > 0.0 for body in tree.bodies])
    engine = planted(system, at_rest(8), np.zeros((7, 2)))
    for rng, x, x_dot in drawn(3):
        s = in_twists(tree, x, x_dot)
        F, efforts = rng.normal(0.0, 3.0, (8, 6)) * massive[:, None], rng.normal(0.0, 3.0, 7)
        states = at_rest(8)
        states[0] = np.concatenate([x[:3], mat2quat(s.R[0]), x_dot[:3], s.v[0, 3:]])
        pushes = []
        for i in np.flatnonzero(massive):
            force, moment = s.R[i] @ F[i, :3], s.R[i] @ F[i, 3:]
            if i:  # the frame of the engine's link is at the joint
                link = tree.links[i - 1]
                moment += np.cross(s.R[i] @ link.turn.T @ link.offset, force)
            pushes.append((int(i), force, moment))
        engine.set_external(pushes)
        engine.joints.write_efforts(efforts)
        engine.set_state(states, joints=np.column_stack([x[6:], x_dot[6:]]))
        row = engine.update_kinematics()[0]
        linear = s.R[0].T @ row[13:16] - np.cross(s.u[3:6], s.u[:3])
        found = np.concatenate([linear, row[16:19], engine.joints.accelerations])
        close(found, s.accelerations(np.concatenate([np.zeros(6), efforts]), F), SOLVED)


@HELICOPTERS
def test_he_t1_pinocchio(tree):
    pin = pytest.importorskip("pinocchio")
    model = pin.Model()
    numbers = [model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")]
    model.appendBodyToJoint(numbers[0], pin.Inertia(*tree.base), pin.SE3.Identity())
    for i, (link, p, R, body) in enumerate(mounts(tree)):
        kind = pin.JointModelRevoluteUnaligned(link.axis)
        numbers.append(model.addJoint(numbers[link.parent + 1], kind, pin.SE3(R, p), f"j{i}"))
        model.appendBodyToJoint(numbers[-1], pin.Inertia(*body), pin.SE3.Identity())
    model.gravity.linear = -tree.gravity * EZ
    data = model.createData()
    for rng, x, x_dot in drawn(4):
        s, tau = in_twists(tree, x, x_dot), rng.normal(0.0, 3.0, 13)
        q = np.concatenate([x[:3], np.roll(mat2quat(s.R[0]), -1), x[6:]])
        H = np.triu(pin.crba(model, data, q))
        close(H + np.triu(H, 1).T, s.mass_matrix(), ROUNDING)
        close(pin.nonLinearEffects(model, data, q, s.u), s.bias(), ROUNDING)
        close(pin.computeGeneralizedGravity(model, data, q), s.gravity(), ROUNDING)
        close(pin.aba(model, data, q, s.u, tau), s.accelerations(tau), SOLVED)


def mujoco_text(tree):
    """A body turns on all joints between it and the next body with mass: links without mass are refused."""

    def numbers(values):
        return " ".join(repr(float(v)) for v in np.ravel(values))

    def matter(body):
        moments = numbers(np.diag(body.inertia))  # principal here
        return f'<inertial pos="{numbers(body.com)}" mass="{body.mass!r}" diaginertia="{moments}"/>'

    def beyond(parent, joints, p, R):
        text = ""
        for i, link in enumerate(tree.links):
            if link.parent == parent:
                # pose at zero angle, and joints on the way, in the nearest parent with mass
                way, there, own = (
                    [*joints, (i, p, R @ link.axis)],
                    p + R @ link.offset,
                    R @ link.turn,
                )
                if not link.body.mass:
                    text += beyond(i, way, there, own)
                    continue
                hinges = "".join(
                    f'<joint name="j{k}" pos="{numbers(own.T @ (point - there))}" axis="{numbers(own.T @ axis)}"/>'
                    for k, point, axis in way
                )
                text += (
                    f'<body pos="{numbers(there)}" quat="{numbers(mat2quat(own))}">{hinges}{matter(link.body)}'
                    f"{beyond(i, [], np.zeros(3), np.eye(3))}</body>"
                )
        return text

    return (
        '<mujoco><compiler angle="radian" balanceinertia="false" inertiafromgeom="false"/>'
        f'<option gravity="0 0 {-tree.gravity}"/><worldbody><body><freejoint/>{matter(tree.base)}'
        f"{beyond(BASE, [], np.zeros(3), np.eye(3))}</body></worldbody></mujoco>"
    )


@HELICOPTERS
def test_he_t1_mujoco(tree):
    """Velocities of its base: linear in W, angular in B."""
    pytest.importorskip("mujoco")
    mujoco = import_module("mujoco")
    model = mujoco.MjModel.from_xml_string(mujoco_text(tree))
    data, H = mujoco.MjData(model), np.zeros((13, 13))
    assert [model.joint(f"j{i}").dofadr[0] for i in range(7)] == list(range(6, 13))
    for rng, x, x_dot in drawn(5):
        twist, tau = in_twists(tree, x, x_dot), rng.normal(0.0, 3.0, 13)
        R, omega = twist.R[0], twist.v[0, 3:]
        J, J_dot = (
            block_diagonal(R.T, np.eye(3)),
            block_diagonal(-skew(omega) @ R.T, np.zeros((3, 3))),
        )
        base = Base(R, J, J_dot, np.concatenate([x_dot[:3], omega]))
        s = sweep(tree, base, x[6:], x_dot[6:])
        mujoco.mj_resetData(model, data)
        data.qpos[:] = np.concatenate([x[:3], mat2quat(R), x[6:]])
        data.qvel[:], data.qfrc_applied[:] = s.u, tau
        mujoco.mj_forward(model, data)
        for row, e in zip(H, np.eye(13), strict=True):
            mujoco.mj_mulM(model, data, row, e)
        close(H, s.mass_matrix(), ROUNDING)
        close(data.qfrc_bias, s.bias(), ROUNDING)
        close(data.qacc, s.accelerations(tau), SOLVED)
