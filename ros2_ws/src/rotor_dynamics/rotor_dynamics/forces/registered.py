"""Forces that are summed before the motion: contacts of both laws, registered forces, drag of heavy cables."""

from __future__ import annotations

from rotor_core.config.extensions import FORCES
from rotor_core.kernels.jit import generated, inlined
from rotor_core.kernels.link import FLOAT, INT, WORLD, linked
from rotor_core.math.vec3 import (
    add,
    apply,
    apply_transposed,
    cross,
    get3,
    get9,
    product,
    put3,
    sub,
)
from rotor_dynamics import memory
from rotor_dynamics.forces.contact import begin_wrenches, contact_wrenches
from rotor_dynamics.forces.element import Motion
from rotor_dynamics.forces.strands import strand_bend, strand_drag


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
def registered_wrenches(world, state, t):
    """Add registered forces, and drag and bending of heavy cables, in a state to the column OUTER_WRENCH."""
    for k in range(world.head[memory.N_FORCES]):
        b = world.force_int[k, memory.FORCE_BODY]
        row, s, body = world.forces[k], state[b], world.bodies[b]
        if world.force_int[k, memory.FORCE_CODE] == memory.STRAND_BEND:
            strand_bend(world, state, k)
            continue
        if world.force_int[k, memory.FORCE_CODE] == memory.STRAND_DRAG:
            pushed = apply_transposed(get9(body, memory.ROTATION), strand_drag(world, state, k))
            put3(body, memory.OUTER_WRENCH, add(get3(body, memory.OUTER_WRENCH), pushed))
            continue
        R, omega = get9(body, memory.ROTATION), get3(s, memory.OMEGA)
        place, turn = get3(row, memory.FORCE_PLACE), get9(row, memory.FORCE_TURN)
        attitude = product(R, turn)
        velocity = add(get3(s, memory.V), apply(R, cross(omega, place)))
        motion = Motion(
            add(get3(s, memory.P), apply(R, place)),
            attitude,
            velocity,
            apply_transposed(turn, omega),
            apply_transposed(attitude, sub(velocity, get3(body, memory.WIND))),
            t,
        )
        force, moment = formula(
            world.force_int[k, memory.FORCE_CODE], row[memory.FORCE_PARAMETERS :], motion
        )
        force = apply(turn, force)
        moment = add(apply(turn, moment), cross(place, force))
        put3(body, memory.OUTER_WRENCH, add(get3(body, memory.OUTER_WRENCH), force))
        put3(body, memory.OUTER_WRENCH + 3, add(get3(body, memory.OUTER_WRENCH + 3), moment))


@inlined
def pushes(world):
    """Add what presses bodies in rigid contact over the step to the column OUTER_WRENCH (N.9)."""
    for b in range(world.head[memory.N_BODIES]):
        body = world.bodies[b]
        R = get9(body, memory.ROTATION)
        for column in (0, 3):
            pushed = apply_transposed(R, get3(body, memory.CONTACT_PUSH + column))
            at = memory.OUTER_WRENCH + column
            put3(body, at, add(get3(body, at), pushed))


@linked(*WORLD, INT, FLOAT, part="contacts and forces")
def outer_wrenches(ints, floats, which_state, t):
    """Sum of contacts of both laws and registered forces on every body in a state, into the column OUTER_WRENCH.

    A call of its own: inlined into the motion of free bodies and of links it costs a fifth more compiling.
    """
    world = memory.views(ints, floats)
    state = world.states[which_state]
    begin_wrenches(world, state, t)
    contact_wrenches(world, state, t)
    registered_wrenches(world, state, t)
    if world.head[memory.N_HULLS] != 0:
        pushes(world)
