"""RViz ignores what it does not know, so nobody would tell us of a misspelt key: every configuration and marker is checked."""

import re
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
CONFIGS = sorted((ROOT / "rviz").glob("*.rviz"))

COMMON = {"Class", "Name", "Enabled", "Value"}
TOPIC = {"Depth", "Durability Policy", "History Policy", "Reliability Policy", "Value"}
COVARIANCE = {
    "Orientation": {"Alpha", "Color", "Color Style", "Frame", "Offset", "Scale", "Value"},
    "Position": {"Alpha", "Color", "Scale", "Value"},
    "Value": None,
}
SHAPE = (
    "Alpha, Axes Length, Axes Radius, Color, Head Length, Head Radius, Shaft Length, Shaft Radius"
)
DISPLAYS = {
    "Grid": "Alpha, Cell Size, Color, Line Style, Normal Cell Count, Offset, Plane, Plane Cell Count, Reference Frame",
    "TF": "Filter (blacklist), Filter (whitelist), Frame Timeout, Frames, Marker Scale, Show Arrows, Show Axes, "
    "Show Names, Tree, Update Interval",
    "MarkerArray": "Namespaces, Topic",
    "RobotModel": "Alpha, Collision Enabled, Description File, Description Source, Description Topic, Links, "
    "Mass Properties, TF Prefix, Update Interval, Visual Enabled",
    "Odometry": "Angle Tolerance, Position Tolerance, Keep, Shape, Covariance, Topic",
    "Path": "Alpha, Buffer Length, Color, Head Diameter, Head Length, Length, Line Style, Line Width, Offset, "
    "Pose Color, Pose Style, Radius, Shaft Diameter, Shaft Length, Topic",
    "Pose": f"{SHAPE}, Shape, Topic",
    "Wrench": "Accept NaN Values, Alpha, Arrow Width, Force Arrow Scale, Force Color, History Length, "
    "Torque Arrow Scale, Torque Color, Topic",
    "InteractiveMarkers": "Enable Transparency, Interactive Markers Namespace, Show Axes, Show Descriptions, "
    "Show Visual Aids",
}
"""Own keys of the display classes that we use (rviz_default_plugins of Jazzy)."""

WITHOUT_FILTER = ("MarkerArray",)
TOOLS = {
    "Interact": {"Hide Inactive Objects"}, "MoveCamera": set(), "Select": set(), "FocusCamera": set(),
    "Measure": {"Line color"}, "SetGoal": {"Topic"}, "PublishPoint": {"Single click", "Topic"},
}  # fmt: skip
TYPES = {
    "MarkerArray": "visualization_msgs/msg/MarkerArray", "Odometry": "nav_msgs/msg/Odometry",
    "Path": "nav_msgs/msg/Path", "Pose": "geometry_msgs/msg/PoseStamped", "Wrench": "geometry_msgs/msg/WrenchStamped",
}  # fmt: skip


def keys(text):
    return set(text.split(", "))


def load(path):
    return YAML(typ="safe").load(path.read_text())


def displays(node):
    for display in node["Displays"]:
        if display["Class"] == "rviz_common/Group":
            assert set(display) == {"Class", "Name", "Enabled", "Displays"}
            yield from displays(display)
        else:
            yield display


def check_topic(topic, filtered):
    assert set(topic) == TOPIC | ({"Filter size"} if filtered else set())
    assert topic["Durability Policy"] in ("Volatile", "Transient Local", "System Default")
    assert topic["History Policy"] in ("Keep Last", "Keep All", "System Default")
    assert topic["Reliability Policy"] in ("Reliable", "Best Effort", "System Default")
    assert topic["Value"].startswith("/") and topic["Depth"] >= 1


def colours(node):
    if isinstance(node, dict):
        for key, value in node.items():
            if "Color" in key and key != "Color Style":
                yield value
            else:
                yield from colours(value)
    elif isinstance(node, list):
        for item in node:
            yield from colours(item)


