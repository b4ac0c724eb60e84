"""Rotors in moving air: closed forms of momentum and blade element theory, and SciPy's roots of the same equations."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.vehicles.inflow import Inflow
from rotor_core.errors import ConfigError
from rotor_core.state import State
from rotor_sim.environment.inflow import PROFILE, air_factors, induced_velocities
from rotor_sim.environment.surfaces import Ceilings, ceiling_easing
from rotor_sim.simulation import Simulation

RADIUS, THRUST, TORQUE, SLOPE, SPEED = 0.12, 0.014, 0.0016, 0.55, 400.0
TIP = RADIUS * SPEED
HOVER = np.sqrt(THRUST / 2.0)
"""Inflow of hover over the tip speed."""

shares = st.floats(-3.0, 3.0)


def factors(climb, across=0.0, easing=1.0):
    """Thrust and torque factors at velocities in units of the inflow of hover."""
    climb, across = np.broadcast_arrays(np.atleast_1d(climb), np.atleast_1d(across))
    n = len(climb)
    blades = np.tile([RADIUS, THRUST, TORQUE, SLOPE], (n, 1))
    thrust, torque = np.empty(n), np.empty(n)
    v = HOVER * TIP
    air_factors(
        blades, np.full(n, SPEED), climb * v, across * v, np.full(n, easing), thrust, torque
    )
    return thrust, torque


def pitch():
    """The one that hover asks for: C_T = sigma a / 2 (theta / 3 - lambda / 2)."""
    return 3.0 * (2.0 * THRUST / SLOPE + 0.5 * HOVER)


def test_air_at_rest_changes_nothing():
    thrust, torque = factors(0.0)
    assert thrust == pytest.approx(1.0, abs=1e-12) and torque == pytest.approx(1.0, abs=1e-12)


def test_a_rotor_without_blades_feels_nothing():
    thrust, torque = np.empty(1), np.empty(1)
    air_factors(
        np.array([[0.1, 0.01, 0.001, 0.0]]),
        np.array([300.0]),
        np.ones(1),
        np.ones(1),
        np.ones(1),
        thrust,
        torque,
    )
    assert thrust[0] == torque[0] == 1.0


@settings(deadline=None)
@given(st.floats(0.0, 4.0))
def test_climb_is_the_root_of_a_quadratic(climb):
    c = climb * HOVER
    b = 0.25 * SLOPE - 2.0 * c
    through = (-b + np.sqrt(b * b + 8.0 * SLOPE * pitch() / 6.0)) / 4.0
    coefficient = 0.5 * SLOPE * (pitch() / 3.0 - 0.5 * through)
    thrust, torque = factors(climb)
    if coefficient <= 0.0:  # so fast that the blades are pushed from above
        assert thrust[0] == 0.0
        return
    assert thrust[0] == pytest.approx(coefficient / THRUST, rel=1e-11, abs=1e-12)
    profile = TORQUE - HOVER * THRUST
    assert torque[0] == pytest.approx((through * coefficient + profile) / TORQUE, rel=1e-10)


@pytest.mark.parametrize("velocity", [(0.0, 10.0), (-4.0, 3.0), (5.0, 5.0), (-12.0, 0.0)])
def test_a_rotor_that_stops_gives_nothing(velocity):
    """Thrust and torque vanish with the square of the speed, whatever blows."""
    speeds = np.geomspace(1e-6, 300.0, 40)
    n = len(speeds)
    thrust, torque = np.empty(n), np.empty(n)
    climb, across = (np.full(n, v) for v in velocity)
    blades = np.tile([RADIUS, THRUST, TORQUE, SLOPE], (n, 1))
    air_factors(blades, speeds, climb, across, np.ones(n), thrust, torque)
    slow = speeds * RADIUS < np.hypot(*velocity)
    for factor in (thrust, torque):
        assert np.isfinite(factor).all()
        assert np.allclose(factor[slow], factor[0], rtol=1e-9)


@settings(deadline=None, max_examples=200)
@given(st.floats(0.0, 3.0), st.floats(0.0, 6.0))
def test_forward_climb_is_where_momentum_and_blades_agree(climb, across):
    c, mu = climb * HOVER, across * HOVER

    def blades(v):
        return 0.5 * SLOPE * (pitch() / 3.0 * (1.0 + 1.5 * mu * mu) - 0.5 * (c + v))

    if blades(0.0) <= 0.0:
        assert factors(climb, across)[0][0] == 0.0
        return
    v = brentq(lambda v: blades(v) - 2.0 * v * np.hypot(mu, c + v), 0.0, 1.0, xtol=1e-15)
    thrust, torque = factors(climb, across)
    assert thrust[0] == pytest.approx(blades(v) / THRUST, rel=1e-9, abs=1e-10)
    profile = (TORQUE - HOVER * THRUST) * (1.0 + PROFILE * mu * mu)
    assert torque[0] == pytest.approx(((c + v) * blades(v) + profile) / TORQUE, rel=1e-9, abs=1e-9)


def induced(thrusts, climbs, across, area=0.05, density=1.2):
    out = np.empty(len(thrusts))
    induced_velocities(
        np.asarray(thrusts, float), np.full(len(out), area), np.asarray(climbs, float),
        np.asarray(across, float), density, out,
    )  # fmt: skip
    return out


@settings(deadline=None)
@given(st.floats(0.01, 50.0), st.floats(0.0, 20.0), st.floats(0.0, 20.0))
def test_induced_velocity_makes_the_thrust(thrust, climb, across):
    v = induced([thrust], [climb], [across])[0]
    assert 2.0 * 1.2 * 0.05 * v * np.hypot(across, climb + v) == pytest.approx(thrust, rel=1e-10)


@settings(deadline=None)
@given(st.floats(0.01, 50.0), st.floats(2.0, 10.0))
def test_a_windmill_makes_the_thrust_too(thrust, descent):
    hover = np.sqrt(thrust / (2.0 * 1.2 * 0.05))
    v = induced([thrust], [-descent * hover], [0.0])[0]
    assert 0.0 < v <= hover * (1.0 + 1e-12)
    assert 2.0 * 1.2 * 0.05 * v * (descent * hover - v) == pytest.approx(thrust, rel=1e-9)


def test_descent_needs_more_inflow_as_measured():
    """The measured hump of the vortex ring state: nearly twice the inflow of hover at 1.5 times it downwards."""
    hover = np.sqrt(1.0 / (2.0 * 1.2 * 0.05))
    x = np.linspace(-2.0, 0.0, 81)
    v = induced(np.ones(81), x * hover, np.zeros(81)) / hover
    assert v[-1] == pytest.approx(1.0) and v[0] == pytest.approx(1.0, abs=0.03)
    # Leishman 2006, figure 2.18: maximum about 1.9 to 2.1 near -1.4
    assert 1.8 < v.max() < 2.1 and -1.7 < x[v.argmax()] < -1.2
    assert np.all(v >= 0.999)


def test_a_fast_pass_blows_the_ring_away():
    hover = np.sqrt(1.0 / (2.0 * 1.2 * 0.05))
    v = induced([1.0], [-hover], [6.0 * hover])[0]
    assert 2.0 * 1.2 * 0.05 * v * np.hypot(6.0 * hover, v - hover) == pytest.approx(1.0, rel=1e-9)


@settings(deadline=None, max_examples=100)
@given(shares, st.floats(0.0, 4.0))
def test_factors_are_finite_and_thrust_never_pulls_down(climb, across):
    thrust, torque = factors(climb, across)
    assert np.isfinite(thrust).all() and np.isfinite(torque).all() and thrust[0] >= 0.0


def test_thrust_falls_as_a_rotor_climbs_faster():
    thrust, _ = factors(np.linspace(0.0, 2.0, 50))
    assert np.all(np.diff(thrust) < 0.0)


def rising(mode, speed):
    """Vertical acceleration of a hexacopter that asks for its weight and rises at ``speed``, with inflow."""
    scenario = load_scenario("hexacopter_wind")
    scenario = scenario.changed("environment", {"ground_effect": False})
    scenario = scenario.changed("actuation", mode)
    vehicle = scenario.model.vehicles[0]
    assert vehicle.rotors.radius_m > 0.0
    rotors = replace(vehicle.rotors, inflow=Inflow(0.1, 5.0), drag_n_s2_per_m=0.0)
    model = replace(scenario.model, vehicles=(replace(vehicle, rotors=rotors),))
    scenario = replace(scenario, model=model)
    simulation = Simulation(scenario)
    states = simulation.motion[:, :13].copy()
    State(states).velocity[0] = [0.0, 0.0, speed]
    simulation.reset(states)
    weight = vehicle.mass_kg * 9.81
    simulation.act(np.array([[weight, 0.0, 0.0, 0.0]]))
    return State(simulation.engine.update_kinematics()).acceleration[0, 2]


def test_both_modes_of_rotors_give_the_same():
    wrench, rotors = rising("wrench", 3.0), rising("rotors", 3.0)
    assert wrench < -1.0  # damped well beyond the drag
    assert rotors == pytest.approx(wrench, rel=1e-9)


def test_a_hover_is_what_it_was():
    assert rising("wrench", 0.0) == pytest.approx(0.0, abs=1e-9)


WINDY = """
schema: 1
model:
  vehicles:
    - use: crazyflie
      name: cf
      rotors: {layout: x, arm_m: 0.046, speed_rpm: [0.0, 24000.0], thrust_n_per_rpm2: 3.193e-10,
               torque_per_thrust_m: 0.006, radius_m: 0.0235, lag_s: 0.03, inflow: {}}
