"""Steady flight of any scenario: hover, or straight flight at a constant velocity.

Unknown are commands, attitudes, directions of cables and, with a helicopter, the whole periodic motion of its
rotor. The engine flies one period; what it does must repeat, displaced by velocity times period. Solved by
Newton's method with the shortest step, so that what nothing decides (where, which heading) stays as the
scenario has it. Equation (B.16), docs/theory/helicopter.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from rotor_core.config.model import Vehicle
from rotor_core.config.schema import Actuation, Scenario
from rotor_core.errors import ContractError, ModelError, SolverError
from rotor_sim.analysis.trim_report import beyond_limits, loads_of
from rotor_sim.analysis.trim_state import SteadyWorld

PERTURBATION = 1e-6
"""Of scaled unknowns, for the derivatives."""

TOLERANCE = 1e-9
"""Largest mean acceleration at which a flight counts as steady, m/s^2 and rad/s^2."""

ROUGHLY = 1e-6
"""Rounding of the derivatives may stop it before TOLERANCE; beyond this it is not a flight."""

SPEEDS = 8
"""Steps from hover in calm air to a velocity and a wind in which a flight is not found at once."""

OVERSPEED = 0.05
"""First share by which a rotor turns faster where the air drives it."""

IDLE = 1e-6
"""Torque of an engine that gives none, N m."""

MAX_SECANTS = 12
MAX_ITERATIONS = 40
SMALLEST_SHARE = 1.0 / 64.0
"""Of a Newton step that is still tried."""

RANK = 1e-9
"""Directions that change the flight by less than this share are left alone."""


@dataclass(frozen=True)
class Trim:
    """A steady flight, or why there is none.

    Attributes:
        reason: empty where there is one.
        residual: largest mean acceleration over a period, m/s^2 and rad/s^2.
        iterations: of Newton's method.
        velocity: of the flight in W, (3,) m/s.
        commands: thrust and moment, or collective, lateral, longitudinal and tail force, (n_vehicles, 4).
        engine_torques: of helicopters, (n,) N m.
        efforts: of the joints of arms, (n_joints,); NaN of driven ones while a cable pulls, which nobody knows.
        states: of all entities at the start of a period, (n, 13).
        joints: angles and rates of all joints then, (n, 2).
        inflow: induced velocities then, (n_discs,) m/s.
        loads: means over a period, by name; helicopters with the harmonics of their blades.
    """

    reason: str
    residual: float
    iterations: int
    velocity: np.ndarray
    commands: np.ndarray
    engine_torques: np.ndarray
    efforts: np.ndarray
    states: np.ndarray
    joints: np.ndarray
    inflow: np.ndarray
    loads: dict[str, float] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        """True if such a flight exists."""
        return not self.reason


def _check_air(scenario: Scenario, climb: float) -> None:
    air, wind = scenario.environment, scenario.environment.wind
    batteries = (v.battery for v in scenario.model.vehicles)
    for key, there in (
        ("environment.wakes", air.wakes),
        ("environment.ceiling_effect", air.ceiling_effect),
        (
            "environment.ground_effect with actuation: wrench (it does with rotors)",
            air.ground_effect and scenario.actuation.mode == "wrench",
        ),
        ("environment.ground_effect on the way up or down", air.ground_effect and climb != 0.0),
        ("battery.assumed_v", any(b is not None and b.assumed_v is not None for b in batteries)),
        ("environment.wind.profile", wind.profile),
        ("environment.wind.obstacle_wakes", wind.obstacle_wakes),
        ("environment.wind.field_file", wind.field_file),
        ("rotors.inflow", any(v.rotors.inflow for v in scenario.model.vehicles)),
    ):
        if there:
            raise ContractError(
                f"trim: does not know {key}. Leave it out, or fly the scenario until it is steady."
            )


def trim(
    scenario: Scenario,
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Trim:
    """Steady flight of a scenario.

    Steady wind blows, gusts, fronts and turbulence do not; nothing touches the ground; arms hold their initial
    posture; limits are checked at the end.

    Args:
        scenario: whose plant flies.
        velocity: in W, m/s.

    Raises:
        ContractError: the velocity is not finite, or the air is not the same everywhere.
        ModelError: rotors of helicopters with different periods.
    """
    wanted = np.array(velocity, float)
    if wanted.shape != (3,) or not np.isfinite(wanted).all():
        raise ContractError(f"trim: velocity must be 3 finite numbers, got {velocity}.")
    mode = "wrench" if scenario.actuation.mode == "wrench" else "rotors"
    _check_air(scenario, velocity[2])
    calm = replace(
        scenario.environment.wind, gusts=(), fronts=(), turbulence=None, frozen_turbulence=None
    )
    plain = replace(
        scenario,
        actuation=Actuation(mode, limits=False),
        environment=replace(scenario.environment, contact=None, wind=calm),
        mission=None,
        changes=(),
        model=replace(scenario.model, vehicles=tuple(map(_strong, scenario.model.vehicles))),
    )
    world, solution = _solve(plain, wanted)
    out = world.outcome(solution.x)
    if (
        solution.residual <= ROUGHLY
        and len(out.engine_torques) == 1
        and out.engine_torques[0] < 0.0
    ):
        # the air turns the rotor, and the engine cannot brake it: faster, until it needs none
        world, solution = _freewheeling(plain, wanted, float(out.engine_torques[0]))
        out = world.outcome(solution.x)
        if solution.residual <= ROUGHLY and abs(out.engine_torques[0]) < IDLE:
            out.engine_torques[:] = 0.0
    x, largest = solution.x, solution.residual
    reason = "" if largest <= ROUGHLY else f"no steady flight was found: {solution.words}"
    loads = loads_of(world, x, out.engine_torques) if np.isfinite(largest) else {}
    if not reason:
        tensions = {name: loads[f"{name}.tension_n"] for name in world.cables}
        reason = beyond_limits(scenario, out.commands, out.engine_torques, out.efforts, tensions)
    return Trim(
        reason=reason,
        residual=largest,
        iterations=solution.iterations,
        velocity=wanted,
        commands=out.commands,
        engine_torques=out.engine_torques,
        efforts=out.efforts,
        states=out.states,
        joints=out.joints,
        inflow=out.inflow,
        loads=loads,
    )


def _solve(plain: Scenario, wanted: np.ndarray) -> tuple[SteadyWorld, _Solution]:
    """A flight with loads that head as at the start; where there is none, with loads that the air turns."""
    world, solution = _solve_with(plain, wanted, loads_turn=False)
    if solution.residual > ROUGHLY:
        turned = _solve_with(plain, wanted, loads_turn=True)
        if turned[1].residual <= ROUGHLY:
            return turned
    return world, solution


def _solve_with(
    plain: Scenario, wanted: np.ndarray, *, loads_turn: bool
) -> tuple[SteadyWorld, _Solution]:
    world = SteadyWorld(plain, wanted, loads_turn=loads_turn)
    solution = _newton(world, world.start())
    wind = np.array(plain.environment.wind.steady_m_s, float)
    if solution.residual > ROUGHLY and (np.any(wanted) or np.any(wind)):
        # from hover in calm air, faster and faster, in more and more wind
        x = world.start()
        for share in np.linspace(0.0, 1.0, SPEEDS + 1):
            if np.any(wind):
                calmer = _in_wind(plain, share * wind)
                world = SteadyWorld(calmer, wanted, loads_turn=loads_turn)
            solution = _newton(world, x, speed=share)
            x = solution.x
    return world, solution


def _strong(vehicle: Vehicle) -> Vehicle:
    """The vehicle with motors of joints that have no limit."""
    joints = (replace(j, **{j.UNITS["effort"]: None}) if j.UNITS else j for j in vehicle.joints)
    return replace(vehicle, joints=tuple(joints))


def _in_wind(plain: Scenario, steady: np.ndarray) -> Scenario:
    """The scenario in another steady wind, (3,) m/s."""
    wind = replace(plain.environment.wind, steady_m_s=tuple(steady.tolist()))
    return replace(plain, environment=replace(plain.environment, wind=wind))


def _freewheeling(
    plain: Scenario, wanted: np.ndarray, torque: float
) -> tuple[SteadyWorld, _Solution]:
    """The flight at the rotor speed at which the air gives the rotor what it needs, by secants."""
    slow, fast = (1.0, torque), 1.0 + OVERSPEED
    world, solution = _solve(_turning(plain, fast), wanted)
    for _ in range(MAX_SECANTS):
        torque = float(world.outcome(solution.x).engine_torques[0])
        if solution.residual > ROUGHLY or abs(torque) < IDLE or torque == slow[1]:
            break
        step = -torque * (fast - slow[0]) / (torque - slow[1])
        slow, fast = (fast, torque), fast + min(max(step, -4.0 * OVERSPEED), 4.0 * OVERSPEED)
        world, solution = _solve(_turning(plain, fast), wanted)
    return world, solution


def _turning(plain: Scenario, ratio: float) -> Scenario:
    """The scenario with rotors of helicopters that turn faster by a ratio."""
    vehicles = []
    for v in plain.model.vehicles:
        if v.helicopter is not None:
            rotor = v.helicopter.main_rotor
            rotor = replace(rotor, speed_rad_s=ratio * rotor.speed_rad_s)
            v = replace(v, helicopter=replace(v.helicopter, main_rotor=rotor))
        vehicles.append(v)
    time = replace(
        plain.time, step_s=plain.time.step_s / ratio, control_s=plain.time.control_s / ratio
    )
    return replace(plain, time=time, model=replace(plain.model, vehicles=tuple(vehicles)))


@dataclass(frozen=True)
class _Solution:
    x: np.ndarray
    residual: float
    iterations: int
    words: str


def _newton(world: SteadyWorld, x: np.ndarray, speed: float = 1.0) -> _Solution:
    """Newton's method with the shortest step, as far as it gets, at a share of the wanted velocity."""
    world.speed = speed
    residual = _try(world, x)
    if residual is None:
        return _Solution(x, np.inf, 0, "the motion is not finite after one period")
    iterations = 0
    while iterations < MAX_ITERATIONS and np.abs(residual).max() > TOLERANCE:
        iterations += 1
        J = _derivative(world, x, residual)
        if J is None:
            break
        step = np.linalg.lstsq(J, -residual, rcond=RANK)[0]
        share, better = 1.0, None
        while share >= SMALLEST_SHARE:
            better = _try(world, x + share * step)
            if better is not None and np.linalg.norm(better) < np.linalg.norm(residual):
                break
            share, better = 0.5 * share, None
        if better is None:
            break
        x, residual = x + share * step, better
    return _Solution(x, float(np.abs(residual).max()), iterations, world.describe(residual))


def _try(world: SteadyWorld, x: np.ndarray) -> np.ndarray | None:
    """Residual of the steady-flight equations; None where the engine cannot fly the state."""
    try:
        residual = world.residual(x)
    except (SolverError, ModelError, ContractError):
        return None
    return residual if np.isfinite(residual).all() else None


def _derivative(world: SteadyWorld, x: np.ndarray, residual: np.ndarray) -> np.ndarray | None:
    columns = []
    for i in range(len(x)):
        moved = x.copy()
        moved[i] += PERTURBATION
        there = _try(world, moved)
        if there is None:
            return None
        columns.append((there - residual) / PERTURBATION)
    return np.stack(columns, axis=1)
