"""Services of simulation_interfaces (1.x and 2.x) that outlive a world: features, state, reset, worlds, spawning.

A world is a scenario. What is spawned is a shipped vehicle or payload, or one of a YAML file, of a robot description
or of a text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from rotor_core.config.catalog import shipped
from rotor_core.config.loader import load_scenario, scenario_from_text, scenario_heading
from rotor_core.config.model import Payload, Vehicle
from rotor_core.config.schema import InitialState, Scenario
from rotor_core.config.vehicles.body import check_name
from rotor_core.errors import ConfigError
from rotor_core.messages.convert import WORLD_FRAME, vector_from, wxyz_from
from rotor_sim.ros.services.standard import answer, interfaces
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.ros.worlds import WorldChange, Worlds
from rotor_sim.simulation import FARTHEST
from rotor_sim.spawning import (
    entity_from_text,
    read_entity,
    spawnables,
    with_entity,
    without_entity,
)
from rotor_sim.state_machine import Code, Result

if TYPE_CHECKING:
    from rotor_sim.ros.session import Session
    from rotor_sim.ros.simulator_node import SimulatorNode

SCOPE_TIME, SCOPE_STATE, SCOPE_SPAWNED, SCOPE_ALL = 1, 2, 4, 255

NO_WORLD = 4
"""State of a simulation without a world (SimulationState.msg)."""

NO_WORLD_LOADED = 101
"""Additional code of GetCurrentWorld.srv and UnloadWorld.srv."""

FEATURES = (
    "SPAWNING", "DELETING", "SPAWNING_RESOURCE_STRING", "SPAWNABLES", "SPAWNING_ENTITIES",
    "ENTITY_STATE_GETTING", "ENTITY_STATE_SETTING", "ENTITY_INFO_GETTING", "ENTITY_CATEGORIES",
    "SIMULATION_RESET", "SIMULATION_RESET_TIME", "SIMULATION_RESET_STATE", "SIMULATION_RESET_SPAWNED",
    "SIMULATION_STATE_GETTING", "SIMULATION_STATE_SETTING", "SIMULATION_STATE_PAUSE", "STEP_SIMULATION_SINGLE",
    "STEP_SIMULATION_MULTIPLE", "STEP_SIMULATION_ACTION", "WORLD_LOADING", "WORLD_RESOURCE_STRING",
    "WORLD_UNLOADING", "WORLD_INFO_GETTING", "AVAILABLE_WORLDS",
)  # fmt: skip
"""Advertised features: exactly those that work; older versions do not name all of them."""


class SpawnCode(IntEnum):
    """Additional codes of SpawnEntity.srv."""

    NAME_NOT_UNIQUE = 101
    NAME_INVALID = 102
    NO_RESOURCE = 104
    NAMESPACE_INVALID = 105
    RESOURCE_PARSE_ERROR = 106
    INVALID_POSE = 109


class LoadCode(IntEnum):
    """Additional codes of LoadWorld.srv."""

    NO_RESOURCE = 102
    RESOURCE_PARSE_ERROR = 103


ENTITIES_SPAWN_FAILED = 150
"""Additional code of SpawnEntities.srv."""


class _Refused(Exception):
    """A request that is answered with a code and a text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def resource_of(request: Any, field: str) -> tuple[str, str]:
    """Address and text of a resource: a message of version 2, two fields of version 1."""
    held = getattr(request, field, request)
    return held.uri, held.resource_string


def set_uri(message: Any, field: str, uri: str) -> None:
    """Set the address of a resource, in either version; some messages of version 1 have none."""
    held = getattr(message, field, message)
    if hasattr(held, "uri"):
        held.uri = uri


