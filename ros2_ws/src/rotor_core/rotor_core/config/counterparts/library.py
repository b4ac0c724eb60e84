"""Controllers in a shared library."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rotor_core.config.counterparts.counterpart import Counterpart
from rotor_core.config.sensing import NO_ERRORS, InertialErrors
from rotor_core.config.yaml.structure import bounded


@dataclass(frozen=True)
class LibraryControl(Counterpart):
    """A controller in a shared library, one loaded copy per vehicle (``rotor_controller.h``).

    ``path``: the library, beside the scenario or in the working directory. ``parameters``: numbers by the names that
    it knows. ``isolated``: in a process of its own, so that a crash or a call without end is told and the flight goes
    on without that vehicle; without it calls take less time, and a crash ends everything. ``patience_s``: of wall time
    per call, where it is isolated. ``latency_s``: from the start of its asynchronous part to when its answer counts.
    ``imu``: errors of its accelerometer and gyroscope; states have those of ``sensing``.
    """

    type: Literal["library"]
    path: str
    parameters: dict[str, float] = field(default_factory=dict)
    isolated: bool = True
    patience_s: float = bounded(2.0, gt=0.0, le=3600.0)
    latency_s: float = bounded(0.0, ge=0.0)
    imu: InertialErrors = NO_ERRORS
