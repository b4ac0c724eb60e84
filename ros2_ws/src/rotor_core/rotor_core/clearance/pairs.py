"""Pairs of bodies that may collide in a scenario: solids, their owners, and pairs of owners."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rotor_core.clearance.look import STANDS, STRETCHED_OUT
from rotor_core.clearance.solids import (
    HERE,
    Place,
    Solid,
    cable_solids,
    depth_inside,
    ground_solid,
    hull_of_vehicle,
    link_solids,
    obstacle_solids,
    payload_solid,
    rotor_discs,
    shrunk,
)
from rotor_core.config.environment import RIGID
from rotor_core.config.mission import AttachStep, HookStep
from rotor_core.config.model import Box, Payload, Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.arm import Link, link_name
from rotor_core.config.vehicles.outline import linked_places
from rotor_core.vehicles.arm_motion import ArmMotion

GROUND = "ground"
"""Name of the ground in a pair."""

OFF_THE_SURFACE = 0.02
"""A cable is looked at from this share of its part on where it leaves its own payload."""

INSIDE = 1e-9
"""A point deeper than this inside a payload is where a cable is tied inside it, m."""

Names = tuple[str, str]


@dataclass(frozen=True)
class Owner:
    """Solids that belong together: of a body, a link, an obstacle, or a cable.

    Attributes:
        body: row of the body; STANDS of an obstacle, STRETCHED_OUT of a cable.
        first, end: its solids.
        cable: number of the cable, or -1.
    """

    body: int
    first: int
    end: int
    cable: int = -1


class Pairs:
    """Owners of a scenario, and which of them can meet.

    Args:
        scenario: who is there.
        arms: of its vehicles.
        resisted: whether there are pairs that contact holds apart, too; else of these only rotors, which nothing stops.
        parted: pairs of entities that rigid links join at the start only; those of other links are left out.

    Attributes:
        solids: of all owners.
        owners: of pairs.
        groups: two owners, by their names.
        tied: names of cables with what they are tied to.
    """

    def __init__(
        self,
        scenario: Scenario,
        arms: ArmMotion,
        *,
        resisted: bool,
        parted: frozenset[frozenset[str]] = frozenset(),
    ) -> None:
        model, environment = scenario.model, scenario.environment
        self.solids: list[Solid] = []
        self.owners: list[Owner] = []
        self.groups: dict[Names, tuple[int, int]] = {}
        self.tied: set[Names] = set()
        self._model, self._parted = model, parted
        self._rows = {e.name: i for i, e in enumerate(model.entities)}
        masses = sum(c.segments for c in model.cables if c.mass_kg_per_m)
        self._places: dict[str, Place] = {name: (row, *HERE) for name, row in self._rows.items()}
        self._places |= {k: arms.frame(k, len(self._rows) + masses) for k in arms.links}
        self._links: dict[str, int | None] = {}
        self._whole: dict[str, int] = {}
        self._discs: dict[str, int] = {}
        self._hulls: dict[str, int] = {}
        for name, row in self._rows.items():
            self._add_entity(name, row)
        standing = {o.name: self._add(obstacle_solids(o), STANDS) for o in environment.obstacles}
        carries = environment.contact is not None
        stops = carries and not resisted
        rigid = (
            not resisted and environment.contact is not None and environment.contact.law == RIGID
        )
        for i, entity in enumerate(model.entities):
            for obstacle in environment.obstacles:
                held_off = rigid or (stops and bool(obstacle.boxes))
                part = self._discs.get(entity.name) if held_off else self._whole[entity.name]
                self._pair((entity.name, obstacle.name), part, standing[obstacle.name])
            linked = self._linked(entity.name)
            for other in model.entities[:i]:
                held_off = rigid or (stops and (_is_box(entity) or _is_box(other)))
                if other.name not in linked:
                    self._pair_entities(other.name, entity.name, held_off)
        ground = self._add([ground_solid(environment.ground_m)], STANDS) if carries else None
        self._add_links(scenario, standing, ground)
        self._add_cables(standing, ground)

    def _add(self, solids: list[Solid], body: int, cable: int = -1) -> int | None:
        """Number of a new owner; None without solids."""
        if not solids:
            return None
        first = len(self.solids)
        self.solids += solids
        self.owners.append(Owner(body, first, len(self.solids), cable))
        return len(self.owners) - 1

    def _linked(self, name: str) -> set[str]:
        """An entity, and those that rigid links join with it for ever."""
        linked = set(linked_places(self._model, name))
        return {other for other in linked if frozenset((name, other)) not in self._parted}

    def _pair(self, names: Names, a: int | None, b: int | None) -> None:
        if a is not None and b is not None:
            self.groups[names] = a, b

    def _add_entity(self, name: str, row: int) -> None:
        entity = self._model.entities[row]
        if isinstance(entity, Payload):
            owner = self._add([payload_solid(entity, row)], row)
        else:
            discs = rotor_discs(entity, row)
            owner = self._add([*discs, hull_of_vehicle(entity, row)], row)
            first = len(self.solids) - len(discs) - 1
            self.owners.append(Owner(row, first, first + len(discs)))
            self._discs[name] = len(self.owners) - 1
            self.owners.append(Owner(row, first + len(discs), len(self.solids)))
            self._hulls[name] = len(self.owners) - 1
        assert owner is not None
        self._whole[name] = owner

    def _pair_entities(self, a: str, b: str, held_off: bool) -> None:
        """Two entities: of those that contact holds off, the rotors of each with all of the other."""
        if not held_off:
            self._pair((a, b), self._whole[a], self._whole[b])
            return
        self._pair((a, b), self._discs.get(a), self._whole[b])
        # rotors among each other are in the first, where there are such
        self._pair((b, a), self._discs.get(b), self._hulls.get(a, self._whole[a]))

    def _add_links(
        self, scenario: Scenario, standing: dict[str, int | None], ground: int | None
    ) -> None:
        """Links of arms against all but their neighbours: nothing holds them off."""
        for vehicle in self._model.vehicles:
            linked, taken = self._linked(vehicle.name), _taken(scenario, vehicle.name)
            own = {
                link_name(vehicle.name, link.name): self._add_link(vehicle, link)
                for link in vehicle.links
            }
            for name, solids in own.items():
                for obstacle, stands in standing.items():
                    self._pair((name, obstacle), solids, stands)
                self._pair((name, GROUND), solids, ground)
                if self._places[name][0] != self._rows[vehicle.name]:  # it moves against the rotors
                    self._pair((vehicle.name, name), self._discs[vehicle.name], solids)
                for entity, whole in self._whole.items():
                    if entity not in linked and entity not in taken:
                        self._pair((entity, name), whole, solids)
                for other, others in self._links.items():
                    if other.partition("/")[0] not in linked:
                        self._pair((other, name), others, solids)
            self._links |= own

    def _add_link(self, vehicle: Vehicle, link: Link) -> int | None:
        body, R, p = self._places[link_name(vehicle.name, link.name)]
        return self._add(link_solids(link, body, R, p), body)

    def _add_cables(self, standing: dict[str, int | None], ground: int | None) -> None:
        first_mass = len(self._rows)
        for k, (name, cable) in enumerate(
            zip(self._model.cable_names, self._model.cables, strict=True)
        ):
            n = cable.segments if cable.mass_kg_per_m else 0
            masses = list(range(first_mass, first_mass + n))
            first_mass += n
            parts = cable_solids(cable, k, self._places, masses)
            owner = self._add(parts, STRETCHED_OUT, k)
            around = {peg.obstacle for peg in cable.around}
            for obstacle, stands in standing.items():
                if obstacle not in around:
                    self._pair((name, obstacle), owner, stands)
            if not n:  # masses lie on the ground
                self._pair((name, GROUND), owner, ground)
            ends = {body.partition("/")[0] for body, _ in cable.path}
            laid_over = {peg.entity for peg in cable.around if not peg.obstacle}
            for entity in self._rows:
                if entity in laid_over and entity not in self._discs:
                    continue
                if entity not in ends:
                    self._pair((name, entity), owner, self._whole[entity])
                    continue
                self.tied.add((name, entity))
                if entity in self._discs:
                    self._pair((name, entity), owner, self._discs[entity])
                else:
                    self._pair((name, entity), *self._beside(entity, parts, k))
            for link, solids in self._links.items():
                if link.partition("/")[0] not in ends and link not in laid_over:
                    self._pair((name, link), owner, solids)

    def _beside(self, name: str, parts: list[Solid], k: int) -> tuple[int | None, int | None]:
        """A cable and the payload that it is tied to: from a bit beside its surface on."""
        row = self._rows[name]
        payload = self._model.entities[row]
        assert isinstance(payload, Payload)
        short = []
        for solid in self._outside(payload, parts, k):
            on_it = solid.bodies == row
            if not on_it.all() and all(
                depth_inside(payload, p) <= INSIDE for p in solid.points[on_it]
            ):
                first, last = (OFF_THE_SURFACE if there else 0.0 for there in on_it)
                short.append(replace(solid, short=(first, last)))
        if not short:
            return None, None
        return self._add(short, STRETCHED_OUT, k), self._add(
            [shrunk(payload_solid(payload, row))], row
        )

    def _outside(self, payload: Payload, parts: list[Solid], k: int) -> list[Solid]:
        """Parts of a cable without those of a heavy one that lie in the payload that it is tied inside of."""
        row, cable = self._rows[payload.name], self._model.cables[k]
        if not cable.mass_kg_per_m:
            return parts
        whole = payload_solid(payload, row)
        kept = list(parts)
        for _ in range(2):  # from either end
            tie = kept[0].points[kept[0].bodies == row] if kept else []
            if len(tie) and depth_inside(payload, tie[0]) > INSIDE:
                reach = (
                    np.linalg.norm(whole.points - tie[0], axis=1).max() + whole.ball + whole.disc
                )
                # the first mass is half a segment away
                kept = kept[1 + int(reach * cable.segments / cable.length_m + 0.5) :]
            kept.reverse()
        return kept


def _is_box(entity: Vehicle | Payload) -> bool:
    """True for payloads whose surface stops others where contact is compliant."""
    return isinstance(entity, Payload) and isinstance(entity.shape, Box)


def _taken(scenario: Scenario, vehicle: str) -> set[str]:
    """Payloads that the links of a vehicle are there to touch: what they take hold of, and what no vehicle carries."""
    mission = scenario.mission.steps if scenario.mission else ()
    grips = [c.attach for c in scenario.changes if c.attach is not None]
    held = {g.entity for g in grips if g.to.partition("/")[0] == vehicle}
    held |= {
        step.payload
        for step in mission
        if isinstance(step, (AttachStep, HookStep)) and step.to.partition("/")[0] == vehicle
    }
    model = scenario.model
    vehicles = {v.name for v in model.vehicles}
    carried: set[str] = set()
    for cable in model.cables:
        ends = {body.partition("/")[0] for body, _ in cable.path}
        carried |= ends if ends & vehicles else set()
    for payload in model.payloads:
        if vehicles & {name.partition("/")[0] for name in linked_places(model, payload.name)}:
            carried.add(payload.name)
    return held | {p.name for p in model.payloads if p.name not in carried}
