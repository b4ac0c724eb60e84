"""Acceptance tests DD-: every figure of the reproduction; flights with faults are in test_delivery.py."""

import pytest

from validation.papers.pappalardo import report as pappalardo
from validation.papers.rows import Row


@pytest.mark.parametrize(
    "title", [t for t in pappalardo.SECTIONS if t not in ("faults", "responses")]
)
def test_reproduction_agrees(title):
    found = list(pappalardo.SECTIONS[title]())
    assert found
    wrong = [
        (r.test, r.what, r.ours, r.theirs, r.bound)
        for r in found
        if isinstance(r, Row) and not r.passes
    ]
    assert not wrong
