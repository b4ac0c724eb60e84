"""Pages with plots over time that move together: one HTML file that asks no other host."""

from __future__ import annotations

import jinja2
import numpy as np
from bokeh.embed import components
from bokeh.layouts import column
from bokeh.models import BoxAnnotation, CrosshairTool, Range1d, Span
from bokeh.palettes import Category10
from bokeh.plotting import figure
from bokeh.resources import Resources

RESOURCES = Resources(mode="inline", components=["bokeh"])
"""All in the file."""

PAGE = jinja2.Template(
    """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{ title }}</title>{{ bokeh | safe }}
<style>body { font: 15px system-ui, sans-serif; max-width: 1100px; margin: 2em auto; padding: 0 1em; }
td, th { padding: 0.15em 1.5em 0.15em 0; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
.good { color: #1a7f37; } .bad { color: #c62828; } summary { cursor: pointer; margin: 1em 0; }</style></head>
<body><h1>{{ title }}</h1>
{% if verdict %}<p class="{{ 'good' if good else 'bad' }}"><b>{{ verdict }}</b></p>{% endif %}
{% if text %}<p>{{ text }}</p>{% endif %}
<table>{% for name, value in rows %}<tr><td>{{ name }}</td><td>{{ value }}</td></tr>{% endfor %}</table>
{% if events %}<details><summary>{{ events | length }} events</summary>
<table>{% for time, kind, who in events %}<tr><td>{{ time }}</td><td>{{ kind }}</td><td>{{ who }}</td></tr>
{% endfor %}</table></details>{% endif %}
<p>All plots over time move together; a click on a name in a legend hides its line.</p>
{{ plots | safe }}{{ script | safe }}</body></html>
""",
    autoescape=True,
)

COLOURS = Category10[10]
AXES = "xyz"
WIDTH, HEIGHT = 1000, 220


class LinkedPlots:
    """Plots over one range of time, with one crosshair; :meth:`page` makes the page of all of them.

    Args:
        begin, end: of the time axis, s.
    """

    def __init__(self, begin: float, end: float) -> None:
        self._range = Range1d(begin, end)
        self._line = Span(dimension="height", line_color="#999999")
        self._plots: list[figure] = []

    def over_time(self, title: str, unit: str) -> figure:
        """An empty plot over time."""
        plot = figure(
            title=title, width=WIDTH, height=HEIGHT, x_range=self._range, x_axis_label="s", y_axis_label=unit,
            tools="xpan,xwheel_zoom,xbox_zoom,reset,save,hover", active_drag="xbox_zoom", sizing_mode="stretch_width",
        )  # fmt: skip
        plot.add_tools(CrosshairTool(overlay=self._line))
        self._plots.append(plot)
        return plot

    def other(self, **options: object) -> figure:
        """An empty plot over something else; options as of ``bokeh.plotting.figure``."""
        plot = figure(width=WIDTH, sizing_mode="stretch_width", **options)
        self._plots.append(plot)
        return plot

    def page(self, **texts: object) -> str:
        """The page of all plots.

        Texts: ``title``; ``rows`` (what, value); maybe ``verdict`` and whether it is ``good``, ``text``, ``events``
        (time, type, who).
        """
        for plot in self._plots:
            if plot.legend:
                plot.legend.click_policy = "hide"
                plot.add_layout(plot.legend[0], "right")  # beside the curves, not over them
        script, division = components(column(*self._plots, sizing_mode="stretch_width"))
        return PAGE.render(bokeh=RESOURCES.render_js(), plots=division, script=script, **texts)


def add_axes(
    plot: figure, time: np.ndarray, values: np.ndarray, label: str, **style: object
) -> None:
    """Draw the three components of values, (N, 3), each in its colour; ``label`` with ``{}`` for the axis."""
    for i, axis in enumerate(AXES):
        plot.line(time, values[:, i], color=COLOURS[i], legend_label=label.format(axis), **style)


def shade(plot: figure, begin: float, end: float) -> None:
    """Shade a stretch of time in red."""
    plot.add_layout(BoxAnnotation(left=begin, right=end, fill_color="#c62828", fill_alpha=0.12))


def mark(plot: figure, time: float, colour: str) -> None:
    """Mark an instant."""
    plot.add_layout(Span(location=time, dimension="height", line_color=colour, line_width=1))
