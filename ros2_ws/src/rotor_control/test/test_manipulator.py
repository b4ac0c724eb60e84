"""Laws of vehicles with arms: what they command, judged by the equations of motion of the nominal model."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rotor_control.controller import make_controller
from rotor_control.gains import INTEGRAL_LIMIT
from rotor_control.laws.manipulator import ManipulatorLaw
from rotor_core.config.controllers import ManipulatorControl, QuadrotorControl
from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import Actuation
from rotor_core.errors import ConfigError, ContractError
from rotor_core.plans.plan import hold
from rotor_core.reference import (
    ACCELERATION,
    ANGULAR_ACCELERATION,
    ATTITUDE,
    BODY_RATE,
    VELOCITY,
    YAW_RATE,
)
from rotor_core.vehicles.articulated import ArticulatedVehicle
from rotor_core.vehicles.rotors import rotor_set

GRAVITY, PERIOD = 9.81, 0.005
WEIGHT = np.array([0.0, 0.0, -GRAVITY])
VEHICLE = load_scenario("arm_coupled").model.vehicles[0]
STRONG = replace(VEHICLE, max_tilt_deg=180.0, joints=tuple(replace(j, effort_n_m=None) for j in VEHICLE.joints))  # fmt: skip
"""Without limits of efforts and tilt."""

CONTROL = ManipulatorControl("manipulator", error_limit_m=100.0)
LAWS = ("coupled", "uncoupled", "computed_torque")

ROUNDING = 1e-11
"""Relative: forces out of accelerations and back through a mass matrix of condition 1e3."""


def law_of(law="coupled", vehicle=STRONG, **changes):
    return ManipulatorLaw(vehicle, replace(CONTROL, law=law, **changes), GRAVITY, PERIOD)


def base_state(position=(0, 0, 2), turn=(0, 0, 0), velocity=(0, 0, 0), rate=(0, 0, 0)):
    """Attitude as a rotation vector."""
    x, y, z, w = Rotation.from_rotvec(turn).as_quat()
    return np.array([*position, w, x, y, z, *velocity, *rate], float)


def at_rest(angles, rates=(0.0, 0.0)):
    joints = np.column_stack([angles, rates])
    return joints, np.column_stack([angles, np.zeros((len(angles), 2))])


def size(values):
    return max(1.0, float(np.max(np.abs(values))))


def close(a, b, tolerance=ROUNDING):
    np.testing.assert_allclose(a, b, rtol=0.0, atol=tolerance * size(b))


class Situation:
    """A random state of everything and a reference of everything, near it."""

    def __init__(self, seed, lean=0.3, vehicle=STRONG):
        rng = np.random.default_rng(seed)
        self.turn = rng.normal(0, lean, 3)
        self.state = base_state(rng.normal(size=3), self.turn, rng.normal(size=3), rng.normal(size=3))  # fmt: skip
        self.joints = rng.normal(size=(2, 2))
        self.wanted = self.joints[:, :1] * [1, 0, 0] + rng.normal(0, 0.3, (2, 3))
        self.reference = hold(self.state[:3] + rng.normal(0, 0.3, 3), 0.4, roll=0.1, pitch=-0.2).sample(0.0)  # fmt: skip
        for first in (VELOCITY, ACCELERATION, BODY_RATE, ANGULAR_ACCELERATION):
            self.reference[first : first + 3] = rng.normal(0, 0.5, 3)
        self.reference[YAW_RATE] = 0.3
        self.R = Rotation.from_rotvec(self.turn).as_matrix()
        self.u = np.concatenate([self.R.T @ self.state[7:10], self.state[10:13], self.joints[:, 1]])
        model = ArticulatedVehicle(vehicle)
        model.place(self.joints[:, 0])
        self.M, self.bias = model.mass_matrix(), model.bias(self.u, self.R.T @ WEIGHT)
        self.mass = model.mass

    def command(self, law):
        wrench, efforts = law(self.state, self.joints, self.reference, self.wanted)
        return np.concatenate([wrench, efforts])

    def base(self, c):
        """Wanted acceleration in W (J.7), and how the base frame's velocity changes in its axes."""
        r, s = self.reference, self.state
        a = np.array(c.position_per_s2) * (r[:3] - s[:3]) + np.array(c.velocity_per_s) * (r[VELOCITY:ACCELERATION] - s[7:10])  # fmt: skip
        a += r[ACCELERATION : ACCELERATION + 3] * c.feedforward
        return a, self.R.T @ a - np.cross(self.u[3:6], self.u[:3])

    def bend(self, vehicle=STRONG):
        """Wanted accelerations of the joints (J.8)."""
        k = np.array([j.gains for j in vehicle.joints])
        error = self.wanted[:, :2] - self.joints
        return (k * error).sum(axis=1) + self.wanted[:, 2]

    def motion(self, command):
        """Motion of the vehicle: ``M u_dot + b = f`` with the thrust along its z axis."""
        return np.linalg.solve(self.M, np.concatenate([[0.0, 0.0], command]) - self.bias)


