"""A mechanical system as a user describes it.

Bodies, cables, rigid links, inputs. Welds are merged when it is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from transforms3d.quaternions import qinverse, qmult, quat2mat

from rotor_core.errors import ModelError
from rotor_dynamics.memory import PARAMETERS
from rotor_dynamics.model.blade import Blade, Disc, Surface, check_blades
from rotor_dynamics.model.body import WORLD, Body, Placement, merge
from rotor_dynamics.model.cable import INITIAL_GAP, Cable
from rotor_dynamics.model.contact import Contact, check_contacts
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.solid import RigidContact, Solid, check_solids
from rotor_dynamics.model.strand import Strand

CUT_LENGTH = 1e6
"""Length of cables that have been cut, m, in worlds that are laid out anew."""


@dataclass(frozen=True)
class Weld:
    """A rigid link.

    Body ``child`` sits at ``p`` (3,) with attitude ``q`` (4,) in the frame of body ``parent``. ``follows``: as a part
    of it, whose state nobody gives.
    """

    parent: int
    child: int
    p: np.ndarray
    q: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    follows: bool = False


@dataclass(frozen=True)
class Rotor:
    """A spinning rotor on a body: thrust, drag torque, stored momentum.

    The inertia of the body includes that of the rotor.

    Attributes:
        body: index.
        axis: of thrust, in body axes, (3,), unit length.
        hub: in the frame of the body, (3,) m.
        spin: +1 turns counter-clockwise about ``axis``, -1 clockwise.
        thrust: over speed squared, N s^2.
        torque: of the air against the rotation, over speed squared, N m s^2.
        inertia: about the axis, kg m^2.
        drag: force across the axis over airspeed and speed, N s^2/m.
        radius: m, where the ground is to be felt; 0 switches that off.
        lag: time constant of the speed, s; 0 follows commands at once.
        joint: index of the joint that it turns with, whose link holds its inertia; -1: it has a speed
            of its own.
    """

    body: int
    axis: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    hub: np.ndarray = field(default_factory=lambda: np.zeros(3))
    spin: float = 1.0
    thrust: float = 0.0
    torque: float = 0.0
    inertia: float = 0.0
    drag: float = 0.0
    radius: float = 0.0
    lag: float = 0.0
    joint: int = -1


@dataclass(frozen=True)
class Drag:
    """Drag of a body and damping of its rates, along its axes, (3,) each (R.7), (R.8).

    Attributes:
        body: index.
        linear, quadratic: of the airspeed, N s/m and N s^2/m^2.
        rate_linear, rate_cubic: of the body rate, N m s and N m s^3.
        centre: of pressure in the frame of the body, (3,) m, where the force acts; default its centre of mass.
    """

    body: int
    linear: np.ndarray = field(default_factory=lambda: np.zeros(3))
    quadratic: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rate_linear: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rate_cubic: np.ndarray = field(default_factory=lambda: np.zeros(3))
    centre: np.ndarray | None = None


@dataclass(frozen=True)
class Force:
    """A registered force on a body.

    Attributes:
        body: index.
        type: its name in :data:`rotor_core.config.extensions.FORCES`.
        parameters: numbers of its formula, (n,), n up to :data:`rotor_dynamics.memory.PARAMETERS`.
    """

    body: int
    type: str
    parameters: np.ndarray


@dataclass(frozen=True)
class System:
    """Bodies, what connects them, and what acts on them.

    Attributes:
        bodies: members; users and messages speak of these.
        cables, welds: connections.
        inputs: indices of the bodies that have a thrust and moment input, in the order of commands.
        gravity: m/s^2, along -z of W.
        rotors, drags: force elements.
        ground: height of the ground that rotors feel, m.
        joints: of articulated vehicles, parents before children.
        contacts: what may touch what.
        discs, blades, surfaces: rotors with blades, fins and tailplanes.
        tails: inputs that are the tail rotor of a helicopter, by their number: where it is in the frame of the
            body, (3,) m. Their fourth channel is its force to the left, the others do nothing.
        forces: that are registered.
        strands: heavy cables among the cables.
        solids: of bodies and the world, in rigid contact where they touch.
        rigid: law of that.
    """

    bodies: tuple[Body, ...]
    cables: tuple[Cable, ...] = ()
    welds: tuple[Weld, ...] = ()
    inputs: tuple[int, ...] = ()
    gravity: float = 9.81
    rotors: tuple[Rotor, ...] = ()
    drags: tuple[Drag, ...] = ()
    ground: float = 0.0
    joints: tuple[Joint, ...] = ()
    contacts: tuple[Contact, ...] = ()
    discs: tuple[Disc, ...] = ()
    blades: tuple[Blade, ...] = ()
    surfaces: tuple[Surface, ...] = ()
    tails: Mapping[int, np.ndarray] = field(default_factory=dict)
    forces: tuple[Force, ...] = ()
    strands: tuple[Strand, ...] = ()
    solids: tuple[Solid, ...] = ()
    rigid: RigidContact = field(default_factory=RigidContact)

    @property
    def n_cables(self) -> int:
        """Number of cables that users name: without the inner pieces of heavy ones, which stand behind."""
        return len(self.cables) - sum(len(s.pieces) for s in self.strands)

    def __post_init__(self) -> None:
        n = len(self.bodies)
        if n == 0:
            raise ModelError("system: needs at least one body, got none.")
        for k, cable in enumerate(self.cables):
            self._check_cable(f"cable{k + 1}", cable)
        for i, rotor in enumerate(self.rotors):
            self._check_rotor(f"rotor {i}", rotor)
        self._check_rotor_inertia()
        self._check_forces()
        self._check_welds()
        for i in self.inputs:
            if not 0 <= i < n:
                raise ModelError(f"inputs: body index must be 0..{n - 1}, got {i}.")
        self._check_joints()
        check_contacts(self.contacts, self.bodies)
        jointed = {body for j in self.joints for body in (j.parent, j.child)} - {WORLD}
        check_solids(self.solids, self.bodies, self._all_held_with(jointed))
        check_blades(self.discs, self.blades, self.surfaces, self.bodies, self.joints)

    def _check_cable(self, place: str, c: Cable) -> None:
        n = len(self.bodies)
        for end, _ in c.path:
            if not (end == WORLD or 0 <= end < n):
                raise ModelError(f"{place}: body index must be 0..{n - 1} or WORLD, got {end}.")
        ends = {end for end, _ in c.path}
        if len(ends) == 1:
            one = "the world" if ends == {WORLD} else repr(self.bodies[ends.pop()].name)
            raise ModelError(
                f"{place}: begins and ends on {one}, and pulls at nothing. Give it another body."
            )
        frictions = [way.friction for way in c.through]
        if not (np.isfinite(frictions).all() and min(frictions, default=0.0) >= 0.0):
            raise ModelError(f"{place}: friction must be finite numbers >= 0, got {frictions}.")
        for part in c.parts:
            if len(part) > 1 and any(s.ball or s.polyhedron is not None for s in part):
                raise ModelError(
                    f"{place}: a ball, box or hull and something else to lie on between the same two rings. "
                    f"Put a ring between, or name one of them only."
                )
            rough = [s for s in part if s.friction]
            if len({s.body for s in rough}) > 1 and not all(s.turn for s in rough):
                raise ModelError(
                    f"{place}: rough pegs of several bodies between the same two rings: which the cable meets "
                    f"first is not known. Put a ring between, or let one body be smooth."
                )
        for at, sheave in c.sheaves:
            if sheave.polyhedron is None:
                continue
            ends = [r for body, r in (c.path[at - 1], c.path[at + 2]) if body == sheave.body]
            if any(not sheave.polyhedron.is_outside(r - sheave.centre, INITIAL_GAP) for r in ends):
                raise ModelError(
                    f"{place}: an end of it, or a ring, is on the surface of the box or hull of its own body "
                    f"that it may wrap around, or inside. Put it outside, or leave that out."
                )
        if any(frictions) and c.stiffness:
            raise ModelError(
                f"{place}: a cable that stretches does not rub. Leave out stiffness or friction."
            )
        if any(frictions) and self.solids:
            raise ModelError(
                f"{place}: cables do not rub where bodies are in rigid contact. Leave out friction, or use the "
                "compliant law of contact."
            )
        elastic = (c.stiffness, c.damping)
        if not (np.isfinite(elastic).all() and min(elastic) >= 0.0 and c.breaking_load > 0.0):
            raise ModelError(
                f"{place}: stiffness and damping must be finite and >= 0, the breaking load > 0, "
                f"got {c.stiffness}, {c.damping} and {c.breaking_load}."
            )
        if not c.stiffness and (c.damping or np.isfinite(c.breaking_load)):
            raise ModelError(
                f"{place}: damping and breaking load are those of an elastic cable. Give it a stiffness."
            )
        if not (np.isfinite(c.length) and c.length > 0.0):
            raise ModelError(f"{place}: length must be a finite number > 0 m, got {c.length}.")
        for end, r in c.path:
            if np.shape(r) != (3,) or not np.all(np.isfinite(r)):
                raise ModelError(f"{place}: attachment point must be 3 finite numbers, got {r}.")
            if (
                end != WORLD
                and self.bodies[end].inertia_B is None
                and np.any(r)
                and not self._is_held(end)
            ):
                raise ModelError(
                    f"{place}: a point mass ({self.bodies[end].name!r}) is attached at its "
                    f"centre, got the offset {list(r)}."
                )

    def _check_rotor(self, place: str, r: Rotor) -> None:
        n = len(self.bodies)
        if not 0 <= r.body < n:
            raise ModelError(f"{place}: body index must be 0..{n - 1}, got {r.body}.")
        if self.bodies[r.body].inertia_B is None and not self._is_welded(r.body):
            raise ModelError(f"{place}: {self.bodies[r.body].name!r} is a point mass.")
        if abs(float(np.linalg.norm(r.axis)) - 1.0) > 1e-9:
            raise ModelError(
                f"{place}: axis must have length 1, got {np.asarray(r.axis).tolist()}."
            )
        if not -1 <= r.joint < len(self.joints) or (r.joint >= 0 and r.inertia):
            raise ModelError(
                f"{place}: joint must be -1..{len(self.joints) - 1}, and inertia then 0 (the link has it), "
                f"got {r.joint} and {r.inertia:g}."
            )
        numbers = (r.spin, r.thrust, r.torque, r.inertia, r.drag, r.radius, r.lag, *r.hub)
        if not np.isfinite(numbers).all() or min(numbers[1:7]) < 0.0:
            raise ModelError(f"{place}: coefficients must be finite and >= 0, got {numbers}.")

    def _check_forces(self) -> None:
        n = len(self.bodies)
        for d in self.drags:
            if not 0 <= d.body < n:
                raise ModelError(f"drag: body index must be 0..{n - 1}, got {d.body}.")
            coefficients = np.concatenate([d.linear, d.quadratic, d.rate_linear, d.rate_cubic])
            if not np.isfinite(coefficients).all() or coefficients.min() < 0.0:
                raise ModelError(
                    f"drag of {self.bodies[d.body].name!r}: coefficients must be finite and >= 0, "
                    f"got {coefficients.tolist()}."
                )
            self._check_centre(d)
        for f in self.forces:
            if not 0 <= f.body < n:
                raise ModelError(f"force {f.type!r}: body index must be 0..{n - 1}, got {f.body}.")
            if len(f.parameters) > PARAMETERS or not np.isfinite(f.parameters).all():
                raise ModelError(
                    f"force {f.type!r} of {self.bodies[f.body].name!r}: needs at most {PARAMETERS} finite numbers, "
                    f"got {list(f.parameters)}."
                )

    def _check_welds(self) -> None:
        n = len(self.bodies)
        for w in self.welds:
            if not (0 <= w.parent < n and 0 <= w.child < n and w.parent != w.child):
                raise ModelError(
                    f"weld: parent and child must be two bodies, got {w.parent} and {w.child}."
                )

    def _check_joints(self) -> None:
        n = len(self.bodies)
        for i, j in enumerate(self.joints):
            if not ((j.parent == WORLD or 0 <= j.parent < n) and 0 <= j.child < n):
                raise ModelError(
                    f"joint {j.name or i!r}: parent and child must be two bodies, got {j.parent} and {j.child}."
                )
        moved = {j.child for j in self.joints}
        for i, body in enumerate(self.bodies):
            if body.mass == 0.0 and i not in moved and not self._is_welded(i):
                raise ModelError(
                    f"body {body.name!r}: only a link between joints can be massless. Give it a mass."
                )

    def _check_centre(self, drag: Drag) -> None:
        if drag.centre is None:
            return
        body = self.bodies[drag.body]
        if np.shape(drag.centre) != (3,) or not np.isfinite(drag.centre).all():
            raise ModelError(
                f"drag of {body.name!r}: centre of pressure must be 3 finite numbers, got {drag.centre}."
            )
        apart = np.any(drag.centre != body.com)
        if body.inertia_B is None and apart and not self._is_held(drag.body):
            raise ModelError(
                f"drag of {body.name!r}: a point mass has its centre of pressure at its centre, got the "
                f"offset {list(drag.centre)}."
            )

    def _check_rotor_inertia(self) -> None:
        """The inertia of a body contains that of its rotors, so the rest must be that of something."""
        for i, body in enumerate(self.bodies):
            if body.inertia_B is None:
                continue
            rest = np.array(body.inertia_B)
            for r in self.rotors:
                if r.body == i:
                    rest -= r.inertia * np.outer(r.axis, r.axis)
            if np.linalg.eigvalsh(rest)[0] < 0.0:
                raise ModelError(
                    f"rotors of {body.name!r}: their inertia must not exceed that of the body, which includes it. "
                    "Reduce it, or add it to that of the body."
                )

    def _all_held_with(self, bodies: set[int]) -> set[int]:
        """These bodies and all that welds connect with them."""
        found = set(bodies)
        while True:
            more = {
                b for w in self.welds if found & {w.parent, w.child} for b in (w.parent, w.child)
            }
            if more <= found:
                return found
            found |= more

    def _is_held(self, body: int) -> bool:
        """True if a weld or a joint gives the body its attitude."""
        return self._is_welded(body) or any(body in (j.parent, j.child) for j in self.joints)

    def _is_welded(self, body: int) -> bool:
        return any(body in (w.parent, w.child) for w in self.welds)


@dataclass(frozen=True)
class Group:
    """Bodies moving as one.

    Mass, inertia about the common centre of mass, and where each member sits in it.
    """

    members: tuple[int, ...]
    places: tuple[Placement, ...]
    mass: float
    inertia: np.ndarray | None


def merge_welds(system: System) -> tuple[Group, ...]:
    """Groups of welded bodies, exactly merged; a body without rigid links is a group of one.

    Raises:
        ModelError: the rigid links form a loop, or a group of point masses has no inertia about
            some axis.
    """
    neighbours: dict[int, list[tuple[int, np.ndarray, np.ndarray]]] = {
        i: [] for i in range(len(system.bodies))
    }
    for w in system.welds:
        R = quat2mat(w.q)
        neighbours[w.parent].append((w.child, np.asarray(w.p, float), np.asarray(w.q, float)))
        neighbours[w.child].append((w.parent, -R.T @ w.p, qinverse(w.q)))
    jointed = {body for j in system.joints for body in (j.parent, j.child)}
    seen: set[int] = set()
    groups = []
    for root in range(len(system.bodies)):
        if root in seen:
            continue
        poses = {root: Placement(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))}
        stack = [root]
        links = 0
        while stack:
            parent = stack.pop()
            for child, p, q in neighbours[parent]:
                links += 1
                if child not in poses:
                    base = poses[parent]
                    poses[child] = Placement(base.p + quat2mat(base.q) @ p, qmult(base.q, q))
                    stack.append(child)
        if links != 2 * (len(poses) - 1):
            names = [system.bodies[i].name for i in poses]
            raise ModelError(
                f"rigid links between {names}: must not form a loop. Remove one of them."
            )
        seen |= set(poses)
        members = tuple(poses)
        bodies = [system.bodies[i] for i in members]
        if len(members) == 1:
            body = bodies[0]
            place = Placement(-np.asarray(body.com, float), poses[root].q)
            groups.append(Group(members, (place,), body.mass, body.inertia_B))
            continue
        mass, centre, inertia = merge(bodies, list(poses.values()))
        if not jointed.intersection(members) and np.linalg.eigvalsh(inertia)[0] <= 1e-12 * np.trace(
            inertia
        ):
            raise ModelError(
                f"rigid links between {[b.name for b in bodies]}: the merged body has no inertia about one axis."
            )
        places = tuple(Placement(p.p - centre, p.q) for p in poses.values())
        groups.append(Group(members, places, mass, inertia))
    return tuple(groups)
