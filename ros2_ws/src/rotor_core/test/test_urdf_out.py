"""Meaning of descriptions, read and written.

A vehicle flies as it is described, with point masses as an independent judge; a written description means the
scenario, by the readers of others.
"""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from rotor_core.config.catalog import config_directory, shipped
from rotor_core.config.loader import load_scenario, load_vehicle, scenario_from_tree
from rotor_core.config.model import Vehicle
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.config.vehicles.rotor_tree import rotor_tree
from rotor_core.config.vehicles.urdf_export import scenario_urdf
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.vehicles.articulated import ArticulatedVehicle

VEHICLE = """\
schema: 1
urdf: test.urdf
rotors: {layout: x, arm_m: 0.3, speed_rpm: [0, 9000], thrust_n_per_rpm2: 1.0e-6, torque_per_thrust_m: 0.02}
gains: {attitude_n_m: [1, 1, 1], rate_n_m_s: [1, 1, 1]}
"""


@pytest.fixture
def load(tmp_path):
    """Load a vehicle from the text of its URDF."""

    def loaded(urdf):
        (tmp_path / "test.urdf").write_text(urdf, encoding="utf-8")
        (tmp_path / "test.yaml").write_text(VEHICLE, encoding="utf-8")
        return load_vehicle(str(tmp_path / "test.yaml"))

    return loaded


# ------------------------------------------------------------------ what is described is what flies


def turn(roll, pitch, yaw):
    """Fixed axes x, y, z one after the other, as the URDF specification has it."""
    (a, b, c), (s, t, u) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    x = np.array([[1, 0, 0], [0, a, -s], [0, s, a]])
    y = np.array([[b, 0, t], [0, 1, 0], [-t, 0, b]])
    z = np.array([[c, -u, 0], [u, c, 0], [0, 0, 1]])
    return z @ y @ x


def about(axis, angle):
    """Rotation about an axis, by the exponential series."""
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    K, term, R = angle * np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]), np.eye(3), np.eye(3)
    for k in range(1, 30):
        term = term @ K / k
        R = R + term
    return R


LINKS = ["root", "pod", "upper", "slider", "camera", "hand"]
JOINTS = [
    ("mount", "fixed", "root", "pod", (0.1, -0.2, 0.05), (0.3, -0.5, 1.0), None),
    ("elbow", "revolute", "pod", "upper", (0.0, 0.1, -0.2), (-0.4, 0.2, 0.7), (1.0, 2.0, -2.0)),
    ("rail", "prismatic", "upper", "slider", (0.3, 0.0, 0.1), (0.1, 1.2, -2.0), (0.0, 0.6, 0.8)),
    ("screw", "fixed", "slider", "camera", (0.05, 0.02, 0.0), (2.0, 0.1, -0.3), None),
    ("wrist", "continuous", "camera", "hand", (0.0, 0.0, 0.2), (0.0, 0.0, 1.5), (0.0, -3.0, 0.0)),
]
MOVING = ["elbow", "rail", "wrist"]


def clouds():
    """Every link as five points with masses, in its frame."""
    rng = np.random.default_rng(7)
    return {k: (rng.uniform(-0.3, 0.3, (5, 3)), rng.uniform(0.1, 0.5, 5)) for k in LINKS}


def moments(points, masses):
    """Centre of mass, and inertia about it."""
    com = masses @ points / masses.sum()
    return com, sum(
        m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points - com, strict=True)
    )


def words(values):
    return " ".join(repr(float(v)) for v in values)


def described(joints=JOINTS):
    """The clouds as URDF, inertias along axes that are turned somehow."""
    rng = np.random.default_rng(8)
    out = []
    for name, (points, masses) in clouds().items():
        com, J = moments(points, masses)
        rpy = rng.uniform(-1.4, 1.4, 3)
        J = turn(*rpy).T @ J @ turn(*rpy)
        entries = " ".join(
            f'i{"xyz"[a]}{"xyz"[b]}="{float(J[a, b])!r}"' for a in range(3) for b in range(a, 3)
        )
        out.append(
            f'<link name="{name}"><inertial><origin xyz="{words(com)}" rpy="{words(rpy)}"/>'
            f'<mass value="{float(masses.sum())!r}"/><inertia {entries}/></inertial></link>'
        )
    for name, kind, parent, child, xyz, rpy, axis in joints:
        stops = 'lower="-3" upper="3" ' if kind in ("revolute", "prismatic") else ""
        out.append(
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{words(xyz)}" rpy="{words(rpy)}"/>'
            + (
                f'<axis xyz="{words(axis)}"/><limit {stops}effort="1" velocity="1"/>'
                if axis
                else ""
            )
            + "</joint>"
        )
    return '<robot name="clouds">' + "\n".join(out) + "</robot>"


