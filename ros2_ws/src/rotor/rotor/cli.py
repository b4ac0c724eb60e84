"""The command line behind `./rotor`."""

from __future__ import annotations

import argparse
import errno
import importlib
import importlib.util
import os
import pkgutil
import re
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import rotor.verbs
from rotor.blas import take_one_thread
from rotor.verb import VERBS
from rotor_core.errors import RotorError, SolverError, printable
from rotor_core.extras import ensure, remedy

HEARD_LATER = 0.05
"""Ctrl-C that Python cannot take just now is repeated after this time, s."""

MOST = 60
"""So often at most: an import that takes longer is interrupted."""

_put_off: list[None] = []

SHOWN = 120
"""Characters of a name in a message about a file."""

REMEDIES = {
    errno.ENAMETOOLONG: "Take a shorter name.",
    errno.ENOSPC: "Free some space there, or take another folder (--out).",
    errno.EDQUOT: "Free some space there, or take another folder (--out).",
    errno.EROFS: "Take a folder that can be written: --out for results, the environment variable ROTOR_CACHE_DIR for "
    "compiled kernels.",
}
"""What to do about files that cannot be written, by the number of the error."""


def load_verbs() -> None:
    """Import every file of ``rotor/verbs``, and the verbs of the evidence in a clone of the repository."""
    for module in pkgutil.iter_modules(rotor.verbs.__path__, "rotor.verbs."):
        importlib.import_module(module.name)
    if importlib.util.find_spec("validation") is not None:
        importlib.import_module("validation.verbs")


LAUNCHED = ("python", "setup", "test")
"""Commands of the launcher of the repository, which never come here."""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line, whatever was typed."""

    def error(self, message: str) -> NoReturn:
        if unknown := re.match(r"argument COMMAND: invalid choice: '([^']*)'", message):
            from rotor_core.config.yaml.structure import suggestion

            message = (
                f"no command {unknown[1]!r}{suggestion(unknown[1], [*sorted(VERBS), *LAUNCHED])}"
            )
        super().error(printable(message))


def parser() -> argparse.ArgumentParser:
    """All commands and options.

    Raises:
        ConfigError: a verb of another package does not fit.
    """
    load_verbs()
    installed = Path(sys.argv[0]).name == "rotor"  # by pip, without the launcher of the repository
    launcher = (
        " `./rotor setup --all` installs the packages of all commands ahead, `./rotor test` runs all tests, `./rotor "
        "python FILE` a script in the environment."
    )
    program = "rotor" if installed else "./rotor"
    top = _Parser(
        prog=program,
        description="Simulate aerial vehicles that carry and handle things.",
        epilog=f"`{program} COMMAND --help` shows the options of a command."
        + ("" if installed else launcher),
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, verb in sorted(VERBS.items()):
        sub = commands.add_parser(
            name, help=verb.text, description=verb.text, epilog=f"example: {verb.example}"
        )
        sub.set_defaults(run=verb.run, extras=verb.extras)
        verb.arguments(sub)
    return top


def _tell(error: RotorError) -> None:
    """Say what is wrong, in a line for every mistake.

    The last words of a node are lines. Foreign parts of a message cannot steer a terminal.
    """
    for line in error.lines:
        print("error:", "\n".join(map(printable, line.split("\n"))), file=sys.stderr)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """End the command; during an import a moment later, because some libraries and Python's own locks swallow it."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    _put_off.append(None)
    if frame is None or len(_put_off) > MOST:
        _put_off.clear()
        raise KeyboardInterrupt
    _interrupt_later()


def _interrupt_later() -> None:
    main_thread = threading.main_thread().ident  # a signal of its own ends waits, too
    timer = threading.Timer(HEARD_LATER, signal.pthread_kill, (main_thread, signal.SIGINT))
    timer.daemon = True
    timer.start()


def _interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return 130


def _hear_again(ignored: sys.UnraisableHookArgs) -> None:
    """Ctrl-C in a destructor or the like, where Python ignores all exceptions, ends the command a moment later."""
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        _interrupt_later()
    else:
        sys.__unraisablehook__(ignored)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; a user's mistake is a line on stderr and exit code 2, a simulation that cannot go on code 3."""
    take_one_thread(os.environ)
    try:
        options = parser().parse_args(arguments)
    except RotorError as error:
        _tell(error)
        return 2
    signal.signal(signal.SIGINT, _interrupt)  # also where a parent ignores it
    signal.signal(signal.SIGTERM, _interrupt)  # end like Ctrl-C: close what is open
    told, sys.unraisablehook = sys.unraisablehook, _hear_again
    try:
        ensure(*options.extras)
        code = int(options.run(options))
        sys.stdout.flush()  # what Python says of a full disk while it ends nobody hears
        return code
    except RotorError as error:
        _tell(error)
        return 3 if isinstance(error, SolverError) else 2
    except ModuleNotFoundError as error:
        if not (text := remedy(error)):
            raise
        print(f"error: {text}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return _interrupted()
    except RuntimeError as error:
        # while it makes a class, Python before 3.12 wraps whatever comes
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        return _interrupted()
    except BrokenPipeError:
        return 0
    except OSError as error:
        if error.errno not in REMEDIES:  # of all else the place that meets it says more
            raise
        name = printable(str(error.filename or "the output"))[:SHOWN]
        print(f"error: {name!r}: {error.strerror}. {REMEDIES[error.errno]}", file=sys.stderr)
        return 2
    finally:
        sys.unraisablehook = told


if __name__ == "__main__":
    sys.exit(main())
