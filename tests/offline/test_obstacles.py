"""Obstacles: read, drawn, kept clear of, and never passed in silence."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from rotor_core.clearance.clearances import Clearances
from rotor_core.clearance.gjk import hull_distance
from rotor_core.clearance.solids import obstacle_solids
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.teams import teams
from rotor_core.errors import ConfigError, ContractError
from rotor_core.math.polyhedron import CORNERS
from rotor_core.state import State
from rotor_flight.flight import Flight
from rotor_flight.fly import fly
from rotor_flight.loop import ClosedLoop
from rotor_planning.trajectories.from_config import make_plans
from rotor_planning.trajectories.keep_out import KeepOut
from rotor_recordings.formats.flights import open_flight
from rotor_sim.shapes.shapes import scenario_shapes
from rotor_sim.simulation import Simulation

BALL = """
schema: 1
model: {{payloads: [{{name: stone, mass_kg: 1.0, shape: {{type: sphere, radius_m: 0.1}}}}]}}
controller: {{type: open_loop, commands: []}}
initial: [{{entity: stone, position_m: [0.0, 0.0, 3.0]}}]
environment: {{obstacles: [{obstacle}]}}
"""
SHAPES = {
    "box": (
        "{name: it, shape: {type: box, size_m: [1.0, 1.0, 1.0]}, position_m: [0.2, 0.1, 0.5]}",
        1.0,
    ),
    "sphere": (
        "{name: it, shape: {type: sphere, radius_m: 0.5}, position_m: [0.0, 0.0, 0.5]}",
        1.0,
    ),
    "lying cylinder": (
        "{name: it, shape: {type: cylinder, radius_m: 0.5, height_m: 2.0}, position_m: [0.0, 0.3, 0.5], rpy_deg: [90, 0, 0]}",
        1.0,
    ),
    "capsule": (
        "{name: it, shape: {type: capsule, radius_m: 0.2, height_m: 1.0}, position_m: [0.0, 0.0, 0.5]}",
        1.0,
    ),
    "gate": (
        "{name: it, shape: {type: gate, opening_m: [1.0, 1.0], frame_m: 0.1}, position_m: [0.0, 0.0, 0.4]}",
        1.0,
    ),
    "heights": (
        "{name: it, shape: {type: heights, heights_m: [[0, 0], [2, 2]], size_m: [2, 2]}}",
        1.0,
    ),
    "mesh": (
        "{name: it, shape: {type: mesh, triangles_m: [[[-1, -1, 1], [1, -1, 1], [0, 2, 1]]]}}",
        1.0,
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_falls_through_an_obstacle_is_told_where_and_when(shape):
    """A stone with a ball of 0.1 m falls from 3 m: it reaches z = 1 + 0.1 m after sqrt(2 * 1.9 / g).

    On a slope of 45 degrees its ball reaches it 0.1 sqrt(2) m above.
    """
    text, top = SHAPES[shape]
    world = Simulation(scenario_from_text(BALL.format(obstacle=text)))
    while world.time < 1.0 + 1.2:
        world.step(np.zeros((0, 4)))
    touch = next(e for e in world.take_events() if e.type == "touch")
    height = top + 0.1 * (np.sqrt(2.0) if shape == "heights" else 1.0)
    assert touch.time - 1.0 == pytest.approx(np.sqrt(2.0 * (3.0 - height) / 9.81), abs=1e-8)
    assert touch.cause == "passes_through"
    assert touch.bodies == ("stone", "it")
    assert np.linalg.norm(np.array(touch.place)[:2]) < 0.12


@pytest.mark.parametrize("law", ["compliant", "rigid"])
def test_contacts_with_obstacles_are_told_by_their_names(law):
    """A box falls on a high and a low crate: the edge of the high one first, which turns it down on the low one."""
    text = f"""
schema: 1
model:
  payloads: [{{name: parcel, mass_kg: 1.0, inertia_kg_m2: [0.0083, 0.0142, 0.0208], shape: {{type: box, size_m: [0.4, 0.3, 0.1]}}}}]
