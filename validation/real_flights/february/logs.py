"""A flight of February 2024 on one clock, with everything that the law on board took in and gave out."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from rotor_core.math.rotations import rotation_matrices
from rotor_recordings.crazyflies.grid import GRAVITY, STEP
from rotor_recordings.crazyflies.logs import MASSES, PAYLOAD_MASS

BEGIN, REST = 0.3, 0.02
"""Left out at the start (there is a gap) and at the end, s."""

HOVER_END = 1.7
"""The team hovers until about 2 s; what is measured of the hover ends here, s."""

PLANNED = 3.7
"""By then every vehicle knows its plan that ever will, s."""

MASS, LENGTH = MASSES["feb24"], 0.5
"""Of a vehicle and of its cable as the law on board had them, kg and m."""


@dataclass(frozen=True)
class Flown:
    """Arrays over time (T,) and vehicles (n); forces in N, directions from vehicle to payload.

    Attributes:
        name, vehicles: of the flight.
        time: (T,) s.
        reference, reference_velocity: of the payload as each vehicle had them, (T, n, 3).
        planned_rate: rate of the cable's direction in the plan, (T, n, 3) 1/s.
        payload_force: wanted on the payload by each vehicle, (T, n, 3).
        cable_force: wanted of each cable on the payload, (T, n, 3).
        planned_force: the same in the plan, each as its own vehicle knew it; zero: it knew of none, (T, n, 3).
        plan: the same as everybody knew it who knew a plan, (T, n, 3).
        vehicle_force: asked of each vehicle, (T, n, 3).
        direction, direction_rate: of the cables as seen on board, (T, n, 3).
        position, velocity, attitude, gyro: estimates on board, (T, n, 3), attitude (T, n, 4) w first.
        payload_told, payload_velocity_told: what motion capture told each vehicle, (T, n, 3).
        stopped: whose motors were told to stop, (T, n) bool: for a moment, where its law begins anew.
        program_s: median time between two answers of the program on board, s.
    """

    name: str
    vehicles: tuple[str, ...]
    time: np.ndarray
    reference: np.ndarray
    reference_velocity: np.ndarray
    planned_rate: np.ndarray
    payload_force: np.ndarray
    cable_force: np.ndarray
    planned_force: np.ndarray
    plan: np.ndarray
    vehicle_force: np.ndarray
    direction: np.ndarray
    direction_rate: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    attitude: np.ndarray
    gyro: np.ndarray
    payload_told: np.ndarray
    payload_velocity_told: np.ndarray
    stopped: np.ndarray
    program_s: float

    @property
    def payload(self) -> np.ndarray:
        """Mean over the vehicles, (T, 3) m."""
        return self.payload_told.mean(axis=1)

    @property
    def payload_velocity(self) -> np.ndarray:
        """Mean over the vehicles, (T, 3) m/s."""
        return self.payload_velocity_told.mean(axis=1)

    @property
    def axes(self) -> np.ndarray:
        """Axes of thrust by the estimates on board, (T, n, 3)."""
        n = len(self.vehicles)
        return rotation_matrices(self.attitude.reshape(-1, 4))[:, :, 2].reshape(-1, n, 3)

    @property
    def thrust(self) -> np.ndarray:
        """Asked for, (T, n) N: the size of the force asked of the vehicle."""
        return np.linalg.norm(self.vehicle_force, axis=2)

    @property
    def begins(self) -> np.ndarray:
        """Rows at which the laws of the vehicles begin anew, (n,); 0: they do not."""
        return np.where(
            self.stopped.any(axis=0), len(self.time) - self.stopped[::-1].argmax(axis=0), 0
        )

    @property
    def lengths(self) -> np.ndarray:
        """Median distances of the vehicles from the payload, (n,) m."""
        return np.median(np.linalg.norm(self.payload[:, None] - self.position, axis=2), axis=0)

    @property
    def first(self) -> int:
        """The row at which the hover ends and a flight is taken up."""
        return int(np.searchsorted(self.time, HOVER_END))

    def since(self, row: int) -> Flown:
        """The flight from a row on."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(
            self, **{name: a[row:] for name, a in arrays.items() if isinstance(a, np.ndarray)}
        )


