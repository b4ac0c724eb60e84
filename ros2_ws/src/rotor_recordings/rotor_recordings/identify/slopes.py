"""Derivatives of predictions with what is identified, and with the first states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_core.errors import RotorError
from rotor_core.numbers.duals import DIRECTIONS
from rotor_core.numbers.packing import Packed
from rotor_flight.replayed import WRITTEN, Replayer, replay_duals, replay_world
from rotor_flight.sensitivities.settings import FORWARD, OtherSwitches, slopes_of
from rotor_recordings.identify.noise import CHANGES, moved
from rotor_recordings.identify.parameters import Parameter, applied
from rotor_recordings.identify.rollouts import LOST, all_lost, prediction_residuals
from rotor_recordings.identify.windows import Window, Windows

STEP = 1e-5
"""Of the differences with which parameters enter the begin of a window, over their scales: a millionth of the slope is
lost to curvature, and as much to the rounding of states that are put onto their cables."""


NEAR = 1e-6
"""The same of first states, m, rad, m/s or rad/s."""


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
    around = [Neighbour(windows.scenario, parameters, values, p) for p in range(len(parameters))]
    flier = _Flier(scenario, latency)
    return np.stack([flier.slopes(window, around) for window in windows.each()])


def start_slopes(windows: Windows, scenario: Scenario, latency: float) -> np.ndarray:
    """Derivative of the residuals with the changes of the first states, (W, POINTS, n_entities, 3, n_entities, 12).

    Of those that have noise; the others are zero. Where there are no exact ones, the difference that a change by the
    noise makes.
    """
    shape = (*all_lost(windows, scenario).shape, *windows.noise.shape)
    out = np.zeros(shape)
    unknown = np.argwhere(windows.noise)
    if not len(unknown):
        return out
    if has_slopes(scenario):
        flier, replayer = _Flier(scenario, latency), Replayer(scenario)
        around = [_OtherStart(replayer, latency, *at) for at in unknown]
        for w, window in enumerate(windows.each()):
            out[w][(..., *unknown.T)] = flier.slopes(window, around)
        return out
    here = prediction_residuals(windows, scenario, latency)
    for n, k in unknown:
        changes = windows.changes.copy()
        changes[:, n, k] += windows.noise[n, k]
        there = prediction_residuals(windows.begun_at(changes), scenario, latency)
        counts = (np.abs(here) < LOST) & (np.abs(there) < LOST)
        out[..., n, k] = np.where(counts, (there - here) / windows.noise[n, k], 0.0)
    return out


class _Flier:
    """Flies windows with derivatives.

    Args:
        scenario, latency: of the flight in the middle.
    """

    def __init__(self, scenario: Scenario, latency: float) -> None:
        self._replayer, self._spare = Replayer(scenario), Replayer(scenario)
        self._latency = latency

    def slopes(self, window: Window, around: Sequence[_Near]) -> np.ndarray:
        """Derivatives of the residuals of a window, (POINTS, n_entities, 3, len(around))."""
        out = np.zeros((*window.told.shape, len(around)))
        known: dict[bytes, tuple] = {}  # what changes no begin shares it
        try:
            middle = window.arguments(self._replayer, self._latency, known)
        except RotorError:
            return out  # lost, whatever the numbers
        slopes: dict[int, list[np.ndarray]] = {}
        for p, near in enumerate(around):
            with suppress(RotorError):  # a neighbour that is lost says nothing
                try:
                    slopes[p] = near.slopes(window, middle, known)
                except OtherSwitches:  # a cable that is just taut, drag where there was none
                    again = window.arguments(self._spare, self._latency, known)
                    out[..., p] = -near.difference(window, again, known)
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
            # what is lost is lost, whatever the numbers
            counts = np.isfinite(found) & (np.abs(flown[..., :1] - window.told[..., None]) < LOST)
            out[..., some] = np.where(counts, found, 0.0)
        return out


class _Near:
    """A flight that differs from one in a number, by a little.

    Args:
        replayer: of its plant.
        latency: s.
        step: by which it differs.
    """

    def __init__(self, replayer: Replayer, latency: float, step: float) -> None:
        self._replayer, self._latency, self._step = replayer, latency, step

    def _begun(self, window: Window) -> Window:
        """The window as this flight begins it."""
        return window

    def slopes(self, window: Window, middle: tuple, known: dict[bytes, tuple]) -> list[np.ndarray]:
        """Derivatives of the arguments of a window, in their order.

        Raises:
            OtherSwitches: it begins otherwise.
        """
        there = self._begun(window)

        def settings(_: float) -> tuple:
            return there.arguments(self._replayer, self._latency, known)

        return slopes_of(settings, middle, 0.0, self._step, FORWARD)

    def difference(self, window: Window, middle: tuple, known: dict[bytes, tuple]) -> np.ndarray:
        """Derivative of the predicted places of a window by flying both, (POINTS, n, 3) m per unit.

        Args:
            window: is flown.
            middle: arguments of the one in the middle; it is flown.
            known: as of :meth:`Replayer.begin`.
        """
        here = self._begun(window).arguments(self._replayer, self._latency, known)
        replay_world(*here)
        replay_world(*middle)
        return np.nan_to_num((here[-WRITTEN] - middle[-WRITTEN]) / self._step)


class Neighbour(_Near):
    """A plant that differs in a parameter.

    Args:
        scenario: without the parameters.
        parameters, values: all of them.
        p: which one differs.
    """

    def __init__(
        self, scenario: Scenario, parameters: list[Parameter], values: np.ndarray, p: int
    ) -> None:
        there, step = values.copy(), STEP * parameters[p].scale
        there[p] += step
        changed, latency = applied(scenario, parameters, there)
        super().__init__(Replayer(changed), latency, step)


class _OtherStart(_Near):
    """The same plant from a first state that differs in a number.

    Args:
        replayer: of the plant.
        latency: s.
        n, k: entity and number of the change.
    """

    def __init__(self, replayer: Replayer, latency: float, n: int, k: int) -> None:
        super().__init__(replayer, latency, NEAR)
        self._at = n, k

    def _begun(self, window: Window) -> Window:
        change = np.zeros((len(window.states), CHANGES))
        change[self._at] = NEAR
        return replace(window, states=moved(window.states, change))


def _batches(numbers: list[int]) -> Iterator[list[int]]:
    """As many as one run has directions."""
    for first in range(0, len(numbers), DIRECTIONS):
        yield numbers[first : first + DIRECTIONS]
