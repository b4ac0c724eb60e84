"""Drag of shapes and its moments: closed forms, another quadrature, symmetries, a fall in the simulator."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rotor_core.config.environment import Environment
from rotor_core.config.loader import scenario_from_tree
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError
from rotor_core.state import State
from rotor_dynamics.forces.element import Motion
from rotor_dynamics.forces.shape_drag import SHAPE_DRAG, ShapeDrag
from rotor_sim.simulation import Simulation

DENSITY = Environment().air.density
LEVEL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
numbers = st.floats(-8.0, 8.0, allow_subnormal=False)


def wrench(keys, air, omega=(0.0, 0.0, 0.0)):
    """Force and moment (3,) each for air speeds and rates in the axes of the body."""
    still = (0.0, 0.0, 0.0)
    numbers = np.array(SHAPE_DRAG.parameters(keys, Environment()), float)
    motion = Motion(still, LEVEL, still, tuple(map(float, omega)), tuple(map(float, air)), 1.0)
    force, moment = SHAPE_DRAG.formula(numbers, motion)
    return np.array(force), np.array(moment)


def box(size=(0.3, 0.4, 0.5), **keys):
    return ShapeDrag("shape_drag", "payload", size, **keys)


@pytest.mark.parametrize("axis", range(3))
def test_a_face_square_to_the_air_has_its_drag_and_no_moment(axis):
    keys = box(drag_coefficient=(1.0, 1.1, 1.2))
    air = np.zeros(3)
    air[axis] = -4.0
    force, moment = wrench(keys, air)
    area = np.prod(np.delete(keys.size_m, axis))
    expected = np.zeros(3)
    expected[axis] = 0.5 * DENSITY * keys.drag_coefficient[axis] * area * 16.0
    np.testing.assert_allclose(force, expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(moment, 0.0, atol=1e-15)


def test_a_plate_that_turns_is_damped_as_its_integral_says():
    """rho C omega^2 l_z l_y^4 / 64; Gauss's four points take |y|^3 for 0.9 per cent less."""
    omega = 3.0
    _, moment = wrench(box((1e-9, 0.4, 0.5)), np.zeros(3), (0.0, 0.0, omega))
    closed = -DENSITY * 1.05 * omega**2 * 0.5 * 0.4**4 / 64.0
    assert moment[2] == pytest.approx(closed, rel=0.01)
    _, moment = wrench(box((0.2, 0.2, 0.6), shape="cylinder"), np.zeros(3), (omega, 0.0, 0.0))
    ends = np.sqrt(np.pi) * 0.1
    closed = -DENSITY * 1.05 * omega**2 * (0.2 * 0.6**4 + ends**5) / 64.0
    assert moment[0] == pytest.approx(closed, rel=0.01)


@settings(deadline=None)
@given(
    st.tuples(*[st.floats(3.0, 8.0)] * 3),
    st.tuples(*[st.floats(-5.0, 5.0)] * 3),
    st.tuples(*[st.floats(-0.2, 0.2)] * 3),
)
def test_moving_faces_against_another_quadrature(air, omega, centre):
    """Places on all faces as vectors, twenty points an edge: the same where no face meets the air from both sides."""
    keys = box(pressure_shift=0.0, centre_m=centre)
    size, middle = np.array(keys.size_m), np.array(air) + np.cross(omega, centre)
    assume((middle > 0.5 * np.abs(omega).sum() * size.max()).all())
    nodes, weights = np.polynomial.legendre.leggauss(20)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    shares = 0.25 * np.outer(weights, weights).ravel()
    total = np.zeros((2, 3))
    for axis in range(3):
        places = np.zeros((len(grid), 3))
        edges = [k for k in range(3) if k != axis]
        places[:, edges] = 0.5 * size[edges] * grid
        speeds = (middle + np.cross(omega, places))[:, axis]
        pushes = np.zeros_like(places)
        pushes[:, axis] = -0.5 * DENSITY * 1.05 * np.prod(size[edges]) * shares * speeds**2
        total += pushes.sum(axis=0), np.cross(places + centre, pushes).sum(axis=0)
    force, moment = wrench(keys, air, omega)
    np.testing.assert_allclose(force, total[0], rtol=1e-12)
    np.testing.assert_allclose(moment, total[1], atol=1e-12 * np.abs(total).max())


@settings(deadline=None)
@given(st.tuples(numbers, numbers, numbers), st.tuples(numbers, numbers, numbers), st.floats(-3, 3))
def test_a_cylinder_does_not_know_where_x_is(air, omega, angle):
    """Its side is round; its ends, squares of the area of the discs, matter where it tumbles (left out here)."""
    keys = box((0.2, 0.2, 0.6), shape="cylinder", drag_coefficient=(1.2, 1.2, 0.0))
    turn = Rotation.from_euler("z", angle)
    here, there = wrench(keys, air, omega), wrench(keys, turn.apply(air), turn.apply(omega))
    for a, b in zip(here, there, strict=True):
        np.testing.assert_allclose(turn.apply(a), b, atol=1e-11)