def mass_matrix(theta):
    """Of the clouds: sum of m A^T A over all points, A from joint and base rates to velocity."""
    poses = {"root": (np.eye(3), np.zeros(3), {})}
    for name, kind, parent, child, xyz, rpy, axis in JOINTS:
        R, p, columns = poses[parent]
        R, p = R @ turn(*rpy), p + R @ np.array(xyz)
        columns = dict(columns)
        if axis:
            unit, angle = R @ np.array(axis) / np.linalg.norm(axis), theta[MOVING.index(name)]
            columns[MOVING.index(name)] = (kind == "prismatic", unit, p)
            if kind == "prismatic":
                p = p + angle * unit
            else:
                R = R @ about(axis, angle)
        poses[child] = (R, p, columns)
    M = np.zeros((9, 9))
    for name, (points, masses) in clouds().items():
        R, p, columns = poses[name]
        for mass, point in zip(masses, p + points @ R.T, strict=True):
            A = np.zeros((3, 9))
            A[:, :3], A[:, 3:6] = np.eye(3), np.cross(np.eye(3), point).T
            for i, (slides, unit, at) in columns.items():
                A[:, 6 + i] = unit if slides else np.cross(unit, point - at)
            M += mass * A.T @ A
    return M


def test_inertias_are_turned_to_the_axes_of_their_link(load):
    vehicle = load(described())
    for name, (points, masses) in clouds().items():
        part = vehicle if name == "root" else next(k for k in vehicle.links if k.name == name)
        com, J = moments(points, masses)
        assert part.mass_kg == pytest.approx(masses.sum(), rel=1e-15)
        assert np.allclose(part.com_m, com, rtol=0, atol=1e-15)
        assert np.allclose(part.inertia_kg_m2, J, rtol=0, atol=1e-15)


def test_mass_matrix_is_that_of_the_points(load):
    """Fixed joints, turned axes, every type: against point masses that know no inertia."""
    model = ArticulatedVehicle(load(described()))
    assert model.joints == MOVING
    assert model.mass == pytest.approx(sum(m.sum() for _, m in clouds().values()), rel=1e-14)
    for theta in ([0.0, 0.0, 0.0], [0.7, -0.2, 2.5], [-2.0, 0.4, -1.0]):
        model.place(np.array(theta))
        expected = mass_matrix(theta)
        assert np.max(np.abs(model.mass_matrix() - expected)) < 1e-13 * np.max(np.abs(expected))


