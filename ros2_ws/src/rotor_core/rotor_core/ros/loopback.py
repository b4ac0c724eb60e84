"""DDS on the loopback interface only, unless the user says otherwise.

With ``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST`` nodes announce themselves to nobody else, but the
sockets of Fast DDS are bound to every address and answer: a machine that names ours in
``ROS_STATIC_PEERS`` reads and commands. A profile binds them to 127.0.0.1.

With that profile the range is SYSTEM_DEFAULT: for LOCALHOST rmw_fastrtps adds a transport of its own, which
could then only send, and packets of discovery would go out twice.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from rotor_core.config.catalog import config_directory

RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
PROFILE_VARIABLES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
"""Environment variables that name the profile file for Fast DDS 2 and 3."""


def keep_to_loopback(environment: MutableMapping[str, str]) -> None:
    """Let nodes that get this environment talk on this machine only.

    A range other than LOCALHOST, static peers, or a file of profiles, also an empty name, are the user's word. Other
    middlewares than Fast DDS keep LOCALHOST.
    """
    reach = environment.setdefault(RANGE, "LOCALHOST")
    if reach != "LOCALHOST" or environment.get("ROS_STATIC_PEERS"):
        return
    middleware = environment.get("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
    profile = config_directory() / "security" / "loopback.xml"
    said = any(name in environment for name in PROFILE_VARIABLES)
    if middleware == "rmw_fastrtps_cpp" and profile.is_file() and not said:
        environment.update(dict.fromkeys(PROFILE_VARIABLES, str(profile)))
        environment[RANGE] = "SYSTEM_DEFAULT"
