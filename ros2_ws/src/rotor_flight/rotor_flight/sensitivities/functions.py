"""Flights as differentiable functions of numbers of their scenario, for JAX and PyTorch.

Both call the engine for values and Jacobian; their graphs see one operation with a rule of its own. Gradients of what
comes after, in either library, run through the flight and every event on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rotor_core.config.loader import scenario_of
from rotor_core.config.parameters import Variations
from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError
from rotor_flight.flight import Flight
from rotor_flight.fly import flight_duration
from rotor_flight.sensitivities.flights import Sensitivities, checked_places, sensitivities


def once(gradient: Any, values: Any) -> Any:
    """A gradient of PyTorch that cannot be differentiated again.

    ``once_differentiable`` refuses where what comes from behind has a derivative; where it is constant, second
    derivatives were zero.

    Args:
        gradient: a tensor.
        values: by which it is one.
    """
    import torch

    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, gradient: Any, values: Any) -> Any:
            return gradient.clone()

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            raise RuntimeError("flight function: cannot be differentiated twice.")

    return Once.apply(gradient, values)


class FlightFunction:
    """Part of a flight as a function of numbers of its scenario.

    Args:
        scenario: what flies, or the name or path of it.
        parameters: places of numbers, as of :meth:`Scenario.changed`, each once.
        read: array of a flight, of any shape, that depends smoothly on its arrays.
        duration: s; default the trajectory and the ``settle_s`` of the scenario as it is. It stays, whatever is varied.

    Attributes:
        start: the numbers as the scenario has them, (n_parameters,).
        shape: of what is read.

    Raises:
        ConfigError: there is no such scenario, place, or number.
        ContractError: parameters that are no list of different places, or what is read has no derivative.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path,
        parameters: Sequence[str],
        read: Callable[[Flight], Any],
        duration: float | None = None,
    ) -> None:
        scenario = scenario_of(scenario)
        self.parameters, self._read = checked_places(parameters), read
        twice = {p for p in self.parameters if self.parameters.count(p) > 1}
        if twice:
            raise ContractError(
                f"flight function: every parameter once, got {sorted(twice)} more often. Leave out the others."
            )
        self._variations = Variations(scenario, list(self.parameters))
        self._duration = flight_duration(scenario) if duration is None else duration
        self.start = np.array([self._variations.value(p) for p in self.parameters])
        self._last: tuple[bytes, np.ndarray, np.ndarray] | None = None
        self.shape = self(self.start).shape

    def _fly(self, values: np.ndarray) -> Sensitivities:
        numbers = zip(self.parameters, map(float, values), strict=True)
        scenario = self._variations.together(dict(numbers))
        return sensitivities(scenario, self.parameters, self._duration)

    def value_and_jacobian(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value of what is read, and its derivative, (..., n_parameters); the last ones are remembered.

        Raises:
            ConfigError: a value that the scenario refuses.
            ContractError: there is no derivative.
            SolverError: the integration cannot go on.
        """
        values = np.asarray(values)
        self._check_shape(values.shape)
        if np.iscomplexobj(values):
            raise ContractError("flight function: needs real numbers, got complex ones.")
        values = np.asarray(values, float)
        if self._last is None or self._last[0] != values.tobytes():
            found = self._fly(values)
            if found.doubt is not None:
                raise ContractError(
                    f"flight function: {found.doubt}, so that there may be no derivative."
                )
            value = self._numbers_in(self._read(found.flight))
            jacobian = np.moveaxis(found.jacobian(self._read), 0, -1)
            self._last = values.tobytes(), value, jacobian
        return self._last[1].copy(), self._last[2].copy()

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if shape != (len(self.parameters),):
            raise ContractError(
                f"flight function: needs {len(self.parameters)} numbers, got the shape {tuple(shape)}. For many at "
                "once: jax.vmap, or a loop."
            )

    @staticmethod
    def _numbers_in(value: Any) -> np.ndarray:
        try:
            return np.asarray(value, float)
        except (TypeError, ValueError) as error:
            raise ContractError(
                f"flight function: what is read must be a number or an array of them, got {type(value).__name__}."
            ) from error

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """What is read of the flight with these numbers."""
        return self.value_and_jacobian(values)[0]

    def jax(self) -> Callable[[Any], Any]:
        """The function for JAX: ``jax.grad``, ``jit``, ``vmap`` and forward mode work; needs JAX."""
        import jax
        import jax.numpy as jnp

        n = len(self.parameters)

        def call(values: Any) -> tuple[Any, Any]:
            self._check_shape(jnp.shape(values))
            kind = jnp.result_type(float)
            shapes = (
                jax.ShapeDtypeStruct(self.shape, kind),
                jax.ShapeDtypeStruct((*self.shape, n), kind),
            )

            def host(numbers: Any) -> tuple[np.ndarray, np.ndarray]:
                value, jacobian = self.value_and_jacobian(np.asarray(numbers, float))
                return value.astype(kind), jacobian.astype(kind)

            return jax.pure_callback(host, shapes, values, vmap_method="sequential")

        flight: Any = jax.custom_jvp(lambda values: call(values)[0])

        @flight.defjvp
        def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
            value, jacobian = call(primals[0])
            return value, jacobian @ tangents[0]

        return flight

    def torch(self) -> Callable[[Any], Any]:
        """The function for PyTorch, on the CPU: ``backward`` and ``gradcheck`` work; needs PyTorch.

        Takes floating-point tensors. Second derivatives are refused, as by JAX; ``torch.func`` is not supported.
        """
        import torch

        function = self

        class Flown(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, values: Any) -> Any:
                value, jacobian = function.value_and_jacobian(
                    values.detach().cpu().double().numpy()
                )
                ctx.save_for_backward(values, torch.as_tensor(jacobian, dtype=values.dtype))
                return torch.as_tensor(value, dtype=values.dtype)

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                values, jacobian = ctx.saved_tensors
                found = torch.tensordot(gradients[0], jacobian, dims=gradients[0].dim())
                return once(found, values)

        def flight(values: Any) -> Any:
            if not (isinstance(values, torch.Tensor) and values.dtype.is_floating_point):
                kind = getattr(values, "dtype", type(values).__name__)
                raise ContractError(
                    f"flight function: needs a tensor of floating-point numbers, got {kind}."
                )
            return Flown.apply(values)

        return flight
