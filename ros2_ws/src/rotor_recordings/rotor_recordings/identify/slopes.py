"""Derivatives of predictions with what is identified."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.errors import RotorError
from rotor_core.numbers.duals import DIRECTIONS
from rotor_core.numbers.packing import Packed
from rotor_flight.replayed import WRITTEN, Replayer, replay_duals, replay_world
from rotor_flight.sensitivities.settings import FORWARD, OtherSwitches, slopes_of
from rotor_recordings.identify.parameters import Parameter, applied
from rotor_recordings.identify.rollouts import LOST, all_lost
from rotor_recordings.identify.windows import Window, Windows

STEP = 1e-5
"""Of the differences with which parameters enter the begin of a window, over their scales: a millionth of the slope is
lost to curvature, and as much to the rounding of states that are put onto their cables."""


def has_slopes(scenario: Scenario) -> bool:
    """True if :func:`prediction_slopes` knows the derivatives."""
    replayer = Replayer(scenario)
    return replayer.is_possible and not replayer.engine.system.solids


def prediction_slopes(
    windows: Windows, parameters: list[Parameter], values: np.ndarray
) -> np.ndarray:
    """Derivative of the residuals with each parameter, (W, POINTS, n_entities, 3, P); of what :func:`has_slopes`.

    Exact through all that happens in a window (docs/theory/sensitivities.md); how the parameters enter its begin is
    differenced.
    """
    scenario, latency = applied(windows.scenario, parameters, values)
    replayer, spare = Replayer(scenario), Replayer(scenario)
    around = [Neighbour(windows.scenario, parameters, values, p) for p in range(len(parameters))]
    out = np.zeros((*all_lost(windows, scenario).shape, len(parameters)))
    for w, window in enumerate(windows.each()):
        known: dict[bytes, tuple] = {}  # parameters that change no begin share it
        try:
            middle = window.arguments(replayer, latency, known)
        except RotorError:
            continue  # lost, whatever the parameters
        slopes: dict[int, list[np.ndarray]] = {}
        for p, neighbour in enumerate(around):
            with suppress(RotorError):  # a neighbour that is lost says nothing
                try:
                    slopes[p] = neighbour.slopes(window, middle, known)
                except OtherSwitches:  # a cable that is just taut, drag where there was none
                    again = window.arguments(spare, latency, known)
                    out[w, ..., p] = -neighbour.difference(window, again, known)
        for some in _batches(list(slopes)):
            packed = Packed(middle)
            for k, p in enumerate(some, start=1):
                for number, slope in zip(
                    packed.numbers[:-WRITTEN], slopes[p][:-WRITTEN], strict=True
                ):
                    number[..., k] = slope
            replay_duals(packed.tree)
            flown = packed.of(middle[-WRITTEN])
            found = -flown[..., 1 : 1 + len(some)]
            # what is lost is lost, whatever the parameters
            counts = np.isfinite(found) & (np.abs(flown[..., :1] - window.told[..., None]) < LOST)
            out[w][..., some] = np.where(counts, found, 0.0)
    return out


class Neighbour:
    """A plant that differs from one in a parameter, by a little.

    Args:
        scenario: without the parameters.
        parameters, values: all of them.
        p: which one differs.
    """

    def __init__(
        self, scenario: Scenario, parameters: list[Parameter], values: np.ndarray, p: int
    ) -> None:
        there, self._at = values.copy(), float(values[p])
        self._step = STEP * parameters[p].scale
        there[p] += self._step
        changed, self._latency = applied(scenario, parameters, there)
        self._replayer = Replayer(changed)

    def slopes(self, window: Window, middle: tuple, known: dict[bytes, tuple]) -> list[np.ndarray]:
        """Derivatives of the arguments of a window, in their order.

        Raises:
            OtherSwitches: it begins otherwise.
        """

        def settings(_: float) -> tuple:
            return window.arguments(self._replayer, self._latency, known)

        return slopes_of(settings, middle, self._at, self._step, FORWARD)

    def difference(self, window: Window, middle: tuple, known: dict[bytes, tuple]) -> np.ndarray:
        """Derivative of the predicted places of a window by flying both, (POINTS, n, 3) m per unit.

        Args:
            window: is flown.
            middle: arguments of the one in the middle; it is flown.
            known: as of :meth:`Replayer.begin`.
        """
        here = window.arguments(self._replayer, self._latency, known)
        replay_world(*here)
        replay_world(*middle)
        return np.nan_to_num((here[-WRITTEN] - middle[-WRITTEN]) / self._step)


def _batches(numbers: list[int]) -> Iterator[list[int]]:
    """As many as one run has directions."""
    for first in range(0, len(numbers), DIRECTIONS):
        yield numbers[first : first + DIRECTIONS]
