"""Stability of the delivery drone's printed gains: poles and margins of its loops.

From polynomials of the linearised plant, and once more, unlike that, from the flown loop itself: the
map of one control period, differentiated about hover.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.polynomial import Polynomial
from scipy.optimize import brentq
from transforms3d.quaternions import qconjugate, qmult

from rotor_control.controller import make_controller
from rotor_control.laws.cascaded_pid import ERROR_SUM, LIFT, CascadedPidLaw
from rotor_core.config.controllers import CascadedPidControl, Pid
from rotor_core.config.schema import Actuation, Scenario
from rotor_core.plans.plan import hold
from rotor_core.state import FULL_STATE, State
from rotor_sim.simulation import Simulation

G = 9.81
S = Polynomial([0.0, 1.0])
ONE = Polynomial([1.0])

Rational = tuple[Polynomial, Polynomial]
"""Numerator and denominator."""


def pid(gains: Pid, filter_per_s: float) -> Rational:
    """P + I/s + D N s/(s + N); an infinite N is the ideal derivative."""
    if np.isinf(filter_per_s):
        return Polynomial([gains.i, gains.p, gains.d]), S
    lag = S + filter_per_s
    return gains.p * S * lag + gains.i * lag + gains.d * filter_per_s * S * S, S * lag


def lag(time_constant: float) -> Polynomial:
    """Denominator of a first-order lag."""
    return Polynomial([1.0, time_constant])


def lift_poles(control: CascadedPidControl, mass: float, share: float = 4.0) -> np.ndarray:
    """Poles of the height loop with the ideal derivative; ``share``: rotors that one newton of the loop counts for."""
    num, den = pid(control.lift, np.inf)
    return sorted_roots(mass * S * S * den + share * num)


def yaw_poles(control: CascadedPidControl, inertia: float, lever: float) -> np.ndarray:
    """Poles of the heading loop with the ideal derivative; ``lever``: moment per newton of the loop, m."""
    num, den = pid(control.yaw, np.inf)
    return sorted_roots(inertia * S * S * den + lever * num)


def inner_loop(
    control: CascadedPidControl,
    inertia: float,
    lever: float,
    filter_per_s: float,
    delay: float = 0.0,
) -> Rational:
    """Open loop of a tilt: controller, rotors with a lag, and inertia."""
    num, den = pid(control.inner_pitch, filter_per_s)
    return lever * num, inertia * S * S * den * lag(delay)


def cascade_poles(
    control: CascadedPidControl,
    inertia: float,
    lever: float,
    filter_per_s: float,
    *,
    delay: float = 0.0,
    heading: float = 0.0,
) -> np.ndarray:
    """Poles of the loop from position to position.

    ``heading``: of a vehicle whose shares are not turned by it, rad: both axes together are then one
    loop of complex numbers.
    """
    num_i, den_i = inner_loop(control, inertia, lever, filter_per_s, delay)
    num_o, den_o = pid(control.outer_x, filter_per_s)
    turn = np.exp(1j * heading) if heading else 1.0
    closed = (den_i + turn * num_i) * den_o * S * S + turn * num_i * G * num_o
    return sorted_roots(closed)


def sorted_roots(polynomial: Polynomial) -> np.ndarray:
    """Roots by their real part, then the imaginary one."""
    roots = polynomial.roots()
    return roots[np.lexsort((roots.imag, roots.real))]


def margin(loop: Rational, low: float = 1.0, high: float = 1000.0) -> tuple[float, float]:
    """Crossover, rad/s, and phase margin, deg, of an open loop."""

    def value(w: float) -> complex:
        return loop[0](1j * w) / loop[1](1j * w)

    crossover = float(brentq(lambda w: np.log(abs(value(w))), low, high))  # type: ignore[arg-type]
    return crossover, float(180.0 + np.degrees(np.angle(value(crossover))))


def outer_loop(
    control: CascadedPidControl, inertia: float, lever: float, filter_per_s: float
) -> Rational:
    """Open loop of a position, the tilt loop closed."""
    num_i, den_i = inner_loop(control, inertia, lever, filter_per_s)
    num_o, den_o = pid(control.outer_x, filter_per_s)
    return G * num_i * num_o, (den_i + num_i) * den_o * S * S


def limit_of(poles: Callable[[float], np.ndarray], low: float, high: float) -> float:
    """Value from ``low`` (stable) to ``high`` (unstable) at which the first pole enters the right half plane."""
    return float(brentq(lambda x: float(np.real(poles(x)).max()), low, high))  # type: ignore[arg-type]


# --- the flown loop -------------------------------------------------------------------------------


def flown_poles(scenario: Scenario, delta: float = 1e-6) -> np.ndarray:
    """Poles of the loop as it flies: eigenvalues of the map of one control period, as logarithms per second.

    The scenario hovers with ``actuation: wrench`` in calm air. Central differences about the equilibrium,
    in which the sum of the height loop carries the weight.
    """
    scenario = replace(
        scenario, mission=None, changes=(), actuation=Actuation("wrench", limits=False)
    )
    simulation, controller = Simulation(scenario), make_controller(scenario)
    law = controller.laws[0]
    assert isinstance(law, CascadedPidLaw)
    control = scenario.controller
    assert isinstance(control, CascadedPidControl)
    start = simulation.reset()[:, FULL_STATE].copy()
    State(start).position[:] = 0.0, 0.0, 5.0
    mass = sum(e.mass_kg for e in scenario.model.entities)
    rest = np.zeros_like(law.memory)
    rest[:, 3] = 1.0
    rest[LIFT, ERROR_SUM] = mass * G / 4.0 / control.lift.i
    controller.follow(0, hold(State(start).position[0], 0.0), 0.0)
    references = controller.references.copy()
    n_memory = 3 * len(rest)

    def advance(x: np.ndarray) -> np.ndarray:
        states = start.copy()
        q = qmult(State(start).attitude[0], [1.0, *(0.5 * x[3:6])])  # of small turns
        for row in states:
            State(row).position[:] += x[:3]
            State(row).attitude[:], State(row).velocity[:], State(row).body_rate[:] = (
                q / np.linalg.norm(q),
                x[6:9],
                x[9:12],
            )
        simulation.engine.set_state(states, joints=np.zeros((0, 2)), time=1.0)
        law.memory[:, :3] = rest[:, :3] + x[12:].reshape(-1, 3)
        law.memory[:, 3] = 1.0
        command = controller.decide(simulation.motion, references)
        simulation.engine.hold(command)
        simulation.engine.run(scenario.time.steps_per_control)
        after = simulation.engine.update_kinematics()[0]
        turned = qmult(qconjugate(State(start).attitude[0]), State(after).attitude)
        memory = (law.memory - rest)[:, :3].ravel()
        return np.concatenate(
            [
                State(after).position - State(start).position[0],
                2.0 * turned[1:],
                State(after).velocity,
                State(after).body_rate,
                memory,
            ]
        )

    eye = delta * np.eye(12 + n_memory)
    columns = [(advance(d) - advance(-d)) / (2.0 * delta) for d in eye]
    eigenvalues = np.linalg.eigvals(np.array(columns).T)
    alive = eigenvalues[np.abs(eigenvalues) > 1e-9]
    return np.log(alive.astype(complex)) / scenario.time.control_s
