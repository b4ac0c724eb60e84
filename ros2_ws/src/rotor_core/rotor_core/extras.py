"""Optional packages: which extra of the wheel brings them, said in one line where they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rotor_core.errors import ConfigError

EXTRAS = {
    "bokeh": "recordings",
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
}
"""Extra that brings a package."""

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
        return (
            f"this needs the package {package}, which is not installed. Install it with the extra {EXTRAS[package]!r}: "
            f"pip install '.[{EXTRAS[package]}]' in the clone, or pip install {package}."
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