# --- equilibrium ----------------------------------------------------------------------------------


@pytest.mark.parametrize("angles", [(0.0, 0.0), (0.8, -0.8), (1.5, 0.3), (3.0, -2.0)])
@pytest.mark.parametrize("law", LAWS)
def test_hover_takes_the_weight_and_holding_efforts(law, angles):
    joints, wanted = at_rest(np.array(angles))
    wrench, efforts = law_of(law)(base_state(), joints, hold((0, 0, 2)).sample(0.0), wanted)
    model = ArticulatedVehicle(STRONG)
    model.place(np.array(angles))
    assert wrench[0] == pytest.approx(GRAVITY * model.mass, rel=1e-14)
    if law == "uncoupled":  # knows neither where the centre of mass is nor what a link weighs
        np.testing.assert_array_equal([*wrench[1:], *efforts], 0.0)
        return
    centre, _ = model.composite()
    close(wrench[1:], np.cross(centre, -WEIGHT * model.mass))
    tip = 0.44 * np.cos(angles[0]) + 0.22 * np.cos(sum(angles))  # x of the centres of mass of the links  # fmt: skip
    first = -0.78 * GRAVITY * (0.22 * np.cos(angles[0]) + tip)
    close(efforts, [first, -0.78 * GRAVITY * 0.22 * np.cos(sum(angles))])


# --- coupled --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_coupled_does_what_it_wants_with_the_thrust_it_has(seed):
    """(J.10): joints and attitude exactly; the base does what a thrust along its z axis allows."""
    now, law = Situation(seed), law_of("coupled")
    command = now.command(law)
    u_dot = now.motion(command)
    close(u_dot[6:], now.bend())
    # the force that the wanted motion needs (no angular acceleration yet), of which thrust is the part along z
    _, own = now.base(CONTROL)
    needed = (now.M @ np.concatenate([own, np.zeros(3), now.bend()]) + now.bias)[:3]
    assert command[0] == pytest.approx(needed[2], rel=ROUNDING)
    # attitude: z along that force, x towards the heading of the reference
    z = now.R @ needed / np.linalg.norm(needed)
    y = np.cross(z, [np.cos(0.4), np.sin(0.4), 0.0])
    y /= np.linalg.norm(y)
    R_des = np.column_stack([np.cross(y, z), y, z])
    E = 0.5 * (now.R.T @ R_des - R_des.T @ now.R)
    rate = 0.3 * now.R[2] - now.u[3:6]  # the vertical in the axes of the base
    alpha = (
        np.array(CONTROL.attitude_per_s2) * [E[2, 1], E[0, 2], E[1, 0]]
        + np.array(CONTROL.rate_per_s) * rate
    )
    close(u_dot[3:6], alpha)


def test_uncoupled_is_a_rigid_body_with_servos():
    """(J.10): mass and inertia of the posture at the start, whatever the arm does now."""
    now, c = Situation(5), CONTROL
    start = ArticulatedVehicle(STRONG)
    M = start.mass_matrix()
    command = now.command(law_of("uncoupled"))
    a, _ = now.base(c)
    force = now.mass * (a - WEIGHT)
    assert command[0] == pytest.approx(force @ now.R[:, 2], rel=ROUNDING)
    close(command[4:], np.diag(M)[6:] * now.bend())
    now.joints[:, 0] += 1.0  # another posture, the same errors: the same command
    now.wanted[:, 0] += 1.0
    close(now.command(law_of("uncoupled")), command)
    J, w = M[3:6, 3:6], now.u[3:6]
    level = base_state(rate=(0.1, -0.2, 0.3))
    joints, wanted = at_rest([0.3, 0.2])
    wrench, _ = law_of("uncoupled")(level, joints, hold((0, 0, 2)).sample(0.0), wanted)
    w = np.array([0.1, -0.2, 0.3])
    close(wrench[1:], J @ (-np.array(c.rate_per_s) * w) + np.cross(w, J @ w))


