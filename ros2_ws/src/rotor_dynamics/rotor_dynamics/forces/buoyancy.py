"""Buoyancy: the weight of the displaced air lifts a body at the centre of its volume. Equation (R.19)."""

from __future__ import annotations

from dataclasses import dataclass

from rotor_core.config.environment import Environment
from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.structure import bounded
from rotor_core.kernels.jit import kernel
from rotor_core.math.vec3 import apply_transposed, cross, get3
from rotor_dynamics.forces.element import ForceElement


@dataclass(frozen=True)
class Buoyancy:
    """Lift of a volume of displaced air, such as a balloon; the added mass of the air that moves along is left out.

    ``centre_m``: of the volume, in body axes. Density and gravity are those of the environment.
    """

    type: str
    body: str
    volume_m3: float = bounded(gt=0.0)
    centre_m: Vector = (0.0, 0.0, 0.0)


def parameters(keys: Buoyancy, environment: Environment) -> tuple[float, ...]:
    """Lift in N and centre in m."""
    return environment.air.density * keys.volume_m3 * environment.gravity_m_s2, *keys.centre_m


@kernel
def formula(parameters, motion):
    """Force and moment in the axes of the body."""
    force = apply_transposed(motion.attitude, (0.0, 0.0, parameters[0]))
    return force, cross(get3(parameters, 1), force)


BUOYANCY = ForceElement(Buoyancy, parameters, formula)
