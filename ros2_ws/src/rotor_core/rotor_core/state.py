"""State and acceleration of bodies, with names.

A state is 13 numbers in one row: position, attitude, velocity, body rate. A motion adds the two
accelerations. Rows of many bodies, or of one body over time, are arrays whose last axis is such a row;
:class:`State` names the parts of any of them without copying.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rotor_core.errors import ContractError, UnknownNameError
from rotor_core.rows import Row

state = Row("motion", "State and acceleration of a body; the first 13 columns are its state.")
P = state("m", "position in W", shape=(3,))
Q = state("", "attitude, body to world, w first", shape=(4,))
V = state("m/s", "velocity in W", shape=(3,))
OMEGA = state("rad/s", "body rate in body axes", shape=(3,))
STATE = state.width
A = state("m/s^2", "acceleration in W", shape=(3,))
ALPHA = state("rad/s^2", "angular acceleration in body axes", shape=(3,))
MOTION = state.width

FULL_STATE = slice(0, int(STATE))
"""Columns of a motion that are its state."""


SMALLEST_LENGTH = 1e-9
"""Blended quaternions are not divided by less: a reference that nobody has told is zero."""


class Pose:
    """Named position and attitude of rows that begin with a pose.

    Args:
        array: (..., 7), (..., 13) or (..., 19). The parts are views of it.

    Raises:
        ContractError: the last axis has another length.
    """

    WIDTHS = (int(V), int(STATE), int(MOTION))

    def __init__(self, array: np.ndarray) -> None:
        array = np.asarray(array)
        if array.ndim < 1 or array.shape[-1] not in self.WIDTHS:
            widths = ", ".join(map(str, self.WIDTHS))
            raise ContractError(
                f"{type(self).__name__.lower()}: the last axis must be {widths} long, got the shape {array.shape}."
            )
        self.array = array
        """The numbers themselves."""

    @property
    def position(self) -> np.ndarray:
        """Position in W, (..., 3) m."""
        return self.array[..., P : P + 3]

    @property
    def attitude(self) -> np.ndarray:
        """Attitude, body to world, (..., 4), w first."""
        return self.array[..., Q : Q + 4]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.array.shape})"


class State(Pose):
    """Named parts of states: one body or many, one instant or a whole flight.

    Args:
        array: (..., 13), or (..., 19) with accelerations. The parts are views of it.

    Raises:
        ContractError: the last axis is neither.
    """

    WIDTHS = (int(STATE), int(MOTION))

    @property
    def tilt(self) -> np.ndarray:
        """Angle between the body's z axis and the vertical, (...) rad."""
        q = self.attitude
        up = 1.0 - 2.0 * (q[..., 1] ** 2 + q[..., 2] ** 2)
        return np.arccos(np.clip(up, -1.0, 1.0))

    @property
    def velocity(self) -> np.ndarray:
        """Velocity in W, (..., 3) m/s."""
        return self.array[..., V : V + 3]

    @property
    def body_rate(self) -> np.ndarray:
        """Body rate in body axes, (..., 3) rad/s."""
        return self.array[..., OMEGA : OMEGA + 3]

    @property
    def acceleration(self) -> np.ndarray:
        """Acceleration in W, (..., 3) m/s^2.

        Raises:
            ContractError: the states hold no accelerations.
        """
        return self._motion[..., A : A + 3]

    @property
    def angular_acceleration(self) -> np.ndarray:
        """Angular acceleration in body axes, (..., 3) rad/s^2.

        Raises:
            ContractError: the states hold no accelerations.
        """
        return self._motion[..., ALPHA : ALPHA + 3]

    @property
    def _motion(self) -> np.ndarray:
        if self.array.shape[-1] != MOTION:
            raise ContractError("state: holds no accelerations; they were not recorded.")
        return self.array


def same_sign(attitudes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Attitudes (..., 4), each as the one of its two quaternions that is nearer to that of ``others``."""
    apart = (attitudes * others).sum(axis=-1, keepdims=True) < 0.0
    return np.where(apart, -attitudes, attitudes)


def continuous(attitudes: np.ndarray) -> np.ndarray:
    """Attitudes over time (N, ..., 4), each as the one of its two quaternions that is nearer to the one before."""
    apart = (attitudes[1:] * attitudes[:-1]).sum(axis=-1, keepdims=True) < 0.0
    out = attitudes.copy()
    out[1:] *= np.cumprod(np.where(apart, -1.0, 1.0), axis=0)
    return out


def blended(here: np.ndarray, there: np.ndarray, share: float, attitude: int = Q) -> np.ndarray:
    """Rows between two: along straight lines, attitudes the short way round and of unit length.

    Args:
        here, there: states (..., 13), or other rows with one attitude.
        share: of the way, 0 to 1.
        attitude: column at which its quaternion begins.
    """
    columns, end = slice(attitude, attitude + 4), there.copy()
    end[..., columns] = same_sign(there[..., columns], here[..., columns])
    out = here + share * (end - here)
    length = np.linalg.norm(out[..., columns], axis=-1, keepdims=True)
    out[..., columns] /= np.maximum(length, SMALLEST_LENGTH)
    return out


def rows_of(wanted: Sequence[str], names: Sequence[str], what: str) -> list[int]:
    """Places of the wanted names among all.

    Raises:
        UnknownNameError: one is missing; ``what`` it is missing in.
    """
    missing = [name for name in wanted if name not in names]
    if missing:
        raise UnknownNameError(
            f"{what}: {', '.join(map(repr, missing))} is missing; there are {', '.join(map(repr, names))}."
        )
    return [list(names).index(name) for name in wanted]


class States(State):
    """States of several bodies: ``states["payload"].position``; all of them: ``states.position``.

    Args:
        names: of the bodies, in the order of their rows.
        array: (..., n_bodies, 13 or 19).

    Raises:
        ContractError: the shape does not fit.
    """

    def __init__(self, names: Sequence[str], array: np.ndarray) -> None:
        super().__init__(array)
        array = self.array
        if array.ndim < 2 or array.shape[-2] != len(names):
            raise ContractError(
                f"states: {len(names)} bodies ({', '.join(names)}) do not fit the shape {array.shape}."
            )
        self.names = tuple(names)
        """Names of the bodies."""

    def __getitem__(self, name: str) -> State:
        if name not in self.names:
            raise UnknownNameError(f"there is no entity {name!r}; known: {', '.join(self.names)}")
        return State(self.array[..., self.names.index(name), :])

    def of(self, names: Sequence[str]) -> np.ndarray:
        """Rows of bodies in this order, (..., n, 13 or 19); those of others are left out.

        Raises:
            UnknownNameError: one is missing.
        """
        if tuple(names) == self.names:
            return self.array
        return self.array[..., rows_of(names, self.names, "states"), :]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
