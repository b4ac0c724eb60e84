"""The five-body delivery quadcopter against its minimal model, against closed forms and against its own derivatives."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy.spatial.transform import Rotation

from validation.oracles import pappalardo
from validation.oracles.pappalardo import Drone, Flight

HOVER = 331.693  # rad/s, loaded, 15 degrees Celsius
SPIN = np.array([1.0, -1.0, 1.0, -1.0])
TWO, MANY = Drone.table_2(blades="two"), Drone.table_2(blades="many")
J_x, J_y, J_z = 0.274511, 0.264511, 0.428982  # whole vehicle, many blades, to the digits given
I_ZZ = 8.6e-4
FREE_SPACE = {"gravity": 0.0, "thrust_coefficient": 0.0}
LAW_PHASE = np.arange(4.0)
LAW_AMPLITUDE, LAW_RATE = np.array([6.0, 9.0, -7.0, 5.0]), np.array([5.0, 7.0, 6.0, 8.0])
THETA = -0.3


def hovering_law(t):
    """A different speed on every propeller, all near hover."""
    angle = LAW_RATE * t + LAW_PHASE
    speed = SPIN * HOVER + LAW_AMPLITUDE * np.sin(angle)
    return speed, LAW_AMPLITUDE * LAW_RATE * np.cos(angle)


def spin_up(final, duration):
    """Smooth laws from rest to the final speeds."""

    def law(t):
        x = t / duration
        return final * x**3 * (10 - 15 * x + 6 * x**2), final * 30 * (x - x**2) ** 2 / duration

    return law


def steady(speeds):
    return lambda t: (speeds, np.zeros(4))


TUMBLING = Flight(
    np.array([1.0, 2.0, 3.0]),
    Rotation.from_euler("XYZ", [0.2, THETA, 0.5]).as_matrix(),
    np.array([0.5, -0.2, 0.3]),
    np.array([0.7, -0.5, 0.9]),
    np.array([0.1, 0.7, 1.9, -0.4]),
    hovering_law(0.0)[0],
)
AT_REST = Flight(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3), np.zeros(4), np.zeros(4))


def final_flight(drone, start, law, t_end):
    return pappalardo.flight_from(
        pappalardo.integrate_dae(drone, start, law, np.array([0.0, t_end]))[-1]
    )


def error(a, b, name):
    return np.abs(getattr(a, name) - getattr(b, name)).max()


def violations(y, drone, speed):
    """Largest position-level and velocity-level violation."""
    C = pappalardo.constraint_jacobian(pappalardo.kinematics(y), drone)
    rates = C @ y[30:] - np.concatenate([np.zeros(20), speed])
    return np.abs(pappalardo.revolute_violation(y[:30], drone)).max(), np.abs(rates).max()


def test_dd_b2_slope_of_revolute_rows_is_their_jacobian():
    # off the constraints, where nothing cancels; h = 1e-6: rounding 1e-10, truncation 1e-12
    y = pappalardo.coordinates(TUMBLING, TWO)
    y[:30] += 0.01 * np.random.default_rng(0).normal(size=30)
    h = 1e-6
    slope = [
        (
            pappalardo.revolute_violation(y[:30] + h * e, TWO)
            - pappalardo.revolute_violation(y[:30] - h * e, TWO)
        )
        / (2 * h)
        for e in np.eye(30)
    ]
    jacobian = pappalardo.revolute_jacobian(pappalardo.kinematics(y), TWO)
    assert np.abs(np.transpose(slope) - jacobian).max() < 1e-9


@pytest.mark.parametrize("drive", ["axial", "printed"])
def test_dd_b2_accelerations_keep_the_velocity_rows(drive):
    # d/dt (C q_dot - speed) = 0. Slow propellers, 50 rad/s: differences truncate 50^4 h^2 / 6 = 1e-4 at
    # h = 1e-5, Richardson's step takes that to 50^6 h^4 / 100 = 1e-12; rounding is 100 * 1e-16 / h = 1e-9
    def law(t):
        speed, speed_dot = hovering_law(t)
        return 0.15 * speed, 0.15 * speed_dot

    def row_rates(y, speed):
        k = pappalardo.kinematics(y)
        rates = pappalardo.constraint_jacobian(k, TWO, drive) @ y[30:]
        if drive == "axial":
            rates[20:] -= speed
        else:
            rates[20:] -= np.outer(speed, k.R[0, :, 2]).ravel()
        return rates

    def slope(h):
        ends = [
            row_rates(y + s * np.concatenate([y[30:] + s * a / 2, a]), law(s)[0]) for s in (-h, h)
        ]
        return (ends[1] - ends[0]) / (2 * h)

    y = pappalardo.coordinates(replace(TUMBLING, speeds=law(0.0)[0]), TWO)
    a, _ = pappalardo.accelerations(y, TWO, law(0.0), drive)
    h = 1e-5
    assert np.abs(4 * slope(h / 2) - slope(h)).max() / 3 < 2e-8


def test_dd_b2_stacked_rows_have_rank_24():
    k = pappalardo.kinematics(pappalardo.coordinates(TUMBLING, TWO))
    assert pappalardo.constraint_jacobian(k, TWO, "axial").shape == (24, 30)
    rows = pappalardo.constraint_jacobian(k, TWO, "printed")
    singular = np.linalg.svd(rows, compute_uv=False)
    assert rows.shape == (32, 30)
    assert singular[23] == pytest.approx(np.cos(THETA), rel=1e-12)  # 0.955
    assert singular[24] < 1e-14  # rounding of 32 rows of length two at most


@pytest.mark.parametrize("drone", [TWO, MANY], ids=["two", "many"])
def test_dd_b2_printed_and_axial_rows_give_the_same_accelerations(drone):
    y, joints = pappalardo.coordinates(TUMBLING, drone), hovering_law(0.0)
    axial, lam = pappalardo.accelerations(y, drone, joints, "axial")
    printed, lam_printed = pappalardo.accelerations(y, drone, joints, "printed")
    assert len(lam) == 24
    assert len(lam_printed) == 32
    # least squares on the Gram matrix: rounding 2e-16, condition m_frame / I_xx = 1e4 or 1e6 at most, 40 rad/s2
    assert np.abs(axial - printed).max() < 1e-10


def test_dd_b3_coordinates_and_back():
    back = pappalardo.flight_from(pappalardo.coordinates(TUMBLING, TWO))
    for name in ("p_WB", "R_WB", "v_WB", "omega_B", "angles"):
        assert error(back, TUMBLING, name) < 4e-15  # a few roundings of numbers below 4
    assert error(back, TUMBLING, "speeds") < 1e-12  # the same, of 340 rad/s
    y = pappalardo.coordinates(TUMBLING, TWO)
    assert max(violations(y, TWO, TUMBLING.speeds)) < 1e-12


def test_dd_b3_inertia_of_the_minimal_model():
    J, J_dot = pappalardo.gyrostat_inertia(MANY, TUMBLING.angles, TUMBLING.speeds)
    np.testing.assert_allclose(J, np.diag([J_x, J_y, J_z]), atol=5e-7)  # six decimals given
    assert np.abs(J_dot).max() < 1e-15 * HOVER


@pytest.mark.parametrize(
    ("drone", "t_end", "position", "attitude"),
    # figures for 1 s at errors per step of 1e-11; shorter here
    [(TWO, 0.2, 2.5e-11, 3.5e-11), (MANY, 0.5, 5e-12, 5e-12)],
    ids=["two", "many"],
)
def test_dd_b3_multipliers_and_minimal_model_move_alike(drone, t_end, position, attitude):
    dae = final_flight(drone, TUMBLING, hovering_law, t_end)
    times = np.array([0.0, t_end])
    minimal = pappalardo.integrate_minimal(drone, TUMBLING, hovering_law, times)[-1]
    assert error(dae, minimal, "p_WB") < position
    assert error(dae, minimal, "R_WB") < attitude
    # an attitude error turns the thrust of 10 g: its integral is at most 10 times larger. Body rates up to
    # 1.3 rad/s are held to 1e-11 per step, and there are 20 to 200 steps
    assert error(dae, minimal, "v_WB") < 10 * attitude
    assert error(dae, minimal, "omega_B") < 1e-10
    assert np.linalg.norm(dae.omega_B - TUMBLING.omega_B) > 0.5  # something happened


def test_dd_b4_hover_torque_is_drag_alone():
    level = replace(AT_REST, angles=TUMBLING.angles, speeds=SPIN * HOVER)
    y = pappalardo.coordinates(level, MANY)
    joints = steady(SPIN * HOVER)(0.0)
    torques = pappalardo.motor_torques(y, MANY, joints)
    np.testing.assert_allclose(torques, 0.93676 * SPIN, atol=5e-6)  # five decimals given
    accelerations, _ = pappalardo.accelerations(y, MANY, joints)
    # thrust equals weight to the six digits of speed (twice) and thrust coefficient: 3e-6 * 9.81
    assert np.abs(accelerations[:3]).max() < 3e-5


@pytest.mark.parametrize("drive", ["axial", "printed"])
@pytest.mark.parametrize("drone", [TWO, MANY], ids=["two", "many"])
def test_dd_b4_joint_axis_multiplier_is_the_newton_euler_torque(drone, drive):
    y = pappalardo.coordinates(TUMBLING, drone)
    speed, speed_dot = hovering_law(0.0)
    by_multipliers = pappalardo.motor_torques(y, drone, (speed, speed_dot), drive)
    by_euler = pappalardo.newton_euler_torques(drone, TUMBLING, speed_dot)
    np.testing.assert_allclose(
        by_multipliers, by_euler, rtol=1e-12
    )  # rounding: one instant, no motion
    drag = drone.thrust_coefficient * drone.drag_ratio * speed * np.abs(speed)
    assert np.abs(by_euler - drag).min() > 0.01  # more than drag


def test_dd_b4_replayed_torques_return_the_motion():
    # motor torques at Chebyshev points; 40 of them leave rounding alone
    t_end, points = 0.4, chebyshev.chebpts1(40)
    times = np.concatenate([[0.0], (points + 1.0) * t_end / 2.0, [t_end]])
    states = pappalardo.integrate_dae(MANY, TUMBLING, hovering_law, times)
    torques = [
        pappalardo.motor_torques(y, MANY, hovering_law(t))
        for t, y in zip(times[1:-1], states[1:-1], strict=True)
    ]
    series = chebyshev.chebfit(points, np.array(torques), 39)
    assert np.abs(series[-3:]).max() < 1e-12

    def motor(t):
        return chebyshev.chebval(2.0 * t / t_end - 1.0, series)

    free = pappalardo.integrate_torque_driven(MANY, TUMBLING, motor, times[[0, -1]])[-1]
    free, driven = pappalardo.flight_from(free), pappalardo.flight_from(states[-1])
    # figures for 1 s; shorter here
    assert error(free, driven, "p_WB") < 1.5e-11
    assert error(free, driven, "R_WB") < 8e-12
    assert (
        error(free, driven, "speeds") < 3e-10
    )  # a constant 1e-12 N m for 0.4 s over I_zz gives 5e-10
    assert error(free, driven, "omega_B") < 1e-10


def test_dd_b5_spin_up_of_one_propeller_turns_the_frame():
    drone = replace(TWO, **FREE_SPACE)
    law = spin_up(np.array([HOVER, 0.0, 0.0, 0.0]), 0.2)
    flight = final_flight(drone, AT_REST, law, 0.2)
    assert flight.omega_B[2] == pytest.approx(-0.664960, abs=1e-6)  # six decimals, J_z of as many
    J, _ = pappalardo.gyrostat_inertia(drone, np.zeros(4), np.zeros(4))
    # momentum about z: the form of the answer is exact, the error per step 1e-11
    assert flight.omega_B[2] == pytest.approx(-I_ZZ * HOVER / J[2, 2], rel=1e-11)
    assert np.abs(flight.omega_B[:2]).max() < 1e-14


def test_dd_b5_alternating_propellers_leave_the_frame_alone():
    drone = replace(TWO, **FREE_SPACE)
    flight = final_flight(drone, AT_REST, spin_up(SPIN * HOVER, 0.2), 0.2)
    # angular accelerations of 3000 rad/s2 cancel in pairs, to their rounding
    assert np.abs(flight.omega_B).max() < 1e-13


def test_dd_b6_equal_spins_precess():
    drone, rate = replace(MANY, **FREE_SPACE), 1e-3
    h = 4 * I_ZZ * HOVER
    J = np.diag(pappalardo.gyrostat_inertia(drone, np.zeros(4), np.zeros(4))[0])
    period = 2 * np.pi * np.sqrt(J[0] * J[1]) / h
    assert h == pytest.approx(1.141024, abs=5e-7)
    assert period == pytest.approx(1.48384, abs=5e-6)
    start = replace(AT_REST, omega_B=np.array([rate, 0.0, 0.0]))
    times = period * np.array([0.0, 0.25, 1.0])
    states = pappalardo.integrate_dae(drone, start, steady(np.full(4, HOVER)), times)
    quarter, whole = (pappalardo.flight_from(y).omega_B / rate for y in states[1:])
    # the linear solution; w_z is of second order, rate * J / h = 3e-4 of w_x times (J_x - J_y) / J_z, and
    # changes the frequency by its square
    np.testing.assert_allclose(quarter, [0.0, np.sqrt(J[0] / J[1]), 0.0], atol=1e-5)
    np.testing.assert_allclose(whole[:2], [1.0, 0.0], atol=1e-7)
    assert quarter[1] == pytest.approx(np.sqrt(J_x / J_y), rel=1e-5)  # positive: +w_x makes +w_y


def test_dd_b6_alternating_spins_do_not_precess():
    drone, rate = replace(MANY, **FREE_SPACE), 1e-3
    start = replace(AT_REST, omega_B=np.array([rate, 0.0, 0.0]))
    omega_B = final_flight(drone, start, steady(SPIN * HOVER), 0.5).omega_B
    # the four gyroscopic torques cancel; what is left is 1e-12 per step of the angles over the rate
    np.testing.assert_allclose(omega_B / rate, [1.0, 0.0, 0.0], atol=1e-10)


def test_dd_b7_momentum_of_the_spin_tests():
    drone = replace(TWO, **FREE_SPACE)
    for final in (np.array([HOVER, 0.0, 0.0, 0.0]), SPIN * HOVER, np.full(4, HOVER)):
        y = pappalardo.integrate_dae(drone, AT_REST, spin_up(final, 0.2), np.array([0.0, 0.2]))[-1]
        linear, angular = pappalardo.momentum(y, drone)
        assert np.abs(linear).max() < 1e-12
        assert np.abs(angular).max() < 1e-12


def test_dd_b7_momentum_of_a_tumbling_vehicle():
    # without moments, so the whole vehicle keeps 6 N s and 12 N m s; accelerations conserve both exactly
    drone = replace(MANY, **FREE_SPACE)
    states = pappalardo.integrate_dae(drone, TUMBLING, hovering_law, np.array([0.0, 0.2, 0.4]))
    start, *later = (np.concatenate(pappalardo.momentum(y, drone)) for y in states)
    for now in later:
        np.testing.assert_allclose(now, start, rtol=0.0, atol=1e-12)
    assert np.abs(start).max() > 5.0


def test_dd_b8_drift_of_fourth_order_and_none_with_projection():
    t_end = 0.4
    times = np.array([0.0, t_end])
    minimal = pappalardo.integrate_minimal(MANY, TUMBLING, hovering_law, times)[-1]
    drift, motion = {}, {}
    for steps in (100, 200):  # 4 and 2 ms
        for stabilised in (False, True):
            y = pappalardo.integrate_dae_rk4(
                MANY, TUMBLING, hovering_law, t_end, steps, stabilised=stabilised
            )
            flight = pappalardo.flight_from(y)
            drift[steps, stabilised] = violations(y, MANY, hovering_law(t_end)[0])[0]
            motion[steps, stabilised] = error(flight, minimal, "p_WB")
    # halving the step divides by 2^4, or by 2^5 in the share of the next order, below a tenth at 4 ms
    assert drift[100, False] / drift[200, False] == pytest.approx(16.0, rel=0.2)
    assert motion[100, False] / motion[200, False] == pytest.approx(16.0, rel=0.2)
    assert max(drift[100, True], drift[200, True]) < 2e-15  # 9e-16: rounding of places of 4 m
    for steps in (100, 200):  # the pose of the frame stays: projection acts by what it takes away
        assert abs(motion[steps, True] - motion[steps, False]) < drift[steps, False]


def test_dd_b16_wind_pushes_the_whole_vehicle():
    push = pappalardo.wind_force(10.0)
    assert push == pytest.approx(3.66, rel=1e-12)  # (64): 0.0366 v^2
    drone = replace(MANY, force_W=np.array([push, 0.0, 0.0]))
    level = replace(AT_REST, speeds=SPIN * HOVER)
    a, _ = pappalardo.accelerations(
        pappalardo.coordinates(level, drone), drone, steady(SPIN * HOVER)(0.0)
    )
    # 3.66 N on 10.0224 kg, and no turn: the mass centre is that of the frame
    assert a[0] == pytest.approx(push / 10.0224, rel=1e-12)
    assert np.abs(a[3:6]).max() < 1e-11


def test_dd_b14_signs_of_the_hub_thrusts():
    thrust = MANY.thrust_coefficient * HOVER**2
    # one newton more or less on every rotor: left up, front up, and propellers 2 and 4 up
    quotas = np.array([[-1.0, 1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0], [-1.0, 1.0, -1.0, 1.0]])
    # 4 c = 1.40686 m; 4 b_T = 0.152444 m, the reaction to clockwise drag
    expected = [[1.40686 / J_x, 0.0, 0.0], [0.0, -1.40686 / J_y, 0.0], [0.0, 0.0, 0.152444 / J_z]]
    for quota, omega_dot in zip(quotas, expected, strict=True):
        speed = SPIN * np.sqrt((thrust + quota) / MANY.thrust_coefficient)
        y = pappalardo.coordinates(replace(AT_REST, speeds=speed), MANY)
        a, _ = pappalardo.accelerations(y, MANY, steady(speed)(0.0))
        assert np.abs(a[:3]).max() < 3e-5  # total thrust unchanged, see the hover test
        np.testing.assert_allclose(a[3:6], omega_dot, rtol=1e-5, atol=1e-10)  # six digits given
    tilted = replace(AT_REST, R_WB=Rotation.from_euler("x", 0.1).as_matrix(), speeds=SPIN * HOVER)
    a, _ = pappalardo.accelerations(
        pappalardo.coordinates(tilted, MANY), MANY, steady(SPIN * HOVER)(0.0)
    )
    assert a[1] == pytest.approx(-9.81 * np.sin(0.1), rel=1e-5)  # +phi accelerates -y
