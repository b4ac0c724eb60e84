"""Recordings that were damaged on the way: paths that are numbers, or one line that names the file."""

import json

import numpy as np
import pytest
from fuzz import budget, damage, nasty
from fuzz.fence import fenced
from fuzz.samples import make_samples
from fuzz.trees import Vocabulary, changed
from fuzz.verdicts import ACCEPTED, UnclearError, judge

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError
from rotor_core.kernels.jit import cache_directory
from rotor_recordings.formats.flights import open_flight
from rotor_recordings.formats.open import open_recording
from rotor_recordings.predict.case import run_case

ROTATIONS = ["", "rotvec", "euler-fixed-xyz", "euler-moving-xyz"]


def check_recording(recording):
    """Stamps go on."""
    for track in recording.tracks:
        assert (np.diff(track.stamps) > 0).all(), "stamps do not go on"


@pytest.mark.timeout(budget.TIME_LIMIT)
def test_whatever_a_recording_holds_it_is_read_or_refused(tmp_path, monkeypatch):
    samples = make_samples(tmp_path)
    case = json.loads(samples["case.json"])
    words = Vocabulary([case])
    scenario = load_scenario("dragonfly_point_mass")
    paths = {name: tmp_path / name for name in samples}
    kinds = ["bag/bag.mcap"] * 4 + [n for n in samples if n != "bag/bag.mcap"] + ["case.json"] * 2
    assert set(kinds) == set(samples)
    monkeypatch.chdir(tmp_path)

    def attempt(rng, number):
        name = nasty.pick(rng, kinds)
        data = damage.damaged(rng, samples[name])
        if name == "case.json" and rng.random() < 0.8:
            data = json.dumps(changed(rng, case, words)).encode()
        paths[name].write_bytes(data)
        target = (
            paths["bag/bag.mcap"].parent
            if name.startswith("bag/") and rng.random() < 0.8
            else paths[name]
        )
        try:
            with fenced(tmp_path, cache_directory()) as fence, np.errstate(all="ignore"):
                read(rng, target)
        except ConfigError as error:
            if target.name not in str(error):
                raise UnclearError(f"does not name the file: {error}") from error
            raise
        finally:
            paths[name].write_bytes(samples[name])
        assert not fence.tried, f"written elsewhere: {fence.tried}"
        return ACCEPTED

    def read(rng, target):
        if target.suffix == ".json":
            run_case(target, tmp_path / "out.npz")
        elif rng.random() < 0.5 or target.suffix not in ("", ".mcap", ".npz"):
            check_recording(open_recording(str(target), rotation=nasty.pick(rng, ROTATIONS)))
        else:
            flight = open_flight(str(target), scenario if rng.random() < 0.5 else None)
            assert (np.diff(flight.time) > 0).all(), "times do not go on"

    judge("recordings", attempt)
