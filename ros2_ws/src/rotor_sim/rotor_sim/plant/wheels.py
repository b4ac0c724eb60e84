"""Wheels of pulleys as links of what carries them, which their cables turn (W.19)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rotor_core.config.attachments.cable import Cylinder
from rotor_core.config.model import Model
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.cable import Cable, Sheave
from rotor_dynamics.model.joint import Joint


def wheels(
    model: Model, cables: tuple[Cable, ...], first_body: int, first_joint: int
) -> tuple[tuple[Body, ...], tuple[Joint, ...], tuple[Cable, ...]]:
    """Bodies and joints of all wheels, and the cables that lie on them.

    Args:
        model: with its cables.
        cables: of the engine; those of the model come first.
        first_body, first_joint: numbers of the first new ones.
    """
    bodies: list[Body] = []
    joints: list[Joint] = []
    out = list(cables)
    for k, (name, keys) in enumerate(zip(model.cable_names, model.cables, strict=True)):
        through = list(cables[k].through)
        places = [i for i, way in enumerate(through) if isinstance(way, Sheave)]
        for number, (i, cylinder) in enumerate(zip(places, keys.cylinders, strict=True)):
            if cylinder.wheel is None:
                continue
            body = _wheel(cylinder, f"{name}/wheel{number + 1}")
            sheave: Sheave = through[i]  # type: ignore[assignment]
            axis = sheave.axis / np.linalg.norm(sheave.axis)
            row = first_body + len(bodies)
            joints.append(Joint(sheave.body, row, axis, sheave.centre, name=body.name))
            bodies.append(body)
            through[i] = replace(sheave, body=row, centre=np.zeros(3), axis=axis)
        out[k] = replace(cables[k], through=tuple(through))
    return tuple(bodies), tuple(joints), tuple(out)


def _wheel(cylinder: Cylinder, name: str) -> Body:
    """A thin wheel: half of its inertia about its axis across it."""
    wheel = cylinder.wheel
    assert wheel is not None
    inertia = wheel.inertia_kg_m2
    if inertia is None:
        inertia = 0.5 * wheel.mass_kg * cylinder.radius**2
    axis = np.array(cylinder.axis) / np.linalg.norm(cylinder.axis)
    return Body(name, wheel.mass_kg, 0.5 * inertia * (np.eye(3) + np.outer(axis, axis)))