# --- computed torque ------------------------------------------------------------------------------


def turning(now, c, times):
    """Angular acceleration of computed torque (J.11), with rotations by SciPy."""
    q, r = now.state[3:7], now.reference
    difference = Rotation.from_quat([*q[1:], q[0]]).inv() * Rotation.from_quat([*r[ATTITUDE + 1 : BODY_RATE], r[ATTITUDE]])  # fmt: skip
    vector = difference.as_quat()
    vector = vector[:3] * np.sign(vector[3])
    error = np.array(c.attitude_per_s2) * vector
    error += np.array(c.rate_per_s) * (difference.apply(r[BODY_RATE : BODY_RATE + 3]) - now.u[3:6])
    return times * error + difference.apply(r[ANGULAR_ACCELERATION : ANGULAR_ACCELERATION + 3])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "reading, times", [("literal", 4.0), ("corrected", 1.0), ("corrected_x4", 4.0)]
)
def test_computed_torque_solves_the_equations_of_motion(reading, times, seed):
    """(J.11): with the force across the thrust that it drops, the vehicle would do just what is wanted."""
    now = Situation(seed)
    a, own = now.base(CONTROL)
    if reading == "literal":  # the error in W is taken for one in the axes of the base
        own = a - np.cross(now.u[3:6], now.u[:3])
    wanted = np.concatenate([own, turning(now, CONTROL, times), now.bend()])
    needed = now.M @ wanted + now.bias
    command = now.command(law_of("computed_torque", reading=reading))
    close(command, needed[2:])
    lost = np.concatenate([needed[:2], np.zeros(6)])
    close(now.motion(command), wanted - np.linalg.solve(now.M, lost))


def test_the_three_readings_differ_as_documented():
    now = Situation(7)
    read = {r: now.command(law_of("computed_torque", reading=r)) for r in ("literal", "corrected", "corrected_x4")}  # fmt: skip
    assert np.ptp(np.array(list(read.values())), axis=0).min() > 0.1  # they do differ
    four = {
        key: tuple(4.0 * x for x in getattr(CONTROL, key))
        for key in ("attitude_per_s2", "rate_per_s")
    }
    close(now.command(law_of("computed_torque", reading="corrected", **four)), read["corrected_x4"])
    # level: rotation of the error does nothing
    level = Situation(8, lean=0.0)
    one, two = (level.command(law_of("computed_torque", reading=r)) for r in ("literal", "corrected_x4"))  # fmt: skip
    close(one, two)
    # without errors of the attitude and its rate, all corrected ones agree
    now.reference[ATTITUDE : ATTITUDE + 4] = -now.state[3:7]  # also: the sign of a quaternion means nothing  # fmt: skip
    now.reference[BODY_RATE : BODY_RATE + 3] = now.state[10:13]
    one, two = (now.command(law_of("computed_torque", reading=r)) for r in ("corrected", "corrected_x4"))  # fmt: skip
    close(one, two)


# --- what laws have in common ---------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
def test_a_heading_ahead_turns_counter_clockwise(law):
    joints, wanted = at_rest([np.pi / 2, 0.0])  # arm straight down: no product of inertia
    reference = hold((0, 0, 2), 0.2).sample(0.0)
    wrench, efforts = law_of(law)(base_state(), joints, reference, wanted)
    assert wrench[3] > 0.1
    np.testing.assert_allclose(efforts, 0.0, atol=1e-12)
    if law != "uncoupled":  # which thinks that the arm is where it started
        np.testing.assert_allclose(wrench[1:3], 0.0, atol=1e-12)


