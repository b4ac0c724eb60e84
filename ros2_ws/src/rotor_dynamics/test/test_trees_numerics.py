"""Joints in time: order of every integrator, adaptive steps and dense output, many worlds at once."""

from dataclasses import replace

import numpy as np
import pytest
from tree_worlds import drape, random_scene
from trees import at_rest, joint_state, planted, random_start, random_tree, vehicle, whole_state
from worlds import quaternion, state

from rotor_core.config.extensions import INTEGRATORS
from rotor_core.errors import ContractError
from rotor_dynamics.batch import Batch
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import Cable
from rotor_dynamics.projection import project, violation

FIXED = {"tolerance": 1e9}
"""Makes an adaptive method take the steps it is given."""

LOAD = 0.6
"""kg."""

SMOOTH = [name for name, method in INTEGRATORS.items() if not method.symplectic]


def towing():
    """V2 with springs, dampers and lagging motors near its balance, and a payload on a taut cable from its tip."""
    system = vehicle("V2", stiffness=30.0, damping=1.0, lag=0.1, armature=0.02)
    rows, joints = at_rest(4), np.array([[0.5, 0.0], [-0.4, 0.0]])
    rows[0] = state((0, 0, 2), quaternion(1, 0.02, 0.0, 0.1))
    rows[3, :3] = planted(system, rows[:3], joints).motion[2, :3] + (0.43, 0.15, -1.0)
    second = -9.81 * (0.78 * 0.22 + LOAD * 0.44) * np.cos(0.1)  # holds the links up
    first = second - 9.81 * (0.78 * 0.22 + (0.78 + LOAD) * 0.44) * np.cos(0.5)
    hinges = tuple(
        replace(j, rest=angle + effort / j.stiffness)
        for j, angle, effort in zip(system.joints, joints[:, 0], (first, second), strict=True)
    )
    bodies = (*system.bodies, Body("load", LOAD, 0.004 * np.eye(3)))
    system = replace(system, bodies=bodies, joints=hinges)
    cable = Cable(2, 3, 1.0, np.array([0.44, 0.0, 0.0]), np.array([0.02, 0.01, 0.05]))
    system = replace(system, cables=(drape(system, rows, joints, cable),))
    thrust = 9.81 * sum(b.mass for b in system.bodies)
    return system, rows, joints, np.array([[1.05 * thrust, 0.3, first, 0.2]])


def flown(method, step, *, cable, **options):
    system, rows, joints, wrench = towing()
    if not cable:
        system = replace(system, cables=())
    engine = planted(system, rows, joints, wrenches=wrench, step=step, integrator=method, **options)
    engine.joints.act(np.array([2.0, -1.0]))
    engine.run(round(0.3 / step))
    assert engine.taut.all()
    assert not engine.take_events()
    return whole_state(engine)


@pytest.mark.parametrize("cable", [False, True], ids=["free", "towing"])
@pytest.mark.parametrize("name", SMOOTH)
def test_order_with_joints(name, cable):
    """Base, joints, links and load, on their own and on a taut cable, against dopri5 at 1e-13."""
    reference = flown("dopri5", 0.01, cable=cable, tolerance=1e-13)
    steps = {"euler": (5e-4, 2.5e-4), "dopri5": (0.02, 0.01)}.get(name, (0.005, 0.0025))
    errors = [np.max(np.abs(flown(name, h, cable=cable, **FIXED) - reference)) for h in steps]
    slope = np.log2(errors[0] / errors[1])
    assert slope > INTEGRATORS[name].order - 0.3, (errors, slope)


def test_rkmk4_agrees_with_dopri5_through_stops_and_snaps():
    """Events at the same times; what is left is the error of 1 ms steps."""
    compared = 0
    for seed in range(20):
        system, states, joints = random_scene(seed, stops=True)
        one = planted(system, states, joints, step=5e-4)
        two = planted(system, states, joints, step=5e-4, integrator="dopri5", tolerance=1e-12)
        one.run(100)
        two.run(100)
        hard = [
            [
                (e.type, e.cables, e.joints, e.time)
                for e in engine.take_events()
                if e.type in ("snap", "touch")
            ]
            for engine in (one, two)
        ]
        if [e[:3] for e in hard[0]] != [e[:3] for e in hard[1]]:
            continue  # the course of a cascade is decided by rounding
        compared += len(hard[0])
        times = [[e[3] for e in events] for events in hard]
        np.testing.assert_allclose(times[0], times[1], atol=1e-8)
        np.testing.assert_allclose(whole_state(one), whole_state(two), atol=1e-6)
    assert compared > 20


