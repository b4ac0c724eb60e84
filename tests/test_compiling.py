"""The first start: nodes that compile say so and end when they are told; one cache for every way to start."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from rotor.graph.plan import NodePlan
from rotor.graph.processes import ProcessGroup
from rotor_adapters.recorder.node import READY_LIMIT
from rotor_core.config.loader import load_scenario
from rotor_core.errors import RotorError
from rotor_core.kernels.jit import COMPILED
from rotor_core.ros import qos
from rotor_core.ros.compiling import COMPILING
from rotor_flight.warm import warm

SOURCES = Path(__file__).parents[1] / "ros2_ws" / "src"
compiled = pytest.mark.skipif(not COMPILED, reason="kernels are not compiled here")


@compiled
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_node_that_compiles_says_so_and_ends_at_once(tmp_path, number):
    """Real process, empty cache: the engine alone takes more than ten seconds to compile."""
    with graph.bench(tmp_path) as bench:
        reports = bench.collect(DiagnosticArray, "/diagnostics", qos.STATE)
        plan = NodePlan("simulator", "rotor_sim", "simulator", {"scenario": "hover"})
        bench.group._environment["ROTOR_CACHE_DIR"] = str(tmp_path / "cache")
        child = ProcessGroup.start(
            bench.group, plan
        )  # not forked from a process that has its kernels
        bench.until(lambda: reports, "a report on /diagnostics")
        (status,) = reports[-1].status
        assert status.name == "rotor: simulator" and status.message.startswith(COMPILING)
        assert status.level == status.WARN
        assert "compiling kernels, once for these sources" in child.log.read_text()
        began = time.monotonic()
        child.process.send_signal(number)
        assert child.process.wait(10.0) == 0
        assert time.monotonic() - began < 5.0  # the compiler is in C for longer than that at a time
        text = child.log.read_text()
        assert "stopped while kernels were compiled" in text and "Traceback" not in text


@compiled
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_commands_that_compile_end_at_once_too(tmp_path, number):
    """A compiler in the same process would answer with a trace, or crash; nothing goes on behind it either."""
    environment = {**os.environ, "ROTOR_CACHE_DIR": str(tmp_path / "cache")}
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "rotor.cli", "fly", "hover", "--out", str(tmp_path / "flight")],
            env=environment, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
        end = time.monotonic() + 60.0
        while not list((tmp_path / "cache").rglob("*.nbc")) and time.monotonic() < end:
            time.sleep(0.1)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 2
        process.send_signal(number)
        began = time.monotonic()
        assert process.wait(10.0) == (130 if number != signal.SIGKILL else -signal.SIGKILL)
        assert time.monotonic() - began < 5.0
    text = (tmp_path / "out").read_text()
    assert "Traceback" not in text and "Exception ignored" not in text
    assert ("interrupted" in text) == (number != signal.SIGKILL)
    end = time.monotonic() + 30.0  # they look at their parent between two compiled functions
    while any(Path(f"/proc/{pid}").exists() for pid in children) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "node",
    [("rotor_sim", "simulator"), ("rotor_planning", "planner"), ("rotor_control", "controller")],
)
def test_a_signal_while_a_node_is_imported_leaves_no_trace(tmp_path, number, node):
    """Entry points of nodes import nothing of ours before they listen; a module of theirs stands still here."""
    package, name = node
    # short sleeps: a signal between the last instruction and the call does not end a long one
    (tmp_path / "rclpy.py").write_text(
        "import time\nprint('importing', flush=True)\nfor _ in range(600):\n    time.sleep(0.1)\n"
    )
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", f"from {package}.nodes import {name}; {name}()"], stdout=out, stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ['PYTHONPATH']}"},
        )  # fmt: skip
        end = time.monotonic() + 30.0
        while "importing" not in (tmp_path / "out").read_text() and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(10.0) == 0
    assert (tmp_path / "out").read_text() == "importing\n"


@compiled
def test_two_places_of_the_same_sources_share_their_kernels(tmp_path):
    """A clone compiles, a workspace elsewhere finds it; an edit there compiles what it is part of."""
    first = clone(tmp_path / "first")
    second = clone(tmp_path / "second")
    cache = tmp_path / "cache"
    compiled_there = probe(first, cache)
    found_here = probe(second, cache)
    assert compiled_there["compiled"] > 0 and found_here["compiled"] == 0
    assert compiled_there["cache"] == found_here["cache"]
    assert compiled_there["file"] != found_here["file"]
    append(second / "rotor_dynamics" / "rotor_dynamics" / "hybrid" / "stepper.py", "EDITED = True")
    assert probe(second, cache)["compiled"] == 0
    append(second / "rotor_core" / "rotor_core" / "math" / "vec3.py", "EDITED = True")
    assert probe(second, cache)["compiled"] > 0
    assert probe(first, cache)["compiled"] == 0


def append(file, line):
    file.write_text(f"{file.read_text()}\n\n{line}\n")


def clone(folder):
    """The packages that hold kernels, in another place."""
    for name in ("rotor_core", "rotor_dynamics", "rotor_sim", "rotor_control", "rotor_planning"):
        shutil.copytree(SOURCES / name / name, folder / name / name)
    return folder


PROBE = """
from rotor_core.kernels.jit import cache_directory, when_compiling
began = []
when_compiling(lambda begins: began.append(1) if begins else None)
import numpy
from rotor_core.plans import plan
assert plan.segment_at(numpy.array([1.0, 2.0]), 1.5) == (1, 1.0)
print(len(began), cache_directory(), plan.__file__)
"""


def probe(folder, cache):
    """Use one kernel in a new process: how many were compiled, where they are kept, which file it came from."""
    path = os.pathsep.join(str(p) for p in folder.iterdir())
    out = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**os.environ, "PYTHONPATH": path, "ROTOR_CACHE_DIR": str(cache)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert out.returncode == 0, out.stderr
    number, where, file = out.stdout.split()
    return {"compiled": int(number), "cache": where, "file": file}


def test_a_recorder_waits_while_others_compile(tmp_path):
    """Time in which nodes compile does not count towards its patience; that of a silent graph does."""
    with graph.bench(tmp_path) as bench:
        words = bench.node.create_publisher(DiagnosticArray, "/diagnostics", qos.STATE)
        bench.start("recorder", scenario="hover", bag=str(tmp_path / "bag"), wait_for="simulator")
        log = bench.group.children["recorder"].log
        status = DiagnosticStatus(name="rotor: simulator", message=f"{COMPILING} (3 s)")
        end = time.monotonic() + READY_LIMIT + 3.0
        while time.monotonic() < end:
            words.publish(DiagnosticArray(status=[status]))
            bench.executor.spin_once(timeout_sec=0.2)
        assert "recording the rest" not in log.read_text()
        bench.until(lambda: "recording the rest" in log.read_text(), "the end of its patience")


@compiled
def test_a_place_for_kernels_that_cannot_be_is_named(tmp_path, monkeypatch):
    """A file stands where the folder should be."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("ROTOR_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(RotorError, match=r"cannot be kept in .*file/cache.*Let ROTOR_CACHE_DIR"):
        warm(load_scenario("hover"))
