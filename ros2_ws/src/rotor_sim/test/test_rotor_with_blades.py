"""A rotor on a stand: flapping, forward flight, thrust, induced velocity, in vacuo and in the wind tunnel (HE-T7 to T9, T13)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rotor_rigs import FLAP, OMEGA, PITCH, flying, stand, xcell

from rotor_core.config.vehicles.helicopter import Hinge, Inflow
from rotor_core.errors import ModelError
from rotor_core.vehicles.hover import flap_frequency, lock_number
from rotor_dynamics.engine import Engine
from rotor_dynamics.forces.blades import momentum_inflow, wake_measure
from rotor_dynamics.model.blade import gauss_stations
from rotor_sim.actuation.helicopter import Helicopters
from rotor_sim.analysis.trim_report import harmonics
from rotor_sim.plant.system import system_from_scenario

DEGREE = np.radians(1.0)
FREE_FLAP = Hinge("flap")


@pytest.mark.parametrize("turns", ["cw", "ccw"])
@pytest.mark.parametrize(
    ("flap", "lag_deg", "gain", "coning"),
    [(FREE_FLAP, 90.0, 1.0, 0.0238), (FLAP, 83.73, 0.9940, 0.0227)],
    ids=["K=0", "K=54"],
)
def test_he_t7_disc_follows_the_swashplate_a_quarter_turn_later(turns, flap, lag_deg, gain, coning):
    found = []
    for cosine, sine in ((DEGREE, 0.0), (0.0, DEGREE)):
        rig = stand(xcell(turns=turns, hinges=(flap, PITCH)), cosine=cosine, sine=sine)
        rig.turn(30)  # the flapping decays with 0.026 s, 0.7 turns
        found.append(harmonics(rig.angles("flap")))
    (mean, c1, s1), (_, c2, s2) = found
    for c, s, forced in ((c1, s1, 0.0), (c2, s2, 90.0)):
        assert np.hypot(c, s) / DEGREE == pytest.approx(gain, abs=0.002)
        behind = np.degrees(np.arctan2(s, c)) - forced
        assert (behind + 180.0) % 360.0 - 180.0 == pytest.approx(lag_deg, abs=0.1)
    assert mean == pytest.approx(coning, abs=1e-4)


@pytest.mark.parametrize("mu", [0.05, 0.10])
@pytest.mark.parametrize("turns", ["cw", "ccw"])
def test_he_t8_forward_flight_tilts_the_disc_back_and_to_the_side(mu, turns):
    """Closed forms hold without reversed flow, whose root is small (its radius is mu R): 1 % and 1.5 %."""
    vehicle = xcell(turns=turns, hinges=(FREE_FLAP, PITCH), section_table=SMALL_ANGLES)
    assert vehicle.helicopter is not None
    rotor = vehicle.helicopter.main_rotor
    theta, inflow = 0.0959, 2.0
    rig = stand(vehicle, collective=theta, inflow=inflow)
    rig.blow((-mu * rotor.speed_rad_s * rotor.radius_m, 0.0, 0.0))
    rig.turn(30)
    mean, cosine, sine = harmonics(rig.angles("flap"))
    ratio = inflow / (rotor.speed_rad_s * rotor.radius_m)
    coning = lock_number(rotor, 1.225) * (theta * (1.0 + mu**2) / 8.0 - ratio / 6.0)
    coning -= 9.81 * STATIC / (rotor.flap_inertia * rotor.speed_rad_s**2)
    assert mean == pytest.approx(coning, rel=0.01)
    assert cosine == pytest.approx(
        -2.0 * mu * (4.0 / 3.0 * theta - ratio) / (1.0 - mu**2 / 2.0), rel=0.01
    )
    assert sine == pytest.approx(-4.0 / 3.0 * mu * mean / (1.0 + mu**2 / 2.0), rel=0.015)


SMALL_ANGLES = ((-180.0, -5.5 * np.pi, 0.024), (180.0, 5.5 * np.pi, 0.024))
"""Lift along a line, as the closed forms have it; the same as the lift slope, through a table."""

STATIC = 0.1763954972728327 * (0.055 + 0.36)


def test_he_t9_thrust_and_torque_agree_with_closed_forms_and_stations_have_converged():
    theta, inflow = 0.0951, 4.165
    found = {}
    for count in (12, 24):
        stiff = xcell(hinges=(PITCH,), stations=count)
        rig = stand(stiff, collective=theta, inflow=inflow)
        found[count] = rig.mean()
    assert found[12][0] == pytest.approx(found[24][0], rel=1e-5)
    assert found[12][1] == pytest.approx(found[24][1], rel=1e-5)
    assert found[12][0] == pytest.approx(79.344, rel=1e-4)
    assert found[12][1] == pytest.approx(6.2810, rel=1e-4)
    assert found[12][0] == pytest.approx(79.19, rel=0.005)  # without the small angle of the inflow


def test_a_table_of_the_section_is_the_same_as_its_slopes():
    """A line through two points is what lift slope and drag coefficient say."""
    by_slope = stand(xcell(hinges=(FLAP, PITCH)))
    by_table = stand(xcell(hinges=(FLAP, PITCH), section_table=SMALL_ANGLES))
    for rig in (by_slope, by_table):
        rig.turn(3)
    np.testing.assert_allclose(
        by_table.engine.joints.states, by_slope.engine.joints.states, atol=1e-12
    )


def test_a_stalled_section_lifts_less():
    stalls = (
        (-180.0, 0.0, 1.0),
        (-12.0, -1.0, 0.03),
        (12.0, 1.0, 0.03),
        (20.0, 0.6, 0.3),
        (180.0, 0.0, 1.0),
    )
    linear, _ = stand(xcell(hinges=(PITCH,)), collective=0.35, inflow=2.0).mean()
    stalled = stand(xcell(hinges=(PITCH,), section_table=stalls), collective=0.35, inflow=2.0)
    thrust, torque = stalled.mean()
    assert thrust < 0.7 * linear
    assert torque > 0.0


def test_twist_moves_lift_inboard_and_keeps_its_sum_at_three_quarters():
    """A linearly twisted blade lifts like a flat one set to its angle at 0.75 R (blade reaches to the shaft)."""
    flat, twisted = (
        stand(xcell(hinges=(PITCH,), twist_deg=twist), collective=0.1, inflow=0.0)
        for twist in ((0.0, 0.0), (6.0, 6.0 - 9.0 * 0.72 / (0.75 * 0.775 - 0.055) * 2.0 / 3.0))
    )
    assert twisted.mean()[0] == pytest.approx(flat.mean()[0], rel=0.005)
    plain = gauss_stations(0.1, 1.0, 5, 0.05, (0.1, -0.1), 5.5, 0.02)
    assert plain[:, 1].sum() == pytest.approx(0.9)
    np.testing.assert_allclose(plain[:, 3], 0.1 - 0.2 * (plain[:, 0] - 0.1) / 0.9, atol=1e-15)


@given(thrust=st.floats(0.01, 1e3), across=st.floats(0.0, 60.0), along=st.floats(-30.0, 30.0))
@settings(max_examples=200, deadline=None)
def test_induced_velocity_solves_the_momentum_equation(thrust, across, along):
    """The branch of hover, or in fast descent that of the windmill; outside the wake state and its seam."""
    flow = 2.0 * 1.225 * np.pi * 0.775**2
    hover = np.sqrt(thrust / flow)
    v = momentum_inflow(thrust, flow, along, across)
    assert v > 0.0
    if wake_measure.py_func(along / hover, across / hover) < 1.1:
        return
    assert v * np.hypot(across, along + v) == pytest.approx(thrust / flow, rel=1e-9)
    descends = along < -1.5 * hover
    others = v * (np.linspace(0.0, 0.999, 500) if descends else np.linspace(1.001, 10.0, 500))
    beyond = others * np.hypot(across, along + others) - thrust / flow
    assert (
        np.all(beyond < 0.0) if descends else np.all(beyond > 0.0)
    )  # the smallest, the largest root


@given(across=st.floats(0.0, 3.0), along=st.floats(-4.0, 4.0))
@settings(max_examples=200, deadline=None)
def test_induced_velocity_is_continuous(across, along):
    """Steepest on the windmill branch at its end, where the root is double: a change of 1e-6 moves it by its root."""
    here, there = (momentum_inflow(1.0, 1.0, x, across) for x in (along, along + 1e-6))
    assert abs(here - there) < 3e-3


def test_induced_velocity_of_the_wake_state_and_the_windmill():
    """In units of hover: both ends of Johnson's fit meet momentum theory, between them it is above both."""
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    assert momentum_inflow(1.0, 1.0, -1.0, 0.0) == pytest.approx(golden, rel=1e-3)
    assert momentum_inflow(1.0, 1.0, -2.0, 0.0) == pytest.approx(1.0, abs=0.01)
    assert momentum_inflow(1.0, 1.0, -1.3, 0.0) > golden
    for descent in (2.2, 3.0, 5.0):
        windmill = 0.5 * descent - np.sqrt(0.25 * descent**2 - 1.0)
        assert momentum_inflow(1.0, 1.0, -descent, 0.0) == pytest.approx(windmill, rel=1e-9)


