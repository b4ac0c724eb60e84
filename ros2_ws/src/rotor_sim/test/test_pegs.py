"""Pulleys, pegs and edges in scenarios: read, checked, drawn, named."""

import ast
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from rotor_core.config.loader import dump_scenario, load_scenario, scenario_from_text
from rotor_core.errors import ConfigError, ModelError, SolverError
from rotor_core.state import State
from rotor_flight.fly import fly
from rotor_sim.shapes.arcs import arc_over
from rotor_sim.shapes.cable_ways import drawn_path, laid

SCENE = """
schema: 1
model:
  payloads: [{{use: point_mass, name: bob, mass_kg: 0.3}}]
  attachments: [{{type: cable, a: world, a_point_m: [0, 0, 2], b: bob, length_m: 1.2, {keys}}}]
environment:
  obstacles:
    - {{name: peg, shape: {{type: cylinder, radius_m: 0.08, height_m: 0.6}}, position_m: [0, 0, 1.5], rpy_deg: [90, 0, 0]}}
    - {{name: ball, shape: {{type: sphere, radius_m: 0.1}}, position_m: [9, 0, 0]}}
    - {{name: flat, shape: {{type: mesh, triangles_m: [[[9, 0, 0], [9, 1, 0], [9, 0, 1]]]}}}}
    - name: open
      position_m: [9, 9, 0]
      shape:
        type: mesh
        triangles_m:
          - [[0, 0, 0], [0, 1, 0], [1, 0, 0]]
          - [[0, 0, 0], [1, 0, 0], [0, 0, 1]]
          - [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
          - [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    - name: hollow
      position_m: [9, 9, 0]
      shape:
        type: mesh
        triangles_m:
          - [[0, 0, 0], [1, 0, 0], [0.2, 0.2, 0.2]]
          - [[0, 0, 0], [0, 1, 0], [0.2, 0.2, 0.2]]
          - [[0, 0, 0], [1, 0, 0], [0, 0, 1]]
initial: [{{entity: bob, position_m: [0.848528137423857, 0.0, 1.151471862576143]}}]
controller: {{type: open_loop}}
trajectory: {{type: hover, duration_s: 1.0}}
settle_s: 0.0
"""


def drawn(flight, row, k=0):
    """Cable k as it is drawn at a row of a flight, (m, 3)."""
    cable, points = flight.scenario.model.cables[k], []
    for name, point in drawn_path(cable, f"cable{k + 1}"):
        at = np.zeros(3) if name == "world" else State(flight[name].array[row]).position
        points.append(at + point)
    return laid(np.array(points), cable)


def length_of(line):
    return np.linalg.norm(np.diff(line, axis=0), axis=1).sum()


def test_a_cable_lies_on_the_peg_that_it_names_and_passes_through_others():
    wraps = fly(scenario_from_text(SCENE.format(keys="around: [{obstacle: peg}]")))
    (touch,) = wraps.events
    assert (touch.type, touch.cause, touch.bodies) == ("touch", "wraps", ("cable1", "peg"))
    assert wraps.verdict().kind == "flown"
    passes = fly(scenario_from_text(SCENE.format(keys="")))
    assert passes.events[0].cause == "passes_through"
    assert passes.verdict().text == "cable1 went through peg"
    assert touch.time == pytest.approx(
        passes.events[0].time, abs=1e-7
    )  # the same instant, found in two ways
    np.testing.assert_allclose(
        np.linalg.norm(np.array(touch.place) - [0.0, 0.0, 1.5]), 0.08, atol=1e-9
    )


def test_a_peg_by_its_ends_is_the_obstacle():
    named = fly(scenario_from_text(SCENE.format(keys="around: [{obstacle: peg}]")))
    ends = fly(
        scenario_from_text(
            SCENE.format(keys="around: [{ends_m: [[0, -0.3, 1.5], [0, 0.3, 1.5]], radius_m: 0.08}]").replace(
                "    - {name: peg", "    - {name: other"
            ).replace("position_m: [0, 0, 1.5]", "position_m: [5, 0, 1.5]")
        )
    )  # fmt: skip
    np.testing.assert_allclose(ends.states, named.states, atol=1e-12)
    assert ends.events[0].bodies == ("cable1", "world")