initial: [{entity: cf, position_m: [0.0, 0.0, 50.0]}]
actuation: MODE
environment: {wind: {steady_m_s: [3.0, 1.0, 0.0]}}
controller: {use: quadrotor}
trajectory: {type: hover}
"""


@pytest.mark.parametrize("mode", ["wrench", "rotors"])
def test_motors_that_go_off_in_the_wind_let_it_fall(mode):
    simulation = Simulation(scenario_from_text(WINDY.replace("MODE", mode), "windy"))
    for k in range(300):
        simulation.step(np.array([[0.3 if k < 40 else 0.0, 0.0, 0.0, 0.0]]))
    motion = State(simulation.motion)
    assert np.isfinite(simulation.motion).all() and motion.velocity[0, 2] < -5.0
    assert np.abs(motion.body_rate).max() < 50.0


def test_a_reset_stands_still():
    simulation = Simulation(scenario_from_text(WINDY.replace("MODE", "wrench"), "windy"))
    simulation.step(np.array([[0.3, 0.0, 0.0, 0.0]]))
    assert simulation.rotor_speeds()[0].min() > 100.0 and simulation.air[0, 0] == 3.0
    simulation.reset()
    assert not simulation.rotor_speeds()[0].any()
    np.testing.assert_array_equal(simulation.air, [[3.0, 1.0, 0.0]])  # the wind without wakes


def test_rotors_without_thrust_are_no_numbers_that_are_none():
    text = WINDY.replace("MODE", "wrench") + "plant: [{entity: cf, thrust_gain: 0.0}]\n"
    simulation = Simulation(scenario_from_text(text, "weak"))
    simulation.step(np.array([[0.3, 0.0, 0.0, 0.0]]))
    assert np.isfinite(simulation.motion).all()


@settings(deadline=None)
@given(st.floats(0.1, 20.0))
def test_under_a_ceiling_momentum_is_balanced(gap):
    """Thrust less the suction on the ceiling is the momentum of the wake, whose energy is the thrust's (I.7)."""
    easing = ceiling_easing(gap * 0.1, 0.1)
    inflow = easing  # over that of hover with the same thrust, T = 2 rho A
    wake = 2.0  # v_w = sqrt(2 T / rho A), the same at any gap
    suction = inflow**2 / (16.0 * gap**2)
    assert 2.0 - suction == pytest.approx(inflow * wake, rel=1e-12)
    assert 0.0 < easing < 1.0


