"""Shares of a wrench among cables: nothing is lost, bounds hold, and the solution is the optimum."""

from dataclasses import replace

import clarabel
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_matrix

from rotor_control.allocation.tension import Tension, distribute, grasp_matrix
from rotor_control.controller import make_controller
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import load_scenario
from rotor_core.config.teams import attachment_points, teams
from rotor_core.errors import ConfigError

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def points_of(name):
    model = load_scenario(name).model
    return attachment_points(model, teams(model)[0])


def shares(tension, wrench, R=IDENTITY):
    mu = np.zeros((len(tension.inverse) // 3, 3))
    distribute(tuple(wrench[:3]), tuple(wrench[3:]), R, tension.packed, mu)
    return mu


TEAMS = ("three_dragonflies_triangular_1m", "four_dragonflies_box", "six_dragonflies_box")


@pytest.mark.parametrize("name", TEAMS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
@example(seed=11821)  # a free share is cut off
def test_bounds_hold_and_the_payload_feels_nothing(name, seed):
    """The wrench comes back to 1e-5 of its size (the compliance of the bounds), and no cable is below the bound."""
    points, rng = points_of(name), np.random.default_rng(seed)
    least = rng.uniform(0.05, 0.5)
    spread = rng.uniform(0.2, 0.8)
    tension = Tension(points, 2.7, least=least, spread=spread)
    wrench = np.append(rng.normal(0.0, 0.5, 2), [rng.uniform(0.5, 4.0), *rng.normal(0.0, 0.2, 3)])
    mu = shares(tension, wrench)
    if mu[:, 2].min() > 0.0:  # otherwise a cable would have to push, and lets go
        np.testing.assert_allclose(grasp_matrix(points) @ mu.ravel(), wrench, atol=1e-9)
    free = shares(Tension(points, 2.7, spread=spread), wrench)
    change = mu - free
    largest = 2.7 / len(points)
    # where a free share was cut off at the horizontal, the change is not the internal force that is limited
    if (
        min(mu[:, 2].min(), free[:, 2].min()) > 0.0
        and np.linalg.norm(change, axis=1).max() < 0.999 * largest
    ):
        assert np.linalg.norm(mu, axis=1).min() > least - 1e-4
    assert np.linalg.norm(change[:, :2], axis=1).max() <= largest * (1.0 + 1e-9)


def programme(P, wrench, lean, unbounded, least):
    """The quadratic programme by an interior-point solver."""
    n = len(unbounded)
    rows = np.zeros((len(lean), n))
    for k, d in enumerate(lean):
        rows[k, 3 * k : 3 * k + 3] = -d
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        csc_matrix(np.eye(n)), -unbounded, csc_matrix(np.vstack([P, rows])),
        np.concatenate([wrench, np.full(len(lean), -least)]),
        [clarabel.ZeroConeT(6), clarabel.NonnegativeConeT(len(lean))], settings,
    )  # fmt: skip
    return np.array(solver.solve().x)


@pytest.mark.parametrize("name", TEAMS)
def test_bounded_shares_are_the_optimum(name):
    """Another algorithm for the same quadratic programme ends at the same point."""
    points, rng = points_of(name), np.random.default_rng(5)
    P = grasp_matrix(points)
    tension, free = (Tension(points, 2.7, least=least, spread=0.5) for least in (0.4, None))
    inverse, internal, lean = free.packed[:3]
    checked = 0
    for _ in range(60):
        wrench = np.append(rng.normal(0.0, 0.5, 2), [1.5, *rng.normal(0.0, 0.25, 3)])
        unbounded = inverse @ wrench + internal
        if (unbounded.reshape(-1, 3) * lean).sum(axis=1).min() > 0.4:
            continue
        best = programme(P, wrench, lean, unbounded, 0.4)
        change = np.linalg.norm((best - unbounded).reshape(-1, 3), axis=1).max()
        if change > 2.6 / len(points) or best[2::3].min() < 0.0:
            continue  # beyond what internal forces may be, or with cables that push
        # the compliance of 1e-6 times multipliers of up to 20 N
        np.testing.assert_allclose(shares(tension, wrench).ravel(), best, atol=2e-5)
        checked += 1
    assert checked > 5


def test_cables_lean_outwards_at_rest():
    """The spread is the angle between cable and vertical for a symmetric team; the sum stays the weight."""
    points = points_of("four_dragonflies_box")
    tension = Tension(points, 2.0, spread=np.radians(15.0))
    mu = shares(tension, (0.0, 0.0, 2.0, 0.0, 0.0, 0.0))
    tilt = np.degrees(np.arctan2(np.linalg.norm(mu[:, :2], axis=1), mu[:, 2]))
    np.testing.assert_allclose(tilt, 15.0, atol=1e-9)
    assert np.all((mu[:, :2] * points[:, :2]).sum(axis=1) > 0.0)
    np.testing.assert_allclose(mu.sum(axis=0), (0, 0, 2.0), atol=1e-12)


def test_without_bounds_it_is_the_paper():
    """Equation 71 with its clipping: world z of every share at least zero."""
    points = points_of("three_dragonflies_triangular_1m")
    wrench = (0.1, -0.2, 2.0, 0.05, -0.02, 0.01)
    mu = shares(Tension(points, 2.7), wrench)
    np.testing.assert_allclose(
        mu.ravel(), np.linalg.pinv(grasp_matrix(points)) @ wrench, atol=1e-12
    )
    pushed = shares(Tension(points, 2.7), (0.0, 0.0, 0.5, 0.0, 1.0, 0.0))
    assert pushed[:, 2].min() == 0.0


def test_a_bound_that_cannot_be_met_gives_way():
    """Straight cables on a level payload share its weight in one way only: the answer stays finite and keeps the wrench."""
    points = points_of("three_dragonflies_triangular_1m")
    mu = shares(Tension(points, 2.7, least=0.5), (0.0, 0.0, 0.6, 0.0, 0.0, 0.0))
    assert np.isfinite(mu).all()
    np.testing.assert_allclose(mu.sum(axis=0), (0.0, 0.0, 0.6), atol=1e-6)


@pytest.mark.parametrize("name", ["dragonfly_point_mass", "three_dragonflies_triangular_1m"])
def test_a_law_told_what_it_wants_does_the_same(name):
    """Forces from elsewhere go through the same steering as the law's own.

    The paper's law of a single cable lacks the vehicle's part across the cable, m (a - xi xi a), which is small here.
    """
    scenario = load_scenario(name)
    scenario = replace(scenario, actuation=replace(scenario.actuation, limits=False))
    controller = make_controller(scenario)
    law = controller.laws[0]
    states, rng = initial_states(scenario)[:, :13].copy(), np.random.default_rng(3)
    states[:, :2] += rng.normal(0.0, 0.02, (len(states), 2))
    reference = controller.references
    reference[0, :3], reference[0, 15] = states[-1, :3] + (0.05, -0.02, 0.03), 1.0
    own = controller.decide(states, reference).copy()
    law.told = law.forces.copy()
    told = controller.decide(states, reference)
    np.testing.assert_allclose(told, own, atol=1e-9 if "three" in name else 5e-2)
    law.told = 2.0 * law.told
    assert controller.decide(states, reference)[:, 0].sum() > 1.1 * own[:, 0].sum()


@pytest.mark.parametrize(
    "spread, least", [(1.0, 0.95), (5.0, 1.0), (10.0, 3.0), (0.0, 2.0), (10.0, 1e12)]
)
def test_more_than_cables_carry_is_refused(spread, least):
    """A bound that would act at rest would lean cables until nothing flies."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    control = replace(scenario.controller, spread_deg=spread, least_tension_n=least)
    with pytest.raises(ConfigError, match=r"least_tension_n: must be at most 0\.8"):
        make_controller(replace(scenario, controller=control))
