"""Commands of single vehicles (``<vehicle>/cmd/...``) as the simulator took them when they were recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rotor_core.command import LARGEST_COMMAND
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.arm import BASE
from rotor_core.errors import ContractError
from rotor_core.messages.joint_command import joint_command_from, joint_efforts_from
from rotor_core.vehicles.rotors import rotor_set
from rotor_recordings.motion.track import NANO
from rotor_sim.actuation.timeout import ZEROED, CommandWatch
from rotor_sim.simulation import START_TIME

if TYPE_CHECKING:
    from rotor_recordings.formats.message_table import MessageTable

CMD = "cmd/"
"""In front of the last word of the name of a command."""

SWASHPLATE_NUMBERS = ("collective", "lateral_cyclic", "longitudinal_cyclic", "tail_force")


class SingleCommands:
    """Commands of vehicles one by one, without those that the simulator refuses; its time-out ends what is held.

    Times are those at which a message was recorded, in simulated time: stamps may be missing or anything.

    Args:
        scenario: whose ``command_input`` says what the messages are.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._names = [v.name for v in scenario.model.vehicles]
        self._times: list[np.ndarray] = []
        self._rows: list[np.ndarray] = []
        self._vehicles: list[np.ndarray] = []
        joints = [[j.name for j in v.moving_joints] for v in scenario.model.vehicles]
        self._joints = dict(zip(self._names, joints, strict=True))
        self._owners = np.repeat(np.arange(len(joints)), [len(names) for names in joints])
        """Vehicle of every joint."""
        self._efforts: list[tuple[int, int, np.ndarray]] = []
        """When which vehicle was told which efforts of its joints; NaN: as before."""

    def hear(self, vehicle: str, received: np.ndarray, table: MessageTable) -> None:
        """Take up messages of a vehicle with the times at which they came, (n,) ns."""
        if vehicle not in self._names:
            return
        k = self._names.index(vehicle)
        rows, good = getattr(self, f"_{self._scenario.command_input}")(k, table)
        if table.first.header.frame_id not in ("", f"{vehicle}/{BASE}"):
            good &= self._scenario.command_input != "wrench"
        self._times.append(received[good])
        self._rows.append(rows[good])
        self._vehicles.append(np.full(int(good.sum()), k))

    def hear_efforts(self, vehicle: str, received: int, message: Any) -> None:
        """Take up ``cmd/joint_efforts`` or ``cmd/joints`` of a vehicle, and when it came, ns."""
        if not (joints := self._joints.get(vehicle)):
            return
        try:
            if hasattr(message, "data"):
                efforts = joint_efforts_from(message, len(joints))
            else:
                efforts = joint_command_from(message, vehicle, joints).efforts
        except ContractError:
            return
        if efforts is not None:
            self._efforts.append((received, self._names.index(vehicle), efforts))

    def _wrench(self, _: int, table: MessageTable) -> tuple[np.ndarray, np.ndarray]:
        force = table.vector("wrench.force")
        rows = np.column_stack([force[:, 2], table.vector("wrench.torque")])
        return rows, _is_usual(rows) & ~force[:, :2].any(axis=1)

    def _swashplate(self, _: int, table: MessageTable) -> tuple[np.ndarray, np.ndarray]:
        rows = np.column_stack([table[name] for name in SWASHPLATE_NUMBERS])
        return rows, _is_usual(rows)

    def _motor_speed(self, k: int, table: MessageTable) -> tuple[np.ndarray, np.ndarray]:
        rotors, speeds = rotor_set(self._scenario.model.vehicles[k].rotors), table["velocity"]
        if speeds.shape[1] != rotors.count:
            return np.zeros((len(table), 4)), np.zeros(len(table), bool)
        good = _is_usual(speeds) & (speeds >= 0.0).all(axis=1)
        rows = np.zeros((len(table), 4))
        rows[good] = rotors.thrusts_at(speeds[good]) @ rotors.mixing.T
        return rows, good

    def __bool__(self) -> bool:
        return any(len(times) for times in self._times)

    def at(self, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Commands that act at ascending times, ns.

        Returns:
            Commands (n, n_vehicles, 4), NaN until every vehicle has got one, and efforts (n, n_joints), which end with
            the commands of their vehicle.
        """
        times = np.concatenate(self._times)
        order = np.argsort(times, kind="stable")
        times, rows = times[order], np.concatenate(self._rows)[order]
        vehicles = np.concatenate(self._vehicles)[order].tolist()
        watch = CommandWatch.of(self._scenario)
        out, i = np.full((len(stamps), len(self._names), 4), np.nan), 0
        efforts = self._held_efforts(stamps)
        ends = np.searchsorted(times, stamps, side="right").tolist()
        for row, (stamp, end) in enumerate(zip(stamps.tolist(), ends, strict=True)):
            for j in range(i, end):
                watch.accept(vehicles[j], rows[j], float(times[j]) * NANO)
            i = end
            if watch.heard():
                out[row] = watch.wrenches(stamp * NANO)[0]
            silent = np.array([state == ZEROED for state in watch.states])
            efforts[row, silent[self._owners]] = 0.0
        return out, efforts

    def _held_efforts(self, stamps: np.ndarray) -> np.ndarray:
        """Efforts that were told last, (n, n_joints); before the first zero, or NaN where the flight began earlier."""
        is_late = len(stamps) > 0 and stamps[0] * NANO > START_TIME + self._scenario.time.control_s
        out = np.full((len(stamps), len(self._owners)), np.nan if is_late else 0.0)
        for received, vehicle, efforts in sorted(self._efforts, key=lambda told: told[0]):
            told = np.flatnonzero(self._owners == vehicle)[np.isfinite(efforts)]
            out[np.searchsorted(stamps, received) :, told] = efforts[np.isfinite(efforts)]
        return out


def _is_usual(rows: np.ndarray) -> np.ndarray:
    """True for rows that the simulator does not refuse for their size, (n,)."""
    return np.asarray((np.abs(rows) <= LARGEST_COMMAND).all(axis=1))
