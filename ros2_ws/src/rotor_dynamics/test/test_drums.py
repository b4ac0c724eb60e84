"""Drums that a torque drives: closed forms, snaps, brakes, and the work of the motor."""

import numpy as np
import pytest
from worlds import state

from rotor_core.errors import ContractError
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import System

G = 9.81
X = np.array([1.0, 0.0, 0.0])


def hung(mass, reflected, *, length=1.0, z=-1.0, v=0.0, vehicle=None, stiffness=0.0):
    """A mass on a drum at the origin, or on one of a vehicle there."""
    bodies = [Body("load", mass)]
    if vehicle is not None:
        bodies.append(Body("vehicle", vehicle))
    holder = WORLD if vehicle is None else 1
    bodies.append(Body("drum", 0.0))
    joint = Joint(WORLD, len(bodies) - 1, X, kind="prismatic", armature=reflected, name="drum")
    cable = Cable(holder, 0, length, winds=True, drum=0, stiffness=stiffness)
    engine = Engine(System(tuple(bodies), (cable,), joints=(joint,)))
    states = [state((0, 0, z), v=(0, 0, v))]
    if vehicle is not None:
        states.append(state())
    engine.set_state(np.array([*states, state()]), joints=np.zeros((1, 2)))
    return engine


@pytest.mark.parametrize("force", [0.0, -2.0, 1.0, -8.0])
def test_a_weight_turns_the_drum(force):
    """(m + J/r^2) a = m g + F, T = J/r^2 a - F."""
    m, reflected = 0.5, 0.2
    engine = hung(m, reflected)
    engine.winches.pull(0, force)
    engine.run(400)
    a = (m * G + force) / (m + reflected)
    assert engine.tensions[0] == pytest.approx(reflected * a - force, rel=1e-11)
    assert engine.update_kinematics()[0, 2] == pytest.approx(-1.0 - 0.5 * a * 0.16, abs=1e-11)
    assert engine.winches.length(0) == pytest.approx(1.0 + 0.5 * a * 0.16, abs=1e-11)
    assert engine.winches.rate(0) == pytest.approx(a * 0.4, abs=1e-11)
    assert engine.lengths[0] == pytest.approx(engine.winches.length(0), abs=1e-15)
    assert abs(engine.accuracy.energy_error_j) < 1e-11


def test_motor_that_pushes_faster_than_the_weight_falls_makes_slack():
    engine = hung(0.5, 0.1)
    engine.winches.pull(0, 3.0)  # 30 m/s^2
    engine.run(50)
    assert not engine.taut[0]
    assert engine.winches.rate(0) == pytest.approx(30.0 * 0.05, rel=1e-12)


def test_a_snap_turns_the_drum():
    """p (1/m + r^2/J) = closing speed: the drum takes its share."""
    m, reflected, v = 0.5, 0.3, 2.0
    engine = hung(m, reflected, z=-0.9, v=-v)
    engine.winches.pull(0, 0.0)
    engine.run(100)
    (snap,) = [e for e in engine.take_events() if e.type == "snap"]
    speed = np.sqrt(v**2 + 2.0 * G * 0.1)
    assert snap.impulses[0] == pytest.approx(speed / (1.0 / m + 1.0 / reflected), rel=1e-10)
    assert engine.taut[0]


def test_the_brake_holds_and_lets_go():
    engine = hung(0.5, 0.2)
    engine.winches.pull(0, 0.0)
    engine.run(100)
    speed = engine.winches.rate(0)
    engine.take_events()
    engine.winches.lock(0)
    (snap,) = [e for e in engine.take_events() if e.type in ("snap", "settle")]
    assert snap.impulses[0] == pytest.approx(
        0.5 * speed, rel=1e-10
    )  # the weight stops, the brake takes the drum
    there = engine.winches.length(0)
    engine.run(300)
    assert engine.winches.length(0) == there
    assert engine.winches.is_locked(0)
    assert engine.tensions[0] == pytest.approx(0.5 * G, rel=1e-9)
    engine.winches.pull(0, 0.0)
    engine.run(1)
    assert engine.tensions[0] == pytest.approx(0.5 * 0.2 * G / 0.7, rel=1e-9)


def test_the_work_of_the_motor_lifts_the_load_and_turns_the_drum():
    m, reflected = 0.5, 0.2
    engine = hung(m, reflected)
    engine.winches.pull(0, -7.0)
    engine.run(300)
    z, rate = engine.update_kinematics()[0, 2], engine.winches.rate(0)
    gained = m * G * (z + 1.0) + 0.5 * (m + reflected) * rate**2
    assert gained == pytest.approx(-7.0 * (engine.winches.length(0) - 1.0), abs=1e-10)
    assert abs(engine.accuracy.energy_error_j) < 1e-10


def test_a_heavy_drum_is_a_winch_that_stands():
    for reflected in (1e3, 1e6):
        engine = hung(0.5, reflected)
        engine.winches.pull(0, 0.0)
        engine.run(200)
        assert engine.winches.length(0) - 1.0 == pytest.approx(
            0.5 * 0.5 * G / reflected * 0.04, rel=1e-3
        )


def test_a_drum_on_a_vehicle_keeps_momentum_and_shares_the_pull():
    """In free fall the cable feels only the motor: T = F / (1 + M (1/m1 + 1/m2)), M that of the drum."""
    m1, m2, reflected, force = 0.5, 1.5, 0.2, -3.0
    engine = hung(m1, reflected, vehicle=m2)
    engine.winches.pull(0, force)
    engine.run(100)
    share = 1.0 / m1 + 1.0 / m2
    tension = -force / (1.0 + reflected * share)
    assert engine.tensions[0] == pytest.approx(tension, rel=1e-10)
    motion = engine.update_kinematics()
    assert m1 * motion[0, 9] + m2 * motion[1, 9] == pytest.approx(-(m1 + m2) * G * 0.1, rel=1e-12)
    assert abs(engine.accuracy.energy_error_j) < 1e-10


def test_an_elastic_cable_swings_on_its_drum():
    """Two masses, m and J/r^2, on a spring: w^2 = k (1/m + r^2/J). RK4 at 1 ms misses (w h)^5 / 120 of it a step."""
    m, reflected, k = 0.5, 0.2, 400.0
    engine = hung(m, reflected, stiffness=k, z=-1.01)
    engine.winches.pull(0, -2.0)
    w = np.sqrt(k * (1.0 / m + 1.0 / reflected))
    engine.run_until(0.5 * np.pi / w * 0.9)
    stretch = -engine.update_kinematics()[0, 2] - engine.winches.length(0)
    offset = (G + 2.0 / reflected) / w**2  # where the stretch would rest
    exact = offset + (0.01 - offset) * np.cos(0.9 * 0.5 * np.pi)
    assert stretch == pytest.approx(exact, abs=3e-8)
    assert abs(engine.accuracy.energy_error_j) < 1e-8


def test_what_has_no_drum_cannot_be_pulled_at():
    engine = hung(0.5, 0.2)
    with pytest.raises(ContractError, match="force must be finite"):
        engine.winches.pull(0, np.nan)
    with pytest.raises(ContractError, match="a torque drives its drum"):
        engine.winches.act(0, 1.0)