@pytest.mark.parametrize("law", ["coupled", "uncoupled"])
@pytest.mark.parametrize("error", [(50.0, 0.0, 0.0), (30.0, 40.0, 0.0), (10.0, 0.0, -20.0)])
def test_the_tilt_limit_bounds_the_wanted_attitude(law, error):
    """At the largest tilt towards a far goal nothing turns the vehicle any more, also where the force points down."""
    vehicle = replace(STRONG, max_tilt_deg=30.0)
    side = np.array([*error[:2], 0.0]) / np.hypot(*error[:2])
    joints, wanted = at_rest([0.0, 0.0])
    for tilt, sign in ((20.0, 1.0), (30.0, 0.0), (40.0, -1.0)):
        heading = np.arctan2(side[1], side[0])  # so that the wanted attitude is a pitch alone
        rotation = Rotation.from_euler("ZY", [heading, np.radians(tilt)])
        state, R = base_state(turn=rotation.as_rotvec()), rotation.as_matrix()
        reference = hold(np.array([0, 0, 2]) + error, heading).sample(0.0)
        control = law_of(law, vehicle)
        wrench, efforts = control(state, joints, reference, wanted)
        model = ArticulatedVehicle(vehicle)
        model.place(joints[:, 0])
        M = model.mass_matrix()
        if law == "uncoupled":
            M = ArticulatedVehicle(vehicle).mass_matrix()
            alpha = np.linalg.solve(M[3:6, 3:6], wrench[1:])
        else:
            bias = model.bias(np.zeros(8), R.T @ WEIGHT)
            alpha = np.linalg.solve(M, np.array([0, 0, *wrench, *efforts]) - bias)[3:6]
        expected = 150.0 * np.sin(np.radians(30.0 - tilt))  # about y of the base
        assert np.sign(round(alpha[1], 9)) == sign
        np.testing.assert_allclose(alpha, [0.0, expected, 0.0], atol=1e-9)


@pytest.mark.parametrize("law", ["coupled", "uncoupled"])
def test_the_height_is_kept_at_the_tilt_limit(law):
    """The thrust is that of the force which is left: its vertical part carries the weight."""
    vehicle = replace(STRONG, max_tilt_deg=30.0)
    joints, wanted = at_rest([0.0, 0.0])
    rotation = Rotation.from_euler("ZY", [0.0, np.radians(30.0)])
    state, R = base_state(turn=rotation.as_rotvec()), rotation.as_matrix()
    reference = hold(np.array([50.0, 0.0, 2.0])).sample(0.0)
    wrench, _ = law_of(law, vehicle, error_limit_m=50.0)(state, joints, reference, wanted)
    weight = GRAVITY * ArticulatedVehicle(vehicle).mass
    assert (wrench[0] * R[:, 2])[2] == pytest.approx(weight, rel=1e-9)


