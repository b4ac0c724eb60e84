"""Light links between two cables: hooks, shackles, load cells, a thin bar."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from rotor_core.state import State
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, System
from validation.stress.flight import World, at_rest

REACH = 0.05
"""From the middle of a hook to either of its eyes, m."""


def hook_world(ratio: float, *, bent: float = 0.3, seed: int = 0) -> World:
    """A hook of 1 kg between a cable of 2 m above and one of 1 m to a load of ``ratio`` kg.

    Cables are straight and swung out, ``bent`` rad against each other, at rest; a seed other than zero turns the
    hook out of line.
    """
    eye = np.array([0.0, 0.0, REACH])
    upper, lower = (Rotation.from_rotvec([0.0, a, 0.0]) for a in (0.1, 0.1 - bent))
    turn = upper
    if seed:
        turn = Rotation.from_rotvec(np.random.default_rng(seed).normal(0.0, 0.3, 3)) * upper
    down = np.array([0.0, 0.0, -1.0])
    hook = 2.0 * upper.apply(down) - turn.apply(eye)
    load = hook + turn.apply(-eye) + lower.apply(down)
    states = np.array([at_rest(hook), at_rest(load)])
    State(states).attitude[0] = turn.as_quat()[[3, 0, 1, 2]]
    system = System(
        (Body("hook", 1.0, 1e-3 * np.eye(3)), Body("load", ratio)),
        (Cable(WORLD, 0, 2.0, r_b=eye), Cable(0, 1, 1.0, r_a=-eye)),
    )
    return World(f"hook, load of {ratio:g} times its mass", system, states)


def thin_bar_world() -> World:
    """A bar of 0.2 kg and 1.3e-5 kg m^2 about its length, hung by two eyes 2 cm above it, which twists at 1.5 rad/s."""
    eyes = np.array([[-0.4, 0.0, 0.02], [0.4, 0.0, 0.02]])
    tops = eyes + [0.0, 0.0, 1.0]
    states = np.array([at_rest(np.zeros(3))])
    State(states).body_rate[0] = 1.5, 0.0, 0.2
    system = System(
        (Body("bar", 0.2, np.diag([1.3e-5, 1.07e-2, 1.07e-2])),),
        tuple(Cable(WORLD, 0, 1.0, r_a=a, r_b=b) for a, b in zip(tops, eyes, strict=True)),
    )
    return World("thin bar on two cables", system, states)
