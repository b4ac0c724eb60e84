"""Worlds that change while the nodes run: load, unload, spawn, delete, and all that follows."""

import importlib.util
import os
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")
if importlib.util.find_spec("simulation_interfaces") is None:
    pytest.skip("simulation_interfaces is not installed", allow_module_level=True)

import graph
from nav_msgs.msg import Odometry, Path
from rclpy.qos import QoSProfile
from rotor_msgs.msg import TeamState
from simulation_interfaces.msg import Resource, SimulationState, SpawnEntity
from simulation_interfaces.msg import Result as R
from simulation_interfaces.srv import (
    DeleteEntity,
    GetAvailableWorlds,
    GetCurrentWorld,
    GetEntities,
    GetSimulationState,
    GetSpawnables,
    LoadWorld,
    ResetSimulation,
    SetSimulationState,
    SpawnEntities,
    UnloadWorld,
)
from simulation_interfaces.srv import SpawnEntity as Spawn
from std_msgs.msg import Bool
from visualization_msgs.msg import MarkerArray

from rotor_core.config.catalog import shipped
from rotor_core.config.loader import dump_scenario, load_scenario
from rotor_core.messages.convert import seconds_from_stamp
from rotor_core.ros import qos
from rotor_sim.ros.worlds import Worlds

DEEP = QoSProfile(depth=1000)
BOX = """<robot name="crate"><link name="base"><inertial><origin xyz="0 0 0.1"/><mass value="2"/>
<inertia ixx="0.03" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><origin xyz="0 0 0.1"/><geometry><box size="0.2 0.2 0.2"/></geometry></visual></link></robot>"""


class Services:
    """Services of the simulator, by their names."""

    def __init__(self, bench):
        self.bench = bench

    def call(self, kind, name, **fields):
        return self.bench.call(kind, f"/simulator/{name}", kind.Request(**fields))

    def spawn(self, uri="", text="", name="", at=(0.0, 0.0, 0.0), **fields):
        request = Spawn.Request(
            name=name, entity_resource=Resource(uri=uri, resource_string=text), **fields
        )
        place = request.initial_pose.pose.position
        place.x, place.y, place.z = at
        return self.bench.call(Spawn, "/simulator/spawn_entity", request)

    def entities(self):
        return list(self.call(GetEntities, "get_entities").entities)


def position(state, name):
    at = next(b for b in state.bodies if b.name == name).pose.position
    return np.array([at.x, at.y, at.z])


