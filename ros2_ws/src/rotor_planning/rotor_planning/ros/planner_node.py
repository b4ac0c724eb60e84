"""The planner node: owns the trajectories. Publishes plans and sampled references.

Services start new ones.

Topics, services and parameters: docs/graph.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from rotor_msgs.msg import PolynomialTrajectory, Reference, TeamState
from rotor_msgs.srv import Circle, Hover, Line, Waypoints

from rotor_core.config.teams import teams
from rotor_core.config.units import rpy_from_wxyz
from rotor_core.interface.errors import ContractError
from rotor_core.interface.plan import POSITION, YAW_ANGLE, Plan, hold
from rotor_core.ros import qos
from rotor_core.ros.convert import (
    plan_message,
    reference_message,
    seconds_from_stamp,
    stamp_from_seconds,
    vector_from,
    wxyz_from,
)
from rotor_core.ros.node import declare, run, scenario_parameter
from rotor_core.ros.plan_queue import PlanQueue
from rotor_planning import trajectories

LEAD = 0.1
"""A plan asked for by a service starts this long after the latest state, s, so that controllers have it in time."""

DEFAULT_RAMP = np.pi / 40.0


class PlannerNode(Node):
    """Plans of all teams of a scenario."""

    def __init__(self) -> None:
        super().__init__("planner")
        self.scenario = scenario_parameter(self)
        text = "start the scenario's trajectory; false: hover until a service is called"
        self._starts_trajectory = bool(declare(self, "start_trajectory", True, text))
        self.entities = [team.entity for team in teams(self.scenario.model)]
        self._plans = {name: PlanQueue() for name in self.entities}
        self._epoch = -1
        self._state: TeamState | None = None
        self._next_reference = 0.0
        self._plan_publisher = self.create_publisher(PolynomialTrajectory, "/rotor/plan", qos.PLAN)
        self._references = {
            n: self.create_publisher(Reference, f"/{n}/reference", qos.COMMAND)
            for n in self.entities
        }
        self.create_subscription(TeamState, "/rotor/team_state", self._on_state, qos.TEAM)
        for kind, name, callback in (
            (Circle, "circle", self._circle),
            (Line, "line", self._line),
            (Waypoints, "waypoints", self._waypoints),
            (Hover, "hover", self._hover),
        ):
            self.create_service(kind, f"~/{name}", callback)

    # --- running plans ----------------------------------------------------------------------------

    def _on_state(self, message: TeamState) -> None:
        if message.epoch < self._epoch:
            return
        self._state = message
        if message.epoch > self._epoch:
            self._epoch = message.epoch
            self._next_reference = 0.0
            # at the very start the plan begins at the true initial pose, later where the entity is
            # seen
            initial = trajectories.make_plans(self.scenario) if message.step == 0 else {}
            for entity in self.entities:
                self._plans[entity].clear()
                position, yaw = self._pose(entity)
                plan = hold(position, yaw)
                if self._starts_trajectory:
                    plan = initial.get(entity) or trajectories.plan_from_config(
                        self.scenario.trajectory, position, yaw
                    )
                self._publish_plan(entity, plan, message.header.stamp)
        time = seconds_from_stamp(message.header.stamp)
        if time >= self._next_reference:
            self._next_reference = time + 1.0 / self.scenario.time.topics_hz - 1e-6
            for entity in self.entities:
                reference = self._plans[entity].sample(message.header.stamp)
                self._references[entity].publish(
                    reference_message(entity, reference, message.header.stamp)
                )

    def _pose(self, entity: str) -> tuple[np.ndarray, float]:
        assert self._state is not None
        body = next(b for b in self._state.bodies if b.name == entity)
        return vector_from(body.pose.position), float(
            rpy_from_wxyz(wxyz_from(body.pose.orientation))[2]
        )

    def _publish_plan(self, entity: str, plan: Plan, start: Time) -> None:
        self._plans[entity].add(start, plan)
        self._plan_publisher.publish(plan_message(entity, plan, start, self._epoch))

    # --- services ---------------------------------------------------------------------------------

    def _serve(
        self,
        entity: str,
        response: object,
        make: Callable[[np.ndarray, float], Plan],
        *,
        interrupts: bool = False,
    ) -> object:
        """Make a plan from the present pose and start it; say why not where that is impossible."""
        response.success, response.message = self._try(entity, make, interrupts)  # type: ignore[attr-defined]
        return response

    def _try(
        self, entity: str, make: Callable[[np.ndarray, float], Plan], interrupts: bool
    ) -> tuple[bool, str]:
        entity = entity or self.entities[0]
        if self._state is None:
            return False, "no state has come from the simulator yet; start it first"
        if entity not in self.entities:
            return (
                False,
                f"there is no planned entity {entity!r}; known: {', '.join(self.entities)}",
            )
        now = self._state.header.stamp
        since, running = self._plans[entity].running(now)
        left = self._plans[entity].time_left(now)
        if not interrupts and left > 0.0:
            return (
                False,
                f"a trajectory of {entity} runs for another {left:.1f} s; call hover first to stop it",
            )
        # start where the reference will be, so that it does not jump
        there = running.sample(since + LEAD)
        position, yaw = there[POSITION : POSITION + 3].copy(), float(there[YAW_ANGLE])
        try:
            plan = make(position, yaw)
        except ContractError as error:
            return False, str(error)
        start = seconds_from_stamp(now) + LEAD
        self._publish_plan(entity, plan, stamp_from_seconds(start))
        return True, f"{entity}: {plan.duration:.2f} s from t = {start:.3f} s"

    def _circle(self, request: Circle.Request, response: Circle.Response) -> object:
        return self._serve(
            request.entity, response,
            lambda position, yaw: trajectories.circle(
                position, request.radius_m, request.period_s, request.cruise_s,
                yaw=yaw, ramp=request.ramp_rad_s2 or DEFAULT_RAMP, rotation=np.radians(request.rotation_deg),
            ),
        )  # fmt: skip

    def _line(self, request: Line.Request, response: Line.Response) -> object:
        def make(position: np.ndarray, yaw: float) -> Plan:
            goals = _points(request.waypoints_m) + (position if request.relative else 0.0)
            return trajectories.line(
                position,
                goals,
                yaw=yaw,
                speed=request.speed_m_s or 1.0,
                acceleration=request.acceleration_m_s2 or 1.0,
            )

        return self._serve(request.entity, response, make)

    def _waypoints(self, request: Waypoints.Request, response: Waypoints.Response) -> object:
        def make(position: np.ndarray, yaw: float) -> Plan:
            goals = _points(request.waypoints_m) + (position if request.relative else 0.0)
            return trajectories.waypoints(
                position, goals, yaw=yaw, derivative=request.derivative or 4, degree=request.degree or None,
                speed=request.speed_m_s or 2.0, acceleration=request.acceleration_m_s2 or 5.0,
            )  # fmt: skip

        return self._serve(request.entity, response, make)

    def _hover(self, request: Hover.Request, response: Hover.Response) -> object:
        def make(position: np.ndarray, yaw: float) -> Plan:
            if request.here:
                return hold(position, yaw)
            return hold(vector_from(request.position_m), np.radians(request.yaw_deg))

        return self._serve(request.entity, response, make, interrupts=True)


def _points(messages: list) -> np.ndarray:
    points = np.array([vector_from(m) for m in messages]).reshape(-1, 3)
    if len(points) == 0:
        raise ContractError("waypoints_m: must hold at least one point.")
    if not np.isfinite(points).all():
        raise ContractError("waypoints_m: must be finite.")
    return points


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_planning planner``."""
    sys.exit(run(PlannerNode, args))


if __name__ == "__main__":
    main()
