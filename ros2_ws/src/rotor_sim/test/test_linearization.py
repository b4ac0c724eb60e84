"""Derivatives about a motion: closed forms, the motion itself, and pendulums of known frequency."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm
from transforms3d.quaternions import quat2mat

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ContractError
from rotor_dynamics import memory
from rotor_dynamics.hybrid.impact import INPUT_CHANGED
from rotor_dynamics.sensitivities.coordinates import Coordinates, difference
from rotor_dynamics.sensitivities.inputs import inputs_of
from rotor_dynamics.sensitivities.linearization import (
    ERRORS,
    OMEGA,
    THETA,
    P,
    V,
    lags_begun,
    linearize,
    linearize_steps,
)
from rotor_flight.loop import ClosedLoop
from rotor_sim.simulation import Simulation
from validation.oracles import rotortm


def simulation(name, commands=None, seconds=0.0):
    scenario = load_scenario(name)
    out = Simulation(replace(scenario, actuation=replace(scenario.actuation, limits=False)))
    weights = sum(e.mass_kg for e in scenario.model.entities) * 9.81 / out.n_vehicles
    out.act(np.array([[weights, 0, 0, 0]] * out.n_vehicles) if commands is None else commands)
    for _ in range(round(seconds / scenario.time.control_s)):
        out.step()
    return out


def test_hanging_load_swings_at_its_frequency():
    """A held vehicle is not given: the load of a free one swings at sqrt((g / l) (1 + m_L / m)).

    Thrust stays along the body axis, which does not turn, so the pair is a double body pendulum.
    """
    found = linearize(simulation("dragonfly_point_mass").engine)
    assert found.bodies == ["quad1", "payload"]
    rates = np.linalg.eigvals(found.state)
    swinging = np.abs(rates.imag).max()
    assert swinging == pytest.approx(np.sqrt(9.81 / 0.5 * (1.0 + 0.07 / 0.25)), rel=1e-6)
    assert found.tensions[0] == pytest.approx(0.07 * 9.81, rel=1e-9)


def test_point_mass_against_the_closed_form():
    """Accelerations and tension of eqs 10, 11, differentiated by complex steps, in a swinging state."""
    commands = np.array([[3.4, 0.01, -0.02, 0.005]])
    world = simulation("dragonfly_point_mass", commands, 0.25)
    found = linearize(world.engine)
    m, m_L, l = 0.25, 0.07, 0.5
    quad, load = world.motion[0, :13], world.motion[1, :13]

    def accelerations(x, x_L, v, v_L, u):
        D = x_L - x
        d = np.sqrt((D * D).sum())
        xi = D / d
        # the engine's gap is the distance: its rate along the cable is no swing
        rate = (v_L - v) - xi * (xi * (v_L - v)).sum()
        omega2 = (rate * rate).sum() / d**2
        T = m_L * (m * d * omega2 - (xi * u).sum()) / (m + m_L)
        return np.concatenate([(u + T * xi) / m, -T * xi / m_L, [T]])

    R = quat2mat(quad[3:7])
    u = commands[0, 0] * R[:, 2]
    base = [quad[:3], load[:3], quad[7:10], load[7:10], u]
    direct = rotortm.point_mass_taut(
        m, m_L, l, (load[:3] - quad[:3]) / l, (load[7:10] - quad[7:10]) / l, u
    )
    np.testing.assert_allclose(accelerations(*base)[6], direct[2], rtol=1e-9)
    rows = [V, V + 1, V + 2, ERRORS + V, ERRORS + V + 1, ERRORS + V + 2]
    for which, column in ((0, P), (1, ERRORS + P), (2, V), (3, ERRORS + V)):
        for i in range(3):
            moved = [np.array(a, complex) for a in base]
            moved[which][i] += 1e-20j
            slope = accelerations(*moved).imag / 1e-20
            np.testing.assert_allclose(found.state[rows, column + i], slope[:6], atol=1e-6)
            np.testing.assert_allclose(found.tension_state[0, column + i], slope[6], atol=1e-6)
    for i in range(3):
        turned = np.zeros(3)
        turned[i] = 1.0
        moved = [np.array(a, complex) for a in base]
        moved[4] = moved[4] + 1e-20j * commands[0, 0] * R @ np.cross(turned, [0, 0, 1.0])
        slope = accelerations(*moved).imag / 1e-20
        np.testing.assert_allclose(found.state[rows, THETA + i], slope[:6], atol=1e-6)
    moved = [np.array(a, complex) for a in base]
    moved[4] = moved[4] + 1e-20j * R[:, 2]
    slope = accelerations(*moved).imag / 1e-20
    np.testing.assert_allclose(found.input[rows, 0], slope[:6], atol=1e-6)
    np.testing.assert_allclose(found.tension_input[0, 0], slope[6], atol=1e-6)


@pytest.mark.parametrize(
    "name", ["three_dragonflies_triangular_1m", "heterogeneous_triangular_rigid", "hover"]
)
def test_it_predicts_what_other_inputs_change(name):
    """x(t) of two runs with slightly different inputs: the difference obeys x' = A x + B u over 10 ms."""
    base = simulation(name, seconds=0.1)
    there, weight = base.motion[:, :13].copy(), base.applied.copy()
    found = linearize(base.engine)
    change = np.zeros_like(weight)
    change[:, 0], change[:, 1] = 1e-4, 2e-7
    runs = []
    for commands in (weight, weight + change):
        run = simulation(name, commands)
        run.engine.set_state(there, time=run.time)
        run.act(commands)
        run.engine.run(10)
        run.engine.update_kinematics()
        runs.append(run.motion.copy())
    T, n = 0.01, len(found.state)
    augmented = np.zeros((n + 1, n + 1))
    augmented[:n, :n], augmented[:n, n] = found.state, found.input @ change.ravel()
    predicted = expm(augmented * T)[:n, n]
    rates = (runs[1] - runs[0])[0, 10:13]  # of the first vehicle
    # a structure turns as its first member
    np.testing.assert_allclose(predicted[OMEGA : OMEGA + 3], rates, rtol=2e-2, atol=1e-9)
    if len(found.bodies) == len(base.names):
        speeds = (runs[1] - runs[0])[:, 7:10]
        for b in range(len(speeds)):
            own = predicted[b * ERRORS + V : b * ERRORS + V + 3]
            np.testing.assert_allclose(own, speeds[b], rtol=2e-2, atol=1e-10)


