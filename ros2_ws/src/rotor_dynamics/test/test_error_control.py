"""Error control of fixed steps: light links, thin bars, energy accounts, and what it leaves alone."""

from dataclasses import replace

import numpy as np
import pytest
from worlds import BOX, begun, oracle, play, random_world, started, state

from rotor_core.errors import SolverError
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.system import WORLD, Cable, Drag, Rotor, System
from validation.oracles import kkt
from validation.stress.flight import flown
from validation.stress.light_links import hook_world, thin_bar_world

SMOOTH = [seed for seed in range(40) if seed % 4 == 0]


def flown_states(world, step, seconds, **options):
    engine = Engine(world.system, step=step, **options)
    engine.set_state(world.states)
    engine.run(round(seconds / step))
    return engine.update_kinematics()[:, :13].copy(), engine


@pytest.mark.parametrize("step", [1e-3, 5e-3, 10e-3])
@pytest.mark.parametrize("ratio", [10, 100, 1000, 10000])
def test_a_light_hook_gains_no_energy(ratio, step):
    """Goal: below 1e-6 of the scale; without control hundred-fold loads gain 1e-5 at 1 ms, thousand-fold 1e-3."""
    for seed in (0, 1):
        outcome = flown(hook_world(ratio, seed=seed), 1.0, step)
        assert not outcome.failure
        assert outcome.gain < 1e-7
        assert outcome.substeps > 100


def test_without_control_the_hook_gains_energy():
    """What the test before protects from."""
    assert flown(hook_world(1000), 0.2, 1e-3, tolerance=np.inf).gain > 1e-5


def test_a_thin_bar_keeps_the_promise_of_the_reference_cases():
    """1e-7 rad/s after 2 s at 1 ms, against the adaptive method; without control a hundred times that."""
    world = thin_bar_world()
    exact, _ = flown_states(world, 1e-3, 2.0, integrator="dopri5", tolerance=1e-13)
    found, engine = flown_states(world, 1e-3, 2.0)
    free, _ = flown_states(world, 1e-3, 2.0, tolerance=np.inf)
    assert np.abs(found - exact)[:, 10:13].max() < 1e-7
    assert np.abs(found - exact)[:, :3].max() < 5e-8
    assert np.abs(free - exact)[:, 10:13].max() > 1e-6
    assert engine.accuracy.error_body == "bar"
    assert engine.accuracy.substeps > 1000


@pytest.mark.parametrize("seed", SMOOTH)
def test_where_no_step_is_cut_the_bits_are_those_without_control(seed):
    world = random_world(seed, speed=0.3)
    controlled, free = begun(world), begun(world, tolerance=np.inf)
    play(world, controlled, 0.2), play(world, free, 0.2)
    if controlled.accuracy.substeps == 0:
        np.testing.assert_array_equal(controlled.motion, free.motion)
    else:
        assert controlled.accuracy.error_rate_max < free.accuracy.error_rate_max


def test_the_estimate_is_the_error_of_a_linear_oscillation():
    """A torsion spring: the local error of the rate is z^5 / 120 of its amplitude per step (E.2)."""
    stiffness, inertia = 40.0, 1e-3  # 200 rad/s
    base = Body("base", 1e6, 1e6 * np.eye(3))
    link = Body("link", 0.1, inertia * np.eye(3))
    joint = Joint(0, 1, np.array([0.0, 0.0, 1.0]), stiffness=stiffness)
    system = System((base, link), gravity=0.0, joints=(joint,))
    engine = Engine(system, step=1e-3, tolerance=np.inf)
    engine.set_state(np.array([state(), state()]), joints=np.array([[0.1, 0.0]]))
    engine.run(100)
    z = np.sqrt(stiffness / inertia) * 1e-3
    amplitude = 0.1 * z / 1e-3
    assert engine.accuracy.error_rate_max == pytest.approx(z**5 / 120.0 * amplitude / 1e-3, rel=0.3)


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_the_energy_account_is_that_of_the_oracle(seed):
    """Change of the total energy, plus what the impacts took: nothing else works in these worlds."""
    world = random_world(seed, driven=False)
    bodies, _ = oracle(world.system)
    engine = begun(world)
    engine.take_events()
    start = kkt.total_energy(bodies, engine.motion[:, :13])
    end = kkt.total_energy(bodies, play(world, engine, 0.3).motion[:, :13])
    taken = sum(e.energy_change for e in engine.take_events())
    found = engine.accuracy
    assert found.energy_error_j == pytest.approx(end - start - taken, abs=1e-10 * (1 + abs(start)))
    assert abs(found.energy_error_share) < 1e-6


