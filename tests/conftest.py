"""Fixtures of several tests of the graph."""

from machines import bad_cable, machines

__all__ = ["bad_cable", "machines"]
