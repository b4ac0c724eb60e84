"""Names in a scenario that point to other parts of it, with their places."""

from __future__ import annotations

from dataclasses import fields

from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.checks.missions import check_mission
from rotor_core.config.checks.winches import check_length, check_winding
from rotor_core.config.schema import Change, Scenario
from rotor_core.config.trajectories import JointMove
from rotor_core.config.vehicles.arm import BASE, JointConfig, link_name
from rotor_core.config.yaml.structure import suggestion
from rotor_core.config.yaml.tree import Tree
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.errors import ConfigError


def attachment_keys(tree: Tree, i: int) -> tuple[str | int, ...]:
    """Keys of attachment i in a file; of all of them where mechanisms make some."""
    written = tree.at("model", "attachments").value
    one_by_one = isinstance(written, list) and not any(
        entry.at("type").value == "mechanism" for entry in written
    )
    return ("model", "attachments", i) if one_by_one else ("model", "attachments")


def _check_once(scenario: Scenario, tree: Tree) -> None:
    """Refuse two entries of ``plant`` that change the same thing."""
    first: dict[tuple[str | int | None, str], int] = {}
    for i, change in enumerate(scenario.plant):
        what = change.entity if change.cable is None else change.cable
        for key in [f.name for f in fields(change) if getattr(change, f.name) is not None]:
            if key in ("entity", "cable") or first.setdefault((what, key), i) == i:
                continue
            name = f"cable {what}" if change.entity is None else repr(what)
            raise ConfigError(
                f"{tree.at('plant', i).place}: plant[{i}].{key}: that of {name} stands in plant[{first[what, key]}] "
                "too. Leave one out."
            )


def check_references(scenario: Scenario, tree: Tree) -> None:
    """Names that point to entities and cables, and cables that are possible at all."""
    model = scenario.model
    names = [e.name for e in model.entities]
    links = [link_name(v.name, link.name) for v in model.vehicles for link in v.links]

    def known(name: str, where: str, *keys: str | int, also: tuple[str, ...] = ()) -> None:
        if name not in (*names, *also):
            place = tree.at(*keys).place
            raise ConfigError(
                f"{place}: {where}: there is no entity {name!r}{suggestion(name, names)}"
            )

    points = {p.name for p in model.payloads if p.inertia_kg_m2 is None}
    linked = {name for link in model.rigid_links for name in (link.parent, link.child)}
    for i, item in enumerate(model.attachments):
        where = f"model.attachments[{i}]"
        keys = attachment_keys(tree, i)
        model_place = tree.at(*keys).place
        ends = (
            item.path
            if isinstance(item, CableAttachment)
            else ((item.parent, None), (item.child, None))
        )
        for name, point in ends:
            also = ("world", *links) if isinstance(item, CableAttachment) else ()
            known(name, where, *keys, also=also)
            if name in points and point is not None and any(point):
                raise ConfigError(
                    f"{model_place}: {where}: {name!r} is a point mass; its attachment point must "
                    f"be [0, 0, 0], got {list(point)}."
                )
        if len({name for name, _ in ends}) == 1:
            raise ConfigError(
                f"{model_place}: {where}: must join two entities, got {ends[0][0]!r} twice."
            )
    _check_once(scenario, tree)
    for i, change in enumerate(scenario.plant):
        if change.entity is not None:
            known(change.entity, f"plant[{i}].entity", "plant", i, "entity")
            _check_rotors(scenario, tree, i)
        elif change.cable is not None and change.cable > len(model.cables):
            place = tree.at("plant", i, "cable").place
            raise ConfigError(
                f"{place}: plant[{i}].cable: must be 1..{len(model.cables)}, got {change.cable}."
            )
        elif change.cable is not None and change.length_m is not None:
            check_length(
                model.cables[change.cable - 1],
                change.length_m,
                f"{tree.at('plant', i).place}: plant[{i}].length_m",
            )
    seen: set[str] = set()
    for i, state in enumerate(scenario.initial):
        known(state.entity, f"initial[{i}].entity", "initial", i, "entity")
        if state.entity in seen:
            raise ConfigError(
                f"{tree.value['initial'].place}: initial[{i}].entity: {state.entity!r} appears twice."
            )
        seen.add(state.entity)
        turned = (
            *(state.rpy_deg or ()), *(state.quaternion_wxyz or ())[1:], *(state.rate_rad_s or ()),
        )  # fmt: skip
        if state.entity in points - linked and any(turned):
            raise ConfigError(
                f"{tree.at('initial', i).place}: initial[{i}]: {state.entity!r} is a point mass (it has no "
                "inertia_kg_m2), which does not turn. Leave out rpy_deg, quaternion_wxyz and rate_rad_s, or give it an "
                "inertia."
            )
    for i, outage in enumerate(scenario.sensing.outages):
        known(outage.entity, f"sensing.outages[{i}].entity", "sensing")
    if scenario.mission is not None:
        check_mission(
            model,
            scenario.mission,
            f"{tree.value['mission'].place}: ",
            has_ground=scenario.environment.contact is not None,
        )
    bodies = [*names, *links]
    for i, force in enumerate(scenario.forces):
        if force.body not in bodies:
            raise ConfigError(
                f"{tree.value['forces'].value[i].place}: forces[{i}].body: there is no body {force.body!r}"
                f"{suggestion(force.body, bodies)}"
            )
    for i, sensor in enumerate(scenario.sensing.sensors):
        body = getattr(sensor, "body", None)
        if body is not None and body not in bodies:
            place = tree.value["sensing"].value["sensors"].value[i].place
            raise ConfigError(
                f"{place}: sensing.sensors[{i}].body: there is no body {body!r}{suggestion(body, bodies)}"
            )
    _check_arms(scenario, tree)
    _check_changes(scenario, tree)


