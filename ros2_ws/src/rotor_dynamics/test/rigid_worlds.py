"""Boxes and balls in rigid contact, for tests."""

import numpy as np

from rotor_core.math.polyhedron import CORNERS
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.solid import RigidContact, Solid
from rotor_dynamics.model.system import System

G = 9.81
STEP = 1e-3
GROUND = Solid(WORLD, np.zeros((1, 3)), is_ground=True)
SIZE = np.array([0.3, 0.2, 0.1])
CUBE = np.full(3, 0.2)


def box_body(name="box", mass=1.0, size=SIZE):
    x, y, z = size
    return Body(name, mass, mass / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y]))


def ball_body(radius=0.1, mass=1.0):
    return Body("ball", mass, 0.4 * mass * radius**2 * np.eye(3))


def box(index, size=SIZE):
    return Solid(index, 0.5 * np.asarray(size) * CORNERS)


def ball(index, radius=0.1):
    return Solid(index, np.zeros((1, 3)), ball=radius)


def state(p=(0, 0, 0), q=(1, 0, 0, 0), v=(0, 0, 0), w=(0, 0, 0)):
    return np.array([*p, *q, *v, *w], float)


def made(bodies, solids, rows, law=None, **system):
    law = RigidContact() if law is None else law
    engine = Engine(System(tuple(bodies), solids=tuple(solids), rigid=law, **system), step=STEP)
    engine.set_state(np.array(rows))
    return engine


def energy(engine):
    """Kinetic energy and height of all bodies, J."""
    total = 0.0
    for body, row in zip(engine.system.bodies, engine.update_kinematics(), strict=True):
        v, w = row[7:10], row[10:13]
        total += body.mass * (0.5 * v @ v + engine.system.gravity * row[2])
        total += 0.5 * w @ body.inertia_B @ w
    return total
