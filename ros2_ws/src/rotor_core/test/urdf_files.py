"""A small URDF, a vehicle and a scenario for the tests, and how they are loaded."""

import pytest

from rotor_core.config.loader import load_vehicle, scenario_from_tree
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError

GOOD = """\
<robot name="test">
  <link name="body">
    <inertial>
      <mass value="2"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>
    </inertial>
  </link>
  <link name="arm">
    <inertial>
      <origin xyz="0 0 0.2" rpy="0.1 0.2 0.3"/>
      <mass value="0.5"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.03"/>
    </inertial>
    <visual>
      <origin xyz="0 0 0.3"/>
      <geometry><box size="0.1 0.2 0.3"/></geometry>
      <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
    </visual>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
  </link>
  <joint name="hinge" type="revolute">
    <origin xyz="0 0 -0.1" rpy="0 0 1"/>
    <parent link="body"/>
    <child link="arm"/>
    <axis xyz="0 2 0"/>
    <limit lower="-1" upper="1.5" effort="5" velocity="2"/>
    <dynamics damping="0.1" friction="0.2"/>
  </joint>
</robot>
"""
VEHICLE = """\
schema: 1
urdf: test.urdf
rotors: {layout: x, arm_m: 0.3, speed_rpm: [0, 9000], thrust_n_per_rpm2: 1.0e-6, torque_per_thrust_m: 0.02}
gains: {attitude_n_m: [1, 1, 1], rate_n_m_s: [1, 1, 1]}
"""
MORE = "</robot>\n"
"""End of the file, which tables replace to add something there."""


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Load a vehicle from the texts of its URDF and of what its YAML adds (or says of ``urdf``)."""
    folder = tmp_path_factory.mktemp("urdf")

    def loaded(urdf, more=""):
        data = urdf if isinstance(urdf, bytes) else urdf.encode()
        (folder / "test.urdf").write_bytes(data)
        lines = VEHICLE + more
        if more.startswith("urdf"):
            lines = VEHICLE.replace("urdf: test.urdf", more)
        (folder / "test.yaml").write_text(lines, encoding="utf-8")
        return load_vehicle(str(folder / "test.yaml"))

    return loaded


def explained(load, urdf, more=""):
    """The text of the ConfigError."""
    with pytest.raises(ConfigError) as caught:
        load(urdf, more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


SCENARIO = """\
schema: 1
model:
  vehicles:
    - {use: picker, name: am1}
  payloads:
    - {name: parcel, mass_kg: 0.4}
  attachments:
    - {type: cable, a: world, b: parcel, length_m: 0.45, a_point_m: [2.0, 0.0, 2.0]}
controller: {use: manipulator}
initial:
  - {entity: am1, position_m: [0.0, 0.0, 1.0]}
  - {entity: parcel, position_m: [2.0, 0.0, 1.55]}
"""


def scenario(more):
    return scenario_from_tree(parse_tree(SCENARIO + more, "test.yaml"))


def arms(moves="", reaches="", vehicle="am1"):
    return f"arms: [{{vehicle: {vehicle}, moves: [{moves}], reaches: [{reaches}]}}]"


MOVE = "{joint: joint1, from_s: 1, to_s: 3, to_deg: 60}"
REACH = "{link: link2, point_m: [0.47, 0, 0], target_m: [0.7, 0, 0.65], from_s: 1, to_s: 3}"