def _check_rotors(scenario: Scenario, tree: Tree, i: int) -> None:
    """Only what has rotors has a gain of its thrust."""
    change = scenario.plant[i]
    if change.entity in [v.name for v in scenario.model.vehicles]:
        return
    for key in ("thrust_gain", "thrust_gain_per_s"):
        if getattr(change, key) is not None:
            raise ConfigError(
                f"{tree.at('plant', i).place}: plant[{i}].{key}: {change.entity!r} has no rotors. Name a vehicle, or "
                "leave it out."
            )


def _check_arms(scenario: Scenario, tree: Tree) -> None:
    vehicles = {v.name: v for v in scenario.model.vehicles}
    for i, arm in enumerate(scenario.arms):
        item = tree.value["arms"].value[i]
        if arm.vehicle not in vehicles:
            raise ConfigError(
                f"{item.place}: arms[{i}].vehicle: there is no vehicle {arm.vehicle!r}"
                f"{suggestion(arm.vehicle, list(vehicles))}"
            )
        if [a.vehicle for a in scenario.arms].count(arm.vehicle) > 1:
            raise ConfigError(f"{item.place}: arms[{i}].vehicle: {arm.vehicle!r} appears twice.")
        vehicle = vehicles[arm.vehicle]
        joints = {j.name: j for j in vehicle.moving_joints}
        for k, move in enumerate(arm.moves):
            where = f"{item.value['moves'].value[k].place}: arms[{i}].moves[{k}]"
            if move.joint not in joints:
                raise ConfigError(
                    f"{where}.joint: {arm.vehicle!r} has no joint {move.joint!r}{suggestion(move.joint, list(joints))}"
                )
            _check_moves_it(joints[move.joint], f"{where}.joint")
            _check_move(move, joints[move.joint], where)
        links = [BASE, *(link.name for link in vehicle.links)]
        for k, reach in enumerate(arm.reaches):
            if scenario.mission is not None:
                raise ConfigError(
                    f"{item.value['reaches'].value[k].place}: arms[{i}].reaches[{k}]: with a mission nobody knows "
                    "before where the vehicle will be. Give `moves` of the joints, or fly a trajectory."
                )
            for joint in joints.values():
                _check_moves_it(
                    joint, f"{item.value['reaches'].value[k].place}: arms[{i}].reaches[{k}]"
                )
            if reach.link not in links:
                where = f"{item.value['reaches'].value[k].place}: arms[{i}].reaches[{k}].link"
                raise ConfigError(
                    f"{where}: {arm.vehicle!r} has no link {reach.link!r}{suggestion(reach.link, links)}"
                )