def test_there_is_one_configuration_per_use():
    assert [p.stem for p in CONFIGS] == ["overview", "tuning", "wide"]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_structure(path):
    config = load(path)
    assert set(config) == {"Panels", "Visualization Manager", "Window Geometry"}
    manager = config["Visualization Manager"]
    assert set(manager) == {
        "Class", "Displays", "Enabled", "Global Options", "Name", "Tools", "Transformation", "Value", "Views",
    }  # fmt: skip
    assert manager["Class"] == "" and manager["Name"] == "root" and manager["Value"] is True
    assert set(manager["Global Options"]) == {"Background Color", "Fixed Frame", "Frame Rate"}
    assert manager["Global Options"]["Fixed Frame"] == "world"
    assert manager["Transformation"] == {"Current": {"Class": "rviz_default_plugins/TF"}}
    view = manager["Views"]["Current"]
    assert view["Class"] == "rviz_default_plugins/Orbit"
    assert view["Target Frame"] in ("<Fixed Frame>", "payload/base_link")
    window = config["Window Geometry"]
    panels = {p["Name"] for p in config["Panels"]}
    for panel in config["Panels"]:
        assert panel["Class"] == f"rviz_common/{panel['Name']}"
        assert window[panel["Name"]].keys() == {"collapsed"}
    fixed = {"Height", "Width", "X", "Y", "Hide Left Dock", "Hide Right Dock", "QMainWindow State"}
    assert set(window) == fixed | panels
    assert re.fullmatch(
        r"000000ff[0-9a-f]+", window["QMainWindow State"]
    )  # without it docks cover the view
    for value in colours(config):
        assert (
            re.fullmatch(r"\d{1,3}; \d{1,3}; \d{1,3}", value)
            and max(map(int, value.split("; "))) < 256
        )


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_displays_and_tools(path):
    manager = load(path)["Visualization Manager"]
    names = []
    for display in displays(manager):
        kind = display["Class"].removeprefix("rviz_default_plugins/")
        names.append(display["Name"])
        assert set(display) == COMMON | keys(DISPLAYS[kind]), kind
        assert display["Enabled"] == display["Value"]
        if "Topic" in display:
            check_topic(display["Topic"], kind not in WITHOUT_FILTER)
        if kind == "Odometry":
            assert set(display["Covariance"]) == set(COVARIANCE)
            assert set(display["Covariance"]["Orientation"]) == COVARIANCE["Orientation"]
            assert set(display["Covariance"]["Position"]) == COVARIANCE["Position"]
            assert set(display["Shape"]) == keys(SHAPE) | {"Value"}
        if kind == "Grid":
            assert set(display["Line Style"]) == {"Line Width", "Value"}
    assert len(set(names)) == len(names)
    for tool in manager["Tools"]:
        kind = tool["Class"].removeprefix("rviz_default_plugins/")
        assert set(tool) == {"Class"} | TOOLS[kind]
        if "Topic" in tool:
            check_topic(tool["Topic"], filtered=False)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_every_topic_is_published_as_it_is_asked_for(path):
    """Name and type, and a durability and reliability that match: RViz says nothing where they do not.

    By a team with a payload; what is bound to a helicopter and its load, by those.
    """
    from rotor_core.config.loader import load_scenario
    from rotor_recordings.formats.topics import recorded_topics

    names = "slalom", "helicopter_hover", "helicopter_slung_load"
    published = {f"/{t.name}": t for name in names for t in recorded_topics(load_scenario(name))}
    for display in displays(load(path)["Visualization Manager"]):
        if "Topic" not in display:
            continue
        topic = display["Topic"]
        offered = published[topic["Value"]]
        assert offered.type == TYPES[display["Class"].removeprefix("rviz_default_plugins/")]
        assert topic["Durability Policy"] == ("Transient Local" if offered.latched else "Volatile")
        assert topic["Reliability Policy"] == ("Best Effort" if offered.best_effort else "Reliable")


# --- markers -------------------------------------------------------------------------------------


class Recorded:
    """Stands for the entities of a node: keeps what is published, by topic."""

    def __init__(self):
        self.sent = {}

    def publisher(self, kind, topic, profile):
        out = self.sent.setdefault(topic, [])

        class Publisher:
            @staticmethod
            def publish(message):
                out.append(message)

            @staticmethod
            def get_subscription_count():
                return 1

        return Publisher


