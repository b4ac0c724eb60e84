"""A late period knows where its time went; with real threads on a real core."""

import os
import time

import pytest

from rotor_sim.lateness import NO_CORE, OWN_WORK, WAITING, Lateness


@pytest.fixture
def lateness():
    found = Lateness()
    yield found
    found.close()


def work(seconds):
    """Keep a core busy for so long of CPU time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_work_is_own_work(lateness):
    lateness.begin()
    work(0.05)
    # on a loaded machine the rest may have been time without a core
    assert lateness.cause() in (OWN_WORK, NO_CORE)


def test_a_wait_is_a_wait(lateness):
    lateness.begin()
    time.sleep(0.2)
    assert lateness.cause() == WAITING


@pytest.mark.skipif(
    not os.path.exists("/proc/thread-self/schedstat"), reason="needs statistics of Linux"
)
def test_a_core_that_others_have(lateness):
    """Five processes and this thread on one core: a sixth of the time is work, the rest is none of ours."""
    cores = os.sched_getaffinity(0)
    others = []
    try:
        os.sched_setaffinity(0, {min(cores)})
        for _ in range(5):
            child = os.fork()
            if child == 0:
                end = time.monotonic() + 20.0
                while time.monotonic() < end:
                    pass
                os._exit(0)
            others.append(child)
        time.sleep(0.05)
        lateness.begin()
        work(0.1)
        assert lateness.cause() == NO_CORE
    finally:
        os.sched_setaffinity(0, cores)
        for child in others:
            os.kill(child, 9)
            os.waitpid(child, 0)


def test_without_statistics_there_is_still_work_and_waiting(monkeypatch):
    monkeypatch.setattr("rotor_sim.lateness._STATISTICS", "/nowhere")
    lateness = Lateness()
    time.sleep(0.1)
    assert lateness.cause() == WAITING
