"""Limits of a rigidly linked team: as near as its rotors can come to the wrench of the structure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from rotor_control.controller import make_controller
from rotor_control.laws.rigid_team import structure_allocation
from rotor_control.team_laws import structure
from rotor_core.config.loader import load_scenario, load_trajectory
from rotor_core.vehicles.rotors import limit_wrench
from rotor_flight.fly import fly

CASES = [
    ("three_dragonflies_triangular_rigid", "moments"),
    ("three_dragonflies_triangular_rigid", "rotors"),
    ("two_dragonflies_bar_rigid", "rotors"),
    ("heterogeneous_triangular_rigid", "rotors"),
]
"""Not moments with a mixed team: there a rotor turns slower for more thrust, and a note says so."""


def law_of(name, allocation):
    scenario = load_scenario(name)
    return make_controller(
        replace(scenario, controller=replace(scenario.controller, allocation=allocation))
    ).laws[0], scenario


@pytest.mark.parametrize(("name", "allocation"), CASES)
def test_a_limited_wrench_is_within_and_the_largest_of_its_kind(name, allocation):
    """Against a linear program: the largest share of roll and pitch for which some thrust keeps all rotors within."""
    law, _ = law_of(name, allocation)
    random = np.random.default_rng(3)
    weight = law.load[0] * 9.81
    limited = 0
    for _ in range(200):
        asked = np.append(
            random.uniform(0.5, 2.0) * weight, random.normal(0.0, 1.0, 3) * [2.0, 2.0, 0.5]
        )
        wrench = asked.copy()
        if not limit_wrench(law.shares, len(law.shares), law.limits, wrench):
            continue
        limited += 1
        thrusts = law.shares @ wrench
        assert (thrusts >= law.limits[:, 0] - 1e-9).all() and (
            thrusts <= law.limits[:, 1] + 1e-9
        ).all()
        tilt = law.shares[:, 1:3] @ asked[1:3]
        upper, lower = (
            np.column_stack([tilt, law.shares[:, 0]]),
            -np.column_stack([tilt, law.shares[:, 0]]),
        )
        best = linprog(
            [-1.0, 0.0], A_ub=np.vstack([upper, lower]), b_ub=np.concatenate([law.limits[:, 1], -law.limits[:, 0]]),
            bounds=[(0.0, 1.0), (None, None)],
        )  # fmt: skip
        np.testing.assert_allclose(wrench[1:3], best.x[0] * asked[1:3], atol=1e-7)
    assert limited > 50


@pytest.mark.parametrize(("name", "allocation"), CASES)
def test_limits_of_vehicles_find_nothing_left_to_limit(name, allocation):
    """So the moment of the structure is what was meant, whatever was asked."""
    law, scenario = law_of(name, allocation)
    controller = make_controller(
        replace(scenario, controller=replace(scenario.controller, allocation=allocation))
    )
    _, _, _, points, rotations = structure(scenario.model, controller.teams[0])
    A = structure_allocation(points, rotations)
    random = np.random.default_rng(4)
    for _ in range(100):
        wrench = np.append(
            random.uniform(0.0, 3.0) * law.load[0] * 9.81, random.normal(0.0, 1.0, 3)
        )
        limit_wrench(law.shares, len(law.shares), law.limits, wrench)
        shared = (law.allocation @ np.append(wrench, 1.0)).reshape(-1, 4)
        np.testing.assert_allclose(A @ shared.ravel(), wrench, atol=1e-9)
        again = shared.copy()
        controller.limits.apply(again)
        np.testing.assert_allclose(again, shared, atol=1e-7)


def test_the_line_on_the_rigid_triangle_is_flown():
    """Limits of single vehicles spoil the moment of the structure: it was lost by 8.8 m."""
    scenario = replace(
        load_scenario("three_dragonflies_triangular_rigid"), trajectory=load_trajectory("line")
    )
    for allocation in ("moments", "rotors"):
        flight = fly(
            replace(scenario, controller=replace(scenario.controller, allocation=allocation))
        )
        assert flight.verdict().kind == "flown"
        assert np.linalg.norm(flight.position_error(), axis=1).max() < 0.25
