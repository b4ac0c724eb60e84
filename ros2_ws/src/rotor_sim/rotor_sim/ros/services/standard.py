"""The services of simulation_interfaces, where that package is installed (1.x and 2.x).

Names are private to the node (``/simulator/reset_simulation`` ...); remap them to the root where a
tool expects them there. What it does not advertise it does not offer.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future
from transforms3d.quaternions import quat2mat

from rotor_core.messages.convert import (
    WORLD_FRAME,
    set_quaternion,
    set_vector,
    vector_from,
    wxyz_from,
)
from rotor_core.state import FULL_STATE, State
from rotor_sim.ros.session import Session
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.state_machine import Code, Result

PACKAGE = "simulation_interfaces"

INVALID_POSE = 101
"""Additional code of SetEntityState.srv."""


def interfaces(kind: str) -> ModuleType:
    """Messages (``msg``), services (``srv``) or actions of the package."""
    return importlib.import_module(f"{PACKAGE}.{kind}")


def is_available() -> bool:
    """True if the package is installed."""
    try:
        return all(interfaces(kind) for kind in ("srv", "msg", "action"))
    except ImportError:
        return False


def answer(response: Any, result: Any) -> Any:
    """A response with its result: a :class:`Result`, or whatever has a code and a text."""
    response.result.result = int(result.code)
    response.result.error_message = result.text
    return response


def select_entities(names: list[str], pattern: str) -> list[str] | str:
    """Names that match a filter (Python's expressions, which hold POSIX's but for its classes; empty: all).

    A text is what is wrong with the filter.
    """
    try:
        expression = re.compile(pattern)
    except re.error as error:
        return f"filter {pattern!r} is not a regular expression: {error}."
    return [name for name in names if expression.search(name)]


def asked_state(now: np.ndarray, request: object) -> np.ndarray | str:
    """State (13,) that a SetEntityState request asks for, or why it asks for none.

    Version 2 has flags for pose and twist; in version 1, which has none, both count.
    """
    state = request.state  # type: ignore[attr-defined]
    if state.header.frame_id not in ("", WORLD_FRAME):
        return f"frame must be {WORLD_FRAME} or empty, got {state.header.frame_id!r}."
    row = now.copy()
    if getattr(request, "set_pose", True):
        State(row).position[:] = vector_from(state.pose.position)
        State(row).attitude[:] = wxyz_from(state.pose.orientation)
    if getattr(request, "set_twist", True):
        State(row).velocity[:] = vector_from(state.twist.linear)
        # a twist of the standard is in world axes throughout, our body rate in the body
        State(row).body_rate[:] = quat2mat(State(row).attitude).T @ vector_from(state.twist.angular)
    if not np.isfinite(row).all():
        return f"pose and twist must be finite, got {row.tolist()}."
    return row


class StandardServices:
    """Services and the action, on top of a session.

    Attributes:
        session: the world that they act on; another one after a change of worlds.
    """

    def __init__(self, node: Node, session: Session) -> None:
        self.session = session
        self._entities = Entities(node)
        srv, self._msg, action = (interfaces(kind) for kind in ("srv", "msg", "action"))
        for kind, name, callback in (
            ("GetEntities", "get_entities", self.get_entities),
            ("GetEntityState", "get_entity_state", self.get_entity_state),
            ("GetEntitiesStates", "get_entities_states", self.get_entities_states),
            ("GetEntityInfo", "get_entity_info", self.get_entity_info),
            ("SetEntityState", "set_entity_state", self.set_entity_state),
        ):
            self._entities.serve(getattr(srv, kind), f"~/{name}", callback)
        self._entities.serve_later(srv.StepSimulation, "~/step_simulation", self.step)
        self._action = action.SimulateSteps
        server = ActionServer(
            node,
            action.SimulateSteps,
            "~/simulate_steps",
            self._simulate_steps,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )
        self._entities.on_destroy(server.destroy)

    def close(self) -> None:
        """Take the services down."""
        self._entities.destroy()

    # --- the simulation ---------------------------------------------------------------------------

    def step(self, request: object, response: object, reply: Callable[[object], None]) -> None:
        """Control periods of a paused simulation."""

        def done(result: Result) -> None:
            reply(answer(response, result))

        self.session.step(request.steps, done)  # type: ignore[attr-defined]

    async def _simulate_steps(self, goal: object) -> object:
        """All steps are asked for at once, so that a pause or a reset ends them, and nobody steps in between."""
        wanted = int(goal.request.steps)  # type: ignore[attr-defined]
        ended: Future = Future()

        def stepped(left: int) -> None:
            feedback = self._action.Feedback()
            feedback.completed_steps, feedback.remaining_steps = wanted - left, left
            goal.publish_feedback(feedback)  # type: ignore[attr-defined]
            if left and goal.is_cancel_requested:  # type: ignore[attr-defined]
                self.session.end_steps(f"cancelled after {wanted - left} of {wanted} steps.")

        result = Result(Code.OK)
        if wanted > 0:
            self.session.step(wanted, ended.set_result, stepped)
            result = await ended
        if result.ok:
            goal.succeed()  # type: ignore[attr-defined]
        elif goal.is_cancel_requested:  # type: ignore[attr-defined]
            goal.canceled()  # type: ignore[attr-defined]
        else:
            goal.abort()  # type: ignore[attr-defined]
        return answer(self._action.Result(), result)

    # --- entities ---------------------------------------------------------------------------------

    def _row(self, name: str) -> int | None:
        names = self.session.simulation.names
        return names.index(name) if name in names else None

    def _not_found(self, name: str) -> Result:
        known = ", ".join(self.session.simulation.names)
        return Result(Code.NOT_FOUND, f"there is no entity {name!r}; known: {known}.")

    def _fill_state(self, message: object, row: int) -> object:
        m = self.session.simulation.motion[row]
        R = quat2mat(State(m).attitude)
        message.header.frame_id = WORLD_FRAME  # type: ignore[attr-defined]
        message.header.stamp = self.session.time.stamp()  # type: ignore[attr-defined]
        set_vector(message.pose.position, State(m).position)  # type: ignore[attr-defined]
        set_quaternion(message.pose.orientation, State(m).attitude)  # type: ignore[attr-defined]
        set_vector(message.twist.linear, State(m).velocity)  # type: ignore[attr-defined]
        set_vector(message.twist.angular, R @ State(m).body_rate)  # type: ignore[attr-defined]
        set_vector(message.acceleration.linear, State(m).acceleration)  # type: ignore[attr-defined]
        set_vector(message.acceleration.angular, R @ State(m).angular_acceleration)  # type: ignore[attr-defined]
        return message

    def _matching(self, filters: object) -> tuple[Result, list[str]]:
        selected = select_entities(self.session.simulation.names, filters.filter)  # type: ignore[attr-defined]
        if isinstance(selected, str):
            return Result(Code.OPERATION_FAILED, selected), []
        wanted = {c.category for c in filters.categories}  # type: ignore[attr-defined]
        if wanted:
            selected = [n for n in selected if self._category(n) in wanted]
        unsupported = filters.tags.tags or filters.bounds.points  # type: ignore[attr-defined]
        if unsupported:
            return Result(Code.FEATURE_UNSUPPORTED, "tags and bounds are not supported."), []
        return Result(Code.OK), selected

    def _category(self, name: str) -> int:
        kinds = self._msg.EntityCategory
        vehicle = name in self.session.vehicles
        return kinds.CATEGORY_ROBOT if vehicle else kinds.CATEGORY_DYNAMIC_OBJECT

    def get_entities(self, request: object, response: object) -> object:
        """Names that match."""
        result, response.entities = self._matching(request.filters)  # type: ignore[attr-defined]
        return answer(response, result)

    def get_entity_state(self, request: object, response: object) -> object:
        """The true state of one entity."""
        row = self._row(request.entity)  # type: ignore[attr-defined]
        if row is None:
            return answer(response, self._not_found(request.entity))  # type: ignore[attr-defined]
        self._fill_state(response.state, row)  # type: ignore[attr-defined]
        return answer(response, Result(Code.OK))

    def get_entities_states(self, request: object, response: object) -> object:
        """The true states of all that match."""
        result, names = self._matching(request.filters)  # type: ignore[attr-defined]
        response.entities = names  # type: ignore[attr-defined]
        states = self._msg.EntityState
        response.states = [self._fill_state(states(), self._row(n) or 0) for n in names]  # type: ignore[attr-defined]
        return answer(response, result)

    def get_entity_info(self, request: object, response: object) -> object:
        """Vehicles are robots, payloads dynamic objects."""
        name = request.entity  # type: ignore[attr-defined]
        if self._row(name) is None:
            return answer(response, self._not_found(name))
        response.info.category.category = self._category(name)  # type: ignore[attr-defined]
        model = self.session.simulation.scenario.model
        response.info.description = model.entities[model.index(name)].source  # type: ignore[attr-defined]
        return answer(response, Result(Code.OK))

    def set_entity_state(self, request: object, response: object) -> object:
        """Put one entity elsewhere, if the cables and rigid links allow it."""
        name = request.entity  # type: ignore[attr-defined]
        row = self._row(name)
        if row is None:
            return answer(response, self._not_found(name))
        state = asked_state(self.session.simulation.motion[row, FULL_STATE], request)
        if isinstance(state, str):
            bad = SimpleNamespace(code=INVALID_POSE, text=state)
            return answer(response, bad)  # type: ignore[arg-type]
        result, _ = self.session.set_states({name: state}, project=False)
        if result.code is Code.OPERATION_FAILED:
            result = SimpleNamespace(code=INVALID_POSE, text=result.text)
        return answer(response, result)  # type: ignore[arg-type]
