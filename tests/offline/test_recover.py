"""Bags that were cut off: what a kill, a full disk or a torn file leaves, and what comes back."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.records import Chunk, Message
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap.writer import Writer as McapWriter
from rosbags.highlevel import AnyReader

from rotor.cli import main
from rotor_core.config.loader import dump_scenario, load_scenario
from rotor_core.errors import ConfigError, RotorError
from rotor_flight.fly import fly
from rotor_recordings.formats.bag_flights import read_flight
from rotor_recordings.formats.bag_writer import write_bag
from rotor_recordings.formats.message_store import message_store
from rotor_recordings.formats.open import open_recording
from rotor_recordings.live import recover as recover_module
from rotor_recordings.live.bag import CHUNK_NS, RESERVE, SCENARIO_FILE, LiveBag
from rotor_recordings.live.recover import MAGIC, recover

STEP_NS = 10**7
KIND = "std_msgs/msg/String"


def live(path: Path, count: int, pause: float = 0.0, **options) -> LiveBag:
    """A bag with ``count`` numbered messages, 10 ms apart, that is not closed."""
    store = message_store([KIND])
    bag = LiveBag(path, "name: cut\n", **options)
    connection = bag.add("/numbers", KIND, store, [])
    String = store.types[KIND]
    for i in range(count):
        bag.write(connection, (i + 1) * STEP_NS, store.serialize_cdr(String(f"{i:06d}"), KIND))
        bag.flush_if_due()
        time.sleep(pause)
    return bag


def stamps(path: Path) -> list[int]:
    """Times of all messages, by another library than the one that wrote them."""
    with next(path.glob("*.mcap")).open("rb") as file:
        return [m.log_time for _, _, m in make_reader(file).iter_messages()]


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """A flight, and a bag of it."""
    folder = tmp_path_factory.mktemp("flown")
    flight = fly(load_scenario("dragonfly_point_mass"), duration=3.0)
    write_bag(flight, folder / "bag")
    return flight, folder / "bag"


WRITER = """
import sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_recover import live
live(Path({bag!r}), 10**6, pause=0.01)
"""


def test_a_killed_writer_loses_less_than_a_second(tmp_path):
    bag = tmp_path / "bag"
    code = WRITER.format(tests=str(Path(__file__).parent), bag=str(bag))
    process = subprocess.Popen([sys.executable, "-c", code])
    size = bag / "bag.mcap"
    end = time.monotonic() + 60.0
    while not (size.exists() and size.stat().st_size > 2000):  # three chunks or more
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    time.sleep(2.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with pytest.raises(RotorError, match="rotor recover"):
        open_recording(str(bag))
    found = recover(bag)
    times = stamps(bag)
    assert times == [(i + 1) * STEP_NS for i in range(len(times))]  # nothing between is missing
    assert found.messages == len(times) and found.kept == tmp_path / "bag.damaged"
    # 10 ms a message at least: 2.2 s gave up to 220 of them, of which a chunk may be lost
    assert len(times) >= 50
    assert not (bag / SCENARIO_FILE).exists() and "cut" in (bag / "metadata.yaml").read_text()


def test_what_waits_is_less_than_a_second_in_either_time(tmp_path):
    """Simulated time may run faster than the clock on the wall, or slower."""
    quick = live(tmp_path / "quick", 1000)
    assert 1000 * STEP_NS - stamps_unclosed(tmp_path / "quick")[-1] <= CHUNK_NS
    quick.close()
    slow = live(tmp_path / "slow", 30, pause=0.03)  # 0.3 s simulated in 0.9 s
    assert stamps_unclosed(tmp_path / "slow")
    slow.close()


def test_a_clock_that_jumps_loses_nothing(tmp_path):
    """An hour forth, back to the start (a reset of time), and a stamp of zero."""
    store = message_store([KIND])
    bag = LiveBag(tmp_path / "bag", "name: jumps\n")
    connection = bag.add("/numbers", KIND, store, [])
    times = [*range(1, 60), *range(360_000, 360_060), *range(1, 200), 0]
    for t in times:
        bag.write(connection, t * STEP_NS, store.serialize_cdr(store.types[KIND](str(t)), KIND))
    assert recover(tmp_path / "bag", tmp_path / "meanwhile").messages >= len(times) - 51
    bag.close()
    assert stamps(tmp_path / "bag") == sorted(t * STEP_NS for t in times)


def stamps_unclosed(path: Path) -> list[int]:
    out = path.with_name(path.name + "-copy")
    recover(path, out)
    return stamps(out)


def test_every_cut_of_a_flight_comes_back(flown, tmp_path):
    """Torn anywhere, the bag opens again and holds a beginning of the flight, to the bit."""
    flight, whole = flown
    data = (whole / "bag.mcap").read_bytes()
    rng = np.random.default_rng(5)
    cuts = sorted(int(c) for c in rng.integers(len(data) // 3, len(data) - 1, 12))
    counts = []
    for cut in cuts:
        torn = tmp_path / f"torn{cut}"
        torn.mkdir()
        (torn / "torn.mcap").write_bytes(data[:cut])
        (torn / SCENARIO_FILE).write_text(dump_scenario(flight.scenario))
        try:
            recover(torn)
        except RotorError as error:
            assert "no whole message" in str(error)
            counts.append(0)
            continue
        back = read_flight(torn)
        counts.append(len(back.time))
        rows = np.searchsorted(flight.time, back.time - 1e-6)
        np.testing.assert_allclose(back.states, flight.states[rows], atol=1e-12)
    assert counts == sorted(counts) and counts[-1] > 0


def test_what_stands_behind_a_damaged_chunk_comes_back(tmp_path):
    """Bytes that have flipped cost the chunk they are in: what came after them was thrown away too."""
    bag = live(tmp_path / "bag", 400)
    bag.close()
    file = next((tmp_path / "bag").glob("*.mcap"))
    chunks, times = [], []
    with file.open("rb") as stream:
        for record in StreamReader(stream, emit_chunks=True).records:
            if isinstance(record, Chunk):
                chunks.append((stream.tell(), len(record.data)))
                inner = breakup_chunk(record)
                times.append([m.log_time for m in inner if isinstance(m, Message)])
    assert len(chunks) > 4
    end, length = chunks[2]
    data = bytearray(file.read_bytes())
    for k in range(20):  # its head: what is in the middle may still be some text
        data[end - length + k] ^= 0xFF
    torn = tmp_path / "torn"
    torn.mkdir()
    (torn / "torn.mcap").write_bytes(data[: -len(MAGIC)])
    out = tmp_path / "out"
    found = recover(torn, out)
    left = [t for i, some in enumerate(times) for t in some if i != 2]
    assert stamps(out) == left and found.messages == len(left)
    assert found.lost > length


def test_a_whole_bag_stays_as_it_is(flown, capsys):
    _, whole = flown
    before = {p.name: p.read_bytes() for p in whole.iterdir()}
    assert main(["recover", str(whole)]) == 0
    assert "is whole" in capsys.readouterr().out
    assert {p.name: p.read_bytes() for p in whole.iterdir()} == before


def test_a_bag_without_metadata_comes_back(flown, tmp_path):
    """A kill between the end of the file and the metadata."""
    flight, whole = flown
    bag = tmp_path / "bag"
    bag.mkdir()
    (bag / "bag.mcap").write_bytes((whole / "bag.mcap").read_bytes())
    (bag / SCENARIO_FILE).write_text(dump_scenario(flight.scenario))
    recover(bag)
    np.testing.assert_allclose(read_flight(bag).states, flight.states, atol=1e-12)


def test_a_damaged_bag_that_was_closed_keeps_what_it_told(flown, tmp_path):
    """Its scenario stands in the metadata: of a file cut to 70 % it was thrown away."""
    flight, whole = flown
    bag = tmp_path / "bag"
    shutil.copytree(whole, bag)
    data = (bag / "bag.mcap").read_bytes()
    (bag / "bag.mcap").write_bytes(data[: int(0.7 * len(data))])
    recover(bag)
    found = read_flight(bag)
    assert found.scenario == flight.scenario and 10 < len(found.time) < len(flight.time)
    assert found.extra["integration"] == flight.extra["integration"]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda p: None, "no such file"),
        (lambda p: p.mkdir(), "holds no .mcap"),
        (lambda p: (p.mkdir(), (p / "a.mcap").write_bytes(b"")), "is not an MCAP file"),
        (lambda p: (p.mkdir(), (p / "a.mcap").write_bytes(MAGIC)), "no whole message"),
        (
            lambda p: (p.mkdir(), (p / "a.mcap").write_bytes(MAGIC + os.urandom(5000))),
            "no whole message",
        ),
        (lambda p: p.write_bytes(b"text"), "is not an MCAP file"),
        (
            lambda p: (p.mkdir(), (p / "a.mcap").write_bytes(MAGIC), (p / "thesis.tex").touch()),
            "holds more than a bag",
        ),
    ],
)
def test_what_is_no_bag_is_refused(tmp_path, make, text, capsys):
    make(tmp_path / "bag")
    before = sorted(tmp_path.rglob("*"))
    assert main(["recover", str(tmp_path / "bag")]) == 2
    assert text in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before  # nothing is left of the attempt


def test_recording_ends_whole_before_the_disk_is_full(tmp_path):
    room = iter([RESERVE * 2, RESERVE * 2, RESERVE - 1])
    with pytest.raises(RotorError, match="disk space"):
        live(tmp_path / "bag", 1000, free=lambda _: next(room))
    times = stamps(tmp_path / "bag")
    assert len(times) * STEP_NS >= CHUNK_NS and (tmp_path / "bag" / "metadata.yaml").exists()


def test_no_recording_begins_on_a_full_disk(tmp_path):
    with pytest.raises(RotorError, match="nothing was recorded"):
        LiveBag(tmp_path / "bag", "", free=lambda _: 0)
    assert not (tmp_path / "bag").exists()


def test_a_write_that_fails_says_how_to_go_on(tmp_path):
    """A limit on the size of files stands for a disk that fills at once."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, before[1]))
    try:
        with pytest.raises(RotorError, match="rotor recover") as caught:
            live(tmp_path / "bag", 10**5)
        assert isinstance(caught.value.__cause__, OSError)
        assert caught.value.__cause__.errno in (errno.EFBIG, errno.ENOSPC)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert recover(tmp_path / "bag").messages > 0
    assert stamps(tmp_path / "bag")[0] == STEP_NS


