"""Files that rosdep and colcon read: their keys exist on Jazzy and Lyrical, nothing breaks an installation there."""

import ast
import itertools
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from rotor_core.errors import ConfigError

ROOT = Path(__file__).parents[1]
PACKAGES = sorted((ROOT / "ros2_ws" / "src").glob("*/package.xml"))

SYSTEM_KEYS = {
    "python3-numpy", "python3-scipy", "python3-ruamel.yaml", "python3-transforms3d", "python3-matplotlib", "python3-markdown",
    "python3-jinja2", "python3-pandas", "python3-pip", "python3-tabulate", "python3-tqdm", "python3-yaml", "python3-pil",
    "python3-pytest", "python3-pytest-timeout", "python3-hypothesis",
}  # fmt: skip
"""rosdep keys with a package in Ubuntu 24.04 and 26.04 (rosdistro, August 2026)."""

ROS_PACKAGES = {
    "action_msgs", "ament_cmake", "ament_cmake_pytest", "ament_index_python", "builtin_interfaces", "diagnostic_msgs",
    "geometry_msgs", "launch", "launch_ros", "launch_yaml", "nav_msgs", "rcl_interfaces", "rclpy",
    "ros2bag", "ros2launch", "rosbag2_storage_mcap", "rosgraph_msgs", "rosidl_default_generators", "rosidl_default_runtime",
    "rviz2",
    "sensor_msgs", "std_msgs", "std_srvs", "tf2_msgs", "trajectory_msgs", "visualization_msgs",
}  # fmt: skip
"""Released in Jazzy, Kilted and Lyrical (rosdistro, August 2026)."""

OPTIONAL = {"actuator_msgs", "simulation_interfaces", "foxglove_bridge"}
"""Used where they are installed; never required."""

BREAKS = {
    "python3-numba": "no package in Ubuntu 24.04",
    "python3-pydantic": "version 1 there, version 2 elsewhere",
}


def depends(root):
    return [e for e in root if e.tag.endswith("depend")]


@pytest.mark.parametrize("path", PACKAGES, ids=lambda p: p.parent.name)
def test_package_xml(path):
    root = ElementTree.parse(path).getroot()
    assert root.attrib == {"format": "3"}
    assert root.findtext("name") == path.parent.name
    assert root.findtext("license") == "Apache-2.0"
    ours = {p.parent.name for p in PACKAGES}
    names = [e.text for e in depends(root)]
    for element in depends(root):
        assert element.text not in BREAKS, BREAKS.get(element.text)
        assert element.text == "python3-pip" or not element.text.endswith("-pip"), (
            f"{element.text}: pip keys fail in Ubuntu's Python"
        )
        assert element.text not in OPTIONAL, f"{element.text} must stay optional"
        assert element.text in ours | SYSTEM_KEYS | ROS_PACKAGES, element.text
    assert len({(e.tag, e.text) for e in depends(root)}) == len(names)
    build_type = root.find("export").findtext("build_type")
    assert build_type == ("ament_python" if (path.parent / "setup.py").exists() else "ament_cmake")


def test_one_version_everywhere():
    versions = {ElementTree.parse(p).getroot().findtext("version") for p in PACKAGES}
    for setup in (ROOT / "ros2_ws" / "src").glob("*/setup.py"):
        versions.add(re.search(r'version="([^"]+)"', setup.read_text()).group(1))
    assert len(versions) == 1


def test_packages_depend_on_each_other_without_circles():
    """colcon orders by all kinds of dependency, so a circle stops the build."""
    needs = {
        p.parent.name: {
            e.text for e in depends(ElementTree.parse(p).getroot()) if e.text.startswith("rotor")
        }
        for p in PACKAGES
    }
    order = []
    while needs:
        free = [n for n, deps in needs.items() if deps <= set(order)]
        assert free, f"a circle among {sorted(needs)}"
        order += free
        for name in free:
            del needs[name]
    assert order[0] == "rotor_msgs" and order[-1] == "rotor_bringup"


