"""Trajectories: hover, poses, circles, lines, minimum-derivative splines."""
