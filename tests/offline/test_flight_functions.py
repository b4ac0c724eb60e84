"""Flights as functions for JAX and PyTorch: their own checks of gradients, through snaps."""

from __future__ import annotations

import numpy as np
import pytest

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ContractError
from rotor_core.kernels.jit import COMPILED
from rotor_flight.sensitivities.functions import FlightFunction

pytestmark = pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels")

PLACES = ("plant.payload.mass_kg", "controller.position_per_s2.z")


def read(flight):
    """Where the payload is at the end, and how it swings."""
    return np.concatenate([flight["payload"].position[-1], flight["payload"].velocity[-1]])


@pytest.fixture(scope="module")
def function():
    return FlightFunction(load_scenario("collision_triangular"), PLACES, read, 1.0)


def differences(function, step=1e-5):
    columns = []
    for e in np.eye(len(function.start)):
        h = step * function.start
        columns.append(
            (function(function.start + h * e) - function(function.start - h * e)) / (2.0 * h @ e)
        )
    return np.array(columns).T


def test_jacobian_against_differences(function):
    value, jacobian = function.value_and_jacobian(function.start)
    assert value.shape == function.shape == (6,) and jacobian.shape == (6, 2)
    np.testing.assert_allclose(
        jacobian, differences(function), rtol=0, atol=1e-6 * np.abs(jacobian).max()
    )
    before = value.copy()
    value[:] = jacobian[:] = 99.0  # what was handed out is the caller's
    np.testing.assert_array_equal(function(function.start), before)
    with pytest.raises(ContractError, match="needs 2 numbers"):
        function(np.zeros(3))


def test_what_one_parameter_implies_another_does_not_move():
    """Order does not matter, and derivatives are those of the function: the plant keeps the inertia it had beside y."""
    places = ("model.payloads.payload.inertia_kg_m2.y", "plant.payload.inertia_kg_m2.x")

    def rates(flight):
        return flight["payload"].body_rate[-1]

    found = []
    for order in (places, places[::-1]):
        function = FlightFunction(load_scenario("payload_rotation"), order, rates, 1.0)
        jacobian = function.value_and_jacobian(function.start)[1]
        np.testing.assert_allclose(
            jacobian, differences(function), rtol=0, atol=1e-5 * np.abs(jacobian).max()
        )
        found.append(jacobian)
    np.testing.assert_allclose(found[0], found[1][:, ::-1], rtol=0, atol=1e-12)


def test_jax(function):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    flight = function.jax()
    _, jacobian = function.value_and_jacobian(function.start)

    def cost(x):
        return jax.numpy.sum(jax.numpy.sin(flight(2.0 * x)) ** 2)

    x = function.start / 2.0
    value = function(function.start)
    true = 2.0 * (np.sin(2.0 * value) @ jacobian)
    np.testing.assert_allclose(jax.grad(cost)(x), true, rtol=1e-10)
    np.testing.assert_allclose(jax.jit(jax.grad(cost))(x), true, rtol=1e-10)
    np.testing.assert_allclose(jax.jacfwd(flight)(function.start), jacobian, rtol=1e-12)
    np.testing.assert_allclose(
        jax.vmap(flight)(np.stack([function.start] * 2))[1], value, rtol=1e-12
    )


def test_torch(function):
    torch = pytest.importorskip("torch")
    flight = function.torch()
    x = torch.tensor(function.start, dtype=torch.float64, requires_grad=True)
    torch.sum(torch.sin(flight(x)) ** 2).backward()
    value, jacobian = function.value_and_jacobian(function.start)
    np.testing.assert_allclose(x.grad.numpy(), np.sin(2.0 * value) @ jacobian, rtol=1e-10)
    assert torch.autograd.gradcheck(flight, (x,), eps=1e-6, atol=1e-4, rtol=1e-4)
    with pytest.raises(RuntimeError, match="twice"):  # no second derivatives, and no zeros either
        torch.autograd.functional.hessian(lambda v: flight(v).sum(), x)


def test_the_length_of_the_flight_stays():
    """A parameter that would make the flight longer: value and Jacobian are those of one function."""
    place = "trajectory.ramp_rad_s2"
    function = FlightFunction(
        "dragonfly_point_mass", [place], lambda flight: np.mean(flight.position_error() ** 2)
    )
    _, jacobian = function.value_and_jacobian(function.start)
    assert jacobian[0] == pytest.approx(differences(function, 1e-4)[0], rel=1e-5)


@pytest.mark.parametrize(
    ("parameters", "read", "words"),
    [
        (PLACES[0], read, "must be a list of places"),
        ([], read, "must be a list of places"),
        ([PLACES[0], PLACES[0]], read, "every parameter once"),
        (PLACES, lambda flight: {}, "what is read must be a number or an array"),
    ],
)
def test_what_is_no_function_is_refused(parameters, read, words):
    with pytest.raises(ContractError, match=words):
        FlightFunction("collision_triangular", parameters, read, 0.2)


def test_numbers_of_another_kind_are_refused(function):
    with pytest.raises(ContractError, match="real numbers"):
        function(function.start + 1j)
    torch = pytest.importorskip("torch")
    flight = function.torch()
    for wrong in (torch.tensor([1, 7]), [0.2, 7.0], function.start):
        with pytest.raises(ContractError, match="floating-point numbers"):
            flight(wrong)
    low = flight(torch.tensor(function.start, dtype=torch.bfloat16))
    assert low.dtype is torch.bfloat16


def test_another_shape_is_refused_while_jax_traces(function):
    jax = pytest.importorskip("jax")
    flight = function.jax()
    for wrong in (np.zeros(3), np.zeros((3, 2)), 1.0):
        with pytest.raises(ContractError, match=r"needs 2 numbers.*jax\.vmap"):
            jax.jit(flight)(wrong)
