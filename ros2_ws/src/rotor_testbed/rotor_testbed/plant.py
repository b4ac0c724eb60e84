"""The bodies of the laboratory in MuJoCo: wrenches in, motion and tensions out.

Nothing of this is shared with the engine of the simulator; that is its purpose.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from rotor_core.config.model import Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError, ContractError
from rotor_core.state import State
from rotor_testbed.coverage import refuse_uncovered
from rotor_testbed.mjcf import mjcf
from rotor_testbed.reality import draw_reality
from rotor_testbed.settings import LaboratorySettings


def _mujoco() -> Any:
    try:
        import mujoco  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ConfigError(
            f"laboratory: needs MuJoCo, which cannot be imported ({error}). pip install mujoco"
        ) from error
    return mujoco


class _Allocation:
    """From the wrench of one vehicle to the thrusts of its rotors, least squares."""

    def __init__(self, vehicle: Vehicle) -> None:
        rotors = vehicle.rotors
        arms = np.cross(rotors.positions, rotors.axes)
        moments = arms - (rotors.spins * rotors.torque_per_thrust_m)[:, None] * rotors.axes
        self._inverse = np.linalg.pinv(np.column_stack([rotors.axes[:, 2], moments]).T)
        self._limits = rotors.thrust_n_per_rpm2 * np.square(rotors.speed_rpm)

    def thrusts(self, wrench: np.ndarray) -> np.ndarray:
        """Thrusts within their limits, (n_rotors,) N; a wrench of nothing at all stops the rotors."""
        if not wrench.any():
            return np.zeros(len(self._inverse))
        return np.clip(self._inverse @ wrench, *self._limits)


class Plant:
    """Multirotors, payloads and cables, with the errors of a real hall.

    Args:
        scenario: multirotors, payloads and cables in still air.
        settings: what is different from the nominal model.
        seed: of what is drawn.

    Attributes:
        reality: masses, inertias, gains and lengths as they are.
        n_vehicles: rows of a command.

    Motors stand until the first command. Cables stretch through the regularisation of MuJoCo's
    limits: with a step of 0.5 ms by 2 um in flight, and by up to 2 mm for a moment when one snaps
    taut; it rebounds with up to exp(-2) of the closing speed, as a critically damped limit does that
    cannot push. Bodies do not touch each other.

    Raises:
        ConfigError: the scenario holds something else, or MuJoCo is missing.
    """

    def __init__(
        self,
        scenario: Scenario,
        settings: LaboratorySettings,
        seed: int | np.random.SeedSequence,
    ) -> None:
        refuse_uncovered(scenario)
        self._mujoco = mujoco = _mujoco()
        self.reality = draw_reality(scenario, settings, np.random.default_rng(seed))
        self._model = mujoco.MjModel.from_xml_string(mjcf(scenario, self.reality, settings))
        self._data = mujoco.MjData(self._model)
        entities = scenario.model.entities
        self._free = [e.inertia_kg_m2 is not None for e in entities]
        self._qpos = np.cumsum([0] + [7 if free else 3 for free in self._free])
        self._qvel = np.cumsum([0] + [6 if free else 3 for free in self._free])
        self.n_vehicles = len(scenario.model.vehicles)
        self._allocations = [_Allocation(v) for v in scenario.model.vehicles]
        self._step = settings.step_s
        self._latency = round(settings.command_latency_s / settings.step_s)
        self._steps = 0
        self._waiting: deque[tuple[int, np.ndarray]] = deque()
        self._set_drag(settings)
        self._set_states(self.reality.states)

    def _set_drag(self, settings: LaboratorySettings) -> None:
        """Linear drag as damping of the translations: their velocities are those in world axes."""
        for i, mass in enumerate(self.reality.masses):
            rate = (
                settings.vehicle_drag_per_s if i < self.n_vehicles else settings.payload_drag_per_s
            )
            self._model.dof_damping[self._qvel[i] : self._qvel[i] + 3] = rate * mass

    def _set_states(self, states: np.ndarray) -> None:
        for state, free, at, to in zip(states, self._free, self._qpos, self._qvel, strict=False):
            self._data.qpos[at : at + 3], self._data.qvel[to : to + 3] = (
                State(state).position,
                State(state).velocity,
            )
            if free:
                self._data.qpos[at + 3 : at + 7] = State(state).attitude
                self._data.qvel[to + 3 : to + 6] = State(state).body_rate
        self._mujoco.mj_forward(self._model, self._data)

    def _thrusts(self, wrenches: np.ndarray) -> np.ndarray:
        given = np.asarray(wrenches, float)
        if given.shape != (self.n_vehicles, 4) or not np.isfinite(given).all():
            raise ContractError(
                f"laboratory: wrenches must be finite and ({self.n_vehicles}, 4), got {given.tolist()}."
            )
        rows = [a.thrusts(w) for a, w in zip(self._allocations, given, strict=True)]
        return np.concatenate([np.zeros(0), *rows])

    def act(self, wrenches: np.ndarray) -> None:
        """Let wrenches (n_vehicles, 4) N, N m be sent now; they reach the motors after the latency.

        Thrust along the body's z and moments in its axes, about the centre of mass.
        """
        self._waiting.append((self._steps + self._latency, self._thrusts(wrenches)))

    def spin_up(self, wrenches: np.ndarray) -> None:
        """Let the motors have followed a command already, as if the vehicles had been held till now."""
        self._waiting.clear()
        self._data.ctrl[:] = self._thrusts(wrenches)
        if self._model.na:
            self._data.act[:] = self._data.ctrl

    def advance(self, dt: float) -> None:
        """Let time pass, in s: to the nearest whole number of steps."""
        end = self._steps + round(dt / self._step)
        while True:
            while self._waiting and self._waiting[0][0] <= self._steps:
                self._data.ctrl[:] = self._waiting.popleft()[1]
            until = min(end, self._waiting[0][0]) if self._waiting else end
            if until > self._steps:
                self._mujoco.mj_step(self._model, self._data, until - self._steps)
                self._steps = until
            if self._steps == end:
                return

    @property
    def time(self) -> float:
        """Time since the start, s."""
        return self._steps * self._step

    @property
    def states(self) -> np.ndarray:
        """True states, (n_entities, 13)."""
        out = np.zeros((len(self._free), 13))
        out[:, 3] = 1.0
        for row, free, at, to in zip(out, self._free, self._qpos, self._qvel, strict=False):
            State(row).position[:], State(row).velocity[:] = (
                self._data.qpos[at : at + 3],
                self._data.qvel[to : to + 3],
            )
            if free:
                State(row).attitude[:] = self._data.qpos[at + 3 : at + 7]
                State(row).body_rate[:] = self._data.qvel[to + 3 : to + 6]
        return out

    @property
    def rotor_thrusts(self) -> np.ndarray:
        """True thrusts of all rotors, vehicle by vehicle, (n_rotors,) N.

        As all forces: those of the last stage of the last step, which is at the present to the
        order of the method.
        """
        return self._data.actuator_force.copy()

    @property
    def distances(self) -> np.ndarray:
        """Between the ends of the cables, (n_cables,) m."""
        return self._data.ten_length.copy()

    @property
    def tensions(self) -> np.ndarray:
        """Of all cables, (n_cables,) N; zero where one is slack."""
        data, out = self._data, np.zeros(len(self.reality.lengths))
        limits = data.efc_type == self._mujoco.mjtConstraint.mjCNSTR_LIMIT_TENDON
        np.add.at(out, data.efc_id[limits], data.efc_force[limits])
        return out

    @property
    def taut(self) -> np.ndarray:
        """True where a cable pulls, (n_cables,)."""
        return self.tensions > 0.0
