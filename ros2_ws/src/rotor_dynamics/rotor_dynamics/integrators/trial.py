"""One trial step by whatever integrator a world asks for."""

from __future__ import annotations

from math import nan

from rotor_core.config.extensions import INTEGRATORS
from rotor_core.kernels.jit import generated, inlined
from rotor_dynamics import memory
from rotor_dynamics.motion.abreast import goes_abreast

DEFAULT = "rkmk4"


def _make_trial_step():  # type: ignore[no-untyped-def]
    """Function that calls the step of an integrator by its number: a chain of conditions, the default last."""
    numbers: dict = {}
    for number, entry in enumerate(INTEGRATORS.values()):
        numbers.setdefault(entry.step, []).append(number)
    default = INTEGRATORS[DEFAULT].step
    del numbers[default]
    scope = {"step_default": default}
    lines = ["def trial_step(method, ints, floats, t, h):"]
    for i, (step, codes) in enumerate(numbers.items()):
        scope[f"step_{i}"] = step
        test = " or ".join(f"method == {code}" for code in codes)
        lines += [f"    {'el' if i else ''}if {test}:", f"        step_{i}(ints, floats, t, h)"]
    lines += ["    else:", "        step_default(ints, floats, t, h)"]
    return generated("\n".join(lines) + "\n", "<steps of rotor_dynamics.integrators>", scope)


trial_step = inlined(_make_trial_step())
default_abreast = INTEGRATORS[DEFAULT].abreast


@inlined
def advance(ints, floats, t, h):
    """One trial step of length h from the start (its slope is slope 0) to the end (its slope is the last).

    The taut set stays fixed. The end is projected onto the taut constraints. Writes per taut cable
    the tension at the end (TENSION), near the middle (TENSION_MID) and the smallest over all stages
    (TENSION_MIN).
    """
    world = memory.views(ints, floats)
    world.head[memory.INCONSISTENT] = 0
    world.head[memory.COARSE] = 0
    world.scalars[memory.STEP_WORK] = nan  # unless the integrator keeps account of work
    for k in range(world.head[memory.N_CONSTRAINTS]):
        world.constraints[k, memory.TENSION_MIN] = world.constraints[k, memory.TENSION_0]
    if goes_abreast(world):
        default_abreast(ints, floats, t, h)
    else:
        trial_step(world.head[memory.METHOD], ints, floats, t, h)
