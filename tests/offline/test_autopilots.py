"""Conversions for autopilots that anybody can check by hand, and their inner loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transforms3d.euler import euler2quat
from transforms3d.quaternions import quat2mat

from rotor_adapters.autopilots import Autopilot, largest_wrench
from rotor_adapters.frames import swap_attitude, swap_body, swap_world, swap_yaw
from rotor_adapters.teleop.keys import WrenchKeys, wrench_from_sticks
from rotor_core.config.loader import load_vehicle
from rotor_core.errors import ContractError
from rotor_core.vehicles.rotors import rotor_set


def test_axes_by_hand():
    """One metre east is y of PX4, north is its x, up is minus its z; left is minus its y of the body."""
    np.testing.assert_array_equal(swap_world(np.array([1.0, 0, 0])), (0, 1, 0))
    np.testing.assert_array_equal(swap_world(np.array([0, 1.0, 0])), (1, 0, 0))
    np.testing.assert_array_equal(swap_world(np.array([0, 0, 1.0])), (0, 0, -1))
    np.testing.assert_array_equal(swap_body(np.array([1.0, 2, 3])), (1, -2, -3))
    # nose north and level is PX4's identity; ours then heads to +y
    np.testing.assert_allclose(swap_attitude(np.array([1.0, 0, 0, 0])), euler2quat(0, 0, np.pi / 2))
    assert swap_yaw(0.0) == pytest.approx(np.pi / 2)
    assert swap_yaw(np.pi / 2) == pytest.approx(0.0)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_vector_is_the_same_vector_in_both(seed):
    """Turning a body vector into the world and swapping equals swapping and turning with the swapped attitude."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    v = rng.normal(size=3)
    ours = swap_world(quat2mat(q) @ v)
    theirs = quat2mat(swap_attitude(q)) @ swap_body(v)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_allclose(np.abs(swap_attitude(swap_attitude(q)) @ q), 1.0, atol=1e-12)


def test_normalised_ones_are_what_rotors_have():
    """Full thrust is all rotors at their largest; the largest moment takes rotors to both ends of their range."""
    vehicle = load_vehicle("dragonfly")
    rotors = rotor_set(vehicle.rotors)
    largest = largest_wrench(rotors)
    low, high = rotors.thrust_limits
    assert largest[0] == pytest.approx(4.240, abs=1e-3)
    middle = np.array([2.0 * (low + high), 0, 0, 0])
    for axis in (1, 2, 3):
        wrench = middle.copy()
        wrench[axis] = largest[axis]
        thrusts = rotors.unmixing @ wrench
        assert thrusts.max() == pytest.approx(high) and thrusts.min() == pytest.approx(low)
    autopilot = Autopilot(vehicle, 9.81)
    with pytest.raises(ContractError, match=r"between 0 and 1, got 1\.2"):
        autopilot.thrust(1.2)
    with pytest.raises(ContractError, match="between 0 and 1, got nan"):
        autopilot.thrust(float("nan"))
    with pytest.raises(ContractError, match="between -1 and 1"):
        autopilot.moments(np.array([0.0, -3.0, 0.0]))


def test_inner_loops_turn_the_right_way():
    autopilot = Autopilot(load_vehicle("dragonfly"), 9.81)
    level = np.zeros(13)
    level[3] = 1.0
    for axis in range(3):
        turn = np.zeros(3)
        turn[axis] = 0.1
        q = np.append(np.cos(0.05), np.sin(0.05) * turn / 0.1)
        assert autopilot.hold_attitude(level, q, 2.0)[1 + axis] > 0.0
        assert autopilot.hold_rates(level, turn, 2.0)[1 + axis] > 0.0


def test_keys_and_sticks():
    keys = WrenchKeys()
    for key in "1112qx":
        keys.press(key)
    np.testing.assert_allclose(keys.wrench, (0.2, 0.1, 0, 0, 0, 0))
    assert not keys.press("x") and keys.press(" ") and not keys.wrench.any()
    np.testing.assert_allclose(
        wrench_from_sticks([0.5, -1.0, 0.0, 1.0, 2.0]), (-2.0, 1.0, 2.0, 0, 0, 0.1)
    )
    np.testing.assert_array_equal(wrench_from_sticks([float("nan")]), 0.0)
