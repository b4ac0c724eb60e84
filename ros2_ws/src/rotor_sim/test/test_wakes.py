"""Jets below rotors: momentum, measured decay, symmetry, a second evaluation, and what vehicles and payloads feel."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import rotor
from rotor_core.config.air.wakes import Wakes
from rotor_core.config.environment import Environment
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.schema import Actuation
from rotor_core.errors import ConfigError, ContractError
from rotor_core.state import State
from rotor_flight.checkpoint import load, save
from rotor_flight.loop import ClosedLoop
from rotor_flight.tuning.closed_loop import LinearLoop
from rotor_sim.analysis.trim import trim
from rotor_sim.environment.wakes import wake_velocities
from rotor_sim.simulation import Simulation
from rotor_testbed.coverage import refuse_uncovered

SPREADING, REACH, DENSITY = 0.113, 10.0, 1.2
seeds = st.integers(0, 2**32 - 1)


def velocities(jets, places, owners=None, place_owners=None, spreading=SPREADING, reach=REACH):
    jets = np.atleast_2d(np.asarray(jets, float))
    owners = np.zeros(len(jets), int) if owners is None else np.asarray(owners)
    nobody = np.full(len(places), -1) if place_owners is None else np.asarray(place_owners)
    order = np.argsort(jets[:, 0], kind="stable")
    out = np.empty((len(places), 3))
    wake_velocities(jets[order], owners[order], spreading, reach, places, nobody, out)
    return out


def jet(hub=(0.0, 0.0, 0.0), direction=(0.0, 0.0, -1.0), radius=0.1, thrust=1.0):
    v = np.sqrt(thrust / (2.0 * DENSITY * np.pi * radius**2))
    return [*hub, *direction, radius, v]


def section(z, half=3.0, n=601):
    """Places of a level section at z, and the area of each."""
    g = np.linspace(-half, half, n)
    x, y = np.meshgrid(g, g)
    return np.column_stack([x.ravel(), y.ravel(), np.full(x.size, z)]), (g[1] - g[0]) ** 2


@pytest.mark.parametrize("distance", [0.5, 1.0, 3.0, 9.0])
def test_the_momentum_of_a_jet_is_the_thrust(distance):
    places, area = section(-distance, 4.5)
    flux = DENSITY * np.sum(velocities(jet(thrust=2.0), places)[:, 2] ** 2) * area
    # the air still gathers speed near the disc: ((1 + z / sqrt(R^2 + z^2)) / 2)^2; three widths hold all but e^-18
    near = (0.5 * (1.0 + distance / np.hypot(0.1, distance))) ** 2
    assert flux == pytest.approx(2.0 * near, rel=1e-6)


def test_merged_jets_have_the_sum_of_the_thrusts():
    hubs = 0.2 * np.array([[1, 1, 0], [-1, 1, 0], [1, -1, 0], [-1, -1, 0]])
    thrusts = np.array([1.0, 0.5, 2.0, 1.5])
    jets = [jet(h, thrust=f) for h, f in zip(hubs, thrusts, strict=True)]
    places, area = section(-6.0)
    flux = DENSITY * np.sum(velocities(jets, places)[:, 2] ** 2) * area
    assert flux == pytest.approx(thrusts.sum(), rel=1e-3)  # near the disc: (R / z)^2 / 2
    # and its middle is that of the thrusts
    u = velocities(jets, places)[:, 2] ** 2
    assert u @ places[:, :2] / u.sum() == pytest.approx(
        thrusts @ hubs[:, :2] / thrusts.sum(), abs=1e-3
    )


def test_the_speed_falls_as_was_measured():
    """U_c / U_0 = B D / z far below; B = 5.8 (Hussein, Capp and George 1994), 6.06 (Panchapakesan and Lumley 1993).

    A nozzle of diameter D with uniform speed U_0 has the same momentum as a rotor whose wake has contracted to it. The
    Gaussian carries all momentum in the mean flow, of which turbulence has a tenth in reality: B is 3 to 8 % larger.
    """
    contracted = 0.1 / np.sqrt(2.0)
    z = np.array([6.0, 9.0])
    u = -velocities(jet(), np.column_stack([np.zeros((2, 2)), -z]))[:, 2]
    exit_speed = 2.0 * jet()[7]
    # from two distances, because the origin of the jet lies above the disc
    B = (z[1] - z[0]) / (2.0 * contracted) / (exit_speed / u[1] - exit_speed / u[0])
    assert 5.8 < B < 6.4


def test_half_the_speed_is_where_the_width_says():
    z = 8.0
    width = 0.1 + SPREADING * z
    half = width * np.sqrt(np.log(2.0))
    u = velocities(jet(), np.array([[0.0, 0.0, -z], [half, 0.0, -z]]))[:, 2]
    assert u[1] / u[0] == pytest.approx(0.5, rel=1e-12)


def reference(jets, owners, places, place_owners):
    """Jets place by place in NumPy, no shortcuts but the cut at three widths."""
    out = np.zeros((len(places), 3))
    for i, place in enumerate(places):
        total = np.zeros(3)
        for row, owner in zip(jets, owners, strict=True):
            way = place - row[:3]
            z = way @ row[3:6]
            r2 = max(way @ way - z * z, 0.0)
            b = row[6] + SPREADING * z
            if owner == place_owners[i] or not 0.0 < z <= REACH or r2 > 9.0 * b * b:
                continue
            grown = 0.5 * (1.0 + z / np.hypot(row[6], z))
            u = 2.0 * row[7] * row[6] / b * grown * np.exp(-r2 / b**2)
            total += u * u * row[3:6]
        size = np.linalg.norm(total)
        out[i] = total / np.sqrt(size) if size else 0.0
    return out


def random_jets(random, n):
    directions = np.array([0.0, 0.0, -1.0]) + 0.5 * random.normal(size=(n, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.column_stack(
        [random.normal(size=(n, 3)) * 4.0, directions, random.uniform(0.02, 0.3, n), random.uniform(1.0, 8.0, n)]
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_no_jet_is_overlooked(seed):
    random = np.random.default_rng(seed)
    jets, owners = random_jets(random, 24), random.integers(0, 6, 24)
    places, nobody = random.normal(size=(40, 3)) * 5.0 - [0, 0, 3.0], random.integers(-1, 6, 40)
    found = velocities(jets, places, owners, nobody)
    assert np.allclose(found, reference(jets, owners, places, nobody), rtol=1e-10, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_a_turned_world_has_turned_wakes(seed):
    random = np.random.default_rng(seed)
    jets, places = random_jets(random, 8), random.normal(size=(20, 3)) * 3.0
    R, p = Rotation.random(random_state=seed).as_matrix(), random.normal(size=3)
    turned = jets.copy()
    turned[:, :3], turned[:, 3:6] = jets[:, :3] @ R.T + p, jets[:, 3:6] @ R.T
    # places exactly three widths away may fall to either side: nothing there is faster than e^-9 of the jet
    assert np.allclose(
        velocities(turned, places @ R.T + p), velocities(jets, places) @ R.T, atol=2e-3 * 8.0
    )


# --- scenarios ------------------------------------------------------------------------------------

PAIR = """
schema: 1
model:
  vehicles:
    - {use: crazyflie, name: top}
    - {use: crazyflie, name: low}
