"""Flights under given commands, without a law, as differentiable functions of all commands, for JAX and PyTorch.

A gradient costs a few flights however many commands there are: it is computed backward
(:mod:`rotor_dynamics.sensitivities.backward.adjoint`), through every event on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rotor_core.config.air.wind import Wind
from rotor_core.config.loader import scenario_of
from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError
from rotor_core.state import FULL_STATE
from rotor_dynamics.engine import Engine
from rotor_dynamics.sensitivities.backward.adjoint import AdjointFlight, AdjointFlights
from rotor_flight.sensitivities.functions import once
from rotor_sim.simulation import Simulation


def is_steady(wind: Wind) -> bool:
    """True if the air moves alike always and everywhere."""
    return wind == Wind(steady_m_s=wind.steady_m_s)


def plant_of(simulation: Simulation, who: str, *, tells_air: bool = False) -> dict[str, Any]:
    """Arguments of :class:`rotor_dynamics.sensitivities.backward.adjoint.AdjointFlights` for a simulation that begins.

    Args:
        simulation: at its start.
        who: says what is refused.
        tells_air: whether air that changes, alike everywhere, is commanded in every period.

    Raises:
        ContractError: air that changes otherwise, or changes on the way.
    """
    scenario, engine = simulation.scenario, simulation.engine
    wind = scenario.environment.wind
    moves_air = tells_air and wind.is_uniform and not is_steady(wind)
    for what, there in (
        ("changes", scenario.changes),
        ("environment.wind other than steady_m_s", not (is_steady(wind) or moves_air)),
        ("wakes, inflow or effects of ceilings", simulation.rotor_air is not None),
    ):
        if there:
            raise ContractError(
                f"{who}: {scenario.name!r} has {what}, which it does not follow. Leave it out of the scenario, or use "
                "rotor.sensitivities."
            )

    def prepare(other: Engine) -> None:
        other.world.inputs[:] = engine.world.inputs
        for drive in ("rotors", "joints", "swash", "winches"):
            getattr(other, drive).take_over(getattr(engine, drive))

    return {
        "system": engine.system, "states": engine.motion[:, FULL_STATE], "joints": engine.joints.states,
        "steps": max(1, round(scenario.time.control_s / engine.step_length)), "prepare": prepare,
        "wind": wind.steady_m_s, "step": engine.step_length, "integrator": engine.integrator,
        "tolerance": engine.tolerance, "moves_air": moves_air,
    }  # fmt: skip


class CommandFunction:
    """Flights of a scenario's world from its start, as a function of the commands of all periods.

    The world is that of the plant without its controller, its sensors and its limits of actuators: a command acts as
    the engine takes it. Motors of arms begin at rest. Steady wind blows; air that changes, and what a scenario changes
    on the way, are refused.

    Args:
        scenario: what flies, or the name or path of it.

    Attributes:
        commands: what the numbers of a command are, by name, as of
            :class:`~rotor_dynamics.sensitivities.backward.commands.Commands`.
        entities: names of what is told, in this order.
        period: for which a command is held, s.
        flights: those of the engine.

    Raises:
        ConfigError: there is no such scenario.
        ContractError: air that changes in time or place, or changes on the way, or another integrator than rkmk4, erk4m
            or cf4.
    """

    def __init__(self, scenario: Scenario | str | Path) -> None:
        simulation = Simulation(scenario_of(scenario))
        self.flights = AdjointFlights(**plant_of(simulation, "command function"))
        self.commands = self.flights.commands
        self.period = self.flights.steps * simulation.engine.step_length
        self.entities = [body.name for body in simulation.engine.system.bodies]

    def __call__(self, commands: np.ndarray) -> AdjointFlight:
        """The flight under commands (N, n_commands): states, tensions and joints at the ends of periods.

        Raises:
            ContractError: commands of the wrong shape, or not finite.
            SolverError: the integration cannot go on.
        """
        return self.flights.fly(commands)

    def _pull_back(self, commands: np.ndarray, told: tuple[np.ndarray, ...]) -> np.ndarray:
        """Derivative with the commands, from those with states, tensions and joints.

        Raises:
            ContractError: there may be no derivative.
        """
        states, tensions, joints = told
        found = self(commands).gradient(states, tensions=tensions, joints=joints)
        if found.doubt is not None:
            raise ContractError(
                f"command function: {found.doubt}, so that there may be no derivative."
            )
        return found.commands

    def jax(self) -> Callable[[Any], Any]:
        """The function for JAX: commands to (states, tensions, joints); ``jax.grad`` and ``jit`` work; needs JAX."""
        import jax
        import jax.numpy as jnp

        def told(commands: Any) -> tuple[np.ndarray, ...]:
            flight, kind = self(np.asarray(commands, float)), jnp.result_type(float)
            return tuple(x.astype(kind) for x in (flight.states, flight.tensions, flight.joints))

        def call(commands: Any) -> Any:
            kind, n = jnp.result_type(float), jnp.shape(commands)[0] + 1
            shapes = [(n, *shape) for shape in self.flights.shapes]
            like = tuple(jax.ShapeDtypeStruct(shape, kind) for shape in shapes)
            return jax.pure_callback(told, like, commands, vmap_method="sequential")

        flight: Any = jax.custom_vjp(call)

        def backward(commands: Any, slopes: Any) -> tuple[Any]:
            def host(commands: Any, *slopes: Any) -> np.ndarray:
                given = tuple(np.asarray(s, float) for s in slopes)
                return self._pull_back(np.asarray(commands, float), given).astype(kind)

            kind = jnp.result_type(float)
            like = jax.ShapeDtypeStruct(jnp.shape(commands), kind)
            return (jax.pure_callback(host, like, commands, *slopes, vmap_method="sequential"),)

        flight.defvjp(lambda commands: (call(commands), commands), backward)
        return flight

    def torch(self) -> Callable[[Any], Any]:
        """The function for PyTorch, on the CPU: commands to (states, tensions, joints); needs PyTorch."""
        import torch

        function = self

        class Flown(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, commands: Any) -> Any:
                ctx.save_for_backward(commands)
                flight = function(commands.detach().cpu().double().numpy())
                told = flight.states, flight.tensions, flight.joints
                return tuple(torch.as_tensor(x, dtype=commands.dtype) for x in told)

            @staticmethod
            def backward(ctx: Any, *slopes: Any) -> Any:
                (commands,) = ctx.saved_tensors
                given = tuple(s.detach().cpu().double().numpy() for s in slopes)
                found = function._pull_back(commands.detach().cpu().double().numpy(), given)
                return once(torch.as_tensor(found, dtype=commands.dtype), commands)

        return Flown.apply
