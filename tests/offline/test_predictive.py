"""Model-predictive control of teams: against the geometric law, with wrong masses, and where measurements do not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rotor_control.controller import make_controller
from rotor_control.tuning import tunable_gains
from rotor_core.config.attachments.cable import Winch
from rotor_core.config.controllers import PredictiveControl
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError
from rotor_core.kernels.jit import COMPILED
from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.plans.plan import hold
from rotor_core.reference import Reference
from rotor_core.state import State
from rotor_flight.fly import fly
from rotor_flight.loop import ClosedLoop
from rotor_flight.optimal.fitting import fit_to_cables

pytestmark = pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels")


def predictive(scenario, **keys):
    return replace(scenario, controller=PredictiveControl("predictive", **keys))


def error_of(flight):
    return float(np.sqrt(np.mean(np.sum(flight.position_error() ** 2, axis=1))))


@pytest.mark.parametrize("name", ["three_dragonflies_triangular_1m", "four_dragonflies_box"])
def test_a_team_is_nearer_to_its_reference_than_under_the_law_of_the_scenario(name):
    scenario = load_scenario(name)
    loop = ClosedLoop(predictive(scenario))
    flight = fly(loop.simulation.scenario, duration=4.0, loop=loop)
    assert loop.controller.laws[0].failures == 0
    assert error_of(flight) < 0.7 * error_of(fly(scenario, duration=4.0))
    assert flight.verdict().kind != "lost"


@pytest.mark.parametrize("share", [0.8, 1.2])
def test_wrong_masses(share):
    """The payload of the plant is a fifth lighter or heavier: a third of the error of the geometric law."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    mass = share * scenario.model.payloads[0].mass_kg
    scenario = scenario.changed("plant.payload.mass_kg", mass)
    assert error_of(fly(predictive(scenario), duration=4.0)) < 0.5 * error_of(
        fly(scenario, duration=4.0)
    )


@pytest.mark.parametrize("heading", [60.0, 180.0])
def test_a_team_that_begins_at_a_heading_keeps_its_formation(heading):
    """Its places are those in the axes of the payload; vehicles of other headings keep theirs."""
    scenario = load_scenario("three_dragonflies_triangular_1m").changed(
        "initial", [{"entity": "payload", "rpy_deg": [0.0, 0.0, heading]}]
    )
    flight = fly(
        predictive(scenario.changed("trajectory", {"type": "hover", "yaw_deg": heading})),
        duration=2.0,
    )
    assert np.linalg.norm(flight.position_error(), axis=1).max() < 1e-6
    assert flight.attitude_error().max() < 1e-6


def test_vehicles_of_unequal_mass_hover_with_unequal_thrust():
    """Equal shares of the whole weight are no equilibrium: 19 mm and 6 degrees were left for good."""
    scenario = load_scenario("heterogeneous_triangular_1m").changed("trajectory", {"type": "hover"})
    flight = fly(predictive(scenario), duration=3.0)
    assert np.linalg.norm(flight.position_error(), axis=1)[-1] < 1e-6
    assert flight.attitude_error()[-1] < 1e-6


def test_imperfect_sensing_and_cables_of_other_lengths():
    """Noise, delay and a cable that is 5 mm longer than the law thinks: measurements do not fit its model."""
    scenario = load_scenario("three_dragonflies_motion_capture").changed(
        "plant.cable2.length_m", 1.005
    )
    loop = ClosedLoop(predictive(scenario))
    flight = fly(loop.simulation.scenario, duration=3.0, loop=loop)
    assert loop.controller.laws[0].failures == 0
    assert error_of(flight) < 0.1


def test_rotors_stay_within_their_limits():
    """Commands need no limiting: bounds are part of the programme."""
    scenario = predictive(load_scenario("three_dragonflies_triangular_1m"))
    far = scenario.changed("trajectory", {"type": "step_pose", "position_m": [3.0, 0.0, 0.5]})
    flight = fly(far, duration=2.0)
    thrusts = (
        np.linalg.pinv(scenario.model.vehicles[0].rotors.mixing) @ flight.commands.reshape(-1, 4).T
    )
    low, high = scenario.model.vehicles[0].rotors.speed_rpm
    per = scenario.model.vehicles[0].rotors.thrust_n_per_rpm2
    assert thrusts.min() >= per * low**2 - 1e-9 and thrusts.max() <= per * high**2 + 1e-9
    assert flight.limited == 0
    assert State(flight.states[-1]).position[3, 0] > State(flight.states[0]).position[3, 0] + 0.5


def test_what_it_cannot_fly_is_told():
    for name in ("hover", "three_dragonflies_triangular_rigid", "three_crazyflies_point_mass"):
        with pytest.raises(ConfigError, match="predictive flies one team"):
            ClosedLoop(predictive(load_scenario(name)))
    team = load_scenario("three_dragonflies_triangular_1m")
    first, *others = team.model.attachments
    winch = replace(first, winch=Winch((0.5, 2.0)))
    winds = replace(team, model=replace(team.model, attachments=(winch, *others)))
    with pytest.raises(ConfigError, match="a winch winds cable1"):
        ClosedLoop(predictive(winds))


