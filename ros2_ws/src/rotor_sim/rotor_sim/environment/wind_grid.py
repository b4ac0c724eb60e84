"""Recorded or computed fields of wind: velocities on a grid, from a NumPy archive."""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
import scipy

from rotor_core.errors import ConfigError
from rotor_core.saved.arrays import read_arrays

AXES = ("x_m", "y_m", "z_m")
FIELD = "velocity_m_s"
REMEDY = "Write it by numpy.savez(file, x_m=, y_m=, z_m=, velocity_m_s=) and, of a field that changes, time_s=."


def _refusal(path: Path, what: str) -> ConfigError:
    return ConfigError(f"environment.wind.field_file: {path}: {what}")


def _arrays(path: Path, digest: str | None) -> dict[str, np.ndarray]:
    """Its arrays, all of numbers and of names that are known."""
    try:
        data = path.read_bytes()
        found = read_arrays(BytesIO(data))
    except (OSError, ValueError) as error:
        raise _refusal(
            path, f"cannot be read as an archive of NumPy ({error}). {REMEDY}"
        ) from error
    if digest is not None and digest != (now := sha256(data).hexdigest()):
        raise _refusal(
            path,
            f"is another file than the scenario was read with: its field_sha256 is {now[:12]}..., not {digest[:12]}... "
            "Restore it, or write the new field_sha256 (or none) to fly in another wind.",
        )
    known = ("time_s", *AXES, FIELD)
    for name, array in found.items():
        if name not in known:
            raise _refusal(path, f"{name}: unknown array. Known: {', '.join(known)}. {REMEDY}")
        if array.dtype.kind not in "fiu":  # times of NumPy would lose their unit
            raise _refusal(path, f"{name}: must be plain numbers, got {array.dtype}.")
    return {name: np.asarray(array, float) for name, array in found.items()}


class WindGrid:
    """Linear between the points of a grid in space and time; beyond its edges as at them.

    Args:
        file, digest: see :class:`rotor_core.config.air.wind.Wind`.

    Raises:
        ConfigError: it cannot be read, does not hold such a field, or is not the one that the scenario had.
    """

    def __init__(self, file: str, digest: str | None = None) -> None:
        path = Path(file)
        found = _arrays(path, digest)
        names = ("time_s", *AXES) if "time_s" in found else AXES
        missing = [name for name in (*names, FIELD) if name not in found]
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
        velocity = found[FIELD]
        if velocity.shape != shape:
            raise _refusal(
                path,
                f"{FIELD}: must be of the shape {shape} that {', '.join(names)} give, got {velocity.shape}.",
            )
        if len(bad := np.argwhere(~np.isfinite(velocity))):
            where = f"{bad[0].tolist()} of {len(bad)} such places"
            raise _refusal(path, f"{FIELD}: must be finite; it is not at {where}.")
        for k, axis in enumerate(axes):  # a single point says the same everywhere along its axis
            if len(axis) == 1:
                axes[k] = np.array([axis[0], axis[0] + 1.0])
                velocity = np.repeat(velocity, 2, axis=k)
        self._moves = "time_s" in names
        self._low, self._high = (np.array([axis[end] for axis in axes]) for end in (0, -1))
        self._between = scipy.interpolate.RegularGridInterpolator(axes, velocity, method="linear")

    def at(self, t: float, places: np.ndarray) -> np.ndarray:
        """Velocities at places (n, 3) m, t s from the start, (n, 3) m/s."""
        points = np.column_stack([np.full(len(places), t), places]) if self._moves else places
        return self._between(np.clip(points, self._low, self._high))
