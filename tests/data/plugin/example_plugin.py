"""A package of somebody else that adds to the suite without touching it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rotor.verb import Verb
from rotor_core.config.yaml.structure import bounded
from rotor_core.plans.plan import hold
from rotor_core.reference import Reference
from rotor_core.registry import Kind
from rotor_core.state import State


@dataclass(frozen=True)
class StiffControl:
    """A law that pulls straight up and towards the reference."""

    type: str
    stiffness_per_s2: float = bounded(4.0, gt=0.0)


class StiffLaw:
    def __init__(self, scenario, team):
        self.team = team
        self.row = scenario.model.index(team.vehicles[0])
        self.mass = scenario.model.vehicles[self.row].mass_kg
        self.k = scenario.controller.stiffness_per_s2

    def __call__(self, states, reference, out):
        state, wanted = State(states[self.row]), Reference(reference)
        a = self.k * (wanted.position - state.position) - 2.0 * np.sqrt(self.k) * state.velocity
        out[0] = self.mass * (9.81 + a[2]), 0.0, 0.0, 0.0

    def reset(self):
        pass


LAW = Kind(StiffControl, StiffLaw)


@dataclass(frozen=True)
class AboveConfig:
    """Hover above the start."""

    type: str
    height_m: float = bounded(gt=0.0)


TRAJECTORY = Kind(
    AboveConfig,
    lambda config, start, yaw: hold(start + [0.0, 0.0, config.height_m], yaw, duration=4.0),
)


def highest_m(flight):
    return float(State(flight.states).position[..., 2].max())


def write_text(flight, path: Path):
    path.write_text(f"{len(flight.time)} rows\n")


def _greet(options):
    print(f"hello {options.who}")
    return 0


GREET = Verb("Say hello.", "./rotor greet you", lambda sub: sub.add_argument("who"), _greet)
