"""Flights with everything in them, from recordings: for replay, identification and viewing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rotor_core.config.loader import dump_scenario, scenario_from_tree
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError
from rotor_core.state import State
from rotor_dynamics.hybrid.events import PARTS
from rotor_flight.flight import Flight
from rotor_recordings.formats.bag_flights import read_flight
from rotor_recordings.formats.bags import custom_data, opened, topics_of_flight
from rotor_recordings.formats.pose_flights import flight_of_poses
from rotor_recordings.motion.names import bag_in, existing
from rotor_recordings.motion.recording import CableRows, Recording, ends_of_cables
from rotor_recordings.motion.track import NANO, Samples, ordered


def is_recording(name: str) -> bool:
    """True if a name is that of a recording (not of a scenario): a bag, a result folder, or logs."""
    try:
        path = Path(name).expanduser()
        return bool(name) and (path.is_dir() or path.suffix in (".npz", ".mcap", ".db3"))
    except (OSError, ValueError, RuntimeError):  # no names of files; no such user
        return False


def open_flight(
    name: str, scenario: Scenario | None = None, *, states: str = "ground_truth"
) -> Flight:
    """A flight from a bag or from logs of Crazyflies.

    Args:
        name: folder or file; a result folder of `./rotor` holds its bag.
        scenario: in place of the recording's own.
        states: of a bag: ``ground_truth`` or ``odom``.

    Raises:
        ConfigError: there is no such recording, or it lacks what a flight needs.
    """
    path = existing(name, "a bag or logs of Crazyflies (.npz)")
    if path.suffix == ".npz":
        from rotor_recordings.crazyflies.flights import crazyflie_flight
        from rotor_recordings.crazyflies.logs import read_crazyflie_team

        return crazyflie_flight(read_crazyflie_team(path), scenario)
    path = bag_in(path, "the folder of a bag")
    if has_states(path, states):
        return read_flight(path, scenario, states)
    if states == "odom" and has_states(path, "ground_truth"):
        raise ConfigError(
            f"{name}: holds no odometry: a flight without ROS keeps what is true, not what an imperfect sensor saw. "
            "Use --states ground_truth, or record the graph: ./rotor up --record."
        )
    text = custom_data(path, "scenario")
    if scenario is None and not text:
        raise ConfigError(f"{name}: holds no scenario. Say what flew: --scenario NAME.")
    scenario = scenario or scenario_from_tree(parse_tree(text, f"{name}: scenario"))
    return flight_of_poses(path, scenario)


def has_states(path: Path, kind: str) -> bool:
    """True if a bag holds states as our simulator publishes them."""
    with opened(path) as reader:
        topics = topics_of_flight(path, reader.connections)
        return any(
            topics.kind_of(c.topic) == kind and c.msgtype.endswith("/Odometry")
            for c in reader.connections
        )


def recording_of(flight: Flight, path: str) -> Recording:
    """The paths of a flight, for comparisons."""
    stamps = np.rint(flight.time / NANO).astype(np.int64)
    tracks = []
    for i, entity in enumerate(flight.scenario.model.entities):
        s = flight.states[:, i]
        samples = Samples(
            State(s).position, State(s).attitude, State(s).velocity, State(s).body_rate
        )
        tracks.append(ordered(entity.name, f"{entity.name}/ground_truth", stamps, samples, "world"))
    known = flight.tensions.size > 0 and bool(np.isfinite(flight.tensions).any())
    names = tuple(flight.scenario.model.cable_names)
    cut = [
        (round(event.time / NANO), k)
        for event in flight.all_events
        if event.type in PARTS
        for k in event.cables
    ]
    ends = ends_of_cables(cut, len(names))
    cables = CableRows(stamps, flight.tensions, flight.taut, names, ends) if known else None
    return Recording(path, "flight", tuple(tracks), dump_scenario(flight.scenario), cables)