@pytest.mark.parametrize("driven", [False, True])
def test_dense_output_has_links_where_they_were_at_each_time(driven):
    """Samples of one adaptive run against a second one that stops at each of them."""
    system = vehicle("V2", damping=0.2)
    if driven:
        system = replace(system, joints=tuple(replace(j, driven=True) for j in system.joints))
    times, ends = np.array([0.1, 0.2, 0.35, 0.5]), []
    for dense in (True, False):
        engine = Engine(system, integrator="dopri5", tolerance=1e-11)
        engine.set_state(at_rest(3), joints=np.zeros((2, 2)))
        if driven:
            engine.joints.move(0, 1.0, 0.4)
            engine.joints.move(1, -0.5, 0.5)
        else:
            engine.joints.act(np.array([5.0, -2.0]))
        if dense:
            ends.append(engine.run_dense(times))
        else:
            rows = []
            for time in times:
                engine.run_until(float(time))
                rows.append(engine.update_kinematics()[:, :13].copy())
            ends.append(np.array(rows))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)  # dense output is of order 4


def test_symplectic_splitting_refuses_joints():
    with pytest.raises(ContractError, match="does not support joints"):
        Engine(vehicle("V1"), integrator="splitting")


@pytest.mark.parametrize("integrator", ["rkmk4", "dopri5"])
def test_a_batch_of_articulated_worlds_is_its_worlds_bit_for_bit(integrator):
    """Angles and rates are written by ``prepare``; other numbers in every world."""
    rng = np.random.default_rng(3)
    scenes = []
    for _ in range(8):
        system = random_tree(np.random.default_rng(1), 5)
        heavier = tuple(
            replace(b, mass=b.mass * f)
            for b, f in zip(system.bodies, rng.uniform(0.8, 1.2, 6), strict=True)
        )
        states, joints = random_start(rng, system)
        bounded = tuple(
            replace(j, lower=a - 0.05, upper=a + 0.1)
            for j, a in zip(system.joints, joints[:, 0], strict=True)
        )
        system = replace(system, bodies=heavier, joints=bounded)
        cable = drape(system, states, joints, Cable(-1, 5, 1.0, np.array([0.0, 0.0, 2.0])))
        cable = replace(cable, length=cable.length + 0.02)
        scenes.append((replace(system, cables=(cable,)), states, joints))
    wrenches = rng.uniform(0.0, 40.0, (8, 10, 1, 4)) * [1.0, 0.01, 0.01, 0.01]
    batch = Batch(
        [s[0] for s in scenes], np.array([s[1] for s in scenes]), integrator=integrator,
        prepare=lambda engine, w: engine.joints.write_state(scenes[w][2]),
    )  # fmt: skip
    out = batch.rollout(wrenches, steps=10, threads=2).require()
    assert out.events["snap"].sum() > 8  # stops count as snaps
    for w, (system, states, joints) in enumerate(scenes):
        engine = planted(system, states, joints, integrator=integrator)
        for p, held in enumerate(wrenches[w]):
            engine.set_wrenches(held)
            engine.run(10)
            np.testing.assert_array_equal(out.motion[w, p], engine.update_kinematics())
            np.testing.assert_array_equal(out.tensions[w, p], engine.tensions)


def test_the_same_run_twice_gives_the_same_bits():
    system, states, joints = random_scene(4, stops=True)
    ends = []
    for _ in range(2):
        engine = planted(system, states, joints)
        engine.run(200)
        ends.append((engine.update_kinematics().copy(), joint_state(engine)))
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    np.testing.assert_array_equal(ends[0][1], ends[1][1])


def test_a_joint_whose_range_excludes_zero_forbids_no_valid_state():
    """Stops share the table of cables, but the projection of states must not take them for some."""
    system = vehicle("V1", lower=-2.0, upper=-0.5)
    engine = planted(system, at_rest(2), np.array([[-1.0, 0.0]]))
    before = engine.update_kinematics().copy()
    assert violation(engine.world) == ""
    project(engine.world)
    np.testing.assert_array_equal(engine.update_kinematics(), before)
