"""First derivatives of the motion about the present state, for controllers that predict.

Exact to rounding: the equations of the engine with dual numbers in the place of numbers
(:mod:`rotor_dynamics.sensitivities.propagation`). Errors of a state are those of the manifold: an attitude is
``q exp(theta)``, theta in body axes. Equation (D.13), docs/theory/hybrid_dynamics.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from rotor_core.errors import ContractError
from rotor_dynamics import memory
from rotor_dynamics.engine import Engine
from rotor_dynamics.sensitivities.coordinates import (
    ERRORS,
    OMEGA,
    THETA,
    Coordinates,
    P,
    V,
)
from rotor_dynamics.sensitivities.inputs import inputs_of
from rotor_dynamics.sensitivities.propagation import Doubt, Variations

__all__ = [
    "ERRORS",
    "OMEGA",
    "THETA",
    "Linearization",
    "P",
    "Transition",
    "V",
    "linearize",
    "linearize_steps",
]


@dataclass(frozen=True)
class Linearization:
    """``x' = A x + B u`` of errors about a motion, and tensions ``T + C x + D u``.

    Attributes:
        bodies: what moves as one: names of the members, joined by +; about the common centre of
            mass, axes of the first member.
        joints: that move freely; angle and rate of each follow the 12 errors of every body. What follows its
            command with a lag (rotor speeds, efforts) comes last.
        inputs: names, as of :class:`rotor_dynamics.sensitivities.inputs.Inputs`; wrenches come first.
        state, input: A (n, n) and B (n, n_inputs).
        tensions: of all cables, (n_cables,) N.
        tension_state, tension_input: C (n_cables, n) and D (n_cables, n_inputs).
    """

    bodies: list[str]
    joints: list[str]
    inputs: list[str]
    state: np.ndarray
    input: np.ndarray
    tensions: np.ndarray
    tension_state: np.ndarray
    tension_input: np.ndarray


@dataclass(frozen=True)
class Transition:
    """``x_end = A x + B u`` of errors over some steps, through every event on the way; u is held.

    Attributes:
        bodies, joints, inputs: as of :class:`Linearization`; induced velocities of discs follow the joints.
        state, input: A (n, n) and B (n, n_inputs).
        tension_state, tension_input: of the tensions at the end, (n_cables, n) and (n_cables, n_inputs).
        doubt: where the derivatives may not exist; None: nothing is known.
    """

    bodies: list[str]
    joints: list[str]
    inputs: list[str]
    state: np.ndarray
    input: np.ndarray
    tension_state: np.ndarray
    tension_input: np.ndarray
    doubt: Doubt | None


def linearize(engine: Engine) -> Linearization:
    """Derivatives about the present state and inputs, with the taut set as it is; the engine is left as it is.

    Raises:
        ContractError: rotors with blades, whose motion is periodic (use :func:`linearize_steps`), or rigid contact.
    """
    if engine.system.discs:
        raise ContractError(
            "linearize: rotors with blades turn, so that nothing about them stays; use linearize_steps over a "
            "revolution."
        )
    with lags_begun(engine):
        coordinates, inputs = Coordinates(engine), inputs_of(engine)
        engine.world.constraints[:, memory.TENSION] = 0.0
        varied = Variations(engine, [*coordinates.seeds(), *inputs.seeds])
    varied.accelerate()
    cables = slice(0, engine.n_cables)
    rates = varied.jacobian(coordinates.rates)
    pulls = varied.jacobian(lambda _, change: change.constraints[cables, memory.TENSION])
    tensions = varied.value.constraints[cables, memory.TENSION].copy()
    n = coordinates.n
    return Linearization(
        coordinates.bodies, coordinates.joints, inputs.names, rates[:, :n], rates[:, n:], tensions,
        pulls[:, :n], pulls[:, n:],
    )  # fmt: skip


def linearize_steps(engine: Engine, n_steps: int) -> Transition:
    """Derivatives of the state after ``n_steps`` fixed steps with the state and the inputs now.

    Raises:
        ContractError: fewer than one step, rigid contact, or no derivative.
        SolverError: the integration cannot go on.
    """
    if n_steps < 1:
        raise ContractError(f"linearize_steps: needs at least one step, got {n_steps}.")
    with lags_begun(engine):
        coordinates, inputs = Coordinates(engine), inputs_of(engine)
        varied = Variations(engine, [*coordinates.seeds(), *inputs.seeds])
    varied.run(n_steps)
    cables = slice(0, engine.n_cables)
    moved = varied.jacobian(coordinates.read)
    pulls = varied.jacobian(lambda _, change: change.constraints[cables, memory.TENSION_0])
    if not (np.isfinite(moved).all() and np.isfinite(pulls).all()):
        raise ContractError(
            "linearize_steps: there is no derivative: it is not finite, as that of a rotor with blades that stands in "
            "air at rest. Begin beside this state."
        )
    n = coordinates.n
    return Transition(
        coordinates.bodies, coordinates.joints, inputs.names, moved[:, :n], moved[:, n:],
        pulls[:, :n], pulls[:, n:], varied.doubt,
    )  # fmt: skip


@contextmanager
def lags_begun(engine: Engine) -> Iterator[None]:
    """Let what lags begin to fade now, so that commands and coordinates are independent; undone at the end."""
    ints, floats = engine.ints.copy(), engine.floats.copy()
    Coordinates(engine).begin_lags(engine.world)
    try:
        yield
    finally:
        engine.ints[:], engine.floats[:] = ints, floats
