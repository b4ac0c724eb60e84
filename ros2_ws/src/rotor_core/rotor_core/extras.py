"""Optional packages: which extra brings them. `./rotor` installs it at its first use; elsewhere one line says how."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from rotor_core.errors import ConfigError

EXTRAS = {
    "bokeh": "compare",
    "casadi": "predictive",
    "cffi": "library",
    "clarabel": "planning",
    "dask": "studies",
    "distributed": "studies",
    "evo": "evo",
    "gymnasium": "learn",
    "jinja2": "recordings",
    "jupyterlab": "notebooks",
    "markdown": "recordings",
    "matplotlib": "recordings",
    "mcap": "recordings",
    "mujoco": "testbed",
    "pandas": "studies",
    "pyarrow": "studies",
    "pygeomag": "earth",
    "pymap3d": "earth",
    "pymavlink": "px4",
    "rosbags": "recordings",
    "tqdm": "recordings",
    "trimesh": "view",
    "viser": "view",
    "websockets": "view",
}
"""Extra that brings a package."""

OWN_WHEELS = "_ROS_WHEELS_BOOTSTRAP_COMPLETE"
"""Environment variable of the ROS wheels of `./rotor`; a distribution does not set it."""

OF_EVERY_ENVIRONMENT = ("recordings", "planning", "library", "earth")
"""Extras that the environment of `./rotor` always has (tools/lock.sh)."""

LAUNCHER = "ROTOR_LAUNCHER"
"""Environment variable: `./rotor`, which can install extras."""

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
        if OWN_WHEELS in os.environ and EXTRAS[package] in OF_EVERY_ENVIRONMENT:
            return (
                f"{what}The environment of ./rotor is not whole: rm -rf .ros, then start it again."
            )
        if OWN_WHEELS in os.environ:
            return f"{what}Install it: ./rotor setup {EXTRAS[package]}"
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
            raise ConfigError(text) from None  # it says which package is missing
        raise


def require(*packages: str) -> None:
    """Refuse to go on without optional packages, before anything that takes long.

    Raises:
        ConfigError: one is missing.
    """
    with explained():
        for name in packages:
            if importlib.util.find_spec(name) is None:
                raise ModuleNotFoundError(name=name)


def ensure(*extras: str) -> None:
    """Install what is missing of these extras, if `./rotor` is there to do it; it says so in one line.

    Elsewhere the import of what is missing says what to do.

    Raises:
        ConfigError: the packages could not be installed.
    """
    launcher = os.environ.get(LAUNCHER)
    if launcher is None or OWN_WHEELS not in os.environ:
        return
    lacking = [
        extra
        for extra in extras
        if any(importlib.util.find_spec(p) is None for p, e in EXTRAS.items() if e == extra)
    ]
    if not lacking:
        return
    done = subprocess.run([launcher, "setup", *lacking], stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise ConfigError(
            f"the packages of {', '.join(lacking)} could not be installed; see above."
        )
    importlib.invalidate_caches()
