"""Rotors on a stand and helicopters in free flight, built from the shipped vehicle, for tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rotor_core.config.environment import Air, Environment
from rotor_core.config.helicopter import Hinge
from rotor_core.config.loader import load_scenario
from rotor_core.config.model import Model, Vehicle
from rotor_core.config.schema import Scenario, Timing
from rotor_sim.engine import Engine
from rotor_sim.model.body import WORLD
from rotor_sim.model.helicopter import rotor_parts
from rotor_sim.model.system import System

OMEGA = 167.0
STANDARD = Air(temperature_c=273.0 * 1.293 / 1.225 - 273.0)
"""Of 1.225 kg/m^3, the density of the specification."""
FLAP, PITCH = Hinge("flap", stiffness_n_m_per_rad=54.0), Hinge("pitch")
LAG = Hinge("lag", 0.055, damping_n_m_s_per_rad=1.0)


def scenario() -> Scenario:
    return load_scenario("helicopter_hover")


def xcell(**rotor: object) -> Vehicle:
    """The shipped helicopter with some fields of its main rotor changed."""
    vehicle = scenario().model.vehicles[0]
    assert vehicle.helicopter is not None
    changed = replace(vehicle.helicopter.main_rotor, **rotor)  # type: ignore[arg-type]
    return replace(vehicle, helicopter=replace(vehicle.helicopter, main_rotor=changed))


def flying(
    vehicle: Vehicle, *, step: float = 2.0 * np.pi / OMEGA / 180.0, **environment: object
) -> Scenario:
    """A scenario with one helicopter that is controlled at every step."""
    environment.setdefault("air", STANDARD)
    return replace(
        scenario(),
        model=Model((vehicle,)),
        initial=(),
        time=Timing(step_s=step, control_s=step),
        environment=Environment(**environment),  # type: ignore[arg-type]
    )


class Stand:
    """A rotor on a stand: it turns at a given speed, its blades are pitched by given functions of the azimuth.

    Args:
        vehicle: whose rotor.
        collective, cosine, sine: of the pitch, rad.
        inflow: held, m/s; None lets momentum theory decide.
        steps: per turn.
        driven_pitch: the pitch is what the swashplate says; otherwise the pitch links hold it.
    """

    def __init__(
        self, vehicle: Vehicle, *, collective: float = 0.0959, cosine: float = 0.0, sine: float = 0.0,
        inflow: float | None = 4.17, steps: int = 72, driven_pitch: bool = True, gravity: float = 9.81,
    ) -> None:  # fmt: skip
        assert vehicle.helicopter is not None
        rotor = vehicle.helicopter.main_rotor
        parts = rotor_parts(vehicle, WORLD, 0, 0, 0, gravity, 1.225)
        joints = []
        for i, joint in enumerate(parts.joints):
            drive = i == 0 or (driven_pitch and joint.name.endswith("pitch"))
            joints.append(replace(joint, driven=drive))
        blades = (
            [replace(b, pitch_joint=-1) for b in parts.blades] if driven_pitch else parts.blades
        )
        disc = replace(parts.disc, law="held") if inflow is not None else parts.disc
        system = System(
            parts.bodies, joints=tuple(joints), discs=(disc,), blades=tuple(blades), gravity=gravity
        )
        self.steps, self.rotor = steps, rotor
        self.engine = Engine(system, step=2.0 * np.pi / rotor.speed_rad_s / steps)
        drive = self.engine.joints
        drive._write_motion(0, np.array([0.0, rotor.speed_rad_s]), np.inf)
        names = [h.type for h in rotor.hinges]
        size, phase = np.hypot(cosine, sine), np.arctan2(cosine, sine)
        states = np.zeros((len(joints), 2))
        states[0, 1] = rotor.speed_rad_s
        for b in range(rotor.blades):
            i = 1 + b * len(names) + names.index("pitch")
            states[i, 0] = collective
            if driven_pitch:
                drive.hold(i, collective)
                turn = phase + 2.0 * np.pi * b / rotor.blades
                drive.oscillate(i, size, rotor.speed_rad_s / (2.0 * np.pi), turn)
        bodies = np.zeros((len(system.bodies), 13))
        bodies[:, 3] = 1.0
        self.engine.swash.write(np.array([[collective, cosine, sine]]), at_once=True)
        self.engine.swash.write_inflow(np.array([4.17 if inflow is None else inflow]))
        self.engine.set_state(bodies, joints=states)

    def blow(self, wind: tuple[float, float, float]) -> None:
        """Let air flow through the wind tunnel, m/s."""
        self.engine.set_wind(np.tile(wind, (len(self.engine.system.bodies), 1)))

    def turn(self, turns: int) -> None:
        self.engine.run(turns * self.steps)

    def angles(self, hinge: str) -> np.ndarray:
        """Angle of the first blade about a hinge over one turn from the tail on."""
        i = 1 + [h.type for h in self.rotor.hinges].index(hinge)
        found = np.empty(self.steps)
        for k in range(self.steps):
            found[k] = self.engine.joints.angles[i]
            self.engine.run(1)
        return found

    def mean(self, what: str, samples: int | None = None) -> float:
        """Mean of a property of the swash drive over one turn."""
        total = 0.0
        for _ in range(self.steps):
            total += float(getattr(self.engine.swash, what)[0])
            self.engine.run(1)
        return total / self.steps
