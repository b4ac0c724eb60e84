"""Services of the planner that start trajectories: a request becomes a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node
from rotor_msgs.srv import Circle, Hover, Land, Line, RotatePayload, StepPose, Waypoints

from rotor_core.errors import ContractError
from rotor_core.messages.convert import vector_from
from rotor_core.plans.plan import Plan, hold
from rotor_core.reference import POSITION, YAW_ANGLE
from rotor_planning.trajectories import plans as trajectories
from rotor_planning.trajectories.corridor import Corridor
from rotor_planning.trajectories.knots import BRAKING, come_to_rest, go_to

DEFAULT_RAMP = np.pi / 40.0
LANDING_SPEED, HOVER_SPEED = 0.3, 1.0
"""Peak speeds of a landing, unless one is asked for, and on the way to a place to hover, m/s."""

Make = Callable[[np.ndarray], Plan]
"""A plan from the reference where it begins, (28,)."""


def _pose(reference: np.ndarray) -> tuple[np.ndarray, float]:
    """Position, (3,) m, and heading, rad."""
    return reference[POSITION : POSITION + 3].copy(), float(reference[YAW_ANGLE])


def circle(request: Circle.Request) -> Make:
    """Circle from the present position."""

    def make(reference: np.ndarray) -> Plan:
        position, yaw = _pose(reference)
        return trajectories.circle(
            position, request.radius_m, request.period_s, request.cruise_s, yaw=yaw,
            ramp=request.ramp_rad_s2 or DEFAULT_RAMP, rotation=np.radians(request.rotation_deg),
        )  # fmt: skip

    return make


def rotate(request: RotatePayload.Request) -> Make:
    """Rotation in place."""

    def make(reference: np.ndarray) -> Plan:
        position, yaw = _pose(reference)
        amplitude = np.radians(request.amplitude_deg)
        return trajectories.rotation(
            position, amplitude, request.period_s, request.turns or 1, yaw=yaw
        )

    return make


def line(request: Line.Request) -> Make:
    """Straight legs."""

    def make(reference: np.ndarray) -> Plan:
        position, yaw = _pose(reference)
        return trajectories.line(
            position,
            _goals(request, position),
            yaw=yaw,
            speed=request.speed_m_s or 1.0,
            acceleration=request.acceleration_m_s2 or 1.0,
        )

    return make


def waypoints(request: Waypoints.Request) -> Make:
    """Minimum k-th derivative."""

    def make(reference: np.ndarray) -> Plan:
        position, yaw = _pose(reference)
        corridor = None
        if request.corridor_m:
            if not request.corridor_m > 0.0:
                raise ContractError(f"corridor_m: must be above 0 m, got {request.corridor_m:g}.")
            corridor = Corridor(request.corridor_m, request.corridor_checks or 10)
        return trajectories.waypoints(
            position, _goals(request, position), yaw=yaw, derivative=request.derivative or 4,
            degree=request.degree or None, continuity=request.continuity or None, rest=request.rest or None,
            speed=request.speed_m_s or 2.0, acceleration=request.acceleration_m_s2 or 5.0, corridor=corridor,
        )  # fmt: skip

    return make


def step_pose(request: StepPose.Request) -> Make:
    """A constant pose."""
    roll, pitch, heading = np.radians(request.rpy_deg)

    def make(_: np.ndarray) -> Plan:
        trajectories.check_tilt(np.array([roll, pitch, 0.0]))
        return hold(vector_from(request.position_m), heading, roll=roll, pitch=pitch)

    return make


def hover(request: Hover.Request) -> Make:
    """Hover where what moves now comes to rest, or at a given place."""

    def make(reference: np.ndarray) -> Plan:
        if request.here:
            return come_to_rest(reference)
        goal, yaw = vector_from(request.position_m), float(np.radians(request.yaw_deg))
        return go_to(reference, goal, yaw, speed=HOVER_SPEED, acceleration=BRAKING)

    return make


def land(request: Land.Request) -> Make:
    """Straight down, from where what moves now comes to rest sideways."""

    def make(reference: np.ndarray) -> Plan:
        height = reference[POSITION + 2]
        if not request.height_m <= height:
            raise ContractError(
                f"height_m: must not be above the present height {height:.3f} m, got {request.height_m:g}."
            )
        stop = come_to_rest(reference)
        rest = stop.sample(stop.duration)[POSITION : POSITION + 3]
        goal = np.array([rest[0], rest[1], request.height_m])
        speed = request.speed_m_s or LANDING_SPEED
        if not 0.0 < speed < np.inf:
            raise ContractError(f"speed_m_s: must be above 0 m/s, got {speed:g}.")
        return go_to(reference, goal, None, speed=speed, acceleration=BRAKING)

    return make


SERVICES: tuple[tuple[type, str, Callable[[Any], Make], bool], ...] = (
    (Circle, "circle", circle, False),
    (RotatePayload, "rotate_payload", rotate, False),
    (Line, "line", line, False),
    (Waypoints, "waypoints", waypoints, False),
    (StepPose, "step_pose", step_pose, False),
    (Hover, "hover", hover, True),
    (Land, "land", land, True),
)
"""Type, name, maker, and whether it interrupts a running trajectory."""


def offer_trajectories(node: Node, serve: Callable[..., object]) -> None:
    """Offer all of :data:`SERVICES`; ``serve(entity, response, make, name, interrupts=...)`` starts what was made."""
    for kind, name, maker, interrupts in SERVICES:

        def callback(
            request: Any,
            response: Any,
            maker: Callable[[Any], Make] = maker,
            name: str = name,
            interrupts: bool = interrupts,
        ) -> object:
            return serve(request.entity, response, maker(request), name, interrupts=interrupts)

        node.create_service(kind, f"~/{name}", callback)


def _goals(request: Line.Request | Waypoints.Request, position: np.ndarray) -> np.ndarray:
    points = np.array([vector_from(m) for m in request.waypoints_m]).reshape(-1, 3)
    if len(points) == 0:
        raise ContractError("waypoints_m: must hold at least one point.")
    if not np.isfinite(points).all():
        raise ContractError("waypoints_m: must be finite.")
    return points + (position if request.relative else 0.0)
