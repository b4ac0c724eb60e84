"""Memory of the compiled engine: every field of every row, and the tables of a world.

Kernels write ``memory.GAP``; the files of this folder say what each field is, and ``docs/memory.md``, which is
made from them, lists all. Nothing outside :mod:`rotor_dynamics` may import this package.
"""

from rotor_core.state import OMEGA, STATE, P, Q, V
from rotor_dynamics.memory.bodies import *
from rotor_dynamics.memory.constraints import *
from rotor_dynamics.memory.contacts import *
from rotor_dynamics.memory.discs import *
from rotor_dynamics.memory.hulls import *
from rotor_dynamics.memory.joints import *
from rotor_dynamics.memory.polyhedra import *
from rotor_dynamics.memory.rotors import *
from rotor_dynamics.memory.routes import *
from rotor_dynamics.memory.world import *
