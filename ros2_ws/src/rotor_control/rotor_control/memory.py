"""What a control law remembers from one period to the next: the integral of the position error."""

from __future__ import annotations

from rotor_control.gains import INTEGRAL_LIMIT
from rotor_core._jit import kernel


@kernel
def integrate(memory, error, period):
    """Add ``error * period`` to the integral, clamped against windup, and return it as a vector."""
    for i in range(3):
        memory[i] = min(max(memory[i] + error[i] * period, -INTEGRAL_LIMIT), INTEGRAL_LIMIT)
    return memory[0], memory[1], memory[2]