def test_the_position_error_is_shortened():
    joints, wanted = at_rest([0.0, 0.0])
    up = [
        law_of(error_limit_m=0.5)(base_state(), joints, hold((0, 0, 2 + d)).sample(0.0), wanted)[0][0]
        for d in (0.25, 0.5, 5.0)
    ]  # fmt: skip
    weight = 7.56 * GRAVITY
    np.testing.assert_allclose(up, weight + 7.56 * 10.0 * np.array([0.25, 0.5, 0.5]), rtol=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_efforts_stay_within_their_limits(law):
    joints, wanted = at_rest(np.array([0.5, -0.5]))
    wanted[:, 0] = 10.0, -10.0
    limited = [replace(j, effort_n_m=e) for j, e in zip(STRONG.joints, (12.0, 5.0), strict=True)]
    vehicle = replace(STRONG, joints=tuple(limited))
    _, efforts = law_of(law, vehicle)(base_state(), joints, hold((0, 0, 2)).sample(0.0), wanted)
    np.testing.assert_array_equal(np.abs(efforts) <= [12.0, 5.0], True)
    assert 12.0 in np.abs(efforts) or 5.0 in np.abs(efforts)
    _, free = law_of(law)(base_state(), joints, hold((0, 0, 2)).sample(0.0), wanted)
    np.testing.assert_array_equal(efforts, np.clip(free, [-12.0, -5.0], [12.0, 5.0]))


@pytest.mark.parametrize("law", LAWS)
def test_integrals_grow_are_limited_and_act(law):
    vehicle = replace(STRONG, joints=tuple(replace(j, integral_per_s3=3.0) for j in STRONG.joints))
    control = law_of(law, vehicle, integral_per_s3=(0.0, 0.0, 2.0))
    joints, wanted = at_rest(np.array([0.5, -0.5]))
    wanted[:, 0] += (0.1, -0.2)
    reference = hold((0, 0, 2.5)).sample(0.0)
    first, efforts = (x.copy() for x in control(base_state(), joints, reference, wanted))
    np.testing.assert_allclose(control.memory, PERIOD * np.array([0, 0, 0.5, 0.1, -0.2]), atol=1e-15)  # fmt: skip
    second, later = control(base_state(), joints, reference, wanted)
    M = ArticulatedVehicle(vehicle)
    M.place(joints[:, 0])
    M = M.mass_matrix()
    if law == "uncoupled":
        start = np.diag(ArticulatedVehicle(vehicle).mass_matrix())[6:]
        close(later - efforts, start * 3.0 * PERIOD * np.array([0.1, -0.2]), 1e-9)
    if law == "computed_torque":  # one more period of the errors, through the mass matrix
        more = PERIOD * np.array([0, 0, 2.0 * 0.5, 0, 0, 0, 3.0 * 0.1, 3.0 * -0.2])
        close(np.concatenate([second, later]) - np.concatenate([first, efforts]), (M @ more)[2:], 1e-9)  # fmt: skip
    assert second[0] > first[0]
    for _ in range(3000):
        control(base_state(), joints, reference, wanted)
    assert control.memory.max() == INTEGRAL_LIMIT
    assert np.abs(control.memory).max() <= INTEGRAL_LIMIT


@pytest.mark.parametrize("law", LAWS)
def test_a_vehicle_without_joints(law):
    bare = replace(VEHICLE, links=(), joints=())
    wrench, efforts = law_of(law, bare)(base_state(), np.zeros((0, 2)), hold((0, 0, 2)).sample(0.0), np.zeros((0, 3)))  # fmt: skip
    np.testing.assert_allclose(wrench, [6.0 * GRAVITY, 0, 0, 0], atol=1e-12)
    assert efforts.shape == (0,)


# --- the controller of a scenario -----------------------------------------------------------------


def test_another_controller_is_refused_with_the_remedy():
    scenario = replace(load_scenario("arm_coupled"), controller=QuadrotorControl("quadrotor"))
    with pytest.raises(
        ConfigError, match=r"vehicle with joints \('am1'\) needs manipulator, got quadrotor"
    ):
        make_controller(scenario)


def test_the_controller_hands_out_efforts_and_forgets_on_reset():
    scenario = replace(load_scenario("pick_and_place"), actuation=Actuation(limits=False))
    controller = make_controller(scenario)
    states = np.tile(base_state(position=(0, 0, 0.6)), (2, 1))
    teams = len(controller.teams)
    references = np.tile(hold((0, 0, 1.0)).sample(0.0), (teams, 1))
    joints = np.array([[0.7, 0.0], [-0.7, 0.0]])
    with pytest.raises(ContractError, match="states of the joints are missing"):
        controller.decide(states, references)
    first = controller.decide(states, references, joints).copy()
    efforts = controller.efforts.copy()
    starts = [j.initial for j in scenario.model.vehicles[0].moving_joints]
    wanted = np.column_stack([starts, np.zeros((2, 2))])
    again = controller.decide(states, references, joints, wanted).copy()
    assert not np.array_equal(again, first)  # integrals have grown
    controller.reset()
    np.testing.assert_array_equal(controller.decide(states, references, joints, wanted), first)
    np.testing.assert_array_equal(controller.efforts, efforts)  # default reference: angles at the start  # fmt: skip


# --- rotors of these vehicles ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["arm_coupled", "pick_and_place", "kremer_tracking"])
def test_am_t13_allocation_gives_every_wrench(name):
    rotors = rotor_set(load_scenario(name).model.vehicles[0].rotors)
    for wrench in np.random.default_rng(0).normal(0.0, (50.0, 10.0, 10.0, 1.0), (20, 4)):
        np.testing.assert_allclose(rotors.mixing @ rotors.unmixing @ wrench, wrench, atol=1e-12 * size(wrench))  # fmt: skip


def test_am_t13_yaw_sign_of_one_propeller():
    """The air holds a counter-clockwise propeller back, so the vehicle turns clockwise; 43.84 N give 1.188 N m (K16)."""
    rotors = load_scenario("arm_coupled").model.vehicles[0].rotors
    assert rotors.spins[0] == 1.0
    thrust = rotors.thrust_n_per_rpm2 * 4500.0**2
    wrench = rotors.mixing[:, 0] * thrust
    assert wrench[0] == pytest.approx(43.84, abs=0.005)
    assert wrench[3] == pytest.approx(-1.188, abs=0.0005)
    np.testing.assert_allclose(wrench[1:3], np.cross(rotors.positions[0], [0, 0, thrust])[:2], atol=1e-12)  # fmt: skip
