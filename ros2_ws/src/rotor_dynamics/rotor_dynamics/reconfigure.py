"""Changes of structure: a body is attached to another, or released, while everything moves.

Merged bodies and trees are laid out when a world is built, so a change builds a new world in the
state that the old one leaves behind. Equation (T.14).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from transforms3d.quaternions import qinverse, qmult, quat2mat

from rotor_core.errors import ContractError
from rotor_dynamics import memory
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import CUT_LENGTH, System, Weld


def rebuilt(
    engine: Engine,
    system: System,
    states: np.ndarray,
    joints: np.ndarray,
    *,
    after: Engine | None,
) -> Engine:
    """A world of another structure that goes on at the time of ``engine``, with all its inputs.

    Args:
        engine: whose time, inputs, rotors, motors, wind and cut cables are taken over.
        system: the same bodies, inputs, cables, rotors and joints, connected in another way.
        states: of its bodies, (n, 13).
        joints: (n_joints, 2).
        after: a world in which cables lie as they shall lie, ``engine`` where nothing moves; None: they are laid anew.
    """
    other = Engine(
        system,
        step=engine.step_length,
        time=engine.time,
        max_external=len(engine.world.externals),
        integrator=engine.integrator,
        tolerance=engine.tolerance,
    )
    other.world.inputs[:, : memory.MAP] = engine.world.inputs[:, : memory.MAP]
    other.ints[memory.SINUSOIDS] = engine.ints[memory.SINUSOIDS]
    n = engine.first_stop
    alive, cut = other.world.constraint_int[:n, memory.ALIVE], engine.cut_constraints[:n]
    was = engine.world.constraint_int[:n, memory.ALIVE]
    # one between two parts of one body did not pull, and does once they are parted
    alive[:] = np.where(cut, 0, np.where(engine.laid[:n], alive & was, alive))
    other.rotors.take_over(engine.rotors)
    other.joints.take_over(engine.joints)
    other.swash.take_over(engine.swash)
    other.winches.take_over(engine.winches)
    wind = slice(memory.WIND, memory.WIND + 3)
    for b, group in zip(other.topology.rows, other.groups, strict=True):
        of_first = engine.member_body[group.members[0]]
        other.world.bodies[b, wind] = engine.world.bodies[of_first, wind]
    other.set_state(states, joints=joints, time=engine.time, after=after)
    other.earlier_accuracy = engine.accuracy
    same = other.world.contact_int[:, memory.CAN_TOUCH] != 0  # what stands stays anchored
    for mine, theirs in (
        (other.world.contact_int, engine.world.contact_int),
        (other.world.contacts, engine.world.contacts),
    ):
        first = memory.TOUCHES if mine is other.world.contact_int else memory.ANCHOR
        mine[same, first:] = theirs[same, first:]
    _keep_touching(other, engine)
    return other


def _keep_touching(other: Engine, engine: Engine) -> None:
    """What touches rigidly in both worlds is not told of again; no more than it is in ``engine`` now."""
    hulls = [memory.HULL_ON_A, memory.HULL_ON_B]
    touching = {tuple(row[hulls]) for row in engine.world.meeting_int if row[memory.IN_TOUCH]}
    for row in other.world.meeting_int:
        row[memory.IN_TOUCH] = int(tuple(row[hulls]) in touching)


def keep_contacts(
    engine: Engine, names: Sequence[str], other: Engine, others: Sequence[str]
) -> None:
    """Let what is in compliant contact in another world, too, stay anchored as it is there; the rest begins anew.

    Args:
        engine: in the state in which it goes on.
        names: of its bodies.
        other: the world that was before.
        others: names of its bodies.
    """
    there = {key: k for k, key in enumerate(_contact_keys(other.system, others))}
    for k, key in enumerate(_contact_keys(engine.system, names)):
        numbers, row = engine.world.contact_int[k], engine.world.contacts[k]
        if key in there:
            j = there[key]
            numbers[memory.TOUCHES :] = other.world.contact_int[j, memory.TOUCHES :]
            row[memory.ANCHOR :] = other.world.contacts[j, memory.ANCHOR :]


def _contact_keys(system: System, names: Sequence[str]) -> list[tuple]:
    """What tells the contacts of a system apart: probe and surface, and whose they are."""
    of = {WORLD: "", **dict(enumerate(names))}
    return [
        (
            of[c.probe.body], c.probe.name, *np.round(c.probe.point, 9), of[c.surface.body], c.surface.name,
            c.surface.is_box, *np.round(c.surface.place, 9),
        )
        for c in system.contacts
    ]  # fmt: skip


def attached(engine: Engine, parent: int, child: int) -> tuple[System, np.ndarray, np.ndarray]:
    """The system in which ``child`` is fixed to ``parent`` as it is now, and its state after the capture.

    Plastic: of all motions that the new system allows, the nearest one in kinetic energy. Linear and
    angular momentum are kept.

    Args:
        engine: the running world.
        parent, child: indices of bodies; the child is free.

    Returns:
        The system; states of its bodies (n, 13); states of its joints (n_joints, 2).

    Raises:
        ContractError: the child is part of something else already, or is the parent itself.
    """
    system = engine.system
    taken = {body for w in system.welds for body in (w.parent, w.child)}
    taken |= {body for j in system.joints for body in (j.parent, j.child)}
    if child in taken or child == parent:
        raise ContractError(
            f"attach {system.bodies[child].name!r}: it is held already, or is part of a larger body. "
            "Only a separate body can be attached."
        )
    motion = engine.update_kinematics()
    R = quat2mat(motion[parent, memory.Q : memory.Q + 4])
    weld = Weld(
        parent,
        child,
        R.T @ (motion[child, memory.P : memory.P + 3] - motion[parent, memory.P : memory.P + 3]),
        qmult(
            qinverse(motion[parent, memory.Q : memory.Q + 4]),
            motion[child, memory.Q : memory.Q + 4],
        ),
    )
    # a cable that has been cut pulls nothing, however far apart its ends are now
    cut = engine.cut_constraints
    cables = tuple(
        replace(c, length=CUT_LENGTH) if cut[k] and not c.rod else c
        for k, c in enumerate(system.cables)
    )
    new = replace(system, welds=(*system.welds, weld), cables=cables)
    return new, *_captured(new, motion, engine)


def _captured(new: System, motion: np.ndarray, engine: Engine) -> tuple[np.ndarray, np.ndarray]:
    """Velocities after a capture: what the momenta of all bodies, as impulses, do to the new system at rest."""
    bare = replace(
        new,
        cables=(),
        strands=(),  # their bodies stay
        gravity=0.0,
        rotors=(),
        drags=(),
        inputs=(),
        contacts=(),
        solids=(),
        discs=(),
        blades=(),
        surfaces=(),
        forces=(),
        joints=tuple(
            _bare(j, driven=bool(d))
            for j, d in zip(new.joints, engine.joints.is_driven, strict=True)
        ),
    )
    other = Engine(bare, max_external=len(bare.bodies))
    states = motion[:, : memory.STATE].copy()
    still = states.copy()
    still[:, memory.V :] = 0.0
    angles, rates = engine.joints.angles, engine.joints.rates
    for i in np.flatnonzero(engine.joints.is_driven):
        other.joints.hold(int(i), angles[i])
    other.set_state(still, joints=np.stack([angles, np.zeros(len(angles))], axis=1))
    other.set_external([(i, *momentum(body, states[i])) for i, body in enumerate(bare.bodies)])
    for i in np.flatnonzero(engine.joints.is_driven):  # a driven joint goes on at its rate
        other.joints.prescribe(int(i), np.array([angles[i], 0.0, 0.5 * rates[i]]))
    # the motors turn with their joints
    other.joints.act(rates * np.array([j.armature for j in new.joints]))
    after = other.update_kinematics()
    states[:, memory.V : memory.V + 3], states[:, memory.OMEGA :] = after[:, 13:16], after[:, 16:19]
    return states, np.stack([angles, other.joints.accelerations], axis=1)


def _bare(joint: Joint, *, driven: bool) -> Joint:
    """A joint that neither resists nor stops, or one that is driven, such as a drum that its brake holds."""
    return replace(
        joint, driven=driven, damping=0.0, friction=0.0, stiffness=0.0, lower=-np.inf, upper=np.inf, lag=0.0,
        effort_limit=np.inf,
    )  # fmt: skip


def momentum(body: Body, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Linear momentum of a body and its angular momentum about the origin of its frame, in W."""
    R = quat2mat(state[memory.Q : memory.Q + 4])
    omega = state[memory.OMEGA : memory.OMEGA + 3]
    linear = body.mass * (state[memory.V : memory.V + 3] + R @ np.cross(omega, body.com))
    J = np.zeros((3, 3)) if body.inertia_B is None else body.inertia_B
    return linear, R @ (J @ omega) + np.cross(R @ body.com, linear)


def released(system: System, child: int) -> System:
    """The system without the rigid link by which ``child`` was attached.

    Raises:
        ContractError: nothing holds it.
    """
    welds = tuple(w for w in system.welds if w.child != child or w.follows)  # joints of arms stay
    if len(welds) == len(system.welds):
        raise ContractError(f"release {system.bodies[child].name!r}: nothing holds it.")
    return replace(system, welds=welds)
