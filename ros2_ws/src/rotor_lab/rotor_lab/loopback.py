"""DDS on the loopback interface only, unless the user says otherwise.

With ``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST`` nodes announce themselves to nobody else, but the
sockets of Fast DDS are bound to every address and answer: a machine that names ours in
``ROS_STATIC_PEERS`` reads and commands. A profile binds them to 127.0.0.1.

What rmw_fastrtps adds for LOCALHOST can then only send: packets of discovery go out twice, at no cost
in CPU time that could be measured. A profile for SYSTEM_DEFAULT would send them once, but a graph whose
profile is not found would be open to everybody.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from rotor_core.config.catalog import config_directory

PROFILE_VARIABLES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
"""What names the file of profiles to Fast DDS 2 and 3."""


def keep_to_loopback(environment: MutableMapping[str, str]) -> None:
    """Let nodes that get this environment talk on this machine only.

    A range other than LOCALHOST, static peers, or a file of profiles, also an empty name, are the user's word.
    """
    reach = environment.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    if reach != "LOCALHOST" or environment.get("ROS_STATIC_PEERS"):
        return
    if not any(name in environment for name in PROFILE_VARIABLES):
        profile = str(config_directory() / "security" / "loopback.xml")
        environment.update(dict.fromkeys(PROFILE_VARIABLES, profile))