def test_every_node_is_installed_where_launch_looks():
    from rotor.graph.plan import GraphOptions, NodePlan, graph_plan
    from rotor_core.config.loader import load_scenario

    plans = graph_plan(GraphOptions("hover", bag=Path("b")), load_scenario("hover"))
    for plan in plans.values():
        assert isinstance(plan, NodePlan)
        setup = (ROOT / "ros2_ws" / "src" / plan.package / "setup.py").read_text()
        assert f'"{plan.executable} = ' in setup
        assert "$base/lib/" in (ROOT / "ros2_ws" / "src" / plan.package / "setup.cfg").read_text()
        assert (
            plan.package in (ROOT / "ros2_ws" / "src" / "rotor_bringup" / "package.xml").read_text()
        )


MODULES = {
    "ruamel": "ruamel.yaml", "dask": "distributed", "jinja2": "jinja2", "llvmlite": "numba",
    "PIL": "pillow", "mpl_toolkits": "matplotlib",
}  # fmt: skip
"""Packages whose module is called otherwise (dask comes with distributed, llvmlite with Numba)."""

KEYS = {"pillow": "python3-pil"}
"""Packages whose rosdep key is called otherwise."""

VENDORED = {
    "bokeh", "casadi", "cffi", "clarabel", "distributed", "gymnasium", "mcap", "mujoco", "numba", "pyarrow", "pygeomag",
    "pymap3d", "pymavlink", "rosbags", "trimesh", "viser", "websockets",
}  # fmt: skip
"""Packages without a usable rosdep key on Ubuntu 24.04: rotor_vendor brings them."""

USERS = {"jax", "torch"}
"""Libraries whose users ask for a bridge to them (FlightFunction.jax, .torch): they have them."""

FOREIGN = {
    "px4_msgs",
    "crazyflie_interfaces",
    "motion_capture_tracking_interfaces",
    *OPTIONAL,
    *USERS,
}
"""Messages of other projects, used where they are installed."""


def listed():
    """Names of the packages in the one list, in lower case."""
    text = (ROOT / "pyproject.toml").read_text()
    names = re.findall(
        r'"([A-Za-z][\w.-]*)(?:\[[\w,]+\])?(?:[<>=;][^"]*)?"', text.split("[tool.hatch")[0]
    )
    return {name.lower() for name in names}


def imports(package):
    """Modules of others that a package imports."""
    found = set()
    for path in (package / package.name).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module)
    first = {name.partition(".")[0] for name in found}
    return first - set(sys.stdlib_module_names) - {package.name}


@pytest.mark.parametrize("path", PACKAGES, ids=lambda p: p.parent.name)
def test_every_import_is_declared(path):
    """In package.xml where rosdep knows it, in the list of pyproject.toml where pip brings it."""
    ours = {p.parent.name for p in PACKAGES}
    declared = {e.text for e in depends(ElementTree.parse(path).getroot())}
    for module in imports(path.parent):
        if module in ours or module in ROS_PACKAGES:
            assert module in declared, f"{module} is missing in package.xml"
        elif module not in FOREIGN:
            name = MODULES.get(module, module).lower()
            assert name in listed(), f"{module} is missing in pyproject.toml"
            key = "rotor_vendor" if name in VENDORED else KEYS.get(name, f"python3-{name}")
            assert key in declared, f"{key} is missing in package.xml"


def pins(path):
    """Packages that a lock pins, with the number of their hashes."""
    found = {}
    for line in path.read_text().splitlines():
        if match := re.match(r"([a-z0-9][\w.-]*)(?:\[[\w,-]+\])?==", line):
            name = match[1]
            found.setdefault(name, 0)
        elif "--hash=sha256:" in line:
            found[name] += 1
    return found


