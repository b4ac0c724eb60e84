"""Clock, frame, errors, tensions and report of a comparison, against paths whose truth is a formula."""

import csv
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from rotor.cli import main
from rotor.verbs.compare import LIMITS, _over
from rotor_core.config.loader import dump_scenario, load_scenario
from rotor_core.errors import ConfigError
from rotor_flight.fly import fly
from rotor_recordings.compare.alignment import Alignment, align
from rotor_recordings.compare.cables import CableMotion, cable_motions, intervals
from rotor_recordings.compare.clock import ClockOffset, clock_offset
from rotor_recordings.compare.comparison import CompareOptions, _refined, compare
from rotor_recordings.compare.errors import BodyErrors, body_errors
from rotor_recordings.compare.payload_balance import acceleration, balanced_tensions
from rotor_recordings.compare.runs import longest, runs
from rotor_recordings.formats.bag_writer import write_bag
from rotor_recordings.formats.open import open_recording
from rotor_recordings.formats.tum import write_tum
from rotor_recordings.motion.recording import CableRows, Recording
from rotor_recordings.motion.track import Samples, Track

EPOCH = 1_700_000_000 * 10**9
NO_OPTIONS = CompareOptions(evo=False)


def place(t):
    """A path that repeats nowhere in 40 s; speeds up to 2 m/s, accelerations up to 3 m/s^2."""
    return np.column_stack(
        [
            1.2 * np.sin(0.9 * t + 0.8 * np.sin(0.23 * t)) + 0.2 * np.sin(2.3 * t),
            0.8 * np.sin(0.61 * t + 1.0) + 0.25 * np.sin(0.05 * t**2),
            1.5 + 0.3 * np.sin(0.43 * t) + 0.1 * np.cos(1.7 * t),
        ]
    )


def turn(t):
    """Tilts up to 0.5 rad about two axes, and a slow yaw."""
    vectors = np.column_stack(
        [0.5 * np.sin(1.1 * t), 0.4 * np.sin(0.7 * t + 1.0), 0.6 * np.sin(0.3 * t)]
    )
    return Rotation.from_rotvec(vectors)


def samples(
    t,
    rotation=None,
    shift=(0, 0, 0),
    marker=None,
    marker_turn=None,
    noise=0.0,
    seed=0,
    where=place,
    attitude=turn,
):
    """Poses that a camera sees: in its own frame, of markers whose axes and origin are not those of the body.

    ``rotation``, ``shift``: from the camera's frame to ours; ``marker``: origin of the body in the axes of the markers;
    ``marker_turn``: attitude of the body relative to its markers.
    """
    back = (rotation or Rotation.identity()).inv()
    cluster = attitude(t) * (marker_turn or Rotation.identity()).inv()
    p = where(t) - (cluster.apply(marker) if marker is not None else 0.0)
    p = back.apply(p - np.asarray(shift)) + noise * np.random.default_rng(seed).normal(
        size=(len(t), 3)
    )
    return Samples(p, (back * cluster).as_quat(scalar_first=True))


def track(begin, end, rate, epoch=0, lag=0.0, body="quad1", keep=None, **how):
    """A recording whose clock is ``lag`` behind: what happens at t is stamped t - lag after ``epoch``."""
    t = np.arange(round((end - begin) * rate)) / rate + begin
    s = samples(t, **how)
    stamps = epoch + np.rint(1e9 * (t - lag)).astype(np.int64)
    if keep is not None:
        rows = keep(t)
        stamps, s = stamps[rows], s.at(rows)
    return Track(body, f"/{body}/pose", stamps, s)


def recording(*tracks, name="sim"):
    return Recording(name, "made", tracks)


# -- clock --------------------------------------------------------------------------------------------------------

LAGS = [
    ("equal clocks", 0.0, 0, 100.0, None),
    ("behind", 3.217, 0, 100.0, None),
    ("ahead", -2.7183, 0, 100.0, None),
    ("less than a sample", 0.0037, 0, 200.0, None),
    ("another epoch", 1.2345678, EPOCH, 120.0, None),
    ("slow", 0.777, 0, 40.0, None),
    ("gaps", -0.654, EPOCH, 100.0, lambda t: (t % 5.0) > 0.8),
]


@pytest.mark.parametrize("name, lag, epoch, rate, keep", LAGS, ids=[case[0] for case in LAGS])
def test_the_offset_of_clocks_is_found(name, lag, epoch, rate, keep):
    """Coarse within a fifth of the grid of 10 ms, with 0.3 mm of noise; refined within 0.2 ms.

    At 1 m/s 0.3 mm of noise on 500 poses move the best fit by 0.3 ms / sqrt(500) = 13 us; the line between poses at
    100 Hz and 3 m/s^2 adds 40 um or 40 us.
    """
    sim = track(0.0, 30.0, 100.0)
    real = track(
        4.0,
        28.0,
        rate,
        epoch,
        lag,
        keep=keep,
        noise=3e-4,
        rotation=Rotation.from_rotvec([0.1, 0.2, 2.0]),
    )
    wanted = lag - epoch * 1e-9
    coarse = clock_offset([(sim, real)])
    assert coarse.seconds == pytest.approx(wanted, abs=2e-3 + 3e-7, rel=0)
    assert coarse.correlation > 0.95
    found = compare(recording(sim), recording(real, name="real"), NO_OPTIONS).clock
    # 40 Hz: lines of 25 ms leave out 0.23 mm
    assert found.seconds == pytest.approx(wanted, abs=2e-4 if rate > 50 else 4e-4, rel=0)


def test_recordings_that_cannot_be_compared_are_refused_with_the_reason():
    """They failed on the correlation of speeds, or on the turn of the frame."""
    sim = track(0.0, 20.0, 100.0)
    with pytest.raises(ConfigError, match=r"come at 9 Hz, at least 10 Hz are needed"):
        compare(recording(sim), recording(track(0.0, 20.0, 9.0)), NO_OPTIONS)
    in_mm = track(0.0, 20.0, 100.0, where=lambda t: 1000.0 * place(t))
    with pytest.raises(ConfigError, match="these look like millimetres"):
        compare(recording(sim), recording(in_mm), NO_OPTIONS)
    compare(recording(sim), recording(track(0.0, 20.0, 10.0)), NO_OPTIONS)  # the limit itself


def test_doubtful_recordings_are_noted():
    """A tracker that loses its body goes on with the last pose; quaternions may have another order."""
    sim = track(0.0, 20.0, 100.0)
    frozen = track(0.0, 20.0, 100.0, where=lambda t: place(np.where((t > 8.0) & (t < 9.0), 8.0, t)))
    known = replace(NO_OPTIONS, offset=0.0)
    found = compare(recording(sim), recording(frozen), known)
    assert len(found.notes) == 1 and "are the same for 0.99 s from 8 s on" in found.notes[0]
    other = track(0.0, 20.0, 100.0)
    assert other.samples.attitudes is not None
    other.samples.attitudes[:] = np.roll(other.samples.attitudes, 1, axis=1)
    found = compare(recording(sim), recording(other), known)
    assert len(found.notes) == 1 and "is the order of quaternions" in found.notes[0]
    assert found.summary()["notes"] == list(found.notes)
    assert not compare(recording(sim), recording(track(0.0, 20.0, 100.0)), NO_OPTIONS).notes


@pytest.fixture(scope="module")
def triangle():
    """Pose of a vehicle that carries a plate around a circle."""
    flight = fly(load_scenario("three_dragonflies_triangular_1m"))
    states = flight.states[:, 0]
    return flight.time, CubicSpline(flight.time, states[:, :3]), states[:, 3:7]


@pytest.mark.parametrize("seed", range(4))
def test_the_clock_of_a_noisy_flight_is_found(triangle, seed):
    """Noise makes the peak jagged: its own teeth counted as a motion that repeats.

    1 mm of noise at 100 Hz is 17 mm/s in speeds of some 0.1 m/s that are smoothed over 0.11 s: found to 30 ms. Places
    tell the time better; but a line between two noisy poses is quieter in its middle, which draws the offset there: by
    half of the 10 ms between poses at most.
    """
    t, path, attitude = triangle
    seen = np.arange(t[0] + 0.5, t[-1] - 0.5, 0.01)
    noisy = path(seen) + 1e-3 * np.random.default_rng(seed).normal(size=(len(seen), 3))
    turned = np.tile([1.0, 0.0, 0.0, 0.0], (len(seen), 1))
    stamps = np.rint(1e9 * (seen - 0.037)).astype(np.int64)
    sim = Track("quad1", "sim", np.rint(1e9 * t).astype(np.int64), Samples(path(t), attitude))
    real = Track("quad1", "real", stamps, Samples(noisy, turned))
    assert clock_offset([(sim, real)]).seconds == pytest.approx(0.037, abs=0.03)
    found = compare(recording(sim), recording(real, name="real"), NO_OPTIONS).clock
    assert found.seconds == pytest.approx(0.037, abs=5e-3)


