"""Inflow of rotors: what a rotor gives in air that moves through it."""

from __future__ import annotations

from dataclasses import dataclass

from rotor_core.config.yaml.structure import bounded


@dataclass(frozen=True)
class Inflow:
    """Blades of a rotor, for momentum and blade element theory: thrust and torque in climb, descent and forward flight.

    ``solidity``: area of the blades over that of the disc. ``lift_slope``: of their section, per rad; 5.7 is that of
    usual blades, small propellers at low Reynolds numbers have less. Pitch and profile drag follow from the thrust and
    the torque in hover.
    """

    solidity: float = bounded(0.12, gt=0.0, le=1.0)
    lift_slope: float = bounded(5.0, gt=0.0, le=7.0)
