"""Drag of boxes and cylinders with its moments: every part of a face feels its own air. Equations (R.22)-(R.24)."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

from rotor_core.config.environment import Environment
from rotor_core.config.vehicles.body import Vector
from rotor_core.config.yaml.structure import bounded
from rotor_core.kernels.jit import inlined, kernel
from rotor_core.math.vec3 import add, cross, get3
from rotor_dynamics.forces.element import ForceElement

JOESSEL = 0.3
"""Centre of pressure before the middle of a plate that meets the air edge-on, over its length: Joëssel's law."""

DISC = 0.5 * np.sqrt(np.pi)
"""Edge of the square that has the area of a disc, over its diameter."""

STATIONS = tuple(
    (float(x), float(w)) for x, w in zip(*np.polynomial.legendre.leggauss(4), strict=True)
)
"""Gauss points along a face, from -1 to 1, and their weights: a face that turns about its middle errs by 0.9 %."""


@dataclass(frozen=True)
class ShapeDrag:
    """Drag of a payload's shape: force against the air, moments that damp its rates and turn it across the flow.

    ``size_m``: edges of the box along the axes of the body; of a cylinder about z: diameter, diameter, length.
    ``drag_coefficient``: of a face square to the air, along each axis: 1.05 for a cube, 1.2 for plates and long
    cylinders. ``pressure_shift``: the centre of pressure of a face that meets the air edge-on lies so far before its
    middle, over its length; 0.3 is that of plates, 0 holds it in the middle. ``centre_m``: of the shape, in body axes.
    Replaces ``drag`` of the body: give one of them.
    """

    type: str
    body: str
    size_m: Vector = bounded(gt=0.0)
    shape: Literal["box", "cylinder"] = "box"
    drag_coefficient: Vector = bounded((1.05, 1.05, 1.05), ge=0.0, le=3.0)
    pressure_shift: float = bounded(JOESSEL, ge=0.0, le=0.5)
    centre_m: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        x, y, _ = self.size_m
        if self.shape == "cylinder" and x != y:
            raise ValueError(f"size_m: a cylinder about z has one diameter, got {x:g} and {y:g}.")


def parameters(keys: ShapeDrag, environment: Environment) -> tuple[float, ...]:
    """Half the density times coefficients (3), sizes (3), centre (3), shift, 1 for a cylinder."""
    pressures = (0.5 * environment.air.density * c for c in keys.drag_coefficient)
    return (
        *pressures,
        *keys.size_m,
        *keys.centre_m,
        keys.pressure_shift,
        float(keys.shape == "cylinder"),
    )


@inlined
def shifted(square, flow, other, reach):
    """Centre of pressure of a face along one of its edges, from its middle, m (R.24).

    Args:
        square: air speed square to the face.
        flow: that along the edge; ``other``: along the other one.
        reach: the shift where the air meets the face edge-on, m.
    """
    level = flow * flow + other * other
    total = square * square + level
    if total == 0.0:
        return 0.0
    # 1 - sin = cos^2 / (1 + sin), which has no corner where the air is square to the face
    return reach * flow * sqrt(level) / (total + abs(square) * sqrt(total))


@inlined
def face(square, rates, flows, sizes, pressure, shift):
    """Force along the normal of a face, and the sums of place times force along either edge (R.22), (R.24).

    Args:
        square: speed of the middle against the air along the normal.
        rates: how that speed grows along either edge, 1/s.
        flows: air speeds of the middle along either edge.
        sizes: lengths of the edges, m.
        pressure: half the density times the coefficient.
        shift: see :class:`ShapeDrag`.
    """
    force, first, second = 0.0, 0.0, 0.0
    for x, w_x in STATIONS:
        for y, w_y in STATIONS:
            p, q = 0.5 * sizes[0] * x, 0.5 * sizes[1] * y
            speed = square + rates[0] * p + rates[1] * q
            part = -0.25 * w_x * w_y * sizes[0] * sizes[1] * pressure * abs(speed) * speed
            force += part
            first += p * part
            second += q * part
    first += force * shifted(square, flows[0], flows[1], shift * sizes[0])
    second += force * shifted(square, flows[1], flows[0], shift * sizes[1])
    return force, first, second


@inlined
def side(air, omega, size, pressure, shift):
    """Force across the axis of a cylinder and its moments about x and y, from strips along z (R.23), (R.24)."""
    f_x, f_y, m_x, m_y = 0.0, 0.0, 0.0, 0.0
    for z, w in STATIONS:
        place = 0.5 * size[2] * z
        u_x, u_y = air[0] + omega[1] * place, air[1] - omega[0] * place
        part = -0.5 * w * size[0] * size[2] * pressure * sqrt(u_x * u_x + u_y * u_y)
        f_x, f_y = f_x + part * u_x, f_y + part * u_y
        m_x, m_y = m_x - place * part * u_y, m_y + place * part * u_x
    square = sqrt(air[0] * air[0] + air[1] * air[1])
    place = shifted(square, air[2], 0.0, shift * size[2])
    return f_x, f_y, m_x - place * f_y, m_y + place * f_x


@kernel
def formula(parameters, motion):
    """Force and moment in the axes of the body."""
    pressure, size, centre = get3(parameters, 0), get3(parameters, 3), get3(parameters, 6)
    shift, omega = parameters[9], motion.body_rate
    u, v, w = add(motion.airspeed, cross(omega, centre))
    if parameters[10] != 0.0:
        f_x, f_y, m_x, m_y = side((u, v, w), omega, size, pressure[0], shift)
        edge = DISC * size[0]
        f_z, x, y = face(w, (-omega[1], omega[0]), (u, v), (edge, edge), pressure[2], shift)
        force, moment = (f_x, f_y, f_z), (m_x + y, m_y - x, 0.0)
    else:
        f_x, y_x, z_x = face(
            u, (-omega[2], omega[1]), (v, w), (size[1], size[2]), pressure[0], shift
        )
        f_y, z_y, x_y = face(
            v, (-omega[0], omega[2]), (w, u), (size[2], size[0]), pressure[1], shift
        )
        f_z, x_z, y_z = face(
            w, (-omega[1], omega[0]), (u, v), (size[0], size[1]), pressure[2], shift
        )
        force, moment = (f_x, f_y, f_z), (y_z - z_y, z_x - x_z, x_y - y_x)
    return force, add(moment, cross(centre, force))


SHAPE_DRAG = ForceElement(ShapeDrag, parameters, formula)
