"""Drums of winches as joints of the world: what they pay out is the travel of a massless slider (W.12)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rotor_core.config.model import Model
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable
from rotor_dynamics.model.joint import Joint


def drums(
    model: Model, cables: tuple[Cable, ...], first_body: int, first_joint: int
) -> tuple[tuple[Body, ...], tuple[Joint, ...], tuple[Cable, ...]]:
    """Bodies and joints of all drums, and the cables with theirs.

    Args:
        model: with its winches.
        cables: of the engine; those of the model come first.
        first_body, first_joint: numbers of the first new ones.
    """
    bodies: list[Body] = []
    joints: list[Joint] = []
    out = list(cables)
    for k, (name, cable) in enumerate(zip(model.cable_names, model.cables, strict=True)):
        winch = cable.winch
        if winch is None or winch.drum is None:
            continue
        drum, (shortest, longest) = winch.drum, winch.lengths_m
        out[k] = replace(cables[k], drum=first_joint + len(joints))
        joints.append(
            Joint(
                WORLD,
                first_body + len(bodies),
                np.array([1.0, 0.0, 0.0]),
                kind="prismatic",
                lower=shortest - cables[k].length,
                upper=longest - cables[k].length,
                armature=drum.mass,
                effort_limit=drum.force,
                name=f"{name}/drum",
            )
        )
        bodies.append(Body(f"{name}/drum", 0.0))
    return tuple(bodies), tuple(joints), tuple(out)