def test_what_is_drawn_is_as_long_as_the_cable_wherever_it_lies():
    """Arcs have twelve chords: short of the arc by about angle^3 radius / 24 / 11^2."""
    flight = fly(load_scenario("pendulum_on_peg"))
    for row in range(0, len(flight.time), 7):
        for k, cable in enumerate(flight.scenario.model.cables):
            assert length_of(drawn(flight, row, k)) == pytest.approx(cable.length_m, abs=3e-3)


@pytest.mark.parametrize(
    "keys", ["around: [{obstacle: any}]", "around: [{obstacle: bar}, {obstacle: peg}]"]
)
def test_a_cable_wraps_around_all_cylinders_that_it_meets(keys):
    """Around the peg, then around a capsule beside it, in whatever order they are listed; it is drawn as long as it is."""
    text = SCENE.format(keys=keys).replace(
        "name: ball, shape: {type: sphere, radius_m: 0.1}, position_m: [9, 0, 0]",
        "name: bar, shape: {type: capsule, radius_m: 0.04, height_m: 0.6}, position_m: [-0.15, 0, 1.3], "
        "rpy_deg: [90, 0, 0]",
    )
    flight = fly(scenario_from_text(text))
    kinds = [(e.type, e.bodies) for e in flight.events]
    assert kinds[:2] == [("touch", ("cable1", "peg")), ("touch", ("cable1", "bar"))]
    assert all(e.cause != "passes_through" for e in flight.events)
    for row in range(0, len(flight.time), 10):
        line = drawn(flight, row)
        if flight.taut[row, 0]:
            assert length_of(line) == pytest.approx(1.2, abs=3e-3)


BALL = """
schema: 1
model:
  payloads: [{{use: point_mass, name: bob, mass_kg: 0.3}}]
  attachments: [{{type: cable, a: world, a_point_m: [0, 0, 2], b: bob, length_m: 1.2, {keys}}}]
environment:
  obstacles:
    - {{name: peg, shape: {{type: cylinder, radius_m: 0.25, height_m: 0.6}}, position_m: [0, {y}, 1.5], rpy_deg: [90, 0, 0]}}
    - {{name: ball, shape: {{type: sphere, radius_m: 0.25}}, position_m: [0, 0, 1.5]}}
initial: [{{entity: bob, position_m: [0.848528137423857, 0.0, 1.151471862576143], velocity_m_s: [0.0, {sideways}, 0.0]}}]
controller: {{type: open_loop}}
trajectory: {{type: hover, duration_s: 0.45}}
settle_s: 0.0
"""


def around(keys, *, y=9.0, sideways=0.0):
    return scenario_from_text(BALL.format(keys=f"around: [{keys}]", y=y, sideways=sideways))


def test_in_its_plane_a_ball_is_a_cylinder():
    ball, peg = fly(around("{obstacle: ball}")), fly(around("{obstacle: peg}", y=0.0))
    np.testing.assert_allclose(ball.states, peg.states, atol=1e-12)
    touch, same = (next(e for e in flight.events if e.cause == "wraps") for flight in (ball, peg))
    assert touch.bodies == ("cable1", "ball")
    assert touch.time == pytest.approx(same.time, abs=1e-12)
    assert all(e.cause != "passes_through" for e in ball.events)


def test_a_ball_by_its_middle_is_the_obstacle_and_is_drawn_as_it_lies():
    named = fly(around("{obstacle: ball}", sideways=0.3))
    middle = fly(around("{middle_m: [0, 0, 1.5], radius_m: 0.25}", sideways=0.3))
    np.testing.assert_allclose(middle.states, named.states, atol=1e-13)
    again = fly(scenario_from_text(dump_scenario(named.scenario)))  # as nodes hear of it
    np.testing.assert_array_equal(again.states, named.states)
    lies = 0
    for row in range(0, len(named.time), 2):
        line = drawn(named, row)
        assert length_of(line) == pytest.approx(1.2, abs=3e-3)
        off = np.linalg.norm(line - [0.0, 0.0, 1.5], axis=1)
        lies += np.sum(np.abs(off - 0.25) < 1e-9) > 5
    assert lies > 5


