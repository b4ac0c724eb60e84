"""Controllers in a shared library as the law of a team: one loaded copy for each of its vehicles."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rotor_adapters.counterparts import check_multirotors, tell
from rotor_adapters.library.exchange import read_output, write_input
from rotor_adapters.library.instance import Instance, LibraryFault
from rotor_adapters.library.interface import MOST_LOGS, MOST_MOTORS, Block
from rotor_adapters.library.isolated import IsolatedInstance
from rotor_core.config.counterparts.library import LibraryControl
from rotor_core.config.schema import Scenario
from rotor_core.config.sensing import NO_ERRORS
from rotor_core.config.teams import Team, attachment_points
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.config.yaml.units import rad_s_from_rpm
from rotor_core.errors import ConfigError
from rotor_core.state import MOTION
from rotor_core.vehicles.rotors import RotorSet, rotor_set
from rotor_sim.sensing.inertial import InertialModel

STREAM = 5
"""First word of the random streams of inertial units of libraries; those before are of others."""


class LibraryLaw:
    """The vehicles of a team, each under its own copy of a library.

    What a library does wrong is told once, and its vehicle gets no command until the next reset: its rotors stop.

    Args:
        scenario: with a :class:`~rotor_core.config.counterparts.library.LibraryControl`.
        team: whose law it is.

    Attributes:
        team: whose law it is.
        time: s since the flight began; set before each call.
        faults: what went wrong, by vehicle.

    Raises:
        ConfigError: the library is not there, cannot be used, or refuses vehicle or parameters.
    """

    def __init__(self, scenario: Scenario, team: Team) -> None:
        control = scenario.controller
        assert isinstance(control, LibraryControl)
        self.team, self.time, self.faults = team, 0.0, dict[str, str]()
        self._path = Path(control.path).absolute()
        if not self._path.is_file():
            raise ConfigError(
                f"controller.path: there is no file {control.path!r}. Build the library, or name it from the working "
                "directory."
            )
        check_multirotors(scenario, team, MOST_MOTORS)
        self._gravity = scenario.environment.gravity_m_s2
        self._members = [
            _Member(scenario, team, i, control, self._path) for i in range(len(team.vehicles))
        ]
        self._start()

    def _start(self) -> None:
        for member in self._members:
            try:
                member.start()
            except LibraryFault as fault:
                self.close()
                raise ConfigError(f"controller.path: {self._path.name} {fault}") from fault
        self._is_new = True

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the commands (n, 4) of the team for ``states`` (N, 19) and ``reference`` (28,)."""
        if states.shape[1] < MOTION:  # nobody told the accelerations
            states = np.hstack([states, np.zeros((len(states), MOTION - states.shape[1]))])
        self._is_new = False
        for i, member in enumerate(self._members):
            name = self.team.vehicles[i]
            if name in self.faults:
                out[i] = 0.0
                continue
            try:
                member.step(states, reference, self._gravity, self.time, out[i])
            except LibraryFault as fault:
                out[i] = 0.0
                text = f"{self._path.name} {fault}, at t = {self.time:.3f} s"
                self.faults[name] = text
                tell(f"{name}: {text}. Its rotors stop; everything else goes on.")

    def logs(self) -> dict[str, dict[str, float]]:
        """Log variables of the last call, by vehicle and name."""
        return {name: m.logs() for name, m in zip(self.team.vehicles, self._members, strict=True)}

    def reset(self) -> None:
        """Load new copies."""
        if self._is_new:
            return
        self.faults.clear()
        self.close()
        self._start()

    def close(self) -> None:
        """Let go of all copies."""
        for member in self._members:
            member.close()


