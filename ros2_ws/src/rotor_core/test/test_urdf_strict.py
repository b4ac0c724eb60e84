"""A bad URDF, or bad keys beside it, must not be ignored, hang, or end in a traceback."""

import re

import pytest
from urdf_files import GOOD, MOVE, REACH, arms, explained, load, scenario

from rotor_core.errors import ConfigError, ContractError

__all__ = ["load"]  # a fixture


@pytest.mark.parametrize("encoding", ["foo", "utf-7", "hex", "shift_jis"])
def test_unknown_encodings(encoding, load):
    text = explained(load, f'<?xml version="1.0" encoding="{encoding}"?>' + GOOD)
    assert re.search(r"urdf:1: ", text)


@pytest.mark.parametrize("name", ['"~nouser/x"', f'"{"x" * 300}"', "[a]", "5", "null"])
def test_names_that_are_no_files(name, load):
    assert re.search(r"yaml:2: urdf: ", explained(load, GOOD, f"urdf: {name}"))


def test_a_file_of_thousands_of_links_is_refused_at_once(load):
    links = "".join(
        f'<link name="a{i}"/><joint name="j{i}" type="fixed"><parent link="{f"a{i - 1}" if i else "body"}"/>'
        f'<child link="a{i}"/></joint>'
        for i in reversed(range(9000))
    )
    text = explained(load, GOOD.replace("</robot>", links + "</robot>"))
    assert "at most 200" in text


@pytest.mark.parametrize(
    "old, new, line",
    [
        ("</robot>", '<link name="arm"/></robot>', 29),
        ('xyz="0 0 -0.1"', 'xzy="0 0 -0.1"', 22),
        ('xyz="0 0 -0.1"', 'xyz="0 0 0" quat_xyzw="0 0 1 0"', 22),
        ('effort="5"', 'effort="5" speed="1"', None),
        ("<axis", "junk<axis", None),
        ('effort="5"', 'effort="-5"', None),
        ('velocity="2"', 'velocity="-2"', None),
        ('velocity="2"', 'velocity="2_0"', None),
        ('xyz="0 2 0"', 'xyz="0 1e200 0"', None),
        ("</robot>", '<material name="m"><color rgba="red"/></material></robot>', 29),
    ],
)
def test_nothing_is_ignored(old, new, line, load):
    assert old in GOOD
    text = explained(load, GOOD.replace(old, new))
    assert re.search(rf"urdf:{line or r'2[0-9]'}: ", text), text


@pytest.mark.parametrize(
    "more, what",
    [
        ("joints: [{name: hinge, lag_s: 0.1}, {name: hinge, damping_n_m_s: 3}]", r"joints\[1\]\.name: 'hinge' appears twice"),
        ("joints: [{lag_s: 0.1}]", r"joints\[0\]\.name: must be the name of a joint"),
        ("joints: [{name: [a]}]", r"joints\[0\]\.name: must be the name of a joint"),
    ],
)  # fmt: skip
def test_what_stands_beside_it_names_its_joints(more, what, load):
    text = explained(load, GOOD, more)
    assert re.search(what, text) and "Tree(" not in text


def test_units_of_moves_fit_the_joint():
    with pytest.raises(ConfigError, match="joint1' is revolute; give to_deg"):
        scenario(arms(MOVE.replace("to_deg: 60", "to_m: 0.5")))


def test_a_reach_during_a_move_is_explained():
    plans = pytest.importorskip("rotor_planning.arms.plans")
    with pytest.raises(
        ContractError, match="arm of 'am1': moves of joint1: must follow each other"
    ):
        plans.make_arm_plans(scenario(arms(MOVE.replace("1, to", "2, to"), REACH)))


@pytest.mark.parametrize(
    "more, what",
    [
        ("changes: [{at_s: 1, attach: {entity: am1, to: am1/link2}}]", "'am1' cannot hold itself"),
        ("changes: [{at_s: 1, cut: 1}, {at_s: 2, cut: 1}]", "cable1 is cut twice"),
    ],
)
def test_changes_that_cannot_be(more, what):
    with pytest.raises(ConfigError, match=what):
        scenario(more)
