"""URDF in, and what scenarios say of arms.

Every field arrives; every mistake is answered with file, line, value and remedy; fuzz never breaks it.
"""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from urdf_files import GOOD, MORE, MOVE, REACH, SCENARIO, arms, explained, load, scenario

from rotor_core.config.loader import dump_scenario, scenario_from_tree
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError, ContractError
from rotor_core.vehicles.articulated import ArticulatedVehicle

__all__ = ["load"]  # a fixture


def test_every_field_arrives(load):
    vehicle = load(GOOD)
    (arm,), (hinge,) = vehicle.links, vehicle.joints
    assert (vehicle.mass_kg, vehicle.com_m, vehicle.urdf) == (2.0, (0.0, 0.0, 0.0), "test.urdf")
    assert (arm.name, arm.mass_kg, arm.com_m) == ("arm", 0.5, (0.0, 0.0, 0.2))
    assert (hinge.name, hinge.type, hinge.parent, hinge.child) == (
        "hinge", "revolute", "base_link", "arm"
    )  # fmt: skip
    assert hinge.position_m == (0.0, 0.0, -0.1)
    assert hinge.rpy_deg == (0.0, 0.0, pytest.approx(57.29577951308232, rel=1e-15))
    assert (hinge.axis, hinge.limits) == ((0.0, 2.0, 0.0), (-1.0, 1.5))
    assert (hinge.effort, hinge.rate, hinge.damping, hinge.friction) == (5.0, 2.0, 0.1, 0.2)


def test_defaults_are_those_of_urdf(load):
    text = GOOD.replace('    <axis xyz="0 2 0"/>\n', "").replace("revolute", "continuous")
    text = text.replace('    <origin xyz="0 0 -0.1" rpy="0 0 1"/>\n', "")
    text = text.replace('    <limit lower="-1" upper="1.5" effort="5" velocity="2"/>\n', "")
    (joint,) = load(text).joints
    assert (joint.axis, joint.position_m, joint.rpy_deg) == ((1, 0, 0), (0, 0, 0), (0, 0, 0))
    assert (joint.type, joint.limits, joint.effort, joint.rate) == ("revolute", None, None, None)
    (joint,) = load(GOOD.replace('upper="1.5" ', 'upper="0" ')).joints
    assert joint.limits == (-1.0, 0.0)
    (joint,) = load(GOOD.replace('lower="-1" ', "")).joints
    assert joint.limits == (0.0, 1.5)
    (joint,) = load(GOOD.replace("revolute", "fixed")).joints
    assert joint.type == "fixed"
    assert load(GOOD.replace('"body"', '"base_link"')) == load(GOOD)


SHAPES = [
    ('<box size="0.1 0.2 0.3"/>', "box", (0.1, 0.2, 0.3), ""),
    ('<cylinder radius="0.1" length="0.4"/>', "cylinder", (0.1, 0.4), ""),
    ('<sphere radius="0.2"/>', "sphere", (0.2,), ""),
    ('<mesh filename="package://a/b &amp; c.stl"/>', "mesh", (1.0, 1.0, 1.0), "package://a/b & c.stl"),
    ('<mesh filename="a.dae" scale="0.1 1 2"/>', "mesh", (0.1, 1.0, 2.0), "a.dae"),
]  # fmt: skip


@pytest.mark.parametrize("tag, kind, size, mesh", SHAPES)
def test_shapes(tag, kind, size, mesh, load):
    (shape,) = load(GOOD.replace('<box size="0.1 0.2 0.3"/>', tag)).links[0].visuals
    assert (shape.type, shape.size_m, shape.mesh) == (kind, size, mesh)
    assert shape.position_m == (0.0, 0.0, 0.3)


def test_encodings_and_comments(load):
    vehicle = load(GOOD)
    for data in (
        b"\xef\xbb\xbf" + GOOD.encode(), GOOD.encode("utf-16"), GOOD.replace("\n", "\r\n"),
        '<?xml version="1.0" encoding="ISO-8859-1"?>' + GOOD,
        GOOD.replace("<link", "<!-- <gazebo/> é --><link"),
    ):  # fmt: skip
        assert load(data) == vehicle


# ---------------------------------------------------------------------------------------- mistakes


