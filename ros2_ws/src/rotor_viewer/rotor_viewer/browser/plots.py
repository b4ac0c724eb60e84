"""Plots of the page: quantities of all that flies over time, chosen from a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import viser
import viser.uplot

from rotor_core.config.schema import Scenario
from rotor_core.config.teams import teams
from rotor_core.state import State
from rotor_viewer.snapshots.snapshot import Snapshot

COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2")
NOTHING, ALL = "none", "all"

FIRST_ORDER = 1e6
"""Place of the plots on the page: below all controls."""

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


def _planned(scenario: Scenario) -> list[str]:
    return [team.entity for team in teams(scenario.model)]


def _entities(scenario: Scenario) -> list[str]:
    return [e.name for e in scenario.model.entities]


def _vehicles(scenario: Scenario) -> list[str]:
    return [v.name for v in scenario.model.vehicles]


def _joints(scenario: Scenario) -> list[str]:
    return [f"{v.name}/{j.name}" for v in scenario.model.vehicles for j in v.moving_joints]


def _states(pictures: Sequence[Snapshot]) -> State:
    return State(np.array([p.states for p in pictures]))


def _error(scenario: Scenario, pictures: Sequence[Snapshot]) -> np.ndarray:
    rows = [scenario.model.index(name) for name in _planned(scenario)]
    goals = np.array([p.goals for p in pictures])
    return 1e3 * np.linalg.norm(goals - _states(pictures).position[:, rows], axis=2)


def _tilt(scenario: Scenario, pictures: Sequence[Snapshot]) -> np.ndarray:
    q = _states(pictures).attitude[:, : len(scenario.model.vehicles)]
    up = np.clip(1.0 - 2.0 * (q[:, :, 1] ** 2 + q[:, :, 2] ** 2), -1.0, 1.0)
    return np.degrees(np.arccos(up))


QUANTITIES: dict[str, Quantity] = {
    "error": Quantity("mm", 1.0, _planned, _error),
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


class Plots:
    """Two plots below the controls, each of one quantity of all or one.

    Args:
        gui: of the page.
        scenario: what flies.
    """

    def __init__(self, gui: Any, scenario: Scenario) -> None:
        self._gui, self._scenario = gui, scenario
        self._choices = [name for name, q in QUANTITIES.items() if q.names(scenario)]
        first = [*self._choices, NOTHING, NOTHING][:2] if self._choices else []
        self._slots = [self._slot(name, FIRST_ORDER + 10 * i) for i, name in enumerate(first)]

    def _slot(self, first: str, order: float) -> dict[str, Any]:
        """A plot and lists to choose from; made anew when something else is chosen."""
        slot: dict[str, Any] = {"order": order}
        slot["what"] = self._gui.add_dropdown(
            "plot", (*self._choices, NOTHING), initial_value=first, order=order
        )
        slot["what"].on_update(lambda _: self._choose(slot))
        self._choose(slot)
        return slot

    def _choose(self, slot: dict[str, Any]) -> None:
        """Another quantity: of all that has it."""
        for key in ("plot", "who"):
            if key in slot:
                slot.pop(key).remove()
        if slot["what"].value == NOTHING:
            return
        names = QUANTITIES[slot["what"].value].names(self._scenario)
        slot["who"] = self._gui.add_dropdown(
            "of", (ALL, *names), initial_value=ALL, order=slot["order"] + 1, visible=len(names) > 1
        )
        slot["who"].on_update(lambda _: self._draw(slot))
        self._draw(slot)

    def _draw(self, slot: dict[str, Any]) -> None:
        """An empty plot of the chosen lines."""
        if "plot" in slot:
            slot.pop("plot").remove()
        name, who = slot["what"].value, slot["who"].value
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
        slot["plot"] = self._gui.add_uplot(
            (empty, *([empty] * len(names))), series, title=f"{name}, {QUANTITIES[name].unit}",
            scales={"x": viser.uplot.Scale(time=False), "y": viser.uplot.Scale(auto=True)},
            legend=viser.uplot.Legend(show=True), aspect=1.8, order=slot["order"] + 2,
        )  # fmt: skip

    def update(self, pictures: Sequence[Snapshot], begin: float, end: float) -> None:
        """Draw pictures in the order of time, on an axis from ``begin`` to ``end``, s."""
        if len(pictures) < 2:
            return
        pictures = pictures[:: max(1, len(pictures) // MOST_POINTS)]
        times = np.array([p.time for p in pictures])
        for slot in self._slots:
            if "plot" not in slot:
                continue
            quantity = QUANTITIES[slot["what"].value]
            values = np.nan_to_num(quantity.values(self._scenario, pictures))
            if slot["who"].value != ALL:
                names = quantity.names(self._scenario)
                values = values[:, [names.index(slot["who"].value)]]
            slot["plot"].scales = {
                "x": viser.uplot.Scale(
                    time=False, auto=False, range=(begin, max(end, begin + 1.0))
                ),
                "y": viser.uplot.Scale(auto=False, range=limits(values, quantity.span)),
            }
            slot["plot"].data = (times, *values.T)


def limits(values: np.ndarray, span: float) -> tuple[float, float]:
    """Range of an axis: a little more than the values, and at least ``span``."""
    low, high = float(values.min()), float(values.max())
    middle, width = 0.5 * (low + high), max(1.1 * (high - low), span)
    bottom = middle - 0.5 * width
    if low >= 0.0 and bottom < 0.0:  # what is not negative has an axis that is not
        bottom = 0.0
    return bottom, bottom + width
