"""An integrator of somebody else. A module of its own: what integrators are made of loads all forces."""

from rotor_dynamics.integrators.classical import classical
from rotor_dynamics.integrators.methods import Method

TWIN = Method(classical, 4, "rkmk4 under another name", "a test")