def test_vehicles_and_bodies_come_and_go_in_flight(tmp_path):
    """What is spawned flies the trajectory of the scenario from where it is; the others go on from where they are."""
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", DEEP)
        paths = bench.collect(Path, "/scout/path", qos.LATCHED)
        for node in ("simulator", "planner", "controller", "visualizer"):
            bench.start(node, scenario="dragonfly_point_mass")
        services = Services(bench)
        bench.until(lambda: states and states[-1].step > 400, "flight")
        answer = services.spawn("vehicles/crazyflie", name="scout", at=(2.0, 0.0, 1.0))
        assert answer.result.result == R.RESULT_OK, answer.result.error_message
        assert answer.entity_name == "scout"
        bench.until(lambda: len(states[-1].bodies) == 3, "its state")
        first = next(s for s in states if len(s.bodies) == 3)
        last = [s for s in states if len(s.bodies) == 2][-1]
        # nobody jumps: one control period of flight at most, at 1.2 m/s
        assert np.linalg.norm(position(first, "payload") - position(last, "payload")) < 0.01
        assert np.linalg.norm(position(first, "payload")) > 0.01  # on its way, not at the start
        assert seconds_from_stamp(first.header.stamp) > seconds_from_stamp(last.header.stamp)
        assert first.epoch == last.epoch + 1
        np.testing.assert_allclose(position(first, "scout"), [2.0, 0.0, 1.0], atol=1e-12)
        odometry = bench.collect(Odometry, "/scout/odom", qos.STATE)
        bench.until(lambda: len(odometry) > 100, "its odometry")
        bench.until(lambda: states[-1].step > 600, "both fly on")
        assert abs(position(states[-1], "scout")[2] - 1.0) < 0.05
        bench.until(lambda: paths and len(paths[-1].poses) > 3, "its path, from the visualizer")

        again = services.spawn("vehicles/crazyflie", name="scout")
        assert again.result.result == 101 and "already" in again.result.error_message
        renamed = services.spawn(
            "vehicles/crazyflie", name="scout", at=(4.0, 0.0, 1.0), allow_renaming=True
        )
        assert renamed.entity_name == "scout_2"
        crate = services.spawn(text=BOX, at=(0.0, 3.0, 5.0))
        assert crate.entity_name == "crate", crate.result.error_message
        bench.until(lambda: len(states[-1].bodies) == 5, "the crate")
        assert services.entities() == ["quad1", "scout", "scout_2", "payload", "crate"]

        deleted = services.call(DeleteEntity, "delete_entity", entity="payload")
        assert deleted.result.result == R.RESULT_OK, deleted.result.error_message
        bench.until(lambda: len(states[-1].bodies) == 4 and states[-1].step > 200, "free flight")
        unknown = services.call(DeleteEntity, "delete_entity", entity="payload").result
        assert unknown.result == R.RESULT_NOT_FOUND and "scout_2" in unknown.error_message

        reset = services.call(ResetSimulation, "reset_simulation", scope=0)
        assert reset.result.result == R.RESULT_OK, reset.result.error_message
        bench.until(lambda: len(states[-1].bodies) == 2 and states[-1].step > 50, "as it was")
        assert seconds_from_stamp(states[-1].header.stamp) < 30.0
        for log in ("controller", "planner", "simulator", "visualizer"):
            text = (tmp_path / "log" / f"{log}.log").read_text()
            assert "Traceback" not in text and "already registered" not in text, text


def test_what_is_asked_during_a_change_of_worlds_is_answered(tmp_path):
    """In the world that goes or in the one that comes: no request is lost with its service."""
    with graph.bench(tmp_path) as bench:
        bench.start("simulator", scenario="hover")
        name = "/simulator/get_entities"
        entities = bench.node.create_client(GetEntities, name, qos_profile=qos.SERVICE)
        bench.until(entities.service_is_ready, "the service")
        spawn = bench.ready(Spawn, "/simulator/spawn_entity")
        crate = Spawn.Request(entity_resource=Resource(resource_string=BOX))
        crate.initial_pose.pose.position.z = 5.0
        spawned, asked = spawn.call_async(crate), []
        for i in range(100):  # through the change, of some tenths of a second; half of them at once
            asked.append(entities.call_async(GetEntities.Request()))
            bench.spin(0.0 if i < 50 else 0.02)
        bench.until(lambda: spawned.done() and all(f.done() for f in asked), "every answer")
        assert spawned.result().result.result == R.RESULT_OK, spawned.result().result.error_message
        assert "crate" in asked[-1].result().entities


