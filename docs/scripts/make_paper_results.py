"""Writes docs/results/PAPER.md and its picture: the tables and experiments of a paper beside ours (a minute or two).

./rotor python docs/scripts/make_paper_results.py rotortm
./rotor python docs/scripts/make_paper_results.py pappalardo
./rotor python docs/scripts/make_paper_results.py palacios
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from rotor_flight.warm import warm
from validation.papers.reproduce import reproduce

DOCS = Path(__file__).resolve().parents[1]

PICTURES = {"rotortm": "curves", "pappalardo": "delivery", "palacios": "flights"}
"""Picture of each paper, as its reproduction calls it."""


def main(paper: str) -> None:
    """Write the page and its picture."""
    warm()
    picture = PICTURES[paper]
    with tempfile.TemporaryDirectory() as folder:
        reproduce(paper, Path(folder))
        report = (Path(folder) / "report.md").read_text()
        shutil.copy(Path(folder) / f"{picture}.png", DOCS / "images" / f"{paper}.png")
    report = report.replace(f"({picture}.png)", f"(../images/{paper}.png)")
    (DOCS / "results" / f"{paper}.md").write_text(report)


if __name__ == "__main__":
    main(sys.argv[1])
