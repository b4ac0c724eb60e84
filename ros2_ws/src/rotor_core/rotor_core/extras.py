"""Optional packages: which extra of the wheel brings them, said in one line where they are missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rotor_core.errors import ConfigError

EXTRAS = {
    "SALib": "studies",
    "bokeh": "recordings",
    "casadi": "predictive",
    "clarabel": "planning",
    "dask": "studies",
    "distributed": "studies",
    "gymnasium": "learn",
    "markdown": "studies",
    "matplotlib": "recordings",
    "mcap": "recordings",
    "mujoco": "testbed",
    "pandas": "studies",
    "pyarrow": "studies",
    "rosbags": "recordings",
    "tqdm": "studies",
    "viser": "view",
    "websockets": "view",
}
"""Extra that brings a package."""

OWN_WHEELS = "_ROS_WHEELS_BOOTSTRAP_COMPLETE"
"""Environment variable of the ROS wheels of `./rotor`; a distribution does not set it."""

ROS = ("rclpy", "rotor_msgs", "ament_index_python", "rosidl_runtime_py", "launch", "launch_ros")


def remedy(error: ModuleNotFoundError) -> str:
    """Name of the missing package and how to get it; empty if it is neither of ROS 2 nor of an extra."""
    package = (error.name or "").partition(".")[0]
    if package in ROS or package.endswith("_msgs"):
        return (
            f"this needs ROS 2 (the package {package} is not installed). Source a distribution, or run ./rotor in a "
            "clone of the repository, which brings its own."
        )
    if package in EXTRAS:
        what = f"this needs the package {package}, which is not installed. "
        if os.environ.get("AMENT_PREFIX_PATH") and OWN_WHEELS not in os.environ:
            # a workspace on a distribution, whose Python refuses pip
            return (
                f"{what}In the workspace that holds rotor: rosdep install --from-paths src --ignore-src -y && "
                "colcon build --packages-select rotor_vendor, then source install/setup.bash again."
            )
        return (
            f"{what}Install it with the extra {EXTRAS[package]!r}: pip install '.[{EXTRAS[package]}]' in the clone, "
            f"or pip install {package}."
        )
    return ""


@contextmanager
def explained() -> Iterator[None]:
    """Turn a missing optional package into an error that names its extra.

    Raises:
        ConfigError: an optional package is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if text := remedy(error):
            raise ConfigError(text) from error
        raise