def test_a_ceiling_draws_rotors_up():
    """Thrust at the same speed is where blades and momentum agree, by SciPy's root; far away nothing is left."""
    found = []
    for gap in (0.2, 0.5, 1.0, 3.0):
        easing = ceiling_easing(gap * RADIUS, RADIUS)
        (thrust,), (torque,) = factors(0.0, easing=easing)

        def misfit(v, easing=easing):
            momentum = 2.0 * (v / easing) ** 2
            return 0.5 * SLOPE * (pitch() / 3.0 - 0.5 * v) - momentum

        v = brentq(misfit, 0.0, 2.0 * HOVER, xtol=1e-15)
        coefficient = 2.0 * (v / easing) ** 2
        assert thrust == pytest.approx(coefficient / THRUST, rel=1e-10)
        profile = TORQUE - HOVER * THRUST
        assert torque == pytest.approx((v * coefficient + profile) / TORQUE, rel=1e-10)
        found.append(thrust)
    assert found[0] > found[1] > found[2] > found[3] > 1.0
    assert ceiling_easing(np.inf, RADIUS) == 1.0 and found[0] > 1.2


BELOW = """
schema: 1
model: {{vehicles: [{{use: crazyflie}}]}}
initial: [{{entity: quad1, position_m: [0, 0, {height}]}}]
environment:
  ground_effect: {ground}
  ceiling_effect: {ceiling}
  obstacles: [{{name: beam, shape: {{type: box, size_m: [2, 2, 0.2]}}, position_m: [0, 0, 1.1]}}]
controller: {{use: quadrotor}}
trajectory: {{use: hover}}
actuation: {mode}
"""


