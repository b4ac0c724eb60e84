"""Trajectories, motions of arms, and missions."""
