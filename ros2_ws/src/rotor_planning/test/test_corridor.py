"""RT-A17: corridors about the lines between waypoints, and what a wide one leaves alone."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from rotor_core.errors import ContractError
from rotor_planning.trajectories.corridor import Corridor
from rotor_planning.trajectories.plans import waypoints
from rotor_planning.trajectories.polynomial import integral_cost


def farthest(points, plan, checks):
    """Largest component of the distance from the lines at the checks."""
    out = 0.0
    powers = np.arange(plan.coefficients.shape[2])
    for i in range(len(points) - 1):
        along = points[i + 1] - points[i]
        along = along / np.linalg.norm(along)
        for s in np.arange(1, checks + 1) / (checks + 1):
            apart = plan.coefficients[i, :3] @ s**powers - points[i]
            out = max(out, np.abs(apart - along * (along @ apart)).max())
    return out


def path(seed, m):
    return np.cumsum(np.random.default_rng(seed).uniform(-1, 1, (m + 1, 3)), axis=0)


@settings(max_examples=12, deadline=None)
@given(st.integers(3, 6), st.integers(1, 8), st.integers(0, 2**32 - 1), st.floats(0.03, 0.3))
def test_checks_hold_and_narrower_costs_more(k, m, seed, width):
    points = path(seed, m)
    try:
        narrow, wide = (
            waypoints(points[0], points[1:], derivative=k, corridor=Corridor(w, 10))
            for w in (width, 3.0 * width)
        )
    except ContractError as error:  # in a wide one, too, it may swing far between the checks
        assert "would swing" in str(error)
        reject()
    assert farthest(points, narrow, 10) <= width + 1e-6
    costs = [integral_cost(p.coefficients[:, :3], p.durations, k) for p in (narrow, wide)]
    best = 0.0
    with contextlib.suppress(ContractError):  # a free curve may swing too far to be flown
        free = waypoints(points[0], points[1:], derivative=k)
        best = integral_cost(free.coefficients[:, :3], free.durations, k)
    assert costs[0] >= costs[1] * (1 - 1e-6) >= best * (1 - 2e-6)
    again = waypoints(points[0], points[1:], derivative=k, corridor=Corridor(width, 10))
    np.testing.assert_array_equal(again.coefficients, narrow.coefficients)


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_a_wide_corridor_is_the_spline(k):
    """The interior-point solver and the null-space method, with four more degrees, find the same curve."""
    points = path(7, 6)
    plan = waypoints(points[0], points[1:], derivative=k, corridor=Corridor(100.0, 5))
    free = waypoints(points[0], points[1:], derivative=k)
    for t in np.linspace(0.0, free.duration, 60):
        np.testing.assert_allclose(plan.sample(t)[:6], free.sample(t)[:6], atol=1e-4)


def test_twenty_waypoints():
    points = path(3, 20)
    plan = waypoints(points[0], points[1:], derivative=4, corridor=Corridor(0.2, 10))
    assert farthest(points, plan, 10) <= 0.2 + 1e-6


def test_impossible_corridors_are_refused():
    points = path(1, 3)
    with pytest.raises(ContractError, match=r"no curve fits into a corridor of 0\.001 m"):
        waypoints(points[0], points[1:], degree=7, corridor=Corridor(0.001, 10))
    for width in (1e-6, 1e-9, float("nan")):
        with pytest.raises(ContractError, match="corridor"):
            waypoints(points[0], points[1:], corridor=Corridor(width, 10))
    with pytest.raises(ContractError, match="rest must be below the degree"):
        waypoints(points[0], points[1:], derivative=2, rest=5)
    with pytest.raises(ContractError, match="must be finite"):
        waypoints(points[0], np.array([[1.0, 0, 0], [np.nan, 0, 0]]))
