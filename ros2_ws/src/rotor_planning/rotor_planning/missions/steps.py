"""Steps of a mission. Each makes plans and orders, and waits for them to be carried out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.mission import (
    AttachStep,
    GoTo,
    HookStep,
    HoverStep,
    Land,
    ReleaseStep,
    Slacken,
    TakeOff,
    Tighten,
    Turn,
    WaitUntil,
    Wind,
)
from rotor_core.config.teams import attachment_points, cable_lengths
from rotor_core.config.yaml.units import nanoseconds, rad_from_deg
from rotor_core.plans.plan import Plan, hold
from rotor_core.plans.registry import seconds
from rotor_core.reference import POSITION, YAW_ANGLE
from rotor_core.state import State
from rotor_planning.missions.conditions import told
from rotor_planning.missions.pilot import LEAD, Flow, Pilot, StepFailed
from rotor_planning.trajectories.knots import BRAKING, come_to_rest, go_to, wound

COMES_DOWN = 0.02
"""Descent by which an entity shows that it follows the plan to land, m."""

SETTLES_WITHIN = 5.0
"""Longest time until an entity that has been let down stands, s."""

WOUND = 1e-3
"""A winch whose cable is this close to the wanted length has done its step, m."""

OVER = 0.05
"""Vehicles that tighten their cables aim this much beyond where these are taut, m."""


def _go(
    reference: np.ndarray,
    goal: np.ndarray,
    yaw: float,
    duration: float | None,
    speed: float,
    acceleration: float,
    braking: float | None = None,
) -> Plan:
    """From a reference to rest: in ``duration`` where given, else at most at ``speed`` and ``acceleration``.

    What moves now brakes with ``braking``, default ``acceleration``, in either case, which may take longer.
    """
    braking = acceleration if braking is None else braking
    if duration is not None:
        return go_to(
            reference, goal, yaw, speed=np.inf, acceleration=np.inf, braking=braking,
            turn_rate=np.inf, least_duration=duration,
        )  # fmt: skip
    return go_to(reference, goal, yaw, speed=speed, acceleration=acceleration, braking=braking)


def _vertical(from_: np.ndarray, z: float, step: TakeOff | Land) -> Plan:
    """To the height ``z``, m, over where what moves now comes to rest."""
    rest = come_to_rest(from_)
    goal = rest.sample(rest.duration)[POSITION : POSITION + 3]
    goal[2] = z
    return _go(
        from_,
        goal,
        float(from_[YAW_ANGLE]),
        step.duration_s,
        step.speed_m_s,
        step.acceleration_m_s2,
        BRAKING,
    )


def take_off(pilot: Pilot, step: TakeOff) -> Flow:
    """Straight up from where the entity is seen, whatever was planned."""
    entity = pilot.entity(step.entity)
    seen = pilot.seen(entity)
    plan = _vertical(seen, seen[POSITION + 2] + step.height_m, step)
    yield from pilot.arrive(entity, pilot.start(entity, plan, step.type))


def fly_to(pilot: Pilot, step: GoTo) -> Flow:
    """To a place and heading, from where the plans of the entity lead."""
    entity = pilot.entity(step.entity)
    reference = pilot.reference(entity)
    goal = np.array(step.position_m)
    if step.relative:
        goal = goal + reference[POSITION : POSITION + 3]
    yaw = reference[YAW_ANGLE] if step.yaw_deg is None else rad_from_deg(step.yaw_deg)
    plan = _go(reference, goal, yaw, step.duration_s, step.speed_m_s, step.acceleration_m_s2)
    yield from pilot.arrive(entity, pilot.start(entity, plan, step.type))


def turn(pilot: Pilot, step: Turn) -> Flow:
    """To a heading."""
    entity = pilot.entity(step.entity)
    reference = pilot.reference(entity)
    goal, yaw = reference[POSITION : POSITION + 3], rad_from_deg(step.yaw_deg)
    way = np.remainder(yaw - reference[YAW_ANGLE] + np.pi, 2.0 * np.pi) - np.pi
    duration = step.duration_s or abs(way) / rad_from_deg(step.rate_deg_s)
    plan = _go(reference, goal, yaw, duration, np.inf, BRAKING)
    yield from pilot.arrive(entity, pilot.start(entity, plan, step.type))


def hover(pilot: Pilot, step: HoverStep) -> Flow:
    """Let time pass."""
    begin = max(pilot.cursor, pilot.view.now)
    yield from pilot.until(begin + nanoseconds(step.duration_s))


def wait_until(pilot: Pilot, step: WaitUntil) -> Flow:
    """Until a condition holds."""
    entity = pilot.entity(step.entity)
    yield from pilot.wait(
        lambda: pilot.conditions.holds(step.condition, entity, pilot.view),
        step.timeout_s,
        f"{told(step.condition)}: did not hold for {step.condition.entity or entity}",
    )


def land(pilot: Pilot, step: Land) -> Flow:
    """Down, motors off just above the ground, and until the entity stands."""
    entity = pilot.entity(step.entity)
    height = step.height_m
    if height is None:
        height = pilot.conditions.height_standing(entity)
    reference = pilot.reference(entity)
    if height > _height(pilot, entity) + step.cut_off_m:
        raise StepFailed(
            f"{entity} is at {_height(pilot, entity):.3f} m, below {height:.3f} m, where it should land (height_m)."
        )
    plan = _vertical(reference, height, step)
    end = pilot.start(entity, plan, step.type)
    team = pilot.teams.get(entity)
    low, begun_at = height + step.cut_off_m, _height(pilot, entity)

    def is_down() -> bool:
        """Low enough, or on something higher: it has come down, the way is over, and it does not get lower.

        An entity that has not come down may hover: the plan of a planner that lags reaches it late.
        """
        lower = _height(pilot, entity) < begun_at - COMES_DOWN
        stuck = pilot.view.now > end and pilot.conditions.is_still(entity, pilot.view)
        return (lower and stuck) or _height(pilot, entity) < low

    yield from pilot.wait(
        is_down,
        seconds(end - pilot.view.now) + SETTLES_WITHIN,
        f"{entity} did not come below {low:.3f} m",
    )
    if team is None or not team.cables:
        pilot.note(f"{entity}: motors off at {_height(pilot, entity):.3f} m")
        pilot.stand(entity, pilot.begin())
        height = max(height, _height(pilot, entity) - step.cut_off_m)
        pilot.conditions.moved(entity)
    yield from pilot.wait(
        lambda: pilot.conditions.landed(entity, pilot.view, height),
        SETTLES_WITHIN,
        f"{entity} did not come to rest at {height:.3f} m",
    )


def _height(pilot: Pilot, entity: str) -> float:
    return float(pilot.view.states[pilot.model.index(entity), 2])


def tighten(pilot: Pilot, step: Tighten) -> Flow:
    """Vehicles go up alone until all cables are taut; then their team flies the payload, where it is."""
    team = pilot.teams[pilot.entity(step.entity)]
    load = pilot.view.states[pilot.model.index(team.entity)]
    points = (
        State(load).position
        + attachment_points(pilot.model, team) @ quat2mat(State(load).attitude).T
    )
    lengths = cable_lengths(pilot.model, team)
    for vehicle, point, length in zip(team.vehicles, points, lengths, strict=True):
        seen = pilot.seen(vehicle)
        goal = seen[POSITION : POSITION + 3].copy()
        across = np.linalg.norm((goal - point)[:2])
        goal[2] = point[2] + np.sqrt(max(length**2 - across**2, 0.0)) + OVER
        _climb(pilot, vehicle, seen, goal, step.speed_m_s)
    yield from pilot.wait(
        lambda: bool(pilot.view.taut[list(team.cables)].all()),
        step.timeout_s,
        "the cables were not all taut",
    )
    seen = pilot.seen(team.entity)
    plan = hold(seen[POSITION : POSITION + 3], float(seen[YAW_ANGLE]))
    yield from pilot.until(pilot.start(team.entity, plan, step.type))


def slacken(pilot: Pilot, step: Slacken) -> Flow:
    """Vehicles go down alone until no cable is taut."""
    yield from pilot.sight_of_cables()
    team = pilot.teams[pilot.entity(step.entity)]
    for vehicle in team.vehicles:
        seen = pilot.seen(vehicle)
        goal = seen[POSITION : POSITION + 3] - [0.0, 0.0, step.by_m]
        _climb(pilot, vehicle, seen, goal, step.speed_m_s)
    yield from pilot.wait(
        lambda: not pilot.view.taut[list(team.cables)].any(),
        step.timeout_s,
        "the cables were not all slack",
    )


def _climb(pilot: Pilot, vehicle: str, seen: np.ndarray, goal: np.ndarray, speed: float) -> None:
    plan = go_to(seen, goal, float(seen[YAW_ANGLE]), speed=speed, acceleration=1.0)
    pilot.start(vehicle, plan, "alone")


def wind(pilot: Pilot, step: Wind) -> Flow:
    """An order, a plan for what hangs on the cable, and until it is as long as it should be."""
    yield from pilot.sight_of_cables()
    k = step.cable - 1
    winch, length = pilot.model.cables[k].winch, float(pilot.view.lengths[k])
    whole = (t for t in pilot.teams.values() if t.entity not in pilot.view.board.dissolved)
    team = next((t for t in whole if t.cables == (k,)), None)
    if winch is not None and team is not None and pilot.view.taut[k]:
        reference, rate = pilot.reference(team.entity), step.rate_m_s or winch.rate_m_s
        way = length - step.length_m
        if abs(way) > WOUND:
            plan = wound(
                reference[POSITION : POSITION + 3], way, float(reference[YAW_ANGLE]),
                speed=rate, acceleration=winch.acceleration_m_s2,
            )  # fmt: skip
            end = pilot.start(team.entity, plan, step.type)
            while pilot.view.now < end - nanoseconds(plan.duration):
                yield  # both begin at once
            pilot.cursor = end
    pilot.winding = k
    yield from pilot.answer(pilot.orders.wind(k, step.length_m, step.rate_m_s))
    yield from pilot.wait(
        lambda: abs(pilot.view.lengths[k] - step.length_m) < WOUND,
        step.timeout_s,
        f"cable{step.cable} was not wound to {step.length_m:g} m",
    )
    pilot.winding = None


def attach(pilot: Pilot, step: AttachStep) -> Flow:
    """An order, and its answer."""
    yield from pilot.answer(pilot.orders.attach(step.to, step.payload))


def hook(pilot: Pilot, step: HookStep) -> Flow:
    """Until a hook is at a payload; then an order, and its answer."""
    rows = [pilot.model.index(name) for name in (step.to, step.payload)]

    def apart() -> float:
        hook, load = (State(pilot.view.states[row]).position for row in rows)
        return float(np.linalg.norm(hook - load))

    yield from pilot.wait(
        lambda: apart() <= step.within_m,
        step.timeout_s,
        f"{step.to} did not come within {step.within_m:g} m of {step.payload}",
    )
    yield from pilot.answer(pilot.orders.attach(step.to, step.payload))


def release(pilot: Pilot, step: ReleaseStep) -> Flow:
    """Vehicles of a team begin to fly alone; then an order, and its answer."""
    team = pilot.teams.get(step.payload)
    if team is not None and step.payload in pilot.view.board.flying(pilot.view.now):
        for vehicle in team.vehicles:  # the team is no more: each stays where it is
            seen = pilot.seen(vehicle)
            stay = hold(seen[POSITION : POSITION + 3], float(seen[YAW_ANGLE]))
            pilot.start(vehicle, stay, "alone")
        yield from pilot.until(pilot.view.now + 2 * nanoseconds(LEAD))  # they have it by then
    if team is not None and team.cables:
        yield from pilot.answer(pilot.orders.cut(list(team.cables)))
        pilot.view.board.dissolved.add(team.entity)
    else:
        yield from pilot.answer(pilot.orders.release(step.payload))


FLOWS: dict[type, Callable[..., Flow]] = {
    TakeOff: take_off,
    GoTo: fly_to,
    Turn: turn,
    HoverStep: hover,
    WaitUntil: wait_until,
    Land: land,
    Tighten: tighten,
    Slacken: slacken,
    Wind: wind,
    AttachStep: attach,
    HookStep: hook,
    ReleaseStep: release,
}
"""The flow of every kind of step."""
