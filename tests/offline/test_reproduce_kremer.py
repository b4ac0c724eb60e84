"""Acceptance tests AM-: every figure of the reproduction, but not its times."""

import pytest

from validation.papers.kremer import report as kremer

SECTIONS = [
    title for title in kremer.SECTIONS if title != "cost"
]  # a benchmark: ./rotor reproduce kremer


@pytest.mark.parametrize("title", SECTIONS)
def test_reproduction_agrees(title):
    rows = list(kremer.SECTIONS[title]())
    assert rows
    wrong = [(r.test, r.what, r.ours, r.theirs, r.bound) for r in rows if not r.passes]
    assert not wrong


def test_the_cost_is_counted_in_links_not_in_operations():
    """AM-T15 without a clock: two sweeps visit each of n joints once, so the tables that they fill grow with n."""
    sizes = [
        len(kremer.started(kremer.chain(n), (1.0, 0.0, 0.0, 0.0), [0.0] * n).floats)
        for n in (3, 6, 12)
    ]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])
