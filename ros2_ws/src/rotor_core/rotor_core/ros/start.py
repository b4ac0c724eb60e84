"""Entry points of nodes: a signal while their modules are imported ends them, without a trace."""

from __future__ import annotations

import importlib
import os
import signal


def start(module: str) -> None:
    """Import a node's module and call its ``main``; SIGINT and SIGTERM end the process until it takes them over."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
    try:
        importlib.import_module(module).main()
    finally:
        # launch and the terminal both send one: the second must not kill a process that is about to end well
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