def check_marker(m):
    """The rules of section 5.2 of the ecosystem page, and what RViz itself checks."""
    from visualization_msgs.msg import Marker

    if m.action == Marker.DELETE:
        return
    assert m.action == Marker.ADD and m.type != 12
    q = m.pose.orientation
    assert q.x**2 + q.y**2 + q.z**2 + q.w**2 == pytest.approx(1.0, abs=1e-6)
    assert m.color.a > 0.0 or m.colors
    used = {
        Marker.LINE_LIST: "x",
        Marker.LINE_STRIP: "x",
        Marker.TEXT_VIEW_FACING: "z",
        Marker.ARROW: "xy",
    }
    assert all(getattr(m.scale, axis) > 0.0 for axis in used.get(m.type, "xyz"))
    assert m.lifetime.sec == m.lifetime.nanosec == 0
    if m.type in (Marker.LINE_LIST, Marker.TRIANGLE_LIST):
        assert len(m.points) % (2 if m.type == Marker.LINE_LIST else 3) == 0 and m.points
    if m.colors:
        assert len(m.colors) == len(m.points)
    if m.type == Marker.ARROW:
        a, b = ((p.x, p.y, p.z) for p in m.points)
        assert np.linalg.norm(np.subtract(a, b)) > 0.0
    numbers = [getattr(p, c) for p in m.points for c in "xyz"] + [m.pose.position.z]
    assert np.isfinite(numbers).all()
    assert m.type != Marker.TEXT_VIEW_FACING or m.text


@pytest.mark.parametrize(
    "name", ["collision_triangular", "six_dragonflies_box", "hover", "two_dragonflies_bar_rigid"]
)
def test_marker_rules_over_a_run(name):
    pytest.importorskip("rclpy", reason="needs ROS 2")
    from builtin_interfaces.msg import Time
    from visualization_msgs.msg import Marker

    from rotor_core.config.loader import load_scenario
    from rotor_sim.ros.markers.moving import MarkerPublisher
    from rotor_sim.ros.topics.scene import scene_of
    from rotor_sim.shapes.shapes import SLACK_COLOUR, TAUT_COLOUR
    from rotor_sim.simulation import Simulation

    scenario = load_scenario(name)
    simulation, entities = Simulation(scenario), Recorded()
    publisher = MarkerPublisher(entities, scenario)
    (static,) = entities.sent["rotor/markers_static"]
    mass = sum(e.mass_kg for e in scenario.model.entities)
    wrench = np.zeros((simulation.n_vehicles, 4))
    wrench[:, 0] = 9.81 * mass / simulation.n_vehicles
    lengths = [c.length_m for c in scenario.model.cables]
    for i in range(60):
        if i == 20:
            simulation.push(simulation.names[-1], np.array([0.2, 0.0, 0.1]), np.zeros(3))
        if i == 40:
            simulation.push(simulation.names[-1], np.zeros(3), np.zeros(3))
        if i == 50 and lengths:
            simulation.engine.cut(0)
        simulation.step(wrench)
        publisher.publish(Time(sec=i), scene_of(simulation))
        array = entities.sent["rotor/markers"][-1]
        keys = [(m.ns, m.id) for m in array.markers]
        assert len(set(keys)) == len(keys)
        for m in array.markers:
            check_marker(m)
            assert m.header.frame_id == "world" or m.action == Marker.DELETE
        pushed = [m.action for m in array.markers if m.ns == "wrench"]
        assert pushed == ([Marker.ADD] if 20 <= i < 40 else [Marker.DELETE] if i == 40 else [])
        lines = [m for m in array.markers if m.ns == "cable"]
        assert len(lines) == bool(lengths)
        for line in lines:
            drawn = np.array([[p.x, p.y, p.z] for p in line.points]).reshape(-1, 2, 3)
            tints = [(c.r, c.g, c.b) for c in line.colors[::2]]
            for tint in set(tints):
                assert tint in (SLACK_COLOUR[:3], TAUT_COLOUR[:3])
            if len(lengths) == 1:
                # a slack cable is drawn about as long as it is: a parabola of nine points
                total = np.linalg.norm(drawn[:, 1] - drawn[:, 0], axis=1).sum()
                assert total == pytest.approx(lengths[0], rel=0.02)
    keys = [(m.ns, m.id) for m in static.markers]
    assert len(set(keys)) == len(keys)
    bodies = {m.ns for m in static.markers} - {"name"}
    assert bodies == set(simulation.names)
    for m in static.markers:
        check_marker(m)
        # geometry stands in the frames of bodies once; only TF moves it
        assert m.frame_locked and m.header.frame_id.removesuffix("/base_link") in simulation.names
        assert m.header.stamp == Time()
    publisher.clear()
    assert [m.action for m in entities.sent["rotor/markers"][-1].markers] == [Marker.DELETEALL]


