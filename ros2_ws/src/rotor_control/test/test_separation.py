"""Forces of cables that keep vehicles apart: planes, program, and the law that uses them."""

from dataclasses import replace
from itertools import chain, combinations

import clarabel
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_matrix
from scipy.spatial.transform import Rotation

from rotor_control.allocation.separation import SOFTNESS, CableProgram, plane_between, tilted
from rotor_control.controller import make_controller
from rotor_control.laws.payload_geometric import OF_ATTITUDE, OF_CABLE, OF_PAYLOAD
from rotor_core.config.loader import load_scenario
from rotor_core.config.parameters import changed
from rotor_core.errors import ConfigError, ContractError
from rotor_core.plans.plan import hold
from rotor_core.reference import REFERENCE, Reference
from rotor_core.state import State
from rotor_sim.simulation import Simulation

SEEDS = st.integers(0, 2**32 - 1)
NAME = "three_crazyflies_apart"


def team_of(rng, n, steepest=1.2):
    """Places of vehicles above a payload, at least 3 degrees apart, and a force to be shared."""
    angles = rng.uniform(0.0, steepest, n)
    azimuths = rng.uniform(-np.pi, np.pi, n)
    directions = np.stack(
        [np.sin(angles) * np.cos(azimuths), np.sin(angles) * np.sin(azimuths), np.cos(angles)], axis=1
    )  # fmt: skip
    lengths = rng.uniform(0.4, 1.0, n)
    force = np.append(rng.normal(0.0, 0.03, 2), rng.uniform(0.05, 0.2))
    apart = min(np.linalg.norm(a - b) for a, b in combinations(directions, 2))
    return lengths, lengths[:, None] * directions, force, apart


@settings(max_examples=100, deadline=None)
@given(seed=SEEDS)
def test_planes_are_those_of_the_quadratic_program(seed):
    """The closed form is the optimum of |n|^2 + w (n.F)^2 with both vehicles on their sides, as an interior-point method finds it."""
    rng = np.random.default_rng(seed)
    _, (first, second), force, apart = team_of(rng, 2)
    assume(apart > 0.2)
    weight = rng.uniform(0.0, 200.0)
    n = np.array(plane_between(tuple(first), tuple(second), tuple(force), weight))
    H = np.eye(3) + weight * np.outer(force, force)
    quiet = clarabel.DefaultSettings()
    quiet.verbose = False
    found = clarabel.DefaultSolver(
        csc_matrix(2.0 * H), np.zeros(3), csc_matrix(np.stack([first, -second])), -np.ones(2),
        [clarabel.NonnegativeConeT(2)], quiet,
    ).solve()  # fmt: skip
    np.testing.assert_allclose(n, np.array(found.x) / np.linalg.norm(found.x), atol=1e-6)
    assert first @ n < 0.0 < second @ n


