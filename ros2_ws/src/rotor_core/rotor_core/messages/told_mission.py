"""State of a mission, as the planner publishes it on ``rotor/mission`` (``diagnostic_msgs/DiagnosticStatus``)."""

from __future__ import annotations

from typing import Any

RUNNING = "running"


def under_way(step: object, kind: object) -> str:
    """Words on a mission that had not ended when its flight did."""
    return f"step {step} ({kind}) was under way when the flight ended"


def mission_from_message(message: Any) -> dict[str, str]:
    """Status and message of a mission if the flight ended now: one that runs is unfinished."""
    values = {v.key: v.value for v in message.values}
    status, text = values.get("status", ""), str(message.message)
    if status == RUNNING:
        status, text = "unfinished", under_way(values.get("step"), values.get("kind"))
    return {"status": status, "message": text}