@settings(deadline=None)
@given(st.tuples(numbers, numbers, numbers), st.tuples(numbers, numbers, numbers))
def test_mirrored_air_gives_the_mirrored_wrench(air, omega):
    """Through the xz plane: vectors change the sign of y, rates and moments those of x and z."""
    vector, axial = np.array([1.0, -1.0, 1.0]), np.array([-1.0, 1.0, -1.0])
    for keys in (box(), box((0.2, 0.2, 0.6), shape="cylinder")):
        force, moment = wrench(keys, air, omega)
        seen_force, seen_moment = wrench(keys, vector * air, axial * omega)
        np.testing.assert_allclose(seen_force, vector * force, atol=1e-11)
        np.testing.assert_allclose(seen_moment, axial * moment, atol=1e-11)


@settings(deadline=None)
@given(st.tuples(numbers, numbers, numbers))
def test_drag_takes_energy(air):
    for keys in (box(), box((0.2, 0.2, 0.6), shape="cylinder")):
        assert wrench(keys, air)[0] @ air <= 0.0


def test_the_centre_of_pressure_is_that_of_joessel():
    """At an angle a to the plate it lies 0.3 (1 - sin a) of the length before the middle, and turns it across."""
    keys, angle = box((1e-6, 0.4, 0.5)), np.radians(20.0)
    air = 5.0 * np.array([np.sin(angle), np.cos(angle), 0.0])  # moves along y, mostly
    force, moment = wrench(keys, air)
    assert -moment[2] / force[0] == pytest.approx(0.3 * (1.0 - np.sin(angle)) * 0.4, rel=1e-4)
    assert moment[2] > 0.0  # from x, its normal, towards y, the way it moves
    # a square prism that moves along its diagonal has no side to turn to
    assert abs(wrench(box((0.4, 0.4, 0.4)), [3.0, 3.0, 0.0])[1][2]) < 1e-15


FALL = """
schema: 1
model: {payloads: [{name: crate, mass_kg: 2.0, inertia_kg_m2: [0.02, 0.03, 0.03], shape: {type: box, size_m: [0.3, 0.4, 0.5]}DRAG}]}
controller: {type: open_loop}
environment: {ground_m: -100.0}
forces: [{type: shape_drag, body: crate, SIZE}]
time: {step_s: 0.001}
"""


def falling(size="size_m: [0.3, 0.4, 0.5]", drag=""):
    text = FALL.replace("SIZE", size).replace("DRAG", drag)
    return scenario_from_tree(parse_tree(text, "fall"))


def test_a_falling_crate_comes_to_its_terminal_speed():
    """v = v_end tanh(g t / v_end), v_end^2 = 2 m g / (rho C A): the level crate does not turn."""
    scenario = falling()
    simulation = Simulation(scenario)
    time = 1.2
    for _ in range(round(time / scenario.time.control_s)):
        simulation.step()
    g = scenario.environment.gravity_m_s2
    end = np.sqrt(2.0 * 2.0 * g / (DENSITY * 1.05 * 0.3 * 0.4))
    state = State(simulation.motion)
    np.testing.assert_allclose(state.velocity[0, 2], -end * np.tanh(g * time / end), rtol=1e-10)
    np.testing.assert_allclose(state.body_rate[0], 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("size", "drag", "words"),
    [
        ("shape: cylinder, size_m: [0.3, 0.4, 0.5]", "", "one diameter, got 0.3 and 0.4"),
        ("size_m: [0.3, 0.0, 0.5]", "", "size_m"),
        ("size_m: [0.3, 0.4, 0.5], pressure_shift: 0.7", "", "pressure_shift"),
        ("size_m: [0.3, 0.4, 0.5]", ", drag: {linear_n_s_per_m: [0.1, 0.1, 0.1]}", "crate has drag"),
    ],
)  # fmt: skip
def test_bad_keys_are_refused(size, drag, words):
    with pytest.raises(ConfigError, match=words):
        falling(size, drag)


def test_wind_is_felt_in_the_axes_of_the_body():
    """A turned crate in wind, which nobody commands: Newton and Euler with the wrench of the formula."""
    text = FALL.replace("SIZE", "size_m: [0.3, 0.4, 0.5]").replace("DRAG", "")
    text = text.replace(
        "ground_m: -100.0", "ground_m: -100.0, wind: {steady_m_s: [6.0, -2.0, 1.0]}"
    )
    text += "initial: [{entity: crate, position_m: [0, 0, 0], rpy_deg: [20.0, -30.0, 50.0]}]\n"
    scenario = scenario_from_tree(parse_tree(text, "crate"))
    simulation = Simulation(scenario)
    simulation.step()
    state = State(simulation.motion)
    turn = Rotation.from_quat(np.roll(state.attitude[0], -1))
    air, omega = turn.inv().apply(state.velocity[0] - [6.0, -2.0, 1.0]), state.body_rate[0]
    force, moment = wrench(box(), air, omega)
    g = scenario.environment.gravity_m_s2
    expected = turn.apply(force) / 2.0 - [0.0, 0.0, g]
    np.testing.assert_allclose(state.acceleration[0], expected, rtol=1e-10)
    inertia = np.array(scenario.model.payloads[0].inertia_kg_m2[:3])
    turning = (moment - np.cross(omega, inertia * omega)) / inertia
    assert np.abs(turning).max() > 0.5
    np.testing.assert_allclose(state.angular_acceleration[0], turning, rtol=1e-10)