controller: {{type: open_loop, commands: []}}
initial: [{{entity: parcel, position_m: [0.0, 0.0, 0.6]}}]
environment:
  contact: {{law: {law}}}
  obstacles:
    - {{name: high, shape: {{type: box, size_m: [0.3, 0.6, 0.5]}}, position_m: [-0.2, 0.0, 0.25]}}
    - {{name: low, shape: {{type: box, size_m: [0.5, 0.6, 0.4]}}, position_m: [0.3, 0.0, 0.2]}}
"""
    world = Simulation(scenario_from_text(text))
    while world.time < 3.0:
        world.step(np.zeros((0, 4)))
    touches = [e.bodies for e in world.take_events() if e.type == "touch"]
    assert touches[0] == ("parcel", "high")
    assert set(touches) == {("parcel", "high"), ("parcel", "low")}


def test_a_cable_that_swings_into_a_peg_is_told(tmp_path):
    """A pendulum of 1 m from rest at 60 degrees, a thin peg 0.5 m below its pivot: it meets the peg near the vertical.

    The time follows from energy, ``t = integral d phi / phi_dot`` to the angle at which the line is a radius away.
    """
    radius = 0.01
    text = f"""
schema: 1
model:
  payloads: [{{name: bob, mass_kg: 1.0, shape: {{type: sphere, radius_m: 0.02}}}}]
  attachments: [{{type: cable, a: world, a_point_m: [0.0, 0.0, 2.0], b: bob, length_m: 1.0}}]
controller: {{type: open_loop, commands: []}}
initial: [{{entity: bob, position_m: [{np.sin(np.pi / 3.0)}, 0.0, 1.5]}}]
environment:
  obstacles: [{{name: peg, shape: {{type: cylinder, radius_m: {radius}, height_m: 1.0}}, position_m: [0.0, 0.0, 1.5], rpy_deg: [90, 0, 0]}}]
