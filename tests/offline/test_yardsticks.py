"""The yardsticks of docs/results/engine.md hold; and the benchmark writes what it promises (no time is asserted)."""

import json
import os
from itertools import cycle
from pathlib import Path

import pytest

from validation.speed import compile, report, yardsticks
from validation.speed.cpp import CppWorld, build
from validation.speed.systems import CASES, engine


def test_yardsticks():
    found = list(yardsticks.yardsticks())
    assert len(found) > 12
    broken = [(y.what, y.value, y.limit) for y in found if not y.holds]
    assert not broken


@pytest.mark.parametrize("name", list(CASES))
def test_engine_and_compiled_kernel_are_the_same_system(name):
    """Rotor lag, drag, taut cables: two codes with nothing in common but the equations."""
    case = CASES[name]
    ours, theirs = engine(case), CppWorld(build(), case)
    ours.run(300)
    theirs.run(300)
    assert abs(ours.update_kinematics()[:, :3] - theirs.positions).max() < 1e-11
    assert ours.taut.all() and not ours.take_events()


def test_compiling_is_measured_in_a_process_of_its_own():
    """With the cache of the tests, which has it all: a second process finds nothing to compile."""
    cache = os.environ.get("ROTOR_CACHE_DIR") or str(Path.home() / ".cache" / "rotor")
    found = [compile.compiled("laws", "slalom", cache) for _ in range(2)]
    assert found[1]["kernels"] == {} and found[1]["cpu"] > 0.0


def test_bench_writes_json_and_a_plot(tmp_path, monkeypatch, capsys):
    """The whole command with short rounds."""
    monkeypatch.setattr("validation.speed.speed.ROUNDS", 1)
    monkeypatch.setattr("validation.speed.speed.WORLDS", 8)
    monkeypatch.setattr("validation.speed.precision.HORIZON", 0.1)
    monkeypatch.setattr("validation.speed.speed.FLIGHT", 1.0)
    spent = {"cpu": 2.5, "kernels": {"run": 1.5}}, {"cpu": 0.5, "kernels": {}}  # cold, warm
    starts = cycle(spent)
    monkeypatch.setattr(compile, "compiled", lambda *_: next(starts))
    out = tmp_path / "new" / "bench.json"
    report.bench(out, peers=False)
    found = json.loads(out.read_text())
    for name in ("free", "c", "d"):
        assert found[name]["rotor_us"] > 0.0 and found[name]["cpp_us"] > 0.0
    assert found["closed_loop"]["fly"] > 0.0 and found["closed_loop"]["step_by_step"] > 0.0
    assert found["compile_cpu_s"] == dict.fromkeys(compile.ROWS, 2.0)
    assert found["events"]["snaps_per_second"] == pytest.approx(10.0, abs=0.5)
    errors = {(p["solver"], p["step"]): p["error_m"] for p in found["work_precision"]}
    assert errors["rkmk4", 0.01] < 1e-7 < errors["euler", 0.01]
    assert out.with_suffix(".png").stat().st_size > 10_000
    assert "C++" in capsys.readouterr().out
