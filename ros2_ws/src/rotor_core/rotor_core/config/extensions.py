"""Tables of what a scenario names and the simulator is made of: forces, sensors, attachments, integrators.

Another package adds to them by entry points of the same group. Ours are named here by their place in the code and
imported when a scenario names them, so that a controller on a robot needs no simulator to read a scenario.
"""

from __future__ import annotations

from typing import Any

from rotor_core.registry import Kind, Registry, check_kind

FORCES: Registry[Any] = Registry(
    "rotor.forces",
    "force",
    "Forces on a body by the ``type`` of an entry of ``forces``: a rotor_dynamics.forces.element.ForceElement.",
    builtin={
        "buoyancy": "rotor_dynamics.forces.buoyancy:BUOYANCY",
        "shape_drag": "rotor_dynamics.forces.shape_drag:SHAPE_DRAG",
    },
)

SENSORS: Registry[Kind] = Registry(
    "rotor.sensors",
    "sensor",
    "Sensors by the ``type`` of an entry of ``sensing.sensors``; ``make(keys, simulation, seed)`` returns a "
    "rotor_sim.sensing.sensor.Sensor.",
    builtin={
        "rangefinder": "rotor_sim.sensing.rangefinder:RANGEFINDER",
        "magnetometer": "rotor_sim.sensing.magnetometer:MAGNETOMETER",
        "barometer": "rotor_sim.sensing.barometer:BAROMETER",
        "pitot": "rotor_sim.sensing.pitot:PITOT",
        "gps": "rotor_sim.sensing.gps:GPS",
    },
    check=check_kind,
)

ATTACHMENTS: Registry[Kind] = Registry(
    "rotor.attachments",
    "attachment",
    "Attachments by the ``type`` of an entry of ``model.attachments``; ``make(keys, vehicles, payloads)``, with the "
    "names of the scenario's, returns the cables and rigid links that it consists of.",
    builtin={
        "cable": "rotor_core.config.attachments.cable:CABLE",
        "rigid_link": "rotor_core.config.attachments.rigid_link:RIGID_LINK",
        "mechanism": "rotor_core.config.attachments.mechanism:MECHANISM",
    },
    check=check_kind,
)

INTEGRATORS: Registry[Any] = Registry(
    "rotor.integrators",
    "integrator",
    "Integrators by the name in ``time.integrator``: a rotor_dynamics.integrators.methods.Method.",
    builtin={
        "euler": "rotor_dynamics.integrators.classical:EULER",
        "erk4m": "rotor_dynamics.integrators.classical:ERK4M",
        "rkmk4": "rotor_dynamics.integrators.classical:RKMK4",
        "cf4": "rotor_dynamics.integrators.classical:CF4",
        "splitting": "rotor_dynamics.integrators.splitting:SPLITTING",
        "dopri5": "rotor_dynamics.integrators.dopri5:DOPRI5",
    },
)