def lifted(mode, height, *, ground=False, ceiling=False):
    """Thrust that a vehicle gets over the one that it asks for, in the first period."""
    keys = {"ground": str(ground).lower(), "ceiling": str(ceiling).lower()}
    text = BELOW.format(mode=mode, height=height, **keys)
    simulation = Simulation(scenario_from_text(text, "below"))
    asked = 0.03 * 9.81
    simulation.act(np.array([[asked, 0.0, 0.0, 0.0]]))
    simulation.step()
    thrust = 0.03 * (State(simulation.motion).acceleration[0] + [0.0, 0.0, 9.81])
    return float(np.linalg.norm(thrust)) / asked


@pytest.mark.parametrize("mode", ["wrench", "rotors"])
def test_vehicles_feel_ground_and_ceiling(mode):
    """In both modes alike: the ground by (R.6), a beam 1 cm above by (I.7)."""
    radius = 0.0235
    near = lifted(mode, 0.03, ground=True)
    assert near == pytest.approx(1.0 / (1.0 - (radius / 0.12) ** 2), rel=2e-4)
    assert lifted(mode, 0.03, ceiling=True) == pytest.approx(1.0, abs=1e-9)
    assert 1.05 < lifted(mode, 0.99, ceiling=True) < 1.15  # 15 % less induced velocity
    assert lifted(mode, 0.97, ground=True) == pytest.approx(1.0, abs=1e-3)


def test_the_gap_is_that_along_the_axis_of_thrust():
    """Of a rotor that leans by 60 degrees the beam is twice as far; beside the beam there is nothing."""
    scenario = scenario_from_text(
        BELOW.format(mode="wrench", height=0.5, ground="false", ceiling="true"), "below"
    )
    ceilings = Ceilings(scenario.environment.obstacles, np.array([0.0235, 0.0235, 0.0235]))
    easing = np.zeros(3)
    lean = [np.sin(np.pi / 3.0), 0.0, 0.5]
    hubs = np.array([[0.0, 0.0, 0.98], [0.0, 0.0, 0.98], [2.0, 0.0, 0.98]])
    ceilings.look(hubs, np.array([[0.0, 0.0, 1.0], lean, [0.0, 0.0, 1.0]]), easing)
    wanted = [ceiling_easing(0.02, 0.0235), ceiling_easing(0.04, 0.0235), 1.0]
    np.testing.assert_allclose(easing, wanted, rtol=1e-9)


def test_modes_agree_under_a_ceiling():
    assert lifted("wrench", 0.96, ceiling=True) == pytest.approx(
        lifted("rotors", 0.96, ceiling=True), rel=1e-6
    )


def test_a_ceiling_needs_obstacles_and_rotors_a_radius():
    with pytest.raises(ConfigError, match="there are no obstacles"):
        load_scenario("crazyflie_hover").changed("environment", {"ceiling_effect": True})
    with pytest.raises(ConfigError, match=r"ground_effect needs rotors.radius_m"):
        load_scenario("hover").changed("environment", {"ground_effect": True})
