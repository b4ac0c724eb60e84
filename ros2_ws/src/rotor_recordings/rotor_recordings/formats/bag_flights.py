"""A flight from a bag: states, references, tensions and events as recorded, without ROS."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader

from rotor_core.config.loader import scenario_from_tree
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team, teams
from rotor_core.config.yaml.structure import word
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError
from rotor_core.messages.asked import asked_from
from rotor_core.messages.told_mission import mission_from_message
from rotor_core.plans.plan import AXES, Plan
from rotor_core.plans.registry import PlanRegistry
from rotor_core.reference import ATTITUDE, REFERENCE, REFERENCE_VECTORS, YAW_ANGLE, YAW_RATE
from rotor_core.vehicles.rotors import asked_of_rotors
from rotor_dynamics.hybrid.events import EVENT_NAMES, PARTS, Event
from rotor_flight.flight import SAME_TIME, Commands, Flight, parted
from rotor_recordings.formats.bags import (
    ASKED,
    FIGURES,
    LIMITED,
    cable_rows,
    custom_data,
    epoch_of,
    odometry_states,
    opened,
    topics_of_flight,
)
from rotor_recordings.formats.message_table import MessageTable, Rows, tables
from rotor_recordings.formats.own_topics import OwnTopics
from rotor_recordings.formats.topics import DIAGNOSTICS, JOINT_EFFORTS, JOINTS, REFERENCE_PARTS
from rotor_recordings.motion.disc_fit import DiscFit
from rotor_recordings.motion.epochs import Clockwork
from rotor_recordings.motion.single_commands import CMD, SingleCommands
from rotor_sim.lateness import CAUSES
from rotor_sim.plant.heavy_cables import heavy_counts
from rotor_sim.shapes.scene import CUT

NANO = 1e-9
SWASHPLATE = 3
"""Mode of an ActuatorCommand."""

TOLD = ("mission", "power", "integration", "redundant_cables")
"""Figures of a flight that its bag keeps beside the messages."""

RESETS = "resets"
"""Figure of a flight: after how many resets, or other jumps of the state, in the same recording it was flown."""

COUNTED = ("missed_deadlines", *CAUSES, "stale_commands", "rejected_commands", "control_periods")
"""What diagnostics count."""

Plans = dict[str, list[tuple[float, Plan]]]
"""Plans of every entity, with the times at which they begin, s."""


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
        scenario = scenario or _scenario(path)
        heard = _Heard(path, scenario, states, topics_of_flight(path, reader.connections))
        heard.extra |= _figures(path)
        if asked := heard.extra.pop(ASKED, None):
            heard.asked[:] = asked
        heard.limited = heard.extra.pop(LIMITED, None)
        try:
            heard.listen(reader)
        except ConfigError as error:
            raise error if str(path) in str(error) else ConfigError(f"{path}: {error}") from error
        return _flight(heard, path)


class _Heard:
    """Contents of the topics of a bag."""

    def __init__(self, path: Path, scenario: Scenario, states: str, topics: OwnTopics) -> None:
        self._path, self.scenario, self._topics = path, scenario, topics
        self._shown = states
        self.vehicles = [v.name for v in scenario.model.vehicles]
        self.truth: dict[str, Rows] = {e.name: Rows() for e in scenario.model.entities}
        self.joints: dict[str, Rows] = {
            v.name: Rows() for v in scenario.model.vehicles if v.moving_joints
        }
        self.joint_references: dict[str, Rows] = {name: Rows() for name in self.joints}
        planned = PlanRegistry(scenario.model).queues
        self.references: dict[str, Rows] = {name: Rows() for name in planned}
        self.plans: Plans = defaultdict(list)
        self.cables, self.commands, self.efforts = Rows(), Rows(), Rows()
        self.single = SingleCommands(scenario)
        self.tells_efforts = False
        """Whether efforts of single vehicles were recorded, if any came."""
        self.n_efforts = 0
        self.discs: dict[str, Rows] = defaultdict(Rows)
        self._fits: dict[str, DiscFit] = defaultdict(DiscFit)
        self.shapes: dict[str, Rows] = defaultdict(Rows)
        self.events: list[Event] = []
        self.first_step: tuple[int, int] | None = None
        """Stamp, ns, and control period since the start of the flight of the first command."""
        self.first_scene: tuple[int, np.ndarray] | None = None
        """Stamp, ns, of the first scene, and which cables are cut in it."""
        self.asked = asked_of_rotors(len(self.vehicles))
        self.cuts = Rows()
        """Of which vehicles a controller has limited the command; older recordings do not tell."""
        self.limited: int | None = None
        self.extra: dict = {}
        self._joint_names = scenario.model.joint_names
        self._tables = {
            states: self._hear_states,
            "cables": self._hear_cables,
            "team_command": self._hear_commands,
            "reference": self._hear_references,
            "joint_states": self._hear_joints,
            "joint_reference": self._hear_joint_references,
            "main_rotor": self._hear_disc,
            "shape": self._hear_shape,
            "scene": self._hear_scene,
        }
        self._messages = {
            "plan": self._hear_plan,
            "events": self._hear_event,
            "diagnostics": self._hear_diagnostics,
            "mission": self._hear_mission,
        }
        self._orders = {JOINT_EFFORTS, JOINTS} if scenario.command_input != "team" else set()

    def listen(self, reader: AnyReader) -> None:
        """Take up all messages of the newest epoch of a bag.

        Raises:
            ConfigError: it holds two flights that cannot be told apart.
        """
        epoch, clockwork = epoch_of(reader, self._topics), Clockwork()
        if epoch.before:
            self.extra[RESETS] = len(epoch.before)

        def kind_of(topic: str) -> str:
            if topic == DIAGNOSTICS:
                return topic[1:]
            kind = self._topics.kind_of(topic)
            return f"{CMD}{kind}" if f"/{CMD}" in self._topics.name_of(topic) else kind

        told = f"{CMD}{self.scenario.command_input}"  # there are none of a team
        many = [c for c in reader.connections if kind_of(c.topic) in (told, *self._tables)]
        for heard in tables(reader, many):
            topic = heard.connection.topic
            if kind_of(topic) == self._shown:
                heard = heard.where(clockwork.see(topic, heard.table.stamps()))
            if epoch.before:
                times = heard.received if kind_of(topic) == told else heard.table.stamps()
                heard = heard.where(times >= epoch.since)
                if not len(heard.order):
                    continue
            *_, whose, _ = ("", *self._topics.name_of(topic).replace(f"/{CMD}", "/").split("/"))
            if kind_of(topic) == told:
                self.single.hear(whose, heard.received, heard.table)
            else:
                self._tables[kind_of(topic)](whose, heard.table)
        few = [c for c in reader.connections if kind_of(c.topic) in self._messages]
        for connection, _, raw in reader.messages(few) if few else ():
            message: Any = reader.deserialize(raw, connection.msgtype)
            kind = kind_of(connection.topic)
            if kind == "plan" and epoch.before and message.epoch != epoch.number:
                continue
            if kind in ("events", "diagnostics") and round(_seconds(message) / NANO) < epoch.since:
                continue
            self._messages[kind](message)
        orders = [c for c in reader.connections if kind_of(c.topic) in self._orders]
        self.tells_efforts = bool(orders)
        for connection, received, raw in reader.messages(orders) if orders else ():
            vehicle = self._topics.name_of(connection.topic).partition("/")[0]
            message = reader.deserialize(raw, connection.msgtype)
            if received >= epoch.since:
                self.single.hear_efforts(vehicle, received, message)

    def _hear_states(self, entity: str, table: MessageTable) -> None:
        if entity not in self.truth:
            raise ConfigError(
                f"{self._path}: holds the path of {word(entity)!r}, which the scenario does not have; it has "
                f"{', '.join(self.truth)}. Name the scenario that was flown."
            )
        self.truth[entity].add(table.stamps(), odometry_states(table))

    def _hear_cables(self, _: str, table: MessageTable) -> None:
        self.cables.add(table.stamps(), cable_rows(table))

    def _hear_commands(self, _: str, table: MessageTable) -> None:
        """Four numbers of every vehicle: thrust and moment, or those of a swashplate; and the efforts of joints."""
        steps = table.stamps(), table["step"]
        for stamp, step in zip(*(column[:1].tolist() for column in steps), strict=True):
            if self.first_step is None or stamp < self.first_step[0]:
                self.first_step = stamp, step
        place = {c.name: f"commands[{i}]" for i, c in enumerate(table.first.commands)}
        rows = np.full((len(table), len(self.vehicles), 4), np.nan)
        for k, name in enumerate(self.vehicles):
            if (at := place.get(name)) is None:
                continue  # a command may leave vehicles out
            rows[:, k, 0], rows[:, k, 1:] = table[f"{at}.thrust"], table.vector(f"{at}.moment")
            tilts = table[f"{at}.mode"] == SWASHPLATE
            rows[tilts, k] = table[f"{at}.swashplate"][tilts]
        efforts = np.concatenate(
            [np.zeros((len(table), 0)), *(table[f"{at}.joint_efforts"] for at in place.values())], 1
        )
        cuts = np.zeros((len(table), len(self.vehicles)), bool)
        for k, name in enumerate(self.vehicles):
            if (at := place.get(name)) and hasattr(table.first.commands[0], "limited"):
                cuts[:, k] = table[f"{at}.limited"]
        self.cuts.add(table.stamps(), cuts)
        self.n_efforts = max(self.n_efforts, efforts.shape[1])
        self.commands.add(table.stamps(), rows)
        self.efforts.add(table.stamps(), efforts)

    def _hear_references(self, _: str, table: MessageTable) -> None:
        if table.first.entity not in self.references:
            return
        rows = np.zeros((len(table), REFERENCE))
        for name, first in REFERENCE_VECTORS.items():
            rows[:, first : first + 3] = table.vector(name)
        rows[:, ATTITUDE : ATTITUDE + 4] = table.vector("orientation", "wxyz")
        rows[:, YAW_ANGLE], rows[:, YAW_RATE] = table["yaw"], table["yaw_rate"]
        self.references[table.first.entity].add(table.stamps(), rows)

    def _hear_joints(self, vehicle: str, table: MessageTable) -> None:
        if vehicle in self.joints:  # not the rotor of a helicopter, which nobody commands by joints
            rows = np.stack([table["position"], table["velocity"]], axis=2)
            self.joints[vehicle].add(table.stamps(), rows)

    def _hear_joint_references(self, vehicle: str, table: MessageTable) -> None:
        if vehicle in self.joints:
            rows = np.stack([table[f"points[0].{part}"] for part in REFERENCE_PARTS], axis=2)
            self.joint_references[vehicle].add(table.stamps(), rows)

    def _hear_disc(self, vehicle: str, table: MessageTable) -> None:
        turns = zip(table["azimuth"].tolist(), table["flap"], strict=True)
        rows = [self._fits[vehicle].add(azimuth, flap) for azimuth, flap in turns]
        self.discs[vehicle].add(table.stamps(), np.array(rows))

    def _hear_shape(self, cable: str, table: MessageTable) -> None:
        n = len(table.first.poses)
        places = [table.vector(f"poses[{k}].position") for k in range(n)]
        self.shapes[cable].add(
            table.stamps(), np.reshape(places, (n, len(table), 3)).swapaxes(0, 1)
        )

    def _hear_scene(self, _: str, table: MessageTable) -> None:
        stamp = int(table.stamps()[0])
        if self.first_scene is None or stamp < self.first_scene[0]:
            self.first_scene = stamp, table["taut"][0] == CUT

    def _hear_plan(self, message: Any) -> None:
        coefficients = message.coefficients.reshape(
            len(message.durations), AXES, message.degree + 1
        )
        plan = Plan(message.durations, coefficients, message.radius, message.rotation)
        self.plans[message.entity].append((_seconds(message), plan))

    def _hear_event(self, message: Any) -> None:
        self.events.append(_event(message, _seconds(message), self._joint_names))

    def _hear_mission(self, message: Any) -> None:
        self.extra["mission"] = mission_from_message(message)

    def _hear_diagnostics(self, message: Any) -> None:
        for status in message.status:
            if self._topics.has_node(
                status.hardware_id
            ):  # drivers and other worlds tell there, too
                self._hear_status({v.key: v.value for v in status.values})

    def _hear_status(self, values: dict[str, str]) -> None:
        for k, name in enumerate(self.vehicles):
            if (numbers := asked_from(values, name)) is not None:
                self.asked[k] = numbers
        if "real_time_factor" in values:
            self.extra["real_time_factor"] = float(values["real_time_factor"])
        self.extra |= {key: int(values[key]) for key in COUNTED if key in values}


def _flight(heard: _Heard, path: Path) -> Flight:
    scenario, names, vehicles = heard.scenario, list(heard.truth), heard.vehicles
    model = scenario.model
    common = heard.truth[names[0]].stamps
    for rows in (*heard.truth.values(), *heard.joints.values()):
        common = np.intersect1d(common, rows.stamps, assume_unique=True)
    if not len(common):
        unheard = [name for name, rows in heard.truth.items() if not rows] or names
        raise ConfigError(
            f"{path}: holds no ground truth of {', '.join(unheard)}. Was the run stopped before it began, or is "
            "this not the scenario that was flown?"
        )
    steps = np.diff(common)
    usual = np.median(steps) if len(steps) else np.inf
    if missing := int(
        np.sum(np.maximum(np.rint(steps / usual) - 1.0, 0.0))
    ):  # the last one may come early
        heard.extra["missing_rows"] = missing
    cuts = heard.cuts.at(heard.cuts.stamps, (len(vehicles),))  # a state may be answered twice
    heard.asked[:, 3] = np.maximum(heard.asked[:, 3], cuts.sum(axis=0))
    time, n = common * NANO, len(model.cables)
    cables = heard.cables.at(common, (n, 2))
    factor = heard.extra.get("real_time_factor", 0.0)
    past, events = parted([*heard.events, *_cut_before(heard, float(time[0]))], float(time[0]))
    commands, efforts = _commands(heard, common)
    flight = Flight(
        scenario,
        time,
        states=np.stack([rows.at(common, (13,)) for rows in heard.truth.values()], axis=1),
        references=_asked(heard, common, time),
        alone=_alone(heard, common, time),
        commands=commands,
        tensions=cables[..., 0],
        taut=cables[..., 1] == 1.0,
        events=events,
        past=past,
        begun=_begun(heard, float(time[0])),
        wall_time=(time[-1] - time[0]) / factor if factor > 0.0 else float("nan"),
        extra=heard.extra,
        asked=heard.asked,
        limited=heard.limited,
    )
    if heard.discs:
        flight.discs = np.stack([heard.discs[name].at(common, (3,)) for name in vehicles], axis=1)
    if heard.shapes:
        flight.masses = np.concatenate(
            [heard.shapes[name].at(common, (count, 3)) for name, count in heavy_counts(model)],
            axis=1,
        )
    sent = heard.commands.stamps
    if heard.joints:
        flight.efforts = efforts
    if len(sent) > len(common):
        efforts = heard.efforts.at(sent, (heard.n_efforts,))
        flight.sent = Commands(sent * NANO, heard.commands.at(sent, (len(vehicles), 4)), efforts)
    if heard.joints:
        moving = {v.name: len(v.moving_joints) for v in model.vehicles}
        flight.joints = np.concatenate(
            [rows.at(common, (moving[name], 2)) for name, rows in heard.joints.items()], axis=1
        )
        if any(heard.joint_references.values()):
            wanted = heard.joint_references.items()
            flight.joint_references = np.concatenate(
                [rows.at(common, (moving[name], 3)) for name, rows in wanted], axis=1
            )
    return flight


def _commands(heard: _Heard, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Commands of all vehicles, (n, n_vehicles, 4), and efforts of all joints, (n, n_joints); NaN: unknown."""
    if heard.single:
        commands, efforts = heard.single.at(stamps)
        return commands, efforts if heard.tells_efforts else efforts[:, :0]
    commands = heard.commands.at(stamps, (len(heard.vehicles), 4))
    return commands, heard.efforts.at(stamps, (heard.n_efforts,))


