"""Does it fly? Closed loop without ROS against reference figures, with limits, disturbances and long runs."""

from dataclasses import replace

import numpy as np
import pytest

from rotor_control.controller import make_controller
from rotor_core.config.air.wind import Wind
from rotor_core.config.catalog import shipped
from rotor_core.config.controllers import PointMassControl
from rotor_core.config.loader import load_scenario, load_trajectory
from rotor_core.config.schema import Actuation
from rotor_core.config.trajectories import StepPosePlan
from rotor_core.vehicles.rotors import rotor_set
from rotor_flight.fly import fly
from rotor_planning.trajectories.from_config import make_plans
from rotor_sim.simulation import START_TIME, Simulation

# Reference rows of the RotorTM specification: repository gains, 100 Hz hold, no rotor limits, whole trajectory.
# scenario: trajectory -> (x, y, norm) m, deg or None
ROWS = {
    "dragonfly_point_mass": {
        "slalom_13s": (0.0195, 0.0473, 0.0511, None), "slalom_20s": (0.0068, 0.0156, 0.0170, None),
        "circle_6s": (0.0937, 0.1115, 0.1457, None), "circle_10s": (0.0332, 0.0377, 0.0502, None),
    },
    "three_dragonflies_triangular_1m": {
        "slalom_13s": (0.0121, 0.0270, 0.0296, 0.034), "slalom_20s": (0.0032, 0.0070, 0.0077, 0.008),
        "circle_6s": (0.0591, 0.0591, 0.0836, 0.093), "circle_10s": (0.0159, 0.0159, 0.0225, 0.024),
    },
    "three_dragonflies_triangular_rigid": {
        "slalom_13s": (0.0215, 0.0457, 0.0505, 1.72), "slalom_20s": (0.0065, 0.0141, 0.0156, 0.614),
        "circle_6s": (0.1124, 0.1124, 0.1589, 5.18), "circle_10s": (0.0331, 0.0332, 0.0469, 1.90),
    },
    "three_dragonflies_triangular_1m_0-5m_1m": {"circle_6s": (0.0551, 0.0549, 0.0778, 0.663)},
    "three_dragonflies_triangular_1-2m_0-8m_1m": {"circle_6s": (0.0587, 0.0587, 0.0830, 0.275)},
}  # fmt: skip


@pytest.mark.parametrize("name, path", [(n, p) for n, rows in ROWS.items() for p in rows])
def test_tracking_figures(name, path):
    """RT-A11: within 5 % of the reference rows (and half a unit of the last printed digit)."""
    scenario = load_scenario(name)
    scenario = replace(
        scenario,
        trajectory=load_trajectory(path),
        settle_s=0.0,
        time=replace(scenario.time, control_s=0.01),
        actuation=Actuation(limits=False),
    )
    figures = fly(scenario).summary()["teams"]["payload"]
    x, y, norm, degrees = ROWS[name][path]
    assert figures["position_rmse_xyz_m"][0] == pytest.approx(x, rel=0.05, abs=6e-5)
    assert figures["position_rmse_xyz_m"][1] == pytest.approx(y, rel=0.05, abs=6e-5)
    assert figures["position_rmse_m"] == pytest.approx(norm, rel=0.05, abs=6e-5)
    if degrees is not None:
        assert figures["attitude_rmse_deg"] == pytest.approx(degrees, rel=0.05, abs=6e-4)


def test_first_collision_experiment():
    """RT-A10, section 6.4(a): time 1 ms, velocities 1 %."""
    flight = fly(load_scenario("collision_point_mass"), duration=8.0)
    (event,) = flight.events
    assert event.type == "snap"
    assert event.time - START_TIME == pytest.approx(0.20646, abs=1e-3)
    assert event.impulses[0] == pytest.approx(0.106899, rel=0.01)
    assert event.energy_change == pytest.approx(-0.104479, rel=0.01)
    payload, vehicle = 1, 0
    assert flight.states[:, payload, 2].min() == pytest.approx(0.2667, abs=2e-3)
    assert flight.states[:, vehicle, 2].min() == pytest.approx(0.7579, abs=2e-3)
    # the slow pole of the x gains is at 0.45 1/s: some 3 cm of the swing are left after 8 s
    np.testing.assert_allclose(flight.states[-1, payload, :3], (0, 0, 0.5), atol=0.05)


def test_second_collision_experiment():
    """RT-A10, section 6.4(b) with clean choice (i)."""
    flight = fly(load_scenario("collision_triangular"), duration=5.0)
    (event,) = flight.events
    assert event.cables == (1,) and sorted(event.at_length) == [0, 1, 2]
    assert event.time - START_TIME == pytest.approx(0.10421, abs=1e-3)
    impulses = dict(zip(event.at_length, event.impulses, strict=True))
    np.testing.assert_allclose(
        [impulses[k] for k in range(3)], (0.00803, 0.03592, 0.00822), rtol=0.02
    )
    assert dict(zip(event.at_length, event.closing_speeds, strict=True))[1] == pytest.approx(
        1.21305, rel=0.01
    )
    assert event.energy_change == pytest.approx(-0.02179, rel=0.02)
    payload = 3
    half = np.searchsorted(flight.time, START_TIME + 0.5)
    np.testing.assert_allclose(
        flight.states[half, payload, :3], (0.2329, -0.0052, 0.4567), atol=2e-3
    )
    np.testing.assert_allclose(flight.states[-1, payload, :3], (0.2196, -0.0010, 0.5), atol=2e-3)
    assert flight.taut[-1].all()


