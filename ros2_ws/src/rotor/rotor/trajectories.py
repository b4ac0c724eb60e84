"""Trajectories as plans: each begins at a position and a heading, at rest."""

from rotor_core.plans.plan import Plan
from rotor_core.plans.plan import hold as hover
from rotor_planning.trajectories.plans import circle, figure_eight, line, rotation, waypoints

__all__ = ["Plan", "circle", "figure_eight", "hover", "line", "rotation", "waypoints"]
