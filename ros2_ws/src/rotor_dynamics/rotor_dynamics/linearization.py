"""First derivatives of the motion about the present state, for controllers that predict.

Accelerations and tensions by central differences of the compiled equations with the taut set as it
is; the rest in closed form. Errors of a state are those of the manifold: an attitude is
``q exp(theta)``, theta in body axes. Equation (D.13), docs/theory/hybrid_dynamics.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from transforms3d.quaternions import axangle2quat, qmult, quat2mat

from rotor_core.errors import ContractError
from rotor_dynamics import memory
from rotor_dynamics.constraints.unilateral import TAUT_ONLY, evaluate
from rotor_dynamics.engine import Engine

ERRORS = 12
"""Errors of one body: position in W, attitude and then velocity in W, body rate."""

P, THETA, V, OMEGA = 0, 3, 6, 9

DIFFERENCE = 1e-5
"""Half step of the differences: truncation 1e-10, rounding 1e-16 / 1e-5, relative to accelerations."""


@dataclass(frozen=True)
class Linearization:
    """``x' = A x + B u`` of errors about a motion, and tensions ``T + C x + D u``.

    Attributes:
        bodies: what moves as one: names of the members, joined by +; about the common centre of
            mass, axes of the first member.
        state, input: A (12 n, 12 n) and B (12 n, 4 n_inputs); inputs are thrust and moment.
        tensions: of all cables, (n_cables,) N.
        tension_state, tension_input: C (n_cables, 12 n) and D (n_cables, 4 n_inputs).
    """

    bodies: list[str]
    state: np.ndarray
    input: np.ndarray
    tensions: np.ndarray
    tension_state: np.ndarray
    tension_input: np.ndarray


def linearize(engine: Engine) -> Linearization:
    """Derivatives about the present state and inputs; the engine is left as it is.

    Raises:
        ContractError: the world has joints, or spinning rotors.
    """
    if engine.system.joints:
        raise ContractError("linearize: worlds with joints are not supported.")
    if engine.ints[memory.N_ROTORS]:
        raise ContractError(
            "linearize: with actuation: rotors the inputs are rotor speeds, which follow with a lag; "
            "use actuation: wrench."
        )
    ints, floats = engine.ints.copy(), engine.floats.copy()
    world = memory.world_of(ints, floats)
    ints[memory.SINUSOIDS] = 1  # inputs are read at every evaluation, not once per step
    n, n_inputs, n_cables = engine.topology.n_bodies, len(engine.system.inputs), engine.n_cables
    time = engine.time
    start = world.start[:n].copy()

    def outputs() -> np.ndarray:
        """Accelerations (n, 6) and tensions, in one row."""
        world.constraints[:, memory.TENSION] = 0.0
        evaluate(ints, floats, memory.START, memory.FIRST_SLOPE, time, TAUT_ONLY)
        slope = world.slopes[memory.FIRST_SLOPE, :n]
        both = [
            slope[:, memory.D_V : memory.D_V + 3],
            slope[:, memory.D_OMEGA : memory.D_OMEGA + 3],
        ]
        return np.append(np.hstack(both).ravel(), world.constraints[:n_cables, memory.TENSION])

    def move(b: int, column: int, h: float) -> None:
        world.start[:n] = start
        row = world.start[b]
        i = column % 3
        if column < THETA:
            row[memory.P + i] += h
        elif column < V:
            row[memory.Q : memory.Q + 4] = qmult(
                row[memory.Q : memory.Q + 4], axangle2quat(np.eye(3)[i], h)
            )
        elif column < OMEGA:
            row[memory.V + i] += h
        else:
            row[memory.OMEGA + i] += h

    h = DIFFERENCE
    state_slopes = np.zeros((6 * n + n_cables, n, ERRORS))
    for b in range(n):
        for column in range(ERRORS):
            move(b, column, h)
            ahead = outputs()
            move(b, column, -h)
            state_slopes[:, b, column] = (ahead - outputs()) / (2.0 * h)
    world.start[:n] = start
    input_slopes = np.zeros((6 * n + n_cables, n_inputs, 4))
    for k in range(n_inputs):
        for channel in range(4):
            world.inputs[k, memory.BIAS + channel] += h
            ahead = outputs()
            world.inputs[k, memory.BIAS + channel] -= 2.0 * h
            input_slopes[:, k, channel] = (ahead - outputs()) / (2.0 * h)
            world.inputs[k, memory.BIAS + channel] += h
    tensions = outputs()[6 * n :]
    A = np.zeros((n, ERRORS, n, ERRORS))
    B = np.zeros((n, ERRORS, n_inputs, 4))
    for b in range(n):
        A[b, P : P + 3, b, V : V + 3] = np.eye(3)
        A[b, THETA : THETA + 3, b, OMEGA : OMEGA + 3] = np.eye(3)
        A[b, THETA : THETA + 3, b, THETA : THETA + 3] = -_hat(
            start[b, memory.OMEGA : memory.OMEGA + 3]
        )
        A[b, V:] = state_slopes[6 * b : 6 * b + 6]
        B[b, V:] = input_slopes[6 * b : 6 * b + 6]
    turn = np.zeros((n, ERRORS, ERRORS))
    for b, group in zip(engine.topology.rows, engine.groups, strict=True):
        R = quat2mat(group.places[0].q).T  # from the axes of the group to those of its first member
        for column in range(0, ERRORS, 3):
            block = R if column in (THETA, OMEGA) else np.eye(3)
            turn[b, column : column + 3, column : column + 3] = block
    A = np.einsum("bij,bjck,clk->bicl", turn, A, turn)
    B = np.einsum("bij,bjkc->bikc", turn, B)
    C = np.einsum("kcj,clj->kcl", state_slopes[6 * n :], turn)
    names = [
        "+".join(engine.system.bodies[m].name for m in group.members) for group in engine.groups
    ]
    order = np.argsort(engine.topology.rows)
    return Linearization(
        [names[i] for i in order],
        A.reshape(n * ERRORS, n * ERRORS),
        B.reshape(n * ERRORS, n_inputs * 4),
        tensions,
        C.reshape(n_cables, n * ERRORS),
        input_slopes[6 * n :].reshape(n_cables, n_inputs * 4),
    )


def _hat(a: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
