"""Hybrid multibody simulation of aerial vehicles that carry things."""

from rotor_sim.simulation import Simulation

__all__ = ["Simulation"]
