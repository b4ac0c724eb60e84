"""Ctrl-C at moments at which Python would lose it."""

import signal
import sys
import time

import pytest

from rotor import cli


class Ends:
    """What is interrupted while it is destroyed, where Python ignores exceptions."""

    def __del__(self):
        raise KeyboardInterrupt


def waits(options):
    time.sleep(5.0)
    return 0


def run(monkeypatch, begin):
    """The exit code of a command that begins so and then waits."""

    def work(options):
        begin()
        return waits(options)

    options = type("Options", (), {"run": staticmethod(work), "extras": ()})
    monkeypatch.setattr(cli, "parser", lambda: type("P", (), {"parse_args": lambda *_: options})())
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    hook, start = sys.unraisablehook, time.monotonic()
    try:
        code = cli.main([])
        assert time.monotonic() - start < 4.0
        return code
    finally:
        assert sys.unraisablehook is hook
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)


def test_an_interrupt_in_a_destructor_is_heard_a_moment_later(monkeypatch, capsys):
    assert run(monkeypatch, lambda: Ends() and None) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_an_interrupt_inside_the_import_system_waits_until_it_is_through(monkeypatch, capsys):
    """Its locks do not bear exceptions, and what it calls back swallows them."""
    code = compile("def find(signal):\n    signal.raise_signal(signal.SIGINT)\n    return 'through'", "<frozen importlib._bootstrap>", "exec")  # fmt: skip
    names: dict = {}
    exec(code, names)
    found = []
    assert run(monkeypatch, lambda: found.append(names["find"](signal))) == 130
    assert found == ["through"] and capsys.readouterr().err == "interrupted\n"


def test_elsewhere_it_is_heard_at_once(monkeypatch):
    assert run(monkeypatch, lambda: signal.raise_signal(signal.SIGTERM)) == 130


def test_while_a_class_is_made_it_is_told_as_anywhere(monkeypatch, capsys):
    """Python before 3.12 makes a RuntimeError of what comes there; all others stay what they are."""

    class Field:
        def __set_name__(self, owner, name):
            raise KeyboardInterrupt

    assert run(monkeypatch, lambda: type("Owner", (), {"field": Field()})) == 130
    assert capsys.readouterr().err == "interrupted\n"

    def fail():
        raise RuntimeError("a defect")

    with pytest.raises(RuntimeError, match="a defect"):
        run(monkeypatch, fail)