class _Member:
    """One vehicle of a team with its copy."""

    def __init__(
        self, scenario: Scenario, team: Team, i: int, control: LibraryControl, path: Path
    ) -> None:
        self._control, self._path = control, path
        self._instance: Instance | IsolatedInstance | None = None
        n_team = len(team.vehicles) + (team.payload is not None)
        self.block = Block(n_team)
        vehicle = scenario.model.vehicles[scenario.model.index(team.vehicles[i])]
        rotors = rotor_set(vehicle.rotors)
        self._mixing, self._per_speed2 = (
            np.ascontiguousarray(rotors.mixing),
            rotors.thrust_per_speed2,
        )
        self._speeds = rad_s_from_rpm(1.0) * np.array(vehicle.rotors.speed_rpm)
        names = [*team.vehicles, *([team.payload] if team.payload else [])]
        rows = [scenario.model.index(name) for name in names]
        self._own = rows[i]
        self._imu = None
        if control.imu != NO_ERRORS:
            seed = np.random.SeedSequence(scenario.seed, spawn_key=(STREAM, self._own))
            self._imu = InertialModel(control.imu, 1, scenario.time.control_s, seed)
        payload = scenario.model.entities[rows[-1]] if team.payload else None
        if payload is not None and payload.inertia_kg_m2 is None:  # a point mass has no attitude
            rows[-1] = -1 - rows[-1]
        self._rows = np.array(rows)
        self._describe(scenario, team, i, rotors)
        block = self.block
        self._places = np.array(
            [block.at(*f) for f in (
                ("in", "time"), ("in", "state"), ("in", "accelerometer"), ("in", "reference"), ("team",),
            )]
        )  # fmt: skip
        first = block.at("in", "accelerometer")
        self._inertial = slice(first, first + 6)
        self._kind, self._out = block.at("out", "kind"), block.at("out", "wrench")

    def _describe(self, scenario: Scenario, team: Team, i: int, rotors: RotorSet) -> None:
        """Write what stays the same."""
        model, block = scenario.model, self.block.pointer
        vehicle = model.vehicles[model.index(team.vehicles[i])]
        own = block.vehicle
        own.mass, own.gravity = vehicle.total_mass, scenario.environment.gravity_m_s2
        own.inertia = inertia_matrix(vehicle.inertia_kg_m2).ravel().tolist()
        own.period = scenario.time.control_s
        own.n_rotors = rotors.count
        for k, (place, spin) in enumerate(
            zip(vehicle.rotors.positions, vehicle.rotors.spins, strict=True)
        ):
            own.rotors[k] = [*map(float, place), float(spin)]
            own.thrust[k] = rotors.thrust_limits.tolist()
        own.torque_per_thrust = vehicle.rotors.torque_per_thrust_m
        inputs = getattr(block, "in")
        inputs.period = own.period
        inputs.self, inputs.n_team = i, self.block.n_team
        inputs.payload = self.block.n_team - 1 if team.payload else -1
        points = attachment_points(model, team) if team.payload else np.zeros((0, 3))
        for k in range(self.block.n_team):
            row = self._rows[k] if self._rows[k] >= 0 else -1 - self._rows[k]
            member = block.team[k]
            member.id, member.mass = k, model.entities[row].mass_kg
            member.attachment = points[k].tolist() if k < len(points) else [np.nan] * 3
            has_cable = k < len(team.cables)
            member.cable_length = model.cables[team.cables[k]].length_m if has_cable else np.nan

    def start(self) -> None:
        """Load a copy."""
        path, control = self._path, self._control
        if self._imu is not None:
            self._imu.reset()
        parameters, latency = control.parameters, control.latency_s
        if not control.isolated:
            self._instance = Instance(path, self.block, parameters, latency)
            return
        self._instance = IsolatedInstance(
            path, self.block.n_team, parameters, latency, control.patience_s
        )
        self._instance.block.floats[:] = self.block.floats
        self.block = self._instance.block
        self._instance.start()

    def step(
        self,
        states: np.ndarray,
        reference: np.ndarray,
        gravity: float,
        time: float,
        out: np.ndarray,
    ) -> None:
        """Write the wrench (4,) that the copy asks for."""
        floats = self.block.floats
        write_input(floats, self._places, states, self._rows, self._own, reference, gravity, time)
        if self._imu is not None:
            told = floats[None, self._inertial]
            told[:] = self._imu.sample(told)
        self._instance.step()  # type: ignore[union-attr]
        if self.block.pointer.status:
            raise LibraryFault(f"reports the error {self.block.pointer.status} in its step")
        kind = self.block.ints[self._kind]
        if not read_output(
            floats, kind, self._out, self._mixing, self._speeds, self._per_speed2, out
        ):
            raise LibraryFault(
                f"asks for what is not finite: kind {kind}, {floats[self._out : self._out + 4].round(6).tolist()} ..."
                if 0 <= kind <= 2
                else f"gives an output of kind {kind}, which is none of ROTOR_WRENCH, ROTOR_FORCES, ROTOR_PWM"
            )

    def logs(self) -> dict[str, float]:
        """Log variables by name."""
        if self._instance is not None:
            self._instance.read_logs()
        block = self.block.pointer
        n = min(block.n_logs, MOST_LOGS)
        return {self.block.text(block.names[k]): block.logs[k] for k in range(n)}

    def close(self) -> None:
        """Let go of the copy."""
        if self._instance is not None:
            self._instance.close()
            self._instance = None
