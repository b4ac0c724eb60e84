"""Reference: what a controller is asked to follow at one instant, with names."""

from __future__ import annotations

import numpy as np

from rotor_core.errors import ContractError
from rotor_core.rows import Row

reference = Row("reference", "A sampled reference: position to snap in W, attitude, yaw.")
POSITION = reference("m", "position", shape=(3,))
VELOCITY = reference("m/s", "velocity", shape=(3,))
ACCELERATION = reference("m/s^2", "acceleration", shape=(3,))
JERK = reference("m/s^3", "jerk", shape=(3,))
SNAP = reference("m/s^4", "snap", shape=(3,))
ATTITUDE = reference("", "attitude, body to world, w first", shape=(4,))
BODY_RATE = reference("rad/s", "body rate in body axes", shape=(3,))
ANGULAR_ACCELERATION = reference("rad/s^2", "angular acceleration in body axes", shape=(3,))
YAW_ANGLE = reference("rad", "yaw")
YAW_RATE = reference("rad/s", "yaw rate")
YAW_ACCELERATION = reference("rad/s^2", "yaw acceleration")
REFERENCE = reference.width

REFERENCE_VECTORS = {
    "position": POSITION,
    "velocity": VELOCITY,
    "acceleration": ACCELERATION,
    "jerk": JERK,
    "snap": SNAP,
    "angular_velocity": BODY_RATE,
    "angular_acceleration": ANGULAR_ACCELERATION,
}
"""First columns of the vectors of a reference, by their names in messages."""


class Reference:
    """Named parts of references: one instant, or a whole flight.

    Args:
        array: (..., 28); a row of NaN means that nothing is asked. The parts are views of it.

    Raises:
        ContractError: the last axis is another one.
    """

    def __init__(self, array: np.ndarray) -> None:
        array = np.asarray(array)
        if array.ndim < 1 or array.shape[-1] != REFERENCE:
            raise ContractError(
                f"reference: the last axis must be {REFERENCE} long, got the shape {array.shape}."
            )
        self.array = array
        """The numbers themselves."""

    def _part(self, first: int, size: int) -> np.ndarray:
        return self.array[..., first : first + size]

    @property
    def position(self) -> np.ndarray:
        """Position in W, (..., 3) m."""
        return self._part(POSITION, 3)

    @property
    def velocity(self) -> np.ndarray:
        """Velocity in W, (..., 3) m/s."""
        return self._part(VELOCITY, 3)

    @property
    def acceleration(self) -> np.ndarray:
        """Acceleration in W, (..., 3) m/s^2."""
        return self._part(ACCELERATION, 3)

    @property
    def jerk(self) -> np.ndarray:
        """Jerk in W, (..., 3) m/s^3."""
        return self._part(JERK, 3)

    @property
    def snap(self) -> np.ndarray:
        """Snap in W, (..., 3) m/s^4."""
        return self._part(SNAP, 3)

    @property
    def attitude(self) -> np.ndarray:
        """Attitude, body to world, (..., 4), w first."""
        return self._part(ATTITUDE, 4)

    @property
    def body_rate(self) -> np.ndarray:
        """Body rate in body axes, (..., 3) rad/s."""
        return self._part(BODY_RATE, 3)

    @property
    def angular_acceleration(self) -> np.ndarray:
        """Angular acceleration in body axes, (..., 3) rad/s^2."""
        return self._part(ANGULAR_ACCELERATION, 3)

    @property
    def yaw(self) -> np.ndarray:
        """Yaw, (...) rad."""
        return self.array[..., YAW_ANGLE]

    @property
    def yaw_rate(self) -> np.ndarray:
        """Yaw rate, (...) rad/s."""
        return self.array[..., YAW_RATE]

    @property
    def yaw_acceleration(self) -> np.ndarray:
        """Yaw acceleration, (...) rad/s^2."""
        return self.array[..., YAW_ACCELERATION]

    def __repr__(self) -> str:
        return f"Reference({self.array.shape})"
