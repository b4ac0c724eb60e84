"""Velocity jumps: golden vectors, closed forms, and the laws that hold for any of them."""

import subprocess
import sys

import numpy as np
import pytest
from worlds import BOX, BOX4, DRAGONFLY, TRI_C, oracle, random_team, started, state, team

from rotor_core.kernels.jit import COMPILED
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import Cable, System
from validation.oracles import kkt, rotortm

PREPARED = """
from rotor_dynamics.engine import Engine
from rotor_dynamics.hybrid.impact import OF_EVENTS
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, System
engine = Engine(System((Body("load", 0.1),), (Cable(WORLD, 0, 0.5),)))
before = [kernel.is_resolved for kernel in OF_EVENTS]
engine.prepare_events()
print(len(before), any(before), all(kernel.is_resolved for kernel in OF_EVENTS))
"""


@pytest.mark.skipif(not COMPILED, reason="kernels are not compiled here")
def test_no_event_waits_for_a_compiler():
    run = subprocess.run(
        [sys.executable, "-c", PREPARED], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["4", "False", "True"]


def test_golden_point_mass():
    """G3, and RotorTM eq 34."""
    system = System(
        (Body("quad", 0.25, DRAGONFLY), Body("load", 0.07)), (Cable(0, 1, 0.5),), (), (0,)
    )
    engine = started(system, np.array([state((0, 0, 0.5)), state(v=(1, 0, -2))]))
    np.testing.assert_allclose(engine.motion[1, 7:10], (1, 0, -0.4375), atol=1e-12)
    np.testing.assert_allclose(engine.motion[0, 7:10], (0, 0, -0.4375), atol=1e-12)
    (event,) = engine.take_events()
    assert (event.type, event.cables) == ("snap", (0,))
    assert event.impulses[0] == pytest.approx(0.109375, rel=1e-12)
    assert event.energy_change == pytest.approx(-0.109375, rel=1e-12)
    vehicle, load, impulse = rotortm.point_mass_impact(
        0.25, 0.07, np.array([0, 0, -1.0]), np.zeros(3), np.array([1, 0, -2.0])
    )
    np.testing.assert_allclose(engine.motion[0, 7:10], vehicle, atol=1e-14)
    np.testing.assert_allclose(engine.motion[1, 7:10], load, atol=1e-14)
    assert event.impulses[0] == pytest.approx(impulse)


def rest_geometry(rho, length, **load):
    rows = [state(**load)] + [state((*r[:2], r[2] + length)) for r in rho]
    return np.array(rows)


def test_golden_three_cables():
    """G4."""
    engine = started(team(3, TRI_C, np.ones(3)), rest_geometry(TRI_C, 1.0, v=(0, 0, -1)))
    np.testing.assert_allclose(
        engine.motion[0, 7:13], (0, 0, -0.2704281, 0, -0.0004844, 0), atol=1e-7
    )
    np.testing.assert_allclose(
        engine.motion[1:, 9], (-0.2705026, -0.2702787, -0.2705026), atol=1e-7
    )
    event = engine.take_events()[0]
    np.testing.assert_allclose(event.impulses, (0.0676257, 0.0675697, 0.0676257), atol=1e-7)
    assert event.energy_change == pytest.approx(-0.1014105, abs=1e-7)


def test_golden_one_cable_hit():
    """G5: the other two cables are long, so only cable 2 takes the impulse."""
    states = rest_geometry(TRI_C, 1.0, v=(0.1, 0.2, -1), w=(0.3, 1, -0.2))
    states[2, 7:10] = (0.2, -0.1, 0.5)
    engine = started(team(3, TRI_C, np.array([1.2, 1.0, 1.2])), states)
    np.testing.assert_allclose(
        engine.motion[0, 7:13], (0.1, 0.2, -0.7147631, 0.3, -2.9113842, -0.2), atol=1e-7
    )
    np.testing.assert_allclose(engine.motion[2, 7:10], (0.2, -0.1, 0.1828166), atol=1e-7)
    event = engine.take_events()[0]
    assert event.impulses[0] == pytest.approx(0.0792958, abs=1e-7)
    assert event.energy_change == pytest.approx(-0.0716953, abs=1e-7)


def test_golden_complementarity():
    """G6: two of four cables must not push; the equality map of the paper would make them."""
    states = rest_geometry(BOX4, 0.5, v=(0, 0, -0.1))
    states[1, 7:10] = (0, 0, 1)
    system = team(4, BOX4, 0.5 * np.ones(4), mass=0.3, inertia=BOX)
    engine = started(system, states)
    np.testing.assert_allclose(
        engine.motion[0, 7:13], (0, 0, 0.2750, -0.7094771, -0.7094771, 0), atol=5e-5
    )
    event = engine.take_events()[0]
    impulses = dict(zip(event.at_length, event.impulses, strict=True))
    assert impulses[0] == pytest.approx(0.07313, abs=1e-5)
    assert impulses[2] == pytest.approx(0.03937, abs=1e-5)
    assert impulses[1] == 0.0 and impulses[3] == 0.0
    after = dict(zip(event.at_length, event.closing_speeds_after, strict=True))
    assert after[1] == pytest.approx(-0.2750, abs=5e-5) and after[3] == pytest.approx(
        -0.2750, abs=5e-5
    )
    assert event.energy_change == pytest.approx(-0.04219, abs=1e-5)
    _, _, _, pushed = rotortm.team_impact(
        np.full(4, 0.25),
        0.3,
        BOX,
        np.eye(3),
        BOX4,
        np.tile([0, 0, -1.0], (4, 1)),
        states[1:, 7:10],
        states[0, 7:10],
        np.zeros(3),
    )
    np.testing.assert_allclose(pushed, (0.09957, -0.04231, 0.06582, -0.04231), atol=1e-5)


@pytest.mark.parametrize("n", range(1, 7))
def test_laws_of_any_impact(n):
    """RT-A3: 1000 random hits over n = 1..6."""
    rng = np.random.default_rng(100 + n)
    hits = 0
    for _ in range(170):
        at_length = rng.random(n) < 0.8
        system, states = random_team(rng, n, at_length)
        bodies, cables = oracle(system)
        _, D, _ = kkt.distance_rows(states, cables)
        before = D @ states[:, 7:13].ravel()
        engine = started(system, states)
        after_states = engine.motion[:, :13]
        after = D @ after_states[:, 7:13].ravel()
        events = [e for e in engine.take_events() if e.type == "snap"]
        momentum = kkt.momenta(bodies, states)
        size = 1.0 + np.max(np.abs(momentum))
        assert np.max(np.abs(kkt.momenta(bodies, after_states) - momentum)) < 1e-10 * size
        loss = kkt.kinetic_energy(bodies, states) - kkt.kinetic_energy(bodies, after_states)
        assert loss >= -1e-12
        np.testing.assert_array_equal(
            after_states[1:, 10:13], states[1:, 10:13]
        )  # attached at the centre of mass
        if not np.any(before[at_length] > 1e-9):
            assert not events
            continue
        hits += 1
        event = events[0]
        assert np.all(np.array(event.impulses) >= 0.0)
        assert -event.energy_change == pytest.approx(loss, abs=1e-11)
        for k, impulse in zip(event.at_length, event.impulses, strict=True):
            assert after[k] <= 1e-9
            assert abs(impulse * after[k]) < 1e-9
    assert hits > 60