HINGE = '  <joint name="hinge"'
MISTAKES = [
    # tags beyond the subset, each in its place
    ("<robot name", "<sdf/><robot name", r"urdf:1: is not XML \(junk after document element\)"),
    (GOOD, "<sdf/>", r"urdf:1: <sdf>: the file must hold a <robot>"),
    (MORE, "<gazebo/></robot>", r"urdf:29: <gazebo>: is not supported in <robot>\. Supported there: joint, link, material\. Remove it"),
    (MORE, '<transmission name="t"/></robot>', r"urdf:29: <transmission>: is not supported in <robot>"),
    (MORE, '<xacro:include filename="a"/></robot>', r"urdf:29: <xacro:include>: is not supported in <robot>"),
    ("<axis", '<mimic joint="a"/><axis', r"urdf:25: <mimic>: is not supported in <joint>\. Supported there: axis, child"),
    ("<limit", "<origin><limit/></origin><limit", r"urdf:26: <limit>: is not supported in <origin>"),
    ('<box size="0.1 0.2 0.3"/>', '<capsule radius="1"/>', r"urdf:16: <capsule>: is not supported in <geometry>\. Supported there: box, cylinder, mesh, sphere"),
    ("<color", "<shader/><color", r"urdf:17: <shader>: is not supported in <material>"),
    ('type="revolute"', 'type="floating"', r"urdf:21: <joint>: type 'floating' is not supported; use revolute"),
    # no document types, entities, depth
    ("<robot name", "<!DOCTYPE robot><robot name", r"urdf:1: a document type declaration is not allowed\. Remove it"),
    ("<robot name", '<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot name', r"urdf:1: a document type declaration is not allowed"),
    ('name="test"', 'name="&boom;"', r"urdf:1: is not XML \(undefined entity\)"),
    (MORE, "<link>" * 1000 + MORE, r"urdf:29: <link>: is nested deeper than 8"),
    # no XML
    (GOOD, "", r"urdf:1: is not XML \(no element found\)\. Expand xacro files first"),
    (MORE, "", r"urdf:29: is not XML \(no element found\)"),
    ("</inertial>", "</inertia>", r"urdf:6: is not XML \(mismatched tag\)"),
    ('name="test"', 'name="&#0;"', r"urdf:1: is not XML"),
    # numbers
    ('value="2"', 'value="2kg"', r"urdf:4: <mass>: value must be 1 finite number, got '2kg'"),
    ('value="2"', 'value="nan"', r"urdf:4: <mass>: value must be 1 finite number, got 'nan'"),
    ('value="2"', 'value="1e999"', r"urdf:4: <mass>: .*got '1e999'"),
    ('value="2"', 'val="2"', r"urdf:4: <mass>: unknown attribute 'val'; did you mean"),
    ('value="2"', 'value="0"', r"urdf:2: <link>: the base needs an <inertial> with mass > 0 and inertia"),
    ('value="0.5"', 'value="-0.5"', r"urdf:8: links\[0\]\.mass_kg: must be >= 0, got -0\.5"),
    ('xyz="0 0 -0.1"', 'xyz="0 0"', r"urdf:22: <origin>: xyz must be 3 finite numbers, got '0 0'"),
    ('rpy="0 0 1"', 'rpy="0 0 ${pi}"', r"urdf:22: <origin>: rpy must be 3 finite numbers, got '0 0 \$\{pi\}'"),
    ('xyz="0 2 0"', 'xyz="0 0 0"', r"urdf:21: joints\[0\]: axis must not be zero, got \[0\.0, 0\.0, 0\.0\]"),
    ('damping="0.1"', 'damping="-0.1"', r"urdf:21: joints\[0\]\.damping_n_m_s: must be >= 0, got -0\.1"),
    ('lower="-1"', 'lower="2"', r"urdf:21: joints\[0\]: limits_rad must be \[smallest, largest\], got \[2\.0, 1\.5\]"),
    ('lower="-1"', 'lower="1"', r"urdf:21: joints\[0\]: initial_rad must be within limits_rad \[1\.0, 1\.5\], got 0"),
    ('size="0.1 0.2 0.3"', 'size="0.1 0 0.3"', r"urdf:14: links\[0\]\.visuals\[0\]\.size_m\[1\]: must be > 0, got 0"),
    # inertias that cannot be
    ('izz="0.03"', 'izz="0.5"', r"urdf:8: links\[0\]: inertia_kg_m2 belongs to no rigid body: the largest principal value 0\.5 exceeds .*0\.04"),
    ('izz="0.03"', 'izz="-0.03"', r"urdf:8: links\[0\]: inertia_kg_m2 must be positive definite; .*-0\.03"),
    ('<mass value="0.5"/>', '<mass value="0"/>', r"urdf:8: links\[0\]: inertia_kg_m2 needs mass_kg > 0"),
    (' izz="0.03"', "", r"urdf:12: <inertia>: attribute 'izz' is missing"),
    # joints and links that do not fit
    ('<child link="arm"/>', "", r"urdf:21: <joint>: needs exactly one <child>, got 0"),
    ('<parent link="body"/>', "", r"urdf:21: <joint>: needs exactly one <parent>, got 0"),
    ('<parent link="body"/>', "<parent/>", r"urdf:23: <parent>: attribute 'link' is missing"),
    ('<limit lower="-1" upper="1.5" effort="5" velocity="2"/>', "", r"urdf:21: <joint>: a revolute joint needs a <limit>"),
    (' name="hinge"', "", r"urdf:21: <joint>: attribute 'name' is missing"),
    (' type="revolute"', "", r"urdf:21: <joint>: attribute 'type' is missing"),
    ('name="hinge"', 'name="a-b"', r"urdf:21: joints\[0\]: name must start with a letter and hold only .*got 'a-b'"),
    ('<link name="arm">', '<link name="left arm">', r"urdf:21: <joint>: its child 'arm' is not a link of this file"),
    ('<link name="arm">', "<link>", r"urdf:8: <link>: attribute 'name' is missing"),
    (MORE, '<link name="more"/></robot>', r"urdf:1: <robot>: needs exactly one link that no joint moves, got 'body', 'more'"),
    ('<box size="0.1 0.2 0.3"/>', "", r"urdf:16: <geometry>: needs exactly one shape, got 0"),
    ('<box size="0.1 0.2 0.3"/>', "<mesh/>", r"urdf:16: <mesh>: attribute 'filename' is missing"),
    # joined wrongly: these stand in no single line
    ('<parent link="body"/>', '<parent link="bodi"/>', r"urdf:21: <joint>: its parent 'bodi' is not a link of this file"),
    ('<parent link="body"/>', '<parent link="arm"/>', r"urdf:21: <joint>: is part of a loop"),
    (HINGE, '<joint name="h" type="fixed"><parent link="body"/><child link="arm"/></joint>' + HINGE, r"urdf:21: <joint>: its child 'arm' is moved by another joint too"),
    (MORE, '<link name="b"/><joint name="hinge" type="fixed"><parent link="arm"/><child link="b"/></joint></robot>', r"urdf:29: <joint>: name 'hinge' appears twice"),
    (MORE, '<joint name="h" type="fixed"><parent link="arm"/><child link="body"/></joint></robot>', r"urdf:1: <robot>: needs exactly one link that no joint moves, got none"),
]  # fmt: skip