@pytest.mark.parametrize("metadata", [b"\xff\xfe", b"rosbag2_bagfile_information: 3\n"])
def test_damaged_metadata_stop_no_recovery(flown, tmp_path, metadata):
    _, whole = flown
    bag = tmp_path / "bag"
    shutil.copytree(whole, bag)
    data = (bag / "bag.mcap").read_bytes()
    (bag / "bag.mcap").write_bytes(data[: int(0.7 * len(data))])
    (bag / "metadata.yaml").write_bytes(metadata)
    assert recover(bag).messages > 100


def contents(path: Path) -> dict[int, bytes]:
    """Messages of a bag by their times."""
    with next(path.glob("*.mcap")).open("rb") as file:
        return {m.log_time: m.data for _, _, m in make_reader(file).iter_messages()}


def chunks_of(file: Path) -> list[tuple[int, int]]:
    """Where the chunks of a file begin and end, bytes."""
    with file.open("rb") as stream:
        found, before = [], 0
        for record in StreamReader(stream, emit_chunks=True).records:
            if isinstance(record, Chunk):
                found.append((before, stream.tell()))
            before = stream.tell()
    return found


def test_no_wrong_bit_comes_back_as_a_message(tmp_path):
    """Without checksums one bit of a chunk made other messages, and nobody noticed."""
    live(tmp_path / "bag", 400).close()
    told = contents(tmp_path / "bag")
    file = next((tmp_path / "bag").glob("*.mcap"))
    whole, rng = file.read_bytes(), np.random.default_rng(3)
    begin, end = chunks_of(file)[2]
    noticed = 0
    for k in range(20):
        bad = bytearray(whole)
        bad[int(rng.integers(begin + 80, end))] ^= 1 << int(rng.integers(8))
        folder = tmp_path / f"bad{k}"
        folder.mkdir()
        (folder / "bag.mcap").write_bytes(bad)
        found = recover(folder, tmp_path / f"out{k}")
        back = contents(found.path)
        assert all(told[stamp] == data for stamp, data in back.items())
        noticed += len(back) < len(told) and found.lost > 0
    assert noticed > 15


