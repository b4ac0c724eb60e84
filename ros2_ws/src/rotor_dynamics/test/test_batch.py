"""Many worlds at once: the same bits as single ones, on any number of threads; failures stay alone."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from worlds import DRAGONFLY, TRI_C, started, state, team

from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import Actuation
from rotor_core.errors import ContractError, ModelError, SolverError
from rotor_core.kernels.jit import COMPILED
from rotor_dynamics import memory
from rotor_dynamics.batch import Batch
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import Cable, Drag, Rotor, System, Weld
from rotor_sim.environment.wind import wind_samples
from rotor_sim.plant.system import system_from_scenario
from rotor_sim.simulation import Simulation

HOVER = (0.25 + 0.278 / 3) * 9.81


def snapping(rng, n):
    """Teams that start slack or taut, with commands that throw them about."""
    systems, states = [], []
    for _ in range(n):
        mass = float(rng.uniform(0.2, 0.4))
        lengths = rng.uniform(0.95, 1.05, 3)
        systems.append(team(3, TRI_C, lengths, mass=mass))
        rows = [state(v=rng.normal(size=3) * 0.2, w=rng.normal(size=3) * 0.3)]
        rows += [state(x=r + [0, 0, 0.94], v=rng.normal(size=3) * 0.2) for r in TRI_C]
        states.append(rows)
    wrenches = np.zeros((n, 40, 3, 4))
    wrenches[..., 0] = HOVER * rng.uniform(0.2, 1.8, (n, 40, 3))
    wrenches[..., 1:] = 1e-3 * rng.normal(size=(n, 40, 3, 3))
    return systems, np.array(states), wrenches


def alone(system, states, wrenches, steps):
    """The same run by a single engine."""
    engine = Engine(system)
    engine.set_state(states)
    rows, tensions = [], []
    for period in wrenches:
        engine.set_wrenches(period)
        engine.run(steps)
        rows.append(engine.update_kinematics().copy())
        tensions.append(engine.tensions.copy())
    return np.array(rows), np.array(tensions), engine.take_events()


def test_a_batch_is_its_worlds_bit_for_bit():
    systems, states, wrenches = snapping(np.random.default_rng(5), 24)
    out = Batch(systems, states).rollout(wrenches, steps=10, threads=2).require()
    assert out.events["snap"].sum() > 24
    for w in range(24):
        motion, tensions, events = alone(systems[w], states[w], wrenches[w], 10)
        np.testing.assert_array_equal(out.motion[w], motion)
        np.testing.assert_array_equal(out.tensions[w], tensions)
        for kind, counts in out.events.items():
            assert counts[w] == sum(e.type == kind for e in events)


@pytest.mark.skipif(not COMPILED, reason="lanes are of compiled kernels")
def test_lanes_leave_for_events_and_return():
    """Worlds that snap at different times, side by side and one after the other: the same to 1e-12 (measured: 0)."""
    rng = np.random.default_rng(11)
    systems, states, wrenches = snapping(rng, 30)
    wrenches[:, 12:, :, 0] = HOVER * rng.uniform(0.9, 1.1, (30, 28, 3))  # calm again,
    for w in range(30):  # but for a vehicle that is pushed down for a while, each at another time
        wrenches[w, 14 + w % 7 : 17 + w % 7, w % 3, 0] = -HOVER
    batch, single = Batch(systems, states), Batch(systems, states)
    together = batch.rollout(wrenches, steps=10, threads=2).require()
    apart = single.rollout(wrenches, steps=10, side_by_side=False).require()
    assert apart.events["snap"].sum() >= 120 and apart.events["slack"].sum() >= 30
    assert apart.shared == 0.0 and 0.5 < together.shared < 0.999
    np.testing.assert_allclose(together.motion, apart.motion, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(together.tensions, apart.tensions, rtol=1e-10, atol=1e-12)
    for kind, counts in together.events.items():
        np.testing.assert_array_equal(counts, apart.events[kind])
    steps = memory.STEP
    np.testing.assert_array_equal(batch.ints[:, steps], single.ints[:, steps])
    for column in (
        memory.WORK,
        memory.LOST,
        memory.ENERGY,
        memory.LARGEST_SQUARED,
        memory.LARGEST_BODY,
    ):
        np.testing.assert_allclose(
            batch.floats[:, column], single.floats[:, column], rtol=1e-10, atol=1e-12
        )


@pytest.mark.skipif(not COMPILED, reason="lanes are of compiled kernels")
def test_a_lane_that_fails_leaves_the_others():
    systems, states, wrenches = snapping(np.random.default_rng(3), 8)
    wrenches[..., 0], wrenches[..., 1:] = HOVER, 0.0
    wrenches[2, 5:, 0, 1] = 1e300
    together = Batch(systems, states).rollout(wrenches, steps=10)
    apart = Batch(systems, states).rollout(wrenches, steps=10, side_by_side=False)
    assert set(together.failures) == set(apart.failures) == {2}
    assert together.failures == apart.failures
    np.testing.assert_allclose(together.motion, apart.motion, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(not COMPILED, reason="lanes are of compiled kernels")
def test_worlds_of_two_structures_run_beside_their_own_kind():
    """One diagonal inertia among others that are not: its integers differ, its lane is another."""
    turned = np.array([[1e-3, 1e-4, 0.0], [1e-4, 2e-3, 0.0], [0.0, 0.0, 2e-3]])
    systems = [
        System((Body("quad", 0.3, turned if w % 3 == 0 else np.diag([1e-3, 2e-3, 2e-3])),), ())
        for w in range(9)
    ]
    starts = np.array([[state(w=[1.0 + w, 2.0, 3.0])] for w in range(9)])
    nothing = np.zeros((4, 0, 4))
    together = Batch(systems, starts).rollout(nothing, steps=20)
    apart = Batch(systems, starts).rollout(nothing, steps=20, side_by_side=False)
    assert together.shared == 1.0
    np.testing.assert_allclose(together.motion, apart.motion, rtol=1e-12, atol=1e-12)


def test_threads_and_order_change_nothing():
    systems, states, wrenches = snapping(np.random.default_rng(6), 17)
    one = Batch(systems, states).rollout(wrenches, steps=5, threads=1)
    many = Batch(systems[::-1], states[::-1]).rollout(wrenches[::-1], steps=5, threads=5)
    np.testing.assert_array_equal(one.motion, many.motion[::-1])


def test_a_rollout_goes_on_where_the_last_one_ended_and_records_as_asked():
    systems, states, wrenches = snapping(np.random.default_rng(7), 3)
    whole = Batch(systems, states).rollout(wrenches, steps=4)
    batch = Batch(systems, states)
    first = batch.rollout(wrenches[:, :10], steps=4, every=10)
    second = batch.rollout(wrenches[:, 10:], steps=4, every=5)
    np.testing.assert_array_equal(first.motion[:, -1], whole.motion[:, 9])
    np.testing.assert_array_equal(second.motion, whole.motion[:, 14::5])
    np.testing.assert_allclose(batch.time, 0.16, atol=1e-15)


def test_rotors_with_lag_and_wind():
    """Commands by rotor speeds and air that moves, against the single engine."""
    rotors = tuple(
        Rotor(0, hub=np.array([x, y, 0]), spin=s, thrust=1e-6, torque=1e-8, inertia=1e-6, lag=0.03, drag=1e-5)
        for x, y, s in ((0.1, 0, 1), (0, 0.1, -1), (-0.1, 0, 1), (0, -0.1, -1))
    )  # fmt: skip
    system = System(
        (Body("quad", 0.25, DRAGONFLY),), (), (), (), 9.81, rotors, (Drag(0, 0.05 * np.ones(3)),)
    )
    rng = np.random.default_rng(1)
    speeds = 780.0 + 60.0 * rng.normal(size=(3, 30, 4))
    wind = rng.normal(size=(3, 30, 3))
    starts = np.array([[state(v=rng.normal(size=3))] for _ in range(3)])
    batch = Batch(
        system, starts, prepare=lambda engine, w: engine.rotors.start(np.full(4, 700.0 + w))
    )
    out = batch.rollout(np.zeros((30, 0, 4)), steps=5, rotor_speeds=speeds, wind=wind)
    for w in range(3):
        engine = Engine(system)
        engine.rotors.start(np.full(4, 700.0 + w))
        engine.set_state(starts[w])
        for p in range(30):
            engine.set_wind(wind[w, p][None])
            engine.rotors.act(speeds[w, p])
            engine.run(5)
            np.testing.assert_allclose(
                out.motion[w, p], engine.update_kinematics(), rtol=1e-12, atol=1e-12
            )


def test_seeds_give_the_wind_of_single_worlds():
    """A scenario in turbulence, three seeds: the batch flies what three simulations fly, to rounding."""
    scenario = load_scenario("hexacopter_wind")
    scenario = replace(scenario, actuation=Actuation("wrench"), environment=replace(scenario.environment, ground_effect=False))  # fmt: skip
    wind, period = scenario.environment.wind, scenario.time.control_s
    air = wind_samples(wind, period, (3, 4, 5), 50)
    single = [Simulation(scenario, seed=seed) for seed in (3, 4, 5)]
    hover = np.array([[1.9 * 9.81, 0.0, 0.0, 0.0]])
    batch = Batch(system_from_scenario(scenario), np.array([s.motion[:, :13] for s in single]))
    out = batch.rollout(np.tile(hover, (50, 1, 1)), steps=scenario.time.steps_per_control, wind=air)
    for w, simulation in enumerate(single):
        for p in range(50):
            simulation.step(hover)
            np.testing.assert_allclose(out.motion[w, p], simulation.motion, rtol=1e-11, atol=1e-11)
    assert np.abs(out.motion[0] - out.motion[1]).max() > 1e-4


def test_a_world_that_fails_stays_alone():
    """One world gets an absurd moment: it stands at its last good state, the others end as ever."""
    system, states = (
        team(3, TRI_C, np.ones(3)),
        [state()] + [state(x=r + [0, 0, 0.9]) for r in TRI_C],
    )
    states = np.tile(np.array(states), (3, 1, 1))
    wrenches = np.zeros((3, 4, 3, 4))
    wrenches[1, 2, 0, 1:] = 1e300
    out = Batch(system, states).rollout(wrenches, steps=3)
    assert list(out.failures) == [1] and "quad1" in out.failures[1]
    assert np.isfinite(out.motion).all()
    np.testing.assert_array_equal(out.motion[0], out.motion[2])
    with pytest.raises(SolverError, match="world 1 of 3"):
        out.require()


def test_welded_worlds():
    """Members of merged bodies come out as members, also where masses (and so the centre) differ."""
    weld = Weld(0, 1, np.array([0.2, 0, 0]))
    systems = [
        System((Body("a", m, DRAGONFLY), Body("b", 0.5, DRAGONFLY)), (), (weld,), (1,))
        for m in (1.0, 2.0)
    ]
    rows = np.array([[state(), state(x=(0.2, 0, 0))]] * 2)
    out = Batch(systems, rows).rollout(np.full((5, 1, 4), 0.01), steps=10)
    for w, system in enumerate(systems):
        engine = started(system, rows[w])
        for p in range(5):
            engine.set_wrenches(np.full((1, 4), 0.01))
            engine.run(10)
            np.testing.assert_array_equal(out.motion[w, p], engine.update_kinematics())


def test_mistakes_are_refused():
    systems, states, wrenches = snapping(np.random.default_rng(8), 2)
    batch = Batch(systems, states)
    bad = wrenches.copy()
    bad[1, 0, 0, 0] = np.nan
    for arguments in (
        {"wrenches": wrenches[:, :, :2], "steps": 1},
        {"wrenches": bad, "steps": 1},
        {"wrenches": wrenches, "steps": 0},
        {"wrenches": wrenches, "steps": 1.5},
        {"wrenches": wrenches, "steps": 1, "threads": -1},
        {"wrenches": wrenches, "steps": 1, "wind": np.zeros((3, 3))},
        {"wrenches": wrenches, "steps": 1, "rotor_speeds": np.zeros((40, 4))},
    ):
        with pytest.raises(ContractError):
            batch.rollout(**arguments)
    with pytest.raises(ContractError, match="world 1 must have the same connections"):
        other = replace(systems[1], cables=(*systems[1].cables[:2], Cable(3, 1, 2.0)))
        Batch([systems[0], other], states)
    far = states.copy()
    far[1, 1, 2] += 1.0
    with pytest.raises(ModelError, match="world 1: cable1"):
        Batch(systems, far)


UNCOMPILED = """
import warnings

import numpy as np

from rotor_dynamics.batch import Batch
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, System

warnings.simplefilter("error")
rows = np.zeros((1, 13))
rows[0, 3] = 1.0
engine = Engine(System((Body("load", 0.1),), (Cable(WORLD, 0, 0.5),)))
engine.set_state(rows)
engine.run(3)
out = Batch(System((Body("quad", 0.2, 1e-3 * np.eye(3)),), ()), np.tile(rows, (3, 1, 1))).rollout(
    np.zeros((2, 0, 4)), steps=3
)
print(engine.update_kinematics()[0, 2], out.shared, out.motion[0, -1, 0, 2])
"""


def test_without_a_compiler_nothing_is_divided_by_zero():
    """Both ends of a cable at one point; bodies that fall from rest. Each world by itself."""
    run = subprocess.run(
        [sys.executable, "-c", UNCOMPILED],
        env={**os.environ, "ROTOR_UNCOMPILED": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    fallen, shared, other = (float(word) for word in run.stdout.split())
    assert fallen == pytest.approx(-0.5 * 9.81 * 0.003**2, abs=1e-15) and shared == 0.0
    assert other == pytest.approx(-0.5 * 9.81 * 0.006**2, abs=1e-15)
