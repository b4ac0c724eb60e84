"""Optimized flights flown again: in the simulator, with another plant, and along other plans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rotor.cli import main
from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError
from rotor_core.kernels.jit import COMPILED
from rotor_core.state import State
from rotor_flight.fly import fly
from rotor_flight.optimal.planned import PlannedFlight

pytestmark = pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels")

TOSS = """
schema: 1
description: The payload is somewhere else soon, with a slack cable on the way.
scenario: dragonfly_point_mass
rest_at: [0.0, 1.2, 0.3]
fastest: true
duration_s: 2.0
periods: 40
disturbed: {flights: 2}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of a solved task."""
    where = tmp_path_factory.mktemp("toss")
    (where / "toss.yaml").write_text(TOSS)
    assert main(["optimize", str(where / "toss.yaml"), "--out", str(where / "found")]) == 0
    return where / "found"


def test_it_is_flown_as_it_was_planned(folder):
    """By `./rotor fly`'s loop, in control periods that do not divide those of the plan, to millimetres; then it stays."""
    scenario = load_scenario(folder / "scenario.yaml")
    planned = PlannedFlight.read(str(folder / "solution.npz"))
    flight = fly(scenario, duration=planned.duration + 2.0)
    assert flight.verdict().kind not in ("lost", "crashed")
    own = State(flight.states[:, scenario.model.index("payload")]).position
    node = State(planned.states[:, scenario.model.index("payload")]).position
    rows = np.searchsorted(flight.time - flight.time[0], planned.time)
    assert np.linalg.norm(own[rows] - node, axis=1).max() < 0.02
    goal = np.array([0.0, 1.2, 0.3])
    assert np.linalg.norm(own[-1] - goal) < 2e-3
    assert np.linalg.norm(State(flight.states[-1]).velocity, axis=1).max() < 5e-3


def test_feedback_bears_another_plant(folder):
    """A payload 5 % heavier: 8 mm from its place at the end, and without the gains 109."""
    scenario = load_scenario(folder / "scenario.yaml")
    nominal = scenario.model.payloads[0].mass_kg
    scenario = scenario.changed("plant.payload.mass_kg", 1.05 * nominal)
    planned = PlannedFlight.read(str(folder / "solution.npz"))
    goal = State(planned.states[-1]).position[scenario.model.index("payload")]

    def miss(flown):
        flight = fly(flown, duration=planned.duration)
        return np.linalg.norm(
            State(flight.states[-1]).position[scenario.model.index("payload")] - goal
        )

    loose = folder / "loose.npz"
    with np.load(folder / "solution.npz") as arrays:
        np.savez(loose, **{**arrays, "gains": 0.0 * arrays["gains"]})
    without = replace(scenario, controller=replace(scenario.controller, path=str(loose)))
    assert miss(scenario) < 0.02 and miss(without) > 0.05


def test_other_plans_are_followed_by_the_regulator(folder):
    """Hover and a slow circle in the place of the plan: the thrusts of the file are not given."""
    scenario = load_scenario(folder / "scenario.yaml")
    for keys in ({"type": "hover"}, {"use": "circle_10s"}):
        other = scenario.changed("trajectory", keys)
        flight = fly(other, duration=3.0)
        assert np.abs(flight.position_error()).max() < 0.5
        if "type" in keys:
            assert np.abs(flight.position_error()).max() < 1e-3


def test_files_that_are_no_solutions_are_told(folder, tmp_path):
    """Missing, damaged, of another team, with arrays that do not fit: one sentence each, with the file."""
    scenario = load_scenario(folder / "scenario.yaml")

    def flown(path, of=scenario):
        return fly(
            replace(of, controller=replace(scenario.controller, path=str(path))), duration=0.1
        )

    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes((folder / "solution.npz").read_bytes()[:500])
    for path in (tmp_path / "missing.npz", damaged):
        with pytest.raises(ConfigError, match=rf"controller\.path: .*{path.name} is no solution"):
            flown(path)
    with np.load(folder / "solution.npz") as arrays:
        whole = dict(arrays)
    for name, change in (
        ("inputs", whole["inputs"][1:]),
        ("time", whole["time"][::-1]),
        ("gains", whole["gains"] * np.nan),
    ):
        np.savez(tmp_path / f"{name}.npz", **{**whole, name: change})
        with pytest.raises(ConfigError, match="do not fit each other"):
            flown(tmp_path / f"{name}.npz")
    with pytest.raises(ConfigError, match="made for another team"):
        flown(folder / "solution.npz", load_scenario("three_dragonflies_triangular_1m"))
    with pytest.raises(ConfigError, match="made for another team"):
        flown(folder / "solution.npz", load_scenario("three_dragonflies_triangular_rigid"))
    with pytest.raises(ConfigError, match="is not all"):
        flown(folder / "solution.npz", load_scenario("sixteen_dragonflies_four_boxes"))
    text = (folder / "scenario.yaml").read_text().replace("solution.npz", "gone.npz")
    (folder / "moved.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"moved\.yaml.*gone\.npz"):
        load_scenario(folder / "moved.yaml")