initial:
  - {entity: top, position_m: [0.0, 0.0, 3.0]}
  - {entity: low, position_m: [0.0, 0.0, 2.5]}
environment: {wakes: {}}
controller: {use: quadrotor}
trajectory: {type: hover}
"""


def pair(**changes):
    scenario = scenario_from_text(PAIR, "pair")
    for place, value in changes.items():
        scenario = scenario.changed(place.replace("__", "."), value)
    return scenario


def pulls(scenario):
    """Vertical accelerations of both when they ask for their weight at rest."""
    simulation = Simulation(scenario)
    weight = scenario.model.vehicles[0].mass_kg * 9.81
    simulation.act(np.tile([weight, 0.0, 0.0, 0.0], (2, 1)))
    return State(simulation.engine.update_kinematics()).acceleration[:, 2], simulation


def test_who_flies_below_is_pushed_down_and_who_flies_above_is_not():
    (top, low), _ = pulls(pair())
    assert top == pytest.approx(0.0, abs=1e-9)
    # Shi et al., Neural-Swarm, 2020, figure 3: a Crazyflie 0.5 m below another feels about 12 % of its weight
    assert -0.35 * 9.81 < low < -0.08 * 9.81


def test_beside_each_other_nobody_feels_anything():
    beside = [{"entity": n, "position_m": [x, 0.0, 3.0]} for n, x in (("top", 0.0), ("low", 0.4))]
    accelerations, _ = pulls(pair(initial=beside))
    assert accelerations == pytest.approx(0.0, abs=1e-9)


def test_wind_carries_wakes_away():
    still, _ = pulls(pair())
    blown, simulation = pulls(pair(environment__wind={"steady_m_s": [4.0, 0.0, 0.0]}))
    assert simulation.air[0] == pytest.approx([4.0, 0.0, 0.0])
    assert abs(blown[1] - blown[0]) < 0.05 * abs(still[1])


def test_a_vehicle_feels_no_wake_of_its_own():
    alone = scenario_from_text(
        PAIR.replace("    - {use: crazyflie, name: low}\n", "").replace(
            "  - {entity: low, position_m: [0.0, 0.0, 2.5]}\n", ""
        ),
        "alone",
    )
    simulation = Simulation(alone)
    simulation.act(np.array([[alone.model.vehicles[0].mass_kg * 9.81, 0.0, 0.0, 0.0]]))
    assert State(simulation.engine.update_kinematics()).acceleration[0] == pytest.approx(
        0.0, abs=1e-9
    )


def test_a_payload_hangs_in_the_wake_of_its_team():
    """The air there is that of the jets of all hubs, summed without shortcuts."""
    scenario = load_scenario("three_crazyflies_point_mass").changed("environment", {"wakes": {}})
    simulation = Simulation(scenario)
    wrenches = np.zeros((3, 4))
    wrenches[:, 0] = 0.34
    simulation.act(wrenches)
    air = simulation.air[simulation.names.index("payload")]
    states, jets = State(simulation.motion), []
    for i, vehicle in enumerate(scenario.model.vehicles):
        R = Rotation.from_quat(states.attitude[i], scalar_first=True)
        for hub in vehicle.rotors.positions:
            down = -R.apply([0.0, 0.0, 1.0])
            jets.append([*(states.position[i] + R.apply(hub)), *down, 0.0235, 0.0])
    density = scenario.environment.air.density
    v = np.sqrt(0.34 / 4 / (2.0 * density * np.pi * 0.0235**2))
    jets = np.array(jets)
    jets[:, 7] = v
    expected = reference(jets, np.zeros(12), states.position[3:4], np.array([-1]))[0]
    assert np.allclose(air, expected, rtol=1e-6, atol=1e-9)


def test_flights_repeat_to_the_bit():
    wind = {
        "steady_m_s": [0.5, 0.0, 0.0],
        "frozen_turbulence": {"deviation_m_s": 0.2, "length_m": 1.0},
    }
    scenario = pair(environment__wind=wind)
    whole = rotor.fly(scenario, duration=2.0)
    again = rotor.fly(scenario, duration=2.0)
    assert np.array_equal(whole["low"].position, again["low"].position)
    assert np.abs(whole["low"].position[-1] - [0.0, 0.0, 2.5]).max() > 0.01


def test_a_saved_flight_goes_on_with_the_same_bits(tmp_path):
    wind = {
        "steady_m_s": [0.5, 0.0, 0.0],
        "frozen_turbulence": {"deviation_m_s": 0.2, "length_m": 1.0},
    }
    loop = ClosedLoop(pair(environment__wind=wind))
    for _ in range(60):
        loop.period()
    save(loop, tmp_path / "flight")
    resumed = load(tmp_path / "flight")
    for _ in range(60):
        loop.period()
        resumed.period()
    np.testing.assert_array_equal(loop.simulation.motion, resumed.simulation.motion)


def test_scenarios_that_cannot_have_wakes_are_refused():
    with pytest.raises(
        ConfigError, match=r"environment\.wakes needs rotors\.radius_m > 0 of vehicle"
    ):
        load_scenario("slalom").changed("environment", {"wakes": {}})
    with pytest.raises(ValueError, match="needs actuation wrench or rotors, got"):
        replace(
            load_scenario("delivery"),
            actuation=Actuation("propellers"),
            environment=Environment(wakes=Wakes()),
        )
    with pytest.raises(ConfigError, match="not with helicopters"):
        load_scenario("helicopter_circle").changed("environment", {"wakes": {}})
    with pytest.raises(ContractError, match=r"trim: does not know environment\.wakes"):
        trim(pair())
    with pytest.raises(ConfigError, match="tune: knows rotors in air at rest"):
        LinearLoop(pair())
    with pytest.raises(ConfigError, match=r"environment\.wakes"):
        refuse_uncovered(pair())