def test_the_name_of_an_obstacle_says_where_it_is_whatever_else_is_said():
    """A world that is told of holds both, the name and the place of then."""
    plain = around("{obstacle: peg}", y=0.0).model.cables[0]
    both = around("{obstacle: peg, middle_m: [5, 0, 0], radius_m: 1.0}", y=0.0).model.cables[0]
    assert both == plain


def test_a_cable_on_one_ball_lies_on_nothing_else():
    with pytest.raises(ModelError, match="a ball, box or hull and something else to lie on"):
        fly(around("{obstacle: ball}, {obstacle: peg}"))


BOX = """
schema: 1
model:
  payloads: [{{use: point_mass, name: bob, mass_kg: 0.3}}]
  attachments: [{{type: cable, a: world, a_point_m: [-0.1, 0, 2.6], b: bob, length_m: {length}, around: [{around}]}}]
environment:
  obstacles:
    - {{name: crate, shape: {{type: box, size_m: [0.5, 0.6, 0.04]}}, position_m: [0.25, 0.05, 1.98], rpy_deg: [0, 0, 12]}}
initial: [{{entity: bob, position_m: [-1.2, 0.0, 1.7], velocity_m_s: [0.0, 0.3, 0.0]}}]
controller: {{type: open_loop}}
trajectory: {{type: hover, duration_s: 1.6}}
settle_s: 0.0
"""
ROPE = float(np.hypot(1.1, 0.9))


def on_crate(around, length=ROPE):
    return fly(scenario_from_text(BOX.format(around=around, length=repr(length))))


def test_a_cable_wraps_around_a_box_and_is_drawn_as_it_lies():
    flight = on_crate("{obstacle: crate}")
    wraps = [e for e in flight.events if e.cause == "wraps"]
    assert wraps[0].type == "touch" and wraps[0].bodies == ("cable1", "crate")
    assert wraps[-1].type in ("leave", "slack")
    assert all(e.cause != "passes_through" for e in flight.events)
    turn = Rotation.from_euler("z", 12.0, degrees=True).as_matrix()
    lies = 0
    for row in range(0, len(flight.time), 2):
        line = drawn(flight, row)
        inside = np.abs((line - [0.25, 0.05, 1.98]) @ turn) - [0.25, 0.3, 0.02]
        assert inside.max(axis=1).min() > -1e-9
        if flight.taut[row, 0]:
            assert length_of(line) == pytest.approx(ROPE, abs=1e-5)
        lies += (np.abs(inside) < 1e-9).sum() >= 2
    assert lies > 20
    place = np.abs((np.array(wraps[0].place) - [0.25, 0.05, 1.98]) @ turn) - [0.25, 0.3, 0.02]
    assert np.sort(np.abs(place))[1] < 1e-9  # on an edge


def test_a_box_by_its_middle_and_size_is_the_obstacle():
    named = on_crate("{obstacle: crate}")
    sized = on_crate(
        "{middle_m: [0.25, 0.05, 1.98], size_m: [0.5, 0.6, 0.04], rpy_deg: [0, 0, 12]}"
    )
    np.testing.assert_allclose(sized.states, named.states, atol=1e-13)
    again = fly(scenario_from_text(dump_scenario(named.scenario)))  # as nodes hear of it
    np.testing.assert_array_equal(again.states, named.states)


WEDGE = "[[0.5, 0.4, 0.04], [0.5, -0.4, 0.04], [0, 0.4, 0.04], [0, -0.4, 0.04], [0.2, 0.3, -0.2], [0.2, -0.3, -0.2]]"


