"""Flights of scenarios under given commands, differentiated backward; and for JAX and PyTorch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rotor
from rotor_core.config.air.wind import Wind
from rotor_core.errors import ConfigError, ContractError
from rotor_core.kernels.jit import COMPILED
from rotor_flight.sensitivities.commanded import CommandFunction

pytestmark = pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels")


def commands_of(flight, n):
    """Wrenches of a flight, held from sample to sample, (n, 4 vehicles)."""
    return flight.commands[:n].reshape(n, -1)


def check(function, commands, weights, places, told, relative=1e-6):
    """Derivatives with some commands against central differences at their best step."""
    for k, j in places:
        size = max(abs(commands[k, j]), 0.1)
        slopes = []
        for h in (1e-3, 1e-4, 1e-5):
            ends = []
            for sign in (1.0, -1.0):
                changed = commands.copy()
                changed[k, j] += sign * h * size
                ends.append(float(np.sum(function(changed).states * weights)))
            slopes.append((ends[0] - ends[1]) / (2.0 * h * size))
        most = max(np.abs(told.commands[:, j]).max(), 1e-6)  # a helicopter heeds no thrust
        assert min(abs(s - told.commands[k, j]) for s in slopes) < relative * most, (k, j)


def test_the_commands_of_a_flight_fly_it_again():
    """Without law, sensors and limits the world does what it did; from then on every command has a derivative."""
    function, flight, n = CommandFunction("slalom"), rotor.fly("slalom", duration=3.0), 600
    assert function.commands[:2] == ["quad1.thrust", "quad1.moment_x"]
    assert function.entities == ["quad1", "quad2", "quad3", "payload"] and function.period == 0.005
    commands = commands_of(flight, n)
    again = function(commands)
    payload = flight["payload"].position[: n + 1]
    np.testing.assert_allclose(again.states[:, 3, :3], payload, rtol=0, atol=1e-9)
    weights = np.zeros(again.states.shape)
    weights[-1, 3, :3] = 1.0, -2.0, 0.5
    told = again.gradient(weights)
    assert told.doubt is None and told.forward < 20
    check(function, commands, weights, [(0, 0), (123, 5), (580, 8)], told)


SCENARIOS = {
    "arm_slung_load": (5e-3, 1e-6),
    "winch_delivery": (5e-3, 1e-6),
    "helicopter_hover": (5e-3, 1e-5),
    "five_dragonflies_triangular_rigid": (5e-3, 1e-6),
}
"""Worlds with joints, winches, blades and rigid links: spreads of commands, and what differences
keep, relative: those of a helicopter cross the kinks of its section tables. (The helicopter
falls as a windmill, whose induced velocity is found by halving: its derivatives were wrong by a thousandth.)"""


@pytest.mark.parametrize("name", SCENARIOS)
def test_worlds_of_every_kind(name):
    """Commands at random about what holds the world: against central differences."""
    function = CommandFunction(name)
    engine, rng = function.flights.engine, np.random.default_rng(1)
    held = np.zeros(len(function.commands))
    n_inputs = len(engine.system.inputs)
    if n_inputs:
        weight = sum(body.mass for body in engine.system.bodies) * 9.81
        held[: 4 * n_inputs : 4] = weight / n_inputs
    if len(engine.system.rotors):
        held[4 * n_inputs :][: len(engine.system.rotors)] = engine.rotors.targets
    spread, keep = SCENARIOS[name]
    commands = held + spread * rng.normal(size=(30, len(held)))
    flight = function(commands)
    weights = np.zeros(flight.states.shape)
    weights[-1] = rng.normal(size=weights.shape[1:])
    told = flight.gradient(weights)
    assert told.doubt is None
    last = len(held) - 1
    check(function, commands, weights, [(1, 0), (17, last), (29, last // 2)], told, keep)


def test_a_cable_that_comes_to_lie_on_a_peg():
    """Nobody commands; against differences of the start. Turns around the peg are whole numbers, with their limits."""
    flights = CommandFunction("pendulum_on_peg").flights
    start, nothing = flights._start, np.zeros((150, 0))
    flight = flights.fly(nothing)
    weights = np.zeros(flight.states.shape)
    weights[-1, :, :3] = np.random.default_rng(3).normal(size=weights[-1, :, :3].shape)
    told = flight.gradient(weights)
    k = int(np.argmax(np.abs(told.start)))
    where, amounts = flights._start_seeds[k]
    slopes = []
    for h in (1e-4, 1e-5, 1e-6):
        ends = []
        for sign in (1.0, -1.0):
            floats = start.floats.copy()
            floats[where] += sign * h * amounts
            flights._start = start._replace(floats=floats)
            ends.append(float(np.sum(flights.fly(nothing).states * weights)))
        slopes.append((ends[0] - ends[1]) / (2.0 * h))
    assert min(abs(s - told.start[k]) for s in slopes) < 1e-6 * abs(told.start[k])


def test_a_load_on_the_ground_is_lifted_backward_too():
    """Compliant contact with friction that stays: what it was anchored to is handed on."""
    function = CommandFunction("lift_and_set_down")
    rng = np.random.default_rng(2)
    commands = np.tile([1.0, 0.0, 0.0, 0.0], (40, 3)) + 1e-3 * rng.normal(size=(40, 12))
    flight = function(commands)
    weights = np.zeros(flight.states.shape)
    weights[-1] = rng.normal(size=weights.shape[1:])
    check(function, commands, weights, [(2, 0), (21, 4)], flight.gradient(weights))


def test_steady_wind_blows_and_what_changes_is_refused():
    """The commands of a flight in steady wind fly it again; gusts, changes on the way and wakes would not be followed."""
    scenario = rotor.load_scenario("hexacopter_wind")
    ends = []
    for wind in (Wind(), Wind(steady_m_s=(3.0, 0.0, 0.0))):
        blown = replace(scenario, environment=replace(scenario.environment, wind=wind))
        function = CommandFunction(blown)
        targets = function.flights.engine.rotors.targets
        commands = np.zeros((40, len(function.commands)))
        commands[:, -len(targets) :] = targets
        ends.append(function(commands).states[-1, 0, 7])
    assert ends[1] > ends[0] + 1e-3
    for name, what in (
        ("tethered_quadrotor", "environment.wind other than steady_m_s"),
        ("pick_and_place", "changes"),
    ):
        with pytest.raises(ContractError, match=what):
            CommandFunction(name)


def test_what_does_not_exist_or_may_have_no_derivative_is_refused():
    with pytest.raises(ConfigError, match="no shipped scenario"):
        CommandFunction("no_such_thing")
    function = CommandFunction(
        "lift_and_set_down"
    )  # its payload comes to rest at once, which is doubted
    commands = np.zeros((4, 12))
    told = [
        np.ones(x.shape) for x in (function(commands).states, np.zeros((5, 3)), np.zeros((5, 0, 2)))
    ]
    with pytest.raises(ContractError, match="contact with friction begins"):
        function._pull_back(commands, tuple(told))


@pytest.fixture(scope="module")
def hovering():
    function = CommandFunction("three_dragonflies_triangular_1m")
    flight = rotor.fly("three_dragonflies_triangular_1m", duration=0.2)
    return function, commands_of(flight, 30)


def test_jax(hovering):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    function, commands = hovering
    flight = function.jax()

    def cost(x):
        states, tensions, joints = flight(x)
        return (
            jax.numpy.sum(states[-1, 3, :3] ** 2)
            + jax.numpy.sum(tensions[-1])
            + jax.numpy.sum(joints)
        )

    value = function(commands)
    weights = np.zeros(value.states.shape)
    weights[-1, 3, :3] = 2.0 * value.states[-1, 3, :3]
    pulls = np.zeros(value.tensions.shape)
    pulls[-1] = 1.0
    expected = value.gradient(weights, tensions=pulls).commands
    np.testing.assert_allclose(jax.grad(cost)(commands), expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(jax.jit(jax.grad(cost))(commands), expected, rtol=1e-10, atol=1e-13)


def test_torch(hovering):
    torch = pytest.importorskip("torch")
    function, commands = hovering
    x = torch.tensor(commands, requires_grad=True)
    states, _, _ = function.torch()(x)
    torch.sum(states[-1, 3, :3] ** 2).backward()
    value = function(commands)
    weights = np.zeros(value.states.shape)
    weights[-1, 3, :3] = 2.0 * value.states[-1, 3, :3]
    np.testing.assert_allclose(
        x.grad.numpy(), value.gradient(weights).commands, rtol=1e-10, atol=1e-13
    )
    with pytest.raises(RuntimeError, match="twice"):
        torch.autograd.functional.hessian(lambda c: function.torch()(c)[0].sum(), x)
