"""Plans of arms: moves of single joints, and reaches of a point by inverse kinematics. Equation (P.11)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from transforms3d.quaternions import quat2mat

from rotor_core.config.model import Vehicle
from rotor_core.config.schema import Scenario
from rotor_core.config.trajectories import JointMoves, ReachMove, check_sequence
from rotor_core.config.vehicles.arm import JointConfig
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.errors import ContractError
from rotor_core.plans.joint_plan import JointPlan
from rotor_core.plans.plan import Plan
from rotor_core.reference import ATTITUDE, POSITION, REFERENCE
from rotor_planning.arms.inverse_kinematics import TOLERANCE, InverseKinematics
from rotor_planning.trajectories.from_config import make_plans
from rotor_planning.trajectories.moves import coordinate

SAME_ANGLE = 1e-9
"""Joints that would move less than this stay, rad or m."""

MISSED = 2.0 * TOLERANCE
"""A reach that ends this far from its target is led elsewhere, m."""


def arm_plan(vehicle: Vehicle, moves: JointMoves | None, base: Plan | None) -> JointPlan:
    """Plan of all moving joints of a vehicle, from their angles at the start.

    Args:
        vehicle: nominal.
        moves: what the arm does; None: nothing.
        base: plan of the base, from which reaches are made.

    Raises:
        ContractError: an unknown joint or link, a target out of reach, moves that overlap, one beyond a stop or the
            largest rate, or a reach that a joint leads elsewhere which moves by itself then.
    """
    moving = vehicle.moving_joints
    own: list[list[tuple[float, float, float]]] = [[] for _ in moving]
    names = [j.name for j in moving]
    for move in moves.moves if moves else ():
        if move.joint not in names:
            raise ContractError(
                f"arm of {vehicle.name!r}: there is no joint {move.joint!r}; known: {', '.join(names)}."
            )
        value = move.to_m if move.to_deg is None else rad_from_deg(move.to_deg)
        assert value is not None
        own[names.index(move.joint)].append((move.from_s, move.to_s, value))
    reaches = []
    for reach in moves.reaches if moves else ():
        start = np.array(
            [_value_at(j.initial, o, reach.from_s) for j, o in zip(moving, own, strict=True)]
        )
        reaching = _Reach(vehicle, reach, base)
        reaches.append(reaching)
        angles = reaching.angles(start)
        for i in np.flatnonzero(np.abs(angles - start) > SAME_ANGLE):
            own[i].append((reach.from_s, reach.to_s, float(angles[i])))
            own[i].sort()
    end = max([to for o in own for _, to, _ in o], default=0.0)
    if end == 0.0:
        point = np.zeros((1, 3, len(moving)))
        point[0, 0] = [j.initial for j in moving]
        return JointPlan(np.zeros(1), point)
    for joint, sequence in zip(moving, own, strict=True):
        try:
            check_sequence([(begin, to) for begin, to, _ in sequence], joint.name)
        except ValueError as error:
            raise ContractError(f"arm of {vehicle.name!r}: {error}") from error
        for _, _, value in sequence:
            _check_stops(vehicle, joint, value)
    curves = [coordinate(j.initial, o, end) for j, o in zip(moving, own, strict=True)]
    knots = np.unique(np.concatenate([c.x for c in curves]))
    rates = [(c, c.derivative(), c.derivative(2)) for c in curves]
    points = np.stack([np.stack([f(knots) for f in three], axis=1) for three in rates], axis=2)
    plan = JointPlan(knots, points)
    for joint, rate in zip(moving, plan.fastest(), strict=True):
        if joint.rate is not None and rate > joint.rate:
            raise ContractError(
                f"arm of {vehicle.name!r}: joint {joint.name!r} would have to move at {rate:.3g}, but its "
                f"largest rate is {joint.rate:g}. Give it more time."
            )
    for reaching in reaches:
        reaching.check(plan)
    return plan


def _value_at(start: float, moves: list[tuple[float, float, float]], t: float) -> float:
    """Rest position of a joint at time t: the goal of its last finished move, or ``start``."""
    done = [value for _, to, value in moves if to <= t]
    return done[-1] if done else start


class _Reach:
    """A reach of a point of a vehicle's arm, from its base's plan (None: where the base is)."""

    def __init__(self, vehicle: Vehicle, reach: ReachMove, base: Plan | None) -> None:
        self._told = f"arms: the reach from {reach.from_s:g} to {reach.to_s:g} s of"
        self._vehicle, self._reach, self._target = vehicle, reach, np.array(reach.target_m)
        if base is not None:
            reference = np.zeros(REFERENCE)
            base.sample(reach.to_s, reference)
            R = quat2mat(reference[ATTITUDE : ATTITUDE + 4])
            self._target = R.T @ (self._target - reference[POSITION : POSITION + 3])

    def angles(self, start: np.ndarray) -> np.ndarray:
        """Angles at which it ends, (n,), near those at which it begins."""
        vehicle, reach = self._vehicle, self._reach
        try:
            self._solver = InverseKinematics(vehicle, reach.link, np.array(reach.point_m))
            return self._solver.joints(self._target, start)
        except ContractError as error:
            raise ContractError(f"{self._told} {error}") from error

    def check(self, plan: JointPlan) -> None:
        """Refuse a plan that is elsewhere at the end of the reach."""
        there = self._solver.place(plan.sample(self._reach.to_s)[:, 0])
        missed = float(np.linalg.norm(there - self._target))
        if missed > MISSED:
            raise ContractError(
                f"{self._told} {self._vehicle.name!r} would end {missed:.3g} m from its target, because other moves of "
                "its joints go on at that time. Let them end before it begins."
            )


def _check_stops(vehicle: Vehicle, joint: JointConfig, value: float) -> None:
    if joint.limits is not None and not joint.limits[0] <= value <= joint.limits[1]:
        raise ContractError(
            f"arm of {vehicle.name!r}: joint {joint.name!r} cannot go to {value:.4g}, its stops are "
            f"{list(joint.limits)}."
        )


def make_arm_plans(scenario: Scenario, bases: Mapping[str, Plan] | None = None) -> list[JointPlan]:
    """Plans of the arms of all vehicles, in the order of the vehicles (also of those without an arm).

    Args:
        scenario: whose ``arms`` say what they do.
        bases: plans of what is planned, from which arms reach; default the scenario's trajectory.
    """
    own = {moves.vehicle: moves for moves in scenario.arms}
    bases = make_plans(scenario) if bases is None else bases
    return [
        arm_plan(vehicle, own.get(vehicle.name), bases.get(vehicle.name))
        for vehicle in scenario.model.vehicles
    ]


class JointPlans:
    """Plans of all arms of a scenario, sampled into one table."""

    def __init__(self, scenario: Scenario, bases: Mapping[str, Plan] | None = None) -> None:
        self.plans = make_arm_plans(scenario, bases)
        ends = np.cumsum([plan.points.shape[2] for plan in self.plans], dtype=int)
        self.n = int(ends[-1]) if len(ends) else 0
        self._own = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=False)]

    def sample(self, t: float | np.ndarray) -> np.ndarray:
        """Angles, rates and accelerations of all joints, vehicle by vehicle, (..., n, 3) for times (...)."""
        out = np.zeros((*np.shape(t), self.n, 3))
        for plan, own in zip(self.plans, self._own, strict=True):
            out[..., own, :] = plan.sample(t)
        return out