def test_slack_cables_sag_by_about_their_length():
    from rotor_sim.shapes.cable_ways import cable_points

    for distance in (0.2, 0.5, 0.9, 0.99):
        line = cable_points(np.array([[0.0, 0.0, 0.0], [distance, 0.0, 0.0]]), 1.0)
        total = np.linalg.norm(np.diff(line, axis=0), axis=1).sum()
        # the sag comes from the arc length of a flat parabola: good where a cable is nearly taut
        assert total == pytest.approx(1.0, rel=0.01 if distance > 0.85 else 0.25)
        assert line[:, 2].min() < 0.0
    for chord in (
        [0.6, 0.0, 0.6],
        [0.1, 0.0, 0.85],
        [0.0, 0.0, -0.9],
    ):  # those that hang nearly upright were straight
        line = cable_points(np.array([[0.0, 0.0, 0.0], chord]), 1.0)
        total = np.linalg.norm(np.diff(line, axis=0), axis=1).sum()
        assert total == pytest.approx(1.0, rel=0.04)
    assert len(cable_points(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), 1.0)) == 2


def test_plates_look_outwards():
    """Faces wound the wrong way are dark: the enclosed volume, by the divergence theorem, is that of the plate."""
    from rotor_core.config.loader import load_scenario
    from rotor_sim.ros.markers.bodies import shape_marker
    from rotor_sim.shapes.shapes import payload_shapes

    payload = load_scenario("slalom").model.payloads[0]
    plate = shape_marker(payload_shapes(payload)[0], 0)
    corners = np.array([[p.x, p.y, p.z] for p in plate.points]).reshape(-1, 3, 3)
    volume = (
        np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6.0
    )
    x, y = np.array(payload.shape.outline_m).T
    area = 0.5 * abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))
    assert volume == pytest.approx(area * payload.shape.thickness_m, rel=1e-9)


# --- drawn by RViz itself --------------------------------------------------------------------------


def test_rviz_draws_the_overview(tmp_path):
    """Debian's RViz (ROS 1) under Xvfb: colours of every kind of marker are in the picture. Optional: see docs/rviz.md."""
    import sys

    pytest.importorskip("rclpy", reason="needs ROS 2")
    sys.path.insert(0, str(ROOT / "tools" / "rviz_check"))
    import draw

    if not draw.is_available():
        pytest.skip("RViz of Debian is not installed (tools/rviz_check/install.sh)")
    import graph
    from matplotlib.image import imread

    with graph.bench(tmp_path) as bench:
        bench.start(
            "simulator", scenario="collision_triangular", duration_s=1.0, wait_for_recorder=True
        )
        bench.start("recorder", scenario="collision_triangular", bag=str(tmp_path / "bag"))
        bench.start("planner", scenario="collision_triangular")
        bench.start("controller", scenario="collision_triangular")
        bench.until(lambda: not bench.group.children["simulator"].running, "end of the run", 60.0)
    picture = tmp_path / "picture.png"
    log = draw.draw(tmp_path / "bag", ROOT / "rviz" / "overview.rviz", picture, at=0.09)
    assert "failed to load" not in log
    pixels = imread(picture)[120:700, 380:1380, :3].reshape(-1, 3)
    for what, tint in (
        ("slack cable", (0.95, 0.55, 0.10)),
        ("taut cable", (0.05, 0.05, 0.07)),
        ("thrust", (0.14, 0.55, 0.32)),
        ("background", (0.93, 0.94, 0.95)),
    ):
        close = (np.abs(pixels - tint).max(axis=1) < 0.08).sum()
        assert close > 30, f"{what}: only {close} pixels of {tint}"
