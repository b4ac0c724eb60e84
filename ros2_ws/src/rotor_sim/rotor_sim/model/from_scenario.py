"""The mechanical system of a scenario, as it is in reality (with the changes of ``plant``)."""

from __future__ import annotations

import numpy as np

from rotor_core.config.loader import plant_model
from rotor_core.config.model import inertia_matrix
from rotor_core.config.schema import Scenario
from rotor_core.config.units import wxyz_from_rpy_deg
from rotor_sim.model.body import Body
from rotor_sim.model.system import WORLD, Cable, System, Weld


def system_from_scenario(scenario: Scenario) -> System:
    """Bodies in the order of ``model.entities``, cables in the order of ``model.cables``, one input per vehicle."""
    model = plant_model(scenario)
    names = [e.name for e in model.entities]

    def index(name: str) -> int:
        return WORLD if name == "world" else names.index(name)

    bodies = tuple(
        Body(
            e.name, e.mass_kg, None if e.inertia_kg_m2 is None else inertia_matrix(e.inertia_kg_m2)
        )
        for e in model.entities
    )
    cables = tuple(
        Cable(index(c.a), index(c.b), c.length_m, np.array(c.a_point_m), np.array(c.b_point_m))
        for c in model.cables
    )
    welds = tuple(
        Weld(
            index(link.parent),
            index(link.child),
            np.array(link.position_m),
            wxyz_from_rpy_deg(link.rpy_deg),
        )
        for link in model.rigid_links
    )
    return System(
        bodies, cables, welds, tuple(range(len(model.vehicles))), scenario.environment.gravity_m_s2
    )
