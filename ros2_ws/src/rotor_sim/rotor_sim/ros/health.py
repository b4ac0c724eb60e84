"""Health of the simulator, published on /diagnostics."""

from __future__ import annotations

import time as wall
from collections import deque

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from rotor_core.kernels.jit import COMPILED
from rotor_core.ros import qos
from rotor_sim.lateness import CAUSES, Lateness
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.ros.topics.world import SimTime
from rotor_sim.simulation import Simulation

COUNTS = (
    "control_periods",
    "missed_deadlines",
    "stale_commands",
    "rejected_commands",
    "lockstep_pauses",
    "hybrid_events",
    *CAUSES,
)
"""Counters since the node was configured."""

STATUS_NAME = "rotor: simulator"

LATE_BY_MS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Edges of the histogram of late periods, ms."""

LATENCIES = 2000
"""Command latencies that are kept for the quantiles."""


class Health:
    """Counters, command latency, real-time factor.

    Latency is the wall time from the publication of a state to the arrival of its answer.

    Attributes:
        has_precedence: whether the process runs before ordinary ones.
    """

    has_precedence = False

    def __init__(self, entities: Entities, simulation: Simulation, time: SimTime) -> None:
        self._simulation, self._time = simulation, time
        self._publisher = entities.publisher(DiagnosticArray, "/diagnostics", qos.STATE)
        self._hardware = entities.node.get_fully_qualified_name()
        self.last_report = 0.0
        self.counts = dict.fromkeys(COUNTS, 0)
        self._latencies: deque[float] = deque(maxlen=LATENCIES)
        self.lateness = Lateness()
        self._late_by = [0] * (len(LATE_BY_MS) + 1)
        self._asked = 0.0
        self._work = (0, 0)
        self._periods = 0
        self.anchor()

    def anchor(self) -> None:
        """Count the real-time factor, and the time of a period, from here."""
        self.lateness.begin()
        self._began_wall = wall.perf_counter()
        self._began_time = self._simulation.time
        self._ended_wall: float | None = None

    def ended(self) -> None:
        """Time stands from here: the real-time factor stays."""
        self._ended_wall = wall.perf_counter()

    def late(self, seconds: float) -> None:
        """The period that :attr:`lateness` follows has missed its deadline by ``seconds``."""
        self.counts["missed_deadlines"] += 1
        self._late_by[int(np.searchsorted(LATE_BY_MS, 1e3 * seconds, "right"))] += 1
        self.counts[self.lateness.cause()] += 1

    def asked(self) -> None:
        """A state has been published."""
        self._asked = wall.perf_counter()

    def answered(self) -> None:
        """Its answer has come."""
        if self._asked > 0.0:
            self._latencies.append(wall.perf_counter() - self._asked)
            self._asked = 0.0

    @property
    def real_time_factor(self) -> float:
        """Simulated over wall time since :meth:`anchor`."""
        elapsed = (self._ended_wall or wall.perf_counter()) - self._began_wall
        return (self._simulation.time - self._began_time) / elapsed if elapsed > 0.0 else 0.0

    def values(self) -> dict[str, object]:
        """Key and value of every figure; solver work is per physics step since the last call."""
        engine = self._simulation.engine
        work, periods = engine.solver_work, self.counts["control_periods"]
        steps = (periods - self._periods) * self._simulation.scenario.time.steps_per_control
        trials = (
            (work[0] - self._work[0]) / steps if steps > 0 and work[0] >= self._work[0] else 1.0
        )
        self._work, self._periods = work, periods
        out: dict[str, object] = {
            "real_time_factor": f"{self.real_time_factor:.4f}",
            **self.counts,
            "late_by_ms": " ".join(
                f"{low:g}:{n}" for low, n in zip((0.0, *LATE_BY_MS), self._late_by, strict=True)
            ),
            "integrator_trials_per_step": f"{trials:.3f}",
            "solver_pivots": work[1],
            "taut_cables": int(engine.taut.sum()),
            "slack_cables": int((engine.alive & ~engine.taut).sum()),
            "redundant_cables": engine.were_redundant,
            **{key: _text(value) for key, value in engine.accuracy.figures().items()},
            "compiled": COMPILED,
            "precedence": self.has_precedence,
        }
        if self._latencies:
            median, late = np.percentile(self._latencies, (50, 99)) * 1e3
            out["command_latency_ms_median"] = f"{median:.3f}"
            out["command_latency_ms_p99"] = f"{late:.3f}"
        return out

    def report(self, level: bytes, text: str, values: dict[str, object]) -> None:
        """Publish a status: ``values`` and all figures."""
        self.last_report = wall.perf_counter()
        status = DiagnosticStatus(
            level=level, name=STATUS_NAME, message=text, hardware_id=self._hardware
        )
        figures = {**values, **self.values()}
        status.values = [KeyValue(key=k, value=str(v)) for k, v in figures.items()]
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._time.stamp()
        self._publisher.publish(array)


def _text(value: object) -> str:
    if value is None:
        return "unknown"
    return f"{value:.3e}" if isinstance(value, float) else str(value)