def speeds_up(t):
    """A circle of 1 m whose speed grows once, over 6 s, to 0.6 m/s."""
    angle = 0.05 * np.minimum(t, 6.0) ** 2 + 0.6 * np.maximum(t - 6.0, 0.0)
    return np.stack([np.cos(angle), np.sin(angle), np.ones_like(t)], axis=1)


@pytest.mark.parametrize("noise", [1e-3, 2e-3])
@pytest.mark.parametrize("kind", ["rigid", "translation", "none"])
def test_noise_does_not_move_a_flight_that_speeds_up_once(noise, kind):
    """Noise lifts small speeds more than large ones; by speeds the clock was off by 90 and 180 ms, the turn by 3 deg.

    Along an arc, time and turn are nearly the same: 10 ms at 0.6 m/s are 6 mm, 2 mm of noise on 500 poses 0.1 mm.
    """
    sim = track(0.0, 12.0, 200.0, where=speeds_up)
    real = track(0.5, 11.5, 100.0, lag=-0.25, where=speeds_up, noise=noise)
    found = compare(recording(sim), recording(real, name="real"), replace(NO_OPTIONS, align=kind))
    assert found.clock.seconds == pytest.approx(-0.25, abs=0.01)
    assert found.summary()["bodies"]["quad1"]["position_rmse_m"] < 2.0 * noise
    assert not any("time offset" in note for note in found.notes)


def test_all_bodies_count_for_the_clock():
    """One vehicle hovers; the other tells the time."""

    def still(t):
        return np.zeros((len(t), 3)) + [0.0, 0.0, 1.0]

    pairs = []
    for body, where in (("quad1", place), ("quad2", still)):
        sim = track(0.0, 20.0, 100.0, body=body, where=where, noise=1e-4, seed=1)
        real = track(0.0, 20.0, 100.0, lag=0.5, body=body, where=where, noise=3e-4, seed=2)
        pairs.append((sim, real))
    assert clock_offset(pairs).seconds == pytest.approx(0.5, abs=2e-3)


def hover(t):
    return np.zeros((len(t), 3)) + [0.3, 0.1, 1.0]


def circle(t):
    """Speed along an ellipse comes back every half turn of 2 s."""
    return np.column_stack([1.5 * np.cos(np.pi / 2 * t), 0.8 * np.sin(np.pi / 2 * t), 1.0 + 0 * t])


def other(t):
    return np.column_stack(
        [np.sin(2.9 * t + np.sin(0.71 * t)), np.cos(0.07 * t**2), 1.0 + 0.2 * np.sin(3.3 * t)]
    )


@pytest.mark.parametrize("where_sim, where_real, noise, message", [
    (hover, hover, 3e-4, "too small, or these are different flights"),
    (hover, hover, 0.0, "too small, or these are different flights"),
    (circle, circle, 3e-4, "the motion repeats: offsets .* s apart fit equally well"),
    (place, other, 3e-4, "too small, or these are different flights|the motion repeats"),
])  # fmt: skip
def test_clocks_that_cannot_be_known(where_sim, where_real, noise, message):
    sim = track(0.0, 24.0, 100.0, where=where_sim, noise=noise, seed=1)
    real = track(0.0, 24.0, 100.0, where=where_real, noise=noise, seed=2)
    with pytest.raises(ConfigError, match=f"time offset: .*({message}).*--time-offset SECONDS"):
        clock_offset([(sim, real)])


def test_a_repeating_motion_says_its_period():
    sim, real = (track(0.0, 24.0, 100.0, where=circle, noise=1e-4, seed=k) for k in (1, 2))
    with pytest.raises(ConfigError) as caught:
        clock_offset([(sim, real)])
    apart = float(re.search(r"offsets ([-+][\d.]+) s apart", str(caught.value))[1])
    # speed has half the period of the ellipse; any multiple fits as well
    assert apart / 2.0 == pytest.approx(round(apart / 2.0), abs=0.02) and round(apart / 2.0) != 0


def test_a_given_offset_is_taken_as_it_is():
    sim, real = track(0.0, 10.0, 100.0), track(0.0, 10.0, 100.0, epoch=EPOCH, lag=0.25)
    options = replace(NO_OPTIONS, offset=0.25 - EPOCH * 1e-9, align="none")
    found = compare(recording(sim), recording(real), options)
    assert found.clock.seconds == options.offset and np.isnan(found.clock.correlation)
    # a float of this epoch is exact to 0.12 us; at 2 m/s that is below a micrometre. Lines add nothing: equal stamps
    assert np.abs(found.bodies["quad1"].position).max() < 2e-6 + 3e-5
    with pytest.raises(ConfigError, match="do not overlap in time"):
        compare(recording(sim), recording(real), replace(NO_OPTIONS, offset=0.0))


def test_two_simulated_flights_may_have_one_clock():
    """A heavier payload lags behind: an estimated offset hides that, and nobody is told."""
    sim, real = track(0.0, 10.0, 100.0), track(0.0, 10.0, 100.0, lag=0.02)
    held = dump_scenario(load_scenario("quadrotor_circle"))
    pair = [replace(recording(t), scenario=held) for t in (sim, real)]
    (note,) = compare(*pair, replace(NO_OPTIONS, align="none")).notes
    assert "a time offset of 0.020 s was fitted" in note
    assert "--time-offset 0 --align none shows the whole difference" in note
    assert not compare(*pair, replace(NO_OPTIONS, align="none", offset=0.0)).notes
    assert not compare(recording(sim), pair[1], replace(NO_OPTIONS, align="none")).notes
    higher = replace(
        real, samples=replace(real.samples, positions=real.samples.positions + [0, 0, 0.06])
    )
    lifted = [pair[0], replace(recording(higher), scenario=held)]
    (note,) = compare(*lifted, replace(NO_OPTIONS, align="translation", offset=0.02)).notes
    assert "a frame that is 60.0 mm off" in note


def test_the_offset_changes_its_sign_with_the_roles():
    sim, real = track(0.0, 20.0, 100.0), track(1.0, 18.0, 100.0, EPOCH, 0.77, noise=3e-4)
    # the correlation is the same but for rounding of the Fourier transforms; the epoch leaves 0.3 us
    assert clock_offset([(sim, real)]).seconds == pytest.approx(
        -clock_offset([(real, sim)]).seconds, abs=1e-6, rel=0
    )


@pytest.mark.parametrize("faster", [2.0, 3.0])
def test_fast_flights_are_compared(faster):
    """1.9 and 3.0 m/s (root of the mean square) for 10 s, 0.3 mm of noise: nothing about it is uncertain."""

    def where(t):
        return place(faster * t)

    sim, real = (
        track(0.0, 12.0, 100.0, where=where),
        track(1.0, 11.5, 100.0, lag=0.319, where=where, noise=3e-4),
    )
    found = compare(recording(sim), recording(real), NO_OPTIONS)
    assert found.clock.seconds == pytest.approx(0.319, abs=4e-4)
    assert found.bodies["quad1"].figures()["position_rmse_m"] < 1.5e-3


def test_the_clock_does_not_hide_a_bias():
    """A vehicle that travels at 0.4 m/s, a camera that is 5 cm off, frames taken as they are."""
    drift = np.array([0.4, 0.0, 0.0])
    sim = track(0.0, 20.0, 100.0, where=lambda t: place(t) + t[:, None] * drift)
    real = track(
        0.0,
        20.0,
        100.0,
        lag=0.5,
        noise=3e-4,
        where=lambda t: place(t) + t[:, None] * drift - [0.05, 0.0, 0.0],
    )
    assert clock_offset([(sim, real)]).seconds == pytest.approx(0.5, abs=2e-3)  # it had been right
    found = compare(recording(sim), recording(real), replace(NO_OPTIONS, align="none"))
    assert found.clock.seconds == pytest.approx(0.5, abs=2e-3)
    assert found.bodies["quad1"].figures()["position_mean_xyz_m"][0] == pytest.approx(
        0.05, abs=2e-3
    )


