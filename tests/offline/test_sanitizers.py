"""What runs thousands of times a second allocates nothing; the long mode checks every index of every kernel."""

import gc
import os
import subprocess
import sys
import tracemalloc
import weakref

import pytest

from rotor_core.config.loader import load_scenario
from rotor_core.kernels.jit import COMPILED
from rotor_flight.loop import ClosedLoop

compiled = pytest.mark.skipif(not COMPILED, reason="needs compiled kernels")
alone = pytest.mark.skipif(
    "ROTOR_ALONE" not in os.environ, reason="measured in a process of its own"
)
SCENARIOS = ["three_dragonflies_triangular_1m", "helicopter_hover", "arm_slung_load", "tethered_quadrotor"]  # fmt: skip


PERIODS = 2000
"""So many that what NumPy and SciPy keep to use again, some 8 kB in all, is not taken for growth."""


def settled(name):
    """A loop that has flown for a while, so that nothing is made for the first time any more."""
    loop = ClosedLoop(load_scenario(name))
    for _ in range(200):
        loop.period()
    return loop


def grown(work):
    """Bytes that Python and NumPy hold more after some work than before, and the most that they held meanwhile."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        work()
        gc.collect()
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before, peak - before


@alone
@compiled
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_engine_allocates_nothing(name):
    """Ten thousand steps in one call: some words of Python for the call itself."""
    engine = settled(name).simulation.engine
    held, most = grown(lambda: engine.run(200))
    assert held == 0 and most < 1024


@alone
@compiled
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_control_period_keeps_nothing(name):
    """What a period makes it gives back; events, which are told, are taken as the nodes take them."""
    loop = settled(name)

    def fly():
        for _ in range(PERIODS):
            loop.period()
            loop.simulation.take_events(complete=False)

    held, most = grown(fly)
    assert held < PERIODS * 16  # less than one object in a period: the smallest has 16 bytes
    # What periods work with: 218 kB at most in 4000 periods of the tether, and no more.
    assert most < 400_000


@compiled
@pytest.mark.parametrize("name", [*SCENARIOS, "winch_delivery", "hexacopter_wind"])
def test_a_reset_frees_the_world_before_at_once(name):
    """Without the collector, for which a node waits for hours: a megabyte of each reset would wait as well."""
    simulation = ClosedLoop(load_scenario(name)).simulation
    before = weakref.ref(simulation.engine)
    gc.disable()
    try:
        simulation.reset()
        assert before() is None
    finally:
        gc.enable()


LONG = """
from rotor_core.kernels.jit import CHECKED, unwritten
from rotor_dynamics.engine import Engine
from rotor_sim.simulation import Simulation
import numpy as np
assert CHECKED and np.isnan(unwritten(3)).all() and (unwritten(3, np.int64) < -2**61).all()
from rotor_core.kernels.jit import kernel
@kernel
def reads(a, i):
    return a[i]
try:
    reads(np.zeros(3), 7)
except IndexError:
    print("caught")
"""


@compiled
def test_the_long_mode_poisons_and_checks(tmp_path):
    """An array of NumPy inside a kernel, and memory that nobody has written."""
    env = {**os.environ, "ROTOR_CHECKED": "1", "ROTOR_CACHE_DIR": str(tmp_path)}
    script = tmp_path / "long.py"
    script.write_text(LONG)
    run = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True)
    assert run.stdout.strip() == "caught", run.stderr


@compiled
def test_what_is_measured_alone_holds():
    """Threads and caches of other tests would count as growth."""
    command = [sys.executable, "-m", "pytest", "-q", __file__, "-k", "allocates or keeps"]
    env = {**os.environ, "ROTOR_ALONE": "1"}
    run = subprocess.run(command, env=env, capture_output=True, text=True)
    assert run.returncode == 0 and "8 passed" in run.stdout, run.stdout[-3000:]
