"""Embedded Runge-Kutta pair of orders 5 and 4 in the Lie algebra: error estimate and dense output.

The tableau of Dormand and Prince (A family of embedded Runge-Kutta formulae, 1980), its continuous
extension by Shampine (1986), both on rotation vectors theta with q = q_0 exp(theta) (Munthe-Kaas
1999). The in-house reference: other methods are judged against it.
"""

from __future__ import annotations

import numpy as np

from rotor_core.kernels.jit import inlined
from rotor_core.kernels.link import FLOAT, FLOATS, INT, TABLES, WORLD, linked
from rotor_core.math import so3
from rotor_core.math.vec3 import add, get3, norm, put3, scale
from rotor_dynamics import memory
from rotor_dynamics.constraints.unilateral import EVERYTHING, TAUT_ONLY, evaluate
from rotor_dynamics.integrators.classical import displaced, normalize, note_tensions
from rotor_dynamics.integrators.methods import Method

# SciPy has the same numbers (a test compares them), in a package that takes long to import
# fmt: off
A = np.array([
    [0, 0, 0, 0, 0],
    [1 / 5, 0, 0, 0, 0],
    [3 / 40, 9 / 40, 0, 0, 0],
    [44 / 45, -56 / 15, 32 / 9, 0, 0],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
])
B = np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84])
C = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1])
ERROR = np.array([-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40])
DENSE = np.array([
    [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
    [0, 0, 0, 0],
    [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
    [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
    [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
    [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
    [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
])
# fmt: on
STAGES = 6

SAFETY, SHRINK, GROW = 0.9, 0.2, 5.0
"""Factors of the next step: on the estimate, at least, at most."""


@inlined
def mix(world, weights, n):
    """Write the sum of the first n slopes with ``weights`` into the combined one."""
    combined = world.slopes[memory.COMBINED]
    for b in range(world.head[memory.N_BODIES]):
        for i in range(memory.SLOPE):
            value = 0.0
            for j in range(n):
                value += weights[j] * world.slopes[j, b, i]
            combined[b, i] = value


@linked(*WORLD, FLOAT, FLOAT, part="the integrator dopri5")
def dopri5(ints, floats, t, h):
    """A trial step; slope 6 ends as that of the end, in the algebra of the start where it is a rate."""
    world = memory.views(ints, floats)
    for stage in range(1, STAGES + 1):
        last = stage == STAGES
        mix(world, B if last else A[stage], stage)
        target = memory.END if last else memory.STAGE
        displaced(world, h, world.slopes[memory.COMBINED], world.states[target])
        if last:
            normalize(world)
        c = h if last else C[stage] * h
        evaluate(ints, floats, target, np.int64(stage), t + c, EVERYTHING if last else TAUT_ONLY)
        if not last:
            for b in range(world.head[memory.N_BODIES]):
                d = world.slopes[stage, b]
                theta = scale(h, get3(world.slopes[memory.COMBINED, b], memory.D_THETA))
                put3(d, memory.D_THETA, so3.dexp_inverse_exact(theta, get3(d, memory.D_THETA)))
        note_tensions(world, stage == 3)
        if not last:
            world.scalars[memory.POWER + stage] = world.scalars[memory.POWER_NOW]
    work = 0.0
    for stage in range(STAGES):
        work += B[stage] * world.scalars[memory.POWER + stage]
    world.scalars[memory.STEP_WORK] = h * work


@inlined
def last_rates(world, h):
    """Rates of the rotation vectors at the end of the step (slope 6 itself holds body rates there)."""
    for b in range(world.head[memory.N_BODIES]):
        theta = scale(h, get3(world.slopes[memory.COMBINED, b], memory.D_THETA))
        d = world.slopes[memory.LAST_SLOPE, b]
        put3(d, memory.D_THETA, so3.dexp_inverse_exact(theta, get3(d, memory.D_THETA)))


@inlined
def restore_last_rates(world):
    """Body rates again in slope 6."""
    for b in range(world.head[memory.N_BODIES]):
        put3(
            world.slopes[memory.LAST_SLOPE, b],
            memory.D_THETA,
            get3(world.states[memory.END, b], memory.OMEGA),
        )


@linked(*WORLD, FLOAT, returns=FLOAT, part="the integrator dopri5")
def estimated_error(ints, floats, h):
    """Largest error of the last trial step over the tolerance, of position, angle, velocity and rate."""
    world = memory.views(ints, floats)
    tolerance = world.scalars[memory.TOLERANCE]
    last_rates(world, h)
    worst = 0.0
    for b in range(world.head[memory.N_BODIES]):
        for part in range(4):
            size = 1.0
            if part == memory.D_P // 3:
                size += norm(get3(world.states[memory.END, b], memory.P))
            elif part == memory.D_V // 3:
                size += norm(get3(world.states[memory.END, b], memory.V))
            elif part == memory.D_OMEGA // 3:
                size += norm(get3(world.states[memory.END, b], memory.OMEGA))
            error = (0.0, 0.0, 0.0)
            for j in range(STAGES + 1):
                error = add(error, scale(ERROR[j], get3(world.slopes[j, b], 3 * part)))
            worst = max(worst, abs(h) * norm(error) / (tolerance * size))
    restore_last_rates(world)
    return worst


@inlined
def step_factor(error):
    """The next step over this one, by the estimated error over the tolerance."""
    if error == 0.0:
        return GROW
    return min(GROW, max(SHRINK, SAFETY * error ** (-1.0 / 5.0)))


@linked(*WORLD, FLOAT, FLOAT, FLOATS, INT, TABLES, returns=INT, part="the integrator dopri5")
def sample(ints, floats, t, h, times, cursor, out):
    """Dense output of the last trial step, which went from t to t + h (before it is accepted).

    Args:
        ints, floats: the world.
        t, h: start and length of the step, s.
        times: increasing, (n,) s.
        cursor: index of the first that is wanted.
        out: (n, n_bodies + 1, STATE), written where ``times`` are in the step.

    Returns:
        Index of the first that is beyond the step.
    """
    world = memory.views(ints, floats)
    last_rates(world, h)
    weights = world.scalars[memory.WEIGHTS :]
    while cursor < times.shape[0] and times[cursor] <= t + h:
        s = (times[cursor] - t) / h
        for j in range(STAGES + 1):
            weights[j] = ((DENSE[j, 3] * s + DENSE[j, 2]) * s + DENSE[j, 1]) * s + DENSE[j, 0]
        mix(world, weights, STAGES + 1)
        for b in range(world.head[memory.N_BODIES]):
            for i in range(memory.STATE):
                out[cursor, b, i] = world.states[memory.START, b, i]
        displaced(world, s * h, world.slopes[memory.COMBINED], out[cursor])
        cursor += 1
    mix(world, B, STAGES)
    restore_last_rates(world)
    return cursor


DOPRI5 = Method(
    dopri5,
    5,
    "embedded pair 5(4) in the Lie algebra, dense output",
    "Dormand and Prince 1980; Munthe-Kaas 1999",
    adaptive=True,
)