def test_a_mesh_is_the_hull_of_its_corners_and_is_drawn_as_it_lies(tmp_path):
    """Named, and by its corners: a wedge, its mesh with a point in the middle of an edge."""
    corners = np.array(ast.literal_eval(WEDGE))
    hull = ConvexHull(np.vstack([corners, [[0.5, 0.0, 0.04]]]), qhull_options="Qt")
    triangles = hull.points[hull.simplices].tolist()
    text = BOX.replace(
        "shape: {{type: box, size_m: [0.5, 0.6, 0.04]}}, position_m: [0.25, 0.05, 1.98]",
        f"shape: {{{{type: mesh, triangles_m: {triangles}}}}}, position_m: [0.0, 0.05, 1.96]",
    )
    named, cornered = (
        fly(scenario_from_text(text.format(around=around, length=repr(ROPE))))
        for around in (
            "{obstacle: crate}",
            f"{{middle_m: [0.0, 0.05, 1.96], corners_m: {WEDGE}, rpy_deg: [0, 0, 12]}}",
        )
    )
    np.testing.assert_allclose(cornered.states, named.states, atol=1e-12)
    again = fly(scenario_from_text(dump_scenario(named.scenario)))  # as nodes hear of it
    np.testing.assert_array_equal(again.states, named.states)
    wraps = [e for e in named.events if e.cause == "wraps"]
    assert wraps[0].type == "touch" and wraps[0].bodies == ("cable1", "crate")
    assert all(e.cause != "passes_through" for e in named.events)
    turn, lies = Rotation.from_euler("z", 12.0, degrees=True).as_matrix(), 0
    for row in range(0, len(named.time), 2):
        line = drawn(named, row)
        own = (line - [0.0, 0.05, 1.96]) @ turn
        height = (own @ hull.equations[:, :3].T + hull.equations[:, 3]).max(axis=1)
        assert height.min() > -1e-9
        if named.taut[row, 0]:
            assert length_of(line) == pytest.approx(ROPE, abs=1e-5)
        lies += (np.abs(height) < 1e-9).sum() >= 2
    assert lies > 20


def test_a_ball_is_hauled_over_a_ridge_and_its_cable_is_never_drawn_through_it():
    """Slack at first, then on a winch: how long it is pictures do not know, but not where it would pass through rock."""
    flight = fly(load_scenario("hauled_over_ridge"))
    assert flight.verdict().kind == "flown"
    wraps = [e.type for e in flight.events if e.cause == "wraps"]
    assert wraps == ["leave", "leave"]  # over two edges from the start
    assert flight["ball"].array[0, 0] < -1.0 and flight["ball"].array[-1, 0] > 1.0
    (obstacle,) = flight.scenario.environment.obstacles
    hull = ConvexHull(obstacle.triangles.reshape(-1, 3))
    turn, bent = Rotation.from_euler("z", obstacle.rpy_deg[2], degrees=True).as_matrix(), 0
    for row in range(0, len(flight.time), 10):
        line = drawn(flight, row) @ turn
        between = [a + s * (b - a) for a, b in pairwise(line) for s in np.linspace(0.0, 1.0, 9)]
        height = np.array(between) @ hull.equations[:, :3].T + hull.equations[:, 3]
        assert height.max(axis=1).min() > -2e-3
        bent += len(np.unique(np.round(line, 9), axis=0)) > 3
    assert bent > 20


SHORT = """
schema: 1
model:
  payloads: [{{use: point_mass, name: bob, mass_kg: 0.3}}]
  attachments:
    - type: cable
      a: world
      a_point_m: [0, 0, 2]
      b: bob
      length_m: 1.2
      around: [{{entity: world, ends_m: [[0, -0.05, 1.5], [0, 0.05, 1.5]], radius_m: 0.08}}, {{obstacle: far}}]
environment:
  obstacles:
    - {{name: far, shape: {{type: cylinder, radius_m: 0.6, height_m: 1.0}}, position_m: [0, 3.0, 1.4]}}
initial: [{{entity: bob, position_m: [0.848528137423857, 0.0, 1.151471862576143], velocity_m_s: [0.0, {sideways}, 0.0]}}]
controller: {{type: open_loop}}
trajectory: {{type: hover, duration_s: 1.5}}
settle_s: 0.0
"""


