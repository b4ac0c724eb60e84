"""States between two others: an attitude has two quaternions, and which one was written down does not matter."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.state import State, blended, continuous, same_sign

SEEDS = st.integers(0, 2**32 - 1)


def turned(random, attitudes):
    """The same attitudes, each by one of its two quaternions."""
    return attitudes * random.choice([-1.0, 1.0], size=(*attitudes.shape[:-1], 1))


@settings(deadline=None)
@given(SEEDS, st.floats(0.0, 1.0))
def test_between_two_states_whatever_their_signs(seed, share):
    """Close to the turn with constant rate, and the same rotation for every choice of signs."""
    random = np.random.default_rng(seed)
    here, there = random.normal(size=(2, 3, 13))
    start = Rotation.random(3, random)
    turn = random.normal(size=(3, 3)) * 0.1
    ends = [start, start * Rotation.from_rotvec(turn)]
    for state, rotation in zip((here, there), ends, strict=True):
        State(state).attitude[:] = turned(random, rotation.as_quat()[:, [3, 0, 1, 2]])
    found = blended(here, there, share)
    np.testing.assert_allclose(np.linalg.norm(State(found).attitude, axis=1), 1.0, atol=1e-12)
    expected = start * Rotation.from_rotvec(share * turn)
    apart = (expected.inv() * rotation_from(State(found).attitude)).magnitude()
    assert apart.max() < 0.1 * np.linalg.norm(turn, axis=1).max() ** 2 + 1e-9
    np.testing.assert_allclose(
        State(found).position, (1 - share) * here[:, :3] + share * there[:, :3], atol=1e-12
    )


@settings(deadline=None)
@given(SEEDS)
def test_attitudes_over_time_do_not_leap(seed):
    random = np.random.default_rng(seed)
    steps = Rotation.from_rotvec(random.normal(size=(40, 3)) * 0.2)
    way = [Rotation.random(1, random)[0]]
    for step in steps:
        way.append(way[-1] * step)
    told = np.array([r.as_quat()[[3, 0, 1, 2]] for r in way])[:, None]
    found = continuous(turned(random, told))
    assert ((found[1:] * found[:-1]).sum(axis=-1) > 0.0).all()
    np.testing.assert_allclose(np.abs((found * told).sum(axis=-1)), 1.0, atol=1e-12)


def test_the_nearer_quaternion():
    q = np.array([[0.6, 0.8, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(same_sign(-q, q), q)
    np.testing.assert_array_equal(same_sign(q, q), q)