@pytest.mark.parametrize(("miss", "found"), [(0.0, True), (0.15, True), (-0.2, True), (0.5, False)])
def test_directions_tell_the_time_where_speeds_miss_it(miss, found):
    """On a circle speeds are even. Sagging by 5 cm is not taken for time; a best fit at the end of the search is no fit."""

    def circling(sag):
        def where(t):
            angle = 2.0 * np.pi * t / 10.0
            return np.stack([np.cos(angle), np.sin(angle), np.full(len(t), -sag)], axis=1)

        return where

    sim = track(0.0, 20.0, 100.0, where=circling(0.0))
    real = track(0.0, 20.0, 100.0, lag=0.1, noise=3e-4, where=circling(0.05))
    rough, options = ClockOffset(0.1 + miss, 0.99), replace(NO_OPTIONS, align="none")
    clock = _refined(rough, {"quad1": (sim, real)}, recording(sim), options, {})
    if found:
        assert clock.seconds == pytest.approx(0.1, abs=2e-3)
    else:
        assert clock == replace(rough, is_refined=False)


def two_bodies(second):
    def where(t):
        return place(t + 4.0)

    sim = recording(track(0.0, 20.0, 100.0), track(0.0, 20.0, 100.0, body="quad2", where=where))
    return sim, recording(
        track(0.0, 20.0, 100.0), track(*second, body="quad2", where=where), name="real"
    )


def test_a_body_that_was_seen_shortly_does_not_shorten_the_others():
    found = compare(*two_bodies((18.0, 19.5, 100.0)), replace(NO_OPTIONS, offset=0.0, align="none"))
    assert found.bodies["quad1"].figures()["poses"] == 2000
    assert found.bodies["quad2"].figures()["poses"] == 150


def test_a_body_without_common_poses():
    """5 Hz: all of it is gaps, and none of the stamps meets one of SIM."""
    sim, real = two_bodies((0.0033, 20.0, 5.0))
    found = compare(sim, real, replace(NO_OPTIONS, offset=0.0, align="none"))
    assert found.bodies["quad1"].figures()["poses"] > 1900
    assert found.bodies["quad2"].figures()["poses"] == 0
    assert len(found.notes) == 1 and "poses of quad2 come at 5 Hz" in found.notes[0]


# -- frame --------------------------------------------------------------------------------------------------------

TIME = np.arange(0.0, 20.0, 0.01)


@settings(max_examples=25, deadline=None)
@given(vector=st.tuples(*[st.floats(-1.8, 1.8)] * 3), shift=st.tuples(*[st.floats(-50, 50)] * 3))
def test_rigid_transforms_are_recovered(vector, shift):
    rotation = Rotation.from_rotvec(vector)
    found = align({"quad1": (samples(TIME), samples(TIME, rotation, shift))}, "rigid")
    assert (found.rotation * rotation.inv()).magnitude() < 1e-9
    np.testing.assert_allclose(found.translation, shift, atol=1e-9)
    moved = found.applied("quad1", samples(TIME, rotation, shift))
    np.testing.assert_allclose(moved.positions, place(TIME), atol=1e-9)
    assert (moved.rotations * turn(TIME).inv()).magnitude().max() < 1e-9


@settings(max_examples=20, deadline=None)
@given(heading=st.floats(-3.14, 3.14), shift=st.tuples(*[st.floats(-5, 5)] * 3))
def test_headings_are_recovered(heading, shift):
    rotation = Rotation.from_euler("z", heading)
    found = align({"quad1": (samples(TIME), samples(TIME, rotation, shift))}, "yaw")
    assert (found.rotation * rotation.inv()).magnitude() < 1e-9
    np.testing.assert_allclose(found.translation, shift, atol=1e-9)


def test_a_heading_alone_leaves_a_tilt():
    """A frame that is tilted stays tilted: the rest is an error, not the alignment's to hide."""
    tilted = Rotation.from_euler("x", 0.02)
    found = align({"quad1": (samples(TIME), samples(TIME, tilted))}, "yaw")
    np.testing.assert_allclose(found.rotation.apply([0, 0, 1]), [0, 0, 1], atol=1e-15)


def test_translation_and_none():
    shift = np.array([1.0, -2.0, 3.0])
    pair = {"quad1": (samples(TIME), samples(TIME, None, shift))}
    found = align(pair, "translation")
    np.testing.assert_allclose(found.translation, shift, atol=1e-12)
    assert found.rotation.magnitude() == 0.0 and np.isnan(found.sigma_deg)
    same = align(pair, "none").applied("quad1", pair["quad1"][1])
    np.testing.assert_array_equal(same.positions, pair["quad1"][1].positions)


def test_reflections_are_no_rotations():
    """A planar path seen from below fits a mirror as well; the answer is a rotation all the same."""
    flat = samples(TIME, where=lambda t: place(t) * [1, 1, 0])
    mirrored = Samples(flat.positions * [1, -1, 1], flat.attitudes)
    found = align({"quad1": (flat, mirrored)}, "rigid")
    assert np.linalg.det(found.rotation.as_matrix()) == pytest.approx(1.0)
    np.testing.assert_allclose(
        found.applied("quad1", mirrored).positions, flat.positions, atol=1e-9
    )


def line(t):
    return np.sin(t)[:, None] * [1.0, 2.0, 0.5] + [0.0, 0.0, 1.0]


def up(t):
    return np.sin(t)[:, None] * [0.0, 0.0, 1.0] + [0.0, 0.0, 1.5]


@pytest.mark.parametrize("where, kind, message", [
    (line, "rigid", r"within \d+ mm of one line \(direction -?0\.44, -?0\.87, -?0\.22\).*Use --align yaw"),
    (up, "rigid", r"within \d+ mm of one line \(direction -?0\.00, -?0\.00, -?1\.00\)"),
    (hover, "rigid", "of one line"), (hover, "yaw", "needed to find a heading"), (up, "yaw", "needed to find a heading"),
])  # fmt: skip
def test_turns_that_cannot_be_known(where, kind, message):
    pair = (
        samples(TIME, where=where, noise=1e-3, seed=1),
        samples(TIME, where=where, noise=1e-3, seed=2),
    )
    with pytest.raises(ConfigError, match=message):
        align({"quad1": pair}, kind)


def test_flights_that_do_not_fit_are_not_turned():
    pair = (samples(TIME), samples(TIME, where=other))
    with pytest.raises(
        ConfigError,
        match=r"the turn is uncertain by .* deg .*Use --align yaw, translation or none",
    ):
        align({"quad1": pair}, "rigid")


def test_a_line_is_enough_for_a_heading():
    rotation = Rotation.from_euler("z", 1.0)
    found = align(
        {"quad1": (samples(TIME, where=line), samples(TIME, rotation, where=line))}, "yaw"
    )
    assert (found.rotation * rotation.inv()).magnitude() < 1e-9


def test_the_order_of_bodies_and_rows_does_not_matter():
    rotation, shift = Rotation.from_rotvec([0.3, -0.2, 1.0]), (1.0, 2.0, 3.0)

    def pairs(rows):
        out = {}
        for k, body in enumerate(("quad1", "quad2")):

            def where(t, k=k):
                return place(t + 3.0 * k) + [0.0, k, 0.0]

            out[body] = (
                samples(TIME, where=where).at(rows),
                samples(TIME, rotation, shift, where=where, noise=1e-3, seed=k).at(rows),
            )
        return out

    rows = np.arange(len(TIME))
    one = align(pairs(rows), "rigid")
    flipped = align(dict(reversed(pairs(rows[::-1]).items())), "rigid")
    assert (one.rotation * flipped.rotation.inv()).magnitude() < 1e-12
    np.testing.assert_allclose(one.translation, flipped.translation, atol=1e-11)
    # the residual does not depend on the frame of the camera, and swapping the roles inverts the transform
    back = align({b: (r, s) for b, (s, r) in pairs(rows).items()}, "rigid")
    assert (back.rotation * one.rotation).magnitude() < 1e-12
    # noise of 1 mm over arms of 0.7 m and 4000 poses: 1e-3 / (0.7 sqrt(4000)) rad, taken five times
    assert (one.rotation * rotation.inv()).magnitude() < 1.2e-4
    assert one.sigma_deg < 0.1