def test_large_step_stays_within_rotors_and_tensions():
    """RT-A12: a step of -5 m; the original commands -1.66 N of thrust and -0.36 N of tension."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    scenario = replace(scenario, trajectory=StepPosePlan("step_pose", (0.0, 0.0, -5.0)))
    simulation, controller = Simulation(scenario), make_controller(scenario)
    (plan,) = make_plans(scenario).values()
    sets = [rotor_set(v.rotors) for v in scenario.model.vehicles]
    for _ in range(1600):
        controller.references[0] = plan.sample(simulation.time - START_TIME)
        simulation.step(controller.decide(simulation.sense().array, controller.references))
        for rotors, wrench in zip(sets, simulation.applied, strict=True):
            thrusts = rotors.unmixing @ wrench
            assert (
                thrusts.min() >= rotors.thrust_limits[0] - 1e-8
                and thrusts.max() <= rotors.thrust_limits[1] + 1e-8
            )
        assert simulation.engine.tensions.min() >= 0.0
    assert np.isfinite(simulation.motion).all()
    assert simulation.motion[3, 2] == pytest.approx(-5.0, abs=0.2)


def test_a_minute_of_circles_keeps_the_cable_length():
    """RT-A4 in closed loop: 1e-6 m asked; no slack is reported."""
    from transforms3d.quaternions import quat2mat

    scenario = load_scenario("three_dragonflies_triangular_1m")
    circle = replace(load_trajectory("circle_6s"), cruise_s=30.0)
    flight = fly(replace(scenario, trajectory=circle), duration=60.0)
    assert not flight.events and flight.taut.all()
    points = [np.array(c.b_point_m) for c in scenario.model.cables]
    worst = max(
        abs(np.linalg.norm(row[3, :3] + quat2mat(row[3, 3:7]) @ p - row[k, :3]) - 1.0)
        for row in flight.states[::20]
        for k, p in enumerate(points)
    )
    assert worst < 1e-10


OPEN_LOOP_OR_WINDY = (
    "collision",
    "gyrostat",
    "fiori",
    "wind",
    "kremer",
    "pick",
    "uncoupled",
    "deliver",
    "lift",
    "tackle",
    "tether",
    "peg",
    "hauled",
    "deck",
)
"""Scenarios with tests of their own: that snap by design, that nothing controls (not even where they drift),
that the air shakes, that drop something, that fly missions, or that show what goes wrong."""


@pytest.mark.parametrize(
    "name", [n for n in shipped("scenarios") if not any(k in n for k in OPEN_LOOP_OR_WINDY)]
)
def test_every_shipped_scenario_flies(name):
    """Bounded errors, no vehicle asked for more than it has, no unexpected event."""
    scenario = load_scenario(name)
    flight = fly(scenario)
    summary = flight.summary()
    assert np.isfinite(flight.states).all()
    assert summary["limited_periods"] == 0
    events = dict(summary["events"])
    if scenario.verdict.may_touch:
        events = {kind: n for kind, n in events.items() if kind not in ("touch", "leave")}
    assert events == {"snap": 0, "slack": 0, "settle": 0, "cut": 0}
    for figures in summary["teams"].values():
        assert figures["position_error_max_m"] < 0.35
        assert figures["attitude_rmse_deg"] is None or figures["attitude_rmse_deg"] < 7.0
        # it settles: at rest at the end within the resting error of the law
    assert np.linalg.norm(flight.states[-1, :, 7:10], axis=1).max() < 0.1


def test_a_tether_hangs_from_its_vehicle():
    """It weighs 32 g: carried without integral action over 5 x 0.25 N/m and pulled aside by the gust, less than 0.2 m."""
    flight = fly(load_scenario("tethered_quadrotor"))
    summary = flight.summary()
    assert summary["limited_periods"] == 0 and flight.verdict().kind == "flown"
    assert 0.05 < summary["teams"]["quad1"]["position_rmse_m"] < 0.15
    assert summary["events"]["snap"] == summary["events"]["slack"] == 0
    pieces = np.diff(flight.masses, axis=1)
    np.testing.assert_allclose(np.linalg.norm(pieces, axis=2), 0.2, atol=1e-8)
    assert flight.masses[:, :, 2].min() > -0.02


def test_a_hexacopter_in_gusty_wind_stays_on_its_way():
    """Rotors with lag, tilted axes, drag, ground effect, gusts and turbulence: a bounded error, within its rotors.

    Without integral action the wind's drag of some 1 N over the position gain (5 x 1.9 N/m) stays: 0.1 m
    in the mean, three times that in the gust. In calm air it is an order less.
    """
    scenario = load_scenario("hexacopter_wind")
    flight = fly(scenario)
    summary = flight.summary()
    windy = summary["teams"]["hexa"]["position_rmse_m"]
    assert summary["limited_periods"] == 0 and 0.05 < windy < 0.4
    again = fly(scenario)
    np.testing.assert_array_equal(again.states, flight.states)  # the same gusts
    other = fly(replace(scenario, seed=1))
    assert not np.array_equal(other.states, flight.states)
    calm = replace(scenario, environment=replace(scenario.environment, wind=Wind()))
    assert fly(calm).summary()["teams"]["hexa"]["position_rmse_m"] < 0.2 * windy


@pytest.mark.parametrize("name", ["three_dragonflies_triangular_1m", "slalom", "hover"])
def test_rotors_in_place_of_wrenches_change_little(name):
    """No lag, no inertia, no drag: the same flight; with a lag of 20 ms it still flies."""
    scenario = load_scenario(name)
    direct = fly(scenario, duration=6.0)
    rotors = replace(scenario, actuation=Actuation("rotors"))
    same = fly(rotors, duration=6.0)
    np.testing.assert_allclose(same.states, direct.states, atol=1e-9)
    vehicles = tuple(
        replace(v, rotors=replace(v.rotors, lag_s=0.02, inertia_kg_m2=1e-6))
        for v in scenario.model.vehicles
    )
    lagging = fly(replace(rotors, model=replace(scenario.model, vehicles=vehicles)), duration=6.0)
    assert np.max(np.abs(lagging.states[:, :, :3] - direct.states[:, :, :3])) < 0.05
    assert not np.array_equal(lagging.states, direct.states)


@pytest.mark.parametrize("name", [n for n in shipped("scenarios") if "gyrostat" in n])
def test_worlds_without_vehicles_run(name):
    """A payload alone: nothing is planned or commanded, and it turns."""
    flight = fly(load_scenario(name), duration=20.0)
    assert flight.commands.shape[1:] == (0, 4) and np.linalg.norm(flight.states[-1, 0, 10:]) > 1e-3


def test_noise_changes_the_figures_little():
    """Section 6.1: noise of 1e-3 changes position figures by less than a few per cent."""
    from rotor_core.config.sensing import Noise, Sensing

    scenario = load_scenario("slalom")
    noisy = replace(scenario, sensing=Sensing(Noise(1e-3, 1e-3, 1e-3, 1e-3)))
    clean, rough = (
        fly(s).summary()["teams"]["payload"]["position_rmse_m"] for s in (scenario, noisy)
    )
    assert rough == pytest.approx(clean, rel=0.05)
    first, second = fly(noisy, duration=1.0), fly(noisy, duration=1.0)
    np.testing.assert_array_equal(first.states, second.states)


def test_two_teams_in_one_world(tmp_path):
    """Two payloads and a free vehicle: three teams, each with its own start and the same kind of trajectory."""
    from rotor_core.config.loader import scenario_from_tree
    from rotor_core.config.yaml.tree import parse_tree

    text = """