@pytest.mark.parametrize("old, new, message", MISTAKES)
def test_mistakes_are_explained(old, new, message, load):
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    found = explained(load, text)
    assert re.search(message, found), found


def test_bombs_are_refused(load):
    assert re.search(r"test\.urdf: is larger than 1000000 bytes", explained(load, " " * 1000001))
    laughs = [f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10)]
    text = '<!DOCTYPE a [<!ENTITY a0 "ha">' + "".join(laughs) + "]>" + GOOD.replace("test", "&a9;")
    assert "urdf:1: a document type declaration is not allowed" in explained(load, text)


def test_joints_of_the_yaml_lie_over_those_of_the_urdf(load):
    (joint,) = load(
        GOOD,
        "joints: [{name: hinge, lag_s: 0.1, effort_n_m: 9.0, position_per_s2: 1.0, velocity_per_s: 2.0, initial_rad: 0.5}]",
    ).joints
    assert (joint.lag_s, joint.effort, joint.gains, joint.initial) == (0.1, 9.0, (1.0, 2.0), 0.5)
    assert (joint.limits, joint.rate, joint.axis) == ((-1.0, 1.5), 2.0, (0.0, 2.0, 0.0))
    assert load(GOOD, "joints: [{name: hinge, limits_rad: null}]").joints[0].limits is None
    assert load(GOOD, "mass_kg: 7").mass_kg == 7.0


OVERRIDES = [
    ("joints: [{name: hinges, lag_s: 0.1}]", r"yaml:5: .*joints: the URDF has no joint 'hinges'; did you mean \"hinge\"\?"),
    ("joints:\n- {name: hinge}\n- {name: elbow}", r"yaml:7: .*joints: the URDF has no joint 'elbow'\. Known: hinge"),
    ("joints: [{name: hinge, lags: 0.1}]", r"yaml:5: joints\[0\]\.lags: unknown key 'lags'; did you mean \"lag_s\"\?"),
    ("joints:\n- name: hinge\n  lag_s: 3", r"yaml:7: joints\[0\]\.lag_s: must be <= 1, got 3"),
    ("joints: [{name: hinge, effort_n_m: -1}]", r"yaml:5: joints\[0\]\.effort_n_m: must be > 0, got -1"),
    ("joints: [{name: hinge, initial_rad: 3}]", r":\d+: joints\[0\]: initial_rad must be within limits_rad \[-1\.0, 1\.5\], got 3"),
    ("joints: [{name: hinge, parent: leg}]", r":\d+: .*joint 'hinge': parent must be a link \(base_link, arm\), got 'leg'"),
    ("joints: {hinge: {lag_s: 0.1}}", r"yaml:5: .*joints: must be a list"),
    ("urdf: other.urdf", r"yaml:2: urdf: there is no file 'other\.urdf'; looked beside this file"),
    ("urdf: /dev/zero", r"yaml:2: urdf: there is no file '/dev/zero'"),
]  # fmt: skip


