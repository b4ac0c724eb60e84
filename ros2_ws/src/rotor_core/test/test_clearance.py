"""Distances of convex solids: closed forms, symmetry, and MuJoCo's as a second algorithm."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation, Slerp

from rotor_core.clearance.clearances import BISECTIONS, Clearances
from rotor_core.clearance.gjk import hull_distance
from rotor_core.clearance.look import find_meeting
from rotor_core.clearance.rays import Rays
from rotor_core.clearance.solids import WORLD, obstacle_solids, rigid
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.mission import AttachStep, Mission
from rotor_core.config.obstacles.obstacle import CapsuleObstacle, CylinderObstacle, Obstacle
from rotor_core.math.polyhedron import CORNERS
from rotor_core.state import State, V

number = st.floats(-3.0, 3.0)
vector = st.tuples(number, number, number).map(np.array)
seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=300, deadline=None)
@given(vector, vector, st.tuples(*[st.floats(0.1, 2.0)] * 3).map(np.array))
def test_a_point_is_as_far_from_a_box_as_clamping_says(point, angles, half):
    R = Rotation.from_rotvec(angles).as_matrix()
    found, nearest = hull_distance(point[None], (half * CORNERS) @ R.T)
    inside = np.clip(R.T @ point, -half, half)
    assert found == pytest.approx(np.linalg.norm(point - R @ inside), abs=1e-11)
    if found > 1e-6:  # unique: its error is the root of that of the distance
        assert np.allclose(nearest, [point, R @ inside], atol=1e-5)


@settings(max_examples=300, deadline=None)
@given(vector, vector, st.floats(0.1, 2.0), st.floats(0.1, 2.0))
def test_a_point_is_as_far_from_a_cylinder_as_its_section_says(point, angles, radius, half):
    R = Rotation.from_rotvec(angles).as_matrix()
    axis = R[:, 2]
    found, _ = hull_distance(
        point[None], np.array([-half * axis, half * axis]), axis_b=tuple(axis), disc_b=radius
    )
    along = point @ axis
    across = np.linalg.norm(point - along * axis)
    exact = np.hypot(max(across - radius, 0.0), max(abs(along) - half, 0.0))
    assert found == pytest.approx(exact, abs=1e-10)


def foremost(points, axis, disc, along):
    """Point of a solid that is farthest along a direction."""
    point = points[np.argmax(points @ along)]
    across = along - (along @ axis) * axis
    length = np.linalg.norm(across)
    is_beside = disc > 0.0 and length > 1e-9 * np.linalg.norm(along)
    return point + disc / length * across if is_beside else point


BOX, LINE = np.array([0.2, 0.15, 0.01]) * CORNERS, np.array([[0.0, 0.0, -0.2], [0.0, 0.0, 0.2]])


@pytest.mark.parametrize("apart", [1e-2, 1e-3])
@pytest.mark.parametrize(("points", "disc"), [(BOX, 0.0), (LINE, 0.1)], ids=["plate", "cylinder"])
def test_the_direction_between_rims_is_known_to_rounding(points, disc, apart):
    """A bound from below, by planes: what the nearest points miss of the square of the distance.

    Corners on a rim are slim triangles. Their nearest points were off by 3 % of a distance of 0.3 mm, and the direction
    by 0.2 rad: forces of contact made energy.
    """
    for seed in range(40):
        R, S = Rotation.random(2, random_state=seed).as_matrix()
        a, b, axes = points @ R.T, LINE @ S.T, (R[:, 2], S[:, 2])
        keys = {"axis_a": tuple(axes[0]), "axis_b": tuple(axes[1]), "disc_a": disc, "disc_b": 0.1}
        way, near, far = S @ R @ np.array([0.36, 0.48, 0.8]), 0.0, 2.0
        for _ in range(60):
            middle = 0.5 * (near + far)
            is_far = hull_distance(a + middle * way, b, **keys)[0] > apart
            near, far = (near, middle) if is_far else (middle, far)
        _, (on_a, on_b) = hull_distance(a + far * way, b, **keys)
        v = on_a - on_b
        lowest = foremost(a + far * way, axes[0], disc, -v) - foremost(b, axes[1], 0.1, v)
        assert v @ v - v @ lowest < 1e-9 * (v @ v)


def lines_apart(a, b):
    """Distance of two line segments by a search over both, another algorithm."""

    def square(s):
        d = a[0] + s[0] * (a[1] - a[0]) - b[0] - s[1] * (b[1] - b[0])
        return d @ d

    starts = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5)]
    found = [minimize(square, s, bounds=[(0.0, 1.0)] * 2, tol=1e-14).fun for s in starts]
    return np.sqrt(min(found))


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_two_lines_are_as_far_apart_as_a_search_finds(seed):
    a, b = np.random.default_rng(seed).normal(size=(2, 2, 3))
    assert hull_distance(a, b)[0] == pytest.approx(lines_apart(a, b), abs=2e-6)


@settings(max_examples=200, deadline=None)
@given(seeds)
@example(seed=19649864)  # near and flat: the plane is 2.6e-11 m off, the distance 2e-17
def test_order_and_place_do_not_matter_and_no_corner_is_nearer(seed):
    random = np.random.default_rng(seed)
    a = random.normal(size=(random.integers(1, 9), 3))
    b = random.normal(size=(random.integers(1, 9), 3)) + random.normal(size=3) * 3.0
    if seed % 3 == 0:
        a, b = np.round(a), np.round(b)  # parallel faces and edges
    found, nearest = hull_distance(a, b)
    R, p = Rotation.random(random_state=seed).as_matrix(), random.normal(size=3)
    assert hull_distance(b, a)[0] == pytest.approx(found, abs=1e-11)
    assert hull_distance(a @ R.T + p, b @ R.T + p)[0] == pytest.approx(found, abs=1e-11)
    if (
        found > 1e-9
    ):  # the plane between the nearest points keeps the hulls apart: no two points are nearer
        way = (nearest[0] - nearest[1]) / found
        # nearest points are known to some 1e-13 m; what they are off by tilts the plane by that over the distance
        tilt = 1e-12 / found * np.linalg.norm(np.ptp(np.vstack([a, b]), axis=0))
        apart = (a @ way).min() - (b @ way).max()
        assert apart == pytest.approx(found, abs=1e-11 + tilt)


def test_a_line_on_the_axis_of_a_disc():
    """What is across the axis is rounding there, and says no direction."""
    random = np.random.default_rng(1)
    for _ in range(2000):
        off = 10.0 ** random.uniform(-14.0, -2.0)
        line = np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 2.5]]) + off * random.normal(size=(2, 3))
        axis = np.array([0.0, 0.0, 1.0]) + off * random.normal(size=3)
        axis /= np.linalg.norm(axis)
        low = np.array([0.0, 0.0, 2.8]) + off * random.normal(size=3)
        disc = np.array([low, low + 0.07 * axis])
        found, _ = hull_distance(line, disc, axis_b=tuple(axis), disc_b=0.775)
        assert found == pytest.approx((low - line[1]) @ axis, abs=1e-11)


def test_distances_are_those_of_mujoco():
    """Boxes, balls, capsules and cylinders, in 300 random pairs of poses; its solver stops at 1e-6 m."""
    mujoco = pytest.importorskip("mujoco")
    random = np.random.default_rng(0)
    kinds = ("box", "sphere", "capsule", "cylinder")
    worst = 0.0
    for _ in range(300):
        geoms, hulls = [], []
        for _ in range(2):
            kind, size = kinds[random.integers(4)], random.uniform(0.1, 0.8, 3)
            place, q = random.normal(size=3), Rotation.random(random_state=random.integers(2**31))
            wxyz = q.as_quat(scalar_first=True)
            geoms.append(
                f'<body pos="{" ".join(map(str, place))}" quat="{" ".join(map(str, wxyz))}"><freejoint/>'
                f'<geom type="{kind}" size="{" ".join(map(str, size))}"/></body>'
            )
            R = q.as_matrix()
            ends = place + np.outer([-size[1], size[1]], R[:, 2])
            hulls.append(
                {
                    "box": (place + (size * CORNERS) @ R.T, R[:, 2], 0.0, 0.0),
                    "sphere": (place[None], R[:, 2], 0.0, size[0]),
                    "capsule": (ends, R[:, 2], 0.0, size[0]),
                    "cylinder": (ends, R[:, 2], size[0], 0.0),
                }[kind]
            )
        model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option ccd_tolerance="1e-10" ccd_iterations="200"/><worldbody>{"".join(geoms)}</worldbody></mujoco>'
        )
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        theirs = mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None)
        (a, axis_a, disc_a, ball_a), (b, axis_b, disc_b, ball_b) = hulls
        ours, _ = hull_distance(
            a, b, axis_a=tuple(axis_a), axis_b=tuple(axis_b), disc_a=disc_a, disc_b=disc_b
        )
        ours -= ball_a + ball_b
        if theirs > 1e-6:
            worst = max(worst, abs(ours - theirs))
        else:
            assert ours < 1e-5
    assert worst < 2e-6


@settings(max_examples=100, deadline=None)
@given(vector, vector.filter(lambda v: np.linalg.norm(v) > 0.1))
def test_a_ray_meets_round_obstacles_where_the_roots_say(start, direction):
    along = direction / np.linalg.norm(direction)
    ball = Rays([rigid([0.3, -0.2, 0.1], WORLD, ball=0.7)])
    way = start - np.array([0.3, -0.2, 0.1])
    half, rest = way @ along, way @ way - 0.49
    found = ball.distance(start, along, 100.0)
    if rest <= 0.0:
        assert found == 0.0
    elif half < 0.0 and half**2 - rest > 1e-9:
        assert found == pytest.approx(-half - np.sqrt(half**2 - rest), abs=1e-6)
    elif half**2 - rest < -1e-9:
        assert found == np.inf


def test_round_obstacles_have_their_size():
    capsule = Obstacle("a", CapsuleObstacle("capsule", 0.2, 1.0), (0.0, 0.0, 2.0), (90.0, 0.0, 0.0))
    (solid,) = obstacle_solids(capsule)
    assert np.allclose(solid.points, [[0.0, 0.3, 2.0], [0.0, -0.3, 2.0]])
    assert solid.ball == 0.2
    peg = Obstacle("b", CylinderObstacle("cylinder", 0.1, 1.0), rpy_deg=(0.0, 90.0, 0.0))
    (solid,) = obstacle_solids(peg)
    assert np.allclose(np.abs(solid.axis), [1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="at least two radii"):
        CapsuleObstacle("capsule", 0.2, 0.3)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_bodies_meet_where_cubics_and_slerp_say(seed):
    """Two turning vehicles that fly at each other: SciPy's splines, and a bracket about the time that was found."""
    random = np.random.default_rng(seed)
    clearances = Clearances(load_scenario("six_dragonflies_box"))
    group = clearances.pairs.index(("quad1", "quad4"))
    n, step = 7, 2.02 - 2.0
    ends = np.zeros((2, n, 13))
    ends[..., :3] = 10.0 * np.arange(n)[:, None]  # nobody else is near
    speed = random.uniform(5.0, 30.0)
    for row, side in ((0, -1.0), (3, 1.0)):
        turn = Rotation.from_rotvec(random.normal(size=(2, 3)) * [[1.0], [0.1]])
        first = turn[0]
        ends[0, row, 3:7] = first.as_quat(scalar_first=True)
        ends[1, row, 3:7] = (first * turn[1]).as_quat(scalar_first=True)
        v = np.array([-side * speed, 0.0, 0.0]) + random.normal(size=3) * 0.1
        meet = np.array([side * 0.05, 0.0, 1.0])
        ends[0, row, :3], ends[1, row, :3] = meet - v * step, meet
        ends[:, row, 7:10] = v + random.normal(size=(2, 3)) * 0.3
    others = [k for k in range(n) if k not in (0, 3)]
    ends[:, others, 3] = 1.0
    taut = np.zeros(6, bool)
    apart, overlap = (clearances._nearest_of(group, x)[0] for x in ends)
    if not (apart > 1e-6 and overlap <= 0.0):
        return  # they pass, or began inside each other
    found = clearances.meeting((group, (2.0, ends[0], taut), (2.0 + step, ends[1], taut), True))
    path = CubicHermiteSpline([2.0, 2.0 + step], State(ends).position, State(ends).velocity)
    turns = [
        Slerp([2.0, 2.0 + step], Rotation.from_quat(ends[:, k, 3:7], scalar_first=True)) for k in range(n)
    ]  # fmt: skip

    def poses(t):
        q = np.array([turn(t).as_quat(scalar_first=True) for turn in turns])
        return np.hstack([path(t), q]).reshape(n, int(V))

    def distance(t):
        return clearances._nearest_of(group, poses(t))[0]

    between, points = np.empty((n, int(V))), np.zeros((2, 3))
    attitudes = [Rotation.from_quat(x[:, 3:7], scalar_first=True) for x in ends]
    rotation = (attitudes[0].inv() * attitudes[1]).as_rotvec()
    share = find_meeting(
        *ends, step, rotation, True, BISECTIONS, between, *clearances._scene(group), points
    )
    assert found.time == 2.0 + share * step
    assert np.allclose(
        between, poses(found.time), rtol=0.0, atol=1e-11
    )  # 60 m/s, and times of rounding about 2 s
    # near a touch the distance errs by up to 2e-7 m (2000 seeds): a micrometre is told from it
    closing = distance(found.time - 1e-5) / 1e-5
    assert distance(found.time) < 1e-6 < distance(found.time - 2e-6 / closing) < 1e-5
    assert np.linalg.norm(np.array(found.place) - [0.0, 0.0, 1.0]) < 1.0


