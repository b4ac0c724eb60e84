"""Criteria of a verdict: what a flight may do and still count as flown."""

from __future__ import annotations

from dataclasses import dataclass

from rotor_core.config.yaml.structure import bounded


@dataclass(frozen=True)
class Criteria:
    """Limits within which a flight counts as flown; ``null`` switches a criterion off.

    ``may_touch``: vehicles, arms and taut cables may pass through obstacles and each other, and payloads through what
    nothing holds them apart from; events tell it all the same. ``error_m``: of a planned entity from its reference,
    and, with the reach of its cable, of a vehicle from where its payload should be.
    ``slack_s``: of a cable at a stretch, once its payload is in the air. ``tilt_deg``: of a vehicle, and of a payload
    that three cables or more hold level. ``touchdown_m_s``: of a vehicle, downwards. ``limited_s``: sum of the control
    periods in which a vehicle is at the limits of its rotors.
    """

    error_m: float | None = bounded(5.0, gt=0.0)
    slack_s: float | None = bounded(2.0, gt=0.0)
    tilt_deg: float | None = bounded(75.0, gt=0.0, le=180.0)
    touchdown_m_s: float | None = bounded(1.5, gt=0.0)
    limited_s: float | None = bounded(1.0, gt=0.0)
    may_touch: bool = False