def _cut_before(heard: _Heard, start: float) -> list[Event]:
    """Cables that were cut when the recording began, of which it has no event."""
    if heard.first_scene is None:
        return []
    stamp, cut = heard.first_scene
    told = {k for e in heard.events if e.time <= stamp * NANO for k in e.cables if e.type in PARTS}
    return [
        Event(start - 2.0 * SAME_TIME, "cut", (int(k),))
        for k in np.flatnonzero(cut)
        if k not in told
    ]


def _begun(heard: _Heard, start: float) -> float:
    """Time of the scenario that had passed at the first row, s: commands count control periods since its start."""
    if heard.first_step is None:
        return 0.0
    stamp, step = heard.first_step
    period = heard.scenario.time.control_s
    begun = step * period - (stamp * NANO - start)
    return begun if begun > 0.5 * period else 0.0


def _asked(heard: _Heard, stamps: np.ndarray, time: np.ndarray) -> np.ndarray:
    """References of all teams, (n, n_teams, 28): of the plans, where there are some; else as they were published."""
    found = teams(heard.scenario.model)
    out = np.full((len(time), len(found), REFERENCE), np.nan)
    if heard.scenario.follows_plans:  # else nobody told it of the plans
        for k, team in enumerate(found):
            if heard.plans[team.entity]:
                out[:, k] = _references(heard.plans, team, time)
            else:
                out[:, k] = heard.references[team.entity].at(stamps, (REFERENCE,))
    return out


