"""Cables on what they wrap around, while something else is changed: they lie as they do."""

from math import cos, pi, sin

import numpy as np
import pytest

from rotor_core.math.polyhedron import CORNERS, Polyhedron
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable, Sheave
from rotor_dynamics.model.system import System
from rotor_dynamics.reconfigure import attached, rebuilt, released

LENGTH = 1.5
AXIS = np.array([0.0, 1.0, 0.0])
CENTRE = np.array([0.0, 0.0, -0.5])


def swinging(kind, friction):
    """A bob that swings against a peg or box below its pivot; two boxes are far away."""
    shape = Polyhedron.around(0.1 * CORNERS) if kind == "box" else None
    around = Sheave(
        WORLD,
        CENTRE,
        AXIS,
        0.0 if shape else 0.1,
        friction=friction,
        polyhedron=shape,
    )
    J = np.diag([1e-3, 1e-3, 1e-3])
    bodies = Body("bob", 0.3), Body("one", 0.2, J), Body("other", 0.2, J)
    engine = Engine(System(bodies, (Cable(WORLD, 0, LENGTH, through=(around,)),)))
    states = np.zeros((3, 13))
    states[:, 3], angle = 1.0, pi + 0.1
    states[0, :3] = LENGTH * cos(angle), 0.0, LENGTH * sin(angle)
    states[0, 7:10] = -6.0 * sin(angle), 0.0, 6.0 * cos(angle)
    states[1, 0], states[2, :3] = 5.0, (5.0, 0.0, -0.3)
    engine.set_state(states)
    return engine


@pytest.mark.parametrize("friction", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["peg", "box"])
def test_what_happens_elsewhere_does_not_unwrap_them(kind, friction):
    """Joining and parting two others, and setting the state of one: tensions and motion are those without."""
    plain, changed = swinging(kind, friction), swinging(kind, friction)
    for engine in (plain, changed):
        engine.run(500)
        assert any(event.cause == "wraps" for event in engine.take_events())
    straight = np.linalg.norm(changed.update_kinematics()[0, :3])
    assert straight < LENGTH - 0.02 and changed.tensions[0] > 5.0
    tension = changed.tensions.copy()
    changed = rebuilt(changed, *attached(changed, 1, 2), after=changed)
    np.testing.assert_allclose(changed.tensions, tension, rtol=1e-12)
    changed.run(50)
    states = changed.update_kinematics()[:, :13].copy()
    changed = rebuilt(
        changed, released(changed.system, 2), states, changed.joints.states, after=changed
    )
    changed.run(50)
    states = changed.update_kinematics()[:, :13].copy()
    states[1, :3] = 7.0, 1.0, 0.0
    changed.set_state(states)
    changed.run(100)
    plain.run(200)
    told = [(e.type, e.cause, pytest.approx(e.time, abs=1e-9)) for e in plain.take_events()]
    assert [(e.type, e.cause, e.time) for e in changed.take_events()] == told
    np.testing.assert_allclose(changed.tensions, plain.tensions, rtol=1e-9)
    np.testing.assert_allclose(
        changed.update_kinematics()[0, :13], plain.update_kinematics()[0, :13], atol=1e-9
    )


def test_a_cable_whose_body_is_put_elsewhere_is_laid_anew():
    engine = swinging("peg", 0.0)
    engine.run(500)
    states = engine.update_kinematics()[:, :13].copy()
    states[0, 0] -= 1e-3
    engine.set_state(states)
    assert engine.tensions[0] == 0.0 and not engine.taut[0]
