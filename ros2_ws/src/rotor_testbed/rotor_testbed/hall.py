"""The laboratory as a whole, without ROS: a plant, its motion capture and the estimators on board."""

from __future__ import annotations

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError
from rotor_testbed.estimator import Estimator
from rotor_testbed.imu import Imu
from rotor_testbed.mocap import Frame, Mocap
from rotor_testbed.plant import Plant
from rotor_testbed.settings import LaboratorySettings


class Testbed:
    """A world in control periods, as a controller meets it; the same for the same seed.

    Vehicles carry inertial units, payloads only markers.

    Attributes:
        names: vehicles, then payloads: the rows of states.
        period: control periods since the start.
        plant, mocap: what it consists of.
    """

    def __init__(
        self, scenario: Scenario, settings: LaboratorySettings | None = None, seed: int = 0
    ) -> None:
        settings = settings or LaboratorySettings()
        self._control = scenario.time.control_s
        ratio = self._control / settings.step_s
        if abs(ratio - round(ratio)) > 1e-6 or round(ratio) < 1:
            raise ConfigError(
                f"laboratory.step_s: time.control_s ({self._control:g} s) must be a whole multiple of it, got "
                f"{settings.step_s:g} s. Change one of them."
            )
        self.names = [e.name for e in scenario.model.entities]
        n, gravity = len(self.names), scenario.environment.gravity_m_s2
        streams = np.random.SeedSequence(seed).spawn(3)
        self.plant = Plant(scenario, settings, streams[0])
        self.mocap = Mocap(n, settings.mocap, streams[1])
        self._imu = Imu(n, settings.onboard, gravity, streams[2])
        self._truth = self.plant.states
        has_imu = np.arange(n) < self.plant.n_vehicles
        self._estimator = Estimator(self._truth, has_imu, settings.onboard, gravity)
        self._fresh: list[Frame] = []
        self.period = 0
        self._take_frames()

    @property
    def time(self) -> float:
        """Time since the start, s."""
        return self.period * self._control

    @property
    def truth(self) -> np.ndarray:
        """True states at the present, (n, 13)."""
        return self._truth

    @property
    def estimates(self) -> np.ndarray:
        """States as estimated on board, (n, 13)."""
        return self._estimator.states

    def begin(self, wrenches: np.ndarray) -> None:
        """Let the vehicles, held until now with their motors up, go: see :meth:`Plant.spin_up`."""
        self.plant.spin_up(wrenches)

    def act(self, wrenches: np.ndarray) -> None:
        """Send wrenches (n_vehicles, 4) to the vehicles: see :meth:`Plant.act`."""
        self.plant.act(wrenches)

    def step(self) -> None:
        """Let one control period pass."""
        before = self._truth
        self.period += 1
        self._take_frames()
        self._truth = self.plant.states
        reading = self._imu.read(before, self._truth, self._control)
        self._estimator.predict(self.time, reading)
        for frame in self.mocap.arrived(self.time):
            self._estimator.correct(frame.captured, frame.seen, self.mocap.body_poses(frame))
            self._fresh.append(frame)

    def _take_frames(self) -> None:
        """Advance the plant to the present; cameras take what is due on the way."""
        while self.mocap.next_capture <= self.time + 1e-9:
            self.plant.advance(self.mocap.next_capture - self.plant.time)
            self.mocap.capture(self.mocap.next_capture, self.plant.states[:, :7])
        self.plant.advance(self.time - self.plant.time)

    def take_frames(self) -> list[Frame]:
        """Frames of motion capture that have arrived since the last call."""
        out, self._fresh = self._fresh, []
        return out
