"""A package of somebody else that adds to the suite without touching it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rotor.graph.adapters import Adapter
from rotor.verb import Verb
from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.yaml.structure import bounded
from rotor_core.kernels.jit import kernel
from rotor_core.plans.plan import hold
from rotor_core.reference import Reference
from rotor_core.registry import Kind
from rotor_core.state import State
from rotor_dynamics.forces.element import ForceElement
from rotor_sim.sensing.sensor import Channel, SensorKind


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


@dataclass(frozen=True)
class SpringConfig:
    """A spring to a point of the world, with a damper."""

    type: str
    body: str
    anchor_m: tuple[float, float, float]
    stiffness_n_per_m: float = bounded(gt=0.0)
    damping_n_s_per_m: float = bounded(0.0, ge=0.0)


@kernel
def spring_formula(parameters, motion):
    k, c = parameters[3], parameters[4]
    a = motion.attitude
    x = k * (parameters[0] - motion.position[0]) - c * motion.velocity[0]
    y = k * (parameters[1] - motion.position[1]) - c * motion.velocity[1]
    z = k * (parameters[2] - motion.position[2]) - c * motion.velocity[2]
    force = (
        a[0] * x + a[3] * y + a[6] * z,
        a[1] * x + a[4] * y + a[7] * z,
        a[2] * x + a[5] * y + a[8] * z,
    )
    return force, (0.0, 0.0, 0.0)


SPRING = ForceElement(
    SpringConfig,
    lambda keys, environment: (*keys.anchor_m, keys.stiffness_n_per_m, keys.damping_n_s_per_m),
    spring_formula,
)


@dataclass(frozen=True)
class BarometerConfig:
    """Pressure of the air at a body."""

    type: str
    body: str
    rate_hz: float = bounded(20.0, gt=0.0)


class Barometer:
    def __init__(self, keys, simulation, seed):
        self._simulation = simulation
        self._row = simulation.body_names.index(keys.body)

    def sense(self):
        height = self._simulation.engine.motion[self._row, 2]
        return np.array([[101325.0 - 12.0 * height]])

    def reset(self):
        pass


BAROMETER = SensorKind(
    BarometerConfig,
    Barometer,
    lambda keys, model: [
        Channel(
            f"{keys.body}/barometer",
            keys.body,
            "sensor_msgs/msg/FluidPressure",
            ("fluid_pressure",),
        )
    ],
)


@dataclass(frozen=True)
class BridleConfig:
    """Two cables from one vehicle to two points of the payload."""

    type: str
    vehicle: str
    length_m: float = bounded(gt=0.0)
    width_m: float = bounded(gt=0.0)


def bridle(keys, vehicles, payloads):
    if not payloads:
        raise ValueError("needs a payload; add model.payloads.")
    half = 0.5 * keys.width_m
    return [
        CableAttachment("cable", keys.vehicle, payloads[0], keys.length_m, b_point_m=(x, 0.0, 0.0))
        for x in (-half, half)
    ]


BRIDLE = Kind(BridleConfig, bridle)

AUTOPILOT = Adapter("example_plugin", "example_adapter", "numpy")
