"""Largest distance between a vehicle and its payload that a cable allows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rotor_core.config.model import Model
from rotor_core.config.teams import Team

STRETCH = 2.0
"""Of an elastic cable, over its length: few bear more."""


def reaches(model: Model, teams: Sequence[Team]) -> dict[str, float]:
    """Longest distance of every vehicle of a team on cables from its payload, m, while its cable holds."""
    out = {}
    for team in teams:
        for vehicle, k in zip(team.vehicles, team.cables, strict=False):  # no cables: none
            cable = model.cables[k]
            length = max(cable.length_m, cable.winch.lengths_m[1] if cable.winch else 0.0)
            length *= STRETCH if cable.stiffness_n_per_m else 1.0
            ends = sum(float(np.linalg.norm(point)) for _, point in (cable.path[0], cable.path[-1]))
            out[vehicle] = length + ends
    return out
