"""The report of `./rotor reproduce palacios`: every row agrees (HE-T6, T7, T9, T10, T12, T14 to T16)."""

from __future__ import annotations

import pytest

from validation.papers.palacios import report as palacios
from validation.papers.palacios.flights import drift
from validation.papers.rows import Row

EXPECTED = {
    "Hover trim": {"HE-T10", "HE-T15", "closed form"},
    "Flapping and thrust on a stand": {"HE-T7", "HE-T9"},
    "In vacuo": {"HE-T6"},
    "Power balance": {"HE-T12"},
    "Attitude hold": {"HE-T14", "HE-T16", "HE-3"},
    "Forward flight": set(),
    "Cost": set(),
}


@pytest.mark.parametrize("title", EXPECTED)
def test_every_figure_of_the_report_agrees(title):
    items = list(palacios.SECTIONS[title]())
    rows = [item for item in items if isinstance(item, Row)]
    assert {row.test for row in rows} == EXPECTED[title]
    wrong = [(r.test, r.what, r.ours, r.theirs, r.bound) for r in rows if not r.passes]
    assert not wrong, wrong
    assert len(items) > 0
    assert set(palacios.SECTIONS) == set(EXPECTED)


@pytest.mark.parametrize("stiffness", [0.0, 54.0])
def test_he_t6_what_is_kept_in_vacuo_converges_with_the_fourth_order(stiffness):
    """Ratios of halved steps: 16 for the leading term; energy does better, angular momentum too where rounding is far."""
    coarse, fine = drift(stiffness, 180), drift(stiffness, 360)
    assert coarse[0] / fine[0] > 16.0 * 0.85
    assert coarse[1] / fine[1] > 16.0 * 0.85
