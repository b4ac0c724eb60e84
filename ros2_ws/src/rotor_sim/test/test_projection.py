"""Setting states: refused with the reason, or moved to the nearest allowed one, with momentum laws as judges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from transforms3d.quaternions import axangle2quat

from rotor_core.config import load_scenario
from rotor_core.errors import ContractError
from rotor_sim.simulation import Simulation

RANDOM = st.integers(0, 2**32 - 1)


def rows(simulation):
    return {n: r.copy() for n, r in zip(simulation.names, simulation.motion[:, :13], strict=True)}


def test_two_bodies_and_a_cable_share_the_way_by_their_masses():
    """Closed form: the displacements along the cable are as 1/m, and so are the velocity changes."""
    simulation = Simulation(load_scenario("dragonfly_point_mass"))
    vehicle, payload = (e.mass_kg for e in simulation.scenario.model.entities)
    state = rows(simulation)["payload"]
    state[2] -= 0.3
    state[9] -= 1.5
    before = simulation.motion[:, :13].copy()
    before[1] = state
    shift = simulation.set_states({"payload": state}, project=True)
    moved = simulation.motion[:, 2] - before[:, 2]
    total = vehicle + payload
    np.testing.assert_allclose(moved, [-0.3 * payload / total, 0.3 * vehicle / total], atol=1e-11)
    assert shift == pytest.approx(np.abs(moved).max(), abs=1e-11)
    common = -1.5 * payload / total  # they part no more: one velocity along the cable
    np.testing.assert_allclose(simulation.motion[:, 9], common, atol=1e-9)
    assert simulation.engine.distances[0] == pytest.approx(0.5, abs=1e-11)


@given(RANDOM)
@settings(max_examples=25, deadline=None)
def test_projection_of_random_states(seed):
    """Afterwards nothing is too long or parts; total momentum and mass-weighted position have not moved."""
    random = np.random.default_rng(seed)
    simulation = Simulation(load_scenario("three_dragonflies_triangular_1m"))
    wanted = rows(simulation)
    for state in wanted.values():
        state[0:3] += random.normal(size=3) * 0.3
        axis = random.normal(size=3)
        state[3:7] = axangle2quat(axis / np.linalg.norm(axis), random.uniform(0.0, 0.8))
        state[7:13] = random.normal(size=6)
    simulation.set_states(wanted, project=True)
    masses = np.array([e.mass_kg for e in simulation.scenario.model.entities])
    before, after = np.array(list(wanted.values())), simulation.motion[:, :13]
    lengths = np.array([c.length_m for c in simulation.scenario.model.cables])
    assert np.all(simulation.engine.distances <= lengths + 1e-11)
    # cables pull both ends alike: sums over bodies stay
    np.testing.assert_allclose(masses @ after[:, :3], masses @ before[:, :3], atol=1e-9)
    np.testing.assert_allclose(masses @ after[:, 7:10], masses @ before[:, 7:10], atol=1e-9)
    assert not [e for e in simulation.take_events() if e.type == "snap"]
    # what has been projected is allowed, and stays where it is
    again = simulation.set_states(rows(simulation), project=False)
    assert again == 0.0


def test_it_is_the_nearest_state():
    """Against a general optimiser that knows nothing of multipliers."""
    simulation = Simulation(load_scenario("dragonfly_point_mass"))
    masses = np.array([e.mass_kg for e in simulation.scenario.model.entities])
    state = rows(simulation)["payload"]
    state[0:3] += [0.4, -0.2, -0.1]
    start = np.array([simulation.motion[0, :3], state[:3]])
    found = minimize(
        lambda x: np.sum(masses[:, None] * (x.reshape(2, 3) - start) ** 2),
        start.ravel(),
        constraints={
            "type": "ineq",
            "fun": lambda x: 0.5 - np.linalg.norm(x.reshape(2, 3)[1] - x.reshape(2, 3)[0]),
        },
        options={"ftol": 1e-14, "maxiter": 200},
    )
    simulation.set_states({"payload": state}, project=True)
    np.testing.assert_allclose(simulation.motion[:, :3], found.x.reshape(2, 3), atol=1e-6)


def test_refusals_name_the_constraint_and_change_nothing():
    simulation = Simulation(load_scenario("three_dragonflies_triangular_1m"))
    before = simulation.motion.copy()
    far, fast = rows(simulation)["payload"], rows(simulation)["payload"]
    far[2] -= 0.5
    fast[9] = -2.0
    bad = rows(simulation)["payload"]
    bad[3:7] = [1.0, 1.0, 0.0, 0.0]
    lost = rows(simulation)["payload"]
    lost[0] = np.nan
    for state, words in (
        ({"payload": far}, r"cable1: .*1\.5 m apart, but it is only 1 m long"),
        ({"payload": fast}, r"cable1: it is at its length, but its ends part at 2 m/s"),
        ({"payload": bad}, "quaternion must have length 1"),
        ({"payload": lost}, "must be finite"),
        ({"parcel": far}, "no entity 'parcel'; known: quad1, quad2, quad3, payload"),
    ):
        with pytest.raises(ContractError, match=words):
            simulation.set_states(state, project=False)
        np.testing.assert_array_equal(simulation.motion, before)


def test_states_beyond_all_bounds_are_refused():
    simulation = Simulation(load_scenario("dragonfly_point_mass"))
    before = simulation.motion.copy()
    state = rows(simulation)["payload"]
    state[0] = 1e200
    with pytest.raises(ContractError, match=r"must stay within 1e\+06 m"):
        simulation.set_states({"payload": state}, project=True)
    np.testing.assert_array_equal(simulation.motion, before)


def test_slack_is_always_allowed():
    simulation = Simulation(load_scenario("dragonfly_point_mass"))
    state = rows(simulation)["payload"]
    state[2] += 0.2
    assert simulation.set_states({"payload": state}, project=False) == 0.0
    assert not simulation.engine.taut[0]


def test_rigid_teams_follow_the_one_that_is_set():
    simulation = Simulation(load_scenario("three_dragonflies_triangular_rigid"))
    apart = simulation.motion[:, :3] - simulation.motion[0, :3]
    state = rows(simulation)["quad2"]
    state[0:3] += [1.0, 2.0, 3.0]
    simulation.set_states({"quad2": state}, project=False)
    np.testing.assert_allclose(
        simulation.motion[:, :3] - simulation.motion[0, :3], apart, atol=1e-12
    )
    np.testing.assert_allclose(simulation.motion[1, :3], state[:3], atol=1e-12)
    with pytest.raises(ContractError, match="rigid link of 'quad"):
        simulation.set_states({"quad2": state, "quad1": rows(simulation)["payload"]}, project=True)


def test_time_and_cut_cables_stay():
    simulation = Simulation(load_scenario("three_dragonflies_triangular_1m"))
    simulation.step(np.tile([3.0, 0.0, 0.0, 0.0], (3, 1)))
    simulation.engine.cut(0)
    time = simulation.time
    state = rows(simulation)["quad1"]
    state[2] += 5.0  # the cut cable does not mind
    simulation.set_states({"quad1": state}, project=False)
    assert simulation.time == time and simulation.engine.alive.tolist() == [False, True, True]
    simulation.step()
    assert simulation.time == pytest.approx(time + 0.005, abs=1e-12)