def test_induced_velocity_of_hover_climb_and_no_thrust_is_the_closed_form():
    flow, thrust = 4.6, 80.0
    hover = np.sqrt(thrust / flow)
    assert momentum_inflow(thrust, flow, 0.0, 0.0) == pytest.approx(hover, rel=1e-13)
    climb = 3.0
    assert momentum_inflow(thrust, flow, climb, 0.0) == pytest.approx(
        -climb / 2.0 + np.sqrt(climb**2 / 4.0 + hover**2), rel=1e-13
    )
    assert momentum_inflow(0.0, flow, 0.0, 1.0) == momentum_inflow(-5.0, flow, 2.0, 1.0) == 0.0


def _inflow_by_turn(inflow: Inflow, collective: float, start: float, turns: int = 80) -> np.ndarray:
    rig = stand(
        xcell(hinges=(FLAP, PITCH), inflow=inflow),
        collective=collective,
        inflow=None,
        first_inflow=start,
    )
    found = np.empty(turns)
    for k in range(turns):
        rig.turn(1)
        found[k] = rig.engine.swash.inflow[0]
    return found


def test_he_t13_the_delayed_loop_is_stable_in_hover_and_not_at_a_tenth_of_the_thrust():
    one_turn = Inflow("filtered", None, 2.0 * np.pi / OMEGA)
    hover = _inflow_by_turn(one_turn, 0.0959, 5.4)
    assert np.ptp(hover[-20:]) < 1e-6 * hover[-1]
    assert abs(hover[11] / hover[-1] - 1.0) < 0.02  # after 0.42 s
    low = _inflow_by_turn(one_turn, 0.02, 0.5)
    assert np.ptp(low[-20:]) > 0.5 * np.mean(low[-20:])  # a limit cycle
    short = _inflow_by_turn(replace(one_turn, delay_s=0.005), 0.02, 0.5)
    relaxed = _inflow_by_turn(Inflow("relaxed"), 0.02, 0.5)
    for settled in (short, relaxed):
        assert np.ptp(settled[-20:]) < 1e-6 * settled[-1]
    assert short[-1] == pytest.approx(relaxed[-1], rel=1e-6)