ARM = """
schema: 1
model: {vehicles: [{use: kremer_v2, name: am1}]}
controller: {use: manipulator}
trajectory: {type: hover}
actuation: rotors
environment:
  obstacles: [{name: it, shape: {type: sphere, radius_m: 0.05}, position_m: [%.17g, %.17g, %.17g]}]
"""


@pytest.mark.parametrize(
    ("link", "reach", "tolerance"), [("link1", 0.3, 1e-9), ("link2", 0.6, 1e-7)]
)
def test_an_arm_meets_a_ball_at_the_angle_that_trigonometry_says(link, reach, tolerance):
    """A straight arm of rods of 20 mm swings about its first joint, 0.1 m below a vehicle that stands askew.

    A rod through the joint at the angle theta is ``reach sin(phi - theta)`` from a ball at the angle phi. The second
    rod moves on an arc, of which the cubic misses 1e-8 m.
    """
    phi, rate, step = 0.7, 4.0, 0.02
    turn = Rotation.from_rotvec([0.3, -0.8, 2.0])
    ball = turn.apply([reach * np.cos(phi), 0.0, -0.1 - reach * np.sin(phi)])
    clearances = Clearances(scenario_from_text(ARM % tuple(ball)))
    meets = phi - np.arcsin(0.07 / reach)
    first = meets - 0.3 * rate * step
    states = np.zeros((2, 1, 13))
    states[:, 0, 3:7] = turn.as_quat(scalar_first=True)
    joints = np.zeros((2, 2, 2))
    joints[:, 0, 0], joints[:, 0, 1] = [first, first + rate * step], rate
    taut = np.zeros((2, 0), bool)
    (meeting,) = clearances.see(np.array([0.0, step]), states, taut, joints)
    assert meeting.names == (f"am1/{link}", "it") and meeting.begins
    assert meeting.time == pytest.approx(0.3 * step, abs=tolerance)
    foot = turn.apply(
        [reach * np.cos(phi - meets) * np.cos(meets), 0.0, -0.1 - reach * np.cos(phi - meets) * np.sin(meets)]
    )  # fmt: skip
    on_rod = foot + 0.02 * (ball - foot) / np.linalg.norm(ball - foot)
    assert np.allclose(meeting.place, 0.5 * (on_rod + ball), atol=1e-6)
    (margin,) = [m for m in clearances.margins if m.names == meeting.names]
    deeper = reach * np.sin(phi - first - rate * step) - 0.07
    assert margin.distance == pytest.approx(deeper, abs=1e-12)
    assert ("am1", f"am1/{link}") in clearances.pairs  # its own rotors