@pytest.mark.parametrize("more, message", OVERRIDES)
def test_wrong_overrides_are_explained(more, message, load):
    found = explained(load, GOOD, more)
    assert re.search(message, found), found


PIECES = st.one_of(
    st.binary(min_size=1, max_size=4),
    st.sampled_from([b"<", b">", b"/>", b'"', b"&", b"=", b"-", b"nan", b"1", b"e9", b"\n", b"<link", b"name=", b"</joint>", b"base_link", b"fixed", b"<!DOCTYPE a>", b"&#0;", b"<![CDATA["]),
)  # fmt: skip
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["cut", "delete", "insert", "swap", "repeat"]),
        st.floats(0.0, 1.0), st.floats(0.0, 1.0), PIECES,
    ), min_size=1, max_size=4,
)  # fmt: skip


def edited(data, edits):
    for kind, a, b, piece in edits:
        i, j = int(a * len(data)), int(b * len(data))
        if kind == "cut":
            data = data[:i] if j % 4 == 0 else data[:i] + piece + data[i + len(piece) :]
        elif kind == "delete":
            data = data[:i] + data[i + 1 + j % 30 :]
        elif kind == "insert":
            data = data[:i] + piece + data[i:]
        elif kind == "swap":
            i, j = sorted((i, j))
            data = data[:i] + data[j : j + 9] + data[i + 9 : j] + data[i : i + 9] + data[j + 9 :]
        else:
            data = data[:j] + data[i : i + 80] + data[j:]
    return data


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(edits=EDITS)
def test_fuzzed_text_never_breaks_the_reader(load, edits):
    """Bytes may be lost, swapped or added: the answer is a vehicle or a ConfigError with its place."""
    try:
        load(edited(GOOD.encode(), edits))
    except ConfigError as error:
        assert re.search(r"test\.(urdf|yaml):\d+: ", str(error)), str(error)


VALUES = st.one_of(
    st.floats(-1e100, 1e100).map(repr), st.text(max_size=5),
    st.sampled_from(["nan", "-inf", "1e999", "", "0", "1 2 3", "0 0 0", "body", "arm", "base_link", "fixed", "prismatic", "é"]),
)  # fmt: skip


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_fuzzed_values_never_break_the_reader(load, data):
    """Any attribute may hold anything."""
    root = ET.fromstring(GOOD)
    elements = [e for e in root.iter() if e.attrib]
    for _ in range(data.draw(st.integers(1, 3))):
        element = data.draw(st.sampled_from(elements))
        element.set(data.draw(st.sampled_from(sorted(element.attrib))), data.draw(VALUES))
    try:
        load(ET.tostring(root, "utf-8"))
    except ConfigError as error:
        assert re.search(r"test\.(urdf|yaml):\d+: ", str(error)), str(error)


# ------------------------------------------------------------------------ what scenarios say of arms