def test_he_t13_the_bare_loop_is_a_map_whose_slope_exceeds_one_at_low_thrust():
    """v -> sqrt(T(v) / 2 rho A) has the slope -sigma a / (16 lambda)."""
    rotor = xcell().helicopter.main_rotor  # type: ignore[union-attr]
    tip, flow = rotor.speed_rad_s * rotor.radius_m, 2.0 * 1.225 * rotor.area
    part = 0.5 * rotor.solidity * rotor.lift_slope_per_rad

    def once(v: float, theta: float) -> float:
        thrust = 1.225 * rotor.area * tip**2 * part * (theta / 3.0 - v / tip / 2.0)
        return momentum_inflow(thrust, flow, 0.0, 0.0)

    for theta, stable in ((0.0959, True), (0.02, False)):
        v = 1.0
        for _ in range(200):
            v = once(v, theta)
        settled = abs(once(v, theta) - v) < 1e-9
        assert settled == stable


def test_flap_frequency_is_that_of_the_specification():
    rotor = xcell().helicopter.main_rotor  # type: ignore[union-attr]
    assert flap_frequency(rotor) == pytest.approx(1.0252, abs=5e-5)
    assert lock_number(rotor, 1.225) == pytest.approx(3.710, abs=1e-3)


def test_commands_are_kept_within_what_the_swashplate_and_the_tail_can_do():
    scenario = flying(xcell(collective_deg=(-2.0, 5.0), cyclic_deg=3.0))
    engine = Engine(system_from_scenario(scenario), step=scenario.time.step_s)
    heads = Helicopters(scenario, 0)
    heads.reset()
    heads.start(engine)
    heads.act(engine, heads.limited(np.array([[1.0, 0.3, 0.4, 99.0]])))
    collective, cosine, sine = engine.swash.angles[0]
    assert collective == pytest.approx(np.radians(5.0))
    assert np.hypot(cosine, sine) == pytest.approx(np.radians(3.0))
    assert cosine / sine == pytest.approx(
        0.3 / -0.4, rel=1e-12
    )  # clockwise: to the right is +cosine, ahead -sine
    assert engine.world.inputs[0, 3] == 20.0


def test_a_disc_needs_a_joint_and_a_blade_a_disc():
    system = system_from_scenario(flying(xcell()))
    for broken in (
        {"discs": (replace(system.discs[0], joint=99),)},
        {"discs": (replace(system.discs[0], law="none"),)},
        {"discs": (replace(system.discs[0], area=-1.0),)},
        {"blades": (replace(system.blades[0], disc=3),)},
        {"blades": (replace(system.blades[0], body=0),)},
        {"surfaces": (replace(system.surfaces[0], disc=2),)},
    ):
        with pytest.raises(ModelError):
            replace(system, **broken)
