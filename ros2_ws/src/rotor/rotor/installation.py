"""The installation: versions, middleware, kernels, for people and for bug reports."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from pathlib import Path

from rotor_core.kernels.jit import COMPILED, WHY_UNCOMPILED, cache_directory, how_cached
from rotor_core.ros.loopback import PROFILES, RANGE, keep_to_loopback

PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "ruamel.yaml",
    "transforms3d",
    "matplotlib",
    "rosbags",
    "ros-rclpy",
    "ros-rmw-fastrtps-cpp",
)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "-"


def _rmw() -> str:
    try:
        from rclpy.utilities import get_rmw_implementation_identifier
    except ImportError as error:
        return f"rclpy cannot be imported ({error})"
    return str(get_rmw_implementation_identifier())


def _reach(environment: dict[str, str]) -> str:
    """Reach of nodes with this environment over the network, in words."""
    profile = next((environment[n] for n in PROFILES if environment.get(n)), "")
    if Path(profile).name in PROFILES.values():
        return "this machine only"
    return environment[RANGE] + (f", profile {profile}" if profile else "")


def _reach_of_ours() -> str:
    """Reach of nodes that `./rotor` starts."""
    environment = dict(os.environ)
    keep_to_loopback(environment)
    return _reach(environment)


def _reach_of_launched() -> str:
    """Reach of nodes that `ros2 launch` and `ros2 run` start from the user's shell."""
    if "ROTOR_SHELL_RANGE" not in os.environ:
        return _reach({RANGE: "SUBNET", **os.environ})
    if shell := os.environ["ROTOR_SHELL_RANGE"]:
        return f"{shell}, as the shell says (docs/how-to/secure.md)"
    return "SUBNET, the default of ROS 2 (docs/how-to/secure.md)"


def _built() -> str:
    missing = []
    for package in ("rotor_msgs", "rotor_sim", "rotor_control", "rotor_planning", "rotor_adapters"):
        try:
            importlib.import_module(package)
        except ImportError:
            missing.append(package)
    return (
        "complete"
        if not missing
        else f"missing: {', '.join(missing)}; run ./rotor with any command to build it"
    )


def report() -> list[tuple[str, str]]:
    """Rows (what, value)."""
    kernels = "compiled (Numba)" if COMPILED else f"NOT compiled: {WHY_UNCOMPILED}"
    if COMPILED:
        kernels += f", {how_cached()}"
    rows = [
        ("rotor", _version("rotor")),
        ("Python", f"{platform.python_version()} ({sys.executable})"),
        ("system", f"{platform.platform()}, {platform.machine()}"),
        ("cores", f"{len(os.sched_getaffinity(0))} usable of {os.cpu_count()}"),
        (
            "ROS",
            f"{os.environ.get('ROS_DISTRO', 'none')} ({'wheels' if _version('ros-rclpy') != '-' else 'distribution'})",
        ),
        ("RMW", _rmw()),
        ("domain", os.environ.get("ROS_DOMAIN_ID", "0 (default)")),
        ("discovery, ./rotor", _reach_of_ours()),
        ("discovery, ros2 launch", _reach_of_launched()),
        ("workspace", _built()),
        ("kernels", kernels),
        ("kernel cache", str(cache_directory())),
    ]
    return rows + [(p, _version(p)) for p in PACKAGES]
