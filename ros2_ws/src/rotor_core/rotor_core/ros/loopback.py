"""DDS on the loopback interface only, unless the user says otherwise.

With ``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST`` nodes announce themselves to nobody else, but the
sockets of Fast DDS are bound to every address and answer: a machine that names ours in
``ROS_STATIC_PEERS`` reads and commands. A profile binds them to 127.0.0.1.

With that profile the range is SYSTEM_DEFAULT: for LOCALHOST rmw_fastrtps adds a transport of its own, which
could then only send, and packets of discovery would go out twice.

A sourced distribution sets the range to SUBNET where nothing was set. There SUBNET is nobody's wish;
``ROTOR_DISCOVERY_RANGE`` says one.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from rotor_core.config.catalog import config_directory
from rotor_core.extras import OWN_WHEELS

RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
WISH = "ROTOR_DISCOVERY_RANGE"
"""Environment variable for a range that is meant: it wins over :data:`RANGE`."""

DEFAULT_OF_DISTRIBUTIONS = "SUBNET"
PROFILES = {
    "FASTRTPS_DEFAULT_PROFILES_FILE": "loopback.xml",
    "FASTDDS_DEFAULT_PROFILES_FILE": "loopback3.xml",
}
"""Shipped profile for each environment variable that names one: those of Fast DDS 2 and 3."""


def _wished(environment: Mapping[str, str]) -> str:
    """Range that the user asks for; empty if nobody said anything."""
    if wish := environment.get(WISH):
        return wish
    found = environment.get(RANGE, "")
    sourced = bool(environment.get("ROS_DISTRO")) and OWN_WHEELS not in environment
    return "" if sourced and found == DEFAULT_OF_DISTRIBUTIONS else found


def keep_to_loopback(environment: MutableMapping[str, str]) -> None:
    """Let nodes that get this environment talk on this machine only.

    A range other than LOCALHOST (:func:`_wished`), static peers, or a file of profiles, also an empty name, are the
    user's word. Other middlewares than Fast DDS keep LOCALHOST.
    """
    reach = environment[RANGE] = _wished(environment) or "LOCALHOST"
    if reach != "LOCALHOST" or environment.get("ROS_STATIC_PEERS"):
        return
    middleware = environment.get("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
    files = {name: config_directory() / "security" / profile for name, profile in PROFILES.items()}
    said = any(name in environment for name in PROFILES)
    if middleware == "rmw_fastrtps_cpp" and all(f.is_file() for f in files.values()) and not said:
        environment.update({name: str(file) for name, file in files.items()})
        environment[RANGE] = "SYSTEM_DEFAULT"
