"""Hover trim HE-1 of the specification: a fuselage held by six joints, blades pitched by decree, reactions averaged.

Unlike :mod:`rotor_sim.analysis.trim` in everything but the equations of motion: nothing flies, pitch links are rigid, the
rotor is marched until it repeats.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from rotor_rigs import OMEGA, flying

from rotor_core.config.model import Vehicle
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.joint import Joint
from rotor_sim.plant.system import system_from_scenario

AXES = np.eye(3)
HOLDING = 6
"""Joints that hold the fuselage: x, y, z, yaw, pitch, roll."""


@dataclass(frozen=True)
class Hover:
    """Unknowns (collective, cosine, sine, tail force, roll, pitch), and the state of the rotor that goes with them."""

    unknowns: np.ndarray
    residual: float
    joints: np.ndarray
    inflow: float
    torque: float
    thrust: float


class HeldHelicopter:
    def __init__(self, vehicle: Vehicle, *, steps: int = 48) -> None:
        system = system_from_scenario(flying(vehicle))
        n = len(system.bodies)
        holders = [Body(f"holder{i}", 0.0) for i in range(HOLDING - 1)]
        chain = [*range(n, n + HOLDING - 1), 0]
        kinds = ["prismatic"] * 3 + ["revolute"] * 3
        axes = [*AXES, *AXES[::-1]]
        before = [WORLD, *chain[:-1]]
        holding = tuple(
            Joint(before[i], chain[i], axes[i], kind=kinds[i], driven=True)  # type: ignore[arg-type]
            for i in range(HOLDING)
        )
        driven = tuple(
            replace(j, driven=k == 0 or j.name.endswith("pitch"), armature=0.0)
            for k, j in enumerate(system.joints)
        )
        blades = tuple(replace(b, pitch_joint=-1) for b in system.blades)
        self.disc = replace(system.discs[0], joint=system.discs[0].joint + HOLDING)
        self.system = replace(
            system, bodies=(*system.bodies, *holders), joints=(*holding, *driven), blades=blades,
            discs=(self.disc,),
        )  # fmt: skip
        self.engine = Engine(self.system, step=2.0 * np.pi / OMEGA / steps)
        self.steps = steps
        names = [j.name for j in self.system.joints]
        self.pitches = [i for i, name in enumerate(names) if name.endswith("pitch")]
        self.azimuth = HOLDING
        self.joints = np.zeros((len(names), 2))
        self.inflow = 4.17

    def set(self, unknowns: np.ndarray) -> None:
        collective, cosine, sine, tail, roll, pitch = unknowns
        engine, drive = self.engine, self.engine.joints
        drive.hold(4, pitch)
        drive.hold(5, roll)
        drive._write_motion(self.azimuth, np.array([0.0, OMEGA]), np.inf)
        for b, i in enumerate(self.pitches):
            drive.hold(i, collective)
            phase = np.arctan2(cosine, sine) + 2.0 * np.pi * b / len(self.pitches)
            drive.oscillate(i, np.hypot(cosine, sine), OMEGA / (2.0 * np.pi), phase)
        engine.world.inputs[0, 3] = tail
        bodies = np.zeros((len(self.system.bodies), 13))
        bodies[:, 3] = 1.0
        engine.swash.write_inflow(np.array([self.inflow]))
        engine.set_state(bodies, joints=self.joints, time=0.0)

    def reactions(self, unknowns: np.ndarray, turns: int = 37) -> np.ndarray:
        """Mean forces and moments that hold the fuselage, N and N m, once the rotor repeats."""
        self.set(unknowns)
        self.engine.run((turns - 1) * self.steps)
        found, self.torque, self.thrust = np.zeros(HOLDING), 0.0, 0.0
        for _ in range(self.steps):
            efforts = self.engine.joints.driving_efforts
            found += efforts[:HOLDING] / self.steps
            self.torque += efforts[self.azimuth] / self.steps
            self.thrust += self.engine.swash.thrusts[0] / self.steps
            self.engine.run(1)
        return found

    def remember(self) -> None:
        """Begin the next march where the rotor is now."""
        self.joints = self.engine.joints.states.copy()
        self.joints[self.azimuth, 0] = 0.0
        self.inflow = float(self.engine.swash.inflow[0])

    def trim(self, guess: np.ndarray) -> Hover:
        """Newton's method with differences until the reactions vanish."""
        x = np.array(guess, float)
        for _ in range(8):
            r = self.reactions(x)
            self.remember()
            if np.abs(r).max() < 1e-7:
                break
            r = self.reactions(x)
            J = np.stack([(self.reactions(x + d) - r) / 1e-4 for d in 1e-4 * np.eye(6)], axis=1)
            x = x - np.linalg.solve(J, r)
        r = self.reactions(x, 60)
        self.remember()
        return Hover(x, float(np.abs(r).max()), self.joints, self.inflow, self.torque, self.thrust)