"""
    scenario = scenario_from_text(text)
    world = Simulation(scenario)
    while world.time < 2.0:
        world.step(np.zeros((0, 4)))
    touch = next(e for e in world.take_events() if e.type == "touch")
    end = np.arcsin(radius / 0.5)
    # phi = phi_0 cos(u): no singularity at the turn
    phi0 = np.pi / 3.0

    def slowness(u):
        phi = phi0 * np.cos(u)
        return phi0 * np.sin(u) / np.sqrt(2.0 * 9.81 * (np.cos(phi) - np.cos(phi0)))

    exact = quad(slowness, 1e-12, np.arccos(end / phi0), epsabs=1e-12)[0]
    assert touch.time - 1.0 == pytest.approx(exact, abs=1e-6)
    assert touch.bodies == ("cable1", "peg")
    assert touch.cables == (0,)
    assert np.allclose(touch.place, [0.0, 0.0, 1.5], atol=2.0 * radius)


def test_slack_cables_have_no_shape_and_what_is_joined_is_no_pair():
    scenario = load_scenario("slalom_gates")
    clearances = Clearances(scenario)
    assert ("quad1", "quad2") in clearances.pairs
    assert ("cable1", "payload") in clearances.tied
    assert not [
        p
        for p in Clearances(load_scenario("three_dragonflies_triangular_rigid")).pairs
        if "payload" in p
    ]
    states = np.array([s for s in Simulation(scenario).motion[:, :13]])[None]
    clearances.see(np.array([0.0]), states, np.zeros((1, 3), bool))
    assert not [m for m in clearances.margins if m.names[0].startswith("cable")]


def test_gates_are_flown_through_with_the_clearance_that_is_asked_for(tmp_path):
    scenario = load_scenario("slalom_gates")
    flight = fly(scenario)
    assert flight.verdict().kind == "flown"
    obstacles = {o.name for o in scenario.environment.obstacles}
    nearest = min(m.distance for m in flight.margins if m.names[1] in obstacles)
    assert nearest > 0.15
    assert flight.summary()["margins"][0]["distance_m"] > 0.15
    path = flight.save(tmp_path / "gates.mcap")
    again = open_flight(path)
    assert isinstance(again, Flight)
    assert again.margins[0].distance == pytest.approx(flight.margins[0].distance, abs=1e-9)


def test_a_plan_that_knows_no_obstacles_hits_one_and_the_flight_is_lost(tmp_path):
    scenario = load_scenario("slalom_gates").changed("trajectory.clearance_m", None)
    flight = fly(scenario)
    verdict = flight.verdict()
    assert verdict.kind == "lost"
    assert "quad1 went through pillar" in verdict.text
    touch = next(e for e in flight.events if e.type == "touch")
    assert touch.place
    again = open_flight(flight.save(tmp_path / "hit.mcap"))
    (told,) = [e for e in again.events if e.type == "touch" and e.bodies == touch.bodies]
    assert told.place == pytest.approx(touch.place)
    assert told.cause == "passes_through"
    allowed = fly(scenario.changed("verdict.may_touch", True))
    assert allowed.verdict().kind == "flown"


POST = [{"name": "post", "shape": {"type": "capsule", "radius_m": 0.02, "height_m": 0.4}, "position_m": [0.6, 0.0, 1.2], "rpy_deg": [90.0, 0.0, 0.0]}]  # fmt: skip


def test_an_arm_that_swings_into_a_post_is_told_and_the_flight_is_lost(tmp_path):
    """In one compiled call, period by period, and by a simulation that looks for itself; also from a recording."""
    scenario = load_scenario("arm_coupled").changed("environment.obstacles", POST)
    flight = fly(scenario)
    assert (
        flight.verdict().kind == "lost" and "am1/link2 went through post" in flight.verdict().text
    )
    touch = next(e for e in flight.events if e.type == "touch")
    assert touch.bodies == ("am1/link2", "post") and 4.0 < touch.time < 4.8
    assert np.linalg.norm(np.array(touch.place)[[0, 2]] - [0.6, 1.2]) < 0.04
    again = open_flight(flight.save(tmp_path / "hit.mcap"))
    assert [(m.names, m.distance) for m in again.margins] == [
        (m.names, pytest.approx(m.distance, abs=1e-9)) for m in flight.margins
    ]
    loop = ClosedLoop(scenario)
    assert fly(scenario, loop=loop).events == flight.events  # step by step
    loop, told = ClosedLoop(scenario), []
    while loop.simulation.time < 1.0 + 4.5:
        loop.period(lambda _: None)
        told += [e for e in loop.simulation.take_events() if e.type == "touch"]
    told += [e for e in loop.simulation.take_events(complete=True) if e.type == "touch"]
    assert told == [e for e in flight.events if e.type == "touch" and e.time < loop.simulation.time]


def keep_out(scenario, clearance=0.15):
    return KeepOut(scenario, teams(scenario.model)[0], clearance)


@pytest.mark.parametrize("y", [-0.3, 0.0, 0.1, 0.25])
def test_plans_keep_clear_wherever_the_pillar_stands(y):
    scenario = load_scenario("slalom_gates").changed(
        "environment.obstacles.pillar.position_m", [3.5, y, 1.5]
    )
    (plan,) = make_plans(scenario).values()
    places = [plan.at(t).position for t in np.linspace(0.0, plan.duration, 400)]
    guard = keep_out(scenario)
    near = [n.distance for place in places for n in guard.near(place, 1.0)]
    assert min(near) > 0.15 - 1e-3  # between the places that the programme looks at


@pytest.mark.parametrize("y", [0.0, 0.02, -0.1])
def test_a_thin_pole_on_a_long_leg_is_not_flown_through(y):
    """The forty places of a segment lay a metre apart: the plan went straight through, without a word."""
    text = f"""