def test_order_of_joints_does_not_matter(load):
    vehicle = load(described())
    for order in ([4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
        other = load(described([JOINTS[i] for i in order]))
        assert other.links == vehicle.links
        assert sorted(other.joints, key=str) == sorted(vehicle.joints, key=str)
        placed = {"base_link"}
        for joint in other.joints:
            assert joint.parent in placed
            placed.add(joint.child)


def pinocchio_mass_matrix(pin, path, angles):
    """Mass matrix over (base, joints in the order of ``angles``)."""
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    q, columns = pin.neutral(model), list(range(6))
    for name, angle in angles.items():
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q] = angle if joint.nq == 1 else np.cos(angle)
        if joint.nq == 2:
            q[joint.idx_q + 1] = np.sin(angle)
        columns.append(joint.idx_v)
    M = np.triu(pin.crba(model, model.createData(), q))
    return (M + np.triu(M, 1).T)[np.ix_(columns, columns)]


@pytest.mark.parametrize("name", ["kremer_v1", "kremer_v2", "kremer_v3", "clouds"])
def test_mass_matrix_against_pinocchio(name, load, tmp_path):
    pin = pytest.importorskip("pinocchio")
    path = config_directory() / "urdf" / f"{name}.urdf"
    if name == "clouds":
        path = tmp_path / "clouds.urdf"
        path.write_text(described(), encoding="utf-8")
    model = ArticulatedVehicle(load(described()) if name == "clouds" else load_vehicle(name))
    rng = np.random.default_rng(3)
    for _ in range(5):
        theta = rng.uniform(-2.5, 2.5, model.n)
        model.place(theta)
        angles = dict(zip(model.joints, theta, strict=True))
        expected = pinocchio_mass_matrix(pin, path, angles)
        assert np.max(np.abs(model.mass_matrix() - expected)) < 1e-12 * np.max(np.abs(expected))


# ---------------------------------------------------------------------------- what is written


def numbers(element, key):
    return [float(w) for w in element.get(key).split()]


def posed(element):
    """Position and attitude of an <origin>."""
    origin = element.find("origin")
    return np.array(numbers(origin, "xyz")), turn(*numbers(origin, "rpy"))


def mass_properties(link):
    """Mass, centre of mass, and inertia along the axes of a link."""
    inertial = link.find("inertial")
    com, R = posed(inertial)
    given = inertial.find("inertia")
    J = np.array([[float(given.get(f"i{min(a, b)}{max(a, b)}")) for b in "xyz"] for a in "xyz"])
    return float(inertial.find("mass").get("value")), com, R @ J @ R.T


def written(scenario, **options):
    """Links and joints by name, each name once."""
    root = ET.fromstring(scenario_urdf(scenario, **options))
    assert (root.tag, root.get("name")) == ("robot", scenario.name)
    out = []
    for tag in ("link", "joint"):
        found = {e.get("name"): e for e in root.findall(tag)}
        assert len(found) == len(root.findall(tag))
        out.append(found)
    return out


@pytest.mark.parametrize("name", shipped("scenarios"))
@pytest.mark.parametrize("bodies", [False, True])
def test_written_scenarios_are_one_tree_of_the_tf_frames(name, bodies):
    scenario = load_scenario(name)
    links, joints = written(scenario, bodies=bodies)
    frames = {f"{e.name}/base_link" for e in scenario.model.entities}
    frames |= {f"{v.name}/{k.name}" for v in scenario.model.vehicles for k in v.links}
    for vehicle in scenario.model.vehicles:
        if vehicle.helicopter is not None:
            rotor, _ = rotor_tree(vehicle.helicopter.main_rotor)
            frames |= {f"{vehicle.name}/{k.name}" for k in rotor}
    assert set(links) == {"world", *frames}
    parents = {j.find("child").get("link"): j.find("parent").get("link") for j in joints.values()}
    assert len(parents) == len(joints)
    assert set(parents) == frames
    for link in frames:
        for _ in range(len(frames)):
            if link != "world":
                link = parents[link]
        assert link == "world"
    floating = [k for k, j in joints.items() if j.get("type") == "floating"]
    assert floating == [f"{e.name}/base_link/floating" for e in scenario.model.entities]
    if bodies:
        for entity in scenario.model.entities:
            assert links[f"{entity.name}/base_link"].findall("visual")


def assert_same(part, link):
    mass, com, J = mass_properties(link)
    expected = np.zeros((3, 3))
    if part.inertia_kg_m2 is not None:
        expected = inertia_matrix(part.inertia_kg_m2)
    assert mass == part.mass_kg
    assert com.tolist() == list(getattr(part, "com_m", (0.0, 0.0, 0.0)))
    assert np.allclose(J, expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("name", shipped("scenarios"))
def test_written_scenarios_mean_the_same(name):
    """Mass, centre and inertia of every body; origin, axis and limits of every joint."""
    scenario = load_scenario(name)
    links, joints = written(scenario)
    for entity in scenario.model.entities:
        assert_same(entity, links[f"{entity.name}/base_link"])
        if not isinstance(entity, Vehicle):
            continue
        for link in entity.links:
            assert_same(link, links[f"{entity.name}/{link.name}"])
            assert len(links[f"{entity.name}/{link.name}"].findall("visual")) == len(link.visuals)
        for joint in entity.joints:
            element = joints[f"{entity.name}/{joint.name}"]
            xyz, R = posed(element)
            assert xyz.tolist() == list(joint.position_m)
            assert np.allclose(R, turn(*np.radians(joint.rpy_deg)), rtol=0, atol=1e-15)
            assert element.find("parent").get("link") == f"{entity.name}/{joint.parent}"
            assert element.find("child").get("link") == f"{entity.name}/{joint.child}"
            assert numbers(element.find("axis"), "xyz") == pytest.approx(joint.axis, rel=1e-15)
            limit = element.find("limit")
            assert (float(limit.get("effort")), float(limit.get("velocity"))) == (
                joint.effort, joint.rate
            )  # fmt: skip
            if joint.limits is None:
                assert (element.get("type"), limit.get("lower")) == ("continuous", None)
            else:
                assert element.get("type") == joint.type
                assert (float(limit.get("lower")), float(limit.get("upper"))) == joint.limits


def test_frames_are_those_of_tf():
    convert = pytest.importorskip("rotor_core.messages.convert")
    links, _ = written(load_scenario("pick_and_place"))
    names = ["am1", "am1/link1", "am1/link2", "parcel"]
    assert set(links) == {convert.WORLD_FRAME, *map(convert.frame_of, names)}


@pytest.mark.parametrize("name", ["pick_and_place", "four_dragonflies_box", "kremer_tracking"])
def test_others_can_read_it(name):
    """The parser of ROS."""
    parser = pytest.importorskip("urdf_parser_py.urdf")
    scenario = load_scenario(name)
    robot = parser.URDF.from_xml_string(scenario_urdf(scenario, bodies=True).encode())
    assert robot.get_root() == "world"
    for entity in scenario.model.entities:
        link = robot.link_map[f"{entity.name}/base_link"]
        assert link.inertial.mass == entity.mass_kg
    for vehicle in scenario.model.vehicles:
        for joint in vehicle.joints:
            found = robot.joint_map[f"{vehicle.name}/{joint.name}"]
            assert found.axis == pytest.approx(joint.axis)
            assert found.origin.xyz == pytest.approx(joint.position_m)
            assert found.limit.effort == joint.effort


ROUND = """\
schema: 1
model: {vehicles: [{use: NAME, name: am1}]}
controller: {use: manipulator}
"""


def arm_alone(scenario, vehicle):
    """The part of a written scenario that is one vehicle, with the names of its own."""
    root = ET.fromstring(scenario_urdf(scenario))
    for element in list(root):
        own = element.get("name", "").startswith(f"{vehicle}/")
        if not own or element.get("type") == "floating":
            root.remove(element)
    for element in root.iter():
        for key in ("name", "link"):
            if key in element.attrib:
                element.set(key, element.get(key, "").removeprefix(f"{vehicle}/"))
    return ET.tostring(root, encoding="unicode")


@pytest.mark.parametrize("name", ["kremer_v1", "kremer_v2", "kremer_v3", "picker", "clouds"])
def test_what_is_written_can_be_read(name, load, tmp_path):
    if name == "clouds":
        load(described())
        name = str(tmp_path / "test.yaml")
    scenario = scenario_from_tree(parse_tree(ROUND.replace("NAME", name), "test.yaml"))
    (there,) = scenario.model.vehicles
    back = load(arm_alone(scenario, "am1"))
    assert [k.name for k in back.links] == [k.name for k in there.links]
    for a, b in [(back, there), *zip(back.links, there.links, strict=True)]:
        assert (a.mass_kg, a.com_m) == (b.mass_kg, b.com_m)
        assert np.allclose(
            inertia_matrix(a.inertia_kg_m2), inertia_matrix(b.inertia_kg_m2), rtol=1e-14, atol=1e-14
        )
    for a, b in zip(back.joints, there.joints, strict=True):
        for key in ("name", "type", "parent", "child", "limits", "effort", "rate", "damping"):
            assert getattr(a, key) == getattr(b, key), key
        assert a.position_m == b.position_m
        assert np.allclose(
            turn(*np.radians(a.rpy_deg)), turn(*np.radians(b.rpy_deg)), rtol=1e-14, atol=1e-14
        )
        assert np.allclose(
            a.axis, np.array(b.axis) / np.linalg.norm(b.axis), rtol=1e-14, atol=1e-14
        )
    for a, b in zip(back.links, there.links, strict=True):
        for one, other in zip(a.visuals, b.visuals, strict=True):
            assert (one.type, one.size_m, one.position_m) == (
                other.type,
                other.size_m,
                other.position_m,
            )
    models = [ArticulatedVehicle(back), ArticulatedVehicle(there)]
    for model in models:
        model.place(np.linspace(-0.8, 0.7, model.n))
    assert np.allclose(models[0].mass_matrix(), models[1].mass_matrix(), rtol=1e-14, atol=1e-14)


def test_names_may_hold_markup():
    text = ROUND.replace("NAME", "kremer_v2") + 'name: "a<b&\\"c"\n'
    written(scenario_from_tree(parse_tree(text, "test.yaml")), bodies=True)
