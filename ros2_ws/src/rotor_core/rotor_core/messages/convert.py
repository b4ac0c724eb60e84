"""Messages to arrays and back.

Pure functions; the one border between x, y, z, w in messages and w, x, y, z inside.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import PoseStamped, Quaternion
from rotor_msgs.msg import (
    ActuatorCommand,
    BodyState,
    PolynomialTrajectory,
    Reference,
    TeamCommand,
    TeamState,
)
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rotor_core import reference as columns
from rotor_core.config.vehicles.arm import BASE
from rotor_core.config.yaml.units import NANOSECONDS_PER_SECOND, nanoseconds
from rotor_core.errors import ContractError
from rotor_core.plans.joint_plan import JointPlan
from rotor_core.plans.plan import AXES, Plan
from rotor_core.reference import REFERENCE_VECTORS

WORLD_FRAME = "world"
ALL_VALID = 2 * Reference.YAW - 1
FOLLOWED = ALL_VALID & ~(
    Reference.ORIENTATION | Reference.ANGULAR_VELOCITY | Reference.ANGULAR_ACCELERATION
)
"""Of vehicles, whose attitude and rates follow from the motion."""

STATE = 13
LONGEST_WAIT = 3600.0
"""What is to begin later than this has the time of another clock, s."""


def stamp_from_seconds(seconds: float, *, offset_ns: int = 0) -> Time:
    """Time message of simulation seconds, to the nearest nanosecond, plus an offset."""
    return stamp_from_nanoseconds(nanoseconds(seconds) + offset_ns)


def seconds_from_stamp(stamp: Time) -> float:
    """Simulation seconds of a time message."""
    return stamp.sec + stamp.nanosec / NANOSECONDS_PER_SECOND


def nanoseconds_from_stamp(stamp: Time) -> int:
    """Nanoseconds of a stamp."""
    return stamp.sec * NANOSECONDS_PER_SECOND + stamp.nanosec


def stamp_from_nanoseconds(ns: int) -> Time:
    """Stamp of a time in nanoseconds."""
    sec, nanosec = divmod(ns, NANOSECONDS_PER_SECOND)
    return Time(sec=sec, nanosec=nanosec)


def stamp_later(start: Time, seconds: float) -> Time:
    """The stamp ``seconds`` after ``start``, to the nearest nanosecond."""
    return stamp_from_seconds(seconds, offset_ns=nanoseconds_from_stamp(start))


def seconds_between(start: Time, end: Time) -> float:
    """Seconds from ``start`` to ``end``; the same for the same distance, whenever it is."""
    return (nanoseconds_from_stamp(end) - nanoseconds_from_stamp(start)) / NANOSECONDS_PER_SECOND


def refusal_of_start(now: Time, start: Time) -> str:
    """Reason why what is to begin at ``start`` cannot be flown: it has the time of another clock. Empty if it can."""
    ahead = seconds_between(now, start)
    if ahead <= LONGEST_WAIT:
        return ""
    return (
        f"its stamp is {ahead:.4g} s ahead of the simulation's time, at most {LONGEST_WAIT:g} s are possible. "
        "Is it the time of the wall? Set use_sim_time, or leave the stamp 0 for now"
    )


def frame_of(entity: str) -> str:
    """TF frame of an entity, or of a link of an arm (``vehicle/link``)."""
    return entity if "/" in entity else f"{entity}/{BASE}"


def set_vector(message: object, values: Sequence[float]) -> None:
    """Write three numbers into a Vector3 or Point."""
    message.x, message.y, message.z = float(values[0]), float(values[1]), float(values[2])  # type: ignore[attr-defined]


def vector_from(message: object) -> np.ndarray:
    """(3,) from a Vector3 or Point."""
    return np.array([message.x, message.y, message.z])  # type: ignore[attr-defined]


def set_quaternion(message: Quaternion, wxyz: Sequence[float]) -> None:
    """Write (w, x, y, z) into a Quaternion message."""
    message.w, message.x, message.y, message.z = (
        float(wxyz[0]),
        float(wxyz[1]),
        float(wxyz[2]),
        float(wxyz[3]),
    )


def pose_message(stamp: Time, position: Sequence[float], wxyz: Sequence[float]) -> PoseStamped:
    """A pose in the world."""
    out = PoseStamped()
    out.header.stamp = stamp
    out.header.frame_id = WORLD_FRAME
    set_vector(out.pose.position, position)
    set_quaternion(out.pose.orientation, wxyz)
    return out


def wxyz_from(message: Quaternion) -> np.ndarray:
    """(w, x, y, z) from a Quaternion message."""
    return np.array([message.w, message.x, message.y, message.z])


def state_from_body(body: BodyState) -> tuple[float, ...]:
    """State (13 numbers) of a BodyState: position, attitude (w first), velocity, body rate."""
    p, q, v, w = (
        body.pose.position,
        body.pose.orientation,
        body.twist.linear,
        body.twist.angular,
    )
    return (p.x, p.y, p.z, q.w, q.x, q.y, q.z, v.x, v.y, v.z, w.x, w.y, w.z)


def states_from_team(message: TeamState, names: Sequence[str], out: np.ndarray) -> np.ndarray:
    """States of the bodies called ``names`` into ``out`` (n, 13), with accelerations into (n, 19).

    Raises:
        ContractError: a name is missing.
    """
    bodies = message.bodies
    if [b.name for b in bodies] != list(names):
        table = {b.name: b for b in bodies}
        missing = [n for n in names if n not in table]
        if missing:
            raise ContractError(
                f"TeamState: has no body {missing[0]!r}; it has {', '.join(table)}. Load the same "
                f"scenario in every node."
            )
        bodies = [table[n] for n in names]
    for row, body in zip(out, bodies, strict=True):
        row[:STATE] = state_from_body(body)
        if len(row) > STATE:
            told = body.acceleration
            row[STATE:] = *vector_from(told.linear), *vector_from(told.angular)
    return out


def team_command(state: TeamState, names: Sequence[str], wrenches: np.ndarray) -> TeamCommand:
    """The answer to ``state``: wrenches (n, 4) of the vehicles called ``names``."""
    message = TeamCommand(epoch=state.epoch, step=state.step)
    message.header.stamp = state.header.stamp
    message.header.frame_id = state.header.frame_id
    for name, wrench in zip(names, wrenches.tolist(), strict=True):
        command = ActuatorCommand(name=name, mode=ActuatorCommand.WRENCH, thrust=wrench[0])
        set_vector(command.moment, wrench[1:])
        message.commands.append(command)
    return message


def wrenches_from_command(
    message: TeamCommand, names: Sequence[str], helicopters: Collection[str] = ()
) -> np.ndarray:
    """Wrenches (n, 4) of a command, in the order of ``names``; of ``helicopters`` the swashplate.

    Raises:
        ContractError: a vehicle is unknown, missing or double, the mode is not WRENCH (SWASHPLATE of
            helicopters), or a number is not finite.
    """
    out = np.full((len(names), 4), np.nan)
    for command in message.commands:
        if command.name not in names:
            raise ContractError(
                f"TeamCommand: there is no vehicle {command.name!r}; known: {', '.join(names)}."
            )
        swash = command.name in helicopters
        if command.mode != (ActuatorCommand.SWASHPLATE if swash else ActuatorCommand.WRENCH):
            wanted = "SWASHPLATE (3), it is a helicopter" if swash else "WRENCH (0)"
            raise ContractError(
                f"TeamCommand: {command.name!r}: mode must be {wanted}, got {command.mode}."
            )
        row = out[list(names).index(command.name)]
        if not np.isnan(row[0]):
            raise ContractError(f"TeamCommand: {command.name!r} is commanded twice.")
        row[:] = (command.thrust, command.moment.x, command.moment.y, command.moment.z)
        if swash:
            row[:] = command.swashplate
        if not np.isfinite(row).all():
            what = "swashplate" if swash else "thrust and moment"
            raise ContractError(
                f"TeamCommand: {command.name!r}: {what} must be finite, got {row.tolist()}."
            )
    absent = [n for n, row in zip(names, out, strict=True) if np.isnan(row[0])]
    if absent:
        raise ContractError(f"TeamCommand: no command for {', '.join(absent)}.")
    return out


def joints_from_team(message: TeamState, names: Sequence[str], counts: Sequence[int]) -> np.ndarray:
    """Angles and rates of the joints of the bodies called ``names``, body by body, (n_joints, 2).

    Raises:
        ContractError: a body has another number of joints than ``counts`` says.
    """
    table = {b.name: b for b in message.bodies}
    rows = []
    for name, n in zip(names, counts, strict=True):
        body = table[name]
        if len(body.joint_positions) != n or len(body.joint_velocities) != n:
            raise ContractError(
                f"TeamState: {name!r} must have {n} joints, got {len(body.joint_positions)}. Load the same "
                "scenario in every node."
            )
        rows += list(zip(body.joint_positions, body.joint_velocities, strict=True))
    return np.array(rows, float).reshape(-1, 2)


def efforts_from_command(
    message: TeamCommand, names: Sequence[str], counts: Sequence[int]
) -> np.ndarray:
    """Efforts of the joints of the vehicles called ``names``, vehicle by vehicle, (n_joints,).

    A command without efforts leaves its joints without effort.

    Raises:
        ContractError: another number of efforts, or one that is not finite.
    """
    table = {c.name: c for c in message.commands}
    out: list[float] = []
    for name, n in zip(names, counts, strict=True):
        efforts = list(table[name].joint_efforts) or [0.0] * n
        if len(efforts) != n or not np.isfinite(efforts).all():
            raise ContractError(
                f"TeamCommand: {name!r}: joint_efforts must be {n} finite numbers, got {efforts}."
            )
        out += efforts
    return np.array(out, float)


def joint_plan_message(names: Sequence[str], plan: JointPlan, start: Time) -> JointTrajectory:
    """A joint plan as message; ``names`` of its joints."""
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp = start
    for t, (angles, rates, accelerations) in zip(plan.times, plan.points, strict=True):
        sec, nanosec = divmod(nanoseconds(float(t)), NANOSECONDS_PER_SECOND)
        point = JointTrajectoryPoint(time_from_start=Duration(sec=sec, nanosec=nanosec))
        point.positions, point.velocities = angles.tolist(), rates.tolist()
        point.accelerations = accelerations.tolist()
        message.points.append(point)
    return message


def joint_plan_from(message: JointTrajectory, names: Sequence[str], start: np.ndarray) -> JointPlan:
    """A joint plan from a message; points without rates or accelerations rest.

    Joints that are not named stay. The plan begins where the joints are wanted now.

    Args:
        message: positions, and velocities and accelerations where given.
        names: of all joints of the vehicle.
        start: wanted angles, rates and accelerations when it begins, (n, 3).

    Raises:
        ContractError: unknown joints, points that do not fit, or numbers that are not finite.
    """
    given = list(message.joint_names)
    unknown = [n for n in given if n not in names]
    if unknown or len(set(given)) < len(given) or not given:
        raise ContractError(
            f"JointTrajectory: joint_names must be different joints of {', '.join(names)}, got {given}."
        )
    if not message.points:
        raise ContractError("JointTrajectory: has no points.")
    columns_of = [list(names).index(n) for n in given]
    times, points = [], []
    for i, point in enumerate(message.points):
        row = np.zeros((3, len(names)))
        row[0] = start[:, 0]
        parts = (point.positions, point.velocities, point.accelerations)
        for k, part in enumerate(parts):
            if len(part) not in ((len(given),) if k == 0 else (0, len(given))):
                raise ContractError(
                    f"JointTrajectory: points[{i}] must have {len(given)} positions, and as many velocities and "
                    "accelerations or none."
                )
            if len(part):
                row[k, columns_of] = part
        t = point.time_from_start
        times.append(t.sec + t.nanosec / NANOSECONDS_PER_SECOND)
        points.append(row)
    if times[0] > 0.0:
        times.insert(0, 0.0)
        points.insert(0, start.T.copy())
    return JointPlan(np.array(times), np.array(points))


def plan_message(entity: str, plan: Plan, start: Time, epoch: int) -> PolynomialTrajectory:
    """A plan as message."""
    message = PolynomialTrajectory(
        entity=entity, epoch=epoch, degree=plan.coefficients.shape[2] - 1, radius=plan.radius
    )
    message.header.stamp = start
    message.header.frame_id = WORLD_FRAME
    message.durations = plan.durations.tolist()
    message.coefficients = plan.coefficients.ravel().tolist()
    message.rotation = plan.rotation
    message.motors_off = not plan.motors
    return message


def plan_from_message(message: PolynomialTrajectory) -> Plan:
    """A plan from a message.

    Raises:
        ContractError: sizes do not fit or a number is not finite.
    """
    m, width = len(message.durations), message.degree + 1
    if len(message.coefficients) != m * AXES * width:
        raise ContractError(
            f"plan of {message.entity!r}: {m} segments of degree {message.degree} need "
            f"{m * AXES * width} coefficients, "
            f"got {len(message.coefficients)}."
        )
    coefficients = np.array(message.coefficients, float).reshape(m, AXES, width)
    return Plan(
        np.array(message.durations, float),
        coefficients,
        message.radius,
        np.array(message.rotation, float),
        motors=not message.motors_off,
    )


def reference_message(
    entity: str, reference: np.ndarray, stamp: Time, *, is_vehicle: bool = False
) -> Reference:
    """A sampled reference (28,) as message; the attitude of a vehicle follows from its motion and is not planned."""
    valid = FOLLOWED if is_vehicle else ALL_VALID
    message = Reference(entity=entity, valid=valid)
    message.header.stamp = stamp
    message.header.frame_id = WORLD_FRAME
    for field, column in REFERENCE_VECTORS.items():
        set_vector(getattr(message, field), reference[column : column + 3])
    set_quaternion(message.orientation, reference[columns.ATTITUDE : columns.ATTITUDE + 4])
    message.yaw = float(reference[columns.YAW_ANGLE])
    message.yaw_rate = float(reference[columns.YAW_RATE])
    return message


def reference_from_message(message: Reference) -> np.ndarray:
    """A reference row (28,) from a message; yaw acceleration is zero."""
    out = np.zeros(columns.REFERENCE)
    for field, column in REFERENCE_VECTORS.items():
        out[column : column + 3] = vector_from(getattr(message, field))
    out[columns.ATTITUDE : columns.ATTITUDE + 4] = wxyz_from(message.orientation)
    out[columns.YAW_ANGLE], out[columns.YAW_RATE] = message.yaw, message.yaw_rate
    return out
