"""More cables than ways to move: nothing is given up, nothing gets longer or gains energy."""

import numpy as np
import pytest

from rotor_dynamics.batch import Batch
from rotor_dynamics.engine import Engine
from validation.stress.flight import flown
from validation.stress.redundant import redundant_world

# worlds in which the engine gave up or let cables get too long before settling knew dependent cables
FAILED = (1, 5, 20, 28, 37, 54, 59, 153)


@pytest.mark.parametrize("seed", [*FAILED, *range(6, 15)])
def test_flights_on_redundant_cables(seed):
    outcome = flown(redundant_world(seed), 2.5, 1e-3)
    assert not outcome.failure
    assert outcome.overlength < 1e-10
    assert outcome.gain < 1e-9


def test_equal_cables_that_hang_still_share_the_load():
    world = redundant_world(0)
    states = world.states.copy()
    states[:, 7:] = 0.0
    engine = Engine(world.system)
    engine.set_state(states)
    engine.run(1000)
    up = -engine.directions[:, 2]  # from the anchors to the load, all equally steep
    np.testing.assert_allclose(engine.tensions, 2.0 * 9.81 / up.sum(), rtol=1e-6)
    assert not [e for e in engine.take_events() if e.time > 0.0]


def test_a_batch_has_the_same_limits_and_bits_as_a_world_alone():
    """Thousands of events in a flight, hundreds in a step: more than the log of a batch has rows."""
    world = redundant_world(53)
    batch = Batch(world.system, np.stack([world.states] * 2), wrenches=np.zeros((0, 4)))
    out = batch.rollout(np.zeros((30, 0, 4)), steps=20)
    assert not out.failures
    alone = Engine(world.system)
    alone.set_state(world.states)
    alone.take_events()
    for _ in range(30):  # as in a batch: inputs are held anew every period
        alone.hold(np.zeros((0, 4)))
        alone.run(20)
    events = alone.take_events()
    for motion in out.motion[:, -1]:
        np.testing.assert_array_equal(motion, alone.update_kinematics())
    for kind, counts in out.events.items():
        assert set(counts) == {sum(e.type == kind for e in events)}
    assert len(events) > 100
