"""Wakes of rotors: keys of the jets of air below multirotors."""

from __future__ import annotations

from dataclasses import dataclass

from rotor_core.config.yaml.structure import bounded


@dataclass(frozen=True)
class Wakes:
    """Every rotor of a multirotor pushes a jet of air down, which widens, bends with the wind, and merges with others.

    Bodies feel it through their drag, rotors of others through their ``inflow``, by default that of small propellers.

    ``spreading``: growth of the width of a jet (where its speed has fallen to 1/e) over the distance; 0.113 is that of
    round turbulent jets in still air (Hussein, Capp and George 1994). ``reach_m``: jets are not followed further.
    ``strength``: momentum of a jet over the thrust of its rotor, for what was measured otherwise.
    """

    spreading: float = bounded(0.113, gt=0.0, le=0.5)
    reach_m: float = bounded(10.0, gt=0.0, le=100.0)
    strength: float = bounded(1.0, ge=0.0, le=3.0)
