"""Logs of Crazyflies that carry a point mass on cables: the arrays of their uSD cards on one clock (`.npz`).

One group of arrays per vehicle, `<vehicle>/<array>`: time, estimated pose, gyro, the payload's marker as the vehicle
received it, references and commands. Two formats of commands occur: parts of one motor (2024-02) and thrust with
torques (2024-12).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from rotor_core.errors import ConfigError
from rotor_core.math.rotation_vectors import wxyz_from
from rotor_core.saved.arrays import read_arrays
from rotor_recordings.motion.recording import Recording
from rotor_recordings.motion.track import NANO, Samples, Track, ordered

ARM = 0.046 / np.sqrt(2.0)
"""Lever of a motor about the x and y axes, m."""

TORQUE_PER_THRUST = 0.006
"""Of a propeller, m. The sign of the yaw part could not be confirmed from the logs."""

MASSES = {"feb24": 0.0356, "dec24": 0.0345}
"""Of a vehicle with its decks by the prefix of the flight, kg, as its controller had it."""

PAYLOAD_MASS = 0.010
"""As the controllers had it, kg."""

NEEDED = ("t", "pos", "gyro", "payload_pos", "payload_pos_ref", "payload_vel_ref")


@dataclass(frozen=True)
class VehicleLog:
    """Log of one vehicle, (N, ...) at its own times.

    Attributes:
        time: on the clock of the flight, s.
        position: estimated, world, m.
        attitude: estimated, body to world, quaternions w first.
        rate: gyro, body axes, rad/s.
        payload: marker as received, world, m; it repeats between packets.
        reference, reference_velocity: of the payload.
        command: thrust N and moments N m, body axes, as asked of the motors.
        cable_forces: set-point of the force of the cable on the payload, world, N.
    """

    time: np.ndarray
    position: np.ndarray
    attitude: np.ndarray
    rate: np.ndarray
    payload: np.ndarray
    reference: np.ndarray
    reference_velocity: np.ndarray
    command: np.ndarray
    cable_forces: np.ndarray


@dataclass(frozen=True)
class CrazyflieTeam:
    """A flight: the logs of its vehicles, by name."""

    path: str
    name: str
    vehicles: dict[str, VehicleLog]

    @property
    def mass(self) -> float:
        """Of each vehicle, kg."""
        return MASSES.get(self.name.partition("_")[0], MASSES["feb24"])

    def payload_fixes(self) -> tuple[np.ndarray, np.ndarray]:
        """Times (N,) s and positions (N, 3) m of the payload where a packet came in, from all vehicles together.

        A position that has been seen before (by this or another vehicle, within 20 ms) is the same packet.
        """
        time = np.concatenate([log.time for log in self.vehicles.values()])
        place = np.concatenate([log.payload for log in self.vehicles.values()])
        first: dict[bytes, float] = {}
        for t, p in sorted(
            zip(time.tolist(), place.astype(np.float32), strict=True), key=lambda e: e[0]
        ):
            first.setdefault(p.tobytes(), t)
        times = np.array(list(first.values()))
        places = np.array([np.frombuffer(key, np.float32) for key in first], float)
        order = np.argsort(times)
        return times[order], places[order]

    def recording(self) -> Recording:
        """Paths of the vehicles and of the payload."""
        tracks: list[Track] = []
        for name, log in self.vehicles.items():
            samples = Samples(log.position, log.attitude, None, log.rate)
            tracks.append(ordered(name, f"{name}/pos", _stamps(log.time), samples, "world"))
        times, places = self.payload_fixes()
        tracks.append(ordered("payload", "payload_pos", _stamps(times), Samples(places), "world"))
        return Recording(self.path, "flight of Crazyflies", tuple(tracks))


def _stamps(seconds: np.ndarray) -> np.ndarray:
    return np.rint(seconds / NANO).astype(np.int64)


def read_crazyflie_team(path: Path) -> CrazyflieTeam:
    """Read a flight.

    Raises:
        ConfigError: not such a file, or it lacks an array.
    """
    try:
        arrays = {key: np.asarray(a, float) for key, a in read_arrays(path).items()}
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read as arrays of numbers ({error}).") from error
    names = sorted({key.partition("/")[0] for key in arrays if "/" in key})
    if not names:
        raise ConfigError(
            f"{path}: holds no arrays named <vehicle>/<array>; it holds {', '.join(list(arrays)[:6])}."
        )
    vehicles = {}
    for name in names:
        own = {
            key.partition("/")[2]: value
            for key, value in arrays.items()
            if key.startswith(f"{name}/")
        }
        missing = [key for key in NEEDED if key not in own]
        if missing:
            raise ConfigError(f"{path}: {name} lacks {', '.join(missing)}.")
        vehicles[name] = _log(own, f"{path}: {name}")
    return CrazyflieTeam(str(path), path.stem, vehicles)


COLUMNS = {
    "pos": 3, "quat_wxyz": 4, "rpy": 3, "gyro": 3, "payload_pos": 3, "payload_pos_ref": 3, "payload_vel_ref": 3,
    "motor_part_cmd": 4, "torque_cmd": 3, "cable_force_des": 3,
}  # fmt: skip
"""Of the arrays that are read; others have one number in a row."""

SHORTEST = 1.0
"""Of a log, s."""


def _check(own: dict[str, np.ndarray], where: str) -> None:
    """Raise ConfigError unless the arrays fit each other and times go on."""
    t = own["t"]
    if t.ndim != 1 or not np.isfinite(t).all() or (np.diff(t) <= 0.0).any():
        raise ConfigError(f"{where}/t: must be times in s that go on.")
    if len(t) < 2 or t[-1] - t[0] < SHORTEST:
        raise ConfigError(f"{where}/t: must last {SHORTEST:g} s at least.")
    for key in (*COLUMNS, "thrust_cmd"):
        shape = (len(t), COLUMNS[key]) if key in COLUMNS else (len(t),)
        if key in own and (own[key].shape != shape or not np.isfinite(own[key]).all()):
            raise ConfigError(
                f"{where}/{key}: must be finite numbers of the shape {shape}, got {own[key].shape}."
            )
    if "quat_wxyz" in own and not own["quat_wxyz"].any(axis=1).all():
        raise ConfigError(f"{where}/quat_wxyz: holds a quaternion of length 0.")
    if "thrust_cmd" in own and "torque_cmd" not in own:
        raise ConfigError(f"{where} holds thrust_cmd but no torque_cmd.")


def _log(own: dict[str, np.ndarray], where: str) -> VehicleLog:
    _check(own, where)
    n = len(own["t"])
    if "quat_wxyz" in own:
        attitude = own["quat_wxyz"] / np.linalg.norm(own["quat_wxyz"], axis=1, keepdims=True)
    elif "rpy" in own:
        attitude = wxyz_from(Rotation.from_euler("xyz", own["rpy"]))
    else:
        raise ConfigError(f"{where} holds no attitude (quat_wxyz or rpy).")
    if "motor_part_cmd" in own:
        scale = 4.0 * np.array([1.0, ARM, ARM, TORQUE_PER_THRUST])
        command = scale * own["motor_part_cmd"]
    elif "thrust_cmd" in own:
        command = np.column_stack([own["thrust_cmd"], own["torque_cmd"]])
    else:
        raise ConfigError(f"{where} holds no commands (motor_part_cmd or thrust_cmd).")
    return VehicleLog(
        own["t"], own["pos"], attitude, own["gyro"], own["payload_pos"], own["payload_pos_ref"], own["payload_vel_ref"],
        command, own.get("cable_force_des", np.zeros((n, 3))),
    )  # fmt: skip
