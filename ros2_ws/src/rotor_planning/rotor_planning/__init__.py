"""Trajectories: hover, poses, circles, lines, minimum-derivative splines."""

from rotor_planning.trajectories.plans import make_plans

__all__ = ["make_plans"]