def test_a_damaged_first_chunk_costs_only_itself(tmp_path):
    """It tells the topics, but so does the end of a bag that was closed."""
    live(tmp_path / "bag", 400).close()
    told = contents(tmp_path / "bag")
    file = next((tmp_path / "bag").glob("*.mcap"))
    begin, end = chunks_of(file)[0]
    bad = bytearray(file.read_bytes())
    bad[(begin + end) // 2] ^= 1
    file.write_bytes(bad)
    found = recover(tmp_path / "bag", tmp_path / "out")
    assert 0 < len(told) - found.messages < 100 and found.nameless == 0
    back = contents(found.path)
    assert back.items() <= told.items() and len(back) == found.messages
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "bag.mcap").write_bytes(bad[: chunks_of(file)[-1][1]])  # never closed
    with pytest.raises(RotorError, match="no whole message"):
        recover(tmp_path / "cut", tmp_path / "nothing")


def test_types_are_those_of_the_bag(tmp_path):
    """A definition of today would read other numbers out of old bytes; what has none is left out, and named."""
    path = tmp_path / "old" / "old.mcap"
    path.parent.mkdir()
    with path.open("wb") as file:
        writer = McapWriter(file)
        writer.start()
        schema = writer.register_schema(
            "std_msgs/msg/String", "ros2msg", b"int32 more\nstring data\n"
        )
        topics = [
            writer.register_channel(name, "cdr", number)
            for name, number in (("/told", schema), ("/nothing", 0), ("/told", schema))
        ]
        data = b"\0\1\0\0" + struct.pack("<iI", 7, 6) + b"hello\0"
        for k in range(30):  # two channels of one topic, as of bags that were merged
            writer.add_message(topics[k % 3], k, data, k)
        writer.finish()
    found = recover(path, tmp_path / "out")
    assert found.messages == 20 and found.skipped == ("/nothing",) and found.lost == 0
    with AnyReader([tmp_path / "out"]) as reader:
        message = next(reader.deserialize(raw, c.msgtype) for c, _, raw in reader.messages())
    assert (message.more, message.data) == (7, "hello")


def test_a_bag_that_is_being_written_is_left_alone(tmp_path):
    bag = live(tmp_path / "bag", 100)
    # its recorder has had nothing to write for long
    os.utime(tmp_path / "bag" / "bag.mcap", (0.0, 0.0))
    with pytest.raises(ConfigError, match="still has it open"):
        recover(tmp_path / "bag")
    bag.close()
    assert len(stamps(tmp_path / "bag")) == 100


def test_a_bag_that_another_machine_writes_is_left_alone(tmp_path, monkeypatch):
    live(tmp_path / "bag", 100).close()
    file = tmp_path / "bag" / "bag.mcap"
    file.write_bytes(file.read_bytes()[: -len(MAGIC)])
    os.utime(file, (time.time() + 3600.0,) * 2)  # fresh, however long this test takes

    def longer(_seconds: float) -> None:
        with file.open("ab") as stream:
            stream.write(b"more")

    monkeypatch.setattr(recover_module.wall, "sleep", longer)
    with pytest.raises(ConfigError, match="is still being written"):
        recover(tmp_path / "bag")
    monkeypatch.setattr(recover_module.wall, "sleep", lambda _seconds: None)
    assert recover(tmp_path / "bag").messages == 100
