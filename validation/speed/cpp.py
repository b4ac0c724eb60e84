"""The compiled kernel: how fast strict C++ (-O2) does the same steps without guards, events or projection."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from rotor_core.errors import ConfigError
from rotor_core.state import State
from validation.speed.systems import (
    ARM,
    DRAG,
    GRAVITY,
    INERTIA,
    LAG,
    MASS,
    STEP,
    THRUST,
    TORQUE,
    Case,
    states,
)

MOST = 8
FLAGS = ("-O2",)


class Parameters(ctypes.Structure):
    """As in kernel.cpp."""

    _fields_ = (
        ("vehicles", ctypes.c_int),
        ("payload_mass", ctypes.c_double),
        ("payload_inertia", ctypes.c_double * 3),
        ("points", ctypes.c_double * (3 * MOST)),
        ("mass", ctypes.c_double),
        ("inertia", ctypes.c_double * 3),
        ("arm", ctypes.c_double),
        ("thrust", ctypes.c_double),
        ("torque", ctypes.c_double),
        ("lag", ctypes.c_double),
        ("drag", ctypes.c_double * 3),
        ("gravity", ctypes.c_double),
    )


def build() -> ctypes.CDLL:
    """Compile and load the kernel.

    Raises:
        ConfigError: there is no C++ compiler, or it failed.
    """
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise ConfigError("bench: needs a C++ compiler to compare with; install g++ (Debian: g++).")
    folder = Path(tempfile.mkdtemp(prefix="rotor-bench-"))
    with as_file(files("validation.speed") / "kernel.cpp") as source:
        command = [
            compiler,
            *FLAGS,
            "-shared",
            "-fPIC",
            str(source),
            "-o",
            str(folder / "kernel.so"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        if done.returncode:
            raise ConfigError(f"bench: {compiler} failed: {done.stderr.strip()[:400]}")
        return ctypes.CDLL(str(folder / "kernel.so"))  # stays mapped when the file goes
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class CppWorld:
    """One case in the compiled kernel, from the same start as :func:`validation.speed.systems.engine`."""

    def __init__(
        self, library: ctypes.CDLL, case: Case, *, drag: bool = True, command: float = 1.005
    ) -> None:
        self._library = library
        p = self._parameters = Parameters()
        p.vehicles, p.payload_mass = len(case.points), case.mass
        p.payload_inertia[:], p.inertia[:] = case.inertia, INERTIA
        flat = np.ravel(case.points)
        p.points[: len(flat)] = list(flat)
        p.mass, p.arm, p.thrust, p.torque, p.lag, p.gravity = (
            MASS,
            ARM,
            THRUST,
            TORQUE,
            LAG,
            GRAVITY,
        )
        p.drag[:] = DRAG if drag else (0.0, 0.0, 0.0)
        rows = []
        for i, s in enumerate(map(State, states(case))):
            row = np.concatenate([s.position, s.velocity, s.attitude, s.body_rate])
            if i or not case.points:
                row = np.concatenate([row, np.full(4, case.hover_speed)])
            rows.append(row)
        self.state = np.concatenate(rows)
        self._commands = np.full(4 * case.vehicles, command * case.hover_speed)
        self._has_payload = bool(case.points)

    def run(self, steps: int, h: float = STEP) -> None:
        """Integrate."""
        pointer = ctypes.POINTER(ctypes.c_double)
        self._library.run(
            ctypes.byref(self._parameters),
            self.state.ctypes.data_as(pointer),
            self._commands.ctypes.data_as(pointer),
            ctypes.c_double(h),
            ctypes.c_long(steps),
        )

    @property
    def positions(self) -> np.ndarray:
        """Payload first, then vehicles, (n, 3) m."""
        if not self._has_payload:
            return self.state[None, :3].copy()
        return np.vstack([self.state[:3], self.state[13:].reshape(-1, 17)[:, :3]])
