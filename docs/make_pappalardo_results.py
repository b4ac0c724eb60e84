"""Writes docs/results/pappalardo.md: tables, gains and flights of the delivery drone beside the paper (a minute).

./rotor python docs/make_pappalardo_results.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from rotor_lab.reproduce.report import reproduce
from rotor_lab.warm import warm

DOCS = Path(__file__).resolve().parent


def main() -> None:
    """Write the page and its picture."""
    warm()
    with tempfile.TemporaryDirectory() as folder:
        reproduce("pappalardo", Path(folder))
        report = (Path(folder) / "report.md").read_text()
        shutil.copy(Path(folder) / "delivery.png", DOCS / "images" / "delivery.png")
    report = report.replace("(delivery.png)", "(../images/delivery.png)")
    (DOCS / "results" / "pappalardo.md").write_text(report)


if __name__ == "__main__":
    main()
