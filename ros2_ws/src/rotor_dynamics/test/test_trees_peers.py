"""Articulated bodies against Pinocchio and MuJoCo, where these are installed (they are not required)."""

from importlib import import_module

import numpy as np
import pytest
from trees import ARMS, planted, random_start, random_tree, vehicle

from rotor_dynamics.model.body import WORLD
from rotor_dynamics.model.system import System
from validation.oracles.kkt import rotation

TOLERANCE = 1e-10
"""Relative, of accelerations: rounding times the condition number of mass matrices of 20 links."""


def grown(seed, n, **options):
    return random_tree(np.random.default_rng(seed), n, **options)


WORLDS = {
    **{name: vehicle(name) for name in ARMS},
    "tree of 6": grown(1, 6, kinds=("revolute",), passive=False),
    "tree of 9, both kinds": grown(2, 9),
    "tree of 14, both kinds": grown(3, 14),
    "tree of 7 on the ground": grown(4, 7, on_ground=True),
    "sliders": grown(5, 4, kinds=("prismatic",)),
    "chain of 20": grown(6, 20, chain=True),
    "chain of 20 on the ground": grown(7, 21, chain=True, on_ground=True),
}
STATES = 10
"""Per world, of which there are ten."""


def depth_first(system: System) -> list[int]:
    """Joints so that everything beyond a joint comes before its next sibling."""
    order = []

    def follow(body):
        for i, joint in enumerate(system.joints):
            if joint.parent == body:
                order.append(i)
                follow(joint.child)

    root = {j.parent for j in system.joints} - {j.child for j in system.joints}
    follow(root.pop())
    return order


def drawn(name, system):
    """Engines in random states under random thrust, moments and efforts."""
    rng = np.random.default_rng(len(name))
    for _ in range(STATES):
        states, joints = random_start(rng, system)
        wrenches = rng.uniform(-5.0, 5.0, (len(system.inputs), 4))
        efforts = rng.uniform(-3.0, 3.0, len(system.joints))
        engine = planted(system, states, joints, wrenches=wrenches, efforts=efforts)
        yield engine, joints, wrenches, efforts


def passive(system, joints):
    """Springs and dampers, which the functions of Pinocchio do not know."""
    return np.array(
        [
            j.stiffness * (j.rest - angle) - j.damping * rate
            for j, (angle, rate) in zip(system.joints, joints, strict=True)
        ]
    )


def relative(found, expected):
    return np.max(np.abs(found - expected)) / max(1.0, np.max(np.abs(expected)))


@pytest.mark.parametrize("name", list(WORLDS))
def test_am_t1_forward_dynamics_against_pinocchio(name):
    """aba: base, joints, and with them pose, velocity and acceleration of every link."""
    pin = pytest.importorskip("pinocchio")
    system = WORLDS[name]
    flies = bool(system.inputs)
    model = pin.Model()
    numbers = {WORLD: 0}
    if flies:
        numbers[0] = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    order = depth_first(system)
    for i in order:
        j = system.joints[i]
        kind = (
            pin.JointModelRevoluteUnaligned
            if j.kind == "revolute"
            else pin.JointModelPrismaticUnaligned
        )
        mount = pin.SE3(rotation(j.q), np.asarray(j.p, float))
        numbers[j.child] = model.addJoint(numbers[j.parent], kind(j.axis), mount, j.name)
    for i, body in enumerate(system.bodies):
        inertia = pin.Inertia(body.mass, np.asarray(body.com, float), np.array(body.inertia_B))
        model.appendBodyToJoint(numbers[i], inertia, pin.SE3.Identity())
    model.gravity.linear = np.array([0.0, 0.0, -system.gravity])
    first = 6 * flies
    model.armature[first:] = [system.joints[i].armature for i in order]
    data = model.createData()
    for engine, joints, wrenches, efforts in drawn(name, system):
        rows = engine.motion
        base, R = rows[0], rotation(rows[0, 3:7])
        tau = (efforts + passive(system, joints))[order]
        q, v = joints[order].T
        if flies:
            q = np.concatenate([base[:3], base[[4, 5, 6, 3]], q])
            v = np.concatenate([R.T @ base[7:10], base[10:13], v])
            tau = np.concatenate([[0.0, 0.0, wrenches[0, 0]], wrenches[0, 1:], tau])
        a = np.array(pin.aba(model, data, q, v, tau))
        assert relative(engine.joints.accelerations[order], a[first:]) < TOLERANCE
        pin.forwardKinematics(model, data, q, v, a)
        scale = max(1.0, np.max(np.abs(a)))
        for i, row in enumerate(rows):
            k = numbers[i]
            classical = pin.getClassicalAcceleration(model, data, k, pin.LOCAL_WORLD_ALIGNED)
            velocity = pin.getVelocity(model, data, k, pin.LOCAL_WORLD_ALIGNED).linear
            np.testing.assert_allclose(row[:3], data.oMi[k].translation, atol=1e-12)
            np.testing.assert_allclose(rotation(row[3:7]), data.oMi[k].rotation, atol=1e-12)
            speed = max(1.0, np.max(np.abs(velocity)))
            np.testing.assert_allclose(row[7:10], velocity, atol=1e-12 * speed)
            np.testing.assert_allclose(row[13:16], classical.linear, atol=TOLERANCE * scale)
            np.testing.assert_allclose(row[16:19], data.a[k].angular, atol=TOLERANCE * scale)


