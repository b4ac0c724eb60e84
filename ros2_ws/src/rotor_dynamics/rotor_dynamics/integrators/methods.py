"""Integrators: description of one, and the table of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rotor_core.config.extensions import INTEGRATORS
from rotor_core.errors import ConfigError, ContractError


@dataclass(frozen=True)
class Method:
    """An integrator. Another package defines one in a module without forces: a step is made of what loads all forces.

    Attributes:
        step: compiled trial step ``step(ints, floats, t, h)``; see :func:`rotor_dynamics.integrators.trial.advance`.
        order: of the global error in the step (of an adaptive one: of the solution it keeps).
        summary: one line for tables.
        source: where it comes from.
        variant: number that the step reads in the header, where several integrators share it.
        adaptive: chooses its steps by a tolerance, and has dense output; only ``dopri5``, whose embedded error and
            interpolant the stepper knows.
        controlled: tells the error of its steps (:mod:`rotor_dynamics.integrators.audit`), so that fixed steps are
            cut where it is too large.
        symplectic: keeps energy errors bounded on long smooth runs.
        abreast: the same step of bodies that are moved abreast (:mod:`rotor_dynamics.motion.abreast`); only
            the default has one.
    """

    step: Callable[..., Any]
    order: int
    summary: str
    source: str
    variant: int = 0
    adaptive: bool = False
    controlled: bool = False
    symplectic: bool = False
    abreast: Callable[..., Any] | None = None


def method(name: str) -> tuple[int, Method]:
    """Number and description of the integrator called ``name``.

    Raises:
        ContractError: the name is unknown.
    """
    try:
        return list(INTEGRATORS).index(name), INTEGRATORS[name]
    except (ConfigError, ValueError):
        known = ", ".join(INTEGRATORS)
        raise ContractError(f"integrator: must be one of {known}, got {name!r}.") from None