def test_rows_that_are_unknown_do_not_count():
    rotation = Rotation.from_rotvec([0.3, -0.2, 1.0])
    sim, real = samples(TIME), samples(TIME, rotation)
    real.positions[100:300] = np.nan
    real.attitudes[100:300] = np.nan
    sim.positions[50:60] = np.nan
    found = align({"quad1": (sim, real)}, "rigid")
    assert (found.rotation * rotation.inv()).magnitude() < 1e-9
    moved = found.applied("quad1", real)
    assert np.isnan(moved.positions[100:300]).all() and np.isnan(moved.attitudes[100:300]).all()
    assert np.isfinite(moved.positions[300:]).all()


@pytest.mark.parametrize("kind", ["rigid", "translation"])
def test_paths_without_common_poses(kind):
    sim, real = samples(TIME), samples(TIME)
    sim.positions[::2] = np.nan
    real.positions[1::2] = np.nan
    with pytest.raises(ConfigError, match="quad1"):
        align({"quad1": (sim, real)}, kind)


MARKER = np.array([0.05, -0.03, -0.08])


@pytest.mark.parametrize("kind", ["rigid", "yaw", "translation", "none"])
def test_markers_are_found(kind):
    rotation = {
        "rigid": Rotation.from_rotvec([0.3, -0.2, 1.0]),
        "yaw": Rotation.from_euler("z", 0.7),
    }.get(kind)
    shift = (0, 0, 0) if kind == "none" else (1.0, 2.0, 3.0)
    off = Rotation.from_rotvec([0.02, -0.01, 1.5])
    real = samples(TIME, rotation, shift, MARKER, off)
    found = align({"quad1": (samples(TIME), real)}, kind, fitted=["quad1"])
    np.testing.assert_allclose(found.markers["quad1"], MARKER, atol=1e-6)
    assert (found.turns["quad1"] * off.inv()).magnitude() < 1e-5
    moved = found.applied("quad1", real)
    np.testing.assert_allclose(moved.positions, place(TIME), atol=1e-6)
    assert (moved.rotations * turn(TIME).inv()).magnitude().max() < 1e-5


def test_a_marker_that_is_known_is_taken_out():
    real = samples(TIME, Rotation.from_rotvec([0.3, -0.2, 1.0]), (1, 2, 3), MARKER)
    found = align({"quad1": (samples(TIME), real)}, "rigid", markers={"quad1": MARKER})
    np.testing.assert_allclose(found.applied("quad1", real).positions, place(TIME), atol=1e-9)


def test_the_rates_of_turned_markers():
    """Angular velocity is seen in the axes of the markers; `applied` brings it into those of the body."""
    off = Rotation.from_rotvec([0.4, -0.3, 1.5])
    rate_of_body = np.tile([0.2, 0.5, -1.0], (len(TIME), 1))
    real = replace(samples(TIME, None, (0, 0, 0), None, off), rates=off.apply(rate_of_body))
    moved = Alignment("none", turns={"quad1": off}).applied("quad1", real)
    np.testing.assert_allclose(moved.rates, rate_of_body, atol=1e-12)


def yawing(t):
    return Rotation.from_rotvec(0.8 * np.sin(0.5 * t)[:, None] * [0.0, 0.0, 1.0])


@pytest.mark.parametrize("attitude", [lambda t: Rotation.identity(len(t)), yawing])
def test_markers_that_cannot_be_known(attitude):
    """Without tilt the height of the marker cannot be told from that of the frame."""
    pair = (
        samples(TIME, attitude=attitude),
        samples(TIME, marker=MARKER, attitude=attitude, noise=3e-4),
    )
    with pytest.raises(
        ConfigError,
        match=r"--fit-marker quad1: its attitude changes too little .*--marker quad1=X,Y,Z",
    ):
        align({"quad1": pair}, "rigid", fitted=["quad1"])


def test_markers_of_what_has_no_attitude():
    bare = Samples(place(TIME))
    with pytest.raises(
        ConfigError, match="marker of payload: the real recording has no attitude of it"
    ):
        align({"payload": (samples(TIME), bare)}, "rigid", fitted=["payload"])
    with pytest.raises(ConfigError, match="marker of quad9: there is no such body; known: quad1"):
        align({"quad1": (samples(TIME), samples(TIME))}, "rigid", markers={"quad9": MARKER})


def test_everything_at_once():
    """Offset, frame, marker and its turn together, two vehicles, 0.3 mm of noise."""
    rotation, off = Rotation.from_rotvec([0.05, -0.1, 2.2]), Rotation.from_rotvec([0.02, 0.01, 0.3])
    sims, reals = [], []
    for k, body in enumerate(("quad1", "quad2")):

        def where(t, k=k):
            return place(t + k) + [0.0, 2.0 * k, 0.0]

        sims.append(track(0.0, 30.0, 200.0, body=body, where=where))
        reals.append(
            track(
                2.0,
                27.0,
                100.0,
                EPOCH,
                0.4321,
                body,
                where=where,
                rotation=rotation,
                shift=(3, 4, 5),
                marker=MARKER,
                marker_turn=off,
                noise=3e-4,
                seed=k,
            )
        )
    options = replace(NO_OPTIONS, fit_markers=("quad1", "quad2"))
    found = compare(recording(*sims), recording(*reals, name="real"), options)
    # at 1 m/s a millisecond is a millimetre; see the test of the clock for the orders
    assert found.clock.seconds == pytest.approx(0.4321 - EPOCH * 1e-9, abs=3e-4, rel=0)
    assert (found.alignment.rotation * rotation.inv()).magnitude() < 1e-3
    for body in ("quad1", "quad2"):
        np.testing.assert_allclose(found.alignment.markers[body], MARKER, atol=1e-3)
        figures = found.bodies[body].figures()
        assert figures["position_rmse_m"] == pytest.approx(np.sqrt(3) * 3e-4, rel=0.35)
        assert figures["attitude_rmse_deg"] < 0.1


# -- errors -------------------------------------------------------------------------------------------------------

STAMPS = np.rint(1e9 * TIME).astype(np.int64)


def test_a_constant_offset_of_attitude():
    """Real to simulated in the body's axes: R_sim = R_real exp(e)."""
    e = np.array([0.01, -0.02, 0.03])
    sim = Samples(place(TIME), (turn(TIME) * Rotation.from_matrix(expm(np.array(
        [[0, -e[2], e[1]], [e[2], 0, -e[0]], [-e[1], e[0], 0]])))).as_quat(scalar_first=True))  # fmt: skip
    errors = body_errors("quad1", STAMPS, sim, samples(TIME))
    np.testing.assert_allclose(errors.attitude, np.tile(e, (len(TIME), 1)), atol=1e-12)
    figures = errors.figures()
    degrees = np.degrees(np.linalg.norm(e))
    assert figures["attitude_rmse_deg"] == pytest.approx(degrees, rel=1e-9)
    assert figures["attitude_error_max_deg"] == pytest.approx(degrees, rel=1e-9)
    np.testing.assert_allclose(figures["attitude_mean_deg"], np.degrees(e), rtol=1e-9)
    assert figures["position_rmse_m"] == 0.0


def test_a_constant_offset_of_position():
    shift = np.array([0.003, -0.004, 0.012])  # 13 mm
    real = samples(TIME, where=lambda t: place(t) - shift)
    figures = body_errors("quad1", STAMPS, samples(TIME), real).figures()
    assert figures["position_rmse_m"] == pytest.approx(0.013, rel=1e-9)
    assert figures["position_error_max_m"] == pytest.approx(0.013, rel=1e-9)
    np.testing.assert_allclose(figures["position_mean_xyz_m"], shift, atol=1e-12)
    np.testing.assert_allclose(figures["position_rmse_xyz_m"], np.abs(shift), atol=1e-12)
    assert figures["poses"] == len(TIME)


def test_rates_from_attitudes():
    """A body that turns with w in its own axes against one that keeps still."""
    w = np.array([0.5, -1.0, 2.0])
    spin = samples(
        TIME,
        attitude=lambda t: (
            Rotation.from_rotvec([0.3, 0.2, 0.1]) * Rotation.from_rotvec(t[:, None] * w)
        ),
    )
    still = samples(TIME, attitude=lambda t: Rotation.identity(len(t)))
    errors = body_errors("quad1", STAMPS, spin, still)
    known = np.isfinite(errors.rate).all(axis=1)
    assert known.sum() >= len(TIME) - 10  # ends of 25 ms are unknown
    np.testing.assert_allclose(errors.rate[known], np.tile(w, (known.sum(), 1)), atol=1e-9)
    assert errors.figures()["rate_rmse_deg_s"] == pytest.approx(
        np.degrees(np.linalg.norm(w)), rel=1e-9
    )


