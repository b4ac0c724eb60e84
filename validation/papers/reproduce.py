"""Run the reproduction of a paper, print it and write it down, as Markdown and as one HTML page."""

from __future__ import annotations

import importlib
from pathlib import Path

import matplotlib.pyplot as plt
from tqdm import tqdm

from rotor_flight.reports.html_page import html_page
from validation.papers.rows import Row, markdown

PAPERS = {
    "fiori": "validation.papers.fiori.report",
    "kremer": "validation.papers.kremer.report",
    "palacios": "validation.papers.palacios.report",
    "pappalardo": "validation.papers.pappalardo.report",
    "rotortm": "validation.papers.rotortm.report",
}
"""Modules with SECTIONS (title to rows and paragraphs), FIGURES (name to function), TITLE and NOTE."""


def reproduce(paper: str, folder: Path) -> bool:
    """Write report.md, report.html and the plots of a paper into ``folder``; whether every figure agrees."""
    module = importlib.import_module(PAPERS[paper])
    parts = [f"# {module.TITLE}", f"`./rotor reproduce {paper}`. {module.NOTE}"]
    rows: list[Row] = []
    for title, section in tqdm(
        module.SECTIONS.items(), desc=paper, unit="part", leave=False, disable=None
    ):
        found: list[Row] = []
        parts.append(f"## {title}")
        for item in section():
            if isinstance(item, Row):
                found.append(item)
            else:
                parts.append(item)
        if found:
            parts.append(markdown(found))
            good = sum(r.passes for r in found)
            tqdm.write(f"{title:<34} {good} of {len(found)} agree")
        for row in found:
            if not row.passes:
                tqdm.write(
                    f"  {row.test} {row.what}: {row.ours} instead of {row.theirs}, allowed {row.bound}"
                )
        rows += found
    pictures = []
    for name, draw in module.FIGURES.items():
        figure = draw()
        figure.savefig(folder / f"{name}.png", dpi=110)
        plt.close(figure)
        pictures.append(f"![{name}]({name}.png)")
    text = "\n\n".join([*parts[:2], *pictures, *parts[2:]]) + "\n"
    (folder / "report.md").write_text(text)
    (folder / "report.html").write_text(html_page(module.TITLE, text, folder))
    return all(r.passes for r in rows)
