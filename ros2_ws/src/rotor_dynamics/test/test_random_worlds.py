"""Laws that every hybrid world must obey, on random ones.

No golden numbers: an independent oracle, conservation, symmetry, and convergence. The worlds are
those of :func:`worlds.random_world`: points and rigid bodies, stars, chains and nets, offsets at
both ends, cables to the world, several between two bodies, jumping inputs and cuts.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from worlds import (
    Dense,
    begun,
    distance,
    end_of,
    gaps,
    hard,
    heavier,
    held,
    moved,
    oracle,
    play,
    random_world,
    renumbered,
    size,
    started,
    state,
)

from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, System
from validation.oracles import kkt

SEEDS = range(100)
LENGTH = 1e-10
"""Promised accuracy of the length of cables, m."""


# --- 1. complementarity ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_cables_only_pull_and_are_never_too_long(seed):
    world = random_world(seed)
    engine = begun(world)

    def check(engine):
        gap, T = gaps(world, engine.update_kinematics()[:, :13]), engine.tensions
        taut, alive = engine.taut, engine.alive
        assert np.isfinite(engine.motion).all()
        assert np.all(gap[alive] <= LENGTH)
        assert np.all(np.abs(gap[taut]) <= LENGTH)
        assert np.all(T >= 0.0)
        assert np.all(T[~taut] == 0.0)
        assert not np.any(taut & ~alive)

    check(engine)
    play(world, engine, 0.3, check)


@pytest.mark.parametrize("seed", SEEDS)
def test_tensions_solve_the_complementarity_problem(seed):
    """At every tenth step, against least squares over all cables at their length and at rest.

    A cable that has just let go moves away too slowly to be told from one at rest: it may be listed,
    but then must not pull. The engine corrects rates with the gradients before it corrects positions,
    which leaves (drift of a step) x (speed) / length, here below 1e-6 m/s; and it keeps the tensions of
    the state before the correction: 1e-6 of the largest where a short cable whirls.
    """
    world = random_world(seed)
    engine = begun(world)
    checked = 0

    def check(engine):
        nonlocal checked
        checked += 1
        if checked % 10:
            return
        states = engine.update_kinematics()[:, :13]
        dense = Dense(world, states, held(world, engine.time - 1e-12))
        at_rest = (np.abs(gaps(world, states)) < 1e-10) & (np.abs(dense.rates) < 1e-8)
        listed = np.flatnonzero(engine.alive & (at_rest | engine.taut))
        assert np.all(np.abs(dense.rates[engine.taut]) < 1e-6)
        T = dense.multipliers(listed, dense.free)
        np.testing.assert_allclose(engine.tensions, T, atol=1e-6 * size(T))
        a = (dense.minv @ (dense.force - dense.D.T @ T))[: 6 * dense.n].reshape(-1, 6)
        np.testing.assert_allclose(engine.motion[:, 13:19], a, atol=1e-6 * size(a))

    play(world, engine, 0.3, check)
    assert checked >= 300


@pytest.mark.parametrize("seed", SEEDS)
def test_right_after_events_the_taut_set_is_complementary_and_no_cable_is_too_long(seed):
    """A twin stops 1 ns behind each event and shows what the end of a step hides.

    In 1 ns a slack cable changes its rate by d_ddot 1e-9 s, which tells the rate it left the event
    with: at rest below 1e-10 m/s, or thrown off. Where that is unclear, or another event follows
    within 1 us, the tensions are not compared.
    """
    world = random_world(seed)
    times = [e.time for e in play(world, begun(world), 0.2).take_events() if e.type != "cut"]
    behind = sorted({t + 1e-9 for t in times})
    for i, time in enumerate(behind[:30]):
        twin = play(world, begun(world), time)
        states = twin.motion[:, :13]
        gap = gaps(world, states)
        assert np.all(gap[twin.alive] <= LENGTH)
        dense = Dense(world, states, held(world, time))
        d_ddot = dense.free - dense.A @ twin.tensions
        left = dense.rates - 1e-9 * d_ddot
        at_length = twin.alive & (np.abs(gap) < 1e-10) & ~twin.taut
        unclear = at_length & (left < -1e-10) & (left > -1e-8)
        followed = i + 1 < len(behind) and behind[i + 1] - time < 1e-6
        if followed or unclear.any():
            continue
        listed = np.flatnonzero(twin.taut | (at_length & (np.abs(left) < 1e-10)))
        T = dense.multipliers(listed, dense.free)
        np.testing.assert_allclose(twin.tensions, T, atol=1e-6 * size(T))


# --- what these laws found: small worlds, one law each --------------------------------------------


@pytest.mark.parametrize("over", [1e-9, 1e-8, 1e-7, 5e-7])
def test_a_toss_that_goes_over_the_length_within_one_step_snaps(over):
    """A mass thrown straight up turns ``over`` beyond the length of its cable, at ten phases of the step."""
    system = System((Body("load", 1.0),), (Cable(WORLD, 0, 1.0),))
    for phase in np.linspace(0.05, 0.95, 10):
        height = 1.0 + over - 3.0**2 / 2 / 9.81
        engine = started(system, np.array([state((0, 0, height), v=(0, 0, 3.0))]))
        engine.run_until(phase * 1e-3)
        engine.run(400)
        assert any(e.type == "snap" for e in engine.take_events())


def test_a_snap_is_located_where_the_projected_state_is():
    """A mass whirls at 10 rad/s, another snaps on it; one step of 10 ms ends a little before or after."""
    cables = (Cable(WORLD, 0, 1.0), Cable(0, 1, 1.038))
    system = System((Body("heavy", 1.0), Body("light", 0.1)), cables, gravity=0.0)
    rows = np.array([state((1, 0, 0), v=(0, 10, 0)), state(v=(-4, 10, 0))])
    exact = started(system, rows)
    exact.run(20)
    snap = exact.take_events()[0].time
    for early in np.arange(-50, 51) * 1e-9:
        engine = started(system, rows)
        engine.run_until(snap + early)
        assert distance(cables[1], engine.update_kinematics()[:, :13]) - 1.038 < LENGTH


def test_a_cable_at_rest_pulls_as_soon_as_another_pulls_on_it():
    """Three masses in a row, cables straight but without force; then the first is drawn away with 3 N."""
    system = System(
        tuple(Body(n, 1.0) for n in "abc"), (Cable(0, 1, 1.0), Cable(1, 2, 1.0)), gravity=0.0
    )
    engine = started(system, np.array([state((i, 0, 0)) for i in range(3)]))
    engine.run(5)
    engine.take_events()
    engine.set_external([(0, np.array([-3.0, 0, 0]), np.zeros(3))])
    np.testing.assert_allclose(engine.tensions, (2.0, 1.0), rtol=1e-12)
    engine.run(5)
    assert not engine.take_events()


# --- 2. jumps -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_jump_of_a_set_state_keeps_momentum_and_takes_the_energy_of_its_impulses(seed):
    """Every cable that starts at its length snaps or lets go at once; the oracle finds the impulses."""
    world = random_world(seed, taut=0.8, driven=False, anchors=False)
    engine = begun(world)
    after = engine.motion[:, :13]
    dense = Dense(world, world.states, world.wrenches[0][1])
    listed = np.flatnonzero(np.abs(gaps(world, world.states)) < 1e-9)
    P = dense.multipliers(listed, dense.rates)
    before = kkt.momenta(dense.bodies, world.states)
    np.testing.assert_allclose(
        kkt.momenta(dense.bodies, after), before, atol=1e-12 * (1 + np.abs(before).max())
    )
    jump = (after - world.states)[:, 7:13].ravel()
    np.testing.assert_allclose(
        jump, -dense.minv @ dense.D.T @ P, atol=1e-10 * (1 + np.abs(jump).max())
    )
    lost = kkt.kinetic_energy(dense.bodies, world.states) - kkt.kinetic_energy(dense.bodies, after)
    assert lost == pytest.approx(0.5 * P @ dense.rates, abs=1e-11)
    events = [e for e in engine.take_events() if e.type == "snap"]
    assert bool(events) == bool(np.any(P > 0.0))
    for e in events:
        np.testing.assert_allclose(e.impulses, P[list(e.at_length)], atol=1e-10)
        assert lost == pytest.approx(-e.energy_change, abs=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_impact_adds_energy(seed):
    """The formula -P (d_dot- + d_dot+) / 2 of every impact on the way; rounding only at speeds of settling."""
    world = random_world(seed, speed=2.0)
    engine = play(world, begun(world), 0.3)
    for e in engine.take_events():
        P, before, after = (
            np.array(x) for x in (e.impulses, e.closing_speeds, e.closing_speeds_after)
        )
        assert np.all(P >= 0.0)
        assert e.energy_change <= 1e-14
        assert np.all(after <= 1e-9)
        assert np.all(np.abs(P * after) <= 1e-12)
        assert e.energy_change == pytest.approx(-0.5 * P @ before, abs=1e-11)


# --- 3, 4. conservation ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_without_forces_momentum_stays_and_energy_changes_in_impacts_only(seed):
    """Drift of energy per step is of order five: at most 1e-8 of it in 300 steps, 16 times less at half the step.

    Linear momentum is kept to rounding, angular momentum to the order of the method. Settling moves
    masses of 0.1 kg at 1 m/s by up to 1e-9 m, which no step makes smaller: the floor of 1e-10.
    """
    world = random_world(seed, gravity=0.0, driven=False, anchors=False)
    bodies, _ = oracle(world.system)
    errors = []
    for step in (1e-3, 0.5e-3):
        engine = begun(world, step=step)
        start = engine.motion[:, :13].copy()
        energy, momentum = kkt.kinetic_energy(bodies, start), kkt.momenta(bodies, start)
        engine.take_events()  # those of the start
        end = play(world, engine, 0.3).motion[:, :13]
        taken = sum(e.energy_change for e in engine.take_events())
        drift = kkt.momenta(bodies, end) - momentum
        errors.append((kkt.kinetic_energy(bodies, end) - energy - taken, np.abs(drift[3:]).max()))
        assert np.abs(drift[:3]).max() < 1e-12
    (e1, l1), (e2, l2) = np.abs(errors)
    assert e1 < 1e-8 * (1 + energy)
    assert l1 < 1e-8
    assert e2 < max(e1 / 8, 1e-11)
    assert l2 < max(l1 / 8, 1e-10)


def test_smooth_motion_runs_back():
    """Forward 0.1 s, velocities reversed, 0.1 s: back at the start, to the error of the method."""
    smooth = 0
    for seed in range(120):
        world = random_world(seed, driven=False, taut=0.3, speed=0.5)
        engine = begun(world)
        engine.take_events()
        start = engine.motion[:, :13].copy()
        engine.run(100)
        back = engine.update_kinematics()[:, :13].copy()
        taut = engine.taut.copy()
        back[:, 7:13] *= -1.0
        engine.set_state(back, time=0.0)
        if engine.take_events() or np.any(engine.taut != taut):
            continue
        engine.run(100)
        if engine.take_events():
            continue
        smooth += int(taut.any())
        end = engine.update_kinematics()[:, :13]
        end[:, 7:13] *= -1.0
        assert np.abs(end - start).max() < 1e-8
    assert smooth >= 15  # that many had a taut cable all the time


# --- 5, 6. symmetry, convergence ------------------------------------------------------------------


@pytest.mark.parametrize("gravity", [9.81, 0.0])
def test_turned_shifted_and_renumbered_worlds_do_the_same(gravity):
    """Tolerance: a change of the masses of 1e-9 shows how much errors grow; rounding and roots are below 1e-3 of that.

    Worlds that amplify it more than 1000 times are left out.
    """
    compared = 0
    for seed in SEEDS:
        rng = np.random.default_rng(1000 + seed)
        world = random_world(seed, gravity=gravity)
        states, events = end_of(world)
        growth = np.abs(end_of(heavier(world, 1e-9))[0] - states).max() / 1e-9
        if growth > 1000.0:
            continue
        compared += 1
        tolerance = 1e-11 + 1e-12 * growth
        turn = Rotation.from_rotvec([0, 0, 2.1]) if gravity else Rotation.random(random_state=seed)
        shift = rng.uniform(-2, 2, 3)
        other, other_events = end_of(moved(world, turn, shift))
        expected = moved(replace(world, states=states), turn, shift).states
        sign = np.sign(np.sum(expected[:, 3:7] * other[:, 3:7], axis=1))
        other[:, 3:7] *= sign[:, None]
        np.testing.assert_allclose(other, expected, atol=tolerance)
        swapped, order, row = renumbered(world, rng)
        mirrored, mirrored_events = end_of(swapped)
        np.testing.assert_allclose(mirrored, states[order], atol=tolerance)
        for seen in (hard(other_events), hard(mirrored_events, lambda k, row=row: int(row[k]))):
            assert [e[1:] for e in seen] == [e[1:] for e in hard(events)]
            np.testing.assert_allclose(
                [e[0] for e in seen], [e[0] for e in hard(events)], atol=1e-9
            )
    assert compared >= 60


def test_fourth_order_across_events_of_any_world():
    """2, 1 and 0.5 ms: each halving gains 16 in the median, and never less than 4 above rounding."""
    gains, crossed = [], 0
    for seed in SEEDS:
        world = random_world(seed)
        growth = np.abs(end_of(heavier(world, 1e-9))[0] - end_of(world)[0]).max() / 1e-9
        if growth > 1000.0:
            continue
        (a, _), (b, events), (c, _) = (end_of(world, step=h) for h in (2e-3, 1e-3, 0.5e-3))
        rough, fine = np.abs(a - b).max(), np.abs(b - c).max()
        assert fine < max(rough / 4, 1e-11 + 1e-12 * growth)
        assert fine < 1e-5  # the fastest whirl at 50 rad/s
        crossed += any(e.type == "snap" and e.time > 0.0 for e in events)
        if rough > 1e-9:
            gains.append(rough / fine)
    assert crossed >= 30
    assert len(gains) >= 25
    assert 12.0 < np.median(gains) < 24.0
