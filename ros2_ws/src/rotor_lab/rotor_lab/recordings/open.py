"""Open whatever a user names: find out what it is, and read its paths."""

from __future__ import annotations

from rotor_core.interface.errors import ConfigError
from rotor_lab.recordings.names import bag_in, existing
from rotor_lab.recordings.recording import Recording

KINDS = (
    "a ROS 2 bag (folder, .mcap, .db3), a ROS 1 bag (.bag), a Vicon CSV (.csv), a TUM file (.tum, "
    ".txt) or a flight (.npz)"
)


def open_recording(name: str, *, clock: str = "header", rotation: str = "") -> Recording:
    """Paths of a file or bag.

    Args:
        name: file or folder.
        clock: of bags: ``header`` or ``receive``.
        rotation: of a Vicon CSV without quaternions: see :data:`rotor_lab.recordings.vicon_csv.ROTATIONS`.

    Raises:
        ConfigError: there is no such file, it is none of the known kinds, or it cannot be read.
    """
    path = existing(name, KINDS)
    try:
        if path.is_dir():
            from rotor_lab.recordings.bags import read_bag

            return read_bag(bag_in(path, KINDS), clock)
        match path.suffix.lower():
            case ".bag" | ".mcap" | ".db3":
                from rotor_lab.recordings.bags import read_bag

                return read_bag(path, clock)
            case ".csv":
                from rotor_lab.recordings.vicon_csv import read_vicon_csv

                return read_vicon_csv(path, rotation)
            case ".tum" | ".txt":
                from rotor_lab.recordings.tum import read_tum

                return read_tum(path)
            case ".npz":
                from rotor_lab.recordings.crazyflie_teams import read_crazyflie_team

                return read_crazyflie_team(path).recording()
    except ConfigError as error:
        if name in str(error) or path.name in str(error):
            raise
        raise ConfigError(f"{name}: {error}") from error
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read ({error.strerror}).") from error
    raise ConfigError(f"{name}: is none of the known kinds. Give {KINDS}.")
