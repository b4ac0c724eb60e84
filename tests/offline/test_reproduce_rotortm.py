"""Acceptance tests RT-: every figure of the reproduction; the noisy ones with fewer seeds."""

import numpy as np
import pytest

from validation.papers import reproduce as report
from validation.papers.rotortm import report as rotortm
from validation.papers.rows import Row


@pytest.fixture(autouse=True)
def few_seeds(monkeypatch):
    """Three seeds in place of fifty: the full run is `./rotor reproduce rotortm`."""
    monkeypatch.setattr(rotortm, "SEEDS", 3)


@pytest.mark.parametrize("title", list(rotortm.SECTIONS))
def test_reproduction_agrees(title):
    rows = [item for item in rotortm.SECTIONS[title]() if isinstance(item, Row)]
    wrong = [(r.test, r.what, r.ours, r.theirs, r.bound) for r in rows if not r.passes]
    assert not wrong
    assert rows or title in ("Table VI and Fig 9", "Acceptance tests")


def test_report_is_one_page_with_pictures_and_tables(tmp_path, monkeypatch):
    """The HTML needs no other file; a figure that differs is marked and makes the command fail."""
    monkeypatch.setattr(
        rotortm,
        "SECTIONS",
        {
            "Table V": rotortm.table_v,
            "wrong": lambda: iter(
                [Row("x", "no figure of ours", np.array(2.0), np.array(1.0), 0.5)]
            ),
        },
    )
    assert not report.reproduce("rotortm", tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert page.count("<table>") == 3 and 'src="data:image/png;base64,' in page
    assert 'src="curves' not in page and "<strong>differs</strong>" in page
    assert (tmp_path / "curves.png").stat().st_size > 50_000
    assert "**differs**" in (tmp_path / "report.md").read_text()
