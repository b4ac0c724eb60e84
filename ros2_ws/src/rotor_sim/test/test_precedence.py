"""Precedence in real time: taken where the system allows it, given back, and refused without a word where not."""

import os
import subprocess
import sys
import threading

import pytest

from rotor_sim.ros import precedence

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="needs Linux")


def policy():
    return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK


def may_take_it():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(precedence.PRIORITY))
    except OSError:
        return False
    precedence.give_back()
    return len(os.sched_getaffinity(0)) >= precedence.LEAST_CORES


def test_all_threads_take_precedence_and_give_it_back():
    if not may_take_it():
        pytest.skip("this system does not allow it")
    seen, go = [], threading.Event()

    def look():
        go.wait(10.0)
        seen.append(policy())

    before = threading.Thread(target=look)
    before.start()
    try:
        assert precedence.take_precedence()
        assert policy() == os.SCHED_FIFO
        later = threading.Thread(target=lambda: seen.append(policy()))  # begins later: ordinary
        later.start()
        later.join()
        go.set()
        before.join()
    finally:
        go.set()
        precedence.give_back()
    assert seen == [os.SCHED_OTHER, os.SCHED_FIFO]
    assert policy() == os.SCHED_OTHER


UNPRIVILEGED = """
import os
from rotor_sim.ros import precedence
assert precedence.take_precedence()
os.setuid(65534)
precedence.give_back()
assert os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_OTHER
"""


def test_who_may_not_change_it_otherwise_gives_it_back():
    """A user with a limit rtprio has no right to clear what resets threads that begin later."""
    if os.geteuid() != 0 or not may_take_it():
        pytest.skip("needs root, to give its rights away")
    subprocess.run([sys.executable, "-c", UNPRIVILEGED], check=True)


def test_without_the_right_everything_stays_as_it_is(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert not precedence.take_precedence()
    assert policy() == os.SCHED_OTHER


def test_a_single_core_is_left_to_the_controllers(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert not precedence.take_precedence()
