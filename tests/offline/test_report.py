"""Reports of one flight: what they say, that the page works, and references of recordings of others."""

from __future__ import annotations

import json

import browser
import numpy as np
import pytest
from foreign_bags import MAKE, POSE, write2

from rotor.report import report
from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError
from rotor_flight.fly import fly
from rotor_recordings.formats.flights import open_flight
from rotor_recordings.formats.references import add_references


def foreign(path, *, shift=0.0, aim_every=1, rows=100):
    """A hall of others: poses of motion capture and a reference, ``shift`` apart along y."""
    entries = []
    for i in range(rows):
        stamp = 10**9 + 10_000_000 * i
        p = np.array([0.02 * i, 0.1, 1.0])
        entries += [
            ("/mocap/quad1/pose", POSE, stamp, MAKE.pose_stamped(stamp, p)),
            (
                "/quad1/reference_pose",
                POSE,
                stamp,
                MAKE.pose_stamped(stamp, p + [0.0, shift, 0.0]),
            ),
        ]
        if i % aim_every == 0:
            aim = MAKE.pose_stamped(stamp, p + [0.0, 0.0, 0.5])
            entries.append(("/elsewhere/aim", POSE, stamp, aim))
    return write2(path, entries)


def test_a_page_of_a_flight_with_everything(tmp_path, capsys):
    """Chromium draws it, plots move together, nothing is asked of another host; figures are those of the flight."""
    flight = fly(load_scenario("collision_triangular"), duration=2.0)
    bag = flight.save(tmp_path / "flight.mcap")
    assert report(str(bag), str(tmp_path / "out")) == 0
    out = capsys.readouterr().out
    assert out.strip().endswith(str(flight.verdict()))
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["verdict"]["kind"] == "flown" and summary["events"]["snap"] == 1
    error = np.linalg.norm(flight.position_error(), axis=1)
    assert summary["teams"]["payload"]["position_error_max_m"] == pytest.approx(
        error.max(), rel=1e-6
    )
    with browser.open_page(f"file://{tmp_path}/out/report.html") as (page, requests):
        page.wait_for_timeout(3000)
        titles = page.evaluate("Bokeh.documents[0].roots()[0].children.map(p => p.title.text)")
        ranges = page.evaluate(
            "Bokeh.documents[0].roots()[0].children.slice(0, -1).map(p => p.x_range.id)"
        )
        text = page.inner_text("body")
    assert "payload: reference minus position" in titles and "vehicles: tilt" in titles
    assert any("slack" in t for t in titles) and len(set(ranges)) == 1
    assert "1 events" in text and "flown" in text
    assert browser.outside(requests) == []


def test_a_recording_of_others_against_its_reference_topics(tmp_path):
    bag = foreign(tmp_path / "bag", shift=0.25)
    scenario = load_scenario("quadrotor_circle")
    flight = open_flight(str(bag), scenario)
    assert np.isnan(flight.references).all()
    used = add_references(flight, str(bag), {})
    assert used == ["quad1: /quad1/reference_pose"]
    np.testing.assert_allclose(
        flight.position_error(), [[0.0, 0.25, 0.0]] * len(flight.time), atol=1e-9
    )
    named = open_flight(str(bag), scenario)
    assert add_references(named, str(bag), {"quad1": "/elsewhere/aim"})
    np.testing.assert_allclose(
        named.position_error(), [[0.0, 0.0, 0.5]] * len(named.time), atol=1e-9
    )


def test_setpoints_that_come_rarely_hold_until_the_next(tmp_path):
    """At 5 Hz they counted at the instants at which they came, five rows in a hundred, and nobody said so."""
    bag = foreign(tmp_path / "bag", aim_every=20, rows=300)
    flight = open_flight(str(bag), load_scenario("quadrotor_circle"))
    (used,) = add_references(flight, str(bag), {"quad1": "/elsewhere/aim"})
    assert "holds until the next" in used
    rows = np.rint((flight.time - 1.0) / 0.01)
    aims = np.stack([0.02 * (rows - rows % 20), 0.1 + 0.0 * rows, 1.5 + 0.0 * rows], axis=1)
    np.testing.assert_allclose(flight.references[:, 0, :3], aims, atol=1e-9)
    np.testing.assert_array_equal(flight.references[:, 0, 3:6], 0.0)


def test_a_recording_of_others_is_judged(tmp_path):
    """Six metres beside its reference all the time, with commands that nobody recorded."""
    bag = foreign(tmp_path / "bag", shift=6.0)
    flight = open_flight(str(bag), load_scenario("quadrotor_circle"))
    add_references(flight, str(bag), {})
    assert str(flight.verdict()) == "lost at 0.0 s: quad1 up to 6 m from its reference"


def test_references_that_are_not_there_are_refused(tmp_path):
    bag = foreign(tmp_path / "bag")
    flight = open_flight(str(bag), load_scenario("quadrotor_circle"))
    with pytest.raises(
        ConfigError, match=r"is not a topic with poses .* there are .*/elsewhere/aim"
    ):
        add_references(flight, str(bag), {"quad1": "/nowhere"})
    with pytest.raises(ConfigError, match="nothing is planned for 'payload'; planned: quad1"):
        add_references(flight, str(bag), {"payload": "/elsewhere/aim"})