def test_measured_vehicles_are_put_onto_the_spheres_of_taut_cables():
    """Taut ones at their length without speed along it; what hangs slack, and all else, stays as it was."""
    rng = np.random.default_rng(5)
    measured = rng.normal(size=(4, 13))
    now = State(measured)
    now.attitude[:] /= np.linalg.norm(now.attitude, axis=1, keepdims=True)
    ends, arms = np.array([(0, 3), (1, 3), (2, 3)]), rng.normal(size=(3, 2, 3))

    def along(states, k):
        here = State(states)
        vehicle, payload = ends[k]
        R, R_payload = (rotation_from(here.attitude[i]) for i in ends[k])
        arm = R_payload.apply(arms[k, 1])
        way = here.position[vehicle] + R.apply(arms[k, 0]) - here.position[payload] - arm
        turning = np.cross(R_payload.apply(here.body_rate[payload]), arm)
        rate = here.velocity[vehicle] - here.velocity[payload] - turning
        return np.linalg.norm(way), float(rate @ way) / np.linalg.norm(way)

    lengths = np.array([along(measured, k)[0] for k in range(3)]) + (-0.02, 0.9e-3, 2e-3)
    fitted = measured.copy()
    fit_to_cables(fitted, ends, arms, lengths)
    for k in (0, 1):
        distance, rate = along(fitted, k)
        assert distance == pytest.approx(lengths[k], abs=1e-14) and abs(rate) < 1e-14
    np.testing.assert_array_equal(fitted[2:], measured[2:])
    np.testing.assert_array_equal(State(fitted).attitude, State(measured).attitude)


def test_cables_in_another_order_are_commanded_all_the_same():
    """The team lists its vehicles in the order of the cables: commands go to the vehicles that they are for."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    model = scenario.model
    turned = replace(
        scenario, model=replace(model, attachments=model.attachments[1:] + model.attachments[:1])
    )
    straight, other = (fly(predictive(s), duration=2.0) for s in (scenario, turned))
    np.testing.assert_allclose(other.states, straight.states, rtol=0, atol=1e-6)


def nearest(flight, name):
    return min(m.distance for m in flight.margins if name in m.names)


def test_it_keeps_its_distance_from_an_obstacle():
    """A post three centimetres from the path of a vehicle: with the cost a quarter of a metre is kept, all but 5 %."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    aside = {"type": "line", "relative": True, "waypoints_m": [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]]}
    post = {"name": "post", "shape": {"type": "cylinder", "radius_m": 0.05, "height_m": 4.0}, "position_m": [0.55, 1.0, 0.0]}  # fmt: skip
    scenario = scenario.changed("trajectory", aside).changed("environment.obstacles", [post])
    assert nearest(fly(predictive(scenario), duration=4.0), "post") < 0.05
    loop = ClosedLoop(predictive(scenario, clearance_m=0.25, clearance=4000.0))
    flight = fly(loop.simulation.scenario, duration=4.0, loop=loop)
    assert loop.controller.laws[0].failures == 0
    assert nearest(flight, "post") > 0.95 * 0.25
    assert error_of(flight) < 0.05  # and the payload still goes where it should


def test_it_keeps_cables_taut_where_that_is_asked_for():
    """A payload that is to go down faster than its cables pull: with the cost their tension stays, the path gives way."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    down = {"type": "line", "relative": True, "waypoints_m": [[0, 0, 0], [0, 0, -1.5]], "speed_m_s": 4.0, "acceleration_m_s2": 9.0}  # fmt: skip
    scenario = scenario.changed("trajectory", down)
    plain = fly(predictive(scenario), duration=1.4)
    taut = fly(predictive(scenario, tension_n=(0.45, 4.0), tension=2000.0), duration=1.4)
    assert plain.tensions[20:].min() < 0.3 and taut.tensions[20:].min() > 0.4
    assert error_of(plain) < error_of(taut) < 2.0 * error_of(plain)


def test_what_cannot_be_kept_is_refused():
    scenario = load_scenario("three_dragonflies_triangular_1m")
    with pytest.raises(
        ConfigError, match=r"controller\.tension_n: must be \[least, largest\], got"
    ):
        scenario.changed("controller", {"use": "predictive", "tension_n": [2.0, 1.0]})


def test_a_bare_reference_is_followed_after_a_plan_too():
    """The plan that was followed before went on, whatever was referred to."""
    scenario = load_scenario("three_dragonflies_predictive")
    states = initial_states(scenario)
    place = State(states).position[-1]
    aside = Reference(hold(place + [0.4, 0.0, 0.0]).sample(0.0))
    told = []
    for first in (None, hold(place).at(0.0)):
        controller = make_controller(scenario)
        if first is not None:
            controller(states, first)
            for law in controller.laws:
                law.reset()
                law.follow(first.plan, 0.0)
        told.append([controller(states, aside).of(["quad1", "quad2", "quad3"]) for _ in range(3)])
    np.testing.assert_allclose(told[1], told[0], rtol=0, atol=1e-9)


def test_gains_that_do_nothing_are_not_offered():
    scenario = load_scenario("three_dragonflies_predictive")
    assert not tunable_gains(scenario, make_controller(scenario))
    other = load_scenario("three_dragonflies_triangular_1m")
    assert tunable_gains(other, make_controller(other))