def test_what_cannot_be_spawned_is_refused(tmp_path):
    """With a code and the reason; the world flies on."""
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", DEEP)
        for node in ("simulator", "planner", "controller"):
            bench.start(node, scenario="hover")
        services = Services(bench)
        bench.until(lambda: states and states[-1].step > 20, "flight")
        for code, text, fields in (
            (104, "both empty", {}),
            (102, "name", {"uri": "vehicles/dragonfly", "name": "a b"}),
            (105, "namespace", {"uri": "vehicles/dragonfly", "entity_namespace": "/lab"}),
            (106, "dragonfly", {"uri": "vehicles/dragonfyl"}),
            (106, "there is no such file", {"uri": "file:///nowhere/x.yaml"}),
            (106, "mass_kg", {"text": "{schema: 1, rotors: {}}"}),
            (106, "has joints", {"text": (shipped_urdf())}),
            (109, "finite", {"uri": "vehicles/dragonfly", "name": "b", "at": (np.nan, 0.0, 0.0)}),
            (109, "within 1e+06 m", {"uri": "vehicles/dragonfly", "at": (1e300, 0.0, 0.0)}),
            (R.RESULT_OPERATION_FAILED, "blades", {"uri": "vehicles/helion"}),
        ):
            result = services.spawn(**fields).result
            assert result.result == code and text in result.error_message, (fields, result)
        several = SpawnEntities.Request(
            spawn_requests=[
                SpawnEntity(name="a", entity_resource=Resource(uri="vehicles/dragonfly")),
                SpawnEntity(name="b", entity_resource=Resource(uri="nothing")),
                SpawnEntity(name="c", entity_resource=Resource(uri="payloads/box")),
            ]
        )
        several.spawn_requests[0].initial_pose.pose.position.y = 2.0
        several.spawn_requests[2].initial_pose.pose.position.y = 4.0
        answer = bench.call(SpawnEntities, "/simulator/spawn_entities", several)
        assert answer.result.result == 150 and [r.result.result for r in answer.results] == [
            1,
            106,
            1,
        ]
        assert services.entities() == ["quad1", "a", "c"]
        for name in ("a", "c"):
            gone = services.call(DeleteEntity, "delete_entity", entity=name).result
            assert gone.result == R.RESULT_OK, gone.error_message
        last = services.call(DeleteEntity, "delete_entity", entity="quad1").result
        assert last.result == R.RESULT_OPERATION_FAILED and "vehicle" in last.error_message
        step = states[-1].step
        bench.until(lambda: states[-1].step > step + 50, "flight goes on")


def test_a_recorder_that_is_gone_allows_other_worlds(tmp_path):
    """Which a reset of states and of what was spawned leaves at the time that it is."""
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", DEEP)
        recorder = bench.node.create_publisher(Bool, "/rotor/recording", qos.LATCHED)
        recorder.publish(Bool(data=True))
        bench.start("simulator", scenario="hover", wait_for_recorder=True)
        for node in ("planner", "controller"):
            bench.start(node, scenario="hover")
        services = Services(bench)
        bench.until(lambda: states and states[-1].step > 400, "flight")
        refused = services.spawn(text=BOX, at=(0.0, 3.0, 5.0)).result
        assert "a recorder listens" in refused.error_message
        bench.node.destroy_publisher(recorder)
        bench.spin(1.0)
        spawned = services.spawn(text=BOX, at=(0.0, 3.0, 5.0)).result
        assert spawned.result == R.RESULT_OK, spawned.error_message
        bench.until(lambda: len(states[-1].bodies) == 2 and states[-1].step > 400, "both fly")
        last = seconds_from_stamp(states[-1].header.stamp)
        reset = services.call(ResetSimulation, "reset_simulation", scope=2 | 4)
        assert reset.result.result == R.RESULT_OK, reset.result.error_message
        bench.until(lambda: len(states[-1].bodies) == 1, "the world as it was")
        first = next(s for s in reversed(states) if s.step == 0)
        assert seconds_from_stamp(first.header.stamp) > last > 4.0


def test_a_world_gets_its_own_seed_back():
    class Node:
        def create_publisher(self, *_):
            return self

    worlds = Worlds(Node())
    worlds.reseed(3)  # the parameters name the world, and its seed
    assert worlds.wanted is None
    worlds.wanted = worlds.base = replace(load_scenario("hover"), seed=77)
    for seed, flown in ((5, 5), (6, 6), (-1, 77)):
        worlds.reseed(seed)
        assert worlds.wanted.seed == worlds.base.seed == flown


def shipped_urdf():
    from rotor_core.config.catalog import config_directory

    return (config_directory() / "urdf" / "kremer_v1.urdf").read_text()


