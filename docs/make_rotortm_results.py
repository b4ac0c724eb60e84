"""Writes docs/results/rotortm.md: the tables and experiments of RotorTM beside ours (a minute and a half).

./rotor python docs/make_rotortm_results.py
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
        reproduce("rotortm", Path(folder))
        report = (Path(folder) / "report.md").read_text()
        shutil.copy(Path(folder) / "curves.png", DOCS / "images" / "rotortm.png")
    report = report.replace("(curves.png)", "(../images/rotortm.png)")
    (DOCS / "results" / "rotortm.md").write_text(report)


if __name__ == "__main__":
    main()