def test_the_world_is_left_alone_and_blades_are_refused():
    world = simulation("three_dragonflies_triangular_1m")
    before = (world.engine.ints.copy(), world.engine.floats.copy())
    linearize(world.engine)
    linearize_steps(world.engine, 3)
    np.testing.assert_array_equal(world.engine.ints, before[0])
    np.testing.assert_array_equal(world.engine.floats, before[1])
    with pytest.raises(ContractError, match="use linearize_steps"):
        linearize(Simulation(load_scenario("helicopter_hover")).engine)


def in_flight(name, periods=40):
    """Engine of a scenario that has flown under its law."""
    loop = ClosedLoop(load_scenario(name))
    for _ in range(periods):
        loop.period()
    return loop.simulation.engine


def by_differences(engine, end, read):
    """Best central differences of ``read`` of the memory that ``end`` leads to, by coordinate and input."""
    with lags_begun(engine):
        coordinates, inputs = Coordinates(engine), inputs_of(engine)
        seeds = [*coordinates.seeds(), *inputs.seeds]
        ints, floats = engine.ints.copy(), engine.floats.copy()

        def memory_after(start):
            engine.ints[:], engine.floats[:] = ints, start
            end(engine)
            return engine.floats.copy()

        value = memory.world_of(ints.copy(), memory_after(floats.copy()))
        tables = []
        for h in (1e-5, 1e-6, 1e-7, 1e-8):
            columns = []
            for where, slope in seeds:
                ahead, behind = floats.copy(), floats.copy()
                ahead[where] += h * slope
                behind[where] -= h * slope
                change = difference(memory_after(ahead), memory_after(behind)) / (2.0 * h)
                columns.append(read(coordinates, value, memory.world_of(ints.copy(), change)))
            tables.append(np.array(columns).T)
    return tables


def run_ten_steps(engine):
    engine.ints[memory.WHAT] = INPUT_CHANGED
    engine.run(0)
    engine.run(10)


def accelerate(engine):
    engine.ints[memory.WHAT] = INPUT_CHANGED
    engine.run(0)


MOTIONS = (
    "arm_coupled",
    "pick_and_place",
    "hexacopter_wind",
    "helicopter_hover",
    "lift_and_set_down",
    "winch_delivery",
)
"""An arm with motors that lag, rotors that lag, blades, contact with friction, a winch; no taut cable that forbids."""


@pytest.mark.parametrize("name", MOTIONS)
def test_ten_steps_against_differences(name):
    """To 1e-6 of the largest, where differences are at their best step for each column."""
    engine = in_flight(name)
    found = linearize_steps(engine, 10)
    tables = by_differences(engine, run_ten_steps, lambda c, value, change: c.read(value, change))
    told = np.hstack([found.state, found.input])
    misses = np.min([np.abs(table - told).max(axis=0) for table in tables], axis=0)
    assert misses.max() < 1e-6 * np.abs(told).max()
    assert (
        len(found.inputs) == found.input.shape[1] and found.state.shape[0] == found.state.shape[1]
    )


@pytest.mark.parametrize("name", ["arm_coupled", "hexacopter_wind"])
def test_joints_and_rotors_against_differences(name):
    engine = in_flight(name)
    found = linearize(engine)
    tables = by_differences(engine, accelerate, lambda c, value, change: c.rates(value, change))
    told = np.hstack([found.state, found.input])
    misses = np.min([np.abs(table - told).max(axis=0) for table in tables], axis=0)
    assert misses.max() < 1e-6 * np.abs(told).max()
    assert len(found.state) >= ERRORS * len(found.bodies) + 2 * len(found.joints)