def test_the_vendor_package_brings_what_no_key_brings_and_nothing_else():
    """What is not pinned is missing there; what the distribution brings would hide its own."""
    vendor = ROOT / "ros2_ws" / "src" / "rotor_vendor"
    pinned = pins(vendor / "requirements.lock")
    assert VENDORED <= set(pinned)
    assert all(count > 0 for count in pinned.values())
    tried = re.search(r"MODULES = \((.*?)\)", (vendor / "install.py").read_text(), re.S)[1]
    assert {m.lower() for m in re.findall(r'"(\w+)"', tried)} == VENDORED
    brought = set(
        re.findall(
            r"^[a-z0-9-]+",
            (ROOT / "tools" / "distribution.txt").read_text().split("# installed")[0],
            re.M,
        )
    )
    assert not brought & set(pinned), "in both: run tools/lock.sh"
    keys = {k.removeprefix("python3-") for k in SYSTEM_KEYS} - {
        "pip",
        "pytest",
        "pytest-timeout",
        "hypothesis",
        "yaml",
    }
    called = {key.removeprefix("python3-"): name for name, key in KEYS.items()}
    assert {called.get(k, k).replace(".", "-") for k in keys} <= brought
    # everything of the list comes one way or the other; evo is called as a program, and is GPL; notebooks are in a clone
    project = listed_requirements()
    assert {r for r in project if r not in ("evo", "jupyterlab")} <= set(pinned) | brought


def listed_requirements():
    """Third-party packages that the suite can import: dependencies and extras of the one list."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    names = {re.match(r"[\w.-]+", line)[0].lower().replace(".", "-") for line in lines}
    return names - {"rotor"}


def test_the_recorder_of_the_distribution_is_installed_with_its_storage():
    root = ElementTree.parse(ROOT / "ros2_ws" / "src" / "rotor_bringup" / "package.xml").getroot()
    assert {"ros2bag", "rosbag2_storage_mcap"} <= {e.text for e in depends(root)}


def test_missing_extras_are_named_by_the_one_list():
    """What a message advises to install brings the package."""
    import tomllib

    from rotor_core.extras import EXTRAS

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for module, extra in EXTRAS.items():
        name = MODULES.get(module, module).lower()
        assert any(
            re.match(r"[\w.-]+", r)[0].lower() == name
            for r in project["optional-dependencies"][extra]
        ), (module, extra)


def test_every_extra_of_the_launcher_has_a_lock_and_brings_its_modules():
    from rotor_core.extras import EXTRAS, OF_EVERY_ENVIRONMENT

    locks = {p.stem: pins(p) for p in (ROOT / "tools" / "extras").glob("*.lock")}
    base = pins(ROOT / "tools" / "requirements.lock")
    assert set(EXTRAS.values()) - set(OF_EVERY_ENVIRONMENT) == set(locks)
    for module, extra in EXTRAS.items():
        name = MODULES.get(module, module).lower().replace(".", "-")
        assert name in locks.get(extra, {}) or name in base, (module, extra)


def test_verbs_ask_for_extras_that_there_are():
    from rotor.cli import load_verbs
    from rotor.verb import VERBS

    load_verbs()
    known = {p.stem for p in (ROOT / "tools" / "extras").glob("*.lock")}
    asked = {name: verb.extras for name, verb in VERBS.items() if verb.extras}
    assert {"sweep", "compare", "view"} <= set(asked)
    assert all(set(extras) <= known for extras in asked.values())


def test_a_missing_extra_is_installed_once_with_what_was_asked(tmp_path, monkeypatch):
    """With the launcher at hand; elsewhere nothing happens, and the import says what to do."""
    from rotor_core import extras

    launcher = tmp_path / "rotor"
    launcher.write_text(f"#!/bin/sh\necho $@ >> {tmp_path}/log; exit $(cat {tmp_path}/code)\n")
    launcher.chmod(0o755)
    (tmp_path / "code").write_text("0")
    monkeypatch.setattr(extras, "EXTRAS", {"json": "there", "nobodys_module": "absent"})
    monkeypatch.setenv(extras.OWN_WHEELS, "1")
    monkeypatch.delenv(extras.LAUNCHER, raising=False)
    extras.ensure("absent")
    monkeypatch.setenv(extras.LAUNCHER, str(launcher))
    extras.ensure("there")
    assert not (tmp_path / "log").exists()
    extras.ensure("there", "absent")
    assert (tmp_path / "log").read_text() == "setup absent\n"
    (tmp_path / "code").write_text("2")
    with pytest.raises(ConfigError, match="absent could not be installed"):
        extras.ensure("absent")