def test_arms_are_looked_at_against_what_they_are_not_there_to_touch():
    """Cables and payloads that hang from others, not what an arm takes, nor its own links."""
    pairs = set(Clearances(load_scenario("pick_and_place")).pairs)
    assert ("cable1", "am1/link2") in pairs and ("am1", "am1/link2") in pairs
    assert not {("parcel", "am1/link2"), ("am1/link1", "am1/link2")} & pairs
    # whoever asks for it over ROS takes what hangs from the world, too
    asked_for = Clearances(replace(load_scenario("pick_and_place"), changes=()))
    assert ("parcel", "am1/link2") not in asked_for.pairs
    scenario = load_scenario("arm_slung_load")
    mission = Mission((AttachStep("attach", "load", "am1/link2"),))
    assert ("load", "am1/link1") not in Clearances(replace(scenario, mission=mission)).pairs
    slung = Clearances(scenario)
    assert ("load", "am1/link1") in slung.pairs and ("cable1", "am1") in slung.tied
    assert ("cable1", "am1/link2") not in slung.pairs


def test_arms_are_looked_at_against_what_others_carry_and_not_against_their_own_pegs():
    scenario = scenario_from_text("""
schema: 1
model:
  vehicles: [{use: dragonfly, name: quad1}, {use: kremer_v2, name: am1}]
  payloads: [{name: box, mass_kg: 0.1, inertia_kg_m2: [1e-4, 1e-4, 1e-4]}, {name: load, mass_kg: 0.05}]
  attachments:
    - {type: rigid_link, parent: quad1, child: box, position_m: [0, 0, -0.1]}
    - {type: cable, a: world, b: load, a_point_m: [0, 3, 3], length_m: 2.0, around: [{entity: am1/link2, ends_m: [[0, 0, 0], [0.44, 0, 0]], radius_m: 0.03}]}
controller: {type: open_loop, commands: [{vehicle: quad1, speeds_rpm: [0, 0, 0, 0]}, {vehicle: am1, speeds_rpm: [0, 0, 0, 0]}]}
actuation: rotors
initial: [{entity: quad1, position_m: [5, 0, 2]}, {entity: am1, position_m: [0, 0, 2]}, {entity: load, position_m: [0, 3, 1.2]}]
""")
    pairs = Clearances(scenario).pairs
    assert ("box", "am1/link1") in pairs and ("quad1", "am1/link1") in pairs
    assert ("load", "am1/link2") not in pairs  # no vehicle carries it
    assert ("cable1", "am1/link1") in pairs and ("cable1", "am1/link2") not in pairs
