"""One loaded copy of a library: firmware keeps statics, so no two vehicles share one."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from rotor_adapters.library.interface import LONGEST_NAME, MOST_LOGS, VERSION, Block

NEEDED = ("rotor_version", "rotor_create", "rotor_destroy", "rotor_set", "rotor_step")
ASYNCHRONOUS = ("rotor_has_work", "rotor_work", "rotor_collect")
LOGGING = ("rotor_log_name", "rotor_log_value")

IN_TIME = 1e-9
"""An answer that would come this much after the start of a period counts as in time, s."""


class LibraryFault(Exception):
    """A library cannot be used; the text says why, without its path."""


class Instance:
    """A controller of one vehicle.

    Args:
        path: the library.
        block: whose ``vehicle`` and constants of ``in`` and ``team`` are filled.
        parameters: by name.
        latency: of the asynchronous part, s.

    Raises:
        LibraryFault: it is no such library, or refuses vehicle or parameters.
    """

    def __init__(
        self, path: Path, block: Block, parameters: dict[str, float], latency: float
    ) -> None:
        self._ffi, self._block, self._latency = block.ffi, block.pointer, latency
        self._self: Any = None
        with tempfile.TemporaryDirectory(prefix="rotor-library-") as folder:
            copy = Path(folder) / path.name
            shutil.copy(path, copy)
            try:
                self._lib: Any = self._ffi.dlopen(str(copy))
            except OSError as error:
                text = str(error).replace(str(copy), path.name)
                text = text.removeprefix(f"cannot load library '{path.name}': ").partition(
                    ".  Additionally"
                )[0]
                raise LibraryFault(f"cannot be loaded: {text}.") from error
        missing = [name for name in NEEDED if not self._has(name)]
        if missing:
            raise LibraryFault(f"lacks {', '.join(missing)} of rotor_controller.h.")
        version = self._lib.rotor_version()
        if version != VERSION:
            raise LibraryFault(
                f"was built for version {version} of rotor_controller.h, this is {VERSION}. Build it again."
            )
        getattr(self._block, "in").team = self._block.team
        self._inputs: Any = self._ffi.addressof(self._block[0], "in")
        self._outputs = self._ffi.addressof(self._block[0], "out")
        self._self = self._lib.rotor_create(self._ffi.addressof(self._block[0], "vehicle"))
        if self._self == self._ffi.NULL:
            raise LibraryFault("refuses the vehicle: rotor_create returned NULL.")
        for name, value in parameters.items():
            if self._lib.rotor_set(self._self, name.encode(), value):
                raise LibraryFault(f"refuses the parameter {name!r} = {value:g}.")
        lacks = [name for name in ASYNCHRONOUS if not self._has(name)]
        if lacks and len(lacks) < len(ASYNCHRONOUS):
            there = ", ".join(name for name in ASYNCHRONOUS if name not in lacks)
            raise LibraryFault(
                f"has {there} but lacks {', '.join(lacks)}: work beside the control period needs all of them."
            )
        self._is_asynchronous = not lacks
        self._begun: float | None = None
        self._count_logs()

    def _has(self, name: str) -> bool:
        try:
            getattr(self._lib, name)
        except AttributeError:
            return False
        return True

    def _count_logs(self) -> None:
        n = 0
        while all(self._has(name) for name in LOGGING) and n < MOST_LOGS:
            name = self._lib.rotor_log_name(self._self, n)
            if name == self._ffi.NULL:
                break
            self._block.names[n] = self._ffi.string(name, LONGEST_NAME - 1).ljust(
                LONGEST_NAME, b"\0"
            )
            n += 1
        self._block.n_logs = n

    def step(self) -> None:
        """One control period: input to output and status, both in the block."""
        lib, block = self._lib, self._block
        if self._is_asynchronous:
            now = self._inputs.time
            if self._begun is not None and now >= self._begun + self._latency - IN_TIME:
                lib.rotor_collect(self._self)
                self._begun = None
            block.status = lib.rotor_step(self._self, self._inputs, self._outputs)
            if self._begun is None and lib.rotor_has_work(self._self) == 1:
                lib.rotor_work(self._self)
                self._begun = now
        else:
            block.status = lib.rotor_step(self._self, self._inputs, self._outputs)

    def read_logs(self) -> None:
        """Values of the log variables, into the block."""
        for i in range(self._block.n_logs):
            self._block.logs[i] = self._lib.rotor_log_value(self._self, i)

    def close(self) -> None:
        """Let go of it."""
        if self._self is not None:
            self._lib.rotor_destroy(self._self)
            self._self = None
            self._ffi.dlclose(self._lib)