schema: 1
model:
  vehicles: [{use: dragonfly}, {use: dragonfly}]
  payloads: [{use: point_mass}, {use: point_mass}]
  attachments:
    - {type: mechanism, use: point_0-5m, vehicles: [quad1], payload: payload1}
    - {type: mechanism, use: point_0-5m, vehicles: [quad2], payload: payload2}
initial:
  - {entity: payload2, position_m: [0.0, 2.0, 0.0]}
controller: {use: point_mass}
trajectory: {use: slalom_20s}
"""
    scenario = scenario_from_tree(parse_tree(text, "two.yaml"))
    flight = fly(scenario, duration=5.0)
    assert flight.references.shape[1] == 2
    # the same flight twice, 2 m apart
    np.testing.assert_allclose(
        flight.states[:, 2, :3] + [0, 2, 0], flight.states[:, 3, :3], atol=1e-9
    )


def test_planes_keep_vehicles_apart():
    """A plan that leans cables by 8 degrees brings vehicles within 12 cm: planes of 0.1 m hold them 0.2 m apart, and
    the payload is carried on; without planes, under the same gains, the team is lost."""
    scenario = load_scenario("three_crazyflies_apart")
    close = replace(scenario.controller, spread_deg=8.0, radius_m=0.1)

    def flown(control):
        flight = fly(replace(scenario, controller=control), duration=7.0)
        places = flight.states[:, :3, :3]
        pairs = [(0, 1), (0, 2), (1, 2)]
        apart = np.stack([np.linalg.norm(places[:, i] - places[:, j], axis=1) for i, j in pairs])
        away = np.linalg.norm(flight.states[:, 3, :3] - flight.references[:, 0, :3], axis=1)
        return apart, away

    apart, away = flown(close)
    # feedback of the payload moves 10 g, and vehicles of ten times that follow it through their cables: 9 mm RMS later
    assert away.max() < 0.03
    assert 0.195 < apart[:, -1].min() < 0.22  # chords of both tilted planes
    plain = PointMassControl(
        "point_mass", close.position_per_s2, close.velocity_per_s, close.integral_per_s3, spread_deg=8.0
    )  # fmt: skip
    assert flown(plain)[1].max() > 0.5
