"""Loss of power at any time: what was finished is there, whole; and disks that are full, read-only or slow."""

import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from mcap.reader import make_reader
from power_loss import Disk, after_power_loss
from rosbags.typesys import Stores, get_typestore

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError, RotorError
from rotor_core.saved.durable import sync_folder, write_durably
from rotor_flight.checkpoint import load, save
from rotor_flight.loop import ClosedLoop
from rotor_flight.studies.run import sweep
from rotor_recordings.live.bag import LiveBag
from rotor_recordings.live.recover import recover

STEP_NS = 10_000_000
STUDY = """\
schema: 1
scenario: dragonfly_point_mass
flights: 12
chunk: 4
check_flights: 0
duration_s: 0.2
method: random
vary: [{at: [plant.payload.mass_kg], between: [0.05, 0.1]}]
metrics: [position_rmse_m]
"""


def write_for(bag, seconds, begin=0.0, pause=0.0):
    """Messages of a clock for some seconds; returns the stamp of the last."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    kind = "rosgraph_msgs/msg/Clock"
    if not hasattr(bag, "of_test"):
        bag.of_test = bag.add("/clock", kind, store, [])
    make, time_of = store.types[kind], store.types["builtin_interfaces/msg/Time"]
    for k in range(round(seconds * 1e9 / STEP_NS)):
        stamp = round(begin * 1e9) + k * STEP_NS
        message = make(time_of(sec=stamp // 10**9, nanosec=stamp % 10**9))
        bag.write(bag.of_test, stamp, bytes(store.serialize_cdr(message, kind)))
        bag.flush_if_due()
        time.sleep(pause)
    return stamp


def stamps(bag):
    """Times of all messages, by another library."""
    with next(bag.glob("*.mcap")).open("rb") as file:
        return [m.log_time for _, _, m in make_reader(file).iter_messages()]


def test_the_disk_of_these_tests_loses_what_was_not_synced(tmp_path):
    """Contents without a sync, and names whose folder was not synced after them."""
    folder = tmp_path / "x"
    folder.mkdir()
    with Disk(tmp_path / "shadow", tmp_path):
        write_durably(folder / "safe", b"old")
        (folder / "empty").write_bytes(b"its name is synced with that of its neighbour")
        write_durably(folder / "safe", b"new")
        (folder / "safe").write_bytes(b"newer, but not synced")
        (folder / "lost").write_bytes(b"and its name is not synced")
        sync_folder(tmp_path)
    left = after_power_loss(tmp_path / "shadow", folder, tmp_path / "left")
    assert {p.name: p.read_bytes() for p in left.iterdir()} == {"safe": b"new", "empty": b""}


def test_writers_of_one_file_take_turns(tmp_path):
    """Every writing is whole, and nothing is left: not of these, nor of one that was killed before."""
    file = tmp_path / "file"
    file.with_name("file.part").write_bytes(b"longer than all others" * 100_000)
    texts = [bytes([i]) * (100 + i * 1000) for i in range(8)]
    with ThreadPoolExecutor(len(texts)) as pool:  # a lock is of an open file, threads meet it too
        for writer in [pool.submit(write_durably, file, t) for t in texts * 8]:
            writer.result()
    assert file.read_bytes() in texts
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_bag_survives_up_to_the_last_second(tmp_path):
    with Disk(tmp_path / "shadow", tmp_path):
        bag = LiveBag(tmp_path / "deep" / "bag", "scenario: x\n")
        last = write_for(bag, 3.0, pause=0.001)
        end = time.monotonic() + 10.0
        while bag.behind and time.monotonic() < end:
            time.sleep(0.01)
        left = after_power_loss(tmp_path / "shadow", tmp_path / "deep", tmp_path / "left") / "bag"
        bag.close()
        whole = after_power_loss(tmp_path / "shadow", tmp_path / "deep", tmp_path / "whole") / "bag"
    assert (left / "scenario.yaml").read_text() == "scenario: x\n"
    assert not (left / "metadata.yaml").exists()
    assert recover(left).kept is not None
    found = stamps(left)
    assert found == list(range(0, found[-1] + 1, STEP_NS)) and last - found[-1] < 10**9
    assert stamps(whole) == list(range(0, last + 1, STEP_NS))  # closed: nothing is lost any more
    assert (whole / "metadata.yaml").exists() and not (whole / "scenario.yaml").exists()


def test_a_slow_disk_keeps_nobody_waiting(tmp_path):
    """Every sync takes a second; messages go on into the file meanwhile, and it is told how far the disk is behind."""
    with Disk(tmp_path / "shadow", tmp_path, delay=1.0):
        bag = LiveBag(tmp_path / "bag", "scenario: x\n")
        slowest, behind = 0.0, 0.0
        for k in range(30):
            began = time.monotonic()
            last = write_for(bag, 0.1, begin=0.1 * k)
            slowest = max(slowest, time.monotonic() - began)
            behind = max(behind, bag.behind)
            time.sleep(0.05)
        bag.close()
    assert slowest < 0.9  # a sync in between would take a second
    assert behind > 0.5
    assert stamps(tmp_path / "bag") == list(range(0, last + 1, STEP_NS))


def test_a_disk_that_fails_is_told_and_the_bag_can_be_recovered(tmp_path, monkeypatch):
    bag = LiveBag(tmp_path / "bag", "scenario: x\n")
    write_for(bag, 1.0)

    def fails(_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(RotorError, match=r"writing failed \(Input/output error\).*rotor recover"):
        for k in range(50):
            write_for(bag, 0.5, begin=1.0 + 0.5 * k)
    monkeypatch.undo()
    recover(tmp_path / "bag")
    assert len(stamps(tmp_path / "bag")) >= 100


def test_finished_flights_of_a_study_survive(tmp_path, monkeypatch):
    """Power is lost while the third chunk is flown: two are there, and the study goes on from them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY)
    whole = sweep("study.yaml", out="whole", workers=0)

    class PowerLost(BaseException):
        pass

    from rotor_flight.studies import run

    fly, calls = run.fly_chunk, []

    def until_power_is_lost(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise PowerLost
        return fly(*arguments)

    with Disk(tmp_path / "shadow", tmp_path):
        monkeypatch.setattr(run, "fly_chunk", until_power_is_lost)
        with pytest.raises(PowerLost):
            sweep("study.yaml", out="cut", workers=0)
        monkeypatch.setattr(run, "fly_chunk", fly)
    left = after_power_loss(tmp_path / "shadow", tmp_path / "cut", tmp_path / "left")
    chunks = sorted((left / run.CHUNKS).glob("*.parquet"))
    assert [pq.read_table(c).num_rows for c in chunks] == [4, 4]
    resumed = sweep("study.yaml", resume=str(left), workers=0)
    assert resumed.table.column("position_rmse_m") == whole.table.column("position_rmse_m")


def test_a_saved_flight_is_the_old_one_or_the_new_one(tmp_path):
    loop = ClosedLoop(load_scenario("dragonfly_point_mass"))
    loop.period()
    with Disk(tmp_path / "shadow", tmp_path):
        save(loop, tmp_path / "keep" / "a.flight")
        sync_folder(tmp_path)
    left = after_power_loss(tmp_path / "shadow", tmp_path / "keep", tmp_path / "left")
    np.testing.assert_array_equal(load(left / "a.flight").simulation.motion, loop.simulation.motion)


# --- real disks ---------------------------------------------------------------------------------------


@contextmanager
def mounted(folder: Path, options: str):
    """A file system of its own, where this user may mount one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this user may not mount file systems")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_ends_a_recording_whole(tmp_path):
    with mounted(tmp_path / "disk", "size=18m") as disk:
        bag = LiveBag(disk / "bag", "scenario: x\n")
        noise = np.random.default_rng(0)
        store = get_typestore(Stores.ROS2_HUMBLE)
        kind = "std_msgs/msg/ByteMultiArray"
        connection = bag.add("/noise", kind, store, [])
        make, layout = store.types[kind], store.types["std_msgs/msg/MultiArrayLayout"]
        with pytest.raises(RotorError, match="recording ended; the bag is whole up to here"):
            for k in range(1000):
                message = make(
                    layout(dim=[], data_offset=0), noise.integers(0, 256, 60000, np.uint8)
                )
                bag.write(connection, k * 100_000_000, bytes(store.serialize_cdr(message, kind)))
        assert len(stamps(disk / "bag")) > 5 and (disk / "bag" / "metadata.yaml").exists()
        (disk / "ballast").write_bytes(bytes(shutil.disk_usage(disk).free))
        loop = ClosedLoop(load_scenario("hover"))
        with pytest.raises(ConfigError, match=r"cannot be written \(No space left on device\)"):
            save(loop, disk / "a.flight")
        assert not list(disk.glob("*.part")) and not list(disk.glob("a.flight*"))


def test_a_read_only_disk_is_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY)
    with mounted(tmp_path / "disk", "size=64m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for attempt in (
            lambda: LiveBag(disk / "bag", "x"),
            lambda: save(ClosedLoop(load_scenario("hover")), disk / "a.flight"),
            lambda: sweep("study.yaml", out=str(disk / "out"), workers=0),
        ):
            with pytest.raises(RotorError, match="Read-only file system") as told:
                attempt()
            assert "\n" not in str(told.value)