def test_recorded_rates_are_taken_as_they_are():
    sim = replace(samples(TIME), rates=np.tile([0.1, 0.0, 0.0], (len(TIME), 1)))
    real = replace(samples(TIME), rates=np.zeros((len(TIME), 3)))
    errors = body_errors("quad1", STAMPS, sim, real)
    np.testing.assert_array_equal(errors.rate, sim.rates)


def test_rates_beside_a_gap_of_sim():
    """SIM may be any recording. After 2 s without poses the turn between neighbours says nothing of the rate."""
    w = np.array([0.0, 0.0, 2.0])
    rows = (TIME < 8.0) | (TIME > 10.0)
    attitudes = Rotation.from_rotvec(TIME[:, None] * w).as_quat(scalar_first=True)
    sim = Samples(place(TIME), attitudes, None, np.tile(w, (len(TIME), 1)))
    errors = body_errors(
        "quad1", STAMPS[rows], sim.at(rows), Samples(place(TIME), attitudes).at(rows)
    )
    rate = errors.rate[np.isfinite(errors.rate).all(axis=1)]
    np.testing.assert_allclose(rate, 0.0, atol=1e-9)


def test_gaps_are_unknown():
    sim, real = samples(TIME), samples(TIME)
    real.positions[500:600] = np.nan
    real.attitudes[500:600] = np.nan
    errors = body_errors("quad1", STAMPS, sim, real)
    gap = np.zeros(len(TIME), bool)
    gap[500:600] = True
    for values in (errors.position, errors.sim, errors.real, errors.attitude):
        np.testing.assert_array_equal(np.isnan(values).all(axis=1), gap)
    assert errors.figures()["poses"] == len(TIME) - 100
    assert errors.figures()["position_rmse_m"] == 0.0


def test_spectrum_of_a_known_oscillation():
    """Parseval: the area under the density is the mean square. 64 periods fit into each segment of 1024, so no bin leaks.

    With a Hann window a line spreads over three bins; their sum is exact.
    """
    n, rate = 4096, 100.0
    frequency = 16 * rate / 256
    t = np.arange(n) / rate
    error = np.zeros((n, 3))
    error[:, 0], error[:, 2] = (
        0.004 * np.sin(2 * np.pi * frequency * t),
        0.003 * np.cos(2 * np.pi * frequency * t),
    )
    body = BodyErrors("quad1", t, error, np.zeros((n, 3)))
    f, density = body.spectrum()
    assert f[np.argmax(density)] == pytest.approx(frequency)
    mean_square = (error**2).sum(axis=1).mean()
    assert density.sum() * (f[1] - f[0]) == pytest.approx(mean_square, rel=1e-6)
    assert mean_square == pytest.approx(0.5 * (0.004**2 + 0.003**2), rel=1e-6)
    assert body.figures()["dominant_frequency_hz"] == pytest.approx(frequency)


def test_spectrum_of_noise():
    """White noise: flat at 2 s^2 / rate per axis. Of 7 overlapping segments each bin spreads by a half; the sum by less."""
    rng = np.random.default_rng(4)
    t = np.arange(16384) / 100.0
    body = BodyErrors("b", t, 1e-3 * rng.normal(size=(len(t), 3)), np.zeros((len(t), 3)))
    _, density = body.spectrum()
    assert density[5:-5].mean() == pytest.approx(3 * 2 * 1e-6 / 100.0, rel=0.05)


@pytest.mark.parametrize("rate", [20.0, 100.0, 500.0])
def test_slow_residuals_have_a_frequency(rate):
    """Segments of 256 samples, whatever their rate, named nothing below rate/256: 0.78 Hz for 0.1 Hz at 200 Hz."""
    t = np.arange(round(40.0 * rate)) / rate
    error = np.zeros((len(t), 3))
    error[:, 1] = 0.02 * np.sin(2.0 * np.pi * 0.1 * t)
    figures = BodyErrors("b", t, error, np.zeros_like(error)).figures()
    assert figures["frequency_step_hz"] <= 0.1 + 1e-9
    assert figures["dominant_frequency_hz"] == pytest.approx(0.1, abs=figures["frequency_step_hz"])
    nothing = BodyErrors("b", t, 1e-12 * error, np.zeros_like(error)).figures()
    assert nothing["dominant_frequency_hz"] is None


def test_point_masses_have_no_attitude_to_compare(tmp_path):
    """That of their markers was compared with the identity, and failed the bounds of attitudes."""
    flight = fly(load_scenario("three_crazyflies_point_mass"), duration=3.0)
    write_bag(flight, tmp_path / "sim")
    row = flight.names.index("payload")
    turned = flight.states.copy()
    swing = Rotation.from_euler("x", 0.4 * np.sin(flight.elapsed)[:, None])
    turned[:, row, 3:7] = swing.as_quat(scalar_first=True)
    write_bag(replace(flight, states=turned), tmp_path / "real")
    sim, real = (open_recording(tmp_path / name) for name in ("sim", "real"))
    found = compare(sim, real, CompareOptions(offset=0.0, align="none")).summary()["bodies"]
    assert (
        found["payload"]["attitude_rmse_deg"] is None
        and found["payload"]["rate_rmse_deg_s"] is None
    )
    assert found["payload"]["position_rmse_m"] < 1e-9
    assert found["cf1" if "cf1" in found else "quad1"]["attitude_rmse_deg"] is not None


def test_spectrum_of_the_longest_stretch():
    t = np.arange(2000) / 100.0
    error = np.zeros((2000, 3))
    error[:800, 0] = np.sin(2 * np.pi * 5.0 * t[:800])
    error[800] = np.nan
    error[801:, 0] = np.sin(2 * np.pi * 20.0 * t[801:])
    assert BodyErrors("b", t, error, np.zeros((2000, 3))).figures()[
        "dominant_frequency_hz"
    ] == pytest.approx(20.0, abs=0.2)
    short = BodyErrors("b", t[:12], error[:12], np.zeros((12, 3)))
    assert short.spectrum()[1].size == 0 and short.figures()["dominant_frequency_hz"] is None


def test_runs():
    flags = np.array([1, 1, 0, 1, 0, 0, 1, 1, 1], bool)
    assert runs(flags) == [(0, 2), (3, 4), (6, 9)] and longest(flags) == slice(6, 9)
    assert runs(np.zeros(3, bool)) == [] and longest(np.zeros(3, bool)) == slice(0, 0)
    assert intervals(np.arange(9.0), flags) == [[0.0, 1.0], [3.0, 3.0], [6.0, 8.0]]


def test_the_error_of_interpolation_is_bounded():
    """A real recording of 20 Hz: chords leave out a dt^2 / 8 = 3 * 0.05^2 / 8 m at most."""
    sim, real = track(0.0, 20.0, 200.0), track(0.0, 20.0, 20.0)
    found = compare(recording(sim), recording(real), replace(NO_OPTIONS, offset=0.0, align="none"))
    fastest = np.linalg.norm(np.diff(place(TIME), 2, axis=0), axis=1).max() / 0.01**2
    largest = found.bodies["quad1"].figures()["position_error_max_m"]
    assert 0.5 * fastest * 0.05**2 / 8 < largest <= 1.01 * fastest * 0.05**2 / 8


def test_times_are_since_the_start_of_sim():
    options = replace(NO_OPTIONS, offset=0.0, start=5.0, end=9.0)
    found = compare(recording(track(0.0, 20.0, 100.0)), recording(track(0.0, 20.0, 100.0)), options)
    time = found.bodies["quad1"].time
    assert (time[0], time[-1]) == pytest.approx((5.0, 9.0))


def test_a_part_counts():
    def where(t):
        return place(t) + np.where((t > 5.0) & (t < 9.0), 0.01, 0.0)[:, None]

    sim, real = recording(track(0.0, 20.0, 100.0, where=where)), recording(track(0.0, 20.0, 100.0))
    base = replace(NO_OPTIONS, offset=0.0, align="none")

    def rmse(**part):
        return (
            compare(sim, real, replace(base, **part)).bodies["quad1"].figures()["position_rmse_m"]
        )

    assert rmse(start=5.5, end=8.5) == pytest.approx(0.01 * np.sqrt(3), rel=1e-9)
    assert rmse(start=9.5) == 0.0 and rmse(end=4.5) == 0.0
    with pytest.raises(ConfigError, match=r"only 0 poses .* Correct --from or --to"):
        rmse(start=30.0)