def test_nodes_stay_in_the_graph_while_worlds_change(tmp_path):
    """The same participant, which nobody has to find anew, and no thread more with each world."""
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", DEEP)
        nodes = ("simulator", "planner", "controller", "visualizer")
        for node in nodes:
            bench.start(node, scenario="hover")
        bench.collect(MarkerArray, "/rotor/markers", qos.STATE)
        services = Services(bench)
        found = []
        for name, bodies in (("quadrotor_circle", 1), ("two_dragonflies_bar", 3)) * 2:
            result = services.call(
                LoadWorld, "load_world", world_resource=Resource(uri=name)
            ).result
            assert result.result == R.RESULT_OK, result.error_message
            playing = SimulationState(state=SimulationState.STATE_PLAYING)
            services.call(SetSimulationState, "set_simulation_state", state=playing)
            del states[:]
            bench.until(
                lambda n=bodies: states and len(states[-1].bodies) == n and states[-1].step > 20,
                name,
            )
            (writer,) = bench.node.get_publishers_info_by_topic("/rotor/team_command")
            processes = [bench.group.children[node].process.pid for node in nodes]
            threads = [len(os.listdir(f"/proc/{process}/task")) for process in processes]
            found.append((bytes(writer.endpoint_gid[:12]), *threads))
        assert len(set(found)) == 1, found


def test_worlds_are_loaded_and_unloaded(tmp_path):
    """A world is a scenario: by shipped name or as text; it is stopped, and flies when it is played."""
    with graph.bench(tmp_path) as bench:
        states = bench.collect(TeamState, "/rotor/team_state", DEEP)
        for node in ("simulator", "planner", "controller"):
            bench.start(node, scenario="hover")
        services = Services(bench)
        bench.until(lambda: states and states[-1].step > 20, "flight")

        def play():
            request = SetSimulationState.Request(
                state=SimulationState(state=SimulationState.STATE_PLAYING)
            )
            return bench.call(SetSimulationState, "/simulator/set_simulation_state", request)

        worlds = services.call(GetAvailableWorlds, "get_available_worlds").worlds
        assert [w.world_resource.uri for w in worlds] == shipped("scenarios")
        assert {"vehicles/dragonfly", "payloads/box"} <= {
            s.entity_resource.uri for s in services.call(GetSpawnables, "get_spawnables").spawnables
        }
        for wrong, code in (
            (Resource(), 102),
            (Resource(uri="hoover"), 103),
            (Resource(resource_string="x: ["), 103),
        ):
            refused = services.call(LoadWorld, "load_world", world_resource=wrong)
            assert refused.result.result == code, refused
        loaded = services.call(
            LoadWorld, "load_world", world_resource=Resource(uri="two_dragonflies_bar")
        )
        assert loaded.result.result == R.RESULT_OK and loaded.world.name == "two_dragonflies_bar"
        state = services.call(GetSimulationState, "get_simulation_state").state.state
        assert state == SimulationState.STATE_STOPPED
        assert play().result.result == R.RESULT_OK
        bench.until(lambda: len(states[-1].bodies) == 3 and states[-1].step > 100, "the bar flies")

        text = dump_scenario(load_scenario("quadrotor_circle"))
        loaded = services.call(
            LoadWorld, "load_world", world_resource=Resource(resource_string=text)
        )
        assert loaded.world.name == "quadrotor_circle", loaded.result.error_message
        assert play().result.result == R.RESULT_OK
        bench.until(lambda: len(states[-1].bodies) == 1 and states[-1].step > 100, "a circle")

        assert services.call(UnloadWorld, "unload_world").result.result == R.RESULT_OK
        assert services.call(UnloadWorld, "unload_world").result.result == 101
        assert services.call(GetCurrentWorld, "get_current_world").result.result == 101
        assert services.call(GetSimulationState, "get_simulation_state").state.state == 4
        assert play().result.result == R.RESULT_INCORRECT_STATE
        bench.until_silent(states)
        n = len(states)
        loaded = services.call(LoadWorld, "load_world", world_resource=Resource(uri="hover"))
        assert loaded.result.result == R.RESULT_OK and play().result.result == R.RESULT_OK
        bench.until(lambda: len(states) > n and states[-1].step > 50, "hover again")
        assert services.call(GetCurrentWorld, "get_current_world").world.name == "hover"