schema: 1
description: past a pole
model: {{vehicles: [{{use: hummingbird}}]}}
initial: [{{entity: quad1, position_m: [0.0, 0.0, 1.0]}}]
environment: {{obstacles: [{{name: pole, position_m: [10.0, {y}, 1.0], shape: {{type: cylinder, radius_m: 0.05, height_m: 4.0}}}}]}}
controller: {{use: quadrotor}}
trajectory: {{type: waypoints, waypoints_m: [[20.0, 0.0, 1.0]], duration_s: 20.0, clearance_m: 0.1}}
"""
    scenario = scenario_from_text(text)
    (plan,) = make_plans(scenario).values()
    guard = keep_out(scenario, 0.1)
    times = np.linspace(0.0, plan.duration, 3000)
    places = np.array([plan.at(t).position for t in times])
    assert min(n.distance for p in places for n in guard.near(p, 50.0)) > 0.1 * (1.0 - 0.02)
    assert np.abs(places[:, 1]).max() < 1.0 and places[:, 0].max() < 20.01


def test_the_clearance_holds_where_a_leg_is_fast():
    """In the middle it moves at twice its mean speed: places equal in time lay so far apart that 5 % were missing."""
    team = load_scenario("dragonfly_point_mass").changed("trajectory", {
        "type": "waypoints", "waypoints_m": [[6.0, 0.0, 0.0]], "duration_s": 10.0, "clearance_m": 0.3, "relative": True,
    })  # fmt: skip
    start = State(initial_states(team)[team.model.index("payload")]).position
    for share in (0.99, 0.97, 0.95, 0.94):  # of the clearance, on a straight way
        ball = {
            "name": "ball", "shape": {"type": "sphere", "radius_m": 0.02},
            "position_m": (start + [3.0, 0.0, -0.02 - 0.3 * share]).tolist(),
        }  # fmt: skip
        scenario = team.changed("environment.obstacles", [ball])
        (plan,) = make_plans(scenario).values()
        guard = keep_out(scenario, 0.3)
        places = [plan.at(t).position for t in np.linspace(0.4, 0.6, 400) * plan.duration]
        nearest = min(n.distance for p in places for n in guard.near(p, 50.0))
        assert nearest > 0.3 * (1.0 - 0.014)


def test_a_waypoint_in_an_obstacle_is_refused():
    scenario = load_scenario("slalom_gates").changed(
        "environment.obstacles.ball.position_m", [8.0, 0.4, 1.2]
    )
    with pytest.raises(
        ContractError, match=r"at waypoint 3 .* from ball, less than\s+clearance_m \(0\.15\)"
    ):
        make_plans(scenario)


def test_a_gate_that_is_too_narrow_is_told():
    scenario = load_scenario("slalom_gates").changed("trajectory.clearance_m", 0.6)
    with pytest.raises(ContractError, match="clearance_m"):
        make_plans(scenario)


CARRIED = (
    "schema: 1\nmodel: {vehicles: [{use: dragonfly}, {use: dragonfly, name: other}], payloads: [{use: triangular, name: payload}, "
    "{name: cube, mass_kg: 0.1, inertia_kg_m2: [1e-4, 1e-4, 1e-4], shape: {type: box, size_m: [0.1, 0.1, 0.1]}}]}\n"
    "controller: {use: quadrotor}\n"
    "environment: {contact: {LAW}, obstacles: [{name: box, shape: {type: box, size_m: [1, 1, 1]}, position_m: [5, 5, 0.5]},"
    "{name: ball, shape: {type: sphere, radius_m: 1.0}, position_m: [9, 9, 0]}]}"
)


def test_contact_holds_payloads_off_boxes_and_rotors_still_count():
    """What meets is looked for where nothing stops it: always between rotors and all else."""
    scenario = load_scenario("slalom_gates")
    assert ("payload", "gate1") in Clearances(scenario, margins=False).pairs
    passing = Clearances(scenario_from_text(CARRIED.replace("LAW", "")), margins=False).pairs
    assert ("payload", "box") not in passing
    assert ("quad1", "box") in passing and ("quad1", "cube") in passing
    assert ("payload", "ball") in passing  # contact does not know balls
    rigid = Clearances(scenario_from_text(CARRIED.replace("LAW", "law: rigid")), margins=False)
    assert ("payload", "ball") not in rigid.pairs and ("payload", "cube") not in rigid.pairs
    assert {("quad1", "other"), ("other", "quad1"), ("quad1", "cube")} <= set(rigid.pairs)


@pytest.mark.parametrize("law", ["", "law: rigid"])
def test_what_is_held_off_by_contact_is_kept_away_from_all_the_same(law):
    """Distances of flights and of paths around obstacles are of everything, whatever stops it in the end."""
    free = Clearances(scenario_from_text(CARRIED.replace("contact: {LAW}, ", ""))).pairs
    assert set(free) <= set(Clearances(scenario_from_text(CARRIED.replace("LAW", law))).pairs)


@pytest.mark.parametrize(
    ("obstacles", "message"),
    [
        ("[{name: a, shape: {type: sphere, radius_m: 0.0}}]", r"radius_m: must be > 0"),
        ("[{name: a, size_m: [1, 1, 1]}]", r"shape: \{type: box, size_m: \.\.\.\} now"),
        ("[{name: a, shape: {type: cone}}]", "must be one of box, sphere, cylinder"),
        (
            "[{name: a, shape: {type: sphere, radius_m: 1}}, {name: a, shape: {type: sphere, radius_m: 1}}]",
            r"obstacles\[1\]\.name: 'a' appears twice",
        ),
        (
            "[{name: a, shape: {type: heights, heights_m: [[1, 2], [1]], size_m: [1, 1]}}]",
            "rows of the same length",
        ),
        ("[{name: a, shape: {type: mesh, mesh_file: none.stl}}]", "there is no file 'none.stl'"),
        (
            "[{name: a, shape: {type: sphere, radius_m: 1}, belt_m_s: [1, 0, 0]}]",
            "only a box has a belt",
        ),
    ],
)
def test_obstacles_are_checked(obstacles, message):
    text = f"schema: 1\nmodel: {{vehicles: [{{use: dragonfly}}]}}\nenvironment: {{obstacles: {obstacles}}}\ncontroller: {{use: quadrotor}}"
    with pytest.raises(ConfigError, match=message):
        scenario_from_text(text)


def test_the_former_place_of_obstacles_says_where_they_are_now():
    with pytest.raises(ConfigError, match=r"it is called environment\.obstacles now"):
        scenario_from_text(
            "schema: 1\nmodel: {vehicles: [{use: dragonfly}]}\ncontroller: {use: quadrotor}\nenvironment: {contact: {obstacles: []}}"
        )


def test_meshes_and_heights_come_from_files(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box(extents=(1.0, 2.0, 3.0)).export(tmp_path / "house.stl")
    (tmp_path / "hill.csv").write_text("# heights\n0, 0, 0\n0, 1.5, 0\n0, 0, 0\n")
    (tmp_path / "s.yaml").write_text(
        "schema: 1\nmodel: {vehicles: [{use: dragonfly}]}\ncontroller: {use: quadrotor}\nenvironment:\n  obstacles:\n"
        "    - {name: house, shape: {type: mesh, mesh_file: house.stl}, position_m: [5.0, 0.0, 1.5]}\n"
        "    - {name: hill, shape: {type: heights, heights_file: hill.csv, size_m: [4.0, 4.0]}, position_m: [0.0, 9.0, 0.0]}\n"
    )
    scenario = load_scenario(str(tmp_path / "s.yaml"))
    house, hill = scenario.environment.obstacles
    assert house.triangles.shape == (12, 3, 3)
    assert np.allclose(house.triangles.reshape(-1, 3).max(axis=0), [0.5, 1.0, 1.5])
    assert hill.triangles.shape == (8, 3, 3)
    assert hill.triangles[:, :, 2].max() == 1.5
    drawn = [s for s in scenario_shapes(scenario) if s.group == "obstacles"]
    assert [s.kind for s in drawn] == ["mesh", "mesh"]
    (tmp_path / "hill.csv").write_text("0, 0\n0, x\n")
    with pytest.raises(ConfigError, match=r"hill\.csv:2: '0, x' is not a row of heights"):
        load_scenario(str(tmp_path / "s.yaml"))
    (tmp_path / "hill.csv").write_text("0, 0\n0, 0, 0\n")
    with pytest.raises(ConfigError, match=r"hill\.csv:2: has 3 heights, the first row 2"):
        load_scenario(str(tmp_path / "s.yaml"))


def corners_of(shape):
    """Points that reach as far along the axes as a drawn primitive, (n, 3)."""
    R, p = Rotation.from_euler("xyz", shape.rpy).as_matrix(), np.array(shape.position)
    size = 0.5 * np.array(shape.size)
    if shape.kind == "mesh":
        return shape.triangles.reshape(-1, 3) @ R.T + p
    if shape.kind == "sphere":
        return p + np.vstack([size[0] * np.eye(3), -size[0] * np.eye(3)])
    if shape.kind == "cylinder":
        angles = np.linspace(0.0, 2.0 * np.pi, 721)
        rim = np.column_stack([size[0] * np.cos(angles), size[0] * np.sin(angles), 0.0 * angles])
        return np.vstack([rim + [0.0, 0.0, z] for z in (size[2], -size[2])]) @ R.T + p
    return (size * CORNERS) @ R.T + p


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_drawn_where_it_stands(shape):
    """What is drawn reaches as far along the axes as the solids that distances are taken from."""
    scenario = scenario_from_text(BALL.format(obstacle=SHAPES[shape][0]))
    drawn = np.vstack([corners_of(s) for s in scenario_shapes(scenario) if s.group == "obstacles"])
    solids = obstacle_solids(scenario.environment.obstacles[0])
    far = 1e3
    for way in np.vstack([np.eye(3), -np.eye(3)]):
        gaps = [
            hull_distance(far * way[None], s.points, axis_b=tuple(s.axis), disc_b=s.disc)[0]
            - s.ball
            for s in solids
        ]
        nearest = np.linalg.norm(far * way - drawn, axis=1).min()
        assert min(gaps) == pytest.approx(
            nearest, abs=2e-3
        )  # seen from 1 km away: as far as they reach


HANGING = """
schema: 1
model:
  vehicles: [{{use: dragonfly}}]
  payloads:
    - {{name: hook, mass_kg: 0.08, shape: {{type: sphere, radius_m: 0.02}}}}
    - {{name: parcel, mass_kg: 0.05, shape: {{type: sphere, radius_m: 0.05}}}}
  attachments:
    - {{type: cable, a: quad1, b: hook, length_m: 0.5{heavy}}}
    - {{type: cable, a: hook, b: parcel, length_m: 0.5}}
