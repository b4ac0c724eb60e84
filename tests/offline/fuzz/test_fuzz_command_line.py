"""Command lines of every kind: exit code of a verdict or 2, one line for a mistake, and nothing written elsewhere."""

import io
import os
import shutil
import signal
import sys
import tempfile

import matplotlib.pyplot  # noqa: F401  it makes its own folders when it is first imported
import numpy as np
import pytest
from fuzz import budget, damage
from fuzz.command_lines import CommandLines, commands
from fuzz.fence import fenced
from fuzz.samples import make_samples
from fuzz.verdicts import ACCEPTED, REFUSED, UnclearError, check_line, judge

from rotor import cli
from rotor_core.config.catalog import config_directory
from rotor_core.kernels.jit import cache_directory
from rotor_sim.judging.verdict import EXIT_CODES

SCENARIOS = [
    "hover",
    "dragonfly_point_mass",
    "two_dragonflies_bar_rigid",
    "helicopter_hover",
    "pick_and_place",
]
CLEARED = 20
"""Results are thrown away after so many command lines."""


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """A folder with good and broken files, and command lines about them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    samples = make_samples(tmp_path)
    (tmp_path / "out" / "taken").mkdir(parents=True)
    (tmp_path / "out" / "taken" / "x.npz").write_text("x")
    (tmp_path / "file").write_text("no folder")
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "empty").mkdir()
    good = (config_directory() / "scenarios" / "hover.yaml").read_bytes()
    (tmp_path / "mine.yaml").write_bytes(good)
    (tmp_path / "cut.yaml").write_bytes(good[:70])
    rng = np.random.default_rng(1)
    for name, data in samples.items():
        for k in range(3):
            path = tmp_path / f"broken{k}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(damage.damaged(rng, data, most=6) if k else data[: len(data) // 2])
    broken = [str(p) for p in sorted(tmp_path.glob("broken*/*"))]
    recordings = ["bag", "bag/bag.mcap", "quad1.tum", "trial.csv", "team.npz", "case.json"]
    return CommandLines(cli.parser(), tmp_path, [*SCENARIOS, "mine.yaml"], recordings, broken)


def run(arguments):
    """Exit code, and what came out; writing what a terminal cannot show is an error as it is there."""
    before = sys.stdout, sys.stderr
    signals = [(s, signal.getsignal(s)) for s in (signal.SIGINT, signal.SIGTERM)]
    sys.stdout = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(
        io.BytesIO(), "utf-8", errors="backslashreplace", write_through=True
    )
    try:
        try:
            with np.errstate(all="ignore"):
                code = cli.main(arguments)
        except SystemExit as ended:
            code = ended.code
        return code, sys.stderr.buffer.getvalue().decode()
    finally:
        sys.stdout, sys.stderr = before
        for number, handler in signals:
            signal.signal(number, handler)


def check_mistake(text):
    """The last line says what is wrong, and nothing else says that anything is."""
    lines = [line for line in text.split("\n") if line and not line.startswith("note: ")]
    if not lines or "error: " not in lines[-1]:
        raise UnclearError(f"no error is told: {text[:300]!r}")
    if lines[-1].startswith("error: "):  # ours; those of the parser begin with the usage
        if len(lines) > 1:
            raise UnclearError(f"not one line: {text[:300]!r}")
        check_line(lines[-1])


@pytest.mark.timeout(budget.TIME_LIMIT)
@pytest.mark.filterwarnings("ignore")
def test_whatever_is_typed_it_runs_or_is_refused(lines, tmp_path):
    out = tmp_path / "out"
    for warm in (
        ["fly", "hover", "--duration", "0.1"],
        ["trim", "hover"],
        ["scenarios"],
        ["doctor"],
    ):
        assert run(warm)[0] == 0

    def attempt(rng, number):
        arguments = lines.draw(rng, number)
        try:
            with fenced(tmp_path, cache_directory()) as fence:
                code, told = run(arguments)
            assert not fence.tried, f"written elsewhere: {fence.tried}"
            assert code in (2, *EXIT_CODES.values()), f"exit code {code}"
            if code == 2:
                check_mistake(told)
        except Exception as error:
            error.add_note(f"./rotor {arguments}")
            raise
        finally:
            if number % CLEARED == 0:
                shutil.rmtree(out)
                (out / "taken").mkdir(parents=True)
                (out / "taken" / "x.npz").write_text("x")
        return REFUSED if code == 2 else ACCEPTED

    judge("command_line", attempt)


def test_every_command_is_drawn(lines):
    """Command lines come from the parser itself: a new command is tried without a change here."""
    drawn = {lines.draw(budget.stream("command_line", n), n)[0] for n in range(600)}
    assert drawn >= set(commands(cli.parser()))
