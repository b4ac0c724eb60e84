"""Command: thrust and moment of vehicles and efforts of joints, with names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rotor_core.errors import ContractError, UnknownNameError
from rotor_core.rows import Row
from rotor_core.state import rows_of

wrench = Row("wrench", "Thrust and moment of a vehicle.")
THRUST = wrench("N", "along body z")
MOMENT = wrench("N m", "in body axes", shape=(3,))
WRENCH = wrench.width

LARGEST_COMMAND = 1e9
"""Forces, moments and speeds beyond this do not belong to an aerial vehicle, N, N m, rad/s."""


class Wrench:
    """Thrust and moment: one vehicle or many, one instant or a whole flight.

    Args:
        thrust: along body z, (...) N.
        moment: in body axes, (..., 3) N m.

    Raises:
        ContractError: shapes that do not belong together.
    """

    def __init__(self, thrust: float | np.ndarray, moment: Sequence[float] | np.ndarray) -> None:
        thrust, moment = np.asarray(thrust, float), np.asarray(moment, float)
        if moment.shape != (*thrust.shape, 3):
            raise ContractError(
                f"wrench: a thrust of the shape {thrust.shape} needs a moment of the shape {(*thrust.shape, 3)}, got "
                f"{moment.shape}."
            )
        self.array = np.concatenate([thrust[..., None], moment], axis=-1)
        """The numbers themselves, (..., 4)."""

    @classmethod
    def of(cls, array: np.ndarray) -> Wrench:
        """View of rows (..., 4).

        Raises:
            ContractError: the last axis is another one.
        """
        array = np.asarray(array)
        if array.ndim < 1 or array.shape[-1] != WRENCH:
            raise ContractError(
                f"wrench: the last axis must be {WRENCH} long, got the shape {array.shape}."
            )
        out = cls.__new__(cls)
        out.array = array
        return out

    @property
    def thrust(self) -> np.ndarray:
        """Thrust along body z, (...) N."""
        return self.array[..., THRUST]

    @property
    def moment(self) -> np.ndarray:
        """Moment in body axes, (..., 3) N m."""
        return self.array[..., MOMENT:]

    def __repr__(self) -> str:
        return f"Wrench({self.array.shape})"


@dataclass(frozen=True)
class Command:
    """Wrenches of all vehicles and efforts of all joints: ``command["quad1"].thrust``.

    Attributes:
        names: of the vehicles, in the order of their rows.
        wrenches: (..., n_vehicles, 4) N and N m.
        efforts: of the joints, vehicle by vehicle, (..., n_joints) N m or N.
    """

    names: tuple[str, ...]
    wrenches: np.ndarray
    efforts: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        for name in ("wrenches", "efforts"):
            object.__setattr__(self, name, np.asarray(getattr(self, name)))
        if self.wrenches.ndim < 2 or self.wrenches.shape[-2:] != (len(self.names), int(WRENCH)):
            raise ContractError(
                f"command: {len(self.names)} vehicles ({', '.join(self.names)}) do not fit the shape "
                f"{self.wrenches.shape}."
            )

    def __getitem__(self, name: str) -> Wrench:
        if name not in self.names:
            raise UnknownNameError(f"there is no vehicle {name!r}; known: {', '.join(self.names)}")
        return Wrench.of(self.wrenches[..., self.names.index(name), :])

    def of(self, names: Sequence[str]) -> np.ndarray:
        """Wrenches of vehicles in this order, (..., n, 4).

        Raises:
            UnknownNameError: one is missing.
            ContractError: vehicles besides these, or efforts of joints, which are in the order of the vehicles.
        """
        if tuple(names) == self.names:
            return self.wrenches
        rows = rows_of(names, self.names, "command")
        if len(rows) < len(self.names):
            raise ContractError(
                f"command: is for {', '.join(self.names)}, but only {', '.join(names)} fly here."
            )
        if self.efforts.size:
            raise ContractError(
                f"command: efforts of joints are vehicle by vehicle, so the vehicles must be in the order "
                f"{', '.join(names)}, got {', '.join(self.names)}."
            )
        return self.wrenches[..., rows, :]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
