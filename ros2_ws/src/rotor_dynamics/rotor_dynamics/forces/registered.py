"""Sum of the registered forces on a body: those of :data:`rotor_core.config.extensions.FORCES`."""

from __future__ import annotations

from rotor_core._jit import generated, inlined
from rotor_core.config.extensions import FORCES
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    get3,
    get9,
    product,
    sub,
)
from rotor_dynamics import memory
from rotor_dynamics.forces.element import Motion


def _make_formula():  # type: ignore[no-untyped-def]
    """Function that calls the formula of a force by its number: a chain of conditions."""
    scope = {}
    lines = ["def formula(code, parameters, motion):"]
    for code, element in enumerate(FORCES.values()):
        scope[f"formula_{code}"] = element.formula
        lines += [f"    if code == {code}:", f"        return formula_{code}(parameters, motion)"]
    lines.append("    return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)")
    return generated("\n".join(lines) + "\n", "<formulas of rotor_dynamics.forces>", scope)


formula = inlined(_make_formula())


@inlined
def registered_wrench(world, state, b, R, t):
    """Force and moment on body b about its centre of mass, in body axes."""
    total_force, total_moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    s = state[b]
    for k in range(world.body_int[b, memory.FIRST_FORCE], world.body_int[b, memory.END_FORCE]):
        row = world.forces[k]
        place, turn = get3(row, memory.FORCE_PLACE), get9(row, memory.FORCE_TURN)
        omega = get3(s, memory.OMEGA)
        attitude = product(R, turn)
        velocity = add(get3(s, memory.V), apply(R, cross(omega, place)))
        motion = Motion(
            add(get3(s, memory.P), apply(R, place)),
            attitude,
            velocity,
            apply_transposed(turn, omega),
            apply_transposed(attitude, sub(velocity, get3(world.bodies[b], memory.WIND))),
            t,
        )
        force, moment = formula(
            world.force_int[k, memory.FORCE_CODE], row[memory.FORCE_PARAMETERS :], motion
        )
        force = apply(turn, force)
        total_force = add(total_force, force)
        total_moment = add(total_moment, add(apply(turn, moment), cross(place, force)))
    return total_force, total_moment
