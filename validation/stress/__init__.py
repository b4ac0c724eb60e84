"""Worlds that are hard for the engine: light links between cables, redundant cables."""
