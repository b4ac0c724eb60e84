"""True bodies, rotors and cables of the laboratory: the nominal model with drawn errors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.initial import initial_states
from rotor_core.config.model import Model
from rotor_core.config.schema import Scenario
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.state import State
from rotor_testbed.settings import LaboratorySettings


@dataclass(frozen=True)
class Reality:
    """Drawn once, then constant.

    Attributes:
        masses: (n_entities,) kg.
        inertias: about the centres of mass, in body axes, (n_entities, 3, 3) kg m^2; zero for
            point masses.
        thrust_gains: true over commanded thrust, (n_vehicles,).
        lengths: unstretched, (n_cables,) m.
        states: at the start, (n_entities, 13); vehicles moved along cables whose length is in
            error, so that no cable begins stretched.
    """

    masses: np.ndarray
    inertias: np.ndarray
    thrust_gains: np.ndarray
    lengths: np.ndarray
    states: np.ndarray


def possible_inertia(inertia: np.ndarray) -> np.ndarray:
    """The inertia with its largest principal value lowered to the sum of the others where it is above.

    MuJoCo takes only what a rigid body can have; scenarios admit measured values up to 5 % beyond.
    """
    values, axes = np.linalg.eigh(inertia)
    if values[2] <= values[0] + values[1]:
        return inertia
    values[2] = values[0] + values[1]
    return (axes * values) @ axes.T


def draw_reality(
    scenario: Scenario, settings: LaboratorySettings, rng: np.random.Generator
) -> Reality:
    """The reality of a scenario.

    The ``plant`` of the scenario is left out: it is what somebody believes to differ, and has no
    power over a real hall. ``sensing`` has none either.
    """
    model = scenario.model
    count = len(model.entities)
    masses = np.array([e.mass_kg for e in model.entities])
    inertias = np.array(
        [
            np.zeros((3, 3))
            if e.inertia_kg_m2 is None
            else possible_inertia(inertia_matrix(e.inertia_kg_m2))
            for e in model.entities
        ]
    )
    mass_factors = 1.0 + settings.mass_error * rng.standard_normal(count)
    inertia_factors = 1.0 + settings.inertia_error * rng.standard_normal(count)
    spread = settings.thrust_gain_spread * rng.standard_normal(len(model.vehicles))
    lengths = np.array([c.length_m for c in model.cables])
    errors = settings.length_error_m * rng.standard_normal(len(lengths))
    states = initial_states(replace(scenario, plant=()))
    for k, cable in enumerate(model.cables):
        mover = _sole_holder(model, cable)
        if mover is None:
            errors[k] = 0.0  # nothing could give way at the start
        else:
            _give_way(states, model, cable, mover, lengths[k] + errors[k])
    return Reality(
        masses * mass_factors,
        inertias * inertia_factors[:, None, None],
        settings.thrust_gain + spread,
        lengths + errors,
        states,
    )


def _sole_holder(model: Model, cable: CableAttachment) -> str | None:
    """A vehicle at an end of the cable that hangs on no other, if there is one."""
    ends = [name for c in model.cables for name in (c.a, c.b)]
    for vehicle in model.vehicles:
        if vehicle.name in (cable.a, cable.b) and ends.count(vehicle.name) == 1:
            return vehicle.name
    return None


def _give_way(
    states: np.ndarray, model: Model, cable: CableAttachment, mover: str, length: float
) -> None:
    """Move the vehicle along a cable that was taut at its nominal length to the true one."""
    ends = []
    for name, point in ((cable.a, cable.a_point_m), (cable.b, cable.b_point_m)):
        if name == "world":
            ends.append(np.array(point, float))
            continue
        row = states[model.index(name)]
        ends.append(State(row).position + rotation_from(State(row).attitude).apply(point))
    along = ends[0] - ends[1] if mover == cable.a else ends[1] - ends[0]
    distance = float(np.linalg.norm(along))
    if distance > cable.length_m - 1e-6 or distance > length:
        State(states).position[model.index(mover)] += along / distance * (length - distance)
