"""Run the reproduction of a paper, print it and write it down."""

from __future__ import annotations

import importlib
from pathlib import Path

import matplotlib.pyplot as plt

from rotor_lab.reproduce.rows import Row, markdown

PAPERS = {"fiori": "rotor_lab.reproduce.fiori", "kremer": "rotor_lab.reproduce.kremer"}
"""Modules with SECTIONS (title to rows), curves(), TITLE and NOTE."""


def reproduce(paper: str, folder: Path) -> bool:
    """Write report.md and curves.png of a paper into ``folder``; whether every figure agrees."""
    module = importlib.import_module(PAPERS[paper])
    parts = [
        f"# {module.TITLE}",
        f"`./rotor reproduce {paper}`. {module.NOTE}",
        "![curves](curves.png)",
    ]
    rows: list[Row] = []
    for title, section in module.SECTIONS.items():
        found = list(section())
        good = sum(r.passes for r in found)
        print(f"{title:<28} {good} of {len(found)} agree", flush=True)
        for row in found:
            if not row.passes:
                print(
                    f"  {row.test} {row.what}: {row.ours} instead of {row.theirs}, allowed {row.bound}"
                )
        parts += [f"## {title}", markdown(found)]
        rows += found
    (folder / "report.md").write_text("\n\n".join(parts) + "\n")
    figure = module.curves()
    figure.savefig(folder / "curves.png", dpi=110)
    plt.close(figure)
    return all(r.passes for r in rows)
