"""Limits of a rigidly linked team: as near as its rotors can come to the wrench of the structure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from rotor_control.controller import make_controller
from rotor_control.gains import HELD
from rotor_control.laws.rigid_team import structure_allocation
from rotor_control.team_laws import structure
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import load_scenario, load_trajectory
from rotor_core.plans.plan import hold
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


def test_sums_only_shrink_while_thrust_is_limited():
    """(C.50): far below its goal at the limits nothing adds up, near it everything does; a reset forgets the hold."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    scenario = scenario.changed("controller.integral_per_s3", [0.0, 0.0, 2.5])
    controller, states = make_controller(scenario), initial_states(scenario)
    law, places = controller.laws[0], states[-1, :3]
    near, far = (hold(places + [0.0, 0.0, up]) for up in (0.01, 5.0))
    for _ in range(10):
        controller(states, near.at(0.0))
    grown = law.memory.copy()
    assert grown[2] == pytest.approx(10 * 0.01 * scenario.time.control_s)
    controller(states, far.at(0.0))  # the first that is limited has added its own error
    once = law.memory.copy()
    assert controller.limited and once[2] > grown[2]
    for _ in range(10):
        controller(states, far.at(0.0))
    np.testing.assert_array_equal(law.memory, once)
    controller(states, hold(places - [0.0, 0.0, 0.01]).at(0.0))  # back at once
    assert law.memory[2] < once[2] and not controller.limited
    below = law.memory.copy()
    controller(states, near.at(0.0))
    assert law.memory[2] > below[2]
    controller(states, far.at(0.0))
    controller.reset()
    controller(states, near.at(0.0))
    assert law.memory[2] == pytest.approx(0.01 * scenario.time.control_s)


def test_a_helicopter_that_stood_begins_alone_without_its_old_sums():
    """What its own law summed up is forgotten while its motors are off, and when it flies with its load again."""
    scenario = load_scenario("helicopter_slung_load")
    controller, states = make_controller(scenario), initial_states(scenario)
    (row,), n = controller._single_rows, len(controller.teams)
    place = states[row, :3].copy()
    controller.follow(0, hold(states[-1, :3]), 0.0)

    def command(plan):
        controller.follow(n, plan, 0.0)
        return controller.decide(states, controller.references).copy()

    fresh = command(hold(place))
    for _ in range(50):
        command(hold(place + 1.0))
    assert np.abs(command(hold(place)) - fresh).max() > 1e-3
    command(hold(place, motors=False))
    np.testing.assert_array_equal(command(hold(place)), fresh)
    for _ in range(50):
        command(hold(place + 1.0))
    controller._alone[0] = None  # as where its team goes on
    np.testing.assert_array_equal(command(hold(place)), fresh)


def test_sums_grow_again_where_some_vehicles_are_flown_by_others():
    """Their states are NaN, and so were their commands, which differ from themselves."""
    scenario = load_scenario("three_dragonflies_decentralised").changed(
        "controller.integral_per_s3", [0.5, 0.5, 1.0]
    )
    controller, states = make_controller(scenario), initial_states(scenario)
    law, plan = controller.laws[0], hold(states[-1, :3].copy())
    states[1:3] = np.nan
    for speed in (-8.0, 0.0):
        moved = states.copy()
        moved[:, 2] -= 0.05
        moved[:, 9] += speed  # sinking so fast asks for more than the rotors give
        for _ in range(3):
            controller.follow(0, plan, 0.0)
            controller.decide(moved, controller.references)
        assert law.load[HELD] == (1.0 if speed else 0.0)


def test_the_controller_tells_whose_command_it_cuts():
    """Also where yaw that is granted takes the rotor off its limit again, which nobody sees in the command."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    controller = make_controller(scenario)
    controller.follow(0, hold(np.zeros(3)), 0.0)
    states = initial_states(scenario)
    rng, off_limits = np.random.default_rng(2), 0
    for _ in range(2000):
        moved = states.copy()
        moved[:3, 10:13] += rng.normal(scale=[8.0, 8.0, 40.0], size=(3, 3)) * rng.integers(
            0, 2, (3, 1)
        )
        before = controller.limits.asked[:, 3].copy()
        commands = controller.decide(moved, controller.references)
        np.testing.assert_array_equal(controller.cut, controller.limits.asked[:, 3] > before)
        seen = controller.limits.are_reached(commands[None])[0]
        off_limits += int(np.sum(controller.cut & ~seen))
    assert off_limits > 0
    controller.reset()
    assert not controller.cut.any()