def _check_moves_it(joint: JointConfig, where: str) -> None:
    if joint.mode == "driven":
        raise ConfigError(
            f"{where}: joint {joint.name!r} is driven: it stays where it begins, and no plan moves it. Give it mode: "
            "torque."
        )


def _check_move(move: JointMove, joint: JointConfig, where: str) -> None:
    """Units that fit the joint, and an end within its stops."""
    slides = joint.type == "prismatic"
    if slides != (move.to_m is not None):
        raise ConfigError(
            f"{where}: joint {joint.name!r} is {joint.type}; give {'to_m' if slides else 'to_deg'}."
        )
    value = move.to_m if move.to_deg is None else rad_from_deg(move.to_deg)
    if joint.limits is not None and value is not None:
        low, high = joint.limits
        if not low <= value <= high:
            raise ConfigError(
                f"{where}: joint {joint.name!r} cannot go to {value:.4g}, its stops are {low:g} and {high:g}."
            )


def _check_changes(scenario: Scenario, tree: Tree) -> None:
    entities = [e.name for e in scenario.model.entities]
    links = [link_name(v.name, k.name) for v in scenario.model.vehicles for k in v.links]
    cut: set[int] = set()
    for i, change in enumerate(scenario.changes):
        where = f"{tree.value['changes'].value[i].place}: changes[{i}]"
        named = [(change.release, entities)]
        if change.attach is not None:
            named += [(change.attach.entity, entities), (change.attach.to, entities + links)]
        for name, known in named:
            if name is not None and name not in known:
                raise ConfigError(f"{where}: there is no body {name!r}{suggestion(name, known)}")
        if change.attach is not None and change.attach.to.split("/")[0] == change.attach.entity:
            raise ConfigError(f"{where}: {change.attach.entity!r} cannot hold itself.")
        if change.release is not None:
            _check_release(scenario, change.release, where)
        _check_fault(scenario, change, where)
        if change.wind is not None:
            check_winding(scenario.model, change.wind, f"{where}.wind")
        if change.cut is not None:
            n = len(scenario.model.cables)
            if change.cut > n:
                raise ConfigError(f"{where}.cut: must be 1..{n}, got {change.cut}.")
            if change.cut in cut:
                raise ConfigError(f"{where}.cut: cable{change.cut} is cut twice.")
            cut.add(change.cut)


def _check_release(scenario: Scenario, entity: str, where: str) -> None:
    """What hangs on cables alone has nobody that lets go of it."""
    model = scenario.model
    held = [link.child for link in model.rigid_links]
    held += [change.attach.entity for change in scenario.changes if change.attach is not None]
    on = [str(k + 1) for k, cable in enumerate(model.cables) if entity in (cable.a, cable.b)]
    if entity in held or scenario.mission is not None or not on:
        return
    cuts = ", ".join(f"{{at_s: ..., cut: {k}}}" for k in on)
    raise ConfigError(
        f"{where}.release: nothing holds {entity!r}, it hangs on cable {', '.join(on)}. Write changes: [{cuts}]; "
        "in a mission the step release cuts them, and lets the vehicles fly alone."
    )


def _check_fault(scenario: Scenario, change: Change, where: str) -> None:
    """The vehicle, rotor or battery of a fault exists."""
    fault = change.motor or change.battery
    if fault is None:
        return
    vehicles = {v.name: v for v in scenario.model.vehicles}
    if fault.vehicle not in vehicles:
        raise ConfigError(
            f"{where}: there is no vehicle {fault.vehicle!r}{suggestion(fault.vehicle, list(vehicles))}"
        )
    vehicle = vehicles[fault.vehicle]
    rotors = 1 if vehicle.helicopter else len(vehicle.rotors.spins)  # its engine
    if change.motor is not None and change.motor.rotor > rotors:
        raise ConfigError(f"{where}.motor.rotor: must be 1..{rotors}, got {change.motor.rotor}.")
    if change.battery is not None and vehicle.battery is None:
        raise ConfigError(
            f"{where}.battery: vehicle {fault.vehicle!r} has no battery. Give it `battery:` and rotors.motor."
        )
