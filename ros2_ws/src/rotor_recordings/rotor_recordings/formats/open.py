"""Open whatever a user names: find out what it is, and read its paths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rotor_core.errors import ConfigError
from rotor_core.registry import Registry
from rotor_recordings.motion.names import bag_in, existing
from rotor_recordings.motion.recording import Recording

KINDS = (
    "a ROS 2 bag (folder, .mcap, .db3), a ROS 1 bag (.bag), a Vicon CSV (.csv), a TUM file (.tum, "
    ".txt) or logs of Crazyflies (.npz)"
)

READERS: Registry[Callable[..., Recording]] = Registry(
    "rotor.recording_readers",
    "recording format",
    "Formats of recordings by the ending of the file name; ``read(path, clock, rotation)`` returns a Recording.",
)


def _bag(path: Path, clock: str, rotation: str) -> Recording:
    from rotor_recordings.formats.bags import read_bag

    return read_bag(path, clock)


def _vicon(path: Path, clock: str, rotation: str) -> Recording:
    from rotor_recordings.formats.vicon_csv import read_vicon_csv

    return read_vicon_csv(path, rotation)


def _tum(path: Path, clock: str, rotation: str) -> Recording:
    from rotor_recordings.formats.tum import read_tum

    return read_tum(path)


def _crazyflies(path: Path, clock: str, rotation: str) -> Recording:
    from rotor_recordings.crazyflies.logs import read_crazyflie_team

    return read_crazyflie_team(path).recording()


for _suffix, _reader in (
    (".bag", _bag), (".mcap", _bag), (".db3", _bag), (".csv", _vicon), (".tum", _tum), (".txt", _tum),
    (".npz", _crazyflies),
):  # fmt: skip
    READERS.register(_suffix, _reader)


def open_recording(name: str, *, clock: str = "header", rotation: str = "") -> Recording:
    """Paths of a file or bag.

    Args:
        name: file or folder.
        clock: of bags: ``header`` or ``receive``.
        rotation: of a Vicon CSV without quaternions: see :data:`rotor_recordings.formats.vicon_csv.ROTATIONS`.

    Raises:
        ConfigError: there is no such file, it is none of the known kinds, or it cannot be read.
    """
    path = existing(name, KINDS)
    try:
        if path.is_dir():
            return _bag(bag_in(path, KINDS), clock, rotation)
        if path.suffix.lower() in READERS:
            return READERS[path.suffix.lower()](path, clock, rotation)
    except ConfigError as error:
        if name in str(error) or path.name in str(error):
            raise
        raise error.within(name) from error
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read ({error.strerror}).") from error
    raise ConfigError(f"{name}: is not a known kind of recording. Give {KINDS}.")