def test_who_is_who():
    sim = recording(track(0.0, 10.0, 100.0, body="quad1"), track(0.0, 10.0, 100.0, body="payload"))
    real = recording(
        track(0.0, 10.0, 100.0, body="cf1"), track(0.0, 10.0, 100.0, body="ball"), name="real"
    )
    with pytest.raises(
        ConfigError, match=r"sim holds quad1, payload; real holds cf1, ball.*--body SIM=REAL"
    ):
        compare(sim, real, NO_OPTIONS)
    found = compare(sim, real, replace(NO_OPTIONS, bodies={"payload": "ball"}, offset=0.0))
    assert list(found.bodies) == ["payload"] and found.sources["payload"] == (
        "/payload/pose",
        "/ball/pose",
    )
    with pytest.raises(ConfigError, match="real: holds no path of quad7; it holds cf1, ball"):
        compare(sim, real, replace(NO_OPTIONS, bodies={"quad1": "quad7"}))
    alone = compare(
        recording(sim.tracks[0]), recording(real.tracks[1]), replace(NO_OPTIONS, offset=0.0)
    )
    assert list(alone.bodies) == ["quad1"]


def test_topics_of_bodies_that_are_none():
    pair = recording(track(0.0, 10.0, 100.0)), recording(track(0.0, 10.0, 100.0))
    with pytest.raises(ConfigError, match="quda1"):
        compare(*pair, replace(NO_OPTIONS, offset=0.0, sim_topics={"quda1": "/quad1/odom"}))


# -- tensions -----------------------------------------------------------------------------------------------------

G = 9.81


def test_statics_of_two_cables():
    """A load between two cables at angles a, b from the vertical: T_1 = m g sin b / sin(a + b) and the other way round."""
    a, b, mass = 0.5, 0.3, 0.7
    directions = np.array([[[np.sin(a), 0, np.cos(a)], [-np.sin(b), 0, np.cos(b)]]])
    tensions = balanced_tensions(np.zeros((1, 3)), directions, mass, G)
    np.testing.assert_allclose(
        tensions,
        [[mass * G * np.sin(b) / np.sin(a + b), mass * G * np.sin(a) / np.sin(a + b)]],
        rtol=1e-12,
    )


def test_statics_of_three_cables():
    """A tripod that leans outwards by a: each carries a third of the weight over cos a; falling or pulled up, in proportion."""
    lean, mass = np.radians(30.0), 0.010
    around = 2 * np.pi * np.arange(3) / 3
    d = np.column_stack(
        [np.sin(lean) * np.cos(around), np.sin(lean) * np.sin(around), np.full(3, np.cos(lean))]
    )
    acc = np.array([[0, 0, 0], [0, 0, 2.0], [0, 0, -G]], float)
    tensions = balanced_tensions(acc, np.tile(d, (3, 1, 1)), mass, G)
    each = mass * (G + acc[:, 2]) / (3 * np.cos(lean))
    np.testing.assert_allclose(tensions, np.tile(each[:, None], (1, 3)), atol=1e-12)
    # pushed sideways: forces of all cables and the weight add up to m a
    acc = np.array([[0.5, -0.3, 0.2]])
    t = balanced_tensions(acc, d[None], mass, G)[0]
    assert (t > 0).all()
    np.testing.assert_allclose(t @ d, mass * (acc[0] + [0, 0, G]), atol=1e-13)


