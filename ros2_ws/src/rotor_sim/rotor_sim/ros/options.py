"""Run options of a scenario, from the parameters of the simulator node."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Options for running a scenario.

    Attributes:
        pacing: ``lockstep`` or ``realtime``; under an autopilot real time waits for every answer, too.
        real_time_factor: simulated over wall time in real time.
        duration: end after this simulated time, s; 0: never.
        wait: stand still until every vehicle has been commanded.
        wait_for_recorder: stand still until a recorder says that it hears everything.
        paused: begin paused.
        precedence: in real time run before ordinary processes, where the system allows it.
        publish_tf: publish world -> base_link of every entity.
        publish_map: publish the static identity world -> map.
    """

    pacing: str
    real_time_factor: float = 1.0
    duration: float = 0.0
    wait: bool = True
    wait_for_recorder: bool = False
    paused: bool = False
    precedence: bool = True
    publish_tf: bool = True
    publish_map: bool = True
