"""Rotor limits.

What comes out is possible, as close as the stated priorities allow, and stays as it is a second
time.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core.config.loader import load_scenario
from rotor_core.rotors import limit_wrench, rotor_set

SETS = [
    rotor_set(load_scenario(n).model.vehicles[0].rotors)
    for n in ("hover", "crazyflie_hover", "quadrotor_circle")
]


def limited(rotors, wrench):
    out = np.array(wrench, float)
    beyond = limit_wrench(rotors.unmixing, *rotors.thrust_limits, out)
    return out, beyond


def test_hover_speed_of_the_dragonfly():
    """Table 4.1: 12473 rpm."""
    rotors = SETS[0]
    speed = rotors.speeds(np.array([0.25 * 9.81, 0, 0, 0])) * 60 / (2 * np.pi)
    np.testing.assert_allclose(speed, 12473, rtol=1e-4)
    np.testing.assert_allclose(4 * rotors.thrust_limits, (0.477, 4.240), atol=1e-3)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2), st.tuples(st.floats(-20, 20), *[st.floats(-1, 1)] * 3))
def test_limited_wrenches_are_possible_and_stable(which, wrench):
    rotors = SETS[which]
    low, high = rotors.thrust_limits
    out, beyond = limited(rotors, wrench)
    thrusts = rotors.unmixing @ out
    assert np.all(thrusts >= low - 2e-9) and np.all(thrusts <= high + 2e-9)
    if not beyond:
        np.testing.assert_array_equal(out, wrench)
    again, beyond_again = limited(rotors, out)
    assert not beyond_again
    np.testing.assert_array_equal(again, out)
    # roll and pitch keep their direction, yaw its sign
    assert abs(out[1] * wrench[2] - out[2] * wrench[1]) < 1e-9
    assert out[3] * wrench[3] >= 0.0 and abs(out[3]) <= abs(wrench[3]) + 1e-15


def test_roll_and_pitch_before_thrust_before_yaw():
    rotors = SETS[0]
    tilt = 0.5 * (rotors.thrust_limits[1] - rotors.thrust_limits[0]) * rotors.mixing[1, 1]
    out, beyond = limited(rotors, (4.2, tilt, 0.0, 0.02))
    assert beyond
    assert out[1] == pytest.approx(tilt)
    assert out[0] < 4.2
    assert abs(out[3]) < 0.02


def test_spin_sign():
    """Rotor 1 turns counter-clockwise seen from above: more of it turns the body clockwise."""
    for rotors in SETS:
        assert rotors.mixing[3, 0] < 0.0
        assert np.sum(rotors.mixing[3]) == pytest.approx(0.0)