def free_name(name: str, taken: list[str]) -> str:
    """The name, or with the first number that makes it a new one."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


class WorldServices:
    """Services that are there as long as the node."""

    def __init__(self, node: SimulatorNode, worlds: Worlds) -> None:
        self._node, self._worlds = node, worlds
        self._entities = entities = Entities(node)
        srv, self._msg = interfaces("srv"), interfaces("msg")
        for kind, name, callback in (
            ("GetSimulatorFeatures", "get_simulator_features", self.get_features),
            ("GetSimulationState", "get_simulation_state", self.get_state),
            ("SetSimulationState", "set_simulation_state", self.set_state),
            ("GetAvailableWorlds", "get_available_worlds", self.get_worlds),
            ("GetCurrentWorld", "get_current_world", self.get_world),
            ("GetSpawnables", "get_spawnables", self.get_spawnables),
        ):
            if hasattr(srv, kind):  # worlds came with version 1.2
                entities.serve(getattr(srv, kind), f"~/{name}", callback)
        for kind, name, begin in (
            ("ResetSimulation", "reset_simulation", self.reset),
            ("LoadWorld", "load_world", self.load),
            ("UnloadWorld", "unload_world", self.unload),
            ("SpawnEntity", "spawn_entity", self.spawn),
            ("SpawnEntities", "spawn_entities", self.spawn_several),
            ("DeleteEntity", "delete_entity", self.delete),
        ):
            if hasattr(srv, kind):
                entities.serve_later(getattr(srv, kind), f"~/{name}", self._guarded(begin))
        self._features = [name for name in FEATURES if self._is_offered(srv, name)]

    def _is_offered(self, srv: ModuleType, feature: str) -> bool:
        known = hasattr(self._msg.SimulatorFeatures, feature)
        return known and (feature != "SPAWNING_ENTITIES" or hasattr(srv, "SpawnEntities"))

    @staticmethod
    def _guarded(begin: Callable) -> Callable:
        """Answer what is refused."""

        def guarded(request: Any, response: Any, reply: Callable[[object], None]) -> None:
            try:
                begin(request, response, reply)
            except _Refused as refused:
                reply(answer(response, refused))

        return guarded

    @property
    def _session(self) -> Session | None:
        return self._node.session

    def _known(self) -> Session:
        """The session.

        Raises:
            _Refused: there is no world.
        """
        if self._session is None:
            raise _Refused(Code.INCORRECT_STATE, "no world is loaded. Load one first.")
        return self._session

    def _change(
        self,
        scenario: Scenario | None,
        done: Callable[[Result], object],
        *,
        continues: bool,
        base: Scenario | None = None,
    ) -> None:
        session = self._session
        if continues and session is not None and session.machine.failure:
            done(Result(Code.OPERATION_FAILED, f"{session.machine.failure} Reset it first."))
            return
        change = WorldChange(scenario, continues, base, done)
        self._worlds.ask(change, recorded=session is not None and session.is_recorded)
        if session is not None and self._worlds.waiting is change:
            session.deactivate()

    # --- the simulation ---------------------------------------------------------------------------

    def get_features(self, _: object, response: Any) -> object:
        """Supported features of the simulator."""
        kinds, features = self._msg.SimulatorFeatures, response.features
        features.features = [getattr(kinds, name) for name in self._features]
        features.spawn_formats = ["yaml", "urdf"]
        features.custom_info = "rotor; worlds are scenarios (YAML, schema 1)"
        if self._session is not None:
            scenario = self._session.simulation.scenario
            features.custom_info = (
                f"rotor; scenario {scenario.name} (YAML, schema {scenario.schema})"
            )
        return response

    def get_state(self, _: object, response: Any) -> object:
        """Stopped, playing, paused, quitting, or no world."""
        state = NO_WORLD if self._session is None else int(self._session.machine.state)
        response.state.state = state
        return answer(response, Result(Code.OK))

    def set_state(self, request: Any, response: Any) -> object:
        """Change it; stopping resets."""
        try:
            return answer(response, self._known().change_state(request.state.state))
        except _Refused as refused:
            return answer(response, refused)

    def reset(self, request: Any, response: Any, reply: Callable[[object], None]) -> None:
        """Time, state, what was spawned, or all."""
        scope = int(request.scope) or SCOPE_ALL
        if scope != SCOPE_ALL and scope & ~(SCOPE_TIME | SCOPE_STATE | SCOPE_SPAWNED):
            known = f"TIME ({SCOPE_TIME}), STATE ({SCOPE_STATE}), SPAWNED ({SCOPE_SPAWNED})"
            raise _Refused(
                Code.FEATURE_UNSUPPORTED,
                f"scope {scope}: only {known}, sums of them, and ALL are supported.",
            )
        session = self._known()

        before, base = session.machine.state, self._worlds.base

        def go_on(result: Result) -> None:
            again = self._session
            if result.ok and again is not None:
                if scope & SCOPE_STATE and not scope & SCOPE_TIME:
                    again.go_on_in_time(session)
                again.change_state(before)  # a world begins stopped, a reset leaves it as it was
                if scope & SCOPE_TIME and not scope & SCOPE_STATE:
                    again.reset(state=False, time=True)
            reply(answer(response, result))

        if scope & SCOPE_SPAWNED and base is not None:
            if scope & SCOPE_STATE:
                self._change(base, go_on, continues=False)
            else:
                self._change(self._without_spawned(session, base), go_on, continues=True)
            return
        if scope & (SCOPE_TIME | SCOPE_STATE):
            session.reset(state=bool(scope & SCOPE_STATE), time=bool(scope & SCOPE_TIME))
        reply(answer(response, Result(Code.OK)))

    @staticmethod
    def _without_spawned(session: Session, base: Scenario) -> Scenario:
        """The world less what has come into it since."""
        scenario = session.simulation.scenario
        there = base.model.entities  # a name may have gone, and come back for something else
        for name in [e.name for e in scenario.model.entities if e not in there]:
            try:
                scenario = without_entity(scenario, name)
            except ConfigError as error:
                raise _Refused(Code.OPERATION_FAILED, str(error)) from error
        return scenario

    # --- worlds -----------------------------------------------------------------------------------

    def get_worlds(self, _: object, response: Any) -> object:
        """All shipped scenarios; other sources are not searched."""
        for name in shipped("scenarios"):
            world = self._msg.WorldResource(name=name, description=scenario_heading(name)[1])
            set_uri(world, "world_resource", name)
            response.worlds.append(world)
        return answer(response, Result(Code.OK))

    def get_world(self, _: object, response: Any) -> object:
        """Name and description of the scenario."""
        if self._session is None:
            return answer(response, _Refused(NO_WORLD_LOADED, "no world is loaded."))
        self._describe(response.world)
        return answer(response, Result(Code.OK))

    def _describe(self, world: Any) -> None:
        scenario = self._known().simulation.scenario
        world.name, world.description = scenario.name, scenario.description
        set_uri(world, "world_resource", scenario.name)

    def load(self, request: Any, response: Any, reply: Callable[[object], None]) -> None:
        """Load a scenario; the simulation is stopped then."""
        uri, text = resource_of(request, "world_resource")
        if not uri and not text:
            raise _Refused(LoadCode.NO_RESOURCE, "uri and resource_string are both empty.")
        try:
            scenario = (
                load_scenario(uri.removeprefix("file://"))
                if uri
                else scenario_from_text(text, "resource_string")
            )
        except ConfigError as error:
            raise _Refused(LoadCode.RESOURCE_PARSE_ERROR, " ".join(error.lines)) from error

        def done(result: Result) -> None:
            if result.ok:
                self._describe(response.world)
            reply(answer(response, result))

        self._change(scenario, done, continues=False)

    def unload(self, _: object, response: Any, reply: Callable[[object], None]) -> None:
        """Take the world down; the node waits for another one."""
        if self._session is None:
            raise _Refused(NO_WORLD_LOADED, "no world is loaded.")
        self._change(None, lambda result: reply(answer(response, result)), continues=False)

    # --- entities ---------------------------------------------------------------------------------

    def get_spawnables(self, request: Any, response: Any) -> object:
        """Shipped vehicles and payloads."""
        for name in spawnables():
            one = self._msg.Spawnable(description=name.replace("s/", " "))
            set_uri(one, "entity_resource", name)
            response.spawnables.append(one)
        text = f"not searched: {', '.join(request.sources)}." if request.sources else ""
        return answer(response, Result(Code.OK, text))

    def _entity(self, request: Any, scenario: Scenario) -> Vehicle | Payload:
        """The entity that a request describes, with a name that is free."""
        names = [e.name for e in scenario.model.entities]
        wish = request.name
        try:
            check_name(wish or "entity")
        except ValueError as error:
            raise _Refused(SpawnCode.NAME_INVALID, str(error)) from error
        if wish in names and not request.allow_renaming:
            text = f"there is a {wish!r} already. Choose another name, or allow renaming."
            raise _Refused(SpawnCode.NAME_NOT_UNIQUE, text)
        if request.entity_namespace.strip("/"):
            text = "entity_namespace is not supported: topics are below the name of the entity."
            raise _Refused(SpawnCode.NAMESPACE_INVALID, text)
        uri, text = resource_of(request, "entity_resource")
        if not uri and not text:
            raise _Refused(SpawnCode.NO_RESOURCE, "uri and resource_string are both empty.")
        air = scenario.environment.air
        try:
            entity = read_entity(uri, air) if uri else entity_from_text(text, air, wish or "entity")
        except ConfigError as error:
            raise _Refused(SpawnCode.RESOURCE_PARSE_ERROR, " ".join(error.lines)) from error
        if not wish and entity.name in names and not request.allow_renaming:
            text = f"there is a {entity.name!r} already. Give a name, or allow renaming."
            raise _Refused(SpawnCode.NAME_NOT_UNIQUE, text)
        return replace(entity, name=free_name(wish or entity.name, names))

    def _spawned(self, request: Any, scenario: Scenario) -> tuple[Scenario, str]:
        """The scenario with what a request describes, and its name."""
        entity = self._entity(request, scenario)
        pose = request.initial_pose
        if pose.header.frame_id not in ("", WORLD_FRAME):
            text = f"frame must be {WORLD_FRAME} or empty, got {pose.header.frame_id!r}."
            raise _Refused(SpawnCode.INVALID_POSE, text)
        position, attitude = vector_from(pose.pose.position), wxyz_from(pose.pose.orientation)
        length = float(np.linalg.norm(attitude))
        if not (np.isfinite(position).all() and np.isfinite(length)) or length < 0.5:
            text = "initial_pose must be finite, its quaternion of length 1."
            raise _Refused(SpawnCode.INVALID_POSE, text)
        if np.abs(position).max() > FARTHEST:
            text = f"initial_pose must be within {FARTHEST:g} m, got {np.abs(position).max():g} m."
            raise _Refused(SpawnCode.INVALID_POSE, text)
        start = InitialState(
            entity.name,
            tuple(float(x) for x in position),  # type: ignore[arg-type]
            quaternion_wxyz=tuple(float(x) for x in np.array(attitude) / length),  # type: ignore[arg-type]
        )
        try:
            return with_entity(scenario, entity, start), entity.name
        except ConfigError as error:
            raise _Refused(Code.OPERATION_FAILED, str(error)) from error

    def spawn(self, request: Any, response: Any, reply: Callable[[object], None]) -> None:
        """One entity more."""
        now = self._known().simulation.scenario
        scenario, name = self._spawned(request, now)

        def done(result: Result) -> None:
            response.entity_name = name if result.ok else ""
            reply(answer(response, result))

        self._change(scenario, done, continues=True, base=self._worlds.base or now)

    def spawn_several(self, request: Any, response: Any, reply: Callable[[object], None]) -> None:
        """Several entities at once: all that are possible."""
        now = scenario = self._known().simulation.scenario
        results = []
        for one in request.spawn_requests:
            one_result = self._msg.SpawnResult()
            try:
                scenario, one_result.entity_name = self._spawned(one, scenario)
                answer(one_result, Result(Code.OK))
            except _Refused as refused:
                answer(one_result, refused)
            results.append(one_result)
        response.results = results
        failed = sum(r.result.result != Code.OK for r in results)

        def done(result: Result) -> None:
            if result.ok and failed:
                text = f"{failed} of {len(results)} could not be spawned."
                result = SimpleNamespace(code=ENTITIES_SPAWN_FAILED, text=text)  # type: ignore[assignment]
            reply(answer(response, result))

        if scenario is now:
            done(Result(Code.OK))
        else:
            self._change(scenario, done, continues=True, base=self._worlds.base or now)

    def delete(self, request: Any, response: Any, reply: Callable[[object], None]) -> None:
        """One entity less, and the cables and links at it."""
        now = self._known().simulation.scenario
        names = [e.name for e in now.model.entities]
        if request.entity not in names:
            text = f"there is no entity {request.entity!r}; known: {', '.join(names)}."
            raise _Refused(Code.NOT_FOUND, text)
        try:
            scenario = without_entity(now, request.entity)
        except ConfigError as error:
            raise _Refused(Code.OPERATION_FAILED, str(error)) from error
        base = self._worlds.base or now
        if scenario.model.entities == base.model.entities:
            base = None  # all that was spawned is gone
        self._change(
            scenario, lambda result: reply(answer(response, result)), continues=True, base=base
        )