def read_flown(path: Path) -> Flown:
    """Read a flight; raises KeyError for one of December, whose logs are others."""
    with np.load(path) as file:
        logs: dict[str, dict[str, np.ndarray]] = {}
        for key in file:
            vehicle, name = key.split("/")
            logs.setdefault(vehicle, {})[name] = file[key].astype(float)
    vehicles = tuple(sorted(logs))
    end = min(log["t"][-1] for log in logs.values()) - REST
    time = np.arange(BEGIN, end, STEP)

    def line(log: dict[str, np.ndarray], name: str) -> np.ndarray:
        return np.stack([np.interp(time, log["t"], column) for column in log[name].T], axis=1)

    def every(name: str) -> np.ndarray:
        return np.stack([line(logs[v], name) for v in vehicles], axis=1)

    def steps(name: str) -> np.ndarray:
        """What comes in steps is held, not interpolated."""
        rows = [np.searchsorted(logs[v]["t"], time, side="right") - 1 for v in vehicles]
        return np.stack(
            [logs[v][name][r.clip(0)] for v, r in zip(vehicles, rows, strict=True)], axis=1
        )

    attitude = every("quat_wxyz")
    planned = steps("cable_force_plan")
    return Flown(
        path.stem, vehicles, time, steps("payload_pos_ref"), steps("payload_vel_ref"), steps("cable_dir_ref"),
        every("payload_force_des"), every("cable_force_des"), planned, _whole_plan(path, time, planned),
        every("drone_force_des"),
        every("cable_dir"), every("cable_dir_rate"), every("pos"), every("vel"),
        attitude / np.linalg.norm(attitude, axis=2, keepdims=True), every("gyro"), every("payload_pos"),
        every("payload_vel"), steps("motor_part_cmd")[:, :, 0] <= 0.0,
        float(np.median([np.median(np.diff(logs[v]["qp_done_t"])) for v in vehicles])),
    )  # fmt: skip


def _whole_plan(path: Path, time: np.ndarray, planned: np.ndarray) -> np.ndarray:
    """Planned forces of all cables, (T, n, 3) N, also of the one vehicle that may have known none.

    In plans of the whole system (``opt``) they carry the weight together. In those of the payload alone (``geom``) they
    need not: there it comes from the first other flight of the same plan whose vehicles all knew it.
    """
    unknown = ~planned.any(axis=2)
    lonely = unknown & (unknown.sum(axis=1) == 1)[:, None]
    if "_opt_" in path.stem:
        rest = np.array([0.0, 0.0, PAYLOAD_MASS * GRAVITY]) - planned.sum(axis=1)
        return np.where(lonely[..., None], rest[:, None], planned)
    out = planned.copy()
    for other in sorted(path.parent.glob(f"{path.stem.rpartition('_')[0]}_*.npz")):
        with np.load(other) as file:
            vehicles = sorted({key.split("/")[0] for key in file})
            logs = [(file[f"{v}/t"], file[f"{v}/cable_force_plan"].astype(float)) for v in vehicles]
        if all(forces[t > PLANNED].any(axis=1).all() for t, forces in logs):
            for i, (t, forces) in enumerate(logs):
                theirs = forces[(np.searchsorted(t, time, side="right") - 1).clip(0)]
                out[:, i] = np.where(lonely[:, i, None], theirs, planned[:, i])
            break
    return out


@dataclass(frozen=True)
class Hover:
    """What the balance of forces says of the hover before the trajectory; nothing is fitted to a path.

    Attributes:
        needed: force of the rotors that holds each vehicle, (n, 3) N.
        pulls: of the cables on the vehicles, (n, 3) N.
        gain: thrust needed over thrust asked for, (n,).
        told: axes of thrust as the estimates on board have them, (n, 3).
    """

    needed: np.ndarray
    pulls: np.ndarray
    gain: np.ndarray
    told: np.ndarray

    @property
    def lean(self) -> np.ndarray:
        """Horizontal part of the true axes of thrust, (n, 2)."""
        return (self.needed / np.linalg.norm(self.needed, axis=1, keepdims=True))[:, :2]


def hover(flown: Flown) -> Hover:
    """Balance of forces before the trajectory: the payload's gives the tensions, a vehicle's its thrust and its lean.

    Some teams still rise from take-off, or settle: mean accelerations, from parabolas, are in the balance.
    """
    rows = flown.time < HOVER_END
    time = flown.time[rows]
    arms = flown.payload[rows, None] - flown.position[rows]
    direction = arms.mean(axis=0)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    up = np.array([0.0, 0.0, GRAVITY])
    held = PAYLOAD_MASS * (up + _mean_acceleration(time, flown.payload[rows]))
    tensions = np.linalg.lstsq(-direction.T, held, rcond=None)[0]
    pulls = tensions[:, None] * direction
    needed = MASS * (up + _mean_acceleration(time, flown.position[rows])) - pulls
    gain = np.linalg.norm(needed, axis=1) / flown.thrust[rows].mean(axis=0)
    axes = flown.axes[rows].mean(axis=0)
    return Hover(needed, pulls, gain, axes / np.linalg.norm(axes, axis=1, keepdims=True))


def _mean_acceleration(time: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Of the parabola through positions (T, ...) that fits best."""
    flat = positions.reshape(len(time), -1)
    return (2.0 * np.polyfit(time - time.mean(), flat, 2)[0]).reshape(positions.shape[1:])
