"""A flight from a bag: states, references, tensions and events as recorded, without ROS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader
from transforms3d.quaternions import quat2mat

from rotor_core.config.loader import scenario_from_tree
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team, teams
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError
from rotor_core.messages.asked import asked_from
from rotor_core.plans.plan import AXES, Plan
from rotor_core.reference import ATTITUDE, REFERENCE, REFERENCE_VECTORS, YAW_ANGLE, YAW_RATE
from rotor_core.vehicles.rotors import asked_of_rotors
from rotor_dynamics.hybrid.events import EVENT_NAMES, Event
from rotor_flight.flight import Commands, Flight
from rotor_recordings.formats.bags import custom_data, opened
from rotor_recordings.motion.disc_fit import DiscFit
from rotor_sim.lateness import CAUSES
from rotor_sim.plant.heavy_cables import heavy_counts

NANO = 1e-9
SWASHPLATE = 3
"""Mode of an ActuatorCommand."""


def read_flight(
    path: Path, scenario: Scenario | None = None, states: str = "ground_truth"
) -> Flight:
    """Read a bag made by our recorder; one row per ground-truth message.

    Args:
        path: folder of the bag.
        scenario: in place of the one in the bag.
        states: ``ground_truth``, or ``odom``: what controllers had.

    Raises:
        ConfigError: not a bag, not closed, or it lacks what a flight needs.
    """
    with opened(path) as reader:
        return _flight(reader, path, scenario, states)


def _flight(reader: AnyReader, path: Path, scenario: Scenario | None, which: str) -> Flight:
    scenario = scenario or scenario_from_tree(parse_tree(_scenario_text(path), f"{path}: scenario"))
    names = [e.name for e in scenario.model.entities]
    groups = teams(scenario.model)
    truth: dict[str, dict[int, np.ndarray]] = {n: {} for n in names}
    cables: dict[int, tuple[list, list]] = {}
    commands: dict[int, np.ndarray] = {}
    efforts: dict[int, np.ndarray] = {}
    sampled: dict[str, dict[int, np.ndarray]] = {t.entity: {} for t in groups}
    plans: dict[str, list[tuple[float, Plan]]] = {
        name: [] for t in groups for name in (t.entity, *(t.vehicles if t.cables else ()))
    }
    arms = [v.name for v in scenario.model.vehicles if v.moving_joints]
    joints: dict[str, dict[int, np.ndarray]] = {n: {} for n in arms}
    joint_names = scenario.model.joint_names
    fits: dict[str, DiscFit] = {}
    discs: dict[str, dict[int, np.ndarray]] = {}
    shapes: dict[str, dict[int, np.ndarray]] = {}
    events: list[Event] = []
    extra: dict = {}
    wall = float("nan")
    asked = asked_of_rotors(len(scenario.model.vehicles))
    vehicles = [v.name for v in scenario.model.vehicles]
    for connection, _, raw in reader.messages():
        topic = connection.topic
        kind = topic.rsplit("/", 1)[-1]
        if kind not in (
            which,
            "cables",
            "team_command",
            "plan",
            "events",
            "diagnostics",
            "joint_states",
            "reference",
            "main_rotor",
            "shape",
        ):
            continue
        message: Any = reader.deserialize(raw, connection.msgtype)
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        if kind == which:
            truth[topic.split("/")[-2]][stamp] = _state(message)
        elif kind == "cables":
            cables[stamp] = ([c.tension for c in message.cables], [c.taut for c in message.cables])
        elif kind == "team_command":
            table = {c.name: _numbers(c) for c in message.commands}
            commands[stamp] = np.array([table[n] for n in vehicles]).reshape(-1, 4)
            efforts[stamp] = np.concatenate(
                [np.zeros(0), *(c.joint_efforts for c in message.commands)]
            )
        elif kind == "plan":
            coefficients = message.coefficients.reshape(
                len(message.durations), AXES, message.degree + 1
            )
            plans[message.entity].append(
                (
                    stamp * NANO,
                    Plan(message.durations, coefficients, message.radius, message.rotation),
                )
            )
        elif kind == "reference":
            if message.entity in sampled:
                sampled[message.entity][stamp] = _reference(message)
        elif kind == "events":
            events.append(_event(message, stamp * NANO, joint_names))
        elif kind == "main_rotor":
            name = topic.split("/")[-2]
            fit = fits.setdefault(name, DiscFit())
            discs.setdefault(name, {})[stamp] = fit.add(message.azimuth, message.flap)
        elif kind == "shape":
            places = [(p.position.x, p.position.y, p.position.z) for p in message.poses]
            shapes.setdefault(topic.split("/")[-2], {})[stamp] = np.array(places)
        elif kind == "joint_states":
            name = topic.split("/")[-2]
            if name in joints:  # not the rotor of a helicopter, which nobody commands by joints
                joints[name][stamp] = np.stack([message.position, message.velocity], 1)
        elif message.status:
            values = {v.key: v.value for v in message.status[0].values}
            for k, name in enumerate(vehicles):
                if (numbers := asked_from(values, name)) is not None:
                    asked[k] = numbers
            for key in (
                "real_time_factor",
                "missed_deadlines",
                *CAUSES,
                "stale_commands",
                "rejected_commands",
                "control_periods",
            ):
                if key in values:
                    extra[key] = (
                        float(values[key]) if key == "real_time_factor" else int(values[key])
                    )
    common = sorted(set.intersection(*(set(t) for t in (*truth.values(), *joints.values()))))
    if not common:
        raise ConfigError(
            f"{path}: holds no ground truth of {', '.join(names)}. Was the run stopped before it began?"
        )
    time = np.array(common) * NANO
    states = np.array([[truth[n][s] for n in names] for s in common])
    references = (
        np.zeros((len(common), 0, REFERENCE))
        if not groups
        else np.stack(
            [
                _references(plans, team, time)
                if plans[team.entity]
                else _sampled(sampled[team.entity], common)
                for team in groups
            ],
            axis=1,
        )
    )
    if not scenario.follows_plans:
        references[:] = np.nan  # nobody told it of the plans
    n_cables = len(scenario.model.cables)
    tensions = np.array(
        [cables[s][0] if s in cables else [np.nan] * n_cables for s in common]
    ).reshape(len(common), n_cables)
    taut = np.array(
        [cables[s][1] if s in cables else [False] * n_cables for s in common], bool
    ).reshape(len(common), n_cables)
    missing = np.full((len(vehicles), 4), np.nan)
    held = np.array([commands.get(s, missing) for s in common])
    if "real_time_factor" in extra and extra["real_time_factor"] > 0.0:
        wall = (time[-1] - time[0]) / extra["real_time_factor"]
    flight = Flight(
        scenario,
        time,
        states,
        references,
        held,
        tensions,
        taut,
        events,
        wall,
        None,
        extra,
        asked=asked,
    )
    if discs:
        unknown = np.full(3, np.nan)
        flight.discs = np.array(
            [[discs.get(n, {}).get(s, unknown) for n in vehicles] for s in common]
        )
    if shapes:
        flight.masses = np.array(
            [
                np.concatenate(
                    [
                        shapes.get(name, {}).get(s, np.full((count, 3), np.nan))
                        for name, count in heavy_counts(scenario.model)
                    ]
                )
                for s in common
            ]
        )
    if arms and efforts:
        limp = np.full(max(len(e) for e in efforts.values()), np.nan)
        flight.efforts = np.array([efforts.get(s, limp) for s in common])
    sent = sorted(commands)
    if len(sent) > len(common):
        flight.sent = Commands(
            np.array(sent) * NANO,
            np.array([commands[s] for s in sent]),
            np.array([efforts[s] for s in sent]),
        )
    if arms:
        flight.joints = np.array([np.concatenate([joints[n][s] for n in arms]) for s in common])
    return flight


def _references(
    plans: dict[str, list[tuple[float, Plan]]], team: Team, time: np.ndarray
) -> np.ndarray:
    """References of a team, (n, 28); NaN while all its vehicles follow later plans of their own."""
    out = np.full((len(time), REFERENCE), np.nan)
    members = team.vehicles if team.cables else ()
    for row, t in zip(out, time, strict=True):
        started = [p for p in plans[team.entity] if p[0] <= t + NANO]
        alone = [
            max((p[0] for p in plans[m] if p[0] <= t + NANO), default=-np.inf) for m in members
        ]
        if not started and not any(np.isfinite(alone)):
            started = plans[team.entity][:1]
        if started and not (alone and min(alone) >= started[-1][0]):
            started[-1][1].sample(t - started[-1][0], row)
    return out


def _sampled(references: dict[int, np.ndarray], stamps: list[int]) -> np.ndarray:
    """References as they were published, (n, 28); NaN where none was."""
    missing = np.full(REFERENCE, np.nan)
    return np.array([references.get(s, missing) for s in stamps])


def _reference(message: Any) -> np.ndarray:
    out = np.zeros(REFERENCE)
    for name, first in REFERENCE_VECTORS.items():
        vector = getattr(message, name)
        out[first : first + 3] = vector.x, vector.y, vector.z
    q = message.orientation
    out[ATTITUDE : ATTITUDE + 4] = q.w, q.x, q.y, q.z
    out[YAW_ANGLE], out[YAW_RATE] = message.yaw, message.yaw_rate
    return out


def _scenario_text(path: Path) -> str:
    text = custom_data(path, "scenario")
    if not text:
        raise ConfigError(f"{path}: holds no scenario. Record it with `./rotor`.")
    return text


def _numbers(command: Any) -> tuple[float, ...]:
    """The four numbers of a command: thrust and moment, or those of a swashplate."""
    if command.mode == SWASHPLATE:
        return tuple(command.swashplate)
    return command.thrust, command.moment.x, command.moment.y, command.moment.z


def _state(message: Any) -> np.ndarray:
    p, q = message.pose.pose.position, message.pose.pose.orientation
    v, w = message.twist.twist.linear, message.twist.twist.angular
    attitude = np.array([q.w, q.x, q.y, q.z])
    velocity = quat2mat(attitude) @ np.array([v.x, v.y, v.z])
    return np.concatenate([[p.x, p.y, p.z], attitude, velocity, [w.x, w.y, w.z]])


def _event(message: Any, time: float, joints: list[str]) -> Event:
    def indices(names: list[str]) -> tuple[int, ...]:
        return tuple(int(n.removeprefix("cable")) - 1 for n in names)

    after = (float("nan"),) * len(message.impulses)  # the message has closing speeds before only
    return Event(
        time, EVENT_NAMES[message.type], indices(message.cables), message.cause, indices(message.at_length),
        tuple(message.impulses), tuple(message.closing_speeds), after,
        joints=tuple(joints.index(n) for n in message.joints), bodies=tuple(message.bodies),
        place=tuple(getattr(message, "place", ())),  # older recordings have none
    )  # fmt: skip