WRONG = [
    (arms(MOVE, vehicle="am2"), r":\d+: .*arms\[0\]\.vehicle: there is no vehicle 'am2'"),
    ("arms: [{vehicle: am1}, {vehicle: am1}]", r":\d+: .*arms\[0\]\.vehicle: 'am1' appears twice"),
    (arms(MOVE.replace("joint1", "joint3")), r":\d+: .*arms\[0\]\.moves\[0\]\.joint: 'am1' has no joint 'joint3'; did you mean"),
    (arms(f"{MOVE}, {MOVE.replace('1, to', '2, to')}"), r"yaml:13: arms\[0\]: moves of joint1: must follow each other, but one begins at 2 s before 3 s"),
    (arms("", f"{REACH}, {REACH.replace('1, to', '2, to')}"), r"yaml:13: arms\[0\]: moves of reaches: must follow each other, but one begins at 2 s before 3 s"),
    (arms(MOVE.replace("to_s: 3", "to_s: 1")), r"yaml:13: arms\[0\]\.moves\[0\]: to_s must be after from_s, got 1 and 1"),
    (arms(MOVE.replace("from_s: 1", "from_s: -1")), r"yaml:13: arms\[0\]\.moves\[0\]\.from_s: must be >= 0, got -1"),
    (arms(MOVE.replace(", to_deg: 60", "")), r"yaml:13: arms\[0\]\.moves\[0\]: joint 'joint1' needs either to_deg or to_m"),
    (arms(MOVE.replace("60", ".nan")), r"yaml:13: arms\[0\]\.moves\[0\]\.to_deg: must be a finite number, got nan"),
    ("changes: [{at_s: 1, cut: 0}]", r"yaml:13: changes\[0\]\.cut: must be >= 1, got 0"),
    ("changes: [{at_s: 1, cut: 1}, {at_s: 1, cut: 2}]", r":\d+: .*changes\[1\]\.cut: must be 1\.\.1, got 2"),
    ("changes: [{at_s: 1, release: parcl}]", r":\d+: .*changes\[0\]: there is no body 'parcl'; did you mean"),
    ("changes: [{at_s: 1, attach: {entity: parcel, to: am1/link3}}]", r":\d+: .*there is no body 'am1/link3'; did you mean"),
    ("changes: [{at_s: 1, attach: {entity: am1/link1, to: parcel}}]", r":\d+: .*changes\[0\]: there is no body 'am1/link1'\. Known: am1, parcel"),
    ("changes: [{at_s: 1}]", r"yaml:13: changes\[0\]: a change is one of attach, release, cut, wind, motor or battery"),
]  # fmt: skip


@pytest.mark.parametrize("more, message", WRONG)
def test_mistakes_in_arms_and_changes_are_explained(more, message):
    with pytest.raises(ConfigError) as caught:
        scenario(more)
    assert re.search(message, str(caught.value)), str(caught.value)


@pytest.mark.parametrize("plan", [arms(MOVE), arms("", REACH)])
def test_a_plan_moves_no_driven_joint(plan):
    """It was accepted, and the joint stayed where it began."""
    driven = SCENARIO.replace("name: am1", "name: am1, joints: [{name: joint1, mode: driven}]")
    with pytest.raises(
        ConfigError, match=r"arms\[0\]\.(moves|reaches)\[0\].*joint 'joint1' is driven: it stays"
    ):
        scenario_from_tree(parse_tree(driven + plan, "test.yaml"))


IMPOSSIBLE = [
    (arms(MOVE.replace("60", "190")), r"moves\[0\]: joint 'joint1' cannot go to 3\.316, its stops are -1\.6 and 3\.2"),
    (arms(MOVE.replace("to_s: 3", "to_s: 1.02")), r"'am1': joint 'joint1' would have to move at 24\.5, but its largest rate is 10\. Give it more time"),
    (arms("", REACH.replace("0.7,", "5.7,")), r"'am1': 'link2' cannot reach \[5\.7, 0\.0, -0\.35\] in the frame of the base; the nearest it comes is 4\.\d+ m away"),
    (arms("", REACH.replace("0.7, 0", "0.7, 0.2")), r"'link2' cannot reach .* the nearest it comes is 0\.2\d* m away\. Move the base"),
    (arms("", REACH.replace("link2", "link3")), r"reaches\[0\]\.link: 'am1' has no link 'link3'; did you mean"),
]  # fmt: skip


@pytest.mark.parametrize("more, message", IMPOSSIBLE)
def test_impossible_moves_are_explained(more, message):
    """Errors that the file alone shows, and errors that only planning shows."""
    plans = pytest.importorskip("rotor_planning.arms.plans")
    with pytest.raises((ConfigError, ContractError)) as caught:
        plans.make_arm_plans(scenario(more))
    assert re.search(message, str(caught.value)), str(caught.value)


def test_good_moves_are_planned():
    plans = pytest.importorskip("rotor_planning.arms.plans")
    given_scenario = scenario(
        arms(f"{MOVE}, {MOVE.replace('1, to_s: 3', '3, to_s: 4')}", REACH.replace("1, to_s: 3", "5, to_s: 6"))
    )  # fmt: skip
    assert scenario_from_tree(parse_tree(dump_scenario(given_scenario), "dump")) == given_scenario
    (plan,) = plans.make_arm_plans(given_scenario)
    model = ArticulatedVehicle(given_scenario.model.vehicles[0])
    assert plan.sample(3.0)[0] == pytest.approx([np.radians(60.0), 0.0, 0.0], abs=1e-9)
    model.place(plan.sample(9.0)[:, 0])
    assert model.pose("link2", np.array([0.47, 0.0, 0.0]))[1] == pytest.approx(
        [0.7, 0.0, -0.35], abs=1e-5
    )
