"""Recorded or computed fields of wind: velocities on a grid, from a NumPy archive."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from rotor_core.errors import ConfigError
from rotor_core.saved.arrays import read_arrays

AXES = ("x_m", "y_m", "z_m")
REMEDY = "Write it by numpy.savez(file, x_m=, y_m=, z_m=, velocity_m_s=) and, of a field that changes, time_s=."


def _refusal(path: Path, what: str) -> ConfigError:
    return ConfigError(f"environment.wind.field_file: {path}: {what}")


class WindGrid:
    """Linear between the points of a grid in space and time; beyond its edges as at them.

    Args:
        file: see :class:`rotor_core.config.air.wind.Wind`.

    Raises:
        ConfigError: it cannot be read, or does not hold such a field.
    """

    def __init__(self, file: str) -> None:
        path = Path(file)
        try:
            found = {name: np.asarray(array, float) for name, array in read_arrays(path).items()}
        except (TypeError, ValueError) as error:
            raise _refusal(
                path, f"cannot be read as an archive of NumPy ({error}). {REMEDY}"
            ) from error
        names = ("time_s", *AXES) if "time_s" in found else AXES
        missing = [name for name in (*names, "velocity_m_s") if name not in found]
        if missing:
            raise _refusal(path, f"holds no {', '.join(missing)}. {REMEDY}")
        axes = [found[name] for name in names]
        for name, axis in zip(names, axes, strict=True):
            if (
                axis.ndim != 1
                or not len(axis)
                or not np.isfinite(axis).all()
                or (np.diff(axis) <= 0.0).any()
            ):
                raise _refusal(path, f"{name}: must be finite numbers that increase.")
        shape = (*(len(axis) for axis in axes), 3)
        velocity = found["velocity_m_s"]
        if velocity.shape != shape or not np.isfinite(velocity).all():
            raise _refusal(
                path,
                f"velocity_m_s: must be finite and of the shape {shape} that {', '.join(names)} give, got "
                f"{velocity.shape}.",
            )
        for k, axis in enumerate(axes):  # a single point says the same everywhere along its axis
            if len(axis) == 1:
                axes[k] = np.array([axis[0], axis[0] + 1.0])
                velocity = np.repeat(velocity, 2, axis=k)
        self._moves = "time_s" in names
        self._low, self._high = (np.array([axis[end] for axis in axes]) for end in (0, -1))
        self._between = RegularGridInterpolator(axes, velocity, method="linear")

    def at(self, t: float, places: np.ndarray) -> np.ndarray:
        """Velocities at places (n, 3) m, t s from the start, (n, 3) m/s."""
        points = np.column_stack([np.full(len(places), t), places]) if self._moves else places
        return self._between(np.clip(points, self._low, self._high))
