"""Many teams in one world: each moves as if it were alone, and costs what it would cost alone."""

from dataclasses import replace

import numpy as np

from rotor_core.config.initial import initial_states
from rotor_core.config.loader import load_scenario
from rotor_sim.simulation import Simulation

TEAMS, EACH = 4, 4


def rows_of(names, team):
    """Rows of a team: its vehicles, then its payload."""
    vehicles = [f"quad{EACH * team + i + 1}" for i in range(EACH)]
    return [names.index(n) for n in (*vehicles, f"payload{team + 1}")]


def pulled(vehicles, rng):
    """Uneven thrusts that keep the cables taut and turn everything."""
    wrenches = np.zeros((vehicles, 4))
    wrenches[:, 0] = 4.0 + rng.uniform(-0.5, 0.5, vehicles)
    wrenches[:, 1:] = rng.uniform(-0.005, 0.005, (vehicles, 3))
    return wrenches


def test_teams_do_not_feel_each_other():
    """Sixteen cables at once against four teams of four alone.

    The same equations with zeros between; sums in another order: 1e-9 after half a second.
    """
    whole = load_scenario("sixteen_dragonflies_four_boxes")
    alone = load_scenario("four_dragonflies_box")
    wrenches = pulled(TEAMS * EACH, np.random.default_rng(0))
    world = Simulation(whole)
    for _ in range(100):
        world.step(wrenches)
    assert world.engine.taut.all()
    start = initial_states(whole)
    for team in range(TEAMS):
        rows = rows_of(world.names, team)
        single = Simulation(replace(alone, time=whole.time))
        single.reset(start[rows])
        for _ in range(100):
            single.step(wrenches[EACH * team : EACH * (team + 1)])
        np.testing.assert_allclose(world.motion[rows, :13], single.motion[:, :13], atol=1e-9)


def test_teams_that_fall_slack_and_snap_do_not_feel_each_other():
    """The load of one team is thrown up and caught: events of one, none of the others."""
    whole = load_scenario("sixteen_dragonflies_four_boxes")
    world, calm = Simulation(whole), Simulation(whole)
    hold = np.zeros((TEAMS * EACH, 4))
    hold[:, 0] = 4.0
    weight = 9.81 * whole.model.entities[world.names.index("payload1")].mass_kg
    for k in range(100):  # thrown up, and caught
        force = np.array([0.0, 0.0, 3.0 * weight if 5 < k < 20 else 0.0])
        world.push("payload1", force, np.zeros(3))
        world.step(hold)
        calm.step(hold)
    events = world.take_events()
    assert {"slack", "snap"} <= {e.type for e in events}
    assert {k for e in events for k in e.cables} <= set(range(EACH))
    others = [r for team in range(1, TEAMS) for r in rows_of(world.names, team)]
    np.testing.assert_allclose(world.motion[others, :13], calm.motion[others, :13], atol=1e-9)