def mujoco_text(system: System) -> str:
    """The model as MuJoCo reads it; numbers in full length, inertias as principal moments."""

    def numbers(values):
        return " ".join(repr(float(v)) for v in values)

    def matter(body):
        moments, axes = np.linalg.eigh(body.inertia_B)
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        quat = np.empty(4)
        import_module("mujoco").mju_mat2Quat(quat, axes.ravel())
        return (
            f'<inertial pos="{numbers(body.com)}" mass="{numbers([body.mass])}" quat="{numbers(quat)}" '
            f'diaginertia="{numbers(moments)}"/>'
        )

    def beyond(parent):
        text = ""
        for j in system.joints:
            if j.parent == parent:
                kind = "hinge" if j.kind == "revolute" else "slide"
                text += (
                    f'<body pos="{numbers(j.p)}" quat="{numbers(j.q)}">'
                    f'<joint name="{j.name}" type="{kind}" axis="{numbers(j.axis)}" '
                    f'armature="{numbers([j.armature])}" damping="{numbers([j.damping])}" '
                    f'stiffness="{numbers([j.stiffness])}" springref="{numbers([j.rest])}"/>'
                    f"{matter(system.bodies[j.child])}{beyond(j.child)}</body>"
                )
        return text

    inside = beyond(WORLD)
    if system.inputs:
        inside = (
            f'<body name="base"><freejoint name="f"/>{matter(system.bodies[0])}{beyond(0)}</body>'
        )
    return (
        '<mujoco><compiler angle="radian" balanceinertia="false" inertiafromgeom="false"/>'
        f'<option gravity="0 0 {-system.gravity}"/><worldbody>{inside}</worldbody></mujoco>'
    )


@pytest.mark.parametrize("name", list(WORLDS))
def test_am_t1_forward_dynamics_against_mujoco(name):
    """qacc: linear in W, angular in the body; springs and dampers are MuJoCo's own."""
    mujoco = pytest.importorskip("mujoco")
    system = WORLDS[name]
    model = mujoco.MjModel.from_xml_string(mujoco_text(system))
    data = mujoco.MjData(model)
    first = 6 * bool(system.inputs)
    columns = np.array([model.joint(j.name).dofadr[0] for j in system.joints])
    for engine, joints, wrenches, efforts in drawn(name, system):
        rows = engine.motion
        mujoco.mj_resetData(model, data)
        data.qpos[columns + (first > 0)], data.qvel[columns] = joints.T
        data.qfrc_applied[columns] = efforts
        if first:
            data.qpos[:7], data.qvel[:6] = rows[0, :7], rows[0, 7:13]
            data.qfrc_applied[:3] = rotation(rows[0, 3:7])[:, 2] * wrenches[0, 0]
            data.qfrc_applied[3:6] = wrenches[0, 1:]
        mujoco.mj_forward(model, data)
        assert relative(engine.joints.accelerations, data.qacc[columns]) < TOLERANCE
        if first:
            assert relative(rows[0, 13:19], data.qacc[:6]) < TOLERANCE
