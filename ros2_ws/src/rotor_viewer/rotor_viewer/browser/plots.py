"""Plots of the page: quantities of all that flies over time, chosen from a list."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import viser
import viser.uplot

from rotor_core.config.schema import Scenario
from rotor_core.state import State
from rotor_viewer.browser import heard
from rotor_viewer.snapshots.snapshot import Snapshot
from rotor_viewer.snapshots.sources import planned_names

COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2")
NOTHING, ALL = "none", "all"

FIRST_ORDER = 1e6
"""Place of the plots on the page: below all controls."""

PADDING = (10, 10, 0, 0)
"""Pixels above, to the right, below and to the left: half of a number at the end of an axis."""

MOST_POINTS = 600
"""Points of a line."""


@dataclass(frozen=True)
class Quantity:
    """Something that can be plotted.

    Attributes:
        unit: of the values.
        span: smallest range that the axis shows, so that rest looks like rest.
        names: of the lines.
        values: from pictures of all times, (N, n_lines).
    """

    unit: str
    span: float
    names: Callable[[Scenario], list[str]]
    values: Callable[[Scenario, Sequence[Snapshot]], np.ndarray]


def _entities(scenario: Scenario) -> list[str]:
    return [e.name for e in scenario.model.entities]


def _vehicles(scenario: Scenario) -> list[str]:
    return [v.name for v in scenario.model.vehicles]


def _joints(scenario: Scenario) -> list[str]:
    return scenario.model.joint_names


def _states(pictures: Sequence[Snapshot]) -> State:
    return State(np.array([p.states for p in pictures]))


def _error(scenario: Scenario, pictures: Sequence[Snapshot]) -> np.ndarray:
    rows = [scenario.model.index(name) for name in planned_names(scenario)]
    goals = np.array([p.goals for p in pictures])
    return 1e3 * np.linalg.norm(goals - _states(pictures).position[:, rows], axis=2)


def _tilt(scenario: Scenario, pictures: Sequence[Snapshot]) -> np.ndarray:
    return np.degrees(_states(pictures).tilt[:, : len(scenario.model.vehicles)])


QUANTITIES: dict[str, Quantity] = {
    "error": Quantity("mm", 1.0, planned_names, _error),
    "tension": Quantity(
        "N", 0.1, lambda s: list(s.model.cable_names), lambda _, p: np.array([x.tensions for x in p])
    ),
    "height": Quantity("m", 0.1, _entities, lambda _, p: _states(p).position[:, :, 2]),
    "speed": Quantity(
        "m/s", 0.1, _entities, lambda _, p: np.linalg.norm(_states(p).velocity, axis=2)
    ),
    "tilt": Quantity("deg", 1.0, _vehicles, _tilt),
    "thrust": Quantity("N", 0.1, _vehicles, lambda _, p: np.array([x.thrusts for x in p])),
    "joint angle": Quantity(
        "rad or m", 0.1, _joints,
        lambda s, p: np.array([x.joints[: len(_joints(s)), 0] for x in p]).reshape(len(p), -1),
    ),
}  # fmt: skip
"""What can be plotted, by name."""


class _Slot:
    """A plot with the lists that say of what and of whom.

    Args:
        gui: of the page.
        scenario: what flies.
        choices: names of quantities.
        first: of them.
        order: place on the page.
    """

    def __init__(
        self, gui: Any, scenario: Scenario, choices: Sequence[str], first: str, order: float
    ) -> None:
        self._gui, self._scenario, self._order = gui, scenario, order
        self._who: Any = None
        self._plot: Any = None
        self._changing = threading.Lock()  # pages choose in threads of the server
        self._what = gui.add_dropdown("plot", (*choices, NOTHING), initial_value=first, order=order)
        self._what.on_update(lambda _: self._choose())
        self._choose()

    def _remove_plot(self) -> None:
        if self._plot is not None:
            self._plot.remove()
            self._plot = None

    def _choose(self) -> None:
        """Another quantity: of all that has it."""
        with self._changing:
            self._choose_now()

    def _choose_now(self) -> None:
        self._remove_plot()
        if self._who is not None:
            self._who.remove()
            self._who = None
        if heard.chosen(self._what) == NOTHING:
            return
        names = QUANTITIES[heard.chosen(self._what)].names(self._scenario)
        self._who = self._gui.add_dropdown(
            "of", (ALL, *names), initial_value=ALL, order=self._order + 1, visible=len(names) > 1
        )
        self._who.on_update(lambda _: self._redraw())
        self._draw()

    def _redraw(self) -> None:
        with self._changing:
            if self._who is not None:
                self._draw()

    def _draw(self) -> None:
        """An empty plot of the chosen lines."""
        self._remove_plot()
        name, who = heard.chosen(self._what), heard.chosen(self._who)
        every = QUANTITIES[name].names(self._scenario)
        names = every if who == ALL else [who]
        series = (
            viser.uplot.Series(label="s"),
            *(
                viser.uplot.Series(label=n, stroke=COLOURS[every.index(n) % 8], width=2)
                for n in names
            ),
        )
        empty = np.zeros(1)
        self._plot = self._gui.add_uplot(
            (empty, *([empty] * len(names))), series, title=f"{name}, {QUANTITIES[name].unit}",
            scales={"x": viser.uplot.Scale(time=False), "y": viser.uplot.Scale(auto=True)},
            legend=viser.uplot.Legend(show=True), aspect=1.8, padding=PADDING, order=self._order + 2,
        )  # fmt: skip

    def update(self, pictures: Sequence[Snapshot], begin: float, end: float) -> None:
        """Draw pictures, as :meth:`Plots.update`."""
        with self._changing:
            if self._plot is not None:
                self._show(pictures, begin, end)

    def _show(self, pictures: Sequence[Snapshot], begin: float, end: float) -> None:
        quantity = QUANTITIES[heard.chosen(self._what)]
        values = quantity.values(self._scenario, pictures)  # NaN: a gap
        who = heard.chosen(self._who)
        if who != ALL:
            values = values[:, [quantity.names(self._scenario).index(who)]]
        self._plot.scales = {
            "x": viser.uplot.Scale(time=False, auto=False, range=(begin, max(end, begin + 1.0))),
            "y": viser.uplot.Scale(auto=False, range=limits(np.nan_to_num(values), quantity.span)),
        }
        self._plot.data = (np.array([p.time for p in pictures]), *values.T)


class Plots:
    """Two plots below the controls, each of one quantity of all or one.

    Args:
        gui: of the page.
        scenario: what flies.
    """

    def __init__(self, gui: Any, scenario: Scenario) -> None:
        choices = [name for name, q in QUANTITIES.items() if q.names(scenario)]
        first = [*choices, NOTHING, NOTHING][:2] if choices else []
        self._slots = [
            _Slot(gui, scenario, choices, name, FIRST_ORDER + 10 * i)
            for i, name in enumerate(first)
        ]

    def update(self, pictures: Sequence[Snapshot], begin: float, end: float) -> None:
        """Draw pictures in the order of time, on an axis from ``begin`` to ``end``, s."""
        if len(pictures) < 2:
            return
        pictures = pictures[:: max(1, len(pictures) // MOST_POINTS)]
        for slot in self._slots:
            slot.update(pictures, begin, end)


def limits(values: np.ndarray, span: float) -> tuple[float, float]:
    """Range of an axis: a little more than the values, and at least ``span``."""
    low, high = float(values.min()), float(values.max())
    middle, width = 0.5 * (low + high), max(1.1 * (high - low), span)
    bottom = middle - 0.5 * width
    if low >= 0.0 and bottom < 0.0:  # what is not negative has an axis that is not
        bottom = 0.0
    return bottom, bottom + width
