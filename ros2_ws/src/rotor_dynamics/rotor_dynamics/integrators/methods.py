"""Registry of integrators: what each can do, and its code in a world's header."""

from __future__ import annotations

from dataclasses import dataclass

from rotor_core._jit import constants, inlined
from rotor_core.errors import ContractError

EULER, ERK4M, RKMK4, CF4, SPLITTING, DOPRI5 = constants(*range(6))


@inlined
def is_adaptive(method):
    """True if a method chooses its own steps."""
    return method == DOPRI5


@dataclass(frozen=True)
class Method:
    """An integrator.

    Attributes:
        code: in the header of a world.
        order: of the global error in the step (of an adaptive one: of the solution it keeps).
        summary: one line for tables.
        source: where it comes from.
        adaptive: chooses its steps by a tolerance, and has dense output.
        symplectic: keeps energy errors bounded on long smooth runs.
    """

    code: int
    order: int
    summary: str
    source: str
    adaptive: bool = False
    symplectic: bool = False


METHODS = {
    "euler": Method(EULER, 1, "generalised forward Euler", "Fiori 2019, eqs 105 and 136 (fEulM)"),
    "erk4m": Method(
        ERK4M, 3, "RK4 with parallel transport", "Fiori 2019, eq 112 (eRK4M); of order 3 on SO(3)"
    ),
    "rkmk4": Method(RKMK4, 4, "Runge-Kutta-Munthe-Kaas", "Munthe-Kaas 1999; the default"),
    "cf4": Method(CF4, 4, "commutator-free", "Celledoni, Marthinsen and Owren 2003"),
    "splitting": Method(
        SPLITTING,
        2,
        "symplectic splitting with constraints",
        "Dullweber, Leimkuhler and McLachlan 1997; Andersen 1983 (RATTLE)",
        symplectic=True,
    ),
    "dopri5": Method(
        DOPRI5,
        5,
        "embedded pair 5(4) in the Lie algebra, dense output",
        "Dormand and Prince 1980; Munthe-Kaas 1999",
        adaptive=True,
    ),
}
"""All integrators by name."""


def method(name: str) -> Method:
    """The integrator called ``name``.

    Raises:
        ContractError: there is none of that name.
    """
    if name not in METHODS:
        raise ContractError(f"integrator {name!r}: there is none; known are {', '.join(METHODS)}.")
    return METHODS[name]