def test_cables_never_push():
    """Driven harder to the side than gravity lets two cables follow, one is slack; no tension is negative."""
    d = np.array([[[0.3, 0, np.sqrt(1 - 0.09)], [-0.3, 0, np.sqrt(1 - 0.09)]]])
    t = balanced_tensions(np.array([[8.0, 0, 0]]), d, 1.0, G)[0]
    assert t[1] == 0.0 and t[0] > 0.0
    # what is left is at right angles to the cable that pulls
    assert (np.array([8.0, 0, G]) - t[0] * d[0, 0]) @ d[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_tensions_that_are_not_determined():
    """Three cables in one plane, two cables along one line, and rows that are unknown."""

    def unit(*angles):
        return [[np.sin(a), 0.0, np.cos(a)] for a in angles]

    assert np.isnan(
        balanced_tensions(np.zeros((1, 3)), np.array([unit(-0.5, 0.0, 0.4)]), 1.0, G)
    ).all()
    assert np.isnan(balanced_tensions(np.zeros((1, 3)), np.array([unit(0.2, 0.2)]), 1.0, G)).all()
    acc = np.array([[0, 0, 0], [np.nan, 0, 0]])
    d = np.array([unit(-0.5, 0.4)] * 2)
    found = balanced_tensions(acc, d, 1.0, G)
    assert np.isfinite(found[0]).all() and np.isnan(found[1]).all()


def test_acceleration_of_a_cubic_is_exact():
    t = np.arange(200) / 100.0
    coefficients = np.random.default_rng(1).normal(size=(4, 3))
    p = sum(c * t[:, None] ** k for k, c in enumerate(coefficients))
    truth = 2 * coefficients[2] + 6 * coefficients[3] * t[:, None]
    found = acceleration(p, 0.01)
    known = np.isfinite(found).all(axis=1)
    assert known.sum() == 200 - 2 * 12  # half of 25 samples at each end
    np.testing.assert_allclose(found[known], truth[known], atol=1e-8)
    p[100] = np.nan
    gap = np.isnan(acceleration(p, 0.01)).any(axis=1)
    assert gap[88:113].all() and not gap[87] and not gap[113]


def test_a_conical_pendulum():
    """T = m g / cos(theta) at w^2 = g / (l cos theta).

    A cubic over h = 0.125 s leaves out (w h)^2 / 14 of a harmonic acceleration (the fourth derivative's share of t^4 in
    the second Legendre polynomial), here 1.9 % of the part w^2 l sin(theta); the part along the cable is sin(theta) of it.
    """
    model = load_scenario("dragonfly_point_mass").model
    length, mass = model.cables[0].length_m, model.payloads[0].mass_kg
    theta = 0.5
    w = np.sqrt(G / (length * np.cos(theta)))
    t = np.arange(0.0, 6.0, 0.01)
    quad = np.zeros((len(t), 3)) + [0, 0, 2.0]
    cable = model.cables[0]
    vehicle = cable.b if cable.a == "payload" else cable.a
    point = np.array(cable.b_point_m if cable.a == "payload" else cable.a_point_m)
    arm = length * np.column_stack(
        [
            np.sin(theta) * np.cos(w * t),
            np.sin(theta) * np.sin(w * t),
            np.full(len(t), -np.cos(theta)),
        ]
    )
    bodies = {
        vehicle: Samples(quad, np.tile([1.0, 0, 0, 0], (len(t), 1))),
        "payload": Samples(quad + point + arm),
    }
    motion = cable_motions(model, G, bodies, 0.01)["cable1"]
    np.testing.assert_allclose(motion.distances, length, atol=1e-12)
    known = motion.tensions[np.isfinite(motion.tensions)]
    assert (
        len(known) > 500
        and motion.tension_from == "balance of the payload"
        and not motion.slack.any()
    )
    truth = mass * G / np.cos(theta)
    bias = mass * w**2 * length * np.sin(theta) ** 2 * (w * 0.125) ** 2 / 14
    np.testing.assert_allclose(known, truth, atol=1.1 * bias)
    assert bias < 0.02 * truth


def test_tensions_beside_a_gap_of_sim():
    """A steady climb of 0.3 m/s: the cable carries the weight, whatever the camera missed; or it is unknown."""
    model = load_scenario("dragonfly_point_mass").model
    cable = model.cables[0]
    stamps = STAMPS[(TIME < 8.0) | (TIME > 9.0)]
    quad = np.array([0.0, 0.0, 2.0]) + (1e-9 * stamps)[:, None] * [0.0, 0.0, 0.3]
    vehicle = cable.b if cable.a == "payload" else cable.a
    point = np.array(cable.b_point_m if cable.a == "payload" else cable.a_point_m)
    level = np.tile([1.0, 0, 0, 0], (len(stamps), 1))
    scenario = dump_scenario(load_scenario("dragonfly_point_mass"))
    tracks = (
        Track(vehicle, "/a", stamps, Samples(quad, level)),
        Track("payload", "/b", stamps, Samples(quad + point - [0.0, 0.0, cable.length_m])),
    )
    one = Recording("sim", "made", tracks, scenario)
    found = compare(one, one, replace(NO_OPTIONS, offset=0.0, align="none")).cables["cable1"]
    known = found.sim.tensions[np.isfinite(found.sim.tensions)]
    np.testing.assert_allclose(known, model.payloads[0].mass_kg * G, rtol=1e-6)


def test_slack_from_distances():
    """The payload comes 5 cm nearer for 0.3 s, and for 10 ms, which is noise; 5 mm nearer for 1 s, which is stretch."""
    model = load_scenario("dragonfly_point_mass").model
    cable = model.cables[0]
    t = np.arange(0.0, 5.0, 0.01)
    nearer = (
        np.where((t >= 1.0) & (t < 1.3), 0.05, 0.0)
        + np.where(np.isclose(t, 2.0), 0.05, 0.0)
        + np.where((t > 3) & (t < 4), 0.005, 0.0)
    )
    vehicle = cable.b if cable.a == "payload" else cable.a
    point = np.array(cable.b_point_m if cable.a == "payload" else cable.a_point_m)
    quad = np.zeros((len(t), 3)) + [0, 0, 2.0]
    load = quad + point - np.column_stack([0 * t, 0 * t, cable.length_m - nearer])
    motion = cable_motions(
        model,
        G,
        {vehicle: Samples(quad, np.tile([1.0, 0, 0, 0], (len(t), 1))), "payload": Samples(load)},
        0.01,
    )["cable1"]
    assert intervals(t, motion.slack) == [pytest.approx([1.0, 1.29])]
    figures = motion.figures(t)
    assert figures["length_median_m"] == pytest.approx(cable.length_m) and figures[
        "slack_intervals_s"
    ] == [pytest.approx([1.0, 1.29])]


def test_figures_of_an_unknown_cable():
    nan = np.full(20, np.nan)
    figures = CableMotion(nan, nan, np.zeros(20, bool)).figures(np.arange(20.0))
    assert (
        figures["length_median_m"] is None
        and figures["tension_median_n"] is None
        and figures["slack_intervals_s"] == []
    )


def test_cables_of_another_scenario():
    """Three cables in SIM, one in REAL: they are matched by place in a row, which REAL does not have."""
    three = load_scenario("three_crazyflies_point_mass")
    bodies = ("quad1", "quad2", "quad3", "payload")
    tracks = []
    for k, body in enumerate(bodies):

        def where(t, k=k):
            return place(t) + [0.2 * k, 0.1 * k * k, 0.0]

        tracks.append(track(0.0, 10.0, 100.0, body=body, where=where))
    stamps = tracks[0].stamps

    def rows(n):
        return CableRows(stamps, np.ones((len(stamps), n)), np.ones((len(stamps), n), bool))

    sim = Recording("sim", "made", tuple(tracks), dump_scenario(three), rows(3))
    real = Recording(
        "real", "made", tuple(tracks), dump_scenario(load_scenario("dragonfly_point_mass")), rows(1)
    )
    found = compare(sim, real, replace(NO_OPTIONS, offset=0.0, align="none"))
    assert set(found.bodies) == set(bodies)


# -- the program: evo, the command line, the report ----------------------------------------------------------------


def test_evo_agrees():
    """Two programs, one figure: APE of positions and of attitudes. TUM files hold nine decimals."""
    sim = track(0.0, 12.0, 100.0)
    real = track(
        1.0, 11.0, 100.0, EPOCH, 0.3, noise=2e-3, rotation=Rotation.from_rotvec([0.1, 0.2, 2.0])
    )
    found = compare(recording(sim), recording(real), CompareOptions())
    figures, evo = found.bodies["quad1"].figures(), found.evo["quad1"]
    assert evo["ape_m"]["rmse"] == pytest.approx(figures["position_rmse_m"], abs=1e-6)
    assert evo["ape_m"]["max"] == pytest.approx(figures["position_error_max_m"], abs=1e-6)
    assert evo["ape_deg"]["rmse"] == pytest.approx(figures["attitude_rmse_deg"], abs=1e-4)
    # of independent errors the difference over 1 s spreads sqrt(2) times as wide
    assert evo["rpe_1s_m"]["rmse"] == pytest.approx(
        np.sqrt(2) * figures["position_rmse_m"], rel=0.1
    )


def test_evo_on_less_than_a_second():
    pair = recording(track(0.0, 10.0, 100.0)), recording(track(0.0, 10.0, 100.0, noise=1e-3))
    found = compare(*pair, CompareOptions(offset=0.0, start=2.0, end=2.8, align="none"))
    assert found.bodies["quad1"].figures()["poses"] == 81


@pytest.fixture
def files(tmp_path):
    sim = track(0.0, 20.0, 100.0, noise=1e-3, seed=1)
    real = track(
        1.0,
        19.0,
        120.0,
        EPOCH,
        0.3,
        noise=1e-3,
        seed=2,
        rotation=Rotation.from_rotvec([0.1, 0.2, 2.0]),
    )
    for name, one in (("sim.tum", sim), ("real.tum", real)):
        write_tum(tmp_path / name, one)
    return tmp_path, [str(tmp_path / "sim.tum"), str(tmp_path / "real.tum")]


def no_constant(text):
    raise AssertionError(f"{text} in JSON")


def foreign(page):
    """Addresses that a browser would fetch from elsewhere; scripts are searched for attributes, not for texts."""
    found = re.findall(
        r"""<(?:script|link|img|iframe|source|object|embed)\b[^>]*?\b(?:src|href|data)\s*=\s*["']?([^"'\s>]+)""",
        page,
        re.I,
    )
    found += re.findall(r"@import\s+(?:url\()?[\"']?(https?:[^\"')]+)", page) + re.findall(
        r"url\(\s*[\"']?(https?:[^\"')]+)", page
    )
    return [address for address in found if not address.startswith("data:")]


def test_the_search_for_foreign_addresses_finds_them():
    page = '<script src="https://cdn.example/x.js"></script><link rel="s" href=//cdn.example/y.css><img src="data:abc">'
    assert foreign(page) == ["https://cdn.example/x.js", "//cdn.example/y.css"]


def test_the_command_and_its_files(files, capsys):
    folder, names = files
    out = folder / "out"
    code = main(
        [
            "compare",
            *names,
            "--body",
            "sim=real",
            "--no-evo",
            "--out",
            str(out),
            "--max-position-rmse",
            "0.01",
        ]
    )
    assert code == 0
    printed = capsys.readouterr().out
    assert "time offset" in printed and "report.html, summary.json, errors.csv" in printed
    summary = json.loads((out / "summary.json").read_text(), parse_constant=no_constant)
    assert summary["time_offset_s"] == pytest.approx(0.3 - EPOCH * 1e-9, abs=1e-3, rel=0)
    # two noises of 1 mm per axis, one of them between poses of a finer rate: at least one, at most both
    assert np.sqrt(3) * 1e-3 < summary["bodies"]["sim"]["position_rmse_m"] < np.sqrt(6) * 1.05e-3
    assert summary["evo"] == {} and summary["cables"] == {}
    with (out / "errors.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["time_s"] + [
        f"sim_{what}_{a}_m" for what in ("sim", "real", "error") for a in "xyz"
    ] + [f"sim_attitude_error_{a}_rad" for a in "xyz"]
    table = {k: np.array([float(r[k] or "nan") for r in rows]) for k in rows[0]}
    squares = sum(table[f"sim_error_{a}_m"] ** 2 for a in "xyz")
    assert np.sqrt(np.nanmean(squares)) == pytest.approx(
        summary["bodies"]["sim"]["position_rmse_m"], rel=1e-6
    )
    np.testing.assert_allclose(
        table["sim_sim_x_m"] - table["sim_real_x_m"], table["sim_error_x_m"], atol=1e-8
    )
    page = (out / "report.html").read_text()
    assert foreign(page) == [] and page.count("<script") >= 2


@pytest.mark.parametrize("option, code", [
    ("--max-position-rmse=0.5", 0), ("--max-position-rmse=1e-5", 1), ("--max-position-error=1e-5", 1),
    ("--max-attitude-rmse=1e-9", 1), ("--max-attitude-rmse=5", 0), ("--max-rate-rmse=1e-9", 1),
])  # fmt: skip
def test_limits(files, capsys, option, code):
    folder, names = files
    arguments = [
        "compare",
        *names,
        "--body",
        "sim=real",
        "--no-evo",
        "--time-offset",
        repr(0.3 - EPOCH * 1e-9),
        "--out",
        str(folder / "out"),
    ]
    assert main([*arguments, option]) == code
    assert ("above its limit: sim:" in capsys.readouterr().out) == bool(code)


def test_a_limit_that_cannot_be_measured(tmp_path, capsys):
    """Markers have no attitude: a limit on it is not met."""
    text = "Trajectories\n100\n,,{}:m,,\nFrame,Sub Frame,X,Y,Z\n,,mm,mm,mm\n"
    rows = "".join(
        f"{i},0,{','.join(f'{1e3 * v:.4f}' for v in p)}\n" for i, p in enumerate(place(TIME))
    )
    (tmp_path / "a.csv").write_text(text.format("a") + rows)
    arguments = [
        "compare",
        str(tmp_path / "a.csv"),
        str(tmp_path / "a.csv"),
        "--no-evo",
        "--time-offset",
        "0",
        "--out",
        str(tmp_path / "o"),
    ]
    assert main([*arguments, "--max-attitude-rmse", "5"]) == 1
    assert "--max-attitude-rmse: no body has that figure" in capsys.readouterr().out


MISTAKES = [
    (["--body", "sim"], "--body: must look like NAME=VALUE, got 'sim'"),
    (["--body", "sim=real", "--marker", "sim=1,2"], "--marker sim: must be three numbers X,Y,Z"),
    (["--body", "sim=real", "--marker", "sim=1,2,x"], "--marker sim: must be three numbers X,Y,Z"),
    (["--body", "sim=real", "--time-offset", "0"], "do not overlap in time"),
    (["--body", "sim=other"], "holds no path of other; it holds real"),
    (["--body", "sim=real", "--from", "50"], "Correct --from or --to"),
    (["--body", "sim=real", "--sim-topic", "sim=/x"], "sim is not in /x; it is in sim.tum"),
    (["--body", "sim=real", "--real-topic", "sim=/x"], "real is not in /x; it is in real.tum"),
]


@pytest.mark.parametrize("options, message", MISTAKES)
def test_mistakes_are_explained(files, capsys, options, message):
    folder, names = files
    assert main(["compare", *names, "--no-evo", "--out", str(folder / "out"), *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith("error: ") and "Traceback" not in error


def test_files_that_are_not_there(files, capsys):
    folder, names = files
    assert main(["compare", names[0], str(folder / "none.tum")]) == 2
    assert "there is no such file or folder. Give a ROS 2 bag" in capsys.readouterr().err
    (folder / "full").mkdir()
    (folder / "full" / "x").write_text("")
    assert (
        main(["compare", *names, "--body", "sim=real", "--no-evo", "--out", str(folder / "full")])
        == 2
    )
    assert "exists and is not empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", ["--time-offset=nan", "--from=nan", "--to=nan", "--time-offset=inf"]
)
def test_numbers_that_are_none(files, capsys, option):
    folder, names = files
    with pytest.raises(SystemExit, match="2"):
        main(
            [
                "compare",
                *names,
                "--body",
                "sim=real",
                "--no-evo",
                "--out",
                str(folder / "out"),
                option,
            ]
        )
    assert "must be finite" in capsys.readouterr().err


def test_a_mistake_leaves_nothing_behind(files):
    folder, names = files
    assert (
        main(["compare", *names, "--body", "sim=other", "--no-evo", "--out", str(folder / "out")])
        == 2
    )
    assert not (folder / "out").exists()


def test_real_topics_by_their_names_in_real(files):
    folder, names = files
    arguments = ["compare", *names, "--body", "sim=real", "--no-evo", "--out", str(folder / "out")]
    assert main([*arguments, "--real-topic", "real=/x"]) == 2


def test_names_with_markup(files):
    """A name from a file is a text, in the table and in the plots."""
    folder, names = files
    odd = folder / "<b>&.tum"
    odd.write_bytes((folder / "sim.tum").read_bytes())
    assert (
        main(
            [
                "compare",
                str(odd),
                names[1],
                "--body",
                "<b>&=real",
                "--no-evo",
                "--out",
                str(folder / "out"),
            ]
        )
        == 0
    )
    page = (folder / "out" / "report.html").read_text()
    body = page[page.index("<body>") :]
    assert "&lt;b&gt;&amp;" in body and "<b>" not in re.sub(
        r"<script.*?</script>", "", body, flags=re.S
    )


def test_a_body_that_was_lost_early_does_not_spoil_the_search_for_the_clock():
    """It was seen before the flight alone, and the lags of all had to be among its own."""

    def where(t):
        return place(t + 4.0)

    sim = recording(track(0.0, 20.0, 100.0), track(0.0, 20.0, 100.0, body="quad2", where=where))
    late = 45.0

    def stands(t):
        return place(np.clip(t - late, 0.0, 20.0))

    def stands_too(t):
        return where(np.clip(t - late, 0.0, 20.0))

    real = recording(
        track(0.0, 70.0, 100.0, where=stands),
        track(0.0, 5.0, 100.0, body="quad2", where=stands_too),
        name="real",
    )
    found = compare(sim, real, replace(NO_OPTIONS, align="none"))
    assert abs(found.clock.seconds) == pytest.approx(late, abs=2e-3)


def test_a_cable_that_was_cut_is_neither_long_nor_slack():
    """1.55 m long, and slack until the end, was a cable of one metre that had been cut half way."""
    n = 200
    a = Samples(np.zeros((n, 3)))
    falls = np.zeros((n, 3))
    falls[:, 2] = -1.0 - np.maximum(np.linspace(-2.0, 2.0, n), 0.0)
    whole = np.linspace(-2.0, 2.0, n) < 0.0
    model = load_scenario("dragonfly_point_mass").model
    cable = model.cables[0]
    bodies = {cable.a: a, cable.b: Samples(falls)}
    recorded = {"cable1": (np.where(whole, 2.0, 0.0), whole, whole)}
    motion = cable_motions(model, 9.81, bodies, 0.02, recorded)["cable1"]
    assert not motion.slack.any()
    assert motion.figures(np.arange(n) * 0.02)["length_median_m"] == pytest.approx(1.0)


@pytest.mark.parametrize("drift", [0.0, 3e-4, 5e-3])
def test_clocks_that_drift_apart_are_told_of(drift):
    """0.5 % over 20 s looked like errors of 60 mm; 0.3 ms per second over 20 s are below what counts."""
    sim, real = (track(0.0, 20.0, 100.0, noise=1e-4, seed=k) for k in (0, 1))
    real = replace(real, stamps=np.rint(real.stamps * (1.0 + drift)).astype(np.int64))
    sim, real = recording(sim), recording(real, name="real")
    result = compare(sim, real, NO_OPTIONS)
    told = [note for note in result.notes if "drift apart by about" in note]
    assert len(told) == (drift > 1e-3)
    if told:
        # a little of it is taken for another frame
        assert 4.0 < float(re.search(r"about (\S+) ms per second", told[0])[1]) < 5.5


def test_what_is_left_out_is_told():
    """Bodies without a partner, a short common part, topics that show a body as well, attitudes of one side alone."""
    sim = recording(*(track(0.0, 20.0, 100.0, body=b) for b in ("quad1", "quad2")))
    other = track(0.0, 3.0, 100.0, body="Quad2")
    real = recording(track(0.0, 3.0, 100.0), replace(other), name="real")
    notes = compare(sim, real, NO_OPTIONS).notes
    assert any("not compared: quad2" in n and "also holds Quad2" in n for n in notes)
    assert any(n.startswith("quad1: only ") and "of 19.99 s" in n for n in notes), notes
    twice = recording(track(0.0, 20.0, 100.0), replace(track(0.0, 20.0, 100.0), source="/b/pose"))
    notes = compare(sim, twice, replace(NO_OPTIONS, bodies={"quad1": "quad1"})).notes
    assert [n for n in notes if "taken from /quad1/pose; it is in /b/pose, too" in n]
    assert not [n for n in notes if "not compared" in n]  # somebody has said which count
    options = SimpleNamespace(**{name.replace("-", "_"): None for name in LIMITS}, max_attitude=1.0)
    options.max_attitude_rmse = 1.0
    known, unknown = (
        {f: 0.5 for f, _ in LIMITS.values()},
        dict.fromkeys(f for f, _ in LIMITS.values()),
    )
    assert not _over({"quad1": known, "load": unknown}, ["load"], options)
    (line,) = _over({"quad1": known, "quad2": unknown}, ["load"], options)
    assert "quad2" in line and "not known in both" in line