def test_vehicles_in_line_have_no_plane():
    up = np.array([0.0, 0.0, 1.0])
    line = [tuple(s * up) for s in (0.5, 0.8, 0.1)]
    assert plane_between(*line, 10.0) == (0.0, 0.0, 0.0)
    apart = CableProgram(np.array([0.5, 0.8]), radius=0.1, lean=10.0, plan=0.0)
    shares = apart.share(0.1 * up, np.zeros((2, 3)), np.stack([0.5 * up, 0.8 * up]))
    np.testing.assert_allclose(shares, [0.05 * up] * 2, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_a_tilted_plane_is_a_radius_away_at_the_end_of_the_cable(seed):
    """Who is on the edge of the tilted plane is a chord of the radius from where the same cable meets the plane."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    assume(abs(normal[2]) < 0.99)
    radius, length = rng.uniform(0.05, 0.3), rng.uniform(0.4, 1.0)
    angle = 2.0 * np.arcsin(0.5 * radius / length)
    own, other = (np.array(tilted(tuple(normal), angle, side)) for side in (1.0, -1.0))
    np.testing.assert_allclose([np.linalg.norm(own), np.linalg.norm(other)], 1.0, atol=1e-12)
    line = np.cross(normal, [0.0, 0.0, 1.0])  # both planes hold it
    assert abs(own @ line) < 1e-12 and abs(other @ line) < 1e-12
    up = np.cross(line / np.linalg.norm(line), normal)  # in the plane, steepest
    for mine, side in ((own, -1.0), (other, 1.0)):
        edge = length * (np.cos(angle) * up + side * np.sin(angle) * normal)
        assert abs(mine @ edge) < 1e-12
        assert np.linalg.norm(edge - length * up) == pytest.approx(radius, abs=1e-12)


def rows_of(program, places, force):
    """Planes as rows over the forces of all cables, (2 pairs, 3 n)."""
    n = len(places)
    owners = [v for pair in combinations(range(n), 2) for v in pair]
    rows = np.zeros((len(owners), 3 * n))
    for row, (owner, normal) in enumerate(zip(owners, program.planes(places, force), strict=True)):
        rows[row, 3 * owner : 3 * owner + 3] = normal
    return rows


def optimum(force, planned, rows, plan):
    """The shares by trying every set of planes that give way (a piecewise quadratic cost has one minimum)."""
    n = len(planned)
    sums = np.tile(np.eye(3), n)
    subsets = chain.from_iterable(combinations(range(len(rows)), k) for k in range(len(rows) + 1))
    for pressed in subsets:
        C = rows[list(pressed)]
        H = 2.0 * (1.0 + plan) * np.eye(3 * n) + 2.0 / SOFTNESS * C.T @ C
        K = np.block([[H, sums.T], [sums, np.zeros((3, 3))]])
        x = np.linalg.solve(K, np.append(2.0 * plan * planned.ravel(), force))[: 3 * n]
        sides = rows @ x
        others = np.delete(sides, list(pressed))
        if others.max(initial=0.0) <= 1e-12 and sides[list(pressed)].min(initial=0.0) >= -1e-12:
            return x.reshape(n, 3)
    raise AssertionError("no set of planes fits")


@pytest.mark.parametrize("n", [2, 3])
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_shares_are_the_optimum(n, seed):
    """They add up to the force, and are those of the one set of planes that fits."""
    rng = np.random.default_rng(seed)
    lengths, places, force, apart = team_of(rng, n)
    assume(apart > 0.1)
    plan = rng.choice([0.0, 1.0, 20.0, 100.0])
    program = CableProgram(lengths, radius=rng.uniform(0.0, 0.2), lean=10.0, plan=plan)
    planned = force / n + rng.normal(0.0, 0.02, (n, 3))
    shares = program.share(force, planned, places)
    np.testing.assert_allclose(shares.sum(axis=0), force, atol=1e-7 * np.linalg.norm(force))
    wanted = optimum(force, planned, rows_of(program, places, force), plan)
    # tolerances of the program are 1e-8 of its cost, so the root of that of the shares
    np.testing.assert_allclose(shares, wanted, atol=2e-4 * max(np.abs(wanted).max(), 0.1))


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_two_vehicles_always_stay_on_their_sides(seed):
    """Two planes can always be kept: what they give way is the softness, not more."""
    rng = np.random.default_rng(seed)
    lengths, places, force, apart = team_of(rng, 2)
    assume(apart > 0.3)
    program = CableProgram(lengths, radius=rng.uniform(0.0, 0.2), lean=10.0, plan=20.0)
    shares = program.share(force, force / 2 + rng.normal(0.0, 0.02, (2, 3)), places)
    assert (rows_of(program, places, force) @ shares.ravel()).max() < 1e-4 * np.linalg.norm(shares)


def test_without_planes_that_matter_shares_are_the_planned_ones():
    """Internal forces of a plan on its sides stay, as far as it counts; equal shares where nothing is planned."""
    places = 0.5 * np.array([[-0.5, 0.0, 0.866], [0.5, 0.0, 0.866]])
    force = np.array([0.0, 0.0, 0.1])
    planned = 0.05 / 0.866 * places / 0.5
    kept = CableProgram(np.full(2, 0.5), radius=0.1, lean=10.0, plan=20.0)
    wanted = force / 2 + 20.0 / 21.0 * (planned - force / 2)
    np.testing.assert_allclose(kept.share(force, planned, places), wanted, atol=1e-8)
    free = CableProgram(np.full(2, 0.5), radius=0.0, lean=10.0, plan=0.0)
    equal = free.share(force, np.zeros((2, 3)), places)
    # they lie in the plane without pushing at it: an interior point ends at the root of its tolerance (1e-8) from there
    np.testing.assert_allclose(equal, [0.5 * force] * 2, atol=1e-4 * 0.1)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_shares_turn_with_the_world_and_go_with_the_names(seed):
    rng = np.random.default_rng(seed)
    lengths, places, force, apart = team_of(rng, 3)
    assume(apart > 0.3)
    planned = rng.normal(0.0, 0.03, (3, 3))

    def shares(lengths, planned, places, force):
        program = CableProgram(lengths, radius=0.1, lean=50.0, plan=20.0)
        return program.share(force, planned, places)

    here = shares(lengths, planned, places, force)
    R = Rotation.from_euler("z", rng.uniform(-3.0, 3.0)).as_matrix()
    there = shares(lengths, planned @ R.T, places @ R.T, R @ force)
    size = np.linalg.norm(force)
    np.testing.assert_allclose(there, here @ R.T, atol=1e-5 * size)
    order = [2, 0, 1]
    again = shares(lengths[order], planned[order], places[order], force)
    np.testing.assert_allclose(again, here[order], atol=1e-5 * size)


def test_numbers_that_are_not_finite_are_refused():
    program = CableProgram(np.full(2, 0.5), radius=0.1, lean=10.0, plan=20.0)
    places = np.array([[-0.3, 0.0, 0.4], [0.3, 0.0, 0.4]])
    with pytest.raises(ContractError, match="not finite"):
        program.share(np.array([0.0, np.nan, 0.1]), np.zeros((2, 3)), places)


def skew(v):
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def law_by_hand(scenario, states, reference, payload_sum, cable_sums, attitude_sums, forces):
    """Equations (C.43), (C.47), (C.48) with matrices, for the forces that the program found."""
    model, control = scenario.model, scenario.controller
    g, h = scenario.environment.gravity_m_s2, scenario.time.control_s
    n = len(model.vehicles)
    load, body = model.payloads[0], State(states)
    up = np.array([0.0, 0.0, g])
    e, e_v = reference.position - body.position[n], reference.velocity - body.velocity[n]
    ahead = reference.acceleration if control.acceleration_feedforward else np.zeros(3)
    a = ahead + up + control.position_per_s2 * e + control.velocity_per_s * e_v
    a = a + np.array(control.integral_per_s3) * (payload_sum + h * e)
    out = np.zeros((n, 4))
    for k, vehicle in enumerate(model.vehicles):
        gap, gap_rate = (
            body.position[n] - body.position[k],
            body.velocity[n] - body.velocity[k],
        )
        d, l, m = np.linalg.norm(gap), model.cables[k].length_m, vehicle.mass_kg
        q = gap / d
        q_dot = (np.eye(3) - np.outer(q, q)) @ gap_rate / d
        w = skew(q) @ q_dot
        wanted = -forces[k] / np.linalg.norm(forces[k])
        error = skew(wanted) @ q
        turn = vehicle.gains.cable_direction_per_s2 * error + vehicle.gains.cable_rate_per_s * w
        turn = turn + control.cable_integral_per_s3 * (cable_sums[k] + h * error)
        s = ahead + up
        force = np.outer(q, q) @ (forces[k] + m * s) + m * l * (w @ w) * q
        force = force - m * l * skew(q) @ turn + m * (np.eye(3) - np.outer(q, q)) @ s
        z = force / np.linalg.norm(force)
        y = np.cross(z, [1.0, 0.0, 0.0])
        y /= np.linalg.norm(y)
        wanted_R = np.stack([np.cross(y, z), y, z], axis=1)
        R = Rotation.from_quat(body.attitude[k], scalar_first=True).as_matrix()
        E = 0.5 * (R.T @ wanted_R - wanted_R.T @ R)
        turned = np.array([E[2, 1], E[0, 2], E[1, 0]])
        J = np.diag(vehicle.inertia_kg_m2)
        moment = vehicle.gains.attitude_n_m * turned - vehicle.gains.rate_n_m_s * body.body_rate[k]
        moment = moment + skew(body.body_rate[k]) @ J @ body.body_rate[k]
        moment = moment + control.attitude_integral_n_m_per_s * (attitude_sums[k] + h * turned)
        out[k] = [np.linalg.norm(force) if control.whole_thrust else force @ R[:, 2], *moment]
    return out, load.mass_kg * a


@pytest.mark.parametrize("as_flown", [False, True])
def test_the_law_is_what_its_equations_say(as_flown):
    rng = np.random.default_rng(11)
    scenario = load_scenario(NAME)
    control = replace(
        scenario.controller, acceleration_feedforward=not as_flown, whole_thrust=as_flown
    )
    scenario = replace(scenario, controller=control)
    law = make_controller(scenario).laws[0]
    states = np.zeros((4, 19))
    body = State(states)
    places = rng.normal(0.0, 0.05, (3, 3)) + [
        [0.3, 0.0, 0.4],
        [-0.15, 0.26, 0.4],
        [-0.15, -0.26, 0.4],
    ]
    body.position[:3], body.position[3] = [1.0, 2.0, 1.0] + places, [1.0, 2.0, 1.0]
    body.velocity[:] = rng.normal(0.0, 0.2, (4, 3))
    body.attitude[:] = Rotation.from_rotvec(rng.normal(0.0, 0.2, (4, 3))).as_quat(scalar_first=True)
    body.body_rate[:] = rng.normal(0.0, 0.5, (4, 3))
    reference = Reference(np.zeros(REFERENCE))
    reference.array[:9] = [1.1, 1.9, 1.05, *rng.normal(0.0, 0.3, 6)]
    reference.attitude[:] = [1.0, 0.0, 0.0, 0.0]
    law.memory[:] = rng.normal(0.0, 0.1, law.memory.shape)
    law.memory[:, OF_PAYLOAD : OF_PAYLOAD + 3] = payload_sum = rng.normal(0.0, 0.02, 3)
    before = law.memory.copy()
    out = np.zeros((3, 4))
    law(states, reference.array, out)
    wanted, force = law_by_hand(
        scenario, states, reference, payload_sum, before[:, OF_CABLE : OF_CABLE + 3],
        before[:, OF_ATTITUDE : OF_ATTITUDE + 3], law.forces,
    )  # fmt: skip
    np.testing.assert_allclose(law.wanted, [force] * 3, atol=1e-12)
    np.testing.assert_allclose(law.forces.sum(axis=0), force, atol=1e-8)
    np.testing.assert_allclose(out, wanted, rtol=1e-9, atol=1e-12)


def test_vehicles_whose_integrals_differ_have_programs_of_their_own():
    """Each takes its own share of its own answer."""
    scenario = load_scenario(NAME)
    law = make_controller(scenario).laws[0]
    states = np.zeros((4, 19))
    State(states).position[:3] = 0.5 * np.array([[0.5, 0.0, 0.866], [-0.25, 0.433, 0.866], [-0.25, -0.433, 0.866]])  # fmt: skip
    State(states).attitude[:, 0] = 1.0
    law.memory[1, OF_PAYLOAD] = 0.3
    reference = np.zeros(REFERENCE)
    law(states, reference, np.zeros((3, 4)))
    places = State(states).position[:3]
    planned = law.program.share(law.wanted[0], law.forces, places)
    assert law.wanted[1, 0] - law.wanted[0, 0] == pytest.approx(0.01 * 5.0 * 0.3)
    assert planned.shape == (3, 3)
    for k in range(3):
        alone = law.program.share(law.wanted[k], law._planned, places)[k]
        np.testing.assert_allclose(law.forces[k], alone, atol=1e-12)


def test_the_program_takes_its_time():
    """With 12 ms at a control period of 5 ms an answer comes two periods after it was asked for."""
    scenario = load_scenario(NAME)
    slow = replace(scenario, controller=replace(scenario.controller, program_period_s=0.012))
    assert scenario.time.control_s == pytest.approx(0.005)
    law, quick = make_controller(slow).laws[0], make_controller(scenario).laws[0]
    states, out = np.zeros((4, 19)), np.zeros((3, 4))
    State(states).attitude[:, 0] = 1.0
    State(states).position[:3] = 0.5 * np.array([[0.5, 0.0, 0.866], [-0.25, 0.433, 0.866], [-0.25, -0.433, 0.866]])  # fmt: skip
    reference = np.zeros(REFERENCE)
    answers, used = [], []
    for i in range(7):
        State(states).position[3, 0] = 0.01 * i  # the payload moves, so answers differ
        quick(states, reference, out)
        law(states, reference, out)
        answers.append(quick.forces.copy())
        used.append(law.forces.copy())
    assert [int(np.argmin([np.abs(u - a).max() for a in answers])) for u in used] == [0, 0, 0, 0, 2, 2, 4]  # fmt: skip


def test_planned_forces_from_elsewhere_are_the_goal_of_the_program():
    scenario = load_scenario(NAME)
    law = make_controller(scenario).laws[0]
    states, out = np.zeros((4, 19)), np.zeros((3, 4))
    State(states).attitude[:, 0] = 1.0
    places = 0.5 * np.array([[0.6, 0.0, 0.8], [-0.3, 0.52, 0.8], [-0.3, -0.52, 0.8]])
    State(states).position[:3] = places
    law.told = 0.0981 / 3 / 0.8 * places / 0.5
    law(states, np.zeros(REFERENCE), out)
    wanted = law.wanted / 3 + 100.0 / 101.0 * (law.told - law.told.mean(axis=0))
    np.testing.assert_allclose(law.forces, wanted, atol=1e-8)


@pytest.mark.parametrize("name", ["three_dragonflies_triangular_1m", "hover", "three_dragonflies_triangular_rigid"])  # fmt: skip
def test_what_it_cannot_fly_is_refused(name):
    scenario = load_scenario(name)
    control = load_scenario(NAME).controller
    with pytest.raises(ConfigError, match="payload_geometric flies a point mass on cables"):
        make_controller(replace(scenario, controller=control))


def test_gains_out_of_range_are_refused_by_name():
    with pytest.raises(ConfigError, match="plan_weight"):
        changed(load_scenario(NAME), "controller.plan_weight", -1.0)


@pytest.mark.parametrize("feeds", [True, False])
def test_the_team_as_shipped_stays_where_it_hovers(feeds):
    """With the feedback of the payload in what vehicles feed forward it left by itself: lost after 91 seconds."""
    scenario = load_scenario(NAME).changed("controller.acceleration_feedforward", feeds)
    simulation, controller = Simulation(scenario), make_controller(scenario)
    row = scenario.model.index("payload")
    start = simulation.motion[row, :3].copy()
    plan, away = hold(start), []
    for _ in range(round(40.0 / scenario.time.control_s)):
        simulation.step(controller(simulation.sense(), plan.at(0.0)))
        away.append(float(np.linalg.norm(simulation.motion[row, :3] - start)))
    tens = np.array(away).reshape(4, -1).max(axis=1)  # in each ten seconds
    assert tens[0] < 0.02 and tens[3] < 0.5 * tens[1]


@pytest.mark.parametrize("whole", [True, False])
def test_a_knock_upwards_beyond_the_rotors_is_caught(whole):
    """The whole size of a force downwards pushed up (36 m in 6 s); sums of errors of attitudes ran on (13 m down)."""
    scenario = load_scenario(NAME).changed("controller.whole_thrust", whole)
    simulation, controller = Simulation(scenario), make_controller(scenario)
    row = scenario.model.index("payload")
    plan = hold(simulation.motion[row, :3].copy())
    states = simulation.motion[:, :13].copy()
    State(states).velocity[:, 2] += 2.0
    simulation.reset(states)
    heights = []
    for _ in range(round(12.0 / scenario.time.control_s)):
        simulation.step(controller(simulation.sense(), plan.at(0.0)))
        heights.append(simulation.motion[row, 2] - plan.at(0.0).position[2])
    # the rotors let it fall: 2 m/s against g are 0.2 m, more while the vehicles turn
    assert -1.2 < min(heights) and max(heights) < 1.2
    assert np.abs(heights[-100:]).max() < 0.1
