"""Rotor limits.

What comes out is possible, as close as the stated priorities allow, and stays as it is a second
time.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor_core.config.loader import load_scenario
from rotor_core.config.model import Hub, Rotors
from rotor_core.vehicles.rotors import limit_wrench, rotor_set

COMMON = {"speed_rpm": (1000.0, 9000.0), "thrust_n_per_rpm2": 5e-8, "torque_per_thrust_m": 0.016}
OTHERS = {
    "hexa": Rotors("plus", arm_m=0.2, count=6, **COMMON),
    "octo": Rotors("x", arm_m=0.3, count=8, **COMMON),
    "canted": Rotors("x", arm_m=0.2, count=6, cant_deg=20.0, **COMMON),
    "coaxial": Rotors(
        "custom",
        hubs=tuple(
            Hub((0.2 * c, 0.2 * s, z), spin)
            for c, s, first in ((1, 1, 0), (-1, 1, 1), (-1, -1, 0), (1, -1, 1))
            for z, spin in ((0.02, ("ccw", "cw")[first]), (-0.02, ("cw", "ccw")[first]))
        ),
        **COMMON,
    ),
}
SETS = [
    rotor_set(load_scenario(n).model.vehicles[0].rotors)
    for n in ("hover", "crazyflie_hover", "quadrotor_circle")
] + [rotor_set(r) for r in OTHERS.values()]


def limited(rotors, wrench):
    out = np.array(wrench, float)
    beyond = limit_wrench(
        rotors.unmixing, rotors.count, np.tile(rotors.thrust_limits, (rotors.count, 1)), out
    )
    return out, beyond


@pytest.mark.parametrize("name", list(OTHERS))
def test_allocation_of_any_layout_gives_the_wrench_with_least_thrust(name):
    """A.2 against an independent solver, and against the wrench of single hubs by cross products."""
    rotors = OTHERS[name]
    packed = rotor_set(rotors)
    wrench = np.array([9.0, 0.1, -0.2, 0.02])
    thrusts = packed.unmixing @ wrench
    np.testing.assert_allclose(thrusts, np.linalg.lstsq(packed.mixing, wrench)[0], atol=1e-12)
    force, moment = np.zeros(3), np.zeros(3)
    for p, a, s, f in zip(rotors.positions, rotors.axes, rotors.spins, thrusts, strict=True):
        force += f * a
        moment += np.cross(p, f * a) - s * rotors.torque_per_thrust_m * f * a
    np.testing.assert_allclose([force[2], *moment], wrench, atol=1e-12)


CROSS = tuple(
    Hub((0.2 * x, 0.2 * y, 0.0), spin)
    for x, y, spin in ((1, 0, "ccw"), (0, 1, "cw"), (-1, 0, "ccw"), (0, -1, "cw"))
)


def test_layouts_that_cannot_fly_are_refused():
    line = tuple(Hub((0.1 * i, 0.0, 0.0), ("ccw", "cw")[i % 2]) for i in range(4))
    for arguments in (
        {"layout": "custom", "hubs": line},
        {"layout": "custom"},
        {"layout": "custom", "hubs": (*CROSS, Hub((0.3, 0.0, 0.0), "ccw", (0.0, 0.0, -1.0)))},
        {"layout": "custom", "hubs": (*CROSS, Hub((0.3, 0.0, 0.0), "ccw", (1.0, 0.0, 0.0)))},
        {"layout": "plus"},
        {"layout": "plus", "arm_m": 0.1, "count": 5},
        {"layout": "plus", "arm_m": 0.1, "inertia_kg_m2": 1e-5},
    ):
        with pytest.raises(ValueError):
            Rotors(**arguments, **COMMON)


def test_cant_tilts_neighbours_to_opposite_sides():
    """The sideways pushes of equal thrusts cancel; each axis stays at right angles to its arm."""
    rotors = OTHERS["canted"]
    np.testing.assert_allclose(rotors.axes.sum(axis=0)[:2], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.sum(rotors.axes * rotors.positions, axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose(rotors.axes[:, 2], np.cos(np.radians(20.0)))


def test_hover_speed_of_the_dragonfly():
    """Table 4.1: 12473 rpm."""
    rotors = SETS[0]
    speed = rotors.speeds(np.array([0.25 * 9.81, 0, 0, 0])) * 60 / (2 * np.pi)
    np.testing.assert_allclose(speed, 12473, rtol=1e-4)
    np.testing.assert_allclose(4 * rotors.thrust_limits, (0.477, 4.240), atol=1e-3)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(SETS) - 1), st.tuples(st.floats(-20, 20), *[st.floats(-1, 1)] * 3))
def test_limited_wrenches_are_possible_and_stable(which, wrench):
    rotors = SETS[which]
    low, high = rotors.thrust_limits
    out, beyond = limited(rotors, wrench)
    if not any(wrench):  # a command of exactly nothing stops the rotors
        assert not beyond and not out.any()
        return
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
