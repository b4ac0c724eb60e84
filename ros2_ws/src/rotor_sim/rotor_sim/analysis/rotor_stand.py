"""A main rotor on a stand: thrust, torque and flapping of a rotor that does not fly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rotor_core.config.model import Vehicle
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD
from rotor_dynamics.model.system import System
from rotor_sim.plant.helicopter import rotor_parts


class RotorStand:
    """A rotor on a stand, or in a wind tunnel: it turns at a given speed, its blades are pitched as a swashplate would.

    Args:
        vehicle: whose rotor.
        collective, cosine, sine: of the pitch, which the blades follow exactly, rad.
        inflow: held, m/s; None lets momentum theory decide, beginning with ``first_inflow``.
        first_inflow: m/s.
        steps: per turn.
        gravity: m/s^2.
        density: of the air, kg/m^3.

    Attributes:
        engine: the world.
        rotor: what stands there.
    """

    def __init__(
        self, vehicle: Vehicle, *, collective: float, cosine: float = 0.0, sine: float = 0.0,
        inflow: float | None = None, first_inflow: float = 1.0, steps: int = 72, gravity: float = 9.81,
        density: float = 1.225,
    ) -> None:  # fmt: skip
        assert vehicle.helicopter is not None
        rotor = vehicle.helicopter.main_rotor
        parts = rotor_parts(vehicle, WORLD, 0, 0, 0, gravity, density)
        pitches = {blade.pitch_joint for blade in parts.blades}
        joints = tuple(
            replace(joint, driven=i == 0 or i in pitches) for i, joint in enumerate(parts.joints)
        )
        blades = tuple(replace(blade, pitch_joint=-1) for blade in parts.blades)
        disc = replace(parts.disc, law="held") if inflow is not None else parts.disc
        system = System(parts.bodies, joints=joints, discs=(disc,), blades=blades, gravity=gravity)
        self.steps, self.rotor = steps, rotor
        self.engine = Engine(system, step=2.0 * np.pi / rotor.speed_rad_s / steps)
        drive = self.engine.joints
        size, phase = np.hypot(cosine, sine), np.arctan2(cosine, sine)
        states = np.zeros((len(joints), 2))
        states[0, 1] = rotor.speed_rad_s
        for b, i in enumerate(sorted(pitches)):
            states[i, 0] = collective
            drive.hold(i, collective)
            turn = phase + 2.0 * np.pi * b / rotor.blades
            drive.oscillate(i, size, rotor.speed_rad_s / (2.0 * np.pi), turn)
        bodies = np.zeros((len(system.bodies), 13))
        bodies[:, 3] = 1.0
        self.engine.swash.write(np.array([[collective, cosine, sine]]), at_once=True)
        self.engine.swash.write_inflow(np.array([first_inflow if inflow is None else inflow]))
        self.engine.set_state(bodies, joints=states)
        drive.prescribe(0, np.array([0.0, rotor.speed_rad_s]))

    def blow(self, wind: tuple[float, float, float]) -> None:
        """Let air flow through the wind tunnel, m/s."""
        self.engine.set_wind(np.tile(wind, (len(self.engine.system.bodies), 1)))

    def turn(self, turns: int) -> None:
        """Let it turn."""
        self.engine.run(turns * self.steps)

    def angles(self, hinge: str) -> np.ndarray:
        """Angle of the first blade about a hinge over one turn from the tail on."""
        i = 1 + [h.type for h in self.rotor.hinges].index(hinge)
        found = np.empty(self.steps)
        for k in range(self.steps):
            found[k] = self.engine.joints.angles[i]
            self.engine.run(1)
        return found

    def mean(self) -> tuple[float, float]:
        """Mean thrust N and torque N m of the air over one turn."""
        thrust, torque = 0.0, 0.0
        for _ in range(self.steps):
            thrust += float(self.engine.swash.thrusts[0]) / self.steps
            torque += float(self.engine.swash.torques[0]) / self.steps
            self.engine.run(1)
        return thrust, torque
