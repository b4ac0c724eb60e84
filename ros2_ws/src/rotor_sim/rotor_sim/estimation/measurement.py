"""States as controllers see them: motion capture, estimators on board, constant errors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.errors import ContractError
from rotor_core.given import numbers
from rotor_core.state import State
from rotor_sim.estimation.on_board import OnBoard
from rotor_sim.estimation.told_errors import ToldErrors
from rotor_sim.sensing.pose import PoseSensor


class Measurement:
    """Measured or estimated states of all entities: one sample per control period.

    Args:
        scenario: its ``sensing`` and ``plant`` say how.
        seed: of the random streams.

    Attributes:
        is_true: nothing stands between.
        pose_sensor: motion capture.
        on_board: estimators of the vehicles; None: measured states are those of controllers.
        errors: constant ones; None: there are none.
    """

    def __init__(self, scenario: Scenario, seed: int) -> None:
        sensing = scenario.sensing
        self._vehicles = [v.name for v in scenario.model.vehicles]
        names = [e.name for e in scenario.model.entities]
        self.pose_sensor = PoseSensor(sensing, scenario.time.control_s, seed, names)
        self.on_board = OnBoard(scenario, seed) if sensing.estimator else None
        self.errors = ToldErrors.of(scenario)
        self.is_true = sensing.is_ideal and self.errors is None
        self.void()

    def reset(self, begin: float) -> None:
        """Begin anew; ``begin``: when the scenario did, s."""
        self.void()
        self.pose_sensor.reset(begin)
        if self.on_board:
            self.on_board.reset()

    def void(self) -> None:
        """The sample of this time is void."""
        self._sampled_at, self._sample = float("nan"), np.zeros(0)

    def forget(self) -> None:
        """The state has jumped: what is on its way and what was estimated belong to another one."""
        self.void()
        self.pose_sensor.forget()
        if self.on_board:
            self.on_board.forget()

    def of(self, motion: np.ndarray, time: float) -> np.ndarray:
        """States (n, 19) of the true motion as seen at a time, s; a copy, the same if it is asked for again."""
        if self.is_true:
            return motion.copy()
        if self._sampled_at != time:
            self._sampled_at = time
            self._sample = self.pose_sensor.sense(motion, time)
            if self.on_board:
                self._sample = self.on_board.estimate(
                    time, motion, self._sample, self.pose_sensor.arrived
                )
            if self.errors:
                self._sample = self.errors.tell(self._sample)
        return self._sample.copy()

    def believe(self, attitudes: dict[str, np.ndarray], motion: np.ndarray) -> None:
        """Let estimators begin with these attitudes (4,), w first, and others with the truth.

        Raises:
            ContractError: vehicles have no estimators (``sensing.estimator``), or something else is named.
        """
        if not isinstance(attitudes, Mapping):
            raise ContractError(
                f"believe: attitudes must be named, {{vehicle: 4 numbers}}, got {type(attitudes).__name__}."
            )
        unknown = [name for name in attitudes if name not in self._vehicles]
        if self.on_board is None or unknown:
            raise ContractError(
                "believe: attitudes are of vehicles with an estimator (sensing.estimator)"
                + (f", got {', '.join(unknown)}." if unknown else ", which this scenario has not.")
            )
        first = State(motion[: len(self._vehicles)]).attitude.copy()
        for name, attitude in attitudes.items():
            first[self._vehicles.index(name)] = numbers(f"attitude of {name!r}", attitude, 4)
        self.on_board.believe(first)
        self.void()

    def take_over(
        self,
        other: Measurement,
        motion: np.ndarray,
        time: float,
        mine: list[int],
        theirs: list[int],
    ) -> None:
        """Go on as in another world of this time; rows of the entities of both, here and there."""
        self.pose_sensor.take_over(other.pose_sensor, motion, time, mine, theirs)
        if self.on_board and other.on_board:
            n = len(self._vehicles)
            flown = [(a, b) for a, b in zip(mine, theirs, strict=True) if a < n]
            rows = [list(column) for column in zip(*flown, strict=True)] or [[], []]
            self.on_board.take_over(other.on_board, motion, *rows)
        if not self.is_true and other._sampled_at == time:
            self._sampled_at, self._sample = time, motion.copy()
            self._sample[mine] = other._sample[theirs]