plant: [{{entity: hook, mass_kg: 0.03}}]
controller: {{use: point_mass}}
initial: [{{entity: hook, position_m: [0.0, 0.0, 2.0]}}, {{entity: parcel, position_m: [0.0, 0.0, 1.5]}}]
environment: {{obstacles: [{obstacle}]}}
trajectory: {{type: waypoints, waypoints_m: [[3.0, 0.0, 2.0]], duration_s: 8.0, clearance_m: 0.15}}
"""
WALL = "{name: wall, position_m: [1.5, 0.0, 0.8], shape: {type: box, size_m: [0.2, 3.0, 1.6]}}"
BAR = "{name: bar, position_m: [1.5, 0.1, 2.25], shape: {type: box, size_m: [0.02, 0.1, 0.04]}}"


@pytest.mark.parametrize(("heavy", "obstacle"), [("", WALL), (", mass_kg_per_m: 0.004", BAR)])
def test_what_hangs_and_heavy_cables_are_kept_clear_too(heavy, obstacle):
    """The plan went on straight: a parcel below the hook went through the wall, a bar through the heavy cable."""
    flight = fly(scenario_from_text(HANGING.format(heavy=heavy, obstacle=obstacle)))
    assert flight.verdict().kind == "flown", flight.verdict()
    name = "wall" if not heavy else "bar"
    near = [margin.distance for margin in flight.margins if name in margin.names]
    assert min(near) > 0.05


FALLS_THROUGH = """
schema: 1
model:
  vehicles:
    - {use: dragonfly, name: drone}
  payloads:
    - {name: parcel, mass_kg: 0.01, inertia_kg_m2: [1.0e-6, 1.0e-6, 1.0e-6], shape: {type: sphere, radius_m: 0.02}}
  attachments:
    - {type: rigid_link, parent: drone, child: parcel, position_m: [0.0, 0.0, 0.1]}
initial:
  - {entity: drone, position_m: [0.0, 0.0, 1.0]}
controller: {use: quadrotor}
trajectory: {type: hover, duration_s: 1.0}
settle_s: 0.0
changes:
  - {at_s: 0.5, release: parcel}
"""


@pytest.mark.parametrize("sensing", ["", "sensing: {delay_s: 0.01}"])
def test_what_a_vehicle_lets_go_can_pass_through_it(sensing):
    """They are joined no more: a parcel above its vehicle falls 0.1 m to its middle in 0.143 s."""
    flight = fly(scenario_from_text(FALLS_THROUGH + sensing))
    told = [e for e in flight.events if e.cause == "passes_through"]
    assert [(e.type, set(e.bodies)) for e in told] == [
        (kind, {"drone", "parcel"}) for kind in ("touch", "leave")
    ]
    middle = flight.time[0] + 0.5 + np.sqrt(2.0 * 0.1 / 9.81)
    assert middle - 0.05 < told[0].time < middle < told[1].time < middle + 0.05
