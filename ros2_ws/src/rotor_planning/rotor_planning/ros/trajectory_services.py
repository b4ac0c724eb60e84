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
from rotor_planning.trajectories import plans as trajectories
from rotor_planning.trajectories.corridor import Corridor

DEFAULT_RAMP = np.pi / 40.0
LANDING_SPEED = 0.3
"""Default peak speed of a landing, m/s."""

Make = Callable[[np.ndarray, float], Plan]
"""A plan from the position and the heading of the reference where it begins."""


def circle(request: Circle.Request) -> Make:
    """Circle from the present position."""
    return lambda position, yaw: trajectories.circle(
        position, request.radius_m, request.period_s, request.cruise_s,
        yaw=yaw, ramp=request.ramp_rad_s2 or DEFAULT_RAMP, rotation=np.radians(request.rotation_deg),
    )  # fmt: skip


def rotate(request: RotatePayload.Request) -> Make:
    """Rotation in place."""
    return lambda position, yaw: trajectories.rotation(
        position, np.radians(request.amplitude_deg), request.period_s, request.turns or 1, yaw=yaw
    )


def line(request: Line.Request) -> Make:
    """Straight legs."""

    def make(position: np.ndarray, yaw: float) -> Plan:
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

    def make(position: np.ndarray, yaw: float) -> Plan:
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

    def make(_: np.ndarray, __: float) -> Plan:
        trajectories.check_tilt(np.array([roll, pitch, 0.0]))
        return hold(vector_from(request.position_m), heading, roll=roll, pitch=pitch)

    return make


def hover(request: Hover.Request) -> Make:
    """Here, or at a given place."""

    def make(position: np.ndarray, yaw: float) -> Plan:
        if request.here:
            return hold(position, yaw)
        return hold(vector_from(request.position_m), np.radians(request.yaw_deg))

    return make


def land(request: Land.Request) -> Make:
    """Straight down."""

    def make(position: np.ndarray, yaw: float) -> Plan:
        if not request.height_m <= position[2]:
            raise ContractError(
                f"height_m: must not be above the present height {position[2]:.3f} m, got {request.height_m:g}."
            )
        goal = np.array([position[0], position[1], request.height_m])
        speed = request.speed_m_s or LANDING_SPEED
        return trajectories.line(position, goal[None], yaw=yaw, speed=speed)

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
