"""Trajectories: hover, poses, circles, lines, minimum-derivative splines."""

from rotor_planning.trajectories.from_config import make_plans

__all__ = ["make_plans"]