def _alone(heard: _Heard, stamps: np.ndarray, time: np.ndarray) -> np.ndarray:
    """The same of vehicles that fly alone, (n, n_singles, 28); no rows where none ever did."""
    found, singles = teams(heard.scenario.model), PlanRegistry(heard.scenario.model).singles
    told = [name for name in singles if heard.plans[name] or heard.references[name]]
    if not told or not heard.scenario.follows_plans:
        return np.zeros((0, len(singles), REFERENCE))
    out = np.full((len(time), len(singles), REFERENCE), np.nan)
    for k, (name, team) in enumerate(singles.items()):
        if not heard.plans[name]:
            out[:, k] = heard.references[name].at(stamps, (REFERENCE,))
            continue
        for row, t in zip(out[:, k], time, strict=True):
            own = [p for p in heard.plans[name] if p[0] <= t + NANO]
            of_team = [p for p in heard.plans[found[team].entity] if p[0] <= t + NANO]
            if own and not (of_team and of_team[-1][0] > own[-1][0]):
                own[-1][1].sample(t - own[-1][0], row)
    return out


def _references(plans: Plans, team: Team, time: np.ndarray) -> np.ndarray:
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


def _scenario(path: Path) -> Scenario:
    """The scenario in a bag."""
    text = custom_data(path, "scenario")
    if not text:
        raise ConfigError(f"{path}: holds no scenario. Record it with `./rotor`.")
    try:
        return scenario_from_tree(parse_tree(text, f"{path}: scenario"))
    except ConfigError as error:
        raise ConfigError(
            f"{error} That is what was flown: install or register what it needs, or say what flew in its place "
            "(--scenario NAME, where the command has it)."
        ) from error