def test_a_cable_slips_off_the_end_of_a_short_peg():
    """Its way is shorter then: it is slack, until it snaps. Both tell what it lay on, however near others are."""
    flight = fly(scenario_from_text(SHORT.format(sideways=0.35)))
    told = [(e.type, e.cause, e.bodies) for e in flight.events[:4]]
    lay = ("cable1", "world")
    assert told[:3] == [("touch", "wraps", lay), ("leave", "wraps", lay), ("slack", "wraps", lay)]
    assert told[3][0] == "snap"
    assert flight.events[1].time == flight.events[2].time
    assert abs(flight.events[1].place[1]) == pytest.approx(
        0.05, abs=1e-9
    )  # the last that was on it


def test_a_cable_that_comes_over_the_end_of_a_peg_is_told():
    with pytest.raises(SolverError, match="it comes over the end of a peg"):
        fly(scenario_from_text(SHORT.format(sideways=0.32)))


def test_an_arc_leaves_in_the_direction_of_the_line():
    p, q = np.array([-1.0, 0.0, -0.3]), np.array([0.8, 0.1, -0.9])
    arc = arc_over(p, q, np.zeros(3), np.array([0.0, 1.0, 0.0]), 0.2, 1)
    assert np.allclose(np.hypot(arc[:, 0], arc[:, 2]), 0.2)
    for end, at in ((p, arc[0]), (q, arc[-1])):
        assert (at - end) @ (at * [1.0, 0.0, 1.0]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            "around: [{obstacle: block}]",
            r"model\.attachments\[0\]\.around: there is no box, cylinder, capsule, sphere or mesh 'block'.*Known: peg",
        ),
        ("around: [{obstacle: peg, part: 2}]", "there are 1 parts between rings, got part 2"),
        ("around: [{}]", "a peg needs ends_m"),
        ("around: [{middle_m: [0, 0, 1]}]", "a ball needs a radius_m > 0"),
        (
            "around: [{middle_m: [0, 0, 1], radius_m: 0.1, ends_m: [[0, 0, 1], [1, 0, 1]]}]",
            "or the middle_m",
        ),
        ("around: [{size_m: [1, 1, 1]}]", "a peg needs ends_m"),
        ("around: [{middle_m: [0, 0, 1], size_m: [1, 0, 1]}]", r"size_m\[1\]: must be > 0"),
        ("around: [{middle_m: [0, 0, 1], size_m: [1, 1, 1], radius_m: 0.1}]", "size_m makes a box"),
        (
            "around: [{middle_m: [0, 0, 1], corners_m: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]}]",
            r"around\[0\]: polyhedron: needs at least 4 finite points that are not in one plane",
        ),
        (
            "around: [{corners_m: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], ends_m: [[0, 0, 1], [1, 0, 1]]}]",
            "corners_m makes a hull",
        ),
        (
            "around: [{obstacle: hollow}]",
            r"hollow is not convex: triangle \d is 0\.\d+ m inside its hull",
        ),
        (
            "around: [{obstacle: open}]",
            r"open is not closed: its triangles cover 63\.\d% of its hull",
        ),
        (
            "around: [{middle_m: [0, 0, 1], radius_m: 0.1, rpy_deg: [0, 9, 0]}]",
            "rpy_deg turns a box or hull",
        ),
        ("around: [{obstacle: flat}]", r"flat: polyhedron: needs at least 4 finite points"),
        ("around: [{obstacle: peg, entity: bob}]", "obstacles stand in the world"),
        ("through: [{entity: world, radius_m: 0.1}]", "a pulley has radius_m > 0 and turn"),
        ("through: [{entity: world, radius_m: 0.1, turn: left}]", "turn: must be one of ccw, cw"),
        ("around: [{obstacle: peg}], mass_kg_per_m: 0.1", "around no pegs"),
    ],
)
def test_pegs_are_checked(keys, message):
    with pytest.raises(ConfigError, match=message):
        scenario_from_text(SCENE.format(keys=keys))
