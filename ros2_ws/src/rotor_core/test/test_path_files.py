"""Waypoints from tables: every way people write them, and every way they can be wrong."""

import pytest

from rotor_core.config.loader import dump_scenario, load_scenario, scenario_from_tree
from rotor_core.config.yaml.tree import read_tree
from rotor_core.errors import ConfigError

SCENARIO = """schema: 1
model: {{vehicles: [{{use: dragonfly}}]}}
controller: {{type: quadrotor}}
trajectory: {{type: waypoints, waypoints_file: {name}}}
"""


def load(folder, text, name="path.csv", encoding="utf-8"):
    (folder / "path.csv").write_text(text, encoding=encoding)
    (folder / "s.yaml").write_text(SCENARIO.format(name=name))
    return load_scenario(str(folder / "s.yaml"))


@pytest.mark.parametrize(
    "text",
    [
        "0.5,-0.5,0.25\n1,0,0.5\n",
        "x, y, z\n0.5, -0.5, 0.25\n\n1, 0, 0.5\n",
        "# slalom\n0.5 -0.5 0.25\n1 0 0.5   # the end\n",
        "0.5;-0.5;0.25\r\n1;0;0.5",
    ],
)
def test_tables(tmp_path, text):
    scenario = load(tmp_path, text)
    assert scenario.trajectory.waypoints_m == ((0.5, -0.5, 0.25), (1.0, 0.0, 0.5))
    # the resolved scenario needs the file no longer
    (tmp_path / "out.yaml").write_text(dump_scenario(scenario))
    again = scenario_from_tree(read_tree(tmp_path / "out.yaml"))
    assert again.trajectory == scenario.trajectory


@pytest.mark.parametrize(
    "text, words",
    [
        ("0.5,-0.5,0.25\n1,0\n", r"path\.csv:2: needs three numbers x, y, z in m, got 2"),
        ("0.5,-0.5,0.25\n1,zero,0\n", r"path\.csv:2: '1,zero,0' is not three numbers"),
        ("# nothing\n", r"holds no point"),
        ("nan,0,0\n", r"path\.csv:1|finite"),
        ("x,y,z\na,b,c\n", r"path\.csv:2: 'a,b,c' is not three numbers"),
        ("z,y,x\n1,0,0\n", r"path\.csv:1: 'z,y,x' is not three numbers"),
    ],
)
def test_wrong_tables_say_where(tmp_path, text, words):
    with pytest.raises(ConfigError, match=words):
        load(tmp_path, text)


def test_missing_and_unreadable_files(tmp_path):
    with pytest.raises(
        ConfigError, match=r"s\.yaml:4: waypoints_file: there is no file 'other\.csv'"
    ):
        load(tmp_path, "1,2,3\n", name="other.csv")
    (tmp_path / "path.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "s.yaml").write_text(SCENARIO.format(name="path.csv"))
    with pytest.raises(ConfigError, match="cannot be read as text"):
        load_scenario(str(tmp_path / "s.yaml"))
    (tmp_path / "s.yaml").write_text(SCENARIO.format(name="path.csv, waypoints_m: [[0, 0, 1]]"))
    with pytest.raises(ConfigError, match="waypoints_m or waypoints_file, not both"):
        load_scenario(str(tmp_path / "s.yaml"))