def _figures(path: Path) -> dict:
    """What a flight that was not recorded from a graph told beside its messages.

    Raises:
        ValueError: it is of another kind.
    """
    found = json.loads(custom_data(path, FIGURES) or "{}")
    if not isinstance(found, dict):
        raise ValueError(f"custom data {FIGURES}: must be a table")
    told = {name: found[name] for name in (ASKED, LIMITED, *TOLD) if name in found}
    if type(told.get(LIMITED)) not in (int, type(None)):
        raise ValueError(f"custom data {FIGURES}: {LIMITED} must be a number of control periods")
    tables = [told.get(name, {}) for name in ("mission", "power", "integration")]
    if not all(isinstance(table, dict) for table in (*tables, *tables[1].values())):
        raise ValueError(f"custom data {FIGURES}: must hold tables")
    if "mission" in told and not {"status", "message"} <= set(tables[0]):
        raise ValueError(f"custom data {FIGURES}: a mission needs status and message")
    if not all({"energy_wh", "charge"} <= set(train) for train in tables[1].values()):
        raise ValueError(f"custom data {FIGURES}: power needs energy_wh and charge")
    return told


def _seconds(message: Any) -> float:
    """Stamp of a message, s."""
    stamp = message.header.stamp
    return float((stamp.sec * 10**9 + stamp.nanosec) * NANO)


def _event(message: Any, time: float, joints: list[str]) -> Event:
    def indices(names: list[str]) -> tuple[int, ...]:
        return tuple(int(n.removeprefix("cable")) - 1 for n in names)

    unknown = (float("nan"),) * len(message.impulses)
    # older recordings have the speeds before only
    after = getattr(message, "closing_speeds_after", unknown)
    return Event(
        time, EVENT_NAMES[message.type], indices(message.cables), message.cause, indices(message.at_length),
        tuple(message.impulses), tuple(message.closing_speeds), tuple(after),
        joints=tuple(joints.index(n) for n in message.joints), bodies=tuple(message.bodies),
        place=tuple(getattr(message, "place", ())),  # older recordings have none
    )  # fmt: skip