def test_the_account_knows_thrust_drag_rotors_and_wrenches():
    """A driven body: what its energy gains is the work of all that pushes it, to the order of the method."""
    body = Body("craft", 1.3, BOX)
    system = System(
        (body,), (), (), (0,),
        rotors=(Rotor(0, thrust=2e-5, torque=3e-7, inertia=4e-5, lag=0.05, hub=np.array([0.2, 0, 0])),),
        drags=(Drag(0, np.full(3, 0.3), np.full(3, 0.1), np.full(3, 0.01), centre=np.array([0, 0, 0.1])),),
    )  # fmt: skip
    shares = []
    for step in (4e-3, 2e-3):
        engine = started(
            system, np.array([state(v=(3, 0, 1), w=(0.5, 1, 2))]), np.array([[9.0, 0.01, 0.02, 0.03]]), step=step
        )  # fmt: skip
        engine.rotors.act(np.array([700.0]))
        engine.set_external([(0, np.array([1.0, 2.0, -1.0]), np.array([0.01, 0.0, 0.02]))])
        engine.run(round(0.4 / step))
        shares.append(abs(engine.accuracy.energy_error_share))
    assert shares[1] < 1e-7
    assert shares[0] / shares[1] == pytest.approx(16.0, rel=0.5)


def test_the_account_knows_joints():
    """A driven base with a motor and a spring on its joint, and one whose motion is prescribed."""
    base = Body("base", 1.0, 0.02 * np.eye(3))
    arm = Body("arm", 0.3, 1e-3 * np.eye(3), com=np.array([0.1, 0.0, 0.0]))
    axis = np.array([0.0, 1.0, 0.0])
    for driven in (False, True):
        joint = Joint(0, 1, axis, stiffness=0.5, damping=0.02, armature=1e-4, driven=driven)
        system = System((base, arm), (), (), (0,), joints=(joint,))
        engine = started(
            system, np.array([state(v=(1, 0, 0)), state()]), np.array([[12.0, 0, 0.1, 0]])
        )
        if driven:
            engine.joints.move(0, 0.7, 0.4)
        else:
            engine.joints.write_efforts(np.array([0.2]))
        engine.run(400)
        kinetic = 0.5 * base.mass * np.sum(engine.update_kinematics()[0, 7:10] ** 2)
        assert kinetic > 0.1
        assert abs(engine.accuracy.energy_error_share) < 1e-9


def test_what_cannot_be_followed_ends_with_a_body_a_time_and_a_remedy():
    world = hook_world(1000)
    hook = replace(world.system.bodies[0], mass=1e-6, inertia_B=1e-15 * np.eye(3))
    system = replace(world.system, bodies=(hook, *world.system.bodies[1:]))
    engine = Engine(system, step=5e-3)
    engine.set_state(world.states)
    with pytest.raises(SolverError, match=r"t = .*hook.*time\.tolerance.*mass or inertia") as error:
        engine.run(400)
    assert np.isfinite(error.value.state).all()


def test_coarse_worlds_keep_the_order_of_the_method():
    """What is allowed grows with the fourth power of the step, so that halving it gains 16 (E.4)."""
    world = thin_bar_world()
    exact, _ = flown_states(world, 1e-3, 0.5, integrator="dopri5", tolerance=1e-13)
    errors = [
        np.abs(flown_states(world, step, 0.5)[0] - exact).max() for step in (2e-3, 1e-3, 0.5e-3)
    ]
    gains = np.array(errors[:-1]) / errors[1:]
    assert np.all(gains > 8.0) and np.all(gains < 32.0)


def test_a_pendulum_on_a_cable_to_the_world_needs_no_substep():
    system = System((Body("load", 1.0),), (Cable(WORLD, 0, 1.0),))
    engine = started(system, np.array([state((1.0, 0.0, 0.0))]))
    engine.run(2000)
    assert engine.accuracy.substeps == 0
    assert abs(engine.accuracy.energy_error_share) < 1e-9


def test_the_account_knows_what_drives_do_against_cables():
    """A carriage on a driven rail lifts a swinging load: all its energy comes from the drive."""
    carriage = Body("carriage", 1.0, 0.01 * np.eye(3))
    rail = Joint(WORLD, 0, np.array([0.0, 0.0, 1.0]), kind="prismatic", driven=True)
    system = System((carriage, Body("load", 0.5)), (Cable(0, 1, 1.0),), joints=(rail,))
    engine = started(system, np.array([state(), state((0, 0, -1.0), v=(0.8, 0.2, 0.0))]))
    engine.joints.move(0, 0.3, 1.0)
    engine.run(1200)
    assert abs(engine.accuracy.energy_error_share) < 1e-10
    assert engine.update_kinematics()[1, 2] > -0.8
